//! `loopgate loop`: the reflex loop in a local repository.
//!
//! What a step leads to is decided in [`core::reflex`](loopgate_core::reflex). Here it is executed: `new` begins a loop
//! once it has asked, `session` loads and saves it, `drive` runs the steps, `evaluate` runs the checks, `refine` lets
//! programs edit the working tree, keeps them from moving git, and keeps what they leave behind, `local_workspace`
//! knows repository and locks, `report` prints. The fixer, or the person at the terminal, declares that a failure is
//! not theirs to fix: a dispute, which a person settles with `loop resume --settle`.

mod drive;
mod evaluate;
mod local_workspace;
mod new;
mod refine;
mod report;
mod session;

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use chrono::Utc;
use clap::{Args, Subcommand};
use minijinja::{context, value::Serde};
use serde_json::json;

use self::{
    local_workspace::{LocalWorkspace, aside_ref, person},
    session::{Progress, Session},
};
use super::{
    CliError, CommandResult, actions, exit,
    output::{self, Format},
    working_tree::CONFIGURATION,
};
use loopgate_core::{
    Sha, UserId,
    commands::{Command, command},
    concerns::{
        disputes::{self, Claim},
        tampering,
    },
    observed::{Account, AccountKind},
    policy::{CommitAuthor, Trigger},
    reflex::{self, Alias, EditRefusal, EditVerdict, Turn},
    state::{CommandRefusal, DisputeSource, RunStatus},
    text,
};
use loopgate_refs::{GitObjects as _, RefName};
use loopgate_render as render;
use loopgate_runner::{self as runner, FixerDispute, Head, Interrupt, Lock, Worktree};

#[derive(Debug, Subcommand)]
pub enum LoopCommand {
    /// Set up a loop: show what is inferred, and ask
    #[command(alias = "init")]
    New(Box<new::NewLoopArguments>),
    /// Go on with a loop: the interrupted step again, or after a person was called
    Resume {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        resumption: Resumption,
    },
    /// How a loop stands
    Status {
        #[command(flatten)]
        which: Which,
        /// The whole report
        #[arg(long)]
        full: bool,
    },
    /// Execute one step
    Next(Which),
    /// Run until it is complete, blocked, at its limit, or yours to fix
    Run {
        #[command(flatten)]
        which: Which,
        /// Which ends have an exit code other than 0 [default: all but completed; in the Action: failure]
        #[arg(long, env = "LOOPGATE_FAIL_ON", value_enum, value_name = "WHICH")]
        fail_on: Option<exit::FailOn>,
    },
    /// End a loop
    Stop(StopArguments),
    /// All loops
    List,
    /// Everything that happened in a loop
    History(Which),
    /// Say whether commits change only what is for a fixer to change
    Judge {
        /// The commit that they stand on
        #[arg(value_name = "BEFORE")]
        before: Sha,
        /// The last of them
        #[arg(value_name = "AFTER")]
        after: Sha,
    },
    /// Delete loops that are over
    Clean(CleanArguments),
}

/// The loop that is meant.
#[derive(Debug, Args)]
pub struct Which {
    /// The loop's alias [default: the active one]
    #[arg(value_name = "ALIAS")]
    alias: Option<Alias>,
}

/// The word of a person who was called.
#[derive(Debug, Args)]
pub struct Resumption {
    /// Take edits that were refused as tampering, as they are
    #[arg(long, value_parser = ["tampering"], value_name = "CAUSE")]
    accept: Option<String>,
    /// Who is right where a failure is disputed: test, code, or neither and what should happen
    #[arg(long, value_parser = settling, value_name = "[FAILURE] WHO")]
    settle: Option<Command>,
}

fn settling(words: &str) -> Result<Command, String> {
    command::read(&format!("settle {words}"))
        .map_err(|_| "write test, code, or neither and what should happen".to_owned())
}

