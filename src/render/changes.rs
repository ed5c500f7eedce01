//! What tests execute of the change, and what changed among them: a line each.

use std::collections::BTreeSet;

use minijinja::context;

use super::{Links, Markdown, annotations::parse_range, code, messages, words};
use loopgate_core::{
    deciding::View,
    evidence::{Against, ChangedCoverage, Compare, TestId},
    verdict::{FeedbackFact, evaluate::COVERAGE_RULE},
};

/// Names shown of each sort.
const MOST: usize = 5;

/// The line; none while nothing is known and nothing is asked, or where it is among what is to be done.
pub fn coverage_line(view: &View, links: &Links) -> Option<Markdown> {
    let is_to_do = |fact: &FeedbackFact| matches!(fact, FeedbackFact::Rule { id, .. } if id.as_str() == COVERAGE_RULE);
    let coverage = view.coverage.as_ref().filter(|_| !view.feedback.iter().any(is_to_do))?;
    Some(measured(coverage, links))
}

fn measured(coverage: &ChangedCoverage, links: &Links) -> Markdown {
    // `file:first-last`, linked.
    let uncovered = coverage.uncovered.iter().map(|range| match parse_range(range) {
        Some((file, first, last)) => links.lines(file, first, last),
        None => code(range),
    });
    let beside = context! {
        // Rounded down: 100 % means all of it.
        percent => coverage.changed_percent().map(|percent| format!("{:.0}", percent.floor())),
        covered => coverage.changed_covered,
        total => coverage.changed_total,
        uncovered => uncovered.collect::<Vec<_>>(),
        unmeasured => coverage.unmeasured.clone(),
    };
    messages::markdown("coverage", &"line", beside)
}

/// The sentence, without its stop; none when nothing changed.
pub fn compare_line(compare: &Compare) -> Option<Markdown> {
    let sorts = [("fixed", &compare.fixed), ("flaky", &compare.flaky), ("tests removed", &compare.removed)];
    // What fails now has a card of its own.
    let new = compare.new.len();
    let counted = (new > 0).then(|| words::plural(new, "more fails now", "more fail now"));
    let named = sorts.iter().filter_map(|(what, names)| Some(format!("{what}: {}", named(names)?)));
    let said: Vec<String> = counted.into_iter().chain(named).collect();
    let against = match compare.against {
        Against::AttemptBefore => "Compared with the attempt before",
        Against::Base => "Compared with the base",
    };
    (!said.is_empty()).then(|| Markdown::ours(format!("{against} — {}", said.join("; "))))
}

/// Of tests that pass only their identity is kept: those are counted, not named.
fn named(tests: &BTreeSet<String>) -> Option<String> {
    let (unnamed, names): (Vec<&String>, Vec<&String>) = tests.iter().partition(|name| name.parse::<TestId>().is_ok());
    let mut shown: Vec<String> = names.iter().map(|name| code(name).into_string()).collect();
    if shown.len() > MOST {
        return Some(format!("{} and {} more", shown[..MOST].join(", "), shown.len() - MOST + unnamed.len()));
    }
    if !unnamed.is_empty() {
        let more = if shown.is_empty() { "" } else { "more " };
        shown.push(format!("{} {more}that passed", unnamed.len()));
    }
    (!shown.is_empty()).then(|| words::and(&shown))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::fixtures;

    #[test]
    fn what_is_said_of_coverage() {
        let links = Links::of(&fixtures::snapshot());
        let mut view = fixtures::view();
        let said = |view: &View| coverage_line(view, &links).map(Markdown::into_string);
        assert_eq!(said(&view), None);
        view.coverage = Some(ChangedCoverage { lines_covered: 1, lines_total: 2, ..ChangedCoverage::default() });
        assert_eq!(said(&view).as_deref(), Some("No changed line is one that tests can cover."));
        view.coverage = Some(ChangedCoverage {
            changed_covered: 999,
            changed_total: 1000,
            unmeasured: vec!["src/new.rs".to_owned()],
            ..ChangedCoverage::default()
        });
        assert_eq!(
            said(&view).as_deref(),
            Some("99 % of the changed lines are covered by tests (999 of 1000); in no coverage report: `src/new.rs`.")
        );
    }

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn what_is_said_of_changes() {
        let id = |name: &str| TestId::of("", "", name).to_string();
        let table = [
            (Compare::default(), None),
            (
                Compare { new: set(&["a", "b"]), still: set(&["c"]), ..Compare::default() },
                Some("Compared with the attempt before — 2 more fail now"),
            ),
            (
                Compare { removed: set(&[&id("a"), &id("b")]), against: Against::Base, ..Compare::default() },
                Some("Compared with the base — tests removed: 2 that passed"),
            ),
            (
                Compare { removed: set(&[&id("a"), "b"]), ..Compare::default() },
                Some("Compared with the attempt before — tests removed: `b` and 1 more that passed"),
            ),
            (
                Compare { fixed: set(&["a", "b", "c", "d", "e", "f"]), ..Compare::default() },
                Some("Compared with the attempt before — fixed: `a`, `b`, `c`, `d`, `e` and 1 more"),
            ),
        ];
        for (compare, expected) in table {
            assert_eq!(compare_line(&compare).map(Markdown::into_string).as_deref(), expected);
        }
    }
}
