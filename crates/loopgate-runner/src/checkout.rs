//! The working tree checks run in: where it is, which commit it is, and what it changes against the base branch, by
//! git.

use std::{
    path::{Path, PathBuf},
    thread,
};

use loopgate_core::{
    RepoName, Sha,
    observed::{ChangedFile, ChangedFiles, FileStatus},
};
use loopgate_git::{Git, GitError, GitOutput};

/// A git working tree.
#[derive(Clone, Debug)]
pub struct Checkout {
    /// Git, at the top of the working tree.
    pub git: Git,
    /// The top of the working tree.
    pub root: PathBuf,
    pub head: Sha,
    pub tree: Sha,
    /// None when no branch is checked out, as in most CI.
    pub branch: Option<String>,
    /// `owner/name` of the remote called origin, if it is on a host with that form of address.
    pub repository: Option<RepoName>,
    /// The working tree is that of its head commit: no file differs, and none is untracked. What a submodule holds
    /// beside its commit does not count.
    pub is_clean: bool,
}

/// Why there is no checkout to work in.
#[derive(Debug, thiserror::Error)]
pub enum CheckoutError {
    #[error("{} is not in a git repository; run `git init` and commit once, then try again", .0.display())]
    NoRepository(PathBuf),
    #[error("{} is in a git repository without a working tree; go into a clone of it", .0.display())]
    Bare(PathBuf),
    /// Mostly a folder of another owner: git's message shows how to allow it.
    #[error("git does not work in {}: {message}", here.display())]
    Refused { here: PathBuf, message: String },
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
        Self::of(&Git::at(directory))
    }

    /// Looks at the working tree around the directory where git is asked.
    ///
    /// # Errors
    /// When there is none, it has no commit, or git cannot be run.
    pub fn of(git: &Git) -> Result<Self, CheckoutError> {
        let [place, remote, status] = together(
            git,
            [
                &["rev-parse", "--show-toplevel", "HEAD^{tree}"],
                &["remote", "get-url", "origin"],
                &[
                    "status",
                    "--porcelain=v2",
                    "--branch",
                    "--untracked-files=normal",
                    IGNORE_SUBMODULES,
                ],
            ],
        );
        let (place, remote) = (place?, remote?.text().ok());
        let printed = String::from_utf8_lossy(&place.stdout);
        let mut lines = printed.lines();
        let root = lines
            .next()
            .map(PathBuf::from)
            .ok_or_else(|| why_not(git))?;
        let tree = lines
            .next()
            .filter(|_| place.status.success())
            .ok_or(CheckoutError::NoCommit)?;
        let status = status?.text().unwrap_or_default();
        let (head, branch, is_clean) = read_status(&status);
        let id = |what: &'static str, text: &str| {
            text.parse().map_err(|_| CheckoutError::Unreadable(what))
        };
        Ok(Self {
            head: id("status", head)?,
            tree: id("rev-parse HEAD^{tree}", tree)?,
            branch: branch.map(str::to_owned),
            repository: remote.and_then(|url| repository_of(&url)),
            is_clean,
            git: git.within(&root),
            root,
        })
    }

    /// Whether a branch of a remote holds the head, as far as is known here.
    pub fn is_pushed(&self) -> bool {
        let contains = format!("--contains={}", self.head);
        line(
            &self.git,
            &["for-each-ref", "--count=1", &contains, "refs/remotes"],
        )
        .is_some_and(|name| !name.is_empty())
    }
}

/// Why git names no top of a working tree here.
fn why_not(git: &Git) -> CheckoutError {
    let here = git.directory().to_owned();
    match git.command(&["rev-parse", "--is-bare-repository"]).run() {
        Err(error) => CheckoutError::Git(error),
        Ok(answer) if answer.stdout.starts_with(b"true") => CheckoutError::Bare(here),
        Ok(answer) => {
            let message = answer
                .stderr
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ");
            // Without a working tree around it, it has to be named (`safe.bareRepository`).
            if message.contains("cannot use bare repository") {
                return CheckoutError::Bare(here);
            }
            if message.is_empty() || message.contains("not a git repository") {
                return CheckoutError::NoRepository(here);
            }
            let message = message
                .trim_start_matches("fatal: ")
                .chars()
                .take(400)
                .collect();
            CheckoutError::Refused { here, message }
        }
    }
}

