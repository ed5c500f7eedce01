//! `coverage.prove_regression`: the tests that a change brings along are run without the change, where one must fail,
//! and with it, where it must pass.
//!
//! "Without" is the base in a git worktree of its own with the change's test files laid over it. The worktree is gone
//! when the trial ends, however it ends. Nothing of the working tree is touched.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use super::{Rerun, TestTrial, executed, use_installed};
use crate::{
    Interrupt, Observer, Plan, run,
    worktree::{Extent, Worktree},
};
use loopgate_core::{
    Fingerprint, Sha,
    evidence::{
        BaseTestRun, CheckEvidence, Failure, Outcome, ProofEnd, ProofRun, ProofVerdict,
        RegressionTrial,
    },
    observed::{ChangedFile, ChangedFiles, FileStatus},
    source_files::{belongs_to_tests, is_test},
    text::one_line,
};
use loopgate_git::{Git, GitOutput, Outsider};

/// Test files tried at most.
const MOST_FILES: usize = 10;
/// Failing tests of a file that are named.
const MOST_NAMED: usize = 20;
/// How long one run of one file may take: it may have to be built first.
const TIMEOUT: Duration = Duration::from_secs(600);

/// Runs the trial. Never fails: what could not be run is a verdict with its reason.
pub async fn prove(trial: &TestTrial<'_>, interrupt: Interrupt) -> RegressionTrial {
    let adds = |file: &&ChangedFile| {
        file.status != FileStatus::Removed && file.additions > 0 && is_test(&file.path)
    };
    let tests: Vec<&ChangedFile> = trial.files.known().iter().filter(adds).collect();
    if tests.is_empty() {
        let added = trial
            .files
            .known()
            .iter()
            .flat_map(|file| file.added_lines().unwrap_or_default());
        let is_too_large = matches!(trial.files, ChangedFiles::TooLarge { .. });
        if is_too_large || added.into_iter().any(|(_, text)| text.contains("#[test]")) {
            return unknown(
                "the tests stand in the files they test, and cannot be laid over the base alone"
                    .to_owned(),
            );
        }
        let reason = "no test file was added or changed.".to_owned();
        return RegressionTrial {
            verdict: ProofVerdict::NotProved,
            tests: Vec::new(),
            reason,
        };
    }
    let rerun = |file: &&ChangedFile| Rerun::of_file(trial, trial.root(), &file.path);
    let named: Vec<(&ChangedFile, Rerun)> = tests
        .iter()
        .filter_map(|file| Some((*file, rerun(file)?)))
        .take(MOST_FILES)
        .collect();
    if named.is_empty() {
        let names: Vec<&str> = tests
            .iter()
            .take(3)
            .map(|file| file.path.as_str())
            .collect();
        return unknown(format!(
            "it is not known how to run {} alone",
            names.join(", ")
        ));
    }
    let _exposed = trial.git.expose(Outsider::Checks);
    let base = match BaseTree::with_tests_of(trial) {
        Ok(base) => base,
        Err(reason) => return unknown(reason),
    };
    let mut runs = Vec::new();
    for (file, rerun) in named {
        let (on_base, _) = rerun.run(&base.path, TIMEOUT, interrupt.clone()).await;
        // A test that passes without the change proves nothing, whatever it does with it.
        let on_head = match on_base {
            ProofEnd::Passed => ProofEnd::Passed,
            ProofEnd::Failed | ProofEnd::Broken => {
                rerun.run(trial.root(), TIMEOUT, interrupt.clone()).await.0
            }
        };
        runs.push(ProofRun {
            file: file.path.clone(),
            command: rerun.line.shell,
            on_base,
            on_head,
        });
        if interrupt.is_cancelled() {
            return unknown("it was interrupted".to_owned());
        }
    }
    judge(runs)
}

