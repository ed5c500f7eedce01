//! One decision in the making: the state as it becomes, step by step, and the history lines on the way.

use serde_json::{Map, Value, json};

use super::{
    attempt::{self, CheckBlame},
    begin, call, capability,
    decision::{
        CheckStanding, CommandReply, Compare, Evaluation, EvaluationVerdict, FailureView, NextAction, RuleOutcome,
    },
    describe,
    escalation::{EscalationAction, Trigger},
    evidence::RetryClass,
    failure::{self, Blame},
    gate::{self, GateReport},
    gatekeeping,
    gather::{self, HeadEvidence},
    history::{Event, EventStatus, HistoryLine},
    ids::{CheckName, Timestamp},
    policy::{Phase, Policy, Rule, Severity},
    retry::{self, Judgement},
    review,
    snapshot::{Lifecycle, Snapshot},
    stage::{Stage, StageStatus},
    state::{
        Answered, AttemptDigest, BestAttempt, CheckLogEntry, CriteriaRule, EvaluationSummary, FailureLog,
        FailureRecord, LastVerification, LoopState, PhaseCriteria, RunStatus, SeenHead, StageEvidence, StopReason,
        VerificationResult,
    },
    walk::Walk,
};

/// One decision in the making: the state as it becomes, and the events on the way.
pub(super) struct Run<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) policy: &'a Policy,
    pub(super) now: Timestamp,
    before: &'a LoopState,
    pub(super) next: LoopState,
    events: Vec<HistoryLine>,
}

/// The head's attempt, when its verification has ended.
pub(super) struct Counted {
    pub(super) digest: AttemptDigest,
    pub(super) compare: Compare,
    /// Whether it is new, or its evidence was replaced.
    pub(super) is_news: bool,
}

impl<'a> Run<'a> {
    pub(super) fn continuing(
        snapshot: &'a Snapshot,
        before: &'a LoopState,
        policy: &'a Policy,
        now: Timestamp,
    ) -> Self {
        let mut run = Self { snapshot, policy, now, before, next: before.clone(), events: Vec::new() };
        if before.first_seen_heads.is_empty() {
            run.happened(Event::RunStarted, json!({ "title": snapshot.pull_request.title }));
        }
        run
    }

    /// Appends a line to the history.
    pub(super) fn happened(&mut self, event: Event, payload: Value) {
        let Value::Object(payload) = payload else { return };
        self.push_event(event, payload);
    }

    pub(super) fn push_event(&mut self, event: Event, payload: Map<String, Value>) {
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
    pub(super) fn see(&mut self, sighting: Option<SeenHead>) {
        let Some(seen) = sighting else { return };
        let is_new_head = self.next.first_seen_heads.iter().all(|before| before.sha != seen.sha);
        if is_new_head {
            self.happened(Event::ArtifactCreated, json!({ "head": seen.sha }));
        }
        self.next.first_seen_heads.push(seen);
    }

    pub(super) fn head_since(&self) -> Timestamp {
        let head = self.snapshot.pull_request.head.sha;
        self.next.first_seen_heads.iter().find(|seen| seen.sha == head).map_or(self.now, |seen| seen.at)
    }

    pub(super) fn describe_pull_request(&mut self) {
        let pull_request = &self.snapshot.pull_request;
        let next = &mut self.next;
        next.title.clone_from(&pull_request.title);
        next.branch.clone_from(&pull_request.head.branch);
        next.base_ref.clone_from(&pull_request.base.branch);
        next.head_sha = pull_request.head.sha;
        next.base_sha = pull_request.base.sha;
        next.policy_sha = self.policy.origin.commit();
        next.linked_issues = describe::linked_issues(&pull_request.body);
        next.agent = describe::agent(pull_request);
        next.code_artifact = describe::artifact(self.snapshot);
        next.capabilities = capability::read(&pull_request.body);
        next.execution_config = begin::execution_config(self.policy);
        next.retry_policy = begin::retry_policy(self.policy);
        next.max_iterations = self.policy.retry.max_attempts;
        next.prepared_checks = self.policy.verify.checks.keys().cloned().collect();
        next.iteration =
            next.attempt_of(pull_request.head.sha).map_or_else(|| attempt::next_number(next), |attempt| attempt.number);
    }

    pub(super) fn switch_phase(&mut self, evaluation: &Evaluation) {
        if self.next.phase != evaluation.phase {
            self.next.phase = evaluation.phase;
            self.happened(Event::PhaseSwitched, json!({ "to": evaluation.phase }));
        }
    }

    /// Counts the head as an attempt once its verification has ended, or replaces the evidence of a head that was
    /// counted before.
    pub(super) fn count_attempt(
        &mut self,
        evidence: &HeadEvidence,
        evaluation: &Evaluation,
        blames: &[CheckBlame],
    ) -> Option<Counted> {
        if self.snapshot.pull_request.lifecycle != Lifecycle::Open {
            return None;
        }
        let result = attempt::result(evidence, evaluation, blames)?;
        let digest = attempt::digest(self.snapshot, &self.next, evidence, evaluation, result, blames, self.now);
        let compare = attempt::compare(&self.next.attempts, &digest);
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
            let passed = digest.result == VerificationResult::Pass;
            self.happened(
                Event::EvaluationDone,
                json!({ "attempt": digest.number, "head": digest.head_sha, "score": evaluation.score, "passed": passed,
                        "failed_rules": digest.failed_rules }),
            );
        }
        Some(Counted { digest, compare, is_news })
    }

