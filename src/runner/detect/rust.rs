//! Rust: cargo's own commands.

use super::{
    manifest::Manifest,
    usual::{Site, Usual},
};
use loopgate_core::evidence::CheckKind as K;

/// `Diff in src/lib.rs:4:`, before Rust 1.79 `Diff in src/lib.rs at line 4:`.
const FORMAT: &str = r"^Diff in (?P<file>.+?)(?:| at line )(?::)?(?P<line>\d+):$";

pub(super) fn checks(site: &Site<'_>) -> Vec<Usual> {
    let manifest = Manifest::toml(&site.directory.join("Cargo.toml"));
    // Without the word, a workspace with a package at its top builds and tests that package alone.
    let all = if manifest.has(&["workspace"]) { " --workspace" } else { "" };
    vec![
        Usual::new("build", K::Build, format!("cargo build{all}")),
        Usual::new("test", K::Test, format!("cargo test{all} --no-fail-fast")).needing(&["build"]),
        Usual::new("lint", K::Lint, format!("cargo clippy{all} --all-targets")).needing(&["build"]).by("cargo-clippy"),
        Usual::new("format", K::Lint, "cargo fmt --all --check").reading(FORMAT).by("cargo-fmt"),
    ]
}
