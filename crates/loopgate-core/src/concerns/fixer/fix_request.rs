//! Asking a fixer that works elsewhere (kinds `mention` and `dispatch`) to mend a pull request: whom and when.
//!
//! A fixer is asked once for each failing attempt; the marker of the comment that asks shows that it was asked. No
//! fixer is asked on a fork: it would push to a branch that is not the repository's, with rights its owner never gave.

use crate::{
    concerns::fixer::senior_fixer,
    ids::Timestamp,
    policy::{Context, Fixer, Policy, backoff},
    state::LoopState,
};

/// Which of the two fixers is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Whom {
    /// `fixer`, for each failing attempt.
    Fixer,
    /// `escalation.senior`, once in a run.
    Senior,
}

impl Whom {
    /// What the configuration says of it.
    pub const fn of(self, policy: &Policy) -> Option<&Fixer> {
        match self {
            Self::Fixer => Some(&policy.fixer.fixer),
            Self::Senior => policy.escalation.senior.as_ref(),
        }
    }
}

/// A fixer elsewhere has its turn on the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixTurn {
    pub whom: Whom,
    /// The failing attempt it is to mend.
    pub attempt: u32,
    /// When it is asked; in the past, it has been.
    pub at: Timestamp,
}

/// How many failing attempts a fixer elsewhere has been asked, or is to be asked, to mend.
pub fn asked(state: &LoopState) -> u32 {
    let spent = state
        .attempts
        .counted
        .iter()
        .filter(|attempt| attempt.spent())
        .count();
    u32::try_from(spent).unwrap_or(u32::MAX)
}

/// Whether more attempts have failed than the budget pays for.
pub fn is_budget_used_up(state: &LoopState, policy: &Policy) -> bool {
    policy.fixer.fixer.works_elsewhere()
        && policy
            .fixer
            .budget
            .attempts
            .is_some_and(|most| asked(state) > most.0)
}

/// The fixer that is to work on the head now, if one is. Between automatic attempts `loop.backoff` waits, in the steps
/// of `loop.external_retry.workflows`: what is asked here takes minutes, not seconds. `retried` is the attempt that is
/// to be mended, where one is.
pub fn turn(cx: Context<'_>, state: &LoopState, retried: Option<u32>) -> Option<FixTurn> {
    let Context {
        snapshot, policy, ..
    } = cx;
    let failed = state
        .attempt_of(snapshot.pull_request.head.sha)
        .filter(|attempt| attempt.spent())?;
    if let Some(call) =
        senior_fixer::at_work(cx, state).filter(|call| call.head_sha == failed.head_sha)
    {
        return Some(FixTurn {
            whom: Whom::Senior,
            attempt: call.attempt,
            at: call.since,
        });
    }
    let attempt = retried?;
    if !snapshot.has_own_branch()
        || !policy.fixer.fixer.works_elsewhere()
        || is_budget_used_up(state, policy)
    {
        return None;
    }
    let calls = asked(state).saturating_sub(1);
    let wait = backoff(
        policy.retry.backoff,
        calls,
        &policy.retry.external_retry.workflows,
    );
    Some(FixTurn {
        whom: Whom::Fixer,
        attempt,
        at: failed.at + wait,
    })
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::{
        deciding::Post,
        fixtures::Story,
        policy::{Backoff, FixerBudget, FixerPolicy, Whole},
    };

    fn story(fixer: Fixer, attempts: Option<u32>) -> Story {
        let mut story = Story::opened();
        story.policy.fixer = FixerPolicy {
            fixer,
            budget: FixerBudget {
                attempts: attempts.map(Whole),
                ..FixerBudget::default()
            },
        };
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
            Post::FixRequest {
                whom: Whom::Fixer,
                attempt,
            } => Some(*attempt),
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
        for (fixer, repository) in [
            (mention(), Some("mallory/widgets")),
            (mention(), None),
            (Fixer::Author, Some("acme/widgets")),
        ] {
            let mut story = story(fixer, None);
            story.snapshot.pull_request.head.repository =
                repository.map(|name| name.parse().unwrap());
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
        let cause = story
            .state
            .people
            .blocked
            .as_ref()
            .map(|blocked| blocked.trigger);
        assert_eq!(cause, Some(crate::policy::Trigger::BudgetExhausted));
    }

    #[test]
    fn between_automatic_attempts_the_fixer_is_asked_after_a_wait() {
        let mut story = story(mention(), None);
        (
            story.policy.retry.backoff,
            story.policy.retry.total_failures,
        ) = (Backoff::Linear, 99);
        for (head, error, minutes) in [(1, "a", 0), (2, "b", 1), (3, "c", 2)] {
            story.push(head, &[error], &[]);
            let failed = story.state.attempts.counted.last().unwrap().at;
            let due = failed + TimeDelta::minutes(minutes);
            if minutes > 0 {
                assert_eq!(asked_for(&story), [0; 0], "not before its time");
                assert_eq!(story.last.as_ref().unwrap().revisit_at, Some(due));
                story.now = due - TimeDelta::minutes(1);
                story.decide();
            }
            assert_eq!(asked_for(&story), [u32::from(head)]);
        }
        // A push in the meantime leaves nothing to ask for.
        story.push(4, &["d"], &[]);
        story.push(5, &[], &["a", "b", "c", "d"]);
        story.now += TimeDelta::hours(1);
        story.decide();
        assert_eq!(asked_for(&story), [0; 0]);
    }
}
