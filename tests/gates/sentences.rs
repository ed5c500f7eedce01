//! How it is worded.

use crate::kit::*;
use loopgate_core::concerns::gates::ReactionKind;

#[track_caller]
fn reads(body: &str, told: &str) {
    let mut talk = Talk::opened();
    talk.says("alice", body);
    talk.is(Closed, told);
    assert_eq!(
        talk.reaction(),
        Some(ReactionKind::NotAccepted),
        "it is answered at once"
    );
}

/// However a line that is not the phrase is worded, it has one answer.
#[test]
fn in_other_words() {
    for (body, phrase) in [
        ("security approved once CI is green", "security approved"),
        ("security approved?", "security approved"),
        ("security will be approved", "security approved"),
        ("security approved, nice work", "security approved"),
        ("approved security", "security approved"),
        ("security not approved", "security rejected"),
        ("I don't think security is approved", "security rejected"),
        ("security approved 👎", "security rejected"),
    ] {
        reads(
            body,
            &format!(
                "😕 alice’s comment does not count: only these words count, alone on a line: `{phrase}`."
            ),
        );
    }
}

#[test]
fn an_unknown_gate() {
    reads(
        "secruity approved",
        "😕 alice’s comment does not count: there is no gate `secruity`. Did you mean `security approved`?",
    );
    reads(
        "payments approved",
        "😕 alice’s comment does not count: there is no gate `payments`. This one is approved with `security \
         approved`.",
    );
}

#[test]
fn no_gate() {
    reads(
        "approved",
        "😕 alice’s comment does not count: it does not say which gate. Write `security approved`.",
    );
}

#[test]
fn letters_that_only_look_like_the_phrases() {
    for body in [
        "security appr\u{200b}oved",
        "sеcurity approved",
        "ｓｅｃｕｒｉｔｙ ａｐｐｒｏｖｅｄ",
        "\u{202e}security approved",
    ] {
        reads(
            body,
            "😕 alice’s comment does not count: some of its letters only look like the phrase’s. Type `security \
             approved` in plain letters.",
        );
    }
}

/// What people type for the phrase, and what an approver is told.
#[test]
fn what_nearly_approves_is_answered_to_an_approver() {
    let agreeing =
        "agreeing is not enough. To approve, write `security approved` on a line of its own.";
    let worded = "only these words count, alone on a line: `security approved`.";
    for (body, told) in [
        ("LGTM", agreeing),
        ("lgtm!", agreeing),
        ("/lgtm", agreeing),
        ("LGTM 👍", agreeing),
        ("security ok", agreeing),
        ("security ✅", agreeing),
        ("security :white_check_mark:", agreeing),
        ("Security LGTM.", agreeing),
        ("security signed off", agreeing),
        ("security-approved", worded),
        ("security: approved", worded),
        ("security approved!!", worded),
        ("security approved...", worded),
        ("\"security approved\"", worded),
        ("security approved, no objections", worded),
        ("architecture approved, security approved", worded),
        ("security has my approval", worded),
        ("security approval", worded),
    ] {
        reads(body, &format!("😕 alice’s comment does not count: {told}"));
    }
    // Agreement of a person who may not approve is no vote, and a gate that does not wait needs no answer.
    for body in ["LGTM", "security ok", "security ✅"] {
        let mut talk = Talk::opened();
        talk.says("outsider", body);
        talk.is(Closed, "");
        assert_eq!(talk.reaction(), None, "{body}");
        talk.says("author", body);
        talk.is(Closed, "");
        talk.says("bob", "security approved").says("alice", body);
        talk.is(Approved, "✅ **security** approved by bob on `01010101`.");
        assert_eq!(talk.reaction(), None, "{body}");
    }
    // Said properly, it needs no answer any more.
    let mut talk = Talk::opened();
    talk.says("alice", "LGTM")
        .says("alice", "security approved");
    talk.is(Approved, "✅ **security** approved by alice on `01010101`.");
}

