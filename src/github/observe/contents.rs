//! Reads the files that a decision wants whole: first where they stand in the trees of their commits, then their blobs.
//! Trees and blobs are named by their content, so each is asked for once, however many commits hold it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use futures::{TryFutureExt as _, future::try_join_all};

use crate::github::client::{
    error::{OrAbsent as _, Result},
    repo::Repo,
    wire::{Tree, TreeEntry},
};
use loopgate_core::{
    Sha,
    observed::{Content, Contents, FileAt, FileEntry, FilesToRead, ObservationProblem, Snapshot},
};

/// How often what was read may ask for more.
const MOST_ROUNDS: usize = 3;
/// Folders and texts of one pull request read at one look.
const MOST_FOLDERS: usize = 400;
const MOST_TEXTS: usize = 200;
/// Bytes of one file, and of all.
const LARGEST_TEXT: usize = 10 << 20;
const MOST_BYTES: usize = 50 << 20;
/// Texts asked for at once: so many may exceed [`MOST_BYTES`].
const TEXTS_AT_ONCE: usize = 4;

/// Fills the snapshot's contents with what is wanted beside them. What cannot be read is left unreadable.
pub(super) async fn read(
    repo: Repo<'_>,
    snapshot: &mut Snapshot,
    wanted_beside: impl Fn(&Snapshot) -> FilesToRead,
) -> Result<()> {
    let mut reader = ContentsReader {
        repo,
        folders: 0,
        texts: 0,
        bytes: 0,
        left_out: 0,
    };
    let mut asked = FilesToRead::default();
    for _ in 0..MOST_ROUNDS {
        let wanted = wanted_beside(snapshot);
        if wanted.is_empty() || wanted == asked {
            break;
        }
        reader.fill(&mut snapshot.contents, &wanted).await?;
        asked = wanted;
    }
    if reader.left_out > 0 {
        let reason = format!(
            "{} could not be read, or are beyond what one look reads",
            reader.left_out
        );
        snapshot.problems.push(ObservationProblem {
            what: "files of the pull request".to_owned(),
            reason,
        });
    }
    Ok(())
}

/// Reads these files of one commit. An absence is certain where the commit's trees were read.
pub(super) async fn of_commit(repo: Repo<'_>, commit: Sha, paths: &[&str]) -> Result<Contents> {
    let mut reader = ContentsReader {
        repo,
        folders: 0,
        texts: 0,
        bytes: 0,
        left_out: 0,
    };
    let texts = paths
        .iter()
        .map(|path| (commit, (*path).to_owned()))
        .collect();
    let mut contents = Contents::default();
    reader
        .fill(
            &mut contents,
            &FilesToRead {
                texts,
                ..FilesToRead::default()
            },
        )
        .await?;
    Ok(contents)
}

/// Git's mode of a folder.
const FOLDER: u32 = 0o40_000;

struct ContentsReader<'a> {
    repo: Repo<'a>,
    folders: usize,
    texts: usize,
    bytes: usize,
    /// Files beyond the limits.
    left_out: usize,
}

