//! Pull requests in the situations people meet, for the snapshot tests of this room.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{TimeDelta, TimeZone, Utc};
use indexmap::IndexMap;

use crate::core::{
    AppId, CheckName, CommentId, Fingerprint, GateName, Login, PrNumber, RuleId, Score, Sha, TeamSlug, Timestamp,
    UserId,
    decision::*,
    escalation::{EscalationAction, Trigger},
    evidence::*,
    failure::{Blame, RootCauseCategory},
    gate::*,
    policy::*,
    snapshot::*,
    stage::Stage,
    state::*,
};

pub fn at(minute: i64) -> Timestamp {
    Utc.with_ymd_and_hms(2026, 11, 20, 10, 15, 0).unwrap() + TimeDelta::minutes(minute)
}

pub fn sha(byte: u8) -> Sha {
    Sha::from_bytes([byte; 20])
}

pub fn login(name: &str) -> Login {
    name.parse().unwrap()
}

pub fn check(name: &str) -> CheckName {
    name.parse().unwrap()
}

pub fn gate_name(name: &str) -> GateName {
    name.parse().unwrap()
}

pub fn score(hundredths: u32) -> Score {
    Score::from_ratio(f64::from(hundredths), 100.0)
}

pub fn team(name: &str) -> TeamSlug {
    name.parse().unwrap()
}

fn account(name: &str, id: u64) -> Account {
    Account { id: UserId::new(id), login: login(name), kind: AccountKind::User }
}

fn commit(byte: u8, message: &str) -> Commit {
    Commit {
        sha: sha(byte),
        message: message.into(),
        author: Some(account("alice", 1)),
        committer: Some(account("alice", 1)),
        author_email: "alice@example.com".into(),
        committer_email: "alice@example.com".into(),
    }
}

/// acme/widgets#12 by alice: token expiry in `src/auth/token.rs`.
pub fn snapshot() -> Snapshot {
    let patch = "@@ -8,6 +8,9 @@ impl Token {\n     pub fn is_valid(&self, now: u64) -> bool {\n-        true\n+        \
                 let expiry = self.expires_at;\n+        // password reset tokens share this path\n+        \
                 expiry > now\n     }\n }\n";
    Snapshot {
        repository: "acme/widgets".parse().unwrap(),
        app: AppIdentity { id: AppId::new(99), bot: login("loopgate[bot]"), bot_id: Some(UserId::new(990)) },
        pull_request: PullRequest {
            number: PrNumber::new(12),
            title: "fix: reject expired tokens".into(),
            body: String::new(),
            author: account("alice", 1),
            lifecycle: Lifecycle::Open,
            readiness: Readiness::Ready,
            head: Head {
                sha: sha(0xa1),
                tree: sha(0xa2),
                branch: "fix/token-expiry".into(),
                repository: Some("acme/widgets".parse().unwrap()),
                known_since: Some(at(0)),
            },
            base: Base { branch: "main".into(), sha: sha(0xb0) },
            labels: BTreeSet::new(),
            requested_users: BTreeSet::new(),
            requested_teams: BTreeSet::new(),
            created_at: at(0),
            url: "https://github.com/acme/widgets/pull/12".into(),
        },
        files: ChangedFiles::Complete(vec![ChangedFile {
            path: "src/auth/token.rs".into(),
            previous_path: None,
            status: FileStatus::Modified,
            additions: 3,
            deletions: 1,
            blob: Some(sha(0xf1)),
            patch: Some(patch.into()),
        }]),
        base_folders: None,
        commits: Listing::complete(vec![commit(0xa1, "Reject expired tokens\n\nThey were accepted for ever.")]),
        comments: Listing::complete(Vec::new()),
        reviews: Listing::complete(Vec::new()),
        checks: Vec::new(),
        forged_checks: Vec::new(),
        evidence: Vec::new(),
        workflow_runs: Vec::new(),
        base_evidence: None,
        required_approvals: 0,
        authority: Authority::default(),
        codeowners: None,
        hints: Vec::new(),
        problems: Vec::new(),
    }
}

/// The same pull request after two more pushes; the head is 0xa3… .
pub fn snapshot_after_three_pushes() -> Snapshot {
    let mut snapshot = snapshot();
    snapshot.commits.items.push(commit(0xa2, "Compare with <= instead"));
    snapshot.commits.items.push(commit(0xa3, "Skip the check for sessions"));
    snapshot.pull_request.head.sha = sha(0xa3);
    snapshot
}