#[derive(Debug, Args)]
pub struct StopArguments {
    /// Why; kept with the loop
    #[arg(value_name = "REASON")]
    reason: Option<String>,
    /// The loop's alias [default: the active one]
    #[arg(long, value_name = "ALIAS")]
    alias: Option<Alias>,
}

#[derive(Debug, Args)]
pub struct CleanArguments {
    /// The loop's alias
    #[arg(
        value_name = "ALIAS",
        required_unless_present = "all",
        conflicts_with = "all"
    )]
    alias: Option<Alias>,
    /// Every loop that is over
    #[arg(long)]
    all: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

pub async fn run(command: LoopCommand) -> CommandResult {
    // Commits are judged where no loop runs and nothing is checked out: that takes no workspace.
    let open = LocalWorkspace::open;
    match command {
        LoopCommand::New(arguments) => new::run(&open().await?, *arguments).await,
        LoopCommand::Resume { which, resumption } => {
            go_on(&open().await?, &which, GoOn::Resumed(resumption)).await
        }
        LoopCommand::Status { which, full } => status(&open().await?, &which, full).await,
        LoopCommand::Next(which) => go_on(&open().await?, &which, GoOn::OneStep).await,
        LoopCommand::Run { which, fail_on } => {
            let code = go_on(&open().await?, &which, GoOn::UntilItStops).await?;
            Ok(fail_on.map_or(code, |fail_on| fail_on.leaves(code, 0)))
        }
        LoopCommand::Stop(arguments) => stop(&open().await?, &arguments).await,
        LoopCommand::List => list(&open().await?).await,
        LoopCommand::History(which) => history(&open().await?, &which).await,
        LoopCommand::Judge { before, after } => judge(before, after),
        LoopCommand::Clean(arguments) => clean(&open().await?, &arguments).await,
    }
}

/// How a loop is run.
#[derive(Debug)]
enum GoOn {
    OneStep,
    UntilItStops,
    /// Until it stops, also after a person was called.
    Resumed(Resumption),
}

async fn go_on(workspace: &LocalWorkspace, which: &Which, how: GoOn) -> CommandResult {
    let alias = workspace.meant(which.alias.as_ref()).await?;
    let state = workspace.state(&alias).await?;
    if state.run.has_ended() {
        return report::over(&state);
    }
    if state.run.status == RunStatus::Escalated && !matches!(how, GoOn::Resumed(_)) {
        return report::ended(&state, "", Progress::Over);
    }
    let _locks = workspace.lock(&alias)?;
    let (stop, _watch) = runner::interrupt_at(runner::asked_to_stop());
    let mut session = Session::open(workspace, &alias, None, stop).await?;
    session.ask_for_its_branch()?;
    if let GoOn::Resumed(resumption) = &how {
        resume(&mut session, resumption).await?;
    }
    let progress = loop {
        let progress = session.step().await?;
        if progress != Progress::On || matches!(how, GoOn::OneStep) {
            break progress;
        }
    };
    report::ended(&session.state, &session.artifact, progress)
}

/// Takes a person's word, if one was called, and makes the loop the active one.
async fn resume(
    session: &mut Session<'_>,
    Resumption { accept, settle }: &Resumption,
) -> Result<(), CliError> {
    session.settle(settle.as_ref()).await?;
    if session.state.run.status == RunStatus::Escalated && settle.is_none() {
        // Those that were refused as tampering, if they are of the current iteration.
        let edits = match session
            .workspace
            .worktree
            .resolve(&aside_ref(&session.alias))
        {
            Some(aside) if session.is_our_commit(aside)? => Some(aside),
            _ => None,
        };
        let mut accepted = None;
        if accept.is_some() {
            accepted = Some(tampering::counts(
                &session.weakening(edits.unwrap_or(session.state.head.sha))?,
            ));
        }
        // In this order: should the process die in between, the edits are taken over by accepting them once more, or
        // are found as a commit of this run.
        if let (Some(_), Some(edits)) = (&accepted, edits) {
            session.take_over(edits)?;
        }
        let turn = session.turn().resumed(person(), accepted, None);
        session.save(turn).await?;
    }
    Ok(session
        .workspace
        .repository
        .enter_task(&local_workspace::task_ref(&session.alias))
        .await?)
}

