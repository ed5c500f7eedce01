//! A tool that runs one test, or one file of tests: the templates of its row, filled in.

use super::{
    names::{class_and_method, dotted, is_of_libtest, leaf, of_go, pattern, without_binary, word},
    own::Start,
    tool::test_file,
};
use crate::{
    evidence::Failure,
    failure::{classify::fingerprint::without_case, read::paths},
    source_files::{Runner, is_test},
};

/// The command that runs the test alone, otherwise all tests of its file: a failure may stop it before any test has a
/// name.
pub fn command(runner: &Runner, failure: &Failure, start: &Start) -> Option<String> {
    let name = failure.test_name.as_deref().map(str::trim);
    let name = name.filter(|name| !name.is_empty() && Some(*name) != failure.test_file.as_deref());
    let file = test_file(failure)
        .map(paths::tidy)
        .filter(|file| is_test(file));
    let values = Values {
        name: name.unwrap_or_default(),
        file,
        failure,
        start,
    };
    let of_test = runner.test.iter().filter(|_| name.is_some());
    let of_file = runner.file.iter().filter(|_| values.file.is_some());
    of_test
        .chain(of_file)
        .find_map(|template| values.fill(template))
}

/// What the templates of a runner are filled with.
struct Values<'a> {
    name: &'a str,
    /// The file of the test, if its path shows that it is one.
    file: Option<String>,
    failure: &'a Failure,
    start: &'a Start,
}

impl Values<'_> {
    /// The command of a template; `None` if a value that it needs is not known.
    fn fill(&self, template: &str) -> Option<String> {
        let template = match template.split_once("| ") {
            Some((word, template)) => {
                Some(template).filter(|_| self.start.words.iter().any(|own| own == word))?
            }
            None => template,
        };
        let filled = |part: &str| {
            part.split_whitespace()
                .map(|word| self.word(word))
                .collect::<Option<Vec<_>>>()
        };
        // It is empty where the command would have to show it and does not.
        let mut words =
            vec![Some(self.start.program.clone()).filter(|program| !program.is_empty())?];
        for part in template.split_inclusive(']') {
            let (needed, dispensable) = part.split_once('[').unwrap_or((part, ""));
            words.extend(filled(needed)?);
            words.extend(filled(dispensable.trim_end_matches(']')).unwrap_or_default());
        }
        words.retain(|word| !word.is_empty());
        Some(words.join(" "))
    }

    /// One word, quoted behind the `=` of an option.
    fn word(&self, template: &str) -> Option<String> {
        let Some((before, value)) = template
            .strip_suffix('}')
            .and_then(|template| template.split_once('{'))
        else {
            return Some(template.to_owned());
        };
        match value {
            "options" => return Some(self.start.options.trim_start().to_owned()),
            "words" => return Some(self.start.words.join(" ")),
            _ => {}
        }
        let (option, before) = before.split_at(before.find('=').map_or(0, |at| at + 1));
        Some(format!(
            "{option}{}",
            word(&format!("{before}{}", self.value(value)?))?
        ))
    }

    fn value(&self, value: &str) -> Option<String> {
        let (name, file, printed) = (self.name, self.file.as_deref(), test_file(self.failure));
        match value {
            "name" => Some(name.to_owned()),
            "leaf" => Some(pattern(leaf(name))),
            "without_case" => Some(without_case(name).to_owned()),
            "exactly" => Some(format!("^{}$", regex::escape(name))),
            "suite/test" => Some(name.replace(' ', "/")),
            "file" => self.file.clone(),
            "file_and_line" => Some(format!("{}:{}", file?, self.failure.line_number?)),
            "dotted" => dotted(name, file),
            "class.method" => class_and_method(name, file, '.'),
            "class#method" => class_and_method(name, file, '#'),
            "method_in_full" => self.method_in_full(),
            "node_pattern" => node_pattern(name),
            "pytest_id" => pytest_id(name, file),
            "php_method" => {
                let method = without_case(name)
                    .split(" with data set")
                    .next()
                    .unwrap_or(name);
                Some(
                    method
                        .rsplit([':', '.', '\\'])
                        .next()
                        .unwrap_or(method)
                        .to_owned(),
                )
            }
            // `[chromium] › tests/a.spec.ts:3:5 › suite › name`
            "browser" => Some(name.strip_prefix('[')?.split_once("] ")?.0.to_owned()),
            // The word right behind the subcommand, unless it is an option.
            "project" => {
                let behind = self
                    .start
                    .words
                    .iter()
                    .skip_while(|word| *word != "test")
                    .nth(1)?;
                (!behind.starts_with('-')).then(|| behind.clone())
            }
            "task" => {
                // `test`, `testDebugUnitTest`, `integrationTest`
                let is_tests = |task: &&String| {
                    let name = task.rsplit(':').next().unwrap_or_default();
                    !task.starts_with('-') && (name.starts_with("test") || name.ends_with("Test"))
                };
                Some(
                    self.start
                        .words
                        .iter()
                        .find(is_tests)
                        .map_or_else(|| "test".to_owned(), String::clone),
                )
            }
            // `src/lib.rs - cart::total (line 3)`
            "example" => Some(name.split_once(" - ")?.1.split_once(" (line")?.0.to_owned()),
            "libtest_name" => {
                let test = without_binary(name);
                is_of_libtest(test).then(|| test.to_owned())
            }
            // What can be chosen is a target: the file of an integration test is one.
            "target" => {
                let (directory, file) = printed?.rsplit_once('/')?;
                let target = file
                    .strip_suffix(".rs")
                    .filter(|_| paths::file_name(directory) == "tests")?;
                Some(target.to_owned())
            }
            // `tests/api/main.rs` and its modules are one.
            "target_of_file" => {
                let target = printed?.strip_prefix("tests/")?.split('/').next()?;
                Some(target.trim_end_matches(".rs").to_owned())
            }
            "package" => {
                let directory = file
                    .and_then(|file| file.rsplit_once('/'))
                    .map(|(directory, _)| directory);
                Some(directory.map_or("./...".to_owned(), |directory| format!("./{directory}")))
            }
            "folder" => {
                let folder = printed?.rsplit_once('/').map_or(".", |(folder, _)| folder);
                Some(format!("./{}", folder.trim_start_matches('.')))
            }
            "go_pattern" => {
                let each = of_go(name)?
                    .split('/')
                    .map(|part| format!("^{}$", regex::escape(part)));
                Some(each.collect::<Vec<_>>().join("/"))
            }
            _ => None,
        }
    }

    /// JUnit's console reports the class without its package; the frames name it in full.
    fn method_in_full(&self) -> Option<String> {
        let method = class_and_method(&self.name.replace(" > ", "."), self.file.as_deref(), '.')?;
        let frames = self.failure.stack_trace.as_deref().unwrap_or_default();
        let in_full =
            |line: &str| Some(line.trim().split_once(&format!("{method}("))?.0.to_owned());
        let package = frames.lines().find_map(in_full).unwrap_or_default();
        let package = package.rsplit([' ', '/']).next().unwrap_or_default();
        let (class, method) = method.rsplit_once('.')?;
        Some(format!("{package}{class}#{method}"))
    }
}

