//! The comment that asks a fixer to mend an attempt: to an agent by its name, or a note that a workflow was started.

use super::{
    marker,
    sanitize::{Markdown, code, short_text},
    verdict::Subject,
    words,
};
use loopgate_core::{
    deciding::Post,
    escalation::fix_request::Whom,
    failure::FeedbackLine,
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
    let feedback = &subject.decision.view.feedback;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::fixtures;

    #[test]
    fn an_agent_is_named_and_nobody_else() {
        let (mut decision, snapshot, mut policy) =
            (fixtures::first_failure(), fixtures::snapshot(), fixtures::policy());
        policy.fixer.fixer = Fixer::Mention("copilot".parse().unwrap());
        if let Some(first) = decision.view.feedback.first_mut() {
            first.problem = "cc @everybody <!-- x -->".to_owned();
        }
        let subject = Subject { decision: &decision, snapshot: &snapshot, policy: &policy };
        let text = request(&subject, Whom::Fixer, 1, &Post::FixRequest { whom: Whom::Fixer, attempt: 1 });
        assert!(text.starts_with("<!-- loopgate:fix:1 -->\n@copilot attempt 1 of 3 failed."), "{text}");
        assert!(!text.contains("@everybody") && text.matches("<!--").count() == 1, "{text}");
    }
}
