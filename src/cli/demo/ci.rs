//! The story's CI: a workflow that runs the checks of a push and uploads their evidence, as the Action does. After the
//! story people play on in a browser, and it runs what they push.
//!
//! The output of each command is what the real tool prints, and it is read by the same parsers. Each prepared change
//! writes one file, so what CI finds follows from what stands there on the head.

use std::{
    io::{Cursor, Write as _},
    net::SocketAddr,
};

use minijinja::{context, value::Serde};
use serde::Serialize;
use tokio::{net::TcpListener, sync::mpsc};
use zip::{ZipWriter, write::SimpleFileOptions};

use super::{AGENT, DemoWorld};
use crate::{
    cli::{CliError, output, working_tree},
    server::stop_signal,
};
use loopgate_core::{
    WorkflowRunId,
    evidence::{
        CheckEvidence, CheckKind, Environment, Evidence, Outcome, TestFramework, WorkflowOrigin,
    },
    failure,
};
use loopgate_render as render;
use loopgate_reports::{self, ReadOptions};
use loopgate_simulator::{
    Act, Change, Conclusion, Playbook, Pr, Protection, PullState, RequiredCheck, RunSpec,
};

pub(super) const WORKFLOW: &str = ".github/workflows/ci.yml";

/// One test of the widgets' test suite, as it ends on some commit.
#[derive(Serialize)]
pub(super) struct Test {
    pub name: &'static str,
    /// Where and how it fails; none when it passes.
    pub failure: Option<Failing>,
}

#[derive(Clone, Copy, Serialize)]
pub(super) struct Failing {
    pub file: &'static str,
    pub line: u32,
    pub left: &'static str,
    pub right: &'static str,
}

/// Runs the workflow on the head of a pull request.
pub(super) fn run(demo_world: &DemoWorld, pr: &Pr, tests: &[Test]) -> Result<(), CliError> {
    let sha = demo_world.github.head(pr)?;
    let id = demo_world
        .github
        .start_workflow(&demo_world.repo, RunSpec::new(sha, WORKFLOW))?;
    finish(demo_world, pr, (id, 1), tests)
}

/// Ends an attempt of a run on the head with the results of these tests.
fn finish(
    demo_world: &DemoWorld,
    pr: &Pr,
    (id, attempt): (WorkflowRunId, u32),
    tests: &[Test],
) -> Result<(), CliError> {
    let failing = tests.iter().any(|test| test.failure.is_some());
    let conclusion = if failing {
        Conclusion::Failure
    } else {
        Conclusion::Success
    };
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("evidence.json", SimpleFileOptions::default())?;
    zip.write_all(&serde_json::to_vec(&evidence(
        demo_world,
        pr,
        (id, attempt),
        tests,
    )?)?)?;
    let evidence = zip.finish()?.into_inner();
    let artifacts = vec![(
        format!("loopgate-evidence-test-00000000-{attempt}"),
        evidence.into(),
    )];
    demo_world
        .github
        .finish_workflow(&demo_world.repo, id, conclusion, artifacts)?;
    Ok(())
}

fn evidence(
    demo_world: &DemoWorld,
    pr: &Pr,
    (run_id, run_attempt): (WorkflowRunId, u32),
    tests: &[Test],
) -> Result<Evidence, CliError> {
    let sha = demo_world.github.head(pr)?;
    let now = demo_world.github.clock().now();
    let passed =
        |name: &str, kind: CheckKind, duration_ms: u64| -> Result<CheckEvidence, CliError> {
            let mut check = CheckEvidence::bare(name.parse()?, kind, Outcome::Passed);
            check.exit_code = Some(0);
            check.duration_ms = duration_ms;
            Ok(check)
        };
    let checks = vec![
        passed("build", CheckKind::Build, 5_210)?,
        unit(tests)?,
        passed("lint", CheckKind::Lint, 3_480)?,
    ];
    let (path, job) = (WORKFLOW.to_owned(), "test".to_owned());
    Ok(Evidence {
        pull_request: Some(pr.number),
        workflow: Some(WorkflowOrigin {
            path,
            run_id,
            run_attempt,
            job,
            matrix: None,
            matrix_job: None,
        }),
        environment: Environment {
            os: "linux".to_owned(),
            runtime: Some("rustc 1.95.0".to_owned()),
            framework: Some(TestFramework::CargoTest),
        },
        started_at: now,
        ended_at: now,
        ..working_tree::evidence(demo_world.repo.clone(), sha, sha, checks)
    })
}

