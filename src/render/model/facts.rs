//! The parts of the document, made of the decision; every text bounded.

use std::collections::BTreeSet;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::document::{Actor, Attempt, Failure, Gate, Place, QuotedOutput, Tried};
use crate::render::{
    Subject, address, approve_by, clip,
    excerpts::{self, Excerpt},
    failure_card::{Cause, explained},
    memory, variant_name, word, words,
};
use loopgate_core::{
    FailureId, RuleId,
    deciding::{self, CheckView, Part},
    evidence::{Compare, LogExcerpt},
    failure::Blame,
    gate::{EligibleApprovers, GateReport, GateStanding},
    observed::{Account, AccountKind},
    policy::{ApproveBy, Policy},
    state::{AttemptDigest, LoopState},
    untrusted::without_secrets,
    verdict::{Evaluation, EvaluationVerdict},
};

/// Something of the decision whose texts have at most so many characters, and whose lists so many items.
pub fn bounded<T: Serialize + DeserializeOwned>(whole: &T, characters: usize, items: usize) -> Option<T> {
    fn bound(value: Value, (characters, most): (usize, usize)) -> Value {
        let bound = |value| bound(value, (characters, most));
        match value {
            Value::String(text) => short(&text, characters).into(),
            Value::Array(items) => items.into_iter().take(most).map(bound).collect(),
            Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, bound(value))).collect(),
            other => other,
        }
    }
    serde_json::from_value(bound(serde_json::to_value(whole).ok()?, (characters, items))).ok()
}

pub fn evaluation(evaluation: &Evaluation) -> Value {
    let is_decided = evaluation.verdict != EvaluationVerdict::Undecided;
    let first = |rules: Vec<RuleId>| rules.into_iter().take(50).collect::<Vec<_>>();
    json!({
        "phase": evaluation.phase,
        "threshold": evaluation.threshold,
        "progress": evaluation.progress,
        "passed": is_decided.then(|| evaluation.passed()),
        "failed_rules": first(evaluation.failed_rules()),
        "warnings": first(evaluation.warnings()),
    })
}

pub fn check(view: &CheckView) -> Value {
    let evidence = words::evidence(view);
    let tests = evidence.and_then(|evidence| evidence.results).map(|it| {
        json!({
            "total": it.total, "passed": it.passed, "failed": it.failed, "errors": it.errors, "skipped": it.skipped,
            "flaky": it.flaky,
        })
    });
    json!({
        "name": view.name,
        "kind": view.kind,
        "outcome": evidence.map_or_else(|| variant_name(&view.standing), |it| it.outcome.as_str().to_owned()),
        "blame": view.blame.map(Blame::as_str),
        "tests": tests,
        "duration_ms": evidence.map(|evidence| evidence.duration_ms),
        "url": page(view),
    })
}

/// The page of what a check reported.
pub fn page(view: &CheckView) -> Option<String> {
    words::evidence(view)?.url.as_deref().and_then(address)
}

pub fn gate(report: &GateReport, subject: &Subject<'_>) -> Gate {
    let by = approve_by(subject.policy, &report.name);
    Gate {
        name: report.name.to_string(),
        status: report.status(),
        holds: Some(report.holds),
        advisory: report.is_advisory,
        // "comment_or_review" is two ways.
        approve_by: variant_name(&by).split("_or_").map(str::to_owned).collect(),
        who: who(&report.eligible),
        needed: report.needed,
        write: (by != ApproveBy::Review).then(|| format!("{} approved", report.name)),
        approved_by: match &report.standing {
            GateStanding::Approved { by } => by.iter().take(20).map(|approval| approval.by.clone()).collect(),
            _ => Vec::new(),
        },
    }
}

fn who(eligible: &EligibleApprovers) -> Vec<String> {
    let people = eligible.people.iter().take(20).map(ToString::to_string);
    let teams = eligible.teams.keys().take(20).map(ToString::to_string);
    people.chain(teams).chain(eligible.permission.map(|level| words::permission(level).to_owned())).collect()
}

/// Who acts next, and how.
pub fn who_acts(subject: &Subject<'_>) -> Option<Actor> {
    let account = &subject.snapshot.pull_request.author;
    let who = deciding::who_acts(subject.decision, &subject.snapshot.pull_request, subject.policy)?;
    // A verified working tree has no pull request.
    let is_open = subject.decision.next.pull_request.is_some();
    let (kind, login) = match who.part {
        Part::Nobody => return None,
        Part::Author | Part::Agent if is_open => (kind_of(account, subject.policy), Some(account.login.clone())),
        part => (word("actor", part.as_str()), None),
    };
    let action = words::deed(who.part, &subject.decision.action).to_owned();
    Some(Actor { kind: kind.to_owned(), login, action, since: who.since })
}

