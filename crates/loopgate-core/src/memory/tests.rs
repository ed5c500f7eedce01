//! What the debug memory keeps, finds again and shows.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::{
    Sha, Timestamp,
    evidence::{CheckResults, ErrorType, Failure, SourceLocation},
    ids::PrNumber,
    observed::{ChangedFile, FileStatus},
    policy::{MemoryPolicy, PatternSource},
};

const PATCH: &str = "@@ -3,5 +3,6 @@ fn total\n fn total(cart: &Cart) -> u32 {\n-    cart.items.len()\n+    let items = \
                     cart.items();\n+    items.iter().sum()\n }\n \n fn other() {}";
const BROKEN: &str =
    "mod cart;\n\nfn total(cart: &Cart) -> u32 {\n    cart.items.len()\n}\n\nfn other() {}\n";

fn at(minute: i64) -> Timestamp {
    "2026-11-16T10:00:00Z".parse::<Timestamp>().unwrap() + chrono::TimeDelta::minutes(minute)
}

fn failure(test: &str, message: &str) -> Failure {
    Failure {
        test_name: Some(test.to_owned()),
        error_type: ErrorType::AssertionError,
        error_message: message.to_owned(),
        source: Some(SourceLocation {
            file: "src/cart.rs".into(),
            line: Some(4),
            function: Some("total".into()),
        }),
        ..Failure::default()
    }
}

fn changed(path: &str, patch: &str) -> ChangedFile {
    ChangedFile {
        path: path.to_owned(),
        previous_path: None,
        status: FileStatus::Modified,
        additions: 2,
        deletions: 1,
        blob: Some(Sha::from_bytes([7; 20])),
        patch: Some(patch.to_owned()),
    }
}

fn fix() -> AppliedFix {
    AppliedFix::of(
        Sha::from_bytes([9; 20]),
        "add up the items",
        &[changed("src/cart.rs", PATCH)],
        &BTreeSet::new(),
    )
}

fn line(run: &str, attempt: u32, minute: i64, failures: Vec<Failure>) -> MemoryLine {
    MemoryLine {
        schema: MEMORY_SCHEMA.to_owned(),
        session_id: run.to_owned(),
        pull_request: Some(PrNumber::new(41)),
        file_path: None,
        attempt,
        timestamp: at(minute),
        code_hash: format!("{attempt:064}"),
        head_sha: Sha::from_bytes([1; 20]),
        environment: None,
        test_results: CheckResults::default(),
        status: if failures.is_empty() {
            LineStatus::Passed
        } else {
            LineStatus::Failed
        },
        weakened: false,
        fixed: if failures.is_empty() {
            ["cart::total".to_owned()].into()
        } else {
            BTreeSet::new()
        },
        failures,
        analysis: None,
        fix_applied: (attempt > 1).then(fix),
        flaky: BTreeSet::new(),
        memory_matches: Vec::new(),
        settled: Vec::new(),
        rights: Rights::Write,
    }
}

/// A run that fails once and is mended.
fn mended(run: &str, minute: i64) -> Vec<MemoryLine> {
    vec![
        line(
            run,
            1,
            minute,
            vec![failure("cart::total", "expected 30, got 3")],
        ),
        line(run, 2, minute + 5, vec![]),
    ]
}

fn found(
    memory: &Memory,
    sought: &Failure,
    policy: &MemoryPolicy,
    file: Option<&str>,
) -> Vec<MemoryMatch> {
    let recalled = memory.look_up("pr-50", sought, policy);
    recalled.matches(policy, |card| card.find(|_| file))
}

#[test]
fn a_failure_that_the_next_attempt_mends_makes_a_card_and_twice_a_pattern() {
    let once = Memory::learn(mended("pr-1", 0));
    let card = once.cards.values().next().unwrap();
    let cited = &card.citations[0];
    assert_eq!(
        (card.fix.diff_summary.as_str(), &cited["path"]),
        ("+2/-1", &"src/cart.rs".into())
    );
    assert_eq!(cited["lines"], serde_json::json!([3, 8]));
    assert!(!card.is_pattern());
    assert_eq!(
        once.recurring[&card.fingerprints.first().unwrap().to_string()].resolution,
        Resolution::Resolved
    );

    let twice = Memory::learn(mended("pr-1", 0).into_iter().chain(mended("pr-2", 60)));
    let card = twice.cards.values().next().unwrap();
    assert!(card.is_pattern());
    assert_eq!(
        (
            &card.pattern()["frequency"],
            &card.pattern()["fix_template"]
        ),
        (&2.into(), &"add up the items".into())
    );
}

