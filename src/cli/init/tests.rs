//! What is written for which project, whole.

use super::*;
use loopgate_written::folder_of;

fn arguments(words: &[&str]) -> InitArguments {
    use clap::FromArgMatches as _;
    let command = InitArguments::augment_args(clap::Command::new("init"));
    InitArguments::from_arg_matches(&command.get_matches_from([&["init"], words].concat())).unwrap()
}

fn made(files: &[(&str, &str)], words: &[&str]) -> Vec<(&'static str, String)> {
    let folder = folder_of(files);
    let fork: &[&str] = if words.contains(&FORK[0]) { &[] } else { &FORK };
    let made = tried(folder.path(), &[words, fork].concat())
        .unwrap_or_else(|stop| panic!("{}", stop.message));
    made.into_iter()
        .map(|file| (file.path, file.text))
        .collect()
}

fn tried(root: &Path, words: &[&str]) -> Result<Vec<NewFile>, CliError> {
    let (arguments, detected) = (arguments(words), runner::detect(root, Purpose::WriteDown));
    super::files(
        &arguments,
        root,
        Some(&"acme/widgets".parse().unwrap()),
        &detected,
    )
}

/// The Action of a fork.
const FORK: [&str; 2] = ["--action", "acme/loopgate/action@v1"];

const MONOREPO: [(&str, &str); 5] = [
    ("Cargo.toml", "[workspace]\nmembers = [\"crates/*\"]"),
    ("crates/core/Cargo.toml", "[package]\nname = \"core\""),
    (
        "web/package.json",
        r#"{ "scripts": { "test": "vitest", "typecheck": "tsc --noEmit" } }"#,
    ),
    ("web/package-lock.json", ""),
    (
        "ml/pyproject.toml",
        "[project]\nname = \"ml\"\n[tool.ruff]\n",
    ),
];

#[test]
fn the_files_for_a_monorepo() {
    let files = made(
        &MONOREPO,
        &[
            "--action",
            "acme/loopgate/action@0123456789abcdef0123456789abcdef01234567",
        ],
    );
    let paths: Vec<&str> = files.iter().map(|(path, _)| *path).collect();
    assert_eq!(paths, [CONFIGURATION, VERIFY]);
    insta::assert_snapshot!("configuration_of_a_monorepo", files[0].1);
    insta::assert_snapshot!("workflow_of_a_monorepo", files[1].1);
}

#[test]
fn every_project_gives_files_that_are_valid() {
    let projects: [&[(&str, &str)]; 9] = [
        &[],
        &[("pom.xml", "")],
        &[("build.gradle", "")],
        &[("go.mod", "")],
        &[("Gemfile", ""), (".rspec", ""), (".ruby-version", "3.4.1")],
        &[
            (
                "composer.json",
                r#"{ "require-dev": { "phpunit/phpunit": "^9" } }"#,
            ),
            ("CMakeLists.txt", ""),
        ],
        &[("manage.py", ""), ("requirements.txt", "pytest")],
        &[(
            "a'b #c/package.json",
            r#"{ "scripts": { "test": "jest", "build": "tsc" } }"#,
        )],
        &MONOREPO,
    ];
    for project in projects {
        for (path, text) in made(project, &["--action-only"]) {
            // The configuration itself has been read by `files`.
            let yaml: serde_yaml::Value =
                serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
            if path != CONFIGURATION {
                assert!(yaml.get("permissions").is_some(), "{path}");
                assert!(
                    !text.contains('@') || !text.contains("@SETUP@") && !text.contains("@ACTION@"),
                    "{path}"
                );
                let shell = text
                    .lines()
                    .filter(|line| line.trim_start().starts_with("- run:"));
                assert!(
                    shell.into_iter().all(|line| !line.contains("${{")),
                    "{path}"
                );
            }
        }
    }
}

