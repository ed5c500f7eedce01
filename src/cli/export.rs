//! `loopgate export`: a recorded run in the shape of another tool's documents.

use clap::Args;
use serde_json::Value;

use super::{
    CliError, CommandResult,
    online::{PullRequest, RunSource},
    output,
};
use loopgate_core::{PrNumber, RepoName, state::LoopState};
use loopgate_refs::{GitObjects, RefName, StateStore};
use loopgate_render as render;

#[derive(Debug, Args)]
pub struct ExportArguments {
    /// The shape of the document: the executable feedback schema, version 1, one workflow with its attempts
    #[arg(long = "schema", value_parser = ["executable-feedback"], default_value = "executable-feedback", value_name = "SHAPE")]
    _schema: String,
    /// A pull request, its number, or the alias of a loop here
    #[arg(value_name = "OWNER/REPO#N|ALIAS", value_parser = recorded_run)]
    run: (Option<RepoName>, Vec<RefName>),
}

/// The repository on GitHub, otherwise the one here, and the refs in which the run may be.
fn recorded_run(text: &str) -> Result<(Option<RepoName>, Vec<RefName>), String> {
    if text.contains('#') {
        let PullRequest { repository, number } = text.parse()?;
        return Ok((Some(repository), vec![RefName::pull_request(number)]));
    }
    let number = text
        .parse()
        .ok()
        .map(|number| RefName::pull_request(PrNumber::new(number)));
    let names: Vec<RefName> = RefName::task(text).ok().into_iter().chain(number).collect();
    match names.is_empty() {
        true => Err("write OWNER/REPO#N, the number of a pull request, or an alias".to_owned()),
        false => Ok((None, names)),
    }
}

pub async fn run(arguments: &ExportArguments) -> CommandResult {
    let (repository, names) = &arguments.run;
    let (state, attempts) = match RunSource::open(repository.as_ref()).await? {
        RunSource::OnGithub(objects) => recorded(&objects, names).await?,
        RunSource::Here(objects) => recorded(&objects, names).await?,
    };
    output::show_as_yaml(&render::executable_feedback(&state, &attempts))
}

/// The state in the first of these refs that there is, and the documents of its attempts that can be read.
async fn recorded<G: GitObjects>(
    objects: &G,
    names: &[RefName],
) -> Result<(LoopState, Vec<Value>), CliError> {
    for name in names {
        let store = StateStore::new(objects, name.clone());
        let run = store.load_at(store.tip().await?).await?;
        let Some(tip) = run.tip else { continue };
        let state = run.intact().cloned();
        let state = state.ok_or_else(|| {
            CliError::bad_data(format!("{name} holds no loop state that can be read"))
        })?;
        let mut attempts = Vec::new();
        for attempt in &state.attempts.counted {
            attempts.extend(store.recorded_attempt(tip, attempt.number).await?);
        }
        return Ok((state, attempts));
    }
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    Err(CliError::bad_data(format!(
        "there is no ref {}, and nothing archived; a run whose configuration keeps it elsewhere (`state.backend`) cannot be exported",
        names.join(" or ")
    )))
}
