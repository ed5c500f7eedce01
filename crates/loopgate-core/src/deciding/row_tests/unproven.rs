//! Checks that end well although nothing shows that their tests ran: skipped jobs, and results by test that are lost.

use super::*;
use crate::{
    concerns::checks::{SkipCause, filters},
    evidence::{OutcomesExtent, ReportFormat, ReportNote, ReportQuality, TestOutcomes},
    observed::Content,
    workflow::FilterKey,
};

/// A job of a workflow run that ended so.
fn job(story: &mut Story, name: &str, run: u64, conclusion: Conclusion) {
    let number = story.snapshot.checks.len() as u64 + 1;
    let job = job_of(run, number, name, conclusion);
    story.snapshot.checks.push(job);
}

/// The tests are a followed job, which was skipped.
fn skipped(path: &str) -> Story {
    let mut story = external(&[]);
    story.snapshot.files = ChangedFiles::Complete(vec![changed_file(path, "+a")]);
    job(&mut story, "ci / test", 7, Conclusion::Skipped);
    story
}

fn waits_for(story: &mut Story) -> Option<SkipCause> {
    match standing(story.decide(), "unit") {
        CheckStanding::AwaitsRelease { cause, .. } => Some(cause.clone()),
        CheckStanding::NotApplicable { .. } => None,
        other => panic!("{other:?}"),
    }
}

/// The tests are a followed job that nothing is heard of; the file at the base is this.
fn silent(path: &str, workflow: &str) -> Story {
    let mut story = external(&[]);
    let file = ".github/workflows/ci.yml".to_owned();
    story.policy.verify.workflows = vec![file.clone()];
    story.snapshot.files = ChangedFiles::Complete(vec![changed_file(path, "+a")]);
    let at = (story.snapshot.pull_request.base.sha, file);
    let text = Content::Text(workflow.into());
    story.snapshot.contents.texts.insert(at, text);
    story
}

const DOCS_IGNORED: &str = "\
on: { pull_request: { paths-ignore: ['docs/**', '*.md'] } }
jobs: { t: { name: ci / test } }";

#[test]
fn a_check_whose_workflow_a_filter_keeps_away_is_as_one_whose_job_was_skipped() {
    let mut docs = silent("docs/a.md", DOCS_IGNORED);
    assert_eq!(waits_for(&mut docs), None);
    let CheckStanding::NotApplicable { job } = standing(docs.last.as_ref().unwrap(), "unit") else {
        panic!()
    };
    let by = job.filter.as_ref().map(|by| (by.workflow.as_str(), by.key));
    assert_eq!(by, Some(("ci.yml", FilterKey::PathsIgnore)));

    let narrow = DOCS_IGNORED.replace("paths-ignore: ['docs/**', '*.md']", "branches: [release/*]");
    let mut code = silent("src/lib.rs", &narrow);
    let expected = Some(SkipCause::NothingRan);
    assert_eq!(waits_for(&mut code), expected, "no pass for code");
}

#[test]
fn a_filter_that_may_let_a_workflow_start_is_waited_for() {
    let missing = |story: &mut Story, what: &str| {
        let found = standing(story.decide(), "unit");
        assert_eq!(*found, CheckStanding::Missing, "{what}");
    };
    missing(&mut silent("src/lib.rs", DOCS_IGNORED), "it starts");
    missing(&mut silent("docs/a.md", "on: [pull_request"), "no YAML");
    let other = DOCS_IGNORED.replace("ci / test", "another");
    missing(&mut silent("docs/a.md", &other), "no job of it");
    let mut several = silent("docs/a.md", DOCS_IGNORED);
    let second = ".github/workflows/all.yml".to_owned();
    several.policy.verify.workflows.push(second.clone());
    missing(&mut several, "one was not read");
    let at = (several.snapshot.pull_request.base.sha, second);
    let always = "on: pull_request\njobs: { t: { name: ci / test } }";
    let text = Content::Text(always.into());
    several.snapshot.contents.texts.insert(at.clone(), text);
    missing(&mut several, "another workflow has a job of that name");
    several.snapshot.contents.texts.insert(at, Content::Absent);
    assert_eq!(waits_for(&mut several), None);
    // What is there counts, whatever the filter says.
    job(&mut several, "ci / test", 7, Conclusion::Failure);
    assert!(matches!(
        standing(several.decide(), "unit"),
        CheckStanding::Done(_)
    ));
}

