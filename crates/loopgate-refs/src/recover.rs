//! What can be saved of a run whose state is unusable (architecture.md, State refs and recovery): rebuilt from its
//! history, else an older state, else a new run. Never a crash, never a silent reset.

use std::fmt;

use super::{
    GitObjects, RefsError, Result, Retry, StateStore, attempt::Digested, documents::Unusable,
};
use loopgate_core::{
    Sha, reflex,
    state::{
        Answer, AnswerOutcome, Answered, Asked, AttemptDigest, HeadObservation, LoopState,
        RunStatus, Stop, StopReason,
        history::{
            ArtifactCreated, CommandRun, Escalated, Event, HistoryLine, LocalLoopStarted,
            OwnCommand, Resumed, RunEnd, RunStarted,
        },
    },
};
use loopgate_render::loop_call;

/// An unusable state, and what was found to go on from.
#[derive(Debug)]
pub struct Damaged {
    why: String,
    basis: Basis,
    /// The history beside it; none where it may not be believed.
    lines: Vec<HistoryLine>,
    attempts: Vec<AttemptDigest>,
    is_of_local_loop: bool,
}

/// The state that the lines of a history lead on from.
#[derive(Debug)]
enum Basis {
    /// The newest good one, which the first `known` lines made.
    Older {
        state: Box<LoopState>,
        commit: Sha,
        known: usize,
    },
    /// The state as it stands, without what somebody could have forged for their own good.
    Stripped(Box<LoopState>),
    /// A new run's: everything else is derived at the next decision.
    New,
}

const UNSEALED: &str = "the saved state does not carry this App's seal";

/// Older commits looked at for a good state.
const MOST_PARENTS: usize = 50;
/// Attempts looked for: a run is forced to stop long before.
const MOST_ATTEMPTS: u32 = 100;

/// Finds something to go on from: the newest good state of the run, and what the history recorded since. An author of a
/// rewritten state could rewrite the history beside it, so only an older state under our seal stands in for one that
/// lacks it.
pub(super) async fn salvage<G: GitObjects>(
    store: &StateStore<'_, G>,
    tip: Sha,
    unusable: Unusable,
) -> Result<Damaged> {
    let is_history_believed = store.seal.is_none() && !matches!(unusable, Unusable::Foreign);
    let (why, mut basis) = match unusable {
        Unusable::Foreign => (
            "the saved state is that of another pull request".to_owned(),
            Basis::New,
        ),
        Unusable::Unsealed(state) => (
            UNSEALED.to_owned(),
            Basis::Stripped(Box::new(stripped(*state))),
        ),
        Unusable::Newer(message) => return Err(left_alone(message)),
        Unusable::Broken(why) => (why, Basis::New),
    };
    let lines = if is_history_believed {
        store.history(tip).await?
    } else {
        Vec::new()
    };
    // The digests of the attempts of the last run in the history, as far as their documents can be read.
    let judged = last_run(&lines).filter(|line| matches!(line.event, Event::EvaluationDone { .. }));
    let counted = judged.map(|line| line.iteration).max();
    let mut attempts = Vec::new();
    for number in 1..=counted.unwrap_or(0).min(MOST_ATTEMPTS) {
        let read: Option<Digested> = store.recorded_attempt(tip, number).await?;
        attempts.extend(read.map(|read| read.digest));
    }
    let is_of_local_loop = store.name.number().is_none();
    let is_of_the_run = |state: &LoopState| {
        let last = lines.last();
        last.is_none_or(|last| {
            state.run.id == last.run_id && state.run.reflex.is_some() == is_of_local_loop
        })
    };
    let mut commit = tip;
    for _ in 0..MOST_PARENTS {
        let Some(parent) = store.objects.parent(commit).await? else {
            break;
        };
        commit = parent;
        match store.state_at(commit).await? {
            Ok(state) if is_of_the_run(&state) => {
                let known = if lines.is_empty() {
                    0
                } else {
                    store.history(commit).await?.len()
                };
                basis = Basis::Older {
                    state: Box::new(state),
                    commit,
                    known,
                };
                break;
            }
            Err(Unusable::Unsealed(state)) if matches!(basis, Basis::New) => {
                basis = Basis::Stripped(Box::new(stripped(*state)));
            }
            Err(Unusable::Newer(message)) => return Err(left_alone(message)),
            _ => {}
        }
    }
    Ok(Damaged {
        why,
        basis,
        lines,
        attempts,
        is_of_local_loop,
    })
}

/// What a newer version saved is whole, and nothing stands in for it: a process of that version goes on with it, or this
/// one once it is upgraded.
fn left_alone(message: String) -> RefsError {
    let retry = Retry::WhenAnswered;
    RefsError::Fault { message, retry }
}

/// A state without what grants something: attempts and answers stay, so nothing is spent or answered twice.
fn stripped(mut state: LoopState) -> LoopState {
    state.head.approved_runs.clear();
    state.head.sightings.clear();
    state.head.pushes.clear();
    state.people.skips.clear();
    state.people.resumes.clear();
    state.people.accepted.clear();
    state
}

