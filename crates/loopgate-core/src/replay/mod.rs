//! Pull requests that ended, or are open, put through [`decide`](fn@crate::deciding::decide) once more.
//!
//! A [`PastPullRequest`] is what GitHub and the state ref still show of one. `loopgate try` decides it as if Loopgate
//! had been there, [`WhatIf`] under two configurations.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use crate::{
    concerns::coverage,
    deciding::{Decision, decide},
    evidence::{ChangedCoverage, CheckEvidence, CheckKind, EVIDENCE_SCHEMA, Evidence},
    ids::{CheckName, GateName, Score, Sha, Timestamp},
    metrics::CheckUse,
    observed::{CheckProgress, ExternalCheck, Lifecycle, ReceivedEvidence, Snapshot},
    policy::{
        CheckPolicy, CheckSource, CommandCheck, ExternalSource, NameGlob, Policy, Trigger,
        WaitsFor, WhenSkipped,
    },
    state::{AttemptDigest, LoopState, RunChanges, VerificationResult},
    text,
};

/// A pull request as its history shows it.
#[derive(Clone, Debug)]
pub struct PastPullRequest {
    /// As it ended: all comments and reviews, and what its last head changes.
    pub last: Snapshot,
    /// The heads whose checks are known, the oldest first.
    pub heads: Vec<PastHead>,
    /// Earlier commits, whose checks were not asked for.
    pub earlier_commits: usize,
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
        let began = self
            .checks
            .iter()
            .filter_map(|check| check.started_at)
            .min();
        began.or(self.recorded.as_ref().map(|recorded| recorded.at))
    }

    /// When the last of its checks ended.
    pub fn ended(&self) -> Option<Timestamp> {
        let ended = self.checks.iter().filter_map(|check| match check.progress {
            CheckProgress::Completed { at, .. } => at,
            CheckProgress::Queued | CheckProgress::InProgress => None,
        });
        ended
            .chain(self.recorded.as_ref().map(|recorded| recorded.at))
            .max()
    }

    /// The policy with the checks of which something is known on this head. A check that the run recorded counts as it
    /// was recorded, whatever brought its result then.
    pub fn with_known_checks(&self, policy: &Policy) -> Policy {
        let recorded: BTreeSet<&CheckName> = self
            .recorded
            .iter()
            .flat_map(|recorded| &recorded.checks)
            .map(|check| &check.name)
            .collect();
        let mut known = policy.clone();
        known.verify.checks.retain(|name, check| {
            let source = match &check.source {
                CheckSource::Command(_) => return recorded.contains(name),
                // The state of its threads at that time is not known.
                CheckSource::Reviewer(_) => return false,
                CheckSource::External(source) => source,
            };
            if !recorded.contains(name) {
                return self.checks.iter().any(|run| source.takes(run));
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

/// A head, judged when it was pushed, when its checks had ended and when it was left.
#[derive(Clone, Debug)]
pub struct JudgedHead {
    pub snapshot: Snapshot,
    pub policy: Policy,
    pub decision: Decision,
}

impl PastPullRequest {
    /// Decides over each head in turn. `policy` is the one in force at a head.
    pub fn judge(&self, policy: impl Fn(&PastHead) -> Policy) -> Vec<JudgedHead> {
        let mut judged: Vec<JudgedHead> = Vec::new();
        let opened = self.last.pull_request.created_at;
        for (nth, head) in self.heads.iter().enumerate() {
            let policy = policy(head);
            let pushed = if nth == 0 { Some(opened) } else { head.began() };
            let done = head.ended().unwrap_or(opened);
            // When it was replaced, or the pull request ended, or was read.
            let next = self.heads.get(nth + 1).and_then(PastHead::began);
            let left = next
                .or(self.last.pull_request.closed_at)
                .unwrap_or(self.read_at);
            for now in [pushed.unwrap_or(done).min(done), done, left.max(done)] {
                let snapshot = self.at(head, now);
                let before = judged.last().map(|judged| judged.decision.next.clone());
                let before = before.unwrap_or_else(|| LoopState::begin(&snapshot, &policy, opened));
                let decision = decide(&snapshot, &before, &policy, now);
                judged.push(JudgedHead {
                    snapshot,
                    policy: policy.clone(),
                    decision,
                });
            }
        }
        judged
    }

    /// What was to be seen of a head at a time. Its files are those of the last head: history shows no others.
    fn at(&self, head: &PastHead, now: Timestamp) -> Snapshot {
        let mut seen = self.last.clone();
        seen.pull_request.lifecycle = Lifecycle::Open;
        seen.pull_request.closed_at = None;
        seen.pull_request.head.sha = head.sha;
        seen.pull_request.head.tree = head.sha;
        seen.checks.clone_from(&head.checks);
        for check in &mut seen.checks {
            if matches!(check.progress, CheckProgress::Completed { at: Some(at), .. } if at > now) {
                check.progress = CheckProgress::InProgress;
            }
        }
        let recorded = head.recorded.iter().filter(|recorded| recorded.at <= now);
        seen.evidence = recorded.map(|recorded| self.evidence(recorded)).collect();
        if let Some(last) = seen
            .commits
            .items
            .iter()
            .position(|commit| commit.sha == head.sha)
        {
            seen.commits.items.truncate(last + 1);
        }
        seen.comments
            .items
            .retain(|comment| comment.created_at <= now);
        seen.inline
            .items
            .retain(|comment| comment.created_at <= now);
        seen.reviews
            .items
            .retain(|review| review.submitted_at <= now);
        seen
    }

    /// The evidence of a recorded attempt. Coverage of a head whose files were others is left out: the last head's
    /// files cannot hold it.
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

    /// For whom it waited, as far as the times of its checks show.
    pub fn waited(&self) -> Waited {
        let seconds = |from: Option<Timestamp>, to: Option<Timestamp>| {
            let time = to.zip(from).map(|(to, from)| to - from);
            time.map_or(0, |time| time.max(TimeDelta::zero()).num_seconds())
        };
        let ci = self
            .heads
            .iter()
            .map(|head| seconds(head.began(), head.ended()))
            .sum();
        let author = self
            .heads
            .windows(2)
            .map(|pair| seconds(pair[0].ended(), pair[1].began()))
            .sum();
        let last = self.heads.last().and_then(PastHead::ended);
        Waited {
            ci,
            author,
            people: seconds(last, self.last.pull_request.closed_at),
        }
    }
}

impl Policy {
    /// This policy with a head's own checks in the place of configured ones: where nothing is configured, each check
    /// that ran counts. A check whose name shows no kind is one that must pass, as any red check on GitHub.
    pub fn with_checks_of(mut self, checks: &[ExternalCheck]) -> Self {
        self.verify.checks.clear();
        let named: BTreeSet<_> = checks
            .iter()
            .map(|check| (&check.name, &check.app))
            .collect();
        for (name, app) in named {
            let Ok(glob) = NameGlob::parse(&globset::escape(name)) else {
                continue;
            };
            let source = ExternalSource {
                name: glob,
                app: app.clone(),
                when_skipped: WhenSkipped::Auto,
            };
            let kind = CheckKind::of_name(name).filter(|kind| *kind != CheckKind::Custom);
            let kind = kind.unwrap_or(CheckKind::Build);
            let policy = CheckPolicy {
                kind,
                source: CheckSource::External(source),
                is_detected: true,
            };
            let names = (1..).filter_map(|nth| check_name(name, nth));
            if let Some(own) = names
                .take(checks.len())
                .find(|own| !self.verify.checks.contains_key(own))
            {
                self.verify.checks.insert(own, policy);
            }
        }
        self
    }
}

/// A name of the configuration's form, the `nth` that is tried: `Test (ubuntu, 3.12)` is `test-ubuntu-3-12`, then
/// `test-ubuntu-3-12-2`.
fn check_name(name: &str, nth: usize) -> Option<CheckName> {
    let words = name
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    let name = words
        .map(str::to_ascii_lowercase)
        .collect::<Vec<_>>()
        .join("-");
    let name = if name.is_empty() {
        "check".to_owned()
    } else {
        text::start(&name, 36)
    };
    let name = name.trim_end_matches('-');
    if nth == 1 {
        name.parse().ok()
    } else {
        format!("{name}-{nth}").parse().ok()
    }
}

/// `schema` of the document.
const SCHEMA: &str = "loopgate.what-if/v1";
/// Attempts that would end otherwise and are listed.
const MOST_VERDICTS: usize = 50;

/// A mean, and of how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Mean {
    sum: f64,
    pub of: u32,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.of = self.of.saturating_add(1);
    }

    pub fn value(self) -> Option<f64> {
        (self.of > 0).then(|| self.sum / f64::from(self.of))
    }
}

/// An attempt that would end otherwise.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VerdictChange {
    /// `#12`
    pub run: String,
    pub attempt: u32,
    pub was: VerificationResult,
    pub would: VerificationResult,
    pub was_score: Score,
    pub would_score: Score,
}

/// What the history of pull requests does not hold.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unknown {
    /// No evidence of the check is there.
    Check(CheckName),
    /// What GitHub did not show.
    Unread(String),
}

