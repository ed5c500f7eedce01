//! What is asked of GraphQL: who edited comments, newest first
//! (<https://docs.github.com/en/graphql/reference/objects#usercontentedit>), who wrote commits
//! (<https://docs.github.com/en/graphql/reference/objects#commit>, `authors`), review threads
//! (<https://docs.github.com/en/graphql/reference/objects#pullrequestreviewthread>), as what a pull request was merged
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
        issue::{Issue, ReviewComment},
        journal::What,
        repo::Repo,
    },
};
use loopgate_core::{CommentId, PrNumber, Sha};

pub const ROUTES: &[Route] = &[post("/graphql", answer)];

#[derive(Deserialize)]
struct Question {
    query: String,
    variables: Variables,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Variables {
    Edits {
        ids: Vec<String>,
    },
    /// Of a pull request: its review threads, of which `before` is a page's cursor, its merge queue, or what it was
    /// merged as.
    OfPull {
        owner: String,
        name: String,
        number: PrNumber,
        before: Option<String>,
    },
    UpdateRefs {
        input: UpdateRefs,
    },
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
    let Question { query, variables } = call.json()?;
    let data = match variables {
        Variables::UpdateRefs { input } => return Ok(Reply::ok(update_refs(world, call, &input))),
        Variables::Edits { ids } => {
            json!({ "nodes": ids.iter().map(|id| node(world, id)).collect::<Vec<_>>() })
        }
        Variables::OfPull {
            owner,
            name,
            number,
            before,
        } if query.contains("reviewThreads") => {
            let repo = world
                .find_repo(&owner, &name)
                .filter(|repo| call.caller.reaches(world, repo));
            let found = repo.and_then(|repo| Some((repo, repo.issue(number)?)));
            let threads = found
                .and_then(|(repo, issue)| review_threads(world, repo, issue, before.as_deref()));
            json!({ "repository": { "pullRequest": threads.map(|threads| json!({ "reviewThreads": threads })) } })
        }
        Variables::OfPull {
            owner,
            name,
            number,
            ..
        } if query.contains("isInMergeQueue") => {
            let issue = world
                .find_repo(&owner, &name)
                .and_then(|repo| repo.issue(number));
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
        Variables::OfPull {
            owner,
            name,
            number,
            ..
        } => {
            let issue = world
                .find_repo(&owner, &name)
                .and_then(|repo| repo.issue(number));
            let merge = issue
                .and_then(|issue| issue.pull.as_ref())
                .and_then(|pull| pull.merge)
                .map(|merge| json!({ "oid": merge.commit }));
            json!({ "repository": { "pullRequest": { "mergeCommit": merge } } })
        }
    };
    Ok(Reply::ok(json!({ "data": data })))
}

/// Threads of one page.
const PAGE: usize = 100;

/// A page of the newest threads in front of a cursor, which is a thread's place among all.
fn review_threads(
    world: &World,
    repo: &Repo,
    issue: &Issue,
    before: Option<&str>,
) -> Option<Value> {
    let pull = issue.pull.as_ref()?;
    let objects = world.objects(repo);
    let begins: Vec<&ReviewComment> = pull
        .review_comments
        .iter()
        .filter(|one| one.in_reply_to.is_none())
        .collect();
    let end = before
        .and_then(|cursor| cursor.parse().ok())
        .unwrap_or(begins.len())
        .min(begins.len());
    let start = end.saturating_sub(PAGE);
    let comment_json = |comment: &ReviewComment| {
        let login = world.login(comment.author);
        let (kind, login) = login
            .strip_suffix("[bot]")
            .map_or(("User", login), |slug| ("Bot", slug));
        let author = json!({ "__typename": kind, "login": login, "databaseId": comment.author });
        let url = json::review_comment(world, repo, issue, comment)["html_url"].take();
        json!({ "body": comment.body, "url": url, "originalCommit": { "oid": comment.commit }, "author": author })
    };
    // A line that the head's file has no more is outdated.
    let text_at = |commit: Sha, path: &str| {
        let blob = objects
            .at_path(commit, path)
            .and_then(|entry| objects.blob(entry.sha));
        blob.map(|blob| String::from_utf8_lossy(blob).into_owned())
            .unwrap_or_default()
    };
    let is_outdated = |comment: &ReviewComment| {
        let (then, now) = (
            text_at(comment.commit, &comment.path),
            text_at(pull.head.sha, &comment.path),
        );
        let line = usize::try_from(comment.line)
            .ok()
            .and_then(|line| then.lines().nth(line.checked_sub(1)?));
        line.is_some_and(|line| now.lines().all(|other| other != line))
    };
    let node = |begin: &&ReviewComment| {
        let of_thread =
            |one: &&ReviewComment| one.id == begin.id || one.in_reply_to == Some(begin.id);
        let all: Vec<&ReviewComment> = pull.review_comments.iter().filter(of_thread).collect();
        let newest: Vec<Value> = all[all.len().saturating_sub(2)..]
            .iter()
            .map(|one| comment_json(one))
            .collect();
        let by = begin.resolved_by.map(
            |by| json!({ "login": world.login(by).trim_end_matches("[bot]"), "databaseId": by }),
        );
        let line = (!is_outdated(begin)).then_some(begin.line);
        json!({
            "isResolved": begin.resolved_by.is_some(), "isOutdated": line.is_none(), "path": begin.path, "line": line,
            "originalLine": begin.line, "resolvedBy": by, "begin": { "nodes": [comment_json(begin)] }, "end": { "nodes": newest },
        })
    };
    let nodes: Vec<Value> = begins[start..end].iter().map(node).collect();
    let page = json!({ "hasPreviousPage": start > 0, "startCursor": start.to_string() });
    Some(json!({ "pageInfo": page, "nodes": nodes }))
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
    let repo = world
        .repos
        .values()
        .find(is_named)
        .ok_or_else(Refused::not_found)?;
    let may_write =
        call.caller.reaches(world, repo) && call.caller.has(&[(Area::Contents, Level::Write)]);
    let (&Caller::Installation { id, .. }, true) = (&call.caller, may_write) else {
        return Err(Refused::forbidden("Resource not accessible by integration"));
    };
    let (actor, repo) = (Actor::App(id), repo.id);
    world.need_push(actor, repo)?;
    let given = |sha: Sha| Some(sha).filter(|sha| *sha != NO_OBJECT);
    for RefUpdate {
        name,
        before_oid,
        after_oid,
        force,
    } in &input.ref_updates
    {
        if !name.starts_with("refs/") {
            return Err(Refused::unprocessable(format!(
                "{name} is not a valid ref name."
            )));
        }
        let now = world.ref_target(repo, name);
        if before_oid.is_some_and(|before| given(before) != now) {
            return Err(Refused::unprocessable(format!(
                "{name} is not at the expected object"
            )));
        }
        let (Some(after), objects) = (given(*after_oid), world.objects(world.repo(repo)?)) else {
            continue;
        };
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
    let plain = STANDARD
        .decode(id)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok());
    let commit = plain
        .as_ref()
        .and_then(|plain| plain.strip_prefix("Commit:")?.parse().ok());
    if let Some(commit) = commit {
        return authors(world, commit);
    }
    let comment = plain.and_then(|plain| {
        plain
            .strip_prefix("IssueComment:")?
            .parse()
            .ok()
            .map(CommentId::new)
    });
    let Some(comment) = comment else {
        return Value::Null;
    };
    let of_it = world
        .journal
        .iter()
        .rev()
        .filter(|happening| happening.what == What::CommentEdited(comment));
    let edits: Vec<Value> = of_it
        .map(|edit| {
            let editor = json!({ "login": world.login(edit.actor), "databaseId": edit.actor });
            json!({ "editedAt": json::time(edit.at), "editor": editor })
        })
        .collect();
    json!({ "id": id, "userContentEdits": { "nodes": edits } })
}

/// The author and the co-authors, each with the account that the address belongs to.
fn authors(world: &World, sha: Sha) -> Value {
    let Some(commit) = world
        .networks
        .iter()
        .find_map(|objects| objects.commit(sha))
    else {
        return Value::Null;
    };
    let trailers = commit.message.lines().filter_map(|line| {
        let (key, who) = line.split_once(':')?;
        let is_trailer = key.trim().eq_ignore_ascii_case("co-authored-by");
        is_trailer.then(|| Some(who.rsplit_once('<')?.1.split_once('>')?.0.trim().to_owned()))?
    });
    let node = |email: String| {
        let account = world
            .account_by_email(&email)
            .filter(|account| matches!(account.kind, AccountKind::User));
        let user =
            account.map(|account| json!({ "login": account.login, "databaseId": account.id }));
        json!({ "email": email, "user": user })
    };
    let nodes: Vec<Value> = std::iter::once(commit.author.email.clone())
        .chain(trailers)
        .map(node)
        .collect();
    json!({ "authors": { "nodes": nodes } })
}
