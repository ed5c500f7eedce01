//! What an App asks about itself: installations, tokens, deliveries, rate limit.

use std::collections::BTreeSet;

use http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    Answer, Route,
    call::{Call, Reply},
    caller::Caller,
    get, post,
};
use crate::{
    json,
    refused::Refused,
    world::{
        DeliveryId, RepoId, World,
        app::{Area, Holder, Installation, Level, Permissions},
    },
};
use loopgate_core::InstallationId;

pub const ROUTES: &[Route] = &[
    get("/app", show_app),
    get("/apps/{slug}", show_app_named),
    get("/app/installations", list_installations),
    get("/app/installations/{id}", show_installation),
    post("/app/installations/{id}/access_tokens", create_token),
    get("/app/hook/config", hook_config),
    get("/app/hook/deliveries", list_deliveries),
    get("/app/hook/deliveries/{id}", show_delivery),
    post("/app/hook/deliveries/{id}/attempts", redeliver),
    get("/repos/{owner}/{repo}/installation", repo_installation),
    get("/orgs/{org}/installation", org_installation),
    get("/installation/repositories", installation_repositories),
    super::delete("/installation/token", revoke_token),
    get("/rate_limit", rate_limit),
];

fn show_app(world: &mut World, call: &Call) -> Answer {
    let app = world
        .apps
        .get(&call.app()?)
        .ok_or_else(Refused::not_found)?;
    let mut answer = json::app(world, app);
    answer["installations_count"] = world
        .installations
        .values()
        .filter(|i| i.app == app.id)
        .count()
        .into();
    Ok(Reply::ok(answer))
}

/// Everybody may know of an App (docs.github.com, Get an app).
fn show_app_named(world: &mut World, call: &Call) -> Answer {
    let app = world.app_by_slug(call.param("slug"))?;
    Ok(Reply::ok(json::app(world, app)))
}

fn list_installations(world: &mut World, call: &Call) -> Answer {
    let app = call.app()?;
    let mine: Vec<_> = world
        .installations
        .values()
        .filter(|i| i.app == app)
        .collect();
    Ok(call.list(mine, |installation| json::installation(world, installation)))
}

/// The caller's installation of that id.
fn mine<'w>(world: &'w World, call: &Call) -> Result<&'w Installation, Refused> {
    let (app, id) = (call.app()?, InstallationId::new(call.id("id")?));
    world
        .installations
        .get(&id)
        .filter(|installation| installation.app == app)
        .ok_or_else(Refused::not_found)
}

fn show_installation(world: &mut World, call: &Call) -> Answer {
    Ok(Reply::ok(json::installation(world, mine(world, call)?)))
}

fn repo_installation(world: &mut World, call: &Call) -> Answer {
    let app = call.app()?;
    let repo = world
        .find_repo(call.param("owner"), call.param("repo"))
        .ok_or_else(Refused::not_found)?;
    Ok(Reply::ok(json::installation(
        world,
        world.installation_for(app, repo.id)?,
    )))
}

fn org_installation(world: &mut World, call: &Call) -> Answer {
    let (app, org) = (call.app()?, world.org(call.param("org"))?.id);
    let found = world
        .installations
        .values()
        .find(|i| i.app == app && i.account == org);
    Ok(Reply::ok(json::installation(
        world,
        found.ok_or_else(Refused::not_found)?,
    )))
}

#[derive(Deserialize)]
struct TokenWish {
    permissions: Option<Map<String, Value>>,
    repositories: Option<Vec<String>>,
    repository_ids: Option<Vec<u64>>,
}

fn create_token(world: &mut World, call: &Call) -> Answer {
    let (id, account) = {
        let installation = mine(world, call)?;
        (installation.id, installation.account)
    };
    let wish: TokenWish = call.json()?;
    let permissions = wish
        .permissions
        .map(|map| read_permissions(&map))
        .transpose()?;
    let owner = world.login(account).to_owned();
    let named =
        wish.repositories
            .into_iter()
            .flatten()
            .map(|name| match world.find_repo(&owner, &name) {
                Some(repo) => repo.id,
                // No repository has this id, so asking for it is refused.
                None => RepoId(0),
            });
    let by_id = wish.repository_ids.into_iter().flatten().map(RepoId);
    let repositories: BTreeSet<_> = named.chain(by_id).collect();
    let repositories = (!repositories.is_empty()).then_some(repositories);
    let (text, token) = world.installation_token(id, permissions, repositories)?;
    let Holder::Installation {
        permissions,
        repositories,
        ..
    } = &token.holder
    else {
        return Err(Refused::not_found());
    };
    let expires_at = token.expires_at.unwrap_or_default();
    Ok(Reply::created(json::token(
        world,
        &text,
        expires_at,
        permissions,
        repositories,
    )))
}

