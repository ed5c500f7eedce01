//! What Loopgate would have done on pull requests that ended without it, for a terminal and as a page, and what pull
//! requests would have come to under another configuration.

use std::collections::{BTreeMap, BTreeSet};

use minijinja::{context, value::Serde};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    GateCard, Links, Subject,
    causes::{adds_to_trigger, recognised},
    clip, dashboard,
    escalation::card_question,
    line, messages,
    messages::entry,
    plain, word,
};
use loopgate_core::{
    PrNumber, RepoName, TeamSlug,
    concerns::gates::{Considered, GateReport, MatchReason, Refusal, TriggerMatch},
    observed::{ChangedFiles, Lifecycle, Review, Snapshot, Standing, Unusable},
    policy::{RuleTier, Trigger, WaitsFor},
    replay::{JudgedHead, PastPullRequest, Waited, WhatIf},
    state::{AttemptDigest, AuthorKind, Lacking, VerificationResult},
};

/// Reasons and words shown of one gate.
const MOST_REASONS: usize = 2;

/// Pull requests in which a rule has to open its gate before anything is advised about it.
const FEWEST_CASES: usize = 10;

/// The configuration that a pull request is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgedBy {
    /// The file of `--config`.
    File,
    /// The configuration on its base branch.
    Repository,
    /// The presets: its base branch has no configuration.
    Presets,
}

/// What would have been done on one pull request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tried {
    pub number: PrNumber,
    pub title: String,
    pub url: String,
    pub author: String,
    pub author_kind: AuthorKind,
    pub merged: bool,
    pub judged_by: JudgedBy,
    /// Checks ran on at least one head.
    pub checked: bool,
    /// What each head came to.
    pub attempts: Vec<TriedAttempt>,
    /// Heads in a row that failed with the same error, beyond the first.
    pub same_error: usize,
    /// Earlier commits, whose checks were not read.
    pub earlier_commits: usize,
    pub gates: Vec<TriedGate>,
    /// Gates of every pull request, whatever it changes: they are not listed one by one.
    pub gates_of_all: Vec<String>,
    pub calls: Vec<TriedCall>,
    pub waited: Waited,
    /// What history does not show.
    pub unknown: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TriedAttempt {
    pub passes: bool,
    /// It weakens tests or thresholds.
    #[serde(default)]
    pub weakened: bool,
    pub summary: String,
}

/// A gate that would have opened.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TriedGate {
    pub name: String,
    pub why: Vec<String>,
    /// How it stood at the end.
    pub state: String,
    /// It would have been in the way of what happened; none where it is not known who may approve.
    pub closed: Option<bool>,
    /// It would have been shown, and would have blocked nothing.
    pub advisory: bool,
    /// Words that would not have counted, and why.
    pub refused: Vec<String>,
    /// The rules that opened it alone.
    pub rules: BTreeSet<String>,
    /// One of its approvers looked at the pull request; none where it is not known who may approve.
    pub reviewed: Option<bool>,
}

/// A call for a human.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriedCall {
    pub attempt: u32,
    /// What was recognised, and what would have been asked.
    pub question: String,
}

