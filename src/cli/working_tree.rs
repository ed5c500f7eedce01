//! The working tree as a pull request that is not open yet: what `verify` and `loop` decide about.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Component, Path},
};

use chrono::Utc;

use super::{CliError, actions, online::set_here, output};
use crate::config;
use loopgate_core::{
    AppId, Login, PrNumber, RepoName, Sha, Timestamp, UserId,
    concerns::tampering,
    deciding::{Decision, MemoryAnswers},
    evidence::{CheckEvidence, EVIDENCE_SCHEMA, Evidence},
    observed::{
        Account, AccountKind, AppIdentity, Base, ChangedFiles, CheckScope, Content, FileAt, Head,
        Lifecycle, PullRequest, ReceivedEvidence, Snapshot,
    },
    policy::{CheckSource, Policy, PolicyOrigin},
};
use loopgate_git::{Git, Outsider};
use loopgate_refs::{LocalRepository, MemoryStore};
use loopgate_render::{self as render, PlantedSettings};
use loopgate_runner::{self as runner, Changes, Checkout, Detected, Extent, Purpose, Worktree};

/// Where the configuration is looked for, relative to the top of the repository.
pub(super) const CONFIGURATION: &str = ".github/loopgate.yml";

/// Where `verify` leaves its files unless set otherwise, relative to the top of the repository.
pub(super) const EVIDENCE: &str = "loopgate-evidence";

/// The working tree, as git names what it holds now; none where git does not know. New files count, but where evidence
/// goes to a folder of one's own: that would be one.
pub(super) fn tree(git: &Git, evidence: &Path) -> Option<Sha> {
    let extent = if evidence == Path::new(EVIDENCE) {
        Extent::Everything
    } else {
        Extent::Tracked
    };
    Worktree::of(git)
        .and_then(|worktree| worktree.tree(extent))
        .ok()
}

/// What code of the change planted in git's configuration here, by who ran and whether it is left out.
pub(super) fn planted(git: &Git) -> Vec<PlantedSettings> {
    let found = git.planted();
    let of = |(by, left_out)| PlantedSettings {
        by: Outsider::to_string(&by),
        settings: found
            .iter()
            .filter(|planted| planted.by == by && planted.left_out == left_out)
            .map(|planted| planted.setting.clone())
            .collect(),
        left_out,
    };
    let kinds = Outsider::ALL
        .into_iter()
        .flat_map(|by| [(by, true), (by, false)]);
    let all = kinds.map(of);
    all.filter(|planted| !planted.settings.is_empty()).collect()
}

/// Says what was planted; in a workflow as a warning of the step.
pub(super) fn say_planted(planted: &[PlantedSettings]) {
    for sentence in render::planted_lines(planted) {
        if actions::is_here() {
            output::note_line(render::warning_command(&sentence));
        } else {
            output::note_line(sentence);
        }
    }
}

/// What the debug memory of the repository here holds on a decision's failures. Nothing depends on it: what cannot be
/// read is not shown.
pub(super) async fn look_up(
    repository: &LocalRepository,
    root: &Path,
    decision: &Decision,
    snapshot: &Snapshot,
    policy: &Policy,
) -> MemoryAnswers {
    let store = MemoryStore::new(repository, &policy.memory, Utc::now());
    let Ok(memory) = store.load().await else {
        return MemoryAnswers::default();
    };
    let asked = decision.look_up(&memory, snapshot, policy);
    let read = |path| Some((path, cited(root, path)?));
    let files: BTreeMap<&str, String> = asked.cited().into_iter().filter_map(read).collect();
    asked.answers(&policy.memory, |path| files.get(path).map(String::as_str))
}

/// Bytes of a file that a card cites.
const CITED_BYTES: u64 = 1 << 20;