/// Runs the test files that the change edits or removes as they were before it, against `head`, the commit that is
/// checked out: each alone where a tool can do that, the others by the checks of the plan.
pub async fn base_tests(
    trial: &TestTrial<'_>,
    plan: &Plan,
    head: Sha,
    interrupt: Interrupt,
    observer: Observer,
) -> Vec<BaseTestRun> {
    let edited = trial
        .files
        .known()
        .iter()
        .filter(|file| file.status != FileStatus::Added);
    let before = edited.filter_map(|file| file.paths().last());
    let files: BTreeSet<&str> = before
        .filter(|path| is_test(path))
        .take(MOST_FILES)
        .collect();
    if files.is_empty() {
        return Vec::new();
    }
    let _exposed = trial.git.expose(Outsider::Checks);
    let Ok(tree) = BaseTree::at(trial.git, head) else {
        return Vec::new();
    };
    if tree.put_back(trial.base, &files).is_err() {
        return Vec::new();
    }
    let (mut runs, mut with_others) = (Vec::new(), false);
    for file in files {
        let Some(rerun) = Rerun::of_file(trial, &tree.path, file) else {
            with_others = true;
            continue;
        };
        let (on_head, mut failing) = rerun.run(&tree.path, TIMEOUT, interrupt.clone()).await;
        failing.truncate(MOST_NAMED);
        runs.push(BaseTestRun {
            file: file.to_owned(),
            command: rerun.line.shell,
            on_head,
            failing,
        });
        if interrupt.is_cancelled() {
            return Vec::new();
        }
    }
    if with_others {
        let (plan, nothing) = (plan.of_tests(), BTreeSet::new());
        let of_tests = trial
            .files
            .known()
            .iter()
            .flat_map(ChangedFile::paths)
            .filter(|path| belongs_to_tests(path));
        let files = of_tests.collect();
        let others = with_files_put_back(
            &plan, head, trial.base, &files, &nothing, interrupt, observer,
        )
        .await;
        let known: BTreeSet<String> = runs
            .iter()
            .map(|run: &BaseTestRun| run.file.clone())
            .collect();
        runs.extend(others.into_iter().filter(|run| !known.contains(&run.file)));
    }
    runs
}

