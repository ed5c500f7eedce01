//! Apps, their installations and the tokens of requests.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::RepoId;
use loopgate_core::{AppId, InstallationId, Timestamp, UserId};

/// What a permission is about, by GitHub's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Area {
    Actions,
    Administration,
    Checks,
    Contents,
    Issues,
    Members,
    MergeQueues,
    Metadata,
    PullRequests,
    Statuses,
    Workflows,
}

impl Area {
    pub const ALL: [Self; 11] = [
        Self::Actions,
        Self::Administration,
        Self::Checks,
        Self::Contents,
        Self::Issues,
        Self::Members,
        Self::MergeQueues,
        Self::Metadata,
        Self::PullRequests,
        Self::Statuses,
        Self::Workflows,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Actions => "actions",
            Self::Administration => "administration",
            Self::Checks => "checks",
            Self::Contents => "contents",
            Self::Issues => "issues",
            Self::Members => "members",
            Self::MergeQueues => "merge_queues",
            Self::Metadata => "metadata",
            Self::PullRequests => "pull_requests",
            Self::Statuses => "statuses",
            Self::Workflows => "workflows",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|area| area.as_str() == text)
    }
}

/// How much of an [`Area`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    Read,
    Write,
}

impl Level {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Read, Self::Write]
            .into_iter()
            .find(|level| level.as_str() == text)
    }
}

pub type Permissions = BTreeMap<Area, Level>;

/// A GitHub App as it is registered.
#[derive(Clone, Debug)]
pub struct App {
    pub id: AppId,
    pub slug: String,
    pub name: String,
    pub owner: UserId,
    /// The account it acts as, `slug[bot]`.
    pub bot: UserId,
    pub permissions: Permissions,
    /// Subscribed events; installation events and buttons arrive without.
    pub events: BTreeSet<String>,
    pub webhook: Option<Webhook>,
    /// Whether other accounts than its owner may install it.
    pub is_public: bool,
    /// The RSA public key (PKCS#1 DER) that its JWTs are checked with; none if nobody holds the private one.
    pub public_key: Option<Bytes>,
    pub created_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    pub url: String,
    pub secret: String,
}

impl App {
    /// The other name that an App can sign its JWTs with.
    pub fn client_id(&self) -> String {
        format!("Iv23li{:014}", self.id.get())
    }

    /// What it proves with that it is the App of that client id.
    pub fn client_secret(&self) -> String {
        format!("{:040x}", self.id.get())
    }
}

/// An App on an account.
#[derive(Clone, Debug)]
pub struct Installation {
    pub id: InstallationId,
    pub app: AppId,
    pub account: UserId,
    pub repositories: Selection,
    pub permissions: Permissions,
    pub suspended: Option<Suspension>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suspension {
    pub by: UserId,
    pub at: Timestamp,
}

/// Which repositories of the account an installation reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    All,
    Selected(BTreeSet<RepoId>),
}

impl Selection {
    pub fn contains(&self, repo: RepoId) -> bool {
        match self {
            Self::All => true,
            Self::Selected(repos) => repos.contains(&repo),
        }
    }

    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Selected(_) => "selected",
        }
    }
}

/// A bearer token that the world made.
#[derive(Clone, Debug)]
pub struct Token {
    pub holder: Holder,
    /// None for those that people made for themselves.
    pub expires_at: Option<Timestamp>,
    /// The App that a person let act for them.
    pub app: Option<AppId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    Person(UserId),
    /// Narrowed to what was asked for when it was made.
    Installation {
        id: InstallationId,
        permissions: Permissions,
        repositories: Selection,
    },
}

/// In whose name something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Actor {
    Person(UserId),
    /// An installed App, acting as its bot.
    App(InstallationId),
}

/// Registrations that were begun, and installations that were asked for.
#[derive(Clone, Debug, Default)]
pub struct Registrations {
    pub codes: BTreeMap<String, Registered>,
    pub requests: Vec<InstallationRequest>,
}

/// What a code is exchanged for.
#[derive(Clone, Debug)]
pub struct Registered {
    pub app: AppId,
    pub pem: String,
    pub webhook_secret: String,
    pub at: Timestamp,
}

/// A member of an organisation who is no owner asked for an App to be installed.
#[derive(Clone, Copy, Debug)]
pub struct InstallationRequest {
    pub app: AppId,
    pub account: UserId,
    pub requester: UserId,
    pub at: Timestamp,
}

/// What somebody agreed to.
#[derive(Clone, Debug)]
pub struct Grant {
    pub app: AppId,
    pub person: UserId,
    pub redirect: String,
    pub challenge: Option<String>,
    pub at: Timestamp,
}
