//! Commands people gave in comments: who may give them, and what they change. Each is carried out once.

use chrono::TimeDelta;

use super::{inputs::Inputs, verification};
use crate::{
    commands::{self, Acceptable, CarriedOut, Command, Execution, Right, Verb},
    concerns::{
        attempts,
        checks::{self, gather::HeadEvidence},
        disputes::{self, Claim},
        escalation::escalation_call,
        gates::{self, CommandLine, PhraseProblem, Refusal},
        tampering,
    },
    ids::GateName,
    observed::{Account, AccountKind, Hint, Permission},
    policy::Trigger,
    state::{
        Answer, AnswerOutcome, Answered, Asked, CommandRefusal, DisputeSource, LoopState,
        RunStatus, Stop, StopReason,
        history::{CommandRun, Event, Resumed},
    },
};

/// Carries out the commands that were not answered yet, in the order they were written. Returns what is known of the
/// head's checks after them, and what happened.
pub(super) fn carry_out(inputs: &Inputs<'_>, next: &mut LoopState) -> (HeadEvidence, Vec<Event>) {
    let evidence = verification::gather(inputs, next);
    if !inputs.is_open() {
        return (evidence, Vec::new());
    }
    let heeded = |state: &LoopState| {
        let settled = state
            .concerns
            .disputes
            .iter()
            .filter(|dispute| !dispute.is_open())
            .count();
        [
            state.people.skips.len(),
            state.concerns.checks.reruns.len(),
            state.people.releases.len(),
            settled,
        ]
    };
    let before = heeded(next);
    let mut run = Execution {
        cx: inputs.cx(),
        next,
        events: Vec::new(),
    };
    answer(inputs, &mut run, &evidence);
    press(&mut run, &evidence);
    disputes::commands::dispute_in_commits(&mut run, &evidence);
    let Execution { next, events, .. } = run;
    (
        if before == heeded(next) {
            evidence
        } else {
            verification::gather(inputs, next)
        },
        events,
    )
}

/// How long a command waits for GitHub to say who may give it.
const ASKED_AGAIN_FOR: TimeDelta = TimeDelta::hours(1);

/// Answers every command in words once; those whose writer's rights were not known are taken up again.
fn answer(inputs: &Inputs<'_>, run: &mut Execution<'_>, evidence: &HeadEvidence) {
    let mut fresh: Vec<Answered> = Vec::new();
    for line in &inputs.assessment.commands {
        let source = Asked::InWords(line.source);
        let is_recent = run.cx.now < line.at + ASKED_AGAIN_FOR;
        let before = run
            .next
            .people
            .answered
            .iter()
            .find(|answered| answered.source == source);
        let is_answered = before.is_some();
        if before.is_some_and(|before| !(is_recent && before.waits_for_rights())) {
            continue;
        }
        let Some(outcome) = answer_to(inputs, run, line, evidence) else {
            continue;
        };
        if is_answered && outcome == AnswerOutcome::Refused(CommandRefusal::RightsUnknown) {
            continue;
        }
        let verb = line
            .command
            .as_ref()
            .map_or("?", |command| command.verb().as_str());
        let answer = Answer {
            by: line.by.login.clone(),
            verb: verb.to_owned(),
            outcome,
            head_sha: run.next.head.sha,
        };
        match fresh.iter_mut().find(|answered| answered.source == source) {
            Some(answered) => answered.answers.push(answer),
            None => fresh.push(Answered {
                source,
                answers: vec![answer],
            }),
        }
    }
    run.next
        .people
        .answered
        .retain(|answered| fresh.iter().all(|newer| newer.source != answered.source));
    run.next.people.answered.extend(fresh);
}

/// Buttons, and *Re-run* on our check runs: what the command of the same name would do.
fn press(run: &mut Execution<'_>, evidence: &HeadEvidence) {
    let snapshot = run.cx.snapshot;
    for hint in &snapshot.hints {
        let retry = (Verb::Retry, None);
        let (by, source, (verb, check)) = match hint {
            Hint::ButtonPressed {
                check_run,
                identifier,
                by,
            } => {
                let Some(pressed) = commands::pressed(identifier) else {
                    continue;
                };
                (
                    by,
                    Some(Asked::ByButton {
                        check_run: *check_run,
                        button: identifier.clone(),
                    }),
                    pressed,
                )
            }
            Hint::CheckRunRerequested { check_run, by } => (
                by,
                Some(Asked::ByButton {
                    check_run: *check_run,
                    button: "rerun".to_owned(),
                }),
                retry,
            ),
            Hint::CheckSuiteRerequested { sha, by } if *sha == run.next.head.sha => {
                (by, None, retry)
            }
            _ => continue,
        };
        if source
            .as_ref()
            .is_some_and(|source| !may_be_pressed_again(run, source))
        {
            continue;
        }
        let person = Account {
            id: by.id,
            login: by.login.clone(),
            kind: AccountKind::User,
        };
        let outcome = may(run, &person, verb).and_then(|()| match check {
            Some(check) => Err(CommandRefusal::NeedsReason { check }),
            None if verb == Verb::Retry => Ok(attempts::commands::run_again(
                run,
                &by.login,
                Verb::Retry,
                evidence,
            )),
            None => Ok(AnswerOutcome::Shown),
        });
        let outcome = outcome.unwrap_or_else(AnswerOutcome::Refused);
        let verb = verb.as_str();
        if matches!(outcome, AnswerOutcome::RunAgain { .. }) {
            let (command, by) = (verb.to_owned(), by.login.clone());
            run.events.push(Event::CommandRun(CommandRun::Pressed {
                command,
                by,
                button: true,
            }));
        }
        let Some(source) = source else { continue };
        let answer = Answer {
            by: by.login.clone(),
            verb: verb.to_owned(),
            outcome,
            head_sha: run.next.head.sha,
        };
        run.next
            .people
            .answered
            .retain(|answered| answered.source != source);
        run.next.people.answered.push(Answered {
            source,
            answers: vec![answer],
        });
    }
}

