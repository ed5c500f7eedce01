//! CODEOWNERS, in GitHub's own syntax and precedence ("About code owners" in GitHub's documentation).
//!
//! The last matching line decides, also when it names nobody. A line GitHub would skip as invalid is skipped: negation
//! with `!`, character ranges with `[ ]`, a pattern that begins with an escaped `#`, an owner that is none.

use std::collections::BTreeSet;

use crate::{
    ids::{Login, TeamSlug},
    policy::Recipient,
};

/// GitHub does not read a larger file.
const LARGEST: usize = 3 * 1024 * 1024;

/// Somebody who owns files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    User(Login),
    Team(TeamSlug),
    /// Only GitHub knows whose address it is.
    Email(String),
}

/// The people and teams that own any of these paths, to be called. Addresses are left out: only GitHub knows whose they
/// are.
pub(crate) fn owners_of<'p>(codeowners: &str, paths: impl Iterator<Item = &'p str>) -> BTreeSet<Recipient> {
    let rules = OwnerRules::parse(codeowners);
    let mut owners = BTreeSet::new();
    for path in paths {
        owners.extend(rules.owners(path).iter().filter_map(|owner| match owner {
            Owner::User(login) => Some(Recipient::User(login.clone())),
            Owner::Team(team) => Some(Recipient::Team(team.clone())),
            Owner::Email(_) => None,
        }));
    }
    owners
}

/// A word of a CODEOWNERS file that stands where an owner does. Lines and columns count from 1, columns in characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerMention {
    pub line: usize,
    pub column: usize,
    /// None: it names nobody, and GitHub skips the whole line.
    pub owner: Option<Owner>,
    pub word: String,
}

/// Every owner that a CODEOWNERS file names, in the order of the text.
pub fn owner_mentions(text: &str) -> Vec<OwnerMention> {
    if text.len() > LARGEST {
        return Vec::new();
    }
    let mut mentions = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        let Some((_, rest)) = take_pattern(trimmed) else { continue };
        let mut at = line.len() - line.trim_start().len() + trimmed.len() - rest.len();
        for word in rest.split_whitespace().take_while(|word| !word.starts_with('#')) {
            at += line[at..].find(word).unwrap_or_default();
            let (column, owner) = (line[..at].chars().count() + 1, Owner::parse(word));
            mentions.push(OwnerMention { line: index + 1, column, owner, word: word.to_owned() });
            at += word.len();
        }
    }
    mentions
}

/// The rules of a CODEOWNERS file, in order.
#[derive(Clone, Debug, Default)]
pub(in crate::gate) struct OwnerRules(Vec<OwnersRule>);

#[derive(Clone, Debug)]
struct OwnersRule {
    glob: PathGlob,
    owners: Vec<Owner>,
}

impl OwnerRules {
    pub(in crate::gate) fn parse(text: &str) -> Self {
        if text.len() > LARGEST {
            return Self::default();
        }
        Self(text.lines().filter_map(OwnersRule::parse).collect())
    }

    /// The owners of a path; empty when it has none.
    pub(in crate::gate) fn owners(&self, path: &str) -> &[Owner] {
        self.0.iter().rev().find(|rule| rule.glob.matches(path)).map_or(&[], |rule| &rule.owners)
    }
}

