//! Turns the dirty set into calls of the [`Reconciler`].
//!
//! One task owns the dirty set and does nothing that waits: it starts jobs, gets their outcomes, and gets the new
//! rows. A job reads its target's row, calls the reconciler, and hands the outcome to the inbox; only after that commit
//! does the target leave the queue. If the process dies in between, the row is still there and the call is repeated.

use std::{collections::HashSet, panic::AssertUnwindSafe, sync::Arc};

use chrono::TimeDelta;
use futures::FutureExt as _;
use parking_lot::Mutex;
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
};
use tracing::Instrument as _;

use super::{
    Arrival, Change, ChangeOutcome, DirtySet, JobEnd, Key, PullRequest, Reconciler, Services,
    Start, TargetWork, Trouble, Unresolved, WorkEnd,
};
use crate::github::{
    Failed, HeadDeliveries, LookedHeads, ReconcileOutcome, ReconcileRequest, WorkClass, fenced,
    serving,
};
use loopgate_core::{InstallationId, PrNumber, RepoName, Timestamp, observed::Hint};
use loopgate_refs::Retry;
use loopgate_webhook::Target;

/// Failures in a row after which a target is given up (architecture.md, The path of a delivery).
const GIVE_UP_AFTER: u32 = 10;

/// The first pause after a failure; each further one is three times as long.
const FIRST_PAUSE: TimeDelta = TimeDelta::seconds(2);

/// No pause is longer. Ten failures in a row take about two hours.
const LONGEST_PAUSE: TimeDelta = TimeDelta::hours(1);

/// The longest pause while GitHub does not answer: what waits for it goes on within a minute of the outage's end.
const OUTAGE_PAUSE: TimeDelta = TimeDelta::seconds(45);

/// What GitHub has not answered for so long is given up: no outage lasts as long, so it is about this very target.
const LONGEST_OUTAGE: TimeDelta = TimeDelta::days(1);

/// Work that the process did not survive so many times is given up.
const CRASHES: u32 = 3;

/// When the storage did not take an outcome.
const STORAGE_PAUSE: TimeDelta = TimeDelta::seconds(5);

/// The pause after a notification of other processes: all that they announce meanwhile is found at once.
const NOTIFIED_PAUSE: TimeDelta = TimeDelta::milliseconds(100);

/// How often old ids and dead letters are forgotten.
const PRUNE_EVERY: TimeDelta = TimeDelta::minutes(10);

/// Reasons are for people; a longer one is cut.
const REASON_CHARS: usize = 500;

/// What all jobs share.
pub(super) struct Shared<R> {
    pub services: Services,
    pub reconciler: Arc<R>,
    pub rng: Mutex<fastrand::Rng>,
    /// None where another process may know more of them.
    pub heads: Option<Arc<LookedHeads>>,
    /// Held by the one job whose work was under way when the process last died.
    pub suspects: tokio::sync::Mutex<()>,
}

pub(super) struct Worker<R> {
    shared: Arc<Shared<R>>,
    dirty: DirtySet,
    jobs: JoinSet<Report<R>>,
    next_wakeup: Option<Timestamp>,
    next_prune: Timestamp,
    /// When to ask for what other processes stored or left; `None` where there are none.
    next_poll: Option<Timestamp>,
    is_polling: bool,
    waiting: Vec<(Rest, oneshot::Sender<()>)>,
}

/// What somebody waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    /// Nothing is queued, running or waiting for a retry.
    Settled,
    /// Nothing runs, and nothing begins before time goes on or something arrives.
    Idle,
}

/// The messages to the worker.
pub(super) struct Mailbox {
    pub arrivals: mpsc::Receiver<Vec<Arrival>>,
    /// Each is answered once it is so.
    pub asked: mpsc::Receiver<(Rest, oneshot::Sender<()>)>,
    /// Fires when the server stops: what runs may go on until the time given.
    pub stop: oneshot::Receiver<Timestamp>,
}

/// What the worker does when one of its tasks has ended.
type Report<R> = Box<dyn FnOnce(&mut Worker<R>) + Send>;

impl<R: Reconciler> Worker<R> {
    pub fn new(shared: Shared<R>, mut dirty: DirtySet, unfinished: Vec<InstallationId>) -> Self {
        for installation in unfinished {
            dirty.found(installation);
        }
        let now = shared.services.clock.now();
        let next_poll = shared.services.store.poll_every().map(|every| now + every);
        Self {
            shared: Arc::new(shared),
            dirty,
            jobs: JoinSet::new(),
            // Asks at once what is due.
            next_wakeup: Some(now),
            next_prune: now + PRUNE_EVERY,
            next_poll,
            is_polling: false,
            waiting: Vec::new(),
        }
    }

