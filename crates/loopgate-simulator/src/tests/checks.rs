use chrono::TimeDelta;
use serde_json::json;

use super::{client::Client, start_with_repo};
use crate::{CheckSpec, Conclusion, JobLog, LoggedStep, PullSpec, RunSpec, StatusState};

const RUNS: &str = "/repos/acme/widgets/check-runs";

#[tokio::test]
async fn a_check_run_lives_and_belongs_to_its_app() {
    let (sim, repo, app) = start_with_repo().await;
    let pr = sim
        .user("alice")
        .open_pull_request(&repo, PullSpec::new("x").file("x", "1\n"))
        .unwrap();
    let head = sim.head(&pr).unwrap();
    let annotation = json!({ "path": "x", "start_line": 1, "end_line": 1, "annotation_level": "failure", "message": "no" });
    let new = json!({ "name": "loopgate / verify", "head_sha": head, "status": "in_progress" });
    let run = app.post(RUNS, new).await.is(201).json();
    assert_eq!(
        (run["app"]["slug"].as_str(), run["conclusion"].as_str()),
        (Some("loopgate"), None)
    );
    assert_eq!(run["pull_requests"][0]["number"], pr.number.get());
    let path = format!("{RUNS}/{}", run["id"]);
    let output =
        json!({ "title": "2 failed", "summary": "…", "annotations": vec![annotation.clone(); 50] });
    app.patch(&path, json!({ "output": output })).await.is(200);
    let output =
        json!({ "title": "2 failed", "summary": "…", "annotations": vec![annotation.clone(); 50] });
    let done = app
        .patch(&path, json!({ "conclusion": "failure", "output": output }))
        .await
        .is(200)
        .json();
    assert_eq!(
        (
            done["status"].as_str(),
            done["output"]["annotations_count"].as_u64()
        ),
        (Some("completed"), Some(100))
    );
    assert_eq!(
        app.get(&format!("{path}/annotations?per_page=100"))
            .await
            .is(200)
            .json()
            .as_array()
            .unwrap()
            .len(),
        100
    );

    let button = |text: &str| json!({ "label": text, "identifier": text, "description": text });
    for bad in [
        json!({ "output": { "title": "t", "summary": "s", "annotations": vec![annotation; 51] } }),
        json!({ "actions": [button("a"), button("b"), button("c"), button("d")] }),
        json!({ "actions": [button("a label that is too long")] }),
        json!({ "output": { "title": "t", "summary": "x".repeat(65_536) } }),
        json!({ "status": "completed" }),
        json!({ "conclusion": "stale" }),
    ] {
        app.patch(&path, bad).await.is(422);
    }
    app.post(RUNS, json!({ "name": "x", "head_sha": "0".repeat(40) }))
        .await
        .is(422);
    Client::person(&sim, "alice")
        .post(RUNS, json!({ "name": "x", "head_sha": head }))
        .await
        .is(403);
    let foreign = sim
        .ci("other-ci")
        .check_run(&repo, head, CheckSpec::in_progress("unit"))
        .unwrap();
    app.patch(
        &format!("{RUNS}/{foreign}"),
        json!({ "conclusion": "success" }),
    )
    .await
    .is(403);
}

#[tokio::test]
async fn lists_show_the_latest_of_each_name() {
    let (sim, repo, app) = start_with_repo().await;
    let head = sim.sha(&repo, "main").unwrap();
    let ci = sim.ci("other-ci");
    ci.check_run(
        &repo,
        head,
        CheckSpec::concluded("unit", Conclusion::Failure),
    )
    .unwrap();
    ci.check_run(
        &repo,
        head,
        CheckSpec::concluded("unit", Conclusion::Success),
    )
    .unwrap();
    sim.ci("github-actions")
        .check_run(
            &repo,
            head,
            CheckSpec::concluded("unit", Conclusion::Failure),
        )
        .unwrap();
    let path = "/repos/acme/widgets/commits/main/check-runs";
    let runs = app.get(path).await.is(200).json();
    assert_eq!(runs["total_count"], 2);
    assert_eq!(
        app.get(&format!("{path}?filter=all")).await.is(200).json()["total_count"],
        3
    );
    let ours = app
        .get(&format!("{path}?app_id=515151&check_name=unit"))
        .await
        .is(200)
        .json();
    assert_eq!(
        (
            ours["total_count"].as_u64(),
            ours["check_runs"][0]["conclusion"].as_str()
        ),
        (Some(1), Some("success"))
    );
    let suites = app
        .get("/repos/acme/widgets/commits/main/check-suites")
        .await
        .is(200)
        .json();
    let other = suites["check_suites"]
        .as_array()
        .unwrap()
        .iter()
        .find(|suite| suite["app"]["slug"] == "other-ci");
    assert_eq!(other.unwrap()["conclusion"], "success");
    assert_eq!(
        other.unwrap()["created_at"],
        "2026-11-20T10:00:00Z",
        "made when the commit was pushed"
    );

    ci.status(&repo, head, "legacy", StatusState::Pending)
        .unwrap();
    ci.status(&repo, head, "legacy", StatusState::Success)
        .unwrap();
    let status = app
        .get(&format!("/repos/acme/widgets/commits/{head}/status"))
        .await
        .is(200)
        .json();
    assert_eq!(
        (status["state"].as_str(), status["total_count"].as_u64()),
        (Some("success"), Some(1))
    );
    app.post(
        &format!("/repos/acme/widgets/statuses/{head}"),
        json!({ "state": "odd" }),
    )
    .await
    .is(422);
}

