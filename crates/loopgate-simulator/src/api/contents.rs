//! Files and directories at a commit.

use super::{
    Answer, Route,
    call::{Call, Reply},
    caller::Needs,
    get,
};
use crate::{
    git::Mode,
    json,
    refused::Refused,
    world::{
        World,
        app::{Area, Level},
    },
};

pub const ROUTES: &[Route] = &[
    get("/repos/{owner}/{repo}/contents", show),
    get("/repos/{owner}/{repo}/contents/", show),
    get("/repos/{owner}/{repo}/contents/{*path}", show),
];

const READ: Needs = &[(Area::Contents, Level::Read)];

fn show(world: &mut World, call: &Call) -> Answer {
    let id = call.read(world, READ)?;
    let repo = world.repo(id)?;
    if repo.refs.is_empty() {
        return Err(Refused::new(
            http::StatusCode::NOT_FOUND,
            "This repository is empty.",
        ));
    }
    let reference = call.query("ref").unwrap_or(&repo.default_branch);
    let missing = || {
        Refused::new(
            http::StatusCode::NOT_FOUND,
            format!("No commit found for the ref {reference}"),
        )
    };
    let commit = world.resolve(id, reference).ok_or_else(missing)?;
    let path = call.param("path").trim_matches('/');
    let entry = world
        .objects(repo)
        .at_path(commit, path)
        .ok_or_else(Refused::not_found)?;
    if entry.mode == Mode::Directory {
        return Ok(Reply::ok(json::directory(
            world, repo, reference, path, entry.sha,
        )));
    }
    match world.objects(repo).blob(entry.sha) {
        Some(content) if call.accepts("raw") => Ok(Reply::raw(
            "application/vnd.github.raw; charset=utf-8",
            content.clone(),
        )),
        _ => Ok(Reply::ok(json::content(
            world, repo, reference, path, entry,
        ))),
    }
}
