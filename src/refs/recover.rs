//! What can be saved of a run whose state is unusable (architecture.md, State refs and recovery): rebuilt from its
//! history, else an older state, else a new run. Never a crash, never a silent reset.

use std::{collections::BTreeSet, fmt};

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{GitObjects, RefsError, StateStore, attempt, store::Unusable};
use loopgate_core::{
    Sha,
    policy::Trigger,
    state::{
        Answer, AnswerOutcome, Answered, Asked, AttemptDigest, HeadObservation, LoopState, Resume, RunStatus, Skip,
        Stop, StopReason,
        history::{Event, HistoryLine},
    },
};

/// An unusable state, and what was found instead.
#[derive(Debug)]
pub struct Damaged {
    why: String,
    found: Found,
}

const UNSEALED: &str = "the saved state does not carry this App's seal";

#[derive(Debug)]
enum Found {
    History {
        lines: Vec<HistoryLine>,
        attempts: Vec<AttemptDigest>,
    },
    Older {
        state: Box<LoopState>,
        commit: Sha,
    },
    /// The state as it stands, without what somebody could have forged for their own good.
    Stripped(Box<LoopState>),
    Nothing,
}

/// Older commits looked at for a good state.
const MOST_PARENTS: usize = 50;
/// Attempts looked for: a run is forced to stop long before.
const MOST_ATTEMPTS: u32 = 100;

/// Looks for something to go on from. Who could rewrite the state could rewrite the history beside it, so only an older
/// state under our seal stands in for one that lacks it.
pub(super) async fn salvage<G: GitObjects>(
    store: &StateStore<'_, G>,
    tip: Sha,
    unusable: Unusable,
) -> Result<Damaged, RefsError> {
    let beside_it = !store.is_sealing() && !matches!(unusable, Unusable::Foreign);
    let (why, mut left) = match unusable {
        Unusable::Foreign => ("the saved state is that of another pull request".to_owned(), Found::Nothing),
        Unusable::Unsealed(state) => (UNSEALED.to_owned(), Found::Stripped(Box::new(stripped(*state)))),
        Unusable::Broken(why) => (why, Found::Nothing),
    };
    if beside_it {
        let lines = match store.history(tip).await {
            Ok(lines) => lines,
            Err(RefsError::TooLarge { .. }) => Vec::new(),
            Err(error) => return Err(error),
        };
        if !lines.is_empty() {
            let attempts = attempts(store, tip, &lines).await?;
            return Ok(Damaged { why, found: Found::History { lines, attempts } });
        }
    }
    let mut commit = tip;
    for _ in 0..MOST_PARENTS {
        let Some(parent) = store.objects.parent(commit).await? else { break };
        commit = parent;
        match store.state_at(commit).await? {
            Ok(state) => return Ok(Damaged { why, found: Found::Older { state: Box::new(state), commit } }),
            Err(Unusable::Unsealed(state)) if matches!(left, Found::Nothing) => {
                left = Found::Stripped(Box::new(stripped(*state)));
            }
            Err(_) => {}
        }
    }
    Ok(Damaged { why, found: left })
}

/// A state without what grants something: attempts and answers stay, so nothing is spent or said twice.
fn stripped(state: LoopState) -> LoopState {
    LoopState {
        skips: Vec::new(),
        first_seen_heads: Vec::new(),
        resumes: Vec::new(),
        accepted: BTreeSet::new(),
        ..state
    }
}

/// The digests of the attempts of the last run in the history, as far as their documents can be read.
async fn attempts<G: GitObjects>(
    store: &StateStore<'_, G>,
    tip: Sha,
    lines: &[HistoryLine],
) -> Result<Vec<AttemptDigest>, RefsError> {
    let last_run = lines.last().map(|line| line.run_id.as_str());
    let of_run = lines.iter().filter(|line| Some(line.run_id.as_str()) == last_run);
    let counted = of_run.filter(|line| line.event == Event::EvaluationDone).map(|line| line.iteration).max();
    let mut attempts = Vec::new();
    for number in 1..=counted.unwrap_or(0).min(MOST_ATTEMPTS) {
        let bytes = match store.objects.read_file(tip, &attempt::path(number), attempt::READ_LIMIT).await {
            Ok(Some(bytes)) => bytes,
            Ok(None) | Err(RefsError::TooLarge { .. }) => continue,
            Err(error) => return Err(error),
        };
        if let Ok(attempt::Digested { digest }) = serde_json::from_slice(&bytes) {
            attempts.push(digest);
        }
    }
    Ok(attempts)
}