    pub(super) fn remember_failures(&mut self, judgement: &Judgement, failures: &[FailureView], stage: Stage) {
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
                        fingerprint: failure::fingerprint(&view.failure),
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

    /// Releases a cause that no longer stands and records a new one. True when a human is called by this decision.
    pub(super) fn call_or_release(&mut self, judgement: &Judgement, blames: &[CheckBlame]) -> bool {
        if self.snapshot.pull_request.lifecycle != Lifecycle::Open
            || self.next.stop.reason == Some(StopReason::UserStop)
        {
            return false;
        }
        if let Some(blocked) = &self.next.blocked
            && !call::still_stands(blocked, &self.next)
        {
            self.next.blocked = None;
        }
        let mut triggers = judgement.triggers.clone();
        let outside = |blame: &CheckBlame| matches!(blame.blame, Blame::Infrastructure | Blame::Inconclusive);
        if blames.iter().any(outside) && self.is_external_overdue() {
            triggers.insert(Trigger::ExternalDependencyDown);
        }
        let stopping = call::stopping(&triggers, &self.policy.escalation);
        if self.next.blocked.is_some() || stopping.is_empty() {
            return false;
        }
        self.next.blocked = call::block(&stopping, &self.next, self.now);
        self.happened(Event::Escalated, json!({ "triggers": stopping, "pattern": judgement.pattern }));
        true
    }

    /// An external failure escalates when it lasts more than an hour past the time evidence is waited for, counted
    /// anew from a resume.
    pub(super) fn is_external_overdue(&self) -> bool {
        self.now >= self.external_deadline()
    }

    pub(super) fn external_deadline(&self) -> Timestamp {
        let resumed = self.next.resumes.iter().map(|resume| resume.at).max();
        let since = resumed.map_or(self.head_since(), |resumed| resumed.max(self.head_since()));
        since + self.policy.retry.evidence_timeout + chrono::TimeDelta::hours(1)
    }

    pub(super) fn keep_gates(&mut self, outcome: &gatekeeping::Outcome) {
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
    pub(super) fn rejections(&self, gates: &[GateReport], review: &review::ReviewStanding) -> Vec<(String, String)> {
        let of_gates = gates.iter().filter_map(|gate| match &gate.standing {
            gate::GateStanding::Rejected { by, words, .. } if gate.is_closed() => {
                Some((format!("@{by} ({} gate)", gate.name), words.clone()))
            }
            _ => None,
        });
        let of_review = match review {
            review::ReviewStanding::Rejected { by, words } => Some((format!("@{by} (review)"), words.clone())),
            _ => None,
        };
        of_gates.chain(of_review).collect()
    }

    /// Answers given on this head.
    pub(super) fn replies(&self) -> Vec<CommandReply> {
        let of = |answered: &Answered| {
            let on_head = answered.answers.iter().filter(|answer| answer.head_sha == self.next.head_sha);
            on_head.map(|answer| CommandReply { source: answered.source, answer: answer.clone() }).collect::<Vec<_>>()
        };
        self.next.answered.iter().flat_map(of).collect()
    }

    /// Writes the outcome into the state: stage, status, stop reason, summary of the evaluation.
    #[expect(clippy::too_many_arguments, reason = "the one place where everything derived comes together")]
    pub(super) fn settle(
        &mut self,
        action: &NextAction,
        evaluation: &Evaluation,
        evidence: &HeadEvidence,
        stage_walk: &Walk,
        evidence_walk: &Walk,
        gates: &[GateReport],
        rules: &[Rule],
    ) {
        let stage = match action {
            NextAction::Complete => Stage::Complete,
            _ => stage_walk.reached,
        };
        if stage != self.next.state {
            self.next.state = stage;
            self.next.state_entered_at = self.now;
        }
        self.settle_stages(stage, evidence);
        self.next.evaluation = Some(EvaluationSummary {
            score: evaluation.score,
            passed: evaluation.passed(),
            failed_rules: evaluation.failed_rules(),
            warnings: evaluation.warnings(),
        });
        self.settle_criteria(rules);
        let given_up = retry::has_given_up(
            &retry::judge(&self.next.attempts, &self.next.resumes, &self.policy.retry),
            &self.policy.retry,
        );
        if matches!(action, NextAction::Complete) {
            self.complete(evaluation, gates);
        } else {
            self.next.status = self.status(action, given_up, evidence_walk);
        }
        self.settle_stop(action, evaluation, given_up);
        self.status_events();
    }

    pub(super) fn status(&self, action: &NextAction, given_up: bool, evidence_walk: &Walk) -> RunStatus {
        let aborts = self.next.blocked.as_ref().is_some_and(|blocked| {
            call::action_of(blocked.trigger, &self.policy.escalation) == EscalationAction::AbortWithReport
        });
        match action {
            NextAction::Stopped if given_up => RunStatus::Failed,
            NextAction::Stopped => RunStatus::Stopped,
            _ if aborts => RunStatus::Aborted,
            NextAction::Escalate { .. } | NextAction::WaitForHuman { .. } => RunStatus::Escalated,
            _ if evidence_walk.reached >= Stage::Document => RunStatus::Passed,
            _ => RunStatus::InProgress,
        }
    }

    pub(super) fn settle_stages(&mut self, reached: Stage, evidence: &HeadEvidence) {
        let now = self.now;
        for stage in Stage::ALL {
            let record = self.next.stages.entry(stage).or_default();
            let status = match stage.cmp(&reached) {
                std::cmp::Ordering::Less => StageStatus::Complete,
                std::cmp::Ordering::Equal if stage == Stage::Complete => StageStatus::Complete,
                std::cmp::Ordering::Equal => StageStatus::InProgress,
                std::cmp::Ordering::Greater => StageStatus::Pending,
            };
            if record.status == status {
                continue;
            }
            record.status = status;
            match status {
                StageStatus::Pending => (record.started_at, record.completed_at) = (None, None),
                StageStatus::InProgress => (record.started_at, record.completed_at) = (Some(now), None),
                StageStatus::Complete | StageStatus::Skipped => {
                    record.started_at = record.started_at.or(Some(now));
                    record.completed_at = Some(now);
                }
            }
        }
        let names = |wanted: fn(&gather::GatheredCheck) -> bool| -> Vec<CheckName> {
            evidence.checks.iter().filter(|(_, check)| wanted(check)).map(|(name, _)| name.clone()).collect()
        };
        self.next.stage_evidence.clear();
        self.next.stage_evidence.insert(
            reached,
            StageEvidence {
                required: evidence.checks.keys().cloned().collect(),
                completed: names(|check| check.evidence().is_some_and(|found| !found.outcome.is_failure())),
                skipped: names(|check| matches!(check.standing, CheckStanding::Skipped { .. })),
            },
        );
    }

    pub(super) fn settle_criteria(&mut self, rules: &[Rule]) {
        let thresholds = self.policy.evaluate.thresholds;
        let criteria = &mut self.next.criteria;
        criteria.phase = [(Phase::A, vec![Phase::A]), (Phase::B, vec![Phase::A, Phase::B])]
            .map(|(phase, active_levels)| (phase, PhaseCriteria { threshold: thresholds.of(phase), active_levels }))
            .into();
        criteria.rules = rules
            .iter()
            .map(|rule| CriteriaRule {
                id: rule.id.clone(),
                description: rule.description.clone(),
                severity: rule.severity,
                weight: rule.weight,
                phase: rule.phase,
            })
            .collect();
    }

    /// Merged: what was merged over is named, once.
    pub(super) fn complete(&mut self, evaluation: &Evaluation, gates: &[GateReport]) {
        if self.before.status == RunStatus::Completed {
            return;
        }
        let open_gates = gates.iter().filter(|gate| gate.is_closed()).map(|gate| format!("{} gate", gate.name));
        let failing = evaluation
            .rules
            .iter()
            .filter(|rule| rule.severity == Severity::Fail && matches!(rule.outcome, RuleOutcome::Failed { .. }));
        self.next.bypassed = open_gates.chain(failing.map(|rule| format!("{} rule", rule.id))).collect();
        self.next.status = RunStatus::Completed;
        self.next.blocked = None;
        if !self.next.bypassed.is_empty() {
            let by = match &self.snapshot.pull_request.lifecycle {
                Lifecycle::Merged { by, .. } => by.clone(),
                _ => None,
            };
            self.happened(Event::MergedWithOpenGates, json!({ "bypassed": self.next.bypassed, "by": by }));
        }
    }

    pub(super) fn settle_stop(&mut self, action: &NextAction, evaluation: &Evaluation, given_up: bool) {
        if self.next.stop.reason == Some(StopReason::UserStop) {
            return;
        }
        use EvaluationVerdict::Passed;
        self.next.stop.passed = evaluation.passed();
        self.next.stop.reason = match (&evaluation.verdict, self.next.blocked.as_ref().map(|blocked| blocked.trigger)) {
            (Passed(reason), _) if matches!(self.next.status, RunStatus::Passed | RunStatus::Completed) => {
                Some(*reason)
            }
            (_, Some(Trigger::Stagnation)) => Some(StopReason::Stagnation),
            (_, Some(Trigger::MaxAttemptsReached | Trigger::SameError | Trigger::TotalFailures)) => {
                Some(StopReason::IterationLimit)
            }
            _ if given_up && matches!(action, NextAction::Stopped) => Some(StopReason::IterationLimit),
            _ => None,
        };
    }

    pub(super) fn status_events(&mut self) {
        let (was, is) = (self.before.status, self.next.status);
        if was == is {
            return;
        }
        let event = match is {
            RunStatus::Completed => Event::Completed,
            RunStatus::Stopped => Event::Stopped,
            RunStatus::Failed | RunStatus::Aborted => Event::Failed,
            RunStatus::InProgress | RunStatus::Passed | RunStatus::Escalated => return,
        };
        self.happened(event, json!({ "from": was, "reason": self.next.stop.reason, "words": self.next.stop.words }));
    }

    /// The state to save. A decision that changed nothing leaves its time of change alone.
    pub(super) fn finish(mut self) -> (LoopState, Vec<HistoryLine>) {
        if self.next != *self.before || !self.events.is_empty() {
            self.next.updated_at = self.now;
        }
        (self.next, self.events)
    }
}

fn check_log(evidence: &HeadEvidence, head: &str) -> Vec<CheckLogEntry> {
    let ended = evidence.checks.iter().filter_map(|(name, check)| Some((name, check.evidence()?)));
    ended
        .map(|(name, found)| CheckLogEntry {
            check: name.clone(),
            reason: format!("head {head}"),
            started_at: None,
            completed_at: None,
            duration_ms: found.duration_ms,
            status: found.outcome,
            deliverables: found.reports.iter().map(|report| report.path.clone()).collect(),
            children: Vec::new(),
        })
        .collect()
}
