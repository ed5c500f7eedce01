//! Coverage of the lines a change adds: added executable lines covered / added executable lines.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    evidence::{ChangedCoverage, FileCoverage, LineTally},
    observed::{ChangedFile, ChangedFiles, FileStatus},
    source_files::{Syntax, extension, is_code, is_test, language_of},
};

/// Ranges of uncovered lines listed at most; the lines of the others are counted.
pub(super) const MOST_RANGES: usize = 1_000;
/// Unmeasured files named at most.
pub(super) const MOST_UNMEASURED: usize = 100;

/// What coverage reports say of a change. `reports` name files by their path in the repository; of a line that several
/// of them measure, the largest count stands.
///
/// An added line counts if a report calls it executable, and it is no comment, and its file is no test: tests run
/// themselves, and would hide what they leave out.
pub fn measure(files: &ChangedFiles, reports: &[FileCoverage]) -> ChangedCoverage {
    let mut by_path: BTreeMap<&str, Vec<&FileCoverage>> = BTreeMap::new();
    for report in reports {
        by_path.entry(&report.path).or_default().push(report);
    }
    let mut coverage = ChangedCoverage::default();
    for measured in by_path.values() {
        let LineTally { covered, total } = tally(measured);
        coverage.lines_covered += covered;
        coverage.lines_total += total;
    }
    let extensions: BTreeSet<&str> = by_path.keys().filter_map(|path| extension(path)).collect();
    let is_measured = |path: &str| extension(path).is_some_and(|own| extensions.contains(own));
    let changed = files
        .known()
        .iter()
        .filter(|file| file.status != FileStatus::Removed && !is_test(&file.path));
    for file in changed {
        let Some(added) = coverable_lines(file).filter(|added| !added.is_empty()) else {
            continue;
        };
        match by_path.get(file.path.as_str()) {
            Some(measured) => {
                let hits = |line: &u32| {
                    measured
                        .iter()
                        .filter_map(|report| report.lines.get(line))
                        .max()
                        .copied()
                };
                let executable = added.iter().filter_map(|line| Some((line, hits(line)?)));
                let (covered, uncovered): (Vec<_>, Vec<_>) =
                    executable.partition(|(_, hits)| *hits > 0);
                let (covered, total) = (
                    covered.len() as u64,
                    (covered.len() + uncovered.len()) as u64,
                );
                if total > 0 {
                    coverage.changed_covered += covered;
                    coverage.changed_total += total;
                    coverage
                        .files
                        .insert(file.path.clone(), LineTally { covered, total });
                    list(
                        &mut coverage,
                        &file.path,
                        uncovered.into_iter().map(|(line, _)| line),
                    );
                }
            }
            None if is_code(&file.path) && is_measured(&file.path) => {
                coverage.unmeasured.push(file.path.clone())
            }
            None => {}
        }
    }
    coverage.unmeasured.truncate(MOST_UNMEASURED);
    coverage
}

/// Covered and executable lines of one file, over all reports that measure it.
fn tally(measured: &[&FileCoverage]) -> LineTally {
    let count = |sum: LineTally, hits: u64| {
        let (covered, total) = (sum.covered + u64::from(hits > 0), sum.total + 1);
        LineTally { covered, total }
    };
    if let [one] = measured {
        return one
            .lines
            .values()
            .copied()
            .fold(LineTally::default(), count);
    }
    let mut lines: BTreeMap<u32, u64> = BTreeMap::new();
    for (line, hits) in measured.iter().flat_map(|report| &report.lines) {
        let known = lines.entry(*line).or_default();
        *known = (*known).max(*hits);
    }
    lines.into_values().fold(LineTally::default(), count)
}

/// Adds a file's uncovered lines, in order, as ranges.
pub(super) fn list<'a>(
    coverage: &mut ChangedCoverage,
    path: &str,
    lines: impl IntoIterator<Item = &'a u32>,
) {
    let lines: Vec<u32> = lines.into_iter().copied().collect();
    for consecutive in lines.chunk_by(|one, next| one.checked_add(1) == Some(*next)) {
        let (first, last) = (consecutive[0], consecutive[consecutive.len() - 1]);
        if coverage.uncovered.len() < MOST_RANGES {
            coverage.uncovered.push(match last - first {
                0 => format!("{path}:{first}"),
                _ => format!("{path}:{first}-{last}"),
            });
        } else {
            coverage.uncovered_not_listed += u64::from(last - first) + 1;
        }
    }
}

