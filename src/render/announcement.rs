//! The call for a human in short, as plain text: for channels beside the pull request.

use super::{causes, sanitize::line, verdict::Subject, words};

/// What a channel is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// One line.
    pub subject: String,
    pub text: String,
}

/// None while nobody is called.
pub(super) fn announcement(subject: &Subject<'_>) -> Option<Announcement> {
    let escalation = subject.decision.view.escalation.as_ref()?;
    let pull_request = &subject.snapshot.pull_request;
    let short = |text: &str, most: usize| line(text).chars().take(most).collect::<String>();
    let who: Vec<String> = escalation.recipients.iter().map(words::recipient).collect();
    let mut text = format!("{}\n", short(&pull_request.title, 200));
    text.push_str(&format!("by {}, {}\n\n", pull_request.author.login, pull_request.url));
    text.push_str(&format!("Why: {}\n", short(&causes::recognised(escalation), 300)));
    if !who.is_empty() {
        text.push_str(&format!("For: {}\n", words::few(&who, 6)));
    }
    text.push_str(&format!("\n{}\n", short(&causes::question(&escalation.question), 500)));
    for (number, option) in (1..).zip(causes::options(&escalation.question).iter().take(6)) {
        text.push_str(&format!("{number}. {}\n", short(option, 300)));
    }
    text.push_str("\nThe whole report, and how to resume, is on the pull request.\n");
    let reason = words::trigger(escalation.trigger);
    let number = pull_request.number;
    Some(Announcement { subject: format!("{}#{number} is blocked: {reason}", subject.snapshot.repository), text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::fixtures;

    #[test]
    fn one_look_tells_what_to_decide() {
        let (decision, snapshot) = fixtures::regression_escalated();
        let policy = fixtures::policy();
        let Announcement { subject, text } =
            announcement(&Subject { decision: &decision, snapshot: &snapshot, policy: &policy }).unwrap();
        insta::assert_snapshot!(format!("{subject}\n---\n{text}"));
    }
}
