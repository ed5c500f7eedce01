//! The archive of ended runs.
//!
//! git lists every ref of a repository on each push. So the refs of runs that ended are folded into one ref for each
//! quarter of a year, `refs/loopgate/archive/2026Q4`. Its tree holds at `pr/12` the last commit of the run of pull
//! request 12, and that commit is among the parents, so that nothing is lost. A run that goes on again has a ref of its
//! own, which has precedence over every quarter; of several quarters the newest has.

use futures::{StreamExt as _, TryStreamExt as _, stream};
use loopgate_core::{PrNumber, Sha};

use super::{GitObjects, ListObjects, RefName, Result, TreeFile};

/// Where the refs of the archive are, below `refs/loopgate/`.
pub const ARCHIVE: &str = "archive/";

/// The length of a commit's id, and a line break.
const ENTRY_LIMIT: usize = 41;

/// The file of a quarter's tree that has the commit of a run, and the file's text.
pub fn archive_entry(number: PrNumber, commit: Sha) -> TreeFile {
    (format!("pr/{number}"), format!("{commit}\n"))
}

/// The commit that the run of a pull request was archived with, if it was.
///
/// # Errors
/// When the git database does not answer.
pub async fn archived<G: GitObjects>(objects: &G, number: PrNumber) -> Result<Option<Sha>> {
    let mut refs = objects.refs(ARCHIVE).await?;
    refs.sort_by(|one, other| other.cmp(one));
    for (name, tip) in refs {
        let commit = match name.number() {
            // Earlier versions moved each run to a ref of its own.
            Some(moved) => Some(tip).filter(|_| moved == number),
            None => entry(objects, tip, number).await?,
        };
        if commit.is_some() {
            return Ok(commit);
        }
    }
    Ok(None)
}

/// The commit that a quarter names for a pull request.
async fn entry<G: GitObjects>(objects: &G, quarter: Sha, number: PrNumber) -> Result<Option<Sha>> {
    let text = objects
        .read_own(quarter, &archive_entry(number, quarter).0, ENTRY_LIMIT)
        .await?;
    Ok(text.and_then(|text| std::str::from_utf8(&text).ok()?.trim().parse().ok()))
}

/// The runs of all pull requests with the commits that hold them, archived ones too.
///
/// # Errors
/// When the git database does not answer.
pub async fn all_runs<G: ListObjects>(objects: &G) -> Result<Vec<(RefName, Sha)>> {
    let mut runs = Vec::new();
    for (name, tip) in objects.refs("").await? {
        if let Some(number) = name.number() {
            runs.push((RefName::pull_request(number), tip));
        }
    }
    for (name, quarter) in objects.refs(ARCHIVE).await? {
        if name.number().is_some() {
            continue;
        }
        for file in objects.list_folder(quarter, "pr").await? {
            let Ok(number) = file.parse().map(PrNumber::new) else {
                continue;
            };
            let commit = entry(objects, quarter, number).await?;
            runs.extend(commit.map(|commit| (RefName::pull_request(number), commit)));
        }
    }
    Ok(runs)
}

/// Runs read at the same time.
const AT_ONCE: usize = 8;

/// What `read` makes of the runs that are not archived, several at a time, at most `most` of them: those with the
/// highest numbers.
///
/// Returns how many were left out beside it.
///
/// # Errors
/// When the git database does not answer.
pub async fn each_run<G: GitObjects, T, R: Future<Output = Result<Option<T>>>>(
    objects: &G,
    most: usize,
    read: impl Fn(RefName, Sha) -> R,
) -> Result<(Vec<T>, usize)> {
    let mut runs = objects.refs("").await?;
    runs.retain(|(name, _)| name.is_run());
    runs.sort_by_key(|(name, _)| std::cmp::Reverse(name.number()));
    let left_out = runs.len().saturating_sub(most);
    runs.truncate(most);
    let read = stream::iter(runs)
        .map(|(name, tip)| read(name, tip))
        .buffered(AT_ONCE)
        .try_collect::<Vec<_>>()
        .await?;
    Ok((read.into_iter().flatten().collect(), left_out))
}
