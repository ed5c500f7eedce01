//! What a loop prints while it runs and at its end, and the exit code that goes with it.

use serde_json::{Value, json};

use super::session::{Judged, Progress, Session};
use crate::cli::{
    CommandResult, actions, exit,
    output::{self, Format},
};
use loopgate_core::{
    concerns::verdict::{Evaluation, FailureView},
    deciding::DecisionWord,
    reflex::FixRecord,
    state::{LoopState, RunDocument, RunStatus, Step, StopReason},
};
use loopgate_render as render;

/// Lines of a program that are passed on, and characters of each: a terminal or a job's log holds no flood.
const ECHOED: usize = 2_000;
const ECHOED_LINE: usize = 1_000;

/// A loop as programs read it.
pub(super) fn document(state: &LoopState) -> Value {
    let (reflex, evaluation) = (state.run.reflex.as_ref(), state.head.evaluation.as_ref());
    let fields = "run_id workflow_id title status iteration max_iterations phase current_step last_score critique \
                  best_attempt stop branch head_sha created_at updated_at";
    let of_attempt = "number head_sha result phase score failed_rules summary";
    let attempts = state
        .attempts
        .counted
        .iter()
        .map(|attempt| render::fields_of_state(attempt, of_attempt));
    let mut document = render::fields_of_state(&RunDocument::from(state.clone()), fields);
    let others = json!({
        "schema": "loopgate.loop/v1",
        "alias": state.run.alias,
        "task": state.run.task.prompt,
        "ideal_result": state.run.task.ideal_result,
        "verdict": render::loop_verdict(state),
        "score": evaluation.map(|evaluation| evaluation.score),
        "failed_rules": evaluation.map(|evaluation| &evaluation.failed_rules),
        "warnings": evaluation.map(|evaluation| &evaluation.warnings),
        "attempts": attempts.collect::<Vec<_>>(),
        "fixes": reflex.map(|reflex| &reflex.fixes),
        "spent": reflex.map(|reflex| render::fields_of_state(&reflex.spent, "calls wall_ms cost_usd")),
        "blocked": state.people.blocked.as_ref().map(|blocked| render::fields_of_state(blocked, "trigger also")),
        "notes": reflex.map(|reflex| &reflex.notes),
        "question": reflex.and_then(|reflex| reflex.ask.as_ref()),
        "distance_to_success": reflex.and_then(|reflex| reflex.distance_to_success.as_ref()),
        "hash": state.head.artifact.content_hash,
        "state_ref": format!("refs/loopgate/task/{}", state.run.alias),
    });
    for (name, value) in others.as_object().into_iter().flatten() {
        document[name] = value.clone();
    }
    document
}

/// The whole report, and below it the document that a loop is about.
pub(super) fn whole(state: &LoopState, artifact: &str) -> String {
    let report = render::loop_report(state, output::format() != Format::Json && output::colour());
    match state
        .run
        .reflex
        .as_ref()
        .and_then(|reflex| reflex.settings.document.as_deref())
    {
        Some(path) if !artifact.is_empty() => {
            format!(
                "{report}\n{}:\n\n{}\n",
                render::plain_line(path),
                render::plain_block(artifact).trim_end()
            )
        }
        _ => report,
    }
}

/// After `run`, `resume` and `next`.
pub(super) fn ended(state: &LoopState, artifact: &str, progress: Progress) -> CommandResult {
    let (words, code) = match progress {
        Progress::Over => (whole(state, artifact).trim_end().to_owned(), code(state)),
        Progress::On => (render::loop_status(state), exit::OK),
        Progress::Waiting => (String::new(), exit::RETRY),
        Progress::Interrupted => (String::new(), exit::INTERRUPTED),
    };
    output::show(&document(state), || words)?;
    if progress == Progress::Interrupted {
        output::note_line(format_args!(
            "interrupted: what was running has been ended. Go on: loopgate loop resume {}",
            state.run.alias
        ));
    }
    let decision = match code {
        exit::OK => DecisionWord::Proceed,
        exit::RETRY => DecisionWord::Retry,
        exit::ESCALATE => DecisionWord::Escalate,
        // Interrupted: nothing was decided.
        _ => return Ok(code),
    };
    let evaluation = state.head.evaluation.as_ref();
    let outputs = json!({
        "decision": decision, "status": state.run.status, "attempt": state.run.iteration, "stage": state.run.stage,
        "score": evaluation.map(|evaluation| evaluation.score).or(state.attempts.score_before()),
        "failed_rules": evaluation.map(|evaluation| &evaluation.failed_rules[..]).unwrap_or_default(),
    });
    actions::write_decision(&outputs, None);
    Ok(code)
}

/// The exit code of a loop that does not go on by itself.
const fn code(state: &LoopState) -> u8 {
    match (state.run.status, state.run.stop.reason) {
        (RunStatus::Completed | RunStatus::Passed, _) => exit::OK,
        (RunStatus::Escalated | RunStatus::Aborted, _) => exit::ESCALATE,
        (RunStatus::Stopped, Some(StopReason::UserStop)) => exit::OK,
        (RunStatus::Stopped | RunStatus::Failed | RunStatus::InProgress, _) => exit::RETRY,
    }
}

