//! `loopgate loop stop | list | history | judge | clean`.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use chrono::Utc;
use clap::Args;
use serde_json::json;

use super::{
    Which,
    drive::Session,
    local_workspace::{self, LocalWorkspace, aside_ref},
    report,
};
use crate::{
    cli::{
        CliError, CommandResult, exit,
        output::{self, Format},
        working_tree::CONFIGURATION,
    },
    refs::GitObjects,
    render,
    runner::{Interrupt, Lock, Worktree},
};
use loopgate_core::{
    Sha,
    reflex::{self, Alias, EditRefusal, EditVerdict, Turn},
    verdict::tamper,
};

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
pub struct JudgeArguments {
    /// The commit that they stand on
    #[arg(value_name = "BEFORE")]
    before: Sha,
    /// The last of them
    #[arg(value_name = "AFTER")]
    after: Sha,
}

#[derive(Debug, Args)]
pub struct CleanArguments {
    /// The loop's alias
    #[arg(value_name = "ALIAS", required_unless_present = "all", conflicts_with = "all")]
    alias: Option<Alias>,
    /// Every loop that is over
    #[arg(long)]
    all: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

/// Whether what was committed between two commits is for a fixer to change: what pushes a loop's
/// commits from another job asks this.
pub(super) fn judge(JudgeArguments { before, after }: &JudgeArguments) -> CommandResult {
    let worktree = Worktree::at(&std::env::current_dir()?).map_err(CliError::bad_data)?;
    let files = &worktree.changes(*before, *after).map_err(CliError::bad_data)?;
    let wanted = tamper::files_to_read(files, Some(*before), *after);
    let contents = &worktree.contents(wanted)?;
    let edits = reflex::Edits { files, contents, before: *before, after: *after, base_tests: &[] };
    let mut refusals = match reflex::judge_edits(edits, &BTreeSet::new(), BTreeSet::new(), None, CONFIGURATION) {
        EditVerdict::Refuse(refusals) => refusals,
        EditVerdict::Nothing | EditVerdict::Take { .. } => Vec::new(),
    };
    // What one commit brings and a later one takes away is pushed, and runs, all the same.
    let mut parent = *before;
    for commit in worktree.commits_since(*before, *after)? {
        let files = worktree.changes(parent, commit)?;
        let found = reflex::intrusions(&files, CONFIGURATION);
        let new: Vec<EditRefusal> = found.into_iter().filter(|one| !refusals.contains(one)).collect();
        refusals.extend(new);
        parent = commit;
    }
    if refusals.is_empty() {
        return Ok(exit::OK);
    }
    for refusal in refusals.iter().take(20) {
        output::note_line(render::plain_line(&render::reason("edit_refusal", refusal)));
    }
    Ok(exit::ESCALATE)
}

pub async fn stop(workspace: &LocalWorkspace, arguments: &StopArguments, format: Format) -> CommandResult {
    let alias = workspace.meant(arguments.alias.as_ref()).await?;
    let state = workspace.state(&alias).await?;
    if state.has_ended() {
        return super::over(&state, format);
    }
    end_whoever_runs(workspace, &alias).await?;
    let now = Utc::now();
    let _locks = workspace.lock(&alias, now)?;
    let never = Interrupt::new();
    let mut session = Session::open(workspace, &alias, None, format, never).await?;
    if !session.state.has_ended() {
        let turn = Turn::on(&session.state, now).stopped(arguments.reason.clone(), local_workspace::person());
        session.save(turn, None).await?;
    }
    let state = &session.state;
    format.show(&report::document(state), || format!("{alias}: {}", render::loop_verdict(state)))
}

/// Asks a process that runs the loop on this machine to end, as Ctrl-C would, and waits for it.
async fn end_whoever_runs(workspace: &LocalWorkspace, alias: &Alias) -> Result<(), CliError> {
    let path = workspace.lock_path(alias);
    let Some(holder) = Lock::holder(&path) else { return Ok(()) };
    if !holder.is_on_this_host() {
        return Err(CliError::unavailable(format!("the loop `{alias}` is being run by {holder}; end it there")));
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

pub async fn list(workspace: &LocalWorkspace, format: Format) -> CommandResult {
    let mut states = Vec::new();
    for alias in workspace.aliases().await? {
        states.push(workspace.state(&alias).await?);
    }
    states.sort_by_key(|state| std::cmp::Reverse(state.updated_at));
    let current = workspace.repository.current_task().await?;
    let loops: Vec<_> = states.iter().map(report::document).collect();
    let document = json!({ "schema": "loopgate.loops/v1", "current": current, "loops": loops });
    format.show(&document, || match states.as_slice() {
        [] => "There is no loop here; `loopgate loop new` begins one.".to_owned(),
        states => render::loop_list(states, current.as_deref()),
    })
}

pub async fn history(workspace: &LocalWorkspace, which: &Which, format: Format) -> CommandResult {
    let alias = workspace.looked_at(which.alias.as_ref()).await?;
    let store = workspace.store(&alias);
    let tip = workspace.repository.read_ref(&local_workspace::task_ref(&alias)).await?;
    let tip = tip.ok_or_else(|| local_workspace::no_such(&alias))?;
    let lines = store.history(tip).await?;
    let document = json!({ "schema": "loopgate.history/v1", "alias": alias.as_str(), "events": lines });
    format.show(&document, || render::loop_history(&lines))
}

pub async fn clean(workspace: &LocalWorkspace, arguments: &CleanArguments, format: Format) -> CommandResult {
    let asked = match &arguments.alias {
        Some(alias) => vec![alias.clone()],
        None => workspace.aliases().await?,
    };
    let (mut doomed, mut kept) = (Vec::new(), Vec::new());
    for alias in asked {
        let state = workspace.state(&alias).await?;
        if state.has_ended() && Lock::holder(&workspace.lock_path(&alias)).is_none() {
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
    let names = doomed.iter().map(Alias::as_str).collect::<Vec<_>>().join(", ");
    let question = format!("Delete the state and history of {names}? [yes/no]");
    if !doomed.is_empty() && !arguments.yes && !output::agrees(&question) {
        return Err(CliError::usage("nothing was deleted; answer yes, or pass --yes"));
    }
    for alias in &doomed {
        let name = local_workspace::task_ref(alias);
        workspace.repository.leave_task(&name).await?;
        workspace.repository.delete_ref(&name).await?;
        workspace.worktree.forget(&aside_ref(alias))?;
        // What is left behind of these is harmless.
        let _ = std::fs::remove_file(workspace.lock_path(alias));
        let _ = std::fs::remove_dir_all(workspace.worktree.private_dir().join(alias.as_str()));
    }
    let [deleted, kept] = [&doomed, &kept].map(|of| of.iter().map(Alias::as_str).collect::<Vec<_>>());
    let document = json!({ "schema": "loopgate.cleaned/v1", "deleted": deleted, "kept": kept });
    let words = if doomed.is_empty() { "There is nothing to delete.".to_owned() } else { format!("Deleted: {names}") };
    format.show(&document, || words)
}
