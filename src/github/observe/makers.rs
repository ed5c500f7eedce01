//! Who made what the head holds: to whom the addresses of its commits belong, which files commits of suggestions
//! change, and who pushed it. Events name the pusher of each head that they announce, the activity of the head
//! repository those before and between, and the pull request's events who forced a push.
//!
//! The person who presses *Update branch* writes nothing. GitHub is the committer of all edits on its pages, conflicts
//! included, so the committer proves nothing; the content of the merge does.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::try_join_all;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    contents, events,
    pull::{Changes, Pull, comparison},
};
use crate::github::client::{
    Client,
    error::{Error, OrAbsent as _, Result},
    path,
    repo::Repo,
    wire::{CommitFiles, GraphqlAccount, TreeEntry, User, WireFile, account_at, nodes},
};
use loopgate_core::{
    Sha,
    concerns::gates::co_authors,
    observed::{
        Account, AccountKind, AnnouncedPush, Commit, Hint, Makers, Push, PushContent, Snapshot,
        merge_lines, merge_whole,
    },
    policy::Policy,
    state::LoopState,
};

/// Commits asked about, the newest first; GitHub takes 100 at once.
const MOST_COMMITS: usize = 100;
/// Commits of suggestions whose files are read.
const MOST_SUGGESTIONS: usize = 20;
/// Who commits for everybody who uses GitHub's pages.
const WEB_FLOW: &str = "web-flow";
/// <https://docs.github.com/en/graphql/reference/objects#commit>, `authors`: the author and all co-authors.
const QUERY: &str = "query($ids: [ID!]!) { nodes(ids: $ids) { ... on Commit { authors(first: 50) { nodes { email \
                     user { databaseId login } } } } } }";

/// Pages of activity read: 300 pushes.
const MOST_PAGES: usize = 3;
/// Pushes of others than the author that are looked into.
const MOST_PUSHES: usize = 6;

/// `GET …/activity`, newest first
/// (<https://docs.github.com/en/rest/repos/repos#list-repository-activities>).
#[derive(Deserialize, Serialize)]
struct Activity {
    before: Sha,
    after: Sha,
    activity_type: String,
    actor: Option<User>,
}

/// A move of the head branch.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Move {
    /// The commit that stood there; none where the branch was made.
    before: Option<Sha>,
    after: Sha,
    /// `after` may not hold `before`.
    is_forced: bool,
    by: Option<Account>,
}

/// Enters the pushes into the snapshot. GitHub is asked for pushes without events only if `asks`. `tip` is the base's.
pub(super) async fn pushes(
    repo: Repo<'_>,
    snapshot: &mut Snapshot,
    pull: &Pull,
    tip: Sha,
    previous: Option<&LoopState>,
    asks: bool,
) -> Result<()> {
    let mut moves = if asks {
        activity(&repo, pull).await?
    } else {
        Vec::new()
    };
    add_events(&mut moves, previous, &snapshot.hints);
    let in_head: BTreeSet<Sha> = snapshot
        .commits
        .items
        .iter()
        .map(|commit| commit.sha)
        .collect();
    let lineage = lineage(&moves, snapshot.pull_request.head.sha, &in_head);
    let is_whole = lineage.is_some();
    // Where the way back is lost, everybody counts who is known to have pushed.
    let counted = lineage.unwrap_or(moves);
    if !is_whole && asks {
        // <https://docs.github.com/en/rest/using-the-rest-api/issue-event-types#head_ref_force_pushed>
        let forced = events::of_kind(repo, pull.pull_request.number, "head_ref_force_pushed")
            .await?
            .unwrap_or_default();
        let by = forced.iter().map(|event| account_at(&event["actor"]));
        snapshot.makers.pushes.extend(by.map(|by| Push {
            by,
            content: PushContent::Own,
        }));
    }
    snapshot.makers.has_unknown_pusher =
        asks && (!is_whole || counted.iter().any(|push| push.by.is_none()));
    let mut looked_into = 0;
    for push in counted {
        let Some(by) = push.by else { continue };
        let mut content = PushContent::Own;
        if let Some(before) = push.before
            && by.id != snapshot.pull_request.author.id
            && looked_into < MOST_PUSHES
        {
            looked_into += 1;
            if is_only_merged(repo, (before, push.after), tip).await? {
                content = PushContent::Merged;
            }
        }
        snapshot.makers.pushes.push(Push { by, content });
    }
    Ok(())
}

