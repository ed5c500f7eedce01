//! What owners and administrators do: people, teams, repositories, installations.

use std::collections::BTreeSet;

use super::Pr;
use crate::{
    Refused, Simulator,
    config::OWNER,
    hooks::Webhooks,
    operations::queue::{MergeGroup, QueueOutcome},
    world::{
        TeamId, World,
        account::{OrgRole, Privacy, Role, Standing},
        app::{Actor, Permissions},
        repo::Protection,
    },
};
use loopgate_core::{RepoName, TeamSlug, UserId};

/// The owner of the organisation, `olga`.
#[derive(Clone)]
pub struct Admin {
    sim: Simulator,
    webhooks: Webhooks,
}

impl Admin {
    pub(super) fn new(sim: Simulator) -> Self {
        Self {
            sim,
            webhooks: Webhooks::Sent,
        }
    }

    /// This administrator, without any webhook.
    #[must_use]
    pub fn silently(&self) -> Self {
        Self {
            webhooks: Webhooks::Lost,
            ..self.clone()
        }
    }

    fn act<T>(
        &self,
        operation: impl FnOnce(&mut World, Actor) -> Result<T, Refused>,
    ) -> Result<T, Refused> {
        self.sim.operation(self.webhooks, |world| {
            let actor = Actor::Person(world.user_id(OWNER)?);
            operation(world, actor)
        })
    }

    /// A new account that belongs to nothing.
    pub fn add_user(&self, login: &str) -> Result<UserId, Refused> {
        self.act(|world, _| world.add_user(login))
    }

    pub fn add_org(&self, login: &str) -> Result<UserId, Refused> {
        self.act(|world, actor| {
            let org = world.add_org(login, Some(Role::Read))?;
            world.add_org_member(actor, org, world.account_of(actor), OrgRole::Owner)?;
            Ok(org)
        })
    }

    /// Suspended or deleted, or active again.
    pub fn suspend_user(&self, login: &str) -> Result<(), Refused> {
        self.act(|world, _| world.set_standing(world.user_id(login)?, Standing::Suspended))
    }

    pub fn delete_user(&self, login: &str) -> Result<(), Refused> {
        self.act(|world, _| world.set_standing(world.user_id(login)?, Standing::Deleted))
    }

    /// An account, a person's or an organisation's, goes by another login, and the old one is anybody's to take.
    pub fn rename_account(&self, login: &str, to: &str) -> Result<(), Refused> {
        self.act(|world, actor| world.rename_account(actor, world.user_id(login)?, to))
    }

    /// Replaces the addresses by which commits are recognised as an account's.
    pub fn set_emails(&self, login: &str, emails: &[&str]) -> Result<(), Refused> {
        self.act(|world, _| world.set_emails(login, emails))
    }

    pub fn add_org_member(&self, org: &str, login: &str, role: OrgRole) -> Result<(), Refused> {
        self.act(|world, actor| {
            world.add_org_member(actor, world.org(org)?.id, world.user_id(login)?, role)
        })
    }

    pub fn remove_org_member(&self, org: &str, login: &str) -> Result<(), Refused> {
        self.act(|world, actor| {
            world.remove_org_member(actor, world.org(org)?.id, world.user_id(login)?)
        })
    }

    /// What every member may do in every repository; none if they need a grant.
    pub fn set_base_role(&self, org: &str, role: Option<Role>) -> Result<(), Refused> {
        self.act(|world, _| world.set_base_role(world.org(org)?.id, role))
    }

    /// A team, `org/slug`, with members.
    pub fn add_team(&self, name: &str, members: &[&str]) -> Result<TeamSlug, Refused> {
        self.make_team(name, members, None, Privacy::Visible)
    }

    pub fn add_secret_team(&self, name: &str, members: &[&str]) -> Result<TeamSlug, Refused> {
        self.make_team(name, members, None, Privacy::Secret)
    }

    pub fn add_nested_team(
        &self,
        parent: &TeamSlug,
        name: &str,
        members: &[&str],
    ) -> Result<TeamSlug, Refused> {
        self.make_team(name, members, Some(parent), Privacy::Visible)
    }

