//! What the debug memory holds of failures, in words. Anyone who can write the memory's refs may have written it: it is
//! quoted, never believed.

use std::collections::BTreeSet;

use minijinja::{context, value::Serde};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    Markdown, clip, code, marked,
    messages::{self, entry},
    short_text,
};
use loopgate_core::{
    PrNumber,
    concerns::verdict::FailureView,
    memory::{Card, MatchOutcome, Memory, MemoryMatch, Recurring, SettledDispute, Tier},
    text::one_line,
};

/// `schema` of what was found.
const QUERY_SCHEMA: &str = "loopgate.memory-query/v1";

/// What was found in a memory, for programs.
#[derive(Serialize, JsonSchema)]
pub struct MemoryFound<'m> {
    #[schemars(extend("const" = QUERY_SCHEMA))]
    schema: &'static str,
    /// Errors that were mended: the test, the cause, and the change that did it.
    #[schemars(with = "Vec<Map<String, Value>>")]
    cards: &'m [&'m Card],
    /// Errors that were seen and not mended.
    #[schemars(with = "Vec<Map<String, Value>>")]
    recurring: &'m [&'m Recurring],
}

/// What was looked for in a memory, for programs.
pub fn memory_found(cards: &[&Card], seen: &[&Recurring]) -> Value {
    marked(json!(MemoryFound {
        schema: QUERY_SCHEMA,
        cards,
        recurring: seen,
    }))
}

/// What a fixer gets from the memory about an error.
pub(super) fn for_fixer(view: &FailureView) -> Vec<Value> {
    let fixes = view.memory.iter().filter_map(MemoryMatch::shown).map(|(fix, tier, card)| {
        let mut found = json!({
            "card": card,
            "tier": tier,
            "pull_request": fix.pull_request,
            "commit": fix.commit.short(),
            "place": clip(&super::links::place(&fix.path, fix.line), 400),
            "why": clip(&format!("{} ({}). {}", fix.description, fix.diff_summary, fix.cause), 500),
            "hunk": clip(&fix.hunk, 800),
        });
        if !fix.failed_before.is_empty() {
            found["failed_before"] = fix.failed_before.iter().map(|tried| clip(tried, 200)).collect();
        }
        found
    });
    fixes.collect()
}

/// One line for people; none where nothing is known.
pub(super) fn line(view: &FailureView) -> Option<Markdown> {
    let found = view
        .memory
        .iter()
        .find(|found| found.fix.is_some())
        .or_else(|| view.memory.first())?;
    sentence(found)
}

/// What is remembered of failures, each after the name of its failure, for a terminal: one line each, the same error
/// once.
pub fn memory_lines<'a>(found: impl IntoIterator<Item = (String, &'a MemoryMatch)>) -> Vec<String> {
    let mut errors = BTreeSet::new();
    let first = found
        .into_iter()
        .filter(|(_, found)| errors.insert(found.fingerprint));
    let line = |(name, found): (String, &MemoryMatch)| {
        let known = super::plain(sentence(found)?.as_str());
        Some(format!("{}: {known}", one_line(&name, 120)))
    };
    first.filter_map(line).collect()
}

/// "seen in #41; fixed there by `abc1234` …"
fn sentence(found: &MemoryMatch) -> Option<Markdown> {
    let last = found.last_pull_request.filter(|_| found.seen > 0);
    let last = last.map(PrNumber::get);
    let seen = part(entry::Memory::Seen, context! { seen => found.seen, last }).into_string();
    let fixed_by = found.fix.as_ref().map(|fix| {
        let pull = fix.pull_request.map(PrNumber::get);
        part(
            entry::Memory::FixedBy,
            context! { pull, last, commit => fix.commit.short() },
        )
    });
    let change = found
        .fix
        .as_ref()
        .map(|fix| part(entry::Memory::Change, context! { fix => Serde(fix) }));
    let same_test = found.tier == Some(Tier::SameTest);
    let history = match (found.outcome, &found.fix) {
        (MatchOutcome::Seen, _) if seen.is_empty() => String::new(),
        (MatchOutcome::Shown, None) => String::new(),
        (outcome, _) => {
            let beside = context! { fixed_by, change, same_test };
            let fixed = messages::markdown(entry::MemoryMatch(&outcome), beside).into_string();
            if seen.is_empty() {
                fixed
            } else {
                format!("{seen}; {fixed}")
            }
        }
    };
    let settled = found
        .settled
        .as_ref()
        .map(|word| settled(word, |text| short_text(text, 400).into_string()));
    let parts: Vec<String> = [Some(history).filter(|text| !text.is_empty()), settled]
        .into_iter()
        .flatten()
        .collect();
    (!parts.is_empty()).then(|| Markdown::ours(format!("{}.", parts.join(". "))))
}

