//! An attempt: the head commit once its verification has ended, with blame, comparison and analysis.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    begin, comparison,
    decision::{CheckStanding, Evaluation, FailureView, FeedbackLine, RuleOutcome},
    describe,
    evaluate::COVERAGE_RULE,
    evidence::{CheckEvidence, CheckKind, Failure, RetryClass},
    failure::{
        self, Analysis, Blame, Changes, CheckContext, Circumstances, ExaminedCheck, ExaminedFailure, FeedbackItem,
        Verdict, cut_at_sentence,
    },
    gate::{GateReport, GateStanding},
    gather::{GatheredCheck, HeadEvidence},
    ids::{CheckName, Fingerprint, RuleId, Timestamp},
    policy::{CheckPolicy, CheckSource, CommandCheck, Policy, Severity},
    review::ReviewStanding,
    roster::TestId,
    snapshot::{BaseEvidence, ChangedFiles, Snapshot},
    state::{AttemptDigest, Lacking, LoopState, RejectedIn, Rejection, VerificationResult},
};

/// Most names and fingerprints kept of one attempt.
const KEPT_PER_ATTEMPT: usize = 200;

/// Lines at the end of a log that tell one silent failure from another.
const LAST_WORDS: usize = 5;

/// What one failing check comes down to.
#[derive(Clone, Debug)]
pub struct CheckBlame {
    pub check: CheckName,
    pub blame: Blame,
    pub class: RetryClass,
    /// Of each failure the check kept, in their order.
    pub of_failures: Vec<Verdict>,
    /// Of the same. What the evidence itself says of their fingerprints is not believed.
    pub examined: Vec<ExaminedFailure>,
}

/// Blames every failing check of the head. `flaky` names the tests that failed and passed on it. The failures are
/// examined among the files of `changes`; no blame depends on these.
pub fn blames(
    evidence: &HeadEvidence,
    changes: &Changes,
    base: Option<&BaseEvidence>,
    flaky: &BTreeSet<String>,
) -> Vec<CheckBlame> {
    let failing = evidence.checks.iter().filter(|(_, check)| check.has_failed());
    failing
        .map(|(name, check)| {
            let base = base.and_then(|base| base.checks.get(name));
            let circumstances = Circumstances { base, flaky: Some(flaky) };
            let examined = check.evidence().map(|evidence| ExaminedCheck::new(evidence, changes));
            CheckBlame {
                check: name.clone(),
                blame: blame_of(check, examined.as_ref(), &circumstances),
                class: class_of(check, examined.as_ref()),
                of_failures: examined.as_ref().map(|check| check.blame_failures(&circumstances)).unwrap_or_default(),
                examined: examined.map(ExaminedCheck::into_failures).unwrap_or_default(),
            }
        })
        .collect()
}

impl CheckBlame {
    /// The blame of the failure at this place. Where the check is the pull request's own although each failure it kept
    /// is not, they all are: what was only counted can be anybody's.
    fn of_failure(&self, index: usize) -> (Blame, f64) {
        let own = |verdict: &&Verdict| verdict.blame == self.blame;
        match self.of_failures.get(index) {
            Some(verdict) if self.of_failures.iter().find(own).is_some() => {
                (verdict.blame, verdict.confidence.as_f64())
            }
            _ => (self.blame, UNSURE),
        }
    }
}

/// Confidence in a blame that nothing speaks for or against.
const UNSURE: f64 = 0.5;

fn class_of(check: &GatheredCheck, examined: Option<&ExaminedCheck<'_>>) -> RetryClass {
    match (&check.standing, examined) {
        (CheckStanding::TimedOutWaiting | CheckStanding::NotStarted { .. }, _) => RetryClass::External,
        (CheckStanding::Done(_), Some(examined)) => examined.retry_class(),
        _ => RetryClass::Code,
    }
}

fn blame_of(check: &GatheredCheck, examined: Option<&ExaminedCheck<'_>>, circumstances: &Circumstances<'_>) -> Blame {
    match (&check.standing, examined) {
        (CheckStanding::Refused { .. }, _) => Blame::Inconclusive,
        // An edited workflow file may be invalid: running the same one again would start as little.
        (CheckStanding::NotStarted { edited_workflows, .. }, _) if !edited_workflows.is_empty() => Blame::Inconclusive,
        // A scanner that exits with 0 fails by its findings, and those are the pull request's own.
        (CheckStanding::Done(_), Some(examined)) => {
            examined.blame(circumstances).map_or(Blame::PrCode, |verdict| verdict.blame)
        }
        _ => Blame::Infrastructure,
    }
}

