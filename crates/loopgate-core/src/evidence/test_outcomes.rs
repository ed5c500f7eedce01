//! Which tests there were and how each ended, at eight bytes a test: enough to keep new, fixed, added and removed
//! tests of two attempts apart without keeping half a million names.

use std::{collections::BTreeSet, fmt, num::NonZeroU64, str::FromStr};

use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use serde::{Deserialize, Serialize, de};

const STATE_BITS: u32 = 3;
const STATE_MASK: u64 = (1 << STATE_BITS) - 1;

/// The identity of a test: 61 bits of the XXH3 hash of its file, class and name, so the same test has the same identity
/// in every attempt and on every machine. Written as 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TestId(u64);

impl TestId {
    /// Identity of the test called `name` in `class` and `file`; what a report does not give is passed empty.
    pub fn of(file: &str, class: &str, name: &str) -> Self {
        use twox_hash::XxHash3_64 as Hash;
        // Each part seeds the next: ("ab", "c") and ("a", "bc") differ, and nothing has to be joined.
        let file = Hash::oneshot(file.as_bytes());
        let class = Hash::oneshot_with_seed(file, class.as_bytes());
        let name = Hash::oneshot_with_seed(class, name.as_bytes());
        Self(name >> STATE_BITS)
    }

    /// The identity as a number below 2⁶¹.
    pub const fn bits(self) -> u64 {
        self.0
    }
}

impl fmt::Display for TestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for TestId {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXPECTED: &str = "a test identity is 16 hexadecimal digits";
        let digits = text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit());
        let bits = u64::from_str_radix(text, 16).map_err(|_| EXPECTED)?;
        if digits && bits >> (u64::BITS - STATE_BITS) == 0 {
            Ok(Self(bits))
        } else {
            Err(EXPECTED)
        }
    }
}

serde_as_text!(TestId);

/// How a test ended, all its runs on one commit taken together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TestState {
    Skipped = 1,
    Passed = 2,
    /// Failed and passed on the same code; counts as passed.
    Flaky = 3,
    Failed = 4,
    Errored = 5,
}

impl TestState {
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Failed | Self::Errored)
    }

    /// The state of a test that was run again: any success makes it pass, and a failure beside it makes it flaky.
    pub fn rerun(self, again: Self) -> Self {
        let (better, worse) = (self.min(again), self.max(again));
        let succeeded = matches!(better, Self::Passed | Self::Flaky);
        if succeeded && worse.is_failure() {
            Self::Flaky
        } else {
            worse
        }
    }

    fn from_bits(bits: u64) -> Option<Self> {
        let all = [
            Self::Skipped,
            Self::Passed,
            Self::Flaky,
            Self::Failed,
            Self::Errored,
        ];
        all.into_iter().find(|state| *state as u64 == bits)
    }
}

/// One test of a [`TestOutcomes`], in 64 bits: the identity above, the state in the lowest three. Never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TestOutcome(NonZeroU64);

impl TestOutcome {
    pub const fn new(id: TestId, state: TestState) -> Self {
        Self(NonZeroU64::new(id.0 << STATE_BITS | state as u64).expect("no state is zero"))
    }

    pub const fn id(self) -> TestId {
        TestId(self.0.get() >> STATE_BITS)
    }

    pub fn state(self) -> TestState {
        TestState::from_bits(self.0.get() & STATE_MASK)
            .expect("an entry is only made with a state in its low bits")
    }
}

/// Whether a [`TestOutcomes`] holds every test that ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OutcomesExtent {
    #[default]
    Whole,
    /// The report had more tests than are remembered, or gave some of them no name: a test that is not in the list may
    /// have run all the same, so the list shows nothing about added and removed tests.
    Partial,
}

/// The tests of one attempt, sorted by identity. Serialised as base64 of eight bytes a test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TestOutcomes {
    entries: Vec<TestOutcome>,
    extent: OutcomesExtent,
}

impl TestOutcomes {
    /// Sorts the entries; of several with one identity the states are taken as reruns.
    pub fn new(entries: Vec<TestOutcome>, extent: OutcomesExtent) -> Self {
        Self::folded(entries, extent, TestState::rerun)
    }

