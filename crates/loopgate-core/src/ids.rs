//! The newtypes everything else is named with.
//!
//! Each is made only by a validating constructor (`parse`/`new`/`TryFrom`), so a value that exists is a value that
//! is well formed: no room has to ask again whether a sha is a sha.

use std::{borrow::Cow, fmt, str::FromStr};

use chrono::{DateTime, Utc};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use unicase::Ascii;

/// A moment in UTC. Times are always passed in, never read from a clock, inside [`core`](crate).
pub type Timestamp = DateTime<Utc>;

/// A text that does not have the form its newtype promises.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not {expected}", shorten(text))]
pub struct Malformed {
    text: String,
    expected: &'static str,
}

impl Malformed {
    /// `expected` completes the sentence "`text` is not …".
    pub fn new(text: &str, expected: &'static str) -> Self {
        Self {
            text: text.to_owned(),
            expected,
        }
    }
}

/// Error messages quote hostile input; they never quote all of it.
fn shorten(text: &str) -> String {
    text.chars().take(60).flat_map(char::escape_debug).collect()
}

/// A newtype that is read from a text of one form and written in it. `$expected` completes the sentence "`text` is not
/// …"; `$read` makes the value of a text that has the form, and `$write` writes it.
macro_rules! text_form {
    ($name:ident, $expected:expr, $pattern:expr, $read:expr, $write:expr) => {
        impl FromStr for $name {
            type Err = Malformed;
            fn from_str(text: &str) -> Result<Self, Malformed> {
                let read: fn(&str) -> Option<Self> = $read;
                read(text).ok_or_else(|| Malformed::new(text, $expected))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let write: fn(&Self, &mut fmt::Formatter<'_>) -> fmt::Result = $write;
                write(self, f)
            }
        }

        serde_as_text!($name);

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "pattern": $pattern })
            }
        }
    };
}

/// Bytes that are written as hex digits.
macro_rules! hex_digits {
    ($name:ident, $expected:literal, $pattern:literal) => {
        text_form!(
            $name,
            $expected,
            $pattern,
            |text| {
                let mut read = Self(Default::default());
                hex::decode_to_slice(text, &mut read.0).ok().map(|()| read)
            },
            |bytes, f| f.write_str(&hex::encode(bytes.0))
        );
    };
}

/// The id of a git commit (or tree, or blob): 20 bytes, written as 40 lower-case hex digits.
///
/// ```
/// use loopgate_core::Sha;
/// let sha: Sha = "0123456789abcdef0123456789ABCDEF01234567".parse()?;
/// assert_eq!(sha.to_string(), "0123456789abcdef0123456789abcdef01234567");
/// assert_eq!(sha.short(), "01234567");
/// assert!("0123".parse::<Sha>().is_err());
/// # Ok::<(), loopgate_core::Malformed>(())
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha([u8; 20]);

impl Sha {
    pub const fn from_bytes(bytes: [u8; 20]) -> Self {
        Self(bytes)
    }

    pub const fn as_bytes(&self) -> &[u8; 20] {
        &self.0
    }

    /// The first 8 hex digits, as people are shown it.
    pub fn short(&self) -> String {
        hex::encode(&self.0[..4])
    }
}

impl fmt::Debug for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sha({self})")
    }
}

hex_digits!(
    Sha,
    "a full commit id (40 hexadecimal digits)",
    "^[0-9a-fA-F]{40}$"
);

/// `owner/name` of a repository. GitHub compares both parts without regard to ASCII case, and so does this type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepoName {
    owner: Ascii<String>,
    name: Ascii<String>,
}

/// A name that no repository of GitHub has.
impl Default for RepoName {
    fn default() -> Self {
        Self::of("-", "-")
    }
}

impl RepoName {
    fn of(owner: &str, name: &str) -> Self {
        Self {
            owner: Ascii::new(owner.to_owned()),
            name: Ascii::new(name.to_owned()),
        }
    }

    pub fn owner(&self) -> &str {
        &self.owner
    }

    pub fn name(&self) -> &str {
        &self.name
    }
}

text_form!(
    RepoName,
    "a repository as owner/name",
    "^[A-Za-z0-9_-]+/[A-Za-z0-9._-]+$",
    |text| {
        let (owner, name) = text.split_once('/')?;
        let plain = |part: &str, more: &str| {
            (1..=100).contains(&part.len())
                && part
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || more.contains(c))
        };
        let is_valid = plain(owner, "-_") && plain(name, "-_.") && name != "." && name != "..";
        is_valid.then(|| Self::of(owner, name))
    },
    |name, f| write!(f, "{}/{}", name.owner, name.name)
);

