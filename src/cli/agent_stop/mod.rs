//! `loopgate agent-stop`: what the stop hook of a coding agent asks before the agent ends its turn.
//!
//! ```text
//! the head is pushed      → wait for the verdict on it        → retry: go on
//! the tree is not pushed  → the last `loopgate verify` of it  → it failed, not only as the base does: go on
//!                                                             → there is none of this tree: go on, once
//! anything else, any error, the limits of `holds.rs`          → stop
//! ```
//!
//! The formats: Claude Code (<https://code.claude.com/docs/en/hooks>, Stop), which Copilot CLI runs too, Codex
//! (<https://developers.openai.com/codex/hooks>, Stop), Cursor (<https://cursor.com/docs/agent/hooks>, stop) and Gemini
//! CLI (<https://geminicli.com/docs/hooks/reference>, AfterAgent).

mod holds;
mod turn;

use std::{io::Read as _, path::Path, time::Duration};

use chrono::{TimeDelta, Utc};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::Instant;

use self::{
    holds::Holds,
    turn::{Input, Question},
};
use super::{
    CommandResult, exit, feedback, kept_evidence,
    online::{Online, PullRequest},
    output,
    working_tree::{self, CONFIGURATION, EVIDENCE},
};
use loopgate_core::{Sha, deciding::DecisionWord, evidence::Outcome, failure::fails_as_on_base};
use loopgate_render::{self as render, Currency, Reading, Until};
use loopgate_runner::{Changes, Checkout, Worktree};
use loopgate_webhook::Target;

/// How long the verdict and other hooks are waited for, within the time that the hooks are written with.
const WAITS: Duration = Duration::from_mins(8);
const MOST_INPUT: u64 = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Agent {
    ClaudeCode,
    Codex,
    Cursor,
    GeminiCli,
}

/// How the work stands that an agent leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Standing {
    /// It passes, a person acts next, or it is not known.
    MayStop,
    /// The author repairs it. `lost` is whether a check of tests passes without the results that it had.
    Fails { reason: String, lost: bool },
    /// The tree was edited, and nothing has verified it since.
    Unverified { tree: Sha, reason: String },
}

pub async fn run(agent: Agent) -> CommandResult {
    let asked_at = Utc::now();
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
    let question = Question {
        agent,
        ids: input.ids,
        asked_at,
    };
    if let Some(folder) = folder
        && let Some(reason) = held(&folder, &question).await
    {
        output::document(&answer(agent, &reason).to_string());
    }
    Ok(exit::OK)
}

/// What makes the agent go on, in its own format.
fn answer(agent: Agent, reason: &str) -> Value {
    match agent {
        Agent::ClaudeCode | Agent::Codex | Agent::GeminiCli => {
            json!({ "decision": "block", "reason": reason })
        }
        Agent::Cursor => json!({ "followup_message": reason }),
    }
}

/// Why the agent is to go on; none where it may stop.
async fn held(folder: &Path, question: &Question) -> Option<String> {
    let until = Instant::now() + WAITS;
    let checkout = Checkout::around(folder).ok()?;
    let worktree = Worktree::of(&checkout.git).ok()?;
    let mut holds = Holds::take(&worktree, until).await?;
    if let Some(answer) = holds.answered(question) {
        return answer;
    }
    // While it waited for the other hook, the tree may have become another one.
    let checkout = Checkout::around(folder).ok()?;
    let standing = standing(&checkout, until).await;
    holds.answer(question, checkout.head, standing, Utc::now())
}

async fn standing(checkout: &Checkout, until: Instant) -> Standing {
    if !checkout.root.join(CONFIGURATION).is_file() {
        return Standing::MayStop;
    }
    if !checkout.is_clean || !checkout.is_pushed() {
        return of_tree(checkout);
    }
    let found = tokio::time::timeout_at(until, of_head(checkout, until)).await;
    found.ok().flatten().unwrap_or(Standing::MayStop)
}

/// By what the last verification says of the working tree.
fn of_tree(checkout: &Checkout) -> Standing {
    let evidence = Path::new(EVIDENCE);
    match feedback::here(&checkout.root, evidence) {
        Ok(reading) if reading.currency != Currency::Current => {
            unverified(checkout, render::held_by_edits())
        }
        Ok(reading) if reading.decision() != DecisionWord::Retry => Standing::MayStop,
        Ok(reading) if asks_no_more(&reading) && fails_as_base(checkout) => Standing::MayStop,
        Ok(reading) => Standing::Fails {
            reason: render::held_by_tree(&reading),
            lost: has_lost_results(checkout),
        },
        Err(_) if is_edited(checkout) => unverified(checkout, render::held_unverified()),
        Err(_) => Standing::MayStop,
    }
}

fn unverified(checkout: &Checkout, reason: String) -> Standing {
    let tree = working_tree::tree(&checkout.git, Path::new(EVIDENCE));
    Standing::Unverified {
        tree: tree.unwrap_or(checkout.tree),
        reason,
    }
}

/// Whether the working tree differs from its commit, or the commit from the base branch.
fn is_edited(checkout: &Checkout) -> bool {
    let differs = |changes: Changes| !changes.files.known().is_empty();
    !checkout.is_clean || Changes::against(&checkout.git, None).is_some_and(differs)
}

/// Whether failures of checks are all that stands in the way.
fn asks_no_more(reading: &Reading) -> bool {
    reading.feedback.feedback.is_empty() && reading.feedback.planted.is_empty()
}

/// Whether everything that fails here fails on the base too. Where no evidence of the base is kept, that is not known;
/// nor where the base branch itself is worked on, and its newest commit can be the agent's own.
fn fails_as_base(checkout: &Checkout) -> bool {
    let Some(here) = kept_evidence::of_tree(&checkout.root.join(EVIDENCE)) else {
        return false;
    };
    let base = here
        .base_sha
        .filter(|base| *base != checkout.head || checkout.is_pushed())
        .and_then(|base| kept_evidence::of_commit(&checkout.git, base));
    base.is_some_and(|base| fails_as_on_base(&here.checks, &base.checks))
}

/// Whether a check of tests passed here without the results by test that it had before.
fn has_lost_results(checkout: &Checkout) -> bool {
    let here = kept_evidence::of_tree(&checkout.root.join(EVIDENCE));
    let mut checks = here.iter().flat_map(|evidence| &evidence.checks);
    checks.any(|check| check.outcome == Outcome::ResultsLost)
}

/// By the verdict on the pushed head; none where there is no pull request, or GitHub cannot be asked.
async fn of_head(checkout: &Checkout, until: Instant) -> Option<Standing> {
    let repository = checkout.repository.clone()?;
    let online = Online::as_anybody().ok()?;
    let target = Target::Head {
        repository: repository.clone(),
        sha: checkout.head,
    };
    let client = online.client(&repository).await.ok()?;
    let found = client.pull_requests_of(&target).await.ok()?;
    let (repository, number) = found.into_iter().next()?;
    let of = PullRequest { repository, number };
    let left = TimeDelta::from_std(until.saturating_duration_since(Instant::now())).ok()?;
    let reading = feedback::wait(&online, &of, (None, Until::Final), left)
        .await
        .ok()?;
    let fails =
        reading.decision() == DecisionWord::Retry && reading.feedback.head_sha == checkout.head;
    fails.then(|| Standing::Fails {
        reason: render::held_by_verdict(&reading, &of.to_string()),
        lost: false,
    })
}

#[cfg(test)]
mod tests;
