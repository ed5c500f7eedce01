//! What a fixer is asked that works elsewhere: the comment, to an agent by its name or as a note that a workflow was
//! started, and what that workflow is given.

use serde_json::{Value, json};

use super::{
    marker,
    sanitize::{Markdown, code, short_text},
    verdict::Subject,
    words,
};
use loopgate_core::{
    deciding::Post,
    escalation::fix_request::{FixRequest, Whom},
    failure::{FeedbackLine, cut_at_sentence, summarise},
    policy::{DispatchFixer, Fixer},
};

/// Items of feedback shown; the status comment has them all.
const ITEMS: usize = 10;

pub(super) fn request(subject: &Subject<'_>, whom: Whom, attempt: u32, post: &Post) -> String {
    let most = subject.decision.view.max_attempts;
    let branch = code(&subject.snapshot.pull_request.head.branch);
    let failed = match (whom, &subject.decision.next.senior) {
        (Whom::Senior, Some(call)) => format!("attempt {attempt} failed: {}", words::trigger(call.trigger)),
        _ => format!("attempt {attempt} of {most} failed"),
    };
    let head = match whom.of(subject.policy) {
        // The one who is asked is named by the configuration, and is meant to be notified.
        Some(Fixer::Mention(login)) => format!(
            "@{login} {failed}. Please mend it and push to {branch}. Change the code, not what checks it: tests, workflows \
             and configuration stay as they are."
        ),
        Some(Fixer::Dispatch(DispatchFixer::Workflow { file })) => {
            format!("{} The workflow {} was asked to mend it on {branch}.", words::sentence(&failed, 200), code(file))
        }
        Some(Fixer::Dispatch(DispatchFixer::Repository { event_type })) => format!(
            "{} The event {} was sent, so that it is mended on {branch}.",
            words::sentence(&failed, 200),
            code(event_type)
        ),
        Some(Fixer::Author | Fixer::Command(_)) | None => words::sentence(&failed, 200).into_string(),
    };
    let feedback = subject.feedback();
    let items: Vec<String> = feedback.iter().take(ITEMS).enumerate().map(|(i, item)| entry(i + 1, item)).collect();
    let more = match feedback.len().saturating_sub(ITEMS) {
        0 => String::new(),
        more => format!("\n… and {more} more in the status comment."),
    };
    format!("{}\n{head}\n\n{}{more}\n", marker(post), items.join("\n"))
}

fn entry(number: usize, item: &FeedbackLine) -> String {
    let again = item.reproduce.as_deref().map(|command| format!(" Again: {}", code(command))).unwrap_or_default();
    let (problem, action): (Markdown, Markdown) = (short_text(&item.problem, 300), short_text(&item.action, 300));
    format!("{number}. {}: {problem} {action}{again}", code(&item.location))
}

/// A workflow that is started with the feedback.
#[derive(Clone, Debug, PartialEq)]
pub struct Dispatch {
    pub to: DispatchFixer,
    /// The head branch: a `workflow_dispatch` runs there.
    pub branch: String,
    pub payload: Value,
}

/// Items of feedback that a workflow is given, and characters of one text.
const GIVEN: usize = 20;
const TEXT: usize = 500;
/// Bytes of a payload. GitHub takes 65,535 characters of inputs.
const PAYLOAD: usize = 60_000;

/// The workflow to start; none where naming the fixer in a comment is all.
pub(super) fn dispatch(subject: &Subject<'_>, fix: FixRequest) -> Option<Dispatch> {
    let Some(Fixer::Dispatch(to)) = fix.whom.of(subject.policy) else { return None };
    let branch = subject.snapshot.pull_request.head.branch.clone();
    Some(Dispatch { to: to.clone(), branch, payload: payload(subject, fix.attempt, &subject.feedback()) })
}

