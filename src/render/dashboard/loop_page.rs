//! The page of one loop: as it stands now, or as it stood at one of its saved states.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::overview::{OpenLoop, age, short};
use crate::render::{
    Brevity, Document, GateCard, Links, Subject, address, answers, block, clip, explain, line, links, loop_status_word,
    loop_verdict, model, plain, reflex::happened, steps, verdict::verdict, words,
};
use loopgate_core::{
    PrNumber, RepoName, Score, Sha, Timestamp,
    failure::FeedbackLine,
    gate::{Considered, GateReport, WordOutcome},
    stage::Stage,
    state::{
        AttemptDigest, GateState, GateStatus, LoopState, VerificationResult,
        history::{EventStatus, HistoryLine},
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

/// A commit of the state ref.
#[derive(Debug, Clone)]
pub struct SavedState {
    pub sha: Sha,
    pub at: Timestamp,
    pub subject: String,
}

/// What is shown of the document of an attempt.
#[derive(Debug, Default, Deserialize)]
pub struct AttemptNotes {
    #[serde(default)]
    feedback: Vec<FeedbackLine>,
    #[serde(default)]
    analysis: Vec<Analysis>,
}

#[derive(Debug, Deserialize)]
struct Analysis {
    check: String,
    test_name: Option<String>,
    root_cause: String,
    fix_strategy: String,
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
    pub at: Option<SavedRow>,
    /// What is not shown, and why.
    pub note: Option<String>,
    pub verdict: String,
    /// Who acts next; none where a saved state does not say.
    pub acts: Option<Acts>,
    pub next: Vec<String>,
    pub head_sha: String,
    pub stage: Stage,
    pub status: String,
    pub attempt: u32,
    pub max_attempts: u32,
    #[schemars(with = "Option<f64>")]
    pub score: Option<Score>,
    /// Gates in the way first.
    pub gates: Vec<Gate>,
    pub failures: Vec<Failure>,
    pub rules: Vec<String>,
    pub warnings: Vec<String>,
    /// The newest first.
    pub attempts: Vec<Attempt>,
    /// The newest first.
    pub timeline: Vec<Moment>,
    /// The newest first.
    pub saved: Vec<SavedRow>,
    /// The report as it was saved.
    pub report: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Acts {
    pub who: Vec<String>,
    pub action: String,
    pub action_url: String,
    pub waits: String,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SavedRow {
    pub sha: String,
    pub at: String,
    pub subject: String,
    /// The page as it stood then; this address stays.
    pub permalink: String,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Gate {
    pub name: String,
    pub status: String,
    /// It stands in the way.
    pub closed: bool,
    pub why: Vec<String>,
    pub who: String,
    pub how: Option<String>,
    /// Every word that was considered, and whether it counts.
    pub words: Vec<Word>,
    pub notes: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Word {
    pub by: String,
    pub at: String,
    pub url: Option<String>,
    pub counted: bool,
    pub said: String,
}

#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Failure {
    pub check: String,
    pub test: Option<String>,
    pub place: Option<String>,
    pub problem: String,
    pub action: String,
    pub reproduce: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Attempt {
    pub number: u32,
    pub head_sha: String,
    pub at: String,
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
        let (open, document, stands) = (OpenLoop::of(subject), Document::of(subject), verdict(subject));
        let links = Links::of(subject.snapshot);
        let reports = subject.decision.view.gates.iter();
        let mut gates: Vec<Gate> = reports.map(|report| Gate::explained(report, subject, &links)).collect();
        gates.sort_by_key(|gate| !gate.closed);
        let pull = &subject.snapshot.pull_request;
        let base = Self::of_state(&subject.decision.next, recorded, pull.number, &subject.snapshot.repository);
        Self {
            title: open.title,
            acts: document.who_acts.is_some().then(|| Acts {
                who: open.who,
                action: open.action,
                action_url: open.action_url,
                waits: age(open.since, now),
            }),
            url: address(&pull.url),
            verdict: format!("{} {}", stands.icon, stands.words),
            next: explain::plain_lines(&steps::next_steps(subject)),
            stage: open.stage,
            attempt: open.attempt,
            max_attempts: open.max_attempts,
            score: Some(open.score),
            gates,
            failures: document.failures.iter().map(Failure::of).collect(),
            rules: explain::plain_lines(&explain::rules(subject)),
            warnings: explain::plain_lines(&explain::warnings(subject, &links)),
            ..base
        }
    }

    /// As it stood at a saved state.
    pub fn then(recorded: &RecordedLoop, number: PrNumber, repository: &RepoName) -> Self {
        let page = Self::of_state(&recorded.state, Some(recorded), number, repository);
        let at = page.saved.iter().find(|saved| saved.sha == recorded.commit.to_string()).cloned();
        let at = at.unwrap_or_else(|| SavedRow {
            sha: recorded.commit.to_string(),
            at: words::moment(recorded.state.updated_at),
            subject: String::new(),
            permalink: format!("{}?at={}", page.page, recorded.commit),
        });
        Self { at: Some(at), report: Some(block(&plain(&recorded.report))), ..page }
    }

    /// What the state holds.
    fn of_state(state: &LoopState, recorded: Option<&RecordedLoop>, number: PrNumber, repository: &RepoName) -> Self {
        let page = format!("/{repository}/pull/{number}");
        let saved = |saved: &SavedState| SavedRow {
            sha: saved.sha.to_string(),
            at: words::moment(saved.at),
            subject: short(&saved.subject),
            permalink: format!("{page}?at={}", saved.sha),
        };
        let nothing = BTreeMap::new();
        let notes = recorded.map_or(&nothing, |recorded| &recorded.attempts);
        let attempts: Vec<Attempt> = state.attempts.iter().rev().take(MOST).map(|it| Attempt::of(it, notes)).collect();
        let mut gates: Vec<Gate> = state.gates.iter().map(|(name, gate)| Gate::kept(name.as_str(), gate)).collect();
        gates.sort_by_key(|gate| !gate.closed);
        let failures = attempts.first().filter(|attempt| !attempt.passed);
        Self {
            schema: "loopgate.loop/v1",
            repository: repository.to_string(),
            number: number.get(),
            title: short(&state.title),
            verdict: short(&loop_verdict(state)),
            head_sha: state.head_sha.to_string(),
            stage: state.state,
            status: loop_status_word(state.status).to_owned(),
            attempt: state.iteration,
            max_attempts: state.max_iterations,
            score: state.last_score,
            gates,
            failures: failures.map(|attempt| attempt.failures.clone()).unwrap_or_default(),
            attempts,
            timeline: recorded.map(|recorded| moments(&recorded.history, MOST)).unwrap_or_default(),
            saved: recorded.map(|recorded| recorded.saved.iter().map(saved).collect()).unwrap_or_default(),
            page,
            ..Self::default()
        }
    }
}

impl Failure {
    fn of(failure: &model::Failure) -> Self {
        let plain = |text: &Option<String>| text.as_deref().map(line);
        Self {
            check: plain(&failure.check).unwrap_or_default(),
            test: plain(&failure.test),
            place: failure.place.as_ref().map(|place| links::place(&line(&place.file), place.line)),
            problem: plain(&failure.cause).or_else(|| plain(&failure.message)).unwrap_or_default(),
            action: plain(&failure.r#do).unwrap_or_default(),
            reproduce: plain(&failure.reproduce),
        }
    }
}

impl Attempt {
    fn of(digest: &AttemptDigest, notes: &BTreeMap<u32, AttemptNotes>) -> Self {
        let failure = |analysis: &Analysis| Failure {
            check: line(&analysis.check),
            test: analysis.test_name.as_deref().map(line),
            problem: line(&analysis.root_cause),
            action: line(&analysis.fix_strategy),
            ..Failure::default()
        };
        let nothing = AttemptNotes::default();
        let notes = notes.get(&digest.number).unwrap_or(&nothing);
        Self {
            number: digest.number,
            head_sha: digest.head_sha.to_string(),
            at: words::moment(digest.at),
            passed: digest.result == VerificationResult::Pass,
            weakened: digest.weakened,
            score: digest.score,
            summary: line(&digest.summary),
            failed_rules: digest.failed_rules.iter().map(ToString::to_string).collect(),
            failures: notes.analysis.iter().map(failure).collect(),
            feedback: notes.feedback.iter().map(|said| line(&said.to_string())).collect(),
        }
    }
}

impl Gate {
    fn explained(report: &GateReport, subject: &Subject<'_>, links: &Links) -> Self {
        let card = GateCard::explained(report, subject, links, Brevity::NONE);
        let word = |word: &Considered| Word {
            by: word.by.to_string(),
            at: words::moment(word.at),
            url: address(&word.url),
            counted: matches!(word.outcome, WordOutcome::Counted),
            said: plain(answers::considered(word, report, subject).as_str()),
        };
        Self {
            name: card.name,
            status: report.status().as_str().replace('_', " "),
            closed: report.is_closed(),
            why: explain::plain_lines(&card.why.items),
            who: words::approvers(report),
            how: card.how.map(|how| plain(how.as_str())),
            words: report.considered.iter().map(word).collect(),
            notes: explain::plain_lines(&card.notes.items),
        }
    }

    /// As a saved state keeps it: who opened it, and who was against it.
    fn kept(name: &str, gate: &GateState) -> Self {
        let approved = gate.approved_by.iter().flatten().map(|by| Word {
            by: by.to_string(),
            at: gate.approved_at.map(words::moment).unwrap_or_default(),
            url: gate.evidence_url.as_deref().and_then(address),
            counted: true,
            said: format!("{by} approved it."),
        });
        let objected = gate.objections.iter().map(|no| Word {
            by: no.by.to_string(),
            at: words::moment(no.at),
            url: address(&no.url),
            counted: true,
            said: line(&no.words),
        });
        Self {
            name: name.to_owned(),
            status: gate.status.as_str().replace('_', " "),
            closed: matches!(gate.status, GateStatus::Pending | GateStatus::Requested | GateStatus::Rejected),
            words: approved.chain(objected).collect(),
            notes: gate.notes.as_deref().map(line).into_iter().collect(),
            ..Self::default()
        }
    }
}

/// Something that happened.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Moment {
    pub at: String,
    pub event: String,
    pub what: String,
    /// Whether it went well.
    pub ok: bool,
}

/// What happened last, the newest first.
fn moments(history: &[HistoryLine], most: usize) -> Vec<Moment> {
    let moment = |entry: &HistoryLine| Moment {
        at: words::moment(entry.ts),
        event: line(&entry.event.name()).replace('_', " "),
        what: clip(&line(&happened(&entry.event)), 300).into_owned(),
        ok: entry.status == EventStatus::Ok,
    };
    history.iter().rev().take(most).map(moment).collect()
}
