//! The smallest command that shows a failure again.
//!
//! People and agents paste these lines into a shell, and the names in them come from the pull request. A name is
//! quoted so that no shell reads anything into it; one that cannot be quoted yields no command.

use super::{fingerprint::without_case, paths, text};
use crate::core::{
    CheckName,
    evidence::{CheckKind, ErrorType, Failure, TestFramework},
    policy::REPORTS_VARIABLE,
};

/// The check a failure belongs to, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub struct CheckContext<'a> {
    pub name: &'a CheckName,
    pub kind: CheckKind,
    pub framework: Option<TestFramework>,
    /// The configured command line, `cargo test --workspace`.
    pub command: Option<&'a str>,
    /// Where it runs, relative to the top of the repository; none for the top.
    pub directory: Option<&'a str>,
}

/// How the tests of a failure are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    Cargo,
    Pytest,
    /// `manage.py test`
    Django,
    Unittest,
    Vitest,
    Jest,
    Mocha,
    Go,
    Maven,
    Gradle,
    Dotnet,
    Rspec,
    Phpunit,
    Swift,
}

/// The command that runs this one failure again, from the top of the repository; without a better one, the check's own.
pub fn reproduce(failure: &Failure, check: Option<&CheckContext<'_>>) -> Option<String> {
    let directory =
        check.and_then(|check| check.directory).map(|path| path.trim_matches('/')).filter(|path| *path != ".");
    let Some(directory) = directory.filter(|path| !path.is_empty()) else { return in_place(failure, check) };
    let inside = |file: &String| {
        let inner = file.strip_prefix(directory).and_then(|rest| rest.strip_prefix('/'));
        inner.map_or_else(|| file.clone(), str::to_owned)
    };
    let mut failure = failure.clone();
    failure.test_file = failure.test_file.as_ref().map(inside);
    if let Some(source) = &mut failure.source {
        source.file = inside(&source.file);
    }
    Some(format!("cd {} && {}", word(directory)?, in_place(&failure, check)?))
}

fn in_place(failure: &Failure, check: Option<&CheckContext<'_>>) -> Option<String> {
    let command = check.and_then(|check| check.command).map(without_reports);
    let whole = || command.map(|command| text::one_line(&command, 300)).filter(|command| !command.is_empty());
    match failure.error_type {
        ErrorType::LintError | ErrorType::CompileError => whole().or_else(|| of_source(failure)),
        _ => tool(failure, check)
            .and_then(|tool| of_test(tool, failure).or_else(|| of_file(tool, failure)))
            .or_else(whole),
    }
}

/// The command as a person types it: without the options that only make it write a report for Loopgate.
fn without_reports(command: &str) -> String {
    if !command.contains(REPORTS_VARIABLE) {
        return command.to_owned();
    }
    const ONLY_FOR_REPORTS: [&str; 7] = [
        "--json",
        "--format=json",
        "--reporter=default",
        "--reporter=junit",
        "--reporter",
        "xunit",
        "--reporter-option",
    ];
    let kept = |word: &&str| !word.contains(REPORTS_VARIABLE) && !ONLY_FOR_REPORTS.contains(word);
    let words: Vec<&str> = command.split_whitespace().filter(kept).collect();
    words.strip_suffix(&["--"]).unwrap_or(&words).join(" ")
}

pub(super) fn tool(failure: &Failure, check: Option<&CheckContext<'_>>) -> Option<Tool> {
    let command = check.and_then(|check| check.command).unwrap_or_default();
    const WORDS: [(&str, Tool); 14] = [
        ("vitest", Tool::Vitest),
        ("jest", Tool::Jest),
        ("mocha", Tool::Mocha),
        ("pytest", Tool::Pytest),
        ("manage.py test", Tool::Django),
        ("-m unittest", Tool::Unittest),
        ("cargo", Tool::Cargo),
        ("go test", Tool::Go),
        ("gradle", Tool::Gradle),
        ("mvn", Tool::Maven),
        ("dotnet", Tool::Dotnet),
        ("rspec", Tool::Rspec),
        ("phpunit", Tool::Phpunit),
        ("swift test", Tool::Swift),
    ];
    let named = WORDS.iter().find(|(word, _)| command.contains(word)).map(|(_, tool)| *tool);
    named
        .or_else(|| match check.and_then(|check| check.framework)? {
            TestFramework::Jest => Some(Tool::Jest),
            TestFramework::Vitest => Some(Tool::Vitest),
            TestFramework::Pytest => Some(Tool::Pytest),
            TestFramework::GoTest => Some(Tool::Go),
            TestFramework::CargoTest => Some(Tool::Cargo),
            TestFramework::Mocha => Some(Tool::Mocha),
            TestFramework::Junit => Some(Tool::Maven),
            TestFramework::Other => None,
        })
        .or_else(|| by_traces(failure))
}

