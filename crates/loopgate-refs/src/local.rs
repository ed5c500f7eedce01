//! The git database of a repository on this machine, through the `git` command.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::{GitObjects, ListObjects, NewCommit, RefName, RefsError, Result, Retry};
use loopgate_core::Sha;
use loopgate_git::{Git, GitOutput};

/// A local repository.
#[derive(Debug, Clone)]
pub struct LocalRepository {
    git: Git,
    /// An index of its own, in which a tree is put together; else the repository's.
    index: Option<PathBuf>,
}

const NAME: &str = "Loopgate";
const EMAIL: &str = "loopgate@localhost";
/// "Must not exist", as `git update-ref` writes it.
const NO_COMMIT: Sha = Sha::from_bytes([0; 20]);

/// The symbolic ref that names the active loop.
const CURRENT: &str = "refs/loopgate/current";
const TASKS: &str = "refs/loopgate/task/";

impl LocalRepository {
    /// The repository that `directory` is in.
    ///
    /// # Errors
    /// [`RefsError::NoRepository`] when it is in none, with how to start one.
    pub fn open(directory: &Path) -> Result<Self> {
        Self::of(&Git::at(directory))
    }

    /// The repository in which git is asked.
    ///
    /// # Errors
    /// [`RefsError::NoRepository`] when it is in none.
    pub fn of(git: &Git) -> Result<Self> {
        git.folders().ok_or(RefsError::NoRepository)?;
        Ok(Self {
            git: git.clone(),
            index: None,
        })
    }

    /// The names of all loops, in order.
    ///
    /// # Errors
    /// When git does not answer.
    pub async fn tasks(&self) -> Result<Vec<String>> {
        let listing = self
            .git(&["for-each-ref", "--format=%(refname)", TASKS], None)
            .await?;
        let listing = String::from_utf8_lossy(&listing).into_owned();
        Ok(listing
            .lines()
            .filter_map(|name| name.strip_prefix(TASKS))
            .map(str::to_owned)
            .collect())
    }

    /// The name of the active loop.
    ///
    /// # Errors
    /// When git cannot be run.
    pub async fn current_task(&self) -> Result<Option<String>> {
        let answer = self
            .run(&["symbolic-ref", "--quiet", CURRENT], None)
            .await?;
        let name = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
        Ok(name
            .strip_prefix(TASKS)
            .filter(|_| answer.status.success())
            .map(str::to_owned))
    }

    /// The commit that a revision names, if it names one.
    ///
    /// # Errors
    /// When git cannot be run.
    pub async fn resolve_commit(&self, revision: &str) -> Result<Option<Sha>> {
        self.resolve(&format!("{revision}^{{commit}}")).await
    }

    /// Makes a loop the active one.
    ///
    /// # Errors
    /// When git refuses.
    pub async fn enter_task(&self, name: &RefName) -> Result<()> {
        self.git(&["symbolic-ref", CURRENT, &name.to_string()], None)
            .await
            .map(drop)
    }

    /// A loop is the active one no longer; fine if it was not.
    ///
    /// # Errors
    /// When git refuses.
    pub async fn leave_task(&self, name: &RefName) -> Result<()> {
        let current = self.current_task().await?;
        if current.is_some_and(|current| name.to_string() == format!("{TASKS}{current}")) {
            self.git(&["symbolic-ref", "--delete", CURRENT], None)
                .await?;
        }
        Ok(())
    }

    async fn run(&self, arguments: &[&str], input: Option<&[u8]>) -> Result<GitOutput> {
        let mut command = self.git.command(arguments);
        for role in ["AUTHOR", "COMMITTER"] {
            command = command
                .env(&format!("GIT_{role}_NAME"), NAME)
                .env(&format!("GIT_{role}_EMAIL"), EMAIL);
        }
        if let Some(index) = &self.index {
            command = command.env("GIT_INDEX_FILE", index);
        }
        if let Some(input) = input {
            command = command.input(input);
        }
        Ok(command.run_async().await?)
    }

    /// Standard output of a git command that must succeed.
    async fn git(&self, arguments: &[&str], input: Option<&[u8]>) -> Result<Vec<u8>> {
        Ok(self.run(arguments, input).await?.success()?)
    }

    async fn sha(&self, arguments: &[&str], input: Option<&[u8]>) -> Result<Sha> {
        Ok(self.run(arguments, input).await?.object_id()?)
    }

    /// Resolves a revision; `None` when it names nothing.
    async fn resolve(&self, revision: &str) -> Result<Option<Sha>> {
        let answer = self
            .run(
                &[
                    "rev-parse",
                    "--verify",
                    "--quiet",
                    "--end-of-options",
                    revision,
                ],
                None,
            )
            .await?;
        Ok(answer.object_id().ok())
    }
}

