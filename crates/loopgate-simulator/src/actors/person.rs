//! What people do on pull requests.

use super::spec::{BranchOrigin, CommitSpec, Pr, PullSpec};
use crate::{
    Refused, Simulator,
    hooks::Webhooks,
    operations::{
        merging::{MergeMethod, MergeOrder},
        pulls::{NewPull, PullEdit},
        reviews::{NewInlineComment, NewReview},
    },
    world::{
        RepoId, World,
        app::Actor,
        issue::{ReactionContent, Readiness, ReviewEvent},
    },
};
use loopgate_core::{CheckRunId, CommentId, PrNumber, RepoName, ReviewId, Sha};

/// Somebody with an account. Everything they do is refused as GitHub would refuse it, and sends its webhooks unless
/// they do it [`silently`](Self::silently).
#[derive(Clone)]
pub struct Person {
    sim: Simulator,
    login: String,
    webhooks: Webhooks,
}

impl Person {
    pub(super) fn new(sim: Simulator, login: &str) -> Self {
        Self {
            sim,
            login: login.to_owned(),
            webhooks: Webhooks::Sent,
        }
    }

    pub fn login(&self) -> &str {
        &self.login
    }

    /// This person, whose operations send no webhooks: as if all of them were lost.
    #[must_use]
    pub fn silently(&self) -> Self {
        Self {
            webhooks: Webhooks::Lost,
            ..self.clone()
        }
    }

    /// A personal access token.
    pub fn token(&self) -> Result<String, Refused> {
        self.sim.shared.write(|world| {
            let id = world.user_id(&self.login)?;
            Ok(world.person_token(id))
        })
    }

    fn act<T>(
        &self,
        operation: impl FnOnce(&mut World, Actor) -> Result<T, Refused>,
    ) -> Result<T, Refused> {
        self.sim.operation(self.webhooks, |world| {
            let actor = world.actor(&self.login)?;
            operation(world, actor)
        })
    }

    fn on<T>(
        &self,
        pr: &Pr,
        operation: impl FnOnce(&mut World, Actor, RepoId, PrNumber) -> Result<T, Refused>,
    ) -> Result<T, Refused> {
        self.act(|world, actor| {
            let repo = world.repo_named(&pr.repo)?;
            operation(world, actor, repo, pr.number)
        })
    }

    fn in_repo<T>(
        &self,
        repo: &RepoName,
        operation: impl FnOnce(&mut World, Actor, RepoId) -> Result<T, Refused>,
    ) -> Result<T, Refused> {
        self.act(|world, actor| {
            let repo = world.repo_named(repo)?;
            operation(world, actor, repo)
        })
    }

    /// Pushes a branch and opens a pull request from it.
    pub fn open_pull_request(&self, repo: &RepoName, spec: PullSpec) -> Result<Pr, Refused> {
        let number = self.in_repo(repo, |world, actor, target| {
            let head_repo = match spec.origin {
                BranchOrigin::Here => target,
                BranchOrigin::Fork => world.fork(actor, target)?,
            };
            let head = match spec.branch {
                Some(branch) => branch,
                None => format!("{}/{}", self.login, world.sequence.number()),
            };
            if !spec.commit.changes.is_empty() || world.repo(head_repo)?.branch(&head).is_none() {
                let base = world.repo(target)?.branch(&spec.base);
                let tip = world.repo(head_repo)?.branch(&head).or(base);
                commit(world, actor, (head_repo, &head), tip, spec.commit)?;
            }
            let (title, body, base, readiness) = (spec.title, spec.body, spec.base, spec.readiness);
            world.open_pull(
                actor,
                target,
                NewPull {
                    title,
                    body,
                    head_repo,
                    head,
                    base,
                    readiness,
                },
            )
        })?;
        Ok(Pr {
            repo: repo.clone(),
            number,
        })
    }

    /// Opens an issue, which is no pull request.
    pub fn open_issue(
        &self,
        repo: &RepoName,
        title: &str,
        body: &str,
    ) -> Result<PrNumber, Refused> {
        self.in_repo(repo, |world, actor, repo| {
            world.open_issue(actor, repo, title, body)
        })
    }

    /// Pushes a commit of these files to the pull request's branch.
    pub fn push(&self, pr: &Pr, files: &[(&str, &str)], message: &str) -> Result<Sha, Refused> {
        self.push_commit(pr, CommitSpec::new(message).files(files))
    }

