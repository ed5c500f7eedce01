//! `loopgate try`: pull requests that ended without Loopgate.

use chrono::TimeDelta;
use loopgate_core::RepoName;
use loopgate_simulator::{
    CheckSpec, CommentView, CommitSpec, Conclusion, JobLog, LoggedStep, Pr, PullSpec, RunSpec,
    Simulator,
};
use serde_json::{Value, json};

use crate::{As, assert_nothing_written, explain::look, github, run};

/// A repository that knows nothing of Loopgate, and its last pull requests.
async fn world() -> (Simulator, RepoName) {
    let github = github().await;
    let repo = github
        .create_repo(
            "acme/widgets",
            &[
                ("README.md", "# Widgets\n"),
                ("src/lib.rs", "// Widgets.\n"),
            ],
        )
        .unwrap();
    let sign_in = opened(&github, &repo, "feat: sign in", "src/auth/login.rs");
    for (version, end) in [
        (None, Conclusion::Failure),
        (Some("2"), Conclusion::Failure),
        (Some("3"), Conclusion::Success),
    ] {
        if let Some(version) = version {
            let text = format!("pub fn login() {{ let version = {version}; }}\n");
            github
                .user("alice")
                .push(&sign_in, &[("src/auth/login.rs", &text)], "Mend it")
                .unwrap();
        }
        let check = CheckSpec::concluded("Unit tests (3.12)", end);
        let check = if end == Conclusion::Failure {
            check.annotation("src/auth/login.rs", 1, "expected 3600, got 60")
        } else {
            check
        };
        github
            .ci("other-ci")
            .check_run(&repo, github.head(&sign_in).unwrap(), check)
            .unwrap();
    }
    github
        .user("mallory")
        .comment(&sign_in, "security approved")
        .unwrap();
    github.user("olga").merge(&sign_in).unwrap();
    let words = opened(
        &github,
        &repo,
        "docs: how long a widget lasts",
        "docs/widgets.md",
    );
    github.user("olga").merge(&words).unwrap();
    opened(&github, &repo, "feat: never merged", "src/open.rs");
    (github, repo)
}

