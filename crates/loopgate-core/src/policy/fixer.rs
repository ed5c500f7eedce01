//! The `fixer:` section: who tries to repair between attempts.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Period, UpTo, Whole};
use crate::ids::Login;

/// The fixer and what it may spend.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FixerPolicy {
    pub fixer: Fixer,
    pub budget: FixerBudget,
}

/// Who repairs.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Fixer {
    /// The author fixes.
    #[default]
    Author,
    /// A program: feedback as JSON on its standard input, the repository as its working directory.
    Command(CommandFixer),
    /// A comment to an agent's account.
    Mention(Login),
    /// A workflow that is started with the feedback as payload.
    Dispatch(DispatchFixer),
}

impl Fixer {
    /// Whether it can be asked from a pull request: a program runs only where the loop itself does.
    pub const fn works_elsewhere(&self) -> bool {
        matches!(self, Self::Mention(_) | Self::Dispatch(_))
    }

    /// The account that is asked in a comment.
    pub const fn mentioned(&self) -> Option<&Login> {
        match self {
            Self::Mention(login) => Some(login),
            Self::Author | Self::Command(_) | Self::Dispatch(_) => None,
        }
    }
}

/// Whether an agent answers a comment that an App has written, as Loopgate's are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswersApps {
    /// It answers people with write access only.
    Never,
    /// It answers those Apps that its workflow names.
    WhereNamed,
    Unknown,
}

impl AnswersApps {
    /// What is known of an agent by its login: of Copilot
    /// (<https://docs.github.com/en/copilot/how-tos/use-copilot-agents/coding-agent/review-copilot-prs>), of Claude's Action by
    /// its input `allowed_bots` (<https://github.com/anthropics/claude-code-action/blob/main/docs/usage.md>); Codex and Amazon
    /// Q answer accounts that are connected with theirs.
    pub fn of(agent: &Login) -> Self {
        match agent
            .as_str()
            .trim_end_matches("[bot]")
            .to_ascii_lowercase()
            .as_str()
        {
            "copilot"
            | "copilot-swe-agent"
            | "codex"
            | "chatgpt-codex-connector"
            | "amazon-q-developer"
            | "amazon-q" => Self::Never,
            "claude" => Self::WhereNamed,
            _ => Self::Unknown,
        }
    }
}

/// A program that repairs; its edits become a commit.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandFixer {
    /// One shell line.
    pub run: String,
    pub environment: BTreeMap<String, String>,
    /// For one call.
    pub timeout: TimeDelta,
    pub author: CommitAuthor,
}

/// Whom a fixer's commits are by.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AuthorSection")]
pub struct CommitAuthor {
    pub name: String,
    pub email: String,
}

impl Default for CommitAuthor {
    fn default() -> Self {
        Self {
            name: "loopgate".to_owned(),
            email: "loopgate@users.noreply.github.com".to_owned(),
        }
    }
}

/// What starts the workflow that repairs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DispatchFixer {
    /// A `repository_dispatch` event of this type.
    Repository { event_type: String },
    /// A `workflow_dispatch` of this workflow file, on the pull request's head branch.
    Workflow { file: String },
}

// Spending it escalates as `budget_exhausted`.
/// What automatic fixing may cost for one pull request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "BudgetSection")]
pub struct FixerBudget {
    /// Calls of the fixer.
    pub attempts: Option<Whole<1, 100>>,
    /// Time spent in it altogether.
    pub wall_time: Option<Period>,
    /// Dollars, summed from what the program reports as cost_usd.
    pub cost_usd: Option<UpTo<1_000_000>>,
}
