//! What the output of each step must be. A step that breaks its contract is executed once more with the same inputs;
//! the second time ends the loop with `phase_error`.

use std::collections::BTreeSet;

use crate::{
    evidence::{CheckEvidence, Outcome},
    ids::{CheckName, RuleId, Sha},
    state::CritiqueItem,
};

/// How a contract was broken.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Breach {
    /// The plan says nothing.
    EmptyPlan,
    /// There is no check.
    NothingToRun,
    /// The checks edited these files.
    Edited(Vec<String>),
    /// The check has two results.
    TwoResults(CheckName),
    /// The check has none.
    NoResult(CheckName),
    /// The check did not come to an end.
    NoEnd(CheckName),
    /// The critique says nothing about the failed rule.
    Silent(RuleId),
    /// It says what is wrong with a rule, and not what to do.
    NoInstruction { rule: String },
    /// It says nothing at all.
    NoCritique,
}

/// What PRODUCE brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Produced {
    /// The commit that stands for the tree: HEAD, or one made of the working tree where that differs.
    pub head: Sha,
    /// SHA-256 over the tree id, in hex.
    pub hash: String,
    /// The document the task produces, if it produces one.
    pub document: Option<String>,
}

/// PLAN says what will be done.
pub(super) fn plan(plan: &[String]) -> Result<(), Breach> {
    if plan.iter().any(|line| !line.trim().is_empty()) { Ok(()) } else { Err(Breach::EmptyPlan) }
}

/// PREPARE has something to run: a loop without a check could only pass by chance.
pub(super) fn prepared(checks: &[CheckName], all: usize) -> Result<(), Breach> {
    if checks.is_empty() && all == 0 {
        return Err(Breach::NothingToRun);
    }
    Ok(())
}

/// EVALUATE has an end for each prepared check, exactly one, and edited nothing.
pub(super) fn evaluated(prepared: &[CheckName], evidence: &[CheckEvidence], edited: &[String]) -> Result<(), Breach> {
    if !edited.is_empty() {
        return Err(Breach::Edited(edited.to_vec()));
    }
    let mut seen = BTreeSet::new();
    if let Some(twice) = evidence.iter().find(|check| !seen.insert(&check.name)) {
        return Err(Breach::TwoResults(twice.name.clone()));
    }
    if let Some(missing) = prepared.iter().find(|name| !seen.contains(name)) {
        return Err(Breach::NoResult(missing.clone()));
    }
    match evidence.iter().find(|check| check.outcome == Outcome::Cancelled) {
        Some(check) => Err(Breach::NoEnd(check.name.clone())),
        None => Ok(()),
    }
}

/// CRITIQUE says what to do about each failed rule.
pub(super) fn critiqued(failed: &[RuleId], items: &[CritiqueItem]) -> Result<(), Breach> {
    if let Some(silent) = failed.iter().find(|rule| items.iter().all(|item| item.rule != rule.as_str())) {
        return Err(Breach::Silent(silent.clone()));
    }
    match items.iter().find(|item| item.fix.trim().is_empty()) {
        Some(item) => Err(Breach::NoInstruction { rule: item.rule.clone() }),
        None if items.is_empty() => Err(Breach::NoCritique),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::CheckKind;

    fn check(name: &str, outcome: Outcome) -> CheckEvidence {
        CheckEvidence::bare(name.parse().unwrap(), CheckKind::Test, outcome)
    }

    fn names(names: &[&str]) -> Vec<CheckName> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    #[test]
    fn an_evaluation_must_be_whole_and_edit_nothing() {
        use Outcome::{Cancelled, Failed, Passed, Skipped};
        let whole = [check("build", Passed), check("unit", Failed), check("lint", Skipped)];
        assert_eq!(evaluated(&names(&["build", "unit"]), &whole, &[]), Ok(()));
        let said = |prepared: &[&str], evidence: &[CheckEvidence], edited: &[&str]| {
            let edited: Vec<String> = edited.iter().map(ToString::to_string).collect();
            evaluated(&names(prepared), evidence, &edited).unwrap_err()
        };
        assert_eq!(said(&["docs"], &whole, &[]), Breach::NoResult("docs".parse().unwrap()));
        let a = || "a".parse().unwrap();
        assert_eq!(said(&[], &[check("a", Passed), check("a", Passed)], &[]), Breach::TwoResults(a()));
        assert_eq!(said(&[], &[check("a", Cancelled)], &[]), Breach::NoEnd(a()));
        assert_eq!(said(&[], &whole, &["src/a.rs"]), Breach::Edited(vec!["src/a.rs".to_owned()]));
    }

    #[test]
    fn a_critique_speaks_of_every_failed_rule() {
        let item =
            |rule: &str, fix: &str| CritiqueItem { rule: rule.into(), issue: "it fails".into(), fix: fix.into() };
        let failed: Vec<RuleId> = vec!["unit".parse().unwrap()];
        assert_eq!(critiqued(&failed, &[item("unit", "mend it")]), Ok(()));
        for (items, breach) in [
            (vec![], Breach::Silent(failed[0].clone())),
            (vec![item("unit", " ")], Breach::NoInstruction { rule: "unit".into() }),
        ] {
            assert_eq!(critiqued(&failed, &items), Err(breach));
        }
        assert_eq!(critiqued(&[], &[]), Err(Breach::NoCritique));
    }
}
