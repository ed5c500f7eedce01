//! Gates: what opens them, who may approve, what an approval is bound to, and when it stops counting.

mod assess;
mod authority;
mod grammar;
mod policy;
mod questions;
mod reactions;
mod report;
mod reviewers;
mod trigger;

pub(crate) use authority::{may_decide, owners_of};

pub use assess::{Assessment, CommandWord, Tampered, assess};
pub use authority::{ACTIONS, Owner, OwnerMention, owner_mentions};
pub use grammar::{
    CommentInspection, InspectedIntent, InspectedNearMiss, Intent, IntentKind, NearMiss, Reading, Spoken, inspect,
    may_speak, read,
};
pub use policy::{
    ApproveBy, Approvers, ChecklistMode, Codeowners, Exclusion, Exclusions, GateDefinition, GatePolicy, GateTrigger,
    InvalidateOnPush, RequestTime,
};
pub use questions::{AuthorityQuestions, questions};
pub use report::{
    Absence, AbsentTeam, Approval, Considered, EligibleApprovers, GateReport, GateStanding, GateStatus, Holding,
    MatchReason, Objection, OnlyHope, PhraseProblem, Refusal, TriggerMatch, UnusableApprover, Word, WordOutcome,
    WordSource,
};
pub use reviewers::reviewers;
pub use trigger::{MATCHES_KEPT, matches};
