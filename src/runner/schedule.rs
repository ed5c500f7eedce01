//! Running the checks of a policy: what is independent at once, what needs another after it.

use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use indexmap::IndexMap;
use tempfile::TempDir;
use tokio::task::JoinSet;

use super::{
    check,
    command::{self, CommandLine},
    flake,
    interrupt::{Interrupt, Interrupter},
    observer::Observer,
    report_files,
};
use crate::{
    core::{
        CheckName,
        evidence::{CheckEvidence, CheckKind, FileCoverage, Outcome},
        policy::{CheckPolicy, CheckPresence, CheckSource, CommandCheck, FailFast, REPORTS_VARIABLE},
    },
    reports,
};

/// Which of the policy's checks to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    All,
    /// These, and what they need.
    Only(BTreeSet<CheckName>),
}

/// A selection that names what is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    #[error("there is no check `{name}`; the configuration has {known}")]
    Unknown { name: CheckName, known: String },
    #[error("`{0}` is an external check: it is fed by another system and cannot be run here")]
    External(CheckName),
}

/// The commands to run, in the policy's order.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    checks: IndexMap<CheckName, Planned>,
    pub root: PathBuf,
    pub parallel: NonZeroUsize,
}

#[derive(Clone, Debug, PartialEq)]
struct Planned {
    kind: CheckKind,
    presence: CheckPresence,
    command: CommandCheck,
}

impl Plan {
    /// Plans the command checks of a policy; external checks are somebody else's to run.
    ///
    /// # Errors
    /// When the selection names an unknown or external check.
    pub fn new(
        checks: &IndexMap<CheckName, CheckPolicy>,
        selection: &Selection,
        root: PathBuf,
        parallel: NonZeroUsize,
    ) -> Result<Self, SelectionError> {
        let wanted = match selection {
            Selection::All => checks.keys().cloned().collect(),
            Selection::Only(names) => with_needs(checks, names)?,
        };
        let planned = checks.iter().filter(|(name, _)| wanted.contains(*name)).filter_map(|(name, check)| {
            let CheckSource::Command(command) = &check.source else { return None };
            Some((name.clone(), Planned { kind: check.kind, presence: check.presence, command: command.clone() }))
        });
        Ok(Self { checks: planned.collect(), root, parallel })
    }

    pub fn names(&self) -> impl Iterator<Item = &CheckName> {
        self.checks.keys()
    }

    /// The kind and the command of each check.
    pub fn commands(&self) -> impl Iterator<Item = (CheckKind, &str)> {
        self.checks.values().map(|check| (check.kind, check.command.run.as_str()))
    }

    pub fn is_empty(&self) -> bool {
        self.checks.is_empty()
    }
}

fn with_needs(
    checks: &IndexMap<CheckName, CheckPolicy>,
    names: &BTreeSet<CheckName>,
) -> Result<BTreeSet<CheckName>, SelectionError> {
    let mut wanted = BTreeSet::new();
    let mut open: Vec<&CheckName> = names.iter().collect();
    while let Some(name) = open.pop() {
        let check = checks.get(name).ok_or_else(|| SelectionError::Unknown {
            name: name.clone(),
            known: checks.keys().map(CheckName::as_str).collect::<Vec<_>>().join(", "),
        })?;
        match &check.source {
            CheckSource::Command(command) if wanted.insert(name.clone()) => open.extend(&command.needs),
            CheckSource::External(_) if names.contains(name) => return Err(SelectionError::External(name.clone())),
            CheckSource::Command(_) | CheckSource::External(_) => {}
        }
    }
    Ok(wanted)
}

/// What came of a plan.
#[derive(Debug, Default)]
pub struct Ran {
    /// In the plan's order.
    pub checks: Vec<CheckEvidence>,
    /// Of all coverage reports together, with paths of the repository; none when there was no report.
    pub coverage: Option<Vec<FileCoverage>>,
}

