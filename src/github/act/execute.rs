//! Carries effects out. One that is refused is reported, and the rest goes on; one that is less needed than others may
//! be left out for a while, and what is needed as little is left out with it; a post that is gone is forgotten, and
//! made again by the next look; a fault or a rate limit ends it, since the next effect would meet the same.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use http::Method;
use parking_lot::Mutex;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::{CheckRunWrite, Effect, KINDS, check_run};
use crate::{
    channels::Channels,
    github::{
        client::{
            Client,
            budget::Need,
            error::{Error, OrAbsent as _, Result},
            marker::BEGUN,
            path,
            repo::Repo,
            retry::Repeat,
            ttl_cache::TtlCache,
            wire::{Branch, CheckRun, Repository},
        },
        observe::{Observation, ObservedSurface, OwnCheckRun},
    },
};
use loopgate_core::{
    CheckRunId, CommentId, PrNumber, RepoName, Sha, Timestamp,
    concerns::{
        attempts::rerun::RerunRequest,
        gates::{Reacted, ReactionKind},
    },
    deciding::MergedBranch,
    observed::{AppIdentity, CheckProgress, Snapshot},
    policy::DispatchFixer,
    state::{Repeatable, Reviewer},
};
use loopgate_render::{Announcement, Dispatch, with_run};

/// How often a deleted comment is posted again within [`POSTED_WITHIN`]; after that only the check run shows it.
const MOST_REMADE: usize = 3;
const POSTED_WITHIN: TimeDelta = TimeDelta::hours(1);

/// Changes of labels and review requests remembered of a pull request at most, the newest.
const MOST_MARKS: usize = 50;

/// Carries effects out, and remembers for a while what need not be tried again.
#[derive(Default)]
pub struct Executor {
    /// Labels and review requests that were changed, and when.
    marks: TtlCache<PullKey, Vec<(Timestamp, Effect)>>,
    /// The outcome of things that are asked once, and would end so again: labels made, runs repeated, messages sent on
    /// channels, and whatever of these or of reviewers was refused.
    answers: TtlCache<String, Did>,
    label_creation: tokio::sync::Mutex<()>,
    pub(in crate::github) channels: Channels,
    /// When each comment was posted in the last hour, by its marker, and when a post was found gone, by none: what
    /// people delete comes back, but not for ever.
    posted: Mutex<BTreeMap<(PullKey, String), Vec<Timestamp>>>,
    /// Effects that were left out, by pull request and kind, and when their turn comes.
    waiting: Mutex<BTreeMap<PullKey, (Timestamp, ByKind)>>,
    /// Whether a reaction is ours, or others' alone.
    reactions: TtlCache<(Reacted, ReactionKind), bool>,
}

/// How long after its turn an effect is still awaited here.
const LATE: TimeDelta = TimeDelta::minutes(1);

/// How many effects there are of each kind.
type ByKind = BTreeMap<&'static str, u64>;

/// A pull request of a repository.
type PullKey = (RepoName, PrNumber);

/// The outcome of a list of effects.
#[derive(Debug, Default, PartialEq)]
pub struct Execution {
    /// Effects that changed something.
    pub done: usize,
    pub problems: Vec<Problem>,
    /// When what was left out may go, or what is gone is made again.
    pub again_at: Option<Timestamp>,
}

/// An effect that GitHub refused: what was to be done ("request a review by alice"), and why it was not.
pub use loopgate_core::observed::ObservationProblem as Problem;

/// Where the effects take place.
struct EffectPlace<'a> {
    repo: Repo<'a>,
    surface: &'a ObservedSurface,
}

/// The outcome of an effect.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Did {
    Something,
    /// There was nothing to do.
    Nothing,
    /// It was not done, and why.
    Refused(String),
}

