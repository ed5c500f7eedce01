//! One turn of the controller: observe, decide, save, act (architecture.md, One turn).
//!
//! Races: a push between observing and acting makes the surface wrong until its own event is reconciled, which is
//! accepted since check runs are bound to the head they were decided for. Two reconciles of one pull request (two
//! servers, a server and a workflow) decide on the same state; the ref lets one of them save, and the other decides
//! again from what is there (`storage` documents what other places of the state promise). The state is saved before
//! anything is shown, so what is shown twice was decided twice. What cannot be taken back (comments, calls) is left for
//! a moment to the process that saved last: see [`RecentMemory`].

mod archive;
pub(in crate::github) mod feedback;
pub(in crate::github) mod group;
pub(in crate::github) mod memory;
mod one_commit;
mod proposed;
mod recent;
pub(in crate::github) mod recorded_loop;
pub(in crate::github) mod request;
pub(in crate::github) mod storage;
mod turn;

use std::{ops::Deref, sync::Arc};

use parking_lot::Mutex;

pub use self::archive::{FoldResult, fold_ended_runs};
use self::{
    proposed::Proposals,
    recent::{Fact, RecentMemory},
    turn::decide,
};
use crate::github::{
    act::{Executor, Problem},
    client::{
        Client, Github, LOOK_AGAIN_AFTER,
        error::{Error, OrAbsent as _},
    },
    observe::{
        Observation, Observer, PullRequestFacts, Target, evidence_memory, looked_heads::LookedHeads,
    },
    reconcile::{
        memory::DebugMemory,
        request::ReconcileRequest,
        storage::{StateArtifact, Storage},
    },
};
use crate::{channels::Channels, proof::Signer};
use loopgate_core::{
    PrNumber, RepoName, RuleId, Score, Sha, Timestamp,
    deciding::{Decision, DecisionWord},
    metrics::RunLine,
    observed::{Lifecycle, ObservationProblem, OwnCheck, Snapshot},
    policy::Policy,
    stage::Stage,
    state::RunStatus,
};
use loopgate_refs::{GitObjects as _, LoadedRun, RefName, RefsError, Retry, Seal, StateStore};
use loopgate_render::{OpenLoop, Subject};

/// Reconciles pull requests of one GitHub. Made once per process.
pub struct Reconcile {
    pub(super) github: Github,
    pub(crate) observer: Observer,
    pub(crate) executor: Executor,
    debug_memory: DebugMemory,
    proposals: Proposals,
    recent: RecentMemory,
    seal: Option<Seal>,
    signer: Option<Signer>,
    /// Keeps states where the configuration chooses it.
    pub artifact: Option<Arc<StateArtifact>>,
    /// The heads that were looked at a moment ago.
    pub(crate) heads: Arc<LookedHeads>,
    /// Whether this process stays after its turn, which a workflow's step does not.
    stays: bool,
}

/// How a turn ended well.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReconcileOutcome {
    /// The next moment at which time alone changes something: an evidence timeout, a gate reminder. It survives a
    /// restart of the server, and the newest answer replaces the ones before it.
    pub revisit_at: Option<Timestamp>,
    pub result: ReconcileResult,
    pub seen: ObservedPull,
    pub entry: LoopEntry,
    /// The next layer of its stack, where the change may concern that one: no event comes for it.
    pub above: Option<PrNumber>,
    /// The run's line, if it was written now.
    pub ended: Option<Box<RunLine>>,
    /// The repository's configuration was found again: all its open pull requests are looked at.
    pub awakened: bool,
    /// The name that the repository has now, where the request named an earlier one: it is looked at by that.
    pub renamed: Option<RepoName>,
}

/// How a pull request stands in the list of open loops after a look.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum LoopEntry {
    Open(Box<OpenLoop>),
    /// It has ended, or Loopgate is not switched on there.
    Over,
    /// As before.
    #[default]
    Unchanged,
}

/// What a look saw. A later list is compared with it, to find whether anything has happened since.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ObservedPull {
    /// Nothing was looked at.
    #[default]
    Unobserved,
    /// An open one. It is final if every check had ended: check results do not change `updated_at`.
    Open {
        updated_at: Timestamp,
        head: Sha,
        is_final: bool,
    },
    /// It has ended, or there is none.
    Ended,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ReconcileResult {
    /// The repository has not switched Loopgate on: nothing was looked at or written.
    Dormant,
    /// There is nothing to loop over: the pull request is gone, or it had ended before Loopgate came.
    #[default]
    Nothing,
    /// The repository is archived: nothing may be written there.
    ReadOnly,
    Decided(Summary),
}

