//! Printing: formats, colours, and reading what a subcommand was given.
//!
//! Everything the command line prints goes through here. A reader may stop early (`loopgate … | head -1`): the
//! rest is then dropped in silence, the work goes on, and the exit code is the same as if all had been read.

use std::{
    fmt::Display,
    io::{self, BufRead as _, ErrorKind, IsTerminal as _, Read, Write as _},
    path::{Path, PathBuf},
    sync::OnceLock,
};

use clap::{Args, ValueEnum};
use serde::Serialize;
use tracing_subscriber::EnvFilter;

use super::{CliError, CommandResult, exit};

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    #[default]
    Human,
    /// For programs: stable documents
    Json,
    /// For the log of a workflow: errors and warnings as annotations (verify, check-config)
    Github,
}

/// When results are coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColourChoice {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Also in files and pipes
    Always,
    /// Not even on a terminal
    Never,
}

// The options of every command. A doc comment would become the description of the program.
#[derive(Clone, Debug, Default, Args)]
pub struct GlobalOptions {
    /// How results are printed
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "FORMAT"
    )]
    pub format: Format,

    /// Work as if started in this directory
    #[arg(short = 'C', long = "directory", global = true, value_name = "DIR")]
    pub directory: Option<PathBuf>,

    /// Print only results and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,

    /// Show what checks print while they run
    #[arg(short, long, global = true)]
    pub verbose: bool,

    /// When results are coloured
    #[arg(
        long = "color",
        global = true,
        value_enum,
        default_value_t,
        value_name = "WHEN"
    )]
    pub colour: ColourChoice,
}

/// Set once, before anything is printed.
pub static OPTIONS: OnceLock<GlobalOptions> = OnceLock::new();

/// The options of the command line about printing.
pub fn options() -> &'static GlobalOptions {
    OPTIONS.get_or_init(GlobalOptions::default)
}

pub fn format() -> Format {
    options().format
}

/// Prints one result: the document for programs, or its words for people, which end their last line if need be. A
/// command that has shown its result has done what it was asked to.
pub fn show<W: Display>(document: &impl Serialize, words: impl FnOnce() -> W) -> CommandResult {
    if format() == Format::Json {
        json(document)?;
    } else {
        let words = words().to_string();
        let end = if words.is_empty() || words.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        text(format_args!("{words}{end}"));
    }
    Ok(exit::OK)
}

/// Prints a document as YAML for people: short enough to read as it is, and control characters come out escaped.
pub fn show_as_yaml(document: &impl Serialize) -> CommandResult {
    let yaml = serde_yaml::to_string(document).map_err(CliError::bad_data)?;
    show(document, || yaml)
}

/// Why results could not be written, if something other than a reader who stopped kept them back: a full disk.
static UNWRITTEN: OnceLock<String> = OnceLock::new();

/// Prints a line of results.
pub fn line(text: impl Display) {
    self::text(format_args!("{text}\n"));
}

/// Prints results that bring their own line ends.
pub fn text(text: impl Display) {
    let mut out = io::stdout().lock();
    if let Err(error) = write!(out, "{text}").and_then(|()| out.flush())
        && error.kind() != ErrorKind::BrokenPipe
    {
        // The first reason is the one to show.
        let _ = UNWRITTEN.set(error.to_string());
    }
}

/// Prints a line of progress, unless only errors are to be printed.
pub fn note_line(text: impl Display) {
    note_text(format_args!("{text}\n"));
}

/// Prints progress that brings its own line ends.
pub fn note_text(text: impl Display) {
    if !options().quiet {
        // A failed write loses progress and no result.
        let _ = io::stderr().lock().write_fmt(format_args!("{text}"));
    }
}

/// Asks, also where only errors are printed. Only a yes is agreement.
pub fn agrees(question: &str) -> bool {
    // If the question cannot be written, an answer is not expected either.
    let _ = write!(io::stderr().lock(), "{question} ");
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    if !answer.ends_with('\n') {
        // Return was not pressed: the next output begins a line of its own.
        note_line("");
    }
    read.is_ok() && is_yes(&answer)
}

pub fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

/// Prints why nothing more comes.
pub fn error_line(text: impl Display) {
    // The exit code shows it too.
    let _ = io::stderr().lock().write_fmt(format_args!("{text}\n"));
}

/// # Errors
/// When results were lost that somebody may be waiting for.
pub fn all_written() -> Result<(), CliError> {
    let lost = |error| {
        Err(CliError::unavailable(format!(
            "the results cannot be written: {error}"
        )))
    };
    UNWRITTEN.get().map_or(Ok(()), lost)
}

/// Prints a document for programs.
pub fn json(document: &impl Serialize) -> Result<(), CliError> {
    self::document(&serde_json::to_string_pretty(document).map_err(CliError::bad_data)?);
    Ok(())
}

/// Prints a document for programs that is written already.
pub fn document(json: &str) {
    // The same document, in which the runner of GitHub Actions finds no command: it looks for these marks everywhere.
    line(json.replace("##[", "\\u0023#["));
}

/// Whether results are coloured. Unless it is set: on a terminal, and never against `NO_COLOR` (no-color.org).
pub fn colour() -> bool {
    match options().colour {
        ColourChoice::Always => true,
        ColourChoice::Never => false,
        ColourChoice::Auto => {
            io::stdout().is_terminal()
                && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        }
    }
}

/// Most bytes read of a document given on the command line.
const INPUT_LIMIT: u64 = 16 * 1024 * 1024;

/// What a document given on the command line is called.
pub fn shown(path: &Path) -> String {
    if path == Path::new("-") {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    }
}

/// The text of a file, or of standard input where the path is `-`.
pub fn read_text(path: &Path) -> Result<String, CliError> {
    let mut text = String::new();
    open(path)?
        .take(INPUT_LIMIT)
        .read_to_string(&mut text)
        .map_err(|error| unreadable(path, &error))?;
    Ok(text)
}

fn unreadable(path: &Path, error: &io::Error) -> CliError {
    CliError::bad_data(format!("{} cannot be read: {error}", shown(path)))
}

/// A text, and what it is called.
pub fn read_named(path: &Path) -> Result<(String, String), CliError> {
    Ok((shown(path), read_text(path)?))
}

/// A document given on the command line, read piece by piece, whatever its size.
pub fn open(path: &Path) -> Result<Box<dyn Read>, CliError> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    Ok(Box::new(
        std::fs::File::open(path).map_err(|error| unreadable(path, &error))?,
    ))
}

/// Which lines of the log are written, as `LOOPGATE_LOG` sets it.
pub fn log_filter(given: Option<String>, default: &str) -> Result<EnvFilter, CliError> {
    let filter = EnvFilter::try_new(given.as_deref().unwrap_or(default));
    filter.map_err(|error| CliError::bad_data(format!("LOOPGATE_LOG: {error}")))
}

/// Writes a file that was asked for.
pub fn write(path: &Path, text: &str) -> Result<(), CliError> {
    std::fs::write(path, text).map_err(|error| {
        CliError::unavailable(format!("{} cannot be written: {error}", path.display()))
    })
}

/// Appends to the file that a variable of GitHub Actions names, if it names one. A failed write changes no
/// outcome.
pub fn append_to_file_of(variable: &str, what: &str, text: &str) {
    let Some(file) = std::env::var_os(variable).filter(|file| !file.is_empty()) else {
        return;
    };
    let opened = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(&file);
    if let Err(error) = opened.and_then(|mut file| file.write_all(text.as_bytes())) {
        note_line(format_args!("{what} cannot be written: {error}"));
    }
}
