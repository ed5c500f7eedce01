//! The file as a whole.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    coverage::CoverageSection,
    evaluate,
    fixer::FixerSection,
    gates::{self, GateSection, KnownGates},
    verify::{ReviewerSection, VerifySection, add_reviewers},
};
use crate::config::{
    leaf::{Handle, OffOr, ShortOr},
    node::Node,
    problem::{Layer, Problem},
    sections::Lowering,
};
use loopgate_core::{
    GateName, Login,
    policy::{
        EscalationAction, EscalationPolicy, EvaluatePolicy, ExternalRetry, GateRole, GateTrigger,
        LabelPolicy, LoopPolicy, MemoryPolicy, Mode, NameGlob, Policy, PolicyOrigin, StateBackend,
        Waits, Whole, known_coding_agents,
    },
};

/// Configuration of Loopgate: `.github/loopgate.yml`. Every key may be left out; config/loopgate.example.yml shows
/// them all with their defaults.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(in crate::config) struct File {
    /// Version of this format.
    pub version: Option<Whole<1, 1>>,
    /// Whether Loopgate is active. True in a repository that has a file, false in one that has none, unless the
    /// organisation's file says true.
    pub enabled: Option<bool>,
    /// Only in an organisation's file: what its repositories cannot change.
    pub policy: PolicySection,
    /// Which gates hold.
    pub mode: Mode,
    /// The checks, and whose evidence counts.
    pub verify: VerifySection,
    /// AI reviewers whose review threads are checks.
    pub reviewers: Vec<ReviewerSection>,
    /// When to try again, and when to call a person.
    #[serde(rename = "loop")]
    pub retry: LoopPolicy,
    /// Rules, weights and thresholds.
    pub evaluate: EvaluatePolicy,
    /// What each type of change must reach.
    pub coverage: CoverageSection,
    /// Gates by name. `architecture`, `security`, `database`, `external` and `deploy` are there already: what is
    /// written is put on top of them, and `off` removes one. Any other name is a gate of your own.
    pub gates: IndexMap<GateName, OffOr<GateSection>>,
    /// Who is called, where, and with what.
    pub escalation: EscalationPolicy<FixerSection>,
    /// The labels of the loop's state, or `off`.
    pub labels: Option<OffOr<LabelPolicy>>,
    /// Who tries to repair between attempts.
    pub fixer: FixerSection,
    /// What is remembered of failures.
    pub memory: MemoryPolicy,
    /// Where the state of a loop is kept.
    pub state: StateSection,
    /// What happens once a pull request is merged.
    pub on_complete: OnCompleteSection,
    /// Whether an approval of the security gate also lets the workflows run that GitHub holds back on a pull request
    /// from a fork, on the approved commit. Needs actions: write. Default: false.
    pub approve_runs: bool,
    /// Patterns of branches that share one name of each check, such as `release/*`. Read from the default branch and
    /// the organisation's file; a branch that people can make or push to keeps its own name.
    pub branches: Vec<NameGlob>,
    /// Logins under which coding agents open pull requests, beside those that Loopgate knows. A person who asked for
    /// one does not approve it.
    pub coding_agents: Vec<Handle>,
}

/// Limits an organisation sets for its repositories.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(in crate::config) struct PolicySection {
    /// Sections or keys (`gates`, `loop.max_attempts`) that a repository's file cannot override.
    pub locked: Vec<String>,
}

/// Where the state of a loop is kept.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(in crate::config) struct StateSection {
    /// Default: ref.
    backend: StateBackend,
}

/// What happens once a pull request is merged.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(in crate::config) struct OnCompleteSection {
    /// Delete the head branch.
    delete_branch: bool,
}

