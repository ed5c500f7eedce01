//! A configuration as it stands on GitHub, and what GitHub says about the names in it: for `check-config --online`.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::{
    Observer,
    authority::Flags,
    config::{self, Depth},
};
use crate::github::{Client, Error, path, wire::User};
use loopgate_core::{
    RepoName, Sha,
    gate::{
        AuthorityQuestions,
        online_facts::{Fetched, OwnersFile, Survey, questions},
    },
    observed::{Account, NamedAccount, Permission},
    policy::Policy,
};

/// Pages of lists that are read at most: 2,000 collaborators, branches, labels.
const MOST_PAGES: usize = 20;

/// The texts that govern a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Governing {
    /// The repository's own file, where there is one that is text.
    pub repository: Option<String>,
    /// The organisation's file: its name, as people are told it, and its text.
    pub organisation: Option<(String, String)>,
}

#[derive(Deserialize)]
struct Repository {
    default_branch: String,
}

#[derive(Deserialize)]
struct Collaborator {
    #[serde(flatten)]
    user: User,
    permissions: Option<Flags>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

impl Observer {
    /// The configuration on the default branch, and the organisation's defaults below it.
    ///
    /// # Errors
    /// Every kind of [`Error`]; not found where there is no such repository.
    pub async fn governing(&self, client: &Client, repository: &RepoName) -> Result<Governing, Error> {
        let tip = tip(client, repository).await?;
        let path = format!("{}/contents/{}?ref={tip}", path::repo(repository), config::FILE);
        let own = async {
            match client.get_file(&path, config::FILE_LIMIT).await {
                Ok(bytes) => Ok(bytes.and_then(|bytes| String::from_utf8(bytes.to_vec()).ok())),
                Err(error) => Err(error),
            }
        };
        let (own, defaults) = futures::try_join!(own, self.organisations.of(client, repository.owner()))?;
        let organisation = defaults.map(|defaults| {
            let source = defaults.source();
            (source.file.to_owned(), source.text.to_owned())
        });
        Ok(Governing { repository: own, organisation })
    }

    /// What GitHub says about the names in a policy.
    ///
    /// # Errors
    /// Faults, and rate limits. What GitHub refuses to tell is an answer.
    pub async fn survey(&self, client: &Client, repository: &RepoName, policy: &Policy) -> Result<Survey, Error> {
        let tip = tip(client, repository).await?;
        let base = path::repo(repository);
        let codeowners = config::owners_file(client, repository, tip).await?;
        let codeowners = codeowners.map(|(path, text)| OwnersFile { path: path.to_owned(), text });
        let asked = questions(policy, repository, codeowners.as_ref());
        let authority = async {
            let named = self.registry.look_up(client, repository, &asked).await?;
            let accounts = named.logins.values().filter_map(|account| match account {
                NamedAccount::Known(account) => Some((account.id, account.login.clone())),
                NamedAccount::Missing | NamedAccount::Unknown(_) => None,
            });
            let rights = AuthorityQuestions { people: accounts.collect(), ..asked.clone() };
            self.registry.look_up(client, repository, &rights).await
        };
        let names = async |what: &str| {
            let listed = client.list::<Vec<Named>>(&format!("{base}/{what}"), MOST_PAGES).await;
            answer(listed.map(|listing| listing.items.into_iter().map(|one| one.name).collect::<BTreeSet<_>>()))
        };
        let (authority, collaborators, branches, labels, files) = futures::try_join!(
            authority,
            collaborators(client, repository),
            names("branches"),
            names("labels"),
            files(client, repository, tip),
        )?;
        Ok(Survey { repository: repository.clone(), authority, collaborators, codeowners, branches, labels, files })
    }
}

async fn tip(client: &Client, repository: &RepoName) -> Result<Sha, Error> {
    let known: Repository = client.get(&path::repo(repository)).await?;
    let branch = config::branch(client, repository, &known.default_branch).await?;
    branch.map(|branch| branch.commit.sha).ok_or(Error::NotFound { path: known.default_branch })
}

async fn collaborators(client: &Client, repository: &RepoName) -> Result<Fetched<Vec<(Account, Permission)>>, Error> {
    let path = format!("{}/collaborators", path::repo(repository));
    let listed = client.list::<Vec<Collaborator>>(&path, MOST_PAGES).await;
    let known = |one: Collaborator| {
        let permission = one.permissions.as_ref().map_or(Permission::None, Flags::permission);
        (Account::from(one.user), permission)
    };
    answer(listed.map(|listing| listing.items.into_iter().map(known).collect()))
}

async fn files(client: &Client, repository: &RepoName, tip: Sha) -> Result<Fetched<Vec<String>>, Error> {
    match config::tree(client, repository, tip, Depth::All).await {
        Ok(Some(entries)) => {
            Ok(Ok(entries.into_iter().filter(|entry| entry.kind != "tree").map(|entry| entry.path).collect()))
        }
        Ok(None) => Ok(Err("the repository has too many files to list".to_owned())),
        Err(error) => answer(Err(error)),
    }
}

fn answer<T>(asked: Result<T, Error>) -> Result<Fetched<T>, Error> {
    match asked {
        Ok(answer) => Ok(Ok(answer)),
        Err(error) => Ok(Err(error.refusal()?.to_string())),
    }
}
