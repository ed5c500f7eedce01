//! `coverage.prove_regression`: the tests that a change brings along are run without the change, where one must fail, and
//! with it, where it must pass (evidence.md, Coverage by type of change).
//!
//! "Without" is the base in a git worktree of its own with the change's test files laid over it. The worktree is gone
//! when the trial ends, however it ends. Nothing of the working tree is touched.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, SystemTime},
};

use super::{
    command::{self, CommandLine, Ending},
    interrupt::Interrupt,
};
use crate::core::{
    Sha,
    evaluate::is_test,
    evidence::{ProofEnd, ProofRun, ProofVerdict, RegressionTrial},
    failure::quoted_word,
    snapshot::{ChangedFile, ChangedFiles, FileStatus},
};

/// Test files tried at most.
const MOST_FILES: usize = 10;
/// How long one run of one file may take: it may have to be built first.
const TIMEOUT: Duration = Duration::from_secs(600);
/// Largest file laid over the base, in bytes.
const LARGEST_FILE: u64 = 16 << 20;

/// What is to be tried.
#[derive(Clone, Debug)]
pub struct Trial<'a> {
    /// The top of the working tree: the head.
    pub root: &'a Path,
    pub base: Sha,
    pub files: &'a ChangedFiles,
    /// The command lines of the test checks: how this project calls its test runner.
    pub commands: Vec<String>,
}

/// Runs the trial. Never fails: what could not be run is a verdict that says why.
pub async fn prove(trial: &Trial<'_>, interrupt: Interrupt) -> RegressionTrial {
    let tests = added_tests(trial.files);
    if tests.is_empty() {
        return no_test_file(trial.files);
    }
    let named: Vec<(&ChangedFile, Runner)> =
        tests.iter().filter_map(|file| Some((*file, Runner::of(trial, &file.path)?))).take(MOST_FILES).collect();
    if named.is_empty() {
        let names: Vec<&str> = tests.iter().take(3).map(|file| file.path.as_str()).collect();
        return unknown(format!("it is not known how to run {} alone", names.join(", ")));
    }
    let worktree = match BaseTree::of(trial.root, trial.base) {
        Ok(worktree) => worktree,
        Err(reason) => return unknown(reason),
    };
    if let Err(error) = worktree.lay_over(trial) {
        return unknown(format!("the tests cannot be laid over the base: {error}"));
    }
    let mut runs = Vec::new();
    for (file, runner) in named {
        let on_base = runner.run(&worktree.path, Some(trial.root), interrupt.clone()).await;
        // A test that passes without the change proves nothing, whatever it does with it.
        let on_head = match on_base {
            ProofEnd::Passed => ProofEnd::Passed,
            _ => runner.run(trial.root, None, interrupt.clone()).await,
        };
        runs.push(ProofRun { file: file.path.clone(), command: runner.shell, on_base, on_head });
        if interrupt.is_interrupted() {
            return unknown("it was interrupted".to_owned());
        }
    }
    judge(runs)
}

/// One test that fails without the change and passes with it is enough.
fn judge(tests: Vec<ProofRun>) -> RegressionTrial {
    let names = |wanted: &dyn Fn(&&ProofRun) -> bool| -> String {
        tests.iter().filter(|run| wanted(run)).map(|run| run.file.as_str()).collect::<Vec<_>>().join(", ")
    };
    let proving = names(&|run| (run.on_base, run.on_head) == (ProofEnd::Failed, ProofEnd::Passed));
    let broken = names(&|run| run.on_base == ProofEnd::Broken || run.on_head == ProofEnd::Broken);
    let failing = names(&|run| run.on_head == ProofEnd::Failed);
    let (verdict, reason) = if !proving.is_empty() {
        (ProofVerdict::Proved, format!("{proving} fails on the base and passes on the head."))
    } else if !failing.is_empty() {
        (ProofVerdict::NotProved, format!("{failing} fails on the head too."))
    } else if !broken.is_empty() {
        (ProofVerdict::Unknown, format!("{broken} could not be run to its end on both."))
    } else {
        (ProofVerdict::NotProved, format!("{} passes on the base too.", names(&|_| true)))
    };
    RegressionTrial { verdict, tests, reason }
}

fn unknown(reason: String) -> RegressionTrial {
    RegressionTrial { verdict: ProofVerdict::Unknown, tests: Vec::new(), reason }
}

fn no_test_file(files: &ChangedFiles) -> RegressionTrial {
    let added = files.known().iter().flat_map(|file| file.added_lines().unwrap_or_default());
    if matches!(files, ChangedFiles::TooLarge { .. }) || added.into_iter().any(|(_, text)| text.contains("#[test]")) {
        return unknown("the tests stand in the files they test, and cannot be laid over the base alone".to_owned());
    }
    let reason = "no test file was added or changed.".to_owned();
    RegressionTrial { verdict: ProofVerdict::NotProved, tests: Vec::new(), reason }
}

