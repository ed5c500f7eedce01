//! What goes wrong: rules consulted for every request and every delivery, reproducible from one seed.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    time::Duration,
};

use bytes::Bytes;
use chrono::TimeDelta;
use http::{Method, StatusCode, response::Parts};
use regex::Regex;
use serde_json::{Value, json};

use loopgate_core::Timestamp;

/// All faults in force. Rules are asked in the order they were added; the first that strikes decides.
#[derive(Debug)]
pub struct Faults {
    requests: Vec<RequestFault>,
    deliveries: Vec<DeliveryFault>,
    dice: Dice,
    /// Requests that [`Harm::Hang`] or [`Harm::Hold`] has struck since the last healing.
    hanging: usize,
    /// Until when each of those waits that wait for the clock.
    stalled: Vec<Timestamp>,
    healings: u64,
}

/// How often a rule strikes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Often {
    Always,
    /// The next so many matches, then never again.
    Times(u32),
    /// Never for the next so many matches, then always.
    After(u32),
    /// Each match with this probability, 0 to 1. What decides is the seed, what is matched and how often it was matched
    /// before: not what else happens meanwhile.
    Chance(f64),
}

/// What happens to a matching request.
#[derive(Clone, Debug)]
pub enum Harm {
    /// Answered so instead of being carried out; a body that is a text is sent as it is.
    Answer {
        status: StatusCode,
        headers: Vec<(String, String)>,
        body: Value,
    },
    /// The connection closes before anything is done.
    Drop,
    /// Nothing is done, and no answer ever comes.
    Hang,
    /// It waits until the faults are healed, and is carried out then.
    Hold,
    /// It is carried out, and then the connection closes: the caller cannot know.
    DropAnswer,
    /// It is carried out and answered so long after.
    Delay(Duration),
    /// A GET is answered as the same one was answered the last time, as a lagging replica would.
    Stale,
    /// A GET is answered from the world as it was so long ago.
    Lag(TimeDelta),
    /// A GET that names an ETag is answered 304, whatever has changed.
    Unchanged,
    /// It is carried out, and this is made of the answer.
    Alter(Alteration),
    /// Nothing is done; the connection closes once the clock has moved on so far, or the faults are healed.
    Stall(TimeDelta),
}

/// Makes other pieces of an answer. None closes the connection.
pub type Alteration = fn(&mut Parts, Bytes) -> Vec<Option<Bytes>>;

impl Harm {
    /// `502 Bad Gateway` and the like.
    pub fn status(status: StatusCode) -> Self {
        Self::Answer {
            status,
            headers: Vec::new(),
            body: json!({ "message": status.canonical_reason().unwrap_or("Error") }),
        }
    }

    /// A secondary rate limit: 403 with `retry-after`
    /// (docs.github.com, Rate limits for the REST API: About secondary rate limits).
    pub fn secondary_limit(retry_after_seconds: u32) -> Self {
        Self::Answer {
            status: StatusCode::FORBIDDEN,
            headers: vec![("retry-after".into(), retry_after_seconds.to_string())],
            body: json!({
                "message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
                "documentation_url": "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits",
            }),
        }
    }
}

/// A rule about requests.
#[derive(Clone, Debug)]
pub struct RequestFault {
    method: Option<Method>,
    path: Regex,
    often: Often,
    harm: Harm,
}

impl RequestFault {
    /// Requests whose path and query match `path`, anywhere in it.
    pub fn on(path: &str, harm: Harm) -> Result<Self, regex::Error> {
        Ok(Self {
            method: None,
            path: Regex::new(path)?,
            often: Often::Always,
            harm,
        })
    }

    #[must_use]
    pub fn method(mut self, method: Method) -> Self {
        self.method = Some(method);
        self
    }

    #[must_use]
    pub fn often(mut self, often: Often) -> Self {
        self.often = often;
        self
    }
}

