//! What Loopgate would have done on pull requests that ended without it, for a terminal and as a page, and what pull
//! requests would have come to under another configuration.

use std::collections::{BTreeMap, BTreeSet};

use minijinja::{context, value::Serde};
use serde::{Deserialize, Serialize};

use super::{
    GateCard, Links, Markdown, Subject, causes::recognised, clip, code, dashboard, escalation::card_question, line,
    messages, plain, short_text, words,
};
use loopgate_core::{
    PrNumber,
    gate::{GateReport, MatchReason},
    observed::{Lifecycle, Review, Snapshot, Standing},
    policy::RuleTier,
    replay::{Judged, Mean, PastPullRequest, Unknown, Waited, WhatIf},
    state::{AttemptDigest, AuthorKind, Changes, ProposedConfiguration, VerificationResult},
};

/// Reasons and words shown of one gate.
const MOST_REASONS: usize = 2;

/// What would have been done on one pull request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tried {
    pub number: PrNumber,
    pub title: String,
    pub url: String,
    pub author: String,
    pub author_kind: AuthorKind,
    pub merged: bool,
    /// Checks ran on at least one head.
    pub checked: bool,
    /// What each head came to.
    pub attempts: Vec<TriedAttempt>,
    /// Heads in a row that failed with the same error, beyond the first.
    pub same_error: usize,
    pub gates: Vec<TriedGate>,
    /// Gates of every pull request, whatever it changes: nothing is to be said of them one by one.
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
    /// It would have been in the way of what happened.
    pub closed: bool,
    /// Words that would not have counted, and why.
    pub refused: Vec<String>,
    /// The rules that opened it alone.
    pub rules: BTreeSet<String>,
    /// One of its approvers reviewed the pull request.
    pub reviewed: bool,
}

/// A call for a human.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriedCall {
    pub attempt: u32,
    /// What was recognised, and what would have been asked.
    pub question: String,
}

/// In words, what was judged of one pull request.
pub fn tried(past: &PastPullRequest, judged: &[Judged]) -> Tried {
    let pull = &past.last.pull_request;
    let author_kind = judged.last().and_then(|last| last.decision.next.author).unwrap_or(AuthorKind::Person);
    // Where nothing ran, nothing was attempted.
    let has_checks = |sha| past.heads.iter().any(|head| head.sha == sha && !head.checks.is_empty());
    let attempts = judged.last().map(|last| last.decision.next.attempts.as_slice()).unwrap_or_default();
    let attempts: Vec<&AttemptDigest> = attempts.iter().filter(|attempt| has_checks(attempt.head_sha)).collect();
    let same =
        |(before, after): &(&&AttemptDigest, &&AttemptDigest)| !before.fingerprints.is_disjoint(&after.fingerprints);
    let reports = judged.last().map(|last| last.decision.view.gates.as_slice()).unwrap_or_default();
    Tried {
        number: pull.number,
        title: line(&clip(&pull.title, 120)),
        url: pull.url.clone(),
        author: pull.author.login.to_string(),
        author_kind,
        merged: matches!(pull.lifecycle, Lifecycle::Merged { .. }),
        checked: past.heads.iter().any(|head| !head.checks.is_empty()),
        attempts: attempts
            .iter()
            .map(|attempt| TriedAttempt {
                passes: attempt.result == VerificationResult::Pass,
                weakened: attempt.weakened,
                summary: line(&clip(&attempt.summary, 160)),
            })
            .collect(),
        same_error: attempts.iter().zip(attempts.iter().skip(1)).filter(same).count(),
        gates: judged.last().map(gates).unwrap_or_default(),
        gates_of_all: reports.iter().filter(is_of_all).map(|report| report.name.to_string()).collect(),
        calls: calls(judged),
        waited: past.waited(),
        unknown: past.last.problems.iter().map(|it| line(&format!("{}: {}", it.what, it.reason))).collect(),
    }
}

fn is_of_all(report: &&GateReport) -> bool {
    report.matches.iter().any(|found| found.reason == MatchReason::Always)
}

