use std::{fs, path::PathBuf};

use super::{command::is_foreign, *};

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
        let command = Git::at(self.folder.path()).command(arguments);
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

    /// Has git clean each text by a filter.
    #[cfg(unix)]
    fn filters_texts_by(&self, filter: &str) {
        let attributes = format!("*.txt filter={filter}\n");
        fs::write(self.path(".git/info/attributes"), attributes).unwrap();
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
                "#!/bin/sh\nenv > '{}'\nexit 1\n",
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
    let elsewhere = Git::at(&repository.path("nowhere"))
        .command(&["status"])
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
    let cut = repository
        .command(&["cat-file", "blob", &blob])
        .most_output(1_000)
        .run();
    assert_eq!(
        cut.unwrap_err().to_string(),
        "git cat-file printed more than 1000 bytes"
    );
}

/// A repository with two files, one of which is changed, and git in it while a check runs.
#[cfg(unix)]
fn exposed() -> (Repository, Git, Exposed) {
    let repository = Repository::new();
    fs::write(repository.path("a.txt"), "a").unwrap();
    fs::write(repository.path("b.txt"), "b").unwrap();
    repository.git(&["add", "."]);
    repository.git(&["commit", "-q", "-m", "two"]);
    fs::write(repository.path("a.txt"), "changed").unwrap();
    let git = Git::at(repository.folder.path());
    let exposed = git.expose(Outsider::Checks);
    (repository, git, exposed)
}

/// What Loopgate does with a working tree: reads, adds, compares, checks out, moves refs, and asks a remote.
#[cfg(unix)]
fn use_all(repository: &Repository, git: &Git) {
    let other = repository.path("other").display().to_string();
    for arguments in [
        &["status", "--porcelain=v2", "--ignore-submodules=dirty"][..],
        &["add", "a.txt"],
        &[
            "diff",
            "--no-ext-diff",
            "--no-textconv",
            "--ignore-submodules=dirty",
            "HEAD",
        ],
        &["update-ref", "refs/heads/x", "HEAD"],
        &["worktree", "add", "--quiet", "--detach", &other, "HEAD"],
        &["restore", "--source=HEAD", "--worktree", "--", "a.txt"],
        &["checkout-index", "--force", "--all"],
        &["reset", "--quiet"],
        &["ls-remote", "origin"],
        &["worktree", "remove", "--force", &other],
    ] {
        // Whether it does what it should is asked elsewhere.
        let _ = git.command(arguments).run();
    }
}

/// What a check plants by a configuration; `TRAP` is a program that leaves a trace, `FOLDER` the repository's own.
#[cfg(unix)]
const PLANTED: [(&str, &str, &str); 20] = [
    ("filter.evil.clean", "[filter \"evil\"]\nclean = TRAP", ""),
    (
        "filter..clean",
        "[filter \"\"]\nclean = TRAP\nsmudge = TRAP",
        "",
    ),
    (
        "remote.origin.promisor",
        "[remote \"origin\"]\nurl = ssh://127.0.0.1/x\npromisor = true\n[core]\nsshCommand = TRAP",
        "",
    ),
    (
        "core.excludesfile",
        "[core]\nexcludesFile = FOLDER/planted.inc\nfsmonitor = TRAP",
        "*",
    ),
    ("filter.evil.smudge", "[filter \"evil\"]\nsmudge = TRAP", ""),
    (
        "filter.evil.process",
        "[filter \"evil\"]\nprocess = TRAP\nrequired = true",
        "",
    ),
    ("diff.evil.textconv", "[diff \"evil\"]\ntextconv = TRAP", ""),
    ("diff.external", "[diff]\nexternal = TRAP", ""),
    ("merge.evil.driver", "[merge \"evil\"]\ndriver = TRAP", ""),
    (
        "core.sshcommand",
        "[core]\nsshCommand = TRAP\n[remote \"origin\"]\nurl = ssh://127.0.0.1/x",
        "",
    ),
    (
        "core.gitproxy",
        "[core]\ngitProxy = TRAP\n[remote \"origin\"]\nurl = git://127.0.0.1:9/x",
        "",
    ),
    ("core.askpass", "[core]\naskPass = TRAP", ""),
    ("credential.helper", "[credential]\nhelper = TRAP", ""),
    (
        "remote.origin.uploadpack",
        "[remote \"origin\"]\nurl = .\nuploadpack = TRAP",
        "",
    ),
    ("core.fsmonitor", "[core]\nfsmonitor = TRAP", ""),
    (
        "core.hookspath",
        "[core]\nhooksPath = FOLDER/planted-hooks",
        "",
    ),
    (
        "hook.evil.command",
        "[hook \"evil\"]\nevent = post-checkout\ncommand = TRAP",
        "",
    ),
    (
        "include.path",
        "[include]\npath = planted.inc",
        "[filter \"evil\"]\nclean = TRAP\nsmudge = TRAP",
    ),
    (
        "includeif.onbranch:other.path",
        "[includeIf \"onbranch:other\"]\npath = FOLDER/planted.inc",
        "[filter \"evil\"]\nclean = TRAP\nsmudge = TRAP",
    ),
    (
        "core.attributesfile",
        "[core]\nattributesFile = FOLDER/planted.inc",
        "*.txt filter=mine",
    ),
];