#[test]
fn what_proves_nothing_teaches_nothing() {
    let failing = vec![failure("cart::total", "expected 30, got 3")];
    let still = vec![
        line("pr-1", 1, 0, failing.clone()),
        line("pr-1", 2, 5, failing.clone()),
    ];
    let mut others = mended("pr-1", 0);
    others[1].rights = Rights::None;
    let mut of_tests = mended("pr-1", 0);
    let tests = [changed("tests/cart.rs", PATCH)];
    of_tests[1].fix_applied = Some(AppliedFix::of(
        Sha::from_bytes([9; 20]),
        "",
        &tests,
        &BTreeSet::new(),
    ));
    let [
        mut weakened,
        mut cheated,
        mut unseen,
        mut settings,
        mut silenced,
    ] = [(); 5].map(|()| mended("pr-1", 0));
    weakened[1].weakened = true;
    cheated[0].weakened = true;
    unseen[1].fixed.clear();
    let fix_of = |path: &str, patch: &str| {
        Some(AppliedFix::of(
            Sha::from_bytes([9; 20]),
            "",
            &[changed(path, patch)],
            &BTreeSet::new(),
        ))
    };
    settings[1].fix_applied = fix_of("jest.config.js", PATCH);
    silenced[1].fix_applied = fix_of(
        "src/cart.py",
        "@@ -3,2 +3,3 @@\n+# pylint: disable=all\n-x = y()\n+x = y()  # noqa: F821",
    );
    let mut commented = mended("pr-1", 0);
    commented[1].fix_applied = fix_of(
        "src/cart.py",
        "@@ -3,1 +3,1 @@\n-x = y()\n+x = y()  # it adds",
    );
    let cheats = [weakened, cheated, unseen, settings, silenced, commented];
    for lines in
        cheats
            .into_iter()
            .chain([still, others, of_tests, mended("pr-1", 0)[1..].to_vec()])
    {
        assert!(Memory::learn(lines.clone()).cards.is_empty(), "{lines:?}");
    }
    // What a fork failed with is remembered, and taught once it is merged.
    let mut merged = mended("pr-1", 0);
    merged[0].rights = Rights::None;
    assert_eq!(Memory::learn(merged).cards.len(), 1);
}

#[test]
fn what_a_person_settled_is_told_to_other_runs() {
    let failing = vec![failure("cart::total", "expected 30, got 3")];
    let fingerprint = line::fingerprint_of(&failing[0]);
    let word = |by: &str, minute: i64| SettledDispute {
        failure: fingerprint.into(),
        outcome: Settlement::Test,
        by: by.parse().unwrap(),
        at: at(minute),
        run_id: "pr-1".to_owned(),
        pull_request: Some(PrNumber::new(1)),
    };
    let mut lines = vec![
        line("pr-1", 1, 0, failing.clone()),
        line("pr-1", 2, 5, failing.clone()),
    ];
    lines[1].settled = vec![word("olga", 4), word("bob", 2)];
    let told = |memory: &Memory, policy: &MemoryPolicy| {
        found(memory, &failing[0], policy, Some(BROKEN))
            .first()
            .and_then(|found| found.settled.clone())
    };
    let memory = Memory::learn(lines.clone());
    assert_eq!(
        told(&memory, &MemoryPolicy::default()),
        Some(word("olga", 4)),
        "the newest word"
    );
    // Also where it was seen in no run of late, but never in its own run.
    assert_eq!(
        told(
            &memory,
            &MemoryPolicy {
                lookback: 0,
                ..MemoryPolicy::default()
            }
        ),
        Some(word("olga", 4))
    );
    lines[1]
        .settled
        .iter_mut()
        .for_each(|word| word.run_id = "pr-50".to_owned());
    assert_eq!(told(&Memory::learn(lines), &MemoryPolicy::default()), None);
}

#[test]
fn what_was_tried_before_is_kept_beside_what_worked() {
    let failing = vec![failure("cart::total", "expected 30, got 3")];
    let lines = [
        line("pr-1", 1, 0, failing.clone()),
        line("pr-1", 2, 5, failing),
        line("pr-1", 3, 9, vec![]),
    ];
    let memory = Memory::learn(lines);
    assert_eq!(
        memory.cards.values().next().unwrap().tried_and_failed,
        ["add up the items (+2/-1)".to_owned()].into()
    );
}