/// The failures of the head, each with its blame and analysis, the most telling first: compile errors, then
/// regressions, then the rest, and the pull request's own before others'. Beside them, in the same order, what came of
/// examining each.
pub fn failures<'b>(
    evidence: &HeadEvidence,
    blames: &'b [CheckBlame],
    regressed: &BTreeSet<String>,
) -> (Vec<FailureView>, Vec<&'b ExaminedFailure>) {
    let mut found: Vec<(FailureView, &ExaminedFailure)> = Vec::new();
    for blame in blames {
        let Some(check) = evidence.checks.get(&blame.check).and_then(GatheredCheck::evidence) else { continue };
        let kept = &blame.examined[..blame.examined.len().min(KEPT_PER_ATTEMPT)];
        for (index, (failure, examined)) in check.failures.iter().zip(kept).enumerate() {
            let (of_failure, blame_confidence) = blame.of_failure(index);
            let told = failure.analysis.clone().map(Analysis::bounded).filter(Analysis::says_what_to_do);
            let analysis = told.clone().unwrap_or_else(|| examined.analysis(kept));
            let view = FailureView {
                check: blame.check.clone(),
                failure: Failure { fingerprint: Some(examined.fingerprint()), analysis: told, ..failure.clone() },
                blame: of_failure,
                blame_confidence,
                root_cause: analysis.root_cause,
                category: analysis.category,
                fix_strategy: analysis.fix_strategy,
                confidence: analysis.confidence.as_f64(),
                patterns_matched: analysis.patterns_matched,
                related: analysis.related,
            };
            found.push((view, examined));
        }
    }
    let kind = |view: &FailureView| evidence.checks.get(&view.check).map(|check| check.kind);
    found.sort_by_key(|(view, _)| {
        let own = view.blame != Blame::PrCode;
        let compile = kind(view) != Some(CheckKind::Build);
        let regression = !view.failure.test_name.as_ref().is_some_and(|name| regressed.contains(name));
        (own, compile, regression)
    });
    found.into_iter().unzip()
}

/// The files a pull request changes, as failures are mapped to them.
pub fn changes(files: &ChangedFiles) -> Changes {
    Changes::new(files.known().iter().map(failure::ChangedFile::of))
}

/// Most failures that become feedback; no reader works through more.
const FEEDBACK_LIMIT: usize = 20;

/// What to do about the head: an item per distinct failure, then per failing rule, then what people objected to.
/// `failures` and `examined` are those of [`failures`].
/// Nothing is asked of the author about checks that fail for reasons outside the code. What is observed and what is to
/// be done are at most `feedback_max_length` characters each, cut at a sentence: reviewers may write a page.
pub fn feedback(
    failures: &[FailureView],
    examined: &[&ExaminedFailure],
    blames: &[CheckBlame],
    evaluation: &Evaluation,
    rejections: &[(String, String)],
    policy: &Policy,
) -> Vec<FeedbackLine> {
    let outside = |blame: &&CheckBlame| blame.blame != Blame::PrCode;
    let elsewhere = blames.iter().filter(outside).map(|blame| &blame.check);
    let mut seen = BTreeSet::new();
    let own = failures.iter().zip(examined).filter(|(view, _)| view.blame == Blame::PrCode);
    let distinct = own.filter(|(view, _)| seen.insert(view.failure.fingerprint)).take(FEEDBACK_LIMIT);
    let mut items: Vec<FeedbackLine> = distinct.map(|(view, examined)| of_failure(view, examined, policy)).collect();
    let explained: BTreeSet<&str> =
        failures.iter().map(|view| &view.check).chain(elsewhere).map(CheckName::as_str).collect();
    for rule in evaluation.rules.iter().filter(|rule| rule.severity != Severity::Info) {
        if let RuleOutcome::Failed { fix } = &rule.outcome
            && !explained.contains(rule.id.as_str())
        {
            items.push(FeedbackLine {
                location: rule.id.to_string(),
                problem: format!("The rule “{}” does not hold.", rule.description),
                action: sentence(fix),
                reason: "It counts in the score that the loop asks for.".to_owned(),
                reproduce: None,
            });
        }
    }
    items.extend(rejections.iter().map(|(who, words)| FeedbackLine {
        location: who.clone(),
        problem: words.clone(),
        action: "Change what is objected to and push, or answer them and ask for another look.".to_owned(),
        reason: "Their objection stands until they approve or revoke it.".to_owned(),
        reproduce: None,
    }));
    for item in &mut items {
        for text in [&mut item.problem, &mut item.action] {
            *text = cut_at_sentence(text, policy.retry.feedback_max_length);
        }
    }
    items
}

