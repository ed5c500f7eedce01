//! Accounts, organisations, teams, collaborators.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use crate::{
    hooks::{Audience, Event, Scope},
    json,
    refused::Refused,
    world::{
        RepoId, TeamId, World,
        account::{Account, AccountKind, Org, OrgRole, Privacy, Role, Standing, Team},
        app::Actor,
    },
};
use loopgate_core::{AppId, Login, TeamSlug, UserId};

impl World {
    /// Gives an account another login. The names that its repositories had redirect; who is installed there hears of it
    /// (<https://docs.github.com/en/webhooks/webhook-events-and-payloads#installation_target>), and nobody else.
    pub fn rename_account(&mut self, actor: Actor, id: UserId, to: &str) -> Result<(), Refused> {
        let owned = self.repos.values().filter(|repo| repo.owner == id);
        let former: Vec<_> = owned.map(|repo| (repo.id, self.full_name(repo))).collect();
        for (repo, name) in former {
            self.repo_mut(repo)?.former_names.push(name);
        }
        let account = self.accounts.get_mut(&id).ok_or_else(Refused::not_found)?;
        let from = std::mem::replace(&mut account.login, to.to_owned());
        let target_type = account.type_name();
        let installations = self.installations.values();
        let apps: Vec<_> = installations
            .filter(|installation| installation.account == id)
            .map(|installation| installation.app)
            .collect();
        for app in apps {
            let body = vec![
                ("account", json::user(self, id)),
                ("changes", json!({ "login": { "from": from } })),
                ("target_type", json!(target_type)),
            ];
            self.emit(Event {
                name: "installation_target",
                action: Some("renamed"),
                scope: Scope::Account(id),
                actor,
                audience: Audience::Only(app),
                body,
            });
        }
        Ok(())
    }

    fn add_account(
        &mut self,
        login: &str,
        kind: AccountKind,
        emails: Vec<String>,
    ) -> Result<UserId, Refused> {
        if login.parse::<Login>().is_err() || self.account(login).is_some() {
            return Err(Refused::custom(
                "User",
                "login",
                "Login is invalid or already taken",
            ));
        }
        let (id, created_at) = (UserId::new(self.sequence.number()), self.now());
        let name = match kind {
            AccountKind::Bot(_) => None,
            _ => Some(capitalized(login)),
        };
        let (login, standing) = (login.to_owned(), Standing::Active);
        self.accounts.insert(
            id,
            Account {
                id,
                login,
                kind,
                standing,
                name,
                emails,
                created_at,
            },
        );
        Ok(id)
    }

    /// A person, with the address `login@example.test`.
    pub fn add_user(&mut self, login: &str) -> Result<UserId, Refused> {
        self.add_account(
            login,
            AccountKind::User,
            vec![format!("{login}@example.test")],
        )
    }

    pub fn add_org(&mut self, login: &str, base_role: Option<Role>) -> Result<UserId, Refused> {
        self.add_account(
            login,
            AccountKind::Organization(Org {
                members: BTreeMap::new(),
                base_role,
            }),
            Vec::new(),
        )
    }

    /// The account that an App acts as; GitHub knows its commits by the noreply address.
    pub fn add_bot(&mut self, slug: &str, app: AppId) -> Result<UserId, Refused> {
        self.add_account(&format!("{slug}[bot]"), AccountKind::Bot(app), Vec::new())
    }

    pub fn set_standing(&mut self, user: UserId, standing: Standing) -> Result<(), Refused> {
        self.accounts
            .get_mut(&user)
            .ok_or_else(Refused::not_found)?
            .standing = standing;
        Ok(())
    }

    /// The addresses whose commits are shown as theirs, besides the noreply ones.
    pub fn set_emails(&mut self, login: &str, emails: &[&str]) -> Result<(), Refused> {
        let user = self.user_id(login)?;
        let emails = emails.iter().map(|email| (*email).to_owned()).collect();
        self.accounts
            .get_mut(&user)
            .ok_or_else(Refused::not_found)?
            .emails = emails;
        Ok(())
    }

