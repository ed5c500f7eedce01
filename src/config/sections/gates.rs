//! `gates:`, the approvals sensitive changes need.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chrono::TimeDelta;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::trigger::When;
use crate::config::{
    leaf::{Handle, OffOr, ShortOr, Transition},
    node::Node,
    problem::Problem,
    sections::Lowering,
    suggest,
};
use loopgate_core::{
    GateName, Login, PatternName, TeamSlug,
    observed::Permission,
    policy::{
        ApproveBy, Approvers, ChecklistMode, ChosenRules, Exclusions, GatePolicy, GatePreset,
        GateTrigger, InvalidateOnPush, Period, RequestTime, RuleTier, Whole,
    },
    stage::Stage,
};

/// A gate. A preset needs no key at all; a gate of your own needs `when`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(in crate::config) struct GateSection {
    /// What opens it. Required for a gate of your own; replaces a preset's condition as a whole.
    when: Option<When>,
    /// Rules of its preset that are off here, or have another tier. docs/rules.md names them all.
    rules: IndexMap<PatternName, RuleChoice>,
    /// The transition it holds. Default: VALIDATE -> DOCUMENT.
    blocks: Option<Transition>,
    /// Who may approve. Default: a preset's team if it exists, else people who may maintain the repository.
    approvers: ApproversSection,
    /// What counts as an approval. Default: `[comment]`; `[review]` for deploy.
    approve_by: Option<Vec<ApprovalWay>>,
    /// When a push makes an approval stale. Default: matching, when the gate's own part of the diff changes.
    invalidate_on_push: InvalidateOnPush,
    /// Whether the author may approve. Default: false.
    allow_author: bool,
    /// Whether people who authored or committed a commit may approve. Default: false.
    allow_contributors: bool,
    /// Whether co-authors of a commit may approve. Default: as `allow_contributors`.
    allow_coauthors: Option<bool>,
    /// Whether people who pushed to the branch may approve. Default: as `allow_contributors`.
    allow_pusher: Option<bool>,
    /// Whether the person who asked a coding agent for the pull request may approve. Default: false.
    allow_requester: bool,
    /// Whether merging the base into the head leaves its pusher no contributor. Default: true.
    ignore_update_merges: Option<bool>,
    /// Whether bots may approve. Default: false.
    allow_bots: bool,
    /// Whether every box of the gate's checklist must be ticked. Default: optional.
    checklist: ChecklistMode,
    /// When people are asked. Default: immediately.
    request: RequestTime,
    /// The label while it is pending, at most 50 characters. Default: "needs:<name>-review".
    label: Option<String>,
    /// How long until the approvers are reminded. Default: 24h.
    remind_after: Option<Period>,
    /// How long until a person is called. Default: 72h.
    escalate_after: Option<Period>,
}

/// Who may approve: people who match one of these.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct ApproversSection {
    /// Logins.
    users: Vec<Handle>,
    /// Teams as org/slug; members of their child teams count.
    teams: Vec<TeamSlug>,
    /// Everybody with at least this permission on the repository.
    permission: Option<ApproverPermission>,
    /// The code owners of the files that opened the gate. Default: false.
    codeowners: bool,
    /// How many different people are needed. Default: 1.
    count: Option<Whole<1, 20>>,
}

/// Permissions that can make an approver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ApproverPermission {
    Write,
    Maintain,
    Admin,
}

/// What counts as an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ApprovalWay {
    /// A comment that says so: `security approved`.
    Comment,
    /// An approving review.
    Review,
}

/// What a rule does in this repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum RuleChoice {
    Off,
    /// Opens the gate alone.
    Opens,
    /// Opens it together with another suspect.
    Suspects,
}

/// A pull request with more gates than this has other problems.
const MOST_GATES: usize = 100;

/// What is known of gates beside the file.
#[derive(Clone, Copy)]
pub(in crate::config) struct KnownGates<'a> {
    pub presets: &'a IndexMap<GateName, GatePreset>,
    /// The gates that are written outside the presets.
    pub configured: &'a [GateName],
}