fn command(run: &str) -> CheckSource {
    CheckSource::Command(CommandCheck::new(run))
}

fn gate_policy(holds: Stage, approve_by: ApproveBy) -> GatePolicy {
    GatePolicy {
        definition: GateDefinition::Configured,
        trigger: GateTrigger::Always,
        holds,
        approvers: Approvers::default(),
        approve_by,
        invalidate_on_push: InvalidateOnPush::Matching,
        exclusions: Exclusions::default(),
        checklist: ChecklistMode::Optional,
        request: RequestTime::Immediately,
        label: "needs:review".into(),
        remind_after: TimeDelta::hours(24),
        escalate_after: TimeDelta::hours(72),
    }
}

pub fn policy() -> Policy {
    let checks = [
        ("build", CheckKind::Build, "cargo build --locked"),
        ("unit", CheckKind::Test, "cargo test"),
        ("lint", CheckKind::Lint, "cargo clippy"),
    ];
    let checks: IndexMap<CheckName, CheckPolicy> = checks
        .into_iter()
        .map(|(name, kind, run)| {
            (check(name), CheckPolicy { kind, source: command(run), presence: CheckPresence::Configured })
        })
        .collect();
    let gates = [
        ("architecture", Stage::Scaffold, ApproveBy::Comment),
        ("security", Stage::Validate, ApproveBy::Comment),
        ("database", Stage::Verify, ApproveBy::Comment),
        ("external", Stage::Validate, ApproveBy::CommentOrReview),
        ("deploy", Stage::Review, ApproveBy::Review),
        ("payments", Stage::Validate, ApproveBy::Comment),
    ];
    Policy {
        origin: PolicyOrigin::Base { commit: sha(0xb0) },
        activation: Activation::Active,
        mode: Mode::Hybrid,
        verify: VerifyPolicy { workflows: vec![".github/workflows/ci.yml".into()], checks },
        retry: LoopPolicy::default(),
        evaluate: EvaluatePolicy::default(),
        coverage: CoveragePolicy::default(),
        gates: gates.into_iter().map(|(name, holds, by)| (gate_name(name), gate_policy(holds, by))).collect(),
        escalation: EscalationPolicy {
            notify: vec![Recipient::Team(team("acme/maintainers"))],
            ..EscalationPolicy::default()
        },
        labels: LabelPolicy::default(),
        fixer: FixerPolicy::default(),
        memory: MemoryPolicy::default(),
        on_complete: OnComplete::KeepBranch,
        state: StateBackend::default(),
    }
}

pub fn state() -> LoopState {
    LoopState {
        schema: LOOP_STATE_SCHEMA.into(),
        run_id: "pr-12-20261120-101500".into(),
        workflow_id: uuid::Uuid::nil(),
        repository: "acme/widgets".parse().unwrap(),
        pull_request: Some(PrNumber::new(12)),
        title: "fix: reject expired tokens".into(),
        linked_issues: vec![7],
        branch: "fix/token-expiry".into(),
        head_sha: sha(0xa1),
        base_ref: "main".into(),
        base_sha: sha(0xb0),
        policy_sha: Some(sha(0xb0)),
        first_seen_heads: vec![SeenHead { sha: sha(0xa1), at: at(0), gates: BTreeMap::new(), base: None }],
        agent: None,
        code_artifact: CodeArtifact {
            path: Some("src/auth/token.rs".into()),
            language: Language::Rust,
            code_type: CodeType::BugFix,
            content_hash: "1a2b3c4d".repeat(8),
            test_files: Vec::new(),
            requirements_ref: vec!["#7".into()],
        },
        execution_config: ExecutionConfig {
            test_framework: TestFramework::CargoTest,
            test_command: Some("cargo test".into()),
            timeout_seconds: 120,
            fail_fast: false,
            verbose: true,
            working_directory: ".".into(),
        },
        retry_policy: RetryPolicySummary {
            max_attempts: 3,
            same_error: 2,
            total_failures: 10,
            backoff: Backoff::None,
            escalation_on_max: true,
            abort_on_regression: true,
        },
        debug_memory_ref: "refs/loopgate/memory".into(),
        state: Stage::Test,
        state_entered_at: at(1),
        status: RunStatus::InProgress,
        phase: Phase::A,
        current_step: Step::Evaluate,
        iteration: 1,
        max_iterations: 3,
        task_alias: "pr-12".into(),
        task: Task::default(),
        plan: Vec::new(),
        prepared_checks: vec![check("build"), check("unit"), check("lint")],
        critique: None,
        criteria: Criteria {
            name: "loopgate_default_v1".into(),
            version: 1,
            phase: BTreeMap::new(),
            rules: Vec::new(),
        },
        capabilities: CapabilityProgress::default(),
        stages: BTreeMap::new(),
        stage_evidence: BTreeMap::new(),
        last_verification: None,
        failures: FailureLog { max_retries: 3, ..FailureLog::default() },
        gates: BTreeMap::new(),
        skips: Vec::new(),
        prerequisites: BTreeMap::new(),
        evaluation: None,
        last_score: None,
        stagnation_count: 0,
        best_attempt: None,
        check_log: Vec::new(),
        check_usage: BTreeMap::new(),
        checkpoints: Vec::new(),
        bypassed: Vec::new(),
        stop: Stop::default(),
        attempts: Vec::new(),
        blocked: None,
        resumes: Vec::new(),
        accepted: BTreeSet::new(),
        answered: Vec::new(),
        created_at: at(0),
        updated_at: at(5),
        extra: serde_json::Map::new(),
    }
}

