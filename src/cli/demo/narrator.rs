//! Tells the story on the terminal as somebody who looks at the pull request would see it.

use std::{collections::BTreeSet, time::Duration};

use crate::{
    cli::output,
    render::{self, Colour},
};
use loopgate_core::PrNumber;
use loopgate_simulator::{CommentView, PullView};

/// Tells what people do and what they see.
pub(super) struct Narrator {
    /// `None` for a story that is not printed.
    style: Option<Style>,
    acts: std::cell::Cell<usize>,
    seen: Seen,
}

#[derive(Clone, Copy)]
struct Style {
    colour: Colour,
    pace: Pace,
}

/// What is seen, and in which words.
type Sight = (&'static str, String);

/// How fast the story is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// As a person reads.
    Reader,
    AtOnce,
}

/// The pauses before a line and before an act: the whole story stays under a minute.
const LINE: Duration = Duration::from_millis(60);
const ACT: Duration = Duration::from_millis(1_600);

/// What was printed of the pull request already.
#[derive(Default)]
struct Seen {
    pull: Option<PrNumber>,
    /// Labels other than those that repeat the status.
    labels: BTreeSet<String>,
    reviewers: BTreeSet<String>,
    comments: BTreeSet<u64>,
    reactions: BTreeSet<(u64, String)>,
    verdict: String,
    /// Lines of comments.
    lines: BTreeSet<String>,
}

impl Narrator {
    pub fn silent() -> Self {
        Self { style: None, acts: Default::default(), seen: Seen::default() }
    }

    pub fn to_terminal(pace: Pace) -> Self {
        let style = Style { colour: output::colour(), pace };
        Self { style: Some(style), ..Self::silent() }
    }

    /// The beginning of an act.
    pub fn act(&self, title: &str) {
        self.acts.update(|act| act + 1);
        self.pause(ACT);
        self.print(&format!("\n{}", self.paint("1", &format!("{}. {title}", self.acts.get()))));
    }

    /// Somebody does something.
    pub fn does(&self, who: &str, what: &str) {
        self.print_after(&format!("   {} ", self.paint("36", who)), who.chars().count() + 4, what);
    }

    /// What changed on the pull request since the last look.
    pub fn looks(&mut self, pull: &PullView) {
        if self.seen.pull != Some(pull.number) {
            let lines = std::mem::take(&mut self.seen.lines);
            self.seen = Seen { pull: Some(pull.number), lines, ..Seen::default() };
        }
        let mut lines = Vec::new();
        self.labels(pull, &mut lines);
        self.reviewers(pull, &mut lines);
        self.comments(pull, &mut lines);
        for (what, text) in lines {
            self.print_after(&format!("   {} ", self.paint("33", &format!("{what:>8}"))), 12, &text);
        }
    }

    fn labels(&mut self, pull: &PullView, lines: &mut Vec<Sight>) {
        let now: BTreeSet<String> = pull.labels.iter().filter(|label| !label.starts_with("loop:")).cloned().collect();
        let gone: Vec<String> = self.seen.labels.difference(&now).map(|label| format!("−{label}")).collect();
        let new: Vec<String> = now.difference(&self.seen.labels).map(|label| format!("+{label}")).collect();
        if !gone.is_empty() || !new.is_empty() {
            lines.push(("labels", [gone, new].concat().join("  ")));
        }
        self.seen.labels = now;
    }

    fn reviewers(&mut self, pull: &PullView, lines: &mut Vec<Sight>) {
        let teams = pull.requested_teams.iter().map(|team| format!("team {team}"));
        let now: BTreeSet<String> = pull.requested_reviewers.iter().cloned().chain(teams).collect();
        if now != self.seen.reviewers {
            let text = match now.is_empty() {
                true => "request withdrawn".to_owned(),
                false => format!("requested from {}", now.iter().cloned().collect::<Vec<_>>().join(", ")),
            };
            lines.push(("review", text));
        }
        self.seen.reviewers = now;
    }

    fn comments(&mut self, pull: &PullView, lines: &mut Vec<Sight>) {
        for comment in pull.comments.iter() {
            let is_status = comment.body.starts_with(crate::render::STATUS_MARKER);
            if is_status {
                let verdict = first_words(&comment.body);
                // That CI was started is shown only where it ends a block.
                let is_news = !verdict.starts_with('⏳') || self.seen.verdict.starts_with('🚫');
                if is_news && verdict != self.seen.verdict {
                    lines.push(("status", verdict.clone()));
                }
                self.seen.verdict = verdict;
            } else if self.seen.comments.insert(comment.id.get()) && comment.author.ends_with("[bot]") {
                lines.push(("comment", first_words(&comment.body)));
            }
            self.reactions(comment, lines);
        }
    }

