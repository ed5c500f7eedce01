//! The feedback packet: everything the next attempt needs to know, in at most 16 KB.
//!
//! Compile errors come first, since nothing behind them ran; then regressions; then the rest. Failures with one
//! fingerprint are one entry with several tests. Traces give way before failures do, and what is left out is counted.

mod display;
mod entry;
mod gather;
mod input;

use serde::{Deserialize, Serialize};

use self::gather::{Draft, Gathered, gather};
use super::feedback::{FeedbackItem, Priority};
use crate::failure::read::text;

pub use self::{
    entry::{Entry, EntryKind, PastFailure},
    input::{FailingCheck, PacketInput, SinceLast, Tried},
};

/// `schema` of a packet.
pub const FEEDBACK_SCHEMA: &str = "loopgate.feedback/v1";

/// Largest packet, as JSON and as text, in bytes.
pub const MAX_PACKET: usize = 16 * 1024;

/// Lines of trace per entry, from the most generous packet to the tightest.
const TRACE_LINES: [usize; 5] = [40, 20, 10, 4, 0];

/// Everything the next attempt needs to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedbackPacket {
    /// [`FEEDBACK_SCHEMA`].
    pub schema: String,
    pub attempt: u32,
    pub max_attempts: u32,
    pub summary: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_last: Option<SinceLast>,
    /// What was tried and did not work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<Tried>,
    pub failures: Vec<Entry>,
    /// Failures that are not among `failures`.
    pub not_shown: u64,
    /// Where the whole text is: a link or a path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_text: Option<String>,
}

impl FeedbackPacket {
    /// Builds the packet, as rich as [`MAX_PACKET`] allows.
    pub fn build(input: &PacketInput<'_>) -> Self {
        let Gathered { drafts, total } = gather(input);
        let summary = summary(input, &drafts, total);
        let mut packet = Self {
            schema: FEEDBACK_SCHEMA.to_owned(),
            attempt: input.attempt,
            max_attempts: input.max_attempts,
            summary,
            since_last: input.since_last.as_ref().map(SinceLast::bounded),
            tried: input.tried.iter().rev().take(5).rev().map(Tried::bounded).collect(),
            failures: Vec::new(),
            not_shown: 0,
            full_text: input.full_text.as_deref().map(|place| text::one_line(place, 300)),
        };
        for lines in TRACE_LINES {
            packet.failures = drafts.iter().map(|draft| draft.entry(lines)).collect();
            packet.count_rest(total);
            if packet.fits() {
                return packet;
            }
        }
        while !packet.fits() && packet.failures.pop().is_some() {
            packet.count_rest(total);
        }
        packet
    }

    fn count_rest(&mut self, total: u64) {
        let shown: u64 = self.failures.iter().map(|entry| entry.tests.len().max(1) as u64 + entry.more_tests).sum();
        self.not_shown = total.saturating_sub(shown);
    }

    fn fits(&self) -> bool {
        let json = serde_json::to_vec(self).map_or(usize::MAX, |json| json.len());
        json <= MAX_PACKET && self.to_string().len() <= MAX_PACKET
    }

    /// The items of all entries, most pressing first.
    pub fn items(&self) -> impl Iterator<Item = &FeedbackItem> {
        self.failures.iter().map(|entry| &entry.item)
    }
}

fn summary(input: &PacketInput<'_>, drafts: &[Draft], total: u64) -> String {
    let count = |kind: EntryKind| drafts.iter().filter(|draft| draft.kind() == kind).count();
    let mut parts = Vec::new();
    for (kind, one, many) in [
        (EntryKind::CompileError, "compile error", "compile errors"),
        (EntryKind::Regression, "regression", "regressions"),
        (EntryKind::Failure, "other error", "other errors"),
    ] {
        match count(kind) {
            0 => {}
            1 => parts.push(format!("1 {one}")),
            n => parts.push(format!("{n} {many}")),
        }
    }
    let failures = if total == 1 { "1 failure".to_owned() } else { format!("{total} failures") };
    // One failure of the ordinary kind is told by its number.
    let only_ordinary = drafts.iter().all(|draft| draft.kind() == EntryKind::Failure);
    let kinds = if only_ordinary { String::new() } else { format!(" ({})", parts.join(", ")) };
    let mut summary = format!("Attempt {} of {}: {failures}{kinds}.", input.attempt, input.max_attempts);
    if let Some(comparison) = input.comparison {
        let sets = [
            ("fixed", comparison.compare.fixed.len()),
            ("new", comparison.compare.new.len()),
            ("still failing", comparison.compare.still.len()),
            ("flaky", comparison.compare.flaky.len()),
        ];
        let told: Vec<String> = sets.iter().filter(|(_, n)| *n > 0).map(|(word, n)| format!("{n} {word}")).collect();
        if !told.is_empty() {
            summary.push_str(&format!(" Against the attempt before: {}.", told.join(", ")));
        }
    }
    summary
}

