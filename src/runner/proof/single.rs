//! One test file run alone, by its ecosystem's tool.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use super::Trial;
use crate::runner::{
    command::{self, CommandLine, Ending},
    interrupt::Interrupt,
};
use loopgate_core::{evidence::ProofEnd, failure::quoted_word, source_files::SourceLanguage};

/// How long one run of one file may take: it may have to be built first.
const TIMEOUT: Duration = Duration::from_secs(600);
/// How one test file is run alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Single {
    tool: Tool,
    pub shell: String,
    /// Relative to the top.
    pub directory: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tool {
    Cargo,
    Pytest,
    Jest,
    Vitest,
    Go,
}

impl Single {
    pub fn of(trial: &Trial<'_>, path: &str) -> Option<Self> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let (stem, _) = name.rsplit_once('.')?;
        match SourceLanguage::of(path)? {
            SourceLanguage::Rust => {
                let package = above(trial.root, folder, "Cargo.toml")?;
                let inside = Path::new(path).strip_prefix(&package).ok()?.strip_prefix("tests").ok()?;
                let target = match inside.components().count() {
                    1 => stem.to_owned(),
                    // `tests/api/main.rs` and its modules are one target.
                    _ => inside.iter().next()?.to_string_lossy().into_owned(),
                };
                let shell = format!("cargo test --test {}", quoted_word(&target)?);
                Some(Self { tool: Tool::Cargo, shell, directory: package })
            }
            SourceLanguage::Python => {
                let pytest = trial.checks.iter().find_map(|(_, check)| up_to(&check.run, "pytest"));
                let pytest = pytest.unwrap_or_else(|| "python -m pytest".to_owned());
                Some(Self {
                    tool: Tool::Pytest,
                    shell: format!("{pytest} {}", quoted_word(path)?),
                    directory: PathBuf::new(),
                })
            }
            SourceLanguage::JavaScript | SourceLanguage::TypeScript => {
                let package = above(trial.root, folder, "package.json")?;
                let manifest = fs::read_to_string(trial.root.join(&package).join("package.json")).ok()?;
                let inside = Path::new(path).strip_prefix(&package).ok()?.to_string_lossy().into_owned();
                let file = quoted_word(&inside)?;
                let named =
                    |tool: &str| manifest.contains(&format!("\"{tool}\"")) || manifest.contains(&format!("{tool} "));
                let (tool, shell) = if named("vitest") {
                    (Tool::Vitest, format!("npx --no-install vitest run {file}"))
                } else if named("jest") {
                    (Tool::Jest, format!("npx --no-install jest --runTestsByPath {file}"))
                } else {
                    return None;
                };
                Some(Self { tool, shell, directory: package })
            }
            SourceLanguage::Go => {
                let module = above(trial.root, folder, "go.mod")?;
                let inside = Path::new(folder).strip_prefix(&module).ok()?.to_string_lossy().into_owned();
                let package = if inside.is_empty() { "./".to_owned() } else { format!("./{inside}") };
                let shell = format!("go test -count=1 {}", quoted_word(&package)?);
                Some(Self { tool: Tool::Go, shell, directory: module })
            }
            _ => None,
        }
    }

    /// How it ended, and the ends of what it printed. `head` is where the working tree is, when this runs elsewhere: what was installed or built there is used here.
    pub async fn run(&self, top: &Path, head: Option<&Path>, interrupt: Interrupt) -> (ProofEnd, String) {
        let directory = top.join(&self.directory);
        let mut environment = BTreeMap::new();
        if let Some(head) = head {
            let target = head.join(&self.directory).join("target");
            if self.tool == Tool::Cargo && std::env::var_os("CARGO_TARGET_DIR").is_none() {
                environment.insert("CARGO_TARGET_DIR".to_owned(), target.display().to_string());
            }
            if self.tool == Tool::Pytest {
                // An editable installation leads to the working tree; what stands first in the path wins.
                let paths = [directory.clone(), directory.join("src")].map(|path| path.display().to_string());
                environment.insert("PYTHONPATH".to_owned(), paths.join(":"));
            }
        }
        let line = CommandLine { environment, ..CommandLine::new(self.shell.as_str(), directory, TIMEOUT) };
        let finished =
            command::run(line, interrupt, |mut output| std::io::copy(&mut output, &mut std::io::sink()), |_| {}).await;
        let output = format!("{}\n{}", finished.output.head, finished.output.tail);
        let end = match finished.ending {
            Ending::Exited(code) => self.tool.end(code, &output),
            Ending::Signalled(_) | Ending::TimedOut | Ending::Interrupted | Ending::NotStarted(_) => ProofEnd::Broken,
        };
        (end, output)
    }
}

