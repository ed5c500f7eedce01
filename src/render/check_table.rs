//! A check in a line: outcome, tests, duration, link.

use serde::Serialize;

use super::{
    links::Links,
    messages::{self, word},
    sanitize::{Markdown, short_text},
    words,
};
use loopgate_core::{
    deciding::CheckView,
    evidence::{CheckEvidence, CheckResults, Outcome, ReportQuality},
    verdict::{CheckStanding, gather::OnBase},
};

#[derive(Clone, Debug, Default, Serialize)]
pub struct CheckRow {
    pub name: String,
    pub outcome: Markdown,
    pub tests: String,
    pub duration: String,
    pub link: Markdown,
    /// What readers must know about it beside its outcome: a broken report, a skip's reason.
    pub note: Option<Markdown>,
}

/// Whether nothing has to be said of it but that it passes.
pub fn passes(check: &CheckView) -> bool {
    let is_read =
        |evidence: &CheckEvidence| evidence.reports.iter().all(|report| report.quality != ReportQuality::Invalid);
    matches!(&check.standing, CheckStanding::Done(evidence) if evidence.outcome == Outcome::Passed && is_read(evidence))
}

/// `3 checks passed`, `2 other checks passed`.
pub fn passed_head(passed: usize, others: usize) -> String {
    format!("{} passed", words::count(passed, if others == 0 { "check" } else { "other check" }))
}

pub fn row(check: &CheckView, links: &Links) -> CheckRow {
    if let CheckStanding::Done(evidence) = &check.standing {
        return ended(check, evidence, links);
    }
    let standing = messages::variant_name(&check.standing);
    let outcome = Markdown::ours(format!("{} {}", word("standing_sign", &standing), word("standing", &standing)));
    let note = match &check.standing {
        CheckStanding::Skipped { by, reason } => {
            Some(Markdown::ours(format!("{}: {}", words::person(by), short_text(reason, 200))))
        }
        CheckStanding::Absent { minutes } => Some(Markdown::ours(format!("it said nothing for {minutes} min"))),
        CheckStanding::AwaitsRelease { job, cause, .. } => Some(short_text(&words::skipped_job(job, cause), 300)),
        CheckStanding::Lost { legs } => Some(short_text(&messages::lost_jobs(legs), 300)),
        CheckStanding::Refused { reason } => Some(short_text(reason, 300)),
        _ => None,
    };
    let link = url(&check.standing).map(|url| links.to(word("standing_link", &standing), url)).unwrap_or_default();
    CheckRow { name: check.name.to_string(), outcome, link, note, ..CheckRow::default() }
}

/// The page of the job or run that a check without an outcome waits for.
fn url(standing: &CheckStanding) -> Option<&str> {
    match standing {
        CheckStanding::Running { url }
        | CheckStanding::AwaitsApproval { url }
        | CheckStanding::AwaitsRelease { url, .. }
        | CheckStanding::NotApplicable { url, .. }
        | CheckStanding::NotStarted { url, .. } => url.as_deref(),
        CheckStanding::Lost { legs } => legs.iter().find_map(|leg| leg.url.as_deref()),
        _ => None,
    }
}

fn ended(check: &CheckView, evidence: &CheckEvidence, links: &Links) -> CheckRow {
    let tests = match &evidence.results {
        Some(results) => tests(results),
        None if evidence.has_unread_tests() => "not read".to_owned(),
        None => String::new(),
    };
    let duration = if evidence.duration_ms > 0 { words::duration(evidence.duration_ms) } else { String::new() };
    let link = evidence.url.as_deref().map(|url| links.to("log", url)).unwrap_or_default();
    let unreadable = evidence.reports.iter().find(|report| report.quality == ReportQuality::Invalid);
    let note = match (unreadable, &evidence.skipped_because) {
        (Some(report), _) => {
            let why = report.notes.first().map_or("it is no report", String::as_str);
            Some(Markdown::ours(format!(
                "the report {} could not be read: {}",
                super::sanitize::code(&report.path),
                short_text(why, 200)
            )))
        }
        (None, Some(because)) => Some(short_text(because, 200)),
        (None, None) if evidence.has_unread_tests() => {
            let told = evidence.reports.iter().find(|report| report.format.is_none());
            told.and_then(|report| report.notes.first()).map(|note| short_text(note, 300))
        }
        (None, None) => None,
    };
    let (name, outcome) = (check.name.to_string(), Markdown::ours(outcome(check, evidence)));
    CheckRow { name, outcome, tests, duration, link, note }
}

fn outcome(check: &CheckView, evidence: &CheckEvidence) -> String {
    if check.baseline == OnBase::Advises && evidence.outcome.is_failure() {
        let open = evidence.failures.len() + usize::try_from(evidence.failures_not_kept).unwrap_or(usize::MAX);
        return format!("⚠️ {}", words::count(open, "open finding"));
    }
    let failed = evidence.outcome.is_failure() || evidence.outcome == Outcome::Cancelled;
    let blame = check.blame.filter(|_| failed).and_then(words::blame);
    let blame = blame.map(|blame| format!(" ({blame})")).unwrap_or_default();
    format!("{}{blame}", words::outcome(evidence.outcome))
}

/// `8 of 10 passed, 1 flaky, 1 skipped`.
pub fn tests(results: &CheckResults) -> String {
    if results.total == 0 {
        return "0".to_owned();
    }
    let mut said = if results.failed + results.errors == 0 && results.skipped == 0 {
        format!("{} passed", results.passed)
    } else {
        format!("{} of {} passed", results.passed, results.total)
    };
    for (n, word) in [(results.skipped, "skipped"), (results.flaky, "flaky")] {
        if n > 0 {
            said.push_str(&format!(", {n} {word}"));
        }
    }
    said
}
