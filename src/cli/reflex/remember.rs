//! The debug memory of a local loop: it is read for an attempt that failed, and written for each that was counted.

use std::collections::BTreeSet;

use chrono::Utc;

use super::drive::Session;
use crate::{
    cli::working_tree,
    refs::{MemoryNotes, MemoryStore},
};
use loopgate_core::{
    Sha,
    deciding::{Decision, MemoryAnswers},
    memory::{AppliedFix, Retention},
    observed::{ChangedFile, Snapshot},
    policy::{Policy, Switch},
    state::RunStatus,
};

impl Session<'_> {
    /// Asks the memory what a decision needs of it. Nothing depends on it: what cannot be read is not shown.
    pub(super) async fn recall(&self, decision: &mut Decision, snapshot: &Snapshot, policy: &Policy) {
        let questions = decision.memory_questions(policy);
        let change = questions.changed_since.and_then(|from| self.changed_since(from, decision));
        // What an iteration of this run found out may be meant for the next run only.
        let asks = self.state.attempts.is_empty() || policy.memory.cross_iteration_learning == Switch::On;
        let found = match questions.look_up && asks {
            true => {
                let root = self.workspace.worktree.root();
                working_tree::look_up(&self.workspace.repository, root, decision, snapshot, policy).await
            }
            false => MemoryAnswers::default(),
        };
        decision.remember(MemoryAnswers { change, ..found });
    }

    fn changed_since(&self, from: Sha, decision: &Decision) -> Option<(AppliedFix, Vec<ChangedFile>)> {
        let worktree = &self.workspace.worktree;
        let trees = (worktree.tree_of(from).ok()?, worktree.tree_of(decision.next.head_sha).ok()?);
        let files = worktree.changes(trees.0, trees.1).ok()?;
        let failing = self.state.attempts.last().map(|attempt| attempt.summary.clone()).unwrap_or_default();
        let files = files.known().to_vec();
        let failing: BTreeSet<String> =
            files.iter().map(|file| file.path.clone()).filter(|path| failing.contains(path.as_str())).collect();
        let said = self.reflex().fixes.last().map(|fix| fix.description.clone()).unwrap_or_default();
        Some((AppliedFix::of(decision.next.head_sha, &said, &files, &failing), files))
    }

    fn memory(&self, policy: &Policy) -> MemoryStore<'_, crate::refs::LocalRepository> {
        MemoryStore::new(&self.workspace.repository, Retention { days: policy.memory.retention_days }, Utc::now())
    }

    /// Writes what the attempts leave: after each, or at the end of the run where the policy says so.
    pub(super) async fn record(&mut self, policy: &Policy) {
        let goes_on = self.state.status == RunStatus::InProgress;
        if self.to_remember.lines.is_empty() || (goes_on && policy.memory.persist_per_iteration == Switch::Off) {
            return;
        }
        let notes: MemoryNotes = std::mem::take(&mut self.to_remember);
        if let Err(error) = self.memory(policy).record(&notes).await {
            self.console.note(&format!("The debug memory could not be written: {error}."));
        }
    }
}