    /// Works until `stop` fires. Returns how many jobs were still running at the end of the time given; their rows
    /// stay.
    pub async fn run(mut self, mut mailbox: Mailbox) -> usize {
        let deadline = loop {
            self.start();
            self.answer_waiting();
            let alarm = self.next_alarm();
            let Services { clock, store, .. } = self.shared.services.clone();
            tokio::select! {
                Some(arrivals) = mailbox.arrivals.recv() => arrivals.into_iter().for_each(|it| self.dirty.arrived(it)),
                // After the arrivals that the job caused, or nothing would seem left to do for a moment.
                Some(ended) = self.jobs.join_next() => {
                    self.catch_up(&mut mailbox.arrivals);
                    match ended {
                        Ok(report) => report(&mut self),
                        // The reconciler's panics are caught in the job. A panic of our own is a defect, so it is not
                        // hidden.
                        Err(error) => tracing::error!(%error, "a task of the worker was lost"),
                    }
                }
                // After the arrivals that were there before the question.
                Some(asked) = mailbox.asked.recv() => {
                    self.catch_up(&mut mailbox.arrivals);
                    self.waiting.push(asked);
                }
                () = clock.sleep_until(alarm) => self.wake(),
                () = store.notified() => self.next_poll = earlier(self.next_poll, Some(clock.now() + NOTIFIED_PAUSE)),
                deadline = &mut mailbox.stop => break deadline.ok(),
            }
        };
        // From here on the writer waits for no queue: rows it announces are found at the next start.
        drop(mailbox);
        let clock = self.shared.services.clock.clone();
        let deadline = deadline.unwrap_or_else(|| clock.now());
        let all_ended = async { while self.jobs.join_next().await.is_some() {} };
        tokio::select! {
            () = all_ended => 0,
            () = clock.sleep_until(deadline) => {
                let released = self.jobs.len();
                self.jobs.shutdown().await;
                released
            }
        }
    }

    fn start(&mut self) {
        for (installation, class, after, limit) in self.dirty.wants_pages() {
            let store = self.shared.services.store.clone();
            self.jobs.spawn(async move {
                let page = store
                    .page((installation, class), after.as_ref(), limit)
                    .await;
                let page = page
                    .inspect_err(|error| tracing::error!(%error, "the inbox cannot be read"))
                    .ok();
                Box::new(move |worker: &mut Self| {
                    worker.dirty.paged(
                        installation,
                        class,
                        page,
                        worker.shared.services.clock.now(),
                    );
                }) as Report<R>
            });
        }
        while let Some(start) = self.dirty.start() {
            let shared = self.shared.clone();
            self.jobs.spawn(async move {
                let (ended, wakeup) = shared.job(&start).await;
                Box::new(move |worker: &mut Self| {
                    worker.dirty.ended(start.key, ended);
                    worker.next_wakeup = earlier(worker.next_wakeup, wakeup);
                }) as Report<R>
            });
        }
        self.shared.services.metrics.queued.set(self.dirty.queued());
        self.shared.services.metrics.running.set(self.dirty.running);
    }

    fn answer_waiting(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let is_settled = self.dirty.is_settled();
        let is_idle = self.jobs.is_empty() && self.next_alarm() > self.shared.services.clock.now();
        let is_so = |rest: Rest| {
            if rest == Rest::Settled {
                is_settled
            } else {
                is_idle
            }
        };
        for (_, waiting) in self.waiting.extract_if(.., |(rest, _)| is_so(*rest)) {
            waiting.send(()).ok();
        }
    }

    fn next_alarm(&self) -> Timestamp {
        let poll = self.next_poll.filter(|_| !self.is_polling);
        let alarms = [
            self.dirty.next_alarm(),
            self.next_wakeup,
            Some(self.next_prune),
            poll,
        ];
        alarms
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(self.next_prune)
    }

    fn catch_up(&mut self, waiting: &mut mpsc::Receiver<Vec<Arrival>>) {
        while let Ok(arrivals) = waiting.try_recv() {
            arrivals.into_iter().for_each(|it| self.dirty.arrived(it));
        }
    }

