//! Paths in reports as paths of the repository: those of failures and findings, and those that their texts mention.

use std::path::Path;

use super::coverage_files;
use loopgate_core::evidence::Failure;

/// Where a command ran, and what is there.
pub struct Places<'a> {
    root: &'a Path,
    files: coverage_files::Places<'a>,
}

impl<'a> Places<'a> {
    /// For a command that ran in `directory`, in a repository whose top is `root`.
    pub fn new(directory: &'a Path, root: &'a Path) -> Self {
        Self { root, files: coverage_files::Places::new(root, directory, directory, &[]) }
    }

    /// Makes the paths of a failure, and those its texts mention, paths of the repository.
    pub fn settle(&self, failure: &mut Failure) {
        let root = format!("{}/", self.root.display());
        for text in [Some(&mut failure.error_message), failure.stack_trace.as_mut()].into_iter().flatten() {
            if text.contains(&root) {
                *text = text.replace(&root, "");
            }
        }
        let files = [failure.test_file.as_mut(), failure.source.as_mut().map(|source| &mut source.file)];
        files.into_iter().flatten().for_each(|file| self.file(file));
    }

    /// The same for one path. One that is not found here stays as it is.
    pub fn file(&self, file: &mut String) {
        *file = self.files.resolve(file.strip_prefix("file://").unwrap_or(file));
    }
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
        ] {
            let directory = root.join(directory);
            let places = Places::new(&directory, &root);
            let mut file = printed.to_owned();
            places.file(&mut file);
            assert_eq!(file, expected, "{printed} in {}", directory.display());
        }
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
