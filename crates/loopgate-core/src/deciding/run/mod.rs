//! One decision in the making: the state as it becomes, step by step, and the history lines on the way.

mod outside;
mod settle;

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;
use serde_json::{Map, Value, json};

use super::describe;
use crate::{
    attempts::{
        Cause, attempt, comparison, rerun,
        retry::{self, Judgement},
    },
    deciding::{CommandReply, NextAction, new_run},
    escalation::{escalation_call, fix_request, senior_fixer},
    evidence::{Compare, Comparison, RetryClass},
    failure::{self, Blame},
    gate::{self, GateReport, gate_transitions, waiting},
    ids::{CheckName, Sha, Timestamp},
    observed::{Lifecycle, Snapshot},
    policy::{PassingTests, Policy, Trigger},
    stage::Stage,
    stages::capability,
    state::{
        Answered, AttemptDigest, BestAttempt, CheckLogEntry, FailureLog, FailureRecord, HeadObservation,
        LastVerification, LoopState, Rejection, RunStatus, StopReason,
        history::{Event, EventStatus, HistoryLine},
    },
    verdict::{
        Evaluation, FailureView,
        blame::CheckBlame,
        gather::{self, HeadEvidence},
        review,
        tamper::{self, Tampering},
    },
};

/// One decision in the making: the state as it becomes, and the events on the way.
pub(crate) struct Run<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) policy: &'a Policy,
    pub(crate) now: Timestamp,
    before: &'a LoopState,
    pub(crate) next: LoopState,
    events: Vec<HistoryLine>,
}

/// The head's attempt, when its verification has ended.
pub(crate) struct Counted {
    pub(crate) digest: AttemptDigest,
    pub(crate) compare: Compare,
    /// Whether it is new, or its evidence was replaced.
    pub(crate) is_news: bool,
}

impl<'a> Run<'a> {
    pub(crate) fn continuing(
        snapshot: &'a Snapshot,
        before: &'a LoopState,
        policy: &'a Policy,
        now: Timestamp,
    ) -> Self {
        let mut run = Self { snapshot, policy, now, before, next: before.clone(), events: Vec::new() };
        if before.first_seen_heads.is_empty() {
            let mut payload = json!({ "title": snapshot.pull_request.title });
            if let (Some(trace), Value::Object(payload)) = (before.lost_trace, &mut payload) {
                payload.insert("lost_attempts".to_owned(), json!(before.lost_attempts));
                payload.insert("lost_trace".to_owned(), json!(trace));
            }
            run.happened(Event::RunStarted, payload);
        }
        run
    }

    /// Appends a line to the history.
    pub(crate) fn happened(&mut self, event: Event, payload: Value) {
        let Value::Object(payload) = payload else { return };
        self.push_event(event, payload);
    }

    pub(crate) fn push_event(&mut self, event: Event, payload: Map<String, Value>) {
        let status = match event {
            Event::Escalated | Event::Failed | Event::PhaseError | Event::GateRejected => EventStatus::Fail,
            _ => EventStatus::Ok,
        };
        self.events.push(HistoryLine {
            ts: self.now,
            run_id: self.next.run_id.clone(),
            iteration: self.next.iteration,
            phase: self.next.phase,
            step: self.next.current_step,
            event,
            status,
            payload,
        });
    }

    /// Appends what the gates saw to the record of heads.
    pub(crate) fn see(&mut self, sighting: Option<HeadObservation>) {
        let Some(seen) = sighting else { return };
        let is_new_head = self.next.first_seen_heads.iter().all(|before| before.sha != seen.sha);
        if is_new_head {
            let mut payload = json!({ "head": seen.sha, "base": seen.base, "gates": seen.gates, "at": seen.at });
            if let Some(stale) = self.superseded_unjudged(seen.sha) {
                payload["stale_head"] = json!(stale);
            }
            self.happened(Event::ArtifactCreated, payload);
        }
        self.next.first_seen_heads.push(seen);
    }

    /// The head of before, if another took its place before its verification ended: what comes of it now is a
    /// `stale_head`, kept here and judged by nobody (loop.md, Retry policy).
    fn superseded_unjudged(&self, head: Sha) -> Option<Sha> {
        let old = self.before.first_seen_heads.last()?.sha;
        (old != head && self.before.attempt_of(old).is_none()).then_some(old)
    }

    pub(crate) fn head_since(&self) -> Timestamp {
        let head = self.snapshot.pull_request.head.sha;
        self.next.first_seen_heads.iter().find(|seen| seen.sha == head).map_or(self.now, |seen| seen.at)
    }

