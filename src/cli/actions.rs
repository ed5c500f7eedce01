//! What GitHub Actions gives a step about the run it is part of, and the step's outputs for those after it.
//!
//! Outputs may hold text from outside, so each stands between two unguessable lines: a value cannot end itself and
//! begin an output of its own
//! (<https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands#multiline-strings>).

use std::{env, fmt::Write as _, fs, path::Path};

use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::{CliError, online::set_here, output};
use loopgate_render as render;

use loopgate_core::{
    CheckRunId, PrNumber, RepoName, Sha, WorkflowRunId,
    evidence::{MatrixJob, WorkflowOrigin},
};

/// Largest event payload read, in bytes; GitHub's own limit is 25 MB.
const EVENT_LIMIT: u64 = 25 * 1024 * 1024;

/// Whether this is a step of a workflow, whose log the runner reads.
pub fn is_here() -> bool {
    env::var_os("GITHUB_ACTIONS").is_some_and(|value| !value.is_empty())
}

/// The folder below the top of the repository that the input `working-directory` names; empty for the top.
pub fn working_directory(root: &Path) -> String {
    let is_named = env::var("LOOPGATE_WORKING_DIRECTORY")
        .is_ok_and(|named| !matches!(named.as_str(), "" | "."));
    let below = || {
        let (here, root) = (
            env::current_dir().ok()?.canonicalize().ok()?,
            root.canonicalize().ok()?,
        );
        Some(
            here.strip_prefix(root)
                .ok()?
                .to_string_lossy()
                .replace('\\', "/"),
        )
    };
    is_named.then(below).flatten().unwrap_or_default()
}

/// Text from outside, for the log of a step: the runner takes no command from it.
pub fn silenced(text: &str) -> String {
    // Made anew each time: what is printed afterwards may have read the log.
    render::silenced(text, &Uuid::new_v4().simple().to_string())
}

/// The run this process is part of.
pub struct ActionsRun {
    pub origin: WorkflowOrigin,
    pub repository: RepoName,
    /// The pull request's head. What is checked out is usually a merge of it with the base, made by GitHub.
    pub head: Option<Sha>,
    pub pull_request: Option<PrNumber>,
    /// The pull request's title and text.
    pub words: Option<(String, String)>,
}

/// Whether this process runs in GitHub Actions for a pull request whose code is not this repository's.
pub fn is_fork() -> bool {
    if env::var_os("GITHUB_ACTIONS").is_none() {
        return false;
    }
    let repository: Option<RepoName> =
        set_here("GITHUB_REPOSITORY").and_then(|name| name.parse().ok());
    match event() {
        Some(event) if event["pull_request"].is_null() => false,
        // The repository of a deleted fork is null.
        Some(event) => read(&event["pull_request"]["head"]["repo"]["full_name"]) != repository,
        // An event that cannot be read may be anybody's.
        None => true,
    }
}

impl ActionsRun {
    /// None outside GitHub Actions, or where it does not name the run.
    pub fn current() -> Option<Self> {
        set_here("GITHUB_ACTIONS")?;
        let event = event().unwrap_or_default();
        let pull_request = &event["pull_request"];
        Some(Self {
            origin: WorkflowOrigin {
                path: workflow_path(&set_here("GITHUB_WORKFLOW_REF")?)?,
                run_id: WorkflowRunId::new(set_here("GITHUB_RUN_ID")?.parse().ok()?),
                run_attempt: set_here("GITHUB_RUN_ATTEMPT")
                    .and_then(|text| text.parse().ok())
                    .unwrap_or(1),
                job: set_here("GITHUB_JOB")?,
                // `toJSON(matrix)` is `null` where a job has none.
                matrix: set_here("LOOPGATE_MATRIX")
                    .filter(|matrix| !matches!(matrix.trim(), "null" | "{}")),
                matrix_job: matrix_job(
                    set_here("LOOPGATE_JOB_INDEX"),
                    set_here("LOOPGATE_JOB_TOTAL"),
                    set_here("LOOPGATE_CHECK_RUN"),
                ),
            },
            repository: set_here("GITHUB_REPOSITORY")?.parse().ok()?,
            head: read(&pull_request["head"]["sha"]),
            pull_request: read(&pull_request["number"]),
            words: read(&pull_request["title"])
                .map(|title| (title, read(&pull_request["body"]).unwrap_or_default())),
        })
    }
}

