//! One repository as an installation sees it.

use std::{fmt, ops::Deref};

use super::{Client, GithubObjects};
use loopgate_core::RepoName;

/// A repository and the client that reads and changes it. It dereferences to the client.
#[derive(Clone, Copy)]
pub struct Repo<'a> {
    pub(super) client: &'a Client,
    pub name: &'a RepoName,
}

impl Client {
    pub const fn repo<'a>(&'a self, name: &'a RepoName) -> Repo<'a> {
        Repo { client: self, name }
    }
}

impl Deref for Repo<'_> {
    type Target = Client;
    fn deref(&self) -> &Client {
        self.client
    }
}

impl Repo<'_> {
    /// The path of the repository itself: `/repos/{owner}/{name}`. Both parts are plain by construction.
    pub(crate) fn root(&self) -> String {
        format!("/repos/{}", self.name)
    }

    /// The path of what is below the repository, such as `pulls/12`.
    pub(crate) fn path(&self, below: impl fmt::Display) -> String {
        format!("/repos/{}/{below}", self.name)
    }

    /// The git database of the repository.
    pub fn objects(&self) -> GithubObjects {
        GithubObjects::new(self.client.clone(), self.name.clone())
    }
}