#[test]
fn a_look_up_stops_at_the_first_tier_whose_place_is_still_there() {
    let (memory, policy) = (Memory::learn(mended("pr-1", 0)), MemoryPolicy::default());
    let same = failure("cart::total", "expected 12, got 5");
    // The same test with the same words at another place: another error.
    let mut moved = same.clone();
    moved.source = Some(SourceLocation {
        file: "src/tax.rs".into(),
        line: Some(4),
        function: Some("tax".into()),
    });
    let other = failure("cart::sorted", "is not sorted");
    let tier = |sought: &Failure| {
        found(&memory, sought, &policy, Some(BROKEN))
            .first()
            .and_then(|found| found.tier)
    };
    assert_eq!(tier(&same), Some(Tier::SameError));
    assert_eq!(tier(&moved), Some(Tier::SameTest));
    assert_eq!(
        tier(&other),
        None,
        "another assertion about the same file is another error"
    );
    let told = found(&memory, &same, &policy, Some(BROKEN));
    assert_eq!((told[0].seen, told[0].outcome), (1, MatchOutcome::Shown));
    assert!(
        told[0]
            .shown()
            .unwrap()
            .0
            .hunk
            .contains("items.iter().sum()")
    );
    let only_files = MemoryPolicy {
        patterns_to_check: vec![PatternSource::SimilarFileEdits],
        ..policy
    };
    assert_eq!(found(&memory, &moved, &only_files, Some(BROKEN)), []);
}

#[test]
fn what_a_helper_of_tests_raises_is_the_same_error_of_the_same_test_only() {
    let in_helper = |test: &str| Failure {
        source: Some(SourceLocation {
            file: "tests/helper.rs".into(),
            line: Some(9),
            function: Some("check".into()),
        }),
        ..failure(test, "expected 30, got 3")
    };
    let mut run = mended("pr-1", 0);
    run[0].failures = vec![in_helper("cart::total[1]")];
    run[1].fixed = ["cart::total[1]".to_owned()].into();
    let memory = Memory::learn(run);
    let tier = |test: &str| {
        let told = found(
            &memory,
            &in_helper(test),
            &MemoryPolicy::default(),
            Some(BROKEN),
        );
        told.first().and_then(|found| found.tier)
    };
    assert_eq!(
        (tier("cart::total[2]"), tier("cart::sorted")),
        (Some(Tier::SameError), None)
    );
}

#[test]
fn a_card_whose_place_is_gone_is_said_to_be_stale_and_decays() {
    let (mut memory, policy) = (Memory::learn(mended("pr-1", 0)), MemoryPolicy::default());
    let same = failure("cart::total", "expected 12, got 5");
    let rewritten = "pub struct Totals;\nimpl Totals {\n    pub fn new() -> Self { Totals }\n}\n";
    for text in [Some(rewritten), None] {
        let told = found(&memory, &same, &policy, text);
        assert_eq!(
            (told.len(), told[0].outcome, &told[0].fix),
            (1, MatchOutcome::Stale, &None)
        );
    }
    // Moved down and indented otherwise, it is the same place; the fixed lines are the place too.
    let moved = BROKEN
        .replace("mod cart;", "mod cart;\nmod tax;\nmod more;")
        .replace("    cart", "\tcart");
    let fixed = BROKEN.replace(
        "    cart.items.len()",
        "    let items = cart.items();\n    items.iter().sum()",
    );
    let longer = format!("{}{BROKEN}", "use std::fmt;\n".repeat(48));
    // Of two such places the nearer one.
    let twice = format!("{BROKEN}{}{BROKEN}", "use std::fmt;\n".repeat(48));
    for (text, line) in [
        (BROKEN, 4),
        (moved.as_str(), 6),
        (&fixed, 4),
        (&longer, 52),
        (&twice, 4),
    ] {
        let told = found(&memory, &same, &policy, Some(text));
        let place = told[0].fix.as_ref().and_then(|fix| fix.line);
        assert_eq!(
            (told[0].outcome, place),
            (MatchOutcome::Shown, Some(line)),
            "{text}"
        );
    }
    for run in ["pr-2", "pr-3", "pr-4"] {
        let mut again = line(run, 2, 50, vec![]);
        again.memory_matches = found(&memory, &same, &policy, None);
        memory.take_in(&[again], |_| true);
    }
    memory.drop_old(Retention { days: 30 }, at(60));
    assert!(memory.cards.is_empty());
}

