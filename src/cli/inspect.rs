//! `loopgate inspect`: what does Loopgate understand by this?

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use clap::Subcommand;
use serde_json::json;

use super::{CliError, CommandResult, output};
use crate::{
    config::{self, Source},
    github,
};
use loopgate_core::{
    GateName, Login,
    concerns::gates,
    failure,
    state::{LOOP_STATE_SCHEMA, LoopState, RunDocument, UnreadableState},
};
use loopgate_refs::{self as refs, GitObjects as _, LocalRepository, RefName, StateStore};
use loopgate_render as render;
use loopgate_reports::{
    ReadOptions,
    joblog::{self, Job},
};

#[derive(Debug, Subcommand)]
pub enum InspectCommand {
    /// What test, lint and coverage reports say: totals for each file and overall, failures with their place
    Report {
        /// The reports, in any of the formats that are read; recognised by content
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// The approvals, commands and near misses in a comment
    Comment {
        /// The comment's text; - reads standard input
        #[arg(default_value = "-", value_name = "FILE")]
        file: PathBuf,
        /// The gates there are; the five presets unless given
        #[arg(long, value_delimiter = ',', value_name = "NAMES")]
        gates: Vec<GateName>,
        /// The login Loopgate acts under
        #[arg(long, default_value = "loopgate[bot]", value_name = "LOGIN")]
        bot: Login,
    },
    /// Where a loop stands, from its ref or a saved loop-state.json
    State {
        /// A ref, an alias, the number of a pull request, or a file; - reads standard input
        #[arg(value_name = "REF|FILE")]
        what: Option<String>,
    },
    /// Every setting in force, and where it was written
    Config {
        /// The repository's configuration; - reads standard input
        #[arg(default_value = ".github/loopgate.yml", value_name = "FILE")]
        file: PathBuf,
        /// The organisation's defaults: loopgate.yml of its .github repository
        #[arg(long, value_name = "FILE")]
        organisation: Option<PathBuf>,
    },
    /// The frames, fingerprint, cause and feedback of a failure
    Failure {
        /// The failure's text, as the tool printed it; - reads standard input
        #[arg(default_value = "-", value_name = "FILE")]
        file: PathBuf,
    },
}

pub async fn run(command: &InspectCommand) -> CommandResult {
    match command {
        InspectCommand::Report { files } => {
            match files.iter().find(|file| !file.exists() || file.is_dir()) {
                Some(file) => Err(CliError::bad_data(format!("{} is no file", file.display()))),
                None => output::show_as_yaml(&loopgate_reports::inspect(files)),
            }
        }
        InspectCommand::Comment { file, gates, bot } => {
            let gates: BTreeSet<GateName> = match gates.as_slice() {
                [] => config::presets().gates.into_keys().collect(),
                named => named.iter().cloned().collect(),
            };
            output::show_as_yaml(&gates::inspect(&output::read_text(file)?, bot, &gates))
        }
        InspectCommand::State { what } => state(what.as_deref()).await,
        InspectCommand::Config { file, organisation } => settings(file, organisation.as_deref()),
        InspectCommand::Failure { file } => explain(file),
    }
}

/// What is in force, one setting a line. A file that is not there counts as none: then the defaults are in force.
fn settings(file: &Path, organisation: Option<&Path>) -> CommandResult {
    let file = Some(file).filter(|path| path.exists() || path.as_os_str() == "-");
    let [repository, organisation] =
        [file, organisation].map(|path| path.map(output::read_named).transpose());
    let (repository, organisation) = (repository?, organisation?);
    let settings = config::effective(
        organisation
            .as_ref()
            .map(|(name, text)| Source::new(name, text)),
        repository
            .as_ref()
            .map(|(name, text)| Source::new(name, text)),
    );
    let settings = settings.map_err(|errors| {
        let messages: Vec<String> = errors.iter().map(ToString::to_string).collect();
        CliError::bad_data(messages.join("\n\n"))
    })?;
    let document = json!({
        "schema": "loopgate.inspect-config/v1",
        "files": { "organisation": organisation.is_some(), "repository": repository.is_some() },
        "settings": settings,
    });
    let line = |it: &config::Setting| format!("{} = {}  ({})\n", it.key, it.value, it.origin);
    output::show(&document, || settings.iter().map(line).collect::<String>())
}

fn explain(file: &Path) -> CommandResult {
    let options = ReadOptions {
        keep: 1,
        ..ReadOptions::default()
    };
    let (report, kept) = joblog::read_output("input", output::open(file)?, &options);
    if kept.is_empty() {
        return Err(CliError::bad_data(format!(
            "{} is empty",
            output::shown(file)
        )));
    }
    let log = Job::default().read(kept, None, &options);
    // One failure: a log may hold several, and no field of one may come from another.
    let failures = log.report.unwrap_or(report).failures.into_iter();
    let failure = failures
        .chain(log.tasks)
        .chain(log.failure)
        .next()
        .unwrap_or_default();
    // The failure as it is understood, and the lines that are shown of it.
    let mut inspected = failure::inspect_failure(failure);
    inspected["excerpt"] = json!(log.excerpt);
    output::show_as_yaml(&inspected)
}

/// Bytes of a state that are read; larger ones were not written by us.
const STATE_LIMIT: usize = 2 << 20;

/// Where a loop stands, on a pull request or here, from its ref or from a file.
async fn state(what: Option<&str>) -> CommandResult {
    let (place, text) = match what {
        Some(file) if file == "-" || Path::new(file).is_file() => {
            (file.to_owned(), output::read_text(Path::new(file))?)
        }
        what => from_ref(what).await?,
    };
    // It may be packed in a status comment's text, or in one file of the artifact. Of several comments the last counts.
    let in_comment = |line| refs::packed_state(github::state_apart(line).1?);
    let unpacked = text
        .lines()
        .rev()
        .find_map(in_comment)
        .or_else(|| refs::packed_state(text.trim()));
    let text = unpacked.unwrap_or(text);
    let unreadable = |why: &dyn std::fmt::Display| {
        CliError::bad_data(format!(
            "{place} holds no loop state that can be read: {why}"
        ))
    };
    let document = serde_json::from_str(&text).map_err(|error| unreadable(&error))?;
    let state = LoopState::read(document).map_err(|error| match error {
        UnreadableState::Malformed(error) => unreadable(&error),
        UnreadableState::Other { found } if found.is_empty() => unreadable(&"it names no schema"),
        UnreadableState::Newer { found } | UnreadableState::Other { found } => {
            let found = render::plain_line(&found);
            CliError::bad_data(format!(
                "{place} is of schema {found}; this version reads {LOOP_STATE_SCHEMA} and older"
            ))
        }
    })?;
    let shown = RunDocument::from(state.clone());
    output::show(&shown, || render::loop_report(&state, output::colour()))
}

/// `loop-state.json` in the tree of a ref.
async fn from_ref(what: Option<&str>) -> Result<(String, String), CliError> {
    let repository = LocalRepository::open(Path::new(".")).map_err(CliError::bad_data)?;
    let names = match what {
        None => {
            let current = repository.current_task().await?;
            let current = current.ok_or_else(|| {
                CliError::bad_data("no loop is active here; name a ref, an alias or a file")
            })?;
            vec![format!("refs/loopgate/task/{current}")]
        }
        Some(name) if name.starts_with("refs/") => vec![name.to_owned()],
        Some(name) => ["task", "pr"]
            .map(|folder| format!("refs/loopgate/{folder}/{name}"))
            .into(),
    };
    for name in &names {
        let Some(store) = RefName::of(name).map(|name| StateStore::new(&repository, name)) else {
            continue;
        };
        let Some(commit) = store.tip().await? else {
            continue;
        };
        let bytes = repository
            .read_file(commit, "loop-state.json", STATE_LIMIT)
            .await
            .map_err(CliError::bad_data)?;
        let bytes =
            bytes.ok_or_else(|| CliError::bad_data(format!("{name} holds no loop-state.json")))?;
        return Ok((name.clone(), String::from_utf8_lossy(&bytes).into_owned()));
    }
    Err(CliError::bad_data(format!(
        "there is no file `{}`, and no ref {}",
        what.unwrap_or_default(),
        names.join(" or ")
    )))
}
