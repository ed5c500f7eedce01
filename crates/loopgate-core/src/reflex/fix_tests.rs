use super::*;
use crate::{
    deciding::decide,
    fixtures,
    observed::{ChangedFile, FileStatus},
    state::LoopState,
};

fn file(path: &str, patch: &str) -> ChangedFile {
    ChangedFile {
        path: path.to_owned(),
        previous_path: None,
        status: FileStatus::Modified,
        additions: 1,
        deletions: 1,
        blob: None,
        patch: Some(format!("@@ -1 +1 @@\n{patch}")),
    }
}

fn judged(files: Vec<ChangedFile>, scope: &[&str]) -> EditVerdict {
    let scope = scope.iter().map(ToString::to_string).collect();
    judge_edits(&ChangedFiles::Complete(files), &scope, "ci/loopgate.yml")
}

#[test]
fn edits_are_taken_refused_or_none() {
    let taken = |outside: &[&str]| EditVerdict::Take { outside: outside.iter().map(ToString::to_string).collect() };
    assert_eq!(judged(vec![], &[]), EditVerdict::Nothing);
    assert_eq!(judged(vec![file("src/a.py", "-a\n+b")], &["src/a.py"]), taken(&[]));
    assert_eq!(judged(vec![file("src/b.py", "-a\n+b")], &[]), taken(&[]), "no scope is known");
    // A new test belongs to every fix.
    let files = vec![file("src/a.py", "-a\n+b"), file("src/b.py", "-a\n+b"), file("tests/test_a.py", "+def test_a():")];
    assert_eq!(judged(files, &["src/a.py"]), taken(&["src/b.py"]));
    for path in [".github/workflows/ci.yml", ".GitHub/loopgate.yml", "CODEOWNERS", "docs/CODEOWNERS", "ci/loopgate.yml"]
    {
        let refused = judged(vec![file(path, "-a\n+b")], &[]);
        assert_eq!(refused, EditVerdict::Refuse(vec![EditRefusal::Protected { path: path.to_owned() }]), "{path}");
    }
    let weakened = judged(vec![file("tests/test_a.py", "-def test_a():")], &[]);
    assert!(
        matches!(&weakened, EditVerdict::Refuse(why) if why[0].to_string().contains("1 test fewer")),
        "{weakened:?}"
    );
    let unread = ChangedFiles::TooLarge { known: Vec::new(), reason: "the diff has 99 bytes".into() };
    assert!(matches!(judge_edits(&unread, &BTreeSet::new(), ""), EditVerdict::Refuse(_)));
}

#[test]
fn a_commit_tells_error_cause_fix_and_attempt() {
    let mut snapshot = fixtures::snapshot();
    snapshot.evidence = vec![fixtures::evidence(fixtures::sha(1), &["rounds_up"], &[])];
    let policy = fixtures::policy();
    let state = LoopState::begin(&snapshot, &policy, fixtures::start());
    let view = decide(&snapshot, &state, &policy, fixtures::start()).view;
    let said = FixMessage {
        description: Some("Round half away from zero.\nAs the tests ask for"),
        cause: None,
        change: "+1/-1 in src/lib.rs",
        attempt: 1,
        max_attempts: 4,
        run_id: "round-20261120-100000",
    };
    let message = fix_message(&view, &said);
    let lines: Vec<&str> = message.lines().collect();
    assert_eq!(lines[0], "fix(unit): round half away from zero. As the tests ask for");
    assert_eq!(lines[2], "Error: unit: rounds_up — assertion failed in rounds_up");
    assert!(lines[3].starts_with("Cause: "), "{message}");
    let end = [
        "Fix: Round half away from zero. As the tests ask for (+1/-1 in",
        "  src/lib.rs)",
        "Attempt 1/4",
        "",
        "Loopgate-Run: round-20261120-100000",
    ];
    assert!(message.trim_end().ends_with(&end.join("\n")), "{message}");
    let silent = FixMessage { description: None, ..said };
    assert!(fix_message(&view, &silent).lines().next().is_some_and(|subject| subject.chars().count() <= 72));
}

#[test]
fn a_long_subject_is_cut_between_words() {
    let many = "word ".repeat(30);
    let table = [
        ("fix(a): short", "fix(a): short"),
        (
            "fix(sums): handle a zero divisor before this line, and decide there what the result is",
            "fix(sums): handle a zero divisor before this line",
        ),
        (
            "fix(a): one, two or more words that nobody has put a comma into for all their length",
            "fix(a): one, two or more words that nobody has put a comma into for…",
        ),
    ];
    for (long, cut) in table {
        assert_eq!(headline(long), cut);
    }
    for text in [many.trim(), &"x".repeat(200), &"é".repeat(200)] {
        assert!(headline(text).chars().count() <= SUBJECT, "{text}");
    }
}
