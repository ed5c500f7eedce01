//! REFINE: the fixer edits the working tree. What holds of its edits holds of the task command's too (`programs`).
//!
//! The state shows that a program is at work *before* it is started, with the tree as it was. So whatever is found
//! after a crash is either the program's finished commit (recognised by run and attempt in its message), or half-made
//! edits, which are put aside under `refs/loopgate/aside/` and undone before the program is called again.

use std::{collections::BTreeMap, time::Duration};

use chrono::{TimeDelta, Utc};

use super::{
    local_workspace::{aside_ref, only, task_ref},
    report,
    session::{Progress, Session, fix_record},
};
use crate::cli::{CliError, actions, output::note_line, progress, working_tree::CONFIGURATION};
use loopgate_core::{
    Sha,
    concerns::{
        tampering::{self, Tampering},
        verdict::FailureView,
    },
    evidence::{BaseTestRun, ProofEnd},
    policy::{CommandFixer, CommitAuthor, Fixer, Policy, Trigger, backoff},
    reflex::{self, Calling, EditVerdict, FixMaker, FixRecord, PutBack, Senior, Turn},
    text,
};
use loopgate_git::Outsider;
use loopgate_render::{
    few, loop_call, loop_edit_refusal, loop_exhausted, loop_fix_message, loop_missing_test,
    refused_command,
};
use loopgate_runner::{
    self as runner, CommandLine, Edits, Ending, Extent, FixerEnd, FixerReport, Head, Plan,
};

/// Lines of a refused diff that are shown.
const DIFF_LINES: usize = 60;