fn added_tests(files: &ChangedFiles) -> Vec<&ChangedFile> {
    let there = |file: &&ChangedFile| file.status != FileStatus::Removed && file.additions > 0 && is_test(&file.path);
    files.known().iter().filter(there).collect()
}

/// Whether a file belongs to the tests: data and snapshots beside them do too.
fn is_of_tests(path: &str) -> bool {
    let folders = path.split('/').rev().skip(1);
    is_test(path)
        || folders.into_iter().any(|folder| {
            matches!(
                folder,
                "test" | "tests" | "__tests__" | "__snapshots__" | "spec" | "specs" | "testdata" | "fixtures"
            )
        })
}

/// How one test file is run alone.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Runner {
    tool: Tool,
    shell: String,
    /// Relative to the top.
    directory: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tool {
    Cargo,
    Pytest,
    Jest,
    Vitest,
    Go,
}

impl Runner {
    fn of(trial: &Trial<'_>, path: &str) -> Option<Self> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let (stem, extension) = name.rsplit_once('.')?;
        match extension {
            "rs" => {
                let package = above(trial.root, folder, "Cargo.toml")?;
                let inside = Path::new(path).strip_prefix(&package).ok()?.strip_prefix("tests").ok()?;
                let target = match inside.components().count() {
                    1 => stem.to_owned(),
                    // `tests/api/main.rs` and its modules are one target.
                    _ => inside.iter().next()?.to_string_lossy().into_owned(),
                };
                let shell = format!("cargo test --test {}", quoted_word(&target)?);
                Some(Self { tool: Tool::Cargo, shell, directory: package })
            }
            "py" => {
                let pytest = trial.commands.iter().find_map(|command| up_to(command, "pytest"));
                let pytest = pytest.unwrap_or_else(|| "python -m pytest".to_owned());
                Some(Self {
                    tool: Tool::Pytest,
                    shell: format!("{pytest} {}", quoted_word(path)?),
                    directory: PathBuf::new(),
                })
            }
            "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" => {
                let package = above(trial.root, folder, "package.json")?;
                let manifest = fs::read_to_string(trial.root.join(&package).join("package.json")).ok()?;
                let inside = Path::new(path).strip_prefix(&package).ok()?.to_string_lossy().into_owned();
                let file = quoted_word(&inside)?;
                let named =
                    |tool: &str| manifest.contains(&format!("\"{tool}\"")) || manifest.contains(&format!("{tool} "));
                let (tool, shell) = if named("vitest") {
                    (Tool::Vitest, format!("npx --no-install vitest run {file}"))
                } else if named("jest") {
                    (Tool::Jest, format!("npx --no-install jest --runTestsByPath {file}"))
                } else {
                    return None;
                };
                Some(Self { tool, shell, directory: package })
            }
            "go" => {
                let module = above(trial.root, folder, "go.mod")?;
                let inside = Path::new(folder).strip_prefix(&module).ok()?.to_string_lossy().into_owned();
                let package = if inside.is_empty() { "./".to_owned() } else { format!("./{inside}") };
                let shell = format!("go test -count=1 {}", quoted_word(&package)?);
                Some(Self { tool: Tool::Go, shell, directory: module })
            }
            _ => None,
        }
    }

    /// `head` is where the working tree is, when this runs elsewhere: what was installed or built there is used here.
    async fn run(&self, top: &Path, head: Option<&Path>, interrupt: Interrupt) -> ProofEnd {
        let directory = top.join(&self.directory);
        let mut environment = BTreeMap::new();
        if let Some(head) = head {
            let target = head.join(&self.directory).join("target");
            if self.tool == Tool::Cargo && std::env::var_os("CARGO_TARGET_DIR").is_none() {
                environment.insert("CARGO_TARGET_DIR".to_owned(), target.display().to_string());
            }
            if self.tool == Tool::Pytest {
                // An editable installation leads to the working tree; what stands first in the path wins.
                let paths = [directory.clone(), directory.join("src")].map(|path| path.display().to_string());
                environment.insert("PYTHONPATH".to_owned(), paths.join(":"));
            }
        }
        let line = CommandLine { environment, ..CommandLine::new(self.shell.as_str(), directory, TIMEOUT) };
        let finished =
            command::run(line, interrupt, |mut output| std::io::copy(&mut output, &mut std::io::sink()), |_| {}).await;
        let output = format!("{}\n{}", finished.output.head, finished.output.tail);
        match finished.ending {
            Ending::Exited(code) => self.tool.end(code, &output),
            Ending::Signalled(_) | Ending::TimedOut | Ending::Interrupted | Ending::NotStarted(_) => ProofEnd::Broken,
        }
    }
}

