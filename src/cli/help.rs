//! What stands below the options in the help of each command: a section of `help.txt` for each.

use std::{collections::BTreeMap, sync::LazyLock};

use clap::Command;

static SECTIONS: LazyLock<BTreeMap<&str, &str>> = LazyLock::new(|| {
    let sections = include_str!("help.txt").split("\n== ").skip(1);
    sections
        .filter_map(|section| section.split_once('\n'))
        .collect()
});

/// Adds the text of a command, by its words, and those of the commands below it.
pub fn with_texts(command: Command, words: &str) -> Command {
    let of = if words.is_empty() {
        command.get_name()
    } else {
        words
    };
    let [text, environment] =
        [of, "environment"].map(|of| SECTIONS.get(of).copied().unwrap_or_default().trim_end());
    let text = text.replace("{environment}", environment);
    command.after_help(text).mut_subcommands(|below| {
        let words = format!("{words} {}", below.get_name());
        with_texts(below, words.trim_start())
    })
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, error::ErrorKind};

    use super::*;

    #[test]
    fn each_loop_command_shows_its_own_example() {
        for (words, text) in SECTIONS
            .iter()
            .filter(|(words, _)| words.starts_with("loop "))
        {
            let call = format!("loopgate {words}");
            assert!(text.contains(&call), "{words}: {text}");
        }
    }

    /// The words of an example's first command, without what the shell does with them and the remark beside it.
    fn words(example: &str) -> Vec<String> {
        let ends = ["   ", " | ", " > ", " < ", " && "];
        let end = ends.iter().filter_map(|end| example.find(end)).min();
        let command = &example[..end.unwrap_or(example.len())];
        let mut quoted = None;
        let words = command.split(|c: char| match quoted {
            Some(quote) => {
                quoted = Some(quote).filter(|quote| *quote != c);
                false
            }
            None => {
                quoted = Some(c).filter(|c| ['"', '\''].contains(c));
                c == ' '
            }
        });
        words
            .map(|word| word.trim_matches(['"', '\'']).to_owned())
            .collect()
    }

    #[test]
    fn every_example_is_one_that_the_program_takes() {
        let command = super::super::Cli::command();
        let examples = SECTIONS.values().flat_map(|text| text.lines());
        let examples = examples.filter_map(|line| line.strip_prefix("  loopgate "));
        let mut taken = 0;
        for example in examples {
            let words = words(&format!("loopgate {example}"));
            let outcome = command.clone().try_get_matches_from(&words);
            // In a workflow the environment says the rest.
            let wrong = outcome
                .err()
                .filter(|error| error.kind() != ErrorKind::MissingRequiredArgument);
            assert!(wrong.is_none(), "{words:?}: {wrong:?}");
            taken += 1;
        }
        assert!(taken > 60, "{taken}");
    }

    #[test]
    fn every_text_is_that_of_a_command() {
        let command = with_texts(super::super::Cli::command(), "");
        for words in SECTIONS
            .keys()
            .filter(|words| !matches!(**words, "environment" | "loopgate" | "demo"))
        {
            let find = |command: &Command, word| command.find_subcommand(word).cloned();
            let found = words
                .split(' ')
                .try_fold(command.clone(), |command, word| find(&command, word));
            let text = found.and_then(|found| Some(found.get_after_help()?.to_string()));
            assert!(
                text.is_some_and(|text| !text.is_empty() && !text.contains("{environment}")),
                "{words}"
            );
        }
    }
}
