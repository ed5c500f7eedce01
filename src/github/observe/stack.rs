//! Native stacks: the layers beneath a pull request, with which GitHub would merge it
//! (<https://docs.github.com/en/rest/pulls/stacks>).

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{checks, pull::Pull, rest::Reading};
use crate::github::{
    Error, Repo,
    error::OrAbsent as _,
    wire::{InStack, Side},
};
use loopgate_core::{
    PrNumber, Sha, Timestamp,
    observed::{Layer, Lifecycle, ObservationProblem, OwnCheck, Stack},
};

/// Open layers beneath that are asked about; of a higher one everything beneath is its own.
const MOST_LAYERS: usize = 20;

#[derive(Deserialize)]
struct Wire {
    /// The bottom first.
    pull_requests: Vec<WireLayer>,
}

#[derive(Deserialize)]
struct WireLayer {
    number: PrNumber,
    state: String,
    merged_at: Option<Timestamp>,
    head: Side,
}

/// A stack as read: which layers there are, not yet how they stand.
#[derive(Default)]
pub(super) struct Layers {
    beneath: Vec<(PrNumber, Sha)>,
    above: Option<PrNumber>,
    position: usize,
    size: usize,
    /// Why the layers beneath are unknown.
    pub problem: Option<ObservationProblem>,
}

/// What the files of a pull request are compared with.
pub(super) enum ComparedWith {
    /// The branch it targets.
    Target(Sha),
    /// The base of its stack, since not all layers beneath could be read: what they change counts as its own.
    StackBase(Sha),
}

/// The layers of the pull request's stack, where it is in one.
pub(super) async fn layers(repo: Repo<'_>, pull: &Pull) -> Result<Option<Layers>, Error> {
    let Some(stack) = &pull.stack else { return Ok(None) };
    let at = repo.path(format!("stacks?pull_request={}", pull.pull_request.number));
    let read = repo.get::<Vec<Wire>>(&at).await.or_said()?.and_then(|stacks| order(&stacks, pull, stack));
    let problem = |reason| ObservationProblem {
        what: "the layers of the stack beneath".to_owned(),
        reason: format!("{reason}; all that differs from {} counts as this layer's own", stack.base.branch),
    };
    Ok(Some(read.unwrap_or_else(|reason| Layers { problem: Some(problem(reason)), ..Layers::default() })))
}

fn order(stacks: &[Wire], pull: &Pull, stack: &InStack) -> Result<Layers, String> {
    let own = pull.pull_request.number;
    let place = stacks.iter().find_map(|stack| {
        let place = stack.pull_requests.iter().position(|layer| layer.number == own)?;
        Some((&stack.pull_requests, place))
    });
    let (layers, place) = place.ok_or_else(|| format!("no stack names #{own}"))?;
    let (lower, upper) = layers.split_at(place);
    let above = upper.iter().skip(1).find(|layer| layer.state == "open").map(|layer| layer.number);
    let lower: Vec<&WireLayer> = lower.iter().filter(|layer| layer.merged_at.is_none()).collect();
    let mut beneath = Vec::new();
    if pull.pull_request.lifecycle == Lifecycle::Open {
        if let Some(closed) = lower.iter().find(|layer| layer.state != "open") {
            return Err(format!("#{} was closed without being merged", closed.number));
        }
        // The layer beneath may have changed places between the two answers.
        let target = lower.last().map_or(&stack.base.branch, |layer| &layer.head.branch);
        if *target != pull.target {
            return Err(format!("this targets {}, not {target}", pull.target));
        }
        if lower.len() > MOST_LAYERS {
            return Err(format!("there are {} of them", lower.len()));
        }
        beneath = lower.iter().map(|layer| (layer.number, layer.head.sha)).collect();
    }
    Ok(Layers { beneath, above, position: place + 1, size: layers.len(), problem: None })
}

impl Reading<'_> {
    /// How our checks stand on the heads of the layers beneath. What may not be read has not begun.
    pub(super) async fn stack(&self) -> Result<Option<Stack>, Error> {
        let Self { repo, facts, .. } = *self;
        let Some(&Layers { ref beneath, above, position, size, .. }) = facts.base.layers.as_ref() else {
            return Ok(None);
        };
        let scope = &facts.pull.pull_request.base.scope;
        let read = beneath.iter().map(|&(number, head)| async move {
            let read = checks::read_runs(repo, head, &facts.us).await.or_refused()?;
            let own = read.map(|checks| checks.own).unwrap_or_default();
            let newest = |check: &OwnCheck| {
                let name = check.name(scope);
                own.iter().filter(|run| run.name == name).max_by_key(|run| run.id).map(|run| run.progress)
            };
            let checks: BTreeMap<_, _> =
                OwnCheck::ALL.iter().filter_map(|check| Some((*check, newest(check)?))).collect();
            Ok::<_, Error>(Layer { number, checks })
        });
        Ok(Some(Stack { position, size, beneath: futures::future::try_join_all(read).await?, above }))
    }
}
