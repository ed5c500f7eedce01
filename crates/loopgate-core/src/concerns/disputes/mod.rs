//! Disputes: a fixer or author declares that a failure is not theirs to fix, and one person is called to settle it.
//!
//! A dispute never makes anything pass. While one is open the run is blocked by it, and a head that fails by disputed
//! failures alone spends no attempt.

pub mod commands;

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest as _, Sha256};

use crate::{
    concerns::{
        checks::gather,
        gates,
        tampering::{self, Tampering},
        verdict::{FailureView, Verification, feedback},
    },
    evidence::Failure,
    failure::Blame,
    ids::{FailureId, RuleId, Timestamp},
    memory::SettledDispute,
    observed::{Account, AccountKind, ChangedFile, Permission, Snapshot},
    policy::{Context, Policy, Recipient},
    source_files::is_test,
    state::{
        AttemptDigest, CommandRefusal, Dispute, DisputeEnd, DisputeKind, DisputeSource, LoopState,
        Settlement,
    },
};

/// As many disputes in a run say that what is wanted is unclear, and call a person for that.
pub const MANY: usize = 3;

/// The disputes that are not settled yet, oldest first.
pub fn open(state: &LoopState) -> impl Iterator<Item = &Dispute> {
    state
        .concerns
        .disputes
        .iter()
        .filter(|dispute| dispute.is_open())
}

/// How many failures were disputed since a person last resumed the run, if that is too many.
pub fn too_many(state: &LoopState) -> Option<usize> {
    let resumed = state
        .people
        .resumes
        .iter()
        .filter(|resume| resume.settled.is_none())
        .map(|resume| resume.at)
        .max();
    let since = state
        .concerns
        .disputes
        .iter()
        .filter(|dispute| resumed.is_none_or(|resumed| dispute.at > resumed))
        .count();
    (since >= MANY).then_some(since)
}

/// What somebody says of a failure, where and when.
#[derive(Clone, Debug)]
pub struct Claim<'a> {
    pub failure: FailureId,
    pub kind: DisputeKind,
    pub reason: &'a str,
    pub by: &'a Account,
    pub at: Timestamp,
    pub source: DisputeSource,
}

/// Opens a dispute about a failure of the head.
///
/// # Errors
/// When the head has no such failure, when it is disputed already, and when the same was settled before.
pub fn begin(
    state: &mut LoopState,
    snapshot: &Snapshot,
    failures: &[FailureView],
    claim: &Claim<'_>,
) -> Result<Dispute, CommandRefusal> {
    let failure = claim.failure;
    let is_it = |view: &&FailureView| view.cause == failure || view.feedback.id == Some(failure);
    let view = failures
        .iter()
        .find(is_it)
        .ok_or(CommandRefusal::NoSuchFailure { failure })?;
    let file = test_file(&view.failure).map(str::to_owned);
    let dispute = Dispute {
        failure,
        kind: claim.kind,
        reason: claim.reason.to_owned(),
        by: claim.by.login.clone(),
        by_id: claim.by.id,
        at: claim.at,
        source: claim.source,
        check: view.check.clone(),
        test: view.failure.test_name.clone(),
        test_diff: test_diff(snapshot, file.as_deref()),
        file,
        head_sha: snapshot.pull_request.head.sha,
        end: None,
    };
    for earlier in state
        .concerns
        .disputes
        .iter()
        .filter(|earlier| earlier.failure == failure)
    {
        match &earlier.end {
            None => return Err(CommandRefusal::DisputedAlready { failure }),
            Some(DisputeEnd::Settled { outcome, by, .. })
                // A change of a file in which code stands beside the test says nothing of the test.
                if earlier.test_diff == dispute.test_diff
                    || dispute.file.as_deref().is_some_and(|file| !is_test(file)) =>
            {
                let (outcome, by) = (outcome.clone(), by.clone());
                return Err(CommandRefusal::SettledBefore { failure, outcome, by });
            }
            Some(_) => {}
        }
    }
    state.concerns.disputes.push(dispute.clone());
    Ok(dispute)
}

/// The open dispute that a word settles.
///
/// # Errors
/// When there is none, or several and the words name none.
pub fn meant(state: &LoopState, failure: Option<FailureId>) -> Result<&Dispute, CommandRefusal> {
    let mut found =
        open(state).filter(|dispute| failure.is_none_or(|failure| failure == dispute.failure));
    let first = found.next().ok_or(CommandRefusal::NothingToSettle)?;
    match found.next() {
        None => Ok(first),
        Some(_) => Err(CommandRefusal::WhichFailure {
            failures: open(state).map(|dispute| dispute.failure).collect(),
        }),
    }
}

