//! Running the checks of a policy: what is independent at once, what needs another after it.

use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use chrono::TimeDelta;
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
        evidence::{CheckEvidence, CheckKind, FileCoverage, Outcome, RetryClass},
        policy::{CheckPolicy, CheckPresence, CheckSource, CommandCheck, FailFast, REPORTS_VARIABLE, Waits},
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
    /// How a check is repeated that failed for reasons outside the code; not at all unless asked for.
    repeats: Waits,
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
        let repeats = Waits { first_wait: TimeDelta::zero(), longest_wait: TimeDelta::zero(), times: 0 };
        Ok(Self { checks: planned.collect(), root, parallel, repeats })
    }

    /// The same plan, in which a check that fails for reasons outside the code is run again (loop.md, Retry policy):
    /// as often as `repeats` says, as long as its runs and waits fit into its timeout.
    #[must_use]
    pub fn repeating(self, repeats: Waits) -> Self {
        Self { repeats, ..self }
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
                    let (planned, root) = (planned.clone(), plan.root.clone());
                    running.spawn(execute(name.clone(), planned, root, plan.repeats, stop, observer.clone()));
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
    repeats: Waits,
    interrupt: Interrupt,
    observer: Arc<dyn Observer>,
) -> (CheckEvidence, Option<Vec<FileCoverage>>) {
    let directory = planned.command.working_directory.as_ref().map_or_else(|| root.clone(), |inner| root.join(inner));
    let job = Job { name: &name, planned: &planned, root: &root, directory: &directory };
    let (mut evidence, coverage) = job.run_repeatedly(repeats, &interrupt, &observer).await;
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

/// Whether a check failed through a service, the network or the machine. What it printed says so, so nothing but
/// another run is granted for it.
fn is_outside(evidence: &CheckEvidence) -> bool {
    evidence.outcome == Outcome::Failed && evidence.retry_class == Some(RetryClass::External)
}

/// One check, to be run once or more.
struct Job<'a> {
    name: &'a CheckName,
    planned: &'a Planned,
    root: &'a Path,
    directory: &'a Path,
}

impl Job<'_> {
    /// Runs it, and again while it fails for reasons outside the code. The last run counts.
    async fn run_repeatedly(
        &self,
        repeats: Waits,
        interrupt: &Interrupt,
        observer: &Arc<dyn Observer>,
    ) -> (CheckEvidence, Option<Vec<FileCoverage>>) {
        let (shell, began) = (&self.planned.command.run, Instant::now());
        let mut ran = self.run(shell, interrupt.clone(), observer).await;
        for tries in 0..repeats.times {
            let wait = repeats.after(tries).to_std().unwrap_or_default();
            let in_time = began.elapsed() + wait < self.timeout();
            if !is_outside(&ran.0) || !in_time || interrupt.is_interrupted() {
                break;
            }
            observer.repeating(self.name, tries + 1, wait);
            let mut stop = interrupt.clone();
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = stop.interrupted() => break,
            }
            ran = self.run(shell, interrupt.clone(), observer).await;
        }
        ran
    }

    fn timeout(&self) -> Duration {
        self.planned.command.timeout.to_std().unwrap_or(Duration::from_secs(120))
    }

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
        let line = CommandLine { environment, ..CommandLine::new(shell, self.directory, self.timeout()) };
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
        fn repeating(&self, check: &CheckName, nth: u32, wait: Duration) {
            self.0.lock().unwrap().push(format!("{nth} {check} {}", wait.as_secs()));
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

    const NO_NETWORK: &str = "echo 'curl: (6) Could not resolve host: api.example.com'; exit 1";

    fn waits(seconds: i64, times: u32) -> Waits {
        Waits { first_wait: TimeDelta::seconds(seconds), longest_wait: TimeDelta::hours(1), times }
    }

    #[tokio::test]
    async fn what_fails_for_reasons_outside_the_code_is_repeated() {
        let directory = tempfile::tempdir().unwrap();
        let runs = directory.path().join("runs");
        let runs = runs.display();
        // Succeeds at the third run.
        let line = format!("echo >> {runs}; test $(wc -l < {runs}) -ge 3 || {{ {NO_NETWORK}; }}");
        let flaky = plan(&[("net", check(&line, &[]))], &Selection::All).unwrap();
        let (got, diary) = outcomes(&flaky.repeating(waits(0, 5))).await;
        assert_eq!(got, expected(&[("net", "passed")]));
        assert_eq!(diary, ["+net", "1 net 0", "2 net 0", "-net"]);

        let down =
            || plan(&[("net", check(NO_NETWORK, &[])), ("code", check("exit 1", &[]))], &Selection::All).unwrap();
        let (got, diary) = outcomes(&down().repeating(waits(0, 2))).await;
        assert_eq!(got, expected(&[("net", "failed"), ("code", "failed")]));
        let repeated: Vec<&String> = diary.iter().filter(|line| line.starts_with(char::is_numeric)).collect();
        assert_eq!(repeated, ["1 net 0", "2 net 0"], "as often as is said, and nothing else is");
        let (_, diary) = outcomes(&down().repeating(waits(120, 1))).await;
        assert_eq!(diary.len(), 4, "what would not fit into the timeout is not begun: {diary:?}");
    }

    #[tokio::test]
    async fn an_interrupt_ends_the_wait_for_a_repetition() {
        struct Impatient(Mutex<Option<Interrupter>>);
        impl Observer for Impatient {
            fn repeating(&self, _: &CheckName, _: u32, _: Duration) {
                if let Some(interrupter) = self.0.lock().unwrap().as_ref() {
                    interrupter.interrupt();
                }
            }
        }
        let mut patient = check(NO_NETWORK, &[]);
        if let CheckSource::Command(command) = &mut patient.source {
            command.timeout = TimeDelta::hours(6);
        }
        let plan = plan(&[("net", patient)], &Selection::All).unwrap().repeating(waits(3_600, 1));
        let (interrupter, interrupt) = Interrupter::new();
        let ran = run(&plan, interrupt, Arc::new(Impatient(Mutex::new(Some(interrupter))))).await;
        assert_eq!(ran.checks[0].outcome, Outcome::Failed);
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
