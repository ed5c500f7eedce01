//! Each comparison alone, what its findings say, and what clears or releases them.

use super::*;

/// What a finding says, of each kind.
#[test]
fn findings_in_words() {
    let none =
        "def test_rejects_none():\n    with pytest.raises(ValueError):\n        total(None)\n\n";
    let cart = |from: &str, to: &str| edit("tests/test_cart.py", PYTHON, from, to);
    let cases: [(File, &[&str]); 17] = [
        (cart(none, ""), &[]),
        (
            cart("def test_adds", "@pytest.mark.skip\ndef test_adds"),
            &[],
        ),
        (cart("    assert cart.count == 1\n", ""), &[]),
        (cart("cart.sum == 3", "cart.sum >= 0"), &[]),
        (
            cart("cart.sum == 3", "cart.sum == total([cart.items])"),
            &[],
        ),
        (cart("    (3, 6),\n", ""), &[]),
        (
            cart(
                "cart.add(3)",
                "try:\n        cart.add(3)\n    except ValueError:\n        pass",
            ),
            &[],
        ),
        (cart("cart.add(3)", "cart.add(4)"), &["test_adds"]),
        (
            cart(
                "import pytest",
                "import pytest\nfrom unittest import mock\nmock.patch('shop.cart.total')",
            ),
            &["test_adds"],
        ),
        (file("tests/cart.snap", "sum: 3\n", "sum: 4\n"), &[]),
        (
            file(
                "package.json",
                "{\n  \"test\": \"node --test\"\n}\n",
                "{\n  \"test\": \"true\"\n}\n",
            ),
            &[],
        ),
        (
            file(
                "Makefile",
                "test:\n\tpytest -q\n",
                "test:\n\tpytest -q -k cart\n",
            ),
            &[],
        ),
        (
            file("Makefile", "test:\n\tpytest -q\n", "test:\n\t-pytest -q\n"),
            &[],
        ),
        (
            file(
                "pytest.ini",
                "[pytest]\n",
                "[pytest]\naddopts = --deselect tests/a.py\n",
            ),
            &[],
        ),
        (
            file(
                "tox.ini",
                "[coverage:report]\nfail_under = 90\n",
                "[coverage:report]\nfail_under = 70\n",
            ),
            &[],
        ),
        (
            file(
                "shop/a.py",
                "import os\n",
                "import os\nFAST = 'PYTEST_CURRENT_TEST' in os.environ\n",
            ),
            &[],
        ),
        (
            file(
                "tests/conftest.py",
                "import sys\n",
                "import sys\nsys.exit(0)\n",
            ),
            &[],
        ),
    ];
    let told = |(file, failed): &(File, &[&str])| {
        judge(std::slice::from_ref(file), failed, ANYBODY)
            .all
            .join("\n")
    };
    insta::assert_snapshot!(cases.iter().map(told).collect::<Vec<_>>().join("\n"));
}

/// The same value in an assertion that lets pass others is a loss, in an exact one it is none.
#[test]
fn exact_values_loosened() {
    let cases = [
        (
            "tests/test_cart.py",
            "def test_a():\n    assert f() == 3\n",
            "assert f() == 3",
            "assert f() >= 3",
            true,
        ),
        (
            "tests/test_cart.py",
            "def test_a():\n    assert f() == 3\n",
            "assert f() == 3",
            "assert 3 in (f(), 3)",
            true,
        ),
        (
            "tests/test_cart.py",
            "def test_a():\n    assert f() == 3\n",
            "assert f() == 3",
            "assert 3 == f()",
            false,
        ),
        (
            "tests/cart.rs",
            "#[test]\nfn a() {\n    assert_eq!(f(), 3);\n}\n",
            "assert_eq!(f(), 3)",
            "assert!(f() <= 3)",
            true,
        ),
        (
            "cart_test.cpp",
            "TEST(Cart, A) {\n  EXPECT_EQ(f(), 3);\n}\n",
            "EXPECT_EQ",
            "EXPECT_GE",
            true,
        ),
        (
            "test_cart.c",
            "static void test_a(void) {\n  assert(f() == 3);\n}\n",
            "==",
            "<=",
            true,
        ),
    ];
    for (path, text, from, to, is_weaker) in cases {
        let found = judge(&[edit(path, text, from, to)], &[], ANYBODY);
        assert_eq!(
            found.all.iter().any(|one| one.contains("accepts values")),
            is_weaker,
            "{to}: {:?}",
            found.all
        );
    }
}

