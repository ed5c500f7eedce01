use super::*;
use crate::{
    evidence::{EvidenceExtent, MatrixJob, Outcome},
    fixtures,
    ids::{Timestamp, WorkflowRunId},
};

const PATH: &str = ".github/workflows/ci.yml";

fn at(minute: i64) -> Timestamp {
    Timestamp::from_timestamp(60 * minute, 0).unwrap()
}

const fn ended(conclusion: Conclusion) -> CheckProgress {
    CheckProgress::Completed {
        conclusion,
        at: None,
    }
}

/// A job's execution, which began in the minute of its attempt.
fn job(id: u64, name: &str, attempt: u32, conclusion: Conclusion) -> WorkflowJob {
    WorkflowJob {
        check_run: CheckRunId::new(id),
        name: name.to_owned(),
        attempt,
        progress: ended(conclusion),
        cut_off: false,
        started_at: Some(at(i64::from(attempt))),
        url: None,
    }
}

fn run(id: u64, attempt: u32, conclusion: Conclusion, jobs: Vec<WorkflowJob>) -> WorkflowRun {
    WorkflowRun {
        id: WorkflowRunId::new(id),
        path: PATH.to_owned(),
        attempt,
        progress: ended(conclusion),
        url: None,
        started_at: None,
        jobs,
    }
}

/// The evidence of a matrix job: of which run and attempt, its place among how many, and its check run.
fn matrix_job(origin: (u64, u32), (index, total): (u32, u32), check_run: Option<u64>) -> Evidence {
    let ReceivedEvidence::Accepted(evidence) =
        fixtures::evidence("1".repeat(40).parse().unwrap(), &[], &["rounds"])
    else {
        panic!("accepted")
    };
    let workflow = WorkflowOrigin {
        path: PATH.to_owned(),
        run_id: WorkflowRunId::new(origin.0),
        run_attempt: origin.1,
        job: "test".to_owned(),
        matrix: None,
        matrix_job: Some(MatrixJob {
            index,
            total,
            check_run_id: check_run.map(CheckRunId::new),
        }),
    };
    Evidence {
        workflow: Some(workflow),
        ..*evidence
    }
}

fn unit() -> CheckName {
    "unit".parse().unwrap()
}

/// The names of the lost matrix jobs, and how many documents count.
fn lost(runs: &[WorkflowRun], documents: &[Evidence]) -> (Vec<String>, usize) {
    let documents: Vec<&Evidence> = documents.iter().collect();
    let (reported, lost) = reporting(runs, &[], &documents, &unit());
    let name = |matrix_job: &LostJob| match &matrix_job.name {
        JobName::Job(name) => name.clone(),
        JobName::Place { job, index, total } => format!("{job} {index}/{total}"),
        JobName::Workflow(path) => path.clone(),
    };
    (lost.iter().map(name).collect(), reported.len())
}

use Conclusion::{Cancelled, Failure, Skipped, Success};

#[test]
fn a_matrix_job_that_never_reported_is_lost() {
    let two = [
        matrix_job((5, 1), (0, 3), Some(10)),
        matrix_job((5, 1), (1, 3), Some(11)),
    ];
    let jobs = |third: WorkflowJob, beside: Conclusion| {
        vec![
            job(10, "test (a)", 1, Success),
            job(11, "test (b)", 1, Success),
            third,
            job(13, "notify", 1, beside),
        ]
    };
    for (third, beside, expected) in [
        (job(12, "test (c)", 1, Failure), Success, vec!["test (c)"]),
        (job(12, "test (c)", 1, Cancelled), Failure, vec!["test (c)"]),
        (job(12, "on c", 1, Failure), Success, vec!["on c"]),
        (job(12, "on c", 1, Failure), Failure, vec!["test 2/3"]),
        // The step is not in every matrix job.
        (job(12, "test (c)", 1, Success), Success, vec![]),
        (job(12, "test (c)", 1, Success), Failure, vec![]),
        (job(12, "test (c)", 1, Skipped), Success, vec![]),
    ] {
        let case = format!("{} {:?} {beside:?}", third.name, third.progress);
        assert_eq!(
            lost(&[run(5, 1, Failure, jobs(third, beside))], &two),
            (expected.iter().map(|&name| name.to_owned()).collect(), 2),
            "{case}"
        );
    }
    assert_eq!(
        lost(&[run(5, 1, Failure, vec![])], &two).0,
        ["test 2/3"],
        "jobs that may not be listed"
    );
    let whole = [0, 1, 2].map(|nth| matrix_job((5, 1), (nth, 3), Some(10 + u64::from(nth))));
    let beside = jobs(job(12, "test (c)", 1, Success), Failure);
    assert_eq!(
        lost(&[run(5, 1, Failure, beside)], &whole),
        (vec![], 3),
        "another job fails"
    );
}

