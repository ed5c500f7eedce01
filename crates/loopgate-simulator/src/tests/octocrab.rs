//! GitHub's Rust client understands every answer and every payload.

use octocrab::{
    Octocrab,
    models::{CheckRunId, webhook_events::WebhookEvent},
    params,
};

use super::client::Receiver;
use crate::{CheckSpec, Conclusion, Config, PullSpec, ReviewEvent, RunSpec, Simulator};

#[tokio::test]
async fn octocrab_reads_what_is_served_and_sent() {
    let sim = Simulator::start(Config::default()).await.unwrap();
    let repo = sim
        .create_repo("acme/widgets", &[("README.md", "# Widgets\n")])
        .unwrap();
    let hooks = Receiver::attach(&sim).await;
    let (alice, bob) = (sim.user("alice"), sim.user("bob"));
    let pr = alice
        .open_pull_request(&repo, PullSpec::new("x").file("x", "1\n").body("Why"))
        .unwrap();
    bob.comment(&pr, "architecture approved").unwrap();
    bob.comment_inline(&pr, "x", 1, "why one?").unwrap();
    bob.review(&pr, ReviewEvent::RequestChanges, "no").unwrap();
    bob.label(&pr, "bug").unwrap();
    let head = sim.head(&pr).unwrap();
    let spec = CheckSpec::concluded("unit", Conclusion::Failure)
        .output("t", "s")
        .annotation("x", 1, "wrong");
    let check = sim.ci("other-ci").check_run(&repo, head, spec).unwrap();
    let spec = RunSpec::new(head, ".github/workflows/ci.yml").artifact("evidence", &b"zip"[..]);
    let run = sim.workflow_run(&repo, spec, Conclusion::Failure).unwrap();
    sim.admin().add_team("acme/leads", &["bob"]).unwrap();

    let app = Octocrab::builder()
        .base_uri(sim.url())
        .unwrap()
        .app_from_rsa_pem(sim.app_id().get().into(), sim.app_key().private_pem())
        .unwrap()
        .build()
        .unwrap();
    let found = app
        .apps()
        .get_repository_installation("acme", "widgets")
        .await
        .unwrap();
    assert_eq!(found.account.login, "acme");
    let client = app.installation(found.id).unwrap();
    let number = pr.number.get();
    let pulls = client.pulls("acme", "widgets");
    assert_eq!(pulls.get(number).await.unwrap().head.sha, head.to_string());
    assert_eq!(
        pulls
            .list()
            .state(params::State::All)
            .send()
            .await
            .unwrap()
            .items
            .len(),
        1
    );
    assert_eq!(
        pulls.list_files(number).await.unwrap().items[0].additions,
        1
    );
    assert_eq!(
        pulls.list_reviews(number).send().await.unwrap().items.len(),
        2
    );
    assert_eq!(
        pulls.pr_commits(number).send().await.unwrap().items.len(),
        1
    );
    assert_eq!(
        pulls
            .list_comments(Some(number))
            .send()
            .await
            .unwrap()
            .items
            .len(),
        1
    );
    assert!(pulls.update_branch(number).await.unwrap());
    let issues = client.issues("acme", "widgets");
    assert_eq!(
        issues
            .list_comments(number)
            .send()
            .await
            .unwrap()
            .items
            .len(),
        1
    );
    assert_eq!(
        issues
            .list_labels_for_issue(number)
            .send()
            .await
            .unwrap()
            .items[0]
            .name,
        "bug"
    );
    let checks = client.checks("acme", "widgets");
    let at_head = params::repos::Commitish(head.to_string());
    assert_eq!(
        checks
            .list_check_runs_for_git_ref(at_head.clone())
            .send()
            .await
            .unwrap()
            .total_count,
        2
    );
    assert_eq!(
        checks
            .list_check_suites_for_git_ref(at_head)
            .send()
            .await
            .unwrap()
            .total_count,
        3
    );
    assert_eq!(
        checks
            .list_annotations(CheckRunId(check.get()))
            .send()
            .await
            .unwrap()
            .len(),
        1
    );
    let artifacts = client
        .actions()
        .list_workflow_run_artifacts("acme", "widgets", run.get().into())
        .send()
        .await;
    assert_eq!(artifacts.unwrap().value.unwrap().items[0].name, "evidence");
    assert_eq!(
        client.teams("acme").get("leads").await.unwrap().name,
        "Leads"
    );
    assert_eq!(
        client.repos("acme", "widgets").get().await.unwrap().name,
        "widgets"
    );
    let file = client
        .repos("acme", "widgets")
        .get_content()
        .path("README.md")
        .send()
        .await
        .unwrap();
    assert_eq!(file.items[0].decoded_content().unwrap(), "# Widgets\n");

    sim.settle().await;
    for hook in hooks.all() {
        let read = WebhookEvent::try_from_header_and_body(&hook.event, &hook.raw);
        read.unwrap_or_else(|error| panic!("{}: {error}", hook.name()));
    }
}