/// A decision in short, for logs and the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    pub word: DecisionWord,
    pub status: RunStatus,
    /// How far the walk through the stages has come, gates included.
    pub stage: Stage,
    pub score: Score,
    pub failed_rules: Vec<RuleId>,
    /// The subject of the state commit: "attempt 2: retry — 1 failed rule (unit)".
    pub subject: String,
    pub run_id: String,
    pub attempt: u32,
    /// The state commit, when something was saved.
    pub saved: Option<Sha>,
    /// Changes made to the pull request.
    pub effects: usize,
    /// What GitHub refused; it is shown on the pull request too.
    pub problems: Vec<Problem>,
    /// Why somebody's rights could not be looked up, if they could not.
    pub unknown_rights: Option<String>,
}

/// A pull request as it was seen, and what would be decided about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Preview {
    pub snapshot: Snapshot,
    pub policy: Policy,
    pub decision: Decision,
}

impl Preview {
    /// What its texts are made from.
    pub const fn subject(&self) -> Subject<'_> {
        Subject::new(&self.decision, &self.snapshot, &self.policy)
    }
}

/// A turn that did not come to its end. What was saved and shown stays; the next turn goes on from there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Failed {
    pub reason: String,
    pub retry: Retry,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self {
            reason: error.to_string(),
            retry: error.retry(),
        }
    }
}

impl From<RefsError> for Failed {
    fn from(error: RefsError) -> Self {
        let retry = match &error {
            RefsError::Fault { retry, .. } => *retry,
            _ => Retry::Later,
        };
        Self {
            reason: error.to_string(),
            retry,
        }
    }
}

/// How a turn ends, or a part of it.
pub(crate) type Result<T, E = Failed> = std::result::Result<T, E>;

/// The states of one pull request, wherever they are kept.
type RunStore<'g> = StateStore<'g, Storage>;

/// Saves tried before the turn is left to the process that keeps saving first.
const MOST_SAVES: usize = 5;

impl Reconcile {
    pub fn new(github: Github) -> Self {
        Self {
            observer: Observer::new(github.clone()),
            recent: RecentMemory {
                since: github.now(),
                pulls: Mutex::default(),
            },
            github,
            executor: Executor::default(),
            debug_memory: DebugMemory::default(),
            proposals: Proposals::default(),
            heads: Arc::default(),
            stays: false,
            seal: None,
            signer: None,
            artifact: None,
        }
    }

    /// Seals the states it saves, and distrusts those that are not sealed.
    pub fn sealing(self, seal: Option<Seal>) -> Self {
        Self { seal, ..self }
    }

    /// Signs a statement about each merge.
    pub fn signing(self, signer: Option<Signer>) -> Self {
        Self { signer, ..self }
    }

    /// This process stays, and looks again at the time it returned: what cannot be taken back may wait for that.
    pub fn staying(mut self) -> Self {
        (self.stays, self.observer.registry.asks_again) = (true, true);
        self
    }

    /// Calls humans on these channels too, as the policy configures.
    pub fn calling(mut self, channels: Channels) -> Self {
        self.executor.channels = channels;
        self
    }

    /// Looks at one pull request, decides, and makes it look as it should.
    ///
    /// GitHub's refusals are shown on the pull request, so a turn that met a new one is followed by another.
    ///
    /// # Errors
    /// [`Failed`] when GitHub does not answer, asks to wait, or shows too little to decide.
    pub async fn run(&self, job: &ReconcileRequest, now: Timestamp) -> Result<ReconcileOutcome> {
        let looks = async {
            let known = self.recent.change(job, |recent| recent.problems.clone());
            let outcome = Box::pin(self.look(job, &known, now)).await?;
            let ReconcileResult::Decided(Summary { problems, .. }) = &outcome.result else {
                return Ok(outcome);
            };
            self.recent
                .change(job, |recent| recent.problems.clone_from(problems));
            if *problems == known {
                return Ok(outcome);
            }
            let again = Box::pin(self.look(job, problems, now)).await?;
            // What was refused a moment ago may be done by now, and is shown all the same.
            let revisit_at = again.revisit_at.into_iter().chain(outcome.revisit_at).min();
            let (above, ended) = (again.above.or(outcome.above), again.ended.or(outcome.ended));
            Ok::<_, Failed>(ReconcileOutcome {
                revisit_at,
                above,
                ended,
                ..again
            })
        };
        let outcome = evidence_memory::shared(Box::pin(looks)).await?;
        Ok(ReconcileOutcome {
            awakened: self.observer.dormant.has_awakened(&job.repository),
            ..outcome
        })
    }

