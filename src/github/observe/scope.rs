//! What a pull request shares with others: the name of its check runs, its head, and its stack
//! (<https://docs.github.com/en/rest/pulls/stacks>), with whose layers beneath GitHub would merge it.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{
    PullReading,
    authority::Registry,
    checks,
    config::{self, BranchRules, Defaults},
    pull::Pull,
};
use crate::github::{
    client::{
        error::{Error, OrAbsent as _, Result},
        repo::Repo,
        wire::{Branch, InStack, Side, account},
    },
    observe::resolve::ListedPull,
};
use loopgate_core::{
    PrNumber, Sha, Timestamp,
    observed::{
        Account, CheckScope, Layer, Lifecycle, ObservationProblem, OwnCheck, Permission, Stack,
        Standing,
    },
    policy::NameGlob,
};

/// How the check runs of a base are named, and a pattern that the base matches, and whose name people could give
/// themselves. Patterns are read on the default branch: a branch of the author's own could
/// otherwise call itself by the name of a protected one.
pub(super) async fn of_base(
    repo: Repo<'_>,
    (base, branch): (&str, Option<Branch>),
    default_branch: Option<&str>,
    defaults: Option<&Defaults>,
    rules: &BranchRules,
) -> Result<(CheckScope, Option<String>)> {
    let plain = (CheckScope::Branch(base.to_owned()), None);
    // Where GitHub names no default branch, no name is plain.
    let Some(default_branch) = default_branch else {
        return Ok(plain);
    };
    if base == default_branch {
        return Ok((CheckScope::DefaultBranch, None));
    }
    let Some(tip) = config::branch(repo, default_branch).await? else {
        return Ok(plain);
    };
    let Some(policy) = config::policy(repo, tip.commit.sha, defaults).await? else {
        return Ok(plain);
    };
    // Git allows none of these marks in names (<https://git-scm.com/docs/git-check-ref-format>), so that no branch has the
    // name of a pattern.
    let is_pattern = |glob: &NameGlob| glob.as_str().contains(['*', '?', '[']);
    let Some(pattern) = policy
        .branches
        .iter()
        .find(|pattern| is_pattern(pattern) && pattern.matches(base))
    else {
        return Ok(plain);
    };
    if let Some(branch) = branch
        && rules.of(repo, base, branch).await?.keep_people_out
    {
        return Ok((CheckScope::Pattern(pattern.as_str().to_owned()), None));
    }
    Ok((plain.0, Some(pattern.as_str().to_owned())))
}

/// The pull request that is judged for all with this head and base: the oldest opened by somebody who may push, else
/// the oldest. An outsider's copy of a commit changes nothing then. None where that is this one.
pub(super) async fn judge(
    repo: Repo<'_>,
    pull: &Pull,
    others: &[ListedPull],
    registry: &Registry,
) -> Result<Option<PrNumber>> {
    let pull_request = &pull.pull_request;
    let same_base = others.iter().filter(|other| {
        other.base.branch == pull.target && other.governed_by() == pull_request.base.branch
    });
    let mut rivals: Vec<(PrNumber, Account)> = same_base
        .map(|other| (other.number, account(other.user.clone())))
        .collect();
    if rivals
        .iter()
        .all(|(number, _)| *number == pull_request.number)
    {
        return Ok(None);
    }
    rivals.push((pull_request.number, pull_request.author.clone()));
    rivals.sort_by_key(|(number, _)| *number);
    rivals.dedup_by_key(|(number, _)| *number);
    let oldest = rivals.first().map(|(number, _)| *number);
    let mut judge = oldest;
    for (number, author) in rivals {
        let standing = registry.person(repo, author.id, &author.login).await?;
        if matches!(standing, Standing::Known { permission, .. } if permission >= Permission::Write)
        {
            judge = Some(number);
            break;
        }
    }
    Ok(judge.filter(|judge| *judge != pull_request.number))
}

/// Open layers beneath that are asked about; of a higher one everything beneath is its own.
const MOST_LAYERS: usize = 20;

#[derive(Deserialize)]
struct ListedStack {
    /// The bottom first.
    pull_requests: Vec<ListedLayer>,
}

#[derive(Deserialize)]
struct ListedLayer {
    number: PrNumber,
    state: String,
    merged_at: Option<Timestamp>,
    head: Side,
}

