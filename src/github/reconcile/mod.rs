//! One turn of the controller: observe, decide, save, act (house.md, Idea).
//!
//! Races: a push between observing and acting makes the surface wrong until its own event is reconciled, which is
//! accepted since check runs are bound to the head they were decided for. Two reconciles of one pull request (two
//! servers, a server and a workflow) decide on the same state; the ref lets one of them save, and the other decides
//! again from what is there. The state is saved before anything is shown, so what is shown twice was decided twice. What
//! cannot be taken back (comments, calls) is left for a moment to whoever saved just now: see [`Rival`].

mod problems;
mod rival;

use chrono::TimeDelta;

use self::{
    problems::ProblemMemory,
    rival::{Rival, SaveMemory},
};
use super::{
    Client, Error, ErrorKind, Executor, Github, GithubObjects, Ground, Observation, Observer, OwnCheckRun, Problem,
    Target, observe::escalation_template, plan,
};
use crate::{
    channels::Channels,
    core::{
        self, InstallationId, PrNumber, RepoName, RuleId, Score, Sha, Timestamp,
        decision::{Decision, DecisionWord, Post, Reviewer, Surface},
        hint::Hint,
        policy::Policy,
        snapshot::{Lifecycle, ObservationProblem, Snapshot},
        stage::Stage,
        state::{LoopState, RunStatus, VerificationResult},
    },
    refs::{self, AttemptFile, Follows, Loaded, RefName, RefsError, Save, Seal, StateStore},
    render::{self, OwnTemplates, Rendered},
};

/// Reconciles pull requests of one GitHub. Made once per process.
pub struct Reconcile {
    pub(super) github: Github,
    pub(super) observer: Observer,
    pub(super) executor: Executor,
    problems: ProblemMemory,
    saves: SaveMemory,
    seal: Option<Seal>,
}

/// A pull request to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// None where a plain token is used.
    pub installation: Option<InstallationId>,
    pub repository: RepoName,
    pub number: PrNumber,
    /// What only events tell.
    pub hints: Vec<Hint>,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The next moment at which time alone changes something.
    pub revisit_at: Option<Timestamp>,
    pub result: Settled,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// The repository has not switched Loopgate on: nothing was looked at or written.
    Dormant,
    /// There is nothing to loop over: the pull request is gone, or it had ended before Loopgate came.
    Nothing,
    /// The run had ended a fortnight ago; its state was moved to the archive.
    Archived,
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
    /// What GitHub refused; it is told on the pull request too.
    pub problems: Vec<Problem>,
}

/// A pull request as it was seen, and what would be decided about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Looked {
    pub snapshot: Snapshot,
    pub policy: Policy,
    pub decision: Decision,
}

/// A turn that did not come to its end. What was saved and shown stays; the next turn goes on from there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Failed {
    pub reason: String,
    /// Not before this moment, where GitHub named one.
    pub retry_at: Option<Timestamp>,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        let retry_at = match error.kind() {
            ErrorKind::Refusal => None,
            ErrorKind::Fault { retry_at } => retry_at,
            ErrorKind::Wait { until } => Some(until),
        };
        Self { reason: error.to_string(), retry_at }
    }
}

impl From<RefsError> for Failed {
    fn from(error: RefsError) -> Self {
        let retry_at = match &error {
            RefsError::Fault { retry_at, .. } => *retry_at,
            _ => None,
        };
        Self { reason: error.to_string(), retry_at }
    }
}

/// Saves tried before the turn is given up to whoever keeps being faster.
const MOST_SAVES: usize = 5;
/// How long an answer of the API may be older than an event, and when it is asked again.
const LAG_TOLERATED: TimeDelta = TimeDelta::minutes(2);
const LOOK_AGAIN_AFTER: TimeDelta = TimeDelta::seconds(15);
/// How long the state of an ended run stays where it is (loop.md, State).
const ARCHIVED_AFTER: TimeDelta = TimeDelta::days(14);

impl Reconcile {
    pub fn new(github: Github) -> Self {
        Self {
            observer: Observer::new(github.clone()),
            saves: SaveMemory::since(github.now()),
            github,
            executor: Executor::default(),
            problems: ProblemMemory::default(),
            seal: None,
        }
    }

    /// Seals the states it saves, and distrusts those that are not sealed.
    pub fn sealing(self, seal: Option<Seal>) -> Self {
        Self { seal, ..self }
    }

    /// Forgets what was believed of people, teams and organisations for a while, since it has changed.
    pub fn forget(&self) {
        self.observer.forget();
    }

