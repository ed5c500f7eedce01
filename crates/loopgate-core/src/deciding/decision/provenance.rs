//! Where the evidence of an attempt comes from.

use serde::{Deserialize, Serialize};

use crate::{
    PrNumber, RepoName, Sha, Timestamp,
    evidence::{Environment, Evidence, WorkflowOrigin},
    observed::{ReceivedEvidence, Snapshot},
};

/// What `attempts/NNN.json` says of its origin, in the words of `evidence.json`. Where the evidence comes from several
/// jobs, the first names the workflow and the environment, and the times span all of them. Checks that were read from
/// GitHub alone have neither.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    pub repository: RepoName,
    pub base_sha: Sha,
    /// None in a local loop.
    pub pull_request: Option<PrNumber>,
    pub workflow: Option<WorkflowOrigin>,
    pub environment: Option<Environment>,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

impl Provenance {
    /// That of the head's evidence.
    pub fn of(snapshot: &Snapshot, pull_request: Option<PrNumber>) -> Self {
        let accepted = || {
            snapshot.evidence.iter().filter_map(|received| match received {
                ReceivedEvidence::Accepted(evidence) => Some(evidence.as_ref()),
                ReceivedEvidence::Refused { .. } => None,
            })
        };
        let first: Option<&Evidence> = accepted().next();
        Self {
            repository: snapshot.repository.clone(),
            base_sha: snapshot.pull_request.base.sha,
            pull_request,
            workflow: first.and_then(|evidence| evidence.workflow.clone()),
            environment: first.map(|evidence| evidence.environment.clone()),
            started_at: accepted().map(|evidence| evidence.started_at).min(),
            ended_at: accepted().map(|evidence| evidence.ended_at).max(),
        }
    }
}
