use super::*;
use crate::{
    fixtures::{Story, commit_by, gate_name, login, person, sha},
    observed::ReviewVerdict,
};

fn merged(approved: bool) -> (Story, Statement, Vec<CheckEvidence>) {
    let mut story = Story::opened();
    story.gate("security", "bob");
    story.touch("src/auth/login.rs", "let token = secret();");
    let message = "feat: sign in\n\nCo-authored-by: Claude <noreply@anthropic.com>";
    story
        .snapshot
        .commits
        .items
        .push(commit_by(&person(1, "alice"), sha(1), message));
    let checks = story
        .push(1, &[], &["rounds"])
        .attempt
        .as_ref()
        .expect("an attempt")
        .checks
        .clone();
    if approved {
        story.review(ReviewVerdict::Approved, "security approved");
    }
    story.snapshot.pull_request.lifecycle = Lifecycle::Merged {
        by: Some(login("bob")),
        at: Some(story.now),
    };
    let policy = story.policy.clone();
    let snapshot = story.snapshot.clone();
    let decision = story.decide().clone();
    let merge = Merge {
        commit: sha(9),
        onto: sha(8),
        repository_url: "https://github.com/acme/widgets",
    };
    let statement = Statement::of(merge, &snapshot, &policy, &decision).expect("it is merged");
    (story, statement, checks)
}

#[test]
fn a_statement_tells_who_approved_what_and_which_checks_ran() {
    let (story, statement, checks) = merged(true);
    insta::assert_snapshot!(serde_json::to_string_pretty(&statement).unwrap());
    assert_eq!(statement.objections(), Vec::<String>::new());
    assert_eq!(
        statement.differences(&story.state, &checks),
        Vec::<String>::new()
    );
}

#[test]
fn a_merge_that_nobody_approved_is_objected_to() {
    let (_, statement, _) = merged(false);
    let objections = statement.objections();
    assert!(
        objections[0].starts_with("no one approved the gate security"),
        "{objections:?}"
    );
    assert!(
        objections
            .iter()
            .any(|objection| objection.starts_with("merged over: ")),
        "{objections:?}"
    );
}

#[test]
fn an_open_pull_request_has_no_statement() {
    let mut story = Story::opened();
    let (snapshot, policy) = (story.snapshot.clone(), story.policy.clone());
    let decision = story.decide().clone();
    let merge = Merge {
        commit: sha(9),
        onto: sha(8),
        repository_url: "",
    };
    assert_eq!(Statement::of(merge, &snapshot, &policy, &decision), None);
}

#[test]
fn what_was_altered_is_named() {
    let (story, statement, checks) = merged(true);
    type Alteration = (&'static str, fn(&mut Statement));
    let alterations: [Alteration; 9] = [
        ("head: ", |it| it.subject[1].digest.commit = sha(7)),
        ("repository: ", |it| {
            it.predicate.loopgate.repository = "acme/gadgets".parse().unwrap()
        }),
        ("pull request: ", |it| {
            it.predicate.loopgate.pull_request = PrNumber::new(99)
        }),
        ("run: ", |it| it.predicate.loopgate.run.push('x')),
        ("attempt: ", |it| it.predicate.loopgate.attempt += 1),
        ("branch: ", |it| {
            it.predicate.branch = "refs/heads/release".to_owned()
        }),
        ("gates: ", |it| {
            it.predicate.loopgate.gates[0].name = gate_name("payments")
        }),
        ("who approved security: ", |it| {
            it.predicate.loopgate.gates[0].approvals[0].by = login("mallory")
        }),
        ("check unit: ", |it| {
            let unit = it
                .predicate
                .loopgate
                .checks
                .iter_mut()
                .find(|check| check.name.as_str() == "unit")
                .unwrap();
            unit.tests.as_mut().unwrap().passed += 40;
        }),
    ];
    for (what, alter) in alterations {
        let mut altered = statement.clone();
        alter(&mut altered);
        let found = altered.differences(&story.state, &checks);
        assert!(
            found.len() == 1 && found[0].starts_with(what),
            "{what} {found:?}"
        );
    }
}

#[test]
fn an_approval_after_the_merge_and_a_check_without_a_result_are_objected_to() {
    let (_, mut statement, _) = merged(true);
    let merged_at = statement.predicate.created_on;
    statement.predicate.loopgate.gates[0].approvals[0].at =
        merged_at + chrono::TimeDelta::seconds(1);
    statement.predicate.loopgate.checks[0].outcome = None;
    let objections = statement.objections();
    assert!(
        objections[0].starts_with("no one approved the gate security"),
        "{objections:?}"
    );
    assert!(
        objections[1].ends_with("did not end before the merge"),
        "{objections:?}"
    );
}
