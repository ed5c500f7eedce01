use chrono::TimeDelta;

use super::*;
use crate::{
    RuleId, Sha,
    concerns::{
        checks::gather,
        verdict::evaluate::{evaluate_phase, rules},
    },
    deciding::{View, decide},
    evidence::CheckEvidence,
    fixtures,
    observed::{CodeType, ReceivedEvidence},
    policy::{EscalationAction, Fixer, Phase, Policy, Trigger},
    reflex::{
        Alias, Ask, Breach, FixMaker, FixRecord, LoopCall, Produced, Senior, Settings, begin,
        govern, prepared_checks, replay,
    },
    state::{CritiqueItem, RunDocument, RunStatus, StopReason, Task},
};

/// A loop whose iterations fail with the tests they are given.
struct Story {
    state: LoopState,
    policy: Policy,
    lines: Vec<HistoryLine>,
    /// Each state that was saved, and how many lines there were then.
    saved: Vec<(LoopState, usize)>,
    now: Timestamp,
}

impl Story {
    fn begun(limit: u32) -> Self {
        let settings = Settings {
            threshold_a: fixtures::policy().evaluate.thresholds.a,
            threshold_b: fixtures::policy().evaluate.thresholds.b,
            limit,
            ..Settings::default()
        };
        let policy = govern(&fixtures::policy(), &settings, limit);
        let task = Task {
            prompt: "round numbers".into(),
            ideal_result: None,
        };
        let alias = Alias::of_task("round numbers");
        let state = begin(
            &fixtures::snapshot(),
            &policy,
            &alias,
            task,
            settings,
            fixtures::start(),
        );
        let now = fixtures::start();
        let mut story = Self {
            state: state.clone(),
            policy,
            lines: Vec::new(),
            saved: vec![(state.clone(), 0)],
            now,
        };
        story.take(Turn::on(&state, now).begun());
        story
    }

    fn take(&mut self, turn: Turn) {
        self.now += TimeDelta::seconds(10);
        self.state = turn.state;
        self.lines.extend(turn.lines);
        self.saved.push((self.state.clone(), self.lines.len()));
    }

    fn evidence(
        &self,
        failing: &[&str],
        passing: &[&str],
    ) -> (crate::observed::Snapshot, Vec<CheckEvidence>) {
        let mut snapshot = fixtures::snapshot();
        snapshot.pull_request.head.sha = self.state.head.sha;
        snapshot.pull_request.head.tree = self.state.head.sha;
        snapshot.evidence = vec![fixtures::evidence(self.state.head.sha, failing, passing)];
        let ReceivedEvidence::Accepted(evidence) = &snapshot.evidence[0] else {
            unreachable!("accepted above")
        };
        let checks = evidence.checks.clone();
        (snapshot, checks)
    }

