//! The working tree as a pull request that nobody has opened yet: what `verify` and `loop` decide about.

use std::{collections::BTreeSet, path::Path};

use super::{CliError, output};
use crate::{
    config,
    runner::{self, Changes, Checkout, Detected, Extent, Purpose, Worktree},
};
use loopgate_core::{
    AppId, Login, PrNumber, RepoName, Sha, Timestamp, UserId,
    evidence::Evidence,
    observed::{
        Account, AccountKind, AppIdentity, Base, ChangedFiles, CheckScope, Head, Lifecycle, PullRequest, Readiness,
        ReceivedEvidence, Snapshot,
    },
    policy::{CheckSource, Policy, PolicyOrigin},
};

/// Where the configuration is looked for, relative to the top of the repository.
pub(super) const CONFIGURATION: &str = ".github/loopgate.yml";

/// Where `verify` leaves its files unless told otherwise, relative to the top of the repository.
pub(super) const EVIDENCE: &str = "loopgate-evidence";

/// The working tree, as git names what it holds now; none where git cannot say. New files count, but where evidence goes
/// to a folder of one's own: that would be one.
pub(super) fn working_tree(root: &Path, evidence: &Path) -> Option<Sha> {
    let extent = if evidence == Path::new(EVIDENCE) { Extent::Everything } else { Extent::Tracked };
    Worktree::at(root).and_then(|worktree| worktree.tree(extent)).ok()
}

/// Why a configuration has no check that can run here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NothingToRun {
    NoChecks,
    /// Each of them is a check run of the project's CI.
    AllFollowed,
}

/// The configuration in force here: `own` if one is named, else the repository's, else the presets. It keeps the checks
/// that can run here. Where there are none, it gets those that a project like this usually has, which come back beside it.
pub(super) fn policy(root: &Path, own: Option<&Path>) -> Result<(Policy, Option<(NothingToRun, Detected)>), CliError> {
    let path = own.map_or_else(|| root.join(CONFIGURATION), Path::to_owned);
    let mut policy = if own.is_some() || path.is_file() {
        let text = output::read_text(&path)?;
        let shown = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        config::parse(&shown, &text).map_err(CliError::bad_data)?
    } else {
        config::presets().with_origin(PolicyOrigin::Defaults)
    };
    let configured = policy.verify.checks.len();
    policy.verify.checks.retain(|_, check| matches!(check.source, CheckSource::Command(_)));
    if !policy.verify.checks.is_empty() {
        return Ok((policy, None));
    }
    let detected = runner::detect(root, Purpose::RunHere);
    policy.verify.checks.clone_from(&detected.checks);
    let why = if configured == 0 { NothingToRun::NoChecks } else { NothingToRun::AllFollowed };
    Ok((policy, Some((why, detected))))
}

/// What the working tree changes, against the base that somebody named, else in a workflow against the pull request's,
/// else against the usual one; and the base's name. A workflow's checkout mostly is shallow: the branch that GitHub names
/// may not be there, and nobody asked for it.
///
/// # Errors
/// When the base that was named cannot be compared with.
pub(super) fn changes(directory: &Path, named: Option<&str>) -> Result<(Option<String>, Option<Changes>), CliError> {
    let named = named.filter(|base| !base.is_empty());
    let Some(named) = named else {
        let base = std::env::var("GITHUB_BASE_REF").ok().filter(|base| !base.is_empty());
        let changes = Changes::against(directory, base.as_deref());
        return Ok((base, changes));
    };
    let changes = Changes::against_named(directory, named).map_err(CliError::bad_data)?;
    Ok((Some(named.to_owned()), Some(changes)))
}

/// `owner/name` of the remote, else one made of the folder's name.
pub(super) fn repository_name(checkout: &Checkout) -> RepoName {
    let folder = checkout.root.file_name().and_then(|name| name.to_str()).unwrap_or("repository");
    let named = checkout.repository.clone().or_else(|| format!("local/{folder}").parse().ok());
    named.unwrap_or_else(|| "local/repository".parse().expect("owner/name"))
}

/// The branch that is checked out, else the commit.
pub(super) fn branch(checkout: &Checkout) -> String {
    checkout.branch.clone().unwrap_or_else(|| checkout.head.short())
}

/// The commits that are shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shown {
    pub head: Sha,
    pub tree: Sha,
    pub base: Sha,
}

/// The pull request there is or may be.
pub(super) fn pull_request(
    checkout: &Checkout,
    shown: Shown,
    base_branch: Option<&str>,
    title: String,
    created_at: Timestamp,
) -> PullRequest {
    PullRequest {
        number: PrNumber::new(0),
        title,
        body: String::new(),
        author: account("author"),
        lifecycle: Lifecycle::Open,
        readiness: Readiness::Ready,
        head: Head {
            sha: shown.head,
            tree: shown.tree,
            branch: branch(checkout),
            repository: Some(repository_name(checkout)),
            known_since: None,
        },
        base: Base {
            branch: base_branch.unwrap_or("main").to_owned(),
            sha: shown.base,
            scope: CheckScope::DefaultBranch,
            open_pattern: None,
        },
        labels: BTreeSet::new(),
        declared_type: None,
        requested_users: BTreeSet::new(),
        requested_teams: BTreeSet::new(),
        created_at,
        closed_at: None,
        url: String::new(),
    }
}

/// All there is to decide on: no conversation, no checks of others, no gates.
pub(super) fn snapshot(
    repository: RepoName,
    pull_request: PullRequest,
    files: ChangedFiles,
    evidence: Option<Evidence>,
) -> Snapshot {
    Snapshot {
        evidence: evidence.into_iter().map(|evidence| ReceivedEvidence::Accepted(Box::new(evidence))).collect(),
        ..Snapshot::of_files(
            repository,
            AppIdentity { id: AppId::new(0), bot: account("loopgate").login, bot_id: None },
            pull_request,
            files,
        )
    }
}

fn account(login: &str) -> Account {
    Account {
        id: UserId::new(0),
        login: login.parse::<Login>().expect("a plain word is a login"),
        kind: AccountKind::User,
    }
}
