//! PRODUCE by a task command: its edits become a commit, as a fixer's do.

use std::{collections::BTreeMap, time::Duration};

use super::{
    drive::{Progress, Session},
    refine::described,
};
use crate::{
    cli::CliError,
    runner::{self, CommandLine, Ending},
};
use loopgate_core::{
    policy::{CommitAuthor, Fixer},
    text,
};

/// Longest time a task command may take.
const PRODUCE_TIMEOUT: Duration = Duration::from_secs(1800);

impl Session<'_> {
    /// Whether the task command's commit is in place already: the process died after it.
    pub(super) fn has_produced(&self) -> Result<bool, CliError> {
        let head = self.workspace.worktree.head()?;
        let ours = head.commit != self.state.head_sha && self.is_our_commit(head.commit)?;
        if ours {
            self.workspace.worktree.settle_index()?;
        }
        Ok(ours)
    }

    /// PRODUCE by the task command. Its edits become a commit, so that every iteration is of one. What ends this step, if it
    /// did not come to its end.
    pub(super) async fn produce(&mut self, command: &str) -> Result<Option<Progress>, CliError> {
        let head = self.workspace.worktree.head()?;
        self.clear_leftovers(head)?;
        self.ask_for_a_clean_tree(head)?;
        let task = ("LOOPGATE_TASK".to_owned(), self.state.task.prompt.clone());
        let line = CommandLine {
            environment: BTreeMap::from([task, self.mark()]),
            ..CommandLine::new(command, self.workspace.root(), PRODUCE_TIMEOUT)
        };
        let program = runner::run_command(line, self.interrupt.clone(), |_| (), self.console.echo());
        let (finished, edits) = self.let_edit(head, "The task command", program).await?;
        if finished.ending == Ending::Interrupted {
            self.put_aside(&edits, "Half-made work of the task command, interrupted\n")?;
            return Ok(Some(Progress::Interrupted));
        }
        if let Some(why) = finished.ending.problem("the task command", PRODUCE_TIMEOUT) {
            self.put_aside(&edits, "Half-made work of a task command that failed\n")?;
            return self.break_off(why).await.map(Some);
        }
        if !edits.is_empty() {
            let message = format!(
                "{}\n\nProduced by the task command, {}.\nAttempt {}/{}\n\nLoopgate-Run: {}\n",
                text::start(&self.state.title, 72),
                described(&edits),
                self.state.iteration,
                self.state.max_iterations,
                self.state.run_id
            );
            let author = match &self.policy.fixer.fixer {
                Fixer::Command(fixer) => fixer.author.clone(),
                _ => CommitAuthor::default(),
            };
            let commit = self.workspace.worktree.commit(&edits, &message, &author)?;
            self.workspace.worktree.advance(head.commit, commit)?;
        }
        Ok(None)
    }
}
