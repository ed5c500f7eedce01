//! The configuration for a detected project, with a word on everything in it. `--from agent-approval-check` adds a
//! repository's settings for that Action, as the gate `agents`
//! (<https://github.com/anthropics/claude-code-action/tree/main/agent-approval-check>).

use std::path::Path;

use indexmap::{IndexMap, IndexSet};
use minijinja::{Value, context, value::Serde};
use serde_yaml::Value as Yaml;

use super::CliError;
use loopgate_core::{
    CheckName, Login,
    evidence::CheckKind,
    policy::{CheckPolicy, CheckSource},
};
use loopgate_render as render;
use loopgate_runner::{CiJob, Detected, Project, workflow_texts};

const TEMPLATE: &str = "init/configuration.txt";

/// A check that follows jobs of the CI that is there.
struct Followed<'a> {
    /// All of these have its pattern, and cannot be told apart.
    jobs: Vec<&'a CiJob>,
    kind: CheckKind,
}

impl<'a> Followed<'a> {
    /// The jobs by their patterns, in their order. Where one of several tests, all are waited for as tests.
    fn of(jobs: &'a [CiJob]) -> Vec<Self> {
        let mut by_pattern: IndexMap<&str, Vec<&CiJob>> = IndexMap::new();
        for job in jobs {
            by_pattern.entry(&job.check).or_default().push(job);
        }
        let followed = by_pattern.into_values().map(|jobs| {
            let tests = jobs.iter().any(|job| job.kind == CheckKind::Test);
            let kind = if tests { CheckKind::Test } else { jobs[0].kind };
            Self { jobs, kind }
        });
        followed.collect()
    }

    /// Whether its name and commands say what it is evidence of, and which jobs it takes.
    fn says_what_it_is(&self) -> bool {
        let check = &self.jobs[0].check;
        // A glob of expressions alone is a glob over everybody's check runs.
        self.kind != CheckKind::Custom && check.contains(char::is_alphanumeric)
    }

    /// The ids of its jobs, if they are evidence of several things.
    fn merged(&self) -> Option<Vec<String>> {
        let differ = self.jobs.iter().any(|job| job.kind != self.kind);
        differ.then(|| self.jobs.iter().map(|job| job.id.clone()).collect())
    }
}

/// The jobs that are written as comments: their names and commands do not say what they are evidence of.
pub fn unsaid(jobs: &[CiJob]) -> Vec<String> {
    let followed = Followed::of(jobs);
    if !followed.iter().any(Followed::says_what_it_is) {
        return Vec::new();
    }
    let unsaid = followed.iter().filter(|check| !check.says_what_it_is());
    unsaid.map(|check| check.jobs[0].name.clone()).collect()
}

/// The text of a configuration that follows the jobs which run on pull requests already; `agents` is the gate for
/// agents, if one is taken over.
pub fn following(jobs: &[CiJob], agents: Option<Value>) -> String {
    let mut names = IndexSet::new();
    let mut described = |check: &Followed<'_>| {
        let mut of_kind = check.jobs.iter().filter(|job| job.kind == check.kind);
        let name = match (check.merged(), of_kind.next()) {
            (Some(_), Some(job)) => &job.id,
            _ => &check.jobs[0].name,
        };
        let numbered = (2..).map(|nth| format!("{name}-{nth}"));
        let mut free = std::iter::once(name.clone()).chain(numbered);
        let name = free.find(|name| !names.contains(name) && name.parse::<CheckName>().is_ok())?;
        names.insert(name.clone());
        Some(context! {
            name,
            kind => check.kind.as_str(),
            check => quoted(&check.jobs[0].check),
            merged => check.merged(),
        })
    };
    let all = Followed::of(jobs);
    let (telling, others): (Vec<&Followed<'_>>, Vec<&Followed<'_>>) =
        all.iter().partition(|check| check.says_what_it_is());
    // Where nothing says more, what there is counts.
    let (telling, others) = match telling.is_empty() {
        true => (others, telling),
        false => (telling, others),
    };
    let telling: Vec<Value> = telling.into_iter().filter_map(&mut described).collect();
    let others: Vec<Value> = others.into_iter().filter_map(&mut described).collect();
    let workflows: IndexSet<String> = jobs.iter().map(|job| quoted(&job.workflow)).collect();
    let filtered: IndexMap<&str, Vec<&str>> = jobs
        .iter()
        .filter(|job| !job.filters.is_empty())
        .map(|job| {
            (
                job.file(),
                Vec::from_iter(job.filters.iter().map(|key| key.as_str())),
            )
        })
        .collect();
    render::text(
        TEMPLATE,
        context! { workflows => Vec::from_iter(workflows), telling, others, filtered => Serde(filtered), agents },
    )
}

