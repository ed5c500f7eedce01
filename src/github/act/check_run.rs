//! Check runs as the API writes them, and what they are compared by.

use chrono::SecondsFormat;
use serde_json::{Value, json};

use super::CheckRunWrite;
use crate::github::{
    client::marker::{Digest, ENDED, short_hash},
    observe::{LeftCheckRun, ObservedSurface},
};
use loopgate_core::{
    Sha, Timestamp,
    deciding::CheckRunPlan,
    observed::{CheckProgress, Conclusion, PullRequest},
};
use loopgate_render::{self as render, CheckAnnotation, CheckRunText};

/// Annotations one request takes
/// (<https://docs.github.com/en/rest/checks/runs#update-a-check-run>); further ones follow in further requests.
pub(super) const PER_REQUEST: usize = 50;

pub(super) fn digest(
    state: CheckRunPlan,
    text: &CheckRunText,
    by_word: bool,
    base: &str,
) -> Digest {
    let CheckRunText {
        title,
        summary,
        text: details,
        annotations,
        actions,
    } = text;
    Digest {
        text: short_hash(&format!("{:?}", (state, title, summary, details, actions))),
        annotations: short_hash(&format!("{annotations:?}")),
        by_word,
        base: short_hash(base),
    }
}

/// Whether a check run is in the state it should be in.
pub(super) fn shows(progress: &CheckProgress, state: CheckRunPlan) -> bool {
    match (progress, state) {
        (CheckProgress::InProgress | CheckProgress::Queued, CheckRunPlan::InProgress) => true,
        (CheckProgress::Completed { conclusion, .. }, CheckRunPlan::Completed(wished)) => {
            *conclusion == wished
        }
        _ => false,
    }
}

/// The body of the request that creates a run on `head`, with its first annotations.
pub(super) fn creation(write: &CheckRunWrite, head: Sha, now: Timestamp) -> Value {
    let mut body = update(write, now);
    body["name"] = json!(write.name);
    body["head_sha"] = json!(head);
    body["started_at"] = json!(time(now));
    body
}

/// The body of the request that changes a run, with its first annotations.
pub(super) fn update(write: &CheckRunWrite, now: Timestamp) -> Value {
    let CheckRunWrite {
        state,
        text,
        annotations,
        digest,
        ..
    } = write;
    let first = &annotations[..annotations.len().min(PER_REQUEST)];
    let mut body =
        json!({ "external_id": digest, "output": output(text, first), "actions": text.actions });
    match state {
        CheckRunPlan::InProgress => body["status"] = json!("in_progress"),
        CheckRunPlan::Completed(conclusion) => end(&mut body, *conclusion, now),
    }
    body
}

/// The body that ends a run whose head or base was left.
pub(super) fn cancellation(
    left: &LeftCheckRun,
    surface: &ObservedSurface,
    now: Timestamp,
) -> Value {
    let PullRequest { head, base, .. } = &surface.pull_request;
    let text = render::superseded((left.head != head.sha).then_some(head.sha), &base.branch);
    let mut body = json!({ "external_id": ENDED, "output": output(&text, &[]) });
    end(&mut body, Conclusion::Cancelled, now);
    body
}

fn end(body: &mut Value, conclusion: Conclusion, now: Timestamp) {
    body["status"] = json!("completed");
    body["conclusion"] = json!(conclusion);
    body["completed_at"] = json!(time(now));
}

fn time(moment: Timestamp) -> String {
    moment.to_rfc3339_opts(SecondsFormat::Secs, true)
}

pub(super) fn output(text: &CheckRunText, annotations: &[CheckAnnotation]) -> Value {
    let mut output =
        json!({ "title": text.title, "summary": text.summary, "annotations": annotations });
    if let Some(details) = &text.text {
        output["text"] = json!(details);
    }
    output
}
