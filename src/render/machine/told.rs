//! The document as it is read again: out of a check run, a comment, a state or a file. Whoever wrote it there may have
//! written what they liked, so its size is bounded, fields that are not known are left as they are, and whatever is
//! shown is made plain first.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    FEEDBACK_SCHEMA, FOR_READERS, PACKET, RULES, Status,
    document::{Links, Place},
    escape_invisible,
};
use loopgate_core::{
    PrNumber, RepoName, Sha,
    deciding::DecisionWord,
    failure::FeedbackLine,
    state::{GateStatus, LoopState, RunStatus},
};

/// Bytes of a document that are read at most: several times what we write.
const READ_LIMIT: usize = 4 * PACKET;

/// A feedback document that somebody wrote down.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    document: Map<String, Value>,
    pub(in crate::render) page: Page,
}

/// What of a document people are shown.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(in crate::render) struct Page {
    pub schema: String,
    pub repository: Option<String>,
    pub pull_request: Option<PrNumber>,
    pub head_sha: Sha,
    #[serde(default)]
    pub r#final: bool,
    pub decision: DecisionWord,
    pub stage: Option<String>,
    pub attempt: Option<u32>,
    pub max_attempts: Option<u32>,
    pub score: Option<f64>,
    pub who_acts: Option<ToldActor>,
    #[serde(default)]
    pub failures: Vec<ToldFailure>,
    #[serde(default)]
    pub more_failures: u64,
    #[serde(default)]
    pub excerpts: Vec<ToldExcerpt>,
    #[serde(default)]
    pub feedback: Vec<FeedbackLine>,
    #[serde(default)]
    pub gates: Vec<ToldGate>,
    #[serde(default)]
    pub rules: Vec<String>,
    #[serde(default)]
    pub links: Links,
    /// The working tree that a local verification left.
    pub working_tree: Option<Sha>,
    /// How the pull request ended.
    pub ended: Option<Ended>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(in crate::render) struct ToldActor {
    pub kind: String,
    pub login: Option<String>,
    pub action: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(in crate::render) struct ToldFailure {
    pub id: String,
    pub check: Option<String>,
    pub test: Option<String>,
    #[serde(default)]
    pub new: bool,
    #[serde(default)]
    pub regression: bool,
    #[serde(default)]
    pub also: u64,
    pub place: Option<Place>,
    pub message: Option<String>,
    pub expected: Option<String>,
    pub actual: Option<String>,
    pub cause: Option<String>,
    pub r#do: Option<String>,
    pub why: Option<String>,
    pub reproduce: Option<String>,
    pub settled: Option<String>,
    #[serde(default)]
    pub tried: Vec<ToldTried>,
}

/// Lines of a job's output.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(in crate::render) struct ToldExcerpt {
    pub job: String,
    pub step: Option<String>,
    pub log: Option<String>,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(in crate::render) struct ToldTried {
    pub attempt: u32,
    pub change: Option<String>,
    pub outcome: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(in crate::render) struct ToldGate {
    pub name: String,
    pub status: GateStatus,
    #[serde(default)]
    pub who: Vec<String>,
    pub write: Option<String>,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Currency {
    Current,
    /// The pull request has this head by now.
    OlderHead(Sha),
    /// It is of the head that somebody pushes over.
    BeforePush,
    /// The working tree is another one by now.
    TreeChanged,
}

/// A document, where it was read, and whether it still holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    pub told: Told,
    pub from: ReadFrom,
    pub currency: Currency,
}

impl Told {
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

    fn of(document: Value) -> Option<Self> {
        let page: Page = Page::deserialize(&document).ok()?;
        let Value::Object(document) = document else { return None };
        (page.schema == FEEDBACK_SCHEMA).then_some(Self { document, page })
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
        let (told, mut others): (Vec<_>, Vec<_>) =
            lines.into_iter().flatten().partition(|line: &FeedbackLine| line.id.is_some());
        others.truncate(5);
        let mut failures: Vec<Value> = told.iter().map(failure).collect();
        let left = failures.len();
        loop {
            let told = Self::ours(json!({
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
            if failures.is_empty() || told.written().len() <= PACKET - FOR_READERS {
                return told;
            }
            failures.truncate(failures.len() / 2);
        }
    }

    pub(super) fn of_status(status: &Status) -> Self {
        Self::ours(serde_json::to_value(status).unwrap_or_default())
    }

    fn ours(document: Value) -> Self {
        Self::of(document).expect("what we write has the fields that we read")
    }

    /// With the working tree it is of.
    #[must_use]
    pub fn of_tree(mut self, tree: Sha) -> Self {
        self.document.insert("working_tree".to_owned(), json!(tree));
        self.page.working_tree = Some(tree);
        self
    }

    /// With how the pull request ended: nobody acts on it any more.
    #[must_use]
    pub fn ended(mut self, ended: Ended) -> Self {
        self.document.insert("ended".to_owned(), json!(ended));
        self.document.insert("final".to_owned(), json!(true));
        self.document.remove("who_acts");
        self.page = Page { ended: Some(ended), r#final: true, who_acts: None, ..self.page };
        // Nothing is pushed to what is closed, whatever was decided before.
        self.page.decision = match ended {
            Ended::Merged => DecisionWord::Proceed,
            Ended::Closed => DecisionWord::Wait,
        };
        self.document.insert("decision".to_owned(), json!(self.page.decision));
        self
    }

    pub const fn pull_request(&self) -> Option<PrNumber> {
        self.page.pull_request
    }

    pub const fn head(&self) -> Sha {
        self.page.head_sha
    }

    pub const fn working_tree(&self) -> Option<Sha> {
        self.page.working_tree
    }

    /// The document as it is written to a file.
    pub fn written(&self) -> String {
        escape_invisible(&serde_json::to_string_pretty(&self.document).unwrap_or_default())
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
    pub fn of_head(told: Told, from: ReadFrom, head: Sha, since: Option<Sha>) -> Self {
        let currency = if since == Some(head) {
            Currency::BeforePush
        } else if told.head() == head {
            Currency::Current
        } else {
            Currency::OlderHead(head)
        };
        Self { told, from, currency }
    }

    /// Whether it is the verdict on what is there now, and nothing more is waited for.
    pub fn is_final(&self) -> bool {
        let page = &self.told.page;
        page.ended.is_some() || page.r#final && self.currency == Currency::Current
    }

    /// What was decided; while it is not final, to wait.
    pub fn decision(&self) -> DecisionWord {
        if self.is_final() { self.told.page.decision } else { DecisionWord::Wait }
    }

    /// The document, with where it was read and why it is not final any more.
    pub fn document(&self) -> Map<String, Value> {
        let mut document = self.told.document.clone();
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