    /// Executes the steps up to the judgement of one iteration.
    fn iteration(&mut self, failing: &[&str], passing: &[&str]) -> &mut Self {
        while self.state.run.status == RunStatus::InProgress {
            let (state, now) = (self.state.clone(), self.now);
            let all = rules(&self.policy, CodeType::NewFunction);
            let checks = prepared_checks(&self.policy, &all, state.run.phase);
            match state.run.step {
                Step::Plan => self.take(
                    Turn::on(&state, now)
                        .planned(vec!["mend it".into()])
                        .unwrap(),
                ),
                Step::ProducePrepare => {
                    let head = fixtures::sha(u8::try_from(state.run.iteration).unwrap());
                    let produced = Produced {
                        head,
                        hash: crate::evidence::tree_hash(head),
                        document: None,
                    };
                    self.take(
                        Turn::on(&state, now)
                            .prepared(Some(&produced), checks, &self.policy)
                            .unwrap(),
                    );
                }
                Step::Prepare => self.take(
                    Turn::on(&state, now)
                        .prepared(None, checks, &self.policy)
                        .unwrap(),
                ),
                Step::Evaluate => {
                    let (snapshot, evidence) = self.evidence(failing, passing);
                    let cx = crate::policy::Context {
                        snapshot: &snapshot,
                        policy: &self.policy,
                        now,
                    };
                    let gathered =
                        gather::gather(cx, &[], &std::collections::BTreeSet::new(), |_| now);
                    let a = evaluate_phase(cx, &gathered, &all, Phase::A);
                    let decision = decide(&snapshot, &state, &self.policy, now);
                    let found = match state.run.phase {
                        Phase::A if a.passed() => Evaluated::PhaseA(&a),
                        _ => Evaluated::Head {
                            decision: &decision,
                            critique: &items_of(&decision.view),
                            call: None,
                        },
                    };
                    self.take(
                        Turn::on(&state, now)
                            .evaluated(found, &evidence, &[], &self.policy)
                            .unwrap(),
                    );
                }
                Step::Critique => {
                    let (snapshot, _) = self.evidence(failing, passing);
                    let view = decide(&snapshot, &state, &self.policy, now).view;
                    self.take(
                        Turn::on(&state, now)
                            .critiqued(&items_of(&view), &view.evaluation)
                            .unwrap(),
                    );
                }
                Step::Refine => {
                    let fix = fix(&state);
                    self.take(Turn::on(&state, now).refined(fix));
                    return self;
                }
            }
        }
        self
    }

    fn ending(&self) -> (RunStatus, Option<StopReason>, Option<Trigger>) {
        (
            self.state.run.status,
            self.state.run.stop.reason,
            self.state
                .people
                .blocked
                .as_ref()
                .map(|blocked| blocked.trigger),
        )
    }

    fn events(&self) -> Vec<String> {
        self.lines.iter().map(|line| line.event.name()).collect()
    }
}

fn fix(state: &LoopState) -> FixRecord {
    FixRecord {
        iteration: state.run.iteration,
        by: FixMaker::Fixer,
        head_sha: Sha::from_bytes([0xf0; 20]),
        subject: format!("fix(round): try {}", state.run.iteration),
        description: "another way".into(),
        diff_summary: "+1/-1".into(),
        files_modified: vec!["src/lib.rs".into()],
        outside_scope: Vec::new(),
        proven: Vec::new(),
        cost_usd: None,
    }
}

#[test]
fn a_loop_that_passes_switches_phase_on_the_same_head() {
    let mut story = Story::begun(4);
    story
        .iteration(&["up"], &["down"])
        .iteration(&[], &["up", "down"]);
    assert_eq!(
        story.ending(),
        (
            RunStatus::Completed,
            Some(StopReason::ThresholdReached),
            None
        )
    );
    assert_eq!(
        (
            story.state.run.iteration,
            story.state.attempts.counted.len()
        ),
        (2, 2)
    );
    assert_eq!(
        story.events(),
        [
            "run_started",
            "plan_created",
            "artifact_created",
            "checks_prepared",
            "evaluation_done",
            "critique_done",
            "refinement_done",
            "iteration_advanced",
            "plan_created",
            "artifact_created",
            "checks_prepared",
            "evaluation_done",
            "phase_switched",
            "checks_prepared",
            "evaluation_done",
            "completed"
        ]
    );
}

