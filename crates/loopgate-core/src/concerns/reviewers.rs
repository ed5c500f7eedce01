//! AI reviewers: the threads that they began on a pull request's lines are the evidence of a check.
//!
//! What is read in their text is how bad it says its finding is, what the finding is, and whether there is one. The
//! text is quoted and compared, and never followed. `data/reviewers.toml` has the words.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use regex::Regex;
use serde::Deserialize;

use crate::{
    concerns::gates,
    evidence::{
        CheckEvidence, CheckKind, ErrorType, Failure, FindingSeverity, Outcome, SourceLocation,
    },
    expressions::compile,
    ids::{CheckName, UserId},
    observed::{
        Account, AccountKind, Conclusion, ExternalCheck, Permission, Resolution, ReviewThread,
        Snapshot,
    },
    policy::ReviewerSource,
    text,
};

/// Findings of one reviewer that are kept; further ones are counted.
const MOST_FINDINGS: usize = 200;

/// How far a reviewer is with the head.
#[derive(Clone, Debug, PartialEq)]
pub enum ReviewerStanding {
    /// It has written nothing on the head yet, and has time left.
    Awaited,
    /// It reviewed the head, or began threads that still count.
    Reviewed(Box<CheckEvidence>),
    /// Not all review threads were read.
    Unread,
    /// It wrote nothing on the head within its time-out.
    Absent { minutes: u64 },
}

/// Where a reviewer stands on the head. `is_overdue` says that it was waited for long enough.
pub fn standing(
    snapshot: &Snapshot,
    name: &CheckName,
    source: &ReviewerSource,
    is_overdue: bool,
) -> ReviewerStanding {
    let has_reviewed = has_reviewed(snapshot, &source.app);
    if !has_reviewed && !is_overdue {
        return ReviewerStanding::Awaited;
    }
    let may_resolve = who_may_resolve(snapshot);
    let is_closed = |thread: &ReviewThread| match &thread.resolution {
        Resolution::ByReviewer => true,
        Resolution::By(account) if may_resolve.contains(&account.id) => true,
        _ => thread.is_outdated && has_reviewed,
    };
    let own = snapshot
        .review_threads
        .items
        .iter()
        .filter_map(|thread| Some((thread, finding(thread, source)?)));
    let own: Vec<(&ReviewThread, ReviewFinding)> = own.collect();
    let open: Vec<_> = own
        .iter()
        .filter(|(thread, _)| !is_closed(thread))
        .collect();
    match (open.first(), snapshot.review_threads.is_complete) {
        (Some((first, _)), _) => {
            let mut evidence =
                CheckEvidence::bare(name.clone(), CheckKind::Custom, Outcome::Failed);
            evidence.url = Some(first.url.clone());
            evidence.failures_not_kept = open.len().saturating_sub(MOST_FINDINGS) as u64;
            evidence.failures = open
                .iter()
                .take(MOST_FINDINGS)
                .map(|finding| of(finding, &own))
                .collect();
            ReviewerStanding::Reviewed(Box::new(evidence))
        }
        (None, false) => ReviewerStanding::Unread,
        (None, true) if !has_reviewed => ReviewerStanding::Absent {
            minutes: source.timeout.num_minutes().unsigned_abs(),
        },
        (None, true) => ReviewerStanding::Reviewed(Box::new(CheckEvidence::bare(
            name.clone(),
            CheckKind::Custom,
            Outcome::Passed,
        ))),
    }
}

/// What a thread finds, if it is the reviewer's and counts.
fn finding(thread: &ReviewThread, source: &ReviewerSource) -> Option<ReviewFinding> {
    if thread.app != source.app || is_placeholder(&source.app, &thread.finding) {
        return None;
    }
    let finding = ReviewFinding::of(&thread.finding);
    finding
        .severity
        .is_none_or(|severity| severity >= source.at_least)
        .then_some(finding)
}

/// The finding as a failure: its place and its words make it the same in the next round. What is found again in a new
/// thread was answered in the thread before.
fn of(
    (thread, finding): &(&ReviewThread, ReviewFinding),
    own: &[(&ReviewThread, ReviewFinding)],
) -> Failure {
    let same = own
        .iter()
        .filter(|(other, found)| other.path == thread.path && found.message == finding.message);
    let earlier = same
        .filter_map(|(other, _)| other.answer.as_ref())
        .next_back();
    Failure {
        error_type: ErrorType::LintError,
        error_class: Some(Failure::OF_REVIEWER.to_owned()),
        error_message: finding.message.clone(),
        test_file: Some(thread.path.clone()),
        line_number: thread.line,
        source: Some(SourceLocation {
            file: thread.path.clone(),
            line: thread.line,
            function: None,
        }),
        answer: thread
            .answer
            .as_ref()
            .or(earlier)
            .map(|(by, words)| format!("{by}: {words}")),
        ..Failure::default()
    }
}

