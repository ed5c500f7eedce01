//! The one view model: what a decision, its snapshot and policy come to, as `loopgate.feedback/v1`. It is the JSON
//! inside the status comment's last section, what a fixer is given, here or elsewhere, and what readers find again.

mod document;
mod reading;
mod untrusted;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use self::document::{Actor, Attempt, Gate, Links, Place, Tried};
pub use self::{
    document::{Ended, Failure, Feedback},
    reading::{
        Currency, FeedbackAnswer, ReadFrom, Reading, Traces, Until, feedback_text, waiting_text,
    },
    untrusted::{CAUTION, Marked, marked},
};

use super::{
    Markdown, Shown, Subject, address, clip,
    excerpts::{self, QuotedOutput},
    failure_card::{Cause, causes, explained},
    memory,
    messages::entry,
    summary::{self, StatePlace},
    variant_name, word, words,
};
use loopgate_core::{
    FailureId, RuleId,
    concerns::{
        gates::GateReport,
        verdict::{Evaluation, EvaluationVerdict},
    },
    deciding::{self, CheckView, Part},
    evidence::{Compare, MOST_EXCERPTS},
    failure::{Blame, Excerpt},
    observed::{Account, AccountKind},
    policy::{ApproveBy, Policy},
    state::{AttemptDigest, GateStatus, LoopState, Task},
    untrusted::without_secrets,
};

/// `schema` of the document.
const FEEDBACK_SCHEMA: &str = "loopgate.feedback/v1";
/// `schema` of what `loopgate explain` writes.
pub(super) const EXPLAIN_SCHEMA: &str = "loopgate.explain/v1";

/// Bytes of the document at most.
const PACKET: usize = 16 * 1024;
/// Bytes of it that are left for what a reader adds: where it was read, and whether it still holds.
const FOR_READERS: usize = 256;

/// Lines of a failure's trace, from the most generous document to the tightest.
const TRACE_LINES: [usize; 4] = [40, 20, 10, 4];

/// Names of further failures with one cause.
const MOST_OTHERS: usize = 10;

/// Failures that stay as long as anything else can be left out.
const FIRST_FAILURES: usize = 3;

/// What a fixer or author must not do.
const RULES: [&str; 2] = [
    NO_EDITS,
    "a failure that is not yours to fix is disputed: `loopgate dispute ID OWNER/REPO#N --reason TEXT`, or comment `/loop \
     dispute ID REASON`, or push a commit with the trailer `Loopgate-Dispute: ID REASON`; a person settles it, and no \
     attempt is counted",
];
/// The same for a fixer of a local loop.
const RULES_OF_A_FIXER: [&str; 2] = [
    NO_EDITS,
    "a failure that is not yours to fix is disputed: answer {\"outcome\": \"dispute\", \"failure\": ID, \"reason\": TEXT} and \
     edit nothing; a person settles it, and no attempt is counted",
];
const NO_EDITS: &str = "do not edit tests to make them pass";

impl Feedback {
    pub fn of(subject: &Subject<'_>) -> Self {
        Self::with_text(subject).0
    }

