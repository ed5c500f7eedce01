//! What a manifest or lock file says: which dependencies are new, where packages come from, what runs when they are
//! installed; and which actions a workflow uses. How each file says it is data: `data/manifests.toml`.
//!
//! A dependency is new when a manifest's patch adds its name and takes it away nowhere: a version bump, a move or a
//! change of order is none. A lock file names what the manifests bring with them, and says nothing of its own. A patch
//! shows a manifest in pieces, so where the section of a line is not in sight, the line's own form decides.

use std::{collections::BTreeSet, sync::LazyLock};

use serde::Deserialize;

use super::{
    locks::{IdentityChange, changed_identities},
    reading::{ChangedLine, FileReading, has_no_change},
};
use crate::{
    expressions::first_group,
    observed::{ChangedFile, DiffHunk, DiffLine, FileStatus, LineChange, Patch},
    source_files::{FileKind, Pattern},
};

/// The whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ManifestTable {
    manifest: Vec<ManifestForm>,
    /// Lock files. Unless configured otherwise, tools ask the hosts that are `others`.
    lock: ManifestForm,
    dependencies: Vec<DependencyForm>,
}

/// How some manifests name sources and commands.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ManifestForm {
    /// Whole names, and ends of names that begin with a dot, in lower case, some with the folder that they lie in.
    files: Vec<String>,
    #[serde(default)]
    sources: Vec<Pattern>,
    /// Names in group 1 of a source that are no package's.
    #[serde(default)]
    others: BTreeSet<String>,
    #[serde(default)]
    hooks: Vec<Pattern>,
    /// Group 1 is the name of a package that is a source only where the package was there before.
    #[serde(default)]
    paths: Vec<Pattern>,
}

static TABLE: LazyLock<ManifestTable> = LazyLock::new(|| data!("manifests.toml"));

/// Whether a file lists what a tool has resolved from manifests.
pub(super) fn is_lock_file(path: &str) -> bool {
    is_named(&path.to_lowercase(), &TABLE.lock.files)
}

/// A name for all lists of requirements, whatever stands around the word.
const REQUIREMENTS: &str = "requirements";

/// Whether a path, in lower case, has one of these names, as the table writes them.
fn is_named(path: &str, names: &[String]) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_requirements =
        || path.contains(REQUIREMENTS) && [".txt", ".in"].iter().any(|end| name.ends_with(end));
    let is_it = |known: &String| match known.split_once('/') {
        Some((folder, end)) => folders.rsplit('/').next() == Some(folder) && name.ends_with(end),
        None if known == REQUIREMENTS => is_requirements(),
        None => known == name || known.starts_with('.') && name.ends_with(known.as_str()),
    };
    // Of most names not even the last letter is the path's.
    let last = name.as_bytes().last();
    let may_be = |known: &&String| known.as_bytes().last() == last || *known == REQUIREMENTS;
    names.iter().filter(may_be).any(is_it)
}

/// Whether a row is about a path.
pub(super) fn is_listed(path: &str) -> bool {
    !rows(path).is_empty()
}

/// The rows for a path.
fn rows(path: &str) -> Vec<&'static ManifestForm> {
    let path = path.to_lowercase();
    let lock = is_named(&path, &TABLE.lock.files).then(|| std::slice::from_ref(&TABLE.lock));
    lock.unwrap_or(&TABLE.manifest)
        .iter()
        .filter(|row| is_named(&path, &row.files))
        .collect()
}

/// Whether a file may say anything of packages: a row is about it, or it is a submodule.
pub(super) fn is_of_packages(reading: &FileReading<'_>) -> bool {
    let path = &reading.file.path;
    let lower = path.to_lowercase();
    let mut dependencies = TABLE.dependencies.iter();
    submodule(reading).is_some()
        || is_listed(path)
        || dependencies.any(|form| is_named(&lower, &form.files))
}

/// What git shows of a submodule instead of lines.
fn submodule<'a>(reading: &FileReading<'a>) -> Option<ChangedLine<'a>> {
    let mut lines = reading.lines.iter();
    let commit =
        |line: &&ChangedLine<'_>| line.is_added && line.text.starts_with("Subproject commit ");
    lines.find(commit).copied()
}

