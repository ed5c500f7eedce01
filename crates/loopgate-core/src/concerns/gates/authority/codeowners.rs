//! CODEOWNERS, in GitHub's own syntax and precedence ("About code owners" in GitHub's documentation).
//!
//! The last matching line decides, even without an owner. A line GitHub would skip as invalid is skipped: negation
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

impl Owner {
    fn parse(word: &str) -> Option<Self> {
        match word.strip_prefix('@') {
            Some(team) if team.contains('/') => Self::team(team),
            Some(login) => login.parse().ok().map(Self::User),
            None => {
                let (local, domain) = word.split_once('@')?;
                (!local.is_empty() && domain.contains('.')).then(|| Self::Email(word.to_owned()))
            }
        }
    }

    /// A team that GitHub lets own code, as a team of an enterprise may not
    /// (<https://github.com/orgs/community/discussions/210450>).
    fn team(name: &str) -> Option<Self> {
        let team: TeamSlug = name.parse().ok()?;
        (!team.is_of_enterprise()).then_some(Self::Team(team))
    }

    /// The person or team; none of an address.
    pub(in crate::concerns::gates) fn recipient(&self) -> Option<Recipient> {
        match self {
            Self::User(login) => Some(Recipient::User(login.clone())),
            Self::Team(team) => Some(Recipient::Team(team.clone())),
            Self::Email(_) => None,
        }
    }
}

/// The people and teams that own any of these paths, to be called. Addresses are left out: only GitHub knows whose they
/// are.
pub(crate) fn owners_of<'p>(
    codeowners: &str,
    paths: impl Iterator<Item = &'p str>,
) -> BTreeSet<Recipient> {
    let rules = OwnerRules::parse(codeowners);
    paths
        .flat_map(|path| rules.owners(path))
        .filter_map(Owner::recipient)
        .collect()
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
        let words = rest
            .split_whitespace()
            .take_while(|word| !word.starts_with('#'));
        let mentions = words.map(|word| {
            at += line[at..].find(word).unwrap_or_default();
            let column = line[..at].chars().count() + 1;
            at += word.len();
            OwnerMention {
                line: index + 1,
                column,
                owner: Owner::parse(word),
                word: word.to_owned(),
            }
        });
        Some((pattern, mentions.collect()))
    })
}

/// The rules of a CODEOWNERS file, in order.
#[derive(Clone, Debug, Default)]
pub(in crate::concerns::gates) struct OwnerRules(Vec<(PathGlob, Vec<Owner>)>);

impl OwnerRules {
    pub(in crate::concerns::gates) fn parse(text: &str) -> Self {
        let rule = |(pattern, mentions): (String, Vec<OwnerMention>)| {
            let owners = mentions.into_iter().map(|mention| mention.owner);
            Some((PathGlob::parse(&pattern)?, owners.collect::<Option<_>>()?))
        };
        Self(lines(text).filter_map(rule).collect())
    }

