//! The files a pull request changes, and how a path printed on some machine is one of them.

use std::{
    collections::{BTreeMap, HashMap},
    hash::{Hash, Hasher},
};

use super::paths::{self, FrameOrigin};
use crate::{
    observed::{ChangedFile, ChangedFiles, FileStatus},
    source_files::{FileKind, kind},
};

/// The files a pull request changes, indexed by their name.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// By path in the repository the lines the pull request adds, counted from 1 in the new file, ascending.
    files: BTreeMap<String, Vec<u32>>,
    /// The paths, by their last part.
    by_name: HashMap<String, Vec<String>>,
}

/// By the files: the index is made of them.
impl Hash for Changes {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.files.hash(state);
    }
}

impl Changes {
    /// Paths with `/`, and the lines added to each, ascending.
    pub fn new(files: impl IntoIterator<Item = (String, Vec<u32>)>) -> Self {
        let mut changes = Self {
            files: files.into_iter().collect(),
            ..Self::default()
        };
        for path in changes.files.keys() {
            changes
                .by_name
                .entry(paths::file_name(path).to_owned())
                .or_default()
                .push(path.clone());
        }
        changes
    }

    /// The changes of an observed pull request, without the files it removes. Of a file without a patch (binary, or
    /// very large) no line is known.
    pub fn of(files: &ChangedFiles) -> Self {
        let added = |file: &ChangedFile| {
            let patch = file.read_patch().unwrap_or_default();
            let lines = patch.added().map(|line| line.new);
            (file.path.clone(), lines.collect())
        };
        Self::new(
            files
                .known()
                .iter()
                .filter(|file| file.status != FileStatus::Removed)
                .map(added),
        )
    }

