//! Subjects of state commits: `git log refs/loopgate/pr/12` reads as a log of the run.

use loopgate_core::{
    RuleId, Score,
    deciding::{Decision, NextAction},
    reflex::Turn,
    state::{
        DistanceToSuccess, LoopState, RunStatus, Step, StopReason,
        history::{Escalated, Event, HistoryLine, RunEnd},
    },
    text,
};

/// One line about a decision: `attempt 2: retry — 1 failed rule (unit)`.
pub fn subject(decision: &Decision) -> String {
    let rules = failed_rules(&decision.view.evaluation.failed_rules());
    let what = match &decision.action {
        NextAction::Complete => {
            return format!("complete: merged after attempt {}", decision.view.attempt);
        }
        NextAction::Stopped => {
            return match (decision.next.run.status, decision.next.run.stop.reason) {
                (RunStatus::Failed, _) => format!("failed: the attempts are used up{rules}"),
                (_, Some(StopReason::UserStop)) => "stopped: by a person".to_owned(),
                _ => "stopped: closed without a merge".to_owned(),
            };
        }
        NextAction::Retry { .. } => format!("retry{rules}"),
        NextAction::Escalate { cause } => format!("escalate, {}{rules}", cause.as_str()),
        NextAction::WaitForHuman { cause } => {
            format!("wait for a human, {}{rules}", cause.as_str())
        }
        NextAction::WaitForApproval { gate } => format!("wait for approval of {gate}"),
        NextAction::WaitForEvidence { missing } => {
            let names: Vec<_> = missing.iter().take(3).map(|check| check.as_str()).collect();
            let more = if missing.len() > names.len() {
                ", …"
            } else {
                ""
            };
            format!("wait for evidence ({}{more})", names.join(", "))
        }
        NextAction::WaitForRunApproval { .. } => {
            "wait until somebody lets the workflows run".to_owned()
        }
        NextAction::WaitForPush { .. } => "wait for the next capability".to_owned(),
        NextAction::WaitForReady => "wait until the draft is ready".to_owned(),
        NextAction::WaitForReview => "wait for a review".to_owned(),
        NextAction::WaitForMerge => "wait for the merge".to_owned(),
    };
    format!("attempt {}: {what}", decision.view.attempt)
}

/// One line about a turn of a local loop: `iteration 2: fail, 0.33 — 1 failed rule (unit)`.
pub fn loop_subject(turn: &Turn) -> String {
    let newest = turn
        .lines
        .iter()
        .rev()
        .find(|line| !matches!(line.event, Event::IterationAdvanced { .. }));
    let what = match (turn.senior_for, newest) {
        (Some(cause), _) => format!("{}: the senior fixer is next", cause.as_str()),
        (
            None,
            Some(HistoryLine {
                event: Event::RunStarted(_),
                ..
            }),
        ) => {
            return format!("begin: {}", one_line(&turn.state.run.title));
        }
        (
            None,
            Some(HistoryLine {
                event: Event::Stopped(RunEnd::ByPerson { words, .. }),
                ..
            }),
        ) => {
            return format!(
                "stopped: {}",
                words
                    .as_deref()
                    .map_or_else(|| "by a person".to_owned(), one_line)
            );
        }
        (None, Some(line)) => line_subject(&turn.state, line),
        (None, None) if turn.state.run.step == Step::Refine => "the fixer is called".to_owned(),
        (None, None) => "the task command is run".to_owned(),
    };
    format!(
        "iteration {}: {what}",
        newest.map_or(turn.state.run.iteration, |line| line.iteration)
    )
}

