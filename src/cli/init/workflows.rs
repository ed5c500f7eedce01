//! The workflows, with the steps that install what a detected project needs.
//!
//! Every step of others is named by its commit. No expression stands in a shell line.

use std::{collections::BTreeSet, path::Path};

use loopgate_core::policy::{CheckSource, CommandCheck};
use loopgate_runner::{Detected, Ecosystem, Project, submodules};

/// The workflow that runs the checks.
pub fn verify(root: &Path, detected: &Detected, action: &str) -> String {
    let text = include_str!("templates/verify.yml").replace("@SETUP@\n", &setup(root, detected));
    with_submodules(root, &text.replace("@ACTION@", action))
}

/// The workflow in which a fixer works, the configuration's, and another job pushes what it committed.
pub fn fix(root: &Path, detected: &Detected, action: &str) -> String {
    let step = format!("      - uses: {action}\n");
    let text = documented(".github/workflows/fix.yml", action)
        .replace(
            "          fix-command: ./tools/fix\n          max-attempts: \"3\"\n",
            "",
        )
        .replacen(&step, &format!("{}{step}", setup(root, detected)), 1);
    with_submodules(root, &text)
}

/// Checks out what the repository's tests may stand in.
fn with_submodules(root: &Path, text: &str) -> String {
    let input = submodules(root)
        .map(|how| format!("          submodules: {how}\n"))
        .unwrap_or_default();
    let lines = text.split_inclusive('\n');
    lines
        .map(|line| {
            if line.contains("persist-credentials:") {
                format!("{line}{input}")
            } else {
                line.into()
            }
        })
        .collect()
}

/// A workflow as action/README.md explains it: what is written is what is documented.
pub fn documented(path: &str, action: &str) -> String {
    let begin = format!("```yaml\n# {path}\n");
    let rest = include_str!("../../../action/README.md").split_once(&begin);
    let text = rest
        .and_then(|(_, rest)| rest.split_once("```"))
        .map_or("", |(text, _)| text);
    let published = concat!("/action@COMMIT # v", env!("CARGO_PKG_VERSION_MAJOR"));
    text.replace(&format!("{}{published}", crate::published()), action)
}

/// The steps that bring what the checks need.
fn setup(root: &Path, detected: &Detected) -> String {
    let mut steps = String::new();
    let mut tools = BTreeSet::new();
    for title in brought_by_hand(detected) {
        steps.push_str(&format!(
            "      # A step that installs {title} belongs here: GitHub's runners do not have it.\n"
        ));
    }
    for project in &detected.projects {
        steps.push_str(
            project
                .ecosystem
                .setup(root)
                .filter(|step| tools.insert(*step))
                .unwrap_or_default(),
        );
    }
    let mut installed = BTreeSet::new();
    for (command, directory) in detected
        .projects
        .iter()
        .filter_map(|project| install(root, project, detected))
    {
        if installed.insert((command.clone(), directory.clone())) {
            steps.push_str(&run(&command, &directory));
        }
    }
    steps
}

/// What the checks need, as people name it, that neither GitHub's runners have nor a step of ours brings.
pub fn brought_by_hand(detected: &Detected) -> BTreeSet<&'static str> {
    let rows = detected.projects.iter().map(|one| one.ecosystem.row());
    rows.filter(|row| row.is_brought_by_hand)
        .map(|row| row.title.as_str())
        .collect()
}

/// The workflow that decides and shows, where there is no App.
pub fn reconcile(action: &str, followed: &[&str]) -> String {
    // A name in double quotes, as JSON has it, is one in YAML.
    let named = |name: &str| serde_json::Value::from(name).to_string();
    let names = followed
        .iter()
        .map(|name| named(name))
        .collect::<Vec<_>>()
        .join(", ");
    documented(".github/workflows/loopgate.yml", action)
        .replace("[CI, Loopgate relay]", &format!("[{names}]"))
}

