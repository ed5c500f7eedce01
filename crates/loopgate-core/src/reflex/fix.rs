//! What a fixer's edits amount to, and the commit they become (decisions.md, L14 to L19).

use std::{collections::BTreeSet, fmt};

use crate::{
    deciding::View,
    evidence::{CheckEvidence, CheckKind},
    observed::ChangedFiles,
    policy::Trigger,
    source_files::is_test,
    state::{FixMaker, LoopState},
    verdict::tamper::{self, Tampering},
};

/// What is done with the edits of a fixer.
#[derive(Clone, Debug, PartialEq)]
pub enum EditVerdict {
    /// It changed nothing.
    Nothing,
    /// They become a commit. Files outside the failing scope are reported.
    Take { outside: Vec<String> },
    /// They do not: a person looks at them.
    Refuse(Vec<EditRefusal>),
}

/// Why edits are refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditRefusal {
    Weakens(Tampering),
    /// Workflows, owners and configuration are for people to change.
    Protected {
        path: String,
    },
}

impl fmt::Display for EditRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Weakens(tampering) => tampering.fmt(f),
            Self::Protected { path } => write!(f, "{path} is not for a fixer to edit"),
        }
    }
}

/// Judges the edits of a fixer. `scope` is what the failures and the change itself point at (none: not known);
/// `configuration` the path of the configuration in force.
pub fn judge_edits(files: &ChangedFiles, scope: &BTreeSet<String>, configuration: &str) -> EditVerdict {
    let known = files.known();
    if let (true, ChangedFiles::Complete(_)) = (known.is_empty(), files) {
        return EditVerdict::Nothing;
    }
    let protected = known.iter().flat_map(|file| file.paths()).filter(|path| is_protected(path, configuration));
    let mut refusals: Vec<EditRefusal> =
        protected.map(|path| EditRefusal::Protected { path: path.to_owned() }).collect();
    refusals.extend(tamper::findings(files).into_iter().map(EditRefusal::Weakens));
    if let ChangedFiles::TooLarge { reason, .. } = files {
        // What cannot be read cannot be taken.
        refusals.push(EditRefusal::Protected { path: format!("a change too large to read ({reason})") });
    }
    if !refusals.is_empty() {
        return EditVerdict::Refuse(refusals);
    }
    let outside = |path: &&str| !scope.is_empty() && !scope.contains(*path) && !is_test(path);
    EditVerdict::Take {
        outside: known.iter().map(|file| file.path.as_str()).filter(outside).map(str::to_owned).collect(),
    }
}

/// Whether an evaluation ran fewer tests than the one before although only a fixer has changed anything, and none of
/// its test checks fails: then they did not go because something broke.
pub fn fewer_tests(state: &LoopState, checks: &[CheckEvidence]) -> Option<String> {
    let reflex = state.reflex.as_ref()?;
    let fix = reflex.fixes.last().filter(|fix| fix.iteration + 1 == state.iteration)?;
    if fix.by == FixMaker::Person || state.accepted.contains(&Trigger::Tampering) {
        return None;
    }
    let tests = |kind: CheckKind| matches!(kind, CheckKind::Test | CheckKind::Integration);
    if checks.iter().any(|check| tests(check.kind) && check.outcome.is_failure()) {
        return None;
    }
    let before = state.attempts.iter().rev().find(|attempt| attempt.number < state.iteration)?.tests.as_ref()?;
    let now = state.attempts.iter().find(|attempt| attempt.number == state.iteration)?.tests.as_ref()?;
    let (was, is) = (before.len(), now.len());
    (is < was)
        .then(|| format!("{was} tests ran before the fix and {is} after it. The fix is {}.", fix.head_sha.short()))
}

fn is_protected(path: &str, configuration: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let name = lower.rsplit('/').next().unwrap_or(&lower);
    lower.starts_with(".github/") || name == "codeowners" || path == configuration || lower.starts_with(".git/")
}

/// The files the failures and the change itself point at; empty when no failure names a place.
pub fn failing_scope(view: &View, change: &ChangedFiles) -> BTreeSet<String> {
    let mut scope = BTreeSet::new();
    for view in &view.failures {
        let failure = &view.failure;
        scope.extend(failure.source.as_ref().map(|source| source.file.clone()));
        scope.extend(failure.test_file.clone());
    }
    if !scope.is_empty() {
        scope.extend(change.known().iter().flat_map(|file| file.paths()).map(str::to_owned));
    }
    scope
}

/// What the commit of a fix says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixMessage<'a> {
    /// What the fixer says it did, in one line; none: the fix strategy.
    pub description: Option<&'a str>,
    /// What the fixer says was the cause.
    pub cause: Option<&'a str>,
    /// `+5/-2 in src/a.rs`.
    pub change: &'a str,
    pub attempt: u32,
    pub max_attempts: u32,
    pub run_id: &'a str,
}

