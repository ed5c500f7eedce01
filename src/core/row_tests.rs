//! Rows of `docs/decisions.md` that no other test is about, by their numbers.

use chrono::TimeDelta;
use serde_json::json;

use super::{
    decision::{
        CheckRunPlan, CheckStanding, Decision, DecisionWord, Hold, LabelWish, MergedBranch, NextAction, Post,
        RuleOutcome, Warning,
    },
    escalation::Trigger,
    evidence::{CheckEvidence, CheckKind, Finding, FindingSeverity, Outcome, RetryClass},
    failure::Blame,
    fixtures::*,
    ids::{CheckName, CheckRunId, UserId},
    policy::{
        AutoRetry, Baseline, Channel, CheckPolicy, CheckPresence, CheckSource, CommandCheck, ConfigError,
        ExecutionSkips, ExternalSource, NameGlob, OnComplete, OnMax, PolicyOrigin, Severity,
    },
    snapshot::{
        BaseEvidence, ChangedFiles, CheckProgress, Conclusion, ExternalCheck, Lifecycle, NamedAccount, Permission,
        Readiness, ReceivedEvidence, ReviewVerdict, Standing, Visibility, WorkflowRun,
    },
    stage::Stage,
    state::{AnswerOutcome, CommandRefusal, Lacking, LoopState, LostRecord, RunStatus, Trace},
};

fn name(text: &str) -> CheckName {
    text.parse().unwrap()
}

fn standing<'a>(decision: &'a Decision, check: &str) -> &'a CheckStanding {
    &decision.view.checks.iter().find(|view| view.name.as_str() == check).unwrap().standing
}

fn blame(decision: &Decision, check: &str) -> Option<Blame> {
    decision.view.checks.iter().find(|view| view.name.as_str() == check).unwrap().blame
}

fn answer(story: &Story) -> &AnswerOutcome {
    &story.state.answered.last().unwrap().answers[0].outcome
}

fn workflow(progress: CheckProgress) -> WorkflowRun {
    WorkflowRun {
        id: super::ids::WorkflowRunId::new(5),
        path: ".github/workflows/ci.yml".to_owned(),
        attempt: 1,
        progress,
        url: None,
        started_at: None,
    }
}

fn add_check(story: &mut Story, check: &str, kind: CheckKind) {
    let source = CheckSource::Command(CommandCheck::new(check));
    story.policy.verify.checks.insert(name(check), CheckPolicy { kind, source, presence: CheckPresence::Configured });
}

/// Evidence of one more check beside build and unit, which pass.
fn with_check(story: &mut Story, check: CheckEvidence) {
    story.snapshot.evidence = vec![evidence(story.snapshot.pull_request.head.sha, &[], &["rounds"])];
    let ReceivedEvidence::Accepted(evidence) = &mut story.snapshot.evidence[0] else { panic!("accepted") };
    evidence.checks.push(check);
}

fn refused() -> ReceivedEvidence {
    ReceivedEvidence::Refused { artifact: "loopgate-evidence-x".into(), workflow: None, reason: "no schema".into() }
}

/// The unit tests come from other systems' check runs.
fn external(conclusions: &[Option<Conclusion>]) -> Story {
    let mut story = Story::opened();
    let source = ExternalSource { name: NameGlob::parse("ci / *").unwrap(), app: None };
    story.policy.verify.checks[&name("unit")].source = CheckSource::External(source);
    let run = |(number, conclusion): (u64, &Option<Conclusion>)| ExternalCheck {
        id: Some(CheckRunId::new(number)),
        name: format!("ci / {number}"),
        app: Some("other-ci".to_owned()),
        progress: conclusion
            .map_or(CheckProgress::InProgress, |conclusion| CheckProgress::Completed { conclusion, at: None }),
        started_at: None,
        url: None,
        annotations: Vec::new(),
        summary: None,
    };
    story.snapshot.checks = (1..).zip(conclusions).map(run).collect();
    story.snapshot.evidence = vec![evidence(sha(1), &[], &["rounds"])];
    story
}

