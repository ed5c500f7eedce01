//! Pull requests: read, open, edit, merge; their files and commits.

use http::StatusCode;
use serde::Deserialize;
use serde_json::json;

use super::{
    Answer, Route,
    call::{Call, Reply},
    caller::Needs,
    commits::diff_reply,
    get, patch, post, put,
};
use crate::{
    json,
    operations::{
        merging::{MergeMethod, MergeOrder},
        pulls::{NewPull, PullEdit},
    },
    refused::Refused,
    world::{
        RepoId, World,
        app::{Area, Level},
        issue::{Issue, Readiness},
        repo::Repo,
    },
};
use loopgate_core::{PrNumber, Sha};

pub const ROUTES: &[Route] = &[
    get("/repos/{owner}/{repo}/pulls", list),
    post("/repos/{owner}/{repo}/pulls", open),
    get("/repos/{owner}/{repo}/pulls/{number}", show),
    patch("/repos/{owner}/{repo}/pulls/{number}", edit),
    get("/repos/{owner}/{repo}/stacks", stacks),
    get("/repos/{owner}/{repo}/pulls/{number}/files", files),
    get("/repos/{owner}/{repo}/pulls/{number}/commits", commits),
    get("/repos/{owner}/{repo}/pulls/{number}/merge", is_merged),
    put("/repos/{owner}/{repo}/pulls/{number}/merge", merge),
    put(
        "/repos/{owner}/{repo}/pulls/{number}/update-branch",
        update_branch,
    ),
];

pub(super) const READ: Needs = &[(Area::PullRequests, Level::Read)];
pub(super) const WRITE: Needs = &[(Area::PullRequests, Level::Write)];
const MERGE: Needs = &[(Area::Contents, Level::Write)];
/// docs.github.com, REST, List pull requests files: "a maximum of 3000 files".
const MAX_FILES: usize = 3_000;
/// docs.github.com, REST, List commits on a pull request: "a maximum of 250 commits".
const MAX_COMMITS: usize = 250;

fn list(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(call.read(world, READ)?)?;
    let wanted = |issue: &&Issue| {
        let Some(pull) = &issue.pull else {
            return false;
        };
        let head = format!("{}:{}", world.login(pull.head.owner), pull.head.branch);
        call.wants(issue)
            && call.query("head").is_none_or(|wanted| wanted == head)
            && call
                .query("base")
                .is_none_or(|wanted| wanted == pull.base_branch)
    };
    let mut found: Vec<_> = repo.issues.values().filter(wanted).collect();
    if call.query("sort") == Some("updated") {
        found.sort_by_key(|issue| issue.updated_at);
    }
    // Newest first, unless something else than their creation sorts them or the direction is given.
    let ascending = call
        .query("direction")
        .map_or(call.query("sort").is_some_and(|s| s != "created"), |d| {
            d == "asc"
        });
    if !ascending {
        found.reverse();
    }
    Ok(call.list(found, |issue| json::pull_brief(world, repo, issue)))
}

fn stacks(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(call.read(world, READ)?)?;
    let wanted = call
        .query("pull_request")
        .map(|number| number.parse().map(PrNumber::new))
        .transpose();
    let wanted = wanted.map_err(|_| Refused::unprocessable("Invalid pull request number"))?;
    let found = repo
        .stacks
        .iter()
        .filter(|stack| wanted.is_none_or(|number| stack.layers.contains(&number)))
        .collect();
    Ok(call.list(found, |stack| json::stack(world, repo, stack)))
}

#[derive(Deserialize)]
struct Opening {
    title: String,
    head: String,
    base: String,
    body: Option<String>,
    #[serde(default)]
    draft: bool,
}

fn open(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = call.write(world, WRITE)?;
    let Opening {
        title,
        head,
        base,
        body,
        draft,
    } = call.json()?;
    let (head_repo, head) = head_of(world, repo, &head)?;
    let readiness = if draft {
        Readiness::Draft
    } else {
        Readiness::Ready
    };
    let number = world.open_pull(
        actor,
        repo,
        NewPull {
            title,
            body,
            head_repo,
            head,
            base,
            readiness,
        },
    )?;
    Ok(Reply::created(json::pull(
        world,
        world.repo(repo)?,
        world.issue(repo, number)?,
    )))
}

/// `branch`, or `user:branch` of a fork.
fn head_of(world: &World, repo: RepoId, head: &str) -> Result<(RepoId, String), Refused> {
    let Some((owner, branch)) = head.split_once(':') else {
        return Ok((repo, head.to_owned()));
    };
    let here = world.repo(repo)?;
    let invalid = || Refused::invalid("PullRequest", "head", "invalid");
    let owner = world.user_id(owner).map_err(|_| invalid())?;
    let source = world
        .repos
        .values()
        .find(|other| other.owner == owner && other.network == here.network);
    Ok((source.ok_or_else(invalid)?.id, branch.to_owned()))
}

