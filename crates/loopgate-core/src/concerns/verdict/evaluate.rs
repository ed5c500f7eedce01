//! Evaluation: rules, weights and phases become a score and a verdict. The score is the weight of the passed active
//! rules divided by the weight of all active rules.

use crate::{
    concerns::{
        checks::{
            CheckStanding, LostJob,
            gather::{CheckView, HeadEvidence, OnBase},
        },
        coverage::{MissingTests, TOLERATED_LOSS},
    },
    evidence::{ChangedCoverage, CheckKind, CheckResults, Outcome},
    ids::{CheckName, RuleId, Score},
    observed::{ChangedFile, ChangedFiles, CodeType, FileStatus, Patch},
    policy::{
        AddedPattern, Context, CoverageTarget, FileGlob, Phase, Policy, RequiredTest, Rule,
        RuleCheck, Severity, UpTo, Yes,
    },
    source_files::{TestSyntax, is_code, is_test},
    state::{EvaluationSummary, StopReason},
};

pub use crate::state::DistanceToSuccess;

/// The outcome of evaluating the rules on one head.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    pub phase: Phase,
    pub score: Score,
    pub threshold: Score,
    pub verdict: EvaluationVerdict,
    /// Active rules with their outcome, in their order.
    pub rules: Vec<RuleView>,
    /// 0.3 × test pass rate + 0.7 × score, as `progress.weight` says.
    pub progress: Score,
}

impl Evaluation {
    pub fn passed(&self) -> bool {
        matches!(self.verdict, EvaluationVerdict::Passed(_))
    }

    /// Ids of the active rules that failed with severity fail or warn.
    pub fn failed_rules(&self) -> Vec<RuleId> {
        self.failed(Severity::Fail)
    }

    pub fn warnings(&self) -> Vec<RuleId> {
        self.failed(Severity::Warn)
    }

    /// What the state keeps of it.
    pub fn summary(&self) -> EvaluationSummary {
        EvaluationSummary {
            score: self.score,
            passed: self.passed(),
            failed_rules: self.failed_rules(),
            warnings: self.warnings(),
        }
    }

    fn failed(&self, severity: Severity) -> Vec<RuleId> {
        let failed = |rule: &&RuleView| {
            rule.severity == severity && matches!(rule.outcome, RuleOutcome::Failed(_))
        };
        self.rules
            .iter()
            .filter(failed)
            .map(|rule| rule.id.clone())
            .collect()
    }
}

/// How an evaluation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvaluationVerdict {
    /// Some evidence is still missing.
    Undecided,
    Passed(StopReason),
    Failed,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RuleView {
    pub id: RuleId,
    pub description: String,
    pub severity: Severity,
    pub weight: f64,
    pub outcome: RuleOutcome,
}

#[derive(Clone, Debug, PartialEq)]
pub enum RuleOutcome {
    Passed,
    Failed(RuleFailure),
    /// What it looks at is not known yet, or does not exist here: it has no weight.
    Unknown,
}

/// Why a rule does not hold, with what shows it.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleFailure {
    /// A check did not pass.
    Check { check: CheckName, how: CheckFailure },
    /// Fewer tests pass than are to.
    PassedRatio { ratio: Score, least: Score },
    /// Percent of the changed lines, and places of those that no test executes.
    ChangedCoverage {
        percent: f64,
        least: f64,
        uncovered: Vec<String>,
    },
    /// Files of the change that no coverage report names.
    NotMeasured { files: Vec<String> },
    /// Percent of all lines, here and on the base.
    CoverageLost { head: f64, base: f64 },
    /// Tests of a required sort are missing.
    RequiredTest(MissingTests),
    /// More findings than are allowed.
    Findings { count: u64, most: u64 },
    /// Code changed, and no test.
    NoTestsAdded,
    /// None of the paths that these globs match is changed, too.
    NotTogether { also: Vec<String> },
    /// No added line matches the pattern.
    NotFound { pattern: String },
    /// An added line matches the pattern.
    Found {
        path: String,
        line: u32,
        pattern: String,
    },
    /// So much is changed.
    TooLarge { lines: u64, files: usize },
}

