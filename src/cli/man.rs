//! `loopgate man`: pages of the manual, made from what the command line says of itself.

use std::{fs, path::PathBuf};

use clap::{Args, CommandFactory as _};
use clap_mangen::Man;

use super::{Cli, CliError, CommandResult, exit, help, output};

#[derive(Debug, Args)]
pub struct ManArguments {
    /// The command whose page is printed [default: loopgate itself]
    #[arg(value_name = "COMMAND")]
    words: Vec<String>,
    /// Write all pages into this folder instead, loopgate.1 and one for each command
    #[arg(long, value_name = "FOLDER", conflicts_with = "words")]
    to: Option<PathBuf>,
}

pub fn run(arguments: &ManArguments) -> CommandResult {
    match &arguments.to {
        Some(folder) => {
            fs::create_dir_all(folder)?;
            clap_mangen::generate_to(described(), folder)?;
        }
        None => output::text(page(&arguments.words)?),
    }
    Ok(exit::OK)
}

/// The page of a command, by its words.
fn page(words: &[String]) -> Result<String, CliError> {
    let mut command = described();
    // This gives each command the name of its page.
    command.build();
    let mut found = &command;
    for word in words {
        found = found
            .find_subcommand(word)
            .ok_or_else(|| CliError::usage(format!("there is no command {word} here")))?;
    }
    let mut page = Vec::new();
    Man::new(found.clone()).render(&mut page)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

fn described() -> clap::Command {
    help::with_texts(Cli::command(), "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page_of(words: &str) -> Result<String, CliError> {
        page(
            &words
                .split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn a_page_is_that_of_its_command() {
        for (words, name, option) in [
            ("", "loopgate", "--quiet"),
            ("loop run", "loopgate-loop-run", "--fail-on"),
        ] {
            let page = page_of(words).expect("a page").replace('\\', "");
            assert!(page.contains(&format!(".TH {name} 1")), "{page}");
            assert!(page.contains(option), "{page}");
        }
        let refused = page_of("loop nothing").expect_err("no such command");
        assert_eq!(refused.code, exit::USAGE);
        assert!(refused.message.contains("nothing"));
    }
}
