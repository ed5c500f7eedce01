//! Answers that are not believed yet. GitHub's servers lag behind one another: what is refused, absent, created or gone
//! on one of them may not be so on the next.

use std::collections::HashMap;

use chrono::TimeDelta;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Client;
use crate::github::client::{
    error::{Error, Result},
    transport::Outgoing,
};
use loopgate_core::Timestamp;

/// What is in doubt is looked at again so long after it was first read so, whatever other looks there are in between.
pub(crate) const LOOKS: [TimeDelta; 4] = [
    TimeDelta::seconds(2),
    TimeDelta::seconds(8),
    TimeDelta::seconds(30),
    TimeDelta::seconds(90),
];

/// The first of [`LOOKS`] that is still to come.
pub(crate) fn next_look(since: Timestamp, now: Timestamp) -> Option<Timestamp> {
    LOOKS
        .iter()
        .map(|after| since + *after)
        .find(|at| *at > now)
}

/// The look at which a refusal is confirmed: servers that lag or are in trouble refuse too.
pub(crate) const LOOK_AGAIN_AFTER: TimeDelta = TimeDelta::seconds(31);

/// How far two refusals must lie apart to be believed.
const REFUSALS_AGREE_AFTER: TimeDelta = TimeDelta::seconds(30);

/// Refusals remembered at most; beyond that all are in doubt again.
const MOST_REFUSALS: usize = 10_000;

/// How long a list that still shows what is gone is not believed.
const GONE_IS_REMEMBERED: TimeDelta = TimeDelta::hours(1);

/// How long GitHub's lists may not show what was just created, and may show what is gone.
const LISTS_LAG: TimeDelta = TimeDelta::minutes(2);
/// In GitHub's answers to a token of an installation that is suspended.
pub(super) const SUSPENDED: &str = "installation has been suspended";

/// What GitHub refuses or does not show. It is believed when two answers that lie apart agree, or an event states it.
#[derive(Debug, Clone, Copy)]
struct Absence {
    since: Timestamp,
    last: Timestamp,
}

impl Absence {
    /// `since` when an event states it, or GitHub's message.
    const CERTAIN: Timestamp = Timestamp::UNIX_EPOCH;

    fn is_confirmed(&self) -> bool {
        self.last - self.since >= REFUSALS_AGREE_AFTER
    }
}

/// What the client of an installation remembers of answers that may be stale.
#[derive(Default)]
pub(super) struct StaleReads {
    /// Answers used so far that rest on a refusal which is not confirmed.
    doubts: u64,
    /// By method and path, with the last answer.
    refused: HashMap<String, (Absence, Error)>,
    /// When posts of ours were deleted, by us or as an event states, by path: this wins over lists, and over what we
    /// created.
    deleted: HashMap<String, Timestamp>,
    created: Vec<CreatedItem>,
    /// GitHub gave no token for the installation, or its answer names a suspension; with its message.
    silence: Option<(String, Absence)>,
}

/// Something that we created in a list.
pub(super) struct CreatedItem {
    list: String,
    id: u64,
    at: Timestamp,
    item: Value,
}

/// The path of a comment or check run of ours, by its id in the list at this path.
fn post(list: &str, id: u64) -> Option<String> {
    if list.ends_with("/comments") {
        let (repository, _) = list.split_once("/issues/")?;
        return Some(format!("{repository}/issues/comments/{id}"));
    }
    let (repository, _) = list.strip_suffix("/check-runs")?.split_once("/commits/")?;
    Some(format!("{repository}/check-runs/{id}"))
}

impl StaleReads {
    /// Whether a post of ours was deleted, or answers to changes of it agree that it is gone for longer than lists lag:
    /// a list that still shows it is right until then.
    fn is_gone(&self, post: &str, now: Timestamp) -> bool {
        let is_remembered = |at: Timestamp| now - at < GONE_IS_REMEMBERED;
        let is_refused = || match self.refused.get(&format!("PATCH {post}")) {
            Some((absence, Error::NotFound { .. })) => {
                absence.last - absence.since >= LISTS_LAG && is_remembered(absence.last)
            }
            _ => false,
        };
        self.deleted.get(post).is_some_and(|at| is_remembered(*at)) || is_refused()
    }
}

impl Client {
    /// How many answers used so far rest on a refusal or absence that is not confirmed yet. A turn during which this
    /// number grows is repeated after [`LOOK_AGAIN_AFTER`], and keeps none of its results.
    pub(crate) fn doubts(&self) -> u64 {
        self.shared.stale.lock().doubts
    }