/// What an account is, by its login first: agents act as people, too.
fn kind_of(account: &Account, policy: &Policy) -> &'static str {
    match account.kind {
        _ if policy.coding_agents.contains(&account.login) => "agent",
        AccountKind::Bot => "bot",
        AccountKind::User | AccountKind::Organization | AccountKind::Other => "person",
    }
}

pub fn failure(cause: &Cause<'_>, subject: &Subject<'_>, excerpts: &[Excerpt]) -> Failure {
    let (view, known) = (cause.first, subject.decision.view.compare.as_ref());
    let (failure, told) = (&view.failure, &view.told);
    let test = failure.test_name.as_deref();
    let [expected, actual] = failure.shown_sides();
    let is_known = known.is_some_and(|compare| test.is_some_and(|test| compare.still.contains(test)));
    Failure {
        id: view.cause.to_string(),
        check: Some(view.check.to_string()),
        test: test.map(|name| short(name, 300)),
        new: view.blame == Blame::PrCode && !is_known,
        regression: view.regressed,
        also: cause.others.len(),
        place: failure.location().map(|(file, line)| Place { file: short(file, 500), line }),
        message: Some(short(&failure.reported(), 500)),
        expected: expected.map(|value| short(&value, 500)),
        actual: actual.map(|value| short(&value, 500)),
        cause: explained(view).map(|cause| short(cause, 500)),
        category: Some(view.analysis.category.as_str().to_owned()),
        confidence: Some(view.analysis.confidence.as_f64()),
        blame: Some(view.blame.as_str().to_owned()),
        r#do: said(&told.action).filter(|_| !view.repeats_sides),
        why: said(&told.reason).filter(|_| !view.repeats_sides),
        reproduce: told.reproduce.as_deref().map(|command| short(command, 500)),
        excerpt: excerpts::of_check(excerpts, &view.check),
        tried: tried(view.cause, &subject.decision.next),
        memory: memory::for_fixer(view),
        settled: view
            .memory
            .iter()
            .find_map(|found| Some(short(&memory::settled(found.settled.as_ref()?, str::to_owned), 500))),
        ..Failure::default()
    }
}

fn said(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| short(&without_secrets(text), 500))
}

pub fn excerpt(Excerpt { id, excerpt, .. }: &Excerpt) -> QuotedOutput {
    let excerpt = LogExcerpt { log: excerpt.log.as_deref().and_then(address), ..excerpt.clone() };
    QuotedOutput { id: id.clone(), untrusted: true, excerpt }
}

/// The changes that followed an attempt with this failure, the newest five.
fn tried(failure: FailureId, state: &LoopState) -> Vec<Tried> {
    let has = |attempt: &AttemptDigest| attempt.fingerprints.iter().any(|known| FailureId::from(*known) == failure);
    let fixes = state.reflex.iter().flat_map(|reflex| &reflex.fixes);
    let said = |attempt: &AttemptDigest| {
        let fix = fixes.clone().find(|fix| fix.head_sha == attempt.head_sha)?;
        Some(short(&format!("{} ({})", fix.description, fix.diff_summary), 300))
    };
    let pairs = state.attempts.windows(2).filter_map(|pair| match pair {
        [before, after] if has(before) => Some(Tried {
            attempt: after.number,
            head_sha: Some(after.head_sha),
            change: said(after),
            outcome: if has(after) { "same" } else { "came_back" }.to_owned(),
        }),
        _ => None,
    });
    let all: Vec<Tried> = pairs.collect();
    let old = all.len().saturating_sub(5);
    all.into_iter().skip(old).collect()
}

pub fn compare(Compare { new, still, fixed, flaky, .. }: &Compare) -> Value {
    let names = |names: &BTreeSet<String>| names.iter().take(10).map(|name| short(name, 200)).collect::<Vec<_>>();
    json!({ "new": names(new), "still": names(still), "fixed": names(fixed), "flaky": names(flaky) })
}

pub fn attempt(digest: &AttemptDigest) -> Attempt {
    Attempt {
        attempt: digest.number,
        head_sha: digest.head_sha,
        result: digest.result,
        score: digest.score,
        summary: short(&digest.summary, 300),
    }
}

fn short(words: &str, most: usize) -> String {
    clip(words, most).into_owned()
}
