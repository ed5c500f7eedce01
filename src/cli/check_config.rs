//! `loopgate check-config`: everything that is wrong with a configuration, where, and what to do.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::{
    CliError, CommandResult, exit,
    online::{Online, Rights},
    output::{self, Format},
    working_tree,
};
use crate::{
    config::{self, OnlineFindings, Source},
    github::{CheckedConfiguration, Observer},
};
use loopgate_core::RepoName;
use loopgate_render as render;

#[derive(Debug, Args)]
pub struct CheckConfigArguments {
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

pub async fn run(arguments: &CheckConfigArguments) -> CommandResult {
    let named = arguments.repository.as_ref();
    let (name, repository, found) = if arguments.online || named.is_some() {
        let repository = working_tree::repository(named, "name it with --repository OWNER/REPO")?;
        let (name, found) = online(arguments, &repository).await?;
        (name, Some(repository), found)
    } else {
        let (name, text) = own(arguments)?;
        let found = match config::load(None, Some(Source::new(&name, &text))) {
            Ok(loaded) => {
                if loaded.policy.verify.checks.is_empty() {
                    output::note_line(format_args!(
                        "nothing is checked: {name} has no `verify.checks`: write there what is to run, or which job's result counts"
                    ));
                }
                OnlineFindings {
                    errors: Vec::new(),
                    warnings: loaded.warnings,
                }
            }
            Err(errors) => OnlineFindings {
                errors,
                warnings: Vec::new(),
            },
        };
        (name, None, found)
    };
    show(&name, repository.as_ref(), &found)?;
    Ok(if found.errors.is_empty() {
        exit::OK
    } else {
        exit::BAD_DATA
    })
}

/// The file that is named, else the one here; its name and text.
fn own(arguments: &CheckConfigArguments) -> Result<(String, String), CliError> {
    let usual = Path::new(working_tree::CONFIGURATION);
    if arguments.file.is_none() && !usual.exists() {
        return Err(CliError::bad_data(format!(
            "there is no {} here: `loopgate init` writes one; else name the file, or ask GitHub with --repository \
             OWNER/REPO",
            usual.display()
        )));
    }
    output::read_named(arguments.file.as_deref().unwrap_or(usual))
}

/// Checks the file by itself first: errors in the file are reported without the network.
async fn online(
    arguments: &CheckConfigArguments,
    repository: &RepoName,
) -> Result<(String, OnlineFindings), CliError> {
    let own = match (&arguments.file, &arguments.repository) {
        (None, Some(_)) => None,
        _ => Some(self::own(arguments)?),
    };
    if let Some((name, text)) = &own
        && let Err(errors) = config::load(None, Some(Source::new(name, text)))
    {
        return Ok((
            name.clone(),
            OnlineFindings {
                errors,
                warnings: Vec::new(),
            },
        ));
    }
    let online = Online::from_environment()?;
    if online.rights == Rights::Nobodys {
        return Err(CliError::bad_data(
            "neither GITHUB_TOKEN nor LOOPGATE_APP_ID is set, so GitHub cannot be asked; see --help",
        ));
    }
    let client = online.client(repository).await?;
    let CheckedConfiguration { file, found, .. } = Observer::new(online.github)
        .check_configuration(client.repo(repository), own)
        .await?;
    Ok((
        file.unwrap_or_else(|| format!("{repository}, without a file of its own,")),
        found,
    ))
}

fn show(
    name: &str,
    repository: Option<&RepoName>,
    OnlineFindings { errors, warnings }: &OnlineFindings,
) -> Result<(), CliError> {
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
                Some(repository) => output::line(format_args!(
                    "{name} is a valid configuration for {repository}."
                )),
            }
        }
        Format::Json => {
            output::json(&json!({
                "schema": "loopgate.check-config/v1",
                "valid": errors.is_empty(),
                "repository": repository.map(ToString::to_string),
                "errors": errors,
                "warnings": warnings,
            }))?;
        }
    }
    Ok(())
}
