//! Looking at the world: snapshots for assertions and for the demo's pages.

use std::collections::BTreeMap;

use super::spec::Pr;
use crate::{
    Refused, Simulator,
    operations::checks::latest,
    world::{
        World,
        checks::{Annotation, Button, CheckRun, Conclusion, Progress},
        issue::{Comment, Issue, Pull, Readiness, ReviewState},
        repo::Repo,
        runs::WorkflowRun,
    },
};
use loopgate_core::{
    CheckRunId, CommentId, PrNumber, RepoName, ReviewId, Sha, Timestamp, WorkflowRunId,
};

/// A pull request as it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct PullView {
    pub number: PrNumber,
    pub title: String,
    pub body: Option<String>,
    pub author: String,
    pub state: PullState,
    pub head_branch: String,
    pub head_sha: Sha,
    pub base_branch: String,
    pub base_sha: Sha,
    pub mergeable: Mergeable,
    pub labels: Vec<String>,
    pub requested_reviewers: Vec<String>,
    /// Slugs.
    pub requested_teams: Vec<String>,
    /// Oldest first.
    pub comments: Vec<CommentView>,
    pub reviews: Vec<ReviewView>,
    /// The newest run of each name and App on the head.
    pub check_runs: Vec<CheckRunView>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PullState {
    Draft,
    Open,
    Closed,
    Merged { by: String, commit: Sha },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mergeable {
    Yes,
    Conflict,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CommentView {
    pub id: CommentId,
    pub author: String,
    pub body: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Who reacted, and how: (login, `+1`).
    pub reactions: Vec<(String, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewView {
    pub id: ReviewId,
    pub author: String,
    pub state: ReviewState,
    pub body: String,
    pub commit: Option<Sha>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CheckRunView {
    pub id: CheckRunId,
    /// The slug of its App.
    pub app: String,
    pub name: String,
    /// `queued`, `in_progress` or `completed`.
    pub status: &'static str,
    pub conclusion: Option<Conclusion>,
    pub title: Option<String>,
    pub summary: Option<String>,
    pub text: Option<String>,
    pub annotations: Vec<Annotation>,
    pub buttons: Vec<Button>,
    pub external_id: String,
}

/// A run of a workflow of GitHub Actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkflowView {
    pub id: WorkflowRunId,
    /// Counts from 1.
    pub attempt: u32,
    pub progress: Progress,
}

/// What a ref points at: its commits and files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefView {
    pub sha: Sha,
    /// (id, whole message), newest first.
    pub commits: Vec<(Sha, String)>,
    /// Text by path; bytes that are no UTF-8 are replaced.
    pub files: BTreeMap<String, String>,
}

impl PullView {
    /// The newest check run of a name, whichever App made it.
    pub fn check_run(&self, name: &str) -> Option<&CheckRunView> {
        self.check_runs.iter().rev().find(|run| run.name == name)
    }

    pub fn has_label(&self, name: &str) -> bool {
        self.labels.iter().any(|label| label == name)
    }
}

impl Simulator {
    pub fn pull_request(&self, pr: &Pr) -> Result<PullView, Refused> {
        self.look(|world| {
            let repo = world.repo(world.repo_named(&pr.repo)?)?;
            view(
                world,
                repo,
                world.issue(repo.id, pr.number)?,
                world.pull(repo.id, pr.number)?,
            )
        })
    }

    /// All pull requests of a repository, by number.
    pub fn pull_requests(&self, repo: &RepoName) -> Result<Vec<Pr>, Refused> {
        self.look(|world| {
            let found = world.repo(world.repo_named(repo)?)?;
            let pulls = found.issues.values().filter(|issue| issue.pull.is_some());
            Ok(pulls
                .map(|issue| Pr {
                    repo: repo.clone(),
                    number: issue.number,
                })
                .collect())
        })
    }

    /// The head commit of a pull request.
    pub fn head(&self, pr: &Pr) -> Result<Sha, Refused> {
        self.look(|world| Ok(world.pull(world.repo_named(&pr.repo)?, pr.number)?.head.sha))
    }

    /// The newest check run of each name on a commit.
    pub fn check_runs(&self, repo: &RepoName, commit: Sha) -> Result<Vec<CheckRunView>, Refused> {
        self.look(|world| {
            let repo = world.repo(world.repo_named(repo)?)?;
            let runs = latest(repo.check_runs.values().filter(|run| run.sha == commit));
            Ok(runs
                .into_iter()
                .map(|run| check_run_view(world, run))
                .collect())
        })
    }

    /// The workflow runs on a commit, in the order in which they began.
    pub fn workflow_runs(
        &self,
        repo: &RepoName,
        commit: Sha,
    ) -> Result<Vec<WorkflowView>, Refused> {
        self.look(|world| {
            let runs = world.repo(world.repo_named(repo)?)?.workflow_runs.values();
            let view = |run: &WorkflowRun| WorkflowView {
                id: run.id,
                attempt: run.attempt,
                progress: run.progress,
            };
            Ok(runs.filter(|run| run.sha == commit).map(view).collect())
        })
    }

    /// A ref by its full name, `refs/loopgate/pr/1`; none if there is no such ref.
    pub fn state_ref(&self, repo: &RepoName, name: &str) -> Result<Option<RefView>, Refused> {
        self.look(|world| {
            let repo = world.repo(world.repo_named(repo)?)?;
            Ok(repo.refs.get(name).map(|sha| ref_view(world, repo, *sha)))
        })
    }

    /// Full names of a repository's refs.
    pub fn refs(&self, repo: &RepoName) -> Result<Vec<String>, Refused> {
        self.look(|world| {
            Ok(world
                .repo(world.repo_named(repo)?)?
                .refs
                .keys()
                .cloned()
                .collect())
        })
    }
}

fn view(world: &World, repo: &Repo, issue: &Issue, pull: &Pull) -> Result<PullView, Refused> {
    let login = |id| world.login(id).to_owned();
    let state = match (pull.merge, issue.is_open(), pull.readiness) {
        (Some(merge), ..) => PullState::Merged {
            by: login(merge.by),
            commit: merge.commit,
        },
        (None, false, _) => PullState::Closed,
        (None, true, Readiness::Draft) => PullState::Draft,
        (None, true, Readiness::Ready) => PullState::Open,
    };
    let runs = latest(
        repo.check_runs
            .values()
            .filter(|run| run.sha == pull.head.sha),
    );
    let submitted = pull
        .reviews
        .iter()
        .filter(|review| review.state != ReviewState::Pending);
    let mergeable = if pull.standing.test_merge.is_some() {
        Mergeable::Yes
    } else {
        Mergeable::Conflict
    };
    Ok(PullView {
        number: issue.number,
        title: issue.title.clone(),
        body: issue.body.clone(),
        author: login(issue.author),
        state,
        head_branch: pull.head.branch.clone(),
        head_sha: pull.head.sha,
        base_branch: pull.base_branch.clone(),
        base_sha: pull.base_sha,
        mergeable,
        labels: issue.labels.clone(),
        requested_reviewers: pull
            .requested_reviewers
            .iter()
            .map(|id| login(*id))
            .collect(),
        requested_teams: pull
            .requested_teams
            .iter()
            .filter_map(|id| Some(world.teams.get(id)?.slug.clone()))
            .collect(),
        comments: repo
            .comments_of(issue.number)
            .map(|comment| comment_view(world, repo, comment))
            .collect(),
        reviews: submitted
            .map(|r| ReviewView {
                id: r.id,
                author: login(r.author),
                state: r.state,
                body: r.body.clone(),
                commit: r.commit,
            })
            .collect(),
        check_runs: runs
            .into_iter()
            .map(|run| check_run_view(world, run))
            .collect(),
    })
}

fn comment_view(world: &World, repo: &Repo, comment: &Comment) -> CommentView {
    let reactions = repo
        .reactions
        .values()
        .filter(|reaction| reaction.comment == comment.id);
    CommentView {
        id: comment.id,
        author: world.login(comment.author).to_owned(),
        body: comment.body.clone(),
        created_at: comment.created_at,
        updated_at: comment.updated_at,
        reactions: reactions
            .map(|r| {
                (
                    world.login(r.author).to_owned(),
                    r.content.as_str().to_owned(),
                )
            })
            .collect(),
    }
}

fn check_run_view(world: &World, run: &CheckRun) -> CheckRunView {
    CheckRunView {
        id: run.id,
        app: world
            .apps
            .get(&run.app)
            .map(|app| app.slug.clone())
            .unwrap_or_default(),
        name: run.name.clone(),
        status: run.progress.status(),
        conclusion: run.progress.conclusion(),
        title: run.output.title.clone(),
        summary: run.output.summary.clone(),
        text: run.output.text.clone(),
        annotations: run.output.annotations.clone(),
        buttons: run.actions.clone(),
        external_id: run.external_id.clone(),
    }
}

fn ref_view(world: &World, repo: &Repo, sha: Sha) -> RefView {
    let objects = world.objects(repo);
    let log = objects.log(sha);
    let message = |sha: Sha| Some((sha, objects.commit(sha)?.message.clone()));
    let text = |(path, entry): (String, crate::git::Entry)| {
        Some((
            path,
            String::from_utf8_lossy(objects.blob(entry.sha)?).into_owned(),
        ))
    };
    RefView {
        sha,
        commits: log.into_iter().filter_map(message).collect(),
        files: objects.files(sha).into_iter().filter_map(text).collect(),
    }
}