#[test]
fn h1_c8_a_skipped_check_is_shown_and_neither_passes_nor_fails() {
    let mut story = Story::opened();
    add_check(&mut story, "lint", CheckKind::Lint);
    story.snapshot.evidence = vec![evidence(sha(1), &[], &["rounds"])];
    let decision = story.comment("bob", "/loop skip lint --reason \"no linter\"");
    assert!(matches!(standing(decision, "lint"), CheckStanding::Skipped { reason, .. } if reason == "no linter"));
    assert_eq!(decision.action, NextAction::WaitForMerge);
    assert_eq!(answer(&story), &AnswerOutcome::Skipped { check: name("lint") });
    let decision = story.push(2, &[], &["rounds"]);
    assert!(matches!(standing(decision, "lint"), CheckStanding::Skipped { .. }), "from now on");
}

#[test]
fn h4_h5_h6_b2_a9_what_a_workflow_brought_so_far() {
    let mut story = Story::opened();
    story.snapshot.workflow_runs = vec![workflow(CheckProgress::InProgress)];
    assert!(matches!(standing(story.decide(), "unit"), CheckStanding::Running { .. }));
    story.snapshot.evidence = vec![evidence(sha(1), &["rounds"], &[])];
    let decision = story.decide();
    assert!(matches!(standing(decision, "unit"), CheckStanding::Done(_)), "more legs only make it worse");
    assert!(matches!(standing(decision, "build"), CheckStanding::Running { .. }));
    assert_eq!(decision.action, NextAction::WaitForEvidence { missing: vec![name("build")] });
    assert!(story.state.attempts.is_empty(), "an attempt ends when all is there");

    let mut story = Story::opened();
    add_check(&mut story, "lint", CheckKind::Lint);
    let decision = story.push(1, &["rounds"], &[]);
    assert!(matches!(decision.view.held_by, Some(Hold::Failing(_))), "it cannot pass any more");
    assert_eq!(decision.action, NextAction::WaitForEvidence { missing: vec![name("lint")] });
    assert!(story.state.attempts.is_empty(), "and is no attempt before all is there");

    let mut story = Story::opened();
    story.snapshot.evidence = vec![refused()];
    let decision = story.decide();
    assert!(matches!(standing(decision, "unit"), CheckStanding::Refused { .. }));
    assert_eq!(blame(decision, "unit"), Some(Blame::Inconclusive));
    assert!(matches!(decision.action, NextAction::WaitForEvidence { .. }));
}

#[test]
fn j21_what_ends_without_a_result_is_put_to_a_person_too() {
    let mut story = Story::opened();
    let mut cancelled = evidence(sha(1), &[], &[]);
    let ReceivedEvidence::Accepted(document) = &mut cancelled else { unreachable!("the story's evidence is whole") };
    document.checks.iter_mut().for_each(|check| check.outcome = Outcome::Cancelled);
    for without_result in [refused(), cancelled] {
        story.snapshot.evidence = vec![without_result];
        assert!(matches!(story.decide().action, NextAction::WaitForEvidence { .. }));
        assert!(story.state.outage.as_ref().is_some_and(|outage| outage.unclear.contains(&name("unit"))));
        assert!(story.last.as_ref().unwrap().revisit_at.is_some(), "time alone will tell");
    }
    story.now += TimeDelta::minutes(61);
    let decision = story.decide();
    assert_eq!(decision.action, NextAction::Escalate { cause: Trigger::ExternalDependencyDown });
    let said = &decision.view.escalation.as_ref().unwrap().pattern;
    assert!(said.contains("unit ended without a result"), "{said}");
    assert_eq!(story.state.reruns, [], "repeating it is a person's choice");
    story.snapshot.evidence = vec![evidence(sha(1), &[], &["rounds"])];
    story.decide();
    assert!(story.state.outage.is_none());
}