/// The lines of the run that the history ends with.
fn last_run(lines: &[HistoryLine]) -> impl Iterator<Item = &HistoryLine> {
    let last = lines.last().map(|line| &line.run_id);
    lines.iter().filter(move |line| Some(&line.run_id) == last)
}

impl Damaged {
    /// The state to go on from.
    pub(super) fn rebuild(&self, begin: impl FnOnce() -> LoopState) -> LoopState {
        match &self.basis {
            Basis::Older { state, known, .. } => led_on(
                state.as_ref().clone(),
                self.lines.get(*known..).unwrap_or_default(),
                &self.attempts,
            ),
            Basis::Stripped(state) => state.as_ref().clone(),
            // A new run that goes by the name of the one in the history, led on by its lines and attempts.
            Basis::New => {
                let mut named = begin();
                let Some(last) = self.lines.last() else {
                    return named;
                };
                named.run.id.clone_from(&last.run_id);
                named.run.created_at = last_run(&self.lines).next().unwrap_or(last).ts;
                named.run.phase = last.phase;
                named.run.iteration = last.iteration;
                named.attempts.counted.clear();
                led_on(named, &self.lines, &self.attempts)
            }
        }
    }

    /// The beginning of the local loop, from the history.
    pub(super) fn begun(&self) -> Option<&LocalLoopStarted> {
        last_run(&self.lines).find_map(|line| match &line.event {
            Event::RunStarted(RunStarted::LocalLoop(begun)) => Some(begun.as_ref()),
            _ => None,
        })
    }
}

/// A state with the attempts that it lacks, and with what the lines since then record.
fn led_on(mut state: LoopState, since: &[HistoryLine], attempts: &[AttemptDigest]) -> LoopState {
    let known = state.attempts.counted.last().map_or(0, |last| last.number);
    state.attempts.counted.extend(
        attempts
            .iter()
            .filter(|attempt| attempt.number > known)
            .cloned(),
    );
    for line in last_run(since) {
        if state.run.reflex.is_some() {
            reflex::replay(&mut state, line, loop_call);
        } else {
            restore(&mut state, line);
        }
    }
    state
}

/// Restores what only a person or the past knew of a pull request, from a line. What a line lacks (of an older writer)
/// is left out: then people are asked again.
fn restore(state: &mut LoopState, line: &HistoryLine) {
    match &line.event {
        Event::ArtifactCreated(ArtifactCreated::HeadSeen {
            head,
            base,
            gates,
            merge_base,
            at,
            ..
        }) => {
            let (base, gates, merge_base) = (base.clone(), gates.clone(), *merge_base);
            state.head.sightings.push(HeadObservation {
                sha: *head,
                at: *at,
                gates,
                base,
                merge_base,
            });
        }
        Event::ArtifactCreated(ArtifactCreated::Head { head }) => {
            let seen = HeadObservation {
                sha: *head,
                at: line.ts,
                ..HeadObservation::default()
            };
            state.head.sightings.push(seen);
        }
        Event::CheckSkipped(skip) => state.people.skips.push(skip.clone()),
        Event::Disputed(dispute) => {
            state
                .concerns
                .disputes
                .retain(|known| (known.failure, known.source) != (dispute.failure, dispute.source));
            state.concerns.disputes.push(dispute.as_ref().clone());
        }
        Event::Escalated(Escalated::PullRequest { blocked, .. }) => {
            state.people.blocked.clone_from(blocked)
        }
        Event::Resumed(Resumed::PullRequest {
            resume,
            accepted,
            accepted_tampering,
            ..
        }) => {
            release(state);
            state.people.resumes.push(resume.clone());
            state.people.accepted.extend(accepted);
            if accepted.is_some() || !accepted_tampering.is_empty() {
                state.concerns.tampering.clone_from(accepted_tampering);
            }
        }
        // The first versions recorded who resumed, and nothing else.
        Event::Resumed(Resumed::LocalLoop { .. }) => release(state),
        Event::CommandRun(CommandRun::Own(OwnCommand::SeniorFixer { senior, .. })) => {
            state.concerns.fixer = Some(senior.clone());
        }
        Event::CommandRun(CommandRun::Own(OwnCommand::ApproveRuns { runs, .. })) => {
            state.head.approved_runs.extend(runs);
        }
        Event::CommandRun(CommandRun::Written {
            command,
            by,
            answer,
            source,
            head,
            ..
        }) => {
            if let AnswerOutcome::Stopped = answer {
                let (reason, by) = (Some(StopReason::UserStop), Some(by.clone()));
                state.run.stop = Stop {
                    passed: false,
                    reason,
                    words: None,
                    by,
                };
                state.run.status = RunStatus::Stopped;
            }
            let (verb, source) = (command.clone(), Asked::InWords(*source));
            let answer = Answer {
                by: by.clone(),
                verb,
                outcome: answer.clone(),
                head_sha: *head,
            };
            match state
                .people
                .answered
                .iter_mut()
                .find(|known| known.source == source)
            {
                Some(known) => known.answers.push(answer),
                None => state.people.answered.push(Answered {
                    source,
                    answers: vec![answer],
                }),
            }
        }
        // The command's own line does not hold the person's reason for the stop.
        Event::Stopped(RunEnd::PullRequest(change)) if state.run.stop.reason == change.reason => {
            state.run.stop.words.clone_from(&change.words);
        }
        Event::Completed(_) => state.run.status = RunStatus::Completed,
        _ => {}
    }
}

