//! Checks of which nothing is heard: how long they are waited for, who is called, and what ends it.

use super::*;
use crate::{
    concerns::checks::{Silence, external::silent_runs},
    ids::Login,
    observed::Commit,
    policy::Recipient,
};

/// Beside build and unit, which pass, a job of GitHub Actions is followed of which nothing is heard.
fn silent() -> Story {
    let mut story = Story::opened();
    story.policy.escalation.ops = vec![Recipient::User("olga".parse().unwrap())];
    story.policy.verify.checks.insert(
        name("integration"),
        CheckPolicy {
            kind: CheckKind::Integration,
            source: CheckSource::External(ExternalSource {
                name: NameGlob::parse("integration").unwrap(),
                app: Some("github-actions".to_owned()),
                when_skipped: WhenSkipped::default(),
            }),
            is_detected: false,
        },
    );
    story.snapshot.evidence = vec![evidence(sha(1), &[], &["rounds"])];
    story.decide();
    story
}

/// Its time is over.
fn overdue(story: &mut Story) -> &Decision {
    story.now += story.policy.retry.evidence_timeout;
    story.decide()
}

fn job(called: &str, progress: CheckProgress) -> ExternalCheck {
    ExternalCheck {
        name: called.to_owned(),
        app: Some("github-actions".to_owned()),
        progress,
        ..check(9)
    }
}

const PASSED: CheckProgress = CheckProgress::Completed {
    conclusion: Conclusion::Success,
    at: None,
};

fn calls(story: &Story) -> Vec<String> {
    let posts = story.posts().into_iter();
    posts.filter(|key| key.starts_with("escalation:")).collect()
}

fn silence(decision: &Decision) -> Option<&Silence> {
    match standing(decision, "integration") {
        CheckStanding::NoReport { silence } => Some(silence),
        _ => None,
    }
}

fn commit(message: &str, by: &str) -> Commit {
    Commit {
        sha: sha(1),
        message: message.to_owned(),
        author: Some(person(41, by)),
        committer: None,
        author_email: String::new(),
        committer_email: String::new(),
        update_merge: false,
    }
}

#[test]
fn a_check_that_never_reports_calls_a_person_once_and_costs_no_attempt() {
    let mut story = silent();
    let before = story.last.as_ref().unwrap();
    assert_eq!(standing(before, "integration"), &CheckStanding::Missing);
    assert_eq!(before.surface.verify, Some(CheckRunPlan::InProgress));
    let due = before.revisit_at.expect("the end of its time");
    assert!(due <= story.now + story.policy.retry.evidence_timeout);

    let decision = overdue(&mut story);
    assert_eq!(
        silence(decision),
        Some(&Silence::Unexplained { beside: vec![] })
    );
    let cause = Trigger::NoReport;
    assert_eq!(decision.action, NextAction::Escalate { cause });
    let verify = Some(CheckRunPlan::Completed(Conclusion::ActionRequired));
    assert_eq!(decision.surface.verify, verify);
    let called = &decision.view.escalation.as_ref().unwrap().recipients;
    let olga: Login = "olga".parse().unwrap();
    assert!(called.iter().eq([&Recipient::User(olga)]));
    assert!(
        story.state.attempts.counted.is_empty() && story.state.concerns.checks.outage.is_none()
    );
    assert_eq!(calls(&story), ["escalation:no_report:0"]);
    let decision = story.decide();
    assert_eq!(decision.action, NextAction::WaitForHuman { cause });

    // Late, and it counts as usual.
    story.snapshot.checks = vec![job("integration", PASSED)];
    let decision = story.decide();
    assert_eq!(decision.action, NextAction::WaitForMerge);
    let verify = Some(CheckRunPlan::Completed(Conclusion::Success));
    assert_eq!(decision.surface.verify, verify);
    assert_eq!(story.state.attempts.counted.len(), 1);
}

#[test]
fn a_person_is_called_again_only_where_the_check_has_reported_in_between() {
    let next_head = |story: &mut Story, head: u8| {
        story.snapshot.checks.clear();
        story.push(head, &[], &["rounds"]);
        overdue(story);
        (calls(story), story.last.as_ref().unwrap().action.clone())
    };
    let mut story = silent();
    overdue(&mut story);
    let (told, action) = next_head(&mut story, 2);
    assert!(told.is_empty());
    let missing = vec![name("integration")];
    assert_eq!(action, NextAction::WaitForEvidence { missing });
    let verify = Some(CheckRunPlan::Completed(Conclusion::ActionRequired));
    assert_eq!(story.last.as_ref().unwrap().surface.verify, verify);

    story.snapshot.checks = vec![job("integration", PASSED)];
    story.decide();
    let (told, _) = next_head(&mut story, 3);
    assert_eq!(told, ["escalation:no_report:1"]);

    // A skipped job is a report, too.
    story.snapshot.checks = vec![job(
        "integration",
        CheckProgress::Completed {
            conclusion: Conclusion::Skipped,
            at: None,
        },
    )];
    story.decide();
    let (told, _) = next_head(&mut story, 4);
    assert_eq!(told.len(), 1);

    // Who takes it up again is not called for the same silence.
    let resumed = story.comment("bob", "/loop resume").action.clone();
    let missing = vec![name("integration")];
    assert_eq!(resumed, NextAction::WaitForEvidence { missing });
}