fn gates(last: &Judged) -> Vec<TriedGate> {
    let subject = Subject { decision: &last.decision, snapshot: &last.snapshot, policy: &last.policy };
    let links = Links::of(&last.snapshot);
    let applies = last.decision.view.gates.iter().filter(|gate| !gate.matches.is_empty() && !is_of_all(gate));
    let told = applies.map(|report| {
        let card = GateCard::new(report, &subject, &links);
        let rules = report.matches.iter().filter_map(|found| match &found.reason {
            MatchReason::Rule { id, tier: RuleTier::Opens, .. } => Some(id.to_string()),
            _ => None,
        });
        let few = |all: Vec<String>| all.into_iter().take(MOST_REASONS).collect();
        TriedGate {
            name: card.name,
            why: few(card.why.items.iter().map(|why| plain(why.as_str())).collect()),
            state: plain(card.state.as_str()),
            closed: report.is_closed(),
            refused: few(card.refused.items.iter().map(|word| plain(word.as_str())).collect()),
            rules: rules.collect(),
            reviewed: is_reviewed(report, &last.snapshot),
        }
    });
    told.collect()
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
            || eligible.teams.values().any(|members| members.contains(login))
            || eligible.permission.zip(permission).is_some_and(|(needed, has)| has >= needed)
    };
    let author = snapshot.pull_request.author.id;
    snapshot.reviews.items.iter().any(|review| review.author.id != author && may(review))
}

fn calls(judged: &[Judged]) -> Vec<TriedCall> {
    let mut calls: Vec<TriedCall> = Vec::new();
    for escalation in judged.iter().filter_map(|judged| judged.decision.view.escalation.as_ref()) {
        let asked = plain(card_question(escalation).as_str());
        let question = line(&format!("{} — {asked}", clip(&recognised(escalation), 300)));
        let call = TriedCall { attempt: escalation.attempt, question };
        if !calls.contains(&call) {
            calls.push(call);
        }
    }
    calls
}

/// All of them.
#[derive(Debug, Serialize)]
pub struct Trial {
    pub schema: &'static str,
    pub repository: String,
    pub pull_requests: Vec<Tried>,
    pub gates: BTreeMap<String, usize>,
    pub gates_of_all: BTreeSet<String>,
    /// By gate and rule.
    pub rules: BTreeMap<String, BTreeMap<String, RuleUse>>,
    pub would_have_waited: usize,
    pub called: usize,
    pub repeated: usize,
    pub agents: usize,
    pub waited: Waited,
}

/// How often a rule opened its gate.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct RuleUse {
    /// Pull requests.
    pub opened: usize,
    /// Those of them that one of the gate's approvers reviewed anyway.
    pub reviewed: usize,
    /// It opened the gate of more than a fifth of all.
    pub consider_suspects: bool,
}

/// The use of each rule.
fn rules(pull_requests: &[Tried]) -> BTreeMap<String, BTreeMap<String, RuleUse>> {
    let mut rules: BTreeMap<String, BTreeMap<String, RuleUse>> = BTreeMap::new();
    for gate in pull_requests.iter().flat_map(|one| &one.gates) {
        for rule in &gate.rules {
            let used = rules.entry(gate.name.clone()).or_default().entry(rule.clone()).or_default();
            used.opened += 1;
            used.reviewed += usize::from(gate.reviewed);
            used.consider_suspects = used.opened * 5 > pull_requests.len();
        }
    }
    rules
}

impl Trial {
    pub fn new(repository: String, pull_requests: Vec<Tried>) -> Self {
        let mut gates = BTreeMap::new();
        let mut waited = Waited::default();
        for one in &pull_requests {
            one.gates.iter().for_each(|gate| *gates.entry(gate.name.clone()).or_default() += 1);
            waited.ci += one.waited.ci;
            waited.author += one.waited.author;
            waited.people += one.waited.people;
        }
        let count = |wanted: fn(&&Tried) -> bool| pull_requests.iter().filter(wanted).count();
        Self {
            schema: "loopgate.try/v1",
            repository,
            gates,
            rules: rules(&pull_requests),
            gates_of_all: pull_requests.iter().flat_map(|one| one.gates_of_all.iter().cloned()).collect(),
            waited,
            would_have_waited: count(|one| one.merged && one.gates.iter().any(|gate| gate.closed)),
            called: count(|one| !one.calls.is_empty()),
            repeated: count(|one| one.same_error > 0),
            agents: count(|one| one.author_kind != AuthorKind::Person),
            pull_requests,
        }
    }

