//! Disputed failures in words: what is disputed, who was said to be right, and what follows. Names and reasons from
//! outside stand in these texts as they are; who shows them makes them safe.

use serde_json::{Value, json};

use loopgate_core::state::{Dispute, DisputeEnd, DisputeKind, Settlement};

/// "alice says that the test is wrong: it rounds down"
pub(super) fn claim(dispute: &Dispute) -> String {
    let what = match dispute.kind {
        DisputeKind::TestWrong => "the test is wrong",
        DisputeKind::RequirementUnclear => "it is unclear what is wanted",
        DisputeKind::Impossible => "what is asked for cannot be had",
        DisputeKind::NotMine => "the change has nothing to do with it",
        DisputeKind::Environment => "the environment is at fault",
    };
    format!("{} says that {what}: {}", dispute.by, dispute.reason)
}

/// How whoever disputes a failure says so with an account of their own; `words` are those of the command.
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
        None => "Nobody has settled it yet.".to_owned(),
    }
}

/// Who is right.
pub(super) fn verdict(outcome: &Settlement) -> String {
    match outcome {
        Settlement::Test => "the test is right".to_owned(),
        Settlement::Code => "the code is right".to_owned(),
        Settlement::Neither(text) => format!("neither is right, but “{text}”"),
    }
}

/// What follows for whoever repairs.
pub(super) fn to_do(dispute: &Dispute) -> String {
    match &dispute.end {
        Some(DisputeEnd::Settled { outcome: Settlement::Test, .. }) => {
            "Change the code so that the test passes.".to_owned()
        }
        Some(DisputeEnd::Settled { outcome: Settlement::Code, .. }) => {
            "Change the test so that it asks for what the code does, and nothing else in it.".to_owned()
        }
        Some(DisputeEnd::Settled { outcome: Settlement::Neither(text), .. }) => {
            format!("Make code and test so: {text}")
        }
        Some(DisputeEnd::Mended { .. }) | None => "Wait until it is settled.".to_owned(),
    }
}
