//! `loopgate loop`: the reflex loop in a local repository.
//!
//! What a step leads to is decided in [`core::reflex`](loopgate_core::reflex). Here it is executed: `new` begins a loop
//! once `confirm` has asked, `drive` runs the steps and saves after each, `evaluate` runs the checks, `refine` and
//! `programs` let programs edit the working tree, keep them from moving git, and keep what they leave behind,
//! `local_workspace` knows repository and locks, `report` prints.

mod confirm;
mod dispute;
mod drive;
mod evaluate;
mod local_workspace;
mod manage;
mod new;
mod programs;
mod refine;
mod report;

use clap::{Args, Subcommand};

pub(super) use self::dispute::dispute_here;
use self::{
    drive::{Progress, Session},
    local_workspace::LocalWorkspace,
};
use super::{CliError, CommandResult, exit, output, output::Format};
use crate::{render, runner};
use loopgate_core::{
    commands::command,
    reflex::{Alias, Turn},
    state::{LoopState, RunStatus},
    verdict::tamper,
};

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Set up a loop: show what is inferred, and ask
    #[command(alias = "init")]
    New(Box<new::Arguments>),
    /// Go on with a loop: the interrupted step again, or after a person was called
    Resume(ResumeArguments),
    /// How a loop stands
    Status(StatusArguments),
    /// Execute one step
    Next(Which),
    /// Run until it is complete, blocked, at its limit, or yours to fix
    Run(RunArguments),
    /// End a loop
    Stop(manage::StopArguments),
    /// All loops
    List,
    /// Everything that happened in a loop
    History(Which),
    /// Say whether commits change only what is for a fixer to change
    Judge(manage::JudgeArguments),
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

#[derive(Debug, Args)]
pub struct RunArguments {
    #[command(flatten)]
    which: Which,
    /// Which ends have an exit code other than 0 [default: all but completed; in the Action: failure]
    #[arg(long, env = "LOOPGATE_FAIL_ON", value_enum, value_name = "WHICH")]
    fail_on: Option<exit::FailOn>,
}

#[derive(Debug, Args)]
pub struct ResumeArguments {
    #[command(flatten)]
    which: Which,
    /// Take edits that were refused as tampering, as they are
    #[arg(long, value_enum, value_name = "CAUSE")]
    accept: Option<Acceptable>,
    /// Who is right where a failure is disputed: test, code, or neither and what should happen
    #[arg(long, value_parser = settling, value_name = "[FAILURE] WHO")]
    settle: Option<loopgate_core::commands::Command>,
}

fn settling(words: &str) -> Result<loopgate_core::commands::Command, String> {
    command::read(&format!("settle {words}"))
        .map_err(|_| "write test, code, or neither and what should happen".to_owned())
}

/// Causes that a person can accept.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Acceptable {
    /// Tests or configuration were weakened, and it is meant
    Tampering,
}

#[derive(Debug, Args)]
pub struct StatusArguments {
    #[command(flatten)]
    which: Which,
    /// The whole report
    #[arg(long)]
    full: bool,
}

pub async fn run(command: &Command, format: Format) -> CommandResult {
    // Commits are judged where no loop runs and nothing is checked out: that takes no workspace.
    let open = LocalWorkspace::open;
    match command {
        Command::New(arguments) => new::run(&open().await?, arguments, format).await,
        Command::Resume(arguments) => go_on(&open().await?, &arguments.which, GoOn::Resumed(arguments), format).await,
        Command::Status(arguments) => status(&open().await?, arguments, format).await,
        Command::Next(which) => go_on(&open().await?, which, GoOn::OneStep, format).await,
        Command::Run(arguments) => {
            let code = go_on(&open().await?, &arguments.which, GoOn::UntilItStops, format).await?;
            Ok(arguments.fail_on.map_or(code, |fail_on| fail_on.leaves(code, 0)))
        }
        Command::Stop(arguments) => manage::stop(&open().await?, arguments, format).await,
        Command::List => manage::list(&open().await?, format).await,
        Command::History(which) => manage::history(&open().await?, which, format).await,
        Command::Judge(arguments) => manage::judge(arguments),
        Command::Clean(arguments) => manage::clean(&open().await?, arguments, format).await,
    }
}

/// How a loop is run.
#[derive(Clone, Copy)]
enum GoOn<'a> {
    OneStep,
    UntilItStops,
    /// The same, also where a person was called.
    Resumed(&'a ResumeArguments),
}

async fn go_on(workspace: &LocalWorkspace, which: &Which, how: GoOn<'_>, format: Format) -> CommandResult {
    let alias = workspace.meant(which.alias.as_ref()).await?;
    let state = workspace.state(&alias).await?;
    if state.has_ended() {
        return over(&state, format);
    }
    if state.status == RunStatus::Escalated && !matches!(how, GoOn::Resumed(_)) {
        return report::ended(&state, "", Progress::Over, format);
    }
    let _locks = locked(workspace, &alias)?;
    let (stop, _watch) = runner::interrupt_at(runner::asked_to_stop());
    let mut session = Session::open(workspace, &alias, None, format, stop).await?;
    session.ask_for_its_branch()?;
    if let GoOn::Resumed(arguments) = how {
        resume(&mut session, arguments).await?;
    }
    let progress = loop {
        let progress = session.step().await?;
        if progress != Progress::On || matches!(how, GoOn::OneStep) {
            break progress;
        }
    };
    report::ended(&session.state, &session.artifact, progress, format)
}

/// Takes a person's word, if one was called, and makes the loop the active one.
async fn resume(session: &mut Session<'_>, arguments: &ResumeArguments) -> Result<(), CliError> {
    session.settle(arguments.settle.as_ref()).await?;
    if session.state.status == RunStatus::Escalated && arguments.settle.is_none() {
        let edits = session.refused_edits()?;
        let accepted = match arguments.accept {
            Some(Acceptable::Tampering) => {
                Some(tamper::counts(&session.weakening(edits.unwrap_or(session.state.head_sha))?))
            }
            None => None,
        };
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

fn over(state: &LoopState, format: Format) -> CommandResult {
    format.show(&report::document(state), || report::is_over(state))?;
    Ok(report::code(state))
}

fn locked(workspace: &LocalWorkspace, alias: &Alias) -> Result<local_workspace::Locks, CliError> {
    let locks = workspace.lock(alias, chrono::Utc::now())?;
    if let Some(dead) = &locks.left_by {
        output::note_line(format_args!("Taking over from {dead}, which is gone."));
    }
    Ok(locks)
}

async fn status(workspace: &LocalWorkspace, arguments: &StatusArguments, format: Format) -> CommandResult {
    let alias = workspace.looked_at(arguments.which.alias.as_ref()).await?;
    let (state, rebuilt) = workspace.load(&alias).await?;
    if let Some(how) = rebuilt {
        report::was_damaged(&how);
    }
    if arguments.which.alias.is_none() && state.has_ended() {
        output::note_line("No loop is active. The last one:");
    }
    match format {
        Format::Json => output::json(&report::document(&state))?,
        Format::Human if arguments.full => {
            let artifact = drive::artifact(workspace, workspace.store(&alias).load().await?.tip).await?;
            output::text(report::whole(&state, &artifact, format));
        }
        Format::Human => output::text(render::loop_status(&state)),
    }
    Ok(exit::OK)
}
