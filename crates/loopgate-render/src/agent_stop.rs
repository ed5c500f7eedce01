//! Why a coding agent is to go on, in the answer of its stop hook: names and places, after the word that they are data,
//! and nothing that a check printed.

use minijinja::{Value, context};

use super::{
    CAUTION, Reading, defused,
    messages::{self, entry},
    planted_lines,
};
use loopgate_core::{failure::Blame, text::one_line};

/// Bytes of a reason at most.
const MOST: usize = 2048;
/// Failures that it names.
const MOST_NAMED: usize = 8;
/// Characters of a failure's names.
const LONGEST_NAME: usize = 160;

/// That the verification of the working tree failed.
pub fn held_by_tree(reading: &Reading) -> String {
    failing(reading, entry::Held::Tree, context! {}, "loopgate verify")
}

/// That the verdict on the pushed head of this pull request asks for more.
pub fn held_by_verdict(reading: &Reading, of: &str) -> String {
    let read = format!("loopgate feedback {of}");
    failing(reading, entry::Held::Head, context! { of }, &read)
}

/// That the working tree was edited since the last verification.
pub fn held_by_edits() -> String {
    messages::reason(entry::Held::Older)
}

/// That the edits of the working tree were never verified.
pub fn held_unverified() -> String {
    messages::reason(entry::Held::Never)
}

fn failing(reading: &Reading, what: entry::Held, beside: Value, read: &str) -> String {
    let feedback = &reading.feedback;
    // What the base has too is not the author's to repair.
    let own = feedback
        .failures
        .iter()
        .filter(|one| one.blame.as_deref() != Some(Blame::Base.as_str()));
    let named = own.take(MOST_NAMED).map(|failure| {
        let place = failure.place.as_ref().map(|place| place.file.as_str());
        let names = [failure.check.as_deref(), failure.test.as_deref(), place];
        let names = names.map(Option::unwrap_or_default).join(" ");
        defused(&one_line(&format!("{} {names}", failure.id), LONGEST_NAME))
    });
    let model = context! {
        what => messages::plain(what, context! { head => feedback.head_sha.to_string(), ..beside }),
        caution => CAUTION,
        failures => named.collect::<Vec<_>>(),
        planted => planted_lines(&feedback.planted),
        read,
    };
    let mut text = messages::text("agent_stop.txt", model)
        .trim_end()
        .to_owned();
    while text.len() > MOST {
        text.pop();
    }
    text
}
