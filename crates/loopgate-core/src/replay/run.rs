//! One run, judged again.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use crate::{
    attempts::{attempt, retry},
    deciding::{CheckEnd, ReplayBasis},
    escalation::escalation_call,
    evidence::{ChangedCoverage, CheckEvidence, Finding, RetryClass},
    failure::Blame,
    gate::{self, Holding, Opening},
    ids::{AppId, CheckName, GateName, Login, RuleId, Sha, Timestamp, UserId},
    observed::{
        Account, AccountKind, AppIdentity, Authority, Base, CheckScope, Head, Lifecycle, PullRequest, Snapshot,
    },
    policy::{Baseline, CoverageTarget, Mode, PassingTests, Phase, Policy, RuleCheck, Trigger},
    state::{
        AnswerOutcome, AttemptDigest, CommandRefusal, LoopState, Resume,
        history::{Event, HistoryLine, Resumed},
    },
    verdict::{
        CheckStanding,
        blame::CheckBlame,
        coverage::{MissingTests, TestStanding},
        evaluate,
        gather::{GatheredCheck, HeadEvidence, OnBase},
    },
};

/// A run as its documents hold it.
#[derive(Clone, Debug)]
pub struct RecordedRun {
    pub state: LoopState,
    pub history: Vec<HistoryLine>,
    /// By their number.
    pub attempts: BTreeMap<u32, RecordedAttempt>,
}

/// What `attempts/NNN.json` has for judging the attempt again.
#[derive(Clone, Debug, Deserialize)]
pub struct RecordedAttempt {
    pub checks: Vec<CheckEvidence>,
    pub coverage: Option<ChangedCoverage>,
    /// None in records of before it was kept.
    pub basis: Option<ReplayBasis>,
}

/// What a run would have come to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replayed {
    pub gates: BTreeSet<GateName>,
    pub attempts: Vec<AttemptDigest>,
    /// Who was called for what, at which attempt.
    pub calls: Vec<(Trigger, u32)>,
    pub unknown: BTreeSet<Unreplayable>,
}

/// What the record of a run does not tell.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unreplayable {
    /// It was written before attempts kept what this needs.
    OldRecord,
    /// There was no such check.
    Check(CheckName),
    /// The gate asks for something that nobody asked then, or of files that were too many to keep.
    Gate(GateName),
    /// The rule asks for something that nobody asked then.
    Rule(RuleId),
}

/// Judges a run again. `held` are gates that held in any recorded run: who approves a preset is not in the record.
pub fn replay(run: &RecordedRun, policy: &Policy, held: &BTreeSet<GateName>) -> Replayed {
    let mut told = Replayed::default();
    let mut state = LoopState {
        attempts: Vec::new(),
        blocked: None,
        resumes: Vec::new(),
        past_causes: Vec::new(),
        phase: Phase::A,
        ..run.state.clone()
    };
    let mut words = resume_words(run).into_iter().peekable();
    for recorded in &run.state.attempts {
        while let Some(word) = words.next_if(|word| word.at <= recorded.at) {
            resume(&mut state, word, policy);
        }
        let kept = run.attempts.get(&recorded.number);
        let Some((kept, basis)) = kept.and_then(|kept| Some((kept, kept.basis.as_ref()?))) else {
            told.unknown.insert(Unreplayable::OldRecord);
            state.attempts.push(recorded.clone());
            continue;
        };
        state.head_sha = recorded.head_sha;
        let mut evidence = evidence(kept, basis, policy, &mut told.unknown);
        let snapshot = snapshot(&state, recorded.head_sha, basis);
        let findings: Vec<Finding> = evidence.findings().cloned().collect();
        open_gates(&mut told, basis, &snapshot, &findings, policy, held);
        let judged = judge(recorded, basis, &mut evidence, &snapshot, policy, &mut state, &mut told.unknown);
        let Some(judged) = judged else { continue };
        state.attempts.push(judged);
        told.calls.extend(call(&mut state, basis, policy, recorded.at));
    }
    told.attempts = state.attempts;
    told
}

