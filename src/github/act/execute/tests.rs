use serde_json::Value;
use wiremock::{
    Mock, MockServer, Request, ResponseTemplate,
    matchers::{body_partial_json, method, path},
};

use super::*;
use crate::github::{
    act::{
        check_run,
        plan::tests::{check_text, untouched},
    },
    client::{
        Github, Setup, auth::Credentials, retry::Patience, secret::Secret, transport::ApiUrl,
    },
};
use loopgate_core::{
    CommentId, WorkflowRunId,
    concerns::gates::Reacted,
    deciding::{CheckRunPlan, MergedBranch},
    observed::Conclusion,
};

struct Bench {
    server: MockServer,
    client: Client,
    executor: Executor,
}

impl Bench {
    async fn new() -> Self {
        let server = MockServer::start().await;
        let patience = Patience {
            retries: 1,
            pause: std::time::Duration::ZERO,
        };
        let setup = Setup {
            patience,
            ..Setup::default()
        };
        let api = ApiUrl::parse(&server.uri()).unwrap();
        let github = Github::new(api, Credentials::Token(Secret::new("t")), setup).unwrap();
        Self {
            server,
            client: github.client(None),
            executor: Executor::default(),
        }
    }

    async fn answer(&self, verb: &str, at: &str, answer: ResponseTemplate) {
        Mock::given(method(verb))
            .and(path(format!("/repos/acme/widgets/{at}")))
            .respond_with(answer)
            .mount(&self.server)
            .await;
    }

    async fn execute(&self, effects: &[Effect]) -> Result<Execution> {
        self.executor
            .execute(&self.client, &untouched(), effects)
            .await
    }

    /// Method, path below the repository and body of every request so far.
    async fn requests(&self) -> Vec<(String, String, Value)> {
        let requests = self.server.received_requests().await.unwrap();
        let below = |request: &Request| {
            request
                .url
                .path()
                .trim_start_matches("/repos/acme/widgets/")
                .to_owned()
        };
        let body = |request: &Request| serde_json::from_slice(&request.body).unwrap_or_default();
        requests
            .iter()
            .map(|request| (request.method.to_string(), below(request), body(request)))
            .collect()
    }
}

fn ok(status: u16, body: Value) -> ResponseTemplate {
    ResponseTemplate::new(status).set_body_json(body)
}

fn invalid(message: &str) -> ResponseTemplate {
    ok(422, json!({ "message": message }))
}

fn write(annotations: u32) -> CheckRunWrite {
    let state = CheckRunPlan::Completed(Conclusion::Failure);
    let text = check_text("Attempt 1 failed", annotations);
    let digest = check_run::digest(state, &text, false, "main").to_string();
    CheckRunWrite {
        name: "loopgate / verify".into(),
        state,
        annotations: text.annotations.clone(),
        text,
        digest,
    }
}

#[tokio::test]
async fn annotations_go_out_in_batches_of_fifty() {
    let bench = Bench::new().await;
    bench
        .answer(
            "POST",
            "check-runs",
            ok(
                201,
                json!({ "id": 9, "name": "loopgate / verify", "status": "queued" }),
            ),
        )
        .await;
    bench
        .answer("PATCH", "check-runs/9", ok(200, json!({ "id": 9 })))
        .await;
    let executed = bench
        .execute(&[Effect::CreateCheckRun(write(120))])
        .await
        .unwrap();
    assert_eq!((executed.done, executed.problems.len()), (1, 0));
    let sent: Vec<_> = bench
        .requests()
        .await
        .into_iter()
        .map(|(verb, _, body)| {
            (
                verb,
                body["output"]["annotations"].as_array().unwrap().len(),
            )
        })
        .collect();
    assert_eq!(
        sent,
        [
            ("POST".into(), 50),
            ("PATCH".into(), 50),
            ("PATCH".into(), 20)
        ]
    );
}

