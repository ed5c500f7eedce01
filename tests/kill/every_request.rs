//! One story from the opening to the merge, in which the process is killed at its N-th request, for every N.
//!
//! A request is where a process can die with something done and something not: before it reads, between reading and
//! saving, between the blob, tree, commit and ref of a save, between saving and showing, and between two effects. In
//! front of the N-th request everything is as after the one before it, so killing there covers both sides of each.
//!
//! `LOOPGATE_KILLS=all` kills at every request, at every third where the state is in the comment, which differs in how
//! a save is made alone; `LOOPGATE_KILL=N` kills at one. Otherwise a few are picked.

use std::{collections::BTreeMap, path::Path};

use futures::stream::{self, StreamExt as _};
use loopgate::github::state_apart;
use loopgate_core::RepoName;
use loopgate_simulator::{
    CheckSpec, Conclusion, Config, Harm, Often, Pr, PullSpec, RequestFault, ReviewEvent, Simulator,
};
use serde_json::{Value, json};

use crate::{process::Process, unpacked::unpacked};

const CONFIGURATION: &str = "\
version: 1
verify:
  checks:
    unit: { kind: test, from: { check: ci / test, app: other-ci } }
loop: { max_attempts: 1 }
gates: { security: { approvers: { users: [bob] }, approve_by: [review] }, architecture: off, database: off, external: off, deploy: off }
";

/// Each has a GitHub and a process of its own, and waits for one of them most of the time.
const STORIES_AT_ONCE: usize = 3;

/// Where the state is kept.
#[derive(Debug, Clone, Copy)]
enum Place {
    Ref,
    Comment,
}

impl Place {
    const fn configuration(self) -> &'static str {
        match self {
            Self::Ref => "",
            Self::Comment => "state: { backend: comment }\n",
        }
    }

    const fn step(self) -> usize {
        match self {
            Self::Ref => 1,
            Self::Comment => 3,
        }
    }

    /// The documents of the run.
    fn documents(self, github: &Simulator, pr: &Pr) -> BTreeMap<String, String> {
        match self {
            Self::Ref => {
                let name = format!("refs/loopgate/pr/{}", pr.number);
                github
                    .state_ref(&pr.repo, &name)
                    .unwrap()
                    .expect("a state")
                    .files
            }
            Self::Comment => {
                let comments = github.pull_request(pr).unwrap().comments;
                let packed = comments
                    .iter()
                    .find_map(|comment| state_apart(&comment.body).1)
                    .expect("a state");
                unpacked(packed).expect("documents")
            }
        }
    }
}

/// What people and another system do, one after the other.
const DEEDS: [fn(&Simulator, &Pr); 7] = [
    |github, pr| checked(github, pr, Conclusion::Failure),
    |github, pr| {
        github
            .user("mallory")
            .comment(pr, "security approved")
            .unwrap();
    },
    |github, pr| {
        github
            .user("bob")
            .comment(pr, "Two.\n\n/loop resume")
            .unwrap();
    },
    |github, pr| {
        github
            .user("alice")
            .push(pr, &[("src/lib.rs", "fn two() {}\n")], "Mend it")
            .unwrap();
    },
    |github, pr| checked(github, pr, Conclusion::Success),
    |github, pr| {
        github
            .user("bob")
            .review(pr, ReviewEvent::Approve, "Read it.")
            .unwrap();
    },
    |github, pr| {
        github.user("olga").merge(pr).unwrap();
    },
];

fn checked(github: &Simulator, pr: &Pr, conclusion: Conclusion) {
    let spec = CheckSpec::concluded("ci / test", conclusion);
    let spec = match conclusion {
        Conclusion::Failure => spec.annotation("src/lib.rs", 1, "expected 2, got 1"),
        _ => spec,
    };
    github
        .ci("other-ci")
        .check_run(&pr.repo, github.head(pr).unwrap(), spec)
        .unwrap();
}

/// A GitHub with the repository of the story.
async fn begun(place: Place) -> (Simulator, RepoName) {
    let github = Simulator::start(Config::default()).await.unwrap();
    let configuration = format!("{CONFIGURATION}{}", place.configuration());
    let repo = github
        .create_repo("acme/widgets", &[(".github/loopgate.yml", &configuration)])
        .unwrap();
    (github, repo)
}

fn opened(github: &Simulator, repo: &RepoName) -> Pr {
    let spec = PullSpec::new("feat: sign in")
        .file("src/auth/login.rs", "fn login() {}\n")
        .file("src/lib.rs", "1\n");
    github.user("alice").open_pull_request(repo, spec).unwrap()
}

/// Plays the story. The process that makes the `nth` request dies before it is carried out. What is left at the end,
/// and how many requests it took.
async fn played(place: Place, nth: Option<u32>) -> (Value, usize) {
    let (github, repo) = begun(place).await;
    let data = tempfile::tempdir().unwrap();
    let mut process = Process::start(&github, data.path());
    github.set_webhook_url(&process.webhooks);
    github.forget_requests();
    if let Some(nth) = nth {
        let rest = RequestFault::on(".", Harm::Hang)
            .unwrap()
            .often(Often::After(nth - 1));
        github.add_fault(rest);
    }
    let pr = opened(&github, &repo);
    process = survives(process, &github, data.path()).await;
    for deed in DEEDS {
        deed(&github, &pr);
        process = survives(process, &github, data.path()).await;
    }
    let requests = github.requests().len();
    process.kill();
    (left(place, &github, &pr), requests)
}

