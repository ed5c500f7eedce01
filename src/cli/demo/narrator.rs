//! Tells the story on the terminal as somebody who looks at the pull request would see it.

use std::{cell::Cell, collections::BTreeSet, time::Duration};

use crate::cli::output;
use loopgate_core::PrNumber;
use loopgate_render as render;
use loopgate_simulator::PullView;

/// The pauses before a line and before an act: the whole story stays under a minute.
const LINE: Duration = Duration::from_millis(60);
const ACT: Duration = Duration::from_millis(1_600);

/// What is seen of a pull request: of which sort, on which comment, and in which words.
type Sight = (&'static str, u64, String);

/// Tells what people do and what they see.
pub(super) struct Narrator {
    /// Whether the story is printed at the pace of a reader; `None` for one that is not printed.
    is_paced: Option<bool>,
    acts: Cell<usize>,
    /// What was seen at the last look, and of which pull request.
    seen: Option<(PrNumber, Vec<Sight>)>,
    /// Lines of comments that were printed.
    lines: BTreeSet<String>,
}

impl Narrator {
    pub fn new(is_paced: Option<bool>) -> Self {
        Self {
            is_paced,
            acts: Cell::default(),
            seen: None,
            lines: BTreeSet::new(),
        }
    }

    /// The beginning of an act.
    pub fn act(&self, title: &str) {
        self.acts.update(|act| act + 1);
        self.pause(ACT);
        self.print(&format!(
            "\n{}",
            self.paint("1", &format!("{}. {title}", self.acts.get()))
        ));
    }

    /// Somebody does something.
    pub fn does(&self, who: &str, what: &str) {
        self.print_after(
            &format!("   {} ", self.paint("36", who)),
            who.chars().count() + 4,
            what,
        );
    }

    /// What is new on the pull request since the last look.
    pub fn looks(&mut self, pull: &PullView) {
        let now = sights(pull);
        let before = self
            .seen
            .replace((pull.number, now.clone()))
            .filter(|(number, _)| *number == pull.number);
        let nothing = || {
            ["labels", "review"]
                .map(|what| (what, 0, "none".to_owned()))
                .into()
        };
        let before = before.map_or_else(nothing, |(_, sights)| sights);
        // That CI was started is shown only where it ends a block.
        let is_blocked = before
            .iter()
            .any(|(what, _, text)| *what == "status" && text.starts_with('🚫'));
        let is_news =
            |what: &str, text: &str| what != "status" || is_blocked || !text.starts_with('⏳');
        for (what, _, text) in now
            .iter()
            .filter(|sight| !before.contains(sight) && is_news(sight.0, &sight.2))
        {
            self.print_after(
                &format!("   {} ", self.paint("33", &format!("{what:>8}"))),
                12,
                text,
            );
        }
    }

    /// The first `most` new lines of a comment, as a terminal shows them. Its title was printed when it was posted.
    pub fn reads(&mut self, title: &str, text: &str, most: usize) {
        self.print(&format!("   {}", self.paint("2", title)));
        let text = render::plain(&render::folded(text));
        let lines = text
            .lines()
            .filter(|line| {
                !(line.trim().is_empty() || line.starts_with("▸ ") || line.starts_with("Head `"))
            })
            .skip(1);
        let new: Vec<&str> = lines
            .filter(|line| self.lines.insert((*line).to_owned()))
            .collect();
        for line in new.iter().take(most) {
            self.print_after(&format!("   {} ", self.paint("2", "│")), 5, line);
        }
        if new.len() > most {
            self.print(&format!("   {} …", self.paint("2", "│")));
        }
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if output::colour() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    /// Prints a text after `first`, which is `indent` columns wide; its further lines stand below its first.
    fn print_after(&self, first: &str, indent: usize, text: &str) {
        // A list's item goes on below its words.
        let words = text.trim_start();
        let mark = words.split(' ').next().unwrap_or_default();
        let is_item = mark == "-"
            || mark
                .strip_suffix('.')
                .is_some_and(|number| number.parse::<u32>().is_ok());
        let hang = text.len() - words.len() + if is_item { mark.len() + 1 } else { 0 };
        for (number, line) in render::wrapped(text, WIDTH - indent, hang)
            .iter()
            .enumerate()
        {
            // A quote goes on in further lines, a name does not.
            let before = match number == 0 || first.contains('│') {
                true => first.to_owned(),
                false => " ".repeat(indent),
            };
            self.print(&format!("{before}{line}"));
        }
    }

    pub fn print(&self, line: &str) {
        if self.is_paced.is_some() {
            self.pause(LINE);
            output::line(line);
        }
    }

    /// Blocks the thread. Nothing else waits meanwhile: the story is printed between its events.
    fn pause(&self, pause: Duration) {
        if self.is_paced == Some(true) {
            std::thread::sleep(pause);
        }
    }
}

/// What somebody sees of a pull request, but for the labels that repeat the status.
fn sights(pull: &PullView) -> Vec<Sight> {
    let labels = pull
        .labels
        .iter()
        .filter(|label| !label.starts_with("loop:"))
        .cloned();
    let teams = pull
        .requested_teams
        .iter()
        .map(|team| format!("team {team}"));
    let asked = pull.requested_reviewers.iter().cloned().chain(teams);
    let shown = |all: BTreeSet<String>, sign: &str| match all.is_empty() {
        true => "none".to_owned(),
        false => format!("{sign}{}", Vec::from_iter(all).join(", ")),
    };
    let (labels, asked) = (
        shown(labels.collect(), ""),
        shown(asked.collect(), "requested from "),
    );
    let mut sights = vec![("labels", 0, labels), ("review", 0, asked)];
    for comment in pull.comments.iter() {
        let (id, words) = (comment.id.get(), first_words(&comment.body));
        if comment.body.starts_with(render::STATUS_MARKER) {
            sights.push(("status", 0, words.clone()));
        } else if comment.author.ends_with("[bot]") {
            sights.push(("comment", id, words.clone()));
        }
        // A refused comment.
        if comment.reactions.iter().any(|(_, kind)| kind == "confused") {
            sights.push((
                "reaction",
                id,
                format!("😕 on “{words}” by {}", comment.author),
            ));
        }
    }
    sights
}

/// Columns of a terminal that are used; symbols take two.
const WIDTH: usize = 78;

/// The first line of a comment that is not blank, without its Markdown.
fn first_words(body: &str) -> String {
    let line = body
        .lines()
        .find(|line| !line.trim().is_empty() && !line.starts_with("<!--"))
        .unwrap_or_default();
    line.trim_start_matches(['#', ' '])
        .chars()
        .filter(|c| !matches!(c, '*' | '`'))
        .collect()
}

#[cfg(test)]
mod tests {
    use loopgate_render::wrapped;

    #[test]
    fn long_texts_are_wrapped_below_their_first_words() {
        let lines = |text: &str, hang| wrapped(text, 12, hang);
        assert_eq!(lines("- one two three", 2), ["- one two", "  three"]);
        assert_eq!(
            lines("  1. one two three", 5),
            ["  1. one two", "     three"]
        );
        assert_eq!(lines("one two", 0), ["one two"]);
        assert_eq!(lines(&"x".repeat(20), 0), ["x".repeat(20)]);
        assert_eq!(lines("  a  b", 2), ["  a  b"], "code keeps its blanks");
    }
}