pub fn attempt(number: u32, head: u8, result: VerificationResult, score_: u32, summary: &str) -> AttemptDigest {
    let failed = result == VerificationResult::Fail;
    let names = |name: &str| if failed { vec![name.to_owned()] } else { Vec::new() };
    AttemptDigest {
        number,
        head_sha: sha(head),
        tree_hash: "1a2b3c4d".repeat(8),
        at: at(i64::from(number) * 20),
        result,
        blame: failed.then_some(Blame::PrCode),
        score: score(score_),
        phase: Phase::A,
        failed_rules: names("unit").iter().map(|name| name.parse().unwrap()).collect(),
        failed_checks: names("unit").iter().map(|name| name.parse().unwrap()).collect(),
        fingerprints: if failed { BTreeSet::from([Fingerprint::from_bytes([1; 8])]) } else { BTreeSet::new() },
        failing_tests: names("auth::rejects_expired").into_iter().map(|name| (name, None)).collect(),
        tests: None,
        retry_class: None,
        summary: summary.into(),
    }
}

pub fn done(name: &str, kind: CheckKind, outcome: Outcome, ms: u64) -> CheckEvidence {
    CheckEvidence {
        duration_ms: ms,
        url: Some(format!("https://github.com/acme/widgets/actions/runs/1/job/{}", name.len())),
        ..CheckEvidence::bare(check(name), kind, outcome)
    }
}

pub fn tests(total: u64, failed: u64, ms: u64) -> CheckEvidence {
    let outcome = if failed > 0 { Outcome::Failed } else { Outcome::Passed };
    CheckEvidence {
        results: Some(CheckResults { total, passed: total - failed, failed, ..CheckResults::default() }),
        exit_code: Some(if failed > 0 { 101 } else { 0 }),
        ..done("unit", CheckKind::Test, outcome, ms)
    }
}

pub fn shown(evidence: CheckEvidence) -> CheckView {
    let blame = evidence.outcome.is_failure().then_some(Blame::PrCode);
    CheckView {
        name: evidence.name.clone(),
        kind: evidence.kind,
        standing: CheckStanding::Done(Box::new(evidence)),
        blame,
    }
}

pub fn running(name: &str, kind: CheckKind) -> CheckView {
    let url = Some("https://github.com/acme/widgets/actions/runs/1".to_owned());
    CheckView { name: check(name), kind, standing: CheckStanding::Running { url }, blame: None }
}

pub fn rule(id: &str, severity: Severity, outcome: RuleOutcome) -> RuleView {
    let description = format!("{id} passes");
    RuleView {
        id: id.parse().unwrap(),
        description,
        severity,
        weight: severity.default_weight(),
        phase: Phase::A,
        outcome,
    }
}

pub fn failed_rule(id: &str, severity: Severity, fix: &str) -> RuleView {
    rule(id, severity, RuleOutcome::Failed { fix: fix.into() })
}

pub fn evaluation(verdict: EvaluationVerdict, hundredths: u32, rules: Vec<RuleView>) -> Evaluation {
    Evaluation {
        phase: Phase::A,
        score: score(hundredths),
        threshold: score(80),
        verdict,
        rules,
        progress: score(hundredths),
    }
}

