//! Checks that cannot run, and rules that look at nothing.

use insta::assert_snapshot;

use crate::told::told;

#[test]
fn checks_that_cannot_run() {
    assert_snapshot!(told("verify: { checks: { unit: { run: cargo test } } }"), @r"
    `verify.checks.unit` lacks `kind`
     --> .github/loopgate.yml:1:27
      |
    1 | verify: { checks: { unit: { run: cargo test } } }
      |                           ^
    ");
    assert_snapshot!(told("verify: { checks: { unit: { kind: test } } }"), @r"
    `verify.checks.unit`: nothing says where the evidence of this check comes from
     --> .github/loopgate.yml:1:27
      |
    1 | verify: { checks: { unit: { kind: test } } }
      |                           ^
      = add `run:` with a command, or `from:` with an existing check
    ");
    assert_snapshot!(told("verify: { checks: { unit: { kind: test, run: x, from: { check: y } } } }"), @r"
    `verify.checks.unit.from`: a check has either `run` or `from`
     --> .github/loopgate.yml:1:55
      |
    1 | verify: { checks: { unit: { kind: test, run: x, from: { check: y } } } }
      |                                                       ^
      = make two checks of them
    ");
    assert_snapshot!(told("verify: { checks: { scan: { kind: security, from: { check: CodeQL }, timeout: 5m } } }"), @r"
    `verify.checks.scan`: `timeout` belongs to commands, and this check comes from outside
     --> .github/loopgate.yml:1:27
      |
    1 | verify: { checks: { scan: { kind: security, from: { check: CodeQL }, timeout: 5m } } }
      |                           ^
      = remove `timeout`, or give the check a `run:`
    ");
    assert_snapshot!(told("verify: { checks: { Unit: { kind: test, run: x } } }"), @r"
    `verify.checks`: `Unit` is not a check name (lower-case letters, digits, -, _ and / between words, at most 40)
     --> .github/loopgate.yml:1:21
      |
    1 | verify: { checks: { Unit: { kind: test, run: x } } }
      |                     ^^^^
    ");
    assert_snapshot!(told("verify: { checks: { unit: { kind: test, run: ' ', env: { 'A-B': 1, C: 1.5 } } } }"), @r"
    `verify.checks.unit.env`: expected the name of an environment variable (letters, digits and _), found the text `A-B`
     --> .github/loopgate.yml:1:58
      |
    1 | verify: { checks: { unit: { kind: test, run: ' ', env: { 'A-B': 1, C: 1.5 } } } }
      |                                                          ^^^^^

    `verify.checks.unit.env.C`: expected text, found the number 1.5
     --> .github/loopgate.yml:1:71
      |
    1 | verify: { checks: { unit: { kind: test, run: ' ', env: { 'A-B': 1, C: 1.5 } } } }
      |                                                                       ^^^
      = put it in quotes
    ");
    assert_snapshot!(told("
        verify:
          checks:
            unit:
              kind: test
              run: x
              report: [/x.xml, 'a{b']
    "), @r"
    `verify.checks.unit.report[0]`: paths are relative to the root of the repository
     --> .github/loopgate.yml:6:16
      |
    6 |       report: [/x.xml, 'a{b']
      |                ^^^^^^
      = write `x.xml`

    `verify.checks.unit.report[1]`: `a{b` is not a glob: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)
     --> .github/loopgate.yml:6:24
      |
    6 |       report: [/x.xml, 'a{b']
      |                        ^^^^^
    ");
    assert_snapshot!(told("
        verify:
          checks:
            unit:
              kind: test
              run: x
              report: [../x.xml]
              working_directory: ../..
    "), @r"
    `verify.checks.unit.report[0]`: `../x.xml` is not a path inside the repository
     --> .github/loopgate.yml:6:16
      |
    6 |       report: [../x.xml]
      |                ^^^^^^^^

    `verify.checks.unit.working_directory`: `../..` is not a path inside the repository
     --> .github/loopgate.yml:7:26
      |
    7 |       working_directory: ../..
      |                          ^^^^^
    ");
}

#[test]
fn needs_that_lead_nowhere_or_in_circles() {
    assert_snapshot!(told("
        verify:
          checks:
            build: { kind: build, run: x }
            unit: { kind: test, run: x, needs: [biuld] }
    "), @r"
    `verify.checks.unit.needs[0]`: there is no check `biuld`
     --> .github/loopgate.yml:4:41
      |
    4 |     unit: { kind: test, run: x, needs: [biuld] }
      |                                         ^^^^^
      = did you mean `build`?
    ");
    assert_snapshot!(told("
        verify:
          checks:
            a: { kind: build, run: x, needs: c }
            b: { kind: test, run: x, needs: [a] }
            c: { kind: lint, run: x, needs: [a, b] }
            d: { kind: lint, run: x, needs: [d] }
    "), @r"
    `verify.checks.c.needs[0]`: these checks wait for each other: `a` → `c` → `a`
     --> .github/loopgate.yml:5:38
      |
    5 |     c: { kind: lint, run: x, needs: [a, b] }
      |                                      ^
      = remove one of the `needs`

    `verify.checks.d.needs[0]`: these checks wait for each other: `d` → `d`
     --> .github/loopgate.yml:6:38
      |
    6 |     d: { kind: lint, run: x, needs: [d] }
      |                                      ^
      = remove one of the `needs`
    ");
}

#[test]
fn long_timeouts_are_asked_for() {
    assert_snapshot!(told("
        verify:
          checks:
            unit: {kind: test, run: x, timeout: 900}
            b: {kind: build, run: x, timeout: 2s}
    "), @r"
    `verify.checks.unit.timeout`: a timeout is 5 to 600 seconds, not 900
     --> .github/loopgate.yml:3:41
      |
    3 |     unit: {kind: test, run: x, timeout: 900}
      |                                         ^^^
      = allow it with `verify.max_timeout_seconds: 900`

    `verify.checks.b.timeout`: a timeout is 5 to 600 seconds, not 2
     --> .github/loopgate.yml:4:39
      |
    4 |     b: {kind: build, run: x, timeout: 2s}
      |                                       ^^
    ");
    assert_snapshot!(told("verify: { max_timeout_seconds: 1200, checks: { unit: { kind: test, run: x, timeout: 8h } } }"), @r"
    `verify.checks.unit.timeout`: a timeout is 5 to 1200 seconds, not 28800
     --> .github/loopgate.yml:1:85
      |
    1 | verify: { max_timeout_seconds: 1200, checks: { unit: { kind: test, run: x, timeout: 8h } } }
      |                                                                                     ^^
    ");
    assert_snapshot!(told("verify: { max_timeout_seconds: 21601 }"), @r"
    `verify.max_timeout_seconds`: expected a whole number from 600 to 21600, found the number 21601
     --> .github/loopgate.yml:1:32
      |
    1 | verify: { max_timeout_seconds: 21601 }
      |                                ^^^^^
    ");
}

#[test]
fn a_missing_test_check_is_a_warning() {
    assert_snapshot!(told("verify: { checks: { lint: { kind: lint, run: x } } }"), @"
    `verify.checks.lint`: no check has `kind: test`, so nothing shows that tests pass
     --> .github/loopgate.yml:1:27
      |
    1 | verify: { checks: { lint: { kind: lint, run: x } } }
      |                           ^
      = add a check of kind `test`, a command or an existing one
    ");
    assert_eq!(
        told("verify: { checks: { unit: { kind: test, run: x } } }"),
        "",
        "what tests has been built"
    );
}

#[test]
fn rules_without_sense() {
    assert_snapshot!(told("
        evaluate:
          rules:
            - { id: x, severity: fail, check: { passed: unit } }
            - { id: x, severity: high, check: tests_added }
    "), @r"
    `evaluate.rules[1].severity`: unknown value `high`
     --> .github/loopgate.yml:4:26
      |
    4 |     - { id: x, severity: high, check: tests_added }
      |                          ^^^^
      = known here: `info`, `warn`, `fail`

    `evaluate.rules[1].check`: `tests_added` needs a value
     --> .github/loopgate.yml:4:39
      |
    4 |     - { id: x, severity: high, check: tests_added }
      |                                       ^^^^^^^^^^^
      = write it as a key: `tests_added: …`
    ");
    assert_snapshot!(told("
        verify: { checks: { unit: { kind: test, run: x }, b: { kind: build, run: x } } }
        evaluate:
          rules:
            - { id: x, severity: fail, check: { passed: unti } }
            - { id: x, severity: fail, check: { must_appear: { pattern: '(a)' } } }
            - { id: y, severity: info, check: { size: {} } }
    "), @r"
    `evaluate.rules[0].check.passed`: there is no check `unti`
     --> .github/loopgate.yml:4:49
      |
    4 |     - { id: x, severity: fail, check: { passed: unti } }
      |                                                 ^^^^
      = did you mean `unit`?

    `evaluate.rules[1].id`: two rules are called `x`
     --> .github/loopgate.yml:5:13
      |
    5 |     - { id: x, severity: fail, check: { must_appear: { pattern: '(a)' } } }
      |             ^
      = the first is on line 4

    `evaluate.rules[2].id`: the rule's `size` names no limit
     --> .github/loopgate.yml:6:13
      |
    6 |     - { id: y, severity: info, check: { size: {} } }
      |             ^
      = add `max_lines` or `max_files`
    ");
    assert_snapshot!(told("
        evaluate: { rules: [{ id: x, severity: fail, check: { must_appear: { pattern: '(a' } } }] }
    "), @r"
    `evaluate.rules[0].check.must_appear.pattern`: `(a` is not a regular expression: unclosed group
     --> .github/loopgate.yml:1:79
      |
    1 | evaluate: { rules: [{ id: x, severity: fail, check: { must_appear: { pattern: '(a' } } }] }
      |                                                                               ^^^^
    ");
}

#[test]
fn reviewers_that_cannot_be() {
    assert_snapshot!(told("reviewers: [{ app: coderabbitai }, { app: coderabbitai, severity: fail }]"), @r"
    `reviewers[1].app`: there is a check `coderabbitai` already
     --> .github/loopgate.yml:1:43
      |
    1 | reviewers: [{ app: coderabbitai }, { app: coderabbitai, severity: fail }]
      |                                           ^^^^^^^^^^^^
      = name each reviewer once, and the check otherwise
    ");
    assert!(
        told("reviewers: [{ app: greptile, timeout: 10s }]").contains("waited for from 1m to 24h")
    );
    assert!(told("reviewers: [{ app: greptile, at_least: huge }]").contains("critical"));
}
