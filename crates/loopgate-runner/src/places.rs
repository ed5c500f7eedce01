//! Paths in reports as paths of the repository: those of failures, findings and coverage, and those that texts mention.
//!
//! Tools write paths as they see them: absolute on this machine, relative to where they ran, below a Go module's or a
//! Java package's name, or as they were in a container. What exists here decides which file is meant, so that a report
//! on `crates/b/src/lib.rs` is never taken for one on `src/lib.rs`.

use std::{
    cell::OnceCell,
    collections::HashMap,
    path::{Component, Path, PathBuf},
};

use loopgate_core::{
    evidence::{Failure, Finding, SourceLocation, mention_place},
    failure::is_foreign,
    source_files::is_test,
};
use loopgate_git::{Git, GitOutput};

/// Longest path of which suffixes are tried, in parts.
const MOST_PARTS: usize = 40;

/// What the paths of one report may be relative to.
pub struct Places<'a> {
    git: &'a Git,
    /// The top of the repository as it was given, and where links lead.
    top: &'a Path,
    root: PathBuf,
    /// Where the command ran, from the top.
    directory: String,
    /// Directories to look in, the likeliest first.
    bases: Vec<PathBuf>,
    report: &'a Path,
    /// The name of the Go module around the directory, which Go writes for the module's own directory.
    module: Option<(String, PathBuf)>,
    /// Files of the repository by their last part, new ones that are not ignored among them; asked of git when needed.
    tracked: OnceCell<HashMap<String, Vec<String>>>,
}

impl<'a> Places<'a> {
    /// For a command that ran in `directory`, in a repository at whose top git is asked. `sources` are the directories that
    /// the report itself names.
    pub fn new(git: &'a Git, directory: &Path, report: &'a Path, sources: &[String]) -> Self {
        let top = git.directory();
        let shown = shown(directory.strip_prefix(top).unwrap_or(directory));
        let root = top.canonicalize().unwrap_or_else(|_| top.to_owned());
        let directory = directory
            .canonicalize()
            .unwrap_or_else(|_| directory.to_owned());
        let mut bases: Vec<PathBuf> = sources
            .iter()
            .map(|source| directory.join(source))
            .collect();
        let module = module(&directory, &root);
        // A workspace's tools write paths from its top, which may be any directory above.
        bases.extend(
            directory
                .ancestors()
                .take_while(|above| above.starts_with(&root))
                .map(Path::to_owned),
        );
        if !directory.starts_with(&root) {
            bases.extend([directory, root.clone()]);
        }
        Self {
            git,
            top,
            root,
            directory: shown,
            bases,
            report,
            module,
            tracked: OnceCell::new(),
        }
    }

