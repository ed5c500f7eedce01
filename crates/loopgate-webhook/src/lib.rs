//! Webhook payloads: which pull requests does a delivery concern?
//!
//! A payload names *which* pull request to look at, not what to do there: that is read from the API. [`route`]
//! is pure and makes one pass over the body. The caller has checked the signature, so the body is GitHub's; what people
//! wrote into it is still hostile.

#![cfg_attr(
    not(test),
    warn(
        clippy::print_stderr,
        clippy::print_stdout,
        clippy::unwrap_used,
        clippy::use_debug
    )
)]

mod events;
mod marker;
mod payload;
#[cfg(test)]
mod tests;
mod work_class;
mod workflow;

use serde::de::DeserializeOwned;

pub use self::{
    marker::Marker,
    payload::App,
    work_class::{WorkClass, class_of},
    workflow::{InWorkflow, Unsuitable, route_in_workflow},
};
use loopgate_core::{
    AppId, InstallationId, Login, PrNumber, RepoName, Sha, Timestamp, UserId, observed::Hint,
};

/// Who we are, to distinguish events of our own writes from those of people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnApp {
    pub app_id: AppId,
    /// The account the App acts as, `slug[bot]`. Without it (GitHub could not be asked yet) echoes of our comments
    /// and labels are looked at once more, which changes nothing.
    pub bot: Option<Login>,
}

/// What to look at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// One pull request.
    PullRequest {
        repository: RepoName,
        number: PrNumber,
    },
    /// The open pull requests with this head commit. Several may match, from forks too.
    Head { repository: RepoName, sha: Sha },
    /// The open pull requests into this branch.
    Base {
        repository: RepoName,
        branch: String,
    },
    /// All open pull requests of the repository.
    Repository(RepoName),
    /// All open pull requests of the installation.
    Installation,
    /// The pull requests that a merge queue put between `base` and `head`.
    MergeGroup {
        repository: RepoName,
        head: Sha,
        base: Sha,
        base_ref: String,
    },
}

impl Target {
    /// The repository, for everything but a whole installation.
    pub fn repository(&self) -> Option<&RepoName> {
        match self {
            Self::PullRequest { repository, .. }
            | Self::Head { repository, .. }
            | Self::Base { repository, .. }
            | Self::Repository(repository)
            | Self::MergeGroup { repository, .. } => Some(repository),
            Self::Installation => None,
        }
    }
}

/// What a delivery asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    pub installation: InstallationId,
    /// Never empty; almost always one.
    pub targets: Vec<Target>,
    pub hints: Vec<Hint>,
}

/// News of a check on a commit that another App or workflow runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckNews {
    /// A check run ended.
    Run { name: String, app: Option<String> },
    /// A suite of this App's check runs ended.
    Suite { app: String },
    /// A commit status was set.
    Status { context: String },
}

/// Where a delivery goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Routed {
    Work(Work),
    /// Work on one head, unless nothing there depends on this check.
    Check(Work, CheckNews),
    /// This person does not let the App act for them any more.
    Withdrawn(UserId),
    /// Nothing to look at: acknowledged and counted, never queued.
    Irrelevant(Irrelevant),
    /// GitHub asks whether we are there.
    Ping,
}

loopgate_core::words! {
    /// Why a delivery concerns nothing.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
    pub enum Irrelevant {
        UnknownEvent = "unknown_event",
        UnknownAction = "unknown_action",
        /// An echo of our own write.
        OwnEvent = "own_event",
        /// A button or re-run of another App's check.
        NotOurs = "not_ours",
        /// A comment that holds no command and no gate word.
        Chat = "chat",
        /// An issue that is not a pull request.
        NotAPullRequest = "not_a_pull_request",
        /// A push that changes neither our configuration nor CODEOWNERS, or not to a branch.
        NothingThatGoverns = "nothing_that_governs",
        /// Of a check that the configuration does not name.
        NotConfigured = "not_configured",
        /// A place that takes no requests from now on: suspended, uninstalled, archived, deleted.
        NothingToAsk = "nothing_to_ask",
        /// Sent by a repository's own webhook, not to an installation of the App.
        NoInstallation = "no_installation",
        /// Of a merge queue, and it does not say in which repository.
        NoRepository = "no_repository",
    }
}

/// A body that cannot be read. Its text gives the position, and never quotes the body.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PayloadError {
    #[error("the body is not JSON (line {line}, column {column})")]
    NotJson { line: usize, column: usize },
    #[error(
        "the body is JSON, but not a `{event}` payload as GitHub documents it (line {line}, column {column})"
    )]
    Unexpected {
        event: String,
        line: usize,
        column: usize,
    },
    #[error("the `{event}` payload lacks a usable {field}")]
    Lacking { event: String, field: &'static str },
}

/// Reads which pull requests the event `event` (the `X-GitHub-Event` header) with this body concerns.
///
/// Unknown events and actions are [`Irrelevant`]. `received_at` is when the delivery came.
///
/// # Errors
/// [`PayloadError`] when the body is not JSON, or lacks a field that GitHub documents as always there.
pub fn route(
    event: &str,
    body: &[u8],
    own: &OwnApp,
    received_at: Timestamp,
) -> Result<Routed, PayloadError> {
    events::read(&Reader {
        event,
        body,
        own,
        received_at,
        installation: None,
    })
}

/// One delivery while it is being routed.
struct Reader<'a> {
    event: &'a str,
    body: &'a [u8],
    own: &'a OwnApp,
    received_at: Timestamp,
    /// What it is of where the payload names none.
    installation: Option<InstallationId>,
}

impl Reader<'_> {
    fn read<T: DeserializeOwned>(&self) -> Result<T, PayloadError> {
        serde_json::from_slice(self.body).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            if error.is_data() {
                PayloadError::Unexpected {
                    event: self.event.to_owned(),
                    line,
                    column,
                }
            } else {
                PayloadError::NotJson { line, column }
            }
        })
    }

    /// What this event's payload must have.
    fn of<T>(&self, part: Option<T>, field: &'static str) -> Result<T, PayloadError> {
        part.ok_or_else(|| PayloadError::Lacking {
            event: self.event.to_owned(),
            field,
        })
    }
}