impl Session<'_> {
    /// The program that changes the code between two iterations and commits; else the author does, and why no fixer.
    pub(super) fn fixer(
        &self,
        policy: &Policy,
    ) -> Result<(CommandFixer, FixMaker), Option<&'static str>> {
        if actions::is_fork() {
            // Its code would run beside a token and write to a branch that is not ours.
            return Err(Some("a fixer never runs on a pull request from a fork"));
        }
        let senior = (self.reflex().senior == Senior::Next)
            .then_some(policy.escalation.senior.as_ref())
            .flatten();
        if let Some(Fixer::Command(senior)) = senior {
            return Ok((senior.clone(), FixMaker::SeniorFixer));
        }
        let fixer = match (&self.reflex().settings.fix_command, &policy.fixer.fixer) {
            (None, Fixer::Author) => return Err(None),
            (None, Fixer::Mention(_) | Fixer::Dispatch(_)) => {
                return Err(Some("the configured fixer works on pull requests only"));
            }
            (None, Fixer::Command(fixer)) => fixer.clone(),
            (Some(run), Fixer::Command(fixer)) => CommandFixer {
                run: run.clone(),
                ..fixer.clone()
            },
            (Some(run), _) => CommandFixer {
                run: run.clone(),
                environment: BTreeMap::new(),
                timeout: TimeDelta::minutes(30),
                author: CommitAuthor::default(),
            },
        };
        Ok((fixer, FixMaker::Fixer))
    }

    /// REFINE: the fixer edits and its edits are judged; or the author has edited; or the loop waits for them.
    pub(super) async fn refine(&mut self) -> Result<Progress, CliError> {
        let policy = self.governed();
        let head = self.workspace.worktree.head()?;
        match self.fixer(&policy) {
            Err(why) => self.refined_by_the_author(head, why).await,
            Ok(_) if head.commit != self.state.head.sha => self.refined_meanwhile(head).await,
            Ok((fixer, maker)) => {
                self.clear_leftovers(head)?;
                self.ask_for_a_clean_tree(head)?;
                self.call_fixer(&fixer, maker, head, &policy).await
            }
        }
    }

    /// The next iteration begins as soon as the working tree differs from what failed.
    async fn refined_by_the_author(
        &mut self,
        head: Head,
        why: Option<&'static str>,
    ) -> Result<Progress, CliError> {
        let artifact = self.checked_out()?;
        if loopgate_core::evidence::tree_hash(artifact.tree)
            == self.state.head.artifact.content_hash
        {
            self.print_your_turn(why);
            return Ok(Progress::Waiting);
        }
        let files = self
            .workspace
            .worktree
            .changes(self.state.head.sha, artifact.tree)?;
        let is_committed = artifact.commit == head.commit;
        let subject = if is_committed {
            self.subject_of(head.commit)?
        } else {
            "uncommitted changes".to_owned()
        };
        let fix = fix_record(self.state.run.iteration, artifact.commit, subject, &files);
        self.save(self.turn().refined(fix)).await
    }

    /// HEAD has moved since the evaluation: the fix was committed before the process died, or somebody committed.
    async fn refined_meanwhile(&mut self, head: Head) -> Result<Progress, CliError> {
        let files = self
            .workspace
            .worktree
            .changes(self.state.head.sha, head.tree)?;
        let subject = self.subject_of(head.commit)?;
        let mut fix = fix_record(self.state.run.iteration, head.commit, subject, &files);
        if self.is_our_commit(head.commit)? {
            self.workspace.worktree.settle_index()?;
            fix.by = if self.reflex().senior == Senior::Next {
                FixMaker::SeniorFixer
            } else {
                FixMaker::Fixer
            };
        }
        self.save(self.turn().refined(fix)).await
    }

    fn subject_of(&self, commit: Sha) -> Result<String, CliError> {
        let (message, _) = self.workspace.worktree.message(commit)?;
        Ok(text::first_line(&message, 200))
    }

    async fn call_fixer(
        &mut self,
        fixer: &CommandFixer,
        maker: FixMaker,
        head: Head,
        policy: &Policy,
    ) -> Result<Progress, CliError> {
        let spent = self.reflex().spent;
        let left = match reflex::time_left(&policy.fixer.budget, &spent) {
            Ok(left) => left,
            Err(exhausted) => {
                return self
                    .call_a_person(Trigger::BudgetExhausted, vec![loop_exhausted(&exhausted)])
                    .await;
            }
        };
        let wait = backoff(
            policy.retry.backoff,
            spent.calls,
            &policy.retry.external_retry.commands(),
        );
        let wait = wait.to_std().unwrap_or_default();
        let rest = tokio::time::sleep(wait);
        if !wait.is_zero() && self.interrupt.run_until_cancelled(rest).await.is_none() {
            return Ok(Progress::Interrupted);
        }
        let feedback = self.feedback(policy).await?;
        let own = fixer.timeout.to_std().unwrap_or(Duration::from_secs(1800));
        let mut line = CommandLine {
            environment: fixer.environment.clone(),
            input: feedback.into_bytes(),
            ..CommandLine::new(&fixer.run, &self.workspace.worktree.root, own)
        };
        let attempts = [
            ("LOOPGATE_ATTEMPT", self.state.run.iteration),
            ("LOOPGATE_MAX_ATTEMPTS", self.state.run.max_iterations),
        ];
        line.environment
            .extend(attempts.map(|(name, number)| (name.to_owned(), number.to_string())));
        line.environment.extend([self.mark()]);
        let scratch = self
            .workspace
            .worktree
            .private_dir
            .join(self.alias.as_str());
        let left = left.map(|left| left.to_std().unwrap_or_default());
        let program = runner::call_fixer(
            line,
            &scratch,
            left,
            self.interrupt.clone(),
            report::echo(|line| note_line(format_args!("  │ {line}"))),
        );
        let (outcome, edits) = self.let_edit(head, Outsider::Fixer, program).await?;
        let (end, wall) = outcome.map_err(|error| {
            CliError::unavailable(format!("the fixer's task cannot be written: {error}"))
        })?;
        let wall = TimeDelta::from_std(wall).unwrap_or(TimeDelta::MAX);
        let cost = match &end {
            FixerEnd::Done(report) => report.cost_usd,
            _ => None,
        };
        self.state = Turn::spend(self.state.clone(), wall, cost);
        match end {
            FixerEnd::Done(FixerReport {
                dispute: Some(dispute),
                ..
            }) => {
                self.put_aside(&edits, "Edits of a fixer that disputes a failure\n")?;
                match self.dispute(&dispute, "fixer".to_owned()).await? {
                    Ok(progress) => self
                        .dispute_in_a_commit(&dispute, head, &fixer.author)
                        .map(|()| progress),
                    Err(refusal) => self.break_off(refused_command(&refusal)).await,
                }
            }
            FixerEnd::Done(report) => {
                self.take_or_refuse(&edits, &report, fixer, maker, policy)
                    .await
            }
            FixerEnd::Interrupted => {
                self.put_aside(&edits, "Half-made edits, interrupted\n")?;
                Ok(Progress::Interrupted)
            }
            FixerEnd::TimedOut => {
                let seconds = fixer.timeout.num_seconds();
                let words = format!(
                    "The fixer did not end within {seconds} s (`fixer.timeout`) and was ended."
                );
                self.ended_fixer(&edits, Trigger::TimeoutExceeded, words)
                    .await
            }
            FixerEnd::OutOfTime => {
                let words = "The fixer was ended: `fixer.budget.wall_time` is used up.".to_owned();
                self.ended_fixer(&edits, Trigger::BudgetExhausted, words)
                    .await
            }
            FixerEnd::Broke(why) => {
                self.put_aside(&edits, "Edits of a fixer that failed\n")?;
                self.break_off(why).await
            }
        }
    }

    async fn ended_fixer(
        &mut self,
        edits: &Edits,
        cause: Trigger,
        words: String,
    ) -> Result<Progress, CliError> {
        let mut notes = vec![words];
        if self
            .put_aside(edits, "Edits of a fixer that was ended\n")?
            .is_some()
        {
            notes.push(format!(
                "What it had done is put aside: git show {}",
                aside_ref(&self.alias)
            ));
        }
        self.call_a_person(cause, notes).await
    }

    async fn take_or_refuse(
        &mut self,
        edits: &Edits,
        report: &FixerReport,
        fixer: &CommandFixer,
        maker: FixMaker,
        policy: &Policy,
    ) -> Result<Progress, CliError> {
        let change = self.change(self.state.head.sha)?;
        let view = self.judged().await?.decision.view.clone();
        let scope = reflex::failing_scope(&view, &change);
        let configuration = self
            .reflex()
            .settings
            .config
            .as_deref()
            .unwrap_or(CONFIGURATION);
        let (before, after) = (edits.head.tree, edits.tree);
        let wanted = tampering::files_to_read(&edits.files, Some(before), after);
        let contents = &self.workspace.worktree.contents(wanted)?;
        let judge = |base_tests: &[BaseTestRun]| {
            let failed = view
                .failures
                .iter()
                .filter_map(|view| tampering::failed_test(&view.failure))
                .collect();
            let judged = reflex::Edits {
                files: &edits.files,
                contents,
                before,
                after,
                base_tests,
            };
            reflex::judge_edits(judged, &scope, failed, Some(&self.state), configuration)
        };
        let mut verdict = judge(&[]);
        let base_tests = self
            .with_files_put_back(edits, &verdict, policy, &view.failures)
            .await?;
        if self.interrupt.is_cancelled() {
            self.put_aside(
                edits,
                "Edits of a fixer, interrupted before they were judged\n",
            )?;
            return Ok(Progress::Interrupted);
        }
        if !base_tests.is_empty() {
            verdict = judge(&base_tests);
        }
        let mut described = described(edits);
        if let EditVerdict::Take { outside } = &verdict
            && !outside.is_empty()
        {
            described.push_str(&format!("; outside the failing scope: {}", few(outside, 3)));
        }
        let reported = (report.description.as_deref(), report.cause.as_deref());
        let message = loop_fix_message(&view, &self.state, reported, &described, &edits.files);
        match verdict {
            EditVerdict::Nothing => {
                self.put_aside(edits, "")?;
                let description = report
                    .description
                    .as_deref()
                    .map(|text| format!(" Its description: “{}”", plain(text)));
                let notes = vec![format!(
                    "The fixer ended without changing a file.{}",
                    description.unwrap_or_default()
                )];
                let cause = Trigger::AmbiguousRequirement;
                let turn = self.turn();
                let turn = if reflex::lacks_only_a_test(&self.state) {
                    turn.refused(&[cause], loop_missing_test(&change, notes), policy)
                } else {
                    let causes = [cause, Trigger::NoChange];
                    turn.refused(&causes, loop_call(cause, notes), policy)
                };
                self.save(turn).await
            }
            EditVerdict::Refuse(refusals) => {
                let diff = self.workspace.worktree.diff(edits.head.tree, edits.tree)?;
                self.put_aside(edits, &message)?;
                let mut notes: Vec<String> = refusals
                    .iter()
                    .take(20)
                    .map(|refusal| plain(&loop_edit_refusal(refusal)))
                    .collect();
                notes.push(format!(
                    "Nothing of it was committed. It is put aside: git show {}",
                    aside_ref(&self.alias)
                ));
                let cause = Trigger::Tampering;
                let turn = self
                    .turn()
                    .refused(&[cause], loop_call(cause, notes), policy);
                self.save(turn.with_diff(&diff, DIFF_LINES)).await
            }
            EditVerdict::Take { outside } => {
                let commit = self
                    .workspace
                    .worktree
                    .commit(edits, &message, &fixer.author)?;
                self.workspace
                    .worktree
                    .advance(self.state.head.sha, commit)?;
                let subject = message.lines().next().unwrap_or_default().to_owned();
                let passing = base_tests
                    .into_iter()
                    .filter(|run| run.on_head == ProofEnd::Passed);
                let fix = FixRecord {
                    by: maker,
                    description: report
                        .description
                        .as_deref()
                        .map_or_else(|| subject.clone(), plain),
                    outside_scope: outside,
                    proven: passing.map(|run| run.file).collect(),
                    cost_usd: report.cost_usd,
                    ..fix_record(self.state.run.iteration, commit, subject, &edits.files)
                };
                self.print_fixed(&fix);
                self.save(self.turn().refined(fix)).await
            }
        }
    }
}

