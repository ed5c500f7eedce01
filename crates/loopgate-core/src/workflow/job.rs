//! Jobs of a workflow, and the check runs they become.
//!
//! A job's check run has the job's name, or its id; a matrix adds its values in brackets, and a called workflow its own
//! job's name after a slash
//! (<https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax#jobsjob_idname>).

use std::{collections::BTreeSet, sync::LazyLock};

use regex::Regex;
use serde_json::Value;

use crate::expressions;

/// Values of a matrix that stand in a glob one by one; of more, any value is meant.
const MOST_VALUES: usize = 12;

/// Versions, and numbers that stand alone: what the next change of a matrix replaces. `ubuntu-24.04`, `Go 1.26`,
/// `shard 3`, not `x86_64`.
static NUMBERS: LazyLock<Regex> = LazyLock::new(|| {
    expressions::compile(r"\bv?\d+(?:\.(?:\d+|x))+\b|\d+(?:\.(?:\d+|x))+\b|\bv?\d+\b")
});

/// How much a glob over the names of check runs takes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// A version or number may be any other, and a matrix may get new values.
    Wide,
    /// What the file says today.
    Narrow,
}

/// A job of a workflow.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// Its key in the file.
    pub id: &'a str,
    pub(super) job: &'a Value,
}

impl<'a> Job<'a> {
    /// What stands under one of its keys; null where it is not there.
    pub fn key(&self, name: &str) -> &'a Value {
        &self.job[name]
    }

    /// Its name as GitHub reads it, expressions and all: that of its check run where it is skipped before they are
    /// evaluated. Without one, its id.
    pub fn name(&self) -> String {
        let name = scalar(self.key("name")).unwrap_or_default();
        match name.trim() {
            "" => self.id.to_owned(),
            name => name.to_owned(),
        }
    }

    /// A text without its expressions.
    pub fn without_expressions(text: &str) -> String {
        let mut parts = text.split("${{");
        let mut plain = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            plain.push(' ');
            plain.push_str(part.split_once("}}").map_or("", |(_, after)| after));
        }
        plain
    }

    /// Its steps.
    pub fn steps(&self) -> impl Iterator<Item = &'a Value> + use<'a> {
        self.key("steps").as_array().into_iter().flatten()
    }

    /// The workflow that it calls.
    pub fn calls(&self) -> Option<&'a str> {
        self.key("uses").as_str()
    }

    /// A glob over the names of its check runs.
    pub fn check_runs(&self, reach: Reach) -> String {
        let own = self.own_check_runs(reach);
        if self.calls().is_some() {
            format!("{own} / *")
        } else {
            own
        }
    }

    /// A glob over what stands before the slash, where it calls a workflow. Of a wide one, what a matrix lists stands
    /// in it only where nothing else would: a new value is to be followed too.
    pub fn own_check_runs(&self, reach: Reach) -> String {
        let any = self.glob(Reach::Wide, |_| None);
        if reach == Reach::Wide && any.contains(char::is_alphanumeric) {
            any
        } else {
            self.glob(reach, |expression| self.values(expression, reach))
        }
    }

    /// A glob over its name; `values` is what an expression may become, anything where it does not say.
    fn glob(&self, reach: Reach, values: impl Fn(&str) -> Option<String>) -> String {
        let steady = |part: &str| steady(part, reach);
        let name = self.name();
        let (mut glob, mut rest) = (String::new(), name.as_str());
        // An expression may be empty, and then the blanks beside it may be gone.
        while let Some((before, expression)) = rest.split_once("${{") {
            let (expression, after) = expression.split_once("}}").unwrap_or((expression, ""));
            let values = values(expression.trim());
            let (before, after) = match values {
                Some(_) => (before, after),
                None => (before.trim_end(), after.trim_start()),
            };
            glob.push_str(&steady(before));
            glob.push_str(values.as_deref().unwrap_or("*"));
            rest = after;
        }
        glob.push_str(&steady(rest));
        if !self.matrix().is_null() && !name.contains("${{") && self.calls().is_none() {
            glob.push_str(" (*)");
        }
        while glob.contains("**") {
            glob = glob.replace("**", "*");
        }
        glob
    }

    fn matrix(&self) -> &'a Value {
        &self.key("strategy")["matrix"]
    }

    /// A glob over the values of `matrix.os` or `matrix.target.name`, as the file lists them; `None` if it does not
    /// list them, or one may be empty.
    fn values(&self, expression: &str, reach: Reach) -> Option<String> {
        let mut path = expression.strip_prefix("matrix.")?.split('.');
        let axis = path.next()?;
        let inner = Vec::from_iter(path);
        let value = |of: &Value| {
            let text = scalar(inner.iter().fold(of, |value, key| &value[*key]))?;
            (!text.is_empty() && !text.contains("${{")).then_some(text)
        };
        let matrix = self.matrix().as_object()?;
        let included = match matrix.get("include") {
            None => &[][..],
            Some(included) => included.as_array()?.as_slice(),
        };
        let mut values: BTreeSet<String> = match matrix.get(axis) {
            Some(listed) => listed
                .as_array()?
                .iter()
                .map(value)
                .collect::<Option<_>>()?,
            None if matrix.keys().any(|key| key != "include") => return None,
            None => BTreeSet::new(),
        };
        for combination in included {
            match combination.get(axis) {
                Some(listed) => drop(values.insert(value(listed)?)),
                // It adds to combinations that are there.
                None if matrix.contains_key(axis) => {}
                None => return None,
            }
        }
        let globs: BTreeSet<String> = values
            .iter()
            .map(|value| steady(value, reach).replace(',', "?"))
            .collect();
        match Vec::from_iter(globs).as_slice() {
            [] => None,
            [one] => Some(one.clone()),
            several if several.len() <= MOST_VALUES && several.iter().all(|one| one != "*") => {
                Some(format!("{{{}}}", several.join(",")))
            }
            _ => Some("*".to_owned()),
        }
    }
}

