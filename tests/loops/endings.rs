//! How loops end, with the commits and reports they leave.

use serde_json::json;

use crate::kit::{CHEATS, Project, REPAIRS, Ran};

/// What is to be done about it is not known, as about most failures that no rule explains.
#[test]
fn a_failure_without_a_known_next_step_is_repaired_too() {
    let project = Project::fixed_by("cat > /dev/null\necho fixed > state\n", "");
    let test = "echo 1..1\ngrep -qs fixed state && echo 'ok 1 - packs' && exit\n\
                echo 'not ok 1 - packs'\necho \"# (in test file t/rotate.bats, line 65)\"\necho '#   packed failed'\nexit 1\n";
    project.write("tests/test_calc.sh", test);
    project.commit("A test that fails");
    project.begin(&[]);
    let ran = project.run(&["run"]).ended_with(0);
    ran.prints("calc: completed after 2 iterations");
    let critique = project.git(&["log", "--format=%s", "refs/loopgate/task/calc"]);
    assert!(
        critique.contains("iteration 1: critique, 1 item"),
        "{critique}"
    );
}

/// A branch whose own commit broke a test that passes on its base, as most pull requests do.
fn broken_on_a_branch(fixer: &str) -> Project {
    let project = Project::fixed_by(fixer, "");
    let whole =
        "total() { sum=0; for number in \"$@\"; do sum=$((sum + number)); done; echo \"$sum\"; }\n";
    project.write("calc.sh", whole);
    let test = ". ./calc.sh\necho 1..1\n[ \"$(total 1 2 3)\" = 6 ] && echo 'ok 1 - adds' && exit\n\
                echo 'not ok 1 - adds'\nexit 1\n";
    project.write("tests/test_calc.sh", test);
    project.commit("A sum that is right");
    project.git(&["checkout", "-qb", "feature"]);
    project.write("calc.sh", &whole.replace("sum=0", "sum=1"));
    project.write("more.py", "def more(x):\n    return x + 1\n");
    project.commit("More");
    project
}

/// Sets a loop up that mends a bug on a branch.
fn begin_on_a_branch(project: &Project) {
    let words = "new mend --alias calc --type bug_fix --base main --yes";
    let words: Vec<&str> = words.split(' ').collect();
    project.run(&words).ended_with(0);
}

#[test]
fn a_test_that_the_branch_broke_and_mended_is_the_test_of_the_change() {
    let project = broken_on_a_branch("cat > /dev/null\nsed -i 's/sum=1/sum=0/' calc.sh\n");
    begin_on_a_branch(&project);
    let ran = project.run(&["run"]).ended_with(0);
    ran.prints("calc: completed after 2 iterations");
    let mut query = project.loopgate(&["memory", "query", "adds"]);
    let known = Ran::of(query.output().expect("the program")).ended_with(0);
    known.prints("in calc.sh");
}

#[test]
fn a_missing_test_is_asked_for_by_name() {
    let project = broken_on_a_branch("cat > /dev/null\n");
    project.git(&["checkout", "-q", "main", "--", "calc.sh"]);
    project.commit("The sum is right again");
    begin_on_a_branch(&project);
    let ran = project.run(&["run"]).ended_with(2);
    for said in [
        "BLOCKED: the change comes without a test",
        "Question: Which test shows what more.py is to do?",
    ] {
        assert!(ran.out.contains(said), "{said}: {}", ran.out);
    }
    assert!(!ran.out.contains("changed nothing"), "{}", ran.out);
    // The second answer is one that works.
    let configured = project.read(".github/loopgate.yml");
    let rule = "evaluate:\n  rules:\n    - { id: tests_added, severity: warn, check: { tests_added: true } }\n";
    project.write(".github/loopgate.yml", &format!("{configured}{rule}"));
    project.commit("No test is needed");
    project.run(&["resume", "calc"]).ended_with(0);
}

