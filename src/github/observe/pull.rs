//! The pull request itself, its files and its commits.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::github::client::{
    error::{Error, OrAbsent as _, Result},
    path,
    repo::Repo,
    wire::{
        InStack, ListedCommit, MaybeUser, Named, ObjectRef, Side, Signature, Team, User, WireFile,
        account,
    },
};
use loopgate_core::{
    PrNumber, RepoName, Sha, TeamSlug, Timestamp,
    observed::{
        Base, ChangedFile, ChangedFiles, CheckScope, Commit, FileStatus, Head, Lifecycle, Listing,
        PullRequest,
    },
};

/// GitHub lists no more changed files than this
/// (<https://docs.github.com/en/rest/pulls/pulls#list-pull-requests-files>).
const MOST_FILES: usize = 3_000;
/// Pages of files and of commits (at most 250 of those) read.
const FILE_PAGES: usize = 30;
const COMMIT_PAGES: usize = 3;

#[derive(Debug, Deserialize)]
struct WirePull {
    number: PrNumber,
    title: String,
    body: Option<String>,
    user: Option<User>,
    state: String,
    #[serde(default)]
    merged: bool,
    merged_at: Option<Timestamp>,
    merge_commit_sha: Option<Sha>,
    merged_by: Option<User>,
    #[serde(default)]
    draft: bool,
    mergeable: Option<bool>,
    head: Side,
    base: Side,
    #[serde(default)]
    labels: Vec<Named>,
    #[serde(default)]
    requested_reviewers: Vec<User>,
    #[serde(default)]
    requested_teams: Vec<Team>,
    created_at: Timestamp,
    updated_at: Option<Timestamp>,
    closed_at: Option<Timestamp>,
    html_url: String,
    stack: Option<InStack>,
    #[serde(default)]
    changed_files: usize,
    #[serde(default)]
    commits: usize,
    /// How many comments stand on lines of the diff.
    #[serde(default)]
    review_comments: u64,
}

/// A pull request without what is read of its commits and the base's head.
#[derive(Debug, Clone)]
pub(in crate::github) struct Pull {
    /// The repository by the name it has now, where GitHub returns it: the request may have named an earlier one.
    pub repository: Option<RepoName>,
    pub pull_request: PullRequest,
    /// How many files it changes, by GitHub's count.
    pub changed_files: usize,
    /// The branch it targets: its base, or in a native stack that of the layer beneath.
    pub target: String,
    /// The commit of that branch it is compared with. The branch may have moved on.
    pub compared_base: Sha,
    pub stack: Option<InStack>,
    /// Whether comments stand on lines of its diff.
    pub has_inline: bool,
    pub updated_at: Option<Timestamp>,
    pub default_branch: Option<String>,
    /// Whether the repository takes no changes any more.
    pub is_archived: bool,
    /// Whether only some may see the repository; also where GitHub does not answer that.
    pub is_private: bool,
    /// How many commits it has, by GitHub's count.
    pub commits: usize,
    /// The commit it was merged as, where GitHub returns it.
    pub merged_as: Option<Sha>,
}

