//! Where packages come from, what runs when they are installed, and which actions a workflow uses.
//!
//! `data/manifests.toml` has one row for each form in which manifests and lock files name a source.

use std::{collections::BTreeSet, sync::LazyLock};

use serde::Deserialize;

use super::{
    dependencies::DependencyForm,
    reading::{ChangedLine, FileReading},
};
use crate::{
    observed::{AccountKind, DiffHunk, DiffLine, LineChange, PullRequest},
    source_files::{FileKind, Pattern, kind},
};

/// The whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ManifestTable {
    manifest: Vec<ManifestForm>,
    /// Lock files. Unless configured otherwise, tools ask the hosts that are `others`.
    lock: ManifestForm,
    pub(super) dependencies: Vec<DependencyForm>,
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

pub(super) static TABLE: LazyLock<ManifestTable> = LazyLock::new(|| data!("manifests.toml"));

/// Whether a file lists what a tool has resolved from manifests.
pub(super) fn is_lock_file(path: &str) -> bool {
    is_named(path, &TABLE.lock.files)
}

/// Whether a path has one of these names, as the table writes them.
pub(super) fn is_named(path: &str, names: &[String]) -> bool {
    let path = path.to_lowercase();
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let is_requirements = || path.contains("requirements") && [".txt", ".in"].iter().any(|end| name.ends_with(end));
    names.iter().any(|known| match known.split_once('/') {
        Some((folder, end)) => folders.rsplit('/').next() == Some(folder) && name.ends_with(end),
        None if known == "requirements" => is_requirements(),
        None => known == name || known.starts_with('.') && name.ends_with(known.as_str()),
    })
}

/// The rows for a path.
fn rows(path: &str) -> Vec<&'static ManifestForm> {
    let rows = if is_lock_file(path) { std::slice::from_ref(&TABLE.lock) } else { &TABLE.manifest };
    rows.iter().filter(|row| is_named(path, &row.files)).collect()
}

/// Lines that change where packages come from, with the source: one that the other side does not name. Of a lock file,
/// added lines alone, compared with the whole text at the base where that was read.
pub(super) fn changed_sources<'a>(
    reading: &FileReading<'a>,
    texts: Option<[&str; 2]>,
) -> Vec<(ChangedLine<'a>, String)> {
    // What git shows of a submodule instead of lines.
    let commit = reading.lines.iter().find(|line| line.is_added && line.text.starts_with("Subproject commit "));
    if let Some(line) = commit {
        return vec![(*line, line.text.to_owned())];
    }
    let (rows, is_lock) = (rows(&reading.file.path), is_lock_file(&reading.file.path));
    let named = |text: &str| {
        let all: Vec<String> = rows.iter().filter_map(|row| found(&row.sources, text, &row.others)).collect();
        (!all.is_empty()).then(|| all.join(" "))
    };
    let of_side = |is_added: bool| -> BTreeSet<String> {
        reading.lines.iter().filter(|line| line.is_added == is_added).filter_map(|line| named(line.text)).collect()
    };
    let new = of_side(true);
    let old = match texts.filter(|_| is_lock) {
        Some([old, _]) => old.lines().filter_map(named).collect(),
        None => of_side(false),
    };
    let removed_lines = || reading.lines.iter().filter(|line| !line.is_added);
    let of_path = |text: &str| rows.iter().find_map(|row| found(&row.paths, text, &BTreeSet::new()));
    let path = |line: &ChangedLine<'_>| {
        let name = of_path(line.text).filter(|_| line.is_added)?;
        let key = name.split(['=', ':', ',']).next().unwrap_or(&name).trim().to_owned();
        removed_lines().any(|line| line.text.contains(&key) && of_path(line.text).is_none()).then_some(name)
    };
    let changed = |line: &ChangedLine<'a>| {
        let other = if line.is_added { &old } else { &new };
        named(line.text).filter(|source| !other.contains(source)).or_else(|| path(line))
    };
    let lines = reading.lines.iter().filter(|line| line.is_added || !is_lock);
    lines.filter_map(|line| Some((*line, changed(line)?))).collect()
}

/// All that expressions name in a line: their groups, else what they match. What begins with one of the other names is
/// left out.
fn found(expressions: &[Pattern], text: &str, others: &BTreeSet<String>) -> Option<String> {
    let mut named: Vec<&str> = Vec::new();
    for found in expressions.iter().flat_map(|expression| expression.captures_iter(text)) {
        if found.get(1).is_some_and(|first| others.contains(first.as_str())) {
            continue;
        }
        let groups: Vec<&str> = found.iter().skip(1).flatten().map(|group| group.as_str().trim()).collect();
        let whole = found.get(0).map(|whole| whole.as_str().trim());
        named.extend(if groups.is_empty() { whole.into_iter().collect() } else { groups });
    }
    (!named.is_empty()).then(|| named.join(" "))
}

/// Added lines that name a command which runs when packages are installed.
pub(super) fn added_hooks<'a>(reading: &FileReading<'a>) -> Vec<(ChangedLine<'a>, String)> {
    let rows = rows(&reading.file.path);
    let hook = |line: &ChangedLine<'_>| rows.iter().find_map(|row| found(&row.hooks, line.text, &BTreeSet::new()));
    reading.lines.iter().filter(|line| line.is_added).filter_map(|line| Some((*line, hook(line)?))).collect()
}

/// Whether a workflow changes in nothing but the references of the actions that it uses, each at its place: by an update
/// bot, or from one version to another. A commit that somebody else writes there may be one of a fork
/// (docs.github.com, "Secure use reference", on pinning actions).
pub(super) fn changes_only_references(reading: &FileReading<'_>, pull: &PullRequest) -> bool {
    let Some(patch) = reading.patch.as_ref().filter(|_| !reading.is_unreadable) else { return false };
    if kind(&reading.file.path) != FileKind::Ci || reading.file.previous_path.is_some() {
        return false;
    }
    let login = pull.author.login.as_str().to_lowercase();
    let by_bot =
        pull.author.kind == AccountKind::Bot && ["dependabot", "renovate"].iter().any(|bot| login.contains(bot));
    let is_version = |reference: &str| {
        let version = reference.strip_prefix('v').unwrap_or(reference);
        (1..=20).contains(&version.len()) && version.chars().all(|c| c.is_ascii_digit() || c == '.')
    };
    let action = |line: &DiffLine<'_>| {
        let uses = line.text.trim_start().trim_start_matches("- ").strip_prefix("uses:")?;
        // Update bots keep the version in a comment behind it.
        let (action, reference) = uses.split(" #").next()?.trim().trim_matches(['"', '\'']).rsplit_once('@')?;
        (by_bot || is_version(reference)).then(|| action.to_owned())
    };
    let changed = patch.hunks.iter().flat_map(DiffHunk::runs).filter(|run| run[0].is_changed());
    let is_reference = |run: &[DiffLine<'_>]| {
        let of_side = |side| run.iter().filter(move |line| line.change == side).map(action);
        of_side(LineChange::Added).all(|action| action.is_some())
            && of_side(LineChange::Added).eq(of_side(LineChange::Removed))
    };
    !reading.lines.is_empty() && changed.into_iter().all(is_reference)
}
