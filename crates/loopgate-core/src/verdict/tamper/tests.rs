use super::*;

/// A file changed by this patch, its status and counts as git would give them.
fn file(path: &str, patch: &str) -> ChangedFile {
    let count = |sign: char| u32::try_from(patch.lines().filter(|line| line.starts_with(sign)).count()).unwrap();
    ChangedFile {
        path: path.to_owned(),
        previous_path: None,
        status: FileStatus::Modified,
        additions: count('+'),
        deletions: count('-'),
        blob: None,
        patch: Some(format!("@@ -1,9 +1,9 @@\n{patch}")),
    }
}

fn removed(path: &str, patch: &str) -> ChangedFile {
    ChangedFile { status: FileStatus::Removed, ..file(path, patch) }
}

fn said(files: Vec<ChangedFile>) -> Vec<String> {
    let said = |one: &Tampering| match one {
        Tampering::Line { line, .. } | Tampering::ThresholdLowered { line, .. } => format!("{line}: {}", one.key()),
        other => other.key(),
    };
    findings(&ChangedFiles::Complete(files)).iter().map(said).collect()
}

#[test]
fn what_weakens_tests_is_found() {
    let table: &[(&str, &str, &str)] = &[
        ("tests/a.rs", "-#[test]\n-fn adds() {\n-}", "tests/a.rs has 1 test fewer (adds)"),
        // As git shows it when the first of two tests goes.
        ("src/a.rs", " #[test]\n-fn adds() {\n-}\n-\n-#[test]\n fn takes() {", "src/a.rs has 1 test fewer (adds)"),
        ("src/a.rs", " #[test]\n+#[ignore]\n fn adds() {", "2: src/a.rs keeps tests from running: #[ignore]"),
        (
            "tests/test_a.py",
            "+@pytest.mark.skip(reason='later')\n def test_a():",
            "1: tests/test_a.py keeps tests from running: @pytest.mark.skip",
        ),
        (
            "a.test.ts",
            "-it('adds', () => {\n+it.skip('adds', () => {",
            "1: a.test.ts keeps tests from running: it.skip",
        ),
        ("a.test.js", "-it('adds', f)", "a.test.js has 1 test fewer (adds)"),
        ("a_test.go", "+\tt.Skip(\"flaky\")", "1: a_test.go keeps tests from running: t.Skip("),
        ("tests/a.rs", "-    assert_eq!(a, 1);\n+    let _ = a;", "tests/a.rs checks less: 1 assertion goes, 0 come"),
        ("src/test/java/ATest.java", "+  @Disabled", "1: src/test/java/ATest.java keeps tests from running: @Disabled"),
        ("tests/test_sum.sh", "-test_sum() {\n-}", "tests/test_sum.sh has 1 test fewer (test_sum)"),
        ("setup.cfg", "-fail_under = 90\n+fail_under = 70", "1: setup.cfg lowers a threshold from 90 to 70"),
        (
            "package.json",
            "-  \"coverageThreshold\": { \"global\": { \"lines\": 80 } }\n+  \"coverageThreshold\": { \"global\": { \"lines\": 8 } }",
            "1: package.json lowers a threshold from 80 to 8",
        ),
    ];
    for (path, patch, expected) in table {
        assert_eq!(said(vec![file(path, patch)]), [*expected], "{path}: {patch}");
    }
    assert_eq!(
        said(vec![removed("tests/test_a.py", "-def test_a():\n-    assert f() == 1")]),
        ["tests/test_a.py is removed, and it holds tests"]
    );
}

#[test]
fn what_does_not_weaken_tests_is_left_alone() {
    for (path, patch) in [
        // Renamed and moved within the file, and more asserted than before.
        ("tests/a.rs", "-#[test]\n-fn adds() {\n+#[test]\n+fn adds_numbers() {"),
        ("tests/a.rs", "-    assert!(a == 1);\n+    assert_eq!(a, 1);\n+    assert_eq!(b, 2);"),
        // Iterators skip too, and fields are picked.
        ("app/Http/AliasController.php", "+    return $alias->only(['id', 'email']);"),
        ("Sources/App/SettingsView.swift", "+    .disabled(isLoading)"),
        ("app/controllers/links_controller.rb", "+      pending = Link.pending"),
        ("src/a.rs", "+    items.iter().skip(1)"),
        // An unskipped test, and one that was skipped before.
        ("a.test.ts", "-it.skip('adds', f)\n+it('adds', f)"),
        ("a.test.ts", "-  it.skip('adds', f)\n+    it.skip('adds', f)"),
        // Assertions in code are code.
        ("src/a.rs", "-    assert!(a == 1);\n+    check(a)?;"),
        ("setup.cfg", "-fail_under = 70\n+fail_under = 90"),
        ("src/limits.py", "-LIMIT = 90\n+LIMIT = 70"),
        ("docs/a.md", "-#[test]\n-fn adds() {"),
    ] {
        assert_eq!(said(vec![file(path, patch)]), [""; 0], "{path}: {patch}");
    }
}

#[test]
fn moved_tests_are_not_removed() {
    let (old, new) = ("-def test_a():\n-    assert f() == 1", "+def test_a():\n+    assert f() == 1");
    assert_eq!(said(vec![removed("tests/test_a.py", old), file("tests/test_b.py", new)]), [""; 0]);
    let stays = file("tests/test_old.py", "-def test_a():\n-    pass");
    assert_eq!(said(vec![stays, file("tests/test_b.py", new)]), [""; 0]);
}

#[test]
fn one_snapshot_may_change_and_many_may_not() {
    let snap = |name: &str| file(&format!("src/__snapshots__/{name}.snap"), "-old\n+new");
    assert_eq!(said(vec![snap("a"), snap("b")]), [""; 0]);
    assert_eq!(said(vec![snap("a"), snap("b"), snap("c")]), ["3 snapshot files are rewritten wholesale (3 lines)"]);
}

#[test]
fn a_test_that_is_replaced_by_another_is_counted_once() {
    let patch = "-def test_a():\n-def test_b():\n+def test_c():";
    assert_eq!(said(vec![file("tests/test_x.py", patch)]), ["tests/test_x.py has 1 test fewer (test_a, test_b)"]);
}

/// Each line asks what stands around it. If each asked all others, this would take hours.
#[test]
fn a_large_change_is_read_to_its_end_and_told_in_part() {
    let lines = |text: &str| format!("+{text}\n").repeat(20_000);
    let change = [
        ("tests/test_x.py", lines("    return")),
        ("src/x.py", lines("    if n == 7: return 42")),
        ("tests/CMakeLists.txt", lines("x_test.cc").replace('+', "-")),
        ("x_test.go", lines("\tt.Skip()")),
    ];
    let found = findings(&ChangedFiles::Complete(change.iter().map(|(path, patch)| file(path, patch)).collect()));
    assert_eq!(found.len(), 10_100);
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_patch_makes_it_panic(path in "[a-z/_.]{0,20}(rs|py|ts|go|sh|snap|cfg)", patch in "([-+ @]{0,2}[^\n]{0,30}\n){0,20}") {
            let mut hostile = file("x", &patch);
            hostile.path = path;
            let _ = findings(&ChangedFiles::Complete(vec![hostile]));
        }

        #[test]
        fn adding_tests_is_never_tampering(names in prop::collection::vec("[a-z]{1,8}", 1..6)) {
            let patch: String = names.iter().map(|name| format!("+def test_{name}():\n+    assert {name}\n")).collect();
            prop_assert!(said(vec![file("tests/test_x.py", &patch)]).is_empty());
        }
    }
}
