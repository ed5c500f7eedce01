//! What Loopgate wrote about a pull request, read by the person or agent that fixes it, with their own rights.
//!
//! It stands in three places, of which the first that may be read counts: the check run, the status comment, the state
//! ref. Anybody can write a comment that looks like ours, so only a bot's is believed; and a workflow can make check
//! runs with our names, so what comes from GitHub Actions counts only where no other App speaks.

mod wait;

use chrono::TimeDelta;
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

pub use self::wait::{Pacing, Waited};
use super::{
    Client, Clock, Error, GithubObjects,
    error::OrAbsent as _,
    marker::Marker,
    observe::read_pull,
    path,
    retry::Repeat,
    wire::{CheckRun, User},
};
use crate::{
    refs::{RefName, RefsError, Retry, StateStore},
    render::{Ended, Feedback, ReadFrom, Reading, Until},
};
use loopgate_core::{
    CommentId, Login, PrNumber, RepoName, Sha,
    gate::ReactionKind,
    observed::{Lifecycle, OwnCheck},
};

/// Pages of check runs and of comments that are read at most. The status comment is among the first comments.
const MOST_PAGES: usize = 3;
/// The bot that every workflow acts as.
const ACTIONS: &str = "github-actions[bot]";

/// Reads what Loopgate wrote about one pull request, and answers in a comment.
pub struct FeedbackReader {
    client: Client,
    repository: RepoName,
    number: PrNumber,
    /// Whose word counts, where that is known.
    bot: Option<Login>,
}

/// A pull request, and the feedback on it.
#[derive(Debug, Clone, PartialEq)]
pub struct FeedbackSeen {
    pub head: Sha,
    /// Absent while the pull request is open.
    pub ended: Option<Ended>,
    pub feedback: Feedback,
    pub from: ReadFrom,
}

#[derive(Deserialize)]
struct Comment {
    id: CommentId,
    body: Option<String>,
    user: Option<User>,
}

impl CheckRun {
    fn bot(&self) -> Option<String> {
        Some(format!("{}[bot]", self.app.as_ref()?.slug.as_ref()?))
    }
}

/// A comment that was posted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostedComment {
    pub url: String,
    id: u64,
}

impl FeedbackSeen {
    /// With `since`, only feedback on another head counts.
    pub fn reading(self, since: Option<Sha>) -> Reading {
        Reading::of_head(self.feedback, self.from, self.head, since)
    }
}

impl FeedbackReader {
    /// `bot`: the account of the App whose word alone counts; else that of the App whose check runs carry our names.
    pub const fn new(client: Client, repository: RepoName, number: PrNumber, bot: Option<Login>) -> Self {
        Self { client, repository, number, bot }
    }

    /// Looks once. What was read before is asked for conditionally.
    ///
    /// # Errors
    /// [`Error::NotFound`] where these credentials are shown no such pull request; faults, outages and limits.
    pub async fn look(&self) -> Result<FeedbackSeen, Error> {
        let repo = path::repo(&self.repository);
        let pull = read_pull(self.client.repo(&self.repository), self.number).await?.pull_request;
        let head = pull.head.sha;
        let ended = match pull.lifecycle {
            Lifecycle::Open => None,
            Lifecycle::Merged { .. } => Some(Ended::Merged),
            Lifecycle::Closed => Some(Ended::Closed),
        };
        let seen = |(from, document): (_, Feedback)| {
            let document = ended.into_iter().fold(document, Feedback::ended);
            FeedbackSeen { head, ended, feedback: document, from }
        };
        let runs = format!("{repo}/commits/{head}/check-runs");
        let runs = self.client.list::<CheckRun>(&runs, MOST_PAGES).await.or_refused()?.map(|runs| runs.items);
        let ours =
            |run: &CheckRun| OwnCheck::named(&run.name).is_some() && run.bot().is_some_and(|bot| self.may_be(&bot));
        let runs: Option<Vec<CheckRun>> = runs.map(|runs| runs.into_iter().filter(ours).collect());
        let speakers: Vec<String> = runs.iter().flatten().filter_map(CheckRun::bot).collect();
        if let Some(document) = runs.as_ref().and_then(|runs| self.in_runs(runs)) {
            return Ok(seen((ReadFrom::CheckRun, document)));
        }
        let comments = format!("{repo}/issues/{}/comments", self.number);
        let comments = self.client.list::<Comment>(&comments, MOST_PAGES).await.or_refused()?.map(|list| list.items);
        if let Some(document) = comments.as_ref().and_then(|comments| self.in_comments(comments, &speakers)) {
            return Ok(seen((ReadFrom::StatusComment, document)));
        }
        // If both could be read, there is no feedback.
        if (runs.is_none() || comments.is_none())
            && let Some(document) = self.in_state().await?
        {
            return Ok(seen((ReadFrom::StateRef, document)));
        }
        Ok(seen((ReadFrom::Nowhere, Feedback::nothing(&self.repository, self.number, head))))
    }

