//! The long answer: why a pull request is where it is, why each gate is closed, and who can open it. `loopgate explain`
//! shows all of it, the text of `loopgate / gates` the part about gates, `loopgate explain --gate` which rules found
//! something, and how to turn each of them off.

use minijinja::{context, value::Serde};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    Brevity, Feedback, GateCard, LIMIT, Links, Markdown, Shown, Subject, attempt_row, gate_card,
    items::{self, ItemCard},
    line, marked, messages,
    messages::entry,
    model::EXPLAIN_SCHEMA,
    steps, texts, verdict, warning, words,
};
use loopgate_core::{
    GateName,
    concerns::gates::{GateReport, MatchReason, RuleEvidence, TriggerMatch},
    deciding::{Decision, stages::Blocker},
    observed::Snapshot,
    stage::Stage,
    state::AttemptDigest,
};

/// The text of `loopgate / gates`; `None` if no gate applies and no comment names one.
pub(super) fn gates_text(subject: &Subject<'_>) -> Option<String> {
    let reports = subject
        .gates()
        .filter(|gate| GateCard::is_worth_showing(gate));
    let mut shown: Vec<&GateReport> = reports.collect();
    if shown.is_empty() {
        return None;
    }
    // What stands in the way comes first.
    shown.sort_by_key(|gate| !gate.is_closed());
    let links = Links::of(subject.snapshot);
    let cards: Vec<GateCard> = shown
        .iter()
        .map(|gate| GateCard::explained(gate, subject, &links))
        .collect();
    let model = |brevity: Brevity| {
        context! { gates => Shown::first(brevity.of(100, 4), &cards, |card| card.clone().shortened(brevity)) }
    };
    Some(texts::fitted("check_run/gates_explained.md", LIMIT, model))
}

/// Gates with all that is known of them; what stands in the way comes first. `members` names those of the teams, if the
/// reader has the right to know them.
pub(super) fn gates(
    subject: &Subject<'_>,
    members: fn(&GateReport) -> Vec<String>,
) -> Vec<GateCard> {
    let links = Links::of(subject.snapshot);
    let card = |report: &GateReport| GateCard {
        members: members(report),
        ..GateCard::explained(report, subject, &links)
    };
    let mut gates: Vec<GateCard> = subject.gates().map(card).collect();
    gates.sort_by_key(|gate| !gate.closed);
    gates
}

/// Why a pull request is where it is, and who can open its gates: Markdown. On the command line the one who asks may
/// know who is in a team.
pub fn page(subject: &Subject<'_>) -> String {
    texts::render("explain.md", model(subject, words::members))
}

/// The answer to `/loop explain`: both walks, every rule, every gate and every word about it.
pub(super) fn answer(subject: &Subject<'_>) -> String {
    texts::render("explain_answer.md", model(subject, |_| Vec::new()))
        .trim_end()
        .to_owned()
}

fn model(subject: &Subject<'_>, members: fn(&GateReport) -> Vec<String>) -> minijinja::Value {
    let (view, links) = (&subject.decision.view, Links::of(subject.snapshot));
    let (icon, verdict) = verdict::verdict(subject);
    let quiet: Vec<_> = subject
        .gates()
        .filter(|gate| !GateCard::is_worth_showing(gate))
        .collect();
    context! {
        icon,
        verdict,
        stage_line => Markdown::ours(verdict::stage_line(view.stage)),
        next => steps::next_steps(subject),
        stage => view.stage.as_str(),
        held => hold(view.held_by.as_ref(), subject),
        evidence_stage => view.evidence_stage.as_str(),
        evidence_held => hold(view.evidence_held_by.as_ref(), subject),
        items => Serde(items::items(subject)),
        gates => Serde(gates(subject, members)),
        quiet => gate_card::quiet(&quiet, &links),
        attempts => attempts(subject, &links),
    }
}

/// Each rule with what it weighs and how it ended.
pub(super) fn rules(subject: &Subject<'_>) -> Vec<Markdown> {
    subject
        .rules()
        .take(200)
        .map(|rule| items::rule_line(rule, 300))
        .collect()
}

