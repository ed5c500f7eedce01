//! What the last pull requests would have come to under the configuration that a pull request proposes.
//!
//! Reading them takes up to [`MOST`] × 15 requests, those for the rights of people aside. So it is done beside the
//! reconciles, in the last class of work, once for each version of the file, and only by a process that stays;
//! elsewhere people ask with `loopgate what-if`.

use std::{collections::HashMap, sync::Arc};

use chrono::TimeDelta;
use parking_lot::Mutex;

use super::Turn;
use crate::config;
use crate::github::{
    client::{
        Client,
        error::Result,
        work_class::{WorkClass, serving},
    },
    observe::{CONFIGURATION, CONFIGURATION_LIMIT, Observation, Observer},
};
use loopgate_core::{
    PrNumber, RepoName, Sha, Timestamp, deciding::Decision, observed::Lifecycle, replay::WhatIf,
    state::ProposedConfiguration,
};

/// Pull requests that are decided again at most.
const MOST: usize = 10;
/// How far back.
const DAYS: i64 = 30;
/// How long after a reconcile the next one asks whether the comparison has ended.
const ASKED_AGAIN: TimeDelta = TimeDelta::seconds(20);
/// Versions of files that are remembered.
const MOST_KNOWN: usize = 1_000;

/// A version of a repository's configuration file, by its blob.
type ProposedVersion = (RepoName, Sha);

/// How a comparison stands.
enum Comparison {
    Running,
    Ended(ProposedConfiguration),
    /// The file does not validate, or GitHub did not answer.
    Nothing,
}

/// The comparisons of this process.
#[derive(Default)]
pub(super) struct Proposals(Arc<Mutex<HashMap<ProposedVersion, Comparison>>>);

impl Turn<'_> {
    /// Puts the comparison for the file that this pull request proposes into its state. Where there is none, it begins
    /// one, unless this process ends after its turn. Returns when to ask again.
    pub(super) fn compare(
        &self,
        observation: &Observation,
        decision: &mut Decision,
    ) -> Option<Timestamp> {
        let now = self.now;
        let snapshot = &observation.snapshot;
        if snapshot.pull_request.lifecycle != Lifecycle::Open {
            return None;
        }
        let edited = snapshot
            .files
            .known()
            .iter()
            .find(|file| file.path == CONFIGURATION);
        let blob = edited.and_then(|file| file.blob);
        if decision
            .next
            .concerns
            .configuration
            .as_ref()
            .map(|proposed| proposed.blob)
            == blob
        {
            return None;
        }
        decision.next.concerns.configuration = None;
        if !self.stays {
            return None;
        }
        let version = (snapshot.repository.clone(), blob?);
        let mut known = self.proposals.0.lock();
        match known.get(&version) {
            Some(Comparison::Ended(compared)) => {
                decision.next.concerns.configuration = Some(compared.clone());
                return None;
            }
            Some(Comparison::Nothing) => return None,
            Some(Comparison::Running) => {}
            None => {
                if known.len() >= MOST_KNOWN {
                    known.clear();
                }
                known.insert(version.clone(), Comparison::Running);
                let (observer, client) = (Observer::new(self.github.clone()), self.client.clone());
                let (number, head) = (snapshot.pull_request.number, snapshot.pull_request.head.sha);
                let known = Arc::clone(&self.proposals.0);
                tokio::spawn(serving(WorkClass::Spread, async move {
                    let compared = what_if(&observer, &client, &version, (number, head), now).await;
                    let compared = compared.unwrap_or_else(|error| {
                        tracing::info!(%error, "the proposed configuration was not compared");
                        Comparison::Nothing
                    });
                    known.lock().insert(version, compared);
                }));
            }
        }
        Some(now + ASKED_AGAIN)
    }
}

/// Compares for the version at the head of a pull request, over the others.
async fn what_if(
    observer: &Observer,
    client: &Client,
    (repository, blob): &ProposedVersion,
    (number, head): (PrNumber, Sha),
    now: Timestamp,
) -> Result<Comparison> {
    // A file that does not validate is explained where it governs.
    let repo = client.repo(repository);
    let text = repo.text(CONFIGURATION, head, CONFIGURATION_LIMIT).await?;
    let Some(policy) = text.and_then(|text| config::parse(CONFIGURATION, &text).ok()) else {
        return Ok(Comparison::Nothing);
    };
    let mut listed = observer.changed_last(repo, "all", MOST + 1).await?;
    listed.retain(|one| one.number != number && one.updated_at >= now - TimeDelta::days(DAYS));
    let mut compared = WhatIf::new();
    for one in listed.iter().take(MOST) {
        compared = observer.compare_past(repo, one, &policy, compared).await?;
    }
    let WhatIf {
        runs, gates, calls, ..
    } = compared;
    Ok(Comparison::Ended(ProposedConfiguration {
        blob: *blob,
        runs,
        gates,
        calls,
    }))
}
