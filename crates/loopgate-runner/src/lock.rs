//! One loop at a time: a lock that names its holder, and that a dead process cannot hold.
//!
//! The operating system's own lock on an open file decides; it goes with the process, however that ends, so there is no
//! stale lock to break and no process id to mistake for another's. What is written in the file is only shown to people.

use std::{
    fs::{self, File, TryLockError},
    io::{Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use serde::{Deserialize, Serialize};

use loopgate_core::Timestamp;

/// How long a lock without a name in it is waited for: 1 s.
const MOMENTS: u32 = 50;
const MOMENT: Duration = Duration::from_millis(20);

/// Who holds a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub pid: u32,
    pub host: String,
    pub since: Timestamp,
    /// The alias of the loop it is held for.
    pub alias: String,
}

impl Holder {
    pub fn is_on_this_host(&self) -> bool {
        self.host == host_name()
    }
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "process {} on {} since {}",
            self.pid,
            self.host,
            self.since.format("%Y-%m-%d %H:%M:%S UTC")
        )
    }
}

/// Why a lock was not given.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("{}", match holder {
        Some(holder) => format!("the loop `{}` is being run by {holder}", holder.alias),
        None => "another process runs a loop here".to_owned(),
    })]
    Held { holder: Option<Holder> },
    #[error("the lock {} cannot be used: {source}", path.display())]
    Unusable {
        path: PathBuf,
        source: std::io::Error,
    },
}

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
    /// Who held it and died without releasing it.
    pub left_by: Option<Holder>,
}

impl Lock {
    /// Takes the lock at `path` for a loop, or returns who has it.
    ///
    /// # Errors
    /// [`LockError::Held`] while another process lives that holds it.
    pub fn take(path: &Path, alias: &str, since: Timestamp) -> Result<Self, LockError> {
        let unusable = |source| LockError::Unusable {
            path: path.to_owned(),
            source,
        };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(unusable)?;
        }
        let open = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path);
        let mut file = open.map_err(unusable)?;
        let mut tries = 0;
        while let Err(why) = file.try_lock() {
            let TryLockError::WouldBlock = why else {
                return Err(unusable(why.into()));
            };
            let holder = read(&mut file);
            // Held and empty: its holder is about to write its name, or to release it.
            if holder.is_some() || tries >= MOMENTS {
                return Err(LockError::Held { holder });
            }
            tries += 1;
            thread::sleep(MOMENT);
        }
        let left_by = read(&mut file);
        let holder = Holder {
            pid: std::process::id(),
            host: host_name(),
            since,
            alias: alias.to_owned(),
        };
        let text = serde_json::to_string(&holder).unwrap_or_default();
        let written = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(text.as_bytes()));
        written.map_err(unusable)?;
        Ok(Self { file, left_by })
    }

    /// Who holds the lock at `path` right now, if a living process does.
    pub fn holder(path: &Path) -> Option<Holder> {
        let mut file = File::options().read(true).write(true).open(path).ok()?;
        let is_held = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        is_held.then(|| read(&mut file)).flatten()
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // An empty file shows that the lock was released in order. The lock itself goes when the file is closed.
        let _ = self.file.set_len(0);
    }
}

fn read(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(4096).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

fn host_name() -> String {
    #[cfg(unix)]
    let name = nix::unistd::gethostname()
        .ok()
        .and_then(|name| name.into_string().ok());
    #[cfg(windows)]
    let name = std::env::var("COMPUTERNAME").ok();
    name.unwrap_or_else(|| "an unnamed host".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(alias: &str) -> Holder {
        Holder {
            pid: std::process::id(),
            host: host_name(),
            since: Timestamp::UNIX_EPOCH,
            alias: alias.to_owned(),
        }
    }

    #[test]
    fn a_second_taker_is_told_who_the_first_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("locks/fix-it.lock");
        let first = Lock::take(&path, "fix-it", Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(first.left_by, None);
        let message = Lock::take(&path, "fix-it", Timestamp::UNIX_EPOCH)
            .unwrap_err()
            .to_string();
        assert!(
            message.starts_with(&format!(
                "the loop `fix-it` is being run by process {} on ",
                std::process::id()
            )),
            "{message}"
        );
        assert!(
            message.ends_with("since 1970-01-01 00:00:00 UTC"),
            "{message}"
        );
        assert_eq!(Lock::holder(&path), Some(holder("fix-it")));
        drop(first);
        assert_eq!(Lock::holder(&path), None);
        assert_eq!(
            Lock::take(&path, "fix-it", Timestamp::UNIX_EPOCH)
                .unwrap()
                .left_by,
            None
        );
    }

    #[test]
    fn one_who_is_letting_go_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lock");
        let letting_go = File::create(&path).unwrap();
        letting_go.try_lock().unwrap();
        let next = {
            let path = path.clone();
            thread::spawn(move || Lock::take(&path, "fix-it", Timestamp::UNIX_EPOCH).map(drop))
        };
        drop(letting_go);
        next.join().unwrap().unwrap();
    }

    #[test]
    fn the_lock_of_a_dead_process_is_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.lock");
        let dead = Holder {
            pid: 4_000_000,
            ..holder("fix-it")
        };
        fs::write(&path, serde_json::to_string(&dead).unwrap()).unwrap();
        assert_eq!(
            Lock::take(&path, "fix-it", Timestamp::UNIX_EPOCH)
                .unwrap()
                .left_by,
            Some(dead)
        );
    }
}
