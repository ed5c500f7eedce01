//! `loopgate dispute`: a failure is not whoever repairs' to mend. It is handed in where a person settles it: as a comment of
//! the pull request, in the loop here, or as the line of a commit's message.

use clap::Args;
use serde::Serialize;

use super::{
    CliError, CommandResult, exit, feedback,
    online::{self, PullRequest, Reader, Rights},
    output::{self, Format},
    reflex, runtime,
};
use crate::{render, runner::FixerDispute};
use loopgate_core::{FailureId, state::DisputeKind};

#[derive(Debug, Args)]
#[command(after_help = format!("{}\nA comment is the word of whoever owns the token, so it takes a person's or an agent's own.\n\n\
    Nothing passes by it: a person settles who is right, and no attempt is counted meanwhile.\n\n\
    Examples:\n  loopgate dispute 3fa9c01b acme/widgets#12 --reason \"sums are rounded down, as agreed in #7\"\n  \
    loopgate dispute 3fa9c01b --kind not_mine --reason \"main fails, too\"", online::ENVIRONMENT))]
pub struct Arguments {
    /// The failure's id, as the feedback has it
    #[arg(value_name = "FAILURE")]
    failure: FailureId,
    /// The pull request [default: the active loop here]
    #[arg(value_name = "OWNER/REPO#N")]
    pull_request: Option<PullRequest>,
    /// test_wrong, requirement_unclear, impossible, not_mine or environment
    #[arg(long, value_parser = kind, default_value = DisputeKind::TestWrong.as_str())]
    kind: DisputeKind,
    /// Why, in one sentence
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

fn kind(word: &str) -> Result<DisputeKind, String> {
    DisputeKind::of_word(&word.replace('-', "_")).ok_or_else(|| "there is no such kind".to_owned())
}

/// Where a dispute was handed in.
#[derive(Debug, Serialize)]
#[serde(tag = "said_in", rename_all = "snake_case")]
pub(super) enum HandedIn {
    Comment {
        url: String,
    },
    /// The loop here, which waits now.
    Loop {
        alias: String,
    },
    /// Nowhere yet: this line belongs into the message of the next commit.
    Trailer {
        line: String,
    },
}

pub fn run(arguments: &Arguments, format: Format) -> CommandResult {
    let Arguments { failure, kind, reason, .. } = arguments;
    let dispute = FixerDispute { failure: *failure, kind: *kind, reason: reason.clone() };
    let handed_in = runtime()?.block_on(async {
        match &arguments.pull_request {
            Some(of) => on_pull_request(&Reader::from_environment()?, of, &dispute).await,
            None => here(&dispute).await,
        }
    })?;
    match format {
        Format::Json => output::json(&handed_in)?,
        Format::Human => output::line(match handed_in {
            HandedIn::Comment { url } => format!("{} is disputed: {}", dispute.failure, render::plain_line(&url)),
            HandedIn::Loop { alias } => format!(
                "{} is disputed, and the loop {alias} waits until a person settles it: loopgate loop resume --settle \
                 test|code|\"neither …\"",
                dispute.failure
            ),
            HandedIn::Trailer { line } => {
                format!(
                    "No loop is active here. In the message of the commit that you push, this line disputes it:\n\n{line}"
                )
            }
        }),
    }
    Ok(exit::OK)
}

/// As a comment by whoever owns the credentials, who may be anybody: the pull request's loop says whether they may.
pub(super) async fn on_pull_request(
    reader: &Reader,
    of: &PullRequest,
    dispute: &FixerDispute,
) -> Result<HandedIn, CliError> {
    let words = words(dispute)?;
    if reader.rights != Rights::Token {
        return Err(CliError::bad_data(format!(
            "a comment takes a token of your own in GITHUB_TOKEN. Without one, push a commit whose message has the line \
             Loopgate-Dispute: {words}"
        )));
    }
    let url = reader.of(of.clone()).await?.say(&format!("/loop dispute {words}")).await;
    Ok(HandedIn::Comment { url: url.map_err(|error| feedback::told(of, error))? })
}

/// In the loop that is active here, else nowhere yet.
pub(super) async fn here(dispute: &FixerDispute) -> Result<HandedIn, CliError> {
    let words = words(dispute)?;
    Ok(match reflex::dispute_here(dispute).await? {
        Some(alias) => HandedIn::Loop { alias: alias.to_string() },
        None => HandedIn::Trailer { line: format!("Loopgate-Dispute: {words}") },
    })
}

fn words(FixerDispute { failure, kind, reason }: &FixerDispute) -> Result<String, CliError> {
    let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    if reason.is_empty() {
        return Err(CliError::usage("a dispute needs a reason"));
    }
    Ok(format!("{failure} {} {reason}", kind.as_str()))
}