    /// Refused comments.
    fn reactions(&mut self, comment: &CommentView, lines: &mut Vec<Sight>) {
        for (who, kind) in comment.reactions.iter().filter(|(_, kind)| kind == "confused") {
            if self.seen.reactions.insert((comment.id.get(), format!("{who} {kind}"))) {
                let words = format!("😕 on “{}” by {}", first_words(&comment.body), comment.author);
                lines.push(("reaction", words));
            }
        }
    }

    /// The first `most` new lines of a comment, as a terminal shows them. Its title was printed when it was posted.
    pub fn reads(&mut self, title: &str, text: &str, most: usize) {
        self.print(&format!("   {}", self.paint("2", title)));
        let text = render::plain(&render::folded(text));
        let lines = text
            .lines()
            .filter(|line| !(line.trim().is_empty() || line.starts_with("▸ ") || line.starts_with("Head `")))
            .skip(1);
        let new: Vec<&str> = lines.filter(|line| self.seen.lines.insert((*line).to_owned())).collect();
        for line in new.iter().take(most) {
            self.print_after(&format!("   {} ", self.paint("2", "│")), 5, line);
        }
        if new.len() > most {
            self.print(&format!("   {} …", self.paint("2", "│")));
        }
    }

    pub fn says(&self, text: &str) {
        self.print(text);
    }

    fn paint(&self, code: &str, text: &str) -> String {
        match self.style {
            Some(Style { colour: Colour::On, .. }) => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            _ => text.to_owned(),
        }
    }

    /// Prints a text after `first`, which is `indent` columns wide; its further lines stand below its first.
    fn print_after(&self, first: &str, indent: usize, text: &str) {
        for (number, line) in wrapped(text, WIDTH - indent).iter().enumerate() {
            // A quote goes on in further lines, a name does not.
            let before = match number == 0 || first.contains('│') {
                true => first.to_owned(),
                false => " ".repeat(indent),
            };
            self.print(&format!("{before}{line}"));
        }
    }

    fn print(&self, line: &str) {
        if self.style.is_some() {
            self.pause(LINE);
            output::line(line);
        }
    }

    /// Blocks the thread. Nothing else waits meanwhile: the story is printed between its events.
    fn pause(&self, pause: Duration) {
        if self.style.is_some_and(|style| style.pace == Pace::Reader) {
            std::thread::sleep(pause);
        }
    }
}

/// Columns of a terminal that are used; symbols take two.
const WIDTH: usize = 78;

/// A text in lines of at most `most` characters, further lines indented as the first is. A longer word is cut.
fn wrapped(text: &str, most: usize) -> Vec<String> {
    let blanks = text.len() - text.trim_start().len();
    // A list's item goes on below its words.
    let mark = text[blanks..].split(' ').next().unwrap_or_default();
    let is_item = mark == "-" || mark.strip_suffix('.').is_some_and(|number| number.parse::<u32>().is_ok());
    let hang = blanks + if is_item { mark.len() + 1 } else { 0 };
    let mut lines = vec![text[..blanks].to_owned()];
    for word in text[blanks..].split(' ') {
        let word: String = word.chars().take(most.saturating_sub(hang)).collect();
        let last = lines.last_mut().expect("it begins with a line");
        let is_empty = last.trim().is_empty();
        if !is_empty && last.chars().count() + 1 + word.chars().count() > most {
            lines.push(" ".repeat(hang) + &word);
        } else {
            if !is_empty {
                last.push(' ');
            }
            last.push_str(&word);
        }
    }
    lines
}

/// The first line of a comment that says something, without its Markdown.
fn first_words(body: &str) -> String {
    let line = body.lines().find(|line| !line.trim().is_empty() && !line.starts_with("<!--")).unwrap_or_default();
    line.trim_start_matches(['#', ' ']).chars().filter(|c| !matches!(c, '*' | '`')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_wrapped_below_their_first_words() {
        let lines = |text: &str| wrapped(text, 12);
        assert_eq!(lines("- one two three"), ["- one two", "  three"]);
        assert_eq!(lines("  1. one two three"), ["  1. one two", "     three"]);
        assert_eq!(lines("one two"), ["one two"]);
        assert_eq!(lines(&"x".repeat(20)), ["x".repeat(12)]);
        assert_eq!(lines("  a  b"), ["  a  b"], "code keeps its blanks");
    }
}
