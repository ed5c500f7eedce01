//! Executes the steps of a loop: each does its work, saves once, and leaves the next step to the caller.
//!
//! A step may be interrupted at any instant. Nothing is saved then, or all of it: executing the step again is all that
//! a resume does. Edits of a program that was at work are put aside first (see [`Session::clear_leftovers`]), and a
//! commit that was made but not noted is recognised by the run and attempt in its message.

use super::session::{Progress, Session};
use crate::cli::CliError;
use loopgate_core::{
    concerns::verdict::evaluate,
    reflex::{self, Produced},
    state::{RunStatus, Step},
};
use loopgate_render::{loop_critique, loop_plan};

const ARTIFACT_LIMIT: usize = 1 << 20;

impl Session<'_> {
    /// Executes the current step.
    pub async fn step(&mut self) -> Result<Progress, CliError> {
        if self.state.run.status != RunStatus::InProgress {
            return Ok(Progress::Over);
        }
        if self.interrupt.is_cancelled() {
            return Ok(Progress::Interrupted);
        }
        self.print_step();
        let progress = match self.state.run.step {
            Step::Plan => {
                self.save_or_break(self.turn().planned(loop_plan(&self.state)))
                    .await?
            }
            Step::ProducePrepare => self.produce_and_prepare().await?,
            Step::Prepare => self.prepare(None).await?,
            Step::Evaluate => self.evaluate().await?,
            Step::Critique => {
                let view = self.judged().await?.decision.view.clone();
                let turn = self
                    .turn()
                    .critiqued(&loop_critique(&view), &view.evaluation);
                self.save_or_break(turn).await?
            }
            Step::Refine => self.refine().await?,
        };
        match progress {
            Progress::On if self.state.run.status != RunStatus::InProgress => Ok(Progress::Over),
            other => Ok(other),
        }
    }

    /// PRODUCE beside PREPARE. PREPARE is a calculation, so that both are done when PRODUCE is.
    async fn produce_and_prepare(&mut self) -> Result<Progress, CliError> {
        if self.state.run.iteration == 1
            && let Some(command) = self.reflex().settings.produce.clone()
            && !self.has_produced()?
            && let Some(ended) = self.produce(&command).await?
        {
            return Ok(ended);
        }
        let artifact = self.checked_out()?;
        let document = match self.document() {
            Ok(document) => document,
            Err(why) => return self.break_off(why).await,
        };
        let produced = Produced {
            head: artifact.commit,
            hash: loopgate_core::evidence::tree_hash(artifact.tree),
            document,
        };
        if let Some(document) = &produced.document {
            self.artifact.clone_from(document);
        }
        self.prepare(Some(produced)).await
    }

    async fn prepare(&mut self, produced: Option<Produced>) -> Result<Progress, CliError> {
        let policy = self.governed();
        let rules = evaluate::rules(&policy, self.reflex().settings.task_type);
        let checks = reflex::prepared_checks(&policy, &rules, self.state.run.phase);
        let turn = self.turn().prepared(produced.as_ref(), checks, &policy);
        self.save_or_break(turn).await
    }

    /// The document the task is to produce.
    fn document(&self) -> Result<Option<String>, String> {
        let Some(path) = &self.reflex().settings.document else {
            return Ok(None);
        };
        let file = self.workspace.worktree.root.join(path);
        let length = std::fs::metadata(&file).map(|found| found.len());
        match length {
            Err(_) => Err(format!("the document {path} is not there")),
            Ok(0) => Err(format!("the document {path} is empty")),
            Ok(length) if length > ARTIFACT_LIMIT as u64 => {
                Err(format!("the document {path} is larger than 1 MiB"))
            }
            Ok(_) => std::fs::read_to_string(&file)
                .map(Some)
                .map_err(|error| format!("the document {path} cannot be read: {error}")),
        }
    }
}