#[cfg(unix)]
#[test]
fn nothing_that_a_check_plants_runs_now_or_later_and_each_is_said() {
    for (key, configuration, included) in PLANTED {
        let (repository, git, exposed) = exposed();
        let trap = repository.trap(".git/trap");
        repository.trap(".git/planted-hooks/post-checkout");
        let folder = repository.path(".git").display().to_string();
        let written = |text: &str| text.replace("TRAP", &trap).replace("FOLDER", &folder);
        fs::write(
            repository.path(".git/info/attributes"),
            "*.txt filter=evil diff=evil merge=evil\na.txt filter=\n",
        )
        .unwrap();
        fs::write(repository.path(".git/planted.inc"), written(included)).unwrap();
        let config = repository.path(".git/config");
        let before = fs::read_to_string(&config).unwrap();
        let after = format!("{before}\n{}\n", written(configuration));
        fs::write(&config, &after).unwrap();

        use_all(&repository, &git);
        drop(exposed);
        repository.git(&["symbolic-ref", "HEAD", "refs/heads/other"]);
        use_all(&repository, &git);
        use_all(&repository, &Git::at(repository.folder.path()));
        assert!(!repository.path("sprung").exists(), "{key}");
        let said: Vec<String> = git
            .planted()
            .into_iter()
            .map(|planted| planted.setting)
            .collect();
        assert!(said.iter().any(|setting| setting == key), "{key}: {said:?}");
        assert!(said.contains(&"info/attributes".to_owned()), "{said:?}");
        assert_eq!(
            fs::read_to_string(&config).unwrap(),
            after,
            "nothing of the user's is changed"
        );
    }
}

#[cfg(unix)]
#[test]
fn what_was_there_before_goes_on_and_may_be_changed_between_two_runs() {
    let repository = Repository::new();
    let upper = "tr a-z A-Z";
    repository.git(&["config", "filter.upper.clean", upper]);
    fs::write(repository.path(".gitattributes"), "*.txt filter=upper\n").unwrap();
    fs::write(repository.path("a.txt"), "a").unwrap();
    let git = Git::at(repository.folder.path());
    let cleaned = |git: &Git| {
        let added = git.command(&["add", "."]).run();
        added.and_then(GitOutput::success).unwrap();
        let shown = git.command(&["show", ":a.txt"]).run();
        shown.and_then(GitOutput::text).unwrap()
    };
    // An honest check: a branch that is pushed, husky, Git LFS, a hook of pre-commit.
    let exposed = git.expose(Outsider::Checks);
    for (key, value) in [
        ("branch.main.remote", "origin"),
        ("core.hooksPath", ".husky/_"),
        ("filter.lfs.process", "git-lfs filter-process"),
        ("filter.lfs.required", "true"),
    ] {
        repository.git(&["config", key, value]);
    }
    repository.trap(".git/hooks/pre-commit");
    assert_eq!(cleaned(&git), "A");
    drop(exposed);
    let said: Vec<String> = git
        .planted()
        .into_iter()
        .map(|planted| planted.setting)
        .collect();
    assert_eq!(said, ["core.hookspath", "hooks/pre-commit"]);
    // It is told once, and changes nothing.
    let later = Git::at(repository.folder.path());
    assert_eq!(
        (later.planted(), cleaned(&later).as_str()),
        (Vec::new(), "A")
    );
    // A check that replaces the filter does not replace it for Loopgate.
    let exposed = later.expose(Outsider::Fixer);
    repository.git(&[
        "config",
        "filter.upper.clean",
        &repository.trap(".git/trap"),
    ]);
    fs::write(repository.path("a.txt"), "b").unwrap();
    assert_eq!(cleaned(&later), "B");
    drop(exposed);
    repository.git(&["config", "filter.upper.clean", upper]);
    fs::write(repository.path("a.txt"), "c").unwrap();
    assert_eq!(cleaned(&Git::at(repository.folder.path())), "C");
    assert!(!repository.path("sprung").exists());
}