#[test]
fn failures_without_names() {
    let at = |file: &str| {
        let (file, function) = (file.to_owned(), Some("test_adds".to_owned()));
        Failure {
            source: Some(SourceLocation {
                file,
                line: Some(3),
                function,
            }),
            ..Failure::default()
        }
    };
    assert_eq!(failed_test(&at("test_cart.c")), Some("test_adds"));
    assert_eq!(failed_test(&at("src/cart.c")), None);
    assert_eq!(
        failed_test(&Failure {
            test_name: Some("adds".to_owned()),
            ..at("test_cart.c")
        }),
        Some("adds")
    );
}

#[test]
fn a_suppression_counts_on_a_line_that_failed_only() {
    let (files, contents) =
        changed(&[file("src/a.py", "import os\n", "import os  # noqa: F401\n")]);
    let mut change = Change::of_fixer(&files, &contents, sha(1), sha(2), BTreeSet::new(), None);
    change.is_of_fixer = ANYBODY;
    assert_eq!(findings(&change), []);
    change.runs.named = BTreeSet::from(["src/a.py:2"]);
    let told = not_accepted(&findings(&change), &BTreeMap::new()).map(ToString::to_string);
    let expected =
        "src/a.py:1: a finding that failed before is suppressed: `import os  # noqa: F401`";
    assert_eq!(told.as_deref(), Some(expected));
}

#[test]
fn a_test_file_that_nobody_can_read_is_a_ground() {
    let (ChangedFiles::Complete(mut files), _) =
        changed(&[edit("tests/test_cart.py", PYTHON, "== 3", "== 4")])
    else {
        panic!()
    };
    files[0].patch = None;
    let (files, contents) = (ChangedFiles::Complete(files), Contents::default());
    let mut change = Change::of_fixer(&files, &contents, sha(1), sha(2), BTreeSet::new(), None);
    let held = not_accepted(&findings(&change), &BTreeMap::new()).map(|one| one.deed.clone());
    assert_eq!(held.as_deref(), Some("its tests cannot be read"));
    change.is_of_fixer = ANYBODY;
    assert_eq!(not_accepted(&findings(&change), &BTreeMap::new()), None);
}

#[test]
fn a_renamed_test_file_that_no_runner_finds_loses_its_tests() {
    let (ChangedFiles::Complete(mut files), mut contents) =
        changed(&[file("src/login.generated.ts", "", SCRIPT)])
    else {
        panic!()
    };
    files[0].status = FileStatus::Renamed;
    files[0].previous_path = Some("src/login.test.ts".into());
    contents.texts.insert(
        (sha(1), "src/login.test.ts".into()),
        Content::Text(SCRIPT.into()),
    );
    let files = ChangedFiles::Complete(files);
    let mut change = Change::of_fixer(&files, &contents, sha(1), sha(2), BTreeSet::new(), None);
    change.is_of_fixer = ANYBODY;
    let found = findings(&change);
    assert_eq!(
        found
            .iter()
            .filter(|one| one.weight == Weight::Proof)
            .count(),
        3,
        "{found:?}"
    );
}

fn ran(tests: std::ops::Range<u32>) -> TestOutcomes {
    let entry =
        |test: u32| TestOutcome::new(TestId::of("", "", &test.to_string()), TestState::Passed);
    TestOutcomes::new(tests.map(entry).collect(), OutcomesExtent::Whole)
}