/// `auth::rejects_expired` fails at src/auth/token.rs:10.
pub fn failure() -> FailureView {
    FailureView {
        check: check("unit"),
        failure: Failure {
            test_name: Some("auth::rejects_expired".into()),
            test_file: Some("src/auth/tests.rs".into()),
            error_type: ErrorType::AssertionError,
            error_class: Some("panic".into()),
            error_message: "assertion `left == right` failed\n  left: Ok(())\n right: Err(Expired)".into(),
            stack_trace: Some(
                "thread 'auth::rejects_expired' panicked at src/auth/tests.rs:42:9\n   3: widgets::auth::token::is_valid\n"
                    .into(),
            ),
            line_number: Some(42),
            expected: Some("Err(Expired)".into()),
            actual: Some("Ok(())".into()),
            source: Some(SourceLocation {
                file: "src/auth/token.rs".into(),
                line: Some(10),
                function: Some("is_valid".into()),
            }),
            fingerprint: Some(Fingerprint::from_bytes([1; 8])),
            test_id: None,
        },
        blame: Blame::PrCode,
        root_cause: "`is_valid` accepts a token in the second it expires".into(),
        category: RootCauseCategory::OffByOne,
        fix_strategy: "Compare with `expiry <= now` and reject".into(),
        confidence: 0.8,
        patterns_matched: Vec::new(),
        related: Vec::new(),
    }
}

pub fn feedback() -> FeedbackLine {
    FeedbackLine {
        location: "src/auth/token.rs:10".into(),
        problem: "auth::rejects_expired expected Err(Expired), got Ok(())".into(),
        action: "Compare with `expiry <= now` and reject".into(),
        reason: "a token is invalid from the second it expires".into(),
        reproduce: Some("cargo test auth::rejects_expired".into()),
    }
}

pub fn view() -> View {
    View {
        origin: PolicyOrigin::Base { commit: sha(0xb0) },
        stage: Stage::Test,
        evidence_stage: Stage::Test,
        held_by: None,
        evidence_held_by: None,
        attempt: 1,
        max_attempts: 3,
        evaluation: evaluation(EvaluationVerdict::Undecided, 0, Vec::new()),
        checks: Vec::new(),
        gates: Vec::new(),
        capabilities: CapabilityProgress::default(),
        failures: Vec::new(),
        feedback: Vec::new(),
        compare: None,
        coverage: None,
        escalation: None,
        distance: None,
        skips: Vec::new(),
        strays: Vec::new(),
        replies: Vec::new(),
        warnings: Vec::new(),
        bypassed: Vec::new(),
    }
}

pub fn decision(action: NextAction, view: View) -> Decision {
    Decision {
        action,
        next: state(),
        events: Vec::new(),
        attempt: None,
        view,
        surface: Surface::default(),
        revisit_at: None,
    }
}

pub fn gate(name: &str, holds: Stage, standing: GateStanding) -> GateReport {
    GateReport {
        name: gate_name(name),
        holds,
        holding: Holding::Holds,
        standing,
        matches: Vec::new(),
        matches_not_kept: 0,
        fingerprint: "f1".into(),
        eligible: EligibleApprovers {
            people: BTreeSet::from([login("bob"), login("carol")]),
            teams: BTreeSet::from([team(&format!("acme/{name}"))]),
            permission: None,
            ..EligibleApprovers::default()
        },
        needed: 1,
        approvals: Vec::new(),
        awaiting_owners: BTreeSet::new(),
        considered: Vec::new(),
        counted: BTreeMap::new(),
        objections: Vec::new(),
        label: format!("needs:{name}-review"),
    }
}

pub fn security_gate(standing: GateStanding) -> GateReport {
    GateReport {
        matches: vec![
            TriggerMatch {
                file: Some("src/auth/token.rs".into()),
                line: None,
                reason: MatchReason::Path { glob: "**/auth/**".into() },
            },
            TriggerMatch {
                file: Some("src/auth/token.rs".into()),
                line: Some(10),
                reason: MatchReason::AddedLine {
                    pattern: "(?i)password".into(),
                    excerpt: "// password reset tokens share this path".into(),
                },
            },
        ],
        ..gate("security", Stage::Validate, standing)
    }
}

