//! Sorts of tests that a type of change must come with: there, missing, or not known. And the names of the tests a diff
//! adds, as the languages declare them.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    evidence::{CheckEvidence, ProofVerdict, TestId, TestState},
    expressions::first_group,
    observed::{BaseEvidence, ChangedFile, ChangedFiles, FileStatus, Snapshot},
    policy::{CoveragePolicy, RequiredTest},
    source_files::{TestSyntax, is_test},
};

/// What is missing of a required sort of tests.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingTests {
    /// An added test whose name matches one of these patterns.
    Named { patterns: Vec<String> },
    /// A test that fails without the fix and passes with it; why none is proved to.
    Proof { reason: String },
    /// Tests of the base: so many fail now, the first of them by name, and so many are gone.
    OfBase {
        broken: usize,
        named: Vec<String>,
        gone: usize,
    },
}

/// Whether a required sort of tests is there, or what is missing.
pub type TestsStanding = Result<(), MissingTests>;

/// Broken tests that are named at most.
const MOST_NAMED: usize = 3;

/// Judges the sorts of tests of which something is known: there, or what is missing. The others are unknown, which
/// never fails.
///
/// - `regression_test` and `original_bug_reproduction` by the proof, where one was tried;
/// - `existing_tests_pass` by comparison with the base: none of its tests fails now, none is gone;
/// - the others by `coverage.test_names`: an added test has a name that matches. Judged on the diff, since a test that
///   was there before did not come with the change.
pub fn standings<'a>(
    policy: &CoveragePolicy,
    snapshot: &Snapshot,
    head: impl IntoIterator<Item = &'a CheckEvidence>,
) -> BTreeMap<RequiredTest, TestsStanding> {
    let proof = snapshot
        .evidence_of_head()
        .find_map(|evidence| evidence.regression_proof.as_ref());
    let mut standings = BTreeMap::new();
    let proved = proof.and_then(|proof| match proof.verdict {
        ProofVerdict::Proved => Some(Ok(())),
        ProofVerdict::NotProved => Some(Err(MissingTests::Proof {
            reason: proof.reason.clone(),
        })),
        ProofVerdict::Unknown => None,
    });
    if let Some(standing) = proved {
        standings.insert(RequiredTest::RegressionTest, standing.clone());
        standings.insert(RequiredTest::OriginalBugReproduction, standing);
    }
    if let Some(standing) = snapshot
        .base_evidence
        .as_ref()
        .and_then(|base| existing(head, base))
    {
        standings.insert(RequiredTest::ExistingTestsPass, standing);
    }
    if !policy.test_names.is_empty()
        && let Some(names) = added_tests(&snapshot.files)
    {
        for (sort, patterns) in &policy.test_names {
            let is_there = names
                .iter()
                .any(|name| patterns.iter().any(|pattern| pattern.matches(name)));
            let patterns = || {
                patterns
                    .iter()
                    .map(|pattern| pattern.as_str().to_owned())
                    .collect()
            };
            let standing = if is_there {
                Ok(())
            } else {
                Err(MissingTests::Named {
                    patterns: patterns(),
                })
            };
            standings.entry(*sort).or_insert(standing);
        }
    }
    standings
}

/// Compares tests by their identity; a check without identities on either side is skipped.
fn existing<'a>(
    head: impl IntoIterator<Item = &'a CheckEvidence>,
    base: &BaseEvidence,
) -> Option<TestsStanding> {
    let (mut compared, mut broken, mut gone) = (false, BTreeSet::new(), 0_usize);
    for check in head.into_iter().filter(|check| check.kind.is_of_tests()) {
        let before = base
            .checks
            .get(&check.name)
            .and_then(|before| before.tests.as_ref());
        let (Some(before), Some(now)) = (before, &check.tests) else {
            continue;
        };
        compared = true;
        let was_green =
            |id: TestId| matches!(before.state(id), Some(TestState::Passed | TestState::Flaky));
        let failing = now
            .iter()
            .filter(|entry| entry.state().is_failure() && was_green(entry.id()));
        // Failures have names; what is only listed has its identity.
        let name_of = |id: TestId| {
            let failure = check
                .failures
                .iter()
                .find(|failure| failure.test_id == Some(id));
            failure
                .and_then(|failure| failure.test_name.clone())
                .unwrap_or_else(|| id.to_string())
        };
        broken.extend(failing.map(|entry| name_of(entry.id())));
        if before.is_whole() && now.is_whole() {
            gone += before
                .iter()
                .filter(|entry| now.state(entry.id()).is_none())
                .count();
        }
    }
    compared.then(|| match (broken.len(), gone) {
        (0, 0) => Ok(()),
        (count, gone) => {
            let named = broken.into_iter().take(MOST_NAMED).collect();
            Err(MissingTests::OfBase {
                broken: count,
                named,
                gone,
            })
        }
    })
}

/// Names collected at most, and bytes of a line looked at.
const MOST_NAMES: usize = 5_000;
const LONGEST_LINE: usize = 2_000;

