//! Repositories: made, forked, renamed, protected.

use std::collections::BTreeMap;

use serde_json::json;

use crate::{
    git::Objects,
    hooks::Event,
    json,
    refused::Refused,
    world::{
        RepoId, World,
        account::Role,
        app::{Actor, Selection},
        repo::{Label, Network, Protection, Repo, Visibility},
    },
};
use loopgate_core::{RepoName, Sha, UserId};

/// GitHub puts these on every new repository (the ones that matter here).
const FIRST_LABELS: [(&str, &str); 3] = [
    ("bug", "d73a4a"),
    ("documentation", "0075ca"),
    ("enhancement", "a2eeef"),
];

impl World {
    /// A repository with one commit of `files` on `main`. With no files it is empty: it has no refs at all.
    pub fn create_repo(
        &mut self,
        actor: Actor,
        name: &RepoName,
        visibility: Visibility,
        files: &[(String, Option<Vec<u8>>)],
    ) -> Result<RepoId, Refused> {
        if self.repo_named(name).is_ok() {
            return Err(Refused::custom(
                "Repository",
                "name",
                "name already exists on this account",
            ));
        }
        let owner = self
            .account(name.owner())
            .ok_or_else(Refused::not_found)?
            .id;
        self.networks.push(Objects::default());
        let network = Network(self.networks.len() - 1);
        let id = self.add_repo(owner, name.name(), visibility, network);
        let payload = json::repository(self, self.repo(id)?);
        self.emit(Event::in_repo("repository", "created", id, actor).with("repository", payload));
        if !files.is_empty() {
            let author = self.signature(actor);
            let commit =
                self.commit_files(id, &[], files, (author.clone(), author, "Initial commit"))?;
            self.set_ref(actor, id, "refs/heads/main", Some(commit))?;
        }
        Ok(id)
    }

    fn add_repo(
        &mut self,
        owner: UserId,
        name: &str,
        visibility: Visibility,
        network: Network,
    ) -> RepoId {
        let (id, now) = (RepoId(self.sequence.number()), self.now());
        let mut labels = BTreeMap::new();
        for (name, color) in FIRST_LABELS {
            let label = Label {
                id: self.sequence.number(),
                name: name.into(),
                color: color.into(),
                description: None,
            };
            labels.insert(name.to_owned(), label);
        }
        let repo = Repo {
            id,
            owner,
            name: name.to_owned(),
            former_names: Vec::new(),
            renamed_branches: BTreeMap::new(),
            visibility,
            is_archived: false,
            network,
            fork_of: None,
            default_branch: "main".into(),
            refs: BTreeMap::new(),
            activities: Vec::new(),
            labels,
            issues: BTreeMap::new(),
            comments: BTreeMap::new(),
            reactions: BTreeMap::new(),
            collaborators: BTreeMap::new(),
            stacks: Vec::new(),
            protections: BTreeMap::new(),
            suites: BTreeMap::new(),
            check_runs: BTreeMap::new(),
            statuses: Vec::new(),
            workflow_runs: BTreeMap::new(),
            artifacts: BTreeMap::new(),
            job_logs: BTreeMap::new(),
            created_at: now,
            updated_at: now,
            pushed_at: now,
        };
        self.repos.insert(id, repo);
        id
    }

    /// A fork of one's own: it shares the parent's objects. The one that is there already, if any.
    pub fn fork(&mut self, actor: Actor, parent: RepoId) -> Result<RepoId, Refused> {
        self.need(actor, parent, Role::Read)?;
        let owner = self.account_of(actor);
        if let Some(there) = self
            .repos
            .values()
            .find(|repo| repo.owner == owner && repo.fork_of == Some(parent))
        {
            return Ok(there.id);
        }
        let source = self.repo(parent)?;
        let (name, visibility, network) = (source.name.clone(), source.visibility, source.network);
        let default_branch = source.default_branch.clone();
        let heads = source
            .refs
            .iter()
            .filter(|(name, _)| name.starts_with("refs/heads/"));
        let refs = heads.map(|(name, sha)| (name.clone(), *sha)).collect();
        let id = self.add_repo(owner, &name, visibility, network);
        let fork = self.repo_mut(id)?;
        (fork.fork_of, fork.default_branch, fork.refs) = (Some(parent), default_branch, refs);
        let payload = json::repository(self, self.repo(id)?);
        let event = Event::plain("fork", parent, actor);
        self.emit(event.with("forkee", payload));
        Ok(id)
    }

    pub fn rename_repo(&mut self, actor: Actor, repo: RepoId, name: &str) -> Result<(), Refused> {
        self.need(actor, repo, Role::Admin)?;
        let former = self.full_name(self.repo(repo)?);
        let found = self.repo_mut(repo)?;
        found.former_names.push(former);
        let from = std::mem::replace(&mut found.name, name.to_owned());
        let changes = json!({ "repository": { "name": { "from": from } } });
        self.emit(Event::in_repo("repository", "renamed", repo, actor).with("changes", changes));
        Ok(())
    }

