//! Addresses on GitHub's pages, built from the pull request's own address so that they are right on Enterprise too.

use sha2::{Digest as _, Sha256};

use super::sanitize::{Markdown, address, code, path_in_address};
use loopgate_core::{Sha, observed::Snapshot};

/// Where a pull request's pages are.
#[derive(Clone, Debug)]
pub struct Links {
    /// `https://github.com/acme/widgets/pull/12`.
    pull_request: Option<String>,
    /// `https://github.com/acme/widgets`.
    repository: Option<String>,
    head: Sha,
}

impl Links {
    pub fn of(snapshot: &Snapshot) -> Self {
        let pull_request = address(&snapshot.pull_request.url);
        let repository = pull_request
            .as_deref()
            .and_then(|url| url.split_once("/pull/"))
            .map(|(repo, _)| repo.to_owned());
        Self {
            pull_request,
            repository,
            head: snapshot.pull_request.head.sha,
        }
    }

    /// What changed from an earlier head to this one.
    pub fn since(&self, old: Sha) -> Option<String> {
        Some(format!(
            "{}/compare/{old}..{}",
            self.repository.as_deref()?,
            self.head
        ))
    }

    /// A place in the repository at the head commit, linked where the path allows it.
    pub fn place(&self, file: &str, line: Option<u32>) -> Markdown {
        let anchor = line.map(|line| format!("#L{line}")).unwrap_or_default();
        linked(code(&place(file, line)), self.at_head(file, &anchor))
    }

    /// Several lines of a file at the head commit.
    pub fn lines(&self, file: &str, first: u32, last: u32) -> Markdown {
        if first == last {
            return self.place(file, Some(first));
        }
        let label = code(&format!("{file}:{first}-{last}"));
        linked(label, self.at_head(file, &format!("#L{first}-L{last}")))
    }

    fn at_head(&self, file: &str, anchor: &str) -> Option<String> {
        let (repository, path) = self.repository.as_deref().zip(path_in_address(file))?;
        Some(format!("{repository}/blob/{}/{path}{anchor}", self.head))
    }

    /// A place in the pull request's diff, where reviewers read it. The number of a line that the diff takes away is
    /// the base's.
    pub fn in_diff(&self, file: &str, line: Option<u32>, is_removed: bool) -> Markdown {
        let side = if is_removed { 'L' } else { 'R' };
        let label = code(&place(file, line));
        let url = self.pull_request.as_deref().map(|pull| {
            let anchor = hex::encode(Sha256::digest(file.as_bytes()));
            let line = line.map(|line| format!("{side}{line}")).unwrap_or_default();
            format!("{pull}/files#diff-{anchor}{line}")
        });
        linked(label, url)
    }

    pub fn commit(&self, sha: Sha) -> Markdown {
        let url = self
            .repository
            .as_deref()
            .map(|repository| format!("{repository}/commit/{sha}"));
        linked(code(&sha.short()), url)
    }

    /// A link with a label of ours. The link to an address on another host shows that host to the reader.
    pub fn to(&self, label: &str, raw: &str) -> Markdown {
        let Some(url) = address(raw) else {
            return Markdown::ours(label);
        };
        // Hosts are shown in punycode: a look-alike letter cannot hide in one.
        let host = |url: &str| url::Url::parse(url).ok()?.host_str().map(ToOwned::to_owned);
        let own = self.pull_request.as_deref().and_then(host);
        let other = host(&url).filter(|host| Some(host) != own.as_ref());
        let at = other.map(|host| format!(" at {host}")).unwrap_or_default();
        Markdown::ours(format!("[{label}{at}]({url})"))
    }
}

/// `file:line`.
pub fn place(file: &str, line: Option<u32>) -> String {
    line.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}"))
}

/// A label that leads there, if the address is known.
pub fn linked(label: Markdown, url: Option<String>) -> Markdown {
    match url {
        Some(url) => Markdown::ours(format!("[{label}]({url})")),
        None => label,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    fn links() -> Links {
        Links::of(&fixtures::snapshot())
    }

    #[test]
    fn places_are_linked_at_the_head() {
        insta::assert_snapshot!(links().place("src/a b.rs", Some(3)), @"[`src/a b.rs:3`](https://github.com/acme/widgets/blob/a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1/src/a%20b.rs#L3)");
        insta::assert_snapshot!(links().in_diff("src/a.rs", Some(3), false), @"[`src/a.rs:3`](https://github.com/acme/widgets/pull/12/files#diff-bdfc5619650b795d1ffec5e8af3154a9a4b1833e5ed458694907d33709d12825R3)");
    }

    #[test]
    fn places_outside_the_repository_are_named_without_a_link() {
        for file in ["../x", "/etc/passwd", "C:\\x"] {
            assert_eq!(links().place(file, None).as_str(), format!("`{file}`"));
        }
    }

    #[test]
    fn a_foreign_host_is_named() {
        assert_eq!(
            links().to("log", "https://github.com/x/y").as_str(),
            "[log](https://github.com/x/y)"
        );
        assert_eq!(
            links().to("log", "https://ci.example.com/1").as_str(),
            "[log at ci.example.com](https://ci.example.com/1)"
        );
        assert_eq!(links().to("log", "javascript:alert(1)").as_str(), "log");
    }

    #[test]
    fn an_unusable_address_of_the_pull_request_links_nothing() {
        let mut snapshot = fixtures::snapshot();
        snapshot.pull_request.url = "nonsense".into();
        assert_eq!(Links::of(&snapshot).place("a.rs", None).as_str(), "`a.rs`");
    }
}