    /// Looks and decides as [`run`](Self::run) does, and leaves everything as it is: nothing is saved or shown. None
    /// where Loopgate is not switched on, or there is no such pull request.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn peek(&self, job: &ReconcileRequest, now: Timestamp) -> Result<Option<Preview>> {
        let turn = self.turn(job, now);
        let Some(TurnStart {
            facts,
            loaded,
            elsewhere,
            ..
        }) = Box::pin(turn.begin()).await?
        else {
            return Ok(None);
        };
        let loaded = elsewhere.map_or(loaded, |(_, held)| held);
        let read = self
            .observer
            .complete(turn.target(), facts, job.hints.clone(), loaded.intact());
        let observation = Box::pin(read).await?;
        let (_, decision) = decide(&observation, &loaded, now);
        Ok(Some(Preview {
            snapshot: observation.snapshot,
            policy: observation.policy,
            decision,
        }))
    }

    /// One turn, begun anew when somebody else saved what they saw of another head meanwhile.
    async fn look(
        &self,
        job: &ReconcileRequest,
        problems: &[Problem],
        now: Timestamp,
    ) -> Result<ReconcileOutcome> {
        for _ in 0..MOST_SAVES {
            let turn = Turn {
                facts: self.recent.facts(job, now),
                ..self.turn(job, now)
            };
            if let Some(outcome) = Box::pin(turn.run(problems)).await? {
                return Ok(outcome);
            }
        }
        Err(Failed {
            reason: "the pull request moved on again and again meanwhile".into(),
            retry: Retry::WhenAnswered,
        })
    }

    fn turn<'a>(&'a self, job: &'a ReconcileRequest, now: Timestamp) -> Turn<'a> {
        let client = self.github.client(job.installation);
        Turn {
            doubts: client.doubts(),
            client,
            reconcile: self,
            job,
            now,
            facts: Vec::new(),
        }
    }

    fn store<'g>(&self, job: &ReconcileRequest, storage: &'g Storage) -> RunStore<'g> {
        let seal = self
            .seal
            .as_ref()
            .map(|seal| seal.of(&job.repository, job.number));
        StateStore::new(storage, RefName::pull_request(job.number)).sealed(seal)
    }
}

