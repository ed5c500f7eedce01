//! What a program must not move while it edits the working tree, and what it must not leave running.

use super::{drive::Session, local_workspace::task_ref};
use crate::{
    cli::CliError,
    runner::{self, Anchor},
};

impl Session<'_> {
    /// Where git and the loop's ref stand before a program is started.
    pub(super) fn anchor(&self) -> Result<Anchor, CliError> {
        let held = self.loaded.tip.map(|tip| (task_ref(&self.alias).to_string(), tip));
        self.workspace.worktree.anchor(held.into_iter().collect()).map_err(CliError::unavailable)
    }

    /// Puts back what the program moved, so that its commits are judged as edits, and says so.
    pub(super) fn hold(&self, anchor: &Anchor, who: &str) -> Result<(), CliError> {
        let moved = self.workspace.worktree.hold(anchor)?;
        if let Some(commit) = moved.commit {
            self.console
                .note(&format!("{who} committed by itself, up to {}: that is judged as its edits.", commit.short()));
        }
        if let Some(branch) = &moved.branch {
            let branch = branch.strip_prefix("refs/heads/").unwrap_or(branch);
            self.console.note(&format!("{who} checked out {branch}: HEAD is back where the loop works."));
        }
        for name in &moved.refs {
            self.console.note(&format!("{who} changed {name}, where this loop is kept: it is put back."));
        }
        Ok(())
    }

    /// A loop's fixes belong on the branch it began on.
    pub(super) fn ask_for_its_branch(&self) -> Result<(), CliError> {
        let (branch, alias) = (&self.state.branch, &self.alias);
        let elsewhere = self.workspace.checkout.branch.as_ref() != Some(branch);
        // A loop that began without a branch has none to be on.
        if !elsewhere || self.workspace.worktree.resolve(&format!("refs/heads/{branch}")).is_none() {
            return Ok(());
        }
        let here = self.workspace.checkout.branch.as_deref().unwrap_or("no branch");
        Err(CliError::bad_data(format!(
            "the loop `{alias}` works on {branch}, and {here} is checked out here: `git switch {branch}`, then go on \
             with `loopgate loop resume {alias}`"
        )))
    }

    /// The variable that only programs of this loop have in their environment.
    pub(super) fn mark(&self) -> (String, String) {
        let here = self.workspace.worktree.private_dir();
        (runner::LOOP_MARK.to_owned(), format!("{} in {}", self.state.run_id, here.display()))
    }

    /// Ends what a killed process left at work: it would go on editing beside the next call.
    pub(super) fn end_left_behind(&self) {
        let (name, value) = self.mark();
        let ended = runner::end_left_behind(&name, &value);
        if ended > 0 {
            let processes = if ended == 1 { "1 process".to_owned() } else { format!("{ended} processes") };
            self.console.note(&format!("What the killed loop had left running was ended: {processes}."));
        }
    }
}