/// Lines that change where packages come from, with the source: one that the other side does not name. Of a lock file,
/// added lines alone, compared with the whole text at the base where that was read.
pub(super) fn changed_sources<'a>(
    reading: &FileReading<'a>,
    texts: Option<[&str; 2]>,
) -> Vec<(ChangedLine<'a>, String)> {
    if let Some(line) = submodule(reading) {
        return vec![(line, line.text.to_owned())];
    }
    let (rows, is_lock) = (rows(&reading.file.path), is_lock_file(&reading.file.path));
    let named = |text: &str| {
        let all: Vec<String> = rows
            .iter()
            .filter_map(|row| found(&row.sources, text, &row.others))
            .collect();
        (!all.is_empty()).then(|| all.join(" "))
    };
    let of_side = |is_added: bool| -> BTreeSet<String> {
        reading
            .lines
            .iter()
            .filter(|line| line.is_added == is_added)
            .filter_map(|line| named(line.text))
            .collect()
    };
    let new = of_side(true);
    let old = match texts.filter(|_| is_lock) {
        Some([old, _]) => old.lines().filter_map(named).collect(),
        None => of_side(false),
    };
    let removed_lines = || reading.lines.iter().filter(|line| !line.is_added);
    let of_path = |text: &str| {
        rows.iter()
            .find_map(|row| found(&row.paths, text, &BTreeSet::new()))
    };
    let path = |line: &ChangedLine<'_>| {
        let name = of_path(line.text).filter(|_| line.is_added)?;
        let key = name
            .split(['=', ':', ','])
            .next()
            .unwrap_or(&name)
            .trim()
            .to_owned();
        removed_lines()
            .any(|line| line.text.contains(&key) && of_path(line.text).is_none())
            .then_some(name)
    };
    let changed = |line: &ChangedLine<'a>| {
        let other = if line.is_added { &old } else { &new };
        named(line.text)
            .filter(|source| !other.contains(source))
            .or_else(|| path(line))
    };
    let lines = reading
        .lines
        .iter()
        .filter(|line| line.is_added || !is_lock);
    lines
        .filter_map(|line| Some((*line, changed(line)?)))
        .collect()
}

/// The packages of a lock file that are others at the head than at the base, each with the line that names it, where one
/// does. Where the texts were not read, each side is what the patch shows of it.
pub(super) fn other_packages<'a>(
    reading: &FileReading<'a>,
    texts: Option<[&str; 2]>,
) -> Vec<(Option<ChangedLine<'a>>, String)> {
    let path = &reading.file.path;
    if !is_lock_file(path) {
        return Vec::new();
    }
    let sides = match texts {
        Some([old, new]) => vec![[old.to_owned(), new.to_owned()]],
        None => sides_of_hunks(reading),
    };
    let added = || reading.lines.iter().filter(|line| line.is_added);
    let line_of = |change: &IdentityChange| {
        let actual = match change {
            IdentityChange::Another { actual, .. } => actual,
            IdentityChange::Contents { version, .. } => version,
        };
        let mut found = [actual.as_str(), change.name()].into_iter();
        found.find_map(|word| added().find(|line| line.text.contains(word)).copied())
    };
    let changes: BTreeSet<IdentityChange> = sides
        .iter()
        .flat_map(|[old, new]| changed_identities(path, [old, new]))
        .collect();
    changes
        .into_iter()
        .map(|change| {
            let line = line_of(&change).or_else(|| added().next().copied());
            (line, change.shown())
        })
        .collect()
}

/// What each hunk of a patch shows of a file at the base and at the head: an entry does not go on in the next.
fn sides_of_hunks(reading: &FileReading<'_>) -> Vec<[String; 2]> {
    let side = |hunk: &DiffHunk<'_>, is_new: bool| {
        let own = hunk.lines.iter().filter(|line| match is_new {
            true => line.is_new(),
            false => line.is_old(),
        });
        own.map(|line| line.text).collect::<Vec<_>>().join("\n")
    };
    let hunks = reading.patch.iter().flat_map(|patch| &patch.hunks);
    hunks
        .map(|hunk| [side(hunk, false), side(hunk, true)])
        .collect()
}

/// All that expressions name in a line: their groups, else what they match. What begins with one of the other names is
/// left out.
fn found(expressions: &[Pattern], text: &str, others: &BTreeSet<String>) -> Option<String> {
    let mut named: Vec<&str> = Vec::new();
    for found in expressions
        .iter()
        .flat_map(|expression| expression.captures_iter(text))
    {
        if found
            .get(1)
            .is_some_and(|first| others.contains(first.as_str()))
        {
            continue;
        }
        let groups: Vec<&str> = found
            .iter()
            .skip(1)
            .flatten()
            .map(|group| group.as_str().trim())
            .collect();
        let whole = found.get(0).map(|whole| whole.as_str().trim());
        named.extend(if groups.is_empty() {
            whole.into_iter().collect()
        } else {
            groups
        });
    }
    (!named.is_empty()).then(|| named.join(" "))
}

/// Added lines that name a command which runs when packages are installed.
pub(super) fn added_hooks<'a>(reading: &FileReading<'a>) -> Vec<(ChangedLine<'a>, String)> {
    let rows = rows(&reading.file.path);
    let hook = |line: &ChangedLine<'_>| {
        rows.iter()
            .find_map(|row| found(&row.hooks, line.text, &BTreeSet::new()))
    };
    reading
        .lines
        .iter()
        .filter(|line| line.is_added)
        .filter_map(|line| Some((*line, hook(line)?)))
        .collect()
}

