//! What pull requests would have come to under another configuration, for a terminal.

use minijinja::{context, value::Serde};

use super::{
    messages,
    sanitize::{Markdown, code, line, short_text},
    words,
};
use loopgate_core::{
    replay::{Mean, Unknown, WhatIf},
    state::{Changes, ProposedConfiguration},
};

/// Pull requests that are named; of more, how many there are is enough.
const NAMED: usize = 8;

/// The differences, and what is not known.
pub fn what_if(found: &WhatIf) -> String {
    let changes = |(name, changes): (String, &Changes)| format!("{name}: {}", changed(changes));
    let gates = found.gates.iter().map(|(gate, all)| changes((format!("Gate {gate}"), all)));
    let calls = found.calls.iter();
    let calls = calls.map(|(trigger, all)| changes((format!("Calls for a human, {}", trigger.as_str()), all)));
    let unknown = found.unknown.iter().map(|(what, runs)| format!("{} ({})", unknown(what), named(runs)));
    let model = context! {
        found => Serde(found),
        changes => gates.chain(calls).collect::<Vec<_>>(),
        means => vec![
            vec!["First attempt that passes".to_owned(), mean(found.attempts_was), mean(found.attempts_would)],
            vec!["Score of an attempt".to_owned(), mean(found.scores_was), mean(found.scores_would)],
        ],
        unknown => unknown.collect::<Vec<_>>(),
    };
    messages::text("what_if.txt", model)
}

/// What the last pull requests would have come to under the configuration that a pull request proposes.
pub(super) fn proposed(tried: &ProposedConfiguration) -> Markdown {
    let said = |what: String, changes: &Changes| format!("{what} {}", short_text(&changed(changes), 300));
    let gates = tried.gates.iter().map(|(gate, changes)| said(format!("gate {}:", code(gate.as_str())), changes));
    let calls = tried.calls.iter();
    let calls = calls.map(|(trigger, changes)| said(format!("calls for {}:", code(trigger.as_str())), changes));
    let mut said: Vec<String> = gates.chain(calls).take(20).collect();
    if said.is_empty() {
        said.push("the same gates open, and the same people are called".to_owned());
    }
    let pull_requests = words::count(tried.runs, "pull request");
    Markdown::ours(format!("{pull_requests} of the last 30 days under this file: {}.", said.join("; ")))
}

/// `12 more (#41, #44, …), 3 fewer (#7)`
fn changed(changes: &Changes) -> String {
    let side =
        |runs: &[String], word: &str| (!runs.is_empty()).then(|| format!("{} {word} ({})", runs.len(), named(runs)));
    let sides = [side(&changes.more, "more"), side(&changes.fewer, "fewer")];
    sides.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn named(runs: &[String]) -> String {
    let mut names: Vec<String> = runs.iter().take(NAMED).map(|run| line(run)).collect();
    if runs.len() > NAMED {
        names.push(format!("and {} more", runs.len() - NAMED));
    }
    names.join(", ")
}

fn mean(mean: Mean) -> String {
    mean.value().map_or_else(|| "–".to_owned(), |value| format!("{value:.2}"))
}

fn unknown(what: &Unknown) -> String {
    match what {
        Unknown::Check(check) => format!("the check {}, of which there is no evidence", line(check.as_str())),
        Unknown::Unread(what) => format!("{}, which could not be read", line(what)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopgate_core::{metrics::CheckUse, policy::Trigger};

    #[test]
    fn the_differences_come_first_and_what_is_not_known_is_said() {
        let runs = |numbers: std::ops::Range<u32>| numbers.map(|number| format!("#{number}")).collect::<Vec<_>>();
        let told = WhatIf {
            runs: 30,
            gates: [("security".parse().unwrap(), Changes { more: runs(41..53), fewer: vec!["#7".into()] })].into(),
            calls: [(Trigger::SameError, Changes { more: Vec::new(), fewer: runs(3..6) })].into(),
            dropped_checks: [("scan".parse().unwrap(), CheckUse { runs: 12, total_ms: 90_000, ..CheckUse::default() })]
                .into(),
            unknown: [(Unknown::Check("fuzz".parse().unwrap()), runs(1..31))].into(),
            ..WhatIf::default()
        };
        insta::assert_snapshot!(what_if(&told), @r"
        30 pull requests under this configuration:

        Gate security: 12 more (#41, #42, #43, #44, #45, #46, #47, #48, and 4 more), 1 fewer (#7)
        Calls for a human, same_error: 3 fewer (#3, #4, #5)
        First attempt that passes, mean: – → –
        Score of an attempt, mean: – → –
        Check scan is gone: it ran 12 times, failed never, 1 min 30 s in all

        Not known: the check fuzz, of which there is no evidence (#1, #2, #3, #4, #5, #6, #7, #8, and 22 more)
        Gates are decided by what the last head changes, and by the rights that people have now.
        Not known either: approvals that nobody was asked for, how long gates would have waited, failures of the base, what services and fixers did.
        ");
        assert!(what_if(&WhatIf::default()).contains("The same gates open"));
    }
}
