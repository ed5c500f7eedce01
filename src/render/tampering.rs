//! How a change weakens what checks it, as one clause. Names from outside stand in it as they are; who shows it makes it
//! safe.

use super::words::{count, plural};
use loopgate_core::verdict::tamper::Tampering;

pub(super) fn tampering(found: &Tampering) -> String {
    match found {
        Tampering::TestFileRemoved { path } => format!("{path} is removed, and it holds tests"),
        Tampering::TestsRemoved { path, fewer, .. } => {
            let named = found.named().join(", ");
            let named = if named.is_empty() { named } else { format!(" ({named})") };
            format!("{path} has {} fewer{named}", count(*fewer, "test"))
        }
        Tampering::Line { way, path, line, marker } => format!("{path}:{line} {}: `{marker}`", way.deed()),
        Tampering::FewerAssertions { path, before, after } => {
            let go = plural(*before, "assertion goes", "assertions go");
            format!("{path} checks less: {go}, {}", plural(*after, "comes", "come"))
        }
        Tampering::LooserAssertions { path, before, after } => {
            let before = plural(*before, "assertion of an exact value goes", "assertions of exact values go");
            format!("{path} checks less closely: {before}, {}", plural(*after, "comes", "come"))
        }
        Tampering::SnapshotsRewritten { files, lines } => {
            let files = plural(*files, "snapshot file is", "snapshot files are");
            format!("{files} rewritten wholesale ({})", count(*lines, "line"))
        }
        Tampering::ThresholdLowered { path, line, from, to } => {
            format!("{path}:{line} lowers a threshold from {from} to {to}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sentences that no story of `decided_tests` meets.
    #[test]
    fn what_is_rarely_found() {
        let path = || "tests/a.py".to_owned();
        let table = [
            (Tampering::TestFileRemoved { path: path() }, "tests/a.py is removed, and it holds tests"),
            (
                Tampering::TestsRemoved { path: path(), tests: vec!["a".into(), String::new()], fewer: 2 },
                "tests/a.py has 2 tests fewer (a)",
            ),
            (Tampering::TestsRemoved { path: path(), tests: Vec::new(), fewer: 1 }, "tests/a.py has 1 test fewer"),
            (
                Tampering::FewerAssertions { path: path(), before: 1, after: 0 },
                "tests/a.py checks less: 1 assertion goes, 0 come",
            ),
            (
                Tampering::LooserAssertions { path: path(), before: 2, after: 1 },
                "tests/a.py checks less closely: 2 assertions of exact values go, 1 comes",
            ),
            (
                Tampering::SnapshotsRewritten { files: 1, lines: 120 },
                "1 snapshot file is rewritten wholesale (120 lines)",
            ),
            (
                Tampering::ThresholdLowered { path: "a.cfg".into(), line: 3, from: "90".into(), to: "70".into() },
                "a.cfg:3 lowers a threshold from 90 to 70",
            ),
        ];
        for (found, words) in table {
            assert_eq!(tampering(&found), words);
        }
    }
}
