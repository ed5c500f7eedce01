//! What an attempt keeps so that it can be judged under another configuration later.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{
    evidence::RetryClass,
    failure::Blame,
    gate::RecordedDiff,
    ids::{CheckName, Fingerprint, GateName, Login},
    observed::{CodeType, Readiness, Snapshot},
    policy::{Policy, RequiredTest},
    verdict::{CheckStanding, blame::CheckBlame, evaluate::LineRules, gather::HeadEvidence},
};

/// Fingerprints kept of a check.
const MOST_FINGERPRINTS: usize = 40;
/// Labels kept.
const MOST_LABELS: usize = 30;

/// What an attempt was judged by, beside the evidence of its checks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplayBasis {
    pub diff: RecordedDiff,
    pub base_branch: String,
    pub author: Login,
    pub labels: BTreeSet<String>,
    pub readiness: Readiness,
    pub code_type: CodeType,
    /// Gates that applied and held.
    pub gates: BTreeSet<GateName>,
    pub checks: BTreeMap<CheckName, CheckBasis>,
    /// Percent of all lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage_on_base: Option<f64>,
    /// Sorts of tests of which something was known, and whether they were there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub required_tests: BTreeMap<RequiredTest, bool>,
    pub line_rules: LineRules,
    /// The change weakened what checks it, and nobody had taken responsibility.
    #[serde(default)]
    pub tampered: bool,
}

/// How a check stood.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckBasis {
    pub end: CheckEnd,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blame: Option<Blame>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<RetryClass>,
    /// Of the failures that are the pull request's own.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub fingerprints: BTreeSet<Fingerprint>,
}

/// Whether there is evidence of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckEnd {
    /// Beside this, with the checks of the attempt.
    Evidence,
    /// It ended without, and counts as failed.
    None,
    /// Somebody skipped it.
    Skipped,
}

impl ReplayBasis {
    pub(in crate::deciding) fn of(
        snapshot: &Snapshot,
        policy: &Policy,
        code_type: CodeType,
        (evidence, blames): (&HeadEvidence, &[CheckBlame]),
        gates: BTreeSet<GateName>,
        tampered: bool,
    ) -> Self {
        let pull_request = &snapshot.pull_request;
        let check = |(name, check): (&CheckName, &crate::verdict::gather::GatheredCheck)| {
            let blame = blames.iter().find(|blame| blame.check == *name);
            let basis = CheckBasis {
                end: match check.standing {
                    CheckStanding::Done(_) => CheckEnd::Evidence,
                    CheckStanding::Skipped { .. } => CheckEnd::Skipped,
                    _ => CheckEnd::None,
                },
                blame: blame.map(|blame| blame.blame),
                class: blame.map(|blame| blame.class),
                fingerprints: blame.map(|blame| own_fingerprints(evidence, blame)).unwrap_or_default(),
            };
            (name.clone(), basis)
        };
        Self {
            diff: RecordedDiff::of(snapshot, policy),
            base_branch: pull_request.base.branch.clone(),
            author: pull_request.author.login.clone(),
            labels: pull_request.labels.iter().take(MOST_LABELS).cloned().collect(),
            readiness: pull_request.readiness,
            code_type,
            gates,
            checks: evidence.checks.iter().map(check).collect(),
            coverage_on_base: evidence.coverage_on_base,
            required_tests: evidence.required_tests.iter().map(|(sort, it)| (*sort, it.is_there())).collect(),
            line_rules: LineRules::of(&snapshot.files, evidence, &policy.evaluate.rules),
            tampered,
        }
    }

    /// The same with so many files at most.
    #[must_use]
    pub fn shortened(&self, files: usize) -> Self {
        Self { diff: self.diff.shortened(files), ..self.clone() }
    }
}

fn own_fingerprints(evidence: &HeadEvidence, blame: &CheckBlame) -> BTreeSet<Fingerprint> {
    crate::attempts::attempt::own_fingerprints(evidence, blame).take(MOST_FINGERPRINTS).collect()
}