impl ContentsReader<'_> {
    async fn fill(&mut self, contents: &mut Contents, wanted: &FilesToRead) -> Result<()> {
        let mut by_commit: BTreeMap<Sha, BTreeSet<&str>> = BTreeMap::new();
        for (commit, path) in wanted.entries.iter().chain(&wanted.texts) {
            if contents.entry(*commit, path).is_none() {
                by_commit.entry(*commit).or_default().insert(path);
            }
        }
        for (commit, paths) in by_commit {
            self.entries(contents, commit, &paths).await?;
        }
        let wanted: Vec<&FileAt> = wanted.texts.iter().collect();
        for together in wanted.chunks(TEXTS_AT_ONCE) {
            let texts = together
                .iter()
                .map(|(commit, path)| self.text(contents.entry(*commit, path)));
            let texts = try_join_all(texts).await?;
            for (file, content) in together.iter().zip(texts) {
                self.texts += 1;
                if let Content::Text(text) = &content {
                    self.bytes += text.len();
                }
                if self.texts > MOST_TEXTS || self.bytes > MOST_BYTES {
                    self.left_out += 1;
                }
                contents.texts.insert((*file).clone(), content);
            }
        }
        Ok(())
    }

    /// Finds files of one commit in its folders, level by level: a file is found by its folder, a folder by its parent.
    async fn entries(
        &mut self,
        contents: &mut Contents,
        commit: Sha,
        paths: &BTreeSet<&str>,
    ) -> Result<()> {
        let mut levels: BTreeMap<usize, BTreeSet<&str>> = BTreeMap::new();
        for path in paths {
            for (depth, (end, _)) in path.match_indices('/').enumerate() {
                levels.entry(depth).or_default().insert(&path[..end]);
            }
        }
        let mut folders = BTreeMap::from([(
            "",
            self.folder(Some(Some(FileEntry {
                mode: FOLDER,
                id: commit,
            })))
            .await?,
        )]);
        for level in levels.into_values() {
            self.folders += level.len();
            let read = level.into_iter().map(|folder| {
                let found = find(&folders, folder);
                self.folder(found).map_ok(move |entries| (folder, entries))
            });
            let read = try_join_all(read).await?;
            folders.extend(read);
        }
        for path in paths {
            match find(&folders, path) {
                Some(entry) => drop(contents.entries.insert((commit, (*path).to_owned()), entry)),
                None => self.left_out += 1,
            }
        }
        Ok(())
    }

    /// What a folder holds; `None` if not all of it can be read.
    async fn folder(&self, found: Option<Option<FileEntry>>) -> Result<Option<Vec<TreeEntry>>> {
        match found {
            Some(Some(entry)) if entry.mode == FOLDER && self.folders <= MOST_FOLDERS => {
                Ok(tree(self.repo, entry.id).await.or_refused()?.flatten())
            }
            None | Some(Some(FileEntry { mode: FOLDER, .. })) => Ok(None),
            Some(_) => Ok(Some(Vec::new())),
        }
    }

    async fn text(&self, entry: Option<Option<FileEntry>>) -> Result<Content> {
        let Some(entry) = entry else {
            return Ok(Content::Unreadable);
        };
        let Some(entry) = entry else {
            return Ok(Content::Absent);
        };
        if !entry.is_file() || self.texts >= MOST_TEXTS || self.bytes >= MOST_BYTES {
            return Ok(Content::Unreadable);
        }
        let bytes = self
            .repo
            .get_blob(&self.repo.root(), entry.id, LARGEST_TEXT)
            .await
            .or_refused()?;
        let Some(bytes) = bytes.map(Option::unwrap_or_default) else {
            return Ok(Content::Unreadable);
        };
        let text = std::str::from_utf8(&bytes)
            .ok()
            .filter(|text| !text.contains('\0'));
        Ok(text.map_or(Content::Unreadable, |text| Content::Text(text.into())))
    }
}

/// What stands at a path, by the folder that holds it; `None` if that folder could not be read.
fn find(folders: &BTreeMap<&str, Option<Vec<TreeEntry>>>, path: &str) -> Option<Option<FileEntry>> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let entries = folders.get(folder)?.as_ref()?;
    let Some(entry) = entries.iter().find(|entry| entry.path == name) else {
        return Some(None);
    };
    Some(Some(FileEntry {
        mode: u32::from_str_radix(&entry.mode, 8).ok()?,
        id: entry.sha,
    }))
}