#[test]
fn of_a_matrix_job_that_is_repeated_the_newest_execution_counts() {
    let both = [
        matrix_job((5, 1), (0, 2), Some(10)),
        matrix_job((5, 1), (1, 2), Some(11)),
    ];
    let first = [
        job(10, "test (a)", 1, Success),
        job(11, "test (b)", 1, Success),
    ];
    let with = |more: Vec<WorkflowJob>| first.iter().cloned().chain(more).collect::<Vec<_>>();
    let dies = run(5, 2, Failure, with(vec![job(20, "test (b)", 2, Failure)]));
    assert_eq!(lost(&[dies], &both), (vec!["test (b)".to_owned()], 1));
    let skipped = run(5, 2, Success, with(vec![job(20, "test (b)", 2, Skipped)]));
    assert_eq!(lost(&[skipped], &both), (vec![], 2), "it was not executed");
    // A job that is not repeated may be listed again, with the time at which it did run.
    let again = WorkflowJob {
        started_at: Some(at(1)),
        ..job(20, "test (a)", 2, Success)
    };
    let reported = [
        matrix_job((5, 1), (0, 2), Some(10)),
        matrix_job((5, 2), (1, 2), Some(21)),
    ];
    let jobs = with(vec![again, job(21, "test (b)", 2, Success)]);
    assert_eq!(lost(&[run(5, 2, Success, jobs)], &reported), (vec![], 2));
    // The same in another run of the workflow.
    let newer = run(
        6,
        1,
        Failure,
        vec![
            job(30, "test (a)", 3, Success),
            job(31, "test (b)", 3, Failure),
        ],
    );
    let documents = [
        matrix_job((6, 1), (0, 2), Some(30)),
        matrix_job((5, 1), (1, 2), Some(11)),
    ];
    assert_eq!(
        lost(&[run(5, 1, Success, first.to_vec()), newer], &documents).0,
        ["test (b)"]
    );
}

#[test]
fn without_check_runs_a_matrix_job_is_job_and_place() {
    let both = |attempt| {
        [
            matrix_job((5, 1), (0, 2), None),
            matrix_job((5, attempt), (1, 2), None),
        ]
    };
    assert_eq!(lost(&[run(5, 1, Failure, vec![])], &both(1)), (vec![], 2));
    assert_eq!(lost(&[run(5, 2, Success, vec![])], &both(2)), (vec![], 2));
    assert_eq!(
        lost(&[run(5, 2, Failure, vec![])], &both(1)).1,
        0,
        "either may have been repeated and died"
    );
    assert_eq!(
        lost(&[run(5, 1, Failure, vec![])], &both(1)[..1]).0,
        ["test 1/2"]
    );
}

#[test]
fn what_a_siblings_failure_cancels_is_not_told() {
    let one = [matrix_job((5, 1), (0, 3), Some(10))];
    let jobs = |second| {
        vec![
            job(10, "test (a)", 1, Success),
            job(11, "test (b)", 1, second),
            job(12, "test (c)", 1, Cancelled),
        ]
    };
    assert_eq!(
        lost(&[run(5, 1, Failure, jobs(Failure))], &one).0,
        ["test (b)"]
    );
    assert_eq!(
        lost(&[run(5, 1, Cancelled, jobs(Cancelled))], &one).0,
        ["test (b)", "test (c)"]
    );
}