impl Session<'_> {
    /// How the checks end with the files put back that hold tests, or decide which tests run.
    async fn with_files_put_back(
        &self,
        edits: &Edits,
        verdict: &EditVerdict,
        policy: &Policy,
        failures: &[FailureView],
    ) -> Result<Vec<BaseTestRun>, CliError> {
        let checks = only(policy, &self.state.concerns.checks.prepared)
            .verify
            .checks;
        let PutBack {
            files,
            checks: wanted,
            failures,
        } = PutBack::of(&edits.files, verdict, &checks, failures);
        let plan = Plan::new(&checks, Some(&wanted), self.workspace.worktree.git(), None);
        let plan = plan.map_err(CliError::bad_data)?;
        if files.is_empty() || plan.checks.is_empty() {
            return Ok(Vec::new());
        }
        let worktree = &self.workspace.worktree;
        let edited = worktree.stand_in(edits.tree, worktree.head()?)?;
        note_line(
            "The fixer changed tests, or what decides which run: the checks run with them as they were.",
        );
        let interrupt = self.interrupt.clone();
        let observer = progress::observer();
        Ok(runner::with_files_put_back(
            &plan,
            edited,
            edits.head.tree,
            &files,
            &failures,
            interrupt,
            observer,
        )
        .await)
    }
}

