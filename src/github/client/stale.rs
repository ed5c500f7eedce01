//! Answers that are not believed yet. GitHub's servers lag behind one another: what is refused, absent, created or gone on
//! one of them may not be so on the next.

use std::sync::{PoisonError, atomic::Ordering};

use chrono::TimeDelta;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Client;
use crate::github::{Error, ErrorKind, transport::Outgoing};
use loopgate_core::{CheckRunId, CommentId, Timestamp};

/// What is refused or absent still after so long is believed: servers that lag or are in trouble say it too.
pub(crate) const REFUSAL_IS_CONFIRMED_AFTER: TimeDelta = TimeDelta::seconds(30);
/// When what was refused is asked for again.
pub(crate) const LOOK_AGAIN_AFTER: TimeDelta = TimeDelta::seconds(31);
/// Refusals remembered at most; beyond that all are in doubt again.
const MOST_REFUSALS: usize = 10_000;
/// When a post that an answer says is gone is believed to be: a server that lags behind says it of what is new.
const GONE_IS_CONFIRMED_AFTER: TimeDelta = TimeDelta::seconds(2);
/// How long a list that still shows what is gone is not believed.
const GONE_IS_REMEMBERED: TimeDelta = TimeDelta::hours(1);
/// How long GitHub's lists may not show what was just created.
const LISTS_LAG: TimeDelta = TimeDelta::minutes(2);
/// In GitHub's answers to a token of an installation that is suspended.
pub(super) const SUSPENDED: &str = "installation has been suspended";

/// A comment or a check run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum PostId {
    Comment(CommentId),
    CheckRun(CheckRunId),
}

/// How GitHub shows that a post is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GoneBy {
    /// It is certain.
    Event,
    /// A 404. A server that lags behind answers so for what was just created.
    Answer,
}

#[derive(Debug)]
pub(super) struct Gone {
    since: Timestamp,
    is_sure: bool,
}

/// GitHub gave no token for the installation, or its answer names a suspension.
#[derive(Debug)]
pub(super) struct Silence {
    message: String,
    since: Timestamp,
    is_sure: bool,
}

impl Silence {
    /// When a first refusal is confirmed.
    pub(super) fn until(&self) -> Option<Timestamp> {
        (!self.is_sure).then(|| self.since + LOOK_AGAIN_AFTER)
    }
}

/// Something that we created in a list.
pub(super) struct Created {
    list: String,
    id: u64,
    at: Timestamp,
    item: Value,
}

/// What the path of a list of comments, or of check runs, ends with.
const COMMENTS: &str = "/comments";
const CHECK_RUNS: &str = "/check-runs";

impl PostId {
    /// What the path of its list ends with.
    const fn list_and_id(self) -> (&'static str, u64) {
        match self {
            Self::Comment(id) => (COMMENTS, id.get()),
            Self::CheckRun(id) => (CHECK_RUNS, id.get()),
        }
    }

    fn in_list(list: &str, id: u64) -> Option<Self> {
        if list.ends_with(COMMENTS) {
            Some(Self::Comment(CommentId::new(id)))
        } else {
            list.ends_with(CHECK_RUNS).then(|| Self::CheckRun(CheckRunId::new(id)))
        }
    }
}

impl Client {
    /// How many answers used so far rest on a refusal or absence that is not confirmed yet. A turn during which this number
    /// grows is repeated after [`REFUSAL_IS_CONFIRMED_AFTER`], and caches none of its results.
    pub(crate) fn doubts(&self) -> u64 {
        self.shared.doubtful.load(Ordering::Relaxed)
    }

