//! Executing the steps of a loop: each does its work, saves once, and leaves the next to whoever asks.
//!
//! A step may be interrupted at any instant. Nothing is saved then, or all of it: executing the step again is all that
//! a resume does. Edits of a program that was at work are put aside first (see [`Session::clear_leftovers`]), and a
//! commit that was made but not noted is recognised by the run and attempt in its message.

use std::{num::NonZeroUsize, thread, time::Duration};

use chrono::{TimeDelta, Utc};

use super::{
    ground::{Ground, aside_ref, only, task_ref},
    voice::Voice,
};
use crate::{
    cli::{Stop, local::Shown},
    core::{
        CheckName, Sha, coverage, decide,
        decision::{Decision, Evaluation},
        describe,
        escalation::Trigger,
        evaluate,
        evidence::{CheckEvidence, EVIDENCE_SCHEMA, Environment, Evidence, FileCoverage},
        gather,
        policy::{Phase, Policy},
        reflex::{self, Alias, Breach, Evaluated, FixRecord, Produced, ReflexState, Standing, Turn},
        snapshot::{ChangedFiles, Snapshot},
        state::{LoopState, Step},
    },
    refs::{AttemptFile, Follows, Loaded, LocalRepository, RefsError, Save, StateStore},
    runner::{self, Extent, Head, Interrupt, Plan, Selection},
};

/// A loop that this process runs.
pub(super) struct Session<'g> {
    pub ground: &'g Ground,
    pub alias: Alias,
    pub state: LoopState,
    /// The repository's policy, before the loop's settings.
    pub policy: Policy,
    pub voice: &'g Voice,
    pub interrupt: Interrupt,
    store: StateStore<'g, LocalRepository>,
    loaded: Loaded,
    artifact: String,
    /// The last evaluation, as long as this process made it.
    pub(super) judged: Option<Judged>,
    /// What phase A's checks brought, for phase B on the same head.
    phase_a: Checked,
}

/// The last evaluation of the head.
pub(super) struct Judged {
    pub decision: Decision,
    pub snapshot: Snapshot,
}

/// What a step led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// There is a next step.
    On,
    /// The author has to edit before the loop goes on.
    Waiting,
    Interrupted,
    /// Blocked or over.
    Over,
}

/// What is checked out, as PRODUCE takes it.
pub(super) struct Artifact {
    pub head: Sha,
    pub tree: Sha,
}

const ARTIFACT_LIMIT: usize = 1 << 20;

impl<'g> Session<'g> {
    /// Loads a loop. `state` is that of one that is to be begun.
    pub async fn open(
        ground: &'g Ground,
        alias: &Alias,
        begun: Option<LoopState>,
        voice: &'g Voice,
        interrupt: Interrupt,
    ) -> Result<Self, Stop> {
        let store = ground.store(alias);
        let loaded = store.load().await.map_err(Stop::unavailable)?;
        if loaded.tip.is_none() && begun.is_none() {
            return Err(super::ground::no_such(alias));
        }
        let (mut state, recovered) = match begun {
            Some(state) => (state, None),
            None => loaded.state(|| ground.unknown(alias)),
        };
        if state.reflex.is_none() {
            state.reflex = ground.unknown(alias).reflex;
        }
        if let Some(how) = recovered {
            voice.note(&format!("The state of this loop was damaged: {how}."));
        }
        let policy = ground.policy(settings(&state).config.as_deref())?;
        let artifact = match loaded.tip {
            Some(tip) => read_text(ground, tip, "artifact.md").await?,
            None => String::new(),
        };
        let alias = alias.clone();
        Ok(Self {
            ground,
            alias,
            state,
            policy,
            voice,
            interrupt,
            store,
            loaded,
            artifact,
            judged: None,
            phase_a: Checked::default(),
        })
    }

