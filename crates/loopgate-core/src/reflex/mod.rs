//! The reflex loop: a local loop that produces, evaluates, criticises and refines until a stop condition holds.
//!
//! ```text
//! PLAN → (PRODUCE ∥ PREPARE) → EVALUATE ─ fails ─► CRITIQUE → REFINE → the next iteration
//!                     ▲            │
//!                     └─ PREPARE ◄─┴─ passes phase A: phase B, on the same head
//! ```
//!
//! A state machine over [`LoopState`](super::state::LoopState): [`Turn`] takes the output of a step and gives the state
//! to save, the lines to append to the history and the subject of the commit. Its caller executes
//! [`step`](super::state::Run::step), saves, and asks again. A step that was interrupted is
//! executed once more. What an evaluation amounts to is decided by [`decide`](fn@crate::deciding::decide), as on a pull
//! request.

mod fix;
mod govern;
mod replay;
mod turn;

pub use fix::{
    EditRefusal, EditVerdict, Edits, PutBack, failing_scope, intrusions, judge_edits,
    lacks_only_a_test,
};
pub use govern::{
    Exhausted, begin, govern, infer_limit, infer_type, prepared_checks, time_left, title,
};
pub use replay::replay;
pub use turn::{Breach, Evaluated, Produced, Turn};

pub use crate::ids::Alias;
pub use crate::state::{
    Ask, Broken, Calling, CritiqueItem, FixMaker, FixRecord, LoopCall, Major, ReflexState, Senior,
    Settings, Spent,
};
