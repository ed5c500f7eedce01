//! The validated configuration that governs a pull request: the right-hand input of
//! [`decide`](crate::core::decide).
//!
//! [`config`](crate::config) makes it from `.github/loopgate.yml`; nothing in here can be out of range, and every
//! default of the contract is written down here once, in a `Default` impl.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use globset::{Glob, GlobMatcher};
use indexmap::IndexMap;
use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    escalation::{EscalationAction, Trigger},
    evidence::{CheckKind, FindingSeverity},
    gate::GatePolicy,
    ids::{CheckName, GateName, Login, RuleId, Score, Sha, TeamSlug},
};

/// Everything configurable about the loop of one pull request.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    pub origin: PolicyOrigin,
    pub mode: Mode,
    pub verify: VerifyPolicy,
    /// The `loop:` section.
    pub retry: LoopPolicy,
    pub evaluate: EvaluatePolicy,
    pub coverage: CoveragePolicy,
    /// Every gate that is not `off`, presets included.
    pub gates: BTreeMap<GateName, GatePolicy>,
    pub escalation: EscalationPolicy,
    pub labels: LabelPolicy,
    pub fixer: FixerPolicy,
    pub memory: MemoryPolicy,
    pub on_complete: OnComplete,
}

/// Where the policy in force comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyOrigin {
    /// The file as it stands at this commit of the base branch.
    Base { commit: Sha },
    /// The file at the base's head does not validate: the newest older commit that does governs.
    LastGood { commit: Sha, broken_at: Sha, error: ConfigError },
    /// No commit of the file's recent history validates: the presets govern.
    Presets { broken_at: Sha, error: ConfigError },
    /// The working tree of a local repository.
    WorkingTree,
    /// There is no file; the defaults are used (local runs only: a repository without the file gets nothing written).
    Defaults,
}

impl PolicyOrigin {
    /// What is wrong with the file at the base's head, if anything is.
    pub const fn error(&self) -> Option<&ConfigError> {
        match self {
            Self::LastGood { error, .. } | Self::Presets { error, .. } => Some(error),
            Self::Base { .. } | Self::WorkingTree | Self::Defaults => None,
        }
    }

    /// The commit whose file governs, where there is one.
    pub const fn commit(&self) -> Option<Sha> {
        match self {
            Self::Base { commit } | Self::LastGood { commit, .. } => Some(*commit),
            Self::Presets { .. } | Self::WorkingTree | Self::Defaults => None,
        }
    }
}

/// What is wrong in a configuration file, and where. Lines and columns count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    pub file: String,
    pub line: usize,
    pub column: usize,
    /// The offending line of the file.
    pub snippet: String,
    /// What is wrong, naming the key: "unknown key `aproach`".
    pub message: String,
    /// What to do: "did you mean `approve_by`?".
    pub hint: Option<String>,
}

/// Which gates hold (loop.md, Stages).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Only gates written in the configuration hold.
    Autonomous,
    /// Every triggered gate that is configured holds, of the presets security and deploy always, the others when
    /// their approvers exist.
    #[default]
    Hybrid,
    /// Every gate holds at its stage, triggered or not.
    Supervised,
}

/// The `verify:` section: which checks there are and whose evidence counts.
#[derive(Clone, Debug, PartialEq)]
pub struct VerifyPolicy {
    /// Workflow files whose evidence artifacts are accepted, without `@ref`.
    pub workflows: Vec<String>,
    /// In the order they were written.
    pub checks: IndexMap<CheckName, CheckPolicy>,
}

/// One check.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckPolicy {
    pub kind: CheckKind,
    pub source: CheckSource,
    pub presence: CheckPresence,
}

/// Whether a check was written in the configuration or found by looking at the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckPresence {
    Configured,
    Detected,
}

/// Where a check's evidence comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum CheckSource {
    Command(CommandCheck),
    External(ExternalSource),
}

/// A command executed by the Action or the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandCheck {
    /// One shell line.
    pub run: String,
    /// Relative to the repository's root.
    pub working_directory: Option<String>,
    pub environment: BTreeMap<String, String>,
    /// 5–600 s by default 120 s; up to 21,600 s where `verify.max_timeout_seconds` allows it.
    pub timeout: TimeDelta,
    /// Globs of report files, relative to the working directory.
    pub reports: Vec<String>,
    pub needs: Vec<CheckName>,
    pub empty_tests: EmptyTests,
    /// Stop the other checks as soon as this one fails.
    pub fail_fast: FailFast,
}