    /// Executes the current step.
    pub async fn step(&mut self) -> Result<Progress, Stop> {
        if reflex::standing(&self.state) != Standing::Going {
            return Ok(Progress::Over);
        }
        if self.interrupt.is_interrupted() {
            return Ok(Progress::Interrupted);
        }
        self.voice.step(&self.state);
        let progress = match self.state.current_step {
            Step::Plan => self.plan().await?,
            Step::ProducePrepare => self.produce_and_prepare().await?,
            Step::Prepare => self.prepare(None).await?,
            Step::Evaluate => self.evaluate().await?,
            Step::Critique => self.critique().await?,
            Step::Refine => self.refine().await?,
        };
        match progress {
            Progress::On if reflex::standing(&self.state) != Standing::Going => Ok(Progress::Over),
            other => Ok(other),
        }
    }

    /// The policy with this loop's settings.
    pub(super) fn governed(&self) -> Policy {
        reflex::govern(&self.policy, settings(&self.state), self.state.max_iterations)
    }

    async fn plan(&mut self) -> Result<Progress, Stop> {
        let turn = Turn::planned(&self.state, reflex::plan(&self.state), Utc::now());
        self.save_or_break(turn).await
    }

    /// PRODUCE beside PREPARE. PREPARE is a calculation, so that both are done when PRODUCE is.
    async fn produce_and_prepare(&mut self) -> Result<Progress, Stop> {
        if self.state.iteration == 1
            && let Some(command) = settings(&self.state).produce.clone()
            && !self.has_produced()?
        {
            match self.produce(&command).await? {
                Produce::Done => {}
                Produce::Broke(breach) => return self.break_off(breach).await,
                Produce::Interrupted => return Ok(Progress::Interrupted),
            }
        }
        let artifact = self.checked_out()?;
        let document = match self.document() {
            Ok(document) => document,
            Err(breach) => return self.break_off(breach).await,
        };
        let produced = Produced { head: artifact.head, hash: describe::tree_hash(artifact.tree), document };
        if let Some(document) = &produced.document {
            self.artifact.clone_from(document);
        }
        self.prepare(Some(produced)).await
    }

    async fn prepare(&mut self, produced: Option<Produced>) -> Result<Progress, Stop> {
        let policy = self.governed();
        let rules = evaluate::rules(&policy, settings(&self.state).task_type);
        let checks = reflex::prepared_checks(&policy, &rules, self.state.phase);
        let turn = Turn::prepared(&self.state, produced.as_ref(), checks, &policy, Utc::now());
        self.save_or_break(turn).await
    }

    /// What stands for the code now: HEAD where a fixer commits, else the working tree as it is.
    pub(super) fn checked_out(&self) -> Result<Artifact, Stop> {
        let head = self.ground.worktree.head().map_err(Stop::unavailable)?;
        if self.has_fixer() {
            self.ask_for_a_clean_tree(head)?;
            return Ok(Artifact { head: head.commit, tree: head.tree });
        }
        let tree = self.ground.worktree.tree(Extent::Everything).map_err(Stop::unavailable)?;
        if tree == head.tree {
            return Ok(Artifact { head: head.commit, tree });
        }
        let stand_in = self.ground.worktree.stand_in(tree, head).map_err(Stop::unavailable)?;
        Ok(Artifact { head: stand_in, tree })
    }

    /// A fixer's edits become a commit of their own, so nobody else's may lie about.
    pub(super) fn ask_for_a_clean_tree(&self, head: Head) -> Result<(), Stop> {
        let tracked = self.ground.worktree.tree(Extent::Tracked).map_err(Stop::unavailable)?;
        if tracked == head.tree {
            return Ok(());
        }
        let files = self.ground.worktree.differing(head.tree, tracked).map_err(Stop::unavailable)?;
        let named = files.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
        Err(Stop::bad_data(format!(
            "{named} {} changes that are not committed. The fixer's edits become commits of their own: commit yours, \
             or `git stash` them, then go on with `loopgate loop resume {}`.",
            if files.len() == 1 { "has" } else { "have" },
            self.alias
        )))
    }

    /// The document the task is to produce.
    fn document(&self) -> Result<Option<String>, Breach> {
        let Some(path) = &settings(&self.state).document else { return Ok(None) };
        let file = self.ground.root().join(path);
        let length = std::fs::metadata(&file).map(|found| found.len());
        match length {
            Err(_) => Err(Breach(format!("the document {path} is not there"))),
            Ok(0) => Err(Breach(format!("the document {path} is empty"))),
            Ok(length) if length > ARTIFACT_LIMIT as u64 => {
                Err(Breach(format!("the document {path} is larger than 1 MiB")))
            }
            Ok(_) => std::fs::read_to_string(&file)
                .map(Some)
                .map_err(|error| Breach(format!("the document {path} cannot be read: {error}"))),
        }
    }

