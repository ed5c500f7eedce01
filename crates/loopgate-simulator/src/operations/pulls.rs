//! Opening, editing, closing pull requests and issues.

use serde_json::{Value, json};

use crate::{
    hooks::Event,
    json,
    refused::Refused,
    world::{
        RepoId, World,
        account::Role,
        app::Actor,
        issue::{Closed, Head, Issue, MergeState, Pull, Readiness},
        journal::What,
    },
};
use loopgate_core::{PrNumber, UserId};

/// What a pull request is opened with.
#[derive(Clone, Debug)]
pub struct NewPull {
    pub title: String,
    pub body: Option<String>,
    /// The repository that holds the head branch.
    pub head_repo: RepoId,
    pub head: String,
    pub base: String,
    pub readiness: Readiness,
}

/// What an edit changes; what is none stays.
#[derive(Clone, Debug, Default)]
pub struct PullEdit {
    pub title: Option<String>,
    pub body: Option<String>,
    pub base: Option<String>,
}

impl World {
    /// A `pull_request` event with the pull request as it is now.
    pub fn pull_event(
        &self,
        action: &'static str,
        actor: Actor,
        repo: RepoId,
        number: PrNumber,
    ) -> Result<Event, Refused> {
        let (found, issue) = (self.repo(repo)?, self.issue(repo, number)?);
        let mut payload = json::pull(self, found, issue);
        if matches!(action, "opened" | "synchronize" | "reopened") {
            // GitHub computes mergeability after it has sent these.
            for key in ["mergeable", "rebaseable", "merge_commit_sha"] {
                payload[key] = Value::Null;
            }
            payload["mergeable_state"] = "unknown".into();
        }
        Ok(Event::in_repo("pull_request", action, repo, actor)
            .with("number", number.get())
            .with("pull_request", payload))
    }

    /// Sends a `pull_request` event with nothing special in it, and records what happened.
    fn pull_changed(
        &mut self,
        action: &'static str,
        actor: Actor,
        (repo, number): (RepoId, PrNumber),
        what: What,
    ) -> Result<(), Refused> {
        let now = self.now();
        self.issue_mut(repo, number)?.updated_at = now;
        self.record(actor, repo, Some(number), what);
        let event = self.pull_event(action, actor, repo, number)?;
        self.emit(event);
        Ok(())
    }

    pub fn open_pull(
        &mut self,
        actor: Actor,
        repo: RepoId,
        new: NewPull,
    ) -> Result<PrNumber, Refused> {
        self.need(actor, repo, Role::Read)?;
        let (target, source) = (self.repo(repo)?, self.repo(new.head_repo)?);
        let head_sha = source
            .branch(&new.head)
            .ok_or_else(|| Refused::invalid("PullRequest", "head", "invalid"))?;
        let base_sha = target
            .branch(&new.base)
            .ok_or_else(|| Refused::invalid("PullRequest", "base", "invalid"))?;
        let owner = source.owner;
        let label = format!("{}:{}", self.login(owner), new.head);
        let twin = |issue: &Issue| {
            issue.pull.as_ref().is_some_and(|p| {
                p.head.repo == Some(new.head_repo)
                    && p.head.branch == new.head
                    && p.base_branch == new.base
            })
        };
        if target.open_pulls().any(twin) {
            return Err(Refused::custom(
                "PullRequest",
                "head",
                &format!("A pull request already exists for {label}."),
            ));
        }
        if self.objects(target).is_fast_forward(head_sha, base_sha) {
            let message = format!("No commits between {} and {}", new.base, new.head);
            return Err(Refused::custom("PullRequest", "base", &message));
        }
        let head = Head {
            repo: Some(new.head_repo),
            owner,
            branch: new.head,
            sha: head_sha,
        };
        let pull = Pull {
            id: self.sequence.number(),
            head,
            base_branch: new.base,
            base_sha,
            readiness: new.readiness,
            merge: None,
            requested_reviewers: Vec::new(),
            requested_teams: Vec::new(),
            reviews: Vec::new(),
            review_comments: Vec::new(),
            standing: MergeState {
                commits: 0,
                changed_files: 0,
                additions: 0,
                deletions: 0,
                test_merge: None,
            },
            is_queued: false,
            removal: None,
        };
        let number = self.add_issue(actor, repo, new.title, new.body, Some(pull))?;
        self.refresh_pull(repo, number)?;
        self.pull_changed("opened", actor, (repo, number), What::Opened)?;
        Ok(number)
    }