/// `^((cart )?adds )?two$`: Node 20 matches a test's own name, later ones put its suites in front, and a report does
/// not show where those end.
pub fn node_pattern(name: &str) -> Option<String> {
    let name = name.replace(" > ", " ");
    let (before, last) = name.rsplit_once(' ').unwrap_or(("", &name));
    let words = before.split(' ').filter(|_| !before.is_empty());
    let optional = words.fold(String::new(), |before, word| {
        format!("({before}{} )?", pattern(word))
    });
    (!last.is_empty()).then(|| format!("^{optional}{}$", pattern(last)))
}

/// `tests/test_cart.py::TestCart::test_total`, also from JUnit's `tests.test_cart.TestCart.test_total` and, where the
/// case holds a blank, `tests.test_cart.TestCart test_total[two words]`.
fn pytest_id(name: &str, file: Option<&str>) -> Option<String> {
    if name.contains(".py::") {
        return Some(name.to_owned());
    }
    // A file that cannot be collected is named as a module, behind its suite, and holds no test of that name.
    let is_module = |file: &&str| {
        let module = file.strip_suffix(".py").map(|path| path.replace('/', "."));
        let before = module.and_then(|module| name.strip_suffix(&module));
        before.is_some_and(|suite| suite.is_empty() || suite.ends_with('.'))
    };
    if let Some(file) = file.filter(is_module) {
        return Some(file.to_owned());
    }
    // A subtest has no name of its own that could be chosen: `test_doubles[double] (i=2)`.
    let of_subtest = name
        .strip_suffix(')')
        .and_then(|name| name.rsplit_once(" ("))
        .map(|(name, _)| without_case(name));
    let name = of_subtest.unwrap_or(name);
    let (name, case) = name.split_at(without_case(name).len());
    let parts: Vec<&str> = name
        .split("::")
        .flat_map(|part| part.split(['.', ' ']))
        .filter(|part| !part.is_empty())
        .collect();
    let is_name = |part: &&str| part.chars().all(|c| c.is_alphanumeric() || c == '_');
    let (function, before) = parts.split_last().filter(|_| parts.iter().all(is_name))?;
    // Modules come first; classes begin with a capital letter.
    let is_class = |part: &&&str| part.starts_with(|c: char| c.is_ascii_uppercase());
    let classes: Vec<&str> = before.iter().filter(is_class).copied().collect();
    let file = match file {
        Some(file) => file.to_owned(),
        None => {
            let modules: Vec<&str> = before
                .iter()
                .take_while(|part| !is_class(part))
                .copied()
                .collect();
            // An example in a document is chosen in another way.
            Some(format!("{}.py", modules.join("/"))).filter(|file| is_test(file))?
        }
    };
    let selected: String = classes.iter().map(|class| format!("::{class}")).collect();
    Some(format!("{file}{selected}::{function}{case}"))
}
