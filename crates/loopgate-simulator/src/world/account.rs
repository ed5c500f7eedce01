//! Accounts: people, organisations and the bots that Apps act as; and teams.

use std::collections::{BTreeMap, BTreeSet};

use super::{RepoId, TeamId};
use loopgate_core::{AppId, Timestamp, UserId};

/// What somebody may do in a repository, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    Read,
    Triage,
    Write,
    Maintain,
    Admin,
}

impl Role {
    pub const ALL: [Self; 5] = [
        Self::Read,
        Self::Triage,
        Self::Write,
        Self::Maintain,
        Self::Admin,
    ];

    /// The name in `role_name`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Triage => "triage",
            Self::Write => "write",
            Self::Maintain => "maintain",
            Self::Admin => "admin",
        }
    }

    /// The key in `permissions` objects, from the time when there were three.
    pub const fn as_permission(self) -> &'static str {
        match self {
            Self::Read => "pull",
            Self::Triage => "triage",
            Self::Write => "push",
            Self::Maintain => "maintain",
            Self::Admin => "admin",
        }
    }

    /// The plain `permission` field of the collaborator API, which folds maintain into write and triage into read
    /// (docs.github.com, REST, Get repository permissions for a user).
    pub const fn folded(self) -> &'static str {
        match self {
            Self::Read | Self::Triage => "read",
            Self::Write | Self::Maintain => "write",
            Self::Admin => "admin",
        }
    }

    /// Reads either vocabulary.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|role| role.as_str() == text || role.as_permission() == text)
    }
}

/// Whether an account can act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Active,
    /// Not to be found by its login; what it wrote keeps its name.
    Suspended,
    /// Gone; what it wrote belongs to `ghost`.
    Deleted,
}

#[derive(Clone, Debug)]
pub struct Account {
    pub id: UserId,
    pub login: String,
    pub kind: AccountKind,
    pub standing: Standing,
    pub name: Option<String>,
    /// Addresses by which commits are recognised as this account's, besides the noreply ones.
    pub emails: Vec<String>,
    pub created_at: Timestamp,
}

#[derive(Clone, Debug)]
pub enum AccountKind {
    User,
    Organization(Org),
    /// The account in whose name an App acts.
    Bot(AppId),
}

#[derive(Clone, Debug)]
pub struct Org {
    pub members: BTreeMap<UserId, OrgRole>,
    /// What every member may do in every repository; none if they need a grant.
    pub base_role: Option<Role>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrgRole {
    Member,
    Owner,
}

impl Account {
    /// `User`, `Organization` or `Bot`.
    pub const fn type_name(&self) -> &'static str {
        match self.kind {
            AccountKind::User => "User",
            AccountKind::Organization(_) => "Organization",
            AccountKind::Bot(_) => "Bot",
        }
    }

    pub const fn org(&self) -> Option<&Org> {
        match &self.kind {
            AccountKind::Organization(org) => Some(org),
            _ => None,
        }
    }

    pub fn is_active(&self) -> bool {
        self.standing == Standing::Active
    }

    /// The address GitHub writes into commits of people who keep theirs private.
    pub fn noreply(&self) -> String {
        format!("{}+{}@users.noreply.github.com", self.id, self.login)
    }

    /// The address of this account's commits.
    pub fn email(&self) -> String {
        self.emails
            .first()
            .cloned()
            .unwrap_or_else(|| self.noreply())
    }

    /// Whether a commit with this address is shown as this account's.
    pub fn owns_email(&self, email: &str) -> bool {
        self.is_active()
            && (email == self.noreply()
                || email == format!("{}@users.noreply.github.com", self.login)
                || self
                    .emails
                    .iter()
                    .any(|mine| mine.eq_ignore_ascii_case(email)))
    }
}

/// Who can see a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privacy {
    /// Every member of the organisation; GitHub's word is `closed`.
    Visible,
    /// Its members and the organisation's owners.
    Secret,
}

impl Privacy {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Visible => "closed",
            Self::Secret => "secret",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Team {
    pub id: TeamId,
    pub org: UserId,
    pub slug: String,
    pub name: String,
    pub parent: Option<TeamId>,
    pub privacy: Privacy,
    /// Direct members.
    pub members: BTreeSet<UserId>,
    /// Repositories granted to this very team; child teams inherit them.
    pub repos: BTreeMap<RepoId, Role>,
    pub created_at: Timestamp,
}
