//! Questions about history: ancestry, merge bases, logs, comparisons.

use std::collections::{BinaryHeap, HashMap, HashSet};

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

/// What of two histories is apart, and where they meet.
#[derive(Default)]
struct Apart {
    /// Commits that only the first reaches.
    only_one: HashSet<Sha>,
    /// Commits that only the second reaches.
    only_other: HashSet<Sha>,
    /// Common ancestors that no other common ancestor descends from.
    meet: Vec<Sha>,
}

/// From which of two commits a commit is reached, and whether a common ancestor descends from it.
#[derive(Clone, Copy, Default, PartialEq)]
struct Reached {
    from_one: bool,
    from_other: bool,
    below_common: bool,
}

impl Reached {
    fn joined(self, other: Self) -> Self {
        Self {
            from_one: self.from_one || other.from_one,
            from_other: self.from_other || other.from_other,
            below_common: self.below_common || other.below_common,
        }
    }
}

/// Commits to visit, the youngest generation first, each once. A commit's children come before it.
#[derive(Default)]
struct Frontier {
    queue: BinaryHeap<(u32, Sha)>,
    reached: HashMap<Sha, Reached>,
    /// How many in the queue are not below a common ancestor.
    open: usize,
}

impl Frontier {
    fn reach(&mut self, generation: u32, sha: Sha, how: Reached) {
        let before = self.reached.get(&sha).copied();
        let now = before.unwrap_or_default().joined(how);
        self.reached.insert(sha, now);
        if before.is_none() {
            self.queue.push((generation, sha));
            self.open += 1;
        }
        if now.below_common && before.is_none_or(|before| !before.below_common) {
            self.open -= 1;
        }
    }

    fn next(&mut self) -> Option<(Sha, Reached)> {
        if self.open == 0 {
            return None;
        }
        let (_, sha) = self.queue.pop()?;
        let reached = self.reached[&sha];
        if !reached.below_common {
            self.open -= 1;
        }
        Some((sha, reached))
    }
}

impl Objects {
    /// Whether a branch at `old` can move to `new` without losing commits.
    pub fn is_fast_forward(&self, old: Sha, new: Sha) -> bool {
        let oldest = self.generation(old);
        let (mut seen, mut stack) = (HashSet::new(), vec![new]);
        while let Some(sha) = stack.pop() {
            if sha == old {
                return true;
            }
            if seen.insert(sha) {
                stack.extend(
                    self.parents(sha)
                        .iter()
                        .filter(|parent| self.generation(**parent) >= oldest),
                );
            }
        }
        false
    }

    /// Every commit reachable from `tip`, newest first; children before their parents.
    pub fn log(&self, tip: Sha) -> Vec<Sha> {
        let (mut all, mut stack) = (HashSet::new(), vec![tip]);
        while let Some(sha) = stack.pop() {
            if all.insert(sha) {
                stack.extend(self.parents(sha));
            }
        }
        self.newest_first(tip, &all)
    }

    /// As [`Self::log`], without what `old` reaches.
    pub fn log_since(&self, old: Sha, tip: Sha) -> Vec<Sha> {
        self.newest_first(tip, &self.apart(old, tip).only_other)
    }

    fn newest_first(&self, tip: Sha, wanted: &HashSet<Sha>) -> Vec<Sha> {
        let mut children_left = HashMap::<Sha, usize>::new();
        for sha in wanted {
            for parent in self.parents(*sha) {
                *children_left.entry(*parent).or_default() += 1;
            }
        }
        let mut ready = BinaryHeap::new();
        let mut sequence = 0_usize;
        let mut push = |ready: &mut BinaryHeap<(Timestamp, std::cmp::Reverse<usize>, Sha)>,
                        sha: Sha| {
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
            for parent in self
                .parents(sha)
                .iter()
                .filter(|parent| wanted.contains(parent))
            {
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
        self.commit(sha)
            .map_or(&[], |commit: &Commit| &commit.parents)
    }

    /// Visits both histories down to where they meet, and nothing below that.
    fn apart(&self, one: Sha, other: Sha) -> Apart {
        let (mut apart, mut frontier) = (Apart::default(), Frontier::default());
        frontier.reach(
            self.generation(one),
            one,
            Reached {
                from_one: true,
                ..Reached::default()
            },
        );
        frontier.reach(
            self.generation(other),
            other,
            Reached {
                from_other: true,
                ..Reached::default()
            },
        );
        while let Some((sha, mut reached)) = frontier.next() {
            match (reached.from_one, reached.from_other) {
                (true, true) => {
                    if !std::mem::replace(&mut reached.below_common, true)
                        && self.commit(sha).is_some()
                    {
                        apart.meet.push(sha);
                    }
                }
                (true, _) => drop(apart.only_one.insert(sha)),
                _ => drop(apart.only_other.insert(sha)),
            }
            for parent in self.parents(sha) {
                frontier.reach(self.generation(*parent), *parent, reached);
            }
        }
        apart
    }

    /// The best common ancestor: one that no other common ancestor descends from, the newest of them.
    pub fn merge_base(&self, one: Sha, other: Sha) -> Option<Sha> {
        self.newest(&self.apart(one, other).meet)
    }

    fn newest(&self, commits: &[Sha]) -> Option<Sha> {
        commits
            .iter()
            .copied()
            .max_by_key(|sha| (self.commit(*sha).map(|commit| commit.committer.at), *sha))
    }

    /// None when the two have no history in common.
    pub fn compare(&self, base: Sha, head: Sha) -> Option<Comparison> {
        let apart = self.apart(base, head);
        let merge_base = self.newest(&apart.meet)?;
        let mut ahead = self.newest_first(head, &apart.only_other);
        ahead.reverse();
        Some(Comparison {
            merge_base,
            ahead,
            behind_by: apart.only_one.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::object::{Object, Signature, Tree};

    fn commit(objects: &mut Objects, at: i64, parents: &[Sha]) -> Sha {
        let tree = objects.put(Object::Tree(Tree::default()));
        let at = Timestamp::from_timestamp(at, 0).unwrap();
        let who = Signature {
            name: "a".into(),
            email: "a@example.test".into(),
            at,
        };
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
        assert_eq!(
            (comparison.ahead.as_slice(), comparison.behind_by),
            (&[one, two][..], 1)
        );
        assert_eq!(comparison.status(), "diverged");
        // After the base was merged in, the merge base moves up to it.
        assert_eq!(o.merge_base(main, merged), Some(main));
        assert_eq!(o.compare(main, merged).unwrap().status(), "ahead");
        assert!(o.is_fast_forward(main, merged) && !o.is_fast_forward(merged, main));
        assert_eq!(o.log(merged).first(), Some(&merged));
        assert_eq!(o.log(merged).last(), Some(&root));
        let stranger = commit(&mut o, 7, &[]);
        assert!(o.compare(main, stranger).is_none());
    }
}
