//! What ran before a change and with it, and what people settled about it.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    concerns::checks::{CheckStanding, external},
    evidence::{
        BaseTestRun, CheckEvidence, CheckKind, Failure, Outcome, TestId, TestOutcomes, TestState,
    },
    ids::CheckName,
    observed::{BaseEvidence, CheckProgress, Snapshot, WorkflowRun},
    policy::{CheckSource, Policy, Trigger},
    source_files::is_test,
    state::{AttemptDigest, DisputeEnd, FixMaker, FixRecord, LoopState, Settlement},
};

/// What the tests of a change are compared by.
#[derive(Default, Hash)]
pub struct Runs<'a> {
    /// Tests that failed in an earlier attempt or on the base, by the names that reports give them.
    pub failed: BTreeSet<&'a str>,
    /// Places that failing findings named, as `file:line`.
    pub named: BTreeSet<&'a str>,
    /// How many tests ran on the old side or in the attempt before, whichever are more, and how many run now.
    pub ran: Option<(u64, u64)>,
    pub now: Option<TestOutcomes>,
    /// Each check of tests has results by test.
    pub is_read: bool,
    /// A check of tests failed before without a name, and that it passes now is known by its exit status alone.
    pub is_blind: bool,
    /// A followed check of tests failed before and passes now, of which no evidence says more than its exit status.
    pub by_exit_status: bool,
    /// A check failed before, whichever it is, and passes now.
    pub turns_green: bool,
    /// Where the checks of tests pass: the identities of the tests that failed on the old side and in earlier attempts;
    /// `None` for a failure of which no report names the test.
    pub failures: Vec<Option<TestId>>,
    pub base_tests: Vec<&'a BaseTestRun>,
    /// The words of the commands of checks: each may be a script, a target or an alias of the project's own.
    pub started: BTreeSet<&'a str>,
    /// Files that a fixer edited and that are no reason why the checks pass: those passed with the files as they were.
    pub proven: BTreeSet<&'a str>,
    /// Tests that a person settled to be wrong: a change of them is what was asked for.
    pub wrong: BTreeSet<&'a str>,
    /// All checks of tests pass now, and nothing but a fixer's edit lies between the attempt before and this one; false
    /// once a person has accepted that tests are weakened.
    pub follow_fix: bool,
}

impl<'a> Runs<'a> {
    pub(super) fn of_head(
        snapshot: &'a Snapshot,
        state: &'a LoopState,
        policy: &'a Policy,
    ) -> Self {
        let sides = Sides::of(snapshot, state);
        let documents = snapshot.evidence_of_head();
        let followed = followed_passes(snapshot, policy);
        let mut followed_tests = followed
            .iter()
            .filter(|name| policy.verify.checks[**name].kind.is_of_tests());
        let passed = documents
            .clone()
            .flat_map(|document| &document.checks)
            .filter(|check| check.outcome == Outcome::Passed)
            .map(|check| &check.name);
        let passes = sides.passes();
        let now = sides.now();
        Self {
            failed: sides.failed_tests(),
            named: sides.named_places(),
            ran: sides.ran(now.as_ref()),
            now,
            is_read: !sides.new.is_empty() && sides.new.iter().all(|check| check.tests.is_some()),
            is_blind: passes && sides.unnamed().any(|check| check.has_unread_tests()),
            by_exit_status: sides.new.is_empty() && followed_tests.any(|name| sides.was_red(name)),
            turns_green: passed
                .chain(followed.iter().copied())
                .any(|name| sides.was_red(name)),
            // What fails now shows why its tests end no more.
            failures: if passes { sides.failures() } else { Vec::new() },
            base_tests: documents
                .flat_map(|document| &document.base_tests)
                .collect(),
            started: started(policy),
            proven: fixes(state)
                .flat_map(|fix| &fix.proven)
                .map(String::as_str)
                .collect(),
            wrong: settled_as_wrong(state),
            follow_fix: passes
                && follows_a_fix(state)
                && !state.people.accepted.contains(&Trigger::Tampering),
        }
    }