#[test]
fn h9_h10_h11_h12_conclusions_of_other_systems() {
    use Conclusion as C;
    let done = |conclusions: &[Option<C>]| {
        let mut story = external(conclusions);
        match standing(story.decide(), "unit") {
            CheckStanding::Done(evidence) => Some((evidence.outcome, evidence.retry_class)),
            CheckStanding::Running { .. } => None,
            other => panic!("{other:?}"),
        }
    };
    let table = [
        (C::Success, Some((Outcome::Passed, None))),
        (C::Neutral, Some((Outcome::Passed, None))),
        (C::Skipped, Some((Outcome::Skipped, None))),
        (C::Failure, Some((Outcome::Failed, None))),
        (C::TimedOut, Some((Outcome::TimedOut, Some(RetryClass::Logic)))),
        (C::Cancelled, Some((Outcome::Cancelled, Some(RetryClass::External)))),
        (C::ActionRequired, None),
        (C::Stale, None),
    ];
    for (conclusion, expected) in table {
        assert_eq!(done(&[Some(conclusion)]), expected, "{conclusion:?}");
    }
    assert_eq!(done(&[Some(C::Success), None]), None, "all must have ended");
    assert_eq!(done(&[Some(C::Success), Some(C::Failure)]).unwrap().0, Outcome::Failed, "all must pass");
    assert_eq!(done(&[Some(C::StartupFailure), Some(C::Failure)]).unwrap().0, Outcome::Failed, "what failed did run");
    let mut silent = external(&[Some(C::Failure)]);
    assert!(silent.decide().view.failures.is_empty(), "what says nothing has no failure to show");
    assert_eq!(silent.state.attempts[0].lacking, Some(Lacking::Explanation));
}

#[test]
fn h6a_h11b_b2a_what_github_could_not_start_is_not_the_codes_fault() {
    let mut of_a_workflow = Story::opened();
    let never_started = CheckProgress::Completed { conclusion: Conclusion::StartupFailure, at: None };
    of_a_workflow.snapshot.workflow_runs = vec![workflow(never_started)];
    let of_check_runs = external(&[Some(Conclusion::Success), Some(Conclusion::StartupFailure)]);
    for mut story in [of_a_workflow, of_check_runs] {
        let decision = story.decide();
        assert!(matches!(standing(decision, "unit"), CheckStanding::NotStarted { .. }));
        assert_eq!(blame(decision, "unit"), Some(Blame::Infrastructure), "and it is repeated");
        assert!(matches!(decision.action, NextAction::WaitForEvidence { .. }));
        let mut file = story.snapshot.files.known()[0].clone();
        file.path = ".github/workflows/ci.yml".into();
        story.snapshot.files = ChangedFiles::Complete(vec![file]);
        let decision = story.decide();
        assert_eq!(blame(decision, "unit"), Some(Blame::Inconclusive), "the file may be invalid: a person has to look");
        assert!(matches!(decision.action, NextAction::WaitForEvidence { .. }));
        assert_eq!((story.state.attempts.len(), story.state.failures.total), (0, 0));
    }
    // A run that came later is what counts.
    let mut again = Story::opened();
    let second = WorkflowRun { id: super::ids::WorkflowRunId::new(6), ..workflow(CheckProgress::InProgress) };
    again.snapshot.workflow_runs = vec![workflow(never_started), second];
    assert!(matches!(standing(again.decide(), "unit"), CheckStanding::Running { .. }));
}

#[test]
fn h14_a_security_check_fails_on_grave_findings_only() {
    let verdict = |severity, outcome| {
        let mut story = Story::opened();
        add_check(&mut story, "scan", CheckKind::Security);
        let mut scan = CheckEvidence::bare(name("scan"), CheckKind::Security, outcome);
        let finding = Finding { rule: "r".into(), severity, message: "m".into(), location: None };
        scan.findings = vec![finding];
        with_check(&mut story, scan);
        story.decide().action.word()
    };
    assert_eq!(verdict(FindingSeverity::Medium, Outcome::Failed), DecisionWord::Proceed, "whatever its exit code");
    assert_eq!(verdict(FindingSeverity::High, Outcome::Passed), DecisionWord::Escalate);
}