/// How a check ended without passing.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckFailure {
    /// No evidence came in time.
    NoEvidence,
    /// GitHub did not start it.
    NotStarted,
    /// Jobs that execute it ended without evidence.
    Lost { jobs: Vec<LostJob> },
    /// Its evidence was refused.
    EvidenceRefused { reason: String },
    /// It ran into its timeout.
    TimedOut,
    /// It executed no test.
    NoTests,
    /// It passed without results by test, which it had before.
    ResultsLost,
    /// It failed, with so many failures in its reports.
    Failed { failures: u64 },
}

/// The rule that changed code comes with changed tests.
pub const TESTS_ADDED: &str = "tests_added";

/// The rules in force: one for each configured check, the ones every repository has, and those it wrote itself.
/// A rule of the configuration replaces a default one with the same id.
pub fn rules(policy: &Policy, code_type: CodeType) -> Vec<Rule> {
    let of_checks = policy.verify.checks.iter().map(|(name, check)| {
        use CheckKind::{Build, Lint, Test, Types};
        let (severity, description) = (check.severity(), format!("{name} passes"));
        let weight = check.is_opinion().then_some(UpTo(0.0));
        // Phase A holds what VERIFY asks for, phase B what VALIDATE asks for on top.
        let phase = if matches!(check.kind, Build | Types | Test | Lint) {
            Phase::A
        } else {
            Phase::B
        };
        Rule {
            id: name.into(),
            description,
            severity,
            weight,
            phase,
            check: RuleCheck::Check(name.clone()),
        }
    });
    let tests_added = match code_type {
        CodeType::BugFix => Severity::Fail,
        _ => Severity::Warn,
    };
    // A rule on the change as a whole that every repository has.
    let of_change = |id: &str, description: String, severity: Severity, check: RuleCheck| {
        Some(Rule {
            id: id.parse().ok()?,
            description,
            severity,
            weight: None,
            phase: Phase::B,
            check,
        })
    };
    let mut rules: Vec<Rule> = of_checks.collect();
    let added = "changed code comes with changed tests".to_owned();
    rules.extend(of_change(
        TESTS_ADDED,
        added,
        tests_added,
        RuleCheck::TestsAdded(Yes),
    ));
    let (description, check) = match policy.coverage.target(code_type) {
        CoverageTarget::Percent(percent) => (
            format!("at least {percent} % of the changed lines are covered"),
            RuleCheck::ChangedCoverage(UpTo(percent)),
        ),
        CoverageTarget::MatchBase => (
            "the coverage of all lines is that of the base".to_owned(),
            RuleCheck::CoverageKept,
        ),
    };
    rules.extend(of_change(
        COVERAGE_RULE,
        description,
        policy.coverage.below_minimum,
        check,
    ));
    rules.extend(policy.coverage.judged_tests(code_type).filter_map(|sort| {
        let severity = match sort {
            RequiredTest::RegressionTest | RequiredTest::ExistingTestsPass => Severity::Fail,
            _ => Severity::Warn,
        };
        of_change(
            sort.as_str(),
            sort.description().to_owned(),
            severity,
            RuleCheck::RequiredTest(sort),
        )
    }));
    rules.retain(|default| policy.evaluate.rules.iter().all(|own| own.id != default.id));
    rules.extend(policy.evaluate.rules.iter().cloned());
    let mut seen = std::collections::BTreeSet::new();
    rules.retain(|rule| seen.insert(rule.id.clone()));
    rules
}

/// Id of the rule on coverage that every change has.
pub const COVERAGE_RULE: &str = "coverage";

/// Evaluates the head. In phase A, a pass switches to B at once, on the same head and without a new attempt; a run
/// that has reached B stays there.
pub fn evaluate(
    cx: Context<'_>,
    evidence: &HeadEvidence,
    rules: &[Rule],
    phase: Phase,
) -> Evaluation {
    match evaluate_phase(cx, evidence, rules, phase) {
        first if first.passed() && phase == Phase::A => {
            evaluate_phase(cx, evidence, rules, Phase::B)
        }
        first => first,
    }
}