/// What would have differed for some pull requests under another configuration.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WhatIf {
    pub schema: &'static str,
    /// Pull requests that were decided again.
    pub runs: usize,
    pub gates: BTreeMap<GateName, RunChanges>,
    /// Calls for a human, by their cause.
    pub calls: BTreeMap<Trigger, RunChanges>,
    /// The number of the first attempt that passes.
    pub attempts_was: Mean,
    pub attempts_would: Mean,
    pub scores_was: Mean,
    pub scores_would: Mean,
    pub verdicts: Vec<VerdictChange>,
    pub verdicts_not_listed: usize,
    pub dropped_checks: BTreeMap<CheckName, CheckUse>,
    #[serde(serialize_with = "as_list")]
    pub unknown: BTreeMap<Unknown, Vec<String>>,
}

fn as_list<S: serde::Serializer>(
    unknown: &BTreeMap<Unknown, Vec<String>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Entry<'a> {
        what: &'a Unknown,
        runs: &'a [String],
    }
    serializer.collect_seq(unknown.iter().map(|(what, runs)| Entry { what, runs }))
}

/// What the decisions over one pull request came to.
struct Course {
    /// Gates that applied and held at the end.
    gates: Vec<GateName>,
    /// Calls for a human, each with the attempt that raised it.
    calls: BTreeSet<(u32, Trigger)>,
    /// Attempts on heads of which a check is known.
    attempts: Vec<AttemptDigest>,
    /// The evidence of each attempt when it was counted first.
    evidence: Vec<CheckEvidence>,
}

