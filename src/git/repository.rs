//! A repository on this machine, and what was planted in it.
//!
//! Code of a pull request runs as the same user as Loopgate, beside the repository's own configuration. Whatever comes
//! into that configuration while it runs, and would make git run a program, is *planted*: our own git does not come to
//! it, in this process or a later one. Nothing of the repository is changed, since some of it is honest: husky,
//! `pre-commit install` and `git lfs install` write there too.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::{
    GitOutput,
    command::GitCommand,
    settings::{Overrides, Setting, Settings, overrides},
};

loopgate_core::words! {
    /// Code that is not trusted, and runs beside a repository.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum Outsider {
        Checks = "checks",
        Fixer = "fixer",
        TaskCommand = "task_command",
        /// One of them: the process that ran it was ended before it saw what came of it.
        Unknown = "unknown",
    }
}

/// A setting that came while an outsider ran.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Planted {
    /// Its key, safe to show; of a file its place in the repository's folder, such as `hooks/pre-commit`.
    pub setting: String,
    pub by: Outsider,
    /// Whether one of our commands would have come to it.
    pub left_out: bool,
}

/// A repository's own folders.
#[derive(Clone, Debug)]
pub struct Folders {
    /// That of the working tree.
    pub own: PathBuf,
    /// That which all working trees of the repository share.
    pub shared: PathBuf,
}

/// A directory of a repository, in which git is asked. Clones know of the same planted settings.
#[derive(Clone, Debug)]
pub struct Git {
    directory: PathBuf,
    guard: Arc<Guard>,
}

/// A time in which an outsider runs. It ends when this is dropped.
#[must_use]
#[derive(Debug)]
pub struct Exposed {
    git: Git,
}

#[derive(Debug)]
struct Guard {
    /// None outside of a repository.
    folders: Option<Folders>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    record: Record,
    /// Who runs now, and how many times within one another that was said.
    running: Option<(Outsider, usize)>,
    /// What was there before an outsider ran in this process.
    before: Vec<Setting>,
    found: BTreeSet<Planted>,
    overrides: Overrides,
    /// How the files of the configuration looked when they were read last; none where they must be read again.
    stamps: Option<Vec<Stamp>>,
}

/// What is kept for later processes, in `git-settings.json` of the shared folder.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Record {
    /// Digests of what was there before an outsider began; none once its end was seen.
    before: Option<BTreeSet<String>>,
    /// Digests of settings that were planted, with who ran.
    planted: Vec<(String, Outsider)>,
}

/// Most bytes of a record that are read.
const MOST_RECORD: u64 = 1 << 20;
/// Most planted settings that are kept.
const MOST_PLANTED: usize = 1000;

/// When a file was changed, and how long it is; none where there is none.
type Stamp = Option<(SystemTime, i64, u64)>;

impl Git {
    /// Git in a directory. Where that is in no repository, each command fails by itself.
    pub fn at(directory: &Path) -> Self {
        let folders = Folders::of(directory);
        let record = folders.as_ref().map(Record::load).unwrap_or_default();
        let git = Self {
            directory: directory.to_owned(),
            guard: Arc::new(Guard {
                folders,
                state: Mutex::new(State {
                    record,
                    ..State::default()
                }),
            }),
        };
        git.look();
        git
    }

    /// The same repository, asked in another directory, such as a second working tree.
    pub fn within(&self, directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            guard: Arc::clone(&self.guard),
        }
    }

    /// Where git is asked.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The repository's folders; none outside of one.
    pub fn folders(&self) -> Option<&Folders> {
        self.guard.folders.as_ref()
    }

    /// A git command with these arguments.
    pub fn command(&self, arguments: &[&str]) -> GitCommand {
        if self.guard.state.lock().running.is_some() {
            self.look();
        }
        GitCommand::new(
            &self.directory,
            arguments,
            &self.guard.state.lock().overrides,
        )
    }

    /// An outsider begins to run: what the configuration gains from now on is planted.
    pub fn expose(&self, to: Outsider) -> Exposed {
        if let Some(folders) = &self.guard.folders {
            let mut state = self.guard.state.lock();
            if let Some((_, depth)) = &mut state.running {
                *depth += 1;
            } else if let Some(settings) = Settings::read(&self.directory, folders) {
                state.begin(settings.all, to);
                state.record.save(folders);
            }
        }
        Exposed { git: self.clone() }
    }

    /// What was planted and is still there, by all that is known.
    pub fn planted(&self) -> Vec<Planted> {
        self.guard.state.lock().found.iter().cloned().collect()
    }

    /// Compares the configuration with what was there before, unless its files are as they were.
    fn look(&self) {
        let Some(folders) = &self.guard.folders else {
            return;
        };
        let mut state = self.guard.state.lock();
        let stamps = folders.stamps();
        if state.record.is_empty() || state.stamps.as_ref() == Some(&stamps) {
            return;
        }
        let Some(settings) = Settings::read(&self.directory, folders) else {
            state.overrides.is_unknown = true;
            return;
        };
        state.stamps = Some(stamps).filter(|_| !settings.includes);
        if state.compare(settings.all) {
            state.record.save(folders);
        }
    }
}

