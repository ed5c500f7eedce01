//! A pull request to speak on: built in words, assessed as the server would.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{TimeDelta, TimeZone as _, Utc};
use serde_json::json;

use super::{Assessment, assess};
use crate::{
    concerns::gates::{
        Considered, GateReport, Refusal, WordOutcome,
        gate_transitions::{GateChanges, follow_up},
    },
    evidence::Finding,
    fixtures,
    ids::{CommentId, GateName, Login, ReviewId, Sha, Timestamp, UserId},
    observed::{
        Account, AccountKind, ChangedFile, ChangedFiles, Comment, Content, FileEntry, Head, Hint,
        Listing, Permission, Review, ReviewVerdict, Snapshot, Standing,
    },
    policy::{Context, GatePolicy, GateTrigger, Policy},
    stage::Stage,
    state::{GateState, GateStatus, HeadObservation, LoopState, WordSource},
};

/// Minutes after the pull request was opened.
pub(in crate::concerns::gates) fn minute(minutes: i64) -> Timestamp {
    Utc.with_ymd_and_hms(2026, 11, 20, 10, 0, 0).unwrap() + TimeDelta::minutes(minutes)
}

pub(in crate::concerns::gates) fn sha(digit: u8) -> Sha {
    Sha::from_bytes([digit; 20])
}

pub(in crate::concerns::gates) fn login(name: &str) -> Login {
    name.parse().unwrap()
}

pub(in crate::concerns::gates) fn gate(name: &str) -> GateName {
    name.parse().unwrap()
}

/// People by name: the number is the id.
pub(in crate::concerns::gates) fn account(name: &str) -> Account {
    const PEOPLE: [&str; 8] = [
        "author",
        "alice",
        "bob",
        "carol",
        "dan",
        "erin",
        "outsider",
        "maintainer",
    ];
    let id = PEOPLE
        .iter()
        .position(|person| *person == name)
        .unwrap_or(99) as u64
        + 1;
    let kind = if name.ends_with("[bot]") {
        AccountKind::Bot
    } else {
        AccountKind::User
    };
    Account {
        id: UserId::new(id),
        login: login(name),
        kind,
    }
}

/// A pull request by `author` that changes `src/auth/login.rs`, with a security gate that alice and bob approve, seen
/// at minute 0 with head 1. The clock stands wherever the last thing said left it.
pub(in crate::concerns::gates) struct World {
    pub(in crate::concerns::gates) snapshot: Snapshot,
    pub(in crate::concerns::gates) state: LoopState,
    pub(in crate::concerns::gates) policy: Policy,
    pub(in crate::concerns::gates) findings: Vec<Finding>,
    pub(in crate::concerns::gates) clock: i64,
    next: u64,
}

impl World {
    pub(in crate::concerns::gates) fn new() -> Self {
        let mut world = Self {
            snapshot: snapshot(),
            state: state(),
            policy: policy(),
            findings: Vec::new(),
            clock: 0,
            next: 100,
        };
        world.knows("author", Permission::Admin);
        for person in ["alice", "bob", "carol", "dan", "erin"] {
            world.knows(person, Permission::Write);
        }
        world.knows("outsider", Permission::Read);
        world.knows("maintainer", Permission::Maintain);
        world.reconcile();
        world
    }

    pub(in crate::concerns::gates) fn gate(&mut self) -> &mut GatePolicy {
        self.policy.gates.get_mut(&gate("security")).unwrap()
    }

    pub(in crate::concerns::gates) fn knows(&mut self, person: &str, permission: Permission) {
        let account = account(person);
        let standing = Standing::Known {
            permission,
            teams: BTreeSet::new(),
        };
        self.snapshot.authority.people.insert(account.id, standing);
        self.snapshot
            .authority
            .logins
            .insert(account.login.clone(), Ok(account));
    }

    pub(in crate::concerns::gates) fn team(&mut self, slug: &str, members: &[&str]) {
        let members = members
            .iter()
            .map(|member| (account(member).id, login(member)))
            .collect();
        self.snapshot
            .authority
            .teams
            .insert(slug.parse().unwrap(), Ok(members));
    }

    /// A minute later, somebody comments.
    pub(in crate::concerns::gates) fn comment(&mut self, by: &str, body: &str) -> CommentId {
        self.clock += 1;
        self.next += 1;
        let id = CommentId::new(self.next);
        self.snapshot.comments.items.push(Comment {
            id,
            author: account(by),
            via_app: None,
            body: body.into(),
            created_at: minute(self.clock),
            updated_at: minute(self.clock),
            is_hidden: false,
            url: format!("https://github.test/acme/widgets/pull/1#issuecomment-{id}"),
        });
        id
    }

