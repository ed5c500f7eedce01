//! Waiting for the verdict: how often is asked, and when to stop. Time is passed in.

use chrono::TimeDelta;

use crate::{
    github::{Clock, Error, ErrorKind},
    render::{self, Reading, Until},
};

/// How often GitHub is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pacing {
    first: TimeDelta,
    /// Pauses grow to this.
    most: TimeDelta,
}

impl Pacing {
    /// Thousands of requests an hour are granted, and unchanged answers are free.
    pub const WITH_TOKEN: Self = Self { first: TimeDelta::seconds(2), most: TimeDelta::seconds(15) };
    /// 60 requests an hour are granted, unchanged answers included.
    pub const WITHOUT: Self = Self { first: TimeDelta::seconds(60), most: TimeDelta::seconds(60) };

    fn next(self, pause: TimeDelta) -> TimeDelta {
        (pause * 3 / 2).min(self.most)
    }
}

/// How waiting ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Waited {
    /// With the verdict, or because nothing more comes of a pull request that is closed.
    Ended(Reading),
    /// With what was read last.
    TimedOut(Option<Reading>),
}

/// Looks until `until` is reached, or the time is over; the last look is at its end. `look` returns what it read and
/// whether more may come. It waits for limits and outages to pass, and reports both to `say`.
///
/// # Errors
/// What repeating would not change.
pub async fn until_final<L, S>(
    mut look: impl FnMut() -> L,
    until: Until,
    (pacing, time): (Pacing, TimeDelta),
    clock: &dyn Clock,
    sleep: impl Fn(TimeDelta) -> S,
    say: impl Fn(&str),
) -> Result<Waited, Error>
where
    L: Future<Output = Result<(Reading, bool), Error>>,
    S: Future<Output = ()>,
{
    let deadline = clock.now() + time;
    let (mut pause, mut last, mut said) = (pacing.first, None, String::new());
    loop {
        let (words, not_before) = match look().await {
            Ok((reading, may_change)) => {
                if reading.reaches(until) || !may_change {
                    return Ok(Waited::Ended(reading));
                }
                (render::waiting_text(last.insert(reading)), None)
            }
            Err(error) => match error.kind() {
                ErrorKind::Wait { until }
                | ErrorKind::Paced { until }
                | ErrorKind::Outage { retry_at: Some(until) } => (format!("{error}; waiting for that"), Some(until)),
                ErrorKind::Outage { retry_at: None } => (format!("{error}; asking again"), None),
                ErrorKind::Refusal | ErrorKind::Fault => return Err(error),
            },
        };
        if words != said {
            say(&words);
            said = words;
        }
        let now = clock.now();
        if now >= deadline || not_before.is_some_and(|until| until > deadline) {
            return Ok(Waited::TimedOut(last));
        }
        let at = not_before.unwrap_or(now).max(now + pause).min(deadline);
        sleep(at - now).await;
        pause = pacing.next(pause);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        cell::{Cell, RefCell},
        future::ready,
        sync::atomic::{AtomicI64, Ordering},
    };

    use super::*;
    use crate::render::{Feedback, ReadFrom};
    use loopgate_core::{PrNumber, Sha, Timestamp};

    const OLD: [u8; 20] = [0xa1; 20];
    const NEW: [u8; 20] = [0xb2; 20];

    /// What is read of a pull request with the head `now`.
    fn read(of: [u8; 20], is_final: bool, now: [u8; 20], since: Option<Sha>) -> Result<(Reading, bool), Error> {
        let (repository, head) = ("acme/widgets".parse().unwrap(), Sha::from_bytes(of));
        let nothing = Feedback::nothing(&repository, PrNumber::new(12), head).written();
        let told = Feedback::parse(&nothing.replace("false", &is_final.to_string()).replace("wait", "retry")).unwrap();
        Ok((Reading::of_head(told, ReadFrom::StatusComment, Sha::from_bytes(now), since), true))
    }

    /// Waits for half an hour at most on these answers, of which the last repeats for ever. Returns how it ended, the
    /// pauses in seconds, and the texts passed to `say`.
    fn waited(
        pacing: Pacing,
        answers: Vec<Result<(Reading, bool), Error>>,
    ) -> (Result<Waited, Error>, Vec<i64>, String) {
        let start = Timestamp::from_timestamp(1_800_000_000, 0).unwrap();
        let passed = AtomicI64::new(0);
        let clock = || start + TimeDelta::seconds(passed.load(Ordering::Relaxed));
        let (asked, pauses, said) = (Cell::new(0), RefCell::new(Vec::new()), RefCell::new(Vec::new()));
        let look = || {
            asked.set(asked.get() + 1);
            ready(answers[(asked.get() - 1).min(answers.len() - 1)].clone())
        };
        let sleep = |time: TimeDelta| {
            pauses.borrow_mut().push(time.num_seconds());
            passed.fetch_add(time.num_seconds(), Ordering::Relaxed);
            ready(())
        };
        let say = |words: &str| said.borrow_mut().push(words.to_owned());
        let ended = futures::executor::block_on(until_final(
            look,
            Until::Final,
            (pacing, TimeDelta::minutes(30)),
            &clock,
            sleep,
            say,
        ));
        (ended, pauses.take(), said.take().join("\n"))
    }

    const TOKEN: Pacing = Pacing::WITH_TOKEN;

    fn is_final(ended: &Result<Waited, Error>) -> bool {
        matches!(ended, Ok(Waited::Ended(reading)) if reading.is_final())
    }

    #[test]
    fn the_verdict_is_returned_with_the_poll_that_brings_it_and_pauses_grow_to_15_s() {
        let (ended, pauses, said) =
            waited(TOKEN, [vec![read(OLD, false, OLD, None); 9], vec![read(OLD, true, OLD, None)]].concat());
        assert!(is_final(&ended), "{ended:?}");
        assert_eq!(pauses, [2, 3, 4, 6, 10, 15, 15, 15, 15]);
        insta::assert_snapshot!(said, @"waiting for the verdict on acme/widgets#12 at a1a1a1a1");
    }

    #[test]
    fn a_verdict_on_an_older_head_or_on_the_one_before_the_push_is_none() {
        let before = Some(Sha::from_bytes(OLD));
        let answers = vec![read(OLD, true, OLD, before), read(OLD, true, NEW, before), read(NEW, true, NEW, before)];
        let (ended, pauses, said) = waited(TOKEN, answers);
        assert!(is_final(&ended) && pauses.len() == 2, "{ended:?} {pauses:?}");
        insta::assert_snapshot!(said, @r"
        waiting for the push to arrive on acme/widgets#12 at a1a1a1a1
        waiting for Loopgate to look at the newest head on acme/widgets#12 at a1a1a1a1
        ");
    }

    #[test]
    fn without_credentials_it_asks_once_a_minute_and_stops_at_the_end() {
        let (ended, pauses, _) = waited(Pacing::WITHOUT, vec![read(OLD, false, OLD, None)]);
        assert!(matches!(ended, Ok(Waited::TimedOut(Some(_)))), "{ended:?}");
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
        assert_eq!((ended, pauses), (Ok(Waited::TimedOut(None)), Vec::new()));
        // A limit that is over at once makes no tight loop.
        let (_, pauses, _) = waited(TOKEN, vec![limited(0)]);
        assert!(pauses.iter().all(|pause| *pause >= 2) && pauses.len() < 130, "{}", pauses.len());
    }

    #[test]
    fn an_outage_passes_and_a_refusal_does_not() {
        let away = Err(Error::Unavailable { path: "/x".into(), message: "502".into(), retry_at: None });
        let (ended, pauses, said) = waited(TOKEN, vec![away.clone(), away, read(OLD, true, OLD, None)]);
        assert!(is_final(&ended) && pauses == [2, 3], "{ended:?} {pauses:?}");
        insta::assert_snapshot!(said, @"GitHub did not answer /x (502); asking again");
        let (ended, pauses, _) = waited(TOKEN, vec![Err(Error::NotFound { path: "/x".into() })]);
        assert!(ended.is_err() && pauses.is_empty());
    }

    #[test]
    fn nothing_more_comes_of_a_closed_pull_request() {
        let closed = read(OLD, false, OLD, None).map(|(reading, _)| (reading, false));
        let (ended, pauses, _) = waited(TOKEN, vec![closed]);
        assert!(matches!(ended, Ok(Waited::Ended(_))) && pauses.is_empty());
    }
}
