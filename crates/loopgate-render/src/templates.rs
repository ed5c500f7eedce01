//! The texts of `templates/`, embedded when Loopgate is built.
//!
//! Every string a template prints is escaped as prose unless it is a [`Markdown`](super::sanitize::Markdown) already,
//! so a forgotten filter in a template shows a backslash too many and never lets anything through.

use std::borrow::Cow;

use minijinja::{
    AutoEscape, Environment, Error, Output, State, UndefinedBehavior,
    value::{Value, ValueKind},
};

use super::{Markdown, amounts, plain, sanitize};
use loopgate_core::{Timestamp, untrusted::quote};

// Every template, by its path below `templates/`: `build.rs` lists the folder. Pages (`.html`) are the
// dashboard's.
include!(concat!(env!("OUT_DIR"), "/templates.rs"));

/// Characters of a text of a document that may not be ours.
const BRIEF: usize = 500;

/// Adds the filters of our own templates. `show` makes a name from outside fit to be shown.
pub(super) fn add_filters(environment: &mut Environment<'static>, show: fn(&str) -> String) {
    let each = move |items: Vec<Value>| -> Vec<String> {
        items
            .iter()
            .map(|item| {
                if item.is_safe() {
                    item.to_string()
                } else {
                    show(&item.to_string())
                }
            })
            .collect()
    };
    environment.add_filter("code", |text: String| sanitize::code(&text));
    environment.add_filter("command", |text: String| sanitize::command(&text));
    environment.add_filter("command_code", |text: String| sanitize::command_code(&text));
    environment.add_filter("summary_code", |text: String| sanitize::summary_code(&text));
    environment.add_filter("codes", |names: Vec<String>, most: usize| {
        Markdown::ours(amounts::few(
            names.iter().map(|name| sanitize::code(name)),
            most,
        ))
    });
    environment.add_filter("listed", move |items: Vec<Value>| {
        Markdown::ours(amounts::and(each(items)))
    });
    environment.add_filter("few", move |items: Vec<Value>, most: usize| {
        Markdown::ours(amounts::few(each(items), most))
    });
    environment.add_filter("pulls", |numbers: Vec<u64>| {
        Markdown::ours(amounts::few(
            numbers.iter().map(|number| format!("#{number}")),
            5,
        ))
    });
    environment.add_filter("short", |text: String, most: usize| {
        sanitize::short_text(&text, most)
    });
    environment.add_filter("clip", |text: String, most: usize| {
        sanitize::clip(&text, most).into_owned()
    });
    environment.add_filter("line", |text: String| sanitize::line(&text));
    environment.add_filter("block", |text: String| sanitize::block(&text));
    environment.add_filter("short_line", |text: String, most: usize| {
        sanitize::short_line(&text, most)
    });
    environment.add_filter("brief", |text: String| sanitize::short_line(&text, BRIEF));
    environment.add_filter("exact", |text: String, between: String| {
        sanitize::exact(&text, &between, BRIEF)
    });
    environment.add_filter("quoted", |text: String| {
        sanitize::quoted(&quote(&text)).trim_end().to_owned()
    });
    environment.add_filter("count", |n: u64, one: String| amounts::count(n, &one));
    environment.add_filter("plural", |n: usize, one: String, many: String| {
        amounts::plural(n, &one, &many)
    });
    environment.add_filter("times", amounts::times);
    environment.add_filter("duration", amounts::duration);
    environment.add_filter("days", amounts::days);
    environment.add_filter("moment", |at: String| {
        at.parse::<Timestamp>().map_or(at, amounts::moment)
    });
    environment.add_filter("date", |at: String, form: String| {
        match at.parse::<Timestamp>() {
            Ok(time) => time.format(&form).to_string(),
            Err(_) => at,
        }
    });
    environment.add_filter("paint", plain::paint);
    environment.add_filter("aligned", |rows: String| plain::aligned(&rows));
    environment.add_filter("html", |text: String| sanitize::escape_html(&text));
    environment.add_filter("after", |attempts: u32| match attempts {
        0 => "Before any attempt could be judged".to_owned(),
        attempts => format!("After {}", amounts::count(attempts, "attempt")),
    });
    environment.add_filter("number", |number: Option<f64>| {
        number.map_or_else(String::new, |number| number.to_string())
    });
    environment.add_filter("cell", |text: String| sanitize::cell(&text));
    environment.add_filter("fixed", |number: f64, digits: usize| {
        format!("{number:.digits$}")
    });
    // Rounded down, so that 99.96 % is not shown as 100.0 % that are too little.
    environment.add_filter("floor", |percent: f64| {
        format!("{:.1}", (percent * 10.0).floor() / 10.0)
    });
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

#[cfg(test)]
mod tests {
    use minijinja::{context, value::Serde};

    use super::*;

    #[test]
    fn strings_are_escaped_and_markdown_is_not() {
        let mut environment = environment();
        environment
            .add_template("t", "{{ raw }} {{ safe }} {{ none }}{{ number }}")
            .unwrap();
        let model = context! { raw => "*@alice*", safe => Value::from(Serde(sanitize::code("x"))), none => (), number => 3 };
        let shown = environment
            .get_template("t")
            .unwrap()
            .render(model)
            .unwrap();
        assert_eq!(shown, "\\*@\u{2060}alice\\* `x` 3");
    }
}
