//! `verify:`, the checks and whose evidence counts.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use indexmap::{IndexMap, IndexSet};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::{
    leaf::{EnvName, EnvValue},
    node::Node,
    problem::{Place, Problem, shorten},
    sections::Lowering,
    suggest,
};
use loopgate_core::{
    CheckName,
    evidence::{CheckKind, FindingSeverity},
    policy::{
        CheckPolicy, CheckSource, CommandCheck, ExternalSource, FailOn, FileGlob, FlakyTests,
        NameGlob, Pattern, ReadLogs, ReviewerSource, Severity, Timeout, VerifyPolicy, WhenSkipped,
        Whole,
    },
};

/// The checks, and whose evidence counts.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(in crate::config) struct VerifySection {
    /// Workflow files whose evidence is accepted, for example .github/workflows/ci.yml.
    workflows: Vec<String>,
    /// Checks by name. Default: none; without any, the usual ones of the project's ecosystem are run locally.
    checks: IndexMap<CheckName, CheckSection>,
    /// The longest timeout a check may have, in seconds.
    max_timeout_seconds: Option<Whole<600, 21600>>,
    /// A command, one shell line, that is asked what it makes of the failures: it reads JSON and prints JSON within 60
    /// seconds. Default: none, Loopgate's own analysis stands.
    analyzer: Option<String>,
    /// Whether the logs of failed GitHub Actions jobs are read and lines of them quoted: on, in private repositories
    /// alone (private), or off. Default: on.
    logs: ReadLogs,
}

/// A check: a command (`run`) that Loopgate executes, or a check that exists already (`from`).
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CheckSection {
    /// What it is evidence of.
    kind: CheckKind,
    /// The command, one shell line.
    run: Option<String>,
    /// The check run or commit status that is its evidence.
    from: Option<FromSection>,
    /// Where the command runs. Default: the root of the repository.
    working_directory: Option<String>,
    /// Environment variables of the command.
    #[serde(default)]
    env: IndexMap<EnvName, EnvValue>,
    /// Seconds, or a period such as 5m. From 5s to 600s, more with verify.max_timeout_seconds. Default: 120s.
    timeout: Option<Timeout>,
    /// Report files it writes, as globs. Default: none, its output is read.
    #[serde(default)]
    report: Vec<FileGlob<false>>,
    /// A regular expression that finds failures in its output; the groups `test`, `file`, `line` and `message` are
    /// used. Default: none.
    report_pattern: Option<Pattern>,
    /// What it means where the job of a `from` check was skipped; of kind build and test. Default: auto.
    #[serde(default)]
    when_skipped: WhenSkipped,
    /// Checks that must pass before it runs. Default: none.
    #[serde(default)]
    needs: Vec<CheckName>,
    /// Pass although no test was executed. Default: false.
    #[serde(default)]
    allow_empty: bool,
    /// What fails a check of kind lint, types or security: the exit status (exit), or also findings that its tool calls
    /// errors (error), or warnings (warning). Default: error for types, else exit.
    fail_on: Option<FailOn>,
    /// What tests mean that passed when they were tried again: nothing (pass), a warning (warn), or that the check fails
    /// (fail). Default: warn.
    #[serde(default)]
    flaky: FlakyTests,
    /// Stop the other checks when this one fails. Default: false.
    #[serde(default)]
    fail_fast: bool,
    /// Show its output while it runs. Default: true.
    verbose: Option<bool>,
}

/// A check run or commit status that exists already.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FromSection {
    /// Its name, as a glob: "CodeQL*".
    check: NameGlob,
    /// Slug of the App that must have made it. Default: any.
    app: Option<String>,
}

/// Shorter would kill checks that merely start slowly; it is no way to write "never".
const SHORTEST_TIMEOUT: TimeDelta = TimeDelta::seconds(5);
const LONGEST_TIMEOUT: u32 = 600;

const MOST_CHECKS: usize = 200;

