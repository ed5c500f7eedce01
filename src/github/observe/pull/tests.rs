use serde_json::{Value, json};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::path};

use super::*;
use crate::github::client::{
    Client, Github, Setup, auth::Credentials, secret::Secret, transport::ApiUrl,
};

use loopgate_core::RepoName;

const HEAD: &str = "0123456789abcdef0123456789abcdef01234567";
const OTHER: &str = "1111111111111111111111111111111111111111";
const BASE: &str = "2222222222222222222222222222222222222222";
const TREE: &str = "3333333333333333333333333333333333333333";

struct Bench {
    server: MockServer,
    client: Client,
    repository: RepoName,
}

impl Bench {
    async fn new() -> Self {
        let server = MockServer::start().await;
        let api = ApiUrl::parse(&server.uri()).unwrap();
        let github =
            Github::new(api, Credentials::Token(Secret::new("t")), Setup::default()).unwrap();
        let bench = Self {
            server,
            client: github.client(None),
            repository: "acme/widgets".parse().unwrap(),
        };
        bench.answer("pulls/12", pull(2)).await;
        bench
    }

    async fn answer(&self, at: &str, body: Value) {
        let answer = ResponseTemplate::new(200).set_body_json(body);
        Mock::given(path(format!("/repos/acme/widgets/{at}")))
            .respond_with(answer)
            .mount(&self.server)
            .await;
    }

    async fn compares(&self, body: Value) {
        self.answer(&format!("compare/{BASE}...{HEAD}"), body).await;
    }

    async fn changes(&self) -> Result<Changes> {
        let pull = read(self.client.repo(&self.repository), PrNumber::new(12))
            .await
            .unwrap();
        changes(
            self.client.repo(&self.repository),
            &pull,
            (pull.compared_base, false),
        )
        .await
    }
}

fn pull(files: u32) -> Value {
    json!({
        "number": 12, "title": "t", "body": null, "user": null, "state": "open", "merged_at": null, "merged_by": null,
        "head": { "sha": HEAD, "ref": "x", "repo": null }, "base": { "sha": BASE, "ref": "main" },
        "created_at": "2026-11-20T10:15:00Z", "html_url": "https://github.com/acme/widgets/pull/12",
        "changed_files": files,
    })
}

fn file(name: &str, status: &str, head: &str) -> Value {
    json!({
        "filename": name, "status": status, "additions": 1, "deletions": 0, "sha": TREE, "patch": "@@ -0,0 +1 @@\n+x",
        "contents_url": format!("https://api.github.com/repos/acme/widgets/contents/{name}?ref={head}"),
    })
}

fn commit(sha: &str) -> Value {
    let who = json!({ "email": "a@example.com" });
    json!({
        "sha": sha, "author": {}, "committer": null,
        "commit": { "message": "m", "author": who, "committer": null, "tree": { "sha": TREE } },
    })
}

fn paths(files: &ChangedFiles) -> Vec<&str> {
    files
        .known()
        .iter()
        .map(|file| file.path.as_str())
        .collect()
}

#[tokio::test]
async fn a_comparison_by_commit_ids_says_it_all() {
    let bench = Bench::new().await;
    let files = [file("a", "added", HEAD), file("b", "removed", BASE)];
    bench
        .compares(json!({ "total_commits": 1, "commits": [commit(HEAD)], "files": files }))
        .await;
    let changes = bench.changes().await.unwrap();
    assert!(matches!(&changes.files, ChangedFiles::Complete(_)));
    assert_eq!(paths(&changes.files), ["a", "b"]);
    assert_eq!(
        changes.files.known()[1].blob,
        None,
        "a removed file has no blob at the head"
    );
    assert_eq!(
        (changes.commits.items.len(), changes.head_tree.to_string()),
        (1, TREE.to_owned())
    );
    assert_eq!(
        changes.commits.items[0].author, None,
        "an empty author is nobody"
    );
}

#[tokio::test]
async fn what_a_comparison_cannot_show_is_read_from_the_lists() {
    for comparison in [
        json!({ "total_commits": 251, "commits": [commit(HEAD)], "files": [file("a", "added", HEAD)] }),
        json!({ "total_commits": 1, "commits": [commit(HEAD)], "files": [] }),
        json!({ "total_commits": 1, "commits": [commit(HEAD)],
                "files": (0..300).map(|nth| file(&nth.to_string(), "added", HEAD)).collect::<Vec<_>>() }),
    ] {
        let bench = Bench::new().await;
        bench.compares(comparison).await;
        bench
            .answer(
                "pulls/12/files",
                json!([file("c", "added", HEAD), file("d", "modified", HEAD)]),
            )
            .await;
        bench
            .answer("pulls/12/commits", json!([commit(OTHER), commit(HEAD)]))
            .await;
        let changes = bench.changes().await.unwrap();
        assert_eq!(paths(&changes.files), ["c", "d"]);
        assert_eq!(changes.commits.items.len(), 2);
    }
}

#[tokio::test]
async fn lists_of_another_head_are_not_taken_for_this_one() {
    let bench = Bench::new().await;
    bench
        .answer(
            "pulls/12/files",
            json!([file("c", "added", OTHER), file("d", "modified", OTHER)]),
        )
        .await;
    bench
        .answer("pulls/12/commits", json!([commit(HEAD)]))
        .await;
    assert!(matches!(
        bench.changes().await,
        Err(Error::Unavailable { .. })
    ));

    let bench = Bench::new().await;
    bench
        .answer(
            "pulls/12/files",
            json!([file("c", "added", HEAD), file("d", "removed", OTHER)]),
        )
        .await;
    bench
        .answer("pulls/12/commits", json!([commit(HEAD), commit(OTHER)]))
        .await;
    assert!(matches!(
        bench.changes().await,
        Err(Error::Unavailable { .. })
    ));
}

#[tokio::test]
async fn fewer_files_than_announced_are_not_all() {
    let bench = Bench::new().await;
    bench
        .answer("pulls/12/files", json!([file("c", "added", HEAD)]))
        .await;
    bench
        .answer("pulls/12/commits", json!([commit(HEAD)]))
        .await;
    let changes = bench.changes().await.unwrap();
    let ChangedFiles::TooLarge { known, reason } = &changes.files else {
        panic!("{:?}", changes.files)
    };
    assert_eq!(
        (known.len(), reason.as_str()),
        (1, "GitHub lists 1 of 2 changed files")
    );
}

#[tokio::test]
async fn a_diff_that_github_cannot_show_touches_everything() {
    let bench = Bench::new().await;
    bench
        .answer("pulls/12/commits", json!([commit(HEAD)]))
        .await;
    let changes = bench.changes().await.unwrap();
    assert!(matches!(&changes.files, ChangedFiles::TooLarge { known, .. } if known.is_empty()));
}
