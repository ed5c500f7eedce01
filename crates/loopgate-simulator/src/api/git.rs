//! The Git database: blobs, trees, commits, refs.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Deserialize;

use super::{
    Answer, Route,
    call::{Call, Reply},
    caller::Needs,
    delete, get, patch, post,
};
use crate::{
    git::{Commit, Entry, Files, Kind, Mode, Object, Signature},
    json,
    refused::Refused,
    world::{
        RepoId, World,
        app::{Actor, Area, Level},
    },
};
use loopgate_core::{Sha, Timestamp};

pub const ROUTES: &[Route] = &[
    post("/repos/{owner}/{repo}/git/blobs", create_blob),
    get("/repos/{owner}/{repo}/git/blobs/{sha}", show_blob),
    post("/repos/{owner}/{repo}/git/trees", create_tree),
    get("/repos/{owner}/{repo}/git/trees/{*sha}", show_tree),
    post("/repos/{owner}/{repo}/git/commits", create_commit),
    get("/repos/{owner}/{repo}/git/commits/{sha}", show_commit),
    post("/repos/{owner}/{repo}/git/refs", create_ref),
    get("/repos/{owner}/{repo}/git/ref/{*ref}", show_ref),
    get(
        "/repos/{owner}/{repo}/git/matching-refs/{*ref}",
        matching_refs,
    ),
    get("/repos/{owner}/{repo}/git/matching-refs/", matching_refs),
    patch("/repos/{owner}/{repo}/git/refs/{*ref}", update_ref),
    delete("/repos/{owner}/{repo}/git/refs/{*ref}", delete_ref),
];

const READ: Needs = &[(Area::Contents, Level::Read)];
const WRITE: Needs = &[(Area::Contents, Level::Write)];

/// The caller, who may push to the repository. An empty repository has no Git database yet
/// (docs.github.com, REST, Git database: "409 Conflict … the repository is empty").
fn writer(world: &World, call: &Call) -> Result<(Actor, RepoId), Refused> {
    let (actor, repo) = call.write(world, WRITE)?;
    world.need_push(actor, repo)?;
    refuse_empty(world, repo)?;
    Ok((actor, repo))
}

fn refuse_empty(world: &World, repo: RepoId) -> Result<(), Refused> {
    if world.repo(repo)?.refs.is_empty() {
        return Err(Refused::conflict("Git Repository is empty."));
    }
    Ok(())
}

fn reader(world: &World, call: &Call) -> Result<RepoId, Refused> {
    let repo = call.read(world, READ)?;
    refuse_empty(world, repo)?;
    Ok(repo)
}

#[derive(Deserialize)]
struct NewBlob {
    content: String,
    #[serde(default)]
    encoding: Encoding,
}

#[derive(Default, Deserialize)]
enum Encoding {
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    #[serde(rename = "base64")]
    Base64,
}

fn create_blob(world: &mut World, call: &Call) -> Answer {
    let (_, repo) = writer(world, call)?;
    let blob: NewBlob = call.json()?;
    let content = match blob.encoding {
        Encoding::Utf8 => blob.content.into_bytes(),
        Encoding::Base64 => decode_base64(&blob.content)?,
    };
    let sha = world.objects_mut(repo)?.put_blob(content);
    let url = format!(
        "{}/repos/{}/git/blobs/{sha}",
        world.base_url,
        world.full_name(world.repo(repo)?)
    );
    Ok(Reply::created(
        serde_json::json!({ "sha": sha, "url": url }),
    ))
}

/// With the line breaks that GitHub itself puts in.
pub(super) fn decode_base64(text: &str) -> Result<Vec<u8>, Refused> {
    let text: String = text.split_ascii_whitespace().collect();
    STANDARD
        .decode(text)
        .map_err(|_| Refused::unprocessable("content is not valid Base64"))
}

fn show_blob(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(reader(world, call)?)?;
    let sha = call.sha("sha")?;
    let content = world
        .objects(repo)
        .blob(sha)
        .ok_or_else(Refused::not_found)?;
    if call.accepts("raw") {
        return Ok(Reply::raw(
            "application/vnd.github.raw; charset=utf-8",
            content.clone(),
        ));
    }
    Ok(Reply::ok(json::blob(world, repo, sha, content)))
}

#[derive(Deserialize)]
struct NewTree {
    tree: Vec<NewEntry>,
    base_tree: Option<Sha>,
}

#[derive(Deserialize)]
struct NewEntry {
    path: String,
    #[serde(default)]
    mode: Option<String>,
    /// Absent, null (which deletes the path) or an object id.
    #[serde(default, deserialize_with = "given")]
    sha: Option<Option<Sha>>,
    content: Option<String>,
}