/// The lines that are lines of a history.
pub(super) fn readable_lines(bytes: &[u8]) -> Vec<HistoryLine> {
    let lines = bytes.split(|byte| *byte == b'\n');
    lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

impl Damaged {
    /// The state to go on from, and a sentence for the people who are told.
    pub(super) fn rebuild(&self, begin: impl FnOnce() -> LoopState) -> (LoopState, String) {
        let state = match &self.found {
            Found::History { lines, attempts } => replay(begin(), lines, attempts),
            Found::Older { state, .. } | Found::Stripped(state) => state.as_ref().clone(),
            Found::Nothing => begin(),
        };
        (state, self.to_string())
    }
}

/// What the history and the attempts tell, on top of a new run. Everything derivable is derived at the next decision.
fn replay(fresh: LoopState, lines: &[HistoryLine], attempts: &[AttemptDigest]) -> LoopState {
    let Some(last) = lines.last() else { return fresh };
    let of_run = || lines.iter().filter(|line| line.run_id == last.run_id);
    let mut state = LoopState {
        run_id: last.run_id.clone(),
        created_at: of_run().next().unwrap_or(last).ts,
        phase: last.phase,
        iteration: last.iteration,
        attempts: attempts.to_vec(),
        last_score: attempts.last().map(|attempt| attempt.score),
        ..fresh
    };
    for line in of_run() {
        retell(&mut state, line);
    }
    state
}

/// What only a person or the past could say, put back as the line says it. A line that does not say it (of an older
/// writer) is left out: then the same is asked of people again.
fn retell(state: &mut LoopState, line: &HistoryLine) {
    match line.event {
        Event::ArtifactCreated => state.first_seen_heads.extend(seen(line)),
        Event::CheckSkipped => state.skips.extend(part::<Skip>(line, None)),
        Event::Escalated => state.blocked = part(line, Some("blocked")),
        Event::Resumed => {
            state.blocked = None;
            state.stop = Stop::default();
            state.resumes.extend(part::<Resume>(line, Some("resume")));
            state.accepted.extend(part::<Trigger>(line, Some("accepted")));
        }
        Event::CommandRun if line.payload.contains_key("senior") => state.senior = part(line, Some("senior")),
        Event::CommandRun => {
            let Some(answered) = answered(line) else { return };
            if let AnswerOutcome::Stopped = answered.1.outcome {
                let by = Some(answered.1.by.clone());
                state.stop = Stop { passed: false, reason: Some(StopReason::UserStop), words: None, by };
                state.status = RunStatus::Stopped;
            }
            match state.answered.iter_mut().find(|known| known.source == answered.0) {
                Some(known) => known.answers.push(answered.1),
                None => state.answered.push(Answered { source: answered.0, answers: vec![answered.1] }),
            }
        }
        Event::Completed => state.status = RunStatus::Completed,
        _ => {}
    }
}

fn seen(line: &HistoryLine) -> Option<HeadObservation> {
    Some(HeadObservation {
        sha: part(line, Some("head"))?,
        at: part(line, Some("at")).unwrap_or(line.ts),
        gates: part(line, Some("gates")).unwrap_or_default(),
        base: part(line, Some("base")),
    })
}

fn answered(line: &HistoryLine) -> Option<(Asked, Answer)> {
    let answer = Answer {
        by: part(line, Some("by"))?,
        verb: part(line, Some("command"))?,
        outcome: part(line, Some("answer"))?,
        head_sha: part(line, Some("head"))?,
    };
    Some((part(line, Some("source"))?, answer))
}

/// A field of the payload, or all of it, as what it was written from.
fn part<T: DeserializeOwned>(line: &HistoryLine, field: Option<&str>) -> Option<T> {
    let value = match field {
        Some(field) => line.payload.get(field)?.clone(),
        None => Value::Object(line.payload.clone()),
    };
    serde_json::from_value(value).ok()
}

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; ", self.why)?;
        match &self.found {
            Found::History { lines, attempts } => {
                write!(f, "rebuilt from {} lines of history and {} attempts", lines.len(), attempts.len())
            }
            Found::Older { commit, .. } => write!(f, "went back to the state of commit {}", commit.short()),
            Found::Stripped(_) => {
                f.write_str("kept the attempts, dropped skips, resumes and when heads were first seen")
            }
            Found::Nothing => f.write_str("nothing of it could be saved, so a new run was begun"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopgate_core::{
        deciding::decide,
        evidence::CheckKind,
        fixtures::Story,
        policy::{CheckPolicy, CheckPresence, CheckSource, CommandCheck},
    };

    #[test]
    fn a_rebuilt_run_remembers_what_people_decided_and_asks_them_nothing_twice() {
        let mut story = Story::opened();
        let (source, presence) = (CheckSource::Command(CommandCheck::new("lint")), CheckPresence::Configured);
        let lint = CheckPolicy { kind: CheckKind::Lint, source, presence };
        story.policy.verify.checks.insert("lint".parse().unwrap(), lint);
        let mut lines = story.decide().events.clone();
        lines.extend(story.comment("bob", "/loop skip lint --reason \"no linter here\"").events.clone());
        for head in 1..=3 {
            lines.extend(story.push(head, &["rounds"], &[]).events.clone());
        }
        // What was pushed in two looks: the first one's events, such as the head's first sight, are asked for again.
        lines.extend(story.comment("bob", "/loop resume").events.clone());
        lines.extend(story.comment("bob", "/loop stop for now").events.clone());

        let fresh = LoopState::begin(&story.snapshot, &story.policy, story.now);
        let rebuilt = replay(fresh, &lines, &story.state.attempts);
        assert_eq!(rebuilt.skips, story.state.skips);
        assert_eq!(rebuilt.resumes, story.state.resumes);
        assert_eq!(rebuilt.answered, story.state.answered);
        assert_eq!(rebuilt.blocked, story.state.blocked);
        let decision = decide(&story.snapshot, &rebuilt, &story.policy, story.now);
        assert_eq!(decision.action, story.last.as_ref().unwrap().action);
        let twice = [Event::RunStarted, Event::CommandRun, Event::Resumed, Event::CheckSkipped, Event::Escalated];
        assert!(decision.events.iter().all(|line| !twice.contains(&line.event)), "{:?}", decision.events);
    }
}