/// pytest, prove and go, as most tools, name the tests that fail and no others. That none is named once all pass is no
/// loss.
#[test]
fn a_tool_that_names_only_failing_tests_completes_the_loop() {
    let pytest = [
        "=========== FAILURES ===========\n__________ test_adds __________\n\n    def test_adds():\n\
         >       assert add(1, 2) == 3\nE       assert 4 == 3\nE        +  where 4 = add(1, 2)\n\n\
         tests/test_cart.py:4: AssertionError\n=========== short test summary info ===========\n\
         FAILED tests/test_cart.py::test_adds - assert 4 == 3\n========= 1 failed, 2 passed in 0.02s =========\n",
        "tests/test_cart.py ...                [100%]\n========= 3 passed in 0.02s =========\n",
    ];
    let prove = [
        "\n#   Failed test 'right'\n#   at t/align.t line 9.\n#          got: '1 '\n#     expected: ' 1'\n\
         # Looks like you failed 1 test of 2.\nt/align.t .. \nDubious, test returned 1 (wstat 256, 0x100)\n\
         Failed 1/2 subtests \n\nTest Summary Report\n-------------------\n\
         t/align.t (Wstat: 256 (exited 1) Tests: 2 Failed: 1)\n  Failed test:  2\n  Non-zero exit status: 1\n\
         Files=1, Tests=2,  0 wallclock secs\nResult: FAIL\n",
        "t/align.t .. ok\nAll tests successful.\nFiles=1, Tests=2,  0 wallclock secs\nResult: PASS\n",
    ];
    let go = [
        "--- FAIL: TestAdds (0.00s)\n    cart_test.go:9: got 4, want 3\nFAIL\nFAIL\texample.com/cart\t0.002s\nFAIL\n",
        "ok  \texample.com/cart\t0.002s\n",
    ];
    for [fails, passes] in [pytest, prove, go] {
        let project = Project::fixed_by("cat > /dev/null\necho fixed > state\n", "");
        project.write("fails.txt", fails);
        project.write("passes.txt", passes);
        let test = "grep -qs fixed state && exec cat passes.txt\ncat fails.txt\nexit 1\n";
        project.write("tests/test_calc.sh", test);
        project.commit("A test that fails");
        project.begin(&[]);
        let ran = project.run(&["run"]).ended_with(0);
        ran.prints("calc: completed after 2 iterations");
    }
}

#[test]
fn a_fixer_that_repairs_in_two_steps_completes_the_loop() {
    let project = Project::fixed_by(
        REPAIRS,
        "  author: { name: Mend Bot, email: mend@example.com }\n",
    );
    project.begin(&[]);
    let ran = project.run(&["run"]).ended_with(0);
    for head in [
        "── Iteration 1/4 | Phase A | Score: 0.00 | FAIL ──",
        "── Iteration 3/4 | Phase B | Score: 1.00 | PASS ──",
    ] {
        ran.prints(head);
    }
    assert_eq!(
        ran.out
            .matches("All state is saved. For a fresh context: loopgate loop resume calc")
            .count(),
        2
    );
    ran.prints("calc: completed after 3 iterations: every threshold is reached");

    let log = project.git(&["log", "--format=%an %s", "main"]);
    assert_eq!(
        log,
        "Mend Bot fix(calc): compare with every number\nMend Bot fix(calc): begin the sum at 0\nalice The project"
    );
    let first = project.git(&["show", "-s", "--format=%b", "main~1"]);
    let body: Vec<&str> = first.lines().collect();
    assert!(
        body[0].starts_with("Error: unit: adds all numbers — expected 6, got 7"),
        "{first}"
    );
    assert_eq!(
        &body[1..4],
        [
            "Cause: the sum begins at 1",
            "Fix: Begin the sum at 0 (+1/-1 in calc.sh)",
            "Attempt 1/4"
        ]
    );
    assert_eq!(project.git(&["status", "--porcelain"]), "");

    let status = project.status();
    assert_eq!(
        (&status["status"], &status["stop"]["reason"]),
        (&json!("completed"), &json!("threshold_reached"))
    );
    assert_eq!(
        (&status["spent"]["calls"], &status["spent"]["cost_usd"]),
        (&json!(2), &json!(0.5))
    );
    let refs = project.git(&["for-each-ref", "--format=%(refname)", "refs/loopgate"]);
    let (memory, of_run): (Vec<&str>, _) = refs
        .lines()
        .partition(|name| name.starts_with("refs/loopgate/memory/"));
    assert_eq!(
        (memory.len(), of_run),
        (
            2,
            vec!["refs/loopgate/local/metrics", "refs/loopgate/task/calc"]
        )
    );
    let kept = project.git(&["ls-tree", "-r", "--name-only", "refs/loopgate/task/calc"]);
    assert_eq!(
        kept,
        "artifact.md\nattempts/001.json\nattempts/002.json\nattempts/003.json\nhistory.jsonl\nloop-state.json"
    );
    let second: serde_json::Value =
        serde_json::from_str(&project.git(&["show", "refs/loopgate/task/calc:attempts/002.json"]))
            .unwrap();
    assert!(
        second["started_at"].as_str() < second["ended_at"].as_str(),
        "{second}"
    );
    ran.prints("Changed: fix(calc): begin the sum at 0 (+1/-1 in calc.sh)\n");
    assert_eq!(second["fix_applied"]["diff_summary"], json!("+1/-1"));
    assert_eq!(second["fix_applied"]["files_modified"], json!(["calc.sh"]));
    let log = project.git(&["log", "--reverse", "--format=%s", "refs/loopgate/task/calc"]);
    let log: Vec<String> = log.lines().map(without_hash).collect();
    assert_eq!(
        log,
        [
            "begin: refactor: repair calc",
            "iteration 1: plan",
            "iteration 1: produced …, prepared 1 check",
            "iteration 1: fail, 0.00 — 1 failed rule (unit)",
            "iteration 1: critique, 2 items",
            "iteration 1: the fixer is called",
            "iteration 1: fix(calc): begin the sum at 0",
            "iteration 2: plan",
            "iteration 2: produced …, prepared 1 check",
            "iteration 2: fail, 0.00 — 1 failed rule (unit)",
            "iteration 2: critique, 1 item",
            "iteration 2: the fixer is called",
            "iteration 2: fix(calc): compare with every number",
            "iteration 3: plan",
            "iteration 3: produced …, prepared 1 check",
            "iteration 3: phase A passes, 1.00",
            "iteration 3: prepared 1 check for phase B",
            "iteration 3: completed, threshold_reached",
        ]
    );
}

