//! EVALUATE: running what is prepared, and what the evidence amounts to.

use std::collections::BTreeSet;

use chrono::Utc;

use super::{
    local_workspace::only,
    session::{CheckedAttempt, Judged, Progress, Session, listed},
};
use crate::cli::{CliError, output, progress, working_tree};
use loopgate_core::{
    Sha,
    concerns::{
        checks::gather,
        coverage,
        verdict::{Evaluation, evaluate},
    },
    deciding::{Decision, MemoryAnswers, decide},
    evidence::{CheckEvidence, Environment, Evidence},
    memory::AppliedFix,
    observed::{ChangedFile, ChangedFiles, Snapshot},
    policy::{Context, Phase, Policy, Trigger},
    reflex::{Evaluated, Turn},
    state::RunStatus,
};
use loopgate_git::Outsider;
use loopgate_refs::{MemoryNotes, MemoryStore, attempt_document};
use loopgate_render::{self as render, feedback, loop_call_of, loop_critique};
use loopgate_runner::{self as runner, Extent, Head, Plan};

impl Session<'_> {
    pub(super) async fn evaluate(&mut self) -> Result<Progress, CliError> {
        let policy = self.governed();
        let prepared = only(&policy, &self.state.concerns.checks.prepared);
        // Phase B goes on from what phase A's checks brought, if it is this process that ran them.
        let mut known = std::mem::take(&mut self.phase_a);
        if self.state.run.phase == Phase::A {
            known = CheckedAttempt::default();
        }
        let Some(checked) = self.run_checks(&prepared, known).await? else {
            return Ok(Progress::Interrupted);
        };
        let snapshot = self.observed(&checked)?;
        if self.state.run.phase == Phase::A
            && let Some(evaluation) = self.passes_phase_a(&snapshot, &prepared)
        {
            let found = Evaluated::PhaseA(&evaluation);
            let (state, now) = (&self.state, Utc::now());
            let turn =
                Turn::on(state, now).evaluated(found, &checked.checks, &checked.edited, &policy);
            let progress = self.save_or_break(turn).await?;
            if self.state.run.phase == Phase::B {
                self.phase_a = checked;
                self.print_phase_a(&evaluation);
            }
            return Ok(progress);
        }
        let mut decision = decide(&snapshot, &self.state, &prepared, Utc::now());
        self.recall(&mut decision, &snapshot, &policy).await;
        let counted =
            decision.attempt.is_some() || self.state.attempt_of(self.state.head.sha).is_some();
        if counted {
            return self.judge(decision, snapshot, &checked, &policy).await;
        }
        // Every failure lies outside the code, also after the repetitions.
        let failing = checked
            .checks
            .iter()
            .filter(|check| check.outcome.is_failure())
            .map(|check| &check.name);
        let notes = vec![format!(
            "{} failed for reasons outside the code, again and again.",
            listed(failing)
        )];
        self.call_a_person(Trigger::ExternalDependencyDown, notes)
            .await
    }

    async fn judge(
        &mut self,
        decision: Decision,
        snapshot: Snapshot,
        checked: &CheckedAttempt,
        policy: &Policy,
    ) -> Result<Progress, CliError> {
        let (critique, call) = (loop_critique(&decision.view), loop_call_of(&decision));
        let found = Evaluated::Head {
            decision: &decision,
            critique: &critique,
            call: call.as_ref(),
        };
        let now = Utc::now();
        let turn = match Turn::on(&self.state, now).evaluated(
            found,
            &checked.checks,
            &checked.edited,
            policy,
        ) {
            Ok(turn) => turn,
            Err(breach) => return self.break_off(render::loop_breach(&breach)).await,
        };
        let fix = self
            .reflex()
            .fixes
            .last()
            .filter(|fix| fix.iteration + 1 == self.state.run.iteration);
        let attempt = match &decision.attempt {
            Some(record) => {
                let feedback = feedback(&decision.view.feedback, policy.retry.feedback_max_length);
                let after_failure = !self.state.attempts.counted.is_empty();
                Some(attempt_document(record, &feedback, after_failure, fix)?)
            }
            None => None,
        };
        if self.reflex().settings.document.is_none() {
            self.artifact = render::loop_report(&turn.state, false);
        }
        self.to_remember
            .lines
            .extend(decision.memory_line(&snapshot));
        let judged = Judged { decision, snapshot };
        let progress = self.save_attempt(turn, attempt).await?;
        self.record(policy).await;
        self.print_iteration(&judged);
        self.judged = Some(judged);
        Ok(progress)
    }

    /// Runs what is prepared and not known yet. None: interrupted.
    async fn run_checks(
        &mut self,
        policy: &Policy,
        known: CheckedAttempt,
    ) -> Result<Option<CheckedAttempt>, CliError> {
        let mut wanted = policy.verify.checks.clone();
        wanted.retain(|name, _| known.checks.iter().all(|check| &check.name != name));
        let plan = Plan::new(&wanted, None, self.workspace.worktree.git(), None);
        let plan = plan
            .map_err(CliError::bad_data)?
            .repeating(policy.retry.external_retry.commands());
        let before = self.workspace.worktree.tree(Extent::Tracked)?;
        let exposed = self.workspace.worktree.git().expose(Outsider::Checks);
        let (ran, environment) = tokio::join!(
            runner::run(&plan, self.interrupt.clone(), progress::observer()),
            runner::environment(&plan)
        );
        drop(exposed);
        self.say_planted();
        if self.interrupt.is_cancelled() {
            return Ok(None);
        }
        let after = self.workspace.worktree.tree(Extent::Tracked)?;
        let edited = self.workspace.worktree.differing(before, after)?;
        let mut checks: Vec<CheckEvidence> = known.checks.into_iter().chain(ran.checks).collect();
        checks.sort_by_key(|check| policy.verify.checks.get_index_of(&check.name));
        let coverage = match (known.coverage, ran.coverage) {
            (Some(before), Some(more)) => Some(before.into_iter().chain(more).collect()),
            (before, more) => before.or(more),
        };
        Ok(Some(CheckedAttempt {
            checks,
            coverage,
            edited,
            environment: Some(environment),
        }))
    }

    /// The evaluation of phase A, if it passes.
    fn passes_phase_a(&self, snapshot: &Snapshot, policy: &Policy) -> Option<Evaluation> {
        let cx = Context {
            snapshot,
            policy,
            now: Utc::now(),
        };
        let evidence = gather::gather(cx, &[], &BTreeSet::new(), |_| cx.now);
        let rules = evaluate::rules(policy, self.reflex().settings.task_type);
        let evaluation = evaluate::evaluate_phase(cx, &evidence, &rules, Phase::A);
        evaluation.passed().then_some(evaluation)
    }

    /// The head with this evidence, as a pull request that is not open.
    fn observed(&self, checked: &CheckedAttempt) -> Result<Snapshot, CliError> {
        let head = self.state.head.sha;
        let tree = self.workspace.worktree.tree_of(head)?;
        let files = self.change(head)?;
        let os = std::env::consts::OS.to_owned();
        let nowhere = Environment {
            os,
            runtime: None,
            framework: None,
        };
        let evidence = Evidence {
            base_sha: Some(self.state.head.base_sha),
            environment: checked.environment.clone().unwrap_or(nowhere),
            started_at: checked
                .checks
                .iter()
                .filter_map(|check| check.started_at)
                .min()
                .unwrap_or_else(Utc::now),
            coverage: checked
                .coverage
                .as_ref()
                .map(|reports| coverage::measure(&files, reports)),
            ..working_tree::evidence(
                self.state.run.repository.clone(),
                head,
                tree,
                checked.checks.clone(),
            )
        };
        let base = self.reflex().settings.base.as_deref();
        Ok(self.workspace.snapshot(
            Head { commit: head, tree },
            self.state.head.base_sha,
            &self.state.run.title,
            base,
            files,
            Some(evidence),
        ))
    }

    /// What the loop's branch has changed up to this commit or tree.
    pub(super) fn change(&self, to: Sha) -> Result<ChangedFiles, CliError> {
        self.workspace
            .worktree
            .changes(self.state.head.base_sha, to)
            .map_err(CliError::unavailable)
    }

    /// What a fixer is given: the feedback document, with the critique and the task beside it.
    pub(super) async fn feedback(&mut self, policy: &Policy) -> Result<String, CliError> {
        let (task, critique) = (
            self.state.run.task.clone(),
            self.state.run.critique.clone().unwrap_or_default(),
        );
        let report = format!(
            "git show refs/loopgate/task/{}:attempts/{:03}.json",
            self.alias, self.state.run.iteration
        );
        let judged = self.judged().await?;
        let subject = render::Subject::new(&judged.decision, &judged.snapshot, policy);
        Ok(render::Feedback::for_fixer(
            &subject, &task, &critique, report,
        ))
    }

    /// The last evaluation: as this process made it, else made again from what the attempt recorded.
    pub(super) async fn judged(&mut self) -> Result<&Judged, CliError> {
        let fits = self
            .judged
            .as_ref()
            .is_some_and(|judged| judged.snapshot.pull_request.head.sha == self.state.head.sha);
        if !fits {
            let tip = self
                .loaded
                .tip
                .ok_or_else(|| CliError::unavailable("the loop has not been saved yet"))?;
            let number = self
                .state
                .attempts
                .counted
                .last()
                .map_or(0, |last| last.number);
            let checks = self.store.recorded_checks(tip, number).await?;
            let snapshot = self.observed(&CheckedAttempt {
                checks,
                ..CheckedAttempt::default()
            })?;
            let policy = only(&self.governed(), &self.state.concerns.checks.prepared);
            let decision = decide(&snapshot, &self.state, &policy, Utc::now());
            self.judged = Some(Judged { decision, snapshot });
        }
        self.judged
            .as_ref()
            .ok_or_else(|| CliError::unavailable("there is no evaluation"))
    }
}

