//! One turn: observe, decide, save, show.

use std::ops::ControlFlow;

use chrono::TimeDelta;

use super::{
    Failed, LoopEntry, MOST_SAVES, ObservedPull, ReconcileOutcome, ReconcileResult, Result,
    RunStore, Summary, Turn, TurnStart, recent,
};
use crate::github::{
    act::{Execution, Problem, plan},
    client::{Client, error::OrAbsent as _, next_look, path},
    observe::{CONFIGURATION_LIMIT, Observation},
    reconcile::storage::Storage,
};
use loopgate_core::{
    PrNumber, Sha, Timestamp,
    deciding::{Decision, Post},
    observed::{ChangedFiles, Hint, Lifecycle, ObservationProblem, Snapshot},
    proof::{Merge, Statement},
    state::{LoopState, Reviewer, VerificationResult},
};
use loopgate_refs::{self as refs, LoadedRun, RefsError, Retry, Save};
use loopgate_render::{self as render, OpenLoop, Rendered, Subject};

/// Pull requests whose groups are read to explain why one left its merge queue.
const MOST_COMPANIONS: usize = 8;

/// A decision that is saved, or could not be.
struct SavedDecision {
    decision: Decision,
    texts: Rendered,
    /// The state commit.
    saved: Option<Sha>,
    refused: Option<Problem>,
    /// When another process saved a state of this pull request, if that was a moment ago.
    concurrent_save: Option<Timestamp>,
    /// Whether something that was read is in doubt.
    is_in_doubt: bool,
    /// When to ask for the comparison of the proposed configuration.
    compared_at: Option<Timestamp>,
}

