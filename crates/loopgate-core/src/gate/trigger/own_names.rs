//! What a repository and its owner are called, where a word of that name means themselves and no partner.

use std::borrow::Cow;

use crate::{
    ids::RepoName,
    policy::{LinePatterns, Pattern},
};

/// A shorter name is too often a word of something else.
const SHORTEST: usize = 4;

/// What a repository is called by beside what it is about: `pocket-casts-ios` holds Pocket Casts' own program.
const PLATFORMS: [&str; 14] = [
    "android", "app", "backend", "cloud", "core", "desktop", "flutter", "frontend", "ios", "mobile", "platform",
    "server", "web", "website",
];

/// The names of a repository and its owner, in lower case, without what separates their words.
pub(super) struct OwnNames {
    names: Vec<OwnName>,
    /// The words of both, in lower case.
    words: Vec<String>,
}

struct OwnName {
    letters: String,
    /// `slack-plugin` is about Slack, and `btcpayserver` about no other BTCPay.
    is_one_word: bool,
}

impl OwnNames {
    pub(super) fn of(repository: &RepoName) -> Self {
        let name = |text: &str| OwnName {
            letters: letters(text),
            is_one_word: text.chars().all(|c| c.is_ascii_alphanumeric()),
        };
        let (owner, name_of_it) = (repository.owner(), repository.name());
        let without_platform = name_of_it
            .rsplit_once(['-', '_'])
            .and_then(|(about, platform)| PLATFORMS.contains(&platform.to_lowercase().as_str()).then_some(about));
        let names = [owner, name_of_it].into_iter().chain(without_platform).map(name);
        Self {
            names: names.filter(|name| name.letters.len() >= SHORTEST).collect(),
            words: [owner, name_of_it].into_iter().flat_map(words).collect(),
        }
    }

    /// The first pattern that matches; with `skip`, in another place than at one of the names.
    pub(super) fn first<'p>(&self, patterns: &'p LinePatterns, text: &str, skip: bool) -> Option<&'p Pattern> {
        if skip { patterns.first_that(text, |found| !self.begin(found)) } else { patterns.first(text) }
    }

    /// Whether what was found begins with one of the names, word by word: the `shop` of `acme/shop` is not in `shopify`.
    fn begin(&self, found: &str) -> bool {
        if found.split_once("://").is_some_and(|(_, host)| self.are_in(host)) {
            return true;
        }
        let found = setting(found).unwrap_or(found);
        let mut so_far = String::new();
        let mut words = found.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        let begins = words.any(|word| {
            so_far.push_str(&word.to_ascii_lowercase());
            self.is(&so_far)
        });
        let is_part =
            |name: &OwnName| name.is_one_word && so_far.len() >= SHORTEST && name.letters.starts_with(&so_far);
        begins || self.names.iter().any(is_part)
    }

    /// `app.acme.com` is the address of `acme/widgets` itself.
    fn are_in(&self, host: &str) -> bool {
        host.split(['.', '/', ':']).any(|label| self.is(&letters(label)))
    }

    fn is(&self, letters: &str) -> bool {
        self.names.iter().any(|name| name.letters == letters)
    }

    /// `aws_lambda_tools` of `aws-tools/tools-lambda-python`: several words, all of them from the two names.
    fn is_of_their_words(&self, folder: &str) -> bool {
        let words: Vec<String> = words(folder).collect();
        words.len() > 1 && words.iter().all(|word| self.words.contains(word))
    }

    /// A path without the folders that bear one of the names whole, `spotify_player/src/` of `spotify-player`, or are
    /// made of their words.
    pub(super) fn without(&self, path: &str) -> String {
        let is_own = |folder: &&str| self.is(&letters(folder)) || self.is_of_their_words(folder);
        let folders: Vec<&str> = path.split('/').filter(|folder| !is_own(folder)).collect();
        folders.join("/")
    }
}

/// The name of a setting that is read from the environment: `ACME_TOKEN` of `env('ACME_TOKEN`.
fn setting(found: &str) -> Option<&str> {
    const READERS: [&str; 8] =
        ["env", "getenv", "osgetenv", "envfetch", "environ", "osenviron", "osenvironget", "processenv"];
    let (reader, name) = found.split_once(['"', '\'', '`'])?;
    READERS.contains(&letters(reader).as_str()).then_some(name)
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

fn letters(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase()
}

/// A path without the folders that a package has its owner's name from: `java/com/github/acme/` is about no GitHub.
pub(super) fn without_owner(path: &str) -> Cow<'_, str> {
    const ROOTS: [&str; 7] = ["java", "kotlin", "scala", "groovy", "src", "app", "resources"];
    const DOMAINS: [&str; 10] = ["com", "org", "net", "io", "de", "fr", "eu", "me", "dev", "app"];
    let folders: Vec<&str> = path.split('/').collect();
    let is_root = |two: &[&str]| ROOTS.contains(&two[0]) && DOMAINS.contains(&two[1]);
    let Some(root) = folders.windows(2).position(is_root) else { return path.into() };
    let hosted = folders.get(root + 2).is_some_and(|owner| ["github", "gitlab"].contains(owner));
    match (folders.get(..=root), folders.get(root + if hosted { 4 } else { 3 }..)) {
        (Some(above), Some(below)) if !below.is_empty() => [above, below].concat().join("/").into(),
        _ => path.into(),
    }
}
