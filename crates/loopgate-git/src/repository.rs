//! A repository on this machine, and what was planted in it.
//!
//! Code of a pull request runs as the same user as Loopgate, beside the repository's own configuration. Whatever comes
//! into that configuration while it runs, and would make git run a program, is *planted*: our own git does not come to
//! it, in this process or a later one. Nothing of the repository is changed, since some of it is honest: husky,
//! `pre-commit install` and `git lfs install` write there too.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::{
    command::{GitCommand, Overrides},
    folders::{Folders, Stamp},
    settings::{Setting, Settings, UNREADABLE, overrides},
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
    /// What another process had kept when an outsider began here; it waits for that process's end.
    outer: Option<Before>,
    found: BTreeSet<Planted>,
    overrides: Overrides,
    /// How the files of the configuration looked when they were read last; none where they must be read again.
    stamps: Option<Vec<Stamp>>,
}

/// What is kept for later processes, in `git-settings.json` of the shared folder.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Record {
    /// What was there before an outsider began; none once its end was seen.
    before: Option<Before>,
    /// Digests of settings that were planted, with who ran.
    planted: Vec<(String, Outsider)>,
}

/// Digests of what was there before an outsider began, and the process that let it run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Before {
    process: u32,
    settings: BTreeSet<String>,
}

/// Most bytes of a record that are read.
const MOST_RECORD: u64 = 1 << 20;
/// Most planted settings that are kept.
const MOST_PLANTED: usize = 1000;

/// Why git is not started where the record says nothing.
const NO_RECORD: &str = "what code of the change planted in its settings is not known, since `loopgate/git-settings.json` \
    in the repository's git folder cannot be read or written; look at what stands there, then remove it";

impl Git {
    /// Git in a directory. Where that is in no repository, each command fails by itself.
    pub fn at(directory: &Path) -> Self {
        let folders = Folders::of(directory);
        let mut state = State::default();
        match folders.as_ref().map(Record::load) {
            Some(Some(record)) => state.record = record,
            // It is there and is no record: what it would say is not known.
            Some(None) => state.overrides.refusal = Some(NO_RECORD),
            None => {}
        }
        let git = Self {
            directory: directory.to_owned(),
            guard: Arc::new(Guard {
                folders,
                state: Mutex::new(state),
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
            let stamps = folders.stamps();
            if let Some((_, depth)) = &mut state.running {
                *depth += 1;
            } else if let Some(settings) = Settings::read(&self.directory, folders) {
                state.stamps = Some(stamps).filter(|_| !settings.includes);
                state.begin(settings.all, to);
                state.keep(folders);
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
            state.overrides.refusal = Some(UNREADABLE);
            return;
        };
        state.stamps = Some(stamps).filter(|_| !settings.includes);
        if state.compare(settings.all) {
            state.keep(folders);
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
                // Where not all is known or can be kept, all that was not there before stays planted.
                if state.record.planted.len() < MOST_PLANTED && state.overrides.refusal.is_none() {
                    state.record.before = state.outer.take();
                }
                state.keep(folders);
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
        let before = Before {
            process: std::process::id(),
            settings: self.before.iter().map(Setting::digest).collect(),
        };
        let earlier = self.record.before.replace(before);
        self.outer = earlier.filter(|earlier| is_alive(earlier.process));
        self.running = Some((outsider, 0));
    }

    /// Tells what was planted from what was not; whether there is something new.
    fn compare(&mut self, settings: Vec<Setting>) -> bool {
        let recorded = self.record.planted.len();
        let mut own = Vec::new();
        let mut planted = Vec::new();
        let mut included = BTreeMap::new();
        for setting in settings {
            let by = self.planter(&setting.digest());
            // All that a planted include brings is planted, now and later.
            match by.or_else(|| included.get(&setting.origin).copied()) {
                None => own.push(setting),
                Some(by) => {
                    included.extend(setting.included().map(|file| (file, by)));
                    self.find(&setting, by);
                    planted.push(setting);
                }
            }
        }
        // What an outsider replaced or took out is known in the process that let it run.
        let known = if self.running.is_none() && self.before.is_empty() {
            own.clone()
        } else {
            self.before.clone()
        };
        let refusal = self.overrides.refusal.filter(|why| *why == NO_RECORD);
        self.overrides = overrides(&known, &own, &planted);
        self.overrides.refusal = self.overrides.refusal.or(refusal);
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

    /// Keeps the record. Where that fails nothing more is started: a later process would not know what was planted.
    fn keep(&mut self, folders: &Folders) {
        if !self.record.save(folders) {
            self.overrides.refusal = Some(NO_RECORD);
        }
    }

    /// Who planted a setting; none if nobody did.
    fn planter(&self, digest: &str) -> Option<Outsider> {
        let mut planted = self.record.planted.iter();
        if let Some((_, by)) = planted.find(|(known, _)| known == digest) {
            return Some(*by);
        }
        let is_new = !self.record.before.as_ref()?.settings.contains(digest);
        let running = self.running.map(|(outsider, _)| outsider);
        is_new.then(|| running.unwrap_or(Outsider::Unknown))
    }
}

/// Whether a process of this machine is still there, as far as that is known.
fn is_alive(process: u32) -> bool {
    #[cfg(unix)]
    return i32::try_from(process).is_ok_and(|process| {
        process > 0 && nix::sys::signal::kill(nix::unistd::Pid::from_raw(process), None).is_ok()
    });
    #[cfg(not(unix))]
    {
        let _ = process;
        false
    }
}

/// Takes out what an outsider put in the way of a record of ours.
fn make_way(path: &Path) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
    }
    if path.is_dir() {
        fs::remove_dir_all(path)?;
    }
    Ok(())
}

impl Record {
    fn path(folders: &Folders) -> PathBuf {
        folders.shared.join("loopgate/git-settings.json")
    }

    /// What earlier processes left. The outsiders could write it too; none where it is there and cannot be read.
    fn load(folders: &Folders) -> Option<Self> {
        let path = Self::path(folders);
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Some(Self::default()),
            Ok(found) if found.is_file() && found.len() <= MOST_RECORD => {
                serde_json::from_slice(&fs::read(&path).ok()?).ok()
            }
            _ => None,
        }
    }

    /// Keeps it for later processes, with what others have found meanwhile; whether that could be done.
    fn save(&mut self, folders: &Folders) -> bool {
        for (digest, by) in Self::load(folders).unwrap_or_default().planted {
            let is_new = self.planted.iter().all(|(known, _)| *known != digest);
            if is_new && self.planted.len() < MOST_PLANTED {
                self.planted.push((digest, by));
            }
        }
        let path = Self::path(folders);
        self.write(&path).is_ok() || (make_way(&path).is_ok() && self.write(&path).is_ok())
    }

    fn write(&self, path: &Path) -> io::Result<()> {
        if self.is_empty() {
            return match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        let folder = path.parent().unwrap_or(path);
        fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer(&mut file, self)?;
        file.persist(path).map(drop).map_err(|error| error.error)
    }

    fn is_empty(&self) -> bool {
        self.before.is_none() && self.planted.is_empty()
    }
}