/// What a test check without a single test means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EmptyTests {
    #[default]
    Fail,
    Allow,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailFast {
    #[default]
    Off,
    On,
}

/// An existing check run or commit status that feeds the loop.
#[derive(Clone, Debug, PartialEq)]
pub struct ExternalSource {
    pub name: NameGlob,
    /// Slug of the App that must own it; any App when absent.
    pub app: Option<String>,
}

/// A glob over names or paths, kept with its source text.
#[derive(Clone, Debug)]
pub struct NameGlob {
    matcher: GlobMatcher,
}

impl NameGlob {
    /// # Errors
    /// When the text is not a glob.
    pub fn parse(text: &str) -> Result<Self, globset::Error> {
        Ok(Self { matcher: Glob::new(text)?.compile_matcher() })
    }

    pub fn matches(&self, name: &str) -> bool {
        self.matcher.is_match(name)
    }

    pub fn as_str(&self) -> &str {
        self.matcher.glob().glob()
    }
}

impl PartialEq for NameGlob {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

/// A regular expression, compared by its source text.
#[derive(Clone, Debug)]
pub struct Pattern(Regex);

impl Pattern {
    /// # Errors
    /// When the text is not a regular expression, or one that compiles to more than 1 MiB.
    pub fn parse(text: &str) -> Result<Self, regex::Error> {
        regex::RegexBuilder::new(text).size_limit(1 << 20).build().map(Self)
    }

    pub fn matches(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

/// The `loop:` section (loop.md, Retry policy; defaults of contracts.md).
#[derive(Clone, Debug, PartialEq)]
pub struct LoopPolicy {
    /// Failing attempts of one streak before a person is called, 1–10.
    pub max_attempts: u32,
    /// How often the same fingerprint may repeat: one present in the (n+1)th consecutive attempt escalates.
    pub same_error: u32,
    /// Failures in a run that force BLOCKED whatever else happens.
    pub total_failures: u32,
    /// Iterations of a local reflex loop.
    pub max_iterations: u32,
    pub backoff: Backoff,
    pub on_max: OnMax,
    pub regression: OnRegression,
    pub test_fail: AutoRetry,
    pub review_reject: AutoRetry,
    pub escalation_diff: EscalationDiff,
    /// Characters of a feedback summary.
    pub feedback_max_length: usize,
    /// How long a missing check is waited for before it counts as failed (class `external`).
    pub evidence_timeout: TimeDelta,
    pub review: ReviewRequirement,
    pub baseline: Baseline,
    pub capabilities: CapabilityMode,
    pub skipping: ExecutionSkips,
    /// Share of the test pass rate in the progress shown, 0–1; the rest is the score's.
    pub progress_weight: f64,
}

impl Default for LoopPolicy {
    fn default() -> Self {
        Self {
            max_attempts: 3,
            same_error: 2,
            total_failures: 10,
            max_iterations: 4,
            backoff: Backoff::None,
            on_max: OnMax::Escalate,
            regression: OnRegression::Escalate,
            test_fail: AutoRetry::Retry,
            review_reject: AutoRetry::Retry,
            escalation_diff: EscalationDiff::Include,
            feedback_max_length: 500,
            evidence_timeout: TimeDelta::minutes(60),
            review: ReviewRequirement::Auto,
            baseline: Baseline::All,
            capabilities: CapabilityMode::Hold,
            skipping: ExecutionSkips::NeverBuildOrTest,
            progress_weight: 0.3,
        }
    }
}

/// Waiting between automatic fix attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Backoff {
    #[default]
    None,
    Linear,
    Exponential,
}

/// `escalation_on_max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnMax {
    Escalate,
    /// The run is `failed`, said in the status comment; nobody is called.
    Fail,
}

/// `abort_on_regression`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnRegression {
    Escalate,
    Ignore,
}

/// `auto_retry_on_…`: whether such a failure is retried, or escalates at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutoRetry {
    Retry,
    Escalate,
}

