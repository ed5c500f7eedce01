//! Programs that edit the working tree: PRODUCE by a task command, what programs must not move meanwhile, and what they leave behind, half-made edits after
//! a crash or edits that were refused. Nothing is lost, it is kept under `refs/loopgate/aside/`.

use std::{collections::BTreeMap, time::Duration};

use chrono::Utc;

use super::{
    drive::{Progress, Session},
    local_workspace::{aside_ref, task_ref},
    refine::described,
    report,
};
use crate::{
    cli::{CliError, output::note_line},
    runner::{self, CommandLine, Edits, Ending, Extent, Head},
};
use loopgate_core::{
    Sha,
    policy::{CommitAuthor, Fixer},
    reflex::{Calling, Turn},
    text,
    verdict::tamper::{self, Tampering},
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
        let program = runner::run_command(
            line,
            self.interrupt.clone(),
            |_| (),
            report::echo(|line| note_line(format_args!("  │ {line}"))),
        );
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

    /// Lets a program edit the working tree: it is saved before that it is at work, and git is put back afterwards.
    pub(super) async fn let_edit<T>(
        &mut self,
        head: Head,
        who: &str,
        program: impl Future<Output = T>,
    ) -> Result<(T, Edits), CliError> {
        let worktree = &self.workspace.worktree;
        let before = worktree.tree(Extent::Everything)?;
        let known = self.reflex().calling.as_ref();
        if known.is_none_or(|calling| calling.head != head.commit || calling.tree != before) {
            let calling = Calling { head: head.commit, tree: before, since: Utc::now() };
            self.save(Turn::on(&self.state, Utc::now()).calling(calling), None).await?;
        }
        let held = self.loaded.tip.map(|tip| (task_ref(&self.alias).to_string(), tip));
        let anchor = worktree.anchor(held.into_iter().collect())?;
        let ran = program.await;
        // Its commits are judged as edits.
        let moved = worktree.hold(&anchor)?;
        if let Some(commit) = moved.commit {
            let commit = commit.short();
            note_line(format_args!("{who} committed by itself, up to {commit}: that is judged as its edits."));
        }
        if let Some(branch) = &moved.branch {
            let branch = branch.strip_prefix("refs/heads/").unwrap_or(branch);
            note_line(format_args!("{who} checked out {branch}: HEAD is back where the loop works."));
        }
        for name in &moved.refs {
            note_line(format_args!("{who} changed {name}, where this loop is kept: it is put back."));
        }
        Ok((ran, worktree.edits_since(before, head)?))
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

    /// Whether a commit is what this run's current iteration led to.
    pub(super) fn is_our_commit(&self, commit: Sha) -> Result<bool, CliError> {
        let (message, parent) = self.workspace.worktree.message(commit)?;
        let run = format!("Loopgate-Run: {}", self.state.run_id);
        let attempt = format!("Attempt {}/", self.state.iteration);
        let is_of_run = message.lines().any(|line| line.trim() == run);
        let is_of_attempt = message.lines().any(|line| line.starts_with(&attempt));
        Ok(parent == Some(self.state.head_sha) && is_of_run && is_of_attempt)
    }

    /// Undoes what a program left half-made when the process died. Nothing is lost: it is kept aside.
    pub(super) fn clear_leftovers(&mut self, head: Head) -> Result<(), CliError> {
        let Some(calling) = self.reflex().calling.clone() else { return Ok(()) };
        // What a killed process left at work would go on editing beside the next call.
        let (name, value) = self.mark();
        match runner::end_left_behind(&name, &value) {
            0 => {}
            1 => note_line("What the killed loop had left running was ended: 1 process."),
            ended => note_line(format_args!("What the killed loop had left running was ended: {ended} processes.")),
        }
        let edits = self.workspace.worktree.edits_since(calling.tree, head)?;
        let message = format!("Half-made edits of iteration {}, interrupted\n", self.state.iteration);
        if self.workspace.worktree.put_aside(&edits, &aside_ref(&self.alias), &message)?.is_some() {
            note_line(format_args!("Half-made edits were put aside: git show {}", aside_ref(&self.alias)));
        }
        Ok(())
    }

    pub(super) fn put_aside(&self, edits: &Edits, message: &str) -> Result<Option<Sha>, CliError> {
        self.workspace.worktree.put_aside(edits, &aside_ref(&self.alias), message).map_err(CliError::unavailable)
    }

    /// The edits that were refused as tampering, if they are those of the current iteration.
    pub(super) fn refused_edits(&self) -> Result<Option<Sha>, CliError> {
        let aside = self.workspace.worktree.resolve(&aside_ref(&self.alias));
        Ok(match aside {
            Some(aside) if self.is_our_commit(aside)? => Some(aside),
            _ => None,
        })
    }

    /// How the loop's branch, up to this commit, weakens what checks it.
    pub(super) fn weakening(&self, commit: Sha) -> Result<Vec<Tampering>, CliError> {
        let (files, before) = (&self.change(commit)?, self.state.base_sha);
        let contents = &self.workspace.worktree.contents(tamper::files_to_read(files, Some(before), commit))?;
        let failed = self.state.attempts.iter().flat_map(|attempt| attempt.failing_tests.keys().map(String::as_str));
        let failed = failed.collect();
        Ok(tamper::findings(&tamper::Change::of_fixer(files, contents, before, commit, failed, Some(&self.state))))
    }

    /// Takes refused edits over: they become the commit they would have been.
    pub(super) fn take_over(&self, edits: Sha) -> Result<(), CliError> {
        let worktree = &self.workspace.worktree;
        let head = worktree.head()?;
        if head.commit != self.state.head_sha {
            return Err(CliError::bad_data("there are commits since the edits were refused; go on without --accept"));
        }
        self.ask_for_a_clean_tree(head)?;
        worktree.take_over(head.commit, edits).map_err(CliError::unavailable)
    }
}