/// How much edits change, and where.
fn described(edits: &Edits) -> String {
    let paths = edits.files.known().iter().map(|file| &file.path);
    let shown = if edits.files.known().is_empty() {
        "no file".to_owned()
    } else {
        few(paths, 3)
    };
    format!("{} in {shown}", runner::diff_summary(&edits.files))
}

/// One bounded line without control characters.
fn plain(text: &str) -> String {
    text::one_line(&text.replace(char::is_control, " "), 300)
}

/// Longest time a task command may take.
const PRODUCE_TIMEOUT: Duration = Duration::from_secs(1800);

impl Session<'_> {
    /// Whether the task command's commit is in place already: the process died after it.
    pub(super) fn has_produced(&self) -> Result<bool, CliError> {
        let head = self.workspace.worktree.head()?;
        let ours = head.commit != self.state.head.sha && self.is_our_commit(head.commit)?;
        if ours {
            self.workspace.worktree.settle_index()?;
        }
        Ok(ours)
    }

    /// PRODUCE by the task command. Its edits become a commit, so that every iteration is of one. What ends this step,
    /// if it did not come to its end.
    pub(super) async fn produce(&mut self, command: &str) -> Result<Option<Progress>, CliError> {
        let head = self.workspace.worktree.head()?;
        self.clear_leftovers(head)?;
        self.ask_for_a_clean_tree(head)?;
        let task = (
            "LOOPGATE_TASK".to_owned(),
            self.state.run.task.prompt.clone(),
        );
        let line = CommandLine {
            environment: BTreeMap::from([task, self.mark()]),
            ..CommandLine::new(command, &self.workspace.worktree.root, PRODUCE_TIMEOUT)
        };
        let program = runner::run_command(
            line,
            self.interrupt.clone(),
            |_| (),
            report::echo(|line| note_line(format_args!("  │ {line}"))),
        );
        let (finished, edits) = self.let_edit(head, Outsider::TaskCommand, program).await?;
        if finished.ending == Ending::Interrupted {
            self.put_aside(&edits, "Half-made work of the task command, interrupted\n")?;
            return Ok(Some(Progress::Interrupted));
        }
        if let Some(why) = finished.ending.problem("the task command", PRODUCE_TIMEOUT) {
            self.put_aside(&edits, "Half-made work of a task command that failed\n")?;
            return self.break_off(why).await.map(Some);
        }
        if !edits.is_empty() {
            let message = format!(
                "{}\n\nProduced by the task command, {}.\nAttempt {}/{}\n\nLoopgate-Run: {}\n",
                text::start(&self.state.run.title, 72),
                described(&edits),
                self.state.run.iteration,
                self.state.run.max_iterations,
                self.state.run.id
            );
            let author = match &self.policy.fixer.fixer {
                Fixer::Command(fixer) => fixer.author.clone(),
                _ => CommitAuthor::default(),
            };
            let commit = self.workspace.worktree.commit(&edits, &message, &author)?;
            self.workspace.worktree.advance(head.commit, commit)?;
        }
        Ok(None)
    }

    /// Lets a program edit the working tree: it is saved before that it is at work, and git is put back afterwards.
    pub(super) async fn let_edit<T>(
        &mut self,
        head: Head,
        outsider: Outsider,
        program: impl Future<Output = T>,
    ) -> Result<(T, Edits), CliError> {
        let worktree = &self.workspace.worktree;
        let before = worktree.tree(Extent::Everything)?;
        let known = self.reflex().calling.as_ref();
        if known.is_none_or(|calling| calling.head != head.commit || calling.tree != before) {
            let calling = Calling {
                head: head.commit,
                tree: before,
                since: Utc::now(),
            };
            self.save(self.turn().calling(calling)).await?;
        }
        let held = self
            .loaded
            .tip
            .map(|tip| (task_ref(&self.alias).to_string(), tip));
        let anchor = worktree.anchor(held.into_iter().collect())?;
        let exposed = worktree.git().expose(outsider);
        let ran = program.await;
        drop(exposed);
        self.say_planted();
        let who = match outsider {
            Outsider::TaskCommand => "The task command",
            _ => "The fixer",
        };
        // Its commits are judged as edits.
        let moved = worktree.hold(&anchor)?;
        if let Some(commit) = moved.commit {
            let commit = commit.short();
            note_line(format_args!(
                "{who} committed by itself, up to {commit}: that is judged as its edits."
            ));
        }
        if let Some(branch) = &moved.branch {
            let branch = branch.strip_prefix("refs/heads/").unwrap_or(branch);
            note_line(format_args!(
                "{who} checked out {branch}: HEAD is back where the loop works."
            ));
        }
        for name in &moved.refs {
            note_line(format_args!(
                "{who} changed {name}, where this loop is kept: it is put back."
            ));
        }
        Ok((ran, worktree.edits_since(before, head)?))
    }

    /// A loop's fixes belong on the branch it began on.
    pub(super) fn ask_for_its_branch(&self) -> Result<(), CliError> {
        let (branch, alias) = (&self.state.head.branch, &self.alias);
        let elsewhere = self.workspace.checkout.branch.as_ref() != Some(branch);
        // A loop that began without a branch has none to be on.
        if !elsewhere
            || self
                .workspace
                .worktree
                .resolve(&format!("refs/heads/{branch}"))
                .is_none()
        {
            return Ok(());
        }
        let here = self
            .workspace
            .checkout
            .branch
            .as_deref()
            .unwrap_or("no branch");
        Err(CliError::bad_data(format!(
            "the loop `{alias}` works on {branch}, and {here} is checked out here: `git switch {branch}`, then go on \
             with `loopgate loop resume {alias}`"
        )))
    }

    /// The variable that only programs of this loop have in their environment.
    pub(super) fn mark(&self) -> (String, String) {
        let here = &self.workspace.worktree.private_dir;
        (
            runner::LOOP_MARK.to_owned(),
            format!("{} in {}", self.state.run.id, here.display()),
        )
    }

    /// Whether a commit is what this run's current iteration led to.
    pub(super) fn is_our_commit(&self, commit: Sha) -> Result<bool, CliError> {
        let (message, parent) = self.workspace.worktree.message(commit)?;
        let run = format!("Loopgate-Run: {}", self.state.run.id);
        let attempt = format!("Attempt {}/", self.state.run.iteration);
        let is_of_run = message.lines().any(|line| line.trim() == run);
        let is_of_attempt = message.lines().any(|line| line.starts_with(&attempt));
        Ok(parent == Some(self.state.head.sha) && is_of_run && is_of_attempt)
    }

    /// Undoes what a program left half-made when the process died. Nothing is lost: it is kept aside.
    pub(super) fn clear_leftovers(&mut self, head: Head) -> Result<(), CliError> {
        let Some(calling) = self.reflex().calling.clone() else {
            return Ok(());
        };
        // What a killed process left at work would go on editing beside the next call.
        let (name, value) = self.mark();
        match runner::end_left_behind(&name, &value) {
            0 => {}
            1 => note_line("What the killed loop had left running was ended: 1 process."),
            ended => note_line(format_args!(
                "What the killed loop had left running was ended: {ended} processes."
            )),
        }
        let edits = self.workspace.worktree.edits_since(calling.tree, head)?;
        let message = format!(
            "Half-made edits of iteration {}, interrupted\n",
            self.state.run.iteration
        );
        if self.put_aside(&edits, &message)?.is_some() {
            note_line(format_args!(
                "Half-made edits were put aside: git show {}",
                aside_ref(&self.alias)
            ));
        }
        Ok(())
    }

    pub(super) fn put_aside(&self, edits: &Edits, message: &str) -> Result<Option<Sha>, CliError> {
        self.workspace
            .worktree
            .put_aside(edits, &aside_ref(&self.alias), message)
            .map_err(CliError::unavailable)
    }

    /// How the loop's branch, up to this commit, weakens what checks it.
    pub(super) fn weakening(&self, commit: Sha) -> Result<Vec<Tampering>, CliError> {
        let (files, before) = (&self.change(commit)?, self.state.head.base_sha);
        let contents = &self.workspace.worktree.contents(tampering::files_to_read(
            files,
            Some(before),
            commit,
        ))?;
        let failed = self
            .state
            .attempts
            .counted
            .iter()
            .flat_map(|attempt| attempt.failing_tests.keys().map(String::as_str));
        let failed = failed.collect();
        Ok(tampering::findings(&tampering::Change::of_fixer(
            files,
            contents,
            before,
            commit,
            failed,
            Some(&self.state),
        )))
    }

    /// Takes refused edits over: they become the commit they would have been.
    pub(super) fn take_over(&self, edits: Sha) -> Result<(), CliError> {
        let worktree = &self.workspace.worktree;
        let head = worktree.head()?;
        if head.commit != self.state.head.sha {
            return Err(CliError::bad_data(
                "there are commits since the edits were refused; go on without --accept",
            ));
        }
        self.ask_for_a_clean_tree(head)?;
        worktree
            .take_over(head.commit, edits)
            .map_err(CliError::unavailable)
    }
}
