//! What many lines of a log begin with: the time, or the name of who printed the line.

use std::collections::HashMap;

patterns! {
    /// Times as programs write them in front of their lines, and the step and time of a container build (`#11 4.108 `).
    TIME = r"^(?:#\d+ \d+\.\d+|\[?(?:\d{4}[-/]\d\d[-/]\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?) ";

    /// `@shop/api:test: `, `web-1  | `, `[api] `, `packages/api test: `, `INTERNALERROR> `.
    LABEL = r"^(?:\[(?P<a>[\w@/.:-]+)\]|(?P<b>[\w@/.-]+(?::[\w.-]+)*(?: [\w.-]+)?)(?::|\s+\||>))(?: |$)";
}

/// Words that show how bad a line is, and not who printed it.
const LEVELS: [&str; 14] = [
    "debug", "error", "err", "fail", "failed", "fatal", "hint", "info", "note", "notice", "trace",
    "warn", "warning", "help",
];

/// Lines of one label from which on it counts, and the share of all lines that labels stand in front of.
const FEW: usize = 3;
const SHARE: f64 = 0.5;

/// The line without a time in front of it.
pub fn without_time(line: &str) -> &str {
    TIME.find(line).map_or(line, |time| &line[time.end()..])
}

/// The labels that most lines of a log begin with; empty if they do not.
#[derive(Debug, Default)]
pub struct Labels<'t>(HashMap<&'t str, usize>);

impl<'t> Labels<'t> {
    /// Learns them from the lines themselves.
    pub fn of(lines: impl Iterator<Item = &'t str>) -> Self {
        let mut labels: HashMap<&str, usize> = HashMap::new();
        let mut with_text = 0;
        for line in lines {
            with_text += usize::from(!line.trim().is_empty());
            if let Some(label) = label(line) {
                *labels.entry(label).or_default() += 1;
            }
        }
        labels.retain(|_, count| *count >= FEW);
        let with_label: usize = labels.values().sum();
        if with_label as f64 >= with_text as f64 * SHARE {
            Self(labels)
        } else {
            Self::default()
        }
    }

    /// The line without its label.
    pub fn strip<'l>(&self, line: &'l str) -> &'l str {
        let label = if self.0.is_empty() { None } else { label(line) };
        label
            .filter(|label| self.0.contains_key(label))
            .map_or(line, |label| &line[label.len()..])
    }
}

/// What may be a label in front of a line: names somebody, and no place and no level.
fn label(line: &str) -> Option<&str> {
    let found = LABEL.captures(line)?;
    let name = found.name("a").or(found.name("b"))?.as_str();
    let is_level = LEVELS.contains(&name.to_ascii_lowercase().as_str());
    let ends_in_number = name
        .rsplit(':')
        .next()
        .is_some_and(|end| end.bytes().all(|byte| byte.is_ascii_digit()));
    let is_numbered = found.name("a").is_some();
    (!is_level && (is_numbered || !ends_in_number)).then(|| &line[..found.get_match().end()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_taken_off() {
        for (line, left) in [
            (
                "#11 4.108 src/cart.ts(3,5): error",
                "src/cart.ts(3,5): error",
            ),
            ("2026-11-20T22:14:38.896Z FAIL", "FAIL"),
            ("[10:22:03] Starting", "Starting"),
            ("12:30 is a time", "12:30 is a time"),
        ] {
            assert_eq!(without_time(line), left);
        }
    }

    #[test]
    fn labels_are_learnt_from_many_lines_that_share_them() {
        let turbo = [
            "@shop/api:test: FAIL a.test.ts",
            "@shop/api:test: ",
            "@shop/api:test:   expected 3",
            "done",
        ];
        let labels = Labels::of(turbo.into_iter());
        assert_eq!(
            turbo.map(|line| labels.strip(line)),
            ["FAIL a.test.ts", "", "  expected 3", "done"]
        );
        for own in [
            ["a.py:3: error: x", "a.py:4: error: y", "a.py:5: error: z"],
            ["ERROR: x", "ERROR: y", "ERROR: z"],
            ["[INFO] x", "[INFO] y", "[INFO] z"],
            ["3 | let a", "4 | let b", "5 | let c"],
        ] {
            let labels = Labels::of(own.into_iter());
            assert_eq!(own.map(|line| labels.strip(line)), own);
        }
    }
}
