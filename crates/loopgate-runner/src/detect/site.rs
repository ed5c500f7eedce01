//! A project's directory, the files in which the project describes itself, and which of the table's conditions they
//! meet.

use std::{
    cell::OnceCell,
    collections::VecDeque,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{
    Purpose,
    table::{Alternative, Condition, Tests},
};
use loopgate_core::policy::REPORTS_VARIABLE;

/// What the commands are for, and where.
pub(super) struct Site<'a> {
    /// The project's directory.
    pub directory: &'a Path,
    /// The top of the repository.
    pub root: &'a Path,
    pub purpose: Purpose,
    /// A Python project by its files, once it is asked for.
    described: OnceCell<PythonProject>,
}

impl<'a> Site<'a> {
    pub fn new(directory: &'a Path, root: &'a Path, purpose: Purpose) -> Self {
        Self {
            directory,
            root,
            purpose,
            described: OnceCell::new(),
        }
    }

    pub fn text(&self, file: &str) -> String {
        text(&self.directory.join(file))
    }

    pub fn manifest(&self, file: &str) -> Value {
        manifest(&self.directory.join(file))
    }

    /// Whether its files show this.
    pub fn meets(&self, condition: &Condition) -> bool {
        let described = || {
            self.described
                .get_or_init(|| PythonProject::of(self.directory))
        };
        match condition {
            Condition::File(name) => self.directory.join(name).is_file(),
            Condition::Folder(name) => self.directory.join(name).is_dir(),
            Condition::Executable(name) => self
                .directory
                .join(name)
                .metadata()
                .is_ok_and(|file| is_executable(&file)),
            Condition::Text(file, word) => self.text(file).to_lowercase().contains(word),
            Condition::Key(path) => {
                let Some((file, keys)) = path.split_first() else {
                    return false;
                };
                !keys
                    .iter()
                    .fold(&self.manifest(file), |value, key| &value[key])
                    .is_null()
            }
            Condition::Script(words) => {
                let names_all = |line: &str| words.iter().all(|word| line.contains(word));
                self.purpose == Purpose::WriteDown
                    && self
                        .scripts()
                        .iter()
                        .any(|text| text.lines().any(names_all))
            }
            Condition::Named(tool) => described().all.contains(tool),
            Condition::NotNamed(tool) => !described().all.contains(tool),
            Condition::Tests(Tests::Any) => described().tests.is_some(),
            Condition::Tests(tests) => described().tests == Some(*tests),
            Condition::Target(name) => {
                let files = ["GNUmakefile", "makefile", "Makefile"]
                    .map(|file| self.text(file))
                    .concat();
                let mut rules = files
                    .lines()
                    .filter_map(|line| Some(line.strip_prefix(name.as_str())?.trim_start()));
                rules.any(|rest| rest.starts_with(':') && !rest.starts_with(":="))
            }
        }
    }

    /// Whether it meets one of the conditions, or there is none.
    pub fn meets_any(&self, conditions: &[Condition]) -> bool {
        conditions.is_empty() || conditions.iter().any(|condition| self.meets(condition))
    }

    /// The text of the first alternative whose conditions it meets.
    pub fn chosen<'t>(&self, alternatives: &'t [Alternative]) -> Option<&'t str> {
        let one = alternatives
            .iter()
            .find(|alternative| self.meets_any(&alternative.when))?;
        Some(&one.text)
    }

    /// Where the project's own people write what is run: files of the directory, then the workflows.
    pub fn scripts(&self) -> Vec<String> {
        let files = ["tox.ini", "Makefile", "noxfile.py", "justfile"].map(|file| self.text(file));
        files.into_iter().chain(workflow_texts(self.root)).collect()
    }

    /// A file in the directory whose every file is read as a report, as the shell of the host writes it.
    pub fn report(&self, name: &str) -> String {
        if cfg!(windows) && self.purpose == Purpose::RunHere {
            format!("\"%{REPORTS_VARIABLE}%\\{name}\"")
        } else {
            format!("\"${REPORTS_VARIABLE}/{name}\"")
        }
    }

    /// The folder that CMake builds in.
    pub fn build_folder(&self) -> &'static str {
        let is_ignored = || self.text(".gitignore").contains("build");
        if self.purpose == Purpose::WriteDown || cfg!(windows) || is_ignored() {
            "build"
        } else {
            "\"$(git rev-parse --git-dir)/loopgate-build\""
        }
    }

    /// The directory whose every file is read as a report.
    pub fn reports(&self) -> String {
        if cfg!(windows) && self.purpose == Purpose::RunHere {
            format!("\"%{REPORTS_VARIABLE}%\"")
        } else {
            format!("\"${REPORTS_VARIABLE}\"")
        }
    }

    /// Whether a program can be called here. What is written down is for another machine, which has what it needs.
    pub fn can_call(&self, program: &str) -> bool {
        self.purpose == Purpose::WriteDown || is_installed(program)
    }

    /// The project's directory and those above it, up to the top of the repository.
    pub fn upwards(&self) -> impl Iterator<Item = PathBuf> {
        self.directory
            .ancestors()
            .take_while(|above| above.starts_with(self.root))
            .map(Path::to_owned)
    }
}