/// What holds a pull request where it stands.
pub(super) fn hold(hold: Option<&Blocker>, subject: &Subject<'_>) -> Markdown {
    let progress = &subject.decision.view.capabilities;
    let beside = context! { completed => progress.completed, total => progress.total };
    hold.map_or_else(
        || Markdown::ours("nothing holds it"),
        |hold| messages::markdown(entry::Blocker(hold), beside),
    )
}

/// What must be known although it decides nothing.
pub(super) fn warnings(subject: &Subject<'_>, links: &Links) -> Vec<Markdown> {
    subject
        .warnings()
        .take(50)
        .map(|one| warning::sentence(one, links))
        .collect()
}

/// The attempts, the newest first.
fn attempts(subject: &Subject<'_>, links: &Links) -> Vec<Markdown> {
    let line = |attempt: &AttemptDigest| {
        messages::markdown(
            entry::Attempt::Line,
            attempt_row(attempt, links, subject.shows_scores()),
        )
    };
    subject
        .decision
        .next
        .attempts
        .counted
        .iter()
        .rev()
        .take(50)
        .map(line)
        .collect()
}

/// The page for programs: `loopgate.explain/v1`. Its texts are plain.
#[derive(Serialize, JsonSchema)]
pub struct Explanation {
    #[schemars(extend("const" = EXPLAIN_SCHEMA))]
    schema: &'static str,
    verdict: String,
    next: Vec<Markdown>,
    stage: Stage,
    held_by: Markdown,
    /// How far it would come without gates.
    evidence_stage: Stage,
    evidence_held_by: Markdown,
    /// What was looked at, and how it stands.
    items: Vec<ItemCard>,
    rules: Vec<Markdown>,
    gates: Vec<GateCard>,
    attempts: Vec<Markdown>,
    warnings: Vec<Markdown>,
    status: Feedback,
}

impl Explanation {
    pub fn of(subject: &Subject<'_>) -> Self {
        let view = &subject.decision.view;
        let links = Links::of(subject.snapshot);
        let (icon, verdict) = verdict::verdict(subject);
        Self {
            schema: EXPLAIN_SCHEMA,
            verdict: format!("{icon} {verdict}"),
            next: steps::next_steps(subject),
            stage: view.stage,
            held_by: hold(view.held_by.as_ref(), subject),
            evidence_stage: view.evidence_stage,
            evidence_held_by: hold(view.evidence_held_by.as_ref(), subject),
            items: items::items(subject),
            rules: rules(subject),
            gates: gates(subject, words::members),
            attempts: attempts(subject, &links),
            warnings: warnings(subject, &links),
            status: Feedback::of(subject),
        }
    }
}

/// The page as a value.
pub fn document(subject: &Subject<'_>) -> Value {
    marked(json!(Explanation::of(subject)))
}

/// `loopgate.gate_rules/v1`: what the rules and conditions of one gate found; `None` if there is no such gate.
pub fn gate_rules(decision: &Decision, snapshot: &Snapshot, gate: &GateName) -> Option<Value> {
    let report = decision
        .view
        .gates
        .iter()
        .find(|report| report.name == *gate)?;
    let links = Links::of(snapshot);
    let all = || report.matches.iter().chain(&report.suspects);
    let is_rule = |found: &&TriggerMatch| matches!(found.reason, MatchReason::Rule { .. });
    let condition = |found: &TriggerMatch| gate_card::reason(found, &links);
    Some(json!({
        "schema": "loopgate.gate_rules/v1",
        "gate": report.name,
        "applies": !report.matches.is_empty(),
        // What was looked at.
        "files": report.looked_at.0,
        "changed_lines": report.looked_at.1,
        "rules": all().filter_map(|found| rule(report, found)).collect::<Vec<_>>(),
        // What else opens the gate, in words: conditions of the configuration, labels, findings.
        "conditions": all().filter(|found| !is_rule(found)).map(condition).collect::<Vec<_>>(),
    }))
}

