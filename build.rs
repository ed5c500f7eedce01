//! Tells the program what it was built from (`loopgate --version` names the commit and the target), and lists the
//! templates to embed.
//!
//! The commit is that of `LOOPGATE_COMMIT`, of a published package, or of git, in this order; a source tree without any
//! of these builds too. Only release builds ask git: other builds would begin anew with every commit.
#![allow(
    clippy::disallowed_methods,
    reason = "a build asks its own git for its commit"
)]

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::Command,
};

fn main() -> io::Result<()> {
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
    embed_templates()
}

/// Writes the table of `config/templates/` that `src/render/templates.rs` includes: a new template is a new file.
fn embed_templates() -> io::Result<()> {
    let root = env::current_dir()?.join("config/templates");
    println!("cargo:rerun-if-changed=config/templates");
    let mut files = Vec::new();
    collect_files(&root, &mut files)?;
    files.sort();
    let mut table = "pub(super) const EMBEDDED: &[(&str, &str)] = &[\n".to_owned();
    for file in files {
        let below: Vec<_> = file
            .strip_prefix(&root)
            .unwrap_or(&file)
            .iter()
            .map(|part| part.to_string_lossy())
            .collect();
        table += &format!(
            "    ({:?}, include_str!({:?})),\n",
            below.join("/"),
            file.to_string_lossy()
        );
    }
    table += "];\n";
    let out = env::var_os("OUT_DIR")
        .map(PathBuf::from)
        .unwrap_or_default();
    fs::write(out.join("templates.rs"), table)
}

fn collect_files(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect_files(&path, files)?;
        } else if path
            .extension()
            .is_some_and(|extension| ["md", "html", "txt"].iter().any(|one| extension == *one))
        {
            files.push(path);
        }
    }
    Ok(())
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