/// The most pressing of several priorities; `low` for none.
pub fn highest_priority<'a>(items: impl IntoIterator<Item = &'a FeedbackItem>) -> Priority {
    items.into_iter().map(|item| item.priority).min().unwrap_or(Priority::Low)
}

#[cfg(test)]
mod examples;
#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{
        evidence::{CheckEvidence, CheckKind, Comparison, Failure, Outcome, TestFramework},
        failure::read::{ChangedFile, Changes},
    };

    fn failing(name: &str, kind: CheckKind, failures: Vec<Failure>) -> CheckEvidence {
        CheckEvidence { failures, ..CheckEvidence::bare(name.parse().unwrap(), kind, Outcome::Failed) }
    }

    fn test_failure(test: &str, message: &str, trace: &str) -> Failure {
        Failure {
            test_name: Some(test.to_owned()),
            error_message: message.to_owned(),
            stack_trace: Some(trace.to_owned()),
            ..Failure::default()
        }
    }

    fn build(checks: &[CheckEvidence], comparison: Option<&Comparison>) -> FeedbackPacket {
        let changes = Changes::new([ChangedFile { path: "src/cart.ts".into(), added: vec![5..=20] }]);
        let checks: Vec<FailingCheck<'_>> = checks
            .iter()
            .map(|evidence| FailingCheck {
                evidence,
                framework: Some(TestFramework::Vitest),
                command: None,
                directory: None,
            })
            .collect();
        let past = BTreeMap::new();
        FeedbackPacket::build(&PacketInput {
            attempt: 2,
            max_attempts: 3,
            checks: &checks,
            changes: &changes,
            comparison,
            since_last: Some(SinceLast { diff_summary: "+5/-2".into(), files_modified: vec!["src/cart.ts".into()] }),
            tried: vec![Tried { attempt: 1, description: "added a null check".into(), outcome: "same error".into() }],
            past: &past,
            full_text: Some("https://github.com/acme/shop/actions/runs/1".into()),
        })
    }

    #[test]
    fn a_whole_packet() {
        let trace = "    at total (/home/runner/work/shop/shop/src/cart.ts:9:25)\n    at /home/runner/work/shop/shop/test/cart.test.ts:12:15";
        let null = "TypeError: Cannot read properties of undefined (reading 'price')";
        let checks = [
            failing(
                "unit",
                CheckKind::Test,
                vec![
                    test_failure(
                        "cart > adds",
                        "AssertionError: expected 20 to be 40",
                        "    at /home/runner/work/shop/shop/test/cart.test.ts:30:15",
                    ),
                    test_failure("cart > total", null, trace),
                    test_failure("cart > empty", null, trace),
                ],
            ),
            failing(
                "types",
                CheckKind::Types,
                vec![Failure {
                    error_message: "src/cart.ts(11,5): error TS2339: Property 'prize' does not exist on type 'Line'."
                        .into(),
                    ..Failure::default()
                }],
            ),
        ];
        let mut comparison = Comparison::default();
        comparison.regressed.insert("cart > empty".into());
        comparison.compare.new.insert("cart > empty".into());
        comparison.compare.fixed.insert("cart > tax".into());
        insta::assert_snapshot!(build(&checks, Some(&comparison)), @r#"
        Attempt 2 of 3: 4 failures (1 compile error, 1 regression, 1 other error). Against the attempt before: 1 fixed, 1 new.
        Changed since the last attempt: +5/-2 in src/cart.ts
        Tried before, without success:
        - attempt 1: added a null check (same error)

        1. src/cart.ts:11 (compile error, id b66d0e27)
           Reported: `TS2339: Property 'prize' does not exist on type 'Line'.`
           Problem:  `prize` is no property of `Line`. This pull request adds the line.
           Fix:      Correct `prize` to a property that `Line` declares; declare it there if it is new.
           Why:      The compiler knows `Line` by its declaration alone.
           Again:    npx tsc --noEmit
           | src/cart.ts(11,5): error TS2339: Property 'prize' does not exist on type 'Line'.

        2. src/cart.ts:9 in `total` (regression: passed before, id 93ad8804)
           Reported: `TypeError: Cannot read properties of undefined (reading 'price')`
           Problem:  `price` is read from a value that is `undefined`. This pull request adds the line.
           Fix:      Add a check for `undefined` before `price` is read at this line, and decide there what a missing value means.
           Why:      The read throws as soon as the value is `undefined`, and nothing after it runs.
           Again:    npx vitest run test/cart.test.ts -t total
           Tests:    cart > total, cart > empty
           |     at total (/home/runner/work/shop/shop/src/cart.ts:9:25)
           |     at /home/runner/work/shop/shop/test/cart.test.ts:12:15

        3. test/cart.test.ts:30 (failure, id b65e63b7)
           Reported: `expected 20 to be 40`
           Problem:  `cart > adds` expects `40` and gets `20`.
           Fix:      Correct the computation in `src/cart.ts` (part of this change) so that it gives `40` for this input.
           Why:      The test states the requirement; it stays as it is unless the requirement itself changed.
           Again:    npx vitest run test/cart.test.ts -t adds
           Tests:    cart > adds
           Expected: 40
           Actual:   20
           |     at /home/runner/work/shop/shop/test/cart.test.ts:30:15

        Full text: https://github.com/acme/shop/actions/runs/1
        "#);
    }

    #[test]
    fn checks_that_name_no_failure() {
        let bare = |name: &str, outcome, log: &str| CheckEvidence {
            duration_ms: 120_000,
            exit_code: Some(1),
            log_tail: log.to_owned(),
            ..CheckEvidence::bare(name.parse().unwrap(), CheckKind::Test, outcome)
        };
        let checks = [
            bare("unit", Outcome::TimedOut, "test cart::waits ..."),
            bare("other", Outcome::NoTestsExecuted, ""),
            bare("silent", Outcome::Failed, ""),
            bare(
                "loud",
                Outcome::Failed,
                "Error: Cannot find module './carts'\nRequire stack:\n- /home/runner/work/shop/shop/src/a.js",
            ),
            bare("fine", Outcome::Passed, ""),
        ];
        let packet = build(&checks, None);
        let told: Vec<String> = packet.items().map(ToString::to_string).collect();
        insta::assert_snapshot!(told.join("\n"), @r#"
        check `unit`: The check `unit` did not end within 120 s and was stopped. Fix: Find the loop or the wait that does not end, at the last line the check printed. Why: What it printed last is the place it did not get past.
        check `other`: The check `other` ended without running a test. Fix: Correct the test command or its filter so that it finds the tests. Why: A check that runs no test proves nothing, so it does not pass.
        check `silent`: The check `silent` failed with exit status 1 and printed nothing. Fix: Run its command in a checkout of this commit and mend what it reports. Why: Its outcome is all that reached Loopgate.
        check `loud`: `./carts` is imported, but no file stands at that path. Fix: Correct the import path `./carts` to the file's real name, letter case and extension included. Why: Relative imports are resolved from the importing file; on Linux letter case counts.
        "#);
    }

    #[test]
    fn a_packet_never_exceeds_its_size() {
        let many: Vec<Failure> = (0..200)
            .map(|n| {
                let word: String = format!("{n}").chars().map(|digit| char::from(b'a' + digit as u8 - b'0')).collect();
                let trace = format!("    at {word} (/home/runner/work/shop/shop/src/{word}.ts:9:25)\n").repeat(40);
                test_failure(
                    &format!("suite > {word} {}", "long \"name\" ".repeat(10)),
                    &format!("Error: {word} {}", "\\\"".repeat(200)),
                    &trace,
                )
            })
            .collect();
        let packet = build(&[failing("unit", CheckKind::Test, many)], None);
        assert!(serde_json::to_vec(&packet).unwrap().len() <= MAX_PACKET && packet.to_string().len() <= MAX_PACKET);
        assert!(!packet.failures.is_empty());
        let shown: u64 = packet.failures.iter().map(|entry| entry.tests.len() as u64 + entry.more_tests).sum();
        assert_eq!(shown + packet.not_shown, 200);
    }

    #[test]
    fn one_error_in_many_tests_is_one_entry() {
        let trace = "    at total (/home/runner/work/shop/shop/src/cart.ts:9:25)";
        let failures =
            (0..30).map(|n| test_failure(&format!("t{n}"), "TypeError: x is not a function", trace)).collect();
        let packet = build(&[failing("unit", CheckKind::Test, failures)], None);
        assert_eq!(
            (packet.failures.len(), packet.failures[0].tests.len(), packet.failures[0].more_tests, packet.not_shown),
            (1, 8, 22, 0)
        );
    }

    #[test]
    fn a_packet_survives_the_round_trip() {
        let packet = build(&[failing("unit", CheckKind::Test, vec![test_failure("a", "Error: x", "trace")])], None);
        let json = serde_json::to_string(&packet).unwrap();
        assert_eq!(serde_json::from_str::<FeedbackPacket>(&json).unwrap(), packet);
    }

    #[test]
    fn the_highest_priority_counts() {
        let packet = build(&[failing("unit", CheckKind::Test, vec![test_failure("a", "Error: x", "")])], None);
        assert_eq!(highest_priority(packet.items()), Priority::High);
        assert_eq!(highest_priority([]), Priority::Low);
    }
}
