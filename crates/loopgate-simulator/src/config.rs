//! How a simulated GitHub is set up.

use std::{
    collections::BTreeSet,
    net::{Ipv4Addr, SocketAddr},
};

use chrono::TimeDelta;

use super::{
    clock::Clock,
    faults::Faults,
    hooks::Outbox,
    key::{AppKey, UnusableKey},
    operations::{apps::NewApp, runs::ACTIONS},
    refused::Refused,
    requests::{RateLimits, RequestLog},
    transcript::{Scribe, Transcript},
    world::{
        RestVersion, Sequence, World,
        account::{OrgRole, Role},
        app::{Actor, Area, Level, Permissions, Selection},
    },
};
use loopgate_core::{AppId, InstallationId, UserId};

/// Settings of a [`Simulator`](super::Simulator). The default is a small company: organisation `acme` with owner
/// `olga` and members `alice`, `bob` and `carol` (who may write everywhere), outsiders `dave` and `mallory`, the App
/// under test installed on all repositories, a second App `other-ci`, and GitHub Actions.
#[derive(Clone, Debug)]
pub struct Config {
    pub clock: Clock,
    /// Where to listen; port 0 is any free one.
    pub listen: SocketAddr,
    /// Where the pages are that `html_url`s point at; none: at the API's own address, which has no pages.
    pub pages_url: Option<String>,
    /// One seed always gives the same ids, GUIDs, tokens and faults.
    pub seed: u64,
    pub app_id: AppId,
    pub app_slug: String,
    pub installation_id: InstallationId,
    /// None: one key for the whole process.
    pub app_key: Option<AppKey>,
    pub webhook_secret: String,
    /// Requests an hour for each caller.
    pub rate_limit: u32,
    /// How far the clock moves before everything that a person does, so that what they do has an order in time.
    pub pace: TimeDelta,
    pub transcript: Transcript,
    /// How many deliveries may be under way at once. One keeps them in the order of their causes.
    pub delivery_lanes: usize,
}

/// The organisation that is there from the start.
pub const ORG: &str = "acme";
/// Its owner.
pub const OWNER: &str = "olga";
/// GitHub's own id of the Actions App.
const ACTIONS_APP: AppId = AppId::new(15_368);
const OTHER_CI_APP: AppId = AppId::new(515_151);

impl Default for Config {
    fn default() -> Self {
        Self {
            clock: Clock::system(),
            listen: (Ipv4Addr::LOCALHOST, 0).into(),
            pages_url: None,
            seed: 1,
            app_id: AppId::new(424_242),
            app_slug: "loopgate".into(),
            installation_id: InstallationId::new(9_001),
            app_key: None,
            webhook_secret: "a secret between the two".into(),
            rate_limit: 5_000,
            pace: TimeDelta::zero(),
            transcript: Transcript::Off,
            delivery_lanes: 1,
        }
    }
}

