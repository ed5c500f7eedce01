//! The catalogue of sentences, `config/templates/messages.toml`: a section for each enum, an entry for each variant.
//!
//! An entry is a template over the fields of its variant and what the caller adds. The name of a variant is the one
//! that serde writes, so a new variant is one entry in the file. A test holds the entries against the variants; if one
//! is missing all the same, the text shows that.

use std::{collections::BTreeMap, sync::LazyLock};

use minijinja::{
    AutoEscape, Environment, Error, State, UndefinedBehavior, context,
    syntax::SyntaxConfig,
    value::{Serde, Value, ValueKind},
};
use serde::Serialize;

use super::{Markdown, amounts, sanitize, templates};

/// Every entry by `section/variant`.
static CATALOGUE: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let sections: BTreeMap<String, BTreeMap<String, String>> =
        toml::from_str(include_str!("../../config/templates/messages.toml"))
            .expect("every test reads the embedded file");
    let named = |(section, entries): (String, BTreeMap<String, String>)| {
        entries
            .into_iter()
            .map(move |(variant, text)| (format!("{section}/{variant}"), text))
    };
    sections.into_iter().flat_map(named).collect()
});

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

/// The words of an entry in which nothing is filled in; empty if there is none.
pub(super) fn word(section: &str, variant: &str) -> &'static str {
    CATALOGUE
        .get(&format!("{section}/{variant}"))
        .map_or("", String::as_str)
}

/// The sentence about a variant as plain text: names from outside stand in it as they are, and who shows it makes it
/// safe.
pub(super) fn plain(section: &str, what: &impl Serialize, beside: Value) -> String {
    written(&PLAIN, section, Value::from(Serde(what)), beside)
}

/// The sentence about a variant in which nothing else is filled in: what a label means, why edits are refused, how a
/// step of a local loop went wrong, which part of a fixer's budget is used up.
pub fn reason(section: &str, what: &impl Serialize) -> String {
    plain(section, what, context! {})
}

/// The sentence about a variant as Markdown.
pub(super) fn markdown(section: &str, what: &impl Serialize, beside: Value) -> Markdown {
    Markdown::ours(written(
        &MARKDOWN,
        section,
        Value::from(Serde(what)),
        beside,
    ))
}

/// A text for terminals, by a template of its own (`.txt`): what it prints stands there as it is.
pub fn text(template: &str, model: Value) -> String {
    rendered(&PLAIN, template, model)
}

/// The name of a variant, as serde writes it.
pub(super) fn variant_name(what: &impl Serialize) -> String {
    variant(Value::from(Serde(what))).0
}

