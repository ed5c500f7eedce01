use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::*;
use crate::proof::Signer;
use loopgate_core::{
    PrNumber,
    deciding::Decision,
    fixtures::{Story, commit_by, login, person, sha},
    observed::{Lifecycle, ReviewVerdict},
    proof::Merge,
};
use loopgate_git::Git;
use loopgate_refs::{GitObjects as _, NewCommit, RefName, Save, archive_entry};

const KEY: &str = include_str!("../proof/testdata/not-a-secret.pem");

/// A run that ends with its merge.
struct Merged {
    story: Story,
    decision: Decision,
    checks: Vec<CheckEvidence>,
}

fn merged(is_approved: bool) -> Merged {
    let mut story = Story::opened();
    story.gate("security", "bob");
    story.snapshot.commits.items.push(commit_by(
        &person(1, "alice"),
        sha(1),
        "feat: x\n\nAgent: claude",
    ));
    let checks = story
        .push(1, &[], &["rounds"])
        .attempt
        .as_ref()
        .unwrap()
        .checks
        .clone();
    if is_approved {
        story.review(ReviewVerdict::Approved, "security approved");
    }
    story.snapshot.pull_request.lifecycle = Lifecycle::Merged {
        by: Some(login("bob")),
        at: Some(story.now),
    };
    let decision = story.decide().clone();
    Merged {
        story,
        decision,
        checks,
    }
}

impl Merged {
    fn signed(&self, commit: Sha) -> Envelope {
        let merge = Merge {
            commit,
            onto: sha(8),
            repository_url: "https://github.com/acme/widgets",
        };
        let statement = Statement::of(
            merge,
            &self.story.snapshot,
            &self.story.policy,
            &self.decision,
        )
        .unwrap();
        Signer::parse(KEY).unwrap().sign(&statement).unwrap()
    }

    fn check(&self, envelope: Envelope) -> MergeCheck {
        self.check_for(envelope, "acme/widgets")
    }

    fn check_for(&self, envelope: Envelope, repository: &str) -> MergeCheck {
        let statement = envelope.statement().ok();
        let (state, checks) = (Some(self.story.state.clone()), self.checks.clone());
        let found = FoundStatement {
            envelope,
            statement,
            state,
            checks,
        };
        let keys = Signer::parse(KEY).unwrap().keys;
        check(
            sha(9),
            &[sha(8), sha(1)],
            Some(found),
            &keys,
            &repository.parse().unwrap(),
        )
    }
}

#[test]
fn the_true_statement_is_verified() {
    let run = merged(true);
    let checked = run.check(run.signed(sha(9)));
    assert!(
        checked.verified && checked.keyid.is_some(),
        "{:?}",
        checked.problems
    );
    let words = words(&checked);
    for told in [
        "is what was checked and approved",
        "gate security: approved (bob on 0101",
        "check unit: passed (1 tests",
        "claude",
    ] {
        assert!(words.contains(told), "{words}");
    }
}

#[test]
fn ten_altered_statements_are_refused_and_what_differs_is_named() {
    let run = merged(true);
    let other = sha(7).to_string();
    let alterations: [(&str, Value, &str); 10] = [
        (
            "/subject/0/digest/gitCommit",
            json!(other),
            "merge commit: ",
        ),
        ("/subject/1/digest/gitCommit", json!(other), "head: "),
        (
            "/predicate/loopgate/repository",
            json!("acme/gadgets"),
            "repository: ",
        ),
        (
            "/predicate/loopgate/pull_request",
            json!(99),
            "pull request: ",
        ),
        ("/predicate/loopgate/run", json!("another"), "run: "),
        (
            "/predicate/loopgate/gates/0/approvals/0/by",
            json!("mallory"),
            "who approved security: ",
        ),
        (
            "/predicate/loopgate/gates/0/approvals/0/head",
            json!(other),
            "the head approved for security: ",
        ),
        (
            "/predicate/loopgate/gates/0/status",
            json!("rejected"),
            "gate security: ",
        ),
        (
            "/predicate/loopgate/checks/1/tests/passed",
            json!(400),
            "check ",
        ),
        (
            "/predicate/loopgate/agent_commits",
            json!([]),
            "the record of the run agrees",
        ),
    ];
    for (at, value, named) in alterations {
        let mut envelope = run.signed(sha(9));
        let mut statement = serde_json::to_value(envelope.statement().unwrap()).unwrap();
        *statement.pointer_mut(at).unwrap_or_else(|| panic!("{at}")) = value;
        envelope.payload = STANDARD.encode(statement.to_string());
        let checked = run.check(envelope);
        assert!(!checked.verified && checked.keyid.is_none(), "{at}");
        assert!(
            checked
                .problems
                .iter()
                .any(|problem| problem.contains("the statement was altered")),
            "{at}"
        );
        assert!(
            checked
                .problems
                .iter()
                .any(|problem| problem.starts_with(named)),
            "{at}: {:?}",
            checked.problems
        );
    }
}