    async fn evaluate(&mut self) -> Result<Progress, Stop> {
        let policy = self.governed();
        let prepared = only(&policy, &self.state.prepared_checks);
        // Phase B goes on from what phase A's checks brought, if it is this process that ran them.
        let mut known = std::mem::take(&mut self.phase_a);
        if self.state.phase == Phase::A {
            known = Checked::default();
        }
        let Some(checked) = self.run_checks(&prepared, known).await? else {
            return Ok(Progress::Interrupted);
        };
        let snapshot = self.observed(&checked)?;
        if self.state.phase == Phase::A
            && let Some(evaluation) = self.passes_phase_a(&snapshot, &prepared)
        {
            let found = Evaluated::PhaseA(&evaluation);
            let (state, now) = (&self.state, Utc::now());
            let turn = Turn::evaluated(state, found, &checked.checks, &checked.edited, &policy, now);
            let progress = self.save_or_break(turn).await?;
            if self.state.phase == Phase::B {
                self.phase_a = checked;
                self.voice.phase_a(&self.state, &evaluation, &self.alias);
            }
            return Ok(progress);
        }
        let decision = decide(&snapshot, &self.state, &prepared, Utc::now());
        let counted = decision.attempt.is_some() || self.state.attempt_of(self.state.head_sha).is_some();
        if counted {
            return self.judge(decision, snapshot, &checked, &policy).await;
        }
        // Every failure lies outside the code, also after the repetitions.
        let failing = names(checked.checks.iter().filter(|check| check.outcome.is_failure()));
        let notes = vec![format!("{failing} failed for reasons outside the code, again and again.")];
        let turn = Turn::refused(&self.state, &[Trigger::ExternalDependencyDown], notes, &policy, Utc::now());
        self.save(turn, None).await
    }

    async fn judge(
        &mut self,
        decision: Decision,
        snapshot: Snapshot,
        checked: &Checked,
        policy: &Policy,
    ) -> Result<Progress, Stop> {
        let (found, now) = (Evaluated::Head(&decision), Utc::now());
        let mut turn = match Turn::evaluated(&self.state, found, &checked.checks, &checked.edited, policy, now) {
            Ok(turn) => turn,
            Err(breach) => return self.break_off(breach).await,
        };
        if let Some(words) = reflex::fewer_tests(&turn.state, &checked.checks) {
            turn = turn.tampered(words, policy);
        }
        let fix = self.reflex().fixes.last().filter(|fix| fix.iteration + 1 == self.state.iteration);
        let attempt = match &decision.attempt {
            Some(record) => {
                let follows = if self.state.attempts.is_empty() { Follows::Nothing } else { Follows::AFailure };
                Some(AttemptFile::after_fix(record, follows, fix).map_err(Stop::unavailable)?)
            }
            None => None,
        };
        if settings(&self.state).document.is_none() {
            self.artifact = crate::render::loop_report(&turn.state, crate::render::Colour::Off);
        }
        let judged = Judged { decision, snapshot };
        let progress = self.save(turn, attempt).await?;
        self.voice.iteration(&self.state, &judged, &self.alias);
        self.judged = Some(judged);
        Ok(progress)
    }

    /// Runs what is prepared and not known yet. None: interrupted.
    async fn run_checks(&self, policy: &Policy, known: Checked) -> Result<Option<Checked>, Stop> {
        let mut wanted = policy.verify.checks.clone();
        wanted.retain(|name, _| known.checks.iter().all(|check| &check.name != name));
        let parallel = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let root = self.ground.root().to_owned();
        let plan = Plan::new(&wanted, &Selection::All, root, parallel).map_err(Stop::bad_data)?;
        let plan = plan.repeating(policy.retry.external_retry.commands);
        let before = self.ground.worktree.tree(Extent::Tracked).map_err(Stop::unavailable)?;
        let ran = runner::run(&plan, self.interrupt.clone(), self.voice.observer()).await;
        if self.interrupt.is_interrupted() {
            return Ok(None);
        }
        let after = self.ground.worktree.tree(Extent::Tracked).map_err(Stop::unavailable)?;
        let edited = self.ground.worktree.differing(before, after).map_err(Stop::unavailable)?;
        let mut checks: Vec<CheckEvidence> = known.checks.into_iter().chain(ran.checks).collect();
        checks.sort_by_key(|check| policy.verify.checks.get_index_of(&check.name));
        let coverage = match (known.coverage, ran.coverage) {
            (Some(before), Some(more)) => Some(before.into_iter().chain(more).collect()),
            (before, more) => before.or(more),
        };
        Ok(Some(Checked { checks, coverage, edited }))
    }