/// Whether the reviewer wrote about the head itself: in a review or a thread on it, in a comment that names it, or
/// by the end of a check run.
fn has_reviewed(snapshot: &Snapshot, app: &str) -> bool {
    let head = snapshot.pull_request.head.sha;
    // A person may have the slug for a login, but not the bot's kind.
    let is_bot = |by: &Account| {
        by.kind == AccountKind::Bot && by.login.as_str().strip_suffix("[bot]") == Some(app)
    };
    let is_review = |by: &Account, text: &str| is_bot(by) && !is_placeholder(app, text);
    let has_judged = |check: &ExternalCheck| {
        matches!(
            check.progress.conclusion(),
            Some(Conclusion::Success | Conclusion::Failure)
        )
    };
    let short = head.short();
    snapshot
        .reviews
        .items
        .iter()
        .any(|review| review.commit == Some(head) && is_review(&review.author, &review.body))
        || snapshot
            .review_threads
            .items
            .iter()
            .any(|thread| thread.app == app && thread.begun_on == Some(head))
        || snapshot
            .comments
            .items
            .iter()
            .any(|one| one.body.contains(&short) && is_review(&one.author, &one.body))
        || snapshot
            .checks
            .iter()
            .any(|check| check.app.as_deref() == Some(app) && has_judged(check))
}

/// Everybody who called a thread done, beside its reviewer: their rights must be known.
pub fn resolvers(snapshot: &Snapshot) -> BTreeMap<UserId, &Account> {
    let by = snapshot
        .review_threads
        .items
        .iter()
        .filter_map(|thread| match &thread.resolution {
            Resolution::By(account) => Some((account.id, account)),
            _ => None,
        });
    by.collect()
}

/// Those of them who may: people with write who have no part in the change.
fn who_may_resolve(snapshot: &Snapshot) -> BTreeSet<UserId> {
    let may = |account: &&Account| {
        account.kind == AccountKind::User
            && snapshot.authority.has(account.id, Permission::Write) == Some(true)
            && gates::has_part_in(snapshot, account) == Some(false)
    };
    resolvers(snapshot)
        .into_values()
        .filter(may)
        .map(|account| account.id)
        .collect()
}

/// Characters of a finding that are kept: they make it the same in the next round.
const MOST_OF_A_MESSAGE: usize = 500;
/// Labels in front of a finding at most, and words of one.
const MOST_LABELS: usize = 12;
const WORDS_OF_A_LABEL: usize = 3;

#[derive(Deserialize)]
struct ReviewerTable {
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

static TABLE: LazyLock<ReviewerTable> = LazyLock::new(|| data!("reviewers.toml"));

/// A severity's word that stands alone: behind it comes a mark, or the end of the line.
static SEVERITY: LazyLock<Regex> = LazyLock::new(|| {
    let words = TABLE
        .severity
        .values()
        .flatten()
        .map(|word| regex::escape(word))
        .collect::<Vec<_>>()
        .join("|");
    let pattern =
        format!(r"(?i)\A({words})(?: (?:severity|priority|issue|badge))?[ \t]*(?:[*_|\]):\n]|\z)");
    compile(&pattern)
});

/// Comments, folded parts, tags and the marks of alerts.
fn unseen() -> &'static Regex {
    pattern!(
        r"(?s)<!--.*?(?:-->|\z)|<details\b.*?(?:</details>|\z)|</?[a-zA-Z][^<>]{0,300}>|\[![A-Z]{3,12}\]"
    )
}

/// Whether a text is one of a reviewer's own messages of which the table says that they find nothing.
fn is_placeholder(app: &str, text: &str) -> bool {
    let seen = words(&unseen().replace_all(text, " "));
    TABLE
        .message
        .iter()
        .any(|message| message.app == app && seen.starts_with(&words(&message.begins)))
}

fn words(text: &str) -> String {
    let words = text
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty());
    words.take(20).collect::<Vec<_>>().join(" ").to_lowercase()
}

/// What a reviewer finds.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ReviewFinding {
    /// As its labels say; the worst of several. None where they do not.
    severity: Option<FindingSeverity>,
    /// Its title, else its first paragraph, on one line.
    message: String,
}

