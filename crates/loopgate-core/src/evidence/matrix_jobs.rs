//! One check that several jobs brought: the jobs of a matrix, several workflows, several check runs of one name.

use crate::evidence::{CheckEvidence, MOST_EXCERPTS, TestOutcomes};

/// One check of two jobs: it passed only if both did.
pub fn merge(one: CheckEvidence, other: CheckEvidence) -> CheckEvidence {
    let (mut worse, better) = if other.outcome > one.outcome { (other, one) } else { (one, other) };
    worse.started_at = worse.started_at.into_iter().chain(better.started_at).min();
    worse.duration_ms = worse.duration_ms.max(better.duration_ms);
    if let Some(more) = &better.results {
        worse.results.get_or_insert_default().add(more);
    }
    worse.reports.extend(better.reports);
    worse.failures.extend(better.failures);
    worse.failures_not_kept = worse.failures_not_kept.saturating_add(better.failures_not_kept);
    worse.findings.extend(better.findings);
    worse.flaky_tests.extend(better.flaky_tests);
    worse.excerpts.extend(better.excerpts);
    worse.excerpts.truncate(MOST_EXCERPTS);
    worse.tests = worse.tests.into_iter().chain(better.tests).reduce(TestOutcomes::join);
    worse
}
