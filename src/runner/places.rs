//! Paths in reports as paths of the repository: those of failures and findings, and those that their texts mention.

use std::path::Path;

use super::coverage_files;
use loopgate_core::{evidence::Failure, source_files::is_test};

/// Where a command ran, and what is there.
pub struct Places<'a> {
    root: &'a Path,
    /// Where the command ran, from the top.
    directory: String,
    files: coverage_files::Places<'a>,
}

impl<'a> Places<'a> {
    /// For a command that ran in `directory`, in a repository whose top is `root`.
    pub fn new(directory: &'a Path, root: &'a Path) -> Self {
        let files = coverage_files::Places::new(root, directory, directory, &[]);
        Self { root, directory: shown(directory.strip_prefix(root).unwrap_or(directory)), files }
    }

    /// Makes the paths of a failure, and those its texts mention, paths of the repository.
    pub fn settle(&self, failure: &mut Failure) {
        let root = format!("{}/", self.root.display());
        for text in [Some(&mut failure.error_message), failure.stack_trace.as_mut()].into_iter().flatten() {
            if text.contains(&root) {
                *text = text.replace(&root, "");
            }
        }
        let written = test_file(failure).map(str::to_owned);
        let files = [failure.test_file.as_mut(), failure.source.as_mut().map(|source| &mut source.file)];
        files.into_iter().flatten().for_each(|file| self.file(file));
        let package = written.zip(test_file(failure)).and_then(|(written, file)| self.package(&written, file));
        failure.directory = package;
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
            file.strip_suffix(written.trim_start_matches("./"))?.strip_suffix('/')?.to_owned()
        } else {
            let is_module = |folder: &&Path| manifests.iter().any(|name| self.root.join(folder).join(name).is_file());
            shown(Path::new(file).ancestors().skip(1).find(is_module)?)
        };
        (!package.is_empty() && package != self.directory).then_some(package)
    }

    /// The same for one path. One that is not found here stays as it is.
    pub fn file(&self, file: &mut String) {
        *file = self.files.resolve(file.strip_prefix("file://").unwrap_or(file));
    }
}

/// The file of the failing test, not that of code it calls.
fn test_file(failure: &Failure) -> Option<&str> {
    let source = failure.source.as_ref().map(|source| source.file.as_str()).filter(|file| is_test(file));
    failure.test_file.as_deref().or(source)
}

/// A path as it is written in evidence, with `/`.
pub fn shown(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("go", "example.com/shop/cart/cart_test.go", "go/cart/cart_test.go"),
            ("go", "example.com/shop/cart_test.go", "go/cart_test.go"),
            ("web", "/usr/lib/x.ts", "/usr/lib/x.ts"),
            // A member's command, whose tool speaks from the top of its workspace of the member beside it.
            ("web/a", "b/src/lib.rs", "web/b/src/lib.rs"),
        ] {
            let directory = root.join(directory);
            let places = Places::new(&directory, &root);
            let mut file = printed.to_owned();
            places.file(&mut file);
            assert_eq!(file, expected, "{printed} in {}", directory.display());
        }
    }

    #[test]
    fn a_test_knows_the_package_in_which_its_tool_ran_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for path in
            ["web/src/a.test.ts", "core/pom.xml", "core/src/test/java/ATest.java", "api/go.mod", "api/a_test.go"]
        {
            std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            std::fs::write(root.join(path), "").unwrap();
        }
        for (ran_in, written, file, directory) in [
            ("", "web/src/a.test.ts", "web/src/a.test.ts", None),
            ("web", "src/a.test.ts", "web/src/a.test.ts", None),
            ("", "core/src/test/java/ATest.java", "core/src/test/java/ATest.java", Some("core")),
            ("core", "src/test/java/ATest.java", "core/src/test/java/ATest.java", None),
            ("", "api/a_test.go", "api/a_test.go", Some("api")),
            ("", "gone.test.ts", "gone.test.ts", None),
        ] {
            let mut failure = Failure { test_file: Some(written.to_owned()), ..Failure::default() };
            Places::new(&root.join(ran_in), &root).settle(&mut failure);
            assert_eq!(
                (failure.test_file.as_deref(), failure.directory.as_deref()),
                (Some(file), directory),
                "{ran_in}"
            );
        }
        // Only its end was printed, from wherever the package is.
        assert!(std::process::Command::new("git").args(["init", "-q"]).arg(&root).status().unwrap().success());
        let mut failure = Failure { test_file: Some("src/a.test.ts".to_owned()), ..Failure::default() };
        Places::new(&root, &root).settle(&mut failure);
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
        Places::new(root, root).settle(&mut failure);
        assert_eq!(failure.error_message, "Cannot find module 'src/cart.js'");
        assert_eq!(failure.stack_trace.as_deref(), Some("    at total (src/cart.js:3:9)"));
    }
}