#[test]
fn how_loops_end() {
    use RunStatus::{Escalated, Stopped};
    type Row<'a> = (
        &'a [&'a [&'a str]],
        u32,
        RunStatus,
        Option<StopReason>,
        Option<Trigger>,
    );
    let table: &[Row<'_>] = &[
        // Another error each time: the limit bounds them all the same.
        (
            &[&["a"], &["b"], &["c"]],
            3,
            Stopped,
            Some(StopReason::IterationLimit),
            None,
        ),
        (
            &[&["a"]],
            1,
            Stopped,
            Some(StopReason::IterationLimit),
            None,
        ),
        // The same error in a third iteration calls a person, also at the limit.
        (
            &[&["a"], &["a"], &["a"]],
            4,
            Escalated,
            None,
            Some(Trigger::SameError),
        ),
        (
            &[&["a"], &["a"], &["a"]],
            3,
            Escalated,
            None,
            Some(Trigger::SameError),
        ),
        (
            &[&["a"], &["b"], &["a"]],
            4,
            Escalated,
            None,
            Some(Trigger::CircularFailure),
        ),
    ];
    for (iterations, limit, status, reason, cause) in table {
        let mut story = Story::begun(*limit);
        for failing in *iterations {
            story.iteration(failing, &[]);
        }
        assert_eq!(
            story.ending(),
            (*status, *reason, *cause),
            "{iterations:?} of {limit}"
        );
        let distance = story
            .state
            .run
            .reflex
            .as_ref()
            .unwrap()
            .distance_to_success
            .as_ref()
            .unwrap();
        assert_eq!(
            (
                distance.failed_fail_rules,
                distance.gap.to_string().as_str()
            ),
            (1, "0.30")
        );
        assert!(
            story.state.run.critique.is_some(),
            "the report says what is left to mend"
        );
    }
}

#[test]
fn a_test_that_passed_before_stops_the_loop() {
    let mut story = Story::begun(4);
    story
        .iteration(&["up"], &["down"])
        .iteration(&["down"], &["up"]);
    assert_eq!(
        story.ending(),
        (
            RunStatus::Escalated,
            None,
            Some(Trigger::RegressionDetected)
        )
    );
}

#[test]
fn a_resume_starts_a_new_streak_and_grants_iterations_where_none_are_left() {
    let mut story = Story::begun(3);
    story
        .iteration(&["a"], &[])
        .iteration(&["a"], &[])
        .iteration(&["a"], &[]);
    let resumed = Turn::on(&story.state, story.now).resumed("alice".parse().unwrap(), None, None);
    story.take(resumed);
    assert_eq!(
        (story.state.run.max_iterations, story.state.run.step),
        (6, Step::Critique)
    );
    story.iteration(&["a"], &[]).iteration(&[], &["a"]);
    assert_eq!(
        story.ending(),
        (
            RunStatus::Completed,
            Some(StopReason::ThresholdReached),
            None
        )
    );
}

#[test]
fn a_step_may_break_its_contract_once() {
    let mut story = Story::begun(4);
    assert_eq!(
        Turn::on(&story.state, story.now).planned(Vec::new()),
        Err(Breach::EmptyPlan)
    );
    let once = Turn::on(&story.state, story.now).broke("the plan is empty".into());
    story.take(once);
    assert_eq!(story.state.run.status, RunStatus::InProgress);
    let mended = {
        let mut story = Story {
            state: story.state.clone(),
            policy: story.policy.clone(),
            lines: Vec::new(),
            saved: Vec::new(),
            now: story.now,
        };
        story.iteration(&["a"], &[]);
        story.state.run.reflex.unwrap().broken
    };
    assert_eq!(mended, None, "a step that comes out right is forgiven");
    let twice = Turn::on(&story.state, story.now).broke("the plan is empty".into());
    story.take(twice);
    assert_eq!(
        story.ending(),
        (RunStatus::Failed, Some(StopReason::PhaseError), None)
    );
    assert_eq!(
        story.events()[1..],
        ["phase_error", "phase_error", "failed"]
    );
}