    fn wake(&mut self) {
        let now = self.shared.services.clock.now();
        self.dirty.wake(now);
        if self.next_wakeup.is_some_and(|due| due <= now) {
            self.next_wakeup = None;
            let shared = self.shared.clone();
            self.jobs.spawn(async move {
                let next = shared.take_due(now).await;
                Box::new(move |worker: &mut Self| {
                    worker.next_wakeup = earlier(worker.next_wakeup, next)
                }) as Report<R>
            });
        }
        if !self.is_polling && self.next_poll.is_some_and(|due| due <= now) {
            self.is_polling = true;
            self.next_poll = self
                .shared
                .services
                .store
                .poll_every()
                .map(|every| now + every);
            // What another process was to be woken for may be due.
            self.next_wakeup = Some(now);
            let shared = self.shared.clone();
            self.jobs.spawn(async move {
                let found = shared.services.store.installations(now).await;
                let found =
                    found.inspect_err(|error| tracing::error!(%error, "the inbox cannot be read"));
                Box::new(move |worker: &mut Self| {
                    worker.is_polling = false;
                    found
                        .into_iter()
                        .flatten()
                        .for_each(|installation| worker.dirty.found(installation));
                }) as Report<R>
            });
        }
        if self.next_prune <= now {
            self.next_prune = now + PRUNE_EVERY;
            let shared = self.shared.clone();
            self.jobs.spawn(async move {
                while let Ok(ChangeOutcome::Rows(1..)) =
                    shared.services.inbox.apply(Change::Prune(now)).await
                {}
                Box::new(|_: &mut Self| ()) as Report<R>
            });
        }
    }
}

impl<R: Reconciler> Shared<R> {
    /// Turns due wake-ups into rows. Returns when to do so next.
    async fn take_due(&self, now: Timestamp) -> Option<Timestamp> {
        let soon = Some(now + STORAGE_PAUSE);
        loop {
            match self.services.store.next_wakeup().await {
                Ok(Some(due)) if due <= now => {
                    if self.services.inbox.apply(Change::Wake(now)).await.is_err() {
                        return soon;
                    }
                }
                Ok(next) => return next,
                Err(error) => {
                    tracing::error!(%error, "wake-ups cannot be read");
                    return soon;
                }
            }
        }
    }

    /// How it ended for the queue, and when to look again if nothing happens before.
    async fn job(&self, start: &Start) -> (JobEnd, Option<Timestamp>) {
        let key = &start.key;
        match self.services.store.load(key).await {
            Ok(Some(loaded)) => {
                // Every line that is logged within names the delivery and the pull request of the work.
                let span = tracing::info_span!(
                    "reconcile",
                    delivery = loaded.origin.delivery,
                    event = loaded.origin.event,
                    installation = key.installation.get(),
                    repository = key.target.repository().map(tracing::field::display),
                    pull_request = job_of(key, &loaded).map(|job| job.number.get())
                );
                self.work(start, loaded).instrument(span).await
            }
            // Done already, by a job that read these rows before their announcement came.
            Ok(None) => (JobEnd::Done(start.newest), None),
            Err(error) => {
                tracing::error!(%error, "the inbox cannot be read");
                (
                    JobEnd::Retry(self.services.clock.now() + STORAGE_PAUSE),
                    None,
                )
            }
        }
    }

