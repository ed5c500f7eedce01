use super::*;
use crate::observed::{ChangedFile, FileStatus};

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
    let EditVerdict::Refuse(why) = &weakened else { panic!("{weakened:?}") };
    assert!(matches!(&why[0], EditRefusal::Weakens(Tampering::TestsRemoved { fewer: 1, .. })), "{why:?}");
    let unread = ChangedFiles::TooLarge { known: Vec::new(), reason: "the diff has 99 bytes".into() };
    assert!(matches!(judge_edits(&unread, &BTreeSet::new(), ""), EditVerdict::Refuse(_)));
}
