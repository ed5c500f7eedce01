//! Commands people gave in comments: who may give them, and what they change. Each is carried out once.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;

use super::{inputs::Inputs, verification};
use crate::{
    commands::{self, Acceptable, Command, Right, Verb, command},
    concerns::{
        attempts::{comparison, rerun},
        checks::{
            CheckStanding,
            gather::{CheckView, HeadEvidence},
        },
        disputes::{self, Claim},
        gates::{self, CommandLine, PhraseProblem, Refusal},
        tampering,
        verdict::{
            blame::{self, CheckBlame},
            feedback,
        },
    },
    escalation::escalation_call,
    evidence::{CheckKind, Outcome},
    failure::Blame,
    ids::{CheckName, FailureId, GateName, Login},
    observed::{Account, AccountKind, Hint, Permission},
    policy::Trigger,
    state::{
        Answer, AnswerOutcome, Answered, Asked, AuthorKind, CommandRefusal, DisputeEnd,
        DisputeSource, LoopState, Release, RunStatus, Settlement, Skip, Stop, StopReason,
        history::{CommandRun, Event, Resumed},
    },
};

/// Disputes that one commit may carry.
const MOST_TRAILERS: usize = 5;

/// Commands under execution: the state as they make it, and what happened.
struct Execution<'a> {
    inputs: &'a Inputs<'a>,
    next: &'a mut LoopState,
    events: Vec<Event>,
}

impl Execution<'_> {
    /// Whose fault each failing check of the head is.
    fn blames(&self, evidence: &HeadEvidence) -> Vec<CheckBlame> {
        let snapshot = self.inputs.snapshot;
        let flaky = comparison::flaky(
            self.next.attempt_of(snapshot.pull_request.head.sha),
            evidence,
        );
        blame::blames(snapshot, evidence, &flaky)
    }
}

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
        inputs,
        next,
        events: Vec::new(),
    };
    answer(&mut run, &evidence);
    press(&mut run, &evidence);
    dispute_in_commits(&mut run, &evidence);
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
fn answer(run: &mut Execution<'_>, evidence: &HeadEvidence) {
    let mut fresh: Vec<Answered> = Vec::new();
    for line in &run.inputs.assessment.commands {
        let source = Asked::InWords(line.source);
        let is_recent = run.inputs.now < line.at + ASKED_AGAIN_FOR;
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
        let Some(outcome) = answer_to(run, line, evidence) else {
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
    let snapshot = run.inputs.snapshot;
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
            None if verb == Verb::Retry => Ok(run_again(run, &by.login, Verb::Retry, evidence)),
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
                let asked = run
                    .next
                    .concerns
                    .checks
                    .reruns
                    .iter()
                    .filter(|rerun| !rerun.checks.is_disjoint(checks));
                asked
                    .map(|rerun| rerun.at)
                    .max()
                    .is_none_or(|at| run.inputs.now >= at + rerun::WINDOW)
            }
            AnswerOutcome::LookedAgain | AnswerOutcome::NothingToRun { .. } => true,
            _ => false,
        })
}

/// Asks for evidence again: what is missing and what says nothing of the code; `retry` also for what fails.
fn run_again(
    run: &mut Execution<'_>,
    by: &Login,
    verb: Verb,
    evidence: &HeadEvidence,
) -> AnswerOutcome {
    let mut wanted: BTreeSet<CheckName> = evidence.missing().into_iter().collect();
    let blames = run.blames(evidence);
    let again = |blame: &&CheckBlame| {
        verb == Verb::Retry
            || matches!(
                blame.blame,
                Blame::Infrastructure | Blame::Inconclusive | Blame::Flaky
            )
    };
    wanted.extend(blames.iter().filter(again).map(|blame| blame.check.clone()));
    if wanted.is_empty() {
        return AnswerOutcome::LookedAgain;
    }
    rerun::wish(run.inputs.cx(), run.next, wanted, by)
}

/// None where the words are not a person's own (bots, Apps, hidden comments): they are not answered, so that two bots
/// do not answer each other for ever.
fn answer_to(
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
            if gates::wrote(run.inputs.snapshot, &line.by) =>
        {
            Some(order(run, line, command, evidence))
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
        (None, Ok(command)) => Some(order(run, line, command, evidence)),
    }
}

