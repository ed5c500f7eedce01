//! Small builders for tests: a pull request that fails and passes on demand.

use chrono::{DateTime, TimeDelta};

use super::{
    evidence::{CheckEvidence, CheckKind, CheckResults, EVIDENCE_SCHEMA, Evidence, Failure, Outcome},
    ids::{AppId, CheckName, Login, PrNumber, RepoName, Sha, Timestamp, UserId},
    policy::{
        Activation, CheckPolicy, CheckPresence, CheckSource, CommandCheck, EscalationPolicy, EvaluatePolicy,
        FixerPolicy, LabelPolicy, LoopPolicy, MemoryPolicy, Mode, NameGlob, OnComplete, PathGlobs, Policy,
        PolicyOrigin, StateBackend, VerifyPolicy,
    },
    stage::Stage,
    state::LoopState,
};
use crate::{
    deciding::{Decision, decide},
    evidence::{OutcomesExtent, TestId, TestOutcome, TestOutcomes, TestState},
    observed::{
        Account, AccountKind, AppIdentity, Authority, Base, ChangedFile, ChangedFiles, Comment, FileStatus, Head,
        Lifecycle, NamedAccount, Permission, PullRequest, Readiness, ReceivedEvidence, Review, ReviewVerdict, Snapshot,
        Standing, Visibility,
    },
    policy::{
        ApproveBy, Approvers, ChecklistMode, Exclusions, GateDefinition, GatePolicy, GatePreset, GateRole, GateTrigger,
        HybridHold, InvalidateOnPush, RequestTime,
    },
};

/// 2026-11-20 10:00:00 UTC, the moment every test begins at.
pub fn start() -> Timestamp {
    DateTime::from_timestamp(1_795_168_800, 0).expect("a valid time")
}

/// A commit id made of one repeated byte.
pub fn sha(byte: u8) -> Sha {
    Sha::from_bytes([byte; 20])
}

/// Account number `id` called `login`.
pub fn person(id: u64, login: &str) -> Account {
    Account { id: UserId::new(id), login: login.parse().expect("a login"), kind: AccountKind::User }
}

/// A policy with `build` and `unit`, and no gates.
pub fn policy() -> Policy {
    let check = |kind, run: &str| CheckPolicy {
        kind,
        source: CheckSource::Command(CommandCheck::new(run)),
        presence: CheckPresence::Configured,
    };
    let checks = [("build", check(CheckKind::Build, "cargo build")), ("unit", check(CheckKind::Test, "cargo test"))];
    Policy {
        origin: PolicyOrigin::Base { commit: sha(0xba) },
        overruled: Vec::new(),
        activation: Activation::Active,
        mode: Mode::Hybrid,
        verify: VerifyPolicy {
            analyzer: None,
            workflows: vec![".github/workflows/ci.yml".to_owned()],
            checks: checks.into_iter().map(|(name, check)| (name.parse().expect("a name"), check)).collect(),
        },
        retry: LoopPolicy::default(),
        evaluate: EvaluatePolicy::default(),
        coverage: super::policy::CoveragePolicy::default(),
        gates: Default::default(),
        escalation: EscalationPolicy::default(),
        labels: LabelPolicy::default(),
        fixer: FixerPolicy::default(),
        memory: MemoryPolicy::default(),
        state: StateBackend::default(),
        on_complete: OnComplete::default(),
    }
}

/// What Loopgate says of a gate, if it is one of the five presets.
pub fn preset(gate: &str) -> Option<GatePreset> {
    let (hybrid, role) = match gate {
        "security" => (HybridHold::Always, Some(GateRole::Security)),
        "deploy" => (HybridHold::Always, Some(GateRole::Deploy)),
        "architecture" | "database" | "external" => (HybridHold::WithTeam, None),
        _ => return None,
    };
    Some(GatePreset { template: gate.parse().expect("a template's name"), hybrid, role })
}

/// A gate over src/ that bob and carol may open.
pub fn gate(holds: Stage) -> GatePolicy {
    GatePolicy {
        definition: GateDefinition::Configured,
        preset: None,
        trigger: GateTrigger::Paths {
            globs: PathGlobs::new(vec![NameGlob::path("src/**").expect("a glob")]),
            except: PathGlobs::default(),
        },
        holds,
        approvers: Approvers { users: [login("bob"), login("carol")].into(), ..Approvers::default() },
        approve_by: ApproveBy::Comment,
        invalidate_on_push: InvalidateOnPush::Matching,
        exclusions: Exclusions::default(),
        checklist: ChecklistMode::Optional,
        request: RequestTime::Immediately,
        label: "needs:review".into(),
        remind_after: TimeDelta::hours(24),
        escalate_after: TimeDelta::hours(72),
    }
}

