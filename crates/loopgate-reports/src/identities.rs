//! The tests a report has named so far, to recognise one that comes again as a rerun.
//!
//! A rerun is what a runner tries again after a failure: it stands in the same suite and passes at last. The same name
//! in another suite (a browser, a project, a file, a set of parameters) is another test, and so is one that fails
//! after it passed.
//!
//! Twelve bytes a test, at most 10.5 MiB: a report of any size is read in the same memory. When the table is nearly
//! full only failing tests are added, because what matters of reruns is whether a failing test passed later; the notes
//! of such a report have it.

use loopgate_core::evidence::{OutcomesExtent, TestId, TestOutcome, TestOutcomes, TestState};

/// Slots of the largest table: 10.5 MiB, 58 % full with the 528,000 cases of a 100 MB report.
const MAX_SLOTS: usize = 7 << 17;
const FIRST_SLOTS: usize = 1 << 11;

/// An open-addressing table of so many slots at most.
#[derive(Default)]
pub(super) struct Identities<const MOST: usize = MAX_SLOTS> {
    slots: Vec<Slot>,
    used: usize,
    /// Tests that could not be remembered.
    pub left_out: u64,
}

/// A test, if there is one. Both parts stand together, for a look at a large table
/// costs as much as all other work on a test; twelve bytes, since padding would make them sixteen.
#[derive(Clone, Copy, Default)]
#[repr(C, packed(4))]
struct Slot {
    outcome: Option<TestOutcome>,
    in_suite: InSuite,
}

/// How often a test has failed in the suite it was last seen in, and which that is: in 32 bits, for there are many.
#[derive(Clone, Copy, Default)]
struct InSuite {
    suite: u16,
    /// From 255 on nothing is a rerun any more.
    tries: u8,
    failed_elsewhere: bool,
}

/// What a test case is among those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recorded {
    /// A test of its own.
    Another,
    /// A known test once more.
    Continued { before: TestState, now: TestState },
    /// A known test, passing at last after so many failing tries, of which this was the worst.
    Rerun { tries: u64, worst: TestState },
}

impl<const MOST: usize> Identities<MOST> {
    /// Records how a test ended in a suite of the report. In the last suite that is distinguished nothing is a rerun.
    ///
    /// Where a suite names each test once, a name that comes again is the same test, and what stands last of it counts
    /// (pytest writes a teardown as a case of its own). Otherwise it is another test, unless a failing one passes at
    /// last.
    pub fn record(
        &mut self,
        id: TestId,
        suite: u16,
        names_once: bool,
        ended: TestState,
    ) -> Recorded {
        self.grow_if_needed();
        let at = self.find(id);
        let slot = |state, in_suite| Slot {
            outcome: Some(TestOutcome::new(id, state)),
            in_suite,
        };
        let fails = u8::from(ended.is_failure());
        let Some(known) = self.slots[at].outcome else {
            let quarters = if ended.is_failure() { 7 } else { 6 };
            if self.used < self.slots.len() / 8 * quarters {
                self.slots[at] = slot(
                    ended,
                    InSuite {
                        suite,
                        tries: fails,
                        failed_elsewhere: false,
                    },
                );
                self.used += 1;
            } else {
                self.left_out += 1;
            }
            return Recorded::Another;
        };
        let (here, before) = (self.slots[at].in_suite, known.state());
        let begun = InSuite {
            tries: fails,
            ..here
        };
        let passes = matches!(ended, TestState::Passed | TestState::Flaky);
        if here.suite == suite && suite < u16::MAX && passes && (1..u8::MAX).contains(&here.tries) {
            let state = if here.failed_elsewhere {
                before
            } else {
                TestState::Flaky
            };
            self.slots[at] = slot(state, begun);
            return Recorded::Rerun {
                tries: here.tries.into(),
                worst: before,
            };
        }
        if here.suite == suite && names_once {
            let now = if before.is_failure() {
                before.max(ended)
            } else {
                ended
            };
            self.slots[at] = slot(now, begun);
            return Recorded::Continued { before, now };
        }
        let again = match here.suite == suite {
            true => InSuite {
                tries: here.tries.saturating_add(fails),
                ..here
            },
            false => InSuite {
                suite,
                tries: fails,
                failed_elsewhere: before.is_failure(),
            },
        };
        // Of tests that bear one name the worst stands.
        self.slots[at] = slot(before.max(ended), again);
        Recorded::Another
    }

    pub fn into_test_outcomes(mut self, unnamed: u64) -> TestOutcomes {
        // The empty slots' memory first, so that the outcomes do not stand beside the whole table.
        self.slots.retain(|slot| { slot.outcome }.is_some());
        self.slots.shrink_to_fit();
        let extent = if self.left_out + unnamed == 0 {
            OutcomesExtent::Whole
        } else {
            OutcomesExtent::Partial
        };
        let mut entries = Vec::with_capacity(self.slots.len());
        entries.extend(self.slots.into_iter().filter_map(|slot| slot.outcome));
        TestOutcomes::new(entries, extent)
    }

