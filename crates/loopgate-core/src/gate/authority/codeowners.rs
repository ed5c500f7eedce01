//! CODEOWNERS, in GitHub's own syntax and precedence ("About code owners" in GitHub's documentation).
//!
//! The last matching line decides, even without an owner. A line GitHub would skip as invalid is skipped: negation
//! with `!`, character ranges with `[ ]`, a pattern that begins with an escaped `#`, an owner that is none; and one whose
//! pattern is too large to be meant.

use std::collections::{BTreeMap, BTreeSet};

use regex::bytes::{Regex, RegexBuilder};

use crate::{
    ids::{Login, TeamSlug},
    policy::Recipient,
};

/// GitHub does not read a larger file.
const LARGEST: usize = 3 * 1024 * 1024;
/// Largest automaton of one pattern, in bytes.
const LARGEST_PATTERN: usize = 1 << 17;

/// Somebody who owns files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    User(Login),
    Team(TeamSlug),
    /// Only GitHub knows whose address it is.
    Email(String),
}

impl Owner {
    /// The person or team; none of an address.
    pub(in crate::gate) fn recipient(&self) -> Option<Recipient> {
        match self {
            Self::User(login) => Some(Recipient::User(login.clone())),
            Self::Team(team) => Some(Recipient::Team(team.clone())),
            Self::Email(_) => None,
        }
    }
}

/// The people and teams that own any of these paths, to be called. Addresses are left out: only GitHub knows whose they
/// are.
pub(crate) fn owners_of<'p>(codeowners: &str, paths: impl Iterator<Item = &'p str>) -> BTreeSet<Recipient> {
    owners_by_path(codeowners, paths).values().flatten().filter_map(Owner::recipient).collect()
}

/// A word of a CODEOWNERS file that stands where an owner does. Lines and columns count from 1, columns in characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerMention {
    pub line: usize,
    pub column: usize,
    /// `None`: the word names no owner, and GitHub skips the whole line.
    pub owner: Option<Owner>,
    pub word: String,
}

/// Every owner that a CODEOWNERS file names, in the order of the text.
pub fn owner_mentions(text: &str) -> Vec<OwnerMention> {
    lines(text).flat_map(|(_, mentions)| mentions).collect()
}

/// The pattern of each line that has one, with what stands where owners do.
fn lines(text: &str) -> impl Iterator<Item = (String, Vec<OwnerMention>)> {
    let text = if text.len() > LARGEST { "" } else { text };
    text.lines().enumerate().filter_map(|(index, line)| {
        let (pattern, rest) = take_pattern(line.trim())?;
        let mut at = line.trim_end().len() - rest.len();
        let words = rest.split_whitespace().take_while(|word| !word.starts_with('#'));
        let mentions = words.map(|word| {
            at += line[at..].find(word).unwrap_or_default();
            let column = line[..at].chars().count() + 1;
            at += word.len();
            OwnerMention { line: index + 1, column, owner: Owner::parse(word), word: word.to_owned() }
        });
        Some((pattern, mentions.collect()))
    })
}

/// The owners of each of these paths that has some.
pub(in crate::gate) fn owners_by_path<'p>(
    codeowners: &str,
    paths: impl Iterator<Item = &'p str>,
) -> BTreeMap<&'p str, Vec<Owner>> {
    let mut owned: BTreeMap<&str, Vec<Owner>> = BTreeMap::new();
    let mut open: BTreeSet<&str> = paths.collect();
    let lines: Vec<_> = lines(codeowners).collect();
    for (pattern, mentions) in lines.into_iter().rev() {
        if open.is_empty() {
            break;
        }
        let owners: Option<Vec<Owner>> = mentions.into_iter().map(|mention| mention.owner).collect();
        let Some((owners, form)) = owners.zip(expression(&pattern)) else { continue };
        open.retain(|path| {
            let decides = form.is_match(path.as_bytes());
            if decides && !owners.is_empty() {
                owned.insert(*path, owners.clone());
            }
            !decides
        });
    }
    owned
}

/// The pattern, with `\ ` read as a space, and the rest of the line.
fn take_pattern(line: &str) -> Option<(String, &str)> {
    if line.is_empty() || line.starts_with(['#', '!', '\\', '[']) {
        return None;
    }
    let mut pattern = String::new();
    let mut characters = line.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '\\' => pattern.push(characters.next()?.1),
            c if c.is_whitespace() => return Some((pattern, &line[at..])),
            c => pattern.push(c),
        }
    }
    Some((pattern, ""))
}

impl Owner {
    fn parse(word: &str) -> Option<Self> {
        match word.strip_prefix('@') {
            Some(team) if team.contains('/') => team.parse().ok().map(Self::Team),
            Some(login) => login.parse().ok().map(Self::User),
            None => {
                let (local, domain) = word.split_once('@')?;
                (!local.is_empty() && domain.contains('.')).then(|| Self::Email(word.to_owned()))
            }
        }
    }
}

