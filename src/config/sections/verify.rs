//! `verify:`, the checks and whose evidence counts.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::{
    leaf::{EnvName, EnvValue, Timeout, Whole},
    lower::{Lowering, meaning},
    place::Place,
    problem::{Problem, shorten},
    suggest,
    wrappers::{Located, OneOrMany},
};
use loopgate_core::{
    CheckName,
    evidence::CheckKind,
    policy::{
        CheckPolicy, CheckPresence, CheckSource, CommandCheck, EmptyTests, ExternalSource, FailFast, ReadLogs,
        Verbosity, VerifyPolicy, WhenSkipped,
    },
};

/// The checks, and whose evidence counts.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(in crate::config) struct VerifySection {
    /// Workflow files whose evidence is accepted, for example .github/workflows/ci.yml.
    workflows: Option<OneOrMany<Located<String>>>,
    /// Checks by name. Default: none; without any, the usual ones of the project's ecosystem are run locally.
    checks: IndexMap<CheckName, Located<CheckSection>>,
    /// The longest timeout a check may have, in seconds.
    max_timeout_seconds: Option<Whole<600, 21600>>,
    /// A command, one shell line, that is asked what it makes of the failures: it reads JSON and prints JSON within 60
    /// seconds. Default: none, Loopgate's own analysis stands.
    analyzer: Option<Located<String>>,
    /// Whether the logs of failed GitHub Actions jobs are read and lines of them quoted: on, in private repositories alone
    /// (private), or off. Default: on.
    logs: Option<ReadLogs>,
}

/// A check: a command (`run`) that Loopgate executes, or a check that exists already (`from`).
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CheckSection {
    /// What it is evidence of.
    kind: CheckKind,
    /// The command, one shell line.
    run: Option<Located<String>>,
    /// The check run or commit status that is its evidence.
    from: Option<Located<FromSection>>,
    /// Where the command runs. Default: the root of the repository.
    working_directory: Option<Located<String>>,
    /// Environment variables of the command.
    #[serde(default)]
    env: IndexMap<EnvName, EnvValue>,
    /// Seconds, or a period such as 5m. From 5s to 600s, more with verify.max_timeout_seconds. Default: 120s.
    timeout: Option<Located<Timeout>>,
    /// Report files it writes, as globs. Default: none, its output is read.
    report: Option<OneOrMany<Located<String>>>,
    /// A regular expression that finds failures in its output; the groups `test`, `file`, `line` and `message` are
    /// used. Default: none.
    report_pattern: Option<Located<String>>,
    /// What it means where the job of a `from` check was skipped; of kind build and test. Default: auto.
    when_skipped: Option<Located<WhenSkipped>>,
    /// Checks that must pass before it runs. Default: none.
    needs: Option<OneOrMany<Located<CheckName>>>,
    /// Pass although no test was executed. Default: false.
    allow_empty: Option<bool>,
    /// Stop the other checks when this one fails. Default: false.
    fail_fast: Option<bool>,
    /// Show its output while it runs. Default: true.
    verbose: Option<bool>,
}

/// A check run or commit status that exists already.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FromSection {
    /// Its name, as a glob: "CodeQL*".
    check: Located<String>,
    /// Slug of the App that must have made it. Default: any.
    app: Option<Located<String>>,
}

/// Shorter would kill checks that merely start slowly; it is no way to say "never".
const SHORTEST_TIMEOUT: TimeDelta = TimeDelta::seconds(5);
const LONGEST_TIMEOUT: u32 = 600;

const MOST_CHECKS: usize = 200;

/// A check on its way: with the places of what it needs, for messages.
struct Lowered {
    policy: CheckPolicy,
    place: Place,
    needs: Vec<Located<CheckName>>,
}

impl VerifySection {
    pub fn lower(self, cx: &mut Lowering) -> VerifyPolicy {
        if !cx.at_most(MOST_CHECKS, self.checks.values().nth(MOST_CHECKS).map(|check| check.place), "checks") {
            return VerifyPolicy::default();
        }
        let longest = self.max_timeout_seconds.map_or(LONGEST_TIMEOUT, |seconds| seconds.0);
        let workflows = self.workflows.map_or_else(Vec::new, |workflows| workflows.0);
        let analyzer = self.analyzer.and_then(|analyzer| {
            if analyzer.value.trim().is_empty() {
                cx.refuse(Problem::wrong(analyzer.place, "the command is empty").hint("leave `analyzer` out"));
                return None;
            }
            Some(analyzer.value)
        });
        let checks: IndexMap<CheckName, Lowered> =
            self.checks.into_iter().filter_map(|(name, check)| Some((name, check.lower(longest, cx)?))).collect();
        refuse_unknown_needs(&checks, cx);
        refuse_cycles(&checks, cx);
        warn_of_missing_tests(&checks, cx);
        VerifyPolicy {
            analyzer,
            logs: self.logs.unwrap_or_default(),
            workflows: workflows.into_iter().filter_map(|path| workflow(path, cx)).collect(),
            checks: checks.into_iter().map(|(name, check)| (name, check.policy)).collect(),
        }
    }
}

