//! The command that runs a check's failing tests once more, and only them as far as its tool allows.
//!
//! It is the check's own command with the tool's own filter behind it, so that it runs in the same way and reports in
//! the same place. Where the filter misses, the run shows nothing of the tests, and nothing follows from it.

use std::collections::BTreeSet;

use super::{
    names::{class_and_method, dotted, is_of_libtest, leaf, of_go, pattern, without_binary, word},
    own::placed,
    select::node_pattern,
    tool::{is_program, is_simple, runner},
};
use crate::{
    evidence::Failure,
    policy::REPORTS_VARIABLE,
    source_files::{Runner, Tool},
};

/// The command line; none for a tool or a command line that nothing can simply be put behind.
pub fn rerun(command: &str, failures: &[Failure]) -> Option<String> {
    let command = command.trim();
    if let (Some(directory), there) = placed(command)
        && command.starts_with("cd ")
    {
        return Some(format!("cd {directory} && {}", rerun(&there, failures)?));
    }
    // The directory for reports is a new one for each run.
    let fixed = command.replace(&format!("${REPORTS_VARIABLE}/"), "");
    if failures.is_empty() || !is_simple(&fixed) {
        return None;
    }
    let names: Vec<&str> = failures
        .iter()
        .map(|failure| failure.test_name.as_deref().map(str::trim))
        .collect::<Option<_>>()?;
    let words: Vec<&str> = command.split_whitespace().collect();
    let runner = runner(failures.first()?, command)?;
    let dotted = || -> Option<BTreeSet<String>> {
        failures
            .iter()
            .zip(&names)
            .map(|(failure, name)| dotted(name, failure.test_file.as_deref()))
            .collect()
    };
    let behind = match runner.tool {
        Tool::Cargo if words.contains(&"nextest") => {
            let chosen = |name: &&str| {
                word(without_binary(name)).map(|_| format!("test(={})", without_binary(name)))
            };
            format!(
                "-E {}",
                word(
                    &names
                        .iter()
                        .map(chosen)
                        .collect::<Option<Vec<_>>>()?
                        .join(" + ")
                )?
            )
        }
        // Another harness than Rust's own takes none of these options.
        Tool::Cargo if !names.iter().all(|name| is_of_libtest(name)) => return None,
        Tool::Cargo => {
            let dashes = if words.contains(&"--") { "" } else { "-- " };
            format!("{dashes}--exact {}", quoted(&names)?)
        }
        // pytest remembers by itself what failed, whatever paths and options the command has.
        Tool::Pytest => "--lf --lfnf=none".to_owned(),
        Tool::Unittest if words.contains(&"discover") => dotted()?
            .iter()
            .map(|name| format!("-k '*{name}'"))
            .collect::<Vec<_>>()
            .join(" "),
        Tool::NodeTest => return of_node_test(command, runner, &names),
        Tool::Django | Tool::Unittest => {
            let is_module = |word: &&str| !word.starts_with('-');
            let behind = words
                .iter()
                .position(|word| *word == "unittest")
                .map_or(words.len(), |at| at + 1);
            let (start, options) = words.split_at(behind);
            if options.iter().any(is_module) {
                // What it names would run as a whole beside the tests.
                let kept = start
                    .iter()
                    .chain(options.iter().filter(|word| !is_module(word)))
                    .copied();
                return rerun(&kept.collect::<Vec<_>>().join(" "), failures);
            }
            quoted(&dotted()?.iter().map(String::as_str).collect::<Vec<_>>())?
        }
        Tool::Jest | Tool::Vitest | Tool::Mocha | Tool::Playwright => {
            // npm keeps options to itself unless they come after two dashes.
            let dashes = if words.first() == Some(&"npm") && !words.contains(&"--") {
                "-- "
            } else {
                ""
            };
            let option = if matches!(runner.tool, Tool::Jest | Tool::Vitest) {
                "-t"
            } else {
                "-g"
            };
            let each: Vec<String> = names.iter().map(|name| pattern(leaf(name))).collect();
            let any = each
                .iter()
                .all(|one| !one.is_empty())
                .then(|| each.join("|"))?;
            format!("{dashes}{option} {}", word(&any)?)
        }
        Tool::Go => {
            let top = |name: &&'_ str| {
                let top = of_go(name)?.split('/').next()?;
                top.chars()
                    .all(|c| c.is_alphanumeric() || c == '_')
                    .then(|| top.to_owned())
            };
            let tops: BTreeSet<String> = names.iter().map(top).collect::<Option<_>>()?;
            format!(
                "-count=1 -v -run {}",
                word(&format!("^({})$", Vec::from_iter(tops).join("|")))?
            )
        }
        Tool::Maven => {
            let each = failures.iter().zip(&names);
            let each = each
                .map(|(failure, name)| class_and_method(name, failure.test_file.as_deref(), '#'));
            let chosen = word(&each.collect::<Option<Vec<_>>>()?.join(","))?;
            format!("-Dtest={chosen} -Dsurefire.failIfNoSpecifiedTests=false")
        }
        Tool::Gradle
        | Tool::Dotnet
        | Tool::Rspec
        | Tool::Phpunit
        | Tool::Swift
        | Tool::Ctest
        | Tool::Gtest
        | Tool::JunitConsole
        | Tool::Trial => return None,
    };
    Some(format!("{command} {behind}"))
}

