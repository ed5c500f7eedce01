//! Labels of a repository and of an issue.

use serde::Deserialize;
use serde_json::Value;

use super::{
    Answer, Route,
    call::{Call, Reply},
    delete, get,
    issues::{READ, WRITE},
    patch, post, put,
};
use crate::{
    json,
    refused::Refused,
    world::{RepoId, World},
};
use loopgate_core::PrNumber;

pub const ROUTES: &[Route] = &[
    get("/repos/{owner}/{repo}/labels", list),
    post("/repos/{owner}/{repo}/labels", create),
    get("/repos/{owner}/{repo}/labels/{name}", show),
    patch("/repos/{owner}/{repo}/labels/{name}", edit),
    delete("/repos/{owner}/{repo}/labels/{name}", remove),
    get("/repos/{owner}/{repo}/issues/{number}/labels", of_issue),
    post("/repos/{owner}/{repo}/issues/{number}/labels", add),
    put("/repos/{owner}/{repo}/issues/{number}/labels", replace),
    delete("/repos/{owner}/{repo}/issues/{number}/labels", clear),
    delete(
        "/repos/{owner}/{repo}/issues/{number}/labels/{name}",
        take_off,
    ),
];

fn list(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(call.read(world, READ)?)?;
    Ok(call.list(repo.labels.values().collect(), |label| {
        json::label(world, repo, label)
    }))
}

#[derive(Deserialize)]
struct NewLabel {
    name: String,
    #[serde(default = "grey")]
    color: String,
    description: Option<String>,
}

fn grey() -> String {
    "ededed".to_owned()
}

fn create(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = call.write(world, WRITE)?;
    let new: NewLabel = call.json()?;
    let label = world.create_label(
        actor,
        repo,
        (&new.name, &new.color, new.description.as_deref()),
    )?;
    Ok(Reply::created(json::label(
        world,
        world.repo(repo)?,
        &label,
    )))
}

fn show(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(call.read(world, READ)?)?;
    let label = repo
        .label(call.param("name"))
        .ok_or_else(Refused::not_found)?;
    Ok(Reply::ok(json::label(world, repo, label)))
}

#[derive(Deserialize)]
struct LabelEdit {
    color: Option<String>,
    description: Option<String>,
}

fn edit(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = call.write(world, WRITE)?;
    let edit: LabelEdit = call.json()?;
    let label = world.edit_label(
        actor,
        repo,
        call.param("name"),
        (edit.color, edit.description),
    )?;
    Ok(Reply::ok(json::label(world, world.repo(repo)?, &label)))
}

fn remove(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = call.write(world, WRITE)?;
    world.delete_label(actor, repo, call.param("name"))?;
    Ok(Reply::no_content())
}

fn labels_of(world: &World, call: &Call, repo: RepoId, number: PrNumber) -> Answer {
    let (found, issue) = (world.repo(repo)?, world.issue(repo, number)?);
    let labels = issue
        .labels
        .iter()
        .filter_map(|name| found.label(name))
        .collect();
    Ok(call.list(labels, |label| json::label(world, found, label)))
}

fn of_issue(world: &mut World, call: &Call) -> Answer {
    let repo = call.read(world, READ)?;
    labels_of(world, call, repo, call.number()?)
}

/// Names, or objects with a name; in an object under `labels` or bare.
fn names(call: &Call) -> Result<Vec<String>, Refused> {
    let body: Value = call.json()?;
    let list = body
        .get("labels")
        .unwrap_or(&body)
        .as_array()
        .cloned()
        .unwrap_or_default();
    list.iter()
        .map(|entry| {
            entry
                .as_str()
                .or_else(|| entry.get("name")?.as_str())
                .map(str::to_owned)
        })
        .collect::<Option<_>>()
        .ok_or_else(|| {
            Refused::unprocessable("Invalid request.\n\nFor 'items', nil is not a string.")
        })
}

fn add(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = call.write(world, WRITE)?;
    let number = call.number()?;
    world.label(actor, repo, number, &names(call)?)?;
    labels_of(world, call, repo, number)
}

fn replace(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = call.write(world, WRITE)?;
    let (number, wanted) = (call.number()?, names(call)?);
    let gone = |name: &&String| {
        !wanted
            .iter()
            .any(|wanted| wanted.to_lowercase() == name.to_lowercase())
    };
    let gone: Vec<_> = world
        .issue(repo, number)?
        .labels
        .iter()
        .filter(gone)
        .cloned()
        .collect();
    for name in gone {
        world.unlabel(actor, repo, number, &name)?;
    }
    world.label(actor, repo, number, &wanted)?;
    labels_of(world, call, repo, number)
}

fn clear(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = call.write(world, WRITE)?;
    let number = call.number()?;
    for name in world.issue(repo, number)?.labels.clone() {
        world.unlabel(actor, repo, number, &name)?;
    }
    Ok(Reply::no_content())
}

fn take_off(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = call.write(world, WRITE)?;
    let number = call.number()?;
    world.unlabel(actor, repo, number, call.param("name"))?;
    labels_of(world, call, repo, number)
}