fn of_failure(view: &FailureView, examined: &ExaminedFailure, policy: &Policy) -> FeedbackLine {
    let check = policy.verify.checks.get(&view.check);
    let command = check.and_then(command_of);
    let directory = command.and_then(|command| command.working_directory.as_deref());
    let command = command.map(|command| command.run.as_str());
    let context = check.map(|check| CheckContext {
        name: &view.check,
        kind: check.kind,
        framework: command.map(begin::framework_of),
        command,
        directory,
    });
    let mut line: FeedbackLine = FeedbackItem::of_examined(&view.failure, examined, context.as_ref()).into();
    if view.failure.analysis.is_some() {
        (line.problem, line.action) = (view.root_cause.clone(), sentence(&view.fix_strategy));
    }
    line
}

impl From<FeedbackItem> for FeedbackLine {
    fn from(item: FeedbackItem) -> Self {
        Self {
            location: item.location.to_string(),
            problem: item.problem,
            action: item.action,
            reason: item.reason,
            reproduce: item.reproduce,
        }
    }
}

fn command_of(check: &CheckPolicy) -> Option<&CommandCheck> {
    match &check.source {
        CheckSource::Command(command) => Some(command),
        CheckSource::External(_) => None,
    }
}

/// A clause as a sentence.
fn sentence(clause: &str) -> String {
    let mut letters = clause.chars();
    let first: String = letters.next().map(|letter| letter.to_uppercase().collect()).unwrap_or_default();
    format!("{first}{}.", letters.as_str().trim_end_matches('.'))
}

/// Whether the head passed, failed through its own code, or cannot be judged.
pub fn result(
    evidence: &HeadEvidence,
    evaluation: &Evaluation,
    blames: &[CheckBlame],
) -> Option<(VerificationResult, Option<Blame>)> {
    if !evidence.missing().is_empty() {
        return None;
    }
    if evaluation.passed() {
        return Some((VerificationResult::Pass, None));
    }
    match blames.iter().map(|blame| blame.blame).min() {
        // A score that is short without a failing check is the pull request's own.
        None | Some(Blame::PrCode) => Some((VerificationResult::Fail, Some(Blame::PrCode))),
        Some(Blame::Base) => Some((VerificationResult::Fail, Some(Blame::Base))),
        // Nothing is known of the code: no attempt was made.
        Some(Blame::Flaky | Blame::Infrastructure | Blame::Inconclusive) => None,
    }
}

/// Who turns the head down now and did not cost an earlier attempt with the same words: gates that hold, and a required
/// review.
pub fn rejections(state: &LoopState, gates: &[GateReport], review: &ReviewStanding) -> Vec<Rejection> {
    let of_gates = gates.iter().filter(|gate| gate.is_closed()).filter_map(|gate| match &gate.standing {
        GateStanding::Rejected { by, by_id, at, .. } => {
            let of = RejectedIn::Gate(gate.name.clone());
            Some(Rejection { by: by.clone(), by_id: *by_id, of, at: *at })
        }
        _ => None,
    });
    let of_review = match review {
        ReviewStanding::Rejected { by, by_id, at, .. } => {
            Some(Rejection { by: by.clone(), by_id: *by_id, of: RejectedIn::Review, at: *at })
        }
        _ => None,
    };
    let earlier = |rejection: &Rejection| {
        let others = state.attempts.iter().filter(|attempt| attempt.number != state.iteration);
        others.flat_map(|attempt| &attempt.rejections).any(|known| known == rejection)
    };
    of_gates.chain(of_review).filter(|rejection| !earlier(rejection)).collect()
}

