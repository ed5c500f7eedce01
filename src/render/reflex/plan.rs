//! PLAN: what an iteration will do, in short lines.

use loopgate_core::state::LoopState;

/// The plan of the iteration a loop is in.
pub fn loop_plan(state: &LoopState) -> Vec<String> {
    let reflex = state.reflex.as_ref();
    let mut plan = Vec::new();
    let last = reflex.and_then(|reflex| reflex.fixes.last()).filter(|fix| fix.iteration + 1 == state.iteration);
    match (last, reflex.and_then(|reflex| reflex.settings.produce.as_deref())) {
        (Some(fix), _) => plan.push(format!("check “{}”", fix.subject)),
        (None, Some(command)) if state.iteration == 1 => plan.push(format!("run `{command}`")),
        (None, _) => plan.push("take the tree as it is".to_owned()),
    }
    plan.push(format!("evaluate phase {:?}", state.phase));
    let failed = state.evaluation.as_ref().map(|evaluation| evaluation.failed_rules.as_slice()).unwrap_or_default();
    if state.iteration > 1 && !failed.is_empty() {
        let names = failed.iter().take(5).map(ToString::to_string).collect::<Vec<_>>();
        plan.push(format!("fix {}", names.join(" and ")));
    }
    plan
}