fn opened(github: &Simulator, repo: &RepoName, title: &str, file: &str) -> Pr {
    let spec = PullSpec::new(title).file(file, "pub fn login() {}\n");
    github.user("alice").open_pull_request(repo, spec).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn history_tells_what_would_have_been_done() {
    let (github, repo) = world().await;
    let here = tempfile::tempdir().unwrap();
    let page = here.path().join("widgets.html");
    let arguments = [
        "try",
        "acme/widgets",
        "--format",
        "json",
        "--html",
        page.to_str().unwrap(),
    ];
    let said = run(&github, &As::App, here.path(), &arguments);
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    let told: Value = serde_json::from_str(&said.out).unwrap();
    assert_nothing_written(&github, &repo);
    let facts = |one: &Value| {
        let names: Vec<_> = one["gates"]
            .as_array()
            .unwrap()
            .iter()
            .map(|gate| &gate["name"])
            .collect();
        let passes: Vec<_> = one["attempts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| &it["passes"])
            .collect();
        json!([
            one["number"],
            one["merged"],
            names,
            passes,
            one["same_error"]
        ])
    };
    let all: Vec<_> = told["pull_requests"]
        .as_array()
        .unwrap()
        .iter()
        .map(facts)
        .collect();
    assert_eq!(
        json!(all),
        json!([
            [2, true, ["architecture"], [], 0],
            [1, true, ["security"], [false, false, true], 1]
        ])
    );
    let page = std::fs::read_to_string(page).unwrap();
    for said in [
        "feat: sign in",
        "The gate <strong>security</strong> would have opened",
        "The same error came back",
    ] {
        assert!(page.contains(said), "{said}: {page}");
    }
    assert!(
        !page.contains("<script") && !page.contains("never merged"),
        "{page}"
    );
}

/// A repository with a configuration is judged by it, on the branch that a pull request goes to, and anew once it
/// changes.
#[tokio::test(flavor = "multi_thread")]
async fn a_repository_is_judged_by_its_own_configuration() {
    let (github, repo) = world().await;
    let here = tempfile::tempdir().unwrap();
    let tried = || -> Value {
        let arguments = ["try", "acme/widgets", "--format", "json"];
        let said = run(&github, &As::App, here.path(), &arguments);
        serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{}{}", said.out, said.err))
    };
    assert_eq!(tried()["judged_by"], json!(["presets"]));
    let own = "version: 1\ngates: { architecture: off, deploy: off }\n";
    github
        .user("olga")
        .push_to(
            &repo,
            "main",
            CommitSpec::new("Loopgate").file(".github/loopgate.yml", own),
        )
        .unwrap();
    let by_own = tried();
    assert_eq!(by_own["judged_by"], json!(["repository"]), "{by_own}");
    assert_eq!(by_own["gates"], json!({ "security": 1 }), "{by_own}");
    assert_eq!(by_own["gates_of_all"], json!([]), "{by_own}");
    let passes = |one: &Value| one["passes"].as_bool();
    let attempts: Vec<_> = by_own["pull_requests"][1]["attempts"]
        .as_array()
        .unwrap()
        .iter()
        .map(passes)
        .collect();
    assert_eq!(attempts, [Some(false), Some(false), Some(true)], "{by_own}");
    let file = here.path().join("other.yml");
    std::fs::write(&file, "version: 1\n").unwrap();
    let given = ["try", "acme/widgets", "--config", file.to_str().unwrap()];
    let said = run(&github, &As::App, here.path(), &given);
    assert!(
        said.out.contains("Judged by the file of --config."),
        "{}",
        said.out
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_merged_pull_request_no_gate_is_judged() {
    let github = github().await;
    github
        .create_repo("acme/widgets", &[("README.md", "# Widgets\n")])
        .unwrap();
    let here = tempfile::tempdir().unwrap();
    let said = run(&github, &As::App, here.path(), &["try", "acme/widgets"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(
        said.out
            .contains("There is no merged pull request to look at.")
            && !said.out.contains("would have opened"),
        "{}",
        said.out
    );
}

/// Of a job GitHub tells that it failed; which error came back is in its log.
#[tokio::test(flavor = "multi_thread")]
async fn with_logs_the_error_that_came_back_is_named() {
    let github = github().await;
    let workflow = ".github/workflows/test.yml";
    let repo = github
        .create_repo(
            "acme/widgets",
            &[("README.md", "# Widgets\n"), (workflow, "on: push\n")],
        )
        .unwrap();
    let pr = opened(&github, &repo, "feat: rates", "src/rates.py");
    for text in ["pub fn rate() {}\n", "pub fn rate() { 2 }\n"] {
        github
            .user("alice")
            .push(&pr, &[("src/rates.py", text)], "Mend it")
            .unwrap();
        let spec = RunSpec::new(github.head(&pr).unwrap(), workflow).jobs(&["unit tests"]);
        let run = github.start_workflow(&repo, spec).unwrap();
        let step = LoggedStep {
            name: "Run tests".to_owned(),
            conclusion: Conclusion::Failure,
            command: "pytest".to_owned(),
            text: "FAILED tests/test_rates.py::test_rate - assert 4 == 3\n1 failed in 0.02s\n"
                .to_owned(),
        };
        let log = JobLog {
            steps: vec![step],
            late: TimeDelta::zero(),
            is_gone: false,
        };
        github
            .print(&repo, github.job(&repo, run, "unit tests").unwrap(), log)
            .unwrap();
        github
            .finish_workflow(&repo, run, Conclusion::Failure, Vec::new())
            .unwrap();
    }
    github.user("olga").merge(&pr).unwrap();
    let here = tempfile::tempdir().unwrap();
    let same_error = |arguments: &[&str]| {
        let said = run(
            &github,
            &As::App,
            here.path(),
            &[&["try", "acme/widgets", "--format", "json"], arguments].concat(),
        );
        let told: Value =
            serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{}{}", said.out, said.err));
        told["pull_requests"][0].clone()
    };
    let (without, with) = (same_error(&[]), same_error(&["--logs"]));
    assert!(!without.to_string().contains("test_rate"), "{without}");
    assert!(with.to_string().contains("test_rate"), "{with}");
    assert_eq!(with["same_error"], 1, "{with}");
    assert_nothing_written(&github, &repo);
}

/// Where Loopgate is at work already, what it writes tells how to approve. That is nobody's word.
#[tokio::test(flavor = "multi_thread")]
async fn what_loopgate_wrote_is_no_attempt_to_approve() {
    let github = github().await;
    let files = [
        ("README.md", "# Widgets\n"),
        (".github/loopgate.yml", "version: 1\n"),
    ];
    let repo = github.create_repo("acme/widgets", &files).unwrap();
    let pr = opened(&github, &repo, "feat: sign in", "src/auth/login.rs");
    look(&github, &pr).await;
    let asks = |comment: &CommentView| {
        comment.author.ends_with("[bot]") && comment.body.contains("security approved")
    };
    assert!(github.pull_request(&pr).unwrap().comments.iter().any(asks));
    github
        .user("mallory")
        .comment(&pr, "security approved")
        .unwrap();
    github.user("olga").merge(&pr).unwrap();
    let here = tempfile::tempdir().unwrap();
    let said = run(&github, &As::App, here.path(), &["try", "acme/widgets"]);
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    assert!(
        said.out.contains("mallory") && !said.out.contains("[bot]"),
        "{}",
        said.out
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_read_is_not_asked_for_again() {
    let (github, _) = world().await;
    let here = tempfile::tempdir().unwrap();
    let asked = || github.requests().len();
    let before = asked();
    let first = run(&github, &As::App, here.path(), &["try", "acme/widgets"]);
    assert_eq!(first.code, Some(0), "{}", first.err);
    let (cost, before) = (asked() - before, asked());
    let again = run(&github, &As::App, here.path(), &["try", "acme/widgets"]);
    assert_eq!(again.out, first.out);
    // Beside the list: the App's token and its installation, the branch, its configuration and the organisation's.
    assert!(asked() - before <= 6, "{} requests", asked() - before);
    assert!(cost <= 2 * 15 + 5, "{cost} requests for two pull requests");
    insta::assert_snapshot!(first.out);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_could_not_be_read_is_told_and_gone_on_from() {
    let (github, _) = world().await;
    let here = tempfile::tempdir().unwrap();
    let fault = loopgate_simulator::RequestFault::on(
        "/pulls/1$",
        loopgate_simulator::Harm::status(http::StatusCode::BAD_GATEWAY),
    );
    github.add_fault(fault.unwrap());
    let said = run(&github, &As::App, here.path(), &["try", "acme/widgets"]);
    assert_eq!(said.code, Some(69), "{}{}", said.out, said.err);
    assert!(
        said.err.contains("pull requests read: 1.") && said.out.contains("#2"),
        "{}{}",
        said.out,
        said.err
    );
    assert!(
        said.err.contains("githubstatus.com. Run it again"),
        "{}",
        said.err
    );
    github.heal();
    assert_eq!(
        run(&github, &As::App, here.path(), &["try", "acme/widgets"]).code,
        Some(0)
    );
}

/// One that GitHub does not show ends nothing: the others are read, and it is named.
#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_that_is_refused_is_left_out_by_name() {
    let (github, _) = world().await;
    let here = tempfile::tempdir().unwrap();
    let harm = loopgate_simulator::Harm::status(http::StatusCode::FORBIDDEN);
    github.add_fault(loopgate_simulator::RequestFault::on("/pulls/2$", harm).unwrap());
    let tried = run(&github, &As::App, here.path(), &["try", "acme/widgets"]);
    assert_eq!(tried.code, Some(0), "{}{}", tried.out, tried.err);
    assert!(
        tried.out.contains("1 pull request could not be read: #2 (")
            && tried.out.contains("#1 feat"),
        "{}",
        tried.out
    );
}

/// Without a token it is not known who may approve: nothing is stated of what depends on it. A later token is asked
/// again.
#[tokio::test(flavor = "multi_thread")]
async fn what_only_a_token_shows_is_not_known_without_one() {
    let (github, repo) = world().await;
    let pr = opened(&github, &repo, "feat: sign out", "src/auth/logout.rs");
    github
        .ci("other-ci")
        .check_run(
            &repo,
            github.head(&pr).unwrap(),
            CheckSpec::concluded("test", Conclusion::Success),
        )
        .unwrap();
    github.clock().advance(TimeDelta::minutes(1));
    github
        .user("olga")
        .comment(&pr, "security approved")
        .unwrap();
    github.user("olga").merge(&pr).unwrap();
    let here = tempfile::tempdir().unwrap();
    let read = |who: &As<'_>| -> Value {
        let tried = run(
            &github,
            who,
            here.path(),
            &["try", "acme/widgets", "--format", "json"],
        );
        serde_json::from_str(&tried.out).unwrap_or_else(|_| panic!("{}{}", tried.out, tried.err))
    };
    let of_security = |tried: &Value| -> Vec<Value> {
        let pulls = tried["pull_requests"].as_array().unwrap().iter();
        let gates = pulls.flat_map(|one| one["gates"].as_array().unwrap());
        gates
            .filter(|gate| gate["name"] == "security")
            .map(|gate| json!([gate["closed"], gate["refused"]]))
            .collect()
    };
    let without = read(&As::Nobody);
    assert_eq!(
        of_security(&without),
        vec![json!([null, []]), json!([null, []])],
        "{without}"
    );
    assert_eq!(
        json!([without["would_have_waited"], without["waits_unknown"]]),
        json!([0, 3]),
        "{without}"
    );
    let with = read(&As::App);
    assert_eq!(
        json!([with["would_have_waited"], with["waits_unknown"]]),
        json!([1, 0]),
        "{with}"
    );
    assert_eq!(of_security(&with)[0], json!([false, []]), "{with}");
}

/// Of a long pull request the last four commits are read, and both the text and the page show that others are not.
#[tokio::test(flavor = "multi_thread")]
async fn commits_that_are_not_read_are_counted() {
    let github = github().await;
    let repo = github
        .create_repo("acme/widgets", &[("README.md", "# Widgets\n")])
        .unwrap();
    let pr = opened(&github, &repo, "feat: more", "src/more.rs");
    for nth in 0..5 {
        let check = CheckSpec::concluded("test", Conclusion::Success);
        github
            .ci("other-ci")
            .check_run(&repo, github.head(&pr).unwrap(), check)
            .unwrap();
        github
            .user("alice")
            .push(&pr, &[("src/more.rs", &format!("// {nth}\n"))], "Go on")
            .unwrap();
    }
    github.user("olga").merge(&pr).unwrap();
    let here = tempfile::tempdir().unwrap();
    let page = here.path().join("widgets.html");
    let tried = run(
        &github,
        &As::App,
        here.path(),
        &["try", "acme/widgets", "--html", page.to_str().unwrap()],
    );
    assert!(
        tried.out.contains("2 earlier commits not read"),
        "{}{}",
        tried.out,
        tried.err
    );
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("(2 earlier commits not read)"), "{page}");
}

/// A red check is a failure whatever it is called, and beside a green one of a like name.
#[tokio::test(flavor = "multi_thread")]
async fn a_red_check_is_a_failure_whatever_its_name() {
    use Conclusion::{Failure, Success};
    let github = github().await;
    let repo = github
        .create_repo("acme/widgets", &[("README.md", "# Widgets\n")])
        .unwrap();
    let long = |version: &str| format!("Build and test on ubuntu-latest with Python {version}");
    let (red, green) = (long("3.11"), long("3.12"));
    let cases = [
        vec![("CI", Failure)],
        vec![("тесты", Failure), ("build", Success)],
        vec![(red.as_str(), Failure), (green.as_str(), Success)],
        vec![("test [a]", Success), ("test (a)", Failure)],
    ];
    for (nth, checks) in cases.iter().enumerate() {
        let pr = opened(&github, &repo, "feat: more", &format!("src/more{nth}.rs"));
        for (name, end) in checks {
            github
                .ci("other-ci")
                .check_run(
                    &repo,
                    github.head(&pr).unwrap(),
                    CheckSpec::concluded(name, *end),
                )
                .unwrap();
        }
        github.user("olga").merge(&pr).unwrap();
    }
    let here = tempfile::tempdir().unwrap();
    let tried = run(&github, &As::App, here.path(), &["try", "acme/widgets"]);
    assert_eq!(
        tried.out.matches("1 attempt, 1 failed").count(),
        cases.len(),
        "{}{}",
        tried.out,
        tried.err
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_is_not_shown_is_told_with_what_to_do() {
    let (github, _) = world().await;
    let here = tempfile::tempdir().unwrap();
    let said = run(&github, &As::Nobody, here.path(), &["try", "acme/wigdets"]);
    assert_eq!(said.code, Some(69), "{}{}", said.out, said.err);
    assert!(
        said.err.contains("see whether the name is right"),
        "{}",
        said.err
    );
    for command in ["stats", "patterns"] {
        let words = ["memory", command, "--repository", "acme/wigdets"];
        let said_too = run(&github, &As::Nobody, here.path(), &words);
        assert_eq!(said_too.code, Some(69), "{}{}", said_too.out, said_too.err);
        assert!(
            said_too.err.contains("see whether the name is right"),
            "{}",
            said_too.err
        );
    }
}
