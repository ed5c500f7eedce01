//! States of ended runs. Only refs are archived: what is kept elsewhere stays, or goes, with the place that holds it.

use super::{Failed, ReconcileRequest};
use crate::{
    github::{
        Client, PullRequestFacts,
        storage::{KEPT_AFTER_THE_END, Storage},
    },
    refs::{LoadedRun, RefName, StateStore},
};
use loopgate_core::{Timestamp, observed::Lifecycle};

/// Looks in the archive where a pull request has no state although it could have had one: a run comes back when its
/// pull request is reopened, and what ended before Loopgate came, or is archived, is left alone.
pub(super) async fn find(
    client: &Client,
    job: &ReconcileRequest,
    facts: &PullRequestFacts,
    loaded: LoadedRun,
    store: &StateStore<'_, Storage>,
    now: Timestamp,
) -> Result<Option<LoadedRun>, Failed> {
    let pull_request = facts.pull_request();
    let open = pull_request.lifecycle == Lifecycle::Open;
    if loaded.tip.is_some() || (open && now < pull_request.created_at + KEPT_AFTER_THE_END) {
        return Ok(Some(loaded));
    }
    let merged_lately = match &pull_request.lifecycle {
        Lifecycle::Merged { at: Some(at), .. } => now < *at + KEPT_AFTER_THE_END,
        _ => false,
    };
    let (name, hidden_refs) = (RefName::archive(job.number), Storage::hidden_ref(client, &job.repository));
    let archived = StateStore::new(&hidden_refs, name);
    let found = archived.load().await?;
    let Some(tip) = found.tip else {
        return Ok((open || merged_lately).then_some(loaded));
    };
    if !open {
        return Ok(None);
    }
    match found.intact() {
        Some(state) if !store.objects().is_ref() => store.adopt(&archived, tip, state).await?,
        _ => archived.move_to(&RefName::pull_request(job.number), tip).await?,
    }
    Ok(Some(store.load().await?))
}
