use http::Method;
use serde_json::{Value, json};

use super::{client::Client, start_with_repo};
use crate::{
    CheckSpec, CommitSpec, Conclusion, Mergeable, Protection, PullSpec, PullState, RequiredCheck,
    ReviewEvent, Role,
};

fn names(list: &Value, key: &str) -> Vec<String> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|entry| entry[key].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn files_say_what_changed() {
    let (sim, repo, app) = start_with_repo().await;
    let olga = sim.user("olga");
    let body = "a\nb\nc\nd\n";
    olga.push_to(
        &repo,
        "main",
        CommitSpec::new("More")
            .file("old.txt", body)
            .file("gone.txt", "x\n"),
    )
    .unwrap();
    let spec = PullSpec::new("Change")
        .file("README.md", "# Widgets\nmore\n")
        .file("logo.png", vec![0_u8, 1, 2])
        .remove("gone.txt")
        .remove("old.txt")
        .file("new.txt", format!("{body}e\n"));
    let pr = sim.user("alice").open_pull_request(&repo, spec).unwrap();
    let path = format!("/repos/acme/widgets/pulls/{}", pr.number);
    let files = app.get(&format!("{path}/files")).await.is(200).json();
    assert_eq!(
        names(&files, "filename"),
        ["README.md", "gone.txt", "logo.png", "new.txt"]
    );
    assert_eq!(
        names(&files, "status"),
        ["modified", "removed", "added", "renamed"]
    );
    assert_eq!(files[3]["previous_filename"], "old.txt");
    assert_eq!(files[3]["patch"], "@@ -2,3 +2,4 @@ a\n b\n c\n d\n+e");
    assert!(
        files[2].get("patch").is_none(),
        "binary files have no patch"
    );
    let pull = app.get(&path).await.is(200).json();
    assert_eq!(
        (pull["additions"].as_u64(), pull["deletions"].as_u64()),
        (Some(2), Some(1))
    );
    assert_eq!(
        (pull["changed_files"].as_u64(), pull["commits"].as_u64()),
        (Some(4), Some(1))
    );

    let paged = app.get(&format!("{path}/files?per_page=3")).await.is(200);
    let link = paged.header("link").unwrap();
    let next = link.split(['<', '>']).nth(1).unwrap();
    assert!(
        link.contains("rel=\"next\"") && next.starts_with(&sim.url()),
        "{link}"
    );
    assert_eq!(
        names(&app.get(next).await.is(200).json(), "filename"),
        ["new.txt"]
    );
}

#[tokio::test]
async fn pushes_move_the_head() {
    let (sim, repo, app) = start_with_repo().await;
    let alice = sim.user("alice");
    let pr = alice
        .open_pull_request(&repo, PullSpec::new("x").file("x", "1\n"))
        .unwrap();
    let first = sim.head(&pr).unwrap();
    let co_authored =
        CommitSpec::new("y\n\nCo-authored-by: Bob <bob@example.test>").file("y", "1\n");
    alice
        .push_commit(&pr, co_authored.author("Mallory", "unknown@example.test"))
        .unwrap();
    let path = format!("/repos/acme/widgets/pulls/{}", pr.number);
    let commits = app.get(&format!("{path}/commits")).await.is(200).json();
    assert_eq!(commits[0]["author"]["login"], "alice");
    assert_eq!(commits[1]["author"], Value::Null, "nobody's address");
    assert_eq!(
        commits[1]["commit"]["author"]["email"],
        "unknown@example.test"
    );
    let pull_ref = app
        .get(&format!(
            "/repos/acme/widgets/git/ref/pull/{}/head",
            pr.number
        ))
        .await
        .is(200)
        .json();
    assert_eq!(pull_ref["object"]["sha"], commits[1]["sha"]);
    alice.reset(&pr, first).unwrap();
    assert_eq!(sim.head(&pr).unwrap(), first);
    assert!(
        sim.user("dave").push(&pr, &[("z", "z")], "no").is_err(),
        "dave cannot write"
    );
}

#[tokio::test]
async fn pull_requests_from_forks_share_objects() {
    let (sim, repo, app) = start_with_repo().await;
    let mallory = sim.user("mallory");
    let pr = mallory
        .open_pull_request(&repo, PullSpec::new("Hi").file("hi", "hi\n").from_fork())
        .unwrap();
    let pull = app
        .get(&format!("/repos/acme/widgets/pulls/{}", pr.number))
        .await
        .is(200)
        .json();
    assert_eq!(pull["head"]["repo"]["full_name"], "mallory/widgets");
    assert_eq!(pull["author_association"], "NONE");
    let head = sim.head(&pr).unwrap();
    app.get(&format!("/repos/acme/widgets/git/commits/{head}"))
        .await
        .is(200);
    let branch = pull["head"]["ref"].as_str().unwrap();
    app.get(&format!(
        "/repos/acme/widgets/compare/main...mallory:{branch}"
    ))
    .await
    .is(200);
    let filter = format!("/repos/acme/widgets/pulls?head=mallory:{branch}");
    assert_eq!(
        app.get(&filter).await.is(200).json()[0]["number"],
        pr.number.get()
    );
}