/// Hashes of trees are nobody's to read.
fn without_hash(line: &str) -> String {
    match line.split_once("produced ") {
        Some((before, rest)) => format!("{before}produced …{}", rest.get(8..).unwrap_or_default()),
        None => line.to_owned(),
    }
}

#[test]
fn a_fixer_that_deletes_the_tests_is_stopped_and_nothing_of_it_is_committed() {
    let project = Project::fixed_by(CHEATS, "");
    project.begin(&[]);
    let ran = project.run(&["run"]).ended_with(2);
    ran.prints("calc: blocked: tests or configuration were tampered with — you decide");
    for test in ["test_adds", "test_greatest"] {
        ran.prints(&format!("the test “{test}” is removed"));
    }
    assert!(
        ran.out.contains("| -test_adds() {"),
        "the diff is shown: {}",
        ran.out
    );
    assert_eq!(project.git(&["log", "--format=%s", "main"]), "The project");
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    assert_eq!(
        project.status()["blocked"],
        json!({ "trigger": "tampering", "also": [] })
    );

    // A person may take it nevertheless.
    let ran = project
        .run(&["resume", "--accept", "tampering"])
        .ended_with(0);
    ran.prints("completed after 2 iterations");
    assert_eq!(
        project.git(&["log", "-1", "--format=%s", "main"]),
        project.status()["fixes"][0]["subject"]
    );
    assert!(!project.read("tests/test_calc.sh").contains("test_adds"));
}

/// The failing test is written anew. The tests as they were pass
/// too, so the edit is not why it passes.
#[test]
fn a_repair_that_passes_the_tests_as_they_were_may_write_them_anew() {
    let rewrites = r#"cat > /dev/null
sed -i 's/sum=1/sum=0/' calc.sh
sed -i 's/^test_adds().*/test_adds() { wanted=6; check "adds all numbers" "$wanted" "$(total 1 2 3)"; }/' tests/test_calc.sh
"#;
    let project = Project::fixed_by(rewrites, "");
    let of_the_sum = project
        .read("tests/test_calc.sh")
        .replace("test_first\ntest_greatest\n", "");
    project.write("tests/test_calc.sh", &of_the_sum);
    project.commit("The sum alone");
    project.begin(&[]);
    let ran = project.run(&["run"]).ended_with(0);
    ran.notes("The fixer changed tests, or what decides which run: the checks run with them as they were.");
    ran.prints("calc: completed after 2 iterations");
    assert!(project.read("tests/test_calc.sh").contains("wanted=6"));
}

/// Nothing in the tests is weakened that can be read, and yet they test another program.
#[test]
fn a_repair_without_which_the_tests_as_they_were_fail_is_refused() {
    let stands_in = "cat > /dev/null\nprintf 'total() { echo 6; }\\ngreatest() { [ \"$1\" = 7 ] && echo 7 || echo 9; }\\n' > tests/better.sh\n\
                     sed -i 's|^\\. ./calc.sh|&\\n. tests/better.sh|' tests/test_calc.sh\n";
    let project = Project::fixed_by(stands_in, "");
    project.begin(&[]);
    let ran = project.run(&["run"]).ended_with(2);
    ran.prints("fail with the file as it was before");
    assert_eq!(project.git(&["log", "--format=%s", "main"]), "The project");
    assert_eq!(project.git(&["worktree", "list"]).lines().count(), 1);
}

/// A loop with these checks in the place of `unit`, whose fixer's edits are refused.
fn refused(project: &Project, checks: &str) -> Ran {
    let configuration = project.read(".github/loopgate.yml");
    let unit = "unit: { kind: test, run: sh tests/test_calc.sh }";
    assert!(configuration.contains(unit));
    project.write(".github/loopgate.yml", &configuration.replace(unit, checks));
    project.commit("Other checks");
    project.begin(&[]);
    project.run(&["run"]).ended_with(2)
}

/// A program of our own that names no test, and needs a build, which the worktree must have as well.
#[test]
fn unnamed_failures_return() {
    let edits = "cat > /dev/null\nsed -i 's/6/7/' tests/test_calc.c\n";
    let project = Project::fixed_by(edits, "");
    let test = "grep -q 'total == 7' built || { echo \"test_calc: test_calc.c:14: main: Assertion \\`total == 6' failed.\"; exit 1; }\n";
    project.write("tests/test_calc.c", "total == 6\n");
    project.write("check.sh", test);
    let checks = "build: { kind: build, run: cp tests/test_calc.c built }\n    unit: { kind: test, needs: [build], run: sh check.sh }";
    project.write(".gitignore", "built\n");
    let ran = refused(&project, checks);
    ran.prints("tests/test_calc.c: the checks fail with the file as it was before");
}

