//! Repositories whose configuration was not found. An absence is never kept against news: each look asks again, at most
//! every [`ASK_EVERY`], and looks come by themselves where there was a configuration before.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use chrono::TimeDelta;

use loopgate_core::{PrNumber, RepoName, Timestamp};

/// The configuration of one repository is asked for at most so often.
const ASK_EVERY: TimeDelta = TimeDelta::seconds(10);
/// When it is asked for without news, after it was first not found; then every [`ASK_LATER_EVERY`].
const ASKED_AFTER: [TimeDelta; 4] =
    [TimeDelta::seconds(30), TimeDelta::minutes(1), TimeDelta::minutes(5), TimeDelta::minutes(15)];
const ASK_LATER_EVERY: TimeDelta = TimeDelta::hours(1);
/// Repositories remembered at most; beyond that all are asked anew.
const MOST: usize = 10_000;

/// What is known of repositories without configuration.
#[derive(Debug, Default)]
pub(in crate::github) struct Dormant(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    absent: BTreeMap<RepoName, Absence>,
    /// Repositories that have, or had, a configuration.
    configured: BTreeSet<RepoName>,
    /// Those whose configuration was found again, until somebody takes note of it.
    awakened: BTreeSet<RepoName>,
}

#[derive(Debug)]
struct Absence {
    since: Timestamp,
    asked_at: Timestamp,
    /// A look came too early to ask, and is repeated as soon as it may.
    one_comes_back: bool,
    /// Operators were warned.
    is_told: bool,
    /// Open pull requests that were looked at since.
    open: BTreeSet<PrNumber>,
}

/// A repository without configuration, for operators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DormantRepository {
    pub repository: RepoName,
    pub since: Timestamp,
    /// It had a configuration before.
    pub had_one: bool,
    /// When it is asked for without news, if it is.
    pub next_at: Option<Timestamp>,
}

impl Dormant {
    pub fn is_dormant(&self, repository: &RepoName) -> bool {
        self.known().absent.contains_key(repository)
    }

    /// Asks to ask for the configuration.
    ///
    /// # Errors
    /// It was asked for a moment ago: when this look is to be repeated. One look comes back as soon as it may ask, for all
    /// that came too early.
    pub fn ask(&self, repository: &RepoName, now: Timestamp) -> Result<(), Option<Timestamp>> {
        let mut known = self.known();
        let had_one = known.configured.contains(repository);
        let Some(absence) = known.absent.get_mut(repository) else { return Ok(()) };
        let may_ask_at = absence.asked_at + ASK_EVERY;
        // A clock that was set back leaves times that are still to come.
        if now < absence.asked_at || now >= may_ask_at {
            return Ok(());
        }
        if std::mem::replace(&mut absence.one_comes_back, true) {
            return Err(planned(absence.since, had_one, now));
        }
        Err(Some(may_ask_at))
    }

    /// Whether a configuration that is not found is to be doubted: it was there before.
    pub fn had_configuration(&self, repository: &RepoName) -> bool {
        self.known().configured.contains(repository)
    }

    /// The repository has, or had, a configuration: a state of ours was found, for example.
    pub fn note_configured(&self, repository: &RepoName) {
        let mut known = self.known();
        if known.configured.len() >= MOST {
            known.configured.clear();
        }
        known.configured.insert(repository.clone());
    }

    pub fn found(&self, repository: &RepoName) {
        self.note_configured(repository);
        let mut known = self.known();
        if known.absent.remove(repository).is_some() {
            known.awakened.insert(repository.clone());
        }
    }

    /// Whether the repository was without configuration when this was last asked, and is not now.
    pub fn has_awakened(&self, repository: &RepoName) -> bool {
        self.known().awakened.remove(repository)
    }

    pub fn not_found(&self, repository: &RepoName, (number, is_open): (PrNumber, bool), now: Timestamp) {
        let mut known = self.known();
        if known.absent.len() >= MOST {
            known.absent.clear();
        }
        let new =
            || Absence { since: now, asked_at: now, one_comes_back: false, is_told: false, open: BTreeSet::new() };
        let absence = known.absent.entry(repository.clone()).or_insert_with(new);
        (absence.asked_at, absence.one_comes_back) = (now, false);
        if is_open {
            absence.open.insert(number);
        } else {
            absence.open.remove(&number);
        }
    }

