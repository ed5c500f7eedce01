//! The analyzer command: a program that is asked what it makes of the failures.
//!
//! It reads one JSON document and prints one, as all it prints or as its last line. What it says is checked, bounded
//! and kept with the failure as advice: blame, retries and gates are decided without it, so one that is wrong, slow or
//! hostile costs good advice and a minute, nothing else.

use std::{collections::BTreeMap, io::Read as _, path::Path, time::Duration};

use serde::{Deserialize, Serialize};

use super::{
    command::{self, CommandLine},
    interrupt::Interrupt,
};
use loopgate_core::{
    CheckName,
    evidence::{Analysis, CheckEvidence, Failure},
    failure::{Changes, analyse_all},
};

const TIMEOUT: Duration = Duration::from_secs(60);
/// Failures it is asked about; the rest keep the rules' own analysis.
const MOST_ASKED: usize = 50;
/// Bytes of its answer that are read.
const ANSWER_LIMIT: u64 = 1 << 20;

#[derive(Serialize)]
struct AnalyzerRequest<'a> {
    schema: &'static str,
    failures: Vec<AskedFailure<'a>>,
}

#[derive(Serialize)]
struct AskedFailure<'a> {
    id: usize,
    check: &'a CheckName,
    failure: &'a Failure,
    /// What the rules made of it.
    analysis: Analysis,
}

#[derive(Deserialize)]
struct AnalyzerResponse {
    analyses: Vec<ExplainedFailure>,
}

#[derive(Deserialize)]
struct ExplainedFailure {
    id: usize,
    #[serde(flatten)]
    analysis: Analysis,
}

/// Asks the command about the failures of failing checks, and keeps its answers with them. Gives back how many.
///
/// # Errors
/// In words, when it gave no answer that could be used. The failures are as they were.
pub async fn ask(
    command: &str,
    root: &Path,
    checks: &mut [CheckEvidence],
    changes: &Changes,
    interrupt: Interrupt,
) -> Result<usize, String> {
    let question = question(checks, changes);
    if question.failures.is_empty() {
        return Ok(0);
    }
    let line = CommandLine {
        input: serde_json::to_vec(&question).map_err(|error| error.to_string())?,
        ..CommandLine::new(command, root, TIMEOUT)
    };
    let read = |output: command::OutputReader| {
        let mut text = Vec::new();
        let mut output = output.take(ANSWER_LIMIT);
        // Output that cannot be read is no answer, which is an error below.
        let _ = output.read_to_end(&mut text);
        let _ = std::io::copy(&mut output.into_inner(), &mut std::io::sink());
        text
    };
    let finished = command::run(line, interrupt, read, |_| {}).await;
    if let Some(why) = finished.ending.problem("it", TIMEOUT) {
        return Err(why);
    }
    let analyses = answer(&finished.read.unwrap_or_default())?;
    let failing = checks.iter_mut().filter(|check| check.outcome.is_failure());
    let mut asked: Vec<&mut Failure> = failing.flat_map(|check| &mut check.failures).take(MOST_ASKED).collect();
    let kept = analyses.len();
    for (id, analysis) in analyses {
        let unknown = || format!("it speaks of a failure {id}, of which it was not asked");
        asked.get_mut(id).ok_or_else(unknown)?.analysis = Some(analysis);
    }
    Ok(kept)
}

fn question<'a>(checks: &'a [CheckEvidence], changes: &Changes) -> AnalyzerRequest<'a> {
    let failing = checks.iter().filter(|check| check.outcome.is_failure());
    let all = failing.flat_map(|check| {
        let analysed = check.failures.iter().zip(analyse_all(&check.failures, changes));
        analysed.map(|(failure, analysis)| (&check.name, failure, analysis))
    });
    let asked = all.take(MOST_ASKED).enumerate();
    let asked = asked.map(|(id, (check, failure, analysis))| AskedFailure { id, check, failure, analysis });
    AnalyzerRequest { schema: "loopgate.analyzer/v1", failures: asked.collect() }
}

fn answer(output: &[u8]) -> Result<BTreeMap<usize, Analysis>, String> {
    let text = String::from_utf8_lossy(output);
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let read =
        serde_json::from_str::<AnalyzerResponse>(&text).or_else(|_| serde_json::from_str::<AnalyzerResponse>(last));
    let answer = read.map_err(|error| format!("its answer is not what was agreed on: {error}"))?;
    let named = |explained: ExplainedFailure| (explained.id, explained.analysis.bounded());
    Ok(answer.analyses.into_iter().take(MOST_ASKED).map(named).collect())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::runner::Interrupter;
    use loopgate_core::evidence::{CheckKind, Outcome};

    async fn asked(command: &str) -> (Result<usize, String>, CheckEvidence) {
        let folder = tempfile::tempdir().unwrap();
        let mut check = CheckEvidence::bare("unit".parse().unwrap(), CheckKind::Test, Outcome::Failed);
        let message = "expected 4, got 5".to_owned();
        check.failures = vec![Failure { error_message: message, ..Failure::default() }; 2];
        let (_keep, interrupt) = Interrupter::new();
        let mut checks = [check];
        let result = ask(command, folder.path(), &mut checks, &Changes::default(), interrupt).await;
        let [check] = checks;
        (result, check)
    }

    const TOLD: &str = r#"{"analyses":[{"id":1,"root_cause":"The sum is counted twice.","category":"logic_error","fix_strategy":"Add each price once.","confidence":0.9}]}"#;

    #[tokio::test]
    async fn what_it_says_is_kept_with_the_failure_it_is_about() {
        let (result, check) = asked(&format!("grep -q 'loopgate.analyzer/v1' && echo thinking && echo '{TOLD}'")).await;
        assert_eq!(result, Ok(1));
        let told: Vec<_> = check.failures.iter().map(|failure| failure.analysis.as_ref()).collect();
        assert!(told[0].is_none());
        assert_eq!(told[1].unwrap().fix_strategy, "Add each price once.");
    }

    #[tokio::test]
    async fn an_answer_that_cannot_be_used_changes_nothing() {
        for (command, why) in [
            ("exit 3".to_owned(), "it ended with exit code 3"),
            ("echo hello".to_owned(), "its answer is not what was agreed on"),
            (format!("echo '{}'", TOLD.replace("\"id\":1", "\"id\":7")), "it speaks of a failure 7"),
            (format!("echo '{}'", TOLD.replace("0.9", "9")), "its answer is not what was agreed on"),
            ("yes | head -c 3000000".to_owned(), "its answer is not what was agreed on"),
        ] {
            let (result, check) = asked(&command).await;
            assert!(result.as_ref().is_err_and(|told| told.starts_with(why)), "{command}: {result:?}");
            assert!(check.failures.iter().all(|failure| failure.analysis.is_none()), "{command}");
        }
    }
}
