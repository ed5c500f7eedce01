//! What is said, edited, hidden, deleted and looked at in any order, against a reading of the rules that is slow and
//! plain.

use std::collections::BTreeMap;

use proptest::{
    prelude::*,
    sample::select,
    test_runner::{Config, RngSeed, TestRunner},
};

use super::super::world::*;
use crate::{ids::CommentId, observed::Comment, state::GateStatus};

/// What a comment comes to: its last word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    Approves,
    Rejects,
    Revokes,
    Nothing,
}

const BODIES: [(&str, Meaning); 12] = [
    ("security approved", Meaning::Approves),
    ("Fine.\n\n- **security approved** 🎉", Meaning::Approves),
    ("security rejected\nsecurity approved", Meaning::Approves),
    ("/approve security", Meaning::Approves),
    ("security rejected", Meaning::Rejects),
    ("/reject security it leaks", Meaning::Rejects),
    (
        "/approve security\n\nsecurity changes requested",
        Meaning::Rejects,
    ),
    ("security approval revoked", Meaning::Revokes),
    ("/revoke security", Meaning::Revokes),
    ("> security approved", Meaning::Nothing),
    ("security approved once CI is green", Meaning::Nothing),
    ("thanks", Meaning::Nothing),
];
/// Two approvers, and two whose word never counts.
const PEOPLE: [&str; 4] = ["alice", "bob", "author", "outsider"];

#[derive(Clone, Copy, Debug)]
enum Step {
    /// In the same second as the comment before, or a minute later.
    Says {
        who: &'static str,
        body: usize,
        same_second: bool,
    },
    Edits {
        nth: usize,
        body: usize,
    },
    Deletes {
        nth: usize,
    },
    Hides {
        nth: usize,
    },
    Shows {
        nth: usize,
    },
    /// The server looks, the comments listed from either end.
    Looks {
        backwards: bool,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let (nth, body) = (0..8_usize, 0..BODIES.len());
    let says = (select(PEOPLE.to_vec()), body.clone(), any::<bool>());
    prop_oneof![
        6 => says.prop_map(|(who, body, same_second)| Step::Says { who, body, same_second }),
        2 => (nth.clone(), body).prop_map(|(nth, body)| Step::Edits { nth, body }),
        2 => nth.clone().prop_map(|nth| Step::Deletes { nth }),
        1 => nth.clone().prop_map(|nth| Step::Hides { nth }),
        1 => nth.prop_map(|nth| Step::Shows { nth }),
        5 => any::<bool>().prop_map(|backwards| Step::Looks { backwards }),
    ]
}

/// The rules of gates, written down a second time. The newest word of a person that stands there says whether they
/// approve, reject or revoke: an approval as it was written, a word that closes as of its last edit. A rejection or a
/// revocation that was once seen stands, whatever becomes of its comment, until its writer says otherwise after it.
#[derive(Default)]
struct Reference {
    /// The newest rejection seen of each approver, by when and as which comment it was written.
    rejected: BTreeMap<&'static str, Order>,
    revoked: BTreeMap<&'static str, Order>,
}

type Order = (i64, u64);

impl Reference {
    fn looks(&mut self, comments: &[Comment]) -> &'static str {
        let mut approved = false;
        for who in ["alice", "bob"] {
            let own = comments
                .iter()
                .filter(|comment| comment.author.login == login(who));
            let words = own.filter(|one| !one.is_hidden).filter_map(|comment| {
                let (_, meaning) = BODIES.iter().find(|(body, _)| *body == comment.body)?;
                let edited = comment.created_at != comment.updated_at;
                let at = match meaning {
                    Meaning::Nothing => return None,
                    Meaning::Approves if edited => return None,
                    Meaning::Approves => comment.created_at,
                    Meaning::Rejects | Meaning::Revokes => comment.updated_at,
                };
                Some(((at.timestamp(), comment.id.get()), *meaning))
            });
            let words: Vec<(Order, Meaning)> = words.collect();
            for (order, _) in words
                .iter()
                .filter(|(_, meaning)| *meaning == Meaning::Revokes)
            {
                let revoked = self.revoked.entry(who).or_insert(*order);
                *revoked = (*revoked).max(*order);
            }
            match words.into_iter().max_by_key(|(order, _)| *order) {
                Some((order, Meaning::Rejects)) => {
                    let rejected = self.rejected.entry(who).or_insert(order);
                    *rejected = (*rejected).max(order);
                }
                Some((order, meaning)) => {
                    if self
                        .rejected
                        .get(who)
                        .is_some_and(|rejected| order > *rejected)
                    {
                        self.rejected.remove(who);
                    }
                    let stands = self.revoked.get(who).is_none_or(|revoked| order > *revoked);
                    approved |= meaning == Meaning::Approves && stands;
                }
                None => {}
            }
        }
        match (self.rejected.is_empty(), approved) {
            (false, _) => "rejected",
            (true, true) => "approved",
            (true, false) => "open",
        }
    }
}