fn add_events(moves: &mut Vec<Move>, previous: Option<&LoopState>, hints: &[Hint]) {
    let recorded = previous.into_iter().flat_map(|state| &state.head.pushes);
    let hinted = hints.iter().filter_map(|hint| match hint {
        Hint::Pushed(push) => Some(push),
        _ => None,
    });
    for AnnouncedPush { before, after, by } in recorded.chain(hinted) {
        let known = |known: &Move| known.after == *after && known.before == Some(*before);
        if !moves.iter().any(known) {
            let by = Account {
                id: by.id,
                login: by.login.clone(),
                kind: AccountKind::User,
            };
            moves.push(Move {
                before: Some(*before),
                after: *after,
                is_forced: true,
                by: Some(by),
            });
        }
    }
}

/// The moves that led to the head, the newest first: of each commit the move that brought it first, since a branch that
/// goes back to a commit drops what was pushed meanwhile. `None` if they do not lead back to the base, or to the making
/// of the branch.
fn lineage(moves: &[Move], head: Sha, in_head: &BTreeSet<Sha>) -> Option<Vec<Move>> {
    let (mut found, mut sha, mut end, mut is_rewritten) = (Vec::new(), head, moves.len(), false);
    loop {
        let at = moves[..end].iter().position(|moved| moved.after == sha)?;
        found.push(moves[at].clone());
        let Some(before) = moves[at].before else {
            return Some(found);
        };
        let is_in_head = in_head.contains(&before);
        // What the head holds, but for the base, begins after it.
        if !moves[at].is_forced && !is_rewritten && !is_in_head {
            return Some(found);
        }
        is_rewritten |= moves[at].is_forced && !is_in_head;
        (sha, end) = (before, at);
    }
}

/// The moves of the head branch, oldest first; none where GitHub does not show them.
async fn activity(client: &Client, pull: &Pull) -> Result<Vec<Move>> {
    let head = &pull.pull_request.head;
    let Some(repository) = &head.repository else {
        return Ok(Vec::new());
    };
    let branch = path::escape(&format!("refs/heads/{}", head.branch));
    let path = format!("{}/activity?ref={branch}", path::repo(repository));
    let read = async || {
        Ok(client
            .list::<Activity>(&path, MOST_PAGES)
            .await
            .or_refused()?
            .map(|listed| listed.items))
    };
    // Until the push of the head is listed, more may come.
    let is_settled =
        |listed: &Option<Vec<Activity>>| listed.iter().flatten().any(|one| one.after == head.sha);
    let listed = client
        .once(&format!("{path}#{}", head.sha), is_settled, read)
        .await?
        .unwrap_or_default();
    let moved = |Activity {
                     before,
                     after,
                     activity_type,
                     actor,
                 }: Activity| {
        let before = (activity_type != "branch_creation").then_some(before);
        Move {
            before,
            after,
            is_forced: activity_type == "force_push",
            by: actor.map(Account::from),
        }
    };
    Ok(listed
        .into_iter()
        .rev()
        .filter(|one| one.activity_type != "branch_deletion")
        .map(moved)
        .collect())
}

/// Enters both into what is known of the makers.
pub(super) async fn authors(
    repo: Repo<'_>,
    Changes { commits, nodes, .. }: &Changes,
) -> Result<Makers> {
    let co_authored: Vec<&Commit> = commits
        .items
        .iter()
        .rev()
        .filter(|commit| co_authors(&commit.message).next().is_some())
        .collect();
    if co_authored.is_empty() {
        return Ok(Makers::default());
    }
    let by_pages = |commit: &&&Commit| {
        commit
            .committer
            .as_ref()
            .is_some_and(|by| by.login.as_str() == WEB_FLOW)
    };
    let suggested = co_authored.iter().filter(by_pages).take(MOST_SUGGESTIONS);
    let suggestions = try_join_all(suggested.map(|commit| files(repo, commit.sha)));
    let ids: Vec<&str> = co_authored
        .iter()
        .take(MOST_COMMITS)
        .filter_map(|commit| Some(nodes.get(&commit.sha)?.as_str()))
        .collect();
    let (suggestions, addresses) = futures::try_join!(suggestions, addresses(&repo, &ids))?;
    Ok(Makers {
        addresses,
        suggestions: suggestions.into_iter().flatten().collect(),
        ..Makers::default()
    })
}

