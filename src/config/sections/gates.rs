//! `gates:`, the approvals sensitive changes need.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chrono::TimeDelta;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::trigger::When;
use crate::config::{
    leaf::{Handle, Period, Transition, Whole},
    lower::Lowering,
    place::Place,
    presets::PresetSection,
    problem::Problem,
    suggest,
    wrappers::{Located, OffOr, OneOrMany, ShortOr},
};
use loopgate_core::{
    GateName, Login, PatternName, TeamSlug,
    observed::Permission,
    policy::{
        ApproveBy, Approvers, ChecklistMode, ChosenRules, Codeowners, Exclusion, Exclusions, GateDefinition,
        GatePolicy, GateTrigger, InvalidateOnPush, RequestTime, RuleTier,
    },
    stage::Stage,
};

/// A gate. A preset needs no key at all; a gate of your own needs `when`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(in crate::config) struct GateSection {
    /// What opens it. Required for a gate of your own; replaces a preset's condition as a whole.
    when: Option<Located<When>>,
    /// Rules of its preset that are off here, or have another tier. docs/rules.md names them all.
    rules: Option<IndexMap<PatternName, Located<RuleChoice>>>,
    /// The transition it holds. Default: VALIDATE -> DOCUMENT.
    blocks: Option<Transition>,
    /// Who may approve. Default: a preset's team if it exists, else people who may maintain the repository.
    approvers: Option<Located<ApproversSection>>,
    /// What counts as an approval. Default: `[comment]`; `[review]` for deploy.
    approve_by: Option<Located<OneOrMany<ApprovalWay>>>,
    /// When a push makes an approval stale. Default: matching, when the gate's own part of the diff changes.
    invalidate_on_push: Option<InvalidateOnPush>,
    /// Whether the author may approve. Default: false.
    allow_author: Option<bool>,
    /// Whether people who authored or committed a commit may approve. Default: false.
    allow_contributors: Option<bool>,
    /// Whether co-authors of a commit may approve. Default: as `allow_contributors`.
    allow_coauthors: Option<bool>,
    /// Whether people who pushed to the branch may approve. Default: as `allow_contributors`.
    allow_pusher: Option<bool>,
    /// Whether whoever asked a coding agent for the pull request may approve. Default: false.
    allow_requester: Option<bool>,
    /// Whether merging the base into the head makes nobody a contributor. Default: true.
    ignore_update_merges: Option<bool>,
    /// Whether bots may approve. Default: false.
    allow_bots: Option<bool>,
    /// Whether every box of the gate's checklist must be ticked. Default: optional.
    checklist: Option<ChecklistMode>,
    /// When people are asked. Default: immediately.
    request: Option<RequestTime>,
    /// The label while it is pending, at most 50 characters. Default: "needs:<name>-review".
    label: Option<Located<String>>,
    /// How long until the approvers are reminded. Default: 24h.
    remind_after: Option<Located<Period>>,
    /// How long until a person is called. Default: 72h.
    escalate_after: Option<Located<Period>>,
}

/// Who may approve: whoever matches one of these.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct ApproversSection {
    /// Logins.
    users: Option<OneOrMany<Handle>>,
    /// Teams as org/slug; members of their child teams count.
    teams: Option<OneOrMany<TeamSlug>>,
    /// Everybody with at least this permission on the repository.
    permission: Option<ApproverPermission>,
    /// The code owners of the files that opened the gate. Default: false.
    codeowners: Option<bool>,
    /// How many different people are needed. Default: 1.
    count: Option<Located<Whole<1, 20>>>,
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

/// What is known of gates beside what the file says of them.
#[derive(Clone, Copy)]
pub(in crate::config) struct KnownGates<'a> {
    pub presets: &'a IndexMap<GateName, PresetSection>,
    /// The gates that are written outside the presets.
    pub configured: &'a [GateName],
}

/// Makes the gates' policies; those that are `off` are gone.
pub(in crate::config) fn lower(
    written: IndexMap<GateName, OffOr<Located<GateSection>>>,
    known: KnownGates<'_>,
    cx: &mut Lowering,
) -> BTreeMap<GateName, GatePolicy> {
    let mut gates = BTreeMap::new();
    let beyond = written.values().filter_map(ShortOr::long).nth(MOST_GATES);
    if !cx.at_most(MOST_GATES, beyond.map(|gate| gate.place), "gates") {
        return gates;
    }
    let mut labels = HashMap::new();
    for (name, gate) in written {
        let ShortOr::Long(gate) = gate else { continue };
        let preset = known.presets.get(&name);
        if preset.is_some_and(PresetSection::only_where_written) && !known.configured.contains(&name) {
            continue;
        }
        let label_place = gate.value.label.as_ref().map(|label| label.place);
        let Some(gate) = gate.lower(&name, known, cx) else { continue };
        refuse_shared_label(&name, &gate.label, label_place, &mut labels, cx);
        gates.insert(name, gate);
    }
    gates
}