    fn add_issue(
        &mut self,
        actor: Actor,
        repo: RepoId,
        title: String,
        body: Option<String>,
        pull: Option<Pull>,
    ) -> Result<PrNumber, Refused> {
        let (id, now, author) = (self.sequence.number(), self.now(), self.account_of(actor));
        let found = self.repo_mut(repo)?;
        let number = found.next_number();
        let (created_at, updated_at) = (now, now);
        let issue = Issue {
            id,
            number,
            title,
            body,
            author,
            closed: None,
            labels: Vec::new(),
            assignees: Vec::new(),
            created_at,
            updated_at,
            pull,
        };
        found.issues.insert(number, issue);
        Ok(number)
    }

    /// An issue that is no pull request.
    pub fn open_issue(
        &mut self,
        actor: Actor,
        repo: RepoId,
        title: &str,
        body: &str,
    ) -> Result<PrNumber, Refused> {
        self.need(actor, repo, Role::Read)?;
        let number = self.add_issue(actor, repo, title.to_owned(), Some(body.to_owned()), None)?;
        self.record(actor, repo, Some(number), What::Opened);
        let payload = json::issue(self, self.repo(repo)?, self.issue(repo, number)?);
        self.emit(Event::in_repo("issues", "opened", repo, actor).with("issue", payload));
        Ok(number)
    }

    /// The author may change their own; others need `role`.
    pub(super) fn need_author_or(
        &self,
        actor: Actor,
        repo: RepoId,
        number: PrNumber,
        role: Role,
    ) -> Result<(), Refused> {
        if self.issue(repo, number)?.author == self.account_of(actor) {
            self.need(actor, repo, Role::Read)
        } else {
            self.need(actor, repo, role)
        }
    }

    /// Changes title, body or base: one `edited` event with what was there before.
    pub fn edit_pull(
        &mut self,
        actor: Actor,
        repo: RepoId,
        number: PrNumber,
        edit: PullEdit,
    ) -> Result<(), Refused> {
        self.need_author_or(actor, repo, number, Role::Write)?;
        let (old_base, old_sha) = (
            self.pull(repo, number)?.base_branch.clone(),
            self.pull(repo, number)?.base_sha,
        );
        let mut changes = serde_json::Map::new();
        let issue = self.issue_mut(repo, number)?;
        if let Some(title) = edit.title.filter(|title| *title != issue.title) {
            changes.insert(
                "title".into(),
                json!({ "from": std::mem::replace(&mut issue.title, title) }),
            );
        }
        if let Some(body) = edit.body.filter(|body| issue.body.as_ref() != Some(body)) {
            changes.insert(
                "body".into(),
                json!({ "from": issue.body.replace(body).unwrap_or_default() }),
            );
        }
        let mut what = What::Edited;
        if let Some(base) = edit.base.filter(|base| *base != old_base) {
            let tip = self
                .repo(repo)?
                .branch(&base)
                .ok_or_else(|| Refused::invalid("PullRequest", "base", "invalid"))?;
            let pull = self.pull_mut(repo, number)?;
            (pull.base_branch, pull.base_sha) = (base.clone(), tip);
            self.refresh_pull(repo, number)?;
            changes.insert(
                "base".into(),
                json!({ "ref": { "from": old_base }, "sha": { "from": old_sha } }),
            );
            what = What::Retargeted {
                from: old_base,
                to: base,
            };
        }
        if changes.is_empty() {
            return Ok(());
        }
        let now = self.now();
        self.issue_mut(repo, number)?.updated_at = now;
        self.record(actor, repo, Some(number), what);
        let event = self.pull_event("edited", actor, repo, number)?;
        self.emit(event.with("changes", changes));
        Ok(())
    }

