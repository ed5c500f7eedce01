//! What a configuration says of a gate itself: conditions, and any, all or not of others.
//!
//! A condition holds, does not hold, or *cannot tell*: a patch that is missing might hold anything. Not being able to
//! tell opens the gate, and stays so through `not:`, which would otherwise turn caution into permission.

use std::collections::BTreeSet;

use super::{
    KEPT_PER_FILE, Opening, ReadDiff, Scope, excerpt, in_file,
    reading::{self, ChangedLine, FileReading},
    rules::RuleHit,
};
use crate::{
    concerns::gates::{
        agents::agent_in,
        report::{MatchReason, TriggerMatch},
    },
    evidence::{FindingSeverity, stays_inside},
    ids::Login,
    observed::{ChangedFile, ChangedFiles, FileStatus},
    policy::{ChosenRules, GateTrigger, LineCondition, PathCondition},
};

impl ReadDiff<'_> {
    /// What a condition finds; `None` if it does not hold. `remembered` are the labels that opened the gate before.
    pub(super) fn evaluate(
        &self,
        trigger: &GateTrigger,
        remembered: &BTreeSet<String>,
    ) -> Option<Opening> {
        let pull_request = &self.snapshot.pull_request;
        let reason = match trigger {
            GateTrigger::Any(parts) => {
                return parts
                    .iter()
                    .filter_map(|part| self.evaluate(part, remembered))
                    .reduce(Opening::and);
            }
            GateTrigger::All(parts) => return self.all(parts, remembered),
            GateTrigger::Not(part) => {
                return match self.evaluate(part, remembered) {
                    Some(found) => (!found.is_certain).then_some(found),
                    None => {
                        let scope = Scope::Files(BTreeSet::new());
                        Some(Opening {
                            is_certain: true,
                            ..Opening::new(scope, Vec::new())
                        })
                    }
                };
            }
            GateTrigger::Rules(rules) => return self.rules(rules),
            GateTrigger::Paths(paths) => {
                return self.in_files(|index| touched(&self.diff.files.known()[index], paths));
            }
            GateTrigger::AddedLines(wanted) => {
                return self.in_files(|index| changed(&self.files()[index], wanted, true));
            }
            GateTrigger::RemovedLines(wanted) => {
                return self.in_files(|index| changed(&self.files()[index], wanted, false));
            }
            GateTrigger::Findings(severity) => return self.found(*severity),
            GateTrigger::Always => MatchReason::Always,
            GateTrigger::Labels(labels) => self.labelled(labels, remembered)?,
            GateTrigger::BaseBranch(globs) => {
                let branch = pull_request.base.branch.clone();
                let is_named = globs.iter().any(|glob| glob.matches(&branch));
                is_named.then_some(MatchReason::BaseBranch { branch })?
            }
            GateTrigger::Author(logins) => {
                let login = &pull_request.author.login;
                logins.contains(login).then(|| MatchReason::Author {
                    login: login.clone(),
                })?
            }
            GateTrigger::Agent(agents) => self.by_agent(agents)?,
            GateTrigger::Size { lines, files } => self.size(*lines, *files)?,
            GateTrigger::Draft => (pull_request.is_draft).then_some(MatchReason::Draft)?,
        };
        Some(Opening::whole(reason))
    }

    fn all(&self, parts: &[GateTrigger], remembered: &BTreeSet<String>) -> Option<Opening> {
        let found: Vec<_> = parts
            .iter()
            .map(|part| self.evaluate(part, remembered))
            .collect::<Option<_>>()?;
        let is_certain = found.iter().all(|found| found.is_certain);
        let files = found.iter().filter_map(|found| {
            if let Scope::Files(files) = &found.scope {
                Some(files)
            } else {
                None
            }
        });
        let files: BTreeSet<usize> = files.flatten().copied().collect();
        let all = found.into_iter().reduce(Opening::and)?;
        // "Files under billing/, on the base main": the gate's own diff is those files, not everything.
        let scope = if files.is_empty() {
            all.scope
        } else {
            Scope::Files(files)
        };
        Some(Opening {
            is_certain,
            scope,
            ..all
        })
    }

    /// Asks each file, by its index.
    fn in_files(&self, ask: impl Fn(usize) -> Vec<(Option<u32>, MatchReason)>) -> Option<Opening> {
        let files = self.diff.files.known().iter().enumerate();
        self.with_unlisted(files.filter_map(|(index, file)| {
            let matches = ask(index);
            let not_kept = matches.len().saturating_sub(KEPT_PER_FILE);
            let kept = matches.into_iter().take(KEPT_PER_FILE);
            let matches: Vec<_> = kept
                .map(|(line, reason)| in_file(file, line, reason))
                .collect();
            (!matches.is_empty()).then(|| Opening {
                not_kept,
                ..Opening::file(index, matches)
            })
        }))
    }

    /// A list of files that is not whole leaves it open whether another file would match.
    fn with_unlisted(&self, found: impl Iterator<Item = Opening>) -> Option<Opening> {
        let is_cut = matches!(self.snapshot.files, ChangedFiles::TooLarge { .. });
        found
            .chain(is_cut.then(|| Opening::whole(MatchReason::TooLarge)))
            .reduce(Opening::and)
    }

    /// A rule that opens, or two different suspects.
    fn rules(&self, rules: &ChosenRules) -> Option<Opening> {
        let matches = self.rule_matches(rules);
        let suspects: BTreeSet<usize> = matches.iter().map(|(hit, _)| hit.rule).collect();
        let opens = suspects.len() > 1 || matches.iter().any(|(hit, _)| hit.opens(rules));
        let of_hit = |(hit, matched): (&RuleHit, _)| Opening {
            not_kept: hit.more,
            ..Opening::file(hit.file, vec![matched])
        };
        let found = matches.into_iter().filter(|_| opens).map(of_hit);
        let files = self.diff.files.known();
        let unread = self.extent().unreadable.iter().filter_map(|&index| {
            let file = files.get(index)?;
            let is_looked_at = rules.reads_lines_of(&file.path, &reading::kinds(file));
            let matches = || vec![in_file(file, None, MatchReason::Unreadable)];
            is_looked_at.then(|| Opening::file(index, matches()))
        });
        self.with_unlisted(found.chain(unread))
    }

    /// GitHub lists 250 commits of a pull request
    /// (<https://docs.github.com/en/rest/pulls/pulls#list-commits-on-a-pull-request>): another may be an agent's.
    fn by_agent(&self, agents: &BTreeSet<Login>) -> Option<MatchReason> {
        let named = agent_in(self.snapshot, agents).map(|name| MatchReason::Agent { name });
        let is_cut = !self.snapshot.commits.is_complete;
        named.or_else(|| is_cut.then_some(MatchReason::TooLarge))
    }

    fn labelled(&self, wanted: &[String], remembered: &BTreeSet<String>) -> Option<MatchReason> {
        let is = |label: &str, wanted: &String| label.to_lowercase() == wanted.to_lowercase();
        let among = |labels: &BTreeSet<String>| {
            labels
                .iter()
                .find(|label| wanted.iter().any(|wanted| is(label, wanted)))
                .cloned()
        };
        let label =
            among(&self.snapshot.pull_request.labels).map(|label| MatchReason::Label { label });
        label.or_else(|| among(remembered).map(|label| MatchReason::LabelRemoved { label }))
    }

    fn size(&self, most_lines: Option<u64>, most_files: Option<u64>) -> Option<MatchReason> {
        let known = self.snapshot.files.known();
        let lines = known
            .iter()
            .map(|file| u64::from(file.additions) + u64::from(file.deletions))
            .sum();
        let files = known.len() as u64;
        let exceeds = most_lines.is_some_and(|most| lines > most)
            || most_files.is_some_and(|most| files > most);
        let is_cut = matches!(self.snapshot.files, ChangedFiles::TooLarge { .. });
        match exceeds {
            true => Some(MatchReason::Size { lines, files }),
            false => is_cut.then_some(MatchReason::TooLarge),
        }
    }

    fn found(&self, severity: FindingSeverity) -> Option<Opening> {
        let files = self.snapshot.files.known();
        let severe = self
            .findings
            .iter()
            .filter(|finding| finding.severity >= severity);
        let found = severe.map(|finding| {
            let reason = MatchReason::Finding {
                rule: excerpt(&finding.rule),
            };
            let (file, line) = finding
                .location
                .as_ref()
                .filter(|place| stays_inside(&place.file))
                .map(|place| (place.file.clone(), place.line))
                .unzip();
            let index = files
                .iter()
                .position(|changed| Some(&changed.path) == file.as_ref());
            // A finding outside the changed files concerns the change as a whole.
            let scope = index.map_or(Scope::Whole, |index| Scope::Files(BTreeSet::from([index])));
            Opening::new(
                scope,
                vec![TriggerMatch {
                    file,
                    line: line.flatten(),
                    reason,
                }],
            )
        });
        found.reduce(Opening::and)
    }
}

