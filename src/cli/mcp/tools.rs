//! The tools, one entry each.

use std::{future::Future, path::Path, pin::Pin, sync::Arc};

use chrono::TimeDelta;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::sync::{Mutex, OnceCell};

use crate::{
    cli::{
        CliError, dispute, explain, feedback, local,
        online::{PullRequest, Reader},
        verify,
    },
    render::{Currency, ReadFrom, Reading},
    runner::{FixerDispute, Interrupt},
};
use loopgate_core::{CheckName, FailureId, RepoName, Sha, state::DisputeKind};

/// What a client is told of all of them.
pub const INSTRUCTIONS: &str = "Loopgate verifies changes and decides: proceed, retry, escalate or wait. Call `verify` \
    before you push and `wait` after. Mend what `failures` names, as `do` says. Do not edit tests to make them pass: `dispute` \
    what is not yours to mend.";

/// Seconds that `wait` takes unless told otherwise: less than the minute after which clients give up.
const WAIT: u32 = 50;
const LONGEST_WAIT: u32 = 1_800;

type Call<T> = Pin<Box<dyn Future<Output = T> + Send>>;
/// Answers a call with these arguments; the last one resolves when the client does not want the answer any more.
type Answer = fn(Arc<Session>, JsonObject, Call<()>) -> Call<Result<Value, CliError>>;

/// A tool.
pub struct Entry {
    pub name: &'static str,
    description: &'static str,
    input: fn() -> schemars::Schema,
    effect: Effect,
    pub call: Answer,
}

#[derive(Clone, Copy, PartialEq)]
enum Effect {
    Reads,
    /// Runs the commands of the repository, and leaves evidence in the working tree.
    RunsChecks,
    /// Comments on the pull request, or pauses the loop here.
    Disputes,
}

pub const TOOLS: &[Entry] = &[
    Entry {
        name: "verify",
        description: "Run the repository's checks in the working tree and say what fails and how to mend it.",
        input: || schema_for!(Verify),
        effect: Effect::RunsChecks,
        call: |session, input, stop| Box::pin(async move { session.verify(parsed(input)?, stop).await }),
    },
    Entry {
        name: "feedback",
        description: "What stands between a pull request and ready, now. Without a pull request: what the last verify \
                      of the working tree found.",
        input: || schema_for!(Feedback),
        effect: Effect::Reads,
        call: |session, input, stop| Box::pin(async move { or_stopped(session.feedback(parsed(input)?), stop).await }),
    },
    Entry {
        name: "wait",
        description: "Wait for the final verdict on a pull request's head. If `final` is false in the answer, call it \
                      again.",
        input: || schema_for!(Wait),
        effect: Effect::Reads,
        call: |session, input, stop| Box::pin(async move { or_stopped(session.wait(parsed(input)?), stop).await }),
    },
    Entry {
        name: "explain",
        description: "Why a pull request is where it is: every rule, gate and approval, with its reason.",
        input: || schema_for!(Explain),
        effect: Effect::Reads,
        call: |_, input, stop| Box::pin(async move { or_stopped(explain(parsed(input)?), stop).await }),
    },
    Entry {
        name: "memory",
        description: "Failures that the repository has seen before, and what mended them.",
        input: || schema_for!(Memory),
        effect: Effect::Reads,
        call: |_, input, stop| Box::pin(async move { or_stopped(memory(parsed(input)?), stop).await }),
    },
    Entry {
        name: "dispute",
        description: "Say that a failure is not yours to mend: the test is wrong, or it is unclear or impossible what it \
                      asks for. A person settles it; no attempt is counted, and nothing passes by it.",
        input: || schema_for!(Dispute),
        effect: Effect::Disputes,
        call: |session, input, stop| Box::pin(async move { or_stopped(session.dispute(parsed(input)?), stop).await }),
    },
];

impl Entry {
    pub fn described(&self) -> Tool {
        let input = match (self.input)().to_value() {
            Value::Object(schema) => schema,
            _ => JsonObject::new(),
        };
        let annotations = ToolAnnotations::new().read_only(self.effect == Effect::Reads).destructive(false);
        Tool::new(self.name, self.description, input).with_annotations(annotations)
    }
}

/// The arguments of a call.
fn parsed<T: DeserializeOwned>(input: JsonObject) -> Result<T, CliError> {
    serde_json::from_value(Value::Object(input)).map_err(|error| CliError::usage(format!("wrong arguments: {error}")))
}

async fn or_stopped(answer: impl Future<Output = Result<Value, CliError>>, stop: Call<()>) -> Result<Value, CliError> {
    tokio::select! {
        answer = answer => answer,
        () = stop => Err(CliError::unavailable("stopped")),
    }
}

/// Which checks to run.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Verify {
    /// Only these checks, by name, and what they need.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    checks: Vec<CheckName>,
    /// The branch that the change is measured against.
    base: Option<String>,
}

