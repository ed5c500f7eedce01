//! How long gates have waited for their approvers: when approvers are reminded, and when a human is called.

use crate::{
    ids::{GateName, Timestamp},
    policy::{Context, Policy},
    state::{GateStatus, LoopState},
};

/// A gate that has waited too long for its approvers.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct OverdueGate {
    pub gate: GateName,
    pub since: Timestamp,
}

/// The gates that have waited longer than [`escalate_after`](crate::policy::GatePolicy::escalate_after), counted anew
/// from a resume.
pub fn overdue<'a>(
    cx: Context<'a>,
    state: &'a LoopState,
) -> impl Iterator<Item = OverdueGate> + 'a {
    waits(state, cx.policy)
        .filter(move |(.., escalate_at)| *escalate_at <= cx.now)
        .map(|(gate, ..)| gate)
}

/// The next moment at which waiting alone changes something.
pub fn next(cx: Context<'_>, state: &LoopState) -> Option<Timestamp> {
    let moments = waits(state, cx.policy)
        .flat_map(|(_, remind_at, escalate_at)| [remind_at, Some(escalate_at)]);
    moments.flatten().filter(|at| *at > cx.now).min()
}

/// The gates that wait for a decision, each with when its approvers are reminded, unless they were, and when a human is
/// called.
fn waits<'a>(
    state: &'a LoopState,
    policy: &'a Policy,
) -> impl Iterator<Item = (OverdueGate, Option<Timestamp>, Timestamp)> + 'a {
    let resumed = state.people.resumes.iter().map(|resume| resume.at).max();
    state
        .concerns
        .gates
        .iter()
        .filter_map(move |(gate, state)| {
            let policy = policy.gates.get(gate)?;
            let since = state
                .waiting_since
                .filter(|_| state.status == GateStatus::Requested)?;
            let remind_at = state
                .reminded_at
                .is_none()
                .then(|| since + policy.remind_after);
            let escalate_at = resumed.unwrap_or(since).max(since) + policy.escalate_after;
            Some((
                OverdueGate {
                    gate: gate.clone(),
                    since,
                },
                remind_at,
                escalate_at,
            ))
        })
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::OverdueGate;
    use crate::{
        concerns::escalation::Cause,
        deciding::{CheckRunPlan, NextAction},
        fixtures::*,
        observed::Conclusion,
        policy::{Recipient, Trigger},
        state::{
            GateStatus, RunStatus,
            history::{Event, GateInvalidated, HistoryLine},
        },
    };

    /// A green pull request whose security gate bob has been asked for a minute or two ago.
    fn asked() -> Story {
        let mut story = Story::opened();
        story.gate("security", "bob");
        story.push(1, &[], &["rounds"]);
        story
    }

    fn after(story: &mut Story, hours: i64) {
        story.now += TimeDelta::hours(hours);
        story.decide();
    }

    #[test]
    fn approvers_are_reminded_once_and_then_a_human_is_called() {
        let mut story = asked();
        let request = "gate:security:1".to_owned();
        assert_eq!(story.posts(), std::slice::from_ref(&request));
        after(&mut story, 23);
        assert_eq!(story.posts(), std::slice::from_ref(&request));
        after(&mut story, 1);
        let reminder = "gate-reminder:security:1".to_owned();
        assert_eq!(story.posts(), [request.clone(), reminder.clone()]);
        after(&mut story, 47);
        assert_eq!(
            story.posts(),
            [request.clone(), reminder.clone()],
            "the same reminder, found again by its marker"
        );

        after(&mut story, 1);
        let decision = story.last.as_ref().unwrap();
        assert_eq!(
            decision.action,
            NextAction::Escalate {
                cause: Trigger::GateTimeout
            }
        );
        assert_eq!(
            story.posts(),
            [request, reminder, "escalation:gate_timeout:1".to_owned()]
        );
        let escalation = decision.view.escalation.as_ref().unwrap();
        let waits = OverdueGate {
            gate: "security".parse().unwrap(),
            since: start() + TimeDelta::minutes(1),
        };
        assert_eq!(
            escalation.cause,
            Some(Cause::GateTimeout { gates: vec![waits] })
        );
        assert_eq!(
            escalation.recipients,
            [Recipient::GateApprovers("security".parse().unwrap())].into()
        );
        assert_eq!(
            decision.surface.verify,
            Some(CheckRunPlan::Completed(Conclusion::Success)),
            "nothing is wrong with it"
        );
        assert_eq!(story.state.run.status, RunStatus::Escalated);
        story.decide();
        assert_eq!(
            story.last.as_ref().unwrap().action,
            NextAction::WaitForHuman {
                cause: Trigger::GateTimeout
            }
        );
    }

    #[test]
    fn a_decision_ends_the_call_and_no_push_does() {
        for (word, status) in [
            ("security approved", GateStatus::Approved),
            ("security rejected", GateStatus::Rejected),
        ] {
            let mut story = asked();
            after(&mut story, 73);
            story.push(2, &[], &["rounds"]);
            assert!(
                story.state.people.blocked.is_some(),
                "a push decides no gate"
            );
            story.comment("bob", word);
            assert_eq!(
                story.state.concerns.gates.values().next().unwrap().status,
                status
            );
            assert!(story.state.people.blocked.is_none(), "{word}");
        }
    }

    #[test]
    fn a_resume_gives_the_approvers_the_same_time_again() {
        let mut story = asked();
        after(&mut story, 73);
        story.comment("bob", "/loop resume");
        assert!(story.state.people.blocked.is_none());
        after(&mut story, 71);
        assert!(story.state.people.blocked.is_none());
        after(&mut story, 2);
        assert_eq!(
            story.state.people.blocked.as_ref().unwrap().trigger,
            Trigger::GateTimeout
        );
    }

    #[test]
    fn nobody_is_waited_for_on_a_draft() {
        let mut story = Story::opened();
        story.gate("security", "bob");
        story.snapshot.pull_request.is_draft = true;
        story.push(1, &[], &["rounds"]);
        after(&mut story, 100);
        assert_eq!(story.posts(), ["gate:security:1"]);
        story.snapshot.pull_request.is_draft = false;
        after(&mut story, 1);
        assert_eq!(
            story.posts(),
            ["gate:security:1"],
            "the time begins when people are asked"
        );
        after(&mut story, 24);
        assert_eq!(story.posts().len(), 2);
    }

    #[test]
    fn the_times_are_those_of_the_gate_and_are_asked_for_in_time() {
        let mut story = Story::opened();
        story.gate("security", "bob");
        let gate = story.policy.gates.values_mut().next().unwrap();
        (gate.remind_after, gate.escalate_after) = (TimeDelta::minutes(5), TimeDelta::minutes(9));
        story.push(1, &[], &["rounds"]);
        let asked = story
            .state
            .concerns
            .gates
            .values()
            .next()
            .unwrap()
            .waiting_since
            .unwrap();
        assert_eq!(
            story.last.as_ref().unwrap().revisit_at,
            Some(asked + TimeDelta::minutes(5))
        );
        story.now = asked + TimeDelta::minutes(5);
        story.decide();
        assert_eq!(story.posts().len(), 2);
        assert_eq!(
            story.last.as_ref().unwrap().revisit_at,
            Some(asked + TimeDelta::minutes(9))
        );
        story.now = asked + TimeDelta::minutes(9);
        assert_eq!(
            story.decide().action,
            NextAction::Escalate {
                cause: Trigger::GateTimeout
            }
        );
    }

    #[test]
    fn a_new_round_waits_from_its_own_beginning() {
        let mut story = asked();
        after(&mut story, 30);
        story.comment("bob", "security approved");
        story.touch("src/lib.rs", "steal();");
        story.push(2, &[], &["rounds"]);
        assert_eq!(story.posts(), ["gate:security:2"]);
        after(&mut story, 23);
        assert_eq!(story.posts().len(), 1);
    }

    #[test]
    fn a_changed_comment_is_told_in_the_history_once() {
        let mut story = asked();
        story.comment("bob", "security approved");
        story.snapshot.comments.items[0].body = "security approved, and all else".into();
        let told = |story: &mut Story| {
            let changed = |line: &&HistoryLine| {
                matches!(
                    line.event,
                    Event::GateInvalidated(GateInvalidated::CommentChanged { .. })
                )
            };
            story.decide().events.iter().filter(changed).count()
        };
        assert_eq!(told(&mut story), 1);
        assert_eq!(told(&mut story), 0);
    }
}
