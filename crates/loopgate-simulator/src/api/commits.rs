//! Commits, comparisons, and the checks of a commit.

use http::StatusCode;
use serde_json::{Value, json};

use super::{
    Answer, Route,
    call::{Call, Reply},
    caller::Needs,
    checks, get,
};
use crate::{
    git::{FileChange, Objects},
    json,
    refused::Refused,
    world::{
        RepoId, World,
        app::{Area, Level},
        repo::Repo,
    },
};
use loopgate_core::Sha;

pub const ROUTES: &[Route] = &[
    get("/repos/{owner}/{repo}/commits", list),
    get("/repos/{owner}/{repo}/commits/{*rest}", below_commit),
    get("/repos/{owner}/{repo}/compare/{*basehead}", compare),
];

const READ: Needs = &[(Area::Contents, Level::Read)];
const READ_PULLS: Needs = &[(Area::PullRequests, Level::Read)];
/// docs.github.com, REST, Compare two commits: at most 250 commits without paging, and 300 files.
const MAX_COMPARED_FILES: usize = 300;
const MAX_COMPARED_COMMITS: usize = 250;
const MAX_DIFF_LINES: usize = 20_000;

/// A ref may hold slashes, so what follows it is told apart here and not by the router.
fn below_commit(world: &mut World, call: &Call) -> Answer {
    let rest = call.param("rest");
    match rest.rsplit_once('/') {
        Some((name, "check-runs")) => checks::runs_of_ref(world, call, name),
        Some((name, "check-suites")) => checks::suites_of_ref(world, call, name),
        Some((name, "status")) => checks::combined(world, call, name),
        Some((name, "statuses")) => checks::statuses(world, call, name),
        Some((name, "pulls")) => pulls_of(world, call, name),
        _ => show(world, call, rest),
    }
}

fn refuse_empty(repo: &Repo) -> Result<(), Refused> {
    if repo.refs.is_empty() {
        return Err(Refused::conflict("Git Repository is empty."));
    }
    Ok(())
}

/// Newest first, filtered by path, author and time.
fn list(world: &mut World, call: &Call) -> Answer {
    let id = call.read(world, READ)?;
    let repo = world.repo(id)?;
    refuse_empty(repo)?;
    let start = call.query("sha").unwrap_or(&repo.default_branch);
    let tip = world
        .resolve(id, start)
        .ok_or_else(|| Refused::new(StatusCode::NOT_FOUND, "Not Found"))?;
    let (since, until) = (call.time("since"), call.time("until"));
    let objects = world.objects(repo);
    let wanted = |sha: &Sha| {
        let Some(commit) = objects.commit(*sha) else {
            return false;
        };
        let at = commit.committer.at;
        let by = call.query("author").is_none_or(|author| {
            commit.author.email == author
                || world
                    .account_by_email(&commit.author.email)
                    .is_some_and(|a| a.login.eq_ignore_ascii_case(author))
        });
        by && since.is_none_or(|since| at >= since)
            && until.is_none_or(|until| at <= until)
            && call
                .query("path")
                .is_none_or(|path| touches(world, repo, *sha, path))
    };
    let log: Vec<_> = objects.log(tip).into_iter().filter(wanted).collect();
    Ok(call.list(log, |sha| json::commit(world, repo, sha)))
}

/// Whether a commit changed what stands at a path against every parent.
fn touches(world: &World, repo: &Repo, sha: Sha, path: &str) -> bool {
    let objects = world.objects(repo);
    let here = objects.at_path(sha, path);
    match objects.commit(sha).map(|commit| commit.parents.as_slice()) {
        None | Some([]) => here.is_some(),
        Some(parents) => parents
            .iter()
            .all(|parent| objects.at_path(*parent, path) != here),
    }
}

fn show(world: &mut World, call: &Call, name: &str) -> Answer {
    let id = call.read(world, READ)?;
    let repo = world.repo(id)?;
    refuse_empty(repo)?;
    let sha = world.commit_named(id, name)?;
    if call.accepts("sha") {
        return Ok(Reply::raw(
            "application/vnd.github.sha; charset=utf-8",
            sha.to_string().into(),
        ));
    }
    let objects = world.objects(repo);
    let parent = objects
        .commit(sha)
        .and_then(|commit| commit.parents.first().copied());
    let changes = objects.diff(parent, sha);
    if call.accepts("diff") {
        return diff_reply(objects, &changes);
    }
    let lines: Vec<_> = changes
        .iter()
        .map(|change| objects.line_diff(change))
        .collect();
    let totals = (
        lines.iter().map(|l| l.additions).sum(),
        lines.iter().map(|l| l.deletions).sum(),
    );
    let (page, headers) = call.page(changes);
    let files = files(world, repo, sha, &page);
    let reply = Reply::ok(json::commit_detail(world, repo, sha, totals, files));
    Ok(headers
        .into_iter()
        .fold(reply, |reply, (name, value)| reply.header(name, value)))
}