/// A pattern as gitignore reads it, as far as CODEOWNERS goes; `None` if its line is skipped.
fn expression(pattern: &str) -> Option<Regex> {
    const FOLDERS: &str = "(?:.*/)?";
    if pattern.contains(['[', ']']) {
        return None;
    }
    // `docs/` is only what is below it.
    let (body, takes_path) = pattern.strip_suffix('/').map_or((pattern, true), |body| (body, false));
    let (body, rooted) = body.strip_prefix('/').map_or((body, body.contains('/')), |body| (body, true));
    let names: Vec<&str> = body.split('/').filter(|name| !name.is_empty()).collect();
    let (last, folders) = names.split_last().unwrap_or((&"**", &[]));
    let letters = |name: &str| regex::escape(name).replace(r"\*", "[^/]*").replace(r"\?", "(?u:[^/])");
    let mut form = String::from(if rooted && !names.is_empty() { "" } else { FOLDERS });
    for folder in folders {
        form += &if *folder == "**" { FOLDERS.to_owned() } else { letters(folder) + "/" };
    }
    form += &letters(if *last == "**" { "*" } else { last });
    // `docs/*` is nothing deeper. A closing `**`, and `/` alone, take everything below, and nothing less.
    form += match (takes_path || names.is_empty(), takes_path && rooted && *last == "*") {
        (true, true) => "",
        (true, false) => "(?:/.*)?",
        (false, _) => "/.*",
    };
    let mut builder = RegexBuilder::new(&format!(r"\A{form}\z"));
    builder.unicode(false).dot_matches_new_line(true).size_limit(LARGEST_PATTERN).build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(pattern: &str, path: &str) -> bool {
        owners_by_path(&format!("{pattern} @a"), std::iter::once(path)).contains_key(path)
    }

    #[test]
    fn patterns_match_as_githubs_documentation_says() {
        for (pattern, yes, no) in [
            ("*", &["a", "a/b/c.rs"][..], &[][..]),
            ("*.js", &["a.js", "x/y/b.js"], &["a.jsx", "a.js2"]),
            ("/build/logs/", &["build/logs/a", "build/logs/b/c"], &["build/logs", "x/build/logs/a"]),
            ("docs/*", &["docs/getting-started.md"], &["docs/build-app/troubleshooting.md", "x/docs/a.md"]),
            ("apps/", &["apps/a", "x/apps/b/c"], &["apps", "xapps/a"]),
            ("/docs/", &["docs/a", "docs/b/c"], &["x/docs/a"]),
            ("/scripts/", &["scripts/a.sh"], &["a/scripts/b"]),
            ("**/logs", &["logs/a", "build/logs/b", "deeply/nested/logs/c"], &["logsx/a"]),
            ("/apps/github", &["apps/github", "apps/github/a"], &["apps/githubx", "x/apps/github"]),
            ("src/**/test.rs", &["src/test.rs", "src/a/b/test.rs"], &["test.rs"]),
            ("src/**", &["src/a", "src/a/b"], &["src"]),
            ("file?.txt", &["file1.txt", "x/file2.txt"], &["file.txt", "file12.txt"]),
            (r"my\ docs/", &["my docs/a"], &["my", "docs/a"]),
            ("a*b*c", &["abc", "axxbyyc"], &["ab", "axxbyycd"]),
            ("src/a", &["src/a", "src/a/b"], &["x/src/a"]),
            ("/", &["a", "a/b"], &[]),
            ("**", &["a", "a/b"], &[]),
            ("/src/**/", &["src/a/b"], &["src/a", "src"]),
            ("/*", &["a"], &["a/b"]),
            ("?", &["ü", "x/a", "a/b"], &["ab"]),
        ] {
            for path in yes {
                assert!(owned(pattern, path), "{pattern} should own {path}");
            }
            for path in no {
                assert!(!owned(pattern, path), "{pattern} should not own {path}");
            }
        }
    }

    #[test]
    fn the_last_match_decides_also_when_it_names_nobody() {
        let text = "* @everybody\n/src/ @org/team dev@example.com # why\n/src/free\n";
        let owners = |path| owners_by_path(text, std::iter::once(path)).remove(path).unwrap_or_default();
        assert_eq!(owners("a"), [Owner::User("everybody".parse().unwrap())]);
        let team = Owner::Team("org/team".parse().unwrap());
        assert_eq!(owners("src/a"), [team, Owner::Email("dev@example.com".into())]);
        assert_eq!(owners("src/free/a"), []);
    }

    #[test]
    fn owners_are_found_where_they_stand() {
        let found: Vec<_> = owner_mentions("# @no\n\n* @a  @a # @no\n  /ü/ @org/team x@y.org bob\n!x @no\n")
            .into_iter()
            .map(|mention| (mention.line, mention.column, mention.word, mention.owner.is_some()))
            .collect();
        let expected = [
            (3, 3, "@a", true),
            (3, 7, "@a", true),
            (4, 7, "@org/team", true),
            (4, 17, "x@y.org", true),
            (4, 25, "bob", false),
        ];
        assert_eq!(found, expected.map(|(line, column, word, owns)| (line, column, word.to_owned(), owns)));
    }

    #[test]
    fn invalid_lines_are_skipped() {
        let text = "* @a\n!/src @b\n[ab].rs @b\n\\#x @b\n*.rs nobody\n*.rs @b @@\n# *.rs @b";
        let owners = owners_by_path(text, std::iter::once("src/x.rs"));
        assert_eq!(owners["src/x.rs"], [Owner::User("a".parse().unwrap())]);
    }

    #[test]
    fn a_hostile_pattern_is_no_burden() {
        assert!(!owned(&format!("{}b", "a*".repeat(2_000)), &"a".repeat(4_000)));
        assert!(!owned(&format!("/{}x", "**/".repeat(20)), &"a/".repeat(20)));
        let long = format!("src/{}.rs", "ä".repeat(250));
        assert!(owned(&format!("/{long}"), &long));
    }
}
