//! What the last look at a head read, so that events that add nothing to it cost no request.
//!
//! Two kinds of event need no new look. News of a check that the configuration does not name, or of a suite of an App
//! that reports none it names, changes no decision: news that comes before the configuration is known is kept, and
//! judged once a look has read it. Where the configuration names no App, those count that the look saw report the
//! check, none where it is a status, and any until it is reported. And an event that came [`LAG`] before the look began
//! adds nothing to it, if the check runs it names had ended in what the look read. Other events concern the pull
//! request that was looked at. All of this holds only where no other pull request was seen with that head; one that
//! comes later has a look of its own, which reads everything.

use std::collections::BTreeSet;

use chrono::{SubsecRound as _, TimeDelta};

use crate::github::client::ttl_cache::TtlCache;
use loopgate_core::{
    CheckRunId, PrNumber, RepoName, Sha, Timestamp,
    observed::{CheckProgress, Hint, OwnCheck, Snapshot},
    policy::{CheckSource, ExternalSource, NameGlob, Policy, WhenSkipped},
};
use loopgate_webhook::CheckNews;

/// News kept for one head.
const MOST_NEWS: usize = 500;

/// How much older than an event the look may be whose answers already contain it.
const LAG: TimeDelta = TimeDelta::seconds(2);

/// The heads looked at in the last minutes, by this process.
#[derive(Debug, Default)]
pub struct LookedHeads {
    looks: TtlCache<(RepoName, Sha), Look>,
    events: TtlCache<(RepoName, Sha), HeadEvents>,
}

#[derive(Debug, Clone)]
struct Look {
    pull_request: PrNumber,
    begun: Timestamp,
    ended: BTreeSet<CheckRunId>,
    /// The checks that the configuration names, each with who reports it: an App, or `None` for a status. Empty until
    /// somebody does.
    sources: Vec<(ExternalSource, BTreeSet<Option<String>>)>,
}

/// The events of a head since its last work.
#[derive(Debug, Clone, Default)]
struct HeadEvents {
    /// None if an event other than news of a check came, or more than [`MOST_NEWS`] news.
    news: Option<Vec<CheckNews>>,
    since: Option<Timestamp>,
}

/// The work that waits for a head.
#[derive(Debug, Clone, Copy)]
pub struct HeadDeliveries<'a> {
    /// Of all its deliveries.
    pub hints: &'a [Hint],
    /// When its oldest delivery came.
    pub since: Option<Timestamp>,
    /// When its newest delivery came.
    pub last: Timestamp,
}

impl LookedHeads {
    /// Keeps what a look that began then read.
    pub(in crate::github) fn keep(&self, snapshot: &Snapshot, policy: &Policy, begun: Timestamp) {
        let ended = |progress| matches!(progress, CheckProgress::Completed { .. });
        let runs = snapshot
            .checks
            .iter()
            .filter(|check| ended(check.progress))
            .filter_map(|check| check.id);
        let sources = policy
            .verify
            .checks
            .values()
            .filter_map(|check| match &check.source {
                CheckSource::External(source) => Some(source.clone()),
                // Its own check run ends when it has looked.
                CheckSource::Reviewer(reviewer) => {
                    let (name, app) = (NameGlob::parse("*").ok()?, Some(reviewer.app.clone()));
                    Some(ExternalSource {
                        name,
                        app,
                        when_skipped: WhenSkipped::default(),
                    })
                }
                CheckSource::Command(_) => None,
            });
        let sources = sources.map(|source| {
            let seen = snapshot.checks.iter().filter(|check| source.takes(check));
            let configured = source.app.iter().cloned().map(Some);
            let reporters = configured
                .chain(seen.map(|check| check.app.clone()))
                .collect();
            (source, reporters)
        });
        let head = (snapshot.repository.clone(), snapshot.pull_request.head.sha);
        let pull_request = snapshot.pull_request.number;
        let look = Look {
            pull_request,
            begun,
            ended: runs.collect(),
            sources: sources.collect(),
        };
        self.looks.put(head, look, begun);
    }

    pub(in crate::github) fn forget(&self, repository: &RepoName, head: Sha) {
        self.looks.remove(&(repository.clone(), head));
    }