/// In words, what was judged of one pull request.
pub fn tried(past: &PastPullRequest, judged: &[JudgedHead], judged_by: JudgedBy) -> Tried {
    let pull = &past.last.pull_request;
    let author_kind = judged
        .last()
        .and_then(|last| last.decision.next.run.author)
        .unwrap_or(AuthorKind::Person);
    // Where nothing ran, nothing was attempted.
    let has_checks = |sha| {
        past.heads
            .iter()
            .any(|head| head.sha == sha && !head.checks.is_empty())
    };
    let attempts = judged
        .last()
        .map(|last| last.decision.next.attempts.counted.as_slice())
        .unwrap_or_default();
    let attempts: Vec<&AttemptDigest> = attempts
        .iter()
        .filter(|attempt| has_checks(attempt.head_sha))
        .collect();
    // Two failures without an explanation may be two errors.
    let is_explained = |attempt: &AttemptDigest| attempt.lacking != Some(Lacking::Explanation);
    let same = |(before, after): &(&&AttemptDigest, &&AttemptDigest)| {
        is_explained(before)
            && is_explained(after)
            && !before.fingerprints.is_disjoint(&after.fingerprints)
    };
    let gates = judged.last().map(gates).unwrap_or_default();
    let rights = gates
        .iter()
        .any(|gate| gate.closed.is_none())
        .then(|| word(entry::TriedNote::Rights).to_owned());
    let problems = past
        .last
        .problems
        .iter()
        .map(|it| line(&format!("{}: {}", it.what, it.reason)));
    let files = unread_files(&past.last).map(|reason| line(&format!("what it changes: {reason}")));
    let reports = judged
        .last()
        .map(|last| last.decision.view.gates.as_slice())
        .unwrap_or_default();
    Tried {
        number: pull.number,
        title: line(&clip(&pull.title, 120)),
        url: pull.url.clone(),
        author: pull.author.login.to_string(),
        author_kind,
        merged: matches!(pull.lifecycle, Lifecycle::Merged { .. }),
        judged_by,
        checked: past.heads.iter().any(|head| !head.checks.is_empty()),
        attempts: attempts
            .iter()
            .map(|attempt| TriedAttempt {
                passes: attempt.result == VerificationResult::Pass,
                weakened: attempt.weakened,
                summary: line(&clip(&attempt.summary, 160)),
            })
            .collect(),
        same_error: attempts
            .iter()
            .zip(attempts.iter().skip(1))
            .filter(same)
            .count(),
        earlier_commits: past.earlier_commits,
        gates,
        gates_of_all: reports
            .iter()
            .filter(is_of_all)
            .map(|report| report.name.to_string())
            .collect(),
        calls: calls(judged),
        waited: past.waited(),
        unknown: problems.chain(files).chain(rights).collect(),
    }
}

fn is_of_all(report: &&GateReport) -> bool {
    report
        .matches
        .iter()
        .any(|found| found.reason == MatchReason::Always)
}

/// Why nothing is known of what it changes.
fn unread_files(snapshot: &Snapshot) -> Option<&str> {
    match &snapshot.files {
        ChangedFiles::TooLarge { known, reason } if known.is_empty() => Some(reason),
        _ => None,
    }
}

fn gates(last: &JudgedHead) -> Vec<TriedGate> {
    let subject = Subject::new(&last.decision, &last.snapshot, &last.policy);
    let links = Links::of(&last.snapshot);
    let is_unread = unread_files(&last.snapshot).is_some();
    let opened = |report: &&GateReport| {
        let known = |found: &TriggerMatch| !(is_unread && found.reason == MatchReason::TooLarge);
        report.matches.iter().any(known) && !is_of_all(report)
    };
    let applies = last.decision.view.gates.iter().filter(opened);
    let tried = applies.map(|report| {
        let is_known = is_authority_known(report, last);
        let mut judged = report.clone();
        judged
            .considered
            .retain(|word| !matches!(word.refusal(), Some(Refusal::AuthorityUnknown { .. })));
        let card = GateCard::explained(&judged, &subject, &links);
        let rules = report
            .matches
            .iter()
            .filter_map(|found| match &found.reason {
                MatchReason::Rule {
                    id,
                    tier: RuleTier::Opens,
                    ..
                } => Some(id.to_string()),
                _ => None,
            });
        let few = |all: Vec<String>| all.into_iter().take(MOST_REASONS).collect();
        TriedGate {
            name: card.name,
            why: few(card
                .why
                .items
                .iter()
                .map(|why| plain(why.as_str()))
                .collect()),
            state: if is_known {
                plain(card.state.as_str())
            } else {
                "is not known".to_owned()
            },
            closed: is_known.then_some(report.is_closed()),
            advisory: is_known && report.is_advisory,
            refused: few(card
                .refused
                .items
                .iter()
                .map(|word| plain(word.as_str()))
                .collect()),
            rules: rules.collect(),
            reviewed: is_known
                .then(|| !report.approvals.is_empty() || is_reviewed(report, &last.snapshot)),
        }
    });
    tried.collect()
}

