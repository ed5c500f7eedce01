//! When it was said, and what has changed since.

use loopgate_core::{
    observed::{ChangedFiles, Hint, Lifecycle, ReviewVerdict},
    state::GateStatus,
};

use crate::kit::*;

#[test]
fn an_approval_before_the_gates_trigger_appeared() {
    let mut snapshot = snapshot();
    snapshot.files = ChangedFiles::Complete(vec![file("README.md", "@@ -1 +1 @@\n+words")]);
    let mut talk = Talk::on(CONFIG, snapshot);
    talk.says("alice", "security approved");
    talk.is(
        Away,
        "➖ **security** does not apply here.\n\
         😕 alice’s comment does not count: nothing here needs this gate, so there is nothing to approve.",
    );
    talk.pushes(2, "steal();");
    talk.is(
        Closed,
        "😕 alice’s comment does not count: it was given for `01010101`, when nothing here needed this gate yet. \
         alice is asked to look and comment `security approved` anew.",
    );
}

#[test]
fn a_push_touching_the_gate() {
    let mut talk = Talk::opened();
    talk.says("alice", "security approved")
        .pushes(2, "let a = 2;");
    talk.is(
        Closed,
        "😕 alice’s comment does not count: it was given for `01010101`, and the code this gate is about has changed \
         since (`01010101…02020202`). alice is asked to look again and comment `security approved` anew.",
    );
    talk.wait(1).says("alice", "security approved");
    talk.is(Approved, "✅ **security** approved by alice on `02020202`.");
}

#[test]
fn a_push_not_touching_the_gate() {
    let mut talk = Talk::opened();
    talk.says("alice", "security approved");
    talk.pushes_files(
        2,
        vec![
            auth_file("let a = 1;"),
            file("README.md", "@@ -1 +1 @@\n+words"),
        ],
    );
    talk.is(Approved, "✅ **security** approved by alice on `01010101`.");
}

#[test]
fn a_rebase_and_a_merge_of_the_base() {
    let mut talk = Talk::opened();
    talk.says("alice", "security approved");
    talk.rebases(
        2,
        ["a\nb\nc\n", "a\nx\nb\nc\n", "a\nb\nC\n", "a\nx\nb\nC\n"],
    );
    talk.is(Approved, "✅ **security** approved by alice on `01010101`.");
}

#[test]
fn a_conflict_edited_merge() {
    let mut talk = Talk::opened();
    talk.says("alice", "security approved");
    let merged = "@@ -1,1 +1,2 @@\n fn login(user: User) {\n+let a = 1;";
    talk.pushes_files(2, vec![file("src/auth/login.rs", merged)]);
    talk.is(
        Closed,
        "😕 alice’s comment does not count: it was given for `01010101`, and the code this gate is about has changed \
         since (`01010101…02020202`). alice is asked to look again and comment `security approved` anew.",
    );
}

#[test]
fn a_push_between_typing_and_processing() {
    let mut talk = Talk::opened();
    // Alice read head 1; the push lands before anything is processed.
    talk.writes("alice", "security approved");
    talk.lands(2, vec![auth_file("steal();")]);
    talk.look();
    talk.is(
        Closed,
        "😕 alice’s comment does not count: it was given for `01010101`, and the code this gate is about has changed \
         since (`01010101…02020202`). alice is asked to look again and comment `security approved` anew.",
    );
}

#[test]
fn back_dated_commits() {
    let mut talk = Talk::opened();
    talk.says("alice", "security approved");
    talk.lands(2, vec![auth_file("steal();")]);
    // GitHub has known the commit from another branch since before the approval, and the event was lost.
    talk.snapshot.pull_request.head.known_since = Some(at(-60));
    talk.snapshot.hints.clear();
    talk.look();
    talk.is(
        Closed,
        "😕 alice’s comment does not count: it was given for `01010101`, and the code this gate is about has changed \
         since (`01010101…02020202`). alice is asked to look again and comment `security approved` anew.",
    );
}

#[test]
fn a_force_push_back() {
    let mut talk = Talk::opened();
    talk.says("alice", "security approved")
        .pushes(2, "let a = 2;")
        .pushes(1, "let a = 1;");
    talk.is(Approved, "✅ **security** approved by alice on `01010101`.");
}

