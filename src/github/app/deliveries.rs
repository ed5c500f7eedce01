//! What only the App's own signed token may ask: its installations, and the log of its deliveries.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::github::client::{
    Client,
    error::{OrAbsent as _, Result},
    path,
    retry::Repeat,
};
use http::Method;
use loopgate_core::{InstallationId, RepoName, Timestamp};

/// Pages of installations read at most: 3,000 of them.
const MOST_PAGES: usize = 30;

/// An attempt of GitHub's to deliver an event.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct DeliveryAttempt {
    pub id: u64,
    /// Of the event: the same for every attempt.
    pub guid: String,
    pub delivered_at: Timestamp,
    /// The HTTP status of the answer; 0 if no answer came.
    #[serde(default)]
    pub status_code: u16,
}

impl DeliveryAttempt {
    /// Whether we took it.
    pub fn is_accepted(&self) -> bool {
        (200..300).contains(&self.status_code)
    }
}

/// A delivery as the log keeps it.
#[derive(Debug, Deserialize)]
pub struct LoggedDelivery {
    pub guid: String,
    /// `X-GitHub-Event`.
    pub event: String,
    pub request: LoggedRequest,
}

#[derive(Debug, Deserialize)]
pub struct LoggedRequest {
    /// As JSON. Its bytes may differ from those that were sent, so the signature does not verify it.
    pub payload: Box<RawValue>,
}

#[derive(Deserialize)]
pub(in crate::github) struct Installation {
    pub id: InstallationId,
    pub suspended_at: Option<Timestamp>,
}

impl Client {
    /// Where the App is installed and not suspended.
    ///
    /// # Errors
    /// Every kind of [`Error`](crate::github::client::error::Error).
    pub async fn installations(&self) -> Result<Vec<InstallationId>> {
        let all = self
            .list::<Installation>("/app/installations", MOST_PAGES)
            .await?
            .items;
        Ok(all
            .into_iter()
            .filter(|it| it.suspended_at.is_none())
            .map(|it| it.id)
            .collect())
    }

    /// The installation that may see a repository; none where there is none.
    ///
    /// # Errors
    /// Every kind of [`Error`](crate::github::client::error::Error) but not found.
    pub async fn installation_of(&self, repository: &RepoName) -> Result<Option<InstallationId>> {
        let path = format!("{}/installation", path::repo(repository));
        Ok(self
            .get::<Installation>(&path)
            .await
            .or_absent()?
            .map(|it| it.id))
    }

    /// Asks for the event of an attempt to be delivered again, under the same guid.
    ///
    /// # Errors
    /// Every kind of [`Error`](crate::github::client::error::Error).
    pub async fn redeliver(&self, attempt: u64) -> Result<()> {
        let path = format!("/app/hook/deliveries/{attempt}/attempts");
        self.send(Method::POST, &path, None, Repeat::Never).await
    }
}