    /// Sorts the entries, and makes one of several with one identity: `of_two` gives the state of two, the lesser
    /// first.
    fn folded(mut entries: Vec<TestOutcome>, extent: OutcomesExtent, of_two: TwoStates) -> Self {
        entries.sort_unstable();
        entries.dedup_by(|again, first| {
            let same = again.id() == first.id();
            if same {
                *first = TestOutcome::new(first.id(), of_two(first.state(), again.state()));
            }
            same
        });
        Self { entries, extent }
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn is_whole(&self) -> bool {
        self.extent == OutcomesExtent::Whole
    }

    /// Whether this test is known to have passed, be it after failing.
    pub fn is_green(&self, id: TestId) -> bool {
        matches!(self.state(id), Some(TestState::Passed | TestState::Flaky))
    }

    pub fn iter(&self) -> impl Iterator<Item = TestOutcome> + '_ {
        self.entries.iter().copied()
    }

    /// How this test ended, if it is known to have run.
    pub fn state(&self, id: TestId) -> Option<TestState> {
        let at = self
            .entries
            .binary_search_by_key(&id, |entry| entry.id())
            .ok()?;
        Some(self.entries.get(at)?.state())
    }

    /// Keeps the tests for which `is_kept` holds.
    pub fn retain(&mut self, is_kept: impl Fn(TestOutcome) -> bool) {
        self.entries.retain(|entry| is_kept(*entry));
    }

    /// Adds the tests of another report of the same attempt.
    pub fn merge(&mut self, other: Self) {
        *self = std::mem::take(self).with(other, TestState::rerun);
    }

    /// Adds the same attempt's tests as another job, platform or check ran them: a test failed if it failed anywhere.
    /// That is no flakiness, since it was not the same thing that was run.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        self.with(other, Ord::max)
    }

    /// Of two lists together, the extent of the lesser holds.
    fn with(mut self, other: Self, of_two: TwoStates) -> Self {
        self.entries.extend(other.entries);
        Self::folded(self.entries, self.extent.max(other.extent), of_two)
    }
}

/// What two states of one test come to.
type TwoStates = fn(TestState, TestState) -> TestState;

/// The marker in front of a list that is not whole.
const PARTIAL: &str = "partial:";

impl Serialize for TestOutcomes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes: Vec<u8> = self
            .entries
            .iter()
            .flat_map(|entry| entry.0.get().to_be_bytes())
            .collect();
        let prefix = if self.extent == OutcomesExtent::Partial {
            PARTIAL
        } else {
            ""
        };
        serializer.serialize_str(&format!("{prefix}{}", STANDARD_NO_PAD.encode(bytes)))
    }
}

impl<'de> Deserialize<'de> for TestOutcomes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let (encoded, extent) = match text.strip_prefix(PARTIAL) {
            Some(rest) => (rest, OutcomesExtent::Partial),
            None => (text.as_str(), OutcomesExtent::Whole),
        };
        let bytes = STANDARD_NO_PAD.decode(encoded).map_err(de::Error::custom)?;
        let (chunks, []) = bytes.as_chunks::<8>() else {
            return Err(de::Error::custom("a roster holds eight bytes a test"));
        };
        let entry = |chunk: &[u8; 8]| {
            let bits = NonZeroU64::new(u64::from_be_bytes(*chunk))?;
            TestState::from_bits(bits.get() & STATE_MASK).map(|_| TestOutcome(bits))
        };
        let entries: Option<Vec<_>> = chunks.iter().map(entry).collect();
        let entries =
            entries.ok_or_else(|| de::Error::custom("a roster entry has no test state"))?;
        Ok(Self::new(entries, extent))
    }
}

/// Set algebra against the previous attempt and the base, in names of tests (else of checks).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compare {
    pub new: BTreeSet<String>,
    pub still: BTreeSet<String>,
    pub fixed: BTreeSet<String>,
    pub flaky: BTreeSet<String>,
    pub added: BTreeSet<String>,
    pub removed: BTreeSet<String>,
    #[serde(default)]
    pub against: Against,
}