/// Whether a linter's settings are why the linter passes is seen by the linter, not by the tests.
#[test]
fn a_rule_that_is_switched_off_is_refused() {
    let project = Project::fixed_by("cat > /dev/null\necho 'F401: off' > .lintrc\n", "");
    project.write(
        "lint.sh",
        "grep -q off .lintrc || { echo 'calc.py:1:8: F401 `os` imported but unused'; exit 1; }\n",
    );
    project.write(".lintrc", "F401: on\n");
    let checks = "lint: { kind: lint, run: sh lint.sh }\n    unit: { kind: test, run: \"true\" }";
    let ran = refused(&project, checks);
    ran.prints(".lintrc: the checks fail with the file as it was before");
}

#[test]
fn what_a_refused_fixer_staged_does_not_wait_for_the_next_commit() {
    let project = Project::fixed_by(
        "git rm -q tests/test_calc.sh; echo 'true' > other.sh; git add other.sh\n",
        "",
    );
    project.begin(&[]);
    project.run(&["run"]).ended_with(2);
    assert_eq!(project.status()["blocked"]["trigger"], json!("tampering"));
    assert_eq!(project.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_fixer_that_commits_by_itself_is_judged_all_the_same() {
    let commit = "git -c user.name=f -c user.email=f@x commit -qam 'my own words'\n";
    let project = Project::fixed_by(&format!("{REPAIRS}{commit}"), "");
    project.begin(&[]);
    let ran = project.run(&["run"]).ended_with(0);
    ran.notes("The fixer committed by itself, up to ");
    assert_eq!(
        project.git(&["log", "--format=%s", "main"]),
        "fix(calc): compare with every number\nfix(calc): begin the sum at 0\nThe project"
    );

    let project = Project::fixed_by(&format!("{CHEATS}git checkout -qb theirs\n{commit}"), "");
    project.begin(&[]);
    let ran = project.run(&["run"]).ended_with(2);
    ran.notes("The fixer checked out theirs: HEAD is back where the loop works.");
    assert_eq!(project.status()["blocked"]["trigger"], json!("tampering"));
    assert_eq!(project.git(&["symbolic-ref", "--short", "HEAD"]), "main");
    assert_eq!(project.git(&["log", "--format=%s", "main"]), "The project");
    assert_eq!(project.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_fixer_that_deletes_the_record_of_the_loop_changes_nothing_of_it() {
    let forget = "git update-ref -d refs/loopgate/task/calc; rm -rf .git/loopgate\n";
    let project = Project::fixed_by(&format!("{REPAIRS}{forget}"), "  budget: { attempts: 1 }\n");
    project.begin(&[]);
    let ran = project.run(&["run"]).ended_with(2);
    ran.notes("The fixer changed refs/loopgate/task/calc, where this loop is kept");
    let status = project.status();
    assert_eq!(
        (&status["blocked"]["trigger"], &status["iteration"]),
        (&json!("budget_exhausted"), &json!(2))
    );
    assert_eq!(
        project
            .history()
            .iter()
            .filter(|(_, _, event)| event == "iteration_advanced")
            .count(),
        1
    );
}

#[test]
fn a_loop_goes_on_where_it_began() {
    let project = Project::fixed_by(REPAIRS, "");
    project.begin(&[]);
    project.git(&["checkout", "-qb", "other"]);
    for command in ["run", "next", "resume"] {
        let refused = project.run(&[command]).ended_with(65);
        refused.notes("works on main, and other is checked out here: `git switch main`");
    }
    project.git(&["checkout", "-q", "main"]);
    project.run(&["run"]).ended_with(0);
}

#[test]
fn a_bug_that_a_test_shows_already_needs_no_further_test() {
    // The failing tests were there before the loop; the fix is all that is missing.
    let project = Project::fixed_by(REPAIRS, "");
    project
        .run(&[
            "new", "fix calc", "--alias", "calc", "--type", "bug_fix", "--yes",
        ])
        .ended_with(0);
    let ran = project.run(&["run"]).ended_with(0);
    ran.prints("calc: completed after 3 iterations: every threshold is reached");
}

#[test]
fn a_fixer_that_edits_the_configuration_is_stopped() {
    let project = Project::fixed_by(
        "echo '# easier' >> .github/loopgate.yml; sed -i 's/sum=1/sum=0/' calc.sh\n",
        "",
    );
    project.begin(&[]);
    let ran = project.run(&["run"]).ended_with(2);
    ran.prints(".github/loopgate.yml is not for a fixer to edit");
    assert_eq!(project.status()["blocked"]["trigger"], json!("tampering"));
    assert!(
        project.read("calc.sh").contains("sum=1"),
        "nothing of it stays"
    );
}

#[test]
fn a_fixer_that_does_nothing_calls_a_person() {
    let project = Project::fixed_by("echo '{\"description\": \"I see nothing wrong\"}'\n", "");
    project.begin(&[]);
    let ran = project.run(&["run"]).ended_with(2);
    assert_eq!(
        project.status()["blocked"],
        json!({ "trigger": "ambiguous_requirement", "also": ["no_change"] })
    );
    ran.prints("The fixer ended without changing a file. Its description: “I see nothing wrong”");
    assert_eq!(project.git(&["log", "--format=%s", "main"]), "The project");
}

#[test]
fn a_fixer_that_never_ends_is_ended() {
    let endless = "echo half >> calc.sh; sleep 600\n";
    for (settings, cause) in [
        ("  timeout: 1s\n", "timeout_exceeded"),
        ("  budget: { wall_time: 1s }\n", "budget_exhausted"),
    ] {
        let project = Project::fixed_by(endless, settings);
        project.begin(&[]);
        let ran = project.run(&["run"]).ended_with(2);
        assert_eq!(
            project.status()["blocked"]["trigger"],
            json!(cause),
            "{}",
            ran.out
        );
        assert_eq!(
            project.git(&["status", "--porcelain"]),
            "",
            "half-made edits do not stay"
        );
        let aside = project.git(&["show", "--format=%s", "refs/loopgate/aside/calc"]);
        assert!(aside.contains("+half"), "and are not lost: {aside}");
    }
}

#[test]
fn a_fixer_that_never_gets_it_right_is_bounded() {
    // Another line each time, and the same failures.
    let project = Project::fixed_by("echo \"# try $LOOPGATE_ATTEMPT\" >> calc.sh\n", "");
    project.begin(&[]);
    project.run(&["run"]).ended_with(2);
    assert_eq!(project.status()["blocked"]["trigger"], json!("same_error"));

    let project = Project::fixed_by("echo \"# try $LOOPGATE_ATTEMPT\" >> calc.sh\n", "");
    project.begin(&["--max-iterations", "2"]);
    let ran = project.run(&["run"]).ended_with(1);
    let status = project.status();
    assert_eq!(
        (&status["status"], &status["stop"]["reason"]),
        (&json!("stopped"), &json!("iteration_limit"))
    );
    assert_eq!(
        status["distance_to_success"],
        json!({ "threshold": 0.8, "score": 0.0, "gap": 0.8, "failed_fail_rules": 1, "blocking_rule_ids": ["unit"],
                "passed_rules": 0, "total_rules": 1 })
    );
    ran.prints("Distance to success");
    let again = project.run(&["resume", "calc"]).ended_with(1);
    again.prints("is over");
    again.prints("loopgate loop new");
}

#[test]
fn a_fixer_that_fails_twice_ends_the_loop_with_a_phase_error() {
    let project = Project::fixed_by("echo no key >&2; exit 7\n", "");
    project.begin(&[]);
    let ran = project.run(&["run"]).ended_with(1);
    let status = project.status();
    assert_eq!(
        (&status["status"], &status["stop"]["reason"]),
        (&json!("failed"), &json!("phase_error"))
    );
    ran.prints("the fixer ended with exit code 7; it printed “no key”");
    let events = project
        .history()
        .into_iter()
        .filter(|(_, _, event)| event == "phase_error")
        .count();
    assert_eq!(events, 2, "tried once more with the same inputs");
    let again = project.run(&["resume", "calc"]).ended_with(1);
    assert!(
        again.out.contains("exit code 7"),
        "the last phase_error is told: {}",
        again.out
    );
}

#[test]
fn spending_ends_where_the_budget_does() {
    for budget in ["attempts: 1", "cost_usd: 0.2"] {
        let project = Project::fixed_by(REPAIRS, &format!("  budget: {{ {budget} }}\n"));
        project.begin(&[]);
        project.run(&["run"]).ended_with(2);
        assert_eq!(
            project.status()["blocked"]["trigger"],
            json!("budget_exhausted"),
            "{budget}"
        );
        assert_eq!(project.status()["spent"]["calls"], json!(1), "{budget}");
    }
}

#[test]
fn without_a_fixer_the_author_mends_and_the_loop_goes_on() {
    let project = Project::with("", "");
    project.begin(&[]);
    let ran = project.run(&["run"]).ended_with(1);
    ran.prints("It is yours to fix:\n  - unit: ");
    let ran = project.run(&["run"]).ended_with(1);
    assert_eq!(
        project.status()["iteration"],
        json!(1),
        "looking again costs nothing: {}",
        ran.out
    );
    // One fix uncommitted, the other committed.
    project.write(
        "calc.sh",
        &project.read("calc.sh").replace("sum=1", "sum=0"),
    );
    project.run(&["run"]).ended_with(1);
    assert_eq!(
        project.status()["fixes"][0]["subject"],
        json!("uncommitted changes")
    );
    let greatest =
        "most=$1; for n in \"$@\"; do [ \"$n\" -gt \"$most\" ] && most=$n; done; echo \"$most\"";
    project.write(
        "calc.sh",
        &project.read("calc.sh").replace("echo \"$1\"", greatest),
    );
    project.commit("Find the greatest");
    let ran = project.run(&["run"]).ended_with(0);
    ran.prints("Find the greatest");
    assert_eq!(project.status()["fixes"][1]["by"], json!("person"));
}

#[test]
fn a_fixer_gets_feedback_but_no_tokens_and_never_runs_on_a_fork() {
    let project = Project::fixed_by(
        "cat > ../stdin.json; env > ../environment; sed -i 's/sum=1/sum=0/' calc.sh\n",
        "",
    );
    project.begin(&[]);
    let next = || {
        let mut command = project.command(&["next"]);
        command
            .env("GITHUB_TOKEN", "secret-1")
            .env("ACTIONS_RUNTIME_TOKEN", "secret-2")
            .env("OWN", "mine");
        Ran::of(command.output().unwrap()).ended_with(0)
    };
    // PLAN, PRODUCE_PREPARE, EVALUATE, CRITIQUE, REFINE.
    for _ in 0..5 {
        next();
    }
    let environment = std::fs::read_to_string(project.beside("environment")).unwrap();
    assert!(
        environment.contains("OWN=mine") && !environment.contains("secret"),
        "{environment}"
    );
    let told: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(project.beside("stdin.json")).unwrap())
            .unwrap();
    assert_eq!(told["schema"], json!("loopgate.feedback/v1"));
    assert_eq!(
        (&told["attempt"], &told["task"]),
        (&json!(1), &json!("repair calc"))
    );
    assert!(
        told["failures"]
            .as_array()
            .is_some_and(|failures| !failures.is_empty()),
        "{told}"
    );
    assert_eq!(
        (&told["who_acts"]["kind"], &told["failures"][0]["expected"]),
        (&json!("fixer"), &json!("6"))
    );
    assert_eq!(
        told["links"]["report"],
        json!("git show refs/loopgate/task/calc:attempts/001.json")
    );
    assert!(
        told["critique"][0]
            .as_str()
            .is_some_and(|line| line.starts_with("unit: ")),
        "{told}"
    );

    let fork = Project::fixed_by(REPAIRS, "");
    fork.begin(&[]);
    let event = r#"{"pull_request": {"number": 3, "head": {"sha": "0123456789abcdef0123456789abcdef01234567",
                    "repo": {"full_name": "mallory/calc"}}}}"#;
    std::fs::write(fork.beside("event.json"), event).unwrap();
    let mut command = fork.command(&["run"]);
    command
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_REPOSITORY", "acme/calc");
    command.env("GITHUB_EVENT_PATH", fork.beside("event.json"));
    let ran = Ran::of(command.output().unwrap()).ended_with(1);
    ran.notes("a fixer never runs on a pull request from a fork");
    assert_eq!(fork.git(&["log", "--format=%s", "main"]), "The project");
}

