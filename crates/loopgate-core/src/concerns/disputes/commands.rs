//! Commands about disputes, in comments and in trailers of commits.

use std::collections::BTreeSet;

use crate::{
    commands::{CarriedOut, Command, Execution, command},
    concerns::{
        attempts::commands,
        checks::gather::HeadEvidence,
        disputes::{self, Claim},
        gates::CommandLine,
        tampering::Tampering,
        verdict::feedback,
    },
    ids::FailureId,
    policy::Trigger,
    state::{
        AnswerOutcome, DisputeEnd, DisputeSource, Settlement,
        history::{Event, Resumed},
    },
};

/// Disputes that one commit may carry.
const MOST_TRAILERS: usize = 5;

/// Opens a dispute about a failure of the head.
///
/// # Errors
/// As [`disputes::begin`].
pub fn dispute(run: &mut Execution<'_>, claim: &Claim<'_>, evidence: &HeadEvidence) -> CarriedOut {
    let failures = feedback::failures(
        evidence,
        &commands::blames(run, evidence),
        &BTreeSet::new(),
        run.cx.policy,
    );
    let dispute = disputes::begin(run.next, run.cx.snapshot, &failures, claim)?;
    run.events.push(Event::Disputed(Box::new(dispute)));
    Ok(AnswerOutcome::Disputed {
        failure: claim.failure,
    })
}

/// Reads `Loopgate-Dispute` trailers in the head's commit, for people who can push and cannot comment. A trailer that
/// names no failure of the head waits until the head is verified, and does not apply to a later head.
pub fn dispute_in_commits(run: &mut Execution<'_>, evidence: &HeadEvidence) {
    let head = run.next.head.sha;
    let snapshot = run.cx.snapshot;
    let Some(commit) = snapshot
        .commits
        .items
        .iter()
        .find(|commit| commit.sha == head)
    else {
        return;
    };
    let author = commit
        .author
        .as_ref()
        .unwrap_or(&snapshot.pull_request.author)
        .clone();
    let trailers = commit
        .message
        .lines()
        .filter_map(|line| line.strip_prefix("Loopgate-Dispute:"));
    for trailer in trailers.take(MOST_TRAILERS) {
        let source = DisputeSource::Commit(head);
        if let Some(Command::Dispute {
            failure,
            kind,
            reason,
        }) = command::dispute(trailer.trim())
            && run
                .next
                .concerns
                .disputes
                .iter()
                .all(|known| (known.failure, known.source) != (failure, source))
        {
            let (by, reason, at) = (&author, reason.as_str(), run.cx.now);
            dispute(
                run,
                &Claim {
                    failure,
                    kind,
                    reason,
                    by,
                    at,
                    source,
                },
                evidence,
            )
            .ok();
        }
    }
}

/// Settles a dispute as a person says. `weakened` is how the head weakens what checks it.
///
/// # Errors
/// When no dispute is meant, or this account may not settle it.
pub fn settle(
    run: &mut Execution<'_>,
    line: &CommandLine,
    weakened: &[Tampering],
    failure: Option<FailureId>,
    outcome: &Settlement,
) -> CarriedOut {
    let dispute = disputes::meant(run.next, failure)?.clone();
    disputes::may_settle(run.cx.snapshot, &line.by, &dispute)?;
    let by = line.by.login.clone();
    let end = DisputeEnd::Settled {
        outcome: outcome.clone(),
        by: by.clone(),
        by_id: line.by.id,
        at: line.at,
    };
    let (dispute, accepted_tampering) = disputes::settle(run.next, dispute, end, weakened);
    let failure = dispute.failure;
    run.events.push(Event::Disputed(Box::new(dispute)));
    if run
        .next
        .people
        .blocked
        .as_ref()
        .is_some_and(|blocked| blocked.trigger == Trigger::Disputed)
        && disputes::open(run.next).next().is_none()
    {
        let resume = run
            .next
            .resume(&line.by, line.at, Some(failure), Vec::new());
        run.events.push(Event::Resumed(Resumed::PullRequest {
            by,
            resume,
            accepted: None,
            accepted_tampering,
        }));
    }
    Ok(AnswerOutcome::Settled {
        failure,
        outcome: outcome.clone(),
    })
}
