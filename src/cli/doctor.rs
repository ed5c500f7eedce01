//! `loopgate doctor`: what keeps Loopgate from working, and what to do about it.

use super::{CommandResult, exit, online, output};
use crate::{
    github::doctor::{Arrival, Expected, Line, Outcome, examine},
    render::{Diagnosis, defused},
};
use loopgate_core::RepoName;

pub async fn run(repository: Option<&RepoName>) -> CommandResult {
    let lines = examine(&online::as_app()?, &expected(), repository).await;
    let diagnosis = Diagnosis::new(Some(chrono::Utc::now()), &lines);
    output::show(&diagnosis, || words(&lines))?;
    Ok(if diagnosis.healthy { exit::OK } else { exit::BAD_DATA })
}

/// How webhooks are meant to come, as the environment or the stored App says.
fn expected() -> Expected {
    let url = |name: &str| online::variable(name).and_then(|text| text.trim().parse().ok());
    let polls = online::variable("LOOPGATE_POLL").is_some_and(|word| word.trim() == "on");
    let arrival = Arrival::of(url("LOOPGATE_PUBLIC_URL"), url("LOOPGATE_WEBHOOK_PROXY"), polls);
    Expected { arrival, signer: online::signer() }
}

fn words(lines: &[Line]) -> String {
    let mut words = Vec::new();
    for Line { check, outcome, message, remedy, link } in lines {
        let mark = match outcome {
            Outcome::Healthy => "✓",
            Outcome::Unknown => "?",
            Outcome::Warning => "!",
            Outcome::Fault => "✗",
        };
        words.push(format!("{mark} {check}: {message}"));
        words.extend(remedy.iter().map(|text| format!("    do: {text}")));
        words.extend(link.iter().map(|text| format!("    at: {text}")));
    }
    words.iter().map(|line| defused(line) + "\n").collect()
}