pub(in crate::github) async fn read(repo: Repo<'_>, number: PrNumber) -> Result<Pull> {
    let wire: WirePull = repo.get(&repo.path(format!("pulls/{number}"))).await?;
    let team = |team: Team| {
        format!("{}/{}", repo.name.owner(), team.slug)
            .parse::<TeamSlug>()
            .ok()
    };
    let lifecycle = match (wire.merged || wire.merged_at.is_some(), wire.state.as_str()) {
        (true, _) => Lifecycle::Merged {
            by: wire.merged_by.and_then(User::login),
            at: wire.merged_at,
        },
        (false, "open") => Lifecycle::Open,
        (false, _) => Lifecycle::Closed,
    };
    let base_branch = wire
        .stack
        .as_ref()
        .map_or(&wire.base.branch, |stack| &stack.base.branch)
        .clone();
    let pull_request = PullRequest {
        number: wire.number,
        title: wire.title,
        body: wire.body.unwrap_or_default(),
        author: account(wire.user),
        lifecycle,
        is_draft: wire.draft,
        is_mergeable: wire.mergeable,
        head: Head {
            sha: wire.head.sha,
            // Until the commits are read.
            tree: wire.head.sha,
            branch: wire.head.branch,
            repository: wire.head.repo.and_then(|repo| repo.full_name),
            known_since: None,
        },
        // Its scope is read later, from the configuration and the repository's rules.
        base: Base {
            branch: base_branch,
            sha: wire.base.sha,
            scope: CheckScope::DefaultBranch,
            open_pattern: None,
            earlier_names: BTreeSet::new(),
        },
        labels: wire.labels.into_iter().map(|label| label.name).collect(),
        declared_type: None,
        requested_users: wire
            .requested_reviewers
            .into_iter()
            .filter_map(User::login)
            .collect(),
        requested_teams: wire
            .requested_teams
            .into_iter()
            .filter_map(team)
            .collect::<BTreeSet<_>>(),
        created_at: wire.created_at,
        closed_at: wire.closed_at,
        url: wire.html_url,
    };
    let merged = matches!(pull_request.lifecycle, Lifecycle::Merged { .. });
    Ok(Pull {
        repository: wire
            .base
            .repo
            .as_ref()
            .and_then(|base| base.full_name.clone()),
        pull_request,
        changed_files: wire.changed_files,
        target: wire.base.branch,
        compared_base: wire.base.sha,
        stack: wire.stack,
        has_inline: wire.review_comments > 0,
        updated_at: wire.updated_at,
        is_private: wire
            .base
            .repo
            .as_ref()
            .and_then(|base| base.private)
            .unwrap_or(true),
        is_archived: wire.base.repo.as_ref().is_some_and(|base| base.archived),
        default_branch: wire.base.repo.and_then(|base| base.default_branch),
        commits: wire.commits,
        // Of an open pull request it is a merge that GitHub only tried.
        merged_as: wire.merge_commit_sha.filter(|_| merged),
    })
}

/// What a head changes.
#[derive(Debug)]
pub(super) struct Changes {
    pub files: ChangedFiles,
    pub commits: Listing<Commit>,
    /// The commits with more than one parent, and their parents.
    pub merges: Vec<(Sha, Vec<Sha>)>,
    pub head_tree: Sha,
    /// The commit that the files are compared with, where GitHub compares.
    pub merge_base: Option<Sha>,
    /// The ids of the commits in GraphQL.
    pub nodes: BTreeMap<Sha, String>,
}

/// What exactly this head changes against the tip of what it is compared with: read once, since two commits determine
/// it. The commit that GitHub names as the pull request's base lags behind the branch, and what the head merged of the
/// branch since would look like its own work.
///
/// A comparison by commit ids answers for most pull requests. One that is too large for it (or that GitHub does not
/// make, between some forks) is read from the lists of the pull request, which are bound to no commit.
pub(super) async fn changes(
    repo: Repo<'_>,
    pull: &Pull,
    (tip, is_stack_base): (Sha, bool),
) -> Result<Changes> {
    let compared = comparison(repo, tip, pull.pull_request.head.sha).await?;
    let merge_base = compared
        .as_ref()
        .and_then(|compared| Some(compared.merge_base_commit.as_ref()?.sha));
    let (files, listed) = match compared.filter(|compared| compared.is_whole(pull, tip)) {
        Some(ComparedCommits { files, commits, .. }) => (
            ChangedFiles::Complete(files.into_iter().map(changed_file).collect()),
            Listing::complete(commits),
        ),
        None => {
            let (files, commits) =
                futures::join!(listed_files(repo, pull), listed_commits(repo, pull));
            // A diff that GitHub cannot show is one that must be taken to touch everything, and the list is the
            // target's.
            let files = match files {
                Ok(files) if is_stack_base => {
                    let reason =
                        "the difference from the stack's base is too large to read".to_owned();
                    ChangedFiles::TooLarge {
                        known: files.known().to_vec(),
                        reason,
                    }
                }
                Ok(files) => files,
                Err(error) => ChangedFiles::TooLarge {
                    known: Vec::new(),
                    reason: error.refusal()?.to_string(),
                },
            };
            (files, commits?)
        }
    };
    let (
        head,
        Listing {
            items: commits,
            is_complete,
        },
    ) = (pull.pull_request.head.sha, listed);
    let head_tree = match commits.iter().find(|commit| commit.sha == head) {
        Some(commit) => commit.commit.tree.sha,
        None => {
            let commit = repo.git_commit(head).await?;
            commit
                .ok_or_else(|| Error::NotFound {
                    path: format!("commit {head}"),
                })?
                .tree
                .sha
        }
    };
    let merges = commits.iter().filter(|commit| commit.parents.len() > 1);
    let merges = merges
        .map(|commit| {
            (
                commit.sha,
                commit.parents.iter().map(|parent| parent.sha).collect(),
            )
        })
        .collect();
    let nodes = commits
        .iter()
        .filter_map(|commit| Some((commit.sha, commit.node_id.clone()?)))
        .collect();
    let commits = Listing {
        items: commits.into_iter().map(commit).collect(),
        is_complete,
    };
    Ok(Changes {
        files,
        commits,
        merges,
        head_tree,
        merge_base,
        nodes,
    })
}