#[test]
fn c5b_a_cause_that_belongs_to_a_gate_is_released_by_its_approvers() {
    let found = |may: Permission| {
        let mut story = Story::opened();
        story.gate("security", "carol");
        for id in [1, 2] {
            let standing = Standing::Known { permission: may, teams: [].into() };
            story.snapshot.authority.people.insert(UserId::new(id), standing);
        }
        add_check(&mut story, "scan", CheckKind::Security);
        let mut scan = CheckEvidence::bare(name("scan"), CheckKind::Security, Outcome::Failed);
        let severity = FindingSeverity::High;
        scan.findings = vec![Finding { rule: "r".into(), severity, message: "m".into(), location: None }];
        with_check(&mut story, scan);
        story.decide();
        story
    };
    let refused = AnswerOutcome::Refused(CommandRefusal::NeedsApproverOf { gate: "security".parse().unwrap() });
    for (who, may, outcome) in [
        ("alice", Permission::Maintain, &refused), // who wrote it
        ("bob", Permission::Write, &refused),      // write, and no approver
        ("bob", Permission::Maintain, &AnswerOutcome::Resumed),
        ("carol", Permission::Maintain, &AnswerOutcome::Resumed), // an approver with permission read
    ] {
        let mut story = found(may);
        story.comment(who, "/loop resume");
        assert_eq!(answer(&story), outcome, "{who} with {may:?}");
    }
    let mut story = gated(Stage::Validate);
    story.push(1, &[], &["rounds"]);
    story.now += TimeDelta::hours(73);
    assert_eq!(story.decide().action, NextAction::Escalate { cause: Trigger::GateTimeout });
    story.comment("alice", "/loop resume");
    assert!(story.state.blocked.is_some(), "the author waits");
    story.comment("carol", "/loop resume");
    assert_eq!((answer(&story), story.state.blocked.as_ref()), (&AnswerOutcome::Resumed, None));
}

#[test]
fn j20b_a_silent_check_is_known_by_the_end_of_its_log() {
    let third = |logs: [&str; 3]| {
        let mut story = Story::opened();
        for (head, log) in (1..).zip(logs) {
            story.set_head(head);
            let mut unit = CheckEvidence::bare(name("unit"), CheckKind::Test, Outcome::Failed);
            unit.log_tail = format!("compiling\n{log}\n\n");
            with_check(&mut story, unit);
            let decision = story.decide();
            let flagged = decision.view.flags.contains_key(&Trigger::UnknownErrorType);
            assert_eq!(flagged, head > 1, "said at the second, and nobody is called for it");
            assert_eq!(decision.action == NextAction::Retry { attempt: u32::from(head) }, head < 3);
        }
        story.state.blocked.as_ref().map(|blocked| blocked.trigger)
    };
    assert_eq!(third(["cannot link", "no such symbol", "disk is odd"]), Some(Trigger::MaxAttemptsReached));
    assert_eq!(third(["cannot link", "cannot link", "cannot link"]), Some(Trigger::SameError));
}

#[test]
fn o3_w10_a_soft_check_costs_score_only() {
    let mut story = Story::opened();
    add_check(&mut story, "speed", CheckKind::Performance);
    assert!(matches!(story.push(1, &[], &["rounds"]).action, NextAction::WaitForEvidence { .. }), "it must have ended");
    let mut rule = super::evaluate::rules(&story.policy, super::policy::CodeType::NewFunction)[0].clone();
    rule.id = "readme".parse().unwrap();
    rule.severity = Severity::Warn;
    rule.check = super::policy::RuleCheck::MustAppear {
        pattern: super::policy::Pattern::parse("zzz").unwrap(),
        paths: Vec::new(),
    };
    rule.weight = 8.0;
    story.policy.evaluate.rules = vec![rule];
    story.policy.evaluate.no_major_issues = Vec::new();
    with_check(&mut story, CheckEvidence::bare(name("speed"), CheckKind::Performance, Outcome::Passed));
    let decision = story.decide();
    assert!(
        matches!(decision.view.evidence_held_by, Some(Hold::Evaluation(_))),
        "{:?}",
        decision.view.evidence_held_by
    );
    assert_eq!(decision.action, NextAction::Retry { attempt: 1 });
    let red = Some(CheckRunPlan::Completed(Conclusion::Failure));
    assert_eq!(decision.surface.verify, red, "VALIDATE is not far enough");
    assert_eq!(story.state.attempts[0].blame, Some(Blame::PrCode));

    story.set_head(2);
    with_check(&mut story, CheckEvidence::bare(name("speed"), CheckKind::Performance, Outcome::Failed));
    let decision = story.decide();
    assert!(matches!(decision.view.evidence_held_by, Some(Hold::Evaluation(_))), "failing, it holds nothing by itself");
}

