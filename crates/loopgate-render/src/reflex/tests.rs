use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;

use super::*;
use crate::fixtures;
use loopgate_core::{
    observed::CodeType,
    policy::Phase,
    reflex::{Ask, FixMaker, Major, ReflexState, Senior, Settings, Spent},
    state::{AttemptDigest, Blocked, EvaluationSummary, RunStatus, VerificationResult},
};

fn settings() -> Settings {
    Settings {
        task_type: CodeType::BugFix,
        mandatory: Vec::new(),
        threshold_a: loopgate_core::Score::from_ratio(0.8, 1.0),
        threshold_b: loopgate_core::Score::from_ratio(0.9, 1.0),
        major: Major::Fail,
        limit: 4,
        checks: Vec::new(),
        produce: None,
        document: None,
        fix_command: None,
        config: None,
        base: None,
    }
}

/// A loop whose fixer deleted a test in its second iteration.
fn blocked() -> LoopState {
    let mut state = fixtures::state();
    state.run.pull_request = None;
    state.run.alias = "fix-the-sum".into();
    state.run.task.prompt = "fix: the sum is wrong".into();
    state.head.branch = "main".into();
    state.run.status = RunStatus::Escalated;
    state.run.iteration = 2;
    state.run.max_iterations = 4;
    state.run.id = "fix-the-sum-20261120-101500".into();
    let attempt = |number: u32, score: f64| AttemptDigest {
        number,
        head_sha: loopgate_core::Sha::from_bytes([u8::try_from(number).unwrap(); 20]),
        tree_hash: String::new(),
        at: state.run.created_at,
        result: VerificationResult::Fail,
        blame: None,
        score: loopgate_core::Score::from_ratio(score, 1.0),
        phase: loopgate_core::policy::Phase::A,
        failed_rules: vec!["unit".parse().unwrap()],
        failed_checks: vec!["unit".parse().unwrap()],
        fingerprints: Default::default(),
        failing_tests: Default::default(),
        tests: None,
        flaky: Default::default(),
        lacking: Default::default(),
        coverage: None,
        rejections: Default::default(),
        memory_matches: None,
        regressed: Default::default(),
        retry_class: None,
        disputed: false,
        weakened: false,
        named_places: BTreeSet::new(),
        with_results: BTreeMap::new(),
        total_tests: None,
        summary: "unit: adds — expected 6, got 7".into(),
    };
    let digest = attempt(2, 0.5);
    state.attempts.counted = vec![attempt(1, 0.25), attempt(2, 0.5)];
    state.head.sha = digest.head_sha;
    state.head.evaluation = Some(EvaluationSummary {
        score: digest.score,
        passed: false,
        failed_rules: digest.failed_rules.clone(),
        warnings: vec!["tests_added".parse().unwrap()],
    });
    state.run.critique = Some(vec![
        "unit: calc.sh:3: adds: the sum begins at 1 → Begin it at 0.".into(),
    ]);
    state.people.blocked = Some(Blocked {
        trigger: Trigger::Tampering,
        also: Vec::new(),
        attempt: 2,
        call: 1,
        head_sha: digest.head_sha,
        since: state.run.created_at + TimeDelta::minutes(2),
    });
    state.run.reflex = Some(ReflexState {
        settings: settings(),
        began_at: state.head.sha,
        broken: None,
        calling: None,
        fixes: vec![FixRecord {
            iteration: 1,
            by: FixMaker::Fixer,
            head_sha: digest.head_sha,
            subject: "fix(calc): start at 0".into(),
            description: "Start at 0".into(),
            diff_summary: "+1/-1".into(),
            files_modified: vec!["calc.sh".into()],
            outside_scope: vec!["README.md".into()],
            proven: Vec::new(),
            cost_usd: Some(0.25),
        }],
        spent: Spent {
            calls: 2,
            wall_ms: 92_000,
            cost_usd: 0.5,
        },
        senior: Senior::NotAsked,
        notes: vec!["tests/test_calc.sh has 1 test fewer (test_adds)".into()],
        refused_diff: Some("-test_adds() {\n-}".into()),
        ask: Some(Ask {
            question: "Is it meant?".into(),
            options: vec!["Yes.".into(), "No.".into()],
        }),
        distance_to_success: None,
    });
    state
}