/// Evaluates the head by the rules of one phase alone.
pub fn evaluate_phase(
    cx: Context<'_>,
    evidence: &HeadEvidence,
    rules: &[Rule],
    phase: Phase,
) -> Evaluation {
    let Context {
        snapshot, policy, ..
    } = cx;
    let active = rules.iter().filter(|rule| rule.phase <= phase);
    let mut waiting = false;
    let judged = active.map(|rule| {
        let outcome = judge(&snapshot.files, evidence, rule, &mut waiting);
        let Rule {
            id,
            description,
            severity,
            ..
        } = rule.clone();
        RuleView {
            id,
            description,
            severity,
            weight: rule.weight(),
            outcome,
        }
    });
    let views: Vec<RuleView> = judged.collect();
    let weight_of = |wanted: fn(&RuleOutcome) -> bool| -> f64 {
        views
            .iter()
            .filter(|view| wanted(&view.outcome))
            .map(|view| view.weight)
            .sum()
    };
    let passed = weight_of(|outcome| *outcome == RuleOutcome::Passed);
    let score = Score::from_ratio(
        passed,
        weight_of(|outcome| *outcome != RuleOutcome::Unknown),
    );
    let threshold = policy.evaluate.thresholds.of(phase);
    let blocked = views.iter().any(|view| {
        view.severity == Severity::Fail && matches!(view.outcome, RuleOutcome::Failed(_))
    });
    let verdict = match () {
        () if blocked && !waiting => EvaluationVerdict::Failed,
        () if waiting => EvaluationVerdict::Undecided,
        () if score >= threshold => EvaluationVerdict::Passed(StopReason::ThresholdReached),
        () if policy.evaluate.no_major_issues.contains(&phase) => {
            EvaluationVerdict::Passed(StopReason::NoMajorIssues)
        }
        () => EvaluationVerdict::Failed,
    };
    let weight = policy.retry.progress.weight;
    let progress = weight * pass_rate(&results(evidence)) + (1.0 - weight) * score.as_f64();
    Evaluation {
        phase,
        score,
        threshold,
        verdict,
        rules: views,
        progress: Score::from_ratio(progress, 1.0),
    }
}

/// Sum of the test results of all checks.
pub fn results(evidence: &HeadEvidence) -> CheckResults {
    let mut sum = CheckResults::default();
    for results in evidence.ended().filter_map(|check| check.results) {
        sum.add(&results);
    }
    sum
}

fn pass_rate(results: &CheckResults) -> f64 {
    let executed = results.total.saturating_sub(results.skipped);
    if executed == 0 {
        1.0
    } else {
        results.passed as f64 / executed as f64
    }
}

