//! Gates nobody could open, and labels that do not fit.

use insta::assert_snapshot;

use crate::told::told;

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

    `gates.b.when.paths`: only paths that never match are listed
     --> .github/loopgate.yml:7:14
      |
    7 |       paths: ['!docs/**']
      |              ^^^^^^^^^^^
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
      = no one can ever open this gate: name more people, or a team

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
fn runs_that_nothing_would_let_go_are_a_warning() {
    assert_snapshot!(told("approve_runs: true\ngates: { security: off }"), @r"
    `approve_runs`: the security gate is off, so nothing lets runs go
     --> .github/loopgate.yml:1:15
      |
    1 | approve_runs: true
      |               ^^^^
      = take this key away, or the `off` of the gate
    ");
    assert!(!told("approve_runs: true").contains("approve_runs"));
}