/// Added lines of the file, by their number at the head, that can be code: not blank, not a comment alone. `None` when
/// there is no patch to read.
///
/// Go's profile and LLVM's count every line between the first and the last of a block, blank lines and comments
/// included, Go's also the brace that ends one. Nobody can write a test for those, and a change of nothing but comments
/// has no coverable line. So they are left out, whatever a report says.
pub fn coverable_lines(file: &ChangedFile) -> Option<Vec<u32>> {
    let patch = file.read_patch()?;
    let syntax = Syntax::of(&file.path);
    let is_go = language_of(&file.path) == Some("go");
    let mut coverable = Vec::new();
    for hunk in &patch.hunks {
        let lines: Vec<_> = hunk.lines.iter().filter(|line| line.is_new()).collect();
        let (code, above) = syntax.without_comments(lines.iter().map(|line| line.text));
        let ends_only = |code: &str| code.trim().chars().all(|c| "})],;".contains(c));
        let is_code = |code: &str| !(code.trim().is_empty() || is_go && ends_only(code));
        // Only a line that stays can end a comment that began above the hunk: what arrives could hide what stands above
        // it.
        let is_context = above > 0 && !lines[above - 1].is_changed();
        let added = lines
            .iter()
            .zip(&code)
            .skip(if is_context { above } else { 0 });
        coverable.extend(
            added
                .filter(|(line, code)| line.is_changed() && is_code(code))
                .map(|(line, _)| line.new),
        );
    }
    Some(coverable)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::concerns::coverage::{combine, validate};

    fn changed(path: &str, added: &[&str]) -> ChangedFile {
        let lines: String = added.iter().map(|line| format!("\n+{line}")).collect();
        ChangedFile {
            path: path.to_owned(),
            previous_path: None,
            status: FileStatus::Modified,
            additions: u32::try_from(added.len()).unwrap(),
            deletions: 0,
            blob: None,
            patch: Some(format!("@@ -0,0 +1,{} @@{lines}", added.len())),
        }
    }

    fn report(path: &str, lines: &[(u32, u64)]) -> FileCoverage {
        FileCoverage {
            path: path.to_owned(),
            lines: lines.iter().copied().collect(),
        }
    }

    #[test]
    fn changed_lines_are_those_that_are_added_executable_and_no_test() {
        let files = ChangedFiles::Complete(vec![
            changed(
                "src/a.rs",
                &["fn a() {", "    // why", "", "    b();", "    c();", "}"],
            ),
            changed("tests/a.rs", &["fn it_works() {}"]),
            changed("src/new.rs", &["fn never_seen() {}"]),
            changed("docs/a.md", &["words"]),
        ]);
        // As LLVM counts: blank lines and comments inside the function too. Lines 7 and 8 are not of this change.
        let a = report(
            "src/a.rs",
            &[
                (1, 1),
                (2, 1),
                (3, 1),
                (4, 1),
                (5, 0),
                (6, 0),
                (7, 0),
                (8, 1),
            ],
        );
        let coverage = measure(&files, &[a, report("tests/a.rs", &[(1, 1)])]);
        assert_eq!((coverage.lines_covered, coverage.lines_total), (6, 9));
        assert_eq!((coverage.changed_covered, coverage.changed_total), (2, 4));
        assert_eq!(coverage.uncovered, ["src/a.rs:5-6"]);
        assert_eq!(coverage.unmeasured, ["src/new.rs"]);
    }

    #[test]
    fn a_change_of_comments_has_no_coverable_line() {
        let files =
            ChangedFiles::Complete(vec![changed("a.go", &["// why", "/* and", "how */", ""])]);
        let coverage = measure(&files, &[report("a.go", &[(1, 0), (2, 0), (3, 0), (4, 0)])]);
        assert_eq!(
            (
                coverage.changed_total,
                coverage.changed_percent(),
                coverage.lines_total
            ),
            (0, None, 4)
        );
        assert!(coverage.uncovered.is_empty() && coverage.unmeasured.is_empty());
    }

    #[test]
    fn a_line_is_covered_if_any_report_says_so() {
        let files = ChangedFiles::Complete(vec![changed("a.py", &["a()", "b()", "c()"])]);
        let coverage = measure(
            &files,
            &[
                report("a.py", &[(1, 1), (2, 0)]),
                report("a.py", &[(2, 3), (3, 0)]),
            ],
        );
        assert_eq!((coverage.changed_covered, coverage.changed_total), (2, 3));
        assert_eq!((coverage.lines_covered, coverage.lines_total), (2, 3));
        assert_eq!(coverage.uncovered, ["a.py:3"]);
    }

    prop_compose! {
        fn hits()(hits in prop::collection::btree_map(1_u32..30, 0_u64..3, 0..25)) -> Vec<(u32, u64)> {
            hits.into_iter().collect()
        }
    }

    proptest! {
        #[test]
        fn the_arithmetic_adds_up(one in hits(), other in hits(), lines in 1_usize..30, order: bool) {
            let added = vec!["code();"; lines];
            let files = ChangedFiles::Complete(vec![changed("a.rs", &added), changed("b.rs", &added)]);
            let mut reports = vec![report("a.rs", &one), report("a.rs", &other), report("b.rs", &other)];
            let coverage = measure(&files, &reports);
            prop_assert!(validate(&coverage).is_ok());
            prop_assert!(coverage.changed_covered <= coverage.changed_total);
            prop_assert!(coverage.changed_total <= coverage.lines_total);
            prop_assert!(coverage.changed_total <= 2 * lines as u64);
            // Every line counted one by one.
            let union = |line: u32| one.iter().chain(&other).filter(|(at, _)| *at == line).map(|(_, hits)| hits).max();
            let expected = (1..=lines as u32).filter(|line| union(*line).is_some_and(|hits| *hits > 0)).count()
                + other.iter().filter(|(line, hits)| *line <= lines as u32 && *hits > 0).count();
            prop_assert_eq!(coverage.changed_covered, expected as u64);
            // Neither order nor repetition of reports matters.
            if order { reports.reverse() } else { reports.extend(reports.clone()) }
            prop_assert_eq!(&measure(&files, &reports), &coverage);
            // Nor does it matter whether one job measured it all, or several a part each.
            let jobs: Vec<_> = reports.iter().map(|one| measure(&files, std::slice::from_ref(one))).collect();
            let combined = combine(&jobs).unwrap();
            prop_assert!(combined.changed_total <= coverage.changed_total);
            prop_assert!(validate(&combined).is_ok());
            prop_assert_eq!(combine(&[coverage.clone(), coverage.clone()]).unwrap(), coverage);
        }
    }
}

