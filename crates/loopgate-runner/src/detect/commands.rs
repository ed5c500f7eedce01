//! What the commands of a job are evidence of, and those among them that test.

use serde_json::Value;

use super::table::TABLE;
use loopgate_core::{
    evidence::CheckKind::{
        self, Build, Coverage, Custom, Docs, Integration, Lint, Performance, Security, Test, Types,
    },
    workflow::{Job, Workflow},
};

/// A command that tests: one line of shell without an expression.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TestLine {
    pub run: String,
    /// Relative to the top of the repository; empty for the top itself.
    pub directory: String,
}

impl TestLine {
    /// The program that it calls.
    pub fn program(&self) -> &str {
        self.run.split_whitespace().next().unwrap_or_default()
    }
}

/// What the steps of a job run.
#[derive(Debug, Default)]
pub(super) struct Script {
    kinds: Vec<CheckKind>,
    /// Whether it only looks at what other jobs did: it needs some, and has none of the repository's files.
    sums_up: bool,
    /// Whether it has a command that is neither known nor a preparation.
    runs_more: bool,
    pub tests: Vec<TestLine>,
}

/// The kinds of a job that does several things, the one that decides first.
const DECIDING: [CheckKind; 10] = [
    Test,
    Integration,
    Security,
    Lint,
    Types,
    Docs,
    Performance,
    Coverage,
    Build,
    Custom,
];

impl Script {
    pub fn of(job: &Job<'_>, workflow: &Workflow) -> Self {
        let mut script = Self {
            sums_up: !job.key("needs").is_null(),
            ..Self::default()
        };
        for step in job.steps().filter(|step| !is_switched_off(&step["if"])) {
            if let Some(action) = step["uses"].as_str() {
                script.sums_up &= !action.contains("checkout");
                script.kinds.extend(kind_by_tool(action));
            }
            let Some(text) = step["run"].as_str() else {
                continue;
            };
            let joined = text.replace("\\\n", " ");
            for command in commands(&joined) {
                script.sums_up &= !command.contains(" clone ");
                let kind = kind_of_command(command);
                script.runs_more |= kind.is_none() && !is_preparation(command);
                script.kinds.extend(kind.filter(|kind| *kind != Custom));
            }
            let directory = [
                step,
                &job.key("defaults")["run"],
                &workflow.key("defaults")["run"],
            ]
            .into_iter()
            .find_map(|of| of["working-directory"].as_str())
            .unwrap_or_default();
            script.tests.extend(test_lines(text, directory));
        }
        script
    }

    /// What it is evidence of; `None` where nothing says.
    pub fn kind(&self) -> Option<CheckKind> {
        let mut kinds = DECIDING.into_iter();
        kinds.find(|kind| !self.sums_up && self.kinds.contains(kind))
    }

    /// Whether a command builds the project.
    pub fn builds(&self) -> bool {
        self.kinds.contains(&Build)
    }

    /// Whether it may do more than its commands say.
    pub const fn is_unclear(&self) -> bool {
        self.runs_more && !self.sums_up
    }
}

/// Whether a condition is false whatever happens.
pub(super) fn is_switched_off(condition: &Value) -> bool {
    condition == &Value::Bool(false)
        || condition
            .as_str()
            .is_some_and(|text| text.trim_matches(['$', '{', '}', ' ']) == "false")
}

/// What a name says: the first row of the table with one of its words, expressions left out.
pub(super) fn kind_of_words(name: &str) -> Option<CheckKind> {
    let words = words(name);
    let mut rows = TABLE.job_words.iter();
    rows.find(|(kind, list)| has_word_of(*kind, list, &words))
        .map(|(kind, _)| *kind)
}

/// Whether one of the words is of a row of the table. A linter mostly is called one.
fn has_word_of(kind: CheckKind, list: &str, words: &[String]) -> bool {
    let is_called_linter =
        |word: &String| kind == Lint && (word.ends_with("lint") || word.ends_with("fmt"));
    let is_listed = |word: &String| list.split_whitespace().any(|one| one == word);
    words
        .iter()
        .any(|word| is_listed(word) || is_called_linter(word))
}

fn words(name: &str) -> Vec<String> {
    let name = Job::without_expressions(name).to_lowercase();
    let words = name.split(|c: char| !c.is_ascii_alphanumeric());
    words.map(str::to_owned).collect()
}