impl Turn<'_> {
    /// `None` if another process saved what it saw of another head meanwhile: the turn begins anew.
    pub(super) async fn run(&self, problems: &[Problem]) -> Result<Option<ReconcileOutcome>> {
        let Self {
            client, job, now, ..
        } = self;
        let start = match Box::pin(self.enter()).await? {
            ControlFlow::Continue(start) => start,
            ControlFlow::Break(outcome) => return Ok(Some(outcome)),
        };
        let TurnStart {
            facts,
            storage,
            loaded,
            not_moved,
            ..
        } = start;
        let store = self.store(job, &storage);
        let mut observation = Box::pin(self.observe(facts, &loaded)).await?;
        Box::pin(self.add_companions(&storage, &mut observation, &loaded)).await?;
        if self.is_in_doubt()
            && let Some(reason) = too_doubtful(&observation.snapshot, *now)
        {
            return Err(Failed {
                reason: reason.to_owned(),
                retry: Retry::WhenAnswered,
            });
        }
        self.executor.recall_marks(&mut observation, *now);
        observation
            .snapshot
            .problems
            .extend(problems.iter().cloned().chain(not_moved));
        observation.policy.state = storage.backend();

        let above_before = loaded.intact().and_then(|state| state.concerns.stack);
        let concurrent_save = self.recent.concurrent_save(job, &loaded, *now);
        let decided = Box::pin(self.decide_and_save(&observation, loaded, &store)).await?;
        let Some(mut decided) = decided else {
            return Ok(None);
        };
        decided.concurrent_save = decided.concurrent_save.or(concurrent_save);
        decided.is_in_doubt = self.is_in_doubt();
        if let Some(saved) = decided.saved {
            self.recent.change(job, |recent| recent.saved = Some(saved));
        }
        if storage.is_ref() {
            self.debug_memory.note(&job.repository, &decided.decision);
        }
        let (executed, is_current, show_at) =
            Box::pin(self.show(&mut observation, &mut decided, &storage)).await?;
        let days = observation.policy.memory.retention_days;
        let memory_at = Box::pin(self.debug_memory.write(client, job, days, *now)).await;

        let is_open = observation.snapshot.pull_request.lifecycle == Lifecycle::Open;
        let mut ended = None;
        if !is_open {
            let closed_at = observation
                .snapshot
                .pull_request
                .closed_at
                .unwrap_or(decided.decision.next.run.updated_at);
            ended = Box::pin(self.keep_line(&store, closed_at))
                .await?
                .map(Box::new);
        }
        let times = [
            decided.decision.revisit_at,
            decided.compared_at,
            show_at,
            self.doubted_again_at(),
            memory_at,
        ];
        Ok(Some(ReconcileOutcome {
            revisit_at: times.into_iter().flatten().min(),
            seen: self.seen(&observation, &decided.decision, is_current),
            above: above(
                &observation.snapshot,
                &decided.decision,
                above_before,
                executed.done > 0,
            ),
            entry: match is_open {
                true => {
                    let Observation {
                        snapshot,
                        policy,
                        pull,
                        ..
                    } = &observation;
                    let subject = Subject::new(&decided.decision, snapshot, policy);
                    LoopEntry::Open(Box::new(OpenLoop {
                        private: pull.is_private,
                        ..OpenLoop::of(&subject)
                    }))
                }
                false => LoopEntry::Over,
            },
            result: ReconcileResult::Decided(summary(&observation, decided, executed)),
            ended,
            ..ReconcileOutcome::default()
        }))
    }

    /// Once it has left its merge queue, adds the results of groups that its companions keep: pull requests that were
    /// in a group with it.
    async fn add_companions(
        &self,
        storage: &Storage,
        observation: &mut Observation,
        loaded: &LoadedRun,
    ) -> Result<()> {
        let has_left = observation
            .snapshot
            .queue
            .as_ref()
            .is_some_and(|queue| !queue.is_queued);
        let Some(state) = loaded.intact().filter(|_| has_left) else {
            return Ok(());
        };
        let job = self.job;
        let companions = state.concerns.queue.companions(job.number);
        for number in companions
            .into_iter()
            .filter(|number| *number != job.number)
            .take(MOST_COMPANIONS)
        {
            let other = self.store(&job.of(number), storage).load().await?;
            let groups = other
                .intact()
                .into_iter()
                .flat_map(|state| state.concerns.queue.groups.iter().cloned());
            observation
                .snapshot
                .hints
                .extend(groups.map(|group| Hint::QueueGroup(Box::new(group))));
        }
        Ok(())
    }

    /// What comes before the observation: news of events is kept, and a pull request that there is nothing to do about
    /// ends the turn.
    async fn enter(&self) -> Result<ControlFlow<ReconcileOutcome, TurnStart>> {
        let Self {
            client, job, now, ..
        } = self;
        if !job.hints.is_empty() {
            client.ask_once_more();
        }
        for hint in &job.hints {
            if let Hint::CommentDeleted { comment, .. } = hint {
                client.deleted(format!(
                    "{}/issues/comments/{comment}",
                    path::repo(&job.repository)
                ));
            }
        }
        let end = |outcome| Ok(ControlFlow::Break(outcome));
        let dormant = |revisit_at| {
            let (result, entry) = (ReconcileResult::Dormant, LoopEntry::Over);
            end(ReconcileOutcome {
                revisit_at,
                result,
                entry,
                ..ReconcileOutcome::default()
            })
        };
        if let Err(revisit_at) = self.observer.dormant.ask(&job.repository, client.now()) {
            return dormant(revisit_at);
        }
        let Some(mut start) = Box::pin(self.begin()).await? else {
            Box::pin(self.leave()).await?;
            let next = self
                .observer
                .dormant
                .next_look(&job.repository, job.number, client.now());
            return dormant(next.into_iter().chain(self.doubted_again_at()).min());
        };
        let called = start.facts.pull.repository.as_ref();
        if let Some(renamed) = called.filter(|called| **called != job.repository) {
            return end(ReconcileOutcome {
                seen: ObservedPull::Ended,
                entry: LoopEntry::Over,
                renamed: Some(renamed.clone()),
                ..ReconcileOutcome::default()
            });
        }
        if start.facts.pull.is_archived {
            return end(ReconcileOutcome {
                result: ReconcileResult::ReadOnly,
                ..ReconcileOutcome::default()
            });
        }
        self.settle_in(&mut start).await?;
        let store = self.store(job, &start.storage);
        let facts = &start.facts;
        let Some(loaded) = self.find_archived(facts, start.loaded, &store).await? else {
            let (revisit_at, seen, entry) = (
                self.doubted_again_at(),
                ObservedPull::Ended,
                LoopEntry::Over,
            );
            return end(ReconcileOutcome {
                revisit_at,
                seen,
                entry,
                ..ReconcileOutcome::default()
            });
        };
        let is_open = facts.pull.pull_request.lifecycle == Lifecycle::Open;
        if is_open
            && self.stays
            && let Some(again) = self.facts.iter().find_map(|fact| fact.awaits_end(*now))
        {
            return end(ReconcileOutcome {
                revisit_at: Some(again),
                ..ReconcileOutcome::default()
            });
        }
        // What was merged is judged by what it was merged as. By what was the base when it was opened, words would be
        // answered anew.
        if self.is_in_doubt() && !facts.base.is_merge_followed {
            let reason = "GitHub does not show what it was merged as yet".to_owned();
            return Err(Failed {
                reason,
                retry: Retry::WhenAnswered,
            });
        }
        Ok(ControlFlow::Continue(TurnStart { loaded, ..start }))
    }

    /// Decides and saves, again from the newer state as long as somebody else saves first. None when what was observed
    /// is not what they saw: then it must be observed again.
    async fn decide_and_save(
        &self,
        observation: &Observation,
        mut loaded: LoadedRun,
        store: &RunStore<'_>,
    ) -> Result<Option<SavedDecision>> {
        let (client, now) = (&self.client, self.now);
        let mut concurrent_save = None;
        for _ in 0..MOST_SAVES {
            let (state, mut decision) = decide(observation, &loaded, now);
            Box::pin(self.debug_memory.recall(client, observation, &mut decision)).await;
            let compared_at = self.compare(observation, &mut decision);
            let mut texts = texts(client, observation, &decision).await?;
            if observation.snapshot.app.is_actions() {
                // Buttons would have no effect (check runs of GitHub Actions start no workflow), and no team can be
                // asked for a review. The commands do what the buttons do.
                texts.verify.actions.clear();
                texts.gates.actions.clear();
                decision
                    .surface
                    .request
                    .retain(|reviewer| matches!(reviewer, Reviewer::User(_)));
            }
            let last = state.head.last_verification.as_ref();
            let after_failure = last.is_some_and(|last| last.result == VerificationResult::Fail);
            let feedback = render::feedback(
                &decision.view.feedback,
                observation.policy.retry.feedback_max_length,
            );
            let record = |record| refs::attempt_document(record, &feedback, after_failure, None);
            let attempt = decision.attempt.as_ref().map(record).transpose()?;
            let subject = refs::subject(&decision);
            let report = store
                .objects
                .report(decision.surface.status_comment, &texts);
            let lines = render::history_lines(&decision);
            let statement = self.statement(observation, &decision, store.objects)?;
            let statement = statement.as_deref();
            let save = Save {
                state: &decision.next,
                lines: &lines,
                attempt,
                artifact: &report,
                subject: &subject,
                statement,
            };
            if store.objects.is_ref() {
                self.debug_memory.expect(&observation.snapshot, &decision);
            }
            let doubts = client.doubts();
            let (saved, refused) = match store.save(&loaded, &save).await {
                Ok(saved) => (saved, None),
                Err(RefsError::RefMoved { .. }) => {
                    loaded = store.load().await?;
                    concurrent_save = Some(now);
                    // The process that saved first may have seen another head. Deciding on the older of the two heads
                    // would count it as one that came back.
                    let head = observation.snapshot.pull_request.head.sha;
                    // And a run that is gone was archived meanwhile.
                    if loaded.tip.is_none()
                        || loaded.intact().is_some_and(|state| state.head.sha != head)
                    {
                        return Ok(None);
                    }
                    continue;
                }
                // Without it the posts would describe a record that is gone.
                Err(RefsError::Refused(reason)) if self.stays && client.doubts() > doubts => {
                    return Err(Failed {
                        reason,
                        retry: Retry::WhenAnswered,
                    });
                }
                // Without a saved state attempts are not counted, but the comment must show why: so this goes on.
                Err(RefsError::Refused(mut reason)) => {
                    if store.objects.is_ref() {
                        reason += "; without contents: write, `state: { backend: comment }` keeps it in the status comment";
                    }
                    (
                        None,
                        Some(Problem {
                            what: "save the state".into(),
                            reason,
                        }),
                    )
                }
                Err(error) => return Err(error.into()),
            };
            return Ok(Some(SavedDecision {
                decision,
                texts,
                saved,
                refused,
                concurrent_save,
                is_in_doubt: false,
                compared_at,
            }));
        }
        Err(Failed {
            reason: "the state was saved by others again and again meanwhile".into(),
            retry: Retry::WhenAnswered,
        })
    }

    /// The signed statement about a merge, to be kept beside the state; none where nothing signs, or where GitHub does
    /// not return the commit that the pull request was merged as.
    fn statement(
        &self,
        observation: &Observation,
        decision: &Decision,
        storage: &Storage,
    ) -> Result<Option<String>> {
        let Observation {
            snapshot,
            policy,
            base_head,
            merged_as,
            ..
        } = observation;
        let (Some(signer), Some(commit), true) = (&self.signer, *merged_as, storage.is_ref())
        else {
            return Ok(None);
        };
        let page = &snapshot.pull_request.url;
        let repository_url = page
            .rsplit_once("/pull/")
            .map_or(page.as_str(), |(repository, _)| repository);
        let merge = Merge {
            commit,
            onto: *base_head,
            repository_url,
        };
        let envelope = Statement::of(merge, snapshot, policy, decision)
            .and_then(|statement| signer.sign(&statement));
        let text = envelope
            .map(|envelope| serde_json::to_string_pretty(&envelope))
            .transpose();
        text.map_err(|error| Failed {
            reason: error.to_string(),
            retry: Retry::Later,
        })
    }

    /// Makes the pull request look as decided. What cannot be taken back waits while the observation may be stale, or
    /// while another process shows it. Returns what was done, whether the observation shows the facts of all recent
    /// events, and when to look again.
    async fn show(
        &self,
        observation: &mut Observation,
        decided: &mut SavedDecision,
        storage: &Storage,
    ) -> Result<(Execution, bool, Option<Timestamp>)> {
        let now = self.now;
        let SavedDecision {
            decision,
            texts,
            concurrent_save,
            is_in_doubt,
            ..
        } = decided;
        Box::pin(self.share(observation, &mut decision.surface, texts)).await?;
        Box::pin(self.keep_judged_elsewhere(&mut observation.surface)).await?;
        storage.put_in(
            &mut observation.surface.status_comments,
            &mut texts.status_comment,
        );
        let mut effects = plan(&observation.surface, &decision.surface, texts);
        let looks = self
            .facts
            .iter()
            .filter_map(|fact| fact.awaited(observation, now))
            .min();
        let rights_are_unknown = observation.snapshot.authority.unknown().is_some();
        let unanswered =
            self.recent
                .unanswered(self.job, rights_are_unknown || observation.awaits_logs, now);
        let awaits_answer =
            rights_are_unknown && unanswered.is_some_and(|since| next_look(since, now).is_some());
        let is_stale = self.stays && (looks.is_some() || awaits_answer);
        let post_at = recent::hold_back(&mut effects, is_stale, *is_in_doubt, *concurrent_save);
        let executed = Box::pin(self.executor.execute(
            &self.client,
            &observation.surface,
            &effects,
        ))
        .await?;
        let question_at = unanswered.and_then(|since| recent::next_question(since, now));
        let revisit_at = [post_at, executed.again_at, looks, question_at]
            .into_iter()
            .flatten()
            .min();
        Ok((executed, looks.is_none(), revisit_at))
    }

    /// What later lists of pull requests are compared with.
    fn seen(
        &self,
        observation: &Observation,
        decision: &Decision,
        is_current: bool,
    ) -> ObservedPull {
        let Observation {
            snapshot, policy, ..
        } = observation;
        let (head, is_open) = (
            snapshot.pull_request.head.sha,
            snapshot.pull_request.lifecycle == Lifecycle::Open,
        );
        if is_open && !observation.is_head_shared {
            self.heads.keep(snapshot, policy, self.now);
        } else {
            self.heads.forget(&snapshot.repository, head);
        }
        let is_final = decision.next.attempt_of(head).is_some()
            && !decision.action.awaits_evidence()
            && is_current;
        match observation.pull.updated_at {
            Some(updated_at) if is_open => ObservedPull::Open {
                updated_at,
                head,
                is_final,
            },
            _ if is_open => ObservedPull::Unobserved,
            _ => ObservedPull::Ended,
        }
    }
}

