//! Base branches without configuration. An absence is never kept against news: each look asks again, in a repository
//! that never had one at most every [`ASK_EVERY`], and looks come by themselves where there was a configuration before.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;
use parking_lot::Mutex;

use loopgate_core::{PrNumber, RepoName, Timestamp};

/// The configuration of a repository that never had one is asked for at most so often.
const ASK_EVERY: TimeDelta = TimeDelta::seconds(10);
/// When it is asked for without news, after it was first not found; then every [`ASK_LATER_EVERY`].
const ASKED_AFTER: [TimeDelta; 4] = [
    TimeDelta::seconds(30),
    TimeDelta::minutes(1),
    TimeDelta::minutes(5),
    TimeDelta::minutes(15),
];
const ASK_LATER_EVERY: TimeDelta = TimeDelta::hours(1);
/// Branches remembered at most; beyond that all are asked anew.
const MOST: usize = 10_000;

/// What is known of repositories without configuration.
#[derive(Debug, Default)]
pub struct Dormant(Mutex<KnownBranches>);

/// One branch of a repository.
type NamedBranch = (RepoName, String);

#[derive(Debug, Default)]
struct KnownBranches {
    absent: BTreeMap<NamedBranch, MissingConfiguration>,
    /// Branches that have, or had, a configuration.
    configured: BTreeSet<NamedBranch>,
    /// Repositories where a configuration was found again, until somebody takes note of it.
    awakened: BTreeSet<RepoName>,
}

#[derive(Debug, Default)]
struct MissingConfiguration {
    since: Timestamp,
    asked_at: Timestamp,
    /// A look came too early to ask, and is repeated as soon as it may.
    one_comes_back: bool,
    /// Operators were warned.
    is_warned: bool,
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

impl KnownBranches {
    /// The branches of a repository that are without configuration.
    fn absent_in(
        &mut self,
        repository: &RepoName,
    ) -> impl Iterator<Item = (&NamedBranch, &mut MissingConfiguration)> {
        let from = (repository.clone(), String::new());
        self.absent
            .range_mut(from..)
            .take_while(move |((of, _), _)| of == repository)
    }

    fn is_configured(&self, repository: &RepoName) -> bool {
        let from = (repository.clone(), String::new());
        self.configured
            .range(from..)
            .next()
            .is_some_and(|(of, _)| of == repository)
    }

    fn note_configured(&mut self, branch: NamedBranch) {
        if self.configured.len() >= MOST {
            self.configured.clear();
        }
        self.configured.insert(branch);
    }
}

impl Dormant {
    /// Whether a repository is without configuration on each branch that was looked at, and never had one.
    pub fn is_dormant(&self, repository: &RepoName) -> bool {
        let mut known = self.0.lock();
        !known.is_configured(repository) && known.absent_in(repository).next().is_some()
    }

    /// Asks to ask for the configuration.
    ///
    /// # Errors
    /// It was asked for a moment ago: when this look is to be repeated. One look comes back as soon as it may ask, for
    /// all that came too early.
    pub fn ask(&self, repository: &RepoName, now: Timestamp) -> Result<(), Option<Timestamp>> {
        let mut known = self.0.lock();
        if known.is_configured(repository) {
            return Ok(());
        }
        let Some((_, absence)) = known
            .absent_in(repository)
            .max_by_key(|(_, it)| it.asked_at)
        else {
            return Ok(());
        };
        let may_ask_at = absence.asked_at + ASK_EVERY;
        // A clock that was set back leaves times that are still to come.
        if now < absence.asked_at || now >= may_ask_at {
            return Ok(());
        }
        if std::mem::replace(&mut absence.one_comes_back, true) {
            return Err(planned(absence.since, false, now));
        }
        Err(Some(may_ask_at))
    }

    /// A pull request has a state of ours: its base had a configuration.
    pub fn note_state(&self, repository: &RepoName, number: PrNumber) {
        let mut known = self.0.lock();
        let of_it = known
            .absent_in(repository)
            .find(|(_, it)| it.open.contains(&number));
        if let Some(branch) = of_it.map(|(branch, _)| branch.clone()) {
            known.note_configured(branch);
        }
    }

    pub fn found(&self, repository: &RepoName, branch: &str) {
        let (mut known, branch) = (self.0.lock(), (repository.clone(), branch.to_owned()));
        if known.absent.remove(&branch).is_some() {
            known.awakened.insert(repository.clone());
        }
        known.note_configured(branch);
    }

    /// Whether the repository was without configuration when this was last asked, and is not now.
    pub fn has_awakened(&self, repository: &RepoName) -> bool {
        self.0.lock().awakened.remove(repository)
    }

    pub fn not_found(
        &self,
        repository: &RepoName,
        branch: &str,
        (number, is_open): (PrNumber, bool),
        now: Timestamp,
    ) {
        let mut known = self.0.lock();
        if known.absent.len() >= MOST {
            known.absent.clear();
        }
        let new = || MissingConfiguration {
            since: now,
            asked_at: now,
            ..MissingConfiguration::default()
        };
        let absence = known
            .absent
            .entry((repository.clone(), branch.to_owned()))
            .or_insert_with(new);
        (absence.asked_at, absence.one_comes_back) = (now, false);
        if is_open {
            absence.open.insert(number);
        } else {
            absence.open.remove(&number);
        }
    }

