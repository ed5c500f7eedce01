use std::{fs, path::PathBuf};

use super::*;

struct Repository {
    folder: tempfile::TempDir,
}

impl Repository {
    fn new() -> Self {
        let new = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        new.git(&["init", "-q", "-b", "main"]);
        new.git(&["commit", "-q", "--allow-empty", "-m", "one"]);
        new
    }

    fn command(&self, arguments: &[&str]) -> GitCommand {
        let command = GitCommand::new(self.folder.path(), arguments);
        ["AUTHOR", "COMMITTER"]
            .iter()
            .fold(command, |command, role| {
                command
                    .env(&format!("GIT_{role}_NAME"), "a")
                    .env(&format!("GIT_{role}_EMAIL"), "a@example.com")
            })
    }

    #[track_caller]
    fn git(&self, arguments: &[&str]) -> String {
        let printed = self
            .command(arguments)
            .run()
            .and_then(GitOutput::success)
            .unwrap();
        String::from_utf8(printed).unwrap().trim_end().to_owned()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A program of the repository that leaves a trace when it runs, and fails.
    #[cfg(unix)]
    fn trap(&self, name: &str) -> String {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(
            &path,
            format!(
                "#!/bin/sh\ntouch '{}'\nexit 1\n",
                self.path("sprung").display()
            ),
        )
        .unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.display().to_string()
    }
}

#[cfg(unix)]
#[test]
fn hooks_of_the_repository_do_not_run() {
    let repository = Repository::new();
    for hook in [
        "post-checkout",
        "pre-commit",
        "reference-transaction",
        "post-index-change",
    ] {
        repository.trap(&format!(".git/hooks/{hook}"));
    }
    let hooks = repository.path(".git/hooks").display().to_string();
    repository.git(&["config", "core.hooksPath", &hooks]);
    fs::write(repository.path("a.txt"), "a").unwrap();
    repository.git(&["add", "a.txt"]);
    repository.git(&["commit", "-q", "-m", "two"]);
    repository.git(&["checkout", "-q", "--detach", "HEAD^"]);
    repository.git(&["update-ref", "refs/heads/other", "HEAD"]);
    assert!(!repository.path("sprung").exists());
}

#[cfg(unix)]
#[test]
fn no_program_of_the_settings_watches_the_files() {
    let repository = Repository::new();
    let program = repository.trap("watch");
    repository.git(&["config", "core.fsmonitor", &program]);
    repository.git(&["config", "core.pager", &program]);
    repository.git(&["status", "--porcelain"]);
    repository.git(&["log"]);
    assert!(!repository.path("sprung").exists());
}

#[test]
fn variables_of_the_surroundings_do_not_count() {
    let foreign = [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_CONFIG_PARAMETERS",
        "GIT_EXTERNAL_DIFF",
        "GIT_TRACE",
    ];
    for name in foreign {
        assert!(is_foreign(name.as_ref()), "{name}");
    }
    for name in [
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_COUNT",
        "GIT_CONFIG_KEY_0",
        "HOME",
        "GITHUB_ACTIONS",
        "PATH",
    ] {
        assert!(!is_foreign(name.as_ref()), "{name}");
    }
}

#[test]
fn a_variable_set_on_purpose_counts() {
    let repository = Repository::new();
    fs::write(repository.path("a.txt"), "a").unwrap();
    let index = repository.path(".git/own-index");
    repository
        .command(&["add", "a.txt"])
        .env("GIT_INDEX_FILE", &index)
        .run()
        .and_then(GitOutput::success)
        .unwrap();
    assert_eq!(repository.git(&["ls-files"]), "");
    let listed = repository
        .command(&["ls-files"])
        .env("GIT_INDEX_FILE", &index)
        .run()
        .and_then(GitOutput::success);
    assert_eq!(listed.unwrap(), b"a.txt\n");
}

#[tokio::test]
async fn errors_say_which_command_failed_and_why() {
    let repository = Repository::new();
    let failed = repository.command(&["--literal-pathspecs", "rev-parse", "--verify", "nothing"]);
    let failed = failed
        .run_async()
        .await
        .and_then(GitOutput::success)
        .unwrap_err();
    assert_eq!(
        failed.to_string(),
        "git rev-parse failed: fatal: Needed a single revision"
    );
    let no_id = repository
        .command(&["rev-parse", "--abbrev-ref", "HEAD"])
        .run()
        .and_then(GitOutput::object_id);
    let said = "git rev-parse answered no object id (only SHA-1 repositories are supported)";
    assert_eq!(no_id.unwrap_err().to_string(), said);
    let elsewhere = GitCommand::new(&repository.path("nowhere"), &["status"])
        .run()
        .and_then(GitOutput::success);
    assert!(
        matches!(elsewhere, Err(GitError::Failed { .. })),
        "{elsewhere:?}"
    );
}

#[test]
fn output_is_bounded_and_input_of_any_size_is_read() {
    let repository = Repository::new();
    let large = vec![b'a'; 1 << 20];
    let blob = repository
        .command(&["hash-object", "-w", "--stdin"])
        .input(&large)
        .run();
    let blob = blob.and_then(GitOutput::object_id).unwrap().to_string();
    let printed = repository
        .command(&["cat-file", "blob", &blob])
        .run()
        .and_then(GitOutput::success)
        .unwrap();
    assert_eq!(printed.len(), large.len());
    // Git answers while it is still being asked.
    let questions = format!("{blob}\n").repeat(20_000);
    let answers = repository
        .command(&["cat-file", "--batch-check"])
        .input(questions.as_bytes())
        .run()
        .unwrap();
    assert_eq!(
        answers.stdout.iter().filter(|byte| **byte == b'\n').count(),
        20_000
    );
    let cut = GitCommand {
        most_output: 1_000,
        ..repository.command(&["cat-file", "blob", &blob])
    }
    .run();
    assert_eq!(
        cut.unwrap_err().to_string(),
        "git cat-file printed more than 1000 bytes"
    );
}