#[tokio::test]
async fn reviewers_are_asked_and_answer() {
    let (sim, repo, app) = start_with_repo().await;
    let admin = sim.admin();
    let team = admin.add_team("acme/security", &["carol"]).unwrap();
    let pr = sim
        .user("alice")
        .open_pull_request(&repo, PullSpec::new("x").file("x", "1\n"))
        .unwrap();
    let path = format!("/repos/acme/widgets/pulls/{}", pr.number);
    let asked = format!("{path}/requested_reviewers");
    for (who, why) in [
        (json!({ "reviewers": ["alice"] }), "pull request author"),
        (
            json!({ "reviewers": ["bob", "mallory"] }),
            "not a collaborator",
        ),
        (
            json!({ "team_reviewers": ["security"] }),
            "not a collaborator",
        ),
        (json!({ "reviewers": ["nobody"] }), "not a collaborator"),
    ] {
        let refused = app.post(&asked, who).await.is(422);
        assert!(refused.message().contains(why), "{}", refused.message());
    }
    admin.grant_team(&team, &repo, Role::Read).unwrap();
    let both = json!({ "reviewers": ["bob"], "team_reviewers": ["security"] });
    let pull = app.post(&asked, both).await.is(201).json();
    assert_eq!(pull["requested_reviewers"][0]["login"], "bob");
    assert_eq!(pull["requested_teams"][0]["slug"], "security");

    let refused = Client::person(&sim, "alice")
        .post(&format!("{path}/reviews"), json!({ "event": "APPROVE" }))
        .await
        .is(422);
    assert_eq!(
        refused.json()["errors"][0],
        "Can not approve your own pull request"
    );
    let review = sim
        .user("carol")
        .review(&pr, ReviewEvent::Approve, "")
        .unwrap();
    let left = app.get(&asked).await.is(200).json();
    assert_eq!(
        (
            left["users"].as_array().unwrap().len(),
            left["teams"].as_array().unwrap().len()
        ),
        (1, 0)
    );
    app.send(
        Method::DELETE,
        &asked,
        Some(json!({ "reviewers": ["bob"] })),
        &[],
    )
    .await
    .is(200);
    assert!(
        sim.pull_request(&pr)
            .unwrap()
            .requested_reviewers
            .is_empty()
    );

    let reviews = app.get(&format!("{path}/reviews")).await.is(200).json();
    assert_eq!(
        (
            reviews[0]["state"].as_str(),
            reviews[0]["user"]["login"].as_str()
        ),
        (Some("APPROVED"), Some("carol"))
    );
    let dismissal = format!("{path}/reviews/{review}/dismissals");
    assert_eq!(
        app.put(&dismissal, json!({ "message": "stale" }))
            .await
            .is(200)
            .json()["state"],
        "DISMISSED"
    );
    app.put(&dismissal, json!({ "message": "again" }))
        .await
        .is(422);
}

#[tokio::test]
async fn rules_hold_a_merge() {
    let (sim, repo, app) = start_with_repo().await;
    let required = RequiredCheck {
        context: "loopgate / verify".into(),
        app: Some(sim.app_id()),
    };
    let rules = Protection {
        required_approvals: 1,
        required_checks: vec![required],
        ..Protection::default()
    };
    sim.admin().protect(&repo, "main", rules).unwrap();
    let told = app
        .get("/repos/acme/widgets/rules/branches/main")
        .await
        .is(200)
        .json();
    assert_eq!(told[0]["parameters"]["required_approving_review_count"], 1);
    assert_eq!(
        told[1]["parameters"]["required_status_checks"][0]["integration_id"],
        424_242
    );
    app.get("/repos/acme/widgets/branches/main/protection")
        .await
        .is(404);

    let pr = sim
        .user("alice")
        .open_pull_request(&repo, PullSpec::new("x").file("x", "1\n"))
        .unwrap();
    let (alice, merge) = (
        Client::person(&sim, "alice"),
        format!("/repos/acme/widgets/pulls/{}/merge", pr.number),
    );
    assert!(
        alice
            .put(&merge, json!({}))
            .await
            .is(405)
            .message()
            .starts_with("At least 1 approving review")
    );
    sim.user("mallory")
        .review(&pr, ReviewEvent::Approve, "")
        .unwrap();
    alice.put(&merge, json!({})).await.is(405);
    sim.user("bob")
        .review(&pr, ReviewEvent::Approve, "")
        .unwrap();
    assert!(
        alice
            .put(&merge, json!({}))
            .await
            .is(405)
            .message()
            .contains("is expected")
    );
    let head = sim.head(&pr).unwrap();
    sim.ci("other-ci")
        .check_run(
            &repo,
            head,
            CheckSpec::concluded("loopgate / verify", Conclusion::Success),
        )
        .unwrap();
    alice.put(&merge, json!({})).await.is(405);
    sim.ci("loopgate")
        .check_run(
            &repo,
            head,
            CheckSpec::concluded("loopgate / verify", Conclusion::Success),
        )
        .unwrap();
    alice
        .put(&merge, json!({ "sha": repo_main(&sim, &repo) }))
        .await
        .is(409);
    let merged = alice
        .put(&merge, json!({ "sha": head.to_string() }))
        .await
        .is(200)
        .json();
    let view = sim.pull_request(&pr).unwrap();
    assert!(matches!(view.state, PullState::Merged { ref by, .. } if by == "alice"));
    assert_eq!(merged["sha"], repo_main(&sim, &repo));
    assert_eq!(sim.log(&repo, "main").unwrap().len(), 3);
    let files = app
        .get(&format!("/repos/acme/widgets/pulls/{}/files", pr.number))
        .await
        .is(200)
        .json();
    assert_eq!(
        names(&files, "filename"),
        ["x"],
        "a merged pull request keeps its files"
    );
    alice.put(&merge, json!({})).await.is(405);
}