/// `GET …/compare/{base}...{head}`: at most 300 files and, without paging, 250 commits
/// (<https://docs.github.com/en/rest/commits/commits#compare-two-commits>).
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ComparedCommits {
    /// `ahead`: the head holds the base, so this is what was added to it.
    status: Option<String>,
    pub merge_base_commit: Option<ObjectRef>,
    total_commits: usize,
    commits: Vec<ListedCommit>,
    #[serde(default)]
    files: Vec<WireFile>,
}

impl ComparedCommits {
    /// Whether it shows all commits and files.
    fn is_whole(&self, pull: &Pull, tip: Sha) -> bool {
        self.commits.len() == self.total_commits
            && self.files.len() < COMPARED_FILES
            && (tip != pull.compared_base || self.files.len() >= pull.changed_files)
    }
}

const COMPARED_FILES: usize = 300;

/// The comparison, if GitHub makes it.
pub(super) async fn comparison(
    repo: Repo<'_>,
    from: Sha,
    to: Sha,
) -> Result<Option<ComparedCommits>> {
    let path = repo.path(format!("compare/{from}...{to}"));
    let compare = async || repo.fetch::<ComparedCommits>(&path).await.or_refused();
    repo.once::<Option<ComparedCommits>>(&path, |_| true, compare)
        .await
}

/// What was pushed on top of `from` up to `to`: the files, and the subjects of the commits. None where `to` does not
/// hold `from` (it was rewritten), or GitHub does not show all of it.
pub async fn pushed_between(
    repo: Repo<'_>,
    from: Sha,
    to: Sha,
) -> Result<Option<(Vec<ChangedFile>, Vec<String>)>> {
    let whole = comparison(repo, from, to).await?.filter(|compared| {
        compared.status.as_deref() == Some("ahead") && compared.files.len() < COMPARED_FILES
    });
    Ok(whole.map(|compared| {
        let subject = |commit: &ListedCommit| {
            commit
                .commit
                .message
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned()
        };
        let subjects = compared.commits.iter().map(subject).collect();
        (
            compared.files.into_iter().map(changed_file).collect(),
            subjects,
        )
    }))
}

