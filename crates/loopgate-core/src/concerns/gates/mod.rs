//! Gates: what opens them, who may approve them, what an approval is bound to, and when it stops counting.

mod agents;
mod approved_runs;
mod assess;
mod authority;
pub mod gate_transitions;
mod grammar;
pub mod online_facts;
mod questions;
mod reactions;
mod report;
pub(crate) mod trigger;
pub mod waiting;

pub(crate) use agents::of_commit as agent_of;
pub(crate) use authority::{has_part_in, is_member, may_accept, may_decide, owners_of, wrote};

pub use approved_runs::{ApprovedRuns, approved_runs};
pub(crate) use assess::files_of_approvals;
pub use assess::{Assessment, CommandLine, TamperedComment, assess, checkboxes};
pub use authority::{ACTIONS, Owner, OwnerMention, co_authors, owner_mentions};
pub use grammar::{Intent, NearMiss, ParsedIntent, Reading, inspect, may_speak, read};
pub use questions::{AuthorityQuestions, may_approve, questions};
pub use reactions::{Reacted, ReactionKind};
pub use report::{
    AnswerExtent, Approval, Considered, EligibleApprovers, GateReport, Inside, MOST_BY_RIGHT,
    MatchReason, PhraseProblem, Refusal, RuleEvidence, TriggerMatch, UnusableApprover, Word,
    WordOutcome, is_advisory,
};
pub use trigger::{MATCHES_KEPT, matches};