impl VerifySection {
    pub fn lower(self, node: &Node, cx: &mut Lowering) -> VerifyPolicy {
        let nodes = node.at("checks");
        if !cx.at_most(MOST_CHECKS, nodes, "checks") {
            return VerifyPolicy::default();
        }
        let longest = self
            .max_timeout_seconds
            .map_or(LONGEST_TIMEOUT, |seconds| seconds.0);
        if self
            .analyzer
            .as_ref()
            .is_some_and(|analyzer| analyzer.trim().is_empty())
        {
            let problem = Problem::wrong(node.at("analyzer").place, "the command is empty");
            cx.refuse(problem.hint("leave `analyzer` out"));
        }
        let checks = self.checks.into_iter().filter_map(|(name, check)| {
            let policy = check.lower(longest, nodes.at(name.as_str()), cx)?;
            Some((name, policy))
        });
        let checks: IndexMap<CheckName, CheckPolicy> = checks.collect();
        refuse_unknown_needs(&checks, nodes, cx);
        refuse_cycles(&checks, nodes, cx);
        warn_of_missing_tests(&checks, nodes, cx);
        let workflows = node.at("workflows").each(&self.workflows);
        let workflows = workflows.filter_map(|(path, node)| workflow(path, node, cx));
        VerifyPolicy {
            workflows: workflows.collect(),
            checks,
            analyzer: self.analyzer,
            logs: self.logs,
        }
    }
}

/// The keys of a check that belong to commands alone.
const ONLY_OF_COMMANDS: [&str; 11] = [
    "working_directory",
    "env",
    "timeout",
    "report",
    "report_pattern",
    "needs",
    "allow_empty",
    "fail_on",
    "flaky",
    "fail_fast",
    "verbose",
];

impl CheckSection {
    fn lower(self, longest: u32, node: &Node, cx: &mut Lowering) -> Option<CheckPolicy> {
        let kind = self.kind;
        let source = match (&self.run, &self.from) {
            (None, None) => {
                let problem = Problem::wrong(
                    node.place,
                    "nothing says where the evidence of this check comes from",
                );
                return cx.refused(
                    problem.hint("add `run:` with a command, or `from:` with an existing check"),
                );
            }
            (Some(_), Some(_)) => {
                let problem =
                    Problem::wrong(node.at("from").place, "a check has either `run` or `from`");
                return cx.refused(problem.hint("make two checks of them"));
            }
            (Some(_), None) => CheckSource::Command(self.command(longest, node, cx)),
            (None, Some(_)) => CheckSource::External(self.external(node, cx)?),
        };
        Some(CheckPolicy {
            kind,
            source,
            is_detected: false,
        })
    }

    fn command(self, longest: u32, node: &Node, cx: &mut Lowering) -> CommandCheck {
        if let Some(place) = node.written("when_skipped") {
            let problem =
                Problem::wrong(place, "`when_skipped` belongs to checks that exist already");
            cx.refuse(
                problem.hint("remove it: a command is never skipped by a condition of a workflow"),
            );
        }
        let run = cx.some_text(self.run.unwrap_or_default(), node.at("run"), "the command");
        let default = CommandCheck::new(run);
        let reports = node
            .at("report")
            .each(self.report.iter().map(|glob| glob.0.as_str().to_owned()));
        CommandCheck {
            working_directory: self
                .working_directory
                .map(|path| cx.inside_repository(path, node.at("working_directory"))),
            environment: environment(self.env),
            reports: reports
                .map(|(glob, node)| cx.inside_repository(glob, node))
                .collect(),
            timeout: match self.timeout {
                Some(timeout) => checked_timeout(timeout.0, longest, node.at("timeout"), cx),
                None => default.timeout,
            },
            needs: self.needs,
            allow_empty: self.allow_empty,
            fail_on: self.fail_on,
            flaky: self.flaky,
            fail_fast: self.fail_fast,
            verbose: self.verbose.unwrap_or(default.verbose),
            report_pattern: self.report_pattern,
            run: default.run,
        }
    }

