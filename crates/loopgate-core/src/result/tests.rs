use super::*;
use crate::{
    deciding::{Decision, NextAction, Part, stages::Blocker},
    fixtures::Story,
    observed::{Lifecycle, PullRequest, ReviewVerdict},
    policy::{Phase, ReviewRequirement},
};

/// Holds the tree of a decision against its walk over the stages: every decision of a [`Story`] is asked.
pub fn agrees_with_the_walk(decision: &Decision, pull_request: &PullRequest) {
    let items = tree(decision, pull_request);
    if pull_request.lifecycle != Lifecycle::Open {
        let holds = |item: &Item<'_>| item.status == ItemStatus::Holds || item.who.is_some();
        assert!(!items.iter().any(holds), "{items:?}");
        return;
    }
    let all_of = |id: ItemId| items.iter().filter(move |item| item.id == id);
    let has = |id: ItemId| all_of(id).next().is_some();
    let check_is = |name: &crate::CheckName, wanted: ItemStatus| {
        items.iter().any(|item| {
            matches!(item.about, About::Check(check) if check.name == *name)
                && item.status == wanted
        })
    };
    let view = &decision.view;
    match &view.held_by {
        None => panic!("an open pull request waits for its merge at least"),
        Some(Blocker::MissingEvidence(checks)) => {
            for name in checks {
                assert!(check_is(name, ItemStatus::Unknown), "{name}: {items:?}");
            }
        }
        Some(Blocker::Failing(checks)) => {
            for name in checks {
                assert!(check_is(name, ItemStatus::Holds), "{name}: {items:?}");
            }
        }
        Some(Blocker::Evaluation(_)) => assert!(has(ItemId::ScoreShort), "{items:?}"),
        Some(Blocker::Gate(name)) => {
            let holds = |item: &Item<'_>| {
                matches!(item.about, About::Gate(gate) if gate.name == *name)
                    && item.status == ItemStatus::Holds
            };
            assert!(items.iter().any(holds), "{items:?}");
        }
        Some(Blocker::Capability(_)) => assert!(has(ItemId::CapabilityOpen), "{items:?}"),
        Some(Blocker::Draft) => assert!(has(ItemId::DraftNotReady), "{items:?}"),
        Some(Blocker::Review { .. }) => assert!(has(ItemId::ReviewMissing), "{items:?}"),
        Some(Blocker::ChangesRequested(_)) => {
            assert!(has(ItemId::ReviewChangesRequested), "{items:?}");
        }
        Some(Blocker::Merge) => assert!(has(ItemId::MergeOpen), "{items:?}"),
        Some(Blocker::Configuration) => {
            assert!(has(ItemId::ConfigurationUnreadable), "{items:?}");
        }
    }
    // What is ready to merge has nothing else that holds it.
    if decision.action == NextAction::WaitForMerge {
        let beside = |item: &&Item<'_>| {
            item.status == ItemStatus::Holds
                && !matches!(item.id, ItemId::MergeOpen | ItemId::StackBeneath)
        };
        let beside: Vec<_> = items.iter().filter(beside).collect();
        assert!(beside.is_empty(), "{beside:?}");
    }
    let calls = items
        .iter()
        .filter(|item| item.id == ItemId::CallOpen)
        .count();
    assert_eq!(calls, usize::from(view.escalation.is_some()));
}

/// Each item in a line: its status, its id, who acts, and the stage that it holds.
fn lines(story: &Story) -> Vec<String> {
    let decision = story.last.as_ref().unwrap();
    let line = |item: &Item<'_>| {
        let who = item.who.map_or("nobody", Part::as_str);
        let stage = item.stage.map_or("no stage", |stage| stage.as_str());
        let id = serde_json::json!(item.id);
        format!("{} {} {who} {stage}", item.status, id.as_str().unwrap())
    };
    let items = tree(decision, &story.snapshot.pull_request);
    items
        .iter()
        .filter(|item| item.id != ItemId::Note)
        .map(line)
        .collect()
}

#[test]
fn what_holds_what_is_not_known_and_what_is_satisfied_stand_in_one_tree() {
    let mut story = Story::opened();
    story.gate("security", "bob");
    story.policy.retry.review = ReviewRequirement::Required;
    story.decide();
    assert_eq!(
        lines(&story),
        [
            "passed configuration.read nobody INIT",
            "unknown check.missing ci SCAFFOLD",
            "unknown check.missing ci TEST",
            "unknown score.unknown ci VERIFY",
            "holds gate.waits approver VALIDATE",
            "passed draft.ready nobody DOCUMENT",
            "holds review.missing reviewer REVIEW",
        ]
    );
    story.push(1, &["a"], &["b"]);
    assert_eq!(
        lines(&story)[1..5],
        [
            "passed check.passed nobody SCAFFOLD",
            "holds check.failed author TEST",
            "holds score.short author VERIFY",
            "holds gate.waits approver VALIDATE",
        ]
    );
    story.push(2, &[], &["a", "b"]);
    story.comment("bob", "security approved");
    story.review(ReviewVerdict::Approved, "");
    assert_eq!(
        lines(&story)[2..],
        [
            "passed check.passed nobody TEST",
            "passed score.reached nobody VALIDATE",
            "passed gate.approved nobody VALIDATE",
            "passed draft.ready nobody DOCUMENT",
            "passed review.approved nobody REVIEW",
            "holds merge.open merger SHIP",
        ]
    );
}

#[test]
fn a_score_has_its_rules_beneath_it() {
    let mut story = Story::opened();
    story.push(1, &["a"], &[]);
    let decision = story.last.as_ref().unwrap();
    assert_eq!(decision.view.evaluation.phase, Phase::A);
    let items = tree(decision, &story.snapshot.pull_request);
    let score = items
        .iter()
        .find(|item| item.id == ItemId::ScoreShort)
        .unwrap();
    let rules: Vec<_> = score
        .children
        .iter()
        .map(|rule| (rule.id, rule.status))
        .collect();
    assert_eq!(
        rules,
        [
            (ItemId::RuleMet, ItemStatus::Passed),
            (ItemId::RuleUnmet, ItemStatus::Holds),
        ]
    );
}

#[test]
fn nothing_holds_what_is_merged() {
    let mut story = Story::opened();
    story.gate("security", "bob");
    story.push(1, &["a"], &[]);
    story.snapshot.pull_request.lifecycle = Lifecycle::Merged {
        by: None,
        at: Some(story.now),
    };
    story.decide();
    assert_eq!(
        lines(&story)[2..6],
        [
            "advises check.failed nobody TEST",
            "advises score.short nobody VERIFY",
            "advises gate.waits nobody VALIDATE",
            "passed draft.ready nobody DOCUMENT",
        ]
    );
}