/// Tests that vanish while nothing removes them: shown, and a proof where a setting selects tests.
#[test]
fn tests_that_no_longer_run() {
    let table: [(&[File], std::ops::Range<u32>, Option<Weight>); 4] = [
        (&[], 0..12, None),
        (&[], 0..13, None),
        (&[], 0..9, Some(Weight::Ground)),
        (
            &[file(
                "pytest.ini",
                "[pytest]\n",
                "[pytest]\naddopts = --deselect tests/a.py\n",
            )],
            0..9,
            Some(Weight::Proof),
        ),
    ];
    for (files, now, expected) in table {
        let (files, contents) = changed(files);
        let mut change = Change::of_fixer(&files, &contents, sha(1), sha(2), BTreeSet::new(), None);
        (change.is_of_fixer, change.runs.ran) = (ANYBODY, Some((12, now.end.into())));
        let found = findings(&change);
        let of_run = found.iter().find(|one| one.comparison == Comparison::Ran);
        assert_eq!(of_run.map(|one| one.weight), expected, "{found:?}");
        let told = of_run.map(ToString::to_string);
        assert!(
            told.is_none_or(|told| told == "fewer tests run now: 12 before, 9 after"),
            "{found:?}"
        );
    }
}

/// Where only a fixer changed anything since the attempt before, fewer tests are a proof, until a person accepts that.
#[test]
fn fewer_after_fix() {
    let fix = |by| FixRecord {
        iteration: 1,
        by,
        head_sha: sha(2),
        subject: "Mend it".to_owned(),
        description: String::new(),
        diff_summary: "+1/-1".to_owned(),
        files_modified: Vec::new(),
        outside_scope: Vec::new(),
        proven: Vec::new(),
        cost_usd: None,
    };
    let weight = |by, now: &[&str], accepted: bool| {
        let mut story = crate::fixtures::Story::opened();
        story.push(1, &["rounds"], &["adds", "parses"]);
        story.state.run.reflex = Some(ReflexState {
            fixes: vec![fix(by)],
            ..ReflexState::default()
        });
        story
            .state
            .people
            .accepted
            .extend(accepted.then_some(crate::policy::Trigger::Tampering));
        let decision = story.push(2, &[], now);
        decision
            .view
            .tampering
            .iter()
            .find(|one| one.comparison == Comparison::Ran)
            .map(|one| one.weight)
    };
    assert_eq!(
        weight(FixMaker::Fixer, &["rounds", "adds"], false),
        Some(Weight::Proof)
    );
    assert_eq!(
        weight(FixMaker::Fixer, &["rounds", "adds"], true),
        Some(Weight::Ground)
    );
    assert_eq!(
        weight(FixMaker::Person, &["rounds", "adds"], false),
        Some(Weight::Ground)
    );
    assert_eq!(
        weight(FixMaker::Fixer, &["rounds", "adds", "parses"], false),
        None
    );
    // What the whole change takes away is no excuse for what a fix takes away.
    let taken = [file("tests/test_cart.py", PYTHON, "import cart\n")];
    let (files, contents) = changed(&taken);
    let mut change = Change::of_fixer(&files, &contents, sha(1), sha(2), BTreeSet::new(), None);
    (change.is_of_fixer, change.runs.ran, change.runs.follow_fix) = (ANYBODY, Some((12, 11)), true);
    assert!(
        findings(&change)
            .iter()
            .any(|one| one.comparison == Comparison::Ran)
    );
}