impl Located<CheckSection> {
    fn lower(self, longest: u32, cx: &mut Lowering) -> Option<Lowered> {
        let Self { value: check, place } = self;
        let kind = check.kind;
        let (source, needs) = match (&check.run, &check.from) {
            (None, None) => {
                let problem = Problem::wrong(place, "nothing says where the evidence of this check comes from");
                cx.refuse(problem.hint("add `run:` with a command, or `from:` with an existing check"));
                return None;
            }
            (Some(_), Some(from)) => {
                let problem = Problem::wrong(from.place, "a check has either `run` or `from`");
                cx.refuse(problem.hint("make two checks of them"));
                return None;
            }
            (Some(_), None) => {
                if let Some(when) = &check.when_skipped {
                    let problem = Problem::wrong(when.place, "`when_skipped` belongs to checks that exist already");
                    cx.refuse(problem.hint("remove it: a command is never skipped by a condition of a workflow"));
                }
                let needs = check.needs.as_ref().map_or_else(Vec::new, |needs| needs.0.clone());
                (CheckSource::Command(check.command(longest, cx)), needs)
            }
            (None, Some(_)) => (CheckSource::External(check.external(place, cx)?), Vec::new()),
        };
        let policy = CheckPolicy { kind, source, presence: CheckPresence::Configured };
        Some(Lowered { policy, place, needs })
    }
}

impl CheckSection {
    fn command(self, longest: u32, cx: &mut Lowering) -> CommandCheck {
        let run = self.run.map_or_else(String::new, |run| cx.some_text(run, "the command"));
        let default = CommandCheck::new(run);
        CommandCheck {
            working_directory: self.working_directory.map(|path| cx.inside_repository(path)),
            environment: environment(self.env),
            timeout: self.timeout.map_or(default.timeout, |timeout| checked_timeout(timeout, longest, cx)),
            reports: self.report.map_or_else(Vec::new, |reports| report_globs(reports.0, cx)),
            needs: self.needs.map_or_else(Vec::new, |needs| needs.0.into_iter().map(|need| need.value).collect()),
            empty_tests: meaning(self.allow_empty, EmptyTests::Allow, EmptyTests::Fail, default.empty_tests),
            fail_fast: meaning(self.fail_fast, FailFast::On, FailFast::Off, default.fail_fast),
            verbosity: meaning(self.verbose, Verbosity::Verbose, Verbosity::Quiet, default.verbosity),
            report_pattern: self.report_pattern.and_then(|pattern| cx.pattern(&pattern)),
            run: default.run,
        }
    }

    fn external(self, place: Place, cx: &mut Lowering) -> Option<ExternalSource> {
        let only_of_commands = [
            ("working_directory", self.working_directory.is_some()),
            ("env", !self.env.is_empty()),
            ("timeout", self.timeout.is_some()),
            ("report", self.report.is_some()),
            ("report_pattern", self.report_pattern.is_some()),
            ("needs", self.needs.is_some()),
            ("allow_empty", self.allow_empty.is_some()),
            ("fail_fast", self.fail_fast.is_some()),
            ("verbose", self.verbose.is_some()),
        ];
        for (key, _) in only_of_commands.into_iter().filter(|(_, written)| *written) {
            let problem =
                Problem::wrong(place, format!("`{key}` belongs to commands, and this check comes from outside"));
            cx.refuse(problem.hint(format!("remove `{key}`, or give the check a `run:`")));
        }
        let from = self.from?.value;
        let app = from.app.map(|app| cx.some_text(app, "the App's slug"));
        let when_skipped = self.when_skipped.map(|when| when.value).unwrap_or_default();
        Some(ExternalSource { name: cx.name_glob(&from.check)?, app, when_skipped })
    }
}

/// The environment of a command or fixer.
pub(super) fn environment(written: IndexMap<EnvName, EnvValue>) -> BTreeMap<String, String> {
    written.into_iter().map(|(name, value)| (name.0, value.0)).collect()
}