#[test]
fn workflows_are_read_while_nothing_is_heard_of_a_check() {
    let mut story = silent("docs/a.md", DOCS_IGNORED);
    let wanted = |story: &Story| {
        let seen = &story.snapshot;
        filters::files_to_read(seen, &story.policy).len()
    };
    assert_eq!(wanted(&story), 1);
    job(&mut story, "ci / test", 7, Conclusion::Success);
    story
        .policy
        .verify
        .checks
        .retain(|check, _| check == &name("unit"));
    assert_eq!(wanted(&story), 0);
}

#[test]
fn a_skipped_job_waits_with_its_reason_or_does_not_apply() {
    let mut behind = skipped("README.md");
    job(&mut behind, "build", 7, Conclusion::Failure);
    assert_eq!(
        waits_for(&mut behind),
        Some(SkipCause::Needs {
            failed: "build".to_owned()
        }),
        "a failed `needs:`"
    );
    let mut cancelled = skipped("README.md");
    job(&mut cancelled, "changes", 7, Conclusion::Cancelled);
    assert_eq!(
        waits_for(&mut cancelled),
        Some(SkipCause::Needs {
            failed: "changes".to_owned()
        })
    );
    let mut elsewhere = skipped("README.md");
    job(&mut elsewhere, "nightly", 8, Conclusion::Failure);
    assert_eq!(waits_for(&mut elsewhere), None, "another workflow run");
    assert_eq!(
        waits_for(&mut skipped("docs/a.md")),
        None,
        "`if:` behind a job that finds what changes"
    );
    assert_eq!(
        waits_for(&mut skipped("Cargo.toml")),
        Some(SkipCause::NothingRan),
        "`if: actor != 'dependabot[bot]'`"
    );
    assert_eq!(
        waits_for(&mut skipped("src/lib.rs")),
        Some(SkipCause::NothingRan)
    );
    let mut never = skipped("src/lib.rs");
    let on_base = CheckEvidence::bare(name("unit"), CheckKind::Test, Outcome::Skipped);
    let checks = [(name("unit"), on_base)].into();
    never.snapshot.base_evidence = Some(BaseEvidence {
        sha: sha(0xba),
        checks,
        coverage: None,
    });
    assert_eq!(waits_for(&mut never), None, "on the base it is skipped too");
    let mut neutral = external(&[]);
    job(&mut neutral, "ci / test", 7, Conclusion::Neutral);
    assert_eq!(waits_for(&mut neutral), Some(SkipCause::NothingRan));
    for (when, expected) in [
        (WhenSkipped::Pass, None),
        (WhenSkipped::Wait, Some(SkipCause::Configured)),
    ] {
        let mut story = skipped("src/lib.rs");
        let CheckSource::External(source) = &mut story.policy.verify.checks[&name("unit")].source
        else {
            panic!()
        };
        source.when_skipped = when;
        assert_eq!(waits_for(&mut story), expected, "{when:?}");
    }
}

#[test]
fn where_another_job_of_the_kind_ran_a_skipped_one_does_not_apply() {
    let mut shards = skipped("src/lib.rs");
    job(&mut shards, "ci / test 2", 7, Conclusion::Success);
    assert!(
        matches!(standing(shards.decide(), "unit"), CheckStanding::Done(_)),
        "a sharded or affected-only run"
    );
    let mut other = skipped("src/lib.rs");
    let also = CheckPolicy {
        source: other.policy.verify.checks[&name("build")].source.clone(),
        ..other.policy.verify.checks[&name("unit")].clone()
    };
    other.policy.verify.checks.insert(name("smoke"), also);
    let ReceivedEvidence::Accepted(document) = &mut other.snapshot.evidence[0] else {
        panic!()
    };
    document.checks.push(CheckEvidence::bare(
        name("smoke"),
        CheckKind::Test,
        Outcome::Passed,
    ));
    assert_eq!(waits_for(&mut other), None);
}