impl Executor {
    /// Carries the effects out one after the other.
    ///
    /// # Errors
    /// Faults and rate limits; what was done before them stays done.
    pub async fn execute(
        &self,
        client: &Client,
        surface: &ObservedSurface,
        effects: &[Effect],
    ) -> Result<Execution> {
        let place = EffectPlace {
            repo: client.repo(&surface.repository),
            surface,
        };
        let mut executed = Execution::default();
        let mut left_out: Option<Need> = None;
        let mut waiting = ByKind::new();
        for effect in effects {
            let need = effect.need(surface);
            if let (Some((need, kind)), Some(left_out)) = (need, left_out)
                && need >= left_out
            {
                *waiting.entry(kind).or_default() += 1;
                continue;
            }
            let changed_post = match effect {
                Effect::UpdateComment { comment, .. } => {
                    Some(place.repo.path(format!("issues/comments/{comment}")))
                }
                Effect::UpdateCheckRun { id, .. } => {
                    Some(place.repo.path(format!("check-runs/{id}")))
                }
                _ => None,
            };
            let did = match self.carry_out(&place, effect).await {
                Ok(did) => did,
                Err(Error::Paced { until }) => {
                    if let Some((need, kind)) = need {
                        left_out = Some(need);
                        *waiting.entry(kind).or_default() += 1;
                    }
                    executed.again_at.get_or_insert(until);
                    continue;
                }
                Err(Error::NotFound { .. })
                    if let Some(post) = changed_post
                        && (!client.is_gone(&post) || self.may_remake(surface, client.now())) =>
                {
                    // Until that is certain, the doubt about the answer leads to the next look.
                    let again_at = client.is_gone(&post).then(|| client.now());
                    executed.again_at = executed.again_at.into_iter().chain(again_at).min();
                    continue;
                }
                Err(error) => Did::Refused(error.refusal()?.to_string()),
            };
            match did {
                Did::Something => {
                    executed.done += 1;
                    self.remember_mark(surface, effect, client.now());
                }
                Did::Nothing => {}
                Did::Refused(reason) => {
                    let what = effect.describe();
                    tracing::warn!(what, reason, "effect refused");
                    executed.problems.push(Problem { what, reason });
                }
            }
        }
        let mut all = self.waiting.lock();
        match executed.again_at.filter(|_| !waiting.is_empty()) {
            None => drop(all.remove(&surface.pull())),
            Some(at) => drop(all.insert(surface.pull(), (at, waiting))),
        }
        Ok(executed)
    }

    /// Effects that wait for their turn to be created, by kind. What did not come at its turn is another process's.
    pub fn waiting(&self, now: Timestamp) -> ByKind {
        let mut all = self.waiting.lock();
        all.retain(|_, (at, _)| *at + LATE > now);
        let mut sums = BTreeMap::from(KINDS.map(|kind| (kind, 0)));
        for (kind, count) in all.values().flat_map(|(_, waiting)| waiting) {
            *sums.entry(kind).or_default() += count;
        }
        sums
    }

    /// Posts a comment, unless people have deleted it again and again, and returns its id where GitHub's answer has it.
    async fn comment(
        &self,
        place: &EffectPlace<'_>,
        body: &str,
        need: Need,
    ) -> Result<Option<CommentId>> {
        let marker = body.lines().next().unwrap_or_default().to_owned();
        let (key, now) = ((place.surface.pull(), marker), place.repo.now());
        if self.lately(&key, now) > MOST_REMADE {
            let message = format!("it was deleted {MOST_REMADE} times within an hour");
            return Err(Error::Rejected {
                path: "a comment of ours".to_owned(),
                status: 410,
                message,
            });
        }
        let path = place.repo.path(format!(
            "issues/{}/comments",
            place.surface.pull_request.number
        ));
        let _booked = place
            .repo
            .book(need, place.surface.pull_request.head.sha)
            .await?;
        let created: Value = place
            .repo
            .post(&path, &json!({ "body": body }), Repeat::Never)
            .await?;
        let id = created["id"].as_u64();
        if let Some(id) = id {
            place.repo.created(&path, id, created);
        }
        self.posted.lock().entry(key).or_default().push(now);
        Ok(id.map(CommentId::new))
    }

