//! Hidden refs through GitHub's Git database API (<https://docs.github.com/en/rest/git>).
//!
//! A compare-and-swap is a fast-forward-only update: the new commit's parent is the tip that was read, so an update
//! that is no fast-forward means that somebody else moved the ref. Ref reads may lag a write, so we remember which tip
//! we have replaced, and go on from the newer one. That is right even where the read did not lag: our update is still a
//! fast-forward.

use std::fmt;

use bytes::Bytes;
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::github::client::{
    Client,
    error::{Error, OrAbsent as _},
    path,
    retry::Repeat,
    transport::Accept,
    wire::{GitCommit, ObjectRef, Repository, Tree},
};
use loopgate_core::{RepoName, Sha, Timestamp};
use loopgate_refs::{GitObjects, HISTORY_FILE, ListObjects, NewCommit, RefName, RefsError, Result};

/// Pages of refs read at most, of 100 each.
const MOST_PAGES_OF_REFS: usize = 50;

/// All of the updates are made or none, and each only where the ref is at `beforeOid`; zeros stand for a ref that does
/// not exist (<https://docs.github.com/en/graphql/reference/mutations#updaterefs>).
const UPDATE_REFS: &str =
    "mutation($input: UpdateRefsInput!) { updateRefs(input: $input) { clientMutationId } }";

/// The git database of one repository on GitHub.
#[derive(Clone)]
pub struct GithubObjects {
    client: Client,
    repository: RepoName,
}

#[derive(Deserialize)]
struct Reference {
    #[serde(rename = "ref")]
    name: String,
    object: ObjectRef,
}

impl GithubObjects {
    pub const fn new(client: Client, repository: RepoName) -> Self {
        Self { client, repository }
    }

    fn path(&self, below: impl fmt::Display) -> String {
        format!("{}/git/{below}", path::repo(&self.repository))
    }

    fn file_path(&self, commit: Sha, file: &str) -> String {
        format!(
            "{}/contents/{}?ref={commit}",
            path::repo(&self.repository),
            path::escape_path(file)
        )
    }

    /// Not a path of GitHub's: the name under which it is remembered what we replaced a tip by.
    fn replaced_path(&self, name: &RefName, old: Sha) -> String {
        self.path(format_args!("replaced/{}/{old}", name.short()))
    }

    fn ref_path(&self, name: &RefName) -> String {
        self.path(format_args!("ref/{}", name.short()))
    }

    /// Notes that nothing is done because a ref was read as absent.
    pub(in crate::github) fn relies_on_absence(&self, name: &RefName) {
        self.client.relies_on_absence(&self.ref_path(name));
    }

    /// What we replaced a tip by, or the tip.
    fn newest(&self, name: &RefName, mut tip: Sha) -> Sha {
        let newer = |tip| {
            self.client
                .recall(&self.replaced_path(name, tip), Accept::Raw)
        };
        while let Some(newer) =
            newer(tip).and_then(|text| std::str::from_utf8(&text).ok()?.parse().ok())
        {
            tip = newer;
        }
        tip
    }

    fn replaces(&self, name: &RefName, old: Sha, new: Sha) {
        self.client.remember(
            &self.replaced_path(name, old),
            Accept::Raw,
            Bytes::from(new.to_string()),
        );
    }

    /// When a commit was made, and whether that was known without a request.
    ///
    /// # Errors
    /// When GitHub does not answer.
    pub(in crate::github) async fn made_at(&self, sha: Sha) -> Result<(Timestamp, bool)> {
        let is_known = self
            .client
            .recall(&self.path(format_args!("commits/{sha}")), Accept::Json)
            .is_some();
        let made_at = self.commit(sha).await?.made_at();
        Ok((
            made_at
                .ok_or_else(|| RefsError::Refused(format!("commit {} has no date", sha.short())))?,
            is_known,
        ))
    }

