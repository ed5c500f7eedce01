//! Whether the packages of a lock file are the same that their names say.
//!
//! JSON, TOML and YAML are read by their parsers, the tools' own formats by the forms of `data/locks.toml`. An entry
//! is *another package* where its address or its resolution names another than its key, and has *other contents* where
//! it has another sum of the same algorithm at the same version.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    expressions::first_group,
    source_files::{Pattern, extension, file_name},
};

/// How deep the tables of a lock file are read.
const DEEPEST: usize = 24;

/// The whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LockTable {
    entries: Vec<EntryForm>,
}

/// How the lines of a lock file name a package, where no parser reads it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryForm {
    /// Whole names, in lower case.
    files: Vec<String>,
    /// A line that begins an entry.
    entry: Pattern,
    /// The names that the entry goes by.
    names: Pattern,
    /// The names that its address or resolution has.
    actual: Option<Pattern>,
    version: Pattern,
    sums: Pattern,
}

static TABLE: LazyLock<LockTable> = LazyLock::new(|| data!("locks.toml"));

/// A package of a lock file, as far as it is named.
#[derive(Default)]
struct Locked {
    /// What it goes by: more than one where it is an alias, or several ranges are one entry.
    names: BTreeSet<String>,
    /// What its address and its resolution name.
    actual: BTreeSet<String>,
    version: String,
    sums: BTreeSet<String>,
    /// What a release says of itself, which stays at its version: what it depends on, and what is loaded of it. `None`
    /// where the form of the lock file says nothing of it.
    says: Option<BTreeSet<String>>,
}

/// What a package of a lock file changes into.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum IdentityChange {
    /// `jose` is `j0se`.
    Another { name: String, actual: String },
    /// Other contents at the same version.
    Contents { name: String, version: String },
}

impl IdentityChange {
    /// What a line has by which the change is found.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Another { name, .. } | Self::Contents { name, .. } => name,
        }
    }

    pub(super) fn shown(&self) -> String {
        match self {
            Self::Another { name, actual } => format!("{name} is {actual}"),
            Self::Contents { name, version } => format!("{name} {version}"),
        }
    }
}

/// The packages that are others at the head than at the base.
pub(super) fn changed_identities(path: &str, [old, new]: [&str; 2]) -> BTreeSet<IdentityChange> {
    let before = read(path, old);
    let after = read(path, new);
    let known: BTreeSet<IdentityChange> = before.iter().flat_map(Locked::others).collect();
    let plain: BTreeSet<&String> = before.iter().flat_map(|entry| &entry.names).collect();
    let is_alias = |change: &IdentityChange| match change {
        // A package that is new may go by a name of its own, where the file says which package that is.
        IdentityChange::Another { name, actual } => {
            !plain.contains(name) && declares_alias(new, actual)
        }
        IdentityChange::Contents { .. } => false,
    };
    let others = after
        .iter()
        .flat_map(Locked::others)
        .filter(|change| !known.contains(change) && !is_alias(change));
    others.chain(changed_contents(&before, &after)).collect()
}

/// The versions that a lock file has of a package.
pub(super) fn versions(path: &str, text: &str, name: &str) -> Vec<String> {
    let entries = read(path, text);
    let own = entries
        .into_iter()
        .filter(|entry| entry.names.contains(name));
    own.map(|entry| entry.version).collect()
}

/// Whether a lock file says of a dependency that it is this package under another name.
fn declares_alias(text: &str, actual: &str) -> bool {
    text.contains(&format!("npm:{actual}@"))
}

fn changed_contents(before: &[Locked], after: &[Locked]) -> Vec<IdentityChange> {
    let mut known: BTreeMap<(&str, &str), Vec<&Locked>> = BTreeMap::new();
    for entry in before {
        for name in &entry.names {
            known.entry((name, &entry.version)).or_default().push(entry);
        }
    }
    let mut changed = Vec::new();
    for entry in after {
        for name in &entry.names {
            let was = known.get(&(name.as_str(), entry.version.as_str()));
            let differs = |known: &Vec<&Locked>| entry.differs_from_all(known);
            // A branch is no version: what it holds changes.
            let is_fixed = entry.version.contains(|c: char| c.is_ascii_digit())
                && !entry.version.contains("dev");
            if is_fixed && was.is_some_and(differs) {
                changed.push(IdentityChange::Contents {
                    name: name.clone(),
                    version: entry.version.clone(),
                });
            }
        }
    }
    changed
}

/// Whether sums of the same algorithm are others, and some of the old ones are gone. A release to which files are added
/// keeps those that it had.
fn has_other_sum(old: &BTreeSet<String>, new: &BTreeSet<String>) -> bool {
    let mut algorithms: BTreeMap<String, [BTreeSet<&String>; 2]> = BTreeMap::new();
    for (side, sums) in [old, new].into_iter().enumerate() {
        for sum in sums {
            algorithms.entry(algorithm(sum)).or_default()[side].insert(sum);
        }
    }
    algorithms
        .values()
        .any(|[old, new]| old.difference(new).count() > 0 && new.difference(old).count() > 0)
}

