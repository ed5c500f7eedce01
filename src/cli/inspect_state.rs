//! `loopgate inspect state`: where a loop stands, on a pull request or here, from its ref or from a file.

use std::path::Path;

use super::{CliError, CommandResult, output, output::Format};
use crate::{
    github,
    refs::{self, GitObjects, LocalRepository},
    render,
};
use loopgate_core::{
    PrNumber,
    state::{LOOP_STATE_SCHEMA, LoopState},
};

/// Bytes of a state that are read; larger ones were not written by us.
const STATE_LIMIT: usize = 2 << 20;

pub async fn run(what: Option<&str>, format: Format) -> CommandResult {
    let (place, text) = match what {
        Some(file) if file == "-" || Path::new(file).is_file() => {
            (file.to_owned(), output::read_text(Path::new(file))?)
        }
        what => from_ref(what).await?,
    };
    let text = unpacked(&text).unwrap_or(text);
    let state: LoopState = serde_json::from_str(&text)
        .map_err(|error| CliError::bad_data(format!("{place} holds no loop state that can be read: {error}")))?;
    if state.schema != LOOP_STATE_SCHEMA {
        let found = render::plain_line(&state.schema);
        return Err(CliError::bad_data(format!(
            "{place} is of schema {found}; this version reads {LOOP_STATE_SCHEMA}"
        )));
    }
    // The document as it is written: unknown fields of newer writers included.
    format.show(&state, || render::loop_report(&state, output::colour()))
}

/// The state in a status comment's text, or in one file of the artifact. Of several comments the last that holds one.
fn unpacked(text: &str) -> Option<String> {
    let in_comment = |line| refs::packed_state(github::state_apart(line).1?);
    text.lines().rev().find_map(in_comment).or_else(|| refs::packed_state(text.trim()))
}

/// `loop-state.json` in the tree of a ref.
async fn from_ref(what: Option<&str>) -> Result<(String, String), CliError> {
    let here = std::env::current_dir()?;
    let repository = LocalRepository::open(&here).await.map_err(CliError::bad_data)?;
    let names = match what {
        None => {
            let current = repository.current_task().await?;
            let current =
                current.ok_or_else(|| CliError::bad_data("no loop is active here; name a ref, an alias or a file"))?;
            vec![format!("refs/loopgate/task/{current}")]
        }
        Some(name) if name.starts_with("refs/") => vec![name.to_owned()],
        Some(name) => ["task", "pr"].map(|folder| format!("refs/loopgate/{folder}/{name}")).into(),
    };
    let number = what.and_then(|what| what.parse().ok()).map(PrNumber::new);
    for name in &names {
        let commit = match (repository.resolve_commit(name).await?, number) {
            (None, Some(number)) if name.contains("/pr/") => refs::archived(&repository, number).await?,
            (commit, _) => commit,
        };
        let Some(commit) = commit else { continue };
        let bytes = repository.read_file(commit, "loop-state.json", STATE_LIMIT).await.map_err(CliError::bad_data)?;
        let bytes = bytes.ok_or_else(|| CliError::bad_data(format!("{name} holds no loop-state.json")))?;
        return Ok((name.clone(), String::from_utf8_lossy(&bytes).into_owned()));
    }
    Err(CliError::bad_data(format!(
        "there is no file `{}`, and no ref {}",
        what.unwrap_or_default(),
        names.join(" or ")
    )))
}