#[tokio::test]
async fn a_check_run_carries_its_state_text_and_digest() {
    let bench = Bench::new().await;
    bench
        .answer(
            "POST",
            "check-runs",
            ok(
                201,
                json!({ "id": 9, "name": "loopgate / verify", "status": "queued" }),
            ),
        )
        .await;
    bench
        .execute(&[Effect::CreateCheckRun(write(0))])
        .await
        .unwrap();
    let (_, _, body) = bench.requests().await.remove(0);
    assert_eq!(body["name"], "loopgate / verify");
    assert_eq!(
        body["head_sha"],
        untouched().pull_request.head.sha.to_string()
    );
    assert_eq!(
        (&body["status"], &body["conclusion"]),
        (&json!("completed"), &json!("failure"))
    );
    assert_eq!(body["output"]["title"], "Attempt 1 failed");
    let digest =
        crate::github::client::marker::Digest::parse(body["external_id"].as_str().unwrap())
            .unwrap();
    assert_eq!(
        digest,
        check_run::digest(write(0).state, &write(0).text, false, "main")
    );
}

#[tokio::test]
async fn a_bad_name_is_reported_and_the_rest_goes_on() {
    let bench = Bench::new().await;
    let refusal = "Reviews may only be requested from collaborators.";
    Mock::given(method("POST"))
        .and(path("/repos/acme/widgets/pulls/12/requested_reviewers"))
        .and(body_partial_json(json!({ "reviewers": ["mallory"] })))
        .respond_with(invalid(refusal))
        .with_priority(1)
        .mount(&bench.server)
        .await;
    bench
        .answer("POST", "pulls/12/requested_reviewers", ok(201, json!({})))
        .await;
    let ask = |login: &str| Effect::RequestReviewer(Reviewer::User(login.parse().unwrap()));
    let team = Effect::RequestReviewer(Reviewer::Team("acme/security".parse().unwrap()));
    let effects = [ask("mallory"), ask("bob"), team];
    for _ in 0..2 {
        let executed = bench.execute(&effects).await.unwrap();
        assert_eq!(executed.done, 2);
        assert_eq!(executed.problems[0].what, "request a review by mallory");
        assert!(executed.problems[0].reason.contains(refusal));
    }
    let asked = bench.requests().await;
    assert_eq!(
        asked
            .iter()
            .filter(|(_, _, body)| body["reviewers"] == json!(["mallory"]))
            .count(),
        1,
        "not again"
    );
    assert!(
        asked
            .iter()
            .any(|(_, _, body)| body["team_reviewers"] == json!(["security"]))
    );
}

#[tokio::test]
async fn a_missing_permission_is_named_and_the_rest_goes_on() {
    let bench = Bench::new().await;
    let forbidden = ok(
        403,
        json!({ "message": "Resource not accessible by integration" }),
    )
    .insert_header("x-accepted-github-permissions", "checks=write");
    bench.answer("POST", "check-runs", forbidden).await;
    bench
        .answer("POST", "issues/12/comments", ok(201, json!({})))
        .await;
    let comment = Effect::CreateStatusComment { body: "x".into() };
    let executed = bench
        .execute(&[Effect::CreateCheckRun(write(0)), comment])
        .await
        .unwrap();
    assert_eq!(executed.done, 1);
    assert_eq!(
        executed.problems[0].what,
        "write the check run loopgate / verify"
    );
    assert!(
        executed.problems[0]
            .reason
            .ends_with("it needs checks=write"),
        "{}",
        executed.problems[0].reason
    );
}

#[tokio::test]
async fn a_rate_limit_ends_it() {
    let bench = Bench::new().await;
    bench
        .answer(
            "POST",
            "issues/12/labels",
            ResponseTemplate::new(429).insert_header("retry-after", "60"),
        )
        .await;
    let effects = [
        Effect::AddLabels(vec!["a".into()]),
        Effect::DeleteComment(CommentId::new(1)),
    ];
    assert!(matches!(
        bench.execute(&effects).await.unwrap_err(),
        Error::RateLimited { .. }
    ));
    assert_eq!(bench.requests().await.len(), 1);
}

