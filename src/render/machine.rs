//! The same facts for a program: the JSON inside the status comment's last section (`loopgate.status/v1`).

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{
    fit::{Shortened, Shown, shorten_first},
    sanitize::{Markdown, clip},
    summary,
    verdict::Subject,
};
use crate::core::{
    CheckName, GateName, Login, PrNumber, RepoName, RuleId, Score, Sha,
    decision::{
        CheckStanding, CheckView, DecisionWord, DistanceToSuccess, EvaluationVerdict, FailureView, FeedbackLine,
        NextAction,
    },
    escalation::Trigger,
    evidence::CheckKind,
    failure::{Blame, RootCauseCategory},
    gate::{ApproveBy, GateReport, GateStatus, Holding},
    policy::Phase,
    stage::Stage,
    state::{AttemptDigest, CapabilityProgress, RunStatus, VerificationResult},
};

/// `schema` of the document.
pub const STATUS_SCHEMA: &str = "loopgate.status/v1";

/// Bytes of a feedback packet (evidence.md, Analysis of a failure).
const PACKET: usize = 16 * 1024;

/// Decision and feedback for agents and scripts.
#[derive(Debug, Serialize)]
pub struct Status {
    pub schema: &'static str,
    pub repository: RepoName,
    pub pull_request: PrNumber,
    pub head_sha: Sha,
    pub decision: DecisionWord,
    pub action: Action,
    pub status: RunStatus,
    pub stage: Stage,
    pub attempt: u32,
    pub max_attempts: u32,
    pub evaluation: Evaluation,
    pub checks: List<Check>,
    pub gates: List<Gate>,
    pub capabilities: CapabilityProgress,
    pub failures: List<Failure>,
    pub feedback: List<Feedback>,
    /// What changed since the attempt before.
    pub compare: Option<Compare>,
    /// What was tried, oldest first.
    pub attempts: List<Attempt>,
    pub distance_to_success: Option<DistanceToSuccess>,
    pub state_ref: String,
    /// How many items of which list were left out for the size limit.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub omitted: BTreeMap<&'static str, usize>,
}

/// A list whose end may be left out; the document's `omitted` says of which lists, and how much.
#[derive(Debug, Default)]
pub struct List<T>(pub Shown<T>);

impl<T: Serialize> Serialize for List<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.items.serialize(serializer)
    }
}

impl<T> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self(items.into_iter().collect())
    }
}

#[derive(Debug, Serialize)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum Action {
    Complete,
    Stopped,
    WaitForHuman { cause: Trigger },
    WaitForApproval { gate: GateName },
    WaitForEvidence { missing: Vec<CheckName> },
    Retry { attempt: u32 },
    Escalate { cause: Trigger },
    WaitForPush { capability: String },
    WaitForReady,
    WaitForReview,
    WaitForMerge,
}

#[derive(Debug, Serialize)]
pub struct Evaluation {
    pub phase: Phase,
    pub score: Score,
    pub threshold: Score,
    pub progress: Score,
    /// Absent while undecided.
    pub passed: Option<bool>,
    pub failed_rules: Vec<RuleId>,
    pub warnings: Vec<RuleId>,
}

