use insta::assert_json_snapshot;

use super::*;
use crate::commands::Verb;

fn names() -> (Login, BTreeSet<GateName>) {
    let gates = ["architecture", "security", "database", "external", "deploy"]
        .map(|gate| gate.parse().unwrap());
    ("loopgate[bot]".parse().unwrap(), gates.into())
}

fn inspected(body: &str) -> impl serde::Serialize {
    let (bot, gates) = names();
    inspect(body, &bot, &gates)
}

fn reading(body: &str) -> Reading {
    let (bot, gates) = names();
    read(body, &bot, &gates)
}

#[test]
fn a_comment_is_inspected_as_json() {
    let body = "Thanks for this.\n\n**Architecture approved** 🎉\n\n- security rejected\n- /revoke database\n\n\
                /dismiss security @bob he is away\n/loop skip lint --reason \"rule 7 is wrong\"\n/loop resmue\n\n\
                > deploy approved\n\nexternal approved once CI is green\n\nsecurity approved 0123456\n\napproved";
    assert_json_snapshot!(inspected(body), @r#"
    {
      "intents": [
        {
          "kind": "approve",
          "gate": "architecture",
          "args": [],
          "line": 3
        },
        {
          "kind": "reject",
          "gate": "security",
          "args": [],
          "line": 5
        },
        {
          "kind": "revoke",
          "gate": "database",
          "args": [],
          "line": 6
        },
        {
          "kind": "command",
          "gate": "security",
          "verb": "dismiss",
          "args": [
            "@bob",
            "he is away"
          ],
          "line": 8
        },
        {
          "kind": "command",
          "verb": "skip",
          "args": [
            "lint",
            "rule 7 is wrong"
          ],
          "line": 9
        }
      ],
      "near_misses": [
        {
          "text": "/loop resmue",
          "problem": "unknown_command",
          "typed": "/loop resmue",
          "nearest": "/loop resume [--accept tampering | results_lost | skipped]",
          "gate": null,
          "meant": "approve",
          "line": 10,
          "hint": "write `/loop resume [--accept tampering | results_lost | skipped]` on a line of its own"
        },
        {
          "text": "deploy approved",
          "problem": "not_plain_text",
          "inside": "a quote",
          "gate": "deploy",
          "meant": "approve",
          "line": 12,
          "hint": "write `deploy approved` on a line of its own"
        },
        {
          "text": "external approved once CI is green",
          "problem": "wording",
          "gate": "external",
          "meant": "approve",
          "line": 14,
          "hint": "write `external approved` on a line of its own"
        },
        {
          "text": "security approved 0123456",
          "problem": "short_sha",
          "gate": "security",
          "meant": "approve",
          "line": 16,
          "hint": "write `security approved <all 40 digits of the commit id>` on a line of its own"
        },
        {
          "text": "approved",
          "problem": "no_gate",
          "gate": null,
          "meant": "approve",
          "line": 18,
          "hint": "name the gate: `<gate> approved` on a line of its own"
        }
      ]
    }
    "#);
}

#[test]
fn commands_and_gates_are_read_beside_each_other() {
    for (body, count) in [
        ("/approve security", 1),
        ("/approve Security database architecture", 3),
        (
            "/approve security 0123456789abcdef0123456789abcdef01234567",
            1,
        ),
        (
            "/reject security because of `eval` in [this](https://x.y) line",
            1,
        ),
        ("/reject security", 1),
        ("/dismiss security @bob `because`", 1),
        ("/loop memory `null` check", 1),
        ("/loop", 1),
        ("  /loop status  ", 1),
        ("/LOOP Status\n/loop help", 2),
    ] {
        let reading = reading(body);
        assert_eq!(reading.intents.len(), count, "{body}: {reading:?}");
        assert!(reading.near_misses.is_empty(), "{body}");
    }
}

#[test]
fn free_text_is_taken_as_it_was_written() {
    let words =
        "the test wants `Vec<u8>`, see [this](https://x.y/z): Vec<T>, **not** a &amp; \\_b\\_";
    let mut tried = BTreeSet::new();
    for command in [
        "/loop dispute 3fa9c01b",
        "/loop dispute `3fa9c01b` not_mine",
        "- /loop settle neither",
        "/loop settle 3fa9c01b neither",
        "/loop stop",
        "/loop memory",
        "/loop skip `lint` --reason",
        "/loop dispute 3fa9c01b --reason",
    ] {
        let reading = reading(&format!("Hello.\n\n{command} {words}\n\nBye."));
        tried.extend(reading.commands().map(Command::verb));
        let taken: Vec<String> = reading
            .commands()
            .filter_map(|command| command.arguments().pop())
            .collect();
        assert_eq!(
            (taken, reading.near_misses.len()),
            (vec![words.to_owned()], 0),
            "{command}"
        );
    }
    let all = Verb::ALL.into_iter();
    assert_eq!(
        tried,
        all.filter(|verb| verb.ends_in_free_text()).collect(),
        "each that ends in free text is tried"
    );
}

#[test]
fn nobody_who_says_no_is_told_how_to_approve() {
    for (body, instead) in [
        ("/reject secrity it leaks", "/reject security <reason>"),
        ("security not approved", "security rejected"),
        ("security approved 👎", "security rejected"),
        ("/reject", "/reject <gate> <reason>"),
        ("/revoke secrity", "/revoke security"),
        (
            "/dismiss secrity @bob gone",
            "/dismiss security @user <reason>",
        ),
        ("secrity rejected", "security rejected"),
        ("security reject", "security rejected"),
        ("I reject security", "security rejected"),
        ("rejected", "<gate> rejected"),
        ("revoke security", "security approval revoked"),
        ("approved security", "security approved"),
    ] {
        let reading = reading(body);
        let [miss] = reading.near_misses.as_slice() else {
            panic!("{body}: {reading:?}")
        };
        assert_eq!(miss.instead().as_deref(), Some(instead), "{body}");
    }
}

/// However a line that is not the phrase is worded, it has one answer.
#[test]
fn a_gate_and_a_verdict_in_other_words_have_one_answer() {
    for body in [
        "Please say security approved",
        "please approve security",
        "it will be security approved",
        "security approved once CI is green",
        "security approved?",
    ] {
        let reading = reading(body);
        let [miss] = reading.near_misses.as_slice() else {
            panic!("{body}: {reading:?}")
        };
        assert_eq!(
            (&miss.problem, miss.instead().as_deref()),
            (&PhraseProblem::Wording, Some("security approved")),
            "{body}"
        );
    }
}

#[test]
fn commands_with_something_wrong_say_what() {
    use PhraseProblem::*;
    let usage = |form: &str| Usage { usage: form.into() };
    for (body, problem) in [
        ("/approve", NoGate),
        ("/approve security 0123456", ShortSha),
        (
            "/approve secrity",
            UnknownGate {
                named: "secrity".into(),
                nearest: Some("security".parse().unwrap()),
            },
        ),
        (
            "/approve security please",
            UnknownGate {
                named: "please".into(),
                nearest: None,
            },
        ),
        ("/revoke security now", usage("/revoke <gate>")),
        (
            "/dismiss security bob reason",
            usage("/dismiss <gate> @user <reason>"),
        ),
        (
            "/dismiss security @bob",
            usage("/dismiss <gate> @user <reason>"),
        ),
        (
            "/aprove security",
            UnknownCommand {
                typed: "/aprove".into(),
                nearest: Some("/approve security".into()),
            },
        ),
        (
            "/lop status",
            UnknownCommand {
                typed: "/lop".into(),
                nearest: Some("/loop status".into()),
            },
        ),
        (
            "/loop frob",
            UnknownCommand {
                typed: "/loop frob".into(),
                nearest: None,
            },
        ),
        (
            "/loop skip lint",
            usage("/loop skip <check> --reason \"…\""),
        ),
        (
            "/loop dispute 3fa9c01b",
            usage("/loop dispute <failure> <reason>"),
        ),
        ("/loop `retry`", usage("/loop retry")),
        (
            "/loop resume --accept `tampering`",
            usage("/loop resume [--accept tampering | results_lost | skipped]"),
        ),
        (
            "`/approve` security",
            NotPlainText {
                inside: Inside::Code,
            },
        ),
        (
            "/approve `security`",
            NotPlainText {
                inside: Inside::Code,
            },
        ),
    ] {
        let reading = reading(body);
        assert!(reading.intents.is_empty(), "{body}");
        assert_eq!(
            reading.near_misses.first().map(|miss| &miss.problem),
            Some(&problem),
            "{body}"
        );
    }
}

#[test]
fn talk_is_left_alone() {
    for body in [
        "Nice change!",
        "The security team looked at the database change last week and everybody was happy with what they saw there.",
        "I approve of this style",
        "/hold",
        "/test all",
        "Rejected promises are not handled in the retry helper.",
        "The architecture is fine, and so are the tests.",
        "> /loop stop",
        "```\n/loop help\n```",
        "see https://example.com/approved/security-notes",
        "Utvecklingen är godkänd",
        "это одобрено",
        "ok",
        "👍",
        "The pre-approved list is fine.",
        "Requested changes are in the security branch now, thanks everybody for the quick look at it.",
    ] {
        let reading = reading(body);
        assert!(reading.is_empty(), "{body}: {reading:?}");
    }
}

/// `(gate, what is meant)` of each near miss; an agreement names what an approver of a waiting gate reads.
#[test]
fn each_gate_of_a_line_is_a_near_miss_of_its_own() {
    use Word::*;
    type Misses<'a> = &'a [(Option<&'a str>, Word)];
    let cases: [(&str, Misses<'_>); 11] = [
        (
            "security approved, database approved",
            &[(Some("security"), Approve), (Some("database"), Approve)],
        ),
        (
            "security approved, database rejected",
            &[(Some("security"), Approve), (Some("database"), Reject)],
        ),
        (
            "/approve secrity database",
            &[(Some("security"), Approve), (Some("database"), Approve)],
        ),
        ("/aprove security database", &[(Some("security"), Approve)]),
        (
            "`/approve security database`",
            &[(Some("security"), Approve), (Some("database"), Approve)],
        ),
        (
            "security approved. Approved security, really",
            &[(Some("security"), Approve)],
        ),
        ("LGTM", &[(None, Approve)]),
        ("+1", &[(None, Approve)]),
        ("looks good, approving", &[(None, Approve)]),
        (
            "security ok, database ok",
            &[(Some("security"), Approve), (Some("database"), Approve)],
        ),
        (
            "security changes requested!!",
            &[(Some("security"), Reject)],
        ),
    ];
    for (body, expected) in cases {
        let misses = reading(body).near_misses;
        let got: Vec<_> = misses
            .iter()
            .map(|miss| (miss.gate.as_ref().map(GateName::as_str), miss.meant))
            .collect();
        assert_eq!(got, expected, "{body}");
        assert!(may_speak(body), "{body}");
    }
}

/// Chat is not looked at: no request is made for it.
#[test]
fn what_merely_chats_may_not_speak() {
    for body in [
        "ok",
        "👍",
        "Nice change!",
        "All tests are ok now, and the docs look fine.",
        "see #12",
        "works for me",
    ] {
        assert!(!may_speak(body), "{body}");
    }
}

#[test]
fn what_a_comment_repeats_is_told_ten_times_at_most() {
    assert_eq!(
        reading(&"security approved?\n\n".repeat(100))
            .near_misses
            .len(),
        10
    );
}

#[test]
fn a_comment_longer_than_github_allows_is_not_read() {
    let body = "security approved\n".repeat(20_000);
    let reading = reading(&body);
    assert!(reading.intents.is_empty());
    assert_eq!(reading.near_misses[0].problem, PhraseProblem::TooLong);
}

#[test]
fn a_comment_as_long_as_github_allows_is_read() {
    let filler = "All work and no play makes a dull review. ".repeat(1_500);
    assert_eq!(
        reading(&format!("{filler}\n\nsecurity approved\n"))
            .intents
            .len(),
        1
    );
}