impl Drop for Exposed {
    fn drop(&mut self) {
        let Some(folders) = &self.git.guard.folders else {
            return;
        };
        self.git.look();
        let mut state = self.git.guard.state.lock();
        match &mut state.running {
            Some((_, depth)) if *depth > 0 => *depth -= 1,
            _ => {
                state.running = None;
                // Where not all can be kept, all that was not there before stays planted.
                if state.record.planted.len() < MOST_PLANTED && !state.overrides.is_unknown {
                    state.record.before = None;
                }
                state.record.save(folders);
            }
        }
    }
}

impl State {
    /// Remembers what is there, but for what was planted earlier.
    fn begin(&mut self, settings: Vec<Setting>, outsider: Outsider) {
        let planted = &self.record.planted;
        let known: BTreeSet<&str> = planted.iter().map(|(digest, _)| digest.as_str()).collect();
        let is_own = |setting: &Setting| !known.contains(setting.digest().as_str());
        self.before = settings.into_iter().filter(is_own).collect();
        self.record.before = Some(self.before.iter().map(Setting::digest).collect());
        self.running = Some((outsider, 0));
        self.stamps = None;
    }

    /// Tells what was planted from what was not; whether there is something new.
    fn compare(&mut self, settings: Vec<Setting>) -> bool {
        let recorded = self.record.planted.len();
        let mut own = Vec::new();
        let mut planted = Vec::new();
        for setting in settings {
            match self.planter(&setting.digest()) {
                None => own.push(setting),
                Some(by) => {
                    self.find(&setting, by);
                    planted.push(setting);
                }
            }
        }
        // What an outsider replaced is known in the process that let it run.
        let known = if self.before.is_empty() {
            &own
        } else {
            &self.before
        };
        self.overrides = overrides(known, &planted);
        self.record.planted.len() > recorded
    }

    /// Keeps a planted setting. One that no command of ours comes to is told by this process alone.
    fn find(&mut self, setting: &Setting, by: Outsider) {
        let digest = setting.digest();
        let mut known = self.record.planted.iter().map(|(digest, _)| digest);
        let is_new = known.all(|known| *known != digest);
        if is_new && setting.matters() && self.record.planted.len() < MOST_PLANTED {
            self.record.planted.push((digest, by));
        }
        self.found.insert(Planted {
            setting: setting.shown(),
            by,
            left_out: setting.matters(),
        });
    }

    /// Who planted a setting; none if nobody did.
    fn planter(&self, digest: &str) -> Option<Outsider> {
        let mut planted = self.record.planted.iter();
        if let Some((_, by)) = planted.find(|(known, _)| known == digest) {
            return Some(*by);
        }
        let is_new = !self.record.before.as_ref()?.contains(digest);
        let running = self.running.map(|(outsider, _)| outsider);
        is_new.then(|| running.unwrap_or(Outsider::Unknown))
    }
}

impl Folders {
    /// Those of the repository around a directory, if there is one. Asking for them starts no program of it.
    fn of(directory: &Path) -> Option<Self> {
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

    /// How the files look that git reads its configuration from, hooks and attributes too.
    fn stamps(&self) -> Vec<Stamp> {
        let variable = |name| std::env::var_os(name).map(PathBuf::from);
        let home = variable("HOME");
        let configured =
            variable("XDG_CONFIG_HOME").or_else(|| home.as_ref().map(|home| home.join(".config")));
        let of_person = [
            home.map(|home| home.join(".gitconfig")),
            configured.map(|folder| folder.join("git/config")),
            variable("GIT_CONFIG_GLOBAL"),
        ];
        let of_repository = ["config", "config.worktree", "info/attributes", "hooks"];
        let of_repository = of_repository.map(|name| self.shared.join(name));
        let worktrees = fs::read_dir(self.shared.join("worktrees"));
        let worktrees = worktrees.into_iter().flatten().flatten();
        let of_worktrees = worktrees.map(|folder| folder.path().join("config.worktree"));
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

impl Record {
    fn path(folders: &Folders) -> PathBuf {
        folders.shared.join("loopgate/git-settings.json")
    }

    /// What earlier processes left. The outsiders could write it too: what cannot be read is nothing.
    fn load(folders: &Folders) -> Self {
        let path = Self::path(folders);
        let is_small = fs::symlink_metadata(&path)
            .is_ok_and(|found| found.is_file() && found.len() <= MOST_RECORD);
        let bytes = is_small.then(|| fs::read(&path).ok()).flatten();
        bytes
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default()
    }

    /// Keeps it for later processes, with what others have found meanwhile. Where it cannot be kept this process knows
    /// it all the same.
    fn save(&mut self, folders: &Folders) {
        for (digest, by) in Self::load(folders).planted {
            let is_new = self.planted.iter().all(|(known, _)| *known != digest);
            if is_new && self.planted.len() < MOST_PLANTED {
                self.planted.push((digest, by));
            }
        }
        let path = Self::path(folders);
        let written = || -> Option<()> {
            let folder = path.parent()?;
            fs::create_dir_all(folder).ok()?;
            let mut file = tempfile::NamedTempFile::new_in(folder).ok()?;
            serde_json::to_writer(&mut file, self).ok()?;
            file.persist(&path).ok().map(drop)
        };
        if self.is_empty() {
            let _ = fs::remove_file(&path);
        } else {
            let _ = written();
        }
    }

    fn is_empty(&self) -> bool {
        self.before.is_none() && self.planted.is_empty()
    }
}