    /// What stands above everything, a sentence each.
    fn summary(&self) -> Vec<String> {
        let model = context! { trial => Serde(self), waited => self.waits(&self.waited) };
        messages::text("try_summary.txt", model).lines().map(str::to_owned).collect()
    }

    fn waits(&self, waited: &Waited) -> String {
        let parts = [("for checks", waited.ci), ("for their authors", waited.author), ("for people", waited.people)];
        let parts = parts.map(|(whom, seconds)| format!("{} {whom}", long(seconds)));
        words::and(&parts)
    }

    /// Rules that open their gate too often, by gate.
    fn suspects(&self) -> BTreeMap<&str, Vec<&str>> {
        let mut suspects: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (gate, rules) in &self.rules {
            for (rule, _) in rules.iter().filter(|(_, used)| used.consider_suspects) {
                suspects.entry(gate).or_default().push(rule);
            }
        }
        suspects
    }

    /// What must be known to read it.
    fn limits() -> Vec<&'static str> {
        messages::word("try", "limits").lines().collect()
    }
}

/// For a terminal.
pub fn trial(trial: &Trial) -> String {
    let model = context! {
        trial => Serde(trial),
        summary => trial.summary(),
        suspects => Serde(trial.suspects()),
        limits => Trial::limits(),
    };
    messages::text("try.txt", model)
}

/// As a page that needs nothing else: no script, no picture from elsewhere.
pub fn trial_page(trial: &Trial) -> String {
    let total = |waited: &Waited| waited.ci + waited.author + waited.people;
    let longest = trial.pull_requests.iter().map(|one| total(&one.waited)).max().unwrap_or(0).max(1);
    let bar = |one: &Tried| {
        let Waited { ci, author, people } = one.waited;
        let wide = |seconds: i64| seconds.saturating_mul(1000) / longest;
        // Where each of the three begins and how wide it is, in thousandths of the longest.
        let parts = [(0, wide(ci)), (wide(ci), wide(author)), (wide(ci) + wide(author), wide(people))];
        context! { parts => Serde(parts), words => trial.waits(&one.waited), ..Serde(one) }
    };
    let model = context! {
        trial => Serde(trial),
        summary => trial.summary(),
        limits => Trial::limits(),
        bars => trial.pull_requests.iter().map(bar).collect::<Vec<_>>(),
    };
    dashboard::page("try.html", model)
}