    async fn work(
        &self,
        Start {
            key,
            newest,
            served,
        }: &Start,
        loaded: TargetWork,
    ) -> (JobEnd, Option<Timestamp>) {
        let Services {
            store,
            inbox,
            clock,
            ..
        } = &self.services;
        // Work that was under way when the process died may have killed it. Such work runs one at a time, so that the
        // next death has one suspect.
        let _alone = if loaded.begun > 0 {
            Some(self.suspects.lock().await)
        } else {
            None
        };
        let now = clock.now();
        let loaded = match inbox.apply(Change::Begin(key.clone(), now)).await {
            Ok(ChangeOutcome::Begun(Some(begun))) => *begun,
            // Another process does it, or has done it.
            Ok(_) => return (JobEnd::Done(*newest), None),
            Err(_) => return (JobEnd::Retry(now + STORAGE_PAUSE), None),
        };
        let covered = loaded.covered;
        let fence = store.fence(Some((key, covered)));
        let is_fatal = loaded.begun >= CRASHES;
        let (how, ended) = if is_fatal {
            let now = clock.now();
            let reason = format!(
                "the server ended {} times while it worked on this",
                loaded.begun
            );
            let failing_since = loaded.failing_since.unwrap_or(now);
            self.given_up(
                Trouble {
                    failures: loaded.failures,
                    failing_since,
                    reason,
                    retry_at: now,
                },
                &loaded,
            )
        } else {
            let call = self.call(key, served.class(), &loaded);
            match fenced(Some(fence.clone()), serving(served.clone(), call)).await {
                Ok(how) => (how, JobEnd::Done(covered.up_to)),
                Err(failed) => self.failed(failed, &loaded),
            }
        };
        // What else is to be looked at after a look: the next layer of the stack, all of a repository whose
        // configuration was found again, and what goes by another name now.
        let mut also = Vec::new();
        let mut wakeup = None;
        if let (WorkEnd::Done(outcome), Some(repository)) = (&how, key.target.repository()) {
            wakeup = outcome.revisit_at;
            also.extend(
                outcome
                    .above
                    .map(|above| pull_key(key.installation, repository.clone(), above)),
            );
            let whole = Key {
                installation: key.installation,
                target: Target::Repository(repository.clone()),
            };
            also.extend(outcome.awakened.then_some(whole));
            let renamed = outcome.renamed.clone().zip(pull_number(&key.target));
            also.extend(renamed.map(|(name, number)| pull_key(key.installation, name, number)));
        }
        let change = Change::Settle {
            key: key.clone(),
            covered,
            how: Box::new(how),
            now: clock.now(),
        };
        let ended = match inbox.apply(change).await {
            Ok(_) => ended,
            Err(_) => JobEnd::Retry(clock.now() + STORAGE_PAUSE),
        };
        for key in also {
            if inbox
                .apply(Change::Look(key.clone(), clock.now()))
                .await
                .is_err()
            {
                tracing::warn!(%key, "what this concerns too is looked at within a quarter of an hour, not now");
            }
        }
        // After it was given up for good: should showing that end the process too, nothing begins anew.
        if is_fatal
            && matches!(ended, JobEnd::Done(_))
            && let Some(job) = job_of(key, &loaded)
            && let Err(failed) = caught(fenced(
                Some(fence),
                self.reconciler.show_given_up(job, loaded.begun),
            ))
            .await
        {
            tracing::warn!(
                reason = failed.reason,
                "the pull request does not show that it was given up"
            );
        }
        (ended, wakeup)
    }

    async fn call(
        &self,
        key: &Key,
        class: WorkClass,
        loaded: &TargetWork,
    ) -> Result<WorkEnd, Failed> {
        let Key {
            installation,
            target,
        } = key.clone();
        let hints = loaded.hints.clone();
        if let Some(job) = job_of(key, loaded) {
            let outcome = caught(self.reconciler.reconcile(job)).await?;
            self.services.metrics.reconciles_done.add(1);
            if let Some(line) = &outcome.ended {
                self.services.metrics.runs.add(line);
            }
            tracing::info!(
                again = outcome.revisit_at.map(tracing::field::display),
                "reconciled"
            );
            return Ok(WorkEnd::Done(outcome));
        }
        let class = match target {
            Target::Base { .. } | Target::Repository(_) | Target::Installation => WorkClass::Spread,
            Target::PullRequest { .. } | Target::Head { .. } | Target::MergeGroup { .. } => class,
        };
        let mut unresolved = Unresolved {
            installation,
            target,
            hints,
        };
        let mut pulls = match self.known(&unresolved, loaded) {
            Some(pulls) => pulls,
            None => caught(self.reconciler.resolve(&mut unresolved)).await?,
        };
        // In the order they were listed in: what changed last comes first.
        let mut met = HashSet::with_capacity(pulls.len());
        pulls.retain(|pull| met.insert(pull.clone()));
        self.services.metrics.resolved.add(1);
        tracing::debug!(pulls = pulls.len(), "resolved");
        let into = pulls
            .into_iter()
            .map(|pull| pull_key(installation, pull.repository, pull.number))
            .collect();
        let origin = loaded.origin.clone();
        // Which pull requests a commit may belong to has served its purpose.
        let hints = unresolved
            .hints
            .into_iter()
            .filter(|hint| !matches!(hint, Hint::NamedPulls { .. }))
            .collect();
        Ok(WorkEnd::Resolved {
            into,
            origin,
            hints,
            class,
        })
    }

    /// The pull requests that a head's work concerns, where a last look is known: none if that read all there is.
    fn known(&self, work: &Unresolved, loaded: &TargetWork) -> Option<Vec<PullRequest>> {
        let (Some(heads), Target::Head { repository, sha }) = (&self.heads, &work.target) else {
            return None;
        };
        let deliveries = HeadDeliveries {
            hints: &work.hints,
            since: loaded.waiting_since,
            last: loaded.origin.received_at,
        };
        let concerned = heads.concerned(repository, *sha, deliveries, self.services.clock.now())?;
        let of = |number| PullRequest {
            repository: repository.clone(),
            number,
        };
        Some(concerned.into_iter().map(of).collect())
    }

