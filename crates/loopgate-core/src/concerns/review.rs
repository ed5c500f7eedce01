//! The review a loop asks for before it ships: as many approvals on the head as the base branch's rules (or the
//! configuration) want, by people with write, and no request for changes by a person with write. And who turns a head
//! down whatever its checks say: there, and at gates that hold.

use std::collections::BTreeMap;

use crate::{
    concerns::gates::GateReport,
    evidence::Failure,
    failure,
    ids::{Fingerprint, UserId},
    observed::{Permission, Review, ReviewVerdict, Snapshot},
    policy::{LoopPolicy, ReviewRequirement},
    state::{LoopState, Objection, RejectedIn, Rejection},
};

/// Where the required review stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReviewStanding {
    NotRequired,
    Approved,
    Pending { have: u32, need: u32 },
    Rejected { rejection: Rejection, words: String },
}

/// The newest decisive review of each person with write counts; a dismissed one counts for nothing.
pub fn standing(snapshot: &Snapshot, policy: &LoopPolicy) -> ReviewStanding {
    let mut newest: BTreeMap<UserId, &Review> = BTreeMap::new();
    let mut reviews: Vec<&Review> = snapshot.reviews.items.iter().collect();
    // Whatever order they were listed in.
    reviews.sort_by_key(|review| (review.submitted_at, review.id));
    for review in reviews {
        let (person, author) = (review.author.id, snapshot.pull_request.author.id);
        let decides = !matches!(
            review.verdict,
            ReviewVerdict::Commented | ReviewVerdict::Pending
        );
        if decides
            && person != author
            && snapshot.authority.has(person, Permission::Write) == Some(true)
        {
            newest.insert(person, review);
        }
    }
    let need = match policy.review {
        ReviewRequirement::Auto => snapshot.required_approvals,
        ReviewRequirement::Required => snapshot.required_approvals.max(1),
    };
    if need == 0 {
        return ReviewStanding::NotRequired;
    }
    if let Some(review) = newest
        .values()
        .find(|review| review.verdict == ReviewVerdict::ChangesRequested)
    {
        let (by, by_id) = (review.author.login.clone(), review.author.id);
        let rejection = Rejection {
            by,
            by_id,
            of: RejectedIn::Review,
            at: review.submitted_at,
        };
        return ReviewStanding::Rejected {
            rejection,
            words: review.body.clone(),
        };
    }
    let on_head = |review: &&&Review| {
        review.verdict == ReviewVerdict::Approved
            && review.commit == Some(snapshot.pull_request.head.sha)
    };
    let have = u32::try_from(newest.values().filter(on_head).count()).unwrap_or(u32::MAX);
    if have >= need {
        ReviewStanding::Approved
    } else {
        ReviewStanding::Pending { have, need }
    }
}

/// Everybody who turns the head down now whatever its checks say, with their words: at gates that hold, and in a
/// required review.
pub fn rejections<'a>(
    gates: &'a [GateReport],
    review: &'a ReviewStanding,
) -> impl Iterator<Item = (Rejection, &'a str)> {
    let of_gates = gates
        .iter()
        .filter(|gate| gate.is_closed())
        .filter_map(|gate| {
            let Objection {
                by,
                by_id,
                at,
                words,
                ..
            } = gate.rejection()?;
            let of = RejectedIn::Gate(gate.name.clone());
            Some((
                Rejection {
                    by: by.clone(),
                    by_id: *by_id,
                    of,
                    at: *at,
                },
                words.as_str(),
            ))
        });
    let in_review = if let ReviewStanding::Rejected { rejection, words } = review {
        Some((rejection, words))
    } else {
        None
    };
    of_gates.chain(in_review.map(|(rejection, words)| (rejection.clone(), words.as_str())))
}

/// Those of the rejections that did not cost an earlier attempt with the same words.
pub fn new_rejections(
    state: &LoopState,
    gates: &[GateReport],
    review: &ReviewStanding,
) -> Vec<Rejection> {
    let others = || {
        state
            .attempts
            .counted
            .iter()
            .filter(|attempt| attempt.number != state.run.iteration)
    };
    let is_new =
        |rejection: &Rejection| others().all(|attempt| !attempt.rejections.contains(rejection));
    rejections(gates, review)
        .map(|(rejection, _)| rejection)
        .filter(is_new)
        .collect()
}

/// The fingerprint of a rejection. A gate that rejects again is the same error again.
pub fn fingerprint(rejection: &Rejection) -> Fingerprint {
    let of = match &rejection.of {
        RejectedIn::Gate(gate) => format!("{gate} gate"),
        RejectedIn::Review => "review".to_owned(),
    };
    failure::fingerprint(&Failure {
        test_name: Some(of.clone()),
        error_class: Some("rejected".to_owned()),
        error_message: format!("rejected in {of}"),
        ..Failure::default()
    })
}