    /// Pushes any commit to the pull request's branch.
    pub fn push_commit(&self, pr: &Pr, spec: CommitSpec) -> Result<Sha, Refused> {
        self.on(pr, |world, actor, repo, number| {
            let (source, branch) = head_of(world, repo, number)?;
            let tip = world.repo(source)?.branch(&branch);
            commit(world, actor, (source, &branch), tip, spec)
        })
    }

    /// Rewrites the pull request's branch: one commit of these files on the base branch's head.
    pub fn force_push(&self, pr: &Pr, spec: CommitSpec) -> Result<Sha, Refused> {
        self.on(pr, |world, actor, repo, number| {
            let (source, branch) = head_of(world, repo, number)?;
            let base = world.pull(repo, number)?.base_branch.clone();
            let tip = world.repo(repo)?.branch(&base);
            commit(world, actor, (source, &branch), tip, spec)
        })
    }

    /// Moves the pull request's branch to a commit that is there already, back or forth.
    pub fn reset(&self, pr: &Pr, to: Sha) -> Result<(), Refused> {
        self.on(pr, |world, actor, repo, number| {
            let (source, branch) = head_of(world, repo, number)?;
            world.need_push(actor, source)?;
            world.set_ref(actor, source, &format!("refs/heads/{branch}"), Some(to))
        })
    }

    /// "Update branch": merges the base branch into the pull request's branch.
    pub fn update_branch(&self, pr: &Pr) -> Result<Sha, Refused> {
        self.on(pr, |world, actor, repo, number| {
            world.update_branch(actor, repo, number)
        })
    }

    /// Pushes a commit to a branch, which is made from `main` if it is not there.
    pub fn push_to(&self, repo: &RepoName, branch: &str, spec: CommitSpec) -> Result<Sha, Refused> {
        self.in_repo(repo, |world, actor, repo| {
            let found = world.repo(repo)?;
            let tip = found
                .branch(branch)
                .or_else(|| found.branch(&found.default_branch));
            commit(world, actor, (repo, branch), tip, spec)
        })
    }

    /// Deletes a branch; pull requests from it are closed.
    pub fn delete_branch(&self, repo: &RepoName, branch: &str) -> Result<(), Refused> {
        self.in_repo(repo, |world, actor, repo| {
            world.need_push(actor, repo)?;
            world.set_ref(actor, repo, &format!("refs/heads/{branch}"), None)
        })
    }

    /// Deletes any ref, as `git push origin :NAME` does.
    pub fn delete_ref(&self, repo: &RepoName, name: &str) -> Result<(), Refused> {
        self.in_repo(repo, |world, actor, repo| {
            world.need_push(actor, repo)?;
            world.set_ref(actor, repo, name, None)
        })
    }

    pub fn comment(&self, pr: &Pr, body: &str) -> Result<CommentId, Refused> {
        self.on(pr, |world, actor, repo, number| {
            world.comment(actor, repo, number, body)
        })
    }

    pub fn edit_comment(&self, pr: &Pr, comment: CommentId, body: &str) -> Result<(), Refused> {
        self.on(pr, |world, actor, repo, _| {
            world.edit_comment(actor, repo, comment, body)
        })
    }

    pub fn delete_comment(&self, pr: &Pr, comment: CommentId) -> Result<(), Refused> {
        self.on(pr, |world, actor, repo, _| {
            world.delete_comment(actor, repo, comment)
        })
    }

    /// Hides a comment for a reason (`spam`, `off-topic`, …). GitHub sends no event.
    pub fn hide_comment(&self, pr: &Pr, comment: CommentId, reason: &str) -> Result<(), Refused> {
        self.on(pr, |world, actor, repo, _| {
            world.hide_comment(actor, repo, comment, Some(reason))
        })
    }

    pub fn react(
        &self,
        pr: &Pr,
        comment: CommentId,
        content: ReactionContent,
    ) -> Result<(), Refused> {
        self.on(pr, |world, actor, repo, _| {
            world.react(actor, repo, comment, content).map(drop)
        })
    }

    /// Reviews the head.
    pub fn review(&self, pr: &Pr, verdict: ReviewEvent, body: &str) -> Result<ReviewId, Refused> {
        let new = NewReview {
            verdict: Some(verdict),
            body: body.to_owned(),
            commit: None,
            comments: Vec::new(),
        };
        self.on(pr, |world, actor, repo, number| {
            world.review(actor, repo, number, new)
        })
    }