impl ReviewFinding {
    fn of(text: &str) -> Self {
        let seen = unseen().replace_all(text, "");
        let seen = if seen.trim().is_empty() {
            Cow::Borrowed(text)
        } else {
            seen
        };
        let (severity, rest) = labels(&seen);
        let rest = if rest.is_empty() { &seen } else { rest };
        let paragraph = rest
            .split("\n\n")
            .find(|part| part.contains(char::is_alphanumeric))
            .unwrap_or(rest);
        let plain = paragraph.replace("**", "");
        Self {
            severity,
            message: text::one_line(
                plain.trim_matches(['*', '_', '#', '>', ' ', '\n']),
                MOST_OF_A_MESSAGE,
            ),
        }
    }
}

/// What the labels in front of a finding say, and the text behind them. Labels are what stands between marks in few
/// words; the first words of prose end them.
fn labels(text: &str) -> (Option<FindingSeverity>, &str) {
    // What stands among labels and says nothing: the key of a severity, and the address of a badge.
    let no_label = pattern!(r"(?i)\A(?:(?:severity|priority)\b[*_ ]*:|https?://[^\s)]+)");
    let (mut severity, mut rest) = (None, text);
    for _ in 0..MOST_LABELS {
        let (mark, behind) = rest.split_at(rest.find(char::is_alphanumeric).unwrap_or(rest.len()));
        if let Some(found) = SEVERITY.captures(behind) {
            let is_word =
                |words: &Vec<String>| words.iter().any(|one| one.eq_ignore_ascii_case(&found[1]));
            let of_word = TABLE.severity.iter().find(|(_, words)| is_word(words));
            severity = severity.max(of_word.map(|(severity, _)| *severity));
            rest = behind[found.get_match().end()..].trim_start_matches(['*', '_', ']', ')', ':']);
            continue;
        }
        if let Some(found) = no_label.find(behind) {
            rest = &behind[found.end()..];
            continue;
        }
        let line = behind.lines().next().unwrap_or_default();
        let opening = mark
            .chars()
            .rev()
            .find(|letter| matches!(letter, '#' | '*' | '_' | '['));
        let end = match opening {
            Some('#') => Some(line.len()),
            Some('[') => line.find(']'),
            Some(mark) => line.find(mark),
            None => None,
        };
        let is_label = |end: &usize| {
            opening == Some('#') || line[..*end].split_whitespace().count() <= WORDS_OF_A_LABEL
        };
        let Some(end) = end.filter(is_label) else {
            return (severity, behind);
        };
        rest = behind[end..].trim_start_matches(['*', '_', ']']);
    }
    (severity, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_of_the_table_is_one_in_its_example_and_nowhere_else() {
        for message in &TABLE.message {
            assert!(
                is_placeholder(&message.app, &message.example),
                "{}",
                message.begins
            );
            assert!(
                !is_placeholder("somebody-else", &message.example),
                "{}",
                message.begins
            );
            assert!(!is_placeholder(
                &message.app,
                &format!("The message is wrong. {}", message.begins)
            ));
        }
        assert!(!is_placeholder(
            "coderabbitai",
            "Hold on, I am thinking about it."
        ));
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
            (
                "![medium](https://example.com/medium.svg)\n\nThe loop never ends.",
                Some(Medium),
                "The loop never ends.",
            ),
            (
                "### Wrong total\n\n**High Severity**\n\nThe total is `0`.",
                Some(High),
                "The total is `0`.",
            ),
            (
                "**Severity:** critical\n\nThe key is logged.",
                Some(Critical),
                "The key is logged.",
            ),
            (
                "**nitpick:** Rename `x` to `count`.",
                Some(Low),
                "Rename `x` to `count`.",
            ),
            (
                "**issue (bug_risk):** The low bound is off by one.",
                None,
                "The low bound is off by one.",
            ),
            (
                "Low latency is assumed here.",
                None,
                "Low latency is assumed here.",
            ),
            (
                "The *low* bound is wrong.",
                None,
                "The *low* bound is wrong.",
            ),
            (
                "[minor] [critical] Two labels.",
                Some(Critical),
                "Two labels.",
            ),
            ("<!-- hidden -->", None, "hidden --"),
            ("", None, ""),
        ];
        for (text, severity, message) in table {
            let found = ReviewFinding::of(text);
            assert_eq!(
                (found.severity, found.message.as_str()),
                (*severity, *message),
                "{text:?}"
            );
        }
    }

    #[test]
    fn hostile_texts_are_read_in_bounds() {
        for text in [
            "*".repeat(9_000),
            "[".repeat(9_000),
            "<details>".repeat(900),
            "# ".repeat(4_000),
            "é".repeat(9_000),
        ] {
            assert!(ReviewFinding::of(&text).message.chars().count() <= MOST_OF_A_MESSAGE);
        }
    }
}