#[test]
fn a_whole_commit_id_binds_to_it_and_a_short_one_does_not() {
    let mut talk = Talk::opened();
    talk.pushes(2, "let a = 2;")
        .says("alice", &format!("security approved {}", sha(1)));
    talk.is(
        Closed,
        "😕 alice’s comment does not count: it was given for `01010101`, and the code this gate is about has changed \
         since (`01010101…02020202`). alice is asked to look again and comment `security approved` anew.",
    );
    talk.says("alice", "security approved 0202020");
    talk.is(
        Closed,
        "😕 alice’s comment does not count: a commit counts only with all 40 digits: `security approved \
         0202020202020202020202020202020202020202`. Without a commit, `security approved` is enough.\n\
         😕 alice’s comment does not count: it was given for `01010101`, and the code this gate is about has changed \
         since (`01010101…02020202`). alice is asked to look again and comment `security approved` anew.",
    );
    talk.says("alice", &format!("security approved {}", sha(2)));
    talk.is(Approved, "✅ **security** approved by alice on `02020202`.");
}

#[test]
fn the_event_and_the_api_disagree_about_the_head() {
    let mut talk = Talk::opened();
    talk.writes("alice", "security approved");
    talk.snapshot.hints.push(Hint::HeadSeen {
        sha: sha(2),
        at: at(talk.now()),
    });
    talk.look();
    talk.is(
        Closed,
        "😕 alice’s comment does not count: GitHub gives two answers about which commit is the head. Loopgate looks \
         again by itself.",
    );
    talk.look();
    talk.is(Approved, "✅ **security** approved by alice on `01010101`.");
}

#[test]
fn a_review_of_an_older_commit() {
    let mut talk = Talk::under(&CONFIG.replace("approvers:", "approve_by: [review], approvers:"));
    talk.reviews("alice", ReviewVerdict::Approved, "")
        .pushes(2, "let a = 2;");
    talk.is(
        Closed,
        "😕 alice’s review does not count: it was given on an older commit (`01010101…02020202`). alice is asked to \
         look at the head and approve again.",
    );
    talk.reviews("alice", ReviewVerdict::Approved, "");
    talk.is(Approved, "✅ **security** approved by alice on `02020202`.");
    // Garbage collection took the commit.
    talk.snapshot
        .reviews
        .items
        .iter_mut()
        .for_each(|review| review.commit = None);
    talk.look();
    talk.is(
        Closed,
        "😕 alice’s review does not count: it was given on an older commit. alice is asked to look at the head and \
         approve again. (Written 2 times.)",
    );
}

#[test]
fn retargeted() {
    let mut talk = Talk::opened();
    talk.says("alice", "security approved");
    talk.snapshot.pull_request.base.branch = "release".into();
    talk.look();
    talk.is(
        Closed,
        "😕 alice’s comment does not count: it was given when the base branch was `main`, and that has changed. \
         alice is asked to look again and comment `security approved` anew.",
    );
}

#[test]
fn the_files_are_reverted() {
    let mut talk = Talk::opened();
    talk.pushes_files(2, vec![file("README.md", "@@ -1 +1 @@\n+words")]);
    talk.is(Away, "");
}

#[test]
fn too_large_to_read() {
    let mut talk = Talk::opened();
    let reason = "it changes more than 3,000 files".to_owned();
    talk.snapshot.files = ChangedFiles::TooLarge {
        known: vec![file("README.md", "@@ -1 +1 @@\n+x")],
        reason,
    };
    talk.look();
    talk.is(Closed, "");
    assert!(
        talk.status().contains("not all of it can be read"),
        "{}",
        talk.status()
    );
}

#[test]
fn a_closed_pull_request() {
    let mut talk = Talk::opened();
    talk.snapshot.pull_request.lifecycle = Lifecycle::Closed;
    talk.says("alice", "security approved");
    assert_eq!(
        talk.last.surface,
        Default::default(),
        "nothing is written on it"
    );
    assert_eq!(talk.last.view.gates[0].status, GateStatus::Requested);
    talk.snapshot.pull_request.lifecycle = Lifecycle::Open;
    talk.look();
    talk.is(Approved, "✅ **security** approved by alice on `01010101`.");
}

#[test]
fn a_draft() {
    let mut talk = Talk::opened();
    talk.snapshot.pull_request.is_draft = true;
    talk.says("alice", "security approved");
    talk.is(Approved, "✅ **security** approved by alice on `01010101`.");
}