/// Pull request 12 of acme/widgets by alice, head number 1, changing src/lib.rs and a test.
pub fn snapshot() -> Snapshot {
    let file = |path: &str| ChangedFile {
        path: path.to_owned(),
        previous_path: None,
        status: FileStatus::Modified,
        additions: 1,
        deletions: 1,
        blob: Some(sha(0xb1)),
        patch: Some("@@ -1 +1 @@\n-old\n+new".to_owned()),
    };
    let person_with = |id, permission| (UserId::new(id), Standing::Known { permission, teams: Default::default() });
    Snapshot {
        authority: Authority {
            people: [
                person_with(1, Permission::Write),
                person_with(2, Permission::Maintain),
                person_with(3, Permission::Read),
            ]
            .into(),
            ..Authority::default()
        },
        ..Snapshot::of_files(
            "acme/widgets".parse().expect("a repository"),
            AppIdentity {
                id: AppId::new(1),
                bot: "loopgate[bot]".parse().expect("a login"),
                bot_id: Some(UserId::new(99)),
            },
            PullRequest {
                number: PrNumber::new(12),
                title: "feat: round numbers".to_owned(),
                body: String::new(),
                author: person(1, "alice"),
                lifecycle: Lifecycle::Open,
                readiness: Readiness::Ready,
                head: Head {
                    sha: sha(1),
                    tree: sha(0x71),
                    branch: "alice/round".to_owned(),
                    repository: Some("acme/widgets".parse().expect("a repository")),
                    known_since: None,
                },
                base: Base { branch: "main".to_owned(), sha: sha(0xba) },
                labels: Default::default(),
                declared_type: None,
                requested_users: Default::default(),
                requested_teams: Default::default(),
                created_at: start(),
                url: "https://github.com/acme/widgets/pull/12".to_owned(),
            },
            ChangedFiles::Complete(vec![file("src/lib.rs"), file("tests/round.rs")]),
        )
    }
}

/// Evidence for a head: `failing` names the tests of `unit` that fail, `passing` those that pass.
pub fn evidence(head: Sha, failing: &[&str], passing: &[&str]) -> ReceivedEvidence {
    let name = |name: &str| name.parse::<CheckName>().expect("a check name");
    let outcome = if failing.is_empty() { Outcome::Passed } else { Outcome::Failed };
    let mut unit = CheckEvidence::bare(name("unit"), CheckKind::Test, outcome);
    unit.results = Some(CheckResults {
        total: (failing.len() + passing.len()) as u64,
        passed: passing.len() as u64,
        failed: failing.len() as u64,
        ..CheckResults::default()
    });
    unit.failures = failing
        .iter()
        .map(|test| Failure {
            test_name: Some((*test).to_owned()),
            error_class: Some("panic".to_owned()),
            error_message: format!("assertion failed in {test}"),
            test_id: Some(TestId::of("", "", test)),
            ..Failure::default()
        })
        .collect();
    let entry = |state| move |test: &&str| TestOutcome::new(TestId::of("", "", test), state);
    let entries = failing.iter().map(entry(TestState::Failed)).chain(passing.iter().map(entry(TestState::Passed)));
    unit.tests = Some(TestOutcomes::new(entries.collect(), OutcomesExtent::Whole));
    ReceivedEvidence::Accepted(Box::new(Evidence {
        schema: EVIDENCE_SCHEMA.to_owned(),
        repository: "acme/widgets".parse::<RepoName>().expect("a repository"),
        head_sha: head,
        tree_hash: String::new(),
        base_sha: None,
        pull_request: Some(PrNumber::new(12)),
        workflow: None,
        environment: Default::default(),
        started_at: start(),
        ended_at: start(),
        checks: vec![CheckEvidence::bare(name("build"), CheckKind::Build, Outcome::Passed), unit],
        coverage: None,
        regression_proof: None,
    }))
}

/// A pull request going round the loop: each verb changes the world and decides once.
pub struct Story {
    pub snapshot: Snapshot,
    pub policy: Policy,
    pub state: LoopState,
    pub now: Timestamp,
    pub last: Option<Decision>,
}