async fn status(workspace: &LocalWorkspace, which: &Which, is_full: bool) -> CommandResult {
    let alias = workspace.looked_at(which.alias.as_ref()).await?;
    let (state, rebuilt) = workspace.load(&alias).await?;
    if let Some(how) = rebuilt {
        local_workspace::was_damaged(&how);
    }
    if which.alias.is_none() && state.run.has_ended() {
        output::note_line("No loop is active. The last one:");
    }
    if is_full && output::format() != Format::Json {
        let store = workspace.store(&alias);
        let artifact = match store.tip().await? {
            Some(tip) => store.report(tip).await?,
            None => String::new(),
        };
        output::text(report::whole(&state, &artifact));
        return Ok(exit::OK);
    }
    output::show(&report::document(&state), || render::loop_status(&state))
}

/// Whether what was committed between two commits is for a fixer to change: what pushes a loop's
/// commits from another job asks this.
fn judge(before: Sha, after: Sha) -> CommandResult {
    let worktree = Worktree::at(&std::env::current_dir()?).map_err(CliError::bad_data)?;
    let files = &worktree
        .changes(before, after)
        .map_err(CliError::bad_data)?;
    let wanted = tampering::files_to_read(files, Some(before), after);
    let contents = &worktree.contents(wanted)?;
    let edits = reflex::Edits {
        files,
        contents,
        before,
        after,
        base_tests: &[],
    };
    let mut refusals = match reflex::judge_edits(
        edits,
        &BTreeSet::new(),
        BTreeSet::new(),
        None,
        CONFIGURATION,
    ) {
        EditVerdict::Refuse(refusals) => refusals,
        EditVerdict::Nothing | EditVerdict::Take { .. } => Vec::new(),
    };
    // What one commit brings and a later one takes away is pushed, and runs, all the same.
    let mut parent = before;
    for commit in worktree.commits_since(before, after)? {
        let files = worktree.changes(parent, commit)?;
        let found = reflex::intrusions(&files, CONFIGURATION);
        let new: Vec<EditRefusal> = found
            .into_iter()
            .filter(|one| !refusals.contains(one))
            .collect();
        refusals.extend(new);
        parent = commit;
    }
    if refusals.is_empty() {
        return Ok(exit::OK);
    }
    for refusal in refusals.iter().take(20) {
        output::note_line(render::plain_line(&render::loop_edit_refusal(refusal)));
    }
    Ok(exit::ESCALATE)
}

async fn stop(workspace: &LocalWorkspace, arguments: &StopArguments) -> CommandResult {
    let alias = workspace.meant(arguments.alias.as_ref()).await?;
    let state = workspace.state(&alias).await?;
    if state.run.has_ended() {
        return report::over(&state);
    }
    end_running_process(workspace, &alias).await?;
    let _locks = workspace.lock(&alias)?;
    let never = Interrupt::new();
    let mut session = Session::open(workspace, &alias, None, never).await?;
    if !session.state.run.has_ended() {
        let turn = session.turn().stopped(arguments.reason.clone(), person());
        session.save(turn).await?;
    }
    let state = &session.state;
    output::show(&report::document(state), || {
        format!("{alias}: {}", render::loop_verdict(state))
    })
}

