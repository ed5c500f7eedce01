//! A configuration as it stands on GitHub, and what the names in it mean there: for `check-config --online`.

use std::collections::BTreeSet;

use serde::Deserialize as _;
use serde_json::Value;

use super::{Observer, authority, config, contents, workflow_file};
use crate::{
    config::{OnlineFindings, Source, load, online},
    github::client::{
        error::{Error, OrAbsent as _, Result},
        repo::Repo,
        wire::{Named, Repository, TreeEntry},
    },
};
use loopgate_core::{
    Sha,
    concerns::gates::{
        AuthorityQuestions,
        online_facts::{
            ActionUse, ActionsPolicy, AllowedActions, DefaultToken, OwnersFile, SelectedActions,
            Survey, questions,
        },
    },
    policy::Policy,
};

/// Pages of lists that are read at most: 2,000 collaborators, branches, labels.
const MOST_PAGES: usize = 20;
/// Workflow files read at most.
const MOST_WORKFLOWS: usize = 50;

/// The configuration that governs a repository, compared with GitHub's accounts, teams, checks and workflows.
#[derive(Debug)]
pub struct CheckedConfiguration {
    /// The name of the repository's own file; `None` if it has none.
    pub file: Option<String>,
    /// `None` if the configuration is not valid.
    pub policy: Option<Policy>,
    pub found: OnlineFindings,
}

/// A file's name, as people are shown it, and its text.
type NamedText = (String, String);

impl Observer {
    /// Checks the configuration on the default branch, or `own` in its place, over the organisation's defaults.
    ///
    /// # Errors
    /// Every kind of [`Error`]; not found where there is no such repository.
    pub async fn check_configuration(
        &self,
        repo: Repo<'_>,
        own: Option<NamedText>,
    ) -> Result<CheckedConfiguration> {
        let known: Repository = repo.get(&repo.root()).await?;
        let branch = config::branch(repo, &known.default_branch).await?;
        let tip = branch
            .ok_or_else(|| Error::NotFound {
                path: known.default_branch.clone(),
            })?
            .commit
            .sha;
        let there = repo.text(config::FILE, tip, config::FILE_LIMIT);
        let (there, defaults) =
            futures::try_join!(there, self.organisations.of(&repo, repo.name.owner()))?;
        let organisation = defaults.map(|defaults| (defaults.file.clone(), defaults.text.clone()));
        let own = own.or(there.map(|text| (config::FILE.to_owned(), text)));
        let file = own.as_ref().map(|(name, _)| name.clone());
        let [organisation, own] = [&organisation, &own]
            .map(|file| file.as_ref().map(|(name, text)| Source::new(name, text)));
        let loaded = match load(organisation, own) {
            Ok(loaded) => loaded,
            Err(errors) => {
                let found = OnlineFindings {
                    errors,
                    warnings: Vec::new(),
                };
                return Ok(CheckedConfiguration {
                    file,
                    policy: None,
                    found,
                });
            }
        };
        let survey = self.survey(repo, (&known, tip), &loaded.policy).await?;
        let mut found = online(organisation, own, &loaded.policy, &survey);
        found.warnings.splice(..0, loaded.warnings);
        Ok(CheckedConfiguration {
            file,
            policy: Some(loaded.policy),
            found,
        })
    }

    /// Looks up on GitHub the names in a policy.
    ///
    /// # Errors
    /// Faults, and rate limits. A refusal is an answer.
    async fn survey(
        &self,
        repo: Repo<'_>,
        (known, tip): (&Repository, Sha),
        policy: &Policy,
    ) -> Result<Survey> {
        let base = repo.root();
        let codeowners = config::owners_file(repo, tip).await?;
        let codeowners = codeowners.map(|(path, text)| OwnersFile {
            path: path.to_owned(),
            text,
        });
        let asked = questions(policy, repo.name, codeowners.as_ref());
        let authority = async {
            let named = self.registry.look_up(repo, &asked).await?;
            let accounts = named
                .logins
                .values()
                .flatten()
                .map(|account| (account.id, account.login.clone()));
            let rights = AuthorityQuestions {
                people: accounts.collect(),
                ..asked.clone()
            };
            self.registry.look_up(repo, &rights).await
        };
        let names = async |what: &str| {
            let listed = repo
                .list::<Named>(&format!("{base}/{what}"), MOST_PAGES)
                .await;
            listed
                .map(|listing| {
                    listing
                        .items
                        .into_iter()
                        .map(|one| one.name)
                        .collect::<BTreeSet<_>>()
                })
                .or_reason()
        };
        let files = async {
            let tree = contents::tree(repo, format!("{tip}?recursive=1"))
                .await
                .or_reason()?;
            let is_file = |entry: TreeEntry| (entry.kind != "tree").then_some(entry.path);
            let files = |entries: Vec<TreeEntry>| {
                entries.into_iter().filter_map(is_file).collect::<Vec<_>>()
            };
            let too_many = || "the repository has too many files to list".to_owned();
            Ok(tree.and_then(|tree| tree.map(files).ok_or_else(too_many)))
        };
        let (authority, collaborators, branches, labels, files, mut actions) = futures::try_join!(
            authority,
            authority::collaborators(repo),
            names("branches"),
            names("labels"),
            files,
            actions(repo),
        )?;
        if let (Some(policy), Ok(files)) = (&mut actions, &files) {
            policy.is_public = !known.private;
            policy.uses = uses(repo, tip, files).await?;
        }
        Ok(Survey {
            repository: repo.name.clone(),
            authority,
            collaborators,
            codeowners,
            branches,
            labels,
            files,
            actions,
        })
    }
}

