//! The App's credentials on disk: a file of variables, as `loopgate serve` takes them, which only its owner may read.
//!
//! What the environment names wins over it, each variable by itself, unless the environment names another App.

use std::{
    collections::BTreeMap,
    fmt, fs, io,
    io::Write as _,
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;
use zeroize::Zeroizing;

use crate::github::client::secret::Secret;

/// The file's name in the data directory.
pub(super) const FILE: &str = "app.env";
/// Bytes of it at most.
const MOST_BYTES: u64 = 64 << 10;

/// Variables with their values, which may be secret.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct StoredApp(BTreeMap<String, Secret>);

impl fmt::Debug for StoredApp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Makes a data directory where there is none: its files are secret, and no commit of whatever is around it takes them.
///
/// # Errors
/// When the disk does not take it.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    match fs::File::create_new(folder.join(".gitignore")) {
        Ok(mut file) => file.write_all(b"*\n"),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

impl StoredApp {
    pub(super) fn new<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let variables = variables
            .into_iter()
            .map(|(name, value)| (name.to_owned(), Secret::new(value)));
        Self(variables.collect())
    }

    /// What is stored in a data directory; nothing where there is no file.
    ///
    /// # Errors
    /// When there is one that cannot be read.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let path = folder.join(FILE);
        let text = match fs::metadata(&path) {
            Ok(known) if known.len() > MOST_BYTES => {
                return Err(io::Error::other(format!(
                    "{} is larger than such a file can be",
                    path.display()
                )));
            }
            Ok(_) => Zeroizing::new(fs::read_to_string(&path)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error),
        };
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        Ok(Self::new(
            lines
                .filter_map(|line| line.split_once('='))
                .map(|(name, value)| (name.trim(), value)),
        ))
    }

    /// Writes the file whole or not at all, and never over another: what would be lost then is kept beside it.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub(super) fn write(&self, folder: &Path) -> io::Result<PathBuf> {
        make_folder(folder)?;
        // Only its owner may read such a file.
        let mut file = NamedTempFile::new_in(folder)?;
        for (name, value) in &self.0 {
            let line = Zeroizing::new(format!(
                "{name}={}\n",
                value.expose().trim_end().replace('\n', "\\n")
            ));
            file.write_all(line.as_bytes())?;
        }
        file.as_file().sync_all()?;
        let path = folder.join(FILE);
        let (file, path) = match file.persist_noclobber(&path) {
            Ok(_) => return sync(folder).map(|()| path),
            Err(taken) if taken.error.kind() == io::ErrorKind::AlreadyExists => (
                taken.file,
                folder.join(format!(
                    "app-{}.env",
                    self.get("LOOPGATE_APP_ID").unwrap_or_default()
                )),
            ),
            Err(failed) => return Err(failed.error),
        };
        file.persist_noclobber(&path)
            .map_err(|failed| failed.error)?;
        sync(folder).map(|()| path)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(Secret::expose)
    }

    /// The variables of the file beneath an environment: none where that names another App, and no variable that the
    /// environment gives, itself or as a file.
    pub fn beneath<'a>(
        &'a self,
        environment: impl Fn(&str) -> Option<String> + 'a,
    ) -> impl Fn(&str) -> Option<String> + 'a {
        move |name| {
            let given = |name: &str| environment(name).filter(|text| !text.trim().is_empty());
            if let Some(value) = given(name) {
                return Some(value);
            }
            let is_other = given("LOOPGATE_APP_ID").is_some_and(|id| {
                ["LOOPGATE_APP_ID", "LOOPGATE_CLIENT_ID"]
                    .iter()
                    .all(|known| self.get(known) != Some(id.trim()))
            });
            let is_in_file = given(&format!("{name}_FILE")).is_some();
            self.get(name)
                .filter(|_| !is_other && !is_in_file)
                .map(str::to_owned)
        }
    }
}

/// A name is on disk once its folder is.
fn sync(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        fs::File::open(folder)?.sync_all()
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app(id: &str) -> StoredApp {
        StoredApp::new([
            ("LOOPGATE_APP_ID", id),
            ("LOOPGATE_PRIVATE_KEY", "-----BEGIN\nAAA=\n-----END\n"),
        ])
    }

    #[test]
    fn a_stored_app_is_read_again_and_never_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("new/data");
        assert!(StoredApp::read(&data).unwrap().is_empty());
        let path = app("7").write(&data).unwrap();
        let kept = StoredApp::read(&data).unwrap();
        assert_eq!(
            kept.get("LOOPGATE_PRIVATE_KEY"),
            Some("-----BEGIN\\nAAA=\\n-----END")
        );
        assert!(!format!("{kept:?}").contains("AAA"));
        let beside = app("8").write(&data).unwrap();
        assert_eq!(beside.file_name().unwrap(), "app-8.env");
        assert_eq!(StoredApp::read(&data).unwrap(), kept);
        assert_eq!(
            fs::read_dir(&data).unwrap().count(),
            3,
            "with .gitignore, and no half-written file"
        );
        #[cfg(unix)]
        for path in [path, beside] {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(
                fs::metadata(path).unwrap().permissions().mode() & 0o777,
                0o600
            );
        }
    }

    #[test]
    fn the_environment_wins_over_the_file() {
        let stored = app("7");
        let seen = |environment: &'static [(&'static str, &'static str)], name: &str| {
            let given = |name: &str| {
                environment
                    .iter()
                    .find(|it| it.0 == name)
                    .map(|it| it.1.to_owned())
            };
            stored.beneath(given)(name)
        };
        assert_eq!(seen(&[], "LOOPGATE_APP_ID").as_deref(), Some("7"));
        assert_eq!(
            seen(&[("LOOPGATE_PRIVATE_KEY", "mine")], "LOOPGATE_PRIVATE_KEY").as_deref(),
            Some("mine")
        );
        assert_eq!(
            seen(
                &[("LOOPGATE_PRIVATE_KEY_FILE", "/key")],
                "LOOPGATE_PRIVATE_KEY"
            ),
            None
        );
        assert_eq!(
            seen(&[("LOOPGATE_APP_ID", "8")], "LOOPGATE_PRIVATE_KEY"),
            None,
            "it is another App's key"
        );
        assert!(seen(&[("LOOPGATE_APP_ID", " 7 ")], "LOOPGATE_PRIVATE_KEY").is_some());
    }
}