/// The login of an account. Logins are shown as written and compared without regard to ASCII case; where it matters
/// *who* somebody is, compare [`UserId`]s, since logins can be renamed and taken over.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Login(Ascii<String>);

/// A login that no account of GitHub has.
impl Default for Login {
    fn default() -> Self {
        Self(Ascii::new("-".to_owned()))
    }
}

impl Login {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

text_form!(
    Login,
    "a GitHub login",
    r"^[A-Za-z0-9_-]+(\[bot\])?$",
    |text| {
        // Apps act as `slug[bot]`; managed users carry `_shortcode`.
        let core = text.strip_suffix("[bot]").unwrap_or(text);
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let is_valid = (1..=100).contains(&core.len()) && core.chars().all(plain);
        is_valid.then(|| Self(Ascii::new(text.to_owned())))
    },
    |login, f| login.0.fmt(f)
);

/// A team as `org/slug`, compared without regard to ASCII case and written in lower case.
///
/// The slug of an enterprise's team, which each of its organisations may have, is `ent:` and a plain slug
/// (<https://docs.github.com/en/rest/enterprise-teams/enterprise-teams>): what stands in a path is escaped.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TeamSlug {
    org: String,
    slug: String,
}

/// Begins the slug of an enterprise's team.
const OF_ENTERPRISE: &str = "ent:";

impl TeamSlug {
    pub fn org(&self) -> &str {
        &self.org
    }

    pub fn slug(&self) -> &str {
        &self.slug
    }

    /// Whether an enterprise has it, and its organisations only use it.
    pub fn is_of_enterprise(&self) -> bool {
        self.slug.starts_with(OF_ENTERPRISE)
    }
}

text_form!(
    TeamSlug,
    "a team as org/slug",
    "^[A-Za-z0-9_-]+/(ent:)?[A-Za-z0-9._-]+$",
    |text| {
        let lower = text.to_ascii_lowercase();
        let (org, slug) = lower.split_once('/')?;
        let plain = slug.strip_prefix(OF_ENTERPRISE).unwrap_or(slug);
        let _: RepoName = format!("{org}/{plain}").parse().ok()?;
        Some(Self {
            org: org.to_owned(),
            slug: slug.to_owned(),
        })
    },
    |team, f| write!(f, "{}/{}", team.org, team.slug)
);

/// Names that people write in the configuration, and how a text is recognised as one.
macro_rules! names {
    ($($(#[$doc:meta])* $name:ident, $expected:literal, $pattern:expr, $is_valid:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        text_form!(
            $name,
            $expected,
            $pattern,
            |text| {
                let is_valid: fn(&str) -> bool = $is_valid;
                is_valid(text).then(|| Self(text.to_owned()))
            },
            |name, f| f.write_str(&name.0)
        );
    )*};
}

/// At most 40 characters of `a-z 0-9 - _`, of which the first is none of the last two.
fn is_slug(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    text.len() <= 40
        && text.starts_with(|c: char| plain(c) && c != '-' && c != '_')
        && text.chars().all(plain)
}

/// At most 40 characters: such words with `/` between them.
fn is_path(text: &str) -> bool {
    text.len() <= 40 && text.split('/').all(is_slug)
}

fn is_alias(text: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty()
            && word
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    (3..=64).contains(&text.len()) && text.split('-').all(is_word)
}

/// The patterns of the two, for schemas.
const SLUG: &str = "^[a-z0-9][a-z0-9_-]{0,39}$";
const PATH: &str = "^[a-z0-9][a-z0-9_-]*(/[a-z0-9][a-z0-9_-]*)*$";

names! {
    /// The name of a gate: `security`, `payments`. At most 40 characters of `a-z 0-9 - _`.
    GateName, "a gate name (lower-case letters, digits, - and _, at most 40)", SLUG, is_slug;
    /// What a request calls a pattern that opens a gate: `auth_check_removed`.
    PatternName, "a pattern's name (lower-case letters, digits, - and _, at most 40)", SLUG, is_slug;
    /// The name of a template for the comment that asks for a gate: `security` for `gates/security.md`.
    TemplateName, "a template's name (lower-case letters, digits, - and _, at most 40)", SLUG, is_slug;
    /// The name of a check in the configuration: `unit`, `api/test`. At most 40 characters of `a-z 0-9 - _`, with `/`
    /// between the parts of a path.
    CheckName, "a check name (lower-case letters, digits, -, _ and / between words, at most 40)", PATH, is_path;
    /// The id of an evaluation rule; checks give their rule their own name.
    RuleId, "a rule id (lower-case letters, digits, -, _ and / between words, at most 40)", PATH, is_path;
    /// The name a local loop is called by: a lower-case hyphen slug of 3 to 64 characters.
    ///
    /// ```
    /// use loopgate_core::reflex::Alias;
    ///
    /// assert_eq!(Alias::of_task("Fix the login, please!").to_string(), "fix-the-login-please");
    /// assert!("Fix".parse::<Alias>().is_err());
    /// ```
    Alias, "an alias (lower-case words joined by hyphens, 3 to 64 characters)", "^[a-z0-9]+(-[a-z0-9]+)*$", is_alias;
}