/// Why a loop that is over is not resumed.
pub(super) fn over(state: &LoopState) -> CommandResult {
    let alias = &state.run.alias;
    output::show(&document(state), || {
        format!(
            "The loop `{alias}` is over: {}. Begin another with `loopgate loop new`; `loopgate loop status {alias} \
             --full` tells all of this one.",
            render::loop_verdict(state)
        )
    })?;
    Ok(code(state))
}

/// A result for people; where programs read standard output, it is progress.
fn print(text: &str) {
    if output::format() == Format::Json {
        output::note_line(text)
    } else {
        output::line(text)
    }
}

/// The output of a running loop: progress on standard error, results on standard output.
impl Session<'_> {
    /// Only the steps that take time are worth a line.
    pub(super) fn print_step(&self) {
        let doing = match self.state.run.step {
            Step::ProducePrepare => "produce and prepare",
            Step::Evaluate => "evaluate",
            Step::Refine => "refine",
            Step::Plan | Step::Prepare | Step::Critique => return,
        };
        output::note_line(format_args!(
            "iteration {}, phase {:?}: {doing}",
            self.state.run.iteration, self.state.run.phase
        ));
    }

    /// After each judged iteration.
    pub(super) fn print_iteration(&self, judged: &Judged) {
        let view = &judged.decision.view;
        self.print_summary(&view.evaluation, &view.failures);
        let remembered = view.failures.iter().flat_map(|failure| {
            let name = || match &failure.failure.test_name {
                Some(test) => test.clone(),
                None => failure.failure.reported().into_owned(),
            };
            failure.memory.iter().map(move |found| (name(), found))
        });
        for known in render::memory_lines(remembered) {
            print(&format!("Before: {known}"));
        }
        if self.state.run.iteration >= 2 && !self.state.run.has_ended() {
            self.print_fresh_context();
        }
    }

    /// Phase A passes: the summary, and the whole report.
    pub(super) fn print_phase_a(&self, evaluation: &Evaluation) {
        self.print_summary(evaluation, &[]);
        print(&whole(&self.state, &self.artifact));
        self.print_fresh_context();
    }

    fn print_summary(&self, evaluation: &Evaluation, failures: &[FailureView]) {
        let lines = render::loop_iteration(&self.state, evaluation, failures).lines();
        print(&format!("\n{}\n", lines.join("\n")));
    }

    fn print_fresh_context(&self) {
        print(&format!(
            "All state is saved. For a fresh context: loopgate loop resume {}",
            self.alias
        ));
    }

    /// The author fixes what the critique lists.
    pub(super) fn print_your_turn(&self, why: Option<&'static str>) {
        if let Some(why) = why {
            output::note_line(format_args!("No fixer is called: {why}."));
        }
        print("It is yours to fix:");
        for item in self.state.run.critique.iter().flatten() {
            print(&format!("  - {}", render::plain_line(item)));
        }
        print(&format!("Edit, then: loopgate loop run {}", self.alias));
    }

    pub(super) fn print_fixed(&self, fix: &FixRecord) {
        print(&format!(
            "{} {} ({})",
            fix.head_sha.short(),
            render::plain_line(&fix.subject),
            fix.diff_summary
        ));
        if !fix.outside_scope.is_empty() {
            print(&format!(
                "  outside the failing scope: {}",
                render::plain_line(&fix.outside_scope.join(", "))
            ));
        }
    }
}

/// Passes on what a program prints, line by line, without what could drive the terminal.
pub(super) fn echo(print: impl Fn(&str) + Send + 'static) -> impl FnMut(&[u8]) + Send + 'static {
    // A line without an end so far, and how many were passed on.
    let (mut begun, mut passed_on) = (Vec::new(), 0);
    move |bytes| {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if passed_on > ECHOED {
                return;
            }
            // Four bytes a character at most; what is longer is cut in any case.
            let room = (4 * ECHOED_LINE).saturating_sub(begun.len());
            begun.extend_from_slice(piece.get(..room).unwrap_or(piece));
            if !piece.ends_with(b"\n") {
                continue;
            }
            if passed_on == ECHOED {
                print("… more is not shown");
            } else {
                let line = render::plain_line(String::from_utf8_lossy(&begun).trim_end());
                print(&line.chars().take(ECHOED_LINE).collect::<String>());
            }
            begun.clear();
            passed_on += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_not_passed_on() {
        let heard = |chunks: &[&[u8]]| {
            let (sender, lines) = std::sync::mpsc::channel();
            let mut echo = echo(move |line| sender.send(line.to_owned()).unwrap());
            chunks.iter().for_each(|chunk| echo(chunk));
            drop(echo);
            lines.iter().collect::<Vec<String>>()
        };
        assert_eq!(
            heard(&[b"one\ntw", b"o\n\x1b[2Jthree\r\nfour"]),
            ["one", "two", "three"]
        );
        let long = [b'x'; 3 * ECHOED_LINE];
        assert_eq!(heard(&[&long, &long, b"\n"])[0].len(), ECHOED_LINE);
        let flood = heard(&[b"y\n".repeat(3 * ECHOED).as_slice(), b"z\n"]);
        assert_eq!(flood.len(), ECHOED + 1);
        assert_eq!(
            flood.last().map(String::as_str),
            Some("… more is not shown")
        );
    }
}
