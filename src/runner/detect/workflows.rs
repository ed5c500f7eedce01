//! The CI that a repository has: the jobs that its workflows run on pull requests, by the check runs they become.
//!
//! A job's check run has the job's name, or its id; a matrix adds its values in brackets, and a called workflow its own
//! job's name after a slash
//! (<https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax#jobsjob_idname>).

use std::path::Path;

use serde_json::Value;

use super::{
    site::{WORKFLOWS, manifest, workflow_files, workflow_texts},
    table::TABLE,
};
use loopgate_core::evidence::CheckKind::{self, Build, Custom, Lint, Test};

/// A job that runs on pull requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CiJob {
    /// `.github/workflows/ci.yml`
    pub workflow: String,
    /// What GitHub calls that workflow.
    pub title: String,
    /// Its id in the file.
    pub id: String,
    /// A glob over the names of its check runs.
    pub check: String,
    pub kind: CheckKind,
    /// The filter that keeps its workflow from some pull requests: `paths` or `paths-ignore`.
    pub filter: Option<&'static str>,
    /// The commands of its steps that test, each one line of shell without an expression.
    pub tests: Vec<String>,
}

/// The jobs of all workflows, by file and place in it.
pub fn ci_jobs(root: &Path) -> Vec<CiJob> {
    let jobs = workflow_files(root).into_iter().flat_map(|file| {
        let name = file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        jobs_of(&format!("{WORKFLOWS}/{name}"), &manifest(&file))
    });
    jobs.collect()
}

fn jobs_of(workflow: &str, file: &Value) -> Vec<CiJob> {
    let Some(filter) = filter(file) else {
        return Vec::new();
    };
    let title = file["name"].as_str().unwrap_or(workflow);
    let jobs = file["jobs"].as_object().into_iter().flatten();
    let jobs = jobs
        .filter(|(_, job)| !is_left_out(job))
        .map(|(id, job)| CiJob {
            workflow: workflow.to_owned(),
            title: title.to_owned(),
            id: id.clone(),
            check: check_run(id, job),
            kind: kind(title, id, job),
            filter,
            tests: tests(job),
        });
    jobs.collect()
}

/// The filter that keeps it from some pull requests, if there is one; none where pushes to one start it never.
fn filter(file: &Value) -> Option<Option<&'static str>> {
    let named = |event: &Value| event.as_str() == Some("pull_request");
    match &file["on"] {
        Value::Array(events) => events.iter().any(named).then_some(None),
        Value::Object(events) => {
            let filter = events.get("pull_request")?;
            if let Some(types) = filter.get("types") {
                // Without `types` it runs on an opened pull request and on each push.
                let list = types
                    .as_array()
                    .map_or(std::slice::from_ref(types), Vec::as_slice);
                list.iter()
                    .find(|one| one.as_str() == Some("synchronize"))?;
            }
            Some(
                ["paths", "paths-ignore"]
                    .into_iter()
                    .find(|key| filter.get(key).is_some()),
            )
        }
        event => named(event).then_some(None),
    }
}

/// Jobs of Loopgate's own workflows, and those that a condition certainly keeps from pull requests.
fn is_left_out(job: &Value) -> bool {
    let steps = job["steps"].as_array().into_iter().flatten();
    let uses = steps.filter_map(|step| step["uses"].as_str());
    let condition = job["if"].as_str().unwrap_or_default();
    uses.into_iter().any(|action| action.contains("/loopgate")) || excludes_pull_requests(condition)
}

