//! Escalations that reach nobody, fixers that fix nothing, locks of what does not exist.

use insta::assert_snapshot;

use crate::told::{told, told_of};

#[test]
fn escalations_and_fixers_without_sense() {
    assert_snapshot!(told("escalation: { notify: ['al ice'], triggers: { stagnation: { action: senior_agent } } }"), @r"
    `escalation.notify[0]`: expected a login (`alice`), a team (`acme/maintainers`) or the approvers of a gate (`gate:security`), found the text `al ice`
     --> .github/loopgate.yml:1:24
      |
    1 | escalation: { notify: ['al ice'], triggers: { stagnation: { action: senior_agent } } }
      |                        ^^^^^^^^
    ");
    assert_snapshot!(told("escalation: { triggers: { stagnation: { action: senior_agent } }, template: /etc/passwd }"), @r"
    `escalation.triggers.stagnation.action`: there is no senior agent to call
     --> .github/loopgate.yml:1:49
      |
    1 | escalation: { triggers: { stagnation: { action: senior_agent } }, template: /etc/passwd }
      |                                                 ^^^^^^^^^^^^
      = add it as `escalation.senior`

    `escalation.template`: `/etc/passwd` is not a path inside the repository
     --> .github/loopgate.yml:1:77
      |
    1 | escalation: { triggers: { stagnation: { action: senior_agent } }, template: /etc/passwd }
      |                                                                             ^^^^^^^^^^^
    ");
    assert_snapshot!(told("fixer: { kind: command, mention: copilot }"), @r"
    `fixer.kind`: a fixer of this kind needs `command:` with the program to call
     --> .github/loopgate.yml:1:16
      |
    1 | fixer: { kind: command, mention: copilot }
      |                ^^^^^^^

    `fixer.mention`: `mention` has no effect with `kind: command`
     --> .github/loopgate.yml:1:34
      |
    1 | fixer: { kind: command, mention: copilot }
      |                                  ^^^^^^^
      = it belongs to `kind: mention`
    ");
    assert_snapshot!(told("fixer: { command: ./fix.sh }"), @r"
    `fixer.command`: `command` has no effect with `kind: none`
     --> .github/loopgate.yml:1:19
      |
    1 | fixer: { command: ./fix.sh }
      |                   ^^^^^^^^
      = it belongs to `kind: command`
    ");
    assert_snapshot!(told("
        fixer: { kind: dispatch }
        escalation: { senior: { kind: mention, mention: x, budget: { attempts: 1 } } }
    "), @r"
    `fixer.kind`: a fixer of this kind needs either `event:` or `workflow:`
     --> .github/loopgate.yml:1:16
      |
    1 | fixer: { kind: dispatch }
      |                ^^^^^^^^

    `escalation.senior.budget`: the senior fixer has no budget of its own
     --> .github/loopgate.yml:2:60
      |
    2 | escalation: { senior: { kind: mention, mention: x, budget: { attempts: 1 } } }
      |                                                            ^
      = set `fixer.budget`, which holds for both
    ");
    assert_snapshot!(told("fixer: { kind: command, command: x, timeout: 7h, author: { name: 'a <b', email: '' } }"), @r"
    `fixer.timeout`: a fixer may take at most 6h
     --> .github/loopgate.yml:1:46
      |
    1 | fixer: { kind: command, command: x, timeout: 7h, author: { name: 'a <b', email: '' } }
      |                                              ^^

    `fixer.author.name`: git takes no such name or address for an author
     --> .github/loopgate.yml:1:66
      |
    1 | fixer: { kind: command, command: x, timeout: 7h, author: { name: 'a <b', email: '' } }
      |                                                                  ^^^^^^

    `fixer.author.email`: git takes no such name or address for an author
     --> .github/loopgate.yml:1:81
      |
    1 | fixer: { kind: command, command: x, timeout: 7h, author: { name: 'a <b', email: '' } }
      |                                                                                 ^^
    ");
    assert_snapshot!(told("verify: { workflows: [ci.yml, 'acme/widgets/.github/workflows/ci.yml@refs/heads/main'] }"), @r"
    `verify.workflows[0]`: `ci.yml` is not a workflow file
     --> .github/loopgate.yml:1:23
      |
    1 | verify: { workflows: [ci.yml, 'acme/widgets/.github/workflows/ci.yml@refs/heads/main'] }
      |                       ^^^^^^
      = write its path: `.github/workflows/ci.yml`
    ");
}

#[test]
fn an_organisation_locks_what_it_wants() {
    let organisation =
        "policy: { locked: [gates, loop.max_attempts] }\nloop: { max_attempts: 2 }\n";
    assert_snapshot!(told_of(Some(organisation), "
        gates: { security: off }
        loop: { max_attempts: 9, same_error: 1 }
    "), @r"
    `gates` is locked by the organisation
     --> .github/loopgate.yml:1:1
      |
    1 | gates: { security: off }
      | ^^^^^
      = what is written here has no effect; remove it

    `loop.max_attempts` is locked by the organisation
     --> .github/loopgate.yml:2:9
      |
    2 | loop: { max_attempts: 9, same_error: 1 }
      |         ^^^^^^^^^^^^
      = what is written here has no effect; remove it
    ");
    assert_snapshot!(told_of(Some("policy: { locked: [gate, loop.max_attemps] }\n"), ""), @r"
    `policy.locked[0]`: there is no key `gate` to lock
     --> acme/.github/loopgate.yml:1:20
      |
    1 | policy: { locked: [gate, loop.max_attemps] }
      |                    ^^^^
      = did you mean `gates`?

    `policy.locked[1]`: there is no key `loop.max_attemps` to lock
     --> acme/.github/loopgate.yml:1:26
      |
    1 | policy: { locked: [gate, loop.max_attemps] }
      |                          ^^^^^^^^^^^^^^^^
      = did you mean `max_attempts`?
    ");
    assert_snapshot!(told_of(Some("mode: hybird\n"), "mode: hybrid\n"), @r"
    `mode`: unknown value `hybird`
     --> acme/.github/loopgate.yml:1:7
      |
    1 | mode: hybird
      |       ^^^^^^
      = did you mean `hybrid`?
    ");
    assert_snapshot!(told("policy: { locked: [gates] }"), @r"
    `policy`: only an organisation's file can lock settings
     --> .github/loopgate.yml:1:9
      |
    1 | policy: { locked: [gates] }
      |         ^
      = move it to `loopgate.yml` of the organisation's `.github` repository
    ");
}