#[test]
fn edits_of_the_author_are_never_swept_into_a_fix() {
    let project = Project::fixed_by(REPAIRS, "");
    project.begin(&[]);
    project.write("calc.sh", &format!("# mine\n{}", project.read("calc.sh")));
    let ran = project.run(&["run"]).ended_with(65);
    ran.notes("calc.sh has changes that are not committed");
    project.git(&["checkout", "-q", "calc.sh"]);
    project.write("notes.txt", "untracked, and somebody's own");
    project.run(&["run"]).ended_with(0);
    assert_eq!(project.git(&["status", "--porcelain"]), "?? notes.txt");
}

#[test]
fn a_check_that_edits_what_it_evaluates_ends_the_loop() {
    let project = Project::fixed_by(REPAIRS, "");
    project.begin(&["--check", "unit=echo '# formatted' >> calc.sh; false"]);
    let ran = project.run(&["run"]);
    assert!(ran.err.contains("the checks edited calc.sh"), "{ran:?}");
    assert_ne!(project.status()["status"], json!("completed"));
}

#[test]
fn a_task_command_produces_a_document() {
    let project = Project::with("", "");
    project.script(
        "write-guide",
        "[ -s guide.md ] || echo \"# How to $LOOPGATE_TASK\" > guide.md\n",
    );
    project.script("fixer", "cat > /dev/null\necho 'It adds.' >> guide.md\n");
    let check = [
        "--check",
        "docs=grep -q adds guide.md",
        "--fix-command",
        "../fixer",
    ];
    project.begin(
        &[
            &["--produce", "../write-guide", "--document", "guide.md"],
            &check[..],
        ]
        .concat(),
    );
    let ran = project.run(&["run"]).ended_with(0);
    // What the task is measured by must pass, whatever kind of check its name says.
    ran.prints("Failed: docs");
    ran.prints("completed after 2 iterations");
    let document = "guide.md:\n\n# How to repair calc\nIt adds.\n";
    assert!(ran.out.ends_with(document), "{}", ran.out);
    assert!(
        project
            .run(&["status", "calc", "--full"])
            .out
            .ends_with(document)
    );
    assert_eq!(
        project.git(&["show", "refs/loopgate/task/calc:artifact.md"]),
        "# How to repair calc\nIt adds."
    );
    assert_eq!(
        project.git(&["log", "-1", "--skip=1", "--format=%s", "main"]),
        "refactor: repair calc"
    );
}