impl GitObjects for LocalRepository {
    async fn read_ref(&self, name: &RefName) -> Result<Option<Sha>> {
        self.resolve(&name.to_string()).await
    }

    async fn read_file(&self, commit: Sha, path: &str, limit: usize) -> Result<Option<Vec<u8>>> {
        let Some(blob) = self.resolve(&format!("{commit}:{path}")).await? else {
            return Ok(None);
        };
        let size = self
            .git(&["cat-file", "-s", &blob.to_string()], None)
            .await?;
        let size: Option<usize> = std::str::from_utf8(&size)
            .ok()
            .and_then(|text| text.trim().parse().ok());
        if size.is_none_or(|size| size > limit) {
            return Err(RefsError::TooLarge {
                path: path.to_owned(),
                limit,
            });
        }
        self.git(&["cat-file", "blob", &blob.to_string()], None)
            .await
            .map(Some)
    }

    async fn parent(&self, commit: Sha) -> Result<Option<Sha>> {
        self.resolve(&format!("{commit}^1")).await
    }

    async fn write_commit(&self, commit: NewCommit<'_>) -> Result<Sha> {
        let unusable = |error: io::Error| RefsError::Fault {
            message: error.to_string(),
            retry: Retry::Later,
        };
        let folder = tempfile::tempdir().map_err(unusable)?;
        let apart = Self {
            index: Some(folder.path().join("index")),
            ..self.clone()
        };
        if let Some(parent) = commit.parent {
            apart.git(&["read-tree", &parent.to_string()], None).await?;
        }
        let mut entries = String::new();
        for (path, text) in commit.files {
            let blob = self
                .sha(&["hash-object", "-w", "--stdin"], Some(text.as_bytes()))
                .await?;
            entries.push_str(&format!("100644 {blob}\t{path}\0"));
        }
        apart
            .git(
                &["update-index", "-z", "--index-info"],
                Some(entries.as_bytes()),
            )
            .await?;
        let tree = apart.sha(&["write-tree"], None).await?.to_string();
        let mut arguments = vec!["commit-tree", &tree, "-m", commit.subject];
        let parents: Vec<String> = commit
            .parent
            .iter()
            .chain(commit.keeps)
            .map(ToString::to_string)
            .collect();
        for parent in &parents {
            arguments.extend(["-p", parent]);
        }
        self.sha(&arguments, None).await
    }

    async fn compare_and_swap(&self, name: &RefName, old: Option<Sha>, new: Sha) -> Result<()> {
        let (name_text, new, old) = (
            name.to_string(),
            new.to_string(),
            old.unwrap_or(NO_COMMIT).to_string(),
        );
        let arguments = [
            "update-ref",
            "--no-deref",
            "-m",
            "loopgate",
            &name_text,
            &new,
            &old,
        ];
        let answer = self.run(&arguments, None).await?;
        if answer.status.success() {
            return Ok(());
        }
        // The message may be anything; what counts is where the ref is now.
        if self.read_ref(name).await?.unwrap_or(NO_COMMIT).to_string() == old {
            return Err(answer.failure().into());
        }
        Err(RefsError::RefMoved { name: name.clone() })
    }

    async fn delete_ref(&self, name: &RefName) -> Result<()> {
        self.git(&["update-ref", "--no-deref", "-d", &name.to_string()], None)
            .await
            .map(drop)
    }

    async fn refs(&self, below: &str) -> Result<Vec<(RefName, Sha)>> {
        let pattern = format!("refs/loopgate/{below}");
        let listing = self
            .git(
                &[
                    "for-each-ref",
                    "--format=%(refname) %(objectname)",
                    &pattern,
                ],
                None,
            )
            .await?;
        let listing = String::from_utf8_lossy(&listing).into_owned();
        let named = |line: &str| {
            let (name, sha) = line.split_once(' ')?;
            Some((RefName::of(name)?, sha.parse().ok()?))
        };
        Ok(listing.lines().filter_map(named).collect())
    }
}

impl ListObjects for LocalRepository {
    async fn list_folder(&self, commit: Sha, folder: &str) -> Result<Vec<String>> {
        let Some(tree) = self.resolve(&format!("{commit}:{folder}")).await? else {
            return Ok(Vec::new());
        };
        let listing = self
            .git(&["ls-tree", "-z", "--name-only", &tree.to_string()], None)
            .await?;
        Ok(String::from_utf8_lossy(&listing)
            .split_terminator('\0')
            .map(str::to_owned)
            .collect())
    }
}

#[cfg(test)]
mod tests;
