//! The App itself: how it is registered, what its own token may ask, whether it is well, and people who sign in with it.

pub(in crate::github) mod deliveries;
pub mod doctor;
pub mod registration;
pub(in crate::github) mod visitor;
