use loopgate::github::GithubObjects;
use loopgate_core::PrNumber;
use loopgate_refs::{GitObjects as _, NewCommit, RefName, RefsError};

use crate::bench::{Bench, app};

fn files(files: &[(&str, &str)]) -> Vec<(String, String)> {
    files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect()
}

fn name() -> RefName {
    RefName::pull_request(PrNumber::new(1))
}

#[tokio::test]
async fn a_hidden_ref_is_made_moved_and_read_back_by_another_process() {
    let bench = Bench::new().await;
    let objects = GithubObjects::new(bench.client(), bench.repo.clone());
    assert_eq!(objects.read_ref(&name()).await.unwrap(), None);
    let first = files(&[("a.json", "1"), ("attempts/001.json", "one")]);
    let one = objects
        .write_commit(NewCommit {
            parent: None,
            files: &first,
            subject: "one",
            ..NewCommit::default()
        })
        .await
        .unwrap();
    objects.compare_and_swap(&name(), None, one).await.unwrap();
    let second = files(&[("a.json", "2"), ("attempts/002.json", "two")]);
    let two = objects
        .write_commit(NewCommit {
            parent: Some(one),
            files: &second,
            subject: "two",
            ..NewCommit::default()
        })
        .await
        .unwrap();
    objects
        .compare_and_swap(&name(), Some(one), two)
        .await
        .unwrap();

    let other = app(&bench.sim, &bench.clock).client(Some(bench.installation()));
    let other = GithubObjects::new(other, bench.repo.clone());
    assert_eq!(other.read_ref(&name()).await.unwrap(), Some(two));
    for (path, text) in [
        ("a.json", "2"),
        ("attempts/001.json", "one"),
        ("attempts/002.json", "two"),
    ] {
        assert_eq!(
            other.read_file(two, path, 10).await.unwrap().unwrap(),
            text.as_bytes(),
            "{path}"
        );
    }
    assert_eq!(other.read_file(two, "none", 10).await.unwrap(), None);
    assert_eq!(other.parent(two).await.unwrap(), Some(one));
    assert!(matches!(
        other.read_file(one, "attempts/001.json", 2).await,
        Err(RefsError::TooLarge { .. })
    ));

    other.delete_ref(&name()).await.unwrap();
    other.delete_ref(&name()).await.unwrap();
    assert_eq!(other.read_ref(&name()).await.unwrap(), None);
}

#[tokio::test]
async fn of_two_processes_one_moves_the_ref() {
    let bench = Bench::new().await;
    let mine = GithubObjects::new(bench.client(), bench.repo.clone());
    let theirs = app(&bench.sim, &bench.clock).client(Some(bench.installation()));
    let theirs = GithubObjects::new(theirs, bench.repo.clone());
    let same = files(&[("a", "1")]);
    let commit = |parent, subject| NewCommit {
        parent,
        files: &same,
        subject,
        ..NewCommit::default()
    };
    let one = mine.write_commit(commit(None, "one")).await.unwrap();
    let other = theirs.write_commit(commit(None, "other")).await.unwrap();
    mine.compare_and_swap(&name(), None, one).await.unwrap();
    let moved = Err(RefsError::RefMoved { name: name() });
    assert_eq!(
        theirs.compare_and_swap(&name(), None, other).await,
        moved,
        "it exists already"
    );
    let two = mine.write_commit(commit(Some(one), "two")).await.unwrap();
    let too = theirs.write_commit(commit(Some(one), "too")).await.unwrap();
    mine.compare_and_swap(&name(), Some(one), two)
        .await
        .unwrap();
    assert_eq!(
        theirs.compare_and_swap(&name(), Some(one), too).await,
        moved,
        "it is no fast-forward"
    );
    assert_eq!(theirs.read_ref(&name()).await.unwrap(), Some(two));
}

#[tokio::test]
async fn what_was_just_written_is_not_read_back() {
    let bench = Bench::new().await;
    let objects = GithubObjects::new(bench.client(), bench.repo.clone());
    let same = files(&[("a", "1")]);
    let one = objects
        .write_commit(NewCommit {
            parent: None,
            files: &same,
            subject: "one",
            ..NewCommit::default()
        })
        .await
        .unwrap();
    bench.sim.forget_requests();
    assert_eq!(
        objects.read_file(one, "a", 10).await.unwrap().unwrap(),
        b"1"
    );
    assert_eq!(objects.parent(one).await.unwrap(), None);
    assert_eq!(bench.sim.request_counts().total, 0);
}
