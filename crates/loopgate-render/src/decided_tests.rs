//! The texts of real decisions: every cause of a call for a human, and how rules fail. The situations of the other
//! tests are set up by hand; these are decided.

use chrono::TimeDelta;

use super::*;
use loopgate_core::{
    evidence::{
        ChangedCoverage, CheckEvidence, CheckKind, Failure, Finding, FindingSeverity, Outcome,
    },
    fixtures::{Story, evidence, sha},
    observed::{ReceivedEvidence, ReviewVerdict},
    policy::{
        AddedPattern, FileGlob, Fixer, NameGlob, NonEmpty, Pattern, Phase, RequiredTest, Rule,
        RuleCheck, Severity, UpTo, Whole,
    },
};

macro_rules! shown {
    ($name:expr, $text:expr) => {
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!($name, $text)
        })
    };
}

/// The call for a human, and causes that are only flagged.
fn calls(story: &Story) -> String {
    let decision = story.last.as_ref().unwrap();
    let rendered = pull_request(decision, &story.snapshot, &story.policy, None);
    let mut announcements = rendered.announcements.into_iter();
    let call = announcements.find(|(key, _)| key.starts_with("escalation:"));
    let called = call.map_or_else(
        || "Nobody is called.\n".to_owned(),
        |(_, call)| {
            let from = call.text.find("Why:").unwrap_or_default();
            format!(
                "{}\n{}",
                call.subject,
                call.text[from..].replace(
                    "\nThe whole report, and how to resume, is on the pull request.\n",
                    ""
                )
            )
        },
    );
    let flags = decision
        .view
        .flags
        .keys()
        .map(|trigger| super::words::trigger(*trigger));
    let visible = rendered.status_comment.lines();
    let flags = flags.filter_map(|flag| {
        visible
            .clone()
            .find(|line| line.contains(&format!("{flag}: ")))
    });
    format!(
        "{called}{}",
        flags
            .map(|line| format!("Flag: {line}\n"))
            .collect::<String>()
    )
}

fn rules(story: &Story) -> String {
    let (decision, snapshot, policy) =
        (story.last.as_ref().unwrap(), &story.snapshot, &story.policy);
    let page = explain(&Subject::new(decision, snapshot, policy));
    page.lines()
        .filter(|line| line.contains("❌") && line.contains("weight"))
        .collect::<Vec<_>>()
        .join("\n")
}

fn unit(story: &mut Story) -> &mut CheckEvidence {
    let Some(ReceivedEvidence::Accepted(evidence)) = story.snapshot.evidence.last_mut() else {
        panic!("no evidence")
    };
    evidence.checks.last_mut().unwrap()
}

/// One failing push after the other, each with the evidence of `unit` changed so.
fn failing(story: &mut Story, errors: &[&str], change: impl Fn(&mut CheckEvidence)) {
    for (head, error) in (1..).zip(errors) {
        story.set_head(head);
        story.decide();
        story.snapshot.evidence = vec![evidence(sha(head), &[error], &[])];
        change(unit(story));
        story.decide();
    }
}

fn kind(story: &mut Story, kind: CheckKind) {
    story
        .policy
        .verify
        .checks
        .get_mut(&"unit".parse::<loopgate_core::CheckName>().unwrap())
        .unwrap()
        .kind = kind;
}

#[test]
fn a_rule_that_no_check_stands_for_is_named_with_what_to_do() {
    let mut story = Story::opened();
    story.snapshot.pull_request.title = "fix: the sum".into();
    if let loopgate_core::observed::ChangedFiles::Complete(files) = &mut story.snapshot.files {
        files.retain(|file| file.path == "src/lib.rs");
    }
    story.push(1, &[], &["a"]);
    let told = terminal_report(
        story.last.as_ref().unwrap(),
        &story.snapshot,
        &story.policy,
        false,
        false,
    );
    let says = |line: &str| told.lines().any(|told| told == line);
    assert!(
        says("tests_added: add or change a test that covers the changed code"),
        "{told}"
    );
    assert!(
        told.lines()
            .last()
            .is_some_and(|last| last.contains("failed: tests_added")),
        "{told}"
    );
}

