//! Telling: one failure as something to act on, the command that shows it again, and the packet for the next attempt.

mod feedback;
mod feedback_line;
mod inspect;
mod packet;
mod reproduce;
mod summary;

pub use feedback::{FeedbackItem, Place, Priority, summarise};
pub use feedback_line::FeedbackLine;
pub use inspect::{FailureInspection, inspect, inspect_failure};
pub use packet::{
    Entry, EntryKind, FEEDBACK_SCHEMA, FailingCheck, FeedbackPacket, MAX_PACKET, PacketInput, PastFailure, SinceLast,
    Tried, highest_priority,
};
pub use reproduce::{CheckContext, quoted_word, reproduce, rerun};
pub use summary::cut_at_sentence;