#[tokio::test]
async fn what_may_not_be_created_yet_is_left_out_and_the_rest_goes_on() {
    let bench = Bench::new().await;
    bench
        .answer("POST", "issues/12/labels", ok(200, json!([])))
        .await;
    bench
        .answer("DELETE", "issues/comments/1", ok(204, json!({})))
        .await;
    let others = (0..80).map(|nth| format!("{nth:040x}").parse::<Sha>().unwrap());
    let now = bench.client.now();
    for other in others {
        drop(bench.client.book(Need::Verify, other).await.unwrap());
    }
    let effects = [
        Effect::AddLabels(vec!["a".into()]),
        Effect::CreateStatusComment { body: "x".into() },
        Effect::PostComment {
            key: "gate:security:1".into(),
            body: "x".into(),
            dispatch: None,
        },
        Effect::React {
            to: Reacted::Comment(CommentId::new(7)),
            kind: ReactionKind::Done,
            may_be_ours: false,
        },
        Effect::DeleteComment(CommentId::new(1)),
    ];
    let executed = bench.execute(&effects).await.unwrap();
    assert_eq!(
        (executed.done, executed.problems.len()),
        (1, 0),
        "it is no problem to tell of"
    );
    let waiting = bench.executor.waiting(bench.client.now());
    assert_eq!(
        (waiting["comment"], waiting["label"], waiting["reaction"]),
        (2, 1, 1)
    );
    let until = executed.again_at.unwrap();
    assert!((60..=62).contains(&(until - now).num_seconds()), "{until}");
    let later = bench.executor.waiting(until + TimeDelta::minutes(1));
    assert_eq!(later["comment"], 0, "another process has it");
    let sent: Vec<_> = bench
        .requests()
        .await
        .into_iter()
        .map(|(verb, at, _)| format!("{verb} {at}"))
        .collect();
    assert_eq!(sent, ["DELETE issues/comments/1"]);
}

