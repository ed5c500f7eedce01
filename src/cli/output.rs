//! Printing: formats, colours, and reading what a subcommand was given.

use std::{
    io::{self, IsTerminal, Read},
    path::Path,
};

use clap::ValueEnum;
use serde::Serialize;

use super::CliError;

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Human,
    /// For programs: stable documents
    Json,
}

/// Prints a document for programs.
pub fn json(document: &impl Serialize) -> Result<(), CliError> {
    let text = serde_json::to_string_pretty(document).map_err(CliError::bad_data)?;
    // The same document, in which the runner of GitHub Actions finds no command: it looks for these marks everywhere.
    println!("{}", text.replace("##[", "\\u0023#["));
    Ok(())
}

/// Whether colours may be used on a stream: only on a terminal, and never against `NO_COLOR` (no-color.org).
pub fn colours_on(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Most bytes read of a document given on the command line.
const INPUT_LIMIT: u64 = 16 * 1024 * 1024;

/// What a document given on the command line is called.
pub fn shown(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

/// The text of a file, or of standard input where the path is `-`.
pub fn read_text(path: &Path) -> Result<String, CliError> {
    let mut text = String::new();
    let result = if path == Path::new("-") {
        io::stdin().lock().take(INPUT_LIMIT).read_to_string(&mut text)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(INPUT_LIMIT).read_to_string(&mut text))
    };
    result.map_err(|error| CliError::bad_data(format!("{} cannot be read: {error}", shown(path))))?;
    Ok(text)
}
