//! What people must know although it decides nothing.

use super::{inputs::Inputs, returned::Stages};
use crate::{
    concerns::{
        checks::{
            external,
            gather::{self, HeadEvidence},
        },
        gates::Assessment,
        queue::LeftQueue,
    },
    evidence::{CheckKind, Outcome, RepeatedTest},
    ids::{CheckName, Login, PrNumber},
    observed::{
        ForgedCheck, Lifecycle, ObservationProblem, PullRequest, ReceivedEvidence, Snapshot,
    },
    policy::{ConfigError, Policy},
    state::{LoopState, LostRecord, QueueDeparture},
};

/// Something people must know although it decides nothing.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Warning {
    /// No check of this kind is configured although every loop should have one.
    NoCheckOfKind(CheckKind),
    /// A test check that is not in the configuration passed without running a test.
    NoTests(CheckName),
    /// The jobs that a followed check takes come from several Apps, of which its configuration names none: a job of
    /// each App, at most 5. A commit status has no App.
    SeveralApps {
        check: CheckName,
        jobs: Vec<(String, Option<String>)>,
    },
    /// A test that the change adds passed and failed on the same code.
    FlakyNewTest(RepeatedTest),
    /// Something could not be read.
    NotObserved(ObservationProblem),
    /// The repository's file says something that the organisation has locked: it has no effect.
    Overruled(ConfigError),
    /// A check run uses our name and is not ours.
    Forged(ForgedCheck),
    /// An evidence artifact was not believed.
    EvidenceRefused { artifact: String, reason: String },
    /// There was a record before this run, and it is gone.
    RecordLost(LostRecord),
    /// This head into this base is judged on another pull request.
    JudgedOn(PrNumber),
    /// It left the merge queue without being merged.
    LeftQueue(LeftQueue),
    /// The checks bear the branch's own name, since people can make branches of the pattern it matches.
    OpenPattern { pattern: String, branch: String },
    /// A counted comment's body changed; `changed_by` is `None` if neither an event nor the API names the editor.
    TamperedComment {
        by: Login,
        changed_by: Option<Login>,
        url: String,
    },
}

impl Warning {
    /// Whether it is about the set-up, which no author can change: it is said where operators look, and not on every
    /// pull request.
    pub const fn is_of_set_up(&self) -> bool {
        matches!(
            self,
            Self::NoCheckOfKind(_) | Self::SeveralApps { .. } | Self::OpenPattern { .. }
        )
    }
}

pub(super) fn warnings(stages: &Stages<'_>) -> Vec<Warning> {
    let Inputs {
        snapshot,
        policy,
        assessment,
        ..
    } = *stages.inputs;
    let evidence = &stages.verification.evidence;
    [
        about_checks(snapshot, policy, evidence),
        about_places(snapshot, stages.next),
        about_what_is_not_read(snapshot, policy, evidence),
        about_what_is_not_believed(snapshot, assessment),
    ]
    .concat()
}

fn about_checks(snapshot: &Snapshot, policy: &Policy, evidence: &HeadEvidence) -> Vec<Warning> {
    let checks = &policy.verify.checks;
    let missing = [CheckKind::Build, CheckKind::Test]
        .into_iter()
        .filter(|kind| checks.values().all(|check| check.kind != *kind));
    let is_empty = |name: &CheckName| {
        evidence
            .of_check(name)
            .filter(|check| check.outcome == Outcome::Passed && check.kind.is_of_tests())
            .and_then(|check| check.results)
            .is_some_and(|results| results.total == 0)
    };
    let empty = checks
        .iter()
        .filter(|(name, check)| check.is_detected && is_empty(name))
        .map(|(name, _)| name.clone());
    let several = checks.iter().filter_map(|(name, check)| {
        let jobs = external::jobs_of_several_apps(snapshot, &check.source)?;
        Some(Warning::SeveralApps {
            check: name.clone(),
            jobs,
        })
    });
    let flaky = gather::flaky_new_tests(snapshot).into_iter().cloned();
    missing
        .map(Warning::NoCheckOfKind)
        .chain(empty.map(Warning::NoTests))
        .chain(several)
        .chain(flaky.map(Warning::FlakyNewTest))
        .collect()
}

/// Where the head is judged and merged, and where its record is.
fn about_places(snapshot: &Snapshot, next: &LoopState) -> Vec<Warning> {
    let PullRequest {
        number,
        head,
        base,
        lifecycle,
        ..
    } = &snapshot.pull_request;
    // The last departure, while this head is out of the queue.
    let is_out = |left: &&QueueDeparture| {
        !left.is_over && left.head == head.sha && *lifecycle == Lifecycle::Open
    };
    let queue = &next.concerns.queue;
    let departure = queue.departures.last().filter(is_out);
    let left = departure.and_then(|left| LeftQueue::explain(*number, &queue.groups, &left.removal));
    let open = base
        .open_pattern
        .clone()
        .map(|pattern| Warning::OpenPattern {
            pattern,
            branch: base.branch.clone(),
        });
    let judged_on = snapshot.judged_on.map(Warning::JudgedOn);
    judged_on
        .into_iter()
        .chain(left.map(Warning::LeftQueue))
        .chain(open)
        .chain(next.attempts.lost_record().map(Warning::RecordLost))
        .collect()
}

fn about_what_is_not_read(
    snapshot: &Snapshot,
    policy: &Policy,
    evidence: &HeadEvidence,
) -> Vec<Warning> {
    let problems = snapshot.problems.iter().cloned();
    let coverage = evidence
        .coverage_refused
        .iter()
        .map(|reason| ObservationProblem {
            what: "coverage in the evidence".to_owned(),
            reason: reason.clone(),
        });
    problems
        .map(Warning::NotObserved)
        .chain(policy.overruled.iter().cloned().map(Warning::Overruled))
        .chain(coverage.map(Warning::NotObserved))
        .collect()
}

fn about_what_is_not_believed(snapshot: &Snapshot, assessment: &Assessment) -> Vec<Warning> {
    let tampered = assessment
        .tampered
        .iter()
        .map(|tampered| Warning::TamperedComment {
            by: tampered.by.login.clone(),
            changed_by: tampered.changed_by.clone(),
            url: tampered.url.clone(),
        });
    let refused = snapshot
        .evidence
        .iter()
        .filter_map(|received| match received {
            ReceivedEvidence::Refused {
                artifact, reason, ..
            } => Some(Warning::EvidenceRefused {
                artifact: artifact.clone(),
                reason: reason.clone(),
            }),
            ReceivedEvidence::Accepted(_) => None,
        });
    tampered
        .chain(snapshot.forged_checks.iter().cloned().map(Warning::Forged))
        .chain(refused)
        .collect()
}