impl Tool {
    /// What an exit status and the output say: a test that failed is not the same as one that could not be built.
    fn end(self, code: i32, output: &str) -> ProofEnd {
        let says = |words: &[&str]| words.iter().any(|word| output.contains(word));
        let is_broken = match self {
            Self::Cargo => says(&["could not compile", "no test target named", "error: failed to"]),
            // 2 to 5: interrupted, broken, misused, nothing collected.
            Self::Pytest => !matches!(code, 0 | 1),
            Self::Jest => says(&["Test suite failed to run", "No tests found"]),
            Self::Vitest => says(&["Failed Suites", "No test files found"]),
            Self::Go => says(&["[build failed]", "[setup failed]", "no test files"]),
        };
        match (is_broken, code) {
            (true, _) => ProofEnd::Broken,
            (false, 0) => ProofEnd::Passed,
            (false, _) => ProofEnd::Failed,
        }
    }
}

/// The command line up to and with a word, if nothing in it ends a command: `poetry run pytest` of
/// `poetry run pytest -q tests`.
fn up_to(command: &str, word: &str) -> Option<String> {
    let end = command.find(word)? + word.len();
    let head = command.get(..end)?;
    let ends_here = command.get(end..)?.chars().next().is_none_or(char::is_whitespace);
    (ends_here && !head.contains(['\n', ';', '&', '|', '<', '>', '`', '$', '(', '#'])).then(|| head.to_owned())
}

/// The nearest folder at or above `folder` that holds a file of this name, relative to the top.
fn above(root: &Path, folder: &str, name: &str) -> Option<PathBuf> {
    Path::new(folder).ancestors().find(|folder| root.join(folder).join(name).is_file()).map(Path::to_owned)
}

/// A git worktree on the base, removed when dropped.
struct BaseTree {
    root: PathBuf,
    path: PathBuf,
}

impl BaseTree {
    fn of(root: &Path, base: Sha) -> Result<Self, String> {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let name = format!("loopgate-base-{}-{}", std::process::id(), since.as_nanos());
        let path = std::env::temp_dir().join(name);
        // Fails where something is there already, so that nobody can put a link in our way.
        fs::create_dir(&path).map_err(|error| format!("no place for a worktree: {error}"))?;
        let worktree = Self { root: root.to_owned(), path };
        let shown = worktree.path.display().to_string();
        match git(root, &["worktree", "add", "--quiet", "--detach", &shown, &base.to_string()]) {
            Ok(()) => Ok(worktree),
            Err(reason) => Err(format!("the base {} cannot be checked out: {reason}", base.short())),
        }
    }

    /// Puts the change's test files over the base, and what the working tree has installed beside it.
    fn lay_over(&self, trial: &Trial<'_>) -> std::io::Result<()> {
        for file in trial.files.known().iter().filter(|file| is_of_tests(&file.path)) {
            let target = self.inside(&file.path)?;
            if file.status == FileStatus::Removed {
                let _ = fs::remove_file(&target);
                continue;
            }
            let source = trial.root.join(&file.path);
            // Links are left alone: they may lead anywhere.
            let Some(metadata) = source.symlink_metadata().ok().filter(fs::Metadata::is_file) else { continue };
            if metadata.len() <= LARGEST_FILE {
                if let Some(folder) = target.parent() {
                    fs::create_dir_all(folder)?;
                }
                fs::copy(&source, &target)?;
            }
        }
        for package in ["", "packages", "apps", "frontend", "web"] {
            self.link_installed(trial.root, Path::new(package));
        }
        Ok(())
    }

    /// A place in the worktree, with no link of the base on the way to it.
    fn inside(&self, path: &str) -> std::io::Result<PathBuf> {
        let mut place = self.path.clone();
        for part in Path::new(path).components() {
            let std::path::Component::Normal(part) = part else {
                return Err(std::io::Error::other(format!("{path} is no plain path")));
            };
            place.push(part);
            if place.is_symlink() {
                fs::remove_file(&place)?;
            }
        }
        Ok(place)
    }

    /// Packages are installed beside the manifest, and are no part of the repository.
    fn link_installed(&self, root: &Path, package: &Path) {
        let (installed, wanted) =
            (root.join(package).join("node_modules"), self.path.join(package).join("node_modules"));
        if installed.is_dir() && !wanted.exists() && wanted.parent().is_some_and(Path::is_dir) {
            // Without it the run is broken, and says so.
            #[cfg(unix)]
            let _ = std::os::unix::fs::symlink(installed, wanted);
            #[cfg(windows)]
            let _ = std::os::windows::fs::symlink_dir(installed, wanted);
        }
    }
}