#[test]
fn the_configuration_says_what_is_detected() {
    let folder = folder_of(&MONOREPO);
    let detected = runner::detect(folder.path(), Purpose::WriteDown);
    let policy =
        config::parse(CONFIGURATION, &configuration::text(&detected, VERIFY, None)).unwrap();
    let names = |checks: &indexmap::IndexMap<_, _>| {
        checks
            .keys()
            .map(ToString::to_string)
            .collect::<Vec<String>>()
    };
    assert_eq!(names(&policy.verify.checks), names(&detected.checks));
    for (name, check) in &detected.checks {
        let written = &policy.verify.checks[name];
        assert_eq!(
            (&written.source, written.kind),
            (&check.source, check.kind),
            "{name}"
        );
    }
}

#[test]
fn nothing_is_overwritten_unasked() {
    let folder = folder_of(&[(CONFIGURATION, "version: 1\n"), ("go.mod", "")]);
    let files = tried(folder.path(), &FORK).unwrap();
    let deeds: Vec<&str> = files.iter().map(|file| deed(file, folder.path())).collect();
    assert_eq!(deeds, ["replace", "create"]);
    write(folder.path(), &files[1]).unwrap();
    assert_eq!(deed(&files[1], folder.path()), "unchanged");
}

#[test]
fn an_action_is_named_by_owner_repository_and_reference() {
    for (text, good) in [
        ("acme/loopgate/action@v1", true),
        ("acme/loopgate@main", true),
        ("acme/loopgate/action@feature/x", true),
        ("acme/loopgate/action", false),
        ("acme@v1", false),
        ("acme/loop gate@v1", false),
        ("acme/loopgate@v1\n      - run: id", false),
        ("acme/../x@", false),
    ] {
        assert_eq!(action_reference(text).is_ok(), good, "{text}");
    }
}

#[test]
fn what_comes_next_depends_on_what_was_asked() {
    let folder = folder_of(&[("go.mod", "")]);
    let next = |words: &[&str]| {
        let (arguments, detected) = (
            arguments(words),
            runner::detect(folder.path(), Purpose::WriteDown),
        );
        let files = tried(folder.path(), words).unwrap();
        let files: Vec<(NewFile, &str)> = files.into_iter().map(|file| (file, "create")).collect();
        next_steps(&arguments, folder.path(), &detected, &files).join("\n")
    };
    assert!(next(&[]).contains("On GitHub nothing runs these checks yet."));
    assert!(next(&FORK).contains("Replace the tag"));
    let pinned = next(&[
        "--action",
        "acme/loopgate/action@0123456789abcdef0123456789abcdef01234567",
    ]);
    assert!(!pinned.contains("Replace"), "{pinned}");
    assert!(pinned.contains("Install the Loopgate App"));
    assert!(
        !next(&[FORK.as_slice(), &["--action-only"]].concat()).contains("Install the Loopgate App")
    );
}

#[test]
fn a_workflow_is_written_only_with_an_action_that_there_is() {
    let folder = folder_of(&[("go.mod", "")]);
    let paths = |words: &[&str]| {
        tried(folder.path(), words).map(|files| files.iter().map(|file| file.path).collect())
    };
    assert_eq!(paths(&[]).unwrap(), [CONFIGURATION]);
    assert_eq!(paths(&FORK).unwrap(), [CONFIGURATION, VERIFY]);
    for words in [["--own-workflow"], ["--action-only"], ["--loop"]] {
        let refused: Result<Vec<&str>, CliError> = paths(&words);
        assert!(
            refused.is_err_and(|error| error.message.contains("--action OWNER/REPO/action@COMMIT")),
            "{words:?}"
        );
    }
    let agents = tried(folder.path(), &["--agents"]).unwrap();
    assert!(
        agents
            .iter()
            .all(|file| file.path != ".github/workflows/copilot-setup-steps.yml")
    );
}

/// A workflow with nothing to run would fail on every pull request.
#[test]
fn no_workflow_is_written_where_there_is_nothing_to_run() {
    let words = ["--own-workflow", "--action", "acme/loopgate/action@v1"];
    let paths = |files: &[(&str, &str)]| -> Vec<&str> {
        let made = made(files, &words);
        made.into_iter().map(|(path, _)| path).collect()
    };
    assert_eq!(paths(&[("README.md", "")]), [CONFIGURATION]);
    let own = [("README.md", ""), (CONFIGURATION, "version: 1\n")];
    assert!(paths(&own).contains(&VERIFY));
    let made = made(&[("mix.exs", "")], &words);
    let by_hand = "# A step that installs Elixir belongs here";
    assert!(
        made.iter().any(|(_, text)| text.contains(by_hand)),
        "{made:?}"
    );
}

