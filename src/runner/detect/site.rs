//! A project's directory, and the files in which the project describes itself.

use std::{
    cell::OnceCell,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{Purpose, python::Described};
use loopgate_core::policy::REPORTS_VARIABLE;

/// What the commands are for, and where.
pub(super) struct Site<'a> {
    /// The project's directory.
    pub directory: &'a Path,
    /// The top of the repository.
    pub root: &'a Path,
    pub purpose: Purpose,
    /// What a Python project says of its tools, once it is asked for.
    pub described: OnceCell<Described>,
}

impl<'a> Site<'a> {
    pub fn new(directory: &'a Path, root: &'a Path, purpose: Purpose) -> Self {
        Self { directory, root, purpose, described: OnceCell::new() }
    }

    pub fn text(&self, file: &str) -> String {
        text(&self.directory.join(file))
    }

    pub fn manifest(&self, file: &str) -> Value {
        manifest(&self.directory.join(file))
    }

    pub fn python(&self) -> &Described {
        self.described.get_or_init(|| Described::of(self.directory))
    }

    /// Where the project's own people say what is run: files of the directory, then the workflows.
    pub fn scripts(&self) -> Vec<String> {
        let files = ["tox.ini", "Makefile", "noxfile.py", "justfile"].map(|file| self.text(file));
        files.into_iter().chain(super::workflows::texts(self.root)).collect()
    }

    /// A file in the directory whose every file is read as a report, as the shell of the host writes it.
    pub fn report(&self, name: &str) -> String {
        if cfg!(windows) && self.purpose == Purpose::RunHere {
            format!("\"%{REPORTS_VARIABLE}%\\{name}\"")
        } else {
            format!("\"${REPORTS_VARIABLE}/{name}\"")
        }
    }

    /// Whether a program can be called here. What is written down is for another machine, which has what it needs.
    pub fn can_call(&self, program: &str) -> bool {
        self.purpose == Purpose::WriteDown || is_installed(program)
    }

    /// The project's directory and those above it, up to the top of the repository.
    pub fn upwards(&self) -> impl Iterator<Item = PathBuf> {
        self.directory.ancestors().take_while(|above| above.starts_with(self.root)).map(Path::to_owned)
    }
}

pub(super) fn entries(directory: &Path, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = directory.read_dir().into_iter().flatten().flatten().take(2_000);
    let mut found: Vec<_> =
        entries.filter(|entry| wanted(&entry.file_name().to_string_lossy())).map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// Whether a program is found where the shell looks for it.
pub(super) fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let endings: &[&str] = if cfg!(windows) { &[".exe", ".cmd", ".bat"] } else { &[""] };
    std::env::split_paths(&path)
        .any(|folder| endings.iter().any(|ending| folder.join(format!("{program}{ending}")).is_file()))
}

/// Largest manifest read, in bytes.
const LIMIT: u64 = 4 * 1024 * 1024;

/// A manifest as plain values, by the ending of its name TOML, YAML, else JSON. Leniently: what cannot be read says nothing.
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
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// A file's text; empty where it is not there, is no text, or is larger than anybody writes.
pub(super) fn text(path: &Path) -> String {
    match path.metadata() {
        Ok(file) if file.is_file() && file.len() <= LIMIT => std::fs::read_to_string(path).unwrap_or_default(),
        _ => String::new(),
    }
}