/// `escalation_includes_diff`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EscalationDiff {
    Include,
    Omit,
}

/// `loop.review`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewRequirement {
    /// As many approvals as the base branch's rules ask for.
    #[default]
    Auto,
    /// At least one, whatever the rules ask for.
    Required,
}

/// `loop.baseline`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Baseline {
    /// Every failure counts.
    #[default]
    All,
    /// A run passes when every failure already exists on the base.
    New,
}

/// `loop.capabilities`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CapabilityMode {
    Off,
    /// Shown, never holding.
    Report,
    /// Holding when the heading exists, shown otherwise.
    #[default]
    Hold,
}

/// `loop.execution_gate.allow_skip`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutionSkips {
    NeverBuildOrTest,
    AnyCheck,
}

/// The `evaluate:` section.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluatePolicy {
    pub thresholds: PhaseThresholds,
    /// Phases in which "no fail rule failed" is good enough although the score is short.
    pub no_major_issues: Vec<Phase>,
    /// Rules written in the configuration; rules of the configured checks are added by
    /// [`evaluate`](crate::core::evaluate).
    pub rules: Vec<Rule>,
}

impl Default for EvaluatePolicy {
    fn default() -> Self {
        Self { thresholds: PhaseThresholds::default(), no_major_issues: vec![Phase::B], rules: Vec::new() }
    }
}

/// The score each phase must reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseThresholds {
    pub a: Score,
    pub b: Score,
}

impl Default for PhaseThresholds {
    fn default() -> Self {
        Self { a: Score::from_ratio(0.8, 1.0), b: Score::from_ratio(0.9, 1.0) }
    }
}

impl PhaseThresholds {
    pub const fn of(&self, phase: Phase) -> Score {
        match phase {
            Phase::A => self.a,
            Phase::B => self.b,
        }
    }
}

/// The phase of the evaluation: A activates rules of level A, B those of A and B.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Phase {
    #[default]
    A,
    B,
}

/// One rule of the evaluation.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    pub id: RuleId,
    pub description: String,
    pub severity: Severity,
    /// Share in the score; by default 2, 1 or 0 by severity.
    pub weight: f64,
    pub phase: Phase,
    pub check: RuleCheck,
}

/// How much a rule matters; shown as High, Medium, Low.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Info,
    Warn,
    Fail,
}

impl Severity {
    pub const fn default_weight(self) -> f64 {
        match self {
            Self::Fail => 2.0,
            Self::Warn => 1.0,
            Self::Info => 0.0,
        }
    }
}

/// What a rule looks at.
#[derive(Clone, Debug, PartialEq)]
pub enum RuleCheck {
    /// The check passed.
    Check(CheckName),
    /// The share of passed tests over all checks is at least this.
    PassedRatio(Score),
    /// Coverage of the changed lines, in percent, is at least this.
    ChangedCoverage(f64),
    /// No more findings of this severity or worse than `most`.
    Findings { severity: FindingSeverity, most: u64 },
    /// Code changed, so a test was added or changed too.
    TestsAdded,
    /// When a file matching `changed` is touched, one matching `also` is touched too.
    ChangeTogether { changed: Vec<NameGlob>, also: Vec<NameGlob> },
    /// The pattern appears in an added line.
    MustAppear { pattern: Pattern, paths: Vec<NameGlob> },
    /// The pattern appears in no added line.
    MustNotAppear { pattern: Pattern, paths: Vec<NameGlob> },
    /// At most so many changed lines and files.
    Size { max_lines: Option<u64>, max_files: Option<u64> },
}

/// The `coverage:` section: what each type of change must reach.
#[derive(Clone, Debug, PartialEq)]
pub struct CoveragePolicy {
    pub new_function: CoverageTarget,
    pub bug_fix: CoverageTarget,
    pub refactor: CoverageTarget,
    pub api_endpoint: CoverageTarget,
    pub integration: CoverageTarget,
    pub required_tests: BTreeMap<CodeType, Vec<RequiredTest>>,
}