#[tokio::test]
async fn a_post_that_is_gone_is_made_again_three_times_an_hour() {
    let bench = Bench::new().await;
    bench
        .answer(
            "PATCH",
            "issues/comments/1",
            ok(404, json!({ "message": "Not Found" })),
        )
        .await;
    bench
        .answer("POST", "issues/12/comments", ok(201, json!({ "id": 1 })))
        .await;
    let post = [Effect::CreateStatusComment {
        body: "<!-- loopgate:status -->\nx".into(),
    }];
    assert_eq!(bench.execute(&post).await.unwrap().done, 1);
    let list = "/repos/acme/widgets/issues/12/comments";
    assert_eq!(
        bench.client.unlisted::<Value>(list, |_| false).len(),
        1,
        "no list shows it yet"
    );
    let change = [Effect::UpdateComment {
        comment: CommentId::new(1),
        body: "y".into(),
    }];
    let executed = bench.execute(&change).await.unwrap();
    assert_eq!(executed, Execution::default(), "it is no problem yet");
    assert!(
        !bench.client.is_gone_from(list, 1),
        "a server that lags behind says it of what is new"
    );
    bench
        .client
        .deleted("/repos/acme/widgets/issues/comments/1".to_owned());
    assert!(bench.client.is_gone_from(list, 1) && !bench.client.is_gone_from(list, 2));
    assert!(
        bench.client.unlisted::<Value>(list, |_| false).is_empty(),
        "what we created does not win over that"
    );
    for _ in 0..3 {
        assert_eq!(bench.execute(&post).await.unwrap().done, 1);
    }
    let refused = bench.execute(&post).await.unwrap();
    assert!(
        refused.problems[0]
            .reason
            .contains("deleted 3 times within an hour"),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_label_is_made_with_colour_and_description_where_it_is_missing() {
    let bench = Bench::new().await;
    bench
        .answer("POST", "labels", invalid("Validation Failed"))
        .await;
    let label = Effect::CreateLabel {
        name: "loop:retry".into(),
        color: "d93f0b".into(),
        description: "why".into(),
    };
    for _ in 0..2 {
        let executed = bench.execute(std::slice::from_ref(&label)).await.unwrap();
        assert_eq!(
            executed,
            Execution::default(),
            "one that exists is no problem"
        );
    }
    let requests = bench.requests().await;
    let body = json!({ "name": "loop:retry", "color": "d93f0b", "description": "why" });
    assert_eq!(
        requests,
        [("POST".into(), "labels".into(), body)],
        "and it is not asked for twice"
    );
}

#[tokio::test]
async fn what_is_gone_need_not_be_removed() {
    let bench = Bench::new().await;
    let executed = bench
        .execute(&[Effect::RemoveLabel("needs: a/b".into())])
        .await
        .unwrap();
    assert_eq!(executed.problems, []);
    let requests = bench.requests().await;
    assert_eq!(requests[0].1, "issues/12/labels/needs%3A%20a%2Fb");
}

#[tokio::test]
async fn a_reaction_is_given_unless_it_is_ours_already() {
    let to = Reacted::Comment(CommentId::new(5));
    let bench = Bench::new().await;
    let at = "issues/comments/5/reactions";
    bench
        .answer(
            "GET",
            at,
            ok(200, json!([{ "id": 8, "user": { "id": 1, "login": "bob" } }, { "id": 9, "user": null }])),
        )
        .await;
    bench.answer("POST", at, ok(201, json!({}))).await;
    let react = |may_be_ours| Effect::React {
        to,
        kind: ReactionKind::Done,
        may_be_ours,
    };
    assert_eq!(
        bench.execute(&[react(true)]).await.unwrap().done,
        1,
        "it was only bob's"
    );
    assert_eq!(
        bench.execute(&[react(true)]).await.unwrap().done,
        0,
        "now it is known to be ours"
    );

    let bench = Bench::new().await;
    bench
        .answer(
            "GET",
            at,
            ok(
                200,
                json!([{ "id": 7, "user": { "id": 77, "login": "loopgate[bot]" } }]),
            ),
        )
        .await;
    assert_eq!(bench.execute(&[react(true)]).await.unwrap().done, 0);
    assert_eq!(bench.requests().await.len(), 1);

    // The comment on the diff that happens to bear the same number is another one.
    let inline = Effect::React {
        to: Reacted::Inline(CommentId::new(5)),
        kind: ReactionKind::Done,
        may_be_ours: true,
    };
    let at = "pulls/comments/5/reactions";
    bench.answer("GET", at, ok(200, json!([]))).await;
    bench.answer("POST", at, ok(201, json!({}))).await;
    assert_eq!(bench.execute(&[inline]).await.unwrap().done, 1);
}

#[tokio::test]
async fn only_our_own_reaction_is_taken_back() {
    let take_back = Effect::TakeBackReaction {
        to: Reacted::Comment(CommentId::new(5)),
        kind: ReactionKind::Done,
    };
    let at = "issues/comments/5/reactions";
    let bobs = json!({ "id": 8, "user": { "id": 1, "login": "bob" } });
    let bench = Bench::new().await;
    bench
        .answer(
            "GET",
            at,
            ok(
                200,
                json!([bobs, { "id": 7, "user": { "id": 77, "login": "loopgate[bot]" } }]),
            ),
        )
        .await;
    bench
        .answer("DELETE", &format!("{at}/7"), ResponseTemplate::new(204))
        .await;
    assert_eq!(
        bench
            .execute(std::slice::from_ref(&take_back))
            .await
            .unwrap()
            .done,
        1
    );

    let bench = Bench::new().await;
    bench.answer("GET", at, ok(200, json!([bobs]))).await;
    for _ in 0..2 {
        assert_eq!(
            bench
                .execute(std::slice::from_ref(&take_back))
                .await
                .unwrap()
                .done,
            0
        );
    }
    assert_eq!(bench.requests().await.len(), 1, "whose it is is remembered");
}

#[tokio::test]
async fn an_unclear_post_is_left_to_the_next_reconcile() {
    let bench = Bench::new().await;
    bench
        .answer("POST", "issues/12/comments", ResponseTemplate::new(502))
        .await;
    let post = Effect::PostComment {
        key: "gate:security:1".into(),
        body: "x".into(),
        dispatch: None,
    };
    assert!(bench.execute(&[post]).await.is_err());
    assert_eq!(bench.requests().await.len(), 1);
}

#[tokio::test]
async fn each_source_of_evidence_is_asked_for_again_once() {
    let bench = Bench::new().await;
    for at in [
        "actions/runs/7/rerun-failed-jobs",
        "actions/runs/8/rerun",
        "actions/jobs/9/rerun",
    ] {
        bench.answer("POST", at, ok(201, json!({}))).await;
    }
    let refusal = ok(
        403,
        json!({ "message": "This check run is not rerequestable" }),
    );
    bench
        .answer("POST", "check-runs/10/rerequest", refusal)
        .await;
    let ask = |what, only_failed_jobs| {
        Effect::Rerun(RerunRequest {
            what,
            only_failed_jobs,
        })
    };
    let run = |id| Repeatable::WorkflowRun {
        id: WorkflowRunId::new(id),
        attempt: 1,
    };
    let effects = [
        ask(run(7), true),
        ask(run(8), false),
        ask(
            Repeatable::Job {
                id: CheckRunId::new(9),
            },
            false,
        ),
        ask(
            Repeatable::CheckRun {
                id: CheckRunId::new(10),
                ended: None,
            },
            false,
        ),
    ];
    let first = bench.execute(&effects).await.unwrap();
    let refused = "ask for check run 10 again";
    assert_eq!(
        (first.done, first.problems[0].what.as_str()),
        (3, refused),
        "{:?}",
        first.problems
    );
    assert!(
        first.problems[0].reason.contains("not rerequestable"),
        "{:?}",
        first.problems
    );

    // While the request is still wanted it is not sent again, and the refusal is still shown.
    let again = bench.execute(&effects).await.unwrap();
    assert_eq!((again.done, again.problems[0].what.as_str()), (0, refused));
    assert_eq!(bench.requests().await.len(), 4);
}

/// GitHub names the run that it starts, where it can: the comment that asked for it then links it.
#[tokio::test]
async fn the_run_of_a_fixers_workflow_is_linked() {
    let page = "https://github.com/acme/widgets/actions/runs/77";
    let details = ok(
        200,
        json!({ "workflow_run_id": 77, "run_url": "https://api.x", "html_url": page }),
    );
    let unknown = ok(
        422,
        json!({ "message": "\"return_run_details\" is not a permitted key." }),
    );
    for (answer, asked, is_linked) in [
        (details, vec![true], true),
        (ResponseTemplate::new(204), vec![true], false),
        (unknown, vec![true, false], false),
    ] {
        let bench = Bench::new().await;
        let created = ok(201, json!({ "id": 4_294_967_297_u64 }));
        bench.answer("POST", "issues/12/comments", created).await;
        bench
            .answer("POST", "actions/workflows/fix.yml/dispatches", answer)
            .await;
        let below = "issues/comments/4294967297";
        bench.answer("PATCH", below, ok(200, json!({}))).await;
        let file = "fix.yml".into();
        bench
            .execute(&[ask(DispatchFixer::Workflow { file })])
            .await
            .unwrap();
        let requests = bench.requests().await;
        let wishes: Vec<bool> = requests
            .iter()
            .filter(|(_, path, _)| path.ends_with("dispatches"))
            .map(|(_, _, body)| body["return_run_details"] == true)
            .collect();
        assert_eq!(wishes, asked);
        let linked = requests.iter().find(|(_, path, _)| path == below);
        let text = format!("asked\n\nIt works in [this run]({page}).\n");
        assert_eq!(
            linked.map(|(_, _, body)| &body["body"]),
            is_linked.then_some(&json!(text))
        );
    }
}

fn ask(to: DispatchFixer) -> Effect {
    let payload = json!({ "schema": "loopgate.fix-request/v1", "attempt": 2 });
    let dispatch = Dispatch {
        to,
        branch: "alice/round".into(),
        payload,
    };
    Effect::PostComment {
        key: "fix:2".into(),
        body: "asked".into(),
        dispatch: Some(dispatch),
    }
}

#[tokio::test]
async fn a_fixer_elsewhere_is_told_after_its_comment_as_github_wants_it() {
    let bench = Bench::new().await;
    bench
        .answer("POST", "issues/12/comments", ok(201, json!({ "id": 1 })))
        .await;
    bench
        .answer("POST", "dispatches", ResponseTemplate::new(204))
        .await;
    bench
        .answer(
            "POST",
            "actions/workflows/fix%20it.yml/dispatches",
            ResponseTemplate::new(204),
        )
        .await;
    let event = ask(DispatchFixer::Repository {
        event_type: "loopgate-fix".into(),
    });
    let workflow = ask(DispatchFixer::Workflow {
        file: "fix it.yml".into(),
    });
    let executed = bench.execute(&[event, workflow]).await.unwrap();
    assert_eq!(
        (executed.done, executed.problems.as_slice()),
        (2, [].as_slice())
    );
    let asked: Vec<(String, Value)> = bench
        .requests()
        .await
        .into_iter()
        .map(|(_, path, body)| (path, body))
        .collect();
    let payload = json!({ "schema": "loopgate.fix-request/v1", "attempt": 2 });
    assert_eq!(
        asked,
        [
            ("issues/12/comments".to_owned(), json!({ "body": "asked" })),
            (
                "dispatches".to_owned(),
                json!({ "event_type": "loopgate-fix", "client_payload": payload })
            ),
            ("issues/12/comments".to_owned(), json!({ "body": "asked" })),
            // Inputs of a workflow are texts.
            (
                "actions/workflows/fix%20it.yml/dispatches".to_owned(),
                json!({ "ref": "alice/round", "inputs": { "payload": payload.to_string() },
                        "return_run_details": true })
            ),
        ]
    );
}

/// A missing permission, a workflow that is not there, one without the input: shown, not repeated; the rest goes on.
#[tokio::test]
async fn a_fixer_that_cannot_be_started_is_told_and_holds_nothing_up() {
    for (status, says) in [
        (403, "Resource not accessible by integration"),
        (404, "Not Found"),
        (422, "Unexpected inputs"),
    ] {
        let bench = Bench::new().await;
        bench
            .answer("POST", "issues/12/comments", ok(201, json!({ "id": 1 })))
            .await;
        bench
            .answer(
                "POST",
                "actions/workflows/fix.yml/dispatches",
                ok(status, json!({ "message": says })),
            )
            .await;
        let post = Effect::PostComment {
            key: "escalation:same_error:3".into(),
            body: "call".into(),
            dispatch: None,
        };
        let effects = [
            ask(DispatchFixer::Workflow {
                file: "fix.yml".into(),
            }),
            post,
        ];
        let executed = bench.execute(&effects).await.unwrap();
        assert_eq!(executed.done, 1, "{status}: what comes after it is done");
        let [problem] = executed.problems.as_slice() else {
            panic!("{status}: {:?}", executed.problems)
        };
        assert!(problem.what.contains("fix.yml"), "{status}: {problem:?}");
        let started = bench
            .requests()
            .await
            .into_iter()
            .filter(|(_, path, _)| path.ends_with("/dispatches"))
            .count();
        assert_eq!(started, 1, "{status}: asked once");
    }
}

#[tokio::test]
async fn without_its_comment_no_fixer_is_started() {
    let bench = Bench::new().await;
    bench
        .answer(
            "POST",
            "issues/12/comments",
            ok(403, json!({ "message": "Resource not accessible" })),
        )
        .await;
    let executed = bench
        .execute(&[ask(DispatchFixer::Repository {
            event_type: "fix".into(),
        })])
        .await
        .unwrap();
    assert_eq!((executed.done, executed.problems.len()), (0, 1));
    assert_eq!(
        bench.requests().await.len(),
        1,
        "nothing else was asked for"
    );
}

#[tokio::test]
async fn a_merged_branch_goes_only_where_nobody_can_miss_it() {
    let (merged, other) = (
        untouched().pull_request.head.sha,
        Sha::from_bytes([0xcc; 20]),
    );
    let branch = |sha: Sha, protected: bool| {
        ok(
            200,
            json!({ "commit": { "sha": sha }, "protected": protected }),
        )
    };
    let effect = [Effect::DeleteBranch(MergedBranch {
        name: "alice/round".to_owned(),
        sha: merged,
    })];
    let cases = [
        (branch(merged, false), "main", json!([]), "deleted"),
        (ok(404, json!({})), "main", json!([]), "gone"),
        (
            branch(other, false),
            "main",
            json!([]),
            "somebody pushed to it after the merge",
        ),
        (branch(merged, true), "main", json!([]), "it is protected"),
        (
            branch(merged, false),
            "alice/round",
            json!([]),
            "it is the default branch",
        ),
        (
            branch(merged, false),
            "main",
            json!([{ "number": 13 }]),
            "another open pull request uses it",
        ),
    ];
    for (at, default, open, expected) in cases {
        let bench = Bench::new().await;
        bench.answer("GET", "branches/alice/round", at).await;
        bench.answer("GET", "pulls", ok(200, open)).await;
        bench
            .answer(
                "DELETE",
                "git/refs/heads/alice/round",
                ResponseTemplate::new(204),
            )
            .await;
        Mock::given(method("GET"))
            .and(path("/repos/acme/widgets"))
            .respond_with(ok(200, json!({ "default_branch": default })))
            .mount(&bench.server)
            .await;
        let executed = bench.execute(&effect).await.unwrap();
        let deleted = bench
            .requests()
            .await
            .iter()
            .any(|(verb, ..)| verb == "DELETE");
        let came = match executed.problems.first() {
            Some(Problem { what, reason }) => {
                assert_eq!(what, "delete the branch alice/round");
                reason.as_str()
            }
            None if executed.done == 1 => "deleted",
            None => "gone",
        };
        assert_eq!((came, deleted), (expected, expected == "deleted"));
    }
}
