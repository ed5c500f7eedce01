//! A loop that this process runs: how it is loaded and saved, and what every step needs of it.

use chrono::Utc;

use super::local_workspace::{LocalWorkspace, no_such, task_ref, was_damaged};
use crate::cli::{CliError, output, working_tree};
use loopgate_core::{
    CheckName, Sha,
    deciding::Decision,
    evidence::{CheckEvidence, Environment, FileCoverage},
    observed::{ChangedFiles, Snapshot},
    policy::{Policy, Trigger},
    reflex::{self, Alias, Breach, FixRecord, ReflexState, Turn},
    state::LoopState,
};
use loopgate_refs::{
    LoadedRun, LocalRepository, MemoryNotes, RefName, RefsError, RunLines, Save, StateStore,
    loop_subject,
};
use loopgate_render::{PlantedSettings, loop_breach, loop_call};
use loopgate_runner::{self as runner, Extent, Head, Interrupt};

/// A loop that this process runs.
pub(super) struct Session<'g> {
    pub workspace: &'g LocalWorkspace,
    pub alias: Alias,
    pub state: LoopState,
    /// The repository's policy, before the loop's settings.
    pub policy: Policy,
    pub interrupt: Interrupt,
    pub(super) store: StateStore<'g, LocalRepository>,
    pub(super) loaded: LoadedRun,
    pub(super) artifact: String,
    /// The last evaluation, as long as this process made it.
    pub(super) judged: Option<Judged>,
    /// The evidence of phase A, for phase B on the same head.
    pub(super) phase_a: CheckedAttempt,
    /// Attempts that are not in the debug memory yet.
    pub(super) to_remember: MemoryNotes,
    /// What was planted in git's configuration, as far as it was said.
    said_planted: Vec<PlantedSettings>,
}

/// The last evaluation of the head.
pub(super) struct Judged {
    pub decision: Decision,
    pub snapshot: Snapshot,
}

/// The evidence of the checks that ran.
#[derive(Debug, Default)]
pub(super) struct CheckedAttempt {
    pub checks: Vec<CheckEvidence>,
    pub coverage: Option<Vec<FileCoverage>>,
    /// Tracked files that differ afterwards.
    pub edited: Vec<String>,
    /// What they ran with; none where nothing was run.
    pub environment: Option<Environment>,
}

/// What a step led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// There is a next step.
    On,
    /// The author has to edit before the loop goes on.
    Waiting,
    Interrupted,
    /// Blocked or over.
    Over,
}

impl<'g> Session<'g> {
    /// Loads a loop. `begun` is the state of one that is to be begun.
    pub async fn open(
        workspace: &'g LocalWorkspace,
        alias: &Alias,
        begun: Option<LoopState>,
        interrupt: Interrupt,
    ) -> Result<Self, CliError> {
        let store = workspace.store(alias);
        let loaded = store.load().await?;
        if loaded.tip.is_none() && begun.is_none() {
            return Err(no_such(alias));
        }
        let (state, recovered) = match begun {
            Some(state) => (state, None),
            None => workspace.remembered(alias, &loaded),
        };
        if let Some(how) = recovered {
            was_damaged(&how);
        }
        let config = state
            .run
            .reflex
            .as_ref()
            .and_then(|reflex| reflex.settings.config.as_deref());
        let policy = workspace.policy(config)?;
        let artifact = match loaded.tip {
            Some(tip) => store.report(tip).await?,
            None => String::new(),
        };
        let alias = alias.clone();
        Ok(Self {
            workspace,
            alias,
            state,
            policy,
            interrupt,
            store,
            loaded,
            artifact,
            judged: None,
            phase_a: CheckedAttempt::default(),
            to_remember: MemoryNotes::default(),
            said_planted: Vec::new(),
        })
    }

    /// Says what has come into git's configuration since it was said last.
    pub(super) fn say_planted(&mut self) {
        let mut planted = working_tree::planted(self.workspace.worktree.git());
        let said = std::mem::replace(&mut self.said_planted, planted.clone());
        planted.retain(|one| !said.contains(one));
        working_tree::say_planted(&planted);
    }

    /// The policy with this loop's settings.
    pub(super) fn governed(&self) -> Policy {
        reflex::govern(
            &self.policy,
            &self.reflex().settings,
            self.state.run.max_iterations,
        )
    }

    /// What stands for the code now: HEAD where a fixer commits, else the working tree as it is.
    pub(super) fn checked_out(&self) -> Result<Head, CliError> {
        let head = self.workspace.worktree.head()?;
        if self.fixer(&self.governed()).is_ok() {
            self.ask_for_a_clean_tree(head)?;
            return Ok(head);
        }
        let tree = self.workspace.worktree.tree(Extent::Everything)?;
        if tree == head.tree {
            Ok(head)
        } else {
            Ok(Head {
                commit: self.workspace.worktree.stand_in(tree, head)?,
                tree,
            })
        }
    }