#[derive(Debug, Serialize)]
pub struct Check {
    pub name: CheckName,
    pub kind: CheckKind,
    pub outcome: &'static str,
    pub blame: Option<Blame>,
    pub tests: Option<Tests>,
    pub duration_ms: Option<u64>,
    pub url: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct Tests {
    pub total: u64,
    pub passed: u64,
    pub failed: u64,
    pub errors: u64,
    pub skipped: u64,
    pub flaky: u64,
}

#[derive(Debug, Serialize)]
pub struct Gate {
    pub name: GateName,
    pub status: GateStatus,
    pub holds: Stage,
    pub advisory: bool,
    pub approve_by: Vec<&'static str>,
    pub phrase: String,
    pub approvers: Approvers,
    pub approved_by: Vec<Login>,
}

#[derive(Debug, Serialize)]
pub struct Approvers {
    pub people: Vec<Login>,
    pub teams: Vec<String>,
    pub permission: Option<crate::core::snapshot::Permission>,
    pub needed: u32,
}

#[derive(Debug, Serialize)]
pub struct Failure {
    pub check: CheckName,
    pub test: Option<String>,
    pub error_type: &'static str,
    pub message: String,
    pub file: Option<String>,
    pub line: Option<u32>,
    pub expected: Option<String>,
    pub actual: Option<String>,
    pub blame: Blame,
    pub category: RootCauseCategory,
    pub root_cause: String,
    pub fix_strategy: String,
    pub confidence: f64,
    pub fingerprint: Option<crate::core::Fingerprint>,
}

#[derive(Debug, Serialize)]
pub struct Compare {
    pub new: Vec<String>,
    pub still: Vec<String>,
    pub fixed: Vec<String>,
    pub flaky: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct Attempt {
    pub attempt: u32,
    pub head_sha: Sha,
    pub result: VerificationResult,
    pub score: Score,
    pub summary: String,
}

#[derive(Debug, Serialize)]
pub struct Feedback {
    pub location: String,
    pub problem: String,
    pub action: String,
    pub reason: String,
    pub reproduce: Option<String>,
}

impl Status {
    pub fn of(subject: &Subject<'_>) -> Self {
        let (decision, view) = (subject.decision, &subject.decision.view);
        let pull = &subject.snapshot.pull_request;
        let mut status = Self {
            schema: STATUS_SCHEMA,
            repository: subject.snapshot.repository.clone(),
            pull_request: pull.number,
            head_sha: pull.head.sha,
            decision: decision.action.word(),
            action: action(&decision.action),
            status: decision.next.status,
            stage: view.stage,
            attempt: view.attempt,
            max_attempts: view.max_attempts,
            evaluation: evaluation(&view.evaluation),
            checks: List(Shown::first(100, &view.checks, check)),
            gates: List(Shown::first(40, &view.gates, |report| gate(report, subject))),
            capabilities: capabilities(&view.capabilities),
            failures: List(Shown::first(10, &view.failures, failure)),
            feedback: List(Shown::first(10, &view.feedback, feedback)),
            compare: view.compare.as_ref().map(compare),
            attempts: decision.next.attempts.iter().rev().take(10).rev().map(attempt).collect(),
            distance_to_success: view.distance.clone(),
            state_ref: summary::state_ref(subject),
            omitted: BTreeMap::new(),
        };
        status.count_omitted();
        while status.fenced().as_str().len() > PACKET && status.shorten() == Shortened::Yes {}
        status
    }

    /// Leaves out half of the least important list that is left.
    pub fn shorten(&mut self) -> Shortened {
        let shortened = shorten_first(
            self,
            &[
                |status| status.failures.0.halve(),
                |status| status.feedback.0.halve(),
                |status| status.attempts.0.halve(),
                |status| status.checks.0.halve(),
                |status| status.gates.0.halve(),
            ],
        );
        self.count_omitted();
        shortened
    }

    fn count_omitted(&mut self) {
        let lists = [
            ("failures", self.failures.0.omitted),
            ("feedback", self.feedback.0.omitted),
            ("attempts", self.attempts.0.omitted),
            ("checks", self.checks.0.omitted),
            ("gates", self.gates.0.omitted),
        ];
        self.omitted = lists.into_iter().filter(|(_, omitted)| *omitted > 0).collect();
    }