/// Test files of failures that are disputed, or that somebody may be about to dispute: whose they are must be known.
pub fn files_in_question(cx: Context<'_>, previous: Option<&LoopState>) -> BTreeSet<String> {
    let snapshot = cx.snapshot;
    let mut files: BTreeSet<String> = previous
        .into_iter()
        .flat_map(open)
        .filter_map(|dispute| dispute.file.clone())
        .collect();
    // Ours name that command to everybody.
    let others = snapshot
        .comments
        .items
        .iter()
        .filter(|comment| Some(comment.author.id) != snapshot.app.bot_id);
    let commits = snapshot.commits.items.iter().map(|commit| &commit.message);
    if others
        .map(|comment| &comment.body)
        .chain(commits)
        .any(|words| words.to_lowercase().contains("dispute"))
    {
        let evidence = gather::gather(cx, &[], &BTreeSet::new(), |_| cx.now);
        let failures = evidence.ended().flat_map(|check| &check.failures);
        files.extend(failures.filter_map(|failure| test_file(failure).map(str::to_owned)));
    }
    files
}

/// Whether a person may settle a dispute: a maintainer, or a person with write access who is called about it. A person
/// who wrote a part of the change, or asked an agent for it, may not.
///
/// # Errors
/// When they may not, or their rights are not known.
pub fn may_settle(
    snapshot: &Snapshot,
    person: &Account,
    dispute: &Dispute,
) -> Result<(), CommandRefusal> {
    let refused = || CommandRefusal::NeedsSettler {
        failure: dispute.failure,
    };
    if person.id == dispute.by_id || person.kind != AccountKind::User {
        return Err(refused());
    }
    match gates::has_part_in(snapshot, person) {
        Some(false) => {}
        Some(true) => return Err(refused()),
        None => return Err(CommandRefusal::RightsUnknown),
    }
    let has = |least| {
        snapshot
            .authority
            .has(person.id, least)
            .ok_or(CommandRefusal::RightsUnknown)
    };
    let may = has(Permission::Maintain)?
        || has(Permission::Write)? && is_called(snapshot, person, dispute);
    if may { Ok(()) } else { Err(refused()) }
}

fn is_called(snapshot: &Snapshot, person: &Account, dispute: &Dispute) -> bool {
    called(snapshot, dispute).iter().any(|owner| match owner {
        Recipient::User(login) => *login == person.login,
        Recipient::Team(team) => gates::is_member(snapshot, team, person.id),
        Recipient::GateApprovers(_) => false,
    })
}

/// Who is called about a dispute before anybody else: who committed last to the test's file on the base, if they may
/// write and have no part in it; else the owners of that file.
pub fn called(snapshot: &Snapshot, dispute: &Dispute) -> Vec<Recipient> {
    let Some(file) = &dispute.file else {
        return Vec::new();
    };
    let may_write =
        |person: &&Account| snapshot.authority.has(person.id, Permission::Write) == Some(true);
    let has_no_part = |person: &&Account| {
        person.id != dispute.by_id
            && person.kind == AccountKind::User
            && gates::has_part_in(snapshot, person) == Some(false)
    };
    if let Some(author) = snapshot
        .test_authors
        .get(file)
        .filter(may_write)
        .filter(has_no_part)
    {
        return vec![Recipient::User(author.login.clone())];
    }
    let Some(codeowners) = &snapshot.codeowners else {
        return Vec::new();
    };
    gates::owners_of(codeowners, std::iter::once(file.as_str()))
        .into_iter()
        .collect()
}

/// Ends the open disputes whose failure the head, verified to its end, is rid of while their test is as it was.
pub fn end_mended(
    state: &mut LoopState,
    snapshot: &Snapshot,
    failures: &[FailureView],
) -> Vec<Dispute> {
    let head_sha = snapshot.pull_request.head.sha;
    let still_fails = |dispute: &Dispute| {
        failures
            .iter()
            .any(|view| view.cause == dispute.failure || view.feedback.id == Some(dispute.failure))
    };
    let mut ended = Vec::new();
    for dispute in state
        .concerns
        .disputes
        .iter_mut()
        .filter(|dispute| dispute.is_open() && dispute.head_sha != head_sha)
    {
        if !still_fails(dispute)
            && test_diff(snapshot, dispute.file.as_deref()) == dispute.test_diff
        {
            dispute.end = Some(DisputeEnd::Mended { head_sha });
            ended.push(dispute.clone());
        }
    }
    ended
}

/// Whether all of these failures are disputed, and none was said to be the author's to mend.
pub fn cover(state: &LoopState, failures: impl IntoIterator<Item = FailureId>) -> bool {
    let disputed = |failure: FailureId| {
        let newest = state
            .concerns
            .disputes
            .iter()
            .rev()
            .find(|dispute| dispute.failure == failure);
        newest.is_some_and(|dispute| {
            !matches!(
                dispute.end,
                Some(DisputeEnd::Settled {
                    outcome: Settlement::Test,
                    ..
                })
            )
        })
    };
    let mut failures = failures.into_iter().peekable();
    failures.peek().is_some() && failures.all(disputed)
}

