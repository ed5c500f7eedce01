//! How a local loop begins, what governs it and what its fixers may spend: the repository's policy, with what was
//! confirmed when the loop was set up.

use std::collections::BTreeSet;

use chrono::TimeDelta;

use crate::{
    concerns::verdict::evaluate,
    evidence::CheckKind,
    ids::{Alias, CheckName, Timestamp},
    observed::{CodeType, Snapshot},
    policy::{
        CapabilityMode, CheckPolicy, CheckSource, CommandCheck, FixerBudget, Phase, Policy,
        ReviewRequirement, Rule, RuleCheck, Severity,
    },
    state::{LoopState, Major, ReflexState, Settings, Spent, Step, Task, criteria},
};

/// The policy of a loop. Gates and reviews are for pull requests; external checks cannot be run here.
pub fn govern(policy: &Policy, settings: &Settings, max_iterations: u32) -> Policy {
    let mut policy = policy.clone();
    policy.gates.clear();
    policy.retry.review = ReviewRequirement::Auto;
    policy.retry.capabilities = CapabilityMode::Off;
    policy.retry.max_attempts = max_iterations;
    policy.evaluate.thresholds.a = settings.threshold_a;
    policy.evaluate.thresholds.b = settings.threshold_b;
    if !settings.checks.is_empty() {
        let check = |(name, run): &(CheckName, String)| {
            // A test, unless the name says otherwise.
            let kind = CheckKind::of_name(name.as_str()).unwrap_or(CheckKind::Test);
            let source = CheckSource::Command(CommandCheck::new(run));
            (
                name.clone(),
                CheckPolicy {
                    kind,
                    source,
                    is_detected: true,
                },
            )
        };
        policy.verify.checks = settings.checks.iter().map(check).collect();
    }
    policy
        .verify
        .checks
        .retain(|_, check| matches!(check.source, CheckSource::Command(_)));
    // Rules that must pass by the settings, whatever their severity was: mandatory checks, and those that were given
    // with the task, which has nothing else to be measured by.
    let given = settings.checks.iter().map(|(name, _)| name);
    let mandatory: BTreeSet<&str> = settings
        .mandatory
        .iter()
        .chain(given)
        .map(CheckName::as_str)
        .collect();
    let raised: Vec<Rule> = evaluate::rules(&policy, settings.task_type)
        .into_iter()
        .filter(|rule| {
            let warns = settings.major == Major::Warn && rule.severity == Severity::Warn;
            rule.severity != Severity::Fail && (warns || mandatory.contains(rule.id.as_str()))
        })
        .map(|rule| Rule {
            severity: Severity::Fail,
            ..rule
        })
        .collect();
    policy
        .evaluate
        .rules
        .retain(|own| raised.iter().all(|rule| rule.id != own.id));
    policy.evaluate.rules.extend(raised);
    policy
}

/// PREPARE: the concrete checks that the active rules look at, in the policy's order, with what they need.
pub fn prepared_checks(policy: &Policy, rules: &[Rule], phase: Phase) -> Vec<CheckName> {
    let active: Vec<&Rule> = rules.iter().filter(|rule| rule.phase <= phase).collect();
    let checks = active.iter().filter_map(|rule| {
        if let RuleCheck::Check(name) = &rule.check {
            Some(name)
        } else {
            None
        }
    });
    let named: BTreeSet<&CheckName> = checks.collect();
    let looks_at = |kind: CheckKind| {
        active.iter().any(|rule| match rule.check {
            RuleCheck::PassedRatio(_) => kind.is_of_tests(),
            RuleCheck::ChangedCoverage(_) => matches!(kind, CheckKind::Test | CheckKind::Coverage),
            RuleCheck::Findings { .. } => matches!(kind, CheckKind::Security | CheckKind::Lint),
            _ => false,
        })
    };
    let is_asked =
        |(name, check): &(&CheckName, &CheckPolicy)| named.contains(name) || looks_at(check.kind);
    let mut wanted: BTreeSet<&CheckName> = policy
        .verify
        .checks
        .iter()
        .filter(is_asked)
        .map(|(name, _)| name)
        .collect();
    let mut open: Vec<&CheckName> = wanted.iter().copied().collect();
    while let Some(name) = open.pop() {
        if let Some(CheckSource::Command(command)) =
            policy.verify.checks.get(name).map(|check| &check.source)
        {
            let known = command
                .needs
                .iter()
                .filter(|need| policy.verify.checks.contains_key(*need));
            open.extend(known.filter(|need| wanted.insert(*need)));
        }
    }
    policy
        .verify
        .checks
        .keys()
        .filter(|name| wanted.contains(name))
        .cloned()
        .collect()
}