    /// The file's path in the repository; the path as it was written where it is none of its files.
    pub fn resolve(&self, written: &str) -> String {
        let written = written.strip_prefix("file://").unwrap_or(written);
        let path = Path::new(written);
        if path.is_absolute() {
            if let Some(found) = self.inside(path) {
                return found;
            }
        } else if let Some(found) = self
            .bases
            .iter()
            .find_map(|base| self.inside(&base.join(path)))
        {
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
        let parts: Vec<&str> = written
            .split(['/', '\\'])
            .filter(|part| !part.is_empty())
            .collect();
        let ends = (1..parts.len().min(MOST_PARTS)).map(|skipped| parts[skipped..].join("/"));
        let below = |end: &String| {
            self.bases
                .iter()
                .find_map(|base| self.inside(&base.join(end)))
        };
        let mut ends = ends.filter(|end| end.contains('/') || parts.len() == 2);
        ends.find_map(|end| below(&end))
            .or_else(|| self.tracked_ending_in(&parts))
            .or_else(|| self.tracked_in_module(&parts))
            .unwrap_or_else(|| written.to_owned())
    }

    /// The path of the file of the repository that is meant, tracked or new; none where there is no such file.
    fn place(&self, written: &str) -> Option<String> {
        let file = self.resolve(written);
        let named = self.tracked().get(file.rsplit('/').next()?)?;
        named.contains(&file).then_some(file)
    }

    /// Makes the place of a finding one of the repository. One that is none is left as words in the message.
    pub fn settle_finding(&self, finding: &mut Finding) {
        let Some(at) = finding.location.take() else {
            return;
        };
        match self.place(&at.file) {
            Some(file) => finding.location = Some(SourceLocation { file, ..at }),
            None => mention_place(&mut finding.message, &at.file, at.line),
        }
    }

    /// Makes the paths of a failure, and those its texts mention, paths of the repository. A place that is none is left
    /// as words in the message.
    pub fn settle(&self, failure: &mut Failure) {
        let root = format!("{}/", self.top.display());
        for text in [
            Some(&mut failure.error_message),
            failure.stack_trace.as_mut(),
        ]
        .into_iter()
        .flatten()
        {
            if text.contains(&root) {
                *text = text.replace(&root, "");
            }
        }
        let written = test_file(failure).map(str::to_owned);
        let named = failure
            .named_place()
            .map(|(file, line)| (file.to_owned(), line));
        failure.test_file = failure.test_file.take().and_then(|file| self.place(&file));
        failure.source = failure.source.take().and_then(|source| {
            let file = self.place(&source.file)?;
            Some(SourceLocation { file, ..source })
        });
        if let (None, Some((file, line))) = (failure.location(), named)
            && !is_foreign(&file)
        {
            mention_place(&mut failure.error_message, &file, line);
        }
        let package = written
            .zip(test_file(failure))
            .and_then(|(written, file)| self.package(&written, file));
        let is_there = |directory: &String| self.root.join(directory).is_dir();
        failure.directory = package.or(failure.directory.take().filter(is_there));
    }

    /// The directory in which its tool ran a test, if that is another one than the command's: the nearest module, where
    /// the tool has such; else the one from which it named the test's file.
    fn package(&self, written: &str, file: &str) -> Option<String> {
        let manifests: &[&str] = match Path::new(file).extension()?.to_str()? {
            "go" => &["go.mod"],
            "java" | "kt" | "groovy" | "scala" => &["pom.xml", "build.gradle", "build.gradle.kts"],
            _ => &[],
        };
        let package = if manifests.is_empty() {
            file.strip_suffix(written.trim_start_matches("./"))?
                .strip_suffix('/')?
                .to_owned()
        } else {
            let is_module = |folder: &&Path| {
                manifests
                    .iter()
                    .any(|name| self.root.join(folder).join(name).is_file())
            };
            shown(Path::new(file).ancestors().skip(1).find(is_module)?)
        };
        (!package.is_empty() && package != self.directory).then_some(package)
    }

    /// The path relative to the root of a file that exists below it.
    fn inside(&self, path: &Path) -> Option<String> {
        let plain = normal(path);
        let relative = plain.strip_prefix(&self.root).ok()?;
        plain.is_file().then(|| shown(relative))
    }

    fn tracked(&self) -> &HashMap<String, Vec<String>> {
        self.tracked.get_or_init(|| tracked(self.git))
    }

    /// Below a source root that the report does not know: `com/acme/Cart.java`. Of several such files the one nearest
    /// to the report is meant.
    fn tracked_ending_in(&self, parts: &[&str]) -> Option<String> {
        let end = format!("/{}", parts.join("/"));
        let candidates = self
            .tracked()
            .get(*parts.last()?)?
            .iter()
            .filter(|file| format!("/{file}").ends_with(&end));
        let report = normal(self.report);
        let near = |file: &str| {
            let file = self.root.join(file);
            file.components()
                .zip(report.components())
                .take_while(|(one, other)| one == other)
                .count()
        };
        let nearest = candidates.clone().map(|file| near(file)).max()?;
        let mut meant = candidates.filter(|file| near(file) == nearest);
        let file = meant.next()?;
        meant.next().is_none().then(|| file.clone())
    }
}

impl Places<'_> {
    /// Of a module that a report names in front of the path: `app/com/acme/Cart.java` is a file below a folder `app`.
    fn tracked_in_module(&self, parts: &[&str]) -> Option<String> {
        let (module, inner) = parts.split_first().filter(|(_, inner)| inner.len() > 1)?;
        let end = format!("/{}", inner.join("/"));
        let mut meant = self.tracked().get(*inner.last()?)?.iter().filter(|file| {
            let above = file.strip_suffix(end.as_str());
            above.is_some_and(|above| above.split('/').any(|folder| folder == *module))
        });
        let file = meant.next()?;
        meant.next().is_none().then(|| file.clone())
    }
}

/// Name and directory of the Go module a directory is in.
fn module(directory: &Path, root: &Path) -> Option<(String, PathBuf)> {
    let mut within = directory
        .ancestors()
        .take_while(|above| above.starts_with(root));
    let top = within.find(|above| above.join("go.mod").is_file())?;
    let text = std::fs::read_to_string(top.join("go.mod")).ok()?;
    let name = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("module "))?;
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

