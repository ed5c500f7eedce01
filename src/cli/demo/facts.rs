//! What came of the story, as a document for scripts.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde_json::{Value, json};

use super::{
    demo_world::DemoWorld,
    story::{Played, concluded, escalations},
};
use crate::cli::CliError;
use loopgate_core::state::{GateStatus, LoopState};
use loopgate_simulator::PullState;

/// The document of `loopgate demo --json`.
pub(super) fn gather(demo_world: &DemoWorld, played: &Played, elapsed: Duration) -> Result<Value, CliError> {
    let github = &demo_world.github;
    let pull = github.pull_request(&played.pr)?;
    let state_ref = format!("refs/loopgate/pr/{}", played.pr.number);
    let saved = github.state_ref(&demo_world.repo, &state_ref)?;
    let files = saved.as_ref().map(|saved| &saved.files);
    let state: Option<LoopState> =
        files.and_then(|files| files.get("loop-state.json")).map(|text| serde_json::from_str(text)).transpose()?;
    let refused =
        pull.comments.iter().filter(|comment| comment.reactions.iter().any(|(_, kind)| kind == "confused")).count();
    let deliveries = github.deliveries();
    let mut guids = BTreeSet::new();
    let duplicate = deliveries.iter().filter(|delivery| !guids.insert(delivery.guid)).count();
    let accepted = deliveries.iter().filter(|delivery| delivery.accepted()).count();
    let requests = github.request_counts();
    let records = files.into_iter().flatten().filter(|(path, _)| path.starts_with("attempts/"));
    let attempts = records.map(|(_, text)| serde_json::from_str(text).map(attempt)).collect::<Result<Vec<_>, _>>()?;
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

/// The fields of an attempt's record that the demo prints.
fn attempt(record: Value) -> Value {
    let told = ["attempt", "head_sha", "decision", "score", "failed_rules"].map(|field| record[field].clone());
    let [number, head_sha, decision, score, failed_rules] = told;
    json!({
        "number": number, "head_sha": head_sha, "decision": decision, "score": score, "failed_rules": failed_rules,
    })
}
