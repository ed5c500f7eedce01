//! W, A and S: how far it goes, what comes next, what is shown.

use super::*;
use crate::state::history::{CommandRun, Event, OwnCommand};

#[test]
fn without_a_usable_configuration_the_check_asks_for_action() {
    let error = ConfigError {
        file: ".github/loopgate.yml".into(),
        line: 1,
        column: 1,
        snippet: String::new(),
        message: "no".into(),
        hint: None,
    };
    let mut story = Story::opened();
    story.policy.origin = PolicyOrigin::Presets {
        broken_at: sha(0xba),
        error,
    };
    let decision = story.push(1, &[], &["rounds"]);
    assert_eq!(
        (decision.view.stage, &decision.view.held_by),
        (Stage::Init, &Some(Blocker::Configuration))
    );
    assert_eq!(decision.action, NextAction::Retry { attempt: 1 });
    let required = Some(CheckRunPlan::Completed(Conclusion::ActionRequired));
    assert_eq!(
        (decision.surface.verify, decision.surface.gates),
        (required, required)
    );
}

#[test]
fn validation_asks_for_a_kind_only_if_a_check_has_it() {
    for kind in [
        CheckKind::Security,
        CheckKind::Integration,
        CheckKind::Performance,
        CheckKind::Coverage,
    ] {
        let mut story = Story::opened();
        story.push(1, &[], &["rounds"]);
        assert_eq!(
            story.last.as_ref().unwrap().view.stage,
            Stage::Ship,
            "a kind without a check asks for nothing"
        );
        add_check(&mut story, "more", kind);
        let decision = story.decide();
        assert_eq!(
            decision.view.held_by,
            Some(Blocker::MissingEvidence(vec![name("more")])),
            "{kind:?}"
        );
    }
}

#[test]
fn gates_hold_their_own_transition() {
    let mut story = gated(Stage::Validate);
    let decision = story.push(1, &["rounds"], &[]);
    assert!(
        matches!(decision.view.held_by, Some(Blocker::Failing(_))),
        "what the head lacks comes first"
    );
    let decision = story.push(2, &[], &["rounds"]);
    assert_eq!(
        decision.action,
        NextAction::WaitForApproval {
            gate: "design".parse().unwrap()
        }
    );
    assert_eq!(decision.view.stage, Stage::Validate);
    let completed = |conclusion| Some(CheckRunPlan::Completed(conclusion));
    assert_eq!(decision.surface.verify, completed(Conclusion::Success));
    assert_eq!(
        decision.surface.gates,
        completed(Conclusion::ActionRequired)
    );
    let request = |round| Post::GateRequest {
        gate: "design".parse().unwrap(),
        round,
    };
    assert_eq!(decision.surface.posts, [request(1)]);

    let decision = story.comment("bob", "/reject design no");
    assert_eq!(
        (decision.view.stage, decision.surface.gates),
        (Stage::Implement, completed(Conclusion::Failure))
    );
    assert_eq!(decision.action, NextAction::Retry { attempt: 2 });
    let decision = story.comment("bob", "/approve design");
    assert_eq!(
        (decision.view.stage, decision.surface.gates),
        (Stage::Ship, completed(Conclusion::Success))
    );

    // What the approval covered changes: asked for again, in a new round.
    let ChangedFiles::Complete(files) = &mut story.snapshot.files else {
        panic!("complete")
    };
    files[0].blob = Some(sha(0x77));
    assert_eq!(story.push(3, &[], &["rounds"]).surface.posts, [request(2)]);
}

#[test]
fn stopped_by_a_person_until_resumed() {
    let mut story = Story::opened();
    story.push(1, &["rounds"], &[]);
    let decision = story.comment("bob", "/loop stop not now");
    assert_eq!(
        (&decision.action, decision.word()),
        (&NextAction::Stopped, DecisionWord::Wait)
    );
    assert_eq!(
        decision.surface.verify,
        Some(CheckRunPlan::Completed(Conclusion::ActionRequired))
    );
    assert!(decision.surface.labels["loop:waiting"].is_some());
    assert_eq!(story.state.run.stop.words.as_deref(), Some("not now"));
    assert_eq!(
        story.comment("bob", "/loop resume").action,
        NextAction::Retry { attempt: 1 }
    );
}