    /// Moves refs, all of them or none, each from where it was to where it is to be; none is a ref that does not exist.
    /// Returns whether GitHub did so. It gives no reason otherwise: read the refs again.
    ///
    /// # Errors
    /// When GitHub does not answer, or asks to wait.
    pub(in crate::github) async fn move_all(
        &self,
        moves: &[(RefName, Option<Sha>, Option<Sha>)],
    ) -> Result<bool> {
        let repository: Repository = self.client.get(&path::repo(&self.repository)).await?;
        let oid = |at: &Option<Sha>| at.unwrap_or(Sha::from_bytes([0; 20]));
        let updates: Vec<Value> = (moves.iter())
            .map(|(name, old, new)| json!({ "name": name.to_string(), "beforeOid": oid(old), "afterOid": oid(new) }))
            .collect();
        let input = json!({ "repositoryId": repository.node_id, "refUpdates": updates });
        let answer = self
            .client
            .graphql(UPDATE_REFS, json!({ "input": input }))
            .await
            .or_refused()?;
        let is_done = answer.is_some_and(|answer| answer["data"]["updateRefs"].is_object());
        for (name, old, new) in moves.iter().filter(|_| is_done) {
            if let (Some(old), Some(new)) = (old, new) {
                self.replaces(name, *old, *new);
            }
        }
        Ok(is_done)
    }

    async fn commit(&self, sha: Sha) -> Result<GitCommit> {
        let commit = self.client.repo(&self.repository).git_commit(sha).await?;
        commit.ok_or_else(|| RefsError::Refused(format!("commit {} is gone", sha.short())))
    }
}

impl GitObjects for GithubObjects {
    async fn read_ref(&self, name: &RefName) -> Result<Option<Sha>> {
        let path = self.ref_path(name);
        let found = match self.client.get::<Reference>(&path).await.or_absent() {
            Ok(found) => found.map(|reference| reference.object.sha),
            // An empty repository has no refs at all (409).
            Err(Error::Rejected { status: 409, .. }) => None,
            Err(error) => return Err(error.into()),
        };
        Ok(found.map(|tip| self.newest(name, tip)))
    }

    async fn read_file(&self, commit: Sha, file: &str, limit: usize) -> Result<Option<Vec<u8>>> {
        match self
            .client
            .file(&self.file_path(commit, file), limit, true)
            .await
        {
            Ok(bytes) => Ok(bytes.map(|bytes| bytes.to_vec())),
            Err(Error::TooLarge { limit, .. }) => Err(RefsError::TooLarge {
                path: file.to_owned(),
                limit,
            }),
            Err(error) => Err(error.into()),
        }
    }

    async fn parent(&self, commit: Sha) -> Result<Option<Sha>> {
        Ok(self
            .commit(commit)
            .await?
            .parents
            .first()
            .map(|parent| parent.sha))
    }

    async fn write_commit(&self, commit: NewCommit<'_>) -> Result<Sha> {
        let entries: Vec<Value> = commit
            .files
            .iter()
            .map(|(path, content)| json!({ "path": path, "mode": "100644", "type": "blob", "content": content }))
            .collect();
        let mut body = json!({ "tree": entries });
        if let Some(parent) = commit.parent {
            body["base_tree"] = json!(self.commit(parent).await?.tree.sha);
        }
        let send = async |below: &str, body: &Value| -> Result<Sha> {
            // Named by their content: a second one is the same, or harmless.
            let object: ObjectRef = self
                .client
                .post(&self.path(below), body, Repeat::Safe)
                .await?;
            Ok(object.sha)
        };
        let tree = send("trees", &body).await?;
        let parents: Vec<Sha> = commit.parent.iter().chain(commit.keeps).copied().collect();
        let sha = send(
            "commits",
            &json!({ "message": commit.subject, "tree": tree, "parents": parents }),
        )
        .await?;
        // What we have just written need not be read back at the next reconcile.
        let parents: Vec<_> = parents
            .iter()
            .map(|parent| json!({ "sha": parent }))
            .collect();
        let committer = json!({ "date": self.client.now() });
        let known = json!({ "tree": { "sha": tree }, "parents": parents, "committer": committer })
            .to_string();
        self.client.remember(
            &self.path(format_args!("commits/{sha}")),
            Accept::Json,
            known.into(),
        );
        for (path, content) in commit.files {
            self.client.remember(
                &self.file_path(sha, path),
                Accept::Raw,
                Bytes::from(content.clone()),
            );
        }
        // Nor does what the commit leaves as it was: a server that lags would answer that there is no history, and a
        // new one would take its place.
        if commit.files.iter().all(|(path, _)| path != HISTORY_FILE)
            && let Some(parent) = commit.parent
            && let Some(history) = self
                .client
                .recall(&self.file_path(parent, HISTORY_FILE), Accept::Raw)
        {
            self.client
                .remember(&self.file_path(sha, HISTORY_FILE), Accept::Raw, history);
        }
        Ok(sha)
    }

