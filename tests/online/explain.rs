//! `loopgate explain OWNER/REPO#N`: why is this gate closed, who can open it?

use chrono::TimeDelta;
use loopgate::github::{
    ApiUrl, AppCredentials, Clock as _, Credentials, Github, Reconcile, ReconcileRequest, Secret,
    Setup, SystemClock,
};
use loopgate_core::RepoName;
use loopgate_simulator::{Pr, PullSpec, Role, Simulator};
use serde_json::Value;

use crate::{As, Said, assert_nothing_written, github, json_schema::misfits, run};

const CONFIGURATION: &str = "\
version: 1
verify:
  checks:
    build: { kind: build, from: { check: ci / build, app: other-ci } }
    unit:  { kind: test, from: { check: ci / test, app: other-ci } }
gates:
  security: { approvers: { teams: [acme/security], users: [carol], count: 2 } }
  deploy: off
";

/// A pull request by alice that adds a password check; bob and olga are the security team, mallory is nobody.
pub async fn world() -> (Simulator, RepoName, Pr) {
    configured("").await
}

/// The same with these lines more.
async fn configured(more: &str) -> (Simulator, RepoName, Pr) {
    let github = github().await;
    let configuration = format!("{CONFIGURATION}{more}");
    let files = [
        (".github/loopgate.yml", configuration.as_str()),
        ("src/lib.rs", "// Widgets.\n"),
    ];
    let repo = github.create_repo("acme/widgets", &files).unwrap();
    let team = github
        .admin()
        .add_team("acme/security", &["bob", "olga"])
        .unwrap();
    github
        .admin()
        .grant_team(&team, &repo, Role::Write)
        .unwrap();
    let spec = PullSpec::new("feat: sign in").file(
        "src/auth/login.rs",
        "pub fn login(password: &str) -> bool {\n    password == \"x\"\n}\n",
    );
    let pr = github.user("alice").open_pull_request(&repo, spec).unwrap();
    (github, repo, pr)
}

fn explain(github: &Simulator, pr: &Pr, more: &[&str]) -> Said {
    let pull_request = format!("{}#{}", pr.repo, pr.number);
    let here = tempfile::tempdir().unwrap();
    run(
        github,
        &As::App,
        here.path(),
        &[&["explain", &pull_request], more].concat(),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_exported_as_the_executable_feedback_schema_has_it() {
    let (github, _, pr) = world().await;
    let export = || {
        let here = tempfile::tempdir().unwrap();
        let run_of = format!("{}#{}", pr.repo, pr.number);
        run(
            &github,
            &As::App,
            here.path(),
            &[
                "export",
                "--schema",
                "executable-feedback",
                &run_of,
                "--format",
                "json",
            ],
        )
    };
    let none = export();
    assert!(
        none.code == Some(65) && none.err.contains("there is no ref refs/loopgate/pr/1"),
        "{}",
        none.err
    );
    look(&github, &pr).await;
    let document: Value = serde_json::from_str(&export().out).unwrap();
    let schema =
        serde_json::from_str(include_str!("../fixtures/executable_feedback.schema.json")).unwrap();
    assert_eq!(
        misfits(&schema, &document),
        Vec::<String>::new(),
        "{document:#}"
    );
    assert_eq!(document["loop_state"]["status"], "in_progress");
    assert_eq!(document["code_artifact"]["path"], "src/auth/login.rs");
}

/// The server's turn.
pub async fn look(github: &Simulator, pr: &Pr) {
    let key = Secret::new(github.app_key().private_pem());
    let credentials = Credentials::App(AppCredentials::new(github.app_id(), &key).unwrap());
    let client = Github::new(
        ApiUrl::parse(&github.url()).unwrap(),
        credentials,
        Setup::default(),
    )
    .unwrap();
    let installation = Some(github.installation_id());
    let job = ReconcileRequest {
        installation,
        repository: pr.repo.clone(),
        number: pr.number,
        hints: Vec::new(),
    };
    Reconcile::new(client)
        .run(&job, SystemClock.now())
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_kept_in_the_comment_is_known_and_what_is_in_an_artifact_is_not() {
    // A server keeps in the comment what a workflow would keep in an artifact.
    for backend in ["comment", "artifact"] {
        let (github, repo, pr) = configured(&format!("state: {{ backend: {backend} }}\n")).await;
        let unknown = |said: &Said| {
            said.err
                .contains("earlier attempts and skips are not known")
        };
        assert_eq!(unknown(&explain(&github, &pr, &[])), backend == "artifact");
        let comment = github
            .user("olga")
            .comment(&pr, "/loop stop for now")
            .unwrap();
        look(&github, &pr).await;
        // Only the state still knows of it.
        github
            .user("olga")
            .silently()
            .delete_comment(&pr, comment)
            .unwrap();
        github.forget_requests();
        let said = explain(&github, &pr, &[]);
        assert!(
            said.out.contains("stopped") && !unknown(&said),
            "{backend}: {}{}",
            said.out,
            said.err
        );
        assert_nothing_written(&github, &repo);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_gate_is_explained_with_names() {
    let (github, repo, pr) = world().await;
    // The server has seen the head before anybody speaks.
    look(&github, &pr).await;
    github.clock().advance(TimeDelta::minutes(5));

    github
        .user("mallory")
        .comment(&pr, "security approved")
        .unwrap();
    github
        .user("bob")
        .comment(&pr, "security approved once CI is green")
        .unwrap();
    github
        .user("carol")
        .comment(&pr, "security approved")
        .unwrap();
    github.forget_requests();
    let said = explain(&github, &pr, &[]);
    assert_eq!(said.code, Some(3), "{}{}", said.out, said.err);
    let pull = github.pull_request(&pr).unwrap();
    let page = said.out.replace(&pull.head_sha.short(), "HEADHEAD");
    insta::assert_snapshot!(
        "explained_on_a_terminal",
        page.replace(&pull.base_sha.short(), "BASEBASE")
    );
    assert_nothing_written(&github, &repo);

    let said = explain(&github, &pr, &["--format", "json"]);
    let told: Value = serde_json::from_str(&said.out).unwrap();
    let gate = told["gates"]
        .as_array()
        .unwrap()
        .iter()
        .find(|gate| gate["name"] == "security")
        .unwrap();
    assert_eq!(
        (&gate["closed"], &gate["approvals_needed"]),
        (&Value::from(true), &Value::from(2))
    );
    assert_eq!(gate["words"].as_array().unwrap().len(), 3, "{gate:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_looked_after_is_said() {
    let (github, _, pr) = world().await;
    let nothing = Pr {
        repo: pr.repo.clone(),
        number: loopgate_core::PrNumber::new(999),
    };
    let said = explain(&github, &nothing, &[]);
    assert!(
        matches!(said.code, Some(65 | 69)),
        "{:?} {}",
        said.code,
        said.err
    );
    assert!(said.err.contains("999"), "{}", said.err);
}
