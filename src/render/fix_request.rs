//! What a fixer is asked that works elsewhere: the comment, to an agent by its name or as a note that a workflow was
//! started, and what that workflow is given.

use minijinja::{context, value::Serde};
use serde_json::{Value, json};

use super::{marker, messages, model::Document, verdict::Subject, words};
use loopgate_core::{
    deciding::Post,
    escalation::fix_request::{FixTurn, Whom},
    policy::{DispatchFixer, Fixer},
};

/// Items of feedback shown; the status comment has them all.
const ITEMS: usize = 10;

pub(super) fn request(subject: &Subject<'_>, whom: Whom, attempt: u32, post: &Post) -> String {
    let trigger = match (whom, &subject.decision.next.senior) {
        (Whom::Senior, Some(call)) => Some(words::trigger(call.trigger)),
        _ => None,
    };
    let most = subject.decision.view.max_attempts;
    let failed = messages::plain("fix_request", &"failed", context! { attempt, most, trigger });
    let fixer = whom.of(subject.policy);
    let (login, file, event_type) = match fixer {
        Some(Fixer::Mention(login)) => (Some(login.as_str()), None, None),
        Some(Fixer::Dispatch(DispatchFixer::Workflow { file })) => (None, Some(file.as_str()), None),
        Some(Fixer::Dispatch(DispatchFixer::Repository { event_type })) => (None, None, Some(event_type.as_str())),
        Some(Fixer::Author | Fixer::Command(_)) | None => (None, None, None),
    };
    let feedback = subject.feedback();
    let model = context! {
        login,
        file,
        event_type,
        sentence => words::sentence(&failed, 200),
        failed,
        branch => subject.snapshot.pull_request.head.branch.as_str(),
        items => Serde(feedback.iter().take(ITEMS).collect::<Vec<_>>()),
        more => feedback.len().saturating_sub(ITEMS),
    };
    format!("{}\n{}\n", marker(post), messages::markdown("fix_request", &"comment", model))
}

/// A workflow that is started with the feedback.
#[derive(Clone, Debug, PartialEq)]
pub struct Dispatch {
    pub to: DispatchFixer,
    /// The head branch: a `workflow_dispatch` runs there.
    pub branch: String,
    pub payload: Value,
}

/// The workflow to start; none where naming the fixer in a comment is all.
pub(super) fn dispatch(subject: &Subject<'_>, fix: FixTurn) -> Option<Dispatch> {
    let Some(Fixer::Dispatch(to)) = fix.whom.of(subject.policy) else { return None };
    let (pull, most) = (&subject.snapshot.pull_request, subject.policy.retry.max_attempts);
    let payload = json!({
        "schema": "loopgate.fix-request/v1",
        "pull_request": pull.number,
        "branch": pull.head.branch,
        "head_sha": pull.head.sha,
        "attempt": fix.attempt,
        "max_attempts": most,
        "feedback": Document::of(subject),
    });
    Some(Dispatch { to: to.clone(), branch: pull.head.branch.clone(), payload })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::fixtures;
    use loopgate_core::{
        fixtures::{Story, evidence, sha},
        observed::{ReceivedEvidence, ReviewVerdict},
        verdict::FeedbackFact,
    };

    #[test]
    fn an_agent_is_named_and_nobody_else() {
        let (mut decision, snapshot, mut policy) =
            (fixtures::first_failure(), fixtures::snapshot(), fixtures::policy());
        policy.fixer.fixer = Fixer::Mention("copilot".parse().unwrap());
        if let Some(FeedbackFact::Failure(first)) = decision.view.feedback.first_mut() {
            first.problem = "cc @everybody <!-- x -->".to_owned();
        }
        let subject = Subject { decision: &decision, snapshot: &snapshot, policy: &policy };
        let text = request(&subject, Whom::Fixer, 1, &Post::FixRequest { whom: Whom::Fixer, attempt: 1 });
        assert!(text.starts_with("<!-- loopgate:fix:1 -->\n@copilot attempt 1 of 3 failed."), "{text}");
        assert!(!text.contains("@everybody") && text.matches("<!--").count() == 1, "{text}");
    }

    fn story(to: DispatchFixer) -> Story {
        let mut story = Story::opened();
        story.policy.fixer.fixer = Fixer::Dispatch(to);
        story
    }

    fn dispatched(story: &Story) -> Dispatch {
        crate::render::pull_request(story.last.as_ref().unwrap(), &story.snapshot, &story.policy).dispatch.unwrap()
    }

    #[test]
    fn feedback_is_cut_at_a_sentence() {
        let to = DispatchFixer::Repository { event_type: "fix".into() };
        let mut story = story(to);
        story.policy.retry.feedback_max_length = 80;
        story.snapshot.required_approvals = 1;
        story.push(1, &["a", "b"], &[]);
        story.review(ReviewVerdict::ChangesRequested, &"Read `one. two` first. ".repeat(50));
        let dispatch = dispatched(&story);
        let words = &dispatch.payload["feedback"]["feedback"].as_array().unwrap().last().unwrap()["problem"];
        assert_eq!(words, "Read `one. two` first. ".repeat(3).trim_end(), "whole sentences, and no code span in two");
    }

    #[test]
    fn what_was_tried_stands_beside_its_failure() {
        let mut story = story(DispatchFixer::Repository { event_type: "fix".into() });
        story.push(1, &["a"], &[]);
        assert!(dispatched(&story).payload["feedback"]["failures"][0]["tried"].is_null(), "nothing was");
        let tried = |story: &Story| {
            let failures = dispatched(story).payload["feedback"]["failures"].clone();
            let of = |failure: &serde_json::Value| {
                let tried = failure["tried"].as_array().into_iter().flatten();
                tried.map(|one| format!("{} {}", one["attempt"], one["outcome"])).collect::<Vec<_>>()
            };
            failures.as_array().unwrap().iter().map(of).collect::<Vec<_>>()
        };
        story.push(2, &["a", "b"], &[]);
        assert_eq!(tried(&story), [vec!["2 \"same\"".to_owned()], vec![]]);
    }

    #[test]
    fn a_workflow_gets_the_feedback() {
        let to = DispatchFixer::Repository { event_type: "fix".into() };
        let mut story = story(to.clone());
        story.set_head(1);
        story.decide();
        let mut received = evidence(sha(1), &["a"], &[]);
        if let ReceivedEvidence::Accepted(evidence) = &mut received {
            let failure = &mut evidence.checks.last_mut().unwrap().failures[0];
            (failure.expected, failure.actual) = (Some("2".to_owned()), Some("3".to_owned()));
        }
        story.snapshot.evidence = vec![received];
        story.decide();
        let dispatch = dispatched(&story);
        assert_eq!((dispatch.to, dispatch.branch.as_str()), (to, "alice/round"));
        assert_eq!(dispatch.payload["attempt"], json!(1));
        let feedback = &dispatch.payload["feedback"];
        assert_eq!(feedback["schema"], "loopgate.feedback/v1");
        let failure = &feedback["failures"][0];
        assert_eq!((&failure["expected"], &failure["actual"]), (&json!("2"), &json!("3")), "{feedback:#}");
        // GitHub takes ten properties at the top of a client_payload.
        assert!(dispatch.payload.as_object().is_some_and(|fields| fields.len() <= 10));
    }
}