/// Whether the condition of a job certainly does not hold in a workflow that a pull request starts.
/// `github.ref` is the pull request's own there
/// (<https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows#pull_request>).
fn excludes_pull_requests(condition: &str) -> bool {
    let is_false = |term: &str| {
        let (left, right, is_equality) = match (term.split_once("=="), term.split_once("!=")) {
            (Some((left, right)), _) => (left, right, true),
            (None, Some((left, right))) => (left, right, false),
            (None, None) => return term.trim().starts_with("startsWith(github.ref, 'refs/"),
        };
        let Some(value) = right
            .trim()
            .strip_prefix('\'')
            .and_then(|value| value.strip_suffix('\''))
        else {
            return false;
        };
        match left.trim() {
            "github.event_name" => (value == "pull_request") != is_equality,
            "github.ref" => is_equality && !value.starts_with("refs/pull/"),
            _ => false,
        }
    };
    let condition = condition
        .trim()
        .trim_start_matches("${{")
        .trim_end_matches("}}");
    condition
        .split("||")
        .all(|part| part.split("&&").any(is_false))
}

fn check_run(id: &str, job: &Value) -> String {
    let name = job["name"].as_str().unwrap_or(id).trim();
    let (mut glob, mut rest) = (String::new(), name);
    // An expression may be empty, and then the blanks beside it may be gone.
    while let Some((before, expression)) = rest.split_once("${{") {
        glob.push_str(&plain(before.trim_end()));
        glob.push('*');
        rest = expression
            .split_once("}}")
            .map_or("", |(_, after)| after)
            .trim_start();
    }
    glob.push_str(&plain(rest));
    if !job["uses"].is_null() {
        glob.push_str(" / *");
    } else if !job["strategy"]["matrix"].is_null() && !name.contains("${{") {
        glob.push_str(" (*)");
    }
    glob
}

/// A part of a name, where nothing means anything else in a glob.
fn plain(name: &str) -> String {
    let lines: Vec<&str> = name.split('\n').map(str::trim).collect();
    lines
        .join("*")
        .chars()
        .map(|c| if "?[]{}!\\".contains(c) { '?' } else { c })
        .collect()
}

/// How a checkout brings the repository's submodules: as in the workflows that are there. Where there are none, without
/// those that submodules have themselves.
pub fn submodules(root: &Path) -> Option<&'static str> {
    if !root.join(".gitmodules").is_file() {
        return None;
    }
    let texts: Vec<String> = workflow_texts(root).collect();
    let asks = |how: &str| {
        let is_set = |line: &str| {
            line.trim()
                .strip_prefix("submodules:")
                .is_some_and(|value| value.contains(how))
        };
        texts.iter().any(|text| text.lines().any(is_set))
    };
    ["recursive", "true"]
        .into_iter()
        .find(|how| asks(how))
        .or(texts.is_empty().then_some("true"))
}

/// The lines of its steps that test, as far as they stand alone.
fn tests(job: &Value) -> Vec<String> {
    let steps = job["steps"].as_array().into_iter().flatten();
    let commands = steps
        .filter(|step| step["working-directory"].is_null())
        .filter_map(|step| step["run"].as_str());
    let lines = commands
        .map(str::trim)
        .filter(|command| !command.contains(['\n', '\\']) && !command.contains("${{"));
    let is_test = |line: &str| kind_of_commands(line, |kind| kind == Test).is_some();
    lines
        .filter(|line| is_test(line) && !line.contains("install"))
        .map(str::to_owned)
        .collect()
}

fn kind(title: &str, id: &str, job: &Value) -> CheckKind {
    let named = |name: &str| {
        let name = name.to_lowercase();
        let words: Vec<&str> = name.split(|c: char| !c.is_ascii_alphanumeric()).collect();
        let mut rows = TABLE.job_words.iter();
        rows.find(|(_, list)| list.split(' ').any(|word| words.contains(&word)))
            .map(|(kind, _)| *kind)
    };
    // The name that people read comes before the id that they do not.
    let by_name = [job["name"].as_str(), Some(id)]
        .into_iter()
        .flatten()
        .find_map(named);
    let steps = job["steps"].as_array().into_iter().flatten();
    let command = |step: &Value| {
        ["run", "uses"]
            .iter()
            .find_map(|key| step[*key].as_str().map(str::to_owned))
    };
    let commands = steps.filter_map(command).collect::<Vec<_>>().join("\n");
    let by_command = kind_of_commands(&commands, |_| true);
    match by_name {
        // A job that builds or lints, and tests, fails with the tests.
        Some(Build | Lint) if by_command == Some(Test) => Test,
        // GitHub's templates call every job `build`.
        Some(Build) | None
            if matches!(by_command, Some(Build) | None) && named(title) == Some(Test) =>
        {
            Test
        }
        by_name => by_name.or(by_command).unwrap_or(Custom),
    }
}

