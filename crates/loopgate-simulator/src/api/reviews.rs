//! Requested reviewers, reviews, inline comments.

use serde::Deserialize;
use serde_json::json;

use super::{
    Answer, Route,
    call::{Call, Reply},
    delete, get, post,
    pulls::{READ, WRITE, pull_of},
    put,
};
use crate::{
    json,
    operations::reviews::{NewInlineComment, NewReview},
    refused::Refused,
    world::{
        RepoId, World,
        issue::{ReviewEvent, ReviewState},
    },
};
use loopgate_core::{CommentId, PrNumber, ReviewId, Sha};

pub const ROUTES: &[Route] = &[
    get(
        "/repos/{owner}/{repo}/pulls/{number}/requested_reviewers",
        requested,
    ),
    post(
        "/repos/{owner}/{repo}/pulls/{number}/requested_reviewers",
        request,
    ),
    delete(
        "/repos/{owner}/{repo}/pulls/{number}/requested_reviewers",
        unrequest,
    ),
    get("/repos/{owner}/{repo}/pulls/{number}/reviews", list),
    post("/repos/{owner}/{repo}/pulls/{number}/reviews", create),
    get(
        "/repos/{owner}/{repo}/pulls/{number}/reviews/{review}",
        show,
    ),
    put(
        "/repos/{owner}/{repo}/pulls/{number}/reviews/{review}",
        edit,
    ),
    get(
        "/repos/{owner}/{repo}/pulls/{number}/reviews/{review}/comments",
        comments_of_review,
    ),
    post(
        "/repos/{owner}/{repo}/pulls/{number}/reviews/{review}/events",
        submit,
    ),
    put(
        "/repos/{owner}/{repo}/pulls/{number}/reviews/{review}/dismissals",
        dismiss,
    ),
    get(
        "/repos/{owner}/{repo}/pulls/{number}/comments",
        inline_comments,
    ),
    post(
        "/repos/{owner}/{repo}/pulls/{number}/comments",
        comment_inline,
    ),
    get("/repos/{owner}/{repo}/pulls/comments/{id}", show_inline),
];

fn requested(world: &mut World, call: &Call) -> Answer {
    let (repo, issue) = pull_of(world, call)?;
    let pull = world.pull(repo.id, issue.number)?;
    let users: Vec<_> = pull
        .requested_reviewers
        .iter()
        .map(|id| json::user(world, *id))
        .collect();
    let teams = pull
        .requested_teams
        .iter()
        .filter_map(|id| world.teams.get(id));
    let teams: Vec<_> = teams.map(|team| json::team(world, team)).collect();
    Ok(Reply::ok(json!({ "users": users, "teams": teams })))
}

#[derive(Deserialize)]
struct Reviewers {
    #[serde(default)]
    reviewers: Vec<String>,
    #[serde(default)]
    team_reviewers: Vec<String>,
}

fn request(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = call.write(world, WRITE)?;
    let (number, names): (_, Reviewers) = (call.number()?, call.json()?);
    let reviewers = world.reviewers(repo, number, (&names.reviewers, &names.team_reviewers))?;
    world.request_review(actor, repo, number, &reviewers)?;
    Ok(Reply::created(json::pull_brief(
        world,
        world.repo(repo)?,
        world.issue(repo, number)?,
    )))
}

fn unrequest(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = call.write(world, WRITE)?;
    let (number, names): (_, Reviewers) = (call.number()?, call.json()?);
    let reviewers = world.reviewers(repo, number, (&names.reviewers, &names.team_reviewers))?;
    world.unrequest_review(actor, repo, number, &reviewers)?;
    Ok(Reply::ok(json::pull_brief(
        world,
        world.repo(repo)?,
        world.issue(repo, number)?,
    )))
}

/// Oldest first. Others' pending reviews are not shown.
fn list(world: &mut World, call: &Call) -> Answer {
    let (repo, issue) = pull_of(world, call)?;
    let reviews = &world.pull(repo.id, issue.number)?.reviews;
    let submitted: Vec<_> = reviews
        .iter()
        .filter(|review| review.state != ReviewState::Pending)
        .collect();
    Ok(call.list(submitted, |review| json::review(world, repo, issue, review)))
}

#[derive(Deserialize)]
struct Writing {
    commit_id: Option<Sha>,
    #[serde(default)]
    body: String,
    event: Option<String>,
    #[serde(default)]
    comments: Vec<Inline>,
}

#[derive(Deserialize)]
struct Inline {
    path: String,
    body: String,
    line: Option<u64>,
    position: Option<u64>,
}

impl From<Inline> for NewInlineComment {
    fn from(
        Inline {
            path,
            body,
            line,
            position,
        }: Inline,
    ) -> Self {
        Self {
            path,
            body,
            line: line.or(position).unwrap_or(1),
        }
    }
}

