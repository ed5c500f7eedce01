//! Fixers of kind `command`: a program that gets what fails and edits the working tree.
//!
//! It gets the feedback as JSON on its standard input and as a file, and the repository as its working directory. It
//! may answer with a JSON object, in the file it is given for it or as the last line it prints. What it does to the
//! tree is judged by [`core::reflex`](loopgate_core::reflex) before any of it is committed.
//!
//! The analyzer command is a program that is asked what it makes of the failures. It reads one JSON document and prints
//! one, as all it prints or as its last line. Its answer is checked, bounded and kept with the failure as advice:
//! blame, retries and gates are decided without it, so one that is wrong, slow or hostile costs good advice and a
//! minute, nothing else.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use serde::Deserialize;
use serde_json::{Value, json};

use super::command::{self, CommandLine, Ending, Interrupt};
use loopgate_core::{
    FailureId,
    evidence::{Analysis, CheckEvidence, Failure},
    failure::{Changes, analyse_all},
    state::DisputeKind,
};

/// How a call ended.
#[derive(Clone, Debug, PartialEq)]
pub enum FixerEnd {
    /// It has done its work, and reports so.
    Done(FixerReport),
    /// It was ended at its own time limit.
    TimedOut,
    /// It was ended because the budget's wall time was used up.
    OutOfTime,
    Interrupted,
    /// It failed, or its answer is not what was agreed on: why, and the last line that it printed.
    Broke(String),
}

/// What a fixer may report of its work. Everything is optional, and unknown fields are its own business.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct FixerReport {
    /// What it did, in one line.
    #[serde(default, alias = "summary")]
    pub description: Option<String>,
    /// What it thinks was wrong.
    pub cause: Option<String>,
    /// What the call cost, in US dollars.
    pub cost_usd: Option<f64>,
    /// That a failure is not its to mend: `{"outcome": "dispute", "failure": "3fa9c01b", "reason": "…"}`.
    #[serde(skip)]
    pub dispute: Option<FixerDispute>,
}

/// A failure that a fixer disputes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct FixerDispute {
    pub failure: FailureId,
    #[serde(default)]
    pub kind: DisputeKind,
    pub reason: String,
}

/// Bytes of an answer that are read.
const ANSWER_LIMIT: u64 = 1 << 20;

/// Calls a fixer, whose line has the feedback as its input, and waits for its end: how it ended, and after how long.
/// Nothing of its process group is left running. `scratch` is where the feedback is written and the answer expected, no
/// part of the working tree; `time_left` is what is left of the budget's wall time.
pub async fn call(
    mut line: CommandLine,
    scratch: &Path,
    time_left: Option<Duration>,
    interrupt: Interrupt,
    live: impl FnMut(&[u8]) + Send + 'static,
) -> std::io::Result<(FixerEnd, Duration)> {
    fs::create_dir_all(scratch)?;
    let (feedback, answer) = (scratch.join("feedback.json"), scratch.join("answer.json"));
    fs::write(&feedback, &line.input)?;
    match fs::remove_file(&answer) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    line.environment.insert(
        "LOOPGATE_FEEDBACK".to_owned(),
        feedback.display().to_string(),
    );
    line.environment
        .insert("LOOPGATE_ANSWER".to_owned(), answer.display().to_string());
    let own = line.timeout;
    line.timeout = time_left.map_or(own, |left| left.min(own));
    let timeout = line.timeout;
    let finished = command::run(line, interrupt, |_| (), live).await;
    let output = format!("{}{}", finished.output.head, finished.output.tail);
    let end = match finished.ending {
        Ending::TimedOut if timeout < own => FixerEnd::OutOfTime,
        Ending::TimedOut => FixerEnd::TimedOut,
        Ending::Interrupted => FixerEnd::Interrupted,
        ending => {
            let problem = ending.problem("the fixer", timeout);
            let report = problem.map_or_else(|| answer_of(&answer, &output), Err);
            let printed: String = last_line(&output)
                .chars()
                .filter(|c| !c.is_control())
                .take(200)
                .collect();
            let broke = |why| {
                if printed.is_empty() {
                    why
                } else {
                    format!("{why}; it printed “{printed}”")
                }
            };
            report.map_or_else(|why| FixerEnd::Broke(broke(why)), FixerEnd::Done)
        }
    };
    Ok((end, finished.wall))
}

/// The last line that is not blank.
fn last_line(text: &str) -> &str {
    text.lines()
        .rev()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default()
}