    /// Whether a test failed before that is not seen to end now.
    pub(super) fn lack_failed(&self) -> bool {
        let ends = |id: TestId| {
            self.now
                .as_ref()?
                .state(id)
                .filter(|state| *state != TestState::Skipped)
        };
        self.failures.iter().any(|id| id.and_then(ends).is_none())
    }
}

/// The checks of tests on both sides of a change, and the attempts between them.
struct Sides<'a> {
    base: Option<&'a BaseEvidence>,
    /// Attempts on earlier heads, the oldest first.
    earlier: Vec<&'a AttemptDigest>,
    /// None where the base is newer than the old side: it has tests that the head never had.
    old: Vec<&'a CheckEvidence>,
    new: Vec<&'a CheckEvidence>,
    /// No job is left that may bring further results of the head.
    has_ended: bool,
}

impl<'a> Sides<'a> {
    fn of(snapshot: &'a Snapshot, state: &'a LoopState) -> Self {
        let head = snapshot.pull_request.head.sha;
        let base = snapshot.base_evidence.as_ref();
        let is_old_side = |base: &&BaseEvidence| {
            snapshot
                .merge_base
                .is_none_or(|merge_base| merge_base == base.sha)
        };
        let is_of_tests = |check: &&CheckEvidence| check.kind.is_of_tests();
        let new: Vec<_> = snapshot
            .evidence_of_head()
            .flat_map(|document| &document.checks)
            .filter(is_of_tests)
            .collect();
        let ended = |run: &WorkflowRun| matches!(run.progress, CheckProgress::Completed { .. });
        Self {
            base,
            earlier: state
                .attempts
                .counted
                .iter()
                .filter(|attempt| attempt.head_sha != head)
                .collect(),
            old: base
                .filter(is_old_side)
                .into_iter()
                .flat_map(|base| base.checks.values())
                .filter(is_of_tests)
                .collect(),
            has_ended: !new.is_empty() && snapshot.workflow_runs.iter().all(ended),
            new,
        }
    }

    fn passes(&self) -> bool {
        self.has_ended
            && self
                .new
                .iter()
                .all(|check| check.outcome == Outcome::Passed)
    }

    /// Whether a check failed on the base or in an earlier attempt.
    fn was_red(&self, name: &CheckName) -> bool {
        let on_base = self.base.and_then(|base| base.checks.get(name));
        self.earlier
            .iter()
            .any(|attempt| attempt.failed_checks.contains(name))
            || on_base.is_some_and(|check| check.outcome.is_failure())
    }

    /// The checks of the head that failed before without the name of a test.
    fn unnamed(&self) -> impl Iterator<Item = &&'a CheckEvidence> {
        self.new.iter().filter(|check| {
            let on_old = |before: &&&CheckEvidence| {
                before.name == check.name && before.outcome == Outcome::Failed
            };
            let in_attempt = |attempt: &&AttemptDigest| attempt.failed_checks.contains(&check.name);
            let before = self.old.iter().find(on_old);
            before.is_some_and(|before| before.tests.is_none())
                || self
                    .earlier
                    .iter()
                    .any(|attempt| attempt.failing_tests.is_empty() && in_attempt(attempt))
        })
    }

    /// Tests that failed in an earlier attempt or on the base.
    fn failed_tests(&self) -> BTreeSet<&'a str> {
        let in_attempts = self
            .earlier
            .iter()
            .flat_map(|attempt| attempt.failing_tests.keys().map(String::as_str));
        let on_base = self
            .base
            .into_iter()
            .flat_map(|base| base.checks.values())
            .flat_map(|check| &check.failures)
            .filter_map(failed_test);
        in_attempts.chain(on_base).collect()
    }

    fn named_places(&self) -> BTreeSet<&'a str> {
        self.earlier
            .iter()
            .flat_map(|attempt| attempt.named_places.iter().map(String::as_str))
            .collect()
    }

    /// The identities of what failed before.
    fn failures(&self) -> Vec<Option<TestId>> {
        let of_old = self
            .old
            .iter()
            .flat_map(|check| &check.failures)
            .map(|failure| failure.test_id);
        let of_attempts = self
            .earlier
            .iter()
            .flat_map(|attempt| attempt.failing_tests.values().copied());
        // Where the old side has results by test, what is not the change's stands among them.
        let are_unnamed =
            self.old.iter().all(|check| check.tests.is_none()) && self.unnamed().next().is_some();
        of_old
            .chain(of_attempts)
            .chain(are_unnamed.then_some(None))
            .collect()
    }

    fn now(&self) -> Option<TestOutcomes> {
        CheckEvidence::all_tests(self.new.iter().copied()).filter(|_| self.has_ended)
    }

    /// How many tests ran before and run now. Lists that are not whole are compared by the totals of their checks, those
    /// of the old side without its errors.
    fn ran(&self, now: Option<&TestOutcomes>) -> Option<(u64, u64)> {
        let of_last = self.earlier.last().and_then(|last| last.tests.clone());
        let before = CheckEvidence::all_tests(self.old.iter().copied())
            .into_iter()
            .chain(of_last)
            .max_by_key(TestOutcomes::len);
        let listed = before.as_ref().and_then(ran).zip(now.and_then(ran));
        let total = CheckEvidence::sum(self.old.iter().copied(), |results| {
            results.total.saturating_sub(results.errors)
        });
        let total_now = CheckEvidence::sum(self.new.iter().copied(), |results| results.total)
            .filter(|_| self.has_ended);
        listed.or(total.zip(total_now))
    }
}

