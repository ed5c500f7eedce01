//! The two check runs that are ours, and the branches they speak for.
//!
//! Check runs belong to a commit, and GitHub merges every pull request with that head on them. So their names say which
//! base the commit was judged against: the plain names are the default branch's alone.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use super::{CheckProgress, Conclusion};
use crate::{ids::PrNumber, text};

/// One of our check runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OwnCheck {
    Verify,
    Gates,
}

/// Characters of a name at most.
const LONGEST_NAME: usize = 100;

impl OwnCheck {
    pub const ALL: [Self; 2] = [Self::Verify, Self::Gates];

    const fn plain(self) -> &'static str {
        match self {
            Self::Verify => "loopgate / verify",
            Self::Gates => "loopgate / gates",
        }
    }

    /// The name people see, and branch rules ask for. A name that would be too long ends in a digest of the whole.
    pub fn name(self, scope: &CheckScope) -> String {
        let (CheckScope::Branch(base) | CheckScope::Pattern(base)) = scope else { return self.plain().to_owned() };
        let name = format!("{} ({base})", self.plain());
        if name.chars().count() <= LONGEST_NAME {
            return name;
        }
        let digest = hex::encode(&Sha256::digest(base.as_bytes())[..8]);
        let room = LONGEST_NAME - self.plain().len() - digest.len() - " (… )".chars().count();
        let start = text::start(base, room);
        format!("{} ({start}… {digest})", self.plain())
    }

    /// The check that a name stands for, whatever the base.
    pub fn named(name: &str) -> Option<Self> {
        // A name that differs in case or blanks only would be taken for ours by a reader.
        let folded = |name: &str| name.split_whitespace().collect::<String>().to_lowercase();
        let name = folded(name);
        Self::ALL.into_iter().find(|check| {
            let rest = name.strip_prefix(&folded(check.plain()));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('(') && rest.ends_with(')'))
        })
    }
}

/// The branches that check runs speak for.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckScope {
    /// The default branch: the names are plain.
    #[default]
    DefaultBranch,
    /// One other branch.
    Branch(String),
    /// The branches that match a pattern of `branches:`, none of which people can make or push to by themselves.
    Pattern(String),
}

/// Where a pull request stands in its stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Counted from 1, the bottom; 0 where it could not be read.
    pub position: usize,
    pub size: usize,
    /// The open layers beneath, the lowest first. None where they could not be read: then the files are the whole
    /// difference from the stack's base, and no other layer is asked.
    pub beneath: Vec<Layer>,
    /// The next open layer: what changes here concerns it.
    pub above: Option<PrNumber>,
}

/// An open layer, and how our checks stand on its head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    pub number: PrNumber,
    /// What is missing has not begun.
    pub checks: BTreeMap<OwnCheck, CheckProgress>,
}

impl Stack {
    /// The lowest layer whose check does not pass, and how that one stands.
    pub fn waits_for(&self, check: OwnCheck) -> Option<(PrNumber, CheckProgress)> {
        let standing = |layer: &Layer| layer.checks.get(&check).copied().unwrap_or(CheckProgress::Queued);
        let passes = |progress: CheckProgress| progress.conclusion() == Some(Conclusion::Success);
        let layers = self.beneath.iter().map(|layer| (layer.number, standing(layer)));
        layers.into_iter().find(|(_, progress)| !passes(*progress))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_look_like_ours_are_recognised() {
        assert_eq!(OwnCheck::named("loopgate / verify"), Some(OwnCheck::Verify));
        assert_eq!(OwnCheck::named("Loopgate/Gates"), Some(OwnCheck::Gates));
        assert_eq!(OwnCheck::named("loopgate / gates (release/1)"), Some(OwnCheck::Gates));
        for other in ["verify", "loopgate / gatesX", "loopgate / gates x"] {
            assert_eq!(OwnCheck::named(other), None, "{other}");
        }
    }

    #[test]
    fn names_carry_their_base() {
        let branch = |name: &str| CheckScope::Branch(name.to_owned());
        assert_eq!(OwnCheck::Gates.name(&CheckScope::DefaultBranch), "loopgate / gates");
        assert_eq!(OwnCheck::Verify.name(&branch("release/1")), "loopgate / verify (release/1)");
        let pattern = CheckScope::Pattern("release/*".into());
        assert_eq!(OwnCheck::Gates.name(&pattern), "loopgate / gates (release/*)");
        let [one, other] = ["a", "b"].map(|end| OwnCheck::Gates.name(&branch(&format!("{}{end}", "ü/".repeat(120)))));
        assert!(one.chars().count() == LONGEST_NAME && OwnCheck::named(&one) == Some(OwnCheck::Gates), "{one}");
        assert_ne!(one, other, "two long names stay two");
    }
}
