//! The working tree checks run in: where it is, and which commit it is.

use std::{
    path::{Path, PathBuf},
    thread,
};

use super::changes::git;
use crate::git::{GitCommand, GitError};
use loopgate_core::{RepoName, Sha};

/// A git working tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkout {
    /// The top of the working tree.
    pub root: PathBuf,
    pub head: Sha,
    pub tree: Sha,
    /// None when no branch is checked out, as in most CI.
    pub branch: Option<String>,
    /// `owner/name` of the remote called origin, if it is on a host with that form of address.
    pub repository: Option<RepoName>,
    pub cleanliness: Cleanliness,
}

/// Whether the working tree is what its head commit says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cleanliness {
    Clean,
    /// Files differ from the head commit, or are not tracked.
    Changed,
}

/// Why there is no checkout to work in.
#[derive(Debug, thiserror::Error)]
pub enum CheckoutError {
    #[error("{} is not in a git repository; run `git init` and commit once, then try again", .0.display())]
    NoRepository(PathBuf),
    #[error("{} is in a git repository without a working tree; go into a clone of it", .0.display())]
    Bare(PathBuf),
    /// Mostly a folder of another owner: git's message shows how to allow it.
    #[error("git does not work in {}: {said}", here.display())]
    Refused { here: PathBuf, said: String },
    #[error("the repository has no commit yet; commit once, then try again")]
    NoCommit,
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("git {0} printed what is not understood")]
    Unreadable(&'static str),
}

impl Checkout {
    /// Looks at the working tree around a directory.
    ///
    /// # Errors
    /// When there is none, it has no commit, or git cannot be run.
    pub fn around(directory: &Path) -> Result<Self, CheckoutError> {
        let [root, tree, remote, status] = together(
            directory,
            [
                &["rev-parse", "--show-toplevel"],
                &["rev-parse", "--verify", "--quiet", "HEAD^{tree}"],
                &["remote", "get-url", "origin"],
                &["status", "--porcelain=v2", "--branch", "--untracked-files=normal"],
            ],
        )?;
        let root = root.map(PathBuf::from).ok_or_else(|| why_not(directory))?;
        let tree = tree.ok_or(CheckoutError::NoCommit)?;
        let status = status.unwrap_or_default();
        let (head, branch, cleanliness) = read_status(&status);
        let id = |what: &'static str, text: &str| text.parse().map_err(|_| CheckoutError::Unreadable(what));
        Ok(Self {
            head: id("status", head)?,
            tree: id("rev-parse HEAD^{tree}", &tree)?,
            branch: branch.map(str::to_owned),
            repository: remote.and_then(|url| repository_of(&url)),
            cleanliness,
            root,
        })
    }

    /// The folder of this working tree's own git files.
    pub fn git_folder(&self) -> Option<PathBuf> {
        git(&self.root, &["rev-parse", "--absolute-git-dir"]).map(PathBuf::from)
    }

    /// Whether a branch of a remote holds the head, as far as is known here.
    pub fn is_pushed(&self) -> bool {
        let contains = format!("--contains={}", self.head);
        git(&self.root, &["for-each-ref", "--count=1", &contains, "refs/remotes"]).is_some_and(|name| !name.is_empty())
    }
}

/// Why git names no top of a working tree here.
fn why_not(directory: &Path) -> CheckoutError {
    let here = directory.to_owned();
    match GitCommand::new(directory, &["rev-parse", "--is-bare-repository"]).run() {
        Err(error) => CheckoutError::Git(error),
        Ok(answer) if answer.stdout.starts_with(b"true") => CheckoutError::Bare(here),
        Ok(answer) => {
            let said = answer.said.split_whitespace().collect::<Vec<_>>().join(" ");
            if said.is_empty() || said.contains("not a git repository") {
                return CheckoutError::NoRepository(here);
            }
            let said = said.trim_start_matches("fatal: ").chars().take(400).collect();
            CheckoutError::Refused { here, said }
        }
    }
}