/// What a sum was made with: the word before `-`, `:` or `/`, and how long it is.
fn algorithm(sum: &str) -> String {
    let parts = sum.rsplit_once('/').filter(|(kind, _)| kind.len() < 8);
    let parts = parts.or_else(|| sum.split_once(['-', ':']));
    match parts {
        Some((kind, _)) => kind.to_owned(),
        None => sum.len().to_string(),
    }
}

impl Locked {
    /// Whether none of the entries of its name and version, which an earlier text has, is the same release. An entry
    /// without sums, which lists a name alone, says nothing of it.
    fn differs_from_all(&self, known: &[&Self]) -> bool {
        let mut summed = known.iter().filter(|it| !it.sums.is_empty()).peekable();
        let has_sums = summed.peek().is_some();
        let has_other_sums = has_sums && summed.all(|it| has_other_sum(&it.sums, &self.sums));
        has_other_sums || known.iter().all(|it| self.says_more_than(it))
    }

    fn says_more_than(&self, old: &Self) -> bool {
        let (Some(old), Some(new)) = (&old.says, &self.says) else {
            return false;
        };
        new.difference(old).next().is_some()
    }

    /// Where it is another package than its names say.
    fn others(&self) -> Vec<IdentityChange> {
        let folded: BTreeSet<String> = self.names.iter().map(|name| fold(name)).collect();
        let is_other = |actual: &&String| !folded.contains(&fold(actual));
        let name = self.names.first().cloned().unwrap_or_default();
        self.actual
            .iter()
            .filter(is_other)
            .map(|actual| IdentityChange::Another {
                name: name.clone(),
                actual: actual.clone(),
            })
            .collect()
    }
}

/// Names know no case, and `-`, `_` and `.` are one.
fn fold(name: &str) -> String {
    name.to_lowercase()
        .replace(['_', '.'], "-")
        .replace("%2f", "/")
}

/// The packages of a lock file.
fn read(path: &str, text: &str) -> Vec<Locked> {
    let name = file_name(path).to_lowercase();
    if let Some(form) = TABLE.entries.iter().find(|form| form.files.contains(&name)) {
        return form.read(text);
    }
    let value = match extension(path) {
        Some("json" | "resolved") => serde_json::from_str(text).ok(),
        Some("yaml") => serde_yaml::from_str(text).ok(),
        _ if file_name(path) == "Podfile.lock" => serde_yaml::from_str(text).ok(),
        _ => toml::from_str::<Value>(text)
            .ok()
            .or_else(|| serde_json::from_str(text).ok()),
    };
    let mut all = Vec::new();
    if let Some(value) = value {
        walk(&value, "", DEEPEST, &mut all);
    }
    all
}

fn walk(value: &Value, key: &str, depth: usize, all: &mut Vec<Locked>) {
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    match value {
        Value::Object(table) => {
            all.extend(locked(table, key));
            for (key, value) in table {
                walk(value, key, depth, all);
            }
        }
        Value::Array(items) => {
            for item in items {
                walk(item, "", depth, all);
            }
        }
        _ => {}
    }
}

/// The package that a table is about, if it is about one.
fn locked(table: &Map<String, Value>, key: &str) -> Option<Locked> {
    let text = |name: &str| table.get(name).and_then(Value::as_str);
    let inner = |outer: &str, name: &str| table.get(outer)?.get(name)?.as_str();
    let is_installed = key.contains("node_modules/");
    let (from_key, version) = split_key(key);
    let name = match key.is_empty() {
        true => text("name").or_else(|| text("identity"))?,
        false => from_key,
    };
    let address = [
        text("resolved"),
        text("tarball"),
        inner("resolution", "tarball"),
        inner("dist", "url"),
        inner("sdist", "url"),
    ];
    let mut entry = Locked {
        names: BTreeSet::from([name.to_owned()]),
        version: text("version").unwrap_or(version).to_owned(),
        ..Locked::default()
    };
    entry
        .actual
        .extend(address.into_iter().flatten().filter_map(name_in_address));
    entry
        .actual
        .extend(files_of(table).filter_map(name_in_address));
    let own_name = text("name").filter(|_| is_installed);
    let described = inner("description", "name");
    entry
        .actual
        .extend(own_name.or(described).map(str::to_owned));
    // pnpm resolves a dependency to a version, or to another package at a version.
    let stands_for = text("version").filter(|_| text("specifier").is_some());
    let is_alias = text("specifier").is_some_and(|range| range.contains("npm:"));
    let other = stands_for
        .and_then(|version| pattern!(r"^((?:@[\w.-]+/)?[a-zA-Z][\w.-]*)@\d").captures(version));
    entry
        .actual
        .extend(other.filter(|_| !is_alias).map(|found| found[1].to_owned()));
    entry.sums = sums_of(table);
    // Older lock files of npm keep the packages below a package under the same key.
    let says_itself = is_installed || key.is_empty();
    entry.says = says_itself.then(|| said_of_itself(table));
    (!entry.actual.is_empty() || !entry.sums.is_empty()).then_some(entry)
}

