//! The tests a report has named so far, to recognise one that comes again as a rerun.
//!
//! Eight bytes a test, at most 8 MiB: a report of any size is read in the same memory. When the table is nearly full
//! only failing tests are added, because what matters of reruns is whether a failing test passed later; the counts of
//! such a report may then hold a passing test twice, and its notes say so.

use loopgate_core::evidence::{OutcomesExtent, TestId, TestOutcome, TestOutcomes, TestState};

/// Slots of the largest table: 8 MiB, half full with the 528,000 cases of a 100 MB report.
const MAX_SLOTS: usize = 1 << 20;
const FIRST_SLOTS: usize = 1 << 10;

/// An open-addressing table of [`TestOutcome`] bits; 0 is an empty slot.
pub(super) struct Identities {
    slots: Vec<u64>,
    used: usize,
    max_slots: usize,
    left_out: u64,
}

impl Default for Identities {
    fn default() -> Self {
        Self::with_max_slots(MAX_SLOTS)
    }
}

impl Identities {
    fn with_max_slots(max_slots: usize) -> Self {
        Self { slots: Vec::new(), used: 0, max_slots, left_out: 0 }
    }

    /// Records that the test ended so; gives what was known of it before, and what it is now.
    pub fn record(&mut self, id: TestId, ended: TestState) -> (Option<TestState>, TestState) {
        self.grow_if_needed();
        let at = self.find(id);
        match self.slots.get(at).copied().and_then(TestOutcome::from_bits) {
            Some(known) => {
                let now = known.state().rerun(ended);
                self.slots[at] = TestOutcome::new(id, now).bits();
                (Some(known.state()), now)
            }
            None if self.has_room_for(ended) => {
                self.slots[at] = TestOutcome::new(id, ended).bits();
                self.used += 1;
                (None, ended)
            }
            None => {
                self.left_out += 1;
                (None, ended)
            }
        }
    }

    /// Tests that could not be remembered.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    pub fn into_test_outcomes(self, unnamed: u64) -> TestOutcomes {
        let extent = if self.left_out + unnamed == 0 { OutcomesExtent::Whole } else { OutcomesExtent::Partial };
        TestOutcomes::new(self.slots.into_iter().filter_map(TestOutcome::from_bits).collect(), extent)
    }

    fn has_room_for(&self, ended: TestState) -> bool {
        let quarters = if ended.is_failure() { 7 } else { 6 };
        self.used < self.slots.len() / 8 * quarters
    }

    /// The slot that holds the test, or the empty one where it belongs. There is always an empty slot: at most seven
    /// eighths are ever used.
    fn find(&self, id: TestId) -> usize {
        let mask = self.slots.len() - 1;
        // The hash's upper bits choose the slot, so that sorting (which the lower ones would do as well) stays free.
        let mut at = (id.bits() >> 20) as usize & mask;
        loop {
            match TestOutcome::from_bits(self.slots[at]) {
                Some(entry) if entry.id() != id => at = (at + 1) & mask,
                _ => return at,
            }
        }
    }

    /// Grows fourfold, so that old and new table together stay near the largest table's own size.
    fn grow_if_needed(&mut self) {
        let size = self.slots.len();
        if size > 0 && (self.used < size / 2 || size >= self.max_slots) {
            return;
        }
        let larger = if size == 0 { FIRST_SLOTS.min(self.max_slots) } else { (size * 4).min(self.max_slots) };
        let old = std::mem::replace(&mut self.slots, vec![0; larger]);
        for entry in old.into_iter().filter_map(TestOutcome::from_bits) {
            let at = self.find(entry.id());
            self.slots[at] = entry.bits();
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
    fn remembers_every_test_through_growth() {
        let mut identities = Identities::default();
        for n in 0..20_000 {
            assert_eq!(identities.record(id(n), TestState::Failed), (None, TestState::Failed));
        }
        for n in 0..20_000 {
            assert_eq!(identities.record(id(n), TestState::Passed), (Some(TestState::Failed), TestState::Flaky));
        }
        let outcomes = identities.into_test_outcomes(0);
        assert_eq!((outcomes.len(), outcomes.extent()), (20_000, OutcomesExtent::Whole));
        assert!((0..20_000).all(|n| outcomes.state(id(n)) == Some(TestState::Flaky)));
    }

    #[test]
    fn a_full_table_still_follows_failing_tests() {
        let mut identities = Identities::with_max_slots(64);
        for n in 0..100 {
            identities.record(id(n), TestState::Passed);
        }
        assert_eq!(identities.left_out(), 100 - 48);
        identities.record(id(1000), TestState::Failed);
        assert_eq!(identities.record(id(1000), TestState::Passed), (Some(TestState::Failed), TestState::Flaky));
        for n in 2000..2100 {
            identities.record(id(n), TestState::Failed);
        }
        // Never full: looking for what is not there must end.
        assert_eq!(identities.record(id(5000), TestState::Failed), (None, TestState::Failed));
        assert_eq!(identities.into_test_outcomes(0).extent(), OutcomesExtent::Partial);
    }
}
