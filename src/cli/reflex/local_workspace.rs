//! What a loop works in: the repository, its working tree, and the loops it holds.

use std::path::{Path, PathBuf};

use chrono::Utc;

use crate::{
    cli::{CliError, output, working_tree},
    config,
};
use loopgate_core::{
    CheckName, Login, Sha,
    concerns::tampering,
    evidence::Evidence,
    observed::{ChangedFiles, CodeType, Snapshot},
    policy::{Policy, PolicyOrigin},
    reflex::{self, Alias, Settings},
    state::{LoopState, Task, history::LocalLoopStarted},
};
use loopgate_refs::{LoadedRun, LocalRepository, RefName, StateStore};
use loopgate_runner::{Checkout, Head, Lock, LockError, Worktree};

/// A repository, and the working tree a loop works in.
pub(super) struct LocalWorkspace {
    pub checkout: Checkout,
    pub worktree: Worktree,
    pub repository: LocalRepository,
}

impl LocalWorkspace {
    /// The repository around the current directory.
    pub async fn open() -> Result<Self, CliError> {
        let here = std::env::current_dir()?;
        let checkout = Checkout::around(&here).map_err(|error| {
            CliError::bad_data(format!(
                "a loop keeps its state in a git repository: {error}"
            ))
        })?;
        let worktree = Worktree::of(&checkout.git)?;
        let repository = LocalRepository::of(&checkout.git)?;
        Ok(Self {
            checkout,
            worktree,
            repository,
        })
    }

    /// The configuration in force here, with the checks a project like this usually has where none are configured.
    pub fn policy(&self, own: Option<&str>) -> Result<Policy, CliError> {
        working_tree::policy(&self.worktree.root, own.map(Path::new)).map(|(policy, _)| policy)
    }

    /// The alias that is meant: the one named, else the active loop's.
    pub async fn meant(&self, named: Option<&Alias>) -> Result<Alias, CliError> {
        if let Some(alias) = named {
            return Ok(alias.clone());
        }
        let current = self.repository.current_task().await?;
        if let Some(alias) = current.and_then(|alias| alias.parse().ok()) {
            return Ok(alias);
        }
        let known = self.aliases().await?;
        let message = match known.as_slice() {
            [] => "there is no loop here; `loopgate loop new` begins one".to_owned(),
            known => format!(
                "no loop is active; name one of {}, or begin one with `loopgate loop new`",
                known
                    .iter()
                    .map(Alias::as_str)
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        };
        Err(CliError::bad_data(message))
    }

    /// The alias that is meant by somebody who only looks: the one named, else the active loop's, else the newest's.
    pub async fn looked_at(&self, named: Option<&Alias>) -> Result<Alias, CliError> {
        let nobody = match self.meant(named).await {
            Ok(alias) => return Ok(alias),
            Err(nobody) => nobody,
        };
        let mut newest = None;
        for alias in self.aliases().await? {
            let at = self.state(&alias).await?.run.updated_at;
            newest = newest.max(Some((at, alias)));
        }
        newest.map(|(_, alias)| alias).ok_or(nobody)
    }

    pub async fn aliases(&self) -> Result<Vec<Alias>, CliError> {
        let names = self.repository.tasks().await?;
        Ok(names.iter().filter_map(|name| name.parse().ok()).collect())
    }

    pub fn store(&self, alias: &Alias) -> StateStore<'_, LocalRepository> {
        StateStore::new(&self.repository, task_ref(alias))
    }

    /// The state of a loop as it is saved.
    pub async fn state(&self, alias: &Alias) -> Result<LoopState, CliError> {
        Ok(self.load(alias).await?.0)
    }

    /// The saved state of a loop, and how it was rebuilt if it was damaged.
    pub async fn load(&self, alias: &Alias) -> Result<(LoopState, Option<String>), CliError> {
        let loaded = self.store(alias).load().await?;
        if loaded.tip.is_none() {
            return Err(no_such(alias));
        }
        Ok(self.remembered(alias, &loaded))
    }

    /// The state to go on from, and how it was rebuilt where it had to be.
    pub fn remembered(&self, alias: &Alias, loaded: &LoadedRun) -> (LoopState, Option<String>) {
        let (mut state, rebuilt) = loaded.state(|| self.begun_again(alias, loaded.begun()));
        if state.run.reflex.is_some() {
            return (state, rebuilt);
        }
        state.run.reflex = self.begun_again(alias, None).run.reflex;
        let how = "what was confirmed is missing; its limit, thresholds and checks are those of the configuration";
        (state, Some(rebuilt.unwrap_or_else(|| how.to_owned())))
    }

