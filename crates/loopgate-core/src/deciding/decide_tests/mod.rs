//! Stories of one pull request, and the properties every story has.

mod attempts;
mod ends;
mod people;
mod properties;
mod saved;

use chrono::TimeDelta;
use proptest::prelude::*;

use super::decide;
use crate::{
    concerns::{
        escalation::{AttemptsEnd, Cause, Disagreement, Question},
        verdict::FeedbackFact,
    },
    deciding::{CheckRunPlan, Decision, DecisionWord, NextAction, Post, stages::Blocker},
    evidence::{Failure, Outcome},
    fixtures::*,
    observed::{
        ChangedFiles, CheckProgress, Conclusion, Hint, Lifecycle, Push, PushContent,
        ReceivedEvidence, ReviewVerdict, WorkflowRun,
    },
    policy::{EscalationAction, Recipient, Trigger, TriggerPolicy},
    stage::Stage,
    state::{LoopState, RunStatus, StopReason, history::Event},
};

/// The cause shown to the person who is called.
fn cause(decision: &Decision) -> Cause {
    decision
        .view
        .escalation
        .as_ref()
        .and_then(|escalation| escalation.cause.clone())
        .expect("a recognised cause")
}

fn shown_label(story: &Story) -> Vec<&str> {
    let labels = &story.last.as_ref().unwrap().surface.labels;
    let shown =
        |(name, wish): (&'_ String, &Option<_>)| wish.is_some() && name.starts_with("loop:");
    labels
        .iter()
        .filter(|label| shown(*label))
        .map(|(name, _)| name.as_str())
        .collect()
}

fn escalations(story: &Story) -> Vec<Post> {
    let posts = &story.last.as_ref().unwrap().surface.posts;
    posts
        .iter()
        .filter(|post| matches!(post, Post::Escalation { .. }))
        .cloned()
        .collect()
}

/// Takes a test away.
fn weaken(story: &mut Story) {
    let ChangedFiles::Complete(files) = &mut story.snapshot.files else {
        panic!("complete")
    };
    files[1].patch = Some(
        "@@ -1,4 +1,1 @@\n-#[test]\n-fn rounds() {\n-    assert_eq!(round(0.5), 1.0);\n-}"
            .to_owned(),
    );
}
