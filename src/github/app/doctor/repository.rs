//! One repository: whether the App sees it, and what in its configuration and rules hinders Loopgate.

use serde::Deserialize as _;
use serde_json::Value;

use super::{Finding, Found, Line, Lookup, Outcome, app::AppSettings, asked, lines_of};
use crate::github::{
    client::{
        Github,
        error::{OrAbsent as _, Result},
        path,
        repo::Repo,
        wire::{BranchRule, Repository, RequiredCheck},
    },
    observe::{CheckedConfiguration, Observer},
};
use loopgate_core::{
    RepoName,
    observed::{CheckScope, OwnCheck},
    policy::{AnswersApps, ConfigError, Fixer},
};

/// The lines about a repository; one if the App does not see it.
pub(super) async fn examine(github: &Github, name: &RepoName, app: &AppSettings) -> Vec<Line> {
    let seen = ("repository", "the App sees the repository");
    let installation = github.client(None).installation_of(name).await;
    let id = match asked("whether the App sees the repository", installation) {
        Ok(Some(id)) => id,
        Ok(None) => {
            let message = format!("the App does not see {name}");
            let remedy = "install it on the account, or add the repository to those that the installation may see";
            return lines_of(
                seen,
                Err(Finding::fault(message, remedy).at(app.installation_page())),
            );
        }
        Err(unknown) => return lines_of(seen, Err(unknown)),
    };
    let client = github.client(Some(id));
    let repo = client.repo(name);
    let configuration = Observer::new(github.clone())
        .check_configuration(repo, None)
        .await;
    let configuration = asked("what its configuration is", configuration);
    let requirements = asked(
        "which checks its default branch requires",
        requirements(repo).await,
    );
    // <https://docs.github.com/en/rest/repos/rules#get-all-repository-rulesets>
    let rulesets = asked(
        "which rules there are",
        repo.fetch(&repo.path("rulesets?per_page=100")).await,
    );
    let configured = "its configuration is right, and the people and teams in it are known";
    let kept = "nothing is known that refuses or deletes the refs below refs/loopgate/";
    let pinned = "its default branch requires our checks, of our App";
    let checks = [
        (seen, Ok(Vec::new())),
        (
            ("configuration", configured),
            configuration_errors(name, &configuration),
        ),
        (("required-checks", pinned), required(&requirements, app)),
        (
            ("hidden-refs", kept),
            hidden_refs(name, &requirements, rulesets),
        ),
        (("agent", "the fixer can be called"), agent(&configuration)),
    ];
    checks
        .into_iter()
        .flat_map(|(check, found)| lines_of(check, found))
        .collect()
}

/// The repository, and the checks that its default branch requires.
type Requirements = (Repository, Vec<RequiredCheck>);

/// By rulesets, and by classic protection, which the branch itself
/// contains (<https://docs.github.com/en/rest/branches/branches#get-a-branch>).
async fn requirements(repo: Repo<'_>) -> Result<Requirements> {
    let repository = repo.get::<Repository>(&repo.root()).await?;
    let escaped = path::escape_path(&repository.default_branch);
    let rules = repo
        .fetch::<Vec<BranchRule>>(&repo.path(format!("rules/branches/{escaped}?per_page=100")))
        .await?;
    let by_rules = rules
        .into_iter()
        .filter(|rule| rule.kind == "required_status_checks");
    let mut required: Vec<_> = by_rules
        .flat_map(|rule| rule.parameters.required_status_checks)
        .collect();
    let branch: Value = repo
        .fetch(&repo.path(format!("branches/{escaped}")))
        .await
        .or_absent()?
        .unwrap_or_default();
    let classic = branch["protection"]["required_status_checks"]["checks"].as_array();
    required.extend(
        classic
            .into_iter()
            .flatten()
            .filter_map(|check| RequiredCheck::deserialize(check).ok()),
    );
    Ok((repository, required))
}

fn configuration_errors(
    repository: &RepoName,
    configuration: &Lookup<CheckedConfiguration>,
) -> Found {
    let finding = |outcome: Outcome| {
        move |error: &ConfigError| {
            let message = format!(
                "{}:{}:{}: {}",
                error.file, error.line, error.column, error.message
            );
            Finding::new(outcome, message, error.hint.clone().unwrap_or_default())
        }
    };
    let CheckedConfiguration { file, found, .. } = configuration.as_ref().map_err(Clone::clone)?;
    if file.is_none() {
        let message = format!(
            "{repository} has no .github/loopgate.yml on its default branch: nothing is done there"
        );
        return Err(Finding::fault(
            message,
            "write one with `loopgate init`, and merge it",
        ));
    }
    let errors = found.errors.iter().map(finding(Outcome::Fault));
    Ok(errors
        .chain(found.warnings.iter().map(finding(Outcome::Warning)))
        .collect())
}