/// A test that failed and does not run now is not mended; nor does a setting that selects show that it is.
#[test]
fn failed_and_gone() {
    let (makefile, program) = ("test:\n\tgo test ./...\n", "def total(a):\n    return a\n");
    let selects = || {
        vec![file(
            "Makefile",
            makefile,
            "test:\n\tgo test -run TestSmoke ./...\n",
        )]
    };
    let ignores = || {
        vec![file(
            "Makefile",
            makefile,
            "test:\n\tgo test ./... || true\n",
        )]
    };
    let asks = || {
        vec![file(
            "a.py",
            program,
            "def total(a):\n    return 'PYTEST_CURRENT_TEST' in os.environ or a\n",
        )]
    };
    let plan = "use Test::More;\nis(twice(2), 4, 'doubles');\n";
    let skips = || {
        vec![edit(
            "t/bool.t",
            plan,
            "use Test::More;",
            "use Test::More;\nplan skip_all => 'slow' if $ENV{CI};",
        )]
    };
    let launches = || {
        vec![file(
            "bin/check",
            "exec java -jar console.jar --scan\n",
            "exec java -jar console.jar --only Cart\n",
        )]
    };
    let variable = || {
        vec![file(
            "Makefile",
            makefile,
            "export GTEST_FILTER = -Cart.*\ntest:\n\tgo test ./...\n",
        )]
    };
    let id = |test: u32| Some(TestId::of("", "", &test.to_string()));
    let table = [
        (
            "launched in another way, and seen",
            launches(),
            vec![id(3)],
            0..12,
            None,
        ),
        (
            "launched in another way, and not seen",
            launches(),
            vec![id(99)],
            0..12,
            Some(Comparison::Selection),
        ),
        (
            "selected by a variable, and not seen",
            variable(),
            vec![id(99)],
            0..12,
            Some(Comparison::Selection),
        ),
        ("it ran", Vec::new(), vec![id(3)], 0..12, None),
        (
            "it is gone",
            Vec::new(),
            vec![id(11)],
            0..9,
            Some(Comparison::Ran),
        ),
        ("others are gone", Vec::new(), vec![id(3)], 0..9, None),
        ("selected, and seen", selects(), vec![id(3)], 0..12, None),
        (
            "selected, without a name",
            selects(),
            vec![None],
            0..12,
            Some(Comparison::Selection),
        ),
        (
            "skipped on a condition, and seen",
            skips(),
            vec![id(3)],
            0..12,
            Some(Comparison::Written),
        ),
        (
            "ignored, without a name",
            ignores(),
            vec![None],
            0..12,
            Some(Comparison::Selection),
        ),
        (
            "selected, nothing failed",
            selects(),
            Vec::new(),
            0..12,
            None,
        ),
        (
            "asked, and seen",
            asks(),
            vec![id(3)],
            0..12,
            Some(Comparison::Selection),
        ),
        ("asked, nothing failed", asks(), Vec::new(), 0..12, None),
    ];
    for (what, files, failures, now, expected) in table {
        let (files, contents) = changed(&files);
        let mut change = Change::of_fixer(&files, &contents, sha(1), sha(2), BTreeSet::new(), None);
        change.is_of_fixer = ANYBODY;
        change.runs = Runs {
            failures,
            ran: Some((12, now.end.into())),
            now: Some(ran(now)),
            is_read: true,
            ..Runs::default()
        };
        let found = findings(&change);
        let held = not_accepted(&found, &BTreeMap::new()).map(|one| one.comparison);
        assert_eq!(held, expected, "{what}: {found:?}");
    }
}

