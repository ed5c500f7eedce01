//! A pull request as its history shows it, decided head by head.

use std::collections::BTreeSet;

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use crate::{
    deciding::{Decision, decide},
    evidence::{ChangedCoverage, CheckEvidence, CheckKind, EVIDENCE_SCHEMA, Evidence},
    ids::{CheckName, Sha, Timestamp},
    observed::{CheckProgress, ExternalCheck, Lifecycle, ReceivedEvidence, Snapshot},
    policy::{CheckPolicy, CheckSource, CommandCheck, ExternalSource, NameGlob, Policy, WhenSkipped},
    state::LoopState,
    text,
    verdict::coverage,
};

/// A pull request as its history shows it.
#[derive(Clone, Debug)]
pub struct PastPullRequest {
    /// As it ended: everything that was said, and what its last head changes.
    pub last: Snapshot,
    /// The heads whose checks are known, the oldest first.
    pub heads: Vec<PastHead>,
    /// When it was read.
    pub read_at: Timestamp,
}

/// One head, and what is known of its checks.
#[derive(Clone, Debug)]
pub struct PastHead {
    pub sha: Sha,
    /// Check runs and commit statuses on it.
    pub checks: Vec<ExternalCheck>,
    /// The attempt on it, if the run recorded one.
    pub recorded: Option<RecordedAttempt>,
}

/// What `attempts/NNN.json` keeps of the evidence of an attempt. Failures and logs are shortened there.
#[derive(Clone, Debug, Deserialize)]
pub struct RecordedAttempt {
    pub head_sha: Sha,
    /// When the attempt was counted first.
    pub at: Timestamp,
    pub checks: Vec<CheckEvidence>,
    pub coverage: Option<ChangedCoverage>,
}

impl PastHead {
    /// When the first of its checks began.
    pub fn began(&self) -> Option<Timestamp> {
        let began = self.checks.iter().filter_map(|check| check.started_at).min();
        began.or(self.recorded.as_ref().map(|recorded| recorded.at))
    }

    /// When the last of its checks ended.
    pub fn ended(&self) -> Option<Timestamp> {
        let ended = self.checks.iter().filter_map(|check| match check.progress {
            CheckProgress::Completed { at, .. } => at,
            CheckProgress::Queued | CheckProgress::InProgress => None,
        });
        ended.chain(self.recorded.as_ref().map(|recorded| recorded.at)).max()
    }

    /// The policy with the checks of which something is known on this head. A check that the run recorded counts as it
    /// was recorded, whatever brought its result then.
    pub fn with_known_checks(&self, policy: &Policy) -> Policy {
        let recorded: BTreeSet<&CheckName> =
            self.recorded.iter().flat_map(|recorded| &recorded.checks).map(|check| &check.name).collect();
        let mut known = policy.clone();
        known.verify.checks.retain(|name, check| {
            let source = match &check.source {
                CheckSource::Command(_) => return recorded.contains(name),
                // The state of its threads at that time is not known.
                CheckSource::Reviewer(_) => return false,
                CheckSource::External(source) => source,
            };
            if !recorded.contains(name) {
                return self.checks.iter().any(|run| source.is_of(&run.name, run.app.as_deref()));
            }
            check.source = CheckSource::Command(CommandCheck::new(""));
            true
        });
        known
    }
}

/// How long a pull request waited, and for whom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waited {
    /// For checks, in seconds.
    pub ci: i64,
    /// For the next push after checks that failed.
    pub author: i64,
    /// For the person who merged or closed it, after the last checks.
    pub people: i64,
}

/// A head, judged when its checks had ended and when it was left.
#[derive(Clone, Debug)]
pub struct Judged {
    pub snapshot: Snapshot,
    pub policy: Policy,
    pub decision: Decision,
}

impl PastPullRequest {
    /// Decides over each head in turn. `policy` is the one in force at a head.
    pub fn judge(&self, policy: impl Fn(&PastHead) -> Policy) -> Vec<Judged> {
        let mut judged: Vec<Judged> = Vec::new();
        let opened = self.last.pull_request.created_at;
        for (nth, head) in self.heads.iter().enumerate() {
            let policy = policy(head);
            let done = head.ended().unwrap_or(opened);
            for now in [done, self.left(nth).max(done)] {
                let snapshot = self.at(head, now);
                let before = judged.last().map(|judged| judged.decision.next.clone());
                let before = before.unwrap_or_else(|| LoopState::begin(&snapshot, &policy, opened));
                let decision = decide(&snapshot, &before, &policy, now);
                judged.push(Judged { snapshot, policy: policy.clone(), decision });
            }
        }
        judged
    }