/// Makes the gates' policies; those that are `off` are gone.
pub(in crate::config) fn lower(
    written: IndexMap<GateName, OffOr<GateSection>>,
    known: KnownGates<'_>,
    node: &Node,
    cx: &mut Lowering,
) -> BTreeMap<GateName, GatePolicy> {
    let mut gates = BTreeMap::new();
    if !cx.at_most(MOST_GATES, node, "gates") {
        return gates;
    }
    let mut labels: HashMap<String, GateName> = HashMap::new();
    for (name, gate) in written {
        let ShortOr::Long(gate) = gate else { continue };
        let (node, preset) = (node.at(name.as_str()), known.presets.get(&name));
        if preset.is_some_and(|preset| preset.only_where_written)
            && !known.configured.contains(&name)
        {
            continue;
        }
        let Some(gate) = gate.lower(&name, known, node, cx) else {
            continue;
        };
        // Taking one gate's label away must not hide that another is pending.
        let other = labels.insert(gate.label.to_lowercase(), name.clone());
        if let (Some(other), Some(place)) = (other, node.written("label")) {
            cx.refuse(Problem::wrong(
                place,
                format!("the gate `{other}` has this label too"),
            ));
        }
        gates.insert(name, gate);
    }
    gates
}

impl GateSection {
    fn lower(
        self,
        name: &GateName,
        known: KnownGates<'_>,
        node: &Node,
        cx: &mut Lowering,
    ) -> Option<GatePolicy> {
        let Some(when) = self.when else {
            let usual = known
                .presets
                .iter()
                .filter(|(_, preset)| !preset.only_where_written);
            let hint = match suggest::nearest(name.as_str(), usual.map(|(name, _)| name.as_str())) {
                Some(preset) => {
                    format!("say when it opens, or did you mean the preset `{preset}`?")
                }
                None => "say when it opens, for example `when: { paths: [\"src/billing/**\"] }`"
                    .to_owned(),
            };
            return cx.refused(Problem::missing(node.place, "when").hint(hint));
        };
        let preset = known.presets.get(name);
        let mut trigger = GateTrigger::from(when);
        for (rule, choice) in &self.rules {
            choose(
                &mut trigger,
                rule,
                *choice,
                node.at("rules").at(rule.as_str()),
                cx,
            );
        }
        let label = self.label.unwrap_or_else(|| format!("needs:{name}-review"));
        let label_place = node.written("label").unwrap_or(node.at("when").place);
        let period = |written: Option<Period>, hours| {
            written.map_or(TimeDelta::hours(hours), |period| period.0)
        };
        let gate = GatePolicy {
            is_configured: known.configured.contains(name),
            preset: preset.cloned(),
            trigger,
            holds: self
                .blocks
                .map_or(Stage::Validate, |transition| transition.from),
            approvers: self.approvers.lower(preset, node.at("approvers"), cx),
            approve_by: self.approve_by.map_or(ApproveBy::Comment, |ways| {
                approve_by(&ways, node.at("approve_by"), cx)
            }),
            invalidate_on_push: self.invalidate_on_push,
            exclusions: Exclusions {
                allow_author: self.allow_author,
                allow_contributors: self.allow_contributors,
                allow_coauthors: self.allow_coauthors.unwrap_or(self.allow_contributors),
                allow_pusher: self.allow_pusher.unwrap_or(self.allow_contributors),
                allow_requester: self.allow_requester,
                count_update_merges: self.ignore_update_merges == Some(false),
                allow_bots: self.allow_bots,
            },
            checklist: self.checklist,
            request: self.request,
            label: cx.label(label_place, label),
            remind_after: period(self.remind_after, 24),
            escalate_after: period(self.escalate_after, 72),
        };
        let written = node
            .written("escalate_after")
            .or_else(|| node.written("remind_after"));
        if let (true, Some(place)) = (gate.escalate_after < gate.remind_after, written) {
            let problem = Problem::wrong(
                place,
                "a person would be called before the approvers are reminded",
            );
            cx.refuse(problem.hint(
                "`remind_after` (24h unless set) comes before `escalate_after` (72h unless set)",
            ));
        }
        Some(gate)
    }
}