/// One test that fails without the change and passes with it is enough.
fn judge(tests: Vec<ProofRun>) -> RegressionTrial {
    let names = |wanted: &dyn Fn(&&ProofRun) -> bool| -> String {
        tests
            .iter()
            .filter(|run| wanted(run))
            .map(|run| run.file.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let proving = names(&|run| (run.on_base, run.on_head) == (ProofEnd::Failed, ProofEnd::Passed));
    let broken = names(&|run| run.on_base == ProofEnd::Broken || run.on_head == ProofEnd::Broken);
    let failing = names(&|run| run.on_head == ProofEnd::Failed);
    let (verdict, reason) = if !proving.is_empty() {
        (
            ProofVerdict::Proved,
            format!("{proving} fails on the base and passes on the head."),
        )
    } else if !failing.is_empty() {
        (
            ProofVerdict::NotProved,
            format!("{failing} fails on the head too."),
        )
    } else if !broken.is_empty() {
        (
            ProofVerdict::Unknown,
            format!("{broken} could not be run to its end on both."),
        )
    } else {
        (
            ProofVerdict::NotProved,
            format!("{} passes on the base too.", names(&|_| true)),
        )
    };
    RegressionTrial {
        verdict,
        tests,
        reason,
    }
}

fn unknown(reason: String) -> RegressionTrial {
    RegressionTrial {
        verdict: ProofVerdict::Unknown,
        tests: Vec::new(),
        reason,
    }
}

/// Runs the plan on the commit `head` with files as they are in the tree `before`, in a worktree of its own: each of
/// the files where all checks pass so, or one with the tests that fail so. Empty where nothing can be known, since the
/// checks do not run in a worktree.
pub async fn with_files_put_back(
    plan: &Plan,
    head: Sha,
    before: Sha,
    files: &BTreeSet<&str>,
    to_mend: &BTreeSet<Fingerprint>,
    interrupt: Interrupt,
    observer: Observer,
) -> Vec<BaseTestRun> {
    let Ok(tree) = BaseTree::at(&plan.git, head) else {
        return Vec::new();
    };
    if tree.put_back(before, files).is_err() {
        return Vec::new();
    }
    let commands: Vec<&str> = plan
        .checks
        .values()
        .map(|planned| planned.command.run.as_str())
        .collect();
    let run = |file: &str, on_head, failing| BaseTestRun {
        file: file.to_owned(),
        command: commands.join("; "),
        on_head,
        failing,
    };
    let (end, failing) = ending(
        &run_in(plan, &tree, interrupt.clone(), observer.clone()).await,
        to_mend,
    );
    match (end, files.first()) {
        (ProofEnd::Passed, _) => files
            .iter()
            .map(|file| run(file, end, Vec::new()))
            .collect(),
        (ProofEnd::Failed, Some(file)) => {
            // They may fail for what the worktree lacks: then they fail there as they are edited too.
            let Ok(edited) = BaseTree::at(&plan.git, head) else {
                return Vec::new();
            };
            match ending(&run_in(plan, &edited, interrupt, observer).await, to_mend) {
                (ProofEnd::Passed, _) => vec![run(file, end, failing)],
                _ => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

async fn run_in(
    plan: &Plan,
    tree: &BaseTree,
    interrupt: Interrupt,
    observer: Observer,
) -> Vec<CheckEvidence> {
    let mut there = Plan {
        git: plan.git.within(&tree.path),
        ..plan.clone()
    };
    for planned in there.checks.values_mut() {
        use_installed(
            &mut planned.command.environment,
            &planned.command.run,
            &tree.path,
            plan.root(),
        );
    }
    run(&there, interrupt, observer).await.checks
}

/// How the checks end together, with the names of the tests that fail. What fails and names no test may be a build that
/// the edits broke: it counts where it is a failure `to_mend`.
fn ending(checks: &[CheckEvidence], to_mend: &BTreeSet<Fingerprint>) -> (ProofEnd, Vec<String>) {
    let passes = |check: &CheckEvidence| {
        check.outcome == Outcome::Passed && executed(check.results) != Some(0)
    };
    if !checks.is_empty() && checks.iter().all(passes) {
        return (ProofEnd::Passed, Vec::new());
    }
    let failed = || {
        checks
            .iter()
            .filter(|check| check.outcome == Outcome::Failed)
            .flat_map(|check| &check.failures)
    };
    let tests: Vec<String> = failed()
        .filter_map(|failure| failure.test_name.clone())
        .take(MOST_NAMED)
        .collect();
    let is_to_mend = |failure: &Failure| {
        failure
            .fingerprint
            .is_some_and(|print| to_mend.contains(&print))
    };
    let end = if tests.is_empty() && !failed().any(is_to_mend) {
        ProofEnd::Broken
    } else {
        ProofEnd::Failed
    };
    (end, tests)
}

/// A git worktree on a commit, removed when dropped.
struct BaseTree {
    /// Git, at the top of the tree it belongs to.
    git: Git,
    /// Its top.
    path: PathBuf,
}

impl BaseTree {
    /// The commit as it is.
    ///
    /// # Errors
    /// In words.
    fn at(git: &Git, commit: Sha) -> Result<Self, String> {
        let since = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        let name = format!("loopgate-base-{}-{}", std::process::id(), since.as_nanos());
        let path = std::env::temp_dir().join(name);
        // Fails where something is there already, so that a link placed there is not followed.
        fs::create_dir(&path).map_err(|error| format!("no place for a worktree: {error}"))?;
        let worktree = Self {
            git: git.clone(),
            path,
        };
        let shown = worktree.path.display().to_string();
        match run_git(
            git,
            &[
                "worktree",
                "add",
                "--quiet",
                "--detach",
                &shown,
                &commit.to_string(),
            ],
        ) {
            Ok(()) => {
                worktree.link_installed(git.directory());
                Ok(worktree)
            }
            Err(reason) => Err(format!(
                "{} cannot be checked out: {reason}",
                commit.short()
            )),
        }
    }

    /// The base with the change's test files over it.
    ///
    /// # Errors
    /// In words.
    fn with_tests_of(trial: &TestTrial<'_>) -> Result<Self, String> {
        let tree = Self::at(trial.git, trial.base)?;
        let tests = trial
            .files
            .known()
            .iter()
            .map(|file| file.path.as_str())
            .filter(|path| belongs_to_tests(path));
        let head = Worktree::of(trial.git).and_then(|worktree| worktree.tree(Extent::Tracked));
        let laid_over = head
            .map_err(|error| error.to_string())
            .and_then(|head| tree.put_back(head, &tests.collect()));
        laid_over.map_err(|error| format!("the tests cannot be laid over the base: {error}"))?;
        Ok(tree)
    }

    /// Makes files what they are in another tree, and takes out those that it does not have.
    ///
    /// # Errors
    /// In words.
    fn put_back(&self, from: Sha, files: &BTreeSet<&str>) -> Result<(), String> {
        let is_there = |path: &&str| {
            run_git(&self.git, &["cat-file", "-e", &format!("{from}:{path}")]).is_ok()
        };
        let (there, new): (Vec<&str>, Vec<&str>) = files.iter().copied().partition(is_there);
        for path in new {
            let place = self.inside(path).map_err(|error| error.to_string())?;
            fs::remove_file(place).map_err(|error| format!("{path}: {error}"))?;
        }
        let restore = [
            "--literal-pathspecs",
            "restore",
            &format!("--source={from}"),
            "--worktree",
            "--",
        ];
        if there.is_empty() {
            Ok(())
        } else {
            run_git(
                &self.git.within(&self.path),
                &[&restore[..], &there].concat(),
            )
        }
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
    fn link_installed(&self, root: &Path) {
        let places = ["", "packages", "apps", "frontend", "web"]
            .map(|package| Path::new(package).join("node_modules"));
        let others = [".venv", "venv", "vendor", "deps"].map(PathBuf::from);
        for place in places.into_iter().chain(others) {
            let (installed, wanted) = (root.join(&place), self.path.join(&place));
            if installed.is_dir() && !wanted.exists() && wanted.parent().is_some_and(Path::is_dir) {
                // Without it the run is broken.
                #[cfg(unix)]
                let _ = std::os::unix::fs::symlink(installed, wanted);
                #[cfg(windows)]
                let _ = std::os::windows::fs::symlink_dir(installed, wanted);
            }
        }
    }
}

impl Drop for BaseTree {
    fn drop(&mut self) {
        let shown = self.path.display().to_string();
        if run_git(
            &self.git,
            &["worktree", "remove", "--force", "--force", &shown],
        )
        .is_err()
        {
            let _ = fs::remove_dir_all(&self.path);
            let _ = run_git(&self.git, &["worktree", "prune"]);
        }
    }
}

fn run_git(git: &Git, arguments: &[&str]) -> Result<(), String> {
    let output = git.command(arguments).run().and_then(GitOutput::success);
    output
        .map(drop)
        .map_err(|error| one_line(&error.to_string(), 200))
}

#[cfg(all(test, unix))]
mod tests {
    use std::{fs, path::Path, process::Command};

    use super::*;
    use crate::Changes;
    use loopgate_core::{
        evidence::CheckKind,
        policy::{CheckPolicy, CheckSource, CommandCheck},
    };

    fn sh(root: &Path, line: &str) {
        let status = Command::new("sh")
            .arg("-c")
            .arg(line)
            .current_dir(root)
            .status()
            .unwrap();
        assert!(status.success(), "{line}");
    }

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    const PYTEST: &str = "#!/bin/sh\n. ./price\nsh \"$1\" && { echo '== 1 passed in 0.01s =='; exit 0; }\ncode=$?\n\
                          [ $code = 1 ] && echo '== short test summary info ==' && echo \"FAILED $1::test_price - assert\" && echo '== 1 failed in 0.01s =='\nexit $code\n";

    /// A repository whose `pytest` is a shell script that takes each file for one.
    fn repository() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write(root, "pytest", PYTEST);
        write(root, "price", "price=20\n");
        sh(root, "chmod +x pytest && git init -q -b main && git add -A");
        sh(
            root,
            "git -c user.email=a@b.c -c user.name=n commit -qm base && git checkout -qb fix/price",
        );
        folder
    }

    async fn trial(root: &Path) -> RegressionTrial {
        let (name, check) = ("unit".parse().unwrap(), CommandCheck::new("./pytest -q"));
        sh(
            root,
            "git add -A && git -c user.email=a@b.c -c user.name=n commit -qm fix",
        );
        let git = Git::at(root);
        let Changes { merge_base, files } = Changes::against(&git, Some("main")).unwrap();
        let interrupt = Interrupt::new();
        let trial = prove(
            &TestTrial {
                git: &git,
                base: merge_base,
                files: &files,
                checks: vec![(&name, &check)],
            },
            interrupt,
        )
        .await;
        let output = Command::new("git")
            .arg("-C")
            .arg(root)
            .args(["worktree", "list"])
            .output()
            .unwrap();
        assert_eq!(
            String::from_utf8_lossy(&output.stdout).lines().count(),
            1,
            "the worktree is gone"
        );
        trial
    }

    #[tokio::test]
    async fn a_test_that_fails_without_the_fix_and_passes_with_it_proves_it() {
        let folder = repository();
        write(folder.path(), "price", "price=24\n");
        write(
            folder.path(),
            "tests/test_price.py",
            ". ./price; test \"$price\" = 24\n",
        );
        let trial = trial(folder.path()).await;
        assert_eq!(trial.verdict, ProofVerdict::Proved, "{trial:?}");
        assert_eq!(
            trial.reason,
            "tests/test_price.py fails on the base and passes on the head."
        );
        assert_eq!(trial.tests[0].command, "./pytest tests/test_price.py");
    }

    #[tokio::test]
    async fn tests_as_they_were_are_run_on_the_head() {
        let folder = repository();
        let root = folder.path();
        let test = |asks: &str| format!("test \"$price\" = {asks}\n");
        for (name, asks) in [("a", "20"), ("b", "20"), ("gone", "21"), ("same", "20")] {
            write(root, &format!("tests/test_{name}.py"), &test(asks));
        }
        sh(
            root,
            "git checkout -q main && git add -A && git -c user.email=a@b.c -c user.name=n commit -qm tests",
        );
        sh(
            root,
            "git checkout -q fix/price && git merge -q main && rm tests/test_gone.py",
        );
        write(root, "price", "price=24\n");
        write(root, "tests/test_a.py", &test("24"));
        write(root, "tests/test_b.py", "true\n");
        write(root, "tests/test_new.py", "false\n");
        sh(
            root,
            "git add -A && git -c user.email=a@b.c -c user.name=n commit -qm weaker",
        );
        let git = Git::at(root);
        let Changes { merge_base, files } = Changes::against(&git, Some("main")).unwrap();
        let head = crate::Checkout::around(root).unwrap().head;
        let interrupt = Interrupt::new();
        let (name, check) = ("unit".parse().unwrap(), CommandCheck::new("./pytest -q"));
        let trial = TestTrial {
            git: &git,
            base: merge_base,
            files: &files,
            checks: vec![(&name, &check)],
        };
        let plan = plan(root, "./pytest -q");
        let runs = base_tests(&trial, &plan, head, interrupt, quiet()).await;
        let ends: Vec<_> = runs
            .iter()
            .map(|run| (run.file.as_str(), run.on_head))
            .collect();
        let fails = |name| (name, ProofEnd::Failed);
        assert_eq!(
            ends,
            [
                fails("tests/test_a.py"),
                fails("tests/test_b.py"),
                fails("tests/test_gone.py")
            ]
        );
        assert!(
            fs::read_to_string(root.join("tests/test_b.py")).unwrap() == "true\n",
            "the working tree is as it was"
        );
        let worktrees = Command::new("git")
            .arg("-C")
            .arg(root)
            .args(["worktree", "list"])
            .output()
            .unwrap();
        assert_eq!(
            String::from_utf8_lossy(&worktrees.stdout).lines().count(),
            1,
            "the worktree is gone"
        );
    }

    fn quiet() -> Observer {
        std::sync::Arc::new(|_, _| {})
    }

    fn plan(root: &Path, run: &str) -> Plan {
        let source = CheckSource::Command(CommandCheck::new(run));
        let check = CheckPolicy {
            kind: CheckKind::Test,
            source,
            is_detected: false,
        };
        Plan::new(
            &[("unit".parse().unwrap(), check)].into(),
            None,
            &Git::at(root),
            None,
        )
        .unwrap()
    }

    #[tokio::test]
    async fn where_no_tool_runs_one_file_the_checks_run_with_the_tests_as_they_were() {
        const CHECK: &str = "for test in tests/*.sh; do if sh $test; then echo \"ok - $test\"; else echo \"not ok - $test\"; \
                             bad=1; fi; done; echo 1..2; exit ${bad:-0}";
        for (price, end, failing) in [
            ("24", ProofEnd::Failed, &["tests/test_a.sh"][..]),
            ("20", ProofEnd::Passed, &[]),
        ] {
            let folder = repository();
            let root = folder.path();
            write(root, "tests/test_a.sh", ". ./price; test \"$price\" = 20\n");
            write(root, "tests/test_b.sh", "true\n");
            sh(
                root,
                "git checkout -q main && git add -A && git -c user.email=a@b.c -c user.name=n commit -qm tests",
            );
            sh(root, "git checkout -q fix/price && git merge -q main");
            write(root, "price", &format!("price={price}\n"));
            write(root, "tests/test_a.sh", "true\n");
            sh(
                root,
                "git add -A && git -c user.email=a@b.c -c user.name=n commit -qm weaker",
            );
            let git = Git::at(root);
            let Changes { merge_base, files } = Changes::against(&git, Some("main")).unwrap();
            let head = crate::Checkout::around(root).unwrap().head;
            let interrupt = Interrupt::new();
            let (name, check) = ("unit".parse().unwrap(), CommandCheck::new(CHECK));
            let trial = TestTrial {
                git: &git,
                base: merge_base,
                files: &files,
                checks: vec![(&name, &check)],
            };
            let runs = base_tests(&trial, &plan(root, CHECK), head, interrupt, quiet()).await;
            let command = CHECK.to_owned();
            let failing = failing.iter().map(|test| (*test).to_owned()).collect();
            assert_eq!(
                runs,
                [BaseTestRun {
                    file: "tests/test_a.sh".to_owned(),
                    command,
                    on_head: end,
                    failing
                }]
            );
        }
    }

    #[tokio::test]
    async fn other_tests_prove_nothing() {
        for (test, verdict, reason) in [
            (
                "true",
                ProofVerdict::NotProved,
                "tests/test_price.py passes on the base too.",
            ),
            (
                "false",
                ProofVerdict::NotProved,
                "tests/test_price.py fails on the head too.",
            ),
            (
                "exit 2",
                ProofVerdict::Unknown,
                "tests/test_price.py could not be run to its end on both.",
            ),
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
}