impl Course {
    fn of(past: &PastPullRequest, policy: &Policy) -> Self {
        let judged = past.judge(|head| head.with_known_checks(policy));
        let checked = judged
            .iter()
            .filter(|judged| !judged.policy.verify.checks.is_empty());
        let checked: BTreeSet<_> = checked
            .map(|judged| judged.snapshot.pull_request.head.sha)
            .collect();
        let last = judged.last().map(|last| &last.decision);
        let gates = last.into_iter().flat_map(|last| &last.view.gates);
        let holds = gates.filter(|gate| !gate.is_advisory && !gate.matches.is_empty());
        let attempts = last
            .into_iter()
            .flat_map(|last| &last.next.attempts.counted);
        // Whether an approval would have come in time is not known.
        let call = |judged: &JudgedHead| {
            let call = judged.decision.view.escalation.as_ref()?;
            (call.trigger.waits_for() != Some(WaitsFor::Approval))
                .then_some((call.attempt, call.trigger))
        };
        let recorded = judged
            .iter()
            .filter_map(|judged| judged.decision.attempt.as_ref());
        Self {
            gates: holds.map(|gate| gate.name.clone()).collect(),
            calls: judged.iter().filter_map(call).collect(),
            attempts: attempts
                .filter(|attempt| checked.contains(&attempt.head_sha))
                .cloned()
                .collect(),
            evidence: recorded
                .flat_map(|attempt| attempt.checks.iter().cloned())
                .collect(),
        }
    }
}

