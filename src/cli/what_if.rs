//! `loopgate what-if`: the last pull requests under another configuration. Only reads.

use std::path::PathBuf;

use chrono::TimeDelta;
use clap::Args;

use super::{
    CliError, CommandResult, exit,
    online::since,
    output,
    try_history::{changed_last, read_each},
    working_tree,
};
use crate::{
    config,
    github::{Clock as _, SystemClock},
};
use loopgate_core::{RepoName, policy::Policy, replay::WhatIf};
use loopgate_render as render;

/// Pull requests that are read at most: each costs some requests.
const MOST: usize = 100;

#[derive(Debug, Args)]
pub struct WhatIfArguments {
    /// The repository on GitHub [default: that of the remote `origin`]
    #[arg(value_name = "OWNER/REPO")]
    repository: Option<RepoName>,
    /// The other configuration
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// How far back, by the last change of the pull request
    #[arg(long, default_value = "30d", value_parser = since, value_name = "TIME")]
    since: TimeDelta,
}

pub async fn run(arguments: &WhatIfArguments) -> CommandResult {
    let (name, text) = output::read_named(&arguments.config)?;
    let policy = config::parse(&name, &text).map_err(CliError::bad_data)?;
    let named = arguments.repository.as_ref();
    let repository = working_tree::repository(named, "name it: loopgate what-if OWNER/REPO")?;
    let (compared, stopped) = compare(&repository, arguments.since, &policy).await?;
    output::show(&compared, || render::what_if(&compared))?;
    match stopped {
        None => Ok(exit::OK),
        Some(why) => Err(CliError::unavailable(format!(
            "only {} pull requests were read: {why}",
            compared.runs
        ))),
    }
}

/// The differences, and why reading ended early.
async fn compare(
    repository: &RepoName,
    since: TimeDelta,
    policy: &Policy,
) -> Result<(WhatIf, Option<String>), CliError> {
    let (client, observer, _, mut listed) = changed_last(repository, "all", MOST).await?;
    let from = SystemClock.now() - since;
    let is_all =
        listed.len() < MOST || listed.last().is_some_and(|oldest| oldest.updated_at < from);
    listed.retain(|one| one.updated_at >= from);
    if !is_all {
        output::note_line(format_args!(
            "note: pull requests before the last {MOST} were not read"
        ));
    }
    let mut compared = WhatIf::new();
    let (_, left_out, stopped) = read_each(&listed, async |one| {
        compared = observer
            .compare_past(client.repo(repository), one, policy, compared.clone())
            .await?;
        Ok(())
    })
    .await;
    for one in left_out {
        output::note_line(format_args!("note: {one} is left out"));
    }
    Ok((compared, stopped))
}
