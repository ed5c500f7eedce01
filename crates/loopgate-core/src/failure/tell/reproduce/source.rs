//! Compilers and linters of one file.

use super::{tool::test_file, word::word};
use crate::{
    evidence::{ErrorType, Failure},
    failure::read::paths,
    source_files::language_of,
};

/// Compilers and linters without a configured command.
pub fn of_source(failure: &Failure) -> Option<String> {
    let file = test_file(failure)?;
    let tidy = paths::tidy(file);
    let lints = failure.error_type == ErrorType::LintError;
    match (language_of(file)?, lints) {
        ("rust", true) if failure.error_class.as_deref().is_some_and(|class| class.starts_with("clippy")) => {
            Some("cargo clippy --all-targets".to_owned())
        }
        ("rust", _) => Some("cargo check --all-targets".to_owned()),
        ("typescript", false) => Some("npx tsc --noEmit".to_owned()),
        ("typescript" | "javascript" | "vue", true) => Some(format!("npx eslint {}", word(&tidy)?)),
        ("python", true) => Some(format!("ruff check {}", word(&tidy)?)),
        ("python", false) => Some(format!("python -m py_compile {}", word(&tidy)?)),
        ("go", _) => {
            let directory = tidy.rsplit_once('/').map_or(".".to_owned(), |(directory, _)| format!("./{directory}"));
            Some(format!("go {} {}", if lints { "vet" } else { "build" }, word(&directory)?))
        }
        _ => None,
    }
}