#[test]
fn o5_o6_failures_of_the_base() {
    let known = |baseline| {
        let mut story = external(&[Some(Conclusion::Failure)]);
        let CheckStanding::Done(failing) = standing(story.decide(), "unit").clone() else { panic!("it ended") };
        let checks = [(name("unit"), *failing)].into();
        story.snapshot.base_evidence = Some(BaseEvidence { sha: sha(0xba), checks, coverage: None });
        story.policy.retry.baseline = baseline;
        story.decide();
        (story.last.unwrap().action, story.state.attempts[0].blame, story.state.failures.total)
    };
    let waits = NextAction::WaitForEvidence { missing: vec![name("unit")] };
    assert_eq!(known(Baseline::All), (waits, Some(Blame::Base), 0), "asking for pushes would go on for ever");
    assert_eq!(known(Baseline::New), (NextAction::WaitForMerge, None, 0));
}

#[test]
fn o3a_a_test_that_fails_on_the_base_and_passes_is_one_for_the_change() {
    let judged = |on_base: Option<(&[&str], &[&str])>| {
        let mut story = Story::opened();
        story.snapshot.pull_request.title = "fix: round half up".to_owned();
        let ChangedFiles::Complete(files) = &mut story.snapshot.files else { panic!("complete") };
        files.retain(|file| file.path == "src/lib.rs");
        story.snapshot.base_evidence = on_base.map(|(failing, passing)| {
            let ReceivedEvidence::Accepted(document) = evidence(sha(0xba), failing, passing) else {
                panic!("accepted")
            };
            super::gather::base(sha(0xba), vec![*document])
        });
        let decision = story.push(1, &[], &["rounds", "parses"]);
        let rule = decision.view.evaluation.rules.iter().find(|rule| rule.id.as_str() == "tests_added");
        rule.map(|rule| rule.outcome == RuleOutcome::Passed)
    };
    assert_eq!(judged(None), Some(false), "code changed, and no test");
    assert_eq!(judged(Some((&[], &["rounds", "parses"]))), Some(false));
    assert_eq!(judged(Some((&["gone"], &["rounds"]))), Some(false), "what is no more was not mended");
    assert_eq!(judged(Some((&["rounds"], &["parses"]))), Some(true));
}

#[test]
fn o9_a_head_that_comes_back_is_a_new_attempt() {
    let mut story = Story::opened();
    for head in [1, 2, 1] {
        story.push(head, &[if head == 1 { "rounds" } else { "parses" }], &[]);
    }
    assert_eq!(story.state.attempts.len(), 3);
}

#[test]
fn j9a_attempts_that_are_not_on_record_count_as_failed() {
    let mut story = Story::opened();
    let lost = LostRecord { attempts: 8, trace: Trace::Post };
    story.state = LoopState::begin_after(lost, &story.snapshot, &story.policy, story.now);
    let started = &story.decide().events[0];
    assert_eq!((started.payload["lost_attempts"].as_u64(), &started.payload["lost_trace"]), (Some(8), &json!("post")));
    story.push(1, &["a"], &[]);
    let decision = story.last.as_ref().unwrap();
    assert_eq!((decision.view.attempt, story.state.failures.total), (9, 9));
    assert!(decision.view.warnings.contains(&Warning::RecordLost(lost)), "{:?}", decision.view.warnings);
    assert_eq!(story.push(2, &["b"], &[]).action, NextAction::Escalate { cause: Trigger::TotalFailures });
}

#[test]
fn j19_without_automatic_retry_the_first_failure_calls_a_human() {
    let mut story = Story::opened();
    story.policy.retry.test_fail = AutoRetry::Escalate;
    let decision = story.push(1, &["rounds"], &[]);
    assert_eq!(decision.action, NextAction::Escalate { cause: Trigger::MaxAttemptsReached });
    assert!(decision.view.escalation.as_ref().unwrap().pattern.starts_with("1 failing attempt, and none is retried"));
}