    pub(in crate::concerns::gates) fn last_comment(&mut self) -> &mut Comment {
        self.snapshot.comments.items.last_mut().unwrap()
    }

    /// A minute later, somebody reviews the present head.
    pub(in crate::concerns::gates) fn review(
        &mut self,
        by: &str,
        verdict: ReviewVerdict,
        body: &str,
    ) -> &mut Review {
        self.clock += 1;
        self.next += 1;
        let (id, commit) = (
            ReviewId::new(self.next),
            self.snapshot.pull_request.head.sha,
        );
        self.snapshot.reviews.items.push(Review {
            id,
            author: account(by),
            verdict,
            body: body.into(),
            commit: Some(commit),
            submitted_at: minute(self.clock),
            url: format!("https://github.test/acme/widgets/pull/1#pullrequestreview-{id}"),
        });
        self.snapshot.reviews.items.last_mut().unwrap()
    }

    /// A minute later, a push makes `digit` the head, with the gate's file reading `line`.
    pub(in crate::concerns::gates) fn push(&mut self, digit: u8, line: &str) {
        self.clock += 1;
        self.snapshot.pull_request.head.sha = sha(digit);
        self.snapshot.files = ChangedFiles::Complete(vec![auth_file(line)]);
        let at = minute(self.clock);
        self.snapshot.hints.push(Hint::HeadSeen {
            sha: sha(digit),
            at,
        });
    }

    /// A minute later, `digit` is the head, on a base that moved on. Of the gate's file the texts are: at the base and
    /// the head before, at the base and the head now.
    pub(in crate::concerns::gates) fn rebase(&mut self, digit: u8, texts: [&str; 4]) {
        let (before, base) = (
            self.snapshot.pull_request.head.sha,
            self.snapshot.merge_base.unwrap(),
        );
        self.push(digit, texts[3]);
        let base_now = sha(0xd0 + digit);
        self.snapshot.merge_base = Some(base_now);
        for (commit, text) in [base, before, base_now, sha(digit)].into_iter().zip(texts) {
            let at = (commit, "src/auth/login.rs".to_owned());
            let ChangedFile { blob, .. } = file("", text);
            let entry = blob.map(|id| FileEntry {
                mode: 0o100_644,
                id,
            });
            self.snapshot.contents.entries.insert(at.clone(), entry);
            self.snapshot
                .contents
                .texts
                .insert(at, Content::Text(text.into()));
        }
    }

    /// Assesses and remembers, as the loop's state does between two looks.
    pub(in crate::concerns::gates) fn reconcile(&mut self) -> Assessment {
        let assessment = self.assess();
        assessment
            .sighting
            .iter()
            .cloned()
            .for_each(|seen| seen.enter(&mut self.state.head.sightings));
        self.state
            .people
            .edited_words
            .clone_from(&assessment.edited);
        self.state
            .people
            .edited_by_others
            .clone_from(&assessment.edited_by_others);
        for report in &assessment.gates {
            self.state
                .concerns
                .gates
                .insert(report.name.clone(), remembered(report));
        }
        self.snapshot.hints.clear();
        assessment
    }

    pub(in crate::concerns::gates) fn assess(&self) -> Assessment {
        let cx = Context {
            snapshot: &self.snapshot,
            policy: &self.policy,
            now: minute(self.clock + 1),
        };
        assess(cx, &self.state, &self.findings)
    }

    pub(in crate::concerns::gates) fn follow_up(&self) -> GateChanges {
        let cx = Context {
            snapshot: &self.snapshot,
            policy: &self.policy,
            now: minute(self.clock + 1),
        };
        follow_up(cx, &self.assess(), &self.state, Stage::Complete)
    }

    pub(in crate::concerns::gates) fn report(&self) -> GateReport {
        self.report_of("security")
    }

    pub(in crate::concerns::gates) fn report_of(&self, name: &str) -> GateReport {
        self.assess()
            .gates
            .into_iter()
            .find(|report| report.name == gate(name))
            .unwrap()
    }

    pub(in crate::concerns::gates) fn is_approved(&self) -> bool {
        self.report().status == GateStatus::Approved
    }

    pub(in crate::concerns::gates) fn is_rejected(&self) -> bool {
        self.report().status == GateStatus::Rejected
    }

    /// The outcome of the newest vote about the security gate.
    pub(in crate::concerns::gates) fn outcome(&self) -> WordOutcome {
        self.report()
            .considered
            .last()
            .expect("something was said")
            .outcome
            .clone()
    }

