//! Which checks of a policy are run here, and running them: what is independent at once, what needs another after it.

use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroUsize,
    path::Path,
    thread,
};

use chrono::TimeDelta;
use indexmap::IndexMap;
use tokio::task::JoinSet;

use super::{
    check::Planned,
    command::Interrupt,
    job::{self, CheckEvent, Observer},
};
use loopgate_core::{
    CheckName,
    evidence::{CheckEvidence, FileCoverage, Outcome},
    policy::{CheckPolicy, CheckSource, Waits},
};
use loopgate_git::{Git, Outsider};

/// The result of a plan.
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
pub async fn run(plan: &Plan, interrupt: Interrupt, observer: Observer) -> Ran {
    let _exposed = plan.git.expose(Outsider::Checks);
    // Ends all that runs: at an interrupt, and when a check fails fast.
    let stopped = interrupt.child_token();
    let mut ended: BTreeMap<CheckName, CheckEvidence> = BTreeMap::new();
    let mut coverage: Option<Vec<FileCoverage>> = None;
    let mut waiting: Vec<&CheckName> = plan.checks.keys().collect();
    let mut running = JoinSet::new();
    let bare = |name: &CheckName, outcome| {
        CheckEvidence::bare(name.clone(), plan.checks[name].kind, outcome)
    };
    let skipped = |name: &CheckName, reason| CheckEvidence {
        skipped_because: Some(reason),
        ..bare(name, Outcome::Skipped)
    };
    loop {
        let mut still_waiting = Vec::new();
        for name in waiting {
            let planned = &plan.checks[name];
            let evidence = match readiness(planned, plan, &ended) {
                // No one chose to leave it out, so it is not skipped: its result is unknown.
                _ if interrupt.is_cancelled() => bare(name, Outcome::Cancelled),
                Some(Err(reason)) => skipped(name, reason),
                _ if stopped.is_cancelled() => skipped(name, "stopped".to_owned()),
                Some(Ok(())) if running.len() < plan.parallel.get() => {
                    observer(name, CheckEvent::Started);
                    running.spawn(job::execute(
                        name.clone(),
                        planned.clone(),
                        plan.git.clone(),
                        plan.repeats,
                        stopped.clone(),
                        observer.clone(),
                    ));
                    continue;
                }
                Some(Ok(())) | None => {
                    still_waiting.push(name);
                    continue;
                }
            };
            observer(name, CheckEvent::Ended(&evidence));
            ended.insert(name.clone(), evidence);
        }
        waiting = still_waiting;
        let Some(evidence) = running.join_next().await else {
            if waiting.is_empty() {
                break;
            }
            continue;
        };
        // A task that panicked has no evidence; its check is reported as cancelled below.
        let Ok((evidence, measured)) = evidence else {
            continue;
        };
        if let Some(measured) = measured {
            coverage.get_or_insert_default().extend(measured);
        }
        let stops = plan
            .checks
            .get(&evidence.name)
            .is_some_and(|check| check.command.fail_fast);
        if stops && evidence.outcome.is_failure() {
            stopped.cancel();
        }
        observer(&evidence.name, CheckEvent::Ended(&evidence));
        ended.insert(evidence.name.clone(), evidence);
    }
    let checks = plan
        .checks
        .keys()
        .map(|name| {
            ended
                .remove(name)
                .unwrap_or_else(|| bare(name, Outcome::Cancelled))
        })
        .collect();
    Ran { checks, coverage }
}

