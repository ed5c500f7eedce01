//! What came of the story, as a document for scripts.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde_json::{Value, json};

use super::{
    DemoError,
    demo_world::DemoWorld,
    story::{Played, concluded, escalations},
};
use loopgate_core::{
    deciding::DecisionWord,
    state::{GateStatus, LoopState},
};
use loopgate_simulator::PullState;

/// The document of `loopgate demo --json`.
pub(super) fn gather(demo_world: &DemoWorld, played: &Played, elapsed: Duration) -> Result<Value, DemoError> {
    let github = &demo_world.github;
    let pull = github.pull_request(&played.pr)?;
    let state_ref = format!("refs/loopgate/pr/{}", played.pr.number);
    let saved = github.state_ref(&demo_world.repo, &state_ref)?;
    let files = saved.as_ref().map(|saved| &saved.files);
    let state: Option<LoopState> =
        files.and_then(|files| files.get("loop-state.json")).map(|text| serde_json::from_str(text)).transpose()?;
    let refused =
        pull.comments.iter().filter(|comment| comment.reactions.iter().any(|(_, kind)| kind == "confused")).count();
    let decision_of = |number: u32| -> DecisionWord {
        let record = files.and_then(|files| files.get(&format!("attempts/{number:03}.json")));
        let decision = record.and_then(|text| serde_json::from_str::<Value>(text).ok());
        let word = decision.and_then(|mut record| serde_json::from_value(record["decision"].take()).ok());
        word.unwrap_or(DecisionWord::Wait)
    };
    let deliveries = github.deliveries();
    let mut guids = BTreeSet::new();
    let duplicate = deliveries.iter().filter(|delivery| !guids.insert(delivery.guid)).count();
    let accepted = deliveries.iter().filter(|delivery| delivery.accepted()).count();
    let requests = github.request_counts();
    let attempts: Vec<Value> = state
        .iter()
        .flat_map(|state| &state.attempts)
        .map(|attempt| {
            json!({
                "number": attempt.number,
                "head_sha": attempt.head_sha,
                "decision": decision_of(attempt.number),
                "score": attempt.score,
                "failed_rules": attempt.failed_rules,
            })
        })
        .collect();
    let gates = state.iter().flat_map(|state| &state.gates);
    let gates = gates.filter(|(_, gate)| gate.status != GateStatus::NotApplicable).map(|(name, gate)| {
        let people: Vec<String> = gate.approved_by.iter().flatten().map(ToString::to_string).collect();
        (name.to_string(), json!({ "status": gate.status, "approved_by": people, "refused": refused }))
    });
    let check_runs = ["loopgate / verify", "loopgate / gates"].map(|name| (name, concluded(&pull, name)));
    Ok(json!({
        "merged": matches!(pull.state, PullState::Merged { .. }),
        "stage": state.as_ref().map(|state| state.state),
        "attempts": attempts,
        "escalations": escalations(&pull),
        "disputes": state.as_ref().map_or(0, |state| state.disputes.len()),
        "memory_matches": played.memory_matches,
        "gates": gates.collect::<BTreeMap<_, _>>(),
        "labels_seen": played.labels_seen,
        "check_runs": BTreeMap::from(check_runs),
        "state_ref": state_ref,
        "state_commits": saved.as_ref().map_or(0, |saved| saved.commits.len()),
        "deliveries": { "sent": deliveries.len(), "accepted": accepted, "duplicate": duplicate },
        "api_requests": { "total": requests.total, "not_modified": requests.not_modified },
        "elapsed_ms": u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
    }))
}