/// Taking one gate's label away must not hide that another is pending.
fn refuse_shared_label(
    name: &GateName,
    label: &str,
    place: Option<Place>,
    labels: &mut HashMap<String, GateName>,
    cx: &mut Lowering,
) {
    let other = labels.insert(label.to_lowercase(), name.clone());
    if let (Some(other), Some(place)) = (other, place) {
        cx.refuse(Problem::wrong(place, format!("the gate `{other}` has this label too")));
    }
}

impl Located<GateSection> {
    fn lower(self, name: &GateName, known: KnownGates<'_>, cx: &mut Lowering) -> Option<GatePolicy> {
        let Self { value: gate, place } = self;
        let Some(when) = gate.when else {
            let usual = known.presets.iter().filter(|(_, preset)| !preset.only_where_written());
            let hint = match suggest::nearest(name.as_str(), usual.map(|(name, _)| name.as_str())).first() {
                Some(preset) => format!("say when it opens, or did you mean the preset `{preset}`?"),
                None => "say when it opens, for example `when: { paths: [\"src/billing/**\"] }`".to_owned(),
            };
            cx.refuse(Problem::missing(place, "when").hint(hint));
            return None;
        };
        let preset = known.presets.get(name);
        let mut trigger = when.value.lower(cx);
        for (rule, choice) in gate.rules.iter().flatten() {
            choose(&mut trigger, rule, choice, cx);
        }
        Some(GatePolicy {
            definition: match known.configured.contains(name) {
                true => GateDefinition::Configured,
                false => GateDefinition::Preset,
            },
            preset: preset.map(PresetSection::lower),
            trigger,
            holds: gate.blocks.map_or(Stage::Validate, |transition| transition.from),
            approvers: approvers(gate.approvers, preset, cx),
            approve_by: gate.approve_by.map_or(ApproveBy::Comment, |ways| approve_by(&ways, cx)),
            invalidate_on_push: gate.invalidate_on_push.unwrap_or_default(),
            exclusions: Exclusions {
                author: exclusion(gate.allow_author),
                contributors: exclusion(gate.allow_contributors),
                coauthors: exclusion(gate.allow_coauthors.or(gate.allow_contributors)),
                pushers: exclusion(gate.allow_pusher.or(gate.allow_contributors)),
                requester: exclusion(gate.allow_requester),
                update_merges: exclusion(Some(gate.ignore_update_merges.unwrap_or(true))),
                bots: exclusion(gate.allow_bots),
            },
            checklist: gate.checklist.unwrap_or_default(),
            request: gate.request.unwrap_or_default(),
            label: label(gate.label, name, when.place, cx),
            remind_after: gate.remind_after.as_ref().map_or(TimeDelta::hours(24), |period| period.value.0),
            escalate_after: escalate_after(gate.remind_after.as_ref(), gate.escalate_after.as_ref(), cx),
        })
    }
}

/// Gives a rule its tier in the rules that a trigger goes by.
fn choose(trigger: &mut GateTrigger, rule: &PatternName, choice: &Located<RuleChoice>, cx: &mut Lowering) {
    let mut chosen = Vec::new();
    rules_in(trigger, &mut chosen);
    let known: Vec<String> =
        chosen.iter().flat_map(|rules| rules.book.rules()).map(|rule| rule.id.to_string()).collect();
    let mut is_known = false;
    for rules in chosen {
        let Some(index) = rules.tiers.keys().copied().find(|&index| rules.book.rules()[index].id == *rule) else {
            continue;
        };
        is_known = true;
        match choice.value {
            RuleChoice::Off => drop(rules.tiers.remove(&index)),
            RuleChoice::Opens => drop(rules.tiers.insert(index, RuleTier::Opens)),
            RuleChoice::Suspects => drop(rules.tiers.insert(index, RuleTier::Suspects)),
        }
    }
    if !is_known {
        let problem = Problem::wrong(choice.place, format!("this gate has no rule `{rule}`"));
        let nearest = suggest::nearest(rule.as_str(), known.iter().map(String::as_str));
        cx.refuse(problem.hint(match (nearest.first(), known.is_empty()) {
            (_, true) => "its `when` names no rules: write `rules: security` there, or leave this out".to_owned(),
            (Some(nearest), false) => format!("did you mean `{nearest}`?"),
            (None, false) => "docs/rules.md names the rules of each gate".to_owned(),
        }));
    }
}

