//! The review a loop asks for before it ships: as many approvals on the head as the base branch's rules (or the
//! configuration) want, by people with write, and no request for changes by a person with write.

use std::collections::BTreeMap;

use crate::{
    ids::{Login, Timestamp, UserId},
    observed::{Permission, Review, ReviewVerdict, Snapshot, Standing},
    policy::{LoopPolicy, ReviewRequirement},
};

/// Where the required review stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReviewStanding {
    NotRequired,
    Approved,
    Pending { have: u32, need: u32 },
    Rejected { by: Login, by_id: UserId, at: Timestamp, words: String },
}

/// The newest decisive review of each person with write counts; a dismissed one counts for nothing.
pub fn standing(snapshot: &Snapshot, policy: &LoopPolicy) -> ReviewStanding {
    let mut newest: BTreeMap<UserId, &Review> = BTreeMap::new();
    let mut reviews: Vec<&Review> = snapshot.reviews.items.iter().collect();
    // Whatever order they were listed in.
    reviews.sort_by_key(|review| (review.submitted_at, review.id));
    for review in reviews {
        let decisive = !matches!(review.verdict, ReviewVerdict::Commented | ReviewVerdict::Pending);
        if decisive && may_review(snapshot, review.author.id) {
            newest.insert(review.author.id, review);
        }
    }
    let need = match policy.review {
        ReviewRequirement::Auto => snapshot.required_approvals,
        ReviewRequirement::Required => snapshot.required_approvals.max(1),
    };
    if need == 0 {
        return ReviewStanding::NotRequired;
    }
    if let Some(review) = newest.values().find(|review| review.verdict == ReviewVerdict::ChangesRequested) {
        return ReviewStanding::Rejected {
            by: review.author.login.clone(),
            by_id: review.author.id,
            at: review.submitted_at,
            words: review.body.clone(),
        };
    }
    let on_head = |review: &&&Review| {
        review.verdict == ReviewVerdict::Approved && review.commit == Some(snapshot.pull_request.head.sha)
    };
    let have = u32::try_from(newest.values().filter(on_head).count()).unwrap_or(u32::MAX);
    if have >= need { ReviewStanding::Approved } else { ReviewStanding::Pending { have, need } }
}

fn may_review(snapshot: &Snapshot, person: UserId) -> bool {
    let write = |standing: &Standing| matches!(standing, Standing::Known { permission, .. } if *permission >= Permission::Write);
    person != snapshot.pull_request.author.id && snapshot.authority.people.get(&person).is_some_and(write)
}