    async fn compare_and_swap(&self, name: &RefName, old: Option<Sha>, new: Sha) -> Result<()> {
        let (method, path, body) = match old {
            None => (
                Method::POST,
                self.path("refs"),
                json!({ "ref": name.to_string(), "sha": new }),
            ),
            Some(_) => {
                let path = self.path(format_args!("refs/{}", name.short()));
                (Method::PATCH, path, json!({ "sha": new, "force": false }))
            }
        };
        let answer = self
            .client
            .send(method, &path, Some(&body), Repeat::Safe)
            .await;
        match answer {
            Ok(()) => {
                if let Some(old) = old {
                    self.replaces(name, old, new);
                }
                Ok(())
            }
            // Not a fast-forward, exists already, does not exist: the message differs by version, the remedy does not.
            Err(
                Error::Rejected {
                    status: 409 | 422, ..
                }
                | Error::NotFound { .. },
            ) => Err(RefsError::RefMoved { name: name.clone() }),
            Err(error) => Err(error.into()),
        }
    }

    async fn was_called(&self, name: &RepoName) -> Result<bool> {
        Ok(self.client.repo(&self.repository).was_called(name).await?)
    }

    async fn delete_ref(&self, name: &RefName) -> Result<()> {
        let path = self.path(format_args!("refs/{}", name.short()));
        match self
            .client
            .send(Method::DELETE, &path, None, Repeat::Safe)
            .await
        {
            Ok(()) | Err(Error::NotFound { .. } | Error::Rejected { status: 422, .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    async fn refs(&self, below: &str) -> Result<Vec<(RefName, Sha)>> {
        let path = self.path(format_args!("matching-refs/loopgate/{below}"));
        let found = match self
            .client
            .list::<Reference>(&path, MOST_PAGES_OF_REFS)
            .await
        {
            Ok(found) => found.items,
            // As in `read_ref`.
            Err(Error::Rejected { status: 409, .. }) => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        let named = |found: Reference| {
            let name = RefName::of(&found.name)?;
            let tip = self.newest(&name, found.object.sha);
            Some((name, tip))
        };
        Ok(found.into_iter().filter_map(named).collect())
    }
}

impl ListObjects for GithubObjects {
    async fn list_folder(&self, commit: Sha, folder: &str) -> Result<Vec<String>> {
        let tree = async |sha: Sha| {
            let path = self.path(format_args!("trees/{sha}"));
            Ok::<_, RefsError>(
                self.client
                    .get_immutable_json::<Tree>(&path)
                    .await?
                    .unwrap_or_default()
                    .tree,
            )
        };
        let mut listed = tree(self.commit(commit).await?.tree.sha).await?;
        if !folder.is_empty() {
            let Some(found) = listed.into_iter().find(|entry| entry.path == folder) else {
                return Ok(Vec::new());
            };
            listed = tree(found.sha).await?;
        }
        Ok(listed.into_iter().map(|entry| entry.path).collect())
    }
}

impl From<Error> for RefsError {
    fn from(error: Error) -> Self {
        match error.is_refusal() {
            true => Self::Refused(error.to_string()),
            false => Self::Fault {
                message: error.to_string(),
                retry: error.retry(),
            },
        }
    }
}
