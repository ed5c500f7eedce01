//! The iteration summary: one exact form for terminal, job summary and comment.

use minijinja::{Value, context, value::Serde};
use serde::Serialize;

use super::{
    Links, Markdown, Subject,
    messages::{self, entry},
    sanitize, short_text, words,
};
use loopgate_core::{
    concerns::verdict::{
        Evaluation, EvaluationVerdict, FailureView, RuleFailure, RuleOutcome, RuleView,
    },
    observed::Commit,
    policy::{Severity, StateBackend},
    state::{AttemptDigest, LoopState, VerificationResult},
};

/// The summary, without control characters.
#[derive(Clone, Debug, PartialEq)]
pub struct Iteration {
    pub passes: bool,
    /// Its lines without what is to be done, for texts that show it with each failure.
    pub head: Vec<String>,
    /// Rule id and one-line fix.
    pub issues: Vec<(String, String)>,
}

impl Iteration {
    /// The iteration a decision evaluated; none while its evidence is incomplete.
    pub(super) fn of(subject: &Subject<'_>) -> Option<Self> {
        let (view, next) = (&subject.decision.view, &subject.decision.next);
        if view.evaluation.verdict == EvaluationVerdict::Undecided {
            return None;
        }
        let checks = next
            .concerns
            .checks
            .prepared
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>();
        let artifact = match subject.is_single() {
            true => "none is kept".to_owned(),
            false => messages::plain(
                entry::StatePlace(&state_place(subject)),
                context! { is_code => false },
            ),
        };
        let beside = context! {
            number => view.attempt,
            // A later streak counts on: 4/4 then, never 4/3.
            max => next.run.max_iterations.max(view.attempt),
            plan => if next.run.plan.is_empty() { checks } else { next.run.plan.clone() },
            changed => changed(subject),
            artifact,
        };
        Some(Self::new(next, &view.evaluation, &view.failures, beside))
    }

    /// The iteration that a state is in; `beside` has its `number`, `max`, `plan`, what `changed`, and `artifact`,
    /// where the state is.
    pub(super) fn new(
        state: &LoopState,
        evaluation: &Evaluation,
        failures: &[FailureView],
        beside: Value,
    ) -> Self {
        let model = context! {
            phase => format!("{:?}", evaluation.phase),
            score => f64::from(evaluation.score),
            passes => evaluation.passed(),
            // SHA-256 over the head's tree id, in hex.
            hash => state.head.artifact.content_hash.as_str(),
            failed => Serde(evaluation.failed_rules()),
            warnings => Serde(evaluation.warnings()),
            ..beside
        };
        let head = messages::text("iteration.txt", model)
            .lines()
            .map(str::to_owned)
            .collect();
        // What to do about each failed rule. Of a check that named its failures, what the first of them needs: that the
        // check is to pass is no news.
        let issue = |(rule, why): (&RuleView, &RuleFailure)| {
            let first = failures
                .iter()
                .find(|failure| failure.check.as_str() == rule.id.as_str());
            let named = first
                .map(|failure| failure.feedback.action.clone())
                .filter(|action| !action.is_empty());
            (
                rule.id.to_string(),
                named.unwrap_or_else(|| messages::reason(entry::Rule(why))),
            )
        };
        let issues = failed(evaluation).into_iter().map(issue).collect();
        Self {
            passes: evaluation.passed(),
            head,
            issues,
        }
    }

    /// The summary's lines, without colour and without control characters.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = self.head.clone();
        if !self.passes {
            lines.extend(self.issue_lines());
        }
        lines
    }

    /// What is short: rule and fix, a line each. The summary shows them on FAIL; on PASS they are warnings.
    pub(super) fn issue_lines(&self) -> impl Iterator<Item = String> {
        let issue = |(rule, fix): &(String, String)| {
            format!("{rule}: {}", sanitize::clip(&sanitize::line(fix), 300))
        };
        self.issues.iter().take(30).map(issue)
    }
}

/// The rules that count and do not hold, each with why, the severe first.
pub(super) fn failed(evaluation: &Evaluation) -> Vec<(&RuleView, &RuleFailure)> {
    let counted = evaluation
        .rules
        .iter()
        .filter(|rule| rule.severity != Severity::Info);
    let failed = counted.filter_map(|rule| match &rule.outcome {
        RuleOutcome::Failed(why) => Some((rule, why)),
        RuleOutcome::Passed | RuleOutcome::Unknown => None,
    });
    let mut failed: Vec<_> = failed.collect();
    failed.sort_by_key(|(rule, _)| std::cmp::Reverse(rule.severity));
    failed
}

/// Where the loop's state is kept.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StatePlace {
    Ref(String),
    StatusComment,
    /// Of the newest workflow run that looked after a pull request.
    Artifact,
}

/// The ref that holds a run.
pub(super) fn state_ref(state: &LoopState) -> String {
    match state.run.pull_request {
        Some(number) => format!("refs/loopgate/pr/{number}"),
        None => format!("refs/loopgate/task/{}", state.run.alias),
    }
}