#[derive(Debug)]
struct Written(Vec<CommentId>);

impl Written {
    fn find<'w>(&self, nth: usize, world: &'w mut World) -> Option<&'w mut Comment> {
        let id = self.0.get(nth)?;
        world
            .snapshot
            .comments
            .items
            .iter_mut()
            .find(|comment| comment.id == *id)
    }
}

#[test]
fn whatever_becomes_of_comments_the_gate_stands_where_the_rules_say() {
    let cases = crate::fixtures::wished_cases("PROPTEST_CASES")
        .and_then(|cases| cases.try_into().ok())
        .unwrap_or(400);
    let config = Config {
        cases,
        rng_seed: RngSeed::Fixed(20_261_120),
        failure_persistence: None,
        ..Config::default()
    };
    let timelines = prop::collection::vec(step(), 1..14);
    let ran = TestRunner::new(config).run(&timelines, |steps| {
        let (mut world, mut reference, mut written) =
            (World::new(), Reference::default(), Written(Vec::new()));
        for step in steps
            .iter()
            .copied()
            .chain([Step::Looks { backwards: false }])
        {
            match step {
                Step::Says {
                    who,
                    body,
                    same_second,
                } => {
                    let before = world
                        .snapshot
                        .comments
                        .items
                        .iter()
                        .max_by_key(|one| one.id)
                        .map(|one| one.created_at);
                    written.0.push(world.comment(who, BODIES[body].0));
                    if let (true, Some(before)) = (same_second, before) {
                        let comment = world.last_comment();
                        (comment.created_at, comment.updated_at) = (before, before);
                    }
                }
                Step::Edits { nth, body } => {
                    world.clock += 1;
                    let at = minute(world.clock);
                    if let Some(comment) = written.find(nth, &mut world) {
                        (comment.body, comment.updated_at) = (BODIES[body].0.to_owned(), at);
                    }
                }
                Step::Deletes { nth } => {
                    let id = written.0.get(nth).copied();
                    world
                        .snapshot
                        .comments
                        .items
                        .retain(|comment| Some(comment.id) != id);
                }
                Step::Hides { nth } => {
                    written
                        .find(nth, &mut world)
                        .into_iter()
                        .for_each(|one| one.is_hidden = true);
                }
                Step::Shows { nth } => {
                    written
                        .find(nth, &mut world)
                        .into_iter()
                        .for_each(|one| one.is_hidden = false);
                }
                Step::Looks { backwards } => {
                    if backwards {
                        world.snapshot.comments.items.reverse();
                    }
                    let expected = reference.looks(&world.snapshot.comments.items);
                    let found = match world.reconcile().gates.into_iter().next().unwrap().status {
                        GateStatus::Approved => "approved",
                        GateStatus::Rejected => "rejected",
                        GateStatus::Requested => "open",
                        GateStatus::NotApplicable | GateStatus::Pending => "away",
                    };
                    prop_assert_eq!(found, expected, "{:?}", steps);
                    world
                        .snapshot
                        .comments
                        .items
                        .sort_by_key(|comment| comment.id);
                }
            }
        }
        Ok(())
    });
    ran.unwrap();
}
