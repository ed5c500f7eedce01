//! `fixer:`, who tries to repair between attempts.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::verify::environment;
use crate::config::{
    leaf::{EnvName, EnvValue, Handle, Period, Timeout, UpTo, Whole},
    lower::Lowering,
    place::Place,
    problem::Problem,
    wrappers::Located,
};
use loopgate_core::policy::{CommandFixer, CommitAuthor, DispatchFixer, Fixer, FixerBudget, FixerPolicy};

/// Who tries to repair between attempts, and what it may spend.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(in crate::config) struct FixerSection {
    /// Who repairs. Default: none, the author does.
    kind: Option<Located<FixerKind>>,
    /// Of kind command: the program, one shell line. It gets the feedback as JSON on its standard input.
    command: Option<Located<String>>,
    /// Of kind command: environment variables of the program.
    env: Option<Located<IndexMap<EnvName, EnvValue>>>,
    /// Of kind command: how long one call may take, seconds or a period. Default: 30m.
    timeout: Option<Located<Timeout>>,
    /// Of kind command: whom its commits are by. Default: Loopgate.
    author: Option<Located<AuthorSection>>,
    /// Of kind mention: the account that is asked in a comment, for example copilot.
    mention: Option<Located<Handle>>,
    /// Of kind dispatch: the type of a repository_dispatch event.
    event: Option<Located<String>>,
    /// Of kind dispatch: the file of a workflow that takes workflow_dispatch.
    workflow: Option<Located<String>>,
    /// What it may spend on one pull request. Default: no limit beyond the loop's.
    budget: Option<Located<BudgetSection>>,
}

loopgate_core::words! {
    /// Who repairs.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
    enum FixerKind {
        /// The author.
        None = "none",
        /// A program.
        Command = "command",
        /// An agent that answers to its name in a comment.
        Mention = "mention",
        /// A workflow.
        Dispatch = "dispatch",
    }
}

/// Whom a fixer's commits are by.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AuthorSection {
    name: Located<String>,
    email: Located<String>,
}

/// What automatic fixing may cost for one pull request.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct BudgetSection {
    /// Calls of the fixer.
    attempts: Option<Whole<1, 100>>,
    /// Time spent in it altogether.
    wall_time: Option<Period>,
    /// Dollars, summed from what the program reports as cost_usd.
    cost_usd: Option<UpTo<1_000_000>>,
}

/// An agent needs minutes, not seconds.
const DEFAULT_TIMEOUT: TimeDelta = TimeDelta::minutes(30);
const LONGEST_TIMEOUT: TimeDelta = TimeDelta::hours(6);

impl FixerSection {
    pub fn lower(mut self, cx: &mut Lowering) -> FixerPolicy {
        let budget = self.budget.take().map_or_else(FixerBudget::default, |budget| budget.value.lower());
        FixerPolicy { fixer: self.lower_fixer(cx), budget }
    }

    /// `escalation.senior`: it works on the first fixer's budget.
    pub fn lower_senior(mut self, cx: &mut Lowering) -> Fixer {
        if let Some(budget) = self.budget.take() {
            let problem = Problem::wrong(budget.place, "the senior fixer has no budget of its own");
            cx.refuse(problem.hint("set `fixer.budget`, which holds for both"));
        }
        self.lower_fixer(cx)
    }

    fn lower_fixer(self, cx: &mut Lowering) -> Fixer {
        let Some(kind) = self.kind.clone() else {
            self.refuse_keys_of_other_kinds(FixerKind::None, cx);
            return Fixer::Author;
        };
        self.refuse_keys_of_other_kinds(kind.value, cx);
        let (fixer, needed) = match kind.value {
            FixerKind::None => (Some(Fixer::Author), "nothing"),
            FixerKind::Command => (self.command(cx).map(Fixer::Command), "`command:` with the program to call"),
            FixerKind::Mention => {
                (self.mention.map(|handle| Fixer::Mention(handle.value.0)), "`mention:` with the account to ask")
            }
            FixerKind::Dispatch => (self.dispatch(cx).map(Fixer::Dispatch), "either `event:` or `workflow:`"),
        };
        if fixer.is_none() {
            cx.refuse(Problem::wrong(kind.place, format!("a fixer of this kind needs {needed}")));
        }
        fixer.unwrap_or_default()
    }

    fn command(self, cx: &mut Lowering) -> Option<CommandFixer> {
        Some(CommandFixer {
            run: cx.some_text(self.command?, "the command"),
            environment: self.env.map_or_else(BTreeMap::new, |env| environment(env.value)),
            timeout: self.timeout.map_or(DEFAULT_TIMEOUT, |timeout| {
                if timeout.value.0 > LONGEST_TIMEOUT {
                    cx.refuse(Problem::wrong(timeout.place, "a fixer may take at most 6h"));
                }
                timeout.value.0
            }),
            author: self.author.map_or_else(CommitAuthor::default, |author| author.value.lower(cx)),
        })
    }

    fn dispatch(self, cx: &mut Lowering) -> Option<DispatchFixer> {
        match (self.event, self.workflow) {
            (Some(event), None) => {
                Some(DispatchFixer::Repository { event_type: cx.some_text(event, "the event's type") })
            }
            (None, Some(file)) => Some(DispatchFixer::Workflow { file: cx.some_text(file, "the workflow's file") }),
            (None, None) | (Some(_), Some(_)) => None,
        }
    }

    /// A key that this kind does not read would be a setting without effect.
    fn refuse_keys_of_other_kinds(&self, kind: FixerKind, cx: &mut Lowering) {
        let keys = [
            ("command", FixerKind::Command, place_of(self.command.as_ref())),
            ("env", FixerKind::Command, place_of(self.env.as_ref())),
            ("timeout", FixerKind::Command, place_of(self.timeout.as_ref())),
            ("author", FixerKind::Command, place_of(self.author.as_ref())),
            ("mention", FixerKind::Mention, place_of(self.mention.as_ref())),
            ("event", FixerKind::Dispatch, place_of(self.event.as_ref())),
            ("workflow", FixerKind::Dispatch, place_of(self.workflow.as_ref())),
        ];
        for (key, belongs_to, place) in keys {
            if let (Some(place), true) = (place, belongs_to != kind) {
                let message = format!("`{key}` has no effect with `kind: {}`", kind.as_str());
                let problem = Problem::wrong(place, message);
                cx.refuse(problem.hint(format!("it belongs to `kind: {}`", belongs_to.as_str())));
            }
        }
    }
}

fn place_of<T>(written: Option<&Located<T>>) -> Option<Place> {
    written.map(|written| written.place)
}

impl BudgetSection {
    fn lower(self) -> FixerBudget {
        FixerBudget {
            attempts: self.attempts.map(|n| n.0),
            wall_time: self.wall_time.map(|period| period.0),
            cost_usd: self.cost_usd.map(|dollars| dollars.0),
        }
    }
}

impl AuthorSection {
    fn lower(self, cx: &mut Lowering) -> CommitAuthor {
        for part in [&self.name, &self.email] {
            if part.value.contains(['<', '>', '\n', '\0']) || part.value.trim().is_empty() {
                cx.refuse(Problem::wrong(part.place, "git takes no such name or address for an author"));
            }
        }
        CommitAuthor { name: self.name.value, email: self.email.value }
    }
}
