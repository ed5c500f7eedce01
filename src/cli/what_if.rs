//! `loopgate what-if`: recorded runs under another configuration.

use std::path::PathBuf;

use clap::Args;

use super::{
    CliError, CommandResult, exit, online,
    output::{self, Format},
    recorded::{Place, Since},
    runtime,
};
use crate::{
    config,
    github::{Clock as _, SystemClock},
    refs::{ListObjects, recorded_runs},
    render,
};
use loopgate_core::{
    RepoName, Timestamp,
    replay::{self, RecordedRun},
};

/// Runs that are read at most: each costs some requests.
const MOST_RUNS: usize = 150;

#[derive(Debug, Args)]
#[command(after_help = format!("{}\n\nRuns are judged again from what their attempts kept, by the same code. Organisation \
    defaults are not read.\nWithout a repository the one here is read: its local loops, and the pull requests that were \
    fetched with\n  git fetch origin 'refs/loopgate/*:refs/loopgate/*'\n\nExample:\n  \
    loopgate what-if acme/widgets --config .github/loopgate.yml --since 30d", online::ENVIRONMENT))]
pub struct Arguments {
    /// The repository on GitHub [default: the one here]
    #[arg(value_name = "OWNER/REPO")]
    repository: Option<RepoName>,
    /// The other configuration
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// How far back
    #[arg(long, default_value = "30d", value_name = "TIME")]
    since: Since,
}

pub fn run(arguments: &Arguments, format: Format) -> CommandResult {
    let text = output::read_text(&arguments.config)?;
    let policy = config::parse(&output::shown(&arguments.config), &text).map_err(CliError::bad_data)?;
    let since = SystemClock.now() - arguments.since.0;
    let runs = runtime()?.block_on(async {
        match Place::open(arguments.repository.as_ref()).await? {
            Place::OnGithub(objects) => runs(&objects, since).await,
            Place::Here(objects) => runs(&objects, since).await,
        }
    })?;
    let told = replay::what_if(&runs, &policy);
    match format {
        Format::Json => output::json(&told)?,
        Format::Human => output::text(render::what_if(&told)),
    }
    Ok(exit::OK)
}

async fn runs<G: ListObjects>(objects: &G, since: Timestamp) -> Result<Vec<RecordedRun>, CliError> {
    let (runs, left_out) = recorded_runs(objects, since, MOST_RUNS).await.map_err(CliError::unavailable)?;
    if left_out > 0 {
        output::note_line(format_args!("note: {left_out} older runs were not read"));
    }
    Ok(runs)
}
