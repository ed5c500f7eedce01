//! The smallest command that shows a failure again.
//!
//! People and agents paste these lines into a shell, and the names in them come from the pull request. A name is
//! quoted so that no shell reads anything into it; one that cannot be quoted yields no command.

mod names;
mod own;
mod rerun;
mod select;
mod shell;
mod tool;

use std::borrow::Cow;

use self::{
    names::word,
    own::Start,
    tool::{of_source, runner, without_reports},
};
use crate::{
    CheckName,
    evidence::{ErrorType, Failure, ReproduceProof, SourceLocation},
    source_files::{Runner, Tool, language_of},
};

pub use self::rerun::rerun;

/// Bytes of a check's command that is shown; the start of a longer one would be another command.
const LONGEST: usize = 500;

/// The check a failure belongs to, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub struct CheckContext<'a> {
    pub name: &'a CheckName,
    /// The configured command line, `cargo test --workspace`; empty if none is known.
    pub command: &'a str,
    /// Where it runs, relative to the top of the repository; empty for the top.
    pub directory: &'a str,
}

/// The command that runs this one failure again, from the top of the repository, started as its check starts its tool
/// with `command` in `directory`; without a better one, the check's own.
pub fn reproduce(failure: &Failure, command: &str, directory: &str) -> Option<String> {
    let (directory, command) = placed(command, directory);
    let whole = || {
        without_reports(&command).filter(|command| !command.is_empty() && command.len() <= LONGEST)
    };
    match failure.error_type {
        ErrorType::LintError | ErrorType::CompileError => at(
            &directory,
            whole().or_else(|| of_source(&seen_from(&directory, failure)))?,
        ),
        _ if failure.reproduce == Some(ReproduceProof::Dropped) => at(&directory, whole()?),
        _ => {
            let is_proven = failure.reproduce == Some(ReproduceProof::Proven);
            let of_chain = |(before, last): (String, String)| {
                let runner = runner(failure, &last)?;
                let may_stand = runner.is_proven || is_proven;
                may_stand.then(|| one(failure, runner, &last, &directory, &before))?
            };
            shell::chain(&command)
                .and_then(of_chain)
                .or_else(|| at(&directory, whole()?))
        }
    }
}

/// Whether a command line runs a tool of which Loopgate knows how it sums up its tests, as it does by itself: by no
/// script, through no filter, and with no other reporter. Its status may be hidden (`| tee log`, `|| true`).
pub fn prints_its_sum(command: &str) -> bool {
    let another = pattern!(
        r"^(?:-q+|--quiet|--silent|--(?:reporters?|format|list|collect|json|help|version|co\b)|-f|-h)"
    );
    let (_, command) = own::placed(command);
    shell::with_status_hidden(&command).is_some_and(|command| {
        is_of_runner(&command)
            && !command
                .split_whitespace()
                .any(|word| another.is_match(word))
    })
}

/// Whether a command line runs one tool of which Loopgate knows how it runs tests, and ends with that tool's status.
pub fn ends_as_its_runner(command: &str) -> bool {
    is_of_runner(&own::placed(command).1)
}

fn is_of_runner(command: &str) -> bool {
    tool::is_simple(command)
        && !tool::is_package_script(command)
        && runner(&Failure::default(), command).is_some()
}

/// The command that is to be executed to prove that it runs this one failure again; none where there is none but the
/// check's own.
pub fn to_prove(failure: &Failure, command: &str, directory: &str) -> Option<String> {
    let with = |proof| Failure {
        reproduce: Some(proof),
        ..failure.clone()
    };
    let one = reproduce(&with(ReproduceProof::Proven), command, directory)?;
    let own = reproduce(&with(ReproduceProof::Dropped), command, directory);
    (Some(&one) != own.as_ref()).then_some(one)
}

/// The command that runs a test alone, or its file, where the check's tool is one for its language and takes such a
/// choice; none otherwise, and never the whole check.
pub fn alone(test: &Failure, command: &str, directory: &str) -> Option<String> {
    let (directory, command) = placed(command, directory);
    let language = language_of(test.test_file.as_deref()?)?;
    let runner = runner(test, &command)
        .filter(|runner| runner.languages.iter().any(|known| known == language))?;
    let command = one(test, runner, &command, &directory, "")?;
    // Of a file, every failing test is wanted.
    let command = match test.test_name {
        Some(_) => command,
        None => command.trim_end_matches(" -x").to_owned(),
    };
    Some(command + &runner.anew)
}