    fn org_mut(&mut self, org: UserId) -> Result<&mut Org, Refused> {
        match self.accounts.get_mut(&org).map(|account| &mut account.kind) {
            Some(AccountKind::Organization(org)) => Ok(org),
            _ => Err(Refused::not_found()),
        }
    }

    pub fn set_base_role(&mut self, org: UserId, role: Option<Role>) -> Result<(), Refused> {
        self.org_mut(org)?.base_role = role;
        Ok(())
    }

    fn account_event(
        &self,
        name: &'static str,
        action: &'static str,
        org: UserId,
        actor: Actor,
    ) -> Event {
        let (scope, audience) = (Scope::Account(org), Audience::Subscribers);
        Event {
            name,
            action: Some(action),
            scope,
            actor,
            audience,
            body: Vec::new(),
        }
    }

    /// Makes somebody a member or owner.
    pub fn add_org_member(
        &mut self,
        actor: Actor,
        org: UserId,
        user: UserId,
        role: OrgRole,
    ) -> Result<(), Refused> {
        self.org_mut(org)?.members.insert(user, role);
        let payload = json::org_membership(
            self,
            self.accounts.get(&org).ok_or_else(Refused::not_found)?,
            user,
            role,
        );
        self.emit(
            self.account_event("organization", "member_added", org, actor)
                .with("membership", payload),
        );
        Ok(())
    }

    /// Removes somebody from the organisation and so from its teams.
    pub fn remove_org_member(
        &mut self,
        actor: Actor,
        org: UserId,
        user: UserId,
    ) -> Result<(), Refused> {
        let role = self
            .org_mut(org)?
            .members
            .remove(&user)
            .ok_or_else(Refused::not_found)?;
        let teams: Vec<_> = self
            .teams
            .values()
            .filter(|team| team.org == org && team.members.contains(&user))
            .map(|t| t.id)
            .collect();
        for team in teams {
            self.remove_team_member(actor, team, user)?;
        }
        let payload = json::org_membership(
            self,
            self.accounts.get(&org).ok_or_else(Refused::not_found)?,
            user,
            role,
        );
        self.emit(
            self.account_event("organization", "member_removed", org, actor)
                .with("membership", payload),
        );
        Ok(())
    }

    pub fn add_team(
        &mut self,
        actor: Actor,
        name: &TeamSlug,
        parent: Option<TeamId>,
        privacy: Privacy,
    ) -> Result<TeamId, Refused> {
        let org = self.org(name.org())?.id;
        if self.team(org, name.slug()).is_ok() {
            return Err(Refused::custom(
                "Team",
                "name",
                "Name must be unique for this org",
            ));
        }
        let (id, created_at) = (TeamId(self.sequence.number()), self.now());
        let (slug, title) = (name.slug().to_owned(), capitalized(name.slug()));
        let (members, repos) = (BTreeSet::new(), BTreeMap::new());
        self.teams.insert(
            id,
            Team {
                id,
                org,
                slug,
                name: title,
                parent,
                privacy,
                members,
                repos,
                created_at,
            },
        );
        self.team_event("team", "created", actor, id, |event| event)?;
        Ok(id)
    }

    fn team_event(
        &mut self,
        name: &'static str,
        action: &'static str,
        actor: Actor,
        id: TeamId,
        more: impl FnOnce(Event) -> Event,
    ) -> Result<(), Refused> {
        let team = self.teams.get(&id).ok_or_else(Refused::not_found)?;
        let event = self
            .account_event(name, action, team.org, actor)
            .with("team", json::team(self, team));
        self.emit(more(event));
        Ok(())
    }