/// What the fixer answered, in the file or as the last line it printed.
fn answer_of(file: &Path, output: &str) -> Result<FixerReport, String> {
    let written = match fs::metadata(file) {
        Ok(found) if found.len() > ANSWER_LIMIT => {
            return Err("the fixer's answer is larger than 1 MiB".to_owned());
        }
        Ok(_) => fs::read_to_string(file)
            .map_err(|error| format!("the fixer's answer cannot be read: {error}"))?,
        Err(_) => {
            // Anything else it prints is a log, not an answer.
            let last = last_line(output).trim();
            if !(last.starts_with('{') && last.ends_with('}')) {
                return Ok(FixerReport::default());
            }
            last.to_owned()
        }
    };
    let wrong =
        |error: serde_json::Error| format!("the fixer's answer is not what was agreed on: {error}");
    let answer: Value = serde_json::from_str(&written).map_err(wrong)?;
    let disputes = answer["outcome"] == "dispute";
    let dispute = disputes
        .then(|| FixerDispute::deserialize(&answer))
        .transpose()
        .map_err(wrong)?;
    let report = FixerReport {
        dispute,
        ..FixerReport::deserialize(&answer).map_err(wrong)?
    };
    match report.cost_usd {
        Some(cost) if !cost.is_finite() || cost < 0.0 => Err(format!(
            "the fixer reports a cost of {cost} USD, which cannot be"
        )),
        _ => Ok(report),
    }
}

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
        input: json!({ "schema": "loopgate.analyzer/v1", "failures": failures })
            .to_string()
            .into_bytes(),
        ..CommandLine::new(command, root, TIMEOUT)
    };
    let finished = command::run(line, interrupt, |_| (), |_| {}).await;
    if let Some(why) = finished.ending.problem("it", TIMEOUT) {
        return Err(why);
    }
    // Of a longer output the middle is missing, which is no answer.
    let output = format!("{}{}", finished.output.head, finished.output.tail);
    let read = serde_json::from_str(&output).or_else(|_| serde_json::from_str(last_line(&output)));
    let AnalyzerResponse { analyses } =
        read.map_err(|error| format!("its answer is not what was agreed on: {error}"))?;
    let analyses: BTreeMap<usize, Analysis> = analyses
        .into_iter()
        .take(MOST_ASKED)
        .map(|explained| (explained.id, explained.analysis.bounded()))
        .collect();
    let failing = checks.iter_mut().filter(|check| check.outcome.is_failure());
    let mut asked: Vec<&mut Failure> = failing
        .flat_map(|check| &mut check.failures)
        .take(MOST_ASKED)
        .collect();
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    async fn called(run: &str, time_left: Option<Duration>) -> (FixerEnd, tempfile::TempDir) {
        called_within(Duration::from_secs(60), run, time_left).await
    }

    async fn called_within(
        timeout: Duration,
        run: &str,
        time_left: Option<Duration>,
    ) -> (FixerEnd, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let line = CommandLine::new(run, folder.path(), timeout);
        let line = CommandLine {
            input: br#"{"attempt":2}"#.to_vec(),
            ..line
        };
        let (end, _) = call(
            line,
            &folder.path().join("scratch"),
            time_left,
            Interrupt::new(),
            |_| {},
        )
        .await
        .unwrap();
        (end, folder)
    }

    #[tokio::test]
    async fn it_is_told_on_both_ways_and_may_answer_on_both() {
        let (outcome, folder) = called(
            "cat > stdin.json; cp \"$LOOPGATE_FEEDBACK\" file.json; echo working; \
             echo '{\"description\": \"count from 1\", \"cost_usd\": 0.25}'",
            None,
        )
        .await;
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(
            (read("stdin.json").as_str(), read("file.json").as_str()),
            (r#"{"attempt":2}"#, r#"{"attempt":2}"#)
        );
        let described = Some("count from 1".to_owned());
        let report = FixerReport {
            description: described,
            cost_usd: Some(0.25),
            ..FixerReport::default()
        };
        assert_eq!(outcome, FixerEnd::Done(report.clone()));
        let (outcome, _) = called(
            "echo '{\"summary\": \"count from 1\", \"cost_usd\": 0.25}' > $LOOPGATE_ANSWER",
            None,
        )
        .await;
        assert_eq!(outcome, FixerEnd::Done(report));
    }

    #[tokio::test]
    async fn what_it_prints_is_a_log_unless_it_is_an_answer() {
        assert_eq!(
            called("echo done", None).await.0,
            FixerEnd::Done(FixerReport::default())
        );
        for (run, why) in [
            ("exit 3", "the fixer ended with exit code 3"),
            (
                "echo oh; exit 3",
                "the fixer ended with exit code 3; it printed “oh”",
            ),
            (
                "echo '{\"cost_usd\": -1}'",
                "the fixer reports a cost of -1 USD, which cannot be; it printed “{\"cost_usd\": -1}”",
            ),
        ] {
            assert_eq!(
                called(run, None).await.0,
                FixerEnd::Broke(why.to_owned()),
                "{run}"
            );
        }
        let broken = called("echo '{\"cost_usd\": \"much\"}'", None).await.0;
        assert!(
            matches!(&broken, FixerEnd::Broke(why) if why.contains("not what was agreed on")),
            "{broken:?}"
        );
    }

    #[tokio::test]
    async fn it_may_say_that_a_failure_is_not_its_to_mend() {
        let said = r#"{"outcome": "dispute", "failure": "3fa9c01b", "kind": "not_mine", "reason": "main fails too"}"#;
        let dispute = FixerDispute {
            failure: "3fa9c01b".parse().unwrap(),
            kind: DisputeKind::NotMine,
            reason: "main fails too".to_owned(),
        };
        let end = called(&format!("echo '{said}'"), None).await.0;
        assert_eq!(
            end,
            FixerEnd::Done(FixerReport {
                dispute: Some(dispute),
                ..FixerReport::default()
            })
        );
        for wrong in [
            r#"{"outcome": "dispute"}"#,
            r#"{"outcome": "dispute", "failure": "unit", "reason": "no"}"#,
        ] {
            let end = called(&format!("echo '{wrong}'"), None).await.0;
            assert!(
                matches!(&end, FixerEnd::Broke(why) if why.contains("not what was agreed on")),
                "{end:?}"
            );
        }
        // What else a fixer calls an outcome, or a failure, is its own business.
        let end = called(r#"echo '{"outcome": "mended", "failure": 3}'"#, None)
            .await
            .0;
        assert_eq!(end, FixerEnd::Done(FixerReport::default()));
    }

    #[tokio::test]
    async fn it_is_ended_at_its_time_or_the_budgets() {
        let short = Duration::from_millis(50);
        assert_eq!(
            called_within(short, "sleep 60", None).await.0,
            FixerEnd::TimedOut
        );
        let short = Some(Duration::from_millis(50));
        assert_eq!(called("sleep 60", short).await.0, FixerEnd::OutOfTime);
    }
}

#[cfg(all(test, unix))]
mod analyzer_tests {
    use super::*;
    use loopgate_core::evidence::{CheckKind, Outcome};

    async fn asked(command: &str) -> (Result<usize, String>, CheckEvidence) {
        let folder = tempfile::tempdir().unwrap();
        let mut check =
            CheckEvidence::bare("unit".parse().unwrap(), CheckKind::Test, Outcome::Failed);
        let message = "expected 4, got 5".to_owned();
        check.failures = vec![
            Failure {
                error_message: message,
                ..Failure::default()
            };
            2
        ];
        let interrupt = Interrupt::new();
        let mut checks = [check];
        let result = ask(
            command,
            folder.path(),
            &mut checks,
            &Changes::default(),
            interrupt,
        )
        .await;
        let [check] = checks;
        (result, check)
    }

    const TOLD: &str = r#"{"analyses":[{"id":1,"root_cause":"The sum is counted twice.","category":"logic_error","fix_strategy":"Add each price once.","confidence":0.9}]}"#;

    #[tokio::test]
    async fn what_it_says_is_kept_with_the_failure_it_is_about() {
        let (result, check) = asked(&format!(
            "grep -q 'loopgate.analyzer/v1' && echo thinking && echo '{TOLD}'"
        ))
        .await;
        assert_eq!(result, Ok(1));
        let told: Vec<_> = check
            .failures
            .iter()
            .map(|failure| failure.analysis.as_ref())
            .collect();
        assert!(told[0].is_none());
        assert_eq!(told[1].unwrap().fix_strategy, "Add each price once.");
    }

    #[tokio::test]
    async fn an_answer_that_cannot_be_used_changes_nothing() {
        for (command, why) in [
            ("exit 3".to_owned(), "it ended with exit code 3"),
            (
                "echo hello".to_owned(),
                "its answer is not what was agreed on",
            ),
            (
                format!("echo '{}'", TOLD.replace("\"id\":1", "\"id\":7")),
                "it speaks of a failure 7",
            ),
            (
                format!("echo '{}'", TOLD.replace("0.9", "9")),
                "its answer is not what was agreed on",
            ),
            (
                "yes | head -c 3000000".to_owned(),
                "its answer is not what was agreed on",
            ),
        ] {
            let (result, check) = asked(&command).await;
            assert!(
                result.as_ref().is_err_and(|told| told.starts_with(why)),
                "{command}: {result:?}"
            );
            assert!(
                check
                    .failures
                    .iter()
                    .all(|failure| failure.analysis.is_none()),
                "{command}"
            );
        }
    }
}