    /// The owners of a path; empty when it has none.
    pub(in crate::concerns::gates) fn owners(&self, path: &str) -> &[Owner] {
        self.0
            .iter()
            .rev()
            .find(|(glob, _)| glob.matches(path))
            .map_or(&[], |(_, owners)| owners)
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

/// A pattern as gitignore reads it, as far as CODEOWNERS goes.
#[derive(Clone, Debug)]
struct PathGlob {
    parts: Vec<GlobPart>,
    /// It matches a path itself, beside what is below that.
    takes_path: bool,
    /// It matches what is below a path.
    takes_below: bool,
}

#[derive(Clone, Copy, Debug)]
enum GlobPart {
    /// `**/`: any number of folders.
    Folders,
    /// `*`: any characters but a slash.
    Letters,
    /// `?`: one of them.
    Letter,
    Exactly(char),
}

impl PathGlob {
    fn parse(pattern: &str) -> Option<Self> {
        if pattern.contains(['[', ']']) {
            return None;
        }
        let part = |letter| match letter {
            '*' => GlobPart::Letters,
            '?' => GlobPart::Letter,
            other => GlobPart::Exactly(other),
        };
        // `docs/` is only what is below it.
        let (body, takes_path) = pattern
            .strip_suffix('/')
            .map_or((pattern, true), |body| (body, false));
        let (body, rooted) = body
            .strip_prefix('/')
            .map_or((body, body.contains('/')), |body| (body, true));
        let names: Vec<&str> = body.split('/').filter(|name| !name.is_empty()).collect();
        let mut parts = if rooted && !names.is_empty() {
            Vec::new()
        } else {
            vec![GlobPart::Folders]
        };
        // `docs/*` is nothing deeper. A closing `**`, and `/` alone, take everything below, and nothing less.
        let takes_below = !(takes_path && rooted && names.last() == Some(&"*"));
        let (last, folders) = names.split_last().unwrap_or((&"**", &[]));
        for name in folders {
            match *name {
                "**" => parts.push(GlobPart::Folders),
                name => parts.extend(name.chars().map(part).chain([GlobPart::Exactly('/')])),
            }
        }
        parts.extend(if *last == "**" { "*" } else { last }.chars().map(part));
        Some(Self {
            parts,
            takes_path: takes_path || names.is_empty(),
            takes_below,
        })
    }

    /// Follows all the places in the path that the pattern may have come to, part by part: linear in pattern × path,
    /// however many `*` there are.
    fn matches(&self, path: &str) -> bool {
        let path: Vec<char> = path.chars().collect();
        let mut reached = vec![false; path.len() + 1];
        reached[0] = true;
        for part in &self.parts {
            let before = std::mem::replace(&mut reached, vec![false; path.len() + 1]);
            let Some(first) = before.iter().position(|&reached| reached) else {
                return false;
            };
            reached[first] = before[first] && matches!(part, GlobPart::Folders | GlobPart::Letters);
            for (at, &letter) in path.iter().enumerate().skip(first) {
                reached[at + 1] = match part {
                    GlobPart::Folders => before[at + 1] || letter == '/',
                    GlobPart::Letters => before[at + 1] || reached[at] && letter != '/',
                    GlobPart::Letter => before[at] && letter != '/',
                    GlobPart::Exactly(wanted) => before[at] && letter == *wanted,
                };
            }
        }
        let is_below = || {
            path.iter()
                .zip(&reached)
                .any(|(letter, reached)| *reached && *letter == '/')
        };
        self.takes_path && reached[path.len()] || self.takes_below && is_below()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(pattern: &str, path: &str) -> bool {
        !OwnerRules::parse(&format!("{pattern} @a"))
            .owners(path)
            .is_empty()
    }

    #[test]
    fn a_team_of_an_enterprise_owns_nothing() {
        let text = "* @acme/owners\na @acme/ent:owners\n";
        let rules = OwnerRules::parse(text);
        assert_eq!(
            rules.owners("a"),
            [Owner::Team("acme/owners".parse().unwrap())],
            "GitHub skips a line with such an owner"
        );
        assert_eq!(owner_mentions(text)[1].owner, None);
    }

    #[test]
    fn patterns_match_as_githubs_documentation_says() {
        for (pattern, yes, no) in [
            ("*", &["a", "a/b/c.rs"][..], &[][..]),
            ("*.js", &["a.js", "x/y/b.js"], &["a.jsx", "a.js2"]),
            (
                "/build/logs/",
                &["build/logs/a", "build/logs/b/c"],
                &["build/logs", "x/build/logs/a"],
            ),
            (
                "docs/*",
                &["docs/getting-started.md"],
                &["docs/build-app/troubleshooting.md", "x/docs/a.md"],
            ),
            ("apps/", &["apps/a", "x/apps/b/c"], &["apps", "xapps/a"]),
            ("/docs/", &["docs/a", "docs/b/c"], &["x/docs/a"]),
            ("/scripts/", &["scripts/a.sh"], &["a/scripts/b"]),
            (
                "**/logs",
                &["logs/a", "build/logs/b", "deeply/nested/logs/c"],
                &["logsx/a"],
            ),
            (
                "/apps/github",
                &["apps/github", "apps/github/a"],
                &["apps/githubx", "x/apps/github"],
            ),
            (
                "src/**/test.rs",
                &["src/test.rs", "src/a/b/test.rs"],
                &["test.rs"],
            ),
            ("src/**", &["src/a", "src/a/b"], &["src"]),
            (
                "file?.txt",
                &["file1.txt", "x/file2.txt"],
                &["file.txt", "file12.txt"],
            ),
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
        let rules =
            OwnerRules::parse("* @everybody\n/src/ @org/team dev@example.com # why\n/src/free\n");
        let owners = |path| rules.owners(path).to_vec();
        assert_eq!(owners("a"), [Owner::User("everybody".parse().unwrap())]);
        let team = Owner::Team("org/team".parse().unwrap());
        assert_eq!(
            owners("src/a"),
            [team, Owner::Email("dev@example.com".into())]
        );
        assert_eq!(owners("src/free/a"), []);
    }

    #[test]
    fn owners_are_found_where_they_stand() {
        let found: Vec<_> =
            owner_mentions("# @no\n\n* @a  @a # @no\n  /ü/ @org/team x@y.org bob\n!x @no\n")
                .into_iter()
                .map(|mention| {
                    (
                        mention.line,
                        mention.column,
                        mention.word,
                        mention.owner.is_some(),
                    )
                })
                .collect();
        let expected = [
            (3, 3, "@a", true),
            (3, 7, "@a", true),
            (4, 7, "@org/team", true),
            (4, 17, "x@y.org", true),
            (4, 25, "bob", false),
        ];
        assert_eq!(
            found,
            expected.map(|(line, column, word, owns)| (line, column, word.to_owned(), owns))
        );
    }

    #[test]
    fn invalid_lines_are_skipped() {
        let rules = OwnerRules::parse(
            "* @a\n!/src @b\n[ab].rs @b\n\\#x @b\n*.rs nobody\n*.rs @b @@\n# *.rs @b",
        );
        assert_eq!(
            rules.owners("src/x.rs"),
            [Owner::User("a".parse().unwrap())]
        );
    }

    #[test]
    fn a_hostile_pattern_is_no_burden() {
        let pattern = format!("{}b @a", "a*".repeat(2_000));
        assert!(
            OwnerRules::parse(&pattern)
                .owners(&"a".repeat(4_000))
                .is_empty()
        );
        let pattern = format!("/{}x @a", "**/".repeat(20));
        assert!(
            OwnerRules::parse(&pattern)
                .owners(&"a/".repeat(20))
                .is_empty()
        );
    }
}