    /// The state a loop is rebuilt on when its own cannot be read: the settings confirmed in its history, otherwise
    /// those of the configuration.
    fn begun_again(&self, alias: &Alias, begun: Option<&LocalLoopStarted>) -> LoopState {
        let confirmed = begun.and_then(|begun| begun.confirmed.as_ref());
        let own = confirmed.and_then(|confirmed| confirmed.settings.config.as_deref());
        let policy = self
            .policy(own)
            .unwrap_or_else(|_| config::presets().with_origin(PolicyOrigin::Defaults));
        let settings =
            confirmed.map_or_else(|| settings_of(&policy), |known| known.settings.clone());
        let settings = Settings {
            limit: begun.map_or(settings.limit, |begun| begun.max_iterations),
            ..settings
        };
        let head = confirmed.map_or(self.checkout.head, |confirmed| confirmed.began_at);
        let head = Head {
            commit: head,
            tree: self.checkout.tree,
        };
        let base = confirmed.map_or(self.checkout.head, |confirmed| confirmed.base_sha);
        let nothing = ChangedFiles::Complete(Vec::new());
        let snapshot = self.snapshot(
            head,
            base,
            alias.as_str(),
            settings.base.as_deref(),
            nothing,
            None,
        );
        let task = Task {
            prompt: begun.map_or_else(|| alias.to_string(), |begun| begun.task.clone()),
            ideal_result: confirmed.and_then(|confirmed| confirmed.ideal_result.clone()),
        };
        let governed = reflex::govern(&policy, &settings, settings.limit);
        let mut state = reflex::begin(&snapshot, &governed, alias, task, settings, Utc::now());
        if let Some(begun) = begun {
            state.run.title.clone_from(&begun.title);
        }
        state
    }

    /// Takes the locks of a loop: its own, and that of the working tree, which two loops must not edit at once.
    pub fn lock(&self, alias: &Alias) -> Result<[Lock; 2], CliError> {
        let take = |path: PathBuf| {
            Lock::take(&path, alias.as_str(), Utc::now()).map_err(|error| match &error {
                LockError::Held { holder } => CliError::unavailable(format!(
                    "{error}. Wait for its end, or end it: `loopgate loop stop --alias {}`.",
                    holder
                        .as_ref()
                        .map_or_else(|| alias.as_str(), |holder| &holder.alias)
                )),
                LockError::Unusable { .. } => CliError::unavailable(error),
            })
        };
        let own = take(self.lock_path(alias))?;
        let worktree = take(self.worktree.private_dir.join("worktree.lock"))?;
        if let Some(dead) = &own.left_by {
            output::note_line(format_args!("Taking over from {dead}, which is gone."));
        }
        Ok([own, worktree])
    }

    pub fn lock_path(&self, alias: &Alias) -> PathBuf {
        self.worktree.shared_dir.join(format!("{alias}.lock"))
    }

    /// The working tree, seen as a pull request that is not open.
    pub fn snapshot(
        &self,
        head: Head,
        merge_base: Sha,
        title: &str,
        base_branch: Option<&str>,
        files: ChangedFiles,
        evidence: Option<Evidence>,
    ) -> Snapshot {
        let created_at = evidence
            .as_ref()
            .map_or_else(Utc::now, |evidence| evidence.started_at);
        let pull_request = working_tree::pull_request(
            &self.checkout,
            head,
            merge_base,
            base_branch,
            title.to_owned(),
            created_at,
        );
        let mut snapshot = working_tree::snapshot(
            working_tree::repository_name(&self.checkout),
            pull_request,
            files,
            evidence,
        );
        let wanted = tampering::files_to_read(
            &snapshot.files,
            Some(merge_base),
            snapshot.pull_request.head.sha,
        );
        snapshot.merge_base = Some(merge_base);
        // Of what git does not give the hunks are read.
        snapshot.contents = self.worktree.contents(wanted).unwrap_or_default();
        snapshot
    }
}

/// The settings of a loop where only a policy gives any.
pub(super) fn settings_of(policy: &Policy) -> Settings {
    Settings {
        task_type: CodeType::NewFunction,
        threshold_a: policy.evaluate.thresholds.a,
        threshold_b: policy.evaluate.thresholds.b,
        limit: policy.retry.max_iterations,
        ..Settings::default()
    }
}

pub(super) fn task_ref(alias: &Alias) -> RefName {
    RefName::task(alias.as_str()).expect("an alias is a name of a task")
}

/// Where edits are kept that were not taken.
pub(super) fn aside_ref(alias: &Alias) -> String {
    format!("refs/loopgate/aside/{alias}")
}

pub(super) fn no_such(alias: &Alias) -> CliError {
    CliError::bad_data(format!(
        "there is no loop `{alias}`; `loopgate loop list` shows those there are"
    ))
}

/// The state could not be gone on from as it was saved; `how` is what was done about it.
pub(super) fn was_damaged(how: &str) {
    output::note_line(format_args!("The state of this loop was damaged: {how}."));
}

/// The person at the terminal, as a name git knows, where it is one.
pub(super) fn person() -> Login {
    let name = std::env::var("GITHUB_ACTOR")
        .or_else(|_| std::env::var("USER"))
        .unwrap_or_default();
    name.parse()
        .unwrap_or_else(|_| "local".parse().expect("a plain word is a login"))
}

/// Only what was run can be asked for.
pub(super) fn only(policy: &Policy, checks: &[CheckName]) -> Policy {
    let mut policy = policy.clone();
    policy.verify.checks.retain(|name, _| checks.contains(name));
    policy
}