    /// Whether a post that is gone is made anew. Not for ever: what GitHub only refuses to change would be made anew
    /// again and again.
    fn may_remake(&self, surface: &ObservedSurface, now: Timestamp) -> bool {
        let key = (surface.pull(), String::new());
        let may = self.lately(&key, now) < MOST_REMADE;
        self.posted.lock().entry(key).or_default().push(now);
        may
    }

    /// How often it was so within the last hour.
    fn lately(&self, key: &(PullKey, String), now: Timestamp) -> usize {
        let is_young = |at: &Timestamp| now - *at < POSTED_WITHIN;
        let mut posted = self.posted.lock();
        posted.retain(|_, times| {
            times.retain(is_young);
            !times.is_empty()
        });
        posted.get(key).map_or(0, Vec::len)
    }

    /// Labels and review requests that were changed a moment ago win over what was read of the pull request before
    /// that.
    pub fn recall_marks(&self, observation: &mut Observation, now: Timestamp) {
        let Observation {
            snapshot: Snapshot { pull_request, .. },
            surface,
            pull,
            ..
        } = observation;
        let marks = self.marks.get(&surface.pull(), now).unwrap_or_default();
        for (_, effect) in marks
            .iter()
            .filter(|(at, _)| pull.updated_at.is_some_and(|read_as_of| read_as_of <= *at))
        {
            effect.mark(pull_request);
            effect.mark(&mut surface.pull_request);
        }
    }

    fn remember_mark(&self, surface: &ObservedSurface, effect: &Effect, now: Timestamp) {
        if let Effect::AddLabels(_)
        | Effect::RemoveLabel(_)
        | Effect::RequestReviewer(_)
        | Effect::WithdrawReviewer(_) = effect
        {
            self.marks.change(surface.pull(), now, |marks| {
                marks.drain(..marks.len().saturating_sub(MOST_MARKS - 1));
                marks.push((now, effect.clone()));
            });
        }
    }

    /// Begins the check run of the verdict, which the head does not have yet: people see it first. Its result follows.
    /// None if no check run may be created yet.
    ///
    /// # Errors
    /// As [`execute`](Self::execute); a refusal is left to that, which will meet and show it.
    pub async fn begin_verify(
        &self,
        repo: Repo<'_>,
        head: Sha,
        name: String,
        us: &AppIdentity,
    ) -> Result<Option<OwnCheckRun>> {
        let body = json!({
            "name": name, "head_sha": head, "status": "in_progress", "external_id": BEGUN,
        });
        let path = repo.path("check-runs");
        let Ok(_booked) = repo.book(Need::Verify, head).await else {
            return Ok(None);
        };
        let created = repo.post(&path, &body, Repeat::Never).await;
        match created.and_then(|created| remember_check_run(repo, head, created)) {
            // If we went on, we would never find our own comments again.
            Ok(CheckRun { app: Some(app), .. }) if app.id != us.id => {
                let (slug, us) = (app.slug.as_deref().unwrap_or("another App"), &us.bot);
                let advice = format!("name the App in LOOPGATE_APP_SLUG, as `{slug}`");
                Err(Error::Setup(format!(
                    "the token is one of the App {slug}, not of {us}: {advice}"
                )))
            }
            Ok(CheckRun { id, .. }) => Ok(Some(OwnCheckRun {
                id,
                name,
                progress: CheckProgress::InProgress,
                external_id: Some(BEGUN.to_owned()),
                annotations: 0,
            })),
            Err(error) => error.refusal().map(|_| None),
        }
    }

