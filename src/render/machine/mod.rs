//! The same facts for a program (`loopgate.feedback/v1`): the JSON inside the status comment's last section, and what a
//! fixer is given, here or elsewhere.

mod document;
mod facts;
mod told;

use std::{borrow::Cow, collections::BTreeMap};

use self::document::List;
use self::document::{Actor, Links};
pub use self::document::{Failure, Status};
pub use self::told::{Currency, Ended, ReadFrom, Reading, Told};
pub(super) use self::told::{Page, ToldFailure, ToldGate};
use serde::Serialize;

use super::{
    excerpts,
    failure_card::causes,
    fit::{Shortened, Shown, shorten_first},
    sanitize::{Markdown, address},
    summary,
    verdict::Subject,
};
use loopgate_core::{Sha, evidence::MOST_EXCERPTS, failure::Excerpt, state::Task};

/// `schema` of the document.
const FEEDBACK_SCHEMA: &str = "loopgate.feedback/v1";

/// Bytes of the document at most.
const PACKET: usize = 16 * 1024;
/// Bytes of it that are left for what a reader adds: where it was read, and whether it still holds.
const FOR_READERS: usize = 256;

/// Lines of a failure's trace, from the most generous document to the tightest.
const TRACE_LINES: [usize; 4] = [40, 20, 10, 4];

/// What whoever repairs must not do.
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

/// How many attempts were made on other heads before this one, by what a status comment of ours says. Only asked where
/// nothing better is left: who may write can edit the comment.
pub(super) fn attempts_before(status_comment: &str, head: Sha) -> u32 {
    #[derive(serde::Deserialize)]
    struct Attempts {
        head_sha: Sha,
        attempt: u32,
        attempts: Vec<Counted>,
    }
    #[derive(serde::Deserialize)]
    struct Counted {
        attempt: u32,
    }
    let document = folded(status_comment);
    let Some(told) = document.and_then(|document| serde_json::from_str::<Attempts>(&document).ok()) else { return 0 };
    let was_counted = told.attempts.last().is_some_and(|last| last.attempt == told.attempt);
    if was_counted && told.head_sha != head { told.attempt } else { told.attempt.saturating_sub(1) }
}

/// The JSON of the last fenced block of a text of ours. Whoever edits a comment on a page gives it other line ends.
fn folded(markdown: &str) -> Option<Cow<'_, str>> {
    if markdown.contains('\r') {
        return folded(&markdown.replace("\r\n", "\n")).map(|json| Cow::Owned(json.into_owned()));
    }
    let (_, rest) = markdown.rsplit_once("```json\n")?;
    rest.split_once("\n```").map(|(document, _)| Cow::Borrowed(document))
}

/// The document with what only a local loop has.
#[derive(Serialize)]
struct Brief<'a> {
    #[serde(flatten)]
    status: &'a Status,
    task: &'a str,
    ideal_result: Option<&'a str>,
    critique: &'a [String],
}

/// What a local loop's fixer is told beside what failed.
#[derive(Debug)]
pub struct FixTask<'a> {
    pub task: &'a Task,
    pub critique: &'a [String],
    /// The command that shows the whole record.
    pub report: String,
}

