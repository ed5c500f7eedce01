//! Tests that run again: chosen tests, in a tree, so many times. Burn-in, the base's tests on the head and the proof of
//! regression all run them here, and each makes its own of how they ended. The flake test runs a check once more
//! (`job.rs`), on its failing tests: it needs the reports. Whole checks run with files put back.

#[cfg(all(test, unix))]
mod burn_in_tests;
mod proof;

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    time::{Duration, Instant},
};

use super::command::{self, CommandLine, Ending, Interrupt};
use loopgate_core::{
    CheckName, Sha,
    concerns::coverage::{DeclaredTest, new_tests},
    evidence::{CheckResults, Failure, ProofEnd, RepeatedTest, RepetitionGap},
    failure,
    observed::ChangedFiles,
    policy::CommandCheck,
    source_files::language_of,
};
use loopgate_git::{Git, Outsider};
use loopgate_reports::ReadOptions;

pub use self::proof::{base_tests, prove, with_files_put_back};

/// The change whose tests run again.
#[derive(Clone, Debug)]
pub struct TestTrial<'a> {
    /// Git, at the top of the working tree: the head.
    pub git: &'a Git,
    pub base: Sha,
    pub files: &'a ChangedFiles,
    /// The test checks: how this project calls its test runners.
    pub checks: Vec<(&'a CheckName, &'a CommandCheck)>,
}

impl TestTrial<'_> {
    /// The top of the working tree.
    fn root(&self) -> &Path {
        self.git.directory()
    }
}

/// One test, or all tests of a file, and the command that runs nothing else.
#[derive(Clone, Debug)]
struct Rerun {
    /// Its directory is the working tree, whose installed packages and built parts every other tree uses.
    line: CommandLine,
    /// Part of the name by which the tool reports the test; empty for a file.
    name: String,
}

impl Rerun {
    /// By the tool of the first check that takes such a choice, else by the one that the file is known by: a script of
    /// a package hides what it calls. `None` if no tool is known that runs it alone. `root` is the top of the tree that
    /// has the file.
    fn of(trial: &TestTrial<'_>, root: &Path, test: impl Fn(&str) -> Failure) -> Option<Self> {
        let own = trial.checks.iter().map(|(_, check)| {
            (
                check.run.clone(),
                check.working_directory.clone().unwrap_or_default(),
                *check,
            )
        });
        let usual = trial
            .checks
            .first()
            .zip(usual(root, test("").test_file.as_deref()?));
        let usual = usual.map(|((_, check), (command, directory))| (command, directory, *check));
        own.chain(usual).find_map(|(run, directory, check)| {
            let test = test(&directory);
            let line = CommandLine::new(
                failure::alone(&test, &run, &directory)?,
                trial.root(),
                Duration::ZERO,
            );
            let environment = check.environment.clone();
            Some(Self {
                line: CommandLine {
                    environment,
                    ..line
                },
                name: test.test_name.unwrap_or_default(),
            })
        })
    }

    /// All tests of a file.
    fn of_file(trial: &TestTrial<'_>, root: &Path, file: &str) -> Option<Self> {
        Self::of(trial, root, |_| Failure {
            test_file: Some(file.to_owned()),
            ..Failure::default()
        })
    }

    /// Runs it once in the tree below `top`: how it ended, and the names of the tests that failed. It is broken without
    /// a word on any test: where it could not be built, is not there, or was cut off.
    async fn run(
        &self,
        top: &Path,
        timeout: Duration,
        interrupt: Interrupt,
    ) -> (ProofEnd, Vec<String>) {
        let mut line = CommandLine {
            directory: top.to_owned(),
            timeout,
            ..self.line.clone()
        };
        if top != self.line.directory {
            use_installed(
                &mut line.environment,
                &line.shell,
                top,
                &self.line.directory,
            );
        }
        let read = |output| loopgate_reports::read("output", output, &ReadOptions::default());
        let finished = command::run(line, interrupt, read, |_| {}).await;
        let Some(report) = finished.read else {
            return (ProofEnd::Broken, Vec::new());
        };
        let last = self.name.rsplit(['.', ':', ' ']).next().unwrap_or_default();
        let named = report
            .failures
            .into_iter()
            .filter_map(|failure| failure.test_name);
        // A file that could not be read is named too, and is no test.
        let failing: Vec<String> = named
            .filter(|test| test.contains(last) && language_of(test).is_none())
            .collect();
        match finished.ending {
            Ending::Exited(0) if executed(report.results) != Some(0) => {
                (ProofEnd::Passed, Vec::new())
            }
            Ending::Exited(1..) if !failing.is_empty() => (ProofEnd::Failed, failing),
            _ => (ProofEnd::Broken, Vec::new()),
        }
    }
}

