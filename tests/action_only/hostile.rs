//! Evidence that a pull request's own code made up: refused one by one, with the reason on the pull request, by
//! processes that have little memory (`actions.rs`).

use loopgate_core::Sha;
use loopgate_simulator::{Conclusion, Pr, PullSpec, RunSpec, Simulator};
use serde_json::{Value, json};

use crate::{CI, Job, Keeper as _, actions::Actions, archive, evidence, github, repository, unit};

const ENTRY: &str = "evidence.json";
const TEST: &str = "loopgate-evidence-test-00000000-1";

fn good(head: Sha, run: u64) -> Value {
    evidence(
        head,
        run,
        &Job {
            name: "test",
            matrix: None,
            checks: unit(&[]),
        },
    )
}

fn packed(document: &Value) -> Vec<u8> {
    archive(&[(ENTRY, document.to_string().as_bytes())])
}

fn changed(head: Sha, run: u64, key: &str, value: Value) -> Vec<u8> {
    let mut document = good(head, run);
    document[key] = value;
    packed(&document)
}

/// A zip writer does not write one name twice, so another name of the same length is overwritten in both headers.
fn two_of_one_name(content: &[u8]) -> Vec<u8> {
    let mut zip = archive(&[(ENTRY, content), ("evidence.jsoX", content)]);
    let places: Vec<_> = (0..zip.len() - 13)
        .filter(|at| &zip[*at..*at + 13] == b"evidence.jsoX".as_slice())
        .collect();
    for at in places {
        zip[at + 12] = b'n';
    }
    zip
}

/// Bytes that no compression makes smaller.
fn noise(length: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(7);
    std::iter::repeat_with(|| random.u8(..))
        .take(length)
        .collect()
}

/// What a few bytes of JSON cost in memory: `{}` is a whole failure.
fn many_failures(head: Sha, run: u64) -> Vec<u8> {
    let mut document = good(head, run);
    document["checks"][0]["failures"] = vec![json!({}); 2_000_000].into();
    packed(&document)
}

/// The workflow at `path` uploads what `make` makes of the head and the run, on a pull request from a fork.
async fn uploaded(
    path: &str,
    name: &str,
    make: impl FnOnce(Sha, u64) -> Vec<u8>,
) -> (Simulator, Pr) {
    let github = github().await;
    let repo = repository(&github);
    let actions = Actions::new(&github, &repo);
    let change = PullSpec::new("Improve")
        .file("src/lib.rs", "fn one() {}\n")
        .from_fork();
    let pr = github
        .user("mallory")
        .open_pull_request(&repo, change)
        .unwrap();
    let head = github.head(&pr).unwrap();
    let run = github
        .start_workflow(&repo, RunSpec::new(head, path))
        .unwrap();
    let artifact = (name.to_owned(), make(head, run.get()).into());
    github
        .finish_workflow(&repo, run, Conclusion::Success, vec![artifact])
        .unwrap();
    actions.settle().await;
    (github, pr)
}

async fn refused(path: &str, make: impl FnOnce(Sha, u64) -> Vec<u8>, reason: &str) {
    let (github, pr) = uploaded(path, TEST, make).await;
    let pull = github.pull_request(&pr).unwrap();
    let status = pull
        .comments
        .iter()
        .find(|comment| comment.body.starts_with("<!-- loopgate:status -->"))
        .unwrap();
    // A hash in foreign words is broken up, so that it links to nothing.
    let told = status.body.replace('\u{2060}', "");
    assert!(told.contains(reason), "{reason}: {told}");
    assert!(
        status.body.contains(TEST),
        "the artifact is named: {}",
        status.body
    );
    let verify = pull.check_run("loopgate / verify").unwrap();
    assert_ne!(verify.conclusion, Some(Conclusion::Success), "{verify:?}");
    println!("refused: {reason}");
}

/// Each as a test of its own.
macro_rules! refused {
    ($($name:ident: $path:expr, $make:expr => $reason:expr;)+) => {
        $(#[tokio::test(flavor = "multi_thread")]
        async fn $name() {
            refused($path, $make, $reason).await;
        })+
    };
}

refused! {
    a_forged_head: CI, |_, run| packed(&good("1111111111111111111111111111111111111111".parse().unwrap(), run))
        => "it is about commit 11111111, not about the head";
    another_repository: CI, |head, run| changed(head, run, "repository", json!("mallory/widgets"))
        => "it is about another repository";
    another_run: CI, |head, _| packed(&good(head, 1)) => "it names another workflow run than the one that uploaded it";
    a_wrong_schema: CI, |head, run| changed(head, run, "schema", json!("loopgate.evidence/v9"))
        => "its schema is not loopgate.evidence/v1";
    no_evidence_at_all: CI, |_, _| archive(&[(ENTRY, b"{\"checks\": 1}")]) => "does not follow the schema";
    no_archive: CI, |_, _| b"PK\x03\x04 and then nothing".to_vec() => "it is no zip archive";
    an_archive_that_is_too_large: CI, |_, _| archive(&[(ENTRY, &noise(9 << 20))]) => "it is larger than 8 MB";
    a_bomb: CI, |_, _| archive(&[(ENTRY, &vec![b' '; 200 << 20])]) => "it is larger than 8 MB packed or 16 MB unpacked";
    a_bomb_of_small_things: CI, many_failures => "it takes more than 16 MB of memory once it is read";
    a_path_that_leads_outside: CI,
        |head, run| archive(&[(ENTRY, good(head, run).to_string().as_bytes()), ("../../.bashrc", b"echo")])
        => "it holds a file named";
    two_files_of_one_name: CI, |head, run| two_of_one_name(good(head, run).to_string().as_bytes())
        => "it holds two files of the same name";
    a_workflow_that_is_not_listed: ".github/workflows/mine.yml", |head, run| packed(&good(head, run))
        => "its workflow .github/workflows/mine.yml is not listed in verify.workflows";
}

/// A flood of artifacts hides nothing: the newest are read, and it is said that others were not.
#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_artifacts() {
    let github = github().await;
    let repo = repository(&github);
    let actions = Actions::new(&github, &repo);
    let change = PullSpec::new("Improve").file("src/lib.rs", "fn one() {}\n");
    let pr = github
        .user("alice")
        .open_pull_request(&repo, change)
        .unwrap();
    let head = github.head(&pr).unwrap();
    let run = github
        .start_workflow(&repo, RunSpec::new(head, CI))
        .unwrap();
    let artifact = |nth: usize| {
        (
            format!("loopgate-evidence-{nth}"),
            b"nothing".to_vec().into(),
        )
    };
    let mut artifacts: Vec<_> = (0..80).map(artifact).collect();
    artifacts.push((TEST.to_owned(), packed(&good(head, run.get())).into()));
    github
        .finish_workflow(&repo, run, Conclusion::Success, artifacts)
        .unwrap();
    actions.settle().await;
    let pull = github.pull_request(&pr).unwrap();
    let status = pull
        .comments
        .iter()
        .find(|comment| comment.body.starts_with("<!-- loopgate:status -->"))
        .unwrap();
    assert!(
        status.body.contains("more than 60 evidence artifacts"),
        "{}",
        status.body
    );
    assert!(
        status.body.contains("12 passed"),
        "the newest artifact counts: {}",
        status.body
    );
}