    async fn carry_out(&self, place: &EffectPlace<'_>, effect: &Effect) -> Result<Did> {
        match effect {
            Effect::CreateCheckRun(write) => {
                let head = place.surface.pull_request.head.sha;
                let body = check_run::creation(write, head, place.repo.now());
                let booked = place.repo.book(write.need(place.surface), head).await?;
                let created = place
                    .repo
                    .post(&place.repo.path("check-runs"), &body, Repeat::Never)
                    .await?;
                drop(booked);
                let run = remember_check_run(place.repo, head, created)?;
                place.annotate(run.id, write).await?;
            }
            Effect::UpdateCheckRun { id, write } => {
                let body = check_run::update(write, place.repo.now());
                // Annotations add up: a second request would show them twice.
                let repeat = if write.annotations.is_empty() {
                    Repeat::Safe
                } else {
                    Repeat::Never
                };
                place
                    .send(
                        Method::PATCH,
                        &format!("check-runs/{id}"),
                        Some(&body),
                        repeat,
                    )
                    .await?;
                place.annotate(*id, write).await?;
            }
            Effect::CancelCheckRun(left) => {
                let body = check_run::cancellation(left, place.surface, place.repo.now());
                place
                    .send(
                        Method::PATCH,
                        &format!("check-runs/{}", left.id),
                        Some(&body),
                        Repeat::Safe,
                    )
                    .await?;
            }
            Effect::CreateStatusComment { body } => {
                self.comment(place, body, Need::Status).await?;
            }
            Effect::PostComment { body, dispatch, .. } => {
                let comment = self.comment(place, body, Need::Comment).await?;
                if let Some(dispatch) = dispatch {
                    let run = place.dispatch(dispatch).await?;
                    place.link_run(comment, body, run).await;
                }
            }
            Effect::UpdateComment { comment, body } => {
                let below = format!("issues/comments/{comment}");
                place
                    .send(
                        Method::PATCH,
                        &below,
                        Some(&json!({ "body": body })),
                        Repeat::Safe,
                    )
                    .await?;
            }
            Effect::DeleteComment(comment) => {
                let below = format!("issues/comments/{comment}");
                place.remove(&below, None).await?;
                place.repo.deleted(place.repo.path(&below));
            }
            Effect::CreateLabel {
                name,
                color,
                description,
            } => {
                return self.create_label(place, name, color, description).await;
            }
            Effect::AddLabels(names) => {
                let below = format!("issues/{}/labels", place.surface.pull_request.number);
                place
                    .create(&below, &json!({ "labels": names }), Need::Mark)
                    .await?;
            }
            Effect::RemoveLabel(name) => {
                let below = format!(
                    "issues/{}/labels/{}",
                    place.surface.pull_request.number,
                    path::escape(name)
                );
                return place.remove(&below, None).await;
            }
            Effect::RequestReviewer(reviewer) => {
                return self.request_reviewer(place, reviewer).await;
            }
            Effect::WithdrawReviewer(reviewer) => {
                let (path, body) = place.reviewer_request(reviewer);
                return place.remove(&path, Some(&body)).await;
            }
            Effect::TakeBackReaction { to, kind } => {
                return self.take_back(place, *to, *kind).await;
            }
            Effect::React {
                to,
                kind,
                may_be_ours,
            } => return self.react(place, *to, *kind, *may_be_ours).await,
            Effect::Rerun(ask) => {
                let key = format!("{} {:?}", place.repo.name, ask.what);
                return self
                    .once(place, key, async || place.post(&rerun_path(*ask)).await)
                    .await;
            }
            Effect::ApproveRun(run) => {
                let path = format!("actions/runs/{run}/approve");
                return self
                    .once(place, place.repo.path(&path), async || {
                        place.post(&path).await
                    })
                    .await;
            }
            Effect::DeleteBranch(merged) => return delete_branch(place.repo, merged).await,
            Effect::Announce {
                channel,
                key,
                announcement: Announcement { subject, text },
            } => {
                let key = format!("{:?} {key} {}", place.surface.pull(), channel.as_str());
                let send = async || -> Result<Did> {
                    let sent = self.channels.send(*channel, subject, text).await;
                    Ok(sent
                        .map_or_else(|error| Did::Refused(error.to_string()), |()| Did::Something))
                };
                return self.once(place, key, send).await;
            }
        }
        Ok(Did::Something)
    }

