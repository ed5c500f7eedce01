//! Keeping texts within GitHub's limit by leaving out the least important first, and saying so.
//!
//! A text is made from a model by a template. When it is too long the *model* is shortened, by whole items, and
//! rendered again: nothing is ever cut inside a fence, a tag or a table.

use serde::Serialize;

/// UTF-8 bytes of a comment or of one check-run text (GitHub takes 65,535 characters).
pub const LIMIT: usize = 65_000;

/// What can be said with less.
pub trait Shorten {
    /// Leaves out some of the least important that is still there. Returns whether there was anything left to leave out.
    fn shorten(&mut self) -> bool;
}

/// Renders the model, shortened until the text is at most `limit` bytes. None when even its shortest form is longer.
pub fn fit<M: Shorten>(model: &mut M, limit: usize, render: impl Fn(&M) -> String) -> Option<String> {
    loop {
        let text = render(model);
        if text.len() <= limit {
            return Some(text);
        }
        if !model.shorten() {
            return None;
        }
    }
}

/// A list of which only the beginning may be shown; `omitted` says how many are not.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shown<T> {
    pub items: Vec<T>,
    pub omitted: usize,
}

impl<T> Default for Shown<T> {
    fn default() -> Self {
        Self { items: Vec::new(), omitted: 0 }
    }
}

impl<T> Shown<T> {
    /// The first `most` of them, made with `show`; the others are only counted.
    pub fn first<R>(most: usize, raw: impl IntoIterator<Item = R>, show: impl FnMut(R) -> T) -> Self {
        let mut raw = raw.into_iter();
        let items = raw.by_ref().take(most).map(show).collect();
        Self { items, omitted: raw.count() }
    }

    /// Leaves out the second half. Returns whether there was one.
    pub fn halve(&mut self) -> bool {
        self.keep(self.items.len() / 2)
    }

    /// Leaves out all but the first `most`. Returns whether there were more.
    pub fn keep(&mut self, most: usize) -> bool {
        let more = self.items.len().saturating_sub(most);
        self.omitted += more;
        self.items.truncate(most);
        more > 0
    }
}

impl<T> FromIterator<T> for Shown<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self { items: items.into_iter().collect(), omitted: 0 }
    }
}
