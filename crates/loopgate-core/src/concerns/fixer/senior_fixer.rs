//! The action `senior_agent` on a pull request: a second, stronger fixer is asked once, then a human is called.
//!
//! The cause is kept as it would be for a human, but it does not block while the senior fixer works: until its push is
//! judged, or until `loop.evidence_timeout` has passed without a push. So an agent that never answers only delays the
//! call of a human.

use crate::{
    ids::Timestamp,
    policy::{Context, EscalationAction, Fixer, Policy, Trigger},
    state::{Blocked, LoopState},
};

/// The cause the senior fixer works on now.
pub fn at_work<'a>(cx: Context<'_>, state: &'a LoopState) -> Option<&'a Blocked> {
    let call = state.concerns.fixer.as_ref()?;
    let is_judged = state
        .attempts
        .counted
        .last()
        .is_none_or(|last| last.number != call.attempt);
    let has_pushed = state.head.sha != call.head_sha;
    (!is_judged && (has_pushed || cx.now < deadline(call, cx.policy))).then_some(call)
}

/// Until when it has to push.
pub fn deadline(call: &Blocked, policy: &Policy) -> Timestamp {
    call.since + policy.retry.evidence_timeout
}

/// The cause to put to the senior fixer, if these triggers are for it: the first wishes so, it works elsewhere, it was
/// not asked before in this run, and it can mend the head. A gate, an outage and an empty budget are a person's.
pub fn call_for(
    Context {
        snapshot,
        policy,
        now,
    }: Context<'_>,
    triggers: &[Trigger],
    state: &LoopState,
) -> Option<Blocked> {
    let first = triggers.first()?;
    let is_wished = policy.escalation.action_of(*first) == EscalationAction::SeniorAgent;
    let elsewhere = policy
        .escalation
        .senior
        .as_ref()
        .is_some_and(Fixer::works_elsewhere);
    let fails = state
        .attempt_of(state.head.sha)
        .is_some_and(|attempt| attempt.spent());
    let can_mend =
        |trigger: &Trigger| trigger.is_of_attempts() && *trigger != Trigger::BudgetExhausted;
    let mends = fails && snapshot.has_own_branch() && triggers.iter().all(can_mend);
    let is_for_it = is_wished && elsewhere && mends && state.concerns.fixer.is_none();
    is_for_it.then(|| state.call_for(triggers, now))?
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::{
        concerns::fixer::fix_request::Whom,
        deciding::NextAction,
        fixtures::Story,
        policy::{CommandFixer, CommitAuthor, Fixer, TriggerPolicy, Whole},
        state::history::{CommandRun, Event, HistoryLine, OwnCommand},
    };

    /// Three attempts with the same error, of which the third is for the senior fixer.
    fn story(senior: Fixer) -> Story {
        let mut story = Story::opened();
        story.policy.fixer.fixer = Fixer::Mention("junior".parse().unwrap());
        story.policy.escalation.senior = Some(senior);
        let own = TriggerPolicy {
            action: Some(EscalationAction::SeniorAgent),
            to: Vec::new(),
        };
        story
            .policy
            .escalation
            .triggers
            .insert(Trigger::SameError, own);
        story
    }

    fn mention() -> Fixer {
        Fixer::Mention("elder".parse().unwrap())
    }

    fn failed_three_times(senior: Fixer) -> Story {
        let mut story = story(senior);
        (1..=3).for_each(|head| drop(story.push(head, &["a"], &[]).clone()));
        story
    }

    fn cause(story: &Story) -> Option<Trigger> {
        story
            .state
            .people
            .blocked
            .as_ref()
            .map(|blocked| blocked.trigger)
    }

    #[test]
    fn the_senior_fixer_is_asked_instead_of_a_human() {
        let mut story = failed_three_times(mention());
        let decision = story.last.as_ref().unwrap();
        assert_eq!(decision.action, NextAction::Retry { attempt: 3 });
        assert_eq!(
            decision.surface.fix.as_ref().map(|fix| fix.whom),
            Some(Whom::Senior)
        );
        let is_asked = |line: &&HistoryLine| {
            matches!(
                line.event,
                Event::CommandRun(CommandRun::Own(OwnCommand::SeniorFixer { .. }))
            )
        };
        assert_eq!(
            decision.events.iter().filter(is_asked).count(),
            1,
            "no human was called"
        );
        assert_eq!(
            story.posts(),
            ["fix-senior:3"],
            "and the other fixer is not asked at the same time"
        );
        assert_eq!(cause(&story), None);
        story.decide();
        assert_eq!(
            story.posts(),
            ["fix-senior:3"],
            "the same comment, found again"
        );
        story.push(4, &[], &["a"]);
        assert_eq!(
            (story.last.as_ref().unwrap().action.clone(), cause(&story)),
            (NextAction::WaitForMerge, None)
        );
    }

    #[test]
    fn where_its_fix_fails_a_human_is_called() {
        let mut story = failed_three_times(mention());
        story.set_head(4);
        story.decide();
        assert_eq!(cause(&story), None, "its push is not judged yet");
        story.push(4, &["a"], &[]);
        assert_eq!(cause(&story), Some(Trigger::SameError));
        assert_eq!(story.posts(), ["escalation:same_error:4"]);
        // Once in a run: after a resume the next cause is a human's at once.
        story.comment("bob", "/loop resume");
        (5..=7).for_each(|head| drop(story.push(head, &["a"], &[]).clone()));
        assert_eq!(cause(&story), Some(Trigger::SameError));
    }

    #[test]
    fn where_nothing_is_pushed_in_time_a_human_is_called() {
        let mut story = failed_three_times(mention());
        let until = deadline(story.state.concerns.fixer.as_ref().unwrap(), &story.policy);
        assert_eq!(story.last.as_ref().unwrap().revisit_at, Some(until));
        story.now = until - TimeDelta::minutes(2);
        story.decide();
        assert_eq!(cause(&story), None);
        story.decide();
        assert_eq!(cause(&story), Some(Trigger::SameError));
        assert_eq!(story.posts(), ["escalation:same_error:3"]);
        story.push(4, &[], &["a"]);
        assert_eq!(cause(&story), None, "late help is help");
    }

    #[test]
    fn another_cause_does_not_wait_for_it() {
        let mut story = failed_three_times(mention());
        story.touch("tests/round.rs", "#[ignore]");
        story.push(4, &["a"], &[]);
        assert_eq!(cause(&story), Some(Trigger::Tampering));
    }

    #[test]
    fn what_it_cannot_mend_is_a_humans_at_once() {
        let program = CommandFixer {
            run: "fix".to_owned(),
            environment: Default::default(),
            timeout: TimeDelta::minutes(1),
            author: CommitAuthor::default(),
        };
        let story = failed_three_times(Fixer::Command(program));
        assert_eq!(
            cause(&story),
            Some(Trigger::SameError),
            "a program runs where the loop does, which is not here"
        );

        let mut forked = self::story(mention());
        forked.snapshot.pull_request.head.repository = None;
        (1..=3).for_each(|head| drop(forked.push(head, &["a"], &[]).clone()));
        assert_eq!(
            cause(&forked),
            Some(Trigger::SameError),
            "it could not push there"
        );

        let mut spent = self::story(mention());
        spent.policy.fixer.budget.attempts = Some(Whole(2));
        (1..=3).for_each(|head| drop(spent.push(head, &["a"], &[]).clone()));
        assert_eq!(
            cause(&spent),
            Some(Trigger::SameError),
            "nothing is left to spend"
        );
    }
}
