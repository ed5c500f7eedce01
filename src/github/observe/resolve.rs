//! Which pull requests does an event concern? Payloads do not name them reliably: their `pull_requests` is empty for
//! forks, and no proof otherwise. So they are looked up.

use serde::Deserialize;

use crate::github::client::{
    Client,
    error::{Error, OrAbsent as _, Result},
    repo::Repo,
    wire::{InStack, ObjectRef, Side, SideRepository, User, WireRun},
};
use loopgate_core::{PrNumber, RepoName, Sha, Timestamp, WorkflowRunId, observed::Listing};
use loopgate_webhook::Target;

/// Pages of open pull requests read at most: 3,000 of them.
const MOST_PAGES: usize = 30;
/// Pages of lately changed pull requests among which a head is looked for: checks end hours after a push, not weeks.
const LATELY_CHANGED: usize = 3;

/// A pull request as lists show it.
#[derive(Debug, Clone, Deserialize)]
pub struct ListedPull {
    pub number: PrNumber,
    pub updated_at: Timestamp,
    pub head: ObjectRef,
    pub(in crate::github) base: Side,
    state: String,
    closed_at: Option<Timestamp>,
    pub(in crate::github) user: Option<User>,
    stack: Option<InStack>,
}

impl ListedPull {
    /// The branch whose rules hold for it: its stack's base, else the one it targets.
    pub fn governed_by(&self) -> &str {
        self.stack
            .as_ref()
            .map_or(&self.base.branch, |stack| &stack.base.branch)
    }
}

impl Client {
    /// The open pull requests that a target stands for, each with its repository.
    ///
    /// # Errors
    /// Every kind of [`Error`].
    pub async fn pull_requests_of(&self, target: &Target) -> Result<Vec<(RepoName, PrNumber)>> {
        let of = |repository: &RepoName, numbers: Vec<PrNumber>| {
            numbers
                .into_iter()
                .map(|number| (repository.clone(), number))
                .collect::<Vec<_>>()
        };
        Ok(match target {
            Target::PullRequest { repository, number } => of(repository, vec![*number]),
            Target::Head { repository, sha } => of(
                repository,
                self.repo(repository).pull_requests_with_head(*sha).await?,
            ),
            Target::Base { repository, branch } => of(
                repository,
                self.repo(repository)
                    .open_pull_requests(Some(branch))
                    .await?,
            ),
            Target::Repository(repository) => of(
                repository,
                self.repo(repository).open_pull_requests(None).await?,
            ),
            // The answer to the queue names them: `Reconcile::merge_group`.
            Target::MergeGroup { .. } => Vec::new(),
            Target::Installation => {
                let mut all = Vec::new();
                for repository in self.repositories().await? {
                    all.extend(of(
                        &repository,
                        self.repo(&repository).open_pull_requests(None).await?,
                    ));
                }
                all
            }
        })
    }

    /// The repositories this installation may see.
    ///
    /// # Errors
    /// Every kind of [`Error`].
    pub async fn repositories(&self) -> Result<Vec<RepoName>> {
        let found = self
            .list::<SideRepository>("/installation/repositories", MOST_PAGES)
            .await?;
        Ok(found
            .items
            .into_iter()
            .filter_map(|repository| repository.full_name)
            .collect())
    }
}

impl Repo<'_> {
    /// The open pull requests whose head is this commit; several may be, from forks too.
    ///
    /// # Errors
    /// Every kind of [`Error`]; an unknown commit has none.
    pub async fn pull_requests_with_head(&self, head: Sha) -> Result<Vec<PrNumber>> {
        Ok(self
            .open_with_head(head)
            .await?
            .into_iter()
            .map(|pull| pull.number)
            .collect())
    }

    /// The open pull requests that have this commit, as GitHub lists them.
    pub(in crate::github) async fn open_with_head(&self, head: Sha) -> Result<Vec<ListedPull>> {
        let path = self.path(format!("commits/{head}/pulls"));
        // 422 is the answer for a commit that is not there.
        let found = match self.list::<ListedPull>(&path, 3).await.or_absent() {
            Ok(found) => found.map(|listing| listing.items).unwrap_or_default(),
            Err(Error::Rejected { status: 422, .. }) => Vec::new(),
            Err(error) => return Err(error),
        };
        let found = concerned(found, self.name, head);
        if !found.is_empty() {
            return Ok(found);
        }
        // Of a commit that only a fork has, that list is empty, so those that changed lately are looked through.
        let path = self.path("pulls?state=open&sort=updated&direction=desc");
        let lately = self.list::<ListedPull>(&path, LATELY_CHANGED).await?;
        Ok(concerned(lately.items, self.name, head))
    }

    /// The pull requests with this head that were closed or merged since a moment, among those that changed last.
    ///
    /// # Errors
    /// Every kind of [`Error`].
    pub async fn ended_with_head(&self, head: Sha, since: Timestamp) -> Result<Vec<PrNumber>> {
        let path = self.path("pulls?state=closed&sort=updated&direction=desc");
        let lately = self.list::<ListedPull>(&path, 1).await?.items.into_iter();
        let ended = lately
            .filter(|pull| pull.head.sha == head && pull.closed_at.is_some_and(|at| at >= since));
        Ok(ended.map(|pull| pull.number).collect())
    }

    /// The open pull requests of a repository, all or those that one branch governs (higher layers of a stack target
    /// other branches), those that changed last first.
    ///
    /// # Errors
    /// Every kind of [`Error`].
    pub async fn open_pull_requests(&self, into: Option<&str>) -> Result<Vec<PrNumber>> {
        let pulls = self.open_pulls_by_update().await?.items;
        let governed = pulls
            .iter()
            .filter(|pull| into.is_none_or(|branch| pull.governed_by() == branch));
        Ok(governed.map(|pull| pull.number).collect())
    }

    /// The open pull requests of a repository, those that changed last first.
    ///
    /// # Errors
    /// Every kind of [`Error`].
    pub async fn open_pulls_by_update(&self) -> Result<Listing<ListedPull>> {
        let path = self.path("pulls?state=open&sort=updated&direction=desc");
        self.list::<ListedPull>(&path, MOST_PAGES).await
    }

    /// When a workflow run was created, by GitHub's clock: when the event that started it happened. None if there is no
    /// such run, or none that may be seen.
    ///
    /// # Errors
    /// Faults and rate limits.
    pub async fn workflow_run_created_at(&self, run: WorkflowRunId) -> Result<Option<Timestamp>> {
        let path = self.path(format!("actions/runs/{run}"));
        Ok(self
            .get::<WireRun>(&path)
            .await
            .or_refused()?
            .and_then(|run| run.created_at))
    }
}

