//! Finding the projects of a repository: its top, and directories below it that are projects of their own.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use walkdir::{DirEntry, WalkDir};

use super::{
    Ecosystem, Purpose, node,
    site::{Site, entries, texts},
    table::TABLE,
};

/// How deep below the top projects are looked for: `packages/web/app`.
const DEPTH: usize = 3;
/// Directories looked at, and projects taken at most.
const DIRECTORIES: usize = 5_000;
const PROJECTS: usize = 40;

/// A project: a directory, and what is made with which tools in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Project {
    /// Relative to the top of the repository, with `/`; empty for the top itself.
    pub directory: String,
    pub ecosystem: Ecosystem,
}

/// The projects of a repository, its top first, then by directory.
///
/// What a workspace's own commands take in is no project of its own; of a workspace of packages with scripts
/// ([`Ecosystem::Node`]) it is, since only its own manifest lists its scripts.
pub fn projects(root: &Path) -> Vec<Project> {
    let mut found: Vec<Project> = Vec::new();
    for directory in directories(root) {
        for ecosystem in Ecosystem::ALL {
            if !is_signed(ecosystem, &root.join(&directory))
                || is_of_platform(ecosystem, &directory)
            {
                continue;
            }
            // A Makefile below the top is part of what that builds.
            if ecosystem == Ecosystem::Make && !directory.is_empty() {
                continue;
            }
            let is_above = |other: &&Project| {
                let rest = directory.strip_prefix(&other.directory).unwrap_or_default();
                other.ecosystem == ecosystem
                    && (rest.starts_with('/') || other.directory.is_empty() && !rest.is_empty())
            };
            if !found
                .iter()
                .rfind(is_above)
                .is_some_and(|owner| takes_in(root, owner, &directory))
            {
                found.push(Project {
                    directory: directory.clone(),
                    ecosystem,
                });
            }
            if found.len() >= PROJECTS {
                return found;
            }
        }
    }
    found
}

/// Whether a directory has a file that makes it a project.
fn is_signed(ecosystem: Ecosystem, directory: &Path) -> bool {
    let is_there = |sign: &String| match sign.strip_prefix('*') {
        Some(ending) => !entries(directory, |name| name.ends_with(ending)).is_empty(),
        None => directory.join(sign).is_file(),
    };
    ecosystem.row().signs.iter().any(is_there)
}

/// Whether a directory is the folder of a platform that another tool fills, or below one.
fn is_of_platform(ecosystem: Ecosystem, directory: &str) -> bool {
    let mut folders = ecosystem.row().not_in.split_whitespace();
    folders.any(|folder| directory.split('/').any(|part| part == folder))
}

/// Whether the commands of the project `owner` take in the package in `directory` below it.
fn takes_in(root: &Path, owner: &Project, directory: &str) -> bool {
    let (top, inner) = (root.join(&owner.directory), root.join(directory));
    let [of_top, of_inner] =
        [&top, &inner].map(|directory| Site::new(directory, root, Purpose::RunHere));
    let row = owner.ecosystem.row();
    if !row.takes_in.iter().any(|one| of_top.meets(one))
        || row.apart.iter().any(|one| of_inner.meets(one))
    {
        return false;
    }
    let relative = directory
        .strip_prefix(&owner.directory)
        .unwrap_or(directory)
        .trim_start_matches('/');
    match owner.ecosystem {
        // Cargo refuses a package below a workspace that is neither member nor excluded, so any other is one.
        Ecosystem::Rust => !globs(&texts(
            &of_top.manifest("Cargo.toml")["workspace"]["exclude"],
        ))
        .is_match(relative),
        Ecosystem::Node => {
            // A package is described by its own scripts, unless those of the workspace take it in.
            let manifest = of_top.manifest("package.json");
            let has_own_test = manifest["scripts"]["test"]
                .as_str()
                .is_some_and(|script| !node::hands_over(script));
            // By package.json or pnpm-workspace.yaml.
            let workspaces = &manifest["workspaces"];
            let of_pnpm = &of_top.manifest("pnpm-workspace.yaml")["packages"];
            let members = [workspaces, &workspaces["packages"], of_pnpm]
                .map(texts)
                .concat();
            globs(&members).is_match(relative) && has_own_test
        }
        _ => true,
    }
}

fn globs(patterns: &[String]) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
        if let Ok(glob) = GlobBuilder::new(pattern).literal_separator(true).build() {
            set.add(glob);
        }
    }
    set.build().unwrap_or_default()
}

/// The top and the directories below it that may hold a project, parents before what is in them. Symbolic links are not
/// followed: they may lead out, or round in a circle.
fn directories(root: &Path) -> Vec<String> {
    let is_looked_into = |entry: &DirEntry| {
        let name = entry.file_name().to_string_lossy();
        // A configuration could not name what has a drive's colon or a backslash in it.
        let is_named = !name.contains([':', '\\']) && !name.contains(char::is_control);
        let is_passed_over = TABLE
            .no_projects
            .split_whitespace()
            .any(|other| other == name);
        let may_hold = is_named && !name.starts_with(['.', '_']) && !is_passed_over;
        entry.depth() == 0 || entry.file_type().is_dir() && may_hold
    };
    let walk = WalkDir::new(root)
        .max_depth(DEPTH)
        .into_iter()
        .filter_entry(is_looked_into)
        .flatten();
    let relative = |entry: DirEntry| {
        let path = entry
            .path()
            .strip_prefix(root)
            .ok()?
            .to_str()?
            .replace('\\', "/");
        Some((entry.depth(), path))
    };
    let mut all: Vec<(usize, String)> = walk.take(DIRECTORIES).filter_map(relative).collect();
    all.sort();
    all.into_iter().map(|(_, directory)| directory).collect()
}
