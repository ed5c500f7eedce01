//! Gates nobody could open, labels that do not fit, escalations that reach nobody, locks.

use insta::assert_snapshot;

use crate::told::{told, told_of};

#[test]
fn gates_without_sense() {
    assert_snapshot!(told("
        gates:
          secuirty: { approvers: { users: [bob] } }
          payments: {}
    "), @r#"
    `gates.secuirty` lacks `when`
     --> .github/loopgate.yml:2:13
      |
    2 |   secuirty: { approvers: { users: [bob] } }
      |             ^
      = say when it opens, or did you mean the preset `security`?

    `gates.payments` lacks `when`
     --> .github/loopgate.yml:3:13
      |
    3 |   payments: {}
      |             ^
      = say when it opens, for example `when: { paths: ["src/billing/**"] }`
    "#);
    assert_snapshot!(told("gates: { Payments: { when: { always: true } } }"), @r"
    `gates`: `Payments` is not a gate name (lower-case letters, digits, - and _, at most 40)
     --> .github/loopgate.yml:1:10
      |
    1 | gates: { Payments: { when: { always: true } } }
      |          ^^^^^^^^
    ");
    assert_snapshot!(told("gates: { payments: { when: { paths: [src/**], labels: [money] } } }"), @r"
    `gates.payments.when`: `paths` and `labels` stand side by side; one of them is expected
     --> .github/loopgate.yml:1:47
      |
    1 | gates: { payments: { when: { paths: [src/**], labels: [money] } } }
      |                                               ^^^^^^
      = put them in a list under `any:` or `all:`, to say whether one is enough
    ");
    assert_snapshot!(told("gates: { payments: { when: { any: [], path: x } } }"), @r"
    `gates.payments.when.any`: an empty list matches nothing
     --> .github/loopgate.yml:1:35
      |
    1 | gates: { payments: { when: { any: [], path: x } } }
      |                                   ^
      = write at least one, or leave out the key

    unknown key `path` in `gates.payments.when`
     --> .github/loopgate.yml:1:39
      |
    1 | gates: { payments: { when: { any: [], path: x } } }
      |                                       ^^^^
      = did you mean `paths`?
    ");
    assert_snapshot!(told("
        gates:
          payments:
            when:
              any: []
          b:
            when:
              all: [draft]
          c:
            when: {draft: false}
    "), @r"
    `gates.payments.when.any`: an empty list matches nothing
     --> .github/loopgate.yml:4:12
      |
    4 |       any: []
      |            ^
      = write at least one, or leave out the key

    `gates.b.when.all[0]`: `draft` needs a value
     --> .github/loopgate.yml:7:13
      |
    7 |       all: [draft]
      |             ^^^^^
      = write it as a key: `draft: …`

    `gates.c.when.draft`: `false` is not a condition
     --> .github/loopgate.yml:9:19
      |
    9 |     when: {draft: false}
      |                   ^^^^^
      = write `not: { … : true }`, or leave it out
    ");
    assert_snapshot!(told("
        gates:
          payments:
            when:
              paths: [/src/**, src/, 'a{b', '']
          b:
            when:
              paths: ['!docs/**']
          c:
            when:
              size: {}
    "), @r#"
    `gates.payments.when.paths[0]`: paths are relative to the root of the repository
     --> .github/loopgate.yml:4:15
      |
    4 |       paths: [/src/**, src/, 'a{b', '']
      |               ^^^^^^^
      = write `src/**`

    `gates.payments.when.paths[1]`: `src/` matches a folder, and files are matched
     --> .github/loopgate.yml:4:24
      |
    4 |       paths: [/src/**, src/, 'a{b', '']
      |                        ^^^^
      = write `src/**`

    `gates.payments.when.paths[2]`: `a{b` is not a glob: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)
     --> .github/loopgate.yml:4:30
      |
    4 |       paths: [/src/**, src/, 'a{b', '']
      |                              ^^^^^

    `gates.payments.when.paths[3]`: an empty glob matches nothing
     --> .github/loopgate.yml:4:37
      |
    4 |       paths: [/src/**, src/, 'a{b', '']
      |                                     ^^

    `gates.b.when.paths[0]`: only paths that never match are listed
     --> .github/loopgate.yml:7:15
      |
    7 |       paths: ['!docs/**']
      |               ^^^^^^^^^^
      = begin the list with what does match, for example `"**"`

    `gates.c.when.size`: this names no limit
      --> .github/loopgate.yml:10:13
       |
    10 |       size: {}
       |             ^
       = add `lines` or `files`
    "#);
    assert_snapshot!(told("gates: { payments: { when: { added_lines: ['*', '(?=x)', ''] } } }"), @r"
    `gates.payments.when.added_lines[0]`: `*` is not a regular expression: repetition operator missing expression
     --> .github/loopgate.yml:1:44
      |
    1 | gates: { payments: { when: { added_lines: ['*', '(?=x)', ''] } } }
      |                                            ^^^

    `gates.payments.when.added_lines[1]`: `(?=x)` is not a regular expression: look-around, including look-ahead and look-behind, is not supported
     --> .github/loopgate.yml:1:49
      |
    1 | gates: { payments: { when: { added_lines: ['*', '(?=x)', ''] } } }
      |                                                 ^^^^^^^

    `gates.payments.when.added_lines[2]`: an empty pattern matches every line
     --> .github/loopgate.yml:1:58
      |
    1 | gates: { payments: { when: { added_lines: ['*', '(?=x)', ''] } } }
      |                                                          ^^
    ");
    assert_snapshot!(told("
        gates:
          payments:
            when: {always: true}
            approvers:
              users: [alice, '@bob']
              teams: [leads]
              permission: read
    "), @r"
    `gates.payments.approvers.teams[0]`: `leads` is not a team as org/slug
     --> .github/loopgate.yml:6:15
      |
    6 |       teams: [leads]
      |               ^^^^^

    `gates.payments.approvers.permission`: unknown value `read`
     --> .github/loopgate.yml:7:19
      |
    7 |       permission: read
      |                   ^^^^
      = known here: `write`, `maintain`, `admin`
    ");
    assert_snapshot!(told("
        gates:
          payments:
            when: {always: true}
            approvers:
              users: [alice]
              count: 2
            approve_by: []
    "), @r"
    `gates.payments.approvers.count`: 2 people are needed and 1 may approve
     --> .github/loopgate.yml:6:14
      |
    6 |       count: 2
      |              ^
      = nobody could ever open this gate: name more people, or a team

    `gates.payments.approve_by`: nothing would count as an approval
     --> .github/loopgate.yml:7:17
      |
    7 |     approve_by: []
      |                 ^
      = write `[comment]`, `[review]` or both
    ");
    assert_snapshot!(told("
        gates:
          payments:
            when: {always: true}
            blocks: SHIP -> COMPLETE
          b:
            when: {always: true}
            blocks: TEST -> SHIP
    "), @r"
    `gates.payments.blocks`: expected a transition such as `VALIDATE -> DOCUMENT`, up to `REVIEW -> SHIP`, found the text `SHIP -> COMPLETE`
     --> .github/loopgate.yml:4:13
      |
    4 |     blocks: SHIP -> COMPLETE
      |             ^^^^

    `gates.b.blocks`: expected a transition such as `VALIDATE -> DOCUMENT`, up to `REVIEW -> SHIP`, found the text `TEST -> SHIP`
     --> .github/loopgate.yml:7:13
      |
    7 |     blocks: TEST -> SHIP
      |             ^^^^
    ");
}

#[test]
fn labels_have_the_platforms_limits() {
    let long = "x".repeat(51);
    assert_snapshot!(told(&format!("gates: {{ payments: {{ when: {{ always: true }}, label: {long} }} }}\n")), @r"
    `gates.payments.label`: a label has at most 50 characters; `xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx` has 51
     --> .github/loopgate.yml:1:53
      |
    1 | …es: { payments: { when: { always: true }, label: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…
      |                                                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    ");
    assert_snapshot!(told("
        gates:
          a-gate-whose-name-is-much-too-long-for-it:
            when: { always: true }
    "), @r"
    `gates`: `a-gate-whose-name-is-much-too-long-for-it` is not a gate name (lower-case letters, digits, - and _, at most 40)
     --> .github/loopgate.yml:2:3
      |
    2 |   a-gate-whose-name-is-much-too-long-for-it:
      |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    ");
    assert_snapshot!(told("
        gates:
          a:
            when: {always: true}
            label: needs:Security-review
          b:
            when: {always: true}
            label: ' '
    "), @r"
    `gates.a.label`: the gate `security` has this label too
     --> .github/loopgate.yml:4:12
      |
    4 |     label: needs:Security-review
      |            ^^^^^

    `gates.b.label`: a label needs a visible name on one line
     --> .github/loopgate.yml:7:12
      |
    7 |     label: ' '
      |            ^^^
    ");
    assert_snapshot!(told("labels: { prefix: a-prefix-that-leaves-no-room-for-anything-else-at-all, retry: { color: red } }"), @r#"
    `labels.retry.color`: expected a colour as six hexadecimal digits in quotes, such as "1d76db", found the text `red`
     --> .github/loopgate.yml:1:90
      |
    1 | labels: { prefix: a-prefix-that-leaves-no-room-for-anything-else-at-all, retry: { color: red } }
      |                                                                                          ^^^
    "#);
    assert_snapshot!(told("labels: { prefix: a-prefix-that-leaves-no-room-for-anything-else-at-all }"), @r"
    `labels.prefix`: a label has at most 50 characters; `a-prefix-that-leaves-no-room-for-anything-else-at-allverifyi…` has 62
     --> .github/loopgate.yml:1:19
      |
    1 | labels: { prefix: a-prefix-that-leaves-no-room-for-anything-else-at-all }
      |                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    ");
}

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
    let organisation = "policy: { locked: [gates, loop.max_attempts] }\nloop: { max_attempts: 2 }\n";
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
