//! New dependencies in manifests, read from patches.
//!
//! A dependency is new when a manifest's patch adds its name and takes it away nowhere: a version bump, a move or a
//! change of order is none. A patch shows a manifest in pieces, so where the section of a line is not in sight, the
//! line's own form decides.

mod extract;

use std::collections::BTreeSet;

use super::adds_nothing;
use crate::observed::{ChangedFile, FileStatus, hunk_start};

/// A family of package managers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ecosystem {
    Cargo,
    Npm,
    Python,
    Go,
    Maven,
    Gradle,
    Ruby,
    Php,
    NuGet,
}

/// How a file names dependencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// TOML tables whose keys are names: Cargo.toml, Pipfile.
    CargoToml,
    Pipfile,
    PyProject,
    PackageJson,
    ComposerJson,
    /// One requirement per line.
    Requirements,
    /// Python code or INI that lists requirements.
    SetupFile,
    GoMod,
    Pom,
    Gradle,
    VersionCatalog,
    Gemfile,
    NuGetXml,
    Lock(Lock),
}

/// Forms of lock files, which name everything that is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lock {
    /// `name = "x"` in TOML: Cargo.lock, poetry.lock, uv.lock.
    Toml,
    /// `"node_modules/x": {`
    Npm,
    Yarn,
    Pnpm,
    /// `"name": "vendor/x"`
    Composer,
    Bundler,
    GoSum,
    Pipenv,
}

/// What a file says about new dependencies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Added {
    NotAManifest,
    /// The line at the head and the name, in order; empty when there is none.
    Names(Vec<(u32, String)>),
    /// The patch is missing or cannot be read.
    Unreadable,
}

/// The ecosystems of which a manifest, not only a lock file, is changed.
pub(super) fn manifests_changed(files: &[ChangedFile]) -> BTreeSet<Ecosystem> {
    let manifest = |file: &ChangedFile| match form(&file.path)? {
        (_, Form::Lock(_)) => None,
        (ecosystem, _) => Some(ecosystem),
    };
    files.iter().filter_map(manifest).collect()
}

/// The dependencies a file adds.
///
/// Lock files follow their manifests and also name indirect dependencies. So they are read only where no manifest of
/// their ecosystem is changed: then the lock file alone brings in new code.
pub(super) fn added(file: &ChangedFile, manifests: &BTreeSet<Ecosystem>) -> Added {
    let Some((ecosystem, form)) = form(&file.path) else { return Added::NotAManifest };
    if matches!(form, Form::Lock(_)) && manifests.contains(&ecosystem) {
        return Added::NotAManifest;
    }
    // What becomes a manifest by being renamed brings dependencies that no patch shows.
    let was_manifest = file.previous_path.as_deref().is_none_or(|path| self::form(path) == Some((ecosystem, form)));
    if file.status == FileStatus::Renamed && !was_manifest {
        return Added::Unreadable;
    }
    if adds_nothing(file) {
        return Added::Names(Vec::new());
    }
    match file.patch.as_deref().and_then(|patch| from_patch(patch, form)) {
        Some(names) => Added::Names(names),
        None => Added::Unreadable,
    }
}

fn from_patch(patch: &str, form: Form) -> Option<Vec<(u32, String)>> {
    let (mut added, mut removed) = (Vec::new(), BTreeSet::new());
    let mut number = 0;
    let (mut new, mut old) = (extract::Reader::new(form), extract::Reader::new(form));
    for line in patch.lines() {
        if let Some(header) = line.strip_prefix("@@ ") {
            number = hunk_start(header)?;
            (new, old) = (extract::Reader::new(form), extract::Reader::new(form));
        } else if let Some(text) = line.strip_prefix('+') {
            added.extend(new.dependency(text).map(|name| (number, name)));
            number += 1;
        } else if let Some(text) = line.strip_prefix('-') {
            removed.extend(old.dependency(text));
        } else if !line.starts_with('\\') {
            let text = line.strip_prefix(' ').unwrap_or(line);
            // Context moves both readers on to the section it stands in.
            new.dependency(text);
            old.dependency(text);
            number += 1;
        }
    }
    let mut seen = BTreeSet::new();
    added.retain(|(_, name)| !removed.contains(name) && seen.insert(name.clone()));
    Some(added)
}

/// Which manifest a path names, if any.
fn form(path: &str) -> Option<(Ecosystem, Form)> {
    use Ecosystem::*;
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let ends = |suffix: &str| name.ends_with(suffix);
    Some(match name.as_str() {
        "cargo.toml" => (Cargo, Form::CargoToml),
        "cargo.lock" => (Cargo, Form::Lock(Lock::Toml)),
        "package.json" => (Npm, Form::PackageJson),
        "package-lock.json" | "npm-shrinkwrap.json" => (Npm, Form::Lock(Lock::Npm)),
        "yarn.lock" => (Npm, Form::Lock(Lock::Yarn)),
        "pnpm-lock.yaml" => (Npm, Form::Lock(Lock::Pnpm)),
        "pyproject.toml" => (Python, Form::PyProject),
        "setup.cfg" | "setup.py" => (Python, Form::SetupFile),
        "pipfile" => (Python, Form::Pipfile),
        "pipfile.lock" => (Python, Form::Lock(Lock::Pipenv)),
        "poetry.lock" | "uv.lock" | "pdm.lock" => (Python, Form::Lock(Lock::Toml)),
        "go.mod" => (Go, Form::GoMod),
        "go.sum" => (Go, Form::Lock(Lock::GoSum)),
        "pom.xml" => (Maven, Form::Pom),
        "gemfile" | "gems.rb" => (Ruby, Form::Gemfile),
        "gemfile.lock" | "gems.locked" => (Ruby, Form::Lock(Lock::Bundler)),
        "composer.json" => (Php, Form::ComposerJson),
        "composer.lock" => (Php, Form::Lock(Lock::Composer)),
        "packages.config" | "directory.packages.props" | "directory.build.props" => (NuGet, Form::NuGetXml),
        _ if ends(".csproj") || ends(".fsproj") || ends(".vbproj") => (NuGet, Form::NuGetXml),
        _ if ends(".gradle") || ends(".gradle.kts") => (Gradle, Form::Gradle),
        _ if ends(".versions.toml") => (Gradle, Form::VersionCatalog),
        _ if ends(".gemspec") => (Ruby, Form::Gemfile),
        _ if is_requirements(path, &name) => (Python, Form::Requirements),
        _ => return None,
    })
}

/// `requirements.txt`, `requirements-dev.txt`, `dev-requirements.in`, `requirements/base.txt`.
fn is_requirements(path: &str, name: &str) -> bool {
    let listed = name.ends_with(".txt") || name.ends_with(".in");
    let folder = path.rsplit('/').nth(1).is_some_and(|folder| folder.eq_ignore_ascii_case("requirements"));
    listed && (name.contains("requirements") || folder)
}

#[cfg(test)]
mod tests;
