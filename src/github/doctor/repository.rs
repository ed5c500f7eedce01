//! One repository: whether the App sees it, and what in its configuration and rules hinders Loopgate.

use super::{
    Finding, Found, Outcome,
    facts::{RepositoryFacts, known},
};
use crate::github::{CheckedConfiguration, wire::RequiredCheck};
use loopgate_core::{
    observed::{CheckScope, OwnCheck},
    policy::{ConfigError, Fixer, HearsApps},
};

pub(super) fn configuration(repository: &RepositoryFacts) -> Found {
    let told = |outcome: Outcome| {
        move |error: &ConfigError| {
            let message = format!("{}:{}:{}: {}", error.file, error.line, error.column, error.message);
            Finding::new(outcome, message, error.hint.clone().unwrap_or_default())
        }
    };
    let CheckedConfiguration { file, found, .. } = known(&repository.configuration, "what its configuration is")?;
    if file.is_none() {
        let message =
            format!("{} has no .github/loopgate.yml on its default branch: nothing is done there", repository.name);
        return Err(Finding::fault(message, "write one with `loopgate init`, and merge it"));
    }
    let errors = found.errors.iter().map(told(Outcome::Fault));
    Ok(errors.chain(found.warnings.iter().map(told(Outcome::Warning))).collect())
}

pub(super) fn required(repository: &RepositoryFacts) -> Found {
    let app = &repository.app;
    let required = known(&repository.required, "which checks its default branch requires")?;
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
    Ok(found)
}

/// What may refuse our refs, or delete them: rules for branches and tags leave them alone, rules for all pushes do not,
/// and `git push --mirror` deletes what the other side does not have.
pub(super) fn hidden_refs(repository: &RepositoryFacts) -> Found {
    let mirrored = repository.mirror_of.iter().map(|source| {
        let message =
            format!("{} is a mirror of {source}: a push with --mirror deletes refs/loopgate/*", repository.name);
        Finding::warning(
            message,
            "push refs/heads/* and refs/tags/* only, and let mirrors of it leave out refs/loopgate/*",
        )
    });
    let is_free = |bypass: &Option<String>| bypass.as_deref().is_some_and(|word| matches!(word, "always" | "exempt"));
    let rulesets = known(&repository.rulesets, "which rules there are");
    let concern_us = rulesets.iter().copied().flatten().filter(|rules| {
        rules.target.as_deref() == Some("push")
            && rules.enforcement == "active"
            && !is_free(&rules.current_user_can_bypass)
    });
    let ruled = concern_us.map(|rules| {
        let message =
            format!("the push ruleset `{}` applies to refs/loopgate/* too, and may refuse a state", rules.name);
        Finding::warning(message, "put the App on its bypass list, or set `state: { backend: comment }`")
    });
    Ok(mirrored.chain(ruled).chain(rulesets.clone().err()).collect())
}

pub(super) fn agent(repository: &RepositoryFacts) -> Found {
    let policy = repository.configuration.iter().filter_map(|configuration| configuration.policy.as_ref());
    let fixers = policy.flat_map(|policy| std::iter::once(&policy.fixer.fixer).chain(&policy.escalation.senior));
    let deaf = fixers.filter_map(Fixer::mentioned).filter(|login| HearsApps::of(login) == HearsApps::Never);
    let found = deaf.map(|login| {
        let message = format!("`{login}` is asked to fix by a comment, and answers no comment of an App");
        let remedy = "let a workflow start it (`fixer: { kind: dispatch, workflow: … }`), or let it work before the push \
                      with `loopgate mcp`";
        Finding::fault(message, remedy)
    });
    Ok(found.collect())
}