fn order(
    run: &mut Execution<'_>,
    line: &CommandLine,
    command: &Command,
    evidence: &HeadEvidence,
) -> AnswerOutcome {
    let carried_out =
        may(run, &line.by, command.verb()).and_then(|()| execute(run, line, command, evidence));
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
    let needs = |least, otherwise| match run.inputs.snapshot.authority.has(person.id, least) {
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
        .map(|cause| escalation_call::gates_of(run.inputs.cx(), cause, run.next))
        .unwrap_or_default();
    match verb.right(&gates) {
        Right::Anyone => Ok(()),
        Right::AuthorOrWrite if person.id == run.inputs.snapshot.pull_request.author.id => Ok(()),
        Right::ContributorOrWrite if gates::wrote(run.inputs.snapshot, person) => Ok(()),
        Right::AuthorOrWrite | Right::ContributorOrWrite => {
            needs(Permission::Write, CommandRefusal::NeedsAuthorOrWrite)
        }
        Right::Write => needs(Permission::Write, CommandRefusal::NeedsWrite),
        Right::GateApprovers(gates) => {
            let decides = |name: &&GateName| {
                let gate = run.inputs.policy.gates.get(*name);
                gate.is_some_and(|gate| {
                    gates::may_decide(gate, run.inputs.snapshot, person).is_ok()
                })
            };
            let Some(gate) = gates
                .first()
                .filter(|_| !gates.iter().any(|name| decides(&name)))
            else {
                return Ok(());
            };
            let refusal = || CommandRefusal::NeedsApproverOf { gate: gate.clone() };
            if gates::wrote(run.inputs.snapshot, person) {
                Err(refusal())
            } else {
                needs(Permission::Maintain, refusal())
            }
        }
    }
}

/// The answer to a command, or why it is not carried out.
type CarriedOut = Result<AnswerOutcome, CommandRefusal>;

fn execute(
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
        Command::Rerun(verb) => run_again(run, &line.by.login, *verb, evidence),
        Command::Resume {
            accept: Some(what @ (Acceptable::ResultsLost | Acceptable::Skipped)),
        } => release(run, line, *what, evidence)?,
        Command::Resume { accept } => resume(run, line, accept.map(|_| Trigger::Tampering))?,
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
        Command::Skip { check, reason } => skip(run, line, check, reason)?,
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
            dispute(run, &claim, evidence)?
        }
        Command::Settle { failure, outcome } => settle(run, line, *failure, outcome)?,
    })
}

