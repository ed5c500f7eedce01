//! `loopgate doctor`: what keeps Loopgate from working, and what to do about it.

use clap::Args;

use super::{
    CommandResult, exit, online,
    output::{self, Format},
    runtime,
};
use crate::{
    github::doctor::{Arrives, Examination, Expected, Line, Outcome, examine},
    render::{Diagnosis, defused},
};
use loopgate_core::RepoName;

#[derive(Debug, Args)]
#[command(after_help = format!("\
Asks GitHub as the App. Nothing is written; GitHub is asked to deliver the newest webhook once more, which changes
nothing where it had arrived.

Exit codes: 0 nothing is wrong (there may be warnings), 65 something is.

{}
LOOPGATE_PUBLIC_URL, LOOPGATE_WEBHOOK_PROXY or LOOPGATE_POLL say how webhooks are meant to arrive.

Examples:
  loopgate doctor
  loopgate doctor acme/widgets
  loopgate doctor acme/widgets --format json", online::ENVIRONMENT))]
pub struct Arguments {
    /// A repository to examine too
    #[arg(value_name = "OWNER/REPO")]
    repository: Option<RepoName>,
}

pub fn run(arguments: &Arguments, format: Format) -> CommandResult {
    let examination = runtime()?.block_on(async {
        let github = online::as_app()?;
        Ok(examine(&github, &expected(), arguments.repository.as_ref()).await)
    })?;
    match format {
        Format::Json => output::json(&Diagnosis::new(Some(chrono::Utc::now()), &examination.lines))?,
        Format::Human => show(&examination),
    }
    Ok(if examination.found_a_fault() { exit::BAD_DATA } else { exit::OK })
}

/// How webhooks are meant to come, as the environment or the stored App says.
fn expected() -> Expected {
    let url = |name: &str| online::variable(name).and_then(|text| text.trim().parse().ok());
    let polls = online::variable("LOOPGATE_POLL").is_some_and(|word| word.trim() == "on");
    let arrives = if polls { Arrives::ReadFromLog } else { Arrives::Answered };
    Expected::new(url("LOOPGATE_PUBLIC_URL"), url("LOOPGATE_WEBHOOK_PROXY"), arrives)
}

fn show(examination: &Examination) {
    for Line { check, outcome, message, remedy, link } in &examination.lines {
        let mark = match outcome {
            Outcome::Healthy => "✓",
            Outcome::Unknown => "?",
            Outcome::Warning => "!",
            Outcome::Fault => "✗",
        };
        output::line(defused(&format!("{mark} {check}: {message}")));
        for (word, text) in [("do", remedy), ("at", link)] {
            if let Some(text) = text {
                output::line(defused(&format!("    {word}: {text}")));
            }
        }
    }
}
