//! Gates: what opens them, who may approve, what an approval is bound to, and when it stops counting.

mod policy;
mod report;

pub use policy::{
    ApproveBy, Approvers, ChecklistMode, Codeowners, Exclusion, Exclusions, GateDefinition, GatePolicy, GateTrigger,
    InvalidateOnPush, RequestTime,
};
pub use report::{
    Approval, Considered, EligibleApprovers, GateReport, GateStanding, GateStatus, Holding, MatchReason, Objection,
    OnlyHope, PhraseProblem, Refusal, TriggerMatch, UnusableApprover, Word, WordOutcome, WordSource,
};
