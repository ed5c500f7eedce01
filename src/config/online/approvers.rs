//! Users, teams and the owners in CODEOWNERS: whether they are there, and whether their word can count.

use std::collections::BTreeMap;

use super::{Check, Spot, meant, people};
use crate::config::{problem::shorten, source::Source};
use loopgate_core::{
    GateName, Login, TeamSlug, UserId,
    concerns::gates::{
        ACTIONS, Owner, OwnerMention, is_advisory, online_facts::asks_owners, owner_mentions,
    },
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
                let known = meant(
                    login.as_str(),
                    collaborators.map(|(account, _)| account.login.as_str()),
                );
                let hint = known.unwrap_or_else(|| {
                    "take the name from the address of the person's page; who was renamed has a new one".to_owned()
                });
                self.error(
                    spot,
                    format!("there is no account `{login}` on GitHub"),
                    hint,
                );
            }
            None => self.unanswered(spot, login.as_str(), "there are too many names to look up"),
        }
        None
    }

    fn unanswered(&mut self, spot: Spot<'_>, name: &str, reason: &str) {
        self.warn(
            spot,
            format!("GitHub did not say whether there is a `{name}`: {reason}"),
            "check again later",
        );
    }

    fn approver(&mut self, spot: Spot<'_>, account: &Account, gate: &GatePolicy) {
        let (login, repository) = (&account.login, &self.survey.repository);
        if account.kind == AccountKind::Organization {
            let hint = "name people, or a team as `org/team`";
            return self.error(
                spot,
                format!("`{login}` is an organisation, and only people approve"),
                hint,
            );
        }
        if login.as_str() == ACTIONS {
            let hint = "every workflow acts as this account: name people";
            return self.error(spot, format!("`{login}` can never approve"), hint);
        }
        if is_bot(account) {
            if !gate.exclusions.allow_bots {
                let hint =
                    "name a person, or set `allow_bots: true` on the gate if a bot shall decide";
                self.error(
                    spot,
                    format!("`{login}` is a bot, and bots do not approve this gate"),
                    hint,
                );
            }
            return;
        }
        match self.survey.authority.people.get(&account.id) {
            Some(Standing::Known {
                permission: Permission::None,
                ..
            }) => {
                let hint = "give them access, or take them off the list";
                self.error(
                    spot,
                    format!("`{login}` cannot see {repository}, so they can approve nothing there"),
                    hint,
                );
            }
            Some(Standing::Known {
                permission: Permission::Read | Permission::Triage,
                ..
            }) => {
                let message = format!(
                    "`{login}` has no write access to {repository}: their word opens this gate, and GitHub counts no \
                     review of theirs where a branch requires one"
                );
                self.warn(
                    spot,
                    message,
                    "give them write access, or leave it if that is meant",
                );
            }
            Some(Standing::Unknown(reason)) => {
                let message =
                    format!("GitHub did not say what `{login}` may do in {repository}: {reason}");
                self.warn(
                    spot,
                    message,
                    "the credentials need to read the repository's metadata",
                );
            }
            Some(Standing::Known { .. } | Standing::Gone) | None => {}
        }
    }

    /// Checks a team that approves, or is only mentioned: then its members do not matter.
    pub(super) fn team(&mut self, spot: Spot<'_>, team: &TeamSlug, approves: bool) {
        let repository = &self.survey.repository;
        match self.survey.authority.teams.get(team) {
            Some(Ok(members)) if approves && members.is_empty() => {
                self.warn(
                    spot,
                    format!("the team `{team}` has no members"),
                    "add people to it",
                );
            }
            Some(Err(Unusable::NoAccess)) => {
                let (so, least) = match approves {
                    true => (
                        "its members approve nothing there",
                        "give the team read access to the repository at least",
                    ),
                    false => (
                        "calling it reaches no one",
                        "give the team read access to the repository",
                    ),
                };
                self.error(
                    spot,
                    format!("the team `{team}` cannot read {repository}, so {so}"),
                    least,
                );
            }
            Some(Err(Unusable::Unreadable(reason))) if approves => {
                let message = format!(
                    "the members of `{team}` cannot be read, so none of them can approve: {reason}"
                );
                let hint = "let the App read the organisation's members (`members: read`); a workflow's own token \
                            never may: name users or a permission instead, or give it an App's token";
                self.error(spot, message, hint);
            }
            Some(Ok(_) | Err(Unusable::Unreadable(_))) => {}
            Some(Err(Unusable::Unknown(reason))) => {
                self.unanswered(spot, &team.to_string(), reason)
            }
            Some(Err(_)) => {
                let message =
                    format!("there is no team `{team}`, or it is not shown to these credentials");
                let hint = "take the name from the address of the team's page, …/orgs/ORG/teams/NAME; a team that was \
                            renamed has a new one";
                self.error(spot, message, hint);
            }
            None => self.unanswered(
                spot,
                &team.to_string(),
                "there are too many names to look up",
            ),
        }
    }

    /// Owners that are not there: errors where a gate asks the owners, else warnings, since escalations call them.
    pub(super) fn owners(&mut self) {
        let Some(file) = &self.survey.codeowners else {
            for (name, _) in self
                .policy
                .gates
                .iter()
                .filter(|(_, gate)| gate.approvers.codeowners)
            {
                let path = ["gates", name.as_str(), "approvers", "codeowners"];
                let message = format!(
                    "{} has no CODEOWNERS file on its default branch",
                    self.survey.repository
                );
                self.error(
                    (&path, None),
                    message,
                    "add .github/CODEOWNERS, or name other approvers",
                );
            }
            return;
        };
        let source = Source::new(&file.path, &file.text);
        for mention in owner_mentions(&file.text) {
            let Some((message, hint)) = self.unusable(&mention) else {
                continue;
            };
            let found = source.error(mention.line, mention.column, message, Some(hint.to_owned()));
            let list = if asks_owners(self.policy) {
                &mut self.found.errors
            } else {
                &mut self.found.warnings
            };
            list.push(found);
        }
    }

    /// Why an owner owns nothing, and what to do.
    fn unusable(&self, mention: &OwnerMention) -> Option<(String, &'static str)> {
        let (survey, word) = (self.survey, shorten(&mention.word));
        let repository = &survey.repository;
        let no_write =
            || format!("`{word}` cannot write to {repository}, and GitHub takes no such owner");
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
                Err(Unusable::NoAccount) => Some((
                    format!("there is no account `{word}` on GitHub"),
                    "who was renamed has a new login",
                )),
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
                Err(Unusable::NoAccess) => {
                    Some((no_write(), "give the team write access to the repository"))
                }
                Err(Unusable::Unreadable(_)) if asks_owners(self.policy) => Some((
                    format!(
                        "the members of `{word}` cannot be read, so none of them can approve as an owner"
                    ),
                    "let the App read the organisation's members (`members: read`)",
                )),
                _ => None,
            },
        }
    }
}

