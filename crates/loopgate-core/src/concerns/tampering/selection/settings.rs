//! Changed lines with words that mean something where they stand: settings of tools that check, hooks of runners, what
//! asserts, and programs that ask who runs them.

use std::sync::LazyLock;

use super::{CodeLine, Edit, FileWords, Tampering, WORDS, words::selecting_options};
use crate::{
    expressions::Pattern,
    observed::FileStatus,
    source_files::{file_name, is_test, language_of},
};

/// Words on changed lines, and what they do.
struct Rule {
    words: &'static Pattern,
    holds: bool,
    deed: &'static str,
}

/// All words that mean something whatever the file is called.
static ANY: LazyLock<Pattern> = LazyLock::new(|| {
    Pattern::any_of([
        &WORDS.asks,
        &WORDS.callers,
        &WORDS.ends_run,
        &WORDS.thresholds,
        &WORDS.hooks,
        &WORDS.matchers,
        &WORDS.equalities,
    ])
});

const SELECTS: &str = "a setting selects or retries tests";
const EXCLUDES: &str = "a setting lets a tool that reads the code find less";
const LOADS: &str = "a setting says what is loaded for tests";

impl Edit<'_> {
    /// Changed lines with words that mean something in such a file.
    pub(super) fn by_words(&self, is_proven: bool) -> Vec<Tampering> {
        let with_any = self.comes.iter().copied();
        let with_any: Vec<&CodeLine> = with_any.filter(|line| ANY.is_match(&line.text)).collect();
        let mut found = Vec::new();
        if !with_any.is_empty() {
            for rule in self.rules() {
                found.extend(self.by_rule(&rule, &with_any));
            }
        }
        for rule in self.rules_of_settings().filter(|_| !is_proven) {
            found.extend(self.by_rule(&rule, &self.comes));
        }
        found.extend(self.demands_less());
        found
    }

    fn by_rule(&self, rule: &Rule, lines: &[&CodeLine]) -> Vec<Tampering> {
        let Rule { words, holds, deed } = *rule;
        let lines = lines.iter().filter(|line| words.is_match(&line.text));
        let lines = lines.filter(|line| !self.is_harmless(line));
        let finding = |line: &&CodeLine| {
            let deed = format!("{deed}: `{}`", self.quoted(line));
            let holds = holds && !(deed.starts_with(SELECTS) && WORDS.reruns.is_match(&line.text));
            self.finding(holds, deed, &[], &[line])
        };
        lines.map(finding).collect()
    }

    /// The words that count in this file, whatever it is called: they are among [`ANY`].
    fn rules(&self) -> impl Iterator<Item = Rule> {
        let (path, runs) = (&self.file.path, &self.change.runs);
        // What makes a test pass, or a run, shows nothing of it.
        let feigned = !runs.failures.is_empty();
        let is_program = language_of(path).is_some() && !is_test(path);
        let runs_tests = is_test(path) || self.has_commands && file_name(path).contains("test");
        let rule = |counts: bool, words, holds, deed| counts.then_some(Rule { words, holds, deed });
        let asks = rule(
            is_program,
            &WORDS.asks,
            feigned,
            "the program asks whether it is tested",
        );
        let ends = rule(
            runs_tests,
            &WORDS.ends_run,
            feigned,
            "the test run is ended with success",
        );
        let threshold = rule(
            self.has_commands || self.words.configure(),
            &WORDS.thresholds,
            false,
            "a threshold is set or changed",
        );
        let is_code = language_of(path).is_some();
        let hook = rule(
            is_code && self.words.settings.is_empty(),
            &WORDS.hooks,
            false,
            "a hook of the test runner",
        );
        let callers = rule(
            is_program,
            &WORDS.callers,
            false,
            "the program asks who calls it",
        );
        let is_changed = self.file.status != FileStatus::Added;
        let equality = rule(
            is_code && is_changed,
            &WORDS.equalities,
            false,
            "how values are compared is declared anew",
        );
        let matcher = rule(
            is_code,
            &WORDS.matchers,
            false,
            "what asserts in tests is replaced",
        );
        [asks, callers, ends, threshold, hook, matcher, equality]
            .into_iter()
            .flatten()
    }

    /// The words that count in a file of its name.
    fn rules_of_settings(&self) -> impl Iterator<Item = Rule> {
        let runs = &self.change.runs;
        // What was seen to fail may be what the setting leaves out.
        let holds = runs.by_exit_status && !runs.failed.is_empty();
        let FileWords {
            settings,
            loads,
            exclusions,
        } = &self.words;
        let settings = settings.iter().map(move |words| Rule {
            words,
            holds,
            deed: SELECTS,
        });
        let other = |deed| {
            move |words: &&'static Pattern| Rule {
                words,
                holds: false,
                deed,
            }
        };
        let loads = loads.iter().map(other(LOADS));
        settings
            .chain(loads)
            .chain(exclusions.iter().map(other(EXCLUDES)))
    }

    /// Options of a tool that come and select nothing that it did not select before, and a least value that is raised.
    fn is_harmless(&self, line: &CodeLine) -> bool {
        self.is_raised(line) || self.has_harmless_options(line)
    }

    fn is_raised(&self, line: &CodeLine) -> bool {
        let least = pattern!(r"(?i)fail[-_]under|min|coverage|branches|functions|lines|statements");
        let value = |line: &CodeLine| {
            let found = WORDS.thresholds.captures(&line.text)?;
            let number = found.iter().skip(1).flatten().next()?;
            let key = line.text[..number.start()].to_owned();
            Some((key, number.as_str().parse::<f64>().ok()?))
        };
        let Some((key, new)) = value(line) else {
            return false;
        };
        let is_least = least.is_match(&key) && !key.to_lowercase().contains("max");
        let mut olds = self.goes.iter().filter_map(|line| value(line));
        is_least && olds.any(|(of, old)| of == key && old <= new)
    }

    fn has_harmless_options(&self, line: &CodeLine) -> bool {
        let value = |line: &CodeLine| {
            let key = WORDS.options.find(&line.text)?;
            let value = line.text[key.end()..]
                .trim_matches([' ', '"', '\'', '[', ']'])
                .to_owned();
            Some((key.as_str().to_owned(), value))
        };
        let Some((key, new)) = value(line) else {
            return false;
        };
        let olds = self.goes.iter().filter_map(|line| value(line));
        let mut olds = olds.filter(|(of, _)| *of == key).peekable();
        match olds.peek() {
            None => selecting_options(&new).is_empty(),
            Some(_) => olds.any(|(_, old)| selecting_options(&old) == selecting_options(&new)),
        }
    }

    /// What a tool demanded and demands no more: thresholds and strictness that go without another in their place.
    fn demands_less(&self) -> Vec<Tampering> {
        if !(self.has_commands || self.words.configure()) {
            return Vec::new();
        }
        let word = |line: &CodeLine| {
            let demand = WORDS.demands.find(&line.text);
            let found = demand.or_else(|| WORDS.thresholds.find(&line.text))?;
            let word = found.as_str().split([':', '=', '>', '"', '\'']).next();
            word.map(|word| word.trim().to_owned())
        };
        let stays = |found: &str| self.comes.iter().any(|line| line.text.contains(found));
        let goes = self
            .goes
            .iter()
            .filter(|line| word(line).is_some_and(|it| !stays(&it)));
        let deed =
            |line: &CodeLine| format!("a setting that demands more goes: `{}`", self.quoted(line));
        goes.map(|line| self.finding(false, deed(line), &[line], &[]))
            .collect()
    }
}