fn judge(
    files: &ChangedFiles,
    evidence: &HeadEvidence,
    rule: &Rule,
    waiting: &mut bool,
) -> RuleOutcome {
    match &rule.check {
        RuleCheck::Check(name) => match evidence.checks.get(name) {
            None => RuleOutcome::Unknown,
            Some(check) if !check.has_ended() => {
                *waiting = true;
                RuleOutcome::Unknown
            }
            Some(check) if check.baseline != OnBase::Excused && check.ended_badly() => {
                RuleOutcome::Failed(RuleFailure::Check {
                    check: name.clone(),
                    how: end_of(check),
                })
            }
            // A skipped check satisfies its transition but is no evidence that anything passed.
            Some(check)
                if check
                    .evidence()
                    .is_none_or(|e| e.outcome == Outcome::Skipped) =>
            {
                RuleOutcome::Unknown
            }
            Some(_) => RuleOutcome::Passed,
        },
        RuleCheck::PassedRatio(least) => {
            let results = results(evidence);
            if results.total == 0 {
                return RuleOutcome::Unknown;
            }
            let (ratio, least) = (
                Score::from_ratio(pass_rate(&results), 1.0),
                Score::from_ratio(least.0, 1.0),
            );
            verdict(ratio >= least, || RuleFailure::PassedRatio { ratio, least })
        }
        RuleCheck::ChangedCoverage(least) => {
            // Without a report coverage is unknown; with one, a change without an executable line has nothing to cover.
            let Some(coverage) = &evidence.coverage else {
                return RuleOutcome::Unknown;
            };
            if let Some(unmeasured) = unmeasured(coverage, rule) {
                return unmeasured;
            }
            let percent = coverage.changed_percent().unwrap_or(100.0);
            let uncovered = || coverage.uncovered.clone();
            let short = || RuleFailure::ChangedCoverage {
                percent,
                least: least.0,
                uncovered: uncovered(),
            };
            verdict(percent >= least.0, short)
        }
        RuleCheck::CoverageKept => {
            if let Some(unmeasured) = evidence
                .coverage
                .as_ref()
                .and_then(|it| unmeasured(it, rule))
            {
                return unmeasured;
            }
            let head = evidence
                .coverage
                .as_ref()
                .and_then(ChangedCoverage::percent);
            let (Some(head), Some(base)) = (head, evidence.coverage_on_base) else {
                return RuleOutcome::Unknown;
            };
            // A billionth for what binary fractions add to the difference.
            verdict(base - head <= TOLERATED_LOSS + 1e-9, || {
                RuleFailure::CoverageLost { head, base }
            })
        }
        RuleCheck::RequiredTest(sort) => match evidence.required_tests.get(sort) {
            None => RuleOutcome::Unknown,
            Some(Ok(())) => RuleOutcome::Passed,
            Some(Err(missing)) => RuleOutcome::Failed(RuleFailure::RequiredTest(missing.clone())),
        },
        RuleCheck::Findings { severity, most } => {
            let found = evidence.ended().flat_map(|check| &check.findings);
            let count = found
                .filter(|finding| finding.severity >= *severity)
                .count() as u64;
            let most = most.map_or(0, |most| u64::from(most.0));
            verdict(count <= most, || RuleFailure::Findings { count, most })
        }
        // A test that fails on the base and passes here is what this asks for, by any author.
        RuleCheck::TestsAdded(_) if evidence.mends_a_test => RuleOutcome::Passed,
        RuleCheck::TestsAdded(_) => tests_added(files.known()),
        RuleCheck::ChangeTogether { changed, also } => {
            let touches =
                |globs: &[FileGlob<false>]| files.known().iter().any(|file| touched(file, globs));
            let names = || {
                also.0
                    .iter()
                    .map(|glob| glob.0.as_str().to_owned())
                    .collect()
            };
            verdict(!touches(&changed.0) || touches(&also.0), || {
                RuleFailure::NotTogether { also: names() }
            })
        }
        RuleCheck::MustAppear(AddedPattern { pattern, paths }) => {
            let found = added(files, paths).any(|(_, _, text)| pattern.matches(text));
            verdict(found, || RuleFailure::NotFound {
                pattern: pattern.as_str().to_owned(),
            })
        }
        RuleCheck::MustNotAppear(AddedPattern { pattern, paths }) => {
            let found = added(files, paths).find(|(_, _, text)| pattern.matches(text));
            found.map_or(RuleOutcome::Passed, |(path, line, _)| {
                let (path, pattern) = (path.to_owned(), pattern.as_str().to_owned());
                RuleOutcome::Failed(RuleFailure::Found {
                    path,
                    line,
                    pattern,
                })
            })
        }
        RuleCheck::Size {
            max_lines,
            max_files,
        } => {
            let files = files.known();
            let lines: u64 = files
                .iter()
                .map(|file| u64::from(file.additions) + u64::from(file.deletions))
                .sum();
            let small = max_lines.is_none_or(|max| lines <= u64::from(max.0))
                && max_files.is_none_or(|max| files.len() <= max.0 as usize);
            verdict(small, || RuleFailure::TooLarge {
                lines,
                files: files.len(),
            })
        }
    }
}