    /// Makes another branch the default branch.
    pub fn set_default_branch(
        &mut self,
        actor: Actor,
        repo: RepoId,
        branch: &str,
    ) -> Result<(), Refused> {
        self.need(actor, repo, Role::Admin)?;
        let found = self.repo_mut(repo)?;
        found.branch(branch).ok_or_else(Refused::not_found)?;
        let from = std::mem::replace(&mut found.default_branch, branch.to_owned());
        let changes = json!({ "default_branch": { "from": from } });
        self.emit(Event::in_repo("repository", "edited", repo, actor).with("changes", changes));
        Ok(())
    }

    /// Renames a branch: its protection and the pull requests into it go with it, pull requests from it are closed, and
    /// its former name redirects
    /// (<https://docs.github.com/en/repositories/configuring-branches-and-merges-in-your-repository/managing-branches-in-your-repository/renaming-a-branch>).
    /// Which events GitHub sends is written nowhere but for the default branch, so no other is sent.
    pub fn rename_branch(
        &mut self,
        actor: Actor,
        repo: RepoId,
        (from, to): (&str, &str),
    ) -> Result<(), Refused> {
        let found = self.repo(repo)?;
        let is_default = found.default_branch == from;
        let role = if is_default || found.protections.contains_key(from) {
            Role::Admin
        } else {
            Role::Write
        };
        self.need(actor, repo, role)?;
        let found = self.repo_mut(repo)?;
        let tip = found.branch(from).ok_or_else(Refused::not_found)?;
        if found.branch(to).is_some() {
            return Err(Refused::invalid("Branch", "new_name", "already_exists"));
        }
        found.refs.remove(&format!("refs/heads/{from}"));
        found.refs.insert(format!("refs/heads/{to}"), tip);
        if let Some(rules) = found.protections.remove(from) {
            found.protections.insert(to.to_owned(), rules);
        }
        found.renamed_branches.remove(to);
        found
            .renamed_branches
            .insert(from.to_owned(), to.to_owned());
        self.follow_renamed_branch(actor, repo, (from, to))?;
        if is_default {
            self.set_default_branch(actor, repo, to)?;
        }
        Ok(())
    }

    /// Gives a repository to another account. Grants to people and teams stay behind.
    pub fn transfer_repo(&mut self, actor: Actor, repo: RepoId, to: UserId) -> Result<(), Refused> {
        self.need(actor, repo, Role::Admin)?;
        let from = self.repo(repo)?.owner;
        let former = self.full_name(self.repo(repo)?);
        let is_org = self
            .accounts
            .get(&from)
            .is_some_and(|account| account.org().is_some());
        let old_owner =
            json!({ (if is_org { "organization" } else { "user" }): json::user(self, from) });
        let found = self.repo_mut(repo)?;
        found.owner = to;
        found.former_names.push(former);
        for team in self.teams.values_mut() {
            team.repos.remove(&repo);
        }
        for installation in self
            .installations
            .values_mut()
            .filter(|i| i.account == from)
        {
            if let Selection::Selected(repos) = &mut installation.repositories {
                repos.remove(&repo);
            }
        }
        let event = Event::in_repo("repository", "transferred", repo, actor);
        self.emit(event.with("changes", json!({ "owner": { "from": old_owner } })));
        Ok(())
    }

    pub fn delete_repo(&mut self, actor: Actor, repo: RepoId) -> Result<(), Refused> {
        self.need(actor, repo, Role::Admin)?;
        self.emit(Event::in_repo("repository", "deleted", repo, actor));
        self.repos.remove(&repo);
        for team in self.teams.values_mut() {
            team.repos.remove(&repo);
        }
        for pull in self
            .repos
            .values_mut()
            .flat_map(|r| r.issues.values_mut())
            .filter_map(|issue| issue.pull.as_mut())
        {
            if pull.head.repo == Some(repo) {
                pull.head.repo = None;
            }
        }
        Ok(())
    }

    pub fn protect(
        &mut self,
        actor: Actor,
        repo: RepoId,
        branch: &str,
        rules: Protection,
    ) -> Result<(), Refused> {
        self.need(actor, repo, Role::Admin)?;
        self.repo_mut(repo)?
            .protections
            .insert(branch.to_owned(), rules);
        Ok(())
    }

    /// A ref's target, by its full name.
    pub fn ref_target(&self, repo: RepoId, name: &str) -> Option<Sha> {
        self.repos.get(&repo)?.refs.get(name).copied()
    }
}
