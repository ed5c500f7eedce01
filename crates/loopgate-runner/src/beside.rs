//! What a console tells of beside a report of the same run.

use loopgate_core::evidence::Failure;

/// The failures of a console that the report does not tell of; none unless the console tells of each that the report
/// does, since two names of one test would make two failures of it.
pub fn told_by_console_alone(of_report: &[Failure], of_console: Vec<Failure>) -> Vec<Failure> {
    let is_shown = |told: &Failure| of_console.iter().any(|it| may_be_one(told, it));
    if !of_report.iter().all(is_shown) {
        return Vec::new();
    }
    let is_alone = |it: &Failure| !of_report.iter().any(|told| may_be_one(told, it));
    of_console.into_iter().filter(is_alone).collect()
}

/// Whether two tools may mean one failure: by what they call it, or by what it says and where.
fn may_be_one(one: &Failure, other: &Failure) -> bool {
    let (names, messages) = (
        (words_of_name(one), words_of_name(other)),
        (first_line(one), first_line(other)),
    );
    let are_tests = one.test_name.is_some() && other.test_name.is_some();
    let ends_with = |whole: &[String], end: &[String]| !end.is_empty() && whole.ends_with(end);
    let begins_with = |whole: &[String], start: &[String]| {
        are_tests && !start.is_empty() && whole.starts_with(start)
    };
    let is_same =
        |one: &[String], other: &[String]| ends_with(one, other) || begins_with(one, other);
    if is_same(&names.0, &names.1) || is_same(&names.1, &names.0) {
        return true;
    }
    let says_the_same = !messages.0.is_empty()
        && !messages.1.is_empty()
        && (messages.0.contains(messages.1) || messages.1.contains(messages.0));
    let stands_elsewhere = match (one.named_place(), other.named_place()) {
        (Some((file, line)), Some((in_file, at))) => {
            let is_one_file = file.ends_with(in_file) || in_file.ends_with(file);
            !is_one_file || line.zip(at).is_some_and(|(line, at)| line != at)
        }
        _ => are_tests,
    };
    says_the_same && !stands_elsewhere
}

/// The words of the name: of the test, or of the file where there is none.
fn words_of_name(failure: &Failure) -> Vec<String> {
    let file = || {
        let (file, _) = failure.named_place()?;
        let (stem, _) = file.rsplit_once('.').unwrap_or((file, ""));
        Some(stem)
    };
    let name = failure
        .test_name
        .as_deref()
        .or_else(file)
        .unwrap_or_default();
    name.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

fn first_line(failure: &Failure) -> &str {
    failure
        .error_message
        .lines()
        .next()
        .unwrap_or_default()
        .trim()
}

#[cfg(test)]
mod tests {
    use loopgate_core::evidence::SourceLocation;

    use super::*;

    /// `name | file:line | message`; a name or a place may be missing.
    fn failure(text: &str) -> Failure {
        let [name, place, message] = text
            .split(" | ")
            .collect::<Vec<_>>()
            .try_into()
            .expect("three parts");
        let source = place.rsplit_once(':').map(|(file, line)| SourceLocation {
            file: file.to_owned(),
            line: line.parse().ok(),
            function: None,
        });
        Failure {
            test_name: Some(name.to_owned()).filter(|name| !name.is_empty()),
            error_message: message.to_owned(),
            source,
            ..Failure::default()
        }
    }

    #[test]
    fn only_what_a_report_tells_of_by_no_name_is_the_consoles_alone() {
        // What the report tells of, what the console does, and which of that is told by it alone.
        let table: [(&[&str], &[&str], &[usize]); 8] = [
            (
                &["test_cart.py::test_adds | test_cart.py:2 | assert 1 == 2"],
                &[
                    "test_adds | test_cart.py:2 | assert 1 == 2",
                    " | test_file.py:1 | No module named 'absent'",
                ],
                &[1],
            ),
            // The report names the file that does not load.
            (
                &["pytest.test_file | test_file.py:1 | No module named 'absent'"],
                &[" | test_file.py:1 | No module named 'absent'"],
                &[],
            ),
            // One test fails twice on the console.
            (
                &["D.test_x | test_a.py:15 | x"],
                &[
                    "D.test_x | test_a.py:15 | x",
                    "D.test_x | test_a.py:16 | td",
                ],
                &[],
            ),
            // A part of a test, and a test in a group.
            (
                &["cart | a.js:1 | no", "shop > adds | a.js:4 | no"],
                &[
                    "cart total | a.js:1 | no",
                    "adds | a.js:4 | no",
                    "other | a.js:9 | no",
                ],
                &[2],
            ),
            // Two names of one test, at one place.
            (
                &["_SubTest.rts (part=0) | t.py:33 | 0 != 1"],
                &[
                    "S.test_parts (p='0') | t.py:33 | 0 != 1",
                    " | t.py:4 | no db",
                ],
                &[1],
            ),
            // One of the report's is not on the console: they do not tell of one run.
            (
                &["A.test_a | a.py:1 | x"],
                &["B.test_b | b.py:1 | y", " | c.py:1 | z"],
                &[],
            ),
            // Equal words at another place, or in a test of another name, are another failure.
            (
                &["A.test_a | a.py:1 | no db"],
                &[
                    "A.test_a | a.py:1 | no db",
                    "B.test_b | a.py:7 | no db",
                    " | b.py:1 | no db",
                ],
                &[1, 2],
            ),
            (
                &["a_test.js b | a_test.js:3 | b fails"],
                &["b | a_test.js:3 | b fails"],
                &[],
            ),
        ];
        for (told, shown, alone) in table {
            let [told, shown] = [told, shown]
                .map(|texts| texts.iter().map(|text| failure(text)).collect::<Vec<_>>());
            let wanted: Vec<Failure> = alone.iter().map(|at| shown[*at].clone()).collect();
            assert_eq!(told_by_console_alone(&told, shown), wanted, "{told:?}");
        }
    }
}
