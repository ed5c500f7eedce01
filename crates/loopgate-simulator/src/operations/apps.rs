//! Apps, installations and tokens.

use std::collections::BTreeSet;

use bytes::Bytes;
use chrono::TimeDelta;
use serde_json::{Value, json};

use crate::{
    hooks::{Audience, Event, Scope},
    json,
    refused::Refused,
    world::{
        RepoId, World,
        app::{Actor, App, Holder, Installation, Permissions, Selection, Suspension, Token},
    },
};
use loopgate_core::{AppId, InstallationId, Timestamp, UserId};

/// Installation tokens live this long (docs.github.com, Generating an installation access token).
const TOKEN_LIFE: TimeDelta = TimeDelta::hours(1);

/// What an App is registered with.
#[derive(Clone, Debug)]
pub struct NewApp {
    pub id: AppId,
    pub slug: String,
    pub name: String,
    pub owner: UserId,
    pub permissions: Permissions,
    pub events: BTreeSet<String>,
    /// RSA, PKCS#1 DER.
    pub public_key: Option<Bytes>,
}

impl World {
    pub fn register_app(&mut self, new: NewApp) -> Result<AppId, Refused> {
        let bot = self.add_bot(&new.slug, new.id)?;
        let created_at = self.now();
        let NewApp {
            id,
            slug,
            name,
            owner,
            permissions,
            events,
            public_key,
        } = new;
        let app = App {
            id,
            slug,
            name,
            owner,
            bot,
            permissions,
            events,
            webhook: None,
            is_public: true,
            public_key,
            created_at,
        };
        self.apps.insert(id, app);
        Ok(id)
    }

    /// Installs an App with the permissions it asks for; `id` is chosen freely.
    pub fn install(
        &mut self,
        actor: Actor,
        app: AppId,
        (id, account): (InstallationId, UserId),
        repositories: Selection,
    ) -> Result<(), Refused> {
        let now = self.now();
        let permissions = self
            .apps
            .get(&app)
            .ok_or_else(Refused::not_found)?
            .permissions
            .clone();
        let installation = Installation {
            id,
            app,
            account,
            repositories,
            permissions,
            suspended: None,
            created_at: now,
            updated_at: now,
        };
        self.installations.insert(id, installation);
        self.installation_event("created", actor, id)
    }

    pub fn suspend(&mut self, actor: Actor, id: InstallationId) -> Result<(), Refused> {
        let suspension = Suspension {
            by: self.account_of(actor),
            at: self.now(),
        };
        self.installation_mut(id)?.suspended = Some(suspension);
        self.installation_event("suspend", actor, id)
    }

    pub fn unsuspend(&mut self, actor: Actor, id: InstallationId) -> Result<(), Refused> {
        self.installation_mut(id)?.suspended = None;
        self.installation_event("unsuspend", actor, id)
    }

    pub fn uninstall(&mut self, actor: Actor, id: InstallationId) -> Result<(), Refused> {
        self.installation_event("deleted", actor, id)?;
        self.installations.remove(&id);
        Ok(())
    }

    /// The account's owner accepts other permissions.
    pub fn accept_permissions(
        &mut self,
        actor: Actor,
        id: InstallationId,
        permissions: Permissions,
    ) -> Result<(), Refused> {
        self.installation_mut(id)?.permissions = permissions;
        self.installation_event("new_permissions_accepted", actor, id)
    }

    fn installation_mut(&mut self, id: InstallationId) -> Result<&mut Installation, Refused> {
        let now = self.now();
        let installation = self
            .installations
            .get_mut(&id)
            .ok_or_else(Refused::not_found)?;
        installation.updated_at = now;
        Ok(installation)
    }

    /// The repositories that an installation reaches.
    pub fn reached(&self, account: UserId, selection: &Selection) -> Vec<RepoId> {
        let reached = |repo: &&super::super::world::repo::Repo| {
            repo.owner == account && selection.contains(repo.id)
        };
        self.repos
            .values()
            .filter(reached)
            .map(|repo| repo.id)
            .collect()
    }

    fn stubs(&self, repos: &[RepoId]) -> Value {
        repos
            .iter()
            .filter_map(|id| self.repos.get(id))
            .map(|repo| json::repository_stub(self, repo))
            .collect()
    }

