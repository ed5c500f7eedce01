//! `attempts/NNN.json`: the whole record of one attempt, kept small.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{RefsError, store::document};
use loopgate_core::{
    deciding::AttemptRecord,
    evidence::{ChangedCoverage, CheckEvidence, Failure, LogExcerpt},
    failure::FeedbackLine,
    memory::AppliedFix,
    reflex::FixRecord,
    state::AttemptDigest,
    verdict::FailureView,
};

/// `schema` of an attempt.
const ATTEMPT_SCHEMA: &str = "loopgate.attempt/v1";
/// Bytes of one attempt at most, so that the ref grows by no more than 20 KB for each.
const MOST_BYTES: usize = 16_000;
/// Bytes of an attempt that are read at most.
pub(super) const READ_LIMIT: usize = 1 << 20;

/// One attempt's document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptFile {
    number: u32,
    text: String,
}

/// How much of a record is written; tried in this order until it fits.
#[derive(Debug, Clone, Copy)]
struct Detail {
    failures: usize,
    characters: usize,
    log: usize,
}

const DETAILS: [Detail; 4] = [
    Detail { failures: 20, characters: 1_000, log: 1_000 },
    Detail { failures: 10, characters: 300, log: 300 },
    Detail { failures: 3, characters: 120, log: 0 },
    Detail { failures: 0, characters: 0, log: 0 },
];

impl AttemptFile {
    /// Writes a record down, with the fix that led to the attempt if there was one, with as much detail as fits. The
    /// feedback phase of an attempt after a failed one is another.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn of(
        record: &AttemptRecord,
        feedback: &[FeedbackLine],
        after_failure: bool,
        fix: Option<&FixRecord>,
    ) -> Result<Self, RefsError> {
        let mut text = String::new();
        for detail in DETAILS {
            text = document(&whole(record, feedback, after_failure, fix, detail))?;
            if text.len() <= MOST_BYTES {
                break;
            }
        }
        Ok(Self { number: record.digest.number, text })
    }

    pub(super) fn path(&self) -> String {
        path(self.number)
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

/// Where the documents of attempts are, numbered so that the oldest comes first.
pub(super) const FOLDER: &str = "attempts/";

pub(super) fn path(number: u32) -> String {
    format!("{FOLDER}{number:03}.json")
}

fn whole(
    record: &AttemptRecord,
    feedback: &[FeedbackLine],
    after_failure: bool,
    fix: Option<&FixRecord>,
    detail: Detail,
) -> Value {
    let digest = &record.digest;
    json!({
        "schema": ATTEMPT_SCHEMA,
        "attempt": digest.number,
        "head_sha": digest.head_sha,
        "tree_hash": digest.tree_hash,
        "repository": record.provenance.repository,
        "base_sha": record.provenance.base_sha,
        "pull_request": record.provenance.pull_request,
        "workflow": record.provenance.workflow,
        "environment": record.provenance.environment,
        "started_at": record.provenance.started_at,
        "ended_at": record.provenance.ended_at,
        "at": digest.at,
        "phase": if after_failure { "verify_fix" } else { "execute_tests" },
        "decision": record.decision,
        "score": digest.score,
        "failed_rules": digest.failed_rules,
        "checks": record.checks.iter().map(|check| shortened_check(check, detail)).collect::<Vec<_>>(),
        "coverage": record.coverage.as_ref().map(|coverage| shortened_coverage(coverage, detail)),
        "compare": record.compare,
        "analysis": record.analysis.iter().take(detail.failures).map(|view| analysis(view, detail)).collect::<Vec<_>>(),
        "fix_applied": fix.map(|fix| json!({
            "description": fix.description,
            "diff_summary": fix.diff_summary,
            "files_modified": fix.files_modified,
            "by": fix.by,
            "head_sha": fix.head_sha,
            "outside_scope": fix.outside_scope,
            "cost_usd": fix.cost_usd,
        })).or_else(|| record.fix_applied.as_ref().map(|fix| json!(AppliedFix { hunks: vec![], ..fix.clone() }))),
        "feedback": feedback.iter().take(detail.failures.max(3)).collect::<Vec<_>>(),
        // Every test there was is no part of the record of one attempt: it outgrows all the rest.
        "digest": AttemptDigest { tests: None, ..digest.clone() },
    })
}

fn shortened_check(check: &CheckEvidence, detail: Detail) -> CheckEvidence {
    let kept = check.failures.len().min(detail.failures);
    // A short log is whole in its head.
    let log =
        if check.log_cut_bytes == 0 { format!("{}{}", check.log_head, check.log_tail) } else { check.log_tail.clone() };
    let (_, log_tail) = split_tail(&log, detail.log);
    CheckEvidence {
        log_cut_bytes: check.log_cut_bytes
            + u64::try_from(check.log_head.len() + check.log_tail.len() - log_tail.len()).unwrap_or(u64::MAX),
        log_head: String::new(),
        log_tail: log_tail.to_owned(),
        failures: check.failures.iter().take(kept).map(|failure| shortened_failure(failure, detail)).collect(),
        failures_not_kept: check.failures_not_kept + u64::try_from(check.failures.len() - kept).unwrap_or(u64::MAX),
        findings: check.findings.iter().take(detail.failures).cloned().collect(),
        tests: None,
        // The code under test wrote the lines: they stand on the pull request alone.
        excerpts: check.excerpts.iter().map(LogExcerpt::reference).collect(),
        reports: check.reports.iter().take(detail.failures).cloned().collect(),
        ..check.clone()
    }
}

fn shortened_coverage(coverage: &ChangedCoverage, detail: Detail) -> ChangedCoverage {
    let cut = |texts: &[String]| texts.iter().take(detail.failures).cloned().collect();
    ChangedCoverage {
        uncovered: cut(&coverage.uncovered),
        unmeasured: cut(&coverage.unmeasured),
        files: Default::default(),
        ..coverage.clone()
    }
}

fn shortened_failure(failure: &Failure, detail: Detail) -> Failure {
    let cut = |text: &str| text.chars().take(detail.characters).collect::<String>();
    Failure {
        error_message: cut(&failure.error_message),
        stack_trace: failure.stack_trace.as_deref().map(cut),
        expected: failure.expected.as_deref().map(cut),
        actual: failure.actual.as_deref().map(cut),
        ..failure.clone()
    }
}

fn analysis(view: &FailureView, detail: Detail) -> Value {
    let cut = |text: &str| text.chars().take(detail.characters).collect::<String>();
    json!({
        "check": view.check,
        "test_name": view.failure.test_name,
        "root_cause": cut(&view.told.problem),
        "category": view.category,
        "fix_strategy": cut(&view.told.action),
        "confidence": view.confidence,
        "rules_matched": view.rules_matched,
        "patterns_matched": view.memory.iter().filter_map(|found| found.card).collect::<Vec<_>>(),
        "related": view.related.iter().take(detail.failures).collect::<Vec<_>>(),
    })
}

/// The last `bytes` bytes of a text, cut at a character.
fn split_tail(text: &str, bytes: usize) -> (&str, &str) {
    let mut at = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(at) {
        at += 1;
    }
    text.split_at(at)
}

/// What recovery needs of an attempt's document.
#[derive(Deserialize)]
pub(super) struct Digested {
    pub digest: AttemptDigest,
}

/// The checks of an attempt's document.
#[derive(Deserialize)]
pub(super) struct AttemptChecks {
    pub checks: Vec<CheckEvidence>,
}
