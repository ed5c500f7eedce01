//! `loopgate memory`: what failed before in a repository, and what fixed it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use chrono::{NaiveDate, Utc};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{CliError, CommandResult, exit, online::RunSource, output, working_tree};
use loopgate_core::{
    FailureId, RepoName,
    memory::{Card, Memory, MemoryLine, Recurring},
    policy::MemoryPolicy,
};
use loopgate_git::Git;
use loopgate_refs::{ListObjects, MemoryNotes, MemoryStore};
use loopgate_render as render;
use loopgate_runner::Checkout;

#[derive(Debug, Args)]
pub struct MemoryArguments {
    /// The repository on GitHub, instead of the one here
    #[arg(long, value_name = "OWNER/REPO", global = true)]
    repository: Option<RepoName>,
    #[command(subcommand)]
    command: MemoryCommand,
}

#[derive(Debug, Subcommand)]
enum MemoryCommand {
    /// Failures that are known, and what fixed them
    Query(QueryArguments),
    /// Fixes that worked in two runs or more
    Patterns,
    /// How much is remembered, and whether telling it helps
    Stats,
    /// What is known of the files that the working tree changes, or of those named
    Advise {
        /// Paths from the top of the repository; none: what differs from the base
        #[arg(value_name = "FILE")]
        files: Vec<String>,
        /// What the working tree differs from, where no file is named
        #[arg(long, value_name = "BASE")]
        diff: Option<String>,
    },
    /// Forget an error in every line and card; the weeks that hold it are written anew, without their history
    Forget {
        /// The failure's id, 8 hexadecimal digits
        #[arg(value_name = "ID")]
        id: FailureId,
    },
    /// Note that an error will not be fixed: its later reports say so
    WontFix {
        /// The failure's id, 8 hexadecimal digits
        #[arg(value_name = "ID")]
        id: FailureId,
    },
    /// Archive everything to a file, ask, and remove it
    Clear {
        /// Do not ask
        #[arg(long)]
        yes: bool,
        /// The archive
        #[arg(long, value_name = "FILE")]
        archive: Option<PathBuf>,
    },
    /// Write every line as JSON, one a line, to a file or standard output
    Export {
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// Add the lines of an export; what is there already is not counted twice
    Import {
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
struct QueryArguments {
    /// Words that must all occur in the test, message, cause, files or fix
    #[arg(value_name = "WORDS")]
    words: Vec<String>,
    /// A file that the fix changed
    #[arg(long, value_name = "PATH")]
    file: Option<String>,
    /// The type of the error, such as AssertionError
    #[arg(long, value_name = "TYPE")]
    error: Option<String>,
    /// Part of the test's name
    #[arg(long, value_name = "NAME")]
    test: Option<String>,
    /// Seen on this day or later, such as 2026-11-01
    #[arg(long, value_name = "DATE")]
    since: Option<NaiveDate>,
}

pub async fn run(arguments: &MemoryArguments) -> CommandResult {
    let here = Checkout::around(Path::new(".")).ok();
    let configured = here
        .as_ref()
        .and_then(|checkout| working_tree::policy(&checkout.root, None).ok());
    let policy = configured.map_or_else(MemoryPolicy::default, |(policy, _)| policy.memory);
    if arguments.repository.is_none() && here.is_none() {
        return Err(CliError::bad_data(
            "not inside a git repository: name one on GitHub with --repository",
        ));
    }
    match RunSource::open(arguments.repository.as_ref()).await? {
        RunSource::OnGithub(objects) => {
            carry_out(&objects, &policy, None, &arguments.command).await
        }
        RunSource::Here(objects) => {
            carry_out(&objects, &policy, here.as_ref(), &arguments.command).await
        }
    }
}

/// `here` is the working tree, where the memory is that of the repository here.
async fn carry_out<G: ListObjects>(
    objects: &G,
    policy: &MemoryPolicy,
    here: Option<&Checkout>,
    command: &MemoryCommand,
) -> CommandResult {
    let store = &MemoryStore::new(objects, policy, Utc::now());
    let memory = store.load().await?;
    match command {
        MemoryCommand::Query(query) => {
            let found = memory.search(&query.words.join(" "));
            let cards = found
                .into_iter()
                .filter(|card| query.fits(card))
                .map(|card| (card, None))
                .collect();
            return show_cards(cards, &query.seen(&memory));
        }
        MemoryCommand::Patterns => {
            let patterns: Vec<&Card> = memory
                .cards
                .values()
                .filter(|card| card.is_pattern())
                .collect();
            let document: Vec<Value> = patterns.iter().map(|card| card.pattern()).collect();
            let document = render::marked(
                json!({ "schema": "loopgate.memory-patterns/v1", "patterns": document }),
            );
            return output::show(&document, || {
                render::memory_cards(patterns.iter().map(|card| (*card, None)))
            });
        }
        MemoryCommand::Stats => {
            return output::show(&render::memory_stats_document(&memory), || {
                render::memory_stats(&memory)
            });
        }
        MemoryCommand::Advise { files, diff } => {
            let mut files = files.clone();
            if files.is_empty() {
                let (_, changes) =
                    working_tree::changes(&Git::at(Path::new(".")), diff.as_deref())?;
                let unknown =
                    || CliError::bad_data("there is no base to compare with: name one with --diff");
                let changes = changes.ok_or_else(unknown)?;
                files.extend(changes.files.known().iter().map(|file| file.path.clone()));
            }
            let cards = memory.of_files(&files).into_iter();
            let cards = match here {
                Some(here) => cards.filter_map(|card| placed(&here.root, card)).collect(),
                None => cards.map(|card| (card, None)).collect(),
            };
            return show_cards(cards, &[]);
        }
        MemoryCommand::Forget { id } => {
            let lines = store.forget(*id).await?;
            output::note_line(format!(
                "forgotten in {lines} lines; GitHub may keep what nothing points at for a while"
            ));
        }
        MemoryCommand::WontFix { id } => {
            if !store.give_up(*id).await? {
                return Err(CliError::bad_data(format!("no failure {id} is remembered")));
            }
        }
        MemoryCommand::Clear { yes, archive } => clear(store, *yes, archive.as_deref()).await?,
        MemoryCommand::Export { file } => {
            let text = exported(store).await?;
            match file {
                Some(file) => output::write(file, &text)?,
                None => output::text(text),
            }
        }
        MemoryCommand::Import { file } => {
            let text = output::read_text(file)?;
            let lines = MemoryLine::read_all(&text);
            let (count, of) = (
                lines.len(),
                text.lines().filter(|line| !line.trim().is_empty()).count(),
            );
            let notes = MemoryNotes {
                lines,
                ..MemoryNotes::default()
            };
            store.record(&notes).await?;
            let others = if count < of {
                format!(" of {of}; the others are no lines of a memory")
            } else {
                String::new()
            };
            output::note_line(format!("{count} lines taken in{others}"));
        }
    }
    Ok(exit::OK)
}

impl QueryArguments {
    fn fits(&self, card: &Card) -> bool {
        let is_file = |file: &String| card.fix.files_modified.contains(file);
        let is_error = |error: &String| card.error_type.as_str().eq_ignore_ascii_case(error);
        let is_test = |test: &String| {
            card.test
                .as_ref()
                .is_some_and(|name| name.contains(test.as_str()))
        };
        self.file.as_ref().is_none_or(is_file)
            && self.error.as_ref().is_none_or(is_error)
            && self.test.as_ref().is_none_or(is_test)
            && self
                .since
                .is_none_or(|since| card.last_seen.date_naive() >= since)
    }

    /// Errors without a card that fit. Of their files and types nothing is kept.
    fn seen<'m>(&self, memory: &'m Memory) -> Vec<&'m Recurring> {
        if self.file.is_some() || self.error.is_some() {
            return Vec::new();
        }
        let mut seen = memory.unmended(&self.words.join(" "));
        seen.retain(|seen| {
            self.test
                .as_ref()
                .is_none_or(|test| seen.test.contains(test.as_str()))
                && self
                    .since
                    .is_none_or(|since| seen.last_seen.date_naive() >= since)
        });
        seen
    }
}

/// What a repository remembers of these words.
pub(super) async fn search(repository: Option<&RepoName>, words: &str) -> Result<Value, CliError> {
    let (usual, now) = (&MemoryPolicy::default(), Utc::now());
    let memory = match RunSource::open(repository).await? {
        RunSource::OnGithub(objects) => MemoryStore::new(&objects, usual, now).load().await?,
        RunSource::Here(objects) => MemoryStore::new(&objects, usual, now).load().await?,
    };
    Ok(render::memory_found(
        &memory.search(words),
        &memory.unmended(words),
    ))
}

/// A card with the line of its place in the working tree; none where that is not there.
fn placed<'m>(root: &Path, card: &'m Card) -> Option<(&'m Card, Option<u32>)> {
    let read = |path| Some((path, working_tree::cited(root, path)?));
    let files: BTreeMap<&str, String> = card.cited().filter_map(read).collect();
    let line = card.find(|path| files.get(path).map(String::as_str))?;
    Some((card, Some(line)))
}

