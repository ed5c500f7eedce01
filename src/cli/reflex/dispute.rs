//! Disputes in a local loop: its fixer, or the person at the terminal, declares that a failure is not theirs to fix,
//! and a person settles it with `loop resume --settle`.

use chrono::Utc;

use super::{
    Progress, Session,
    local_workspace::{LocalWorkspace, person},
    locked,
};
use crate::{
    cli::{CliError, actions, output::Format},
    render,
    runner::{self, FixerDispute, Head},
};
use loopgate_core::{
    UserId,
    commands::Command,
    escalation::disputes::{self, Claim},
    observed::{Account, AccountKind},
    policy::{CommitAuthor, Trigger},
    reflex::{Alias, Turn},
    state::{CommandRefusal, DisputeSource},
    text,
};

/// Disputes a failure in the active loop here, if there is one: its alias.
///
/// # Errors
/// When the loop's head has no such failure, or it was disputed before; when the loop is at work.
pub async fn dispute_here(dispute: &FixerDispute) -> Result<Option<Alias>, CliError> {
    let Ok(workspace) = LocalWorkspace::open().await else { return Ok(None) };
    let active = workspace.repository.current_task().await?;
    let Some(alias) = active.and_then(|alias| alias.parse::<Alias>().ok()) else { return Ok(None) };
    let _locks = locked(&workspace, &alias)?;
    let (stop, _watch) = runner::interrupt_at(runner::asked_to_stop());
    let mut session = Session::open(&workspace, &alias, None, Format::Json, stop).await?;
    let progress = session.dispute(dispute, person().to_string()).await?;
    progress.map(|_| Some(alias)).map_err(|refusal| CliError::bad_data(render::refused_command(&refusal)))
}

impl Session<'_> {
    /// Opens a dispute, which pauses the loop.
    pub(super) async fn dispute(
        &mut self,
        FixerDispute { failure, kind, reason }: &FixerDispute,
        by: String,
    ) -> Result<Result<Progress, CommandRefusal>, CliError> {
        let reason = text::one_line(reason, 500);
        let login = by.parse().unwrap_or_else(|_| person());
        let by = Account { id: UserId::new(0), login, kind: AccountKind::User };
        let (at, source) = (Utc::now(), DisputeSource::LocalLoop);
        let claim = Claim { failure: *failure, kind: *kind, reason: &reason, by: &by, at, source };
        let (mut state, policy) = (self.state.clone(), self.governed());
        let judged = self.judged().await?;
        let failures = &judged.decision.view.failures;
        let begun = disputes::begin(&mut state, &judged.snapshot, failures, &claim);
        let dispute = match begun {
            Ok(dispute) => dispute,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let call = render::loop_dispute(&dispute, failures);
        let turn = Turn::on(&state, at).disputed(dispute, call, &policy);
        self.save(turn, None).await.map(Ok)
    }

    /// What a workflow's loop knows is gone with its job, so an empty commit takes the dispute to the pull request.
    pub(super) fn dispute_in_a_commit(
        &self,
        FixerDispute { failure, kind, reason }: &FixerDispute,
        head: Head,
        author: &CommitAuthor,
    ) -> Result<(), CliError> {
        if !actions::is_here() {
            return Ok(());
        }
        let reason = text::one_line(reason, usize::MAX);
        let message = format!("Dispute a failure\n\nLoopgate-Dispute: {failure} {} {reason}\n", kind.as_str());
        let worktree = &self.workspace.worktree;
        let commit = worktree.commit_tree(head.tree, head.commit, &message, author, None)?;
        worktree.advance(head.commit, commit).map_err(CliError::unavailable)
    }

    /// Takes a person's word on what is disputed, if anything is.
    pub(super) async fn settle(&mut self, word: Option<&Command>) -> Result<(), CliError> {
        let is_disputed = self.state.blocked.as_ref().is_some_and(|blocked| blocked.trigger == Trigger::Disputed);
        let (failure, outcome) = match word {
            Some(Command::Settle { failure, outcome }) => (*failure, outcome.clone()),
            _ if !is_disputed => return Ok(()),
            _ => {
                let ways = "--settle test, --settle code, or --settle \"neither …\" with what should happen";
                return Err(CliError::usage(format!("a failure is disputed: say who is right with {ways}")));
            }
        };
        let weakened = self.weakening(self.state.head_sha)?;
        let turn = Turn::on(&self.state, Utc::now()).settled(failure, outcome, person(), &weakened);
        let turn = turn.map_err(|refusal| CliError::bad_data(render::refused_command(&refusal)))?;
        self.save(turn, None).await.map(drop)
    }
}
