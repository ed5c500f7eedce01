//! What was read before: documents by their ETag, and what its path names by content for good.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use serde::{
    Deserialize, Serialize,
    de::{DeserializeOwned, IgnoredAny},
};
use sha1::{Digest as _, Sha1};

use super::{Client, JSON_LIMIT, Page, Parse, parse, unreadable};
use crate::github::client::{
    cache::{CacheKey, CachedAnswer},
    error::{Error, OrAbsent as _, Result},
    transport::{Accept, Outgoing},
};
use loopgate_core::Sha;

impl Client {
    /// One document, or page of a list, with its paging links; conditionally when it was read before. Only what could
    /// be read is kept.
    pub(in crate::github) async fn get_page<T>(
        &self,
        path: &str,
        parse: Parse<T>,
    ) -> Result<Page<T>> {
        let key = self.key(path, Accept::Json)?;
        let known = self.shared.hub.setup.cache.get(&key);
        let (etag, known) = match known.as_deref() {
            Some(CachedAnswer::Tagged { etag, link, body }) => {
                (Some(etag.as_str()), Some((link, body)))
            }
            _ => (None, None),
        };
        let request = Outgoing {
            etag,
            ..Outgoing::read(path, Accept::Json, JSON_LIMIT)
        };
        let answer = self.read(&request).await?.or_redirected(path)?;
        let link = answer.header("link").map(str::to_owned);
        if let (304, Some((known_link, body))) = (answer.status.as_u16(), known) {
            self.shared.hub.health.counts.lock().usage.not_modified += 1;
            return Ok(Page {
                links: link.or_else(|| known_link.clone()),
                content: parse(path, body)?,
            });
        }
        let content = parse(path, &answer.body)?;
        if let Some(etag) = answer.header("etag").map(str::to_owned) {
            let answer = CachedAnswer::Tagged {
                etag,
                link: link.clone(),
                body: answer.body,
            };
            self.shared.hub.setup.cache.put(key, answer);
        }
        Ok(Page {
            links: link,
            content,
        })
    }

    /// The bytes of a file at a commit, or `None` where there is none; `path` is one of `…/contents/…?ref=COMMIT`.
    /// Asked once, since neither can change.
    ///
    /// The file is asked for as JSON, which names the blob: what does not have its id was cut off on the way, and is
    /// never kept.
    ///
    /// # Errors
    /// Every kind of [`Error`] but not found; [`Error::TooLarge`] above `limit` bytes.
    pub(crate) async fn get_file(&self, path: &str, limit: usize) -> Result<Option<Bytes>> {
        self.file(path, limit, false).await
    }

    /// [`get_file`](Self::get_file). Where a document that we write is absent, it was not written yet.
    pub(crate) async fn file(
        &self,
        path: &str,
        limit: usize,
        may_be_absent: bool,
    ) -> Result<Option<Bytes>> {
        self.once_or_absent(path, Accept::Raw, async || {
            // Base64, broken into lines, and the other fields.
            let limit_of_json = limit / 2 * 3 + (64 << 10);
            let request = Outgoing {
                may_be_absent,
                ..Outgoing::read(path, Accept::Json, limit_of_json)
            };
            let answer = self.read(&request).await?.or_redirected(path)?;
            let file = match parse::<Contents>(path, &answer.body)? {
                Contents::File(file) if file.size > limit => {
                    return Err(Error::TooLarge {
                        path: path.to_owned(),
                        limit,
                    });
                }
                Contents::File(file) => file,
                // A folder, a submodule.
                Contents::Other(_) => return Ok(None),
            };
            let bytes = match file.inline() {
                Some(bytes) => bytes,
                // Above 1 MB the content is left out
                // (<https://docs.github.com/en/rest/repos/contents#get-repository-content>).
                None => {
                    let repository = path
                        .split_once("/contents/")
                        .map_or(path, |(repository, _)| repository);
                    return self.get_blob(repository, file.sha, limit).await;
                }
            };
            if blob_id(&bytes) != file.sha {
                return Err(unreadable(
                    path,
                    "the content is not that of the blob it names",
                ));
            }
            Ok(Some(bytes))
        })
        .await
    }

    /// The bytes of a blob; `None` where there is none. Asked once.
    ///
    /// # Errors
    /// Every kind of [`Error`] but not found; [`Error::TooLarge`] above `limit` bytes.
    pub(crate) async fn get_blob(
        &self,
        repository: &str,
        blob: Sha,
        limit: usize,
    ) -> Result<Option<Bytes>> {
        let path = format!("{repository}/git/blobs/{blob}");
        self.once_or_absent(&path, Accept::Raw, async || {
            let body = self
                .read(&Outgoing::read(&path, Accept::Raw, limit))
                .await?
                .or_redirected(&path)?
                .body;
            match blob_id(&body) == blob {
                true => Ok(Some(body)),
                false => Err(unreadable(
                    &path,
                    "the content is not that of the blob it names",
                )),
            }
        })
        .await
    }