/// A list by commit holds every pull request the commit is part of, also ones of repositories that forked this one.
fn concerned(pulls: Vec<ListedPull>, repository: &RepoName, head: Sha) -> Vec<ListedPull> {
    let concerned = pulls.into_iter().filter(|pull| {
        pull.state == "open"
            && pull.head.sha == head
            && pull
                .base
                .repo
                .as_ref()
                .and_then(|base| base.full_name.as_ref())
                .is_none_or(|base| base == repository)
    });
    concerned.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use wiremock::{Mock, MockServer, ResponseTemplate, matchers::path, matchers::query_param};

    use super::*;
    use crate::github::client::{
        Github, Setup, auth::Credentials, secret::Secret, transport::ApiUrl,
    };

    const HEAD: &str = "0123456789abcdef0123456789abcdef01234567";
    const OTHER: &str = "1111111111111111111111111111111111111111";
    const FORKED: &str = "2222222222222222222222222222222222222222";

    async fn client(server: &MockServer) -> Client {
        let credentials = Credentials::Token(Secret::new("t"));
        Github::new(
            ApiUrl::parse(&server.uri()).unwrap(),
            credentials,
            Setup::default(),
        )
        .unwrap()
        .client(None)
    }

    fn pull(number: u64, state: &str, head: &str, base: &str) -> Value {
        json!({ "number": number, "state": state, "updated_at": "2026-11-20T10:15:00Z", "head": { "sha": head },
                "base": { "sha": head, "repo": { "full_name": base } } })
    }

    #[tokio::test]
    async fn a_head_is_looked_up_by_its_commit_and_only_what_is_open_here_counts() {
        let server = MockServer::start().await;
        let pulls = [
            pull(1, "open", HEAD, "acme/widgets"),
            pull(2, "closed", HEAD, "acme/widgets"),
            pull(3, "open", OTHER, "acme/widgets"),
            pull(4, "open", HEAD, "fork/widgets"),
            pull(5, "open", HEAD, "Acme/Widgets"),
        ];
        Mock::given(path(format!("/repos/acme/widgets/commits/{HEAD}/pulls")))
            .respond_with(ResponseTemplate::new(200).set_body_json(json!(pulls)))
            .mount(&server)
            .await;
        Mock::given(path(format!("/repos/acme/widgets/commits/{OTHER}/pulls")))
            .respond_with(ResponseTemplate::new(422))
            .mount(&server)
            .await;
        Mock::given(path("/repos/acme/widgets/pulls"))
            .and(query_param("sort", "updated"))
            .respond_with(ResponseTemplate::new(200).set_body_json(json!([pull(
                9,
                "open",
                FORKED,
                "acme/widgets"
            )])))
            .mount(&server)
            .await;
        Mock::given(path(format!("/repos/acme/widgets/commits/{FORKED}/pulls")))
            .respond_with(ResponseTemplate::new(200).set_body_json(json!([])))
            .mount(&server)
            .await;
        let (client, repository) = (client(&server).await, "acme/widgets".parse().unwrap());
        let repo = client.repo(&repository);
        let found = repo
            .pull_requests_with_head(HEAD.parse().unwrap())
            .await
            .unwrap();
        assert_eq!(found, [PrNumber::new(1), PrNumber::new(5)]);
        let none = repo
            .pull_requests_with_head(OTHER.parse().unwrap())
            .await
            .unwrap();
        assert_eq!(none, []);
        let forked = repo
            .pull_requests_with_head(FORKED.parse().unwrap())
            .await
            .unwrap();
        assert_eq!(
            forked,
            [PrNumber::new(9)],
            "GitHub lists no pull request for a commit that only a fork has"
        );
    }

    #[tokio::test]
    async fn a_branch_governs_what_targets_it_and_the_layers_of_its_stacks() {
        let server = MockServer::start().await;
        let into = |number, branch: &str| {
            let mut pull = pull(number, "open", HEAD, "acme/widgets");
            pull["base"]["ref"] = branch.into();
            pull
        };
        let mut layer = into(8, "feature-1");
        layer["stack"] = json!({ "base": { "ref": "release/1", "sha": OTHER } });
        Mock::given(path("/repos/acme/widgets/pulls"))
            .and(query_param("state", "open"))
            .respond_with(ResponseTemplate::new(200).set_body_json(json!([
                into(7, "release/1"),
                layer,
                into(9, "main")
            ])))
            .mount(&server)
            .await;
        let (client, repository) = (client(&server).await, "acme/widgets".parse().unwrap());
        let repo = client.repo(&repository);
        let found = repo.open_pull_requests(Some("release/1")).await.unwrap();
        assert_eq!(found, [PrNumber::new(7), PrNumber::new(8)]);
        assert_eq!(repo.open_pull_requests(None).await.unwrap().len(), 3);
    }
}
