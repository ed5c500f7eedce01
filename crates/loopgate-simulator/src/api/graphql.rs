//! What is asked of GraphQL: who edited comments, newest first
//! (<https://docs.github.com/en/graphql/reference/objects#usercontentedit>), who wrote commits
//! (<https://docs.github.com/en/graphql/reference/objects#commit>, `authors`), and as what a pull request was merged
//! (<https://docs.github.com/en/graphql/reference/objects#pullrequest>, `mergeCommit`).

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Answer, Route,
    call::{Call, Reply},
    post,
};
use crate::{
    json,
    world::{World, account::AccountKind, journal::What},
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
}

fn answer(world: &mut World, call: &Call) -> Answer {
    let Question { variables } = call.json()?;
    let data = match variables {
        Variables::Edits { ids } => {
            json!({ "nodes": ids.iter().map(|id| node(world, id)).collect::<Vec<_>>() })
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