impl Status {
    pub fn of(subject: &Subject<'_>) -> Self {
        let (decision, view) = (subject.decision, &subject.decision.view);
        let feedback = subject.feedback();
        let others = feedback.iter().filter(|line| line.id.is_none());
        let causes = causes(&view.failures);
        let excerpts = excerpts::excerpts(decision);
        let pull = &subject.snapshot.pull_request;
        let mut status = Self {
            schema: FEEDBACK_SCHEMA,
            repository: subject.snapshot.repository.clone(),
            pull_request: decision.next.pull_request,
            head_sha: pull.head.sha,
            r#final: !decision.action.awaits_evidence(),
            decision: decision.action.word(),
            action: facts::action(&decision.action),
            who_acts: facts::who_acts(subject),
            status: decision.next.status,
            stage: view.stage,
            attempt: view.attempt,
            max_attempts: view.max_attempts,
            score: view.evaluation.score,
            evaluation: facts::evaluation(&view.evaluation),
            checks: List(Shown::first(100, &view.checks, facts::check)),
            gates: List(Shown::first(40, &view.gates, |report| facts::gate(report, subject))),
            capabilities: facts::capabilities(&view.capabilities),
            failures: List(Shown::first(10, &causes, |cause| facts::failure(cause, subject, &excerpts))),
            more_failures: 0,
            excerpts: List(Shown::first(MOST_EXCERPTS, &excerpts, facts::excerpt)),
            feedback: List(Shown::first(10, others, facts::feedback)),
            rules: RULES,
            compare: view.compare.as_ref().map(facts::compare),
            attempts: decision.next.attempts.iter().rev().take(10).rev().map(facts::attempt).collect(),
            distance_to_success: view.distance.clone(),
            links: Links { status: address(&pull.url), report: view.checks.iter().rev().find_map(facts::page) },
            state_ref: summary::state_place(subject).into_ref(),
            omitted: BTreeMap::new(),
        };
        status.count_omitted();
        while status.fenced().as_str().len() > PACKET - FOR_READERS && status.shorten() == Shortened::Yes {}
        status
    }

    /// The document as whoever reads it gets it.
    pub fn told(&self) -> Told {
        Told::of_status(self)
    }

    /// The document as a fixer gets it: the failures with their traces, as long as they fit, beside the task.
    pub fn for_fixer(subject: &Subject<'_>, task: &FixTask<'_>) -> String {
        let mut status = Self::of(subject);
        status.links.report = Some(task.report.clone());
        status.rules = RULES_OF_A_FIXER;
        status.who_acts = Some(Actor { kind: "fixer", login: None, action: "fix it in the working tree", since: None });
        let causes = causes(&subject.decision.view.failures);
        let written = |status: &Self| {
            let Task { prompt, ideal_result } = task.task;
            let brief = Brief { status, task: prompt, ideal_result: ideal_result.as_deref(), critique: task.critique };
            serde_json::to_string_pretty(&brief).unwrap_or_else(|error| format!("\"{error}\""))
        };
        let whole = written(&status);
        for lines in TRACE_LINES {
            for (failure, cause) in status.failures.0.items.iter_mut().zip(&causes) {
                let trace = cause.first.failure.shown_trace();
                failure.trace = trace.map(|trace| Excerpt::of(&trace, lines));
            }
            let traced = written(&status);
            if traced.len() <= PACKET {
                return traced;
            }
        }
        whole
    }

    /// Leaves out half of the least important list that is left.
    pub fn shorten(&mut self) -> Shortened {
        let shortened = shorten_first(
            self,
            &[
                |status| status.failures.0.halve(),
                |status| status.feedback.0.halve(),
                |status| status.attempts.0.halve(),
                |status| status.checks.0.halve(),
                |status| status.gates.0.halve(),
                |status| status.excerpts.0.halve(),
            ],
        );
        self.count_omitted();
        shortened
    }

    fn count_omitted(&mut self) {
        let lists = [
            ("failures", self.failures.0.omitted),
            ("excerpts", self.excerpts.0.omitted),
            ("feedback", self.feedback.0.omitted),
            ("attempts", self.attempts.0.omitted),
            ("checks", self.checks.0.omitted),
            ("gates", self.gates.0.omitted),
        ];
        self.more_failures = self.failures.0.omitted as u64;
        self.omitted = lists.into_iter().filter(|(_, omitted)| *omitted > 0).collect();
    }

    /// The document as a fenced block. Backticks, angle brackets and invisible characters are written as JSON
    /// escapes, so three backticks always close it and nothing in it can pass for a marker or hide.
    pub fn fenced(&self) -> Markdown {
        let json = serde_json::to_string_pretty(self).unwrap_or_else(|error| format!("\"{error}\""));
        Markdown::ours(format!("```json\n{}\n```", escape(&json)))
    }
}

/// Only strings can hold these characters, so a JSON escape is right wherever they stand.
fn escape(json: &str) -> String {
    escape_where(json, |c| matches!(c, '`' | '<' | '>') || is_hidden(c))
}

/// A document on one line, in which nothing is hidden.
pub fn json_text(document: &serde_json::Value) -> String {
    escape_invisible(&document.to_string())
}

