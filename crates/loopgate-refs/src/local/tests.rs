use tempfile::TempDir;

use super::*;
use crate::{
    Save, StateStore,
    fixtures::{begun, line, sample_state},
};
use loopgate_core::PrNumber;

/// An empty repository of its own.
async fn repository() -> (TempDir, LocalRepository) {
    let directory = tempfile::tempdir().unwrap();
    let init = Git::at(directory.path()).command(&["init", "-q"]).run();
    init.and_then(GitOutput::success).unwrap();
    let repository = LocalRepository::open(directory.path()).unwrap();
    (directory, repository)
}

fn name() -> RefName {
    RefName::pull_request(PrNumber::new(12))
}

fn files(files: &[(&str, &str)]) -> Vec<(String, String)> {
    files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect()
}

#[tokio::test]
async fn files_are_written_and_earlier_ones_stay() {
    let (_directory, git) = repository().await;
    let first = files(&[("a.json", "1\n"), ("attempts/001.json", "one")]);
    let one = NewCommit {
        parent: None,
        files: &first,
        subject: "attempt 1: retry — 1 failed rule (unit)",
        ..NewCommit::default()
    };
    let one = git.write_commit(one).await.unwrap();
    git.compare_and_swap(&name(), None, one).await.unwrap();
    let second = files(&[("a.json", "2\n"), ("attempts/002.json", "two")]);
    let two = NewCommit {
        parent: Some(one),
        files: &second,
        subject: "attempt 2: proceed",
        ..NewCommit::default()
    };
    let two = git.write_commit(two).await.unwrap();
    git.compare_and_swap(&name(), Some(one), two).await.unwrap();

    assert_eq!(git.read_ref(&name()).await.unwrap(), Some(two));
    for (path, text) in [
        ("a.json", "2\n"),
        ("attempts/001.json", "one"),
        ("attempts/002.json", "two"),
    ] {
        assert_eq!(
            git.read_file(two, path, 10).await.unwrap().unwrap(),
            text.as_bytes(),
            "{path}"
        );
    }
    assert_eq!(
        git.read_file(one, "attempts/002.json", 10).await.unwrap(),
        None
    );
    assert_eq!(git.parent(two).await.unwrap(), Some(one));
    assert_eq!(git.parent(one).await.unwrap(), None);
    let log = git
        .git(&["log", "--format=%an %s", &name().to_string()], None)
        .await
        .unwrap();
    assert_eq!(
        String::from_utf8(log).unwrap(),
        "Loopgate attempt 2: proceed\nLoopgate attempt 1: retry — 1 failed rule (unit)\n"
    );
    git.git(&["fsck", "--strict"], None).await.unwrap();
}

#[tokio::test]
async fn a_ref_moves_only_from_where_it_was_seen() {
    let (_directory, git) = repository().await;
    let same = files(&[("a", "1")]);
    let commit = |subject| NewCommit {
        parent: None,
        files: &same,
        subject,
        ..NewCommit::default()
    };
    let (one, two) = (
        git.write_commit(commit("one")).await.unwrap(),
        git.write_commit(commit("two")).await.unwrap(),
    );
    git.compare_and_swap(&name(), None, one).await.unwrap();
    let moved = Err(RefsError::RefMoved { name: name() });
    assert_eq!(
        git.compare_and_swap(&name(), None, two).await,
        moved,
        "it exists already"
    );
    assert_eq!(
        git.compare_and_swap(&name(), Some(two), two).await,
        moved,
        "it is elsewhere"
    );
    git.delete_ref(&name()).await.unwrap();
    assert_eq!(
        git.compare_and_swap(&name(), Some(one), two).await,
        moved,
        "it is gone"
    );
    git.delete_ref(&name()).await.unwrap();
    assert_eq!(git.read_ref(&name()).await.unwrap(), None);
}

#[tokio::test]
async fn a_large_file_is_not_read() {
    let (_directory, git) = repository().await;
    let large = files(&[("a", "12345")]);
    let commit = git
        .write_commit(NewCommit {
            parent: None,
            files: &large,
            subject: "x",
            ..NewCommit::default()
        })
        .await
        .unwrap();
    assert_eq!(
        git.read_file(commit, "a", 4).await,
        Err(RefsError::TooLarge {
            path: "a".into(),
            limit: 4
        })
    );
}

#[tokio::test]
async fn outside_a_repository_it_refuses_and_says_how_to_start_one() {
    let directory = tempfile::tempdir().unwrap();
    let error = LocalRepository::open(directory.path()).unwrap_err();
    assert!(error.to_string().contains("git init"), "{error}");
}

#[tokio::test]
async fn a_whole_run_is_kept_in_real_git() {
    let (_directory, git) = repository().await;
    let store = StateStore::new(&git, RefName::task("fix-login").unwrap());
    let state = sample_state();
    let lines = [line(begun(), 1)];
    let save = Save {
        state: &state,
        lines: &lines,
        attempt: None,
        artifact: "",
        subject: "run started",
        statement: None,
    };
    store
        .save(&store.load().await.unwrap(), &save)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(store.load().await.unwrap().intact(), Some(&state));
    let branches = git.git(&["branch", "--all"], None).await.unwrap();
    assert!(branches.is_empty(), "hidden refs show in no branch list");
}