/// The same gate that says no again is the same error again.
fn rejection_print(rejection: &Rejection) -> Fingerprint {
    let of = match &rejection.of {
        RejectedIn::Gate(gate) => format!("{gate} gate"),
        RejectedIn::Review => "review".to_owned(),
    };
    failure::fingerprint(&Failure {
        test_name: Some(of.clone()),
        error_class: Some("rejected".to_owned()),
        error_message: format!("rejected in {of}"),
        ..Failure::default()
    })
}

/// The digest of the head's attempt. A head that was counted before keeps its number and time.
#[expect(clippy::too_many_arguments, reason = "an attempt is everything that is known of a head")]
pub fn digest(
    snapshot: &Snapshot,
    state: &LoopState,
    evidence: &HeadEvidence,
    evaluation: &Evaluation,
    (result, blame): (VerificationResult, Option<Blame>),
    blames: &[CheckBlame],
    rejections: Vec<Rejection>,
    now: Timestamp,
) -> AttemptDigest {
    let head = &snapshot.pull_request.head;
    let before = state.attempt_of(head.sha);
    let own: Vec<&CheckBlame> = blames.iter().filter(|blame| blame.blame == Blame::PrCode).collect();
    let (failures, mut fingerprints): (Vec<&Failure>, BTreeSet<Fingerprint>) = own
        .iter()
        .filter_map(|blame| Some((blame, evidence.checks.get(&blame.check)?.evidence()?)))
        .flat_map(|(blame, check)| {
            let own = move |(index, _): &(usize, _)| blame.of_failure(*index).0 == Blame::PrCode;
            let examined = check.failures.iter().zip(blame.examined.iter().map(ExaminedFailure::fingerprint));
            examined.enumerate().filter(own).map(|(_, failure)| failure)
        })
        .take(KEPT_PER_ATTEMPT)
        .unzip();
    // A check that fails without saying how is still the same error when it fails the same way again.
    for blame in own.iter().filter(|blame| says_nothing(evidence, &blame.check)) {
        fingerprints.insert(failure::fingerprint(&silent_failure(evidence, &blame.check)));
    }
    let lacking = lacking(result, &own, evidence, evaluation);
    fingerprints.extend(rejections.iter().map(rejection_print));
    AttemptDigest {
        number: before.map_or_else(|| next_number(state), |before| before.number),
        head_sha: head.sha,
        tree_hash: describe::tree_hash(head.tree),
        at: before.map_or(now, |before| before.at),
        result,
        blame,
        score: evaluation.score,
        phase: evaluation.phase,
        failed_rules: evaluation.failed_rules(),
        failed_checks: evidence.failing(),
        fingerprints,
        failing_tests: failing_tests(&failures),
        tests: comparison::roster(evidence),
        lacking,
        flaky: BTreeSet::new(),
        regressed: BTreeSet::new(),
        retry_class: own.iter().map(|blame| blame.class).max_by_key(|class| urgency(*class)),
        summary: summary(result, blames, &failures, &rejections, &evaluation.failed_rules()),
        rejections,
    }
}

fn failing_tests(failures: &[&Failure]) -> BTreeMap<String, Option<TestId>> {
    failures.iter().filter_map(|failure| Some((failure.test_name.clone()?, failure.test_id))).collect()
}

/// What a failing head lacks, if it is one thing.
fn lacking(
    result: VerificationResult,
    own: &[&CheckBlame],
    evidence: &HeadEvidence,
    evaluation: &Evaluation,
) -> Option<Lacking> {
    if result == VerificationResult::Pass {
        return None;
    }
    let is_coverage =
        |check: &CheckName| evidence.checks.get(check).is_some_and(|check| check.kind == CheckKind::Coverage);
    let failed = evaluation
        .rules
        .iter()
        .filter(|rule| rule.severity != Severity::Info && matches!(rule.outcome, RuleOutcome::Failed { .. }));
    let mut short = failed.map(|rule| {
        rule.id.as_str() == COVERAGE_RULE || rule.id.as_str().parse().is_ok_and(|check| is_coverage(&check))
    });
    let any = evaluation.rules.iter().any(|rule| matches!(rule.outcome, RuleOutcome::Failed { .. }));
    if any && short.all(|is_coverage| is_coverage) && own.iter().all(|blame| is_coverage(&blame.check)) {
        return Some(Lacking::Coverage);
    }
    let silent = !own.is_empty() && own.iter().all(|blame| says_nothing(evidence, &blame.check));
    silent.then_some(Lacking::Explanation)
}