impl Default for CoveragePolicy {
    fn default() -> Self {
        use RequiredTest as T;
        Self {
            new_function: CoverageTarget::Percent(80.0),
            bug_fix: CoverageTarget::Percent(100.0),
            refactor: CoverageTarget::MatchBase,
            api_endpoint: CoverageTarget::Percent(90.0),
            integration: CoverageTarget::Percent(80.0),
            required_tests: BTreeMap::from([
                (CodeType::NewFunction, vec![T::HappyPath, T::EdgeCases, T::ErrorHandling]),
                (CodeType::BugFix, vec![T::RegressionTest]),
                (CodeType::Refactor, vec![T::ExistingTestsPass]),
                (CodeType::ApiEndpoint, vec![T::HappyPath, T::ErrorCases, T::IntegrationTest, T::ValidationTest]),
                (CodeType::Integration, vec![T::IntegrationTest]),
            ]),
        }
    }
}

impl CoveragePolicy {
    pub const fn target(&self, code_type: CodeType) -> CoverageTarget {
        match code_type {
            CodeType::NewFunction => self.new_function,
            CodeType::BugFix => self.bug_fix,
            CodeType::Refactor => self.refactor,
            CodeType::ApiEndpoint => self.api_endpoint,
            CodeType::Integration => self.integration,
        }
    }
}

/// Coverage a type of change must reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CoverageTarget {
    /// Of the changed lines, 0–100.
    Percent(f64),
    /// No loss of more than 0.1 point against the base.
    MatchBase,
}

/// What kind of change a pull request is (contracts.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CodeType {
    NewFunction,
    BugFix,
    Refactor,
    ApiEndpoint,
    Integration,
}

/// Tests a type of change must come with (contracts.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequiredTest {
    HappyPath,
    EdgeCases,
    ErrorHandling,
    RegressionTest,
    OriginalBugReproduction,
    ExistingTestsPass,
    ErrorCases,
    IntegrationTest,
    ValidationTest,
}

/// The `escalation:` section.
#[derive(Clone, Debug, PartialEq)]
pub struct EscalationPolicy {
    /// Called when a trigger names nobody.
    pub notify: Vec<Recipient>,
    pub channels: Vec<Channel>,
    pub include_in_report: Vec<ReportSection>,
    /// Only triggers whose action or recipients differ from the defaults.
    pub triggers: BTreeMap<Trigger, TriggerPolicy>,
}

impl Default for EscalationPolicy {
    fn default() -> Self {
        use ReportSection as S;
        Self {
            notify: Vec::new(),
            channels: vec![Channel::IssueComment],
            include_in_report: vec![
                S::OriginalCode,
                S::AllTestResults,
                S::FailureAnalyses,
                S::FixAttempts,
                S::DebugMemorySummary,
            ],
            triggers: BTreeMap::new(),
        }
    }
}

/// What one trigger does and whom it calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriggerPolicy {
    pub action: EscalationAction,
    pub to: Vec<Recipient>,
}

/// Somebody to call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Recipient {
    User(Login),
    Team(TeamSlug),
    GateApprovers(GateName),
}

/// Where an escalation is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    IssueComment,
    Cli,
    Slack,
    Email,
}

/// Sections of an escalation report that can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReportSection {
    OriginalCode,
    AllTestResults,
    FailureAnalyses,
    FixAttempts,
    DebugMemorySummary,
    StackTraces,
}

/// The `labels:` section: the `loop:…` labels. Gate labels belong to their gates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LabelPolicy {
    Off,
    /// The prefix before `verifying`, `retry`, `blocked`, `passed`, `waiting`.
    Prefix(String),
}

impl Default for LabelPolicy {
    fn default() -> Self {
        Self::Prefix("loop:".to_owned())
    }
}

/// The `fixer:` section: who tries to repair between attempts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FixerPolicy {
    /// The author fixes.
    #[default]
    None,
}

/// The `memory:` section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryPolicy {
    /// Days an ordinary failure is remembered.
    pub retention_days: u32,
    /// How many earlier runs are looked at.
    pub lookback: u32,
}

impl Default for MemoryPolicy {
    fn default() -> Self {
        Self { retention_days: 30, lookback: 10 }
    }
}

/// `on_complete`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnComplete {
    #[default]
    KeepBranch,
    DeleteBranch,
}