    fn external(self, node: &Node, cx: &mut Lowering) -> Option<ExternalSource> {
        for key in ONLY_OF_COMMANDS
            .into_iter()
            .filter(|key| node.written(key).is_some())
        {
            let message = format!("`{key}` belongs to commands, and this check comes from outside");
            let problem = Problem::wrong(node.place, message);
            cx.refuse(problem.hint(format!("remove `{key}`, or give the check a `run:`")));
        }
        let (from, node) = (self.from?, node.at("from"));
        let app = from
            .app
            .map(|app| cx.some_text(app, node.at("app"), "the App's slug"));
        Some(ExternalSource {
            name: from.check,
            app,
            when_skipped: self.when_skipped,
        })
    }
}

/// The environment of a command or fixer.
pub(super) fn environment(written: IndexMap<EnvName, EnvValue>) -> BTreeMap<String, String> {
    written
        .into_iter()
        .map(|(name, value)| (name.0, value.0))
        .collect()
}

fn checked_timeout(timeout: TimeDelta, longest: u32, node: &Node, cx: &mut Lowering) -> TimeDelta {
    let allowed = SHORTEST_TIMEOUT..=TimeDelta::seconds(i64::from(longest));
    if !allowed.contains(&timeout) {
        let seconds = timeout.num_seconds();
        let problem = Problem::wrong(
            node.place,
            format!("a timeout is 5 to {longest} seconds, not {seconds}"),
        );
        let raisable = (i64::from(LONGEST_TIMEOUT)..=21_600).contains(&seconds);
        cx.refuse(if raisable {
            problem.hint(format!(
                "allow it with `verify.max_timeout_seconds: {seconds}`"
            ))
        } else {
            problem
        });
    }
    timeout
}

/// A workflow's path without the owner and the `@ref` that GitHub puts around it.
fn workflow(written: &str, node: &Node, cx: &mut Lowering) -> Option<String> {
    const FOLDER: &str = ".github/workflows/";
    let path = written.split('@').next().unwrap_or_default();
    let file = path.find(FOLDER).map(|start| &path[start + FOLDER.len()..]);
    match file {
        Some(file)
            if !file.contains('/') && (file.ends_with(".yml") || file.ends_with(".yaml")) =>
        {
            Some(format!("{FOLDER}{file}"))
        }
        _ => {
            let problem = Problem::wrong(
                node.place,
                format!("`{}` is not a workflow file", shorten(written)),
            );
            cx.refused(problem.hint("write its path: `.github/workflows/ci.yml`"))
        }
    }
}

/// The checks that a check needs.
fn needs_of(check: &CheckPolicy) -> &[CheckName] {
    match &check.source {
        CheckSource::Command(command) => &command.needs,
        CheckSource::External(_) | CheckSource::Reviewer(_) => &[],
    }
}

/// Where one of the needs of a check is written.
fn place_of_need(checks: &Node, check: &CheckName, index: usize) -> Place {
    checks.at(check.as_str()).at("needs").item(index).place
}

fn refuse_unknown_needs(checks: &IndexMap<CheckName, CheckPolicy>, node: &Node, cx: &mut Lowering) {
    for (name, check) in checks {
        for (index, need) in needs_of(check)
            .iter()
            .enumerate()
            .filter(|(_, need)| !checks.contains_key(*need))
        {
            let names: Vec<&str> = checks.keys().map(CheckName::as_str).collect();
            let problem = Problem::wrong(
                place_of_need(node, name, index),
                format!("there is no check `{need}`"),
            );
            cx.refuse(problem.hint(suggest::among(need.as_str(), &names)));
        }
    }
}