/// Which job of its matrix this is, as the Action passes it on.
fn matrix_job(
    index: Option<String>,
    total: Option<String>,
    check_run: Option<String>,
) -> Option<MatrixJob> {
    let (index, total) = (index?.parse().ok()?, total?.parse().ok()?);
    let check_run_id = check_run
        .and_then(|id| id.parse().ok())
        .map(CheckRunId::new);
    (index < total).then_some(MatrixJob {
        index,
        total,
        check_run_id,
    })
}

/// The value of a field of the event, if it is of this kind.
fn read<T: DeserializeOwned>(field: &Value) -> Option<T> {
    T::deserialize(field).ok()
}

fn event() -> Option<Value> {
    let event: Value =
        serde_json::from_slice(&read_event(Path::new(&set_here("GITHUB_EVENT_PATH")?)).ok()?)
            .ok()?;
    event.is_object().then_some(event)
}

/// The payload of a workflow's event.
pub fn read_event(path: &Path) -> Result<Vec<u8>, CliError> {
    let unreadable = |error: std::io::Error| {
        CliError::bad_data(format!("{} cannot be read: {error}", path.display()))
    };
    if fs::metadata(path).map_err(unreadable)?.len() > EVENT_LIMIT {
        return Err(CliError::bad_data(format!(
            "{} is larger than 25 MB",
            path.display()
        )));
    }
    fs::read(path).map_err(unreadable)
}

/// `.github/workflows/ci.yml` of `acme/widgets/.github/workflows/ci.yml@refs/pull/12/merge`.
fn workflow_path(reference: &str) -> Option<String> {
    let path = reference.split('@').next()?;
    path.splitn(3, '/').nth(2).map(str::to_owned)
}

/// Writes the outputs of a decision, by its document, and where a verification left its evidence and its report, if it
/// did. What cannot be written is reported, and changes nothing else.
pub fn write_decision(document: &Value, files: Option<[&Path; 2]>) {
    write_outputs(&decision(
        document,
        files,
        ActionsRun::current().map(|run| artifact_name(&run)),
    ));
}

fn decision(
    document: &Value,
    files: Option<[&Path; 2]>,
    artifact: Option<String>,
) -> Vec<(&'static str, String)> {
    let named = [
        "decision",
        "status",
        "score",
        "attempt",
        "stage",
        "failed-rules",
    ]
    .map(|name| {
        let value = match &document[name.replace('-', "_")] {
            Value::String(word) => word.clone(),
            Value::Array(names) => names
                .iter()
                .filter_map(Value::as_str)
                .collect::<Vec<_>>()
                .join(","),
            score if name == "score" => format!("{:.2}", score.as_f64().unwrap_or_default()),
            number => number.to_string(),
        };
        (name, value)
    });
    let mut outputs = Vec::from(named);
    if let Some([path, report]) = files {
        outputs.extend(evidence(path, artifact));
        outputs.push(("report-path", report.display().to_string()));
    }
    outputs
}

/// Writes the evidence outputs before there is any evidence: a step that is killed writes no more outputs.
pub fn write_evidence(path: &Path) {
    write_outputs(&evidence(
        path,
        ActionsRun::current().map(|run| artifact_name(&run)),
    ));
}

fn evidence(path: &Path, artifact: Option<String>) -> Vec<(&'static str, String)> {
    let path = ("evidence-path", path.display().to_string());
    std::iter::once(path)
        .chain(artifact.map(|name| ("evidence-name", name)))
        .collect()
}

/// Writes outputs of the step.
pub fn write_outputs(outputs: &[(&str, String)]) {
    output::append_to_file_of(
        "GITHUB_OUTPUT",
        "the outputs of the step",
        &fenced(outputs, &Uuid::new_v4().to_string()),
    );
}

/// `fence` is a text that no value holds.
fn fenced(outputs: &[(&str, String)], fence: &str) -> String {
    outputs
        .iter()
        .fold(String::new(), |mut text, (name, value)| {
            debug_assert!(!value.contains(fence), "a fence is random");
            // Writing to a string cannot fail.
            let _ = write!(text, "{name}<<{fence}\n{value}\n{fence}\n");
            text
        })
}