/// Both bugs fixed by hand: what is left is a matter of style that the fixer never gets right.
#[test]
fn a_score_that_stands_still_stops_the_loop() {
    let rule = "evaluate:\n  rules:\n    - { id: licensed, severity: warn, weight: 6, phase: A, \
                check: { must_appear: { pattern: SPDX, paths: [calc.sh] } } }\n";
    let fixer = format!("fixer:\n  kind: command\n  command: ../fixer\n{rule}");
    let project = Project::with("echo \"# try $LOOPGATE_ATTEMPT\" >> calc.sh\n", &fixer);
    project.write("calc.sh", "total() {\n    sum=0\n    for n in \"$@\"; do sum=$((sum + n)); done\n    echo \"$sum\"\n}\n\
        greatest() {\n    most=$1\n    for n in \"$@\"; do [ \"$n\" -gt \"$most\" ] && most=$n; done\n    echo \"$most\"\n}\n");
    project.commit("Mend both");
    project.begin(&[]);
    let ran = project.run(&["run"]).ended_with(1);
    let status = project.status();
    assert_eq!(
        (&status["status"], &status["stop"]["reason"]),
        (&json!("stopped"), &json!("stagnation")),
        "{}",
        ran.out
    );
    assert_eq!(status["iteration"], json!(3), "twice in a row takes three");
    ran.prints("Distance to success");
}