/// Tells a null from an absent key.
fn given<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<Sha>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

fn create_tree(world: &mut World, call: &Call) -> Answer {
    let (_, repo) = writer(world, call)?;
    let new: NewTree = call.json()?;
    let objects = world.objects_mut(repo)?;
    let mut files = match new.base_tree {
        None => Files::new(),
        Some(base) => {
            let tree = objects
                .tree_of(base)
                .ok_or_else(|| Refused::unprocessable("base_tree is not a valid tree oid"))?;
            objects.files(tree)
        }
    };
    for entry in new.tree {
        check_path(&entry.path)?;
        // A file replaces a directory of its name, and the other way round.
        files.retain(|path, _| {
            path != &entry.path && !path.starts_with(&format!("{}/", entry.path))
        });
        let mode = Mode::parse(entry.mode.as_deref().unwrap_or("100644"));
        let mode = mode.ok_or_else(|| {
            Refused::unprocessable(
                "tree.mode must be one of 100644, 100755, 040000, 160000, 120000",
            )
        })?;
        let sha = match (entry.sha, entry.content) {
            (Some(Some(sha)), None) => sha,
            (Some(None), None) => continue,
            (None, Some(content)) => objects.put_blob(content),
            _ => {
                return Err(Refused::unprocessable(
                    "Must supply either tree.sha or tree.content",
                ));
            }
        };
        match mode {
            Mode::Submodule => {
                files.insert(entry.path, Entry { mode, sha });
            }
            Mode::Directory if objects.kind(sha) == Some(Kind::Tree) => {
                let below = objects
                    .files(sha)
                    .into_iter()
                    .map(|(path, e)| (format!("{}/{path}", entry.path), e));
                files.extend(below.collect::<Vec<_>>());
            }
            _ if objects.kind(sha) == Some(Kind::Blob) => {
                files.insert(entry.path, Entry { mode, sha });
            }
            _ => {
                return Err(Refused::unprocessable(format!(
                    "tree.sha {sha} is not a valid {}",
                    mode.kind().as_str()
                )));
            }
        }
    }
    let sha = objects.put_files(&files);
    Ok(Reply::created(tree_shape(world, repo, sha, Depth::Top)?))
}