/// The commands of a script, each by itself.
fn commands(script: &str) -> impl Iterator<Item = &str> {
    let lines = script.lines().map(str::trim);
    lines
        .filter(|line| !line.starts_with('#'))
        .flat_map(|line| line.split(['&', ';', '|']))
        .map(|command| command.trim().trim_start_matches("sudo "))
        .filter(|command| !command.is_empty())
}

fn kind_of_command(command: &str) -> Option<CheckKind> {
    if is_preparation(command) {
        return None;
    }
    // Tests that are built and not run, or left out of what runs them.
    if TABLE
        .without_tests
        .iter()
        .any(|option| command.contains(option.as_str()))
    {
        return Some(Build);
    }
    let words: Vec<&str> = command
        .split_whitespace()
        .skip_while(|word| word.contains('='))
        .collect();
    let file_name = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
    let is_runner = |word: &&str| {
        TABLE
            .task_runners
            .split_whitespace()
            .any(|one| one == file_name(word))
    };
    let targets = words.iter().position(is_runner).map(|at| &words[at + 1..]);
    let by_target = targets.and_then(|targets| {
        let named = targets
            .iter()
            .filter(|word| !word.starts_with('-') && !word.contains('='));
        let kinds: Vec<CheckKind> = named.filter_map(|target| kind_of_target(target)).collect();
        DECIDING.into_iter().find(|kind| kinds.contains(kind))
    });
    let by_tool = kind_by_tool(command);
    // Gradle's `build` and Maven's `package` run the tests too.
    let by_target = by_target.filter(|kind| *kind != Build || by_tool != Some(Test));
    by_target
        .or(by_tool)
        .or_else(|| kind_of_target(&file_name(script_file(&words)?)))
}

/// What a target of a task runner, or the name of a script, is. One that lints tests is lint.
fn kind_of_target(target: &str) -> Option<CheckKind> {
    let words = words(target);
    let is_of = |kind: CheckKind| {
        let mut rows = TABLE.job_words.iter();
        rows.any(|(of, list)| *of == kind && has_word_of(kind, list, &words))
    };
    [Custom, Lint, Types]
        .into_iter()
        .find(|kind| is_of(*kind))
        .or_else(|| kind_of_words(target))
}

fn kind_by_tool(command: &str) -> Option<CheckKind> {
    let mut rows = TABLE.job_commands.iter();
    rows.find(|(_, expression)| expression.matches(command))
        .map(|(kind, _)| *kind)
}

/// The file of a script that is called by its path.
fn script_file<'w>(words: &[&'w str]) -> Option<&'w str> {
    let mut words = words.iter().skip_while(|word| {
        matches!(
            **word,
            "bash" | "sh" | "source" | "." | "python" | "python3"
        )
    });
    let first = *words.next()?;
    let is_script = first.contains('/')
        || [".sh", ".bash", ".py", ".ps1", ".bat", ".cmd"]
            .iter()
            .any(|end| first.ends_with(end));
    is_script.then_some(first)
}

/// Whether a command only prepares the others, or is shell around them.
fn is_preparation(command: &str) -> bool {
    let mut words = command.split_whitespace();
    let first = words.next().unwrap_or_default();
    first.contains("=$")
        || TABLE.preparing.split_whitespace().any(|one| one == first)
        || words.any(|word| word == "install")
}

/// Words of the shell after which a line means something else.
const CHANGING: [&str; 10] = [
    "cd", "pushd", "if", "for", "while", "case", "export", "set", "source", ".",
];

/// The lines of a script that test and stand alone: of one that changes folders or branches nothing is known, nor of one
/// that runs outside the repository.
fn test_lines(script: &str, directory: &str) -> Vec<TestLine> {
    let directory = directory.trim_start_matches("./").trim_end_matches('/');
    let is_inside = !directory.starts_with('/') && !directory.split('/').any(|part| part == "..");
    let lines: Vec<&str> = script.lines().map(str::trim).collect();
    let is_plain = lines.len() == 1 || !lines.iter().any(|line| changes_others(line));
    if !is_inside || !is_plain || directory.contains("${{") {
        return Vec::new();
    }
    let found = lines.into_iter().filter(|line| tests_alone(line));
    found
        .map(|line| TestLine {
            run: line.to_owned(),
            directory: directory.to_owned(),
        })
        .collect()
}