/// Whether the head fails by nothing but failures that are disputed.
pub fn explain_head(
    policy: &Policy,
    state: &LoopState,
    verification: &Verification,
    digest: &AttemptDigest,
) -> bool {
    if state.concerns.disputes.is_empty() {
        return false;
    }
    let Verification {
        evidence, blames, ..
    } = verification;
    let failures = feedback::failures(evidence, blames, &BTreeSet::new(), policy);
    let own: Vec<&FailureView> = failures
        .iter()
        .filter(|view| view.blame == Blame::PrCode)
        .collect();
    let explained: BTreeSet<&str> = own.iter().map(|view| view.check.as_str()).collect();
    let silent = blames
        .iter()
        .filter(|blame| blame.blame == Blame::PrCode)
        .map(|blame| blame.check.as_str());
    let rules = digest.failed_rules.iter().map(RuleId::as_str);
    silent.chain(rules).all(|name| explained.contains(name))
        && cover(state, own.iter().map(|view| view.cause))
}

/// What people have said of the run's disputed failures, for other runs.
pub fn settled(state: &LoopState) -> impl Iterator<Item = SettledDispute> {
    state
        .concerns
        .disputes
        .iter()
        .filter_map(|dispute| match &dispute.end {
            Some(DisputeEnd::Settled {
                outcome, by, at, ..
            }) => Some(SettledDispute {
                failure: dispute.failure,
                outcome: outcome.clone(),
                by: by.clone(),
                at: *at,
                run_id: state.run.id.clone(),
                pull_request: state.run.pull_request,
            }),
            Some(DisputeEnd::Mended { .. }) | None => None,
        })
}

/// Ends a dispute as a person says. Where the code is right, what the change does to the test's file is meant as it
/// stands: `weakened` is how the change weakens what checks it. What else was accepted before is kept; the answer has
/// all of it where the word accepts some.
pub fn settle(
    state: &mut LoopState,
    mut dispute: Dispute,
    end: DisputeEnd,
    weakened: &[Tampering],
) -> (Dispute, BTreeMap<String, u32>) {
    let is_code = matches!(
        end,
        DisputeEnd::Settled {
            outcome: Settlement::Code,
            ..
        }
    );
    dispute.end = Some(end);
    let is_it = |known: &&mut Dispute| known.is_open() && known.failure == dispute.failure;
    if let Some(known) = state.concerns.disputes.iter_mut().find(is_it) {
        known.clone_from(&dispute);
    }
    let mut accepted = BTreeMap::new();
    if is_code && dispute.file.is_some() {
        let of_file: Vec<Tampering> = weakened
            .iter()
            .filter(|one| one.path == dispute.file)
            .cloned()
            .collect();
        state.concerns.tampering.extend(tampering::counts(&of_file));
        accepted.clone_from(&state.concerns.tampering);
    }
    (dispute, accepted)
}

/// What was settled about failures that the head still has, newest last.
pub fn settled_of<'s>(
    state: &'s LoopState,
    failures: &[FailureView],
) -> impl Iterator<Item = &'s Dispute> {
    state.concerns.disputes.iter().filter(|dispute| {
        matches!(dispute.end, Some(DisputeEnd::Settled { .. }))
            && failures.iter().any(|view| view.cause == dispute.failure)
    })
}

/// The file of the test: the failure's file that holds only tests, if it names one, otherwise a file that may hold the
/// test beside the code it tests.
fn test_file(failure: &Failure) -> Option<&str> {
    let source = failure.source.as_ref().map(|source| source.file.as_str());
    let files = [
        failure.test_file.as_deref().filter(|file| !file.is_empty()),
        source,
    ];
    files
        .iter()
        .flatten()
        .copied()
        .find(|file| is_test(file))
        .or_else(|| files.into_iter().flatten().next())
}

/// Digest of what the pull request does to a test's file, and to all tests where that may not be the only one. Empty
/// where it leaves them alone.
fn test_diff(snapshot: &Snapshot, file: Option<&str>) -> String {
    let is_it = |changed: &&ChangedFile| match file {
        Some(file) if is_test(file) => changed.path == file,
        _ => is_test(&changed.path) || Some(changed.path.as_str()) == file,
    };
    let mut changed = snapshot.files.known().iter().filter(is_it).peekable();
    if changed.peek().is_none() {
        return String::new();
    }
    let mut digest = Sha256::new();
    for file in changed {
        let patch = file.patch.as_deref().unwrap_or("unreadable");
        digest.update(format!(
            "{} {:?} {} {patch}",
            file.path,
            file.status,
            patch.len()
        ));
    }
    hex::encode(digest.finalize())
}