fn resume(run: &mut Execution<'_>, line: &CommandLine, accept: Option<Trigger>) -> CarriedOut {
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
            if tampering::not_accepted(run.inputs.tampering, &run.next.concerns.tampering)
                .is_some() =>
        {
            if accept != Some(cause) {
                return Err(CommandRefusal::NeedsAccept { cause });
            }
            if !may_accept(run, &line.by) {
                return Err(CommandRefusal::OwnWork);
            }
            newly_accepted = run
                .next
                .accept_tampering(tampering::counts(run.inputs.tampering));
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

/// Whether this account may release what the change weakens or lacks. An account that wrote part of the change may not,
/// except a person who opened the pull request and is the only one with write access.
fn may_accept(run: &Execution<'_>, by: &Account) -> bool {
    let snapshot = run.inputs.snapshot;
    let writers = snapshot.authority.writers.iter();
    let is_alone = run.next.run.author == Some(AuthorKind::Person)
        && by.id == snapshot.pull_request.author.id
        && writers.flat_map(BTreeMap::keys).eq([&by.id]);
    is_alone || !gates::wrote(snapshot, by)
}

/// Lets go what no evidence shows: a check's results by test for the run, or jobs that were skipped on this head.
fn release(
    run: &mut Execution<'_>,
    line: &CommandLine,
    what: Acceptable,
    evidence: &HeadEvidence,
) -> CarriedOut {
    let is_meant = |check: &CheckView| match what {
        Acceptable::Skipped => matches!(check.standing, CheckStanding::AwaitsRelease { .. }),
        _ => check
            .evidence()
            .is_some_and(|found| found.outcome == Outcome::ResultsLost),
    };
    let checks = evidence
        .checks
        .iter()
        .filter(|(_, check)| is_meant(check))
        .map(|(name, _)| name.clone());
    let checks: BTreeSet<CheckName> = checks.collect();
    if checks.is_empty() {
        return Err(CommandRefusal::NothingToResume);
    }
    if !may_accept(run, &line.by) {
        return Err(CommandRefusal::OwnWork);
    }
    let (by, head) = (line.by.login.clone(), run.next.head.sha);
    run.next.people.releases.retain(|known| {
        known.what != what.as_str() || known.head == head || what != Acceptable::Skipped
    });
    run.next.people.releases.push(Release {
        what: what.as_str().to_owned(),
        checks,
        head,
        by,
        at: line.at,
    });
    // A loop that called a person for it goes on.
    let is_called = run.next.people.blocked.is_some();
    if is_called {
        resume(run, line, None)
    } else {
        Ok(AnswerOutcome::Resumed)
    }
}

fn dispute(run: &mut Execution<'_>, claim: &Claim<'_>, evidence: &HeadEvidence) -> CarriedOut {
    let failures = feedback::failures(
        evidence,
        &run.blames(evidence),
        &BTreeSet::new(),
        run.inputs.policy,
    );
    let dispute = disputes::begin(run.next, run.inputs.snapshot, &failures, claim)?;
    run.events.push(Event::Disputed(Box::new(dispute)));
    Ok(AnswerOutcome::Disputed {
        failure: claim.failure,
    })
}

/// Reads `Loopgate-Dispute` trailers in the head's commit, for people who can push and cannot comment. A trailer that
/// names no failure of the head waits until the head is verified, and does not apply to a later head.
fn dispute_in_commits(run: &mut Execution<'_>, evidence: &HeadEvidence) {
    let head = run.next.head.sha;
    let snapshot = run.inputs.snapshot;
    let Some(commit) = snapshot
        .commits
        .items
        .iter()
        .find(|commit| commit.sha == head)
    else {
        return;
    };
    let author = commit
        .author
        .as_ref()
        .unwrap_or(&snapshot.pull_request.author)
        .clone();
    let trailers = commit
        .message
        .lines()
        .filter_map(|line| line.strip_prefix("Loopgate-Dispute:"));
    for trailer in trailers.take(MOST_TRAILERS) {
        let source = DisputeSource::Commit(head);
        if let Some(Command::Dispute {
            failure,
            kind,
            reason,
        }) = command::dispute(trailer.trim())
            && run
                .next
                .concerns
                .disputes
                .iter()
                .all(|known| (known.failure, known.source) != (failure, source))
        {
            let (by, reason, at) = (&author, reason.as_str(), run.inputs.now);
            dispute(
                run,
                &Claim {
                    failure,
                    kind,
                    reason,
                    by,
                    at,
                    source,
                },
                evidence,
            )
            .ok();
        }
    }
}

fn settle(
    run: &mut Execution<'_>,
    line: &CommandLine,
    failure: Option<FailureId>,
    outcome: &Settlement,
) -> CarriedOut {
    let dispute = disputes::meant(run.next, failure)?.clone();
    disputes::may_settle(run.inputs.snapshot, &line.by, &dispute)?;
    let by = line.by.login.clone();
    let end = DisputeEnd::Settled {
        outcome: outcome.clone(),
        by: by.clone(),
        by_id: line.by.id,
        at: line.at,
    };
    let (dispute, accepted_tampering) =
        disputes::settle(run.next, dispute, end, run.inputs.tampering);
    let failure = dispute.failure;
    run.events.push(Event::Disputed(Box::new(dispute)));
    if run
        .next
        .people
        .blocked
        .as_ref()
        .is_some_and(|blocked| blocked.trigger == Trigger::Disputed)
        && disputes::open(run.next).next().is_none()
    {
        let resume = run
            .next
            .resume(&line.by, line.at, Some(failure), Vec::new());
        run.events.push(Event::Resumed(Resumed::PullRequest {
            by,
            resume,
            accepted: None,
            accepted_tampering,
        }));
    }
    Ok(AnswerOutcome::Settled {
        failure,
        outcome: outcome.clone(),
    })
}

fn skip(
    run: &mut Execution<'_>,
    line: &CommandLine,
    check: &CheckName,
    reason: &str,
) -> CarriedOut {
    let Some(configured) = run.inputs.policy.verify.checks.get(check) else {
        let names = run.inputs.policy.verify.checks.keys();
        let nearest = names
            .min_by_key(|name| strsim::osa_distance(check.as_str(), name.as_str()))
            .cloned();
        return Err(CommandRefusal::UnknownCheck {
            check: check.clone(),
            nearest,
        });
    };
    if gates::wrote(run.inputs.snapshot, &line.by) {
        return Err(CommandRefusal::OwnWork);
    }
    let is_execution = matches!(configured.kind, CheckKind::Build | CheckKind::Test);
    if is_execution && !run.inputs.policy.retry.execution_gate.allow_skip {
        return Err(CommandRefusal::NeverSkipped {
            check: check.clone(),
        });
    }
    if run
        .next
        .people
        .skips
        .iter()
        .all(|skip| &skip.check != check)
    {
        let skip = Skip {
            check: check.clone(),
            reason: reason.to_owned(),
            by: line.by.login.clone(),
            at: line.at,
        };
        run.events.push(Event::CheckSkipped(skip.clone()));
        run.next.people.skips.push(skip);
    }
    Ok(AnswerOutcome::Skipped {
        check: check.clone(),
    })
}
