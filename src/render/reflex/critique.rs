//! PLAN: what an iteration will do, in short lines. CRITIQUE: what is wrong and what to do about it, one item for each
//! failed rule at least.

use crate::render::{links::place, summary::failed, words};
use loopgate_core::{deciding::View, reflex::CritiqueItem, state::LoopState, text::one_line};

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

/// Failures named for one rule; the feedback has them all.
const PER_RULE: usize = 3;

/// The items of a failed evaluation: its failed rules, the severe first, each with the failures of its check.
pub fn loop_critique(view: &View) -> Vec<CritiqueItem> {
    let bounded = |text: &str| one_line(text, 300);
    let mut items = Vec::new();
    for (rule, why) in failed(&view.evaluation) {
        let failures = view.failures.iter().filter(|failure| failure.check.as_str() == rule.id.as_str());
        // What to do about a failure may not be known.
        let (usual, before) = (bounded(&words::fix(why)), items.len());
        items.extend(failures.take(PER_RULE).map(|view| {
            let failure = &view.failure;
            let place = failure.location().map(|(file, line)| format!("{}: ", place(file, line))).unwrap_or_default();
            let cause = view.told.problem.as_str();
            // Said once: most causes begin with their test.
            let name = failure.test_name.as_deref().filter(|name| !cause.starts_with(&format!("`{name}`")));
            let name = name.map(|name| format!("{name}: ")).unwrap_or_default();
            CritiqueItem {
                rule: rule.id.to_string(),
                issue: bounded(&format!("{place}{name}{cause}")),
                fix: Some(bounded(&view.told.action)).filter(|fix| !fix.is_empty()).unwrap_or_else(|| usual.clone()),
            }
        }));
        if items.len() == before {
            items.push(CritiqueItem {
                rule: rule.id.to_string(),
                issue: bounded(&format!("“{}” does not hold", rule.description)),
                fix: usual,
            });
        }
    }
    items
}
