//! Failures that are ignored: a command, a setting or a script after which nothing fails.

use super::{CodeLine, Edit, Tampering, WORDS, is_workflow};
use crate::source_files::language_of;

impl Edit<'_> {
    /// Lines that come and let failures pass. They hold alone while a check turns green.
    pub(super) fn ignored_failures(&self) -> Vec<Tampering> {
        let path = &self.file.path;
        let in_workflow = is_workflow(path);
        let is_script = language_of(path) == Some("shell");
        let configures =
            self.has_commands || self.words.configure() || in_workflow && self.is_keyed;
        let holds = self.change.runs.turns_green;
        let runs = |line: &CodeLine| WORDS.runners.is_match(&line.text);
        if !configures || in_workflow && !holds || is_script && !self.stands_at_head(runs) {
            return Vec::new();
        }
        // A step or a command that does something else may fail; what stands once holds for all of a script.
        let for_all = pattern!(r"\btrap\b|\bset\s+\+e\b");
        let is_of_check = |line: &CodeLine| {
            let is_of_step = in_workflow && line.text.contains(".steps.");
            let is_one_of_many = is_of_step || is_script || line.text.contains(" of `");
            !is_one_of_many || runs(line) || for_all.is_match(&line.text)
        };
        // What a tool that reads the code finds less is no failure that is ignored.
        let excludes = |line: &CodeLine| {
            let mut exclusions = self.words.exclusions.iter();
            exclusions.any(|words| words.is_match(&line.text))
        };
        let is_of_check = |line: &CodeLine| is_of_check(line) && !excludes(line);
        let ignores =
            |line: &&&CodeLine| WORDS.ignores_failures.is_match(&line.text) && is_of_check(line);
        let lines = self.comes.iter().filter(ignores);
        let deed = |line: &CodeLine| format!("failures are ignored: `{}`", self.quoted(line));
        let found = lines.map(|line| self.finding(holds, deed(line), &[], &[line]));
        found.chain(self.goes_on(holds)).collect()
    }

    /// What told a script to stop at the first failure, and goes without another in its place: its last command decides.
    fn goes_on(&self, holds: bool) -> Option<Tampering> {
        let stops = |line: &CodeLine| WORDS.stops_at_failure.is_match(&line.text);
        let gone = self.goes.iter().copied().find(|line| stops(line))?;
        let deed = format!("failures are ignored without `{}`", self.quoted(gone));
        (!self.stands_at_head(stops)).then(|| self.finding(holds, deed, &[gone], &[]))
    }
}
