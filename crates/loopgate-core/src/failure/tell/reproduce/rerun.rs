//! The command that runs a check's failing tests once more, and only them as far as its tool allows.
//!
//! It is the check's own command with the tool's own filter behind it, so that it runs in the same way and reports in
//! the same place. Where the filter misses, the run says nothing of the tests, and nothing follows from it.

use std::collections::BTreeSet;

use super::{
    check::CheckContext,
    names::{class_and_method, dotted, is_of_libtest, leaf, pattern},
    own::{is_simple, placed},
    select::node_pattern,
    tool::{is_program, runner},
    word::word,
};
use crate::{evidence::Failure, policy::REPORTS_VARIABLE, source_files::Tool};

/// The command line; none for a tool or a command line that nothing can simply be put behind.
pub fn rerun(command: &str, failures: &[Failure], check: &CheckContext<'_>) -> Option<String> {
    let command = command.trim();
    if let (Some(directory), there) = placed(command)
        && command.starts_with("cd ")
    {
        return Some(format!("cd {directory} && {}", rerun(&there, failures, check)?));
    }
    // The directory for reports is a new one for each run.
    let fixed = command.replace(&format!("${REPORTS_VARIABLE}/"), "");
    if failures.is_empty() || !is_simple(&fixed) {
        return None;
    }
    let names: Vec<&str> =
        failures.iter().map(|failure| failure.test_name.as_deref().map(str::trim)).collect::<Option<_>>()?;
    let words: Vec<&str> = command.split_whitespace().collect();
    let runner = runner(failures.first()?, Some(check))?;
    let behind = match runner.tool {
        Tool::Cargo if words.contains(&"nextest") => {
            let each = names
                .iter()
                .map(|name| word(binary_and_test(name)).map(|_| format!("test(={})", binary_and_test(name))));
            format!("-E {}", word(&each.collect::<Option<Vec<_>>>()?.join(" + "))?)
        }
        // Another harness than Rust's own takes none of these options.
        Tool::Cargo if !names.iter().all(|name| is_of_libtest(name)) => return None,
        Tool::Cargo => {
            let dashes = if words.contains(&"--") { "" } else { "-- " };
            format!("{dashes}--exact {}", quoted(&names)?)
        }
        // pytest remembers by itself what failed, whatever paths and options the command has.
        Tool::Pytest => "--lf --lfnf=none".to_owned(),
        Tool::Unittest if words.contains(&"discover") => {
            let each = failures.iter().zip(&names).map(|(failure, name)| dotted(name, failure.test_file.as_deref()));
            let each: BTreeSet<String> = each.collect::<Option<_>>()?;
            each.iter().map(|name| format!("-k '*{name}'")).collect::<Vec<_>>().join(" ")
        }
        // Behind the name of a file, options are the file's.
        Tool::NodeTest => {
            let each: Option<Vec<String>> = names.iter().map(|name| word(&node_pattern(name)?)).collect();
            let chosen: String = each?.iter().map(|name| format!(" --test-name-pattern {name}")).collect();
            let node = words.iter().find(|word| is_program(runner, word))?;
            return Some(command.replacen(node, &format!("{node}{chosen}"), 1));
        }
        Tool::Django | Tool::Unittest => {
            let is_module = |word: &&str| !word.starts_with('-');
            let behind = words.iter().position(|word| *word == "unittest").map_or(words.len(), |at| at + 1);
            if words[behind..].iter().any(is_module) {
                // What it names would run as a whole beside the tests.
                let (start, options) = words.split_at(behind);
                let kept: Vec<&str> =
                    start.iter().chain(options.iter().filter(|word| !is_module(word))).copied().collect();
                return rerun(&kept.join(" "), failures, check);
            }
            let each = failures.iter().zip(&names).map(|(failure, name)| dotted(name, failure.test_file.as_deref()));
            let each: BTreeSet<String> = each.collect::<Option<_>>()?;
            quoted(&each.iter().map(String::as_str).collect::<Vec<_>>())?
        }
        Tool::Jest | Tool::Vitest => format!("{}-t {}", separator(&words), word(&any_of(&names)?)?),
        Tool::Mocha => format!("{}-g {}", separator(&words), word(&any_of(&names)?)?),
        Tool::Go => {
            let tops: Option<Vec<&str>> = names.iter().map(|name| go_top(name)).collect();
            let mut tops = tops?;
            tops.sort_unstable();
            tops.dedup();
            format!("-count=1 -v -run {}", word(&format!("^({})$", tops.join("|")))?)
        }
        Tool::Maven => {
            let file = |failure: &Failure| failure.test_file.clone();
            let each: Option<Vec<String>> = failures
                .iter()
                .zip(&names)
                .map(|(failure, name)| class_and_method(name, file(failure).as_deref(), '#'))
                .collect();
            format!("-Dtest={} -Dsurefire.failIfNoSpecifiedTests=false", word(&each?.join(","))?)
        }
        Tool::Playwright => format!("{}-g {}", separator(&words), word(&any_of(&names)?)?),
        Tool::Gradle
        | Tool::Dotnet
        | Tool::Rspec
        | Tool::Phpunit
        | Tool::Swift
        | Tool::Ctest
        | Tool::Gtest
        | Tool::JunitConsole => return None,
    };
    Some(format!("{command} {behind}"))
}

