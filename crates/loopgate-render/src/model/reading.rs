//! The document as it is read again: out of a check run, a comment, a state or a file; for a terminal, by
//! `feedback.txt`; and what it shows of a run whose record is gone. Its writer may have written anything, so its size
//! is bounded, fields that are not known are left as they are, and whatever is shown is made plain first.

use std::collections::BTreeSet;

use minijinja::{context, value::Serde};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    CAUTION, Ended, FEEDBACK_SCHEMA, FOR_READERS, Feedback, Marked, PACKET, RULES,
    escape_invisible, untrusted::unmark,
};
use crate::{
    excerpts::HEADING,
    messages::{self, entry},
    planted_lines, word,
};
use loopgate_core::{
    PrNumber, RepoName, Sha, Timestamp,
    deciding::{DecisionWord, Post},
    evidence::MOST_EXCERPTS,
    failure::{Blame, FeedbackLine},
    state::{GateStatus, LoopState, LostRecord, RunStatus, Trace},
};

/// Bytes of a document that are read at most: several times what we write.
const READ_LIMIT: usize = 4 * PACKET;

loopgate_core::words! {
    /// Where a document was read.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
    pub enum ReadFrom {
        CheckRun = "check_run",
        StatusComment = "status_comment",
        StateRef = "state_ref",
        /// The files of the last `loopgate verify` here.
        Verification = "verification",
        /// Loopgate has written nothing yet.
        Nowhere = "nowhere",
    }
}

/// Whether a document is of what is there now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Currency {
    Current,
    /// The pull request has this head by now.
    OlderHead(Sha),
    /// It is of the head that somebody pushes over.
    BeforePush,
    /// The working tree is another one by now.
    TreeChanged,
}

loopgate_core::words! {
    /// What is waited for.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Until {
        /// The verdict on the head.
        #[default]
        Final = "final",
        /// The verdict, or a failure of the change's own, which no check that still runs can make good.
        FirstCertain = "first-certain",
    }
}

/// A document, where it was read, and whether it still holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    pub feedback: Feedback,
    pub from: ReadFrom,
    pub currency: Currency,
}

/// What a reader adds to a document.
#[derive(Serialize, JsonSchema)]
struct Read {
    /// In place of the document's own, whose schema holds.
    #[schemars(skip)]
    r#final: bool,
    read_from: ReadFrom,
    #[serde(skip_serializing_if = "Option::is_none")]
    outdated: Option<Outdated>,
}

/// The schema of [`Reading::document`].
#[derive(JsonSchema)]
#[expect(
    dead_code,
    reason = "documents are marked as values; only the schema of this is used"
)]
pub struct FeedbackAnswer {
    #[schemars(flatten)]
    feedback: Marked<Feedback>,
    #[schemars(flatten)]
    read: Read,
}

/// Why a document is not of what is there now.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "snake_case")]
enum Outdated {
    /// The pull request has this head by now.
    OlderHead {
        head_sha: Sha,
    },
    BeforePush,
    TreeChanged,
}

