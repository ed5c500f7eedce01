//! Merging, and what stands in its way.

use std::collections::BTreeMap;

use http::StatusCode;

use crate::{
    git::{Commit, Merge, Object, Signature},
    refused::Refused,
    world::{
        RepoId, World,
        account::Role,
        app::Actor,
        checks::StatusState,
        issue::{Closed, Issue, Merged, Readiness, ReviewState},
        journal::What,
        repo::{ActivityKind, Repo, RequiredCheck},
    },
};
use loopgate_core::{PrNumber, Sha, Timestamp, UserId};

/// How the commits of a pull request come into the base.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MergeMethod {
    #[default]
    Merge,
    Squash,
    /// Each commit anew on the base, with its own message and author.
    Rebase,
}

/// What a merge is asked with.
#[derive(Clone, Debug, Default)]
pub struct MergeOrder {
    pub method: MergeMethod,
    /// The head must still be here.
    pub head: Option<Sha>,
    pub title: Option<String>,
    pub message: Option<String>,
}

pub(super) fn merged(by: UserId, at: Timestamp, commit: Sha) -> Merged {
    Merged { by, at, commit }
}

impl World {
    /// Merges a pull request: 405 while something stands in the way, 409 if the head is not the expected one.
    pub fn merge(
        &mut self,
        actor: Actor,
        repo: RepoId,
        number: PrNumber,
        order: MergeOrder,
    ) -> Result<Sha, Refused> {
        self.need(actor, repo, Role::Write)?;
        let not_allowed = |message: &str| Refused::new(StatusCode::METHOD_NOT_ALLOWED, message);
        let (found, issue, pull) = (
            self.repo(repo)?,
            self.issue(repo, number)?,
            self.pull(repo, number)?,
        );
        if pull.merge.is_some() || !issue.is_open() {
            return Err(not_allowed("Pull Request is not mergeable"));
        }
        if order.head.is_some_and(|head| head != pull.head.sha) {
            return Err(Refused::conflict(
                "Head branch was modified. Review and try the merge again.",
            ));
        }
        if pull.readiness == Readiness::Draft {
            return Err(not_allowed("Pull Request is still a draft"));
        }
        if let Some(blocker) = self.merge_blocker(found, issue) {
            return Err(not_allowed(&blocker));
        }
        // Layers come from the bottom; what is beneath an upper one would come with it, which is not simulated.
        let beneath = found
            .stack_of(number)
            .and_then(|stack| self.open_layers(found, stack).first().copied());
        if beneath.is_some_and(|lowest| lowest != number) {
            return Err(not_allowed(
                "Pull requests beneath this one in the stack must be merged first.",
            ));
        }
        let (head, base) = (pull.head.clone(), pull.base_branch.clone());
        let tip = found.branch(&base).ok_or_else(|| {
            not_allowed("Base branch was modified. Review and try the merge again.")
        })?;
        let default_title = match order.method {
            MergeMethod::Rebase => {
                let commit = self.rebased(actor, repo, tip, head.sha)?;
                self.land(actor, repo, number, (&base, commit))?;
                self.restack(actor, repo, number)?;
                return Ok(commit);
            }
            MergeMethod::Merge => {
                format!(
                    "Merge pull request #{number} from {}/{}",
                    self.login(head.owner),
                    head.branch
                )
            }
            MergeMethod::Squash => format!("{} (#{number})", issue.title),
        };
        let title = order.title.unwrap_or(default_title);
        let body = order.message.unwrap_or_else(|| issue.title.clone());
        let author = self.signature(actor);
        let parents = match order.method {
            MergeMethod::Merge => vec![tip, head.sha],
            MergeMethod::Squash | MergeMethod::Rebase => vec![tip],
        };
        let objects = self.objects_mut(repo)?;
        let Merge::Clean(tree) = objects.merge(tip, head.sha) else {
            return Err(not_allowed("Pull Request has merge conflicts"));
        };
        // Commits made on the site are committed by `web-flow`.
        let committer = Signature {
            name: "GitHub".into(),
            email: "noreply@github.com".into(),
            at: author.at,
        };
        let message = format!("{title}\n\n{body}");
        let commit = objects.put(Object::Commit(Commit {
            tree,
            parents,
            author,
            committer,
            message,
        }));
        self.land(actor, repo, number, (&base, commit))?;
        self.restack(actor, repo, number)?;
        Ok(commit)
    }

    /// The head's own commits, one after the other on top of `tip`.
    fn rebased(&mut self, actor: Actor, repo: RepoId, tip: Sha, head: Sha) -> Result<Sha, Refused> {
        let at = self.signature(actor).at;
        let objects = self.objects_mut(repo)?;
        let mut onto = tip;
        let own = objects
            .compare(tip, head)
            .map(|comparison| comparison.ahead)
            .unwrap_or_default();
        for sha in own {
            let Some(commit) = objects.commit(sha).cloned() else {
                continue;
            };
            let Merge::Clean(tree) = objects.merge(onto, sha) else {
                return Err(Refused::new(
                    StatusCode::METHOD_NOT_ALLOWED,
                    "This branch can't be rebased",
                ));
            };
            let committer = Signature {
                name: "GitHub".into(),
                email: "noreply@github.com".into(),
                at,
            };
            onto = objects.put(Object::Commit(Commit {
                tree,
                parents: vec![onto],
                committer,
                ..commit
            }));
        }
        Ok(onto)
    }