/// What happens to a matching delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mishap {
    /// Never sent and not in the deliveries list.
    Lose,
    /// Not sent; listed as failed, so that it can be redelivered.
    Fail,
    /// Sent twice with one GUID.
    Duplicate,
    /// Kept back until [`release`](super::Simulator::release_held) lets it go, so that later ones overtake it.
    Hold,
    /// Overtaken by so many later ones (or by all there are, if there are fewer).
    Late(usize),
}

/// A rule about deliveries.
#[derive(Clone, Debug)]
pub struct DeliveryFault {
    event: Option<(String, Option<String>)>,
    often: Often,
    mishap: Mishap,
}

impl DeliveryFault {
    pub fn any(mishap: Mishap) -> Self {
        Self {
            event: None,
            often: Often::Always,
            mishap,
        }
    }

    /// Only an event, `issue_comment`, or an event and action, `issue_comment.created`.
    pub fn on(event: &str, mishap: Mishap) -> Self {
        let event = match event.split_once('.') {
            Some((event, action)) => (event.to_owned(), Some(action.to_owned())),
            None => (event.to_owned(), None),
        };
        Self {
            event: Some(event),
            ..Self::any(mishap)
        }
    }

    #[must_use]
    pub fn often(mut self, often: Often) -> Self {
        self.often = often;
        self
    }
}

impl Faults {
    pub fn new(seed: u64) -> Self {
        Self {
            requests: Vec::new(),
            deliveries: Vec::new(),
            dice: Dice {
                seed,
                rolled: HashMap::new(),
            },
            hanging: 0,
            stalled: Vec::new(),
            healings: 0,
        }
    }

    pub fn add_request(&mut self, fault: RequestFault) {
        self.requests.push(fault);
    }

    pub fn add_delivery(&mut self, fault: DeliveryFault) {
        self.deliveries.push(fault);
    }

    /// Ends all faults.
    pub fn clear(&mut self) {
        self.requests.clear();
        self.deliveries.clear();
        self.hanging = 0;
        self.stalled.clear();
        self.healings += 1;
    }

    pub const fn healings(&self) -> u64 {
        self.healings
    }

    /// A request hangs that was struck after so many healings. One that was healed since does not.
    pub fn hangs(&mut self, healings: u64, until: Option<Timestamp>) {
        if healings == self.healings {
            self.hanging += 1;
            self.stalled.extend(until);
        }
    }

    /// The requests under [`Harm::Stall`] that still wait at this time: how many, and when the first ends.
    pub fn stalled(&self, now: Timestamp) -> (usize, Option<Timestamp>) {
        let waiting = || self.stalled.iter().copied().filter(|until| *until > now);
        (waiting().count(), waiting().min())
    }

    pub const fn hanging(&self) -> usize {
        self.hanging
    }

    /// Whether answers must be remembered so that stale ones can be given.
    pub fn may_go_stale(&self) -> bool {
        self.requests
            .iter()
            .any(|fault| matches!(fault.harm, Harm::Stale))
    }

    /// Whether the world must be remembered so that it can be shown as it was.
    pub fn may_lag(&self) -> bool {
        self.requests
            .iter()
            .any(|fault| matches!(fault.harm, Harm::Lag(_)))
    }

    pub fn strike_request(&mut self, method: &Method, path_and_query: &str) -> Option<Harm> {
        let Self { requests, dice, .. } = self;
        let fits = |fault: &RequestFault| {
            fault.method.as_ref().is_none_or(|m| m == method) && fault.path.is_match(path_and_query)
        };
        let what = format!("{method} {path_and_query}");
        requests.iter_mut().enumerate().find_map(|(rule, fault)| {
            (fits(fault) && fault.often.strikes(dice, rule, &what)).then(|| fault.harm.clone())
        })
    }

    pub fn strike_delivery(&mut self, event: &str, action: Option<&str>) -> Option<Mishap> {
        let Self {
            deliveries, dice, ..
        } = self;
        let fits = |fault: &DeliveryFault| match &fault.event {
            None => true,
            Some((name, wanted)) => {
                name == event
                    && wanted
                        .as_deref()
                        .is_none_or(|wanted| action == Some(wanted))
            }
        };
        let what = format!("{event} {}", action.unwrap_or_default());
        deliveries.iter_mut().enumerate().find_map(|(rule, fault)| {
            (fits(fault) && fault.often.strikes(dice, rule, &what)).then_some(fault.mishap)
        })
    }
}

