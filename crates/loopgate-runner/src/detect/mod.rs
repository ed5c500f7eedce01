//! Zero configuration: the projects of a repository by the files in it, and the checks they usually have.
//!
//! [`projects`] finds the top and what lies below it, [`detect`] names their checks: `test` at the top, `api/test` in
//! the directory `api`. Commands are those the project's own people would type, with options for reports that can be
//! read test by test. Nothing is executed to find out.

mod commands;
mod node;
mod projects;
mod python;
mod site;
mod table;
mod workflows;

use std::{collections::BTreeSet, path::Path};

use chrono::TimeDelta;
use indexmap::{IndexMap, IndexSet};

pub use commands::TestLine;
pub use projects::{Project, projects};
pub use site::workflow_texts;
pub use workflows::{Ci, CiJob, LeftOut, WhyLeftOut, submodules};

use loopgate_core::{
    CheckName,
    evidence::CheckKind,
    policy::{CheckPolicy, CheckSource, CommandCheck, Pattern},
};
use site::Site;
use table::{CheckRow, EcosystemRow, TABLE};

loopgate_core::words! {
    /// What a project is made with.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
    pub enum Ecosystem {
        Rust = "rust",
        Node = "node",
        Python = "python",
        Go = "go",
        Maven = "maven",
        Gradle = "gradle",
        Ruby = "ruby",
        Php = "php",
        DotNet = "dotnet",
        Swift = "swift",
        Elixir = "elixir",
        Dart = "dart",
        CMake = "cmake",
        Make = "make",
    }
}

/// Whether the commands are to run on this machine now, or to be written down for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    RunHere,
    WriteDown,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Detected {
    pub projects: Vec<Project>,
    pub checks: IndexMap<CheckName, CheckPolicy>,
    /// Usual checks that cannot run here, each with the program that is missing.
    pub left_out: Vec<(CheckName, &'static str)>,
    /// Files at the top that show a tool whose usual checks are not known, with its name, where no check runs there.
    pub unserved: Vec<(&'static str, &'static str)>,
    /// What runs on pull requests already.
    pub ci: Ci,
    /// Whether a check leaves a report of the coverage.
    pub measures_coverage: bool,
}

/// A detected command takes as long as it takes, within the largest time a check has without a configuration.
const TIMEOUT: TimeDelta = TimeDelta::seconds(600);

impl Ecosystem {
    /// The step of a workflow that brings the tools of a repository; none where GitHub's runners have them.
    pub fn setup(self, root: &Path) -> Option<&'static str> {
        Site::new(root, root, Purpose::WriteDown).chosen(&self.row().setup)
    }

    /// The command that installs what a project needs, where no lock file names it.
    pub fn install(self, root: &Path, directory: &Path) -> Option<&'static str> {
        Site::new(directory, root, Purpose::WriteDown).chosen(&self.row().install)
    }

    /// Its row of the table.
    pub fn row(self) -> &'static EcosystemRow {
        let row = TABLE.ecosystems.iter().find(|row| row.name == self);
        row.expect("the table is part of the program, and a test looks for each ecosystem")
    }
}