fn part(name: entry::Memory, beside: minijinja::Value) -> Markdown {
    messages::markdown(name, beside)
}

/// "olga settled in #12, where it was disputed, that the test is right"; names and words of others as `foreign` has
/// them.
pub(super) fn settled(word: &SettledDispute, foreign: impl Fn(&str) -> String) -> String {
    let place = word
        .pull_request
        .map_or_else(|| "a local loop".to_owned(), |number| format!("#{number}"));
    let (by, verdict) = (
        foreign(word.by.as_str()),
        foreign(&messages::reason(entry::Settlement(&word.outcome))),
    );
    format!("{by} settled in {place}, where it was disputed, that {verdict}")
}

/// What an escalation shows of the memory: a line for each error that it knows.
pub(super) fn summary<'a>(failures: impl Iterator<Item = &'a FailureView>) -> Markdown {
    let lines = failures.filter_map(|view| {
        Some(format!(
            "- {}: {}",
            code(&view.cause.to_string()),
            line(view)?
        ))
    });
    Markdown::ours(lines.take(10).collect::<Vec<_>>().join("\n"))
}

/// What a memory amounts to, for programs.
pub fn memory_stats_document(memory: &Memory) -> Value {
    json!({
        "schema": "loopgate.memory-stats/v1",
        "cards": memory.cards.len(),
        "patterns": memory.cards.values().filter(|card| card.is_pattern()).count(),
        "recurring": memory.recurring.values().filter(|seen| seen.occurrences > 0).count(),
        "flaky": memory.recurring.values().filter(|seen| seen.flips > 0).count(),
        "weeks": memory.weeks,
        "offers": memory.offers,
    })
}

/// The same for a terminal.
pub fn memory_stats(memory: &Memory) -> String {
    messages::text(
        "memory_stats.txt",
        Serde(memory_stats_document(memory)).into(),
    )
}

/// Cards for a terminal, each with the line at which its place stands now, where that is known.
pub fn memory_cards<'a>(cards: impl IntoIterator<Item = (&'a Card, Option<u32>)>) -> String {
    let card = |(card, at): (&Card, Option<u32>)| {
        let place = card
            .cited()
            .next()
            .map(|path| super::links::place(path, at))
            .unwrap_or_default();
        let share = card
            .effectiveness()
            .map(|share| format!("{:.0} %", share * 100.0));
        context! { place, share, commit => card.fix.commit.short(), card => Serde(card) }
    };
    let cards: Vec<_> = cards.into_iter().map(card).collect();
    messages::text("memory_cards.txt", context! { cards })
        .trim_end()
        .to_owned()
}

