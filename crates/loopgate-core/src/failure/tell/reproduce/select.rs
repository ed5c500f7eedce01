//! A tool told to run one test, or one file of tests.

use super::{
    names::{class_and_method, dotted, is_of_libtest, leaf, pattern},
    own::Start,
    tool::{Tool, test_file},
    word::word,
};
use crate::{
    evidence::Failure,
    failure::{classify::fingerprint::without_case, read::paths},
    source_files::is_test,
};

pub fn of_test(tool: Tool, failure: &Failure, start: &Start) -> Option<String> {
    let name = failure.test_name.as_deref().map(str::trim)?;
    if name.is_empty() || Some(name) == failure.test_file.as_deref() {
        return None;
    }
    let file = test_file(failure).map(paths::tidy).filter(|file| is_test(file));
    let file = file.as_deref();
    let in_file = file.and_then(word).map_or_else(String::new, |file| format!(" {file}"));
    let Start { program, options, .. } = start;
    match tool {
        Tool::Cargo => cargo(name, test_file(failure), start),
        Tool::Pytest => pytest(name, file, start),
        Tool::Django => Some(format!("{program} test{options} {}", word(&dotted(name, file)?)?)),
        // What discovery finds below a folder may not be importable by the same name from here.
        Tool::Unittest if start.has("discover") => {
            Some(format!("{program} {} -k {}", start.words(), word(&dotted(name, file)?)?))
        }
        Tool::Unittest => Some(format!("{program} {}", word(&dotted(name, file)?)?)),
        Tool::Vitest => Some(format!("{program} run{options}{in_file} -t {}", word(&pattern(leaf(name)))?)),
        Tool::Jest => Some(format!("{program}{options}{in_file} -t {}", word(&pattern(leaf(name)))?)),
        Tool::Mocha => Some(format!("{program}{options}{in_file} -g {}", word(&pattern(leaf(name)))?)),
        Tool::Go => go(name, file, start),
        Tool::Maven => Some(format!("{program}{options} -Dtest={} test", word(&class_and_method(name, file, '#')?)?)),
        Tool::Gradle => {
            let is_tests = |task: &str| !task.starts_with('-') && task.rsplit(':').next().is_some_and(names_tests);
            let task = start.find(is_tests).unwrap_or("test");
            Some(format!("{program}{options} {task} --tests {}", word(&class_and_method(name, file, '.')?)?))
        }
        Tool::Dotnet => {
            let project = start.behind("test").map_or_else(String::new, |project| format!(" {project}"));
            let filter = word(&format!("FullyQualifiedName~{}", without_case(name)))?;
            Some(format!("{program} test{project}{options} --filter {filter}"))
        }
        Tool::Rspec => match (file, failure.line_number) {
            (Some(file), Some(line)) => Some(format!("{program} {}", word(&format!("{file}:{line}"))?)),
            _ => Some(format!("{program}{in_file} -e {}", word(name)?)),
        },
        Tool::Phpunit => {
            let method = without_case(name).split(" with data set").next().unwrap_or(name);
            let method = method.rsplit([':', '.', '\\']).next().unwrap_or(method);
            Some(format!("{program}{options} --filter {}{in_file}", word(method)?))
        }
        Tool::Swift => Some(format!("{program} test{options} --filter {}", word(&name.replace(' ', "/"))?)),
        // Behind the name of a file, options are the file's.
        Tool::NodeTest => {
            Some(format!("{program}{options} --test --test-name-pattern {}{in_file}", word(&node_pattern(name)?)?))
        }
        Tool::Playwright => {
            // `[chromium] › tests/a.spec.ts:3:5 › suite › name`
            let project = name.strip_prefix('[').and_then(|rest| rest.split_once("] ")).map(|(project, _)| project);
            let project = project.and_then(word).map_or_else(String::new, |project| format!(" --project {project}"));
            Some(format!("{program} test{options}{project}{in_file} -g {}", word(&pattern(leaf(name)))?))
        }
        Tool::Ctest => Some(format!("{program}{options} -R {}", word(&format!("^{}$", regex::escape(name)))?)),
        Tool::Gtest => Some(format!("{} --gtest_filter={}", start.known()?, word(name)?)),
        Tool::JunitConsole => {
            let method = class_and_method(&name.replace(" > ", "."), file, '.')?;
            // The report names the class without its package; the frames name it in full.
            let frames = failure.stack_trace.as_deref().unwrap_or_default();
            let in_full = |line: &str| Some(line.trim().split_once(&format!("{method}("))?.0.to_owned());
            let package = frames.lines().find_map(in_full).unwrap_or_default();
            let package = package.rsplit([' ', '/']).next().unwrap_or_default();
            let (class, method) = method.rsplit_once('.')?;
            let selected = word(&format!("{package}{class}#{method}"))?;
            Some(format!("{}{options} --select-method {selected}", start.known()?))
        }
    }
}