/// Names of tests in added lines; none when part of the diff is not there to be read.
fn added_tests(files: &ChangedFiles) -> Option<Vec<&str>> {
    let ChangedFiles::Complete(files) = files else {
        return None;
    };
    let mut names = Vec::new();
    for file in files
        .iter()
        .filter(|file| file.status != FileStatus::Removed && file.additions > 0)
    {
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
pub struct DeclaredTest<'a> {
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
pub fn new_tests(files: &ChangedFiles) -> Vec<DeclaredTest<'_>> {
    let added = |file: &ChangedFile| file.status != FileStatus::Removed && file.additions > 0;
    let mut tests = Vec::new();
    for file in files.known().iter().filter(|file| added(file)) {
        let lines = file.added_lines().unwrap_or_default();
        let patch = file.patch.as_deref().unwrap_or_default();
        let taken: Vec<&str> = patch.lines().filter(|line| line.starts_with('-')).collect();
        let is_new = |one: &DeclaredTest<'_>| {
            one.is_test && !taken.iter().any(|line| line.contains(one.name))
        };
        tests.extend(declared(file, &lines).into_iter().filter(is_new));
    }
    tests.truncate(MOST_NAMES);
    tests
}

/// In a test's file everything that is declared counts, groups and display names too; elsewhere what an attribute above
/// calls a test (Rust).
fn declared<'a>(file: &'a ChangedFile, lines: &[(u32, &'a str)]) -> Vec<DeclaredTest<'a>> {
    let Some(syntax) = TestSyntax::of(&file.path) else {
        return Vec::new();
    };
    let whole_file = is_test(&file.path);
    // What a group of tests, or the test below, is called in reports.
    let title = pattern!(
        r#"(?:\b(?:describe|context)(?:\.\w+)*\s*\(?|@DisplayName\()\s*(?:'([^']+)|"([^"]+)|`([^`]+))"#
    );
    let (mut names, mut is_marked) = (Vec::new(), false);
    for &(line, text) in lines.iter().filter(|(_, text)| text.len() <= LONGEST_LINE) {
        let test = syntax.test(text);
        is_marked |= test == Some("");
        let named = test
            .filter(|name| !name.is_empty() && whole_file)
            .map(|name| (name, true));
        let declared = || {
            syntax
                .function(text)
                .filter(|_| whole_file || is_marked)
                .map(|name| (name, is_marked))
        };
        let titled = || {
            first_group(&title.captures(text)?)
                .filter(|_| whole_file)
                .map(|name| (name, false))
        };
        if let Some((name, is_test)) = named.or_else(declared).or_else(titled) {
            names.push(DeclaredTest {
                file: &file.path,
                name,
                line,
                is_test,
            });
        }
        // Attributes and annotations stand in lines of their own above what they mark.
        is_marked &= text.trim_start().starts_with(['#', '@', '[']);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        evidence::{
            CheckKind, Outcome, OutcomesExtent, RegressionTrial, TestOutcome, TestOutcomes,
        },
        fixtures,
        observed::ReceivedEvidence,
        policy::Pattern,
    };

    fn unit(failing: &[&str], passing: &[&str]) -> CheckEvidence {
        let ReceivedEvidence::Accepted(evidence) =
            fixtures::evidence(fixtures::sha(1), failing, passing)
        else {
            panic!("accepted")
        };
        evidence.checks[1].clone()
    }

    fn on_base(check: CheckEvidence) -> BaseEvidence {
        BaseEvidence {
            sha: fixtures::sha(9),
            checks: [(check.name.clone(), check)].into(),
            coverage: None,
        }
    }

    #[test]
    fn existing_tests_are_compared_with_the_base() {
        let missing = |broken: &[&str], gone| {
            let named = broken.iter().map(ToString::to_string).collect();
            Some(Err(MissingTests::OfBase {
                broken: broken.len(),
                named,
                gone,
            }))
        };
        let none = CheckEvidence::bare("unit".parse().unwrap(), CheckKind::Test, Outcome::Passed);
        let table = [
            (
                unit(&[], &["a", "b"]),
                unit(&[], &["a", "b", "c"]),
                Some(Ok(())),
            ),
            (unit(&["a"], &["b"]), unit(&["a"], &["b"]), Some(Ok(()))),
            (
                unit(&[], &["a", "b"]),
                unit(&["a"], &["b"]),
                missing(&["a"], 0),
            ),
            (unit(&[], &["a", "b"]), unit(&[], &["a"]), missing(&[], 1)),
            (none.clone(), unit(&["a"], &[]), None),
            (unit(&[], &["a"]), none, None),
        ];
        for (base, head, expected) in table {
            assert_eq!(
                existing([&head], &on_base(base.clone())),
                expected,
                "{base:?}"
            );
        }
        let whole = unit(&[], &["a", "b"]);
        let mut part = unit(&[], &["a"]);
        let entry = TestOutcome::new(TestId::of("", "", "a"), TestState::Passed);
        part.tests = Some(TestOutcomes::new(vec![entry], OutcomesExtent::Partial));
        assert_eq!(existing([&part], &on_base(whole)), Some(Ok(())));
    }

    #[test]
    fn a_proof_and_names_judge_the_other_sorts() {
        use RequiredTest::{EdgeCases, ErrorHandling, OriginalBugReproduction, RegressionTest};
        let mut policy = CoveragePolicy::default();
        let mut snapshot = fixtures::snapshot();
        if let ChangedFiles::Complete(files) = &mut snapshot.files {
            files[1].patch =
                Some("@@ -0,0 +1,2 @@\n+#[test]\n+fn an_empty_cart_costs_nothing() {}".to_owned());
        }
        snapshot.evidence = vec![fixtures::evidence(snapshot.pull_request.head.sha, &[], &[])];
        let mut judge = |policy: &CoveragePolicy, proof: Option<&RegressionTrial>| {
            let [ReceivedEvidence::Accepted(evidence)] = &mut snapshot.evidence[..] else {
                panic!("accepted")
            };
            evidence.regression_proof = proof.cloned();
            standings(policy, &snapshot, [])
        };
        assert!(judge(&policy, None).is_empty());
        policy.test_names = [(EdgeCases, "empty|zero"), (ErrorHandling, "fails|refuses")]
            .map(|(sort, text)| (sort, vec![Pattern::parse(text).unwrap()]))
            .into();
        let trial = |verdict| RegressionTrial {
            verdict,
            tests: Vec::new(),
            reason: "tests/round.rs passes on the base too.".to_owned(),
        };
        let [not, proved, unknown] = [
            ProofVerdict::NotProved,
            ProofVerdict::Proved,
            ProofVerdict::Unknown,
        ]
        .map(trial);
        let judged = judge(&policy, Some(&not));
        assert_eq!(judged[&EdgeCases], Ok(()));
        assert_eq!(
            judged[&ErrorHandling],
            Err(MissingTests::Named {
                patterns: vec!["fails|refuses".to_owned()]
            })
        );
        assert!(matches!(
            &judged[&RegressionTest],
            Err(MissingTests::Proof { .. })
        ));
        assert_eq!(
            judge(&policy, Some(&proved))[&OriginalBugReproduction],
            Ok(())
        );
        assert!(!judge(&policy, Some(&unknown)).contains_key(&RegressionTest));
    }
}

#[cfg(test)]
mod name_tests {
    use super::*;

    #[test]
    fn declarations_of_the_languages() {
        let table: [(&str, &[&str], &[&str]); 8] = [
            (
                "src/a.rs",
                &[
                    "    #[test]",
                    "    fn rounds_half() {",
                    "        it(1);",
                    "fn helper() {}",
                ],
                &["rounds_half"],
            ),
            (
                "tests/a.rs",
                &["#[tokio::test]", "async fn fails() {}"],
                &["fails"],
            ),
            (
                "test_a.py",
                &[
                    "class TestA:",
                    "    def test_empty(self):",
                    "    async def test_b():",
                ],
                &["test_empty", "test_b"],
            ),
            (
                "a_test.go",
                &[
                    "func TestTotal(t *testing.T) {",
                    "func (s *Suite) TestEdge() {",
                ],
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
            (
                "ATest.java",
                &["  @DisplayName(\"adds tax\")", "  public void addsTax() {"],
                &["adds tax", "addsTax"],
            ),
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
            (
                "src/a.rs",
                "+#[cfg(test)]\n+fn helps() {}\n+#[tokio::test]\n+async fn adds() {}",
                vec![("adds", 4)],
            ),
            (
                "tests/a.rs",
                "+fn test_helper() {}\n+#[test]\n+fn adds() {}",
                vec![("adds", 3)],
            ),
            (
                "test_a.py",
                "+def given():\n+    def test_b(self):\n-def test_c():\n+def test_c(tmp_path):",
                vec![("test_b", 2)],
            ),
            (
                "a_test.go",
                "+func helper() {}\n+func TestA(t *testing.T) {",
                vec![("TestA", 2)],
            ),
            (
                "a.test.ts",
                "+describe('cart', () => {\n+  it.only('adds', () => {",
                vec![("adds", 2)],
            ),
            (
                "ATest.java",
                "+  @Test\n+  void adds() {\n+  void helps() {",
                vec![("adds", 2)],
            ),
            ("src/a.py", "+def test_data():", vec![]),
        ];
        for (path, patch, expected) in table {
            let mut file = crate::fixtures::snapshot().files.known()[0].clone();
            (file.path, file.additions) = (path.to_owned(), 1);
            file.patch = Some(format!("@@ -1,1 +1,4 @@\n{patch}"));
            let files = ChangedFiles::Complete(vec![file]);
            let found: Vec<_> = new_tests(&files)
                .iter()
                .map(|test| (test.name, test.line))
                .collect();
            assert_eq!(found, expected, "{path}");
        }
    }
}