fn touched(file: &ChangedFile, wanted: &PathCondition) -> Vec<(Option<u32>, MatchReason)> {
    let found = file.paths().find_map(|path| {
        let globs = wanted.globs.all_of_entry(path).into_iter();
        let named = globs.map(|glob| &wanted.globs.as_slice()[glob]).next();
        named.filter(|_| !wanted.except.matches(path))
    });
    let reason = |glob: &str| MatchReason::Path {
        name: wanted.name.clone(),
        glob: Some(glob.to_owned()),
    };
    found
        .map(|glob| (None, reason(glob.as_str())))
        .into_iter()
        .collect()
}

/// Lines of one side that match. Out of what is excepted a file is new with all its lines, and into it all are gone: no
/// patch shows them.
fn changed(
    reading: &FileReading<'_>,
    wanted: &LineCondition,
    is_added: bool,
) -> Vec<(Option<u32>, MatchReason)> {
    let file = reading.file;
    let new = wanted.except.matches(&file.path);
    let old = file
        .previous_path
        .as_ref()
        .map_or(new, |path| wanted.except.matches(path));
    let (own, other) = if is_added { (new, old) } else { (old, new) };
    if own {
        return Vec::new();
    }
    let matched = |line: &ChangedLine<'_>, text: &str| {
        let name = wanted
            .patterns
            .iter()
            .find(|pattern| pattern.matches(text))?
            .name
            .clone();
        let excerpt = excerpt(line.text.trim());
        let reason = match is_added {
            true => MatchReason::AddedLine { name, excerpt },
            false => MatchReason::RemovedLine { name, excerpt },
        };
        (line.is_added == is_added).then_some((Some(line.number), reason))
    };
    let mut found: Vec<_> = reading
        .lines
        .iter()
        .filter_map(|line| matched(line, line.text))
        .collect();
    if found.is_empty() {
        found.extend(
            reading
                .joined
                .iter()
                .filter_map(|(line, text)| matched(line, text)),
        );
    }
    let has_side = file.status
        != if is_added {
            FileStatus::Removed
        } else {
            FileStatus::Added
        };
    if found.is_empty() && (reading.is_unreadable || other && has_side) {
        return vec![(None, MatchReason::Unreadable)];
    }
    found
}
