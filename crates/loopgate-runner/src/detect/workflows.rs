//! The CI that a repository has: the jobs that its workflows run on pull requests, by the check runs they become, and
//! what is left out of it.

use std::{collections::BTreeMap, path::Path};

use globset::Glob;
use serde_json::Value;

use super::{
    commands::{Script, TestLine, is_switched_off, kind_of_words},
    site::{WORKFLOWS, text, texts, workflow_files, workflow_texts},
};
use loopgate_core::{
    evidence::CheckKind::{self, Build, Custom, Docs, Integration, Lint, Test, Types},
    workflow::{FilterKey, Job, Reach, Workflow},
};

/// A job that runs on pull requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CiJob {
    /// `.github/workflows/ci.yml`
    pub workflow: String,
    /// What GitHub calls that workflow.
    pub title: String,
    /// Its key in the file.
    pub id: String,
    /// What people call it, in words joined by `-`.
    pub name: String,
    /// A glob over the names of its check runs.
    pub check: String,
    pub kind: CheckKind,
    /// The filters that keep its workflow from some pull requests.
    pub filters: Vec<FilterKey>,
    /// The commands of its steps that test.
    pub tests: Vec<TestLine>,
}

impl CiJob {
    /// `ci.yml`
    pub fn file(&self) -> &str {
        self.workflow.rsplit('/').next().unwrap_or_default()
    }
}

/// A workflow, or a job of it, that brings no check of a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// `release.yml`
    pub workflow: String,
    /// Its job, where others of the workflow run.
    pub job: Option<String>,
    pub why: WhyLeftOut,
}

/// Why something brings no check of a pull request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WhyLeftOut {
    /// The file is no workflow.
    Unreadable,
    /// Other events start it.
    OtherEvents,
    /// Pull requests start it, pushes to them do not.
    OtherTypes,
    /// Its condition never holds there.
    Condition,
}

/// What the workflows of a repository do on pull requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ci {
    /// By file and place in it.
    pub jobs: Vec<CiJob>,
    pub left_out: Vec<LeftOut>,
    /// Followed workflows that wait for the first push to a pull request, by the names of their files.
    pub unopened: Vec<String>,
}

/// Workflows by the names of their files; without a value, what is none.
type Workflows = BTreeMap<String, Option<Workflow>>;

/// The wide one first.
const REACHES: [Reach; 2] = [Reach::Wide, Reach::Narrow];

/// Workflows that are followed through one another. GitHub's own limit is ten.
const DEEPEST: usize = 4;

impl Ci {
    /// Reads the workflows of a repository.
    pub fn of(root: &Path) -> Self {
        let mut workflows = Workflows::new();
        for file in workflow_files(root) {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            workflows.insert(name.into_owned(), Workflow::parse(&text(&file)));
        }
        let (mut ci, mut narrow) = (Self::default(), Vec::new());
        for (file, workflow) in &workflows {
            match workflow {
                Some(workflow) => ci.add(file, workflow, &workflows, &mut narrow),
                None => ci.leave_out(file, None, WhyLeftOut::Unreadable),
            }
        }
        ci.keep_apart(&narrow);
        ci
    }

    /// Makes a glob narrow that takes in another job's check runs: `test-*` of `test-3`, beside `test-js`.
    fn keep_apart(&mut self, narrow: &[String]) {
        let named: Vec<String> = narrow.iter().map(|glob| glob.replace('*', "x")).collect();
        for (nth, job) in self.jobs.iter_mut().enumerate() {
            let Ok(glob) = Glob::new(&job.check) else {
                continue;
            };
            let glob = glob.compile_matcher();
            let others = named.iter().enumerate().filter(|(other, _)| *other != nth);
            let is_own = |name: &str| name == named[nth];
            let takes_in = |name: &String| !is_own(name) && glob.is_match(name);
            if others.map(|(_, name)| name).any(takes_in) {
                job.check.clone_from(&narrow[nth]);
            }
        }
    }