/// The Python tools that the checks of a project call.
fn python_tools(project: &Project, detected: &Detected) -> Vec<&'static str> {
    let commands = detected
        .checks
        .values()
        .filter_map(|check| match &check.source {
            CheckSource::Command(command) => Some(command),
            CheckSource::External(_) | CheckSource::Reviewer(_) => None,
        });
    let here = |command: &&CommandCheck| {
        command.working_directory.as_deref().unwrap_or_default() == project.directory
    };
    let called: String = commands
        .filter(here)
        .map(|command| format!("{} ", command.run))
        .collect();
    let calls = |tool: &&str| called.contains(&format!(" -m {tool} "));
    ["tox", "pytest", "ruff", "mypy", "flake8"]
        .into_iter()
        .filter(calls)
        .collect()
}

/// The command that installs what the checks of a project need, and its directory.
fn install(root: &Path, project: &Project, detected: &Detected) -> Option<(String, String)> {
    let tools = python_tools(project, detected);
    let directory = root.join(&project.directory);
    for lock in &project.ecosystem.row().locks {
        // It stands at the top of its workspace, and is installed from there.
        let mut within = directory
            .ancestors()
            .take_while(|above| above.starts_with(root));
        let Some(above) = within.find(|above| above.join(&lock.name).is_file()) else {
            continue;
        };
        let text = std::fs::read_to_string(above.join(&lock.name)).unwrap_or_default();
        let missing = tools
            .iter()
            .filter(|tool| !text.contains(&format!("\"{tool}\"")));
        let added = missing.filter_map(|tool| Some(format!(" && {} {tool}", lock.add.as_ref()?)));
        let place = above
            .strip_prefix(root)
            .unwrap_or(above)
            .to_string_lossy()
            .replace('\\', "/");
        return Some((lock.install.clone() + &added.collect::<String>(), place));
    }
    let command = match project.ecosystem {
        Ecosystem::Python => pip_install(&tools, &directory),
        other => other.install(root, &directory).map(str::to_owned),
    };
    command.map(|command| (command, project.directory.clone()))
}

/// The command by which pip installs these tools and what the project's files name.
fn pip_install(tools: &[&str], directory: &Path) -> Option<String> {
    let mut words: Vec<String> = tools.iter().map(|tool| (*tool).to_owned()).collect();
    let listing = [
        "requirements.txt",
        "requirements-dev.txt",
        "requirements-test.txt",
    ];
    words.extend(
        listing
            .iter()
            .filter(|file| directory.join(file).is_file())
            .map(|file| format!("-r {file}")),
    );
    let manifest = std::fs::read_to_string(directory.join("pyproject.toml")).unwrap_or_default();
    let manifest: toml::Table = manifest.parse().unwrap_or_default();
    let for_tests = |lists: Option<&toml::Value>| {
        let lists = lists?.as_table()?;
        ["test", "tests", "testing", "dev"]
            .into_iter()
            .find(|name| lists.contains_key(*name))
    };
    let group = for_tests(manifest.get("dependency-groups"));
    words.extend(group.map(|group| format!("--group {group}")));
    if manifest.contains_key("project") || directory.join("setup.py").is_file() {
        let extra = for_tests(
            manifest
                .get("project")
                .and_then(|project| project.get("optional-dependencies")),
        );
        words.push(extra.map_or_else(|| "-e .".to_owned(), |extra| format!("-e '.[{extra}]'")));
    }
    // Groups are known to pip since 25.1.
    let newer = group.map_or("", |_| "python -m pip install --upgrade pip && ");
    (!words.is_empty()).then(|| format!("{newer}python -m pip install {}", words.join(" ")))
}

fn run(command: &str, directory: &str) -> String {
    let place = if directory.is_empty() {
        String::new()
    } else {
        // Written as JSON, which YAML reads too; `${{` would be an expression, and is in no directory worth serving.
        let directory = serde_json::Value::from(directory.replace("${{", "")).to_string();
        format!("        working-directory: {directory}\n")
    };
    format!("      - run: {command}\n{place}")
}
