//! Disputed failures in words: what is disputed, who was said to be right, and what follows. Names and reasons from
//! outside stand in these texts as they are; who shows them makes them safe.

use minijinja::context;
use serde_json::{Value, json};

use super::messages::{self, word};
use loopgate_core::state::{Dispute, DisputeEnd, Settlement};

/// "alice says that the test is wrong: it rounds down"
pub(super) fn claim(dispute: &Dispute) -> String {
    format!("{} says that {}: {}", dispute.by, word("dispute", dispute.kind.as_str()), dispute.reason)
}

/// How to dispute a failure with an account of one's own; `words` are those of the command.
pub fn dispute_to_say(words: &str) -> Value {
    json!({
        "said_in": "nowhere", "comment": format!("/loop dispute {words}"), "line": format!("Loopgate-Dispute: {words}"),
        "do": "Nothing was written: this server has no token of yours for GitHub. Post `comment` on the pull request with \
               your own account, or put `line` into the message of the next commit that you push.",
    })
}

/// What fails: its test, else its check.
pub(super) fn subject(dispute: &Dispute) -> &str {
    dispute.test.as_deref().unwrap_or(dispute.check.as_str())
}

/// "bob settled it: the test is right."
pub(super) fn settled(dispute: &Dispute) -> String {
    match &dispute.end {
        Some(DisputeEnd::Settled { outcome, by, .. }) => format!("{by} settled it: {}.", verdict(outcome)),
        Some(DisputeEnd::Mended { .. }) => "A push fixed it and left the test as it was.".to_owned(),
        None => "It is not settled yet.".to_owned(),
    }
}

/// Who is right.
pub(super) fn verdict(outcome: &Settlement) -> String {
    messages::plain("settlement", outcome, context! {})
}

/// What a fixer or author does next.
pub(super) fn to_do(dispute: &Dispute) -> String {
    match &dispute.end {
        Some(DisputeEnd::Settled { outcome, .. }) => messages::plain("settlement_to_do", outcome, context! {}),
        Some(DisputeEnd::Mended { .. }) | None => "Wait until it is settled.".to_owned(),
    }
}