pub fn considered(by: &str, word: Word, outcome: WordOutcome) -> Considered {
    Considered {
        by: login(by),
        by_id: UserId::new(by.len() as u64),
        at: at(30),
        source: WordSource::Comment(CommentId::new(501)),
        url: "https://github.com/acme/widgets/pull/12#issuecomment-501".into(),
        word,
        outcome,
    }
}

pub fn approval(by: &str) -> Approval {
    Approval {
        by: login(by),
        by_id: UserId::new(2),
        at: at(40),
        head: sha(0xa1),
        source: WordSource::Comment(CommentId::new(502)),
        url: "https://github.com/acme/widgets/pull/12#issuecomment-502".into(),
    }
}

/// All three checks pass, phase B passed.
pub fn green(action: NextAction) -> Decision {
    let rules =
        ["build", "unit", "lint", "tests_added"].map(|id| rule(id, Severity::Fail, RuleOutcome::Passed)).to_vec();
    let mut evaluation = evaluation(EvaluationVerdict::Passed(StopReason::ThresholdReached), 100, rules);
    evaluation.phase = Phase::B;
    evaluation.threshold = score(90);
    let view = View {
        stage: Stage::Validate,
        evidence_stage: Stage::Document,
        evaluation,
        checks: vec![
            shown(done("build", CheckKind::Build, Outcome::Passed, 8_100)),
            shown(tests(10, 0, 12_300)),
            shown(done("lint", CheckKind::Lint, Outcome::Passed, 6_200)),
        ],
        coverage: Some(ChangedCoverage {
            lines_covered: 90,
            lines_total: 100,
            changed_covered: 3,
            changed_total: 3,
            uncovered: Vec::new(),
        }),
        ..view()
    };
    let mut decision = decision(action, view);
    decision.next.attempts = vec![attempt(1, 0xa1, VerificationResult::Pass, 100, "all checks passed")];
    decision.next.state = Stage::Validate;
    decision.next.status = RunStatus::Passed;
    decision
}

pub fn first_failure() -> Decision {
    let mut view = View {
        held_by: Some(Hold::Failing(vec![check("unit")])),
        evidence_held_by: Some(Hold::Failing(vec![check("unit")])),
        evaluation: evaluation(
            EvaluationVerdict::Failed,
            71,
            vec![
                rule("build", Severity::Fail, RuleOutcome::Passed),
                failed_rule("unit", Severity::Fail, "make auth::rejects_expired pass"),
                rule("lint", Severity::Fail, RuleOutcome::Passed),
                failed_rule("coverage", Severity::Warn, "cover src/auth/token.rs:10-11"),
            ],
        ),
        checks: vec![
            shown(done("build", CheckKind::Build, Outcome::Passed, 8_100)),
            shown(tests(10, 1, 12_300)),
            shown(done("lint", CheckKind::Lint, Outcome::Passed, 6_200)),
        ],
        failures: vec![failure()],
        feedback: vec![feedback()],
        coverage: Some(ChangedCoverage {
            lines_covered: 80,
            lines_total: 100,
            changed_covered: 1,
            changed_total: 3,
            uncovered: vec!["src/auth/token.rs:10-11".into()],
        }),
        ..view()
    };
    view.evaluation.progress = score(77);
    let mut decision = decision(NextAction::Retry { attempt: 2 }, view);
    decision.next.attempts =
        vec![attempt(1, 0xa1, VerificationResult::Fail, 71, "unit: auth::rejects_expired at src/auth/token.rs:10")];
    decision.next.failures = FailureLog { count: 1, same_error: 1, total: 1, max_retries: 3, history: Vec::new() };
    decision
}

pub fn same_error_again() -> (Decision, Snapshot) {
    let mut decision = first_failure();
    let mut snapshot = snapshot_after_three_pushes();
    snapshot.commits.items.pop();
    snapshot.pull_request.head.sha = sha(0xa2);
    decision.action = NextAction::Retry { attempt: 3 };
    decision.view.attempt = 2;
    decision.next.iteration = 2;
    decision.view.compare =
        Some(Compare { still: BTreeSet::from(["auth::rejects_expired".to_owned()]), ..Compare::default() });
    decision.next.attempts.push(attempt(2, 0xa2, VerificationResult::Fail, 71, "unit: auth::rejects_expired again"));
    decision.next.failures = FailureLog { count: 2, same_error: 2, total: 2, max_retries: 3, history: Vec::new() };
    (decision, snapshot)
}