fn quoted(names: &[&str]) -> Option<String> {
    let words: Option<Vec<String>> = names.iter().map(|name| word(name)).collect();
    Some(words?.join(" "))
}

/// npm keeps options to itself unless they come after two dashes.
fn separator(words: &[&str]) -> &'static str {
    if words.first() == Some(&"npm") && !words.contains(&"--") { "-- " } else { "" }
}

fn any_of(names: &[&str]) -> Option<String> {
    let each: Vec<String> = names.iter().map(|name| pattern(leaf(name))).collect();
    each.iter().all(|one| !one.is_empty()).then(|| each.join("|"))
}

/// nextest's reports put the binary in front: `shop::it adds`.
fn binary_and_test(name: &str) -> &str {
    name.split_once(' ').filter(|(binary, _)| binary.contains("::")).map_or(name, |(_, test)| test)
}

/// `TestTotal` of `github.com/acme/shop/cart.TestTotal/empty`.
fn go_top(name: &str) -> Option<&str> {
    let start = ["Test", "Example", "Fuzz"].iter().filter_map(|prefix| name.find(prefix)).min()?;
    let top = name[start..].split('/').next()?;
    top.chars().all(|c| c.is_alphanumeric() || c == '_').then_some(top)
}

#[cfg(test)]
mod tests {
    use super::{super::fixtures::running, *};

    fn run(command: &str, tests: &[&str]) -> Option<String> {
        let failures: Vec<Failure> =
            tests.iter().map(|test| Failure { test_name: Some((*test).to_owned()), ..Failure::default() }).collect();
        running(command, |check| rerun(command, &failures, check))
    }

    #[test]
    fn each_tool_has_its_filter() {
        let table: [(&str, &[&str], Option<&str>); 23] = [
            ("cargo test", &["a::b", "UTS #46 line 3384"], None),
            (
                "python manage.py test",
                &["test_b (shop.tests.A.test_b) (i=1)", "test_b (shop.tests.A.test_b) (i=2)"],
                Some("python manage.py test shop.tests.A.test_b"),
            ),
            ("cargo test --no-fail-fast", &["a::b", "c"], Some("cargo test --no-fail-fast -- --exact a::b c")),
            ("cargo test -- --test-threads 1", &["a"], Some("cargo test -- --test-threads 1 --exact a")),
            ("cargo test", &["src/a.rs - add (line 3)"], Some("cargo test -- --exact 'src/a.rs - add (line 3)'")),
            (
                "cargo nextest run",
                &["shop::it adds", "shop::it mod::b"],
                Some("cargo nextest run -E 'test(=adds) + test(=mod::b)'"),
            ),
            ("python -m pytest tests", &["tests.a.test_b"], Some("python -m pytest tests --lf --lfnf=none")),
            ("npx jest", &["cart › adds", "b (c)"], Some("npx jest -t 'adds|b \\(c\\)'")),
            ("npm run test:jest", &["adds"], Some("npm run test:jest -- -t adds")),
            ("npx vitest run", &["cart > adds"], Some("npx vitest run -t adds")),
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
            ("cd api && go test ./...", &["TestA"], Some("cd api && go test ./... -count=1 -v -run '^(TestA)$'")),
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
            (
                "node --import tsx --test test/",
                &["adds", "cart > drops (all)"],
                Some(
                    "node --test-name-pattern '^adds$' --test-name-pattern '^((cart )?drops )?\\(all\\)$' --import tsx \
                     --test test/",
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
        assert_eq!(run("npx jest", &["a'; rm -rf ~"]).as_deref(), Some(r"npx jest -t 'a'\''; rm -rf ~'"));
    }
}
