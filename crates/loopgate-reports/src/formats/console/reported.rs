//! The tests of which a block or a list told: what separates those that only a list names from those that have a block.

use std::collections::HashMap;

/// Tests remembered.
pub(super) const MAX_REPORTED: usize = 10_000;
/// Files remembered of tests of one name.
const MAX_FILES: usize = 100;

/// The tests reported so far, by their names.
#[derive(Default)]
pub(super) struct ReportedTests {
    of_name: HashMap<String, Reported>,
}

/// What was reported of the tests of one name.
#[derive(Default)]
struct Reported {
    files: Vec<String>,
    /// Blocks that no line of a list told of yet.
    blocks: u64,
    is_listed: bool,
}

/// What a line of a list is about.
pub(super) enum Listed {
    /// A block.
    Known,
    /// A block of the same test in another file.
    Again,
    /// No block.
    New,
}

impl ReportedTests {
    pub fn is_empty(&self) -> bool {
        self.of_name.is_empty()
    }

    /// Forgets them all: another run begins.
    pub fn clear(&mut self) {
        self.of_name.clear();
    }

    pub fn remember(&mut self, file: &str, name: &str) {
        let has_room = self.of_name.len() < MAX_REPORTED || self.of_name.contains_key(name);
        if !has_room {
            return;
        }
        let reported = self.of_name.entry(name.to_owned()).or_default();
        reported.blocks += 1;
        if reported.files.len() < MAX_FILES && !reported.files.iter().any(|known| known == file) {
            reported.files.push(file.to_owned());
        }
    }

    /// Whether a block reported the test. It may have named the file from another directory, or not at all.
    pub fn is_reported(&self, file: &str, name: &str) -> bool {
        let is_same = |known: &String| {
            known.is_empty() || known.ends_with(file) || file.ends_with(known.as_str())
        };
        self.of_name
            .get(name)
            .is_some_and(|reported| reported.files.iter().any(is_same))
    }

    /// What a line of a list is about. The block of an inherited test stands in the file of its base; a module that
    /// holds the tests of another one has blocks that are the same.
    pub fn of_block(&mut self, file: &str, name: &str) -> Listed {
        let is_here = self.is_reported(file, name);
        let Some(reported) = self.of_name.get_mut(name) else {
            return Listed::New;
        };
        let is_open = reported.blocks > 0;
        let was_listed = std::mem::replace(&mut reported.is_listed, true);
        reported.blocks = reported.blocks.saturating_sub(1);
        match is_open && !is_here {
            true if was_listed => Listed::Again,
            true => Listed::Known,
            false if is_here => Listed::Known,
            false => Listed::New,
        }
    }
}
