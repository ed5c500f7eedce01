//! What changed among the tests, in one sentence.

use std::collections::BTreeSet;

use super::{
    sanitize::{Markdown, code},
    words,
};
use loopgate_core::evidence::{Against, Compare, TestId};

/// Names shown of each sort.
const MOST: usize = 5;

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
