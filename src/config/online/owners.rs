//! CODEOWNERS: owners that are not there. Errors where a gate asks the owners, else warnings: escalations call them.

use super::Check;
use crate::config::{problem::shorten, source::Source};
use loopgate_core::{
    gate::{Owner, OwnerMention, online_facts::asks_owners, owner_mentions},
    observed::{Permission, Standing, Unusable},
};

impl Check<'_> {
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