/// The runner, told by the files and words of the failure itself.
fn by_traces(failure: &Failure) -> Option<Tool> {
    let trace = failure.stack_trace.as_deref().map_or("", |trace| text::prefix(trace, 16 * 1024));
    let file = printed_file(failure)?;
    match paths::file_name(file).rsplit_once('.')?.1 {
        "rs" => Some(Tool::Cargo),
        "py" => Some(Tool::Pytest),
        "go" => Some(Tool::Go),
        "rb" => Some(Tool::Rspec),
        "cs" | "fs" => Some(Tool::Dotnet),
        "php" => Some(Tool::Phpunit),
        "swift" => Some(Tool::Swift),
        "kt" | "kts" => Some(Tool::Gradle),
        "java" => Some(if trace.contains("org.gradle") { Tool::Gradle } else { Tool::Maven }),
        _ if trace.contains("vitest") || trace.contains('❯') => Some(Tool::Vitest),
        _ if trace.contains("mocha") => Some(Tool::Mocha),
        _ if trace.contains("jest") => Some(Tool::Jest),
        _ => None,
    }
}

fn printed_file(failure: &Failure) -> Option<&str> {
    failure.test_file.as_deref().or_else(|| failure.source.as_ref().map(|source| source.file.as_str()))
}

/// The file of the test. An absolute path holds on one machine only.
fn test_file(failure: &Failure) -> Option<&str> {
    printed_file(failure).filter(|file| !paths::is_absolute(file))
}

fn of_test(tool: Tool, failure: &Failure) -> Option<String> {
    let name = failure.test_name.as_deref().map(str::trim)?;
    if name.is_empty() || Some(name) == failure.test_file.as_deref() {
        return None;
    }
    let file = test_file(failure).map(paths::tidy).filter(|file| paths::is_test(file));
    let file = file.as_deref();
    let in_file = file.and_then(word).map_or_else(String::new, |file| format!(" {file}"));
    match tool {
        Tool::Cargo => cargo(name),
        Tool::Pytest => pytest(name, file),
        Tool::Django => Some(format!("python manage.py test {}", word(name)?)),
        Tool::Unittest => Some(format!("python -m unittest {}", word(name)?)),
        Tool::Vitest => Some(format!("npx vitest run{in_file} -t {}", word(&pattern(leaf(name)))?)),
        Tool::Jest => Some(format!("npx jest{in_file} -t {}", word(&pattern(leaf(name)))?)),
        Tool::Mocha => Some(format!("npx mocha{in_file} -g {}", word(&pattern(leaf(name)))?)),
        Tool::Go => go(name, file),
        Tool::Maven => Some(format!("mvn -Dtest={} test", word(&class_and_method(name, file, '#')?)?)),
        Tool::Gradle => Some(format!("./gradlew test --tests {}", word(&class_and_method(name, file, '.')?)?)),
        Tool::Dotnet => {
            Some(format!("dotnet test --filter {}", word(&format!("FullyQualifiedName~{}", without_case(name)))?))
        }
        Tool::Rspec => match (file, failure.line_number) {
            (Some(file), Some(line)) => Some(format!("bundle exec rspec {}", word(&format!("{file}:{line}"))?)),
            _ => Some(format!("bundle exec rspec{in_file} -e {}", word(name)?)),
        },
        Tool::Phpunit => {
            let method = without_case(name).split(" with data set").next().unwrap_or(name);
            let method = method.rsplit([':', '.', '\\']).next().unwrap_or(method);
            Some(format!("vendor/bin/phpunit --filter {}{in_file}", word(method)?))
        }
        Tool::Swift => Some(format!("swift test --filter {}", word(&name.replace(' ', "/"))?)),
    }
}

