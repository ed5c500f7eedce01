//! `loopgate decide`: the iteration-control contract, YAML in, YAML out.

use std::path::PathBuf;

use clap::Args;

use super::{Outcome, Stop, exit, output, output::Format};
use crate::{
    core::{
        failure::{self, Changes, FeedbackItem},
        iteration::{self, Request, Sides, Understood},
        policy::LoopPolicy,
    },
    reports::{self, ReadOptions},
};

#[derive(Debug, Args)]
#[command(after_help = "\
The document:

  iteration_check:
    task_id: \"task-003\"
    current_iteration: 2
    max_iterations: 3                                   # 1 to 10, default 3
    test_result: { status: \"fail\", output: \"…\" }        # pass | fail
    review_result: { status: \"pending\", feedback: \"\" }  # approve | reject | pending

Example:
  loopgate decide check.yml && echo next task")]
pub struct Arguments {
    /// The document to decide; - reads standard input
    #[arg(default_value = "-", value_name = "FILE")]
    file: PathBuf,
}

pub fn run(arguments: &Arguments, format: Format) -> Outcome {
    let text = output::read_text(&arguments.file)?;
    let request: Request = serde_yaml::from_str(&text)
        .map_err(|error| Stop::bad_data(format!("{}: {error}", arguments.file.display())))?;
    let understood = understand(&request.iteration_check.test_result.output);
    let response =
        iteration::decide(&request.iteration_check, &understood, &LoopPolicy::default()).map_err(Stop::bad_data)?;
    match format {
        Format::Human => print!("{}", serde_yaml::to_string(&response).map_err(Stop::bad_data)?),
        Format::Json => output::json(&response)?,
    }
    Ok(exit::of(response.decision.word()))
}

/// Reads the test output as whatever report it looks like, else as the text of one failure.
fn understand(output: &str) -> Understood {
    let mut failures = reports::read("test_result.output", output.as_bytes(), &ReadOptions::default()).failures;
    if failures.is_empty() && !output.trim().is_empty() {
        failures.push(failure::read_failure(output, &Changes::default()));
    }
    let sides = failures.iter().find_map(|failure| {
        Some(Sides {
            name: failure.test_name.clone()?,
            expected: failure.expected.clone()?,
            actual: failure.actual.clone()?,
        })
    });
    let changes = Changes::default();
    let items = failures.iter().map(|failure| FeedbackItem::of(failure, &changes, None).into()).collect();
    Understood { items, sides }
}