/// Makes a command in the tree below `top` use what is built in the working tree at `root`, and the tree's own modules.
fn use_installed(
    environment: &mut BTreeMap<String, String>,
    command: &str,
    top: &Path,
    root: &Path,
) {
    let paths = [top.to_owned(), top.join("src")].map(|path| path.display().to_string());
    // An editable installation leads to the working tree; what stands first in the path wins.
    environment
        .entry("PYTHONPATH".to_owned())
        .or_insert(paths.join(":"));
    if command.contains("cargo ") && std::env::var_os("CARGO_TARGET_DIR").is_none() {
        environment
            .entry("CARGO_TARGET_DIR".to_owned())
            .or_insert(root.join("target").display().to_string());
    }
}

/// How many tests ran, where that is known.
pub fn executed(results: Option<CheckResults>) -> Option<u64> {
    results.map(|results| results.total.saturating_sub(results.skipped))
}

/// The usual command of a test file's language, and the folder of its package.
fn usual(root: &Path, path: &str) -> Option<(String, String)> {
    let package = |manifest: &str| {
        let mut above = Path::new(path).ancestors().skip(1);
        above
            .find(|folder| root.join(folder).join(manifest).is_file())
            .map(|folder| folder.display().to_string())
    };
    let (command, directory) = match language_of(path)? {
        "rust" => ("cargo test", package("Cargo.toml")?),
        "python" => ("python -m pytest", String::new()),
        "javascript" | "typescript" => {
            let directory = package("package.json")?;
            let manifest = fs::read_to_string(root.join(&directory).join("package.json")).ok()?;
            let named = |tool: &str| {
                manifest.contains(&format!("\"{tool}\"")) || manifest.contains(&format!("{tool} "))
            };
            let tools = [
                ("vitest", "npx --no-install vitest"),
                ("jest", "npx --no-install jest"),
            ];
            (
                tools.into_iter().find(|(tool, _)| named(tool))?.1,
                directory,
            )
        }
        "go" => ("go test", package("go.mod")?),
        _ => return None,
    };
    Some((command.to_owned(), directory))
}

/// Added tests that are run again; the evidence holds each one's result.
const MOST_TESTS: usize = 200;
/// The share of the check's time limit that all runs together may take: one in so many.
const SHARE: u32 = 4;

/// Runs each test that the change adds up to `times` more. Never fails: what did not run has its reason.
pub async fn burn_in(trial: &TestTrial<'_>, times: u32, interrupt: Interrupt) -> Vec<RepeatedTest> {
    let limit = trial
        .checks
        .iter()
        .filter_map(|(_, check)| check.timeout.to_std().ok())
        .max()
        .unwrap_or_default();
    let deadline = Instant::now() + limit / SHARE;
    let (mut tests, reruns): (Vec<RepeatedTest>, Vec<Option<Rerun>>) = new_tests(trial.files)
        .iter()
        .take(MOST_TESTS)
        .map(|test| planned(trial, test))
        .unzip();
    let _exposed = (!tests.is_empty()).then(|| trial.git.expose(Outsider::Checks));
    for _ in 0..times {
        let open = tests
            .iter_mut()
            .zip(&reruns)
            .filter(|(test, _)| test.gap.is_none());
        for (test, rerun) in open.filter_map(|(test, rerun)| Some((test, rerun.as_ref()?))) {
            let timeout = deadline.saturating_duration_since(Instant::now());
            if timeout.is_zero() {
                test.gap = Some(RepetitionGap::OutOfTime);
                continue;
            }
            let (end, _) = rerun.run(trial.root(), timeout, interrupt.clone()).await;
            if interrupt.is_cancelled() {
                return Vec::new();
            }
            match end {
                ProofEnd::Passed => test.runs += 1,
                ProofEnd::Failed => (test.runs, test.failed) = (test.runs + 1, test.failed + 1),
                ProofEnd::Broken if Instant::now() >= deadline => {
                    test.gap = Some(RepetitionGap::OutOfTime)
                }
                ProofEnd::Broken => test.gap = Some(RepetitionGap::Broken),
            }
        }
    }
    tests
}

