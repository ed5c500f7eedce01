//! The texts of `config/templates/`, embedded when Loopgate is built.
//!
//! Every string a template prints is escaped as prose unless it is a [`Markdown`](super::sanitize::Markdown) already,
//! so a forgotten filter in a template shows a backslash too many and never lets anything through.

use std::{borrow::Cow, sync::LazyLock};

use minijinja::{
    AutoEscape, Environment, Error, Output, State, UndefinedBehavior,
    value::{Serde, Value, ValueKind},
};
use serde::Serialize;

use super::sanitize;

// Every template, by its path below `config/templates/`: `build.rs` lists the folder. Pages (`.html`) are the
// dashboard's.
include!(concat!(env!("OUT_DIR"), "/templates.rs"));

static BUILT_IN: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = environment();
    for &(name, source) in EMBEDDED.iter().filter(|(name, _)| name.ends_with(".md")) {
        environment.add_template(name, source).expect("embedded templates parse: a test adds each of them");
    }
    environment
});

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

/// Renders an embedded template. A model that lacks a name its template uses is caught by the tests, which render
/// every template; should it happen all the same, the text says so instead of the server falling over.
pub(super) fn render(name: &str, model: &impl Serialize) -> String {
    let rendered = BUILT_IN.get_template(name).and_then(|template| template.render(Serde(model)));
    rendered.map(tidy).unwrap_or_else(|error| format!("Loopgate could not write this text ({name}): {error}\n"))
}

/// Runs of empty lines, which conditional sections leave behind, become one; fenced blocks keep theirs.
fn tidy(text: String) -> String {
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
        let names: Vec<_> = BUILT_IN.templates().map(|(name, _)| name).collect();
        assert_eq!(names.len(), EMBEDDED.iter().filter(|(name, _)| name.ends_with(".md")).count());
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
        assert_eq!(tidy("a\n\n\n\nb\n```\n\n\n```\n\n\n".into()), "a\n\nb\n```\n\n\n```\n");
    }
}
