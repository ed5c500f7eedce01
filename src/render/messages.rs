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
    use loopgate_core::{
        deciding::{LabelMeaning, NextAction, Part, Warning},
        escalation::{AttemptsEnd, Cause, Question},
        evidence::{Outcome, RootCauseCategory},
        failure::Blame,
        gate::{MatchReason, PhraseProblem, Refusal},
        memory::{MatchOutcome, Settlement},
        observed::{Permission, Unusable},
        policy::{ApproveBy, InvalidateOnPush, Severity, Trigger},
        reflex::{Breach, EditRefusal, Exhausted},
        result::ItemId,
        stages::Blocker,
        state::{AnswerOutcome, CommandRefusal, DisputeKind, history::Event},
        verdict::{
            CheckFailure, CheckStanding, JobName, LeftQueue, LossCause, RuleFailure, SkipCause,
            coverage::MissingTests,
        },
    };
    use strum::VariantNames as _;

    use super::*;

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
        // The variants, the sections that have an entry for each, and those that need none.
        type Row = (
            Vec<&'static str>,
            &'static [&'static str],
            &'static [&'static str],
        );
        let table: &[Row] = &[
            (
                Trigger::ALL.map(Trigger::as_str).into(),
                &["trigger", "human_action"],
                &[],
            ),
            (
                RootCauseCategory::ALL.map(RootCauseCategory::as_str).into(),
                &["category"],
                &[],
            ),
            (
                Blame::ALL.map(Blame::as_str).into(),
                &["blame"],
                &["pr_code"],
            ),
            (
                Outcome::ALL.map(Outcome::as_str).into(),
                &["outcome", "outcome_sign"],
                &[],
            ),
            (
                CheckStanding::VARIANTS.into(),
                &["standing", "standing_sign", "standing_mark"],
                &["done"],
            ),
            (Severity::VARIANTS.into(), &["severity"], &[]),
            (
                Permission::ALL.map(Permission::as_str).into(),
                &["permission"],
                &[],
            ),
            (NextAction::VARIANTS.into(), &["deed"], &[]),
            (Part::ALL.map(Part::as_str).into(), &["part", "acts"], &[]),
            (Part::ALL.map(Part::as_str).into(), &["actor"], &["nobody"]),
            (
                DisputeKind::ALL.map(DisputeKind::as_str).into(),
                &["dispute"],
                &[],
            ),
            (
                Settlement::VARIANTS.into(),
                &["settlement", "settlement_to_do"],
                &[],
            ),
            (MatchOutcome::VARIANTS.into(), &["memory_match"], &[]),
            (Cause::VARIANTS.into(), &["cause"], &[]),
            (AttemptsEnd::VARIANTS.into(), &["attempts_end"], &[]),
            (Question::VARIANTS.into(), &["question", "answers"], &[]),
            (RuleFailure::VARIANTS.into(), &["rule"], &[]),
            (CheckFailure::VARIANTS.into(), &["check_failure"], &[]),
            (MissingTests::VARIANTS.into(), &["missing_tests"], &[]),
            (JobName::VARIANTS.into(), &["job_name"], &[]),
            (LossCause::VARIANTS.into(), &["loss_cause"], &[]),
            (SkipCause::VARIANTS.into(), &["skip_cause"], &[]),
            (MatchReason::VARIANTS.into(), &["match"], &[]),
            (Unusable::VARIANTS.into(), &["unusable"], &[]),
            (
                Unusable::VARIANTS.into(),
                &["absence"],
                &[
                    "no_codeowners",
                    "owns_nothing",
                    "email",
                    "no_account",
                    "unknown",
                ],
            ),
            (Refusal::VARIANTS.into(), &["refusal"], &[]),
            (PhraseProblem::VARIANTS.into(), &["phrase"], &[]),
            (
                ApproveBy::VARIANTS.into(),
                &["approves", "approve_how", "approve_reject"],
                &[],
            ),
            (
                InvalidateOnPush::VARIANTS.into(),
                &["invalidate_on_push"],
                &[],
            ),
            (AnswerOutcome::VARIANTS.into(), &["answer"], &["refused"]),
            (CommandRefusal::VARIANTS.into(), &["command_refusal"], &[]),
            (Warning::VARIANTS.into(), &["warning"], &[]),
            (LeftQueue::VARIANTS.into(), &["left_queue"], &[]),
            (LabelMeaning::VARIANTS.into(), &["label"], &[]),
            (Blocker::VARIANTS.into(), &["blocker"], &[]),
            (EditRefusal::VARIANTS.into(), &["edit_refusal"], &[]),
            (Breach::VARIANTS.into(), &["breach"], &[]),
            (Exhausted::VARIANTS.into(), &["exhausted"], &[]),
            (
                Event::VARIANTS.into(),
                &["event"],
                &["critique_done", "other"],
            ),
            (ItemId::ALL.map(ItemId::as_str).into(), &["item"], &[]),
        ];
        for (variants, sections, without) in table {
            for variant in variants.iter().filter(|variant| !without.contains(variant)) {
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
