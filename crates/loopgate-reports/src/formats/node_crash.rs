//! What Node prints of errors that nothing catches: the place of the source line above each, and its own version below it.
//! Deno prints class, message and stack.

use crate::{Clip, numbers};

patterns! {
    /// `error: Error: late`, `error: Uncaught (in promise) TypeError: late`
    OF_DENO = r"^error: (?:Uncaught (?:\(in promise\) )?)?(?:[A-Z]\w*)?(?:Error|Exception): ";
}

/// Errors of one output that are kept.
const MOST: usize = 20;

/// The uncaught errors of an output, in their order.
#[derive(Clone, Default)]
pub(super) struct NodeCrashes {
    texts: Vec<Clip>,
    /// Lines of the last one follow.
    is_open: bool,
    /// An empty line ends it.
    is_of_deno: bool,
}

impl NodeCrashes {
    /// Takes a line if one is being read.
    pub(super) fn goes_on(&mut self, line: &str) {
        self.is_open &= !(line.starts_with("Node.js v") || self.is_of_deno && line.is_empty());
        if let Some(crash) = self.texts.last_mut().filter(|_| self.is_open) {
            crash.push_line(line);
        }
    }

    /// Takes a line if an error begins with it; whether one does.
    pub(super) fn begin(&mut self, line: &str) -> bool {
        if self.is_open || self.texts.len() >= MOST {
            return false;
        }
        let is_place = line.rsplit_once(':').is_some_and(|(file, at)| {
            let is_file = ["node:internal/", "/", "file:///"]
                .iter()
                .any(|start| file.starts_with(start));
            is_file && !file.contains(' ') && numbers::line(at).is_some()
        });
        if is_place {
            self.open(line);
        }
        is_place
    }

    /// As [`Self::begin`], also where Deno prints an error, as others print what a compiler finds.
    pub(super) fn begin_any(&mut self, line: &str) {
        if !self.begin(line) && !self.is_open && self.texts.len() < MOST && OF_DENO.is_match(line) {
            self.open(line.strip_prefix("error: ").unwrap_or(line));
            self.is_of_deno = true;
        }
    }

    fn open(&mut self, line: &str) {
        let mut crash = Clip::default();
        crash.push_line(line);
        self.texts.push(crash);
        (self.is_open, self.is_of_deno) = (true, false);
    }

    /// The last one, where Node wrote all of it.
    pub(super) fn ended(&self) -> Option<String> {
        self.texts().next_back().filter(|_| !self.is_open)
    }

    pub(super) fn texts(&self) -> impl DoubleEndedIterator<Item = String> {
        self.texts.iter().map(Clip::text)
    }
}
