//! Deliveries over real sockets into a real inbox, with a reconciler that only takes notes.
#![allow(
    clippy::disallowed_methods,
    reason = "tests start what their users would"
)]

mod input;
mod kit;
mod queue;
mod recovery;