/// Whether a check may begin now, or why it never will; none while it waits. Needs outside the plan (external checks,
/// or not selected) are not waited for.
fn readiness(
    planned: &Planned,
    plan: &Plan,
    ended: &BTreeMap<CheckName, CheckEvidence>,
) -> Option<Result<(), String>> {
    let needs = || {
        planned
            .command
            .needs
            .iter()
            .filter(|need| plan.checks.contains_key(*need))
    };
    let failed = needs().find(|need| {
        ended
            .get(*need)
            .is_some_and(|evidence| evidence.outcome != Outcome::Passed)
    });
    match failed {
        Some(need) => Some(Err(format!("needs {need}"))),
        None => needs()
            .all(|need| ended.contains_key(need))
            .then_some(Ok(())),
    }
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
#[derive(Clone, Debug)]
pub struct Plan {
    pub checks: IndexMap<CheckName, Planned>,
    /// Git, at the top of the working tree.
    pub git: Git,
    pub parallel: NonZeroUsize,
    /// How a check is repeated that failed for reasons outside the code; not at all unless asked for.
    pub(super) repeats: Waits,
}

impl Plan {
    /// Plans the command checks of a policy, or `only` some of them and what they need; external checks run elsewhere.
    /// Unless `parallel` is set, as many run at once as there are cores.
    ///
    /// # Errors
    /// When the selection names an unknown or external check.
    pub fn new(
        checks: &IndexMap<CheckName, CheckPolicy>,
        only: Option<&BTreeSet<CheckName>>,
        git: &Git,
        parallel: Option<NonZeroUsize>,
    ) -> Result<Self, SelectionError> {
        let parallel = parallel
            .or_else(|| thread::available_parallelism().ok())
            .unwrap_or(NonZeroUsize::MIN);
        let wanted = only.map_or_else(
            || Ok(checks.keys().cloned().collect()),
            |names| with_needs(checks, names),
        )?;
        let planned = checks
            .iter()
            .filter(|(name, _)| wanted.contains(*name))
            .filter_map(|(name, check)| {
                let CheckSource::Command(command) = &check.source else {
                    return None;
                };
                Some((
                    name.clone(),
                    Planned {
                        kind: check.kind,
                        is_detected: check.is_detected,
                        command: command.clone(),
                    },
                ))
            });
        let repeats = Waits {
            first_wait: TimeDelta::zero(),
            longest_wait: TimeDelta::zero(),
            times: 0,
        };
        Ok(Self {
            checks: planned.collect(),
            git: git.clone(),
            parallel,
            repeats,
        })
    }

    /// The top of the working tree.
    pub fn root(&self) -> &Path {
        self.git.directory()
    }

    /// The same plan, in which a check that fails for reasons outside the code is run again: as
    /// often as `repeats` allows, as long as its runs and waits fit into its timeout.
    #[must_use]
    pub fn repeating(self, repeats: Waits) -> Self {
        Self { repeats, ..self }
    }

    /// The checks of tests, and those that some check needs before it.
    #[must_use]
    pub fn of_tests(&self) -> Self {
        let needed: BTreeSet<CheckName> = self
            .checks
            .values()
            .flat_map(|planned| planned.command.needs.iter().cloned())
            .collect();
        let mut tests = self.clone();
        tests
            .checks
            .retain(|name, planned| planned.kind.is_of_tests() || needed.contains(name));
        tests
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
            known: checks
                .keys()
                .map(CheckName::as_str)
                .collect::<Vec<_>>()
                .join(", "),
        })?;
        match &check.source {
            CheckSource::Command(command) if wanted.insert(name.clone()) => {
                open.extend(&command.needs)
            }
            CheckSource::External(_) | CheckSource::Reviewer(_) if names.contains(name) => {
                return Err(SelectionError::External(name.clone()));
            }
            CheckSource::Command(_) | CheckSource::External(_) | CheckSource::Reviewer(_) => {}
        }
    }
    Ok(wanted)
}

#[cfg(all(test, unix))]
mod tests {
    use std::{
        collections::BTreeSet,
        num::NonZeroUsize,
        sync::{Arc, Mutex},
    };

    use chrono::TimeDelta;

    use super::*;
    use loopgate_core::{
        evidence::CheckKind,
        policy::{CheckPolicy, CheckSource, CommandCheck, Waits},
    };

    fn check(run: &str, needs: &[&str]) -> CheckPolicy {
        let mut command = CommandCheck::new(run);
        command.needs = needs.iter().map(|need| need.parse().unwrap()).collect();
        CheckPolicy {
            kind: CheckKind::Custom,
            source: CheckSource::Command(command),
            is_detected: false,
        }
    }

    fn plan(
        checks: &[(&str, CheckPolicy)],
        only: Option<&BTreeSet<CheckName>>,
    ) -> Result<Plan, SelectionError> {
        let checks = checks
            .iter()
            .map(|(name, check)| (name.parse().unwrap(), check.clone()))
            .collect();
        Plan::new(
            &checks,
            only,
            &Git::at(&std::env::temp_dir()),
            NonZeroUsize::new(2),
        )
    }

    async fn outcomes(plan: &Plan) -> (Vec<(String, &'static str)>, Vec<String>) {
        let diary = Arc::new(Mutex::new(Vec::new()));
        let written = Arc::clone(&diary);
        let note = move |check: &CheckName, event: CheckEvent<'_>| {
            written.lock().unwrap().push(match event {
                CheckEvent::Started => format!("+{check}"),
                CheckEvent::Repeating(nth, wait) => format!("{nth} {check} {}", wait.as_secs()),
                CheckEvent::Ended(_) => format!("-{check}"),
                CheckEvent::Again(_) | CheckEvent::Proving(_) | CheckEvent::Output(_) => return,
            });
        };
        let evidence = run(plan, Interrupt::new(), Arc::new(note)).await.checks;
        let outcomes = evidence
            .iter()
            .map(|check| (check.name.to_string(), check.outcome.as_str()))
            .collect();
        (outcomes, diary.lock().unwrap().clone())
    }