/// Seconds, in the two largest units.
fn long(seconds: i64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    match (days, hours) {
        (0, 0) => format!("{minutes} min"),
        (0, _) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

/// Pull requests that are named; of more, how many there are is enough.
const NAMED: usize = 8;

/// The differences, and what is not known.
pub fn what_if(found: &WhatIf) -> String {
    let changes = |(name, changes): (String, &Changes)| format!("{name}: {}", changed(changes));
    let gates = found.gates.iter().map(|(gate, all)| changes((format!("Gate {gate}"), all)));
    let calls = found.calls.iter();
    let calls = calls.map(|(trigger, all)| changes((format!("Calls for a human, {}", trigger.as_str()), all)));
    let unknown = found.unknown.iter().map(|(what, runs)| format!("{} ({})", unknown(what), named(runs)));
    let model = context! {
        found => Serde(found),
        changes => gates.chain(calls).collect::<Vec<_>>(),
        means => vec![
            vec!["First attempt that passes".to_owned(), mean(found.attempts_was), mean(found.attempts_would)],
            vec!["Score of an attempt".to_owned(), mean(found.scores_was), mean(found.scores_would)],
        ],
        unknown => unknown.collect::<Vec<_>>(),
    };
    messages::text("what_if.txt", model)
}

/// What the last pull requests would have come to under the configuration that a pull request proposes.
pub(super) fn proposed(tried: &ProposedConfiguration) -> Markdown {
    let said = |what: String, changes: &Changes| format!("{what} {}", short_text(&changed(changes), 300));
    let gates = tried.gates.iter().map(|(gate, changes)| said(format!("gate {}:", code(gate.as_str())), changes));
    let calls = tried.calls.iter();
    let calls = calls.map(|(trigger, changes)| said(format!("calls for {}:", code(trigger.as_str())), changes));
    let mut said: Vec<String> = gates.chain(calls).take(20).collect();
    if said.is_empty() {
        said.push("the same gates open, and the same people are called".to_owned());
    }
    let pull_requests = words::count(tried.runs, "pull request");
    Markdown::ours(format!("{pull_requests} of the last 30 days under this file: {}.", said.join("; ")))
}

/// `12 more (#41, #44, …), 3 fewer (#7)`
fn changed(changes: &Changes) -> String {
    let side =
        |runs: &[String], word: &str| (!runs.is_empty()).then(|| format!("{} {word} ({})", runs.len(), named(runs)));
    let sides = [side(&changes.more, "more"), side(&changes.fewer, "fewer")];
    sides.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn named(runs: &[String]) -> String {
    let mut names: Vec<String> = runs.iter().take(NAMED).map(|run| line(run)).collect();
    if runs.len() > NAMED {
        names.push(format!("and {} more", runs.len() - NAMED));
    }
    names.join(", ")
}

fn mean(mean: Mean) -> String {
    mean.value().map_or_else(|| "–".to_owned(), |value| format!("{value:.2}"))
}

fn unknown(what: &Unknown) -> String {
    match what {
        Unknown::Check(check) => format!("the check {}, of which there is no evidence", line(check.as_str())),
        Unknown::Unread(what) => format!("{}, which could not be read", line(what)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_that_brought_no_attempt_are_not_called_absent() {
        for (checked, in_text, on_page) in [
            (true, "(alice, closed, checks without a verdict)", "Its checks ended without a verdict."),
            (false, "(alice, closed, no checks)", "No checks are known."),
        ] {
            let tried = serde_json::json!({
                "number": 7, "title": "feat: sign in", "url": "https://github.com/acme/widgets/pull/7",
                "author": "alice", "author_kind": "person", "merged": false, "checked": checked, "attempts": [],
                "same_error": 0, "gates": [], "gates_of_all": [], "calls": [], "unknown": [],
                "waited": { "ci": 0, "author": 0, "people": 0 },
            });
            let one = Trial::new("acme/widgets".to_owned(), vec![serde_json::from_value(tried).unwrap()]);
            let (text, page) = (trial(&one), trial_page(&one));
            assert!(text.contains(in_text) && page.contains(on_page), "{text}{page}");
        }
    }
}

#[cfg(test)]
mod what_if_tests {
    use super::*;
    use loopgate_core::{metrics::CheckUse, policy::Trigger};

    #[test]
    fn the_differences_come_first_and_what_is_not_known_is_said() {
        let runs = |numbers: std::ops::Range<u32>| numbers.map(|number| format!("#{number}")).collect::<Vec<_>>();
        let told = WhatIf {
            runs: 30,
            gates: [("security".parse().unwrap(), Changes { more: runs(41..53), fewer: vec!["#7".into()] })].into(),
            calls: [(Trigger::SameError, Changes { more: Vec::new(), fewer: runs(3..6) })].into(),
            dropped_checks: [("scan".parse().unwrap(), CheckUse { runs: 12, total_ms: 90_000, ..CheckUse::default() })]
                .into(),
            unknown: [(Unknown::Check("fuzz".parse().unwrap()), runs(1..31))].into(),
            ..WhatIf::default()
        };
        insta::assert_snapshot!(what_if(&told), @r"
        30 pull requests under this configuration:

        Gate security: 12 more (#41, #42, #43, #44, #45, #46, #47, #48, and 4 more), 1 fewer (#7)
        Calls for a human, same_error: 3 fewer (#3, #4, #5)
        First attempt that passes, mean: – → –
        Score of an attempt, mean: – → –
        Check scan is gone: it ran 12 times, failed never, 1 min 30 s in all

        Not known: the check fuzz, of which there is no evidence (#1, #2, #3, #4, #5, #6, #7, #8, and 22 more)
        Gates are decided by what the last head changes, and by the rights that people have now.
        Not known either: approvals that nobody was asked for, how long gates would have waited, failures of the base, what services and fixers did.
        ");
        assert!(what_if(&WhatIf::default()).contains("The same gates open"));
    }
}
