//! Tells the program what it was built from: `loopgate --version` names the commit and the target.
//!
//! The commit is that of `LOOPGATE_COMMIT`, of a published package, or of git, in this order; a source tree without any
//! of these builds too. Only release builds ask git: other builds would begin anew with every commit.
#![allow(
    clippy::disallowed_methods,
    reason = "a build asks its own git for its commit"
)]

use std::{env, fs, process::Command};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=LOOPGATE_COMMIT");
    let release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let is_commit =
        |text: &String| text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let named = env::var("LOOPGATE_COMMIT")
        .ok()
        .map(|commit| commit.trim().to_owned())
        .filter(is_commit);
    let commit = named.or_else(|| packaged().filter(is_commit));
    let commit = commit.or_else(|| {
        if release {
            from_git().filter(is_commit)
        } else {
            None
        }
    });
    let built = match (commit, release) {
        (Some(commit), _) => format!("commit {}", &commit[..12]),
        (None, true) => "unknown commit".to_owned(),
        (None, false) => "development build".to_owned(),
    };
    println!("cargo:rustc-env=LOOPGATE_BUILT_FROM={built}");
    println!(
        "cargo:rustc-env=LOOPGATE_TARGET={}",
        env::var("TARGET").unwrap_or_default()
    );
}

/// What `cargo package` writes into a published package.
fn packaged() -> Option<String> {
    let text = fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, after) = text.split_once("\"sha1\"")?;
    after.split('"').nth(1).map(str::to_owned)
}

fn from_git() -> Option<String> {
    // Moves with every commit and check-out, in a linked work tree too.
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).output().ok()?;
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    println!(
        "cargo:rerun-if-changed={}",
        git(&["rev-parse", "--git-path", "logs/HEAD"])?
    );
    git(&["rev-parse", "HEAD"])
}