/// Steps with `if: always()` run when their job was cancelled, and upload what they find.
#[test]
fn a_job_that_was_cut_off_does_not_pass() {
    for end in [Cancelled, Conclusion::TimedOut] {
        let jobs = |second| {
            vec![
                job(10, "test (a)", 1, Success),
                job(11, "test (b)", 1, second),
            ]
        };
        let mut whole = [
            matrix_job((5, 1), (0, 2), Some(10)),
            matrix_job((5, 1), (1, 2), Some(11)),
        ];
        assert_eq!(
            lost(&[run(5, 1, end, jobs(end))], &whole),
            (vec!["test (b)".to_owned()], 1),
            "{end:?}"
        );
        assert_eq!(
            lost(&[run(5, 1, Success, jobs(Success))], &whole),
            (vec![], 2)
        );
        let [_, second] = &mut whole;
        second.checks[1].outcome = Outcome::Failed;
        assert_eq!(
            lost(&[run(5, 1, end, jobs(end))], &whole),
            (vec![], 2),
            "what fails is believed"
        );
        // Where GitHub does not tell check runs, any of the run's may be the one.
        let unknown = [
            matrix_job((5, 1), (0, 2), None),
            matrix_job((5, 1), (1, 2), None),
        ];
        assert_eq!(
            lost(&[run(5, 1, end, vec![])], &unknown).0,
            ["test 0/2", "test 1/2"]
        );
    }
}

#[test]
fn only_what_github_says_is_infrastructure() {
    let lost = |third: WorkflowJob| {
        let jobs = vec![job(10, "test (a)", 1, Success), third];
        let document = matrix_job((5, 1), (0, 2), Some(10));
        reporting(&[run(5, 1, Failure, jobs)], &[], &[&document], &unit()).1[0].end
    };
    let dies = job(11, "test (b)", 1, Failure);
    assert_eq!(
        lost(WorkflowJob {
            cut_off: true,
            ..dies.clone()
        }),
        LossCause::RunnerLost
    );
    assert!(
        LossCause::RunnerLost.is_outside()
            && LossCause::As(Conclusion::StartupFailure).is_outside()
    );
    for end in [Failure, Cancelled, Conclusion::TimedOut] {
        let end = lost(WorkflowJob {
            progress: ended(end),
            ..dies.clone()
        });
        assert!(
            !end.is_outside(),
            "{end:?}: it may be the change's own doing"
        );
    }
}

#[test]
fn jobs_are_asked_for_only_where_the_evidence_leaves_it_open() {
    let open = |run: &WorkflowRun, documents: &[Evidence]| {
        is_open(run, &documents.iter().collect::<Vec<_>>())
    };
    let whole = [
        matrix_job((5, 1), (0, 2), Some(10)),
        matrix_job((5, 1), (1, 2), Some(11)),
    ];
    assert!(!open(&run(5, 1, Success, vec![]), &whole));
    assert!(
        open(&run(5, 1, Failure, vec![]), &whole),
        "a job that is no matrix job failed, or one was cut off"
    );
    assert!(
        open(&run(5, 1, Success, vec![]), &whole[..1]),
        "continue-on-error"
    );
    assert!(open(&run(5, 2, Success, vec![]), &whole) && open(&run(6, 1, Success, vec![]), &whole));
    assert!(!open(
        &WorkflowRun {
            progress: CheckProgress::InProgress,
            ..run(5, 2, Success, vec![])
        },
        &whole
    ));
    let mut old = matrix_job((5, 1), (0, 1), None);
    old.workflow.as_mut().unwrap().matrix_job = None;
    assert!(
        !open(&run(5, 1, Success, vec![]), &[old.clone()])
            && open(&run(5, 1, Failure, vec![]), &[old.clone()])
    );
    old.checks[1].outcome = Outcome::Failed;
    assert!(
        !open(&run(5, 1, Failure, vec![]), &[old]),
        "its evidence says why"
    );
}

