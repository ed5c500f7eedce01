//! Projects as their files lie there, and the commands that come of them.

use super::*;
use loopgate_written::folder_of;

/// `name (directory): command <- needs`, one line per check.
fn written(files: &[(&str, &str)]) -> String {
    let folder = folder_of(files);
    let detected = detect(folder.path(), Purpose::WriteDown);
    let line = |(name, check): (&CheckName, &CheckPolicy)| {
        let CheckSource::Command(command) = &check.source else {
            panic!("a command")
        };
        let place = command
            .working_directory
            .as_ref()
            .map(|place| format!(" in {place}"))
            .unwrap_or_default();
        let needs: Vec<&str> = command.needs.iter().map(CheckName::as_str).collect();
        let needs = if needs.is_empty() {
            String::new()
        } else {
            format!(" <- {}", needs.join(", "))
        };
        format!("{name}{place}: {}{needs}", command.run)
    };
    detected
        .checks
        .iter()
        .map(line)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn nothing_is_detected_in_nothing() {
    assert_eq!(written(&[]), "");
    assert_eq!(written(&[("README.md", "")]), "");
    assert_eq!(
        written(&[
            ("_examples/rest/go.mod", ""),
            ("benchmark/pom.xml", ""),
            ("node_modules/x/package.json", "{}")
        ]),
        ""
    );
}

#[test]
fn rust() {
    insta::assert_snapshot!(written(&[("Cargo.toml", "[package]\nname = \"shop\"")]), @"
    build: cargo build
    test: cargo test --no-fail-fast <- build
    lint: cargo clippy --all-targets <- build
    format: cargo fmt --all --check
    ");
}

#[test]
fn members_of_a_cargo_workspace_are_not_listed_twice() {
    let manifest = "[workspace]\nmembers = [\"crates/*\"]\nexclude = [\"tools/gen\"]";
    let files = [
        ("Cargo.toml", manifest),
        ("crates/core/Cargo.toml", "[package]\nname = \"core\""),
        ("tools/gen/Cargo.toml", "[package]\nname = \"gen\""),
        ("fuzz/Cargo.toml", "[package]\nname = \"fuzz\"\n[workspace]"),
        ("vendor/x/Cargo.toml", "[package]\nname = \"x\""),
    ];
    insta::assert_snapshot!(written(&files), @"
    build: cargo build --workspace
    test: cargo test --workspace --no-fail-fast <- build
    lint: cargo clippy --workspace --all-targets <- build
    format: cargo fmt --all --check
    tools/gen/build in tools/gen: cargo build
    tools/gen/test in tools/gen: cargo test --no-fail-fast <- tools/gen/build
    tools/gen/lint in tools/gen: cargo clippy --all-targets <- tools/gen/build
    tools/gen/format in tools/gen: cargo fmt --all --check
    ");
}

#[test]
fn only_scripts_that_exist_are_run_by_the_lock_files_package_manager() {
    let package = |scripts: &str| format!("{{ \"scripts\": {{ {scripts} }} }}");
    let scripts = |test: &str, lock: &str| {
        let package = package(&format!("\"test\": \"{test}\", \"lint\": \"eslint .\""));
        written(&[("package.json", package.as_str()), (lock, "")])
    };
    insta::assert_snapshot!(scripts("jest --ci", "package-lock.json"), @r#"
    test: npm run test -- --json --outputFile="$LOOPGATE_REPORTS/jest.json"
    lint: npm run lint -- --format=json --output-file="$LOOPGATE_REPORTS/eslint.json"
    "#);
    insta::assert_snapshot!(scripts("vitest", "pnpm-lock.yaml"), @r#"
    test: pnpm run test --run --reporter=default --reporter=junit --outputFile.junit="$LOOPGATE_REPORTS/vitest.xml"
    lint: pnpm run lint --format=json --output-file="$LOOPGATE_REPORTS/eslint.json"
    "#);
    insta::assert_snapshot!(scripts("tsc && NODE_ENV=test mocha", "yarn.lock"), @r#"
    test: yarn run test --reporter xunit --reporter-option output="$LOOPGATE_REPORTS/mocha.xml"
    lint: yarn run lint --format=json --output-file="$LOOPGATE_REPORTS/eslint.json"
    "#);
    insta::assert_snapshot!(scripts("bun test | tee log", "bun.lock"), @r#"
    test: bun run test
    lint: bun run lint --format=json --output-file="$LOOPGATE_REPORTS/eslint.json"
    "#);
    let none =
        package(r#""test": "echo \"Error: no test specified\" && exit 1", "start": "node .""#);
    assert_eq!(written(&[("package.json", &none)]), "");
    assert_eq!(written(&[("package.json", "{ broken")]), "");
    let named = r#"{ "packageManager": "pnpm@9.1.0", "scripts": { "build": "tsc", "type-check": "tsc --noEmit" } }"#;
    insta::assert_snapshot!(written(&[("package.json", named)]), @"
    build: pnpm run build
    types: pnpm run type-check <- build
    ");
}

/// A command of CI takes the place of the usual test only where CI has no other there.
#[test]
fn a_test_that_ci_runs_too_gives_way_to_no_other() {
    let with = |jobs: &str| {
        let ci = format!("on: pull_request\njobs: {{ {jobs} }}");
        loopgate_written::folder_of(&[
            ("pyproject.toml", "[tool.pytest.ini_options]\n"),
            ("tests/test_cart.py", ""),
            (".github/workflows/ci.yml", &ci),
        ])
    };
    for (jobs, expected) in [
        (
            "a: { steps: [{ run: pytest }] }, b: { steps: [{ run: go test ./... }] }",
            "pytest",
        ),
        ("a: { steps: [{ run: tox }] }", "tox"),
    ] {
        let folder = with(jobs);
        let detected = detect(folder.path(), Purpose::WriteDown);
        let CheckSource::Command(test) = &detected.checks.first().unwrap().1.source else {
            panic!("a command")
        };
        assert!(test.run.contains(expected), "{jobs}: {}", test.run);
    }
}

/// A package below must not speak for what is built at the top.
#[test]
fn what_is_built_in_an_unknown_way_is_named_and_tested_as_ci_does() {
    let ui = r#"{ "scripts": { "test": "node --test" } }"#;
    let with = |ci: &str| {
        loopgate_written::folder_of(&[
            ("build.zig", ""),
            ("ui/package.json", ui),
            (".github/workflows/ci.yml", ci),
        ])
    };
    let without = with("on: push\njobs: {}");
    let detected = detect(without.path(), Purpose::WriteDown);
    assert_eq!(detected.unserved, [("build.zig", "Zig")]);
    assert_eq!(
        Vec::from_iter(detected.checks.keys().map(CheckName::as_str)),
        ["ui/test"]
    );

    let tested = with("on: pull_request\njobs: { zig: { steps: [{ run: zig build test-unit }] } }");
    let detected = detect(tested.path(), Purpose::WriteDown);
    assert_eq!(detected.unserved, []);
    assert_eq!(
        Vec::from_iter(detected.checks.keys().map(CheckName::as_str)),
        ["ui/test", "test"]
    );
}

#[test]
fn packages_of_a_workspace_speak_for_themselves_unless_its_own_script_does() {
    let package = r#"{ "scripts": { "test": "vitest run" } }"#;
    let with = |root: &str, workspace: &str| {
        written(&[
            ("package.json", root),
            ("pnpm-workspace.yaml", workspace),
            ("pnpm-lock.yaml", ""),
            ("packages/api/package.json", package),
            ("packages/web/package.json", package),
            ("node_modules/left-pad/package.json", package),
        ])
    };
    let members = "packages:\n  - packages/*\n";
    insta::assert_snapshot!(with("{}", members), @r#"
    packages/api/test in packages/api: pnpm run test --run --reporter=default --reporter=junit --outputFile.junit="$LOOPGATE_REPORTS/vitest.xml"
    packages/web/test in packages/web: pnpm run test --run --reporter=default --reporter=junit --outputFile.junit="$LOOPGATE_REPORTS/vitest.xml"
    "#);
    let all = r#"{ "scripts": { "test": "turbo run test" } }"#;
    assert_eq!(with(all, members), "test: pnpm run test");
    // What only hands over to the packages says less than they do.
    let each = with(
        r#"{ "scripts": { "test": "pnpm -r test", "lint": "eslint ." } }"#,
        members,
    );
    assert!(
        !each.contains("test: pnpm run test\n") && each.contains("lint: pnpm run lint"),
        "{each}"
    );
    assert!(
        each.contains("packages/api/test in packages/api: pnpm run test --run"),
        "{each}"
    );
    // Not in the workspace: its own project.
    let other = with(all, "packages:\n  - packages/api\n");
    assert!(
        other.contains("packages/web/test") && !other.contains("packages/api/test"),
        "{other}"
    );
    let npm = r#"{ "workspaces": ["packages/*"], "scripts": { "test": "npm test -w web" } }"#;
    assert_eq!(with(npm, ""), "test: pnpm run test");
}

#[test]
fn python_with_the_tools_it_names() {
    let project = "[project]\nname = \"shop\"\n[tool.pytest.ini_options]\n[tool.ruff]\n[tool.mypy]\nstrict = true\n";
    insta::assert_snapshot!(written(&[("pyproject.toml", project), ("tests/test_cart.py", "")]), @r#"
    test: python -m pytest --junitxml="$LOOPGATE_REPORTS/pytest.xml"
    lint: python -m ruff check --output-format=concise
    types: python -m mypy .
    "#);
    let locked = [
        (
            "pyproject.toml",
            "[tool.mypy]\nfiles = \"shop\"\n[tool.other]\n",
        ),
        ("uv.lock", ""),
        ("requirements-dev.txt", "flake8\npytest\n"),
        ("test_cart.py", ""),
    ];
    insta::assert_snapshot!(written(&locked), @r#"
    test: uv run python -m pytest --junitxml="$LOOPGATE_REPORTS/pytest.xml"
    lint: uv run python -m flake8
    types: uv run python -m mypy
    "#);
    let plain = [
        ("setup.py", ""),
        ("tests/test_cart.py", "import unittest\n"),
    ];
    assert_eq!(written(&plain), "test: python -m unittest discover -v");
    assert_eq!(
        written(&[("requirements.txt", "requests\n")]),
        "",
        "no tests, nothing to run"
    );
}

#[test]
fn python_code_is_compiled_and_tests_run_as_tox_runs_them() {
    let tox = "[tox]\nenvlist = py3{9,10}\n[testenv]\ndeps = hypothesis\ncommands =\n    pytest {posargs}\n[testenv:docs]\ncommands = sphinx-build\n";
    let project = [
        ("setup.py", ""),
        ("src/shop/__init__.py", ""),
        ("tests/__init__.py", ""),
        ("tests/test_cart.py", ""),
    ];
    let with =
        |file: &'static str, text: &'static str| written(&[&project[..], &[(file, text)]].concat());
    insta::assert_snapshot!(with("tox.ini", tox), @r#"
    build: python -m compileall -q src/shop
    test: python -m tox -e py -- --junitxml="$LOOPGATE_REPORTS/pytest.xml" <- build
    "#);
    let table = "[tool.tox.env_run_base]\ncommands = [[\"python\", \"-m\", \"unittest\"]]\n";
    assert!(with("pyproject.toml", table).ends_with("test: python -m tox -e py <- build"));
    assert!(
        with("tox.ini", "[flake8]\n[testenv:lint]\ncommands = pytest")
            .contains("test: python -m pytest")
    );
    let modules = written(&[
        ("setup.py", ""),
        ("six.py", ""),
        ("test_six.py", "import pytest"),
    ]);
    assert!(
        modules.starts_with("build: python -m compileall -q six.py\n"),
        "{modules}"
    );
}

#[test]
fn django() {
    insta::assert_snapshot!(written(&[("manage.py", ""), ("cart/tests.py", "")]), @"
    build: python manage.py check
    test: python manage.py test -v 2 <- build
    ");
    let with_pytest = [
        ("manage.py", ""),
        ("requirements.txt", "pytest-django"),
        ("cart/tests.py", ""),
    ];
    assert!(written(&with_pytest).contains("test: python -m pytest --junitxml"));
}

#[test]
fn go_modules_each_by_itself() {
    let files = [("go.work", ""), ("api/go.mod", ""), ("worker/go.mod", "")];
    insta::assert_snapshot!(written(&files), @"
    api/build in api: go build ./...
    api/test in api: go test -json ./... <- api/build
    api/lint in api: go vet ./... <- api/build
    worker/build in worker: go build ./...
    worker/test in worker: go test -json ./... <- worker/build
    worker/lint in worker: go vet ./... <- worker/build
    ");
    let races = written(&[
        ("go.mod", ""),
        ("Makefile", "test:\n\tgo test -count=1 -race ./...\n"),
    ]);
    assert!(races.contains("go test -race -json ./..."), "{races}");
}

#[test]
fn java_by_the_wrapper_that_is_there() {
    let modules = [
        (
            "pom.xml",
            "<project><modules><module>core</module></modules></project>",
        ),
        ("core/pom.xml", ""),
    ];
    insta::assert_snapshot!(written(&modules), @"
    build: mvn -B -q compile
    test: mvn -B test -DtrimStackTrace=false <- build
    ");
    let gradle = [
        ("settings.gradle.kts", ""),
        ("gradlew", ""),
        ("app/build.gradle.kts", ""),
    ];
    // As Git on Windows commits it.
    #[cfg(unix)]
    insta::assert_snapshot!(written(&gradle), @"
    build: sh ./gradlew classes
    test: sh ./gradlew cleanTest test --continue <- build
    ");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = folder_of(&gradle);
        std::fs::set_permissions(
            folder.path().join("gradlew"),
            std::fs::Permissions::from_mode(0o755),
        )
        .unwrap();
        let detected = detect(folder.path(), Purpose::WriteDown);
        let CheckSource::Command(command) = &detected.checks[0].source else {
            panic!("a command")
        };
        assert_eq!(command.run, "./gradlew classes");
    }
}

#[test]
fn several_projects_keep_their_checks_apart() {
    let files = [
        ("go.mod", ""),
        ("pom.xml", ""),
        (
            "Web App/package.json",
            r#"{ "scripts": { "test": "jest" } }"#,
        ),
        ("services/a-very-long-name-for-a-service/backend/go.mod", ""),
        ("docs/package.json", r#"{ "scripts": { "test": "jest" } }"#),
    ];
    let folder = folder_of(&files);
    let names: Vec<String> = detect(folder.path(), Purpose::WriteDown)
        .checks
        .keys()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        names,
        [
            "go-build",
            "go-test",
            "go-lint",
            "maven-build",
            "maven-test",
            "web-app/test",
            "backend/build",
            "backend/test",
            "backend/lint"
        ]
    );
}

#[test]
fn a_linter_looks_at_what_the_projects_own_people_have_it_look_at() {
    let project = ("pyproject.toml", "[tool.ruff]\n");
    let linted = |makefile: &str| written(&[project, ("shop/cart.py", ""), ("Makefile", makefile)]);
    assert_eq!(
        linted("check:\n\tuv run ruff check --fix shop/ $(MORE)\n"),
        "lint: python -m ruff check --output-format=concise shop/"
    );
    assert_eq!(
        linted("check:\n\truff check gone; id\n"),
        "lint: python -m ruff check --output-format=concise"
    );
}

#[test]
fn ruby_by_what_its_tests_are_written_with() {
    insta::assert_snapshot!(written(&[("Gemfile", "gem 'rubocop'"), (".rspec", "")]), @r#"
    test: bundle exec rspec --format progress --format json --out "$LOOPGATE_REPORTS/rspec.json"
    lint: bundle exec rubocop --format emacs
    "#);
    assert_eq!(
        written(&[("Rakefile", "Rake::TestTask.new do |t|\nend")]),
        "test: rake test"
    );
    assert_eq!(
        written(&[("Gemfile", ""), ("bin/rails", ""), ("test/a.rb", "")]),
        "test: bin/rails test"
    );
    assert_eq!(written(&[("Gemfile", "gem 'jekyll'")]), "");
}

#[test]
fn php_by_what_composer_installs() {
    let composer = |rest: &str| format!("{{ \"require-dev\": {{ {rest} }} }}");
    let unit = composer(r#""phpunit/phpunit": "^9""#);
    insta::assert_snapshot!(written(&[("composer.json", &unit), ("test/ATest.php", ""), ("phpstan.neon", "")]), @r#"
    test: vendor/bin/phpunit --log-junit "$LOOPGATE_REPORTS/phpunit.xml" test
    types: vendor/bin/phpstan analyse --no-progress --error-format=checkstyle > "$LOOPGATE_REPORTS/phpstan.xml"
    "#);
    insta::assert_snapshot!(written(&[("composer.json", &unit), ("phpunit.xml.dist", ""), ("tests/ATest.php", "")]), @r#"test: vendor/bin/phpunit --log-junit "$LOOPGATE_REPORTS/phpunit.xml""#);
    insta::assert_snapshot!(written(&[("composer.json", &composer(r#""pestphp/pest": "^3""#))]), @r#"test: vendor/bin/pest --log-junit "$LOOPGATE_REPORTS/phpunit.xml""#);
    assert_eq!(
        written(&[("composer.json", r#"{ "scripts": { "test": "behat" } }"#)]),
        "test: composer run test"
    );
}

#[test]
fn c_by_cmake_and_whatever_has_a_makefile_with_tests() {
    let lists = "project(shop C)\nenable_testing()\n";
    insta::assert_snapshot!(written(&[("CMakeLists.txt", lists), ("lib/CMakeLists.txt", ""), ("Makefile", "test:\n")]), @r#"
    build: cmake -S . -B build && cmake --build build --parallel 4
    test: ctest --test-dir build --output-on-failure --output-junit "$LOOPGATE_REPORTS/ctest.xml" <- build
    "#);
    assert_eq!(
        written(&[(
            "Makefile",
            "CHECK := yes\nall:\n\tcc a.c\ncheck : all\n\t./a\n"
        )]),
        "test: make check"
    );
    assert_eq!(written(&[("Makefile", "test := 1\nall:\n")]), "");
    // What another tool makes, its own commands check.
    assert!(!written(&[("Makefile", "test:\n"), ("go.mod", "")]).contains("make"));
    assert_eq!(written(&[("tools/Makefile", "test:\n")]), "");
}

#[test]
fn every_expression_is_one_that_reports_are_read_with() {
    let files = [
        ("Cargo.toml", ""),
        (
            "package.json",
            r#"{ "scripts": { "build": "x", "test": "x", "tsc": "x" } }"#,
        ),
        ("pyproject.toml", "ruff [tool.mypy] pytest"),
        ("test_a.py", ""),
        ("go.mod", ""),
        ("pom.xml", ""),
        ("build.gradle", ""),
        ("Gemfile", "rubocop"),
        ("CMakeLists.txt", ""),
    ];
    let folder = folder_of(&files);
    let detected = detect(folder.path(), Purpose::WriteDown);
    let patterns: Vec<_> = detected
        .checks
        .values()
        .filter_map(|check| match &check.source {
            CheckSource::Command(command) => command.report_pattern.clone(),
            CheckSource::External(_) | CheckSource::Reviewer(_) => None,
        })
        .collect();
    assert!(patterns.len() >= 11, "{}", patterns.len());
    for pattern in patterns {
        assert!(
            loopgate_reports::Pattern::new(pattern.as_str()).is_ok(),
            "{}",
            pattern.as_str()
        );
    }
}

/// With `--pretty`, which nx and editors ask for, as without.
#[test]
fn what_the_type_checker_writes_is_read_in_both_its_forms() {
    let folder = folder_of(&[
        ("package.json", r#"{ "scripts": { "typecheck": "tsc" } }"#),
        ("tsconfig.json", "{}"),
    ]);
    let detected = detect(folder.path(), Purpose::WriteDown);
    let patterns = detected
        .checks
        .values()
        .find_map(|check| match &check.source {
            CheckSource::Command(command) => command.report_pattern.clone(),
            CheckSource::External(_) | CheckSource::Reviewer(_) => None,
        });
    let pattern = regex::Regex::new(patterns.unwrap().as_str()).unwrap();
    for line in [
        "src/cart.ts(11,5): error TS2339: Property 'prize' does not exist on type 'Line'.",
        "src/cart.ts:11:5 - error TS2339: Property 'prize' does not exist on type 'Line'.",
    ] {
        let found = pattern.captures(line).expect(line);
        let [file, at, rule] = ["file", "line", "rule"].map(|group| &found[group]);
        assert_eq!((file, at, rule), ("src/cart.ts", "11", "TS2339"), "{line}");
    }
}