/// The same where no Markdown is read.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::fixtures;

    fn status(decision: &loopgate_core::deciding::Decision) -> Status {
        let (snapshot, policy) = (fixtures::snapshot(), fixtures::policy());
        Status::of(&Subject { decision, snapshot: &snapshot, policy: &policy })
    }

    #[test]
    fn attempts_are_read_back_from_the_comment() {
        let mut decision = fixtures::first_failure();
        let told = |decision: &loopgate_core::deciding::Decision, head| {
            let (snapshot, policy) = (fixtures::snapshot(), fixtures::policy());
            let page = crate::render::pull_request(decision, &snapshot, &policy);
            attempts_before(&page.status_comment, head)
        };
        let (same, other) = (fixtures::snapshot().pull_request.head.sha, Sha::from_bytes([9; 20]));
        assert_eq!((told(&decision, same), told(&decision, other)), (0, 1));
        decision.view.attempt = 7;
        decision.next.attempts[0].number = 7;
        assert_eq!((told(&decision, same), told(&decision, other)), (6, 7));
        decision.next.attempts.clear();
        assert_eq!((told(&decision, same), told(&decision, other)), (6, 6), "the seventh has not ended");
        for hostile in ["", "```json\n{}\n```", "```json\n{\"head_sha\": 3}\n```", "```json\n["] {
            assert_eq!(attempts_before(hostile, same), 0, "{hostile}");
        }
    }

    #[test]
    fn the_block_is_json_again() {
        let mut decision = fixtures::first_failure();
        let nasty = "```\n<!-- loopgate:status --> \u{202e}\u{1F600}\u{0}\u{7f}\"\\";
        decision.view.failures[0].failure.error_message = nasty.into();
        let fenced = status(&decision).fenced().into_string();
        let json = fenced.strip_prefix("```json\n").and_then(|rest| rest.strip_suffix("\n```")).unwrap();
        assert!(!json.contains('`') && !json.contains('<') && !json.contains('\u{202e}'));
        let parsed: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(parsed["schema"], FEEDBACK_SCHEMA);
        assert_eq!(parsed["failures"][0]["message"], nasty, "nothing is lost");
    }

    #[test]
    fn a_fixer_sees_traces_as_far_as_they_fit() {
        let mut decision = fixtures::first_failure();
        let told = |decision: &loopgate_core::deciding::Decision| {
            let (snapshot, policy) = (fixtures::snapshot(), fixtures::policy());
            let subject = Subject { decision, snapshot: &snapshot, policy: &policy };
            let task = Task { prompt: "round".into(), ideal_result: None };
            let text = Status::for_fixer(&subject, &FixTask { task: &task, critique: &[], report: "git show".into() });
            assert!(text.len() <= PACKET, "{}", text.len());
            serde_json::from_str::<serde_json::Value>(&text).unwrap()
        };
        decision.view.failures.truncate(1);
        decision.view.failures[0].failure.stack_trace = Some((1..=60).map(|n| format!("at {n}\n")).collect());
        let document = told(&decision);
        assert_eq!((&document["task"], &document["links"]["report"]), (&"round".into(), &"git show".into()));
        let trace = &document["failures"][0]["trace"];
        assert!(trace["head"].as_str().unwrap().starts_with("at 1\n"), "{trace}");
        assert!(trace["tail"].as_str().unwrap().ends_with("at 60") && trace["cut_lines"] == 20, "{trace}");

        let again = decision.view.failures[0].clone();
        decision.view.failures = (0..8)
            .map(|n| {
                let cause = loopgate_core::Fingerprint::from_bytes([n; 8]).into();
                loopgate_core::verdict::FailureView { cause, ..again.clone() }
            })
            .collect();
        for failure in &mut decision.view.failures {
            failure.failure.stack_trace = Some(format!("{}\n", "x ".repeat(150)).repeat(60));
        }
        let trace = &told(&decision)["failures"][7]["trace"];
        assert!(trace["cut_lines"].as_u64().is_none_or(|cut| cut > 40), "{trace}");
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
        assert_eq!(status.failures.0.items.len() + status.omitted["failures"], 200);
    }
}