    /// The pull request counts as merged before its base moves, so that the push does not merge it again.
    fn land(
        &mut self,
        actor: Actor,
        repo: RepoId,
        number: PrNumber,
        (base, commit): (&str, Sha),
    ) -> Result<(), Refused> {
        let (by, at) = (self.account_of(actor), self.now());
        self.pull_mut(repo, number)?.merge = Some(merged(by, at, commit));
        self.issue_mut(repo, number)?.closed = Some(Closed { by, at });
        self.issue_mut(repo, number)?.updated_at = at;
        self.record(actor, repo, Some(number), What::Merged { commit });
        self.set_ref(actor, repo, &format!("refs/heads/{base}"), Some(commit))?;
        let mut moved = self.repo_mut(repo)?.activities.iter_mut().rev();
        if let Some(moved) = moved.find(|moved| moved.after == Some(commit)) {
            moved.kind = ActivityKind::PrMerge;
        }
        let event = self.pull_event("closed", actor, repo, number)?;
        self.emit(event);
        Ok(())
    }

    /// Merges the base branch into the head branch, as the button "Update branch" does.
    pub fn update_branch(
        &mut self,
        actor: Actor,
        repo: RepoId,
        number: PrNumber,
    ) -> Result<Sha, Refused> {
        let pull = self.pull(repo, number)?;
        let (head, base) = (pull.head.clone(), pull.base_branch.clone());
        let source = head.repo.ok_or_else(Refused::not_found)?;
        self.need_push(actor, source)?;
        let tip = self
            .repo(repo)?
            .branch(&base)
            .ok_or_else(Refused::not_found)?;
        let author = self.signature(actor);
        let objects = self.objects_mut(repo)?;
        let Merge::Clean(tree) = objects.merge(head.sha, tip) else {
            return Err(Refused::unprocessable(
                "merge conflict between base and head",
            ));
        };
        let committer = Signature {
            name: "GitHub".into(),
            email: "noreply@github.com".into(),
            at: author.at,
        };
        let message = format!("Merge branch '{base}' into {}", head.branch);
        let parents = vec![head.sha, tip];
        let commit = objects.put(Object::Commit(Commit {
            tree,
            parents,
            author,
            committer,
            message,
        }));
        self.set_ref(
            actor,
            source,
            &format!("refs/heads/{}", head.branch),
            Some(commit),
        )?;
        Ok(commit)
    }

    /// What the base branch's rules still ask for, in GitHub's words.
    pub fn merge_blocker(&self, repo: &Repo, issue: &Issue) -> Option<String> {
        let pull = issue.pull.as_ref()?;
        // "evaluated against the stack base" (docs.github.com, Stacked pull requests).
        let base = repo
            .stack_of(issue.number)
            .map_or(&pull.base_branch, |stack| &stack.base);
        let rules = repo.protections.get(base)?;
        let needed = rules.required_approvals as usize;
        if needed > 0 {
            let words = self.standing_reviews(repo, issue);
            if words
                .values()
                .any(|state| *state == ReviewState::ChangesRequested)
            {
                return Some("Changes have been requested.".into());
            }
            if words
                .values()
                .filter(|state| **state == ReviewState::Approved)
                .count()
                < needed
            {
                let plural = if needed == 1 {
                    "review is"
                } else {
                    "reviews are"
                };
                return Some(format!(
                    "At least {needed} approving {plural} required by reviewers with write access."
                ));
            }
        }
        rules
            .required_checks
            .iter()
            .find_map(|check| missing(repo, pull.head.sha, check))
    }

    /// The newest decisive review of everybody with write access.
    fn standing_reviews(&self, repo: &Repo, issue: &Issue) -> BTreeMap<UserId, ReviewState> {
        let reviews = issue.pull.iter().flat_map(|pull| &pull.reviews);
        reviews
            .filter(|review| !matches!(review.state, ReviewState::Pending | ReviewState::Commented))
            .filter(|review| self.role(review.author, repo) >= Some(Role::Write))
            .map(|review| (review.author, review.state))
            .collect()
    }
}

/// Why a required check does not let the commit pass, if it does not.
fn missing(repo: &Repo, sha: Sha, check: &RequiredCheck) -> Option<String> {
    let RequiredCheck { context, app } = check;
    let run = repo.check_runs.values().rfind(|run| {
        run.sha == sha && run.name == *context && app.is_none_or(|app| run.app == app)
    });
    let status = repo
        .statuses
        .iter()
        .rfind(|status| status.sha == sha && status.context == *context && app.is_none());
    let passes = match (run, status) {
        (Some(run), _) => run
            .progress
            .conclusion()
            .map(|conclusion| conclusion.passes()),
        (None, Some(status)) => {
            (status.state != StatusState::Pending).then_some(status.state == StatusState::Success)
        }
        (None, None) => None,
    };
    match passes {
        Some(true) => None,
        Some(false) => Some(format!("Required status check \"{context}\" is failing.")),
        None => Some(format!("Required status check \"{context}\" is expected.")),
    }
}