    fn make_team(
        &self,
        name: &str,
        members: &[&str],
        parent: Option<&TeamSlug>,
        privacy: Privacy,
    ) -> Result<TeamSlug, Refused> {
        let name: TeamSlug = name
            .parse()
            .map_err(|_| Refused::invalid("Team", "name", "invalid"))?;
        self.act(|world, actor| {
            let parent = parent
                .map(|parent| world.team_by_name(parent))
                .transpose()?
                .map(|team| team.id);
            let id = world.add_team(actor, &name, parent, privacy)?;
            for member in members {
                world.add_team_member(actor, id, world.user_id(member)?)?;
            }
            Ok(())
        })?;
        Ok(name)
    }

    fn team<T>(
        &self,
        team: &TeamSlug,
        operation: impl FnOnce(&mut World, Actor, TeamId) -> Result<T, Refused>,
    ) -> Result<T, Refused> {
        self.act(|world, actor| {
            let id = world.team_by_name(team)?.id;
            operation(world, actor, id)
        })
    }

    pub fn add_team_member(&self, team: &TeamSlug, login: &str) -> Result<(), Refused> {
        self.team(team, |world, actor, id| {
            world.add_team_member(actor, id, world.user_id(login)?)
        })
    }

    pub fn remove_team_member(&self, team: &TeamSlug, login: &str) -> Result<(), Refused> {
        self.team(team, |world, actor, id| {
            world.remove_team_member(actor, id, world.user_id(login)?)
        })
    }

    /// Gives a team access to a repository.
    pub fn grant_team(&self, team: &TeamSlug, repo: &RepoName, role: Role) -> Result<(), Refused> {
        self.team(team, |world, actor, id| {
            world.grant_team(actor, id, world.repo_named(repo)?, role)
        })
    }

    pub fn revoke_team(&self, team: &TeamSlug, repo: &RepoName) -> Result<(), Refused> {
        self.team(team, |world, actor, id| {
            world.revoke_team(actor, id, world.repo_named(repo)?)
        })
    }

    pub fn rename_team(&self, team: &TeamSlug, slug: &str) -> Result<(), Refused> {
        self.team(team, |world, actor, id| world.rename_team(actor, id, slug))
    }

    pub fn delete_team(&self, team: &TeamSlug) -> Result<(), Refused> {
        self.team(team, |world, actor, id| world.delete_team(actor, id))
    }

    pub fn add_collaborator(
        &self,
        repo: &RepoName,
        login: &str,
        role: Role,
    ) -> Result<(), Refused> {
        self.act(|world, actor| {
            world.add_collaborator(actor, world.repo_named(repo)?, world.user_id(login)?, role)
        })
    }

    pub fn remove_collaborator(&self, repo: &RepoName, login: &str) -> Result<(), Refused> {
        self.act(|world, actor| {
            world.remove_collaborator(actor, world.repo_named(repo)?, world.user_id(login)?)
        })
    }

    /// Sets what a branch asks for before a merge.
    pub fn protect(&self, repo: &RepoName, branch: &str, rules: Protection) -> Result<(), Refused> {
        self.act(|world, actor| world.protect(actor, world.repo_named(repo)?, branch, rules))
    }

    pub fn set_default_branch(&self, repo: &RepoName, branch: &str) -> Result<(), Refused> {
        self.act(|world, actor| world.set_default_branch(actor, world.repo_named(repo)?, branch))
    }

    /// Renames a branch; the old name redirects.
    pub fn rename_branch(&self, repo: &RepoName, from: &str, to: &str) -> Result<(), Refused> {
        self.act(|world, actor| world.rename_branch(actor, world.repo_named(repo)?, (from, to)))
    }

    /// Renames a repository; the old name redirects.
    pub fn rename_repo(&self, repo: &RepoName, name: &str) -> Result<RepoName, Refused> {
        let renamed = format!("{}/{name}", repo.owner());
        let renamed = renamed
            .parse()
            .map_err(|_| Refused::invalid("Repository", "name", "invalid"))?;
        self.act(|world, actor| world.rename_repo(actor, world.repo_named(repo)?, name))?;
        Ok(renamed)
    }