/// The edits of fixers in a local loop, the oldest first.
fn fixes(state: &LoopState) -> impl DoubleEndedIterator<Item = &FixRecord> {
    state.run.reflex.iter().flat_map(|reflex| &reflex.fixes)
}

/// Whether nothing but the edit of a fixer lies between the attempt before and this one.
fn follows_a_fix(state: &LoopState) -> bool {
    fixes(state)
        .next_back()
        .is_some_and(|fix| fix.by != FixMaker::Person && fix.iteration + 1 == state.run.iteration)
}

/// The words of the commands of checks, without those that build.
fn started(policy: &Policy) -> BTreeSet<&str> {
    let builds = |kind| {
        matches!(
            kind,
            CheckKind::Build | CheckKind::Docs | CheckKind::Performance
        )
    };
    let checks = policy.verify.checks.values();
    let commands = checks
        .filter(|check| !builds(check.kind))
        .filter_map(|check| match &check.source {
            CheckSource::Command(command) => Some(command.run.as_str()),
            _ => None,
        });
    commands
        .flat_map(super::selection::words::selecting_options)
        .collect()
}

/// The followed checks that pass on the head.
fn followed_passes<'a>(snapshot: &Snapshot, policy: &'a Policy) -> Vec<&'a CheckName> {
    let mut passed = Vec::new();
    for (name, check) in &policy.verify.checks {
        let CheckSource::External(source) = &check.source else {
            continue;
        };
        let jobs = &snapshot.checks;
        let found = external::standing(jobs, name, check.kind, source, &snapshot.files);
        if matches!(&found, CheckStanding::Done(done) if done.outcome == Outcome::Passed) {
            passed.push(name);
        }
    }
    passed
}

/// The test of a failure; where no report names it, the function of the test file in which it failed.
pub fn failed_test(failure: &Failure) -> Option<&str> {
    let in_test = failure
        .source
        .as_ref()
        .filter(|source| is_test(&source.file));
    failure
        .test_name
        .as_deref()
        .or_else(|| in_test?.function.as_deref())
}

/// How many tests ran, of a list that is whole.
fn ran(tests: &TestOutcomes) -> Option<u64> {
    tests.is_whole().then(|| {
        tests
            .iter()
            .filter(|test| test.state() != TestState::Skipped)
            .count() as u64
    })
}

/// Tests of disputes that were settled for the code. The newest word on a test counts.
pub(super) fn settled_as_wrong(state: &LoopState) -> BTreeSet<&str> {
    let settled =
        state
            .concerns
            .disputes
            .iter()
            .filter_map(|dispute| match (&dispute.test, &dispute.end) {
                (Some(test), Some(DisputeEnd::Settled { outcome, .. })) => {
                    Some((test.as_str(), *outcome == Settlement::Code))
                }
                _ => None,
            });
    let newest: BTreeMap<&str, bool> = settled.collect();
    newest
        .into_iter()
        .filter(|(_, is_wrong)| *is_wrong)
        .map(|(test, _)| test)
        .collect()
}
