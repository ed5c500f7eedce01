//! Explaining: what is wrong, whose failure it is, whether trying again can help, and what would mend it.

pub(super) mod analysis;
pub(super) mod assertion;
pub(super) mod blame;
pub(super) mod conclusion;
pub(super) mod diagnosis;
pub(super) mod error_kind;
pub(super) mod examined;
pub(super) mod inspect;
pub(super) mod known;

pub use analysis::{AnalysisContext, analyse, analyse_all};
pub use blame::{Blame, Circumstances, ExaminedCheck, Verdict, blame_check, retry_class, retry_class_of};
pub use examined::ExaminedFailure;
pub use inspect::{FailureInspection, complete, inspect, read_failure, sides};