fn tracked(git: &Git) -> HashMap<String, Vec<String>> {
    let listed = [
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ];
    let output = git
        .command(&listed)
        .run()
        .and_then(GitOutput::success)
        .unwrap_or_default();
    let mut files: HashMap<String, Vec<String>> = HashMap::new();
    for file in String::from_utf8_lossy(&output)
        .split('\0')
        .filter(|file| !file.is_empty())
    {
        let name = file.rsplit('/').next().unwrap_or(file);
        files
            .entry(name.to_owned())
            .or_default()
            .push(file.to_owned());
    }
    files
}

/// The file of the failing test, not that of code it calls.
fn test_file(failure: &Failure) -> Option<&str> {
    let source = failure
        .source
        .as_ref()
        .map(|source| source.file.as_str())
        .filter(|file| is_test(file));
    failure.test_file.as_deref().or(source)
}

/// A path as it is written in evidence, with `/`.
pub fn shown(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn git_init(root: &Path) {
        let made = Command::new("git").args(["init", "-q"]).arg(root).status();
        assert!(made.unwrap().success());
    }

    #[test]
    fn a_place_that_no_file_of_the_repository_has_is_text() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for (path, content) in [
            ("web/src/cart.ts", ""),
            ("src/lib.rs", ""),
            ("crates/b/src/lib.rs", ""),
            (".gitignore", "/dist/\n"),
            ("dist/made.js", ""),
        ] {
            std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            std::fs::write(root.join(path), content).unwrap();
        }
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret.txt"), "").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(outside.path(), root.join("linked")).unwrap();
        git_init(&root);
        let secret = outside.path().join("secret.txt").display().to_string();
        // Files that are new count as tracked ones do.
        for (directory, written, expected) in [
            ("web", "src/cart.ts", Some("web/src/cart.ts")),
            ("", "web/src/cart.ts", Some("web/src/cart.ts")),
            ("crates/b", "../../src/lib.rs", Some("src/lib.rs")),
            ("crates/b", "src/lib.rs", Some("crates/b/src/lib.rs")),
            ("", "src/../../../etc/passwd", None),
            ("", "/etc/passwd", None),
            ("", &secret, None),
            ("", "linked/secret.txt", None),
            ("", "gone.test.ts", None),
            ("", "dist/made.js", None),
            ("", "src", None),
            ("", "", None),
        ] {
            let mut failure = Failure {
                test_file: Some(written.to_owned()),
                line_number: Some(3),
                error_message: "it failed".into(),
                ..Failure::default()
            };
            let at = SourceLocation {
                file: written.to_owned(),
                line: Some(3),
                function: None,
            };
            let mut finding = Finding {
                rule: "r".into(),
                severity: loopgate_core::evidence::FindingSeverity::Low,
                message: "it failed".into(),
                location: Some(at.clone()),
            };
            // As a failure comes here.
            loopgate_core::failure::complete(&mut failure);
            let git = Git::at(&root);
            let places = Places::new(&git, &root.join(directory), &root, &[]);
            places.settle(&mut failure);
            places.settle_finding(&mut finding);
            assert_eq!(
                failure.location().map(|(file, _)| file),
                expected,
                "{written} in {directory}"
            );
            assert_eq!(
                finding.location.as_ref().map(|at| at.file.as_str()),
                expected,
                "{written}"
            );
            let says_where =
                failure.error_message.contains("(reported at ") && finding.message.ends_with(":3)");
            assert_eq!(
                says_where,
                expected.is_none() && !written.is_empty(),
                "{}",
                failure.error_message
            );
        }
    }

    #[test]
    fn every_way_tools_name_a_file_is_a_path_of_the_repository() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let files = [
            ("web/src/cart.ts", ""),
            ("src/cart.ts", ""),
            ("src/main.rs", ""),
            ("go/go.mod", "module example.com/shop\n\ngo 1.22\n"),
            ("go/cart_test.go", ""),
            ("go/cart/cart_test.go", ""),
            ("web/a/src/lib.rs", ""),
            ("web/b/src/lib.rs", ""),
        ];
        for (path, content) in files {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        let absolute = format!("{}/web/src/cart.ts", root.display());
        let address = format!("file://{}/web/src/cart.ts", root.display());
        for (directory, printed, expected) in [
            ("web", absolute.as_str(), "web/src/cart.ts"),
            ("web", address.as_str(), "web/src/cart.ts"),
            ("web", "src/cart.ts", "web/src/cart.ts"),
            ("", "src/cart.ts", "src/cart.ts"),
            ("web", "src/main.rs", "src/main.rs"),
            (
                "go",
                "example.com/shop/cart/cart_test.go",
                "go/cart/cart_test.go",
            ),
            ("go", "example.com/shop/cart_test.go", "go/cart_test.go"),
            ("web", "/usr/lib/x.ts", "/usr/lib/x.ts"),
            // A member's command, whose tool names the member beside it from the top of its workspace.
            ("web/a", "b/src/lib.rs", "web/b/src/lib.rs"),
        ] {
            let directory = root.join(directory);
            let git = Git::at(&root);
            let places = Places::new(&git, &directory, &directory, &[]);
            assert_eq!(
                places.resolve(printed),
                expected,
                "{printed} in {}",
                directory.display()
            );
        }
    }

    #[test]
    fn a_test_knows_the_package_in_which_its_tool_ran_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for path in [
            "web/src/a.test.ts",
            "core/pom.xml",
            "core/src/test/java/ATest.java",
            "api/go.mod",
            "api/a_test.go",
        ] {
            std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            std::fs::write(root.join(path), "").unwrap();
        }
        git_init(&root);
        for (ran_in, written, file, directory) in [
            ("", "web/src/a.test.ts", "web/src/a.test.ts", None),
            ("web", "src/a.test.ts", "web/src/a.test.ts", None),
            (
                "",
                "core/src/test/java/ATest.java",
                "core/src/test/java/ATest.java",
                Some("core"),
            ),
            (
                "core",
                "src/test/java/ATest.java",
                "core/src/test/java/ATest.java",
                None,
            ),
            ("", "api/a_test.go", "api/a_test.go", Some("api")),
        ] {
            let mut failure = Failure {
                test_file: Some(written.to_owned()),
                ..Failure::default()
            };
            Places::new(&Git::at(&root), &root.join(ran_in), &root, &[]).settle(&mut failure);
            assert_eq!(
                (failure.test_file.as_deref(), failure.directory.as_deref()),
                (Some(file), directory),
                "{ran_in}"
            );
        }
        // Only its end was printed, from wherever the package is.
        let mut failure = Failure {
            test_file: Some("src/a.test.ts".to_owned()),
            ..Failure::default()
        };
        Places::new(&Git::at(&root), &root, &root, &[]).settle(&mut failure);
        assert_eq!(failure.directory.as_deref(), Some("web"));
    }

    #[test]
    fn texts_speak_of_the_repositorys_paths_too() {
        let root = Path::new("/srv/shop");
        let mut failure = Failure {
            error_message: "Cannot find module '/srv/shop/src/cart.js'".into(),
            stack_trace: Some("    at total (/srv/shop/src/cart.js:3:9)".into()),
            ..Failure::default()
        };
        Places::new(&Git::at(root), root, root, &[]).settle(&mut failure);
        assert_eq!(failure.error_message, "Cannot find module 'src/cart.js'");
        assert_eq!(
            failure.stack_trace.as_deref(),
            Some("    at total (src/cart.js:3:9)")
        );
    }

    #[test]
    fn written_paths_find_their_file() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        git_init(&root);
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
            (
                "",
                &[],
                &absolute("crates/b/src/lib.rs"),
                "crates/b/src/lib.rs",
            ),
            ("", &[], "/app/crates/b/src/lib.rs", "crates/b/src/lib.rs"),
            ("", &["shop".into()], "cart.py", "shop/cart.py"),
            ("", &[absolute("shop")], "cart.py", "shop/cart.py"),
            (
                "api",
                &[],
                "example.com/acme/api/total/total.go",
                "api/total/total.go",
            ),
            (
                "",
                &[],
                "com/acme/Cart.java",
                "two/src/main/java/com/acme/Cart.java",
            ),
            ("", &[], "/usr/lib/x.py", "/usr/lib/x.py"),
        ];
        for (directory, sources, written, expected) in table {
            let git = Git::at(&root);
            let places = Places::new(&git, &root.join(directory), &report, sources);
            assert_eq!(
                places.resolve(written),
                expected,
                "{written} in {directory}"
            );
        }
        let elsewhere = root.join("jacoco.xml");
        let git = Git::at(&root);
        let places = Places::new(&git, &root, &elsewhere, &[]);
        assert_eq!(
            places.resolve("com/acme/Cart.java"),
            "com/acme/Cart.java",
            "either of two"
        );
        assert_eq!(
            places.resolve("com/acme/Only.java"),
            "two/src/main/java/com/acme/Only.java"
        );
        for module in ["one", "two"] {
            assert_eq!(
                places.resolve(&format!("{module}/com/acme/Cart.java")),
                format!("{module}/src/main/java/com/acme/Cart.java"),
                "a group of JaCoCo names its module"
            );
        }
        assert_eq!(
            places.resolve("acme-one/com/acme/Cart.java"),
            "acme-one/com/acme/Cart.java",
            "no module is of that name, and either is none"
        );
    }
}