/// A test before its first run, and what runs it.
fn planned(trial: &TestTrial<'_>, test: &DeclaredTest<'_>) -> (RepeatedTest, Option<Rerun>) {
    let rerun = Rerun::of(trial, trial.root(), |directory| Failure {
        test_name: Some(qualified(trial.root(), test, directory)),
        test_file: Some(test.file.to_owned()),
        line_number: Some(test.line),
        ..Failure::default()
    });
    let command = rerun.as_ref().map(|rerun| rerun.line.shell.clone());
    let gap = command.is_none().then_some(RepetitionGap::NotAlone);
    let (name, file) = (test.name.to_owned(), test.file.to_owned());
    (
        RepeatedTest {
            test: name,
            file,
            command,
            runs: 0,
            failed: 0,
            gap,
        },
        rerun,
    )
}

/// Python's tools want a test's module and class, which its declaration does not name; others find it by its name.
fn qualified(root: &Path, test: &DeclaredTest<'_>, directory: &str) -> String {
    let inside = test
        .file
        .strip_prefix(directory)
        .unwrap_or(test.file)
        .trim_start_matches('/');
    let Some(module) = inside.strip_suffix(".py") else {
        return test.name.to_owned();
    };
    let text = fs::read_to_string(root.join(test.file)).unwrap_or_default();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let lines: Vec<&str> = text.lines().take(test.line as usize).collect();
    let own = lines.last().map_or(0, |line| indent(line));
    let mut above = lines.iter().rev().filter(|line| indent(line) < own);
    let class = above.find_map(|line| {
        line.trim_start()
            .strip_prefix("class ")?
            .split([':', '(', ' '])
            .next()
    });
    let module = module.replace('/', ".");
    [Some(module.as_str()), class, Some(test.name)]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ecosystem_runs_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for (path, text) in [
            ("Cargo.toml", ""),
            ("crates/b/Cargo.toml", ""),
            (
                "web/package.json",
                "{\"devDependencies\": {\"vitest\": \"1\"}}",
            ),
            ("api/go.mod", ""),
        ] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let files = ChangedFiles::Complete(Vec::new());
        let (name, check) = (
            "unit".parse().unwrap(),
            CommandCheck::new("uv run pytest -q"),
        );
        let git = Git::at(root);
        let trial = TestTrial {
            git: &git,
            base: Sha::from_bytes([1; 20]),
            files: &files,
            checks: vec![(&name, &check)],
        };
        for (path, expected) in [
            ("tests/price.rs", Some("cargo test --test price")),
            (
                "crates/b/tests/api/cart.rs",
                Some("cd crates/b && cargo test --test api"),
            ),
            ("src/tests.rs", None),
            (
                "tests/test_price.py",
                Some("uv run pytest tests/test_price.py"),
            ),
            (
                "web/src/a.test.ts",
                Some("cd web && npx --no-install vitest run src/a.test.ts"),
            ),
            (
                "api/cart/cart_test.go",
                Some("cd api && go test ./cart -count=1 -v"),
            ),
            ("tests/a b.py", Some("uv run pytest 'tests/a b.py'")),
            ("tests/A.java", None),
        ] {
            let rerun = Rerun::of_file(&trial, root, path);
            assert_eq!(
                rerun.as_ref().map(|rerun| rerun.line.shell.as_str()),
                expected,
                "{path}"
            );
        }
    }
}