impl WhatIf {
    /// Of no pull request yet.
    pub fn new() -> Self {
        Self {
            schema: SCHEMA,
            ..Self::default()
        }
    }

    /// Decides one more pull request under its own policy and under another, and counts the differences.
    pub fn add(&mut self, past: &PastPullRequest, own: &Policy, other: &Policy) {
        let name = format!("#{}", past.last.pull_request.number);
        let (was, would) = (Course::of(past, own), Course::of(past, other));
        self.runs += 1;
        count_changes(&mut self.gates, &name, was.gates, would.gates);
        let triggers = |calls: BTreeSet<(u32, Trigger)>| {
            calls.into_iter().map(|(_, trigger)| trigger).collect()
        };
        count_changes(
            &mut self.calls,
            &name,
            triggers(was.calls),
            triggers(would.calls),
        );
        add_attempts(&mut self.attempts_was, &mut self.scores_was, &was.attempts);
        add_attempts(
            &mut self.attempts_would,
            &mut self.scores_would,
            &would.attempts,
        );
        for attempt in &would.attempts {
            let before = was
                .attempts
                .iter()
                .find(|was| was.head_sha == attempt.head_sha);
            let Some(before) = before.filter(|before| before.result != attempt.result) else {
                continue;
            };
            if self.verdicts.len() >= MOST_VERDICTS {
                self.verdicts_not_listed += 1;
                continue;
            }
            self.verdicts.push(VerdictChange {
                run: name.clone(),
                attempt: attempt.number,
                was: before.result,
                would: attempt.result,
                was_score: before.score,
                would_score: attempt.score,
            });
        }
        for check in was
            .evidence
            .iter()
            .filter(|check| !other.verify.checks.contains_key(&check.name))
        {
            self.dropped_checks
                .entry(check.name.clone())
                .or_default()
                .add(&CheckUse::of(check));
        }
        let known: BTreeSet<CheckName> = past
            .heads
            .iter()
            .flat_map(|head| head.with_known_checks(other).verify.checks.into_keys())
            .collect();
        let checks = other
            .verify
            .checks
            .keys()
            .filter(|check| !known.contains(*check))
            .cloned()
            .map(Unknown::Check);
        let unread = past
            .last
            .problems
            .iter()
            .map(|problem| Unknown::Unread(problem.what.clone()));
        for what in checks.chain(unread) {
            self.unknown.entry(what).or_default().push(name.clone());
        }
    }
}

/// Notes how often each thing is there more, or fewer times.
fn count_changes<T: Ord>(
    changes: &mut BTreeMap<T, RunChanges>,
    name: &str,
    was: Vec<T>,
    would: Vec<T>,
) {
    let mut counts: BTreeMap<T, i32> = BTreeMap::new();
    was.into_iter()
        .for_each(|one| *counts.entry(one).or_default() -= 1);
    would
        .into_iter()
        .for_each(|one| *counts.entry(one).or_default() += 1);
    for (one, count) in counts.into_iter().filter(|(_, count)| *count != 0) {
        let change = changes.entry(one).or_default();
        let side = if count > 0 {
            &mut change.more
        } else {
            &mut change.fewer
        };
        side.extend(std::iter::repeat_n(
            name.to_owned(),
            usize::try_from(count.unsigned_abs()).unwrap_or(0),
        ));
    }
}

fn add_attempts(first_pass: &mut Mean, scores: &mut Mean, attempts: &[AttemptDigest]) {
    let counted = attempts.iter().filter(|it| it.spent() || it.passes());
    if let Some((index, _)) = counted.enumerate().find(|(_, attempt)| attempt.passes()) {
        first_pass.add(f64::from(u32::try_from(index + 1).unwrap_or(u32::MAX)));
    }
    attempts
        .iter()
        .for_each(|attempt| scores.add(attempt.score.as_f64()));
}