#[test]
fn what_fails_for_reasons_outside_the_code_is_not_for_the_fixer() {
    let settings = "loop: { external_retry: { times: 0 } }\n";
    let project = Project::fixed_by(REPAIRS, settings);
    let check = "[ -e ../back ] || { echo 'Error: connect ECONNREFUSED 10.0.0.3:5432'; exit 1; }; sh tests/test_calc.sh";
    project.begin(&["--check", &format!("unit={check}")]);
    let ran = project.run(&["run"]).ended_with(2);
    let status = project.status();
    assert_eq!(
        status["blocked"]["trigger"],
        json!("external_dependency_down"),
        "{}",
        ran.out
    );
    assert_eq!(
        (&status["iteration"], &status["spent"]["calls"]),
        (&json!(1), &json!(0)),
        "it cost nothing"
    );
    ran.prints("unit failed for reasons outside the code");
    std::fs::write(project.beside("back"), "").unwrap();
    project.run(&["resume"]).ended_with(0);
}

/// Nothing of the tests is touched: the code says itself that they passed, and leaves before they begin.
#[test]
fn a_fixer_that_makes_tests_disappear_is_stopped_although_they_pass() {
    let cheat = "sed -i '1i echo \"ok 1 - adds all numbers\"; echo 1..1; exit 0' calc.sh\n";
    let project = Project::fixed_by(cheat, "");
    project.begin(&[]);
    let ran = project.run(&["run"]).ended_with(2);
    assert_eq!(
        project.status()["blocked"]["trigger"],
        json!("tampering"),
        "{}",
        ran.out
    );
    ran.prints("fewer tests run now: 3 before, 1 after");
}

