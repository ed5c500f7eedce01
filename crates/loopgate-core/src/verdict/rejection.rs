//! Who turns a head down whatever its checks say: gates that hold, and a required review.

use super::review::ReviewStanding;
use crate::{
    evidence::Failure,
    failure,
    gate::{GateReport, GateStanding},
    ids::Fingerprint,
    state::{LoopState, Objection, RejectedIn, Rejection},
};

/// Who turns the head down now and did not cost an earlier attempt with the same words: gates that hold, and a required
/// review.
pub fn of_head(state: &LoopState, gates: &[GateReport], review: &ReviewStanding) -> Vec<Rejection> {
    let of_gates = gates.iter().filter(|gate| gate.is_closed()).filter_map(|gate| match &gate.standing {
        GateStanding::Rejected(Objection { by, by_id, at, .. }) => {
            let of = RejectedIn::Gate(gate.name.clone());
            Some(Rejection { by: by.clone(), by_id: *by_id, of, at: *at })
        }
        _ => None,
    });
    let of_review = match review {
        ReviewStanding::Rejected { by, by_id, at, .. } => {
            Some(Rejection { by: by.clone(), by_id: *by_id, of: RejectedIn::Review, at: *at })
        }
        _ => None,
    };
    let earlier = |rejection: &Rejection| {
        let others = state.attempts.iter().filter(|attempt| attempt.number != state.iteration);
        others.flat_map(|attempt| &attempt.rejections).any(|known| known == rejection)
    };
    of_gates.chain(of_review).filter(|rejection| !earlier(rejection)).collect()
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
