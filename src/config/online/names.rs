//! Users and teams: whether they are there, and whether their word can count.

use super::{Check, Spot, meant};
use loopgate_core::{
    GateName, Login, TeamSlug,
    gate::ACTIONS,
    observed::{Account, AccountKind, Permission, Standing, Unusable},
    policy::GatePolicy,
};

impl Check<'_> {
    /// Everybody a gate names as approver.
    pub(super) fn approvers(&mut self, name: &GateName, gate: &GatePolicy) {
        let users = ["gates", name.as_str(), "approvers", "users"];
        for login in &gate.approvers.users {
            let spot = (&users[..], Some(login.as_str()));
            if let Some(account) = self.account(spot, login) {
                self.approver(spot, &account, gate);
            }
        }
        let teams = ["gates", name.as_str(), "approvers", "teams"];
        for team in &gate.approvers.teams {
            let word = team.to_string();
            self.team((&teams, Some(&word)), team, true);
        }
    }

    /// The account behind a login.
    pub(super) fn account(&mut self, spot: Spot<'_>, login: &Login) -> Option<Account> {
        match self.survey.authority.logins.get(login) {
            Some(Ok(account)) => return Some(account.clone()),
            Some(Err(Unusable::Unknown(reason))) => self.unanswered(spot, login.as_str(), reason),
            Some(Err(_)) => {
                let collaborators = self.survey.collaborators.iter().flatten();
                let known = meant(login.as_str(), collaborators.map(|(account, _)| account.login.as_str()));
                let hint = known.unwrap_or_else(|| {
                    "take the name from the address of the person's page; who was renamed has a new one".to_owned()
                });
                self.error(spot, format!("there is no account `{login}` on GitHub"), hint);
            }
            None => self.unanswered(spot, login.as_str(), "there are too many names to look up"),
        }
        None
    }

    fn unanswered(&mut self, spot: Spot<'_>, name: &str, reason: &str) {
        self.warn(spot, format!("GitHub did not say whether there is a `{name}`: {reason}"), "check again later");
    }

    fn approver(&mut self, spot: Spot<'_>, account: &Account, gate: &GatePolicy) {
        let (login, repository) = (&account.login, &self.survey.repository);
        if account.kind == AccountKind::Organization {
            let hint = "name people, or a team as `org/team`";
            return self.error(spot, format!("`{login}` is an organisation, and only people approve"), hint);
        }
        if login.as_str() == ACTIONS {
            let hint = "every workflow acts as this account: name people";
            return self.error(spot, format!("`{login}` can never approve"), hint);
        }
        if is_bot(account) {
            if !gate.exclusions.allow_bots {
                let hint = "name a person, or set `allow_bots: true` on the gate if a bot shall decide";
                self.error(spot, format!("`{login}` is a bot, and bots do not approve this gate"), hint);
            }
            return;
        }
        match self.survey.authority.people.get(&account.id) {
            Some(Standing::Known { permission: Permission::None, .. }) => {
                let hint = "give them access, or take them off the list";
                self.error(spot, format!("`{login}` cannot see {repository}, so they can approve nothing there"), hint);
            }
            Some(Standing::Known { permission: Permission::Read | Permission::Triage, .. }) => {
                let message = format!(
                    "`{login}` has no write access to {repository}: their word opens this gate, and GitHub counts no \
                     review of theirs where a branch requires one"
                );
                self.warn(spot, message, "give them write access, or leave it if that is meant");
            }
            Some(Standing::Unknown(reason)) => {
                let message = format!("GitHub did not say what `{login}` may do in {repository}: {reason}");
                self.warn(spot, message, "the credentials need to read the repository's metadata");
            }
            Some(Standing::Known { .. } | Standing::Gone) | None => {}
        }
    }

    /// Checks a team that approves, or is only mentioned: then its members do not matter.
    pub(super) fn team(&mut self, spot: Spot<'_>, team: &TeamSlug, approves: bool) {
        let repository = &self.survey.repository;
        match self.survey.authority.teams.get(team) {
            Some(Ok(members)) if approves && members.is_empty() => {
                self.warn(spot, format!("the team `{team}` has no members"), "add people to it");
            }
            Some(Err(Unusable::NoAccess)) => {
                let (so, least) = match approves {
                    true => {
                        ("its members approve nothing there", "give the team read access to the repository at least")
                    }
                    false => ("calling it reaches no one", "give the team read access to the repository"),
                };
                self.error(spot, format!("the team `{team}` cannot read {repository}, so {so}"), least);
            }
            Some(Err(Unusable::Unreadable(reason))) if approves => {
                let message = format!("the members of `{team}` cannot be read, so none of them can approve: {reason}");
                let hint = "let the App read the organisation's members (`members: read`); a workflow's own token \
                            never may: name users or a permission instead, or give it an App's token";
                self.error(spot, message, hint);
            }
            Some(Ok(_) | Err(Unusable::Unreadable(_))) => {}
            Some(Err(Unusable::Unknown(reason))) => self.unanswered(spot, &team.to_string(), reason),
            Some(Err(_)) => {
                let message = format!("there is no team `{team}`, or it is not shown to these credentials");
                let hint = "take the name from the address of the team's page, …/orgs/ORG/teams/NAME; a team that was \
                            renamed has a new one";
                self.error(spot, message, hint);
            }
            None => self.unanswered(spot, &team.to_string(), "there are too many names to look up"),
        }
    }
}

pub(super) fn is_bot(account: &Account) -> bool {
    account.kind == AccountKind::Bot || account.login.as_str().ends_with("[bot]")
}
