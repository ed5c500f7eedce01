//! Both sides of an assertion where each stands behind a label: `Expected: 4`, `got->{count} = '1'`, `[left]:  [1, 2]`,
//! `expected: |-` of YAML, whatever the library, in either order, on one line or below the label.

use super::{
    comparisons::{COMPARISONS, Labels},
    value,
};

/// Most lines between both labels.
const MAX_DISTANCE: usize = 40;
/// Most lines of one value.
const MAX_LINES: usize = 30;

#[derive(Clone, Copy, PartialEq, Eq)]
enum LabelSide {
    Expected,
    Actual,
}

/// The first two values with labels of both sides.
pub(super) fn labelled(lines: &[&str]) -> Option<(String, String)> {
    let mut last: [Option<(usize, &str, String)>; 2] = [None, None];
    let mut at = 0;
    // Whether the value before this one had several lines that are indented no deeper than its label.
    let mut in_margin = false;
    while at < lines.len() {
        let Some((side, label, rest)) = label(lines[at]) else {
            at += 1;
            continue;
        };
        let (text, taken) = value(lines, at, rest, in_margin);
        in_margin =
            taken > 2 && rest.is_empty() && indentation(lines[at + 1]) <= indentation(lines[at]);
        // Hamcrest: `Expected: is <30>`, `but: was <20>`.
        let stated = ["is ", "was "]
            .iter()
            .find_map(|verb| text.strip_prefix(verb))
            .unwrap_or(&text)
            .to_owned();
        // Jest's own labels: the expected side may be a sentence that the author of the assertion wrote.
        let is_sentence = label == "Expected"
            && lines[at..]
                .iter()
                .any(|line| line.trim().starts_with("Received: "));
        let is_none = text.is_empty()
            || value::is_description(&stated) && !(is_sentence && value::is_relation(&stated))
            || label == "but"
                && !(text.starts_with("was ")
                    || [": was ", "> differed by "]
                        .iter()
                        .any(|verb| text.contains(verb)));
        if is_none {
            // The other side of what is no value belongs to it.
            last = [None, None];
            at += taken.max(1);
            continue;
        }
        last[side as usize] = Some((at, label, stated));
        if let [Some((one, _, expected)), Some((two, _, actual))] = &last
            && one.abs_diff(*two) <= MAX_DISTANCE
        {
            // The lengths of two strings stand above them.
            let goes_on = || {
                lines[at..]
                    .iter()
                    .any(|line| line.trim_start().starts_with("Expected: "))
            };
            if !(label.ends_with("length") && goes_on()) {
                return Some((expected.clone(), actual.clone()));
            }
            last = [None, None];
        }
        at += taken.max(1);
    }
    None
}