    /// Why the newest word was refused.
    pub(in crate::concerns::gates) fn refusal(&self) -> Refusal {
        match self.outcome() {
            WordOutcome::Refused(refusal) => refusal,
            other => panic!("not refused: {other:?}"),
        }
    }

    pub(in crate::concerns::gates) fn outcome_of(&self, comment: CommentId) -> WordOutcome {
        let of = |word: &Considered| word.source == WordSource::Comment(comment);
        self.report()
            .considered
            .into_iter()
            .find(of)
            .expect("it was considered")
            .outcome
    }
}

fn remembered(report: &GateReport) -> GateState {
    GateState {
        required: true,
        status: report.status,
        fingerprint: Some(report.fingerprint.clone()),
        round: 1,
        counted: report.counted.clone(),
        labels: report.opening_labels(),
        objections: report.objections.clone(),
        revocations: report.revocations.clone(),
        ticks: report.ticks.clone(),
        ..GateState::default()
    }
}

pub(in crate::concerns::gates) fn auth_file(line: &str) -> ChangedFile {
    file(
        "src/auth/login.rs",
        &format!("@@ -1,1 +1,2 @@\n fn login() {{\n+{line}"),
    )
}

pub(in crate::concerns::gates) fn file(path: &str, patch: &str) -> ChangedFile {
    fixtures::changed_file(path, patch)
}

fn snapshot() -> Snapshot {
    let author = account("author");
    let head = Head {
        sha: sha(1),
        tree: sha(0xaa),
        branch: "feature".into(),
        repository: None,
        known_since: Some(minute(0)),
    };
    let mut pull_request = fixtures::pull_request(1, "Log in", author.clone(), head);
    pull_request.base.sha = sha(0xcc);
    pull_request.created_at = minute(0);
    Snapshot {
        base_folders: Some(BTreeSet::from(["src".to_owned()])),
        commits: Listing::complete(vec![fixtures::commit_by(&author, sha(1), "Log in")]),
        ..fixtures::snapshot_of(pull_request, (7, 700), vec![auth_file("let a = 1;")])
    }
}

pub(in crate::concerns::gates) fn gate_policy(trigger: GateTrigger, users: &[&str]) -> GatePolicy {
    GatePolicy {
        label: "needs:security-review".into(),
        ..fixtures::gate_with(trigger, users)
    }
}

pub(in crate::concerns::gates) fn paths(glob: &str) -> GateTrigger {
    fixtures::paths(glob)
}

fn policy() -> Policy {
    let security = GatePolicy {
        preset: fixtures::preset("security"),
        ..gate_policy(paths("src/auth/**"), &["alice", "bob"])
    };
    Policy {
        gates: BTreeMap::from([(gate("security"), security)]),
        ..fixtures::empty_policy()
    }
}

fn state() -> LoopState {
    serde_json::from_value(json!({
        "schema": "loopgate.loop-state/v1", "runId": "pr-1-20261120-100000",
        "workflowId": "00000000-0000-0000-0000-000000000000", "repository": "acme/widgets", "title": "", "branch": "f",
        "headSha": sha(1), "baseRef": "main", "baseSha": sha(2),
        "codeArtifact": { "language": "rust", "codeType": "bug_fix", "contentHash": "" },
        "executionConfig": { "testFramework": "other", "timeoutSeconds": 1, "failFast": false, "verbose": false,
            "workingDirectory": "." },
        "retryPolicy": { "maxAttempts": 3, "sameError": 2, "totalFailures": 10, "backoff": "none",
            "escalationOnMax": true, "abortOnRegression": true },
        "debugMemoryRef": "", "state": "INIT", "stateEnteredAt": minute(0), "status": "in_progress", "phase": "A",
        "currentStep": "EVALUATE", "iteration": 1, "maxIterations": 3, "taskAlias": "pr-1", "task": { "prompt": "" },
        "criteria": { "name": "", "version": 1, "phase": {}, "rules": [] }, "capabilities": { "total": 0, "completed": 0 },
        "failures": { "count": 0, "sameError": 0, "total": 0, "maxRetries": 3 }, "stagnationCount": 0,
        "stop": { "passed": false, "reason": "" }, "createdAt": minute(0), "updatedAt": minute(0)
    }))
    .expect("a state as it is written")
}

/// An entry of the record of heads.
pub(in crate::concerns::gates) fn seen(digit: u8, at: i64) -> HeadObservation {
    HeadObservation {
        sha: sha(digit),
        at: minute(at),
        gates: BTreeMap::new(),
        base: Some("main".into()),
        merge_base: Some(sha(0xcc)),
    }
}
