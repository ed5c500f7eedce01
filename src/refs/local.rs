//! The git database of a repository on this machine, through the `git` command.

use std::path::{Path, PathBuf};

use super::{GitObjects, ListObjects, NewCommit, RefName, RefsError};
use crate::git::{GitCommand, GitOutput};
use loopgate_core::Sha;

/// A local repository.
#[derive(Debug, Clone)]
pub struct LocalRepository {
    directory: PathBuf,
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
    pub async fn open(directory: &Path) -> Result<Self, RefsError> {
        let outside = Self { directory: directory.to_owned() };
        let answer = outside.run(&["rev-parse", "--absolute-git-dir"], None).await?;
        if !answer.status.success() {
            return Err(RefsError::NoRepository);
        }
        Ok(outside)
    }

    /// The names of all loops, in order.
    ///
    /// # Errors
    /// When git does not answer.
    pub async fn tasks(&self) -> Result<Vec<String>, RefsError> {
        let listing = self.git(&["for-each-ref", "--format=%(refname)", TASKS], None).await?;
        let listing = String::from_utf8_lossy(&listing).into_owned();
        Ok(listing.lines().filter_map(|name| name.strip_prefix(TASKS)).map(str::to_owned).collect())
    }

    /// The name of the active loop.
    ///
    /// # Errors
    /// When git cannot be run.
    pub async fn current_task(&self) -> Result<Option<String>, RefsError> {
        let answer = self.run(&["symbolic-ref", "--quiet", CURRENT], None).await?;
        let name = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
        Ok(name.strip_prefix(TASKS).filter(|_| answer.status.success()).map(str::to_owned))
    }

    /// The commit that a revision names, if it names one.
    ///
    /// # Errors
    /// When git cannot be run.
    pub async fn resolve_commit(&self, revision: &str) -> Result<Option<Sha>, RefsError> {
        self.resolve(&format!("{revision}^{{commit}}")).await
    }

    /// Makes a loop the active one.
    ///
    /// # Errors
    /// When git refuses.
    pub async fn enter_task(&self, name: &RefName) -> Result<(), RefsError> {
        self.git(&["symbolic-ref", CURRENT, &name.to_string()], None).await.map(drop)
    }

    /// A loop is the active one no longer; fine if it was not.
    ///
    /// # Errors
    /// When git refuses.
    pub async fn leave_task(&self, name: &RefName) -> Result<(), RefsError> {
        let current = self.current_task().await?;
        if current.is_some_and(|current| name.to_string() == format!("{TASKS}{current}")) {
            self.git(&["symbolic-ref", "--delete", CURRENT], None).await?;
        }
        Ok(())
    }

    async fn run(&self, arguments: &[&str], input: Option<&[u8]>) -> Result<GitOutput, RefsError> {
        let mut command = GitCommand::new(&self.directory, arguments);
        for role in ["AUTHOR", "COMMITTER"] {
            command = command.env(&format!("GIT_{role}_NAME"), NAME).env(&format!("GIT_{role}_EMAIL"), EMAIL);
        }
        if let Some(input) = input {
            command = command.input(input);
        }
        Ok(command.run_async().await?)
    }

    /// Standard output of a git command that must succeed.
    async fn git(&self, arguments: &[&str], input: Option<&[u8]>) -> Result<Vec<u8>, RefsError> {
        Ok(self.run(arguments, input).await?.success()?)
    }

    async fn sha(&self, arguments: &[&str], input: Option<&[u8]>) -> Result<Sha, RefsError> {
        Ok(self.run(arguments, input).await?.object_id()?)
    }

    /// Resolves a revision; `None` when it names nothing.
    async fn resolve(&self, revision: &str) -> Result<Option<Sha>, RefsError> {
        let answer = self.run(&["rev-parse", "--verify", "--quiet", "--end-of-options", revision], None).await?;
        Ok(answer.object_id().ok())
    }

    /// The entries of a tree as `git mktree` reads them: `mode type sha\tpath`.
    async fn tree_of(&self, treeish: Option<&str>) -> Result<Vec<TreeEntry>, RefsError> {
        let Some(treeish) = treeish else { return Ok(Vec::new()) };
        let listing = self.git(&["ls-tree", "-z", treeish], None).await?;
        Ok(listing
            .split(|byte| *byte == 0)
            .filter_map(|line| {
                let (what, name) = std::str::from_utf8(line).ok()?.split_once('\t')?;
                Some(TreeEntry { what: what.to_owned(), name: name.to_owned() })
            })
            .collect())
    }

    async fn make_tree(&self, entries: &[TreeEntry]) -> Result<Sha, RefsError> {
        let lines: String = entries.iter().map(|entry| format!("{}\t{}\0", entry.what, entry.name)).collect();
        self.sha(&["mktree", "-z"], Some(lines.as_bytes())).await
    }
}

