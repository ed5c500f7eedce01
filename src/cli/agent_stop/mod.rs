//! `loopgate agent-stop`: what the stop hook of a coding agent asks before the agent ends its turn.
//!
//! ```text
//! the head is pushed      → wait for the verdict on it      → retry: go on
//! the tree is not pushed  → the last `loopgate verify` of it → it failed: go on
//! anything else, any error, the third time on one head      → stop
//! ```
//!
//! The formats: Claude Code (<https://code.claude.com/docs/en/hooks>, Stop), Codex
//! (<https://developers.openai.com/codex/hooks>, Stop) and Cursor (<https://cursor.com/docs/agent/hooks>, stop).

use std::{
    io::Read as _,
    path::{Path, PathBuf},
};

use chrono::TimeDelta;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    CommandResult, exit, feedback,
    online::{Online, PullRequest},
    output,
    working_tree::{CONFIGURATION, EVIDENCE},
};
use crate::{
    github::webhook::Target,
    render::{self, CAUTION, Reading, Until, defused},
    runner::{Checkout, Worktree},
};
use loopgate_core::{Sha, deciding::DecisionWord, text::one_line};

/// How long the verdict is waited for, within the time that the hooks are written with.
const WAITS: TimeDelta = TimeDelta::minutes(8);
/// How often an agent is held on one head, and in a row on whatever heads.
const MOST_ON_HEAD: u32 = 3;
const MOST_IN_A_ROW: u32 = 9;
const MOST_INPUT: u64 = 1 << 20;
const MOST_REASON: usize = 2048;
/// Failures that a reason names.
const MOST_NAMED: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Agent {
    ClaudeCode,
    Codex,
    Cursor,
}

/// What is read of a hook's input.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Input {
    /// Claude Code, Codex.
    cwd: Option<PathBuf>,
    /// Cursor.
    workspace_roots: Vec<PathBuf>,
    /// Cursor: `completed`, `aborted` or `error`.
    status: Option<String>,
}

pub async fn run(agent: Agent) -> CommandResult {
    let mut text = String::new();
    // An input that cannot be read counts as empty: then the hook's own directory is used.
    let _ = std::io::stdin().take(MOST_INPUT).read_to_string(&mut text);
    let input: Input =
        serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap_or_default();
    let was_ended = input
        .status
        .as_deref()
        .is_some_and(|status| status != "completed");
    let folder = input
        .cwd
        .or_else(|| input.workspace_roots.into_iter().next());
    let folder = folder
        .or_else(|| std::env::current_dir().ok())
        .filter(|_| !was_ended);
    if let Some(reason) = held(folder).await {
        output::document(&answer(agent, &reason).to_string());
    }
    Ok(exit::OK)
}

/// What makes the agent go on, in its own format.
fn answer(agent: Agent, reason: &str) -> Value {
    match agent {
        Agent::ClaudeCode | Agent::Codex => json!({ "decision": "block", "reason": reason }),
        Agent::Cursor => json!({ "followup_message": reason }),
    }
}

/// Why the agent is to go on; none where it may stop.
async fn held(folder: Option<PathBuf>) -> Option<String> {
    let checkout = Checkout::around(&folder?).ok()?;
    let marks = Worktree::of(&checkout.git)
        .ok()?
        .private_dir
        .with_file_name("loopgate-agent-stop");
    let reason = if checkout.root.join(CONFIGURATION).is_file() {
        failing(&checkout).await
    } else {
        None
    };
    let Some(reason) = reason else {
        // The next failure begins a row of its own.
        let _ = std::fs::remove_file(marks);
        return None;
    };
    let before: Holds =
        serde_json::from_slice(&std::fs::read(&marks).unwrap_or_default()).unwrap_or_default();
    let on_head = if before.head == Some(checkout.head) {
        before.on_head
    } else {
        0
    };
    if on_head >= MOST_ON_HEAD || before.in_a_row >= MOST_IN_A_ROW {
        return None;
    }
    let holds = Holds {
        head: Some(checkout.head),
        on_head: on_head + 1,
        in_a_row: before.in_a_row + 1,
    };
    // What cannot be counted cannot be bounded.
    std::fs::write(&marks, serde_json::to_string(&holds).ok()?).ok()?;
    Some(reason)
}

/// How often the agent was held, in a file of the git folder.
#[derive(Default, Serialize, Deserialize)]
struct Holds {
    head: Option<Sha>,
    on_head: u32,
    in_a_row: u32,
}

async fn failing(checkout: &Checkout) -> Option<String> {
    if !checkout.is_clean || !checkout.is_pushed() {
        let reading = feedback::here(&checkout.root, Path::new(EVIDENCE)).ok()?;
        return reason(
            &reading,
            "`loopgate verify` fails on this working tree",
            "loopgate verify",
        );
    }
    let repository = checkout.repository.clone()?;
    let read = async {
        let online = Online::as_anybody().ok()?;
        let target = Target::Head {
            repository: repository.clone(),
            sha: checkout.head,
        };
        let found = online
            .client(&repository)
            .await
            .ok()?
            .pull_requests_of(&target)
            .await
            .ok()?;
        let (repository, number) = found.into_iter().next()?;
        let of = PullRequest { repository, number };
        let reading = feedback::wait(&online, &of, (None, Until::Final), WAITS)
            .await
            .ok()?;
        Some((of, reading))
    };
    let (of, reading) = tokio::time::timeout(WAITS.to_std().ok()?, read)
        .await
        .ok()
        .flatten()?;
    if reading.feedback.head_sha != checkout.head {
        return None;
    }
    reason(
        &reading,
        &format!("the checks of {of} fail on the pushed head"),
        &format!("loopgate feedback {of}"),
    )
}

/// What to repair, for a decision that the author acts on: names and places, after the word that they are data.
fn reason(reading: &Reading, what: &str, read_more: &str) -> Option<String> {
    if reading.decision() != DecisionWord::Retry {
        return None;
    }
    let document = reading.document();
    let failures = document["failures"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let mut text = format!("Not finished: {what} ({}).", reading.feedback.head_sha);
    if !failures.is_empty() {
        text.push_str(&format!("\n{CAUTION}"));
    }
    for failure in failures.iter().take(MOST_NAMED) {
        let word = |at: &str| {
            failure
                .pointer(at)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let named = format!(
            "{} {} {}",
            word("/check"),
            word("/test"),
            word("/place/file")
        );
        text.push_str(&format!(
            "\n- {} {}",
            word("/id"),
            defused(&one_line(&named, 160))
        ));
    }
    for sentence in render::planted_lines(&reading.feedback.planted) {
        text.push_str(&format!("\n- {sentence}"));
    }
    text.push_str(&format!(
        "\nRead `{read_more}`, fix the cause, and verify again. Do not edit tests to pass; dispute a failure that is not \
         yours with `loopgate dispute`."
    ));
    while text.len() > MOST_REASON {
        text.pop();
    }
    Some(text)
}

#[cfg(test)]
#[path = "agent_stop_tests.rs"]
mod tests;