    /// The document, and its fenced block.
    pub(super) fn with_text(subject: &Subject<'_>) -> (Self, Markdown) {
        let (decision, view) = (subject.decision, &subject.decision.view);
        let feedback = subject.feedback();
        let others = feedback.iter().filter(|line| line.id.is_none());
        let causes = causes(&view.failures);
        let excerpts = excerpts::excerpts(decision);
        let pull = &subject.snapshot.pull_request;
        let mut omitted = BTreeMap::new();
        let mut document = Self {
            schema: FEEDBACK_SCHEMA.to_owned(),
            repository: Some(subject.snapshot.repository.clone()),
            pull_request: decision.next.run.pull_request,
            head_sha: pull.head.sha,
            r#final: !decision.action.awaits_evidence(),
            decision: decision.action.word(),
            action: bounded(&json!(decision.action), 200, 20).unwrap_or_default(),
            who_acts: who_acts(subject),
            status: Some(decision.next.run.status),
            stage: Some(view.stage),
            attempt: Some(view.attempt),
            max_attempts: Some(view.max_attempts),
            score: Some(view.evaluation.score),
            evaluation: Some(evaluation(&view.evaluation)),
            checks: first(100, "checks", &mut omitted, &view.checks, check),
            gates: first(40, "gates", &mut omitted, &view.gates, |report| {
                gate(report, subject)
            }),
            capabilities: bounded(&view.capabilities, 200, 20),
            failures: first(10, "failures", &mut omitted, &causes, |cause| {
                failure(cause, subject, &excerpts)
            }),
            more_failures: omitted.get("failures").map_or(0, |omitted| *omitted as u64),
            excerpts: first(MOST_EXCERPTS, "excerpts", &mut omitted, &excerpts, |one| {
                QuotedOutput {
                    checks: Vec::new(),
                    ..one.clone()
                }
            }),
            feedback: first(10, "feedback", &mut omitted, others, |line| {
                bounded(line, 500, 0).unwrap_or_else(|| line.clone())
            }),
            rules: RULES.map(str::to_owned).to_vec(),
            compare: view.compare.as_ref().map(compare),
            attempts: decision
                .next
                .attempts
                .counted
                .iter()
                .rev()
                .take(10)
                .rev()
                .map(attempt)
                .collect(),
            distance_to_success: view.distance.clone(),
            links: Links {
                status: address(&pull.url),
                report: view.checks.iter().rev().find_map(page),
            },
            state_ref: match summary::state_place(subject) {
                StatePlace::Ref(name) => Some(name),
                StatePlace::StatusComment | StatePlace::Artifact => None,
            },
            omitted,
            working_tree: None,
            planted: Vec::new(),
            ended: None,
            others: Map::new(),
        };
        let mut text = document.fenced();
        while text.as_str().len() > PACKET - FOR_READERS && document.shorten() {
            text = document.fenced();
        }
        (document, text)
    }

    /// The document as the fixer of a local loop gets it on its standard input: the failures with their traces, as long
    /// as they fit, beside the task, the critique, and the command that shows the whole record.
    pub fn for_fixer(
        subject: &Subject<'_>,
        task: &Task,
        critique: &[String],
        report: String,
    ) -> String {
        let mut document = Self::of(subject);
        document.links.report = Some(report);
        document.rules = RULES_OF_A_FIXER.map(str::to_owned).to_vec();
        let (kind, action) = ("fixer".to_owned(), "fix it in the working tree".to_owned());
        document.who_acts = Some(Actor {
            kind,
            login: None,
            action,
            since: None,
        });
        let beside =
            json!({ "task": task.prompt, "ideal_result": task.ideal_result, "critique": critique });
        document.others = beside.as_object().cloned().unwrap_or_default();
        let causes = causes(&subject.decision.view.failures);
        let written = |document: &Self| format!("{:#}", document.value());
        let whole = written(&document);
        for lines in TRACE_LINES {
            for (failure, cause) in document.failures.iter_mut().zip(&causes) {
                let trace = cause.first.failure.shown_trace();
                failure.trace = trace.map(|trace| Excerpt::of(&trace, lines));
            }
            let traced = written(&document);
            if traced.len() <= PACKET {
                return traced;
            }
        }
        whole
    }

    /// The document as every reader gets it: it names the fields that hold words of others.
    pub fn value(&self) -> Value {
        marked(json!(self))
    }

    /// Leaves out half of the least important list that is left. Returns whether there was one. The first failures go
    /// last: what is to be done begins with them.
    pub fn shorten(&mut self) -> bool {
        let omitted = &mut self.omitted;
        let is_shorter = halve("failures", omitted, &mut self.failures, FIRST_FAILURES)
            || halve("feedback", omitted, &mut self.feedback, 0)
            || halve("attempts", omitted, &mut self.attempts, 0)
            || halve("checks", omitted, &mut self.checks, 0)
            || halve("gates", omitted, &mut self.gates, 0)
            || halve("excerpts", omitted, &mut self.excerpts, 0)
            || halve("failures", omitted, &mut self.failures, 0);
        self.more_failures = omitted.get("failures").map_or(0, |omitted| *omitted as u64);
        is_shorter
    }

    /// The document as a fenced block. Backticks, angle brackets and invisible characters are written as JSON
    /// escapes, so three backticks always close it and nothing in it can pass for a marker or hide.
    pub fn fenced(&self) -> Markdown {
        let json = format!("{:#}", self.value());
        // Only strings can hold these characters, so a JSON escape is right wherever they stand.
        let json = escape_where(&json, |c| matches!(c, '`' | '<' | '>') || is_hidden(c));
        Markdown::ours(format!("```json\n{json}\n```"))
    }
}