/// `loopgate-evidence-<job>-<8 hex of the matrix's SHA-256>-<run attempt>`: unique within a run.
///
/// `LOOPGATE_EVIDENCE_NAME` replaces it, for a job with several verifications; the beginning stays, since reconcile
/// looks for it.
fn artifact_name(run: &ActionsRun) -> String {
    const PREFIX: &str = "loopgate-evidence";
    let plain = |text: &str| -> String {
        text.chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || "-_.".contains(c) {
                    c
                } else {
                    '-'
                }
            })
            .take(100)
            .collect()
    };
    if let Some(given) = set_here("LOOPGATE_EVIDENCE_NAME") {
        let given = plain(given.trim());
        return if given.starts_with(PREFIX) {
            given
        } else {
            format!("{PREFIX}-{given}")
        };
    }
    let origin = &run.origin;
    let matrix = Sha256::digest(origin.matrix.as_deref().unwrap_or_default().as_bytes());
    format!(
        "{PREFIX}-{}-{}-{}",
        plain(&origin.job),
        &hex::encode(matrix)[..8],
        origin.run_attempt
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_matrix_job_is_a_place_among_all_and_a_check_run_where_github_tells_it() {
        let told = |index: &str, total: &str, check_run: &str| {
            matrix_job(
                Some(index.into()),
                Some(total.into()),
                Some(check_run.into()),
            )
            .map(|matrix_job| (matrix_job.index, matrix_job.check_run_id))
        };
        assert_eq!(told("2", "3", "77"), Some((2, Some(CheckRunId::new(77)))));
        assert_eq!(told("0", "1", "Object"), Some((0, None)));
        assert_eq!((told("3", "3", "77"), told("", "3", "77")), (None, None));
        assert_eq!(matrix_job(None, None, None), None, "an older Action");
    }

    #[test]
    fn the_workflow_file_is_named_without_owner_and_ref() {
        assert_eq!(
            workflow_path("acme/widgets/.github/workflows/ci.yml@refs/pull/12/merge").as_deref(),
            Some(".github/workflows/ci.yml")
        );
        assert_eq!(workflow_path("acme/widgets"), None);
    }

    #[test]
    fn every_output_of_the_contract_is_told_between_fences() {
        let document = json!({
            "decision": "retry", "status": "in_progress", "score": 0.0, "attempt": 2, "stage": "TEST",
            "failed_rules": ["unit", "no-secrets"],
        });
        let files = ["/w/loopgate-evidence/evidence.json", "/w/r.md"].map(Path::new);
        let artifact = Some("loopgate-evidence-test-e3b0c442-1".to_owned());
        let text = fenced(&decision(&document, Some(files), artifact), "F");
        insta::assert_snapshot!(text, @r"
        decision<<F
        retry
        F
        status<<F
        in_progress
        F
        score<<F
        0.00
        F
        attempt<<F
        2
        F
        stage<<F
        TEST
        F
        failed-rules<<F
        unit,no-secrets
        F
        evidence-path<<F
        /w/loopgate-evidence/evidence.json
        F
        evidence-name<<F
        loopgate-evidence-test-e3b0c442-1
        F
        report-path<<F
        /w/r.md
        F
        ");
        assert!(
            !fenced(&decision(&document, None, None), "F").contains("path"),
            "a reconcile leaves no file"
        );
    }

    #[test]
    fn artifacts_of_two_matrix_jobs_or_attempts_never_share_a_name() {
        let run = |job: &str, matrix: Option<&str>, run_attempt| ActionsRun {
            origin: WorkflowOrigin {
                path: ".github/workflows/ci.yml".into(),
                run_id: WorkflowRunId::new(1),
                run_attempt,
                job: job.into(),
                matrix: matrix.map(str::to_owned),
                matrix_job: None,
            },
            repository: "acme/widgets".parse().unwrap(),
            head: None,
            pull_request: None,
            words: None,
        };
        let name = |job, matrix, attempt| artifact_name(&run(job, matrix, attempt));
        assert_eq!(name("test", None, 1), "loopgate-evidence-test-e3b0c442-1");
        assert_ne!(
            name("test", Some(r#"{"os":"linux"}"#), 1),
            name("test", Some(r#"{"os":"macos"}"#), 1)
        );
        assert_ne!(name("test", None, 1), name("test", None, 2));
        assert_eq!(
            name("te st/..\n", None, 1),
            "loopgate-evidence-te-st-..--e3b0c442-1"
        );
    }
}
