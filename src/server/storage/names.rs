//! Targets as two columns of the database, keys as a text that people can copy, and back.

use std::{fmt, str::FromStr};

use super::Key;
use loopgate_core::{InstallationId, PrNumber};
use loopgate_webhook::Target;

/// The columns `repository` and `what`.
pub(super) fn columns(target: &Target) -> (String, String) {
    let what = match target {
        Target::PullRequest { number, .. } => format!("pr:{number}"),
        Target::Head { sha, .. } => format!("head:{sha}"),
        Target::Base { branch, .. } => format!("base:{branch}"),
        Target::Repository(_) => "repository".to_owned(),
        Target::Installation => "installation".to_owned(),
        Target::MergeGroup {
            head,
            base,
            base_ref,
            ..
        } => format!("group:{head}:{base}:{base_ref}"),
    };
    (
        target
            .repository()
            .map(ToString::to_string)
            .unwrap_or_default(),
        what,
    )
}

/// `9001/acme/widgets/pr:12`.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (repository, what) = columns(&self.target);
        let slash = if repository.is_empty() { "" } else { "/" };
        write!(f, "{}/{repository}{slash}{what}", self.installation)
    }
}

impl FromStr for Key {
    /// It carries no reason: the caller reports that there is no such target.
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        let (installation, rest) = text.split_once('/').ok_or(())?;
        let (repository, what) = match rest.match_indices('/').nth(1) {
            Some((at, _)) => (&rest[..at], &rest[at + 1..]),
            None => ("", rest),
        };
        let installation = InstallationId::new(installation.parse().map_err(|_| ())?);
        Ok(Self {
            installation,
            target: target(repository, what).ok_or(())?,
        })
    }
}

/// `None` for columns that this version did not write.
pub(super) fn target(repository: &str, what: &str) -> Option<Target> {
    if what == "installation" {
        return Some(Target::Installation);
    }
    let repository = repository.parse().ok()?;
    if what == "repository" {
        return Some(Target::Repository(repository));
    }
    let (kind, rest) = what.split_once(':')?;
    Some(match kind {
        "pr" => Target::PullRequest {
            repository,
            number: PrNumber::new(rest.parse().ok()?),
        },
        "head" => Target::Head {
            repository,
            sha: rest.parse().ok()?,
        },
        "base" => Target::Base {
            repository,
            branch: rest.to_owned(),
        },
        "group" => {
            let mut parts = rest.splitn(3, ':');
            Target::MergeGroup {
                repository,
                head: parts.next()?.parse().ok()?,
                base: parts.next()?.parse().ok()?,
                base_ref: parts.next()?.to_owned(),
            }
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopgate_core::{RepoName, Sha};

    #[test]
    fn targets_come_back_as_they_were() {
        let repository: RepoName = "Acme/widgets.rs".parse().unwrap();
        let sha: Sha = "0123456789abcdef0123456789abcdef01234567".parse().unwrap();
        for it in [
            Target::PullRequest {
                repository: repository.clone(),
                number: PrNumber::new(u64::MAX),
            },
            Target::Head {
                repository: repository.clone(),
                sha,
            },
            Target::Base {
                repository: repository.clone(),
                branch: "a:b/ü c".into(),
            },
            Target::Repository(repository.clone()),
            Target::Installation,
            Target::MergeGroup {
                repository,
                head: sha,
                base: sha,
                base_ref: "refs/heads/a:b".into(),
            },
        ] {
            let (repository, what) = columns(&it);
            assert_eq!(target(&repository, &what).as_ref(), Some(&it));
            let key = Key {
                installation: InstallationId::new(9001),
                target: it,
            };
            assert_eq!(key.to_string().parse().as_ref(), Ok(&key));
        }
    }

    #[test]
    fn foreign_columns_are_no_target() {
        for (repository, what) in [
            ("", "pr:1"),
            ("a/b", "pr:x"),
            ("a/b", "head:1"),
            ("a/b", "new:1"),
            ("a/b", "group:"),
        ] {
            assert_eq!(target(repository, what), None, "{repository} {what}");
        }
        for text in [
            "",
            "9001",
            "9001/",
            "9001/pr:1",
            "x/acme/widgets/pr:1",
            "9001/acme/pr:1",
            "9001//installation/",
        ] {
            assert_eq!(text.parse::<Key>(), Err(()), "{text}");
        }
    }
}