pub fn regression_escalated() -> (Decision, Snapshot) {
    let (mut decision, _) = same_error_again();
    let snapshot = snapshot_after_three_pushes();
    decision.action = NextAction::Escalate { cause: Trigger::RegressionDetected };
    decision.view.attempt = 3;
    decision.next.iteration = 3;
    let mut broken = failure();
    broken.failure.test_name = Some("session::survives_restart".into());
    broken.failure.error_message = "called `Option::unwrap()` on a `None` value".into();
    broken.failure.expected = None;
    broken.failure.actual = None;
    broken.failure.source = Some(SourceLocation { file: "src/session.rs".into(), line: Some(88), function: None });
    broken.root_cause = "the session no longer carries an expiry".into();
    broken.category = RootCauseCategory::NullUndefinedAccess;
    broken.fix_strategy = "Set `expires_at` when a session is restored".into();
    decision.view.failures = vec![broken];
    decision.view.feedback = vec![FeedbackLine {
        location: "src/session.rs:88".into(),
        problem: "session::survives_restart panics on a missing expiry".into(),
        action: "Set `expires_at` when a session is restored".into(),
        reason: "the test passed in attempt 2".into(),
        reproduce: Some("cargo test session::survives_restart".into()),
    }];
    decision.view.compare = Some(Compare {
        new: BTreeSet::from(["session::survives_restart".to_owned()]),
        fixed: BTreeSet::from(["auth::rejects_expired".to_owned()]),
        ..Compare::default()
    });
    decision.next.attempts.push(attempt(
        3,
        0xa3,
        VerificationResult::Fail,
        71,
        "unit: session::survives_restart at src/session.rs:88",
    ));
    decision.next.failures = FailureLog { count: 3, same_error: 1, total: 3, max_retries: 3, history: Vec::new() };
    decision.next.status = RunStatus::Escalated;
    decision.view.escalation = Some(EscalationView {
        trigger: Trigger::RegressionDetected,
        also: vec![Trigger::MaxAttemptsReached],
        action: EscalationAction::HumanReview,
        since: at(65),
        attempt: 3,
        pattern: "session::survives_restart passed in attempt 2 and fails now".into(),
        question: Question {
            text: "Should a restored session keep its old expiry, or start a new one?".into(),
            options: vec![
                "Keep the old expiry (what session::survives_restart expects)".into(),
                "Start a new one".into(),
            ],
        },
        recipients: BTreeSet::from([Recipient::Team(team("acme/maintainers")), Recipient::User(login("dana"))]),
        history: decision.next.attempts.clone(),
        best: Some((2, sha(0xa2), score(71))),
    });
    decision.view.distance = Some(DistanceToSuccess {
        threshold: score(80),
        score: score(71),
        gap: score(9),
        failed_fail_rules: 1,
        blocking_rule_ids: vec!["unit".parse::<RuleId>().unwrap()],
        passed_rules: 2,
        total_rules: 4,
    });
    decision.surface.posts = vec![Post::Escalation { trigger: Trigger::RegressionDetected, attempt: 3 }];
    (decision, snapshot)
}

/// The same after somebody has been called: nothing new to post.
pub fn blocked() -> (Decision, Snapshot) {
    let (mut decision, snapshot) = regression_escalated();
    decision.action = NextAction::WaitForHuman { cause: Trigger::RegressionDetected };
    decision.surface.posts.clear();
    (decision, snapshot)
}

pub fn waiting_for_evidence() -> Decision {
    let view = View {
        stage: Stage::Implement,
        evidence_stage: Stage::Implement,
        held_by: Some(Hold::MissingEvidence(vec![check("unit"), check("lint")])),
        checks: vec![
            shown(done("build", CheckKind::Build, Outcome::Passed, 8_100)),
            running("unit", CheckKind::Test),
            CheckView { name: check("lint"), kind: CheckKind::Lint, standing: CheckStanding::Missing, blame: None },
        ],
        ..view()
    };
    decision(NextAction::WaitForEvidence { missing: vec![check("unit"), check("lint")] }, view)
}