/// Cards, each with the line at which its place stands now, where that is known; and errors without a card.
fn show_cards(cards: Vec<(&Card, Option<u32>)>, seen: &[&Recurring]) -> CommandResult {
    let found: Vec<&Card> = cards.iter().map(|(card, _)| *card).collect();
    output::show(&render::memory_found(&found, seen), || {
        let mut words = vec![render::memory_cards(cards.iter().copied())];
        words.extend((!seen.is_empty()).then(|| render::memory_recurring(seen.iter().copied())));
        words.join("\n")
    })
}

async fn exported<G: ListObjects>(store: &MemoryStore<'_, G>) -> Result<String, CliError> {
    let mut text = String::new();
    for line in store.lines().await? {
        text.push_str(&line.to_json()?);
        text.push('\n');
    }
    Ok(text)
}

async fn clear<G: ListObjects>(
    store: &MemoryStore<'_, G>,
    yes: bool,
    archive: Option<&Path>,
) -> Result<(), CliError> {
    let named = || {
        PathBuf::from(format!(
            "loopgate-memory-{}.jsonl",
            Utc::now().format("%Y%m%d-%H%M%S")
        ))
    };
    let archive = archive.map_or_else(named, Path::to_owned);
    let text = exported(store).await?;
    let (lines, to) = (text.lines().count(), archive.display());
    if !yes
        && !output::agrees(&format!(
            "Remove {lines} lines, after they are archived in {to}? [yes/no]"
        ))
    {
        return Err(CliError::usage(
            "nothing was removed; answer yes, or pass --yes",
        ));
    }
    output::write(&archive, &text)?;
    store.clear().await?;
    output::note_line(format!(
        "cleared; {} has what was there, and `loopgate memory import` takes it in again",
        archive.display()
    ));
    Ok(())
}