    /// Adding a label that does not exist would make one without colour or description. One that exists is left as the
    /// repository has it.
    async fn create_label(
        &self,
        place: &EffectPlace<'_>,
        name: &str,
        color: &str,
        description: &str,
    ) -> Result<Did> {
        let key = format!("{} label {}", place.repo.name, name.to_lowercase());
        // Many pull requests may ask for the first of its kind at once.
        let _alone = self.label_creation.lock().await;
        if self.answers.get(&key, place.repo.now()).is_some() {
            return Ok(Did::Nothing);
        }
        let body = json!({ "name": name, "color": color, "description": description });
        let did = match place.create("labels", &body, Need::Mark).await {
            Ok(()) => Did::Something,
            // It exists (422); any other fault of the label shows when it is added.
            Err(Error::Rejected { status: 422, .. }) => Did::Nothing,
            Err(error) => return Err(error),
        };
        self.answers.put(key, Did::Nothing, place.repo.now());
        Ok(did)
    }

    /// One at a time: a single name that GitHub does not take fails a whole request. Only a refusal is remembered:
    /// people may withdraw what was requested.
    async fn request_reviewer(&self, place: &EffectPlace<'_>, reviewer: &Reviewer) -> Result<Did> {
        let key = format!("{:?} {reviewer:?}", place.surface.pull());
        let (path, body) = place.reviewer_request(reviewer);
        let ask = async || {
            place
                .create(&path, &body, Need::Mark)
                .await
                .map(|()| Did::Something)
        };
        let did = self.once(place, key.clone(), ask).await?;
        if did == Did::Something {
            self.answers.remove(&key);
        }
        Ok(did)
    }

    /// Asks once. A refusal is shown as long as the effect is wanted, without asking again.
    async fn once(
        &self,
        place: &EffectPlace<'_>,
        key: String,
        ask: impl AsyncFnOnce() -> Result<Did>,
    ) -> Result<Did> {
        if let Some(answer) = self.answers.recall(&key, &place.repo) {
            return Ok(answer);
        }
        let doubts = place.repo.doubts();
        let did = match ask().await {
            Ok(did) => did,
            Err(error) => Did::Refused(error.refusal()?.to_string()),
        };
        match &did {
            Did::Refused(_) => self.answers.keep(key, did.clone(), &place.repo, doubts),
            Did::Something | Did::Nothing => self.answers.put(key, Did::Nothing, place.repo.now()),
        }
        Ok(did)
    }

    /// Giving a reaction twice changes nothing, but it is a write; so one that may be ours is looked at first.
    async fn react(
        &self,
        place: &EffectPlace<'_>,
        to: Reacted,
        kind: ReactionKind,
        may_be_ours: bool,
    ) -> Result<Did> {
        let (key, now) = ((to, kind), place.repo.now());
        if may_be_ours
            && (self.reactions.get(&key, now) == Some(true)
                || place.own_reaction(to, kind).await?.is_some())
        {
            self.reactions.put(key, true, now);
            return Ok(Did::Nothing);
        }
        let body = json!({ "content": kind.as_str() });
        place.create(&reactions(to), &body, Need::Reaction).await?;
        self.reactions.put(key, true, now);
        Ok(Did::Something)
    }

    async fn take_back(
        &self,
        place: &EffectPlace<'_>,
        to: Reacted,
        kind: ReactionKind,
    ) -> Result<Did> {
        let (key, now) = ((to, kind), place.repo.now());
        if self.reactions.get(&key, now) == Some(false) {
            return Ok(Did::Nothing);
        }
        let own = place.own_reaction(to, kind).await?;
        if let Some(id) = own {
            let path = place.repo.path(format!("{}/{id}", reactions(to)));
            place
                .repo
                .send(Method::DELETE, &path, None, Repeat::Safe)
                .await
                .or_absent()?;
        }
        self.reactions.put(key, false, now);
        Ok(if own.is_some() {
            Did::Something
        } else {
            Did::Nothing
        })
    }
}

/// Remembers a check run that was just created, until the commit's list shows it.
fn remember_check_run(repo: Repo<'_>, head: Sha, created: Value) -> Result<CheckRun> {
    let list = repo.path(format!("commits/{head}/check-runs"));
    let run: CheckRun =
        serde_json::from_value(created.clone()).map_err(|error| Error::Unreadable {
            path: list.clone(),
            message: error.to_string(),
        })?;
    repo.created(&list, run.id.get(), created);
    Ok(run)
}

