//! Writes the history lines of a decision, each once, from what its stages returned.

use std::collections::BTreeSet;

use super::{
    inputs::Inputs,
    outcome::{Blocking, Call},
    returned::Stages,
};
use crate::{
    observed::Lifecycle,
    state::{
        LoopState, RunStatus,
        history::{
            ArtifactCreated, ByNobody, CommandRun, Escalated, Event, EventStatus, HistoryLine,
            OwnCommand, RunEnd, RunStarted, StatusChange,
        },
    },
};

/// The lines of one decision, in the order of its stages. Each has the iteration and the phase that the decision leads
/// to.
pub(super) fn lines(
    stages: &Stages<'_>,
    commands: Vec<Event>,
    gates: &[Event],
) -> Vec<HistoryLine> {
    let Stages { inputs, next, .. } = *stages;
    let evaluation = &stages.verification.evaluation;
    let mut events = Vec::new();
    opened(inputs, next, &mut events);
    events.extend(commands);
    if inputs.before.run.phase != evaluation.phase {
        events.push(Event::PhaseSwitched {
            to: evaluation.phase,
        });
    }
    if let Some(counted) = stages
        .counting
        .counted
        .as_ref()
        .filter(|counted| counted.is_news)
    {
        events.push(Event::EvaluationDone {
            attempt: counted.digest.number,
            head: counted.digest.head_sha,
            score: evaluation.score,
            passed: counted.digest.passes(),
            failed_rules: counted.digest.failed_rules.clone(),
        });
    }
    if inputs.is_open() {
        events.extend_from_slice(gates);
    }
    // Each approved workflow run is recorded once.
    if let Some(approved) = stages.approved_runs {
        let runs: BTreeSet<_> = approved
            .runs
            .difference(&inputs.before.head.approved_runs)
            .copied()
            .collect();
        let (by, head) = (approved.by.clone(), inputs.snapshot.pull_request.head.sha);
        let approval = CommandRun::Own(OwnCommand::ApproveRuns { by, head, runs });
        events.extend(
            (!approved.runs.is_subset(&inputs.before.head.approved_runs))
                .then_some(Event::CommandRun(approval)),
        );
    }
    events.extend(
        stages
            .counting
            .mended
            .iter()
            .map(|dispute| Event::Disputed(Box::new(dispute.clone()))),
    );
    called(stages.blocking, next, &mut events);
    ended(inputs, next, &mut events);
    let line = |event| {
        let status = match event {
            Event::Escalated(_) | Event::Failed(_) | Event::GateRejected { .. } => {
                EventStatus::Fail
            }
            _ => EventStatus::Ok,
        };
        HistoryLine::of(next, inputs.now, event, status)
    };
    events.into_iter().map(line).collect()
}

/// A run that begins, and heads that are seen for the first time. A head that another one replaces before its
/// verification ended is noted as `stale_head` and never judged.
fn opened(inputs: &Inputs<'_>, next: &LoopState, events: &mut Vec<Event>) {
    let before = inputs.before;
    if before.head.sightings.is_empty() {
        let title = inputs.snapshot.pull_request.title.clone();
        let lost_attempts = before.attempts.lost;
        events.push(Event::RunStarted(match before.attempts.lost_trace {
            Some(lost_trace) => RunStarted::AfterLostRecord {
                title,
                lost_attempts,
                lost_trace,
            },
            None => RunStarted::PullRequest { title },
        }));
    }
    let last = before.head.sightings.last().map(|last| last.sha);
    for seen in &next.head.sightings[before.head.sightings.len()..] {
        if before
            .head
            .sightings
            .iter()
            .all(|known| known.sha != seen.sha)
        {
            events.push(Event::ArtifactCreated(ArtifactCreated::HeadSeen {
                head: seen.sha,
                base: seen.base.clone(),
                gates: seen.gates.clone(),
                merge_base: seen.merge_base,
                at: seen.at,
                stale_head: last
                    .filter(|last| *last != seen.sha && before.attempt_of(*last).is_none()),
            }));
        }
    }
}

fn called(blocking: &Blocking, next: &LoopState, events: &mut Vec<Event>) {
    match (blocking.call, &next.people.blocked, &next.concerns.fixer) {
        (Call::SeniorFixer, _, Some(senior)) => {
            let command = OwnCommand::SeniorFixer {
                by: ByNobody,
                senior: senior.clone(),
            };
            events.push(Event::CommandRun(CommandRun::Own(command)));
        }
        (Call::Human, Some(blocked), _) => {
            let triggers = std::iter::once(blocked.trigger)
                .chain(blocked.also.iter().copied())
                .collect();
            let blocked = Some(blocked.clone());
            events.push(Event::Escalated(Escalated::PullRequest {
                triggers,
                pattern: None,
                blocked,
            }));
        }
        _ => {}
    }
    if !blocking.repeated.is_empty() {
        let command = OwnCommand::Rerun {
            by: ByNobody,
            checks: blocking.repeated.clone(),
        };
        events.push(Event::CommandRun(CommandRun::Own(command)));
    }
}

/// What was merged over, and how the run ended.
fn ended(inputs: &Inputs<'_>, next: &LoopState, events: &mut Vec<Event>) {
    let (from, is) = (inputs.before.run.status, next.run.status);
    if from == is {
        return;
    }
    if let (RunStatus::Completed, Lifecycle::Merged { by, .. }) =
        (is, &inputs.snapshot.pull_request.lifecycle)
        && !next.run.bypassed.is_empty()
    {
        events.push(Event::MergedWithOpenGates {
            bypassed: next.run.bypassed.clone(),
            by: by.clone(),
        });
    }
    let change = StatusChange {
        from,
        reason: next.run.stop.reason,
        words: next.run.stop.words.clone(),
    };
    events.push(match is {
        RunStatus::Completed => Event::Completed(RunEnd::PullRequest(change)),
        RunStatus::Stopped => Event::Stopped(RunEnd::PullRequest(change)),
        RunStatus::Failed | RunStatus::Aborted => Event::Failed(RunEnd::PullRequest(change)),
        RunStatus::InProgress | RunStatus::Passed | RunStatus::Escalated => return,
    });
}