/// Whether pressing the button can mean something new: an event may arrive twice, and a person may press twice. What
/// was asked for a moment ago is not asked for again.
fn may_be_pressed_again(run: &Execution<'_>, source: &Asked) -> bool {
    let Some(answered) = run
        .next
        .people
        .answered
        .iter()
        .find(|answered| answered.source == *source)
    else {
        return true;
    };
    answered.waits_for_rights()
        || answered.answers.iter().all(|answer| match &answer.outcome {
            AnswerOutcome::RunAgain { checks } | AnswerOutcome::Underway { checks } => {
                !attempts::commands::was_asked_lately(run, checks)
            }
            AnswerOutcome::LookedAgain | AnswerOutcome::NothingToRun { .. } => true,
            _ => false,
        })
}

/// None where the words are not a person's own (bots, Apps, hidden comments): they are not answered, so that two bots
/// do not answer each other for ever.
fn answer_to(
    inputs: &Inputs<'_>,
    run: &mut Execution<'_>,
    line: &CommandLine,
    evidence: &HeadEvidence,
) -> Option<AnswerOutcome> {
    match (&line.void, &line.command) {
        (Some(Refusal::Edited | Refusal::EditedByAnother), _) => {
            Some(AnswerOutcome::Refused(CommandRefusal::Edited))
        }
        // An agent says so by its own account.
        (Some(Refusal::IsBot | Refusal::ViaApp), Ok(command @ Command::Dispute { .. }))
            if gates::wrote(run.cx.snapshot, &line.by) =>
        {
            Some(order(inputs, run, line, command, evidence))
        }
        (Some(_), _) => None,
        (None, Err(miss)) => match miss.problem.clone() {
            PhraseProblem::UnknownCommand { typed, nearest } => {
                Some(AnswerOutcome::Refused(CommandRefusal::UnknownCommand {
                    typed,
                    nearest,
                }))
            }
            PhraseProblem::Usage { usage } if usage.starts_with("/loop") => {
                Some(AnswerOutcome::Refused(CommandRefusal::Usage { usage }))
            }
            // A line that was meant as an approval is answered by the gates.
            _ => None,
        },
        (None, Ok(command)) => Some(order(inputs, run, line, command, evidence)),
    }
}

fn order(
    inputs: &Inputs<'_>,
    run: &mut Execution<'_>,
    line: &CommandLine,
    command: &Command,
    evidence: &HeadEvidence,
) -> AnswerOutcome {
    let carried_out = may(run, &line.by, command.verb())
        .and_then(|()| execute(inputs, run, line, command, evidence));
    if let Ok(outcome) = &carried_out {
        run.events.push(Event::CommandRun(CommandRun::Written {
            command: command.verb().as_str().to_owned(),
            by: line.by.login.clone(),
            url: line.url.clone(),
            answer: outcome.clone(),
            source: line.source,
            head: run.next.head.sha,
        }));
    }
    carried_out.unwrap_or_else(AnswerOutcome::Refused)
}