/// Chances that repeat with the seed.
#[derive(Debug)]
struct Dice {
    seed: u64,
    rolled: HashMap<(usize, String), u64>,
}

impl Dice {
    /// 0 to 1.
    fn roll(&mut self, rule: usize, what: &str) -> f64 {
        let times = self.rolled.entry((rule, what.to_owned())).or_default();
        *times += 1;
        let mut hasher = DefaultHasher::new();
        (self.seed, rule, what, *times).hash(&mut hasher);
        fastrand::Rng::with_seed(hasher.finish()).f64()
    }
}

impl Often {
    fn strikes(&mut self, dice: &mut Dice, rule: usize, what: &str) -> bool {
        match self {
            Self::Always => true,
            Self::Times(0) => false,
            Self::Times(left) => {
                *left -= 1;
                true
            }
            Self::After(0) => true,
            Self::After(left) => {
                *left -= 1;
                false
            }
            Self::Chance(chance) => dice.roll(rule, what) < *chance,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_match_by_method_path_and_count() {
        let mut faults = Faults::new(1);
        let rule = RequestFault::on(r"/git/refs", Harm::Drop)
            .unwrap()
            .method(Method::PATCH)
            .often(Often::Times(2));
        faults.add_request(rule);
        assert!(
            faults
                .strike_request(&Method::GET, "/repos/a/b/git/refs/x")
                .is_none()
        );
        assert!(
            faults
                .strike_request(&Method::PATCH, "/repos/a/b/pulls/1")
                .is_none()
        );
        let hits = (0..5)
            .filter_map(|_| faults.strike_request(&Method::PATCH, "/repos/a/b/git/refs/x"))
            .count();
        assert_eq!(hits, 2);
        let mut faults = Faults::new(1);
        faults.add_request(
            RequestFault::on(".", Harm::Hang)
                .unwrap()
                .often(Often::After(2)),
        );
        let struck: Vec<bool> = (0..4)
            .map(|_| faults.strike_request(&Method::GET, "/app").is_some())
            .collect();
        assert_eq!(struck, [false, false, true, true]);
    }

    #[test]
    fn a_request_that_was_struck_before_a_healing_hangs_no_more() {
        let mut faults = Faults::new(1);
        let struck = faults.healings();
        faults.hangs(struck, None);
        assert_eq!(faults.hanging(), 1);
        faults.clear();
        faults.hangs(struck, None);
        assert_eq!(faults.hanging(), 0);
        faults.hangs(faults.healings(), None);
        assert_eq!(faults.hanging(), 1);
    }

    #[test]
    fn chances_repeat_with_the_seed() {
        let run = |seed| {
            let mut faults = Faults::new(seed);
            faults.add_delivery(DeliveryFault::on("push", Mishap::Lose).often(Often::Chance(0.5)));
            (0..64)
                .map(|_| faults.strike_delivery("push", None).is_some())
                .collect::<Vec<_>>()
        };
        assert_eq!(run(3), run(3));
        assert_ne!(run(3), run(4));
        assert!(run(3).contains(&true) && run(3).contains(&false));
    }

    #[test]
    fn delivery_rules_tell_actions_apart() {
        let mut faults = Faults::new(1);
        faults.add_delivery(DeliveryFault::on("issue_comment.created", Mishap::Hold));
        assert_eq!(
            faults.strike_delivery("issue_comment", Some("edited")),
            None
        );
        assert_eq!(
            faults.strike_delivery("issue_comment", Some("created")),
            Some(Mishap::Hold)
        );
        faults.clear();
        assert_eq!(
            faults.strike_delivery("issue_comment", Some("created")),
            None
        );
    }
}