/// An approver by permission is known only once GitHub was asked.
#[test]
fn an_agreement_of_somebody_with_permission() {
    let mut talk =
        Talk::under(&CONFIG.replace("{ users: [alice, bob] }", "{ permission: maintain }"));
    talk.says("carol", "LGTM");
    talk.is(Closed, "");
    talk.says("maintainer", "LGTM");
    talk.is(
        Closed,
        "😕 maintainer’s comment does not count: agreeing is not enough. To approve, write `security approved` on a line \
         of its own.",
    );
}

/// The answer to an objection shows how to object, and never how to approve.
#[test]
fn what_nearly_closes_is_never_answered_with_how_to_approve() {
    let rejected = "`security rejected`";
    let revoked = "`security approval revoked`";
    for (body, told) in [
        ("security rejected?", rejected),
        ("> security rejected", rejected),
        ("`security rejected`", rejected),
        ("sеcurity rejected", rejected),
        ("security rejected 0123456", rejected),
        ("security rejected until the key is gone", rejected),
        ("security rejectd", rejected),
        ("secruity rejected", rejected),
        ("security-rejected", rejected),
        ("security changes requested, see below", rejected),
        ("I request changes for security", rejected),
        ("security is not approved", rejected),
        ("never security approved", rejected),
        ("> security changes requested", rejected),
        ("/reject secruity it leaks", "/reject security"),
        ("> /revoke security", revoked),
        ("security approval revoked?", revoked),
        ("revoke security", revoked),
        (
            "> /dismiss security @bob settled",
            "/dismiss security @user",
        ),
    ] {
        for by in ["alice", "outsider"] {
            let mut talk = Talk::opened();
            talk.says(by, body);
            let gates = talk.told("security");
            let (_, answer) = gates
                .split_once("😕")
                .unwrap_or_else(|| panic!("{body} is not answered: {gates}"));
            assert!(
                answer.contains(told) && !answer.contains("security approved"),
                "{body}: {answer}"
            );
            assert_eq!(talk.reaction(), Some(ReactionKind::NotAccepted), "{body}");
        }
    }
}

const BOTH: &str = "\
version: 1
gates:
  external: off
  deploy: off
  architecture: off
  data-loss: { when: { always: true }, approvers: { users: [alice] } }
  database: off
  security: { when: { always: true }, approvers: { users: [alice, bob] } }
";

#[test]
fn of_several_gates_in_one_line_each_is_answered() {
    let beside = |gate: &str| {
        format!(
            "😕 alice’s comment does not count: only these words count, alone on a line: `{gate} approved`."
        )
    };
    for body in [
        "security approved, data-loss approved",
        "security approved and data-loss approved",
    ] {
        let mut talk = Talk::under(BOTH);
        talk.says("alice", body);
        talk.is(Closed, &beside("security"));
        talk.gate("data-loss", Closed, &beside("data-loss"));
    }
    let mut talk = Talk::under(BOTH);
    talk.says("alice", "security approved, data-loss rejected!");
    talk.is(Closed, &beside("security"));
    talk.gate(
        "data-loss",
        Closed,
        "😕 alice’s comment does not count: only these words count, alone on a line: `data-loss rejected`.",
    );
    let mut talk = Talk::under(BOTH);
    talk.says("alice", "> /approve security data-loss");
    for gate in ["security", "data-loss"] {
        let told = format!(
            "😕 alice’s comment does not count: it stands in a quote, where it may be an example. Write `{gate} approved` \
             as plain text."
        );
        talk.gate(gate, Closed, &told);
    }
    let mut talk = Talk::under(BOTH);
    talk.says("alice", "data loss approved");
    talk.is(Closed, "");
    talk.gate(
        "data-loss",
        Closed,
        "😕 alice’s comment does not count: only these words count, alone on a line: `data-loss approved`.",
    );
}

