//! `loopgate feedback`: what stands between a pull request, or the working tree here, and ready.

use std::path::{Path, PathBuf};

use chrono::TimeDelta;
use clap::Args;

use super::{
    CliError, CommandResult, exit,
    online::{self, Online, PullRequest},
    output::{self, Format},
    working_tree,
};
use crate::github::{Error, SystemClock, WaitEnd};
use loopgate_core::Sha;
use loopgate_render::{self as render, Currency, Feedback, ReadFrom, Reading, Until};
use loopgate_runner::Checkout;

/// What `verify` leaves beside its evidence, and this command reads.
pub(super) const FILE: &str = "feedback.json";

#[derive(Debug, Args)]
pub struct FeedbackArguments {
    /// The pull request [default: the last `loopgate verify` here]
    #[arg(value_name = "OWNER/REPO#N")]
    pull_request: Option<PullRequest>,
    /// Return once the verdict on the head is final
    #[arg(long, requires = "pull_request")]
    wait: bool,
    /// What to return at: `final`, or `first-certain`, a failure of the change's own while other checks still run
    #[arg(long, requires = "wait", default_value = "final", value_parser = until, value_name = "WHAT")]
    until: Until,
    /// How long at most, such as 90s, 30m or 1h
    #[arg(long, default_value = "30m", value_parser = time, value_name = "TIME")]
    timeout: TimeDelta,
    /// Only a verdict on another head than this one counts: the head before your push
    #[arg(long, requires = "pull_request", value_name = "HEAD")]
    since: Option<Sha>,
    /// Where `loopgate verify` left its files
    #[arg(long, default_value = working_tree::EVIDENCE, value_name = "DIRECTORY")]
    evidence: PathBuf,
}

/// What to wait for.
fn until(text: &str) -> Result<Until, String> {
    Until::of_word(text).ok_or_else(|| "write final or first-certain".to_owned())
}

/// A number and its unit: s, m or h; a day at most.
fn time(text: &str) -> Result<TimeDelta, String> {
    let time = online::time(
        text,
        &[('s', 1), ('m', 60), ('h', 3_600)],
        TimeDelta::days(1),
    );
    time.ok_or_else(|| "write a number with its unit, s, m or h, at most 24h: 30m".to_owned())
}

pub async fn run(arguments: &FeedbackArguments) -> CommandResult {
    let reading = match &arguments.pull_request {
        None => here(&std::env::current_dir()?, &arguments.evidence)?,
        Some(of) => {
            let online = Online::from_environment()?;
            if arguments.wait {
                wait(
                    &online,
                    of,
                    (arguments.since, arguments.until),
                    arguments.timeout,
                )
                .await?
            } else {
                look(&online, of, arguments.since).await?
            }
        }
    };
    if output::format() == Format::Json {
        output::document(&reading.json());
    } else {
        output::line(render::feedback_text(&reading));
    }
    let fails = !reading.is_final() && reading.reaches(arguments.until);
    Ok(if fails {
        exit::RETRY
    } else {
        exit::of(reading.decision())
    })
}

/// The feedback on a pull request by now.
pub(super) async fn look(
    online: &Online,
    of: &PullRequest,
    since: Option<Sha>,
) -> Result<Reading, CliError> {
    let seen = online.feedback_on(of.clone()).await?.look().await;
    seen.map(|seen| seen.reading(since))
        .map_err(|error| not_readable(of, error))
}

/// The feedback once what is waited for has come, or by the end of the time.
pub(super) async fn wait(
    online: &Online,
    of: &PullRequest,
    what: (Option<Sha>, Until),
    time: TimeDelta,
) -> Result<Reading, CliError> {
    let note = |words: &str| output::note_line(words);
    let feedback = online.feedback_on(of.clone()).await?;
    let waited = feedback
        .wait(what, (online.pacing(), time), &SystemClock, note)
        .await;
    match waited.map_err(|error| not_readable(of, error))? {
        WaitEnd::Ended(reading) => Ok(reading),
        WaitEnd::TimedOut(Some(reading)) => {
            output::note_line("the verdict was not final in time");
            Ok(reading)
        }
        WaitEnd::TimedOut(None) => Err(CliError::waiting(format!(
            "GitHub did not tell of {of} in time"
        ))),
    }
}

/// Why GitHub could not be asked of it.
pub(super) fn not_readable(of: &PullRequest, error: Error) -> CliError {
    match error {
        Error::NotFound { .. } => CliError::bad_data(format!(
            "there is no pull request {of}, or it is not shown to these credentials"
        )),
        error => error.into(),
    }
}

/// What the last verification around a directory came to.
pub(super) fn here(directory: &Path, evidence: &Path) -> Result<Reading, CliError> {
    let checkout = Checkout::around(directory).map_err(CliError::bad_data)?;
    let path = checkout.root.join(evidence).join(FILE);
    if !path.is_file() {
        return Err(CliError::bad_data(format!(
            "there is no {}: run `loopgate verify` first, or name a pull request",
            path.display()
        )));
    }
    let feedback = Feedback::parse(&output::read_text(&path)?).ok_or_else(|| {
        CliError::bad_data(format!("{} is no feedback of Loopgate", path.display()))
    })?;
    let is_same = match feedback.working_tree {
        Some(tree) => working_tree::tree(&checkout.git, evidence) == Some(tree),
        None => feedback.head_sha == checkout.head,
    };
    let feedback = Feedback {
        planted: working_tree::planted(&checkout.git),
        ..feedback
    };
    let currency = if is_same {
        Currency::Current
    } else {
        Currency::TreeChanged
    };
    Ok(Reading {
        feedback,
        from: ReadFrom::Verification,
        currency,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit_and_an_end() {
        assert_eq!(
            ["0s", "90s", "30m", "24h"].map(|text| time(text).unwrap().num_seconds()),
            [0, 90, 1_800, 86_400]
        );
        for wrong in ["", "30", "m", "-1m", "25h", "1d", "3é", "99999999999h"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }
}