/// Why a simulator did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Key(#[from] UnusableKey),
    #[error("cannot listen on the loopback address: {0}")]
    Listen(#[from] std::io::Error),
    #[error("the configuration contradicts itself: {0}")]
    Config(#[from] Refused),
}

/// The events the App under test subscribes to: those that README.md asks people to choose.
const EVENTS: &[&str] = &[
    "check_run",
    "check_suite",
    "issue_comment",
    "member",
    "membership",
    "merge_group",
    "organization",
    "pull_request",
    "pull_request_review",
    "pull_request_review_comment",
    "pull_request_review_thread",
    "push",
    "repository",
    "status",
    "team",
    "workflow_run",
];

impl Config {
    /// The key that the App signs with.
    pub fn key(&self) -> Result<AppKey, UnusableKey> {
        self.app_key.clone().map_or_else(AppKey::shared, Ok)
    }

    /// The world as it is at the start.
    pub(super) fn world(
        &self,
        base_url: String,
        key: &AppKey,
        scribe: Scribe,
    ) -> Result<World, Refused> {
        let mut world = World {
            clock: self.clock.clone(),
            sequence: Sequence::new(self.seed),
            pages_url: self.pages_url.clone().unwrap_or_else(|| base_url.clone()),
            base_url,
            accounts: Default::default(),
            teams: Default::default(),
            apps: Default::default(),
            installations: Default::default(),
            tokens: Default::default(),
            registrations: Default::default(),
            sign_ins: Default::default(),
            networks: Vec::new(),
            repos: Default::default(),
            outbox: Outbox::default(),
            requests: RequestLog::default(),
            scribe,
            rate_limits: RateLimits::new(self.rate_limit),
            rest: RestVersion::V2022,
            remembered: Default::default(),
            past: Default::default(),
            faults: Faults::new(self.seed),
            journal: Vec::new(),
        };
        let org = world.add_org(ORG, Some(Role::Write))?;
        let owner = populate(&mut world, org)?;
        self.install_apps(&mut world, (org, owner), key)?;
        Ok(world)
    }

    /// The App under test, another CI system and GitHub Actions, on all repositories of the organisation.
    fn install_apps(
        &self,
        world: &mut World,
        (org, owner): (UserId, Actor),
        key: &AppKey,
    ) -> Result<(), Refused> {
        let app = |id, slug: &str, permissions| NewApp {
            id,
            slug: slug.into(),
            name: slug.into(),
            owner: org,
            permissions,
            events: BTreeSet::new(),
            public_key: None,
        };
        let ours = NewApp {
            name: "Loopgate".into(),
            events: EVENTS.iter().map(|event| (*event).to_owned()).collect(),
            public_key: Some(key.public_der().clone()),
            ..app(self.app_id, &self.app_slug, our_permissions())
        };
        let ci = [
            (Area::Checks, Level::Write),
            (Area::Contents, Level::Read),
            (Area::Metadata, Level::Read),
        ];
        let others = [
            app(OTHER_CI_APP, "other-ci", ci.into()),
            app(ACTIONS_APP, ACTIONS, actions_permissions()),
        ];
        for (new, nth) in std::iter::once(ours).chain(others).zip(0..) {
            let installation = InstallationId::new(self.installation_id.get() + nth);
            let app = world.register_app(new)?;
            world.install(owner, app, (installation, org), Selection::All)?;
        }
        Ok(())
    }
}

/// The people of the default world; returns the owner.
fn populate(world: &mut World, org: UserId) -> Result<Actor, Refused> {
    let id = world.add_user(OWNER)?;
    let owner = Actor::Person(id);
    world.add_org_member(owner, org, id, OrgRole::Owner)?;
    for member in ["alice", "bob", "carol"] {
        let member = world.add_user(member)?;
        world.add_org_member(owner, org, member, OrgRole::Member)?;
    }
    for outsider in ["dave", "mallory", "web-flow"] {
        world.add_user(outsider)?;
    }
    // Commits made on the site carry this address.
    world.set_emails("web-flow", &["noreply@github.com"])?;
    Ok(owner)
}

/// What Loopgate asks for.
fn our_permissions() -> Permissions {
    use Area::{
        Actions, Administration, Checks, Contents, Issues, Members, MergeQueues, Metadata,
        PullRequests, Statuses,
    };
    let write = [Actions, Checks, Contents, Issues, PullRequests, Statuses]
        .map(|area| (area, Level::Write));
    let read = [Administration, Members, MergeQueues, Metadata].map(|area| (area, Level::Read));
    write.into_iter().chain(read).collect()
}

/// The most a workflow's `permissions:` can give its GITHUB_TOKEN: no members, no administration.
fn actions_permissions() -> Permissions {
    use Area::{Actions, Checks, Contents, Issues, Metadata, PullRequests, Statuses};
    let write = [Actions, Checks, Contents, Issues, PullRequests, Statuses]
        .map(|area| (area, Level::Write));
    write.into_iter().chain([(Metadata, Level::Read)]).collect()
}
