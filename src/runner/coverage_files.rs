//! Coverage reports: where tools put them unasked, and which files of the repository their paths mean.
//!
//! Tools write paths as they see them: absolute on this machine, relative to where they ran, below a Go module's or a
//! Java package's name, or as they were in a container. What exists here decides which file is meant, so that a report
//! on `crates/b/src/lib.rs` is never taken for one on `src/lib.rs`.

use std::{
    cell::OnceCell,
    collections::HashMap,
    path::{Component, Path, PathBuf},
};

use crate::git::{GitCommand, GitOutput};

/// Usual places, by what is written there. Of a folder's reports only the first counts: the others say the same again.
const USUAL: [&[&str]; 9] = [
    // Jest, vitest, c8, nyc.
    &["coverage/lcov.info", "coverage/cobertura-coverage.xml", "coverage/clover.xml"],
    &["coverage.xml", "coverage.lcov", "lcov.info"],
    &["cobertura.xml"],
    &["target/llvm-cov/lcov.info", "target/llvm-cov/cobertura.xml", "target/llvm-cov/coverage.json"],
    &["target/tarpaulin/lcov.info", "target/tarpaulin/cobertura.xml"],
    &["target/site/jacoco/jacoco.xml"],
    &["build/reports/jacoco/test/jacocoTestReport.xml"],
    &["coverage.out", "cover.out", "coverage.txt"],
    &["build/logs/clover.xml", "clover.xml"],
];

/// Coverage reports in the usual places below a directory that a predicate takes for fresh.
pub fn usual(directory: &Path, is_fresh: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let places = USUAL.iter().filter_map(|names| {
        let there = names.iter().map(|name| directory.join(name));
        there.into_iter().find(|path| path.is_file() && is_fresh(path))
    });
    places.collect()
}

/// Longest path of which suffixes are tried, in parts.
const MOST_PARTS: usize = 40;

/// What the paths of one report may be relative to.
pub struct Places<'a> {
    root: PathBuf,
    /// Directories to look in, the likeliest first.
    bases: Vec<PathBuf>,
    report: &'a Path,
    /// The name of the Go module around the directory, which Go writes for the module's own directory.
    module: Option<(String, PathBuf)>,
    /// Files of the repository by their last part; asked of git when nothing else helps.
    tracked: OnceCell<HashMap<String, Vec<String>>>,
}

impl<'a> Places<'a> {
    /// `sources` are the directories that the report itself names.
    pub fn new(root: &Path, directory: &Path, report: &'a Path, sources: &[String]) -> Self {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
        let mut bases: Vec<PathBuf> = sources.iter().map(|source| directory.join(source)).collect();
        let module = module(&directory, &root);
        // A workspace's tools speak from its top, which may be any directory above.
        bases.extend(directory.ancestors().take_while(|above| above.starts_with(&root)).map(Path::to_owned));
        if !directory.starts_with(&root) {
            bases.extend([directory, root.clone()]);
        }
        Self { root, bases, report, module, tracked: OnceCell::new() }
    }

    /// The file's path in the repository; the path as it was written where it is none of its files.
    pub fn resolve(&self, written: &str) -> String {
        let path = Path::new(written);
        if path.is_absolute() {
            if let Some(found) = self.inside(path) {
                return found;
            }
        } else if let Some(found) = self.bases.iter().find_map(|base| self.inside(&base.join(path))) {
            return found;
        }
        let in_module = self.module.as_ref().and_then(|(name, directory)| {
            let inner = written.strip_prefix(name.as_str())?.strip_prefix('/')?;
            self.inside(&directory.join(inner))
        });
        if let Some(found) = in_module {
            return found;
        }
        // From another machine, or below the name of a module: the longest end of it that is there.
        let parts: Vec<&str> = written.split(['/', '\\']).filter(|part| !part.is_empty()).collect();
        let ends = (1..parts.len().min(MOST_PARTS)).map(|skipped| parts[skipped..].join("/"));
        let below = |end: &String| self.bases.iter().find_map(|base| self.inside(&base.join(end)));
        let mut ends = ends.filter(|end| end.contains('/') || parts.len() == 2);
        ends.find_map(|end| below(&end))
            .or_else(|| self.tracked_ending_in(&parts))
            .unwrap_or_else(|| written.to_owned())
    }

    /// The path relative to the root of a file that exists below it.
    fn inside(&self, path: &Path) -> Option<String> {
        let plain = normal(path);
        let relative = plain.strip_prefix(&self.root).ok()?;
        plain.is_file().then(|| relative.to_string_lossy().replace('\\', "/"))
    }