/// The directory in which the tool of a check starts, relative to the top: where the command runs, or where it goes first
/// (`cd web && npm test`). The paths that the tool prints begin there.
pub fn tool_directory(command: &str, directory: &str) -> String {
    placed(command, directory).0
}

/// The directory in which a check's tool starts, and the command there.
fn placed<'c>(command: &'c str, directory: &str) -> (String, Cow<'c, str>) {
    let (within, command) = own::placed(command);
    let parts = [directory, within.unwrap_or_default()].map(|path| path.trim_matches('/'));
    (
        parts
            .into_iter()
            .filter(|path| !matches!(*path, "" | "."))
            .collect::<Vec<_>>()
            .join("/"),
        command,
    )
}

/// One test, or one file of tests, by its own tool, in the directory in which that ran it, behind what its command does
/// first.
fn one(
    failure: &Failure,
    runner: &Runner,
    command: &str,
    directory: &str,
    before: &str,
) -> Option<String> {
    let typed = without_reports(command);
    let command = typed.as_deref().unwrap_or(command);
    let mut start = Start::of(runner, command);
    let mut directory = directory;
    // Words by which the command itself chooses a package of a workspace.
    let choices = pattern!(
        "^(?:-p|--package|--manifest-path|-C|-f|--file|-pl|--projects|--project-dir|--filter)(?:=|$)"
    );
    let chooses_package = start.words.iter().any(|word| choices.is_match(word));
    let known = failure.directory.as_deref().filter(|_| !chooses_package);
    // Where the runner of the tests did not report it: one that goes through all packages of a workspace.
    let seen = || own::package(command, tool::test_file(failure)?).filter(|_| directory.is_empty());
    if let Some(package) = known.or_else(seen) {
        let inner = package
            .strip_prefix(directory)
            .unwrap_or(package)
            .trim_start_matches('/');
        match runner.tool {
            // Their wrappers stand at the top, and modules need each other built.
            Tool::Maven => {
                let inner = word(inner)?;
                start.options.push_str(&format!(
                    " -pl {inner} -am -Dsurefire.failIfNoSpecifiedTests=false"
                ));
            }
            Tool::Gradle => start.options.push_str(&format!(" -p {}", word(inner)?)),
            // A program that the command names by its path is not found from elsewhere.
            _ if !start.program.contains('/') && before.is_empty() => directory = package,
            _ => {}
        }
    }
    let chosen = select::command(runner, &seen_from(directory, failure), &start)?;
    at(directory, format!("{before}{chosen}"))
}

/// The command in a directory below the top.
fn at(directory: &str, command: String) -> Option<String> {
    match directory {
        "" => Some(command),
        _ => Some(format!("cd {} && {command}", word(directory)?)),
    }
}

