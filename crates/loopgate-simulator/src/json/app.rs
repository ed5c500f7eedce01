//! Apps, installations, tokens, deliveries.

use serde_json::{Map, Value, json};

use super::{
    maybe_time, node_id,
    people::{merge, user},
    repo::repository,
    time,
};
use crate::{
    hooks::{Attempt, Delivery, DeliveryState},
    world::{
        World,
        app::{App, Area, Installation, Level, Permissions, Selection},
        repo::{Repo, Visibility},
    },
};
use loopgate_core::Timestamp;

pub fn permissions(permissions: &Permissions) -> Value {
    let entry =
        |(area, level): (&Area, &Level)| (area.as_str().to_owned(), Value::from(level.as_str()));
    permissions.iter().map(entry).collect::<Map<_, _>>().into()
}

/// `integration`.
pub fn app(world: &World, app: &App) -> Value {
    json!({
        "id": app.id, "slug": app.slug, "node_id": node_id("App", app.id), "client_id": app.client_id(),
        "owner": user(world, app.owner), "name": app.name, "description": "",
        "external_url": format!("{}/apps/{}", world.pages_url, app.slug),
        "html_url": format!("{}/apps/{}", world.pages_url, app.slug), "created_at": time(app.created_at),
        "updated_at": time(app.created_at), "permissions": permissions(&app.permissions), "events": app.events,
    })
}

pub fn installation(world: &World, installation: &Installation) -> Value {
    let (base, id) = (&world.base_url, installation.id);
    let app = world.apps.get(&installation.app);
    let target = world.accounts.get(&installation.account);
    let is_org = target.is_some_and(|account| account.org().is_some());
    let settings = if is_org {
        format!(
            "organizations/{}/settings",
            world.login(installation.account)
        )
    } else {
        "settings".into()
    };
    json!({
        "id": id, "account": user(world, installation.account),
        "repository_selection": installation.repositories.as_str(),
        "access_tokens_url": format!("{base}/app/installations/{id}/access_tokens"),
        "repositories_url": format!("{base}/installation/repositories"),
        "html_url": format!("{}/{settings}/installations/{id}", world.pages_url), "app_id": installation.app,
        "app_slug": app.map(|app| &app.slug), "target_id": installation.account,
        "target_type": target.map_or("User", |account| account.type_name()),
        "permissions": permissions(&installation.permissions), "events": app.map(|app| &app.events),
        "created_at": time(installation.created_at), "updated_at": time(installation.updated_at),
        "single_file_name": null, "has_multiple_single_files": false, "single_file_paths": [],
        "suspended_by": installation.suspended.map(|suspended| user(world, suspended.by)),
        "suspended_at": maybe_time(installation.suspended.map(|suspended| suspended.at)),
    })
}

/// A repository in the lists of installation payloads.
pub fn repository_stub(world: &World, repo: &Repo) -> Value {
    json!({
        "id": repo.id, "node_id": node_id("Repository", repo.id), "name": repo.name,
        "full_name": world.full_name(repo), "private": repo.visibility == Visibility::Private,
    })
}

/// `installation-token`.
pub fn token(
    world: &World,
    token: &str,
    expires_at: Timestamp,
    granted: &Permissions,
    reach: &Selection,
) -> Value {
    let mut object = json!({
        "token": token, "expires_at": time(expires_at), "permissions": permissions(granted),
        "repository_selection": reach.as_str(),
    });
    if let Selection::Selected(repos) = reach {
        let repos: Vec<_> = repos
            .iter()
            .filter_map(|id| world.repos.get(id))
            .map(|r| repository(world, r))
            .collect();
        object["repositories"] = repos.into();
    }
    object
}

/// `hook-delivery-item`.
pub fn delivery_brief(delivery: &Delivery) -> Value {
    let (status, status_code) = match &delivery.state {
        DeliveryState::Answered {
            status: code @ 200..=299,
            ..
        } => ("OK".to_owned(), *code),
        DeliveryState::Answered { status: code, .. } => {
            (format!("Invalid HTTP Response: {code}"), *code)
        }
        DeliveryState::Failed(reason) => (reason.clone(), 0),
        DeliveryState::Waiting
        | DeliveryState::Held
        | DeliveryState::InFlight
        | DeliveryState::Lost => ("pending".into(), 0),
    };
    json!({
        "id": delivery.id, "guid": delivery.guid.to_string(), "delivered_at": time(delivery.at),
        "redelivery": delivery.attempt == Attempt::Redelivery, "duration": 0.03, "status": status,
        "status_code": status_code, "event": delivery.event, "action": delivery.action,
        "installation_id": delivery.installation, "repository_id": delivery.repository, "throttled_at": null,
    })
}

/// `hook-delivery`, with what was sent and answered.
pub fn delivery(delivery: &Delivery) -> Value {
    let mut object = delivery_brief(delivery);
    let headers: Map<_, _> = delivery
        .headers()
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect();
    let answer = match &delivery.state {
        DeliveryState::Answered { body, .. } => body.as_str(),
        _ => "",
    };
    merge(
        &mut object,
        json!({
            "url": delivery.url,
            "request": { "headers": headers, "payload": serde_json::from_slice::<Value>(&delivery.payload).ok() },
            "response": { "headers": {}, "payload": answer },
        }),
    );
    object
}