    /// When an open pull request of a repository without configuration is looked at again without news. Where there was
    /// none before, only a server that lags behind may have hidden it.
    pub fn next_look(&self, repository: &RepoName, number: PrNumber, now: Timestamp) -> Option<Timestamp> {
        let mut known = self.known();
        let had_one = known.configured.contains(repository);
        let absence = known.absent.get_mut(repository)?;
        let next = planned(absence.since, had_one, now).filter(|_| absence.open.contains(&number));
        if had_one && !std::mem::replace(&mut absence.is_told, true) {
            let next = next.map(tracing::field::display);
            tracing::warn!(%repository, next, "the repository had a .github/loopgate.yml, and GitHub shows none now");
        }
        next
    }

    /// Access has changed: each configuration is asked for again at once.
    pub fn doubt_all(&self) {
        for absence in self.known().absent.values_mut() {
            absence.asked_at -= ASK_EVERY;
        }
    }

    pub fn all(&self, now: Timestamp) -> Vec<DormantRepository> {
        let known = self.known();
        let shown = |(repository, absence): (&RepoName, &Absence)| {
            let had_one = known.configured.contains(repository);
            let next_at = planned(absence.since, had_one, now).filter(|_| !absence.open.is_empty());
            DormantRepository { repository: repository.clone(), since: absence.since, had_one, next_at }
        };
        known.absent.iter().map(shown).collect()
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn planned(since: Timestamp, had_one: bool, now: Timestamp) -> Option<Timestamp> {
    let early = ASKED_AFTER.iter().take(if had_one { ASKED_AFTER.len() } else { 1 });
    let next = early.map(|after| since + *after).find(|at| *at > now);
    let hours = (now - since).num_hours().max(0) + 1;
    next.or_else(|| had_one.then(|| since + ASK_LATER_EVERY * i32::try_from(hours).unwrap_or(i32::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PULL: PrNumber = PrNumber::new(7);

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_timestamp(1_800_000_000 + seconds, 0).unwrap()
    }

    #[test]
    fn a_configuration_that_was_there_is_asked_for_again_without_news_and_another_only_once() {
        let repository: RepoName = "acme/widgets".parse().unwrap();
        for (had_one, expected) in [(true, vec![30, 60, 300, 900, 3_600, 7_200, 10_800]), (false, vec![30])] {
            let dormant = Dormant::default();
            if had_one {
                dormant.note_configured(&repository);
            }
            let mut now = at(0);
            let mut looks = Vec::new();
            while looks.len() < 7 {
                assert_eq!(dormant.ask(&repository, now), Ok(()));
                dormant.not_found(&repository, (PULL, true), now);
                let Some(next) = dormant.next_look(&repository, PULL, now) else { break };
                looks.push((next - at(0)).num_seconds());
                now = next;
            }
            assert_eq!(looks, expected);
        }
    }

    #[test]
    fn news_is_asked_about_within_ten_seconds_by_one_look() {
        let (dormant, repository) = (Dormant::default(), "acme/widgets".parse().unwrap());
        dormant.note_configured(&repository);
        dormant.not_found(&repository, (PULL, true), at(0));
        assert_eq!(dormant.ask(&repository, at(9)), Err(Some(at(10))), "the first comes back");
        assert_eq!(dormant.ask(&repository, at(9)), Err(Some(at(30))), "the second need not");
        assert_eq!(dormant.ask(&repository, at(10)), Ok(()));
        dormant.doubt_all();
        assert_eq!(dormant.ask(&repository, at(9)), Ok(()), "access has changed");
        dormant.not_found(&repository, (PULL, false), at(12));
        assert_eq!(dormant.next_look(&repository, PULL, at(12)), None, "it was closed");
        dormant.found(&repository);
        assert!(dormant.has_awakened(&repository) && !dormant.has_awakened(&repository));
        assert!(dormant.all(at(20)).is_empty());
    }
}
