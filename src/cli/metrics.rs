//! `loopgate metrics`: what the runs of a repository come to, against the targets.

use chrono::TimeDelta;
use clap::Args;

use super::{
    CliError, CommandResult, exit,
    online::{RunSource, since},
    output,
};
use crate::github::{Clock as _, SystemClock};
use loopgate_core::{
    RepoName,
    metrics::{Report, RunLine, Window, newest},
};
use loopgate_refs::{ListObjects, RefName, RunLines, StateStore, each_run};
use loopgate_render as render;

/// Open runs that are read at most.
const MOST_OPEN: usize = 200;

#[derive(Debug, Args)]
pub struct MetricsArguments {
    /// The repository on GitHub [default: the one here]
    #[arg(value_name = "OWNER/REPO")]
    repository: Option<RepoName>,
    /// How far back; the time as long before is compared with
    #[arg(long, default_value = "30d", value_parser = since, value_name = "TIME")]
    since: TimeDelta,
    /// A document for programs, as with `--format json`
    #[arg(long, group = "shape")]
    json: bool,
    /// A row for each number
    #[arg(long, group = "shape")]
    csv: bool,
    /// A picture
    #[arg(long, group = "shape")]
    svg: bool,
}

pub async fn run(arguments: &MetricsArguments) -> CommandResult {
    let window = Window::back(SystemClock.now(), arguments.since);
    let lines = match RunSource::open(arguments.repository.as_ref()).await? {
        RunSource::OnGithub(objects) => lines(&objects, window).await?,
        RunSource::Here(objects) => {
            let mut all = lines(&objects, window).await?;
            let here = RunLines {
                objects: &objects,
                name: RefName::local_metrics(),
            };
            all.extend(here.read(window.with_before()).await?);
            all
        }
    };
    let report = Report::of(&newest(lines), window);
    let of = arguments
        .repository
        .as_ref()
        .map_or_else(|| "This repository".to_owned(), ToString::to_string);
    if arguments.svg {
        output::text(render::metrics_svg(&of, &report));
    } else if arguments.csv {
        output::text(render::metrics_csv(&report));
    } else if arguments.json {
        output::json(&report)?;
    } else {
        output::show(&report, || render::metrics(&of, &report, output::colour()))?;
    }
    Ok(exit::OK)
}

/// The lines of runs that ended in the window or in the time before it, and those of the open runs.
async fn lines<G: ListObjects>(objects: &G, window: Window) -> Result<Vec<RunLine>, CliError> {
    let of_repository = RunLines {
        objects,
        name: RefName::metrics(),
    };
    let mut lines = of_repository.read(window.with_before()).await?;
    let (open, left_out) = each_run(objects, MOST_OPEN, |name, tip| async move {
        let recorded = StateStore::new(objects, name).recorded(tip).await?;
        Ok(recorded.map(|(state, history)| {
            let ended = state.run.has_ended().then_some(state.run.updated_at);
            // What ended has its line already, unless it ended before lines were written.
            RunLine::of(&state, &history, &[], ended)
        }))
    })
    .await?;
    if left_out > 0 {
        output::note_line(format_args!(
            "note: {left_out} older runs that may be open were not read"
        ));
    }
    let known = |run: &RunLine| {
        run.ended_at.is_some() && lines.iter().any(|line| line.run_id == run.run_id)
    };
    let open: Vec<RunLine> = open.into_iter().filter(|run| !known(run)).collect();
    lines.extend(open);
    Ok(lines)
}
