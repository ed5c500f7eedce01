//! One repository: whether the App sees it, and what in its configuration and rules hinders Loopgate.

use super::{
    Finding, Outcome,
    facts::{Facts, RepositoryFacts},
};
use crate::github::{CheckedConfiguration, wire::RequiredCheck};
use loopgate_core::{
    observed::{CheckScope, OwnCheck},
    policy::{ConfigError, Fixer, HearsApps},
};

pub(super) fn reached(facts: &Facts) -> Vec<Finding> {
    let Some(repository) = &facts.repository else { return Vec::new() };
    match &repository.installation {
        Ok(Some(_)) => Vec::new(),
        Ok(None) => {
            let message = format!("the App does not see {}", repository.name);
            let remedy = "install it on the account, or add the repository to those that the installation may see";
            let finding = Finding::fault(message, remedy);
            vec![match &facts.app {
                Ok(app) => finding.at(format!("{}/installations/new", app.html_url)),
                Err(_) => finding,
            }]
        }
        Err(reason) => vec![Finding::unknown("whether the App sees the repository", reason)],
    }
}

pub(super) fn configuration(facts: &Facts) -> Vec<Finding> {
    let Some(repository) = seen(facts) else { return Vec::new() };
    let told = |outcome: Outcome| {
        move |error: &ConfigError| {
            let message = format!("{}:{}:{}: {}", error.file, error.line, error.column, error.message);
            Finding::new(outcome, message, error.hint.clone().unwrap_or_default())
        }
    };
    match &repository.configuration {
        Err(reason) => vec![Finding::unknown("what its configuration is", reason)],
        Ok(CheckedConfiguration { file: None, .. }) => {
            let message =
                format!("{} has no .github/loopgate.yml on its default branch: nothing is done there", repository.name);
            vec![Finding::fault(message, "write one with `loopgate init`, and merge it")]
        }
        Ok(CheckedConfiguration { found, .. }) => {
            let errors = found.errors.iter().map(told(Outcome::Fault));
            errors.chain(found.warnings.iter().map(told(Outcome::Warning))).collect()
        }
    }
}

/// The repository, where the App sees it.
fn seen(facts: &Facts) -> Option<&RepositoryFacts> {
    facts.repository.as_ref().filter(|repository| matches!(repository.installation, Ok(Some(_))))
}

pub(super) fn required(facts: &Facts) -> Vec<Finding> {
    let (Some(repository), Ok(app)) = (seen(facts), &facts.app) else { return Vec::new() };
    let required = match &repository.required {
        Ok(required) => required,
        Err(reason) => return vec![Finding::unknown("which checks its default branch requires", reason)],
    };
    let ours = i64::try_from(app.id.get()).ok();
    let names = OwnCheck::ALL.map(|check| check.name(&CheckScope::DefaultBranch));
    let mut found = Vec::new();
    for name in &names {
        let here: Vec<&RequiredCheck> = required.iter().filter(|check| check.context == *name).collect();
        match here.as_slice() {
            [] => {
                let message =
                    format!("{} does not require `{name}`: it can be merged whatever that says", repository.branch);
                found.push(Finding::warning(
                    message,
                    format!("require `{name}` in the branch's ruleset, of the App {}", app.slug),
                ));
            }
            // One that is pinned is enough: all rules hold.
            checks if checks.iter().any(|check| check.integration_id == ours) => {}
            checks => {
                let pinned = checks.iter().find_map(|check| check.integration_id.filter(|id| *id >= 0));
                let message = match pinned {
                    Some(other) => format!(
                        "{} requires `{name}` of another App ({other}), so it waits for ever",
                        repository.branch
                    ),
                    None => {
                        format!("{} requires `{name}` of any App: a push can report it", repository.branch)
                    }
                };
                found.push(Finding::fault(
                    message,
                    format!("choose {} as its expected source in the branch's rules", app.slug),
                ));
            }
        }
    }
    let letters = |text: &str| text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    let others = required.iter().filter(|check| !names.contains(&check.context));
    for check in others {
        if let Some(meant) = names.iter().find(|name| letters(name) == letters(&check.context)) {
            let message = format!("{} requires `{}`, which no check reports", repository.branch, check.context);
            found.push(Finding::fault(message, format!("write it as `{meant}`")));
        }
    }
    found
}

/// What may refuse our refs, or delete them: rules for branches and tags leave them alone, rules for all pushes do not,
/// and `git push --mirror` deletes what the other side does not have.
pub(super) fn hidden_refs(facts: &Facts) -> Vec<Finding> {
    let Some(repository) = seen(facts) else { return Vec::new() };
    let mirrored = repository.mirror_of.iter().map(|source| {
        let message =
            format!("{} is a mirror of {source}: a push with --mirror deletes refs/loopgate/*", repository.name);
        Finding::warning(
            message,
            "push refs/heads/* and refs/tags/* only, and let mirrors of it leave out refs/loopgate/*",
        )
    });
    let rulesets = match &repository.rulesets {
        Ok(rulesets) => rulesets,
        Err(reason) => return mirrored.chain([Finding::unknown("which rules there are", reason)]).collect(),
    };
    let is_free = |bypass: &Option<String>| bypass.as_deref().is_some_and(|word| matches!(word, "always" | "exempt"));
    let concern_us = rulesets.iter().filter(|rules| {
        rules.target.as_deref() == Some("push")
            && rules.enforcement == "active"
            && !is_free(&rules.current_user_can_bypass)
    });
    let ruled = concern_us.map(|rules| {
        let message =
            format!("the push ruleset `{}` applies to refs/loopgate/* too, and may refuse a state", rules.name);
        Finding::warning(message, "put the App on its bypass list, or set `state: { backend: comment }`")
    });
    mirrored.chain(ruled).collect()
}

pub(super) fn agent(facts: &Facts) -> Vec<Finding> {
    let configuration = seen(facts).and_then(|repository| repository.configuration.as_ref().ok());
    let Some(policy) = configuration.and_then(|configuration| configuration.policy.as_ref()) else { return Vec::new() };
    let fixers = std::iter::once(&policy.fixer.fixer).chain(&policy.escalation.senior);
    let deaf = fixers.filter_map(Fixer::mentioned).filter(|login| HearsApps::of(login) == HearsApps::Never);
    let found = deaf.map(|login| {
        let message = format!("`{login}` is asked to fix by a comment, and answers no comment of an App");
        let remedy = "let a workflow start it (`fixer: { kind: dispatch, workflow: … }`), or let it work before the push \
                      with `loopgate mcp`";
        Finding::fault(message, remedy)
    });
    found.collect()
}