    /// Notes whether a request was refused. That a ref or a document of ours is absent is no matter of doubt where it
    /// is made then: GitHub refuses that when it is there after all. Elsewhere see
    /// [`relies_on_absence`](Self::relies_on_absence).
    pub(super) fn note(&self, request: &Outgoing<'_>, answer: Result<(), &Error>) {
        let (mut stale, now) = (self.shared.stale.lock(), self.now());
        let name = || format!("{} {}", request.method, request.target);
        let is_own_ref = request.target.contains("/git/ref/loopgate/");
        match answer {
            Ok(()) if stale.refused.is_empty() => {}
            Ok(()) => drop(stale.refused.remove(&name())),
            Err(error) if error.is_refusal() && !request.may_be_absent => {
                if stale.refused.len() >= MOST_REFUSALS {
                    stale.refused.clear();
                }
                let (absence, last) = stale.refused.entry(name()).or_insert_with(|| {
                    (
                        Absence {
                            since: now,
                            last: now,
                        },
                        error.clone(),
                    )
                });
                (absence.last, *last) = (now, error.clone());
                let is_confirmed = absence.is_confirmed();
                stale.doubts += u64::from(!is_confirmed && !is_own_ref);
            }
            Err(_) => {}
        }
    }

    /// Notes that an answer is used which rests on a refusal that is not confirmed.
    pub(crate) fn relies_on_doubt(&self) {
        self.shared.stale.lock().doubts += 1;
    }

    /// Notes that nothing is done because a path of ours was answered by 404.
    pub(crate) fn relies_on_absence(&self, path: &str) {
        let mut stale = self.shared.stale.lock();
        let is_confirmed = stale
            .refused
            .get(&format!("GET {path}"))
            .is_none_or(|(absence, _)| absence.is_confirmed());
        stale.doubts += u64::from(!is_confirmed);
    }

    /// Remembers what we created in a list, for as long as the list may lag behind.
    pub(crate) fn created(&self, list: &str, id: u64, item: Value) {
        let (mut stale, now) = (self.shared.stale.lock(), self.now());
        stale.created.retain(|item| now - item.at < LISTS_LAG);
        stale.created.push(CreatedItem {
            list: list.to_owned(),
            id,
            at: now,
            item,
        });
    }

    /// Notes that the post of ours at this path was deleted: lists may still show it.
    pub(crate) fn deleted(&self, post: String) {
        let (mut stale, now) = (self.shared.stale.lock(), self.now());
        stale.deleted.retain(|_, at| now - *at < GONE_IS_REMEMBERED);
        if stale.deleted.len() >= MOST_REFUSALS {
            stale.deleted.clear();
        }
        stale.deleted.insert(post, now);
    }

    /// Whether the post of ours at this path is gone, whatever lists show.
    pub(crate) fn is_gone(&self, post: &str) -> bool {
        self.shared.stale.lock().is_gone(post, self.now())
    }

    /// Whether the item of a list with this id is gone, although the list may show it.
    pub(crate) fn is_gone_from(&self, list: &str, id: u64) -> bool {
        post(list, id).is_some_and(|post| self.is_gone(&post))
    }

    /// What we created in a list a moment ago, is not gone again, and is not among these ids.
    pub(crate) fn unlisted<T: DeserializeOwned>(
        &self,
        list: &str,
        is_listed: impl Fn(u64) -> bool,
    ) -> Vec<T> {
        let (stale, now) = (self.shared.stale.lock(), self.now());
        let young = stale
            .created
            .iter()
            .filter(|item| item.list == list && now - item.at < LISTS_LAG);
        let is_there =
            |item: &&CreatedItem| post(list, item.id).is_none_or(|post| !stale.is_gone(&post, now));
        let missing = young.filter(|item| !is_listed(item.id)).filter(is_there);
        missing
            .filter_map(|item| serde_json::from_value(item.item.clone()).ok())
            .collect()
    }

    pub(super) fn respect_silence(&self) -> Result<()> {
        let stale = self.shared.stale.lock();
        let Some((message, absence)) = &stale.silence else {
            return Ok(());
        };
        let until = (!absence.is_confirmed()).then(|| absence.since + LOOK_AGAIN_AFTER);
        if until.is_some_and(|until| self.now() >= until) {
            return Ok(());
        }
        Err(Error::NotInstalled {
            message: message.clone(),
            until,
        })
    }

    /// Stops all requests until [`ask_again`](Self::ask_again): at once where GitHub answers that the installation is
    /// suspended, else when a token is refused for the second time.
    pub(super) fn silence(&self, message: String, is_suspended: bool) -> Error {
        let (mut stale, now) = (self.shared.stale.lock(), self.now());
        let since = stale
            .silence
            .as_ref()
            .map_or(now, |(_, absence)| absence.since);
        let absence = Absence {
            since: if is_suspended {
                Absence::CERTAIN
            } else {
                since
            },
            last: now,
        };
        let until = (!absence.is_confirmed()).then(|| since + LOOK_AGAIN_AFTER);
        stale.silence = Some((message.clone(), absence));
        Error::NotInstalled { message, until }
    }

    /// Something happened there: GitHub sends no events of installations that are gone or suspended. One more refusal
    /// is enough to be sure again.
    pub fn ask_once_more(&self) {
        if let Some((_, absence)) = &mut self.shared.stale.lock().silence {
            absence.last = absence.since;
        }
    }

    /// Lets requests go again, after an event or a list of installations showed that the App may ask here.
    pub fn ask_again(&self) {
        self.shared.stale.lock().silence = None;
    }
}
