//! The files a pull request changes, and how a path printed on some machine is one of them.

use std::collections::{BTreeSet, HashMap};

use super::paths::{self, FrameOrigin};
use crate::{
    observed::{self, ChangedFiles, FileStatus},
    source_files::{FileKind, kind},
};

/// One file of the pull request's diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// Path in the repository, with `/`.
    pub path: String,
    /// Lines the pull request adds, counted from 1 in the new file.
    pub added: BTreeSet<u32>,
}

/// The files a pull request changes, indexed by their name.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    files: Vec<ChangedFile>,
    by_name: HashMap<String, Vec<usize>>,
    /// Directories the repository is checked out in, without a slash at their end.
    roots: Vec<String>,
}

impl ChangedFile {
    /// An observed file. Of one without a patch (binary, or very large) no line is known.
    pub fn of(file: &observed::ChangedFile) -> Self {
        let added = file.added_lines().unwrap_or_default().into_iter().map(|(line, _)| line);
        Self { path: file.path.clone(), added: added.collect() }
    }
}

impl Changes {
    pub fn new(files: impl IntoIterator<Item = ChangedFile>) -> Self {
        let files: Vec<ChangedFile> = files.into_iter().collect();
        let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, file) in files.iter().enumerate() {
            by_name.entry(paths::file_name(&file.path).to_owned()).or_default().push(index);
        }
        Self { files, by_name, roots: Vec::new() }
    }

    /// The changes of an observed pull request, without the files it removes.
    pub fn of(files: &ChangedFiles) -> Self {
        Self::new(files.known().iter().filter(|file| file.status != FileStatus::Removed).map(ChangedFile::of))
    }

    /// Adds a directory in which the repository is known to be checked out where the text was written.
    #[must_use]
    pub fn with_root(mut self, root: &str) -> Self {
        let root = paths::tidy(root);
        if !root.is_empty() {
            self.roots.push(root.trim_end_matches('/').to_owned());
        }
        self
    }

    pub fn files(&self) -> &[ChangedFile] {
        &self.files
    }

    pub fn contains(&self, path: &str) -> bool {
        self.candidates(path).any(|file| file.path == path)
    }

    /// Whether the pull request changes what is installed before code runs: a workflow, a manifest or a lock file.
    pub fn touch_setup(&self) -> bool {
        const NAMES: [&str; 5] = ["tox.ini", "noxfile.py", "Dockerfile", "go.sum", "npm-shrinkwrap.json"];
        self.files.iter().any(|file| {
            let name = paths::file_name(&file.path);
            let is_lock = name.ends_with(".lock") || name.contains("-lock.");
            matches!(kind(&file.path), FileKind::Ci | FileKind::Manifest) || is_lock || NAMES.contains(&name)
        })
    }

    /// Whether the pull request added that line.
    pub fn adds(&self, path: &str, line: u32) -> bool {
        self.candidates(path).any(|file| file.path == path && file.added.contains(&line))
    }

    /// The repository's path of a path as some tool printed it, and where that file comes from.
    pub fn locate(&self, printed: &str) -> (String, FrameOrigin) {
        let path = paths::tidy(printed);
        if let Some(origin) = paths::foreign(&path) {
            // Vendored code is the repository's own once the pull request changes it.
            let changed = self.longest_suffix_of(&path).filter(|file| paths::foreign(file) == Some(origin));
            return match changed {
                Some(file) => (file.to_owned(), FrameOrigin::Changed),
                None => (path, origin),
            };
        }
        let in_root = self.roots.iter().find_map(|root| path.strip_prefix(root.as_str())?.strip_prefix('/'));
        if let Some(relative) = in_root.or_else(|| paths::without_workspace(&path)) {
            // The root is known, so that the rest is the whole path: a longer or shorter one is another file.
            let origin = if self.contains(relative) { FrameOrigin::Changed } else { FrameOrigin::Repository };
            return (relative.to_owned(), origin);
        }
        match self.longest_suffix_of(&path).or_else(|| self.only_one_ending_in(&path)) {
            Some(file) => (file.to_owned(), FrameOrigin::Changed),
            None if paths::is_system(&path) => (path, FrameOrigin::Toolchain),
            None => (paths::without_container(&path).to_owned(), FrameOrigin::Repository),
        }
    }

    /// The directory the repository stands in, judging by one absolute path that ends in a changed file's path.
    pub(in crate::failure) fn root_of(&self, printed: &str) -> Option<String> {
        let path = paths::tidy(printed);
        if paths::foreign(&path).is_some() || paths::without_workspace(&path).is_some() {
            return None;
        }
        let file = self.longest_suffix_of(&path).filter(|file| file.contains('/'))?;
        path.strip_suffix(file)?.strip_suffix('/').filter(|root| !root.is_empty()).map(str::to_owned)
    }

    fn candidates(&self, path: &str) -> impl Iterator<Item = &ChangedFile> {
        let indices = self.by_name.get(paths::file_name(path)).map_or(&[][..], Vec::as_slice);
        indices.iter().filter_map(|index| self.files.get(*index))
    }

    fn longest_suffix_of(&self, path: &str) -> Option<&str> {
        self.candidates(path)
            .map(|file| file.path.as_str())
            .filter(|file| paths::ends_with(path, file))
            .max_by_key(|file| file.len())
    }

    /// Tools that run in a sub-directory print paths relative to it (`go test`, npm workspaces, JVM class names).
    fn only_one_ending_in(&self, path: &str) -> Option<&str> {
        let mut ending = self.candidates(path).filter(|file| paths::ends_with(&file.path, path));
        let first = ending.next()?;
        ending.next().is_none().then_some(first.path.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(paths: &[&str]) -> Changes {
        Changes::new(paths.iter().map(|path| ChangedFile { path: (*path).to_owned(), added: (3..=5).collect() }))
    }

    #[test]
    fn printed_paths_find_their_file() {
        use FrameOrigin::{Changed, Dependency, Repository, Toolchain};
        let changes = changes(&["src/a.rs", "crates/x/src/a.rs", "web/app/index.ts", "vendor/lib/v.go", "index.js"]);
        let cases = [
            // The pull request's own files, on a runner, on a laptop, in a container.
            ("/home/runner/work/w/w/src/a.rs", "src/a.rs", Changed),
            ("/home/alice/dev/w/crates/x/src/a.rs", "crates/x/src/a.rs", Changed),
            (r"D:\a\w\w\src\a.rs", "src/a.rs", Changed),
            ("file:///srv/w/web/app/index.ts?t=17", "web/app/index.ts", Changed),
            ("webpack-internal:///(ssr)/./web/app/index.ts", "web/app/index.ts", Changed),
            ("app/index.ts", "web/app/index.ts", Changed),
            ("/app/lib/b.rs", "lib/b.rs", Repository),
            ("./src/a.rs", "src/a.rs", Changed),
            // Same name, other file.
            ("/home/runner/work/w/w/lib/index.js", "lib/index.js", Repository),
            ("/home/runner/work/w/w/crates/y/src/a.rs", "crates/y/src/a.rs", Repository),
            // Not ours, though it ends in a changed path; ours, though it is vendored.
            (
                "/home/runner/work/w/w/node_modules/foo/index.js",
                "/home/runner/work/w/w/node_modules/foo/index.js",
                Dependency,
            ),
            ("/go/src/w/vendor/lib/v.go", "vendor/lib/v.go", Changed),
            ("/rustc/59807616e/library/core/src/option.rs", "/rustc/59807616e/library/core/src/option.rs", Toolchain),
            ("/usr/lib/libc.c", "/usr/lib/libc.c", Toolchain),
        ];
        for (printed, path, origin) in cases {
            assert_eq!(changes.locate(printed), (path.to_owned(), origin), "{printed}");
        }
    }

    #[test]
    fn a_path_that_fits_several_files_is_none_of_them() {
        let changes = changes(&["a/src/mod.rs", "b/src/mod.rs"]);
        assert_eq!(changes.locate("src/mod.rs"), ("src/mod.rs".to_owned(), FrameOrigin::Repository));
    }

    #[test]
    fn the_root_is_inferred_from_one_match() {
        let changes = changes(&["src/a.rs"]);
        assert_eq!(changes.root_of("/home/alice/w/src/a.rs").as_deref(), Some("/home/alice/w"));
        assert_eq!(changes.root_of("src/a.rs"), None);
        let rooted = changes.with_root("/home/alice/w/");
        assert_eq!(rooted.locate("/home/alice/w/lib/b.rs"), ("lib/b.rs".to_owned(), FrameOrigin::Repository));
    }

    #[test]
    fn an_observed_diff_gives_its_added_lines() {
        let file = |path: &str, status, patch: Option<&str>| observed::ChangedFile {
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
        assert_eq!(changes.files()[0].added, [2, 3, 11].into());
        assert!(changes.contains("logo.png") && !changes.contains("src/b.rs"));
    }

    #[test]
    fn added_lines() {
        let changes = changes(&["src/a.rs"]);
        assert!(changes.adds("src/a.rs", 5) && !changes.adds("src/a.rs", 6) && !changes.adds("a.rs", 5));
    }
}
