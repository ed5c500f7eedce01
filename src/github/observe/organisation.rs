//! The organisation's defaults: `loopgate.yml` in its `.github` repository.
//!
//! They are believed for five minutes. A push that changes the file makes us forget them at once. Where that event is
//! lost, or went to another process, the old defaults govern for the rest of the five minutes.

use std::sync::Arc;

use super::config::{FILE_LIMIT, file_text};
use crate::{
    config::{self, Source},
    github::{Client, Error, Repo, client::Contents, error::OrAbsent as _, ttl_cache::TtlCache, wire::ObjectRef},
};
use loopgate_core::{RepoName, policy::ConfigError};

const REPOSITORY: &str = ".github";
const FILE: &str = "loopgate.yml";
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
        let ask = async || Ok(read(client, owner).await?.map(Arc::new));
        self.0.recall_or_ask(owner.to_ascii_lowercase(), client, |_| true, ask).await
    }

    pub(super) fn forget(&self) {
        self.0.clear();
    }
}

/// Reads the file on the default branch's head, conditionally rather than by commit.
async fn read(client: &Client, owner: &str) -> Result<Option<Defaults>, Error> {
    let Ok(repository) = format!("{owner}/{REPOSITORY}").parse::<RepoName>() else { return Ok(None) };
    let (repo, file) = (client.repo(&repository), format!("{repository}/{FILE}"));
    let contents = repo.get::<Contents>(&repo.path(format!("contents/{FILE}"))).await.or_refused()?;
    let Some(Contents::File(contents)) = contents else { return Ok(None) };
    let bytes = contents.inline();
    let error = match file_text(&file, bytes.as_deref()).and_then(|text| right(&file, text)) {
        Ok(text) => return Ok(Some(Defaults { file, text, error: None })),
        Err(error) => error,
    };
    let text = last_good(repo, &file).await?.unwrap_or_default();
    Ok(Some(Defaults { file, text, error: Some(error) }))
}

/// The text, if it is right alone.
fn right(file: &str, text: String) -> Result<String, ConfigError> {
    match config::load(Some(Source::new(file, &text)), None) {
        Ok(_) => Ok(text),
        Err(errors) => Err(errors.into_first()),
    }
}

/// The newest older version that is right: a slip must not undo what the organisation has locked.
async fn last_good(repo: Repo<'_>, file: &str) -> Result<Option<String>, Error> {
    let path = repo.path(format!("commits?path={FILE}&per_page={}", MOST_VERSIONS + 1));
    let Some(versions) = repo.get::<Vec<ObjectRef>>(&path).await.or_refused()? else { return Ok(None) };
    for ObjectRef { sha } in versions.into_iter().skip(1) {
        let path = repo.path(format!("contents/{FILE}?ref={sha}"));
        let bytes = repo.get_file(&path, FILE_LIMIT).await.or_refused()?.flatten();
        let good = bytes.and_then(|bytes| file_text(file, Some(&bytes)).and_then(|text| right(file, text)).ok());
        if good.is_some() {
            return Ok(good);
        }
    }
    Ok(None)
}
