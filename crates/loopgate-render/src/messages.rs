//! The catalogue of sentences, `templates/messages.toml`: a section for each enum, an entry for each variant.
//!
//! An entry is a template over the fields of its variant and what the caller adds. `build.rs` makes a type of each
//! section, [`entry::Cause`] for example, which finds the entry of a variant by a `match`: a new variant is one entry in
//! the file, and without it the program does not compile.

use std::sync::LazyLock;

use minijinja::{
    AutoEscape, Environment, Error, State, UndefinedBehavior, context,
    syntax::SyntaxConfig,
    value::{Serde, Value, ValueKind},
};
use serde::Serialize;

use super::{Markdown, amounts, sanitize, templates};

include!(concat!(env!("OUT_DIR"), "/sentences.rs"));

/// One entry of the catalogue.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    /// `section/variant`, the name of its template.
    name: &'static str,
    words: &'static str,
}

/// What the catalogue has an entry for.
pub trait Sentence {
    fn entry(&self) -> Entry;
    /// What the entry may fill in; what a variant holds without a name is `it`.
    fn fields(&self) -> Value;
}

/// The template of this name; `None` if there is none.
fn template(name: &str) -> Option<&'static str> {
    let at = ENTRIES.binary_search_by_key(&name, |(name, _)| name).ok()?;
    Some(ENTRIES[at].1)
}

/// Prints what is filled in as it is.
static PLAIN: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true)
        .build();
    environment.set_syntax(syntax.unwrap_or_default());
    with_entries(environment, ".txt", str::to_owned)
});

/// Escapes what is filled in.
pub(super) static MARKDOWN: LazyLock<Environment<'static>> = LazyLock::new(|| {
    with_entries(templates::environment(), ".md", |text| {
        sanitize::text(text).into_string()
    })
});

/// The words of an entry in which nothing is filled in.
pub(super) fn word(sentence: impl Sentence) -> &'static str {
    sentence.entry().words
}

/// The words of an entry whose name is in a document; empty if there is none.
pub(super) fn word_named(section: &str, name: &str) -> &'static str {
    template(&format!("{section}/{name}")).unwrap_or_default()
}

/// The sentence as plain text: names from outside stand in it as they are, and who shows it makes it safe.
pub(super) fn plain(sentence: impl Sentence, beside: Value) -> String {
    written(&PLAIN, sentence, beside)
}

/// The sentence, to which nothing else is added, as plain text.
pub(super) fn reason(sentence: impl Sentence) -> String {
    plain(sentence, context! {})
}

/// The sentence as Markdown.
pub(super) fn markdown(sentence: impl Sentence, beside: Value) -> Markdown {
    Markdown::ours(written(&MARKDOWN, sentence, beside))
}

/// A text for terminals, by a template of its own (`.txt`): what it prints stands there as it is.
pub fn text(template: &str, model: Value) -> String {
    rendered(&PLAIN, template, model)
}

/// The name of a variant, as serde writes it.
pub(super) fn variant_name(what: &impl Serialize) -> String {
    variant(Value::from(Serde(what))).0
}

/// The fields of a variant.
fn fields(what: &impl Serialize) -> Value {
    variant(Value::from(Serde(what))).1
}

fn written(environment: &Environment<'static>, sentence: impl Sentence, beside: Value) -> String {
    let model = context! { ..sentence.fields(), ..beside };
    rendered(environment, sentence.entry().name, model)
}

/// A model that lacks a name its template uses is caught by the tests, which render every template; should it happen
/// all the same, the text shows that instead of the server falling over.
pub(super) fn rendered(environment: &Environment<'static>, name: &str, model: Value) -> String {
    let text = environment
        .get_template(name)
        .and_then(|template| template.render(model));
    text.unwrap_or_else(|error| format!("Loopgate could not write this text ({name}): {error}"))
}

/// The name of a variant and its fields; what it holds without a name is `it`. Enums that are tagged within have their
/// variant in `name`.
fn variant(what: Value) -> (String, Value) {
    if what.kind() != ValueKind::Map {
        return (what.to_string(), context! {});
    }
    if let Some(name) = what
        .get_attr("name")
        .ok()
        .filter(|name| !name.is_undefined())
    {
        return (name.to_string(), what);
    }
    let name = what
        .try_iter()
        .ok()
        .and_then(|mut keys| keys.next())
        .unwrap_or_default();
    let held = what.get_item(&name).unwrap_or_default();
    let named = if held.kind() == ValueKind::Map {
        held.clone()
    } else {
        context! {}
    };
    (name.to_string(), context! { it => held, ..named })
}

