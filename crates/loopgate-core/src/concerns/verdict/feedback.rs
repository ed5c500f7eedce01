//! The feedback on a head: each failure with its cause, and one thing to do about it.

use std::collections::{BTreeMap, BTreeSet};

use super::blame::CheckBlame;
use crate::{
    concerns::{
        checks::gather::HeadEvidence,
        verdict::{FailureView, RuleFailure, RuleOutcome, Verification},
    },
    evidence::{Analysis, CheckKind, Failure, mention_place},
    failure::{Blame, CheckContext, ExaminedFailure, FeedbackLine, Touch},
    ids::{CheckName, Login, RuleId},
    policy::{CheckSource, Policy, Severity},
    state::{Dispute, RejectedIn},
};

/// Failures of one check that are looked into at most.
const MOST_OF_A_CHECK: usize = 200;

/// The failures of the head, each with its blame and its feedback, the most useful first: what this change broke
/// before what others did, then compile errors, regressions, and what stands in its own files.
pub fn failures(
    evidence: &HeadEvidence,
    blames: &[CheckBlame],
    regressed: &BTreeSet<String>,
    policy: &Policy,
) -> Vec<FailureView> {
    let mut found: Vec<(FailureView, &ExaminedFailure)> = Vec::new();
    for blame in blames {
        let Some(check) = evidence.of_check(&blame.check) else {
            continue;
        };
        let kept = &blame.examined[..blame.examined.len().min(MOST_OF_A_CHECK)];
        for (index, (failure, examined)) in check.failures.iter().zip(kept).enumerate() {
            let (of_failure, blame_confidence) = blame.of_failure(index);
            let analysis = failure
                .analysis
                .clone()
                .map(Analysis::bounded)
                .filter(Analysis::says_what_to_do);
            let mut failure = Failure {
                fingerprint: Some(examined.fingerprint),
                analysis,
                // Every surface points at the place that the feedback names.
                source: examined.at.clone().or_else(|| failure.source.clone()),
                ..failure.clone()
            };
            if failure.location().is_none()
                && let Some((file, line)) = failure.named_place()
            {
                let file = file.to_owned();
                mention_place(&mut failure.error_message, &file, line);
            }
            let view = FailureView {
                blame: of_failure,
                blame_confidence,
                repeats_sides: failure.analysis.is_none() && examined.conclusion.repeats_sides,
                feedback: tell(&blame.check, &failure, examined, policy),
                cause: examined.fingerprint.into(),
                regressed: failure
                    .test_name
                    .as_ref()
                    .is_some_and(|name| regressed.contains(name)),
                analysis: failure
                    .analysis
                    .clone()
                    .unwrap_or_else(|| examined.analysis(kept)),
                memory: Vec::new(),
                check: blame.check.clone(),
                failure,
            };
            found.push((view, examined));
        }
    }
    let kind = |view: &FailureView| evidence.checks.get(&view.check).map(|check| check.kind);
    found.sort_by_key(|(view, examined)| {
        let compile = kind(view) != Some(CheckKind::Build);
        (
            view.blame != Blame::PrCode,
            compile,
            !view.regressed,
            examined.touch == Touch::Untouched,
        )
    });
    lead(&mut found);
    found.into_iter().map(|(view, _)| view).collect()
}

/// Gives each failure the id of the first one with its cause and blame: those of one error, and those that lack the
/// same thing.
fn lead(found: &mut [(FailureView, &ExaminedFailure)]) {
    let (mut errors, mut causes) = (BTreeMap::new(), BTreeMap::new());
    for (view, examined) in found {
        let error = (view.blame, examined.fingerprint);
        let cause = examined.common_cause().map(|cause| (view.blame, cause));
        let known = errors
            .get(&error)
            .or_else(|| causes.get(cause.as_ref()?))
            .copied();
        view.cause = known.unwrap_or(view.cause);
        errors.entry(error).or_insert(view.cause);
        if let Some(cause) = cause {
            causes.entry(cause).or_insert(view.cause);
        }
    }
}

/// One item of the feedback.
#[derive(Clone, Debug, PartialEq)]
pub enum FeedbackFact {
    /// A failure, from its analysis.
    Failure(FeedbackLine),
    /// A rule that does not hold, with what it says of itself.
    Rule {
        id: RuleId,
        description: String,
        why: RuleFailure,
    },
    /// A person's answer to a dispute.
    Settled(Box<Dispute>),
    /// What a person objects to, in their words.
    Objection {
        by: Login,
        of: RejectedIn,
        words: String,
    },
}

/// Most failures that become feedback; no reader works through more.
const FEEDBACK_LIMIT: usize = 20;

/// What to do about the head: an item per cause of its failures, then per failing rule, then what people objected to.
/// Nothing is asked of the author about checks that fail for reasons outside the code.
pub fn feedback(
    failures: &[FailureView],
    head: &Verification,
    objections: Vec<FeedbackFact>,
) -> Vec<FeedbackFact> {
    let outside = |blame: &&CheckBlame| blame.blame != Blame::PrCode;
    let elsewhere = head.blames.iter().filter(outside).map(|blame| &blame.check);
    let mut seen = BTreeSet::new();
    let own = failures.iter().filter(|view| view.blame == Blame::PrCode);
    let distinct = own
        .filter(|view| seen.insert(view.cause))
        .take(FEEDBACK_LIMIT);
    let mut items: Vec<FeedbackFact> = distinct
        .map(|view| FeedbackFact::Failure(view.feedback.clone()))
        .collect();
    let explained: BTreeSet<&str> = failures
        .iter()
        .map(|view| &view.check)
        .chain(elsewhere)
        .map(CheckName::as_str)
        .collect();
    for rule in head
        .evaluation
        .rules
        .iter()
        .filter(|rule| rule.severity != Severity::Info)
    {
        if let RuleOutcome::Failed(why) = &rule.outcome
            && !explained.contains(rule.id.as_str())
        {
            let (id, description) = (rule.id.clone(), rule.description.clone());
            items.push(FeedbackFact::Rule {
                id,
                description,
                why: why.clone(),
            });
        }
    }
    items.extend(objections);
    items
}

fn tell(
    name: &CheckName,
    failure: &Failure,
    examined: &ExaminedFailure,
    policy: &Policy,
) -> FeedbackLine {
    let (command, directory) = match policy.verify.checks.get(name).map(|check| &check.source) {
        Some(CheckSource::Command(own)) => (
            own.run.as_str(),
            own.working_directory.as_deref().unwrap_or_default(),
        ),
        _ => ("", ""),
    };
    let mut line = FeedbackLine::of(
        failure,
        examined,
        Some(&CheckContext {
            name,
            command,
            directory,
        }),
    );
    if let Some(analysis) = &failure.analysis {
        (line.problem, line.action) = (
            analysis.root_cause.clone(),
            sentence(&analysis.fix_strategy),
        );
    }
    line
}

/// A clause as a sentence.
pub fn sentence(clause: &str) -> String {
    let mut letters = clause.chars();
    let first: String = letters
        .next()
        .map(|letter| letter.to_uppercase().collect())
        .unwrap_or_default();
    format!("{first}{}.", letters.as_str().trim_end_matches('.'))
}