fn rules_in<'t>(trigger: &'t mut GateTrigger, found: &mut Vec<&'t mut ChosenRules>) {
    match trigger {
        GateTrigger::Rules(rules) => found.push(rules),
        GateTrigger::Any(parts) | GateTrigger::All(parts) => parts.iter_mut().for_each(|part| rules_in(part, found)),
        GateTrigger::Not(part) => rules_in(part, found),
        _ => {}
    }
}

fn approvers(
    written: Option<Located<ApproversSection>>,
    preset: Option<&PresetSection>,
    cx: &mut Lowering,
) -> Approvers {
    let preset_team = preset.map(|preset| preset.team.clone());
    let Some(Located { value: written, place }) = written else {
        return Approvers { preset_team, ..Approvers::default() };
    };
    let users: BTreeSet<Login> =
        written.users.map_or_else(BTreeSet::new, |users| users.0.into_iter().map(|user| user.0).collect());
    let teams: BTreeSet<TeamSlug> = written.teams.map_or_else(BTreeSet::new, |teams| teams.0.into_iter().collect());
    let permission = written.permission.map(ApproverPermission::lower);
    let codeowners = match written.codeowners {
        Some(true) => Codeowners::MayApprove,
        Some(false) | None => Codeowners::Ignored,
    };
    let only_users = teams.is_empty() && permission.is_none() && codeowners == Codeowners::Ignored;
    let names_nobody = users.is_empty() && only_users;
    let count = written.count.as_ref().map_or(1, |count| count.value.0);
    if only_users && !users.is_empty() && users.len() < count as usize {
        let place = written.count.map_or(place, |count| count.place);
        let problem = Problem::wrong(place, format!("{count} people are needed and {} may approve", users.len()));
        cx.refuse(problem.hint("nobody could ever open this gate: name more people, or a team"));
    }
    // A preset's team is a default: it goes when somebody is named.
    let preset_team = preset_team.filter(|_| names_nobody);
    Approvers { users, teams, permission, codeowners, count, preset_team }
}

impl ApproverPermission {
    const fn lower(self) -> Permission {
        match self {
            Self::Write => Permission::Write,
            Self::Maintain => Permission::Maintain,
            Self::Admin => Permission::Admin,
        }
    }
}

fn approve_by(ways: &Located<OneOrMany<ApprovalWay>>, cx: &mut Lowering) -> ApproveBy {
    let has = |way| ways.value.0.contains(&way);
    match (has(ApprovalWay::Comment), has(ApprovalWay::Review)) {
        (true, true) => ApproveBy::CommentOrReview,
        (true, false) => ApproveBy::Comment,
        (false, true) => ApproveBy::Review,
        (false, false) => {
            let problem = Problem::wrong(ways.place, "nothing would count as an approval");
            cx.refuse(problem.hint("write `[comment]`, `[review]` or both"));
            ApproveBy::Comment
        }
    }
}

const fn exclusion(allowed: Option<bool>) -> Exclusion {
    match allowed {
        Some(true) => Exclusion::Allowed,
        Some(false) | None => Exclusion::Excluded,
    }
}

/// A gate's own label, or one made of its name; `place` is where to complain when that is too long.
fn label(written: Option<Located<String>>, name: &GateName, place: Place, cx: &mut Lowering) -> String {
    match written {
        Some(label) => cx.label(label.place, label.value),
        None => cx.label(place, format!("needs:{name}-review")),
    }
}

fn escalate_after(
    remind: Option<&Located<Period>>,
    escalate: Option<&Located<Period>>,
    cx: &mut Lowering,
) -> TimeDelta {
    let reminded = remind.map_or(TimeDelta::hours(24), |period| period.value.0);
    let escalated = escalate.map_or(TimeDelta::hours(72), |period| period.value.0);
    if let (true, Some(written)) = (escalated < reminded, escalate.or(remind)) {
        let problem = Problem::wrong(written.place, "a person would be called before the approvers are reminded");
        cx.refuse(problem.hint("`remind_after` (24h unless set) comes before `escalate_after` (72h unless set)"));
    }
    escalated
}