    /// Calls humans on these channels too, as the policy says.
    pub fn calling(self, channels: Channels) -> Self {
        Self { executor: self.executor.calling(channels), ..self }
    }

    /// Looks at one pull request, decides, and makes it look as it should.
    ///
    /// What GitHub refused is told on the pull request, so a turn that met something new is followed by another.
    ///
    /// # Errors
    /// [`Failed`] when GitHub does not answer, asks to wait, or shows too little to decide.
    pub async fn run(&self, job: &Job, now: Timestamp) -> Result<Outcome, Failed> {
        let known = self.problems.of(job);
        let outcome = Box::pin(self.look(job, &known, now)).await?;
        match &outcome.result {
            Settled::Decided(summary) if self.problems.remember(job, &summary.problems) != known => {
                Box::pin(self.look(job, &summary.problems, now)).await
            }
            _ => Ok(outcome),
        }
    }

    /// Looks and decides as [`run`](Self::run) does, and leaves everything as it is: nothing is saved or shown. None
    /// where Loopgate is not switched on, or there is no such pull request.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn peek(&self, job: &Job, now: Timestamp) -> Result<Option<Looked>, Failed> {
        let client = self.github.client(job.installation);
        let objects = GithubObjects::new(client.clone(), job.repository.clone());
        let seal = self.seal.as_ref().map(|seal| seal.of(&job.repository, job.number));
        let store = StateStore::new(&objects, RefName::pull_request(job.number)).sealed(seal);
        let Some((ground, loaded)) = Box::pin(self.ground(&client, job, &store)).await? else { return Ok(None) };
        let target = Target { repository: &job.repository, number: job.number };
        let read = self.observer.complete(&client, target, ground, job.hints.clone(), loaded.intact());
        let observation = Box::pin(read).await?;
        let (_, decision) = decide(&observation, &loaded, now);
        Ok(Some(Looked { snapshot: observation.snapshot, policy: observation.policy, decision }))
    }

    /// One turn, begun anew when somebody else saved what they saw of another head meanwhile.
    async fn look(&self, job: &Job, problems: &[Problem], now: Timestamp) -> Result<Outcome, Failed> {
        for _ in 0..MOST_SAVES {
            if let Some(outcome) = Box::pin(self.turn(job, problems, now)).await? {
                return Ok(outcome);
            }
        }
        Err(Failed { reason: "the pull request moved on again and again meanwhile".into(), retry_at: None })
    }

    async fn turn(&self, job: &Job, problems: &[Problem], now: Timestamp) -> Result<Option<Outcome>, Failed> {
        let client = self.github.client(job.installation);
        let objects = GithubObjects::new(client.clone(), job.repository.clone());
        let seal = self.seal.as_ref().map(|seal| seal.of(&job.repository, job.number));
        let store = StateStore::new(&objects, RefName::pull_request(job.number)).sealed(seal);
        let Some((ground, loaded)) = Box::pin(self.ground(&client, job, &store)).await? else {
            return Ok(Some(nothing(Settled::Dormant)));
        };
        let Some(loaded) = find_archived(job, &ground, loaded, &store, &objects, now).await? else {
            return Ok(Some(nothing(Settled::Nothing)));
        };
        let open = ground.pull_request().lifecycle == Lifecycle::Open;
        if let (false, Some(tip), Some(state)) = (open, loaded.tip, loaded.intact())
            && now >= state.updated_at + ARCHIVED_AFTER
        {
            store.move_to(&RefName::archive(job.number), tip).await?;
            return Ok(Some(nothing(Settled::Archived)));
        }
        let mut observation = Box::pin(self.observe(&client, job, ground, &loaded)).await?;
        let told = problems
            .iter()
            .map(|Problem { what, reason }| ObservationProblem { what: what.clone(), reason: reason.clone() });
        observation.snapshot.problems.extend(told);

        let rival = self.saves.rival(job, &loaded, now);
        let decided = Box::pin(self.decide_and_save(&client, &observation, loaded, &store, now)).await?;
        let Some(Decided { decision, texts, saved, refused, outrun }) = decided else { return Ok(None) };
        self.saves.remember(job, saved);
        let rival = outrun.or(rival);
        let mut effects = plan(&observation.surface, &decision.surface, &texts);
        let post_at = rival.and_then(|rival| rival.left_to_them(&mut effects));
        let executed = Box::pin(self.executor.execute(&client, &observation.surface, &effects)).await?;
        let archive_at = (!open).then(|| decision.next.updated_at + ARCHIVED_AFTER);
        let revisit_at = decision
            .revisit_at
            .into_iter()
            .chain(archive_at)
            .chain(lagging(job, &observation, now))
            .chain(post_at)
            .min();
        let summary = Summary {
            word: decision.action.word(),
            status: decision.next.status,
            stage: decision.next.state,
            score: decision.view.evaluation.score,
            failed_rules: decision.view.evaluation.failed_rules(),
            subject: refs::subject(&decision),
            run_id: decision.next.run_id.clone(),
            attempt: decision.view.attempt,
            saved,
            effects: executed.done,
            problems: refused.into_iter().chain(executed.problems).collect(),
        };
        Ok(Some(Outcome { revisit_at, result: Settled::Decided(summary) }))
    }

    /// The ground and the saved state, side by side where Loopgate may be switched on.
    async fn ground(
        &self,
        client: &Client,
        job: &Job,
        store: &StateStore<'_, GithubObjects>,
    ) -> Result<Option<(Ground, Loaded)>, Failed> {
        let target = Target { repository: &job.repository, number: job.number };
        let ground = async {
            match self.observer.ground(client, target).await {
                Err(Error::NotFound { .. }) => Ok(None),
                read => read.map_err(Failed::from),
            }
        };
        let load = async { store.load().await.map_err(Failed::from) };
        if self.observer.is_dormant(&job.repository) {
            let Some(ground) = ground.await? else { return Ok(None) };
            return Ok(Some((ground, load.await?)));
        }
        let (ground, loaded) = futures::try_join!(ground, load)?;
        Ok(ground.map(|ground| (ground, loaded)))
    }

    /// The rest of the observation, while a head that has no check runs of ours is given them: the first thing people
    /// see of us.
    async fn observe(
        &self,
        client: &Client,
        job: &Job,
        ground: Ground,
        loaded: &Loaded,
    ) -> Result<Observation, Failed> {
        let target = Target { repository: &job.repository, number: job.number };
        let pull_request = ground.pull_request();
        let (open, head) = (pull_request.lifecycle == Lifecycle::Open, pull_request.head.sha);
        let (us, present) = (ground.us().clone(), ground.check_runs().to_vec());
        let begin = async {
            if open {
                self.executor.begin_check_runs(client, &job.repository, head, (&us, &present)).await
            } else {
                Ok(Vec::<OwnCheckRun>::new())
            }
        };
        let complete = self.observer.complete(client, target, ground, job.hints.clone(), loaded.intact());
        let (begun, mut observation) = futures::try_join!(begin, complete)?;
        observation.surface.check_runs.extend(begun);
        Ok(observation)
    }

    /// Decides and saves, again from the newer state as long as somebody else saves first. None when what was observed
    /// is not what they saw: then it must be observed again.
    async fn decide_and_save(
        &self,
        client: &Client,
        observation: &Observation,
        mut loaded: Loaded,
        store: &StateStore<'_, GithubObjects>,
        now: Timestamp,
    ) -> Result<Option<Decided>, Failed> {
        let mut outrun = None;
        for _ in 0..MOST_SAVES {
            let (state, mut decision) = decide(observation, &loaded, now);
            let mut texts = texts(client, observation, &decision).await?;
            if observation.snapshot.app.is_actions() {
                leave_out_what_nobody_hears(&mut decision.surface, &mut texts);
            }
            let follows = match &state.last_verification {
                Some(last) if last.result == VerificationResult::Fail => Follows::AFailure,
                _ => Follows::Nothing,
            };
            let attempt = decision.attempt.as_ref().map(|record| AttemptFile::of(record, follows)).transpose()?;
            let subject = refs::subject(&decision);
            let save = Save {
                state: &decision.next,
                lines: &decision.events,
                attempt,
                artifact: &texts.artifact,
                subject: &subject,
            };
            let (saved, refused) = match store.save(&loaded, &save).await {
                Ok(saved) => (saved, None),
                Err(RefsError::RefMoved { .. }) => {
                    loaded = store.load().await?;
                    outrun = Some(Rival { saved_at: now });
                    // Who was faster may have seen another head. Deciding on the older of the two would count it as
                    // one that came back.
                    let head = observation.snapshot.pull_request.head.sha;
                    if loaded.intact().is_some_and(|state| state.head_sha != head) {
                        return Ok(None);
                    }
                    continue;
                }
                // Without a saved state attempts are not counted, but people must be told why: so this goes on.
                Err(RefsError::Refused(reason)) => (None, Some(Problem { what: "save the state".into(), reason })),
                Err(error) => return Err(error.into()),
            };
            return Ok(Some(Decided { decision, texts, saved, refused, outrun }));
        }
        Err(Failed { reason: "the state was saved by others again and again meanwhile".into(), retry_at: None })
    }
}