/// Says that the failing test is wrong.
const DISPUTES: &str = "\
echo edited >> calc.sh
id=$(sed -n 's/.*\"id\": \"\\([0-9a-f]*\\)\".*/\\1/p' \"$LOOPGATE_FEEDBACK\" | head -n 1)
echo \"{\\\"outcome\\\": \\\"dispute\\\", \\\"failure\\\": \\\"$id\\\", \\\"reason\\\": \\\"the sum begins at 1\\\"}\"
";

#[test]
fn a_fixer_that_disputes_pauses_the_loop_until_a_person_settles_it() {
    let project = Project::fixed_by(DISPUTES, "");
    project.begin(&[]);
    let ran = project.run(&["run"]).ended_with(2);
    ran.prints("calc: blocked: a failure is disputed");
    ran.prints("fixer says that the test is wrong: the sum begins at 1. Who is right?");
    ran.prints("which expects `6`: write `loopgate loop resume --settle test`");
    assert_eq!(
        project.git(&["status", "--porcelain"]),
        "",
        "what it edited beside it is put aside"
    );
    assert_eq!(project.git(&["log", "--format=%s", "main"]), "The project");
    let status = project.status();
    assert_eq!(
        (&status["blocked"]["trigger"], &status["iteration"]),
        (&json!("disputed"), &json!(1))
    );

    let ran = project.run(&["resume"]).ended_with(64);
    ran.notes("a failure is disputed: say who is right with --settle test");
    project
        .run(&["resume", "--settle", "somebody"])
        .ended_with(64);
    project.script("fixer", REPAIRS);
    let ran = project.run(&["resume", "--settle", "test"]).ended_with(0);
    ran.prints("calc: completed after 3 iterations");
    let events: Vec<String> = project
        .history()
        .into_iter()
        .map(|(_, _, event)| event)
        .collect();
    assert_eq!(
        events.iter().filter(|event| *event == "disputed").count(),
        2,
        "{events:?}"
    );

    // The same is not disputed twice.
    let project = Project::fixed_by(DISPUTES, "");
    project.begin(&[]);
    project.run(&["run"]).ended_with(2);
    let ran = project.run(&["resume", "--settle", "test"]).ended_with(1);
    ran.notes("was settled before: alice said that the test is right");

    // What a workflow's loop knows ends with its job: the dispute goes to the pull request in a commit.
    let project = Project::fixed_by(DISPUTES, "");
    project.begin(&[]);
    let event = project.beside("event.json");
    std::fs::write(&event, "{}").unwrap();
    let mut run = project.command(&["run"]);
    run.env("GITHUB_ACTIONS", "true")
        .env("GITHUB_EVENT_PATH", &event);
    Ran::of(run.output().unwrap()).ended_with(2);
    let log = project.git(&["log", "--format=%s %b", "main"]);
    let is_told = log.starts_with("Dispute a failure Loopgate-Dispute: ");
    assert!(
        is_told && log.contains(" test_wrong the sum begins at 1"),
        "{log}"
    );
    assert_eq!(project.git(&["diff", "main~1", "main"]), "");
}

#[test]
fn the_person_at_the_terminal_may_dispute_and_settle() {
    let project = Project::with("", "");
    let dispute = |id: &str| project.loopgate(&["dispute", id, "--reason", "7 is right"]);
    let no_loop = Ran::of(dispute("3fa9c01b").output().unwrap()).ended_with(0);
    assert!(
        no_loop
            .out
            .ends_with("\nLoopgate-Dispute: 3fa9c01b test_wrong 7 is right\n"),
        "{}",
        no_loop.out
    );
    project.begin(&[]);
    project.run(&["run"]).ended_with(1);
    let refused = Ran::of(dispute("3fa9c01b").output().unwrap()).ended_with(65);
    refused.notes("there is no failure");
    let kept: serde_json::Value =
        serde_json::from_str(&project.git(&["show", "refs/loopgate/task/calc:attempts/001.json"]))
            .unwrap();
    let fingerprint = kept["checks"][0]["failures"][0]["fingerprint"]
        .as_str()
        .unwrap();
    Ran::of(dispute(&fingerprint[..8]).output().unwrap()).ended_with(0);
    let ran = project.run(&["run"]).ended_with(2);
    ran.prints("alice says that the test is wrong: 7 is right");
    let ran = project
        .run(&["resume", "--settle", "neither the sum begins at 2"])
        .ended_with(1);
    assert!(
        ran.err.contains("It is yours to fix") || ran.out.contains("It is yours to fix"),
        "{ran:?}"
    );
}

#[test]
fn what_another_job_committed_is_judged_before_it_is_pushed() {
    let project = Project::with("", "");
    let before = project.git(&["rev-parse", "HEAD"]);
    let judged = |change: &dyn Fn(&Project)| {
        project.git(&["reset", "-q", "--hard", &before]);
        change(&project);
        project.commit("A fix");
        project.run(&["judge", &before, &project.git(&["rev-parse", "HEAD"])])
    };
    judged(&|project| project.write("calc.sh", "total() { echo 6; }\n")).ended_with(0);
    let refused =
        judged(&|project| project.write(".github/workflows/x.yml", "on: push\n")).ended_with(2);
    refused.notes(".github/workflows/x.yml is not for a fixer to edit");
    let weaker = |project: &Project| {
        let tests = project
            .read("tests/test_calc.sh")
            .replace("test_adds\n", "");
        project.write(
            "tests/test_calc.sh",
            &tests.replace(
                "test_adds() { check 'adds all numbers' 6 \"$(total 1 2 3)\"; }\n",
                "",
            ),
        );
    };
    judged(&weaker).ended_with(2);
    // Nothing runs here that could show that the checks pass without them.
    for (path, text) in [
        ("GNUmakefile", "test:\n\ttrue\n"),
        (".npmrc", "script-shell=/bin/true\n"),
        ("pytest.py", "print('12 passed')\n"),
        (
            ".cargo/config.toml",
            "[target.x86_64-unknown-linux-gnu]\nrunner = \"true\"\n",
        ),
    ] {
        let refused = judged(&|project| project.write(path, text)).ended_with(2);
        refused.notes(path);
    }
    judged(&|project| project.write("parse.sh", "parse() { cat; }\n")).ended_with(0);
}