/// Head, branch and whether nothing differs, as `git status` prints them. Its headers:
/// <https://git-scm.com/docs/git-status#_branch_headers>.
fn read_status(printed: &str) -> (&str, Option<&str>, bool) {
    let header = |name: &str| {
        printed
            .lines()
            .find_map(|line| line.strip_prefix("# ")?.strip_prefix(name))
    };
    let is_clean = printed.lines().all(|line| line.starts_with('#'));
    let branch = header("branch.head ").filter(|&name| name != "(detached)");
    (header("branch.oid ").unwrap_or_default(), branch, is_clean)
}

/// How git ends with each of some questions. They are asked side by side: each starts a process, and people wait for
/// them before the first check begins.
fn together<const N: usize>(
    git: &Git,
    questions: [&[&str]; N],
) -> [Result<GitOutput, GitError>; N] {
    thread::scope(|scope| {
        let asked = questions.map(|arguments| scope.spawn(|| git.command(arguments).run()));
        asked.map(|asked| {
            asked
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })
}

/// `owner/name` from `https://host/owner/name.git` or `git@host:owner/name.git`. A folder of this machine is no address.
fn repository_of(url: &str) -> Option<RepoName> {
    let path = url.trim_end_matches('/').trim_end_matches(".git");
    let has_host = match path.split_once("://") {
        Some((scheme, _)) => scheme != "file",
        // https://git-scm.com/docs/git-clone#_git_urls: with a slash before the first colon it is a path.
        None => path
            .split_once(':')
            .is_some_and(|(host, _)| host.len() > 1 && !host.contains(['/', '\\'])),
    };
    if !has_host {
        return None;
    }
    let mut parts = path.rsplit(['/', ':']);
    let (name, owner) = (parts.next()?, parts.next()?);
    format!("{owner}/{name}").parse().ok()
}

/// Largest diff read, in bytes; a larger one is "too large to read".
const DIFF_LIMIT: usize = 64 * 1024 * 1024;

/// Git does not look into submodules: it would start another git there, under a configuration that nobody has looked at.
pub(super) const IGNORE_SUBMODULES: &str = "--ignore-submodules=dirty";

/// A diff that reads alike whatever is configured; what is compared follows.
pub(super) const DIFF: [&str; 10] = [
    "diff",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--find-renames",
    "--no-relative",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    IGNORE_SUBMODULES,
    "--submodule=short",
];

/// The commit a branch was made from, and what has changed since, uncommitted changes included.
#[derive(Clone, Debug, PartialEq)]
pub struct Changes {
    pub merge_base: Sha,
    pub files: ChangedFiles,
}

impl Changes {
    /// The same for a base that somebody asked for.
    ///
    /// # Errors
    /// When it is not there, or has no commit in common with what is checked out.
    pub fn against_named(git: &Git, base: &str) -> Result<Self, NoBase> {
        let exists = |name: &String| {
            let commit = format!("{name}^{{commit}}");
            line(
                git,
                &[
                    "rev-parse",
                    "--verify",
                    "--quiet",
                    "--end-of-options",
                    &commit,
                ],
            )
            .is_some()
        };
        Self::against(git, Some(base)).ok_or_else(|| match candidates(base).iter().any(exists) {
            true => NoBase::Apart(base.to_owned()),
            false => NoBase::Missing(base.to_owned()),
        })
    }

    /// Compares the working tree around the directory where git is asked with where it left the base branch: `base` if given, else the
    /// remote's default branch, else `main` or `master`. None where there is no such branch, or it is what is checked
    /// out.
    pub fn against(git: &Git, base: Option<&str>) -> Option<Self> {
        let candidates = base.map_or_else(
            || USUAL_BASES.map(str::to_owned).into(),
            |base| Vec::from(candidates(base)),
        );
        let merge_base = candidates
            .iter()
            .find_map(|branch| line(git, &["merge-base", "--end-of-options", branch, "HEAD"]))?;
        let merge_base: Sha = merge_base.parse().ok()?;
        let diff = git.command(&[&DIFF[..], &[&merge_base.to_string()]].concat());
        let diff = diff.run().and_then(GitOutput::success);
        Some(Self {
            merge_base,
            files: in_diff(diff).ok()?,
        })
    }
}

/// What a base may mean, the likeliest first.
fn candidates(base: &str) -> [String; 2] {
    [format!("refs/remotes/origin/{base}"), base.to_owned()]
}

/// A base that nothing can be compared with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoBase {
    #[error(
        "there is no branch or commit `{0}` here: fetch it with `git fetch origin {0}`, or name one that is here"
    )]
    Missing(String),
    #[error(
        "`{0}` and what is checked out have no commit in common: a shallow clone lacks it, `git fetch --unshallow` \
             brings it"
    )]
    Apart(String),
}

