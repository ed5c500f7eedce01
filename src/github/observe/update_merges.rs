//! Merges of the base into the head: the person who presses *Update branch* writes nothing. GitHub is the committer of
//! all edits on its pages, conflicts included, so the committer proves nothing; the content of the merge does.

use serde::{Deserialize, Serialize};

use super::{config, pull::Changes};
use crate::github::{
    Error, Repo,
    error::OrAbsent as _,
    wire::{ObjectRef, TreeEntry},
};
use loopgate_core::{
    Sha,
    observed::{Completeness, merge_lines, merge_whole},
    policy::Policy,
};

/// Merges that are looked into, and folders of each.
const MOST_MERGES: usize = 5;
const MOST_FOLDERS: usize = 60;
/// Files of a merge that both sides changed and whose lines are merged again, and bytes of each.
const MOST_TEXTS: usize = 20;
const LARGEST_TEXT: usize = 512 << 10;

/// Marks the commits that merge the base and hold nothing that neither side has. Merges in doubt are not marked.
pub(super) async fn mark(repo: Repo<'_>, changes: &mut Changes, policy: &Policy) -> Result<(), Error> {
    let Changes { commits, merges, .. } = changes;
    let matters =
        policy.gates.values().any(|gate| !gate.exclusions.allow_contributors && !gate.exclusions.count_update_merges);
    if !matters || commits.completeness == Completeness::Incomplete {
        return Ok(());
    }
    for (merge, parents) in merges.iter().take(MOST_MERGES) {
        // What is not among the commits of the pull request is on its base.
        let on_the_base = |parent: &Sha| !commits.items.iter().any(|commit| commit.sha == *parent);
        let [ours, merged] = parents[..] else { continue };
        let Some(base) = merge_base(repo, ours, merged).await? else { continue };
        if on_the_base(&merged) && is_mechanical(repo, [*merge, ours, merged, base]).await? {
            for commit in commits.items.iter_mut().filter(|commit| commit.sha == *merge) {
                commit.update_merge = true;
            }
        }
    }
    Ok(())
}

/// Whether a push brought nothing of its pusher's: each file of the head after it is what the three-way merge of the
/// head before it with the base gives. So it is of a merge of the base and of a rebase. `tip` is the base's.
pub(super) async fn is_only_merged(repo: Repo<'_>, (before, after): (Sha, Sha), tip: Sha) -> Result<bool, Error> {
    let bases = futures::try_join!(merge_base(repo, tip, before), merge_base(repo, tip, after))?;
    match bases {
        (Some(base), Some(theirs)) => is_mechanical(repo, [after, before, theirs, base]).await,
        _ => Ok(false),
    }
}

/// Whether every path of a merge is as the side that changed it has it, or where both did, as their lines merge without a
/// conflict. Where they conflict, somebody has decided.
///
/// `commits` are the merge, our side, theirs, and their base.
async fn is_mechanical(repo: Repo<'_>, commits: [Sha; 4]) -> Result<bool, Error> {
    let mut folders = vec![commits.map(Some)];
    let (mut read, mut texts) = (0, 0);
    while let Some(sides) = folders.pop() {
        read += 1;
        if read > MOST_FOLDERS {
            tracing::debug!(repository = %repo.name, merge = %commits[0], "a merge too large to be read");
            return Ok(false);
        }
        let trees = sides.map(|side| tree(repo, side));
        let [merged, ours, theirs, base] = trees;
        let (Some(merged), Some(ours), Some(theirs), Some(base)) = futures::try_join!(merged, ours, theirs, base)?
        else {
            return Ok(false);
        };
        let all = [&merged, &ours, &theirs, &base];
        let mut names: Vec<&str> = all.iter().flat_map(|side| side.iter()).map(|entry| entry.path.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let [merged, ours, theirs, base] = all.map(|side| side.iter().find(|entry| entry.path == name));
            match merge_whole(base, ours, theirs) {
                Some(expected) if merged == expected => {}
                Some(_) => return Ok(false),
                None if let [Some(merged), Some(ours), Some(theirs), Some(base)] = [merged, ours, theirs, base]
                    && [merged, ours, theirs, base].iter().all(|side| side.kind == "blob") =>
                {
                    texts += 1;
                    let sides = [merged, ours, theirs, base];
                    if texts > MOST_TEXTS || !merges_by_line(repo, sides).await? {
                        return Ok(false);
                    }
                }
                None => {
                    // A folder that a side has not is an empty one there.
                    let sides = [merged, ours, theirs, base];
                    if sides.iter().flatten().any(|entry| entry.kind != "tree") {
                        return Ok(false);
                    }
                    folders.push(sides.map(|side| side.map(|entry| entry.sha)));
                }
            }
        }
    }
    Ok(true)
}

/// Whether a file is what the three-way merge of its lines gives.
async fn merges_by_line(repo: Repo<'_>, [merged, ours, theirs, base]: [&TreeEntry; 4]) -> Result<bool, Error> {
    if merge_whole(&base.mode, &ours.mode, &theirs.mode) != Some(&merged.mode) {
        return Ok(false);
    }
    let root = repo.root();
    let text = async |side: &TreeEntry| {
        let bytes = repo.get_blob(&root, side.sha, LARGEST_TEXT).await.or_refused()?.flatten();
        Ok::<_, Error>(bytes.and_then(|bytes| String::from_utf8(bytes.to_vec()).ok()))
    };
    let [Some(merged), Some(ours), Some(theirs), Some(base)] =
        <[_; 4]>::from(futures::try_join!(text(merged), text(ours), text(theirs), text(base))?)
    else {
        return Ok(false);
    };
    Ok(merge_lines(&base, &ours, &theirs).is_some_and(|again| again == merged))
}

/// The entries of a tree, or of a commit's tree; none where GitHub does not return them all.
pub(super) async fn tree(repo: Repo<'_>, of: Option<Sha>) -> Result<Option<Vec<TreeEntry>>, Error> {
    let Some(of) = of else { return Ok(Some(Vec::new())) };
    Ok(config::tree(repo, of).await.or_refused()?.flatten())
}

async fn merge_base(repo: Repo<'_>, ours: Sha, theirs: Sha) -> Result<Option<Sha>, Error> {
    #[derive(Serialize, Deserialize)]
    struct Compared {
        merge_base_commit: ObjectRef,
    }
    let path = repo.path(format!("compare/{ours}...{theirs}"));
    let key = format!("{path}#merge-base");
    let compare =
        async || Ok(repo.fetch::<Compared>(&path).await.or_refused()?.map(|compared| compared.merge_base_commit.sha));
    repo.once::<Option<Sha>>(&key, |_| true, compare).await
}