fn unit(tests: &[Test]) -> Result<CheckEvidence, CliError> {
    let text = render::text("demo/cargo_test.txt", context! { tests => Serde(tests) });
    let options = ReadOptions {
        test_outcomes: true,
        ..ReadOptions::default()
    };
    let report = loopgate_reports::read("output of unit", text.as_bytes(), &options);
    let outcome = if report.failures.is_empty() {
        Outcome::Passed
    } else {
        Outcome::Failed
    };
    let mut check = CheckEvidence::bare("unit".parse()?, CheckKind::Test, outcome);
    check.exit_code = Some(if outcome == Outcome::Passed { 0 } else { 101 });
    check.duration_ms = 1_940;
    check.log_head = text;
    check.results = report.results;
    check.reports = vec![report.note()];
    check.tests = report.test_outcomes;
    check.failures = report.failures;
    check.retry_class = (outcome == Outcome::Failed).then(|| failure::retry_class(&check));
    Ok(check)
}

pub(super) const PAUSE: &str = "src/pause.rs";

/// Runs that one act of a visitor leads to, at most: a push, and what is asked for again.
const MOST_RUNS: usize = 4;

const PEOPLE: [(&str, &str); 5] = [
    ("alice", "author"),
    ("bob", "approver"),
    ("olga", "maintainer"),
    ("mallory", "stranger"),
    (AGENT, "agent"),
];

/// The file of this name, in which this is left after a pause.
fn source(left: &str, has_pause_test: bool) -> String {
    render::text("demo/pause.txt", context! { left, has_pause_test })
}

/// As it is before anybody pushes.
pub(super) fn on_main() -> String {
    source("lifetime - used", true)
}

pub(super) const HOUR: &str = "lifetime::tests::lasts_an_hour";
pub(super) const RENEWAL: &str = "lifetime::tests::renewal_keeps_the_user";
pub(super) const REMAINING: &str = "lifetime::tests::none_is_left_after_an_hour";
const COSTS_NOTHING: &str = "pause::tests::a_pause_costs_nothing";
const AT_THE_END: &str = "pause::tests::nothing_is_left_at_the_end";

