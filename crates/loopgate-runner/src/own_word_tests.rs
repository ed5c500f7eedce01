//! What a tool says of its run, against the status that its command ends with: real processes that print what the tools
//! print.

use std::{fs, os::unix::fs::PermissionsExt as _, process::Command, sync::Arc};

use loopgate_core::{
    evidence::{CheckEvidence, CheckKind, Outcome, ReproduceProof, check_consistent},
    policy::{CheckPolicy, CheckSource, CommandCheck, FailOn, FlakyTests},
};

use super::{Interrupt, schedule};
use crate::schedule::Plan;
use loopgate_git::Git;
use loopgate_written::folder_of;

/// What became of a command, of which `bin/NAME` is a shell script.
async fn ran(
    kind: CheckKind,
    command: CommandCheck,
    (name, script): (&str, &str),
) -> CheckEvidence {
    let folder = folder_of(&[
        (&format!("bin/{name}"), &format!("#!/bin/sh\n{script}\n")),
        (
            "tests/test_cart.py",
            "def test_total():\n    assert total() == 3\n",
        ),
    ]);
    // A place is that of a file which git knows, or would take.
    let made = Command::new("git")
        .args(["init", "-q"])
        .arg(folder.path())
        .status();
    assert!(made.unwrap().success());
    let program = folder.path().join("bin").join(name);
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    let check = CheckPolicy {
        kind,
        source: CheckSource::Command(command),
        is_detected: false,
    };
    let checks = [("unit".parse().unwrap(), check)].into_iter().collect();
    let plan = Plan::new(&checks, None, &Git::at(folder.path()), None).unwrap();
    let ran = schedule::run(&plan, Interrupt::new(), Arc::new(|_, _| {})).await;
    ran.checks.into_iter().next().expect("one check")
}

async fn of_tests(command: &str, program: (&str, &str)) -> CheckEvidence {
    ran(CheckKind::Test, CommandCheck::new(command), program).await
}

const PRINTED: &str = r#"cat <<'END'
============================= test session starts ==============================
collected 2 items

tests/test_report.py::test_writes FAILED tests/test_old.py::test_gone - no 4425
=== 1 failed, 3 passed in 0.12s ===
PASSED
============================== 2 passed in 0.01s ===============================
END"#;

#[tokio::test]
async fn what_a_passing_test_prints_fails_no_run_that_ends_with_0_by_itself() {
    let pytest = ("pytest", PRINTED);
    let evidence = of_tests("bin/pytest -s -v", pytest).await;
    let counted = evidence.results.map(|it| (it.total, it.passed, it.failed));
    assert_eq!(
        (evidence.outcome, counted),
        (Outcome::Passed, Some((2, 2, 0)))
    );
    let notes = format!("{:?}", evidence.reports);
    assert!(
        notes.contains("1 printed as failed; the runner's own sum"),
        "{notes}"
    );
    // Whose status it is, a pipe hides.
    let evidence = of_tests("bin/pytest -s -v | tee log", pytest).await;
    assert_eq!(evidence.outcome, Outcome::Failed);
}

/// A list is printed as Jest marks what failed, and a program that ends with 0 by itself says that nothing did.
#[tokio::test]
async fn lines_that_any_program_may_print_fail_no_run_that_ends_with_0_by_itself() {
    let list = "printf 'list:\\n  ● cart\\n  ● plan\\n\\n5 passed\\n'";
    let opened = format!("echo ' FAIL  tests/cart.test.js'; {list}");
    let summed = format!("{list}; echo 'Tests:       2 failed, 2 total'");
    let ended = r#"printf '  ●  process.exit called with "0"\n\n    at f (a.test.js:2:3)\n'"#;
    let of_no_file =
        "printf 'error TS18003: no inputs\\n✖   none [a-b]\\n1: T3 a title\\n3 passed\\n'";
    let red = format!("{of_no_file}; exit 1");
    for (command, script, outcome) in [
        ("bin/list", of_no_file, Outcome::Passed),
        ("bin/list", red.as_str(), Outcome::Failed),
        ("bin/list", list, Outcome::Passed),
        ("bin/list | cat", list, Outcome::Failed),
        ("bin/list", opened.as_str(), Outcome::Failed),
        ("bin/list", summed.as_str(), Outcome::Failed),
        ("bin/list", ended, Outcome::Failed),
    ] {
        let evidence = of_tests(command, ("list", script)).await;
        assert_eq!(evidence.outcome, outcome, "{command}: {script}");
        let is_noted = format!("{:?}", evidence.reports).contains("no test runner shows a run");
        assert_eq!(is_noted, outcome == Outcome::Passed, "{command}: {script}");
    }
}

