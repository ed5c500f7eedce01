//! A check in a line: outcome, tests, duration, link.

use minijinja::{Value, context};

use super::{Links, Markdown, code, messages, short_text, word, words};
use loopgate_core::{
    deciding::CheckView,
    evidence::{CheckEvidence, CheckResults, Outcome, ReportQuality},
    verdict::{CheckStanding, gather::OnBase},
};

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

/// What `parts/check.md` shows.
pub fn row(check: &CheckView, links: &Links) -> Value {
    let evidence = words::evidence(check);
    let tests = match evidence {
        Some(CheckEvidence { results: Some(results), .. }) => tests(results),
        Some(evidence) if evidence.has_unread_tests() => "not read".to_owned(),
        _ => String::new(),
    };
    let label = evidence.map_or_else(|| word("standing_link", &messages::variant_name(&check.standing)), |_| "log");
    context! {
        name => check.name.as_str(),
        outcome => Markdown::ours(outcome(check)),
        tests,
        duration => evidence.map(|evidence| evidence.duration_ms).filter(|ms| *ms > 0).map(words::duration),
        link => url(&check.standing).map(|url| links.to(label, url)),
        note => note(check),
    }
}

/// What readers must know about it beside its outcome: a broken report, a skip's reason.
fn note(check: &CheckView) -> Option<Markdown> {
    Some(match &check.standing {
        CheckStanding::Done(evidence) => return note_on(evidence),
        CheckStanding::Skipped { by, reason } => {
            Markdown::ours(format!("{}: {}", words::person(by), short_text(reason, 200)))
        }
        CheckStanding::Absent { minutes } => Markdown::ours(format!("it said nothing for {minutes} min")),
        CheckStanding::AwaitsRelease { job, cause, .. } => short_text(&words::skipped_job(job, cause), 300),
        CheckStanding::Lost { legs } => short_text(&messages::lost_jobs(legs), 300),
        CheckStanding::Refused { reason } => short_text(reason, 300),
        _ => return None,
    })
}

fn note_on(evidence: &CheckEvidence) -> Option<Markdown> {
    if let Some(report) = evidence.reports.iter().find(|report| report.quality == ReportQuality::Invalid) {
        let why = report.notes.first().map_or("it is no report", String::as_str);
        let (path, why) = (code(&report.path), short_text(why, 200));
        return Some(Markdown::ours(format!("the report {path} could not be read: {why}")));
    }
    if let Some(because) = &evidence.skipped_because {
        return Some(short_text(because, 200));
    }
    let untold = evidence.reports.iter().find(|report| report.format.is_none() && evidence.has_unread_tests())?;
    Some(short_text(untold.notes.first()?, 300))
}

/// How it stands or ended, with a sign.
pub fn outcome(check: &CheckView) -> String {
    let Some(evidence) = words::evidence(check) else {
        let standing = messages::variant_name(&check.standing);
        return format!("{} {}", word("standing_sign", &standing), word("standing", &standing));
    };
    if check.baseline == OnBase::Advises && evidence.outcome.is_failure() {
        let open = evidence.failures.len() + usize::try_from(evidence.failures_not_kept).unwrap_or(usize::MAX);
        return format!("⚠️ {}", words::count(open, "open finding"));
    }
    let failed = evidence.outcome.is_failure() || evidence.outcome == Outcome::Cancelled;
    let blame = check.blame.filter(|_| failed).and_then(words::blame);
    let blame = blame.map(|blame| format!(" ({blame})")).unwrap_or_default();
    format!("{}{blame}", words::outcome(evidence.outcome))
}

/// The page of its job or run, or of the one that it waits for.
fn url(standing: &CheckStanding) -> Option<&str> {
    match standing {
        CheckStanding::Done(evidence) => evidence.url.as_deref(),
        CheckStanding::Running { url }
        | CheckStanding::AwaitsApproval { url }
        | CheckStanding::AwaitsRelease { url, .. }
        | CheckStanding::NotApplicable { url, .. }
        | CheckStanding::NotStarted { url, .. } => url.as_deref(),
        CheckStanding::Lost { legs } => legs.iter().find_map(|leg| leg.url.as_deref()),
        _ => None,
    }
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
