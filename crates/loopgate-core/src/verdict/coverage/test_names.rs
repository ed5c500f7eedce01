//! Names of the tests a diff adds, as the languages declare them.

use std::sync::LazyLock;

use regex::Regex;

use crate::{
    observed::{ChangedFile, ChangedFiles, FileStatus},
    source_files::is_test,
};

/// Names collected at most, and bytes of a line looked at.
const MOST_NAMES: usize = 5_000;
const LONGEST_LINE: usize = 2_000;

/// Names of tests in added lines; none when part of the diff is not there to be read.
pub(super) fn added_tests(files: &ChangedFiles) -> Option<Vec<&str>> {
    let ChangedFiles::Complete(files) = files else { return None };
    let mut names = Vec::new();
    for file in files.iter().filter(|file| file.status != FileStatus::Removed && file.additions > 0) {
        match file.added_lines() {
            Some(lines) => names.extend(declared(file, &lines)),
            None if is_test(&file.path) => return None,
            None => {}
        }
    }
    names.truncate(MOST_NAMES);
    Some(names)
}

/// In a test's file everything that is declared counts; elsewhere what an attribute above calls a test (Rust).
fn declared<'a>(file: &ChangedFile, lines: &[(u32, &'a str)]) -> Vec<&'a str> {
    static DECLARATIONS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
        [
            r"^\s*(?:(?:pub|async|public|private|static|final|override)\s+)*(?:fn|def|func|fun|function|void)\s+(?:\([^)]*\)\s*)?(?<name>[\w$]+|`[^`]+`)",
            r#"\b(?:it|test|describe|context|specify|scenario)(?:\.\w+)*\s*(?:\(\s*)?(?:'(?<name>[^']+)'|"(?<double>[^"]+)"|`(?<tick>[^`]+)`)"#,
            r#"@DisplayName\(\s*"(?<name>[^"]+)""#,
        ]
        .map(|text| Regex::new(text).expect("a constant expression"))
        .into()
    });
    let whole_file = is_test(&file.path);
    let (mut names, mut is_marked) = (Vec::new(), false);
    for &(_, text) in lines.iter().filter(|(_, text)| text.len() <= LONGEST_LINE) {
        let trimmed = text.trim_start();
        if trimmed.starts_with("#[") {
            is_marked |= trimmed.contains("test");
            continue;
        }
        if whole_file || is_marked {
            let found = DECLARATIONS.iter().find_map(|declaration| declaration.captures(text));
            let name = found.and_then(|found| found.iter().skip(1).flatten().next());
            names.extend(name.map(|name| name.as_str()));
        }
        is_marked = false;
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_of_the_languages() {
        let table: [(&str, &[&str], &[&str]); 8] = [
            (
                "src/a.rs",
                &["    #[test]", "    fn rounds_half() {", "        it(1);", "fn helper() {}"],
                &["rounds_half"],
            ),
            ("tests/a.rs", &["#[tokio::test]", "async fn fails() {}"], &["fails"]),
            (
                "test_a.py",
                &["class TestA:", "    def test_empty(self):", "    async def test_b():"],
                &["test_empty", "test_b"],
            ),
            (
                "a_test.go",
                &["func TestTotal(t *testing.T) {", "func (s *Suite) TestEdge() {"],
                &["TestTotal", "TestEdge"],
            ),
            (
                "a.test.ts",
                &[
                    "describe('cart', () => {",
                    "  it(\"refuses 0\", async () => {",
                    "  test.each([1])(`x ${n}`)",
                    "test('a')",
                ],
                &["cart", "refuses 0", "a"],
            ),
            ("ATest.java", &["  @DisplayName(\"adds tax\")", "  public void addsTax() {"], &["adds tax", "addsTax"]),
            ("ATest.kt", &["  fun `adds tax`() {"], &["`adds tax`"]),
            ("src/a.py", &["def test_data():"], &[]),
        ];
        for (path, lines, expected) in table {
            let lines: Vec<(u32, &str)> = (1..).zip(lines.iter().copied()).collect();
            let file = ChangedFile {
                path: path.to_owned(),
                previous_path: None,
                status: FileStatus::Added,
                additions: 1,
                deletions: 0,
                blob: None,
                patch: None,
            };
            assert_eq!(declared(&file, &lines), expected, "{path}");
        }
    }
}
