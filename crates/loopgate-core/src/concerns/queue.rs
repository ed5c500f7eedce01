//! Why a pull request left its merge queue without being merged, from the results of the queue's groups.
//!
//! Each failure of the group that was tested last is compared with all groups that are known: where else it shows, and
//! where it does not. Nothing is concluded from one group alone that holds several pull requests.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::{
    ids::{Login, PrNumber, Sha},
    observed::{GroupFailure, GroupResult, QueueGroup, QueueRemoval, RemovalReason, Unfinished},
    state::QueueExit,
};

/// Why a pull request left the queue, with what shows it. Names of failures are text from outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftQueue {
    /// These failures show only in groups with it, and `without` is a group that lacks it and them; none where it was
    /// tested alone.
    Culprit {
        failing: Vec<String>,
        group: Sha,
        without: Option<Sha>,
    },
    /// Groups without it fail in the same way: `culprits` are in all of those.
    Bystander {
        failing: Vec<String>,
        group: Sha,
        culprits: Vec<PrNumber>,
    },
    /// The base fails in this way, or groups that share no pull request do.
    BaseBroken {
        failing: Vec<String>,
        group: Option<Sha>,
    },
    /// What failed also passed on the same content.
    Flake {
        failing: Vec<String>,
        passed_on: Sha,
    },
    /// It failed together with these, and no result distinguishes them.
    Together {
        failing: Vec<String>,
        with: Vec<PrNumber>,
    },
    /// No check failed, and these have no result.
    Unfinished {
        cancelled: Vec<String>,
        not_started: Vec<String>,
        running: Vec<String>,
        outside: Vec<String>,
    },
    /// The time of the queue was up before Loopgate saw a result.
    NotTested,
    /// A person took it out, or cleared the queue.
    Person { by: Option<Login> },
    /// It conflicts with its base, or with those in front of it.
    Conflict,
    /// GitHub's own word for it.
    Other { reason: String },
}

impl LeftQueue {
    pub const fn exit(&self) -> QueueExit {
        match self {
            Self::Culprit { .. } => QueueExit::Culprit,
            Self::Bystander { .. } => QueueExit::Bystander,
            Self::BaseBroken { .. } => QueueExit::BaseBroken,
            Self::Flake { .. } => QueueExit::Flake,
            Self::Together { .. } => QueueExit::Together,
            Self::Unfinished { .. } | Self::NotTested => QueueExit::Unfinished,
            Self::Person { .. } => QueueExit::Person,
            Self::Conflict => QueueExit::Conflict,
            Self::Other { .. } => QueueExit::Other,
        }
    }

    /// Why `number` left the queue; `None` if it was merged.
    pub fn explain(
        number: PrNumber,
        groups: &[QueueGroup],
        removal: &QueueRemoval,
    ) -> Option<Self> {
        match &removal.reason {
            RemovalReason::Merged => return None,
            RemovalReason::Person => {
                return Some(Self::Person {
                    by: removal.by.clone(),
                });
            }
            RemovalReason::Conflict => return Some(Self::Conflict),
            RemovalReason::FailedChecks | RemovalReason::TimedOut | RemovalReason::Other(_) => {}
        }
        let tested = groups
            .iter()
            .filter(|group| group.entries.contains(&number) && group.made_at <= removal.at);
        let last = tested
            .filter(|group| group.result != GroupResult::Passed)
            .max_by_key(|group| group.made_at);
        let Some(last) = last else {
            return Some(without_results(&removal.reason));
        };
        if last.failing.is_empty() {
            return Some(unfinished(last).unwrap_or_else(|| without_results(&removal.reason)));
        }
        let origins = last
            .failing
            .iter()
            .map(|failure| origin(number, failure, last, groups));
        origins.reduce(Self::join)
    }

    /// The explanation of two failures: one of both where they have one kind of explanation, else the one that says
    /// more about this pull request.
    fn join(mut self, mut other: Self) -> Self {
        if self.exit() != other.exit() {
            return if self.exit() < other.exit() {
                self
            } else {
                other
            };
        }
        match (&mut self, &mut other) {
            (Self::Culprit { failing, .. }, Self::Culprit { failing: more, .. })
            | (Self::BaseBroken { failing, .. }, Self::BaseBroken { failing: more, .. })
            | (Self::Flake { failing, .. }, Self::Flake { failing: more, .. }) => {
                failing.append(more)
            }
            (
                Self::Bystander {
                    failing,
                    culprits: pulls,
                    ..
                },
                Self::Bystander {
                    failing: more,
                    culprits: others,
                    ..
                },
            )
            | (
                Self::Together {
                    failing,
                    with: pulls,
                },
                Self::Together {
                    failing: more,
                    with: others,
                },
            ) => {
                failing.append(more);
                pulls.append(others);
                pulls.sort_unstable();
                pulls.dedup();
            }
            _ => {}
        }
        self
    }
}