/// The name of a check that has none.
impl Default for CheckName {
    fn default() -> Self {
        Self("unnamed".to_owned())
    }
}

impl From<&CheckName> for RuleId {
    fn from(check: &CheckName) -> Self {
        Self(check.0.clone())
    }
}

/// Characters of an alias made from a task: longer ones are a nuisance to type.
const COMFORTABLE: usize = 32;

impl Alias {
    /// An alias made of the first words of a task.
    pub fn of_task(task: &str) -> Self {
        let lower = task.to_lowercase();
        let words = lower
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|word| !word.is_empty());
        let mut slug = String::new();
        for word in words {
            let word: String = word.chars().take(COMFORTABLE).collect();
            if !slug.is_empty() && slug.len() + 1 + word.len() > COMFORTABLE {
                break;
            }
            if !slug.is_empty() {
                slug.push('-');
            }
            slug.push_str(&word);
        }
        match slug.len() {
            0 => Self("task".to_owned()),
            1 | 2 => Self(format!("task-{slug}")),
            _ => Self(slug),
        }
    }

    /// This alias with a number, for when it is taken.
    #[must_use]
    pub fn numbered(&self, number: u32) -> Self {
        Self(format!(
            "{}-{number}",
            self.0
                .chars()
                .take(54)
                .collect::<String>()
                .trim_end_matches('-')
        ))
    }
}

/// What makes two failures "the same error": 8 bytes, written as 16 hex digits. Computed in
/// [`failure`](crate::failure).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; 8]);

impl Fingerprint {
    pub const fn from_bytes(bytes: [u8; 8]) -> Self {
        Self(bytes)
    }
}

hex_digits!(
    Fingerprint,
    "a fingerprint (16 hexadecimal digits)",
    "^[0-9a-f]{16}$"
);

/// What people call a failure by: the first half of its [`Fingerprint`], written as 8 hex digits. Same id, same error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FailureId([u8; 4]);

impl From<Fingerprint> for FailureId {
    fn from(Fingerprint([a, b, c, d, ..]): Fingerprint) -> Self {
        Self([a, b, c, d])
    }
}

hex_digits!(
    FailureId,
    "a failure's id (8 hexadecimal digits)",
    "^[0-9a-f]{8}$"
);

/// A score between 0 and 1 with two decimals, kept in hundredths so that equal scores are equal.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(into = "f64", try_from = "f64")]
pub struct Score(u8);

impl Score {
    pub const ZERO: Self = Self(0);
    pub const ONE: Self = Self(100);

    /// Rounds half up to two decimals; anything outside 0–1 is clamped.
    pub fn from_ratio(passed: f64, total: f64) -> Self {
        if total <= 0.0 {
            return Self::ONE;
        }
        // Clamped to 0..=100 before the cast.
        Self((passed / total * 100.0 + 1e-9).round().clamp(0.0, 100.0) as u8)
    }

    /// From hundredths; more than 100 is 100.
    pub const fn percent(hundredths: u8) -> Self {
        Self(if hundredths > 100 { 100 } else { hundredths })
    }

    /// Raised or lowered by hundredths, but never to certainty and never below 0.05, as rules of thumb are.
    #[must_use]
    pub(crate) fn shifted(self, hundredths: i8) -> Self {
        Self(self.0.saturating_add_signed(hundredths).clamp(5, 98))
    }

    /// Hundredths, 0–100.
    pub const fn hundredths(self) -> u8 {
        self.0
    }

    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / 100.0
    }
}

impl TryFrom<f64> for Score {
    type Error = Malformed;
    fn try_from(value: f64) -> Result<Self, Malformed> {
        if (0.0..=1.0).contains(&value) {
            Ok(Self::from_ratio(value, 1.0))
        } else {
            Err(Malformed::new(
                &value.to_string(),
                "a score between 0 and 1",
            ))
        }
    }
}
impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2}", self.as_f64())
    }
}
impl From<Score> for f64 {
    fn from(score: Score) -> Self {
        score.as_f64()
    }
}
impl JsonSchema for Score {
    fn schema_name() -> Cow<'static, str> {
        "Score".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 0, "maximum": 1 })
    }
}

