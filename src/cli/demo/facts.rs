//! What came of the story, as a document for scripts.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde::Serialize;

use super::{
    DemoError,
    demo_world::DemoWorld,
    story::{Played, concluded, escalations},
};
use loopgate_core::{
    GateName, RuleId, Score, Sha,
    deciding::DecisionWord,
    stage::Stage,
    state::{GateStatus, LoopState},
};
use loopgate_simulator::PullState;

#[derive(Debug, Serialize)]
pub(super) struct Facts {
    merged: bool,
    stage: Option<Stage>,
    attempts: Vec<AttemptFact>,
    escalations: usize,
    disputes: usize,
    memory_matches: usize,
    gates: BTreeMap<GateName, GateFact>,
    labels_seen: BTreeSet<String>,
    check_runs: BTreeMap<String, String>,
    state_ref: String,
    state_commits: usize,
    deliveries: DeliveryFacts,
    api_requests: RequestFacts,
    elapsed_ms: u128,
}

#[derive(Debug, Serialize)]
struct AttemptFact {
    number: u32,
    head_sha: Sha,
    decision: DecisionWord,
    score: Score,
    failed_rules: Vec<RuleId>,
}

#[derive(Debug, Serialize)]
struct GateFact {
    status: GateStatus,
    approved_by: Vec<String>,
    /// Comments that were not accepted.
    refused: usize,
}

#[derive(Debug, Serialize)]
struct DeliveryFacts {
    sent: usize,
    accepted: usize,
    duplicate: usize,
}

#[derive(Debug, Serialize)]
struct RequestFacts {
    total: usize,
    not_modified: usize,
}

pub(super) fn gather(demo_world: &DemoWorld, played: &Played, elapsed: Duration) -> Result<Facts, DemoError> {
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
        let decision = record.and_then(|text| serde_json::from_str::<serde_json::Value>(text).ok());
        let word = decision.and_then(|mut record| serde_json::from_value(record["decision"].take()).ok());
        word.unwrap_or(DecisionWord::Wait)
    };
    let deliveries = github.deliveries();
    let mut guids = BTreeSet::new();
    let duplicate = deliveries.iter().filter(|delivery| !guids.insert(delivery.guid)).count();
    let accepted = deliveries.iter().filter(|delivery| delivery.accepted()).count();
    let requests = github.request_counts();
    Ok(Facts {
        merged: matches!(pull.state, PullState::Merged { .. }),
        stage: state.as_ref().map(|state| state.state),
        attempts: state
            .iter()
            .flat_map(|state| &state.attempts)
            .map(|attempt| AttemptFact {
                number: attempt.number,
                head_sha: attempt.head_sha,
                decision: decision_of(attempt.number),
                score: attempt.score,
                failed_rules: attempt.failed_rules.clone(),
            })
            .collect(),
        escalations: escalations(&pull),
        disputes: state.as_ref().map_or(0, |state| state.disputes.len()),
        memory_matches: played.memory_matches,
        gates: state
            .iter()
            .flat_map(|state| &state.gates)
            .filter(|(_, gate)| gate.status != GateStatus::NotApplicable)
            .map(|(name, gate)| {
                let people = gate.approved_by.iter().flatten().map(ToString::to_string).collect();
                (name.clone(), GateFact { status: gate.status, approved_by: people, refused })
            })
            .collect(),
        labels_seen: played.labels_seen.clone(),
        check_runs: ["loopgate / verify", "loopgate / gates"]
            .map(|name| (name.to_owned(), concluded(&pull, name)))
            .into(),
        state_ref,
        state_commits: saved.as_ref().map_or(0, |saved| saved.commits.len()),
        deliveries: DeliveryFacts { sent: deliveries.len(), accepted, duplicate },
        api_requests: RequestFacts { total: requests.total, not_modified: requests.not_modified },
        elapsed_ms: elapsed.as_millis(),
    })
}
