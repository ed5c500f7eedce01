//! Issues, comments, reactions.

use http::StatusCode;
use serde::Deserialize;

use super::{
    Answer, Route,
    call::{Call, Reply},
    caller::Needs,
    delete, get, patch, post,
    pulls::{READ as PULLS_READ, WRITE as PULLS_WRITE},
};
use crate::{
    json,
    operations::{conversation::Novelty, pulls::PullEdit},
    refused::Refused,
    world::{
        RepoId, World,
        app::{Actor, Area, Level},
        issue::{Issue, ReactionContent},
        journal::Happening,
        repo::Repo,
    },
};
use loopgate_core::CommentId;

pub const ROUTES: &[Route] = &[
    get("/repos/{owner}/{repo}/issues", list_issues),
    get("/repos/{owner}/{repo}/issues/comments", list_all),
    post("/repos/{owner}/{repo}/issues", open_issue),
    get("/repos/{owner}/{repo}/issues/{number}", show),
    patch("/repos/{owner}/{repo}/issues/{number}", edit),
    get("/repos/{owner}/{repo}/issues/{number}/events", events),
    get("/repos/{owner}/{repo}/issues/{number}/comments", list),
    post("/repos/{owner}/{repo}/issues/{number}/comments", create),
    get("/repos/{owner}/{repo}/issues/comments/{id}", show_comment),
    patch("/repos/{owner}/{repo}/issues/comments/{id}", edit_comment),
    delete("/repos/{owner}/{repo}/issues/comments/{id}", delete_comment),
    get(
        "/repos/{owner}/{repo}/issues/comments/{id}/reactions",
        reactions,
    ),
    post(
        "/repos/{owner}/{repo}/issues/comments/{id}/reactions",
        react,
    ),
    delete(
        "/repos/{owner}/{repo}/issues/comments/{id}/reactions/{reaction}",
        delete_reaction,
    ),
    get(
        "/repos/{owner}/{repo}/pulls/comments/{id}/reactions",
        inline_reactions,
    ),
    post(
        "/repos/{owner}/{repo}/pulls/comments/{id}/reactions",
        react_inline,
    ),
];

pub(super) const READ: Needs = &[
    (Area::Issues, Level::Read),
    (Area::PullRequests, Level::Read),
];
pub(super) const WRITE: Needs = &[
    (Area::Issues, Level::Write),
    (Area::PullRequests, Level::Write),
];

#[derive(Deserialize)]
struct NewIssue {
    title: String,
    #[serde(default)]
    body: String,
}

fn open_issue(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = call.write(world, &[(Area::Issues, Level::Write)])?;
    let new: NewIssue = call.json()?;
    let number = world.open_issue(actor, repo, &new.title, &new.body)?;
    Ok(Reply::created(json::issue(
        world,
        world.repo(repo)?,
        world.issue(repo, number)?,
    )))
}

fn show(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(call.read(world, READ)?)?;
    Ok(Reply::ok(json::issue(
        world,
        repo,
        world.issue(repo.id, call.number()?)?,
    )))
}

#[derive(Deserialize)]
struct Edit {
    title: Option<String>,
    body: Option<String>,
    state: Option<String>,
}

fn edit(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = call.write(world, WRITE)?;
    let (number, edit): (_, Edit) = (call.number()?, call.json()?);
    if world.pull(repo, number).is_ok() {
        world.edit_pull(
            actor,
            repo,
            number,
            PullEdit {
                title: edit.title,
                body: edit.body,
                base: None,
            },
        )?;
    }
    match edit.state.as_deref() {
        Some("closed") => world.close(actor, repo, number)?,
        Some("open") => world.reopen(actor, repo, number)?,
        _ => {}
    }
    Ok(Reply::ok(json::issue(
        world,
        world.repo(repo)?,
        world.issue(repo, number)?,
    )))
}

/// Pull requests are issues too. Newest first.
fn list_issues(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(call.read(world, READ)?)?;
    let since = call.time("since");
    let wanted = |issue: &&Issue| {
        let mut labels = call
            .query("labels")
            .into_iter()
            .flat_map(|names| names.split(','));
        call.wants(issue)
            && since.is_none_or(|since| issue.updated_at >= since)
            && labels.all(|name| issue.has_label(name))
    };
    Ok(call.list(
        repo.issues.values().rev().filter(wanted).collect(),
        |issue| json::issue(world, repo, issue),
    ))
}

/// What happened to an issue, oldest first; here only to its labels.
fn events(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(call.read(world, &[(Area::Issues, Level::Read)])?)?;
    let number = world.issue(repo.id, call.number()?)?.number;
    let of_issue =
        |(_, event): &(usize, &Happening)| event.repo == repo.id && event.number == Some(number);
    let events = world.journal.iter().enumerate().filter(of_issue);
    let events = events
        .filter_map(|(id, event)| json::issue_event(world, repo, id, event))
        .collect();
    Ok(call.list(events, |event| event))
}

