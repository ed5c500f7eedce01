//! Files that are made from the code: schemas, expected results, parts of the documents. A test makes each anew and
//! compares; `INSTA_UPDATE=always cargo test` writes all that differ, insta's snapshot files among them: insta names that
//! variable. Snapshots in the source of a test it leaves to `cargo insta accept`.
//!
//! Beside them stands [`folder_of`], by which tests of several crates write what their code reads.

use std::{env, fs, path::Path};

use schemars::{JsonSchema, generate::SchemaSettings};

/// Whether tests write what they make, instead of comparing it.
pub fn is_writing() -> bool {
    env::var_os("INSTA_UPDATE").is_some_and(|mode| mode == "always")
}

/// Compares a file with what the code makes, line ends aside; writes it first where that was asked for.
///
/// # Panics
/// When the file differs, or cannot be written.
#[track_caller]
pub fn assert_written(path: impl AsRef<Path>, made: &str) {
    let path = path.as_ref();
    let is_same = || fs::read_to_string(path).is_ok_and(|text| text.replace("\r\n", "\n") == made);
    if is_writing() && !is_same() {
        fs::write(path, made).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
    assert!(
        is_same(),
        "{} is not what the code makes: run `INSTA_UPDATE=always cargo test`, and read the difference",
        path.display()
    );
}

/// Compares a file with the schema of a document as it is written: what is always there is required.
///
/// # Panics
/// As [`assert_written`].
#[track_caller]
pub fn assert_schema<T: JsonSchema>(path: impl AsRef<Path>) {
    let schema = SchemaSettings::draft07()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<T>();
    let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    assert_written(path, &(text + "\n"));
}

/// A folder with these files, each a path and its text. It is removed with the returned guard.
///
/// # Panics
/// When it cannot be written.
pub fn folder_of(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, content) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("a folder");
        fs::write(path, content).expect("a file");
    }
    folder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "is not what the code makes")]
    fn a_file_that_differs_is_told() {
        // Asked to write, this would change its own source.
        if is_writing() {
            panic!("is not what the code makes");
        }
        assert_written(concat!(env!("CARGO_MANIFEST_DIR"), "/src/lib.rs"), "");
    }

    #[test]
    fn line_ends_make_no_difference() {
        let path = env::temp_dir().join(format!("loopgate-written-{}", std::process::id()));
        fs::write(&path, "a\r\nb\r\n").expect("a folder for temporary files");
        assert_written(&path, "a\nb\n");
        fs::remove_file(&path).expect("the file from above");
    }
}