fn repo_main(sim: &crate::Simulator, repo: &loopgate_core::RepoName) -> String {
    sim.sha(repo, "main").unwrap().to_string()
}

#[tokio::test]
async fn conflicts_and_moved_bases() {
    let (sim, repo, _) = start_with_repo().await;
    let (alice, bob) = (sim.user("alice"), sim.user("bob"));
    let one = alice
        .open_pull_request(&repo, PullSpec::new("one").file("README.md", "one\n"))
        .unwrap();
    let two = bob
        .open_pull_request(&repo, PullSpec::new("two").file("README.md", "two\n"))
        .unwrap();
    let three = bob
        .open_pull_request(&repo, PullSpec::new("three").file("three", "3\n"))
        .unwrap();
    alice.merge(&one).unwrap();
    assert_eq!(
        sim.pull_request(&two).unwrap().mergeable,
        Mergeable::Conflict
    );
    assert_eq!(bob.merge(&two).unwrap_err().status.as_u16(), 405);
    bob.update_branch(&three).unwrap();
    bob.merge(&three).unwrap();
    let files = sim
        .state_ref(&repo, "refs/heads/main")
        .unwrap()
        .unwrap()
        .files;
    assert_eq!(
        (files["README.md"].as_str(), files["three"].as_str()),
        ("one\n", "3\n")
    );
    let closed = bob.close(&two).and_then(|()| bob.reopen(&two));
    closed.unwrap();
    bob.close(&two).unwrap();
    assert_eq!(sim.pull_request(&two).unwrap().state, PullState::Closed);
}

#[tokio::test]
async fn who_moved_a_branch_is_listed_newest_first() {
    let (sim, repo, app) = start_with_repo().await;
    let spec = PullSpec::new("x").branch("feature/x").file("x", "1\n");
    let pr = sim.user("alice").open_pull_request(&repo, spec).unwrap();
    let first = sim.head(&pr).unwrap();
    let message =
        "y\n\nCo-authored-by: Bob <bob@example.test>\nCo-authored-by: N <n@nowhere.example>";
    sim.user("olga")
        .push_commit(&pr, CommitSpec::new(message).file("y", "1\n"))
        .unwrap();
    let second = sim.head(&pr).unwrap();
    sim.user("alice").reset(&pr, first).unwrap();
    let path = "/repos/acme/widgets/activity?ref=refs%2Fheads%2Ffeature%2Fx";
    let moves = app.get(path).await.is(200).json();
    assert_eq!(
        names(&moves, "activity_type"),
        ["force_push", "push", "branch_creation"]
    );
    let shas = |key| names(&moves, key);
    assert_eq!(
        shas("after"),
        [first.to_string(), second.to_string(), first.to_string()]
    );
    assert_eq!(
        shas("before"),
        [second.to_string(), first.to_string(), "0".repeat(40)]
    );
    let actors: Vec<_> = moves
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["actor"]["login"].clone())
        .collect();
    assert_eq!(actors, ["alice", "olga", "alice"]);
    assert_eq!(moves[0]["ref"], "refs/heads/feature/x");

    let events = app
        .get(&format!("/repos/acme/widgets/issues/{}/events", pr.number))
        .await
        .is(200)
        .json();
    let forced = events
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["event"] == "head_ref_force_pushed")
        .unwrap();
    assert_eq!(
        (&forced["actor"]["login"], &forced["commit_id"]),
        (&json!("alice"), &json!(first.to_string()))
    );

    let commit = app
        .get(&format!("/repos/acme/widgets/commits/{second}"))
        .await
        .is(200)
        .json();
    let query = "query($ids: [ID!]!) { nodes(ids: $ids) { ... on Commit { authors(first: 50) { nodes { user { login } } } } } }";
    let ask = json!({ "query": query, "variables": { "ids": [commit["node_id"]] } });
    let authors =
        app.post("/graphql", ask).await.is(200).json()["data"]["nodes"][0]["authors"]["nodes"]
            .clone();
    let known: Vec<_> = authors
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["user"]["login"].clone())
        .collect();
    assert_eq!(known, [json!("olga"), json!("bob"), Value::Null]);
}
