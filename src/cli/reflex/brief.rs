//! What a fixer is told.

use std::collections::BTreeMap;

use super::drive::Session;
use crate::cli::CliError;
use loopgate_core::{
    failure::{Changes, FailingCheck, FeedbackPacket, PacketInput, SinceLast, Tried},
    policy::{CheckSource, Policy},
    verdict::CheckStanding,
};

impl Session<'_> {
    /// The feedback packet, with the critique and the task beside it.
    pub(super) async fn feedback(&mut self, policy: &Policy) -> Result<String, CliError> {
        let (attempt, max_attempts) = (self.state.iteration, self.state.max_iterations);
        let fixes = self.reflex().fixes.clone();
        let critique = self.state.critique.clone().unwrap_or_default();
        let (task, alias) = (self.state.task.clone(), self.alias.to_string());
        let judged = self.judged().await?;
        let changes = Changes::of(&judged.snapshot.files);
        let evidence: Vec<_> = judged
            .decision
            .view
            .checks
            .iter()
            .filter_map(|check| match &check.standing {
                CheckStanding::Done(evidence) => Some(evidence.as_ref()),
                _ => None,
            })
            .collect();
        let checks: Vec<FailingCheck<'_>> = evidence
            .iter()
            .map(|evidence| {
                let command = policy.verify.checks.get(&evidence.name).and_then(|check| match &check.source {
                    CheckSource::Command(command) => Some(command),
                    CheckSource::External(_) => None,
                });
                let directory = command.and_then(|command| command.working_directory.as_deref());
                let command = command.map(|command| command.run.as_str());
                FailingCheck {
                    evidence,
                    framework: command.map(loopgate_core::evidence::framework_of),
                    command,
                    directory,
                }
            })
            .collect();
        let since_last = fixes.last().filter(|fix| fix.iteration + 1 == attempt);
        let packet = FeedbackPacket::build(&PacketInput {
            attempt,
            max_attempts,
            checks: &checks,
            changes: &changes,
            comparison: None,
            since_last: since_last.map(|fix| SinceLast {
                diff_summary: fix.diff_summary.clone(),
                files_modified: fix.files_modified.clone(),
            }),
            tried: fixes
                .iter()
                .map(|fix| Tried {
                    attempt: fix.iteration,
                    description: fix.description.clone(),
                    outcome: "did not pass".to_owned(),
                })
                .collect(),
            past: &BTreeMap::new(),
            full_text: Some(format!("git show refs/loopgate/task/{alias}:attempts/{attempt:03}.json")),
        });
        let mut document = serde_json::to_value(packet).map_err(CliError::bad_data)?;
        if let Some(fields) = document.as_object_mut() {
            fields.insert("task".to_owned(), serde_json::json!(task.prompt));
            fields.insert("ideal_result".to_owned(), serde_json::json!(task.ideal_result));
            fields.insert("critique".to_owned(), serde_json::json!(critique));
        }
        serde_json::to_string_pretty(&document).map_err(CliError::bad_data)
    }
}
