//! A check that a project usually has, before it has its full name.

use std::path::{Path, PathBuf};

use super::Purpose;
use loopgate_core::{evidence::CheckKind, policy::REPORTS_VARIABLE};

/// A check by its short name: `test`, `lint`.
#[derive(Clone, Debug)]
pub(super) struct Usual {
    pub name: &'static str,
    pub kind: CheckKind,
    pub run: String,
    /// By short names; those that are not there are left out.
    pub needs: &'static [&'static str],
    /// Report files that its tool writes by itself.
    pub reports: &'static [&'static str],
    /// Finds failures in output that is in no format of its own.
    pub pattern: Option<&'static str>,
    /// Without this program the check cannot run, and is no loss: it is left out where the program is missing.
    pub program: Option<&'static str>,
}

impl Usual {
    pub fn new(name: &'static str, kind: CheckKind, run: impl Into<String>) -> Self {
        Self { name, kind, run: run.into(), needs: &[], reports: &[], pattern: None, program: None }
    }

    pub fn needing(mut self, needs: &'static [&'static str]) -> Self {
        self.needs = needs;
        self
    }

    pub fn reporting(mut self, reports: &'static [&'static str]) -> Self {
        self.reports = reports;
        self
    }

    pub fn reading(mut self, pattern: &'static str) -> Self {
        self.pattern = Some(pattern);
        self
    }

    pub fn by(mut self, program: &'static str) -> Self {
        self.program = Some(program);
        self
    }
}

/// What the commands are for, and where.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site<'a> {
    /// The project's directory.
    pub directory: &'a Path,
    /// The top of the repository.
    pub root: &'a Path,
    pub purpose: Purpose,
}

impl Site<'_> {
    pub fn has(&self, file: &str) -> bool {
        self.directory.join(file).is_file()
    }

    pub fn text(&self, file: &str) -> String {
        super::manifest::text(&self.directory.join(file))
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