/// Runs the plan to its end.
///
/// A check whose need failed is skipped; an interrupt ends what runs and skips the rest.
pub async fn run(plan: &Plan, interrupt: Interrupt, observer: Arc<dyn Observer>) -> Ran {
    let (fail_fast, failed_fast) = Interrupter::new();
    let mut ended: BTreeMap<CheckName, CheckEvidence> = BTreeMap::new();
    let mut coverage: Option<Vec<FileCoverage>> = None;
    let mut waiting: Vec<&CheckName> = plan.checks.keys().collect();
    let mut running = JoinSet::new();
    loop {
        let mut still_waiting = Vec::new();
        for name in waiting {
            let planned = &plan.checks[name];
            let stopped = interrupt.is_interrupted() || failed_fast.is_interrupted();
            match readiness(planned, plan, &ended) {
                Readiness::Never(reason) => skip(name, planned, &reason, &mut ended, &*observer),
                _ if stopped => skip(name, planned, "stopped", &mut ended, &*observer),
                Readiness::Now if running.len() < plan.parallel.get() => {
                    observer.started(name);
                    let stop = either(interrupt.clone(), failed_fast.clone());
                    running.spawn(execute(name.clone(), planned.clone(), plan.root.clone(), stop, observer.clone()));
                }
                Readiness::Now | Readiness::Later => still_waiting.push(name),
            }
        }
        waiting = still_waiting;
        let Some(evidence) = running.join_next().await else {
            if waiting.is_empty() {
                break;
            }
            continue;
        };
        // A task that panicked has no evidence; its check is reported as cancelled below.
        let Ok((evidence, measured)) = evidence else { continue };
        if let Some(measured) = measured {
            coverage.get_or_insert_default().extend(measured);
        }
        let stops = plan.checks.get(&evidence.name).is_some_and(|check| check.command.fail_fast == FailFast::On);
        if stops && evidence.outcome.is_failure() {
            fail_fast.interrupt();
        }
        observer.ended(&evidence);
        ended.insert(evidence.name.clone(), evidence);
    }
    let cancelled = |name: &CheckName| CheckEvidence::bare(name.clone(), plan.checks[name].kind, Outcome::Cancelled);
    let checks = plan.names().map(|name| ended.remove(name).unwrap_or_else(|| cancelled(name))).collect();
    Ran { checks, coverage }
}

enum Readiness {
    Now,
    Later,
    Never(String),
}

/// Needs outside the plan (external checks, or not selected) are not waited for.
fn readiness(planned: &Planned, plan: &Plan, ended: &BTreeMap<CheckName, CheckEvidence>) -> Readiness {
    let needs = || planned.command.needs.iter().filter(|need| plan.checks.contains_key(*need));
    let failed = needs().find(|need| ended.get(*need).is_some_and(|evidence| evidence.outcome != Outcome::Passed));
    match failed {
        Some(need) => Readiness::Never(format!("needs {need}")),
        None if needs().all(|need| ended.contains_key(need)) => Readiness::Now,
        None => Readiness::Later,
    }
}

fn skip(
    name: &CheckName,
    planned: &Planned,
    reason: &str,
    ended: &mut BTreeMap<CheckName, CheckEvidence>,
    observer: &dyn Observer,
) {
    let mut evidence = CheckEvidence::bare(name.clone(), planned.kind, Outcome::Skipped);
    evidence.skipped_because = Some(reason.to_owned());
    observer.ended(&evidence);
    ended.insert(name.clone(), evidence);
}

/// Feels whichever of the two comes first.
fn either(mut one: Interrupt, mut other: Interrupt) -> Interrupt {
    let (interrupter, both) = Interrupter::new();
    tokio::spawn(async move {
        tokio::select! {
            () = one.interrupted() => interrupter.interrupt(),
            () = other.interrupted() => interrupter.interrupt(),
            // The check has ended and nobody listens any more.
            () = interrupter.unheard() => {}
        }
    });
    both
}

async fn execute(
    name: CheckName,
    planned: Planned,
    root: PathBuf,
    interrupt: Interrupt,
    observer: Arc<dyn Observer>,
) -> (CheckEvidence, Option<Vec<FileCoverage>>) {
    let directory = planned.command.working_directory.as_ref().map_or_else(|| root.clone(), |inner| root.join(inner));
    let job = Job { name: &name, planned: &planned, root: &root, directory: &directory };
    let (mut evidence, coverage) = job.run(&planned.command.run, interrupt.clone(), &observer).await;
    if let Some(again) = flake::worth_another_run(&evidence, &planned.command)
        && !interrupt.is_interrupted()
    {
        observer.again(&name, evidence.failures.len());
        // The second run writes its reports where the first did; those are the ones that people upload.
        let kept = flake::KeptReports::of(&evidence, &root);
        let (second, _) = job.run(&again, interrupt, &observer).await;
        drop(kept);
        flake::settle(&mut evidence, &second);
    }
    (evidence, coverage)
}

/// One check, to be run once or twice.
struct Job<'a> {
    name: &'a CheckName,
    planned: &'a Planned,
    root: &'a Path,
    directory: &'a Path,
}