impl Turn<'_> {
    /// The facts, and the state from where the configuration has it kept. None where Loopgate is not switched on.
    async fn begin(&self) -> Result<Option<TurnStart>> {
        let (target, job) = (self.target(), self.job);
        let hidden_ref = Storage::Ref(target.repo.objects());
        let Some((facts, in_ref)) = self.facts(&self.store(job, &hidden_ref)).await? else {
            return Ok(None);
        };
        let storage = Storage::of(target, &facts, self.artifact.as_ref());
        let (loaded, other, held) = if storage.is_ref() {
            let comment = Storage::status_comment(target, &facts);
            let held = self.store(job, &comment).load().await?;
            (in_ref, comment, held)
        } else {
            let loaded = self.store(job, &storage).load().await?;
            (loaded, hidden_ref, in_ref)
        };
        let elsewhere = (loaded.tip.is_none() && held.tip.is_some()).then_some((other, held));
        Ok(Some(TurnStart {
            facts,
            storage,
            loaded,
            elsewhere,
            not_moved: None,
        }))
    }

    /// Moves a run that is still kept where the configuration had it before. If that is refused it stays, and the pull
    /// request shows it.
    async fn settle_in(&self, start: &mut TurnStart) -> Result<()> {
        let job = self.job;
        let Some((old, held)) = start.elsewhere.take() else {
            return Ok(());
        };
        if start.facts.pull.pull_request.lifecycle != Lifecycle::Open {
            // Nothing more is written there than has to be.
            (start.storage, start.loaded) = (old, held);
            return Ok(());
        }
        let (Some(tip), Some(state)) = (held.tip, held.intact()) else {
            // What is damaged is recovered from, and saved in the new place.
            start.loaded = LoadedRun { tip: None, ..held };
            return Ok(());
        };
        let store = self.store(job, &start.storage);
        match store.adopt(&self.store(job, &old), tip, state).await {
            Ok(()) | Err(RefsError::RefMoved { .. }) => {
                start.loaded = store.load().await?;
                match old.delete_ref(&RefName::pull_request(job.number)).await {
                    Ok(()) | Err(RefsError::Refused(_)) => Ok(()),
                    Err(error) => Err(error.into()),
                }
            }
            Err(RefsError::Refused(reason)) => {
                let what = "move the saved state to where the configuration has it kept".to_owned();
                start.not_moved = Some(ObservationProblem { what, reason });
                (start.storage, start.loaded) = (old, held);
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The facts and the saved state, side by side where Loopgate may be switched on.
    async fn facts(&self, store: &RunStore<'_>) -> Result<Option<(PullRequestFacts, LoadedRun)>> {
        let job = self.job;
        let facts = async {
            Ok::<_, Failed>(
                self.observer
                    .facts(self.target())
                    .await
                    .or_absent()?
                    .flatten(),
            )
        };
        let load = async { store.load().await.map_err(Failed::from) };
        if self.observer.dormant.is_dormant(&job.repository) {
            let Some(facts) = facts.await? else {
                return Ok(None);
            };
            return Ok(Some((facts, load.await?)));
        }
        let (facts, loaded) = futures::try_join!(facts, load)?;
        if loaded.tip.is_some() {
            self.observer
                .dormant
                .note_state(&job.repository, job.number);
        }
        Ok(facts.map(|facts| (facts, loaded)))
    }

    /// The rest of the observation, while a head that has no verdict of ours is given a check run for it: the first
    /// thing people see of us.
    async fn observe(&self, facts: PullRequestFacts, loaded: &LoadedRun) -> Result<Observation> {
        let target = self.target();
        let pull_request = &facts.pull.pull_request;
        let open = pull_request.lifecycle == Lifecycle::Open;
        let head = pull_request.head.sha;
        let (us, present) = (facts.us.clone(), facts.check_runs());
        let verify = OwnCheck::Verify.name(&pull_request.base.scope);
        let is_missing = open && present.iter().all(|run| run.name != verify);
        let begin = async {
            match is_missing {
                true => {
                    self.executor
                        .begin_verify(target.repo, head, verify, &us)
                        .await
                }
                false => Ok(None),
            }
        };
        let complete =
            self.observer
                .complete(target, facts, self.job.hints.clone(), loaded.intact());
        let (begun, mut observation) = futures::try_join!(begin, complete)?;
        observation.surface.check_runs.extend(begun);
        Ok(observation)
    }
}

/// One turn of one pull request.
struct Turn<'a> {
    reconcile: &'a Reconcile,
    client: Client,
    job: &'a ReconcileRequest,
    now: Timestamp,
    /// Refusals and absences in doubt when it began.
    doubts: u64,
    /// What events stated.
    facts: Vec<Fact>,
}

impl Deref for Turn<'_> {
    type Target = Reconcile;
    fn deref(&self) -> &Reconcile {
        self.reconcile
    }
}

impl Turn<'_> {
    fn target(&self) -> Target<'_> {
        Target {
            repo: self.client.repo(&self.job.repository),
            number: self.job.number,
        }
    }

    /// Whether something was refused, or found absent, for the first time since it began. A process of one turn has no
    /// later turn, so it believes what it reads.
    fn is_in_doubt(&self) -> bool {
        self.stays && self.client.doubts() > self.doubts
    }

    /// When it is repeated because of a doubt.
    fn doubted_again_at(&self) -> Option<Timestamp> {
        self.is_in_doubt().then(|| self.now + LOOK_AGAIN_AFTER)
    }
}

/// What a turn begins with.
struct TurnStart {
    facts: PullRequestFacts,
    /// Where the state is kept, and what is there.
    storage: Storage,
    loaded: LoadedRun,
    /// Where the run still is, if it has to move.
    elsewhere: Option<(Storage, LoadedRun)>,
    /// Why it is not kept where the configuration has it.
    not_moved: Option<ObservationProblem>,
}