impl OwnersRule {
    fn parse(line: &str) -> Option<Self> {
        let (pattern, rest) = take_pattern(line.trim())?;
        let owners = rest.split_whitespace().take_while(|word| !word.starts_with('#')).map(Owner::parse);
        Some(Self { glob: PathGlob::parse(&pattern)?, owners: owners.collect::<Option<_>>()? })
    }
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

/// A pattern as gitignore reads it, as far as CODEOWNERS goes.
#[derive(Clone, Debug)]
struct PathGlob {
    segments: Vec<PathSegment>,
    reach: Reach,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum PathSegment {
    /// `**`: any number of folders.
    Folders,
    /// A name in which `*` and `?` stand for other characters than a slash.
    Name(Vec<char>),
}

/// What below a matching path matches too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// The path itself, and all below it if it is a folder.
    PathAndBelow,
    /// `docs/`: only what is below it.
    Below,
    /// `docs/*`: nothing deeper.
    Path,
}

impl PathGlob {
    fn parse(pattern: &str) -> Option<Self> {
        if pattern.contains(['[', ']']) {
            return None;
        }
        let (body, below) = pattern.strip_suffix('/').map_or((pattern, false), |body| (body, true));
        let (body, rooted) = body.strip_prefix('/').map_or((body, body.contains('/')), |body| (body, true));
        let mut segments: Vec<PathSegment> =
            body.split('/').filter(|name| !name.is_empty()).map(PathSegment::parse).collect();
        if !rooted {
            segments.insert(0, PathSegment::Folders);
        }
        let reach = match (below, segments.last()) {
            (_, None) => Reach::Below,
            (true, _) => Reach::Below,
            (false, Some(PathSegment::Name(name))) if rooted && name.as_slice() == ['*'] => Reach::Path,
            (false, _) => Reach::PathAndBelow,
        };
        Some(Self { segments, reach })
    }

    /// Follows all the places in the path that the pattern may have come to, segment by segment: linear in pattern ×
    /// path, however many `**` there are.
    fn matches(&self, path: &str) -> bool {
        let names: Vec<&str> = path.split('/').collect();
        let mut reached = vec![false; names.len() + 1];
        reached[0] = true;
        for (index, segment) in self.segments.iter().enumerate() {
            let before = std::mem::replace(&mut reached, vec![false; names.len() + 1]);
            let closing = index + 1 == self.segments.len();
            match (segment, before.iter().position(|&reached| reached)) {
                (_, None) => return false,
                // A closing `**` takes everything below, and nothing less.
                (PathSegment::Folders, Some(first)) => {
                    reached.iter_mut().skip(first + usize::from(closing)).for_each(|place| *place = true);
                }
                (PathSegment::Name(pattern), Some(_)) => {
                    for (at, name) in names.iter().enumerate() {
                        reached[at + 1] = before[at] && matches_name(pattern, name);
                    }
                }
            }
        }
        match self.reach {
            Reach::Path => reached[names.len()],
            Reach::Below => reached[..names.len()].contains(&true),
            Reach::PathAndBelow => reached.contains(&true),
        }
    }
}

impl PathSegment {
    fn parse(text: &str) -> Self {
        if text == "**" { Self::Folders } else { Self::Name(text.chars().collect()) }
    }
}

/// `*` and `?` in one name, in time linear in pattern × name.
fn matches_name(pattern: &[char], name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut star) = ((0, 0), None);
    while at.1 < name.len() {
        match pattern.get(at.0) {
            Some('*') => {
                star = Some(at);
                at.0 += 1;
            }
            Some(&c) if c == '?' || c == name[at.1] => at = (at.0 + 1, at.1 + 1),
            _ => match star {
                Some((pattern_at, name_at)) => {
                    star = Some((pattern_at, name_at + 1));
                    at = (pattern_at + 1, name_at + 1);
                }
                None => return false,
            },
        }
    }
    pattern[at.0..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(pattern: &str, path: &str) -> bool {
        !OwnerRules::parse(&format!("{pattern} @a")).owners(path).is_empty()
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
        let rules = OwnerRules::parse("* @everybody\n/src/ @org/team dev@example.com # why\n/src/free\n");
        let owners = |path| rules.owners(path).to_vec();
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
        let rules = OwnerRules::parse("* @a\n!/src @b\n[ab].rs @b\n\\#x @b\n*.rs nobody\n*.rs @b @@\n# *.rs @b");
        assert_eq!(rules.owners("src/x.rs"), [Owner::User("a".parse().unwrap())]);
    }

    #[test]
    fn a_hostile_pattern_is_no_burden() {
        let pattern = format!("{}b @a", "a*".repeat(2_000));
        assert!(OwnerRules::parse(&pattern).owners(&"a".repeat(4_000)).is_empty());
        let pattern = format!("/{}x @a", "**/".repeat(20));
        assert!(OwnerRules::parse(&pattern).owners(&"a/".repeat(20)).is_empty());
    }
}
