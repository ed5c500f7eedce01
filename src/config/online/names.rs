//! Users, teams and the owners in CODEOWNERS: whether they are there, and whether their word can count.

use super::{Check, Spot, meant};
use crate::config::{problem::shorten, source::Source};
use loopgate_core::{
    GateName, Login, TeamSlug,
    gate::{ACTIONS, Owner, OwnerMention, online_facts::asks_owners, owner_mentions},
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

    /// Owners that are not there: errors where a gate asks the owners, else warnings, since escalations call them.
    pub(super) fn owners(&mut self) {
        let Some(file) = &self.survey.codeowners else {
            return self.no_file();
        };
        let source = Source::new(&file.path, &file.text);
        for mention in owner_mentions(&file.text) {
            let Some((message, hint)) = self.unusable(&mention) else { continue };
            let found = source.error(mention.line, mention.column, message, Some(hint.to_owned()));
            let list = if asks_owners(self.policy) { &mut self.found.errors } else { &mut self.found.warnings };
            list.push(found);
        }
    }

    fn no_file(&mut self) {
        for (name, gate) in &self.policy.gates {
            if gate.approvers.codeowners {
                let path = ["gates", name.as_str(), "approvers", "codeowners"];
                let message = format!("{} has no CODEOWNERS file on its default branch", self.survey.repository);
                self.error((&path, None), message, "add .github/CODEOWNERS, or name other approvers");
            }
        }
    }

    /// Why an owner owns nothing, and what to do.
    fn unusable(&self, mention: &OwnerMention) -> Option<(String, &'static str)> {
        let (survey, word) = (self.survey, shorten(&mention.word));
        let repository = &survey.repository;
        let no_write = || format!("`{word}` cannot write to {repository}, and GitHub takes no such owner");
        match &mention.owner {
            None => Some((
                format!("`{word}` is no owner, so GitHub skips this line"),
                "write @login, @org/team or an address",
            )),
            Some(Owner::Email(_)) => Some((
                format!("whose address `{word}` is only GitHub knows, so it names no approver"),
                "name the login",
            )),
            Some(Owner::User(login)) => match survey.authority.logins.get(login)? {
                Err(Unusable::NoAccount) => {
                    Some((format!("there is no account `{word}` on GitHub"), "who was renamed has a new login"))
                }
                Ok(account) => match survey.authority.people.get(&account.id)? {
                    Standing::Known { permission, .. } if *permission < Permission::Write => {
                        Some((no_write(), "give them write access, or name somebody else"))
                    }
                    _ => None,
                },
                Err(_) => None,
            },
            Some(Owner::Team(team)) => match survey.authority.teams.get(team)? {
                Err(Unusable::NoTeam) => Some((
                    format!("there is no team `{word}`, or it is not shown to these credentials"),
                    "a team that was renamed has a new name; a secret one owns nothing",
                )),
                Err(Unusable::NoAccess) => Some((no_write(), "give the team write access to the repository")),
                Err(Unusable::Unreadable(_)) if asks_owners(self.policy) => Some((
                    format!("the members of `{word}` cannot be read, so none of them can approve as an owner"),
                    "let the App read the organisation's members (`members: read`)",
                )),
                _ => None,
            },
        }
    }
}

pub(super) fn is_bot(account: &Account) -> bool {
    account.kind == AccountKind::Bot || account.login.as_str().ends_with("[bot]")
}