/// Where only an exit status says that what failed passes, each edit that may be why holds the change.
#[test]
fn passed_by_exit_status_alone() {
    let package = "{\n  \"scripts\": {\n    \"test\": \"node check.js\"\n  },\n  \"dependencies\": {\n    \"left\": \"^1.0.0\"\n  }\n}\n";
    let script = "for one in tests/*.sh; do\n  sh \"$one\" || status=1\ndone\nexit $status\n";
    let table = [
        (
            edit("package.json", package, "node check.js", "echo ok"),
            true,
        ),
        (edit("package.json", package, "^1.0.0", "^1.2.0"), false),
        (
            edit(
                "ci/run.sh",
                script,
                "sh \"$one\" || status=1",
                "sh \"$one\" | tee -a log",
            ),
            true,
        ),
        (
            file(
                "tests/queue.test",
                "test put-1 {} -body { order } -result {a b}\n",
                "test put-1 {} -body { order } -match glob -result *\n",
            ),
            true,
        ),
        (
            file(
                "tests/heap.test",
                "test pop {} -body { pop }\n",
                "return\ntest pop {} -body { pop }\n",
            ),
            true,
        ),
        (file(".proverc", "", "--dry\n"), true),
        (
            file(
                "tests/more.test",
                "",
                "test put-2 {} -body { order } -result {c}\n",
            ),
            false,
        ),
        (
            file(
                "src/queue.tcl",
                "proc order {} { return b }\n",
                "proc order {} { return {a b} }\n",
            ),
            false,
        ),
    ];
    for (file, expected) in table {
        let what = file.path;
        let (files, contents) = changed(&[file]);
        let mut change = Change::of_fixer(&files, &contents, sha(1), sha(2), BTreeSet::new(), None);
        change.is_of_fixer = ANYBODY;
        change.runs = Runs {
            is_blind: true,
            failures: vec![None],
            ..Runs::default()
        };
        let found = findings(&change);
        assert_eq!(
            not_accepted(&found, &BTreeMap::new()).is_some(),
            expected,
            "{what}: {found:?}"
        );
        let (file, command) = (what.to_owned(), "make check".to_owned());
        let run = BaseTestRun {
            file,
            command,
            on_head: ProofEnd::Passed,
            failing: Vec::new(),
        };
        change.runs.base_tests = vec![&run];
        let is_held = not_accepted(&findings(&change), &BTreeMap::new()).is_some();
        assert_eq!(
            is_held,
            expected && !what.starts_with("tests/"),
            "{what}, as it was"
        );
    }
}

/// A file that is only renamed has no patch: its tests may run no more.
#[test]
fn renamed_where_only_an_exit_status_is_known() {
    let (files, contents) = changed(&[file(
        "tests/example_ring.c",
        "",
        "int main(void) { return 0; }\n",
    )]);
    let ChangedFiles::Complete(mut files) = files else {
        panic!("complete")
    };
    files[0] = ChangedFile {
        status: FileStatus::Renamed,
        previous_path: Some("tests/test_ring.c".to_owned()),
        patch: None,
        additions: 0,
        ..files[0].clone()
    };
    let files = ChangedFiles::Complete(files);
    let mut change = Change::of_fixer(&files, &contents, sha(1), sha(2), BTreeSet::new(), None);
    change.is_of_fixer = ANYBODY;
    change.runs = Runs {
        is_blind: true,
        failures: vec![None],
        ..Runs::default()
    };
    assert!(not_accepted(&findings(&change), &BTreeMap::new()).is_some());
}

/// Lists that are not whole are compared by their numbers.
#[test]
fn compared_by_number() {
    let (files, contents) = changed(&[]);
    for (ran, failures, expected) in [
        ((9, 9), vec![None], None),
        ((9, 4), Vec::new(), Some(Weight::Ground)),
        ((9, 4), vec![None], Some(Weight::Proof)),
    ] {
        let mut change = Change::of_fixer(&files, &contents, sha(1), sha(2), BTreeSet::new(), None);
        change.is_of_fixer = ANYBODY;
        change.runs = Runs {
            failures,
            ran: Some(ran),
            ..Runs::default()
        };
        let found = findings(&change);
        assert_eq!(found.first().map(|one| one.weight), expected, "{found:?}");
    }
}

