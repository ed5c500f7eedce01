//! Asking a fixer that works elsewhere (kinds `mention` and `dispatch`) to mend a pull request: when, and with what.
//!
//! Asked once for each failing attempt, found again by the marker of the comment that says so. Never on a fork: the
//! fixer would push to a branch that is not the repository's, with rights its owner never gave (surfaces.md, The fixer).

use serde_json::{Value, json};

use super::{
    decision::{FeedbackLine, NextAction},
    ids::Sha,
    policy::{DispatchFixer, Fixer, Policy},
    snapshot::Snapshot,
    state::{AttemptDigest, LoopState},
};

/// A fixer that is to be asked.
#[derive(Clone, Debug, PartialEq)]
pub struct FixRequest {
    /// The failing attempt it is to mend.
    pub attempt: u32,
    /// The workflow to start; none where naming the fixer in a comment is all.
    pub dispatch: Option<Dispatch>,
}

/// A workflow that is started with the feedback.
#[derive(Clone, Debug, PartialEq)]
pub struct Dispatch {
    pub to: DispatchFixer,
    /// The head branch: a `workflow_dispatch` runs there.
    pub branch: String,
    pub payload: Value,
}

/// Items of feedback that travel with a request. GitHub takes 64 KB; this stays far below.
const ITEMS: usize = 20;

/// How many failing attempts a fixer elsewhere has been asked, or is to be asked, to mend.
pub fn asked(state: &LoopState) -> u32 {
    let spent = state.attempts.iter().filter(|attempt| attempt.spent()).count();
    u32::try_from(spent).unwrap_or(u32::MAX)
}

/// Whether more attempts have failed than the budget pays for.
pub fn is_budget_used_up(state: &LoopState, policy: &Policy) -> bool {
    works_elsewhere(&policy.fixer.fixer) && policy.fixer.budget.attempts.is_some_and(|most| asked(state) > most)
}

const fn works_elsewhere(fixer: &Fixer) -> bool {
    matches!(fixer, Fixer::Mention(_) | Fixer::Dispatch(_))
}

/// The request that this decision makes of the fixer, if it makes one.
pub fn request(
    snapshot: &Snapshot,
    state: &LoopState,
    policy: &Policy,
    action: &NextAction,
    feedback: &[FeedbackLine],
) -> Option<FixRequest> {
    let head = &snapshot.pull_request.head;
    let is_fork = head.repository.as_ref() != Some(&snapshot.repository);
    let fails = state.attempt_of(head.sha).is_some_and(AttemptDigest::spent);
    let NextAction::Retry { attempt } = action else { return None };
    if is_fork || !fails || is_budget_used_up(state, policy) {
        return None;
    }
    let dispatch = match &policy.fixer.fixer {
        Fixer::Mention(_) => None,
        Fixer::Dispatch(to) => Some(Dispatch {
            to: to.clone(),
            branch: head.branch.clone(),
            payload: payload(snapshot, *attempt, policy.retry.max_attempts, head.sha, feedback),
        }),
        Fixer::Author | Fixer::Command(_) => return None,
    };
    Some(FixRequest { attempt: *attempt, dispatch })
}

fn payload(snapshot: &Snapshot, attempt: u32, max_attempts: u32, head: Sha, feedback: &[FeedbackLine]) -> Value {
    let short = |text: &str| text.chars().take(500).collect::<String>();
    let items: Vec<Value> = feedback
        .iter()
        .take(ITEMS)
        .map(|item| {
            json!({ "location": short(&item.location), "problem": short(&item.problem), "action": short(&item.action),
                    "reason": short(&item.reason), "reproduce": item.reproduce.as_deref().map(short) })
        })
        .collect();
    json!({
        "schema": "loopgate.fix-request/v1",
        "pull_request": snapshot.pull_request.number,
        "branch": snapshot.pull_request.head.branch,
        "head_sha": head,
        "attempt": attempt,
        "max_attempts": max_attempts,
        "feedback": items,
        "not_shown": feedback.len().saturating_sub(ITEMS),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::{
        decision::Post,
        fixtures::Story,
        policy::{FixerBudget, FixerPolicy},
    };

    fn story(fixer: Fixer, attempts: Option<u32>) -> Story {
        let mut story = Story::opened();
        story.policy.fixer = FixerPolicy { fixer, budget: FixerBudget { attempts, ..FixerBudget::default() } };
        story.policy.retry.max_attempts = 9;
        story.policy.retry.same_error = 9;
        story
    }

    fn mention() -> Fixer {
        Fixer::Mention("copilot".parse().unwrap())
    }

    fn asked_for(story: &Story) -> Vec<u32> {
        let surface = &story.last.as_ref().unwrap().surface;
        let posts = surface.posts.iter().filter_map(|post| match post {
            Post::FixRequest { attempt } => Some(*attempt),
            _ => None,
        });
        posts.collect()
    }

    #[test]
    fn a_fixer_is_asked_once_for_each_failing_attempt() {
        let mut story = story(mention(), None);
        story.push(1, &["a"], &[]);
        assert_eq!(asked_for(&story), [1]);
        story.decide();
        assert_eq!(asked_for(&story), [1], "the same marker, found again");
        story.push(2, &["b"], &[]);
        assert_eq!(asked_for(&story), [2]);
        story.push(3, &[], &["a", "b"]);
        assert_eq!(asked_for(&story), [0; 0], "nothing is left to mend");
    }

    #[test]
    fn nobody_is_asked_on_a_fork_or_where_the_author_fixes() {
        for (fixer, repository) in
            [(mention(), Some("mallory/widgets")), (mention(), None), (Fixer::Author, Some("acme/widgets"))]
        {
            let mut story = story(fixer, None);
            story.snapshot.pull_request.head.repository = repository.map(|name| name.parse().unwrap());
            story.push(1, &["a"], &[]);
            assert_eq!(asked_for(&story), [0; 0], "{repository:?}");
        }
    }

    #[test]
    fn when_the_budget_is_used_up_a_person_is_called() {
        let mut story = story(mention(), Some(1));
        story.push(1, &["a"], &[]);
        assert_eq!(asked_for(&story), [1]);
        story.push(2, &["b"], &[]);
        assert_eq!(asked_for(&story), [0; 0]);
        let cause = story.state.blocked.as_ref().map(|blocked| blocked.trigger);
        assert_eq!(cause, Some(crate::core::escalation::Trigger::BudgetExhausted));
    }

    #[test]
    fn a_workflow_gets_the_feedback() {
        let to = DispatchFixer::Repository { event_type: "fix".into() };
        let mut story = story(Fixer::Dispatch(to.clone()), None);
        story.push(1, &["a"], &[]);
        let dispatch = story.last.as_ref().unwrap().surface.fix.clone().and_then(|fix| fix.dispatch).unwrap();
        assert_eq!((dispatch.to, dispatch.branch.as_str()), (to, "alice/round"));
        assert_eq!(dispatch.payload["attempt"], json!(1));
        assert!(dispatch.payload["feedback"][0]["action"].as_str().is_some_and(|action| !action.is_empty()));
        // GitHub takes ten properties at the top of a client_payload.
        assert!(dispatch.payload.as_object().is_some_and(|fields| fields.len() <= 10));
    }
}
