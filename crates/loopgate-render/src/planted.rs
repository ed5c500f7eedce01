//! Settings of git that came into a repository's configuration while code of a pull request ran.

use minijinja::context;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    amounts::few,
    line,
    messages::{self, entry},
    word_named,
};

/// Settings that one outsider planted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PlantedSettings {
    /// Who ran: `checks`, `fixer`, `task_command`; `unknown` where one of them was ended from outside.
    pub by: String,
    /// Keys of git's configuration, and files of the repository's folder: `filter.lfs.clean`, `hooks/pre-commit`.
    pub settings: Vec<String>,
    /// Whether a git command of Loopgate would have come to them, and therefore leaves them out.
    pub left_out: bool,
}

/// Settings that a sentence names.
const MOST_NAMED: usize = 5;

/// The sentences about them, one for each outsider.
pub fn planted_lines(planted: &[PlantedSettings]) -> Vec<String> {
    planted.iter().map(planted_line).collect()
}

fn planted_line(planted: &PlantedSettings) -> String {
    let named = planted
        .settings
        .iter()
        .map(|setting| format!("`{}`", line(setting)));
    let beside = context! {
        who => word_named("planted_by", &planted.by),
        settings => few(named, MOST_NAMED),
        example => planted.settings.first().map(|setting| line(setting)),
    };
    let what = if planted.left_out {
        entry::Planted::LeftOut
    } else {
        entry::Planted::Unused
    };
    messages::plain(what, beside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_says_who_what_and_what_to_do() {
        let of = |by: &str, left_out, settings: &[&str]| PlantedSettings {
            by: by.to_owned(),
            settings: settings.iter().map(|&setting| setting.to_owned()).collect(),
            left_out,
        };
        let told = planted_lines(&[
            of(
                "checks",
                true,
                &["filter.evil.clean", "filter.evil.required"],
            ),
            of("fixer", false, &["hooks/pre-commit"]),
        ]);
        insta::assert_snapshot!(told.join("\n"), @r"
        While the checks ran, git's settings here got `filter.evil.clean` and `filter.evil.required`. Loopgate's own git leaves that out and has changed nothing; your git runs it. Not wanted? `git config --show-origin --get-all filter.evil.clean` shows where it stands. Wanted? Delete `.git/loopgate/git-settings.json`.
        While the fixer ran, git's settings here got `hooks/pre-commit`. Loopgate's own git comes to none of that and has changed nothing; your git runs it.
        ");
    }
}