/// GitHub refuses paths that git would not check out.
pub(super) fn check_path(path: &str) -> Result<(), Refused> {
    let malformed = |part: &str| matches!(part, "" | "." | ".." | ".git") || part.contains('\0');
    if path.split('/').any(malformed) {
        return Err(Refused::unprocessable(
            "tree.path contains a malformed path component",
        ));
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Depth {
    Top,
    All,
}

fn tree_shape(
    world: &World,
    repo: RepoId,
    sha: Sha,
    depth: Depth,
) -> Result<serde_json::Value, Refused> {
    let repo = world.repo(repo)?;
    let tree = world
        .objects(repo)
        .tree_of(sha)
        .ok_or_else(Refused::not_found)?;
    let mut entries = Vec::new();
    world.objects(repo).walk(tree, &mut |path, entry| {
        if matches!(depth, Depth::All) || !path.contains('/') {
            entries.push((path.to_owned(), entry));
        }
    });
    Ok(json::tree(world, repo, tree, &entries))
}

fn show_tree(world: &mut World, call: &Call) -> Answer {
    let repo = reader(world, call)?;
    let name = call.param("sha");
    let sha = world
        .resolve(repo, name)
        .or_else(|| name.parse().ok())
        .ok_or_else(Refused::not_found)?;
    // Any value of `recursive` means yes, even `0` (docs.github.com, REST, Get a tree).
    let depth = if call.query("recursive").is_some() {
        Depth::All
    } else {
        Depth::Top
    };
    Ok(Reply::ok(tree_shape(world, repo, sha, depth)?))
}

#[derive(Deserialize)]
struct NewCommit {
    message: String,
    tree: Sha,
    #[serde(default)]
    parents: Vec<Sha>,
    author: Option<NewSignature>,
    committer: Option<NewSignature>,
}

#[derive(Clone, Deserialize)]
struct NewSignature {
    name: String,
    email: String,
    date: Option<Timestamp>,
}

fn create_commit(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = writer(world, call)?;
    let new: NewCommit = call.json()?;
    let own = world.signature(actor);
    let signature = |given: Option<NewSignature>| match given {
        Some(NewSignature { name, email, date }) => Signature {
            name,
            email,
            at: date.unwrap_or(own.at),
        },
        None => own.clone(),
    };
    // The committer is the author unless it is given (docs.github.com, REST, Create a commit).
    let author = signature(new.author);
    let committer = new
        .committer
        .map_or_else(|| author.clone(), |given| signature(Some(given)));
    let objects = world.objects_mut(repo)?;
    if objects.tree(new.tree).is_none() {
        return Err(Refused::unprocessable("Tree SHA does not exist"));
    }
    if new
        .parents
        .iter()
        .any(|parent| objects.commit(*parent).is_none())
    {
        return Err(Refused::unprocessable(
            "Parent SHA does not exist or is not a commit object",
        ));
    }
    let commit = Commit {
        tree: new.tree,
        parents: new.parents,
        author,
        committer,
        message: new.message,
    };
    let sha = objects.put(Object::Commit(commit.clone()));
    Ok(Reply::created(json::git_commit(
        world,
        world.repo(repo)?,
        sha,
        &commit,
    )))
}

fn show_commit(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(reader(world, call)?)?;
    let sha = call.sha("sha")?;
    let commit = world
        .objects(repo)
        .commit(sha)
        .ok_or_else(Refused::not_found)?;
    Ok(Reply::ok(json::git_commit(world, repo, sha, commit)))
}

#[derive(Deserialize)]
struct NewRef {
    #[serde(rename = "ref")]
    name: String,
    sha: Sha,
}

fn create_ref(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = writer(world, call)?;
    let new: NewRef = call.json()?;
    let well_formed = new.name.starts_with("refs/")
        && new.name.matches('/').count() >= 2
        && !new.name.ends_with('/');
    if !well_formed
        || new
            .name
            .split('/')
            .any(|part| part.is_empty() || part.starts_with('.') || part.contains(".."))
    {
        return Err(Refused::unprocessable(format!(
            "{} is not a valid ref name.",
            new.name
        )));
    }
    if new.name.starts_with("refs/pull/") {
        return Err(Refused::unprocessable("Reference update failed"));
    }
    if world.ref_target(repo, &new.name).is_some() {
        return Err(Refused::unprocessable("Reference already exists"));
    }
    if world.objects(world.repo(repo)?).kind(new.sha).is_none() {
        return Err(Refused::unprocessable("Object does not exist"));
    }
    world.set_ref(actor, repo, &new.name, Some(new.sha))?;
    Ok(Reply::created(json::git_ref(
        world,
        world.repo(repo)?,
        &new.name,
        new.sha,
    )))
}

fn show_ref(world: &mut World, call: &Call) -> Answer {
    let repo = reader(world, call)?;
    let name = format!("refs/{}", call.param("ref"));
    let sha = world
        .ref_target(repo, &name)
        .ok_or_else(Refused::not_found)?;
    Ok(Reply::ok(json::git_ref(
        world,
        world.repo(repo)?,
        &name,
        sha,
    )))
}

/// Every ref whose name starts so; none is an empty list, not an error.
fn matching_refs(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(reader(world, call)?)?;
    let prefix = format!("refs/{}", call.param("ref"));
    let found: Vec<_> = repo
        .refs
        .iter()
        .filter(|(name, _)| name.starts_with(&prefix))
        .collect();
    Ok(call.list(found, |(name, sha)| json::git_ref(world, repo, name, *sha)))
}

#[derive(Deserialize)]
struct RefUpdate {
    sha: Sha,
    #[serde(default)]
    force: bool,
}

fn update_ref(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = writer(world, call)?;
    let update: RefUpdate = call.json()?;
    let name = format!("refs/{}", call.param("ref"));
    // Not 404: a ref that is gone is refused as one that cannot be updated.
    let old = world
        .ref_target(repo, &name)
        .ok_or_else(|| Refused::unprocessable("Reference does not exist"))?;
    let objects = world.objects(world.repo(repo)?);
    if objects.commit(update.sha).is_none() {
        return Err(Refused::unprocessable("Object does not exist"));
    }
    if !update.force && !objects.is_fast_forward(old, update.sha) {
        return Err(Refused::unprocessable("Update is not a fast forward"));
    }
    world.set_ref(actor, repo, &name, Some(update.sha))?;
    Ok(Reply::ok(json::git_ref(
        world,
        world.repo(repo)?,
        &name,
        update.sha,
    )))
}

fn delete_ref(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = writer(world, call)?;
    let name = format!("refs/{}", call.param("ref"));
    world
        .ref_target(repo, &name)
        .ok_or_else(|| Refused::unprocessable("Reference does not exist"))?;
    world.set_ref(actor, repo, &name, None)?;
    Ok(Reply::no_content())
}
