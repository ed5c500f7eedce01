//! Fixers of kind `command`: a program that gets what fails and edits the working tree.
//!
//! It gets the feedback as JSON on its standard input and as a file, and the repository as its working directory. It
//! may answer with a JSON object, in the file it is given for it or as the last line it prints. What it does to the
//! tree is judged by [`core::reflex`](loopgate_core::reflex) before any of it is committed.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::Deserialize;
use serde_json::Value;

use super::command::{self, CommandLine, Ending, Interrupt};
use loopgate_core::{FailureId, policy::CommandFixer, state::DisputeKind};

/// One call of a fixer.
#[derive(Clone, Debug)]
pub struct FixerCall<'a> {
    pub fixer: &'a CommandFixer,
    /// The top of the working tree.
    pub root: &'a Path,
    /// Where the feedback is written and the answer expected; no part of the working tree.
    pub scratch: PathBuf,
    /// The feedback document.
    pub feedback: String,
    pub attempt: u32,
    pub max_attempts: u32,
    /// What is left of the budget's wall time.
    pub time_left: Option<Duration>,
}

/// The result of a call.
#[derive(Debug)]
pub struct FixerOutcome {
    pub end: FixerEnd,
    pub wall: Duration,
    /// The end of what it printed, for the report.
    pub log_tail: String,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq)]
pub enum FixerEnd {
    /// It says it is done.
    Done(FixerReport),
    /// It was ended at its own time limit.
    TimedOut,
    /// It was ended because the budget's wall time was used up.
    OutOfTime,
    Interrupted,
    /// It failed, or its answer is not what was agreed on; why.
    Broke(String),
}

/// What a fixer may say about its work. Everything is optional, and unknown fields are its own business.
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
/// Characters of output kept for the report.
const TAIL: usize = 2_000;