    fn add(&mut self, file: &str, workflow: &Workflow, all: &Workflows, narrow: &mut Vec<String>) {
        let Some(event) = workflow.event("pull_request") else {
            // One that others call is read where they call it.
            if workflow.event("workflow_call").is_none() {
                self.leave_out(file, None, WhyLeftOut::OtherEvents);
            }
            return;
        };
        if !starts_on(event, "synchronize") {
            self.leave_out(file, None, WhyLeftOut::OtherTypes);
            return;
        }
        if !starts_on(event, "opened") {
            self.unopened.push(file.to_owned());
        }
        let path = format!("{WORKFLOWS}/{file}");
        let title = workflow.title().unwrap_or(&path);
        let speaks = title_of_jobs(title, workflow);
        let is_there = |key: &FilterKey| event.get(key.as_str()).is_some();
        let filters: Vec<FilterKey> = FilterKey::ALL.into_iter().filter(is_there).collect();
        for job in workflow.jobs().filter(|job| !is_loopgates(job)) {
            if never_runs(job.key("if")) {
                self.leave_out(file, Some(job.id), WhyLeftOut::Condition);
                continue;
            }
            for run in CheckRuns::of(job, workflow, speaks, all, DEEPEST) {
                let [wide, own] = run.globs;
                narrow.push(own);
                self.jobs.push(CiJob {
                    workflow: path.clone(),
                    title: title.to_owned(),
                    id: job.id.to_owned(),
                    name: run.name,
                    check: wide,
                    kind: run.kind,
                    filters: filters.clone(),
                    tests: run.tests,
                });
            }
        }
    }

    fn leave_out(&mut self, workflow: &str, job: Option<&str>, why: WhyLeftOut) {
        self.left_out.push(LeftOut {
            workflow: workflow.to_owned(),
            job: job.map(str::to_owned),
            why,
        });
    }
}

/// Whether this activity starts it, `opened` or `synchronize`: without `types` both do.
fn starts_on(event: &Value, activity: &str) -> bool {
    match &event["types"] {
        Value::Null => true,
        Value::String(one) => one == activity,
        several => texts(several).iter().any(|one| one == activity),
    }
}

/// Whether it is one of Loopgate's own.
fn is_loopgates(job: &Job<'_>) -> bool {
    let mut uses = job.steps().filter_map(|step| step["uses"].as_str());
    uses.any(|action| action.contains("/loopgate"))
}

/// The check runs of a job, or of one of those that it calls.
struct CheckRuns {
    name: String,
    /// A glob over their names, wide and narrow.
    globs: [String; 2],
    kind: CheckKind,
    tests: Vec<TestLine>,
}

impl CheckRuns {
    /// Those of a job; where it calls a workflow of the repository whose jobs are of several kinds, each for itself.
    fn of(
        job: Job<'_>,
        workflow: &Workflow,
        title: &str,
        all: &Workflows,
        depth: usize,
    ) -> Vec<Self> {
        let script = Script::of(&job, workflow);
        let whole = Self {
            name: called(&job.name(), job.id),
            globs: REACHES.map(|reach| job.check_runs(reach)),
            kind: kind(title, &job, &script),
            tests: script.tests,
        };
        let called = job
            .calls()
            .and_then(|path| path.strip_prefix("./.github/workflows/"))
            .and_then(|file| all.get(file)?.as_ref())
            .filter(|_| depth > 0);
        let Some(called) = called else {
            return vec![whole];
        };
        let jobs = called.jobs().filter(|job| !never_runs(job.key("if")));
        let name = job.name();
        let speaks = title_of_jobs(&name, called);
        let within = jobs.flat_map(|inner| Self::of(inner, called, speaks, all, depth - 1));
        let mut within: Vec<Self> = within.collect();
        let Some(first) = within.first().map(|run| run.kind) else {
            return vec![whole];
        };
        if within.iter().all(|run| run.kind == first) {
            let tests = within
                .iter_mut()
                .flat_map(|run| std::mem::take(&mut run.tests));
            return vec![Self {
                kind: first,
                tests: tests.collect(),
                ..whole
            }];
        }
        for run in &mut within {
            let reaches = REACHES.into_iter().zip(&mut run.globs);
            for (reach, glob) in reaches {
                *glob = format!("{} / {glob}", job.own_check_runs(reach));
            }
            if !whole.name.split('-').any(|word| word == run.name) {
                run.name = format!("{}-{}", whole.name, run.name);
            }
        }
        within
    }
}

