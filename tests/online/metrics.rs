//! `loopgate metrics` and `loopgate what-if`: what is left of runs that ended, and what they would have come to.

use http::{Method, StatusCode};
use loopgate_core::RepoName;
use loopgate_simulator::{CheckSpec, Conclusion, Harm, Pr, PullSpec, RequestFault, Simulator};
use serde_json::{Value, json};

use crate::{As, Said, assert_nothing_written, explain::look, github, run};

const CONFIGURATION: &str = "\
version: 1
verify:
  checks:
    build: { kind: build, from: { check: ci / build, app: other-ci } }
    unit:  { kind: test, from: { check: ci / test, app: other-ci } }
gates:
  security: off
  billing: { when: { paths: [\"src/billing/**\"] }, approvers: { users: [bob] } }
";

async fn world(more: &str) -> (Simulator, RepoName) {
    let github = github().await;
    let configuration = format!("{CONFIGURATION}{more}");
    let files = [
        (".github/loopgate.yml", configuration.as_str()),
        ("src/lib.rs", "// Widgets.\n"),
    ];
    let repo = github.create_repo("acme/widgets", &files).unwrap();
    (github, repo)
}

/// A pull request whose heads end so, one after the other.
async fn played(github: &Simulator, repo: &RepoName, path: &str, ends: &[Conclusion]) -> Pr {
    let spec = PullSpec::new("docs: how long a widget lasts").file(path, "first\n");
    let pr = github.user("alice").open_pull_request(repo, spec).unwrap();
    for (number, end) in ends.iter().enumerate() {
        if number > 0 {
            github
                .user("alice")
                .push(&pr, &[(path, &format!("number {number}\n"))], "again")
                .unwrap();
        }
        look(github, &pr).await;
        for (check, end) in [("ci / build", Conclusion::Success), ("ci / test", *end)] {
            let head = github.head(&pr).unwrap();
            github
                .ci("other-ci")
                .check_run(repo, head, CheckSpec::concluded(check, end))
                .unwrap();
        }
        look(github, &pr).await;
    }
    pr
}

fn loopgate(github: &Simulator, arguments: &[&str]) -> Said {
    let here = tempfile::tempdir().unwrap();
    std::fs::write(
        here.path().join("new.yml"),
        CONFIGURATION.replace("src/billing/**", "docs/**"),
    )
    .unwrap();
    run(github, &As::App, here.path(), arguments)
}

fn document(github: &Simulator, arguments: &[&str]) -> Value {
    let said = loopgate(github, arguments);
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    serde_json::from_str(&said.out).unwrap()
}

fn lines(github: &Simulator, repo: &RepoName) -> Vec<Value> {
    let kept = github
        .state_ref(repo, "refs/loopgate/metrics")
        .unwrap()
        .map(|kept| kept.files)
        .unwrap_or_default();
    kept.values()
        .flat_map(|day| day.lines())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_leave_a_line_when_they_end_and_only_one() {
    use Conclusion::{Failure, Success};
    let (github, repo) = world("").await;
    let merged = played(&github, &repo, "docs/a.md", &[Failure, Success]).await;
    let closed = played(&github, &repo, "docs/b.md", &[Success]).await;
    let open = played(&github, &repo, "src/billing/c.md", &[Failure]).await;
    assert!(lines(&github, &repo).is_empty());
    github.user("olga").merge(&merged).unwrap();
    github.user("olga").close(&closed).unwrap();
    for pr in [&merged, &closed, &merged, &open, &closed] {
        look(&github, pr).await;
    }
    let kept = lines(&github, &repo);
    let told =
        |line: &Value| ["pull_request", "attempts", "first_pass"].map(|key| line[key].clone());
    assert_eq!(
        kept.iter().map(told).collect::<Vec<_>>(),
        [
            [json!(1), json!(2), json!(2)],
            [json!(2), json!(1), json!(1)]
        ]
    );
    assert_eq!(kept[0]["checks"]["unit"]["failed"], json!(1));

    // A run that is opened again is an open one, and leaves another line when it ends again.
    github.user("olga").reopen(&closed).unwrap();
    look(&github, &closed).await;
    github.forget_requests();
    let report = document(&github, &["metrics", "acme/widgets", "--json"]);
    assert_eq!(
        [&report["runs"], &report["open"]],
        [&json!(3), &json!(2)],
        "{report:#}"
    );
    assert_eq!(report["metrics"][0]["counted"], json!(1));
    assert_eq!(report["metrics"][1]["value"], json!(1.5));
    assert_eq!(
        report,
        document(
            &github,
            &[
                "metrics",
                "acme/widgets",
                "--format",
                "json",
                "--since",
                "30d"
            ]
        )
        .tap(&report)
    );
    assert_nothing_written(&github, &repo);
    github.clock().advance(chrono::TimeDelta::minutes(5));
    github.user("olga").close(&closed).unwrap();
    look(&github, &closed).await;
    assert_eq!(lines(&github, &repo).len(), 3);
    let report = document(&github, &["metrics", "acme/widgets", "--json"]);
    assert_eq!(
        [&report["runs"], &report["open"]],
        [&json!(3), &json!(1)],
        "{report:#}"
    );

    // The same in the other shapes.
    let table = loopgate(&github, &["metrics", "acme/widgets"]).out;
    assert!(
        table.starts_with("acme/widgets: ")
            && table.contains("Attempts until the checks pass       1.50"),
        "{table}"
    );
    assert!(
        loopgate(&github, &["metrics", "acme/widgets", "--svg"])
            .out
            .starts_with("<svg ")
    );
    assert!(
        loopgate(&github, &["metrics", "acme/widgets", "--csv"])
            .out
            .contains("all,\"\",average_attempts,1.5\n")
    );
    assert_eq!(
        loopgate(&github, &["metrics", "acme/widgets", "--csv", "--svg"]).code,
        Some(64)
    );
}

/// Windows end now, so two documents differ in that.
trait Tap {
    fn tap(self, other: &Value) -> Value;
}

impl Tap for Value {
    fn tap(mut self, other: &Value) -> Value {
        self["window"] = other["window"].clone();
        for number in 0..5 {
            self["metrics"][number]["trend"] = other["metrics"][number]["trend"].clone();
        }
        self
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_no_ref_may_be_written_the_turn_goes_on() {
    let (github, repo) = world("state: { backend: comment }\n").await;
    let pr = played(&github, &repo, "docs/a.md", &[Conclusion::Success]).await;
    let forbidden = RequestFault::on("/git/", Harm::status(StatusCode::FORBIDDEN)).unwrap();
    github.add_fault(forbidden.method(Method::POST));
    github.user("olga").merge(&pr).unwrap();
    look(&github, &pr).await;
    assert!(lines(&github, &repo).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn pull_requests_are_decided_again_under_another_configuration() {
    use Conclusion::{Failure, Success};
    let (github, repo) = world("").await;
    played(&github, &repo, "docs/a.md", &[Failure, Success]).await;
    played(&github, &repo, "src/billing/b.md", &[Success]).await;
    github.forget_requests();
    let told = document(
        &github,
        &[
            "what-if",
            "acme/widgets",
            "--config",
            "new.yml",
            "--format",
            "json",
        ],
    );
    assert_eq!(
        told["gates"],
        json!({ "billing": { "more": ["#1"], "fewer": ["#2"] } }),
        "{told:#}"
    );
    assert_eq!(
        [&told["calls"], &told["verdicts"], &told["unknown"]],
        [&json!({}), &json!([]), &json!([])]
    );
    let said = loopgate(&github, &["what-if", "acme/widgets", "--config", "new.yml"]);
    assert!(
        said.out.contains("Gate billing: 1 more (#1), 1 fewer (#2)"),
        "{}{}",
        said.out,
        said.err
    );
    assert_eq!(
        loopgate(
            &github,
            &["what-if", "acme/widgets", "--config", "none.yml"]
        )
        .code,
        Some(65)
    );
    assert_nothing_written(&github, &repo);
}