#[derive(Debug, Clone)]
struct TreeEntry {
    /// `100644 blob <sha>` or `040000 tree <sha>`.
    what: String,
    name: String,
}

fn put(entries: &mut Vec<TreeEntry>, what: String, name: &str) {
    entries.retain(|entry| entry.name != name);
    entries.push(TreeEntry { what, name: name.to_owned() });
}

impl GitObjects for LocalRepository {
    async fn read_ref(&self, name: &RefName) -> Result<Option<Sha>, RefsError> {
        self.resolve(&name.to_string()).await
    }

    async fn read_file(&self, commit: Sha, path: &str, limit: usize) -> Result<Option<Vec<u8>>, RefsError> {
        let Some(blob) = self.resolve(&format!("{commit}:{path}")).await? else { return Ok(None) };
        let size = self.git(&["cat-file", "-s", &blob.to_string()], None).await?;
        let size: Option<usize> = std::str::from_utf8(&size).ok().and_then(|text| text.trim().parse().ok());
        if size.is_none_or(|size| size > limit) {
            return Err(RefsError::TooLarge { path: path.to_owned(), limit });
        }
        self.git(&["cat-file", "blob", &blob.to_string()], None).await.map(Some)
    }

    async fn parent(&self, commit: Sha) -> Result<Option<Sha>, RefsError> {
        self.resolve(&format!("{commit}^1")).await
    }

    async fn write_commit(&self, commit: NewCommit<'_>) -> Result<Sha, RefsError> {
        let base = commit.parent.map(|parent| parent.to_string());
        let mut root = self.tree_of(base.as_deref()).await?;
        // Files stand at the top or in one folder: that is all a run's tree has.
        let mut folders: Vec<(String, Vec<TreeEntry>)> = Vec::new();
        for (path, text) in commit.files {
            let blob = self.sha(&["hash-object", "-w", "--stdin"], Some(text.as_bytes())).await?;
            let what = format!("100644 blob {blob}");
            match path.split_once('/') {
                None => put(&mut root, what, path),
                Some((folder, name)) => {
                    if !folders.iter().any(|(known, _)| known == folder) {
                        let base = base.as_ref().map(|base| format!("{base}:{folder}"));
                        let exists = match &base {
                            Some(base) => self.resolve(base).await?.is_some(),
                            None => false,
                        };
                        let entries = self.tree_of(base.as_deref().filter(|_| exists)).await?;
                        folders.push((folder.to_owned(), entries));
                    }
                    if let Some((_, entries)) = folders.iter_mut().find(|(known, _)| known == folder) {
                        put(entries, what, name);
                    }
                }
            }
        }
        for (folder, entries) in &folders {
            let tree = self.make_tree(entries).await?;
            put(&mut root, format!("040000 tree {tree}"), folder);
        }
        let tree = self.make_tree(&root).await?.to_string();
        let mut arguments = vec!["commit-tree", &tree, "-m", commit.subject];
        let parents: Vec<String> = commit.parent.iter().chain(commit.keeps).map(ToString::to_string).collect();
        for parent in &parents {
            arguments.extend(["-p", parent]);
        }
        self.sha(&arguments, None).await
    }

    async fn compare_and_swap(&self, name: &RefName, old: Option<Sha>, new: Sha) -> Result<(), RefsError> {
        let (name_text, new, old) = (name.to_string(), new.to_string(), old.unwrap_or(NO_COMMIT).to_string());
        let arguments = ["update-ref", "--no-deref", "-m", "loopgate", &name_text, &new, &old];
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

    async fn delete_ref(&self, name: &RefName) -> Result<(), RefsError> {
        self.git(&["update-ref", "--no-deref", "-d", &name.to_string()], None).await.map(drop)
    }

    async fn refs(&self, below: &str) -> Result<Vec<(RefName, Sha)>, RefsError> {
        let pattern = format!("refs/loopgate/{below}");
        let listing = self.git(&["for-each-ref", "--format=%(refname) %(objectname)", &pattern], None).await?;
        let listing = String::from_utf8_lossy(&listing).into_owned();
        let named = |line: &str| {
            let (name, sha) = line.split_once(' ')?;
            Some((RefName::of(name)?, sha.parse().ok()?))
        };
        Ok(listing.lines().filter_map(named).collect())
    }
}

impl ListObjects for LocalRepository {
    async fn list_folder(&self, commit: Sha, folder: &str) -> Result<Vec<String>, RefsError> {
        let Some(tree) = self.resolve(&format!("{commit}:{folder}")).await? else { return Ok(Vec::new()) };
        Ok(self.tree_of(Some(&tree.to_string())).await?.into_iter().map(|entry| entry.name).collect())
    }
}

#[cfg(test)]
mod tests;
