//! What GitHub still shows of a pull request of before Loopgate was there. Nothing is written.

use super::{
    Observer, base, checks, conversation,
    pull::{self, Unread},
    stack::ComparedWith,
    whose_rights_matter,
};
use crate::github::{Client, Error, marker::Marker, path};
use loopgate_core::{
    AppId, Malformed, PrNumber, RepoName,
    observed::{AccountKind, AppIdentity, Authority, ExternalCheck, ObservationProblem, Snapshot},
    policy::Policy,
    replay::{PastHead, PastPullRequest},
};
use serde::Deserialize;

/// Heads whose checks are read, the newest first: the others cost a request each and tell little.
const MOST_HEADS: usize = 4;
/// Failing checks of one head whose annotations are read.
const MOST_ANNOTATED: usize = 1;

/// A pull request in a list, the most lately changed first.
#[derive(Clone, Debug, Deserialize)]
pub struct ListedPast {
    pub number: PrNumber,
    /// What was read of it holds until this changes.
    pub updated_at: String,
}

impl Observer {
    /// The last pull requests that were merged or closed.
    ///
    /// # Errors
    /// Those of the API.
    pub async fn last_ended(
        &self,
        client: &Client,
        repository: &RepoName,
        most: usize,
    ) -> Result<Vec<ListedPast>, Error> {
        let path = format!(
            "{}/pulls?state=closed&sort=updated&direction=desc&per_page={}",
            path::repo(repository),
            most.clamp(1, 100)
        );
        client.get::<Vec<ListedPast>>(&path).await
    }

    /// Reads one of them, with at most 15 requests, those for the rights of people aside.
    ///
    /// # Errors
    /// Those of the API; what may not be read is among the snapshot's problems.
    pub async fn past(
        &self,
        client: &Client,
        repository: &RepoName,
        number: PrNumber,
        policy: impl Fn(&[ExternalCheck]) -> Policy,
    ) -> Result<PastPullRequest, Error> {
        let pull = pull::read(client, repository, number).await?;
        // Nobody: no word and no check of then is ours.
        let us = AppIdentity {
            id: AppId::new(0),
            bot: "loopgate-was-not-there".parse().map_err(|why: Malformed| Error::Setup(why.to_string()))?,
            bot_id: None,
        };
        let changes = async {
            match pull::changes(client, repository, &pull, ComparedWith::Target(pull.compared_base)).await {
                Ok(changes) => Ok(changes),
                Err(Unread::Failed(error)) => Err(error),
                Err(Unread::HeadMoved) => {
                    let path = format!("{}/pulls/{number}", path::repo(repository));
                    Err(Error::Unreadable { path, message: "its head moved meanwhile".to_owned() })
                }
            }
        };
        let (changes, comments, reviews, inline) = futures::try_join!(
            changes,
            conversation::comments(client, repository, number),
            conversation::reviews(client, repository, number),
            conversation::inline(client, repository, number, pull.inline),
        )?;
        let mut commits: Vec<_> = changes.commits.items.iter().rev().map(|commit| commit.sha).collect();
        if commits.first() != Some(&pull.pull_request.head.sha) {
            commits.insert(0, pull.pull_request.head.sha);
        }
        commits.truncate(MOST_HEADS);
        let (mut heads, mut problems) = (Vec::new(), Vec::new());
        for (nth, sha) in commits.into_iter().enumerate() {
            let mut found = match nth {
                0 => checks::read(client, repository, sha, &us).await?,
                _ => checks::read_runs(client, repository, sha, &us).await?,
            };
            let verify = policy(&found.external).verify;
            found.annotate(client, repository, &verify, MOST_ANNOTATED).await?;
            problems.append(&mut found.problems);
            // Only a commit that was pushed has checks.
            if nth == 0 || !found.external.is_empty() {
                heads.push(PastHead { sha, checks: found.external });
            }
        }
        heads.reverse();
        let preset = policy(&[]);
        let folders = base::folders(client, repository, pull.compared_base, &changes.files, &preset).await?;
        let mut last = Snapshot::of_files(repository.clone(), us, pull.pull_request, changes.files);
        last.base_folders = folders;
        last.commits = changes.commits;
        last.comments = comments.listing;
        // Where a Loopgate was there, its own words are no attempt to approve.
        let is_own = |body: &str, kind| kind == AccountKind::Bot && Marker::of(body).is_some();
        last.comments.items.retain(|comment| !is_own(&comment.body, comment.author.kind));
        last.reviews = reviews;
        last.inline = inline.listing;
        last.problems = problems;
        last.authority = self.rights_then(client, repository, &mut last, &preset).await?;
        Ok(PastPullRequest { last, heads })
    }

    /// The rights people have now; those of then are not kept by GitHub.
    async fn rights_then(
        &self,
        client: &Client,
        repository: &RepoName,
        last: &mut Snapshot,
        policy: &Policy,
    ) -> Result<Authority, Error> {
        let asked = whose_rights_matter(last, None, policy);
        match self.registry.look_up(client, repository, &asked).await {
            Ok(authority) => Ok(authority),
            Err(error) => {
                let reason = error.refusal()?.to_string();
                last.problems.push(ObservationProblem { what: "who may approve".to_owned(), reason });
                Ok(Authority::default())
            }
        }
    }
}