/// Errors that were seen and that nothing is known to have fixed, for a terminal.
pub fn memory_recurring<'a>(seen: impl IntoIterator<Item = &'a Recurring>) -> String {
    let line = |seen: &Recurring| {
        format!(
            "\n{}",
            messages::plain(entry::Recurring::Line, Serde(seen).into())
        )
    };
    format!(
        "Without a known fix:{}",
        seen.into_iter().map(line).collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use loopgate_core::{
        Fingerprint,
        memory::{Settlement, ShownFix},
    };

    fn found(outcome: MatchOutcome, tier: Option<Tier>, seen: u32) -> MemoryMatch {
        let told = ShownFix {
            pull_request: Some(PrNumber::new(41)),
            commit: fixtures::sha(0xab),
            description: "Check for null".to_owned(),
            diff_summary: "+5/-2".to_owned(),
            path: "src/auth.rs".to_owned(),
            line: Some(12),
            hunk: "-a\n+b\n".to_owned(),
            cause: "`user` is null.".to_owned(),
            failed_before: vec!["Catch it (+9/-0)".to_owned()],
        };
        MemoryMatch {
            fingerprint: Fingerprint::from_bytes([1; 8]),
            card: tier.map(|_| Fingerprint::from_bytes([1; 8]).into()),
            tier,
            outcome,
            seen,
            last_pull_request: (seen > 0).then(|| PrNumber::new(41)),
            followed: None,
            went_green: None,
            fix: (outcome == MatchOutcome::Shown).then_some(told),
            settled: None,
        }
    }

    #[test]
    fn what_is_remembered_is_one_line() {
        let settled = SettledDispute {
            failure: "01010101".parse().unwrap(),
            outcome: Settlement::Neither("round *up*".to_owned()),
            by: "olga".parse().unwrap(),
            at: loopgate_core::Timestamp::UNIX_EPOCH,
            run_id: "pr-12-20260101-000000".to_owned(),
            pull_request: Some(PrNumber::new(12)),
        };
        let all = [
            found(MatchOutcome::Shown, Some(Tier::SameError), 3),
            found(MatchOutcome::Shown, Some(Tier::SameTest), 0),
            found(MatchOutcome::Stale, Some(Tier::SameError), 2),
            found(MatchOutcome::Seen, None, 1),
            found(MatchOutcome::WontFix, None, 2),
            MemoryMatch {
                settled: Some(settled.clone()),
                ..found(MatchOutcome::Seen, None, 1)
            },
            MemoryMatch {
                settled: Some(settled),
                ..found(MatchOutcome::Seen, None, 0)
            },
        ];
        let said: Vec<String> = all
            .iter()
            .map(|found| sentence(found).unwrap_or_default().into_string())
            .collect();
        insta::assert_snapshot!(said.join("\n"), @r"
        seen 3 times, last in #41; fixed there by `abababab` “Check for null” (\+5/-2, `src/auth.rs:12`).
        the same test was fixed in #41 by `abababab` “Check for null” (\+5/-2, `src/auth.rs:12`).
        seen twice, last in #41; the fix of that time does not apply: its place was rewritten since.
        seen in #41; no fix is known.
        seen twice, last in #41; a person decided that it will not be fixed.
        seen in #41; no fix is known. olga settled in #12, where it was disputed, that neither is right, but “round \*up\*”.
        olga settled in #12, where it was disputed, that neither is right, but “round \*up\*”.
        ");
    }

    #[test]
    fn fixers_are_told_of_what_is_shown() {
        let mut view = fixtures::failure();
        view.memory = vec![
            found(MatchOutcome::Shown, Some(Tier::SameError), 3),
            found(MatchOutcome::Stale, Some(Tier::SameError), 3),
        ];
        insta::assert_json_snapshot!(for_fixer(&view), @r#"
        [
          {
            "card": "01010101",
            "tier": 1,
            "pull_request": 41,
            "commit": "abababab",
            "place": "src/auth.rs:12",
            "why": "Check for null (+5/-2). `user` is null.",
            "hunk": "-a\n+b\n",
            "failed_before": [
              "Catch it (+9/-0)"
            ]
          }
        ]
        "#);
        let failures = [view, fixtures::failure()];
        assert_eq!(
            summary(failures.iter()).as_str().lines().count(),
            1,
            "nothing is said of what is not known"
        );
        assert_eq!(summary(failures[1..].iter()).as_str(), "");
    }

    #[test]
    fn what_it_amounts_to() {
        insta::assert_snapshot!(memory_stats(&Memory::default()), @r"
        0 cards, 0 of them patterns; 0 recurring failures known, 0 tests flaky

        Gone in the next attempt
          shown      0 of 0
          followed   0 of 0
          all        0 of 0
        ");
    }
}
