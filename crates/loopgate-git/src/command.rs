//! One git command: what it is started with, and reading what it prints into bounded memory while it comes.

use std::{
    ffi::OsStr,
    io::{self, Read, Write as _},
    path::Path,
    process::{Command, ExitStatus, Stdio},
    thread,
};

use super::withheld::withhold;
use loopgate_core::Sha;

/// Most bytes of standard output that are read.
const MOST_OUTPUT: u64 = 256 << 20;
/// Most bytes of standard error that are kept.
const MOST_STDERR: u64 = 64 << 10;
/// Characters of standard error that an error quotes.
const QUOTED: usize = 300;

/// Settings of every command; they win over those of files and of the environment. `core.hooksPath` is the folder of
/// hooks; the hooks that a configuration names (git 2.54) are switched off by the events that our commands are
/// (<https://git-scm.com/docs/git-config/2.55.0#Documentation/git-config.txt-hookeventenabled>).
const SETTINGS: [&str; 12] = [
    "core.hooksPath=/dev/null",
    "hook.reference-transaction.enabled=false",
    "hook.post-checkout.enabled=false",
    "hook.post-index-change.enabled=false",
    "hook.pre-auto-gc.enabled=false",
    "core.fsmonitor=false",
    "core.quotePath=false",
    "log.showSignature=false",
    "protocol.ext.allow=never",
    "submodule.recurse=false",
    "diff.submodule=short",
    // Files of the tree that look like a repository are none: their settings would hold.
    "safe.bareRepository=explicit",
];

/// Why git did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("git could not be run: {0}; install git, then try again")]
    NoGit(#[source] io::Error),
    /// With what it printed on standard error, shortened.
    #[error("git {command} failed: {stderr}")]
    Failed { command: String, stderr: String },
    #[error("git {command} printed more than {limit} bytes")]
    TooMuch { command: String, limit: u64 },
    #[error("git {command} was not started: {why}; look at `git config --list --show-origin`")]
    NotStarted { command: String, why: &'static str },
    #[error("git {command} answered no object id (only SHA-1 repositories are supported)")]
    NoObjectId { command: String },
}

/// What a command is started with so that nothing planted runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Overrides {
    /// Settings of ours in place of the repository's, as keys and values.
    pub settings: Vec<(String, String)>,
    /// Whether no remote may be asked, as git would for what a partial clone lacks.
    pub no_remote: bool,
    /// Why nothing may be started, where that is so.
    pub refusal: Option<&'static str>,
}

/// One git command, not yet started. [`Git`](super::Git) makes it.
#[derive(Debug)]
pub struct GitCommand {
    command: Command,
    /// What git is asked to do, for errors: `commit-tree`.
    name: String,
    input: Option<Vec<u8>>,
    most_output: u64,
    /// Why it may not be started, if it may not.
    refusal: Option<&'static str>,
}

/// How a git command ended, and what it printed.
#[derive(Debug)]
pub struct GitOutput {
    command: String,
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    /// Standard error, at most 64 KB of it.
    pub stderr: String,
}

impl GitCommand {
    /// Git with these arguments in a directory, under these settings in place of those of the repository.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that starts git"
    )]
    pub(super) fn new(directory: &Path, arguments: &[&str], overrides: &Overrides) -> Self {
        let mut command = Command::new("git");
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_foreign(name)) {
            command.env_remove(name);
        }
        withhold(&mut command);
        command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0");
        // A commit is what it says, whatever a ref says in its place.
        command.env("GIT_NO_REPLACE_OBJECTS", "1");
        configure(&mut command, overrides);
        command.arg("--no-pager");
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.arg("-C").arg(directory).args(arguments);
        // What git has begun it finishes.
        in_own_group(&mut command);
        let name = arguments
            .iter()
            .find(|word| !word.starts_with('-'))
            .copied()
            .unwrap_or_default()
            .to_owned();
        Self {
            command,
            name,
            input: None,
            most_output: MOST_OUTPUT,
            refusal: overrides.refusal,
        }
    }

    /// Sets a variable on purpose, such as `GIT_INDEX_FILE`.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// What it reads from standard input; nothing unless it is given.
    #[must_use]
    pub fn input(mut self, input: &[u8]) -> Self {
        self.input = Some(input.to_owned());
        self
    }

    /// Reads less of standard output than usual.
    #[must_use]
    pub(super) fn most_output(self, most_output: u64) -> Self {
        Self {
            most_output,
            ..self
        }
    }

    /// Runs it to its end, however it ends.
    ///
    /// # Errors
    /// [`GitError::NoGit`], [`GitError::TooMuch`] and [`GitError::NotStarted`].
    pub fn run(self) -> Result<GitOutput, GitError> {
        let Self {
            mut command,
            name,
            input,
            most_output,
            refusal,
        } = self;
        if let Some(why) = refusal {
            return Err(GitError::NotStarted { command: name, why });
        }
        command.stdin(if input.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(GitError::NoGit)?;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        // All three at once: git may fill one pipe while it waits on another.
        let (printed, stderr) = thread::scope(|scope| {
            scope.spawn(|| {
                // A command that ends before it has read everything reports why itself.
                stdin
                    .zip(input)
                    .map(|(mut stdin, input)| stdin.write_all(&input))
            });
            let stderr = scope.spawn(|| beginning(stderr, MOST_STDERR));
            let printed = read_up_to(stdout, most_output);
            if matches!(printed, Ok(None)) {
                // It would wait for ever to be read on. One that is gone already is what was wanted.
                let _ = child.kill();
            }
            (printed, stderr.join().unwrap_or_default())
        });
        let status = child.wait().map_err(GitError::NoGit)?;
        match printed.map_err(GitError::NoGit)? {
            None => Err(GitError::TooMuch {
                command: name,
                limit: most_output,
            }),
            Some(stdout) => {
                let stderr = String::from_utf8_lossy(&stderr).into_owned();
                Ok(GitOutput {
                    command: name,
                    status,
                    stdout,
                    stderr,
                })
            }
        }
    }

    /// As [`run`](Self::run), without blocking the task that waits. Git finishes its work even if the task is dropped.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn run_async(self) -> Result<GitOutput, GitError> {
        let running = tokio::task::spawn_blocking(|| self.run());
        running
            .await
            .unwrap_or_else(|stopped| Err(GitError::NoGit(io::Error::other(stopped))))
    }
}

