//! `loopgate feedback OWNER/REPO#N`: what stands between a pull request and ready, with whatever rights one has.

use http::StatusCode;
use loopgate_core::RepoName;
use loopgate_simulator::{
    Area, CheckSpec, Conclusion, Harm, Level, Often, Permissions, Pr, RequestFault, Simulator,
};
use serde_json::Value;

use crate::{
    As, Said, assert_nothing_written,
    explain::{look, world},
    run,
};

/// The pull request of these tests, whose tests fail.
pub async fn failing() -> (Simulator, RepoName, Pr) {
    let (github, repo, pr) = world().await;
    report(&github, &repo, &pr, Conclusion::Failure);
    look(&github, &pr).await;
    github.forget_requests();
    (github, repo, pr)
}

fn report(github: &Simulator, repo: &RepoName, pr: &Pr, tests: Conclusion) {
    let (ci, head) = (github.ci("other-ci"), github.head(pr).unwrap());
    ci.check_run(
        repo,
        head,
        CheckSpec::concluded("ci / build", Conclusion::Success),
    )
    .unwrap();
    let spec = CheckSpec::concluded("ci / test", tests).annotation(
        "src/auth/login.rs",
        2,
        "expected \"hash\", got \"x\"",
    );
    ci.check_run(repo, head, spec).unwrap();
}

fn feedback(github: &Simulator, who: &As<'_>, pr: &Pr, more: &[&str]) -> Said {
    let here = tempfile::tempdir().unwrap();
    run(
        github,
        who,
        here.path(),
        &[&["feedback", &format!("{}#{}", pr.repo, pr.number)], more].concat(),
    )
}

/// The document without where it was read.
fn document(said: &Said) -> (Value, String) {
    let mut document: Value = serde_json::from_str(&said.out)
        .unwrap_or_else(|error| panic!("{error}: {}{}", said.out, said.err));
    let from = document
        .as_object_mut()
        .unwrap()
        .remove("read_from")
        .unwrap();
    (document, from.as_str().unwrap().to_owned())
}