/// Whether GitHub shows who may approve a gate, as far as the gate depends on it: its team, and the rights of those who
/// wrote that they approve it or reviewed the pull request.
fn is_authority_known(report: &GateReport, last: &JudgedHead) -> bool {
    let authority = &last.snapshot.authority;
    let is_unread = |team: &TeamSlug| {
        matches!(
            authority.teams.get(team),
            Some(Err(Unusable::Unknown(_) | Unusable::Unreadable(_)))
        )
    };
    let policy = last.policy.gates.get(&report.name);
    let team = policy.and_then(|policy| policy.preset_team(&last.snapshot.repository));
    let is_refused =
        |word: &Considered| matches!(word.refusal(), Some(Refusal::AuthorityUnknown { .. }));
    let is_unknown = |review: &Review| {
        matches!(
            authority.people.get(&review.author.id),
            Some(Standing::Unknown(_))
        )
    };
    !team.as_ref().is_some_and(is_unread)
        && !report.considered.iter().any(is_refused)
        && !last.snapshot.reviews.items.iter().any(is_unknown)
}

/// Whether somebody who may approve the gate reviewed the pull request.
fn is_reviewed(report: &GateReport, snapshot: &Snapshot) -> bool {
    let eligible = &report.eligible;
    let may = |review: &Review| {
        let login = &review.author.login;
        let permission = match snapshot.authority.people.get(&review.author.id) {
            Some(Standing::Known { permission, .. }) => Some(*permission),
            _ => None,
        };
        eligible.people.contains(login)
            || eligible
                .teams
                .values()
                .any(|members| members.contains(login))
            || eligible
                .permission
                .zip(permission)
                .is_some_and(|(needed, has)| has >= needed)
    };
    let author = snapshot.pull_request.author.id;
    snapshot
        .reviews
        .items
        .iter()
        .any(|review| review.author.id != author && may(review))
}

/// Calls for a human, but for those whose cause history does not show: whether an approval would have come in time, and
/// which error it was where nothing named one.
fn calls(judged: &[JudgedHead]) -> Vec<TriedCall> {
    let is_known = |judged: &&JudgedHead| {
        let last = judged.decision.next.attempts.counted.last();
        let is_explained = last.is_none_or(|last| last.lacking != Some(Lacking::Explanation));
        match judged
            .decision
            .view
            .escalation
            .as_ref()
            .map(|escalation| escalation.trigger)
        {
            Some(Trigger::UnknownErrorType) => false,
            Some(Trigger::SameError) => is_explained,
            Some(trigger) => trigger.waits_for() != Some(WaitsFor::Approval),
            None => true,
        }
    };
    let mut calls: Vec<TriedCall> = Vec::new();
    for escalation in judged
        .iter()
        .filter(is_known)
        .filter_map(|judged| judged.decision.view.escalation.as_ref())
    {
        let asked = plain(card_question(escalation).as_str());
        let question = match &escalation.cause {
            Some(cause) if adds_to_trigger(cause) => line(&asked),
            _ => line(&format!("{} — {asked}", clip(&recognised(escalation), 300))),
        };
        let call = TriedCall {
            attempt: escalation.attempt,
            question,
        };
        if !calls.contains(&call) {
            calls.push(call);
        }
    }
    calls
}

/// How often a rule opened its gate.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct RuleUse {
    /// Pull requests.
    pub opened: usize,
    /// Those of them that one of the gate's approvers looked at anyway.
    pub reviewed: usize,
    /// Those of which it is not known.
    pub reviews_unknown: usize,
    /// It opened the gate of more than a fifth of all, and in half of at least [`FEWEST_CASES`] an approver looked
    /// anyway. That nobody looked shows nothing: nobody was asked.
    pub consider_suspects: bool,
}

impl RuleUse {
    const fn adds_little(&self, pull_requests: usize) -> bool {
        let known = self.opened - self.reviews_unknown;
        known >= FEWEST_CASES && self.reviewed * 2 >= known && self.opened * 5 > pull_requests
    }
}

/// The use of each rule.
fn rules(pull_requests: &[Tried]) -> BTreeMap<String, BTreeMap<String, RuleUse>> {
    let mut rules: BTreeMap<String, BTreeMap<String, RuleUse>> = BTreeMap::new();
    for gate in pull_requests.iter().flat_map(|one| &one.gates) {
        for rule in &gate.rules {
            let used = rules
                .entry(gate.name.clone())
                .or_default()
                .entry(rule.clone())
                .or_default();
            used.opened += 1;
            used.reviewed += usize::from(gate.reviewed == Some(true));
            used.reviews_unknown += usize::from(gate.reviewed.is_none());
        }
    }
    for used in rules.values_mut().flat_map(BTreeMap::values_mut) {
        used.consider_suspects = used.adds_little(pull_requests.len());
    }
    rules
}