fn line_subject(state: &LoopState, line: &HistoryLine) -> String {
    match &line.event {
        Event::PlanCreated { .. } => "plan".to_owned(),
        Event::ChecksPrepared { checks } => {
            let checks = count(checks.len(), "check");
            match line.step {
                Step::Prepare => format!("prepared {checks} for phase B"),
                _ => {
                    let hash = state
                        .head
                        .artifact
                        .content_hash
                        .get(..8)
                        .unwrap_or_default();
                    format!("produced {hash}, prepared {checks}")
                }
            }
        }
        Event::PhaseSwitched { .. } => {
            format!(
                "phase A passes, {}",
                state
                    .head
                    .evaluation
                    .as_ref()
                    .map_or(Score::ZERO, |evaluation| evaluation.score)
            )
        }
        Event::EvaluationDone {
            score,
            failed_rules: rules,
            ..
        } => format!("fail, {score}{}", failed_rules(rules)),
        Event::CritiqueDone { items } => format!("critique, {}", count(items.len(), "item")),
        Event::RefinementDone { subject, .. } => one_line(subject),
        Event::PhaseError { step, why, .. } => {
            format!("{} went wrong, once more: {}", step.as_str(), one_line(why))
        }
        Event::Failed(RunEnd::Broken { .. }) => {
            format!("failed, {} went wrong twice", line.step.as_str())
        }
        Event::Failed(RunEnd::Aborted { reason }) => format!("aborted, {}", reason.as_str()),
        Event::Resumed(_) => "resumed by a person".to_owned(),
        Event::Completed(RunEnd::LocalLoop { reason, .. }) => {
            format!("completed, {}", reason.as_str())
        }
        Event::Stopped(RunEnd::ShortOfPassing {
            reason,
            distance_to_success:
                DistanceToSuccess {
                    score,
                    blocking_rule_ids,
                    ..
                },
        }) => {
            format!(
                "stopped, {}: fail, {score}{}",
                reason.as_str(),
                failed_rules(blocking_rule_ids)
            )
        }
        Event::Escalated(Escalated::LocalLoop { trigger, .. }) => {
            format!("escalate, {}", trigger.as_str())
        }
        other => other.name(),
    }
}

/// ` — 2 failed rules (unit, lint)`; of more than three the first three.
fn failed_rules(rules: &[RuleId]) -> String {
    let names = rules
        .iter()
        .take(3)
        .map(RuleId::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    match rules.len() {
        0 => String::new(),
        many @ 1..=3 => format!(" — {} ({names})", count(many, "failed rule")),
        many => format!(" — {} ({names}, …)", count(many, "failed rule")),
    }
}

fn count(n: usize, one: &str) -> String {
    if n == 1 {
        format!("1 {one}")
    } else {
        format!("{n} {one}s")
    }
}

fn one_line(text: &str) -> String {
    let plain: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    text::one_line(&plain, 100)
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopgate_core::{
        fixtures,
        observed::CodeType,
        policy::{EscalationAction, Trigger, TriggerPolicy},
        reflex::{Alias, Ask, LoopCall, Major, Settings, begin},
        state::Task,
    };

    /// The turns that end a loop or hold it up; `tests/loops` reads those of a loop that passes.
    #[test]
    fn a_local_loop_reads_as_a_log() {
        let (mut policy, now) = (fixtures::policy(), fixtures::start());
        let settings = Settings {
            task_type: CodeType::NewFunction,
            mandatory: Vec::new(),
            threshold_a: Score::ZERO,
            threshold_b: Score::ZERO,
            major: Major::Fail,
            limit: 4,
            checks: Vec::new(),
            produce: None,
            document: None,
            fix_command: None,
            config: None,
            base: None,
        };
        let task = Task {
            prompt: "round numbers".into(),
            ideal_result: None,
        };
        let alias = Alias::of_task("round numbers");
        let state = begin(&fixtures::snapshot(), &policy, &alias, task, settings, now);
        let begun = Turn::on(&state, now).begun();
        let once = Turn::on(&begun.state, now).broke("the plan\nis empty".into());
        let twice = Turn::on(&once.state, now).broke("the plan is empty".into());
        let call = LoopCall {
            notes: Vec::new(),
            ask: Ask {
                question: String::new(),
                options: Vec::new(),
            },
        };
        let called =
            Turn::on(&begun.state, now).refused(&[Trigger::Tampering], call.clone(), &policy);
        let resumed = Turn::on(&called.state, now).resumed(fixtures::login("alice"), None, None);
        let stopped = |words: Option<&str>| {
            Turn::on(&begun.state, now).stopped(words.map(str::to_owned), fixtures::login("alice"))
        };
        let own = TriggerPolicy {
            action: Some(EscalationAction::AbortWithReport),
            to: Vec::new(),
        };
        policy.escalation.triggers.insert(Trigger::Tampering, own);
        let aborted = Turn::on(&begun.state, now).refused(&[Trigger::Tampering], call, &policy);
        let mut senior = begun.clone();
        senior.senior_for = Some(Trigger::SameError);
        let turns = [
            begun.clone(),
            once,
            twice,
            called,
            resumed,
            stopped(None),
            stopped(Some("not now")),
            aborted,
            senior,
        ];
        assert_eq!(
            turns.each_ref().map(loop_subject),
            [
                "begin: feat: round numbers",
                "iteration 1: PLAN went wrong, once more: the plan is empty",
                "iteration 1: failed, PLAN went wrong twice",
                "iteration 1: escalate, tampering",
                "iteration 1: resumed by a person",
                "stopped: by a person",
                "stopped: not now",
                "iteration 1: aborted, tampering",
                "iteration 1: same_error: the senior fixer is next",
            ]
        );
    }
}
