//! Git data, commits, comparisons, contents.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    node_id,
    people::{merge, user},
    quoted, repo_page, repo_url, time,
};
use crate::{
    git::{Commit, Comparison, Entry, FileChange, Kind, Mode, Signature},
    world::{World, repo::Repo},
};
use loopgate_core::Sha;

/// `git-ref`.
pub fn git_ref(world: &World, repo: &Repo, name: &str, sha: Sha) -> Value {
    let url = repo_url(world, repo);
    let kind = world.objects(repo).kind(sha).unwrap_or(Kind::Commit);
    json!({
        "ref": name, "node_id": node_id("Ref", format_args!("{}:{name}", repo.id)), "url": format!("{url}/git/{}", quoted(name)),
        "object": { "sha": sha, "type": kind.as_str(), "url": format!("{url}/git/{}s/{sha}", kind.as_str()) },
    })
}

pub fn blob(world: &World, repo: &Repo, sha: Sha, content: &Bytes) -> Value {
    json!({
        "sha": sha, "node_id": node_id("Blob", sha), "size": content.len(),
        "url": format!("{}/git/blobs/{sha}", repo_url(world, repo)), "content": wrapped(content), "encoding": "base64",
    })
}

/// Base64 as GitHub sends it, with a newline after every 60 characters.
fn wrapped(content: &[u8]) -> String {
    let text = STANDARD.encode(content);
    // Base64 is ASCII, so every 60 bytes are text.
    text.as_bytes()
        .chunks(60)
        .fold(String::new(), |lines, chunk| {
            lines + &String::from_utf8_lossy(chunk) + "\n"
        })
}

/// `git-tree`; with `recursive` every level below.
pub fn tree(world: &World, repo: &Repo, sha: Sha, entries: &[(String, Entry)]) -> Value {
    let url = repo_url(world, repo);
    let entries: Vec<_> = entries
        .iter()
        .map(|(path, entry)| {
            let kind = entry.mode.kind();
            let mut object =
                json!({ "path": path, "mode": entry.mode.as_str(), "type": kind.as_str(), "sha": entry.sha });
            if let Some(content) = world.objects(repo).blob(entry.sha) {
                object["size"] = content.len().into();
            }
            object["url"] = format!("{url}/git/{}s/{}", kind.as_str(), entry.sha).into();
            object
        })
        .collect();
    json!({ "sha": sha, "url": format!("{url}/git/trees/{sha}"), "tree": entries, "truncated": false })
}

fn git_user(signature: &Signature) -> Value {
    json!({ "name": signature.name, "email": signature.email, "date": time(signature.at) })
}

fn unverified() -> Value {
    json!({ "verified": false, "reason": "unsigned", "signature": null, "payload": null, "verified_at": null })
}

/// `git-commit`, of the Git database API.
pub fn git_commit(world: &World, repo: &Repo, sha: Sha, commit: &Commit) -> Value {
    let (url, page) = (repo_url(world, repo), repo_page(world, repo));
    let parents: Vec<_> = commit
        .parents
        .iter()
        .map(|p| json!({ "sha": p, "url": format!("{url}/git/commits/{p}"), "html_url": format!("{page}/commit/{p}") }))
        .collect();
    json!({
        "sha": sha, "node_id": node_id("Commit", sha), "url": format!("{url}/git/commits/{sha}"),
        "html_url": format!("{page}/commit/{sha}"), "author": git_user(&commit.author),
        "committer": git_user(&commit.committer), "message": commit.message,
        "tree": { "sha": commit.tree, "url": format!("{url}/git/trees/{}", commit.tree) }, "parents": parents,
        "verification": unverified(),
    })
}

/// `commit`, of the commits API: with the accounts that the addresses belong to. Null for objects that are no commit.
pub fn commit(world: &World, repo: &Repo, sha: Sha) -> Value {
    let Some(commit) = world.objects(repo).commit(sha) else {
        return Value::Null;
    };
    let (url, page) = (repo_url(world, repo), repo_page(world, repo));
    let parents: Vec<_> = commit
        .parents
        .iter()
        .map(|p| json!({ "sha": p, "url": format!("{url}/commits/{p}"), "html_url": format!("{page}/commit/{p}") }))
        .collect();
    json!({
        "sha": sha, "node_id": node_id("Commit", sha), "url": format!("{url}/commits/{sha}"),
        "html_url": format!("{page}/commit/{sha}"), "comments_url": format!("{url}/commits/{sha}/comments"),
        "commit": {
            "url": format!("{url}/git/commits/{sha}"), "author": git_user(&commit.author),
            "committer": git_user(&commit.committer), "message": commit.message,
            "tree": { "sha": commit.tree, "url": format!("{url}/git/trees/{}", commit.tree) }, "comment_count": 0,
            "verification": unverified(),
        },
        "author": account_of(world, &commit.author), "committer": account_of(world, &commit.committer),
        "parents": parents,
    })
}

/// Null where the address belongs to no account.
fn account_of(world: &World, signature: &Signature) -> Value {
    world
        .account_by_email(&signature.email)
        .map_or(Value::Null, |account| user(world, account.id))
}

/// A commit with its statistics and a page of its files.
pub fn commit_detail(
    world: &World,
    repo: &Repo,
    sha: Sha,
    totals: (usize, usize),
    files: Vec<Value>,
) -> Value {
    let mut object = commit(world, repo, sha);
    let (additions, deletions) = totals;
    merge(
        &mut object,
        json!({
            "stats": { "additions": additions, "deletions": deletions, "total": additions + deletions },
            "files": files,
        }),
    );
    object
}

