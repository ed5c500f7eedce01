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
        online_facts::{ActionsPolicy, AllowedActions, Fetched, OwnersFile, Survey, questions},
    },
    observed::{Account, NamedAccount, Permission},
    policy::Policy,
};

/// Pages of lists that are read at most: 2,000 collaborators, branches, labels.
const MOST_PAGES: usize = 20;
/// Workflow files read at most.
const MOST_WORKFLOWS: usize = 50;

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
        let (authority, collaborators, branches, labels, files, mut actions) = futures::try_join!(
            authority,
            collaborators(client, repository),
            names("branches"),
            names("labels"),
            files(client, repository, tip),
            actions(client, repository),
        )?;
        if let (Some((policy, WireToken::Read)), Ok(files)) = (&mut actions, &files) {
            policy.read_only = undeclared(client, repository, tip, files).await?;
        }
        Ok(Survey {
            repository: repository.clone(),
            authority,
            collaborators,
            codeowners,
            branches,
            labels,
            files,
            actions: actions.map(|(policy, _)| policy),
        })
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

/// `GET …/actions/permissions` and what is below it (<https://docs.github.com/en/rest/actions/permissions>). It takes
/// administration: read, which Loopgate itself does not need.
#[derive(Deserialize)]
struct WirePermissions {
    enabled: bool,
    allowed_actions: Option<String>,
}

#[derive(Default, Deserialize)]
struct WireSelected {
    #[serde(default)]
    patterns_allowed: Vec<String>,
}

#[derive(Deserialize)]
struct WireApproval {
    approval_policy: String,
}

#[derive(Deserialize)]
struct WireWorkflows {
    default_workflow_permissions: WireToken,
}

/// What the token of a workflow may do that does not say it itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum WireToken {
    Read,
    Write,
}

/// The workflows of a commit in which Loopgate writes and that declare no permissions.
async fn undeclared(client: &Client, repository: &RepoName, tip: Sha, files: &[String]) -> Result<Vec<String>, Error> {
    let is_workflow = |path: &&String| {
        let file = path.strip_prefix(".github/workflows/");
        file.is_some_and(|file| !file.contains('/') && (file.ends_with(".yml") || file.ends_with(".yaml")))
    };
    let mut found = Vec::new();
    for file in files.iter().filter(is_workflow).take(MOST_WORKFLOWS) {
        let path = format!("{}/contents/{}?ref={tip}", path::repo(repository), path::escape_path(file));
        match client.get_file(&path, config::FILE_LIMIT).await {
            Ok(bytes) if bytes.as_ref().is_some_and(|bytes| needs_a_say(bytes)) => found.push(file.clone()),
            Ok(_) => {}
            Err(error) => drop(error.refusal()?),
        }
    }
    Ok(found)
}

/// Whether the text of a workflow has Loopgate's Action write, and declares permissions nowhere.
fn needs_a_say(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    let says = |wanted: &[&str]| {
        text.lines().any(|line| {
            let line = line.trim().trim_start_matches("- ");
            wanted.iter().any(|wanted| line.starts_with(wanted))
        })
    };
    text.contains("loopgate/action@")
        && says(&["command: reconcile", "command: loop"])
        && !says(&["permissions:", "github-token:"])
}

async fn actions(client: &Client, repository: &RepoName) -> Result<Option<(ActionsPolicy, WireToken)>, Error> {
    let base = format!("{}/actions/permissions", path::repo(repository));
    let permissions = match client.get::<WirePermissions>(&base).await {
        Ok(permissions) => permissions,
        Err(error) => return error.refusal().map(|_| None),
    };
    let selected = async {
        match permissions.allowed_actions.as_deref() {
            Some("selected") => read::<WireSelected>(client, &format!("{base}/selected-actions")).await,
            _ => Ok(None),
        }
    };
    let approval = format!("{base}/fork-pr-contributor-approval");
    let workflows = format!("{base}/workflow");
    let (selected, approval, workflows) = futures::try_join!(
        selected,
        read::<WireApproval>(client, &approval),
        read::<WireWorkflows>(client, &workflows)
    )?;
    let token = workflows.map_or(WireToken::Write, |workflows| workflows.default_workflow_permissions);
    Ok(Some((policy_of(&permissions, selected.unwrap_or_default(), approval), token)))
}

async fn read<T: serde::de::DeserializeOwned>(client: &Client, path: &str) -> Result<Option<T>, Error> {
    match client.get(path).await {
        Ok(answer) => Ok(Some(answer)),
        Err(error) => error.refusal().map(|_| None),
    }
}

fn policy_of(permissions: &WirePermissions, selected: WireSelected, approval: Option<WireApproval>) -> ActionsPolicy {
    ActionsPolicy {
        allowed: match (permissions.enabled, permissions.allowed_actions.as_deref()) {
            (false, _) => AllowedActions::None,
            (true, Some("local_only")) => AllowedActions::Local,
            (true, Some("selected")) => AllowedActions::Selected(selected.patterns_allowed),
            (true, _) => AllowedActions::All,
        },
        holds_outsiders: approval.is_some_and(|approval| approval.approval_policy == "all_external_contributors"),
        read_only: Vec::new(),
    }
}

fn answer<T>(asked: Result<T, Error>) -> Result<Fetched<T>, Error> {
    match asked {
        Ok(answer) => Ok(Ok(answer)),
        Err(error) => Ok(Err(error.refusal()?.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::*;

    #[test]
    fn policies_are_read_as_github_writes_them() {
        let policy = |permissions: Value, approval: &str| {
            let selected = json!({ "github_owned_allowed": true, "verified_allowed": false,
                                   "patterns_allowed": ["acme/*"] });
            let approval = json!({ "approval_policy": approval });
            let read = from_value(permissions).unwrap();
            policy_of(&read, from_value(selected).unwrap(), from_value(approval).ok())
        };
        let permissions = |allowed: &str| json!({ "enabled": true, "allowed_actions": allowed });
        let first = "first_time_contributors";
        for (allowed, expected) in [
            ("all", AllowedActions::All),
            ("local_only", AllowedActions::Local),
            ("selected", AllowedActions::Selected(vec!["acme/*".into()])),
        ] {
            let expected = ActionsPolicy { allowed: expected, holds_outsiders: false, read_only: Vec::new() };
            assert_eq!(policy(permissions(allowed), first), expected);
        }
        assert_eq!(policy(json!({ "enabled": false }), first).allowed, AllowedActions::None);
        assert!(policy(permissions("all"), "all_external_contributors").holds_outsiders);
    }
}
