use std::collections::BTreeMap;

use chrono::TimeDelta;

use super::*;
use crate::{
    PrNumber,
    evidence::{CheckKind, Outcome},
    fixtures::{Story, evidence, gate_name, gate_with, paths, policy_with, sha},
    metrics::CheckUse,
    observed::{ChangedFiles, Conclusion, ObservationProblem, ReceivedEvidence},
    policy::{GateTrigger, LineCondition, Pattern, Policy, Trigger},
    state::{AttemptDigest, LoopState, RunChanges},
};

/// SplitMix64: the same stories on every machine.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % most
    }
}

fn added(pattern: &str) -> GateTrigger {
    let patterns = vec![Pattern::parse(pattern).unwrap()];
    GateTrigger::AddedLines(LineCondition {
        patterns,
        ..LineCondition::default()
    })
}

/// What governs the stories: two checks and a scan, two gates.
fn own() -> Policy {
    let checks = [
        ("build", CheckKind::Build, "cargo build"),
        ("unit", CheckKind::Test, "cargo test"),
        ("scan", CheckKind::Custom, "scan"),
    ];
    let gates = [
        ("secrets", added("password")),
        ("billing", paths("src/billing/**")),
    ];
    Policy {
        gates: gates
            .map(|(name, trigger)| (gate_name(name), gate_with(trigger, &["bob"])))
            .into(),
        ..policy_with(&checks)
    }
}

/// Plays a pull request whose heads fail with these tests, one after the other; none failing is a pass.
fn play(number: u64, files: &[(&str, &str)], heads: &[&[&str]]) -> Story {
    let mut story = Story::opened();
    story.policy = own();
    story.snapshot.pull_request.number = PrNumber::new(number);
    let files = files
        .iter()
        .map(|(path, patch)| crate::fixtures::changed_file(path, patch))
        .collect();
    story.snapshot.files = ChangedFiles::Complete(files);
    story.state = LoopState::begin(&story.snapshot, &story.policy, story.now);
    for (head, failing) in (1..).zip(heads) {
        story.set_head(head);
        story.decide();
        let mut received = evidence(sha(head), failing, &["z"]);
        let ReceivedEvidence::Accepted(document) = &mut received else {
            unreachable!()
        };
        let mut scan = document.checks[0].clone();
        (scan.name, scan.kind, scan.outcome) =
            ("scan".parse().unwrap(), CheckKind::Custom, Outcome::Failed);
        document.checks.push(scan);
        story.snapshot.evidence = vec![received];
        story.now += TimeDelta::minutes(1);
        story.decide();
    }
    story
}

/// The story as GitHub and its state ref show it later.
fn past(story: &Story) -> PastPullRequest {
    let head = |record: &crate::deciding::AttemptRecord| {
        let written = serde_json::json!({
            "head_sha": record.digest.head_sha, "at": record.digest.at, "checks": record.checks,
            "coverage": record.coverage, "basis": { "diff": { "files": [] } },
        });
        let recorded = serde_json::from_value(written).unwrap();
        PastHead {
            sha: record.digest.head_sha,
            checks: Vec::new(),
            recorded: Some(recorded),
        }
    };
    let mut last = story.snapshot.clone();
    last.evidence.clear();
    let heads = story.attempts.values().map(head).collect();
    PastPullRequest {
        last,
        heads,
        earlier_commits: 0,
        read_at: story.now,
    }
}

const AUTH: (&str, &str) = ("src/auth.rs", "@@ -1 +1 @@\n-a\n+let password = token();");
const PAY: (&str, &str) = ("src/billing/pay.rs", "@@ -1 +1 @@\n-a\n+b");

/// #1 fails three times with one error and touches the sign-in, #2 fails once and touches billing.
fn compared(other: &Policy) -> WhatIf {
    let stories = [
        play(1, &[AUTH], &[&["a"], &["a"], &["a"]]),
        play(2, &[PAY], &[&["a"], &[]]),
    ];
    let mut compared = WhatIf::new();
    stories
        .iter()
        .for_each(|story| compared.add(&past(story), &own(), other));
    compared
}

fn with(change: impl FnOnce(&mut Policy)) -> Policy {
    let mut policy = own();
    change(&mut policy);
    policy
}

fn changes(more: &[&str], fewer: &[&str]) -> RunChanges {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    RunChanges {
        more: names(more),
        fewer: names(fewer),
    }
}

#[test]
fn deciding_history_again_comes_to_what_was_decided_then() {
    let short = |attempts: &[AttemptDigest]| -> Vec<_> {
        let facts = |it: &AttemptDigest| {
            (
                it.head_sha,
                it.result,
                it.score,
                it.fingerprints.clone(),
                it.retry_class,
            )
        };
        attempts.iter().map(facts).collect()
    };
    for seed in 0..12 {
        let mut numbers = Numbers(seed);
        let failing: [&[&str]; 6] = [&["a"], &["a"], &["b"], &["a", "b"], &[], &[]];
        let heads: Vec<&[&str]> = (0..2 + numbers.below(6))
            .map(|_| failing[numbers.below(6) as usize])
            .collect();
        let story = play(seed + 1, &[AUTH], &heads);
        let judged = past(&story).judge(|head| head.with_known_checks(&own()));
        let again = &judged.last().unwrap().decision.next;
        assert_eq!(
            short(&again.attempts.counted),
            short(&story.state.attempts.counted),
            "{seed}"
        );
        let blocked = |state: &LoopState| {
            state
                .people
                .blocked
                .as_ref()
                .map(|blocked| (blocked.trigger, blocked.attempt))
        };
        assert_eq!(blocked(again), blocked(&story.state), "{seed}");
    }
}