/// All tests of the file, for a failure that stopped it before any test had a name.
fn of_file(tool: Tool, failure: &Failure) -> Option<String> {
    let file = word(&test_file(failure).map(paths::tidy).filter(|file| paths::is_test(file))?)?;
    match tool {
        Tool::Pytest => Some(format!("pytest {file} -x")),
        Tool::Vitest => Some(format!("npx vitest run {file}")),
        Tool::Jest => Some(format!("npx jest {file}")),
        Tool::Mocha => Some(format!("npx mocha {file}")),
        Tool::Rspec => Some(format!("bundle exec rspec {file}")),
        Tool::Phpunit => Some(format!("vendor/bin/phpunit {file}")),
        Tool::Cargo
        | Tool::Django
        | Tool::Unittest
        | Tool::Go
        | Tool::Maven
        | Tool::Gradle
        | Tool::Dotnet
        | Tool::Swift => None,
    }
}

/// `cargo test cart::tests::adds`, also from nextest's `shop::bin/shop cart::tests::adds`.
fn cargo(name: &str) -> Option<String> {
    // `src/lib.rs - cart::total (line 3)`
    if let Some((_, item)) = name.split_once(" - ").filter(|_| name.contains("(line ")) {
        let item = item.split(" (line").next().unwrap_or(item);
        return Some(format!("cargo test --doc {}", word(item)?));
    }
    let test = name.split_once(' ').filter(|(binary, _)| binary.contains("::")).map_or(name, |(_, test)| test);
    Some(format!("cargo test {}", word(test)?))
}

/// `tests/test_cart.py::TestCart::test_total`, also from JUnit's `tests.test_cart.TestCart.test_total`.
fn pytest(name: &str, file: Option<&str>) -> Option<String> {
    if name.contains(".py::") {
        return Some(format!("pytest {} -x", word(name)?));
    }
    let (name, case) = name.split_at(without_case(name).len());
    let parts: Vec<&str> = name.split("::").flat_map(|part| part.split('.')).filter(|part| !part.is_empty()).collect();
    let (function, before) = parts.split_last()?;
    // Modules come first; classes begin with a capital letter.
    let is_class = |part: &&&str| part.starts_with(|c: char| c.is_ascii_uppercase());
    let classes: Vec<&str> = before.iter().filter(is_class).copied().collect();
    let file = match file {
        Some(file) => file.to_owned(),
        None => {
            let modules: Vec<&str> = before.iter().take_while(|part| !is_class(part)).copied().collect();
            if modules.is_empty() {
                return None;
            }
            format!("{}.py", modules.join("/"))
        }
    };
    let selected: String = classes.iter().map(|class| format!("::{class}")).collect();
    Some(format!("pytest {} -x", word(&format!("{file}{selected}::{function}{case}"))?))
}

/// `go test ./cart -run '^TestTotal$/^empty$'`
fn go(name: &str, file: Option<&str>) -> Option<String> {
    // Reports put the package in front: `github.com/acme/shop/cart.TestTotal/empty`.
    let start = ["Test", "Example", "Fuzz", "Benchmark"].iter().filter_map(|prefix| name.find(prefix)).min()?;
    let pattern: Vec<String> = name[start..].split('/').map(|part| format!("^{}$", regex::escape(part))).collect();
    let directory = file.and_then(|file| file.rsplit_once('/')).map(|(directory, _)| format!("./{directory}"));
    Some(format!("go test {} -run {}", word(directory.as_deref().unwrap_or("./..."))?, word(&pattern.join("/"))?))
}

/// `CartTest#total`, from `com.acme.CartTest.total`, `com.acme.CartTest adds tax`, or `total()` and the test's file.
pub(super) fn class_and_method(name: &str, file: Option<&str>, between: char) -> Option<String> {
    let name = without_case(name);
    let last = |class: &str| class.rsplit(['.', '$']).next().unwrap_or(class).to_owned();
    let (class, method) = match name.split_once(' ') {
        Some((class, method)) if class.contains('.') => (last(class), method.to_owned()),
        Some(_) => (class_of(file)?, name.to_owned()),
        None => {
            let name = name.split('(').next().unwrap_or(name).replace("::", ".").replace('#', ".");
            match name.rsplit_once('.') {
                Some((class, method)) => (last(class), method.to_owned()),
                None => (class_of(file)?, name),
            }
        }
    };
    Some(format!("{class}{between}{method}"))
}

fn class_of(file: Option<&str>) -> Option<String> {
    paths::file_name(file?).split('.').next().map(str::to_owned)
}

/// The innermost part of a test's name with its suites: `cart > totals > adds`, `cart › adds`.
pub(super) fn leaf(name: &str) -> &str {
    name.rsplit(['>', '›', '»']).next().unwrap_or(name).trim()
}