    /// Below a source root that the report does not know: `com/acme/Cart.java`. Of several such files the one nearest
    /// to the report is meant.
    fn tracked_ending_in(&self, parts: &[&str]) -> Option<String> {
        let tracked = self.tracked.get_or_init(|| tracked(&self.root));
        let end = format!("/{}", parts.join("/"));
        let candidates = tracked.get(*parts.last()?)?.iter().filter(|file| format!("/{file}").ends_with(&end));
        let report = normal(self.report);
        let near = |file: &str| {
            let file = self.root.join(file);
            file.components().zip(report.components()).take_while(|(one, other)| one == other).count()
        };
        let mut nearest: Option<(usize, &String, bool)> = None;
        for file in candidates {
            let here = near(file);
            nearest = match nearest {
                Some((best, kept, _)) if best == here => Some((best, kept, false)),
                Some(kept) if kept.0 > here => Some(kept),
                _ => Some((here, file, true)),
            };
        }
        nearest.filter(|(.., is_alone)| *is_alone).map(|(_, file, _)| file.clone())
    }
}

/// Name and directory of the Go module a directory is in.
fn module(directory: &Path, root: &Path) -> Option<(String, PathBuf)> {
    let mut within = directory.ancestors().take_while(|above| above.starts_with(root));
    let top = within.find(|above| above.join("go.mod").is_file())?;
    let text = std::fs::read_to_string(top.join("go.mod")).ok()?;
    let name = text.lines().find_map(|line| line.trim().strip_prefix("module "))?;
    Some((name.trim().trim_matches('"').to_owned(), top.to_owned()))
}

/// The path without `.` and `..`, by its words alone.
fn normal(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

fn tracked(root: &Path) -> HashMap<String, Vec<String>> {
    let listed = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let output = GitCommand::new(root, &listed).run().and_then(GitOutput::success).unwrap_or_default();
    let mut files: HashMap<String, Vec<String>> = HashMap::new();
    for file in String::from_utf8_lossy(&output).split('\0').filter(|file| !file.is_empty()) {
        let name = file.rsplit('/').next().unwrap_or(file);
        files.entry(name.to_owned()).or_default().push(file.to_owned());
    }
    files
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn written_paths_find_their_file() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        assert!(Command::new("git").arg("init").arg("-q").arg(&root).status().unwrap().success());
        for file in [
            "src/lib.rs",
            "crates/b/src/lib.rs",
            "shop/cart.py",
            "cart.py",
            "api/total/total.go",
            "one/src/main/java/com/acme/Cart.java",
            "two/src/main/java/com/acme/Cart.java",
            "two/src/main/java/com/acme/Only.java",
        ] {
            let path = root.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        let absolute = |path: &str| root.join(path).display().to_string();
        let report = root.join("two/target/site/jacoco/jacoco.xml");
        let table: [(&str, &[String], &str, &str); 11] = [
            ("", &[], "src/lib.rs", "src/lib.rs"),
            ("", &[], "crates/b/src/lib.rs", "crates/b/src/lib.rs"),
            ("crates/b", &[], "src/lib.rs", "crates/b/src/lib.rs"),
            ("crates/b", &[], "../../src/lib.rs", "src/lib.rs"),
            ("", &[], &absolute("crates/b/src/lib.rs"), "crates/b/src/lib.rs"),
            ("", &[], "/app/crates/b/src/lib.rs", "crates/b/src/lib.rs"),
            ("", &["shop".into()], "cart.py", "shop/cart.py"),
            ("", &[absolute("shop")], "cart.py", "shop/cart.py"),
            ("api", &[], "example.com/acme/api/total/total.go", "api/total/total.go"),
            ("", &[], "com/acme/Cart.java", "two/src/main/java/com/acme/Cart.java"),
            ("", &[], "/usr/lib/x.py", "/usr/lib/x.py"),
        ];
        for (directory, sources, written, expected) in table {
            let places = Places::new(&root, &root.join(directory), &report, sources);
            assert_eq!(places.resolve(written), expected, "{written} in {directory}");
        }
        let elsewhere = root.join("jacoco.xml");
        let places = Places::new(&root, &root, &elsewhere, &[]);
        assert_eq!(places.resolve("com/acme/Cart.java"), "com/acme/Cart.java", "either of two");
        assert_eq!(places.resolve("com/acme/Only.java"), "two/src/main/java/com/acme/Only.java");
    }

    #[test]
    fn the_first_report_of_a_place_counts_if_it_is_fresh() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["coverage/clover.xml", "coverage/lcov.info", "coverage.xml"] {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        let found = usual(folder.path(), |path| !path.ends_with("coverage.xml"));
        assert_eq!(found, [folder.path().join("coverage/lcov.info")]);
        assert_eq!(usual(folder.path(), |_| true).len(), 2);
    }
}