impl File {
    /// The policy this file means; `tree` is what it was made from. A repository that has no file of its own is off
    /// unless the organisation switches it on.
    pub fn lower(
        self,
        has_file: bool,
        known: KnownGates<'_>,
        tree: &Node,
        cx: &mut Lowering,
    ) -> Policy {
        if let Some(place) = tree
            .written("policy")
            .filter(|place| place.layer == Layer::Repository)
        {
            let problem = Problem::wrong(place, "only an organisation's file can lock settings");
            cx.refuse(
                problem
                    .hint("move it to `loopgate.yml` of the organisation's `.github` repository"),
            );
        }
        let mut verify = self.verify.lower(tree.at("verify"), cx);
        add_reviewers(self.reviewers, &mut verify, tree.at("reviewers"), cx);
        let mut gates = gates::lower(self.gates, known, tree.at("gates"), cx);
        let coding_agents: BTreeSet<Login> = known_coding_agents()
            .chain(self.coding_agents.into_iter().map(|agent| agent.0))
            .collect();
        for condition in gates
            .values_mut()
            .flat_map(|gate| gate.trigger.conditions_mut())
        {
            if let GateTrigger::Agent(known) = condition {
                known.clone_from(&coding_agents);
            }
        }
        if self.approve_runs && !gates.values().any(|gate| gate.has_role(GateRole::Security)) {
            let place = tree.at("approve_runs").place;
            let problem =
                Problem::wrong(place, "the security gate is off, so nothing lets runs go");
            cx.warnings
                .push(problem.hint("take this key away, or the `off` of the gate"));
        }
        check_waits(
            &self.retry.external_retry,
            tree.at("loop").at("external_retry"),
            cx,
        );
        Policy {
            origin: if has_file {
                PolicyOrigin::WorkingTree
            } else {
                PolicyOrigin::Defaults
            },
            overruled: Vec::new(),
            is_active: self.enabled.unwrap_or(has_file),
            mode: self.mode,
            retry: self.retry,
            evaluate: evaluate::lower(self.evaluate, &verify, tree.at("evaluate"), cx),
            coverage: self.coverage.lower(),
            gates,
            escalation: lower_escalation(self.escalation, tree.at("escalation"), cx),
            labels: match self.labels {
                None | Some(ShortOr::Short(_)) => LabelPolicy::default(),
                Some(ShortOr::Long(labels)) => {
                    let node = tree.at("labels");
                    for (key, name, _) in labels.all() {
                        let own = node.get(key).and_then(|label| label.node.written("name"));
                        cx.label(own.unwrap_or(node.at("prefix").place), name);
                    }
                    labels
                }
            },
            fixer: self.fixer.lower(tree.at("fixer"), cx),
            memory: self.memory,
            state: self.state.backend,
            delete_branch: self.on_complete.delete_branch,
            approve_runs: self.approve_runs,
            branches: self.branches,
            coding_agents,
            verify,
        }
    }
}

/// `escalation:`, who is called, where, and with what.
fn lower_escalation(
    written: EscalationPolicy<FixerSection>,
    node: &Node,
    cx: &mut Lowering,
) -> EscalationPolicy {
    let EscalationPolicy {
        notify,
        ops,
        product_owner,
        channels,
        include_in_report,
        triggers,
        template,
        senior,
    } = written;
    for (trigger, own) in &triggers {
        if own.action == Some(EscalationAction::SeniorAgent) && senior.is_none() {
            let place = node.at("triggers").at(trigger.as_str()).at("action").place;
            let problem = Problem::wrong(place, "there is no senior agent to call");
            cx.refuse(problem.hint("add it as `escalation.senior`"));
        }
    }
    let template = cx.inside_repository(template, node.at("template"));
    let senior = senior.map(|senior| senior.lower_senior(node.at("senior"), cx));
    EscalationPolicy {
        notify,
        ops,
        product_owner,
        channels,
        include_in_report,
        triggers,
        template,
        senior,
    }
}

fn check_waits(retry: &ExternalRetry, node: &Node, cx: &mut Lowering) {
    for (waits, node) in [
        (retry.commands(), node),
        (retry.workflows, node.at("workflows")),
    ] {
        let Waits {
            first_wait,
            longest_wait,
            ..
        } = waits;
        let written = node
            .written("longest_wait")
            .or_else(|| node.written("first_wait"));
        if let (true, Some(place)) = (longest_wait < first_wait, written) {
            cx.refuse(Problem::wrong(
                place,
                "the longest wait is shorter than the first",
            ));
        }
    }
}