/// The first `most` of a list; how many are left out is noted under the list's name.
fn first<R, T>(
    most: usize,
    name: &str,
    omitted: &mut BTreeMap<String, usize>,
    raw: impl IntoIterator<Item = R>,
    show: impl FnMut(R) -> T,
) -> Vec<T> {
    let shown = Shown::first(most, raw, show);
    if shown.omitted > 0 {
        omitted.insert(name.to_owned(), shown.omitted);
    }
    shown.items
}

/// Leaves out the second half of a list, but none of its first `least` items, and notes how many; whether there were any.
fn halve<T>(
    name: &str,
    omitted: &mut BTreeMap<String, usize>,
    items: &mut Vec<T>,
    least: usize,
) -> bool {
    let kept = (items.len() / 2).max(least).min(items.len());
    let rest = items.split_off(kept).len();
    if rest > 0 {
        *omitted.entry(name.to_owned()).or_default() += rest;
    }
    rest > 0
}

/// A document on one line, in which nothing is hidden.
pub fn json_text(document: &Value) -> String {
    escape_invisible(&document.to_string())
}

/// JSON in which nothing is hidden, for readers of no Markdown.
fn escape_invisible(json: &str) -> String {
    escape_where(json, is_hidden)
}

fn is_hidden(c: char) -> bool {
    !matches!(c, '\n' | ' '..='~') && !c.is_alphanumeric()
}

fn escape_where(json: &str, hides: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(json.len());
    for piece in json.split_inclusive(&hides) {
        let plain = piece.trim_end_matches(&hides);
        out.push_str(plain);
        for unit in piece[plain.len()..].encode_utf16() {
            out.push_str(&format!("\\u{unit:04x}"));
        }
    }
    out
}

/// Something of the decision whose texts have at most so many characters, and whose lists so many items.
fn bounded<T: Serialize + DeserializeOwned>(
    whole: &T,
    characters: usize,
    items: usize,
) -> Option<T> {
    fn bound(value: Value, (characters, most): (usize, usize)) -> Value {
        let bound = |value| bound(value, (characters, most));
        match value {
            Value::String(text) => short(&text, characters).into(),
            Value::Array(items) => items.into_iter().take(most).map(bound).collect(),
            Value::Object(fields) => fields
                .into_iter()
                .map(|(name, value)| (name, bound(value)))
                .collect(),
            other => other,
        }
    }
    serde_json::from_value(bound(
        serde_json::to_value(whole).ok()?,
        (characters, items),
    ))
    .ok()
}