/// The number of the next attempt to be counted.
pub fn next_number(state: &LoopState) -> u32 {
    state.attempts.last().map_or(state.lost_attempts, |last| last.number) + 1
}

fn says_nothing(evidence: &HeadEvidence, check: &CheckName) -> bool {
    evidence.checks.get(check).and_then(GatheredCheck::evidence).is_none_or(|found| found.failures.is_empty())
}

/// Stands in for a check that failed without one failure in its reports. The end of its log is all that tells one
/// such failure from another.
fn silent_failure(evidence: &HeadEvidence, check: &CheckName) -> Failure {
    let found = evidence.checks.get(check).and_then(GatheredCheck::evidence);
    let log = found.map(last_words).filter(|words| !words.is_empty());
    Failure {
        test_name: Some(check.to_string()),
        error_class: found.map(|found| found.outcome.as_str().to_owned()),
        error_message: log.unwrap_or_else(|| format!("{check} did not pass")),
        ..Failure::default()
    }
}

/// The last lines of a check's output that say anything.
fn last_words(check: &CheckEvidence) -> String {
    let log = if check.log_tail.trim().is_empty() { &check.log_head } else { &check.log_tail };
    let mut lines: Vec<&str> = log.lines().rev().filter(|line| !line.trim().is_empty()).take(LAST_WORDS).collect();
    lines.reverse();
    lines.join("\n")
}

/// Which class decides when several checks fail.
const fn urgency(class: RetryClass) -> u8 {
    match class {
        RetryClass::External => 0,
        RetryClass::Performance => 1,
        RetryClass::Code => 2,
        RetryClass::Logic => 3,
        RetryClass::Security => 4,
    }
}

fn summary(
    result: VerificationResult,
    blames: &[CheckBlame],
    failures: &[&Failure],
    rejections: &[Rejection],
    failed_rules: &[RuleId],
) -> String {
    if result == VerificationResult::Pass {
        let no = |rejection: &Rejection| match &rejection.of {
            RejectedIn::Gate(gate) => format!("{} rejected the {gate} gate", rejection.by),
            RejectedIn::Review => format!("{} asked for changes", rejection.by),
        };
        let all: Vec<String> = rejections.iter().map(no).collect();
        return if all.is_empty() { "all required checks pass".to_owned() } else { all.join(", ") };
    }
    let checks = blames.iter().map(|blame| blame.check.as_str()).collect::<Vec<_>>().join(", ");
    let one = |value: &str| value.lines().next().unwrap_or_default().chars().take(60).collect::<String>();
    let first = failures.first().map(|failure| {
        let message = match (&failure.expected, &failure.actual) {
            // Frameworks say here no more than that two values differ.
            (Some(expected), Some(actual)) => format!("expected {}, got {}", one(expected), one(actual)),
            _ => failure.error_message.lines().next().unwrap_or_default().to_owned(),
        };
        let message: String = message.chars().take(160).collect();
        let named = failure.test_name.as_deref().filter(|name| !message.contains(name));
        let named = named.map(|name| format!("{} — ", name.chars().take(120).collect::<String>())).unwrap_or_default();
        format!("{named}{message}")
    });
    match (checks.as_str(), first) {
        ("", _) if !failed_rules.is_empty() => {
            failed_rules.iter().take(5).map(ToString::to_string).collect::<Vec<_>>().join(", ")
        }
        ("", _) => "the score is short".to_owned(),
        (checks, None) => checks.to_owned(),
        (checks, Some(first)) => format!("{checks}: {first}"),
    }
}

/// Puts the digest in its place and keeps rosters of tests for the two newest attempts only.
pub fn record(attempts: &mut Vec<AttemptDigest>, digest: AttemptDigest) {
    match attempts.last_mut().filter(|last| last.number == digest.number) {
        Some(same) => *same = digest,
        None => attempts.push(digest),
    }
    let old = attempts.len().saturating_sub(2);
    for attempt in &mut attempts[..old] {
        attempt.tests = None;
    }
}