fn checked_timeout(written: Located<Timeout>, longest: u32, cx: &mut Lowering) -> TimeDelta {
    let timeout = written.value.0;
    let allowed = SHORTEST_TIMEOUT..=TimeDelta::seconds(i64::from(longest));
    if !allowed.contains(&timeout) {
        let seconds = timeout.num_seconds();
        let problem = Problem::wrong(written.place, format!("a timeout is 5 to {longest} seconds, not {seconds}"));
        let raisable = (i64::from(LONGEST_TIMEOUT)..=21_600).contains(&seconds);
        cx.refuse(if raisable {
            problem.hint(format!("allow it with `verify.max_timeout_seconds: {seconds}`"))
        } else {
            problem
        });
    }
    timeout
}

fn report_globs(written: Vec<Located<String>>, cx: &mut Lowering) -> Vec<String> {
    cx.plain_paths(&written);
    written.into_iter().map(|glob| cx.inside_repository(glob)).collect()
}

/// A workflow's path without the owner and the `@ref` that GitHub puts around it.
fn workflow(written: Located<String>, cx: &mut Lowering) -> Option<String> {
    const FOLDER: &str = ".github/workflows/";
    let path = written.value.split('@').next().unwrap_or_default();
    let file = path.find(FOLDER).map(|start| &path[start + FOLDER.len()..]);
    match file {
        Some(file) if !file.contains('/') && (file.ends_with(".yml") || file.ends_with(".yaml")) => {
            Some(format!("{FOLDER}{file}"))
        }
        _ => {
            let problem =
                Problem::wrong(written.place, format!("`{}` is not a workflow file", shorten(&written.value)));
            cx.refuse(problem.hint("write its path: `.github/workflows/ci.yml`"));
            None
        }
    }
}

fn refuse_unknown_needs(checks: &IndexMap<CheckName, Lowered>, cx: &mut Lowering) {
    for check in checks.values() {
        for need in check.needs.iter().filter(|need| !checks.contains_key(&need.value)) {
            let names: Vec<&str> = checks.keys().map(CheckName::as_str).collect();
            let problem = Problem::wrong(need.place, format!("there is no check `{}`", need.value));
            cx.refuse(problem.hint(suggest::among(need.value.as_str(), &names)));
        }
    }
}

/// Reports each cycle once, where its first check closes it.
fn refuse_cycles(checks: &IndexMap<CheckName, Lowered>, cx: &mut Lowering) {
    let mut settled = vec![false; checks.len()];
    for start in 0..checks.len() {
        let mut trail = Vec::new();
        if let Some(closing) = find_cycle(checks, start, &mut trail, &mut settled) {
            let names: Vec<String> = trail.iter().chain(trail.first()).map(|name| format!("`{name}`")).collect();
            let problem = Problem::wrong(closing, format!("these checks wait for each other: {}", names.join(" → ")));
            cx.refuse(problem.hint("remove one of the `needs`"));
        }
    }
}

/// Walks what a check needs, depth first; on a cycle, `trail` is left holding it. Every check is settled once, so the
/// walk is linear; its depth is bounded by the number of checks, and so by the size cap of the file.
fn find_cycle<'a>(
    checks: &'a IndexMap<CheckName, Lowered>,
    start: usize,
    trail: &mut Vec<&'a CheckName>,
    settled: &mut [bool],
) -> Option<Place> {
    let mut stack: Vec<(usize, usize)> = vec![(start, 0)];
    while let Some((index, next_need)) = stack.last_mut() {
        let (name, check) = checks.get_index(*index)?;
        if settled.get(*index).copied().unwrap_or(true) {
            stack.pop();
            continue;
        }
        if *next_need == 0 {
            trail.push(name);
        }
        let Some(need) = check.needs.get(*next_need) else {
            if let Some(flag) = settled.get_mut(*index) {
                *flag = true;
            }
            trail.pop();
            stack.pop();
            continue;
        };
        *next_need += 1;
        if let Some(seen) = trail.iter().position(|name| **name == need.value) {
            trail.drain(..seen);
            for (_, flag) in checks.keys().zip(settled.iter_mut()).filter(|(name, _)| trail.contains(name)) {
                *flag = true;
            }
            return Some(need.place);
        }
        if let Some(target) = checks.get_index_of(&need.value) {
            stack.push((target, 0));
        }
    }
    None
}

/// A configuration without a `test` check is accepted, with a warning that people see. What tests has been built.
fn warn_of_missing_tests(checks: &IndexMap<CheckName, Lowered>, cx: &mut Lowering) {
    let Some(first) = checks.values().next() else { return };
    if !checks.values().any(|check| check.policy.kind == CheckKind::Test) {
        let warning = Problem::wrong(first.place, "no check has `kind: test`, so nothing shows that tests pass");
        cx.warnings.push(warning.hint("add a check of kind `test`, a command or an existing one"));
    }
}
