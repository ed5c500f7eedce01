//! The configuration for a detected project, with a word on everything in it.

use std::fmt::Write as _;

use indexmap::IndexSet;

use crate::runner::{CiJob, Detected, Project};
use loopgate_core::{
    CheckName,
    evidence::CheckKind,
    policy::{CheckPolicy, CheckSource, CommandCheck},
};

const HEAD: &str = "\
# Loopgate: what is checked on every pull request, and what happens then.
# `loopgate check-config` says what is wrong in this file; `loopgate verify` runs the checks here and now.
version: 1

verify:
";

const OTHERS: &str = "    # The names of these do not say what they are evidence of. To count one, remove its `#:`.\n";

const LEFT_OUT: &str = "    #: ";

const RUNS: &str =
    "  # The workflow that runs the checks. Only its evidence counts; editing it opens the security gate.\n";

const COVERAGE: &str = "
# The project measures its coverage: a change whose lines are covered below the minimum does not pass.
coverage:
  below_minimum: fail
";

const TAIL: &str = "
# When to try again, and when to call a person. These are the defaults.
loop:
  max_attempts: 3       # failing attempts in a row before a person is called
  same_error: 2         # how often one error may repeat

# Gates ask for a person's approval where a change touches security, the database, deployment and the like. Say who may
# approve; without this, people with the right to maintain the repository.
#: gates:
#:   security: { approvers: { users: [alice] } }
#:   payments: { when: { paths: [\"src/billing/**\"] }, approvers: { users: [bob] } }

# Who is called when the loop is stuck. Without this: the code owners of the failing files.
#: escalation: { notify: [alice] }
";

/// The text of a configuration that follows the jobs which run on pull requests already.
pub fn following(jobs: &[&CiJob]) -> String {
    let workflows: IndexSet<String> = jobs.iter().map(|job| quoted(&job.workflow)).collect();
    let workflows = workflows.into_iter().collect::<Vec<_>>().join(", ");
    let mut text = format!(
        "{HEAD}  # The workflows that run on pull requests. Editing one opens the security gate.\n  workflows: \
         [{workflows}]\n\n  # Their jobs, by the names of their check runs. What a job is evidence of follows from its name \
         and commands.\n  checks:\n"
    );
    let mut names = IndexSet::new();
    let says_nothing = |job: &&&CiJob| {
        // A glob of expressions alone is a glob over everybody's check runs.
        !job.check.contains(char::is_alphanumeric)
            || job.kind == CheckKind::Custom && jobs.iter().any(|job| job.kind != CheckKind::Custom)
    };
    let (others, telling): (Vec<&&CiJob>, Vec<&&CiJob>) = jobs.iter().partition(says_nothing);
    let all = telling.into_iter().map(|job| ("    ", job)).chain(others.into_iter().map(|job| (LEFT_OUT, job)));
    let mut followed = IndexSet::new();
    for (indent, job) in all.filter(|(_, job)| followed.insert(&job.check)) {
        if indent == LEFT_OUT && !text.contains(OTHERS) {
            text.push_str(OTHERS);
        }
        let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let id: String = job.id.chars().map(plain).collect();
        let numbered = (2..).map(|nth| format!("{id}-{nth}"));
        let mut free = std::iter::once(id.clone()).chain(numbered).filter(|name| !names.contains(name));
        let Some(name) = free.next().and_then(|name| name.parse::<CheckName>().ok()) else { continue };
        let (kind, check) = (job.kind.as_str(), quoted(&job.check));
        let _ = writeln!(text, "{indent}{name}: {{ kind: {kind}, from: {{ check: {check}, app: github-actions }} }}");
        if let Some(filter) = job.filter {
            let _ = writeln!(
                text,
                "    # Its workflow has `{filter}`: where it does not run, `/loop skip {name}` continues."
            );
        }
        names.insert(name.to_string());
    }
    text + TAIL
}

/// The text of the configuration; `workflow` is the file that runs the checks.
pub fn text(detected: &Detected, workflow: &str) -> String {
    let mut text = format!("{HEAD}{RUNS}  workflows: [{workflow}]\n\n");
    if detected.checks.is_empty() {
        text.push_str(
            "  # No project whose usual checks are known was found. A check looks like this:\n  checks: {}\n  #: checks:\n  \
             #:   test: { kind: test, run: make test }\n",
        );
    } else {
        let _ = writeln!(
            text,
            "  # The usual checks of what was found: {}.\n  # Every file that a command leaves in $LOOPGATE_REPORTS is \
             read as a report.\n  checks:",
            found(&detected.projects)
        );
        for (name, check) in &detected.checks {
            if let CheckSource::Command(command) = &check.source {
                entry(&mut text, name, check, command);
            }
        }
    }
    if detected.measures_coverage {
        text.push_str(COVERAGE);
    }
    text + TAIL
}

fn found(projects: &[Project]) -> String {
    let place = |project: &Project| match project.directory.as_str() {
        "" => project.ecosystem.title().to_owned(),
        // A comment ends with its line.
        directory => format!("{} in {}", project.ecosystem.title(), directory.replace(char::is_control, "?")),
    };
    projects.iter().map(place).collect::<Vec<_>>().join(", ")
}

fn entry(text: &mut String, name: &CheckName, check: &CheckPolicy, command: &CommandCheck) {
    let mut line = |key: &str, value: &str| {
        let _ = writeln!(text, "      {key}: {value}");
    };
    line("kind", check.kind.as_str());
    line("run", &scalar(&command.run));
    if let Some(directory) = &command.working_directory {
        line("working_directory", &scalar(directory));
    }
    line("timeout", &format!("{}s", command.timeout.num_seconds()));
    if !command.needs.is_empty() {
        let needs: Vec<&str> = command.needs.iter().map(CheckName::as_str).collect();
        line("needs", &format!("[{}]", needs.join(", ")));
    }
    if !command.reports.is_empty() {
        let reports: Vec<String> = command.reports.iter().map(|report| quoted(report)).collect();
        line("report", &format!("[{}]", reports.join(", ")));
    }
    if let Some(pattern) = &command.report_pattern {
        line("report_pattern", &quoted(pattern.as_str()));
    }
    // The name comes last into the text because its lines were written to the end of it.
    let at = text.rfind("      kind: ").unwrap_or(text.len());
    text.insert_str(at, &format!("    {name}:\n"));
}

/// A value that YAML reads as this text.
fn scalar(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || " _./-".contains(c);
    let starts_plain = value.starts_with(|c: char| c.is_ascii_alphabetic() || c == '.' || c == '/');
    let is_word = !["true", "false", "null", "yes", "no", "on", "off"].contains(&value.to_ascii_lowercase().as_str());
    if starts_plain && is_word && value.chars().all(plain) && !value.ends_with(' ') {
        value.to_owned()
    } else {
        quoted(value)
    }
}

/// In single quotes nothing means anything but the quote itself.
pub(super) fn quoted(value: &str) -> String {
    if value.chars().any(char::is_control) {
        return serde_json::to_string(value).unwrap_or_default();
    }
    format!("'{}'", value.replace('\'', "''"))
}