#[test]
fn given_up_without_calling_anybody() {
    let mut story = Story::opened();
    story.policy.retry.escalation_on_max = false;
    story.policy.retry.same_error = 9;
    for head in 1..=3 {
        story.push(head, &["rounds"], &[]);
    }
    let decision = story.last.as_ref().unwrap();
    assert_eq!(
        (&decision.action, story.state.run.status),
        (&NextAction::Stopped, RunStatus::Failed)
    );
    assert_eq!(
        decision.surface.verify,
        Some(CheckRunPlan::Completed(Conclusion::Failure))
    );
    assert!(decision.surface.posts.is_empty());
}

#[test]
fn a_merged_branch_goes_where_that_is_wished() {
    let goes = |delete_branch, repository: Option<&str>, lifecycle: Lifecycle| {
        let mut story = Story::opened();
        story.policy.delete_branch = delete_branch;
        story.snapshot.pull_request.head.repository = repository.map(|name| name.parse().unwrap());
        story.snapshot.pull_request.lifecycle = lifecycle;
        story.decide();
        let first = story.last.as_ref().unwrap().surface.delete_branch.clone();
        story.now += TimeDelta::hours(1);
        assert_eq!(
            story.decide().surface.delete_branch,
            None,
            "a branch restored later stays"
        );
        first
    };
    let merged = || Lifecycle::Merged { by: None, at: None };
    let (own, branch) = (
        Some("acme/widgets"),
        MergedBranch {
            name: "alice/round".to_owned(),
            sha: sha(1),
        },
    );
    assert_eq!(goes(true, own, merged()), Some(branch));
    assert_eq!(goes(false, own, merged()), None);
    assert_eq!(goes(true, Some("mallory/widgets"), merged()), None);
    assert_eq!(goes(true, own, Lifecycle::Closed), None);
}

#[test]
fn requested_changes_are_answered_with_a_push() {
    let mut story = Story::opened();
    story.snapshot.required_approvals = 1;
    story.push(1, &[], &["rounds"]);
    let decision = story.review(ReviewVerdict::ChangesRequested, "name it");
    assert_eq!(
        decision.view.held_by,
        Some(Blocker::ChangesRequested(login("bob")))
    );
    assert_eq!(decision.action.word(), DecisionWord::Retry);
}

#[test]
fn an_escalation_goes_where_the_policy_says() {
    let blocked = |channels: Vec<Channel>| {
        let mut story = Story::opened();
        story.policy.escalation.channels = channels;
        story.policy.retry.auto_retry_on_test_fail = false;
        story.push(1, &["rounds"], &[]);
        story
    };
    let story = blocked(vec![Channel::IssueComment, Channel::Cli]);
    let surface = &story.last.as_ref().unwrap().surface;
    assert_eq!((surface.posts.len(), surface.announce.len()), (1, 0));
    let mut story = blocked(vec![Channel::Slack, Channel::Email]);
    let surface = &story.decide().surface;
    assert_eq!(
        (surface.posts.len(), surface.announce.len()),
        (0, 2),
        "looking again says the same while it is fresh"
    );
    let (channel, post) = &surface.announce[0];
    assert_eq!(
        (*channel, post.key().as_str()),
        (Channel::Slack, "escalation:max_attempts_reached:1")
    );
    story.now += TimeDelta::minutes(5);
    assert!(story.decide().surface.announce.is_empty());
}

