//! New dependencies in manifests, read from patches.
//!
//! A dependency is new when a manifest's patch adds its name and takes it away nowhere: a version bump, a move or a
//! change of order is none. A lock file names what the manifests bring with them, and says nothing of its own. A patch
//! shows a manifest in pieces, so where the section of a line is not in sight, the line's own form decides.

mod extract;

use std::collections::BTreeSet;

use super::reading::has_no_change;
use crate::observed::{ChangedFile, FileStatus, LineChange, Patch};

/// How a file names dependencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// TOML tables whose keys are names: Cargo.toml, Pipfile.
    CargoToml,
    Pipfile,
    PyProject,
    PackageJson,
    ComposerJson,
    /// `imports` of Deno.
    DenoJson,
    /// One requirement per line.
    Requirements,
    /// Python code or INI that lists requirements.
    SetupFile,
    GoMod,
    Pom,
    /// Sections of YAML whose keys are names: pubspec.yaml, catalogs of pnpm.
    Yaml,
    /// Each line that names one says so by itself.
    Lines(LineForm),
}

/// Manifests whose lines need no section to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineForm {
    Gradle,
    VersionCatalog,
    Ruby,
    NuGetXml,
    Mix,
    Swift,
    Sbt,
    Xcode,
    HelmChart,
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

/// The dependencies a file adds. `patch` are its changes, if they could be read.
pub(super) fn added(file: &ChangedFile, patch: Option<&Patch<'_>>) -> Added {
    let Some(form) = form(&file.path) else { return Added::NotAManifest };
    // What becomes a manifest by being renamed brings dependencies that no patch shows.
    let was_manifest = file.previous_path.as_deref().is_none_or(|path| self::form(path) == Some(form));
    if file.status == FileStatus::Renamed && !was_manifest {
        return Added::Unreadable;
    }
    if file.status == FileStatus::Removed || has_no_change(file) {
        return Added::Names(Vec::new());
    }
    let Some(patch) = patch else { return Added::Unreadable };
    // Requirements that a tool has compiled, with what each came by or its hash, are a lock file.
    let is_compiled = || patch.lines().any(|line| ["# via", "--hash="].iter().any(|mark| line.text.contains(mark)));
    if form == Form::Requirements && is_compiled() {
        return Added::NotAManifest;
    }
    Added::Names(from_patch(patch, form))
}

fn from_patch(patch: &Patch<'_>, form: Form) -> Vec<(u32, String)> {
    let (mut added, mut removed) = (Vec::new(), BTreeSet::new());
    for hunk in &patch.hunks {
        let (mut new, mut old) = (extract::Reader::new(form), extract::Reader::new(form));
        // The header names the section that the hunk begins in, where git knows it. Lines that stay move both readers on
        // to the section they stand in.
        new.dependency(hunk.heading);
        old.dependency(hunk.heading);
        for line in &hunk.lines {
            let (in_new, in_old) = (
                line.is_new().then(|| new.dependency(line.text)).flatten(),
                line.is_old().then(|| old.dependency(line.text)).flatten(),
            );
            match line.change {
                LineChange::Added => added.extend(in_new.map(|name| (line.new, name))),
                LineChange::Removed => removed.extend(in_old),
                LineChange::Unchanged => {}
            }
        }
    }
    let mut seen = BTreeSet::new();
    added.retain(|(_, name)| !removed.contains(name) && seen.insert(name.clone()));
    added
}

/// Which manifest a path names, if any.
fn form(path: &str) -> Option<Form> {
    use LineForm::*;
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let ends = |suffixes: &[&str]| suffixes.iter().any(|suffix| name.ends_with(suffix));
    Some(match name.as_str() {
        "cargo.toml" => Form::CargoToml,
        "package.json" => Form::PackageJson,
        "deno.json" | "deno.jsonc" => Form::DenoJson,
        "pyproject.toml" => Form::PyProject,
        "setup.cfg" | "setup.py" => Form::SetupFile,
        "pipfile" => Form::Pipfile,
        "go.mod" => Form::GoMod,
        "pom.xml" => Form::Pom,
        "composer.json" => Form::ComposerJson,
        "pubspec.yaml" | "pnpm-workspace.yaml" => Form::Yaml,
        "gemfile" | "gems.rb" | "podfile" => Form::Lines(Ruby),
        "packages.config" | "directory.packages.props" | "directory.build.props" => Form::Lines(NuGetXml),
        "mix.exs" | "rebar.config" => Form::Lines(Mix),
        "package.swift" => Form::Lines(Swift),
        "project.pbxproj" => Form::Lines(Xcode),
        "chart.yaml" => Form::Lines(HelmChart),
        _ if ends(&[".csproj", ".fsproj", ".vbproj"]) => Form::Lines(NuGetXml),
        _ if ends(&[".gradle", ".gradle.kts"]) => Form::Lines(Gradle),
        _ if ends(&[".versions.toml"]) => Form::Lines(VersionCatalog),
        _ if ends(&[".gemspec"]) => Form::Lines(Ruby),
        _ if ends(&[".sbt"]) || is_build_code(path) => Form::Lines(Sbt),
        _ if is_requirements(path, &name) => Form::Requirements,
        _ => return None,
    })
}

/// Scala code of an sbt build: `project/Dependencies.scala`.
fn is_build_code(path: &str) -> bool {
    path.ends_with(".scala") && path.rsplit('/').nth(1) == Some("project")
}

/// `requirements.txt`, `requirements-dev.txt`, `dev-requirements.in`, `requirements/base.txt`.
fn is_requirements(path: &str, name: &str) -> bool {
    let listed = name.ends_with(".txt") || name.ends_with(".in");
    let folder = path.rsplit('/').nth(1).is_some_and(|folder| folder.eq_ignore_ascii_case("requirements"));
    listed && (name.contains("requirements") || folder)
}

#[cfg(test)]
mod tests;