/// The branches a change usually is made for, the likeliest first.
const USUAL_BASES: [&str; 5] = [
    "refs/remotes/origin/HEAD",
    "refs/remotes/origin/main",
    "refs/remotes/origin/master",
    "refs/heads/main",
    "refs/heads/master",
];

/// What a git command prints, without the line's end; none where it fails.
pub(super) fn line(git: &Git, arguments: &[&str]) -> Option<String> {
    git.command(arguments).run().and_then(GitOutput::text).ok()
}

/// The files of the diff that git printed, or why they are not known.
///
/// # Errors
/// When git failed. A diff that is too large is no error: something changed, and it is unknown what.
pub(super) fn in_diff(printed: Result<Vec<u8>, GitError>) -> Result<ChangedFiles, GitError> {
    let too_large = |reason| ChangedFiles::TooLarge {
        known: Vec::new(),
        reason,
    };
    Ok(match printed {
        Ok(diff) if diff.len() > DIFF_LIMIT => {
            too_large(format!("the diff has {} bytes", diff.len()))
        }
        Ok(diff) => ChangedFiles::Complete(parse(&String::from_utf8_lossy(&diff))),
        Err(GitError::TooMuch { limit, .. }) => {
            too_large(format!("the diff has more than {limit} bytes"))
        }
        Err(error) => return Err(error),
    })
}

/// The files of a git diff, with their hunks as patches.
fn parse(diff: &str) -> Vec<ChangedFile> {
    let mut files: Vec<ChangedFile> = Vec::new();
    for line in diff.split_inclusive('\n') {
        let text = line.trim_end_matches('\n');
        if let Some(names) = text.strip_prefix("diff --git ") {
            // `a/old b/new`: the same name twice unless the header has others.
            let path = names
                .get(names.len() / 2 + 1..)
                .and_then(|name| name.strip_prefix("b/"))
                .unwrap_or(names);
            let (path, status, previous_path) = (path.to_owned(), FileStatus::Modified, None);
            files.push(ChangedFile {
                path,
                previous_path,
                status,
                additions: 0,
                deletions: 0,
                blob: None,
                patch: None,
            });
            continue;
        }
        let Some(file) = files.last_mut() else {
            continue;
        };
        if text.starts_with("@@ ") || file.patch.is_some() {
            match text.as_bytes().first() {
                Some(b'+') => file.additions += 1,
                Some(b'-') => file.deletions += 1,
                _ => {}
            }
            file.patch.get_or_insert_default().push_str(line);
        } else {
            read_header(file, text);
        }
    }
    for patch in files.iter_mut().filter_map(|file| file.patch.as_mut()) {
        patch.truncate(patch.trim_end_matches('\n').len());
    }
    files
}

