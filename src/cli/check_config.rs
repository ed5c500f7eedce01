//! `loopgate check-config`: everything that is wrong with a configuration, where, and what to do.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::{
    CliError, CommandResult, exit,
    online::{self, Online},
    output::{self, Format},
    working_tree,
};
use crate::{
    config::{self, OnlineFindings, Source},
    github::{CheckedConfiguration, Observer},
    render,
};
use loopgate_core::RepoName;

#[derive(Debug, Args)]
pub struct Arguments {
    /// The file to check; - reads standard input [default: .github/loopgate.yml]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Ask GitHub about the names in it
    #[arg(long)]
    online: bool,
    /// The repository it is for; otherwise that of the working directory
    #[arg(long, value_name = "OWNER/REPO")]
    repository: Option<RepoName>,
}

/// What was checked, and the result.
struct Checked {
    name: String,
    repository: Option<RepoName>,
    found: OnlineFindings,
}

pub async fn run(arguments: &Arguments) -> CommandResult {
    let checked = if arguments.online || arguments.repository.is_some() {
        online(arguments).await?
    } else {
        let (name, text) = own(arguments)?;
        let found = match config::load(None, Some(Source::new(&name, &text))) {
            Ok(loaded) => {
                if loaded.policy.verify.checks.is_empty() {
                    output::note_line(format_args!(
                        "nothing is checked: {name} has no `verify.checks`; `loopgate init` writes those of a project"
                    ));
                }
                OnlineFindings { errors: Vec::new(), warnings: loaded.warnings }
            }
            Err(errors) => OnlineFindings { errors: errors.as_slice().to_vec(), warnings: Vec::new() },
        };
        Checked { name, repository: None, found }
    };
    show(&checked)?;
    Ok(if checked.found.errors.is_empty() { exit::OK } else { exit::BAD_DATA })
}

/// The file that is named, else the one here; its name and text.
fn own(arguments: &Arguments) -> Result<(String, String), CliError> {
    output::read_named(arguments.file.as_deref().unwrap_or(Path::new(working_tree::CONFIGURATION)))
}

/// Checks the file by itself first: errors in the file are reported without the network.
async fn online(arguments: &Arguments) -> Result<Checked, CliError> {
    let named = arguments.repository.as_ref();
    let repository = working_tree::repository(named, "name it with --repository OWNER/REPO")?;
    let own = match (&arguments.file, &arguments.repository) {
        (None, Some(_)) => None,
        _ => Some(self::own(arguments)?),
    };
    if let Some((name, text)) = &own
        && let Err(errors) = config::load(None, Some(Source::new(name, text)))
    {
        let found = OnlineFindings { errors: errors.as_slice().to_vec(), warnings: Vec::new() };
        return Ok(Checked { name: name.clone(), repository: Some(repository), found });
    }
    let Online { github, installation } = online::connect(&repository).await?;
    let client = github.client(installation);
    let CheckedConfiguration { file, found, .. } =
        Observer::new(github).check_configuration(client.repo(&repository), own).await?;
    let name = file.unwrap_or_else(|| format!("{repository}, without a file of its own,"));
    Ok(Checked { name, repository: Some(repository), found })
}

fn show(checked: &Checked) -> Result<(), CliError> {
    let Checked { name, repository, found: OnlineFindings { errors, warnings } } = checked;
    match output::format() {
        Format::Github => output::text(render::configuration_commands(errors, warnings)),
        Format::Human => {
            for (word, problems) in [("error", errors), ("warning", warnings)] {
                for problem in problems {
                    output::line(format_args!("{word}: {problem}\n"));
                }
            }
            match repository {
                _ if !errors.is_empty() => {}
                None => output::line(format_args!("{name} is a valid configuration.")),
                Some(repository) => output::line(format_args!("{name} is a valid configuration for {repository}.")),
            }
        }
        Format::Json => {
            output::json(&json!({
                "schema": "loopgate.check-config/v1",
                "valid": errors.is_empty(),
                "repository": repository.as_ref().map(ToString::to_string),
                "errors": errors,
                "warnings": warnings,
            }))?;
        }
    }
    Ok(())
}