    pub fn transfer_repo(&self, repo: &RepoName, to: &str) -> Result<(), Refused> {
        self.act(|world, actor| {
            let to = world.account(to).ok_or_else(Refused::not_found)?.id;
            world.transfer_repo(actor, world.repo_named(repo)?, to)
        })
    }

    /// Archives a repository, or takes it out of the archive.
    pub fn archive_repo(&self, repo: &RepoName, is_archived: bool) -> Result<(), Refused> {
        self.act(|world, _| {
            let id = world.repo_named(repo)?;
            world.repo_mut(id)?.is_archived = is_archived;
            Ok(())
        })
    }

    pub fn delete_repo(&self, repo: &RepoName) -> Result<(), Refused> {
        self.act(|world, actor| world.delete_repo(actor, world.repo_named(repo)?))
    }

    /// Puts pull requests of one repository and base into the merge queue, as one group.
    pub fn queue(&self, pulls: &[&Pr]) -> Result<MergeGroup, Refused> {
        self.act(|world, actor| {
            let repo = world.repo_named(&pulls.first().ok_or_else(Refused::not_found)?.repo)?;
            let numbers: Vec<_> = pulls.iter().map(|pr| pr.number).collect();
            world.enqueue_pulls(actor, repo, &numbers)
        })
    }

    /// Ends a merge group.
    pub fn finish_group(
        &self,
        repo: &RepoName,
        group: &MergeGroup,
        outcome: QueueOutcome,
    ) -> Result<(), Refused> {
        self.act(|world, actor| world.finish_group(actor, world.repo_named(repo)?, group, outcome))
    }

    /// Takes a pull request out of the merge queue, for a reason of `pull_request.dequeued`.
    pub fn eject(&self, pr: &Pr, reason: &str) -> Result<(), Refused> {
        self.act(|world, actor| {
            world.dequeue_pull(actor, world.repo_named(&pr.repo)?, pr.number, reason)
        })
    }

    /// Suspends the App under test.
    pub fn suspend_app(&self) -> Result<(), Refused> {
        self.act(|world, actor| world.suspend(actor, self.sim.installation))
    }

    pub fn unsuspend_app(&self) -> Result<(), Refused> {
        self.act(|world, actor| world.unsuspend(actor, self.sim.installation))
    }

    /// Changes what the App under test asks for; each installation keeps what it has until its owner accepts
    /// (<https://docs.github.com/en/apps/maintaining-github-apps/modifying-a-github-app-registration>).
    pub fn edit_app(
        &self,
        change: impl FnOnce(&mut Permissions, &mut BTreeSet<String>),
    ) -> Result<(), Refused> {
        self.act(|world, _| {
            let app = world
                .apps
                .get_mut(&self.sim.app)
                .ok_or_else(Refused::not_found)?;
            change(&mut app.permissions, &mut app.events);
            Ok(())
        })
    }

    /// Takes the App under test away from the organisation.
    pub fn uninstall_app(&self) -> Result<(), Refused> {
        self.act(|world, actor| world.uninstall(actor, self.sim.installation))
    }

    /// Gives the App under test other permissions: tokens made before keep theirs.
    pub fn accept_permissions(&self, permissions: Permissions) -> Result<(), Refused> {
        self.act(|world, actor| world.accept_permissions(actor, self.sim.installation, permissions))
    }

    /// Adds repositories to the App's selection, or takes them out of it.
    pub fn change_selection(
        &self,
        added: &[&RepoName],
        removed: &[&RepoName],
    ) -> Result<(), Refused> {
        self.act(|world, actor| {
            let ids = |names: &[&RepoName]| {
                names
                    .iter()
                    .map(|name| world.repo_named(name))
                    .collect::<Result<Vec<_>, _>>()
            };
            let (added, removed) = (ids(added)?, ids(removed)?);
            world.change_selection(actor, self.sim.installation, (&added, &removed))
        })
    }
}
