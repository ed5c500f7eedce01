//! The slowest tests of runs, and whether they become slower.

use std::{cmp::Reverse, collections::BTreeMap};

use serde::{Deserialize, Serialize};

use super::RunLine;
use crate::{
    evidence::{CheckEvidence, SlowestTests},
    ids::CheckName,
    text,
    untrusted::harmless,
};

/// Tests that the line of a run names at most, over all of its checks.
const MOST_IN_RUN: usize = 40;
/// Characters of a test's name at most.
const LONGEST_NAME: usize = 160;

/// A test that was among the slowest of its check in attempts of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowTest {
    pub check: CheckName,
    pub test: String,
    /// Attempts in which it was among the slowest.
    pub attempts: u32,
    /// Over these attempts.
    pub total_ms: u64,
}

impl SlowTest {
    /// Those of the attempts of a run, the slowest first.
    pub(super) fn of_run(checks: &[CheckEvidence]) -> Vec<Self> {
        let mut times = Times::default();
        for check in checks {
            for slow in check.slowest_tests.iter() {
                let name = text::one_line(&harmless(&slow.test), LONGEST_NAME);
                times.add(&check.name, &name, 1, slow.duration_ms);
            }
        }
        let mut tests = times.slowest_of_each_check();
        tests.sort_by_key(|test| Reverse(test.mean_ms()));
        tests.truncate(MOST_IN_RUN);
        tests
    }

    /// Milliseconds in the mean.
    pub fn mean_ms(&self) -> u64 {
        self.total_ms / u64::from(self.attempts.max(1))
    }
}

/// A slow test over the runs of a window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SlowTestTrend {
    #[serde(flatten)]
    pub test: SlowTest,
    pub mean_ms: u64,
    /// The mean in the time as long right before; `None` if it was not among the slowest then.
    pub before_ms: Option<u64>,
    /// The mean of each part of the window, the oldest first.
    pub trend: Vec<Option<u64>>,
}

/// The slowest tests of each check over `runs`, check by check, the slowest first: at most [`SlowestTests::MOST`] a
/// check. `parts` are the runs of each part of the window, `before` those of the time right before.
pub(super) fn trends(
    runs: &[&RunLine],
    before: &[&RunLine],
    parts: &[Vec<&RunLine>],
) -> Vec<SlowTestTrend> {
    let before = Times::of(before);
    let parts: Vec<Times> = parts.iter().map(|part| Times::of(part)).collect();
    let trend = |test: SlowTest| SlowTestTrend {
        mean_ms: test.mean_ms(),
        before_ms: before.mean_ms(&test),
        trend: parts.iter().map(|part| part.mean_ms(&test)).collect(),
        test,
    };
    let tests = Times::of(runs).slowest_of_each_check();
    tests.into_iter().map(trend).collect()
}

/// Tests by check and name.
#[derive(Default)]
struct Times(BTreeMap<(CheckName, String), SlowTest>);

impl Times {
    fn of(runs: &[&RunLine]) -> Self {
        let mut times = Self::default();
        for test in runs.iter().flat_map(|run| &run.slow_tests) {
            times.add(&test.check, &test.test, test.attempts, test.total_ms);
        }
        times
    }

    fn add(&mut self, check: &CheckName, test: &str, attempts: u32, total_ms: u64) {
        let key = (check.clone(), test.to_owned());
        let known = self.0.entry(key).or_insert_with(|| SlowTest {
            check: check.clone(),
            test: test.to_owned(),
            attempts: 0,
            total_ms: 0,
        });
        known.attempts = known.attempts.saturating_add(attempts);
        known.total_ms = known.total_ms.saturating_add(total_ms);
    }

    fn mean_ms(&self, test: &SlowTest) -> Option<u64> {
        let key = (test.check.clone(), test.test.clone());
        self.0.get(&key).map(SlowTest::mean_ms)
    }

    fn slowest_of_each_check(self) -> Vec<SlowTest> {
        let mut tests: Vec<SlowTest> = self.0.into_values().collect();
        tests.sort_by_key(|test| (test.check.clone(), Reverse(test.mean_ms())));
        let mut of_check: BTreeMap<CheckName, usize> = BTreeMap::new();
        tests.retain(|test| {
            let count = of_check.entry(test.check.clone()).or_default();
            *count += 1;
            *count <= SlowestTests::MOST
        });
        tests
    }
}
