//! The configuration for a detected project, with a word on everything in it.

use indexmap::IndexSet;
use minijinja::{Value, context};

use crate::{
    render,
    runner::{CiJob, Detected, Project},
};
use loopgate_core::{
    CheckName,
    evidence::CheckKind,
    policy::{CheckPolicy, CheckSource},
};

const TEMPLATE: &str = "init/configuration.txt";

/// The text of a configuration that follows the jobs which run on pull requests already.
pub fn following(jobs: &[&CiJob]) -> String {
    let says_nothing = |job: &&CiJob| {
        // A glob of expressions alone is a glob over everybody's check runs.
        !job.check.contains(char::is_alphanumeric)
            || job.kind == CheckKind::Custom && jobs.iter().any(|job| job.kind != CheckKind::Custom)
    };
    let (others, telling): (Vec<&CiJob>, Vec<&CiJob>) = jobs.iter().copied().partition(says_nothing);
    let (mut names, mut followed) = (IndexSet::new(), IndexSet::new());
    let mut named = |job: &CiJob| {
        let is_new = followed.insert(job.check.clone());
        let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let id: String = job.id.chars().map(plain).collect();
        let numbered = (2..).map(|nth| format!("{id}-{nth}"));
        let name = std::iter::once(id.clone()).chain(numbered).find(|name| !names.contains(name))?;
        (is_new && name.parse::<CheckName>().is_ok() && names.insert(name.clone()))
            .then(|| context! { name, kind => job.kind.as_str(), check => quoted(&job.check), filter => job.filter })
    };
    let telling: Vec<Value> = telling.into_iter().filter_map(&mut named).collect();
    let others: Vec<Value> = others.into_iter().filter_map(&mut named).collect();
    let workflows: IndexSet<String> = jobs.iter().map(|job| quoted(&job.workflow)).collect();
    render::text(TEMPLATE, context! { workflows => Vec::from_iter(workflows), telling, others })
}

/// The text of the configuration; `workflow` is the file that runs the checks.
pub fn text(detected: &Detected, workflow: &str) -> String {
    let place = |project: &Project| match project.directory.as_str() {
        "" => project.ecosystem.row().title.clone(),
        // A comment ends with its line.
        directory => format!("{} in {}", project.ecosystem.row().title, directory.replace(char::is_control, "?")),
    };
    let found: Vec<String> = detected.projects.iter().map(place).collect();
    let checks: Vec<Value> = detected.checks.iter().filter_map(|(name, check)| described(name, check)).collect();
    let measures_coverage = detected.measures_coverage;
    render::text(TEMPLATE, context! { workflow, found, checks, measures_coverage })
}

/// What is written of a check that is a command, each value as YAML reads it.
fn described(name: &CheckName, check: &CheckPolicy) -> Option<Value> {
    let CheckSource::Command(command) = &check.source else { return None };
    Some(context! {
        name => name.as_str(),
        kind => check.kind.as_str(),
        run => scalar(&command.run),
        directory => command.working_directory.as_deref().map(scalar),
        seconds => command.timeout.num_seconds(),
        needs => command.needs.iter().map(ToString::to_string).collect::<Vec<_>>(),
        reports => command.reports.iter().map(|report| quoted(report)).collect::<Vec<_>>(),
        pattern => command.report_pattern.as_ref().map(|pattern| quoted(pattern.as_str())),
    })
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