fn is_bot(account: &Account) -> bool {
    account.kind == AccountKind::Bot || account.login.as_str().ends_with("[bot]")
}

/// The people whose word could count.
#[derive(Default)]
struct Audience {
    people: BTreeMap<UserId, Login>,
    /// There may be more approvers: GitHub does not show them, or they depend on the files of a pull request.
    open_ended: bool,
}

impl Check<'_> {
    /// Whether enough people can approve a gate that holds.
    pub(super) fn approvable(&mut self, name: &GateName, gate: &GatePolicy) {
        if is_advisory(
            gate,
            self.policy.mode,
            &self.survey.repository,
            &self.survey.authority,
        ) {
            return;
        }
        let Audience {
            people: able,
            open_ended,
        } = self.audience(gate);
        if open_ended {
            return;
        }
        let needed = gate.approvers.count.max(1) as usize;
        let path = ["gates", name.as_str(), "approvers"];
        let counted = ["gates", name.as_str(), "approvers", "count"];
        let spot = (if needed > 1 { &counted[..] } else { &path[..] }, None);
        let who = people(
            able.values()
                .map(Login::as_str)
                .collect::<Vec<_>>()
                .into_iter(),
        );
        let excluded = !gate.exclusions.allow_author;
        if able.is_empty() {
            let approvers = &gate.approvers;
            let named = !approvers.users.is_empty() || !approvers.teams.is_empty();
            let because = match (named, approvers.permission, approvers.codeowners) {
                (false, None, true) => "no file has an owner who could",
                (false, None, false) => "no one may maintain the repository",
                (false, Some(_), _) => "no one has that permission",
                (true, ..) => "none of those named can",
            };
            let message = format!("no one can ever approve the gate `{name}`: {because}");
            self.error(
                spot,
                message,
                "name people or a team who have access to the repository under `approvers`",
            );
        } else if able.len() < needed {
            let message =
                format!("the gate `{name}` needs {needed} people, and only {who} can approve it");
            self.error(spot, message, "name more people, or set `count: 1`");
        } else if able.len() == needed && excluded {
            let message = match needed {
                1 => format!(
                    "only {who} can approve the gate `{name}`, and not on a pull request of their own"
                ),
                _ => format!(
                    "the gate `{name}` needs all of {who}, so a pull request by one of them never passes"
                ),
            };
            self.warn(
                spot,
                message,
                "name one more person, or set `allow_author: true` on the gate",
            );
        }
    }

    fn audience(&self, gate: &GatePolicy) -> Audience {
        let mut audience = Audience::default();
        let (approvers, authority) = (&gate.approvers, &self.survey.authority);
        let (mut users, mut teams) = (approvers.users.clone(), approvers.teams.clone());
        let mut permission = approvers.permission;
        let owners_may = approvers.codeowners;
        if owners_may {
            for mention in self
                .survey
                .codeowners
                .iter()
                .flat_map(|file| owner_mentions(&file.text))
            {
                match mention.owner {
                    Some(Owner::User(login)) => drop(users.insert(login)),
                    Some(Owner::Team(team)) => drop(teams.insert(team)),
                    Some(Owner::Email(_)) | None => {}
                }
            }
        } else if users.is_empty() && teams.is_empty() && permission.is_none() {
            let team = gate.preset_team(&self.survey.repository);
            match team.map(|team| (authority.teams.get(&team), team)) {
                Some((Some(Ok(_)), team)) => drop(teams.insert(team)),
                Some((Some(Err(Unusable::Unknown(_))), _)) => audience.open_ended = true,
                _ => permission = Some(Permission::Maintain),
            }
        }
        for login in &users {
            match authority.logins.get(login) {
                Some(Ok(account)) => self.add(&mut audience, account, gate),
                Some(Err(Unusable::NoAccount)) => {}
                Some(Err(_)) | None => audience.open_ended = true,
            }
        }
        for team in &teams {
            match authority.teams.get(team) {
                Some(Ok(members)) => members.iter().for_each(|(id, login)| {
                    let account = Account {
                        id: *id,
                        login: login.clone(),
                        kind: AccountKind::User,
                    };
                    self.add(&mut audience, &account, gate);
                }),
                Some(Err(Unusable::NoTeam | Unusable::NoAccess)) => {}
                // The team's own place has the message.
                Some(Err(_)) | None => audience.open_ended = true,
            }
        }
        match (permission, &self.survey.collaborators) {
            (None, _) => {}
            (Some(least), Ok(all)) => {
                let enough = all.iter().filter(|(_, has)| *has >= least);
                enough.for_each(|(account, _)| self.add(&mut audience, account, gate));
            }
            (Some(_), Err(_)) => audience.open_ended = true,
        }
        // Which owners it takes depends on the files, so that there is one is all that can be asked for.
        audience.open_ended |= owners_may && !audience.people.is_empty();
        audience
    }

    fn add(&self, audience: &mut Audience, account: &Account, gate: &GatePolicy) {
        let bots = gate.exclusions.allow_bots && account.login.as_str() != ACTIONS;
        let may = match account.kind {
            AccountKind::User => !is_bot(account) || bots,
            AccountKind::Bot => bots,
            AccountKind::Organization | AccountKind::Other => false,
        };
        let blind = matches!(
            self.survey.authority.people.get(&account.id),
            Some(
                Standing::Known {
                    permission: Permission::None,
                    ..
                } | Standing::Gone
            )
        );
        if may && !blind {
            audience.people.insert(account.id, account.login.clone());
        }
    }
}