/// Every time somebody said `/loop resume` and had the right to, also where there was nothing to resume then: such a word
/// is known by its head, so it counts right after that head's attempt.
fn resume_words(run: &RecordedRun) -> Vec<Resume> {
    let word = |by: &Login, at| Resume { after_attempt: 0, by: by.clone(), by_id: UserId::new(0), at, settled: None };
    let heeded = run.history.iter().filter_map(|line| match &line.event {
        Event::Resumed(Resumed::PullRequest { by, .. } | Resumed::LocalLoop { by, .. }) => Some(word(by, line.ts)),
        _ => None,
    });
    let answers = run.state.answered.iter().flat_map(|answered| &answered.answers);
    let refused = answers.filter_map(|answer| {
        let in_vain = answer.outcome == AnswerOutcome::Refused(CommandRefusal::NothingToResume);
        let attempt = run.state.attempts.iter().rfind(|attempt| attempt.head_sha == answer.head_sha)?;
        in_vain.then(|| word(&answer.by, attempt.at + TimeDelta::seconds(1)))
    });
    let mut words: Vec<Resume> = heeded.chain(refused).collect();
    words.sort_by_key(|word| word.at);
    words
}

/// A resume counts where somebody was called, or the run had given up.
fn resume(state: &mut LoopState, word: Resume, policy: &Policy) {
    let judgement = retry::judge(&state.attempts, &state.resumes, &policy.retry);
    if state.blocked.is_some() || retry::has_given_up(&judgement, &policy.retry) {
        let after_attempt = state.attempts.last().map_or(0, |last| last.number);
        state.resumes.push(Resume { after_attempt, ..word });
        state.blocked = None;
    }
}

/// The attempt as the policy judges it; none where nothing is known of the code.
fn judge(
    recorded: &AttemptDigest,
    basis: &ReplayBasis,
    evidence: &mut HeadEvidence,
    snapshot: &Snapshot,
    policy: &Policy,
    state: &mut LoopState,
    unknown: &mut BTreeSet<Unreplayable>,
) -> Option<AttemptDigest> {
    if policy.retry.passing_tests == PassingTests::Shown {
        evidence.excuse(&evidence.failing_tests());
    }
    let blames: Vec<CheckBlame> = evidence
        .failing()
        .into_iter()
        .map(|check| {
            let known = basis.checks.get(&check);
            let (blame, class) = known.map_or((None, None), |known| (known.blame, known.class));
            CheckBlame {
                check,
                blame: blame.unwrap_or(Blame::PrCode),
                class: class.unwrap_or(RetryClass::Code),
                of_failures: Vec::new(),
                examined: Vec::new(),
            }
        })
        .collect();
    if policy.retry.baseline == Baseline::New {
        evidence.excuse(blames.iter().filter(|blame| blame.blame == Blame::Base).map(|blame| &blame.check));
    }
    let rules = evaluate::rules(policy, basis.code_type);
    unknown
        .extend(rules.iter().filter(|rule| !basis.line_rules.know(rule)).map(|it| Unreplayable::Rule(it.id.clone())));
    if policy.coverage.target(basis.code_type) == CoverageTarget::MatchBase && basis.coverage_on_base.is_none() {
        let rule = rules.iter().find(|rule| matches!(rule.check, RuleCheck::CoverageKept));
        unknown.extend(rule.filter(|_| evidence.coverage.is_some()).map(|it| Unreplayable::Rule(it.id.clone())));
    }
    let evaluation = evaluate::evaluate(&snapshot.files, evidence, policy, &rules, state.phase);
    state.phase = evaluation.phase;
    let result = attempt::result(evidence, &evaluation, &blames)?;
    let prints =
        |blame: &CheckBlame| basis.checks.get(&blame.check).map(|check| check.fingerprints.clone()).unwrap_or_default();
    Some(attempt::judged_again(recorded, evidence, &evaluation, result, &blames, prints))
}

