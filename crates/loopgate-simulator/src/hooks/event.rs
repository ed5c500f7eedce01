//! From an event to deliveries.

use bytes::Bytes;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Map, Value, json};
use sha2::Sha256;

use super::delivery::{Attempt, Delivery, DeliveryState, Webhooks};
use crate::{
    faults::Mishap,
    json,
    world::{
        DeliveryId, RepoId, World,
        app::{Actor, App, Installation, Webhook},
    },
};
use loopgate_core::{AppId, InstallationId, UserId};

/// Something that happened, before it is addressed.
#[derive(Clone, Debug)]
pub struct Event {
    /// `X-GitHub-Event`.
    pub name: &'static str,
    pub action: Option<&'static str>,
    pub scope: Scope,
    pub actor: Actor,
    pub audience: Audience,
    /// The event's own keys; `repository`, `organization`, `sender` and `installation` are added.
    pub body: Vec<(&'static str, Value)>,
}

/// Where it happened, which decides whose installations hear of it.
#[derive(Clone, Copy, Debug)]
pub enum Scope {
    Repo(RepoId),
    /// An organisation or user account.
    Account(UserId),
    /// Events about an installation, whose keys hold the whole of it.
    Installation(InstallationId),
}

#[derive(Clone, Copy, Debug)]
pub enum Audience {
    /// Every App that subscribed to the event.
    Subscribers,
    /// One App, whatever it subscribed to: check requests, buttons, its own installations.
    Only(AppId),
}

impl Event {
    pub fn in_repo(name: &'static str, action: &'static str, repo: RepoId, actor: Actor) -> Self {
        Self {
            name,
            action: Some(action),
            scope: Scope::Repo(repo),
            actor,
            audience: Audience::Subscribers,
            body: Vec::new(),
        }
    }

    /// An event without actions: `push`, `status`, …
    pub fn plain(name: &'static str, repo: RepoId, actor: Actor) -> Self {
        Self {
            action: None,
            ..Self::in_repo(name, "", repo, actor)
        }
    }

    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl Into<Value>) -> Self {
        self.body.push((key, value.into()));
        self
    }

    #[must_use]
    pub fn only(mut self, app: AppId) -> Self {
        self.audience = Audience::Only(app);
        self
    }
}

impl World {
    /// Queues a delivery for every installed App that wants the event.
    pub fn emit(&mut self, event: Event) {
        if self.outbox.webhooks == Webhooks::Lost {
            return;
        }
        let addressed: Vec<(AppId, InstallationId, Webhook)> = self
            .installations
            .values()
            .filter(|installation| {
                installation.suspended.is_none() || matches!(event.scope, Scope::Installation(_))
            })
            .filter_map(|installation| {
                let app = self.apps.get(&installation.app)?;
                let webhook = app.webhook.clone()?;
                self.wants(app, installation, &event)
                    .then_some((app.id, installation.id, webhook))
            })
            .collect();
        for (app, installation, webhook) in addressed {
            let payload = self.payload(&event, installation);
            self.enqueue(&event, app, Some(installation), &webhook, payload);
        }
    }

    fn wants(&self, app: &App, installation: &Installation, event: &Event) -> bool {
        let reached = match event.scope {
            Scope::Repo(repo) => {
                self.repos
                    .get(&repo)
                    .is_some_and(|r| r.owner == installation.account)
                    && installation.repositories.contains(repo)
            }
            Scope::Account(account) => installation.account == account,
            Scope::Installation(id) => installation.id == id,
        };
        reached
            && match event.audience {
                Audience::Subscribers => app.events.contains(event.name),
                Audience::Only(only) => app.id == only,
            }
    }

    fn payload(&self, event: &Event, installation: InstallationId) -> Bytes {
        let mut payload = Map::new();
        payload.extend(
            event
                .action
                .map(|action| ("action".to_owned(), Value::from(action))),
        );
        payload.extend(
            event
                .body
                .iter()
                .map(|(key, value)| ((*key).to_owned(), value.clone())),
        );
        let mut owner = None;
        if let Scope::Repo(id) = event.scope
            && let Some(repo) = self.repos.get(&id)
        {
            payload.insert("repository".into(), json::repository(self, repo));
            owner = self.accounts.get(&repo.owner);
        } else if let Scope::Account(id) = event.scope {
            owner = self.accounts.get(&id);
        }
        if let Some(org) = owner.filter(|owner| owner.org().is_some()) {
            payload.insert("organization".into(), json::organization(self, org));
        }
        if !payload.contains_key("installation") {
            let node_id = json::node_id("Installation", installation.get());
            payload.insert(
                "installation".into(),
                json!({ "id": installation, "node_id": node_id }),
            );
        }
        payload.insert(
            "sender".into(),
            json::user(self, self.account_of(event.actor)),
        );
        Value::Object(payload).to_string().into()
    }

