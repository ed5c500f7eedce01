//! What earlier runs would have come to under the configuration that a pull request proposes.

use chrono::TimeDelta;

use crate::{
    config,
    github::{Client, Error, GithubObjects, Observation, observe::CONFIGURATION, path},
    refs::recorded_runs,
};
use loopgate_core::{
    Timestamp, deciding::Decision, observed::Lifecycle, policy::Policy, replay::what_if, state::ProposedConfiguration,
};

/// Runs that are judged again at most: each costs some requests.
const MOST_RUNS: usize = 30;
/// How far back.
const DAYS: i64 = 30;
/// Bytes of the file at most, as of the one that governs.
const LIMIT: usize = 256 << 10;

/// Tries each version of the file once. Nothing depends on it: what cannot be read is not told.
pub(super) async fn try_out(client: &Client, observation: &Observation, decision: &mut Decision, now: Timestamp) {
    if observation.snapshot.pull_request.lifecycle != Lifecycle::Open {
        return;
    }
    let edited = observation.snapshot.files.known().iter().find(|file| file.path == CONFIGURATION);
    let blob = edited.and_then(|file| file.blob);
    if decision.next.proposed.as_ref().map(|proposed| proposed.blob) == blob {
        return;
    }
    decision.next.proposed = None;
    let Some(blob) = blob else { return };
    let objects = GithubObjects::new(client.clone(), observation.snapshot.repository.clone());
    let since = now - TimeDelta::days(DAYS);
    let (file, runs) = futures::join!(file(client, observation), recorded_runs(&objects, since, MOST_RUNS));
    match (file, runs) {
        (Ok(Some(policy)), Ok((runs, _))) => {
            let told = what_if(&runs, &policy);
            let (gates, calls) = (told.gates, told.calls);
            decision.next.proposed = Some(ProposedConfiguration { blob, runs: told.runs, gates, calls });
        }
        // A file that does not validate is told of where it governs.
        (Ok(None), _) => {}
        (Err(error), _) => tracing::info!(%error, "the proposed configuration could not be read"),
        (_, Err(error)) => tracing::info!(%error, "recorded runs could not be read"),
    }
}

async fn file(client: &Client, observation: &Observation) -> Result<Option<Policy>, Error> {
    let snapshot = &observation.snapshot;
    let (repository, head) = (path::repo(&snapshot.repository), snapshot.pull_request.head.sha);
    let bytes = client.get_file(&format!("{repository}/contents/{CONFIGURATION}?ref={head}"), LIMIT).await?;
    let text = bytes.and_then(|bytes| String::from_utf8(bytes.to_vec()).ok());
    Ok(text.and_then(|text| config::parse(CONFIGURATION, &text).ok()))
}