#[tokio::test]
async fn a_known_runner_that_prints_no_sum_did_not_end() {
    let begun = "echo '============================= test session starts ============'\n\
                 echo 'collected 3 items'\necho; echo 'tests/test_a.py .'";
    for command in [
        "bin/pytest",
        "bin/pytest | tee log",
        "bin/pytest || true",
        "bin/pytest; exit 0",
    ] {
        let evidence = of_tests(command, ("pytest", begun)).await;
        assert_eq!(evidence.outcome, Outcome::Failed, "{command}");
        assert!(evidence.reconciled.ended_early, "{command}");
        let [failure] = evidence.failures.as_slice() else {
            panic!("{:?}", evidence.failures);
        };
        let said = &failure.error_message;
        assert!(said.starts_with("the run did not end: "), "{said}");
    }
    let ended = begun.replace("test_a", "test_cart") + "; exit 3";
    let evidence = of_tests("bin/pytest -v", ("pytest", ended.as_str())).await;
    let [failure] = evidence.failures.as_slice() else {
        panic!("{:?}", evidence.failures);
    };
    assert_eq!(failure.test_file.as_deref(), Some("tests/test_cart.py"));
    let said = &failure.error_message;
    assert!(said.starts_with("the output ends while a test"), "{said}");
    // What was asked for less shows less.
    for command in ["bin/pytest -q", "bin/pytest | tail -n 3"] {
        let evidence = of_tests(command, ("pytest", begun)).await;
        assert!(
            evidence
                .failures
                .iter()
                .all(|it| !it.error_message.contains("did not end")),
            "{command}"
        );
    }
}

/// What the tools print until a test ends the process, whose status is 0. The last line has no end.
#[tokio::test]
async fn a_run_that_a_test_ends_is_no_pass_where_its_command_is_the_tools() {
    let named = "test_a (test_a.A.test_a) ... ok\ntest_b (test_a.A.test_b) ... ";
    let robot = format!("{0}\nCart\n{0}\n{1:69} | PASS |\n", "=".repeat(78), "Adds");
    let table = [
        ("bin/python3 -m unittest", "..", true),
        ("bin/python3 -m unittest discover -s tests", ".Fs", true),
        ("bin/python3 -m unittest -v", named, true),
        ("bin/python3 manage.py test", "Found 3 test(s).\n.", true),
        ("bin/nose2", "..", true),
        ("bin/nose2 -v", named, true),
        (
            "bin/trial cart",
            "cart\n  A\n    test_a ... [OK]\n    test_b ... ",
            true,
        ),
        ("bin/rspec", ".*", true),
        ("bin/mocha", "\n\n  cart\n    ✔ a\n", true),
        (
            "bin/behave",
            "USING RUNNER: behave.runner:Runner\nFeature: cart\n",
            true,
        ),
        ("bin/robot cart.robot", &robot, true),
        ("bin/ruby cart.rb", "Loaded suite cart\nStarted\n.", true),
        // The line is over, its program is another, or less was asked for.
        ("bin/python3 -m unittest", "..\n", false),
        ("bin/python3 -m unittest", "...done", false),
        ("bin/python3 -m unittest -q", "..", false),
        ("bin/python3 cart.py", "..", false),
        ("bin/python3 -m unittest | tail -n 3", "..", false),
        (
            "bin/behave --no-summary",
            "USING RUNNER: behave.runner:Runner\nFeature: cart\n",
            false,
        ),
        ("bin/gradle test", "\n\n  cart\n    ✔ a\n", false),
        (
            "bin/python3 -m unittest",
            "..\n----\nRan 2 tests in 0.001s\n\nOK\n",
            false,
        ),
    ];
    for (command, text, is_cut) in table {
        let name = command.split([' ', '/']).nth(1).unwrap();
        let script = format!("printf '%s' '{text}'");
        let evidence = of_tests(command, (name, &script)).await;
        let said = format!("{:?}", evidence.failures);
        assert_eq!(evidence.reconciled.ended_early, is_cut, "{command}: {text}");
        assert_eq!(
            said.contains("the run did not end: "),
            is_cut,
            "{command}: {said}"
        );
        assert_eq!(
            evidence.outcome == Outcome::Failed,
            is_cut,
            "{command}: {said}"
        );
    }
}

