//! AI reviewers: the threads that they began on a pull request's lines are the evidence of a check.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    gather::{GatheredCheck, HeadEvidence},
    reviewer_words::{self, Finding},
};
use crate::{
    evidence::{CheckEvidence, CheckKind, ErrorType, Failure, Outcome, SourceLocation},
    failure, gate,
    ids::{CheckName, FailureId, Login, UserId},
    observed::{
        Account, AccountKind, Completeness, Conclusion, ExternalCheck, Permission, Resolution, ReviewThread, Snapshot,
    },
    policy::{Policy, ReviewerSource},
    state::{Dispute, DisputeEnd, Settlement},
    verdict::CheckStanding,
};

/// Findings of one reviewer that are kept; further ones are counted.
const MOST_FINDINGS: usize = 200;

/// Where a reviewer stands on the head. `is_overdue` says that it was waited for long enough.
pub fn standing(snapshot: &Snapshot, name: &CheckName, source: &ReviewerSource, is_overdue: bool) -> CheckStanding {
    let has_spoken = has_spoken(snapshot, &source.app);
    if !has_spoken && !is_overdue {
        return CheckStanding::Running { url: None };
    }
    let may_resolve = who_may_resolve(snapshot);
    let is_closed = |thread: &ReviewThread| match &thread.resolution {
        Resolution::ByReviewer => true,
        Resolution::By(account) if may_resolve.contains(&account.id) => true,
        _ => thread.is_outdated && has_spoken,
    };
    let own = snapshot.review_threads.items.iter().filter_map(|thread| Some((thread, finding(thread, source)?)));
    let own: Vec<(&ReviewThread, Finding)> = own.collect();
    let open: Vec<_> = own.iter().filter(|(thread, _)| !is_closed(thread)).collect();
    match (open.first(), snapshot.review_threads.completeness) {
        (Some((first, _)), _) => {
            let mut evidence = CheckEvidence::bare(name.clone(), CheckKind::Custom, Outcome::Failed);
            evidence.url = Some(first.url.clone());
            evidence.failures_not_kept = open.len().saturating_sub(MOST_FINDINGS) as u64;
            evidence.failures = open.iter().take(MOST_FINDINGS).map(|finding| of(finding, &own)).collect();
            CheckStanding::Done(Box::new(evidence))
        }
        (None, Completeness::Incomplete) => {
            CheckStanding::Refused { reason: "not all review threads were read".into() }
        }
        (None, Completeness::Complete) if !has_spoken => {
            CheckStanding::Absent { minutes: source.timeout.num_minutes().unsigned_abs() }
        }
        (None, Completeness::Complete) => {
            CheckStanding::Done(Box::new(CheckEvidence::bare(name.clone(), CheckKind::Custom, Outcome::Passed)))
        }
    }
}

/// What a thread finds, if it is the reviewer's and counts.
fn finding(thread: &ReviewThread, source: &ReviewerSource) -> Option<Finding> {
    if thread.app != source.app || reviewer_words::is_placeholder(&source.app, &thread.finding) {
        return None;
    }
    let finding = Finding::of(&thread.finding);
    finding.severity.is_none_or(|severity| severity >= source.at_least).then_some(finding)
}

/// The finding as a failure: its place and its words make it the same in the next round. What is found again in a new thread
/// was answered in the thread before.
fn of((thread, finding): &(&ReviewThread, Finding), own: &[(&ReviewThread, Finding)]) -> Failure {
    let same = own.iter().filter(|(other, found)| other.path == thread.path && found.message == finding.message);
    let earlier = same.filter_map(|(other, _)| other.answer.as_ref()).next_back();
    Failure {
        error_type: ErrorType::LintError,
        error_class: Some(Failure::OF_REVIEWER.to_owned()),
        error_message: finding.message.clone(),
        test_file: Some(thread.path.clone()),
        line_number: thread.line,
        source: Some(SourceLocation { file: thread.path.clone(), line: thread.line, function: None }),
        answer: thread.answer.as_ref().or(earlier).map(|(by, words)| format!("{by}: {words}")),
        ..Failure::default()
    }
}

/// Whether the reviewer wrote about the head itself: in a review or a thread on it, in a comment that names it, or
/// by the end of a check run.
fn has_spoken(snapshot: &Snapshot, app: &str) -> bool {
    let head = snapshot.pull_request.head.sha;
    let says = |by: &Account, text: &str| is_bot_of(by, app) && !reviewer_words::is_placeholder(app, text);
    let short = head.short();
    snapshot.reviews.items.iter().any(|review| review.commit == Some(head) && says(&review.author, &review.body))
        || snapshot.review_threads.items.iter().any(|thread| thread.app == app && thread.begun_on == Some(head))
        || snapshot.comments.items.iter().any(|one| one.body.contains(&short) && says(&one.author, &one.body))
        || snapshot.checks.iter().any(|check| check.app.as_deref() == Some(app) && has_judged(check))
}

const fn has_judged(check: &ExternalCheck) -> bool {
    matches!(check.progress.conclusion(), Some(Conclusion::Success | Conclusion::Failure))
}

/// Whether an account is an App's. A person may have the slug for a login, but not the bot's kind.
fn is_bot_of(account: &Account, app: &str) -> bool {
    account.kind == AccountKind::Bot && account.login.as_str().strip_suffix("[bot]") == Some(app)
}

/// Everybody who called a thread done, beside its reviewer: their rights must be known.
pub fn resolvers(snapshot: &Snapshot) -> BTreeMap<UserId, Login> {
    accounts(snapshot).map(|account| (account.id, account.login.clone())).collect()
}

fn accounts(snapshot: &Snapshot) -> impl Iterator<Item = &Account> {
    snapshot.review_threads.items.iter().filter_map(|thread| match &thread.resolution {
        Resolution::By(account) => Some(account),
        _ => None,
    })
}

/// Those of them who may: people with write who have no part in the change.
fn who_may_resolve(snapshot: &Snapshot) -> BTreeSet<UserId> {
    let may = |account: &&Account| {
        account.kind == AccountKind::User
            && snapshot.authority.has(account.id, Permission::Write) == Some(true)
            && gate::has_part_in(snapshot, account) == Some(false)
    };
    let each: BTreeMap<UserId, &Account> = accounts(snapshot).map(|account| (account.id, account)).collect();
    each.into_values().filter(may).map(|account| account.id).collect()
}

/// Takes away the findings that a person settled for the code.
pub fn overrule(evidence: &mut HeadEvidence, policy: &Policy, disputes: &[Dispute]) {
    let is_code =
        |dispute: &&Dispute| matches!(dispute.end, Some(DisputeEnd::Settled { outcome: Settlement::Code, .. }));
    let settled: BTreeSet<FailureId> = disputes.iter().filter(is_code).map(|dispute| dispute.failure).collect();
    for (name, _) in policy.verify.reviewers().filter(|_| !settled.is_empty()) {
        if let Some(GatheredCheck { standing: CheckStanding::Done(found), .. }) = evidence.checks.get_mut(name)
            && !found.failures.is_empty()
        {
            found.failures.retain(|one| !settled.contains(&failure::fingerprint(one).into()));
            if found.failures.is_empty() && found.failures_not_kept == 0 {
                found.outcome = Outcome::Passed;
            }
        }
    }
}
