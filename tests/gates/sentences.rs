//! How it is worded.

use crate::kit::*;
use loopgate_core::gate::ReactionKind;

#[track_caller]
fn reads(body: &str, told: &str) {
    let mut talk = Talk::opened();
    talk.says("alice", body);
    talk.is(Closed, told);
    assert_eq!(talk.reaction(), Some(ReactionKind::NotAccepted), "it is answered at once");
}

#[test]
fn conditional() {
    reads(
        "security approved once CI is green",
        "😕 alice’s comment does not count: it names a condition. Once that is met, write `security approved`.",
    );
}

#[test]
fn negated() {
    reads(
        "security not approved",
        "😕 alice’s comment does not count: it says no, in words Loopgate does not act on. To reject, write \
         `security rejected`; to approve, `security approved`.",
    );
    reads(
        "I don't think security is approved",
        "😕 alice’s comment does not count: it says no, in words Loopgate does not act on. To reject, write \
         `security rejected`; to approve, `security approved`.",
    );
}

#[test]
fn asked() {
    reads(
        "security approved?",
        "😕 alice’s comment does not count: it asks. To approve, write `security approved` on a line of its own.",
    );
}

#[test]
fn future_tense() {
    reads(
        "security will be approved",
        "😕 alice’s comment does not count: it announces an approval. When the time has come, write `security \
         approved`.",
    );
}

#[test]
fn with_other_words_on_its_line() {
    reads(
        "security approved, nice work",
        "😕 alice’s comment does not count: other words stand on its line. Write `security approved` on a line of \
         its own.",
    );
}

#[test]
fn in_another_order() {
    reads(
        "approved security",
        "😕 alice’s comment does not count: the words must be exactly these: `security approved`.",
    );
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
    reads("approved", "😕 alice’s comment does not count: it does not say which gate. Write `security approved`.");
}

#[test]
fn zero_width() {
    reads(
        "security appr\u{200b}oved",
        "😕 alice’s comment does not count: some of its letters only look like the phrase’s. Type `security \
         approved` in plain letters.",
    );
}

#[test]
fn a_homoglyph() {
    reads(
        "sеcurity approved",
        "😕 alice’s comment does not count: some of its letters only look like the phrase’s. Type `security \
         approved` in plain letters.",
    );
}

#[test]
fn full_width() {
    reads(
        "ｓｅｃｕｒｉｔｙ ａｐｐｒｏｖｅｄ",
        "😕 alice’s comment does not count: some of its letters only look like the phrase’s. Type `security \
         approved` in plain letters.",
    );
}

#[test]
fn right_to_left_marks() {
    reads(
        "\u{202e}security approved",
        "😕 alice’s comment does not count: some of its letters only look like the phrase’s. Type `security \
         approved` in plain letters.",
    );
}

#[test]
fn an_emoji_that_says_no() {
    reads(
        "security approved 👎",
        "😕 alice’s comment does not count: it says no, in words Loopgate does not act on. To reject, write \
         `security rejected`; to approve, `security approved`.",
    );
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
fn trailing_spaces() {
    counts("security approved   ");
}

#[test]
fn crlf() {
    counts("Fine.\r\nsecurity approved\r\nThanks.\r\n");
}

#[test]
fn non_breaking_spaces() {
    counts("security\u{a0}approved");
}

#[test]
fn an_emoji_and_a_shortcode() {
    counts("security approved 🎉");
    counts("security approved :tada:");
}

#[test]
fn any_case_and_emphasis() {
    counts("**SECURITY** Approved!");
}

#[test]
fn as_a_command() {
    counts("/approve security");
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
