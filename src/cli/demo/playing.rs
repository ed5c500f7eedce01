//! After the story: people play on in a browser, and CI runs what they push.
//!
//! Each prepared change writes one file, so what CI finds follows from what stands there on the head.

use std::net::SocketAddr;

use minijinja::context;
use tokio::{net::TcpListener, sync::mpsc};

use super::{
    AGENT, DemoWorld,
    ci::{self, Failing, Test},
    story,
};
use crate::{
    cli::{CliError, output},
    render,
    server::stop_signal,
};
use loopgate_simulator::{Act, Change, Playbook, Pr, Protection, PullState, RequiredCheck};

pub(super) const SOURCE: &str = "src/pause.rs";

/// Runs that one act of a visitor leads to, at most: a push, and what is asked for again.
const MOST_RUNS: usize = 4;

const PEOPLE: [(&str, &str); 5] =
    [("alice", "author"), ("bob", "approver"), ("olga", "maintainer"), ("mallory", "stranger"), (AGENT, "agent")];

/// The file of this name, in which this is left after a pause.
fn source(left: &str, has_pause_test: bool) -> String {
    render::text("demo/pause.txt", context! { left, has_pause_test })
}

/// As it is before anybody pushes.
pub(super) fn on_main() -> String {
    source("lifetime - used", true)
}

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

const COUNTED_TWICE: Failing = Failing { file: SOURCE, line: 13, left: "2400", right: "3000" };
const CAPPED: Failing = Failing { file: SOURCE, line: 18, left: "3000", right: "0" };

static PREPARED: [Prepared; 6] = [
    Prepared {
        fails: Some((COSTS_NOTHING, COUNTED_TWICE)),
        ..prepared("one that fails a test", "refactor: a pause is counted once", "lifetime.saturating_sub(used * 2)")
    },
    Prepared {
        fails: Some((COSTS_NOTHING, COUNTED_TWICE)),
        ..prepared("the same error again", "fix: add the pause", "lifetime.saturating_sub(used + used)")
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
        ..prepared("the failing test removed", "fix: all tests pass", "lifetime.saturating_sub(used * 2)")
    },
    prepared("the fix", "fix: a pause costs its own time", "lifetime.saturating_sub(used)"),
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
    Prepared { name, message, left, has_pause_test: true, fails: None, more: None }
}

impl Prepared {
    fn source(&self) -> String {
        source(self.left, self.has_pause_test)
    }

    fn change(&self) -> Change {
        let more = self.more.map(|(path, text)| (path.to_owned(), text.to_owned()));
        let files = std::iter::once((SOURCE.to_owned(), self.source())).chain(more).collect();
        Change { name: self.name, message: self.message, files }
    }
}

/// The tests of this file, as they end with it.
pub(super) fn tests(source: &str) -> Vec<Test> {
    let prepared = PREPARED.iter().find(|prepared| prepared.source() == source);
    let fails = prepared.map_or(&[][..], |prepared| prepared.fails.as_slice());
    let there = [COSTS_NOTHING, AT_THE_END].into_iter();
    ci::suite(there.filter(|name| name.rsplit("::").next().is_some_and(|test| source.contains(test))), fails)
}

/// Serves the pages of pull requests here and answers what visitors do, until the process is asked to stop.
pub(super) async fn until_stopped(
    demo_world: &DemoWorld,
    (listener, address): (TcpListener, SocketAddr),
) -> Result<(), CliError> {
    let DemoWorld { github, repo, .. } = demo_world;
    let required = ["loopgate / verify", "loopgate / gates"]
        .map(|name| RequiredCheck { context: name.to_owned(), app: Some(github.app_id()) });
    github.admin().protect(repo, "main", Protection { required_checks: required.into(), ..Protection::default() })?;
    let (acts, heard) = mpsc::channel(8);
    let dashboard = demo_world.dashboard();
    let changes = PREPARED.iter().map(Prepared::change).collect();
    let playbook = Playbook { repo: repo.clone(), people: PEOPLE.into(), changes, dashboard: dashboard.clone(), acts };
    let _pages = github.serve_pages(listener, address, playbook);
    output::line(format_args!(
        "\nNow it is your turn, until Ctrl-C:\n   http://{address}/{repo}   the pull requests:\n      push, comment, approve and \
         merge as one of five people\n   {dashboard}   the dashboard: who acts next"
    ));
    tokio::select! {
        () = answer(demo_world, heard) => Ok(()),
        stopped = stop_signal() => Ok(stopped?),
    }
}

async fn answer(demo_world: &DemoWorld, mut heard: mpsc::Receiver<Act>) {
    while let Some(Act { pr, answered }) = heard.recv().await {
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
        let is_over = matches!(github.pull_request(pr)?.state, PullState::Closed | PullState::Merged { .. });
        let head = github.state_ref(&pr.repo, &format!("refs/pull/{}/head", pr.number))?;
        let source = head.and_then(|head| head.files.get(SOURCE).cloned()).unwrap_or_default();
        let suite: Vec<Test> = story::of_lifetime(&[]).into_iter().chain(tests(&source)).collect();
        match asked_for {
            Some(run) => ci::finish(demo_world, pr, (run.id, run.attempt), &suite)?,
            None if runs.is_empty() && !is_over => ci::run(demo_world, pr, &suite)?,
            None => return Ok(()),
        }
    }
    demo_world.settle().await;
    Ok(())
}