#[test]
fn the_senior_fixer_comes_once_and_then_a_person() {
    use crate::policy::{CommandFixer, TriggerPolicy};
    let mut story = Story::begun(4);
    let senior = CommandFixer {
        run: "senior".into(),
        environment: Default::default(),
        timeout: TimeDelta::minutes(1),
        author: Default::default(),
    };
    story.policy.escalation.senior = Some(Fixer::Command(senior));
    let own = TriggerPolicy {
        action: Some(EscalationAction::SeniorAgent),
        to: Vec::new(),
    };
    story
        .policy
        .escalation
        .triggers
        .insert(Trigger::SameError, own);
    story.iteration(&["a"], &[]).iteration(&["a"], &[]);
    story.state.run.step = Step::Plan;
    story.iteration(&["a"], &[]);
    assert_eq!(
        story.state.run.reflex.as_ref().unwrap().senior,
        Senior::Next
    );
    let mut by_senior = fix(&story.state);
    by_senior.by = FixMaker::SeniorFixer;
    story.state.run.iteration -= 1;
    let turn = Turn::on(&story.state, story.now).refined(by_senior);
    story.take(turn);
    story.iteration(&["a"], &[]);
    assert_eq!(
        story.ending(),
        (RunStatus::Escalated, None, Some(Trigger::SameError))
    );
}

#[test]
fn refused_edits_call_a_person_and_abort_where_that_is_wished_for() {
    let mut story = Story::begun(4);
    let call = call(vec!["tests/a.py is removed".to_owned()]);
    let refused = Turn::on(&story.state, story.now).refused(
        &[Trigger::Tampering],
        call.clone(),
        &story.policy,
    );
    assert_eq!(refused.state.run.status, RunStatus::Escalated);
    assert!(refused.state.run.reflex.as_ref().unwrap().ask.is_some());
    let own = crate::policy::TriggerPolicy {
        action: Some(EscalationAction::AbortWithReport),
        to: Vec::new(),
    };
    story
        .policy
        .escalation
        .triggers
        .insert(Trigger::Tampering, own);
    let aborted =
        Turn::on(&story.state, story.now).refused(&[Trigger::Tampering], call, &story.policy);
    assert_eq!(aborted.state.run.status, RunStatus::Aborted);
}

/// An item for each rule that fails.
fn items_of(view: &View) -> Vec<CritiqueItem> {
    let item = |rule: &RuleId| CritiqueItem {
        rule: rule.to_string(),
        issue: "it fails".into(),
        fix: "mend it".into(),
    };
    view.evaluation
        .failed_rules()
        .iter()
        .chain(&view.evaluation.warnings())
        .map(item)
        .collect()
}

/// A call to a person; the question does not matter here.
fn call(notes: Vec<String>) -> LoopCall {
    LoopCall {
        notes,
        ask: Ask {
            question: "Is it meant?".to_owned(),
            options: Vec::new(),
        },
    }
}

/// What a person decided, and where the loop stands.
fn standing_of(state: &LoopState) -> serde_json::Value {
    serde_json::json!([
        [
            state.run.iteration,
            state.run.max_iterations,
            state.run.phase,
            state.run.step,
            state.head.sha
        ],
        [
            state.run.status,
            state.run.stop,
            state.people.resumes,
            state.people.accepted,
            state.concerns.tampering
        ],
        [
            state.run.plan,
            state.concerns.checks.prepared,
            state.shown.checkpoints,
            state.people.blocked.as_ref().map(|blocked| blocked.trigger)
        ],
        state.run.reflex.as_ref().map(|reflex| (
            &reflex.settings,
            &reflex.broken,
            &reflex.notes,
            reflex.spent.cost_usd
        )),
    ])
}

/// Whatever older state is left, the lines since then lead to the same place; so do all lines from the beginning.
fn is_told_by_its_history(story: &Story) {
    for (saved, told) in &story.saved {
        let mut state = saved.clone();
        for line in &story.lines[*told..] {
            state
                .attempts
                .counted
                .clone_from(&story.state.attempts.counted);
            replay(&mut state, line, |_, notes| call(notes));
        }
        assert_eq!(
            standing_of(&state),
            standing_of(&story.state),
            "from line {told} of {:?}",
            story.events()
        );
    }
}