/// Adds the filters that name an entry. The templates whose names end so, and the entries, are loaded when they are
/// first used: all of them compiled take 8 MB.
fn with_entries(
    mut environment: Environment<'static>,
    ending: &'static str,
    show: fn(&str) -> String,
) -> Environment<'static> {
    templates::add_filters(&mut environment, show);
    environment.add_filter("lost", |jobs: Value| lost_jobs(&jobs));
    environment.add_filter("word", |variant: String, section: String| {
        word_named(&section, &variant)
    });
    environment.add_filter("say", say);
    environment.add_filter("happened", |line: Value| happened(&line));
    environment.set_loader(move |name| {
        let embedded = || {
            templates::EMBEDDED
                .iter()
                .find(|(text, _)| *text == name && name.ends_with(ending))
        };
        Ok(template(name).or_else(|| embedded().map(|(_, source)| *source)))
    });
    environment
}

/// The sentence about an enum within another; `of` is what it is about.
fn say(
    state: &mut State<'_, '_>,
    what: Value,
    section: String,
    of: Option<Value>,
) -> Result<Value, Error> {
    let (name, fields) = variant(what);
    let template = state.env().get_template(&format!("{section}/{name}"))?;
    Ok(Value::from_safe_string(
        template.render(context! { of, ..fields })?,
    ))
}

/// Jobs named at most that ended without evidence.
const MOST_LOST_JOBS: usize = 3;

/// The jobs that ended without evidence, each with how: "test (windows) was cancelled".
pub(super) fn lost_jobs(jobs: &impl Serialize) -> String {
    let part = |job: &Value, field: &str, section: &str| {
        let (name, fields) = variant(job.get_attr(field).unwrap_or_default());
        rendered(&PLAIN, &format!("{section}/{name}"), fields)
    };
    let jobs = Value::from(Serde(jobs));
    let ended = jobs.try_iter().into_iter().flatten().map(|job| {
        format!(
            "{} {}",
            part(&job, "name", "job_name"),
            part(&job, "end", "loss_cause")
        )
    });
    format!("{} without evidence", amounts::few(ended, MOST_LOST_JOBS))
}

/// The one thing of a line of the history that people look for; empty for an event that a newer version wrote.
pub(super) fn happened(line: &Value) -> String {
    let event = line.get_attr("event").unwrap_or_default().to_string();
    let payload = line.get_attr("payload").unwrap_or_default();
    if word_named("event", &event).is_empty() {
        String::new()
    } else {
        rendered(&PLAIN, &format!("event/{event}"), payload)
    }
}

impl From<Markdown> for Value {
    fn from(text: Markdown) -> Self {
        Self::from_safe_string(text.into_string())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_entry_parses() {
        for (name, _) in ENTRIES {
            for environment in [&PLAIN, &MARKDOWN] {
                environment.get_template(name).unwrap();
            }
        }
    }

    /// What templates name by a string, for which no compiler looks.
    #[test]
    fn templates_name_sections_and_entries_that_exist() {
        let sections: BTreeSet<&str> = ENTRIES
            .iter()
            .filter_map(|(name, _)| Some(name.split_once('/')?.0))
            .collect();
        let entries = ENTRIES.iter().map(|(_, text)| *text);
        let texts = entries.chain(templates::EMBEDDED.iter().map(|(_, text)| *text));
        let named =
            regex::Regex::new(r#"(?:word|say)\(['"](\w+)['"]|include ['"](\w+/[a-z_]+)['"]"#);
        let named = named.unwrap();
        let mut found = 0;
        for names in texts.flat_map(|text| named.captures_iter(text).collect::<Vec<_>>()) {
            found += 1;
            match (names.get(1), names.get(2)) {
                (Some(section), _) => assert!(sections.contains(section.as_str()), "{section:?}"),
                (_, Some(entry)) => assert!(template(entry.as_str()).is_some(), "{entry:?}"),
                _ => unreachable!(),
            }
        }
        assert!(found > 40, "{found}");
    }
}
