//! What a repository and its owner are called, where a word of that name means themselves and no partner.

use std::borrow::Cow;

use crate::{
    ids::RepoName,
    policy::{LinePatterns, Pattern},
};

/// A shorter name is too often a word of something else.
const SHORTEST: usize = 4;

/// The names of a repository and its owner, in lower case, without what separates their words.
pub(super) struct OwnNames(Vec<OwnName>);

struct OwnName {
    letters: String,
    /// `slack-plugin` is about Slack, and `btcpayserver` about no other BTCPay.
    is_one_word: bool,
}

impl OwnNames {
    pub(super) fn of(repository: &RepoName) -> Self {
        let name = |text: &str| OwnName {
            letters: text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase(),
            is_one_word: text.chars().all(|c| c.is_ascii_alphanumeric()),
        };
        let names = [repository.owner(), repository.name()].map(name);
        Self(names.into_iter().filter(|name| name.letters.len() >= SHORTEST).collect())
    }

    /// The first pattern that matches; with `skip`, in another place than at one of the names.
    pub(super) fn first<'p>(&self, patterns: &'p LinePatterns, text: &str, skip: bool) -> Option<&'p Pattern> {
        if skip { patterns.first_that(text, |found| !self.begin(found)) } else { patterns.first(text) }
    }

    fn begin(&self, found: &str) -> bool {
        if found.split_once("://").is_some_and(|(_, host)| self.are_in(host)) {
            return true;
        }
        let found: String = found.split_ascii_whitespace().collect();
        let is_part = |name: &OwnName| name.is_one_word && found.len() >= SHORTEST && name.letters.starts_with(&found);
        self.0.iter().any(|name| found.starts_with(&name.letters) || is_part(name))
    }

    /// `app.acme.com` is the address of `acme/widgets` itself.
    fn are_in(&self, host: &str) -> bool {
        let letters =
            |label: &str| label.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
        let mut labels = host.split(['.', '/', ':']).map(letters);
        labels.any(|label| self.0.iter().any(|name| name.letters == label))
    }
}

/// A path without the folders that a package has its owner's name from: `java/com/github/acme/` is about no GitHub.
pub(super) fn without_owner(path: &str) -> Cow<'_, str> {
    const ROOTS: [&str; 6] = ["java", "kotlin", "scala", "groovy", "src", "app"];
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