fn evaluation(evaluation: &Evaluation) -> Value {
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

fn check(view: &CheckView) -> Value {
    let evidence = view.evidence();
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
fn page(view: &CheckView) -> Option<String> {
    view.evidence()?.url.as_deref().and_then(address)
}

fn gate(report: &GateReport, subject: &Subject<'_>) -> Gate {
    let (by, eligible) = (subject.approve_by(&report.name), &report.eligible);
    let people = eligible.people.iter().take(20).map(ToString::to_string);
    let teams = eligible.teams.keys().take(20).map(ToString::to_string);
    let permission = eligible
        .permission
        .map(|level| words::permission(level).to_owned());
    Gate {
        name: report.name.to_string(),
        status: report.status,
        holds: Some(report.holds),
        advisory: report.is_advisory,
        // "comment_or_review" is two ways.
        approve_by: variant_name(&by).split("_or_").map(str::to_owned).collect(),
        who: people.chain(teams).chain(permission).collect(),
        needed: report.needed,
        write: (by != ApproveBy::Review).then(|| format!("{} approved", report.name)),
        approved_by: match report.status {
            GateStatus::Approved => report
                .approvals
                .iter()
                .take(20)
                .map(|approval| approval.by.clone())
                .collect(),
            _ => Vec::new(),
        },
    }
}

/// Who acts next, and how.
fn who_acts(subject: &Subject<'_>) -> Option<Actor> {
    let account = &subject.snapshot.pull_request.author;
    let who = deciding::who_acts(
        subject.decision,
        &subject.snapshot.pull_request,
        subject.policy,
    )?;
    // A verified working tree has no pull request.
    let is_open = subject.decision.next.run.pull_request.is_some();
    let (kind, login) = match who.part {
        Part::Nobody => return None,
        Part::Author | Part::Agent if is_open => (
            kind_of(account, subject.policy),
            Some(account.login.clone()),
        ),
        part => (word(entry::Actor(&part)), None),
    };
    // Of a working tree, with no CI and no other people.
    let own = match who.part {
        Part::Merger => Some(entry::DeedOfAuthor::Push),
        Part::Ci => Some(entry::DeedOfAuthor::VerifyAgain),
        _ => None,
    };
    if let Some(deed) = own.filter(|_| !is_open) {
        return Some(Actor {
            kind: word(entry::Actor(&Part::Author)).to_owned(),
            login: None,
            action: word(deed).to_owned(),
            since: who.since,
        });
    }
    let action = words::deed(who.part, &subject.decision.action).to_owned();
    Some(Actor {
        kind: kind.to_owned(),
        login,
        action,
        since: who.since,
    })
}

/// What an account is, by its login first: agents act as people, too.
fn kind_of(account: &Account, policy: &Policy) -> &'static str {
    match account.kind {
        _ if policy.coding_agents.contains(&account.login) => "agent",
        AccountKind::Bot => "bot",
        AccountKind::User | AccountKind::Organization | AccountKind::Other => "person",
    }
}

fn failure(cause: &Cause<'_>, subject: &Subject<'_>, excerpts: &[QuotedOutput]) -> Failure {
    let (view, known) = (cause.first, subject.decision.view.compare.as_ref());
    let (failure, told) = (&view.failure, &view.feedback);
    let test = failure.test_name.as_deref();
    let [expected, actual] = failure.shown_sides();
    let shown = |text: &str| {
        (!text.is_empty() && !view.repeats_sides).then(|| short(&without_secrets(text), 500))
    };
    let is_known =
        known.is_some_and(|compare| test.is_some_and(|test| compare.still.contains(test)));
    Failure {
        id: view.cause.to_string(),
        check: Some(view.check.to_string()),
        test: test.map(|name| short(name, 300)),
        new: view.blame == Blame::PrCode && !is_known,
        regression: view.regressed,
        also: cause.others.len(),
        others: cause
            .other_names()
            .take(MOST_OTHERS)
            .map(|name| short(&name, 300))
            .collect(),
        place: failure.location().map(|(file, line)| Place {
            file: short(file, 500),
            line,
        }),
        message: Some(short(&failure.reported(), 500)),
        expected: expected.map(|value| short(&value, 500)),
        actual: actual.map(|value| short(&value, 500)),
        cause: explained(view).map(|cause| short(cause, 500)),
        category: Some(view.analysis.category.as_str().to_owned()),
        confidence: Some(view.analysis.confidence.as_f64()),
        blame: Some(view.blame.as_str().to_owned()),
        r#do: shown(&told.action).filter(|_| failure.analysis.is_none()),
        advice: shown(&told.action).filter(|_| failure.analysis.is_some()),
        why: shown(&told.reason),
        reproduce: told.reproduce.as_deref().map(|command| short(command, 500)),
        excerpt: excerpts
            .iter()
            .find(|one| one.checks.contains(&view.check))
            .map(|one| one.id.clone()),
        tried: tried(view.cause, &subject.decision.next),
        memory: memory::for_fixer(view),
        settled: view.memory.iter().find_map(|found| {
            Some(short(
                &memory::settled(found.settled.as_ref()?, str::to_owned),
                500,
            ))
        }),
        ..Failure::default()
    }
}

/// The changes that followed an attempt with this failure, the newest five.
fn tried(failure: FailureId, state: &LoopState) -> Vec<Tried> {
    let has = |attempt: &AttemptDigest| {
        attempt
            .fingerprints
            .iter()
            .any(|known| FailureId::from(*known) == failure)
    };
    let fixes = state.run.reflex.iter().flat_map(|reflex| &reflex.fixes);
    let change = |attempt: &AttemptDigest| {
        let fix = fixes.clone().find(|fix| fix.head_sha == attempt.head_sha)?;
        Some(short(
            &format!("{} ({})", fix.description, fix.diff_summary),
            300,
        ))
    };
    let pairs = state
        .attempts
        .counted
        .windows(2)
        .filter_map(|pair| match pair {
            [before, after] if has(before) => Some(Tried {
                attempt: after.number,
                head_sha: Some(after.head_sha),
                change: change(after),
                outcome: if has(after) { "same" } else { "came_back" }.to_owned(),
            }),
            _ => None,
        });
    let all: Vec<Tried> = pairs.collect();
    let old = all.len().saturating_sub(5);
    all.into_iter().skip(old).collect()
}

fn compare(
    Compare {
        new,
        still,
        fixed,
        flaky,
        ..
    }: &Compare,
) -> Value {
    let names = |names: &BTreeSet<String>| {
        names
            .iter()
            .take(10)
            .map(|name| short(name, 200))
            .collect::<Vec<_>>()
    };
    json!({ "new": names(new), "still": names(still), "fixed": names(fixed), "flaky": names(flaky) })
}

fn attempt(digest: &AttemptDigest) -> Attempt {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    fn status(decision: &loopgate_core::deciding::Decision) -> Feedback {
        let (snapshot, policy) = (fixtures::snapshot(), fixtures::policy());
        Feedback::of(&Subject::new(decision, &snapshot, &policy))
    }

    #[test]
    fn the_schema_that_is_shipped_is_that_of_the_document() {
        loopgate_written::assert_schema::<Marked<Feedback>>(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../config/schemas/feedback.schema.json"
        ));
    }

    #[test]
    fn the_block_is_json_again() {
        let mut decision = fixtures::first_failure();
        let nasty = "```\n<!-- loopgate:status --> \u{202e}\u{1F600}\u{0}\u{7f}\"\\";
        decision.view.failures[0].failure.error_message = nasty.into();
        let fenced = status(&decision).fenced().into_string();
        let json = fenced
            .strip_prefix("```json\n")
            .and_then(|rest| rest.strip_suffix("\n```"))
            .unwrap();
        assert!(!json.contains('`') && !json.contains('<') && !json.contains('\u{202e}'));
        let parsed: Value = serde_json::from_str(json).unwrap();
        assert_eq!(parsed["schema"], FEEDBACK_SCHEMA);
        assert_eq!(parsed["failures"][0]["message"], nasty, "nothing is lost");
    }

    #[test]
    fn a_fixer_sees_traces_as_far_as_they_fit() {
        let mut decision = fixtures::first_failure();
        let told = |decision: &loopgate_core::deciding::Decision| {
            let (snapshot, policy) = (fixtures::snapshot(), fixtures::policy());
            let subject = Subject::new(decision, &snapshot, &policy);
            let task = Task {
                prompt: "round".into(),
                ideal_result: None,
            };
            let text = Feedback::for_fixer(&subject, &task, &[], "git show".into());
            assert!(text.len() <= PACKET, "{}", text.len());
            serde_json::from_str::<Value>(&text).unwrap()
        };
        decision.view.failures.truncate(1);
        decision.view.failures[0].failure.stack_trace =
            Some((1..=60).map(|n| format!("at {n}\n")).collect());
        let document = told(&decision);
        assert_eq!(
            (&document["task"], &document["links"]["report"]),
            (&"round".into(), &"git show".into())
        );
        let trace = &document["failures"][0]["trace"];
        assert!(
            trace["head"].as_str().unwrap().starts_with("at 1\n"),
            "{trace}"
        );
        assert!(
            trace["tail"].as_str().unwrap().ends_with("at 60") && trace["cut_lines"] == 20,
            "{trace}"
        );

        let again = decision.view.failures[0].clone();
        decision.view.failures = (0..8)
            .map(|n| {
                let cause = loopgate_core::Fingerprint::from_bytes([n; 8]).into();
                loopgate_core::concerns::verdict::FailureView {
                    cause,
                    ..again.clone()
                }
            })
            .collect();
        for failure in &mut decision.view.failures {
            failure.failure.stack_trace = Some(format!("{}\n", "x ".repeat(150)).repeat(60));
        }
        let trace = &told(&decision)["failures"][7]["trace"];
        assert!(
            trace["cut_lines"].as_u64().is_none_or(|cut| cut > 40),
            "{trace}"
        );
    }

    #[test]
    fn a_document_is_at_most_16_kb_and_says_what_it_left_out() {
        let mut decision = fixtures::first_failure();
        decision.view.failures = vec![fixtures::failure(); 200];
        for (n, failure) in (0_u32..).zip(&mut decision.view.failures) {
            failure.failure.error_message = "\u{1F600}".repeat(5_000);
            failure.cause = loopgate_core::Fingerprint::from_bytes([n as u8; 8]).into();
        }
        let status = status(&decision);
        assert!(status.fenced().as_str().len() <= PACKET);
        assert_eq!(status.failures.len() + status.omitted["failures"], 200);
    }
}