    /// The pull requests that work on a head concerns: none where the last look read what there is to read. Unknown
    /// where there was no such look.
    pub fn concerned(
        &self,
        repository: &RepoName,
        head: Sha,
        work: HeadDeliveries<'_>,
        now: Timestamp,
    ) -> Option<Vec<PrNumber>> {
        let key = (repository.clone(), head);
        let events = self.events.get(&key, now);
        self.events.remove(&key);
        let look = self.looks.get(&key, now)?;
        let is_read = work.last + LAG < look.begun
            && work.hints.iter().all(|hint| match hint {
                Hint::NamedPulls { .. } => true,
                Hint::CheckRunCompleted { check_run, .. } => look.ended.contains(check_run),
                _ => false,
            });
        // Events from before this list began may be among the work too.
        let is_whole = |events: &HeadEvents| events.since.is_some() && events.since <= work.since;
        let news = events.filter(is_whole).and_then(|events| events.news);
        let is_nothing = news.is_some_and(|news| !news.iter().any(|news| look.is_mapped(news)));
        Some(if is_read || is_nothing {
            Vec::new()
        } else {
            vec![look.pull_request]
        })
    }

    /// Whether the news of a check may change what was decided on the head, as far as is known.
    pub fn concerns(
        &self,
        repository: &RepoName,
        head: Sha,
        news: &CheckNews,
        now: Timestamp,
    ) -> bool {
        let look = self.looks.get(&(repository.clone(), head), now);
        let concerns = look.is_none_or(|look| look.is_mapped(news));
        if concerns {
            self.note(repository, head, Some(news), now);
        }
        concerns
    }

    /// Notes an event of a head, with its news of a check if it is one of a check.
    pub fn note(&self, repository: &RepoName, head: Sha, news: Option<&CheckNews>, now: Timestamp) {
        self.events
            .change((repository.clone(), head), now, |events| {
                let known = if events.since.is_none() {
                    Some(Vec::new())
                } else {
                    events.news.take()
                };
                // Deliveries are kept with milliseconds.
                events.since = events.since.or(Some(now.trunc_subsecs(3)));
                events.news = known.zip(news).map(|(mut known, news)| {
                    known.push(news.clone());
                    known
                });
                events.news.take_if(|news| news.len() > MOST_NEWS);
            });
    }
}

