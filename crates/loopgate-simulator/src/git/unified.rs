//! Whole diffs as text, as the `diff` media type gives them.

use super::{diff::FileChange, object::Entry, patch::is_binary, store::Objects};

impl Objects {
    /// What `git diff` prints for these changes.
    pub fn unified_diff(&self, changes: &[FileChange]) -> String {
        changes
            .iter()
            .map(|change| self.file_header(change) + &self.file_body(change))
            .collect()
    }

    fn file_header(&self, change: &FileChange) -> String {
        let old_path = change.previous.as_ref().unwrap_or(&change.path);
        let mut text = format!("diff --git a/{old_path} b/{}\n", change.path);
        match (change.old, change.new) {
            (None, Some(new)) => text += &format!("new file mode {}\n", new.mode.as_str()),
            (Some(old), None) => text += &format!("deleted file mode {}\n", old.mode.as_str()),
            (Some(old), Some(new)) if old.mode != new.mode => {
                text += &format!(
                    "old mode {}\nnew mode {}\n",
                    old.mode.as_str(),
                    new.mode.as_str()
                );
            }
            _ => {}
        }
        if let (Some(previous), Some(old), Some(new)) = (&change.previous, change.old, change.new) {
            let similar = (self.similarity(old, new) * 100.0).floor();
            text += &format!(
                "similarity index {similar}%\nrename from {previous}\nrename to {}\n",
                change.path
            );
        }
        let short = |entry: Option<Entry>| {
            entry.map_or_else(|| "0000000".into(), |e| e.sha.to_string()[..7].to_owned())
        };
        if change.old.map(|entry| entry.sha) != change.new.map(|entry| entry.sha) {
            text += &format!("index {}..{}", short(change.old), short(change.new));
            // The mode stands here only where nothing above names it.
            match (change.old, change.new) {
                (Some(old), Some(new)) if old.mode == new.mode => {
                    text += &format!(" {}\n", new.mode.as_str())
                }
                _ => text.push('\n'),
            }
        }
        text
    }

    fn file_body(&self, change: &FileChange) -> String {
        let old_path = change.previous.as_ref().unwrap_or(&change.path);
        let name = |entry: Option<Entry>, side: &str, path: &str| match entry {
            Some(_) => format!("{side}/{path}"),
            None => "/dev/null".to_owned(),
        };
        let (old, new) = (
            name(change.old, "a", old_path),
            name(change.new, "b", &change.path),
        );
        let binary = |entry: Option<Entry>| {
            entry
                .and_then(|entry| self.blob(entry.sha))
                .is_some_and(|content| is_binary(content))
        };
        if binary(change.old) || binary(change.new) {
            return format!("Binary files {old} and {new} differ\n");
        }
        self.line_diff(change)
            .patch
            .map(|patch| format!("--- {old}\n+++ {new}\n{patch}\n"))
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::{Mode, store::Files};

    #[test]
    fn a_diff_reads_as_gits() {
        let mut o = Objects::default();
        let mut tree = |files: &[(&str, &[u8])]| {
            let files: Files = files
                .iter()
                .map(|(path, content)| {
                    (
                        (*path).to_owned(),
                        Entry {
                            mode: Mode::File,
                            sha: o.put_blob(content.to_vec()),
                        },
                    )
                })
                .collect();
            o.put_files(&files)
        };
        let old = tree(&[("a", b"1\n"), ("b", b"same\n"), ("gone", b"x\n")]);
        let new = tree(&[("a", b"2\n"), ("c", b"same\n"), ("new", b"\0")]);
        insta::assert_snapshot!(o.unified_diff(&o.diff(Some(old), new)), @r"
        diff --git a/a b/a
        index d00491f..0cfbf08 100644
        --- a/a
        +++ b/a
        @@ -1 +1 @@
        -1
        +2
        diff --git a/b b/c
        similarity index 100%
        rename from b
        rename to c
        diff --git a/gone b/gone
        deleted file mode 100644
        index 587be6b..0000000
        --- a/gone
        +++ /dev/null
        @@ -1 +0,0 @@
        -x
        diff --git a/new b/new
        new file mode 100644
        index 0000000..f76dd23
        Binary files /dev/null and b/new differ
        ");
    }
}