impl GitOutput {
    /// Standard output of a command that must succeed.
    ///
    /// # Errors
    /// [`GitError::Failed`], with the text that git printed.
    pub fn success(self) -> Result<Vec<u8>, GitError> {
        if self.status.success() {
            Ok(self.stdout)
        } else {
            Err(self.failure())
        }
    }

    /// The text that a command which must succeed prints, without the line's end.
    ///
    /// # Errors
    /// [`GitError::Failed`], with the text that git printed.
    pub fn text(self) -> Result<String, GitError> {
        Ok(String::from_utf8_lossy(&self.success()?)
            .trim_end()
            .to_owned())
    }

    /// The command and its standard error, as an error.
    pub fn failure(&self) -> GitError {
        GitError::Failed {
            command: self.command.clone(),
            stderr: self.stderr.trim().chars().take(QUOTED).collect(),
        }
    }

    /// The object id that a command which must succeed answers.
    ///
    /// # Errors
    /// [`GitError::Failed`] and [`GitError::NoObjectId`].
    pub fn object_id(self) -> Result<Sha, GitError> {
        let command = self.command.clone();
        self.text()?
            .parse()
            .map_err(|_| GitError::NoObjectId { command })
    }
}

/// Whether a variable could point git elsewhere or change what it prints. Which configuration is read, and how far up a
/// repository is looked for, is for people and CI to choose; what a calling git hands down is not.
pub(super) fn is_foreign(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let chooses_configuration = name.starts_with("GIT_CONFIG_") && name != "GIT_CONFIG_PARAMETERS";
    name.starts_with("GIT_") && !chooses_configuration && name != "GIT_DISCOVERY_ACROSS_FILESYSTEM"
}

/// Gives git settings beside those of people's own environment: a key may hold what `-c` would split.
fn configure(command: &mut Command, overrides: &Overrides) {
    if overrides.no_remote {
        // The protocols that are allowed, whatever is configured; this one does not exist.
        command.env("GIT_ALLOW_PROTOCOL", "none");
    }
    if overrides.settings.is_empty() {
        return;
    }
    let before = std::env::var("GIT_CONFIG_COUNT").ok();
    let before: usize = before.and_then(|count| count.parse().ok()).unwrap_or(0);
    for (number, (key, value)) in (before..).zip(&overrides.settings) {
        command.env(format!("GIT_CONFIG_KEY_{number}"), key);
        command.env(format!("GIT_CONFIG_VALUE_{number}"), value);
    }
    let count = before + overrides.settings.len();
    command.env("GIT_CONFIG_COUNT", count.to_string());
}

/// Makes the command the leader of a new process group: the terminal's Ctrl-C does not reach it.
pub fn in_own_group(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(windows)]
    {
        const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;
        std::os::windows::process::CommandExt::creation_flags(command, CREATE_NEW_PROCESS_GROUP);
    }
}

/// Everything that is printed; none where it is more than the limit.
fn read_up_to(source: Option<impl Read>, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    if let Some(source) = source {
        source
            .take(limit.saturating_add(1))
            .read_to_end(&mut bytes)?;
    }
    let is_all = u64::try_from(bytes.len()).is_ok_and(|length| length <= limit);
    Ok(is_all.then_some(bytes))
}

/// The beginning of what is printed; the rest is read and dropped, so that the writer does not block.
fn beginning(source: Option<impl Read>, limit: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut source) = source {
        // What cannot be read is no more than a message that is missing.
        let _ = source.by_ref().take(limit).read_to_end(&mut bytes);
        let _ = io::copy(&mut source, &mut io::sink());
    }
    bytes
}
