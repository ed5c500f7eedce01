//! What a loop's commands print at their end, and the exit code that goes with it.

use serde_json::{Value, json};

use super::{console_output::ConsoleOutput, drive::Progress};
use crate::{
    cli::{
        CommandResult,
        action_outputs::Outputs,
        exit,
        output::{self, Format},
    },
    render::{self, Colour},
};
use loopgate_core::{
    Score,
    deciding::DecisionWord,
    state::{LoopState, RunStatus, StopReason},
};

/// A loop as programs read it.
pub(super) fn document(state: &LoopState) -> Value {
    let reflex = state.reflex.as_ref();
    json!({
        "schema": "loopgate.loop/v1",
        "alias": state.task_alias,
        "run_id": state.run_id,
        "workflow_id": state.workflow_id,
        "title": state.title,
        "task": state.task.prompt,
        "ideal_result": state.task.ideal_result,
        "status": state.status,
        "verdict": render::loop_verdict(state),
        "iteration": state.iteration,
        "max_iterations": state.max_iterations,
        "phase": state.phase,
        "current_step": state.current_step,
        "score": state.evaluation.as_ref().map(|evaluation| evaluation.score),
        "last_score": state.last_score,
        "failed_rules": state.evaluation.as_ref().map(|evaluation| &evaluation.failed_rules),
        "warnings": state.evaluation.as_ref().map(|evaluation| &evaluation.warnings),
        "critique": state.critique,
        "attempts": state.attempts.iter().map(|attempt| json!({
            "number": attempt.number,
            "head_sha": attempt.head_sha,
            "result": attempt.result,
            "phase": attempt.phase,
            "score": attempt.score,
            "failed_rules": attempt.failed_rules,
            "summary": attempt.summary,
        })).collect::<Vec<_>>(),
        "fixes": reflex.map(|reflex| &reflex.fixes),
        "spent": reflex.map(|reflex| json!({
            "calls": reflex.spent.calls, "wall_ms": reflex.spent.wall_ms, "cost_usd": reflex.spent.cost_usd,
        })),
        "best_attempt": state.best_attempt,
        "blocked": state.blocked.as_ref().map(|blocked| json!({ "trigger": blocked.trigger, "also": blocked.also })),
        "notes": reflex.map(|reflex| &reflex.notes),
        "question": reflex.and_then(|reflex| reflex.ask.as_ref()),
        "stop": state.stop,
        "distance_to_success": reflex.and_then(|reflex| reflex.distance_to_success.as_ref()),
        "branch": state.branch,
        "head_sha": state.head_sha,
        "hash": state.code_artifact.content_hash,
        "state_ref": format!("refs/loopgate/task/{}", state.task_alias),
        "created_at": state.created_at,
        "updated_at": state.updated_at,
    })
}

/// After `new`.
pub(super) fn began(state: &LoopState, format: Format) -> CommandResult {
    let LoopState { task_alias, max_iterations, .. } = state;
    format.show(&document(state), || {
        format!("{task_alias} is set up: at most {max_iterations} iterations.\nRun it: loopgate loop run")
    })
}

/// The whole report, and below it the document that a loop is about.
pub(super) fn whole(state: &LoopState, artifact: &str, colour: Colour) -> String {
    let report = render::loop_report(state, colour);
    match state.reflex.as_ref().and_then(|reflex| reflex.settings.document.as_deref()) {
        Some(path) if !artifact.is_empty() => {
            format!("{report}\n{}:\n\n{}\n", render::plain_line(path), render::plain_block(artifact).trim_end())
        }
        _ => report,
    }
}

/// After `run`, `resume` and `next`.
pub(super) fn ended(state: &LoopState, artifact: &str, progress: Progress, console: &ConsoleOutput) -> CommandResult {
    let alias = &state.task_alias;
    match console.format {
        Format::Json => output::json(&document(state))?,
        Format::Human if progress == Progress::Over => output::line(whole(state, artifact, console.colour).trim_end()),
        Format::Human if progress == Progress::On => output::text(render::loop_status(state)),
        Format::Human => {}
    }
    if progress == Progress::Interrupted {
        output::note_line(format_args!(
            "interrupted: what was running has been ended. Go on: loopgate loop resume {alias}"
        ));
    }
    let code = match progress {
        Progress::Interrupted => exit::INTERRUPTED,
        Progress::Waiting => exit::RETRY,
        Progress::On => exit::OK,
        Progress::Over => code(state),
    };
    tell(state, code);
    Ok(code)
}

/// The outputs of a workflow's step that runs the loop.
fn tell(state: &LoopState, code: u8) {
    let decision = match code {
        exit::OK => DecisionWord::Proceed,
        exit::RETRY => DecisionWord::Retry,
        exit::ESCALATE => DecisionWord::Escalate,
        // Interrupted: nothing was decided.
        _ => return,
    };
    let evaluation = state.evaluation.as_ref();
    let outputs = Outputs {
        decision,
        status: state.status,
        score: evaluation.map(|evaluation| evaluation.score).or(state.last_score).unwrap_or(Score::ZERO),
        attempt: state.iteration,
        stage: state.state,
        failed_rules: evaluation.map(|evaluation| evaluation.failed_rules.clone()).unwrap_or_default(),
        files: None,
    };
    outputs.tell();
}

/// The exit code of a loop that does not go on by itself.
pub(super) const fn code(state: &LoopState) -> u8 {
    match (state.status, state.stop.reason) {
        (RunStatus::Completed | RunStatus::Passed, _) => exit::OK,
        (RunStatus::Escalated | RunStatus::Aborted, _) => exit::ESCALATE,
        (RunStatus::Stopped, Some(StopReason::UserStop)) => exit::OK,
        (RunStatus::Stopped | RunStatus::Failed | RunStatus::InProgress, _) => exit::RETRY,
    }
}

/// Why a loop that is over is not resumed.
pub(super) fn is_over(state: &LoopState) -> String {
    debug_assert!(state.has_ended());
    let alias = &state.task_alias;
    format!(
        "The loop `{alias}` is over: {}. Begin another with `loopgate loop new`; `loopgate loop status {alias} --full` \
         tells all of this one.",
        render::loop_verdict(state)
    )
}
