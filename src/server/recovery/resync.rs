//! Looks at pull requests whose entries in GitHub's lists differ from what is known.
//!
//! A resync spends at most a tenth of the least quota that an installation has, 5,000 requests an hour
//! (<https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api>). So it goes in rounds of an
//! hour: what the lists leave of a round's share is spent on looks. What is left over, of either, is the next round's.

use std::{
    collections::{BTreeMap, VecDeque},
    error,
};

use chrono::TimeDelta;

use crate::{
    github::{Github, fold_ended_runs},
    server::{
        Services,
        storage::{Change, ChangeOutcome, PullList},
    },
};
use loopgate_core::{InstallationId, RepoName, Timestamp};

const ROUND: TimeDelta = TimeDelta::hours(1);

/// Requests of one installation in a round.
const SHARE: usize = 500;

/// What a look at a pull request on which little has happened costs at most.
const REQUESTS_OF_A_LOOK: usize = 10;

/// Entries of a page of a list.
const PER_PAGE: usize = 100;

/// The refs of ended runs are folded this often at most.
const FOLD_EVERY: TimeDelta = TimeDelta::days(1);

/// The pause after GitHub did not list the installations.
const PAUSE: TimeDelta = TimeDelta::minutes(5);

pub(super) struct Resync {
    /// None: when a person asks for it.
    every: Option<TimeDelta>,
    lists_due: Timestamp,
    folds_due: Timestamp,
    /// Whether the pass that goes on folds.
    folds: bool,
    round_due: Timestamp,
    /// The repositories of each installation whose lists are still to be read.
    unread: BTreeMap<InstallationId, VecDeque<RepoName>>,
}

impl Resync {
    /// Without `every` there is one pass, and no further one by itself.
    pub const fn new(every: Option<TimeDelta>, now: Timestamp) -> Self {
        Self {
            every,
            lists_due: now,
            folds_due: now,
            folds: false,
            round_due: now,
            unread: BTreeMap::new(),
        }
    }

    /// Reads the lists again, now.
    pub const fn begin(&mut self, now: Timestamp) {
        self.lists_due = now;
        self.folds_due = now;
        self.round_due = now;
    }

    pub fn due(&self) -> Timestamp {
        self.lists_due.min(self.round_due)
    }

    pub async fn round(&mut self, github: &Github, services: &Services, now: Timestamp) {
        if self.lists_due <= now {
            let installations = match github.client(None).installations().await {
                Ok(installations) => installations,
                Err(error) => {
                    tracing::warn!(reason = %error, "GitHub does not say where the App is installed");
                    self.lists_due = now + PAUSE;
                    self.round_due = self.lists_due;
                    return;
                }
            };
            self.lists_due = self.every.map_or(Timestamp::MAX_UTC, |every| now + every);
            services.metrics.resyncs.add(1);
            self.folds = self.folds_due <= now;
            if self.folds {
                self.folds_due = now + FOLD_EVERY;
            }
            self.unread.clear();
            for installation in installations {
                let client = github.client(Some(installation));
                client.ask_again();
                let repositories = client.repositories().await.unwrap_or_else(|error| {
                    tracing::warn!(%installation, reason = %error, "GitHub does not list the repositories");
                    Vec::new()
                });
                self.unread.insert(installation, repositories.into());
            }
        }
        self.round_due = now + ROUND;
        for (installation, unread) in &mut self.unread {
            if let Err(interrupted) =
                share((github, services), *installation, unread, self.folds, now).await
            {
                tracing::warn!(%installation, reason = %interrupted, "a resync is interrupted");
            }
        }
    }
}

/// One installation's part of a round.
async fn share(
    (github, services): (&Github, &Services),
    installation: InstallationId,
    unread: &mut VecDeque<RepoName>,
    folds: bool,
    now: Timestamp,
) -> Result<(), Box<dyn error::Error + Send + Sync>> {
    let client = github.client(Some(installation));
    let mut left = SHARE;
    while left > 0
        && let Some(repository) = unread.front().cloned()
    {
        let list = client.repo(&repository).open_pulls_by_update().await;
        unread.pop_front();
        left = left.saturating_sub(1);
        let list = match list {
            Ok(list) => list,
            Err(error) => match error.refusal() {
                Ok(refusal) => {
                    // Renamed or gone meanwhile, or not shown to us: the others go on.
                    tracing::debug!(%repository, reason = %refusal, "a repository is not listed");
                    continue;
                }
                Err(error) => {
                    unread.push_back(repository);
                    return Err(error.into());
                }
            },
        };
        left = left.saturating_sub(list.items.len() / PER_PAGE);
        let is_complete = list.is_complete;
        if folds && is_complete {
            let open = list.items.iter().map(|pull| pull.number).collect();
            match fold_ended_runs(client.repo(&repository), &open, left, now).await {
                Ok(folded) => {
                    left = left.saturating_sub(folded.requests);
                    if folded.runs > 0 {
                        tracing::info!(%repository, runs = folded.runs, "refs of ended runs are folded");
                    }
                    if !folded.is_complete {
                        unread.push_front(repository.clone());
                    }
                }
                // The refs stay, and the rest of the pass does not need them.
                Err(error) => {
                    tracing::warn!(%repository, reason = %error, "refs of ended runs are not folded")
                }
            }
        }
        services
            .inbox
            .apply(Change::Listed(PullList {
                installation,
                repository,
                pulls: list.items,
                is_complete,
                now,
            }))
            .await?;
    }
    let most = left / REQUESTS_OF_A_LOOK;
    if let ChangeOutcome::New(asked) = services
        .inbox
        .apply(Change::Resync {
            installation,
            most,
            now,
        })
        .await?
        && !asked.is_empty()
    {
        services.metrics.resynced.add(asked.len() as u64);
        tracing::info!(%installation, pull_requests = asked.len(), "a resync asks for looks");
    }
    Ok(())
}
