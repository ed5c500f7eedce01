//! `loopgate check-config --online`: what is wrong is told at its place, with what to do.

use std::path::Path;

use loopgate_simulator::{Role, Simulator};
use serde_json::Value;

use crate::{As, Said, assert_nothing_written, github, run};

const WRONG: &str = r#"version: 1
gates:
  security:
    approvers:
      users: [bobb, mallory]
      teams: [acme/secrity, acme/blind]
  payments:
    when: { paths: ["src/biling/**"] }
    approvers: { users: ["other-ci[bot]"] }
  release:
    when: { base_branch: [master] }
    approvers: { teams: [acme/leads], count: 3 }
  deploy: { approvers: { permission: maintain } }
escalation: { notify: [acme/nobody] }
"#;

const RIGHT: &str = "\
version: 1
gates:
  security: { approvers: { teams: [acme/leads] } }
  deploy: { approvers: { users: [olga, bob] } }
";

/// acme/widgets; `acme/leads` are alice and bob, `acme/blind` cannot read it, mallory belongs to nothing.
async fn world(files: &[(&str, &str)]) -> Simulator {
    let github = github().await;
    let repo = github.create_private_repo("acme/widgets", files).unwrap();
    let leads = github
        .admin()
        .add_team("acme/leads", &["alice", "bob"])
        .unwrap();
    github
        .admin()
        .grant_team(&leads, &repo, Role::Maintain)
        .unwrap();
    github.admin().add_team("acme/blind", &["carol"]).unwrap();
    github
}

fn folder(configuration: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join(".github")).unwrap();
    std::fs::write(folder.path().join(".github/loopgate.yml"), configuration).unwrap();
    folder
}

