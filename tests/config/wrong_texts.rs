//! Texts that are no YAML, and YAML that wants to hurt.

use insta::assert_snapshot;

use crate::told::told;

#[test]
fn texts_that_are_no_yaml() {
    assert_snapshot!(told("loop:\n\tmax_attempts: 3\n"), @r"
    a tab cannot indent YAML
     --> .github/loopgate.yml:2:2
      |
    2 |  max_attempts: 3
      |  ^^^^^^^^^^^^
      = indent with spaces
    ");
    assert_snapshot!(told("
        mode: hybrid
        mode: autonomous
    "), @r"
    the key `mode` is written twice
     --> .github/loopgate.yml:2:1
      |
    2 | mode: autonomous
      | ^^^^
      = the first is on line 1
    ");
    assert_snapshot!(told("
        verify:
          checks:
            unit: { kind: test, run: echo: hello }
    "), @r"
    a `,` or `}` is missing before this
     --> .github/loopgate.yml:3:34
      |
    3 |     unit: { kind: test, run: echo: hello }
      |                                  ^
      = close the map, or quote values that hold braces, commas or `: `
    ");
    assert_snapshot!(told("
        verify:
          checks:
            unit:
              kind: test
              run: echo: hello
    "), @r"
    a second `: ` in one line
     --> .github/loopgate.yml:5:16
      |
    5 |       run: echo: hello
      |                ^
      = quote the value that contains `: `
    ");
    assert_snapshot!(told("
        gates:
          payments: { when: { paths: [src/** }
    "), @r"
    a `,` or `]` is missing before this
     --> .github/loopgate.yml:2:38
      |
    2 |   payments: { when: { paths: [src/** }
      |                                      ^
      = close the list, or quote values that hold brackets, commas or `: `
    ");
    assert_snapshot!(told("
        escalation:
          notify: [@alice]
    "), @r"
    a value cannot begin with this character
     --> .github/loopgate.yml:2:12
      |
    2 |   notify: [@alice]
      |            ^^^^^^
      = put it in quotes
    ");
    assert_snapshot!(told("gates: { payments: { when: { paths: [**/*.rs] } } }"), @r"
    there is no anchor of this name
     --> .github/loopgate.yml:1:38
      |
    1 | gates: { payments: { when: { paths: [**/*.rs] } } }
      |                                      ^^^^^^^
      = quote a value that begins with `*`, or write the `&anchor` before it
    ");
    assert_snapshot!(told(r#"mode: "hybrid"#), @r#"
    a quote is opened here and not closed
     --> .github/loopgate.yml:1:7
      |
    1 | mode: "hybrid
      |       ^
      = close it
    "#);
    assert_snapshot!(told("
        gates:
          a:
            label: x
           b: y
    "), @r"
    no key is expected here
     --> .github/loopgate.yml:4:4
      |
    4 |    b: y
      |    ^
      = indent keys of one map alike, and write a `: ` after each
    ");
    assert_snapshot!(told("
        mode: hybrid
        labels
        fixer: { kind: none }
    "), @r"
    the line before this is no key with a value
     --> .github/loopgate.yml:3:1
      |
    3 | fixer: { kind: none }
      | ^^^^^
      = write a `: ` after the key
    ");
    assert_snapshot!(told("mode: *unknown"), @r"
    there is no anchor of this name
     --> .github/loopgate.yml:1:7
      |
    1 | mode: *unknown
      |       ^^^^^^^^
      = quote a value that begins with `*`, or write the `&anchor` before it
    ");
    assert_snapshot!(told("mode: !!str hybrid"), @r"
    YAML tags (`!…`) mean nothing here
     --> .github/loopgate.yml:1:7
      |
    1 | mode: !!str hybrid
      |       ^^^^^
      = quote a text that begins with `!`
    ");
    assert_snapshot!(told("
        mode: hybrid
        ---
        mode: autonomous
    "), @r"
    a second YAML document starts here
     --> .github/loopgate.yml:2:1
      |
    2 | ---
      | ^^^
      = a configuration is one document; remove the `---`
    ");
    assert_snapshot!(told("
        ? [a, b]
        : c
    "), @r"
    a key must be a word, not a list or a map
     --> .github/loopgate.yml:1:3
      |
    1 | ? [a, b]
      |   ^^
    ");
    assert_snapshot!(told("loop: &l { progress: *l }"), @r"
    this alias stands inside the value it refers to
     --> .github/loopgate.yml:1:22
      |
    1 | loop: &l { progress: *l }
      |                      ^^
    ");
    assert_snapshot!(told("loop: { <<: 5 }"), @r"
    `<<` takes an alias of a map, or a list of them
     --> .github/loopgate.yml:1:13
      |
    1 | loop: { <<: 5 }
      |             ^
    ");
    assert_snapshot!(told("mode: hyb\u{7}rid\n"), @r"
    a character that YAML does not allow (U+0007)
     --> .github/loopgate.yml:1:10
      |
    1 | mode: hyb rid
      |          ^
      = remove it
    ");
}

#[test]
fn texts_that_want_to_hurt() {
    let deep = format!("mode: {}{}\n", "[".repeat(70), "]".repeat(70));
    assert_snapshot!(told(&deep), @r"
    more than 64 levels of nesting
     --> .github/loopgate.yml:1:70
      |
    1 | …[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]…
      |                                                   ^^^^^^^
    ");
    let mut bomb = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for n in 1..9 {
        let list = vec![format!("*a{}", n - 1); 10].join(", ");
        bomb.push_str(&format!("a{n}: &a{n} [{list}]\n"));
    }
    assert_snapshot!(told(&bomb), @r"
    the aliases up to here unfold to more than 4 MiB
     --> .github/loopgate.yml:6:10
      |
    6 | a5: &a5 [*a4, *a4, *a4, *a4, *a4, *a4, *a4, *a4, *a4, *a4]
      |          ^^^
      = write fewer aliases of aliases
    ");
    assert_snapshot!(told(&format!("# {}\n", "x".repeat(256 * 1024))), @r"
    the file has 262147 bytes; at most 262144 are read
     --> .github/loopgate.yml:1:1
      |
    1 | # xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…
      | ^
    ");
    let patterns = vec!["'a'"; 130].join(", ");
    assert_snapshot!(told(&format!("gates: {{ a: {{ when: {{ added_lines: [{patterns}] }} }} }}\n")), @r"
    `gates.a.when.added_lines[128]`: more than 128 regular expressions in one configuration
     --> .github/loopgate.yml:1:677
      |
    1 | …a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a', 'a'] } } }
      |                                                   ^^^
      = join some of them with `|`
    ");
    assert_snapshot!(told(r"gates: { a: { when: { added_lines: ['(\w{100}){100}'] } } }"), @r"
    `gates.a.when.added_lines[0]`: `(\w{100}){100}` is not a regular expression: Compiled regex exceeds size limit of 1048576 bytes.
     --> .github/loopgate.yml:1:37
      |
    1 | gates: { a: { when: { added_lines: ['(\w{100}){100}'] } } }
      |                                     ^^^^^^^^^^^^^^^^
    ");
}
