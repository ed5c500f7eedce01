//! What stays behind after the merge: attempts, gates, skips, what was put off.

use serde::Serialize;

use super::{
    fit::Shown,
    links::Links,
    sanitize::{Markdown, code, short_text},
    verdict::Subject,
    words,
};
use loopgate_core::{
    policy::Severity,
    state::{AttemptDigest, VerificationResult},
    verdict::RuleOutcome,
};

#[derive(Clone, Debug, Serialize)]
pub struct Handoff {
    pub attempts: Shown<AttemptRow>,
    pub deferred: Shown<Markdown>,
}

/// One line of the table of attempts.
#[derive(Clone, Debug, Serialize)]
pub struct AttemptRow {
    pub number: u32,
    pub head: Markdown,
    pub outcome: &'static str,
    pub score: String,
    pub summary: Markdown,
}

pub fn attempt_row(attempt: &AttemptDigest, links: &Links) -> AttemptRow {
    let outcome = match (attempt.result, attempt.blame.and_then(words::blame)) {
        (VerificationResult::Pass, _) if attempt.weakened => "⚠️ passed, weakens tests",
        (VerificationResult::Pass, _) => "✅ passed",
        (VerificationResult::Fail, None) => "❌ failed",
        (VerificationResult::Fail, Some(_)) => "➖ failed, not its fault",
    };
    AttemptRow {
        number: attempt.number,
        head: links.commit(attempt.head_sha),
        outcome,
        score: attempt.score.to_string(),
        summary: short_text(&attempt.summary, 200),
    }
}

impl Handoff {
    pub fn of(subject: &Subject<'_>, links: &Links) -> Self {
        Self {
            attempts: subject.decision.next.attempts.iter().map(|attempt| attempt_row(attempt, links)).collect(),
            deferred: deferred(subject),
        }
    }

    pub fn shorten(&mut self) -> bool {
        self.deferred.halve() || self.attempts.halve()
    }
}

/// Capabilities left open, warnings and notes that the merge did not wait for.
fn deferred(subject: &Subject<'_>) -> Shown<Markdown> {
    let view = &subject.decision.view;
    let open = view.capabilities.current.iter().chain(&view.capabilities.remaining);
    let capabilities = open.map(|name| short_text(name, 200));
    let rules = view.evaluation.rules.iter().filter(|rule| rule.severity != Severity::Fail);
    let rules = rules.filter_map(|rule| match &rule.outcome {
        RuleOutcome::Failed(why) => {
            Some(Markdown::ours(format!("{}: {}", code(rule.id.as_str()), short_text(&words::fix(why), 200))))
        }
        RuleOutcome::Passed | RuleOutcome::Unknown => None,
    });
    Shown::first(50, capabilities.chain(rules), |line| line)
}