    pub fn edit_review(&self, pr: &Pr, review: ReviewId, body: &str) -> Result<(), Refused> {
        self.on(pr, |world, actor, repo, number| {
            world.edit_review(actor, repo, number, review, body)
        })
    }

    pub fn dismiss(&self, pr: &Pr, review: ReviewId) -> Result<(), Refused> {
        self.on(pr, |world, actor, repo, number| {
            world.dismiss_review(actor, repo, number, review)
        })
    }

    /// Comments on a line of the diff.
    pub fn comment_inline(
        &self,
        pr: &Pr,
        path: &str,
        line: u64,
        body: &str,
    ) -> Result<CommentId, Refused> {
        let new = NewInlineComment {
            path: path.to_owned(),
            line,
            body: body.to_owned(),
        };
        self.on(pr, |world, actor, repo, number| {
            world.comment_inline(actor, repo, number, new, None)
        })
    }

    /// Answers in the thread that a comment on a line began.
    pub fn reply_inline(
        &self,
        pr: &Pr,
        (path, line): (&str, u64),
        to: CommentId,
        body: &str,
    ) -> Result<(), Refused> {
        let new = NewInlineComment {
            path: path.to_owned(),
            line,
            body: body.to_owned(),
        };
        self.on(pr, |world, actor, repo, number| {
            world
                .comment_inline(actor, repo, number, new, Some(to))
                .map(drop)
        })
    }

    /// Resolves the thread that a comment on a line began.
    pub fn resolve_thread(&self, pr: &Pr, begin: CommentId) -> Result<(), Refused> {
        self.on(pr, |world, actor, repo, number| {
            world.resolve_thread(actor, repo, number, (begin, true))
        })
    }

    pub fn unresolve_thread(&self, pr: &Pr, begin: CommentId) -> Result<(), Refused> {
        self.on(pr, |world, actor, repo, number| {
            world.resolve_thread(actor, repo, number, (begin, false))
        })
    }

    pub fn request_review(&self, pr: &Pr, reviewers: &[&str]) -> Result<(), Refused> {
        let people: Vec<_> = reviewers.iter().map(|login| (*login).to_owned()).collect();
        self.on(pr, |world, actor, repo, number| {
            let reviewers = world.reviewers(repo, number, (&people, &[]))?;
            world.request_review(actor, repo, number, &reviewers)
        })
    }

    pub fn unrequest_review(&self, pr: &Pr, reviewers: &[&str]) -> Result<(), Refused> {
        let people: Vec<_> = reviewers.iter().map(|login| (*login).to_owned()).collect();
        self.on(pr, |world, actor, repo, number| {
            let reviewers = world.reviewers(repo, number, (&people, &[]))?;
            world.unrequest_review(actor, repo, number, &reviewers)
        })
    }

    pub fn label(&self, pr: &Pr, name: &str) -> Result<(), Refused> {
        self.on(pr, |world, actor, repo, number| {
            world.label(actor, repo, number, &[name.to_owned()])
        })
    }

    pub fn unlabel(&self, pr: &Pr, name: &str) -> Result<(), Refused> {
        self.on(pr, |world, actor, repo, number| {
            world.unlabel(actor, repo, number, name)
        })
    }

    /// Merges with a merge commit, whose id is returned.
    pub fn merge(&self, pr: &Pr) -> Result<Sha, Refused> {
        self.merge_by(pr, MergeMethod::default())
    }

    pub fn merge_by(&self, pr: &Pr, method: MergeMethod) -> Result<Sha, Refused> {
        let order = MergeOrder {
            method,
            ..MergeOrder::default()
        };
        self.on(pr, |world, actor, repo, number| {
            world.merge(actor, repo, number, order)
        })
    }

    pub fn assign(&self, pr: &Pr, whom: &str) -> Result<(), Refused> {
        self.on(pr, |world, actor, repo, number| {
            let whom = world.user_id(whom)?;
            world.assign(actor, repo, number, (whom, true))
        })
    }

    pub fn unassign(&self, pr: &Pr, whom: &str) -> Result<(), Refused> {
        self.on(pr, |world, actor, repo, number| {
            let whom = world.user_id(whom)?;
            world.assign(actor, repo, number, (whom, false))
        })
    }

