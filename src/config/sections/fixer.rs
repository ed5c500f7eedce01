//! `fixer:`, who tries to repair between attempts.

use chrono::TimeDelta;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::verify::environment;
use crate::config::{
    leaf::{EnvName, EnvValue, Handle},
    node::Node,
    problem::Problem,
    sections::Lowering,
};
use loopgate_core::policy::{
    CommandFixer, CommitAuthor, DispatchFixer, Fixer, FixerBudget, FixerPolicy, Timeout,
};

/// Who tries to repair between attempts, and what it may spend.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(in crate::config) struct FixerSection {
    /// Who repairs. Default: none, the author does.
    kind: FixerKind,
    /// Of kind command: the program, one shell line. It gets the feedback as JSON on its standard input.
    command: Option<String>,
    /// Of kind command: environment variables of the program.
    env: IndexMap<EnvName, EnvValue>,
    /// Of kind command: how long one call may take, seconds or a period. Default: 30m.
    timeout: Option<Timeout>,
    /// Of kind command: whom its commits are by. Default: Loopgate.
    author: Option<CommitAuthor>,
    /// Of kind mention: the account that is asked in a comment, for example copilot.
    mention: Option<Handle>,
    /// Of kind dispatch: the type of a repository_dispatch event.
    event: Option<String>,
    /// Of kind dispatch: the file of a workflow that takes workflow_dispatch.
    workflow: Option<String>,
    /// What it may spend on one pull request. Default: no limit beyond the loop's.
    budget: FixerBudget,
}

loopgate_core::words! {
    /// Who repairs.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
    enum FixerKind {
        /// The author.
        #[default]
        None = "none",
        /// A program.
        Command = "command",
        /// An agent that answers to its name in a comment.
        Mention = "mention",
        /// A workflow.
        Dispatch = "dispatch",
    }
}

/// An agent needs minutes, not seconds.
const DEFAULT_TIMEOUT: TimeDelta = TimeDelta::minutes(30);
const LONGEST_TIMEOUT: TimeDelta = TimeDelta::hours(6);

/// The keys that only one kind of fixer reads.
const KEYS: [(&str, FixerKind); 7] = [
    ("command", FixerKind::Command),
    ("env", FixerKind::Command),
    ("timeout", FixerKind::Command),
    ("author", FixerKind::Command),
    ("mention", FixerKind::Mention),
    ("event", FixerKind::Dispatch),
    ("workflow", FixerKind::Dispatch),
];

impl FixerSection {
    pub fn lower(self, node: &Node, cx: &mut Lowering) -> FixerPolicy {
        FixerPolicy {
            budget: self.budget,
            fixer: self.lower_fixer(node, cx),
        }
    }

    /// `escalation.senior`: it works on the first fixer's budget.
    pub fn lower_senior(self, node: &Node, cx: &mut Lowering) -> Fixer {
        if let Some(place) = node.written("budget") {
            let problem = Problem::wrong(place, "the senior fixer has no budget of its own");
            cx.refuse(problem.hint("set `fixer.budget`, which holds for both"));
        }
        self.lower_fixer(node, cx)
    }

    fn lower_fixer(self, node: &Node, cx: &mut Lowering) -> Fixer {
        let kind = self.kind;
        // A key that this kind does not read would be a setting without effect.
        for (key, belongs_to) in KEYS
            .into_iter()
            .filter(|(_, belongs_to)| *belongs_to != kind)
        {
            if let Some(place) = node.written(key) {
                let problem = Problem::wrong(
                    place,
                    format!("`{key}` has no effect with `kind: {}`", kind.as_str()),
                );
                cx.refuse(problem.hint(format!("it belongs to `kind: {}`", belongs_to.as_str())));
            }
        }
        let (fixer, needed) = match kind {
            FixerKind::None => return Fixer::Author,
            FixerKind::Command => (
                self.command(node, cx).map(Fixer::Command),
                "`command:` with the program to call",
            ),
            FixerKind::Mention => (
                self.mention.map(|handle| Fixer::Mention(handle.0)),
                "`mention:` with the account to ask",
            ),
            FixerKind::Dispatch => (
                self.dispatch(node, cx).map(Fixer::Dispatch),
                "either `event:` or `workflow:`",
            ),
        };
        if fixer.is_none() {
            let place = node.at("kind").place;
            cx.refuse(Problem::wrong(
                place,
                format!("a fixer of this kind needs {needed}"),
            ));
        }
        fixer.unwrap_or_default()
    }

    fn command(self, node: &Node, cx: &mut Lowering) -> Option<CommandFixer> {
        let run = cx.some_text(self.command?, node.at("command"), "the command");
        let timeout = self.timeout.map_or(DEFAULT_TIMEOUT, |timeout| timeout.0);
        if timeout > LONGEST_TIMEOUT {
            cx.refuse(Problem::wrong(
                node.at("timeout").place,
                "a fixer may take at most 6h",
            ));
        }
        for (key, part) in self
            .author
            .iter()
            .flat_map(|author| [("name", &author.name), ("email", &author.email)])
        {
            if part.contains(['<', '>', '\n', '\0']) || part.trim().is_empty() {
                let place = node.at("author").at(key).place;
                cx.refuse(Problem::wrong(
                    place,
                    "git takes no such name or address for an author",
                ));
            }
        }
        Some(CommandFixer {
            run,
            environment: environment(self.env),
            timeout,
            author: self.author.unwrap_or_default(),
        })
    }

    fn dispatch(self, node: &Node, cx: &mut Lowering) -> Option<DispatchFixer> {
        match (self.event, self.workflow) {
            (Some(event), None) => {
                let event_type = cx.some_text(event, node.at("event"), "the event's type");
                Some(DispatchFixer::Repository { event_type })
            }
            (None, Some(file)) => {
                let file = cx.some_text(file, node.at("workflow"), "the workflow's file");
                Some(DispatchFixer::Workflow { file })
            }
            (None, None) | (Some(_), Some(_)) => None,
        }
    }
}