impl Drop for BaseTree {
    fn drop(&mut self) {
        let shown = self.path.display().to_string();
        if git(&self.root, &["worktree", "remove", "--force", "--force", &shown]).is_err() {
            let _ = fs::remove_dir_all(&self.path);
            let _ = git(&self.root, &["worktree", "prune"]);
        }
    }
}

fn git(root: &Path, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new("git").arg("-C").arg(root).args(arguments).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(said.lines().last().unwrap_or("git failed").chars().take(200).collect())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::runner::{Changes, Interrupter};

    fn sh(root: &Path, line: &str) {
        let status = Command::new("sh").arg("-c").arg(line).current_dir(root).status().unwrap();
        assert!(status.success(), "{line}");
    }

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A repository whose `pytest` is a shell script that takes each file for one.
    fn repository() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write(root, "pytest", "#!/bin/sh\n. ./price\nexec sh \"$1\"\n");
        write(root, "price", "price=20\n");
        sh(root, "chmod +x pytest && git init -q -b main && git add -A");
        sh(root, "git -c user.email=a@b.c -c user.name=n commit -qm base && git checkout -qb fix/price");
        folder
    }

    async fn trial(root: &Path) -> RegressionTrial {
        let commands = vec!["./pytest -q".to_owned()];
        sh(root, "git add -A && git -c user.email=a@b.c -c user.name=n commit -qm fix");
        let Changes { merge_base, files } = Changes::against(root, Some("main")).unwrap();
        let (_keep, interrupt) = Interrupter::new();
        let trial = prove(&Trial { root, base: merge_base, files: &files, commands }, interrupt).await;
        let output = Command::new("git").arg("-C").arg(root).args(["worktree", "list"]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 1, "the worktree is gone");
        trial
    }

    #[tokio::test]
    async fn a_test_that_fails_without_the_fix_and_passes_with_it_proves_it() {
        let folder = repository();
        write(folder.path(), "price", "price=24\n");
        write(folder.path(), "tests/test_price.py", ". ./price; test \"$price\" = 24\n");
        let trial = trial(folder.path()).await;
        assert_eq!(trial.verdict, ProofVerdict::Proved, "{trial:?}");
        assert_eq!(trial.reason, "tests/test_price.py fails on the base and passes on the head.");
        assert_eq!(trial.tests[0].command, "./pytest tests/test_price.py");
    }

    #[tokio::test]
    async fn other_tests_prove_nothing() {
        for (test, verdict, reason) in [
            ("true", ProofVerdict::NotProved, "tests/test_price.py passes on the base too."),
            ("false", ProofVerdict::NotProved, "tests/test_price.py fails on the head too."),
            ("exit 2", ProofVerdict::Unknown, "tests/test_price.py could not be run to its end on both."),
        ] {
            let folder = repository();
            write(folder.path(), "price", "price=24\n");
            write(folder.path(), "tests/test_price.py", &format!("{test}\n"));
            let trial = trial(folder.path()).await;
            assert_eq!((trial.verdict, trial.reason.as_str()), (verdict, reason));
        }
        let folder = repository();
        write(folder.path(), "price", "price=24\n");
        assert_eq!(trial(folder.path()).await.verdict, ProofVerdict::NotProved);
    }

    #[test]
    fn each_ecosystem_runs_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for (path, text) in [
            ("Cargo.toml", ""),
            ("crates/b/Cargo.toml", ""),
            ("web/package.json", "{\"devDependencies\": {\"vitest\": \"1\"}}"),
            ("api/go.mod", ""),
        ] {
            write(root, path, text);
        }
        let files = ChangedFiles::Complete(Vec::new());
        let trial =
            Trial { root, base: Sha::from_bytes([1; 20]), files: &files, commands: vec!["uv run pytest -q".into()] };
        for (path, expected) in [
            ("tests/price.rs", Some(("cargo test --test price", ""))),
            ("crates/b/tests/api/cart.rs", Some(("cargo test --test api", "crates/b"))),
            ("src/tests.rs", None),
            ("tests/test_price.py", Some(("uv run pytest tests/test_price.py", ""))),
            ("web/src/a.test.ts", Some(("npx --no-install vitest run src/a.test.ts", "web"))),
            ("api/cart/cart_test.go", Some(("go test -count=1 ./cart", "api"))),
            ("tests/a b.py", Some(("uv run pytest 'tests/a b.py'", ""))),
            ("tests/A.java", None),
        ] {
            let runner = Runner::of(&trial, path);
            let seen = runner.as_ref().map(|runner| (runner.shell.as_str(), runner.directory.to_str().unwrap()));
            assert_eq!(seen, expected, "{path}");
        }
        assert_eq!(up_to("pytest-watch", "pytest"), None);
        assert_eq!(up_to("cd x && pytest", "pytest"), None);
    }
}