/// The task as the title of a change, with the prefix of its type. A prefix of another type is replaced, since the type
/// was confirmed and the words were not.
pub fn title(task_type: CodeType, task: &str) -> String {
    let prefix = match task_type {
        CodeType::NewFunction => "feat",
        CodeType::BugFix => "fix",
        CodeType::Refactor => "refactor",
        CodeType::ApiEndpoint => "api",
        CodeType::Integration => "integration",
    };
    let line = task.lines().next().unwrap_or_default().trim();
    let prefixed = line.split_once(':').filter(|(word, _)| !word.contains(' '));
    match prefixed.and_then(|(word, rest)| Some((infer_type(word)?, rest))) {
        Some((written, _)) if written == task_type => line.to_owned(),
        Some((_, rest)) => format!("{prefix}: {}", rest.trim_start()),
        None => format!("{prefix}: {line}"),
    }
}

/// Infers the type of a task from the first word in the table below. It is a proposal that a person confirms.
pub fn infer_type(task: &str) -> Option<CodeType> {
    let words = task.to_lowercase();
    words
        .split(|c: char| !c.is_alphanumeric())
        .find_map(|word| {
            Some(match word {
                "fix" | "fixes" | "bug" | "bugfix" | "hotfix" | "repair" | "mend"
                | "regression" => CodeType::BugFix,
                "refactor" | "rename" | "simplify" | "restructure" => CodeType::Refactor,
                "endpoint" | "route" | "api" => CodeType::ApiEndpoint,
                "integrate" | "integration" | "connect" => CodeType::Integration,
                "feat" | "feature" | "add" | "implement" | "write" | "create" => {
                    CodeType::NewFunction
                }
                _ => return None,
            })
        })
}

/// A number of iterations the task text asks for, 1 to 10; a proposal, confirmed before it counts.
pub fn infer_limit(task: &str) -> Option<u32> {
    let limit = pattern!(r"(?i)\b(\d{1,2})\s+(?:iterations?|attempts?|tries|rounds?)\b");
    limit
        .captures(task)?
        .get(1)?
        .as_str()
        .parse()
        .ok()
        .filter(|limit| (1..=10).contains(limit))
}

/// A new local loop over what `snapshot` shows, under the policy that governs it.
pub fn begin(
    snapshot: &Snapshot,
    policy: &Policy,
    alias: &Alias,
    task: Task,
    settings: Settings,
    now: Timestamp,
) -> LoopState {
    let mut state = LoopState::begin(snapshot, policy, now);
    state.run.pull_request = None;
    state.run.id = format!("{alias}-{}", now.format("%Y%m%d-%H%M%S"));
    state.run.alias = alias.to_string();
    state.run.title = if task.prompt.trim().is_empty() {
        alias.to_string()
    } else {
        title(settings.task_type, &task.prompt)
    };
    state.run.task = task;
    state.run.phase = Phase::A;
    state.run.step = Step::Plan;
    state.run.max_iterations = settings.limit;
    state.head.artifact.code_type = settings.task_type;
    // Nothing has been produced yet.
    state.head.artifact.content_hash = String::new();
    state.shown.criteria = criteria(
        &policy.evaluate,
        &evaluate::rules(policy, settings.task_type),
    );
    state.run.reflex = Some(ReflexState {
        settings,
        began_at: state.head.sha,
        ..ReflexState::default()
    });
    state
}

/// Which part of the budget is used up.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Exhausted {
    /// So many calls, which is all that `fixer.budget.attempts` allows.
    Calls { calls: u32 },
    /// So many seconds of work, which is all that `fixer.budget.wall_time` allows.
    WallTime { seconds: i64 },
    /// So many USD, and the cap of `fixer.budget.cost_usd`.
    Cost { spent: f64, cap: f64 },
}