#[test]
fn named_by_assertion() {
    let test = "use Test::More tests => 2;\nis(twice(2), 4, 'doubles');\nis(post(50), 0, 'free at fifty');\n";
    let weaker = edit(
        "t/post.t",
        test,
        "is(post(50), 0, 'free at fifty')",
        "ok(defined post(50), 'free at fifty')",
    );
    assert!(
        judge(std::slice::from_ref(&weaker), &["free at fifty"], ANYBODY)
            .held
            .is_some()
    );
    assert_eq!(judge(&[weaker], &["doubles"], ANYBODY).held, None, "shown");
}

#[test]
fn grounds_of_two_comparisons_hold_and_what_was_accepted_does_not() {
    let (files, contents) = changed(&[
        edit("tests/test_cart.py", PYTHON, "    (3, 6),\n", ""),
        file("pytest.ini", "[pytest]\n", "[pytest]\naddopts = -k cart\n"),
    ]);
    let mut change = Change::of_fixer(&files, &contents, sha(1), sha(2), BTreeSet::new(), None);
    change.is_of_fixer = ANYBODY;
    let found = findings(&change);
    assert!(
        found.iter().all(|one| one.weight == Weight::Ground),
        "{found:?}"
    );
    assert!(not_accepted(&found, &BTreeMap::new()).is_some());
    assert_eq!(not_accepted(&found, &counts(&found)), None);
    assert_eq!(not_accepted(&found[..1], &BTreeMap::new()), None);
}

#[test]
fn a_test_that_was_settled_to_be_wrong_may_state_another_value_and_no_less() {
    const TEST: &str = "def test_sum():\n    assert add(1, 2) == 4\n    assert add(2, 2) == 4\n";
    for (to, is_held) in [("    assert add(1, 2) == 3\n", false), ("", true)] {
        let (files, contents) = changed(&[edit(
            "tests/test_sum.py",
            TEST,
            "    assert add(1, 2) == 4\n",
            to,
        )]);
        let failed = BTreeSet::from(["tests/test_sum.py::test_sum"]);
        let mut change = Change::of_fixer(&files, &contents, sha(1), sha(2), failed.clone(), None);
        change.is_of_fixer = ANYBODY;
        assert!(
            not_accepted(&findings(&change), &BTreeMap::new()).is_some(),
            "{to}"
        );
        change.runs.wrong = failed;
        assert_eq!(
            not_accepted(&findings(&change), &BTreeMap::new()).is_some(),
            is_held,
            "{to}"
        );
    }
}

#[test]
fn a_base_test_that_fails_on_the_head() {
    let run = BaseTestRun {
        file: "tests/a.py".into(),
        command: "pytest".into(),
        on_head: ProofEnd::Failed,
        failing: vec!["test_a".into()],
    };
    let (files, contents) = changed(&[]);
    let mut change = Change::of_fixer(&files, &contents, sha(1), sha(2), BTreeSet::new(), None);
    (change.is_of_fixer, change.runs.base_tests) = (ANYBODY, vec![&run]);
    assert_eq!(findings(&change)[0].weight, Weight::Ground);
    change.runs.failed = BTreeSet::from(["tests/a.py::test_a"]);
    assert_eq!(findings(&change)[0].weight, Weight::Proof);
    change.runs.wrong = BTreeSet::from(["tests/a.py::test_a"]);
    assert_eq!(findings(&change), []);
}

/// It goes with the function that it tests, and fails as it was since that is gone.
#[test]
fn gone_with_subject() {
    let test = "from shop import twice\n\n\ndef test_twice():\n    assert twice(2) == 4\n";
    let program = "def twice(a):\n    return 2 * a\n\n\ndef once(a):\n    return a\n";
    let files = [
        file("tests/test_twice.py", test, ""),
        file("shop.py", program, "def once(a):\n    return a\n"),
    ];
    let (files, contents) = changed(&files);
    for (failing, is_held) in [("test_twice", false), ("test_other", true)] {
        let run = BaseTestRun {
            file: "tests/test_twice.py".into(),
            command: "pytest".into(),
            on_head: ProofEnd::Failed,
            failing: vec![failing.into()],
        };
        let mut change = Change::of_fixer(&files, &contents, sha(1), sha(2), BTreeSet::new(), None);
        (change.is_of_fixer, change.runs.base_tests) = (ANYBODY, vec![&run]);
        assert_eq!(
            not_accepted(&findings(&change), &BTreeMap::new()).is_some(),
            is_held,
            "{failing}"
        );
    }
}