/// How long what has ended may wait for what was refused just then.
const DOUBTED_FOR: TimeDelta = TimeDelta::minutes(2);

/// Why nothing is decided on what was read while a refusal is in doubt.
fn too_doubtful(snapshot: &Snapshot, now: Timestamp) -> Option<&'static str> {
    let pull_request = &snapshot.pull_request;
    let has_just_ended = pull_request.lifecycle != Lifecycle::Open
        && now < pull_request.closed_at.unwrap_or(now) + DOUBTED_FOR;
    if has_just_ended && !snapshot.problems.is_empty() {
        // It is judged once more only, and what was refused a moment ago would be missing there for good.
        return Some("GitHub does not show all of what was closed as yet");
    }
    // A change whose files were refused counts as one that touches everything, and would open every gate.
    matches!(snapshot.files, ChangedFiles::TooLarge { .. })
        .then_some("GitHub does not show the changed files as yet")
}

/// The next layer of the stack, where what changed may concern it. A layer may look as before and pass on what changed
/// beneath it all the same.
fn above(
    snapshot: &Snapshot,
    decision: &Decision,
    before: Option<PrNumber>,
    has_changed: bool,
) -> Option<PrNumber> {
    let is_open = snapshot.pull_request.lifecycle == Lifecycle::Open;
    let stands_on = snapshot
        .stack
        .as_ref()
        .is_some_and(|stack| !stack.beneath.is_empty());
    let may_concern =
        !is_open || has_changed || stands_on || decision.next.concerns.stack != before;
    decision
        .next
        .concerns
        .stack
        .or(before)
        .filter(|_| may_concern)
}