#[test]
fn a_change_follows_a_card_near_its_place_or_with_its_lines() {
    let memory = Memory::learn(mended("pr-1", 0));
    let told = found(
        &memory,
        &failure("cart::total", "expected 12, got 5"),
        &MemoryPolicy::default(),
        Some(BROKEN),
    );
    let told = told[0].fix.as_ref().unwrap();
    let of = |path: &str, patch: &str| followed(told, &[changed(path, patch)]);
    assert_eq!(of("src/cart.rs", "@@ -25 +25 @@\n-a\n+b"), Some(true));
    assert_eq!(
        of("src/cart.rs", "@@ -29,2 +29,3 @@\n x\n+b\n y"),
        Some(false)
    );
    assert_eq!(
        of(
            "src/cart.rs",
            "@@ -300 +300,2 @@\n+  let items = cart.items();\n+items.iter().sum()"
        ),
        Some(true)
    );
    assert_eq!(of("src/other.rs", "@@ -4 +4 @@\n-a\n+b"), Some(false));
    assert_eq!(
        followed(
            told,
            &[ChangedFile {
                patch: None,
                ..changed("src/cart.rs", "")
            }]
        ),
        None
    );
}

#[test]
fn what_was_found_and_what_came_of_it_is_counted() {
    let mut memory = Memory::learn(mended("pr-1", 0));
    let same = failure("cart::total", "expected 12, got 5");
    let mut passed = line("pr-9", 2, 40, vec![]);
    passed.memory_matches = found(&memory, &same, &MemoryPolicy::default(), Some(BROKEN));
    passed.memory_matches[0].followed = Some(true);
    passed.memory_matches[0].went_green = Some(true);
    let run = [line("pr-9", 1, 30, vec![same]), passed];
    memory.take_in(&run, |_| true);
    memory.take_in(&run, |_| false);
    let card = memory.cards.values().next().unwrap();
    assert_eq!(
        (card.offered, card.worked, card.effectiveness()),
        (1, 1, Some(1.0))
    );
    assert_eq!(
        memory.offers.shown,
        Rate {
            retries: 1,
            gone: 1
        }
    );
    assert_eq!(
        memory.offers.all,
        Rate {
            retries: 2,
            gone: 2
        }
    );
}

#[test]
fn only_runs_of_late_are_looked_back_at() {
    let seen = |run: &str, minute| {
        line(
            run,
            1,
            minute,
            vec![failure("cart::total", "expected 30, got 3")],
        )
    };
    let other = |run: &str, minute| line(run, 1, minute, vec![failure("tax::rate", "wrong rate")]);
    let memory = Memory::learn([seen("pr-1", 0), other("pr-2", 1), other("pr-3", 2)]);
    let told = |lookback| {
        let policy = MemoryPolicy {
            lookback,
            ..MemoryPolicy::default()
        };
        found(
            &memory,
            &failure("cart::total", "expected 30, got 3"),
            &policy,
            None,
        )
    };
    assert_eq!(told(3)[0].outcome, MatchOutcome::Seen);
    assert_eq!((told(2), told(0)), (vec![], vec![]));
}

#[test]
fn a_person_may_say_that_it_will_not_be_mended() {
    let sought = failure("cart::total", "expected 30, got 3");
    let mut memory = Memory::learn([line("pr-1", 1, 0, vec![sought.clone()])]);
    let id = crate::failure::fingerprint(&sought).into();
    let outcome =
        |memory: &Memory| found(memory, &sought, &MemoryPolicy::default(), None)[0].outcome;
    assert_eq!(outcome(&memory), MatchOutcome::Seen);
    assert!(
        memory.give_up(id)
            && !memory.give_up(crate::failure::fingerprint(&failure("a", "b")).into())
    );
    assert_eq!(outcome(&memory), MatchOutcome::WontFix);
    // Somebody mends it all the same.
    let mended = mended("pr-2", 5);
    memory.take_in(&mended, |_| true);
    assert_eq!(
        memory.recurring.values().next().unwrap().resolution,
        Resolution::Resolved
    );
}

#[test]
fn secrets_addresses_and_homes_are_not_written() {
    let said = "token: abcdef123456 for Ann <ann.b@example.co.uk> in /home/ann/w/src/a.rs and C:\\Users\\Bo\\x; \
                ghp_0123456789abcdefghijABCDEFGHIJ012345, Authorization: Bearer abcdefghijklmnop.qrst, \
                postgres://root:hunter2@db.example.com/x AKIAABCDEFGHIJKLMNOP\n-----BEGIN RSA PRIVATE KEY-----\nMIIE";
    let mut failing = line("pr-1", 1, 0, vec![failure("a", said)]);
    failing.failures[0].stack_trace = Some(said.to_owned());
    let text = failing.to_json().unwrap();
    for secret in [
        "abcdef123456",
        "ann",
        "Bo\\",
        "ghp_",
        "qrst",
        "hunter2",
        "AKIA",
        "MIIE",
        "example.co",
    ] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    assert!(text.contains("~/w/src/a.rs"), "{text}");
    assert_eq!(
        redact("react@18.2.0 expected 3, at src/a.rs:12"),
        "react@18.2.0 expected 3, at src/a.rs:12"
    );
}