impl Feedback {
    /// The document that a text is.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > READ_LIMIT {
            return None;
        }
        let read = serde_json::from_str(text).ok();
        let mut document = read.filter(|document: &Self| document.schema == FEEDBACK_SCHEMA)?;
        // It is made again where the document is written.
        unmark(&mut document.others);
        Some(document)
    }

    /// The document in the last fenced block of a text of ours. An edit of the comment on GitHub's page changes its
    /// line ends.
    pub fn within(markdown: &str) -> Option<Self> {
        let markdown = markdown.replace("\r\n", "\n");
        let (_, rest) = markdown.rsplit_once("```json\n")?;
        Self::parse(rest.split_once("\n```")?.0)
    }

    /// That Loopgate has written nothing of this head yet.
    pub fn nothing(repository: &RepoName, number: PrNumber, head: Sha) -> Self {
        Self::ours(json!({
            "schema": FEEDBACK_SCHEMA, "repository": repository, "pull_request": number, "head_sha": head,
            "final": false, "decision": DecisionWord::Wait,
        }))
    }

    /// What a state and the record of its last attempt (`attempts/NNN.json`) hold, where nothing else can be read: less
    /// than the document that Loopgate writes.
    pub fn of_state(state: &LoopState, attempt: Option<&Value>) -> Self {
        let verified = state
            .attempts
            .counted
            .last()
            .filter(|attempt| attempt.head_sha == state.head.sha);
        let recorded = |name: &str| {
            attempt
                .filter(|_| verified.is_some())
                .and_then(|attempt| attempt.get(name))
        };
        let waits = state
            .concerns
            .gates
            .values()
            .any(|gate| gate.required && gate.status == GateStatus::Requested);
        let decision = match (state.run.status, verified) {
            (RunStatus::Escalated, _) => DecisionWord::Escalate,
            (RunStatus::Completed, _) => DecisionWord::Proceed,
            (RunStatus::Stopped | RunStatus::Aborted, _) | (_, None) => DecisionWord::Wait,
            (RunStatus::Passed, _) if !waits => DecisionWord::Proceed,
            (_, Some(_)) => {
                let word =
                    recorded("decision").and_then(|word| DecisionWord::deserialize(word).ok());
                word.filter(|word| *word != DecisionWord::Proceed)
                    .unwrap_or(DecisionWord::Wait)
            }
        };
        let lines =
            recorded("feedback").and_then(|lines| Vec::<FeedbackLine>::deserialize(lines).ok());
        let (of_failures, mut others): (Vec<_>, Vec<_>) = lines
            .into_iter()
            .flatten()
            .partition(|line: &FeedbackLine| line.id.is_some());
        others.truncate(5);
        let mut failures: Vec<Value> = of_failures.iter().map(failure).collect();
        let left = failures.len();
        loop {
            let feedback = Self::ours(json!({
                "schema": FEEDBACK_SCHEMA, "repository": state.run.repository, "pull_request": state.run.pull_request,
                "head_sha": state.head.sha, "final": verified.is_some() || state.people.blocked.is_some(),
                "decision": decision, "status": state.run.status, "stage": state.run.stage,
                "attempt": state.run.iteration, "max_attempts": state.run.max_iterations,
                "score": verified.map(|attempt| attempt.score),
                "failures": failures, "more_failures": left - failures.len(), "feedback": others,
                "gates": state.concerns.gates.iter().filter(|(_, gate)| gate.required).map(|(name, gate)| json!({
                    "name": name, "status": gate.status, "who": gate.reviewers, "write": format!("{name} approved"),
                })).collect::<Vec<_>>(),
                "rules": RULES,
            }));
            if failures.is_empty() || feedback.written().len() <= PACKET - FOR_READERS {
                return feedback;
            }
            failures.truncate(failures.len() / 2);
        }
    }

    fn ours(written: Value) -> Self {
        serde_json::from_value(written).expect("what we write has the fields that we read")
    }

    /// How many attempts were made on other heads before this one. Only asked if nothing better is left: people with
    /// write can edit the comment that holds the document.
    fn attempts_before(&self, head: Sha) -> u32 {
        let attempt = self.attempt.unwrap_or(0);
        let has_ended = self
            .attempts
            .last()
            .is_some_and(|last| last.attempt == attempt);
        if has_ended && self.head_sha != head {
            attempt
        } else {
            attempt.saturating_sub(1)
        }
    }

    /// Adds how the pull request ended, and removes who acts.
    #[must_use]
    pub fn ended(self, ended: Ended) -> Self {
        // Nothing is pushed to what is closed, whatever was decided before.
        let decision = match ended {
            Ended::Merged => DecisionWord::Proceed,
            Ended::Closed => DecisionWord::Wait,
        };
        Self {
            ended: Some(ended),
            r#final: true,
            who_acts: None,
            decision,
            ..self
        }
    }

    /// The document as it is written to a file.
    pub fn written(&self) -> String {
        escape_invisible(&format!("{:#}", self.value()))
    }
}

fn failure(line: &FeedbackLine) -> Value {
    let FeedbackLine {
        id,
        location,
        problem,
        action,
        reason,
        reproduce,
    } = line;
    json!({
        "id": id, "place": { "file": location }, "cause": problem, "do": action, "why": reason, "reproduce": reproduce,
    })
}

impl Reading {
    /// Of a pull request that has this head now. A verdict on `since`, if that is given, does not count.
    pub fn of_head(feedback: Feedback, from: ReadFrom, head: Sha, since: Option<Sha>) -> Self {
        let currency = if since == Some(head) {
            Currency::BeforePush
        } else if feedback.head_sha == head {
            Currency::Current
        } else {
            Currency::OlderHead(head)
        };
        Self {
            feedback,
            from,
            currency,
        }
    }

