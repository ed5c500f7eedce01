//! Which type of change a label declares, and whether it counts: a label counts only from people with write, and the
//! list of a pull request's labels does not say whose they are. Its events do, and are read where it matters.

use serde::Deserialize;

use super::authority::Registry;
use crate::github::{
    Client, Error, path,
    wire::{User, account},
};
use loopgate_core::{
    RepoName,
    observed::{AccountKind, CodeType, Completeness, Permission, PullRequest, Standing},
    verdict::coverage::{stricter, type_of_label},
};

/// Pages of events read at most: 1,000 of them. The label of a longer story does not count.
const MOST_PAGES: usize = 10;

/// `GET …/issues/{number}/events`, oldest first
/// (<https://docs.github.com/en/rest/issues/events#list-issue-events>).
#[derive(Deserialize)]
struct Event {
    event: String,
    actor: Option<User>,
    label: Option<Label>,
}

#[derive(Deserialize)]
struct Label {
    name: String,
}

/// The types that labels from people with write declare, the strictest of them. Asks nothing where no label declares
/// one.
pub(super) async fn declared_type(
    client: &Client,
    repository: &RepoName,
    pull_request: &PullRequest,
    registry: &Registry,
) -> Result<Option<CodeType>, Error> {
    let declaring: Vec<_> =
        pull_request.labels.iter().filter_map(|label| Some((label, type_of_label(label)?))).collect();
    if declaring.is_empty() {
        return Ok(None);
    }
    let path = format!("{}/issues/{}/events", path::repo(repository), pull_request.number);
    let events = match client.list::<Vec<Event>>(&path, MOST_PAGES).await {
        Ok(events) if events.completeness == Completeness::Complete => events.items,
        Ok(_) => return Ok(None),
        Err(error) => return error.refusal().map(|_| None),
    };
    let mut declared = None;
    for (label, code_type) in declaring {
        let set =
            |event: &&Event| event.event == "labeled" && event.label.as_ref().is_some_and(|set| &set.name == label);
        let Some(event) = events.iter().rfind(set) else { continue };
        let by = account(event.actor.clone());
        // A label that a program puts on must not lower what is asked of the change.
        if by.kind != AccountKind::User {
            continue;
        }
        let standing = registry.person(client, repository, by.id, &by.login).await?;
        if matches!(standing, Standing::Known { permission, .. } if permission >= Permission::Write) {
            declared = Some(declared.map_or(code_type, |other| stricter(other, code_type)));
        }
    }
    Ok(declared)
}
