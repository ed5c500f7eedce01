//! The tests of a check that took longest.

use serde::{Deserialize, Serialize};

/// A test and its duration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestDuration {
    /// The test's name as people know it: that of [`Failure::test_name`](super::Failure::test_name).
    pub test: String,
    pub duration_ms: u64,
}

/// The slowest tests of a check, the slowest first: at most [`SlowestTests::MOST`], each of at least a millisecond.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<TestDuration>", into = "Vec<TestDuration>")]
pub struct SlowestTests(Vec<TestDuration>);

impl SlowestTests {
    /// Tests that are kept of a check.
    pub const MOST: usize = 20;

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a test of this duration is among the slowest so far: asked for each test, before its name is made.
    pub fn takes(&self, duration_ms: u64) -> bool {
        let least = match self.0.last() {
            Some(last) if self.0.len() >= Self::MOST => last.duration_ms,
            _ => 0,
        };
        duration_ms > least
    }

    /// Adds a test. Of one that ran several times the longest run counts.
    pub fn add(&mut self, test: TestDuration) {
        if !self.takes(test.duration_ms) {
            return;
        }
        if let Some(at) = self.0.iter().position(|known| known.test == test.test) {
            if self.0[at].duration_ms >= test.duration_ms {
                return;
            }
            self.0.remove(at);
        }
        let place = self
            .0
            .partition_point(|known| known.duration_ms >= test.duration_ms);
        self.0.insert(place, test);
        self.0.truncate(Self::MOST);
    }

    /// Adds the tests of another report, or of another job of the same check.
    pub fn merge(&mut self, other: Self) {
        other.0.into_iter().for_each(|test| self.add(test));
    }

    pub fn iter(&self) -> impl Iterator<Item = &TestDuration> {
        self.0.iter()
    }
}

/// What a document lists, in order and within the bound.
impl From<Vec<TestDuration>> for SlowestTests {
    fn from(listed: Vec<TestDuration>) -> Self {
        let mut slowest = Self::default();
        listed.into_iter().for_each(|test| slowest.add(test));
        slowest
    }
}

impl From<SlowestTests> for Vec<TestDuration> {
    fn from(slowest: SlowestTests) -> Self {
        slowest.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(tests: &[(&str, u64)]) -> SlowestTests {
        let test = |(test, duration_ms): &(&str, u64)| TestDuration {
            test: (*test).to_owned(),
            duration_ms: *duration_ms,
        };
        tests.iter().map(test).collect::<Vec<_>>().into()
    }

    #[test]
    fn the_slowest_are_kept_in_order_and_each_test_once() {
        let mut slowest = of(&[("a", 5), ("b", 9), ("a", 7), ("b", 2), ("quick", 0)]);
        assert_eq!(slowest, of(&[("b", 9), ("a", 7)]));
        slowest.merge(of(&[("c", 8), ("a", 1)]));
        assert_eq!(slowest, of(&[("b", 9), ("c", 8), ("a", 7)]));
    }

    #[test]
    fn a_document_of_any_length_is_held_to_the_bound() {
        let listed: Vec<serde_json::Value> = (1..=200)
            .map(|ms| serde_json::json!({ "test": format!("test {ms}"), "duration_ms": ms }))
            .collect();
        let slowest: SlowestTests = serde_json::from_value(listed.into()).unwrap();
        let kept: Vec<u64> = slowest.iter().map(|test| test.duration_ms).collect();
        assert_eq!(kept, (181..=200).rev().collect::<Vec<_>>());
        assert!(slowest.takes(182) && !slowest.takes(181));
        let written = serde_json::to_value(&slowest).unwrap();
        assert_eq!(
            serde_json::from_value::<SlowestTests>(written).unwrap(),
            slowest
        );
    }
}