/// What a job is evidence of. The name that people read comes before the id that they do not.
fn kind(title: &str, job: &Job<'_>, script: &Script) -> CheckKind {
    let by_name = [job.name().as_str(), job.id]
        .into_iter()
        .find_map(kind_of_words);
    let by_command = script.kind();
    let by_title = kind_of_words(title);
    match by_name {
        // A job that builds or lints, and tests, fails with the tests.
        Some(Build | Lint) if by_command == Some(Test) => Test,
        // One that builds nothing but documents.
        Some(Build) if by_command == Some(Docs) && !script.builds() => Docs,
        // One that is called a test, and does nothing that may be one, is what it does.
        Some(Test | Integration)
            if !script.is_unclear() && by_command.is_some_and(tests_nothing) =>
        {
            by_command.unwrap_or(Custom)
        }
        // GitHub's templates call every job `build`. One that runs nothing of its own tests nothing.
        Some(Build) | None
            if matches!(by_command, Some(Build) | None)
                && (script.is_unclear() || job.calls().is_some())
                && matches!(by_title, Some(Test | Integration)) =>
        {
            by_title.unwrap_or(Test)
        }
        by_name => by_name.or(by_command).unwrap_or(Custom),
    }
}

/// What a workflow's title says of jobs that say nothing themselves: where one of its jobs is known to test, the title
/// is about that one.
fn title_of_jobs<'t>(title: &'t str, workflow: &Workflow) -> &'t str {
    let tests = |job: Job<'_>| {
        let kind = kind("", &job, &Script::of(&job, workflow));
        matches!(kind, Test | Integration)
    };
    if workflow.jobs().any(tests) {
        ""
    } else {
        title
    }
}

/// Whether a command of this kind is no test, whatever its job is called.
const fn tests_nothing(kind: CheckKind) -> bool {
    matches!(kind, Lint | Types | Docs | Build)
}

/// Words that end no name.
const JOINING: [&str; 13] = [
    "a", "and", "as", "by", "for", "from", "in", "of", "on", "the", "to", "using", "with",
];
/// Words of a name that people still read at a glance.
const MOST_WORDS: usize = 5;

/// What people call a job: the words of its name, without expressions, numbers and brackets, else its id.
fn called(name: &str, id: &str) -> String {
    let of_name = words(name);
    let of_id = words(id);
    let is_numbered = of_id.len() == 1 && of_id[0] == "job";
    let mut chosen = match of_name.len() {
        1..=MOST_WORDS => of_name,
        _ if is_numbered || of_id.is_empty() => of_name,
        _ => of_id,
    };
    chosen.truncate(MOST_WORDS);
    while chosen
        .last()
        .is_some_and(|last| JOINING.contains(&last.as_str()))
    {
        chosen.pop();
    }
    if chosen.is_empty() {
        "job".to_owned()
    } else {
        chosen.join("-")
    }
}

fn words(name: &str) -> Vec<String> {
    let name = Job::without_expressions(name).to_lowercase();
    let outside = name
        .split_once('(')
        .map_or(name.as_str(), |(before, _)| before);
    let words = outside.split(|c: char| !c.is_ascii_alphanumeric());
    words
        .filter(|word| word.contains(|c: char| c.is_ascii_alphabetic()))
        .map(str::to_owned)
        .collect()
}

