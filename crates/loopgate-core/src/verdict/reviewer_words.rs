//! What is read in an AI reviewer's text: how bad it says its finding is, what the finding is, and whether there is one.
//!
//! The text is quoted and compared, and never followed. `data/reviewers.toml` has the words.

use std::{borrow::Cow, collections::BTreeMap, sync::LazyLock};

use regex::Regex;
use serde::Deserialize;

use crate::{evidence::FindingSeverity, text};

/// Characters of a finding that are kept: they make it the same in the next round.
const MOST_OF_A_MESSAGE: usize = 500;
/// Labels in front of a finding at most, and words of one.
const MOST_LABELS: usize = 12;
const WORDS_OF_A_LABEL: usize = 3;

#[derive(Deserialize)]
struct Table {
    severity: BTreeMap<FindingSeverity, Vec<String>>,
    message: Vec<Message>,
}

/// A message that is neither a finding nor a review.
#[derive(Deserialize)]
struct Message {
    app: String,
    begins: String,
    #[cfg(test)]
    example: String,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| data!("reviewers.toml"));

/// A severity's word that stands alone: behind it comes a mark, or the end of the line.
static SEVERITY: LazyLock<Regex> = LazyLock::new(|| {
    let words = TABLE.severity.values().flatten().map(|word| regex::escape(word)).collect::<Vec<_>>().join("|");
    let pattern = format!(r"(?i)\A({words})(?: (?:severity|priority|issue|badge))?[ \t]*(?:[*_|\]):\n]|\z)");
    Regex::new(&pattern).expect("words of a file that a test reads")
});

/// What stands among labels and says nothing: the key of a severity, and the address of a badge.
fn no_label() -> &'static Regex {
    pattern!(r"(?i)\A(?:(?:severity|priority)\b[*_ ]*:|https?://[^\s)]+)")
}

/// Comments, folded parts, tags and the marks of alerts.
fn unseen() -> &'static Regex {
    pattern!(r"(?s)<!--.*?(?:-->|\z)|<details\b.*?(?:</details>|\z)|</?[a-zA-Z][^<>]{0,300}>|\[![A-Z]{3,12}\]")
}

/// Whether a text is one of a reviewer's own messages of which the table says that they find nothing.
pub fn is_placeholder(app: &str, text: &str) -> bool {
    let seen = words(&unseen().replace_all(text, " "));
    TABLE.message.iter().any(|message| message.app == app && seen.starts_with(&words(&message.begins)))
}

fn words(text: &str) -> String {
    let words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.take(20).collect::<Vec<_>>().join(" ").to_lowercase()
}

/// What a reviewer finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// As its labels say; the worst of several. None where they do not.
    pub severity: Option<FindingSeverity>,
    /// Its title, else its first paragraph, on one line.
    pub message: String,
}

impl Finding {
    pub fn of(text: &str) -> Self {
        let seen = unseen().replace_all(text, "");
        let seen = if seen.trim().is_empty() { Cow::Borrowed(text) } else { seen };
        let (severity, rest) = labels(&seen);
        let rest = if rest.is_empty() { &seen } else { rest };
        let paragraph = rest.split("\n\n").find(|part| part.contains(char::is_alphanumeric)).unwrap_or(rest);
        let plain = paragraph.replace("**", "");
        Self {
            severity,
            message: text::one_line(plain.trim_matches(['*', '_', '#', '>', ' ', '\n']), MOST_OF_A_MESSAGE),
        }
    }
}