/// What commands are evidence of, among the kinds that are wanted.
fn kind_of_commands(commands: &str, is_wanted: impl Fn(CheckKind) -> bool) -> Option<CheckKind> {
    let mut rows = TABLE
        .job_commands
        .iter()
        .filter(|(kind, _)| is_wanted(*kind));
    rows.find(|(_, expression)| expression.matches(commands))
        .map(|(kind, _)| *kind)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_check_run_of_a_job_is_found_by_its_name() {
        let cases = [
            (json!({}), "unit"),
            (
                json!({ "name": "Rust nightly ${{ matrix.extra || '' }}" }),
                "Rust nightly*",
            ),
            (
                json!({ "name": "${{ matrix.os }} with ${{ matrix.go }}" }),
                "*with*",
            ),
            (
                json!({ "name": "(Rack ${{ matrix.rack }},\n Ruby 3)\n" }),
                "(Rack*,*Ruby 3)",
            ),
            (json!({ "name": "Tests [all]" }), "Tests ?all?"),
            (
                json!({ "strategy": { "matrix": { "os": ["a"] } } }),
                "unit (*)",
            ),
        ];
        for (job, glob) in cases {
            assert_eq!(check_run("unit", &job), glob, "{job}");
        }
    }

    #[test]
    fn a_condition_leaves_a_job_out_where_it_is_certainly_false() {
        let cases = [
            ("github.event_name == 'push'", true),
            ("${{ github.event_name != 'pull_request' }}", true),
            ("github.event_name != 'schedule'", false),
            ("github.ref == 'refs/heads/main' && always()", true),
            ("startsWith(github.ref, 'refs/tags/')", true),
            ("!startsWith(github.ref, 'refs/tags/')", false),
            (
                "github.event_name == 'push' || github.event.pull_request.head.repo.full_name != github.repository",
                false,
            ),
            (
                "github.event_name == 'push' || github.event_name == 'pull_request'",
                false,
            ),
            ("github.ref == 'refs/pull/1/merge'", false),
            (
                "(a || github.event_name == 'push') && github.event_name == 'push'",
                false,
            ),
            ("success()", false),
            ("", false),
        ];
        for (condition, expected) in cases {
            assert_eq!(excludes_pull_requests(condition), expected, "{condition}");
        }
    }

    #[test]
    fn lines_that_test_stand_alone() {
        let job = json!({ "steps": [
            { "uses": "actions/checkout@v4" },
            { "run": "pip install tox" },
            { "run": "uv run tox run -e py" },
            { "run": "pytest ${{ matrix.options }}" },
            { "run": "make test", "working-directory": "docs" },
            { "run": "cd a\nmake test" },
        ] });
        assert_eq!(tests(&job), ["uv run tox run -e py"]);
    }

    #[test]
    fn a_job_is_evidence_of_what_it_runs() {
        let runs = |command: &str| json!({ "steps": [{ "run": command }] });
        let cases = [
            ("Build and verify", "./mvnw verify", Test),
            ("build", "cargo check", Build),
            ("go", "make unit-test", Test),
            ("go", "make latest", Custom),
            ("lint", "ruff check", Lint),
            ("ci", "./do", Custom),
        ];
        for (id, command, expected) in cases {
            assert_eq!(kind("CI", id, &runs(command)), expected, "{id}: {command}");
        }
        assert_eq!(
            kind("Tests", "build", &runs("make ci")),
            Test,
            "GitHub's templates call every job `build`"
        );
        assert_eq!(kind("Tests", "lint", &runs("make ci")), Lint);
    }
}