    pub(crate) fn describe_pull_request(&mut self) {
        let pull_request = &self.snapshot.pull_request;
        let next = &mut self.next;
        next.title.clone_from(&pull_request.title);
        next.branch.clone_from(&pull_request.head.branch);
        next.base_ref.clone_from(&pull_request.base.branch);
        next.head_sha = pull_request.head.sha;
        next.base_sha = pull_request.base.sha;
        next.policy_sha = self.policy.origin.commit();
        next.prerequisites = describe::prerequisites(self.policy);
        next.linked_issues = describe::linked_issues(&pull_request.body);
        next.agent = describe::agent(pull_request);
        next.code_artifact = describe::artifact(self.snapshot, self.policy);
        next.capabilities = capability::read(&pull_request.body);
        next.execution_config = new_run::execution_config(self.policy);
        next.retry_policy = new_run::retry_policy(self.policy);
        next.max_iterations = self.policy.retry.max_attempts;
        next.prepared_checks = self.policy.verify.checks.keys().cloned().collect();
        next.iteration =
            next.attempt_of(pull_request.head.sha).map_or_else(|| attempt::next_number(next), |attempt| attempt.number);
    }

    pub(crate) fn switch_phase(&mut self, evaluation: &Evaluation) {
        if self.next.phase != evaluation.phase {
            self.next.phase = evaluation.phase;
            self.happened(Event::PhaseSwitched, json!({ "to": evaluation.phase }));
        }
    }

    /// Counts the head as an attempt once its verification has ended, or replaces the evidence of a head that was
    /// counted before.
    pub(crate) fn count_attempt(
        &mut self,
        evidence: &HeadEvidence,
        evaluation: &Evaluation,
        blames: &[CheckBlame],
        rejections: Vec<Rejection>,
        flaky: &BTreeSet<String>,
    ) -> Option<Counted> {
        if self.snapshot.pull_request.lifecycle != Lifecycle::Open {
            return None;
        }
        let result = attempt::result(evidence, evaluation, blames)?;
        let mut digest =
            attempt::digest(self.snapshot, &self.next, evidence, evaluation, result, blames, rejections, self.now);
        digest.flaky.clone_from(flaky);
        digest.tests = digest.tests.filter(|tests| tests.len() <= self.policy.state.most_tests());
        let previous = self.next.attempts.iter().rev().find(|attempt| attempt.number < digest.number);
        let Comparison { compare, regressed } =
            comparison::compare(previous, &digest, evidence, self.snapshot.base_evidence.as_ref());
        digest.regressed = regressed;
        let is_news = self.next.attempt_of(digest.head_sha) != Some(&digest);
        if is_news {
            attempt::record(&mut self.next.attempts, digest.clone());
            self.next.iteration = digest.number;
            self.next.last_verification =
                Some(LastVerification { at: self.now, result: digest.result, head_sha: digest.head_sha });
            self.next.check_log = check_log(evidence, &digest.head_sha.short());
            for check in evidence.checks.iter().filter(|(_, check)| check.evidence().is_some()).map(|(name, _)| name) {
                *self.next.check_usage.entry(check.clone()).or_default() += 1;
            }
            let passed = digest.passes();
            self.happened(
                Event::EvaluationDone,
                json!({ "attempt": digest.number, "head": digest.head_sha, "score": evaluation.score, "passed": passed,
                        "failed_rules": digest.failed_rules }),
            );
        }
        Some(Counted { digest, compare, is_news })
    }

    pub(crate) fn remember_failures(&mut self, judgement: &Judgement, failures: &[FailureView], stage: Stage) {
        let mut history = std::mem::take(&mut self.next.failures.history);
        let last = self.next.attempts.last().filter(|last| last.head_sha == self.next.head_sha).cloned();
        if let Some(last) = last {
            history.retain(|record| record.attempt != last.number);
            if last.spent() {
                history.extend(failures.iter().filter(|view| view.blame == Blame::PrCode).take(20).map(|view| {
                    FailureRecord {
                        attempt: last.number,
                        stage,
                        capability: self.next.capabilities.current.clone(),
                        error: view.failure.error_message.chars().take(300).collect(),
                        category: view.category,
                        retry_class: last.retry_class.unwrap_or(RetryClass::Code),
                        blame: view.blame,
                        fingerprint: view.failure.fingerprint.unwrap_or_else(|| failure::fingerprint(&view.failure)),
                        timestamp: last.at,
                        resolution: None,
                        resolved_at: None,
                    }
                }));
            }
            for record in
                history.iter_mut().filter(|record| record.attempt < last.number && record.resolved_at.is_none())
            {
                if !last.fingerprints.contains(&record.fingerprint) {
                    record.resolution = Some(format!("gone in attempt {} ({})", last.number, last.head_sha.short()));
                    record.resolved_at = Some(last.at);
                }
            }
        }
        self.next.failures = FailureLog {
            count: judgement.streak,
            same_error: judgement.same_error,
            total: judgement.total,
            max_retries: self.policy.retry.max_attempts,
            history,
        };
        self.next.stagnation_count = judgement.stagnation;
        self.next.best_attempt = retry::best(&self.next.attempts).map(|best| BestAttempt {
            attempt: best.number,
            sha: best.head_sha,
            score: best.score,
        });
        self.next.last_score = retry::previous_score(&self.next.attempts);
    }