impl EffectPlace<'_> {
    /// Where a review is requested, or the request withdrawn, and the body for this reviewer.
    fn reviewer_request(&self, reviewer: &Reviewer) -> (String, Value) {
        let body = match reviewer {
            Reviewer::User(login) => json!({ "reviewers": [login] }),
            Reviewer::Team(team) => json!({ "reviewers": [], "team_reviewers": [team.slug()] }),
        };
        (
            format!(
                "pulls/{}/requested_reviewers",
                self.surface.pull_request.number
            ),
            body,
        )
    }

    async fn send(
        &self,
        method: Method,
        below: &str,
        body: Option<&Value>,
        repeat: Repeat,
    ) -> Result<()> {
        self.repo
            .send(method, &self.repo.path(below), body, repeat)
            .await
    }

    async fn post(&self, below: &str) -> Result<Did> {
        self.send(Method::POST, below, None, Repeat::Never)
            .await
            .map(|()| Did::Something)
    }

    /// Creates what is there only once however often it is created, when it may.
    async fn create(&self, below: &str, body: &Value, need: Need) -> Result<()> {
        let _booked = self
            .repo
            .book(need, self.surface.pull_request.head.sha)
            .await?;
        self.send(Method::POST, below, Some(body), Repeat::Safe)
            .await
    }

    /// Starts the fixer's workflow, and returns the address of its run where GitHub names it. A request whose answer is
    /// lost is not repeated: its comment is there already.
    async fn dispatch(&self, dispatch: &Dispatch) -> Result<Option<String>> {
        match &dispatch.to {
            DispatchFixer::Repository { event_type } => {
                let body = json!({ "event_type": event_type, "client_payload": dispatch.payload });
                self.send(Method::POST, "dispatches", Some(&body), Repeat::Never)
                    .await
                    .map(|()| None)
            }
            DispatchFixer::Workflow { file } => {
                // Inputs are texts, and the workflow declares this one.
                let inputs = json!({ "payload": dispatch.payload.to_string() });
                let body = json!({ "ref": dispatch.branch, "inputs": inputs });
                self.start_workflow(file, body).await
            }
        }
    }

    /// Asks for the run that is started. Older servers answer 204 without it, and may refuse the wish, which starts
    /// nothing (<https://docs.github.com/en/rest/actions/workflows#create-a-workflow-dispatch-event>).
    async fn start_workflow(&self, file: &str, body: Value) -> Result<Option<String>> {
        const WISH: &str = "return_run_details";
        let path = self.repo.path(format!(
            "actions/workflows/{}/dispatches",
            path::escape(file)
        ));
        let mut wish = body.clone();
        wish[WISH] = json!(true);
        let answer = match self.repo.post_or_empty(&path, &wish).await {
            Err(Error::Rejected { message, .. }) if message.contains(WISH) => {
                self.repo.post_or_empty(&path, &body).await
            }
            answer => answer,
        };
        Ok(answer?["html_url"].as_str().map(str::to_owned))
    }

    /// Links the fixer's run in the comment that announces it, which is right without that too.
    async fn link_run(&self, comment: Option<CommentId>, body: &str, run: Option<String>) {
        let linked = run.and_then(|url| with_run(body, &url));
        let (Some(comment), Some(body)) = (comment, linked) else {
            return;
        };
        let below = format!("issues/comments/{comment}");
        let body = json!({ "body": body });
        if let Err(error) = self
            .send(Method::PATCH, &below, Some(&body), Repeat::Safe)
            .await
        {
            tracing::debug!(%comment, %error, "the fixer's run is not linked");
        }
    }

    /// Takes away; what is gone already is gone.
    async fn remove(&self, below: &str, body: Option<&Value>) -> Result<Did> {
        match self.send(Method::DELETE, below, body, Repeat::Safe).await {
            Err(Error::NotFound { .. }) => Ok(Did::Nothing),
            answer => answer.map(|()| Did::Something),
        }
    }

    /// Adds the annotations after the first batch.
    async fn annotate(&self, id: CheckRunId, write: &CheckRunWrite) -> Result<()> {
        for batch in write.annotations.chunks(check_run::PER_REQUEST).skip(1) {
            let body = json!({ "output": check_run::output(&write.text, batch) });
            self.send(
                Method::PATCH,
                &format!("check-runs/{id}"),
                Some(&body),
                Repeat::Never,
            )
            .await?;
        }
        Ok(())
    }

    /// The id of our reaction of this kind.
    async fn own_reaction(&self, to: Reacted, kind: ReactionKind) -> Result<Option<u64>> {
        let Some(us) = self.surface.us else {
            return Ok(None);
        };
        let content = path::escape(kind.as_str());
        let path = self
            .repo
            .path(format!("{}?content={content}", reactions(to)));
        let given = self.repo.list::<Value>(&path, 3).await?;
        let own = given
            .items
            .iter()
            .find(|reaction| reaction["user"]["id"] == us.get());
        Ok(own.and_then(|reaction| reaction["id"].as_u64()))
    }
}