    /// The slot that holds the test, or the empty one where it belongs. There is always an empty slot: at most seven
    /// eighths are ever used.
    fn find(&self, id: TestId) -> usize {
        let slots = self.slots.len();
        // The place of the 61 bits in their range is the place in the table, whatever its size: slots stand in the
        // order of identities, in which they are copied and sorted.
        let mut at = ((u128::from(id.bits()) * slots as u128) >> 61) as usize;
        loop {
            // Fields of a packed struct are copied.
            let known = self.slots[at].outcome;
            match known {
                Some(entry) if entry.id() != id => at = if at + 1 == slots { 0 } else { at + 1 },
                _ => return at,
            }
        }
    }

    /// Grows eightfold, so that old and new table together stay near the largest table's own size.
    fn grow_if_needed(&mut self) {
        let size = self.slots.len();
        if size > 0 && (self.used < size / 2 || size >= MOST) {
            return;
        }
        let larger = if size == 0 {
            FIRST_SLOTS.min(MOST)
        } else {
            (size * 8).min(MOST)
        };
        for slot in std::mem::replace(&mut self.slots, vec![Slot::default(); larger]) {
            if let Some(known) = slot.outcome {
                let at = self.find(known.id());
                self.slots[at] = slot;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u32) -> TestId {
        TestId::of("", "", &n.to_string())
    }

    #[test]
    fn only_what_passes_at_last_in_its_suite_is_a_rerun() {
        use TestState::{Errored, Failed, Flaky, Passed, Skipped};
        type Runs = &'static [(u16, TestState)];
        // Suites and ends, how many tests they are, and what stands.
        let cases: &[(Runs, usize, TestState)] = &[
            (&[(1, Failed), (1, Passed)], 1, Flaky),
            (&[(1, Failed), (1, Errored), (1, Passed)], 1, Flaky),
            (&[(1, Failed), (1, Passed), (1, Passed)], 2, Flaky),
            (&[(1, Passed), (1, Failed)], 2, Failed),
            (&[(1, Passed), (1, Passed), (1, Failed)], 3, Failed),
            (&[(1, Failed), (1, Failed)], 2, Failed),
            (&[(1, Failed), (1, Skipped)], 2, Failed),
            (&[(1, Failed), (2, Passed)], 2, Failed),
            (&[(1, Failed), (2, Failed), (2, Passed)], 2, Failed),
            (&[(1, Passed), (2, Failed), (2, Passed)], 2, Flaky),
            (&[(1, Passed), (2, Passed)], 2, Passed),
        ];
        for (runs, tests, stands) in cases {
            let mut identities = Identities::<MAX_SLOTS>::default();
            let mut counted = 0;
            for (suite, ended) in *runs {
                match identities.record(id(7), *suite, false, *ended) {
                    Recorded::Another => counted += 1,
                    Recorded::Continued { .. } => panic!("names are shared"),
                    Recorded::Rerun { tries, .. } => counted -= usize::try_from(tries).unwrap() - 1,
                }
            }
            assert_eq!(counted, *tests, "{runs:?}");
            assert_eq!(
                identities.into_test_outcomes(0).state(id(7)),
                Some(*stands),
                "{runs:?}"
            );
        }
    }

    #[test]
    fn where_names_are_unique_the_last_result_stands() {
        use TestState::{Errored, Failed, Flaky, Passed};
        for (runs, stands) in [
            ([Passed, Passed], Passed),
            ([Passed, Errored], Errored),
            ([Failed, Passed], Flaky),
        ] {
            let mut identities = Identities::<MAX_SLOTS>::default();
            let [first, second] = runs.map(|ended| identities.record(id(7), 1, true, ended));
            assert!(
                first == Recorded::Another && second != Recorded::Another,
                "{runs:?}"
            );
            assert_eq!(
                identities.into_test_outcomes(0).state(id(7)),
                Some(stands),
                "{runs:?}"
            );
        }
    }

    #[test]
    fn remembers_every_test_through_growth() {
        let mut identities = Identities::<MAX_SLOTS>::default();
        for n in 0..20_000 {
            assert_eq!(
                identities.record(id(n), 0, false, TestState::Failed),
                Recorded::Another
            );
        }
        for n in 0..20_000 {
            let rerun = Recorded::Rerun {
                tries: 1,
                worst: TestState::Failed,
            };
            assert_eq!(identities.record(id(n), 0, false, TestState::Passed), rerun);
        }
        let outcomes = identities.into_test_outcomes(0);
        assert_eq!((outcomes.len(), outcomes.is_whole()), (20_000, true));
        assert!((0..20_000).all(|n| outcomes.state(id(n)) == Some(TestState::Flaky)));
    }

    #[test]
    fn a_full_table_still_follows_failing_tests() {
        let mut identities = Identities::<64>::default();
        for n in 0..100 {
            identities.record(id(n), 0, false, TestState::Passed);
        }
        assert_eq!(identities.left_out, 100 - 48);
        identities.record(id(1000), 0, false, TestState::Failed);
        let rerun = Recorded::Rerun {
            tries: 1,
            worst: TestState::Failed,
        };
        assert_eq!(
            identities.record(id(1000), 0, false, TestState::Passed),
            rerun
        );
        for n in 2000..2100 {
            identities.record(id(n), 0, false, TestState::Failed);
        }
        // Never full: looking for what is not there must end.
        assert_eq!(
            identities.record(id(5000), 0, false, TestState::Failed),
            Recorded::Another
        );
        assert!(!identities.into_test_outcomes(0).is_whole());
    }
}
