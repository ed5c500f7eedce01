//! A run that an older version began: its files are read in the middle, and the run goes on.

use serde_json::{Value, json};

use crate::{
    deciding::NextAction,
    fixtures::{self, Story},
    memory::MemoryLine,
    policy::Trigger,
    state::{LOOP_STATE_SCHEMA, LoopState, RunDocument},
};

/// `loop-state.json` after two failing attempts, a skip that was refused, a dispute that was settled and a gate
/// request.
const STATE: &str = include_str!("../../fixtures/saved/pull_request.json");
/// The line of its second attempt in the debug memory.
const MEMORY: &str = include_str!("../../fixtures/saved/memory.jsonl");

fn begun() -> Story {
    let mut story = Story::opened();
    story.gate("design", "bob");
    story.push(1, &["rounds"], &["parses"]);
    let id = story.last.as_ref().unwrap().view.failures[0].cause;
    story.comment(
        "alice",
        &format!("/loop dispute {id} the rounding is meant"),
    );
    story.comment("bob", "/loop settle test");
    story.comment("alice", "/loop skip unit --reason \"it is slow\"");
    story.push(2, &["rounds"], &["parses"]);
    story
}

#[test]
fn a_run_in_the_middle_goes_on() {
    let saved: Value = serde_json::from_str(STATE).unwrap();
    let state: LoopState = serde_json::from_value(saved.clone()).unwrap();
    assert!(
        fixtures::keeps(&json!(RunDocument::from(state.clone())), &saved),
        "every key is written again"
    );
    let mut story = begun();
    story.state = state;
    assert_eq!(
        story.push(3, &["rounds"], &["parses"]).action,
        NextAction::Retry { attempt: 3 }
    );
    // The streak began anew when the dispute was settled, after the first attempt.
    assert_eq!(
        story.push(4, &["rounds"], &["parses"]).action,
        NextAction::Escalate {
            cause: Trigger::SameError
        }
    );
    assert_eq!(
        (
            story.state.attempts.counted.len(),
            story.state.attempts.failures.total
        ),
        (4, 4)
    );
    assert_eq!(
        story.state.concerns.gates.len(),
        1,
        "the gate is not asked for again"
    );
    assert_eq!(
        story
            .state
            .concerns
            .gates
            .values()
            .next()
            .map(|gate| gate.round),
        Some(1)
    );
    assert_eq!(
        story.state.people.answered.len(),
        3,
        "no command is carried out twice"
    );
}

/// A run as a version saved it that wrote schema 1, and what that version made of it later.
#[test]
fn a_run_of_schema_1_comes_to_what_it_came_to() {
    let saved = include_str!("../../fixtures/saved/schema_1/pull_request.json");
    let later = include_str!("../../fixtures/saved/schema_1/pull_request_later.json");
    let later: Value = serde_json::from_str(later).unwrap();
    let mut story = begun();
    story.comment("bob", "/loop skip lint --reason \"no linter here\"");
    let read: LoopState = serde_json::from_str(saved).unwrap();
    let written = json!(read);
    assert_eq!(written["schema"], LOOP_STATE_SCHEMA);
    story.state = serde_json::from_value(written).unwrap();
    assert_eq!(story.state, read, "nothing is lost on the way to schema 2");

    let then = [
        story.push(3, &["rounds"], &["parses"]).action.clone(),
        story.push(4, &["rounds"], &["parses"]).action.clone(),
        story.comment("bob", "/loop resume").action.clone(),
        story.push(5, &[], &["parses", "rounds"]).action.clone(),
    ];
    let then: Vec<String> = then.iter().map(|action| format!("{action:?}")).collect();
    assert_eq!(json!(then), later["then"]);
    let shown = json!(RunDocument::from(story.state));
    assert!(fixtures::keeps(&shown, &later["state"]), "{shown:#}");
}

#[test]
fn an_old_line_of_the_memory_is_kept() {
    let line: MemoryLine = serde_json::from_str(MEMORY).unwrap();
    assert!(fixtures::keeps(
        &serde_json::to_value(&line).unwrap(),
        &serde_json::from_str(MEMORY).unwrap()
    ));
}