    /// Draft or ready for review. Nothing happens if it is so already.
    pub fn set_readiness(
        &mut self,
        actor: Actor,
        repo: RepoId,
        number: PrNumber,
        readiness: Readiness,
    ) -> Result<(), Refused> {
        self.need_author_or(actor, repo, number, Role::Write)?;
        let pull = self.pull_mut(repo, number)?;
        if std::mem::replace(&mut pull.readiness, readiness) == readiness {
            return Ok(());
        }
        match readiness {
            Readiness::Draft => {
                self.pull_changed("converted_to_draft", actor, (repo, number), What::Drafted)
            }
            Readiness::Ready => {
                self.pull_changed("ready_for_review", actor, (repo, number), What::MadeReady)
            }
        }
    }

    /// Assigns somebody, or takes that back.
    pub fn assign(
        &mut self,
        actor: Actor,
        repo: RepoId,
        number: PrNumber,
        (whom, assigned): (UserId, bool),
    ) -> Result<(), Refused> {
        self.need(actor, repo, Role::Triage)?;
        let assignees = &mut self.issue_mut(repo, number)?.assignees;
        if assignees.contains(&whom) == assigned {
            return Ok(());
        }
        assignees.retain(|one| *one != whom);
        assignees.extend(assigned.then_some(whom));
        let (action, what) = if assigned {
            ("assigned", What::Assigned(whom))
        } else {
            ("unassigned", What::Unassigned(whom))
        };
        self.record(actor, repo, Some(number), what);
        let event = self.pull_event(action, actor, repo, number)?;
        self.emit(event.with("assignee", json::user(self, whom)));
        Ok(())
    }

    /// Closes a pull request without merging it. Nothing happens if it is closed already.
    pub fn close(&mut self, actor: Actor, repo: RepoId, number: PrNumber) -> Result<(), Refused> {
        self.need_author_or(actor, repo, number, Role::Triage)?;
        self.mark_closed(actor, repo, number)
    }

    pub(super) fn mark_closed(
        &mut self,
        actor: Actor,
        repo: RepoId,
        number: PrNumber,
    ) -> Result<(), Refused> {
        let closed = Closed {
            by: self.account_of(actor),
            at: self.now(),
        };
        let issue = self.issue_mut(repo, number)?;
        if issue.closed.is_some() {
            return Ok(());
        }
        issue.closed = Some(closed);
        if issue.pull.is_none() {
            return Ok(());
        }
        self.pull_changed("closed", actor, (repo, number), What::Closed)
    }

    pub fn reopen(&mut self, actor: Actor, repo: RepoId, number: PrNumber) -> Result<(), Refused> {
        self.need_author_or(actor, repo, number, Role::Triage)?;
        let issue = self.issue_mut(repo, number)?;
        if issue.pull.as_ref().is_some_and(|pull| pull.merge.is_some()) {
            return Err(Refused::custom(
                "PullRequest",
                "state",
                "state cannot be changed. The pull request was merged.",
            ));
        }
        if issue.closed.take().is_none() || issue.pull.is_none() {
            return Ok(());
        }
        self.catch_up(repo, number)?;
        self.pull_changed("reopened", actor, (repo, number), What::Reopened)
    }

    /// The head branch may have moved while the pull request was closed.
    fn catch_up(&mut self, repo: RepoId, number: PrNumber) -> Result<(), Refused> {
        let head = self.pull(repo, number)?.head.clone();
        let tip = head
            .repo
            .and_then(|id| self.repos.get(&id))
            .and_then(|source| source.branch(&head.branch));
        let tip = tip.ok_or_else(|| {
            Refused::custom(
                "PullRequest",
                "state",
                &format!(
                    "state cannot be changed. The {} branch was deleted.",
                    head.branch
                ),
            )
        })?;
        self.pull_mut(repo, number)?.head.sha = tip;
        self.refresh_pull(repo, number)
    }

    pub(super) fn mark_merged(
        &mut self,
        actor: Actor,
        repo: RepoId,
        number: PrNumber,
        commit: loopgate_core::Sha,
    ) -> Result<(), Refused> {
        let (by, at) = (self.account_of(actor), self.now());
        if self.pull(repo, number)?.is_queued {
            self.dequeue_pull(actor, repo, number, "MERGE")?;
        }
        self.pull_mut(repo, number)?.merge = Some(super::merging::merged(by, at, commit));
        self.issue_mut(repo, number)?.closed = Some(Closed { by, at });
        self.pull_changed("closed", actor, (repo, number), What::Merged { commit })
    }
}