/// What held the run holds it no longer.
fn release(state: &mut LoopState) {
    state.people.blocked = None;
    state.run.stop = Stop::default();
    state.run.status = RunStatus::InProgress;
}

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            why,
            basis,
            lines,
            attempts,
            is_of_local_loop,
        } = self;
        write!(f, "{why}; ")?;
        if !lines.is_empty() {
            write!(
                f,
                "rebuilt from {} lines of history and {} attempts",
                lines.len(),
                attempts.len()
            )?;
        }
        match basis {
            Basis::Older { commit, .. } if lines.is_empty() => {
                write!(f, "went back to the state of commit {}", commit.short())
            }
            Basis::Older { commit, .. } => write!(f, ", on the state of commit {}", commit.short()),
            Basis::Stripped(_) => {
                f.write_str("kept the attempts, dropped skips, resumes and when heads were first seen")
            }
            Basis::New if lines.is_empty() => f.write_str("nothing of it could be saved, so a new run was begun"),
            // By what a local loop is measured whose criteria had to be rebuilt.
            Basis::New if *is_of_local_loop => f.write_str(match self.begun() {
                Some(LocalLoopStarted { confirmed: Some(_), .. }) => {
                    "; its limit, thresholds and checks are those that were confirmed when it began"
                }
                Some(LocalLoopStarted { confirmed: None, .. }) => {
                    "; its limit is that of its beginning, its thresholds and checks are those of the configuration"
                }
                None => "; its limit, thresholds and checks are those of the configuration",
            }),
            Basis::New => Ok(()),
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
        policy::{CheckPolicy, CheckSource, CommandCheck},
        state::history::EventStatus,
    };

    #[test]
    fn a_rebuilt_run_remembers_what_people_decided_and_asks_them_nothing_twice() {
        let mut story = Story::opened();
        let (source, is_detected) = (CheckSource::Command(CommandCheck::new("lint")), false);
        let lint = CheckPolicy {
            kind: CheckKind::Lint,
            source,
            is_detected,
        };
        story
            .policy
            .verify
            .checks
            .insert("lint".parse().unwrap(), lint);
        let mut lines = story.decide().events.clone();
        lines.extend(
            story
                .comment("bob", "/loop skip lint --reason \"no linter here\"")
                .events
                .clone(),
        );
        for head in 1..=3 {
            lines.extend(story.push(head, &["rounds"], &[]).events.clone());
        }
        // What was pushed in two looks: the first one's events, such as the head's first sight, are asked for again.
        lines.extend(story.comment("bob", "/loop resume").events.clone());
        lines.extend(story.comment("bob", "/loop stop for now").events.clone());

        let fresh = LoopState::begin(&story.snapshot, &story.policy, story.now);
        let rebuilt = |lines: &[HistoryLine], attempts: &[AttemptDigest]| {
            let (lines, attempts) = (lines.to_vec(), attempts.to_vec());
            let damaged = Damaged {
                why: String::new(),
                basis: Basis::New,
                lines,
                attempts,
                is_of_local_loop: false,
            };
            damaged.rebuild(|| fresh.clone())
        };
        let once = rebuilt(&lines, &story.state.attempts.counted);
        assert_eq!(once.people.skips, story.state.people.skips);
        assert_eq!(once.people.resumes, story.state.people.resumes);
        assert_eq!(once.people.answered, story.state.people.answered);
        assert_eq!(once.people.blocked, story.state.people.blocked);
        let decision = decide(&story.snapshot, &once, &story.policy, story.now);
        assert_eq!(decision.action, story.last.as_ref().unwrap().action);
        assert_eq!(
            once.run.stop, story.state.run.stop,
            "with the words of the person who stopped it"
        );
        assert_eq!(once.run.workflow_id(), story.state.run.workflow_id());
        let is_told_twice = |line: &HistoryLine| {
            use Event::{CheckSkipped, CommandRun, Escalated, Resumed, RunStarted};
            matches!(
                line.event,
                RunStarted(_) | CommandRun(_) | Resumed(_) | CheckSkipped(_) | Escalated(_)
            )
        };
        assert!(
            !decision.events.iter().any(is_told_twice),
            "{:?}",
            decision.events
        );

        // The note of a recovery releases nothing, when the state is damaged once more.
        let note = Event::Resumed(Resumed::Recovered {
            recovered: "damaged; rebuilt".into(),
        });
        lines.push(HistoryLine::of(
            &story.state,
            story.now,
            note,
            EventStatus::Fail,
        ));
        assert_eq!(rebuilt(&lines, &story.state.attempts.counted), once);
    }
}
