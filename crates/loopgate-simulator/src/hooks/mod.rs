//! Webhooks: what happened, sent to the Apps that subscribed.
//!
//! A payload is rendered when its cause happens, so it shows the world as it was then. Deliveries leave one at a time
//! in the order of their causes; [`sender`] carries them out.

mod delivery;
mod event;
pub(super) mod sender;

pub use delivery::{Attempt, Delivery, DeliveryCounts, DeliveryState, Outbox, Webhooks};
pub use event::{Audience, Event, Scope};
