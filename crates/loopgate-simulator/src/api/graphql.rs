//! The one question that is asked of GraphQL: who edited comments, newest first
//! (<https://docs.github.com/en/graphql/reference/objects#usercontentedit>).

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
    world::{World, journal::What},
};
use loopgate_core::CommentId;

pub const ROUTES: &[Route] = &[post("/graphql", edits)];

#[derive(Deserialize)]
struct Question {
    variables: Variables,
}

#[derive(Deserialize)]
struct Variables {
    ids: Vec<String>,
}

fn edits(world: &mut World, call: &Call) -> Answer {
    let Question { variables } = call.json()?;
    let nodes: Vec<Value> = variables.ids.iter().map(|id| node(world, id)).collect();
    Ok(Reply::ok(json!({ "data": { "nodes": nodes } })))
}

fn node(world: &World, id: &str) -> Value {
    let plain = STANDARD.decode(id).ok().and_then(|bytes| String::from_utf8(bytes).ok());
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