    /// Queues one delivery, or what a fault makes of it.
    fn enqueue(
        &mut self,
        event: &Event,
        app: AppId,
        to: Option<InstallationId>,
        webhook: &Webhook,
        payload: Bytes,
    ) {
        self.scribe.delivery(event.name, &payload);
        let mishap = self.faults.strike_delivery(event.name, event.action);
        let state = match mishap {
            None | Some(Mishap::Duplicate | Mishap::Late(_)) => DeliveryState::Waiting,
            Some(Mishap::Hold) => DeliveryState::Held,
            Some(Mishap::Lose) => DeliveryState::Lost,
            Some(Mishap::Fail) => DeliveryState::Failed("failed to connect to host".into()),
        };
        let delivery = Delivery {
            id: DeliveryId(self.sequence.number()),
            guid: self.sequence.guid(),
            app,
            url: webhook.url.clone(),
            event: event.name.to_owned(),
            action: event.action.map(str::to_owned),
            installation: to,
            repository: match event.scope {
                Scope::Repo(repo) => Some(repo),
                _ => None,
            },
            signature: sign(&webhook.secret, &payload),
            payload,
            attempt: Attempt::First,
            at: self.clock.now(),
            state,
        };
        let again = Delivery {
            id: DeliveryId(self.sequence.number()),
            attempt: Attempt::Duplicate,
            ..delivery.clone()
        };
        match mishap {
            Some(Mishap::Late(by)) => self.outbox.push_late(delivery, by),
            Some(Mishap::Duplicate) => {
                self.outbox.push(delivery);
                self.outbox.push(again);
            }
            _ => self.outbox.push(delivery),
        }
    }

    /// Sends a listed delivery once more, with its GUID. None if there is no such delivery of this App.
    pub fn redeliver(&mut self, app: AppId, id: DeliveryId) -> Option<DeliveryId> {
        let original = self
            .outbox
            .log
            .get(&id)
            .filter(|d| d.app == app && d.is_listed())?
            .clone();
        let (id, at) = (DeliveryId(self.sequence.number()), self.clock.now());
        let state = DeliveryState::Waiting;
        self.outbox.push(Delivery {
            id,
            at,
            state,
            attempt: Attempt::Redelivery,
            ..original
        });
        Some(id)
    }

    /// `ping`, as GitHub sends when a webhook is made.
    pub fn ping(&mut self, app: AppId) {
        let Some(App {
            webhook: Some(webhook),
            owner,
            events,
            ..
        }) = self.apps.get(&app).cloned()
        else {
            return;
        };
        let (url, now) = (
            format!("{}/app/hook/config", self.base_url),
            json::time(self.now()),
        );
        let hook = json!({
            "url": url, "ping_url": url, "deliveries_url": format!("{}/app/hook/deliveries", self.base_url),
            "created_at": now, "updated_at": now, "type": "App", "id": app, "name": "web", "active": true, "app_id": app, "events": events,
            "config": { "content_type": "json", "insecure_ssl": "0", "secret": "********", "url": webhook.url },
        });
        let body = json!({ "zen": "Design for failure.", "hook_id": app, "hook": hook });
        let (scope, audience) = (Scope::Account(owner), Audience::Only(app));
        let event = Event {
            name: "ping",
            action: None,
            scope,
            actor: Actor::Person(owner),
            audience,
            body: Vec::new(),
        };
        self.enqueue(&event, app, None, &webhook, body.to_string().into());
    }
}

/// `X-Hub-Signature-256`: HMAC-SHA256 of the raw body.
fn sign(secret: &str, payload: &[u8]) -> String {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("HMAC takes keys of any length");
    mac.update(payload);
    format!("sha256={}", hex::encode(mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    /// The example of docs.github.com, Validating webhook deliveries: Testing the webhook payload validation.
    #[test]
    fn signature_of_githubs_own_example() {
        assert_eq!(
            super::sign("It's a Secret to Everybody", b"Hello, World!"),
            "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
        );
    }
}
