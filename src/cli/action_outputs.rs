//! The outputs of the Action for the steps after it, written to the file that `GITHUB_OUTPUT` names.
//!
//! Values may hold text from outside, so each stands between two unguessable lines: a value cannot end itself
//! and begin an output of its own
//! (<https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands#multiline-strings>).

use std::{fmt::Write as _, path::Path};

use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::{actions::ActionsRun, online::set_here, output};
use loopgate_core::{RuleId, Score, deciding::DecisionWord, stage::Stage, state::RunStatus};

/// The outputs of a decision.
#[derive(Debug, Clone)]
pub struct Outputs<'a> {
    pub decision: DecisionWord,
    pub status: RunStatus,
    pub score: Score,
    /// Counts from 1.
    pub attempt: u32,
    pub stage: Stage,
    pub failed_rules: Vec<RuleId>,
    /// Where a verification left its files; a reconcile leaves none.
    pub files: Option<Files<'a>>,
}

/// The files of a verification.
#[derive(Debug, Clone, Copy)]
pub struct Files<'a> {
    pub evidence: &'a Path,
    /// The same report as the job summary, Markdown.
    pub report: &'a Path,
}

impl Outputs<'_> {
    /// Writes them, where a step asks for them. What cannot be written is reported, and changes nothing else.
    pub fn tell(&self) {
        tell(&self.values(ActionsRun::current().map(|run| artifact_name(&run))));
    }

    fn values(&self, artifact: Option<String>) -> Vec<(&'static str, String)> {
        let rules: Vec<_> = self.failed_rules.iter().map(RuleId::as_str).collect();
        let path = |path: &Path| path.display().to_string();
        let mut outputs = vec![
            ("decision", self.decision.as_str().to_owned()),
            ("status", self.status.as_str().to_owned()),
            ("score", self.score.to_string()),
            ("attempt", self.attempt.to_string()),
            ("stage", self.stage.as_str().to_owned()),
            ("failed-rules", rules.join(",")),
        ];
        if let Some(files) = &self.files {
            outputs.extend(evidence(files.evidence, artifact));
            outputs.push(("report-path", path(files.report)));
        }
        outputs
    }
}

/// Writes the evidence outputs before there is any evidence: a step that is killed writes no more outputs.
pub fn tell_evidence(path: &Path) {
    tell(&evidence(path, ActionsRun::current().map(|run| artifact_name(&run))));
}

fn evidence(path: &Path, artifact: Option<String>) -> Vec<(&'static str, String)> {
    let path = ("evidence-path", path.display().to_string());
    std::iter::once(path).chain(artifact.map(|name| ("evidence-name", name))).collect()
}

/// Tells where a reconcile left states for the step that uploads them.
pub fn tell_state_folder(folder: &Path) {
    tell(&[("state-path", folder.display().to_string())]);
}

fn tell(outputs: &[(&str, String)]) {
    output::append_to_file_of(
        "GITHUB_OUTPUT",
        "the outputs of the step",
        &fenced(outputs, &Uuid::new_v4().to_string()),
    );
}

/// `fence` is a text that no value holds.
fn fenced(outputs: &[(&str, String)], fence: &str) -> String {
    outputs.iter().fold(String::new(), |mut text, (name, value)| {
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
        text.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' }).take(100).collect()
    };
    if let Some(given) = set_here("LOOPGATE_EVIDENCE_NAME") {
        let given = plain(given.trim());
        return if given.starts_with(PREFIX) { given } else { format!("{PREFIX}-{given}") };
    }
    let origin = &run.origin;
    let matrix = Sha256::digest(origin.matrix.as_deref().unwrap_or_default().as_bytes());
    format!("{PREFIX}-{}-{}-{}", plain(&origin.job), &hex::encode(matrix)[..8], origin.run_attempt)
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopgate_core::{WorkflowRunId, evidence::WorkflowOrigin};

    fn outputs(files: Option<Files<'_>>) -> Outputs<'_> {
        Outputs {
            decision: DecisionWord::Retry,
            status: RunStatus::InProgress,
            score: Score::ZERO,
            attempt: 2,
            stage: Stage::Test,
            failed_rules: vec!["unit".parse().unwrap(), "no-secrets".parse().unwrap()],
            files,
        }
    }

    #[test]
    fn every_output_of_the_contract_is_told_between_fences() {
        let files = Files { evidence: Path::new("/w/loopgate-evidence/evidence.json"), report: Path::new("/w/r.md") };
        let text = fenced(&outputs(Some(files)).values(Some("loopgate-evidence-test-e3b0c442-1".into())), "F");
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
        assert!(!fenced(&outputs(None).values(None), "F").contains("path"), "a reconcile leaves no file");
    }

    #[test]
    fn artifacts_of_two_legs_or_attempts_never_share_a_name() {
        let run = |job: &str, matrix: Option<&str>, run_attempt| ActionsRun {
            origin: WorkflowOrigin {
                path: ".github/workflows/ci.yml".into(),
                run_id: WorkflowRunId::new(1),
                run_attempt,
                job: job.into(),
                matrix: matrix.map(str::to_owned),
                leg: None,
            },
            repository: "acme/widgets".parse().unwrap(),
            head: None,
            pull_request: None,
            words: None,
        };
        let name = |job, matrix, attempt| artifact_name(&run(job, matrix, attempt));
        assert_eq!(name("test", None, 1), "loopgate-evidence-test-e3b0c442-1");
        assert_ne!(name("test", Some(r#"{"os":"linux"}"#), 1), name("test", Some(r#"{"os":"macos"}"#), 1));
        assert_ne!(name("test", None, 1), name("test", None, 2));
        assert_eq!(name("te st/..\n", None, 1), "loopgate-evidence-te-st-..--e3b0c442-1");
    }
}