fn may(run: &Execution<'_>, person: &Account, verb: Verb) -> Result<(), CommandRefusal> {
    let needs = |least, otherwise| match run.cx.snapshot.authority.has(person.id, least) {
        Some(true) => Ok(()),
        Some(false) => Err(otherwise),
        None => Err(CommandRefusal::RightsUnknown),
    };
    let cause = run
        .next
        .people
        .blocked
        .as_ref()
        .map(|blocked| blocked.trigger);
    let gates = cause
        .map(|cause| escalation_call::gates_of(run.cx, cause, run.next))
        .unwrap_or_default();
    match verb.right(&gates) {
        Right::Anyone => Ok(()),
        Right::AuthorOrWrite if person.id == run.cx.snapshot.pull_request.author.id => Ok(()),
        Right::ContributorOrWrite if gates::wrote(run.cx.snapshot, person) => Ok(()),
        Right::AuthorOrWrite | Right::ContributorOrWrite => {
            needs(Permission::Write, CommandRefusal::NeedsAuthorOrWrite)
        }
        Right::Write => needs(Permission::Write, CommandRefusal::NeedsWrite),
        Right::GateApprovers(gates) => {
            let decides = |name: &&GateName| {
                let gate = run.cx.policy.gates.get(*name);
                gate.is_some_and(|gate| gates::may_decide(gate, run.cx.snapshot, person).is_ok())
            };
            let Some(gate) = gates
                .first()
                .filter(|_| !gates.iter().any(|name| decides(&name)))
            else {
                return Ok(());
            };
            let refusal = || CommandRefusal::NeedsApproverOf { gate: gate.clone() };
            if gates::wrote(run.cx.snapshot, person) {
                Err(refusal())
            } else {
                needs(Permission::Maintain, refusal())
            }
        }
    }
}

fn execute(
    inputs: &Inputs<'_>,
    run: &mut Execution<'_>,
    line: &CommandLine,
    command: &Command,
    evidence: &HeadEvidence,
) -> CarriedOut {
    Ok(match command {
        Command::Ask(_) => AnswerOutcome::Shown,
        Command::Forget => AnswerOutcome::ExcerptForgotten,
        Command::Memory { words } => AnswerOutcome::Searched {
            words: words.clone(),
            found: None,
        },
        Command::Rerun(verb) => attempts::commands::run_again(run, &line.by.login, *verb, evidence),
        Command::Resume {
            accept: Some(what @ (Acceptable::ResultsLost | Acceptable::Skipped)),
        } => {
            checks::commands::release(run, line, *what, evidence)?;
            // A loop that called a person for it goes on.
            match run.next.people.blocked {
                Some(_) => resume(inputs, run, line, None)?,
                None => AnswerOutcome::Resumed,
            }
        }
        Command::Resume { accept } => {
            resume(inputs, run, line, accept.map(|_| Trigger::Tampering))?
        }
        Command::Stop { reason } => {
            run.next.run.status = RunStatus::Stopped;
            run.next.run.stop = Stop {
                passed: false,
                reason: Some(StopReason::UserStop),
                words: reason.clone(),
                by: Some(line.by.login.clone()),
            };
            AnswerOutcome::Stopped
        }
        Command::Skip { check, reason } => checks::commands::skip(run, line, check, reason)?,
        Command::Dispute {
            failure,
            kind,
            reason,
        } => {
            let source = DisputeSource::Words(line.source);
            let claim = Claim {
                failure: *failure,
                kind: *kind,
                reason,
                by: &line.by,
                at: line.at,
                source,
            };
            disputes::commands::dispute(run, &claim, evidence)?
        }
        Command::Settle { failure, outcome } => {
            disputes::commands::settle(run, line, inputs.tampering, *failure, outcome)?
        }
    })
}

fn resume(
    inputs: &Inputs<'_>,
    run: &mut Execution<'_>,
    line: &CommandLine,
    accept: Option<Trigger>,
) -> CarriedOut {
    // Stopped by a person, or given up at the limit without calling anybody.
    let stopped = run.next.run.stop.reason == Some(StopReason::UserStop)
        || run.next.run.status == RunStatus::Failed;
    let mut newly_accepted = Vec::new();
    match run
        .next
        .people
        .blocked
        .as_ref()
        .map(|blocked| blocked.trigger)
    {
        Some(Trigger::Disputed) if let Some(open) = disputes::open(run.next).next() => {
            return Err(CommandRefusal::NeedsSettling {
                failure: open.failure,
            });
        }
        None if !stopped => return Err(CommandRefusal::NothingToResume),
        // Once the weakening is undone, a resume needs no acceptance.
        Some(cause @ Trigger::Tampering)
            if tampering::not_accepted(inputs.tampering, &run.next.concerns.tampering)
                .is_some() =>
        {
            if accept != Some(cause) {
                return Err(CommandRefusal::NeedsAccept { cause });
            }
            if !gates::may_accept(run.cx.snapshot, run.next, &line.by) {
                return Err(CommandRefusal::OwnWork);
            }
            newly_accepted = run
                .next
                .accept_tampering(tampering::counts(inputs.tampering));
        }
        _ => {}
    }
    if stopped {
        run.next.run.stop = Stop::default();
        run.next.run.status = RunStatus::InProgress;
    }
    let resume = run.next.resume(&line.by, line.at, None, newly_accepted);
    let accepted_tampering = accept
        .map(|_| run.next.concerns.tampering.clone())
        .unwrap_or_default();
    let by = line.by.login.clone();
    run.events.push(Event::Resumed(Resumed::PullRequest {
        by,
        resume,
        accepted: accept,
        accepted_tampering,
    }));
    Ok(AnswerOutcome::Resumed)
}