fn check(github: &Simulator, who: &As<'_>, directory: &Path, more: &[&str]) -> Said {
    run(github, who, directory, &[&["check-config"], more].concat())
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_that_only_github_knows_is_told_at_its_place() {
    let owners = ("CODEOWNERS", "* @alice\n/src/billing/ @alcie @acme/gone\n");
    let github = world(&[("src/billing/pay.rs", "// Pay.\n"), owners]).await;
    let here = folder(WRONG);
    let said = check(
        &github,
        &As::App,
        here.path(),
        &[".github/loopgate.yml", "--repository", "acme/widgets"],
    );
    assert_eq!(said.code, Some(65), "{}{}", said.out, said.err);
    insta::assert_snapshot!("everything_wrong_online", said.out);
    assert_nothing_written(&github, &"acme/widgets".parse().unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_right_configuration_of_the_working_directory_is_valid_for_its_repository() {
    let github = world(&[("a", "b")]).await;
    let here = folder(RIGHT);
    for arguments in [
        &["init", "-q"][..],
        &[
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.com",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "x",
        ],
        &[
            "remote",
            "add",
            "origin",
            "https://github.com/acme/widgets.git",
        ],
    ] {
        let git = std::process::Command::new("git")
            .args(arguments)
            .current_dir(here.path())
            .status()
            .unwrap();
        assert!(git.success(), "{arguments:?}");
    }
    let said = check(&github, &As::App, here.path(), &["--online"]);
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    insta::assert_snapshot!(said.out, @".github/loopgate.yml is a valid configuration for acme/widgets.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_is_checked_as_it_stands_on_its_default_branch() {
    let github = world(&[(".github/loopgate.yml", RIGHT), ("a", "b")]).await;
    github
        .create_repo(
            "acme/.github",
            &[(
                "loopgate.yml",
                "gates: { payments: { when: { always: true }, approvers: { users: [bobb] } } }\n",
            )],
        )
        .unwrap();
    let nowhere = tempfile::tempdir().unwrap();
    let said = check(
        &github,
        &As::App,
        nowhere.path(),
        &["--repository", "acme/widgets", "--format", "json"],
    );
    assert_eq!(said.code, Some(65), "{}{}", said.out, said.err);
    let told: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(
        (&told["valid"], &told["repository"]),
        (&Value::from(false), &Value::from("acme/widgets"))
    );
    let error = told["errors"]
        .as_array()
        .unwrap()
        .iter()
        .find(|error| error["hint"] == "did you mean `bob`?")
        .unwrap();
    assert_eq!(
        error["file"], "acme/.github/loopgate.yml",
        "the organisation's defaults count"
    );
    assert_eq!(
        (&error["line"], &error["column"]),
        (&Value::from(1), &Value::from(67))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workflows_token_reads_no_teams_and_is_told_the_way_out() {
    let github = world(&[(".github/loopgate.yml", RIGHT)]).await;
    let token = github
        .actions_token(&"acme/widgets".parse().unwrap(), None)
        .unwrap();
    let here = folder(RIGHT);
    let said = check(
        &github,
        &As::Token(&token),
        here.path(),
        &["--repository", "acme/widgets"],
    );
    assert_eq!(said.code, Some(65), "{}{}", said.out, said.err);
    assert!(
        said.out
            .contains("the members of `acme/leads` cannot be read"),
        "{}",
        said.out
    );
    assert!(
        said.out.contains("name users or a permission instead"),
        "{}",
        said.out
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_in_the_file_itself_needs_no_network() {
    let github = world(&[]).await;
    let long = "x".repeat(51);
    let here = folder(&format!(
        "version: 1\ngates:\n  security: {{ label: \"{long}\", aprovers: {{}} }}\n"
    ));
    let said = check(
        &github,
        &As::App,
        here.path(),
        &[".github/loopgate.yml", "--repository", "acme/widgets"],
    );
    assert_eq!(said.code, Some(65), "{}{}", said.out, said.err);
    assert!(
        said.out.contains("did you mean `approvers`?"),
        "{}",
        said.out
    );
    assert_eq!(github.requests().len(), 0, "{:?}", github.requests());
    let here = folder(&format!(
        "version: 1\ngates:\n  security: {{ label: \"{long}\" }}\n"
    ));
    let said = check(
        &github,
        &As::App,
        here.path(),
        &[".github/loopgate.yml", "--repository", "acme/widgets"],
    );
    assert!(
        said.out.contains("a label has at most 50 characters"),
        "{}",
        said.out
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_github_that_cannot_be_asked_ends_with_its_own_code() {
    let github = world(&[]).await;
    let here = folder(RIGHT);
    let said = check(
        &github,
        &As::App,
        here.path(),
        &["--repository", "acme/elsewhere"],
    );
    assert_eq!(said.code, Some(69), "{}{}", said.out, said.err);
    let said = check(
        &github,
        &As::Token("wrong"),
        here.path(),
        &["--repository", "acme/widgets"],
    );
    assert_eq!(said.code, Some(69), "{}{}", said.out, said.err);
    assert!(
        said.err.contains("does not accept the credentials"),
        "{}",
        said.err
    );
    let said = check(&github, &As::App, here.path(), &["--repository", "widgets"]);
    assert_eq!(said.code, Some(64), "{}{}", said.out, said.err);
}

/// A workflow that says nothing gets a token that may only read; one that declares its permissions has them.
#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_whose_token_may_only_read_is_named() {
    let step =
        "    steps:\n      - uses: acme/loopgate/action@v1\n        with:\n          command: ";
    let bare = format!(
        "on: pull_request\njobs:\n  loopgate:\n    runs-on: ubuntu-latest\n{step}reconcile\n"
    );
    let declared = bare.replace(
        "    steps:",
        "    permissions:\n      issues: write\n    steps:",
    );
    let evidence = bare.replace("reconcile", "verify");
    for (workflow, is_named) in [(&bare, true), (&declared, false), (&evidence, false)] {
        let github = world(&[
            (".github/loopgate.yml", RIGHT),
            (".github/workflows/loopgate.yml", workflow),
        ])
        .await;
        let nowhere = tempfile::tempdir().unwrap();
        let said = check(
            &github,
            &As::App,
            nowhere.path(),
            &["--repository", "acme/widgets"],
        );
        assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
        let words = "the job `loopgate` of `.github/workflows/loopgate.yml` has no `permissions`";
        assert_eq!(
            said.out.contains(words),
            is_named,
            "{workflow}\n{}",
            said.out
        );
    }
}