/// Reports each cycle once, at the need that closes it. A check is open until all that it needs is settled; each step
/// settles a check or follows its first open need, and what comes back to a check of its trail is a cycle.
fn refuse_cycles(checks: &IndexMap<CheckName, CheckPolicy>, node: &Node, cx: &mut Lowering) {
    let mut open: IndexSet<&CheckName> = checks.keys().collect();
    let mut trail: Vec<&CheckName> = Vec::new();
    while let Some(&last) = trail.last().or_else(|| open.first()) {
        if trail.is_empty() {
            trail.push(last);
        }
        let mut needs = checks
            .get(last)
            .map_or(&[][..], needs_of)
            .iter()
            .enumerate();
        let Some((index, need)) = needs.find(|(_, need)| open.contains(need)) else {
            open.shift_remove(last);
            trail.pop();
            continue;
        };
        let Some(start) = trail.iter().position(|name| *name == need) else {
            trail.push(need);
            continue;
        };
        let cycle = trail.split_off(start);
        let names: Vec<String> = cycle
            .iter()
            .chain(cycle.first())
            .map(|name| format!("`{name}`"))
            .collect();
        let message = format!("these checks wait for each other: {}", names.join(" → "));
        let problem = Problem::wrong(place_of_need(node, last, index), message);
        cx.refuse(problem.hint("remove one of the `needs`"));
        open.retain(|name| !cycle.contains(name));
    }
}

/// A configuration without a `test` check is accepted, with a warning that people see. What tests has been built.
fn warn_of_missing_tests(
    checks: &IndexMap<CheckName, CheckPolicy>,
    node: &Node,
    cx: &mut Lowering,
) {
    let Some(first) = checks.keys().next() else {
        return;
    };
    if !checks.values().any(|check| check.kind == CheckKind::Test) {
        let place = node.at(first.as_str()).place;
        let warning = Problem::wrong(
            place,
            "no check has `kind: test`, so nothing shows that tests pass",
        );
        cx.warnings
            .push(warning.hint("add a check of kind `test`, a command or an existing one"));
    }
}

const MOST_REVIEWERS: usize = 10;
const LONGEST_REVIEW: TimeDelta = TimeDelta::hours(24);

/// An AI reviewer. Its review threads are a check of kind `custom` that is called as its App.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct ReviewerSection {
    /// Slug of its App, which is the name of its account without `[bot]`.
    app: CheckName,
    /// What an open thread means: `fail` holds the verdict and costs attempts, `warn` and `info` only say it.
    /// Default: warn.
    severity: Option<Severity>,
    /// Findings that say they are less than this are left out. One that says nothing of it counts.
    /// Default: high.
    at_least: Option<FindingSeverity>,
    /// A reviewer that says nothing on a head for so long is absent. From 1m to 24h. Default: 15m.
    timeout: Option<Timeout>,
}

/// Adds each reviewer to the checks.
pub(super) fn add_reviewers(
    written: Vec<ReviewerSection>,
    verify: &mut VerifyPolicy,
    node: &Node,
    cx: &mut Lowering,
) {
    if !cx.at_most(MOST_REVIEWERS, node, "reviewers") {
        return;
    }
    for (
        ReviewerSection {
            app,
            severity,
            at_least,
            timeout,
        },
        node,
    ) in node.each(written)
    {
        let timeout = timeout.map_or(TimeDelta::minutes(15), |timeout| timeout.0);
        if !(TimeDelta::minutes(1)..=LONGEST_REVIEW).contains(&timeout) {
            cx.refuse(Problem::wrong(
                node.at("timeout").place,
                "a reviewer is waited for from 1m to 24h",
            ));
        }
        if verify.checks.contains_key(&app) {
            let problem = Problem::wrong(
                node.at("app").place,
                format!("there is a check `{app}` already"),
            );
            cx.refuse(problem.hint("name each reviewer once, and the check otherwise"));
            continue;
        }
        let (severity, at_least) = (
            severity.unwrap_or(Severity::Warn),
            at_least.unwrap_or(FindingSeverity::High),
        );
        let source = ReviewerSource {
            app: app.to_string(),
            severity,
            at_least,
            timeout,
        };
        let (kind, is_detected) = (CheckKind::Custom, false);
        verify.checks.insert(
            app,
            CheckPolicy {
                kind,
                source: CheckSource::Reviewer(source),
                is_detected,
            },
        );
    }
}
