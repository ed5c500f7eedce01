//! The text of files at trees and commits.

use std::collections::BTreeSet;

use super::{Worktree, WorktreeError};
use loopgate_core::observed::{Content, Contents, FileAt};

/// Bytes of a file that is read. A larger one is unreadable.
const LARGEST: usize = 1 << 20;

impl Worktree {
    /// Reads files whole, all by one git. A path with a line break is unreadable.
    pub fn contents(&self, wanted: BTreeSet<FileAt>) -> Result<Contents, WorktreeError> {
        let mut contents = Contents::default();
        let (asked, other): (Vec<FileAt>, Vec<FileAt>) = wanted.into_iter().partition(|(_, path)| !path.contains('\n'));
        let questions: String = asked.iter().map(|(commit, path)| format!("{commit}:{path}\n")).collect();
        let printed = self.run(&["cat-file", "--batch"], None, Some(questions.as_bytes()))?;
        let mut rest = printed.as_slice();
        for file in asked {
            let content = next_object(&mut rest);
            contents.insert(file, content);
        }
        other.into_iter().for_each(|file| contents.insert(file, Content::Unreadable));
        Ok(contents)
    }
}

/// Takes one answer of `git cat-file --batch`: `<id> blob <size>` and the bytes, or a line that ends with `missing`.
fn next_object(rest: &mut &[u8]) -> Content {
    let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    let header = String::from_utf8_lossy(&rest[..end]).into_owned();
    *rest = rest.get(end + 1..).unwrap_or_default();
    let mut words = header.rsplit(' ');
    let Some(size) = words.next().and_then(|word| word.parse::<usize>().ok()) else { return Content::Absent };
    let is_file = words.next() == Some("blob");
    let bytes = rest.get(..size).unwrap_or_default();
    *rest = rest.get(size + 1..).unwrap_or_default();
    match std::str::from_utf8(bytes) {
        Ok(text) if is_file && size <= LARGEST && !text.contains('\0') => Content::Text(text.into()),
        _ => Content::Unreadable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_one_after_the_other() {
        let printed = b"1111111111111111111111111111111111111111 blob 4\na\nb\n\nHEAD:x y missing\n2222222222222222222222222222222222222222 tree 2\nab\n3333333333333333333333333333333333333333 blob 2\n\x00a\n";
        let mut rest = printed.as_slice();
        let read: Vec<Content> = (0..4).map(|_| next_object(&mut rest)).collect();
        assert_eq!(read, [Content::Text("a\nb\n".into()), Content::Absent, Content::Unreadable, Content::Unreadable]);
        assert!(rest.is_empty());
    }
}