#[cfg(unix)]
#[test]
fn git_is_not_started_where_its_settings_are_too_many_to_read() {
    let (repository, git, exposed) = exposed();
    let trap = repository.trap(".git/trap");
    repository.filters_texts_by("evil");
    let config = repository.path(".git/config");
    let mut text = fs::read_to_string(&config).unwrap();
    text.push_str(&format!("[filter \"evil\"]\nclean = {trap}\n"));
    text.push_str(&format!("[a]\nb = {}\n", "x".repeat(100)).repeat(50_000));
    fs::write(&config, text).unwrap();
    use_all(&repository, &git);
    let refused = git.command(&["status"]).run().unwrap_err().to_string();
    assert!(
        refused.starts_with("git status was not started"),
        "{refused}"
    );
    drop(exposed);
    use_all(&repository, &git);
    use_all(&repository, &Git::at(repository.folder.path()));
    assert!(!repository.path("sprung").exists());
}

#[cfg(unix)]
#[test]
fn more_settings_than_are_kept_hide_none() {
    let (repository, git, exposed) = exposed();
    let trap = repository.trap(".git/trap");
    let config = repository.path(".git/config");
    let mut text = fs::read_to_string(&config).unwrap();
    let many = (0..1_100).map(|number| format!("[filter \"f{number}\"]\nclean = {trap}\n"));
    text.extend(many);
    fs::write(&config, text).unwrap();
    repository.filters_texts_by("f1099");
    use_all(&repository, &git);
    drop(exposed);
    use_all(&repository, &Git::at(repository.folder.path()));
    assert!(!repository.path("sprung").exists());
}

#[cfg(unix)]
#[test]
fn a_process_that_was_killed_leaves_word_of_what_stood_there_before() {
    let (repository, git, exposed) = exposed();
    let trap = repository.trap(".git/trap");
    repository.filters_texts_by("evil");
    repository.git(&["config", "filter.evil.clean", &trap]);
    // It never saw the end.
    std::mem::forget(exposed);
    drop(git);
    let later = Git::at(repository.folder.path());
    use_all(&repository, &later);
    assert!(!repository.path("sprung").exists());
    let by: Vec<Outsider> = later
        .planted()
        .into_iter()
        .map(|planted| planted.by)
        .collect();
    assert_eq!(by, [Outsider::Unknown, Outsider::Unknown]);
}

#[cfg(unix)]
#[test]
fn a_planted_include_brings_only_what_is_planted_even_later() {
    let (repository, git, exposed) = exposed();
    let trap = repository.trap(".git/trap");
    repository.filters_texts_by("evil");
    repository.git(&["config", "include.path", "../next.inc"]);
    use_all(&repository, &git);
    drop(exposed);
    let filter = format!("[filter \"evil\"]\nclean = {trap}\nsmudge = {trap}\n");
    fs::write(repository.path("next.inc"), filter).unwrap();
    use_all(&repository, &Git::at(repository.folder.path()));
    assert!(!repository.path("sprung").exists());
}