#[test]
fn every_cause_of_a_call() {
    let mut said = String::new();
    let mut tell = |name: &str, play: &dyn Fn(&mut Story)| {
        let mut story = Story::opened();
        play(&mut story);
        said.push_str(&format!("## {name}\n{}\n", calls(&story)));
    };
    tell("security", &|story| {
        kind(story, CheckKind::Security);
        failing(story, &["a"], |unit| unit.kind = CheckKind::Security);
    });
    tell("tampering", &|story| {
        story.touch("tests/round.rs", "#[ignore]");
        story.push(1, &[], &["rounds"]);
    });
    tell("tampering, twice", &|story| {
        story.touch("tests/round.rs", "#[ignore]");
        if let loopgate_core::observed::ChangedFiles::Complete(files) = &mut story.snapshot.files {
            let weakened = files
                .iter()
                .find(|file| file.path == "tests/round.rs")
                .unwrap()
                .clone();
            files.push(loopgate_core::observed::ChangedFile {
                path: "tests/square.rs".to_owned(),
                ..weakened
            });
        }
        story.push(1, &[], &["rounds"]);
    });
    tell("regression", &|story| {
        story.push(1, &["a"], &["b", "c", "d", "e"]);
        story.push(2, &["b", "c", "d", "e"], &["a"]);
    });
    tell("regression with two sides", &|story| {
        story.push(1, &["a"], &["b"]);
        story.set_head(2);
        story.snapshot.evidence = vec![evidence(sha(2), &["b"], &["a"])];
        let failure = &mut unit(story).failures[0];
        (failure.expected, failure.actual) = (Some("2".to_owned()), Some("3".to_owned()));
        story.decide();
    });
    tell("circle", &|story| failing(story, &["a", "b", "a"], |_| {}));
    tell("old code again", &|story| {
        story.push(1, &["a"], &[]);
        let tree = story.snapshot.pull_request.head.tree;
        story.push(2, &["b"], &[]);
        story.set_head(3);
        story.snapshot.pull_request.head.tree = tree;
        story.snapshot.evidence = vec![evidence(sha(3), &["c"], &[])];
        story.decide();
    });
    tell("same error", &|story| {
        failing(story, &["a", "a", "a"], |_| {})
    });
    tell("same error with two sides", &|story| {
        failing(story, &["a", "a", "a"], |unit| {
            let failure = &mut unit.failures[0];
            (failure.expected, failure.actual) = (Some("2".to_owned()), Some("3".to_owned()));
        });
    });
    tell("too many failures", &|story| {
        story.policy.retry.total_failures = 1;
        story.push(1, &["a"], &[]);
    });
    tell("attempts used up", &|story| {
        failing(story, &["a", "b", "c"], |_| {})
    });
    tell("attempts used up, one error", &|story| {
        (
            story.policy.retry.max_attempts,
            story.policy.retry.same_error,
        ) = (2, 9);
        failing(story, &["a", "a"], |_| {});
    });
    tell("nothing is retried", &|story| {
        story.policy.retry.auto_retry_on_test_fail = false;
        story.push(1, &["a"], &[]);
    });
    tell("a review is not answered automatically", &|story| {
        story.policy.retry.auto_retry_on_review_reject = false;
        story.snapshot.required_approvals = 1;
        story.push(1, &[], &["rounds"]);
        story.review(ReviewVerdict::ChangesRequested, "Use the vault");
    });
    tell("stagnation", &|story| {
        kind(story, CheckKind::Custom);
        (
            story.policy.retry.max_attempts,
            story.policy.retry.same_error,
        ) = (9, 9);
        story.policy.evaluate.no_major_issues.clear();
        failing(story, &["a", "b", "c"], |unit| {
            unit.kind = CheckKind::Custom
        });
    });
    tell("a check does not end", &|story| {
        failing(story, &["a"], |unit| unit.outcome = Outcome::TimedOut)
    });
    tell("no evidence", &|story| {
        story.decide();
        story.now += TimeDelta::minutes(90);
        story.decide();
        story.now += TimeDelta::minutes(60);
        story.decide();
    });
    tell("a service is down", &|story| {
        let down = |unit: &mut CheckEvidence| {
            unit.failures = vec![Failure {
                error_message: "Could not resolve host: registry.npmjs.org".to_owned(),
                ..Failure::default()
            }];
        };
        failing(story, &["a"], down);
        for _ in 0..30 {
            story.now += TimeDelta::minutes(30);
            story.decide();
        }
    });
    tell("the fixer's budget", &|story| {
        story.policy.fixer.fixer = Fixer::Mention("copilot".parse().unwrap());
        story.policy.fixer.budget.attempts = Some(loopgate_core::policy::Whole(1));
        failing(story, &["a", "b"], |_| {});
    });
    tell("gates", &|story| {
        story.gate("security", "bob");
        story.gate("legal", "bob");
        story.push(1, &[], &["rounds"]);
        story.now += TimeDelta::hours(73);
        story.decide();
    });
    tell("coverage", &|story| {
        kind(story, CheckKind::Coverage);
        story.policy.evaluate.no_major_issues.clear();
        failing(story, &["a", "b"], |unit| unit.kind = CheckKind::Coverage);
    });
    tell("no change", &|story| {
        story.push(1, &["a"], &[]);
        let tree = story.snapshot.pull_request.head.tree;
        story.set_head(2);
        story.snapshot.pull_request.head.tree = tree;
        story.snapshot.evidence = vec![evidence(sha(2), &["b"], &[])];
        story.decide();
    });
    tell("no explanation", &|story| {
        failing(story, &["a", "b"], |unit| unit.failures.clear())
    });
    shown!("decided_calls", said);
}

