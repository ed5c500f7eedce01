//! What a merge rests on, as one document that others can check: an in-toto Statement
//! (<https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md>) about the merge commit and the head, whose
//! predicate is SLSA source provenance (<https://github.com/slsa-framework/source-tool>). What that predicate has no
//! fields for stands in its member `loopgate`; in-toto lets readers ignore what they do not know.
//!
//! [`Statement::of`] writes it from one decision. [`Statement::objections`] is what it says against the merge itself,
//! and [`Statement::differences`] where it contradicts the record of the run.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{
    concerns::{
        checks::CheckStanding,
        gates::{Approval, GateReport, agent_of},
    },
    deciding::{CheckView, Decision},
    evidence::{CheckEvidence, Outcome},
    ids::{CheckName, GateName, Login, PrNumber, RepoName, Sha, Timestamp},
    observed::{Lifecycle, Snapshot},
    policy::Policy,
    state::{GateStatus, LoopState},
};

/// What the envelope says of the statement inside.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
const PREDICATE_TYPE: &str = "https://github.com/slsa-framework/source-tool/source-provenance/v1";

/// An in-toto statement about one merge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    #[serde(rename = "_type")]
    kind: String,
    pub subject: Vec<Subject>,
    #[serde(rename = "predicateType")]
    predicate_type: String,
    pub predicate: Provenance,
}

/// A commit that the statement is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// [`MERGE`] or [`HEAD`].
    pub name: String,
    pub digest: CommitDigest,
}

/// The names of the two subjects.
pub const MERGE: &str = "merge";
pub const HEAD: &str = "head";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitDigest {
    #[serde(rename = "gitCommit")]
    pub commit: Sha,
}

/// How the merge commit came to the branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    pub repo_uri: String,
    /// `pr_merge`.
    pub activity_type: String,
    /// Who merged, where GitHub names them.
    pub actor: Option<Login>,
    pub branch: String,
    /// The commit whose configuration governed: the branch before the merge.
    pub prev_commit: Sha,
    pub created_on: Timestamp,
    pub loopgate: Grounds,
}