/// A JavaScript regular expression that finds exactly `name`: that is what these runners select tests by.
pub(super) fn pattern(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        if r".*+?^${}()|[]\/".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Compilers and linters without a configured command.
fn of_source(failure: &Failure) -> Option<String> {
    let file = test_file(failure)?;
    let tidy = paths::tidy(file);
    let lints = failure.error_type == ErrorType::LintError;
    match (paths::file_name(file).rsplit_once('.')?.1, lints) {
        ("rs", true) if failure.error_class.as_deref().is_some_and(|class| class.starts_with("clippy")) => {
            Some("cargo clippy --all-targets".to_owned())
        }
        ("rs", _) => Some("cargo check --all-targets".to_owned()),
        ("ts" | "tsx" | "mts", false) => Some("npx tsc --noEmit".to_owned()),
        ("ts" | "tsx" | "mts" | "js" | "jsx" | "mjs" | "cjs" | "vue", true) => {
            Some(format!("npx eslint {}", word(&tidy)?))
        }
        ("py", true) => Some(format!("ruff check {}", word(&tidy)?)),
        ("py", false) => Some(format!("python -m py_compile {}", word(&tidy)?)),
        ("go", _) => {
            let directory = tidy.rsplit_once('/').map_or(".".to_owned(), |(directory, _)| format!("./{directory}"));
            Some(format!("go {} {}", if lints { "vet" } else { "build" }, word(&directory)?))
        }
        _ => None,
    }
}

/// A text as one word of a POSIX shell; none where no quoting makes it a harmless one.
pub fn quoted_word(text: &str) -> Option<String> {
    word(text)
}

/// One word of a POSIX shell. None for what is empty, too long, holds a control character, or reads as an option.
pub(super) fn word(text: &str) -> Option<String> {
    let odd = text.is_empty() || text.len() > 300 || text.starts_with('-') || text.chars().any(char::is_control);
    if odd {
        return None;
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./:=@%+,-~#".contains(c);
    // Only at the start of a word do `~` and `=` expand and `#` begin a comment.
    if text.chars().all(plain) && !text.starts_with(['~', '#', '=']) {
        Some(text.to_owned())
    } else {
        Some(format!("'{}'", text.replace('\'', r"'\''")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(command: &str, test: &str, file: &str) -> Option<String> {
        let name: CheckName = "unit".parse().unwrap();
        let check = CheckContext {
            name: &name,
            kind: CheckKind::Test,
            framework: None,
            command: Some(command),
            directory: None,
        };
        let failure = Failure {
            test_name: Some(test.to_owned()),
            test_file: Some(file.to_owned()).filter(|file| !file.is_empty()),
            line_number: Some(12),
            ..Failure::default()
        };
        reproduce(&failure, Some(&check))
    }

    #[test]
    fn each_framework_has_its_command() {
        let cases = [
            ("cargo test", "cart::tests::totals", "src/cart.rs", "cargo test cart::tests::totals"),
            ("cargo nextest run", "shop::it adds", "", "cargo test adds"),
            ("cargo test", "src/cart.rs - cart::total (line 3)", "", "cargo test --doc cart::total"),
            ("pytest -q", "test_total[1-2]", "tests/test_cart.py", "pytest 'tests/test_cart.py::test_total[1-2]' -x"),
            (
                "pytest",
                "tests.test_cart.TestCart::test_total",
                "tests/test_cart.py",
                "pytest tests/test_cart.py::TestCart::test_total -x",
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
                "python manage.py test cart.tests.CartTests.test_total",
            ),
            ("python -m unittest", "test_cart.Cart.test_total", "", "python -m unittest test_cart.Cart.test_total"),
            ("pytest", "tests/test_cart.py::test_total", "", "pytest tests/test_cart.py::test_total -x"),
            (
                "npx vitest run",
                "cart > adds two",
                "test/cart.test.ts",
                "npx vitest run test/cart.test.ts -t 'adds two'",
            ),
            ("npm run jest", "cart › adds", "test/cart.test.ts", "npx jest test/cart.test.ts -t adds"),
            ("mocha", "adds", "test/cart.spec.js", "npx mocha test/cart.spec.js -g adds"),
            ("go test ./...", "TestTotal/empty", "cart/cart_test.go", "go test ./cart -run '^TestTotal$/^empty$'"),
            ("go test ./...", "github.com/acme/shop/cart.TestTotal", "", "go test ./... -run '^TestTotal$'"),
            ("mvn -B verify", "com.acme.CartTest.total", "", "mvn -Dtest=CartTest#total test"),
            (
                "./gradlew check",
                "total()",
                "src/test/java/com/acme/CartTest.java",
                "./gradlew test --tests CartTest.total",
            ),
            ("gradle test", "com.acme.CartTest adds tax", "", "./gradlew test --tests 'CartTest.adds tax'"),
            ("mvn test", "com.acme.CartTest.total(int)[1]", "", "mvn -Dtest=CartTest#total test"),
            (
                "vendor/bin/phpunit",
                "Tests\\CartTest.testTotal with data set #0",
                "",
                "vendor/bin/phpunit --filter testTotal",
            ),
            ("rspec", "Cart adds", "", "bundle exec rspec -e 'Cart adds'"),
            ("dotnet test", "Shop.CartTests.Total", "", "dotnet test --filter FullyQualifiedName~Shop.CartTests.Total"),
            ("bundle exec rspec", "Cart adds", "spec/cart_spec.rb", "bundle exec rspec spec/cart_spec.rb:12"),
            (
                "vendor/bin/phpunit",
                "CartTest::testTotal",
                "tests/CartTest.php",
                "vendor/bin/phpunit --filter testTotal tests/CartTest.php",
            ),
            ("swift test", "ShopTests.CartTests testTotal", "", "swift test --filter ShopTests.CartTests/testTotal"),
            ("make check", "anything", "", "make check"),
            ("pytest", "", "tests/test_cart.py", "pytest tests/test_cart.py -x"),
            ("vitest", "test/a.test.ts", "test/a.test.ts", "npx vitest run test/a.test.ts"),
            ("jest", "adds", "/srv/shop/test/a.test.ts", "npx jest -t adds"),
        ];
        for (command, test, file, expected) in cases {
            assert_eq!(run(command, test, file).as_deref(), Some(expected), "{test}");
        }
    }

    #[test]
    fn options_for_reports_are_ours_and_not_the_readers() {
        for (command, expected) in [
            (r#"npm run test -- --json --outputFile="$LOOPGATE_REPORTS/jest.json""#, "npm run test"),
            (
                r#"npm run test -- --run --reporter=default --reporter=junit --outputFile.junit="$LOOPGATE_REPORTS/v.xml""#,
                "npm run test -- --run",
            ),
            (r#"python -m pytest --junitxml="$LOOPGATE_REPORTS/p.xml" -q"#, "python -m pytest -q"),
            (r#"yarn run test --reporter xunit --reporter-option output="$LOOPGATE_REPORTS/m.xml""#, "yarn run test"),
            ("make check --json", "make check --json"),
        ] {
            assert_eq!(without_reports(command), expected);
        }
    }

    #[test]
    fn in_a_directory_of_its_own() {
        let name: CheckName = "web/test".parse().unwrap();
        let check = CheckContext {
            name: &name,
            kind: CheckKind::Test,
            framework: None,
            command: Some("npx vitest run"),
            directory: Some("web"),
        };
        let mut failure = Failure {
            test_name: Some("cart > adds".into()),
            test_file: Some("web/test/cart.test.ts".into()),
            ..Failure::default()
        };
        let command = |failure: &Failure| reproduce(failure, Some(&check));
        assert_eq!(command(&failure).as_deref(), Some("cd web && npx vitest run test/cart.test.ts -t adds"));
        failure.error_type = ErrorType::LintError;
        assert_eq!(command(&failure).as_deref(), Some("cd web && npx vitest run"));
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
        assert_eq!(run("cargo test", "--config=x", "").as_deref(), Some("cargo test"));
        assert_eq!(run("cargo test", "a\nrm -rf ~", "").as_deref(), Some("cargo test"));
    }

    proptest::proptest! {
        #[test]
        fn a_word_stays_one(text in any_text()) {
            if let Some(word) = word(&text) {
                let inner = word.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
                match inner {
                    Some(inner) => proptest::prop_assert!(!inner.replace(r"'\''", "").contains('\'')),
                    None => proptest::prop_assert!(!word.contains([' ', '\'', '"', '`', '$', ';', '&', '|', '<', '>', '(', ')', '*', '?', '\\', '!'])),
                }
            }
        }
    }

    fn any_text() -> impl proptest::strategy::Strategy<Value = String> {
        "[ -~\\n]{0,40}"
    }
}