    /// A fixer's edits become a commit of their own, so the tree must hold no other edits.
    pub(super) fn ask_for_a_clean_tree(&self, head: Head) -> Result<(), CliError> {
        let tracked = self.workspace.worktree.tree(Extent::Tracked)?;
        if tracked == head.tree {
            return Ok(());
        }
        let files = self.workspace.worktree.differing(head.tree, tracked)?;
        let named = files.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
        Err(CliError::bad_data(format!(
            "{named} {} changes that are not committed. The fixer's edits become commits of their own: commit yours, \
             or `git stash` them, then go on with `loopgate loop resume {}`.",
            if files.len() == 1 { "has" } else { "have" },
            self.alias
        )))
    }

    pub(super) async fn save_or_break(
        &mut self,
        turn: Result<Turn, Breach>,
    ) -> Result<Progress, CliError> {
        match turn {
            Ok(turn) => self.save(turn).await,
            Err(breach) => self.break_off(loop_breach(&breach)).await,
        }
    }

    pub(super) async fn break_off(&mut self, why: String) -> Result<Progress, CliError> {
        output::note_line(format_args!("This step went wrong: {why}."));
        let turn = self.turn().broke(why);
        self.save(turn).await
    }

    /// Calls a person instead of going on.
    pub(super) async fn call_a_person(
        &mut self,
        cause: Trigger,
        notes: Vec<String>,
    ) -> Result<Progress, CliError> {
        let turn = self
            .turn()
            .refused(&[cause], loop_call(cause, notes), &self.governed());
        self.save(turn).await
    }

    /// A transition from where the loop stands now.
    pub(super) fn turn(&self) -> Turn {
        Turn::on(&self.state, Utc::now())
    }

    /// Saves a transition that is no attempt.
    pub(super) async fn save(&mut self, turn: Turn) -> Result<Progress, CliError> {
        self.save_attempt(turn, None).await
    }

    /// Saves a transition. Should somebody have saved since (a git process that outlived a killed loop), what they
    /// saved counts, and this transition is dropped: the loop goes on from there.
    pub(super) async fn save_attempt(
        &mut self,
        turn: Turn,
        attempt: Option<(String, String)>,
    ) -> Result<Progress, CliError> {
        let subject = loop_subject(&turn);
        let save = Save {
            state: &turn.state,
            lines: &turn.lines,
            attempt,
            artifact: &self.artifact,
            subject: &subject,
            statement: None,
        };
        match self.store.save(&self.loaded, &save).await {
            Ok(_) => {}
            Err(RefsError::RefMoved { .. }) => self.judged = None,
            Err(error) => return Err(CliError::unavailable(error)),
        }
        self.loaded = self.store.load().await?;
        let (state, _) = self.loaded.state(|| turn.state.clone());
        self.state = state;
        if self.state.run.has_ended() {
            self.workspace
                .repository
                .leave_task(&task_ref(&self.alias))
                .await?;
            // What is left of the loop for `loopgate metrics` when its state is cleaned away.
            if let Some(tip) = self.loaded.tip
                && let Some(line) = self.store.line(tip, self.state.run.updated_at).await?
            {
                RunLines {
                    objects: &self.workspace.repository,
                    name: RefName::local_metrics(),
                }
                .append(&line)
                .await?;
            }
        }
        Ok(Progress::On)
    }

    pub(super) fn reflex(&self) -> &ReflexState {
        self.state
            .run
            .reflex
            .as_ref()
            .expect("put in place when the session was opened")
    }
}

/// Names as the policy has them.
pub(super) fn listed<'a>(names: impl IntoIterator<Item = &'a CheckName>) -> String {
    names
        .into_iter()
        .map(CheckName::as_str)
        .collect::<Vec<_>>()
        .join(", ")
}

/// The record of a change between two iterations, by a person unless that is changed.
pub(super) fn fix_record(
    iteration: u32,
    head: Sha,
    subject: String,
    files: &ChangedFiles,
) -> FixRecord {
    FixRecord {
        iteration,
        by: reflex::FixMaker::Person,
        head_sha: head,
        description: subject.clone(),
        subject,
        diff_summary: runner::diff_summary(files),
        files_modified: files
            .known()
            .iter()
            .map(|file| file.path.clone())
            .take(50)
            .collect(),
        outside_scope: Vec::new(),
        proven: Vec::new(),
        cost_usd: None,
    }
}