impl Tool {
    /// What an exit status and the output say: a test that failed is not the same as one that could not be built.
    fn end(self, code: i32, output: &str) -> ProofEnd {
        let says = |words: &[&str]| words.iter().any(|word| output.contains(word));
        let is_broken = match self {
            Self::Cargo => says(&["could not compile", "no test target named", "error: failed to"]),
            // 2 to 5: interrupted, broken, misused, nothing collected.
            Self::Pytest => !matches!(code, 0 | 1),
            Self::Jest => says(&["Test suite failed to run", "No tests found"]),
            Self::Vitest => says(&["Failed Suites", "No test files found"]),
            Self::Go => says(&["[build failed]", "[setup failed]", "no test files"]),
        };
        match (is_broken, code) {
            (true, _) => ProofEnd::Broken,
            (false, 0) => ProofEnd::Passed,
            (false, _) => ProofEnd::Failed,
        }
    }
}

/// The command line up to and with a word, if nothing in it ends a command: `poetry run pytest` of
/// `poetry run pytest -q tests`.
fn up_to(command: &str, word: &str) -> Option<String> {
    let end = command.find(word)? + word.len();
    let head = command.get(..end)?;
    let ends_here = command.get(end..)?.chars().next().is_none_or(char::is_whitespace);
    (ends_here && !head.contains(['\n', ';', '&', '|', '<', '>', '`', '$', '(', '#'])).then(|| head.to_owned())
}

/// The nearest folder at or above `folder` that holds a file of this name, relative to the top.
fn above(root: &Path, folder: &str, name: &str) -> Option<PathBuf> {
    Path::new(folder).ancestors().find(|folder| root.join(folder).join(name).is_file()).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopgate_core::{Sha, observed::ChangedFiles, policy::CommandCheck};

    #[test]
    fn each_ecosystem_runs_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for (path, text) in [
            ("Cargo.toml", ""),
            ("crates/b/Cargo.toml", ""),
            ("web/package.json", "{\"devDependencies\": {\"vitest\": \"1\"}}"),
            ("api/go.mod", ""),
        ] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let files = ChangedFiles::Complete(Vec::new());
        let (name, check) = ("unit".parse().unwrap(), CommandCheck::new("uv run pytest -q"));
        let trial = Trial { root, base: Sha::from_bytes([1; 20]), files: &files, checks: vec![(&name, &check)] };
        for (path, expected) in [
            ("tests/price.rs", Some(("cargo test --test price", ""))),
            ("crates/b/tests/api/cart.rs", Some(("cargo test --test api", "crates/b"))),
            ("src/tests.rs", None),
            ("tests/test_price.py", Some(("uv run pytest tests/test_price.py", ""))),
            ("web/src/a.test.ts", Some(("npx --no-install vitest run src/a.test.ts", "web"))),
            ("api/cart/cart_test.go", Some(("go test -count=1 ./cart", "api"))),
            ("tests/a b.py", Some(("uv run pytest 'tests/a b.py'", ""))),
            ("tests/A.java", None),
        ] {
            let single = Single::of(&trial, path);
            let seen = single.as_ref().map(|single| (single.shell.as_str(), single.directory.to_str().unwrap()));
            assert_eq!(seen, expected, "{path}");
        }
        assert_eq!(up_to("pytest-watch", "pytest"), None);
        assert_eq!(up_to("cd x && pytest", "pytest"), None);
    }
}