#[test]
fn a_skipped_job_is_waited_for_without_limit_until_somebody_else_releases_it() {
    let mut story = skipped("src/lib.rs");
    story.decide();
    story.now += TimeDelta::days(3);
    assert_eq!(
        story.decide().action,
        NextAction::WaitForEvidence {
            missing: vec![name("unit")]
        }
    );
    assert!(story.state.attempts.counted.is_empty());
    story.comment("alice", "/loop resume --accept skipped");
    let refused = AnswerOutcome::Refused(CommandRefusal::OwnWork);
    assert_eq!(
        story.state.people.answered.last().unwrap().answers[0].outcome,
        refused,
        "the author"
    );
    assert_eq!(
        story.comment("bob", "/loop resume --accept skipped").action,
        NextAction::WaitForMerge
    );
    assert_eq!(story.state.people.releases[0].by, login("bob"));
    // Another head is another question.
    story.set_head(2);
    story.snapshot.evidence = vec![evidence(sha(2), &[], &[])];
    assert_eq!(
        story.decide().action,
        NextAction::WaitForEvidence {
            missing: vec![name("unit")]
        }
    );
}

/// Evidence of a head whose unit tests passed without a word on any test.
fn without_results(head: u8) -> ReceivedEvidence {
    let ReceivedEvidence::Accepted(mut document) = evidence(sha(head), &[], &["rounds"]) else {
        panic!()
    };
    for check in document
        .checks
        .iter_mut()
        .filter(|check| check.kind == CheckKind::Test)
    {
        (check.results, check.tests, check.exit_code) = (None, None, Some(0));
    }
    ReceivedEvidence::Accepted(document)
}

#[test]
fn a_check_that_loses_its_results_by_test_fails_and_fixes_nothing() {
    let mut story = Story::opened();
    story.push(1, &["rounds"], &["parses"]);
    story.set_head(2);
    story.snapshot.evidence = vec![without_results(2)];
    let decision = story.decide();
    assert_eq!(decision.action, NextAction::Retry { attempt: 2 });
    assert!(decision.view.compare.as_ref().unwrap().fixed.is_empty());
    let CheckStanding::Done(unit) = standing(decision, "unit") else {
        panic!()
    };
    assert_eq!(unit.outcome, Outcome::ResultsLost);
    story.comment("alice", "/loop resume --accept results_lost");
    assert_eq!(story.state.people.releases.len(), 0);
    assert_eq!(
        story
            .comment("bob", "/loop resume --accept results_lost")
            .action,
        NextAction::WaitForMerge
    );
}

#[test]
fn results_are_lost_against_the_base_too_and_not_under_another_command() {
    let lost = |story: &mut Story| {
        let CheckStanding::Done(unit) = standing(story.decide(), "unit") else {
            panic!()
        };
        unit.outcome == Outcome::ResultsLost
    };
    let mut fresh = Story::opened();
    fresh.snapshot.evidence = vec![without_results(1)];
    assert!(!lost(&mut fresh), "nothing is known of before");
    let ReceivedEvidence::Accepted(on_base) = evidence(sha(0xba), &[], &["rounds"]) else {
        panic!()
    };
    fresh.snapshot.base_evidence = Some(crate::concerns::checks::gather::base(
        sha(0xba),
        vec![*on_base],
    ));
    assert!(lost(&mut fresh));
    let mut changed = Story::opened();
    changed.push(1, &["rounds"], &["parses"]);
    changed.set_head(2);
    changed.snapshot.evidence = vec![without_results(2)];
    let CheckSource::Command(command) = &mut changed.policy.verify.checks[&name("unit")].source
    else {
        panic!()
    };
    command.run = "make check".to_owned();
    assert!(!lost(&mut changed));
}

