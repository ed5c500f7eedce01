//! The analyzer command: a program that is asked what it makes of the failures.
//!
//! It reads one JSON document and prints one, as all it prints or as its last line. What it says is checked, bounded
//! and kept with the failure as advice: blame, retries and gates are decided without it, so one that is wrong, slow or
//! hostile costs good advice and a minute, nothing else.

use std::{collections::BTreeMap, path::Path, time::Duration};

use serde::Deserialize;
use serde_json::{Value, json};

use super::command::{self, CommandLine, Interrupt};
use loopgate_core::{
    evidence::{Analysis, CheckEvidence, Failure},
    failure::{Changes, analyse_all},
};

const TIMEOUT: Duration = Duration::from_secs(60);
/// Failures it is asked about; the rest keep the rules' own analysis.
const MOST_ASKED: usize = 50;

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
    let failures = question(checks, changes);
    if failures.is_empty() {
        return Ok(0);
    }
    let line = CommandLine {
        input: json!({ "schema": "loopgate.analyzer/v1", "failures": failures }).to_string().into_bytes(),
        ..CommandLine::new(command, root, TIMEOUT)
    };
    let finished = command::run(line, interrupt, |_| (), |_| {}).await;
    if let Some(why) = finished.ending.problem("it", TIMEOUT) {
        return Err(why);
    }
    // Of a longer output the middle is missing, which is no answer.
    let analyses = answer(&format!("{}{}", finished.output.head, finished.output.tail))?;
    let failing = checks.iter_mut().filter(|check| check.outcome.is_failure());
    let mut asked: Vec<&mut Failure> = failing.flat_map(|check| &mut check.failures).take(MOST_ASKED).collect();
    let kept = analyses.len();
    for (id, analysis) in analyses {
        let unknown = || format!("it speaks of a failure {id}, of which it was not asked");
        asked.get_mut(id).ok_or_else(unknown)?.analysis = Some(analysis);
    }
    Ok(kept)
}

/// The failures it is asked about, each with what the rules made of it.
fn question(checks: &[CheckEvidence], changes: &Changes) -> Vec<Value> {
    let failing = checks.iter().filter(|check| check.outcome.is_failure());
    let all = failing.flat_map(|check| {
        let analysed = check.failures.iter().zip(analyse_all(&check.failures, changes));
        analysed.map(|(failure, analysis)| json!({ "check": check.name, "failure": failure, "analysis": analysis }))
    });
    let numbered = |(id, mut asked): (usize, Value)| {
        asked["id"] = id.into();
        asked
    };
    all.take(MOST_ASKED).enumerate().map(numbered).collect()
}

fn answer(text: &str) -> Result<BTreeMap<usize, Analysis>, String> {
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let read =
        serde_json::from_str::<AnalyzerResponse>(text).or_else(|_| serde_json::from_str::<AnalyzerResponse>(last));
    let answer = read.map_err(|error| format!("its answer is not what was agreed on: {error}"))?;
    let named = |explained: ExplainedFailure| (explained.id, explained.analysis.bounded());
    Ok(answer.analyses.into_iter().take(MOST_ASKED).map(named).collect())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use loopgate_core::evidence::{CheckKind, Outcome};

    async fn asked(command: &str) -> (Result<usize, String>, CheckEvidence) {
        let folder = tempfile::tempdir().unwrap();
        let mut check = CheckEvidence::bare("unit".parse().unwrap(), CheckKind::Test, Outcome::Failed);
        let message = "expected 4, got 5".to_owned();
        check.failures = vec![Failure { error_message: message, ..Failure::default() }; 2];
        let interrupt = Interrupt::new();
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
