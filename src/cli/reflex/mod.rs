//! `loopgate loop`: the reflex loop in a local repository.
//!
//! What a step leads to is decided in [`core::reflex`](loopgate_core::reflex). Here it is executed: `new` begins a loop
//! once it has asked, `drive` runs the steps and saves after each, `evaluate` runs the checks, `refine` and
//! `programs` let programs edit the working tree, keep them from moving git, and keep what they leave behind,
//! `local_workspace` knows repository and locks, `report` prints.

mod drive;
mod evaluate;
mod local_workspace;
mod manage;
mod new;
mod refine;
mod report;

use clap::{Args, Subcommand};

pub(super) use self::manage::dispute_here;
use self::{
    drive::{Progress, Session},
    local_workspace::LocalWorkspace,
};
use super::{
    CliError, CommandResult, exit,
    output::{self, Format},
};
use crate::{render, runner};
use loopgate_core::{
    Sha,
    commands::command,
    reflex::{Alias, Turn},
    state::RunStatus,
    verdict::tamper,
};

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
    Stop(manage::StopArguments),
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
    Clean(manage::CleanArguments),
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
    settle: Option<loopgate_core::commands::Command>,
}

fn settling(words: &str) -> Result<loopgate_core::commands::Command, String> {
    command::read(&format!("settle {words}"))
        .map_err(|_| "write test, code, or neither and what should happen".to_owned())
}

pub async fn run(command: LoopCommand) -> CommandResult {
    // Commits are judged where no loop runs and nothing is checked out: that takes no workspace.
    let open = LocalWorkspace::open;
    match command {
        LoopCommand::New(arguments) => new::run(&open().await?, *arguments).await,
        LoopCommand::Resume { which, resumption } => go_on(&open().await?, &which, GoOn::Resumed(resumption)).await,
        LoopCommand::Status { which, full } => status(&open().await?, &which, full).await,
        LoopCommand::Next(which) => go_on(&open().await?, &which, GoOn::OneStep).await,
        LoopCommand::Run { which, fail_on } => {
            let code = go_on(&open().await?, &which, GoOn::UntilItStops).await?;
            Ok(fail_on.map_or(code, |fail_on| fail_on.leaves(code, 0)))
        }
        LoopCommand::Stop(arguments) => manage::stop(&open().await?, &arguments).await,
        LoopCommand::List => manage::list(&open().await?).await,
        LoopCommand::History(which) => manage::history(&open().await?, &which).await,
        LoopCommand::Judge { before, after } => manage::judge(before, after),
        LoopCommand::Clean(arguments) => manage::clean(&open().await?, &arguments).await,
    }
}

/// How a loop is run.
#[derive(Debug)]
enum GoOn {
    OneStep,
    UntilItStops,
    /// The same, also where a person was called.
    Resumed(Resumption),
}

async fn go_on(workspace: &LocalWorkspace, which: &Which, how: GoOn) -> CommandResult {
    let alias = workspace.meant(which.alias.as_ref()).await?;
    let state = workspace.state(&alias).await?;
    if state.has_ended() {
        return report::over(&state);
    }
    if state.status == RunStatus::Escalated && !matches!(how, GoOn::Resumed(_)) {
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
async fn resume(session: &mut Session<'_>, Resumption { accept, settle }: &Resumption) -> Result<(), CliError> {
    session.settle(settle.as_ref()).await?;
    if session.state.status == RunStatus::Escalated && settle.is_none() {
        let edits = session.refused_edits()?;
        let mut accepted = None;
        if accept.is_some() {
            accepted = Some(tamper::counts(&session.weakening(edits.unwrap_or(session.state.head_sha))?));
        }
        // In this order: should the process die in between, the edits are taken over by accepting them once more, or
        // are found as a commit of this run.
        if let (Some(_), Some(edits)) = (&accepted, edits) {
            session.take_over(edits)?;
        }
        let turn = Turn::on(&session.state, chrono::Utc::now()).resumed(local_workspace::person(), accepted, None);
        session.save(turn, None).await?;
    }
    Ok(session.workspace.repository.enter_task(&local_workspace::task_ref(&session.alias)).await?)
}

async fn status(workspace: &LocalWorkspace, which: &Which, is_full: bool) -> CommandResult {
    let alias = workspace.looked_at(which.alias.as_ref()).await?;
    let (state, rebuilt) = workspace.load(&alias).await?;
    if let Some(how) = rebuilt {
        report::was_damaged(&how);
    }
    if which.alias.is_none() && state.has_ended() {
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