/// The debug memory: it is read for an attempt that failed, and written for each that was counted.
impl Session<'_> {
    /// Asks the memory what a decision needs of it. Nothing depends on it: what cannot be read is not shown.
    async fn recall(&self, decision: &mut Decision, snapshot: &Snapshot, policy: &Policy) {
        let questions = decision.memory_questions(policy);
        let change = questions
            .changed_since
            .and_then(|from| self.changed_since(from, decision));
        // What an iteration of this run found out may be meant for the next run only.
        let asks = self.state.attempts.counted.is_empty() || policy.memory.cross_iteration_learning;
        let found = match questions.look_up && asks {
            true => {
                let root = &self.workspace.worktree.root;
                working_tree::look_up(&self.workspace.repository, root, decision, snapshot, policy)
                    .await
            }
            false => MemoryAnswers::default(),
        };
        decision.remember(MemoryAnswers { change, ..found });
    }

    fn changed_since(
        &self,
        from: Sha,
        decision: &Decision,
    ) -> Option<(AppliedFix, Vec<ChangedFile>)> {
        let worktree = &self.workspace.worktree;
        let files = worktree.changes(from, decision.next.head.sha).ok()?;
        let failing = self
            .state
            .attempts
            .counted
            .last()
            .map(|attempt| attempt.summary.clone())
            .unwrap_or_default();
        let files = files.known().to_vec();
        let failing: BTreeSet<String> = files
            .iter()
            .map(|file| file.path.clone())
            .filter(|path| failing.contains(path.as_str()))
            .collect();
        let description = self
            .reflex()
            .fixes
            .last()
            .map(|fix| fix.description.clone())
            .unwrap_or_default();
        Some((
            AppliedFix::of(decision.next.head.sha, &description, &files, &failing),
            files,
        ))
    }

    /// Writes what the attempts leave: after each, or at the end of the run where the policy asks for that.
    async fn record(&mut self, policy: &Policy) {
        let goes_on = self.state.run.status == RunStatus::InProgress;
        if self.to_remember.lines.is_empty() || (goes_on && !policy.memory.persist_per_iteration) {
            return;
        }
        let notes: MemoryNotes = std::mem::take(&mut self.to_remember);
        let memory = MemoryStore::new(&self.workspace.repository, &policy.memory, Utc::now());
        if let Err(error) = memory.record(&notes).await {
            output::note_line(format_args!(
                "The debug memory could not be written: {error}."
            ));
        }
    }
}
