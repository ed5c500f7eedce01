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
    use clap::CommandFactory as _;

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