/// The text of the configuration; `workflow` is the file that runs the checks, `agents` the gate for agents, if one is
/// taken over.
pub fn text(detected: &Detected, workflow: &str, agents: Option<Value>) -> String {
    let place = |project: &Project| match project.directory.as_str() {
        "" => project.ecosystem.row().title.clone(),
        // A comment ends with its line.
        directory => format!(
            "{} in {}",
            project.ecosystem.row().title,
            directory.replace(char::is_control, "?")
        ),
    };
    let found: Vec<String> = detected.projects.iter().map(place).collect();
    let unserved = detected.unserved.iter();
    let unserved: Vec<String> = unserved
        .map(|(file, tool)| format!("{file} ({tool})"))
        .collect();
    let checks: Vec<Value> = detected
        .checks
        .iter()
        .filter_map(|(name, check)| described(name, check))
        .collect();
    let measures_coverage = detected.measures_coverage;
    render::text(
        TEMPLATE,
        context! { workflow, found, unserved, checks, measures_coverage, agents },
    )
}

/// What is written of a check that is a command, each value as YAML reads it.
fn described(name: &CheckName, check: &CheckPolicy) -> Option<Value> {
    let CheckSource::Command(command) = &check.source else {
        return None;
    };
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
    let is_word = !["true", "false", "null", "yes", "no", "on", "off"]
        .contains(&value.to_ascii_lowercase().as_str());
    if starts_plain && is_word && value.chars().all(plain) && !value.ends_with(' ') {
        value.to_owned()
    } else {
        quoted(value)
    }
}

/// In single quotes nothing means anything but the quote itself.
fn quoted(value: &str) -> String {
    if value.chars().any(char::is_control) {
        return serde_json::to_string(value).unwrap_or_default();
    }
    format!("'{}'", value.replace('\'', "''"))
}

/// The Action's defaults.
const APPROVALS: u64 = 2;
/// People that a gate can ask for.
const MOST_APPROVALS: u64 = 20;

/// The inputs of the step that uses the Action.
struct Inputs {
    step: Yaml,
    /// Its file of identities; an empty mapping without one.
    file: Yaml,
}

impl Inputs {
    /// Entries of a list: of the file, which overrules, or separated by commas in the step.
    fn list(&self, in_file: &str, in_step: &str) -> Vec<String> {
        let listed = match &self.file[in_file] {
            Yaml::Sequence(items) => items
                .iter()
                .filter_map(Yaml::as_str)
                .map(str::to_owned)
                .collect(),
            // By repository: `owner/repo: [docs/]`.
            Yaml::Mapping(by_repository) => {
                let lists = by_repository
                    .values()
                    .filter_map(Yaml::as_sequence)
                    .flatten();
                lists.filter_map(Yaml::as_str).map(str::to_owned).collect()
            }
            _ => Vec::new(),
        };
        if !listed.is_empty() {
            return listed;
        }
        let text = self.step[in_step].as_str().unwrap_or_default();
        text.split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect()
    }
}