/// The text of a file of the working tree. Anyone who can write the memory's refs chooses the path: it must not lead
/// out of the tree.
pub(super) fn cited(root: &Path, path: &str) -> Option<String> {
    let place = root.join(Some(path).filter(|path| leads_inside(path))?);
    let is_small = fs::symlink_metadata(&place)
        .is_ok_and(|found| found.is_file() && found.len() <= CITED_BYTES);
    let bytes = is_small.then(|| fs::read(&place).ok()).flatten()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether a relative path stays below where it begins.
pub(super) fn leads_inside(path: &str) -> bool {
    Path::new(path)
        .components()
        .all(|part| matches!(part, Component::Normal(_)))
}

/// The configuration in force here: `own` if one is named, else the repository's, else the presets. It keeps the checks
/// that can run here. Where there are none, it gets those that a project like this usually has, which come back beside
/// it: with true where no check is configured, with false where each is a check run of the project's CI.
pub(super) fn policy(
    root: &Path,
    own: Option<&Path>,
) -> Result<(Policy, Option<(bool, Detected)>), CliError> {
    let within = actions::working_directory(root);
    let top = root.join(&within);
    let path = own.map_or_else(|| top.join(CONFIGURATION), Path::to_owned);
    let mut policy = if own.is_some() || path.is_file() {
        let text = output::read_text(&path)?;
        let shown = path
            .strip_prefix(root)
            .unwrap_or(&path)
            .display()
            .to_string();
        config::parse(&shown, &text).map_err(CliError::bad_data)?
    } else {
        config::presets().with_origin(PolicyOrigin::Defaults)
    };
    let configured = policy.verify.checks.len();
    policy
        .verify
        .checks
        .retain(|_, check| matches!(check.source, CheckSource::Command(_)));
    if !policy.verify.checks.is_empty() {
        run_within(&mut policy, &within);
        return Ok((policy, None));
    }
    let detected = runner::detect(&top, Purpose::RunHere);
    policy.verify.checks.clone_from(&detected.checks);
    run_within(&mut policy, &within);
    Ok((policy, Some((configured == 0, detected))))
}

/// Lets every check start below a folder of the repository.
fn run_within(policy: &mut Policy, folder: &str) {
    for check in policy
        .verify
        .checks
        .values_mut()
        .filter(|_| !folder.is_empty())
    {
        if let CheckSource::Command(command) = &mut check.source {
            let own = command.working_directory.take();
            command.working_directory =
                Some(own.map_or_else(|| folder.to_owned(), |own| format!("{folder}/{own}")));
        }
    }
}

/// What the working tree changes, against the base that is named, else in a workflow against the pull request's, else
/// against the usual one; and the base's name. A workflow's checkout mostly is shallow: the branch that GitHub names
/// may be missing, which is no error.
///
/// # Errors
/// When the base that was named cannot be compared with.
pub(super) fn changes(
    git: &Git,
    named: Option<&str>,
) -> Result<(Option<String>, Option<Changes>), CliError> {
    let named = named.filter(|base| !base.is_empty());
    let Some(named) = named else {
        let base = set_here("GITHUB_BASE_REF");
        let changes = Changes::against(git, base.as_deref());
        return Ok((base, changes));
    };
    let changes = Changes::against_named(git, named).map_err(CliError::bad_data)?;
    Ok((Some(named.to_owned()), Some(changes)))
}

/// The repository that is named, else the one on GitHub that the remote `origin` names; `else_do` is what to do where
/// that names none.
pub(super) fn repository(named: Option<&RepoName>, else_do: &str) -> Result<RepoName, CliError> {
    if let Some(named) = named {
        return Ok(named.clone());
    }
    let checkout = Checkout::around(Path::new(".")).map_err(CliError::bad_data)?;
    let unnamed = || {
        CliError::usage(format!(
            "the remote `origin` names no repository on GitHub; {else_do}"
        ))
    };
    checkout.repository.ok_or_else(unnamed)
}

/// `owner/name` of the remote, else one made of the folder's name.
pub(super) fn repository_name(checkout: &Checkout) -> RepoName {
    let folder = checkout
        .root
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or("repository");
    let named = checkout
        .repository
        .clone()
        .or_else(|| format!("local/{folder}").parse().ok());
    named.unwrap_or_else(|| "local/repository".parse().expect("owner/name"))
}

/// The branch that is checked out, else the commit.
pub(super) fn branch(checkout: &Checkout) -> String {
    checkout
        .branch
        .clone()
        .unwrap_or_else(|| checkout.head.short())
}

/// The pull request there is or may be.
pub(super) fn pull_request(
    checkout: &Checkout,
    head: runner::Head,
    base: Sha,
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
        is_draft: false,
        is_mergeable: None,
        head: Head {
            sha: head.commit,
            tree: head.tree,
            branch: branch(checkout),
            repository: Some(repository_name(checkout)),
            known_since: None,
        },
        base: Base {
            branch: base_branch.unwrap_or("main").to_owned(),
            sha: base,
            scope: CheckScope::DefaultBranch,
            open_pattern: None,
            earlier_names: BTreeSet::new(),
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
        evidence: evidence
            .into_iter()
            .map(|evidence| ReceivedEvidence::Accepted(Box::new(evidence)))
            .collect(),
        ..Snapshot::of_files(
            repository,
            AppIdentity {
                id: AppId::new(0),
                bot: account("loopgate").login,
                bot_id: None,
            },
            pull_request,
            files,
        )
    }
}

/// Bytes of a file that is read.
const LARGEST_TEXT: u64 = 1 << 20;

/// Gives a snapshot the texts by which its tests are compared: those of the base by git, those of the head as they stand in
/// the working tree.
pub(super) fn read_files(checkout: &Checkout, base: Sha, snapshot: &mut Snapshot) {
    let head = snapshot.pull_request.head.sha;
    // Where nothing is committed, both sides are of one commit: the old one is then named by its tree.
    let before = if base == head {
        tree_of(&checkout.git, base)
    } else {
        Some(base)
    };
    let Some((before, worktree)) = before.zip(Worktree::of(&checkout.git).ok()) else {
        return;
    };
    let wanted = tampering::files_to_read(&snapshot.files, Some(before), head);
    let (new, old): (BTreeSet<FileAt>, _) =
        wanted.into_iter().partition(|(commit, _)| *commit == head);
    // Of what git does not give the hunks are read.
    snapshot.contents = worktree.contents(old).unwrap_or_default();
    for (commit, path) in new {
        let content = text_of(&checkout.root.join(&path));
        snapshot.contents.texts.insert((commit, path), content);
    }
    snapshot.merge_base = Some(before);
}

fn tree_of(git: &Git, commit: Sha) -> Option<Sha> {
    let name = format!("{commit}^{{tree}}");
    let printed = git
        .command(&["rev-parse", &name])
        .run()
        .ok()?
        .success()
        .ok()?;
    String::from_utf8(printed).ok()?.trim().parse().ok()
}

/// A file of the working tree. What is no file, is large or no text is unreadable.
fn text_of(path: &Path) -> Content {
    match fs::symlink_metadata(path) {
        Err(_) => Content::Absent,
        Ok(found) if !found.is_file() || found.len() > LARGEST_TEXT => Content::Unreadable,
        Ok(_) => {
            fs::read_to_string(path).map_or(Content::Unreadable, |text| Content::Text(text.into()))
        }
    }
}

/// The evidence of these checks about a commit, and nothing beside it.
pub(super) fn evidence(
    repository: RepoName,
    head_sha: Sha,
    tree: Sha,
    checks: Vec<CheckEvidence>,
) -> Evidence {
    let (schema, tree_hash, now) = (
        EVIDENCE_SCHEMA.to_owned(),
        loopgate_core::evidence::tree_hash(tree),
        Utc::now(),
    );
    let (started_at, ended_at) = (now, now);
    Evidence {
        schema,
        repository,
        head_sha,
        tree_hash,
        started_at,
        ended_at,
        checks,
        ..Evidence::default()
    }
}

fn account(login: &str) -> Account {
    Account {
        id: UserId::new(0),
        login: login.parse::<Login>().expect("a plain word is a login"),
        kind: AccountKind::User,
    }
}
