//! Questions about history: ancestry, merge bases, logs, comparisons.

use std::collections::{BinaryHeap, HashSet};

use super::{object::Commit, store::Objects};
use loopgate_core::{Sha, Timestamp};

/// `base...head`, as the compare API tells it.
#[derive(Clone, Debug)]
pub struct Comparison {
    pub merge_base: Sha,
    /// Commits on `head` that `base` lacks, oldest first.
    pub ahead: Vec<Sha>,
    /// How many commits `base` has that `head` lacks.
    pub behind_by: usize,
}

impl Comparison {
    /// `identical`, `ahead`, `behind` or `diverged`.
    pub fn status(&self) -> &'static str {
        match (self.ahead.len(), self.behind_by) {
            (0, 0) => "identical",
            (_, 0) => "ahead",
            (0, _) => "behind",
            _ => "diverged",
        }
    }
}

impl Objects {
    /// `tip` and everything it descends from.
    pub fn ancestors(&self, tip: Sha) -> HashSet<Sha> {
        let mut seen = HashSet::new();
        let mut stack = vec![tip];
        while let Some(sha) = stack.pop() {
            if seen.insert(sha)
                && let Some(commit) = self.commit(sha)
            {
                stack.extend(&commit.parents);
            }
        }
        seen
    }

    /// Whether a branch at `old` can move to `new` without losing commits.
    pub fn is_fast_forward(&self, old: Sha, new: Sha) -> bool {
        self.ancestors(new).contains(&old)
    }

    /// Newest first: every commit reachable from `tip` and not in `without`; children before their parents.
    pub fn log(&self, tip: Sha, without: &HashSet<Sha>) -> Vec<Sha> {
        let mut children_left = std::collections::HashMap::<Sha, usize>::new();
        let wanted: HashSet<Sha> = self.ancestors(tip).difference(without).copied().collect();
        for sha in &wanted {
            for parent in self.parents(*sha) {
                *children_left.entry(*parent).or_default() += 1;
            }
        }
        let mut ready = BinaryHeap::new();
        let mut sequence = 0_usize;
        let mut push = |ready: &mut BinaryHeap<(Timestamp, std::cmp::Reverse<usize>, Sha)>, sha: Sha| {
            if let Some(commit) = self.commit(sha) {
                sequence += 1;
                ready.push((commit.committer.at, std::cmp::Reverse(sequence), sha));
            }
        };
        if wanted.contains(&tip) {
            push(&mut ready, tip);
        }
        let mut log = Vec::with_capacity(wanted.len());
        while let Some((_, _, sha)) = ready.pop() {
            log.push(sha);
            for parent in self.parents(sha).iter().filter(|parent| wanted.contains(parent)) {
                if let Some(left) = children_left.get_mut(parent) {
                    *left -= 1;
                    if *left == 0 {
                        push(&mut ready, *parent);
                    }
                }
            }
        }
        log
    }

    fn parents(&self, sha: Sha) -> &[Sha] {
        self.commit(sha).map_or(&[], |commit: &Commit| &commit.parents)
    }

    /// The best common ancestor: one that no other common ancestor descends from, the newest of them.
    pub fn merge_base(&self, one: Sha, other: Sha) -> Option<Sha> {
        let (mine, theirs) = (self.ancestors(one), self.ancestors(other));
        // In a log children come before their parents, so the first common commit has no common descendant.
        self.log(one, &HashSet::new()).into_iter().find(|sha| mine.contains(sha) && theirs.contains(sha))
    }

    /// None when the two have no history in common.
    pub fn compare(&self, base: Sha, head: Sha) -> Option<Comparison> {
        let merge_base = self.merge_base(base, head)?;
        let (on_base, on_head) = (self.ancestors(base), self.ancestors(head));
        let mut ahead = self.log(head, &on_base);
        ahead.reverse();
        Some(Comparison { merge_base, ahead, behind_by: on_base.difference(&on_head).count() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::object::{Object, Signature, Tree};

    fn commit(objects: &mut Objects, at: i64, parents: &[Sha]) -> Sha {
        let tree = objects.put(Object::Tree(Tree::default()));
        let at = Timestamp::from_timestamp(at, 0).unwrap();
        let who = Signature { name: "a".into(), email: "a@example.test".into(), at };
        let message = format!("at {at}");
        objects.put(Object::Commit(Commit {
            tree,
            parents: parents.to_vec(),
            author: who.clone(),
            committer: who,
            message,
        }))
    }

    #[test]
    fn merge_base_and_distance() {
        let mut o = Objects::default();
        let root = commit(&mut o, 1, &[]);
        let base = commit(&mut o, 2, &[root]);
        let one = commit(&mut o, 3, &[base]);
        let two = commit(&mut o, 4, &[one]);
        let main = commit(&mut o, 5, &[base]);
        let merged = commit(&mut o, 6, &[two, main]);
        assert_eq!(o.merge_base(main, two), Some(base));
        let comparison = o.compare(main, two).unwrap();
        assert_eq!((comparison.ahead.as_slice(), comparison.behind_by), (&[one, two][..], 1));
        assert_eq!(comparison.status(), "diverged");
        // After the base was merged in, the merge base moves up to it.
        assert_eq!(o.merge_base(main, merged), Some(main));
        assert_eq!(o.compare(main, merged).unwrap().status(), "ahead");
        assert!(o.is_fast_forward(main, merged) && !o.is_fast_forward(merged, main));
        assert_eq!(o.log(merged, &HashSet::new()).first(), Some(&merged));
        assert_eq!(o.log(merged, &HashSet::new()).last(), Some(&root));
        let stranger = commit(&mut o, 7, &[]);
        assert!(o.compare(main, stranger).is_none());
    }
}