impl Story {
    /// Opened at [`start`], nothing decided yet.
    pub fn opened() -> Self {
        let (snapshot, policy) = (snapshot(), policy());
        let state = LoopState::begin(&snapshot, &policy, start());
        Self { snapshot, policy, state, now: start(), last: None }
    }

    /// A configured gate that every pull request opens and one person approves by comment.
    pub fn gate(&mut self, name: &str, approver: &str) {
        let approvers = Approvers { users: [login(approver)].into(), ..Approvers::default() };
        let gate = GatePolicy {
            definition: GateDefinition::Configured,
            preset: preset(name),
            trigger: GateTrigger::Always,
            holds: Stage::Validate,
            approvers,
            approve_by: ApproveBy::Comment,
            invalidate_on_push: InvalidateOnPush::Matching,
            exclusions: Exclusions::default(),
            checklist: ChecklistMode::Optional,
            request: RequestTime::Immediately,
            label: format!("needs:{name}-review"),
            remind_after: TimeDelta::hours(24),
            escalate_after: TimeDelta::hours(72),
        };
        self.policy.gates.insert(name.parse().expect("a gate's name"), gate);
        let account = person(if approver == "bob" { 2 } else { 3 }, approver);
        self.snapshot.authority.logins.insert(account.login.clone(), NamedAccount::Known(account));
    }

    /// The next push changes this file so.
    pub fn touch(&mut self, path: &str, line: &str) {
        let ChangedFiles::Complete(files) = &mut self.snapshot.files else { return };
        for file in files.iter_mut().filter(|file| file.path == path) {
            file.patch = Some(format!("@@ -1 +1 @@\n-old\n+{line}"));
        }
    }

    /// Decides a minute later.
    pub fn decide(&mut self) -> &Decision {
        self.now += TimeDelta::minutes(1);
        let decision = decide(&self.snapshot, &self.state, &self.policy, self.now);
        self.state = decision.next.clone();
        self.last.insert(decision)
    }

    /// A push of head number `head`, seen by nobody yet.
    pub fn set_head(&mut self, head: u8) {
        self.snapshot.pull_request.head.sha = sha(head);
        self.snapshot.pull_request.head.tree = sha(head ^ 0x70);
        self.snapshot.evidence.clear();
    }

    /// A push of head number `head`, whose checks then end with these failing and passing tests.
    pub fn push(&mut self, head: u8, failing: &[&str], passing: &[&str]) -> &Decision {
        self.set_head(head);
        self.decide();
        self.snapshot.evidence = vec![evidence(sha(head), failing, passing)];
        self.decide()
    }

    /// A review by bob of the head.
    pub fn review(&mut self, verdict: ReviewVerdict, body: &str) -> &Decision {
        self.now += TimeDelta::minutes(1);
        self.give_review(verdict, body);
        self.decide()
    }

    /// A review by bob of the head, seen by nobody yet.
    pub fn give_review(&mut self, verdict: ReviewVerdict, body: &str) {
        let number = self.snapshot.reviews.items.len() as u64 + 1;
        self.snapshot.reviews.items.push(Review {
            id: super::ids::ReviewId::new(number),
            author: person(2, "bob"),
            verdict,
            body: body.to_owned(),
            commit: Some(self.snapshot.pull_request.head.sha),
            submitted_at: self.now,
            url: format!("https://github.com/acme/widgets/pull/12#pullrequestreview-{number}"),
        });
    }

    /// A comment by one of the people: alice (author), bob (maintain), carol (read).
    pub fn comment(&mut self, login: &str, body: &str) -> &Decision {
        self.now += TimeDelta::minutes(1);
        self.write(login, body);
        self.decide()
    }

    /// The same comment, seen by nobody yet.
    pub fn write(&mut self, login: &str, body: &str) {
        let id = match login {
            "alice" => 1,
            "bob" => 2,
            _ => 3,
        };
        let number = self.snapshot.comments.items.len() as u64 + 1;
        self.snapshot.comments.items.push(Comment {
            id: super::ids::CommentId::new(number),
            author: person(id, login),
            via_app: None,
            body: body.to_owned(),
            created_at: self.now,
            updated_at: self.now,
            visibility: Visibility::Shown,
            url: format!("https://github.com/acme/widgets/pull/12#issuecomment-{number}"),
        });
    }
}

/// A login.
pub fn login(text: &str) -> Login {
    text.parse().expect("a login")
}

/// How many cases a property is tried on, where whoever runs the tests wants more of them.
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a wish of whoever runs the tests, not an input of the core")]
pub fn wished_cases(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|number| number.parse().ok())
}
