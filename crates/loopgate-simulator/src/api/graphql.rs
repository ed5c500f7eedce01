//! What is asked of GraphQL: who edited comments, newest first
//! (<https://docs.github.com/en/graphql/reference/objects#usercontentedit>), who wrote commits
//! (<https://docs.github.com/en/graphql/reference/objects#commit>, `authors`), and as what a pull request was merged
//! (<https://docs.github.com/en/graphql/reference/objects#pullrequest>, `mergeCommit`), and how it left the merge queue
//! (`isInMergeQueue`, `RemovedFromMergeQueueEvent`). And the one mutation, `updateRefs`.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Answer, Route,
    call::{Call, Reply},
    caller::Caller,
    post,
};
use crate::{
    json,
    refused::Refused,
    world::{
        World,
        account::AccountKind,
        app::{Actor, Area, Level},
        journal::What,
        repo::Repo,
    },
};
use loopgate_core::{CommentId, PrNumber, Sha};

pub const ROUTES: &[Route] = &[post("/graphql", answer)];

#[derive(Deserialize)]
struct Question {
    variables: Variables,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Variables {
    Edits { ids: Vec<String> },
    MergeCommit { owner: String, name: String, number: PrNumber },
    Queue { owner: String, name: String, queued: PrNumber },
    UpdateRefs { input: UpdateRefs },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UpdateRefs {
    repository_id: String,
    ref_updates: Vec<RefUpdate>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RefUpdate {
    name: String,
    before_oid: Option<Sha>,
    after_oid: Sha,
    #[serde(default)]
    force: bool,
}

/// Stands for a ref that does not exist.
const NO_OBJECT: Sha = Sha::from_bytes([0; 20]);

fn answer(world: &mut World, call: &Call) -> Answer {
    let Question { variables } = call.json()?;
    let data = match variables {
        Variables::UpdateRefs { input } => return Ok(Reply::ok(update_refs(world, call, &input))),
        Variables::Edits { ids } => {
            json!({ "nodes": ids.iter().map(|id| node(world, id)).collect::<Vec<_>>() })
        }
        Variables::Queue { owner, name, queued } => {
            let issue = world.find_repo(&owner, &name).and_then(|repo| repo.issue(queued));
            let pull = issue.and_then(|issue| issue.pull.as_ref()).map(|pull| {
                let removal = pull.removal.as_ref().map(|removal| {
                    json!({
                        "createdAt": json::time(removal.at),
                        "reason": removal.reason.to_lowercase(),
                        "actor": { "login": world.login(removal.by) },
                    })
                });
                json!({ "isInMergeQueue": pull.is_queued, "timelineItems": { "nodes": Vec::from_iter(removal) } })
            });
            json!({ "repository": { "pullRequest": pull } })
        }
        Variables::MergeCommit { owner, name, number } => {
            let issue = world.find_repo(&owner, &name).and_then(|repo| repo.issue(number));
            let merge = issue
                .and_then(|issue| issue.pull.as_ref())
                .and_then(|pull| pull.merge)
                .map(|merge| json!({ "oid": merge.commit }));
            json!({ "repository": { "pullRequest": { "mergeCommit": merge } } })
        }
    };
    Ok(Reply::ok(json!({ "data": data })))
}

/// Moves refs, all or none of them; the answer to a refusal is a 200 that holds no data
/// (<https://docs.github.com/en/graphql/reference/mutations#updaterefs>).
fn update_refs(world: &mut World, call: &Call, input: &UpdateRefs) -> Value {
    match updated_refs(world, call, input) {
        Ok(()) => json!({ "data": { "updateRefs": { "clientMutationId": null } } }),
        Err(refused) => json!({
            "data": { "updateRefs": null },
            "errors": [{ "type": "UNPROCESSABLE", "path": ["updateRefs"], "message": refused.message }],
        }),
    }
}

fn updated_refs(world: &mut World, call: &Call, input: &UpdateRefs) -> Result<(), Refused> {
    let is_named = |repo: &&Repo| json::node_id("Repository", repo.id) == input.repository_id;
    let repo = world.repos.values().find(is_named).ok_or_else(Refused::not_found)?;
    let may_write = call.caller.reaches(world, repo) && call.caller.has(&[(Area::Contents, Level::Write)]);
    let (&Caller::Installation { id, .. }, true) = (&call.caller, may_write) else {
        return Err(Refused::forbidden("Resource not accessible by integration"));
    };
    let (actor, repo) = (Actor::App(id), repo.id);
    world.need_push(actor, repo)?;
    let given = |sha: Sha| Some(sha).filter(|sha| *sha != NO_OBJECT);
    for RefUpdate { name, before_oid, after_oid, force } in &input.ref_updates {
        if !name.starts_with("refs/") {
            return Err(Refused::unprocessable(format!("{name} is not a valid ref name.")));
        }
        let now = world.ref_target(repo, name);
        if before_oid.is_some_and(|before| given(before) != now) {
            return Err(Refused::unprocessable(format!("{name} is not at the expected object")));
        }
        let (Some(after), objects) = (given(*after_oid), world.objects(world.repo(repo)?)) else { continue };
        if objects.commit(after).is_none() {
            return Err(Refused::unprocessable("Object does not exist"));
        }
        if !force && now.is_some_and(|now| !objects.is_fast_forward(now, after)) {
            return Err(Refused::unprocessable("Update is not a fast forward"));
        }
    }
    for update in &input.ref_updates {
        world.set_ref(actor, repo, &update.name, given(update.after_oid))?;
    }
    Ok(())
}

fn node(world: &World, id: &str) -> Value {
    let plain = STANDARD.decode(id).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let commit = plain.as_ref().and_then(|plain| plain.strip_prefix("Commit:")?.parse().ok());
    if let Some(commit) = commit {
        return authors(world, commit);
    }
    let comment = plain.and_then(|plain| plain.strip_prefix("IssueComment:")?.parse().ok().map(CommentId::new));
    let Some(comment) = comment else { return Value::Null };
    let of_it = world.journal.iter().rev().filter(|happening| happening.what == What::CommentEdited(comment));
    let edits: Vec<Value> = of_it
        .map(|edit| {
            let editor = json!({ "login": world.login(edit.actor), "databaseId": edit.actor });
            json!({ "editedAt": json::time(edit.at), "editor": editor })
        })
        .collect();
    json!({ "databaseId": comment, "userContentEdits": { "nodes": edits } })
}

/// The author and the co-authors, each with the account that the address belongs to.
fn authors(world: &World, sha: Sha) -> Value {
    let Some(commit) = world.networks.iter().find_map(|objects| objects.commit(sha)) else { return Value::Null };
    let trailers = commit.message.lines().filter_map(|line| {
        let (key, who) = line.split_once(':')?;
        let is_trailer = key.trim().eq_ignore_ascii_case("co-authored-by");
        is_trailer.then(|| Some(who.rsplit_once('<')?.1.split_once('>')?.0.trim().to_owned()))?
    });
    let node = |email: String| {
        let account = world.account_by_email(&email).filter(|account| matches!(account.kind, AccountKind::User));
        let user = account.map(|account| json!({ "login": account.login, "databaseId": account.id }));
        json!({ "email": email, "user": user })
    };
    let nodes: Vec<Value> = std::iter::once(commit.author.email.clone()).chain(trailers).map(node).collect();
    json!({ "authors": { "nodes": nodes } })
}