/// The last lines of an output whose sum counts no failure are no reason for its status, if they give none.
#[tokio::test]
async fn a_status_against_the_sum_is_told_as_such() {
    let bun = "bun test v1.4.5 (abc)\n\na.test.js:\n(pass) a\n(pass) b\n\n 2 pass\n 0 fail\nRan 2 tests across 1 file. [28.00ms]\n";
    let deno =
        "running 1 test from ./a_test.js\na ... ok (0ms)\n\nok | 1 passed | 0 failed (15ms)\n";
    let covered = "==== test session starts ====\ntests/test_a.py ..s  [100%]\nFAIL Required test coverage of 90% not \
                   reached. Total coverage: 50.00%\n===== 2 passed, 1 skipped in 0.01s =====\n";
    let skipped = covered.replace("FAIL Required", "Measured");
    for (text, status, said) in [
        (
            bun,
            "exit 3",
            "all 2 tests passed, and the command ended with exit code 3",
        ),
        (
            deno,
            "exit 1",
            "the only test passed, and the command ended with exit code 1",
        ),
        (
            &skipped,
            "kill -9 $$",
            "all 2 tests that ran passed, and the command was ended by signal 9",
        ),
        (
            covered,
            "exit 1",
            "Required test coverage of 90% not reached",
        ),
    ] {
        let script = format!("cat <<'END'\n{text}END\n{status}");
        let evidence = of_tests("exec bin/tool", ("tool", &script)).await;
        let [failure] = evidence.failures.as_slice() else {
            panic!("{:?}", evidence.failures);
        };
        assert!(
            failure.error_message.contains(said),
            "{}",
            failure.error_message
        );
    }
}

/// Deno's JUnit leaves out what a module throws beside its tests; its console tells and counts it.
#[tokio::test]
async fn an_error_outside_the_tests_that_only_the_console_tells_of_is_told() {
    let console = |failed: &str| {
        format!(
            "running 2 tests from ./a_test.js\na ... ok (0ms)\nb ... FAILED (1ms)\nUncaught error from ./a_test.js FAILED\n\n \
             ERRORS \n\nb => ./a_test.js:1:112\nerror: Error: b fails\n    at file:///shop/a_test.js:1:132\n\n./a_test.js \
             (uncaught error)\nerror: Error: no stop\n    at file:///shop/a_test.js:1:60\n\n FAILURES \n\nb => ./a_test.js:1:112\n\n\
             FAILED | 1 passed | {failed} failed (27ms)\n"
        )
    };
    let junit = "<testsuites name=\"deno test\" tests=\"2\" failures=\"1\"><testsuite name=\"./a_test.js\" tests=\"2\" failures=\"1\"><testcase \
                 name=\"a\" classname=\"./a_test.js\"/><testcase name=\"b\" classname=\"./a_test.js\"><failure message=\"Uncaught \
                 Error: b fails\"/></testcase></testsuite></testsuites>";
    for (failed, told, counted) in [
        ("2", vec!["Uncaught Error: b fails", "no stop"], 3),
        ("9", vec!["Uncaught Error: b fails"], 2),
    ] {
        let script = format!(
            "echo '{junit}' > h.xml\ncat <<'END'\n{}END\nexit 1",
            console(failed)
        );
        let command = CommandCheck {
            reports: vec!["h.xml".to_owned()],
            ..CommandCheck::new("bin/deno test")
        };
        let evidence = ran(CheckKind::Test, command, ("deno", &script)).await;
        let failures = evidence.failures.iter();
        // Below a message stands where it was reported.
        let said: Vec<&str> = failures
            .filter_map(|it| it.error_message.lines().next())
            .collect();
        assert_eq!(said, told);
        assert_eq!(evidence.results.map(|results| results.total), Some(counted));
    }
}