/// The accounts of authors, by their addresses in lower case. Asked once: a commit's trailers do not change.
async fn addresses(client: &Client, ids: &[&str]) -> Result<BTreeMap<String, Account>> {
    let key = format!("/graphql#authors-of-{}", ids.join(","));
    let asked = async || {
        let commits = client.graphql_nodes(QUERY, ids).await?;
        let authors = commits.iter().flat_map(|commit| nodes(&commit["authors"]));
        let named = |author: &Value| {
            Some((
                author["email"].as_str()?.to_owned(),
                GraphqlAccount::at(&author["user"])?,
            ))
        };
        Ok(authors.filter_map(named).collect::<Vec<_>>())
    };
    let found: Vec<(String, GraphqlAccount)> = client.once(&key, |_| true, asked).await?;
    let account = |(address, GraphqlAccount { database_id, login }): (String, GraphqlAccount)| {
        Some((
            address.to_ascii_lowercase(),
            Account {
                id: database_id?,
                login,
                kind: AccountKind::User,
            },
        ))
    };
    Ok(found.into_iter().filter_map(account).collect())
}

/// The files that a commit changes, by either name; `None` if they are not all shown.
async fn files(repo: Repo<'_>, commit: Sha) -> Result<Option<(Sha, BTreeSet<String>)>> {
    const PAGE: usize = 100;
    let path = repo.path(format!("commits/{commit}?per_page={PAGE}"));
    let details = repo
        .get_immutable_json::<CommitFiles>(&path)
        .await
        .or_refused()?
        .flatten();
    let details = details.filter(|details| details.files.len() < PAGE);
    let names = |file: WireFile| {
        [Some(file.filename), file.previous_filename]
            .into_iter()
            .flatten()
    };
    Ok(details.map(|details| (commit, details.files.into_iter().flat_map(names).collect())))
}

/// Merges that are looked into, and folders of each.
const MOST_MERGES: usize = 5;
const MOST_FOLDERS: usize = 60;
/// Files of a merge that both sides changed and whose lines are merged again, and bytes of each.
const MOST_TEXTS: usize = 20;
const LARGEST_TEXT: usize = 512 << 10;

/// Marks the commits that merge the base and hold nothing that neither side has. Merges in doubt are not marked.
pub(super) async fn mark_update_merges(
    repo: Repo<'_>,
    changes: &mut Changes,
    policy: &Policy,
) -> Result<()> {
    let Changes {
        commits, merges, ..
    } = changes;
    let matters = policy
        .gates
        .values()
        .any(|gate| !gate.exclusions.allow_contributors && !gate.exclusions.count_update_merges);
    if !matters || !commits.is_complete {
        return Ok(());
    }
    for (merge, parents) in merges.iter().take(MOST_MERGES) {
        // What is not among the commits of the pull request is on its base.
        let on_the_base = |parent: &Sha| !commits.items.iter().any(|commit| commit.sha == *parent);
        let [ours, merged] = parents[..] else {
            continue;
        };
        let Some(base) = merge_base(repo, ours, merged).await? else {
            continue;
        };
        if on_the_base(&merged) && is_mechanical(repo, [*merge, ours, merged, base]).await? {
            for commit in commits
                .items
                .iter_mut()
                .filter(|commit| commit.sha == *merge)
            {
                commit.update_merge = true;
            }
        }
    }
    Ok(())
}

/// Whether a push brought nothing of its pusher's: each file of the head after it is what the three-way merge of the
/// head before it with the base gives. So it is of a merge of the base and of a rebase. `tip` is the base's.
async fn is_only_merged(repo: Repo<'_>, (before, after): (Sha, Sha), tip: Sha) -> Result<bool> {
    let bases = futures::try_join!(merge_base(repo, tip, before), merge_base(repo, tip, after))?;
    match bases {
        (Some(base), Some(theirs)) => is_mechanical(repo, [after, before, theirs, base]).await,
        _ => Ok(false),
    }
}

