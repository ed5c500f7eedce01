//! `attempts/NNN.json`: the whole record of one attempt, kept small.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Result, TreeFile, objects::document};
use loopgate_core::{
    concerns::verdict::FailureView,
    deciding::AttemptRecord,
    evidence::{ChangedCoverage, CheckEvidence, LogExcerpt},
    failure::FeedbackLine,
    memory::{AppliedFix, shorten},
    reflex::FixRecord,
    state::AttemptDigest,
};

/// `schema` of an attempt.
const ATTEMPT_SCHEMA: &str = "loopgate.attempt/v1";
/// Bytes of one attempt at most, so that the ref grows by no more than 20 KB for each.
const MOST_BYTES: usize = 16_000;
/// Bytes of an attempt that are read at most.
pub(super) const READ_LIMIT: usize = 1 << 20;

/// Items of each list and characters of each text that are written; tried in this order until the document fits.
const DETAILS: [(usize, usize); 4] = [(20, 1_000), (10, 300), (3, 200), (0, 200)];
/// Fewer items come without the end of the log.
const WITH_LOG: usize = 10;

/// The document of an attempt, and where it stands: a record with the fix that led to the attempt if there was one,
/// with as much detail as fits. The feedback phase of an attempt after a failed one is another.
///
/// # Errors
/// When it cannot be written as JSON.
pub fn attempt_document(
    record: &AttemptRecord,
    feedback: &[FeedbackLine],
    after_failure: bool,
    fix: Option<&FixRecord>,
) -> Result<TreeFile> {
    let digest = &record.digest;
    let coverage = record.coverage.as_ref().map(|coverage| ChangedCoverage {
        files: Default::default(),
        ..coverage.clone()
    });
    let applied = record.fix_applied.as_ref().map(|fix| AppliedFix {
        hunks: vec![],
        ..fix.clone()
    });
    let fix_applied = |fix: &FixRecord| {
        json!({
            "description": fix.description,
            "diff_summary": fix.diff_summary,
            "files_modified": fix.files_modified,
            "by": fix.by,
            "head_sha": fix.head_sha,
            "outside_scope": fix.outside_scope,
            "cost_usd": fix.cost_usd,
        })
    };
    let fix_applied = fix
        .map(fix_applied)
        .or_else(|| applied.map(|fix| json!(fix)));
    let analysis = |view: &FailureView| {
        json!({
            "check": view.check,
            "test_name": view.failure.test_name,
            "root_cause": view.feedback.problem,
            "category": view.analysis.category,
            "fix_strategy": view.feedback.action,
            "confidence": view.analysis.confidence,
            "rules_matched": view.analysis.rules_matched,
            "patterns_matched": view.memory.iter().filter_map(|found| found.card).collect::<Vec<_>>(),
            "related": view.analysis.related,
        })
    };
    let whole = |items: usize, characters: usize| {
        let cut = |mut value: Value| {
            shorten(&mut value, items, characters);
            value
        };
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
            "checks": record.checks.iter().map(|check| cut(json!(shortened(check, items, characters)))).collect::<Vec<_>>(),
            "coverage": cut(json!(coverage)),
            "compare": record.compare,
            "analysis": cut(record.analysis.iter().map(analysis).collect()),
            "fix_applied": fix_applied,
            "feedback": feedback.iter().take(items.max(3)).collect::<Vec<_>>(),
            // Every test there was is no part of the record of one attempt: it outgrows all the rest.
            "digest": AttemptDigest { tests: None, ..digest.clone() },
        })
    };
    let mut text = String::new();
    for (items, characters) in DETAILS {
        text = document(&whole(items, characters))?;
        if text.len() <= MOST_BYTES {
            break;
        }
    }
    Ok((path(digest.number), text))
}

/// Where the documents of attempts are, numbered so that the oldest comes first.
pub(super) const FOLDER: &str = "attempts/";

pub(super) fn path(number: u32) -> String {
    format!("{FOLDER}{number:03}.json")
}

/// A check without what is not written of it: all but the end of its log, further failures, every test there was.
fn shortened(check: &CheckEvidence, items: usize, characters: usize) -> CheckEvidence {
    let kept = check.failures.len().min(items);
    // A short log is whole in its head.
    let log = if check.log_cut_bytes == 0 {
        format!("{}{}", check.log_head, check.log_tail)
    } else {
        check.log_tail.clone()
    };
    let most = if items < WITH_LOG { 0 } else { characters };
    let log_tail: String = log
        .chars()
        .skip(log.chars().count().saturating_sub(most))
        .collect();
    let cut_bytes = check.log_head.len() + check.log_tail.len() - log_tail.len();
    CheckEvidence {
        log_cut_bytes: check.log_cut_bytes + u64::try_from(cut_bytes).unwrap_or(u64::MAX),
        log_head: String::new(),
        log_tail,
        failures: check.failures[..kept].to_vec(),
        failures_not_kept: check.failures_not_kept
            + u64::try_from(check.failures.len() - kept).unwrap_or(u64::MAX),
        tests: None,
        // The code under test wrote the lines: they stand on the pull request alone.
        excerpts: check.excerpts.iter().map(LogExcerpt::reference).collect(),
        ..check.clone()
    }
}

/// What recovery needs of an attempt's document.
#[derive(Deserialize)]
pub(super) struct Digested {
    pub digest: AttemptDigest,
}
