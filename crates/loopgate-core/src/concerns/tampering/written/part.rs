//! A part of a test file on both sides: what it asserts less, what keeps it from running, and whether it failed before.

use std::cmp::Ordering::{Equal, Less};

use super::rest::{MOST_COMPARED, Rest, take_line};
use crate::{
    concerns::tampering::{
        change::{Change, names},
        finding::{Comparison, Tampering},
        lines::LINES,
        source::{CodeLine, Part, missing, plain, quoted, tokens, values},
    },
    evidence::words,
};

/// A test that stands in its file no more, unless its assertions all stand in new tests. Nothing clears one that
/// failed: what else it does may be why it passes.
pub(super) fn removed(
    change: &Change<'_>,
    old: &Part<'_>,
    rest: &mut Rest<'_>,
) -> Option<Tampering> {
    let failed = names(&change.runs.failed, &old.name);
    let mut lines: Vec<&CodeLine> = old.asserting().collect();
    if lines.is_empty() {
        lines.extend(old.below());
    }
    let is_shared = rest.sharing.contains(old.file.path.as_str());
    let mut of_group = rest.shared.clone();
    let bag = match is_shared {
        true => &mut of_group,
        false => &mut rest.brought,
    };
    let stand = lines
        .iter()
        .filter(|line| take_line(bag, old.syntax, line))
        .count();
    if !failed && !lines.is_empty() && stand == lines.len() {
        return None;
    }
    let is_moved = failed && rest.mends && !lines.is_empty() && stand == lines.len();
    let with_subject = !failed
        && old
            .words()
            .any(|word| word != old.name && rest.gone.contains(word));
    let goes = if with_subject {
        "is removed with the code that it calls"
    } else {
        "is removed"
    };
    let (deed, lines) = (
        format!("the test “{}” {goes}", old.name),
        Vec::from_iter(&old.lines),
    );
    let found = change
        .finding(Comparison::Written, !with_subject, deed)
        .at(&old.file.path, &lines, &[])
        .named_unless(!is_moved);
    Some(Tampering {
        gone: Some(old.name.clone()),
        ..found
    })
}

/// What became less in a part that stands on both sides.
pub(super) fn changed(
    change: &Change<'_>,
    old: &Part<'_>,
    new: &Part<'_>,
    rest: &mut Rest<'_>,
) -> Vec<Tampering> {
    if tokens(&old.lines) == tokens(&new.lines) {
        return Vec::new();
    }
    let path = &old.file.path;
    let [taken, brought] = [
        missing(&old.lines, &new.lines),
        missing(&new.lines, &old.lines),
    ];
    let failed = failed(change, new, [&taken, &brought], rest);
    let test = if new.name.is_empty() {
        "the file".to_owned()
    } else {
        format!("“{}”", new.name)
    };
    if let Some((line, mark)) = new.skip_more(&old.lines) {
        let deed = format!("`{mark}` keeps {test} from running");
        let marked = change
            .finding(Comparison::Written, true, deed)
            .at(path, &[], &[line]);
        return vec![Tampering {
            gone: Some(new.name.clone()),
            ..marked
        }];
    }
    let keeps = rest.mends && keeps_all(old, [&taken, &brought], rest);
    let mut deeds = lost(old, new, rest);
    deeds.extend(doubts(new, &brought));
    // What stands above the declaration may turn a failure into a success.
    let is_more =
        |line: &&CodeLine| new.is_row(line) || line.number > new.line && new.asserts(line);
    let only_grows = taken.is_empty() && !brought.is_empty() && brought.iter().all(is_more);
    let is_cleared =
        only_grows || names(&change.runs.wrong, &new.name) || change.passes_as_it_was(old.file);
    if deeds.is_empty() && failed && !is_cleared {
        let edited = if new.is_test {
            "failed before, and is edited"
        } else {
            "is edited, and a test that failed uses it"
        };
        let deed = format!("{test} {edited}");
        let edited = change.finding(Comparison::Written, true, deed);
        return vec![edited.at(path, &taken, &brought).named_unless(!keeps)];
    }
    let is_named = || counts(new, &taken, &brought) && change.runs.by_exit_status;
    if deeds.is_empty() && !is_cleared && !keeps && is_named() {
        let deed =
            format!("{test} is edited, and an exit status alone says that what failed passes");
        let named = change.finding(Comparison::Written, false, deed);
        return vec![named.at(path, &taken, &brought).named_unless(false)];
    }
    let deeds = deeds.into_iter().map(|deed| format!("{test} {deed}"));
    deeds
        .map(|deed| {
            change
                .finding(Comparison::Written, failed, deed)
                .at(path, &taken, &brought)
        })
        .collect()
}

/// Whether a part failed before, or a test that did uses it: a helper by its name, and what stands outside of the tests
/// of its file. Imports that come replace nothing.
fn failed(
    change: &Change<'_>,
    new: &Part<'_>,
    [taken, brought]: [&[&CodeLine]; 2],
    rest: &Rest<'_>,
) -> bool {
    let is_import = |line: &CodeLine| LINES.imports.is_match(&line.text);
    // What an import names may stand among several now.
    let stays = |line: &CodeLine| {
        let mut named = values(&line.text).peekable();
        let stands = |value| brought.iter().any(|it| it.text.contains(value));
        is_import(line) && named.peek().is_some() && named.all(stands)
    };
    let is_new = |line: &CodeLine| words(&line.text).next().is_some() && !is_import(line);
    let replaces =
        || taken.iter().any(|line| !stays(line)) || brought.iter().any(|line| is_new(line));
    // An assertion may be a test by itself, whose name it states.
    let states = |line: &&CodeLine| {
        let mut values = values(&line.text).map(plain);
        new.asserts(line) && values.any(|value| change.runs.failed.contains(value.as_str()))
    };
    names(&change.runs.failed, &new.name)
        || !new.is_test && rest.used.contains(new.name.as_str())
        || new.name.is_empty() && rest.failed.contains(new.file.path.as_str()) && replaces()
        || taken.iter().any(states)
}