    /// The evaluation of phase A, if it passes.
    fn passes_phase_a(&self, snapshot: &Snapshot, policy: &Policy) -> Option<Evaluation> {
        let now = Utc::now();
        let evidence = gather::gather(snapshot, policy, &[], |_| now, now);
        let rules = evaluate::rules(policy, settings(&self.state).task_type);
        let evaluation = evaluate::evaluate_phase(&snapshot.files, &evidence, policy, &rules, Phase::A);
        evaluation.passed().then_some(evaluation)
    }

    /// The head with this evidence, as a pull request that nobody has opened.
    fn observed(&self, checked: &Checked) -> Result<Snapshot, Stop> {
        let head = self.state.head_sha;
        let tree = self.ground.worktree.tree_of(head).map_err(Stop::unavailable)?;
        let files = self.change(tree)?;
        let now = Utc::now();
        let evidence = Evidence {
            schema: EVIDENCE_SCHEMA.to_owned(),
            repository: self.state.repository.clone(),
            head_sha: head,
            tree_hash: describe::tree_hash(tree),
            base_sha: Some(self.state.base_sha),
            pull_request: None,
            workflow: None,
            environment: Environment { os: std::env::consts::OS.to_owned(), runtime: None, framework: None },
            started_at: now,
            ended_at: now,
            checks: checked.checks.clone(),
            coverage: checked.coverage.as_ref().map(|reports| coverage::measure(&files, reports)),
            regression_proof: None,
        };
        let shown = Shown { head, tree, base: self.state.base_sha };
        let base = settings(&self.state).base.as_deref();
        Ok(self.ground.snapshot(shown, &self.state.title, base, files, Some(evidence)))
    }

    /// What the loop's branch has changed up to this tree.
    pub(super) fn change(&self, tree: Sha) -> Result<ChangedFiles, Stop> {
        let base = self.ground.worktree.tree_of(self.state.base_sha).map_err(Stop::unavailable)?;
        self.ground.worktree.changes(base, tree).map_err(Stop::unavailable)
    }

    /// The last evaluation: as this process made it, else made again from what the attempt recorded.
    pub(super) async fn judged(&mut self) -> Result<&Judged, Stop> {
        let fits =
            self.judged.as_ref().is_some_and(|judged| judged.snapshot.pull_request.head.sha == self.state.head_sha);
        if !fits {
            let tip = self.loaded.tip.ok_or_else(|| Stop::unavailable("the loop has not been saved yet"))?;
            let number = self.state.attempts.last().map_or(0, |last| last.number);
            let checks = self.store.recorded_checks(tip, number).await.map_err(Stop::unavailable)?;
            let snapshot = self.observed(&Checked { checks, ..Checked::default() })?;
            let policy = only(&self.governed(), &self.state.prepared_checks);
            let decision = decide(&snapshot, &self.state, &policy, Utc::now());
            self.judged = Some(Judged { decision, snapshot });
        }
        self.judged.as_ref().ok_or_else(|| Stop::unavailable("there is no evaluation"))
    }

    async fn critique(&mut self) -> Result<Progress, Stop> {
        let view = &self.judged().await?.decision.view;
        let (items, evaluation) = (reflex::critique(view), view.evaluation.clone());
        let turn = Turn::critiqued(&self.state, &items, &evaluation, Utc::now());
        self.save_or_break(turn).await
    }

    /// Waits; false when interrupted.
    pub(super) async fn rest(&mut self, wait: Duration) -> bool {
        tokio::select! {
            () = tokio::time::sleep(wait) => true,
            () = self.interrupt.interrupted() => false,
        }
    }