/// How long one more call may take at most (none: as long as the fixer's own timeout).
///
/// # Errors
/// When there is nothing left to spend.
pub fn time_left(budget: &FixerBudget, spent: &Spent) -> Result<Option<TimeDelta>, Exhausted> {
    if budget.attempts.is_some_and(|most| spent.calls >= most.0) {
        return Err(Exhausted::Calls { calls: spent.calls });
    }
    if let Some(cap) = budget.cost_usd.filter(|cap| spent.cost_usd >= cap.0) {
        return Err(Exhausted::Cost {
            spent: spent.cost_usd,
            cap: cap.0,
        });
    }
    let Some(most) = budget.wall_time else {
        return Ok(None);
    };
    let used =
        TimeDelta::milliseconds(i64::try_from(spent.wall_ms).unwrap_or(i64::MAX / 1_000_000));
    let left = most.0 - used;
    if left > TimeDelta::zero() {
        Ok(Some(left))
    } else {
        Err(Exhausted::WallTime {
            seconds: used.num_seconds(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fixtures,
        ids::Score,
        policy::{Period, UpTo, Whole},
    };

    fn settings() -> Settings {
        Settings {
            threshold_a: Score::from_ratio(0.8, 1.0),
            threshold_b: Score::from_ratio(0.9, 1.0),
            limit: 4,
            ..Settings::default()
        }
    }

    fn severity(policy: &Policy, id: &str) -> Option<Severity> {
        let rules = evaluate::rules(policy, CodeType::NewFunction);
        rules
            .iter()
            .find(|rule| rule.id.as_str() == id)
            .map(|rule| rule.severity)
    }

    #[test]
    fn what_counts_as_major_is_raised() {
        let policy = fixtures::policy();
        assert_eq!(
            severity(&govern(&policy, &settings(), 4), "tests_added"),
            Some(Severity::Warn)
        );
        let strict = Settings {
            major: Major::Warn,
            ..settings()
        };
        assert_eq!(
            severity(&govern(&policy, &strict, 4), "tests_added"),
            Some(Severity::Fail)
        );
        let checks = vec![("docs".parse().unwrap(), "true".to_owned())];
        let given = Settings {
            checks,
            ..settings()
        };
        assert_eq!(
            severity(&govern(&policy, &given, 4), "docs"),
            Some(Severity::Fail)
        );
        let mandatory = Settings {
            mandatory: vec!["tests_added".parse().unwrap()],
            ..settings()
        };
        assert_eq!(
            severity(&govern(&policy, &mandatory, 4), "tests_added"),
            Some(Severity::Fail)
        );
    }

    #[test]
    fn phase_a_prepares_only_what_its_rules_look_at() {
        let checks = [("build", "a"), ("unit", "b"), ("security", "c")];
        let checks = checks
            .map(|(name, run)| (name.parse().unwrap(), run.to_owned()))
            .into();
        let policy = govern(
            &fixtures::policy(),
            &Settings {
                checks,
                ..settings()
            },
            4,
        );
        let rules = evaluate::rules(&policy, CodeType::NewFunction);
        let names = |phase| {
            prepared_checks(&policy, &rules, phase)
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
        };
        assert_eq!(names(Phase::A), ["build", "unit"]);
        assert_eq!(names(Phase::B), ["build", "unit", "security"]);
    }

    #[test]
    fn what_is_read_from_a_task() {
        for (task, code_type, limit) in [
            (
                "Fix the sum, at most 3 attempts",
                Some(CodeType::BugFix),
                Some(3),
            ),
            (
                "add an endpoint for widgets",
                Some(CodeType::NewFunction),
                None,
            ),
            (
                "rename the parser in 99 rounds",
                Some(CodeType::Refactor),
                None,
            ),
            ("widgets", None, None),
        ] {
            assert_eq!(
                (infer_type(task), infer_limit(task)),
                (code_type, limit),
                "{task}"
            );
        }
        assert_eq!(
            title(CodeType::BugFix, "the sum is wrong"),
            "fix: the sum is wrong"
        );
        assert_eq!(title(CodeType::BugFix, "fix: the sum"), "fix: the sum");
        assert_eq!(
            title(CodeType::Refactor, "fix(calc): the sum"),
            "refactor: the sum"
        );
        assert_eq!(
            title(CodeType::BugFix, "the sum: it begins at 1"),
            "fix: the sum: it begins at 1"
        );
    }

    #[test]
    fn each_part_of_the_budget_ends_it() {
        let spent = |calls, wall_ms, cost_usd| Spent {
            calls,
            wall_ms,
            cost_usd,
        };
        let wall_time = Some(Period(TimeDelta::seconds(60)));
        let budget = FixerBudget {
            attempts: Some(Whole(2)),
            wall_time,
            cost_usd: Some(UpTo(1.5)),
        };
        let left = |spent| time_left(&budget, &spent);
        assert_eq!(
            left(spent(1, 20_000, 1.0)),
            Ok(Some(TimeDelta::seconds(40)))
        );
        assert_eq!(left(spent(2, 0, 0.0)), Err(Exhausted::Calls { calls: 2 }));
        assert_eq!(
            left(spent(1, 60_000, 0.0)),
            Err(Exhausted::WallTime { seconds: 60 })
        );
        assert!(matches!(
            left(spent(1, 0, 1.5)),
            Err(Exhausted::Cost { .. })
        ));
        assert_eq!(
            time_left(&FixerBudget::default(), &spent(99, u64::MAX, 1e9)),
            Ok(None)
        );
    }
}
