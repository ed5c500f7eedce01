//! Deliveries over real sockets into a real inbox, with a reconciler that only takes notes.

mod input;
mod kit;
mod queue;
mod recovery;