impl Job<'_> {
    async fn run(
        &self,
        shell: &str,
        interrupt: Interrupt,
        observer: &Arc<dyn Observer>,
    ) -> (CheckEvidence, Option<Vec<FileCoverage>>) {
        let command = &self.planned.command;
        let written = report_files::directory();
        let mut environment = command.environment.clone();
        if let Some(written) = &written {
            environment.insert(REPORTS_VARIABLE.to_owned(), written.path().to_string_lossy().into_owned());
        }
        let timeout = command.timeout.to_std().unwrap_or(Duration::from_secs(120));
        let line = CommandLine { environment, ..CommandLine::new(shell, self.directory, timeout) };
        let options = check::read_options(command);
        let started = SystemTime::now();
        let (shown, watched, observer) = (format!("output of {}", self.name), self.name.clone(), Arc::clone(observer));
        let finished = command::run(
            line,
            interrupt,
            move |output| reports::read(&shown, output, &options),
            move |bytes| observer.output(&watched, bytes),
        )
        .await;
        let ran = check::Ran {
            name: self.name,
            kind: self.planned.kind,
            presence: self.planned.presence,
            command,
            directory: self.directory,
            root: self.root,
            written: written.as_ref().map(TempDir::path),
            started,
        };
        check::to_evidence(&ran, finished)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn check(run: &str, needs: &[&str]) -> CheckPolicy {
        let mut command = CommandCheck::new(run);
        command.needs = needs.iter().map(|need| need.parse().unwrap()).collect();
        CheckPolicy {
            kind: CheckKind::Custom,
            source: CheckSource::Command(command),
            presence: CheckPresence::Configured,
        }
    }

    fn plan(checks: &[(&str, CheckPolicy)], selection: &Selection) -> Result<Plan, SelectionError> {
        let checks = checks.iter().map(|(name, check)| (name.parse().unwrap(), check.clone())).collect();
        Plan::new(&checks, selection, std::env::temp_dir(), NonZeroUsize::new(2).unwrap())
    }

    #[derive(Default)]
    struct Diary(Mutex<Vec<String>>);

    impl Observer for Diary {
        fn started(&self, check: &CheckName) {
            self.0.lock().unwrap().push(format!("+{check}"));
        }
        fn ended(&self, evidence: &CheckEvidence) {
            self.0.lock().unwrap().push(format!("-{}", evidence.name));
        }
    }

    async fn outcomes(plan: &Plan) -> (Vec<(String, &'static str)>, Vec<String>) {
        let diary = Arc::new(Diary::default());
        let (_keep, interrupt) = Interrupter::new();
        let evidence = run(plan, interrupt, diary.clone()).await.checks;
        let outcomes = evidence.iter().map(|check| (check.name.to_string(), check.outcome.as_str())).collect();
        (outcomes, diary.0.lock().unwrap().clone())
    }

    fn expected(outcomes: &[(&str, &'static str)]) -> Vec<(String, &'static str)> {
        outcomes.iter().map(|(name, outcome)| ((*name).to_owned(), *outcome)).collect()
    }

    #[tokio::test]
    async fn independent_checks_run_at_once_and_needs_run_after() {
        let fifo = tempfile::tempdir().unwrap();
        let path = fifo.path().join("pipe");
        let pipe = path.display();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        // Each waits for the other: they end only if they run at the same time.
        let checks = [
            ("last", check("true", &["one", "two"])),
            ("one", check(&format!("echo hello > {pipe}"), &[])),
            ("two", check(&format!("cat {pipe}"), &[])),
        ];
        let (got, diary) = outcomes(&plan(&checks, &Selection::All).unwrap()).await;
        assert_eq!(got, expected(&[("last", "passed"), ("one", "passed"), ("two", "passed")]));
        assert_eq!(diary[..2], ["+one", "+two"]);
        assert_eq!(diary[4..], ["+last", "-last"]);
    }

    #[tokio::test]
    async fn what_needs_a_failed_check_is_skipped() {
        let checks = [
            ("build", check("exit 1", &[])),
            ("unit", check("true", &["build"])),
            ("slow", check("true", &["unit"])),
            ("lint", check("true", &[])),
        ];
        let (got, _) = outcomes(&plan(&checks, &Selection::All).unwrap()).await;
        assert_eq!(got, expected(&[("build", "failed"), ("unit", "skipped"), ("slow", "skipped"), ("lint", "passed")]));
    }

    #[tokio::test]
    async fn fail_fast_ends_what_still_runs() {
        let mut failing = check("exit 1", &[]);
        if let CheckSource::Command(command) = &mut failing.source {
            command.fail_fast = FailFast::On;
        }
        let checks = [("slow", check("sleep 60", &[])), ("quick", failing), ("later", check("true", &[]))];
        let (got, _) = outcomes(&plan(&checks, &Selection::All).unwrap()).await;
        assert_eq!(got, expected(&[("slow", "cancelled"), ("quick", "failed"), ("later", "skipped")]));
    }

    #[test]
    fn a_selection_brings_what_it_needs_and_refuses_what_is_not_there() {
        let checks = [("a", check("true", &[])), ("b", check("true", &["a"])), ("c", check("true", &[]))];
        let only = |name: &str| Selection::Only(BTreeSet::from([name.parse().unwrap()]));
        let names: Vec<String> = plan(&checks, &only("b")).unwrap().names().map(ToString::to_string).collect();
        assert_eq!(names, ["a", "b"]);
        let error = plan(&checks, &only("d")).unwrap_err().to_string();
        assert_eq!(error, "there is no check `d`; the configuration has a, b, c");
    }
}