/// All of them, with those that GitHub does not show: `loopgate.try/v1`.
pub fn trial(repository: &RepoName, pull_requests: &[Tried], left_out: &[String]) -> Value {
    let (mut gates, mut waited) = (BTreeMap::<&str, usize>::new(), Waited::default());
    for one in pull_requests {
        one.gates
            .iter()
            .for_each(|gate| *gates.entry(&gate.name).or_default() += 1);
        waited.ci += one.waited.ci;
        waited.author += one.waited.author;
        waited.people += one.waited.people;
    }
    let count = |wanted: fn(&&Tried) -> bool| pull_requests.iter().filter(wanted).count();
    json!({
        "schema": "loopgate.try/v1",
        "repository": repository,
        "pull_requests": pull_requests,
        "gates": gates,
        "gates_of_all": pull_requests.iter().flat_map(|one| &one.gates_of_all).collect::<BTreeSet<_>>(),
        "rules": rules(pull_requests),
        "left_out": left_out,
        "judged_by": pull_requests.iter().map(|one| one.judged_by).collect::<BTreeSet<_>>(),
        "merged": count(|one| one.merged),
        "would_have_waited": count(|one| one.merged && one.gates.iter().any(|gate| gate.closed == Some(true))),
        "waits_unknown": count(|one| one.merged && waits_unknown(&one.gates)),
        "called": count(|one| !one.calls.is_empty()),
        "repeated": count(|one| one.same_error > 0),
        "agents": count(|one| one.author_kind != AuthorKind::Person),
        "waited": waited,
    })
}

/// Whether it would have waited depends on people whose rights are not known.
fn waits_unknown(gates: &[TriedGate]) -> bool {
    gates.iter().any(|gate| gate.closed.is_none())
        && !gates.iter().any(|gate| gate.closed == Some(true))
}

/// What stands above everything, a sentence each.
fn trial_summary(trial: &Value) -> Vec<String> {
    messages::text("try_summary.txt", context! { trial => Serde(trial) })
        .lines()
        .map(str::to_owned)
        .collect()
}

/// For a terminal.
pub fn trial_text(trial: &Value) -> String {
    let rules = trial["rules"]
        .as_object()
        .into_iter()
        .flat_map(|gates| gates.values().filter_map(Value::as_object));
    let has_suspects = rules
        .flat_map(Map::values)
        .any(|used| used["consider_suspects"] == true);
    messages::text(
        "try.txt",
        context! { trial => Serde(trial), summary => trial_summary(trial), has_suspects },
    )
}

/// As a page that needs nothing else: no script, no picture from elsewhere.
pub fn trial_page(trial: &Value, pull_requests: &[Tried]) -> String {
    let total = |one: &Tried| one.waited.ci + one.waited.author + one.waited.people;
    let longest = pull_requests.iter().map(total).max().unwrap_or(0).max(1);
    dashboard::page(
        "try.html",
        context! { trial => Serde(trial), summary => trial_summary(trial), longest },
    )
}

/// The differences, and what is not known.
pub fn what_if(found: &WhatIf) -> String {
    let means = [
        (
            "First attempt that passes",
            found.attempts_was.value(),
            found.attempts_would.value(),
        ),
        (
            "Score of an attempt",
            found.scores_was.value(),
            found.scores_would.value(),
        ),
    ];
    messages::text(
        "what_if.txt",
        context! { found => Serde(found), means => Serde(means) },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_about_a_rule_takes_ten_cases_and_approvers_who_looked() {
        let advised = |opened, reviewed, reviews_unknown, pull_requests| {
            let used = RuleUse {
                opened,
                reviewed,
                reviews_unknown,
                consider_suspects: false,
            };
            used.adds_little(pull_requests)
        };
        assert!(advised(10, 5, 0, 30));
        assert!(!advised(1, 1, 0, 1), "one case");
        assert!(!advised(9, 9, 0, 9), "nine cases");
        assert!(!advised(20, 0, 0, 20), "merged, and nobody looked");
        assert!(!advised(20, 9, 11, 20), "of eleven it is not known");
        assert!(!advised(10, 10, 0, 50), "seldom enough");
    }
}