pub(super) fn entries(directory: &Path, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = directory
        .read_dir()
        .into_iter()
        .flatten()
        .flatten()
        .take(2_000);
    let mut found: Vec<_> = entries
        .filter(|entry| wanted(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

/// Whether a program is found where the shell looks for it.
pub(super) fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let endings: &[&str] = if cfg!(windows) {
        &[".exe", ".cmd", ".bat"]
    } else {
        &[""]
    };
    std::env::split_paths(&path).any(|folder| {
        endings
            .iter()
            .any(|ending| folder.join(format!("{program}{ending}")).is_file())
    })
}

/// Largest manifest read, in bytes.
const LIMIT: u64 = 4 * 1024 * 1024;

/// A manifest as plain values, by the ending of its name TOML, YAML, else JSON. Leniently: what cannot be read is
/// empty.
pub(super) fn manifest(path: &Path) -> Value {
    let text = text(path);
    let value = match path.extension().and_then(|ending| ending.to_str()) {
        Some("toml") => toml::from_str(&text).ok(),
        Some("yml" | "yaml") => serde_yaml::from_str(&text).ok(),
        _ => serde_json::from_str(&text).ok(),
    };
    value.unwrap_or_default()
}

/// The texts of a list.
pub(super) fn texts(list: &Value) -> Vec<String> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// A file's text; empty where it is not there, is no text, or is larger than anybody writes.
pub(super) fn text(path: &Path) -> String {
    match path.metadata() {
        Ok(file) if file.is_file() && file.len() <= LIMIT => {
            std::fs::read_to_string(path).unwrap_or_default()
        }
        _ => String::new(),
    }
}

/// The folder of workflows.
pub(super) const WORKFLOWS: &str = ".github/workflows";
/// More workflows than this are not read.
const MOST_FILES: usize = 100;

/// The workflow files. Loopgate's own are no CI to follow, though the relay names no Action of it.
pub(super) fn workflow_files(root: &Path) -> Vec<PathBuf> {
    let is_one = |name: &str| {
        (name.ends_with(".yml") || name.ends_with(".yaml"))
            && !name.starts_with("loopgate")
            && !name.contains(char::is_control)
    };
    let mut files = entries(&root.join(WORKFLOWS), is_one);
    files.truncate(MOST_FILES);
    files
}

/// The texts of the workflow files.
pub fn workflow_texts(root: &Path) -> impl Iterator<Item = String> {
    workflow_files(root).into_iter().map(|file| text(&file))
}

/// Folders that are searched for tests, and tests that are read.
const MOST_FOLDERS: usize = 200;
const MOST_TESTS: usize = 50;

/// A Python project by its files.
struct PythonProject {
    /// Every file in which tools are named.
    all: String,
    /// What its test files are written for; none where there are none.
    tests: Option<Tests>,
}

impl PythonProject {
    fn of(directory: &Path) -> Self {
        const NAMING: [&str; 8] = [
            "pyproject.toml",
            "setup.cfg",
            "setup.py",
            "tox.ini",
            "Pipfile",
            "pytest.ini",
            "conftest.py",
            "noxfile.py",
        ];
        let is_text = |name: &str| name.ends_with(".txt");
        let mut files = NAMING.map(|file| directory.join(file)).to_vec();
        files.extend(entries(directory, |name| {
            name.starts_with("requirements") && is_text(name)
        }));
        files.extend(entries(&directory.join("requirements"), is_text));
        let mut all: String = files.iter().map(|file| text(file)).collect();
        // The file's name is the word.
        if ["pytest.ini", "conftest.py", "tests/conftest.py"]
            .iter()
            .any(|file| directory.join(file).is_file())
        {
            all.push_str("\npytest\n");
        }
        let tests: Vec<String> = test_files(directory)
            .iter()
            .map(|file| text(file))
            .collect();
        let imports = |word: &str| tests.iter().any(|text| text.contains(word));
        let written_for = match imports("import unittest") && !imports("import pytest") {
            true => Tests::Unittest,
            false => Tests::Pytest,
        };
        Self {
            all,
            tests: (!tests.is_empty()).then_some(written_for),
        }
    }
}

/// Files by whose names test runners find tests, in the folders nearest to the top. Folders of other people's code are
/// left out.
fn test_files(directory: &Path) -> Vec<PathBuf> {
    let is_test = |name: &str| {
        let is_named = name.starts_with("test_")
            || name.ends_with("_test.py")
            || matches!(name, "test.py" | "tests.py");
        name.ends_with(".py") && is_named
    };
    let is_own = |folder: &Path| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        !name.starts_with('.') && name != "node_modules" && !folder.join("pyvenv.cfg").is_file()
    };
    let (mut files, mut folders) = (Vec::new(), VecDeque::from([directory.to_owned()]));
    for _ in 0..MOST_FOLDERS {
        let Some(folder) = folders.pop_front().filter(|_| files.len() < MOST_TESTS) else {
            break;
        };
        files.extend(entries(&folder, is_test));
        let inner = folder.read_dir().into_iter().flatten().flatten();
        let inner = inner
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .map(|entry| entry.path());
        let mut inner: Vec<PathBuf> = inner
            .take(MOST_FOLDERS)
            .filter(|folder| is_own(folder))
            .collect();
        inner.sort();
        folders.extend(inner);
    }
    files.truncate(MOST_TESTS);
    files
}

#[cfg(unix)]
fn is_executable(file: &std::fs::Metadata) -> bool {
    file.is_file() && std::os::unix::fs::PermissionsExt::mode(&file.permissions()) & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(file: &std::fs::Metadata) -> bool {
    file.is_file()
}
