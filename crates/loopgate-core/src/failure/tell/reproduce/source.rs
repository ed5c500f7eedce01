//! Compilers and linters of one file.

use super::{tool::test_file, word::word};
use crate::{
    evidence::{ErrorType, Failure},
    failure::read::paths,
    source_files::SourceLanguage,
};

/// Compilers and linters without a configured command.
pub fn of_source(failure: &Failure) -> Option<String> {
    use SourceLanguage as L;
    let file = test_file(failure)?;
    let tidy = paths::tidy(file);
    let lints = failure.error_type == ErrorType::LintError;
    match (SourceLanguage::of(file)?, lints) {
        (L::Rust, true) if failure.error_class.as_deref().is_some_and(|class| class.starts_with("clippy")) => {
            Some("cargo clippy --all-targets".to_owned())
        }
        (L::Rust, _) => Some("cargo check --all-targets".to_owned()),
        (L::TypeScript, false) => Some("npx tsc --noEmit".to_owned()),
        (L::TypeScript | L::JavaScript | L::Vue, true) => Some(format!("npx eslint {}", word(&tidy)?)),
        (L::Python, true) => Some(format!("ruff check {}", word(&tidy)?)),
        (L::Python, false) => Some(format!("python -m py_compile {}", word(&tidy)?)),
        (L::Go, _) => {
            let directory = tidy.rsplit_once('/').map_or(".".to_owned(), |(directory, _)| format!("./{directory}"));
            Some(format!("go {} {}", if lints { "vet" } else { "build" }, word(&directory)?))
        }
        _ => None,
    }
}