#[cfg(test)]
mod code_line_tests {
    use super::*;

    fn lines(path: &str, patch: &str) -> Vec<u32> {
        let file = ChangedFile {
            path: path.to_owned(),
            previous_path: None,
            status: FileStatus::Modified,
            additions: 0,
            deletions: 0,
            blob: None,
            patch: Some(patch.to_owned()),
        };
        coverable_lines(&file).unwrap()
    }

    #[test]
    fn comments_and_blank_lines_are_no_code() {
        let table: [(&str, &str, &[u32]); 14] = [
            ("a.go", "@@ -1 +1,3 @@\n+if a {\n+\tf()\n+}", &[1, 2]),
            ("a.rs", "@@ -1 +1,3 @@\n+if a {\n+    f();\n+}", &[1, 2, 3]),
            (
                "a.rs",
                "@@ -1,2 +1,6 @@\n fn a() {\n+    // why\n+\n+    let x = 1; // code\n+    /// doc\n }",
                &[4],
            ),
            (
                "a.go",
                "@@ -0,0 +1,5 @@\n+/*\n+ many words\n+*/\n+x := 1\n+/* a */ y := 2",
                &[4, 5],
            ),
            (
                "a.go",
                "@@ -0,0 +1,3 @@\n+x := 1 /* begins\n+ends */\n+y := 2",
                &[1, 3],
            ),
            (
                "a.py",
                "@@ -1 +1,4 @@\n+# why\n+x = 1  # code\n+\t\n+//",
                &[2, 4],
            ),
            ("a.php", "@@ -1 +1,2 @@\n+# why\n+// why\n+$x = 1;", &[3]),
            // The comment began above the hunk.
            (
                "A.java",
                "@@ -7,3 +7,4 @@\n  * words\n+ * more words\n  */\n+int x;",
                &[10],
            ),
            (
                "a.ts",
                "@@ -7,2 +7,3 @@\n+more words\n end. */\n+let x;",
                &[9],
            ),
            // A glob in a string opens nothing.
            (
                "a.js",
                "@@ -1 +1,2 @@\n+const g = 'src/**/*.js';\n+let y;",
                &[1, 2],
            ),
            (
                "a.js",
                "@@ -1 +1,2 @@\n+const g = `src/*`;\n+let y;",
                &[1, 2],
            ),
            (
                "a.js",
                "@@ -1 +1,2 @@\n+f(); // not /* open\n+let y;",
                &[1, 2],
            ),
            (
                "a.rs",
                "@@ -1,3 +1,3 @@\n-gone\n+new\n a\n\\ No newline at end of file",
                &[1],
            ),
            ("a.rs", "@@ -1 +1 @@\n+a\n@@ -9 +9,2 @@\n b\n+c", &[1, 10]),
        ];
        for (path, patch, expected) in table {
            assert_eq!(lines(path, patch), expected, "{path}: {patch}");
        }
    }
}