/// Numeric ids that GitHub hands out. They are never reused, unlike names.
macro_rules! numeric_id {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(u64);

        impl $name {
            pub const fn new(id: u64) -> Self {
                Self(id)
            }

            pub const fn get(self) -> u64 {
                self.0
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

numeric_id! {
    /// An account: a person, an organisation or a bot.
    UserId;
    /// An issue comment.
    CommentId;
    /// A pull-request review.
    ReviewId;
    /// A check run.
    CheckRunId;
    /// A GitHub App.
    AppId;
    /// An App's installation on an account.
    InstallationId;
    /// A workflow run.
    WorkflowRunId;
    /// The number of a pull request in its repository.
    PrNumber;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn malformed_texts_are_refused() {
        assert!("deadbeef".parse::<Sha>().is_err());
        for bad in [
            "",
            "acme",
            "acme/",
            "/widgets",
            "a/b/c",
            "acme/..",
            "acme/wid gets",
            "../x",
        ] {
            assert!(bad.parse::<RepoName>().is_err(), "{bad}");
        }
        for bad in ["", "a b", "@alice", "alice[bot]x", "[bot]", "a\nb"] {
            assert!(bad.parse::<Login>().is_err(), "{bad:?}");
        }
        for bad in ["", "Security", "-x", "a b", &"x".repeat(41)] {
            assert!(bad.parse::<GateName>().is_err(), "{bad}");
        }
        for bad in [
            "acme/",
            "acme/ent:",
            "acme/ent:a:b",
            "acme/x:y",
            "ent:acme/x",
            "acme/ent:a/b",
        ] {
            assert!(bad.parse::<TeamSlug>().is_err(), "{bad}");
        }
    }

    #[test]
    fn names_compare_as_github_compares_them() {
        assert_eq!("Acme/Widgets".parse::<RepoName>(), "acme/widgets".parse());
        assert_eq!("Alice".parse::<Login>(), "aLICE".parse());
        assert_ne!("alice".parse::<Login>(), "alice[bot]".parse());
        let [team, of_enterprise] =
            ["Acme/Security", "acme/ENT:Security"].map(|text| text.parse::<TeamSlug>().unwrap());
        assert_eq!((team.slug(), team.is_of_enterprise()), ("security", false));
        assert_eq!(of_enterprise.to_string(), "acme/ent:security");
        assert!(of_enterprise.is_of_enterprise());
    }

    #[test]
    fn scores_have_two_decimals() {
        assert_eq!(Score::from_ratio(2.0, 3.0).to_string(), "0.67");
        assert_eq!(Score::from_ratio(0.0, 0.0), Score::ONE);
        assert_eq!(Score::from_ratio(0.125, 1.0).hundredths(), 13);
        assert!(Score::try_from(1.01).is_err());
        assert!(Score::try_from(f64::NAN).is_err());
    }

    #[test]
    fn hostile_text_is_not_quoted_whole() {
        let error = "\u{202e}"
            .repeat(500)
            .parse::<Login>()
            .unwrap_err()
            .to_string();
        assert!(error.len() < 800 && !error.contains('\u{202e}'), "{error}");
    }

    #[test]
    fn tasks_become_aliases() {
        for (task, alias) in [
            ("Fix the login, please!", "fix-the-login-please"),
            ("  a  ", "task-a"),
            ("Überall größer", "berall-gr-er"),
            ("日本語", "task"),
            (
                "make the parser of numbers accept exponents too",
                "make-the-parser-of-numbers",
            ),
        ] {
            assert_eq!(Alias::of_task(task).as_str(), alias, "{task}");
        }
        assert_eq!(Alias::of_task("fix it").numbered(2).as_str(), "fix-it-2");
    }

    #[test]
    fn what_is_no_alias() {
        for bad in [
            "",
            "ab",
            "Fix",
            "a b c",
            "a/b",
            "-abc",
            "abc-",
            "a--b",
            "ä-b",
            &"a".repeat(65),
        ] {
            assert!(bad.parse::<Alias>().is_err(), "{bad}");
        }
        assert!("a-1".parse::<Alias>().is_ok());
    }

    proptest! {
        #[test]
        fn whatever_the_task_its_alias_is_one(task in ".{0,200}", number in 2u32..10_000) {
            let alias = Alias::of_task(&task);
            prop_assert!(alias.as_str().parse::<Alias>().is_ok());
            prop_assert!(alias.numbered(number).as_str().parse::<Alias>().is_ok());
        }
    }
}