/// `^((cart )?adds )?two$`: Node 20 matches a test's own name, later ones put its suites in front, and a report does not
/// say where those end.
pub fn node_pattern(name: &str) -> Option<String> {
    let name = name.replace(" > ", " ");
    let (before, last) = name.rsplit_once(' ').unwrap_or(("", &name));
    let words = before.split(' ').filter(|_| !before.is_empty());
    let optional = words.fold(String::new(), |before, word| format!("({before}{} )?", pattern(word)));
    (!last.is_empty()).then(|| format!("^{optional}{}$", pattern(last)))
}

/// `test`, `testDebugUnitTest`, `integrationTest`: tasks of Gradle that take `--tests`.
fn names_tests(task: &str) -> bool {
    task.starts_with("test") || task.ends_with("Test")
}

/// All tests of the file, for a failure that stopped it before any test had a name.
pub fn of_file(tool: Tool, failure: &Failure, start: &Start) -> Option<String> {
    let file = word(&test_file(failure).map(paths::tidy).filter(|file| is_test(file))?)?;
    let Start { program, options, .. } = start;
    match tool {
        Tool::Pytest => Some(format!("{program}{options} {file} -x")),
        Tool::Vitest => Some(format!("{program} run{options} {file}")),
        Tool::Jest | Tool::Mocha | Tool::Rspec | Tool::Phpunit => Some(format!("{program}{options} {file}")),
        Tool::NodeTest => Some(format!("{program}{options} --test {file}")),
        Tool::Playwright => Some(format!("{program} test{options} {file}")),
        // Its target is what can be chosen: `tests/api/main.rs` and its modules are one.
        Tool::Cargo => {
            let target = test_file(failure)?.strip_prefix("tests/")?.split('/').next()?;
            let run = if start.has("nextest") { "nextest run" } else { "test" };
            Some(format!("{program} {run}{options} --test {}", word(target.trim_end_matches(".rs"))?))
        }
        Tool::Go => {
            let folder = test_file(failure)?.rsplit_once('/').map_or(".", |(folder, _)| folder);
            Some(format!("{program} test{options} {}", word(&format!("./{}", folder.trim_start_matches('.')))?))
        }
        Tool::Django
        | Tool::Unittest
        | Tool::Maven
        | Tool::Gradle
        | Tool::Dotnet
        | Tool::Swift
        | Tool::Ctest
        | Tool::Gtest
        | Tool::JunitConsole => None,
    }
}

/// `cargo test cart::tests::adds`, also from nextest's `shop::bin/shop cart::tests::adds`.
fn cargo(name: &str, file: Option<&str>, start: &Start) -> Option<String> {
    let Start { program, options, .. } = start;
    // `src/lib.rs - cart::total (line 3)`
    if let Some((_, item)) = name.split_once(" - ").filter(|_| name.contains("(line ")) {
        let item = item.split(" (line").next().unwrap_or(item);
        return Some(format!("{program} test{options} --doc {}", word(item)?));
    }
    let run = if start.has("nextest") { "nextest run" } else { "test" };
    let test = name.split_once(' ').filter(|(binary, _)| binary.contains("::")).map_or(name, |(_, test)| test);
    if !is_of_libtest(test) {
        // Its target is what can be chosen: the file of an integration test is one.
        let (directory, file) = file?.rsplit_once('/')?;
        let target = file.strip_suffix(".rs").filter(|_| paths::file_name(directory) == "tests")?;
        return Some(format!("{program} {run}{options} --test {}", word(target)?));
    }
    Some(format!("{program} {run}{options} {}", word(test)?))
}

/// `tests/test_cart.py::TestCart::test_total`, also from JUnit's `tests.test_cart.TestCart.test_total` and, where the
/// case holds a blank, `tests.test_cart.TestCart test_total[two words]`.
fn pytest(name: &str, file: Option<&str>, start: &Start) -> Option<String> {
    let Start { program, options, .. } = start;
    if name.contains(".py::") {
        return Some(format!("{program}{options} {} -x", word(name)?));
    }
    let (name, case) = name.split_at(without_case(name).len());
    let parts: Vec<&str> =
        name.split("::").flat_map(|part| part.split(['.', ' '])).filter(|part| !part.is_empty()).collect();
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
    Some(format!("{program}{options} {} -x", word(&format!("{file}{selected}::{function}{case}"))?))
}

/// `go test ./cart -run '^TestTotal$/^empty$'`
fn go(name: &str, file: Option<&str>, start: &Start) -> Option<String> {
    // Reports put the package in front: `github.com/acme/shop/cart.TestTotal/empty`.
    let begins = ["Test", "Example", "Fuzz", "Benchmark"].iter().filter_map(|prefix| name.find(prefix)).min()?;
    let pattern: Vec<String> = name[begins..].split('/').map(|part| format!("^{}$", regex::escape(part))).collect();
    let directory = file.and_then(|file| file.rsplit_once('/')).map(|(directory, _)| format!("./{directory}"));
    let package = word(directory.as_deref().unwrap_or("./..."))?;
    let Start { program, options, .. } = start;
    Some(format!("{program} test{options} {package} -run {}", word(&pattern.join("/"))?))
}
