//! Workflow files: which check runs their jobs become, and which pull requests their filters keep them from.

mod filter;
mod job;

use serde_json::Value;

pub use self::{
    filter::{Change, FilterKey},
    job::{Job, Reach},
};

/// Bytes of a workflow that is read; GitHub's own are far below.
const LARGEST: usize = 1 << 20;

/// A workflow file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workflow(Value);

impl Workflow {
    /// Reads a file's text; `None` if it is no YAML mapping, or larger than 1 MiB.
    pub fn parse(text: &str) -> Option<Self> {
        // Some editors begin a file with it, and the parser takes no text with one.
        let text = text.trim_start_matches('\u{feff}');
        let document = (text.len() <= LARGEST)
            .then(|| serde_yaml::from_str::<Value>(text))
            .and_then(Result::ok)?;
        document.is_object().then_some(Self(document))
    }

    /// What people call it, where it says so.
    pub fn title(&self) -> Option<&str> {
        self.0["name"].as_str()
    }

    /// What stands under one of its keys; null where it is not there.
    pub fn key(&self, name: &str) -> &Value {
        &self.0[name]
    }

    /// What stands under an event that starts it, its filters; `None` if the event does not start it.
    pub fn event(&self, name: &str) -> Option<&Value> {
        const UNFILTERED: &Value = &Value::Null;
        let is_named = |event: &Value| event.as_str() == Some(name);
        match &self.0["on"] {
            Value::Array(events) => events.iter().any(is_named).then_some(UNFILTERED),
            Value::Object(events) => events.get(name),
            event => is_named(event).then_some(UNFILTERED),
        }
    }

    /// Its jobs, in the order of the file.
    pub fn jobs(&self) -> impl Iterator<Item = Job<'_>> {
        let jobs = self.0["jobs"].as_object().into_iter().flatten();
        jobs.filter(|(_, job)| job.is_object())
            .map(|(id, job)| Job { id, job })
    }
}

/// The texts of a list, or the one text that stands instead of it.
fn texts(list: &Value) -> Option<Vec<&str>> {
    match list {
        Value::Array(items) => items.iter().map(Value::as_str).collect(),
        one => Some(vec![one.as_str()?]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_grows_by_its_aliases_is_none() {
        let mut text = "on: pull_request\na0: &a0 [x, x, x, x, x, x, x, x]\n".to_owned();
        for nth in 1..10 {
            let before = vec![format!("*a{}", nth - 1); 8].join(", ");
            text.push_str(&format!("a{nth}: &a{nth} [{before}]\n"));
        }
        assert_eq!(Workflow::parse(&text), None);
    }

    #[test]
    fn a_workflow_is_read_as_editors_and_people_write_it() {
        let titles = |text: &str| {
            let workflow = Workflow::parse(text)?;
            workflow.event("pull_request")?;
            Some(
                workflow
                    .jobs()
                    .map(|job| job.id.to_owned())
                    .collect::<Vec<_>>(),
            )
        };
        let jobs = "jobs: { b: {}, a: { env: { 1: x } } }";
        for on in [
            "on: pull_request",
            "on: [push, pull_request]",
            "\u{feff}on: { pull_request: }",
        ] {
            assert_eq!(
                titles(&format!("{on}\n{jobs}")).unwrap(),
                ["b", "a"],
                "{on}"
            );
        }
        for text in [
            "",
            "a",
            "on: push",
            "on: [pull_request",
            &" ".repeat(LARGEST + 1),
        ] {
            assert_eq!(titles(text), None);
        }
    }
}
