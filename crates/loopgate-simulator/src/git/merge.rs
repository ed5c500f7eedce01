//! Three-way merges, file by file.

use super::store::Objects;
use loopgate_core::Sha;

/// What merging two commits gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merge {
    /// The merged tree.
    Clean(Sha),
    /// Paths that both sides changed, each in its own way.
    Conflict(Vec<String>),
}

impl Objects {
    /// Merges `head` into `base`. Where both sides changed one file differently it is a conflict, even where git
    /// would find the lines apart: simulated conflicts are never hidden ones.
    pub fn merge(&mut self, base: Sha, head: Sha) -> Merge {
        self.merge_since(self.merge_base(base, head), base, head)
    }

    /// Merges what `head` changed since `ancestor` into `base`.
    pub fn merge_since(&mut self, ancestor: Option<Sha>, base: Sha, head: Sha) -> Merge {
        let (ours, theirs) = (
            self.differing(ancestor, Some(base)),
            self.differing(ancestor, Some(head)),
        );
        let (mut edits, mut conflicts) = (Vec::new(), Vec::new());
        for (path, (_, theirs)) in &theirs {
            match ours.get(path) {
                Some((_, ours)) if ours != theirs => conflicts.push(path.clone()),
                Some(_) => {}
                None => edits.push((path.as_str(), *theirs)),
            }
        }
        if conflicts.is_empty() {
            Merge::Clean(self.put_edited(Some(base), edits))
        } else {
            Merge::Conflict(conflicts)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::{Commit, Entry, Mode, Object, Signature};
    use loopgate_core::Timestamp;

    fn commit(o: &mut Objects, parents: &[Sha], files: &[(&str, &str)]) -> Sha {
        let files = files
            .iter()
            .map(|(path, content)| {
                (
                    (*path).to_owned(),
                    Entry {
                        mode: Mode::File,
                        sha: o.put_blob(content.to_string()),
                    },
                )
            })
            .collect();
        let tree = o.put_files(&files);
        let who = Signature {
            name: "a".into(),
            email: "a@example.test".into(),
            at: Timestamp::UNIX_EPOCH,
        };
        let message = "m".to_owned();
        o.put(Object::Commit(Commit {
            tree,
            parents: parents.to_vec(),
            author: who.clone(),
            committer: who,
            message,
        }))
    }

    #[test]
    fn each_side_keeps_what_it_changed() {
        let mut o = Objects::default();
        let root = commit(&mut o, &[], &[("a", "1"), ("b", "1"), ("c", "1")]);
        let base = commit(&mut o, &[root], &[("a", "2"), ("b", "1"), ("c", "1")]);
        let head = commit(&mut o, &[root], &[("a", "1"), ("b", "1"), ("d", "1")]);
        let Merge::Clean(tree) = o.merge(base, head) else {
            panic!("a conflict")
        };
        let merged: Vec<_> = o.files(tree).into_keys().collect();
        assert_eq!(
            merged,
            ["a", "b", "d"],
            "c was removed by the head, d added by it"
        );
        assert_eq!(o.files(tree)["a"].sha, o.files(base)["a"].sha);
        let clash = commit(&mut o, &[root], &[("a", "3"), ("b", "1"), ("c", "1")]);
        assert_eq!(o.merge(base, clash), Merge::Conflict(vec!["a".to_owned()]));
    }
}
