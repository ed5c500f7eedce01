//! Texts by the embedded templates, within GitHub's limit: one that is longer is made again with less, by whole items,
//! the least important first. Nothing is ever cut inside a fence, a tag or a table.

use std::collections::BTreeMap;

use minijinja::{
    context,
    value::{Serde, Value, serializing_for_value},
};
use serde::{Serialize, Serializer};

use super::{
    links::Links,
    messages::{MARKDOWN, rendered},
};

/// What the status comment, the check run, the job summary and the state's report show, each as much of it as fits.
/// Open gates and checks are shortened last, since people wait for them.
pub(super) struct Parts {
    pub(super) links: Links,
    /// What is never shortened.
    pub(super) whole: Value,
    pub(super) lists: Lists,
    pub(super) cards: Shown<Value>,
}

/// Renders an embedded template.
pub(super) fn render(name: &str, model: Value) -> String {
    tidy(&rendered(&MARKDOWN, name, model))
}

/// UTF-8 bytes of a comment or of one check-run text (GitHub takes 65,535 characters).
pub const LIMIT: usize = 65_000;
/// So many steps leave nothing of any list.
const STEPS: usize = 16;

/// How much less than everything a text shows, in steps.
#[derive(Clone, Copy, Debug)]
pub struct Brevity(pub usize);

impl Brevity {
    /// How many of at most `most` items are left, where each step beyond the first `spared` leaves out half of them.
    pub const fn of(self, most: usize, spared: usize) -> usize {
        most >> self.0.saturating_sub(spared)
    }
}

/// Renders an embedded template, with as little brevity as makes the text at most `limit` bytes. Should even the
/// shortest be longer, its end is missing.
pub(super) fn fitted(name: &str, limit: usize, model: impl Fn(Brevity) -> Value) -> String {
    let text = |step| render(name, model(Brevity(step)));
    let whole = text(0);
    if whole.len() <= limit {
        return whole;
    }
    // What is long takes time to make, so that the step is searched for by halves.
    let (mut shown, mut steps) = (None, 1..STEPS);
    while !steps.is_empty() {
        let step = steps.start.midpoint(steps.end);
        match Some(text(step)).filter(|text| text.len() <= limit) {
            Some(fits) => (shown, steps.end) = (Some(fits), step),
            None => steps.start = step + 1,
        }
    }
    shown.unwrap_or_else(|| whole[..whole.floor_char_boundary(limit)].to_owned())
}

/// A list of which only the beginning may be shown; `omitted` says how many are not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shown<T> {
    pub items: Vec<T>,
    pub omitted: usize,
}

impl<T> Shown<T> {
    /// The first `most` of them, made with `show`; the others are only counted.
    pub fn first<R>(
        most: usize,
        raw: impl IntoIterator<Item = R>,
        show: impl FnMut(R) -> T,
    ) -> Self {
        let mut raw = raw.into_iter();
        let items = raw.by_ref().take(most).map(show).collect();
        Self {
            items,
            omitted: raw.count(),
        }
    }

    /// Leaves out all but the first `most`.
    pub fn keep(mut self, most: usize) -> Self {
        self.omitted += self.items.len().saturating_sub(most);
        self.items.truncate(most);
        self
    }
}

/// The lists of a text: each with its name, how many of its items are shown at most, and how many steps of brevity spare
/// it. Their items are made once.
#[derive(Default)]
pub(super) struct Lists(Vec<(&'static str, (usize, usize), Shown<Value>)>);

impl Lists {
    pub fn add<T: Serialize>(
        &mut self,
        name: &'static str,
        most: (usize, usize),
        raw: impl IntoIterator<Item = T>,
    ) {
        self.0.push((
            name,
            most,
            Shown::first(most.0, raw, |item| Serde(item).into()),
        ));
    }

    /// A list that leaves out some items already.
    pub fn add_shown<T: Serialize>(
        &mut self,
        name: &'static str,
        most: (usize, usize),
        shown: Shown<T>,
    ) {
        let items = shown
            .items
            .into_iter()
            .map(|item| Serde(item).into())
            .collect();
        self.0.push((
            name,
            most,
            Shown {
                items,
                omitted: shown.omitted,
            },
        ));
    }

    /// What a template reads of them.
    pub fn at(&self, brevity: Brevity) -> Value {
        let lists = self.0.iter();
        let cut = lists.map(|(name, (most, spared), shown)| {
            (*name, shown.clone().keep(brevity.of(*most, *spared)))
        });
        cut.collect::<BTreeMap<_, _>>().into()
    }
}

/// A document for programs holds the items alone.
impl<T: Serialize> Serialize for Shown<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializing_for_value() {
            return context! { items => Serde(&self.items), omitted => self.omitted }
                .serialize(serializer);
        }
        self.items.serialize(serializer)
    }
}

impl<T: Serialize> From<Shown<T>> for Value {
    fn from(shown: Shown<T>) -> Self {
        Serde(shown).into()
    }
}

/// Runs of empty lines, which conditional sections leave behind, become one; fenced blocks keep theirs.
fn tidy(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut empty = true;
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let line = line.trim_end();
        let ticks = &line[..line.len() - line.trim_start_matches('`').len()];
        match fence {
            None if ticks.len() >= 3 => fence = Some(ticks),
            Some(open) if ticks.len() >= open.len() && ticks.len() == line.len() => fence = None,
            _ => {}
        }
        if line.is_empty() && empty && fence.is_none() {
            continue;
        }
        empty = line.is_empty();
        out.push_str(line);
        out.push('\n');
    }
    while out.ends_with("\n\n") {
        out.pop();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{super::templates::EMBEDDED, *};

    #[test]
    fn every_embedded_template_parses() {
        let names = EMBEDDED
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| name.ends_with(".md"));
        let names: Vec<_> = names
            .inspect(|name| drop(MARKDOWN.get_template(name).unwrap()))
            .collect();
        assert!(
            names.contains(&"status.md") && names.contains(&"gates/request.md"),
            "{names:?}"
        );
    }

    #[test]
    fn empty_lines_fold_outside_fences_only() {
        assert_eq!(
            tidy("a\n\n\n\nb\n```\n\n\n```\n\n\n"),
            "a\n\nb\n```\n\n\n```\n"
        );
    }
}
