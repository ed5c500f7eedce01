//! Repositories, branches, rules, forks.

use http::StatusCode;

use super::{
    Answer, Route,
    call::{Call, Reply},
    caller::Needs,
    get, post,
};
use crate::{
    json,
    refused::Refused,
    world::{
        World,
        app::{Area, Level},
        repo::{Activity, ProtectionSource, Repo},
    },
};

pub const ROUTES: &[Route] = &[
    get("/repos/{owner}/{repo}", show),
    post("/repos/{owner}/{repo}/forks", fork),
    get("/repos/{owner}/{repo}/branches", branches),
    get("/repos/{owner}/{repo}/activity", activity),
    get("/repos/{owner}/{repo}/branches/{*branch}", below_branch),
    get("/repos/{owner}/{repo}/rules/branches/{*branch}", rules),
    get("/repos/{owner}/{repo}/rulesets", rulesets),
    get("/meta", meta),
];

const METADATA: Needs = &[(Area::Metadata, Level::Read)];
const CONTENTS: Needs = &[(Area::Contents, Level::Read)];
const ADMINISTRATION: Needs = &[(Area::Administration, Level::Read)];

fn show(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(call.read(world, METADATA)?)?;
    Ok(Reply::ok(json::repo_full(
        world,
        repo,
        call.caller.role(world, repo),
    )))
}

fn fork(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = call.write(world, METADATA)?;
    let fork = world.fork(actor, repo)?;
    let fork = world.repo(fork)?;
    Ok(
        Reply::ok(json::repo_full(world, fork, call.caller.role(world, fork)))
            .status(StatusCode::ACCEPTED),
    )
}

fn branches(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(call.read(world, CONTENTS)?)?;
    let heads = repo
        .refs
        .iter()
        .filter_map(|(name, sha)| Some((name.strip_prefix("refs/heads/")?, *sha)))
        .collect();
    Ok(call.list(heads, |(name, sha)| {
        let protected = repo.protections.contains_key(name);
        let url = format!("{}/repos/{}/commits/{sha}", world.base_url, world.full_name(repo));
        serde_json::json!({ "name": name, "commit": { "sha": sha, "url": url }, "protected": protected })
    }))
}

/// Newest first, of one ref if it is named (docs.github.com, REST, Repositories: "List repository activities").
fn activity(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(call.read(world, CONTENTS)?)?;
    let wanted = call
        .query("ref")
        .map(|name| name.strip_prefix("refs/heads/").unwrap_or(name));
    let of_ref = |one: &&Activity| wanted.is_none_or(|wanted| one.branch == wanted);
    let oldest_first = call.query("direction") == Some("asc");
    let mut moves: Vec<_> = repo.activities.iter().filter(of_ref).collect();
    if !oldest_first {
        moves.reverse();
    }
    Ok(call.list(moves, |one| json::activity(world, one)))
}

/// A branch's name may hold slashes.
fn below_branch(world: &mut World, call: &Call) -> Answer {
    match call.param("branch").strip_suffix("/protection") {
        Some(branch) => protection(world, call, branch),
        None => branch(world, call, call.param("branch")),
    }
}

fn branch(world: &mut World, call: &Call, name: &str) -> Answer {
    let repo = world.repo(call.read(world, CONTENTS)?)?;
    match (repo.branch(name), repo.renamed_branches.get(name)) {
        (Some(tip), _) => Ok(Reply::ok(json::branch(world, repo, name, tip))),
        (None, Some(to)) => Err(moved_branch(world, repo, to)),
        (None, None) => Err(Refused::new(StatusCode::NOT_FOUND, "Branch not found")),
    }
}

/// 301 to a branch's present name
/// (<https://docs.github.com/en/rest/branches/branches#get-a-branch>).
fn moved_branch(world: &World, repo: &Repo, name: &str) -> Refused {
    let location = format!(
        "{}/repositories/{}/branches/{name}",
        world.base_url, repo.id
    );
    Refused::new(StatusCode::MOVED_PERMANENTLY, "Moved Permanently").header("location", location)
}

/// Classic protection only; rulesets answer through [`rules`].
fn protection(world: &mut World, call: &Call, name: &str) -> Answer {
    let repo = world.repo(call.read(world, ADMINISTRATION)?)?;
    repo.branch(name)
        .ok_or_else(|| Refused::new(StatusCode::NOT_FOUND, "Branch not found"))?;
    let classic = repo
        .protections
        .get(name)
        .filter(|rules| rules.source == ProtectionSource::Classic);
    let found =
        classic.ok_or_else(|| Refused::new(StatusCode::NOT_FOUND, "Branch not protected"))?;
    Ok(Reply::ok(json::protection(world, repo, name, found)))
}

fn rulesets(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(call.read(world, METADATA)?)?;
    let sets = repo
        .protections
        .iter()
        .filter(|(_, rules)| rules.source == ProtectionSource::Ruleset)
        .collect();
    Ok(call.list(sets, |(branch, _)| json::ruleset(world, repo, branch)))
}

fn meta(_: &mut World, _: &Call) -> Answer {
    Ok(Reply::ok(
        serde_json::json!({ "verifiable_password_authentication": false }),
    ))
}

fn rules(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(call.read(world, METADATA)?)?;
    Ok(Reply::ok(json::rules(world, repo, call.param("branch"))))
}