pub fn open_security_gate_with_an_outsider() -> Decision {
    let mut decision = green(NextAction::WaitForApproval { gate: gate_name("security") });
    let mut gate_ = security_gate(GateStanding::Open);
    gate_.considered = vec![
        considered("mallory", Word::Approve, WordOutcome::Refused(Refusal::NotAnApprover)),
        considered("bob", Word::NearMiss, WordOutcome::Refused(Refusal::Phrase(PhraseProblem::Question))),
    ];
    decision.view.held_by = Some(Hold::Gate(gate_name("security")));
    decision.view.gates = vec![
        gate("architecture", Stage::Scaffold, GateStanding::NotApplicable),
        gate_,
        gate("database", Stage::Verify, GateStanding::NotApplicable),
    ];
    decision.surface.posts = vec![Post::GateRequest { gate: gate_name("security"), round: 1 }];
    decision
}

pub fn ready_to_merge() -> Decision {
    let mut decision = green(NextAction::WaitForMerge);
    decision.view.stage = Stage::Ship;
    decision.view.held_by = Some(Hold::Merge);
    decision.view.gates = vec![security_gate(GateStanding::Approved { by: vec![approval("bob")] })];
    decision
}

pub fn broken_configuration() -> Decision {
    let mut decision = first_failure();
    let error = ConfigError {
        file: ".github/loopgate.yml".into(),
        line: 14,
        column: 5,
        snippet: "    aproach: [comment]".into(),
        message: "unknown key `aproach`".into(),
        hint: Some("did you mean `approve_by`?".into()),
    };
    decision.view.origin = PolicyOrigin::LastGood { commit: sha(0xb1), broken_at: sha(0xb2), error };
    decision
}

pub fn draft_with_capabilities() -> (Decision, Snapshot) {
    let mut decision = green(NextAction::WaitForPush { capability: "Revoke tokens".into() });
    decision.view.stage = Stage::Implement;
    decision.view.evidence_stage = Stage::Implement;
    decision.view.held_by = Some(Hold::Capability("Revoke tokens".into()));
    decision.view.evidence_held_by = decision.view.held_by.clone();
    decision.view.capabilities = CapabilityProgress {
        total: 5,
        completed: 3,
        current: Some("Revoke tokens".into()),
        remaining: vec!["Revoke tokens".into(), "List sessions".into()],
    };
    decision.next.status = RunStatus::InProgress;
    let mut snapshot = snapshot();
    snapshot.pull_request.readiness = Readiness::Draft;
    (decision, snapshot)
}

pub fn merged() -> (Decision, Snapshot) {
    let (escalated, mut snapshot) = regression_escalated();
    let mut decision = green(NextAction::Complete);
    decision.view.stage = Stage::Complete;
    decision.view.evidence_stage = Stage::Complete;
    decision.view.attempt = 4;
    decision.view.gates = vec![
        security_gate(GateStanding::Approved { by: vec![approval("bob")] }),
        gate("database", Stage::Verify, GateStanding::NotApplicable),
    ];
    decision.next.attempts = escalated.next.attempts;
    decision.next.attempts.push(attempt(4, 0xa4, VerificationResult::Pass, 100, "all checks passed"));
    decision.view.skips =
        vec![Skip { check: check("lint"), reason: "clippy is down".into(), by: login("dana"), at: at(70) }];
    decision.next.status = RunStatus::Completed;
    snapshot.pull_request.lifecycle = Lifecycle::Merged { by: Some(login("dana")), at: Some(at(90)) };
    (decision, snapshot)
}

pub fn merged_over_an_open_gate() -> (Decision, Snapshot) {
    let (mut decision, snapshot) = merged();
    decision.view.gates = vec![security_gate(GateStanding::Open)];
    decision.view.bypassed = vec!["gate security".into()];
    decision.next.bypassed = decision.view.bypassed.clone();
    decision.surface.posts = vec![Post::MergedOverOpenGates];
    (decision, snapshot)
}

