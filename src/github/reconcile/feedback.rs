//! What Loopgate wrote about a pull request, read by the person or agent that fixes it, with their own rights.
//!
//! It stands in three places, of which the first that may be read counts: the check run, the status comment, the state
//! ref. Anybody can write a comment that looks like ours, so only a bot's is believed; and a workflow can make check
//! runs with our names, so what comes from GitHub Actions counts only where no other App has any.

use chrono::TimeDelta;
use serde_json::{Value, json};

use crate::github::{
    client::{
        Client,
        clock::Clock,
        error::{Error, OrAbsent as _, Result},
        marker::Marker,
        path,
        retry::Repeat,
        wire::CheckRun,
    },
    observe::{comments, read_pull},
};
use loopgate_core::{
    Login, PrNumber, RepoName, Sha,
    concerns::gates::ReactionKind,
    observed::{AccountKind, Comment, Lifecycle, OwnCheck},
};
use loopgate_refs::{RefName, RefsError, Retry, StateStore};
use loopgate_render::{self as render, Ended, Feedback, ReadFrom, Reading, Until};

/// Pages of check runs that are read at most.
const MOST_PAGES: usize = 3;
/// The bot that every workflow acts as.
const ACTIONS: &str = "github-actions[bot]";

/// Reads what Loopgate wrote about one pull request, and answers in a comment.
pub struct FeedbackReader {
    client: Client,
    repository: RepoName,
    number: PrNumber,
    /// The account whose comments and check runs count, where that is known.
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
    /// `bot`: the account of the App that alone counts; else that of the App whose check runs carry our names.
    pub const fn new(
        client: Client,
        repository: RepoName,
        number: PrNumber,
        bot: Option<Login>,
    ) -> Self {
        Self {
            client,
            repository,
            number,
            bot,
        }
    }

    /// Looks once. What was read before is asked for conditionally.
    ///
    /// # Errors
    /// [`Error::NotFound`] where these credentials are shown no such pull request; faults, outages and limits.
    pub async fn look(&self) -> Result<FeedbackSeen> {
        let repo = self.client.repo(&self.repository);
        let pull = read_pull(repo, self.number).await?.pull_request;
        let head = pull.head.sha;
        let ended = match pull.lifecycle {
            Lifecycle::Open => None,
            Lifecycle::Merged { .. } => Some(Ended::Merged),
            Lifecycle::Closed => Some(Ended::Closed),
        };
        let seen = |(from, document): (_, Feedback)| {
            let document = ended.into_iter().fold(document, Feedback::ended);
            FeedbackSeen {
                head,
                ended,
                feedback: document,
                from,
            }
        };
        let runs = repo.path(format!("commits/{head}/check-runs"));
        let runs = repo
            .list::<CheckRun>(&runs, MOST_PAGES)
            .await
            .or_refused()?
            .map(|runs| runs.items);
        let ours = |run: &CheckRun| {
            OwnCheck::named(&run.name).is_some() && run.bot().is_some_and(|bot| self.may_be(&bot))
        };
        let runs: Option<Vec<CheckRun>> = runs.map(|runs| runs.into_iter().filter(ours).collect());
        let bots: Vec<String> = runs.iter().flatten().filter_map(CheckRun::bot).collect();
        if let Some(document) = runs.as_ref().and_then(|runs| self.in_runs(runs)) {
            return Ok(seen((ReadFrom::CheckRun, document)));
        }
        let comments = comments(repo, self.number)
            .await
            .or_refused()?
            .map(|read| read.listing.items);
        if let Some(document) = comments
            .as_ref()
            .and_then(|comments| self.in_comments(comments, &bots))
        {
            return Ok(seen((ReadFrom::StatusComment, document)));
        }
        // If both could be read, there is no feedback.
        if (runs.is_none() || comments.is_none())
            && let Some(document) = self.in_state().await?
        {
            return Ok(seen((ReadFrom::StateRef, document)));
        }
        Ok(seen((
            ReadFrom::Nowhere,
            Feedback::nothing(&self.repository, self.number, head),
        )))
    }

    /// Looks until `until` is reached on another head than `since`, or the time is over. `report` receives progress
    /// texts.
    ///
    /// # Errors
    /// What repeating would not change.
    pub async fn wait(
        &self,
        (since, until): (Option<Sha>, Until),
        times: (Pacing, TimeDelta),
        clock: &dyn Clock,
        report: impl Fn(&str),
    ) -> Result<WaitEnd> {
        let look = || async {
            let seen = self.look().await?;
            let is_open = seen.ended.is_none();
            Ok((seen.reading(since), is_open))
        };
        until_final(look, until, times, clock, report).await
    }