/// `head_commit` of payloads and workflow runs.
pub fn head_commit(world: &World, repo: &Repo, sha: Sha) -> Value {
    let Some(commit) = world.objects(repo).commit(sha) else {
        return Value::Null;
    };
    let who = |signature: &Signature| json!({ "name": signature.name, "email": signature.email });
    json!({
        "id": sha, "tree_id": commit.tree, "message": commit.message, "timestamp": time(commit.committer.at),
        "author": who(&commit.author), "committer": who(&commit.committer),
    })
}

/// `diff-entry`: one changed file, seen from the commit `at`.
pub fn changed_file(world: &World, repo: &Repo, at: Sha, change: &FileChange) -> Value {
    let (url, page, path) = (
        repo_url(world, repo),
        repo_page(world, repo),
        quoted(&change.path),
    );
    let lines = world.objects(repo).line_diff(change);
    let entry = change.new.or(change.old);
    let mut object = json!({
        "sha": entry.map(|entry| entry.sha), "filename": change.path, "status": change.status.as_str(),
        "additions": lines.additions, "deletions": lines.deletions, "changes": lines.additions + lines.deletions,
        "blob_url": format!("{page}/blob/{at}/{path}"), "raw_url": format!("{page}/raw/{at}/{path}"),
        "contents_url": format!("{url}/contents/{path}?ref={at}"),
    });
    if let Some(patch) = lines.patch {
        object["patch"] = patch.into();
    }
    if let Some(previous) = &change.previous {
        object["previous_filename"] = previous.as_str().into();
    }
    object
}

/// `commit-comparison`.
pub fn comparison(
    world: &World,
    repo: &Repo,
    (base, head): (Sha, Sha),
    found: &Comparison,
    (commits, files): (&[Sha], Vec<Value>),
) -> Value {
    let (url, page) = (repo_url(world, repo), repo_page(world, repo));
    let span = format!("compare/{base}...{head}");
    json!({
        "url": format!("{url}/{span}"), "html_url": format!("{page}/{span}"), "permalink_url": format!("{page}/{span}"),
        "diff_url": format!("{page}/{span}.diff"), "patch_url": format!("{page}/{span}.patch"),
        "base_commit": commit(world, repo, base), "merge_base_commit": commit(world, repo, found.merge_base),
        "status": found.status(), "ahead_by": found.ahead.len(), "behind_by": found.behind_by,
        "total_commits": found.ahead.len(),
        "commits": commits.iter().map(|sha| commit(world, repo, *sha)).collect::<Vec<_>>(), "files": files,
    })
}

/// GitHub sends contents up to 1 MB; above, `content` is empty and only the raw media type gives them
/// (docs.github.com, REST, Get repository content).
const MAX_INLINE: usize = 1024 * 1024;

/// `content-file`, `content-symlink` or `content-submodule`, as a single answer.
pub fn content(world: &World, repo: &Repo, reference: &str, path: &str, entry: Entry) -> Value {
    let mut object = listed_content(world, repo, reference, path, entry);
    match (entry.mode, world.objects(repo).blob(entry.sha)) {
        (Mode::Symlink, Some(target)) => object["target"] = String::from_utf8_lossy(target).into(),
        (Mode::Submodule, _) => object["submodule_git_url"] = Value::Null,
        (_, Some(content)) if content.len() <= MAX_INLINE => {
            merge(
                &mut object,
                json!({ "content": wrapped(content), "encoding": "base64" }),
            );
        }
        _ => merge(&mut object, json!({ "content": "", "encoding": "none" })),
    }
    object
}

/// `content-directory`.
pub fn directory(world: &World, repo: &Repo, reference: &str, path: &str, tree: Sha) -> Value {
    let Some(tree) = world.objects(repo).tree(tree) else {
        return json!([]);
    };
    let full = |name: &str| {
        if path.is_empty() {
            name.to_owned()
        } else {
            format!("{path}/{name}")
        }
    };
    tree.entries()
        .iter()
        .map(|(name, entry)| listed_content(world, repo, reference, &full(name), *entry))
        .collect()
}

fn listed_content(world: &World, repo: &Repo, reference: &str, path: &str, entry: Entry) -> Value {
    let (api, page, quoted_path) = (repo_url(world, repo), repo_page(world, repo), quoted(path));
    let kind = match entry.mode {
        Mode::Directory => "dir",
        Mode::Symlink => "symlink",
        // Submodules are listed as files, for old clients (docs.github.com, REST, Get repository content).
        Mode::Submodule | Mode::File | Mode::Executable => "file",
    };
    let url = format!("{api}/contents/{quoted_path}?ref={reference}");
    let git_url = format!("{api}/git/{}s/{}", entry.mode.kind().as_str(), entry.sha);
    let html_url = format!(
        "{page}/{}/{reference}/{quoted_path}",
        entry.mode.kind().as_str()
    );
    let raw = (kind == "file").then(|| format!("{page}/raw/{reference}/{quoted_path}"));
    json!({
        "type": kind, "name": path.rsplit('/').next(), "path": path, "sha": entry.sha,
        "size": world.objects(repo).blob(entry.sha).map_or(0, Bytes::len), "url": url, "git_url": git_url,
        "html_url": html_url, "download_url": raw, "_links": { "self": url, "git": git_url, "html": html_url },
    })
}