fn summary(observation: &Observation, decided: SavedDecision, executed: Execution) -> Summary {
    let SavedDecision {
        decision,
        saved,
        refused,
        ..
    } = decided;
    Summary {
        word: decision.action.word(),
        status: decision.next.run.status,
        stage: decision.next.run.stage,
        score: decision.view.evaluation.score,
        failed_rules: decision.view.evaluation.failed_rules(),
        subject: refs::subject(&decision),
        run_id: decision.next.run.id.clone(),
        attempt: decision.view.attempt,
        saved,
        effects: executed.done,
        problems: refused.into_iter().chain(executed.problems).collect(),
        unknown_rights: observation.snapshot.authority.unknown().map(str::to_owned),
    }
}

/// The decision, and the state it was made on. A recovery is a problem of the observation, which the comment shows.
pub(super) fn decide(
    observation: &Observation,
    loaded: &LoadedRun,
    now: Timestamp,
) -> (LoopState, Decision) {
    let Observation {
        snapshot, policy, ..
    } = observation;
    let begin = || {
        // A run whose record is gone left traces: the comment shows the loss, and the numbers go on.
        match observation.surface.traces().lost_record() {
            Some(lost) => LoopState::begin_after(lost, snapshot, policy, now),
            None => LoopState::begin(snapshot, policy, now),
        }
    };
    let (state, recovered) = loaded.state(begin);
    let decision = match recovered {
        None => loopgate_core::deciding::decide(snapshot, &state, policy, now),
        Some(how) => {
            let mut snapshot = snapshot.clone();
            snapshot.problems.push(ObservationProblem {
                what: "the saved state".to_owned(),
                reason: how,
            });
            loopgate_core::deciding::decide(&snapshot, &state, policy, now)
        }
    };
    (state, decision)
}

/// The repository's own escalation report.
const ESCALATION_TEMPLATE: &str = ".github/loopgate/escalation.md";

/// The texts of a decision; a repository's own escalation report is read only when one is about to be posted.
async fn texts(
    client: &Client,
    observation: &Observation,
    decision: &Decision,
) -> Result<Rendered> {
    let Observation {
        snapshot,
        base_head,
        policy,
        surface,
        ..
    } = observation;
    let is_new = |post: &Post| {
        matches!(post, Post::Escalation { .. }) && !surface.posts.contains(&post.key())
    };
    let own = if decision.surface.posts.iter().any(is_new) {
        let repo = client.repo(&snapshot.repository);
        repo.text(ESCALATION_TEMPLATE, *base_head, CONFIGURATION_LIMIT)
            .await
            .or_refused()?
            .flatten()
    } else {
        None
    };
    Ok(render::pull_request(
        decision,
        snapshot,
        policy,
        own.as_deref(),
    ))
}
