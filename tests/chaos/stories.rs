//! What people and their CI do, one deed after the other, and what is left of it for people and programs to see.

use std::collections::BTreeMap;

use loopgate_simulator::{CheckSpec, CommitSpec, Conclusion, Pr, PullSpec, Simulator};
use regex::Regex;
use serde_json::{Value, json};

const CONFIGURATION: &str = "\
version: 1
verify:
  checks:
    unit: { kind: test, from: { check: ci / test, app: other-ci } }
gates: { security: { approvers: { users: [bob] } }, architecture: off, database: off, external: off, deploy: off }
";

pub type Deed = fn(&Simulator, &Pr);

pub struct Story {
    pub name: &'static str,
    /// What the pull request changes.
    file: &'static str,
    pub deeds: &'static [Deed],
}

pub const STORIES: [Story; 4] = [
    Story {
        name: "fails, is retried, passes",
        file: "src/lib.rs",
        deeds: &[fails, |github, pr| pushes(github, pr, "2"), passes],
    },
    Story {
        name: "a gate is approved by a comment",
        file: "src/auth/login.rs",
        deeds: &[
            passes,
            |github, pr| says(github, pr, "mallory", "security approved"),
            |github, pr| says(github, pr, "bob", "Read all of it.\n\nsecurity approved"),
        ],
    },
    Story {
        name: "three failures, a call, a resume",
        file: "src/lib.rs",
        deeds: &[
            fails,
            |github, pr| pushes(github, pr, "2"),
            fails,
            |github, pr| pushes(github, pr, "3"),
            fails,
            |github, pr| {
                says(
                    github,
                    pr,
                    "bob",
                    "An hour has 3600 seconds.\n\n/loop resume",
                )
            },
            |github, pr| pushes(github, pr, "4"),
            passes,
        ],
    },
    Story {
        name: "the base moves, it is merged, and talked about",
        file: "src/auth/login.rs",
        deeds: &[
            passes,
            |github, pr| {
                let less = CONFIGURATION.replace("bob", "carol");
                let commit = CommitSpec::new("Carol approves").file(".github/loopgate.yml", less);
                github
                    .user("olga")
                    .push_to(&pr.repo, "main", commit)
                    .unwrap();
            },
            |github, pr| says(github, pr, "carol", "security approved"),
            |github, pr| {
                github.user("olga").merge(pr).unwrap();
            },
            |github, pr| says(github, pr, "mallory", "security approved"),
        ],
    },
];

impl Story {
    pub fn begin(&self, github: &Simulator) -> Pr {
        let files = [
            (".github/loopgate.yml", CONFIGURATION),
            ("README.md", "# Widgets\n"),
        ];
        let repo = github.create_repo("acme/widgets", &files).unwrap();
        let spec = PullSpec::new("feat: sign in").file(self.file, "fn one() {}\n");
        github.user("alice").open_pull_request(&repo, spec).unwrap()
    }
}

pub fn passes(github: &Simulator, pr: &Pr) {
    reports(
        github,
        pr,
        CheckSpec::concluded("ci / test", Conclusion::Success),
    );
}

pub fn fails(github: &Simulator, pr: &Pr) {
    let failure = CheckSpec::concluded("ci / test", Conclusion::Failure);
    reports(
        github,
        pr,
        failure.annotation("src/lib.rs", 1, "expected 3600, got 60"),
    );
}

fn reports(github: &Simulator, pr: &Pr, spec: CheckSpec) {
    github
        .ci("other-ci")
        .check_run(&pr.repo, github.head(pr).unwrap(), spec)
        .unwrap();
}

pub fn pushes(github: &Simulator, pr: &Pr, version: &str) {
    github
        .user("alice")
        .push(pr, &[("src/lib.rs", &format!("// {version}\n"))], "Mend it")
        .unwrap();
}

pub fn says(github: &Simulator, pr: &Pr, who: &str, words: &str) {
    github.user(who).comment(pr, words).unwrap();
}

/// Everything people and programs can see, without times and ids.
pub fn left(github: &Simulator, pr: &Pr) -> Value {
    let pull = github.pull_request(pr).unwrap();
    let name = format!("refs/loopgate/pr/{}", pr.number);
    let documents = github
        .state_ref(&pr.repo, &name)
        .unwrap()
        .map(|it| it.files)
        .unwrap_or_default();
    let state: Value = documents
        .get("loop-state.json")
        .map_or(Value::Null, |it| loopgate_core::fixtures::run_document(it));
    let mut comments: Vec<_> = pull
        .comments
        .iter()
        .map(|it| {
            // That something was seen, and is being looked into, may have been said in between.
            let ours = it
                .reactions
                .iter()
                .filter(|(who, what)| who == "loopgate[bot]" && what != "eyes");
            let mut ours: Vec<_> = ours.map(|(_, what)| what.as_str()).collect();
            ours.sort_unstable();
            // What agents read says the same in other words.
            let body = it
                .body
                .split("<summary>For agents")
                .next()
                .unwrap_or_default();
            let body = format!("{}: {ours:?}\n{}", it.author, timeless(body));
            body.lines().map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    comments.sort();
    let ours = pull.check_runs.iter().filter(|run| run.app == "loopgate");
    let mut checks: Vec<_> = ours
        .map(|run| {
            format!(
                "{} {} {:?} {:?}",
                run.name,
                run.status,
                run.conclusion.map(Conclusion::as_str),
                run.title
            )
        })
        .collect();
    checks.sort();
    let attempts = state["attempts"].as_array().cloned().unwrap_or_default();
    json!({
        "labels": pull.labels.iter().collect::<std::collections::BTreeSet<_>>(),
        "reviewers": pull.requested_reviewers,
        "comments": comments,
        "checks": checks,
        "events": events(&documents),
        "attempts": attempts.iter().map(|it| json!([it["number"], it["result"], it["summary"]])).collect::<Vec<_>>(),
        "state": [&state["status"], &state["state"], &state["stop"]["reason"], &state["blocked"]["cause"],
            &state["gates"]["security"]["status"], &state["failures"]["total"]],
    })
}

/// How often the history tells of what must happen once. A head may be evaluated once more, with what came to light.
fn events(documents: &BTreeMap<String, String>) -> BTreeMap<String, usize> {
    let mut events = BTreeMap::new();
    for line in documents.get("history.jsonl").map_or("", |it| it).lines() {
        let event = serde_json::from_str::<Value>(line).unwrap()["event"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        if event != "evaluation_done" {
            *events.entry(event).or_default() += 1;
        }
    }
    events
}

/// A text without commit ids, numbers of things, and times.
fn timeless(text: &str) -> String {
    static CHANGING: std::sync::LazyLock<Regex> = std::sync::LazyLock::new(|| {
        Regex::new(r"\b[0-9a-f]{7,64}\b|127.0.0.1:\d+|\d{4}-\d\d-\d\d( \d\d:\d\d)?|failing for .*|\d+ (s|min|h)\b")
            .unwrap()
    });
    CHANGING.replace_all(text, "…").into_owned()
}