    /// Posts a comment with the account of the credentials. Returns its address and id.
    ///
    /// # Errors
    /// As [`Client::post`]: where it is not known whether the comment was made, it is not made again.
    pub async fn post_comment(&self, words: &str) -> Result<PostedComment> {
        let path = format!(
            "{}/issues/{}/comments",
            path::repo(&self.repository),
            self.number
        );
        let comment: Value = self
            .client
            .post(&path, &json!({ "body": words }), Repeat::Never)
            .await?;
        let url = comment["html_url"].as_str().unwrap_or_default().to_owned();
        Ok(PostedComment {
            url,
            id: comment["id"].as_u64().unwrap_or_default(),
        })
    }

    /// The reaction with which Loopgate answers a command in a comment; `None` while there is none.
    ///
    /// # Errors
    /// Where GitHub does not show the comment.
    pub async fn answer_to(&self, comment: &PostedComment) -> Result<Option<ReactionKind>> {
        let path = format!(
            "{}/issues/comments/{}",
            path::repo(&self.repository),
            comment.id
        );
        let shown: Value = self.client.get(&path).await?;
        let has = |reaction: &ReactionKind| {
            shown["reactions"][reaction.as_str()]
                .as_u64()
                .is_some_and(|count| count > 0)
        };
        Ok([ReactionKind::NotAccepted, ReactionKind::Done]
            .into_iter()
            .find(has))
    }

    fn may_be(&self, bot: &str) -> bool {
        self.bot
            .as_ref()
            .is_none_or(|ours| ours.as_str().eq_ignore_ascii_case(bot))
    }

    /// The document, where it is of this pull request: others may share the head.
    fn of_this(&self, document: Option<Feedback>) -> Option<Feedback> {
        document.filter(|document| document.pull_request == Some(self.number))
    }

    /// The newest check run's of an App other than GitHub Actions, if there is one.
    fn in_runs(&self, runs: &[CheckRun]) -> Option<Feedback> {
        let document = |run: &CheckRun| {
            let output = run.output.as_ref()?;
            let texts = [output.text.as_deref(), output.summary.as_deref()];
            self.of_this(texts.into_iter().flatten().find_map(Feedback::within))
        };
        let documents = runs
            .iter()
            .filter_map(|run| Some((run.bot()? != ACTIONS, run.id, document(run)?)));
        documents
            .max_by_key(|(is_elsewhere, id, _)| (*is_elsewhere, *id))
            .map(|(.., document)| document)
    }

    /// That of a bot whose check runs carry our names, if there are such; of several the oldest, which is the one that
    /// is edited in place.
    fn in_comments(&self, comments: &[Comment], bots: &[String]) -> Option<Feedback> {
        let documents = comments.iter().filter_map(|comment| {
            let Comment {
                id, author, body, ..
            } = comment;
            let login = author.login.as_str();
            let is_ours = author.kind == AccountKind::Bot
                && self.may_be(login)
                && Marker::of(body) == Some(Marker::Status);
            let document = is_ours.then(|| self.of_this(Feedback::within(body)))??;
            Some((
                !bots.iter().any(|bot| bot == login),
                login == ACTIONS,
                *id,
                document,
            ))
        });
        documents
            .min_by_key(|(is_silent, is_actions, id, _)| (*is_silent, *is_actions, *id))
            .map(|(.., document)| document)
    }

    async fn in_state(&self) -> Result<Option<Feedback>> {
        let objects = self.client.repo(&self.repository).objects();
        let read = async {
            let store = StateStore::new(&objects, RefName::pull_request(self.number));
            let run = store.load_at(store.tip().await?).await?;
            let (Some(tip), Some(state)) = (run.tip, run.intact()) else {
                return Ok(None);
            };
            let attempt = match state.attempts.counted.last() {
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
                    RefsError::Fault {
                        retry: Retry::At(at),
                        ..
                    } => Some(at),
                    _ => None,
                };
                Err(Error::Unavailable {
                    path: "the state ref".to_owned(),
                    message: error.to_string(),
                    retry_at,
                })
            }
        }
    }
}

/// How often GitHub is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pacing {
    first: TimeDelta,
    /// Pauses grow to this.
    most: TimeDelta,
}