#[cfg(unix)]
#[test]
fn what_is_planted_for_another_worktree_does_not_run_there() {
    let (repository, git, exposed) = exposed();
    let trap = repository.trap(".git/trap");
    let other = repository.path("../other").display().to_string();
    repository.git(&["worktree", "add", "-q", "--detach", &other]);
    repository.git(&["config", "extensions.worktreeConfig", "true"]);
    repository.filters_texts_by("evil");
    let there = fs::read_dir(repository.path(".git/worktrees")).unwrap();
    for worktree in there {
        let config = worktree.unwrap().path().join("config.worktree");
        fs::write(config, format!("[filter \"evil\"]\nclean = {trap}\n")).unwrap();
    }
    use_all(&repository, &git);
    drop(exposed);
    let other = repository.path("../other");
    fs::write(other.join("a.txt"), "changed").unwrap();
    use_all(&repository, &Git::at(&other));
    assert!(!repository.path("sprung").exists());
    fs::remove_dir_all(other).unwrap();
}

#[cfg(unix)]
#[test]
fn a_record_that_is_in_the_way_or_unreadable_hides_nothing() {
    use std::os::unix::fs::PermissionsExt as _;
    let (repository, git, exposed) = exposed();
    let trap = repository.trap(".git/trap");
    repository.filters_texts_by("evil");
    repository.git(&["config", "filter.evil.clean", &trap]);
    let record = repository.path(".git/loopgate/git-settings.json");
    fs::remove_file(&record).unwrap();
    fs::create_dir_all(record.join("in the way")).unwrap();
    let read_only = fs::Permissions::from_mode(0o555);
    fs::set_permissions(repository.path(".git/loopgate"), read_only).unwrap();
    drop(exposed);
    use_all(&repository, &git);
    let later = Git::at(repository.folder.path());
    use_all(&repository, &later);
    assert!(
        !later.planted().is_empty(),
        "the record was written all the same"
    );
    fs::write(&record, "no record").unwrap();
    let refused = Git::at(repository.folder.path()).command(&["status"]).run();
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("git-settings.json"), "{refused}");
    assert!(!repository.path("sprung").exists());
}

#[cfg(unix)]
#[test]
fn a_process_within_a_check_does_not_end_what_the_outer_one_watches() {
    let (repository, git, exposed) = exposed();
    let trap = repository.trap(".git/trap");
    // The check runs Loopgate itself, to its end.
    let inner = Git::at(repository.folder.path());
    drop(inner.expose(Outsider::Checks));
    repository.filters_texts_by("evil");
    repository.git(&["config", "filter.evil.clean", &trap]);
    // Then it ends the outer process.
    std::mem::forget(exposed);
    drop(git);
    use_all(&repository, &Git::at(repository.folder.path()));
    assert!(!repository.path("sprung").exists());
}

#[cfg(unix)]
#[test]
fn git_does_not_start_where_it_was_led_elsewhere() {
    let (repository, git, exposed) = exposed();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("a.txt"), "mine").unwrap();
    let there = elsewhere.path().display().to_string();
    repository.git(&["config", "core.worktree", &there]);
    use_all(&repository, &git);
    drop(exposed);
    let refused = Git::at(repository.folder.path()).command(&["status"]).run();
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("core.worktree"), "{refused}");
    let mine = fs::read_to_string(elsewhere.path().join("a.txt"));
    assert_eq!(mine.unwrap(), "mine");
}

#[cfg(unix)]
#[test]
fn a_filter_that_an_outsider_takes_out_goes_on_here() {
    let repository = Repository::new();
    repository.git(&["config", "filter.upper.clean", "tr a-z A-Z"]);
    fs::write(repository.path(".gitattributes"), "*.txt filter=upper\n").unwrap();
    fs::write(repository.path("a.txt"), "a").unwrap();
    let git = Git::at(repository.folder.path());
    let exposed = git.expose(Outsider::Fixer);
    repository.git(&["config", "--remove-section", "filter.upper"]);
    let added = git.command(&["add", "."]).run();
    added.and_then(GitOutput::success).unwrap();
    let shown = git.command(&["show", ":a.txt"]).run();
    assert_eq!(shown.and_then(GitOutput::text).unwrap(), "A");
    drop(exposed);
}

#[test]
fn files_of_the_tree_that_look_like_a_repository_are_none() {
    let repository = Repository::new();
    let inner = repository.path("pkg").display().to_string();
    repository.git(&["init", "-q", "--bare", &inner]);
    let asked = Git::at(&repository.path("pkg"))
        .command(&["rev-parse", "--git-dir"])
        .run();
    assert!(!asked.unwrap().status.success());
}