/// Characters of a subject.
const SUBJECT: usize = 72;
/// Columns of the body.
const COLUMNS: usize = 72;

/// The message of a fix's commit: `fix(<scope>): …`, then Error, Cause, Fix and Attempt.
pub fn fix_message(view: &View, said: &FixMessage<'_>) -> String {
    let first = view.failures.first();
    let error = first.map_or_else(
        || match view.evaluation.failed_rules().as_slice() {
            [] => "the score is short".to_owned(),
            rules => rules.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        },
        |view| {
            let name = view.failure.test_name.as_deref().map(|name| format!("{name} — ")).unwrap_or_default();
            format!("{}: {name}{}", view.check, view.failure.error_message.lines().next().unwrap_or_default())
        },
    );
    let strategy = first.map_or_else(String::new, |view| view.fix_strategy.clone());
    let what = said.description.filter(|text| !text.trim().is_empty());
    let cause = said.cause.map(str::to_owned).or_else(|| first.map(|view| view.root_cause.clone()));
    let subject = format!("fix({}): {}", scope_of(view), begin_low(what.unwrap_or_else(|| summary_of(view))));
    let fix = match what {
        Some(what) => format!("{} ({})", one_line(what), said.change),
        None if strategy.is_empty() => said.change.to_owned(),
        None => format!("{} ({})", one_line(&strategy), said.change),
    };
    format!(
        "{}\n\n{}\n{}\n{}\nAttempt {}/{}\n\nLoopgate-Run: {}\n",
        headline(&one_line(&subject)),
        wrapped("Error: ", &error),
        wrapped("Cause: ", &cause.unwrap_or_else(|| "not known".to_owned())),
        wrapped("Fix: ", &fix),
        said.attempt,
        said.max_attempts,
        said.run_id,
    )
}

/// What the failures are about, as the scope of a conventional commit.
fn scope_of(view: &View) -> String {
    let file = view.failures.iter().find_map(|view| view.failure.location().map(|(file, _)| file.to_owned()));
    let stem = file.as_deref().and_then(|file| {
        let name = file.rsplit('/').next()?;
        Some(name.split('.').next().unwrap_or(name).to_owned())
    });
    let rule = || view.evaluation.failed_rules().first().map(ToString::to_string);
    let scope = stem.or_else(rule).unwrap_or_else(|| "loop".to_owned());
    let plain: String =
        scope.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')).take(24).collect();
    if plain.is_empty() { "loop".to_owned() } else { plain }
}

/// Without the fixer's own words: which rule it answers.
fn summary_of(view: &View) -> &str {
    view.failures.first().map_or("answer the critique", |first| first.fix_strategy.as_str())
}

fn begin_low(text: &str) -> String {
    let text = text.trim().trim_end_matches('.');
    let mut letters = text.chars();
    match (letters.next(), letters.clone().next()) {
        // Not an abbreviation or a name in capitals.
        (Some(first), second) if second.is_none_or(|letter| !letter.is_uppercase()) => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => text.to_owned(),
    }
}

fn one_line(text: &str) -> String {
    let plain = text.split(|c: char| c.is_control() || c.is_whitespace()).filter(|word| !word.is_empty());
    clip(&plain.collect::<Vec<_>>().join(" "), 600)
}

fn clip(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let cut: String = text.chars().take(most - 1).collect();
    format!("{}…", cut.trim_end())
}

/// A subject that fits: cut where a part of the sentence ends, else between two words.
fn headline(text: &str) -> String {
    if text.chars().count() <= SUBJECT {
        return text.to_owned();
    }
    let room = text.char_indices().nth(SUBJECT - 1).map_or(text, |(at, _)| &text[..at]);
    let part = [", ", "; ", " — "].iter().filter_map(|end| room.rfind(end)).max();
    match (part.filter(|at| *at >= SUBJECT / 2), room.rfind(' ')) {
        (Some(at), _) => room[..at].to_owned(),
        (None, Some(at)) if at >= SUBJECT / 2 => format!("{}…", &room[..at]),
        _ => format!("{room}…"),
    }
}

/// A paragraph, its further lines set in.
fn wrapped(label: &str, text: &str) -> String {
    let mut lines = vec![label.to_owned()];
    for word in one_line(text).split(' ') {
        let last = lines.last_mut().expect("begun with one");
        if last.chars().count() + word.chars().count() >= COLUMNS && !last.ends_with(": ") && !last.trim().is_empty() {
            lines.push(format!("  {word} "));
        } else {
            last.push_str(word);
            last.push(' ');
        }
    }
    lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
#[path = "fix_tests.rs"]
mod tests;