#[test]
fn a_true_statement_about_a_fork_says_nothing_of_the_repository() {
    let run = merged(true);
    let checked = run.check_for(run.signed(sha(9)), "acme/upstream");
    assert!(
        !checked.verified,
        "the merge may have gone into a fork without gates"
    );
    assert_eq!(
        checked.problems,
        ["repository: the statement says acme/widgets, not acme/upstream"]
    );
}

#[test]
fn a_merge_that_nobody_approved_is_refused_though_its_statement_is_true() {
    let run = merged(false);
    let checked = run.check(run.signed(sha(9)));
    assert!(!checked.verified && checked.keyid.is_some());
    assert!(
        checked.problems[0].starts_with("no one approved the gate security"),
        "{:?}",
        checked.problems
    );
    let nothing = check(
        sha(9),
        &[],
        None,
        &Keys::default(),
        &"acme/widgets".parse().unwrap(),
    );
    assert_eq!(
        nothing.problems,
        ["no run here holds a signed statement about this commit"]
    );
}

/// The statement lies beside the state, also once that is archived, and everything is read from git alone.
#[tokio::test]
async fn statements_are_found_in_the_git_objects_of_a_clone() {
    let folder = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| {
        let who = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
        let said = Git::at(folder.path())
            .command(&[&who[..], arguments].concat())
            .run()
            .unwrap()
            .success()
            .unwrap();
        String::from_utf8(said).unwrap().trim().to_owned()
    };
    git(&["init", "-q"]);
    git(&["commit", "-q", "--allow-empty", "-m", "merge"]);
    let merge: Sha = git(&["rev-parse", "HEAD"]).parse().unwrap();
    let objects = LocalRepository::open(folder.path()).unwrap();
    assert!(find(&objects, merge, &[]).await.unwrap().is_none());

    let run = merged(true);
    let text = serde_json::to_string(&run.signed(merge)).unwrap();
    let store = StateStore::new(&objects, RefName::pull_request(PrNumber::new(12)));
    let loaded = store.load().await.unwrap();
    let save = Save {
        state: &run.story.state,
        lines: &[],
        attempt: None,
        artifact: "",
        subject: "merged",
        statement: Some(&text),
    };
    let tip = store.save(&loaded, &save).await.unwrap().unwrap();
    for _ in 0..2 {
        let found = find(&objects, merge, &[])
            .await
            .unwrap()
            .expect("a statement");
        assert_eq!(found.envelope, run.signed(merge));
        assert!(found.state.is_some());
        let (name, files) = (
            RefName::quarter(run.story.now),
            [archive_entry(PrNumber::new(12), tip)],
        );
        let quarter = NewCommit {
            keeps: &[tip],
            files: &files,
            subject: "archive",
            ..NewCommit::default()
        };
        let quarter = objects.write_commit(quarter).await.unwrap();
        let old = objects.read_ref(&name).await.unwrap();
        objects.compare_and_swap(&name, old, quarter).await.unwrap();
        objects
            .delete_ref(&RefName::pull_request(PrNumber::new(12)))
            .await
            .unwrap();
    }
    assert!(
        find(&objects, sha(3), &[]).await.unwrap().is_none(),
        "another commit"
    );
}
