//! What strangers upload costs the process a bounded amount of memory, and nobody else anything.

use std::io::{Cursor, Write as _};

use loopgate_core::{RepoName, Sha};
use loopgate_simulator::{Conclusion, Config, Pr, PullSpec, RunSpec, Simulator};
use serde_json::{Value, json};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use crate::process::Process;

const CI: &str = ".github/workflows/ci.yml";
const CONFIGURATION: &str = "\
version: 1
verify:
  workflows: [.github/workflows/ci.yml]
  checks: { build: { kind: build, run: make }, unit: { kind: test, run: make test } }
loop: { max_attempts: 1 }
";
/// Each line stands for twice what the one before it stands for.
const TEMPLATE: &str = "\
{% set a = failure_summary ~ failure_summary %}{% set b = a ~ a ~ a ~ a ~ a ~ a ~ a ~ a %}
{% for x in range(100000) %}{% for y in range(100000) %}{{ b }}{% endfor %}{% endfor %}
";
/// KiB that the process may take whatever is uploaded.
const MOST: u64 = 512 << 10;

fn archive(document: &[u8]) -> Vec<u8> {
    packed(document, CompressionMethod::Deflated)
}

fn packed(document: &[u8], method: CompressionMethod) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer
        .start_file(
            "evidence.json",
            SimpleFileOptions::default().compression_method(method),
        )
        .unwrap();
    writer.write_all(document).unwrap();
    writer.finish().unwrap().into_inner()
}

/// Evidence of one job, as `verify` writes it.
fn evidence(repo: &RepoName, head: Sha, run: u64, job: &str) -> Value {
    let check = |name: &str, kind: &str, outcome: &str| json!({ "name": name, "kind": kind, "outcome": outcome, "exit_code": 0, "duration_ms": 1, "failures": [] });
    json!({
        "schema": "loopgate.evidence/v1", "repository": repo, "head_sha": head, "tree_hash": "1a",
        "workflow": { "path": CI, "run_id": run, "run_attempt": 1, "job": job, "matrix": null },
        "environment": { "os": "linux", "runtime": null, "framework": null },
        "started_at": "2026-11-20T10:15:00Z", "ended_at": "2026-11-20T10:16:00Z",
        "checks": [check("build", "build", "passed"), check("unit", "test", "failed")],
    })
}

/// What the five artifacts of a hostile run hold: each as much as is read of one, and as much as one costs.
fn hostile(repo: &RepoName, head: Sha, run: u64) -> Vec<Vec<u8>> {
    let with = |job: &str, pointer: &str, value: Value| {
        let mut document = evidence(repo, head, run, job);
        *document.pointer_mut(pointer).unwrap() = value;
        archive(document.to_string().as_bytes())
    };
    vec![
        with(
            "texts",
            "/checks/1/failures",
            json!([{ "error_message": "x".repeat(15 << 20) }]),
        ),
        with(
            "objects",
            "/checks/1/failures",
            vec![json!({}); 20_000].into(),
        ),
        with(
            "names",
            "/checks/1/failures",
            vec![json!({ "test_name": "", "stack_trace": "" }); 17_000].into(),
        ),
        packed(&vec![b' '; 9 << 20], CompressionMethod::Stored),
        archive(&vec![b' '; 17 << 20]),
    ]
}

fn upload(github: &Simulator, pr: &Pr, artifacts: impl FnOnce(Sha, u64) -> Vec<Vec<u8>>) {
    let head = github.head(pr).unwrap();
    let run = github
        .start_workflow(&pr.repo, RunSpec::new(head, CI))
        .unwrap();
    let named = artifacts(head, run.get()).into_iter().enumerate();
    let named = named
        .map(|(nth, zip)| (format!("loopgate-evidence-{nth}-00000000-1"), zip.into()))
        .collect();
    github
        .finish_workflow(&pr.repo, run, Conclusion::Failure, named)
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_evidence_and_templates_stay_within_bounds_and_everybody_else_is_served() {
    let github = Simulator::start(Config::default()).await.unwrap();
    let files = |more: Option<(&'static str, &'static str)>| {
        [(".github/loopgate.yml", CONFIGURATION)]
            .into_iter()
            .chain(more)
            .collect::<Vec<_>>()
    };
    let attacked = github.create_repo("acme/attacked", &files(None)).unwrap();
    let template = Some((".github/loopgate/escalation.md", TEMPLATE));
    let templated = github
        .create_repo("acme/templated", &files(template))
        .unwrap();
    let quiet = github.create_repo("acme/quiet", &files(None)).unwrap();
    let data = tempfile::tempdir().unwrap();
    let process = Process::start(&github, data.path());
    github.set_webhook_url(&process.webhooks);

    let opened = |repo: &RepoName, nth: u32| {
        let spec =
            PullSpec::new(&format!("Change {nth}")).file(&format!("src/{nth}.rs"), "fn one() {}\n");
        github.user("alice").open_pull_request(repo, spec).unwrap()
    };
    let many = if std::env::var("LOOPGATE_KILLS").as_deref() == Ok("all") {
        4
    } else {
        2
    };
    let hostiles: Vec<Pr> = (0..many).map(|nth| opened(&attacked, nth)).collect();
    let others = [opened(&templated, 5), opened(&quiet, 6)];
    for pr in &hostiles {
        upload(&github, pr, |head, run| hostile(&attacked, head, run));
    }
    for pr in &others {
        let document =
            |head, run| archive(evidence(&pr.repo, head, run, "test").to_string().as_bytes());
        upload(&github, pr, |head, run| vec![document(head, run)]);
    }
    assert!(process.until_idle(&github).await);

    let peak = process.peak_memory();
    println!("peak memory: {} MiB", peak >> 10);
    assert!(peak < MOST, "{peak} KiB");
    let status = |pr: &Pr| {
        let pull = github.pull_request(pr).unwrap();
        pull.comments
            .iter()
            .find(|it| it.body.starts_with("<!-- loopgate:status -->"))
            .unwrap()
            .body
            .clone()
    };
    for pr in &hostiles {
        let told = status(pr);
        for reason in [
            "it is larger than 8 MB",
            "16 MB unpacked",
            "more than 16 MB of memory",
        ] {
            assert!(told.contains(reason), "{reason}: {told}");
        }
    }
    for pr in &others {
        let pull = github.pull_request(pr).unwrap();
        let verify = pull.check_run("loopgate / verify").unwrap();
        assert_eq!(
            verify.conclusion,
            Some(Conclusion::ActionRequired),
            "{verify:?}"
        );
    }
    let pull = github.pull_request(&others[0]).unwrap();
    let escalation = pull
        .comments
        .iter()
        .find(|it| it.body.contains("## Execution Feedback Escalation"))
        .unwrap();
    assert!(
        escalation.body.contains("escalation.md"),
        "its template is named: {}",
        escalation.body
    );
}
