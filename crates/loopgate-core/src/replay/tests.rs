use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;

use super::*;
use crate::{
    evidence::{CheckKind, Outcome, RetryClass},
    fixtures::{Story, evidence, gate_name, gate_with, login, paths, person, policy_with, sha},
    ids::GateName,
    observed::{BaseEvidence, ChangedFiles, NamedAccount, ReceivedEvidence},
    policy::{
        Baseline, EscalationAction, GateTrigger, LineCondition, LinePatterns, OnMax, Pattern, Policy, Rule, RuleCheck,
        Severity, Trigger, TriggerPolicy,
    },
    state::{
        VerificationResult,
        history::{Escalated, Event},
    },
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

fn lines(pattern: &str) -> LineCondition {
    LineCondition {
        patterns: LinePatterns::new(vec![Pattern::parse(pattern).unwrap()]),
        code_only: true,
        ..LineCondition::default()
    }
}

/// What governed the recorded runs: two checks and a scan, three gates.
fn recorded_under() -> Policy {
    let checks = [
        ("build", CheckKind::Build, "cargo build"),
        ("unit", CheckKind::Test, "cargo test"),
        ("scan", CheckKind::Custom, "scan"),
    ];
    let mut policy = policy_with(&checks);
    let gates = [
        ("secrets", GateTrigger::AddedLines(lines("password"))),
        ("billing", GateTrigger::All(vec![paths("src/billing/**"), GateTrigger::RemovedLines(lines("charge"))])),
        ("large", GateTrigger::Size { lines: Some(4), files: None }),
    ];
    policy.gates = gates.map(|(name, trigger)| (gate_name(name), gate_with(trigger, &["bob"]))).into();
    policy
}

/// Other configurations, each with what it changes.
fn others() -> Vec<(&'static str, Policy)> {
    let with = |change: fn(&mut Policy)| {
        let mut policy = recorded_under();
        change(&mut policy);
        policy
    };
    vec![
        ("the same", recorded_under()),
        ("fewer attempts", with(|policy| policy.retry.max_attempts = 2)),
        ("errors may repeat", with(|policy| (policy.retry.same_error, policy.retry.max_attempts) = (5, 9))),
        ("nobody at the limit", with(|policy| (policy.retry.on_max, policy.retry.same_error) = (OnMax::Fail, 9))),
        ("no scan", with(|policy| policy.verify.checks.retain(|name, _| name.as_str() != "scan"))),
        (
            "a scan that blocks",
            with(|policy| {
                policy.verify.checks.get_mut(&"scan".parse::<crate::CheckName>().unwrap()).unwrap().kind =
                    CheckKind::Lint;
            }),
        ),
        ("what the base fails is excused", with(|policy| policy.retry.baseline = Baseline::New)),
        (
            "the same error is only flagged",
            with(|policy| {
                let flagged = TriggerPolicy { action: EscalationAction::FlagAndContinue, to: Vec::new() };
                policy.escalation.triggers.insert(Trigger::SameError, flagged);
            }),
        ),
        (
            "other gates",
            with(|policy| {
                let gates = [
                    ("secrets", GateTrigger::Not(Box::new(GateTrigger::AddedLines(lines("password"))))),
                    ("billing", paths("src/billing/**")),
                    ("large", GateTrigger::Size { lines: Some(40), files: Some(2) }),
                    ("documents", paths("docs/**")),
                ];
                policy.gates = gates.map(|(name, trigger)| (gate_name(name), gate_with(trigger, &["bob"]))).into();
            }),
        ),
        (
            "small changes only",
            with(|policy| {
                let check = RuleCheck::Size { max_lines: Some(4), max_files: None };
                let (severity, phase) = (Severity::Fail, crate::policy::Phase::A);
                let id = "small".parse().unwrap();
                policy.evaluate.rules =
                    vec![Rule { id, description: String::new(), severity, weight: 2.0, phase, check }];
            }),
        ),
    ]
}

/// Plays story number `seed`: pushes of changing diffs that fail and pass, and a resume now and then.
fn play(seed: u64, policy: &Policy) -> Story {
    let mut numbers = Numbers(seed);
    let mut story = Story::opened();
    story.policy = policy.clone();
    story.snapshot.pull_request.number = crate::PrNumber::new(seed + 1);
    story.state = crate::state::LoopState::begin(&story.snapshot, policy, story.now);
    let bob = person(2, "bob");
    story.snapshot.authority.logins.insert(login("bob"), NamedAccount::Known(bob));
    let ReceivedEvidence::Accepted(base) = evidence(sha(0xba), &["b"], &["z"]) else { unreachable!() };
    let checks = base.checks.into_iter().map(|check| (check.name.clone(), check)).collect();
    story.snapshot.base_evidence = Some(BaseEvidence { sha: sha(0xba), checks, coverage: None });
    for head in 1..=2 + numbers.below(6) {
        let head = u8::try_from(head).unwrap();
        let file = |path: &str, patch: &str| crate::fixtures::changed_file(path, patch);
        let mut files = vec![file("src/lib.rs", "@@ -1 +1 @@\n-old\n+new")];
        match numbers.below(6) {
            0 => files.push(file("src/auth.rs", "@@ -1 +1 @@\n-a\n+let password = 1;")),
            1 => files.push(file("src/auth.rs", "@@ -1 +1 @@\n-a\n+// password")),
            2 => files.push(file("src/billing/pay.rs", "@@ -1 +1 @@\n-charge(1);\n+pay(1);")),
            3 => files.push(file("src/billing/pay.rs", "@@ -1 +1 @@\n-a\n+b")),
            4 => files.extend(["docs/a.md", "tests/a.rs"].map(|path| file(path, "@@ -1 +1 @@\n-a\n+b"))),
            _ => {}
        }
        story.snapshot.files = ChangedFiles::Complete(files);
        story.set_head(head);
        story.decide();
        let failing: &[&str] = [&["a"][..], &["a"], &["b"], &["a", "b"], &[], &[]][numbers.below(6) as usize];
        let mut received = evidence(sha(head), failing, &["z"]);
        let ReceivedEvidence::Accepted(document) = &mut received else { unreachable!() };
        let mut scan = document.checks[0].clone();
        (scan.name, scan.kind) = ("scan".parse().unwrap(), CheckKind::Custom);
        scan.outcome = if numbers.below(3) == 0 { Outcome::Failed } else { Outcome::Passed };
        document.checks.push(scan);
        if numbers.below(5) == 0 {
            document.checks[1].outcome = if failing.is_empty() { Outcome::Passed } else { Outcome::TimedOut };
        }
        story.snapshot.evidence = vec![received];
        story.decide();
        if numbers.below(4) == 0 {
            story.now += TimeDelta::minutes(1);
            story.comment("bob", "/loop resume");
        }
    }
    story
}

fn recorded(story: &Story) -> RecordedRun {
    let attempt = |(number, record): (&u32, &crate::deciding::AttemptRecord)| {
        // As it is written and read.
        let basis = serde_json::to_value(&record.basis).unwrap();
        let basis = Some(serde_json::from_value(basis).unwrap());
        (*number, RecordedAttempt { checks: record.checks.clone(), coverage: record.coverage.clone(), basis })
    };
    RecordedRun {
        state: story.state.clone(),
        history: story.history.clone(),
        attempts: story.attempts.iter().map(attempt).collect(),
    }
}

/// What is compared of a run: its gates, how each attempt ended, and whom it called when.
type Facts = (BTreeSet<GateName>, Vec<(u32, VerificationResult, String, Option<RetryClass>)>, Vec<(Trigger, u32)>);

fn facts_of(story: &Story) -> Facts {
    let gates = story.attempts.values().flat_map(|attempt| attempt.basis.gates.clone()).collect();
    let calls = story.history.iter().filter_map(|line| match &line.event {
        Event::Escalated(Escalated::PullRequest { blocked: Some(blocked), .. }) => {
            Some((blocked.trigger, blocked.attempt))
        }
        _ => None,
    });
    (gates, attempts(&story.state.attempts), calls.collect())
}

fn attempts(of: &[crate::state::AttemptDigest]) -> Vec<(u32, VerificationResult, String, Option<RetryClass>)> {
    of.iter().map(|it| (it.number, it.result, it.score.to_string(), it.retry_class)).collect()
}

#[test]
fn thirty_recorded_runs_come_to_what_running_them_again_comes_to() {
    let stories: Vec<Story> = (0..30).map(|seed| play(seed, &recorded_under())).collect();
    let mut differing = BTreeMap::new();
    for (change, policy) in others() {
        for (seed, story) in (0..).zip(&stories) {
            let replayed = replay(&recorded(story), &policy, &BTreeSet::new());
            assert_eq!(replayed.unknown, BTreeSet::new(), "{change}, {seed}");
            let got = (replayed.gates, attempts(&replayed.attempts), replayed.calls);
            assert_eq!(got, facts_of(&play(seed, &policy)), "{change}, {seed}");
            if got != facts_of(story) {
                *differing.entry(change).or_insert(0) += 1;
            }
        }
    }
    // Each of the others makes a difference, and the same makes none.
    assert_eq!(differing.len(), others().len() - 1, "{differing:?}");
    assert!(!differing.contains_key("the same"));
}

#[test]
fn the_differences_name_the_runs() {
    let runs: Vec<RecordedRun> = (0..30).map(|seed| recorded(&play(seed, &recorded_under()))).collect();
    assert_eq!(what_if(&runs, &recorded_under()).gates, BTreeMap::new());
    let told = what_if(&runs, &recorded_under());
    assert!(told.calls.is_empty() && told.verdicts.is_empty() && told.attempts_was == told.attempts_would, "{told:?}");
    let others = others();
    let other = |name: &str| &others.iter().find(|(change, _)| *change == name).unwrap().1;
    let gates = what_if(&runs, other("other gates")).gates;
    let facts =
        |policy: &Policy| -> Vec<BTreeSet<GateName>> { (0..30).map(|it| facts_of(&play(it, policy)).0).collect() };
    let (was, would) = (facts(&recorded_under()), facts(other("other gates")));
    for gate in ["secrets", "billing", "large", "documents"].map(gate_name) {
        let expected = |more: &[BTreeSet<GateName>], than: &[BTreeSet<GateName>]| -> Vec<String> {
            let numbered = (1..).zip(more.iter().zip(than));
            let extra = numbered.filter(|(_, (more, than))| more.contains(&gate) && !than.contains(&gate));
            extra.map(|(number, _)| format!("#{number}")).collect()
        };
        let changes = gates.get(&gate).cloned().unwrap_or_default();
        assert_eq!((changes.more, changes.fewer), (expected(&would, &was), expected(&was, &would)), "{gate}");
    }
    let dropped = what_if(&runs, other("no scan")).dropped_checks;
    let recorded_attempts: usize = runs.iter().map(|run| run.attempts.len()).sum();
    assert_eq!(dropped.values().map(|it| it.runs as usize).collect::<Vec<_>>(), [recorded_attempts]);
}

#[test]
fn what_was_not_recorded_is_said_and_never_guessed() {
    let runs: Vec<RecordedRun> = (0..30).map(|seed| recorded(&play(seed, &recorded_under()))).collect();
    let mut policy = recorded_under();
    policy.gates.get_mut(&gate_name("secrets")).unwrap().trigger = GateTrigger::AddedLines(lines("token"));
    let checks = policy_with(&[("fuzz", CheckKind::Test, "fuzz")]).verify.checks;
    policy.verify.checks.extend(checks);
    let check = RuleCheck::MustNotAppear { pattern: Pattern::parse("todo").unwrap(), paths: Vec::new() };
    let (severity, phase, id) = (Severity::Fail, crate::policy::Phase::A, "no_todo".parse().unwrap());
    policy.evaluate.rules = vec![Rule { id, description: String::new(), severity, weight: 1.0, phase, check }];
    let told = what_if(&runs, &policy);
    let unknown: Vec<_> = told.unknown.iter().map(|(what, runs)| (what.clone(), runs.len())).collect();
    assert_eq!(
        unknown,
        [
            (Unreplayable::Check("fuzz".parse().unwrap()), 30),
            (Unreplayable::Gate(gate_name("secrets")), 30),
            (Unreplayable::Rule("no_todo".parse().unwrap()), 30),
        ]
    );
    assert_eq!(told.gates.get(&gate_name("secrets")), None, "nothing is said of it either way");
    assert!(told.verdicts.is_empty(), "{:?}", told.verdicts);
    // What was written before there was a basis, and a diff too long to be kept.
    let mut old = runs[0].clone();
    old.attempts.values_mut().for_each(|attempt| attempt.basis = None);
    assert!(what_if(&[old], &policy).unknown.contains_key(&Unreplayable::OldRecord));
    let mut cut = runs[0].clone();
    for attempt in cut.attempts.values_mut() {
        attempt.basis = attempt.basis.as_ref().map(|basis| basis.shortened(0));
    }
    let other = what_if(&[cut], &others()[8].1);
    assert!(other.unknown.contains_key(&Unreplayable::Gate(gate_name("documents"))), "{other:?}");
}