/// Behind the name of a file, options are the file's. A file in which nothing was chosen is a test that passed: only a
/// reporter whose tests are read by name shows that it was the test.
fn of_node_test(command: &str, runner: &Runner, names: &[&str]) -> Option<String> {
    if !pattern!(r"--test-reporter[= ](?:tap|junit)\b").is_match(command) {
        return None;
    }
    let option = |name: &&str| {
        Some(format!(
            " --test-name-pattern {}",
            word(&node_pattern(name)?)?
        ))
    };
    let chosen: String = names.iter().map(option).collect::<Option<_>>()?;
    let mut words = command.split_whitespace();
    let node = words.find(|word| is_program(runner, word))?;
    Some(command.replacen(node, &format!("{node}{chosen}"), 1))
}

fn quoted(names: &[&str]) -> Option<String> {
    let words: Option<Vec<String>> = names.iter().map(|name| word(name)).collect();
    Some(words?.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(command: &str, tests: &[&str]) -> Option<String> {
        let failures: Vec<Failure> = tests
            .iter()
            .map(|test| Failure {
                test_name: Some((*test).to_owned()),
                ..Failure::default()
            })
            .collect();
        rerun(command, &failures)
    }

    #[test]
    fn each_tool_has_its_filter() {
        let table: [(&str, &[&str], Option<&str>); 25] = [
            ("cargo test", &["a::b", "UTS #46 line 3384"], None),
            (
                "python manage.py test",
                &[
                    "test_b (shop.tests.A.test_b) (i=1)",
                    "test_b (shop.tests.A.test_b) (i=2)",
                ],
                Some("python manage.py test shop.tests.A.test_b"),
            ),
            (
                "cargo test --no-fail-fast",
                &["a::b", "c"],
                Some("cargo test --no-fail-fast -- --exact a::b c"),
            ),
            (
                "cargo test -- --test-threads 1",
                &["a"],
                Some("cargo test -- --test-threads 1 --exact a"),
            ),
            (
                "cargo test",
                &["src/a.rs - add (line 3)"],
                Some("cargo test -- --exact 'src/a.rs - add (line 3)'"),
            ),
            (
                "cargo nextest run",
                &["shop::it adds", "shop::it mod::b"],
                Some("cargo nextest run -E 'test(=adds) + test(=mod::b)'"),
            ),
            (
                "python -m pytest tests",
                &["tests.a.test_b"],
                Some("python -m pytest tests --lf --lfnf=none"),
            ),
            (
                "npx jest",
                &["cart › adds", "b (c)"],
                Some("npx jest -t 'adds|b \\(c\\)'"),
            ),
            (
                "npm run test:jest",
                &["adds"],
                Some("npm run test:jest -- -t adds"),
            ),
            (
                "npx vitest run",
                &["cart > adds"],
                Some("npx vitest run -t adds"),
            ),
            (
                "go test -json ./...",
                &["TestA/x", "TestA/y", "p.TestB"],
                Some("go test -json ./... -count=1 -v -run '^(TestA|TestB)$'"),
            ),
            (
                "mvn -B test",
                &["com.acme.CartTest.adds"],
                Some("mvn -B test -Dtest=CartTest#adds -Dsurefire.failIfNoSpecifiedTests=false"),
            ),
            (
                "cd api && go test ./...",
                &["TestA"],
                Some("cd api && go test ./... -count=1 -v -run '^(TestA)$'"),
            ),
            (
                "python3 -m unittest discover -s tests",
                &["test_b (test_cart.Cart.test_b)"],
                Some("python3 -m unittest discover -s tests -k '*test_cart.Cart.test_b'"),
            ),
            (
                "python3 -m unittest -v test_cart",
                &["test_b (test_cart.Cart.test_b)"],
                Some("python3 -m unittest -v test_cart.Cart.test_b"),
            ),
            (
                "python3 -m unittest -v",
                &["test_b (tests.test_cart.Cart)"],
                Some("python3 -m unittest -v tests.test_cart.Cart.test_b"),
            ),
            ("node --import tsx --test test/", &["adds"], None),
            ("node --test --test-reporter=spec test/", &["adds"], None),
            (
                "node --import tsx --test --test-reporter=tap test/",
                &["adds", "cart > drops (all)"],
                Some(
                    "node --test-name-pattern '^adds$' --test-name-pattern '^((cart )?drops )?\\(all\\)$' --import tsx \
                     --test --test-reporter=tap test/",
                ),
            ),
            ("cargo test && true", &["a"], None),
            ("cargo test | tee log", &["a"], None),
            ("make check", &["a"], None),
            ("cargo test", &["--help"], None),
            ("cargo test", &["a\nb"], None),
            ("cargo test", &[], None),
        ];
        for (command, tests, expected) in table {
            assert_eq!(run(command, tests).as_deref(), expected, "{command}");
        }
        assert_eq!(
            run("npx jest", &["a'; rm -rf ~"]).as_deref(),
            Some(r"npx jest -t 'a'\''; rm -rf ~'")
        );
    }
}
