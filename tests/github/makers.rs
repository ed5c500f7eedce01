//! Who made a pull request, and what an approval is bound to: played on the simulator, as an approver who wants to
//! approve their own work would, and as people do every day.

use chrono::TimeDelta;
use http::StatusCode;
use loopgate::github::Reconcile;
use loopgate_core::{
    deciding::DecisionWord,
    observed::{Actor, AnnouncedPush, Hint},
};
use loopgate_simulator::{CommitSpec, Harm, Pr, PullSpec, RequestFault, Role};

use crate::{bench::Bench, reconcile::ours};

const CONFIG: &str = "\
version: 1
gates:
  architecture: off
  database: off
  external: off
  deploy: off
  security: { when: { paths: [\"src/auth/**\"] }, approvers: { users: [carol, bob] } }
";
const AUTH: &str = "src/auth/token.rs";
const LINES: &str = "fn a() {}\nfn b() {}\nfn c() {}\nfn d() {}\nfn e() {}\nfn f() {}\n";

/// A pull request by alice that changes a gated file, seen by nobody yet. bob and carol approve.
struct Play {
    bench: Bench,
    reconcile: Reconcile,
    pr: Pr,
}

impl Play {
    async fn new() -> Self {
        Self::under(CONFIG).await
    }

    async fn under(config: &str) -> Self {
        let bench = Bench::with_config(Some(config)).await;
        for person in ["alice", "bob", "carol"] {
            bench
                .sim
                .admin()
                .add_collaborator(&bench.repo, person, Role::Write)
                .unwrap();
        }
        let base = CommitSpec::new("Files")
            .file(AUTH, LINES)
            .file("README.md", "# A\n\nb\n");
        bench
            .sim
            .user("olga")
            .push_to(&bench.repo, "main", base)
            .unwrap();
        let spec = PullSpec::new("Check tokens").file(AUTH, LINES.replace("fn b", "fn checked_b"));
        let pr = bench.opens(spec);
        let reconcile = Reconcile::new(bench.github.clone());
        let play = Self {
            bench,
            reconcile,
            pr,
        };
        play.look().await;
        play
    }

    /// Looks with the events of the head, as the server does.
    async fn look(&self) -> DecisionWord {
        self.bench.decided(&self.reconcile, &self.pr).await.word
    }

    /// Two minutes pass.
    async fn later(&self) {
        self.look().await;
        self.bench.clock.advance(TimeDelta::minutes(2));
    }

    async fn approves(&self, who: &str) -> bool {
        self.writes(who, "security approved").await
    }

    async fn writes(&self, who: &str, words: &str) -> bool {
        self.later().await;
        self.bench.sim.user(who).comment(&self.pr, words).unwrap();
        self.is_approved().await
    }

    async fn is_approved(&self) -> bool {
        self.look().await;
        let status = self.status();
        assert!(status.contains("**security**"), "{status}");
        status.contains("✅ **security**")
    }

    fn status(&self) -> String {
        let pull = self.bench.view(&self.pr);
        ours(&pull)
            .into_iter()
            .find(|body| body.starts_with("<!-- loopgate:status -->"))
            .unwrap()
            .to_owned()
    }

    #[track_caller]
    fn says(&self, words: &str) {
        let status = self.status();
        assert!(status.contains(words), "{words} is not in\n{status}");
    }

    fn push(&self, who: &str, spec: CommitSpec) {
        self.bench
            .sim
            .user(who)
            .push_commit(&self.pr, spec)
            .unwrap();
    }

    fn base_moves(&self, path: &str, text: &str) {
        let spec = CommitSpec::new("Base").file(path, text);
        self.bench
            .sim
            .user("olga")
            .push_to(&self.bench.repo, "main", spec)
            .unwrap();
    }
}

fn evil() -> CommitSpec {
    CommitSpec::new("Tidy").file(AUTH, LINES.replace("fn b", "fn evil_b"))
}

#[tokio::test]
async fn an_approver_pushes_under_the_authors_name() {
    let play = Play::new().await;
    play.push("carol", evil().author("Alice", "alice@example.test"));
    assert!(!play.approves("carol").await);
    play.says("carol pushed to this pull request’s branch");
    assert!(play.approves("bob").await);
}

#[tokio::test]
async fn an_approver_pushes_before_the_opening_under_the_authors_name() {
    let bench = Bench::with_config(Some(CONFIG)).await;
    bench
        .sim
        .admin()
        .add_collaborator(&bench.repo, "carol", Role::Write)
        .unwrap();
    let commit = CommitSpec::new("Work")
        .file(AUTH, "fn evil() {}\n")
        .author("Alice", "alice@example.test");
    bench
        .sim
        .user("carol")
        .push_to(&bench.repo, "feature", commit)
        .unwrap();
    let spec = PullSpec::new("Check tokens").branch("feature");
    let pr = bench.opens(spec);
    let play = Play {
        reconcile: Reconcile::new(bench.github.clone()),
        bench,
        pr,
    };
    assert!(!play.approves("carol").await);
    play.says("carol pushed to this pull request’s branch");
}

#[tokio::test]
async fn an_approver_pushes_under_an_unknown_address() {
    let play = Play::new().await;
    play.push("carol", evil().author("Nobody", "nobody@nowhere.example"));
    assert!(!play.approves("carol").await);
    play.says("GitHub does not know who wrote");
    assert!(play.approves("bob").await);
}

#[tokio::test]
async fn an_approver_is_co_author_by_their_account_address() {
    let play = Play::new().await;
    let message = "Tidy\n\nCo-authored-by: Carol <Carol@example.test>";
    play.push(
        "alice",
        CommitSpec::new(message).file(AUTH, LINES.replace("fn c", "fn checked_c")),
    );
    assert!(!play.approves("carol").await);
    play.says("carol is named as co-author");
    assert!(play.approves("bob").await);
}

#[tokio::test]
async fn an_approvers_push_that_the_author_rewrites_stays_theirs() {
    let play = Play::new().await;
    play.push("carol", evil().author("Alice", "alice@example.test"));
    play.later().await;
    let again = CommitSpec::new("All of it").file(AUTH, LINES.replace("fn b", "fn evil_b"));
    play.bench
        .sim
        .user("alice")
        .force_push(&play.pr, again)
        .unwrap();
    assert!(!play.approves("carol").await);
}

#[tokio::test]
async fn a_push_that_was_forced_away_makes_nobody_a_contributor() {
    let play = Play::new().await;
    let head = play.bench.view(&play.pr).head_sha;
    play.push("carol", evil().author("Alice", "alice@example.test"));
    play.later().await;
    play.bench.sim.user("alice").reset(&play.pr, head).unwrap();
    assert!(play.approves("carol").await, "{}", play.status());
}

#[tokio::test]
async fn a_merge_with_a_change_in_it_is_a_push_of_its_own() {
    let play = Play::new().await;
    play.base_moves("README.md", "# B\n\nb\n");
    let evil = CommitSpec::new("Merge branch 'main'")
        .merging("main")
        .file("README.md", "# B\n\nb\n");
    play.push(
        "carol",
        evil.file(AUTH, LINES.replace("fn b", "fn evil_b"))
            .author("Alice", "alice@example.test"),
    );
    assert!(!play.approves("carol").await);
}

#[tokio::test]
async fn update_branch_by_the_only_approver_holds_nothing() {
    let play = Play::new().await;
    play.base_moves("README.md", "# B\n\nb\n");
    play.bench
        .sim
        .user("carol")
        .update_branch(&play.pr)
        .unwrap();
    assert!(play.approves("carol").await, "{}", play.status());
}

#[tokio::test]
async fn an_approval_survives_update_branch_where_the_base_changed_the_same_file() {
    let play = Play::new().await;
    assert!(play.approves("carol").await, "{}", play.status());
    play.base_moves(AUTH, &LINES.replace("fn f", "fn base_f"));
    let merged = LINES
        .replace("fn b", "fn checked_b")
        .replace("fn f", "fn base_f");
    play.push(
        "carol",
        CommitSpec::new("Merge branch 'main'")
            .merging("main")
            .file(AUTH, merged),
    );
    assert!(play.is_approved().await, "{}", play.status());
}

#[tokio::test]
async fn an_approval_survives_a_rebase_by_the_approver() {
    let play = Play::new().await;
    assert!(play.approves("carol").await, "{}", play.status());
    play.base_moves(AUTH, &LINES.replace("fn f", "fn base_f"));
    play.later().await;
    rebase(
        &play,
        &LINES
            .replace("fn b", "fn checked_b")
            .replace("fn f", "fn base_f"),
    );
    assert!(play.is_approved().await, "{}", play.status());
}

/// Carol puts alice's commit on the tip of the base, with this text.
fn rebase(play: &Play, text: &str) {
    let sim = &play.bench.sim;
    let on_base = CommitSpec::new("Check tokens")
        .file(AUTH, text)
        .author("Alice", "alice@example.test");
    let carol = sim.user("carol");
    let rebased = carol.push_to(&play.bench.repo, "rebased", on_base).unwrap();
    carol.reset(&play.pr, rebased).unwrap();
}

#[tokio::test]
async fn a_rebase_with_a_line_more_voids_the_approval_and_makes_a_contributor() {
    let play = Play::new().await;
    assert!(play.approves("carol").await, "{}", play.status());
    play.base_moves(AUTH, &LINES.replace("fn f", "fn base_f"));
    play.later().await;
    rebase(
        &play,
        &LINES
            .replace("fn b", "fn checked_b")
            .replace("fn f", "fn evil_f"),
    );
    assert!(!play.is_approved().await);
    assert!(!play.approves("carol").await);
    assert!(play.approves("bob").await, "{}", play.status());
}

#[tokio::test]
async fn an_approved_patch_in_another_function_is_not_approved() {
    let repeated = "fn public() {\n    a();\n    b();\n    c();\n}\nfn admin() {\n    a();\n    b();\n    c();\n}\n";
    let play = Play::new().await;
    play.base_moves(AUTH, repeated);
    let approved = repeated.replacen("    b();\n", "    return;\n    b();\n", 1);
    play.bench
        .sim
        .user("alice")
        .force_push(&play.pr, CommitSpec::new("Skip").file(AUTH, approved))
        .unwrap();
    play.approves("carol").await;
    let (public, admin) = repeated.split_once("fn admin").unwrap();
    let elsewhere = format!(
        "{public}fn admin{}",
        admin.replacen("    b();\n", "    return;\n    b();\n", 1)
    );
    play.bench
        .sim
        .user("alice")
        .force_push(&play.pr, CommitSpec::new("Skip").file(AUTH, elsewhere))
        .unwrap();
    assert!(!play.is_approved().await);
}

#[tokio::test]
async fn a_suggestion_outside_the_gates_diff_by_the_only_approver_holds_nothing() {
    let play = Play::new().await;
    let message = "Update README.md\n\nCo-authored-by: Carol <carol@example.test>";
    play.push(
        "alice",
        CommitSpec::new(message)
            .file("README.md", "# A\n\nbetter\n")
            .on_the_site(),
    );
    assert!(play.approves("carol").await, "{}", play.status());
    let message = "Update token.rs\n\nCo-authored-by: Carol <carol@example.test>";
    play.push(
        "alice",
        CommitSpec::new(message)
            .file(AUTH, LINES.replace("fn c", "fn suggested_c"))
            .on_the_site(),
    );
    assert!(!play.approves("carol").await);
}

#[tokio::test]
async fn a_head_that_is_seconds_old_is_asked_about_again() {
    let play = Play::new().await;
    play.later().await;
    play.push("alice", evil());
    play.look().await;
    play.bench.clock.advance(TimeDelta::seconds(2));
    play.bench
        .sim
        .user("carol")
        .comment(&play.pr, "security approved")
        .unwrap();
    assert!(!play.is_approved().await);
    let head = play.bench.view(&play.pr).head_sha;
    play.says(&format!("security approved {head}"));
    play.bench
        .sim
        .user("carol")
        .comment(&play.pr, &format!("security approved {head}"))
        .unwrap();
    assert!(play.is_approved().await, "{}", play.status());
}

#[tokio::test]
async fn a_voided_approval_links_what_changed_and_loses_its_reaction() {
    let play = Play::new().await;
    let old = play.bench.view(&play.pr).head_sha;
    assert!(play.approves("carol").await, "{}", play.status());
    let reactions = |play: &Play| {
        let pull = play.bench.view(&play.pr);
        let comment = pull
            .comments
            .iter()
            .find(|comment| comment.author == "carol")
            .unwrap()
            .clone();
        comment.reactions
    };
    assert!(
        format!("{:?}", reactions(&play)).contains("+1"),
        "{:?}",
        reactions(&play)
    );
    play.push("alice", evil());
    assert!(!play.is_approved().await);
    let new = play.bench.view(&play.pr).head_sha;
    play.says(&format!("/compare/{old}..{new}"));
    let left = format!("{:?}", reactions(&play));
    assert!(left.contains("confused") && !left.contains("+1"), "{left}");
    // Going back makes it valid again.
    play.later().await;
    play.bench.sim.user("alice").reset(&play.pr, old).unwrap();
    assert!(play.is_approved().await, "{}", play.status());
}

#[tokio::test]
async fn more_than_one_emoji_at_the_end_is_a_near_miss() {
    let play = Play::new().await;
    for words in [
        "security approved 👍\u{200d}👎",
        "security approved 👍👎",
        "security approved 👎\u{200d}👍",
        "security approved 🎉🎉",
    ] {
        assert!(!play.writes("carol", words).await, "{words}");
    }
    assert!(play.writes("carol", "security approved 🎉").await);
}

#[tokio::test]
async fn a_solo_maintainer_approves_what_they_pushed_where_authors_may() {
    let config = CONFIG.replace(
        "users: [carol, bob] }",
        "users: [alice] }, allow_author: true",
    );
    let play = Play::under(&config).await;
    play.push("alice", evil());
    assert!(play.approves("alice").await, "{}", play.status());
}

#[tokio::test]
async fn who_pushed_may_approve_where_the_configuration_says_so() {
    let config = CONFIG.replace(
        "users: [carol, bob] }",
        "users: [carol, bob] }, allow_pusher: true",
    );
    let play = Play::under(&config).await;
    play.push("carol", evil().author("Alice", "alice@example.test"));
    assert!(play.approves("carol").await, "{}", play.status());
}

#[tokio::test]
async fn the_event_names_the_pusher_where_no_activity_is_shown() {
    let play = Play::under(&CONFIG.replace("carol", "frida")).await;
    let frida = play.bench.sim.admin().add_user("frida").unwrap();
    play.bench
        .sim
        .admin()
        .add_collaborator(&play.bench.repo, "frida", Role::Write)
        .unwrap();
    let hidden = RequestFault::on("/activity", Harm::status(StatusCode::FORBIDDEN)).unwrap();
    play.bench.sim.add_fault(hidden);
    let before = play.bench.view(&play.pr).head_sha;
    play.push("frida", evil().author("Alice", "alice@example.test"));
    let after = play.bench.view(&play.pr).head_sha;
    let by = Actor {
        id: frida,
        login: "frida".parse().unwrap(),
    };
    let mut job = play.bench.job(&play.pr);
    job.hints
        .push(Hint::Pushed(AnnouncedPush { before, after, by }));
    play.reconcile.run(&job, play.bench.now()).await.unwrap();
    assert!(!play.approves("frida").await);
    play.says("frida pushed to this pull request’s branch");
}
