//! Decisions about single checks, attempts, stages, commands and disputes.

mod attempts;
mod commands;
mod disputes;
mod evidence;
mod reviewers;
mod silence;
mod stages;
mod unproven;

use chrono::TimeDelta;

use crate::{
    concerns::{checks::CheckStanding, verdict::RuleOutcome},
    deciding::{
        CheckRunPlan, Decision, DecisionWord, MergedBranch, NextAction, Post, Warning,
        stages::Blocker,
    },
    evidence::{
        CheckEvidence, CheckKind, CheckResults, Finding, FindingSeverity, Outcome, RetryClass,
    },
    failure::Blame,
    fixtures::*,
    ids::{CheckName, CheckRunId, UserId, WorkflowRunId},
    observed::{
        BaseEvidence, ChangedFile, ChangedFiles, CheckProgress, Conclusion, ExternalCheck,
        Lifecycle, Permission, ReceivedEvidence, ReviewVerdict, Standing, WorkflowRun,
    },
    policy::{
        Baseline, Channel, CheckPolicy, CheckSource, CommandCheck, ConfigError, ExternalSource,
        NameGlob, PolicyOrigin, Severity, Trigger, WhenSkipped,
    },
    stage::Stage,
    state::{AnswerOutcome, CommandRefusal, Lacking, LoopState, LostRecord, RunStatus, Trace},
};

fn name(text: &str) -> CheckName {
    text.parse().unwrap()
}

fn standing<'a>(decision: &'a Decision, check: &str) -> &'a CheckStanding {
    &decision
        .view
        .checks
        .iter()
        .find(|view| view.name.as_str() == check)
        .unwrap()
        .standing
}

fn blame(decision: &Decision, check: &str) -> Option<Blame> {
    decision
        .view
        .checks
        .iter()
        .find(|view| view.name.as_str() == check)
        .unwrap()
        .blame
}

fn answer(story: &Story) -> &AnswerOutcome {
    &story.state.people.answered.last().unwrap().answers[0].outcome
}

fn add_check(story: &mut Story, check: &str, kind: CheckKind) {
    let source = CheckSource::Command(CommandCheck::new(check));
    story.policy.verify.checks.insert(
        name(check),
        CheckPolicy {
            kind,
            source,
            is_detected: false,
        },
    );
}

/// Evidence of one more check beside build and unit, which pass.
fn with_check(story: &mut Story, check: CheckEvidence) {
    story.snapshot.evidence = vec![evidence(
        story.snapshot.pull_request.head.sha,
        &[],
        &["rounds"],
    )];
    let ReceivedEvidence::Accepted(evidence) = &mut story.snapshot.evidence[0] else {
        panic!("accepted")
    };
    evidence.checks.push(check);
}

fn refused() -> ReceivedEvidence {
    ReceivedEvidence::Refused {
        artifact: "loopgate-evidence-x".into(),
        workflow: None,
        run: None,
        reason: "no schema".into(),
    }
}

/// The unit tests come from other systems' check runs.
fn external(conclusions: &[Option<Conclusion>]) -> Story {
    let mut story = Story::opened();
    let source = ExternalSource {
        name: NameGlob::parse("ci / *").unwrap(),
        app: None,
        when_skipped: Default::default(),
    };
    story.policy.verify.checks[&name("unit")].source = CheckSource::External(source);
    let run = |(number, conclusion): (u64, &Option<Conclusion>)| ExternalCheck {
        progress: conclusion.map_or(CheckProgress::InProgress, |conclusion| {
            CheckProgress::Completed {
                conclusion,
                at: None,
            }
        }),
        ..check(number)
    };
    story.snapshot.checks = (1..).zip(conclusions).map(run).collect();
    story.snapshot.evidence = vec![evidence(sha(1), &[], &["rounds"])];
    story
}

/// A job of another system, which runs.
fn check(number: u64) -> ExternalCheck {
    ExternalCheck {
        id: Some(CheckRunId::new(number)),
        name: format!("ci / {number}"),
        app: Some("other-ci".to_owned()),
        progress: CheckProgress::InProgress,
        started_at: None,
        url: None,
        annotations: Vec::new(),
        summary: None,
        output: None,
    }
}

fn gated(stage: Stage) -> Story {
    let mut story = Story::opened();
    story.policy.gates = [("design".parse().unwrap(), gate(stage))].into();
    story.snapshot.authority.logins = [(2, "bob"), (3, "carol")]
        .map(|(id, name)| (login(name), Ok(person(id, name))))
        .into();
    story
}
