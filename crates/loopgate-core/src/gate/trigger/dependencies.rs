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
    words::first_group,
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

/// The dependencies that a file adds, with their lines at the head, in order: none where it is no manifest. `None` if its
/// changes cannot be read. `patch` are they, if they could be read.
pub(super) fn added(file: &ChangedFile, patch: Option<&Patch<'_>>) -> Option<Vec<(u32, String)>> {
    let is_in_form = |form: &DependencyForm, path: &str| is_named(path, &form.files);
    let forms: Vec<&DependencyForm> = TABLE.dependencies.iter().filter(|form| is_in_form(form, &file.path)).collect();
    if forms.is_empty() {
        return Some(Vec::new());
    }
    // What becomes a manifest by being renamed brings dependencies that no patch shows.
    let was_other = |old: &String| !forms.iter().all(|form| is_in_form(form, old));
    if file.status == FileStatus::Renamed && file.previous_path.as_ref().is_some_and(was_other) {
        return None;
    }
    if file.status == FileStatus::Removed || has_no_change(file) {
        return Some(Vec::new());
    }
    let patch = patch?;
    let is_compiled = |mark: &Pattern| patch.lines().any(|line| mark.is_match(line.text));
    if forms.iter().filter_map(|form| form.compiled.as_ref()).any(is_compiled) {
        return Some(Vec::new());
    }
    let mut added: Vec<(u32, String)> = forms.iter().flat_map(|form| form.added(patch)).collect();
    added.sort_by_key(|(line, _)| *line);
    let mut known = BTreeSet::new();
    added.retain(|(_, name)| known.insert(name.clone()));
    Some(added)
}

/// What is known of the section that a line stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ManifestSection {
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
            let (mut new, mut old) = (ManifestSection::Unseen, ManifestSection::Unseen);
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
    fn names(&self, line: &str, section: &mut ManifestSection) -> Vec<String> {
        let line = line.trim_end();
        if self.except.as_ref().is_some_and(|except| except.is_match(line)) {
            return Vec::new();
        }
        let mut marks = Vec::new();
        for (order, pattern) in [&self.leaves, &self.opens, &self.name, &self.telling].into_iter().enumerate() {
            for found in pattern.iter().flat_map(|pattern| pattern.captures_iter(line)) {
                let name = first_group(&found);
                marks.push((found.get(0).map_or(0, |whole| whole.start()), order, name));
            }
        }
        marks.sort_unstable();
        let mut names = Vec::new();
        for (_, order, name) in marks {
            let counts = match order {
                0 | 1 => true,
                2 => *section == ManifestSection::Dependencies,
                _ => *section == ManifestSection::Unseen && name.is_some_and(|name| !self.others.contains(name)),
            };
            names.extend(name.filter(|_| counts).map(|name| match self.folds {
                true => name.to_ascii_lowercase().replace(['_', '.'], "-"),
                false => name.to_owned(),
            }));
            *section = match (order, name) {
                (1, None) => ManifestSection::Dependencies,
                // A header that names a dependency is followed by its settings.
                (0 | 1, _) => ManifestSection::Other,
                _ => *section,
            };
        }
        names
    }
}

#[cfg(test)]
#[path = "dependencies_tests.rs"]
mod tests;