/// A value as GitHub writes it into a name: `1.20` is a number, and `1.2`.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) if number.is_f64() => Some(number.as_f64()?.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(is) => Some(is.to_string()),
        _ => None,
    }
}

/// A part of a name, where nothing means anything else in a glob.
fn steady(name: &str, reach: Reach) -> String {
    let lines: Vec<&str> = name.split('\n').collect();
    let plain: String = lines
        .iter()
        .enumerate()
        .map(|(nth, line)| match nth {
            0 => line.to_string(),
            _ => format!("*{}", line.trim_start()),
        })
        .collect::<String>()
        .chars()
        .map(|c| if "?[]{}!\\".contains(c) { '?' } else { c })
        .collect();
    match reach {
        Reach::Wide => NUMBERS.replace_all(&plain, "*").into_owned(),
        Reach::Narrow => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_runs(job: &str) -> String {
        let job: Value = serde_yaml::from_str(job).unwrap();
        Job {
            id: "unit",
            job: &job,
        }
        .check_runs(Reach::Wide)
    }

    #[test]
    fn the_check_runs_of_a_job_are_found_by_its_name() {
        for (job, glob) in [
            ("{}", "unit"),
            (
                "name: Rust nightly ${{ matrix.extra || '' }}",
                "Rust nightly*",
            ),
            ("name: ${{ matrix.os }} with ${{ matrix.go }}", "*with*"),
            (
                "name: \"(Rack ${{ matrix.rack }},\\n Ruby 3)\\n\"",
                "(Rack*,*Ruby *)",
            ),
            ("name: Tests [all]", "Tests ?all?"),
            ("strategy: { matrix: { os: [a] } }", "unit (*)"),
            ("uses: ./.github/workflows/a.yml", "unit / *"),
            ("{ uses: a, strategy: { matrix: { os: [a] } } }", "unit / *"),
        ] {
            assert_eq!(check_runs(job), glob, "{job}");
        }
    }

    /// As GitHub's own parser reads them (`findings/workflow-names-of-numbers.sh`).
    #[test]
    fn a_name_is_what_github_reads_not_what_is_written() {
        for (name, read) in [
            ("1.20", "1.2"),
            ("0x1F", "31"),
            (".5", "0.5"),
            ("1e3", "1000"),
            ("true", "true"),
            ("1_000", "1_000"),
            ("yes", "yes"),
            ("null", "unit"),
            ("''", "unit"),
        ] {
            let job: Value = serde_yaml::from_str(&format!("name: {name}")).unwrap();
            let job = Job {
                id: "unit",
                job: &job,
            };
            assert_eq!(job.name(), read, "{name}");
        }
    }

    #[test]
    fn what_a_matrix_lists_stands_in_the_glob() {
        let of = |name: &str, matrix: &str| {
            check_runs(&format!(
                "name: \"{name}\"\nstrategy: {{ matrix: {matrix} }}"
            ))
        };
        for (name, matrix, glob) in [
            (
                "${{ matrix.os }}",
                "{ os: [linux, macos] }",
                "{linux,macos}",
            ),
            (
                "${{matrix.os}}",
                "{ os: [ubuntu-22.04, ubuntu-24.04] }",
                "ubuntu-*",
            ),
            ("${{ matrix.go }}", "{ go: [1.25, 1.26] }", "*"),
            (
                "${{ matrix.os }} ${{ matrix.go }}",
                "{ os: [a], go: [1.26] }",
                "a *",
            ),
            (
                "${{ matrix.t.name }}",
                "{ t: [{ name: a }, { name: b }] }",
                "{a,b}",
            ),
            (
                "${{ matrix.t }}",
                "{ include: [{ t: a }, { t: b }] }",
                "{a,b}",
            ),
            (
                "${{ matrix.t }}",
                "{ t: [c], include: [{ t: a }, { k: 1 }] }",
                "{a,c}",
            ),
            ("(${{ matrix.t }})", "{ t: ['a,b', c] }", "({a?b,c})"),
            // One may be empty, or is computed.
            ("${{ matrix.t }}", "{ k: [1], include: [{ t: a }] }", "*"),
            (
                "${{ matrix.t }}",
                "\"${{ fromJSON(needs.a.outputs.b) }}\"",
                "*",
            ),
            // A new value is followed too.
            ("on ${{ matrix.os }}", "{ os: [linux, macos] }", "on*"),
        ] {
            assert_eq!(of(name, matrix), glob, "{name} {matrix}");
        }
    }

    #[test]
    fn a_version_in_a_name_may_be_any() {
        for (name, glob) in [
            ("Dart 3.4.0; PKG: http", "Dart *; PKG: http"),
            ("go1.21.x", "go*"),
            ("PHP v8", "PHP *"),
            ("x86_64 es2015 sha256", "x86_64 es2015 sha256"),
            ("shard 3 of 4", "shard * of *"),
        ] {
            assert_eq!(steady(name, Reach::Wide), glob);
        }
    }
}