    fn installation_event(
        &mut self,
        action: &'static str,
        actor: Actor,
        id: InstallationId,
    ) -> Result<(), Refused> {
        let installation = self.installations.get(&id).ok_or_else(Refused::not_found)?;
        let (app, payload) = (installation.app, json::installation(self, installation));
        let repos = self.stubs(&self.reached(installation.account, &installation.repositories));
        let mut body = vec![("installation", payload), ("repositories", repos)];
        // Of an installation that is new the description knows only people who asked for it.
        if action != "created" {
            body.push(("requester", Value::Null));
        }
        let (scope, audience) = (Scope::Installation(id), Audience::Only(app));
        self.emit(Event {
            name: "installation",
            action: Some(action),
            scope,
            actor,
            audience,
            body,
        });
        Ok(())
    }

    /// Adds repositories to a selection, or takes them out: `installation_repositories.added` or `.removed`.
    pub fn change_selection(
        &mut self,
        actor: Actor,
        id: InstallationId,
        (added, removed): (&[RepoId], &[RepoId]),
    ) -> Result<(), Refused> {
        let account = self
            .installations
            .get(&id)
            .ok_or_else(Refused::not_found)?
            .account;
        let all = self.reached(account, &Selection::All);
        let installation = self.installation_mut(id)?;
        let mut selected = match &installation.repositories {
            Selection::All => all.into_iter().collect(),
            Selection::Selected(repos) => repos.clone(),
        };
        selected.extend(added);
        selected.retain(|repo| !removed.contains(repo));
        installation.repositories = Selection::Selected(selected);
        let installation = self.installations.get(&id).ok_or_else(Refused::not_found)?;
        let (app, payload) = (installation.app, json::installation(self, installation));
        let action = if added.is_empty() { "removed" } else { "added" };
        let body = vec![
            ("installation", payload),
            ("repository_selection", json!("selected")),
            ("repositories_added", self.stubs(added)),
            ("repositories_removed", self.stubs(removed)),
            ("requester", Value::Null),
        ];
        let (scope, audience) = (Scope::Installation(id), Audience::Only(app));
        self.emit(Event {
            name: "installation_repositories",
            action: Some(action),
            scope,
            actor,
            audience,
            body,
        });
        Ok(())
    }

    /// A token of an installation, narrowed to some permissions and repositories if asked: what was not granted
    /// cannot be had (422).
    pub fn installation_token(
        &mut self,
        id: InstallationId,
        permissions: Option<Permissions>,
        repositories: Option<BTreeSet<RepoId>>,
    ) -> Result<(String, Token), Refused> {
        let installation = self.installations.get(&id).ok_or_else(Refused::not_found)?;
        if installation.suspended.is_some() {
            return Err(Refused::forbidden("This installation has been suspended"));
        }
        let wanted = permissions.unwrap_or_else(|| installation.permissions.clone());
        if wanted.iter().any(|(area, level)| {
            installation
                .permissions
                .get(area)
                .is_none_or(|has| has < level)
        }) {
            return Err(Refused::unprocessable(
                "The permissions requested are not granted to this installation.",
            ));
        }
        let reach = match repositories {
            None => installation.repositories.clone(),
            Some(asked)
                if asked.iter().all(|repo| {
                    self.reached(installation.account, &installation.repositories)
                        .contains(repo)
                }) =>
            {
                Selection::Selected(asked)
            }
            Some(_) => {
                let message = "There is at least one repository that does not exist or is not accessible to the parent installation.";
                return Err(Refused::unprocessable(message));
            }
        };
        let holder = Holder::Installation {
            id,
            permissions: wanted,
            repositories: reach,
        };
        let token = Token {
            holder,
            expires_at: Some(self.now() + TOKEN_LIFE),
            app: None,
        };
        // Some 520 characters with dots: nothing may rely on how tokens look.
        let text = [
            self.sequence.token("ghs_"),
            "a".repeat(240),
            "b".repeat(240),
        ]
        .join(".");
        self.tokens.insert(text.clone(), token.clone());
        Ok((text, token))
    }

    /// A personal access token.
    pub fn person_token(&mut self, user: UserId) -> String {
        let text = self.sequence.token("ghp_");
        self.tokens.insert(
            text.clone(),
            Token {
                holder: Holder::Person(user),
                expires_at: None,
                app: None,
            },
        );
        text
    }

    /// Whether a token still counts.
    pub fn is_live(&self, token: &Token, now: Timestamp) -> bool {
        token.expires_at.is_none_or(|end| now < end)
            && match &token.holder {
                Holder::Person(user) => self
                    .accounts
                    .get(user)
                    .is_some_and(|account| account.is_active()),
                Holder::Installation { id, .. } => self.installations.contains_key(id),
            }
    }
}
