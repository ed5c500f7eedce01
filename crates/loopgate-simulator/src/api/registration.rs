//! The pages on which people register and install Apps, and the exchange of a registration's code.
//!
//! The sender of a person's token is that person at a browser; without one it is the organisation's owner.

use http::StatusCode;
use serde_json::{Value, json};

use super::{
    Answer, Route,
    call::{Call, Reply},
    caller::Caller,
    get, post,
};
use crate::{
    config::OWNER,
    json,
    operations::registration::Installing,
    refused::Refused,
    world::{World, app::Registered},
};
use loopgate_core::UserId;

pub const ROUTES: &[Route] = &[
    post("/settings/apps/new", register_for_oneself),
    post(
        "/organizations/{org}/settings/apps/new",
        register_for_organisation,
    ),
    post("/app-manifests/{code}/conversions", convert),
    get("/apps/{slug}/installations/new", installation_page),
    post("/apps/{slug}/installations/new", install),
    get("/app/installation-requests", list_requests),
];

pub(super) fn person(world: &World, call: &Call) -> Result<UserId, Refused> {
    match call.caller {
        Caller::Person(person) => Ok(person),
        _ => world.user_id(OWNER),
    }
}

fn page(title: &str, body: &str) -> Reply {
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
    let page = format!(
        "<!doctype html><title>{0}</title><h1>{0}</h1>{body}",
        escaped(title)
    );
    Reply::raw("text/html; charset=utf-8", page.into())
}

fn register_for_oneself(world: &mut World, call: &Call) -> Answer {
    let person = person(world, call)?;
    register(world, call, person, person)
}

fn register_for_organisation(world: &mut World, call: &Call) -> Answer {
    let (person, owner) = (person(world, call)?, world.org(call.param("org"))?.id);
    register(world, call, person, owner)
}

/// The button *Create GitHub App* is pressed at once.
fn register(world: &mut World, call: &Call, person: UserId, owner: UserId) -> Answer {
    let manifest = call.field("manifest").unwrap_or_default();
    match world.register_from_manifest(person, owner, &manifest, call.query("state")) {
        Ok(back) => Ok(Reply::found(back)),
        Err(refused) if refused.status == StatusCode::UNPROCESSABLE_ENTITY => {
            let errors = refused
                .errors
                .iter()
                .filter_map(Value::as_str)
                .map(|error| format!("<p>Error {error}</p>"));
            let errors = format!("<p>{}</p>{}", refused.message, errors.collect::<String>());
            Ok(page("Invalid GitHub App configuration", &errors)
                .status(StatusCode::UNPROCESSABLE_ENTITY))
        }
        Err(refused) => Err(refused),
    }
}

/// (docs.github.com, Create a GitHub App from a manifest).
fn convert(world: &mut World, call: &Call) -> Answer {
    let Registered {
        app,
        pem,
        webhook_secret,
        ..
    } = world.convert(call.param("code"))?;
    let app = world.apps.get(&app).ok_or_else(Refused::not_found)?;
    let mut created = json::app(world, app);
    created["client_secret"] = app.client_secret().into();
    created["webhook_secret"] = app.webhook.as_ref().map(|_| webhook_secret).into();
    created["pem"] = pem.into();
    Ok(Reply::created(created))
}

fn installation_page(world: &mut World, call: &Call) -> Answer {
    let app = world.app_by_slug(call.param("slug"))?;
    let account = world.login(app.owner);
    let form = format!(
        "<form method=\"post\"><input name=\"account\" value=\"{account}\"><button>Install or request</button></form>"
    );
    Ok(page(&format!("Install {}", app.name), &form))
}

fn install(world: &mut World, call: &Call) -> Answer {
    let person = person(world, call)?;
    let account = match call.field("account") {
        Some(login) => world.account(&login).ok_or_else(Refused::not_found)?.id,
        None => world.app_by_slug(call.param("slug"))?.owner,
    };
    Ok(
        match world.install_by(person, call.param("slug"), account)? {
            Installing::Installed(id) => page("Installed", &format!("<p>Installation {id}</p>")),
            Installing::Requested => page(
                "Requested",
                "<p>An owner of the organisation was asked.</p>",
            ),
        },
    )
}

/// (docs.github.com, List installation requests for the authenticated app).
fn list_requests(world: &mut World, call: &Call) -> Answer {
    let app = call.app()?;
    let mine: Vec<_> = world
        .registrations
        .requests
        .iter()
        .filter(|request| request.app == app)
        .collect();
    Ok(call.list(mine, |request| {
        json!({
            "id": request.at.timestamp(), "account": json::user(world, request.account),
            "requester": json::user(world, request.requester), "created_at": json::time(request.at),
        })
    }))
}