fn verdict(passed: bool, why: impl FnOnce() -> RuleFailure) -> RuleOutcome {
    if passed {
        RuleOutcome::Passed
    } else {
        RuleOutcome::Failed(why())
    }
}

/// How a check that failed ended.
fn end_of(check: &CheckView) -> CheckFailure {
    match &check.standing {
        CheckStanding::NotStarted { .. } => CheckFailure::NotStarted,
        CheckStanding::Lost { jobs } => CheckFailure::Lost { jobs: jobs.clone() },
        CheckStanding::Refused { reason } => CheckFailure::EvidenceRefused {
            reason: reason.clone(),
        },
        CheckStanding::Done(evidence) => match evidence.outcome {
            Outcome::TimedOut => CheckFailure::TimedOut,
            Outcome::NoTestsExecuted => CheckFailure::NoTests,
            Outcome::ResultsLost => CheckFailure::ResultsLost,
            _ => CheckFailure::Failed {
                failures: evidence.failures.len() as u64 + evidence.failures_not_kept,
            },
        },
        // What waits or is skipped has not failed, unless no evidence came in time.
        _ => CheckFailure::NoEvidence,
    }
}

fn touched(file: &ChangedFile, globs: &[FileGlob<false>]) -> bool {
    file.paths()
        .any(|path| globs.iter().any(|glob| glob.0.matches(path)))
}

fn added<'a>(
    files: &'a ChangedFiles,
    paths: &'a [FileGlob<false>],
) -> impl Iterator<Item = (&'a str, u32, &'a str)> {
    let files = files
        .known()
        .iter()
        .filter(|file| paths.is_empty() || touched(file, paths));
    files.flat_map(|file| {
        let lines = file.added_lines().unwrap_or_default();
        lines
            .into_iter()
            .map(|(line, text)| (file.path.as_str(), line, text))
    })
}

/// Code changed, so a test was added or changed too. A change without code (documents, configuration) passes.
fn tests_added(files: &[ChangedFile]) -> RuleOutcome {
    let changed = |file: &&ChangedFile| file.status != FileStatus::Removed && file.additions > 0;
    let code = files
        .iter()
        .filter(changed)
        .any(|file| is_code(&file.path) && !is_test(&file.path));
    // Languages such as Rust keep unit tests in the file they test.
    let inline_test = |file: &ChangedFile| {
        let syntax = TestSyntax::of(&file.path).filter(|syntax| syntax.inline);
        let patch = syntax.and_then(|_| file.read_patch());
        let mut added = patch.iter().flat_map(Patch::added);
        added.any(|line| syntax.is_some_and(|syntax| syntax.begins_test(line.text)))
    };
    let test = files
        .iter()
        .filter(changed)
        .any(|file| is_test(&file.path) || inline_test(file));
    verdict(!code || test, || RuleFailure::NoTestsAdded)
}

/// The outcome of a rule on coverage that has to hold, where files of the change are in no report: nothing shows that
/// their lines are covered.
fn unmeasured(coverage: &ChangedCoverage, rule: &Rule) -> Option<RuleOutcome> {
    let files = &coverage.unmeasured;
    (rule.severity == Severity::Fail && !files.is_empty()).then(|| {
        RuleOutcome::Failed(RuleFailure::NotMeasured {
            files: files.clone(),
        })
    })
}

/// How far a head that has not passed is from passing.
pub fn distance(evaluation: &Evaluation) -> DistanceToSuccess {
    let blocking = evaluation.failed_rules();
    DistanceToSuccess {
        threshold: evaluation.threshold,
        score: evaluation.score,
        gap: Score::percent(
            evaluation
                .threshold
                .hundredths()
                .saturating_sub(evaluation.score.hundredths()),
        ),
        failed_fail_rules: blocking.len(),
        blocking_rule_ids: blocking,
        passed_rules: evaluation
            .rules
            .iter()
            .filter(|rule| rule.outcome == RuleOutcome::Passed)
            .count(),
        total_rules: evaluation.rules.len(),
    }
}