    pub(super) async fn save_or_break(&mut self, turn: Result<Turn, Breach>) -> Result<Progress, Stop> {
        match turn {
            Ok(turn) => self.save(turn, None).await,
            Err(breach) => self.break_off(breach).await,
        }
    }

    pub(super) async fn break_off(&mut self, breach: Breach) -> Result<Progress, Stop> {
        self.voice.note(&format!("This step's output is not what it has to be: {breach}."));
        let turn = Turn::broke(&self.state, &breach, Utc::now());
        self.save(turn, None).await
    }

    /// Saves a transition. Should somebody have saved since (a git process that outlived a killed loop), what they
    /// saved counts, and this transition is dropped: the loop goes on from there.
    pub(super) async fn save(&mut self, turn: Turn, attempt: Option<AttemptFile>) -> Result<Progress, Stop> {
        let save =
            Save { state: &turn.state, lines: &turn.lines, attempt, artifact: &self.artifact, subject: &turn.subject };
        match self.store.save(&self.loaded, &save).await {
            Ok(_) => {}
            Err(RefsError::RefMoved { .. }) => self.judged = None,
            Err(error) => return Err(Stop::unavailable(error)),
        }
        self.loaded = self.store.load().await.map_err(Stop::unavailable)?;
        let (state, _) = self.loaded.state(|| turn.state.clone());
        self.state = state;
        if reflex::standing(&self.state) == Standing::Ended {
            self.ground.repository.leave_task(&task_ref(&self.alias)).await.map_err(Stop::unavailable)?;
        }
        Ok(Progress::On)
    }

    pub(super) fn reflex(&self) -> &ReflexState {
        self.state.reflex.as_ref().expect("put in place when the session was opened")
    }

    pub(super) fn aside(&self) -> String {
        aside_ref(&self.alias)
    }
}

/// What running the checks brought.
#[derive(Debug, Default)]
struct Checked {
    checks: Vec<CheckEvidence>,
    coverage: Option<Vec<FileCoverage>>,
    /// Tracked files that differ afterwards.
    edited: Vec<String>,
}

/// What came of the task command.
pub(super) enum Produce {
    Done,
    Broke(Breach),
    Interrupted,
}

pub(super) fn settings(state: &LoopState) -> &reflex::Settings {
    &state.reflex.as_ref().expect("put in place when the session was opened").settings
}

fn names<'a>(checks: impl Iterator<Item = &'a CheckEvidence>) -> String {
    checks.map(|check| check.name.as_str()).collect::<Vec<&str>>().join(", ")
}

async fn read_text(ground: &Ground, tip: Sha, path: &str) -> Result<String, Stop> {
    use crate::refs::GitObjects;
    let bytes = ground.repository.read_file(tip, path, ARTIFACT_LIMIT).await;
    match bytes {
        Ok(bytes) => Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()),
        Err(RefsError::TooLarge { .. }) => Ok(String::new()),
        Err(error) => Err(Stop::unavailable(error)),
    }
}

/// How far a duration of the policy is from now on, for timers.
pub(super) fn std_duration(delta: TimeDelta) -> Duration {
    delta.to_std().unwrap_or(Duration::ZERO)
}

/// Names as the policy has them.
pub(super) fn listed(names: &[CheckName]) -> String {
    names.iter().map(CheckName::as_str).collect::<Vec<_>>().join(", ")
}

/// The record of what a person changed between two iterations.
pub(super) fn by_a_person(iteration: u32, head: Sha, subject: String, files: &ChangedFiles) -> FixRecord {
    let (mut added, mut removed) = (0_u64, 0_u64);
    for file in files.known() {
        added += u64::from(file.additions);
        removed += u64::from(file.deletions);
    }
    FixRecord {
        iteration,
        by: reflex::FixMaker::Person,
        head_sha: head,
        description: subject.clone(),
        subject,
        diff_summary: format!("+{added}/-{removed}"),
        files_modified: files.known().iter().map(|file| file.path.clone()).take(50).collect(),
        outside_scope: Vec::new(),
        cost_usd: None,
    }
}