    /// Evidence of the head, as it is known with the skips and repetitions so far.
    pub(crate) fn gather(&self) -> HeadEvidence {
        let since = |check: &CheckName| self.waiting_since(check);
        let mut evidence = gather::gather(self.snapshot, self.policy, &self.next.skips, since, self.now);
        if self.policy.retry.passing_tests == PassingTests::Shown {
            evidence.excuse(&evidence.failing_tests());
        }
        evidence.compare_with_attempt_of_base(self.snapshot.pull_request.base.sha, &self.next.attempts);
        evidence
    }

    pub(crate) fn waiting_since(&self, check: &CheckName) -> Timestamp {
        rerun::waiting_since(&self.next, self.head_since(), check)
    }

    /// Names the tests that flipped since the head was counted: a run of the same checks on the same code ended
    /// otherwise.
    pub(crate) fn note_flaky(&mut self, evidence: &HeadEvidence) -> BTreeSet<String> {
        let head = self.next.head_sha;
        let Some(counted) = self.next.attempts.last_mut().filter(|last| last.head_sha == head) else {
            return comparison::flaky(None, evidence);
        };
        if evidence.missing().is_empty() {
            counted.flaky = comparison::flaky(Some(counted), evidence);
        }
        counted.flaky.clone()
    }

    /// Everything that speaks for calling a human now, the most urgent first, with what was recognised.
    pub(crate) fn causes(&self, judgement: &Judgement, tampering: &[Tampering]) -> BTreeMap<Trigger, Cause> {
        let mut causes = judgement.causes.clone();
        if judgement.streak > 0 && fix_request::is_budget_used_up(&self.next, self.policy) {
            causes.extend([Cause::BudgetExhausted { attempts: fix_request::asked(&self.next) }.entry()]);
        }
        if let Some(outage) = self.next.outage.as_ref().filter(|_| self.is_external_overdue()) {
            causes.extend([Cause::ExternalDependencyDown { outage: outage.clone() }.entry()]);
        }
        if let Some(first) = tamper::not_accepted(tampering, &self.next.accepted_tampering) {
            causes.extend([Cause::Tampering { first: first.clone(), more: tampering.len() - 1 }.entry()]);
        }
        let gates = waiting::overdue_since(&self.next, &self.policy.gates, self.now);
        if !gates.is_empty() {
            causes.extend([Cause::GateTimeout { gates }.entry()]);
        }
        causes
    }

    fn is_external_overdue(&self) -> bool {
        self.external_deadline().is_some_and(|deadline| self.now >= deadline)
    }

    /// Releases a cause that no longer stands and records a new one. True when a human is called by this decision.
    pub(crate) fn call_or_release(&mut self, causes: &BTreeMap<Trigger, Cause>) -> bool {
        if self.snapshot.pull_request.lifecycle != Lifecycle::Open
            || self.next.stop.reason == Some(StopReason::UserStop)
        {
            return false;
        }
        if let Some(blocked) = &self.next.blocked
            && !escalation_call::still_stands(blocked, &self.next, self.policy, self.now)
        {
            self.next.past_causes.push((blocked.trigger, blocked.attempt));
            self.next.blocked = None;
        }
        let stopping = escalation_call::stopping(causes.keys(), &self.policy.escalation);
        if self.next.blocked.is_some() {
            return false;
        }
        let stopping = self.leave_to_the_senior_fixer(stopping);
        if stopping.is_empty() {
            return false;
        }
        self.next.blocked = escalation_call::block(&stopping, &self.next, self.now);
        let cause = causes.values().next();
        self.happened(Event::Escalated, json!({ "triggers": stopping, "cause": cause, "blocked": self.next.blocked }));
        true
    }