fn verdict(event: &str) -> Result<ReviewEvent, Refused> {
    let message = "Variable $event of type PullRequestReviewEvent was provided invalid value";
    ReviewEvent::parse(event)
        .ok_or_else(|| Refused::unprocessable("Unprocessable Entity").error(message))
}

fn create(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = call.write(world, WRITE)?;
    let (number, new): (_, Writing) = (call.number()?, call.json()?);
    let verdict = new
        .event
        .as_deref()
        .filter(|event| *event != "PENDING")
        .map(verdict)
        .transpose()?;
    let comments = new
        .comments
        .into_iter()
        .map(NewInlineComment::from)
        .collect();
    let review = NewReview {
        verdict,
        body: new.body,
        commit: new.commit_id,
        comments,
    };
    let id = world.review(actor, repo, number, review)?;
    review_reply(world, repo, number, id)
}

fn review_reply(world: &World, repo: RepoId, number: PrNumber, id: ReviewId) -> Answer {
    let (found, issue) = (world.repo(repo)?, world.issue(repo, number)?);
    Ok(Reply::ok(json::review(
        world,
        found,
        issue,
        world.find_review(repo, number, id)?,
    )))
}

fn review_id(call: &Call) -> Result<ReviewId, Refused> {
    Ok(ReviewId::new(call.id("review")?))
}

fn show(world: &mut World, call: &Call) -> Answer {
    let repo = call.read(world, READ)?;
    review_reply(world, repo, call.number()?, review_id(call)?)
}

#[derive(Deserialize)]
struct Body {
    body: String,
}

fn edit(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = call.write(world, WRITE)?;
    let (number, id, new): (_, _, Body) = (call.number()?, review_id(call)?, call.json()?);
    world.edit_review(actor, repo, number, id, &new.body)?;
    review_reply(world, repo, number, id)
}

#[derive(Deserialize)]
struct Submission {
    event: String,
}

fn submit(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = call.write(world, WRITE)?;
    let (number, id, new): (_, _, Submission) = (call.number()?, review_id(call)?, call.json()?);
    world.submit_review(actor, repo, number, id, verdict(&new.event)?)?;
    review_reply(world, repo, number, id)
}

#[derive(Deserialize)]
struct Dismissal {
    /// GitHub demands one.
    #[serde(rename = "message")]
    _message: String,
}

fn dismiss(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = call.write(world, WRITE)?;
    let (number, id) = (call.number()?, review_id(call)?);
    call.json::<Dismissal>()?;
    world.dismiss_review(actor, repo, number, id)?;
    review_reply(world, repo, number, id)
}

fn comments_of_review(world: &mut World, call: &Call) -> Answer {
    let (repo, issue) = pull_of(world, call)?;
    let id = review_id(call)?;
    let comments = &world.pull(repo.id, issue.number)?.review_comments;
    let mine: Vec<_> = comments
        .iter()
        .filter(|comment| comment.review == id)
        .collect();
    Ok(call.list(mine, |comment| {
        json::review_comment(world, repo, issue, comment)
    }))
}

fn inline_comments(world: &mut World, call: &Call) -> Answer {
    let (repo, issue) = pull_of(world, call)?;
    let comments = world
        .pull(repo.id, issue.number)?
        .review_comments
        .iter()
        .collect();
    Ok(call.list(comments, |comment| {
        json::review_comment(world, repo, issue, comment)
    }))
}

#[derive(Deserialize)]
struct NewInline {
    #[serde(flatten)]
    comment: Inline,
    in_reply_to: Option<u64>,
}

fn comment_inline(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = call.write(world, WRITE)?;
    let (number, new): (_, NewInline) = (call.number()?, call.json()?);
    let id = world.comment_inline(
        actor,
        repo,
        number,
        new.comment.into(),
        new.in_reply_to.map(CommentId::new),
    )?;
    let (found, issue) = (world.repo(repo)?, world.issue(repo, number)?);
    let comment = world
        .pull(repo, number)?
        .review_comments
        .iter()
        .find(|comment| comment.id == id);
    let comment = comment.ok_or_else(Refused::not_found)?;
    Ok(Reply::created(json::review_comment(
        world, found, issue, comment,
    )))
}

fn show_inline(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(call.read(world, READ)?)?;
    let id = CommentId::new(call.id("id")?);
    let pulls = repo
        .issues
        .values()
        .filter_map(|issue| Some((issue, issue.pull.as_ref()?)));
    let mut found = pulls.flat_map(|(issue, pull)| {
        pull.review_comments
            .iter()
            .map(move |comment| (issue, comment))
    });
    let (issue, comment) = found
        .find(|(_, comment)| comment.id == id)
        .ok_or_else(Refused::not_found)?;
    Ok(Reply::ok(json::review_comment(world, repo, issue, comment)))
}