/// Plays the story with an older version until so many deeds are done, and with this one from there on.
async fn led_on(place: Place, older: Option<usize>) -> Value {
    let (github, repo) = begun(place).await;
    let data = tempfile::tempdir().unwrap();
    let mut process = match older {
        Some(_) => Process::start_older(&github, data.path()),
        None => Process::start(&github, data.path()),
    };
    github.set_webhook_url(&process.webhooks);
    let pr = opened(&github, &repo);
    assert!(process.until_idle(&github).await);
    for (nth, deed) in DEEDS.iter().enumerate() {
        if Some(nth) == older {
            process.kill();
            process = Process::start(&github, data.path());
            github.set_webhook_url(&process.webhooks);
        }
        deed(&github, &pr);
        assert!(process.until_idle(&github).await);
    }
    process.kill();
    left(place, &github, &pr)
}

/// Waits for the process to be done, or kills it where it hangs and lets another take over.
async fn survives(process: Process, github: &Simulator, data: &Path) -> Process {
    if process.until_idle(github).await {
        return process;
    }
    process.kill();
    github.heal();
    let next = Process::start(github, data);
    github.set_webhook_url(&next.webhooks);
    assert!(next.until_idle(github).await);
    next
}

/// Everything people and programs can see, without times and ids.
fn left(place: Place, github: &Simulator, pr: &Pr) -> Value {
    let pull = github.pull_request(pr).unwrap();
    let documents = place.documents(github, pr);
    let state = loopgate_core::fixtures::run_document(&documents["loop-state.json"]);
    let history: Vec<Value> = documents["history.jsonl"]
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .map(|line: Value| json!([line["event"], line["iteration"], line["status"]]))
        .collect();
    // The status comment shows its verdict; of every other comment there is one.
    let first_lines = |body: &str| body.lines().take(2).collect::<Vec<_>>().join(" ");
    let reactions = |reactions: &[(String, String)]| {
        let ours = reactions.iter().filter(|(who, _)| who == "loopgate[bot]");
        ours.map(|(_, what)| what.clone()).collect::<Vec<_>>()
    };
    let ours = pull.check_runs.iter().filter(|run| run.app == "loopgate");
    json!({
        "labels": pull.labels,
        "reviewers": pull.requested_reviewers,
        "comments": pull.comments.iter().map(|it| json!([it.author, first_lines(&it.body), reactions(&it.reactions)]))
            .collect::<Vec<_>>(),
        "checks": ours.map(|run| json!([run.name, run.conclusion.map(Conclusion::as_str), run.title]))
            .collect::<Vec<_>>(),
        "history": history,
        "attempts": state["attempts"].as_array().unwrap().iter()
            .map(|it| json!([it["number"], it["result"], it["summary"]])).collect::<Vec<_>>(),
        "files": documents.keys().collect::<Vec<_>>(),
        "state": [&state["status"], &state["state"], &state["stop"]["reason"], &state["blocked"],
            &state["gates"]["security"]["status"], &state["failures"]["total"]],
    })
}

fn number(name: &str) -> Option<u32> {
    std::env::var(name).ok()?.parse().ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn whichever_request_is_its_last_the_end_is_the_same() {
    killed_anywhere(Place::Ref).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn so_it_is_where_the_state_is_in_the_comment() {
    killed_anywhere(Place::Comment).await;
}

async fn killed_anywhere(place: Place) {
    let (undisturbed, requests) = played(place, None).await;
    let count = |event: &str| {
        let lines = undisturbed["history"].as_array().unwrap().iter();
        lines.filter(|line| line[0] == event).count()
    };
    for (event, times) in [
        ("run_started", 1),
        ("evaluation_done", 2),
        ("escalated", 1),
        ("resumed", 1),
        ("gate_approved", 1),
        ("completed", 1),
    ] {
        assert_eq!(count(event), times, "{event}: {undisturbed:#}");
    }
    let requests = u32::try_from(requests).unwrap();
    let chosen: Vec<u32> = match (
        number("LOOPGATE_KILL"),
        std::env::var("LOOPGATE_KILLS").as_deref(),
    ) {
        (Some(one), _) => vec![one],
        (None, Ok("all")) => (1..=requests).step_by(place.step()).collect(),
        (None, _) => (1..=3).map(|part| part * requests / 4).collect(),
    };
    let undisturbed = &undisturbed;
    let deaths = chosen.iter().map(|nth| async move {
        let (after_a_death, _) = played(place, Some(*nth)).await;
        assert_eq!(
            &after_a_death, undisturbed,
            "{place:?}: LOOPGATE_KILL={nth} of {requests}\n{after_a_death:#}"
        );
    });
    stream::iter(deaths)
        .buffer_unordered(STORIES_AT_ONCE)
        .collect::<()>()
        .await;
    println!(
        "{place:?}: killed at {} of {requests} requests: the end is the same",
        chosen.len()
    );
}

/// What came of a loop: what an older version wrote keeps its own words.
fn outcome(mut left: Value) -> Value {
    let comments = left["comments"].as_array().unwrap().len();
    left["comments"] = comments.into();
    for check in left["checks"].as_array_mut().unwrap() {
        check.as_array_mut().unwrap().truncate(2);
    }
    left
}

/// `LOOPGATE_OLDER_VERSION` is the program that begins.
#[tokio::test(flavor = "multi_thread")]
async fn a_loop_that_an_older_version_began_is_led_on() {
    for (place, moments) in [(Place::Ref, &[1, 3, 6][..]), (Place::Comment, &[5])] {
        let new = &outcome(led_on(place, None).await);
        let loops = moments.iter().map(|older| async move {
            let led_on = outcome(led_on(place, Some(*older)).await);
            assert_eq!(&led_on, new, "{place:?}, after {older} deeds");
        });
        stream::iter(loops)
            .buffer_unordered(STORIES_AT_ONCE)
            .collect::<()>()
            .await;
    }
}
