//! A pull request as its page shows it: one look at the world.

use serde::Serialize;

use super::{
    happened::{Happened, at, face, happened, short, since},
    markdown,
};
use crate::{
    Refused,
    git::Objects,
    operations::checks::latest,
    world::{
        World,
        checks::CheckRun,
        issue::{Issue, Pull, Readiness, ReviewState},
        journal::What,
        repo::Repo,
    },
};
use loopgate_core::{PrNumber, RepoName, Sha, UserId};

#[derive(Serialize)]
pub(super) struct Conversation {
    pub number: u64,
    pub title: String,
    /// `open`, `draft`, `merged` or `closed`.
    pub state: &'static str,
    author: String,
    base: String,
    branch: String,
    conflicts: bool,
    head: String,
    entries: Vec<Entry>,
    labels: Vec<String>,
    asked_of: Vec<String>,
    checks: Vec<Check>,
    commits: Vec<Line>,
    files: Vec<FileDiff>,
    /// The commits of `refs/loopgate/pr/N`, newest first.
    saved: Vec<Line>,
    state_ref: String,
    /// What happened after the happening that the visitor has seen.
    news: Vec<Happened>,
}

/// Something in the conversation, oldest first.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Entry {
    Said(Said),
    Happened(Happened),
}

/// A comment, a review, or the description.
#[derive(Serialize)]
struct Said {
    anchor: String,
    who: String,
    is_bot: bool,
    how: &'static str,
    at: String,
    edited: bool,
    /// Safe HTML.
    body: String,
    reactions: Vec<String>,
}

#[derive(Serialize)]
struct Check {
    id: u64,
    name: String,
    app: String,
    state: &'static str,
    title: Option<String>,
    /// Safe HTML.
    summary: String,
    /// Safe HTML.
    text: String,
    annotations: Vec<String>,
    buttons: Vec<(String, String)>,
}

#[derive(Serialize)]
pub(super) struct Line {
    pub sha: String,
    pub subject: String,
    pub by: String,
    pub at: String,
}

#[derive(Serialize)]
pub(super) struct FileDiff {
    pub path: String,
    pub status: &'static str,
    pub patch: Option<String>,
}

/// A pull request in the list of its repository.
#[derive(Serialize)]
pub(super) struct Listed {
    number: u64,
    title: String,
    state: &'static str,
    author: String,
    labels: Vec<String>,
    at: String,
}

/// The newest first.
pub(super) fn list(world: &World, name: &RepoName) -> Result<Vec<Listed>, Refused> {
    let repo = world.repo(world.repo_named(name)?)?;
    let listed = repo.issues.values().rev().filter_map(|issue| {
        Some(Listed {
            number: issue.number.get(),
            title: issue.title.clone(),
            state: state(issue, issue.pull.as_ref()?),
            author: world.login(issue.author).to_owned(),
            labels: issue.labels.clone(),
            at: at(issue.updated_at),
        })
    });
    Ok(listed.collect())
}

/// `seen` is how many happenings of the journal the visitor has seen.
pub(super) fn conversation(
    world: &World,
    name: &RepoName,
    number: PrNumber,
    seen: Option<usize>,
) -> Result<Conversation, Refused> {
    let repo = world.repo(world.repo_named(name)?)?;
    let (issue, pull) = (world.issue(repo.id, number)?, world.pull(repo.id, number)?);
    let objects = world.objects(repo);
    let state_ref = format!("refs/loopgate/pr/{number}");
    let saved = repo
        .refs
        .get(&state_ref)
        .map(|tip| objects.log(*tip))
        .unwrap_or_default();
    let ahead = objects
        .compare(pull.base_sha, pull.head.sha)
        .map(|compared| compared.ahead)
        .unwrap_or_default();
    let asked = pull
        .requested_reviewers
        .iter()
        .map(|id| world.login(*id).to_owned());
    let teams = pull
        .requested_teams
        .iter()
        .filter_map(|id| Some(format!("team {}", world.teams.get(id)?.slug)));
    let runs = latest(
        repo.check_runs
            .values()
            .filter(|run| run.sha == pull.head.sha),
    );
    let base = objects.merge_base(pull.base_sha, pull.head.sha);
    Ok(Conversation {
        number: number.get(),
        title: issue.title.clone(),
        state: state(issue, pull),
        author: world.login(issue.author).to_owned(),
        base: pull.base_branch.clone(),
        branch: pull.head.branch.clone(),
        conflicts: issue.is_open() && pull.standing.test_merge.is_none(),
        head: short(pull.head.sha),
        entries: entries(world, repo, issue, pull),
        labels: issue.labels.clone(),
        asked_of: asked.chain(teams).collect(),
        checks: runs.into_iter().map(|run| check(world, run)).collect(),
        commits: lines(objects, ahead),
        files: diff(objects, base, pull.head.sha),
        saved: lines(objects, saved),
        news: seen
            .map(|seen| since(world, repo, number, seen))
            .unwrap_or_default(),
        state_ref,
    })
}

