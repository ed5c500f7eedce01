//! Keys nobody knows, words that mean nothing, numbers out of their range.

use insta::assert_snapshot;

use crate::told::told;

#[test]
fn unknown_keys_are_told_with_the_nearest_right_one() {
    assert_snapshot!(told("
        mods: hybrid
        loop: { max_atempts: 2 }
    "), @r"
    unknown key `mods`
     --> .github/loopgate.yml:1:1
      |
    1 | mods: hybrid
      | ^^^^
      = did you mean `mode`?

    unknown key `max_atempts` in `loop`
     --> .github/loopgate.yml:2:9
      |
    2 | loop: { max_atempts: 2 }
      |         ^^^^^^^^^^^
      = did you mean `max_attempts`?
    ");
    assert_snapshot!(told("
        gates:
          security:
            aproach: [comment]
            colour: red
    "), @r"
    unknown key `aproach` in `gates.security`
     --> .github/loopgate.yml:3:5
      |
    3 |     aproach: [comment]
      |     ^^^^^^^
      = did you mean `approvers`?

    unknown key `colour` in `gates.security`
     --> .github/loopgate.yml:4:5
      |
    4 |     colour: red
      |     ^^^^^^
      = known here: `when`, `rules`, `blocks`, `approvers`, `approve_by`, `invalidate_on_push`, `allow_author`, `allow_contributors`, `allow_coauthors`, `allow_pusher`, `allow_requester`, `ignore_update_merges`, `allow_bots`, `checklist`, `request`, `label`, `remind_after`, `escalate_after`
    ");
    assert_snapshot!(told("
        labls:
        loop:
          max_attempts:
          sameerror:
    "), @r"
    unknown key `labls`
     --> .github/loopgate.yml:1:1
      |
    1 | labls:
      | ^^^^^
      = did you mean `labels`?

    unknown key `sameerror` in `loop`
     --> .github/loopgate.yml:4:3
      |
    4 |   sameerror:
      |   ^^^^^^^^^
      = did you mean `same_error`?
    ");
    assert_snapshot!(told("
        loops:
          max_attempts: 2
        max_attempts: 3
    "), @r"
    unknown key `loops`
     --> .github/loopgate.yml:1:1
      |
    1 | loops:
      | ^^^^^
      = did you mean `loop`?

    unknown key `max_attempts`
     --> .github/loopgate.yml:3:1
      |
    3 | max_attempts: 3
      | ^^^^^^^^^^^^
      = did you mean `loop.max_attempts`?
    ");
}

#[test]
fn words_that_mean_nothing() {
    assert_snapshot!(told("
        mode: hybird
        labels: none
        loop:
          backoff: expo
    "), @r"
    `mode`: unknown value `hybird`
     --> .github/loopgate.yml:1:7
      |
    1 | mode: hybird
      |       ^^^^^^
      = did you mean `hybrid`?

    `labels`: expected `off` or keys with values, found the text `none`
     --> .github/loopgate.yml:2:9
      |
    2 | labels: none
      |         ^^^^

    `loop.backoff`: unknown value `expo`
     --> .github/loopgate.yml:4:12
      |
    4 |   backoff: expo
      |            ^^^^
      = did you mean `exponential`?
    ");
    assert_snapshot!(told("escalation: { channels: [slak], include_in_report: [everything], triggers: { same_errors: {} } }"), @r"
    `escalation.channels[0]`: unknown value `slak`
     --> .github/loopgate.yml:1:26
      |
    1 | escalation: { channels: [slak], include_in_report: [everything], triggers: { same_errors: {} } }
      |                          ^^^^
      = did you mean `slack`?

    `escalation.include_in_report[0]`: unknown value `everything`
     --> .github/loopgate.yml:1:53
      |
    1 | escalation: { channels: [slak], include_in_report: [everything], triggers: { same_errors: {} } }
      |                                                     ^^^^^^^^^^
      = known here: `original_code`, `all_test_results`, `failure_analyses`, `fix_attempts`, `debug_memory_summary`, `stack_traces`

    unknown key `same_errors` in `escalation.triggers`
     --> .github/loopgate.yml:1:78
      |
    1 | escalation: { channels: [slak], include_in_report: [everything], triggers: { same_errors: {} } }
      |                                                                              ^^^^^^^^^^^
      = did you mean `same_error`?
    ");
    assert_snapshot!(told("gates: { deploy: of }"), @r"
    `gates.deploy`: expected `off` or keys with values, found the text `of`
     --> .github/loopgate.yml:1:18
      |
    1 | gates: { deploy: of }
      |                  ^^
    ");
    assert_snapshot!(told("gates: { security: false }"), @r"
    `gates.security`: expected `off` or keys with values, found `false`
     --> .github/loopgate.yml:1:20
      |
    1 | gates: { security: false }
      |                    ^^^^^
      = write `off`
    ");
}

#[test]
fn values_of_the_wrong_sort() {
    assert_snapshot!(told("
        mode: [hybrid]
        verify: cargo test
        loop: { abort_on_regression: yes, max_attempts: three }
    "), @r"
    `mode`: expected one of `autonomous`, `hybrid`, `supervised`, found a list
     --> .github/loopgate.yml:1:7
      |
    1 | mode: [hybrid]
      |       ^^^^^^^

    `verify`: expected keys with values, found the text `cargo test`
     --> .github/loopgate.yml:2:9
      |
    2 | verify: cargo test
      |         ^^^^^

    `loop.abort_on_regression`: expected `true` or `false`, found the text `yes`
     --> .github/loopgate.yml:3:30
      |
    3 | loop: { abort_on_regression: yes, max_attempts: three }
      |                              ^^^
      = write `true`

    `loop.max_attempts`: expected a whole number from 1 to 10, found the text `three`
     --> .github/loopgate.yml:3:49
      |
    3 | loop: { abort_on_regression: yes, max_attempts: three }
      |                                                 ^^^^^
    ");
    assert_snapshot!(told("verify: { checks: { unit: { kind: test, run: 5 }, lint: [lint] } }"), @r"
    `verify.checks.unit.run`: expected text, found the number 5
     --> .github/loopgate.yml:1:46
      |
    1 | verify: { checks: { unit: { kind: test, run: 5 }, lint: [lint] } }
      |                                              ^
      = put it in quotes

    `verify.checks.lint`: expected keys with values, found a list
     --> .github/loopgate.yml:1:57
      |
    1 | verify: { checks: { unit: { kind: test, run: 5 }, lint: [lint] } }
      |                                                         ^^^^^
    ");
    assert_snapshot!(told("just a sentence"), @r"
    a configuration is keys with values
     --> .github/loopgate.yml:1:1
      |
    1 | just a sentence
      | ^^^^
      = begin with `version: 1`
    ");
    assert_snapshot!(told("
        - a
        - list
    "), @r"
    a configuration is keys with values
     --> .github/loopgate.yml:1:1
      |
    1 | - a
      | ^
      = begin with `version: 1`
    ");
}

#[test]
fn numbers_out_of_their_range() {
    assert_snapshot!(told("
        version: 2
        loop: { max_attempts: 11, same_error: 0, total_failures: -1 }
    "), @r"
    `version`: expected `1`, found the number 2
     --> .github/loopgate.yml:1:10
      |
    1 | version: 2
      |          ^

    `loop.max_attempts`: expected a whole number from 1 to 10, found the number 11
     --> .github/loopgate.yml:2:23
      |
    2 | loop: { max_attempts: 11, same_error: 0, total_failures: -1 }
      |                       ^^

    `loop.same_error`: expected a whole number from 1 to 10, found the number 0
     --> .github/loopgate.yml:2:39
      |
    2 | loop: { max_attempts: 11, same_error: 0, total_failures: -1 }
      |                                       ^

    `loop.total_failures`: expected a whole number from 1 to 100, found the number -1
     --> .github/loopgate.yml:2:58
      |
    2 | loop: { max_attempts: 11, same_error: 0, total_failures: -1 }
      |                                                          ^^
    ");
    assert_snapshot!(told("
        evaluate: { phases: { A: 80, B: 1.01 } }
        coverage: { bug_fix: 101, refactor: -2, api_endpoint: most }
    "), @r"
    `evaluate.phases.A`: expected a number from 0 to 1, found the number 80
     --> .github/loopgate.yml:1:26
      |
    1 | evaluate: { phases: { A: 80, B: 1.01 } }
      |                          ^^

    `evaluate.phases.B`: expected a number from 0 to 1, found the number 1.01
     --> .github/loopgate.yml:1:33
      |
    1 | evaluate: { phases: { A: 80, B: 1.01 } }
      |                                 ^^^^

    `coverage.bug_fix`: expected a percentage from 0 to 100, or `match`, found the number 101
     --> .github/loopgate.yml:2:22
      |
    2 | coverage: { bug_fix: 101, refactor: -2, api_endpoint: most }
      |                      ^^^

    `coverage.refactor`: expected a percentage from 0 to 100, or `match`, found the number -2
     --> .github/loopgate.yml:2:37
      |
    2 | coverage: { bug_fix: 101, refactor: -2, api_endpoint: most }
      |                                     ^^

    `coverage.api_endpoint`: expected a percentage from 0 to 100, or `match`, found the text `most`
     --> .github/loopgate.yml:2:55
      |
    2 | coverage: { bug_fix: 101, refactor: -2, api_endpoint: most }
      |                                                       ^^^^
    ");
    assert_snapshot!(told("
        loop:
          progress: {weight: .nan}
          max_iterations: 99999999999999999999
          feedback_max_length: 1.5
    "), @r"
    this number is too large
     --> .github/loopgate.yml:3:19
      |
    3 |   max_iterations: 99999999999999999999
      |                   ^^^^^^^^^^^^^^^^^^^^
    ");
}

#[test]
fn periods_need_their_unit() {
    assert_snapshot!(told("loop: { evidence_timeout: 60 }"), @r"
    `loop.evidence_timeout`: expected a period such as `30s`, `60m`, `24h` or `3d` (at most 366d), found the number 60
     --> .github/loopgate.yml:1:27
      |
    1 | loop: { evidence_timeout: 60 }
      |                           ^^
    ");
    assert_snapshot!(told("gates: { security: { remind_after: 1 day, escalate_after: 99999d } }"), @r"
    `gates.security.remind_after`: expected a period such as `30s`, `60m`, `24h` or `3d` (at most 366d), found the text `1 day`
     --> .github/loopgate.yml:1:36
      |
    1 | gates: { security: { remind_after: 1 day, escalate_after: 99999d } }
      |                                    ^

    `gates.security.escalate_after`: expected a period such as `30s`, `60m`, `24h` or `3d` (at most 366d), found the text `99999d`
     --> .github/loopgate.yml:1:59
      |
    1 | gates: { security: { remind_after: 1 day, escalate_after: 99999d } }
      |                                                           ^^^^^^
    ");
    assert_snapshot!(told("gates: { security: { escalate_after: 3h } }"), @r"
    `gates.security.escalate_after`: a person would be called before the approvers are reminded
     --> .github/loopgate.yml:1:38
      |
    1 | gates: { security: { escalate_after: 3h } }
      |                                      ^^
      = `remind_after` (24h unless set) comes before `escalate_after` (72h unless set)
    ");
}

#[test]
fn a_place_for_the_state_is_one_of_three() {
    assert_snapshot!(told("state: { backend: disk }"), @r"
    `state.backend`: unknown value `disk`
     --> .github/loopgate.yml:1:19
      |
    1 | state: { backend: disk }
      |                   ^^^^
      = known here: `ref`, `comment`, `artifact`
    ");
}