fn forbid(github: &Simulator, path: &str) {
    github.add_fault(RequestFault::on(path, Harm::status(StatusCode::FORBIDDEN)).unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn everybody_reads_the_same_from_the_first_place_they_may() {
    let (github, repo, pr) = failing().await;
    let without_checks: Permissions = [
        (Area::PullRequests, Level::Read),
        (Area::Contents, Level::Read),
    ]
    .into();
    let token = github.actions_token(&repo, Some(without_checks)).unwrap();
    let alices = github.user("alice").token().unwrap();
    let json = ["--format", "json"];
    let app = feedback(&github, &As::App, &pr, &json);
    let (document_of_app, from) = document(&app);
    assert_eq!(
        (from.as_str(), app.code),
        ("check_run", Some(1)),
        "{}",
        app.err
    );
    assert_eq!(document_of_app["schema"], "loopgate.feedback/v1");
    assert_eq!(
        (&document_of_app["final"], &document_of_app["decision"]),
        (&true.into(), &"retry".into())
    );
    let told = &document_of_app["failures"][0];
    assert_eq!(
        told["place"],
        serde_json::json!({ "file": "src/auth/login.rs", "line": 2 })
    );
    for (who, place) in [
        (As::Nobody, "check_run"),
        (As::Token(&alices), "check_run"),
        (As::Token(&token), "status_comment"),
    ] {
        let said = feedback(&github, &who, &pr, &json);
        assert_eq!(said.code, Some(1), "{}", said.err);
        assert_eq!(document(&said), (document_of_app.clone(), place.to_owned()));
    }
    // Nor the comments: the state says less, but the same.
    forbid(&github, "/issues/1/comments");
    let said = feedback(&github, &As::Token(&token), &pr, &json);
    let (state, from) = document(&said);
    assert_eq!(
        (from.as_str(), said.code),
        ("state_ref", Some(1)),
        "{}",
        said.err
    );
    for field in [
        "schema",
        "repository",
        "pull_request",
        "head_sha",
        "final",
        "decision",
        "attempt",
        "score",
    ] {
        assert_eq!(state[field], document_of_app[field], "{field}");
    }
    assert_eq!(state["failures"][0]["id"], told["id"]);
    assert_nothing_written(&github, &repo);
}

#[tokio::test(flavor = "multi_thread")]
async fn people_read_what_to_do() {
    let (github, _, pr) = failing().await;
    let said = feedback(&github, &As::App, &pr, &[]);
    let head = github.head(&pr).unwrap().to_string();
    let id = said
        .out
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'))
        .map(|(id, _)| id.to_owned());
    let shown = said
        .out
        .replace(&head[..8], "HEADHEAD")
        .replace(&id.unwrap_or_default(), "FAILURE1");
    let shown = shown
        .lines()
        .filter(|line| !line.starts_with("More: "))
        .collect::<Vec<_>>()
        .join("\n");
    insta::assert_snapshot!("feedback_on_a_terminal", shown);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_wrote_is_never_believed() {
    let (github, _, pr) = failing().await;
    let ours = github
        .pull_request(&pr)
        .unwrap()
        .comments
        .iter()
        .find(|one| one.body.contains("loopgate:status"))
        .cloned();
    let ours = ours.unwrap();
    forbid(&github, "/check-runs");
    let lie = ours
        .body
        .replace("\"decision\": \"retry\"", "\"decision\": \"proceed\"");
    assert_ne!(lie, ours.body);
    github.user("mallory").comment(&pr, &lie).unwrap();
    let said = feedback(&github, &As::Nobody, &pr, &[]);
    assert_eq!(said.code, Some(1), "{}{}", said.out, said.err);
    github
        .user("olga")
        .silently()
        .delete_comment(&pr, ours.id)
        .unwrap();
    forbid(&github, "/git/ref/");
    let said = feedback(&github, &As::Nobody, &pr, &["--format", "json"]);
    let (nothing, from) = document(&said);
    assert_eq!(
        (from.as_str(), said.code),
        ("nowhere", Some(3)),
        "{}",
        said.err
    );
    assert_eq!(
        (&nothing["final"], &nothing["decision"]),
        (&false.into(), &"wait".into())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verdict_on_an_older_head_is_not_final() {
    let (github, repo, pr) = failing().await;
    let before = github.head(&pr).unwrap().to_string();
    let since = ["--since", &before, "--format", "json"];
    let (untouched, _) = document(&feedback(&github, &As::App, &pr, &since));
    assert_eq!(untouched["outdated"]["reason"], "before_push");
    github
        .user("alice")
        .push(
            &pr,
            &[("src/auth/login.rs", "// Nothing.\n")],
            "Take it back",
        )
        .unwrap();
    let said = feedback(&github, &As::App, &pr, &["--format", "json"]);
    let (older, from) = document(&said);
    assert_eq!(
        (from.as_str(), said.code),
        ("status_comment", Some(3)),
        "the check run is the older head's"
    );
    let head = github.head(&pr).unwrap().to_string();
    assert_eq!(
        older["outdated"],
        serde_json::json!({ "reason": "older_head", "head_sha": head })
    );
    assert_eq!(
        (&older["final"], &older["head_sha"]),
        (&false.into(), &before.as_str().into())
    );
    report(&github, &repo, &pr, Conclusion::Success);
    look(&github, &pr).await;
    let said = feedback(&github, &As::App, &pr, &since);
    assert!(
        said.out.contains("\"final\": true") && said.code != Some(1),
        "{}{}",
        said.out,
        said.err
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_ends_with_the_verdict_or_with_the_time() {
    let (github, _, pr) = failing().await;
    // A limit is waited for, and said.
    github.add_fault(
        RequestFault::on("/pulls/1", Harm::secondary_limit(1))
            .unwrap()
            .often(Often::Times(1)),
    );
    let said = feedback(&github, &As::App, &pr, &["--wait"]);
    assert_eq!(said.code, Some(1), "{}", said.err);
    assert!(
        said.err.contains("rate limit") && said.err.contains("waiting for that"),
        "{}",
        said.err
    );
    github
        .user("alice")
        .push(
            &pr,
            &[("src/auth/login.rs", "// Nothing.\n")],
            "Take it back",
        )
        .unwrap();
    let said = feedback(&github, &As::App, &pr, &["--wait", "--timeout", "0s"]);
    assert_eq!(said.code, Some(3), "{}", said.err);
    assert!(
        said.err
            .contains("waiting for Loopgate to look at the newest head"),
        "{}",
        said.err
    );
    assert!(
        said.out.contains("Not final: this is of an older head"),
        "{}",
        said.out
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_certain_failure_ends_waiting_while_another_check_runs() {
    let (github, repo, pr) = world().await;
    let (ci, head) = (github.ci("other-ci"), github.head(&pr).unwrap());
    let broken = CheckSpec::concluded("ci / build", Conclusion::Failure);
    ci.check_run(
        &repo,
        head,
        broken.annotation("src/auth/login.rs", 2, "cannot find `hash`"),
    )
    .unwrap();
    look(&github, &pr).await;
    let now = ["--wait", "--timeout", "0s"];
    assert_eq!(
        feedback(&github, &As::App, &pr, &now).code,
        Some(3),
        "the tests still run"
    );
    let said = feedback(
        &github,
        &As::App,
        &pr,
        &[&now[..], &["--until", "first-certain"]].concat(),
    );
    assert_eq!(said.code, Some(1), "{}{}", said.out, said.err);
    assert!(said.out.contains("cannot find"), "{}", said.out);
    let wrong = feedback(&github, &As::App, &pr, &["--wait", "--until", "tomorrow"]);
    assert!(
        wrong.code == Some(64) && wrong.err.contains("first-certain"),
        "{:?} {}",
        wrong.code,
        wrong.err
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_said() {
    let (github, _, pr) = failing().await;
    let nothing = Pr {
        repo: pr.repo.clone(),
        number: loopgate_core::PrNumber::new(999),
    };
    let said = feedback(&github, &As::Nobody, &nothing, &["--wait"]);
    assert!(
        said.code == Some(65) && said.err.contains("acme/widgets#999"),
        "{:?} {}",
        said.code,
        said.err
    );
    let here = tempfile::tempdir().unwrap();
    let said = run(&github, &As::Nobody, here.path(), &["feedback"]);
    assert!(
        said.code == Some(65) && said.err.contains("git"),
        "{:?} {}",
        said.code,
        said.err
    );
    let said = run(&github, &As::Nobody, here.path(), &["feedback", "--wait"]);
    assert_eq!(said.code, Some(64), "{}", said.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merged_pull_request_waits_for_nobody() {
    let (github, _, pr) = failing().await;
    github.user("olga").merge(&pr).unwrap();
    let said = feedback(&github, &As::App, &pr, &[]);
    assert!(
        said.out.contains("merged, there is nothing to do") && said.code == Some(0),
        "{}{}",
        said.out,
        said.err
    );
    let (ended, _) = document(&feedback(&github, &As::App, &pr, &["--format", "json"]));
    assert_eq!(
        (&ended["ended"], &ended["final"], &ended["who_acts"]),
        (&"merged".into(), &true.into(), &Value::Null)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_asked_of_a_closed_pull_request() {
    let (github, _, pr) = failing().await;
    // The push was never judged.
    github
        .user("alice")
        .push(
            &pr,
            &[("src/auth/login.rs", "// Nothing.\n")],
            "Take it back",
        )
        .unwrap();
    github.user("alice").close(&pr).unwrap();
    let said = feedback(&github, &As::App, &pr, &[]);
    assert!(
        said.out.contains("closed, there is nothing to do") && said.code == Some(3),
        "{}{}",
        said.out,
        said.err
    );
}
