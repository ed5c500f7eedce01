#![allow(clippy::disallowed_methods, reason = "a test asks the real git")]
use std::process::Command;

use http::Method;
use serde_json::json;

use super::start_with_repo;
use crate::PullSpec;

const GIT: &str = "/repos/acme/widgets/git";

#[tokio::test]
async fn state_is_saved_in_a_hidden_ref() {
    let (sim, repo, app) = start_with_repo().await;
    let commit = async |parents: Vec<String>, text: &str, base: Option<String>| {
        let entry = json!({ "path": "attempts/001.json", "mode": "100644", "type": "blob", "content": text });
        let mut tree = json!({ "tree": [entry] });
        if let Some(base) = base {
            tree["base_tree"] = base.into();
        }
        let tree = app.post(&format!("{GIT}/trees"), tree).await.is(201).json();
        let new = json!({ "message": text, "tree": tree["sha"], "parents": parents });
        app.post(&format!("{GIT}/commits"), new)
            .await
            .is(201)
            .json()
    };
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let first = commit(vec![], "one", None).await;
    let new = json!({ "ref": "refs/loopgate/pr/1", "sha": first["sha"] });
    app.post(&format!("{GIT}/refs"), new.clone()).await.is(201);
    assert_eq!(
        app.post(&format!("{GIT}/refs"), new)
            .await
            .is(422)
            .message(),
        "Reference already exists"
    );

    let second = commit(
        vec![text(&first["sha"])],
        "two",
        Some(text(&first["tree"]["sha"])),
    )
    .await;
    let rival = commit(vec![text(&first["sha"])], "rival", None).await;
    let there = format!("{GIT}/refs/loopgate/pr/1");
    app.patch(&there, json!({ "sha": second["sha"], "force": false }))
        .await
        .is(200);
    let lost = app
        .patch(&there, json!({ "sha": rival["sha"] }))
        .await
        .is(422);
    assert_eq!(lost.message(), "Update is not a fast forward");
    assert_eq!(
        app.get(&format!("{GIT}/ref/loopgate/pr/1"))
            .await
            .is(200)
            .json()["object"]["sha"],
        second["sha"]
    );
    app.get(&format!("{GIT}/ref/loopgate/pr")).await.is(404);
    let matching = app
        .get(&format!("{GIT}/matching-refs/loopgate/"))
        .await
        .is(200)
        .json();
    assert_eq!(matching[0]["ref"], "refs/loopgate/pr/1");

    let state = sim.state_ref(&repo, "refs/loopgate/pr/1").unwrap().unwrap();
    assert_eq!(state.files["attempts/001.json"], "two");
    assert_eq!(
        state
            .commits
            .iter()
            .map(|(_, message)| message.as_str())
            .collect::<Vec<_>>(),
        ["two", "one"]
    );
    let contents = "/repos/acme/widgets/contents/attempts/001.json?ref=refs/loopgate/pr/1";
    let raw = app
        .send(
            Method::GET,
            contents,
            None,
            &[("accept", "application/vnd.github.raw+json")],
        )
        .await
        .is(200);
    assert_eq!(&raw.body[..], b"two");

    app.patch(&there, json!({ "sha": rival["sha"], "force": true }))
        .await
        .is(200);
    app.delete(&there).await.is(204);
    app.patch(&there, json!({ "sha": rival["sha"] }))
        .await
        .is(422);
    assert_eq!(sim.state_ref(&repo, "refs/loopgate/pr/1").unwrap(), None);
    let named = app
        .post(
            &format!("{GIT}/refs"),
            json!({ "ref": "refs/loopgate", "sha": rival["sha"] }),
        )
        .await;
    named.is(422);
}

