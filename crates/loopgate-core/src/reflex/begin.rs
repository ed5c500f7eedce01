//! The state of a local loop that has just been confirmed.

use super::{alias::Alias, govern};
use crate::{
    deciding::new_run::workflow_id,
    ids::Timestamp,
    observed::Snapshot,
    policy::{Phase, Policy},
    state::{LoopState, ReflexState, Senior, Settings, Spent, Step, Task},
    verdict::evaluate,
};

/// A new local loop over what `snapshot` shows, under the policy that governs it.
pub fn begin(
    snapshot: &Snapshot,
    policy: &Policy,
    alias: &Alias,
    task: Task,
    settings: Settings,
    now: Timestamp,
) -> LoopState {
    let mut state = LoopState::begin(snapshot, policy, now);
    state.pull_request = None;
    state.run_id = format!("{alias}-{}", now.format("%Y%m%d-%H%M%S"));
    state.workflow_id = workflow_id(&state.repository, &state.run_id);
    state.task_alias = alias.to_string();
    state.title =
        if task.prompt.trim().is_empty() { alias.to_string() } else { govern::title(settings.task_type, &task.prompt) };
    state.task = task;
    state.phase = Phase::A;
    state.current_step = Step::Plan;
    state.max_iterations = settings.limit;
    state.code_artifact.code_type = settings.task_type;
    // Nothing has been produced yet.
    state.code_artifact.content_hash = String::new();
    state.criteria.set(&policy.evaluate, &evaluate::rules(policy, settings.task_type));
    state.reflex = Some(ReflexState {
        settings,
        began_at: state.head_sha,
        broken: None,
        calling: None,
        fixes: Vec::new(),
        spent: Spent::default(),
        senior: Senior::default(),
        notes: Vec::new(),
        refused_diff: None,
        ask: None,
        distance_to_success: None,
        extra: serde_json::Map::new(),
    });
    state
}