/// The repository and the pull request of the path.
pub(super) fn pull_of<'w>(world: &'w World, call: &Call) -> Result<(&'w Repo, &'w Issue), Refused> {
    let repo = world.repo(call.read(world, READ)?)?;
    let number = call.number()?;
    world.pull(repo.id, number)?;
    Ok((repo, world.issue(repo.id, number)?))
}

fn show(world: &mut World, call: &Call) -> Answer {
    let (repo, issue) = pull_of(world, call)?;
    if call.accepts("diff") {
        return diff_reply(
            world.objects(repo),
            &world.pull_changes(repo.id, issue.number)?,
        );
    }
    Ok(Reply::ok(json::pull(world, repo, issue)))
}

#[derive(Deserialize)]
struct Edit {
    title: Option<String>,
    body: Option<String>,
    base: Option<String>,
    state: Option<String>,
}

fn edit(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = call.write(world, WRITE)?;
    let number = call.number()?;
    let Edit {
        title,
        body,
        base,
        state,
    } = call.json()?;
    world.edit_pull(actor, repo, number, PullEdit { title, body, base })?;
    match state.as_deref() {
        None => {}
        Some("open") => world.reopen(actor, repo, number)?,
        Some("closed") => world.close(actor, repo, number)?,
        Some(_) => return Err(Refused::invalid("PullRequest", "state", "invalid")),
    }
    Ok(Reply::ok(json::pull(
        world,
        world.repo(repo)?,
        world.issue(repo, number)?,
    )))
}

fn files(world: &mut World, call: &Call) -> Answer {
    let (repo, issue) = pull_of(world, call)?;
    let head = world.pull(repo.id, issue.number)?.head.sha;
    let mut changes = world.pull_changes(repo.id, issue.number)?;
    changes.truncate(MAX_FILES);
    Ok(call.list(changes, |change| {
        json::changed_file(world, repo, head, &change)
    }))
}

fn commits(world: &mut World, call: &Call) -> Answer {
    let (repo, issue) = pull_of(world, call)?;
    let pull = world.pull(repo.id, issue.number)?;
    let mut shas = world
        .objects(repo)
        .compare(pull.base_sha, pull.head.sha)
        .map(|c| c.ahead)
        .unwrap_or_default();
    shas.truncate(MAX_COMMITS);
    Ok(call.list(shas, |sha| json::commit(world, repo, sha)))
}

fn is_merged(world: &mut World, call: &Call) -> Answer {
    let (repo, issue) = pull_of(world, call)?;
    match world.pull(repo.id, issue.number)?.merge {
        Some(_) => Ok(Reply::no_content()),
        None => Err(Refused::not_found()),
    }
}

#[derive(Deserialize)]
struct Merging {
    commit_title: Option<String>,
    commit_message: Option<String>,
    sha: Option<Sha>,
    #[serde(default)]
    merge_method: Method,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Method {
    #[default]
    Merge,
    Squash,
    Rebase,
}

fn merge(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = call.write(world, MERGE)?;
    let number = call.number()?;
    let Merging {
        commit_title: title,
        commit_message: message,
        sha: head,
        merge_method,
    } = call.json()?;
    let method = match merge_method {
        Method::Merge => MergeMethod::Merge,
        Method::Squash => MergeMethod::Squash,
        Method::Rebase => MergeMethod::Rebase,
    };
    let sha = world.merge(
        actor,
        repo,
        number,
        MergeOrder {
            method,
            head,
            title,
            message,
        },
    )?;
    Ok(Reply::ok(
        json!({ "sha": sha, "merged": true, "message": "Pull Request successfully merged" }),
    ))
}

#[derive(Deserialize)]
struct Update {
    expected_head_sha: Option<Sha>,
}

fn update_branch(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = call.write(world, WRITE)?;
    let (number, update): (_, Update) = (call.number()?, call.json()?);
    let head = world.pull(repo, number)?.head.sha;
    if update
        .expected_head_sha
        .is_some_and(|expected| expected != head)
    {
        return Err(Refused::unprocessable(
            "expected head sha didn't match current head ref.",
        ));
    }
    world.update_branch(actor, repo, number)?;
    let url = format!(
        "{}/repos/{}/pulls/{number}",
        world.base_url,
        world.full_name(world.repo(repo)?)
    );
    let answer = json!({ "message": "Updating pull request branch.", "url": url });
    Ok(Reply::ok(answer).status(StatusCode::ACCEPTED))
}