#[test]
fn equal_lines_of_one_person_are_one_and_approvers_come_first() {
    let mut talk = Talk::opened();
    talk.says("alice", "security approved?");
    for _ in 0..4 {
        talk.says("outsider", "security approved");
    }
    talk.is(
        Closed,
        "😕 alice’s comment does not count: only these words count, alone on a line: `security approved`.\n\
         😕 outsider’s comment does not count: outsider is not an approver of this gate. It opens for alice or bob. \
         (Written 4 times.)",
    );
}

/// Ten comments are answered, then one an hour in words and two more with a reaction. Approvers are always answered,
/// and what counts counts.
#[test]
fn a_flood_is_answered_less_and_less_and_hides_nobody() {
    let mut talk = Talk::opened();
    let wordings = [
        "security approved?",
        "security approved",
        "not security approved",
        "security will be approved",
    ];
    let flood = |talk: &mut Talk, comments: usize| {
        let ids: Vec<_> = (0..comments)
            .map(|nth| talk.writes("outsider", wordings[nth % wordings.len()]))
            .collect();
        talk.look();
        let answered = |id| {
            talk.last
                .surface
                .reactions
                .contains_key(&loopgate_core::concerns::gates::Reacted::Comment(id))
        };
        ids.into_iter().filter(|id| answered(*id)).count()
    };
    assert_eq!(
        flood(&mut talk, 40),
        13,
        "ten, and three in the hour of the rest"
    );
    talk.says("alice", "security approved?");
    assert_eq!(talk.reaction(), Some(ReactionKind::NotAccepted));
    assert!(
        talk.status()
            .contains("alice’s [comment](https://github.com/c) does not count: only these words")
    );
    talk.wait(60);
    assert_eq!(flood(&mut talk, 20), 3, "an hour later");
    let lines = talk
        .status()
        .lines()
        .filter(|line| line.contains("outsider’s [comment]"))
        .count();
    assert!(lines <= 4, "equal lines are folded: {}", talk.status());
    // The same of an approver.
    let ids: Vec<_> = (0..20)
        .map(|_| talk.writes("bob", "security approved?"))
        .collect();
    talk.look();
    let reactions = &talk.last.surface.reactions;
    assert!(
        ids.iter().all(
            |id| reactions.contains_key(&loopgate_core::concerns::gates::Reacted::Comment(*id))
        )
    );
    // Somebody who becomes an approver is heard however much they wrote.
    talk.says("alice", "security approved");
    talk.is(Approved, &talk.told("security"));
}

/// All of these count, and say the same.
#[track_caller]
fn counts(body: &str) {
    let mut talk = Talk::opened();
    talk.says("alice", body);
    talk.is(Approved, "✅ **security** approved by alice on `01010101`.");
    assert_eq!(talk.reaction(), Some(ReactionKind::Done));
}

#[test]
fn spaces_case_emphasis_and_emoji_change_nothing() {
    for body in [
        "security approved   ",
        "Fine.\r\nsecurity approved\r\nThanks.\r\n",
        "security\u{a0}approved",
        "security approved 🎉",
        "security approved :tada:",
        "**SECURITY** Approved!",
        "/approve security",
    ] {
        counts(body);
    }
}

#[test]
fn a_comment_of_65_kb() {
    let filler = "All work and no play makes a dull review. ".repeat(1_550);
    counts(&format!("{filler}\n\nsecurity approved\n"));
}

#[test]
fn a_comment_longer_than_github_allows() {
    let mut talk = Talk::opened();
    talk.says("alice", &"security approved\n".repeat(20_000));
    talk.is(
        Closed,
        "😕 alice’s comment does not count: it is too long to be read. Write `security approved` in a comment of its \
         own.",
    );
}

#[test]
fn three_thousand_comments() {
    let mut talk = Talk::opened();
    for _ in 0..3_000 {
        talk.writes("outsider", "What a nice change.");
    }
    talk.says("alice", "security approved");
    talk.is(Approved, "✅ **security** approved by alice on `01010101`.");
}