#[test]
fn a_damaged_loop_is_led_on_by_its_history() {
    let mut passed = Story::begun(4);
    passed
        .iteration(&["up"], &["down"])
        .iteration(&[], &["up", "down"]);
    is_told_by_its_history(&passed);
    let mut limited = Story::begun(2);
    limited.iteration(&["a"], &[]);
    is_told_by_its_history(&limited);
    is_told_by_its_history(limited.iteration(&["b"], &[]));

    let mut resumed = Story::begun(3);
    resumed
        .iteration(&["a"], &[])
        .iteration(&["a"], &[])
        .iteration(&["a"], &[]);
    is_told_by_its_history(&resumed);
    let accepted = [("tests/a.py: removed".to_owned(), 1)].into();
    let turn = Turn::on(&resumed.state, resumed.now).resumed(
        "alice".parse().unwrap(),
        Some(accepted),
        None,
    );
    resumed.take(turn);
    assert_eq!(resumed.state.concerns.tampering.len(), 1);
    is_told_by_its_history(&resumed);
    let turn = Turn::on(&resumed.state, resumed.now)
        .stopped(Some("enough".into()), "alice".parse().unwrap());
    resumed.take(turn);
    is_told_by_its_history(&resumed);

    let mut broken = Story::begun(4);
    for _ in 0..2 {
        let turn = Turn::on(&broken.state, broken.now).broke("the plan is empty".into());
        broken.take(turn);
        is_told_by_its_history(&broken);
    }

    let mut aborted = Story::begun(4);
    let own = crate::policy::TriggerPolicy {
        action: Some(EscalationAction::AbortWithReport),
        to: Vec::new(),
    };
    aborted
        .policy
        .escalation
        .triggers
        .insert(Trigger::Tampering, own);
    let notes = vec!["tests/a.py is removed".to_owned()];
    let turn = Turn::on(&aborted.state, aborted.now).refused(
        &[Trigger::Tampering],
        call(notes),
        &aborted.policy,
    );
    aborted.take(turn);
    assert_eq!(aborted.state.run.status, RunStatus::Aborted);
    is_told_by_its_history(&aborted);
}

/// `loop-state.json` of a local loop in its second iteration, as an older version saved it.
const SAVED: &str = include_str!("../../fixtures/saved/local_loop.json");

#[test]
fn a_loop_that_an_older_version_began_goes_on() {
    let saved: serde_json::Value = serde_json::from_str(SAVED).unwrap();
    let state: LoopState = serde_json::from_value(saved.clone()).unwrap();
    assert!(
        crate::fixtures::keeps(&serde_json::json!(RunDocument::from(state.clone())), &saved),
        "every key is written again"
    );
    let mut story = Story::begun(4);
    story.iteration(&["up"], &["down"]);
    story.state = state;
    story.iteration(&[], &["up", "down"]);
    assert_eq!(
        story.ending(),
        (
            RunStatus::Completed,
            Some(StopReason::ThresholdReached),
            None
        )
    );
    assert_eq!(
        (
            story.state.run.iteration,
            story.state.attempts.counted.len()
        ),
        (2, 2)
    );
}

/// The same loop as a version saved it that wrote schema 1, and what that version made of it in the next iteration.
#[test]
fn a_loop_of_schema_1_comes_to_what_it_came_to() {
    let saved = include_str!("../../fixtures/saved/schema_1/local_loop.json");
    let later = include_str!("../../fixtures/saved/schema_1/local_loop_later.json");
    let later: serde_json::Value = serde_json::from_str(later).unwrap();
    let mut story = Story::begun(4);
    story.iteration(&["up"], &["down"]);
    story.state = serde_json::from_str(saved).unwrap();
    story.iteration(&[], &["up", "down"]);
    assert_eq!(format!("{:?}", story.ending()), later["then"]);
    let shown = serde_json::json!(RunDocument::from(story.state));
    assert!(crate::fixtures::keeps(&shown, &later["state"]), "{shown:#}");
}