/// The decision, and the state it was made on. A recovery is told like anything else that is not as it should be.
fn decide(observation: &Observation, loaded: &Loaded, now: Timestamp) -> (LoopState, Decision) {
    let Observation { snapshot, policy, .. } = observation;
    let begin = || {
        // A run whose record is gone left its traces: it is said, and the numbers go on.
        match observation.surface.traces(snapshot.pull_request.created_at).lost_record() {
            Some(lost) => LoopState::begin_after(lost, snapshot, policy, now),
            None => LoopState::begin(snapshot, policy, now),
        }
    };
    let (state, recovered) = loaded.state(begin);
    let decision = match recovered {
        None => core::decide(snapshot, &state, policy, now),
        Some(how) => {
            let mut snapshot = snapshot.clone();
            snapshot.problems.push(ObservationProblem { what: "the saved state".to_owned(), reason: how });
            core::decide(&snapshot, &state, policy, now)
        }
    };
    (state, decision)
}

/// With a workflow's own token no button would ever be answered (check runs of GitHub Actions start no workflow), and no
/// team can be asked for a review (surfaces.md, The Action). The commands say the same as the buttons.
fn leave_out_what_nobody_hears(surface: &mut Surface, texts: &mut Rendered) {
    texts.verify.actions.clear();
    texts.gates.actions.clear();
    surface.request.retain(|reviewer| matches!(reviewer, Reviewer::User(_)));
}