fn read_header(file: &mut ChangedFile, text: &str) {
    if text.starts_with("new file mode") {
        file.status = FileStatus::Added;
    } else if text.starts_with("deleted file mode") {
        file.status = FileStatus::Removed;
    } else if let Some(old) = text.strip_prefix("rename from ") {
        (file.status, file.previous_path) = (FileStatus::Renamed, Some(old.to_owned()));
    } else if let Some(new) = text.strip_prefix("rename to ") {
        new.clone_into(&mut file.path);
    } else if let Some(new) = text.strip_prefix("+++ b/") {
        // A name with blanks ends with a tab here.
        new.trim_end_matches('\t').clone_into(&mut file.path);
    }
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
            (
                "ssh://git@ghe.example:2222/acme/widgets/",
                Some("acme/widgets"),
            ),
            ("widgets", None),
            ("/srv/git/acme/widgets.git", None),
            ("../acme/widgets", None),
            ("C:/git/acme/widgets", None),
            ("file:///srv/git/acme/widgets.git", None),
        ] {
            assert_eq!(
                repository_of(url).map(|name| name.to_string()).as_deref(),
                expected,
                "{url}"
            );
        }
    }

    #[test]
    fn a_status_tells_commit_branch_and_changes() {
        let text =
            "# branch.oid 1234\n# branch.head a/b\n# branch.upstream origin/a\n# branch.ab +1 -0\n";
        assert_eq!(read_status(text), ("1234", Some("a/b"), true));
        let text = "# branch.oid 1234\n# branch.head (detached)\n? # branch.oid 5678\n";
        assert_eq!(read_status(text), ("1234", None, false));
    }

    #[test]
    fn outside_a_repository_the_error_says_how_to_start_one() {
        let folder = tempfile::tempdir().unwrap();
        let error = Checkout::around(folder.path()).unwrap_err().to_string();
        assert!(error.contains("git init"), "{error}");
        let made = |arguments: &[&str]| {
            let folder = tempfile::tempdir().unwrap();
            let mut git = Command::new("git");
            git.current_dir(folder.path()).args(arguments);
            assert!(git.status().unwrap().success());
            folder
        };
        let bare = made(&["init", "--quiet", "--bare"]);
        let error = Checkout::around(bare.path()).unwrap_err();
        assert!(matches!(error, CheckoutError::Bare(_)), "{error}");
        // Whatever else git has against a place, it says itself.
        let broken = made(&["init", "--quiet"]);
        std::fs::write(broken.path().join(".git/config"), "[core\n").unwrap();
        let error = Checkout::around(broken.path()).unwrap_err().to_string();
        assert!(
            error.contains("bad config") && !error.contains("git init"),
            "{error}"
        );
    }
}

#[cfg(test)]
mod changes_tests {
    use super::*;

    #[test]
    fn a_base_that_somebody_names_must_be_there() {
        let folder = tempfile::tempdir().unwrap();
        let run = |arguments: &[&str]| {
            let mut command = std::process::Command::new("git");
            command
                .args(["-c", "user.name=a", "-c", "user.email=a@example.com"])
                .args(arguments);
            assert!(
                command
                    .current_dir(folder.path())
                    .status()
                    .unwrap()
                    .success(),
                "{arguments:?}"
            );
        };
        run(&["init", "-q", "-b", "main"]);
        run(&["commit", "-q", "--allow-empty", "-m", "one"]);
        let asked = |base: &str| Changes::against_named(&Git::at(folder.path()), base);
        assert_eq!(
            asked("main").unwrap().files,
            ChangedFiles::Complete(Vec::new())
        );
        assert_eq!(asked("nope").unwrap_err(), NoBase::Missing("nope".into()));
        assert_eq!(asked("--all").unwrap_err(), NoBase::Missing("--all".into()));
        run(&["checkout", "-q", "--orphan", "other"]);
        run(&["commit", "-q", "--allow-empty", "-m", "two"]);
        assert_eq!(asked("main").unwrap_err(), NoBase::Apart("main".into()));
    }

    #[test]
    fn a_git_diff_becomes_changed_files() {
        let diff = "\
diff --git a/src/a b.rs b/src/a b.rs
index 111..222 100644
--- a/src/a b.rs\t
+++ b/src/a b.rs\t
@@ -1,2 +1,2 @@ fn a() {
 one
-two
+2
diff --git a/old.rs b/new.rs
similarity index 100%
rename from old.rs
rename to new.rs
diff --git a/logo.png b/logo.png
new file mode 100644
index 000..333
Binary files /dev/null and b/logo.png differ
diff --git a/gone.rs b/gone.rs
deleted file mode 100644
--- a/gone.rs
+++ /dev/null
@@ -1 +0,0 @@
--- a line that looks like a header
";
        let files = parse(diff);
        let seen: Vec<_> = files
            .iter()
            .map(|file| {
                (
                    file.path.as_str(),
                    file.status,
                    file.additions,
                    file.deletions,
                    file.patch.is_some(),
                )
            })
            .collect();
        assert_eq!(
            seen,
            [
                ("src/a b.rs", FileStatus::Modified, 1, 1, true),
                ("new.rs", FileStatus::Renamed, 0, 0, false),
                ("logo.png", FileStatus::Added, 0, 0, false),
                ("gone.rs", FileStatus::Removed, 0, 1, true),
            ]
        );
        assert_eq!(files[1].previous_path.as_deref(), Some("old.rs"));
        assert_eq!(files[0].added_lines().unwrap(), [(2, "2")]);
    }
}