/// Whether what these lines of a part state stands on: the line elsewhere, what it gives a name, or its values one after
/// the other in the lines that come to the part. How long something waits is no statement.
fn keeps_all(old: &Part<'_>, [taken, brought]: [&[&CodeLine]; 2], rest: &Rest<'_>) -> bool {
    let stated = |lines: &[&CodeLine]| -> Vec<String> {
        let values = lines.iter().flat_map(|line| values(&line.text));
        values.map(plain).collect()
    };
    let comes = stated(brought);
    let is_given = |line: &CodeLine| {
        let given = line.text.split_once('=').map(|(_, it)| it.trim());
        given.is_some_and(|it| it.len() > 5 && rest.comes.iter().any(|line| line.contains(it)))
    };
    let stands = |line: &&CodeLine| {
        let values = stated(&[*line]);
        rest.brought
            .get(&line.words())
            .is_some_and(|left| *left > 0)
            || !values.is_empty() && comes.windows(values.len()).any(|part| part == values)
            || !old.asserts(line) && is_given(line)
    };
    let states = |line: &&&CodeLine| {
        let is_other = LINES.imports.is_match(&line.text) || LINES.waits.is_match(&line.text);
        old.asserts(line) || old.is_row(line) || !is_other && values(&line.text).next().is_some()
    };
    let is_small = taken.len().max(brought.len()) <= MOST_COMPARED;
    is_small && taken.iter().filter(states).all(stands)
}

/// Whether an edit of a part may be why a test passes: of a test or a helper any, outside of both what takes something.
/// A bracket that closes belongs to the part above it, whichever that is.
fn counts(new: &Part<'_>, taken: &[&CodeLine], brought: &[&CodeLine]) -> bool {
    let says = |line: &&CodeLine| words(&line.text).any(|word| word != "end");
    let takes = taken
        .iter()
        .any(|line| says(line) && !LINES.imports.is_match(&line.text));
    let is_order = taken.is_empty() && brought.is_empty() && !new.is_test;
    takes || !new.name.is_empty() && (is_order || brought.iter().any(says))
}

/// Marks that come and take from what the pass of a part says.
fn doubts(new: &Part<'_>, brought: &[&CodeLine]) -> Vec<String> {
    // One outside of tests and helpers names its test.
    if !new.is_test && !new.name.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for line in brought {
        let marks = [
            (
                new.syntax.doubts(&line.text),
                "has a mark by which a failure passes or is tried again",
            ),
            (
                new.syntax.mark(&line.text),
                "has a mark by which it can be left out",
            ),
        ];
        for (_, deed) in marks.into_iter().filter(|(mark, _)| mark.is_some()) {
            found.push(format!("{deed}: `{}`", quoted(&line.text)));
        }
    }
    found
}

/// What a part asserts less, or less strictly, that stands nowhere else.
fn lost(old: &Part<'_>, new: &Part<'_>, rest: &mut Rest<'_>) -> Vec<String> {
    let catches = |part: &Part<'_>| {
        part.lines
            .iter()
            .filter(|line| LINES.catches.is_match(&line.text))
            .count()
    };
    let stated = |lines: &[&CodeLine]| lines.iter().flat_map(|line| values(&line.text)).count();
    let [then, now] = [old, new].map(|part| {
        part.lines
            .iter()
            .filter(|line| part.is_row(line))
            .collect::<Vec<_>>()
    });
    let loses_rows = stated(&now) < stated(&then);
    let counts = |line: &&CodeLine| {
        old.asserts(line) || loses_rows && old.is_row(line) && stated(&[line]) > 0
    };
    let gone = missing(old.reached(), new.reached())
        .into_iter()
        .filter(counts);
    let gone = gone.filter(|line| !take_line(&mut rest.brought, old.syntax, line));
    let (lost, rows): (Vec<_>, Vec<_>) = gone.partition(|line| old.asserts(line));
    let [then, now] = [old, new].map(|part| part.asserting().collect::<Vec<_>>());
    let count = |lines: &[&CodeLine]| {
        lines
            .iter()
            .map(|line| old.syntax.assertions(&line.text))
            .sum::<usize>()
    };
    let exact = |lines: &[&CodeLine]| {
        lines
            .iter()
            .filter(|line| old.syntax.exact.is_match(&line.text))
            .count()
    };
    let weaker = match (
        count(&now).cmp(&count(&then)),
        exact(&now).cmp(&exact(&then)),
    ) {
        _ if lost.is_empty() => None,
        (Less, _) => Some(format!(
            "asserts less: {} before, {} after",
            count(&then),
            count(&now)
        )),
        (_, Less) => Some("accepts values that it refused before".to_owned()),
        (Equal, Equal) if stated(&now) < stated(&then) => {
            Some("computes a value that it stated before".to_owned())
        }
        _ => None,
    };
    let rows = (!rows.is_empty()).then(|| "loses rows of parameters".to_owned());
    let catches = new.is_test && catches(new) > catches(old);
    let catches = catches.then(|| "catches errors that made it fail before".to_owned());
    [weaker, rows, catches].into_iter().flatten().collect()
}
