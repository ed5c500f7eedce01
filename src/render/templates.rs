//! The texts of `config/templates/`, embedded when Loopgate is built.
//!
//! Every string a template prints is escaped as prose unless it is a [`Markdown`](super::sanitize::Markdown) already,
//! so a forgotten filter in a template shows a backslash too many and never lets anything through.
//!
//! A text that is longer than GitHub takes is made again with less, by whole items, the least important first: nothing is
//! ever cut inside a fence, a tag or a table.

use std::borrow::Cow;

use minijinja::{
    AutoEscape, Environment, Error, Output, State, UndefinedBehavior, context,
    value::{Serde, Value, ValueKind, serializing_for_value},
};
use serde::{Serialize, Serializer};

use super::{
    Markdown, amounts,
    excerpts::quoted,
    messages::{MARKDOWN, rendered},
    metrics, plain, sanitize, terminal,
};
use loopgate_core::{Timestamp, untrusted::quote};

// Every template, by its path below `config/templates/`: `build.rs` lists the folder. Pages (`.html`) are the
// dashboard's.
include!(concat!(env!("OUT_DIR"), "/templates.rs"));

/// Characters of a text of a document that may not be ours.
const BRIEF: usize = 500;

/// Adds the filters of our own templates. `show` makes a name from outside fit to be shown.
pub(super) fn add_filters(environment: &mut Environment<'static>, show: fn(&str) -> String) {
    let each = move |items: Vec<Value>| -> Vec<String> {
        items.iter().map(|item| if item.is_safe() { item.to_string() } else { show(&item.to_string()) }).collect()
    };
    environment.add_filter("code", |text: String| sanitize::code(&text));
    environment.add_filter("summary_code", |text: String| sanitize::summary_code(&text));
    environment.add_filter("codes", |names: Vec<String>, most: usize| {
        Markdown::ours(amounts::few(names.iter().map(|name| sanitize::code(name)), most))
    });
    environment.add_filter("listed", move |items: Vec<Value>| Markdown::ours(amounts::and(each(items))));
    environment
        .add_filter("few", move |items: Vec<Value>, most: usize| Markdown::ours(amounts::few(each(items), most)));
    environment.add_filter("pulls", |numbers: Vec<u64>| {
        Markdown::ours(amounts::few(numbers.iter().map(|number| format!("#{number}")), 5))
    });
    environment.add_filter("short", |text: String, most: usize| sanitize::short_text(&text, most));
    environment.add_filter("clip", |text: String, most: usize| sanitize::clip(&text, most).into_owned());
    environment.add_filter("line", |text: String| sanitize::line(&text));
    environment.add_filter("block", |text: String| sanitize::block(&text));
    environment.add_filter("short_line", |text: String, most: usize| sanitize::short_line(&text, most));
    environment.add_filter("brief", |text: String| sanitize::short_line(&text, BRIEF));
    environment.add_filter("exact", |text: String, between: String| sanitize::exact(&text, &between, BRIEF));
    environment.add_filter("quoted", |text: String| quoted(&quote(&text)).trim_end().to_owned());
    environment.add_filter("count", |n: u64, one: String| amounts::count(n, &one));
    environment.add_filter("plural", |n: usize, one: String, many: String| amounts::plural(n, &one, &many));
    environment.add_filter("times", amounts::times);
    environment.add_filter("duration", amounts::duration);
    environment.add_filter("days", amounts::days);
    environment.add_filter("moment", |at: String| at.parse::<Timestamp>().map_or(at, amounts::moment));
    environment.add_filter("date", |at: String, form: String| match at.parse::<Timestamp>() {
        Ok(time) => time.format(&form).to_string(),
        Err(_) => at,
    });
    environment.add_filter("paint", terminal::paint);
    environment.add_filter("aligned", |rows: String| plain::aligned(&rows));
    environment.add_filter("html", |text: String| sanitize::escape_html(&text));
    environment.add_filter("after", |attempts: u32| match attempts {
        0 => "Before any attempt could be judged".to_owned(),
        attempts => format!("After {}", amounts::count(attempts, "attempt")),
    });
    environment
        .add_filter("number", |number: Option<f64>| number.map_or_else(String::new, |number| number.to_string()));
    environment.add_filter("cell", |text: String| metrics::cell(&text));
    environment.add_filter("fixed", |number: f64, digits: usize| format!("{number:.digits$}"));
    // Rounded down, so that 99.96 % is not shown as 100.0 % that are too little.
    environment.add_filter("floor", |percent: f64| format!("{:.1}", (percent * 10.0).floor() / 10.0));
}

/// How every template of ours is read: unknown names are errors, everything printed is escaped.
pub(super) fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::Custom(Cow::Borrowed("markdown")));
    environment.set_formatter(escape);
    environment
}

fn escape(out: &mut Output<'_>, _state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    if value.is_undefined() {
        return Err(Error::from(minijinja::ErrorKind::UndefinedError));
    }
    match (value.as_str(), value.kind()) {
        (Some(words), _) if value.is_safe() => out.write_str(words)?,
        (Some(words), _) => out.write_str(sanitize::text(words).as_str())?,
        (None, ValueKind::None) => {}
        (None, _) => write!(out, "{value}")?,
    }
    Ok(())
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

/// Renders an embedded template, with as little brevity as makes the text at most `limit` bytes. Should even the shortest
/// be longer, its end is missing.
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
    pub fn first<R>(most: usize, raw: impl IntoIterator<Item = R>, show: impl FnMut(R) -> T) -> Self {
        let mut raw = raw.into_iter();
        let items = raw.by_ref().take(most).map(show).collect();
        Self { items, omitted: raw.count() }
    }

    /// Leaves out all but the first `most`.
    pub fn keep(mut self, most: usize) -> Self {
        self.omitted += self.items.len().saturating_sub(most);
        self.items.truncate(most);
        self
    }
}

/// A document for programs holds the items alone.
impl<T: Serialize> Serialize for Shown<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializing_for_value() {
            return context! { items => Serde(&self.items), omitted => self.omitted }.serialize(serializer);
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
    use minijinja::context;

    use super::*;

    #[test]
    fn every_embedded_template_parses() {
        let names = EMBEDDED.iter().map(|(name, _)| *name).filter(|name| name.ends_with(".md"));
        let names: Vec<_> = names.inspect(|name| drop(MARKDOWN.get_template(name).unwrap())).collect();
        assert!(names.contains(&"status.md") && names.contains(&"gates/request.md"), "{names:?}");
    }

    #[test]
    fn strings_are_escaped_and_markdown_is_not() {
        let mut environment = environment();
        environment.add_template("t", "{{ raw }} {{ safe }} {{ none }}{{ number }}").unwrap();
        let model =
            context! { raw => "*@alice*", safe => Value::from(Serde(sanitize::code("x"))), none => (), number => 3 };
        let shown = environment.get_template("t").unwrap().render(model).unwrap();
        assert_eq!(shown, "\\*@\u{2060}alice\\* `x` 3");
    }

    #[test]
    fn empty_lines_fold_outside_fences_only() {
        assert_eq!(tidy("a\n\n\n\nb\n```\n\n\n```\n\n\n"), "a\n\nb\n```\n\n\n```\n");
    }
}