    /// What is left for a human: nothing of what the senior fixer works on, or is asked to mend now.
    fn leave_to_the_senior_fixer(&mut self, mut stopping: Vec<Trigger>) -> Vec<Trigger> {
        if let Some(call) = senior_fixer::at_work(&self.next, self.policy, self.now) {
            stopping.retain(|trigger| *trigger != call.trigger && !call.also.contains(trigger));
        } else if let Some(call) = senior_fixer::call_for(&stopping, self.snapshot, &self.next, self.policy, self.now) {
            self.happened(Event::CommandRun, json!({ "command": "senior_fixer", "by": null, "senior": call }));
            self.next.senior = Some(call);
            stopping.clear();
        }
        stopping
    }

    pub(crate) fn keep_gates(&mut self, outcome: &gate_transitions::Outcome) {
        if self.snapshot.pull_request.lifecycle != Lifecycle::Open {
            return;
        }
        for (name, state) in &outcome.states {
            self.next.gates.insert(name.clone(), state.clone());
        }
        for (event, payload) in &outcome.events {
            self.push_event(*event, payload.clone());
        }
    }

    /// Words of people who rejected the head, as feedback: (who, words).
    pub(crate) fn rejections(&self, gates: &[GateReport], review: &review::ReviewStanding) -> Vec<(String, String)> {
        let of_gates = gates.iter().filter_map(|gate| match &gate.standing {
            gate::GateStanding::Rejected { by, words, .. } if gate.is_closed() => {
                Some((format!("@{by} ({} gate)", gate.name), words.clone()))
            }
            _ => None,
        });
        let of_review = match review {
            review::ReviewStanding::Rejected { by, words, .. } => Some((format!("@{by} (review)"), words.clone())),
            _ => None,
        };
        of_gates.chain(of_review).collect()
    }

    /// The head is to be mended, unless the attempts are used up and nobody is to be called.
    pub(crate) fn retry_or_give_up(&self, attempt: u32) -> NextAction {
        let judgement = retry::judge(&self.next.attempts, &self.next.resumes, &self.policy.retry);
        if retry::has_given_up(&judgement, &self.policy.retry) {
            NextAction::Stopped
        } else {
            NextAction::Retry { attempt }
        }
    }

    /// Answers given on this head.
    pub(crate) fn replies(&self) -> Vec<CommandReply> {
        let of = |answered: &Answered| {
            let on_head = answered.answers.iter().filter(|answer| answer.head_sha == self.next.head_sha);
            on_head
                .map(|answer| CommandReply { source: answered.source.clone(), answer: answer.clone() })
                .collect::<Vec<_>>()
        };
        self.next.answered.iter().flat_map(of).collect()
    }

    /// Whether the run had ended before, with its pull request: what comes later does not rewrite it.
    pub(crate) fn had_ended(&self) -> bool {
        match self.snapshot.pull_request.lifecycle {
            Lifecycle::Open => false,
            Lifecycle::Closed => self.before.status == RunStatus::Stopped,
            Lifecycle::Merged { .. } => self.before.status == RunStatus::Completed,
        }
    }

    /// The state to save. A decision that changed nothing leaves its time of change alone.
    pub(crate) fn finish(mut self) -> (LoopState, Vec<HistoryLine>) {
        if self.had_ended() {
            return (self.before.clone(), Vec::new());
        }
        if self.next != *self.before || !self.events.is_empty() {
            self.next.updated_at = self.now;
        }
        (self.next, self.events)
    }
}

fn milliseconds(count: u64) -> TimeDelta {
    TimeDelta::try_milliseconds(i64::try_from(count).unwrap_or(i64::MAX)).unwrap_or(TimeDelta::MAX)
}

fn check_log(evidence: &HeadEvidence, head: &str) -> Vec<CheckLogEntry> {
    let ended = evidence.checks.iter().filter_map(|(name, check)| Some((name, check.evidence()?)));
    ended
        .map(|(name, found)| CheckLogEntry {
            check: name.clone(),
            reason: format!("head {head}"),
            started_at: found.started_at,
            completed_at: found.started_at.and_then(|at| at.checked_add_signed(milliseconds(found.duration_ms))),
            duration_ms: found.duration_ms,
            status: found.outcome,
            deliverables: found.reports.iter().map(|report| report.path.clone()).collect(),
            children: Vec::new(),
        })
        .collect()
}
