//! The organisation's defaults: `loopgate.yml` in its `.github` repository.
//!
//! They are believed for five minutes. A push that changes the file makes us forget them at once. Where that event is
//! lost, or went to another process, the old defaults govern for the rest of the five minutes.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Deserialize;

use crate::{
    config::{self, Source},
    github::{Client, Error, error::OrAbsent as _, path, ttl_cache::TtlCache, wire::ObjectRef},
};
use loopgate_core::{RepoName, policy::ConfigError};

const REPOSITORY: &str = ".github";
const FILE: &str = "loopgate.yml";
/// Bytes of it at most; the configuration's own limit.
const FILE_LIMIT: usize = 256 << 10;
/// Older versions tried when the newest is wrong.
const MOST_VERSIONS: usize = 20;

/// The defaults of organisations, as last read.
#[derive(Default)]
pub(super) struct Organisations(TtlCache<String, Option<Arc<Defaults>>>);

/// The defaults of one organisation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Defaults {
    /// The file as it is shown to people: `acme/.github/loopgate.yml`.
    file: String,
    /// Right by itself.
    text: String,
    /// What is wrong with the newest version, where an older one, or none, governs.
    pub error: Option<ConfigError>,
}

impl Defaults {
    pub(super) fn source(&self) -> Source<'_> {
        Source::new(&self.file, &self.text)
    }

    pub(super) fn file(&self) -> &str {
        &self.file
    }
}

impl Organisations {
    /// The defaults of a repository's owner; none where they have no such file, or we may not see it.
    pub(super) async fn of(&self, client: &Client, owner: &str) -> Result<Option<Arc<Defaults>>, Error> {
        let key = owner.to_ascii_lowercase();
        if let Some(known) = self.0.recall(&key, client) {
            return Ok(known);
        }
        let doubts = client.doubts();
        let defaults = read(client, owner).await?.map(Arc::new);
        self.0.keep(key, defaults.clone(), client, doubts);
        Ok(defaults)
    }

    pub(super) fn forget(&self) {
        self.0.clear();
    }
}

/// `GET …/contents/…`: the default branch's head, so it is asked conditionally rather than by commit.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Contents {
    content: String,
    encoding: String,
}

async fn read(client: &Client, owner: &str) -> Result<Option<Defaults>, Error> {
    let Ok(repository) = format!("{owner}/{REPOSITORY}").parse::<RepoName>() else { return Ok(None) };
    let file = format!("{repository}/{FILE}");
    let path = format!("{}/contents/{FILE}", path::repo(&repository));
    let Some(contents) = client.get::<Contents>(&path).await.or_refused()? else { return Ok(None) };
    let error = match contents.text().and_then(|text| right(&file, text)) {
        Ok(text) => return Ok(Some(Defaults { file, text, error: None })),
        Err(Wrong::Told(error)) => *error,
        Err(Wrong::NoText(why)) => unreadable(&file, why),
    };
    let text = last_good(client, &repository, &file).await?.unwrap_or_default();
    Ok(Some(Defaults { file, text, error: Some(error) }))
}

/// Why a version does not govern.
enum Wrong {
    Told(Box<ConfigError>),
    NoText(&'static str),
}

impl Contents {
    fn text(self) -> Result<String, Wrong> {
        if self.encoding != "base64" {
            return Err(Wrong::NoText("the file is larger than 256 KB"));
        }
        let packed: String = self.content.split_ascii_whitespace().collect();
        let bytes = STANDARD.decode(packed).map_err(|_| Wrong::NoText("GitHub's answer could not be read"))?;
        text(bytes)
    }
}

fn text(bytes: Vec<u8>) -> Result<String, Wrong> {
    if bytes.len() > FILE_LIMIT {
        return Err(Wrong::NoText("the file is larger than 256 KB"));
    }
    String::from_utf8(bytes).map_err(|_| Wrong::NoText("the file is not UTF-8"))
}

/// The text, if it is right alone.
fn right(file: &str, text: String) -> Result<String, Wrong> {
    match config::load(Some(Source::new(file, &text)), None) {
        Ok(_) => Ok(text),
        Err(errors) => Err(Wrong::Told(Box::new(errors.into_first()))),
    }
}

fn unreadable(file: &str, why: &str) -> ConfigError {
    let (snippet, message) = (String::new(), why.to_owned());
    ConfigError { file: file.to_owned(), line: 1, column: 1, snippet, message, hint: None }
}

/// The newest older version that is right: a slip must not undo what the organisation has locked.
async fn last_good(client: &Client, repository: &RepoName, file: &str) -> Result<Option<String>, Error> {
    let base = path::repo(repository);
    let path = format!("{base}/commits?path={FILE}&per_page={}", MOST_VERSIONS + 1);
    let Some(versions) = client.get::<Vec<ObjectRef>>(&path).await.or_refused()? else { return Ok(None) };
    for ObjectRef { sha } in versions.into_iter().skip(1) {
        let path = format!("{base}/contents/{FILE}?ref={sha}");
        let bytes = client.get_file(&path, FILE_LIMIT).await.or_refused()?.flatten();
        let good = bytes.and_then(|bytes| text(bytes.to_vec()).and_then(|text| right(file, text)).ok());
        if good.is_some() {
            return Ok(good);
        }
    }
    Ok(None)
}