#[test]
fn e8_e9_calling_again_and_not_calling() {
    let mut story = Story::opened();
    story.decide();
    for _ in 0..2 {
        story.now += TimeDelta::minutes(61);
        story.decide();
    }
    let posts = story.last.as_ref().unwrap().surface.posts.clone();
    assert_eq!(posts.len(), 1);
    story.comment("bob", "/loop resume");
    assert!(story.state.blocked.is_none(), "counted anew from the resume");
    story.now += TimeDelta::minutes(61);
    let again = story.decide();
    assert_eq!(again.action, NextAction::Escalate { cause: Trigger::ExternalDependencyDown });
    assert_eq!(again.surface.posts, posts, "the same post, which is there already");

    for lifecycle in [Lifecycle::Closed, Lifecycle::Merged { by: None, at: None }] {
        let mut story = Story::opened();
        story.policy.retry.test_fail = AutoRetry::Escalate;
        story.snapshot.pull_request.lifecycle = lifecycle;
        story.push(1, &["rounds"], &[]);
        assert!(story.state.blocked.is_none());
    }
    let mut story = Story::opened();
    story.policy.retry.test_fail = AutoRetry::Escalate;
    story.comment("bob", "/loop stop");
    story.push(1, &["rounds"], &[]);
    assert!(story.state.blocked.is_none(), "stopped by a person");
}

#[test]
fn x6_nothing_is_repeated_where_a_person_decides_first() {
    let mut story = Story::opened();
    story.snapshot.workflow_runs =
        vec![workflow(CheckProgress::Completed { conclusion: Conclusion::Failure, at: Some(start()) })];
    story.comment("bob", "/loop stop");
    for _ in 0..3 {
        story.now += TimeDelta::minutes(40);
        assert!(story.decide().surface.reruns.is_empty());
    }
}

#[test]
fn w0_a12_s1_s8_without_a_usable_configuration() {
    let error = ConfigError {
        file: ".github/loopgate.yml".into(),
        line: 1,
        column: 1,
        snippet: String::new(),
        message: "no".into(),
        hint: None,
    };
    let mut story = Story::opened();
    story.policy.origin = PolicyOrigin::Presets { broken_at: sha(0xba), error };
    let decision = story.push(1, &[], &["rounds"]);
    assert_eq!((decision.view.stage, &decision.view.held_by), (Stage::Init, &Some(Hold::Configuration)));
    assert_eq!(decision.action, NextAction::Retry { attempt: 1 });
    let required = Some(CheckRunPlan::Completed(Conclusion::ActionRequired));
    assert_eq!((decision.surface.verify, decision.surface.gates), (required, required));
}

#[test]
fn w4_w11_kinds_that_validation_asks_for() {
    for kind in [CheckKind::Security, CheckKind::Integration, CheckKind::Performance, CheckKind::Coverage] {
        let mut story = Story::opened();
        story.push(1, &[], &["rounds"]);
        assert_eq!(story.last.as_ref().unwrap().view.stage, Stage::Ship, "a kind without a check asks for nothing");
        add_check(&mut story, "more", kind);
        let decision = story.decide();
        assert_eq!(decision.view.held_by, Some(Hold::MissingEvidence(vec![name("more")])), "{kind:?}");
    }
}

fn gated(stage: Stage) -> Story {
    let mut story = Story::opened();
    story.policy.gates = [("design".parse().unwrap(), gate(stage))].into();
    story.snapshot.authority.logins =
        [(2, "bob"), (3, "carol")].map(|(id, name)| (login(name), NamedAccount::Known(person(id, name)))).into();
    story
}

