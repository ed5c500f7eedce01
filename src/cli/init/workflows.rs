//! The workflows, with the steps that install what a detected project needs.
//!
//! Every step of others is named by its commit. No expression stands in a shell line.

use std::{collections::BTreeSet, path::Path};

use crate::runner::{Detected, Ecosystem, Project, submodules};
use loopgate_core::policy::{CheckSource, CommandCheck};

const SETUP_NODE: &str = "actions/setup-node@49933ea5288caeca8642d1e84afbd3f7d6820020 # v4.4.0";
const SETUP_PYTHON: &str = "actions/setup-python@a26af69be951a213d495a4c3e4e4022e16d87065 # v5.6.0";
const SETUP_GO: &str = "actions/setup-go@d35c59abb061a4a6fb18e82ac0862c26744d6ab5 # v5.5.0";
const SETUP_RUBY: &str = "ruby/setup-ruby@0dafeac902942906541bc140009cdbf32665b601 # v1.315.0";
const SETUP_JAVA: &str = "actions/setup-java@c5195efecf7bdfc987ee8bae7a71cb8b11521c00 # v4.7.1";

/// The workflow that runs the checks.
pub fn verify(root: &Path, detected: &Detected, action: &str) -> String {
    let text = include_str!("templates/verify.yml").replace("@SETUP@\n", &setup(root, detected));
    with_submodules(root, &text.replace("@ACTION@", action))
}

/// The workflow in which a fixer works, the configuration's, and another job pushes what it committed.
pub fn fix(root: &Path, detected: &Detected, action: &str) -> String {
    let step = format!("      - uses: {action}\n");
    let text = documented(".github/workflows/fix.yml", action)
        .replace("          fix-command: ./tools/fix\n          max-attempts: \"3\"\n", "")
        .replacen(&step, &format!("{}{step}", setup(root, detected)), 1);
    with_submodules(root, &text)
}

/// Checks out what the repository's tests may stand in.
fn with_submodules(root: &Path, text: &str) -> String {
    let input = submodules(root).map(|how| format!("          submodules: {how}\n")).unwrap_or_default();
    let lines = text.split_inclusive('\n');
    lines
        .map(|line| if line.contains("persist-credentials:") { format!("{line}{input}") } else { line.into() })
        .collect()
}

/// A workflow as action/README.md explains it: what is written is what is documented.
fn documented(path: &str, action: &str) -> String {
    let begin = format!("```yaml\n# {path}\n");
    let rest = include_str!("../../../action/README.md").split_once(&begin);
    let text = rest.and_then(|(_, rest)| rest.split_once("```")).map_or("", |(text, _)| text);
    let published = concat!("/action@COMMIT # v", env!("CARGO_PKG_VERSION_MAJOR"));
    text.replace(&format!("{}{published}", crate::published()), action)
}

/// The steps that bring what the checks need.
fn setup(root: &Path, detected: &Detected) -> String {
    let mut steps = String::new();
    let mut tools = BTreeSet::new();
    for project in &detected.projects {
        if let Some(tool) = tool(root, project).filter(|tool| tools.insert(*tool)) {
            steps.push_str(&format!("      - uses: {}\n        with:\n{}", tool.0, tool.1));
        }
    }
    let mut installed = BTreeSet::new();
    for project in &detected.projects {
        for (command, directory) in install(root, project, detected) {
            if installed.insert((command.clone(), directory.clone())) {
                steps.push_str(&run(&command, &directory));
            }
        }
    }
    steps
}

/// The workflow that decides and shows, where there is no App.
pub fn reconcile(action: &str, followed: &[&str]) -> String {
    // A name in double quotes, as JSON has it, is one in YAML.
    let named = |name: &str| serde_json::Value::from(name).to_string();
    let names = followed.iter().map(|name| named(name)).collect::<Vec<_>>().join(", ");
    documented(".github/workflows/loopgate.yml", action).replace("[CI, Loopgate relay]", &format!("[{names}]"))
}

/// The workflow that starts the other one on reviews.
pub fn relay() -> String {
    documented(".github/workflows/loopgate-relay.yml", "")
}