/// Whether the lines after it depend on this one, or go on with it.
fn changes_others(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or_default();
    CHANGING.contains(&first) || line.ends_with(['\\', '{', '(']) || line.contains("<<")
}

/// Whether a line tests here as it does in a workflow: without variables, other rights, containers and installations.
fn tests_alone(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or_default();
    !line.contains(['$', '`', '\\'])
        && !matches!(first, "sudo" | "docker" | "cd")
        && !line.contains("install")
        && commands(line).any(|command| kind_of_command(command) == Some(Test))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_what_its_target_says() {
        for (command, kind) in [
            ("bundle exec rake rubocop", Some(Lint)),
            ("bundle exec rake test:all", Some(Test)),
            ("bundle exec rake", Some(Test)),
            ("rake compile", Some(Build)),
            ("make check-format", Some(Lint)),
            ("make check", Some(Test)),
            ("cargo make check --release --tests", Some(Build)),
            ("cargo make test", Some(Test)),
            ("go test -run=NONE ./...", Some(Build)),
            ("make lint test", Some(Test)),
            ("npm run test:lint", Some(Lint)),
            ("npm run test:unit -- --ci", Some(Test)),
            ("npm test", Some(Test)),
            ("npm ci", None),
            ("tox -e lint", Some(Lint)),
            ("uv run tox run -e py", Some(Test)),
            ("nox -s mypy-3.11", Some(Types)),
            ("cargo test --doc", Some(Test)),
            ("cargo fmt --all --check", Some(Lint)),
            ("cargo +nightly miri test", Some(Test)),
            ("cargo install cargo-audit", None),
            ("pip install tox", None),
            ("dart analyze --fatal-infos", Some(Lint)),
            ("dotnet test --no-build", Some(Test)),
            ("mix credo", Some(Lint)),
            ("swift test", Some(Test)),
            ("./gradlew check", Some(Test)),
            ("cmake --build build", Some(Build)),
            ("./scripts/run_tests.sh", Some(Test)),
            ("bash ci/lint.sh", Some(Lint)),
            ("echo make test", None),
            ("bundle exec rake db:migrate", None),
            ("pre-commit run --all-files", Some(Lint)),
            ("./mvnw -B checkstyle:check", Some(Lint)),
            ("./gradlew :app:check", Some(Test)),
            ("cargo test --no-run", Some(Build)),
            ("bundle exec rake db:test:prepare", Some(Custom)),
            ("CI=1 npm test", Some(Test)),
            ("failing=$(make test)", None),
            ("vendor/bin/phpstan analyse", Some(Types)),
            ("./do", None),
            ("php artisan test", Some(Test)),
            ("vendor/bin/pint --test", Some(Lint)),
            ("helm lint charts/app", Some(Lint)),
            ("buf lint", Some(Lint)),
            ("./gradlew build", Some(Test)),
            ("./gradlew build -x test", Some(Build)),
            ("mvn -B package -DskipTests", Some(Build)),
            ("docker build -t app .", Some(Build)),
        ] {
            assert_eq!(kind_of_command(command), kind, "{command}");
        }
    }

    #[test]
    fn lines_that_test_stand_alone() {
        let of = |script: &str, directory: &str| {
            let lines = test_lines(script, directory).into_iter();
            lines
                .map(|line| format!("{}|{}", line.directory, line.run))
                .collect::<Vec<_>>()
        };
        assert_eq!(of("uv run tox run -e py", ""), ["|uv run tox run -e py"]);
        assert_eq!(of("make\nmake test", "./lib/"), ["lib|make test"]);
        assert_eq!(of("cd a\nmake test", ""), [""; 0]);
        assert_eq!(of("pytest ${{ matrix.options }}", ""), [""; 0]);
        assert_eq!(of("make test", "${{ matrix.dir }}"), [""; 0]);
        assert_eq!(of("pip install tox && tox", ""), [""; 0]);
        assert_eq!(of("sudo make test", ""), [""; 0]);
        for outside in ["..", "a/../../b", "/tmp"] {
            assert_eq!(of("make test", outside), [""; 0], "{outside}");
        }
    }
}
