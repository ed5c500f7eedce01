//! The call for a human in short, as plain text: for channels beside the pull request.

use minijinja::context;

use super::{causes, messages, verdict::Subject, words};

/// What a channel is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// One line.
    pub subject: String,
    pub text: String,
}

/// `None` if no person is called.
pub(super) fn announcement(subject: &Subject<'_>) -> Option<Announcement> {
    let escalation = subject.decision.view.escalation.as_ref()?;
    let pull_request = &subject.snapshot.pull_request;
    let model = context! {
        title => pull_request.title.as_str(),
        author => pull_request.author.login.as_str(),
        url => pull_request.url.as_str(),
        why => causes::recognised(escalation),
        who => escalation.recipients.iter().map(words::recipient).collect::<Vec<_>>(),
        question => causes::question(&escalation.question),
        options => causes::options(&escalation.question),
    };
    let (number, reason) = (pull_request.number, words::trigger(escalation.trigger));
    let subject = format!("{}#{number} is blocked: {reason}", subject.snapshot.repository);
    Some(Announcement { subject, text: messages::text("announcement.txt", model) })
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