#[test]
fn what_the_author_has_to_mend_comes_first() {
    let mut story = silent();
    story.snapshot.evidence = vec![evidence(sha(1), &["rounds"], &[])];
    let decision = overdue(&mut story);
    assert_eq!(decision.action, NextAction::Retry { attempt: 1 });
    assert_eq!(calls(&story), [""; 0]);
    assert_eq!(
        story.state.attempts.counted[0].failed_checks,
        [name("unit"), name("integration")]
    );
}

#[test]
fn a_workflow_that_has_not_ended_may_yet_bring_the_check() {
    let mut story = silent();
    let url = Some("https://github.com/acme/widgets/actions/runs/5".to_owned());
    let run = |progress| WorkflowRun {
        url: url.clone(),
        ..workflow(progress)
    };
    story.snapshot.all_runs = vec![run(CheckProgress::Queued)];
    let decision = overdue(&mut story);
    assert_eq!(
        standing(decision, "integration"),
        &CheckStanding::Running {
            url: url.clone(),
            is_queued: true
        }
    );
    assert!(matches!(
        decision.action,
        NextAction::WaitForEvidence { .. }
    ));
    assert!(
        decision.revisit_at.is_some(),
        "no event may tell of its end"
    );
    story.snapshot.all_runs = vec![run(PASSED)];
    let cause = Trigger::NoReport;
    assert_eq!(story.decide().action, NextAction::Escalate { cause });
}

#[test]
fn what_keeps_a_check_from_starting_is_the_authors_and_calls_nobody() {
    let word = |message: &str| {
        let mut story = silent();
        story.snapshot.commits.items = vec![commit(message, "alice")];
        silence(story.decide()).cloned()
    };
    let skips = |word: &str| {
        let word = word.to_owned();
        Some(Silence::SkipWord { word })
    };
    assert_eq!(word("docs: a word [skip ci]"), skips("[skip ci]"));
    assert_eq!(
        word("docs\n\nskip-checks: true\n"),
        skips("skip-checks: true")
    );
    assert_eq!(word("docs: skip-checks: true, or not"), None);

    let mut story = silent();
    story.snapshot.pull_request.is_mergeable = Some(false);
    let decision = story.decide();
    assert_eq!(silence(decision), Some(&Silence::Conflict), "at once");
    let missing = vec![name("integration")];
    assert_eq!(decision.action, NextAction::WaitForEvidence { missing });
    let verify = Some(CheckRunPlan::Completed(Conclusion::ActionRequired));
    assert_eq!(decision.surface.verify, verify);
    overdue(&mut story);
    assert_eq!(calls(&story), [""; 0]);
    assert!(story.state.attempts.counted.is_empty());
    // While a workflow of the head runs or ran, a check may only be late.
    story.snapshot.all_runs = vec![workflow(PASSED)];
    story.snapshot.pull_request.head.sha = sha(2);
    story.decide();
    assert_eq!(silence(story.last.as_ref().unwrap()), None);

    // The workflow's own token starts none, but another's may, a little later.
    let mut story = silent();
    story.snapshot.commits.items = vec![commit("chore: format", "github-actions[bot]")];
    assert_eq!(silence(story.decide()), None);
    assert_eq!(silence(overdue(&mut story)), Some(&Silence::WorkflowToken));
}

#[test]
fn jobs_beside_it_that_no_check_follows_are_named() {
    let mut story = silent();
    let other = ExternalCheck {
        app: Some("other-ci".to_owned()),
        ..job("scan", PASSED)
    };
    story.snapshot.checks = vec![job("integration-tests", PASSED), other];
    let beside = vec!["integration-tests".to_owned()];
    assert_eq!(
        silence(overdue(&mut story)),
        Some(&Silence::Unexplained { beside })
    );
}

#[test]
fn a_workflow_that_ends_without_evidence_is_named() {
    let mut story = Story::opened();
    story.snapshot.workflow_runs = vec![workflow(PASSED)];
    story.snapshot.all_runs = story.snapshot.workflow_runs.clone();
    story.decide();
    let decision = overdue(&mut story);
    let silence = Silence::EndedWithout;
    assert_eq!(
        standing(decision, "unit"),
        &CheckStanding::NoReport { silence }
    );
    assert_eq!(silent_runs(&story.snapshot).count(), 1);
}