    pub(crate) fn relies_on_doubt(&self) {
        self.shared.doubtful.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes whether a request was refused. That a ref of ours is absent is no matter of doubt: it is made then, or is there
    /// after all.
    pub(super) fn note(&self, request: &Outgoing<'_>, answer: Result<(), &Error>) {
        let mut refused = self.shared.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let name = || format!("{} {}", request.method, request.target);
        match answer {
            Ok(()) if refused.is_empty() => {}
            Ok(()) => drop(refused.remove(&name())),
            Err(error) if error.kind() == ErrorKind::Refusal && !request.target.contains("/git/ref/loopgate/") => {
                if refused.len() >= MOST_REFUSALS {
                    refused.clear();
                }
                let now = self.now();
                if now - *refused.entry(name()).or_insert(now) < REFUSAL_IS_CONFIRMED_AFTER {
                    self.relies_on_doubt();
                }
            }
            Err(_) => {}
        }
    }

    /// Remembers what we created in a list, for as long as the list may lag behind.
    pub(crate) fn created(&self, list: &str, id: u64, item: Value) {
        let mut created = self.shared.created.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.now();
        created.retain(|item| now - item.at < LISTS_LAG);
        created.push(Created { list: list.to_owned(), id, at: now, item });
    }

    /// Forgets what we created, since GitHub says that it is gone, or we have removed it. A second answer that says so at
    /// least [`GONE_IS_CONFIRMED_AFTER`] later wins over lists that still show it. Returns when to look again.
    pub(crate) fn gone(&self, post: PostId, by: GoneBy) -> Timestamp {
        let (list, id) = post.list_and_id();
        let mut created = self.shared.created.lock().unwrap_or_else(PoisonError::into_inner);
        created.retain(|item| item.id != id || !item.list.ends_with(list));
        let (mut gone, now) = (self.shared.gone.lock().unwrap_or_else(PoisonError::into_inner), self.now());
        gone.retain(|_, gone| now - gone.since < GONE_IS_REMEMBERED);
        if gone.len() >= MOST_REFUSALS {
            gone.clear();
        }
        let known = gone.entry(post).or_insert(Gone { since: now, is_sure: false });
        known.is_sure |= by == GoneBy::Event || now - known.since >= GONE_IS_CONFIRMED_AFTER;
        now + GONE_IS_CONFIRMED_AFTER
    }

    /// Whether a list shows what is gone.
    pub(crate) fn is_gone(&self, list: &str, id: u64) -> bool {
        let gone = self.shared.gone.lock().unwrap_or_else(PoisonError::into_inner);
        let post = PostId::in_list(list, id);
        post.and_then(|post| gone.get(&post)).is_some_and(|gone| gone.is_sure)
    }

    /// What we created in a list a moment ago, and is not among these ids.
    pub(crate) fn unlisted<T: DeserializeOwned>(&self, list: &str, is_listed: impl Fn(u64) -> bool) -> Vec<T> {
        let (created, now) = (self.shared.created.lock().unwrap_or_else(PoisonError::into_inner), self.now());
        let missing =
            created.iter().filter(|item| item.list == list && now - item.at < LISTS_LAG && !is_listed(item.id));
        missing.filter_map(|item| serde_json::from_value(item.item.clone()).ok()).collect()
    }

    pub(super) fn respect_silence(&self) -> Result<(), Error> {
        let silenced = self.shared.silenced.lock().unwrap_or_else(PoisonError::into_inner);
        match silenced.as_ref().map(|it| (it, it.until())) {
            Some((_, Some(until))) if self.now() >= until => Ok(()),
            Some((Silence { message, .. }, until)) => Err(Error::NotInstalled { message: message.clone(), until }),
            None => Ok(()),
        }
    }

    /// Nothing is asked any more, until [`ask_again`](Self::ask_again): at once where GitHub says that the installation is
    /// suspended, else when a token is refused for the second time.
    pub(super) fn silence(&self, message: String, is_said: bool) -> Error {
        let mut silenced = self.shared.silenced.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.now();
        let since = silenced.as_ref().map_or(now, |it| it.since);
        let is_sure = is_said || now - since >= REFUSAL_IS_CONFIRMED_AFTER;
        let silence = silenced.insert(Silence { message: message.clone(), since, is_sure });
        Error::NotInstalled { message, until: silence.until() }
    }

    /// Something happened there: GitHub sends no events of installations that are gone or suspended. One more refusal is
    /// enough to be sure again.
    pub fn ask_once_more(&self) {
        let mut silenced = self.shared.silenced.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(silence) = silenced.as_mut() {
            silence.is_sure = false;
        }
    }

    /// An event, or a list of installations, says that the App may ask here.
    pub fn ask_again(&self) {
        self.shared.silenced.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