    /// When a head was replaced, or the pull request ended, or was read.
    fn left(&self, nth: usize) -> Timestamp {
        let next = self.heads.get(nth + 1).and_then(PastHead::began);
        next.or(self.last.pull_request.closed_at).unwrap_or(self.read_at)
    }

    /// What was to be seen of a head at a time. Its files are those of the last head: history shows no others.
    fn at(&self, head: &PastHead, now: Timestamp) -> Snapshot {
        let mut seen = self.last.clone();
        seen.pull_request.lifecycle = Lifecycle::Open;
        seen.pull_request.closed_at = None;
        seen.pull_request.head.sha = head.sha;
        seen.pull_request.head.tree = head.sha;
        seen.checks.clone_from(&head.checks);
        seen.evidence = head.recorded.iter().map(|recorded| self.evidence(recorded)).collect();
        if let Some(last) = seen.commits.items.iter().position(|commit| commit.sha == head.sha) {
            seen.commits.items.truncate(last + 1);
        }
        seen.comments.items.retain(|comment| comment.created_at <= now);
        seen.inline.items.retain(|comment| comment.created_at <= now);
        seen.reviews.items.retain(|review| review.submitted_at <= now);
        seen
    }

    /// The evidence of a recorded attempt. Coverage of a head whose files were others is left out: the last head's files
    /// cannot hold it.
    fn evidence(&self, recorded: &RecordedAttempt) -> ReceivedEvidence {
        let fits = |claim: &ChangedCoverage| coverage::believe(claim, &self.last.files).is_ok();
        ReceivedEvidence::Accepted(Box::new(Evidence {
            schema: EVIDENCE_SCHEMA.to_owned(),
            repository: self.last.repository.clone(),
            head_sha: recorded.head_sha,
            pull_request: Some(self.last.pull_request.number),
            started_at: recorded.at,
            ended_at: recorded.at,
            checks: recorded.checks.clone(),
            coverage: recorded.coverage.clone().filter(fits),
            ..Evidence::default()
        }))
    }

    /// For whom it waited, of what the times of its checks tell.
    pub fn waited(&self) -> Waited {
        let seconds = |from: Option<Timestamp>, to: Option<Timestamp>| {
            let time = to.zip(from).map(|(to, from)| to - from);
            time.map_or(0, |time| time.max(TimeDelta::zero()).num_seconds())
        };
        let ci = self.heads.iter().map(|head| seconds(head.began(), head.ended())).sum();
        let author = self.heads.windows(2).map(|pair| seconds(pair[0].ended(), pair[1].began())).sum();
        let last = self.heads.last().and_then(PastHead::ended);
        Waited { ci, author, people: seconds(last, self.last.pull_request.closed_at) }
    }
}

impl Policy {
    /// The same, with a head's own checks in the place of configured ones: where nothing is configured, whatever ran is
    /// what counts.
    pub fn with_checks_of(mut self, checks: &[ExternalCheck]) -> Self {
        self.verify.checks.clear();
        for check in checks {
            let Some(name) = check_name(&check.name) else { continue };
            let Ok(glob) = NameGlob::parse(&globset::escape(&check.name)) else { continue };
            let source = CheckSource::External(ExternalSource {
                name: glob,
                app: check.app.clone(),
                when_skipped: WhenSkipped::Auto,
            });
            let kind = CheckKind::of_name(&check.name).unwrap_or(CheckKind::Custom);
            let policy = CheckPolicy { kind, source, is_detected: true };
            self.verify.checks.insert(name, policy);
        }
        self
    }
}

/// A name of the configuration's form: `Test (ubuntu, 3.12)` is `test-ubuntu-3-12`.
fn check_name(name: &str) -> Option<CheckName> {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let name = words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-");
    text::start(&name, 40).trim_end_matches('-').parse().ok()
}
