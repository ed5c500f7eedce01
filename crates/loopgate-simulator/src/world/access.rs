//! Who may see and do what.

use super::{
    RepoId, World,
    account::{OrgRole, Role, Team},
    app::Actor,
    repo::{Repo, Visibility},
};
use crate::refused::Refused;
use loopgate_core::{TeamSlug, UserId};

impl World {
    /// The strongest of all the ways in which somebody has access: ownership, organisation, collaboration, teams with
    /// their parents' grants, and anybody's right to read what is public. None for those who may not even know of it.
    pub fn role(&self, user: UserId, repo: &Repo) -> Option<Role> {
        if !self
            .accounts
            .get(&user)
            .is_some_and(|account| account.is_active())
        {
            return None;
        }
        let public = (repo.visibility == Visibility::Public).then_some(Role::Read);
        [public, self.granted_role(user, repo)]
            .into_iter()
            .flatten()
            .max()
    }

    /// As [`role`](Self::role), without the public's right to read: the access of a collaborator.
    pub fn granted_role(&self, user: UserId, repo: &Repo) -> Option<Role> {
        if repo.owner == user {
            return Some(Role::Admin);
        }
        let org = self.accounts.get(&repo.owner).and_then(|owner| owner.org());
        let membership = org.and_then(|org| match org.members.get(&user)? {
            OrgRole::Owner => Some(Role::Admin),
            OrgRole::Member => org.base_role,
        });
        let teams = self
            .teams
            .values()
            .filter(|team| team.members.contains(&user));
        let through_teams = teams.filter_map(|team| self.team_role(team, repo)).max();
        [
            membership,
            repo.collaborators.get(&user).copied(),
            through_teams,
        ]
        .into_iter()
        .flatten()
        .max()
    }

    /// What a team may do in a repository: child teams inherit their parents' access
    /// (docs.github.com, Managing team access to an organization repository).
    pub fn team_role(&self, team: &Team, repo: &Repo) -> Option<Role> {
        let mut best = None;
        let mut at = Some(team);
        while let Some(team) = at {
            best = best.max(team.repos.get(&repo.id).copied());
            at = team.parent.and_then(|parent| self.teams.get(&parent));
        }
        best
    }

    /// A team's members, those of its child teams included.
    pub fn team_members(&self, team: &Team) -> Vec<UserId> {
        let mut members: Vec<UserId> = team.members.iter().copied().collect();
        for child in self
            .teams
            .values()
            .filter(|child| child.parent == Some(team.id))
        {
            members.extend(self.team_members(child));
        }
        members.sort_unstable();
        members.dedup();
        members
    }

    /// Whether an account belongs to the organisation that owns the repository.
    pub fn is_member(&self, user: UserId, org: UserId) -> bool {
        self.accounts
            .get(&org)
            .and_then(|org| org.org())
            .is_some_and(|org| org.members.contains_key(&user))
    }

    pub fn is_org_owner(&self, user: UserId, org: UserId) -> bool {
        let role = self
            .accounts
            .get(&org)
            .and_then(|org| org.org()?.members.get(&user));
        role == Some(&OrgRole::Owner)
    }

    /// Refuses people whose role is too weak: 404 if they may not see the repository, 403 otherwise. Apps are judged
    /// by their token's permissions, before the operation.
    pub fn need(&self, actor: Actor, repo: RepoId, role: Role) -> Result<(), Refused> {
        let Actor::Person(user) = actor else {
            return Ok(());
        };
        match self.role(user, self.repo(repo)?) {
            None => Err(Refused::not_found()),
            Some(has) if has >= role => Ok(()),
            Some(_) if role >= Role::Admin => {
                Err(Refused::forbidden("Must have admin rights to Repository."))
            }
            Some(_) => Err(Refused::forbidden("Must have write access to Repository.")),
        }
    }

    /// How an author stands to the repository, by the words of `author_association`.
    pub fn association(&self, author: UserId, repo: &Repo) -> &'static str {
        if repo.owner == author {
            return "OWNER";
        }
        if self.is_member(author, repo.owner) {
            return "MEMBER";
        }
        if self.granted_role(author, repo).is_some() {
            return "COLLABORATOR";
        }
        let merged = |issue: &super::Issue| {
            issue.author == author && issue.pull.as_ref().is_some_and(|p| p.merge.is_some())
        };
        if repo.issues.values().any(merged) {
            "CONTRIBUTOR"
        } else {
            "NONE"
        }
    }

    pub fn team_by_name(&self, name: &TeamSlug) -> Result<&Team, Refused> {
        self.team(self.org(name.org())?.id, name.slug())
    }
}