#[test]
fn the_same_policy_makes_no_difference() {
    let same = compared(&own());
    assert_eq!((same.runs, same.schema), (2, "loopgate.what-if/v1"));
    assert!(
        same.gates.is_empty() && same.calls.is_empty() && same.verdicts.is_empty(),
        "{same:?}"
    );
    assert!(
        same.unknown.is_empty() && same.dropped_checks.is_empty(),
        "{same:?}"
    );
    assert_eq!(
        (same.attempts_was, same.scores_was),
        (same.attempts_would, same.scores_would)
    );
    assert_eq!(
        (
            same.attempts_was.value(),
            same.attempts_was.of,
            same.scores_was.of
        ),
        (Some(2.0), 1, 5)
    );
}

#[test]
fn gates_are_asked_of_the_diff_itself() {
    let other = with(|policy| {
        policy.gates.get_mut(&gate_name("secrets")).unwrap().trigger = added("nothing of the kind");
        policy
            .gates
            .insert(gate_name("tokens"), gate_with(added("token"), &["bob"]));
        policy.gates.get_mut(&gate_name("billing")).unwrap().trigger =
            GateTrigger::Any(vec![paths("src/billing/**"), paths("src/auth.rs")]);
    });
    let gates = [
        ("secrets", changes(&[], &["#1"])),
        ("tokens", changes(&["#1"], &[])),
        ("billing", changes(&["#1"], &[])),
    ];
    let gates: BTreeMap<_, _> = gates
        .map(|(name, changes)| (gate_name(name), changes))
        .into();
    assert_eq!(compared(&other).gates, gates);
}

#[test]
fn calls_and_verdicts_follow_the_other_policy() {
    let sooner = compared(&with(|policy| policy.retry.max_attempts = 2));
    let calls = [
        (Trigger::SameError, changes(&[], &["#1"])),
        (Trigger::MaxAttemptsReached, changes(&["#1"], &[])),
    ];
    assert_eq!(sooner.calls, calls.into());
    let blocking = compared(&with(|policy| {
        policy
            .verify
            .checks
            .get_mut(&"scan".parse::<crate::CheckName>().unwrap())
            .unwrap()
            .kind = CheckKind::Lint;
    }));
    let verdicts: Vec<_> = blocking
        .verdicts
        .iter()
        .map(|it| (it.run.as_str(), it.attempt))
        .collect();
    assert_eq!(verdicts, [("#2", 2)]);
    assert_eq!(blocking.attempts_would.value(), None);
}

#[test]
fn checks_that_go_are_counted_and_those_without_evidence_are_unknown() {
    let scan: crate::CheckName = "scan".parse().unwrap();
    let dropped = compared(&with(|policy| {
        policy.verify.checks.retain(|name, _| *name != scan)
    }))
    .dropped_checks;
    assert_eq!(
        dropped,
        [(
            scan,
            CheckUse {
                runs: 5,
                failed: 5,
                total_ms: 0,
                longest_ms: 0
            }
        )]
        .into()
    );
    let fuzz = policy_with(&[("fuzz", CheckKind::Test, "fuzz")])
        .verify
        .checks;
    let unknown = compared(&with(|policy| policy.verify.checks.extend(fuzz)));
    let named = vec!["#1".to_owned(), "#2".to_owned()];
    assert_eq!(
        unknown.unknown,
        [(Unknown::Check("fuzz".parse().unwrap()), named)].into()
    );
    assert!(
        unknown.verdicts.is_empty() && unknown.calls.is_empty(),
        "{unknown:?}"
    );
    // What GitHub did not show is said too, and nothing is an attempt where nothing is known.
    let mut unread = past(&play(3, &[PAY], &[&["a"]]));
    unread
        .heads
        .iter_mut()
        .for_each(|head| head.recorded = None);
    let (what, reason) = ("the recorded attempts".to_owned(), "no".to_owned());
    unread.last.problems.push(ObservationProblem {
        what: what.clone(),
        reason,
    });
    let mut compared = WhatIf::new();
    compared.add(&unread, &own(), &own());
    assert!(
        compared.unknown.contains_key(&Unknown::Unread(what)),
        "{compared:?}"
    );
    assert_eq!((compared.scores_was.of, compared.unknown.len()), (0, 4));
}

/// An approval given while the checks ran binds to the head that was pushed before it.
#[test]
fn a_head_is_there_before_its_checks_end() {
    let mut past = past(&play(1, &[AUTH], &[&[]]));
    let began = past.last.pull_request.created_at + TimeDelta::minutes(10);
    let ended = began + TimeDelta::minutes(30);
    let head = &mut past.heads[0];
    head.recorded = None;
    head.checks = vec![ExternalCheck {
        id: None,
        name: "CI".to_owned(),
        app: None,
        progress: CheckProgress::Completed {
            conclusion: Conclusion::Success,
            at: Some(ended),
        },
        started_at: Some(began),
        url: None,
        annotations: Vec::new(),
        summary: None,
        output: None,
    }];
    past.last.pull_request.closed_at = Some(ended + TimeDelta::minutes(5));
    let judged = past.judge(|head| own().with_checks_of(&head.checks));
    let stages: Vec<bool> = judged
        .iter()
        .map(|judged| judged.decision.attempt.is_some())
        .collect();
    assert_eq!(
        stages,
        [false, true, false],
        "the attempt is counted when its checks have ended"
    );
}