/// A test that failed is edited, and passes on the head as it was too: the edit is not why it passes.
#[test]
fn a_base_test_that_passes_on_the_head_clears_an_edit() {
    let edited = [edit(
        "tests/test_cart.py",
        PYTHON,
        "cart.add(3)",
        "cart.add(1 + 2)",
    )];
    let (files, contents) = changed(&edited);
    let mut change = Change::of_fixer(
        &files,
        &contents,
        sha(1),
        sha(2),
        BTreeSet::from(["tests/test_cart.py::test_adds"]),
        None,
    );
    assert_eq!(findings(&change).len(), 1);
    let run = BaseTestRun {
        file: "tests/test_cart.py".into(),
        command: "pytest".into(),
        on_head: ProofEnd::Passed,
        failing: Vec::new(),
    };
    change.runs.base_tests = vec![&run];
    assert_eq!(findings(&change), []);
    let double = "def test_uno():\n    assert twice(1) == 2\n\n";
    let skip = "@pytest.mark.skipif(sys.platform == 'win32', reason='no fork')\ndef test_adds";
    let edits = [
        file("tests/test_cart.py", PYTHON, "import cart\n"),
        file(
            "tests/test_cart.py",
            &format!("{double}{}", double.replace("uno", "one")),
            double,
        ),
        edit("tests/test_cart.py", PYTHON, "def test_adds", skip),
    ];
    for edit in edits {
        let (files, contents) = changed(std::slice::from_ref(&edit));
        let mut change = Change::of_fixer(&files, &contents, sha(1), sha(2), BTreeSet::new(), None);
        change.is_of_fixer = ANYBODY;
        assert!(
            not_accepted(&findings(&change), &BTreeMap::new()).is_some(),
            "{}",
            edit.new
        );
        change.runs.base_tests = vec![&run];
        let found = findings(&change);
        assert!(
            !found.is_empty() && not_accepted(&found, &BTreeMap::new()).is_none(),
            "only shown: {found:?}"
        );
    }
}

/// The checks passed with the test file and the settings as they were: neither is why they pass. What makes failures
/// count for nothing holds all the same.
#[test]
fn edits_without_which_the_checks_pass_hold_nothing() {
    let command = |run: &str| format!("test:\n\t{run}\n");
    for (run, is_held) in [("pytest -x tests", false), ("pytest tests || true", true)] {
        let (files, contents) = changed(&[
            edit(
                "tests/test_cart.py",
                PYTHON,
                "    assert cart.sum == 3\n",
                "    assert cart.sum > 0\n",
            ),
            edit(
                "Makefile",
                &command("pytest tests"),
                &command("pytest tests"),
                &command(run),
            ),
        ]);
        let mut change = Change::of_fixer(&files, &contents, sha(1), sha(2), BTreeSet::new(), None);
        assert!(findings(&change).len() > 1, "{run}");
        change.runs.proven = BTreeSet::from(["tests/test_cart.py", "Makefile"]);
        assert_eq!(!findings(&change).is_empty(), is_held, "{run}");
    }
}

#[test]
fn hunks_show_only_what_weakens() {
    let (files, contents) = changed(&[edit(
        "tests/test_cart.py",
        PYTHON,
        "    assert cart.sum == 3\n",
        "",
    )]);
    let change = Change::of_fixer(&files, &contents, sha(1), sha(2), BTreeSet::new(), None);
    assert_eq!(findings(&change)[0].hunk, ["-    assert cart.sum == 3"]);
}