/// The side, its label and what stands behind it: `  Expected length: 3`, `#     $expected->{count} = '2'`.
fn label(line: &str) -> Option<(LabelSide, &str, &str)> {
    let line = line.strip_prefix("E ").unwrap_or(line);
    // The head of a difference names the two texts: `---- expected: tests/float.rs:22:16`.
    if ["---", "+++"]
        .iter()
        .any(|mark| line.trim_start().starts_with(mark))
    {
        return None;
    }
    // SWI-Prolog writes its level in front of every line.
    let line = line.strip_prefix("ERROR:").unwrap_or(line);
    let line =
        line.trim_start_matches([' ', '-', '+', '#', '│', '|', '[', '$', '<', '!', '.', '`']);
    // `cart_test.go:8: got: 3`
    let is_place = |(place, _): &(&str, &str)| {
        place
            .rsplit_once(':')
            .is_some_and(|(file, line)| file.contains('.') && line.parse::<u32>().is_ok())
    };
    let line = line
        .split_once(": ")
        .filter(is_place)
        .map_or(line, |(_, rest)| rest);
    let Labels {
        expected,
        actual,
        aside,
    } = &COMPARISONS.labels;
    let side_of = |word: &str| match word.to_ascii_lowercase() {
        word if expected.contains(&word) => Some(LabelSide::Expected),
        word if actual.contains(&word) => Some(LabelSide::Actual),
        _ => None,
    };
    let bare = line
        .split_once(' ')
        .filter(|(_, rest)| value::is_literal(rest.trim()));
    if let Some((side, label, rest)) =
        bare.and_then(|(word, rest)| Some((side_of(word)?, word, rest.trim())))
    {
        return Some((side, label, rest));
    }
    let end = line.find([':', '=']).filter(|end| *end <= 40)?;
    let (label, rest) = (&line[..end], &line[end + 1..]);
    // `==`, `=>`, `::` and `left:right` are code.
    let is_apart = rest.is_empty() || rest.starts_with(' ');
    let is_assigned = line[end..].starts_with('=') && !label.ends_with(' ');
    let label = label.trim_end_matches([' ', ']', '`']);
    let first = label
        .split([' ', '-', '[', '.'])
        .next()?
        .to_ascii_lowercase();
    let mut words = label.split([' ', '-']).skip(1).map(str::to_ascii_lowercase);
    if !is_apart || is_assigned || first != "passed" && words.any(|word| aside.contains(&word)) {
        return None;
    }
    let side = side_of(&first)?;
    // `Left alloca redzone:`
    let is_position = ["left", "right", "lhs", "rhs"].contains(&first.as_str());
    if is_position
        && label
            .split(' ')
            .nth(1)
            .is_some_and(|noun| !["value", "side", "operand"].contains(&noun))
    {
        return None;
    }
    // `Expected element to have text content:`, with the value below.
    let is_heading = rest.is_empty() && label.starts_with("Expected ");
    (is_heading || label.split(' ').count() <= 4).then_some((side, label, rest.trim()))
}

/// The value behind a label, and how many lines label and value take: the rest of its line up to the bracket that
/// closes it, or the lines below that are indented deeper. Lines that are not indented deeper belong to it where the
/// other label ends them (`got:` and `want:` of Go's examples), or where this label ended those of the other value.
fn value(lines: &[&str], at: usize, rest: &str, in_margin: bool) -> (String, usize) {
    let is_block = matches!(rest, "" | "|" | "|-" | "|+" | ">" | ">-");
    // GoogleTest: `has 2 elements where`, and what each of them is.
    let is_list = rest.ends_with(" where");
    let mut kept = if is_block { Vec::new() } else { vec![rest] };
    let below = || {
        lines[at + 1..]
            .iter()
            .take(MAX_LINES)
            .take_while(|line| !line.trim().is_empty())
    };
    let is_in_margin = rest.is_empty()
        && (in_margin || below().any(|line| label(line).is_some_and(|found| found.2.is_empty())));
    let mut open = brackets(rest);
    let indent = indentation(lines[at]);
    let mut taken = 1;
    // uvu marks the lines of a side.
    let mark = lines
        .get(at + 1)
        .and_then(|line| line.trim_start().get(..2))
        .filter(|mark| matches!(*mark, "--" | "++"));
    for line in lines[at + 1..].iter().take(MAX_LINES) {
        let marked = mark.map(|mark| line.trim_start().strip_prefix(mark));
        let is_below = marked.map_or(
            indentation(line) > indent || kept.is_empty() || is_in_margin,
            |marked| marked.is_some(),
        );
        let goes_on = match is_block {
            true => !line.trim().is_empty() && (is_below || open > 0) && label(line).is_none(),
            false => open > 0 || is_list && label(line).is_none(),
        };
        if !goes_on {
            break;
        }
        open += brackets(line);
        kept.push(marked.flatten().unwrap_or(line).trim());
        taken += 1;
    }
    (value::on_line(&kept.join("\n")), taken)
}

/// How many brackets a line opens and does not close.
fn brackets(line: &str) -> i32 {
    line.chars()
        .map(|c| i32::from(matches!(c, '(' | '[' | '{')) - i32::from(matches!(c, ')' | ']' | '}')))
        .sum()
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '#']).len()
}