/// The list of a comment's reactions, below the repository's path.
fn reactions(to: Reacted) -> String {
    match to {
        Reacted::Comment(id) => format!("issues/comments/{id}/reactions"),
        Reacted::Inline(id) => format!("pulls/comments/{id}/reactions"),
    }
}

fn rerun_path(ask: RerunRequest) -> String {
    match (ask.what, ask.only_failed_jobs) {
        (Repeatable::WorkflowRun { id, .. }, true) => {
            format!("actions/runs/{id}/rerun-failed-jobs")
        }
        (Repeatable::WorkflowRun { id, .. }, false) => format!("actions/runs/{id}/rerun"),
        (Repeatable::Job { id }, _) => format!("actions/jobs/{id}/rerun"),
        (Repeatable::CheckRun { id, .. }, _) => format!("check-runs/{id}/rerequest"),
    }
}

/// Deletes the head branch of a merged pull request (`on_complete.delete_branch`), unless it is protected, the default
/// branch, was pushed to after the merge, or another pull request is open from or onto it (deleting would close that
/// one).
///
/// GitHub deletes a ref whatever it points at by then, so the branch is looked at right before. A push between the two
/// requests is accepted: its commit stays reachable through the push's own event, and GitHub offers *Restore branch*.
///
/// # Errors
/// What GitHub refuses, and faults.
async fn delete_branch(repo: Repo<'_>, merged: &MergedBranch) -> Result<Did> {
    let name = path::escape_path(&merged.name);
    let kept = |reason: &str| Did::Refused(reason.to_owned());
    let Some(branch) = repo
        .get::<Branch>(&repo.path(format!("branches/{name}")))
        .await
        .or_absent()?
    else {
        return Ok(Did::Nothing);
    };
    if branch.commit.sha != merged.sha {
        return Ok(kept("somebody pushed to it after the merge"));
    }
    if branch.protected {
        return Ok(kept("it is protected"));
    }
    if repo.get::<Repository>(&repo.root()).await?.default_branch == merged.name {
        return Ok(kept("it is the default branch"));
    }
    let (owner, value) = (path::escape(repo.name.owner()), path::escape(&merged.name));
    for filter in [format!("head={owner}:{value}"), format!("base={value}")] {
        let open = repo
            .list::<IgnoredAny>(&repo.path(format!("pulls?state=open&{filter}")), 1)
            .await?;
        if !open.items.is_empty() {
            return Ok(kept("another open pull request uses it"));
        }
    }
    let reference = repo.path(format!("git/refs/heads/{name}"));
    let deleted = repo
        .send(Method::DELETE, &reference, None, Repeat::Safe)
        .await
        .or_absent()?;
    Ok(deleted.map_or(Did::Nothing, |()| Did::Something))
}

#[cfg(test)]
mod tests;