/// What to read.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Feedback {
    /// OWNER/REPO#N.
    #[schemars(with = "Option<String>")]
    pull_request: Option<PullRequest>,
}

/// What to wait for.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wait {
    /// OWNER/REPO#N.
    #[schemars(with = "String")]
    pull_request: PullRequest,
    /// The commit id of the head before your push: only a verdict on another head counts.
    #[schemars(with = "Option<String>")]
    since: Option<Sha>,
    /// At most; 50 unless given.
    #[schemars(range(max = LONGEST_WAIT))]
    timeout_seconds: Option<u32>,
}

/// What to explain.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Explain {
    /// OWNER/REPO#N.
    #[schemars(with = "String")]
    pull_request: PullRequest,
}

/// What to look for.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Memory {
    /// Words that must all occur in the test, message, cause, files or fix.
    words: String,
    /// OWNER/REPO on GitHub; without it, what the repository here has fetched.
    #[schemars(with = "Option<String>")]
    repository: Option<RepoName>,
}

/// What is disputed, and why.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Dispute {
    /// The failure's `id`.
    #[schemars(with = "String")]
    failure: FailureId,
    #[serde(default)]
    kind: DisputeKind,
    /// One sentence for the person who settles it.
    reason: String,
    /// OWNER/REPO#N; without it, the loop here.
    #[schemars(with = "Option<String>")]
    pull_request: Option<PullRequest>,
}

/// What calls share.
pub struct Session {
    /// One GitHub for all calls, so that what was read before is asked for conditionally, and a limit is kept.
    reader: OnceCell<Reader>,
    /// Two verifications would write into each other's evidence.
    verifying: Arc<Mutex<()>>,
    interrupt: Interrupt,
}

impl Session {
    pub fn new(interrupt: Interrupt) -> Self {
        Self { reader: OnceCell::new(), verifying: Arc::default(), interrupt }
    }

    async fn reader(&self) -> Result<&Reader, CliError> {
        self.reader.get_or_try_init(async || Reader::from_environment()).await
    }

    /// Resolves when no verification is under way any more.
    pub async fn checks_have_ended(&self) {
        drop(self.verifying.lock().await);
    }

    async fn verify(&self, input: Verify, stop: Call<()>) -> Result<Value, CliError> {
        let guard = Arc::clone(&self.verifying).lock_owned().await;
        let mut interrupt = self.interrupt.clone();
        let stop = async move {
            tokio::select! {
                () = stop => {}
                () = interrupt.interrupted() => {}
            }
        };
        let arguments = verify::Arguments::of(input.checks, input.base);
        let verified = tokio::task::spawn_blocking(move || {
            let verified = verify::verify(&arguments, stop);
            drop(guard);
            verified
        });
        let verified = verified.await.map_err(CliError::unavailable)??;
        let told = verified.ok_or_else(|| CliError::unavailable("stopped: what was running has been ended"))?.told;
        Ok(document(&Reading { told, from: ReadFrom::Verification, currency: Currency::Current }))
    }

    async fn feedback(&self, input: Feedback) -> Result<Value, CliError> {
        Ok(document(&match input.pull_request {
            Some(of) => feedback::look(self.reader().await?, &of, None).await?,
            None => {
                let here = std::env::current_dir().map_err(CliError::unavailable)?;
                feedback::here(&here, Path::new(local::EVIDENCE))?
            }
        }))
    }

    async fn wait(&self, Wait { pull_request, since, timeout_seconds }: Wait) -> Result<Value, CliError> {
        let seconds = timeout_seconds.unwrap_or(WAIT);
        if seconds > LONGEST_WAIT {
            return Err(CliError::usage(format!("wrong arguments: timeout_seconds is at most {LONGEST_WAIT}")));
        }
        let time = TimeDelta::seconds(i64::from(seconds));
        Ok(document(&feedback::wait(self.reader().await?, &pull_request, since, time).await?))
    }

    async fn dispute(&self, Dispute { failure, kind, reason, pull_request }: Dispute) -> Result<Value, CliError> {
        let dispute = FixerDispute { failure, kind, reason };
        let handed_in = match pull_request {
            Some(of) => dispute::on_pull_request(self.reader().await?, &of, &dispute).await?,
            None => dispute::here(&dispute).await?,
        };
        serde_json::to_value(handed_in).map_err(CliError::bad_data)
    }
}

async fn memory(Memory { words, repository }: Memory) -> Result<Value, CliError> {
    crate::cli::memory::search(repository.as_ref(), words).await
}

async fn explain(Explain { pull_request }: Explain) -> Result<Value, CliError> {
    let looked = explain::look(&pull_request).await?;
    serde_json::to_value(explain::document(&looked)).map_err(CliError::bad_data)
}

fn document(reading: &Reading) -> Value {
    Value::Object(reading.document())
}