/// A stack as read: which layers there are, not yet how they stand.
#[derive(Default)]
pub(super) struct StackLayers {
    beneath: Vec<(PrNumber, Sha)>,
    above: Option<PrNumber>,
    position: usize,
    size: usize,
    /// Why the layers beneath are unknown.
    pub problem: Option<ObservationProblem>,
}

/// The layers of the pull request's stack, where it is in one.
pub(super) async fn layers(repo: Repo<'_>, pull: &Pull) -> Result<Option<StackLayers>> {
    let Some(stack) = &pull.stack else {
        return Ok(None);
    };
    let at = repo.path(format!("stacks?pull_request={}", pull.pull_request.number));
    let read = repo
        .get::<Vec<ListedStack>>(&at)
        .await
        .or_reason()?
        .and_then(|stacks| order(&stacks, pull, stack));
    let problem = |reason| ObservationProblem {
        what: "the layers of the stack beneath".to_owned(),
        reason: format!(
            "{reason}; all that differs from {} counts as this layer's own",
            stack.base.branch
        ),
    };
    Ok(Some(read.unwrap_or_else(|reason| StackLayers {
        problem: Some(problem(reason)),
        ..StackLayers::default()
    })))
}

fn order(stacks: &[ListedStack], pull: &Pull, stack: &InStack) -> Result<StackLayers, String> {
    let own = pull.pull_request.number;
    let place = stacks.iter().find_map(|stack| {
        let place = stack
            .pull_requests
            .iter()
            .position(|layer| layer.number == own)?;
        Some((&stack.pull_requests, place))
    });
    let (layers, place) = place.ok_or_else(|| format!("no stack names #{own}"))?;
    let (lower, upper) = layers.split_at(place);
    let above = upper
        .iter()
        .skip(1)
        .find(|layer| layer.state == "open")
        .map(|layer| layer.number);
    let lower: Vec<&ListedLayer> = lower
        .iter()
        .filter(|layer| layer.merged_at.is_none())
        .collect();
    let mut beneath = Vec::new();
    if pull.pull_request.lifecycle == Lifecycle::Open {
        if let Some(closed) = lower.iter().find(|layer| layer.state != "open") {
            return Err(format!(
                "#{} was closed without being merged",
                closed.number
            ));
        }
        // The layer beneath may have changed places between the two answers.
        let target = lower
            .last()
            .map_or(&stack.base.branch, |layer| &layer.head.branch);
        if *target != pull.target {
            return Err(format!("this targets {}, not {target}", pull.target));
        }
        if lower.len() > MOST_LAYERS {
            return Err(format!("there are {} of them", lower.len()));
        }
        beneath = lower
            .iter()
            .map(|layer| (layer.number, layer.head.sha))
            .collect();
    }
    Ok(StackLayers {
        beneath,
        above,
        position: place + 1,
        size: layers.len(),
        problem: None,
    })
}

impl PullReading<'_> {
    /// How our checks stand on the heads of the layers beneath. What may not be read has not begun.
    pub(super) async fn stack(&self) -> Result<Option<Stack>> {
        let Self { repo, facts, .. } = *self;
        let Some(&StackLayers {
            ref beneath,
            above,
            position,
            size,
            ..
        }) = facts.base.layers.as_ref()
        else {
            return Ok(None);
        };
        let scope = &facts.pull.pull_request.base.scope;
        let read = beneath.iter().map(|&(number, head)| async move {
            let read = checks::read_runs(repo, head, &facts.us)
                .await
                .or_refused()?;
            let own = read.map(|checks| checks.own).unwrap_or_default();
            let newest = |check: &OwnCheck| {
                let name = check.name(scope);
                own.iter()
                    .filter(|run| run.name == name)
                    .max_by_key(|run| run.id)
                    .map(|run| run.progress)
            };
            let checks: BTreeMap<_, _> = OwnCheck::ALL
                .iter()
                .filter_map(|check| Some((*check, newest(check)?)))
                .collect();
            Ok::<_, Error>(Layer { number, checks })
        });
        Ok(Some(Stack {
            position,
            size,
            beneath: futures::future::try_join_all(read).await?,
            above,
        }))
    }
}