/// A decision that is saved, or could not be.
struct Decided {
    decision: Decision,
    texts: Rendered,
    saved: Option<Sha>,
    refused: Option<Problem>,
    /// Somebody else saved while this was decided.
    outrun: Option<Rival>,
}

/// When to look again because an event told of a head that the API does not show (gates.md, What an approval is bound
/// to): it may lag behind. What was decided meanwhile is bound to the head that was observed, so nothing opens early.
fn lagging(job: &Job, observation: &Observation, now: Timestamp) -> Option<Timestamp> {
    let newest = job.hints.iter().rev().find_map(|hint| match hint {
        Hint::HeadSeen { sha, at } => Some((*sha, *at)),
        _ => None,
    });
    let (told, at) = newest?;
    let unseen = told != observation.snapshot.pull_request.head.sha && now < at + LAG_TOLERATED;
    unseen.then(|| now + LOOK_AGAIN_AFTER)
}

const fn nothing(result: Settled) -> Outcome {
    Outcome { revisit_at: None, result }
}

/// The texts of a decision; a repository's own escalation report is read only when one is about to be posted.
async fn texts(client: &Client, observation: &Observation, decision: &Decision) -> Result<Rendered, Failed> {
    let Observation { snapshot, base_head, policy, surface } = observation;
    let is_new = |post: &Post| matches!(post, Post::Escalation { .. }) && !surface.posts.contains(&post.key());
    let own = if decision.surface.posts.iter().any(is_new) {
        escalation_template(client, &snapshot.repository, *base_head).await?
    } else {
        None
    };
    let own = OwnTemplates { escalation: own.as_deref() };
    Ok(render::pull_request_with(decision, snapshot, policy, own))
}

/// Looks in the archive where a pull request has no state although it could have had one: a run comes back when its
/// pull request is reopened, and what ended before Loopgate came, or is archived, is left alone.
async fn find_archived(
    job: &Job,
    ground: &Ground,
    loaded: Loaded,
    store: &StateStore<'_, GithubObjects>,
    objects: &GithubObjects,
    now: Timestamp,
) -> Result<Option<Loaded>, Failed> {
    let pull_request = ground.pull_request();
    let open = pull_request.lifecycle == Lifecycle::Open;
    if loaded.tip.is_some() || (open && now < pull_request.created_at + ARCHIVED_AFTER) {
        return Ok(Some(loaded));
    }
    let archived = StateStore::new(objects, RefName::archive(job.number));
    let Some(tip) = archived.load().await?.tip else {
        let merged_lately = match &pull_request.lifecycle {
            Lifecycle::Merged { at: Some(at), .. } => now < *at + ARCHIVED_AFTER,
            _ => false,
        };
        return Ok((open || merged_lately).then_some(loaded));
    };
    if !open {
        return Ok(None);
    }
    archived.move_to(&RefName::pull_request(job.number), tip).await?;
    Ok(Some(store.load().await?))
}
