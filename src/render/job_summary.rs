//! The summary of a workflow job: the same tables as the status comment.

use super::{
    fit,
    status::StatusModel,
    templates,
    verdict::{Subject, verdict},
};
use loopgate_core::{deciding::Decision, observed::Snapshot, policy::Policy};

/// Markdown for `GITHUB_STEP_SUMMARY`, at most [`LIMIT`](fit::LIMIT) bytes: the platform takes 1 MiB for all steps of
/// a job together.
pub fn job_summary(decision: &Decision, snapshot: &Snapshot, policy: &Policy) -> String {
    let subject = Subject { decision, snapshot, policy };
    let mut model = StatusModel::of(&subject);
    fit::fit(&mut model, fit::LIMIT, |model| templates::render("job_summary.md", model))
        .unwrap_or_else(|| verdict(&subject).words)
}
