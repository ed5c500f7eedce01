//! What holds of every story.

use super::*;

/// What may happen to a pull request between two decisions.
#[derive(Clone, Debug)]
enum Step {
    Push {
        head: u8,
        failing: Vec<&'static str>,
    },
    Comment {
        login: &'static str,
        body: &'static str,
    },
    Wait {
        minutes: i64,
    },
    Draft(bool),
}

fn step() -> impl Strategy<Value = Step> {
    let tests = prop::sample::subsequence(vec!["a", "b", "c"], 0..=3);
    let words = prop::sample::select(vec![
        "/loop resume",
        "/loop retry",
        "/loop stop no",
        "hello",
        "/loop skip unit",
    ]);
    prop_oneof![
        (1..20u8, tests).prop_map(|(head, failing)| Step::Push { head, failing }),
        (prop::sample::select(vec!["alice", "bob", "carol"]), words)
            .prop_map(|(login, body)| Step::Comment { login, body }),
        (1..200i64).prop_map(|minutes| Step::Wait { minutes }),
        prop::sample::select(vec![true, false]).prop_map(Step::Draft),
    ]
}

fn play(steps: &[Step]) -> Story {
    let mut story = Story::opened();
    for step in steps {
        match step {
            Step::Push { head, failing } => {
                let passing: Vec<&str> = ["a", "b", "c"]
                    .into_iter()
                    .filter(|test| !failing.contains(test))
                    .collect();
                story.push(*head, failing, &passing);
            }
            Step::Comment { login, body } => {
                story.comment(login, body);
            }
            Step::Wait { minutes } => {
                story.now += TimeDelta::minutes(*minutes);
                story.decide();
            }
            Step::Draft(is_draft) => {
                story.snapshot.pull_request.is_draft = *is_draft;
                story.decide();
            }
        }
    }
    story
}

/// The state as the next process reads it.
fn reread(state: &LoopState) -> LoopState {
    serde_json::from_str(&serde_json::to_string(state).unwrap()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn deciding_is_deterministic(steps in prop::collection::vec(step(), 1..12)) {
        let story = play(&steps);
        let once = decide(&story.snapshot, &story.state, &story.policy, story.now);
        let twice = decide(&story.snapshot, &story.state, &story.policy, story.now);
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn deciding_twice_changes_nothing(steps in prop::collection::vec(step(), 1..12)) {
        let story = play(&steps);
        let first = decide(&story.snapshot, &story.state, &story.policy, story.now);
        let second = decide(&story.snapshot, &first.next, &story.policy, story.now);
        prop_assert_eq!(&second.next, &first.next);
        prop_assert!(second.events.is_empty(), "{:?}", second.events);
        prop_assert!(second.attempt.is_none());
        prop_assert_eq!(second.surface, first.surface);
    }

    #[test]
    fn the_state_survives_its_document(steps in prop::collection::vec(step(), 1..12)) {
        let story = play(&steps);
        prop_assert_eq!(reread(&story.state), story.state);
    }

    /// Events only trigger a look: an extra look, or a repeated event, changes nothing but the times.
    #[test]
    fn the_order_and_number_of_looks_is_irrelevant(
        steps in prop::collection::vec(step(), 1..8),
        hints in prop::collection::vec(0..3u8, 0..6),
    ) {
        let story = play(&steps);
        let sighting = |n: &u8| Hint::HeadSeen { sha: sha(40 + n), at: start() + TimeDelta::minutes(i64::from(*n)) };
        let mut forwards = story.snapshot.clone();
        forwards.hints = hints.iter().map(sighting).collect();
        let mut backwards = forwards.clone();
        backwards.hints.reverse();
        backwards.comments.items.reverse();
        let one = decide(&forwards, &story.state, &story.policy, story.now);
        let other = decide(&backwards, &story.state, &story.policy, story.now);
        prop_assert_eq!(one.next.head.sightings, other.next.head.sightings);
        prop_assert_eq!(one.action, other.action);
        prop_assert_eq!(one.surface, other.surface);
    }

    #[test]
    fn never_more_attempts_than_allowed_and_one_escalation_at_a_time(steps in prop::collection::vec(step(), 1..16)) {
        let story = play(&steps);
        let decision = story.last.as_ref().unwrap();
        let escalations = decision.surface.posts.iter().filter(|post| matches!(post, Post::Escalation { .. })).count();
        prop_assert!(escalations <= 1);
        if matches!(decision.action, NextAction::Retry { .. }) {
            prop_assert!(story.state.attempts.failures.count < story.policy.retry.max_attempts);
            prop_assert!(story.state.attempts.failures.total < story.policy.retry.total_failures);
        }
    }
}