/// Gives a rule its tier in the rules that a trigger goes by.
fn choose(
    trigger: &mut GateTrigger,
    rule: &PatternName,
    choice: RuleChoice,
    node: &Node,
    cx: &mut Lowering,
) {
    let rules_of = |condition| match condition {
        &mut GateTrigger::Rules(ref mut rules) => Some(rules),
        _ => None,
    };
    let chosen: Vec<&mut ChosenRules> = trigger
        .conditions_mut()
        .into_iter()
        .filter_map(rules_of)
        .collect();
    let known: Vec<String> = chosen
        .iter()
        .flat_map(|rules| &rules.book.rules)
        .map(|rule| rule.id.to_string())
        .collect();
    let mut is_known = false;
    for rules in chosen {
        let Some(index) = rules
            .tiers
            .keys()
            .copied()
            .find(|&index| rules.book.rules[index].id == *rule)
        else {
            continue;
        };
        is_known = true;
        match choice {
            RuleChoice::Off => drop(rules.tiers.remove(&index)),
            RuleChoice::Opens => drop(rules.tiers.insert(index, RuleTier::Opens)),
            RuleChoice::Suspects => drop(rules.tiers.insert(index, RuleTier::Suspects)),
        }
    }
    if !is_known {
        let problem = Problem::wrong(node.place, format!("this gate has no rule `{rule}`"));
        let nearest = suggest::nearest(rule.as_str(), known.iter().map(String::as_str));
        cx.refuse(
            problem.hint(match (nearest, known.is_empty()) {
                (_, true) => {
                    "its `when` names no rules: write `rules: security` there, or leave this out"
                        .to_owned()
                }
                (Some(nearest), false) => format!("did you mean `{nearest}`?"),
                (None, false) => "docs/rules.md names the rules of each gate".to_owned(),
            }),
        );
    }
}

impl ApproversSection {
    fn lower(self, preset: Option<&GatePreset>, node: &Node, cx: &mut Lowering) -> Approvers {
        let users: BTreeSet<Login> = self.users.into_iter().map(|user| user.0).collect();
        let permission = self.permission.map(|permission| match permission {
            ApproverPermission::Write => Permission::Write,
            ApproverPermission::Maintain => Permission::Maintain,
            ApproverPermission::Admin => Permission::Admin,
        });
        let (teams, codeowners): (BTreeSet<TeamSlug>, _) =
            (self.teams.into_iter().collect(), self.codeowners);
        let only_users = teams.is_empty() && permission.is_none() && !codeowners;
        let count = self.count.map_or(1, |count| count.0);
        if only_users && !users.is_empty() && users.len() < count as usize {
            let place = node.at("count").place;
            let problem = Problem::wrong(
                place,
                format!("{count} people are needed and {} may approve", users.len()),
            );
            cx.refuse(problem.hint("no one can ever open this gate: name more people, or a team"));
        }
        // A preset's team is a default: it goes when somebody is named.
        let preset_team = preset
            .filter(|_| users.is_empty() && only_users)
            .map(|preset| preset.team.clone());
        Approvers {
            users,
            teams,
            permission,
            codeowners,
            count,
            preset_team,
        }
    }
}

fn approve_by(ways: &[ApprovalWay], node: &Node, cx: &mut Lowering) -> ApproveBy {
    match (
        ways.contains(&ApprovalWay::Comment),
        ways.contains(&ApprovalWay::Review),
    ) {
        (true, true) => ApproveBy::CommentOrReview,
        (true, false) => ApproveBy::Comment,
        (false, true) => ApproveBy::Review,
        (false, false) => {
            let problem = Problem::wrong(node.place, "nothing would count as an approval");
            cx.refuse(problem.hint("write `[comment]`, `[review]` or both"));
            ApproveBy::Comment
        }
    }
}