/// Whether a workflow changes in nothing but the references of the actions that it uses, each at its place: by an
/// update bot, or from one version to another. A commit that somebody else writes there may be one of a fork
/// (docs.github.com, "Secure use reference", on pinning actions).
pub(super) fn changes_only_references(reading: &FileReading<'_>, by_bot: bool) -> bool {
    let Some(patch) = reading.patch.as_ref().filter(|_| !reading.is_unreadable) else {
        return false;
    };
    if reading.kinds[0] != FileKind::Ci || reading.file.previous_path.is_some() {
        return false;
    }
    let is_version = |reference: &str| {
        let version = reference.strip_prefix('v').unwrap_or(reference);
        (1..=20).contains(&version.len()) && version.chars().all(|c| c.is_ascii_digit() || c == '.')
    };
    let action = |line: &DiffLine<'_>| {
        let uses = line
            .text
            .trim_start()
            .trim_start_matches("- ")
            .strip_prefix("uses:")?;
        // Update bots keep the version in a comment behind it.
        let (action, reference) = uses
            .split(" #")
            .next()?
            .trim()
            .trim_matches(['"', '\''])
            .rsplit_once('@')?;
        (by_bot || is_version(reference)).then(|| action.to_owned())
    };
    let changed = patch
        .hunks
        .iter()
        .flat_map(DiffHunk::runs)
        .filter(|run| run[0].is_changed());
    let is_reference = |run: &[DiffLine<'_>]| {
        let of_side = |side| {
            run.iter()
                .filter(move |line| line.change == side)
                .map(action)
        };
        of_side(LineChange::Added).all(|action| action.is_some())
            && of_side(LineChange::Added).eq(of_side(LineChange::Removed))
    };
    !reading.lines.is_empty() && changed.into_iter().all(is_reference)
}

/// A row `dependencies` of `data/manifests.toml`, which says what its keys mean.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DependencyForm {
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

/// The dependencies that a file adds, with their lines at the head, in order: none where it is no manifest. `None` if
/// its changes cannot be read. `patch` are they, if they could be read.
pub(super) fn added_dependencies(
    file: &ChangedFile,
    patch: Option<&Patch<'_>>,
) -> Option<Vec<(u32, String)>> {
    let path = file.path.to_lowercase();
    let forms: Vec<&DependencyForm> = TABLE
        .dependencies
        .iter()
        .filter(|form| is_named(&path, &form.files))
        .collect();
    if forms.is_empty() {
        return Some(Vec::new());
    }
    // What becomes a manifest by being renamed brings dependencies that no patch shows.
    let was_other = |old: &String| {
        !forms
            .iter()
            .all(|form| is_named(&old.to_lowercase(), &form.files))
    };
    if file.status == FileStatus::Renamed && file.previous_path.as_ref().is_some_and(was_other) {
        return None;
    }
    if file.status == FileStatus::Removed || has_no_change(file) {
        return Some(Vec::new());
    }
    let patch = patch?;
    let is_compiled = |mark: &Pattern| patch.lines().any(|line| mark.is_match(line.text));
    if forms
        .iter()
        .filter_map(|form| form.compiled.as_ref())
        .any(is_compiled)
    {
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
            // The header names the section that the hunk begins in, where git knows it. Lines that stay move both sides
            // on to the section they stand in.
            let (mut new, mut old) = (ManifestSection::Unseen, ManifestSection::Unseen);
            self.names(hunk.heading, &mut new);
            self.names(hunk.heading, &mut old);
            for line in &hunk.lines {
                let in_new = if line.is_new() {
                    self.names(line.text, &mut new)
                } else {
                    Vec::new()
                };
                let in_old = if line.is_old() {
                    self.names(line.text, &mut old)
                } else {
                    Vec::new()
                };
                match line.change {
                    LineChange::Added => {
                        added.extend(in_new.into_iter().map(|name| (line.new, name)))
                    }
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
        if self
            .except
            .as_ref()
            .is_some_and(|except| except.is_match(line))
        {
            return Vec::new();
        }
        let mut marks = Vec::new();
        for (order, pattern) in [&self.leaves, &self.opens, &self.name, &self.telling]
            .into_iter()
            .enumerate()
        {
            for found in pattern
                .iter()
                .flat_map(|pattern| pattern.captures_iter(line))
            {
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
                _ => {
                    *section == ManifestSection::Unseen
                        && name.is_some_and(|name| !self.others.contains(name))
                }
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
#[path = "manifests_tests.rs"]
mod tests;