#[test]
fn w8_w9_a6_a7_s9_s10_s11_s13_gates_hold_their_own_transition() {
    let mut story = gated(Stage::Validate);
    let decision = story.push(1, &["rounds"], &[]);
    assert!(matches!(decision.view.held_by, Some(Hold::Failing(_))), "what the head lacks comes first");
    let decision = story.push(2, &[], &["rounds"]);
    assert_eq!(decision.action, NextAction::WaitForApproval { gate: "design".parse().unwrap() });
    assert_eq!(decision.view.stage, Stage::Validate);
    let completed = |conclusion| Some(CheckRunPlan::Completed(conclusion));
    assert_eq!(decision.surface.verify, completed(Conclusion::Success));
    assert_eq!(decision.surface.gates, completed(Conclusion::ActionRequired));
    let request = |round| Post::GateRequest { gate: "design".parse().unwrap(), round };
    assert_eq!(decision.surface.posts, [request(1)]);

    let decision = story.comment("bob", "/reject design no");
    assert_eq!((decision.view.stage, decision.surface.gates), (Stage::Implement, completed(Conclusion::Failure)));
    assert_eq!(decision.action, NextAction::Retry { attempt: 2 });
    let decision = story.comment("bob", "/approve design");
    assert_eq!((decision.view.stage, decision.surface.gates), (Stage::Ship, completed(Conclusion::Success)));

    // What the approval covered changes: asked for again, in a new round.
    let super::snapshot::ChangedFiles::Complete(files) = &mut story.snapshot.files else { panic!("complete") };
    files[0].patch = Some("@@ -1 +1 @@\n-old\n+newer".to_owned());
    assert_eq!(story.push(3, &[], &["rounds"]).surface.posts, [request(2)]);
}

#[test]
fn a3_c6_s2_stopped_by_a_person_until_resumed() {
    let mut story = Story::opened();
    story.push(1, &["rounds"], &[]);
    let decision = story.comment("bob", "/loop stop not now");
    assert_eq!((&decision.action, decision.word()), (&NextAction::Stopped, DecisionWord::Wait));
    assert_eq!(decision.surface.verify, Some(CheckRunPlan::Completed(Conclusion::ActionRequired)));
    assert!(matches!(decision.surface.labels["loop:waiting"], LabelWish::Present { .. }));
    assert_eq!(story.state.stop.words.as_deref(), Some("not now"));
    assert_eq!(story.comment("bob", "/loop resume").action, NextAction::Retry { attempt: 1 });
}

#[test]
fn a13_s2_given_up_without_calling_anybody() {
    let mut story = Story::opened();
    story.policy.retry.on_max = OnMax::Fail;
    story.policy.retry.same_error = 9;
    for head in 1..=3 {
        story.push(head, &["rounds"], &[]);
    }
    let decision = story.last.as_ref().unwrap();
    assert_eq!((&decision.action, story.state.status), (&NextAction::Stopped, RunStatus::Failed));
    assert_eq!(decision.surface.verify, Some(CheckRunPlan::Completed(Conclusion::Failure)));
    assert!(decision.surface.posts.is_empty());
}

#[test]
fn s18_a_merged_branch_goes_where_that_is_wished() {
    let goes = |on_complete, repository: Option<&str>, lifecycle: Lifecycle| {
        let mut story = Story::opened();
        story.policy.on_complete = on_complete;
        story.snapshot.pull_request.head.repository = repository.map(|name| name.parse().unwrap());
        story.snapshot.pull_request.lifecycle = lifecycle;
        story.decide();
        let first = story.last.as_ref().unwrap().surface.delete_branch.clone();
        story.now += TimeDelta::hours(1);
        assert_eq!(story.decide().surface.delete_branch, None, "a branch restored later stays");
        first
    };
    let merged = || Lifecycle::Merged { by: None, at: None };
    let (own, branch) = (Some("acme/widgets"), MergedBranch { name: "alice/round".to_owned(), sha: sha(1) });
    assert_eq!(goes(OnComplete::DeleteBranch, own, merged()), Some(branch));
    assert_eq!(goes(OnComplete::KeepBranch, own, merged()), None);
    assert_eq!(goes(OnComplete::DeleteBranch, Some("mallory/widgets"), merged()), None);
    assert_eq!(goes(OnComplete::DeleteBranch, own, Lifecycle::Closed), None);
}

#[test]
fn a12_requested_changes_are_answered_with_a_push() {
    let mut story = Story::opened();
    story.snapshot.required_approvals = 1;
    story.push(1, &[], &["rounds"]);
    let decision = story.review(ReviewVerdict::ChangesRequested, "name it");
    assert_eq!(decision.view.held_by, Some(Hold::ChangesRequested(login("bob"))));
    assert_eq!(decision.action.word(), DecisionWord::Retry);
}