/// A place that a rule found.
fn rule(report: &GateReport, found: &TriggerMatch) -> Option<Value> {
    let MatchReason::Rule {
        id,
        says: finding,
        tier,
        evidence,
        ..
    } = &found.reason
    else {
        return None;
    };
    let excerpt = match evidence {
        RuleEvidence::Path => String::new(),
        RuleEvidence::AddedLine(text) => format!("+{text}"),
        RuleEvidence::RemovedLine(text) => format!("-{text}"),
        RuleEvidence::Named(text) | RuleEvidence::NewFolder(text) => text.clone(),
    };
    Some(json!({
        "rule": id,
        "tier": tier,
        "says": finding,
        "file": line(found.file.as_deref().unwrap_or_default()),
        // At the head; at the base for a line that is removed.
        "line": found.line,
        // The line, the dependency or the folder; empty if the path itself is meant.
        "excerpt": line(&excerpt),
        // What to write into the configuration to turn the rule off.
        "turn_off": format!("gates: {{ {}: {{ rules: {{ {id}: off }} }} }}", report.name),
        "document": format!("docs/rules.md#{id}"),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fixtures, plain};

    #[test]
    fn a_closed_gate_is_explained_on_a_page() {
        let (decision, snapshot) = (
            fixtures::open_security_gate_with_an_outsider(),
            fixtures::snapshot(),
        );
        let policy = fixtures::policy();
        let subject = Subject::new(&decision, &snapshot, &policy);
        insta::assert_snapshot!("explain_page", page(&subject));
        insta::assert_snapshot!("explain_page_on_a_terminal", plain(&page(&subject)));
        let mut document = document(&subject);
        document["status"] = "as in the status comment".into();
        insta::assert_json_snapshot!("explain_document", document);
    }

    #[test]
    fn a_page_that_is_too_long_says_less() {
        let (mut decision, snapshot) = (
            fixtures::open_security_gate_with_an_outsider(),
            fixtures::snapshot(),
        );
        let word = decision.view.gates[1].considered[0].clone();
        decision.view.gates[1].considered = vec![word; 200];
        decision.view.gates = (0..60).map(|_| decision.view.gates[1].clone()).collect();
        let policy = fixtures::policy();
        let text = gates_text(&Subject::new(&decision, &snapshot, &policy)).unwrap();
        assert!(
            text.len() <= LIMIT && text.contains("older words"),
            "{}",
            text.len()
        );
    }
}

#[cfg(test)]
mod gate_rules_tests {
    use super::*;
    use crate::fixtures::{self, gate, ruled, security_gate, snapshot};
    use loopgate_core::{stage::Stage, state::GateStatus};

    #[test]
    fn each_rule_says_its_line_and_how_to_turn_it_off() {
        let text = |gate: GateReport| {
            let mut decision = fixtures::first_failure();
            decision.view.gates = vec![gate];
            let name = decision.view.gates[0].name.clone();
            messages::text(
                "gate_rules.txt",
                Serde(gate_rules(&decision, &snapshot(), &name)).into(),
            )
        };
        let open = text(security_gate(GateStatus::Requested));
        insta::assert_snapshot!(open, @r"
        The gate security applies. Looked at 1 file, 1 changed line.

        src/auth/token.rs
          a file about sign-in, rights, … changes
          rule auth-path (opens), docs/rules.md#auth-path
          to turn it off: gates: { security: { rules: { auth-path: off } } }

        src/auth/token.rs:10
          a password, key or token is handled: +// password reset tokens share this path
          rule credential (opens), docs/rules.md#credential
          to turn it off: gates: { security: { rules: { credential: off } } }
        ");
        let mut shut = gate("security", Stage::Validate, GateStatus::NotApplicable);
        shut.looked_at = (14, 310);
        assert_eq!(
            text(shut.clone()),
            "The gate security does not apply. 14 files, 310 changed lines: no rule.\n"
        );
        shut.suspects = vec![ruled(
            "src/a.rs",
            Some(3),
            "session",
            "a session is handled",
            RuleEvidence::Path,
        )];
        let text = text(shut);
        assert!(
            text.contains("one suspect alone") && text.contains("src/a.rs:3"),
            "{text}"
        );
    }
}