/// Calls a fixer and waits for its end. Nothing of its process group is left running.
pub async fn call(
    call: FixerCall<'_>,
    interrupt: Interrupt,
    live: impl FnMut(&[u8]) + Send + 'static,
) -> std::io::Result<FixerOutcome> {
    fs::create_dir_all(&call.scratch)?;
    let (feedback, answer) = (call.scratch.join("feedback.json"), call.scratch.join("answer.json"));
    fs::write(&feedback, &call.feedback)?;
    match fs::remove_file(&answer) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let own = call.fixer.timeout.to_std().unwrap_or(Duration::from_secs(1800));
    let timeout = call.time_left.map_or(own, |left| left.min(own));
    let mut environment: BTreeMap<String, String> = [
        ("LOOPGATE_FEEDBACK", feedback.display().to_string()),
        ("LOOPGATE_ANSWER", answer.display().to_string()),
        ("LOOPGATE_ATTEMPT", call.attempt.to_string()),
        ("LOOPGATE_MAX_ATTEMPTS", call.max_attempts.to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    environment.extend(call.fixer.environment.clone());
    let line = CommandLine {
        environment,
        input: call.feedback.into_bytes(),
        ..CommandLine::new(call.fixer.run.clone(), call.root, timeout)
    };
    let finished = command::run(line, interrupt, |_| (), live).await;
    let output = format!("{}{}", finished.output.head, finished.output.tail);
    let end = match finished.ending {
        Ending::TimedOut if timeout < own => FixerEnd::OutOfTime,
        Ending::TimedOut => FixerEnd::TimedOut,
        Ending::Interrupted => FixerEnd::Interrupted,
        ending => match ending.problem("the fixer", timeout) {
            Some(why) => FixerEnd::Broke(why),
            None => answer_of(&answer, &output).map_or_else(FixerEnd::Broke, FixerEnd::Done),
        },
    };
    let from = output.char_indices().rev().nth(TAIL).map_or(0, |(at, _)| at);
    Ok(FixerOutcome { end, wall: finished.wall, log_tail: output[from..].to_owned() })
}

/// What the fixer answered, in the file or as the last line it printed.
fn answer_of(file: &Path, output: &str) -> Result<FixerReport, String> {
    let written = match fs::metadata(file) {
        Ok(found) if found.len() > ANSWER_LIMIT => return Err("the fixer's answer is larger than 1 MiB".to_owned()),
        Ok(_) => fs::read_to_string(file).map_err(|error| format!("the fixer's answer cannot be read: {error}"))?,
        Err(_) => {
            // Anything else it prints is a log, not an answer.
            let last = output.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
            if !(last.starts_with('{') && last.ends_with('}')) {
                return Ok(FixerReport::default());
            }
            last.to_owned()
        }
    };
    let wrong = |error: serde_json::Error| format!("the fixer's answer is not what was agreed on: {error}");
    let answer: Value = serde_json::from_str(&written).map_err(wrong)?;
    let disputes = answer["outcome"] == "dispute";
    let dispute = disputes.then(|| FixerDispute::deserialize(&answer)).transpose().map_err(wrong)?;
    let report = FixerReport { dispute, ..FixerReport::deserialize(&answer).map_err(wrong)? };
    match report.cost_usd {
        Some(cost) if !cost.is_finite() || cost < 0.0 => {
            Err(format!("the fixer reports a cost of {cost} USD, which cannot be"))
        }
        _ => Ok(report),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use loopgate_core::policy::CommitAuthor;

    async fn called(run: &str, time_left: Option<Duration>) -> (FixerOutcome, tempfile::TempDir) {
        called_within(TimeDelta::minutes(1), run, time_left).await
    }

    async fn called_within(
        timeout: TimeDelta,
        run: &str,
        time_left: Option<Duration>,
    ) -> (FixerOutcome, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let fixer = CommandFixer {
            run: run.to_owned(),
            environment: BTreeMap::from([("OWN".to_owned(), "mine".to_owned())]),
            timeout,
            author: CommitAuthor::default(),
        };
        let interrupt = Interrupt::new();
        let outcome = call(
            FixerCall {
                fixer: &fixer,
                root: folder.path(),
                scratch: folder.path().join("scratch"),
                feedback: r#"{"attempt":2}"#.to_owned(),
                attempt: 2,
                max_attempts: 4,
                time_left,
            },
            interrupt,
            |_| {},
        )
        .await
        .unwrap();
        (outcome, folder)
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
        assert_eq!((read("stdin.json").as_str(), read("file.json").as_str()), (r#"{"attempt":2}"#, r#"{"attempt":2}"#));
        let described = Some("count from 1".to_owned());
        let report = FixerReport { description: described, cost_usd: Some(0.25), ..FixerReport::default() };
        assert_eq!(outcome.end, FixerEnd::Done(report.clone()));
        let (outcome, _) =
            called("echo '{\"summary\": \"count from 1\", \"cost_usd\": 0.25}' > $LOOPGATE_ANSWER", None).await;
        assert_eq!(outcome.end, FixerEnd::Done(report));
    }

    #[tokio::test]
    async fn what_it_prints_is_a_log_unless_it_is_an_answer() {
        assert_eq!(called("echo done", None).await.0.end, FixerEnd::Done(FixerReport::default()));
        for (run, why) in [
            ("exit 3", "the fixer ended with exit code 3"),
            ("echo '{\"cost_usd\": -1}'", "the fixer reports a cost of -1 USD, which cannot be"),
        ] {
            assert_eq!(called(run, None).await.0.end, FixerEnd::Broke(why.to_owned()), "{run}");
        }
        let broken = called("echo '{\"cost_usd\": \"much\"}'", None).await.0.end;
        assert!(matches!(&broken, FixerEnd::Broke(why) if why.contains("not what was agreed on")), "{broken:?}");
    }

    #[tokio::test]
    async fn it_may_say_that_a_failure_is_not_its_to_mend() {
        let said = r#"{"outcome": "dispute", "failure": "3fa9c01b", "kind": "not_mine", "reason": "main fails too"}"#;
        let dispute = FixerDispute {
            failure: "3fa9c01b".parse().unwrap(),
            kind: DisputeKind::NotMine,
            reason: "main fails too".to_owned(),
        };
        let end = called(&format!("echo '{said}'"), None).await.0.end;
        assert_eq!(end, FixerEnd::Done(FixerReport { dispute: Some(dispute), ..FixerReport::default() }));
        for wrong in [r#"{"outcome": "dispute"}"#, r#"{"outcome": "dispute", "failure": "unit", "reason": "no"}"#] {
            let end = called(&format!("echo '{wrong}'"), None).await.0.end;
            assert!(matches!(&end, FixerEnd::Broke(why) if why.contains("not what was agreed on")), "{end:?}");
        }
        // What else a fixer calls an outcome, or a failure, is its own business.
        let end = called(r#"echo '{"outcome": "mended", "failure": 3}'"#, None).await.0.end;
        assert_eq!(end, FixerEnd::Done(FixerReport::default()));
    }

    #[tokio::test]
    async fn it_is_ended_at_its_time_or_the_budgets() {
        let short = TimeDelta::milliseconds(50);
        assert_eq!(called_within(short, "sleep 60", None).await.0.end, FixerEnd::TimedOut);
        let short = Some(Duration::from_millis(50));
        assert_eq!(called("sleep 60", short).await.0.end, FixerEnd::OutOfTime);
    }
}
