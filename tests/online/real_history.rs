//! `loopgate try` on the history of a real repository: what it tells of gates is what the server found on the same
//! diffs.

use std::process::Command;

use loopgate_simulator::{CheckSpec, CommitSpec, Conclusion, PullSpec};
use serde_json::Value;

use crate::{As, assert_nothing_written, explain::look, github, run};

/// Merges taken, and the largest file that is loaded, in bytes.
const MOST: &str = "40";
const LARGEST: usize = 500_000;

struct History(String);

impl History {
    fn git(&self, arguments: &[&str]) -> Vec<u8> {
        let output = Command::new("git")
            .arg("-C")
            .arg(&self.0)
            .args(arguments)
            .output()
            .expect("git");
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        output.stdout
    }

    fn lines(&self, arguments: &[&str]) -> Vec<String> {
        let text = String::from_utf8_lossy(&self.git(arguments)).into_owned();
        text.split(['\n', '\0'])
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect()
    }

    fn file(&self, commit: &str, path: &str) -> Option<Vec<u8>> {
        let bytes = self.git(&["show", &format!("{commit}:{path}")]);
        (bytes.len() <= LARGEST).then_some(bytes)
    }

    fn files(&self, commit: &str) -> Vec<(String, Vec<u8>)> {
        let blobs = self.lines(&[
            "ls-tree",
            "-r",
            "-z",
            "--format=%(objecttype) %(path)",
            commit,
        ]);
        let paths = blobs.iter().filter_map(|line| line.strip_prefix("blob "));
        paths
            .filter_map(|path| Some((path.to_owned(), self.file(commit, path)?)))
            .collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn gates_told_of_real_history_are_those_of_the_server() {
    let Ok(history) = std::env::var("LOOPGATE_HISTORY").map(History) else {
        return println!(
            "skipped: LOOPGATE_HISTORY names no git repository with 40 merges on its main line"
        );
    };
    let merges = history.lines(&[
        "rev-list",
        "--first-parent",
        "--merges",
        "--max-count",
        MOST,
        "--reverse",
        "HEAD",
    ]);
    let github = github().await;
    // The server looks after what has a configuration; `try` judges by the presets all the same.
    let repo = github
        .create_repo("acme/widgets", &[(".github/loopgate.yml", "version: 1\n")])
        .unwrap();
    let (mut found, mut first) = (Vec::new(), true);
    for merge in &merges {
        let base = format!("{merge}^1");
        let title = history.lines(&["log", "-1", "--format=%s", merge]).concat();
        if first {
            // What main is when the first of them is opened.
            let all = CommitSpec::new("Begin");
            let all = history
                .files(&base)
                .into_iter()
                .fold(all, |all, (path, bytes)| all.file(&path, bytes));
            let begun = PullSpec::new("Begin").commit(all);
            let begun = github.user("olga").open_pull_request(&repo, begun).unwrap();
            github.user("olga").merge(&begun).unwrap();
            first = false;
        }
        let changed = history.lines(&["diff", "--no-renames", "--name-status", "-z", &base, merge]);
        let mut commit = CommitSpec::new(&title);
        let mut changes = 0;
        for pair in changed.chunks_exact(2) {
            let [kind, path] = pair else { continue };
            commit = match kind.as_str() {
                "D" => commit.remove(path),
                _ => match history.file(merge, path) {
                    Some(bytes) => commit.file(path, bytes),
                    None => continue,
                },
            };
            changes += 1;
        }
        let spec = PullSpec::new(&title)
            .branch(&format!("pr-{merge}"))
            .commit(commit);
        let Some(pr) = (changes > 0)
            .then(|| github.user("alice").open_pull_request(&repo, spec).ok())
            .flatten()
        else {
            continue;
        };
        let head = github.head(&pr).unwrap();
        github
            .ci("other-ci")
            .check_run(
                &repo,
                head,
                CheckSpec::concluded("test", Conclusion::Success),
            )
            .unwrap();
        look(&github, &pr).await;
        let here = tempfile::tempdir().unwrap();
        let name = format!("{repo}#{}", pr.number);
        let said = run(
            &github,
            &As::App,
            here.path(),
            &["explain", &name, "--format", "json"],
        );
        let told: Value =
            serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{}{}", said.out, said.err));
        found.push((pr.number.get(), gates(&told["gates"])));
        github.user("olga").merge(&pr).unwrap();
    }
    assert!(
        found.len() >= 30,
        "only {} pull requests came of {} merges",
        found.len(),
        merges.len()
    );
    github.forget_requests();
    let here = tempfile::tempdir().unwrap();
    let page = std::env::temp_dir().join("loopgate-try.html");
    let arguments = [
        "try",
        "acme/widgets",
        "--last",
        MOST,
        "--format",
        "json",
        "--html",
        page.to_str().unwrap(),
    ];
    let said = run(&github, &As::App, here.path(), &arguments);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_nothing_written(&github, &repo);
    let told: Value = serde_json::from_str(&said.out).unwrap();
    let mut wrong = Vec::new();
    let tried = told["pull_requests"].as_array().unwrap();
    for (number, server) in &found {
        let Some(one) = tried.iter().find(|one| one["number"] == *number) else {
            continue;
        };
        let ours = gates(&one["gates"]);
        if ours != *server {
            wrong.push(format!("#{number}: the server {server:?}, try {ours:?}"));
        }
    }
    let requests = github.requests().len();
    eprintln!(
        "{} pull requests, {requests} requests, the page is {}",
        tried.len(),
        page.display()
    );
    assert_eq!(wrong, Vec::<String>::new());
    assert!(
        requests <= tried.len() * 15 + 20,
        "{requests} requests for {}",
        tried.len()
    );
}

/// Their names, without those of every pull request.
fn gates(list: &Value) -> Vec<String> {
    let applies = |gate: &&Value| gate["why"].as_array().is_some_and(|why| !why.is_empty());
    let names = list
        .as_array()
        .into_iter()
        .flatten()
        .filter(applies)
        .filter_map(|gate| gate["name"].as_str());
    let mut names: Vec<String> = names
        .filter(|name| *name != "deploy")
        .map(str::to_owned)
        .collect();
    names.sort();
    names
}