    /// Whether it is the verdict on what is there now, and nothing more is waited for.
    pub fn is_final(&self) -> bool {
        let document = &self.feedback;
        document.ended.is_some() || document.r#final && self.currency == Currency::Current
    }

    /// Whether what is waited for has come.
    pub fn reaches(&self, until: Until) -> bool {
        // A check of the head may have failed through the change itself.
        let own = Some(Blame::PrCode.as_str());
        let is_certain = || {
            self.feedback
                .failures
                .iter()
                .any(|one| one.blame.as_deref() == own)
        };
        self.is_final()
            || until == Until::FirstCertain && self.currency == Currency::Current && is_certain()
    }

    /// What was decided; while it is not final, to wait.
    pub fn decision(&self) -> DecisionWord {
        if self.is_final() {
            self.feedback.decision
        } else {
            DecisionWord::Wait
        }
    }

    /// The document, with where it was read and why it is not final any more.
    pub fn document(&self) -> Value {
        let read = json!(Read {
            r#final: self.is_final(),
            read_from: self.from,
            outdated: match self.currency {
                Currency::Current => None,
                Currency::OlderHead(head_sha) => Some(Outdated::OlderHead { head_sha }),
                Currency::BeforePush => Some(Outdated::BeforePush),
                Currency::TreeChanged => Some(Outdated::TreeChanged),
            },
        });
        let mut document = self.feedback.value();
        if let (Some(fields), Value::Object(read)) = (document.as_object_mut(), read) {
            fields.extend(read);
        }
        document
    }

    /// The document as text for programs: what a terminal would not show is written as JSON escapes.
    pub fn json(&self) -> String {
        escape_invisible(&format!("{:#}", self.document()))
    }
}

/// What stands between a head and ready, in the order in which somebody needs it.
pub fn feedback_text(reading: &Reading) -> String {
    let document = &reading.feedback;
    if let Some(ended) = document.ended {
        return format!(
            "{}: {}, there is nothing to do.",
            subject(document),
            ended.as_str()
        );
    }
    let has_ended = document.r#final || reading.from == ReadFrom::Nowhere;
    let is_last = has_ended && reading.currency == Currency::Current;
    let model = context! {
        subject => subject(document),
        read_from => word(entry::ReadFrom(&reading.from)),
        // Why it is not the last word.
        outdated => (!is_last).then(|| not_final(reading)),
        heading => HEADING,
        caution => CAUTION,
        most_excerpts => MOST_EXCERPTS,
        planted => planted_lines(&document.planted),
        document => Serde(document),
    };
    messages::text("feedback.txt", model).trim_end().to_owned()
}

fn not_final(reading: &Reading) -> String {
    match (reading.currency, reading.from) {
        (Currency::Current, ReadFrom::Verification) => messages::reason(entry::NotVerified::Here),
        (currency, _) => messages::reason(entry::Outdated(&currency)),
    }
}

/// That the verdict on the head is waited for.
pub fn waiting_text(reading: &Reading) -> String {
    let what = match reading.currency {
        Currency::Current | Currency::TreeChanged if reading.from == ReadFrom::Nowhere => {
            entry::Awaited::Nowhere
        }
        Currency::Current => entry::Awaited::Current,
        Currency::TreeChanged => entry::Awaited::TreeChanged,
        Currency::OlderHead(_) => entry::Awaited::OlderHead,
        Currency::BeforePush => entry::Awaited::BeforePush,
    };
    format!("waiting {} on {}", word(what), subject(&reading.feedback))
}

/// `acme/widgets#12 at 1a2b3c4d`.
fn subject(page: &Feedback) -> String {
    let repository = page
        .repository
        .as_ref()
        .map(ToString::to_string)
        .unwrap_or_default();
    let number = page
        .pull_request
        .map(|number| format!("#{number}"))
        .unwrap_or_default();
    format!("{repository}{number} at {}", page.head_sha.short())
}

/// Our own traces on a pull request that has no record. An account that may push can delete the hidden ref, and an
/// account that may write can delete or edit our comments. So every trace that is left is read, and what none of them
/// holds is not made up.
#[derive(Clone, Copy, Debug)]
pub struct Traces<'a> {
    /// The body of our status comment.
    pub status_comment: Option<&'a str>,
    /// The keys of our posts ([`Post::key`]).
    pub posts: &'a BTreeSet<String>,
    /// When a `loopgate / verify` of ours ended on the head.
    pub verified: Option<Timestamp>,
    pub head: Sha,
    /// When the pull request was opened: a check run on its head that is older was another's.
    pub opened: Timestamp,
}