#[test]
fn the_whole_report_of_a_blocked_loop() {
    let shown = loop_report(&blocked(), false);
    for line in [
        "fix-the-sum: blocked: tests or configuration were tampered with — you decide",
        "Task       fix: the sum is wrong",
        "Score      0.50 in phase A",
        "Spent      2 calls of the fixer, 1 min 32 s, 0.50 USD",
        "State      refs/loopgate/task/fix-the-sum",
        "  1  01010101  A  0.25  failed  unit: adds — expected 6, got 7",
        "     └ 02020202 fix(calc): start at 0 (fixer, 0.25 USD)  +1/-1 calc.sh",
        "       outside the failing scope: README.md",
        "Failed     unit",
        "Warnings   tests_added",
        "  - unit: calc.sh:3: adds: the sum begins at 1 → Begin it at 0.",
        "🚫 BLOCKED: tests or configuration were tampered with",
        "  tests/test_calc.sh has 1 test fewer (test_adds)",
        "  | -test_adds() {",
        "Question: Is it meant?",
        "  2. No.",
        "  loopgate loop resume fix-the-sum --accept tampering   takes the edits as they are",
    ] {
        assert!(
            shown.lines().any(|shown| shown == line),
            "`{line}` is missing in:\n{shown}"
        );
    }
}

#[test]
fn the_report_says_no_more_than_is_so() {
    let lines = |state: &LoopState| loop_report(state, false);
    let mut state = blocked();
    state.head.branch = "0123abcd".into();
    assert!(lines(&state).contains("Where      no branch at 02020202\n"));
    assert!(
        lines(&state).contains("Score      0.50 in phase A\n"),
        "nothing better was there"
    );
    let worse = state.attempts.counted[0].score;
    state.attempts.counted[0].score = loopgate_core::Score::try_from(0.75).unwrap();
    assert!(
        lines(&state)
            .contains("Score      0.50 in phase A (best: 0.75 in iteration 1, 01010101)\n")
    );
    state.attempts.counted[0].score = worse;
    state.run.phase = Phase::B;
    assert!(
        lines(&state).contains("Score      0.50 in phase A\n"),
        "phase B has not been evaluated yet"
    );
    assert!(!lines(&state).contains("loop new"), "it can be resumed");
    state.run.status = RunStatus::Stopped;
    assert!(
        lines(&state).ends_with(
            "begin another: loopgate loop new. Commits made here stay on your branch.\n"
        )
    );
}

#[test]
fn columns_are_those_of_the_contract() {
    let shown = loop_status(&blocked());
    let words = |line: &str| {
        line.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        words(shown.lines().next().unwrap()),
        [
            "alias",
            "status",
            "iteration",
            "phase",
            "current_step",
            "last_score",
            "updated_at"
        ]
    );
    let mut running = blocked();
    running.run.status = RunStatus::InProgress;
    let listed = loop_list(&[blocked(), running], Some("fix-the-sum"));
    assert_eq!(
        words(listed.lines().next().unwrap()),
        ["alias", "status", "iteration", "last_score", "updated_at"]
    );
    assert!(
        listed.lines().nth(2).unwrap().contains("running"),
        "{listed}"
    );
    assert!(
        listed.ends_with("\nThe active one is fix-the-sum: commands without an alias mean it.\n"),
        "{listed}"
    );
    assert!(
        !loop_list(&[blocked()], Some("fix-the-sum")).contains("active"),
        "there is no other"
    );
}

#[test]
fn what_a_fixer_says_cannot_drive_the_terminal() {
    let mut state = blocked();
    let reflex = state.run.reflex.as_mut().unwrap();
    reflex.notes = vec!["a\u{1b}[2Jb\u{202e}".into()];
    reflex.refused_diff = Some("+\u{1b}]0;title\u{7}\u{9b}31m".into());
    reflex.fixes[0].subject = "x\u{1b}[31m\ny".into();
    state.run.critique = Some(vec!["\u{1b}c".into()]);
    let shown = loop_report(&state, false);
    assert!(
        !shown.chars().any(|c| c.is_control() && c != '\n'),
        "{shown:?}"
    );
}
