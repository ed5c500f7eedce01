//! `loopgate dispute` and `loopgate settle`: dispute that a failure is one's own to fix, and settle who is right. It is
//! written as a comment of the pull request, into the loop here, or as the line of a commit's message.

use std::{collections::BTreeSet, time::Duration};

use clap::Args;
use serde_json::{Value, json};

use super::{
    CliError, CommandResult, feedback,
    online::{Online, PullRequest, Rights},
    output, reflex,
};
use loopgate_core::{
    FailureId, Login,
    commands::command,
    concerns::gates::{self, ReactionKind},
    state::DisputeKind,
};
use loopgate_render::{self as render, DisputeAnswer, Disputed};
use loopgate_runner::FixerDispute;

#[derive(Debug, Args)]
pub struct DisputeArguments {
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

#[derive(Debug, Args)]
pub struct SettleArguments {
    #[arg(value_name = "OWNER/REPO#N")]
    pull_request: PullRequest,
    /// Who is right: `test`, `code`, or `neither` and what should happen instead
    #[arg(value_name = "WORD", num_args = 1.., required = true)]
    words: Vec<String>,
    /// The failure's id, where several are disputed
    #[arg(long, value_name = "FAILURE")]
    failure: Option<FailureId>,
}

fn kind(word: &str) -> Result<DisputeKind, String> {
    DisputeKind::of_word(&word.replace('-', "_")).ok_or_else(|| "there is no such kind".to_owned())
}

/// The place of a dispute or settlement: as data for programs, and as a sentence for people.
type DisputeResult = Result<(Value, String), CliError>;

pub async fn run(
    DisputeArguments {
        failure,
        pull_request,
        kind,
        reason,
    }: &DisputeArguments,
) -> CommandResult {
    let dispute = FixerDispute {
        failure: *failure,
        kind: *kind,
        reason: reason.clone(),
    };
    let (document, words) = match pull_request {
        Some(of) => on_pull_request(&Online::from_environment()?, of, &dispute).await?,
        None => here(&dispute).await?,
    };
    output::show(&document, || words)
}

pub async fn settle(
    SettleArguments {
        pull_request,
        words,
        failure,
    }: &SettleArguments,
) -> CommandResult {
    let words: Vec<String> = failure
        .iter()
        .map(ToString::to_string)
        .chain(words.iter().cloned())
        .collect();
    let command = format!("settle {}", words.join(" "));
    if command::read(&command).is_err() {
        return Err(CliError::usage(
            "say `test`, `code`, or `neither` and what should happen instead",
        ));
    }
    let online = Online::from_environment()?;
    let (document, words) = post_command(
        &online,
        pull_request,
        &command,
        "comment on the pull request",
        "Settled",
    )
    .await?;
    output::show(&document, || words)
}

/// Seconds before each look for the answer to a comment.
const LOOKS_FOR_ANSWER: [u64; 3] = [1, 2, 3];

/// Posts a command as a comment; `done` is the sentence shown afterwards. Text that Loopgate would not read as this
/// command is not posted.
async fn post_command(
    online: &Online,
    of: &PullRequest,
    command: &str,
    otherwise: &str,
    done: &str,
) -> DisputeResult {
    if online.rights != Rights::Token {
        let without = format!(
            "a comment takes a token of your own in GITHUB_TOKEN. Without one, {otherwise}"
        );
        return Err(CliError::bad_data(without));
    }
    let body = format!("/loop {command}");
    let bot: Login = "loopgate[bot]".parse()?;
    let reading = gates::read(&body, &bot, &BTreeSet::new());
    if reading.commands().next().cloned() != command::read(command).ok() {
        return Err(CliError::usage(format!(
            "a comment with these words is no command: {}",
            render::plain_line(&body)
        )));
    }
    let pull_request = online.feedback_on(of.clone()).await?;
    let comment = pull_request
        .post_comment(&body)
        .await
        .map_err(|error| feedback::not_readable(of, error))?;
    let url = render::plain_line(&comment.url);
    let posted = |answer, outcome: &str| {
        let said = Disputed::Comment {
            url: comment.url.clone(),
            answer,
        };
        Ok((json!(said), format!("{outcome}: {url}")))
    };
    for seconds in LOOKS_FOR_ANSWER {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        match pull_request.answer_to(&comment).await {
            Ok(Some(ReactionKind::NotAccepted)) => {
                return Err(CliError::bad_data(format!(
                    "it does not count; the pull request says why: {url}"
                )));
            }
            Ok(Some(_)) => return posted(DisputeAnswer::CarriedOut, done),
            Ok(None) | Err(_) => {}
        }
    }
    posted(DisputeAnswer::NoneYet, "Posted, and not answered yet")
}

/// As a comment by the owner of the credentials. The pull request's loop decides whether they may.
pub(super) async fn on_pull_request(
    online: &Online,
    of: &PullRequest,
    dispute: &FixerDispute,
) -> DisputeResult {
    let words = words(dispute)?;
    let otherwise = format!("push a commit whose message has the line Loopgate-Dispute: {words}");
    post_command(
        online,
        of,
        &format!("dispute {words}"),
        &otherwise,
        &format!("{} is disputed", dispute.failure),
    )
    .await
}

/// In the loop that is active here, which waits then. Else nowhere yet: the line belongs into the next commit's
/// message.
pub(super) async fn here(dispute: &FixerDispute) -> DisputeResult {
    let line = format!("Loopgate-Dispute: {}", words(dispute)?);
    Ok(match reflex::dispute_here(dispute).await? {
        Some(alias) => {
            let words = format!(
                "{} is disputed, and the loop {alias} waits until a person settles it: loopgate loop resume --settle \
                 test|code|\"neither …\"",
                dispute.failure
            );
            let alias = alias.to_string();
            (json!(Disputed::Loop { alias }), words)
        }
        None => {
            let words = "No loop is active here. In the message of the commit that you push, this line disputes it:";
            let words = format!("{words}\n\n{line}");
            (json!(Disputed::Trailer { line }), words)
        }
    })
}

fn words(
    FixerDispute {
        failure,
        kind,
        reason,
    }: &FixerDispute,
) -> Result<String, CliError> {
    let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    if reason.is_empty() {
        return Err(CliError::usage("a dispute needs a reason"));
    }
    Ok(format!("{failure} {} {reason}", kind.as_str()))
}
