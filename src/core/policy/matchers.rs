//! Globs and regular expressions of the configuration, compiled once and compared by their source text.

use globset::{Glob, GlobBuilder, GlobMatcher};
use regex::Regex;

/// A glob over names or paths, compared by its source text.
#[derive(Clone, Debug)]
pub struct NameGlob {
    matcher: GlobMatcher,
}

impl NameGlob {
    /// A glob over names, in which `*` matches everything, `/` included.
    ///
    /// # Errors
    /// When the text is not a glob.
    pub fn parse(text: &str) -> Result<Self, globset::Error> {
        Ok(Self { matcher: Glob::new(text)?.compile_matcher() })
    }

    /// A glob over paths: `*` stops at `/` as in the path filters of workflows, and case does not matter, since a gate
    /// must not be passed by renaming a folder.
    ///
    /// # Errors
    /// When the text is not a glob.
    pub fn path(text: &str) -> Result<Self, globset::Error> {
        let glob =
            GlobBuilder::new(text).literal_separator(true).case_insensitive(true).empty_alternates(true).build()?;
        Ok(Self { matcher: glob.compile_matcher() })
    }

    pub fn matches(&self, name: &str) -> bool {
        self.matcher.is_match(name)
    }

    pub fn as_str(&self) -> &str {
        self.matcher.glob().glob()
    }
}

impl PartialEq for NameGlob {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

/// A regular expression, compared by its source text.
#[derive(Clone, Debug)]
pub struct Pattern(Regex);

impl Pattern {
    /// # Errors
    /// When the text is not a regular expression, or one that compiles to more than 1 MiB.
    pub fn parse(text: &str) -> Result<Self, regex::Error> {
        regex::RegexBuilder::new(text).size_limit(1 << 20).build().map(Self)
    }

    pub fn matches(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_over_paths_match_as_those_of_workflows_do() {
        for (glob, path, matched) in [
            ("src/*.rs", "src/lib.rs", true),
            ("src/*.rs", "src/core/mod.rs", false),
            ("src/**", "src/core/mod.rs", true),
            ("**/*.sql", "init.sql", true),
            ("**/*.sql", "db/init.sql", true),
            ("*.sql", "db/init.sql", false),
            ("src/billing/**", "SRC/Billing/a.rs", true),
            ("**/{api,http}{_,}client.rs", "src/httpclient.rs", true),
            ("src/auth/**", "src/author/a.rs", false),
        ] {
            assert_eq!(NameGlob::path(glob).unwrap().matches(path), matched, "{glob} {path}");
        }
        assert!(NameGlob::path("a{b").is_err());
    }

    #[test]
    fn globs_over_names_match_whole_names() {
        for (glob, name, matched) in [
            ("CodeQL*", "CodeQL / Analyze (rust)", true),
            ("ci / test (*)", "ci / test (ubuntu/22)", true),
            ("test", "test 2", false),
            ("release/*", "release/1.0/rc", true),
        ] {
            assert_eq!(NameGlob::parse(glob).unwrap().matches(name), matched, "{glob} {name}");
        }
    }
}