/// What a release depends on, by name, and what a package manager loads or links of it.
fn said_of_itself(table: &Map<String, Value>) -> BTreeSet<String> {
    let lists = ["dependencies", "require"].into_iter();
    let lists = lists.filter_map(|list| table.get(list)?.as_object());
    let names = lists.flatten().map(|(name, _)| name.clone());
    let loaded = ["autoload", "bin"].into_iter();
    let loaded = loaded.filter_map(|key| Some(format!("{key} {}", table.get(key)?)));
    names.chain(loaded).collect()
}

/// The addresses and names of the files of a release.
fn files_of(table: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let lists = ["files", "wheels"]
        .into_iter()
        .filter_map(|name| table.get(name));
    lists
        .filter_map(Value::as_array)
        .flatten()
        .filter_map(|file| file.get("url").or_else(|| file.get("file"))?.as_str())
}

/// The sums that a table has of its own. Those of the files of one release stand with the name of the file.
fn sums_of(table: &Map<String, Value>) -> BTreeSet<String> {
    const NAMES: [&str; 9] = [
        "integrity",
        "checksum",
        "contentHash",
        "shasum",
        "sha256",
        "narHash",
        "hash",
        "revision",
        "reference",
    ];
    let own = NAMES
        .into_iter()
        .filter_map(|name| table.get(name)?.as_str());
    let below = [
        "resolution",
        "dist",
        "description",
        "locked",
        "state",
        "sdist",
        "source",
    ]
    .into_iter()
    .filter_map(|name| table.get(name)?.as_object())
    .flat_map(|inner| {
        NAMES
            .into_iter()
            .filter_map(|name| inner.get(name)?.as_str())
    });
    let lists = ["files", "wheels", "hashes"]
        .into_iter()
        .filter_map(|name| table.get(name)?.as_array());
    let of_files = lists.flatten().filter_map(|file| match file {
        Value::String(sum) => Some(sum.clone()),
        file => {
            let name = file.get("url").or_else(|| file.get("file"))?.as_str()?;
            Some(format!(
                "{}:{}",
                file_name(name),
                file.get("hash")?.as_str()?
            ))
        }
    });
    own.chain(below)
        .filter(|sum| !sum.is_empty())
        .map(str::to_owned)
        .chain(of_files)
        .collect()
}

/// The name and version of a key: `node_modules/a`, `/a@1.0.0`, `@a/b@1.0.0(c@2)`.
fn split_key(key: &str) -> (&str, &str) {
    let key = key.rsplit("node_modules/").next().unwrap_or(key);
    let key = key.strip_prefix('/').unwrap_or(key);
    let key = key.split('(').next().unwrap_or(key);
    match key.rfind('@') {
        Some(at) if at > 0 => (&key[..at], &key[at + 1..]),
        _ => (key, ""),
    }
}

/// The package that an address of a registry names.
fn name_in_address(address: &str) -> Option<String> {
    static FORMS: LazyLock<[regex::Regex; 2]> = LazyLock::new(|| {
        [
            // npm: `/@scope/name/-/name-1.0.0.tgz`.
            r"/((?:(?:@|%40)[\w.~-]+(?:/|%2[fF]))?[\w.~-]+)/-/",
            // Python: `name-1.0.0-py3-none-any.whl`, `name-1.0.0.tar.gz`.
            r"(?:^|/)([A-Za-z][\w.]*(?:-[A-Za-z][\w.]*)*)-\d[^/]*\.(?:whl|tar\.gz|zip)(?:#|$)",
        ]
        .map(crate::expressions::compile)
    });
    FORMS.iter().find_map(|form| {
        let name = form.captures(address)?[1].replace("%40", "@");
        Some(name.replace("%2f", "/").replace("%2F", "/"))
    })
}

impl EntryForm {
    fn read(&self, text: &str) -> Vec<Locked> {
        let mut blocks: Vec<String> = Vec::new();
        for line in text.lines() {
            match blocks.last_mut().filter(|_| !self.entry.is_match(line)) {
                Some(block) => {
                    block.push('\n');
                    block.push_str(line);
                }
                None => blocks.push(line.to_owned()),
            }
        }
        blocks
            .iter()
            .filter_map(|block| self.locked(block))
            .collect()
    }

    fn locked(&self, block: &str) -> Option<Locked> {
        let head = block.lines().next()?;
        let names = groups(&self.names, head);
        let version = self.version.captures(block);
        let entry = Locked {
            actual: self
                .actual
                .iter()
                .flat_map(|actual| groups(actual, block))
                .collect(),
            version: version
                .and_then(|found| first_group(&found).map(str::to_owned))
                .unwrap_or_default(),
            sums: groups(&self.sums, block),
            says: None,
            names,
        };
        (!entry.names.is_empty()).then_some(entry)
    }
}

/// What the groups of an expression match in a text.
fn groups(pattern: &Pattern, text: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for found in pattern.captures_iter(text) {
        let groups = found.iter().skip(1).flatten();
        all.extend(groups.map(|group| group.as_str().to_owned()));
    }
    all
}

#[cfg(test)]
#[path = "locks_tests.rs"]
mod tests;