fn required(requirements: &Lookup<Requirements>, app: &AppSettings) -> Found {
    let (known, required) = requirements.as_ref().map_err(Clone::clone)?;
    let ours = i64::try_from(app.id.get()).ok();
    let names = OwnCheck::ALL.map(|check| check.name(&CheckScope::DefaultBranch));
    let mut found = Vec::new();
    for name in &names {
        let here: Vec<&RequiredCheck> = required
            .iter()
            .filter(|check| check.context == *name)
            .collect();
        // One that is pinned is enough: all rules hold.
        if here.iter().any(|check| check.integration_id == ours) {
            continue;
        }
        let branch = &known.default_branch;
        let remedy = format!(
            "choose {} as its expected source in the branch's rules",
            app.slug
        );
        found.push(
            match here
                .iter()
                .find_map(|check| check.integration_id.filter(|id| *id >= 0))
            {
                _ if here.is_empty() => Finding::warning(
                    format!(
                        "{branch} does not require `{name}`: it can be merged whatever that says"
                    ),
                    format!(
                        "require `{name}` in the branch's ruleset, of the App {}",
                        app.slug
                    ),
                ),
                Some(other) => {
                    let message = format!(
                        "{branch} requires `{name}` of another App ({other}), so it waits for ever"
                    );
                    Finding::fault(message, remedy)
                }
                None => Finding::fault(
                    format!("{branch} requires `{name}` of any App: a push can report it"),
                    remedy,
                ),
            },
        );
    }
    let letters = |text: &str| {
        text.chars()
            .filter(char::is_ascii_alphanumeric)
            .collect::<String>()
            .to_lowercase()
    };
    let others = required
        .iter()
        .filter(|check| !names.contains(&check.context));
    for check in others {
        if let Some(meant) = names
            .iter()
            .find(|name| letters(name) == letters(&check.context))
        {
            let message = format!(
                "{} requires `{}`, which no check reports",
                known.default_branch, check.context
            );
            found.push(Finding::fault(message, format!("write it as `{meant}`")));
        }
    }
    Ok(found)
}

/// What may refuse our refs, or delete them: rules for branches and tags leave them alone, rules for all pushes do not,
/// and `git push --mirror` deletes what the other side does not have.
fn hidden_refs(
    repository: &RepoName,
    requirements: &Lookup<Requirements>,
    rulesets: Lookup<Vec<Value>>,
) -> Found {
    let mirrored = requirements.iter().filter_map(|(known, _)| known.mirror_url.as_ref()).map(|source| {
        let message = format!("{repository} is a mirror of {source}: a push with --mirror deletes refs/loopgate/*");
        Finding::warning(
            message,
            "push refs/heads/* and refs/tags/* only, and let mirrors of it leave out refs/loopgate/*",
        )
    });
    let concern_us = rulesets.iter().flatten().filter(|rules: &&Value| {
        let is_free = matches!(
            rules["current_user_can_bypass"].as_str(),
            Some("always" | "exempt")
        );
        rules["target"] == "push" && rules["enforcement"] == "active" && !is_free
    });
    let ruled = concern_us.map(|rules| {
        let name = rules["name"].as_str().unwrap_or_default();
        let message = format!(
            "the push ruleset `{name}` applies to refs/loopgate/* too, and may refuse a state"
        );
        Finding::warning(
            message,
            "put the App on its bypass list, or set `state: { backend: comment }`",
        )
    });
    let unknown = requirements.as_ref().err().into_iter();
    let unknown = unknown.chain(rulesets.as_ref().err()).cloned();
    Ok(mirrored.chain(ruled).chain(unknown).collect())
}

fn agent(configuration: &Lookup<CheckedConfiguration>) -> Found {
    let configuration = configuration.as_ref().map_err(Clone::clone)?;
    let Some(policy) = &configuration.policy else {
        let message = "its configuration is not valid, so which fixer it names is not known";
        let remedy = "correct it first";
        return Err(Finding::new(Outcome::Unknown, message, remedy));
    };
    let fixers = std::iter::once(&policy.fixer.fixer).chain(&policy.escalation.senior);
    let deaf = fixers
        .filter_map(Fixer::mentioned)
        .filter(|login| AnswersApps::of(login) == AnswersApps::Never);
    let found = deaf.map(|login| {
        let message = format!("`{login}` is asked to fix by a comment, and answers no comment of an App");
        let remedy = "let a workflow start it (`fixer: { kind: dispatch, workflow: … }`), or let it work before the push \
                      with `loopgate mcp`";
        Finding::fault(message, remedy)
    });
    Ok(found.collect())
}