    /// Makes a stack of pull requests that stand on each other's branches, the bottom first.
    pub fn stack(&self, layers: &[&Pr]) -> Result<(), Refused> {
        let repo = &layers.first().ok_or_else(Refused::not_found)?.repo;
        let numbers = layers.iter().map(|layer| layer.number).collect();
        self.in_repo(repo, |world, actor, repo| {
            world.make_stack(actor, repo, numbers)
        })
    }

    /// Dissolves the stack that it is a layer of. GitHub describes no event for it.
    pub fn unstack(&self, layer: &Pr) -> Result<(), Refused> {
        self.on(layer, |world, actor, repo, number| {
            world.unstack(actor, repo, number)
        })
    }

    /// Presses "Rebase stack": every layer stands on the one beneath again.
    pub fn rebase_stack(&self, layer: &Pr) -> Result<(), Refused> {
        self.on(layer, |world, actor, repo, number| {
            world.rebase_stack(actor, repo, number)
        })
    }

    pub fn close(&self, pr: &Pr) -> Result<(), Refused> {
        self.on(pr, |world, actor, repo, number| {
            world.close(actor, repo, number)
        })
    }

    pub fn reopen(&self, pr: &Pr) -> Result<(), Refused> {
        self.on(pr, |world, actor, repo, number| {
            world.reopen(actor, repo, number)
        })
    }

    pub fn retarget(&self, pr: &Pr, base: &str) -> Result<(), Refused> {
        let edit = PullEdit {
            base: Some(base.to_owned()),
            ..PullEdit::default()
        };
        self.on(pr, |world, actor, repo, number| {
            world.edit_pull(actor, repo, number, edit)
        })
    }

    pub fn edit_title(&self, pr: &Pr, title: &str) -> Result<(), Refused> {
        let edit = PullEdit {
            title: Some(title.to_owned()),
            ..PullEdit::default()
        };
        self.on(pr, |world, actor, repo, number| {
            world.edit_pull(actor, repo, number, edit)
        })
    }

    pub fn mark_ready(&self, pr: &Pr) -> Result<(), Refused> {
        self.on(pr, |world, actor, repo, number| {
            world.set_readiness(actor, repo, number, Readiness::Ready)
        })
    }

    pub fn mark_draft(&self, pr: &Pr) -> Result<(), Refused> {
        self.on(pr, |world, actor, repo, number| {
            world.set_readiness(actor, repo, number, Readiness::Draft)
        })
    }

    /// Presses a button of a check run.
    pub fn press_button(
        &self,
        pr: &Pr,
        check_run: CheckRunId,
        identifier: &str,
    ) -> Result<(), Refused> {
        self.on(pr, |world, actor, repo, _| {
            world.press_button(actor, repo, check_run, identifier)
        })
    }

    /// Presses "Re-run" on a check run's page.
    pub fn rerun(&self, pr: &Pr, check_run: CheckRunId) -> Result<(), Refused> {
        self.on(pr, |world, actor, repo, _| {
            world.rerequest_check_run(actor, repo, check_run)
        })
    }
}

fn head_of(world: &World, repo: RepoId, number: PrNumber) -> Result<(RepoId, String), Refused> {
    let head = &world.pull(repo, number)?.head;
    Ok((
        head.repo.ok_or_else(Refused::not_found)?,
        head.branch.clone(),
    ))
}

/// Makes a commit on `tip` and points the branch at it.
fn commit(
    world: &mut World,
    actor: Actor,
    (repo, branch): (RepoId, &str),
    tip: Option<Sha>,
    spec: CommitSpec,
) -> Result<Sha, Refused> {
    world.need_push(actor, repo)?;
    let mut author = world.signature(actor);
    if let Some((name, email)) = spec.author {
        (author.name, author.email) = (name, email);
    }
    author.at = spec.at.unwrap_or(author.at);
    let merged = spec.merging.map(|branch| {
        world
            .repo(repo)?
            .branch(&branch)
            .ok_or_else(Refused::not_found)
    });
    let parents: Vec<_> = tip.into_iter().chain(merged.transpose()?).collect();
    let mut committer = author.clone();
    if spec.on_the_site {
        (committer.name, committer.email) = ("GitHub".into(), "noreply@github.com".into());
    }
    let sha = world.commit_files(
        repo,
        &parents,
        &spec.changes,
        (author, committer, &spec.message),
    )?;
    world.set_ref(actor, repo, &format!("refs/heads/{branch}"), Some(sha))?;
    Ok(sha)
}