/// The changed files as listed for the pull request.
///
/// The list is asked for by number, so it may be of a newer head than the one just seen. What is kept must be of the
/// head it is kept for, or a quick push back and forth could show the gates another diff than the one that is merged:
/// every entry names the commit it was listed for.
async fn listed_files(repo: Repo<'_>, pull: &Pull) -> Result<ChangedFiles> {
    let head = pull.pull_request.head.sha;
    let is_moved = |listing: &mut Listing<WireFile>| {
        listing
            .items
            .iter()
            .filter(|file| file.status != FileStatus::Removed)
            .any(|file| {
                let named = file
                    .contents_url
                    .as_deref()
                    .and_then(|url| url.rsplit_once("ref="));
                named
                    .and_then(|(_, sha)| sha.parse::<Sha>().ok())
                    .is_some_and(|named| named != head)
            })
    };
    let Listing { items, is_complete } =
        listed(repo, pull, ("files", FILE_PAGES), is_moved).await?;
    let (count, announced) = (items.len(), pull.changed_files);
    let known = items.into_iter().map(changed_file).collect();
    Ok(
        if !is_complete || count >= MOST_FILES || count < announced {
            let reason = format!(
                "GitHub lists {count} of {} changed files",
                announced.max(count)
            );
            ChangedFiles::TooLarge { known, reason }
        } else {
            ChangedFiles::Complete(known)
        },
    )
}

/// A list of the pull request, kept for this head. A list that is of another head is an outage: the pull request is
/// read again a moment later.
async fn listed<T: Serialize + DeserializeOwned>(
    repo: Repo<'_>,
    pull: &Pull,
    (what, most): (&str, usize),
    is_moved: impl Fn(&mut Listing<T>) -> bool,
) -> Result<Listing<T>> {
    let PullRequest { number, head, .. } = &pull.pull_request;
    let path = repo.path(format!("pulls/{number}/{what}"));
    let key = format!("{path}@{}...{}", pull.compared_base, head.sha);
    let listed = repo.once::<Option<(Vec<T>, bool)>>(&key, Option::is_some, async || {
        let mut listing = repo.list(&path, most).await?;
        let is_moved = is_moved(&mut listing);
        Ok((!is_moved).then_some((listing.items, listing.is_complete)))
    });
    let message = "the head moved while it was read".to_owned();
    let (items, is_complete) = listed.await?.ok_or(Error::Unavailable {
        path,
        message,
        retry_at: None,
    })?;
    Ok(Listing { items, is_complete })
}

fn changed_file(file: WireFile) -> ChangedFile {
    let removed = file.status == FileStatus::Removed;
    ChangedFile {
        path: file.filename,
        previous_path: file.previous_filename,
        status: file.status,
        additions: file.additions,
        deletions: file.deletions,
        blob: file.sha.filter(|_| !removed),
        patch: file.patch,
    }
}

/// The newest commit of a file, up to the base's head. None where GitHub shows none.
pub(super) async fn newest_commit(repo: Repo<'_>, tip: Sha, file: &str) -> Result<Option<Commit>> {
    let path = repo.path(format!(
        "commits?sha={tip}&path={}&per_page=1",
        path::escape(file)
    ));
    let commits = repo
        .get_immutable_json::<Vec<ListedCommit>>(&path)
        .await
        .or_refused()?;
    Ok(commits.flatten().into_iter().flatten().next().map(commit))
}

/// The commits as listed for the pull request.
async fn listed_commits(repo: Repo<'_>, pull: &Pull) -> Result<Listing<ListedCommit>> {
    let head = pull.pull_request.head.sha;
    let is_moved = |listing: &mut Listing<ListedCommit>| {
        // At most 250 are listed, the newest last: beyond that the head is not among them.
        listing.is_complete &= listing.items.len() < 250;
        listing.is_complete && listing.items.last().is_some_and(|last| last.sha != head)
    };
    listed(repo, pull, ("commits", COMMIT_PAGES), is_moved).await
}

fn commit(wire: ListedCommit) -> Commit {
    let somebody = |maybe: Option<MaybeUser>| match maybe {
        Some(MaybeUser::Somebody(user)) => Some(user.into()),
        Some(MaybeUser::Nobody {}) | None => None,
    };
    let email = |signature: Option<Signature>| {
        signature
            .map(|signature| signature.email)
            .unwrap_or_default()
    };
    Commit {
        sha: wire.sha,
        message: wire.commit.message,
        author: somebody(wire.author),
        committer: somebody(wire.committer),
        author_email: email(wire.commit.author),
        committer_email: email(wire.commit.committer),
        update_merge: false,
    }
}

#[cfg(test)]
mod tests;