#[tokio::test]
async fn a_job_s_log_comes_late_through_a_short_lived_link_that_takes_no_token() {
    let (sim, repo, app) = start_with_repo().await;
    let head = sim.sha(&repo, "main").unwrap();
    let run = sim
        .start_workflow(&repo, RunSpec::new(head, ".github/workflows/ci.yml"))
        .unwrap();
    let job = sim.job(&repo, run, "test").unwrap();
    let step = |name: &str, conclusion, text: &str| LoggedStep {
        name: name.to_owned(),
        conclusion,
        command: format!("make {name}"),
        text: text.to_owned(),
    };
    let steps = vec![
        step("build", Conclusion::Success, "ok"),
        step(
            "check",
            Conclusion::Failure,
            "a.py:3: name 'x' is not defined",
        ),
    ];
    sim.print(
        &repo,
        job,
        JobLog {
            steps,
            late: TimeDelta::seconds(5),
            is_gone: false,
        },
    )
    .unwrap();
    let logs = format!("/repos/acme/widgets/actions/jobs/{job}/logs");
    app.get(&logs).await.is(404);
    sim.finish_workflow(&repo, run, Conclusion::Failure, vec![])
        .unwrap();
    app.get(&logs).await.is(404);
    sim.clock().advance(TimeDelta::seconds(5));
    let found = app.get(&logs).await.is(302);
    let there = found.header("location").unwrap();
    app.get(there).await.is(400);
    let log = Client::anonymous(&sim).get(there).await.is(200);
    let text = String::from_utf8(log.body.to_vec()).unwrap();
    assert!(
        text.contains("Z ##[group]Run make check\n")
            && text.contains("Z a.py:3: name 'x' is not defined\n"),
        "{text}"
    );
    let shown = app
        .get(&format!("/repos/acme/widgets/actions/jobs/{job}"))
        .await
        .is(200)
        .json();
    let steps: Vec<_> = shown["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["conclusion"].as_str())
        .collect();
    assert_eq!(steps, [Some("success"), Some("failure")]);
    sim.clock().advance(TimeDelta::minutes(1));
    Client::anonymous(&sim).get(there).await.is(403);
}

#[tokio::test]
async fn artifacts_are_fetched_through_a_short_lived_link() {
    let (sim, repo, app) = start_with_repo().await;
    let pr = sim
        .user("mallory")
        .open_pull_request(&repo, PullSpec::new("x").file("x", "1\n").from_fork())
        .unwrap();
    let head = sim.head(&pr).unwrap();
    let spec = RunSpec::new(head, ".github/workflows/ci.yml")
        .artifact("loopgate-evidence-test", &b"PK zip"[..]);
    let id = sim.workflow_run(&repo, spec, Conclusion::Failure).unwrap();
    let runs = app
        .get(&format!("/repos/acme/widgets/actions/runs?head_sha={head}"))
        .await
        .is(200)
        .json();
    let run = &runs["workflow_runs"][0];
    assert_eq!(
        (run["id"].as_u64(), run["conclusion"].as_str()),
        (Some(id.get()), Some("failure"))
    );
    assert_eq!(
        (
            run["pull_requests"].as_array().unwrap().len(),
            run["run_attempt"].as_u64()
        ),
        (0, Some(1))
    );
    assert_eq!(run["head_repository"]["full_name"], "mallory/widgets");

    let list = app
        .get(&format!("/repos/acme/widgets/actions/runs/{id}/artifacts"))
        .await
        .is(200)
        .json();
    let url = list["artifacts"][0]["archive_download_url"]
        .as_str()
        .unwrap();
    let found = app.get(url).await.is(302);
    let there = found.header("location").unwrap();
    assert_eq!(
        &Client::anonymous(&sim).get(there).await.is(200).body[..],
        b"PK zip"
    );
    sim.clock().advance(TimeDelta::minutes(1));
    Client::anonymous(&sim).get(there).await.is(403);

    app.post(
        &format!("/repos/acme/widgets/actions/runs/{id}/rerun-failed-jobs"),
        json!({}),
    )
    .await
    .is(201);
    let again = app
        .get(&format!("/repos/acme/widgets/actions/runs/{id}"))
        .await
        .is(200)
        .json();
    assert_eq!(
        (again["run_attempt"].as_u64(), again["status"].as_str()),
        (Some(2), Some("in_progress"))
    );
    sim.finish_workflow(&repo, id, Conclusion::Success, vec![])
        .unwrap();
    let checks = app
        .get(&format!(
            "/repos/acme/widgets/commits/{head}/check-runs?check_name=test"
        ))
        .await
        .is(200)
        .json();
    assert_eq!(checks["check_runs"][0]["conclusion"], "success");
    assert_eq!(checks["check_runs"][0]["app"]["slug"], "github-actions");
}