/// The gate that stands for the Action.
///
/// # Errors
/// When no workflow uses the Action.
pub fn agents_gate(root: &Path) -> Result<Value, CliError> {
    let inputs = workflow_texts(root)
        .find_map(|text| inputs(&text, root))
        .ok_or_else(|| {
            CliError::bad_data(
                "no workflow of this repository uses agent-approval-check. Nothing was written.",
            )
        })?;
    let of = |prefix: &String| quoted(&format!("!{}/**", prefix.trim_end_matches('/')));
    let globs: Vec<String> = inputs
        .list("exempt_path_prefixes", "exempt_path_prefixes")
        .iter()
        .map(of)
        .collect();
    let mut logins = inputs.list("agent_app_logins", "agent_logins");
    logins.retain(|login| login.parse::<Login>().is_ok());
    let listed = |in_file, in_step| {
        inputs
            .list(in_file, in_step)
            .join(", ")
            .replace(['\n', '\r'], " ")
    };
    let approvals = &inputs.step["required_approvals"];
    let approvals = approvals
        .as_u64()
        .or_else(|| approvals.as_str()?.trim().parse().ok());
    Ok(context! {
        approvals => approvals.unwrap_or(APPROVALS).clamp(1, MOST_APPROVALS),
        globs,
        logins => logins.iter().map(|login| quoted(login)).collect::<Vec<_>>(),
        addresses => listed("agent_emails", "agent_emails"),
        branches => listed("exempt_head_branches", "exempt_head_branches"),
        approvers => listed("excluded_approver_logins", "excluded_approvers"),
        bases => listed("protected_bases", "protected_bases"),
    })
}

/// The inputs of the first step of a workflow that uses the Action.
fn inputs(workflow: &str, root: &Path) -> Option<Inputs> {
    let workflow: Yaml = serde_yaml::from_str(workflow).ok()?;
    let mut steps = workflow["jobs"]
        .as_mapping()?
        .values()
        .filter_map(|job| job["steps"].as_sequence())
        .flatten();
    let uses = |step: &&Yaml| {
        let action = step["uses"]
            .as_str()
            .and_then(|uses| uses.split('@').next());
        action.is_some_and(|action| action.ends_with("/agent-approval-check"))
    };
    let step = steps.find(uses)?["with"].clone();
    let named = step["config_file"]
        .as_str()
        .filter(|path| !path.starts_with('/') && !path.contains(".."));
    let file = named.and_then(|path| std::fs::read_to_string(root.join(path)).ok());
    let file = file
        .and_then(|text| serde_yaml::from_str::<Yaml>(&text).ok())
        .unwrap_or_default();
    Some(Inputs { step, file })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    fn made(with: &str, identities: &str) -> String {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join(".github/workflows");
        std::fs::create_dir_all(&folder).unwrap();
        let step = "anthropics/claude-code-action/agent-approval-check@v1";
        let workflow = format!(
            "on: pull_request_target\njobs:\n  check:\n    steps:\n      - uses: {step}\n{with}"
        );
        std::fs::write(folder.join("agents.yml"), workflow).unwrap();
        std::fs::write(root.path().join(".github/agents.yaml"), identities).unwrap();
        let gate = agents_gate(root.path()).unwrap();
        let text = following(&[], Some(gate));
        config::parse(".github/loopgate.yml", &text).unwrap();
        let (_, gates) = text.split_once("gates:\n").unwrap();
        gates.to_owned()
    }

    #[test]
    fn the_inputs_of_the_step_are_read() {
        let with = "        with:\n          required_approvals: \"3\"\n          agent_logins: claude[bot], acme-fixer[bot]\n          exempt_path_prefixes: docs/\n          exempt_head_branches: release/*\n";
        insta::assert_snapshot!(made(with, ""));
    }

    #[test]
    fn the_file_of_identities_overrules() {
        let with = "        with:\n          config_file: .github/agents.yaml\n          agent_logins: other[bot]\n";
        let identities = "agent_app_logins: [\"claude[bot]\"]\nexempt_path_prefixes:\n  acme/widgets: [docs/, man]\n";
        insta::assert_snapshot!(made(with, identities));
    }

    #[test]
    fn a_repository_without_the_action_is_told_so() {
        let root = tempfile::tempdir().unwrap();
        assert!(agents_gate(root.path()).is_err());
    }
}