/// A run never has more attempts: it is blocked long before.
const MOST_LOST: u32 = 1_000;

impl Traces<'_> {
    /// The record that must have been there, if there was one. Attempts are those made on other heads than this one.
    pub fn lost_record(&self) -> Option<LostRecord> {
        let verified = self.verified.is_some_and(|at| at >= self.opened);
        let trace = match self.status_comment {
            Some(_) => Trace::StatusComment,
            None if !self.posts.is_empty() => Trace::Post,
            None if verified => Trace::CheckRun,
            None => return None,
        };
        let document = self.status_comment.and_then(Feedback::within);
        let shown = document.map_or(0, |document| document.attempts_before(self.head));
        // The last attempt that a post names is this head's, where this head was judged.
        let posted = self
            .posts
            .iter()
            .filter_map(|key| Post::attempt_failed(key))
            .max()
            .unwrap_or(0);
        let posted = if verified {
            posted.saturating_sub(1)
        } else {
            posted
        };
        Some(LostRecord {
            attempts: shown.max(posted).min(MOST_LOST),
            trace,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{self as render, fixtures, status::STATUS_MARKER};
    use loopgate_core::{
        Sha,
        concerns::verdict::FailureView,
        deciding::{Decision, DecisionWord},
        failure::FeedbackLine,
    };

    fn written(decision: &Decision) -> Feedback {
        Feedback::of(&render::Subject::new(
            decision,
            &fixtures::snapshot(),
            &fixtures::policy(),
        ))
    }

    fn reading(told: Feedback, head: Sha) -> Reading {
        Reading::of_head(told, ReadFrom::StatusComment, head, None)
    }

    #[test]
    fn the_fixer_reads_what_to_do() {
        let told = written(&fixtures::first_failure());
        let head = told.head_sha;
        insta::assert_snapshot!(
            "told_first_failure",
            render::feedback_text(&reading(told, head))
        );
    }

    /// No CI reports on a working tree: who verified it is who goes on.
    #[test]
    fn a_tree_whose_check_could_not_run_waits_for_no_ci() {
        let mut decision = fixtures::waiting_for_evidence();
        decision.next.run.pull_request = None;
        let told = written(&decision);
        let head = told.head_sha;
        let reading = Reading::of_head(told, ReadFrom::Verification, head, None);
        let text = render::feedback_text(&reading);
        let lines: Vec<&str> = text.lines().skip(2).take(2).collect();
        assert_eq!(
            lines,
            [
                "Not final: a check came to no result here.",
                "Next: author: see to what kept a check from running here, then run `loopgate verify` again"
            ]
        );
    }

    #[test]
    fn gates_are_told_with_the_words_that_open_them() {
        let told = written(&fixtures::open_security_gate_with_an_outsider());
        insta::assert_snapshot!(
            "told_open_gate_of_an_older_head",
            render::feedback_text(&reading(told, fixtures::sha(0xcc)))
        );
    }

    #[test]
    fn a_command_that_shows_all_failures_stands_once() {
        let mut decision = fixtures::first_failure();
        let again = decision.view.failures[0].clone();
        let cause = loopgate_core::Fingerprint::from_bytes([9; 8]).into();
        decision.view.failures.push(FailureView { cause, ..again });
        let told = written(&decision);
        let command = told.failures[0].reproduce.clone().unwrap();
        let head = told.head_sha;
        let shown = render::feedback_text(&reading(told, head));
        assert_eq!(shown.matches(&command).count(), 1, "{shown}");
        assert!(
            shown.contains(&format!("Failures, all shown by: {command}\n")),
            "{shown}"
        );
    }

    #[test]
    fn it_is_found_in_what_we_write_and_nowhere_else() {
        let (decision, snapshot, policy) = (
            fixtures::first_failure(),
            fixtures::snapshot(),
            fixtures::policy(),
        );
        let pages = render::pull_request(&decision, &snapshot, &policy, None);
        let told = written(&decision);
        assert_eq!(Feedback::within(&pages.status_comment), Some(told.clone()));
        assert_eq!(
            Feedback::within(&pages.status_comment.replace('\n', "\r\n")),
            Some(told.clone()),
            "edited on a page"
        );
        assert_eq!(Feedback::within(&pages.verify.summary), Some(told.clone()));
        let json = told.written();
        assert_eq!(Feedback::parse(&json), Some(told.clone()));
        let newer = json.replacen('{', "{ \"of_a_newer_version\": [1],", 1);
        assert_eq!(
            reading(Feedback::parse(&newer).unwrap(), told.head_sha).document()["of_a_newer_version"]
                [0],
            1
        );
        for other in [
            STATUS_MARKER,
            "",
            "{}",
            "[]",
            &json.replace("feedback/v1", "verify/v1"),
            &json.replace("retry", "x"),
        ] {
            assert_eq!(Feedback::parse(other), None, "{other}");
        }
        let padded = json.replacen(
            '{',
            &format!("{{ \"padding\": \"{}\",", "x".repeat(64 << 10)),
            1,
        );
        assert_eq!(Feedback::parse(&padded), None, "too large to be ours");
    }

    #[test]
    fn nothing_in_it_reaches_a_terminal_unseen() {
        let nasty = "red \u{1b}[31m \u{202e}\u{7f}\u{9b}2J\nnext";
        let mut document =
            reading(written(&fixtures::first_failure()), fixtures::sha(0xa1)).document();
        document["failures"][0]["message"] = nasty.into();
        document["failures"][0]["id"] = nasty.into();
        document["failures"][0]["expected"] = nasty.into();
        document["failures"][0]["actual"] = "a  b\t ".into();
        document["rules"] = serde_json::json!([nasty]);
        let told = Feedback::parse(&serde_json::to_string(&document).unwrap()).unwrap();
        let reading = reading(told, fixtures::sha(0xa1));
        let is_plain = |text: &str| {
            text.chars()
                .all(|c| c == '\n' || !c.is_control() && c != '\u{202e}')
        };
        assert!(
            is_plain(&render::feedback_text(&reading)) && is_plain(&reading.json()),
            "{}",
            reading.json()
        );
        let shown = render::feedback_text(&reading);
        assert!(shown.contains("Message: red next"), "{shown}");
        assert!(
            shown.contains("Actual: a  b\\t \n"),
            "blanks of a value are kept: {shown}"
        );
        let again: serde_json::Value = serde_json::from_str(&reading.json()).unwrap();
        assert_eq!(
            again["failures"][0]["message"], nasty,
            "programs lose nothing"
        );
    }

    #[test]
    fn five_hundred_failures_fit_into_16_kb() {
        let mut decision = fixtures::first_failure();
        decision.view.failures = (0..500_u32)
            .map(|n| {
                let mut view = fixtures::failure();
                let bytes: [u8; 8] = (u64::from(n) << 32 | 7).to_be_bytes();
                view.cause = loopgate_core::Fingerprint::from_bytes(bytes).into();
                view.failure.error_message =
                    format!("failure {n}: {}", "é\u{1F600}<".repeat(2_000));
                view
            })
            .collect();
        let told = written(&decision);
        let reading = reading(told, fixtures::sha(0xcc));
        assert!(reading.json().len() <= 16 << 10, "{}", reading.json().len());
        let shown = reading.document()["failures"].as_array().unwrap().len() as u64;
        assert!(
            shown >= 1 && reading.document()["more_failures"].as_u64() == Some(500 - shown),
            "{shown}"
        );
    }

    #[test]
    fn a_state_tells_the_same_verdict_with_less() {
        let mut state = fixtures::state();
        let failed = fixtures::attempt(
            1,
            0xa1,
            loopgate_core::state::VerificationResult::Fail,
            50,
            "unit: failed",
        );
        state.head.sha = failed.head_sha;
        state.attempts.counted = vec![failed];
        let line = FeedbackLine {
            problem: "x".repeat(900),
            ..fixtures::told()
        };
        let record = serde_json::json!({ "decision": "retry", "feedback": vec![line; 40] });
        let reading = |state: &_| {
            self::reading(
                Feedback::of_state(state, Some(&record)),
                fixtures::sha(0xa1),
            )
        };
        let told = reading(&state);
        assert_eq!(
            (told.is_final(), told.decision()),
            (true, DecisionWord::Retry)
        );
        assert!(told.json().len() <= 16 << 10, "{}", told.json().len());
        // A head that was not verified yet, and a run that somebody has to look at.
        state.head.sha = fixtures::sha(0xa1);
        state.attempts.counted[0].head_sha = fixtures::sha(0xa0);
        assert_eq!(
            (reading(&state).is_final(), reading(&state).decision()),
            (false, DecisionWord::Wait)
        );
        state.attempts.counted[0].head_sha = fixtures::sha(0xa1);
        state.run.status = loopgate_core::state::RunStatus::Escalated;
        assert_eq!(reading(&state).decision(), DecisionWord::Escalate);
    }

    #[test]
    fn attempts_are_read_back_from_the_comment() {
        let mut decision = fixtures::first_failure();
        let told = |decision: &Decision, head| {
            let (snapshot, policy) = (fixtures::snapshot(), fixtures::policy());
            let page = render::pull_request(decision, &snapshot, &policy, None);
            Feedback::within(&page.status_comment)
                .unwrap()
                .attempts_before(head)
        };
        let (same, other) = (
            fixtures::snapshot().pull_request.head.sha,
            Sha::from_bytes([9; 20]),
        );
        assert_eq!((told(&decision, same), told(&decision, other)), (0, 1));
        decision.view.attempt = 7;
        decision.next.attempts.counted[0].number = 7;
        assert_eq!((told(&decision, same), told(&decision, other)), (6, 7));
        decision.next.attempts.counted.clear();
        assert_eq!(
            (told(&decision, same), told(&decision, other)),
            (6, 6),
            "the seventh has not ended"
        );
        for hostile in [
            "",
            "```json\n{}\n```",
            "```json\n{\"head_sha\": 3}\n```",
            "```json\n[",
        ] {
            assert_eq!(Feedback::within(hostile), None, "{hostile}");
        }
    }
}

#[cfg(test)]
mod traces_tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn what_is_left_tells_of_what_is_gone() {
        let page = crate::pull_request(
            &fixtures::first_failure(),
            &fixtures::snapshot(),
            &fixtures::policy(),
            None,
        );
        let comment = Some(page.status_comment.as_str());
        let (same, other) = (
            fixtures::snapshot().pull_request.head.sha,
            Sha::from_bytes([9; 20]),
        );
        let opened = fixtures::snapshot().pull_request.created_at;
        let (before, after) = (
            Some(opened - chrono::TimeDelta::hours(1)),
            Some(opened + chrono::TimeDelta::hours(1)),
        );
        let called: &[&str] = &[
            "escalation:same_error:3",
            "escalation:same_error:3:2",
            "gate:security:1",
            "fix:2",
        ];
        let cases = [
            ("nothing of ours", None, &[][..], None, other, None),
            (
                "the status comment",
                comment,
                &[],
                None,
                other,
                Some((1, Trace::StatusComment)),
            ),
            (
                "… of this very head",
                comment,
                &[],
                None,
                same,
                Some((0, Trace::StatusComment)),
            ),
            (
                "… edited",
                Some("hello"),
                called,
                None,
                other,
                Some((3, Trace::StatusComment)),
            ),
            (
                "calls and requests",
                None,
                called,
                None,
                other,
                Some((3, Trace::Post)),
            ),
            (
                "… the last of this head",
                None,
                called,
                after,
                other,
                Some((2, Trace::Post)),
            ),
            (
                "a request to approve",
                None,
                &["gate:security:1"],
                None,
                other,
                Some((0, Trace::Post)),
            ),
            (
                "a call for no attempt",
                None,
                &["escalation:gate_timeout:2"],
                None,
                other,
                Some((1, Trace::Post)),
            ),
            (
                "keys that cannot be",
                None,
                &["fix:4294967295", "fix:x"],
                None,
                other,
                Some((1_000, Trace::Post)),
            ),
            (
                "a check run",
                None,
                &[],
                after,
                other,
                Some((0, Trace::CheckRun)),
            ),
            ("another's check run", None, &[], before, other, None),
        ];
        for (name, status_comment, posts, verified, head, expected) in cases {
            let posts = posts.iter().map(|key| (*key).to_owned()).collect();
            let lost = Traces {
                status_comment,
                posts: &posts,
                verified,
                head,
                opened,
            }
            .lost_record();
            assert_eq!(
                lost.map(|lost| (lost.attempts, lost.trace)),
                expected,
                "{name}"
            );
        }
    }
}