/// The projects of a repository and their usual checks. Where its CI runs tests in another way, that way counts.
pub fn detect(root: &Path, purpose: Purpose) -> Detected {
    let all = projects(root);
    let mut detected = Detected {
        ci: Ci::of(root),
        ..Detected::default()
    };
    let directories: IndexSet<&String> = all.iter().map(|project| &project.directory).collect();
    for directory in directories {
        let here = all.iter().filter(|project| &project.directory == directory);
        let place = root.join(directory);
        let site = Site::new(&place, root, purpose);
        let mut found: Vec<(&Project, Vec<(&'static CheckRow, String)>)> = here
            .map(|project| (project, checks(project.ecosystem, &site)))
            .collect();
        drop_what_others_make(&mut found);
        let is_make = |project: &Project| project.ecosystem == Ecosystem::Make;
        let alone = found
            .iter()
            .filter(|(project, _)| !is_make(project))
            .count()
            <= 1;
        for (project, found) in found {
            // A Makefile has nothing but the tests that nothing else has.
            detected.add(project, alone || is_make(project), &found, &site);
        }
    }
    detected.test_as_ci_does(root, purpose);
    detected.unserved = unserved(root, &detected);
    detected
}

/// What is built at the top in a way of which nothing is known here.
fn unserved(root: &Path, detected: &Detected) -> Vec<(&'static str, &'static str)> {
    let is_at_top = |check: &CheckPolicy| match &check.source {
        CheckSource::Command(command) => command.working_directory.is_none(),
        CheckSource::External(_) | CheckSource::Reviewer(_) => false,
    };
    if detected.checks.values().any(is_at_top) {
        return Vec::new();
    }
    let files = TABLE.unserved.iter();
    let there = files.filter(|(file, _)| root.join(file).is_file());
    there
        .map(|(file, tool)| (file.as_str(), tool.as_str()))
        .collect()
}

/// Leaves out projects whose files another tool of the same directory reads: a Makefile that calls it, and a CMake
/// build beside its tests.
fn drop_what_others_make(found: &mut Vec<(&Project, Vec<(&'static CheckRow, String)>)>) {
    let calls_others =
        |project: &Project| matches!(project.ecosystem, Ecosystem::Make | Ecosystem::CMake);
    let tests =
        |checks: &[(&CheckRow, String)]| checks.iter().any(|(row, _)| row.kind == CheckKind::Test);
    let has_others = found.len() > 1;
    let tested: Vec<Ecosystem> = found
        .iter()
        .filter(|(_, checks)| tests(checks))
        .map(|(project, _)| project.ecosystem)
        .collect();
    let is_tested_by_another = |project: &Project| {
        let mut others = tested.iter().filter(|other| **other != project.ecosystem);
        match project.ecosystem {
            Ecosystem::CMake => others.any(|other| *other != Ecosystem::Make),
            _ => others.next().is_some(),
        }
    };
    // What a Makefile checks beside other tools may be all but tests.
    let is_clear = |(_, command): &(&CheckRow, String)| !has_others || command != "make check";
    for (_, checks) in found
        .iter_mut()
        .filter(|(project, _)| project.ecosystem == Ecosystem::Make)
    {
        checks.retain(is_clear);
    }
    found.retain(|(project, checks)| {
        let adds = !calls_others(project)
            || !is_tested_by_another(project)
            || project.ecosystem == Ecosystem::CMake && tests(checks);
        // A directory in which nothing can be checked is none worth naming.
        adds && !checks.is_empty()
    });
}

/// The checks that a project has, and their commands.
fn checks(ecosystem: Ecosystem, site: &Site<'_>) -> Vec<(&'static CheckRow, String)> {
    let mut found: Vec<(&'static CheckRow, String)> = Vec::new();
    for row in TABLE.checks.iter().filter(|row| row.of == ecosystem) {
        let is_new = found.iter().all(|(other, _)| other.name != row.name);
        if is_new && site.meets_any(&row.when) && site.meets_any(&row.also) {
            found.extend(filled_in(&row.run, row, site).map(|command| (row, command)));
        }
    }
    found
}

/// A command, or a piece of one, with what its braces name put in. None where the project has no such thing.
fn filled_in(command: &str, row: &CheckRow, site: &Site<'_>) -> Option<String> {
    let mut pieces = command.split('{');
    let mut filled = pieces.next().unwrap_or_default().to_owned();
    for (name, rest) in pieces.filter_map(|piece| piece.split_once('}')) {
        let (name, argument) = name.split_once(':').unwrap_or((name, ""));
        match name {
            "report" => filled.push_str(&site.report(argument)),
            "build_folder" => filled.push_str(site.build_folder()),
            "reports" => filled.push_str(&site.reports()),
            "script" => filled.push_str(&filled_in(&node::call(row, site)?, row, site)?),
            "python" => filled.push_str(&python::interpreter(site)),
            "code" => filled.push_str(&python::own_code(site.directory)?),
            "tox" => filled.push_str(&python::tox(site)?),
            "linted" => filled.push_str(&python::own_paths(site, argument)),
            part => filled.push_str(
                TABLE
                    .parts
                    .get(part)
                    .and_then(|part| site.chosen(part))
                    .unwrap_or_default(),
            ),
        }
        filled.push_str(rest);
    }
    Some(filled)
}

/// Tests of CI that are run here at most, each by itself.
const MOST_OF_CI: usize = 5;

impl Detected {
    /// Adds the checks that were found of a project.
    fn add(
        &mut self,
        project: &Project,
        alone: bool,
        found: &[(&'static CheckRow, String)],
        site: &Site<'_>,
    ) {
        self.projects.push(project.clone());
        let names: Vec<&String> = found.iter().map(|(row, _)| &row.name).collect();
        for (row, run) in found {
            let Some(name) = named(project, alone, &row.name) else {
                continue;
            };
            if let Some(program) = row
                .program
                .as_deref()
                .filter(|program| !site.can_call(program))
            {
                self.left_out.push((name, program));
                continue;
            }
            let needs = row.needs.iter().filter(|need| names.contains(need));
            let mut command = CommandCheck::new(run.clone());
            command.timeout = TIMEOUT;
            command.needs = needs
                .filter_map(|need| named(project, alone, need))
                .collect();
            command.reports.clone_from(&row.reports);
            // A test's own configuration may have pytest-cov or Jest write a report of the coverage.
            let has = |files: &str, setting: &str| {
                files
                    .split(' ')
                    .any(|file| site.text(file).contains(setting))
            };
            self.measures_coverage |= row.kind == CheckKind::Test
                && (run.contains("pytest")
                    && has(
                        "pyproject.toml pytest.ini setup.cfg tox.ini",
                        "--cov-report=xml",
                    )
                    || run.contains("jest") && has("package.json", "collectCoverage\": true"));
            command.report_pattern = row
                .pattern
                .as_ref()
                .and_then(|name| Pattern::parse(TABLE.patterns.get(name)?).ok());
            command.working_directory =
                (!project.directory.is_empty()).then(|| project.directory.clone());
            self.checks.insert(name, detected(row.kind, command));
        }
    }

    /// Takes the commands of CI for the tests of the folder they run in: what CI calls is installed and works. Where a
    /// usual test calls the same program, it stays, since it asks for a report.
    fn test_as_ci_does(&mut self, root: &Path, purpose: Purpose) {
        let all = self.lines_of_ci(root, purpose);
        let usual = self.usual_tests();
        let is_new = |line: &&TestLine| !usual.iter().any(|usual| calls(usual, line.program()));
        let lines: Vec<&TestLine> = all.iter().filter(is_new).collect();
        let mut missing = Vec::new();
        for line in lines {
            // Beside another, it is not what the usual test stands for.
            let of_place = all.iter().filter(|other| other.directory == line.directory);
            let is_alone = of_place.count() == 1;
            let mut usual = self
                .checks
                .values_mut()
                .filter(|check| check.kind == CheckKind::Test)
                .filter_map(|check| match &mut check.source {
                    CheckSource::Command(command) => Some(command),
                    CheckSource::External(_) | CheckSource::Reviewer(_) => None,
                })
                .filter(|command| command.working_directory == place(line));
            match (usual.next(), usual.next()) {
                (Some(usual), None) if is_alone => {
                    usual.run.clone_from(&line.run);
                    (usual.reports, usual.report_pattern) = (Vec::new(), None);
                }
                (Some(_), _) => {}
                (None, _) => missing.push(line),
            }
        }
        missing
            .into_iter()
            .for_each(|line| self.add_test_of_ci(line));
    }

    /// The commands of CI that test and can run here.
    fn lines_of_ci(&self, root: &Path, purpose: Purpose) -> Vec<TestLine> {
        let jobs = self
            .ci
            .jobs
            .iter()
            .filter(|job| job.kind == CheckKind::Test);
        let lines: BTreeSet<&TestLine> = jobs.flat_map(|job| &job.tests).collect();
        let can_run = |line: &&TestLine| {
            let place = root.join(&line.directory);
            place.is_dir()
                && (Site::new(&place, root, purpose).can_call(line.program())
                    || place.join(line.program()).is_file())
        };
        lines.into_iter().filter(can_run).cloned().collect()
    }

    /// The commands of the usual tests.
    fn usual_tests(&self) -> Vec<String> {
        let tests = self.checks.values();
        let tests = tests.filter(|check| check.kind == CheckKind::Test);
        tests
            .filter_map(|check| match &check.source {
                CheckSource::Command(command) => Some(command.run.clone()),
                CheckSource::External(_) | CheckSource::Reviewer(_) => None,
            })
            .collect()
    }

    /// Adds a command of CI as a check of its own, as long as there are few.
    fn add_test_of_ci(&mut self, line: &TestLine) {
        let names = (1..=MOST_OF_CI).map(|nth| match nth {
            1 => "test".to_owned(),
            nth => format!("test-{nth}"),
        });
        let mut free = names
            .filter_map(|name| name.parse::<CheckName>().ok())
            .filter(|name| !self.checks.contains_key(name));
        let Some(name) = free.next() else { return };
        let mut command = CommandCheck::new(line.run.clone());
        command.timeout = TIMEOUT;
        command.working_directory = place(line);
        self.checks.insert(name, detected(CheckKind::Test, command));
    }
}

/// Whether a command calls a program.
fn calls(command: &str, program: &str) -> bool {
    command.split_whitespace().any(|word| word == program)
}

/// Where a command of CI runs.
fn place(line: &TestLine) -> Option<String> {
    (!line.directory.is_empty()).then(|| line.directory.clone())
}

const fn detected(kind: CheckKind, command: CommandCheck) -> CheckPolicy {
    CheckPolicy {
        kind,
        source: CheckSource::Command(command),
        is_detected: true,
    }
}

/// `test` at the top, `api/test` below, with the ecosystem in front where one directory has several.
fn named(project: &Project, alone: bool, check: &str) -> Option<CheckName> {
    let check = if alone {
        check.to_owned()
    } else {
        format!("{}-{check}", project.ecosystem.as_str())
    };
    if project.directory.is_empty() {
        return check.parse().ok();
    }
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || matches!(c, '_' | '/') {
            c.to_ascii_lowercase()
        } else {
            '-'
        }
    };
    let directory: String = project.directory.chars().map(plain).collect();
    // The innermost directories distinguish most, should the whole path be too long for a name.
    let mut shown = directory.as_str();
    loop {
        let name = format!("{}/{check}", shown.trim_start_matches(['-', '_']));
        if let Ok(name) = name.parse() {
            return Some(name);
        }
        shown = shown.split_once('/')?.1;
    }
}

#[cfg(test)]
mod tests;