/// The step that brings an ecosystem's tools, and its inputs. Those of Rust, PHP and C are on GitHub's runners.
fn tool(root: &Path, project: &Project) -> Option<(&'static str, &'static str)> {
    match project.ecosystem {
        Ecosystem::Rust | Ecosystem::Php | Ecosystem::CMake | Ecosystem::Make => None,
        Ecosystem::Node => Some((SETUP_NODE, "          node-version: lts/*\n")),
        Ecosystem::Python => Some((SETUP_PYTHON, "          python-version: \"3.x\"\n")),
        Ecosystem::Go => Some((SETUP_GO, "          go-version: stable\n")),
        Ecosystem::Maven | Ecosystem::Gradle => {
            Some((SETUP_JAVA, "          distribution: temurin\n          java-version: \"21\"\n"))
        }
        // Where the project names its Ruby, Bundler refuses another.
        Ecosystem::Ruby if root.join(".ruby-version").is_file() => {
            Some((SETUP_RUBY, "          ruby-version: .ruby-version\n"))
        }
        Ecosystem::Ruby => Some((SETUP_RUBY, "          ruby-version: ruby\n")),
    }
}

/// The Python tools that the checks of a project call.
fn python_tools(project: &Project, detected: &Detected) -> Vec<&'static str> {
    let commands = detected.checks.values().filter_map(|check| match &check.source {
        CheckSource::Command(command) => Some(command),
        CheckSource::External(_) | CheckSource::Reviewer(_) => None,
    });
    let here = |command: &&CommandCheck| command.working_directory.as_deref().unwrap_or_default() == project.directory;
    let called: String = commands.filter(here).map(|command| format!("{} ", command.run)).collect();
    let calls = |tool: &&str| called.contains(&format!(" -m {tool} "));
    ["tox", "pytest", "ruff", "mypy", "flake8"].into_iter().filter(calls).collect()
}

/// Commands that install what the checks of a project need, each with its directory.
fn install(root: &Path, project: &Project, detected: &Detected) -> Vec<(String, String)> {
    let tools = python_tools(project, detected);
    let directory = root.join(&project.directory);
    let here = || project.directory.clone();
    for lock in project.ecosystem.locks() {
        // It stands at the top of its workspace, and is installed from there.
        let mut within = directory.ancestors().take_while(|above| above.starts_with(root));
        let Some(above) = within.find(|above| above.join(&lock.name).is_file()) else { continue };
        let text = std::fs::read_to_string(above.join(&lock.name)).unwrap_or_default();
        let missing = tools.iter().filter(|tool| !text.contains(&format!("\"{tool}\"")));
        let added = missing.filter_map(|tool| Some(format!(" && {} {tool}", lock.add.as_ref()?)));
        let place = above.strip_prefix(root).unwrap_or(above).to_string_lossy().replace('\\', "/");
        return vec![(lock.install.clone() + &added.collect::<String>(), place)];
    }
    match project.ecosystem {
        Ecosystem::Node => vec![("npm install".to_owned(), here())],
        Ecosystem::Python => {
            let mut words: Vec<String> = tools.iter().map(|tool| (*tool).to_owned()).collect();
            for file in ["requirements.txt", "requirements-dev.txt", "requirements-test.txt"] {
                if directory.join(file).is_file() {
                    words.push(format!("-r {file}"));
                }
            }
            let manifest = std::fs::read_to_string(directory.join("pyproject.toml")).unwrap_or_default();
            let manifest: toml::Table = manifest.parse().unwrap_or_default();
            let for_tests = |lists: Option<&toml::Value>| {
                let names = ["test", "tests", "testing", "dev"].into_iter();
                lists
                    .and_then(toml::Value::as_table)
                    .and_then(|lists| names.clone().find(|name| lists.contains_key(*name)))
            };
            let group = for_tests(manifest.get("dependency-groups"));
            words.extend(group.map(|group| format!("--group {group}")));
            let is_package = manifest.contains_key("project") || directory.join("setup.py").is_file();
            if is_package {
                let project = manifest.get("project");
                let extra = for_tests(project.and_then(|project| project.get("optional-dependencies")));
                words.push(extra.map_or_else(|| "-e .".to_owned(), |extra| format!("-e '.[{extra}]'")));
            }
            if words.is_empty() {
                Vec::new()
            } else {
                // Groups are known to pip since 25.1.
                let newer = group.map_or("", |_| "python -m pip install --upgrade pip && ");
                vec![(format!("{newer}python -m pip install {}", words.join(" ")), here())]
            }
        }
        Ecosystem::Ruby if directory.join("Gemfile").is_file() => vec![("bundle install".to_owned(), here())],
        Ecosystem::Php => vec![("composer install --no-interaction --no-progress".to_owned(), here())],
        _ => Vec::new(),
    }
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