#[test]
fn refused_evidence_of_a_newer_run_refuses_the_check() {
    let document = matrix_job((5, 1), (0, 2), Some(10));
    let of_run = |run: Option<u64>| ReceivedEvidence::Refused {
        artifact: "loopgate-evidence-test".to_owned(),
        workflow: Some(PATH.to_owned()),
        run: run.map(WorkflowRunId::new),
        reason: "no schema".to_owned(),
    };
    let refused = |id, has_lost| {
        refused_since(&[of_run(Some(id))], &[&document], &unit(), has_lost).is_some()
    };
    assert!(
        refused(6, false) && refused(5, true),
        "what it would have said is not known"
    );
    assert!(
        !refused(4, true) && !refused(5, false),
        "older, or beside matrix jobs that all reported"
    );
    // A matrix job that succeeded has nothing to say, unless what it said was refused, or not read.
    let runs = [run(
        5,
        1,
        Success,
        vec![
            job(10, "test (a)", 1, Success),
            job(11, "test (b)", 1, Success),
        ],
    )];
    for (received, expected) in [
        (None, 0),
        (Some(Some(5)), 1),
        (Some(None), 1),
        (Some(Some(4)), 0),
    ] {
        let received: Vec<_> = received.map(of_run).into_iter().collect();
        assert_eq!(
            reporting(&runs, &received, &[&document], &unit()).1.len(),
            expected,
            "{received:?}"
        );
    }
}

#[test]
fn one_execution_says_one_thing() {
    let mut failed = matrix_job((5, 1), (0, 1), Some(10));
    failed.checks[1].outcome = Outcome::Failed;
    let said = |other: &Evidence| contradiction(&[&failed, other], &unit());
    let passed = matrix_job((5, 1), (0, 1), Some(10));
    assert_eq!(
        said(&passed).unwrap(),
        "two artifacts of the job test in attempt 1 contradict each other: one says failed, the other passed"
    );
    assert_eq!(said(&failed.clone()), None);
    assert_eq!(
        said(&matrix_job((5, 2), (0, 1), Some(20))),
        None,
        "another attempt"
    );
    assert_eq!(
        said(&matrix_job((5, 1), (0, 1), Some(11))),
        None,
        "a job of the same name in another called workflow"
    );
    let mut old = passed;
    old.workflow.as_mut().unwrap().matrix_job = None;
    assert_eq!(said(&old), None);
}

#[test]
fn evidence_that_was_interrupted_never_counts_for_its_matrix_job() {
    let cut_short = |outcome| {
        let mut document = matrix_job((5, 1), (1, 2), Some(11));
        document.extent = EvidenceExtent::Interrupted;
        document.checks[1].outcome = outcome;
        document
    };
    let jobs = vec![
        job(10, "test (a)", 1, Success),
        job(11, "test (b)", 1, Cancelled),
    ];
    for outcome in [Outcome::Cancelled, Outcome::Skipped] {
        let documents = [matrix_job((5, 1), (0, 2), Some(10)), cut_short(outcome)];
        assert_eq!(
            lost(&[run(5, 1, Cancelled, jobs.clone())], &documents),
            (vec!["test (b)".to_owned()], 1)
        );
        assert_eq!(
            lost(&[run(5, 1, Cancelled, vec![])], &documents).0,
            ["test 1/2"],
            "jobs that may not be listed"
        );
        let both: Vec<&Evidence> = documents.iter().collect();
        assert!(
            is_open(&run(5, 1, Cancelled, vec![]), &both),
            "which job it was is asked for"
        );
    }
    let documents = [
        matrix_job((5, 1), (0, 2), Some(10)),
        cut_short(Outcome::Passed),
    ];
    assert_eq!(
        lost(&[run(5, 1, Cancelled, jobs)], &documents),
        (vec![], 2),
        "this check had ended before"
    );
    // A job without a matrix.
    let mut alone = cut_short(Outcome::Cancelled);
    alone.workflow.as_mut().unwrap().matrix_job = Some(MatrixJob {
        index: 0,
        total: 1,
        check_run_id: None,
    });
    assert_eq!(
        lost(&[run(5, 1, Cancelled, vec![])], &[alone]),
        (vec!["test".to_owned()], 0)
    );
}