fn state(issue: &Issue, pull: &Pull) -> &'static str {
    match (pull.merge, issue.is_open(), pull.readiness) {
        (Some(_), ..) => "merged",
        (None, false, _) => "closed",
        (None, true, Readiness::Draft) => "draft",
        (None, true, Readiness::Ready) => "open",
    }
}

fn entries(world: &World, repo: &Repo, issue: &Issue, pull: &Pull) -> Vec<Entry> {
    let entry = |who: UserId, how, time, body: &str, anchor| Said {
        anchor,
        who: world.login(who).to_owned(),
        is_bot: world.app_of_account(who).is_some(),
        how,
        at: at(time),
        edited: false,
        body: markdown::html(body),
        reactions: Vec::new(),
    };
    let description = issue
        .body
        .as_deref()
        .unwrap_or("*No description provided.*");
    let opened = entry(
        issue.author,
        "opened this",
        issue.created_at,
        description,
        "description".to_owned(),
    );
    let mut entries = vec![Entry::Said(opened)];
    let of_this = world
        .journal
        .iter()
        .filter(|it| it.repo == repo.id && it.number == Some(issue.number));
    for happening in of_this {
        match &happening.what {
            What::Commented(id) => entries.extend(repo.comments.get(id).map(|comment| {
                let reactions = repo
                    .reactions
                    .values()
                    .filter(|reaction| reaction.comment == comment.id);
                let reactions = reactions
                    .map(|it| format!("{} {}", face(it.content.as_str()), world.login(it.author)));
                Entry::Said(Said {
                    edited: comment.updated_at != comment.created_at,
                    reactions: reactions.collect(),
                    ..entry(
                        comment.author,
                        "commented",
                        comment.created_at,
                        &comment.body,
                        format!("issuecomment-{id}"),
                    )
                })
            })),
            What::Reviewed(id) => entries.extend(
                pull.reviews
                    .iter()
                    .find(|review| review.id == *id)
                    .map(|review| {
                        let how = match review.state {
                            ReviewState::Approved => "approved these changes",
                            ReviewState::ChangesRequested => "requested changes",
                            ReviewState::Dismissed => "reviewed, which was dismissed",
                            ReviewState::Commented | ReviewState::Pending => "reviewed",
                        };
                        Entry::Said(entry(
                            review.author,
                            how,
                            happening.at,
                            &review.body,
                            format!("pullrequestreview-{id}"),
                        ))
                    }),
            ),
            // Told by what they changed.
            What::Opened
            | What::CommentEdited(_)
            | What::CommentDeleted(_)
            | What::Reacted { .. } => {}
            _ => entries.extend(happened(world, repo, happening).map(Entry::Happened)),
        }
    }
    entries
}

fn check(world: &World, run: &CheckRun) -> Check {
    let html = |text: &Option<String>| text.as_deref().map(markdown::html).unwrap_or_default();
    let annotation =
        |it: &crate::Annotation| format!("{}:{} {}", it.path, it.start_line, it.message);
    Check {
        id: run.id.get(),
        name: run.name.clone(),
        app: world
            .apps
            .get(&run.app)
            .map(|app| app.name.clone())
            .unwrap_or_default(),
        state: run
            .progress
            .conclusion()
            .map_or(run.progress.status(), crate::Conclusion::as_str),
        title: run.output.title.clone(),
        summary: html(&run.output.summary),
        text: html(&run.output.text),
        annotations: run.output.annotations.iter().map(annotation).collect(),
        buttons: run
            .actions
            .iter()
            .map(|button| (button.identifier.clone(), button.label.clone()))
            .collect(),
    }
}

pub(super) fn lines(objects: &Objects, shas: impl IntoIterator<Item = Sha>) -> Vec<Line> {
    let line = |sha: Sha| {
        let commit = objects.commit(sha)?;
        let subject = commit.message.lines().next().unwrap_or_default().to_owned();
        Some(Line {
            sha: sha.to_string(),
            subject,
            by: commit.author.name.clone(),
            at: at(commit.committer.at),
        })
    };
    shas.into_iter().filter_map(line).collect()
}

pub(super) fn diff(objects: &Objects, old: Option<Sha>, new: Sha) -> Vec<FileDiff> {
    let changes = objects.diff(old, new);
    let file = |change: &crate::git::FileChange| FileDiff {
        path: change.path.clone(),
        status: change.status.as_str(),
        patch: objects.line_diff(change).patch,
    };
    changes.iter().map(file).collect()
}