#[test]
fn approvers_are_called_where_the_policy_says_when_their_gate_opens() {
    let mut story = gated(Stage::Validate);
    story.policy.escalation.channels = vec![Channel::IssueComment, Channel::Slack];
    let announced = |decision: &Decision| -> Vec<(Channel, String)> {
        let announce = decision.surface.announce.iter();
        announce
            .map(|(channel, post)| (*channel, post.key()))
            .collect()
    };
    let request = vec![(Channel::Slack, "gate:design:1".to_owned())];
    assert_eq!(announced(story.push(1, &[], &["rounds"])), request);
    assert_eq!(
        announced(story.decide()),
        request,
        "looking again says the same while it is fresh"
    );
    story.now += TimeDelta::minutes(5);
    assert!(announced(story.decide()).is_empty());
}

#[test]
fn verify_stays_in_progress_while_evidence_is_awaited() {
    let mut story = Story::opened();
    assert_eq!(
        story.push(1, &["rounds"], &[]).surface.verify,
        Some(CheckRunPlan::Completed(Conclusion::Failure))
    );
    story.snapshot.evidence = vec![refused()];
    let decision = story.decide();
    assert!(matches!(
        decision.action,
        NextAction::WaitForEvidence { .. }
    ));
    assert_eq!(
        decision.surface.verify,
        Some(CheckRunPlan::InProgress),
        "nothing is known of the code"
    );
}

#[test]
fn only_approvals_of_the_very_head_let_its_runs_go() {
    let waiting = |count, codeowners| {
        let mut story = gated(Stage::Validate);
        let gate = story.policy.gates.values_mut().next().unwrap();
        (gate.preset, gate.approvers.count, gate.approvers.codeowners) =
            (preset("security"), count, codeowners);
        story.policy.approve_runs = true;
        story.snapshot.pull_request.head.repository = Some("mallory/widgets".parse().unwrap());
        story.snapshot.held_runs = vec![workflow(CheckProgress::Completed {
            conclusion: Conclusion::ActionRequired,
            at: None,
        })];
        story.decide();
        story
    };
    let lets_go = |decision: &Decision| {
        decision
            .surface
            .approve_runs
            .iter()
            .map(|run| run.get())
            .collect::<Vec<_>>()
    };
    let let_go = |decision: &Decision| {
        let own = decision.events.iter().filter_map(|line| match &line.event {
            Event::CommandRun(CommandRun::Own(command)) => Some(command.clone()),
            _ => None,
        });
        own.collect::<Vec<_>>()
    };
    let mut story = waiting(1, false);
    let decision = story.comment("bob", "/approve design");
    let (by, head) = (vec!["bob".parse().unwrap()], decision.next.head.sha);
    let told = OwnCommand::ApproveRuns {
        by,
        head,
        runs: [WorkflowRunId::new(5)].into(),
    };
    assert_eq!((lets_go(decision), let_go(decision)), (vec![5], vec![told]));
    let decision = story.decide();
    assert_eq!(let_go(decision), [], "it is told once");
    assert_eq!(
        (lets_go(decision), decision.word()),
        (vec![5], DecisionWord::Wait)
    );
    // The approval is kept over the next push, which it does not cover; that push needs an approval of its own.
    story.set_head(2);
    let decision = story.decide();
    assert_eq!(
        (decision.surface.gates, lets_go(decision)),
        (Some(CheckRunPlan::Completed(Conclusion::Success)), vec![])
    );
    assert_eq!(lets_go(story.comment("carol", "/approve design")), [5]);
    story.snapshot.pull_request.head.repository = Some(story.snapshot.repository.clone());
    assert_eq!(
        lets_go(story.decide()),
        [0; 0],
        "GitHub refuses it of the repository's own branches"
    );
    // One of two that count is of the head before; and whose files they own is not asked of each alone.
    for (count, codeowners) in [(2, false), (1, true)] {
        let mut story = waiting(count, codeowners);
        story.comment("bob", "/approve design");
        story.set_head(2);
        let decision = story.comment("carol", "/approve design");
        assert_eq!(
            (decision.view.gates[0].is_closed(), lets_go(decision)),
            (false, vec![]),
            "{count} {codeowners:?}"
        );
    }
}
