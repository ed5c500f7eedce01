//! The document as it is read again: out of a check run, a comment, a state or a file. Whoever wrote it there may have
//! written what they liked, so its size is bounded, fields that are not known are left as they are, and whatever is
//! shown is made plain first.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Document, FEEDBACK_SCHEMA, FOR_READERS, PACKET, RULES, escape_invisible};
use loopgate_core::{
    PrNumber, RepoName, Sha,
    deciding::DecisionWord,
    failure::{Blame, FeedbackLine},
    state::{GateStatus, LoopState, RunStatus},
};

/// Bytes of a document that are read at most: several times what we write.
const READ_LIMIT: usize = 4 * PACKET;

/// A feedback document that somebody wrote down.
#[derive(Debug, Clone, PartialEq)]
pub struct Feedback {
    written: Map<String, Value>,
    pub(in crate::render) document: Document,
}

loopgate_core::words! {
    /// How a pull request that is not open any more ended.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Ended {
        Merged = "merged",
        Closed = "closed",
    }
}

loopgate_core::words! {
    /// Where a document was read.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    pub enum ReadFrom {
        CheckRun = "check_run",
        StatusComment = "status_comment",
        StateRef = "state_ref",
        /// The files of the last `loopgate verify` here.
        Verification = "verification",
        /// Loopgate has said nothing yet.
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

impl Feedback {
    /// The document that a text is.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > READ_LIMIT {
            return None;
        }
        Self::of(serde_json::from_str(text).ok()?)
    }

    /// The document folded in a text of ours, Markdown.
    pub fn within(markdown: &str) -> Option<Self> {
        Self::parse(&super::folded(markdown)?)
    }

    fn of(written: Value) -> Option<Self> {
        let document = Document::deserialize(&written).ok()?;
        let Value::Object(written) = written else { return None };
        (document.schema == FEEDBACK_SCHEMA).then_some(Self { written, document })
    }

    /// That Loopgate has said nothing of this head yet.
    pub fn nothing(repository: &RepoName, number: PrNumber, head: Sha) -> Self {
        Self::ours(json!({
            "schema": FEEDBACK_SCHEMA, "repository": repository, "pull_request": number, "head_sha": head,
            "final": false, "decision": DecisionWord::Wait,
        }))
    }

    /// What a state and the record of its last attempt (`attempts/NNN.json`) tell, where nothing else can be read: less
    /// than the document that Loopgate writes.
    pub fn of_state(state: &LoopState, attempt: Option<&Value>) -> Self {
        let verified = state.attempts.last().filter(|attempt| attempt.head_sha == state.head_sha);
        let recorded = |name: &str| attempt.filter(|_| verified.is_some()).and_then(|attempt| attempt.get(name));
        let waits = state.gates.values().any(|gate| gate.required && gate.status == GateStatus::Requested);
        let decision = match (state.status, verified) {
            (RunStatus::Escalated, _) => DecisionWord::Escalate,
            (RunStatus::Completed, _) => DecisionWord::Proceed,
            (RunStatus::Stopped | RunStatus::Aborted, _) | (_, None) => DecisionWord::Wait,
            (RunStatus::Passed, _) if !waits => DecisionWord::Proceed,
            (_, Some(_)) => {
                let word = recorded("decision").and_then(|word| DecisionWord::deserialize(word).ok());
                word.filter(|word| *word != DecisionWord::Proceed).unwrap_or(DecisionWord::Wait)
            }
        };
        let lines = recorded("feedback").and_then(|lines| Vec::<FeedbackLine>::deserialize(lines).ok());
        let (of_failures, mut others): (Vec<_>, Vec<_>) =
            lines.into_iter().flatten().partition(|line: &FeedbackLine| line.id.is_some());
        others.truncate(5);
        let mut failures: Vec<Value> = of_failures.iter().map(failure).collect();
        let left = failures.len();
        loop {
            let feedback = Self::ours(json!({
                "schema": FEEDBACK_SCHEMA, "repository": state.repository, "pull_request": state.pull_request,
                "head_sha": state.head_sha, "final": verified.is_some() || state.blocked.is_some(),
                "decision": decision, "status": state.status, "stage": state.state,
                "attempt": state.iteration, "max_attempts": state.max_iterations,
                "score": verified.map(|attempt| attempt.score),
                "failures": failures, "more_failures": left - failures.len(), "feedback": others,
                "gates": state.gates.iter().filter(|(_, gate)| gate.required).map(|(name, gate)| json!({
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

    /// The document as the one who reads it gets it.
    pub(in crate::render) fn of_document(document: &Document) -> Self {
        Self::ours(serde_json::to_value(document).unwrap_or_default())
    }

    fn ours(written: Value) -> Self {
        Self::of(written).expect("what we write has the fields that we read")
    }

    /// How many attempts were made on other heads before this one. Only asked if nothing better is left: people with
    /// write can edit the comment that holds the document.
    pub(in crate::render) fn attempts_before(&self, head: Sha) -> u32 {
        let attempt = self.document.attempt.unwrap_or(0);
        let has_ended = self.document.attempts.last().is_some_and(|last| last.attempt == attempt);
        if has_ended && self.document.head_sha != head { attempt } else { attempt.saturating_sub(1) }
    }

    /// With the working tree it is of.
    #[must_use]
    pub fn of_tree(mut self, tree: Sha) -> Self {
        self.written.insert("working_tree".to_owned(), json!(tree));
        self.document.working_tree = Some(tree);
        self
    }

    /// Adds how the pull request ended, and removes who acts.
    #[must_use]
    pub fn ended(mut self, ended: Ended) -> Self {
        // Nothing is pushed to what is closed, whatever was decided before.
        let decision = match ended {
            Ended::Merged => DecisionWord::Proceed,
            Ended::Closed => DecisionWord::Wait,
        };
        for (name, value) in [("ended", json!(ended)), ("final", json!(true)), ("decision", json!(decision))] {
            self.written.insert(name.to_owned(), value);
        }
        self.written.remove("who_acts");
        self.document = Document { ended: Some(ended), r#final: true, who_acts: None, decision, ..self.document };
        self
    }

    pub const fn pull_request(&self) -> Option<PrNumber> {
        self.document.pull_request
    }

    pub const fn head(&self) -> Sha {
        self.document.head_sha
    }

    pub const fn working_tree(&self) -> Option<Sha> {
        self.document.working_tree
    }

    /// The document as it is written to a file.
    pub fn written(&self) -> String {
        escape_invisible(&serde_json::to_string_pretty(&self.written).unwrap_or_default())
    }
}

fn failure(line: &FeedbackLine) -> Value {
    let FeedbackLine { id, location, problem, action, reason, reproduce } = line;
    json!({
        "id": id, "place": { "file": location }, "cause": problem, "do": action, "why": reason, "reproduce": reproduce,
    })
}

impl Reading {
    /// Of a pull request that has this head now. A verdict on `since`, if that is given, does not count.
    pub fn of_head(feedback: Feedback, from: ReadFrom, head: Sha, since: Option<Sha>) -> Self {
        let currency = if since == Some(head) {
            Currency::BeforePush
        } else if feedback.head() == head {
            Currency::Current
        } else {
            Currency::OlderHead(head)
        };
        Self { feedback, from, currency }
    }

    /// Whether it is the verdict on what is there now, and nothing more is waited for.
    pub fn is_final(&self) -> bool {
        let document = &self.feedback.document;
        document.ended.is_some() || document.r#final && self.currency == Currency::Current
    }

    /// Whether a check of the head has failed through the change itself.
    pub fn fails_for_certain(&self) -> bool {
        let own = Some(Blame::PrCode.as_str());
        self.currency == Currency::Current
            && self.feedback.document.failures.iter().any(|one| one.blame.as_deref() == own)
    }

    /// Whether what is waited for has come.
    pub fn reaches(&self, until: Until) -> bool {
        self.is_final() || until == Until::FirstCertain && self.fails_for_certain()
    }

    /// What was decided; while it is not final, to wait.
    pub fn decision(&self) -> DecisionWord {
        if self.is_final() { self.feedback.document.decision } else { DecisionWord::Wait }
    }

    /// The document, with where it was read and why it is not final any more.
    pub fn document(&self) -> Map<String, Value> {
        let mut document = self.feedback.written.clone();
        document.insert("final".to_owned(), json!(self.is_final()));
        document.insert("read_from".to_owned(), json!(self.from.as_str()));
        let outdated = match self.currency {
            Currency::Current => return document,
            Currency::OlderHead(now) => json!({ "reason": "older_head", "head_sha": now }),
            Currency::BeforePush => json!({ "reason": "before_push" }),
            Currency::TreeChanged => json!({ "reason": "tree_changed" }),
        };
        document.insert("outdated".to_owned(), outdated);
        document
    }

    /// The document as text for programs: what a terminal would not show is written as JSON escapes.
    pub fn json(&self) -> String {
        escape_invisible(&serde_json::to_string_pretty(&self.document()).unwrap_or_default())
    }
}
