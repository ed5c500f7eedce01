//! Finding the projects of a repository: its top, and directories below it that are projects of their own.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::{Ecosystem, node, site::Manifest, table::TABLE};

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
    /// Packages that the project's own commands take in: members of its workspace, relative to the top.
    pub members: Vec<String>,
}

/// The projects of a repository, its top first, then by directory.
///
/// What a workspace's own commands take in is no project of its own; of a workspace of packages with scripts
/// ([`Ecosystem::Node`]) it is, since only its own manifest says which scripts there are.
pub fn projects(root: &Path) -> Vec<Project> {
    let mut found: Vec<Project> = Vec::new();
    for directory in directories(root) {
        for ecosystem in Ecosystem::ALL {
            let signs = &ecosystem.row().signs;
            if !signs.iter().any(|sign| root.join(&directory).join(sign).is_file()) {
                continue;
            }
            // Beside other tools a Makefile only calls them.
            if ecosystem == Ecosystem::Make && !(directory.is_empty() && found.is_empty()) {
                continue;
            }
            let owner = found
                .iter_mut()
                .rev()
                .find(|project| project.ecosystem == ecosystem && is_below(&directory, &project.directory));
            match owner {
                Some(owner) if takes_in(root, owner, &directory) => owner.members.push(directory.clone()),
                _ => found.push(Project { directory: directory.clone(), ecosystem, members: Vec::new() }),
            }
            if found.len() >= PROJECTS {
                return found;
            }
        }
    }
    found
}

fn is_below(directory: &str, other: &str) -> bool {
    other.is_empty() && !directory.is_empty() || directory.strip_prefix(other).is_some_and(|rest| rest.starts_with('/'))
}

/// Whether the commands of the project `owner` take in the package in `directory` below it.
fn takes_in(root: &Path, owner: &Project, directory: &str) -> bool {
    let (top, inner) = (root.join(&owner.directory), root.join(directory));
    let relative = directory.strip_prefix(&owner.directory).unwrap_or(directory).trim_start_matches('/');
    match owner.ecosystem {
        Ecosystem::Rust => {
            let workspace = Manifest::read(&top.join("Cargo.toml"));
            // Cargo refuses a package below a workspace that is neither member nor excluded, so any other is one.
            workspace.has(&["workspace"])
                && !globs(&workspace.texts(&["workspace", "exclude"])).is_match(relative)
                && !Manifest::read(&inner.join("Cargo.toml")).has(&["workspace"])
        }
        // Its tests are collected from the top down.
        Ecosystem::Python => true,
        // Each module is its own: `./...` ends where another begins.
        Ecosystem::Go | Ecosystem::Ruby | Ecosystem::Php => false,
        // A project outside its own lists is built by no other project.
        Ecosystem::CMake | Ecosystem::Make => true,
        Ecosystem::Node => {
            // A package is described by its own scripts, unless those of the workspace take it in.
            let members = node_members(&top);
            let top = Manifest::read(&top.join("package.json"));
            let speaks_for_them = top.text(&["scripts", "test"]).is_some_and(|script| !node::hands_over(script));
            globs(&members).is_match(relative) && speaks_for_them
        }
        Ecosystem::Maven => {
            let parent = std::fs::read_to_string(top.join("pom.xml")).unwrap_or_default();
            parent.contains("<modules>")
        }
        Ecosystem::Gradle => {
            let has_settings = |folder: &Path| {
                ["settings.gradle", "settings.gradle.kts"].iter().any(|file| folder.join(file).is_file())
            };
            has_settings(&top) && !has_settings(&inner)
        }
    }
}

/// The globs by which a package.json or pnpm-workspace.yaml names the packages of its workspace.
fn node_members(directory: &Path) -> Vec<String> {
    let manifest = Manifest::read(&directory.join("package.json"));
    let mut members = manifest.texts(&["workspaces"]);
    members.extend(manifest.texts(&["workspaces", "packages"]));
    members.extend(Manifest::read(&directory.join("pnpm-workspace.yaml")).texts(&["packages"]));
    members
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

/// The top and the directories below it that may hold a project, parents before what is in them.
fn directories(root: &Path) -> Vec<String> {
    let mut open: BTreeMap<usize, BTreeSet<String>> = BTreeMap::from([(0, BTreeSet::from([String::new()]))]);
    let mut all = Vec::new();
    for depth in 0..=DEPTH {
        for directory in open.remove(&depth).unwrap_or_default() {
            if depth < DEPTH {
                let below = inside(root, &directory);
                open.entry(depth + 1).or_default().extend(below);
            }
            all.push(directory);
            if all.len() >= DIRECTORIES {
                return all;
            }
        }
    }
    all
}

fn inside(root: &Path, directory: &str) -> Vec<String> {
    let path: PathBuf = root.join(directory);
    let Ok(entries) = path.read_dir() else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| {
        // Symbolic links are not followed: they may lead out, or round in a circle.
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let name = entry.file_name().into_string().ok()?;
        // A configuration could not name what has a drive's colon or a backslash in it.
        let named = !name.contains([':', '\\']) && !name.contains(char::is_control);
        let is_passed_over = TABLE.no_projects.split_whitespace().any(|other| other == name);
        let looked_into = named && !name.starts_with(['.', '_']) && !is_passed_over;
        (is_directory && looked_into).then_some(name)
    });
    names
        .take(DIRECTORIES)
        .map(|name| if directory.is_empty() { name } else { format!("{directory}/{name}") })
        .collect()
}
