//! What a label says, in the list of a repository's labels.

use loopgate_core::deciding::LabelMeaning;

/// GitHub takes at most 100 characters; the name of a gate has at most 40.
pub fn label_description(meaning: &LabelMeaning) -> String {
    let words = match meaning {
        LabelMeaning::BaseFailsToo => "Its base fails in the same way",
        LabelMeaning::ChecksRun => "Checks are running",
        LabelMeaning::FixNeeded => "A fix is needed; the feedback says which",
        LabelMeaning::HumanDecides => "A human has to decide",
        LabelMeaning::AllIsThere => "Everything that was asked for is there",
        LabelMeaning::PersonAwaited => "Waiting for a person",
        LabelMeaning::GateWaits(gate) => return format!("Waiting for the approval of the {gate} gate"),
    };
    words.to_owned()
}
