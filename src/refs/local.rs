//! The git database of a repository on this machine, through the `git` command.

use std::{
    path::{Path, PathBuf},
    process::{Output, Stdio},
};

use tokio::{io::AsyncWriteExt as _, process::Command};

use super::{GitObjects, NewCommit, RefName, RefsError};
use loopgate_core::Sha;

/// A local repository.
#[derive(Debug, Clone)]
pub struct LocalRepository {
    directory: PathBuf,
}

/// Variables by which the surroundings (a hook, a rebase) could point git at another repository or index.
const FOREIGN: [&str; 9] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_CEILING_DIRECTORIES",
];

const NAME: &str = "Loopgate";
const EMAIL: &str = "loopgate@localhost";
/// "Must not exist", as `git update-ref` writes it.
const NO_COMMIT: Sha = Sha::from_bytes([0; 20]);

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

    async fn run(&self, arguments: &[&str], input: Option<&[u8]>) -> Result<Output, RefsError> {
        let mut command = Command::new("git");
        command.current_dir(&self.directory).args(arguments).kill_on_drop(true);
        for name in FOREIGN {
            command.env_remove(name);
        }
        command
            .env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_AUTHOR_NAME", NAME)
            .env("GIT_AUTHOR_EMAIL", EMAIL)
            .env("GIT_COMMITTER_NAME", NAME)
            .env("GIT_COMMITTER_EMAIL", EMAIL)
            .stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // Not with the terminal's Ctrl-C: what git has begun to write it finishes.
        #[cfg(unix)]
        command.process_group(0);
        let fault = |error| RefsError::Fault { message: format!("git could not be run: {error}"), retry_at: None };
        let mut child = command.spawn().map_err(fault)?;
        if let (Some(input), Some(mut stdin)) = (input, child.stdin.take()) {
            // Our inputs are written whole before git answers, so this cannot wait for its output.
            stdin.write_all(input).await.map_err(fault)?;
        }
        child.wait_with_output().await.map_err(fault)
    }

    /// Standard output of a git command that must succeed.
    async fn git(&self, arguments: &[&str], input: Option<&[u8]>) -> Result<Vec<u8>, RefsError> {
        let answer = self.run(arguments, input).await?;
        if answer.status.success() { Ok(answer.stdout) } else { Err(failed(arguments, &answer)) }
    }

    async fn sha(&self, arguments: &[&str], input: Option<&[u8]>) -> Result<Sha, RefsError> {
        let output = self.git(arguments, input).await?;
        parse_sha(&output).ok_or_else(|| RefsError::Fault {
            message: format!("git {} answered no object id (only SHA-1 repositories are supported)", arguments[0]),
            retry_at: None,
        })
    }

    /// Resolves a revision; `None` when it names nothing.
    async fn resolve(&self, revision: &str) -> Result<Option<Sha>, RefsError> {
        let answer = self.run(&["rev-parse", "--verify", "--quiet", "--end-of-options", revision], None).await?;
        Ok(if answer.status.success() { parse_sha(&answer.stdout) } else { None })
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

fn parse_sha(output: &[u8]) -> Option<Sha> {
    std::str::from_utf8(output).ok()?.trim().parse().ok()
}

fn failed(arguments: &[&str], answer: &Output) -> RefsError {
    let said: String = String::from_utf8_lossy(&answer.stderr).trim().chars().take(300).collect();
    RefsError::Fault { message: format!("git {} failed: {said}", arguments.first().unwrap_or(&"")), retry_at: None }
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
        if let Some(base) = &base {
            arguments.extend(["-p", base]);
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
            return Err(failed(&arguments, &answer));
        }
        Err(RefsError::RefMoved { name: name.clone() })
    }

    async fn delete_ref(&self, name: &RefName) -> Result<(), RefsError> {
        self.git(&["update-ref", "--no-deref", "-d", &name.to_string()], None).await.map(drop)
    }
}

mod tasks;
#[cfg(test)]
mod tests;
