//! What GitHub and the state refs still show of pull requests, for deciding them once more. Nothing is written.

use super::{Observer, base, checks, config, conversation, pull, rest::needed_rights};
use crate::config::presets;
use crate::github::{
    client::{
        Client,
        error::{Error, OrAbsent as _, Result},
        marker::Marker,
        repo::Repo,
    },
    observe::resolve::ListedPull,
};
use loopgate_core::{
    AppId, Malformed, PrNumber, RepoName,
    observed::{AccountKind, AppIdentity, ExternalCheck, ObservationProblem, Snapshot},
    policy::Policy,
    replay::{PastHead, PastPullRequest, RecordedAttempt, WhatIf},
};
use loopgate_refs::{RefName, StateStore};

/// Heads whose checks are read, the newest first: each other head would cost a request, and add little.
const MOST_HEADS: usize = 4;
/// Failing checks of one head whose annotations are read.
const MOST_ANNOTATED: usize = 1;

impl Observer {
    /// The pull requests that changed last, at most 100: in the `state` `all`, or `closed` (merged or not).
    ///
    /// # Errors
    /// Those of the API.
    pub async fn changed_last(
        &self,
        repo: Repo<'_>,
        state: &str,
        most: usize,
    ) -> Result<Vec<ListedPull>> {
        let path = repo.path(format!(
            "pulls?state={state}&sort=updated&direction=desc&per_page={}",
            most.clamp(1, 100)
        ));
        repo.get::<Vec<ListedPull>>(&path).await
    }

    /// The configuration in force on the branch that governs one of them, as the branch is now, with the text of the
    /// repository's file; none where there is none. Of a branch that is gone the last known commit counts.
    ///
    /// # Errors
    /// Those of the API.
    pub async fn configuration_of(
        &self,
        client: &Client,
        repository: &RepoName,
        listed: &ListedPull,
    ) -> Result<Option<(Policy, String)>> {
        let repo = client.repo(repository);
        let (branch, defaults) = futures::try_join!(
            config::branch(repo, listed.governed_by()),
            self.organisations.of(client, repository.owner())
        )?;
        let tip = branch.map_or(listed.base.sha, |branch| branch.commit.sha);
        let Some(policy) = config::policy(repo, tip, defaults.as_deref()).await? else {
            return Ok(None);
        };
        let text = config::text(repo, tip).await?;
        let defaults = defaults.map(|defaults| defaults.text.clone());
        Ok(Some((
            policy,
            format!("{text}\n{}", defaults.unwrap_or_default()),
        )))
    }