/// The jobs of a commit's workflows that use Loopgate's Action.
async fn uses(repo: Repo<'_>, tip: Sha, files: &[String]) -> Result<Vec<ActionUse>> {
    let is_workflow = |path: &&String| {
        let file = path.strip_prefix(".github/workflows/");
        file.is_some_and(|file| {
            !file.contains('/') && (file.ends_with(".yml") || file.ends_with(".yaml"))
        })
    };
    let mut found = Vec::new();
    for file in files.iter().filter(is_workflow).take(MOST_WORKFLOWS) {
        let text = repo
            .text(file, tip, config::FILE_LIMIT)
            .await
            .or_refused()?
            .flatten();
        found.extend(
            text.iter()
                .flat_map(|text| workflow_file::uses(file, text.as_bytes())),
        );
    }
    Ok(found)
}

/// By `GET …/actions/permissions` and what is below it (<https://docs.github.com/en/rest/actions/permissions>). It takes
/// administration: read, which Loopgate itself does not need.
async fn actions(repo: Repo<'_>) -> Result<Option<ActionsPolicy>> {
    let base = repo.path("actions/permissions");
    let Some(permissions) = repo.get::<Value>(&base).await.or_refused()? else {
        return Ok(None);
    };
    let below = async |part: &str| -> Result<Value> {
        Ok(repo
            .get(&format!("{base}/{part}"))
            .await
            .or_refused()?
            .unwrap_or_default())
    };
    let is_selected = permissions["allowed_actions"] == "selected";
    let selected = async {
        if is_selected {
            below("selected-actions").await
        } else {
            Ok(Value::Null)
        }
    };
    let (selected, approval, workflows) = futures::try_join!(
        selected,
        below("fork-pr-contributor-approval"),
        below("workflow")
    )?;
    Ok(Some(policy_of(
        &permissions,
        &[selected, approval, workflows],
    )))
}

fn policy_of(permissions: &Value, [selected, approval, workflows]: &[Value; 3]) -> ActionsPolicy {
    let allowed = match (
        permissions["enabled"] == true,
        permissions["allowed_actions"].as_str(),
    ) {
        (false, _) => AllowedActions::None,
        (true, Some("local_only")) => AllowedActions::Local,
        (true, Some("selected")) => {
            let patterns = selected["patterns_allowed"]
                .as_array()
                .into_iter()
                .flatten();
            let patterns = patterns.filter_map(Value::as_str).map(str::to_owned);
            let by_github =
                (selected["github_owned_allowed"] == true).then(|| "actions/*".to_owned());
            AllowedActions::Selected(SelectedActions {
                patterns: patterns.chain(by_github).collect(),
                of_verified: selected["verified_allowed"] == true,
            })
        }
        (true, _) => AllowedActions::All,
    };
    ActionsPolicy {
        allowed,
        holds_outsiders: approval["approval_policy"] == "all_external_contributors",
        must_pin: permissions["sha_pinning_required"] == true,
        default_token: DefaultToken::deserialize(&workflows["default_workflow_permissions"])
            .unwrap_or_default(),
        is_public: false,
        uses: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn policies_are_read_as_github_writes_them() {
        let policy = |permissions: Value, approval: &str| {
            let selected = json!({ "github_owned_allowed": true, "verified_allowed": true,
                                   "patterns_allowed": ["acme/*"] });
            let approval = json!({ "approval_policy": approval });
            policy_of(&permissions, &[selected, approval, json!({})])
        };
        let permissions = |allowed: &str| json!({ "enabled": true, "allowed_actions": allowed });
        let first = "first_time_contributors";
        for (allowed, expected) in [
            ("all", AllowedActions::All),
            ("local_only", AllowedActions::Local),
            (
                "selected",
                AllowedActions::Selected(SelectedActions {
                    patterns: vec!["acme/*".into(), "actions/*".into()],
                    of_verified: true,
                }),
            ),
        ] {
            let found = policy(permissions(allowed), first);
            assert_eq!(
                (found.allowed, found.holds_outsiders, found.must_pin),
                (expected, false, false)
            );
        }
        let pinned =
            json!({ "enabled": true, "allowed_actions": "all", "sha_pinning_required": true });
        assert!(policy(pinned, first).must_pin);
        assert_eq!(
            policy(json!({ "enabled": false }), first).allowed,
            AllowedActions::None
        );
        assert!(policy(permissions("all"), "all_external_contributors").holds_outsiders);
    }
}
