//! The retry policy. It judges the attempts after the last resume, and only if the last one failed through this change.
//!
//! Everything is derived from the list of attempts each time, never counted up: repeating, replacing or re-ordering
//! what led to the list cannot change the outcome.

use std::collections::BTreeSet;

use crate::{
    ids::Fingerprint,
    policy::LoopPolicy,
    state::{AttemptDigest, Lacking, Resume},
};

/// What the attempts so far amount to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgement {
    /// Failing attempts of the current streak.
    pub streak: u32,
    /// Consecutive attempts, up to the last, that share a fingerprint.
    pub same_error: u32,
    /// Failing attempts of the run; never resets.
    pub total: u32,
    /// How often in a row the score stood still.
    pub stagnation: u32,
    /// Tests that passed before and fail in the last attempt.
    pub regressed: BTreeSet<String>,
    /// The attempts are used up and no person is to be called (`escalation_on_max: false`).
    pub has_given_up: bool,
}

/// Judges a run by its counted attempts, oldest first. Streaks start anew after each resume; totals do not.
pub fn judge(attempts: &[AttemptDigest], resumes: &[Resume], policy: &LoopPolicy) -> Judgement {
    // What is not on record any more counts as failed.
    let unrecorded = attempts
        .first()
        .map_or(0, |first| first.number.saturating_sub(1));
    let total = unrecorded + count(attempts.iter().filter(|attempt| attempt.spent()).count());
    let since = since_resume(attempts, resumes);
    let mut judgement = Judgement {
        total,
        ..Judgement::default()
    };
    let Some((last, earlier)) = since.split_last() else {
        return judgement;
    };
    if !last.spent() {
        return judgement;
    }
    let spent = spent(&since);
    judgement.streak = streak(&since);
    judgement.has_given_up = !policy.escalation_on_max && judgement.streak >= policy.max_attempts;
    judgement.same_error = longest_repeat(&since);
    judgement.stagnation = stagnation(&spent);
    // What a resume came before is no attempt's doing.
    judgement.regressed = if earlier.is_empty() {
        BTreeSet::new()
    } else {
        last.regressed.clone()
    };
    judgement
}

/// The attempts after the last resume, oldest first.
pub fn since_resume<'a>(
    attempts: &'a [AttemptDigest],
    resumes: &[Resume],
) -> Vec<&'a AttemptDigest> {
    let resumed_after = resumes
        .iter()
        .map(|resume| resume.after_attempt)
        .max()
        .unwrap_or(0);
    attempts
        .iter()
        .filter(|attempt| attempt.number > resumed_after)
        .collect()
}

/// Those of the attempts that failed through this change.
pub fn spent<'a>(attempts: &[&'a AttemptDigest]) -> Vec<&'a AttemptDigest> {
    let attempts = attempts.iter().copied();
    attempts.filter(|attempt| attempt.spent()).collect()
}

/// A number of attempts.
fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Failing attempts at the end of the list that each share an error with the one before. Two attempts that both do not
/// say what failed share one: their logs may differ in nothing but a time of day.
fn streak(attempts: &[&AttemptDigest]) -> u32 {
    let silent = |attempt: &AttemptDigest| attempt.lacking == Some(Lacking::Explanation);
    let mut length = 0;
    let mut later: Option<&AttemptDigest> = None;
    for attempt in attempts.iter().rev() {
        let goes_on = later.is_none_or(|later| {
            !later.fingerprints.is_disjoint(&attempt.fingerprints)
                || silent(later) && silent(attempt)
        });
        if !attempt.spent() || !goes_on {
            break;
        }
        length += 1;
        later = Some(attempt);
    }
    length
}

/// In how many attempts at the end of the list one fingerprint is, without a gap: the most of any.
fn longest_repeat(attempts: &[&AttemptDigest]) -> u32 {
    let run_of = |print: &Fingerprint| {
        let has =
            |attempt: &&&AttemptDigest| attempt.spent() && attempt.fingerprints.contains(print);
        count(attempts.iter().rev().take_while(has).count())
    };
    attempts
        .last()
        .and_then(|last| last.fingerprints.iter().map(run_of).max())
        .unwrap_or(0)
}

/// How many of the last steps gained less than 0.02 without a fail-severity blocker.
fn stagnation(spent: &[&AttemptDigest]) -> u32 {
    let stands_still = |pair: &&[&AttemptDigest]| {
        let gained = i16::from(pair[1].score.hundredths()) - i16::from(pair[0].score.hundredths());
        gained < 2 && pair.iter().all(|attempt| attempt.failed_rules.is_empty())
    };
    count(
        spent
            .windows(2)
            .rev()
            .take_while(|pair| stands_still(pair))
            .count(),
    )
}