/// What the labels in front of a finding say, and the text behind them. Labels are what stands between marks in few words;
/// the first words of prose end them.
fn labels(text: &str) -> (Option<FindingSeverity>, &str) {
    let (mut severity, mut rest) = (None, text);
    for _ in 0..MOST_LABELS {
        let (mark, behind) = rest.split_at(rest.find(char::is_alphanumeric).unwrap_or(rest.len()));
        if let Some(found) = SEVERITY.captures(behind) {
            severity = severity.max(found.get(1).and_then(|word| severity_of(word.as_str())));
            rest = behind[found.get_match().end()..].trim_start_matches(['*', '_', ']', ')', ':']);
            continue;
        }
        if let Some(found) = no_label().find(behind) {
            rest = &behind[found.end()..];
            continue;
        }
        let line = behind.lines().next().unwrap_or_default();
        let opening = mark.chars().rev().find(|letter| matches!(letter, '#' | '*' | '_' | '['));
        let end = match opening {
            Some('#') => Some(line.len()),
            Some('[') => line.find(']'),
            Some(mark) => line.find(mark),
            None => None,
        };
        let is_label =
            |end: &usize| opening == Some('#') || line[..*end].split_whitespace().count() <= WORDS_OF_A_LABEL;
        let Some(end) = end.filter(is_label) else { return (severity, behind) };
        rest = behind[end..].trim_start_matches(['*', '_', ']']);
    }
    (severity, rest)
}

fn severity_of(word: &str) -> Option<FindingSeverity> {
    let is_word = |words: &Vec<String>| words.iter().any(|one| one.eq_ignore_ascii_case(word));
    TABLE.severity.iter().find(|(_, words)| is_word(words)).map(|(severity, _)| *severity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_of_the_table_is_one_in_its_example_and_nowhere_else() {
        for message in &TABLE.message {
            assert!(is_placeholder(&message.app, &message.example), "{}", message.begins);
            assert!(!is_placeholder("somebody-else", &message.example), "{}", message.begins);
            assert!(!is_placeholder(&message.app, &format!("The message is wrong. {}", message.begins)));
        }
        assert!(!is_placeholder("coderabbitai", "Hold on, I am thinking about it."));
        assert!(!is_placeholder("coderabbitai", ""));
    }

    #[test]
    fn a_severity_is_read_where_it_is_a_label_and_nowhere_else() {
        use FindingSeverity::{Critical, High, Low, Medium};
        let table: &[(&str, Option<FindingSeverity>, &str)] = &[
            (
                "_⚠️ Potential issue_ | _🟠 Major_ | _⚡ Quick win_\n\n<details>\n<summary>Analysis</summary>\n\nlow\n</details>\n\n\
                 **Handle the error of `open`, which is lost.**\n\nIt is swallowed.\n",
                Some(High),
                "Handle the error of `open`, which is lost.",
            ),
            (
                "**<sub><sub>![P1 Badge](https://img.shields.io/badge/P1-orange?style=flat)</sub></sub>  Keep the lock \
                 while writing**\n\nTwo writers race.",
                Some(High),
                "Keep the lock while writing",
            ),
            ("![medium](https://example.com/medium.svg)\n\nThe loop never ends.", Some(Medium), "The loop never ends."),
            ("### Wrong total\n\n**High Severity**\n\nThe total is `0`.", Some(High), "The total is `0`."),
            ("**Severity:** critical\n\nThe key is logged.", Some(Critical), "The key is logged."),
            ("**nitpick:** Rename `x` to `count`.", Some(Low), "Rename `x` to `count`."),
            ("**issue (bug_risk):** The low bound is off by one.", None, "The low bound is off by one."),
            ("Low latency is assumed here.", None, "Low latency is assumed here."),
            ("The *low* bound is wrong.", None, "The *low* bound is wrong."),
            ("[minor] [critical] Two labels.", Some(Critical), "Two labels."),
            ("<!-- hidden -->", None, "hidden --"),
            ("", None, ""),
        ];
        for (text, severity, message) in table {
            let found = Finding::of(text);
            assert_eq!((found.severity, found.message.as_str()), (*severity, *message), "{text:?}");
        }
    }

    #[test]
    fn hostile_texts_are_read_in_bounds() {
        for text in
            ["*".repeat(9_000), "[".repeat(9_000), "<details>".repeat(900), "# ".repeat(4_000), "é".repeat(9_000)]
        {
            assert!(Finding::of(&text).message.chars().count() <= MOST_OF_A_MESSAGE);
        }
    }
}