    /// The document as a fenced block. Backticks, angle brackets and invisible characters are written as JSON
    /// escapes, so three backticks always close it and nothing in it can pass for a marker or hide.
    pub fn fenced(&self) -> Markdown {
        let json = serde_json::to_string_pretty(self).unwrap_or_else(|error| format!("\"{error}\""));
        Markdown::ours(format!("```json\n{}\n```", escape(&json)))
    }
}

/// Only strings can hold these characters, so a JSON escape is right wherever they stand.
fn escape(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        let visible = c == '\n' || c.is_ascii_graphic() || c == ' ' || c.is_alphanumeric();
        if visible && !matches!(c, '`' | '<' | '>') {
            out.push(c);
        } else {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    out
}

fn action(action: &NextAction) -> Action {
    match action {
        NextAction::Complete => Action::Complete,
        NextAction::Stopped => Action::Stopped,
        NextAction::WaitForHuman { cause } => Action::WaitForHuman { cause: *cause },
        NextAction::WaitForApproval { gate } => Action::WaitForApproval { gate: gate.clone() },
        NextAction::WaitForEvidence { missing } => {
            Action::WaitForEvidence { missing: missing.iter().take(50).cloned().collect() }
        }
        NextAction::Retry { attempt } => Action::Retry { attempt: *attempt },
        NextAction::Escalate { cause } => Action::Escalate { cause: *cause },
        NextAction::WaitForPush { capability } => Action::WaitForPush { capability: short(capability, 200) },
        NextAction::WaitForReady => Action::WaitForReady,
        NextAction::WaitForReview => Action::WaitForReview,
        NextAction::WaitForMerge => Action::WaitForMerge,
    }
}

fn evaluation(evaluation: &crate::core::decision::Evaluation) -> Evaluation {
    Evaluation {
        phase: evaluation.phase,
        score: evaluation.score,
        threshold: evaluation.threshold,
        progress: evaluation.progress,
        passed: match evaluation.verdict {
            EvaluationVerdict::Undecided => None,
            EvaluationVerdict::Passed(_) => Some(true),
            EvaluationVerdict::Failed => Some(false),
        },
        failed_rules: evaluation.failed_rules().into_iter().take(50).collect(),
        warnings: evaluation.warnings().into_iter().take(50).collect(),
    }
}

fn check(view: &CheckView) -> Check {
    let (outcome, evidence) = match &view.standing {
        CheckStanding::Missing => ("missing", None),
        CheckStanding::Running { .. } => ("running", None),
        CheckStanding::Done(evidence) => (evidence.outcome.as_str(), Some(evidence)),
        CheckStanding::TimedOutWaiting => ("timed_out_waiting", None),
        CheckStanding::Skipped { .. } => ("skipped", None),
        CheckStanding::Refused { .. } => ("refused", None),
    };
    Check {
        name: view.name.clone(),
        kind: view.kind,
        outcome,
        blame: view.blame,
        tests: evidence.and_then(|evidence| evidence.results).map(|results| Tests {
            total: results.total,
            passed: results.passed,
            failed: results.failed,
            errors: results.errors,
            skipped: results.skipped,
            flaky: results.flaky,
        }),
        duration_ms: evidence.map(|evidence| evidence.duration_ms),
        url: evidence.and_then(|evidence| evidence.url.as_deref()).and_then(super::sanitize::address),
    }
}

fn gate(report: &GateReport, subject: &Subject<'_>) -> Gate {
    use crate::core::gate::GateStanding::Approved;
    let eligible = &report.eligible;
    Gate {
        name: report.name.clone(),
        status: report.status(),
        holds: report.holds,
        advisory: report.holding == Holding::Advisory,
        approve_by: match super::gate_card::approve_by(subject.policy, &report.name) {
            ApproveBy::Comment => vec!["comment"],
            ApproveBy::Review => vec!["review"],
            ApproveBy::CommentOrReview => vec!["comment", "review"],
        },
        phrase: format!("{} approved", report.name),
        approvers: Approvers {
            people: eligible.people.iter().take(20).cloned().collect(),
            teams: eligible.teams.iter().take(20).map(ToString::to_string).collect(),
            permission: eligible.permission,
            needed: report.needed,
        },
        approved_by: match &report.standing {
            Approved { by } => by.iter().take(20).map(|approval| approval.by.clone()).collect(),
            _ => Vec::new(),
        },
    }
}

fn capabilities(progress: &CapabilityProgress) -> CapabilityProgress {
    CapabilityProgress {
        total: progress.total,
        completed: progress.completed,
        current: progress.current.as_deref().map(|words| short(words, 200)),
        remaining: progress.remaining.iter().take(20).map(|words| short(words, 200)).collect(),
    }
}

fn failure(view: &FailureView) -> Failure {
    let failure = &view.failure;
    let place = failure.location();
    Failure {
        check: view.check.clone(),
        test: failure.test_name.as_deref().map(|name| short(name, 300)),
        error_type: failure.error_type.as_str(),
        message: short(&failure.error_message, 500),
        file: place.map(|(file, _)| short(file, 500)),
        line: place.and_then(|(_, line)| line),
        expected: failure.expected.as_deref().map(|value| short(value, 500)),
        actual: failure.actual.as_deref().map(|value| short(value, 500)),
        blame: view.blame,
        category: view.category,
        root_cause: short(&view.root_cause, 500),
        fix_strategy: short(&view.fix_strategy, 500),
        confidence: if view.confidence.is_finite() { view.confidence.clamp(0.0, 1.0) } else { 0.0 },
        fingerprint: failure.fingerprint,
    }
}

fn compare(compare: &crate::core::decision::Compare) -> Compare {
    let names = |names: &BTreeSet<String>| names.iter().take(10).map(|name| short(name, 200)).collect();
    Compare {
        new: names(&compare.new),
        still: names(&compare.still),
        fixed: names(&compare.fixed),
        flaky: names(&compare.flaky),
    }
}

fn attempt(digest: &AttemptDigest) -> Attempt {
    Attempt {
        attempt: digest.number,
        head_sha: digest.head_sha,
        result: digest.result,
        score: digest.score,
        summary: short(&digest.summary, 300),
    }
}

fn feedback(line: &FeedbackLine) -> Feedback {
    Feedback {
        location: short(&line.location, 500),
        problem: short(&line.problem, 500),
        action: short(&line.action, 500),
        reason: short(&line.reason, 500),
        reproduce: line.reproduce.as_deref().map(|command| short(command, 500)),
    }
}

fn short(words: &str, most: usize) -> String {
    clip(words, most).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::fixtures;

    fn status(decision: &crate::core::decision::Decision) -> Status {
        let (snapshot, policy) = (fixtures::snapshot(), fixtures::policy());
        Status::of(&Subject { decision, snapshot: &snapshot, policy: &policy })
    }

    #[test]
    fn the_block_is_json_again() {
        let mut decision = fixtures::first_failure();
        let nasty = "```\n<!-- loopgate:status --> \u{202e}\u{1F600}\u{0}\u{7f}\"\\";
        decision.view.failures[0].failure.error_message = nasty.into();
        let fenced = status(&decision).fenced().into_string();
        let json = fenced.strip_prefix("```json\n").and_then(|rest| rest.strip_suffix("\n```")).unwrap();
        assert!(!json.contains('`') && !json.contains('<') && !json.contains('\u{202e}'));
        let parsed: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(parsed["schema"], STATUS_SCHEMA);
        assert_eq!(parsed["failures"][0]["message"], nasty, "nothing is lost");
    }

    #[test]
    fn a_packet_is_at_most_16_kb_and_says_what_it_left_out() {
        let mut decision = fixtures::first_failure();
        decision.view.failures = vec![fixtures::failure(); 200];
        for failure in &mut decision.view.failures {
            failure.failure.error_message = "\u{1F600}".repeat(5_000);
        }
        let status = status(&decision);
        assert!(status.fenced().as_str().len() <= PACKET);
        assert_eq!(status.failures.0.items.len() + status.omitted["failures"], 200);
    }
}