/// What an attempt is compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Against {
    #[default]
    AttemptBefore,
    /// The first attempt has none before it.
    Base,
}

/// Whether a report names the test that is declared by this name: alone, or behind its file, class or suite, with or
/// without its parameters. Only words count: `TEST(Cart, Adds)` is reported as `Cart.Adds`. Of a title with values in
/// it, `parses %s` or `parses ${text}`, the words before them do.
pub fn is_declared(reported: &str, declared: &str) -> bool {
    let declared = declared
        .split(['%', '$'])
        .next()
        .map(str::trim)
        .filter(|fixed| fixed.len() > 3)
        .unwrap_or(declared);
    let (reported_words, declared_words): (Vec<_>, Vec<_>) =
        (words(reported).collect(), words(declared).collect());
    match declared_words.len() {
        0 => !declared.is_empty() && reported.contains(declared),
        count => reported_words
            .windows(count)
            .any(|part| part == declared_words),
    }
}

/// The words of a test's name, and of code.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn outcomes(tests: &[(&str, TestState)]) -> TestOutcomes {
        let entry = |(name, state): &(&str, TestState)| {
            TestOutcome::new(TestId::of("f", "c", name), *state)
        };
        TestOutcomes::new(tests.iter().map(entry).collect(), OutcomesExtent::Whole)
    }

    #[test]
    fn identity_tells_the_parts_apart_and_stays_what_it_is() {
        assert_ne!(TestId::of("a", "b", "c"), TestId::of("a", "", "bc"));
        assert_ne!(TestId::of("a", "b", "c"), TestId::of("b", "a", "c"));
        // Lists are kept between versions of Loopgate: this value must never change.
        assert_eq!(
            TestId::of("src/a.rs", "a::tests", "adds").to_string(),
            "16a56a0cf08415a3"
        );
    }

    #[test]
    fn reruns_follow_any_success_makes_it_pass() {
        use TestState::*;
        let table = [
            (Failed, Passed, Flaky),
            (Passed, Failed, Flaky),
            (Errored, Passed, Flaky),
            (Flaky, Failed, Flaky),
            (Flaky, Passed, Flaky),
            (Passed, Passed, Passed),
            (Skipped, Passed, Passed),
            (Passed, Skipped, Passed),
            (Failed, Errored, Errored),
            (Failed, Skipped, Failed),
            (Skipped, Skipped, Skipped),
        ];
        for (first, again, expected) in table {
            assert_eq!(first.rerun(again), expected, "{first:?} then {again:?}");
        }
    }

    #[test]
    fn a_test_that_fails_on_one_platform_fails_and_is_not_flaky() {
        use TestState::*;
        let unix = outcomes(&[("a", Passed), ("b", Failed), ("c", Skipped), ("d", Flaky)]);
        let joined = unix.join(outcomes(&[
            ("a", Failed),
            ("b", Passed),
            ("c", Passed),
            ("e", Passed),
        ]));
        let expected = outcomes(&[
            ("a", Failed),
            ("b", Failed),
            ("c", Passed),
            ("d", Flaky),
            ("e", Passed),
        ]);
        assert_eq!(joined, expected);
    }

    #[test]
    fn a_text_that_is_no_roster_is_refused() {
        for text in ["\"A\"", "\"AAAAAAAAAAA\"", "\"!\"", "7", "\"partial\""] {
            assert!(
                serde_json::from_str::<TestOutcomes>(text).is_err(),
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn rosters_round_trip(names in prop::collection::vec("[a-z]{1,4}", 0..20), partial: bool) {
            let entry = |name: &String| TestOutcome::new(TestId::of("", "", name), TestState::Failed);
            let extent = if partial { OutcomesExtent::Partial } else { OutcomesExtent::Whole };
            let outcomes = TestOutcomes::new(names.iter().map(entry).collect(), extent);
            let text = serde_json::to_string(&outcomes).unwrap();
            prop_assert_eq!(serde_json::from_str::<TestOutcomes>(&text).unwrap(), outcomes.clone());
            for name in &names {
                prop_assert_eq!(outcomes.state(TestId::of("", "", name)), Some(TestState::Failed));
            }
        }
    }
}