/// Permissions this simulator does not know cannot have been granted.
fn read_permissions(map: &Map<String, Value>) -> Result<Permissions, Refused> {
    map.iter()
        .map(|(area, level)| Some((Area::parse(area)?, Level::parse(level.as_str()?)?)))
        .collect::<Option<_>>()
        .ok_or_else(|| {
            Refused::unprocessable(
                "The permissions requested are not granted to this installation.",
            )
        })
}

fn hook_config(world: &mut World, call: &Call) -> Answer {
    let app = world
        .apps
        .get(&call.app()?)
        .ok_or_else(Refused::not_found)?;
    let url = app.webhook.as_ref().map_or("", |webhook| &webhook.url);
    Ok(Reply::ok(
        json!({ "content_type": "json", "insecure_ssl": "0", "secret": "********", "url": url }),
    ))
}

/// Newest first, paged by cursor: `Link` holds only the next page.
fn list_deliveries(world: &mut World, call: &Call) -> Answer {
    let app = call.app()?;
    let below = call
        .query("cursor")
        .and_then(|cursor| cursor.strip_prefix("v1_")?.parse::<u64>().ok());
    let mut page: Vec<_> = world
        .outbox
        .log
        .values()
        .rev()
        .filter(|delivery| delivery.app == app && delivery.is_listed())
        .filter(|delivery| below.is_none_or(|below| delivery.id.0 < below))
        .take(call.per_page() + 1)
        .collect();
    let more = page.len() > call.per_page();
    page.truncate(call.per_page());
    let reply = Reply::ok(
        page.iter()
            .map(|delivery| json::delivery_brief(delivery))
            .collect::<Value>(),
    );
    Ok(match page.last() {
        Some(last) if more => reply.header(
            "link",
            call.link(&[("cursor", format!("v1_{}", last.id))], "next"),
        ),
        _ => reply,
    })
}

fn show_delivery(world: &mut World, call: &Call) -> Answer {
    let (app, id) = (call.app()?, DeliveryId(call.id("id")?));
    let delivery = world
        .outbox
        .log
        .get(&id)
        .filter(|delivery| delivery.app == app && delivery.is_listed());
    Ok(Reply::ok(json::delivery(
        delivery.ok_or_else(Refused::not_found)?,
    )))
}

fn redeliver(world: &mut World, call: &Call) -> Answer {
    let (app, id) = (call.app()?, DeliveryId(call.id("id")?));
    world.redeliver(app, id).ok_or_else(Refused::not_found)?;
    Ok(Reply::ok(json!({})).status(StatusCode::ACCEPTED))
}

fn installation_repositories(world: &mut World, call: &Call) -> Answer {
    let Caller::Installation {
        id, repositories, ..
    } = &call.caller
    else {
        return Err(call.unauthenticated());
    };
    let installation = world.installations.get(id).ok_or_else(Refused::not_found)?;
    let reached = world.reached(installation.account, &installation.repositories);
    let repos: Vec<_> = reached
        .iter()
        .filter(|id| repositories.contains(**id))
        .filter_map(|id| world.repos.get(id))
        .collect();
    Ok(call.counted_list("repositories", repos, |repo| {
        json::repo_full(world, repo, call.caller.role(world, repo))
    }))
}

fn revoke_token(world: &mut World, call: &Call) -> Answer {
    let Caller::Installation { .. } = call.caller else {
        return Err(call.unauthenticated());
    };
    world.tokens.remove(call.token());
    Ok(Reply::no_content())
}

fn rate_limit(world: &mut World, call: &Call) -> Answer {
    let (name, now) = (call.caller.name(world), world.clock.now());
    let limit = super::limits::allowance(world, &name);
    let (used, reset) = world.rate_limits.window(&name, now);
    let rate = json!({
        "limit": limit, "remaining": limit.saturating_sub(used), "reset": reset.timestamp(), "used": used,
        "resource": "core",
    });
    Ok(Reply::ok(
        json!({ "resources": { "core": rate, "search": rate }, "rate": rate }),
    ))
}