    pub fn contains(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// Whether the pull request changes what is installed before code runs: a workflow, a manifest or a lock file.
    pub fn touch_setup(&self) -> bool {
        const NAMES: [&str; 5] = [
            "tox.ini",
            "noxfile.py",
            "Dockerfile",
            "go.sum",
            "npm-shrinkwrap.json",
        ];
        self.files.keys().any(|path| {
            let name = paths::file_name(path);
            let is_lock = name.ends_with(".lock") || name.contains("-lock.");
            matches!(kind(path), FileKind::Ci | FileKind::Manifest)
                || is_lock
                || NAMES.contains(&name)
        })
    }

    /// Whether the pull request added that line.
    pub fn adds(&self, path: &str, line: u32) -> bool {
        self.files
            .get(path)
            .is_some_and(|added| added.binary_search(&line).is_ok())
    }

    /// The repository's path of a path as some tool printed it, and where that file comes from. `root` is the directory
    /// in which the repository is known to be checked out where the text was written.
    pub fn locate(&self, printed: &str, root: Option<&str>) -> (String, FrameOrigin) {
        let path = paths::tidy(printed);
        if let Some(origin) = paths::foreign(&path) {
            // Vendored code is the repository's own once the pull request changes it.
            let changed = self
                .longest_suffix_of(&path)
                .filter(|file| paths::foreign(file) == Some(origin));
            return match changed {
                Some(file) => (file.to_owned(), FrameOrigin::Changed),
                None => (path, origin),
            };
        }
        let in_root = root.and_then(|root| path.strip_prefix(root)?.strip_prefix('/'));
        if let Some(relative) = in_root.or_else(|| paths::without_workspace(&path)) {
            // The root is known, so that the rest is the whole path: a longer or shorter one is another file.
            let origin = if self.contains(relative) {
                FrameOrigin::Changed
            } else {
                FrameOrigin::Repository
            };
            return (relative.to_owned(), origin);
        }
        // Tools that run in a sub-directory print paths relative to it (`go test`, npm workspaces, JVM class names).
        let only_one_ending_in = || {
            let mut ending = self
                .candidates(&path)
                .filter(|file| paths::ends_with(file, &path));
            ending.next().xor(ending.next())
        };
        match self.longest_suffix_of(&path).or_else(only_one_ending_in) {
            Some(file) => (file.to_owned(), FrameOrigin::Changed),
            None if paths::is_system(&path) => (path, FrameOrigin::Toolchain),
            None => {
                let inside = paths::CONTAINERS
                    .iter()
                    .find_map(|container| path.strip_prefix(container));
                (
                    inside
                        .filter(|rest| !rest.is_empty())
                        .unwrap_or(&path)
                        .to_owned(),
                    FrameOrigin::Repository,
                )
            }
        }
    }

    /// The directory the repository stands in, judging by one absolute path that ends in a changed file's path.
    pub(in crate::failure) fn root_of(&self, printed: &str) -> Option<String> {
        let path = paths::tidy(printed);
        if paths::foreign(&path).is_some() || paths::without_workspace(&path).is_some() {
            return None;
        }
        let file = self
            .longest_suffix_of(&path)
            .filter(|file| file.contains('/'))?;
        path.strip_suffix(file)?
            .strip_suffix('/')
            .filter(|root| !root.is_empty())
            .map(str::to_owned)
    }

    /// The changed files that have a path's last part.
    fn candidates(&self, path: &str) -> impl Iterator<Item = &str> {
        self.by_name
            .get(paths::file_name(path))
            .into_iter()
            .flatten()
            .map(String::as_str)
    }

    fn longest_suffix_of(&self, path: &str) -> Option<&str> {
        self.candidates(path)
            .filter(|file| paths::ends_with(path, file))
            .max_by_key(|file| file.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(paths: &[&str]) -> Changes {
        Changes::new(
            paths
                .iter()
                .map(|path| ((*path).to_owned(), (3..=5).collect())),
        )
    }

    #[test]
    fn printed_paths_find_their_file() {
        use FrameOrigin::{Changed, Dependency, Repository, Toolchain};
        let changes = changes(&[
            "src/a.rs",
            "crates/x/src/a.rs",
            "web/app/index.ts",
            "vendor/lib/v.go",
            "index.js",
        ]);
        let cases = [
            // The pull request's own files, on a runner, on a laptop, in a container.
            ("/home/runner/work/w/w/src/a.rs", "src/a.rs", Changed),
            (
                "/home/alice/dev/w/crates/x/src/a.rs",
                "crates/x/src/a.rs",
                Changed,
            ),
            (r"D:\a\w\w\src\a.rs", "src/a.rs", Changed),
            (
                "file:///srv/w/web/app/index.ts?t=17",
                "web/app/index.ts",
                Changed,
            ),
            (
                "webpack-internal:///(ssr)/./web/app/index.ts",
                "web/app/index.ts",
                Changed,
            ),
            ("app/index.ts", "web/app/index.ts", Changed),
            ("/app/lib/b.rs", "lib/b.rs", Repository),
            ("./src/a.rs", "src/a.rs", Changed),
            // Same name, other file.
            (
                "/home/runner/work/w/w/lib/index.js",
                "lib/index.js",
                Repository,
            ),
            (
                "/home/runner/work/w/w/crates/y/src/a.rs",
                "crates/y/src/a.rs",
                Repository,
            ),
            // Not ours, though it ends in a changed path; ours, though it is vendored.
            (
                "/home/runner/work/w/w/node_modules/foo/index.js",
                "/home/runner/work/w/w/node_modules/foo/index.js",
                Dependency,
            ),
            ("/go/src/w/vendor/lib/v.go", "vendor/lib/v.go", Changed),
            (
                "/rustc/59807616e/library/core/src/option.rs",
                "/rustc/59807616e/library/core/src/option.rs",
                Toolchain,
            ),
            ("/usr/lib/libc.c", "/usr/lib/libc.c", Toolchain),
        ];
        for (printed, path, origin) in cases {
            assert_eq!(
                changes.locate(printed, None),
                (path.to_owned(), origin),
                "{printed}"
            );
        }
    }

    #[test]
    fn a_path_that_fits_several_files_is_none_of_them() {
        let changes = changes(&["a/src/mod.rs", "b/src/mod.rs"]);
        assert_eq!(
            changes.locate("src/mod.rs", None),
            ("src/mod.rs".to_owned(), FrameOrigin::Repository)
        );
    }

    #[test]
    fn the_root_is_inferred_from_one_match() {
        let changes = changes(&["src/a.rs"]);
        assert_eq!(
            changes.root_of("/home/alice/w/src/a.rs").as_deref(),
            Some("/home/alice/w")
        );
        assert_eq!(changes.root_of("src/a.rs"), None);
        let located = changes.locate("/home/alice/w/lib/b.rs", Some("/home/alice/w"));
        assert_eq!(located, ("lib/b.rs".to_owned(), FrameOrigin::Repository));
        assert_eq!(
            changes.locate("/app/lib/b.rs", None),
            ("lib/b.rs".to_owned(), FrameOrigin::Repository)
        );
    }

    #[test]
    fn an_observed_diff_gives_its_added_lines() {
        let file = |path: &str, status, patch: Option<&str>| ChangedFile {
            path: path.to_owned(),
            previous_path: None,
            status,
            additions: 0,
            deletions: 0,
            blob: None,
            patch: patch.map(str::to_owned),
        };
        let patch = "@@ -1,3 +1,4 @@\n a\n+b\n+c\n-d\n e\n@@ -9,1 +10,2 @@\n f\n+g";
        let files = ChangedFiles::Complete(vec![
            file("src/a.rs", FileStatus::Modified, Some(patch)),
            file("src/b.rs", FileStatus::Removed, None),
            file("logo.png", FileStatus::Added, None),
        ]);
        let changes = Changes::of(&files);
        assert_eq!(changes.files["src/a.rs"], [2, 3, 11]);
        assert!(changes.contains("logo.png") && !changes.contains("src/b.rs"));
    }

    #[test]
    fn added_lines() {
        let changes = changes(&["src/a.rs"]);
        assert!(
            changes.adds("src/a.rs", 5) && !changes.adds("src/a.rs", 6) && !changes.adds("a.rs", 5)
        );
    }
}