    /// A JSON document that the path names by its content (a commit, an id), or `None` where there is none. Asked once,
    /// since neither can change.
    ///
    /// # Errors
    /// Every kind of [`Error`] but not found.
    pub(crate) async fn get_immutable_json<T: DeserializeOwned>(
        &self,
        path: &str,
    ) -> Result<Option<T>> {
        let read = async || {
            let body = self
                .read(&Outgoing::read(path, Accept::Json, JSON_LIMIT))
                .await?
                .or_redirected(path)?
                .body;
            parse::<T>(path, &body).map(|_| Some(body))
        };
        let body = self.once_or_absent(path, Accept::Json, read).await?;
        body.map(|body| parse(path, &body)).transpose()
    }

    /// What was read before, or is read now. An absence is never kept: a server that lags behind a push answers so too.
    async fn once_or_absent(
        &self,
        path: &str,
        accept: Accept,
        read: impl AsyncFnOnce() -> Result<Option<Bytes>>,
    ) -> Result<Option<Bytes>> {
        if let Some(known) = self.recall(path, accept) {
            return Ok(Some(known));
        }
        let body = read().await.or_absent()?.flatten();
        if let Some(body) = &body {
            self.remember(path, accept, body.clone());
        }
        Ok(body)
    }

    /// Remembers what a path that names its content will answer, because we have just written it.
    pub(crate) fn remember(&self, path: &str, accept: Accept, body: Bytes) {
        if let Ok(key) = self.key(path, accept) {
            self.shared
                .hub
                .setup
                .cache
                .put(key, CachedAnswer::Immutable(body));
        }
    }

    /// What [`remember`](Self::remember) keeps for a path, or an earlier read found there.
    pub(crate) fn recall(&self, path: &str, accept: Accept) -> Option<Bytes> {
        match self
            .shared
            .hub
            .setup
            .cache
            .get(&self.key(path, accept).ok()?)
            .as_deref()
        {
            Some(CachedAnswer::Immutable(body)) => Some(body.clone()),
            _ => None,
        }
    }

    /// Reads something once that the key names by its content, whatever requests it takes. The key is a path below the
    /// API that GitHub does not have. What is not to be kept, or follows from a refusal in doubt, is read again.
    ///
    /// # Errors
    /// Those of `read`.
    pub(crate) async fn once<T: Serialize + DeserializeOwned>(
        &self,
        key: &str,
        is_kept: impl Fn(&T) -> bool,
        read: impl AsyncFnOnce() -> Result<T>,
    ) -> Result<T> {
        if let Some(known) = self
            .recall(key, Accept::Json)
            .and_then(|known| serde_json::from_slice(&known).ok())
        {
            return Ok(known);
        }
        let doubts = self.doubts();
        let found = read().await?;
        if is_kept(&found)
            && doubts == self.doubts()
            && let Ok(bytes) = serde_json::to_vec(&found)
        {
            self.remember(key, Accept::Json, bytes.into());
        }
        Ok(found)
    }

    pub(super) fn key(&self, path: &str, accept: Accept) -> Result<CacheKey> {
        let url = self.shared.hub.transport.address(path)?;
        Ok(CacheKey {
            installation: self.shared.installation,
            url,
            accept: accept.as_str(),
        })
    }
}

/// `GET …/contents/{path}`.
#[derive(Deserialize)]
#[serde(untagged)]
pub(in crate::github) enum Contents {
    File(FileContents),
    Other(IgnoredAny),
}

#[derive(Deserialize)]
pub(in crate::github) struct FileContents {
    size: usize,
    sha: Sha,
    content: String,
    encoding: String,
}

impl FileContents {
    /// The bytes, where they came along.
    pub fn inline(&self) -> Option<Bytes> {
        let packed: String = self.content.split_ascii_whitespace().collect();
        let bytes = (self.encoding == "base64").then(|| BASE64_STANDARD.decode(packed).ok())??;
        Some(bytes.into())
    }
}

/// The id that git gives to a file's content.
pub(in crate::github) fn blob_id(bytes: &[u8]) -> Sha {
    let header = format!("blob {}\0", bytes.len());
    let digest = Sha1::new()
        .chain_update(header)
        .chain_update(bytes)
        .finalize();
    hex::encode(digest)
        .parse()
        .expect("a SHA-1 in hexadecimal is a commit or blob id")
}