impl Look {
    /// Whether the configuration names the check, or may name one of the suite.
    fn is_mapped(&self, news: &CheckNews) -> bool {
        let is_named = |name: &str, app| {
            OwnCheck::named(name).is_some()
                || self
                    .sources
                    .iter()
                    .any(|(source, _)| source.may_take(name, app))
        };
        match news {
            CheckNews::Run { name, app } => is_named(name, app.as_deref()),
            CheckNews::Status { context } => is_named(context, None),
            CheckNews::Suite { app } => {
                let app = Some(app.clone());
                self.sources
                    .iter()
                    .any(|(_, by)| by.is_empty() || by.contains(&app))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use loopgate_core::policy::NameGlob;

    use super::*;

    const HEAD: &str = "0123456789abcdef0123456789abcdef01234567";

    fn at(second: u32) -> Timestamp {
        format!("2026-11-20T10:15:{second:02}Z").parse().unwrap()
    }

    fn place() -> (RepoName, Sha) {
        ("acme/widgets".parse().unwrap(), HEAD.parse().unwrap())
    }

    /// Looked at since second 10: the check run 7 had ended, `build` is configured.
    fn looked() -> LookedHeads {
        let heads = LookedHeads::default();
        let source = ExternalSource {
            name: NameGlob::parse("build").unwrap(),
            app: Some("ci".to_owned()),
            when_skipped: Default::default(),
        };
        let (pull_request, sources) = (
            PrNumber::new(12),
            vec![(source, BTreeSet::from([Some("ci".to_owned())]))],
        );
        let look = Look {
            pull_request,
            begun: at(10),
            ended: [CheckRunId::new(7)].into(),
            sources,
        };
        heads.looks.put(place(), look, at(12));
        heads
    }

    fn run(name: &str, app: &str) -> CheckNews {
        CheckNews::Run {
            name: name.to_owned(),
            app: Some(app.to_owned()),
        }
    }

    fn suite(app: &str) -> CheckNews {
        CheckNews::Suite {
            app: app.to_owned(),
        }
    }

    #[test]
    fn a_look_answers_what_it_read() {
        let (heads, (repository, head)) = (looked(), place());
        let ended = |id| Hint::CheckRunCompleted {
            check_run: CheckRunId::new(id),
            head,
        };
        let answered = |second, hints: &[Hint]| {
            let work = HeadDeliveries {
                hints,
                since: None,
                last: at(second),
            };
            heads
                .concerned(&repository, head, work, at(13))
                .unwrap()
                .is_empty()
        };
        assert!(
            answered(7, &[]) && answered(7, &[ended(7), Hint::NamedPulls { pulls: Vec::new() }])
        );
        assert!(!answered(8, &[]), "what was read may be older than that");
        assert!(!answered(7, &[ended(7), ended(8)]), "a list that lags");
        assert!(!answered(7, &[Hint::Closed]));
        let much_later = "2026-11-20T10:25:00Z".parse().unwrap();
        let work = HeadDeliveries {
            hints: &[],
            since: None,
            last: at(7),
        };
        assert_eq!(heads.concerned(&repository, head, work, much_later), None);
    }

    #[test]
    fn what_came_before_the_look_is_judged_by_it() {
        let (repository, head) = place();
        let look = looked().looks.get(&place(), at(12)).unwrap();
        // Its delivery is kept as of second 9.
        let events = at(9) + TimeDelta::microseconds(900);
        let concerned = |told: &[Option<CheckNews>], since| {
            let heads = LookedHeads::default();
            for news in told {
                match news {
                    Some(news) => assert!(
                        heads.concerns(&repository, head, news, events),
                        "nothing is known yet"
                    ),
                    None => heads.note(&repository, head, None, events),
                }
            }
            heads.looks.put(place(), look.clone(), at(12));
            let work = HeadDeliveries {
                hints: &[],
                since: Some(at(since)),
                last: at(11),
            };
            let first = heads.concerned(&repository, head, work, at(13)).unwrap();
            assert_eq!(
                heads
                    .concerned(&repository, head, work, at(13))
                    .unwrap()
                    .len(),
                1,
                "told once"
            );
            !first.is_empty()
        };
        let (lint, build) = (Some(run("lint", "other")), Some(run("build", "ci")));
        assert!(!concerned(std::slice::from_ref(&lint), 9));
        assert!(!concerned(&[lint.clone(), Some(suite("other"))], 10));
        assert!(
            concerned(&[lint.clone(), Some(suite("ci"))], 10),
            "the App reports a check that is configured"
        );
        assert!(concerned(&[lint.clone(), build], 9));
        assert!(
            concerned(&[lint.clone(), None, lint.clone()], 9),
            "something else was told"
        );
        assert!(
            concerned(&[lint], 8),
            "something came before this process listened"
        );
        assert!(concerned(&[], 8));
    }

    #[test]
    fn a_suite_concerns_a_head_only_if_a_check_of_its_app_may_be_configured() {
        let (heads, (repository, head)) = (looked(), place());
        let concerns = |news| heads.concerns(&repository, head, &news, at(13));
        assert!(concerns(suite("ci")) && !concerns(suite("somebody")));
        assert!(!concerns(run("lint", "ci")) && !concerns(run("build", "somebody")));
        assert!(concerns(run("build", "ci")) && concerns(run("loopgate / verify", "ci")));
        assert!(concerns(CheckNews::Status {
            context: "loopgate / gates".to_owned()
        }));
        assert!(
            !concerns(CheckNews::Status {
                context: "build".to_owned()
            }),
            "a status has no App"
        );
        let mut look = heads.looks.get(&place(), at(12)).unwrap();
        look.sources[0].0.app = None;
        heads.looks.put(place(), look.clone(), at(12));
        let concerns = |news| heads.concerns(&repository, head, &news, at(13));
        assert!(
            concerns(suite("ci")) && !concerns(suite("somebody")),
            "another App reports it"
        );
        assert!(
            concerns(run("build", "somebody")),
            "any App may report it too"
        );
        look.sources[0].1 = BTreeSet::from([None]);
        heads.looks.put(place(), look.clone(), at(12));
        assert!(
            !heads.concerns(&repository, head, &suite("ci"), at(13)),
            "a status has no suite"
        );
        look.sources[0].1.clear();
        heads.looks.put(place(), look, at(12));
        assert!(concerns(suite("somebody")), "whose it is was not seen yet");
    }
}