#[test]
fn a_line_is_bounded_whatever_it_holds_and_reads_back() {
    let huge = "ünsäglich ".repeat(50_000);
    let mut failing = line("pr-1", 1, 0, vec![failure("a", &huge); 500]);
    failing
        .failures
        .iter_mut()
        .for_each(|failure| failure.stack_trace = Some(huge.clone()));
    let text = failing.to_json().unwrap();
    assert!(
        text.len() <= 16_000 && !text.contains('\n'),
        "{}",
        text.len()
    );
    let shard = format!(
        "{text}\nnot json\n{{}}\n{}\n",
        mended("pr-2", 0)[1].to_json().unwrap()
    );
    assert_eq!(MemoryLine::read_all(&shard).len(), 2);
}

#[test]
fn weeks_end_and_what_taught_outlives_them() {
    let week: Week = "2026-W47".parse().unwrap();
    assert_eq!(
        (
            Week::of(at(0)),
            Week::of("2027-01-03T23:59:59Z".parse().unwrap()).to_string()
        ),
        (week, "2026-W53".into())
    );
    for wrong in ["2026-W54", "2026-47", "W47", "2026-W4", "2026-W471"] {
        assert!(wrong.parse::<Week>().is_err(), "{wrong}");
    }
    let (retention, days) = (Retention { days: 30 }, |days| {
        at(0) + chrono::TimeDelta::days(days)
    });
    assert!(!retention.is_over(week, days(30)) && retention.is_over(week, days(37)));
    let keeps = |folder, day| retention.keeps(folder, at(0), days(day));
    assert!(keeps(Folder::Failures, 29) && !keeps(Folder::Failures, 30));
    assert!(keeps(Folder::Taught, 59) && !keeps(Folder::Taught, 60));
    assert!(keeps(Folder::Escalated, 89) && !keeps(Folder::Escalated, 90));
}

#[test]
fn an_error_is_forgotten_by_its_id() {
    let mut memory = Memory::learn(mended("pr-1", 0));
    let id = *memory.cards.keys().next().unwrap();
    assert!(memory.forget(id) && !memory.forget(id));
    assert!(memory.cards.is_empty() && memory.recurring.is_empty());
}

prop_compose! {
    fn any_line()(run in 0..4_u32, attempt in 1..4_u32, test in 0..3_u32, passes: bool, write: bool, minute in 0..500_i64)
        -> MemoryLine
    {
        let failures = if passes { vec![] } else { vec![failure(&format!("t{test}"), "boom")] };
        let rights = if write { Rights::Write } else { Rights::None };
        MemoryLine { rights, ..line(&format!("pr-{run}"), attempt, minute, failures) }
    }
}

proptest! {
    #[test]
    fn the_union_of_writers_loses_no_line_and_order_does_not_matter(
        (lines, shuffled) in proptest::collection::vec(any_line(), 0..12)
            .prop_flat_map(|lines| (Just(lines.clone()), Just(lines).prop_shuffle())),
        split in 0..12_usize,
    ) {
        let whole = union(lines.clone());
        let split = split.min(shuffled.len());
        let (ours, theirs) = (union(shuffled[..split].to_vec()), union(shuffled[split..].to_vec()));
        prop_assert_eq!(&union(theirs.into_iter().chain(ours)), &whole);
        let keys: BTreeSet<_> = lines.iter().map(MemoryLine::key).collect();
        prop_assert_eq!(keys, whole.iter().map(MemoryLine::key).collect());
        prop_assert_eq!(Memory::learn(shuffled), Memory::learn(lines));
    }

    #[test]
    fn nothing_that_is_read_or_looked_up_breaks_it(text in "\\PC{0,300}", patch in "(@@ -1 \\+[0-9]{1,12} @@\n)?[ +-]?\\PC{0,40}\n[+-]\\PC{0,40}") {
        let _ = (redact(&text), MemoryLine::read_all(&text));
        let mut lines = mended("pr-1", 0);
        let files = [changed("src/cart.rs", &patch)];
        lines[1].fix_applied = Some(AppliedFix::of(Sha::from_bytes([9; 20]), &text, &files, &BTreeSet::new()));
        lines[0].failures[0].error_message = text.clone();
        let memory = Memory::learn(lines);
        found(&memory, &failure("cart::total", &text), &MemoryPolicy::default(), Some(&text));
    }
}
