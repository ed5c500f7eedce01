//! A pull request to talk on: people say things, and what is shown of the security gate is compared.

use std::collections::BTreeSet;

use chrono::{TimeDelta, TimeZone as _, Utc};
use loopgate::config;
use loopgate_core::{
    CommentId, Login, ReviewId, Sha, Timestamp, UserId,
    concerns::gates::{Reacted, ReactionKind},
    deciding::{CheckRunPlan, Decision, decide},
    fixtures,
    observed::{
        Account, AccountKind, Actor, Authority, ChangedFile, ChangedFiles, Comment, Commit,
        Conclusion, Content, FileEntry, Head, Hint, Listing, Members, Permission, Review,
        ReviewVerdict, Snapshot, Standing, Unusable,
    },
    policy::{Policy, PolicyOrigin},
    state::{GateStatus, LoopState},
};
use loopgate_render as render;

/// What becomes of a gate.
pub use GateStatus::{Approved, NotApplicable as Away, Rejected, Requested as Closed};

/// The security gate, opened by `src/auth/`, for alice and bob.
pub const CONFIG: &str = "\
version: 1
verify: { checks: { build: { kind: build, run: make }, unit: { kind: test, run: make test } } }
gates:
  architecture: off
  database: off
  external: off
  deploy: off
  security: { when: { paths: [\"src/auth/**\"] }, approvers: { users: [alice, bob] } }
";

/// People of the tests; their place in this list makes their id.
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

/// Pull request 1 of acme/widgets, by `author`, which changes `src/auth/login.rs`. Each method takes a minute, and
/// Loopgate looks once after it.
pub struct Talk {
    pub snapshot: Snapshot,
    pub policy: Policy,
    pub state: LoopState,
    pub last: Decision,
    minutes: i64,
    next: u64,
}

impl Talk {
    pub fn opened() -> Self {
        Self::under(CONFIG)
    }

    pub fn under(text: &str) -> Self {
        Self::on(text, snapshot())
    }

    pub fn on(text: &str, mut snapshot: Snapshot) -> Self {
        let policy = config::parse(".github/loopgate.yml", text).expect("a right configuration");
        let policy = policy.with_origin(PolicyOrigin::Base { commit: sha(0xcc) });
        know(&mut snapshot.authority, "author", Permission::Admin);
        for person in ["alice", "bob", "carol", "dan", "erin"] {
            know(&mut snapshot.authority, person, Permission::Write);
        }
        know(&mut snapshot.authority, "outsider", Permission::Read);
        know(&mut snapshot.authority, "maintainer", Permission::Maintain);
        let state = LoopState::begin(&snapshot, &policy, at(0));
        let last = decide(&snapshot, &state, &policy, at(0));
        let mut talk = Self {
            snapshot,
            policy,
            state: last.next.clone(),
            last,
            minutes: 0,
            next: 100,
        };
        talk.look();
        talk
    }

    /// A look a minute later; what it saw is remembered, what events told is not.
    pub fn look(&mut self) -> &mut Self {
        self.minutes += 1;
        self.last = decide(&self.snapshot, &self.state, &self.policy, at(self.minutes));
        self.state = self.last.next.clone();
        self.snapshot.hints.clear();
        self
    }

    pub fn wait(&mut self, minutes: i64) -> &mut Self {
        self.minutes += minutes;
        self
    }

    pub const fn now(&self) -> i64 {
        self.minutes
    }

    /// Somebody comments, and it is looked at.
    pub fn says(&mut self, by: &str, body: &str) -> &mut Self {
        self.writes(by, body);
        self.look()
    }

    /// The same, without a look.
    pub fn writes(&mut self, by: &str, body: &str) -> CommentId {
        self.minutes += 1;
        self.next += 1;
        let id = CommentId::new(self.next);
        self.snapshot.comments.items.push(Comment {
            id,
            author: account(by),
            via_app: None,
            body: body.into(),
            created_at: at(self.minutes),
            updated_at: at(self.minutes),
            is_hidden: false,
            url: "https://github.com/c".to_owned(),
        });
        id
    }

    pub fn comment(&mut self) -> &mut Comment {
        self.snapshot
            .comments
            .items
            .last_mut()
            .expect("somebody said something")
    }

    pub fn reviews(&mut self, by: &str, verdict: ReviewVerdict, body: &str) -> &mut Self {
        self.minutes += 1;
        self.next += 1;
        let commit = Some(self.snapshot.pull_request.head.sha);
        self.snapshot.reviews.items.push(Review {
            id: ReviewId::new(self.next),
            author: account(by),
            verdict,
            body: body.into(),
            commit,
            submitted_at: at(self.minutes),
            url: "https://github.com/r".to_owned(),
        });
        self.look()
    }

    /// A push after which the head is `digit` and the gated file gains `line`.
    pub fn pushes(&mut self, digit: u8, line: &str) -> &mut Self {
        self.pushes_files(digit, vec![auth_file(line)])
    }

    pub fn pushes_files(&mut self, digit: u8, files: Vec<ChangedFile>) -> &mut Self {
        self.lands(digit, files);
        self.look()
    }

    /// The same, without a look.
    pub fn lands(&mut self, digit: u8, files: Vec<ChangedFile>) {
        self.minutes += 1;
        self.snapshot.pull_request.head.sha = sha(digit);
        self.snapshot.files = ChangedFiles::Complete(files);
        self.snapshot.hints.push(Hint::HeadSeen {
            sha: sha(digit),
            at: at(self.minutes),
        });
    }

    /// A push after which the head is `digit`, on a base that moved on. Of the gated file the texts are: at the base
    /// and the head before, at the base and the head now.
    pub fn rebases(&mut self, digit: u8, texts: [&str; 4]) -> &mut Self {
        let (before, base) = (
            self.snapshot.pull_request.head.sha,
            self.snapshot.merge_base.expect("a base"),
        );
        let base_now = sha(0xd0 + digit);
        self.snapshot.merge_base = Some(base_now);
        for (commit, text) in [base, before, base_now, sha(digit)].into_iter().zip(texts) {
            let at = (commit, "src/auth/login.rs".to_owned());
            let entry = file("", text).blob.map(|id| FileEntry {
                mode: 0o100_644,
                id,
            });
            self.snapshot.contents.entries.insert(at.clone(), entry);
            self.snapshot
                .contents
                .texts
                .insert(at, Content::Text(text.into()));
        }
        self.pushes(digit, texts[3])
    }

    /// An event tells that somebody edited a comment.
    pub fn edited(&mut self, comment: CommentId, by: &str) {
        let Account { id, login, .. } = account(by);
        let hint = Hint::CommentEdited {
            comment,
            by: Actor { id, login },
            at: at(self.minutes),
        };
        self.snapshot.hints.push(hint);
    }

    pub fn knows(&mut self, person: &str, permission: Permission) -> &mut Self {
        know(&mut self.snapshot.authority, person, permission);
        self
    }

    pub fn team(&mut self, slug: &str, members: &[&str]) -> &mut Self {
        let members = members
            .iter()
            .map(|member| (account(member).id, login(member)))
            .collect();
        self.standing(slug, Ok(members))
    }

    pub fn standing(&mut self, slug: &str, standing: Result<Members, Unusable>) -> &mut Self {
        self.snapshot
            .authority
            .teams
            .insert(slug.parse().expect("a team"), standing);
        self
    }

    pub fn commits(
        &mut self,
        author: Option<&str>,
        committer: Option<&str>,
        message: &str,
    ) -> &mut Self {
        let email = |who: Option<&str>| {
            who.map_or("ghost@example.net".into(), |who| {
                format!("{who}@example.com")
            })
        };
        self.snapshot.commits.items.push(Commit {
            sha: sha(3),
            message: message.into(),
            author: author.map(account),
            committer: committer.map(account),
            author_email: email(author),
            committer_email: email(committer),
            update_merge: false,
        });
        self
    }

    /// How the last comment was reacted to.
    pub fn reaction(&self) -> Option<ReactionKind> {
        let id = self.snapshot.comments.items.last()?.id;
        self.last
            .surface
            .reactions
            .get(&Reacted::Comment(id))
            .copied()
    }

    /// The text of the status comment.
    pub fn status(&self) -> String {
        render::pull_request(&self.last, &self.snapshot, &self.policy, None).status_comment
    }

    /// The details of `loopgate / gates`, where operators look.
    pub fn details(&self) -> String {
        let texts = render::pull_request(&self.last, &self.snapshot, &self.policy, None);
        texts.gates.summary
    }

    /// What becomes of the security gate, and all that people read about it but why it applies and how to open it. Of
    /// a closed one also without the line that says so.
    #[track_caller]
    pub fn is(&mut self, verdict: GateStatus, told: &str) {
        self.gate("security", verdict, told);
    }

    #[track_caller]
    pub fn gate(&mut self, name: &str, verdict: GateStatus, told: &str) {
        let gate = self
            .last
            .view
            .gates
            .iter()
            .find(|gate| gate.name.as_str() == name)
            .expect("the gate");
        assert_eq!(gate.status, verdict, "{}", self.status());
        if name == "security" && self.policy.gates.len() == 1 {
            let green = matches!(verdict, Approved | Away);
            let plan = self.last.surface.gates;
            assert_eq!(
                plan == Some(CheckRunPlan::Completed(Conclusion::Success)),
                green,
                "{plan:?}"
            );
        }
        let shown = self.told(name);
        let closed = format!("🔒 **{name}** is not approved yet. Merging is blocked until then.");
        let shown = match shown.strip_prefix(&closed) {
            Some(rest) if verdict == Closed => rest.trim_start(),
            _ if verdict == Closed => panic!("it is not said to be closed: {shown}"),
            _ => &shown,
        };
        assert_eq!(shown, told);
    }

    /// The lines about one gate, and about none in particular.
    pub fn told(&self, name: &str) -> String {
        let text = self.status();
        let gates = text
            .split_once("#### Gates\n")
            .map_or("", |(_, gates)| gates);
        let gates = gates.split("\n<details>").next().unwrap_or_default();
        let gates = gates.split("\n####").next().unwrap_or_default();
        let (mut told, mut ours) = (Vec::new(), false);
        for line in gates.lines() {
            let indented = line.starts_with("  ");
            if !indented {
                ours = line.contains(&format!("**{name}**"));
            }
            let about_others = (indented || line.contains("**")) && !ours;
            let how = line.starts_with("  - **");
            if !about_others && !how && !line.trim().is_empty() {
                told.push(without_links(line.trim().trim_start_matches("- ")));
            }
        }
        told.join("\n")
    }
}

/// `[text](address)` as its text. Brackets of the text itself are escaped.
fn without_links(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, link)) = rest.split_once("](") {
        let opening = before
            .match_indices('[')
            .rfind(|(at, _)| !before[..*at].ends_with('\\'));
        let (before, shown) =
            opening.map_or((before, ""), |(at, _)| (&before[..at], &before[at + 1..]));
        text.push_str(before);
        text.push_str(shown);
        rest = link.split_once(')').map_or("", |(_, rest)| rest);
    }
    text + rest
}

pub fn at(minutes: i64) -> Timestamp {
    Utc.with_ymd_and_hms(2026, 11, 20, 10, 0, 0)
        .single()
        .expect("a time")
        + TimeDelta::minutes(minutes)
}

pub fn sha(digit: u8) -> Sha {
    Sha::from_bytes([digit; 20])
}

pub fn login(name: &str) -> Login {
    name.parse().expect("a login")
}

pub fn account(name: &str) -> Account {
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
    let id = if name == "loopgate[bot]" { 700 } else { id };
    Account {
        id: UserId::new(id),
        login: login(name),
        kind,
    }
}

fn know(authority: &mut Authority, person: &str, permission: Permission) {
    let account = account(person);
    authority.people.insert(
        account.id,
        Standing::Known {
            permission,
            teams: BTreeSet::new(),
        },
    );
    authority.logins.insert(account.login.clone(), Ok(account));
}

pub fn auth_file(line: &str) -> ChangedFile {
    file(
        "src/auth/login.rs",
        &format!("@@ -1,1 +1,2 @@\n fn login() {{\n+{line}"),
    )
}

pub fn file(path: &str, patch: &str) -> ChangedFile {
    fixtures::changed_file(path, patch)
}

pub fn snapshot() -> Snapshot {
    let author = account("author");
    let head = Head {
        sha: sha(1),
        tree: sha(0xaa),
        branch: "feature".into(),
        repository: None,
        known_since: Some(at(0)),
    };
    let mut pull_request = fixtures::pull_request(1, "Log in", author.clone(), head);
    pull_request.base.sha = sha(0xcc);
    pull_request.created_at = at(0);
    Snapshot {
        base_folders: Some(BTreeSet::from(["src".to_owned()])),
        commits: Listing::complete(vec![fixtures::commit_by(&author, sha(1), "Log in")]),
        ..fixtures::snapshot_of(pull_request, (7, 700), vec![auth_file("let a = 1;")])
    }
}