#[test]
fn what_of_the_ci_is_not_followed_is_named_with_its_reason() {
    let folder = folder_of(&CI);
    let detected = runner::detect(folder.path(), Purpose::WriteDown);
    let of = |words: &[&str]| notes(&arguments(words), &detected.ci).join("\n");
    insta::assert_snapshot!(of(&[]), @"
    shared: written as a comment, since neither name nor commands say what is checked.
    Not followed: stale.yml, which pull requests do not start.
    Not followed: title.yml, which pushes to a pull request do not start (`types`).
    Not followed: publish in ci.yml, since its condition never holds on a pull request.
    ");
    let unopened = folder_of(&[(
        ".github/workflows/ci.yml",
        "on: { pull_request: { types: [synchronize] } }\njobs: { test: { steps: [{ run: make test }] } }",
    )]);
    let detected_there = runner::detect(unopened.path(), Purpose::WriteDown);
    insta::assert_snapshot!(notes(&arguments(&[]), &detected_there.ci).join("\n"), @"ci.yml does not run when a pull request is opened, only from its first push on: add `opened` to `types`, or the checks are waited for in vain until then.");
    insta::assert_snapshot!(of(&["--own-workflow"]).lines().next().unwrap(), @"ci.yml, docs.yml and lint.yaml run on pull requests too, and nothing of it is followed, because of --own-workflow.");
}

#[test]
fn a_workflow_with_filters_is_followed_and_jobs_of_one_name_are_one_check() {
    let ci = "\
on: { pull_request: { paths-ignore: ['docs/**'] } }
jobs:
  lint: { name: \"cd ${{ matrix.dir }}\", uses: ./.github/workflows/_lint.yml }
  test: { name: \"cd ${{ matrix.dir }}\", uses: ./.github/workflows/_test.yml }
";
    let of = |run: &str| {
        format!("on: workflow_call\njobs: {{ build: {{ steps: [{{ run: {run} }}] }} }}")
    };
    let lint = of("make lint");
    let test = of("make test");
    let files = [
        (".github/workflows/ci.yml", ci),
        (".github/workflows/_lint.yml", lint.as_str()),
        (".github/workflows/_test.yml", test.as_str()),
    ];
    let text = made(&files, &[]).remove(0).1;
    let checks = text.split_once("verify:\n").unwrap().1;
    insta::assert_snapshot!(checks.split_once("\n\n# When").unwrap().0, @"
    # The workflows that run on pull requests. Editing one opens the security gate.
    workflows: ['.github/workflows/ci.yml']

    # Their jobs, by the names of their check runs. What a job is evidence of follows from its name and commands.
    # ci.yml has `paths-ignore`: where that keeps it from a pull request, nothing is expected of its jobs. Where
    # code changes and no test or build runs, it waits until somebody else with write access releases it.
    checks:
      test: { kind: test, from: { check: 'cd* / *', app: github-actions } }
      # The jobs lint and test have check runs of one name, so they are one check, and tests by its strictest.
    ");
}

#[test]
fn tests_run_as_ci_runs_them_where_that_is_another_program() {
    let ci =
        |run: &str| format!("on: pull_request\njobs:\n  test:\n    steps:\n      - run: {run}\n");
    let test = |run: &str| {
        let ci = ci(run);
        let files = [("go.mod", ""), (".github/workflows/ci.yml", ci.as_str())];
        let text = made(&files, &["--own-workflow"]).remove(0).1;
        let (_, test) = text.split_once("    test:\n").unwrap();
        test.lines()
            .find_map(|line| Some(line.trim().strip_prefix("run: ")?.to_owned()))
            .unwrap()
    };
    assert_eq!(test("make test"), "make test");
    assert_ne!(
        test("go test -race ./..."),
        "go test -race ./...",
        "the usual command has a report"
    );
}

#[test]
fn a_measured_coverage_counts() {
    let pytest =
        "[project]\nname = 'a'\n[tool.pytest.ini_options]\naddopts = '--cov=a --cov-report=xml'\n";
    let configuration = |manifest: &str| {
        let files = [
            ("pyproject.toml", manifest),
            ("tests/test_a.py", "import pytest\n"),
        ];
        made(&files, &[]).remove(0).1
    };
    let measured = configuration(pytest);
    assert!(measured.contains("below_minimum: fail"), "{measured}");
    assert!(!configuration("[project]\nname = 'a'\n").contains("below_minimum"));
}

/// Workflows as projects have them.
const CI: [(&str, &str); 5] = [
    (
        ".github/workflows/ci.yml",
        "name: CI\non:\n  push: { branches: [main] }\n  pull_request:\njobs:\n  test:\n    strategy: { matrix: { os: [a, b] } }\n    \
         steps: [{ run: cargo test }]\n  msrv:\n    name: MSRV ${{ matrix.rust }}\n    strategy: { matrix: { rust: [1.80] } }\n    \
         steps: [{ run: cargo check }]\n  checks:\n    name: '[all] green?'\n    steps: [{ run: npm run lint && npm test }]\n  \
         shared:\n    uses: ./.github/workflows/shared.yml\n  publish:\n    if: github.event_name == 'push'\n    steps: []\n",
    ),
    (
        ".github/workflows/docs.yml",
        "name: Docs\non: { pull_request: { paths: [docs/**] } }\njobs: { docs: { steps: [] } }\n",
    ),
    (
        ".github/workflows/lint.yaml",
        "on: [push, pull_request]\njobs: { test: { name: Clippy, steps: [] } }\n",
    ),
    (
        ".github/workflows/title.yml",
        "on: { pull_request: { types: [opened, edited] } }\njobs: { title: { steps: [] } }\n",
    ),
    (
        ".github/workflows/stale.yml",
        "on: { schedule: [{ cron: '1 1 * * *' }] }\njobs: { stale: { steps: [] } }\n",
    ),
];

#[test]
fn ci_that_is_there_is_followed_and_not_doubled() {
    let files = made(&CI, &["--action-only"]);
    assert_eq!(
        files.iter().map(|(path, _)| *path).collect::<Vec<_>>(),
        [CONFIGURATION, RECONCILE, RELAY]
    );
    let policy = config::parse(CONFIGURATION, &files[0].1).unwrap();
    let checks: String = files[0]
        .1
        .lines()
        .filter(|line| line.contains("from:") || line.contains("workflows:"))
        .map(|line| format!("{line}\n"))
        .collect();
    insta::assert_snapshot!(checks, @"
    workflows: ['.github/workflows/ci.yml', '.github/workflows/docs.yml', '.github/workflows/lint.yaml']
      test: { kind: test, from: { check: 'test (*)', app: github-actions } }
      msrv: { kind: build, from: { check: 'MSRV*', app: github-actions } }
      all-green: { kind: test, from: { check: '?all? green?', app: github-actions } }
      docs: { kind: docs, from: { check: 'docs', app: github-actions } }
      clippy: { kind: lint, from: { check: 'Clippy', app: github-actions } }
      #: shared: { kind: custom, from: { check: 'shared / *', app: github-actions } }
    ");
    assert_eq!(policy.verify.checks.len(), 5);
    assert!(
        files[1].1.contains(
            r#"workflows: ["CI", "Docs", ".github/workflows/lint.yaml", "Loopgate relay"]"#
        ),
        "{}",
        files[1].1
    );
    let relay = files.last().unwrap();
    assert!(relay.0.ends_with("loopgate-relay.yml"), "{}", relay.0);
    assert_eq!(
        made(&[(relay.0, &relay.1), ("go.mod", "")], &[]).len(),
        2,
        "what init wrote before is no CI to follow"
    );
    let alone = made(&CI, &[]);
    assert_eq!(alone.len(), 1, "an App needs nothing else");
    assert_eq!(made(&CI, &["--own-workflow"]).len(), 2);
}

#[test]
fn a_second_ci_is_never_added_unasked() {
    let workflow = |id: &str, run: &str| {
        format!("on: pull_request\njobs:\n  {id}:\n    steps:\n      - run: {run}\n")
    };
    let analysis = workflow("analyze", "codeql");
    let files = [
        ("go.mod", ""),
        (".github/workflows/codeql.yml", analysis.as_str()),
    ];
    let paths = |files: &[(&str, &str)]| {
        made(files, &[])
            .into_iter()
            .map(|(path, _)| path)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        paths(&files),
        [CONFIGURATION],
        "it is followed, though nothing says that it tests"
    );
    let linted = workflow("linting", "composer tests");
    assert_eq!(
        paths(&[files[0], files[1], (".github/workflows/ci.yml", &linted)]),
        [CONFIGURATION]
    );
    let filtered = "on: { pull_request: { paths: [src/**] } }\njobs:\n  test:\n    steps:\n      - run: make test\n";
    assert_eq!(
        paths(&[files[0], (".github/workflows/ci.yml", filtered)]),
        [CONFIGURATION]
    );
    assert_eq!(paths(&files[..1]), [CONFIGURATION, VERIFY]);
}

/// Tests may stand in them.
#[test]
fn submodules_are_checked_out_where_somebody_does() {
    let checkout = |input: &str| {
        format!(
            "on: push\njobs:\n  a:\n    steps:\n      - uses: actions/checkout@v4\n        with:\n{input}"
        )
    };
    let (plain, deep) = (
        checkout("          fetch-depth: 0\n"),
        checkout("          submodules: recursive\n"),
    );
    let modules = (".gitmodules", "[submodule \"spec\"]\n");
    let input = |files: &[(&str, &str)]| -> Option<String> {
        let made = made(files, &["--own-workflow"]);
        serde_yaml::from_str::<serde_yaml::Value>(&made[1].1).unwrap();
        made[1]
            .1
            .lines()
            .find_map(|line| Some(line.trim().strip_prefix("submodules: ")?.to_owned()))
    };
    let ci = ".github/workflows/ci.yml";
    assert_eq!(input(&[("go.mod", "")]), None);
    assert_eq!(input(&[("go.mod", ""), modules]).as_deref(), Some("true"));
    assert_eq!(
        input(&[("go.mod", ""), modules, (ci, &plain)]),
        None,
        "its own people do without"
    );
    assert_eq!(
        input(&[("go.mod", ""), modules, (ci, &deep)]).as_deref(),
        Some("recursive")
    );
}

#[test]
fn a_runtime_is_of_the_version_that_the_project_names() {
    let versions = |files: &[(&str, &str)]| -> Vec<String> {
        let text = made(files, &["--own-workflow"]).pop().unwrap().1;
        let lines = text.lines().map(str::trim);
        lines
            .filter(|line| line.contains("-version"))
            .map(str::to_owned)
            .collect()
    };
    let package = |more: &str| format!("{{ \"scripts\": {{ \"test\": \"node --test\" }}{more} }}");
    let plain = package("");
    let engines = package(", \"engines\": { \"node\": \">=22\" }");
    let cases: [(&[(&str, &str)], &str); 7] = [
        (&[("package.json", &plain)], "node-version: lts/*"),
        (
            &[("package.json", &engines)],
            "node-version-file: package.json",
        ),
        (
            &[("package.json", &engines), (".nvmrc", "24\n")],
            "node-version-file: .nvmrc",
        ),
        (
            &[("go.mod", "module a\n\ngo 1.26\n")],
            "go-version-file: go.mod",
        ),
        (
            &[
                ("pyproject.toml", "[project]\nname = \"a\"\n"),
                ("a/__init__.py", ""),
            ],
            "python-version: \"3.x\"",
        ),
        (
            &[
                (
                    "pyproject.toml",
                    "[project]\nname = \"a\"\nrequires-python = \">=3.11,<3.13\"\n",
                ),
                ("a/__init__.py", ""),
            ],
            "python-version-file: pyproject.toml",
        ),
        (
            &[("pom.xml", "<project/>"), (".java-version", "17\n")],
            "java-version-file: .java-version",
        ),
    ];
    for (files, expected) in cases {
        assert_eq!(versions(files), [expected], "{files:?}");
    }
}

#[test]
fn what_tests_need_is_installed_as_the_project_says() {
    let installs = |manifest: &str| {
        let files = [
            ("pyproject.toml", manifest),
            ("tests/test_a.py", "import pytest\n"),
        ];
        let text = made(&files, &[]).pop().unwrap().1;
        text.lines()
            .find_map(|line| line.trim().strip_prefix("- run: ").map(str::to_owned))
            .unwrap_or_default()
    };
    assert_eq!(
        installs(
            "[project]\nname = \"a\"\n[dependency-groups]\ntest = [\"pytest\", \"hypothesis\"]\n"
        ),
        "python -m pip install --upgrade pip && python -m pip install pytest --group test -e ."
    );
    let extras = "[project]\nname = \"a\"\n[project.optional-dependencies]\ntests = [\"pytest\"]\n";
    assert_eq!(
        installs(extras),
        "python -m pip install pytest -e '.[tests]'"
    );
}

#[test]
fn a_tool_that_a_check_calls_is_installed_though_nothing_names_it() {
    let installs = |files: &[(&str, &str)]| {
        let text = made(files, &[]).pop().unwrap().1;
        text.lines()
            .find_map(|line| line.trim().strip_prefix("- run: ").map(str::to_owned))
            .unwrap_or_default()
    };
    let manifest = ("pyproject.toml", "[project]\nname = \"a\"\n");
    let test = ("tests/test_a.py", "def test_a(): pass\n");
    assert_eq!(
        installs(&[manifest, test, (".flake8", "")]),
        "python -m pip install pytest flake8 -e ."
    );
    let uv = "pipx install uv && uv sync --all-groups";
    assert_eq!(
        installs(&[manifest, test, ("uv.lock", "")]),
        format!("{uv} && uv pip install pytest")
    );
    assert_eq!(
        installs(&[manifest, test, ("uv.lock", "name = \"pytest\"\n")]),
        uv
    );
}

/// What `init` would leave in this folder, and what it left.
fn added(root: &Path, words: &[&str]) -> Vec<(&'static str, &'static str)> {
    let files = tried(root, words).unwrap();
    let deeds = files
        .iter()
        .map(|file| (file.path, deed(file, root)))
        .collect();
    files.iter().for_each(|file| write(root, file).unwrap());
    deeds
}

#[test]
fn agents_are_told_in_a_block_and_the_rest_stays_byte_by_byte() {
    let mine = "# Ours\r\n\r\nUse tabs.";
    let folder = folder_of(&[("AGENTS.md", mine), ("CLAUDE.md", "Be brief.\n")]);
    let root = folder.path();
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let [told, claude, copilot] = [
        "AGENTS.md",
        "CLAUDE.md",
        ".github/workflows/copilot-setup-steps.yml",
    ];
    let agents = [FORK.as_slice(), &["--agents"]].concat();
    let first = added(root, &agents);
    assert_eq!(
        first,
        [(told, "update"), (claude, "update"), (copilot, "create")]
    );
    let text = read(told);
    assert!(
        text.starts_with(&format!("{mine}\r\n\r\n<!-- loopgate: begin"))
            && text.ends_with("end -->\r\n"),
        "{text}"
    );
    assert!(
        !text.replace("\r\n", "").contains('\n'),
        "one kind of line ending: {text:?}"
    );
    assert!(
        text.contains("loopgate feedback acme/widgets#NUMBER --wait"),
        "{text}"
    );
    assert_eq!(
        read(claude),
        "Be brief.\n\n<!-- loopgate: begin -->\n@AGENTS.md\n<!-- loopgate: end -->\n"
    );
    let again = added(root, &agents);
    assert!(
        again.iter().all(|(_, deeds)| *deeds == "unchanged"),
        "{again:?}"
    );
    // What people write around it, and a block of an older version.
    let edited = format!(
        "{}\r\n# More",
        text.replace("run `loopgate verify`, ", "verify, ")
    );
    std::fs::write(root.join(told), &edited).unwrap();
    added(root, &agents);
    assert_eq!(read(told), format!("{text}\r\n# More"));
}

#[test]
fn nothing_is_told_twice_nor_written_over_what_is_not_ours() {
    let steps = ".github/workflows/copilot-setup-steps.yml";
    let folder = folder_of(&[("CLAUDE.md", "See @AGENTS.md\n"), (steps, "name: Ours\n")]);
    assert_eq!(
        added(folder.path(), &["--agents"]),
        [("AGENTS.md", "create")]
    );
    let (arguments, detected) = (
        arguments(&[&FORK[..], &["--agents"]].concat()),
        Detected::default(),
    );
    let next = next_steps(&arguments, folder.path(), &detected, &[]).join("\n");
    assert!(
        next.contains("Copilot: a step of .github/workflows/copilot-setup-steps.yml"),
        "{next}"
    );

    let half = folder_of(&[("AGENTS.md", "<!-- loopgate: begin -->\n")]);
    assert!(
        tried(half.path(), &["--agents"])
            .is_err_and(|error| error.message.contains("without `<!-- loopgate: end -->`"))
    );
    #[cfg(unix)]
    {
        let outside = folder_of(&[("profile", "")]);
        let folder = folder_of(&[]);
        std::os::unix::fs::symlink(
            outside.path().join("profile"),
            folder.path().join("AGENTS.md"),
        )
        .unwrap();
        let file = NewFile {
            path: "AGENTS.md",
            text: "x".to_owned(),
        };
        assert!(
            write(folder.path(), &file)
                .is_err_and(|error| error.message.contains("a link out of the repository"))
        );
    }
}

#[test]
fn the_line_that_installs_the_program_is_one_that_a_shell_reads() {
    let folder = folder_of(&[]);
    added(
        folder.path(),
        &["--agents", "--action", "acme/loopgate/action@v1"],
    );
    let steps = std::fs::read_to_string(
        folder
            .path()
            .join(".github/workflows/copilot-setup-steps.yml"),
    )
    .unwrap();
    assert!(
        steps.contains("https://github.com/acme/loopgate/releases/download/v"),
        "{steps}"
    );
    let yaml: serde_yaml::Value = serde_yaml::from_str(&steps).unwrap();
    let line = yaml["jobs"]["copilot-setup-steps"]["steps"][0]["run"]
        .as_str()
        .unwrap();
    let parsed = std::process::Command::new("sh")
        .args(["-n", "-c", line])
        .status()
        .unwrap();
    assert!(parsed.success(), "{line}");
}

#[test]
fn the_loop_of_two_jobs_takes_the_fixer_of_the_configuration() {
    let files = made(
        &MONOREPO,
        &["--loop", "--action", "acme/loopgate/action@v1"],
    );
    let [(FIX, text)] = files.as_slice() else {
        panic!("{files:?}")
    };
    let yaml: serde_yaml::Value = serde_yaml::from_str(text).unwrap();
    let (fix, push) = (&yaml["jobs"]["fix"], &yaml["jobs"]["push"]);
    assert_eq!(
        serde_yaml::to_string(&fix["permissions"]).unwrap(),
        "contents: read\n"
    );
    assert_eq!(serde_yaml::to_string(&push["permissions"]).unwrap(), "{}\n");
    let with = |job: &serde_yaml::Value| {
        job["steps"].as_sequence().unwrap().last().unwrap()["with"].clone()
    };
    assert_eq!(
        serde_yaml::to_string(&with(fix)).unwrap(),
        "command: loop\n"
    );
    assert_eq!(
        (with(push)["command"].as_str(), push["needs"].as_str()),
        (Some("push"), Some("fix"))
    );
    assert!(
        text.find("npm ci") < text.find("command: loop") && text.matches("npm ci").count() == 1,
        "{text}"
    );
    assert!(
        !text.contains("OWNER") && !text.contains("COMMIT"),
        "{text}"
    );
}
