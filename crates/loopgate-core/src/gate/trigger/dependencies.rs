//! New dependencies in manifests, read from patches. How each manifest names them is data: `data/manifests.toml`.
//!
//! A dependency is new when a manifest's patch adds its name and takes it away nowhere: a version bump, a move or a
//! change of order is none. A lock file names what the manifests bring with them, and says nothing of its own. A patch
//! shows a manifest in pieces, so where the section of a line is not in sight, the line's own form decides.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::{
    reading::has_no_change,
    sources::{TABLE, is_named},
};
use crate::{
    observed::{ChangedFile, FileStatus, LineChange, Patch},
    source_files::Pattern,
};

/// A row `dependencies` of `data/manifests.toml`, which says what its keys mean.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DependencyForm {
    files: Vec<String>,
    opens: Option<Pattern>,
    leaves: Option<Pattern>,
    name: Option<Pattern>,
    telling: Option<Pattern>,
    #[serde(default)]
    others: BTreeSet<String>,
    except: Option<Pattern>,
    compiled: Option<Pattern>,
    #[serde(default)]
    folds: bool,
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
    let is_in_form = |form: &DependencyForm, path: &str| is_named(path, &form.files);
    let forms = || TABLE.dependencies.iter().filter(|form| is_in_form(form, &file.path));
    if forms().next().is_none() {
        return Added::NotAManifest;
    }
    // What becomes a manifest by being renamed brings dependencies that no patch shows.
    let was_other = |old: &String| !forms().all(|form| is_in_form(form, old));
    if file.status == FileStatus::Renamed && file.previous_path.as_ref().is_some_and(was_other) {
        return Added::Unreadable;
    }
    if file.status == FileStatus::Removed || has_no_change(file) {
        return Added::Names(Vec::new());
    }
    let Some(patch) = patch else { return Added::Unreadable };
    let is_compiled = |mark: &Pattern| patch.lines().any(|line| mark.0.is_match(line.text));
    if forms().filter_map(|form| form.compiled.as_ref()).any(is_compiled) {
        return Added::NotAManifest;
    }
    let mut added: Vec<(u32, String)> = forms().flat_map(|form| form.added(patch)).collect();
    added.sort_by_key(|(line, _)| *line);
    let mut known = BTreeSet::new();
    added.retain(|(_, name)| known.insert(name.clone()));
    Added::Names(added)
}

/// What is known of the section that a line stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    /// The patch begins in the middle of it.
    Unseen,
    Dependencies,
    Other,
}

impl DependencyForm {
    /// Names that the patch adds and takes away nowhere, with their lines at the head.
    fn added(&self, patch: &Patch<'_>) -> Vec<(u32, String)> {
        let (mut added, mut removed) = (Vec::new(), BTreeSet::new());
        for hunk in &patch.hunks {
            // The header names the section that the hunk begins in, where git knows it. Lines that stay move both sides on
            // to the section they stand in.
            let (mut new, mut old) = (Section::Unseen, Section::Unseen);
            self.names(hunk.heading, &mut new);
            self.names(hunk.heading, &mut old);
            for line in &hunk.lines {
                let in_new = if line.is_new() { self.names(line.text, &mut new) } else { Vec::new() };
                let in_old = if line.is_old() { self.names(line.text, &mut old) } else { Vec::new() };
                match line.change {
                    LineChange::Added => added.extend(in_new.into_iter().map(|name| (line.new, name))),
                    LineChange::Removed => removed.extend(in_old),
                    LineChange::Unchanged => {}
                }
            }
        }
        added.retain(|(_, name)| !removed.contains(name));
        added
    }

    /// The dependencies that a line names, and the section that it leaves the reader in.
    fn names(&self, line: &str, section: &mut Section) -> Vec<String> {
        let line = line.trim_end();
        if self.except.as_ref().is_some_and(|except| except.0.is_match(line)) {
            return Vec::new();
        }
        let mut marks = Vec::new();
        for (order, pattern) in [&self.leaves, &self.opens, &self.name, &self.telling].into_iter().enumerate() {
            for found in pattern.iter().flat_map(|pattern| pattern.0.captures_iter(line)) {
                let name = found.iter().skip(1).flatten().next().map(|name| name.as_str());
                marks.push((found.get(0).map_or(0, |whole| whole.start()), order, name));
            }
        }
        marks.sort_unstable();
        let mut names = Vec::new();
        for (_, order, name) in marks {
            let counts = match order {
                0 | 1 => true,
                2 => *section == Section::Dependencies,
                _ => *section == Section::Unseen && name.is_some_and(|name| !self.others.contains(name)),
            };
            names.extend(name.filter(|_| counts).map(|name| self.folded(name)));
            *section = match (order, name) {
                (1, None) => Section::Dependencies,
                // A header that names a dependency is followed by its settings.
                (0 | 1, _) => Section::Other,
                _ => *section,
            };
        }
        names
    }

    fn folded(&self, name: &str) -> String {
        if self.folds { name.to_ascii_lowercase().replace(['_', '.'], "-") } else { name.to_owned() }
    }
}

#[cfg(test)]
#[path = "dependencies_tests.rs"]
mod tests;