impl Pacing {
    /// Thousands of requests an hour are granted, and unchanged answers are free.
    pub const WITH_TOKEN: Self = Self {
        first: TimeDelta::seconds(2),
        most: TimeDelta::seconds(15),
    };
    /// 60 requests an hour are granted, unchanged answers included.
    pub const WITHOUT: Self = Self {
        first: TimeDelta::seconds(60),
        most: TimeDelta::seconds(60),
    };
}

/// How waiting ended.
#[derive(Debug, Clone, PartialEq)]
pub enum WaitEnd {
    /// With the verdict, or because nothing more comes of a pull request that is closed.
    Ended(Reading),
    /// With what was read last.
    TimedOut(Option<Reading>),
}

/// Looks until `until` is reached, or the time is over; the last look is at its end. `look` returns what it read and
/// whether more may come. It waits for limits and outages to pass, and reports both to `report`.
///
/// # Errors
/// What repeating would not change.
async fn until_final<L: Future<Output = Result<(Reading, bool)>>>(
    look: impl Fn() -> L,
    until: Until,
    (pacing, time): (Pacing, TimeDelta),
    clock: &dyn Clock,
    report: impl Fn(&str),
) -> Result<WaitEnd> {
    let deadline = clock.now() + time;
    let (mut pause, mut last, mut reported) = (pacing.first, None, String::new());
    loop {
        let (words, not_before) = match look().await {
            Ok((reading, may_change)) => {
                if reading.reaches(until) || !may_change {
                    return Ok(WaitEnd::Ended(reading));
                }
                (render::waiting_text(last.insert(reading)), None)
            }
            Err(error) if error.is_outage() || error.is_wait() => {
                let until = match error.retry() {
                    Retry::At(until) | Retry::Paced(until) => Some(until),
                    _ => None,
                };
                (
                    format!(
                        "{error}; {}",
                        if until.is_some() {
                            "waiting for that"
                        } else {
                            "asking again"
                        }
                    ),
                    until,
                )
            }
            Err(error) => return Err(error),
        };
        if words != reported {
            report(&words);
            reported = words;
        }
        let now = clock.now();
        if now >= deadline || not_before.is_some_and(|until| until > deadline) {
            return Ok(WaitEnd::TimedOut(last));
        }
        clock
            .sleep_until(not_before.unwrap_or(now).max(now + pause).min(deadline))
            .await;
        pause = (pause * 3 / 2).min(pacing.most);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        cell::{Cell, RefCell},
        future::ready,
        sync::Mutex,
    };

    use futures::future::BoxFuture;

    use super::*;
    use loopgate_core::{PrNumber, Sha, Timestamp};
    use loopgate_render::{Feedback, ReadFrom};

    const OLD: [u8; 20] = [0xa1; 20];
    const NEW: [u8; 20] = [0xb2; 20];

    /// What is read of a pull request with the head `now`.
    fn read(
        of: [u8; 20],
        is_final: bool,
        now: [u8; 20],
        since: Option<Sha>,
    ) -> Result<(Reading, bool)> {
        let (repository, head) = ("acme/widgets".parse().unwrap(), Sha::from_bytes(of));
        let nothing = Feedback::nothing(&repository, PrNumber::new(12), head).written();
        let told = Feedback::parse(
            &nothing
                .replace("false", &is_final.to_string())
                .replace("wait", "retry"),
        )
        .unwrap();
        Ok((
            Reading::of_head(told, ReadFrom::StatusComment, Sha::from_bytes(now), since),
            true,
        ))
    }

    /// A clock that sleepers move, by these seconds.
    #[derive(Default)]
    struct Slept(Mutex<Vec<i64>>);

    impl Clock for Slept {
        fn now(&self) -> Timestamp {
            let passed = self.0.lock().unwrap().iter().sum::<i64>();
            Timestamp::from_timestamp(1_800_000_000 + passed, 0).unwrap()
        }

        fn sleep_until(&self, until: Timestamp) -> BoxFuture<'_, ()> {
            let pause = (until - self.now()).num_seconds();
            self.0.lock().unwrap().push(pause);
            Box::pin(ready(()))
        }
    }

    /// Waits for half an hour at most on these answers, of which the last repeats for ever. Returns how it ended, the
    /// pauses in seconds, and the texts passed to `report`.
    fn waited(
        pacing: Pacing,
        answers: Vec<Result<(Reading, bool)>>,
    ) -> (Result<WaitEnd>, Vec<i64>, String) {
        let (clock, asked, said) = (Slept::default(), Cell::new(0), RefCell::new(Vec::new()));
        let look = || {
            asked.set(asked.get() + 1);
            ready(answers[(asked.get() - 1).min(answers.len() - 1)].clone())
        };
        let report = |words: &str| said.borrow_mut().push(words.to_owned());
        let ended = futures::executor::block_on(until_final(
            look,
            Until::Final,
            (pacing, TimeDelta::minutes(30)),
            &clock,
            report,
        ));
        (ended, clock.0.into_inner().unwrap(), said.take().join("\n"))
    }

    const TOKEN: Pacing = Pacing::WITH_TOKEN;

    fn is_final(ended: &Result<WaitEnd>) -> bool {
        matches!(ended, Ok(WaitEnd::Ended(reading)) if reading.is_final())
    }

    #[test]
    fn the_verdict_is_returned_with_the_poll_that_brings_it_and_pauses_grow_to_15_s() {
        let (ended, pauses, said) = waited(
            TOKEN,
            [
                vec![read(OLD, false, OLD, None); 9],
                vec![read(OLD, true, OLD, None)],
            ]
            .concat(),
        );
        assert!(is_final(&ended), "{ended:?}");
        assert_eq!(pauses, [2, 3, 4, 6, 10, 15, 15, 15, 15]);
        insta::assert_snapshot!(said, @"waiting for the verdict on acme/widgets#12 at a1a1a1a1");
    }

    #[test]
    fn a_verdict_on_an_older_head_or_on_the_one_before_the_push_is_none() {
        let before = Some(Sha::from_bytes(OLD));
        let answers = vec![
            read(OLD, true, OLD, before),
            read(OLD, true, NEW, before),
            read(NEW, true, NEW, before),
        ];
        let (ended, pauses, said) = waited(TOKEN, answers);
        assert!(
            is_final(&ended) && pauses.len() == 2,
            "{ended:?} {pauses:?}"
        );
        insta::assert_snapshot!(said, @r"
        waiting for the push to arrive on acme/widgets#12 at a1a1a1a1
        waiting for Loopgate to look at the newest head on acme/widgets#12 at a1a1a1a1
        ");
    }

    #[test]
    fn without_credentials_it_asks_once_a_minute_and_stops_at_the_end() {
        let (ended, pauses, _) = waited(Pacing::WITHOUT, vec![read(OLD, false, OLD, None)]);
        assert!(matches!(ended, Ok(WaitEnd::TimedOut(Some(_)))), "{ended:?}");
        assert_eq!(pauses, [60; 30]);
    }

    #[test]
    fn a_limit_is_waited_for_and_said_and_one_beyond_the_end_ends_it() {
        let limited = |seconds: i64| {
            let until = Timestamp::from_timestamp(1_800_000_000 + seconds, 0).unwrap();
            Err(Error::RateLimited { until })
        };
        let (ended, pauses, said) = waited(TOKEN, vec![limited(600), read(OLD, true, OLD, None)]);
        assert!(is_final(&ended), "{ended:?}");
        assert_eq!(pauses, [600]);
        insta::assert_snapshot!(said, @"GitHub's rate limit is used up until 2027-01-15 08:10:00 UTC; waiting for that");
        let (ended, pauses, _) = waited(TOKEN, vec![limited(1_801)]);
        assert_eq!((ended, pauses), (Ok(WaitEnd::TimedOut(None)), Vec::new()));
        // A limit that is over at once makes no tight loop.
        let (_, pauses, _) = waited(TOKEN, vec![limited(0)]);
        assert!(
            pauses.iter().all(|pause| *pause >= 2) && pauses.len() < 130,
            "{}",
            pauses.len()
        );
    }

    #[test]
    fn an_outage_passes_and_a_refusal_does_not() {
        let away = Err(Error::Unavailable {
            path: "/x".into(),
            message: "502".into(),
            retry_at: None,
        });
        let (ended, pauses, said) =
            waited(TOKEN, vec![away.clone(), away, read(OLD, true, OLD, None)]);
        assert!(is_final(&ended) && pauses == [2, 3], "{ended:?} {pauses:?}");
        insta::assert_snapshot!(said, @"GitHub did not answer /x (502); asking again");
        let (ended, pauses, _) = waited(TOKEN, vec![Err(Error::NotFound { path: "/x".into() })]);
        assert!(ended.is_err() && pauses.is_empty());
    }

    #[test]
    fn nothing_more_comes_of_a_closed_pull_request() {
        let closed = read(OLD, false, OLD, None).map(|(reading, _)| (reading, false));
        let (ended, pauses, _) = waited(TOKEN, vec![closed]);
        assert!(matches!(ended, Ok(WaitEnd::Ended(_))) && pauses.is_empty());
    }
}
