//! `loopgate verify-merge`: whether a merge rests on its signed statement, offline, from the repository's git
//! objects.

use std::path::Path;

use clap::Args;
use minijinja::{context, value::Serde};
use serde::Serialize;

use super::{CliError, CommandResult, exit, output};
use crate::proof::{Envelope, Keys};
use loopgate_core::{
    RepoName, Sha,
    evidence::CheckEvidence,
    proof::{HEAD, MERGE, Statement},
    state::LoopState,
};
use loopgate_refs::{LocalRepository, StateStore, all_runs};
use loopgate_render::{self as render, defused};
use loopgate_runner::Checkout;

#[derive(Debug, Args)]
pub struct VerifyMergeArguments {
    /// The merge commit
    #[arg(value_name = "SHA")]
    merge: String,
    /// The repository that the statement must be about, where it is not the remote called origin
    #[arg(long, value_name = "OWNER/REPO")]
    repository: Option<RepoName>,
    /// The keys that are trusted: the server's document, in a file or at its address
    #[arg(long, env = "LOOPGATE_KEYS", value_name = "FILE|URL")]
    key: String,
}

/// What the check finds. Nothing stands in `problems` of a merge that fits its statement.
#[derive(Debug, Serialize)]
struct MergeCheck {
    merge: Sha,
    verified: bool,
    problems: Vec<String>,
    keyid: Option<String>,
    statement: Option<Statement>,
}

/// A statement, and the run beside it.
struct FoundStatement {
    envelope: Envelope,
    statement: Option<Statement>,
    state: Option<LoopState>,
    checks: Vec<CheckEvidence>,
}

pub async fn run(arguments: &VerifyMergeArguments) -> CommandResult {
    // A server signs for many repositories, and a commit can be in several of them.
    let origin = || Checkout::around(Path::new(".")).ok()?.repository;
    let unnamed = || {
        CliError::bad_data(
            "name the repository: --repository OWNER/REPO (there is no remote origin)",
        )
    };
    let repository = arguments
        .repository
        .clone()
        .or_else(origin)
        .ok_or_else(unnamed)?;
    let keys = Keys::read(&arguments.key)
        .await
        .map_err(CliError::bad_data)?;
    let objects = LocalRepository::open(Path::new(".")).map_err(CliError::bad_data)?;
    let unknown = || CliError::bad_data(format!("{} is no commit here", arguments.merge));
    let merge = objects
        .resolve_commit(&arguments.merge)
        .await?
        .ok_or_else(unknown)?;
    let mut parents = Vec::new();
    while let Some(parent) = objects
        .resolve_commit(&format!("{merge}^{}", parents.len() + 1))
        .await?
    {
        parents.push(parent);
    }
    let found = find(&objects, merge, &parents).await?;
    let checked = check(merge, &parents, found, &keys, &repository);
    output::show(&checked, || words(&checked))?;
    Ok(if checked.verified {
        exit::OK
    } else {
        exit::ESCALATE
    })
}

/// The run whose statement names the merge; else one whose statement or state names a commit that was merged.
async fn find(
    objects: &LocalRepository,
    merge: Sha,
    parents: &[Sha],
) -> Result<Option<FoundStatement>, CliError> {
    let mut beside = None;
    for (name, tip) in all_runs(objects).await? {
        let store = StateStore::new(objects, name);
        let Some(bytes) = store.statement(tip).await? else {
            continue;
        };
        let Ok(envelope) = serde_json::from_slice::<Envelope>(&bytes) else {
            continue;
        };
        let statement = envelope.statement().ok();
        let is_named = statement
            .as_ref()
            .is_some_and(|statement| statement.commit(MERGE) == Some(merge));
        let state = store.recorded(tip).await?.map(|(state, _)| state);
        let is_merged = state
            .as_ref()
            .is_some_and(|state| parents.contains(&state.head.sha));
        if !is_named && (!is_merged || beside.is_some()) {
            continue;
        }
        let attempt = state.as_ref().map_or(0, |state| state.run.iteration);
        let checks = store.recorded_checks(tip, attempt).await?;
        let found = FoundStatement {
            envelope,
            statement,
            state,
            checks,
        };
        if is_named {
            return Ok(Some(found));
        }
        beside = Some(found);
    }
    Ok(beside)
}

/// The signature first; where it does not fit, the record of the run shows what was altered.
fn check(
    merge: Sha,
    parents: &[Sha],
    found: Option<FoundStatement>,
    keys: &Keys,
    repository: &RepoName,
) -> MergeCheck {
    let nothing = || MergeCheck {
        merge,
        verified: false,
        problems: Vec::new(),
        keyid: None,
        statement: None,
    };
    let Some(FoundStatement {
        envelope,
        statement,
        state,
        checks,
    }) = found
    else {
        let problem = "no run here holds a signed statement about this commit";
        return MergeCheck {
            problems: vec![problem.to_owned()],
            ..nothing()
        };
    };
    let Some(statement) = statement else {
        let problem = envelope.statement().err().unwrap_or_default();
        return MergeCheck {
            problems: vec![problem],
            ..nothing()
        };
    };
    let mut problems = Vec::new();
    let stated = statement.commit(MERGE);
    if stated != Some(merge) {
        let stated = stated.map_or("none".to_owned(), |commit| commit.to_string());
        problems.push(format!(
            "merge commit: the statement says {stated}, this is {merge}"
        ));
    }
    // A squash or rebase has one parent, and the head is none of its ancestors.
    if let (Some(head), [_, _, ..]) = (statement.commit(HEAD), parents)
        && !parents.contains(&head)
    {
        problems.push(format!(
            "head: the statement says {head}, which the merge does not join"
        ));
    }
    let of = &statement.predicate.loopgate.repository;
    if repository != of {
        problems.push(format!(
            "repository: the statement says {of}, not {repository}"
        ));
    }
    let signed = keys
        .verify(&envelope, statement.predicate.created_on)
        .map(|key| key.keyid.clone());
    if let Err(reason) = &signed {
        problems.push(reason.clone());
        let differences = state
            .map(|state| statement.differences(&state, &checks))
            .unwrap_or_default();
        if differences.is_empty() {
            problems.push("the record of the run agrees where it says the same".to_owned());
        }
        problems.extend(differences);
    }
    problems.extend(statement.objections());
    MergeCheck {
        verified: problems.is_empty(),
        problems,
        keyid: signed.ok(),
        statement: Some(statement),
        ..nothing()
    }
}

/// The statement may hold what others wrote.
fn words(checked: &MergeCheck) -> String {
    let listed = checked
        .statement
        .iter()
        .flat_map(|statement| &statement.predicate.loopgate.checks);
    let checks: Vec<String> = listed
        .map(|check| format!("{}: {}", check.name, check.in_words()))
        .collect();
    let text = render::text("verify_merge.txt", context! { checks, ..Serde(checked) });
    text.lines().map(|line| defused(line) + "\n").collect()
}

#[cfg(test)]
#[path = "verify_merge_tests.rs"]
mod tests;
