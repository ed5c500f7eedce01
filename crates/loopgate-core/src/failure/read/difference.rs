//! Two values as the lines in which they differ: `- Expected … + Received`, `(-want +got)`, `(- lhs) (+ rhs)`.

use super::{
    comparisons::{COMPARISONS, Sides},
    value,
};

/// `- Expected … + Received` of Jest, Vitest and PHPUnit, `+ expected - actual` of mocha, `(-want +got)` of go-cmp.
pub(super) fn difference(head: &str) -> Option<Sides> {
    let lines: Vec<&str> = head.lines().collect();
    let of_legend = lines.iter().enumerate().find_map(|(index, line)| {
        let line = line
            .trim()
            .trim_start_matches("E ")
            .trim_start()
            .to_ascii_lowercase();
        let legend = COMPARISONS
            .legend
            .iter()
            .find(|(words, _)| line.contains(words.as_str()))?;
        Some((index, (legend.0.as_str(), legend.1)))
    });
    // pytest, of two values that are too long to be shown
    let cut = || {
        lines.iter().position(|line| {
            ["assert ", " == ", "..."]
                .iter()
                .all(|part| line.contains(part))
        })
    };
    let of_legend = of_legend.or_else(|| Some((cut()?, ("assert ", true))));
    // unittest, whose first value is the actual one
    let cut = || {
        lines
            .iter()
            .position(|line| line.contains(" != ") && line.contains(" chars]"))
    };
    let of_legend = of_legend.or_else(|| Some((cut()?, (" chars]", false))));
    // Where the lines of `diff -u expected got` begin: two files are compared, and what is expected stands first. A
    // formatter compares a file with itself.
    let name = |at: usize, mark: &str| {
        let name = lines
            .get(at)?
            .trim_start()
            .strip_prefix(mark)?
            .split(['\t', ' ', ':'])
            .next()?;
        Some(name.trim_start_matches("a/").trim_start_matches("b/"))
    };
    let is_unified = |at: &usize| {
        lines
            .get(at + 2)
            .is_some_and(|line| line.trim_start().starts_with("@@ "))
            && name(*at, "--- ")
                .zip(name(at + 1, "+++ "))
                .is_some_and(|(one, two)| one != two)
    };
    let unified = || (0..lines.len()).find(is_unified);
    let (start, legend) = of_legend.or_else(|| Some((unified()?, ("@@ ", true))))?;
    // Bun writes the legend below the difference.
    let above = || {
        lines[..start]
            .iter()
            .rposition(|line| line.contains("expect(received)"))
    };
    changed(&lines[start + 1..], legend).or_else(|| changed(&lines[above()? + 1..start], legend))
}

/// The lines of a difference that stand on one side only.
fn changed(lines: &[&str], (words, minus_is_expected): (&str, bool)) -> Option<Sides> {
    let is_angled = words.contains("diff <");
    let (mut minus, mut plus, mut both) = (Vec::new(), Vec::new(), Vec::new());
    let mut is_over = false;
    // pytest's marks stand in one column; what is further in is a line of both that begins so.
    let column = |line: &str| {
        let rest = line.trim_start().strip_prefix("E ")?;
        rest.find(|c: char| c != ' ')
            .filter(|at| rest[*at..].starts_with(['-', '+', '?']))
    };
    let marks = lines.iter().filter_map(|line| column(line)).min();
    for line in lines.iter().take(60) {
        let is_further_in = column(line).is_some_and(|at| marks.is_some_and(|marks| at > marks));
        let line = line.trim_start();
        let line = line.strip_prefix("E ").map_or(line, str::trim_start);
        if is_further_in {
            both.push((line, true, true));
            continue;
        }
        // insta numbers the lines of both sides, hedgehog draws a frame around them.
        let line = line
            .rsplit_once(['│', '┃'])
            .filter(|(edge, _)| {
                edge.chars()
                    .all(|c| c.is_ascii_digit() || " │┃".contains(c))
            })
            .map_or(line, |(_, rest)| rest.trim_start_matches(' '));
        // The trace may repeat the message.
        let is_again = !(minus.is_empty() && plus.is_empty())
            && words != "@@ "
            && line.to_ascii_lowercase().contains(words);
        if is_again
            || line == "+ expected - actual"
            || line.starts_with("at ")
            || line.starts_with('❯')
        {
            break;
        }
        let is_legend = [
            "--- ",
            "---- ",
            "+  where ",
            "+++ ",
            "++++ ",
            "+ Received",
            "+new ",
        ]
        .iter()
        .any(|start| line.starts_with(start));
        if is_legend {
            continue;
        }
        if let Some(rest) = line.strip_prefix(if is_angled { '<' } else { '-' }) {
            minus.push(rest.trim());
            both.push((rest.trim(), true, false));
        } else if let Some(rest) = line.strip_prefix(if is_angled { '>' } else { '+' }) {
            plus.push(rest.trim());
            both.push((rest.trim(), false, true));
        } else if !is_over && !line.is_empty() {
            both.push((line, true, true));
        }
        is_over |= line.is_empty() && !(minus.is_empty() && plus.is_empty());
    }
    // Elements in another order: the whole values show it.
    let sorted = |side: &[&'_ str]| {
        let mut side: Vec<String> = side
            .iter()
            .map(|line| line.trim_end_matches(',').to_owned())
            .collect();
        side.sort_unstable();
        side
    };
    if !minus.is_empty() && sorted(&minus) == sorted(&plus) {
        minus = both
            .iter()
            .filter(|(_, in_minus, _)| *in_minus)
            .map(|(line, ..)| *line)
            .collect();
        plus = both
            .iter()
            .filter(|(.., in_plus)| *in_plus)
            .map(|(line, ..)| *line)
            .collect();
    }
    let (expected, actual) = if minus_is_expected {
        (minus, plus)
    } else {
        (plus, minus)
    };
    let joined = |side: Vec<&str>| {
        if side.is_empty() {
            "(nothing)".to_owned()
        } else {
            value::untyped(&side.join(" "))
        }
    };
    (!expected.is_empty() || !actual.is_empty()).then(|| Sides {
        expected: joined(expected),
        actual: joined(actual),
        is_whole: false,
    })
}