/// Whether every path of a merge is as the side that changed it has it, or where both did, as their lines merge without
/// a conflict. Where they conflict, somebody has decided.
///
/// `commits` are the merge, our side, theirs, and their base.
async fn is_mechanical(repo: Repo<'_>, commits: [Sha; 4]) -> Result<bool> {
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
        let (Some(merged), Some(ours), Some(theirs), Some(base)) =
            futures::try_join!(merged, ours, theirs, base)?
        else {
            return Ok(false);
        };
        let all = [&merged, &ours, &theirs, &base];
        let mut names: Vec<&str> = all
            .iter()
            .flat_map(|side| side.iter())
            .map(|entry| entry.path.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let [merged, ours, theirs, base] =
                all.map(|side| side.iter().find(|entry| entry.path == name));
            match merge_whole(base, ours, theirs) {
                Some(expected) if merged == expected => {}
                Some(_) => return Ok(false),
                None if let [Some(merged), Some(ours), Some(theirs), Some(base)] =
                    [merged, ours, theirs, base]
                    && [merged, ours, theirs, base]
                        .iter()
                        .all(|side| side.kind == "blob") =>
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
async fn merges_by_line(
    repo: Repo<'_>,
    [merged, ours, theirs, base]: [&TreeEntry; 4],
) -> Result<bool> {
    if merge_whole(&base.mode, &ours.mode, &theirs.mode) != Some(&merged.mode) {
        return Ok(false);
    }
    let root = repo.root();
    let text = async |side: &TreeEntry| {
        let bytes = repo
            .get_blob(&root, side.sha, LARGEST_TEXT)
            .await
            .or_refused()?
            .flatten();
        Ok::<_, Error>(bytes.and_then(|bytes| String::from_utf8(bytes.to_vec()).ok()))
    };
    let [Some(merged), Some(ours), Some(theirs), Some(base)] = <[_; 4]>::from(futures::try_join!(
        text(merged),
        text(ours),
        text(theirs),
        text(base)
    )?) else {
        return Ok(false);
    };
    Ok(merge_lines(&base, &ours, &theirs).is_some_and(|again| again == merged))
}

/// The entries of a tree, or of a commit's tree; none where GitHub does not return them all.
async fn tree(repo: Repo<'_>, of: Option<Sha>) -> Result<Option<Vec<TreeEntry>>> {
    let Some(of) = of else {
        return Ok(Some(Vec::new()));
    };
    Ok(contents::tree(repo, of).await.or_refused()?.flatten())
}

async fn merge_base(repo: Repo<'_>, ours: Sha, theirs: Sha) -> Result<Option<Sha>> {
    let compared = comparison(repo, ours, theirs).await?;
    Ok(compared
        .and_then(|compared| compared.merge_base_commit)
        .map(|base| base.sha))
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopgate_core::fixtures::{person, sha};

    fn moved(before: Option<u8>, after: u8, by: &str) -> Move {
        let by = Some(person(u64::from(by.as_bytes()[0]), by));
        Move {
            before: before.map(sha),
            after: sha(after),
            is_forced: false,
            by,
        }
    }

    fn forced(before: u8, after: u8, by: &str) -> Move {
        Move {
            is_forced: true,
            ..moved(Some(before), after, by)
        }
    }

    #[test]
    fn the_pushes_that_led_to_the_head() {
        let in_head = |shas: &[u8]| shas.iter().map(|byte| sha(*byte)).collect::<BTreeSet<_>>();
        let made = || moved(None, 1, "alice");
        for (name, moves, head, held, pushers) in [
            ("made", vec![made()], 1, vec![1], Some("alice")),
            (
                "pushed on",
                vec![made(), moved(Some(1), 2, "carol")],
                2,
                vec![1, 2],
                Some("carol alice"),
            ),
            // An empty branch of the base's: 9 is on the base.
            (
                "from the base",
                vec![moved(None, 9, "dan"), moved(Some(9), 2, "alice")],
                2,
                vec![2],
                Some("alice"),
            ),
            // Carol's commit is rewritten away, but the new head is made of it.
            (
                "rewritten",
                vec![made(), moved(Some(1), 2, "carol"), forced(2, 3, "alice")],
                3,
                vec![3],
                Some("alice carol alice"),
            ),
            (
                "forced back",
                vec![made(), moved(Some(1), 2, "carol"), forced(2, 1, "alice")],
                1,
                vec![1],
                Some("alice"),
            ),
            // A head that comes back after it was left still belongs to the person who pushed it first.
            (
                "brought back",
                vec![
                    made(),
                    moved(Some(1), 2, "carol"),
                    forced(2, 1, "alice"),
                    moved(Some(1), 2, "alice"),
                ],
                2,
                vec![1, 2],
                Some("carol alice"),
            ),
            (
                "before lost",
                vec![forced(1, 2, "carol")],
                2,
                vec![1, 2],
                None,
            ),
            ("head lost", vec![made()], 2, vec![1, 2], None),
        ] {
            let found = lineage(&moves, sha(head), &in_head(&held));
            let names = |found: Vec<Move>| {
                found
                    .into_iter()
                    .filter_map(|one| Some(one.by?.login.to_string()))
                    .collect::<Vec<_>>()
                    .join(" ")
            };
            assert_eq!(found.map(names).as_deref(), pushers, "{name}");
        }
    }
}