    pub fn add_team_member(
        &mut self,
        actor: Actor,
        id: TeamId,
        user: UserId,
    ) -> Result<(), Refused> {
        let team = self.teams.get_mut(&id).ok_or_else(Refused::not_found)?;
        let org = team.org;
        if !team.members.insert(user) {
            return Ok(());
        }
        if !self.is_member(user, org) {
            self.add_org_member(actor, org, user, OrgRole::Member)?;
        }
        let member = json::user(self, user);
        self.team_event("membership", "added", actor, id, |e| {
            e.with("scope", "team").with("member", member)
        })
    }

    pub fn remove_team_member(
        &mut self,
        actor: Actor,
        id: TeamId,
        user: UserId,
    ) -> Result<(), Refused> {
        if !self
            .teams
            .get_mut(&id)
            .ok_or_else(Refused::not_found)?
            .members
            .remove(&user)
        {
            return Err(Refused::not_found());
        }
        let member = json::user(self, user);
        self.team_event("membership", "removed", actor, id, |e| {
            e.with("scope", "team").with("member", member)
        })
    }

    pub fn grant_team(
        &mut self,
        actor: Actor,
        id: TeamId,
        repo: RepoId,
        role: Role,
    ) -> Result<(), Refused> {
        self.teams
            .get_mut(&id)
            .ok_or_else(Refused::not_found)?
            .repos
            .insert(repo, role);
        let payload = json::repository(self, self.repo(repo)?);
        self.team_event("team", "added_to_repository", actor, id, |event| {
            event.with("repository", payload)
        })
    }

    pub fn revoke_team(&mut self, actor: Actor, id: TeamId, repo: RepoId) -> Result<(), Refused> {
        self.teams
            .get_mut(&id)
            .ok_or_else(Refused::not_found)?
            .repos
            .remove(&repo);
        let payload = json::repository(self, self.repo(repo)?);
        self.team_event("team", "removed_from_repository", actor, id, |event| {
            event.with("repository", payload)
        })
    }

    pub fn rename_team(&mut self, actor: Actor, id: TeamId, slug: &str) -> Result<(), Refused> {
        let team = self.teams.get_mut(&id).ok_or_else(Refused::not_found)?;
        let from = std::mem::replace(&mut team.name, capitalized(slug));
        slug.clone_into(&mut team.slug);
        self.team_event("team", "edited", actor, id, |e| {
            e.with("changes", json!({ "name": { "from": from } }))
        })
    }

    pub fn delete_team(&mut self, actor: Actor, id: TeamId) -> Result<(), Refused> {
        self.team_event("team", "deleted", actor, id, |event| event)?;
        self.teams.remove(&id);
        for child in self
            .teams
            .values_mut()
            .filter(|team| team.parent == Some(id))
        {
            child.parent = None;
        }
        Ok(())
    }

    pub fn add_collaborator(
        &mut self,
        actor: Actor,
        repo: RepoId,
        user: UserId,
        role: Role,
    ) -> Result<(), Refused> {
        self.repo_mut(repo)?.collaborators.insert(user, role);
        let changes = json!({ "permission": { "to": role.as_permission() } });
        let event =
            Event::in_repo("member", "added", repo, actor).with("member", json::user(self, user));
        self.emit(event.with("changes", changes));
        Ok(())
    }

    pub fn remove_collaborator(
        &mut self,
        actor: Actor,
        repo: RepoId,
        user: UserId,
    ) -> Result<(), Refused> {
        self.repo_mut(repo)?
            .collaborators
            .remove(&user)
            .ok_or_else(Refused::not_found)?;
        let member = json::user(self, user);
        self.emit(Event::in_repo("member", "removed", repo, actor).with("member", member));
        Ok(())
    }
}

/// `tech-leads` → `Tech leads`.
fn capitalized(slug: &str) -> String {
    let text = slug.replace('-', " ");
    let mut chars = text.chars();
    chars
        .next()
        .map(|first| first.to_ascii_uppercase().to_string() + chars.as_str())
        .unwrap_or_default()
}