/// What the merge rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grounds {
    pub repository: RepoName,
    pub pull_request: PrNumber,
    pub run: String,
    /// The attempt that the head was.
    pub attempt: u32,
    /// Every gate that applies.
    pub gates: Vec<ProvenGate>,
    pub checks: Vec<ProvenCheck>,
    /// Commits that a coding agent had a hand in, by account, address or trailer.
    pub agent_commits: Vec<AgentCommit>,
    /// Open gates and failing rules that were merged over.
    pub bypassed: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProvenGate {
    pub name: GateName,
    /// Whether it stands in the way while it is open.
    pub holds: bool,
    pub status: GateStatus,
    pub approvals: Vec<ProvenApproval>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProvenApproval {
    pub by: Login,
    pub at: Timestamp,
    /// The head that was approved.
    pub head: Sha,
    pub url: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProvenCheck {
    pub name: CheckName,
    /// None for a check that did not end.
    pub outcome: Option<Outcome>,
    /// None for a check that counts no tests.
    pub tests: Option<TestCounts>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestCounts {
    pub total: u64,
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentCommit {
    pub commit: Sha,
    pub agent: String,
}

/// The merge, as GitHub shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merge<'a> {
    pub commit: Sha,
    /// The branch before it.
    pub onto: Sha,
    /// The repository's page.
    pub repository_url: &'a str,
}

impl Statement {
    /// The statement about a merge; none while the pull request is not merged.
    pub fn of(
        merge: Merge<'_>,
        snapshot: &Snapshot,
        policy: &Policy,
        decision: &Decision,
    ) -> Option<Self> {
        let pull = &snapshot.pull_request;
        let Lifecycle::Merged { by, at } = &pull.lifecycle else {
            return None;
        };
        let agent_commits = snapshot.commits.items.iter().filter_map(|commit| {
            let agent = agent_of(commit, &policy.coding_agents)?;
            Some(AgentCommit {
                commit: commit.sha,
                agent,
            })
        });
        let applying = decision
            .view
            .gates
            .iter()
            .filter(|gate| gate.status != GateStatus::NotApplicable);
        let approval = |one: &Approval| {
            let (by, url) = (one.by.clone(), one.url.clone());
            ProvenApproval {
                by,
                at: one.at,
                head: one.head,
                url,
            }
        };
        let gate = |gate: &GateReport| ProvenGate {
            name: gate.name.clone(),
            holds: !gate.is_advisory,
            status: gate.status,
            approvals: gate.approvals.iter().map(approval).collect(),
        };
        let check = |check: &CheckView| {
            use CheckStanding::{Absent, Done, NotApplicable, Skipped};
            let is_skipped = matches!(
                check.standing,
                Skipped { .. } | NotApplicable { .. } | Absent { .. }
            );
            let outcome = is_skipped.then_some(Outcome::Skipped);
            match &check.standing {
                Done(evidence) => ProvenCheck::of(evidence),
                _ => ProvenCheck {
                    name: check.name.clone(),
                    outcome,
                    tests: None,
                },
            }
        };
        let subject = |name: &str, commit| Subject {
            name: name.to_owned(),
            digest: CommitDigest { commit },
        };
        Some(Self {
            kind: STATEMENT_TYPE.to_owned(),
            subject: vec![subject(MERGE, merge.commit), subject(HEAD, pull.head.sha)],
            predicate_type: PREDICATE_TYPE.to_owned(),
            predicate: Provenance {
                repo_uri: merge.repository_url.to_owned(),
                activity_type: "pr_merge".to_owned(),
                actor: by.clone(),
                branch: format!("refs/heads/{}", pull.base.branch),
                prev_commit: merge.onto,
                created_on: at.unwrap_or(decision.next.run.updated_at),
                loopgate: Grounds {
                    repository: snapshot.repository.clone(),
                    pull_request: pull.number,
                    run: decision.next.run.id.clone(),
                    attempt: decision.view.attempt,
                    gates: applying.map(gate).collect(),
                    checks: decision.view.checks.iter().map(check).collect(),
                    agent_commits: agent_commits.collect(),
                    bypassed: decision.view.bypassed.clone(),
                },
            },
        })
    }

    /// The commit of a subject.
    pub fn commit(&self, name: &str) -> Option<Sha> {
        self.subject
            .iter()
            .find(|subject| subject.name == name)
            .map(|subject| subject.digest.commit)
    }

    /// What the statement itself says against the merge: that it is none of ours, a gate without an approval before the
    /// merge, a check that failed or did not end, what was merged over.
    pub fn objections(&self) -> Vec<String> {
        let Provenance {
            created_on,
            loopgate:
                Grounds {
                    gates,
                    checks,
                    bypassed,
                    ..
                },
            ..
        } = &self.predicate;
        let mut objections = Vec::new();
        if self.kind != STATEMENT_TYPE
            || self.predicate_type != PREDICATE_TYPE
            || self.subject.len() != 2
        {
            objections.push("it is no statement about a merge".to_owned());
        }
        for gate in gates.iter().filter(|gate| gate.holds) {
            // Who approves after the merge approves nothing.
            let is_approved = gate
                .approvals
                .iter()
                .any(|approval| approval.at <= *created_on);
            if gate.status != GateStatus::Approved || !is_approved {
                objections.push(format!(
                    "no one approved the gate {}: it is {}",
                    gate.name,
                    gate.status.as_str()
                ));
            }
        }
        let failed = checks
            .iter()
            .filter(|check| check.outcome.is_some_and(Outcome::is_failure));
        objections.extend(failed.map(|check| format!("the check {} failed", check.name)));
        let unended = checks.iter().filter(|check| check.outcome.is_none());
        objections.extend(
            unended.map(|check| format!("the check {} did not end before the merge", check.name)),
        );
        objections.extend(bypassed.iter().map(|what| format!("merged over: {what}")));
        objections
    }

    /// Where it contradicts the record of the run, one clause each: the state, and the checks of the attempt.
    pub fn differences(&self, state: &LoopState, recorded: &[CheckEvidence]) -> Vec<String> {
        let Grounds {
            repository,
            pull_request,
            run,
            attempt,
            gates,
            checks,
            agent_commits: _,
            bypassed,
        } = &self.predicate.loopgate;
        let mut found = Vec::new();
        let mut compare = |what: &str, stated: String, recorded: String| {
            if stated != recorded {
                found.push(format!(
                    "{what}: the statement says {stated}, the record {recorded}"
                ));
            }
        };
        let shown =
            |commit: Option<Sha>| commit.map_or("none".to_owned(), |commit| commit.to_string());
        compare("head", shown(self.commit(HEAD)), state.head.sha.to_string());
        compare(
            "repository",
            repository.to_string(),
            state.run.repository.to_string(),
        );
        compare(
            "pull request",
            format!("{:?}", Some(pull_request)),
            format!("{:?}", state.run.pull_request.as_ref()),
        );
        compare("run", run.clone(), state.run.id.clone());
        compare(
            "attempt",
            attempt.to_string(),
            state.run.iteration.to_string(),
        );
        compare(
            "branch",
            self.predicate.branch.clone(),
            format!("refs/heads/{}", state.head.base_ref),
        );
        compare(
            "merged over",
            format!("{bypassed:?}"),
            format!("{:?}", state.run.bypassed),
        );
        let names = |names: BTreeSet<&str>| format!("{:?}", names.iter().collect::<Vec<_>>());
        let applying = state
            .concerns
            .gates
            .iter()
            .filter(|(_, gate)| gate.status != GateStatus::NotApplicable);
        let stated = names(gates.iter().map(|gate| gate.name.as_str()).collect());
        compare(
            "gates",
            stated,
            names(applying.map(|(name, _)| name.as_str()).collect()),
        );
        for gate in gates {
            let Some(recorded) = state.concerns.gates.get(&gate.name) else {
                continue;
            };
            compare(
                &format!("gate {}", gate.name),
                gate.status.to_string(),
                recorded.status.to_string(),
            );
            let stated = names(
                gate.approvals
                    .iter()
                    .map(|approval| approval.by.as_str())
                    .collect(),
            );
            let by = names(
                recorded
                    .approved_by
                    .iter()
                    .flatten()
                    .map(Login::as_str)
                    .collect(),
            );
            compare(&format!("who approved {}", gate.name), stated, by);
            if let (Some(head), false) = (recorded.head_sha, gate.approvals.is_empty()) {
                let heads: BTreeSet<Sha> = gate
                    .approvals
                    .iter()
                    .map(|approval| approval.head)
                    .collect();
                let last = heads
                    .contains(&head)
                    .then_some(head)
                    .or_else(|| heads.first().copied());
                compare(
                    &format!("the head approved for {}", gate.name),
                    shown(last),
                    head.to_string(),
                );
            }
        }
        for check in checks {
            if let Some(recorded) = recorded.iter().find(|recorded| recorded.name == check.name) {
                compare(
                    &format!("check {}", check.name),
                    check.in_words(),
                    ProvenCheck::of(recorded).in_words(),
                );
            }
        }
        found
    }
}

impl ProvenCheck {
    fn of(evidence: &CheckEvidence) -> Self {
        let tests = evidence.results.as_ref().map(|results| TestCounts {
            total: results.total,
            passed: results.passed,
            failed: results.failed + results.errors,
            skipped: results.skipped,
        });
        Self {
            name: evidence.name.clone(),
            outcome: Some(evidence.outcome),
            tests,
        }
    }

    /// How it ended, with its counts.
    pub fn in_words(&self) -> String {
        let outcome = self.outcome.map_or("no result", Outcome::as_str);
        match self.tests {
            Some(TestCounts {
                total,
                passed,
                failed,
                skipped,
            }) => {
                format!(
                    "{outcome} ({total} tests, {passed} passed, {failed} failed, {skipped} skipped)"
                )
            }
            None => outcome.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