    /// Looks until `until` is reached on another head than `since`, or the time is over. `say` receives progress texts.
    ///
    /// # Errors
    /// What repeating would not change.
    pub async fn wait<S: Future<Output = ()>>(
        &self,
        (since, until): (Option<Sha>, Until),
        times: (Pacing, TimeDelta),
        clock: &dyn Clock,
        sleep: impl Fn(TimeDelta) -> S,
        say: impl Fn(&str),
    ) -> Result<Waited, Error> {
        let look = || async move {
            let seen = self.look().await?;
            let is_open = seen.ended.is_none();
            Ok((seen.reading(since), is_open))
        };
        wait::until_final(look, until, times, clock, sleep, say).await
    }

    /// Posts a comment with the account of the credentials. Returns its address and id.
    ///
    /// # Errors
    /// As [`Client::write`]: where it is not known whether the comment was made, it is not made again.
    pub async fn say(&self, words: &str) -> Result<PostedComment, Error> {
        let path = format!("{}/issues/{}/comments", path::repo(&self.repository), self.number);
        let said: Value = self.client.write(Method::POST, &path, &json!({ "body": words }), Repeat::Never).await?;
        let url = said["html_url"].as_str().unwrap_or_default().to_owned();
        Ok(PostedComment { url, id: said["id"].as_u64().unwrap_or_default() })
    }

    /// The reaction with which Loopgate answers a command in a comment; `None` while there is none.
    ///
    /// # Errors
    /// Where GitHub does not show the comment.
    pub async fn answer_to(&self, comment: &PostedComment) -> Result<Option<ReactionKind>, Error> {
        let path = format!("{}/issues/comments/{}", path::repo(&self.repository), comment.id);
        let shown: Value = self.client.get(&path).await?;
        let has =
            |reaction: &ReactionKind| shown["reactions"][reaction.as_str()].as_u64().is_some_and(|count| count > 0);
        Ok([ReactionKind::NotAccepted, ReactionKind::Done].into_iter().find(has))
    }

    fn may_be(&self, bot: &str) -> bool {
        self.bot.as_ref().is_none_or(|ours| ours.as_str().eq_ignore_ascii_case(bot))
    }

    /// The document, where it is of this pull request: others may share the head.
    fn of_this(&self, document: Option<Feedback>) -> Option<Feedback> {
        document.filter(|document| document.pull_request() == Some(self.number))
    }

    /// The newest check run's of an App other than GitHub Actions, if there is one.
    fn in_runs(&self, runs: &[CheckRun]) -> Option<Feedback> {
        let document = |run: &CheckRun| {
            let output = run.output.as_ref()?;
            let texts = [output.text.as_deref(), output.summary.as_deref()];
            self.of_this(texts.into_iter().flatten().find_map(Feedback::within))
        };
        let documents = runs.iter().filter_map(|run| Some((run.bot()? != ACTIONS, run.id, document(run)?)));
        documents.max_by_key(|(is_elsewhere, id, _)| (*is_elsewhere, *id)).map(|(.., document)| document)
    }

    /// That of a bot whose check runs carry our names, if there are such; of several the oldest, which is the one that
    /// is edited in place.
    fn in_comments(&self, comments: &[Comment], speakers: &[String]) -> Option<Feedback> {
        let documents = comments.iter().filter_map(|comment| {
            let (user, body) = (comment.user.as_ref()?, comment.body.as_deref()?);
            let is_ours = user.kind == "Bot" && self.may_be(&user.login) && Marker::of(body) == Some(Marker::Status);
            let document = is_ours.then(|| self.of_this(Feedback::within(body)))??;
            Some((!speakers.contains(&user.login), user.login == ACTIONS, comment.id, document))
        });
        documents
            .min_by_key(|(is_silent, is_actions, id, _)| (*is_silent, *is_actions, *id))
            .map(|(.., document)| document)
    }

    async fn in_state(&self) -> Result<Option<Feedback>, Error> {
        let objects = GithubObjects::new(self.client.clone(), self.repository.clone());
        let read = async {
            let store = StateStore::new(&objects, RefName::pull_request(self.number));
            let run = store.load_at(store.tip().await?).await?;
            let (Some(tip), Some(state)) = (run.tip, run.intact()) else { return Ok(None) };
            let attempt = match state.attempts.last() {
                Some(last) => store.recorded_attempt(tip, last.number).await?,
                None => None,
            };
            Ok(Some(Feedback::of_state(state, attempt.as_ref())))
        };
        match read.await {
            Ok(document) => Ok(document),
            // As with the other two: not to be read.
            Err(RefsError::Refused(_)) => Ok(None),
            Err(error) => {
                let retry_at = match error {
                    RefsError::Fault { retry: Retry::At(at), .. } => Some(at),
                    _ => None,
                };
                Err(Error::Unavailable { path: "the state ref".to_owned(), message: error.to_string(), retry_at })
            }
        }
    }
}
