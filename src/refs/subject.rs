//! Subjects of state commits: `git log refs/loopgate/pr/12` reads as a log of the run.

use loopgate_core::{
    deciding::{Decision, NextAction},
    state::{RunStatus, StopReason},
};

/// One line that says what a decision was: `attempt 2: retry — 1 failed rule (unit)`.
pub fn subject(decision: &Decision) -> String {
    let failed = decision.view.evaluation.failed_rules();
    let names: Vec<_> = failed.iter().take(3).map(|rule| rule.as_str()).collect();
    let rules = match (failed.len(), names.join(", ")) {
        (0, _) => String::new(),
        (1, names) => format!(" — 1 failed rule ({names})"),
        (count @ 2..=3, names) => format!(" — {count} failed rules ({names})"),
        (count, names) => format!(" — {count} failed rules ({names}, …)"),
    };
    let what = match &decision.action {
        NextAction::Complete => return format!("complete: merged after attempt {}", decision.view.attempt),
        NextAction::Stopped => {
            return match (decision.next.status, decision.next.stop.reason) {
                (RunStatus::Failed, _) => format!("failed: the attempts are used up{rules}"),
                (_, Some(StopReason::UserStop)) => "stopped: by a person".to_owned(),
                _ => "stopped: closed without a merge".to_owned(),
            };
        }
        NextAction::Retry { .. } => format!("retry{rules}"),
        NextAction::Escalate { cause } => format!("escalate, {}{rules}", cause.as_str()),
        NextAction::WaitForHuman { cause } => format!("wait for a human, {}{rules}", cause.as_str()),
        NextAction::WaitForApproval { gate } => format!("wait for approval of {gate}"),
        NextAction::WaitForEvidence { missing } => {
            let names: Vec<_> = missing.iter().take(3).map(|check| check.as_str()).collect();
            let more = if missing.len() > names.len() { ", …" } else { "" };
            format!("wait for evidence ({}{more})", names.join(", "))
        }
        NextAction::WaitForPush { .. } => "wait for the next capability".to_owned(),
        NextAction::WaitForReady => "wait until the draft is ready".to_owned(),
        NextAction::WaitForReview => "wait for a review".to_owned(),
        NextAction::WaitForMerge => "wait for the merge".to_owned(),
    };
    format!("attempt {}: {what}", decision.view.attempt)
}