/// A linter's report in a check of tests, whose command ends with 0: it passes, and is no contradiction.
#[tokio::test]
async fn what_a_linter_finds_fails_no_tests_of_a_command_that_ends_with_0() {
    let junit = "<testsuites><testsuite package=\"org.eslint\" name=\"t.md\" tests=\"1\" errors=\"1\"><testcase \
                 name=\"org.eslint.no-todo\"><failure message=\"TODO\">line 1, col 1, TODO</failure></testcase></testsuite></testsuites>";
    for (status, outcome, failures) in [("0", Outcome::Passed, 0), ("1", Outcome::Failed, 1)] {
        let script = format!("echo '{junit}' > h.xml\nexit {status}");
        let command = CommandCheck {
            reports: vec!["h.xml".to_owned()],
            ..CommandCheck::new("bin/textlint")
        };
        let evidence = ran(CheckKind::Test, command, ("textlint", &script)).await;
        assert_eq!(
            (evidence.outcome, evidence.failures.len()),
            (outcome, failures)
        );
        assert_eq!(evidence.findings.len(), 1);
        assert_eq!(check_consistent(&evidence, CheckKind::Test), Ok(()));
    }
}

/// A linter that ends with an error for its warnings says so by its status alone; what failed otherwise says that.
#[tokio::test]
async fn warnings_fail_where_they_are_all_that_a_linter_says() {
    let warnings = "::group::a.sql\n::warning file=a.sql,line=1::LT02: Expected a line break.\n::warning \
                    file=a.sql,line=2::ST12: Consecutive semicolons.\n::notice file=a.sql,line=3::read";
    let crash = "::warning file=a.sql,line=1::LT02: Expected a line break.\nTypeError: no rules";
    for (text, kind, told) in [
        (
            warnings,
            CheckKind::Lint,
            vec![
                "LT02: Expected a line break.",
                "ST12: Consecutive semicolons.",
            ],
        ),
        (crash, CheckKind::Lint, vec!["no rules"]),
    ] {
        let script = format!("printf '{text}\n'\nexit 1");
        let evidence = ran(kind, CommandCheck::new("bin/lint"), ("lint", &script)).await;
        let failures = evidence.failures.iter();
        let said: Vec<&str> = failures
            .filter_map(|it| it.error_message.lines().next())
            .collect();
        assert_eq!(said, told);
    }
}

#[tokio::test]
async fn errors_of_a_tool_that_ends_with_0_fail_type_checks_and_what_is_to_fail_on_them() {
    let mypy = (
        "mypy",
        "echo 'src/a.py:10: error: \"Freight\" has no attribute \"early\"  [attr-defined]'",
    );
    let table = [
        (CheckKind::Types, None, Outcome::Failed),
        (CheckKind::Types, Some(FailOn::Exit), Outcome::Passed),
        (CheckKind::Lint, None, Outcome::Passed),
        (CheckKind::Lint, Some(FailOn::Error), Outcome::Failed),
        (CheckKind::Security, Some(FailOn::Warning), Outcome::Failed),
    ];
    for (kind, fail_on, outcome) in table {
        let command = CommandCheck {
            fail_on,
            ..CommandCheck::new("bin/mypy src")
        };
        let evidence = ran(kind, command, mypy).await;
        assert_eq!(evidence.outcome, outcome, "{kind:?} {fail_on:?}");
        let is_told = format!("{:?}", evidence.reports).contains("1 finding of level error");
        assert_eq!(is_told, outcome == Outcome::Passed, "{kind:?} {fail_on:?}");
    }
}