/// A change that a visitor can push, and what fails with it.
struct Prepared {
    name: &'static str,
    message: &'static str,
    left: &'static str,
    has_pause_test: bool,
    fails: Option<(&'static str, Failing)>,
    more: Option<(&'static str, &'static str)>,
}

const COUNTED_TWICE: Failing = Failing {
    file: PAUSE,
    line: 13,
    left: "2400",
    right: "3000",
};
const CAPPED: Failing = Failing {
    file: PAUSE,
    line: 18,
    left: "3000",
    right: "0",
};

static PREPARED: [Prepared; 6] = [
    Prepared {
        fails: Some((COSTS_NOTHING, COUNTED_TWICE)),
        ..prepared(
            "one that fails a test",
            "refactor: a pause is counted once",
            "lifetime.saturating_sub(used * 2)",
        )
    },
    Prepared {
        fails: Some((COSTS_NOTHING, COUNTED_TWICE)),
        ..prepared(
            "the same error again",
            "fix: add the pause",
            "lifetime.saturating_sub(used + used)",
        )
    },
    Prepared {
        fails: Some((AT_THE_END, CAPPED)),
        ..prepared(
            "a fix that breaks another test",
            "fix: a pause is ten minutes at most",
            "lifetime.saturating_sub(used.min(600))",
        )
    },
    Prepared {
        has_pause_test: false,
        ..prepared(
            "the failing test removed",
            "fix: all tests pass",
            "lifetime.saturating_sub(used * 2)",
        )
    },
    prepared(
        "the fix",
        "fix: a pause costs its own time",
        "lifetime.saturating_sub(used)",
    ),
    Prepared {
        more: Some((
            "src/auth/resume.rs",
            "//! A widget's token after a pause.\n\npub fn resume(token: &str) -> &str {\n    token\n}\n",
        )),
        ..prepared(
            "the fix, and a change of authentication",
            "fix: a pause costs its own time, and keeps the token",
            "lifetime.saturating_sub(used)",
        )
    },
];

/// A change of the source that passes.
const fn prepared(name: &'static str, message: &'static str, left: &'static str) -> Prepared {
    Prepared {
        name,
        message,
        left,
        has_pause_test: true,
        fails: None,
        more: None,
    }
}

impl Prepared {
    fn change(&self) -> Change {
        let more = self
            .more
            .map(|(path, text)| (path.to_owned(), text.to_owned()));
        let files = std::iter::once((PAUSE.to_owned(), source(self.left, self.has_pause_test)))
            .chain(more)
            .collect();
        Change {
            name: self.name,
            message: self.message,
            files,
        }
    }
}

/// The tests of the suite: of the file that the story is about these fail; those of the other end as its text has it.
pub(super) fn tests(failing: &[(&'static str, Failing)], pause: &str) -> Vec<Test> {
    let prepared = PREPARED
        .iter()
        .find(|prepared| source(prepared.left, prepared.has_pause_test) == pause);
    let fails = prepared.and_then(|prepared| prepared.fails);
    let is_there = |name: &&str| {
        name.rsplit("::")
            .next()
            .is_some_and(|test| pause.contains(test))
    };
    let names = [HOUR, RENEWAL, REMAINING]
        .into_iter()
        .chain([COSTS_NOTHING, AT_THE_END].into_iter().filter(is_there));
    let failure = |name| {
        failing
            .iter()
            .chain(&fails)
            .find(|(test, _)| *test == name)
            .map(|(_, failure)| *failure)
    };
    names
        .map(|name| Test {
            name,
            failure: failure(name),
        })
        .collect()
}

/// Serves the pages of pull requests here and answers what visitors do, until the process is asked to stop.
pub(super) async fn until_stopped(
    demo_world: &DemoWorld,
    (listener, address): (TcpListener, SocketAddr),
) -> Result<(), CliError> {
    let DemoWorld { github, repo, .. } = demo_world;
    let required = ["loopgate / verify", "loopgate / gates"].map(|name| RequiredCheck {
        context: name.to_owned(),
        app: Some(github.app_id()),
    });
    github.admin().protect(
        repo,
        "main",
        Protection {
            required_checks: required.into(),
            ..Protection::default()
        },
    )?;
    let (acts, received) = mpsc::channel(8);
    let dashboard = format!("http://{}", demo_world.server.admin_address);
    let changes = PREPARED.iter().map(Prepared::change).collect();
    let playbook = Playbook {
        repo: repo.clone(),
        people: PEOPLE.into(),
        changes,
        dashboard: dashboard.clone(),
        acts,
    };
    let _pages = github.serve_pages(listener, address, playbook);
    output::line(format_args!(
        "\nNow it is your turn, until Ctrl-C:\n   http://{address}/{repo}   the pull requests:\n      push, comment, approve and \
         merge as one of five people\n   {dashboard}   the dashboard: who acts next"
    ));
    tokio::select! {
        () = answer(demo_world, received) => Ok(()),
        stopped = stop_signal() => Ok(stopped?),
    }
}

async fn answer(demo_world: &DemoWorld, mut received: mpsc::Receiver<Act>) {
    while let Some(Act { pr, answered }) = received.recv().await {
        if let Err(error) = checked(demo_world, &pr).await {
            output::note_line(format_args!("CI did not run: {}", error.message));
        }
        // The one who asked may have left.
        let _ = answered.send(());
    }
}

/// Runs CI where it is due, until nothing more comes of it.
async fn checked(demo_world: &DemoWorld, pr: &Pr) -> Result<(), CliError> {
    let github = &demo_world.github;
    for _ in 0..MOST_RUNS {
        demo_world.settle().await;
        let runs = github.workflow_runs(&pr.repo, github.head(pr)?)?;
        let asked_for = runs.iter().find(|run| run.progress.conclusion().is_none());
        let is_over = matches!(
            github.pull_request(pr)?.state,
            PullState::Closed | PullState::Merged { .. }
        );
        let head = github.state_ref(&pr.repo, &format!("refs/pull/{}/head", pr.number))?;
        let source = head
            .and_then(|head| head.files.get(PAUSE).cloned())
            .unwrap_or_default();
        let suite = tests(&[], &source);
        match asked_for {
            Some(run) => finish(demo_world, pr, (run.id, run.attempt), &suite)?,
            None if runs.is_empty() && !is_over => run(demo_world, pr, &suite)?,
            None => return Ok(()),
        }
    }
    demo_world.settle().await;
    Ok(())
}
