//! Where a repository keeps what is its own, and how the files look that git reads its settings from.

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::{
    GitOutput,
    command::{GitCommand, Overrides},
};

/// When a file was changed, and how long it is; none where there is none.
pub(super) type Stamp = Option<(SystemTime, i64, u64)>;

/// A repository's own folders.
#[derive(Clone, Debug)]
pub struct Folders {
    /// That of the working tree.
    pub own: PathBuf,
    /// That which all working trees of the repository share.
    pub shared: PathBuf,
}

impl Folders {
    /// Those of the repository around a directory, if there is one. Asking for them starts no program of it.
    pub(super) fn of(directory: &Path) -> Option<Self> {
        let asked = ["rev-parse", "--absolute-git-dir", "--git-common-dir"];
        let printed = GitCommand::new(directory, &asked, &Overrides::default()).run();
        let printed = printed.and_then(GitOutput::text).ok()?;
        let (own, shared) = printed.split_once('\n')?;
        Some(Self {
            own: directory.join(own),
            // Absolute, or from the directory.
            shared: directory.join(shared),
        })
    }

    /// The configurations of single working trees.
    pub(super) fn of_worktrees(&self) -> impl Iterator<Item = PathBuf> + use<> {
        let linked = fs::read_dir(self.shared.join("worktrees"));
        let linked = linked.into_iter().flatten().flatten();
        let linked = linked.map(|folder| folder.path());
        let folders = linked.chain([self.shared.clone()]);
        folders.map(|folder| folder.join("config.worktree"))
    }

    /// How the files look that git reads its configuration from, hooks and attributes too.
    pub(super) fn stamps(&self) -> Vec<Stamp> {
        let variable = |name| std::env::var_os(name).map(PathBuf::from);
        let home = variable("HOME");
        let configured =
            variable("XDG_CONFIG_HOME").or_else(|| home.as_ref().map(|home| home.join(".config")));
        let of_person = [
            home.map(|home| home.join(".gitconfig")),
            configured.map(|folder| folder.join("git/config")),
            variable("GIT_CONFIG_GLOBAL"),
        ];
        let of_repository = ["config", "info/attributes", "info/exclude", "hooks"];
        let of_repository = of_repository.map(|name| self.shared.join(name));
        let of_worktrees = self.of_worktrees();
        let of_person = of_person.into_iter().flatten();
        let files = of_repository.into_iter().chain(of_worktrees);
        files.chain(of_person).map(|path| stamp(&path)).collect()
    }
}

/// A program may set the time of a file's change back; on Unix it cannot set that of its inode.
fn stamp(path: &Path) -> Stamp {
    let found = fs::metadata(path).ok()?;
    #[cfg(unix)]
    let inode_changed = {
        use std::os::unix::fs::MetadataExt as _;
        found
            .ctime()
            .wrapping_mul(1_000_000_000)
            .wrapping_add(found.ctime_nsec())
    };
    #[cfg(not(unix))]
    let inode_changed = 0;
    Some((found.modified().ok()?, inode_changed, found.len()))
}
