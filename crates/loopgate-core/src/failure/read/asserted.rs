//! The assertion that failed, where a tool quotes its source: which of its sides states what is expected.

use super::value;

/// Most lines that are looked at.
const MAX_LINES: usize = 200;

/// Whether the first assertion that a text quotes states first what is expected, which libraries that know a left and a
/// right side only do not show; of a member and a list, the list states it.
pub(super) fn is_reversed(text: &str) -> bool {
    let mut before = "";
    let mut lines = text.lines().take(MAX_LINES).peekable();
    while let Some(line) = lines.next() {
        if let Some(found) =
            quoted(before, line, lines.peek().copied().unwrap_or_default()).and_then(of_source)
        {
            return found;
        }
        before = line;
    }
    false
}

/// The source on a line, in the frames that tools draw around it.
fn quoted<'t>(before: &str, line: &'t str, after: &str) -> Option<&'t str> {
    let trimmed = line.trim_start();
    // pytest, and Python's traceback
    let is_below = before.trim_start().starts_with("File \"")
        || after.starts_with("E  ") && line.starts_with("    ");
    // `6|   expect(…)` above `|   ^`
    let is_marked = after
        .trim_start()
        .strip_prefix('|')
        .is_some_and(|rest| rest.trim_start().starts_with('^'));
    if is_below {
        return Some(trimmed);
    }
    if is_marked || line.starts_with('>') {
        let unnumbered = trimmed
            .trim_start_matches(['>', ' '])
            .trim_start_matches(|c: char| c.is_ascii_digit());
        return Some(unnumbered.trim_start_matches([' ', '|']));
    }
    trimmed
        .strip_prefix("Failure/Error: ")
        // Catch2, doctest and Boost show which macro failed.
        .or_else(|| {
            ["CHECK", "REQUIRE"]
                .iter()
                .any(|name| trimmed.starts_with(name))
                .then_some(trimmed)
        })
        .or_else(|| {
            Some(
                trimmed
                    .split_once("ERROR: ")?
                    .1
                    .split_once(" is NOT correct")?
                    .0,
            )
        })
        .or_else(|| {
            Some(
                trimmed
                    .split_once("error: in ")?
                    .1
                    .split_once(": ")?
                    .1
                    .split_once(" has failed")?
                    .0,
            )
        })
}

/// None of a line that is no assertion.
fn of_source(source: &str) -> Option<bool> {
    let of_one = pattern!("^(?:assert(?:is)?(?:true|false)|expect(?:true|false)?|assertthat)$");
    if let Some(condition) = source
        .strip_prefix("assert ")
        .or_else(|| source.strip_prefix("check "))
    {
        return of_condition(arguments(condition).first()?);
    }
    let open = source.find('(')?;
    let name = source[..open]
        .rsplit(['.', ':', ' '])
        .next()?
        .to_ascii_lowercase();
    let end = open
        + value::depths(&source[open..])
            .find(|(_, _, depth)| *depth == 0)?
            .0;
    let arguments = arguments(&source[open + 1..end]);
    let is_of_two = name.starts_with("assert") && name.contains("equal") || name.ends_with("_eq");
    match arguments.as_slice() {
        [left, right, ..] if is_of_two => Some(of_sides(left, right)),
        [member, list, ..] if ["assertin", "assertnotin"].contains(&name.as_str()) => {
            Some(of_sides(list, member))
        }
        [one] if ["check", "require"].contains(&name.as_str()) => of_condition(one),
        [_, ..] if of_one.is_match(&name.replace('_', "")) => Some(false),
        _ => None,
    }
}

fn of_condition(condition: &str) -> Option<bool> {
    let of_two = || {
        condition
            .split_once(" == ")
            .or_else(|| condition.split_once(" is "))
    };
    let of_list = || {
        condition
            .split_once(" not in ")
            .or_else(|| condition.split_once(" in "))
    };
    let of_member = || of_list().map(|(member, list)| (list, member));
    let (left, right) = of_two().or_else(of_member)?;
    Some(of_sides(left.trim(), right.trim()))
}

fn of_sides(left: &str, right: &str) -> bool {
    let states = |side: &str| {
        ["expected", "want", "wanted"].contains(&side)
            || value::is_literal(side) && !value::is_call(side)
    };
    states(left) && !states(right)
}

/// Arguments apart from each other.
fn arguments(text: &str) -> Vec<&str> {
    let mut start = 0;
    let mut found: Vec<&str> = Vec::new();
    let ends = value::depths(text)
        .filter(|(_, c, depth)| *c == ',' && *depth == 0)
        .map(|(at, ..)| at);
    for end in ends.chain([text.len()]) {
        found.push(text[start..end].trim());
        start = (end + 1).min(text.len());
    }
    found.retain(|argument| !argument.is_empty());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_side_states_the_requirement() {
        for (text, is_first) in [
            (
                ">       assert total(cart, 2) == 30\nE       assert 20 == 30",
                false,
            ),
            (
                ">       assert 30 == total(cart, 2), 'a, b'\nE       assert 30 == 20",
                true,
            ),
            (
                "tests/a.py:3: in test_a\n    assert 30 == total()\nE   assert 30 == 20",
                true,
            ),
            (
                ">       assert is_leap(1900) is False\nE       assert True is False",
                false,
            ),
            (
                ">       assert expected == total\nE       assert 30 == 20",
                true,
            ),
            (
                ">       assert expected == 30\nE       assert 20 == 30",
                false,
            ),
            (
                "  File \"a.py\", line 3, in test_a\n    self.assertEqual(\"a, (b\", f(\"a\"), \"why\")\nA",
                true,
            ),
            (
                "  File \"a.py\", line 3, in test_a\n    self.assertEqual(f(1), Decimal(\"2\"))\nA",
                false,
            ),
            (
                "  File \"a.py\", line 3, in test_a\n    self.assertEqual(",
                false,
            ),
            (
                "a.cc:6: FAILED:\n  CHECK( 10 == add(1430, 20) )\nwith expansion:\n  10 == 1450",
                true,
            ),
            (
                "a.cc:8: ERROR: CHECK_EQ( mean({1, 2}), Approx(2.0) ) is NOT correct!",
                false,
            ),
            (
                "a.cc(8): error: in \"t\": check 5 == total() has failed [5 != 4]",
                true,
            ),
            (
                "Failure/Error: expect(Cart.new(1).total('a')).to be(80)",
                false,
            ),
            (
                "      6|   expect(total([1, 2])).toBe(4);\n       |          ^",
                false,
            ),
            ("> 11 |   expect(total).toBe(4);\n     |   ^", false),
            (
                "  File \"a.py\", line 4, in test_pay\n    self.assertTrue(order.paid)\nA",
                false,
            ),
            (
                ">       assert status(7) in (200, 201)\nE       assert 404 in (200, 201)",
                true,
            ),
            (
                ">       assert \"x\" not in text\nE       assert 'x' not in 'x'",
                false,
            ),
            (
                "  File \"a.py\", line 4, in test_a\n    self.assertIn(\"a\", names(3))\nA",
                false,
            ),
            ("nothing is quoted", false),
        ] {
            assert_eq!(is_reversed(text), is_first, "{text}");
        }
    }
}