/// A tree by its id or its commit's; none if GitHub does not list all of it.
pub(super) async fn tree(repo: Repo<'_>, of: impl fmt::Display) -> Result<Option<Vec<TreeEntry>>> {
    let path = repo.path(format!("git/trees/{of}"));
    let tree = repo.get_immutable_json::<Tree>(&path).await?;
    Ok(tree.filter(|tree| !tree.truncated).map(|tree| tree.tree))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wiremock::{Mock, MockServer, ResponseTemplate, matchers::path};

    use super::*;
    use crate::github::client::{
        Client, Github, Setup, auth::Credentials, blob_id, secret::Secret, transport::ApiUrl,
    };
    use loopgate_core::{fixtures, observed::Head};

    /// A commit with `src/a.rs`, a picture and a link, beside a folder that GitHub lists in part.
    async fn server(commit: Sha) -> (MockServer, Client) {
        let server = MockServer::start().await;
        let entry = |path: &str, mode: &str, kind: &str, sha: String| json!({ "path": path, "mode": mode, "type": kind, "sha": sha });
        let answers = [
            (
                commit.to_string(),
                json!({ "tree": [entry("src", "040000", "tree", "1".repeat(40)), entry("large", "040000", "tree", "2".repeat(40))] }),
            ),
            (
                "1".repeat(40),
                json!({ "tree": [
                entry("a.rs", "100644", "blob", blob_id(b"fn a() {}\n").to_string()),
                entry("p.png", "100644", "blob", blob_id(b"\x89PNG\0").to_string()),
                entry("link", "120000", "blob", "3".repeat(40)),
            ] }),
            ),
            ("2".repeat(40), json!({ "tree": [], "truncated": true })),
        ];
        for (tree, body) in answers {
            let at = path(format!("/repos/acme/widgets/git/trees/{tree}"));
            let answer = ResponseTemplate::new(200).set_body_json(body);
            Mock::given(at)
                .respond_with(answer)
                .expect(1)
                .mount(&server)
                .await;
        }
        for bytes in [&b"fn a() {}\n"[..], b"\x89PNG\0"] {
            let at = path(format!("/repos/acme/widgets/git/blobs/{}", blob_id(bytes)));
            let answer = ResponseTemplate::new(200).set_body_bytes(bytes);
            Mock::given(at)
                .respond_with(answer)
                .expect(1)
                .mount(&server)
                .await;
        }
        let api = ApiUrl::parse(&server.uri()).unwrap();
        let github =
            Github::new(api, Credentials::Token(Secret::new("t")), Setup::default()).unwrap();
        let client = github.client(None);
        (server, client)
    }

    #[tokio::test]
    async fn files_are_read_once_by_their_trees_and_blobs() {
        let commit = fixtures::sha(7);
        let (_server, client) = server(commit).await;
        let author = fixtures::person(1, "alice");
        let head = Head {
            sha: commit,
            tree: commit,
            branch: "a".into(),
            repository: None,
            known_since: None,
        };
        let pull_request = fixtures::pull_request(1, "A", author, head);
        let mut snapshot = fixtures::snapshot_of(pull_request, (7, 700), Vec::new());
        let at = |path: &str| (commit, path.to_owned());
        let texts = [
            "src/a.rs",
            "src/p.png",
            "src/link",
            "src/none.rs",
            "new/b.rs",
            "large/c.rs",
            "src",
        ]
        .map(at);
        let wanted = FilesToRead {
            texts: texts.into(),
            entries: [at("src/p.png")].into(),
        };
        let (client, repository) = (&client, snapshot.repository.clone());
        for _ in 0..2 {
            snapshot.contents = Contents::default();
            read(client.repo(&repository), &mut snapshot, |seen| {
                wanted.clone().missing_in(&seen.contents)
            })
            .await
            .unwrap();
            let contents = &snapshot.contents;
            assert_eq!(contents.text(commit, "src/a.rs"), Some("fn a() {}\n"));
            for unreadable in ["src/p.png", "src/link", "large/c.rs", "src"] {
                assert_eq!(
                    contents.get(commit, unreadable),
                    Some(&Content::Unreadable),
                    "{unreadable}"
                );
            }
            for absent in ["src/none.rs", "new/b.rs"] {
                assert_eq!(
                    contents.get(commit, absent),
                    Some(&Content::Absent),
                    "{absent}"
                );
                assert_eq!(contents.entry(commit, absent), Some(None), "{absent}");
            }
            assert!(
                matches!(contents.entry(commit, "src/link"), Some(Some(entry)) if !entry.is_file())
            );
            assert_eq!(
                contents.entry(commit, "large/c.rs"),
                None,
                "its folder is not listed whole"
            );
        }
        assert_eq!(snapshot.problems.len(), 2, "one of each look");
    }
}
