//! Names of the tests a diff adds, as the languages declare them.

use crate::{
    observed::{ChangedFile, ChangedFiles, FileStatus},
    source_files::{TestSyntax, is_test},
    words::first_group,
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
            Some(lines) => names.extend(declared(file, &lines).iter().map(|one| one.name)),
            None if is_test(&file.path) => return None,
            None => {}
        }
    }
    names.truncate(MOST_NAMES);
    Some(names)
}

/// What an added line declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declared<'a> {
    pub file: &'a str,
    /// Without class and module.
    pub name: &'a str,
    /// At the head, from 1.
    pub line: u32,
    /// For certain: helpers are declared beside tests.
    is_test: bool,
}

/// The tests that a change adds: declared in its added lines and in none that it takes away, and called a test by their
/// name, by what stands above them, or by the function they are given to.
pub fn new_tests(files: &ChangedFiles) -> Vec<Declared<'_>> {
    let added = |file: &ChangedFile| file.status != FileStatus::Removed && file.additions > 0;
    let mut tests = Vec::new();
    for file in files.known().iter().filter(|file| added(file)) {
        let lines = file.added_lines().unwrap_or_default();
        let patch = file.patch.as_deref().unwrap_or_default();
        let taken: Vec<&str> = patch.lines().filter(|line| line.starts_with('-')).collect();
        let is_new = |one: &Declared<'_>| one.is_test && !taken.iter().any(|line| line.contains(one.name));
        tests.extend(declared(file, &lines).into_iter().filter(is_new));
    }
    tests.truncate(MOST_NAMES);
    tests
}

/// In a test's file everything that is declared counts, groups and display names too; elsewhere what an attribute above
/// calls a test (Rust).
fn declared<'a>(file: &'a ChangedFile, lines: &[(u32, &'a str)]) -> Vec<Declared<'a>> {
    let Some(syntax) = TestSyntax::of(&file.path) else { return Vec::new() };
    let whole_file = is_test(&file.path);
    let (mut names, mut is_marked) = (Vec::new(), false);
    for &(line, text) in lines.iter().filter(|(_, text)| text.len() <= LONGEST_LINE) {
        let test = syntax.test(text);
        is_marked |= test == Some("");
        let named = test.filter(|name| !name.is_empty() && whole_file).map(|name| (name, true));
        let declared = || syntax.function(text).filter(|_| whole_file || is_marked).map(|name| (name, is_marked));
        let titled = || title(text).filter(|_| whole_file).map(|name| (name, false));
        if let Some((name, is_test)) = named.or_else(declared).or_else(titled) {
            names.push(Declared { file: &file.path, name, line, is_test });
        }
        // Attributes and annotations stand in lines of their own above what they mark.
        is_marked &= text.trim_start().starts_with(['#', '@', '[']);
    }
    names
}

/// What a group of tests, or the test below, is called in reports.
fn title(text: &str) -> Option<&str> {
    let named =
        pattern!(r#"(?:\b(?:describe|context)(?:\.\w+)*\s*\(?|@DisplayName\()\s*(?:'([^']+)|"([^"]+)|`([^`]+))"#);
    first_group(&named.captures(text)?)
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
                &["cart", "refuses 0", "x ${n}", "a"],
            ),
            ("ATest.java", &["  @DisplayName(\"adds tax\")", "  public void addsTax() {"], &["adds tax", "addsTax"]),
            ("ATest.kt", &["  fun `adds tax`() {"], &["adds tax"]),
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
            let names: Vec<&str> = declared(&file, &lines).iter().map(|one| one.name).collect();
            assert_eq!(names, expected, "{path}");
        }
    }

    #[test]
    fn tests_that_are_new_are_told_from_helpers_groups_and_edits() {
        let table = [
            ("src/a.rs", "+#[cfg(test)]\n+fn helps() {}\n+#[tokio::test]\n+async fn adds() {}", vec![("adds", 4)]),
            ("tests/a.rs", "+fn test_helper() {}\n+#[test]\n+fn adds() {}", vec![("adds", 3)]),
            (
                "test_a.py",
                "+def given():\n+    def test_b(self):\n-def test_c():\n+def test_c(tmp_path):",
                vec![("test_b", 2)],
            ),
            ("a_test.go", "+func helper() {}\n+func TestA(t *testing.T) {", vec![("TestA", 2)]),
            ("a.test.ts", "+describe('cart', () => {\n+  it.only('adds', () => {", vec![("adds", 2)]),
            ("ATest.java", "+  @Test\n+  void adds() {\n+  void helps() {", vec![("adds", 2)]),
            ("src/a.py", "+def test_data():", vec![]),
        ];
        for (path, patch, expected) in table {
            let mut file = crate::fixtures::snapshot().files.known()[0].clone();
            (file.path, file.additions) = (path.to_owned(), 1);
            file.patch = Some(format!("@@ -1,1 +1,4 @@\n{patch}"));
            let files = ChangedFiles::Complete(vec![file]);
            let found: Vec<_> = new_tests(&files).iter().map(|test| (test.name, test.line)).collect();
            assert_eq!(found, expected, "{path}");
        }
    }
}