pub(super) fn state_place(subject: &Subject<'_>) -> StatePlace {
    match (subject.decision.next.run.pull_request, subject.policy.state) {
        (None, _) | (_, StateBackend::Ref) => StatePlace::Ref(state_ref(&subject.decision.next)),
        (Some(_), StateBackend::Comment) => StatePlace::StatusComment,
        (Some(_), StateBackend::Artifact) => StatePlace::Artifact,
    }
}

/// The same with code as code.
pub(super) fn state_place_in_markdown(subject: &Subject<'_>) -> Markdown {
    messages::markdown(
        entry::StatePlace(&state_place(subject)),
        context! { is_code => true },
    )
}

/// What was pushed since the attempt before: the subjects of its commits. Empty for the first attempt.
fn changed(subject: &Subject<'_>) -> Vec<String> {
    let attempts = &subject.decision.next.attempts.counted;
    let number = subject.decision.view.attempt;
    let Some(previous) = attempts
        .iter()
        .rev()
        .find(|attempt| attempt.number < number)
    else {
        return Vec::new();
    };
    match commits_between(
        subject,
        Some(previous.head_sha),
        subject.snapshot.pull_request.head.sha,
    ) {
        Some([]) => vec!["nothing".to_owned()],
        Some(commits) => commits.iter().map(subject_line).collect(),
        None => vec!["history rewritten".to_owned()],
    }
}

/// The commits after one head up to another; none when either is no longer part of the pull request.
pub(super) fn commits_between<'a>(
    subject: &Subject<'a>,
    after: Option<loopgate_core::Sha>,
    upto: loopgate_core::Sha,
) -> Option<&'a [Commit]> {
    let commits = &subject.snapshot.commits.items;
    let end = commits.iter().position(|commit| commit.sha == upto)? + 1;
    let start = match after {
        Some(sha) => commits.iter().position(|commit| commit.sha == sha)? + 1,
        None => 0,
    };
    commits.get(start..end)
}

pub(super) fn subject_line(commit: &Commit) -> String {
    commit
        .message
        .lines()
        .next()
        .unwrap_or_default()
        .trim()
        .to_owned()
}

/// One row of a table of attempts.
pub(super) fn attempt_row(attempt: &AttemptDigest, links: &Links, shows_score: bool) -> Value {
    let outcome = match (attempt.result, attempt.blame.and_then(words::blame)) {
        (VerificationResult::Pass, _) if attempt.weakened => "⚠️ passed, weakens tests",
        (VerificationResult::Pass, _) => "✅ passed",
        (VerificationResult::Fail, None) => "❌ failed",
        (VerificationResult::Fail, Some(_)) => "➖ failed, not its fault",
    };
    context! {
        number => attempt.number,
        head => links.commit(attempt.head_sha),
        outcome,
        score => shows_score.then(|| attempt.score.to_string()),
        summary => short_text(&attempt.summary, 200),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    fn summary(
        decision: &loopgate_core::deciding::Decision,
        snapshot: &loopgate_core::observed::Snapshot,
    ) -> String {
        let policy = fixtures::policy();
        Iteration::of(&Subject::new(decision, snapshot, &policy))
            .unwrap()
            .lines()
            .join("\n")
    }

    #[test]
    fn first_iteration_fails() {
        insta::assert_snapshot!(summary(&fixtures::first_failure(), &fixtures::snapshot()), @r"
        ── Iteration 1/3 | Phase A | Score: 0.71 | FAIL ──
        Plan: build, unit, lint
        Hash: 1a2b3c4d
        Changed: initial generation
        Failed: unit
        Warnings: coverage
        Artifact: refs/loopgate/pr/12
        unit: Compare with `expiry <= now` and reject
        coverage: 33.3 % of the changed lines are covered; add tests until it is 80 %: src/auth/token.rs:10-11
        ");
    }

    #[test]
    fn later_iteration_names_its_commits() {
        let (decision, snapshot) = fixtures::same_error_again();
        insta::assert_snapshot!(summary(&decision, &snapshot).lines().nth(3).unwrap(), @"Changed: Compare with <= instead");
    }

    #[test]
    fn passing_iteration_lists_no_issues() {
        let decision = fixtures::green(loopgate_core::deciding::NextAction::WaitForMerge);
        insta::assert_snapshot!(summary(&decision, &fixtures::snapshot()), @r"
        ── Iteration 1/3 | Phase B | Score: 1.00 | PASS ──
        Plan: build, unit, lint
        Hash: 1a2b3c4d
        Changed: initial generation
        Failed: none
        Warnings: none
        Artifact: refs/loopgate/pr/12
        ");
    }

    #[test]
    fn hostile_texts_stay_on_their_line() {
        let (mut decision, snapshot) = (fixtures::first_failure(), fixtures::snapshot());
        let lines = summary(&decision, &snapshot).lines().count();
        decision.next.run.plan = vec!["a\n\u{1b}[2Jb\nFailed: none".into()];
        assert_eq!(summary(&decision, &snapshot).lines().count(), lines);
    }

    #[test]
    fn nothing_is_summed_up_before_the_evidence_is_whole() {
        let (decision, snapshot, policy) = (
            fixtures::waiting_for_evidence(),
            fixtures::snapshot(),
            fixtures::policy(),
        );
        assert_eq!(
            Iteration::of(&Subject::new(&decision, &snapshot, &policy)),
            None
        );
    }
}