/// Asks a process that runs the loop on this machine to end, as Ctrl-C would, and waits for it.
async fn end_running_process(workspace: &LocalWorkspace, alias: &Alias) -> Result<(), CliError> {
    let path = workspace.lock_path(alias);
    let Some(holder) = Lock::holder(&path) else {
        return Ok(());
    };
    if !holder.is_on_this_host() {
        return Err(CliError::unavailable(format!(
            "the loop `{alias}` is being run by {holder}; end it there"
        )));
    }
    #[cfg(unix)]
    {
        use nix::{
            sys::signal::{Signal, kill},
            unistd::Pid,
        };
        let pid = i32::try_from(holder.pid)?;
        // Gone in between is what was wanted.
        let _ = kill(Pid::from_raw(pid), Signal::SIGINT);
    }
    let patience = Instant::now() + Duration::from_secs(20);
    while Lock::holder(&path).is_some() {
        if Instant::now() > patience {
            return Err(CliError::unavailable(format!(
                "the loop `{alias}` is still being run by {holder}; end it there"
            )));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

async fn list(workspace: &LocalWorkspace) -> CommandResult {
    let mut states = Vec::new();
    for alias in workspace.aliases().await? {
        states.push(workspace.state(&alias).await?);
    }
    states.sort_by_key(|state| std::cmp::Reverse(state.run.updated_at));
    let current = workspace.repository.current_task().await?;
    let loops: Vec<_> = states.iter().map(report::document).collect();
    let document = json!({ "schema": "loopgate.loops/v1", "current": current, "loops": loops });
    output::show(&document, || match states.as_slice() {
        [] => "There is no loop here; `loopgate loop new` begins one.".to_owned(),
        states => render::loop_list(states, current.as_deref()),
    })
}

async fn history(workspace: &LocalWorkspace, which: &Which) -> CommandResult {
    let alias = workspace.looked_at(which.alias.as_ref()).await?;
    let store = workspace.store(&alias);
    let tip = workspace
        .repository
        .read_ref(&local_workspace::task_ref(&alias))
        .await?;
    let tip = tip.ok_or_else(|| local_workspace::no_such(&alias))?;
    let lines = store.history(tip).await?;
    let document =
        json!({ "schema": "loopgate.history/v1", "alias": alias.as_str(), "events": lines });
    output::show(&document, || {
        render::text("loop_history.txt", context! { lines => Serde(&lines) })
    })
}

async fn clean(workspace: &LocalWorkspace, arguments: &CleanArguments) -> CommandResult {
    let asked = match &arguments.alias {
        Some(alias) => vec![alias.clone()],
        None => workspace.aliases().await?,
    };
    let (mut doomed, mut kept) = (Vec::new(), Vec::new());
    for alias in asked {
        let state = workspace.state(&alias).await?;
        if state.run.has_ended() && Lock::holder(&workspace.lock_path(&alias)).is_none() {
            doomed.push(alias);
        } else if arguments.all {
            output::note_line(format_args!("{alias} is not over and stays."));
            kept.push(alias);
        } else {
            return Err(CliError::bad_data(format!(
                "the loop `{alias}` is not over; end it first: loopgate loop stop --alias {alias}"
            )));
        }
    }
    let names = doomed
        .iter()
        .map(Alias::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    let question = format!("Delete the state and history of {names}? [yes/no]");
    if !doomed.is_empty() && !arguments.yes && !output::agrees(&question) {
        return Err(CliError::usage(
            "nothing was deleted; answer yes, or pass --yes",
        ));
    }
    for alias in &doomed {
        let name = local_workspace::task_ref(alias);
        workspace.repository.leave_task(&name).await?;
        workspace.repository.delete_ref(&name).await?;
        if let Some(aside) = RefName::of(&aside_ref(alias)) {
            workspace.repository.delete_ref(&aside).await?;
        }
        // What is left behind of these is harmless.
        let _ = std::fs::remove_file(workspace.lock_path(alias));
        let _ = std::fs::remove_dir_all(workspace.worktree.private_dir.join(alias.as_str()));
    }
    let [deleted, kept] =
        [&doomed, &kept].map(|of| of.iter().map(Alias::as_str).collect::<Vec<_>>());
    let document = json!({ "schema": "loopgate.cleaned/v1", "deleted": deleted, "kept": kept });
    let words = if doomed.is_empty() {
        "There is nothing to delete.".to_owned()
    } else {
        format!("Deleted: {names}")
    };
    output::show(&document, || words)
}

/// Disputes a failure in the active loop here, if there is one: its alias.
///
/// # Errors
/// When the loop's head has no such failure, or it was disputed before; when the loop is at work.
pub async fn dispute_here(dispute: &FixerDispute) -> Result<Option<Alias>, CliError> {
    let Ok(workspace) = LocalWorkspace::open().await else {
        return Ok(None);
    };
    let active = workspace.repository.current_task().await?;
    let Some(alias) = active.and_then(|alias| alias.parse::<Alias>().ok()) else {
        return Ok(None);
    };
    let _locks = workspace.lock(&alias)?;
    let (stop, _watch) = runner::interrupt_at(runner::asked_to_stop());
    let mut session = Session::open(&workspace, &alias, None, stop).await?;
    let progress = session.dispute(dispute, person().to_string()).await?;
    progress
        .map(|_| Some(alias))
        .map_err(|refusal| CliError::bad_data(render::refused_command(&refusal)))
}

impl Session<'_> {
    /// Opens a dispute, which pauses the loop.
    pub(super) async fn dispute(
        &mut self,
        FixerDispute {
            failure,
            kind,
            reason,
        }: &FixerDispute,
        by: String,
    ) -> Result<Result<Progress, CommandRefusal>, CliError> {
        let reason = text::one_line(reason, 500);
        let login = by.parse().unwrap_or_else(|_| person());
        let by = Account {
            id: UserId::new(0),
            login,
            kind: AccountKind::User,
        };
        let (at, source) = (Utc::now(), DisputeSource::LocalLoop);
        let claim = Claim {
            failure: *failure,
            kind: *kind,
            reason: &reason,
            by: &by,
            at,
            source,
        };
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
        self.save(turn).await.map(Ok)
    }

    /// What a workflow's loop knows is gone with its job, so an empty commit takes the dispute to the pull request.
    pub(super) fn dispute_in_a_commit(
        &self,
        FixerDispute {
            failure,
            kind,
            reason,
        }: &FixerDispute,
        head: Head,
        author: &CommitAuthor,
    ) -> Result<(), CliError> {
        if !actions::is_here() {
            return Ok(());
        }
        let reason = text::one_line(reason, usize::MAX);
        let message = format!(
            "Dispute a failure\n\nLoopgate-Dispute: {failure} {} {reason}\n",
            kind.as_str()
        );
        let worktree = &self.workspace.worktree;
        let commit = worktree.commit_tree(head.tree, head.commit, &message, author, None)?;
        worktree
            .advance(head.commit, commit)
            .map_err(CliError::unavailable)
    }

    /// Takes a person's word on what is disputed, if anything is.
    pub(super) async fn settle(&mut self, word: Option<&Command>) -> Result<(), CliError> {
        let is_disputed = self
            .state
            .people
            .blocked
            .as_ref()
            .is_some_and(|blocked| blocked.trigger == Trigger::Disputed);
        let (failure, outcome) = match word {
            Some(Command::Settle { failure, outcome }) => (*failure, outcome.clone()),
            _ if !is_disputed => return Ok(()),
            _ => {
                let ways = "--settle test, --settle code, or --settle \"neither …\" with what should happen";
                return Err(CliError::usage(format!(
                    "a failure is disputed: say who is right with {ways}"
                )));
            }
        };
        let weakened = self.weakening(self.state.head.sha)?;
        let turn = self.turn().settled(failure, outcome, person(), &weakened);
        let turn = turn.map_err(|refusal| CliError::bad_data(render::refused_command(&refusal)))?;
        self.save(turn).await.map(drop)
    }
}