/// Comments of every issue: oldest first, by creation or update.
fn list_all(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(call.read(world, READ)?)?;
    let since = call.time("since");
    let mut comments: Vec<_> = repo
        .comments
        .values()
        .filter(|comment| since.is_none_or(|since| comment.updated_at >= since))
        .collect();
    if call.query("sort") == Some("updated") {
        comments.sort_by_key(|comment| comment.updated_at);
    }
    if call.query("direction") == Some("desc") {
        comments.reverse();
    }
    Ok(call.list(comments, |comment| json::comment(world, repo, comment)))
}

/// Oldest first; `since` compares with the time of the last update.
fn list(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(call.read(world, READ)?)?;
    let number = world.issue(repo.id, call.number()?)?.number;
    let since = call.time("since");
    let comments = repo
        .comments_of(number)
        .filter(|c| since.is_none_or(|since| c.updated_at >= since))
        .collect();
    Ok(call.list(comments, |comment| json::comment(world, repo, comment)))
}

#[derive(Deserialize)]
struct Text {
    body: String,
}

fn create(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = call.write(world, WRITE)?;
    let (number, text): (_, Text) = (call.number()?, call.json()?);
    let id = world.comment(actor, repo, number, &text.body)?;
    Ok(Reply::created(json::comment(
        world,
        world.repo(repo)?,
        world.find_comment(repo, id)?,
    )))
}

fn comment_id(call: &Call) -> Result<CommentId, Refused> {
    Ok(CommentId::new(call.id("id")?))
}

fn show_comment(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(call.read(world, READ)?)?;
    Ok(Reply::ok(json::comment(
        world,
        repo,
        world.find_comment(repo.id, comment_id(call)?)?,
    )))
}

fn edit_comment(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = call.write(world, WRITE)?;
    let (id, text): (_, Text) = (comment_id(call)?, call.json()?);
    world.edit_comment(actor, repo, id, &text.body)?;
    Ok(Reply::ok(json::comment(
        world,
        world.repo(repo)?,
        world.find_comment(repo, id)?,
    )))
}

fn delete_comment(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = call.write(world, WRITE)?;
    world.delete_comment(actor, repo, comment_id(call)?)?;
    Ok(Reply::no_content())
}

fn content_of(text: &str) -> Result<ReactionContent, Refused> {
    ReactionContent::parse(text).ok_or_else(|| Refused::invalid("Reaction", "content", "invalid"))
}

fn reactions(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(call.read(world, READ)?)?;
    let id = world.find_comment(repo.id, comment_id(call)?)?.id;
    reactions_to(world, call, repo, id)
}

fn inline_reactions(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(call.read(world, PULLS_READ)?)?;
    let id = comment_id(call)?;
    let mut inline = repo
        .issues
        .values()
        .filter_map(|issue| issue.pull.as_ref())
        .flat_map(|pull| &pull.review_comments);
    inline
        .find(|comment| comment.id == id)
        .ok_or_else(Refused::not_found)?;
    reactions_to(world, call, repo, id)
}

fn reactions_to(world: &World, call: &Call, repo: &Repo, id: CommentId) -> Answer {
    let wanted = call.query("content").map(content_of).transpose()?;
    let mine = |r: &&crate::world::issue::Reaction| {
        r.comment == id && wanted.is_none_or(|wanted| r.content == wanted)
    };
    let found = repo.reactions.values().filter(mine).collect();
    Ok(call.list(found, |reaction| json::reaction(world, reaction)))
}

#[derive(Deserialize)]
struct NewReaction {
    content: String,
}

/// 201 for a new one, 200 if it was there already.
fn react(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = call.write(world, WRITE)?;
    world.find_comment(repo, comment_id(call)?)?;
    reacted(world, call, actor, repo)
}

fn react_inline(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = call.write(world, PULLS_WRITE)?;
    reacted(world, call, actor, repo)
}

fn reacted(world: &mut World, call: &Call, actor: Actor, repo: RepoId) -> Answer {
    let (id, new): (_, NewReaction) = (comment_id(call)?, call.json()?);
    let (reaction, novelty) = world.react(actor, repo, id, content_of(&new.content)?)?;
    let status = match novelty {
        Novelty::New => StatusCode::CREATED,
        Novelty::Old => StatusCode::OK,
    };
    Ok(Reply::ok(json::reaction(world, &reaction)).status(status))
}

fn delete_reaction(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = call.write(world, WRITE)?;
    world.delete_reaction(actor, repo, comment_id(call)?, call.id("reaction")?)?;
    Ok(Reply::no_content())
}