#[tokio::test]
async fn trees_are_built_on_others() {
    let (sim, repo, app) = start_with_repo().await;
    let main = sim.sha(&repo, "main").unwrap();
    let base = app
        .get(&format!("{GIT}/commits/{main}"))
        .await
        .is(200)
        .json()["tree"]["sha"]
        .clone();
    let entries = json!([
        { "path": "README.md", "mode": "100644", "type": "blob", "sha": null },
        { "path": "bin/run", "mode": "100755", "type": "blob", "content": "#!/bin/sh\n" },
    ]);
    let tree = app
        .post(
            &format!("{GIT}/trees"),
            json!({ "base_tree": base, "tree": entries }),
        )
        .await
        .is(201)
        .json();
    let path = format!("{GIT}/trees/{}?recursive=1", tree["sha"].as_str().unwrap());
    let all = app.get(&path).await.is(200).json();
    let told: Vec<_> = all["tree"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| {
            format!(
                "{} {}",
                e["mode"].as_str().unwrap(),
                e["path"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            "040000 bin",
            "100755 bin/run",
            "040000 src",
            "100644 src/lib.rs"
        ]
    );
    for bad in ["../x", "a//b", ".git/config", "/x", ""] {
        let entry = json!([{ "path": bad, "mode": "100644", "type": "blob", "content": "x" }]);
        app.post(&format!("{GIT}/trees"), json!({ "tree": entry }))
            .await
            .is(422);
    }
    let blob = app
        .post(
            &format!("{GIT}/blobs"),
            json!({ "content": "aGVsbG8K", "encoding": "base64" }),
        )
        .await
        .is(201)
        .json();
    assert_eq!(blob["sha"], "ce013625030ba8dba906f756967f9e9ca394464a");
}

#[tokio::test]
async fn an_empty_repository_has_no_git_database() {
    let (sim, _, app) = start_with_repo().await;
    sim.create_repo("acme/empty", &[]).unwrap();
    let refused = app
        .get("/repos/acme/empty/git/ref/heads/main")
        .await
        .is(409);
    assert_eq!(refused.message(), "Git Repository is empty.");
    app.get("/repos/acme/empty/commits").await.is(409);
    app.get("/repos/acme/empty/contents/x").await.is(404);
}

#[tokio::test]
async fn contents_commits_and_comparisons() {
    let (sim, repo, app) = start_with_repo().await;
    let alice = sim.user("alice");
    let spec = PullSpec::new("Add")
        .branch("feature/x")
        .file("src/new.rs", "fn two() {}\n");
    let pr = alice.open_pull_request(&repo, spec).unwrap();
    alice
        .push(&pr, &[("README.md", "# More widgets\n")], "Say more")
        .unwrap();
    let head = sim.head(&pr).unwrap();

    let listing = app
        .get("/repos/acme/widgets/contents/src?ref=feature/x")
        .await
        .is(200)
        .json();
    assert_eq!(listing.as_array().unwrap().len(), 2);
    let file = app
        .get(&format!(
            "/repos/acme/widgets/contents/README.md?ref={head}"
        ))
        .await
        .is(200)
        .json();
    assert_eq!(
        (file["encoding"].as_str(), file["content"].as_str()),
        (Some("base64"), Some("IyBNb3JlIHdpZGdldHMK\n"))
    );
    app.get("/repos/acme/widgets/contents/none").await.is(404);
    app.get("/repos/acme/widgets/contents/README.md?ref=none")
        .await
        .is(404);

    let touched = app
        .get("/repos/acme/widgets/commits?path=README.md&sha=feature/x")
        .await
        .is(200)
        .json();
    let messages: Vec<_> = touched
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["commit"]["message"].as_str().unwrap())
        .collect();
    assert_eq!(messages, ["Say more", "Initial commit"]);
    let one = app
        .get("/repos/acme/widgets/commits/feature/x")
        .await
        .is(200)
        .json();
    assert_eq!(
        (one["sha"].as_str(), one["stats"]["total"].as_u64()),
        (Some(head.to_string().as_str()), Some(2))
    );
    app.get("/repos/acme/widgets/commits/none").await.is(422);

    let compared = app
        .get("/repos/acme/widgets/compare/main...feature/x")
        .await
        .is(200)
        .json();
    assert_eq!(
        (compared["status"].as_str(), compared["ahead_by"].as_u64()),
        (Some("ahead"), Some(2))
    );
    assert_eq!(
        compared["files"][0]["patch"],
        "@@ -1 +1 @@\n-# Widgets\n+# More widgets"
    );
    let pulls = app
        .get(&format!("/repos/acme/widgets/commits/{head}/pulls"))
        .await
        .is(200)
        .json();
    assert_eq!(pulls[0]["number"], pr.number.get());
}

/// The ids of whole histories are those that git computes, from the same content, authors and dates.
#[tokio::test]
async fn object_ids_are_gits_own() {
    let Ok(version) = Command::new("git").arg("--version").output() else {
        eprintln!("skipped: git is not installed");
        return;
    };
    assert!(version.status.success());
    let folder = tempfile::tempdir().unwrap();
    let git = |args: &[&str]| {
        let output = Command::new("git")
            .args(args)
            .current_dir(folder.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs([
                ("GIT_AUTHOR_NAME", "Olga"),
                ("GIT_AUTHOR_EMAIL", "olga@example.test"),
            ])
            .envs([
                ("GIT_COMMITTER_NAME", "Olga"),
                ("GIT_COMMITTER_EMAIL", "olga@example.test"),
            ])
            .envs([
                ("GIT_AUTHOR_DATE", "1795168801 +0000"),
                ("GIT_COMMITTER_DATE", "1795168801 +0000"),
            ])
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    git(&["init", "--quiet", "--initial-branch=main"]);
    std::fs::create_dir(folder.path().join("src")).unwrap();
    std::fs::write(folder.path().join("README.md"), "# Widgets\n").unwrap();
    std::fs::write(folder.path().join("src/lib.rs"), "fn one() {\n    1\n}\n").unwrap();
    git(&["add", "."]);
    git(&["commit", "--quiet", "--cleanup=verbatim", "-m", "Größe ✓"]);

    let (_sim, _, app) = start_with_repo().await;
    let who =
        json!({ "name": "Olga", "email": "olga@example.test", "date": "2026-11-20T10:00:01Z" });
    let entries = json!([
        { "path": "README.md", "mode": "100644", "type": "blob", "content": "# Widgets\n" },
        { "path": "src/lib.rs", "mode": "100644", "type": "blob", "content": "fn one() {\n    1\n}\n" },
    ]);
    let tree = app
        .post(&format!("{GIT}/trees"), json!({ "tree": entries }))
        .await
        .is(201)
        .json();
    assert_eq!(tree["sha"], git(&["rev-parse", "HEAD^{tree}"]));
    let message = git(&["log", "-1", "--format=%B"]);
    let message = format!("{message}\n");
    let new = json!({ "message": message, "tree": tree["sha"], "author": who });
    let commit = app
        .post(&format!("{GIT}/commits"), new)
        .await
        .is(201)
        .json();
    assert_eq!(
        commit["sha"],
        git(&["rev-parse", "HEAD"]),
        "{}",
        git(&["cat-file", "-p", "HEAD"])
    );
}

/// `updateRefs` moves all refs it is given, or none of them.
#[tokio::test]
async fn refs_are_moved_together() {
    let (sim, repo, app) = start_with_repo().await;
    let main = sim.sha(&repo, "main").unwrap().to_string();
    let none = "0".repeat(40);
    let id = app.get("/repos/acme/widgets").await.is(200).json()["node_id"].clone();
    let tree = app
        .get(&format!("{GIT}/commits/{main}"))
        .await
        .is(200)
        .json()["tree"]["sha"]
        .clone();
    let new = json!({ "message": "next", "tree": tree, "parents": [main] });
    let next = app
        .post(&format!("{GIT}/commits"), new)
        .await
        .is(201)
        .json()["sha"]
        .as_str()
        .unwrap()
        .to_owned();
    let moves = async |moves: &[[&str; 3]]| {
        let update = |[name, before, after]: &[&str; 3]| json!({ "name": format!("refs/loopgate/{name}"), "beforeOid": before, "afterOid": after });
        let updates: Vec<_> = moves.iter().map(update).collect();
        let query =
            "mutation($input: UpdateRefsInput!) { updateRefs(input: $input) { clientMutationId } }";
        let question = json!({ "query": query, "variables": { "input": { "repositoryId": id, "refUpdates": updates } } });
        let answer = app.post("/graphql", question).await.is(200).json();
        let is_done = answer["data"]["updateRefs"].is_object();
        assert_eq!(answer["errors"].is_array(), !is_done, "{answer}");
        is_done
    };
    let refs = || {
        sim.refs(&repo)
            .unwrap()
            .into_iter()
            .filter(|name| name.contains("loopgate"))
            .collect::<Vec<_>>()
    };
    assert!(moves(&[["a/1", &none, &main], ["a/2", &none, &main]]).await);
    for refused in [
        [["a/1", &none, &next], ["a/2", &main, &none]],
        [["a/2", &main, &none], ["a/1", &next, &none]],
        [["a/3", &main, &none], ["a/2", &main, &none]],
        [["a/1", &main, &"1".repeat(40)], ["a/2", &main, &none]],
    ] {
        assert!(!moves(&refused).await);
        assert_eq!(refs(), ["refs/loopgate/a/1", "refs/loopgate/a/2"]);
    }
    assert!(moves(&[["a/1", &main, &next], ["a/2", &main, &none]]).await);
    assert_eq!(refs(), ["refs/loopgate/a/1"]);
    assert!(
        !moves(&[["a/1", &next, &main]]).await,
        "it is no fast-forward"
    );
}