/// One request of each kind, for what such pull requests touch.
pub fn requested_gates() -> Vec<GateReport> {
    let found =
        |file: &str, line: Option<u32>, reason: MatchReason| TriggerMatch { file: Some(file.into()), line, reason };
    let open = |name: &str, holds: Stage, matches: Vec<TriggerMatch>| GateReport {
        matches,
        ..gate(name, holds, GateStanding::Open)
    };
    let mut architecture = open(
        "architecture",
        Stage::Scaffold,
        vec![
            found("Cargo.toml", Some(31), MatchReason::Dependency { name: "rdkafka".into() }),
            found("deploy/compose.yml", None, MatchReason::Path { glob: "deploy/**".into() }),
            TriggerMatch { file: None, line: None, reason: MatchReason::NewTopLevelFolder { folder: "queue".into() } },
        ],
    );
    architecture.eligible = EligibleApprovers {
        permission: Some(Permission::Maintain),
        absent_preset_team: Some(team("acme/tech-leads")),
        ..EligibleApprovers::default()
    };
    let mut database = open(
        "database",
        Stage::Verify,
        vec![
            found("migrations/0007_tokens.sql", None, MatchReason::Path { glob: "migrations/**".into() }),
            found(
                "migrations/0007_tokens.sql",
                Some(3),
                MatchReason::AddedLine {
                    pattern: "(?i)\\bALTER TABLE\\b".into(),
                    excerpt: "ALTER TABLE tokens ADD COLUMN expires_at bigint;".into(),
                },
            ),
        ],
    );
    database.needed = 2;
    let mut external = open("external", Stage::Validate, vec![found("src/mail.rs", None, MatchReason::Unreadable)]);
    external.eligible.unusable =
        vec![UnusableApprover { name: "acme/partners".into(), reason: "the team cannot read this repository".into() }];
    let always = TriggerMatch { file: None, line: None, reason: MatchReason::Always };
    let mut payments = open("payments", Stage::Validate, vec![always.clone()]);
    payments.eligible = EligibleApprovers { people: BTreeSet::from([login("erin")]), ..EligibleApprovers::default() };
    vec![
        architecture,
        security_gate(GateStanding::Open),
        database,
        external,
        open("deploy", Stage::Review, vec![always]),
        payments,
    ]
}

pub fn tampering_escalated() -> (Decision, Snapshot) {
    let (mut decision, mut snapshot) = same_error_again();
    decision.action = NextAction::Escalate { cause: Trigger::Tampering };
    decision.view.failures.clear();
    decision.view.feedback.clear();
    decision.next.status = RunStatus::Escalated;
    decision.view.escalation = Some(EscalationView {
        trigger: Trigger::Tampering,
        also: Vec::new(),
        action: EscalationAction::HumanReview,
        since: at(45),
        attempt: 2,
        pattern: "`#[ignore]` was added to auth::rejects_expired in src/auth/tests.rs:40".into(),
        question: Question {
            text: "Is the ignored test meant to be ignored?".into(),
            options: vec!["Yes: accept it".into(), "No: restore the test".into()],
        },
        recipients: BTreeSet::from([Recipient::GateApprovers(gate_name("security"))]),
        history: decision.next.attempts.clone(),
        best: None,
    });
    decision.view.gates = vec![security_gate(GateStanding::Open)];
    decision.surface.posts = vec![Post::Escalation { trigger: Trigger::Tampering, attempt: 2 }];
    snapshot.pull_request.title = "fix: reject @everyone's expired tokens <!-- loopgate:status -->".into();
    (decision, snapshot)
}

pub fn service_down() -> (Decision, Snapshot) {
    let mut decision = first_failure();
    decision.action = NextAction::Escalate { cause: Trigger::ExternalDependencyDown };
    let failure_ = &mut decision.view.failures[0];
    failure_.blame = Blame::Infrastructure;
    failure_.root_cause = "the database the tests need did not answer".into();
    failure_.category = RootCauseCategory::Environment;
    failure_.fix_strategy = "Start the service, then run the checks again".into();
    failure_.failure = Failure {
        test_name: Some("store::saves".into()),
        error_message: "Connection refused (os error 111): 127.0.0.1:5432".into(),
        ..Failure::default()
    };
    decision.view.checks[1].blame = Some(Blame::Infrastructure);
    decision.view.escalation = Some(EscalationView {
        trigger: Trigger::ExternalDependencyDown,
        also: Vec::new(),
        action: EscalationAction::HumanReview,
        since: at(150),
        attempt: 1,
        pattern: "unit has failed for 2 h because the database does not answer".into(),
        question: Question {
            text: "Should the loop wait, or go on without this check?".into(),
            options: vec!["Wait until it is back".into(), "Skip the check with a reason".into()],
        },
        recipients: BTreeSet::from([Recipient::Team(team("acme/ops"))]),
        history: decision.next.attempts.clone(),
        best: None,
    });
    decision.surface.posts = vec![Post::Escalation { trigger: Trigger::ExternalDependencyDown, attempt: 1 }];
    (decision, snapshot())
}