/// A printed count shows no test that ran. Text for people loses nothing: it names tests or does not.
#[test]
fn names_of_passed_tests_are_lost_where_a_count_takes_their_place() {
    let read_as = |head: u8, format: ReportFormat, failing: &[&str]| {
        let ReceivedEvidence::Accepted(mut document) = evidence(sha(head), failing, &["parses"])
        else {
            panic!()
        };
        for check in document
            .checks
            .iter_mut()
            .filter(|check| check.kind == CheckKind::Test)
        {
            let quality = ReportQuality::Valid;
            check.reports = vec![ReportNote {
                path: "a".to_owned(),
                format: Some(format),
                quality,
                notes: Vec::new(),
            }];
            if failing.is_empty() {
                check.tests = Some(TestOutcomes::new(Vec::new(), OutcomesExtent::Partial));
            }
        }
        ReceivedEvidence::Accepted(document)
    };
    let cases = [
        (ReportFormat::Junit, Outcome::ResultsLost),
        (ReportFormat::Console, Outcome::Passed),
    ];
    for (before, expected) in cases {
        let mut story = Story::opened();
        story.snapshot.evidence = vec![read_as(1, before, &["rounds"])];
        story.decide();
        story.set_head(2);
        story.snapshot.evidence = vec![read_as(2, ReportFormat::Console, &[])];
        let CheckStanding::Done(unit) = standing(story.decide(), "unit") else {
            panic!()
        };
        assert_eq!(unit.outcome, expected, "{before:?}");
    }
}

/// Only where everything has ended and passes does a test that is gone say something of the change.
#[test]
fn a_failing_test_that_is_gone_is_tampering_once_all_jobs_have_ended_well() {
    let story = || {
        let mut story = Story::opened();
        story.push(1, &["rounds"], &["parses", "adds"]);
        story.set_head(2);
        story
    };
    let held = |mut story: Story, failing: &[&str], passing: &[&str]| {
        story.snapshot.evidence = vec![evidence(sha(2), failing, passing)];
        story.decide().action
            == NextAction::Escalate {
                cause: Trigger::Tampering,
            }
    };
    assert!(held(story(), &[], &["parses", "adds"]));
    assert!(!held(story(), &[], &["parses", "adds", "rounds"]));
    assert!(!held(story(), &["adds"], &["parses"]), "something broke");
    let mut running = story();
    running.snapshot.workflow_runs = vec![workflow(CheckProgress::InProgress)];
    assert!(
        !held(running, &[], &["parses", "adds"]),
        "another job may bring it"
    );
}

#[test]
fn without_names_a_test_is_fixed_only_if_as_many_ran_and_it_still_stands() {
    let fixed = |total: u64, patch: Option<&str>| {
        let mut story = Story::opened();
        let console = |head: u8, failing: &[&str], total: u64| {
            let ReceivedEvidence::Accepted(mut document) = evidence(sha(head), failing, &["a"])
            else {
                panic!()
            };
            for check in document
                .checks
                .iter_mut()
                .filter(|check| check.kind == CheckKind::Test)
            {
                let failed = failing.len() as u64;
                let results = CheckResults {
                    total,
                    passed: total - failed,
                    failed,
                    ..CheckResults::default()
                };
                (check.results, check.tests) = (Some(results), None);
                check
                    .failures
                    .iter_mut()
                    .for_each(|failure| failure.test_id = None);
            }
            ReceivedEvidence::Accepted(document)
        };
        story.snapshot.evidence = vec![console(1, &["rounds"], 8)];
        story.decide();
        story.set_head(2);
        story.snapshot.evidence = vec![console(2, &[], total)];
        if let Some(patch) = patch {
            story.snapshot.files = ChangedFiles::Complete(vec![changed_file(
                "tests/round.rs",
                &format!("@@ -1,4 +1,4 @@\n{patch}"),
            )]);
        }
        story
            .decide()
            .view
            .compare
            .as_ref()
            .unwrap()
            .fixed
            .contains("rounds")
    };
    assert!(fixed(8, None) && fixed(9, None));
    assert!(!fixed(7, None), "fewer ran");
    assert!(
        !fixed(
            8,
            Some("-#[test]\n-fn rounds() {\n-    assert_eq!(a(), 1);\n-}")
        ),
        "it is removed"
    );
    assert!(
        !fixed(
            8,
            Some(" #[test]\n+#[ignore]\n fn rounds() {\n     assert_eq!(a(), 1);")
        ),
        "it is marked"
    );
}