    /// Decides one of them under the configuration at its base, and under `other`, and adds the differences. Where its
    /// base has no configuration the presets stand for it. Beside what [`past`](Self::past) asks for that takes three
    /// requests and one for each recorded attempt.
    ///
    /// # Errors
    /// Those of the API; what may not be read is among what is not known.
    pub async fn compare_past(
        &self,
        repo: Repo<'_>,
        listed: &ListedPull,
        other: &Policy,
        mut so_far: WhatIf,
    ) -> Result<WhatIf> {
        let objects = repo.objects();
        let store = StateStore::new(&objects, RefName::pull_request(listed.number));
        let (own, recorded) = futures::join!(
            config::policy(repo, listed.base.sha, None),
            store.recorded_attempts(MOST_HEADS)
        );
        let own = own?.unwrap_or_else(presets);
        let (recorded, unread) = match recorded {
            Ok(recorded) => (recorded, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let asked = |checks: &[ExternalCheck]| other.clone().with_checks_of(checks);
        let mut past = self
            .past(repo, listed.number, recorded, false, asked)
            .await?;
        let problem = |reason| ObservationProblem {
            what: "the recorded attempts".to_owned(),
            reason,
        };
        past.last.problems.extend(unread.map(problem));
        let other = other.clone();
        // Deciding over large diffs several times takes longer than a task may.
        let compared = tokio::task::spawn_blocking(move || {
            so_far.add(&past, &own, &other);
            so_far
        });
        compared
            .await
            .map_err(|error| Error::Setup(error.to_string()))
    }

    /// Reads one of them, with at most 15 requests, those for the rights of people aside, and two for each failed job
    /// whose log is read. `recorded` are the attempts of its state ref, oldest first.
    ///
    /// # Errors
    /// Those of the API; what may not be read is among the snapshot's problems.
    pub async fn past(
        &self,
        repo: Repo<'_>,
        number: PrNumber,
        mut recorded: Vec<RecordedAttempt>,
        reads_logs: bool,
        policy: impl Fn(&[ExternalCheck]) -> Policy,
    ) -> Result<PastPullRequest> {
        let pull = pull::read(repo, number).await?;
        // An account that does not exist: no comment and no check of that time is ours.
        let us = AppIdentity {
            id: AppId::new(0),
            bot: "loopgate-was-not-there"
                .parse()
                .map_err(|why: Malformed| Error::Setup(why.to_string()))?,
            bot_id: None,
        };
        let (changes, comments, reviews, inline) = futures::try_join!(
            pull::changes(repo, &pull, (pull.compared_base, false)),
            conversation::comments(repo, number),
            conversation::reviews(repo, number),
            conversation::inline(repo, number, pull.has_inline),
        )?;
        let mut commits: Vec<_> = changes
            .commits
            .items
            .iter()
            .rev()
            .map(|commit| commit.sha)
            .collect();
        if commits.first() != Some(&pull.pull_request.head.sha) {
            commits.insert(0, pull.pull_request.head.sha);
        }
        let earlier_commits = commits.len().saturating_sub(MOST_HEADS);
        commits.truncate(MOST_HEADS);
        let (mut heads, mut problems) = (Vec::new(), Vec::new());
        for (nth, sha) in commits.into_iter().enumerate() {
            let mut found = match nth {
                0 => checks::read(repo, sha, &us).await?,
                _ => checks::read_runs(repo, sha, &us)
                    .await
                    .or_noted("check runs", &mut problems)?
                    .unwrap_or_default(),
            };
            let verify = policy(&found.external).verify;
            found.annotate(repo, &verify, MOST_ANNOTATED).await?;
            if reads_logs && found.read_logs(repo, &verify, pull.is_private, &[]).await? {
                let reason = "GitHub does not show it yet".to_owned();
                problems.push(ObservationProblem {
                    what: "the log of a job".to_owned(),
                    reason,
                });
            }
            problems.append(&mut found.problems);
            let attempt = recorded
                .iter()
                .position(|attempt| attempt.head_sha == sha)
                .map(|at| recorded.remove(at));
            // Only a commit that was pushed has checks.
            if nth == 0 || !found.external.is_empty() || attempt.is_some() {
                heads.push(PastHead {
                    sha,
                    checks: found.external,
                    recorded: attempt,
                });
            }
        }
        // The others are of earlier commits, and of such that a forced push replaced.
        let earlier = |attempt: RecordedAttempt| {
            let sha = attempt.head_sha;
            PastHead {
                sha,
                checks: Vec::new(),
                recorded: Some(attempt),
            }
        };
        heads.extend(recorded.into_iter().rev().map(earlier));
        heads.reverse();
        let preset = policy(&[]);
        let folders = base::folders(repo, pull.compared_base, &changes.files, &preset).await?;
        let mut last = Snapshot::of_files(repo.name.clone(), us, pull.pull_request, changes.files);
        last.merge_base = changes.merge_base;
        last.base_folders = folders;
        last.commits = changes.commits;
        last.comments = comments.listing;
        // Where a Loopgate was there, its own words are no attempt to approve.
        let is_own = |body: &str, kind| kind == AccountKind::Bot && Marker::of(body).is_some();
        last.comments
            .items
            .retain(|comment| !is_own(&comment.body, comment.author.kind));
        last.reviews = reviews;
        last.inline = inline.listing;
        last.problems = problems;
        // The rights people have now; those of then are not kept by GitHub.
        let rights = self
            .registry
            .look_up(repo, &needed_rights(&last, None, &preset))
            .await;
        last.authority = rights
            .or_noted("who may approve", &mut last.problems)?
            .unwrap_or_default();
        Ok(PastPullRequest {
            last,
            heads,
            earlier_commits,
            read_at: repo.now(),
        })
    }
}
