//! Tells the story on the terminal as somebody who looks at the pull request would see it.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use crate::{
    cli::output,
    render::{self, Colour},
};
use loopgate_core::PrNumber;
use loopgate_simulator::{CommentView, PullView};

/// Tells what people do and what they see.
pub(super) struct Narrator {
    /// None for a story that is not told.
    style: Option<Style>,
    acts: std::cell::Cell<usize>,
    seen: Seen,
}

#[derive(Clone, Copy)]
struct Style {
    colour: Colour,
    pace: Pace,
}

/// How fast the story is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// As a person reads.
    Reader,
    AtOnce,
}

/// The pauses before a line and before an act: the whole story stays under a minute.
const LINE: Duration = Duration::from_millis(60);
const ACT: Duration = Duration::from_millis(1_600);

/// What was told of the pull request already.
#[derive(Default)]
struct Seen {
    pull: Option<PrNumber>,
    labels: BTreeSet<String>,
    reviewers: BTreeSet<String>,
    /// What each check run said when it had ended, by its name.
    checks: BTreeMap<String, String>,
    comments: BTreeSet<u64>,
    reactions: BTreeSet<(u64, String)>,
    verdict: String,
    /// Lines of what people read.
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
        self.print(&format!("   {} {what}", self.paint("36", who)));
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
        self.checks(pull, &mut lines);
        self.comments(pull, &mut lines);
        for line in lines {
            self.print(&line);
        }
    }

    fn labels(&mut self, pull: &PullView, lines: &mut Vec<String>) {
        let now: BTreeSet<String> = pull.labels.iter().cloned().collect();
        let gone: Vec<String> = self.seen.labels.difference(&now).map(|label| format!("−{label}")).collect();
        let new: Vec<String> = now.difference(&self.seen.labels).map(|label| format!("+{label}")).collect();
        if !gone.is_empty() || !new.is_empty() {
            lines.push(self.sees("labels", &[gone, new].concat().join("  ")));
        }
        self.seen.labels = now;
    }

    fn reviewers(&mut self, pull: &PullView, lines: &mut Vec<String>) {
        let teams = pull.requested_teams.iter().map(|team| format!("team {team}"));
        let now: BTreeSet<String> = pull.requested_reviewers.iter().cloned().chain(teams).collect();
        if now != self.seen.reviewers {
            let text = match now.is_empty() {
                true => "request withdrawn".to_owned(),
                false => format!("requested from {}", now.iter().cloned().collect::<Vec<_>>().join(", ")),
            };
            lines.push(self.sees("review", &text));
        }
        self.seen.reviewers = now;
    }

    fn checks(&mut self, pull: &PullView, lines: &mut Vec<String>) {
        for run in pull.check_runs.iter().filter(|run| run.name.starts_with("loopgate")) {
            // What is waited for stands in the status comment.
            let Some(conclusion) = run.conclusion else {
                self.seen.checks.remove(&run.name);
                continue;
            };
            let title = run.title.as_deref().unwrap_or_default();
            let told = format!("{} — {} — {title}", run.name, conclusion.as_str());
            if self.seen.checks.insert(run.name.clone(), told.clone()).as_ref() != Some(&told) {
                lines.push(self.sees("check", &told));
            }
        }
    }

    fn comments(&mut self, pull: &PullView, lines: &mut Vec<String>) {
        for comment in pull.comments.iter() {
            let is_status = comment.body.starts_with(crate::render::STATUS_MARKER);
            if is_status {
                let verdict = first_words(&comment.body);
                if verdict != self.seen.verdict {
                    lines.push(self.sees("status", &verdict));
                    self.seen.verdict = verdict;
                }
            } else if self.seen.comments.insert(comment.id.get()) && comment.author.ends_with("[bot]") {
                lines.push(self.sees("comment", &first_words(&comment.body)));
            }
            self.reactions(comment, lines);
        }
    }

    fn reactions(&mut self, comment: &CommentView, lines: &mut Vec<String>) {
        for (who, kind) in &comment.reactions {
            if self.seen.reactions.insert((comment.id.get(), format!("{who} {kind}"))) {
                let face = match kind.as_str() {
                    "+1" => "👍",
                    "confused" => "😕",
                    "eyes" => "👀",
                    other => other,
                };
                lines.push(
                    self.sees("reaction", &format!("{face} on “{}” by {}", first_words(&comment.body), comment.author)),
                );
            }
        }
    }

    /// What is new in a text, as a terminal shows it.
    pub fn reads(&mut self, title: &str, text: &str) {
        self.print(&format!("   {}", self.paint("2", title)));
        let mut was_empty = true;
        let mut read = Vec::new();
        for line in render::plain(&render::folded(text)).lines() {
            let is_empty = line.trim().is_empty();
            let is_new = is_empty || !self.seen.lines.contains(line);
            read.push(line.to_owned());
            if is_new && !(is_empty && was_empty) {
                self.print(&format!("   {} {line}", self.paint("2", "│")));
                was_empty = is_empty;
            }
        }
        self.seen.lines.extend(read);
    }

    pub fn says(&self, text: &str) {
        self.print(text);
    }

    fn sees(&self, what: &str, text: &str) -> String {
        format!("   {} {text}", self.paint("33", &format!("{what:>8}")))
    }

    fn paint(&self, code: &str, text: &str) -> String {
        match self.style {
            Some(Style { colour: Colour::On, .. }) => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            _ => text.to_owned(),
        }
    }

    fn print(&self, line: &str) {
        if self.style.is_some() {
            self.pause(LINE);
            output::line(line);
        }
    }

    /// Nothing else runs meanwhile that could be kept waiting: the story is told between its events.
    fn pause(&self, pause: Duration) {
        if self.style.is_some_and(|style| style.pace == Pace::Reader) {
            std::thread::sleep(pause);
        }
    }
}

/// The first line of a comment that says something, without its Markdown.
fn first_words(body: &str) -> String {
    let line = body.lines().find(|line| !line.trim().is_empty() && !line.starts_with("<!--")).unwrap_or_default();
    let plain: String = line.trim_start_matches(['#', ' ']).chars().filter(|c| !matches!(c, '*' | '`')).collect();
    match plain.char_indices().nth(110) {
        Some((end, _)) => format!("{}…", &plain[..end]),
        None => plain,
    }
}
