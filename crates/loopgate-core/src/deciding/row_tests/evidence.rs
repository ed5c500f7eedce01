//! H and B: what is known of a check, and whose failure it is.

use super::*;
use crate::{concerns::checks::external::silent_runs, result::CheckState};

#[test]
fn a_skipped_check_is_shown_and_neither_passes_nor_fails() {
    let mut story = Story::opened();
    add_check(&mut story, "lint", CheckKind::Lint);
    story.snapshot.evidence = vec![evidence(sha(1), &[], &["rounds"])];
    let decision = story.comment("bob", "/loop skip lint --reason \"no linter\"");
    assert!(
        matches!(standing(decision, "lint"), CheckStanding::Skipped { reason, .. } if reason == "no linter")
    );
    assert_eq!(decision.action, NextAction::WaitForMerge);
    assert_eq!(
        answer(&story),
        &AnswerOutcome::Skipped {
            check: name("lint")
        }
    );
    let decision = story.push(2, &[], &["rounds"]);
    assert!(
        matches!(standing(decision, "lint"), CheckStanding::Skipped { .. }),
        "from now on"
    );
}

#[test]
fn a_failing_job_counts_while_the_workflow_still_runs_and_is_named() {
    let mut story = Story::opened();
    story.snapshot.workflow_runs = vec![workflow(CheckProgress::InProgress)];
    assert!(matches!(
        standing(story.decide(), "unit"),
        CheckStanding::Running { .. }
    ));
    story.snapshot.evidence = vec![evidence(sha(1), &["rounds"], &[])];
    let decision = story.decide();
    assert!(
        matches!(standing(decision, "unit"), CheckStanding::Done(_)),
        "more matrix jobs only make it worse"
    );
    assert!(matches!(
        standing(decision, "build"),
        CheckStanding::Running { .. }
    ));
    assert_eq!(
        decision.action,
        NextAction::WaitForEvidence {
            missing: vec![name("build")]
        }
    );
    assert!(
        story.state.attempts.counted.is_empty(),
        "an attempt ends when all is there"
    );

    let mut story = Story::opened();
    add_check(&mut story, "lint", CheckKind::Lint);
    let decision = story.push(1, &["rounds"], &[]);
    assert!(
        matches!(decision.view.held_by, Some(Blocker::Failing(_))),
        "it cannot pass any more"
    );
    assert_eq!(
        decision.action,
        NextAction::WaitForEvidence {
            missing: vec![name("lint")]
        }
    );
    assert!(
        story.state.attempts.counted.is_empty(),
        "and is no attempt before all is there"
    );

    let mut story = Story::opened();
    story.snapshot.evidence = vec![refused()];
    let decision = story.decide();
    assert!(matches!(
        standing(decision, "unit"),
        CheckStanding::Refused { .. }
    ));
    assert_eq!(blame(decision, "unit"), Some(Blame::Inconclusive));
    assert!(matches!(
        decision.action,
        NextAction::WaitForEvidence { .. }
    ));

    let mut story = Story::opened();
    let job = |index: u32, python: &str| {
        let received = evidence(sha(1), &["total"], &[]);
        let ReceivedEvidence::Accepted(mut evidence) = received else {
            panic!("accepted")
        };
        evidence.workflow = Some(crate::evidence::WorkflowOrigin {
            path: ".github/workflows/ci.yml".to_owned(),
            run_id: crate::ids::WorkflowRunId::new(7),
            run_attempt: 1,
            job: "test".to_owned(),
            matrix: (!python.is_empty())
                .then(|| format!(r#"{{"os":"ubuntu","python":"{python}"}}"#)),
            matrix_job: Some(crate::evidence::MatrixJob {
                index,
                total: 3,
                check_run_id: None,
            }),
        });
        ReceivedEvidence::Accepted(evidence)
    };
    story.snapshot.evidence = vec![job(0, "3.11"), job(1, "3.12"), job(2, "")];
    let failures = &story.decide().view.failures;
    let mut jobs: Vec<&str> = failures
        .iter()
        .filter_map(|view| view.failure.job.as_deref())
        .collect();
    jobs.sort_unstable();
    assert_eq!(
        jobs,
        ["test (ubuntu, 3.11)", "test (ubuntu, 3.12)", "test 3/3"]
    );
}

#[test]
fn a_check_of_another_system_passes_if_all_its_check_runs_pass() {
    use Conclusion as C;
    let done = |conclusions: &[Option<C>]| {
        let mut story = external(conclusions);
        match standing(story.decide(), "unit") {
            CheckStanding::Done(evidence) => Some((evidence.outcome, evidence.retry_class)),
            CheckStanding::Running { .. } => None,
            other => panic!("{other:?}"),
        }
    };
    let table = [
        (C::Success, Some((Outcome::Passed, None))),
        (C::Failure, Some((Outcome::Failed, None))),
        (
            C::TimedOut,
            Some((Outcome::TimedOut, Some(RetryClass::Logic))),
        ),
        (
            C::Cancelled,
            Some((Outcome::Cancelled, Some(RetryClass::External))),
        ),
        (C::ActionRequired, None),
        (C::Stale, None),
    ];
    for (conclusion, expected) in table {
        assert_eq!(done(&[Some(conclusion)]), expected, "{conclusion:?}");
    }
    assert_eq!(done(&[Some(C::Success), None]), None, "all must have ended");
    assert_eq!(
        done(&[Some(C::Success), Some(C::Failure)]).unwrap().0,
        Outcome::Failed,
        "all must pass"
    );
    assert_eq!(
        done(&[Some(C::StartupFailure), Some(C::Failure)])
            .unwrap()
            .0,
        Outcome::Failed,
        "what failed did run"
    );
    let mut silent = external(&[Some(C::Failure)]);
    assert!(
        silent.decide().view.failures.is_empty(),
        "what says nothing has no failure to show"
    );
    assert_eq!(
        silent.state.attempts.counted[0].lacking,
        Some(Lacking::Explanation)
    );
}

#[test]
fn what_github_could_not_start_is_not_the_codes_fault() {
    let mut of_a_workflow = Story::opened();
    let never_started = CheckProgress::Completed {
        conclusion: Conclusion::StartupFailure,
        at: None,
    };
    of_a_workflow.snapshot.workflow_runs = vec![workflow(never_started)];
    let of_check_runs = external(&[Some(Conclusion::Success), Some(Conclusion::StartupFailure)]);
    for mut story in [of_a_workflow, of_check_runs] {
        let decision = story.decide();
        assert!(matches!(
            standing(decision, "unit"),
            CheckStanding::NotStarted { .. }
        ));
        assert_eq!(
            blame(decision, "unit"),
            Some(Blame::Infrastructure),
            "and it is repeated"
        );
        assert!(matches!(
            decision.action,
            NextAction::WaitForEvidence { .. }
        ));
        let mut file = story.snapshot.files.known()[0].clone();
        file.path = ".github/workflows/ci.yml".into();
        story.snapshot.files = ChangedFiles::Complete(vec![file]);
        let decision = story.decide();
        assert_eq!(
            blame(decision, "unit"),
            Some(Blame::Inconclusive),
            "the file may be invalid: a person has to look"
        );
        assert!(matches!(
            decision.action,
            NextAction::WaitForEvidence { .. }
        ));
        assert_eq!(
            (
                story.state.attempts.counted.len(),
                story.state.attempts.failures.total
            ),
            (0, 0)
        );
    }
    // A run that came later is what counts.
    let mut again = Story::opened();
    let second = WorkflowRun {
        id: WorkflowRunId::new(6),
        ..workflow(CheckProgress::InProgress)
    };
    again.snapshot.workflow_runs = vec![workflow(never_started), second];
    assert!(matches!(
        standing(again.decide(), "unit"),
        CheckStanding::Running { .. }
    ));
}

#[test]
fn jobs_of_several_apps_for_one_check_are_named() {
    let several = |apps: [Option<&str>; 2], wanted: Option<&str>| {
        let mut story = external(&[Some(Conclusion::Success), Some(Conclusion::Success)]);
        for (job, app) in story.snapshot.checks.iter_mut().zip(apps) {
            job.app = app.map(str::to_owned);
        }
        let CheckSource::External(source) = &mut story.policy.verify.checks[&name("unit")].source
        else {
            panic!()
        };
        source.app = wanted.map(str::to_owned);
        let warnings = &story.decide().view.warnings;
        warnings.iter().find_map(|one| {
            if let Warning::SeveralApps { jobs, .. } = one {
                Some(jobs.clone())
            } else {
                None
            }
        })
    };
    let named = |job: &str, app: Option<&str>| (job.to_owned(), app.map(str::to_owned));
    let both = Some(vec![
        named("ci / 2", None),
        named("ci / 1", Some("github-actions")),
    ]);
    assert_eq!(
        several([Some("github-actions"), None], None),
        both,
        "anybody with write can write a status"
    );
    assert_eq!(several([Some("other-ci"), Some("other-ci")], None), None);
    assert_eq!(
        several([Some("github-actions"), None], Some("github-actions")),
        None,
        "the App is named"
    );
}

#[test]
fn a_run_that_ended_without_evidence_is_known() {
    let ended = |conclusion| {
        workflow(CheckProgress::Completed {
            conclusion,
            at: None,
        })
    };
    let silent = |story: &Story| {
        silent_runs(&story.snapshot)
            .map(|run| run.id.get())
            .collect::<Vec<_>>()
    };
    let mut story = Story::opened();
    for conclusion in [
        Conclusion::Success,
        Conclusion::Failure,
        Conclusion::Cancelled,
        Conclusion::TimedOut,
    ] {
        story.snapshot.workflow_runs = vec![ended(conclusion)];
        assert_eq!(
            silent(&story),
            [ended(conclusion).id.get()],
            "{conclusion:?}"
        );
        assert!(matches!(
            standing(story.decide(), "unit"),
            CheckStanding::Missing
        ));
    }
    for conclusion in [
        Conclusion::Skipped,
        Conclusion::ActionRequired,
        Conclusion::StartupFailure,
    ] {
        story.snapshot.workflow_runs = vec![ended(conclusion)];
        assert_eq!(silent(&story), [0; 0], "{conclusion:?}");
    }
    // One that runs may still bring it; an older one is what it repeats.
    let second = WorkflowRun {
        id: WorkflowRunId::new(6),
        ..workflow(CheckProgress::InProgress)
    };
    story.snapshot.workflow_runs = vec![ended(Conclusion::Failure), second];
    assert_eq!(silent(&story), [0; 0]);
    // What was refused was brought, and says itself why.
    story.snapshot.workflow_runs = vec![ended(Conclusion::Failure)];
    for run in [None, Some(ended(Conclusion::Failure).id)] {
        let (artifact, reason) = ("loopgate-evidence".to_owned(), "too large".to_owned());
        story.snapshot.evidence = vec![ReceivedEvidence::Refused {
            artifact,
            workflow: None,
            run,
            reason,
        }];
        assert_eq!(silent(&story), [0; 0], "{run:?}");
    }
}

#[test]
fn what_waits_to_be_let_run_has_all_the_time() {
    let held = || {
        vec![workflow(CheckProgress::Completed {
            conclusion: Conclusion::ActionRequired,
            at: None,
        })]
    };
    let mut story = Story::opened();
    story.snapshot.held_runs = held();
    story.decide();
    story.now += TimeDelta::days(3);
    let decision = story.decide();
    assert!(matches!(
        standing(decision, "unit"),
        CheckStanding::AwaitsApproval { .. }
    ));
    assert_eq!(
        decision.action,
        NextAction::WaitForRunApproval {
            missing: vec![name("build"), name("unit")]
        }
    );
    assert_eq!(decision.surface.verify, Some(CheckRunPlan::InProgress));
    assert_eq!(
        (
            story.state.attempts.counted.len(),
            story.state.attempts.failures.total
        ),
        (0, 0)
    );
    // Somebody lets it run: it has as long as any other.
    story.snapshot.held_runs.clear();
    story.snapshot.workflow_runs = vec![workflow(CheckProgress::InProgress)];
    assert!(matches!(
        standing(story.decide(), "unit"),
        CheckStanding::Running { .. }
    ));
    story.snapshot.workflow_runs.clear();
    assert_eq!(standing(story.decide(), "unit"), &CheckStanding::Missing);
    story.now += story.policy.retry.evidence_timeout;
    assert!(matches!(
        standing(story.decide(), "unit"),
        CheckStanding::NoReport { .. }
    ));
    // A check of another system waits for no approval.
    let mut elsewhere = external(&[Some(Conclusion::Success)]);
    elsewhere.snapshot.held_runs = held();
    assert!(matches!(
        standing(elsewhere.decide(), "unit"),
        CheckStanding::Done(_)
    ));
}

#[test]
fn a_security_check_fails_on_grave_findings_only() {
    let verdict = |severity, outcome| {
        let mut story = Story::opened();
        add_check(&mut story, "scan", CheckKind::Security);
        let mut scan = CheckEvidence::bare(name("scan"), CheckKind::Security, outcome);
        let finding = Finding {
            rule: "r".into(),
            severity,
            message: "m".into(),
            location: None,
        };
        scan.findings = vec![finding];
        with_check(&mut story, scan);
        let decision = story.decide();
        let mut checks = decision.view.checks.iter();
        let scan = checks.find(|check| check.name == name("scan")).unwrap();
        (decision.action.word(), CheckState::of(scan))
    };
    assert_eq!(
        verdict(FindingSeverity::Medium, Outcome::Failed),
        (DecisionWord::Proceed, CheckState::MinorFindings),
        "whatever its exit code"
    );
    assert_eq!(
        verdict(FindingSeverity::High, Outcome::Passed),
        (DecisionWord::Escalate, CheckState::Failed)
    );
    for unfinished in [Outcome::TimedOut, Outcome::Cancelled] {
        assert_ne!(
            verdict(FindingSeverity::Low, unfinished).0,
            DecisionWord::Proceed,
            "{unfinished}: it did not look at everything"
        );
    }
}

#[test]
fn a_scan_that_was_cancelled_has_not_passed() {
    let mut story = Story::opened();
    add_check(&mut story, "scan", CheckKind::Security);
    let scan = CheckEvidence::bare(name("scan"), CheckKind::Security, Outcome::Cancelled);
    with_check(&mut story, scan);
    assert_ne!(story.decide().action.word(), DecisionWord::Proceed);
}