    fn expected(outcomes: &[(&str, &'static str)]) -> Vec<(String, &'static str)> {
        outcomes
            .iter()
            .map(|(name, outcome)| ((*name).to_owned(), *outcome))
            .collect()
    }

    #[tokio::test]
    async fn independent_checks_run_at_once_and_needs_run_after() {
        let fifo = tempfile::tempdir().unwrap();
        let path = fifo.path().join("pipe");
        let pipe = path.display();
        assert!(
            std::process::Command::new("mkfifo")
                .arg(&path)
                .status()
                .unwrap()
                .success()
        );
        // Each waits for the other: they end only if they run at the same time.
        let checks = [
            ("last", check("true", &["one", "two"])),
            ("one", check(&format!("echo hello > {pipe}"), &[])),
            ("two", check(&format!("cat {pipe}"), &[])),
        ];
        let (got, diary) = outcomes(&plan(&checks, None).unwrap()).await;
        assert_eq!(
            got,
            expected(&[("last", "passed"), ("one", "passed"), ("two", "passed")])
        );
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
        let (got, _) = outcomes(&plan(&checks, None).unwrap()).await;
        assert_eq!(
            got,
            expected(&[
                ("build", "failed"),
                ("unit", "skipped"),
                ("slow", "skipped"),
                ("lint", "passed")
            ])
        );
    }

    #[tokio::test]
    async fn fail_fast_ends_what_still_runs() {
        let mut failing = check("exit 1", &[]);
        if let CheckSource::Command(command) = &mut failing.source {
            command.fail_fast = true;
        }
        let checks = [
            ("slow", check("sleep 60", &[])),
            ("quick", failing),
            ("later", check("true", &[])),
        ];
        let (got, _) = outcomes(&plan(&checks, None).unwrap()).await;
        assert_eq!(
            got,
            expected(&[
                ("slow", "cancelled"),
                ("quick", "failed"),
                ("later", "skipped")
            ])
        );
    }

    const NO_NETWORK: &str = "echo 'curl: (6) Could not resolve host: api.example.com'; exit 1";

    fn waits(seconds: i64, times: u32) -> Waits {
        Waits {
            first_wait: TimeDelta::seconds(seconds),
            longest_wait: TimeDelta::hours(1),
            times,
        }
    }

    #[tokio::test]
    async fn what_fails_for_reasons_outside_the_code_is_repeated() {
        let directory = tempfile::tempdir().unwrap();
        let runs = directory.path().join("runs");
        let runs = runs.display();
        // Succeeds at the third run.
        let line = format!("echo >> {runs}; test $(wc -l < {runs}) -ge 3 || {{ {NO_NETWORK}; }}");
        let flaky = plan(&[("net", check(&line, &[]))], None).unwrap();
        let (got, diary) = outcomes(&flaky.repeating(waits(0, 5))).await;
        assert_eq!(got, expected(&[("net", "passed")]));
        assert_eq!(diary, ["+net", "1 net 0", "2 net 0", "-net"]);

        let down = || {
            plan(
                &[
                    ("net", check(NO_NETWORK, &[])),
                    ("code", check("exit 1", &[])),
                ],
                None,
            )
            .unwrap()
        };
        let (got, diary) = outcomes(&down().repeating(waits(0, 2))).await;
        assert_eq!(got, expected(&[("net", "failed"), ("code", "failed")]));
        let repeated: Vec<&String> = diary
            .iter()
            .filter(|line| line.starts_with(char::is_numeric))
            .collect();
        assert_eq!(
            repeated,
            ["1 net 0", "2 net 0"],
            "as often as is said, and nothing else is"
        );
        let missing = plan(&[("gone", check("no-such-program-9", &[]))], None).unwrap();
        let (_, diary) = outcomes(&missing.repeating(waits(0, 2))).await;
        assert_eq!(
            diary,
            ["+gone", "-gone"],
            "a program that is missing stays missing"
        );
        let (_, diary) = outcomes(&down().repeating(waits(120, 1))).await;
        assert_eq!(
            diary.len(),
            4,
            "what would not fit into the timeout is not begun: {diary:?}"
        );
    }

    #[tokio::test]
    async fn an_interrupt_ends_the_wait_for_a_repetition() {
        let mut patient = check(NO_NETWORK, &[]);
        if let CheckSource::Command(command) = &mut patient.source {
            command.timeout = TimeDelta::hours(6);
        }
        let plan = plan(&[("net", patient)], None)
            .unwrap()
            .repeating(waits(3_600, 1));
        let interrupt = Interrupt::new();
        let impatient = interrupt.clone();
        let cancel = move |_: &CheckName, event: CheckEvent<'_>| {
            if matches!(event, CheckEvent::Repeating(..)) {
                impatient.cancel();
            }
        };
        let ran = run(&plan, interrupt, Arc::new(cancel)).await;
        assert_eq!(ran.checks[0].outcome, Outcome::Failed);
    }

    #[test]
    fn a_selection_brings_what_it_needs_and_refuses_what_is_not_there() {
        let checks = [
            ("a", check("true", &[])),
            ("b", check("true", &["a"])),
            ("c", check("true", &[])),
        ];
        let only = |name: &str| BTreeSet::from([name.parse().unwrap()]);
        let names: Vec<String> = plan(&checks, Some(&only("b")))
            .unwrap()
            .checks
            .keys()
            .map(ToString::to_string)
            .collect();
        assert_eq!(names, ["a", "b"]);
        let error = plan(&checks, Some(&only("d"))).unwrap_err().to_string();
        assert_eq!(
            error,
            "there is no check `d`; the configuration has a, b, c"
        );
    }
}