fn written(
    environment: &Environment<'static>,
    section: &str,
    what: Value,
    beside: Value,
) -> String {
    let (name, fields) = variant(what);
    rendered(
        environment,
        &format!("{section}/{name}"),
        context! { ..fields, ..beside },
    )
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
        word(&section, &variant)
    });
    environment.add_filter("say", say);
    environment.add_filter("happened", |line: Value| happened(&line));
    environment.set_loader(move |name| {
        let embedded = || {
            templates::EMBEDDED
                .iter()
                .find(|(text, _)| *text == name && name.ends_with(ending))
        };
        Ok(CATALOGUE
            .get(name)
            .map(String::as_str)
            .or_else(|| embedded().map(|(_, source)| *source)))
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
        written(
            &PLAIN,
            section,
            job.get_attr(field).unwrap_or_default(),
            context! {},
        )
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
    if word("event", &event).is_empty() {
        String::new()
    } else {
        plain("event", &event, payload)
    }
}

impl From<Markdown> for Value {
    fn from(text: Markdown) -> Self {
        Self::from_safe_string(text.into_string())
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    /// Every source of the core.
    fn sources(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let texts = entries.flat_map(|path| match path.is_dir() {
            true => sources(&path),
            false => vec![fs::read_to_string(path).unwrap()],
        });
        texts.collect()
    }

    /// The variants of an enum of the core, as serde writes them.
    fn variants(sources: &[String], name: &str) -> Vec<String> {
        let head = format!("pub enum {name} {{\n");
        let holding: Vec<&String> = sources
            .iter()
            .filter(|source| source.contains(&head))
            .collect();
        assert_eq!(holding.len(), 1, "{name}");
        let (before, body) = holding[0].split_once(&head).unwrap();
        let indent = " ".repeat(before.len() - before.trim_end_matches(' ').len() + 4);
        let end = format!("\n{}}}", &indent[4..]);
        let lines = body
            .split(end.as_str())
            .next()
            .unwrap()
            .lines()
            .filter_map(|line| line.strip_prefix(&indent));
        let variants = lines.filter(|line| line.starts_with(char::is_uppercase));
        let snake = |line: &str| {
            let name: String = line
                .chars()
                .take_while(|letter| letter.is_alphanumeric())
                .collect();
            let words =
                name.char_indices()
                    .map(|(at, letter)| match letter.is_uppercase() && at > 0 {
                        true => format!("_{}", letter.to_lowercase()),
                        false => letter.to_lowercase().to_string(),
                    });
            words.collect::<String>()
        };
        variants.map(snake).collect()
    }

    #[test]
    fn every_entry_parses() {
        for name in CATALOGUE.keys() {
            for environment in [&PLAIN, &MARKDOWN] {
                environment.get_template(name).unwrap();
            }
        }
    }

    #[test]
    fn every_variant_has_an_entry() {
        let table: &[(&str, &[&str], &[&str])] = &[
            ("Trigger", &["trigger", "human_action"], &[]),
            ("RootCauseCategory", &["category"], &[]),
            ("Blame", &["blame"], &["pr_code"]),
            ("Outcome", &["outcome", "outcome_sign"], &[]),
            (
                "CheckStanding",
                &["standing", "standing_sign", "standing_mark"],
                &["done"],
            ),
            ("Severity", &["severity"], &[]),
            ("Permission", &["permission"], &[]),
            ("NextAction", &["deed"], &[]),
            ("Part", &["part"], &[]),
            ("Part", &["actor"], &["nobody"]),
            ("DisputeKind", &["dispute"], &[]),
            ("Settlement", &["settlement", "settlement_to_do"], &[]),
            ("MatchOutcome", &["memory_match"], &[]),
            ("Cause", &["cause"], &[]),
            ("AttemptsEnd", &["attempts_end"], &[]),
            ("Question", &["question", "answers"], &[]),
            ("RuleFailure", &["rule"], &[]),
            ("CheckFailure", &["check_failure"], &[]),
            ("MissingTests", &["missing_tests"], &[]),
            ("JobName", &["job_name"], &[]),
            ("LossCause", &["loss_cause"], &[]),
            ("SkipCause", &["skip_cause"], &[]),
            ("MatchReason", &["match"], &[]),
            ("Unusable", &["unusable"], &[]),
            (
                "Unusable",
                &["absence"],
                &[
                    "no_codeowners",
                    "owns_nothing",
                    "email",
                    "no_account",
                    "unknown",
                ],
            ),
            ("Refusal", &["refusal"], &[]),
            ("PhraseProblem", &["phrase"], &[]),
            (
                "ApproveBy",
                &["approves", "approve_how", "approve_reject"],
                &[],
            ),
            ("InvalidateOnPush", &["invalidate_on_push"], &[]),
            ("AnswerOutcome", &["answer"], &["refused"]),
            ("CommandRefusal", &["command_refusal"], &[]),
            ("Warning", &["warning"], &[]),
            ("LeftQueue", &["left_queue"], &[]),
            ("LabelMeaning", &["label"], &[]),
            ("Blocker", &["blocker"], &[]),
            ("EditRefusal", &["edit_refusal"], &[]),
            ("Breach", &["breach"], &[]),
            ("Exhausted", &["exhausted"], &[]),
            ("Event", &["event"], &["critique_done", "other"]),
        ];
        let core = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/loopgate-core/src"));
        for (name, sections, without) in table {
            let variants = variants(&core, name);
            assert!(!variants.is_empty(), "{name}");
            for variant in variants
                .iter()
                .filter(|variant| !without.contains(&variant.as_str()))
            {
                for section in *sections {
                    assert!(
                        !word(section, variant).is_empty(),
                        "{section}/{variant} is missing"
                    );
                }
            }
        }
    }
}
