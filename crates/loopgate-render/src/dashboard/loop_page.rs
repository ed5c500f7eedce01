//! The page of one loop: as it stands now, or as it stood at one of its saved states.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::overview::{ListedLoop, OpenLoop, short};
use crate::{
    Feedback, GateCard, Links, Markdown, Shown, Subject, address, block, check_table, explain,
    gate_card::GateWord, loop_verdict, model::Failure, plain, sanitize::text, steps,
    verdict::verdict,
};
use loopgate_core::{
    GateName, PrNumber, RepoName, Score, Sha, Timestamp,
    deciding::Part,
    failure::FeedbackLine,
    stage::Stage,
    state::{
        AttemptDigest, GateState, GateStatus, LoopState, VerificationResult, history::HistoryLine,
    },
};

/// Items shown of each list.
const MOST: usize = 200;

/// A run as one of its saved states holds it.
#[derive(Debug)]
pub struct RecordedLoop {
    /// The commit it was read from.
    pub commit: Sha,
    pub state: LoopState,
    pub history: Vec<HistoryLine>,
    /// `attempts/NNN.json` of the newest attempts.
    pub attempts: BTreeMap<u32, AttemptNotes>,
    /// `artifact.md`.
    pub report: String,
    /// The saved states up to the newest, newest first.
    pub saved: Vec<SavedState>,
}

/// A commit of the state ref. The page as it stood then has the loop's address and `?at=` with its id.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SavedState {
    #[schemars(with = "String")]
    pub sha: Sha,
    #[schemars(with = "String")]
    pub at: Timestamp,
    pub subject: String,
}

/// What is shown of the document of an attempt.
#[derive(Debug, Default, Deserialize)]
pub struct AttemptNotes {
    #[serde(default)]
    feedback: Vec<FeedbackLine>,
    #[serde(default)]
    analysis: Vec<Value>,
}

/// One loop.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct LoopPage {
    pub schema: &'static str,
    pub repository: String,
    pub number: u64,
    pub title: String,
    /// The pull request on GitHub.
    pub url: Option<String>,
    /// Its page here, as it stands now.
    pub page: String,
    /// The saved state that is shown; none: as it stands now.
    pub at: Option<SavedState>,
    /// What is not shown, and why.
    pub note: Option<String>,
    pub verdict: String,
    /// The loop in the list of those that somebody acts on; none where a saved state is shown, or nobody acts.
    pub acts: Option<Box<ListedLoop>>,
    pub next: Vec<Markdown>,
    pub head_sha: String,
    pub stage: Stage,
    pub status: String,
    pub attempt: u32,
    pub max_attempts: u32,
    #[schemars(with = "Option<f64>")]
    pub score: Option<Score>,
    /// Gates in the way first.
    pub gates: Vec<GateCard>,
    /// As the feedback document has them.
    pub failures: Vec<Failure>,
    pub rules: Vec<Markdown>,
    /// What weakens tests or thresholds.
    pub weakened: Vec<Markdown>,
    pub warnings: Vec<Markdown>,
    /// The newest first.
    pub attempts: Vec<Attempt>,
    /// The lines of the history, the newest first.
    #[schemars(with = "Vec<serde_json::Value>")]
    pub timeline: Vec<HistoryLine>,
    /// The newest first.
    pub saved: Vec<SavedState>,
    /// The report as it was saved.
    pub report: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Attempt {
    pub number: u32,
    pub head_sha: String,
    #[schemars(with = "String")]
    pub at: Timestamp,
    pub passed: bool,
    /// It weakens tests or thresholds.
    pub weakened: bool,
    #[schemars(with = "f64")]
    pub score: Score,
    pub summary: String,
    pub failed_rules: Vec<String>,
    pub failures: Vec<Failure>,
    pub feedback: Vec<String>,
}

impl LoopPage {
    /// As it stands now, with what is recorded of it.
    pub fn now(subject: &Subject<'_>, recorded: Option<&RecordedLoop>, now: Timestamp) -> Self {
        let (open, (_, words), links) = (
            OpenLoop::of(subject),
            verdict(subject),
            Links::of(subject.snapshot),
        );
        let (pull, repository) = (&subject.snapshot.pull_request, &subject.snapshot.repository);
        let base = Self::of_state(&subject.decision.next, recorded, pull.number, repository);
        Self {
            title: open.title.clone(),
            url: address(&pull.url),
            verdict: words,
            next: steps::next_steps(subject),
            stage: open.stage,
            attempt: open.attempt,
            max_attempts: open.max_attempts,
            score: Some(open.score),
            // Who is in a team is for its members to see.
            gates: explain::gates(subject, |_| Vec::new()),
            failures: Feedback::of(subject).failures,
            rules: explain::rules(subject),
            weakened: weakened(subject),
            warnings: explain::warnings(subject, &links),
            acts: (open.part != Part::Nobody)
                .then(|| Box::new(ListedLoop::new(repository, pull.number, open, now))),
            ..base
        }
    }

