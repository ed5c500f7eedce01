//! The first hour: under the file that `loopgate init` writes everybody gets to a merge, and no comment is about the
//! set-up. Workflows run, which the emulator has none of.

use std::{fs, process::Command};

use loopgate_core::RepoName;
use loopgate_simulator::{Conclusion, Pr, RunSpec};

use crate::world::{Look, Work, World};

const CI: &str = ".github/workflows/ci.yml";
const WORKFLOW: &str = "\
name: CI
on: { pull_request: { paths-ignore: ['docs/**'] } }
jobs:
  lint: { steps: [{ run: make lint }] }
  test: { name: 'Test on ${{ matrix.os }}', strategy: { matrix: { os: [linux, macos] } }, steps: [{ run: make test }] }
";

/// A repository with the configuration that `init` writes for it.
fn set_up(world: &World, name: &str) -> RepoName {
    let files = [
        ("go.mod", "module widgets\n"),
        ("widgets.go", "package widgets\n"),
        ("docs/use.md", "Use them.\n"),
        (CI, WORKFLOW),
    ];
    let folder = tempfile::tempdir().expect("a folder");
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    for (program, words) in [
        ("git", &["init", "--quiet"][..]),
        (env!("CARGO_BIN_EXE_loopgate"), &["init"]),
    ] {
        let mut command = Command::new(program);
        let ended = command.args(words).current_dir(folder.path()).output();
        let ended = ended.expect("a program");
        assert!(ended.status.success(), "{ended:?}");
    }
    let written = fs::read_to_string(folder.path().join(".github/loopgate.yml"));
    let written = written.expect("what init wrote");
    assert!(written.contains("check: 'Test on*'"), "{written}");
    world.repository(
        name,
        &[&files[..], &[(".github/loopgate.yml", &written)]].concat(),
    )
}

/// The CI of a head begins, and ends well.
async fn ci_passes(world: &World, pr: &Pr) {
    let github = world.simulator();
    let head = github.head(pr).expect("a head");
    let jobs = ["lint", "Test on linux", "Test on macos"];
    let run = github
        .start_workflow(&pr.repo, RunSpec::new(head, CI).jobs(&jobs))
        .expect("a run");
    world.settle().await;
    github
        .finish_workflow(&pr.repo, run, Conclusion::Success, Vec::new())
        .expect("an end");
    world.settle().await;
}

/// What people read of the status comment: its folds are for those who ask.
fn read_by_people(look: &Look) -> &str {
    let status = look.status();
    status.split("<details>").next().unwrap_or(status)
}

/// It can be merged, and nothing that is read on the way is about the set-up.
fn is_ready(look: &Look) {
    let text = read_by_people(look);
    assert!(text.contains("eady to merge"), "{text}");
    assert_eq!(look.concluded("loopgate / verify"), Some("success"));
    assert_eq!(look.concluded("loopgate / gates"), Some("success"));
    for word in [
        "score",
        "phase",
        "stage",
        "team",
        "kind:",
        "preset",
        "deploy",
        "configuration",
    ] {
        assert!(!text.contains(word), "{word}: {text}");
    }
}

/// Olga owns the repository, and nobody else is there to ask.
#[tokio::test(flavor = "multi_thread")]
async fn who_is_alone_gets_to_a_merge() {
    let world = World::simulated().await;
    let repo = set_up(&world, "alone");
    let change = [("widgets.go", "package widgets\n\nconst More = 1\n")];
    let pr = world
        .person("olga")
        .opens(&repo, "feat: more", &change)
        .await;
    ci_passes(&world, &pr).await;
    is_ready(&world.look(&pr));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_the_documentation_gets_to_a_merge() {
    let world = World::simulated().await;
    let repo = set_up(&world, "documented");
    let change = [("docs/use.md", "Use them well.\n")];
    let pr = world
        .person("alice")
        .opens(&repo, "docs: a word", &change)
        .await;
    is_ready(&world.look(&pr));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agents_change_gets_to_a_merge() {
    let world = World::simulated().await;
    let repo = set_up(&world, "mended");
    let change = [("widgets.go", "package widgets\n\nconst More = 1\n")];
    let alice = world.person("alice");
    let pr = alice.opens(&repo, "feat: more", &change).await;
    let work = Work {
        message: "feat: one more\n\nCo-authored-by: Claude <noreply@anthropic.com>",
        files: &[("widgets.go", "package widgets\n\nconst More = 2\n")],
        ..Work::default()
    };
    alice.commits(&pr, &work).await;
    ci_passes(&world, &pr).await;
    is_ready(&world.look(&pr));
}
