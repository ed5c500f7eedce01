//! Finding the report files of a check: those that it promised, and coverage reports where tools put them unasked.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use globset::GlobBuilder;
use tempfile::TempDir;
use walkdir::{DirEntry, WalkDir};

/// Most files taken for one glob, and most directory entries looked at.
const FILE_LIMIT: usize = 2_000;
const ENTRY_LIMIT: usize = 500_000;
/// Clocks of file systems may lag a little behind the clock of the system.
const CLOCK_LAG: Duration = Duration::from_secs(2);

/// A new, empty directory for the reports of one command; it goes with the value. None where nothing can be written:
/// the command then fails by itself where it needs it.
pub fn directory() -> Option<TempDir> {
    tempfile::Builder::new().prefix("loopgate-reports-").tempdir().ok()
}

/// The files that match a glob, relative to the directory the command ran in or, failing that, to the top of the
/// repository. Never one outside the repository.
pub fn find(glob: &str, directory: &Path, root: &Path) -> Vec<PathBuf> {
    let found = below(glob, directory, root);
    if found.is_empty() && directory != root { below(glob, root, root) } else { found }
}

/// Whether a file was written since a moment.
pub fn is_newer(path: &Path, than: SystemTime) -> bool {
    let written = path.metadata().and_then(|metadata| metadata.modified());
    written.is_ok_and(|written| written + CLOCK_LAG >= than)
}

fn below(glob: &str, directory: &Path, root: &Path) -> Vec<PathBuf> {
    let Ok(matcher) = GlobBuilder::new(glob).literal_separator(true).build().map(|glob| glob.compile_matcher()) else {
        return Vec::new();
    };
    // The part without wildcards is where the search begins: `target/nextest/**/*.xml` never looks at `src`.
    let is_fixed = |part: &&OsStr| !part.to_string_lossy().contains(['*', '?', '[', '{']);
    let fixed: PathBuf = Path::new(glob).iter().take_while(is_fixed).collect();
    let start = directory.join(&fixed);
    if start.is_file() {
        return if is_inside(&start, root) { vec![start] } else { Vec::new() };
    }
    // Symbolic links are not followed: they may lead out, or round in a circle.
    let entries = WalkDir::new(start).into_iter().filter_entry(|entry| entry.file_name() != ".git").take(ENTRY_LIMIT);
    let files = entries.flatten().filter(|entry| entry.file_type().is_file()).map(DirEntry::into_path);
    let is_meant =
        |path: &PathBuf| matcher.is_match(path.strip_prefix(directory).unwrap_or(path)) && is_inside(path, root);
    let mut found: Vec<PathBuf> = files.filter(is_meant).take(FILE_LIMIT).collect();
    found.sort();
    found
}

fn is_inside(path: &Path, root: &Path) -> bool {
    match (path.canonicalize(), root.canonicalize()) {
        (Ok(path), Ok(root)) => path.starts_with(root),
        _ => false,
    }
}

/// The usual places of coverage reports, by what is written there. Of a folder's reports only the first counts: the others say the same again.
const USUAL_COVERAGE: [&[&str]; 9] = [
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
pub fn usual_coverage(directory: &Path, is_fresh: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let places = USUAL_COVERAGE.iter().filter_map(|names| {
        let there = names.iter().map(|name| directory.join(name));
        there.into_iter().find(|path| path.is_file() && is_fresh(path))
    });
    places.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_find_files_below_the_directory_and_never_outside_the_repository() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("repo");
        for file in ["a/target/one.xml", "a/target/deep/two.xml", "b/other.txt", "../secret.xml"] {
            let path = root.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        let names = |glob: &str, directory: &str| -> Vec<String> {
            let found = find(glob, &root.join(directory), &root);
            found.iter().map(|path| path.strip_prefix(&root).unwrap().display().to_string()).collect()
        };
        assert_eq!(names("target/*.xml", "a"), ["a/target/one.xml"]);
        assert_eq!(names("target/**/*.xml", "a"), ["a/target/deep/two.xml", "a/target/one.xml"]);
        assert_eq!(names("b/other.txt", "a"), ["b/other.txt"], "relative to the top where not in the directory");
        assert_eq!(names("../secret.xml", "."), Vec::<String>::new());
        assert_eq!(names("**/none.xml", "."), Vec::<String>::new());
    }

    #[test]
    fn the_first_report_of_a_place_counts_if_it_is_fresh() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["coverage/clover.xml", "coverage/lcov.info", "coverage.xml"] {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        let found = usual_coverage(folder.path(), |path| !path.ends_with("coverage.xml"));
        assert_eq!(found, [folder.path().join("coverage/lcov.info")]);
        assert_eq!(usual_coverage(folder.path(), |_| true).len(), 2);
    }
}
