//! Gates that no person can ever approve, or that some people's pull requests can never pass.

use std::collections::BTreeMap;

use super::{Check, names::is_bot, people};
use loopgate_core::{
    GateName, Login, UserId,
    gate::{ACTIONS, Owner, is_advisory, owner_mentions},
    observed::{Account, AccountKind, Permission, Standing, Unusable},
    policy::GatePolicy,
};

/// The people whose word could count.
#[derive(Default)]
struct Audience {
    people: BTreeMap<UserId, Login>,
    /// There may be more whom GitHub does not show, or who depend on the files of a pull request.
    open_ended: bool,
}

impl Check<'_> {
    /// Whether enough people can approve a gate that holds.
    pub(super) fn approvable(&mut self, name: &GateName, gate: &GatePolicy) {
        if is_advisory(gate, self.policy.mode, &self.survey.repository, &self.survey.authority) {
            return;
        }
        let Audience { people: able, open_ended } = self.audience(gate);
        if open_ended {
            return;
        }
        let needed = gate.approvers.count.max(1) as usize;
        let path = ["gates", name.as_str(), "approvers"];
        let counted = ["gates", name.as_str(), "approvers", "count"];
        let spot = (if needed > 1 { &counted[..] } else { &path[..] }, None);
        let who = people(able.values().map(Login::as_str).collect::<Vec<_>>().into_iter());
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
            self.error(spot, message, "name people or a team who have access to the repository under `approvers`");
        } else if able.len() < needed {
            let message = format!("the gate `{name}` needs {needed} people, and only {who} can approve it");
            self.error(spot, message, "name more people, or set `count: 1`");
        } else if able.len() == needed && excluded {
            let message = match needed {
                1 => format!("only {who} can approve the gate `{name}`, and not on a pull request of their own"),
                _ => format!("the gate `{name}` needs all of {who}, so a pull request by one of them never passes"),
            };
            self.warn(spot, message, "name one more person, or set `allow_author: true` on the gate");
        }
    }

    fn audience(&self, gate: &GatePolicy) -> Audience {
        let mut audience = Audience::default();
        let (approvers, authority) = (&gate.approvers, &self.survey.authority);
        let (mut users, mut teams) = (approvers.users.clone(), approvers.teams.clone());
        let mut permission = approvers.permission;
        let owners_may = approvers.codeowners;
        if owners_may {
            for mention in self.survey.codeowners.iter().flat_map(|file| owner_mentions(&file.text)) {
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
                    let account = Account { id: *id, login: login.clone(), kind: AccountKind::User };
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
            Some(Standing::Known { permission: Permission::None, .. } | Standing::Gone)
        );
        if may && !blind {
            audience.people.insert(account.id, account.login.clone());
        }
    }
}