/// Whether a job with this condition never runs on a pull request.
fn never_runs(condition: &Value) -> bool {
    is_switched_off(condition) || excludes_pull_requests(condition.as_str().unwrap_or_default())
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

#[cfg(test)]
mod tests {
    use super::*;

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

    fn jobs(files: &[(&str, &str)]) -> Vec<(String, String, CheckKind)> {
        let files: Vec<(String, &str)> = files
            .iter()
            .map(|(name, text)| (format!("{WORKFLOWS}/{name}"), *text))
            .collect();
        let files: Vec<(&str, &str)> = files
            .iter()
            .map(|(path, text)| (path.as_str(), *text))
            .collect();
        let folder = loopgate_written::folder_of(&files);
        let jobs = Ci::of(folder.path()).jobs.into_iter();
        jobs.map(|job| (job.name, job.check, job.kind)).collect()
    }

    fn job(name: &str, check: &str, kind: CheckKind) -> (String, String, CheckKind) {
        (name.to_owned(), check.to_owned(), kind)
    }

    #[test]
    fn a_job_is_evidence_of_what_it_runs_not_of_a_word_in_an_expression() {
        let of = |title: &str, text: &str| {
            let file = format!("name: {title}\non: pull_request\njobs: {{ {text} }}");
            let found = jobs(&[("ci.yml", &file)]);
            found[0].2
        };
        let runs = |id: &str, command: &str| format!("{id}: {{ steps: [{{ run: {command} }}] }}");
        for (title, job, expected) in [
            ("CI", runs("\"Build and verify\"", "./mvnw verify"), Test),
            ("CI", runs("build", "cargo check"), Build),
            ("CI", runs("go", "make unit-test"), Test),
            ("CI", runs("go", "make latest"), Custom),
            ("CI", runs("lint", "ruff check"), Lint),
            ("CI", runs("ci", "./do"), Custom),
            ("Tests", runs("build", "make ci"), Test),
            (
                "Tests",
                "verify: { name: Verify generated, steps: [{ run: make gen }] }, unit: { steps: [{ run: make test }] }"
                    .into(),
                Custom,
            ),
            ("Docs", runs("build", "mkdocs build --strict"), Docs),
            ("CI", runs("test-scaladoc", "sbt doc"), Docs),
            ("CI", runs("gentests", "sbt clean gentests/test"), Test),
            ("CI", runs("licenses", "make licenses-check"), Custom),
            ("CI", runs("autotools", "make check"), Test),
            ("CI", runs("file-size-check", "./ci/size"), Custom),
            ("Tests", runs("lint", "make ci"), Lint),
            ("Tests", runs("rubocop", "bundle exec rake rubocop"), Lint),
            ("CI", runs("test-rustfmt", "cargo fmt --all --check"), Lint),
            ("CI", runs("\"Test image\"", "docker build -t app ."), Build),
            ("CI", runs("test", "./gradlew build"), Test),
            (
                "CI",
                runs("test", "docker build -t app . && docker run app"),
                Test,
            ),
            (
                "Tests",
                "gate: { needs: [a], steps: [{ run: make test }] }".into(),
                Custom,
            ),
            (
                "Tests",
                "changes: { steps: [{ uses: dorny/paths-filter@v4 }, { run: echo a }] }".into(),
                Custom,
            ),
            (
                "ci",
                "linux: { name: \"gcc ${{ matrix.build_type }}\", steps: [{ run: ctest }] }".into(),
                Test,
            ),
        ] {
            assert_eq!(of(title, &job), expected, "{title}: {job}");
        }
    }

    #[test]
    fn a_workflow_that_is_called_is_read_where_it_is_called() {
        let caller = "\
on: pull_request
jobs:
  checks: { uses: ./.github/workflows/_checks.yml }
  test: { name: \"cd ${{ matrix.dir }}\", uses: ./.github/workflows/_test.yml }
  remote: { uses: acme/ci/.github/workflows/lint.yml@v1 }";
        let checks = "\
on: workflow_call
jobs:
  lint: { steps: [{ run: make lint }] }
  unit: { name: \"unit ${{ matrix.v }}\", strategy: { matrix: { v: [1.2] } }, steps: [{ run: make test }] }";
        let test = "on: workflow_call\njobs: { build: { name: \"Python ${{ inputs.v }}\", steps: [{ run: make test }] } }";
        let files = [
            ("ci.yml", caller),
            ("_checks.yml", checks),
            ("_test.yml", test),
        ];
        let expected = [
            job("checks-lint", "checks / lint", Lint),
            job("checks-unit", "checks / unit*", Test),
            job("cd", "cd* / *", Test),
            job("remote", "remote / *", Custom),
        ];
        assert_eq!(jobs(&files), expected);
    }

    /// A name that changes with its versions is followed by a glob, unless that takes in another job.
    #[test]
    fn a_glob_takes_in_no_other_job() {
        let checks = |jobs_of: &str| {
            let file = format!("on: pull_request\njobs: {{ {jobs_of} }}");
            let found = jobs(&[("ci.yml", &file)]).into_iter();
            Vec::from_iter(found.map(|(_, check, _)| check))
        };
        for (jobs_of, expected) in [
            ("test-3: {}, lint: {}", ["test-*", "lint"]),
            ("test-3: {}, test-js: {}", ["test-3", "test-js"]),
            (
                "a: { name: \"Test ${{ matrix.app }}\", strategy: { matrix: { app: [x, y] } } }, b: { name: Test Summary }",
                ["Test {x,y}", "Test Summary"],
            ),
            (
                "a: { name: \"Test ${{ matrix.app }}\", strategy: { matrix: { app: [x, y] } } }, b: { name: Lint }",
                ["Test*", "Lint"],
            ),
        ] {
            assert_eq!(checks(jobs_of), expected, "{jobs_of}");
        }
    }

    #[test]
    fn a_job_is_called_by_the_words_of_its_name() {
        for (name, id, expected) in [
            ("Lint (PHP 8.3)", "tests", "lint"),
            ("Test on ${{ matrix.os }}", "t", "test"),
            ("${{ matrix.os }} ${{ matrix.ruby }}", "mri", "mri"),
            (
                "unit_test; linux; Dart 3.4.0; PKG: pkgs/http; dart test",
                "job_002",
                "unit-test-linux-dart-pkg",
            ),
            ("Build, lint and test all the crates", "ci", "ci"),
            ("1.2", "3", "job"),
            ("${{ matrix.cc }} (C++17)", "linux", "linux"),
        ] {
            assert_eq!(called(name, id), expected, "{name}");
        }
    }

    #[test]
    fn what_brings_no_check_is_named_with_its_reason() {
        let folder = loopgate_written::folder_of(&[
            (".github/workflows/a.yml", "on: push\njobs: { x: {} }"),
            (
                ".github/workflows/b.yml",
                "on: { pull_request: { types: [labeled] } }\njobs: { x: {} }",
            ),
            (
                ".github/workflows/c.yml",
                "on: pull_request\njobs: { x: { if: github.event_name == 'push' }, y: {}, z: { if: false }, if: false }",
            ),
            (".github/workflows/d.yml", "on: [pull_request"),
            (
                ".github/workflows/e.yml",
                "on: workflow_call\njobs: { x: {} }",
            ),
        ]);
        let left = |left: LeftOut| (left.workflow, left.job, left.why);
        let found: Vec<_> = Ci::of(folder.path())
            .left_out
            .into_iter()
            .map(left)
            .collect();
        let of =
            |file: &str, job: Option<&str>, why| (file.to_owned(), job.map(str::to_owned), why);
        let expected = [
            of("a.yml", None, WhyLeftOut::OtherEvents),
            of("b.yml", None, WhyLeftOut::OtherTypes),
            of("c.yml", Some("x"), WhyLeftOut::Condition),
            of("c.yml", Some("z"), WhyLeftOut::Condition),
            of("d.yml", None, WhyLeftOut::Unreadable),
        ];
        assert_eq!(found, expected);
    }
}