#[test]
fn s14a_an_escalation_goes_where_the_policy_says() {
    let blocked = |channels: Vec<Channel>| {
        let mut story = Story::opened();
        story.policy.escalation.channels = channels;
        story.policy.retry.test_fail = AutoRetry::Escalate;
        story.push(1, &["rounds"], &[]);
        story
    };
    let story = blocked(vec![Channel::IssueComment, Channel::Cli]);
    let surface = &story.last.as_ref().unwrap().surface;
    assert_eq!((surface.posts.len(), surface.announce.len()), (1, 0));
    let mut story = blocked(vec![Channel::Slack, Channel::Email]);
    let surface = &story.decide().surface;
    assert_eq!((surface.posts.len(), surface.announce.len()), (0, 2), "looking again says the same while it is fresh");
    assert_eq!(surface.announce[&Channel::Slack], "escalation:max_attempts_reached:1");
    story.now += TimeDelta::minutes(5);
    assert!(story.decide().surface.announce.is_empty());
}

#[test]
fn s6_s7_verify_of_failing_heads() {
    let mut story = Story::opened();
    assert_eq!(story.push(1, &["rounds"], &[]).surface.verify, Some(CheckRunPlan::Completed(Conclusion::Failure)));
    story.snapshot.evidence = vec![refused()];
    let decision = story.decide();
    assert!(matches!(decision.action, NextAction::WaitForEvidence { .. }));
    assert_eq!(decision.surface.verify, Some(CheckRunPlan::InProgress), "nothing is known of the code");
}

#[test]
fn c1_questions_change_nothing() {
    let mut story = Story::opened();
    story.push(1, &["rounds"], &[]);
    let before = (story.state.attempts.clone(), story.state.status, story.last.as_ref().unwrap().action.clone());
    for question in ["help", "status", "history", "explain", "memory rounding", "lint-config"] {
        story.comment("carol", &format!("/loop {question}"));
        assert_eq!(answer(&story), &AnswerOutcome::Shown, "{question}");
    }
    assert_eq!((story.state.attempts.clone(), story.state.status, story.last.unwrap().action), before);
}

#[test]
fn c3_c7_c9_c10_c11_commands_that_are_not_carried_out() {
    use CommandRefusal as R;
    let mut story = Story::opened();
    add_check(&mut story, "lint", CheckKind::Lint);
    let mut refusal = |who: &str, words: &str| {
        story.comment(who, words);
        match answer(&story) {
            AnswerOutcome::Refused(refusal) => refusal.clone(),
            other => panic!("{words}: {other:?}"),
        }
    };
    assert_eq!(refusal("bob", "/loop resume"), R::NothingToResume);
    let unknown = R::UnknownCheck { check: name("lit"), nearest: Some(name("lint")) };
    assert_eq!(refusal("bob", "/loop skip lit --reason x"), unknown);
    assert_eq!(refusal("alice", "/loop skip lint --reason x"), R::OwnWork);
    assert_eq!(refusal("bob", "/loop skip unit --reason x"), R::NeverSkipped { check: name("unit") });
    assert_eq!(refusal("carol", "/loop stop"), R::NeedsWrite);

    story.policy.retry.skipping = ExecutionSkips::AnyCheck;
    story.comment("bob", "/loop skip unit --reason \"no tests yet\"");
    assert_eq!(answer(&story), &AnswerOutcome::Skipped { check: name("unit") });

    let mut story = Story::opened();
    story.snapshot.authority.people.clear();
    story.comment("bob", "/loop stop");
    assert_eq!(answer(&story), &AnswerOutcome::Refused(R::RightsUnknown));

    let mut story = Story::opened();
    story.write("bob", "/loop stop");
    story.snapshot.comments.items[0].updated_at += TimeDelta::minutes(5);
    story.now += TimeDelta::minutes(9);
    story.decide();
    assert_eq!(answer(&story), &AnswerOutcome::Refused(R::Edited));

    let mut story = Story::opened();
    story.write("bob", "/loop stop");
    story.snapshot.comments.items[0].visibility = Visibility::Hidden;
    story.decide();
    assert!(story.state.answered.is_empty());
    assert_eq!(story.snapshot.pull_request.readiness, Readiness::Ready);
}