/// Head, branch and cleanliness, as `git status` prints them. Its headers:
/// <https://git-scm.com/docs/git-status#_branch_headers>.
fn read_status(printed: &str) -> (&str, Option<&str>, Cleanliness) {
    let header = |name: &str| printed.lines().find_map(|line| line.strip_prefix("# ")?.strip_prefix(name));
    let is_clean = printed.lines().all(|line| line.starts_with('#'));
    let branch = header("branch.head ").filter(|&name| name != "(detached)");
    let cleanliness = if is_clean { Cleanliness::Clean } else { Cleanliness::Changed };
    (header("branch.oid ").unwrap_or_default(), branch, cleanliness)
}

/// What git prints for each of some questions, without the line end; none where it says no. They are asked side by
/// side: each starts a process, and people wait for them before the first check begins.
fn together<const N: usize>(directory: &Path, questions: [&[&str]; N]) -> Result<[Option<String>; N], CheckoutError> {
    let mut answers = [const { None }; N];
    thread::scope(|scope| {
        let asked = questions.map(|arguments| scope.spawn(move || GitCommand::new(directory, arguments).run()));
        for (answer, asked) in answers.iter_mut().zip(asked) {
            *answer = asked.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?.text().ok();
        }
        Ok(answers)
    })
}

/// `owner/name` from `https://host/owner/name.git` or `git@host:owner/name.git`. A folder of this machine is no address.
fn repository_of(url: &str) -> Option<RepoName> {
    let path = url.trim_end_matches('/').trim_end_matches(".git");
    let has_host = match path.split_once("://") {
        Some((scheme, _)) => scheme != "file",
        // https://git-scm.com/docs/git-clone#_git_urls: with a slash before the first colon it is a path.
        None => path.split_once(':').is_some_and(|(host, _)| host.len() > 1 && !host.contains(['/', '\\'])),
    };
    if !has_host {
        return None;
    }
    let mut parts = path.rsplit(['/', ':']);
    let (name, owner) = (parts.next()?, parts.next()?);
    format!("{owner}/{name}").parse().ok()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn addresses_of_a_remote_name_the_repository() {
        for (url, expected) in [
            ("https://github.com/acme/widgets.git", Some("acme/widgets")),
            ("git@github.com:acme/widgets.git", Some("acme/widgets")),
            ("ssh://git@ghe.example:2222/acme/widgets/", Some("acme/widgets")),
            ("widgets", None),
            ("/srv/git/acme/widgets.git", None),
            ("../acme/widgets", None),
            ("C:/git/acme/widgets", None),
            ("file:///srv/git/acme/widgets.git", None),
        ] {
            assert_eq!(repository_of(url).map(|name| name.to_string()).as_deref(), expected, "{url}");
        }
    }

    #[test]
    fn a_status_tells_commit_branch_and_changes() {
        let text = "# branch.oid 1234\n# branch.head a/b\n# branch.upstream origin/a\n# branch.ab +1 -0\n";
        assert_eq!(read_status(text), ("1234", Some("a/b"), Cleanliness::Clean));
        let text = "# branch.oid 1234\n# branch.head (detached)\n? # branch.oid 5678\n";
        assert_eq!(read_status(text), ("1234", None, Cleanliness::Changed));
    }

    #[test]
    fn outside_a_repository_the_error_says_how_to_start_one() {
        let folder = tempfile::tempdir().unwrap();
        let error = Checkout::around(folder.path()).unwrap_err().to_string();
        assert!(error.contains("git init"), "{error}");
        let made = Command::new("git").current_dir(folder.path()).args(["init", "--quiet", "--bare"]).status().unwrap();
        assert!(made.success());
        let error = Checkout::around(folder.path()).unwrap_err();
        assert!(matches!(error, CheckoutError::Bare(_)), "{error}");
        // Whatever else git has against a place, it says itself.
        std::fs::write(folder.path().join("config"), "[core\n").unwrap();
        let error = Checkout::around(folder.path()).unwrap_err().to_string();
        assert!(error.contains("bad config") && !error.contains("git init"), "{error}");
    }
}
