//! What the head's failures tell whoever mends it: each with its cause, and one thing to do about each.

use std::collections::BTreeSet;

use super::{
    blame::CheckBlame,
    gather::{GatheredCheck, HeadEvidence},
};
use crate::{
    evidence::{Analysis, CheckKind, Failure, framework_of},
    failure::{Blame, CheckContext, ExaminedFailure, FeedbackItem, FeedbackLine},
    ids::{CheckName, Login, RuleId},
    policy::{CheckPolicy, CheckSource, CommandCheck, Policy, Severity},
    state::RejectedIn,
    verdict::{Evaluation, FailureView, RuleFailure, RuleOutcome},
};

/// Failures of one check that are looked into at most.
const MOST_OF_A_CHECK: usize = 200;

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
        let kept = &blame.examined[..blame.examined.len().min(MOST_OF_A_CHECK)];
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

/// One thing for whoever mends the head.
#[derive(Clone, Debug, PartialEq)]
pub enum FeedbackFact {
    /// A failure, as its analysis tells it.
    Failure(FeedbackLine),
    /// A rule that does not hold, with what it says of itself.
    Rule { id: RuleId, description: String, why: RuleFailure },
    /// What a person objects to, in their words.
    Objection { by: Login, of: RejectedIn, words: String },
}

/// Most failures that become feedback; no reader works through more.
const FEEDBACK_LIMIT: usize = 20;

/// What to do about the head: an item per distinct failure, then per failing rule, then what people objected to.
/// `failures` and `examined` are those of [`failures`].
/// Nothing is asked of the author about checks that fail for reasons outside the code.
pub fn feedback(
    failures: &[FailureView],
    examined: &[&ExaminedFailure],
    blames: &[CheckBlame],
    evaluation: &Evaluation,
    objections: Vec<FeedbackFact>,
    policy: &Policy,
) -> Vec<FeedbackFact> {
    let outside = |blame: &&CheckBlame| blame.blame != Blame::PrCode;
    let elsewhere = blames.iter().filter(outside).map(|blame| &blame.check);
    let mut seen = BTreeSet::new();
    let own = failures.iter().zip(examined).filter(|(view, _)| view.blame == Blame::PrCode);
    let distinct = own.filter(|(view, _)| seen.insert(view.failure.fingerprint)).take(FEEDBACK_LIMIT);
    let mut items: Vec<FeedbackFact> =
        distinct.map(|(view, examined)| FeedbackFact::Failure(of_failure(view, examined, policy))).collect();
    let explained: BTreeSet<&str> =
        failures.iter().map(|view| &view.check).chain(elsewhere).map(CheckName::as_str).collect();
    for rule in evaluation.rules.iter().filter(|rule| rule.severity != Severity::Info) {
        if let RuleOutcome::Failed(why) = &rule.outcome
            && !explained.contains(rule.id.as_str())
        {
            items.push(FeedbackFact::Rule {
                id: rule.id.clone(),
                description: rule.description.clone(),
                why: why.clone(),
            });
        }
    }
    items.extend(objections);
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
        framework: command.map(framework_of),
        command,
        directory,
    });
    let mut line: FeedbackLine = FeedbackItem::of_examined(&view.failure, examined, context.as_ref()).into();
    if view.failure.analysis.is_some() {
        (line.problem, line.action) = (view.root_cause.clone(), sentence(&view.fix_strategy));
    }
    line
}

fn command_of(check: &CheckPolicy) -> Option<&CommandCheck> {
    match &check.source {
        CheckSource::Command(command) => Some(command),
        CheckSource::External(_) => None,
    }
}

/// A clause as a sentence.
pub fn sentence(clause: &str) -> String {
    let mut letters = clause.chars();
    let first: String = letters.next().map(|letter| letter.to_uppercase().collect()).unwrap_or_default();
    format!("{first}{}.", letters.as_str().trim_end_matches('.'))
}
