//! What can be done in the world: each operation checks the rights of who does it, changes the world, records it and
//! sends the events that GitHub would send. The API handlers and the actors share them.

pub mod apps;
pub mod checks;
pub mod conversation;
pub mod heads;
pub mod merging;
pub mod people;
pub mod pulls;
pub mod push;
pub mod queue;
pub mod registration;
pub mod repos;
pub mod reviews;
pub mod runs;
pub mod sign_in;
pub mod stacks;