fn without_results(reason: &RemovalReason) -> LeftQueue {
    match reason {
        RemovalReason::TimedOut => LeftQueue::NotTested,
        RemovalReason::Other(reason) => LeftQueue::Other {
            reason: reason.clone(),
        },
        _ => LeftQueue::Other {
            reason: "failed checks".to_owned(),
        },
    }
}

fn unfinished(group: &QueueGroup) -> Option<LeftQueue> {
    let of = |end: Unfinished| -> Vec<String> {
        group
            .unfinished
            .iter()
            .filter(|check| check.end == end)
            .map(|check| check.name.clone())
            .collect()
    };
    (!group.unfinished.is_empty()).then(|| LeftQueue::Unfinished {
        cancelled: of(Unfinished::Cancelled),
        not_started: of(Unfinished::NotStarted),
        running: of(Unfinished::Running),
        outside: of(Unfinished::Outside),
    })
}

/// Where one failure of the group `last` comes from.
fn origin(
    number: PrNumber,
    failure: &GroupFailure,
    last: &QueueGroup,
    groups: &[QueueGroup],
) -> LeftQueue {
    let failing = vec![failure.name.clone()];
    let has_result =
        |group: &&QueueGroup| group.result != GroupResult::Running && group.unfinished.is_empty();
    let passes = |group: &&QueueGroup| has_result(group) && !group.fails(failure);
    let same_content = |group: &&QueueGroup| group.tree.is_some() && group.tree == last.tree;
    let recovered = |group: &QueueGroup| {
        group
            .recovered
            .iter()
            .any(|recovered| recovered.key == failure.key)
    };
    let mut of_content = groups.iter().filter(same_content);
    if let Some(passed) = of_content.find(|group| passes(group) || recovered(group)) {
        return LeftQueue::Flake {
            failing,
            passed_on: passed.head,
        };
    }
    if failure.on_base {
        return LeftQueue::BaseBroken {
            failing,
            group: None,
        };
    }
    let with_failure: Vec<&QueueGroup> =
        groups.iter().filter(|group| group.fails(failure)).collect();
    if let Some(elsewhere) = with_failure
        .iter()
        .find(|group| !group.entries.contains(&number))
    {
        let in_all = |pull: &&PrNumber| {
            with_failure
                .iter()
                .all(|group| group.entries.contains(pull))
        };
        let mut culprits: Vec<PrNumber> =
            elsewhere.entries.iter().filter(in_all).copied().collect();
        if culprits.is_empty() {
            return LeftQueue::BaseBroken {
                failing,
                group: Some(elsewhere.head),
            };
        }
        let passed = |pull: &PrNumber| {
            groups
                .iter()
                .filter(passes)
                .any(|group| group.entries.contains(pull))
        };
        if !culprits.iter().all(passed) {
            culprits.retain(|pull| !passed(pull));
        }
        return LeftQueue::Bystander {
            failing,
            group: elsewhere.head,
            culprits,
        };
    }
    let mut without = None;
    let in_all = |entry: &PrNumber| {
        with_failure
            .iter()
            .all(|group| group.entries.contains(entry))
    };
    let mut with: BTreeSet<PrNumber> = last.entries.iter().copied().filter(in_all).collect();
    with.remove(&number);
    for group in groups
        .iter()
        .filter(|group| !group.entries.contains(&number))
        .filter(passes)
    {
        let before = with.len();
        with.retain(|entry| !group.entries.contains(entry));
        without = without.or((with.len() < before).then_some(group.head));
    }
    let smallest = with_failure
        .iter()
        .min_by_key(|group| group.entries.len())
        .map_or(last.head, |group| group.head);
    match with.is_empty() {
        true => LeftQueue::Culprit {
            failing,
            group: smallest,
            without,
        },
        false => LeftQueue::Together {
            failing,
            with: with.into_iter().collect(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ids::Timestamp, observed::UnfinishedCheck};

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_timestamp(1_800_000_000 + seconds, 0).unwrap()
    }

    fn sha(byte: u8) -> Sha {
        Sha::from_bytes([byte; 20])
    }

    fn failure(name: &str) -> GroupFailure {
        GroupFailure {
            key: name.to_owned(),
            name: name.to_owned(),
            on_base: false,
        }
    }

    /// A group that was asked about at this minute, with what fails on it.
    fn group(minute: i64, entries: &[u64], failing: &[&str]) -> QueueGroup {
        let head = sha(u8::try_from(minute).unwrap());
        QueueGroup {
            head,
            tree: Some(head),
            entries: entries
                .iter()
                .map(|number| PrNumber::new(*number))
                .collect(),
            made_at: at(minute * 60),
            result: if failing.is_empty() {
                GroupResult::Passed
            } else {
                GroupResult::Failed
            },
            failing: failing.iter().map(|name| failure(name)).collect(),
            unfinished: Vec::new(),
            recovered: Vec::new(),
        }
    }

    fn stuck(minute: i64, entries: &[u64], checks: &[(&str, Unfinished)]) -> QueueGroup {
        let check = |(name, end): &(&str, Unfinished)| UnfinishedCheck {
            name: (*name).to_owned(),
            end: *end,
        };
        QueueGroup {
            result: GroupResult::Running,
            unfinished: checks.iter().map(check).collect(),
            ..group(minute, entries, &[])
        }
    }

    /// Why #1 left the queue after an hour.
    fn left(reason: &str, groups: &[QueueGroup]) -> Option<LeftQueue> {
        let removal = QueueRemoval {
            at: at(3_600),
            reason: RemovalReason::from_github(reason),
            by: "alice".parse().ok(),
        };
        LeftQueue::explain(PrNumber::new(1), groups, &removal)
    }

    fn failed(groups: &[QueueGroup]) -> LeftQueue {
        left("CI_FAILURE", groups).expect("it was not merged")
    }

    fn pulls(numbers: &[u64]) -> Vec<PrNumber> {
        numbers
            .iter()
            .map(|number| PrNumber::new(*number))
            .collect()
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn culprits() {
        // Alone in its group.
        let alone = failed(&[group(1, &[1], &["a"])]);
        assert_eq!(
            alone,
            LeftQueue::Culprit {
                failing: names(&["a"]),
                group: sha(1),
                without: None
            }
        );
        // Behind two that pass without it.
        let third = failed(&[
            group(1, &[2], &[]),
            group(2, &[2, 3], &[]),
            group(3, &[2, 3, 1], &["a", "b"]),
        ]);
        assert_eq!(
            third,
            LeftQueue::Culprit {
                failing: names(&["a", "b"]),
                group: sha(3),
                without: Some(sha(1))
            }
        );
        // Before two bystanders: their groups hold it.
        let first = failed(&[
            group(1, &[1], &["a"]),
            group(2, &[1, 2], &["a"]),
            group(3, &[1, 2, 3], &["a"]),
        ]);
        assert_eq!(
            first,
            LeftQueue::Culprit {
                failing: names(&["a"]),
                group: sha(1),
                without: None
            }
        );
        // Two culprits: each of its own failure, in one group too.
        let own = failed(&[group(1, &[2], &["a"]), group(2, &[2, 1], &["a", "b"])]);
        assert_eq!(
            own,
            LeftQueue::Culprit {
                failing: names(&["b"]),
                group: sha(2),
                without: Some(sha(1))
            }
        );
        // Only together.
        let both = failed(&[group(1, &[2, 1], &["a"])]);
        assert_eq!(
            both,
            LeftQueue::Together {
                failing: names(&["a"]),
                with: pulls(&[2])
            }
        );
        // The group that fails without saying how is compared by its check.
        let silent = failed(&[group(1, &[2], &[]), group(2, &[2, 1], &["check unit"])]);
        assert_eq!(silent.exit(), QueueExit::Culprit);
    }

    #[test]
    fn bystanders() {
        let culprit = |groups: &[QueueGroup]| match failed(groups) {
            LeftQueue::Bystander { culprits, .. } => culprits,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            culprit(&[group(1, &[2], &["a"]), group(2, &[2, 1], &["a"])]),
            pulls(&[2])
        );
        // One of two others.
        let third = [
            group(1, &[2], &[]),
            group(2, &[2, 3], &["a"]),
            group(3, &[2, 3, 1], &["a"]),
        ];
        assert_eq!(culprit(&third), pulls(&[3]), "2 passed alone");
        let unknown = [group(2, &[2, 3], &["a"]), group(3, &[2, 3, 1], &["a"])];
        assert_eq!(culprit(&unknown), pulls(&[2, 3]));
        // Its own group fails once more after it was put in again.
        let again = [
            group(1, &[2], &["a"]),
            group(2, &[2, 1], &["a"]),
            group(3, &[1, 4], &[]),
            group(4, &[2, 1], &["a"]),
        ];
        assert_eq!(culprit(&again), pulls(&[2]));
    }

    #[test]
    fn what_is_wrong_with_none_of_them() {
        let base = failed(&[group(1, &[2], &["a"]), group(2, &[1], &["a"])]);
        assert_eq!(
            base,
            LeftQueue::BaseBroken {
                failing: names(&["a"]),
                group: Some(sha(1))
            }
        );
        let mut on_base = group(1, &[1], &["a"]);
        on_base.failing[0].on_base = true;
        assert_eq!(failed(&[on_base]).exit(), QueueExit::BaseBroken);
        // The same content passed, on another commit.
        let (mut first, mut second) = (group(1, &[1], &["a"]), group(2, &[1], &[]));
        (first.tree, second.tree) = (Some(sha(9)), Some(sha(9)));
        assert_eq!(
            failed(&[first, second]),
            LeftQueue::Flake {
                failing: names(&["a"]),
                passed_on: sha(2)
            }
        );
        // The same commit passed when its checks ran again.
        let mut again = group(1, &[1], &["b"]);
        again.follow(&group(1, &[1], &["a", "b"]));
        assert_eq!(again.recovered, [failure("a")]);
        let mut once_more = group(1, &[1], &["a"]);
        once_more.recovered.push(failure("a"));
        assert_eq!(failed(&[once_more]).exit(), QueueExit::Flake);
        // A flake beside a failure of its own excuses nothing.
        let (mut both, mut passed) = (group(1, &[1], &["a", "b"]), group(2, &[1], &["b"]));
        (both.tree, passed.tree) = (Some(sha(9)), Some(sha(9)));
        assert_eq!(failed(&[passed, both]).exit(), QueueExit::Culprit);
    }

    #[test]
    fn without_a_failure_nothing_is_anybodys() {
        let stuck_group = stuck(
            1,
            &[1],
            &[
                ("unit (2)", Unfinished::Cancelled),
                ("e2e", Unfinished::NotStarted),
            ],
        );
        let expected = LeftQueue::Unfinished {
            cancelled: names(&["unit (2)"]),
            not_started: names(&["e2e"]),
            running: Vec::new(),
            outside: Vec::new(),
        };
        assert_eq!(failed(std::slice::from_ref(&stuck_group)), expected);
        assert_eq!(left("CI_TIMEOUT", &[stuck_group]), Some(expected));
        assert_eq!(left("CI_TIMEOUT", &[]), Some(LeftQueue::NotTested));
        assert_eq!(
            left("CI_TIMEOUT", &[group(1, &[1], &[])]),
            Some(LeftQueue::NotTested)
        );
        assert_eq!(left("CI_FAILURE", &[]).unwrap().exit(), QueueExit::Other);
        assert_eq!(
            left("BRANCH_PROTECTIONS", &[]).unwrap().exit(),
            QueueExit::Other
        );
        // A group after the removal says nothing about it.
        assert_eq!(
            left("CI_TIMEOUT", &[group(61, &[1], &["a"])]),
            Some(LeftQueue::NotTested)
        );
    }

    #[test]
    fn what_a_person_did_is_said_whatever_failed() {
        let by = "alice".parse().ok();
        assert_eq!(
            left("MANUAL", &[group(1, &[1], &["a"])]),
            Some(LeftQueue::Person { by })
        );
        assert_eq!(left("MERGE_CONFLICT", &[]), Some(LeftQueue::Conflict));
        assert_eq!(left("MERGE", &[group(1, &[1], &["a"])]), None);
    }

    #[test]
    fn a_check_that_runs_again_has_not_recovered() {
        let mut running = stuck(1, &[1], &[("unit", Unfinished::Running)]);
        running.follow(&group(1, &[1], &["a"]));
        assert!(running.recovered.is_empty());
    }
}
