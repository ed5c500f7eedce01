//! `loopgate check-config`: everything that is wrong with a configuration file, where, and what to do.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::{Outcome, exit, output, output::Format};
use crate::{
    config::{self, Source},
    core::policy::ConfigError,
};

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  loopgate check-config .github/loopgate.yml")]
pub struct Arguments {
    /// The file to check; - reads standard input
    #[arg(default_value = ".github/loopgate.yml", value_name = "FILE")]
    file: PathBuf,
}

pub fn run(arguments: &Arguments, format: Format) -> Outcome {
    let text = output::read_text(&arguments.file)?;
    let name = arguments.file.display().to_string();
    let (errors, warnings) = match config::load(None, Some(Source::new(&name, &text))) {
        Ok(loaded) => (Vec::new(), loaded.warnings),
        Err(errors) => (errors.as_slice().to_vec(), Vec::new()),
    };
    match format {
        Format::Human => {
            for (word, problems) in [("error", &errors), ("warning", &warnings)] {
                for problem in problems {
                    println!("{word}: {problem}\n");
                }
            }
            if errors.is_empty() {
                println!("{name} is a valid configuration.");
            }
        }
        Format::Json => {
            let document = |problem: &ConfigError| {
                json!({ "file": problem.file, "line": problem.line, "column": problem.column,
                        "message": problem.message, "hint": problem.hint, "snippet": problem.snippet })
            };
            output::json(&json!({
                "schema": "loopgate.check-config/v1",
                "valid": errors.is_empty(),
                "errors": errors.iter().map(document).collect::<Vec<_>>(),
                "warnings": warnings.iter().map(document).collect::<Vec<_>>(),
            }))?;
        }
    }
    Ok(if errors.is_empty() { exit::OK } else { exit::BAD_DATA })
}