    fn failed(&self, failed: Failed, loaded: &TargetWork) -> (WorkEnd, JobEnd) {
        let now = self.services.clock.now();
        let reason: String = failed.reason.chars().take(REASON_CHARS).collect();
        let failing_since = loaded.failing_since.unwrap_or(now);
        let trouble = |failures, retry_at| Trouble {
            failures,
            failing_since,
            reason: reason.clone(),
            retry_at,
        };
        let again = |failures, retry_at| {
            (
                WorkEnd::Failed(trouble(failures, retry_at)),
                JobEnd::Retry(retry_at),
            )
        };
        match failed.retry {
            Retry::At(_) | Retry::Paced(_) | Retry::OnEvent => {
                self.services.metrics.reconciles_waiting.add(1)
            }
            Retry::WhenAnswered | Retry::Later => self.services.metrics.reconciles_failed.add(1),
        }
        match failed.retry {
            Retry::At(at) => {
                let retry_at = at.max(now + FIRST_PAUSE);
                tracing::info!(reason, %retry_at, "must wait");
                (
                    WorkEnd::Failed(trouble(loaded.failures, retry_at)),
                    JobEnd::Pause(retry_at),
                )
            }
            Retry::Paced(at) => again(loaded.failures, at.max(now + FIRST_PAUSE)),
            Retry::OnEvent => {
                tracing::info!(reason, "nothing is asked until an event says otherwise");
                (
                    WorkEnd::Done(ReconcileOutcome::default()),
                    JobEnd::Done(loaded.covered.up_to),
                )
            }
            Retry::WhenAnswered if now - failing_since < LONGEST_OUTAGE => {
                let pause = (now - failing_since).clamp(FIRST_PAUSE, OUTAGE_PAUSE);
                let retry_at = now + self.jittered(pause);
                tracing::warn!(reason, %failing_since, %retry_at, "GitHub is asked again");
                again(loaded.failures, retry_at)
            }
            Retry::Later if loaded.failures + 1 < GIVE_UP_AFTER => {
                let failures = loaded.failures + 1;
                let growth = 3_i32.pow(failures.saturating_sub(1).min(8));
                let retry_at = now + self.jittered((FIRST_PAUSE * growth).min(LONGEST_PAUSE));
                tracing::warn!(reason, failures, %retry_at, "failed");
                again(failures, retry_at)
            }
            Retry::WhenAnswered | Retry::Later => {
                self.given_up(trouble(loaded.failures + 1, now), loaded)
            }
        }
    }

    fn given_up(&self, trouble: Trouble, loaded: &TargetWork) -> (WorkEnd, JobEnd) {
        let Trouble {
            failures,
            reason,
            failing_since,
            ..
        } = &trouble;
        tracing::error!(reason, failures, %failing_since, "given up: a dead letter");
        self.services.metrics.dead.add(1);
        (WorkEnd::Dead(trouble), JobEnd::Done(loaded.covered.up_to))
    }

    /// The second half of a pause is random, so that targets which failed together do not come back together.
    fn jittered(&self, pause: TimeDelta) -> TimeDelta {
        let whole = pause.num_milliseconds();
        TimeDelta::milliseconds(whole / 2 + self.rng.lock().i64(0..=whole / 2))
    }
}

/// The call that a target stands for, if it is a pull request.
fn job_of(key: &Key, loaded: &TargetWork) -> Option<ReconcileRequest> {
    let Target::PullRequest { repository, number } = &key.target else {
        return None;
    };
    let (repository, hints) = (repository.clone(), loaded.hints.clone());
    Some(ReconcileRequest {
        installation: Some(key.installation),
        repository,
        number: *number,
        hints,
    })
}

const fn pull_number(target: &Target) -> Option<PrNumber> {
    match target {
        Target::PullRequest { number, .. } => Some(*number),
        _ => None,
    }
}

fn pull_key(installation: InstallationId, repository: RepoName, number: PrNumber) -> Key {
    Key {
        installation,
        target: Target::PullRequest { repository, number },
    }
}

/// A panic is a failure like any other: it is logged by the panic hook, retried, and given up in the end.
async fn caught<T>(call: impl Future<Output = Result<T, Failed>>) -> Result<T, Failed> {
    let panicked = |_| {
        Err(Failed {
            retry: Retry::Later,
            reason: "it panicked; see the log".to_owned(),
        })
    };
    AssertUnwindSafe(call)
        .catch_unwind()
        .await
        .unwrap_or_else(panicked)
}

fn earlier(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    [a, b].into_iter().flatten().min()
}