#[tokio::test]
async fn tests_that_pass_on_another_try_are_named_or_not_or_fail() {
    let reruns = r#"cat <<'END'
============================= test session starts ==============================
collected 1 item

tests/test_a.py R.                                                        [100%]

========================= 1 passed, 1 rerun in 0.01s ===========================
END"#;
    let table = [
        (FlakyTests::Pass, Outcome::Passed, 0),
        (FlakyTests::Warn, Outcome::Passed, 1),
        (FlakyTests::Fail, Outcome::Failed, 1),
    ];
    for (flaky, outcome, counted) in table {
        let command = CommandCheck {
            flaky,
            ..CommandCheck::new("bin/pytest")
        };
        let evidence = ran(CheckKind::Test, command, ("pytest", reruns)).await;
        assert_eq!(evidence.outcome, outcome, "{flaky:?}");
        let results = evidence.results.map(|results| results.flaky);
        assert_eq!(results, Some(counted), "{flaky:?}");
    }
}

/// pytest, as far as these tests go: with a test to run it prints `$ONE` and ends with `$STATUS`.
fn pytest(one: &str, status: u8) -> String {
    let failed = "cat <<'END'\n\
        =================================== FAILURES ===================================\n\
        __________________________________ test_total __________________________________\n\n\
        >       assert total() == 3\nE       assert 2 == 3\n\n\
        tests/test_cart.py:3: AssertionError\n\
        =========================== short test summary info ============================\n\
        FAILED tests/test_cart.py::test_total - assert 2 == 3\n\
        ============================== 1 failed in 0.01s ===============================\n\
        END\nexit 1";
    let one = match one {
        "" => failed.to_owned(),
        one => format!("echo '{one}'; exit {status}"),
    };
    format!("case \"$*\" in *::test_total*)\n{one}\n;; esac\n{failed}")
}

/// Without the workers of pytest-xdist, the test in which one ended ends pytest, which has named its file alone.
#[tokio::test]
async fn a_test_that_ends_its_worker_is_reproduced_where_it_ends_the_run() {
    let crash = "worker 'gw0' crashed while running 'tests/test_cart.py::test_total'";
    let begins = "============================= test session starts ==============================";
    let script = format!(
        "case \"$*\" in *::test_total*) printf '{begins}\\ncollected 1 item\\n\\ntests/test_cart.py '; exit 3;; esac\n\
         cat <<'END'\n{begins}\n=================================== FAILURES ===================================\n\
         ______________________________ tests/test_cart.py ______________________________\n[gw0] linux -- Python 3.11.7 \
         /usr/bin/python\n{crash}\n=========================== short test summary info ============================\n\
         FAILED tests/test_cart.py::test_total - {crash}\n\
         ========================= 1 failed, 3 passed in 0.01s ==========================\nEND\nexit 1"
    );
    let evidence = of_tests("bin/pytest -n2 tests", ("pytest", &script)).await;
    let proofs: Vec<_> = evidence.failures.iter().map(|it| it.reproduce).collect();
    assert_eq!(proofs, [Some(ReproduceProof::Proven)]);
}

#[tokio::test]
async fn a_command_to_reproduce_is_told_where_it_failed_in_that_test() {
    let proof = |evidence: &CheckEvidence| {
        let proofs: Vec<Option<ReproduceProof>> = evidence
            .failures
            .iter()
            .map(|failure| failure.reproduce)
            .collect();
        (proofs, evidence.reproduce_dropped)
    };
    let evidence = of_tests("bin/pytest tests", ("pytest", &pytest("", 1))).await;
    assert_eq!(proof(&evidence), (vec![Some(ReproduceProof::Proven)], 0));
    // Nothing is selected: by an exit status of its own, or by none.
    for (said, status) in [("no tests ran in 0.01s", 5), ("no tests ran in 0.01s", 0)] {
        let script = pytest(said, status);
        let evidence = of_tests("bin/pytest tests", ("pytest", &script)).await;
        assert_eq!(evidence.outcome, Outcome::Failed, "{status}");
        assert_eq!(
            proof(&evidence),
            (vec![Some(ReproduceProof::Dropped)], 1),
            "{status}"
        );
    }
}