fn payload(subject: &Subject<'_>, attempt: u32, feedback: &[FeedbackLine]) -> Value {
    let short = |text: &str| cut_at_sentence(text, TEXT);
    let item = |item: &FeedbackLine| {
        // A command that is cut is another command.
        let reproduce = item.reproduce.as_deref().filter(|command| command.chars().nth(TEXT).is_none());
        json!({ "location": short(&item.location), "problem": short(&item.problem), "action": short(&item.action),
                "reason": short(&item.reason), "reproduce": reproduce })
    };
    let (pull, retry) = (&subject.snapshot.pull_request, &subject.policy.retry);
    let whole = |items: &[Value]| {
        json!({
            "schema": "loopgate.fix-request/v1",
            "pull_request": pull.number,
            "branch": pull.head.branch,
            "head_sha": pull.head.sha,
            "attempt": attempt,
            "max_attempts": retry.max_attempts,
            "summary": summarise(feedback, retry.feedback_max_length),
            "feedback": items,
            "not_shown": feedback.len() - items.len(),
        })
    };
    let mut items: Vec<Value> = feedback.iter().take(GIVEN).map(item).collect();
    while whole(&items).to_string().len() > PAYLOAD && items.pop().is_some() {}
    whole(&items)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::fixtures;
    use loopgate_core::{fixtures::Story, observed::ReviewVerdict, verdict::FeedbackFact};

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
    fn feedback_is_cut_at_a_sentence_and_summed_up() {
        let to = DispatchFixer::Repository { event_type: "fix".into() };
        let mut story = story(to);
        story.policy.retry.feedback_max_length = 80;
        story.snapshot.required_approvals = 1;
        story.push(1, &["a", "b"], &[]);
        story.review(ReviewVerdict::ChangesRequested, &"Read `one. two` first. ".repeat(50));
        let dispatch = dispatched(&story);
        let words = &dispatch.payload["feedback"].as_array().unwrap().last().unwrap()["problem"];
        assert_eq!(words, "Read `one. two` first. ".repeat(3).trim_end(), "whole sentences, and no code span in two");
        let summary = dispatch.payload["summary"].as_str().unwrap();
        assert!((1..=80).contains(&summary.chars().count()), "{summary}");
        assert!(summary.ends_with("more."), "{summary}");
    }

    #[test]
    fn a_payload_stays_below_what_github_takes() {
        let line = || FeedbackLine {
            id: None,
            location: "a".repeat(900),
            problem: "\u{1F600}".repeat(900),
            action: "\u{1F600} ".repeat(900),
            reason: "why".to_owned(),
            reproduce: Some("run ".repeat(300)),
        };
        let (decision, snapshot, policy) = (fixtures::first_failure(), fixtures::snapshot(), fixtures::policy());
        let feedback: Vec<FeedbackLine> = (0..50).map(|_| line()).collect();
        let subject = Subject { decision: &decision, snapshot: &snapshot, policy: &policy };
        let payload = payload(&subject, 1, &feedback);
        assert!(payload.to_string().len() <= PAYLOAD);
        let shown = payload["feedback"].as_array().unwrap();
        assert!(!shown.is_empty() && shown.iter().all(|item| item["reproduce"].is_null()), "half a command is another");
        assert_eq!(payload["not_shown"], json!(50 - shown.len()));
    }

    #[test]
    fn a_workflow_gets_the_feedback() {
        let to = DispatchFixer::Repository { event_type: "fix".into() };
        let mut story = story(to.clone());
        story.push(1, &["a"], &[]);
        let dispatch = dispatched(&story);
        assert_eq!((dispatch.to, dispatch.branch.as_str()), (to, "alice/round"));
        assert_eq!(dispatch.payload["attempt"], json!(1));
        assert!(dispatch.payload["feedback"][0]["action"].as_str().is_some_and(|action| !action.is_empty()));
        // GitHub takes ten properties at the top of a client_payload.
        assert!(dispatch.payload.as_object().is_some_and(|fields| fields.len() <= 10));
    }
}