fn files(world: &World, repo: &Repo, at: Sha, changes: &[FileChange]) -> Vec<Value> {
    changes
        .iter()
        .map(|change| json::changed_file(world, repo, at, change))
        .collect()
}

/// Pull requests that hold a commit: open ones from whose branch it is, and merged ones that brought it.
fn pulls_of(world: &mut World, call: &Call, name: &str) -> Answer {
    let id = call.read(world, READ_PULLS)?;
    let repo = world.repo(id)?;
    let sha = world.commit_named(id, name)?;
    let objects = world.objects(repo);
    // Of a commit that only a fork has GitHub lists nothing here, although the pull request's ref holds it.
    let here = repo
        .refs
        .iter()
        .any(|(name, tip)| name.starts_with("refs/heads/") && objects.is_fast_forward(sha, *tip));
    let holds = |issue: &&crate::world::issue::Issue| {
        issue.pull.as_ref().is_some_and(|pull| {
            pull.merge.is_some_and(|merge| merge.commit == sha)
                || (objects.is_fast_forward(sha, pull.head.sha)
                    && !objects.is_fast_forward(sha, pull.base_sha))
        })
    };
    let found: Vec<_> = repo
        .issues
        .values()
        .filter(|issue| here && holds(issue))
        .collect();
    Ok(call.list(found, |issue| json::pull_brief(world, repo, issue)))
}

fn compare(world: &mut World, call: &Call) -> Answer {
    let id = call.read(world, READ)?;
    let (base, head) = call
        .param("basehead")
        .split_once("...")
        .ok_or_else(Refused::not_found)?;
    let (base, head) = (end_of(world, id, base)?, end_of(world, id, head)?);
    let repo = world.repo(id)?;
    let objects = world.objects(repo);
    let no_ancestor = || {
        Refused::new(
            StatusCode::NOT_FOUND,
            format!("No common ancestor between {base} and {head}."),
        )
    };
    let found = objects.compare(base, head).ok_or_else(no_ancestor)?;
    let (commits, headers) = match (call.query("page"), call.query("per_page")) {
        (None, None) => (
            found
                .ahead
                .iter()
                .copied()
                .take(MAX_COMPARED_COMMITS)
                .collect(),
            Vec::new(),
        ),
        _ => call.page(found.ahead.clone()),
    };
    if call.accepts("diff") {
        return diff_reply(objects, &objects.diff(Some(found.merge_base), head));
    }
    // Files are on the first page only (docs.github.com, REST, Compare two commits).
    let first = call.query("page").is_none_or(|page| page == "1");
    let mut changes = if first {
        objects.diff(Some(found.merge_base), head)
    } else {
        Vec::new()
    };
    changes.truncate(MAX_COMPARED_FILES);
    let files = files(world, repo, head, &changes);
    let reply = Reply::ok(json::comparison(
        world,
        repo,
        (base, head),
        &found,
        (&commits, files),
    ));
    Ok(headers
        .into_iter()
        .fold(reply, |reply, (name, value)| reply.header(name, value)))
}

/// The `diff` media type: text, or 406 if there is too much of it
/// (docs.github.com, Limits for viewing content and diffs in a repository: 300 files, 20,000 lines).
pub(super) fn diff_reply(objects: &Objects, changes: &[FileChange]) -> Answer {
    let too_large = |what: &str| {
        let error = json!({ "resource": "PullRequest", "field": "diff", "code": "too_large" });
        let message = format!("Sorry, the diff exceeded the maximum number of {what}");
        Err(Refused::new(StatusCode::NOT_ACCEPTABLE, message).error(error))
    };
    if changes.len() > MAX_COMPARED_FILES {
        return too_large("files (300).");
    }
    let text = objects.unified_diff(changes);
    if text.lines().count() > MAX_DIFF_LINES {
        return too_large("lines (20000).");
    }
    Ok(Reply::raw(
        "application/vnd.github.diff; charset=utf-8",
        text.into(),
    ))
}

/// `branch`, a sha, or `user:branch` of a fork.
fn end_of(world: &World, repo: RepoId, name: &str) -> Result<Sha, Refused> {
    let here = world.repo(repo)?;
    let source = match name.split_once(':') {
        Some((owner, branch)) => {
            let owner = world.user_id(owner)?;
            let same = |other: &&Repo| other.owner == owner && other.network == here.network;
            world
                .repos
                .values()
                .find(same)
                .map(|fork| (fork.id, branch))
        }
        None => Some((repo, name)),
    };
    source
        .and_then(|(repo, name)| world.resolve(repo, name))
        .ok_or_else(Refused::not_found)
}