/// Whom the attempts so far call, if nobody is waited for already.
fn call(state: &mut LoopState, basis: &ReplayBasis, policy: &Policy, at: Timestamp) -> Option<(Trigger, u32)> {
    if let Some(blocked) = &state.blocked {
        if escalation_call::still_stands(blocked, state, policy, at) {
            return None;
        }
        state.blocked = None;
    }
    let judgement = retry::judge(&state.attempts, &state.resumes, &policy.retry);
    let mut causes: BTreeSet<Trigger> = judgement.causes.keys().copied().collect();
    causes.extend(basis.tampered.then_some(Trigger::Tampering));
    let stopping = escalation_call::stopping(causes.iter(), &policy.escalation);
    state.blocked = escalation_call::block(&stopping, state, at);
    state.blocked.as_ref().map(|blocked| (blocked.trigger, blocked.attempt))
}

fn open_gates(
    told: &mut Replayed,
    basis: &ReplayBasis,
    snapshot: &Snapshot,
    findings: &[Finding],
    policy: &Policy,
    held: &BTreeSet<GateName>,
) {
    for (name, opening) in basis.diff.openings(snapshot, findings, policy) {
        let Some(gate) = policy.gates.get(&name) else { continue };
        let holding = gate::holding(gate, policy.mode, &snapshot.repository, &Authority::default());
        let holds = holding == Holding::Holds || policy.mode == Mode::Hybrid && held.contains(&name);
        match opening {
            Opening::Opens if holds => {
                told.gates.insert(name);
            }
            Opening::NotRecorded if holds => {
                told.unknown.insert(Unreplayable::Gate(name));
            }
            Opening::Opens | Opening::NotRecorded | Opening::StaysClosed => {}
        }
    }
}

/// The evidence of the checks that this policy asks for, as far as it was recorded.
fn evidence(
    kept: &RecordedAttempt,
    basis: &ReplayBasis,
    policy: &Policy,
    unknown: &mut BTreeSet<Unreplayable>,
) -> HeadEvidence {
    let mut evidence = HeadEvidence::of_checks([], kept.coverage.clone());
    for (name, check) in &policy.verify.checks {
        let found = kept.checks.iter().find(|found| found.name == *name);
        let standing = match (found, basis.checks.get(name).map(|check| check.end)) {
            (Some(found), Some(CheckEnd::Evidence)) => CheckStanding::Done(Box::new(found.clone())),
            (_, Some(CheckEnd::None)) => CheckStanding::TimedOutWaiting,
            // A skip satisfies, and is no evidence: as one that is not there.
            (_, Some(CheckEnd::Skipped)) => continue,
            (_, Some(CheckEnd::Evidence) | None) => {
                unknown.insert(Unreplayable::Check(name.clone()));
                continue;
            }
        };
        let gathered = GatheredCheck { kind: check.kind, standing, baseline: OnBase::Counts };
        evidence.checks.insert(name.clone(), gathered);
    }
    let missing = || TestStanding::Missing(MissingTests::Named { patterns: Vec::new() });
    let standing = |there| if there { TestStanding::There } else { missing() };
    evidence.required_tests = basis.required_tests.iter().map(|(sort, there)| (*sort, standing(*there))).collect();
    evidence.coverage_on_base = basis.coverage_on_base;
    evidence.line_rules = Some(basis.line_rules.clone());
    evidence
}

/// The pull request as far as gates and rules look at it.
fn snapshot(state: &LoopState, head: Sha, basis: &ReplayBasis) -> Snapshot {
    let nobody = UserId::new(0);
    let pull_request = PullRequest {
        number: state.pull_request.unwrap_or(crate::ids::PrNumber::new(0)),
        title: state.title.clone(),
        body: String::new(),
        author: Account { id: nobody, login: basis.author.clone(), kind: AccountKind::User },
        lifecycle: Lifecycle::Open,
        readiness: basis.readiness,
        head: Head { sha: head, tree: head, branch: state.branch.clone(), repository: None, known_since: None },
        base: Base {
            branch: basis.base_branch.clone(),
            sha: state.base_sha,
            scope: CheckScope::DefaultBranch,
            open_pattern: None,
        },
        labels: basis.labels.clone(),
        declared_type: None,
        requested_users: BTreeSet::new(),
        requested_teams: BTreeSet::new(),
        created_at: state.created_at,
        closed_at: None,
        url: String::new(),
    };
    let app = AppIdentity { id: AppId::new(0), bot: basis.author.clone(), bot_id: None };
    Snapshot::of_files(state.repository.clone(), app, pull_request, basis.diff.changed_files())
}