    /// As it stood at a saved state.
    pub fn then(recorded: &RecordedLoop, number: PrNumber, repository: &RepoName) -> Self {
        let at = recorded
            .saved
            .iter()
            .find(|saved| saved.sha == recorded.commit)
            .cloned();
        let at = at.unwrap_or_else(|| SavedState {
            sha: recorded.commit,
            at: recorded.state.run.updated_at,
            subject: String::new(),
        });
        Self {
            at: Some(at),
            report: Some(block(&plain(&recorded.report))),
            ..Self::of_state(&recorded.state, Some(recorded), number, repository)
        }
    }

    /// What the state holds.
    fn of_state(
        state: &LoopState,
        recorded: Option<&RecordedLoop>,
        number: PrNumber,
        repository: &RepoName,
    ) -> Self {
        let attempt = |digest: &AttemptDigest| {
            Attempt::new(
                digest,
                recorded.and_then(|recorded| recorded.attempts.get(&digest.number)),
            )
        };
        let attempts: Vec<Attempt> = state
            .attempts
            .counted
            .iter()
            .rev()
            .take(MOST)
            .map(attempt)
            .collect();
        let mut gates: Vec<GateCard> = state.concerns.gates.iter().map(saved_gate).collect();
        gates.sort_by_key(|gate| !gate.closed);
        let failures = attempts
            .first()
            .filter(|attempt| !attempt.passed)
            .map(|attempt| attempt.failures.clone());
        let timeline =
            recorded.map(|recorded| recorded.history.iter().rev().take(MOST).cloned().collect());
        Self {
            schema: "loopgate.loop/v1",
            repository: repository.to_string(),
            number: number.get(),
            title: short(&state.run.title),
            page: format!("/{repository}/pull/{number}"),
            verdict: short(&loop_verdict(state)),
            head_sha: state.head.sha.to_string(),
            stage: state.run.stage,
            status: state.run.status.as_str().replace("in_progress", "running"),
            attempt: state.run.iteration,
            max_attempts: state.run.max_iterations,
            score: state.attempts.score_before(),
            gates,
            failures: failures.unwrap_or_default(),
            attempts,
            timeline: timeline.unwrap_or_default(),
            saved: recorded
                .map(|recorded| recorded.saved.clone())
                .unwrap_or_default(),
            ..Self::default()
        }
    }
}

fn weakened(subject: &Subject<'_>) -> Vec<Markdown> {
    let found = subject.tampering().take(MOST);
    found
        .map(|one| check_table::weakened(one, subject.snapshot))
        .collect()
}

impl Attempt {
    fn new(digest: &AttemptDigest, notes: Option<&AttemptNotes>) -> Self {
        let failure = |analysis: &Value| {
            let [check, test, cause, r#do] = ["check", "test_name", "root_cause", "fix_strategy"]
                .map(|name| analysis[name].as_str().map(str::to_owned));
            Failure {
                check,
                test,
                cause,
                r#do,
                ..Failure::default()
            }
        };
        let (feedback, analysis) = notes.map_or((&[][..], &[][..]), |notes| {
            (&notes.feedback, &notes.analysis)
        });
        Self {
            number: digest.number,
            head_sha: digest.head_sha.to_string(),
            at: digest.at,
            passed: digest.result == VerificationResult::Pass,
            weakened: digest.weakened,
            score: digest.score,
            summary: digest.summary.clone(),
            failed_rules: digest
                .failed_rules
                .iter()
                .map(ToString::to_string)
                .collect(),
            failures: analysis.iter().map(failure).collect(),
            feedback: feedback.iter().map(ToString::to_string).collect(),
        }
    }
}

/// A gate as a saved state keeps it: who opened it, and who was against it.
fn saved_gate((name, gate): (&GateName, &GateState)) -> GateCard {
    let approved = gate.approved_by.iter().flatten().map(|by| GateWord {
        by: by.to_string(),
        at: gate.approved_at,
        url: gate.evidence_url.as_deref().and_then(address),
        word: "approve".to_owned(),
        outcome: "counted",
        sentence: text(&format!("{by} approved it.")),
    });
    let objected = gate.objections.iter().map(|objection| GateWord {
        by: objection.by.to_string(),
        at: Some(objection.at),
        url: address(&objection.url),
        word: "reject".to_owned(),
        outcome: "counted",
        sentence: text(&objection.words),
    });
    GateCard {
        name: name.to_string(),
        status: gate.status,
        closed: matches!(
            gate.status,
            GateStatus::Pending | GateStatus::Requested | GateStatus::Rejected
        ),
        words: Shown::first(MOST, approved.chain(objected), |word| word),
        notes: Shown::first(1, gate.notes.as_deref(), text),
        ..GateCard::default()
    }
}
