//! All that the simulated GitHub knows: one world of plain structs.
//!
//! The API handlers and the actors change it through the same [operations](super::operations), and tests inspect it.

pub mod access;
pub mod account;
pub mod app;
pub mod checks;
mod ids;
pub mod issue;
pub mod journal;
pub mod repo;
pub mod runs;

use std::collections::{BTreeMap, HashMap};

use chrono::SubsecRound as _;

pub use ids::{ArtifactId, DeliveryId, RepoId, Sequence, SuiteId, TeamId};

use self::{
    account::{Account, AccountKind, Team},
    app::{Actor, App, Grant, Installation, Registrations, Token},
    issue::{Issue, Pull},
    journal::{Happening, What},
    repo::Repo,
};
use super::{
    clock::Clock,
    faults::Faults,
    git::Objects,
    hooks::Outbox,
    refused::Refused,
    requests::{RateLimits, Remembered, RequestLog},
    transcript::Scribe,
};
use loopgate_core::{AppId, InstallationId, PrNumber, RepoName, Timestamp, UserId};

/// GitHub, as far as Loopgate can see it.
#[derive(Debug)]
pub struct World {
    pub clock: Clock,
    pub sequence: Sequence,
    /// `http://127.0.0.1:PORT`, the base of the API's URLs.
    pub base_url: String,
    /// The base of `html_url`s.
    pub pages_url: String,
    pub accounts: BTreeMap<UserId, Account>,
    pub teams: BTreeMap<TeamId, Team>,
    pub apps: BTreeMap<AppId, App>,
    pub installations: BTreeMap<InstallationId, Installation>,
    pub tokens: HashMap<String, Token>,
    pub registrations: Registrations,
    /// What people agreed to, by codes that were not exchanged yet.
    pub sign_ins: BTreeMap<String, Grant>,
    /// The objects of each fork network, by [`repo::Network`].
    pub networks: Vec<Objects>,
    pub repos: BTreeMap<RepoId, Repo>,
    pub outbox: Outbox,
    pub requests: RequestLog,
    pub scribe: Scribe,
    pub rate_limits: RateLimits,
    pub rest: RestVersion,
    pub remembered: Remembered,
    /// What the world was before each moment at which it changed, oldest first.
    pub past: Vec<(Timestamp, Self)>,
    pub faults: Faults,
    pub journal: Vec<Happening>,
}

/// A version of the REST API (<https://docs.github.com/en/rest/about-the-rest-api/breaking-changes>).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestVersion {
    V2022,
    /// 2026-03-10: pull requests have neither `merge_commit_sha` nor `assignee`.
    V2026,
}

impl RestVersion {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2022 => "2022-11-28",
            Self::V2026 => "2026-03-10",
        }
    }
}

impl World {
    /// Now, as GitHub writes it: whole seconds.
    pub fn now(&self) -> Timestamp {
        self.clock.now().trunc_subsecs(0)
    }

    /// An active or suspended account by its login, without regard to case.
    pub fn account(&self, login: &str) -> Option<&Account> {
        self.accounts.values().find(|account| {
            account.login.eq_ignore_ascii_case(login)
                && account.standing != account::Standing::Deleted
        })
    }

    /// The id of an account that can act.
    pub fn user_id(&self, login: &str) -> Result<UserId, Refused> {
        self.account(login)
            .filter(|account| account.is_active())
            .map(|a| a.id)
            .ok_or_else(Refused::not_found)
    }

    /// Whose commits carry this address, if anybody's.
    pub fn account_by_email(&self, email: &str) -> Option<&Account> {
        self.accounts
            .values()
            .find(|account| account.owns_email(email))
    }

    pub fn login(&self, id: UserId) -> &str {
        self.accounts
            .get(&id)
            .map_or("ghost", |account| &account.login)
    }

    pub fn org(&self, login: &str) -> Result<&Account, Refused> {
        self.account(login)
            .filter(|account| account.org().is_some())
            .ok_or_else(Refused::not_found)
    }

    pub fn team(&self, org: UserId, slug: &str) -> Result<&Team, Refused> {
        let wanted = |team: &&Team| team.org == org && team.slug.eq_ignore_ascii_case(slug);
        self.teams
            .values()
            .find(wanted)
            .ok_or_else(Refused::not_found)
    }

    pub fn app_by_slug(&self, slug: &str) -> Result<&App, Refused> {
        self.apps
            .values()
            .find(|app| app.slug == slug)
            .ok_or_else(Refused::not_found)
    }

