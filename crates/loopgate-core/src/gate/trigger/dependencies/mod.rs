//! New dependencies in manifests, read from patches.
//!
//! A dependency is new when a manifest's patch adds its name and takes it away nowhere: a version bump, a move or a
//! change of order is none. A lock file names what the manifests bring with them, and says nothing of its own. A patch
//! shows a manifest in pieces, so where the section of a line is not in sight, the line's own form decides.

mod extract;

use std::collections::BTreeSet;

use super::adds_nothing;
use crate::observed::{ChangedFile, FileStatus, hunk_start};

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

/// The dependencies a file adds.
pub(super) fn added(file: &ChangedFile) -> Added {
    let Some(form) = form(&file.path) else { return Added::NotAManifest };
    // What becomes a manifest by being renamed brings dependencies that no patch shows.
    let was_manifest = file.previous_path.as_deref().is_none_or(|path| self::form(path) == Some(form));
    if file.status == FileStatus::Renamed && !was_manifest {
        return Added::Unreadable;
    }
    if adds_nothing(file) {
        return Added::Names(Vec::new());
    }
    let Some(patch) = file.patch.as_deref() else { return Added::Unreadable };
    // Requirements that a tool has compiled, with what each came by or its hash, are a lock file.
    if form == Form::Requirements && ["# via", "--hash="].iter().any(|mark| patch.contains(mark)) {
        return Added::NotAManifest;
    }
    from_patch(patch, form).map_or(Added::Unreadable, Added::Names)
}

fn from_patch(patch: &str, form: Form) -> Option<Vec<(u32, String)>> {
    let (mut added, mut removed) = (Vec::new(), BTreeSet::new());
    let mut number = 0;
    let (mut new, mut old) = (extract::Reader::new(form), extract::Reader::new(form));
    for line in patch.lines() {
        if let Some(header) = line.strip_prefix("@@ ") {
            number = hunk_start(header)?;
            (new, old) = (extract::Reader::new(form), extract::Reader::new(form));
            // The header names the section that the hunk begins in, where git knows it.
            if let Some((_, section)) = header.split_once("@@ ") {
                new.dependency(section);
                old.dependency(section);
            }
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