/// The failure with the paths that its files have inside a directory.
fn seen_from(directory: &str, failure: &Failure) -> Failure {
    let inside = |file: &str| {
        let inner = file
            .strip_prefix(directory)
            .and_then(|rest| rest.strip_prefix('/'));
        inner
            .filter(|_| !directory.is_empty())
            .unwrap_or(file)
            .to_owned()
    };
    let source = failure.source.clone().map(|source| SourceLocation {
        file: inside(&source.file),
        ..source
    });
    Failure {
        test_file: failure.test_file.as_deref().map(inside),
        source,
        ..failure.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(command: &str, test: &str, file: &str) -> Option<String> {
        let failure = Failure {
            test_name: Some(test.to_owned()),
            test_file: Some(file.to_owned()).filter(|file| !file.is_empty()),
            line_number: Some(12),
            reproduce: Some(ReproduceProof::Proven),
            ..Failure::default()
        };
        reproduce(&failure, command, "")
    }

    #[test]
    fn a_runner_prints_its_sum_where_nothing_filters_it() {
        let table = [
            // Command, whether the sum is seen, whether the status is the runner's.
            ("pytest -v", true, true),
            ("cd api && npx jest", true, true),
            ("pytest | tee log", true, false),
            ("pytest 2>&1 | tee -a log; exit 0", true, false),
            ("go test -v ./... || true", true, false),
            ("pytest -q", false, true),
            ("npx vitest run --reporter=dot", false, true),
            ("pytest | tail -n 3", false, false),
            ("pytest || echo failed", false, false),
            ("npm test", false, false),
            ("make check", false, false),
        ];
        for (command, is_seen, is_own) in table {
            let found = (prints_its_sum(command), ends_as_its_runner(command));
            assert_eq!(found, (is_seen, is_own), "{command}");
        }
    }

    #[test]
    fn a_tool_starts_where_its_command_goes() {
        let table = [
            // Command, where it runs, where the tool starts.
            ("go test ./...", "", ""),
            ("cd server && go test ./...", "", "server"),
            ("cd server && go test ./...", "apps", "apps/server"),
            ("npm --prefix web test", "", "web"),
            ("cd ../other && go test ./...", "", ""),
        ];
        for (command, directory, start) in table {
            assert_eq!(tool_directory(command, directory), start, "{command}");
        }
    }

    #[test]
    fn what_only_writes_a_report_goes_with_its_option() {
        let cases = [
            (
                "phpunit --log-junit \"$LOOPGATE_REPORTS/phpunit.xml\"",
                "phpunit",
            ),
            (
                "phpstan analyse --error-format=x > \"$LOOPGATE_REPORTS/x.xml\"",
                "phpstan analyse --error-format=x",
            ),
            (
                "pytest -q --junitxml=$LOOPGATE_REPORTS/x.xml tests",
                "pytest -q tests",
            ),
            (
                "npm test -- --reporter=junit --outputFile $LOOPGATE_REPORTS/x.xml",
                "npm test",
            ),
        ];
        for (command, typed) in cases {
            assert_eq!(without_reports(command).as_deref(), Some(typed));
        }
    }

    #[test]
    fn a_word_within_another_names_no_tool() {
        let django = run(
            "python -m django test",
            "cart.tests.CartTests.test_total",
            "",
        )
        .unwrap();
        assert!(!django.contains("go test ."), "{django}");
        assert_eq!(
            run("go test ./...", "TestTotal", "cart/cart_test.go").as_deref(),
            Some("go test ./cart -run '^TestTotal$'")
        );
    }

    #[test]
    fn each_framework_has_its_command() {
        let cases = [
            (
                "cargo test",
                "cart::tests::totals",
                "src/cart.rs",
                "cargo test cart::tests::totals",
            ),
            (
                "cargo nextest run",
                "shop::it adds",
                "",
                "cargo nextest run adds",
            ),
            (
                "cargo test",
                "src/cart.rs - cart::total (line 3)",
                "",
                "cargo test --doc cart::total",
            ),
            (
                "pytest -q",
                "test_total[1-2]",
                "tests/test_cart.py",
                "pytest 'tests/test_cart.py::test_total[1-2]' -x",
            ),
            (
                "pytest",
                "tests.test_cart.TestCart::test_total",
                "tests/test_cart.py",
                "pytest tests/test_cart.py::TestCart::test_total -x",
            ),
            (
                "pytest",
                "tests.test_cart test_total[two words]",
                "tests/test_cart.py",
                "pytest 'tests/test_cart.py::test_total[two words]' -x",
            ),
            (
                "pytest",
                "tests.test_cart.TestCart.test_total[1.5]",
                "",
                "pytest 'tests/test_cart.py::TestCart::test_total[1.5]' -x",
            ),
            (
                "python3 manage.py test -v 2",
                "cart.tests.CartTests.test_total",
                "cart/tests.py",
                "python3 manage.py test cart.tests.CartTests.test_total",
            ),
            (
                "python -m unittest",
                "test_cart.Cart.test_total",
                "",
                "python -m unittest test_cart.Cart.test_total",
            ),
            (
                "python -m unittest",
                "test_total (test_cart.Cart) [both] (i=2)",
                "test_cart.py",
                "python -m unittest test_cart.Cart.test_total",
            ),
            (
                "python3 -m unittest discover -s tests -t .",
                "test_total (tests.test_cart.Cart.test_total)",
                "tests/test_cart.py",
                "python3 -m unittest discover -s tests -t . -k tests.test_cart.Cart.test_total",
            ),
            (
                "python3 -m unittest",
                "tests.test_cart.Cart test_each (i=1)",
                "tests/test_cart.py",
                "python3 -m unittest tests.test_cart.Cart.test_each",
            ),
            (
                "python -m django test --settings=ci",
                "test_total (cart.tests.Cart.test_total)",
                "cart/tests.py",
                "python -m django test --settings=ci cart.tests.Cart.test_total",
            ),
            (
                "python tests/test_cart.py",
                "__main__.Cart.test_total",
                "tests/test_cart.py",
                "python tests/test_cart.py",
            ),
            (
                "python -m unittest",
                "__main__.Cart.test_x",
                "tests/test_cart.py",
                "python -m unittest tests.test_cart.Cart.test_x",
            ),
            (
                "cargo test",
                "UTS #46 line 3384",
                "idna/tests/uts46.rs",
                "cargo test --test uts46",
            ),
            (
                "cargo test",
                "UTS #46 line 3384",
                "src/lib.rs",
                "cargo test",
            ),
            (
                "pytest",
                "tests/test_cart.py::test_total",
                "",
                "pytest tests/test_cart.py::test_total -x",
            ),
            (
                "npx vitest run",
                "cart > adds two",
                "test/cart.test.ts",
                "npx vitest run test/cart.test.ts -t 'adds two'",
            ),
            (
                "npm run jest",
                "cart › adds",
                "test/cart.test.ts",
                "npx jest test/cart.test.ts -t adds",
            ),
            (
                "mocha",
                "adds",
                "test/cart.spec.js",
                "mocha test/cart.spec.js -g adds",
            ),
            (
                "go test ./...",
                "TestTotal/empty",
                "cart/cart_test.go",
                "go test ./cart -run '^TestTotal$/^empty$'",
            ),
            (
                "go test ./...",
                "github.com/acme/shop/cart.TestTotal",
                "",
                "go test ./... -run '^TestTotal$'",
            ),
            (
                "mvn -B verify",
                "com.acme.CartTest.total",
                "",
                "mvn -Dtest=CartTest#total test",
            ),
            (
                "./gradlew check",
                "total()",
                "src/test/java/com/acme/CartTest.java",
                "./gradlew test --tests CartTest.total",
            ),
            (
                "gradle test",
                "com.acme.CartTest adds tax",
                "",
                "gradle test --tests 'CartTest.adds tax'",
            ),
            (
                "gradle test",
                "com.acme.CartTest > adds",
                "",
                "gradle test --tests CartTest.adds",
            ),
            (
                "mvn test",
                "com.acme.CartTest.total(int)[1]",
                "",
                "mvn -Dtest=CartTest#total test",
            ),
            (
                "mvn test",
                "com.acme.CartTest total{int, long}[1]",
                "",
                "mvn -Dtest=CartTest#total test",
            ),
            (
                "mvn test",
                "com.acme.CartTest$Tax.adds",
                "",
                "mvn -Dtest='CartTest$Tax#adds' test",
            ),
            (
                "vendor/bin/phpunit",
                "Tests\\CartTest.testTotal with data set #0",
                "",
                "vendor/bin/phpunit --filter testTotal",
            ),
            ("rspec", "Cart adds", "", "rspec -e 'Cart adds'"),
            (
                "dotnet test",
                "Shop.CartTests.Total",
                "",
                "dotnet test --filter FullyQualifiedName~Shop.CartTests.Total",
            ),
            (
                "bundle exec rspec",
                "Cart adds",
                "spec/cart_spec.rb",
                "bundle exec rspec spec/cart_spec.rb:12",
            ),
            (
                "vendor/bin/phpunit",
                "CartTest::testTotal",
                "tests/CartTest.php",
                "vendor/bin/phpunit --filter testTotal tests/CartTest.php",
            ),
            (
                "swift test",
                "ShopTests.CartTests testTotal",
                "",
                "swift test --filter ShopTests.CartTests/testTotal",
            ),
            ("make check", "anything", "", "make check"),
            (
                "node --import tsx --test",
                "cart > adds two",
                "test/cart.test.ts",
                "node --import tsx --test --test-name-pattern '^((cart )?adds )?two$' test/cart.test.ts",
            ),
            (
                "npx playwright test",
                "[chromium] › tests/cart.spec.ts:6:3 › cart › adds two",
                "tests/cart.spec.ts",
                "npx playwright test --project chromium tests/cart.spec.ts -g 'adds two'",
            ),
            (
                "ctest --test-dir build -j 4",
                "adds.two",
                "",
                r"ctest --test-dir build -R '^adds\.two$'",
            ),
            (
                "java -jar lib/junit-platform-console-standalone-1.9.1.jar -cp out --scan-class-path",
                "CartTest > addsTwo()",
                "",
                "java -jar lib/junit-platform-console-standalone-1.9.1.jar -cp out --select-method CartTest#addsTwo",
            ),
            (
                "cargo test --workspace --no-fail-fast",
                "cart::adds",
                "",
                "cargo test --workspace cart::adds",
            ),
            (
                "pytest",
                "",
                "tests/test_cart.py",
                "pytest tests/test_cart.py -x",
            ),
            (
                "vitest",
                "test/a.test.ts",
                "test/a.test.ts",
                "vitest run test/a.test.ts",
            ),
            ("jest", "adds", "/srv/shop/test/a.test.ts", "jest -t adds"),
        ];
        for (command, test, file, expected) in cases {
            assert_eq!(
                run(command, test, file).as_deref(),
                Some(expected),
                "{test}"
            );
        }
    }

    #[test]
    fn options_for_reports_are_ours_and_not_the_readers() {
        for (command, expected) in [
            (
                r#"npm run test -- --json --outputFile="$LOOPGATE_REPORTS/jest.json""#,
                "npm run test",
            ),
            (
                r#"npm run test -- --run --reporter=default --reporter=junit --outputFile.junit="$LOOPGATE_REPORTS/v.xml""#,
                "npm run test -- --run",
            ),
            (
                r#"python -m pytest --junitxml="$LOOPGATE_REPORTS/p.xml" -q"#,
                "python -m pytest -q",
            ),
            (
                r#"yarn run test --reporter xunit --reporter-option output="$LOOPGATE_REPORTS/m.xml""#,
                "yarn run test",
            ),
            ("make check --json", "make check --json"),
        ] {
            assert_eq!(without_reports(command).as_deref(), Some(expected));
        }
    }

    #[test]
    fn in_a_directory_of_its_own() {
        let mut failure = Failure {
            test_name: Some("cart > adds".into()),
            test_file: Some("web/test/cart.test.ts".into()),
            ..Failure::default()
        };
        let there = "cd web && npx vitest run test/cart.test.ts -t adds";
        let in_web = |command, failure: &Failure| reproduce(failure, command, "web/");
        assert_eq!(in_web("npx vitest run", &failure).as_deref(), Some(there));
        let at_top = |command| reproduce(&failure, command, "");
        assert_eq!(at_top("cd web && npx vitest run").as_deref(), Some(there));
        assert_eq!(
            at_top("npm --prefix web run test:vitest").as_deref(),
            Some(there)
        );
        failure.error_type = ErrorType::LintError;
        assert_eq!(
            in_web("npx vitest run", &failure).as_deref(),
            Some("cd web && npx vitest run")
        );
        assert_eq!(
            in_web("cd app && make lint", &failure).as_deref(),
            Some("cd web/app && make lint")
        );
    }

    #[test]
    fn in_a_package_of_a_workspace() {
        let failure = |file: &str| Failure {
            test_name: Some("slug > spaces".into()),
            test_file: Some(file.into()),
            stack_trace: Some("❯ src/slug.test.js:4:20".into()),
            ..Failure::default()
        };
        let told = |command, file| reproduce(&failure(file), command, "");
        let there = Some("cd packages/web && npx vitest run src/slug.test.js -t spaces".to_owned());
        for command in [
            "npm test --workspaces",
            "npm run test -w @acme/web",
            "pnpm -r test",
            "yarn workspaces run test",
        ] {
            assert_eq!(
                told(command, "packages/web/src/slug.test.js"),
                there,
                "{command}"
            );
        }
        let flat = "cd packages/web && npx vitest run slug.test.js -t spaces";
        assert_eq!(
            told("npm test -ws", "packages/web/slug.test.js").as_deref(),
            Some(flat)
        );
        let at_top = Some("npx vitest run src/slug.test.js -t spaces");
        assert_eq!(
            told("npm test --workspaces", "src/slug.test.js").as_deref(),
            at_top
        );
        assert_eq!(told("npm test", "src/slug.test.js").as_deref(), at_top);
    }

    #[test]
    fn a_script_of_a_package_runs_what_its_report_or_its_trace_shows() {
        for (report, trace, expected) in [
            (
                "r.xml",
                "    at Context.<anonymous> (test/cart.js:6:12)",
                "npx mocha test/cart.js -g adds",
            ),
            (
                "r.xml",
                "    at async Context.<anonymous> (test/cart.js:6:12)",
                "npx mocha test/cart.js -g adds",
            ),
            (
                "r.xml",
                "    at UserContext.<anonymous> (test/cart.js:6:12)",
                "npm run test",
            ),
            (
                "jest.json",
                "    at Object.<anonymous> (test/cart.js:6:12)",
                "npx jest test/cart.js -t adds",
            ),
        ] {
            let failure = Failure {
                test_name: Some("adds".into()),
                test_file: Some("test/cart.js".into()),
                stack_trace: Some(trace.into()),
                ..Failure::default()
            };
            let command =
                format!("npm run test -- --reporter-option output=\"$LOOPGATE_REPORTS/{report}\"");
            assert_eq!(
                reproduce(&failure, &command, "").as_deref(),
                Some(expected),
                "{trace}"
            );
        }
    }

    #[test]
    fn in_the_package_whose_test_it_is() {
        let inner = |command: &str, file: &str, test: &str| {
            let failure = Failure {
                test_name: Some(test.into()),
                test_file: Some(file.into()),
                directory: Some("packages/web".into()),
                reproduce: Some(ReproduceProof::Proven),
                ..Failure::default()
            };
            reproduce(&failure, command, "").unwrap()
        };
        let cases = [
            (
                "npx vitest run",
                "packages/web/a.test.ts",
                "cart > adds",
                "cd packages/web && npx vitest run a.test.ts -t adds",
            ),
            (
                "./mvnw -B test",
                "packages/web/src/test/java/ATest.java",
                "a.ATest.adds",
                "./mvnw -pl packages/web -am -Dsurefire.failIfNoSpecifiedTests=false -Dtest=ATest#adds test",
            ),
            (
                "./gradlew test",
                "",
                "a.ATest.adds",
                "./gradlew -p packages/web test --tests ATest.adds",
            ),
            (
                "mvn -pl packages/web test",
                "",
                "a.ATest.adds",
                "mvn -pl packages/web -Dtest=ATest#adds test",
            ),
            (
                "./node_modules/.bin/jest",
                "packages/web/a.test.ts",
                "adds",
                "./node_modules/.bin/jest packages/web/a.test.ts -t adds",
            ),
            (
                "make test",
                "packages/web/a_test.go",
                "TestAdds",
                "make test",
            ),
            (
                "go test ./...",
                "packages/web/a_test.go",
                "TestAdds",
                "cd packages/web && go test ./... -run '^TestAdds$'",
            ),
        ];
        for (command, file, test, expected) in cases {
            assert_eq!(inner(command, file, test), expected, "{command}");
        }
    }

    #[test]
    fn as_the_check_itself_does_it() {
        let cases = [
            (
                "poetry run pytest -q",
                "test_total",
                "tests/test_cart.py",
                "poetry run pytest tests/test_cart.py::test_total -x",
            ),
            (
                "cargo test -p shop --all-features",
                "cart::adds",
                "",
                "cargo test -p shop --all-features cart::adds",
            ),
            (
                "go test -race -tags integration ./...",
                "TestTotal",
                "cart/cart_test.go",
                "go test -race -tags integration ./cart -run '^TestTotal$'",
            ),
            (
                "./gradlew :app:testDebugUnitTest",
                "com.acme.CartTest.total",
                "",
                "./gradlew :app:testDebugUnitTest --tests CartTest.total",
            ),
            (
                "dotnet test src/Shop.Tests -v q",
                "Shop.CartTests.Total",
                "",
                "dotnet test src/Shop.Tests --filter FullyQualifiedName~Shop.CartTests.Total",
            ),
            (
                "python3 backend/manage.py test --settings=ci",
                "cart.tests.Total",
                "",
                "python3 backend/manage.py test --settings=ci cart.tests.Total",
            ),
            // Whatever it runs, it is not shown: a guess from the file's name would be another program.
            (
                "./ci/test.sh",
                "test_total",
                "tests/test_cart.py",
                "./ci/test.sh",
            ),
            (
                "tox -e py312",
                "test_total",
                "tests/test_cart.py",
                "tox -e py312",
            ),
        ];
        for (command, test, file, expected) in cases {
            assert_eq!(
                run(command, test, file).as_deref(),
                Some(expected),
                "{command}"
            );
        }
    }

    #[test]
    fn a_command_is_proven_or_absent() {
        let failure = |proof| Failure {
            test_name: Some("com.acme.CartTest.total".into()),
            reproduce: proof,
            ..Failure::default()
        };
        let told = |proof| reproduce(&failure(proof), "mvn -B test", "").unwrap();
        let (one, own) = ("mvn -Dtest=CartTest#total test", "mvn -B test");
        assert_eq!(told(Some(ReproduceProof::Proven)), one);
        assert_eq!(told(Some(ReproduceProof::Dropped)), own);
        // In a log nothing can be executed, and nobody has shown that Maven chooses so.
        assert_eq!(told(None), own);
        assert_eq!(
            to_prove(&failure(None), "mvn -B test", "").as_deref(),
            Some(one)
        );
        assert_eq!(to_prove(&failure(None), "make check", ""), None);
    }

    #[test]
    fn what_stands_in_front_of_the_tool_stays() {
        for (command, expected) in [
            (
                "cmake -B b && ctest --test-dir b",
                "cmake -B b && ctest --test-dir b -R '^adds$'",
            ),
            ("cd x && make && ctest", "cd x && make && ctest -R '^adds$'"),
            ("ctest 2>&1 | tee log", "ctest -R '^adds$'"),
            ("ctest --test-dir b > log", "ctest --test-dir b -R '^adds$'"),
            ("ctest || true", "ctest || true"),
            ("ctest; echo done", "ctest; echo done"),
        ] {
            assert_eq!(run(command, "adds", "").as_deref(), Some(expected));
        }
    }

    #[test]
    fn what_is_no_name_of_pytest_s_is_not_chosen() {
        for name in [
            "coverage: platform linux, python 3.11.7-final-0",
            "shop.total",
        ] {
            assert_eq!(run("pytest -q", name, "").as_deref(), Some("pytest -q"));
        }
        assert_eq!(
            run("pytest", "test_doubles[double] (i=2)", "test_sub.py").as_deref(),
            Some("pytest test_sub.py::test_doubles -x")
        );
    }

    #[test]
    fn names_cannot_leave_their_word() {
        assert_eq!(
            run("npx vitest run", "a'; rm -rf ~ #", "").as_deref(),
            Some(r"npx vitest run -t 'a'\''; rm -rf ~ #'")
        );
        assert_eq!(
            run("npx vitest run", "$(id) `id` \"", "").as_deref(),
            Some("npx vitest run -t '\\$\\(id\\) `id` \"'")
        );
        // An option or a second line: the check's own command instead.
        assert_eq!(
            run("cargo test", "--config=x", "").as_deref(),
            Some("cargo test")
        );
        assert_eq!(
            run("cargo test", "a\nrm -rf ~", "").as_deref(),
            Some("cargo test")
        );
    }
}