    /// When an open pull request into a branch without configuration is looked at again without news. Where there was
    /// none before, only a server that lags behind or refuses for a moment may have hidden it: two more looks are
    /// enough.
    pub fn next_look(
        &self,
        repository: &RepoName,
        number: PrNumber,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let mut guard = self.0.lock();
        let known = &mut *guard;
        let (branch, absence) = known
            .absent_in(repository)
            .find(|(_, it)| it.open.contains(&number))?;
        let (branch, since, is_warned) = (branch.clone(), absence.since, absence.is_warned);
        let had_one = known.configured.contains(&branch);
        let next = planned(since, had_one, now);
        if had_one && !is_warned {
            known
                .absent
                .entry(branch.clone())
                .and_modify(|it| it.is_warned = true);
            let (next, branch) = (next.map(tracing::field::display), branch.1);
            tracing::warn!(%repository, branch, next, "the branch had a .github/loopgate.yml, and GitHub shows none now");
        }
        next
    }

    /// Access has changed: each configuration is asked for again at once.
    pub fn doubt_all(&self) {
        for absence in self.0.lock().absent.values_mut() {
            absence.asked_at -= ASK_EVERY;
        }
    }

    /// One entry for each repository: the branch that lost its configuration, or the first that has none where no
    /// branch has one.
    pub fn all(&self, now: Timestamp) -> Vec<DormantRepository> {
        let known = self.0.lock();
        let mut shown = BTreeMap::<&RepoName, DormantRepository>::new();
        for (branch @ (repository, _), absence) in &known.absent {
            let had_one = known.configured.contains(branch);
            if !had_one && known.is_configured(repository) {
                continue;
            }
            let next_at = planned(absence.since, had_one, now).filter(|_| !absence.open.is_empty());
            let new = DormantRepository {
                repository: repository.clone(),
                since: absence.since,
                had_one,
                next_at,
            };
            shown.entry(repository).or_insert(new);
        }
        shown.into_values().collect()
    }
}

fn planned(since: Timestamp, had_one: bool, now: Timestamp) -> Option<Timestamp> {
    let early = ASKED_AFTER
        .iter()
        .take(if had_one { ASKED_AFTER.len() } else { 2 });
    let next = early.map(|after| since + *after).find(|at| *at > now);
    let hours = (now - since).num_hours().max(0) + 1;
    next.or_else(|| {
        had_one.then(|| since + ASK_LATER_EVERY * i32::try_from(hours).unwrap_or(i32::MAX))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PULL: PrNumber = PrNumber::new(7);

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_timestamp(1_800_000_000 + seconds, 0).unwrap()
    }

    #[test]
    fn a_configuration_that_was_there_is_asked_for_again_without_news_and_another_only_twice() {
        let repository: RepoName = "acme/widgets".parse().unwrap();
        for (had_one, expected) in [
            (true, vec![30, 60, 300, 900, 3_600, 7_200, 10_800]),
            (false, vec![30, 60]),
        ] {
            let dormant = Dormant::default();
            let mut now = at(0);
            let mut looks = Vec::new();
            while looks.len() < 7 {
                assert_eq!(dormant.ask(&repository, now), Ok(()));
                dormant.not_found(&repository, "main", (PULL, true), now);
                if had_one {
                    dormant.note_state(&repository, PULL);
                }
                let Some(next) = dormant.next_look(&repository, PULL, now) else {
                    break;
                };
                looks.push((next - at(0)).num_seconds());
                now = next;
            }
            assert_eq!(looks, expected);
        }
    }

    #[test]
    fn news_is_asked_about_within_ten_seconds_by_one_look() {
        let (dormant, repository) = (Dormant::default(), "acme/widgets".parse().unwrap());
        dormant.not_found(&repository, "main", (PULL, true), at(0));
        assert_eq!(
            dormant.ask(&repository, at(9)),
            Err(Some(at(10))),
            "the first comes back"
        );
        assert_eq!(
            dormant.ask(&repository, at(9)),
            Err(Some(at(30))),
            "the second need not"
        );
        assert_eq!(dormant.ask(&repository, at(10)), Ok(()));
        dormant.doubt_all();
        assert_eq!(
            dormant.ask(&repository, at(9)),
            Ok(()),
            "access has changed"
        );
        dormant.not_found(&repository, "main", (PULL, false), at(12));
        assert_eq!(
            dormant.next_look(&repository, PULL, at(12)),
            None,
            "it was closed"
        );
        dormant.found(&repository, "main");
        assert!(dormant.has_awakened(&repository) && !dormant.has_awakened(&repository));
        assert!(dormant.all(at(20)).is_empty());
    }

    #[test]
    fn a_branch_without_configuration_quiets_no_other() {
        let (dormant, repository) = (Dormant::default(), "acme/widgets".parse().unwrap());
        dormant.found(&repository, "main");
        dormant.not_found(&repository, "mallory/own", (PULL, true), at(0));
        assert!(
            !dormant.is_dormant(&repository),
            "what happens to the checks of others is looked at"
        );
        assert_eq!(dormant.ask(&repository, at(1)), Ok(()));
        assert!(dormant.all(at(1)).is_empty(), "the repository has one");
        dormant.found(&repository, "main");
        assert!(
            !dormant.has_awakened(&repository),
            "nothing is read anew for it"
        );
    }
}