fn own(id: &str, check: RuleCheck) -> Rule {
    let (description, severity) = (format!("rule {id}"), Severity::Fail);
    Rule {
        id: id.parse().unwrap(),
        description,
        severity,
        weight: None,
        phase: Phase::A,
        check,
    }
}

#[test]
fn how_rules_fail() {
    let mut said = String::new();
    let mut tell = |name: &str, play: &dyn Fn(&mut Story)| {
        let mut story = Story::opened();
        play(&mut story);
        let feedback = feedback(&story.last.as_ref().unwrap().view.feedback, 500);
        let feedback = feedback.iter().map(|item| {
            format!(
                "{}\n",
                format!("{}: {} {}", item.location, item.problem, item.action).trim_end()
            )
        });
        said.push_str(&format!(
            "## {name}\n{}\n\n{}\n",
            rules(&story),
            feedback.collect::<String>()
        ));
    };
    tell("own rules", &|story| {
        let glob = |glob: &str| NonEmpty(vec![FileGlob(NameGlob::path(glob).unwrap())]);
        let pattern = |text: &str| AddedPattern {
            pattern: Pattern::parse(text).unwrap(),
            paths: Vec::new(),
        };
        story.policy.evaluate.rules = vec![
            own("ratio", RuleCheck::PassedRatio(UpTo(0.9))),
            own(
                "findings",
                RuleCheck::Findings {
                    severity: FindingSeverity::Low,
                    most: None,
                },
            ),
            own(
                "together",
                RuleCheck::ChangeTogether {
                    changed: glob("src/**"),
                    also: glob("docs/**"),
                },
            ),
            own("appear", RuleCheck::MustAppear(pattern("license"))),
            own("not_appear", RuleCheck::MustNotAppear(pattern("new"))),
            own(
                "size",
                RuleCheck::Size {
                    max_lines: Some(Whole(1)),
                    max_files: None,
                },
            ),
        ];
        story.set_head(1);
        story.decide();
        story.snapshot.evidence = vec![evidence(sha(1), &["a"], &["b"])];
        unit(story).findings = vec![Finding {
            rule: "sql".to_owned(),
            severity: FindingSeverity::High,
            message: "injection".to_owned(),
            location: None,
        }];
        story.decide();
    });
    tell("a check with two failures", &|story| {
        drop(story.push(1, &["a", "b"], &[]).clone())
    });
    tell("a silent check", &|story| {
        failing(story, &["a"], |unit| unit.failures.clear())
    });
    tell("a check that ran too long", &|story| {
        failing(story, &["a"], |unit| unit.outcome = Outcome::TimedOut)
    });
    tell("a check without tests", &|story| {
        failing(story, &["a"], |unit| {
            unit.outcome = Outcome::NoTestsExecuted
        });
    });
    tell("a check that never came", &|story| {
        story.decide();
        story.now += TimeDelta::minutes(90);
        story.decide();
    });
    tell("tests and coverage", &|story| {
        story.set_head(1);
        if let loopgate_core::observed::ChangedFiles::Complete(files) = &mut story.snapshot.files {
            files.truncate(1);
        }
        let names = vec![
            Pattern::parse("edge").unwrap(),
            Pattern::parse("corner").unwrap(),
        ];
        story
            .policy
            .coverage
            .test_names
            .insert(RequiredTest::EdgeCases, names);
        story.decide();
        let mut received = evidence(sha(1), &[], &["b"]);
        if let ReceivedEvidence::Accepted(evidence) = &mut received {
            evidence.coverage = Some(ChangedCoverage {
                lines_covered: 1,
                lines_total: 10,
                changed_total: 1,
                uncovered: ["src/lib.rs:1"].map(str::to_owned).into(),
                ..ChangedCoverage::default()
            });
        }
        story.snapshot.evidence = vec![received];
        story.decide();
    });
    shown!("decided_rules", said);
}
