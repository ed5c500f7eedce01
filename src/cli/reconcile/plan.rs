//! Staying within the 1,000 requests an hour that a repository's `GITHUB_TOKEN` has
//! (<https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api>): how much one run may ask, and
//! whose turn it is when that is not enough for all.

/// What looking at one pull request costs, roughly: eleven reads, and some writes.
const REQUESTS_PER_LOOK: u64 = 15;

/// Requests that one run may make.
pub(super) struct Budget {
    most: u64,
    begun: bool,
}

impl Budget {
    pub(super) const fn new(most: u64) -> Self {
        Self { most, begun: false }
    }

    /// Whether another pull request may be begun after so many requests. The first always may.
    pub(super) const fn allows(&mut self, asked: u64) -> bool {
        let first = !self.begun;
        self.begun = true;
        first || asked + REQUESTS_PER_LOOK <= self.most
    }
}

/// All in the order in which they are looked at: each run of the workflow goes on about where the one before had to
/// stop, so that none is left out for ever.
pub(super) fn in_turn<T>(mut all: Vec<T>, run_number: u64, most_requests: u64) -> Vec<T> {
    let per_run = (most_requests / REQUESTS_PER_LOOK).max(1);
    let count = all.len() as u64;
    if count > per_run {
        // Less than the count, which is a length.
        let first = (run_number % count) * (per_run % count) % count;
        all.rotate_left(usize::try_from(first).unwrap_or(0));
    }
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn one_look_is_always_allowed_and_the_last_stays_within_the_budget() {
        let mut tight = Budget::new(0);
        assert!(tight.allows(3) && !tight.allows(3));
        let mut budget = Budget::new(100);
        assert!(budget.allows(0) && budget.allows(85) && !budget.allows(86));
    }

    #[test]
    fn everybody_has_a_turn() {
        assert_eq!(in_turn(vec![1, 2, 3], 7, 600), [1, 2, 3], "enough for all: in order");
        for (count, most) in [(100_usize, 600), (41, 600), (7, 15), (300, 150), (10, 90)] {
            let per_run = usize::try_from(most / REQUESTS_PER_LOOK).unwrap();
            let mut seen = BTreeSet::new();
            for run in 0..(2 * count as u64) {
                seen.extend(in_turn((0..count).collect(), run, most).into_iter().take(per_run));
            }
            assert_eq!(seen.len(), count, "{count} of which {per_run} a run");
        }
    }
}