    /// The installation of an App that reaches a repository.
    pub fn installation_for(&self, app: AppId, repo: RepoId) -> Result<&Installation, Refused> {
        let owner = self.repo(repo)?.owner;
        self.installations
            .values()
            .find(|i| i.app == app && i.account == owner && i.repositories.contains(repo))
            .ok_or_else(Refused::not_found)
    }

    pub fn full_name(&self, repo: &Repo) -> String {
        format!("{}/{}", self.login(repo.owner), repo.name)
    }

    /// A repository by its present name.
    pub fn find_repo(&self, owner: &str, name: &str) -> Option<&Repo> {
        self.repos.values().find(|repo| {
            repo.name.eq_ignore_ascii_case(name)
                && self.login(repo.owner).eq_ignore_ascii_case(owner)
        })
    }

    /// A repository by a name it had before.
    pub fn repo_formerly(&self, owner: &str, name: &str) -> Option<&Repo> {
        let wanted = format!("{owner}/{name}");
        self.repos.values().find(|repo| {
            repo.former_names
                .iter()
                .any(|former| former.eq_ignore_ascii_case(&wanted))
        })
    }

    pub fn repo_named(&self, name: &RepoName) -> Result<RepoId, Refused> {
        self.find_repo(name.owner(), name.name())
            .map(|repo| repo.id)
            .ok_or_else(Refused::not_found)
    }

    pub fn repo(&self, id: RepoId) -> Result<&Repo, Refused> {
        self.repos.get(&id).ok_or_else(Refused::not_found)
    }

    pub fn repo_mut(&mut self, id: RepoId) -> Result<&mut Repo, Refused> {
        self.repos.get_mut(&id).ok_or_else(Refused::not_found)
    }

    /// The objects that a repository shares with its forks.
    pub fn objects(&self, repo: &Repo) -> &Objects {
        self.networks
            .get(repo.network.0)
            .expect("a network is made before its repositories and never removed")
    }

    pub fn objects_mut(&mut self, id: RepoId) -> Result<&mut Objects, Refused> {
        let network = self.repo(id)?.network.0;
        self.networks
            .get_mut(network)
            .ok_or_else(Refused::not_found)
    }

    pub fn issue(&self, repo: RepoId, number: PrNumber) -> Result<&Issue, Refused> {
        self.repo(repo)?
            .issue(number)
            .ok_or_else(Refused::not_found)
    }

    pub fn issue_mut(&mut self, repo: RepoId, number: PrNumber) -> Result<&mut Issue, Refused> {
        self.repo_mut(repo)?
            .issues
            .get_mut(&number)
            .ok_or_else(Refused::not_found)
    }

    pub fn pull(&self, repo: RepoId, number: PrNumber) -> Result<&Pull, Refused> {
        self.issue(repo, number)?
            .pull
            .as_ref()
            .ok_or_else(Refused::not_found)
    }

    pub fn pull_mut(&mut self, repo: RepoId, number: PrNumber) -> Result<&mut Pull, Refused> {
        self.issue_mut(repo, number)?
            .pull
            .as_mut()
            .ok_or_else(Refused::not_found)
    }

    /// The account in whose name an actor acts.
    pub fn account_of(&self, actor: Actor) -> UserId {
        match actor {
            Actor::Person(id) => id,
            Actor::App(id) => self.app_of(id).map_or(GHOST, |app| app.bot),
        }
    }

    /// The actor behind an account: a bot's is its App, whose rights are those of its installation.
    pub fn actor(&self, login: &str) -> Result<Actor, Refused> {
        let id = self.user_id(login)?;
        let app = self.app_of_account(id).map(|app| app.id);
        let mut installations = self.installations.values();
        let installed = installations.find(|one| Some(one.app) == app);
        Ok(installed.map_or(Actor::Person(id), |one| Actor::App(one.id)))
    }

    pub fn app_of(&self, installation: InstallationId) -> Option<&App> {
        self.apps.get(&self.installations.get(&installation)?.app)
    }

    /// The App whose bot an account is.
    pub fn app_of_account(&self, id: UserId) -> Option<&App> {
        match self.accounts.get(&id)?.kind {
            AccountKind::Bot(app) => self.apps.get(&app),
            _ => None,
        }
    }

    pub fn record(&mut self, actor: Actor, repo: RepoId, number: Option<PrNumber>, what: What) {
        let (at, actor) = (self.now(), self.account_of(actor));
        self.journal.push(Happening {
            at,
            actor,
            repo,
            number,
            what,
        });
    }
}

/// GitHub's account for what deleted users left behind.
pub const GHOST: UserId = UserId::new(10_137);
