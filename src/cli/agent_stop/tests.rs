use super::{holds::MOST_IN_A_ROW, *};
use loopgate_core::evidence::{CheckEvidence, CheckKind};
use loopgate_git::Git;

struct Project(tempfile::TempDir);

impl Project {
    fn new() -> Self {
        let project = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir(project.root().join(".github")).unwrap();
        std::fs::write(project.root().join(CONFIGURATION), "version: 1\n").unwrap();
        project.git(&["init", "-q"]);
        project.commit();
        project
    }

    fn root(&self) -> &Path {
        self.0.path()
    }

    fn git(&self, arguments: &[&str]) -> String {
        let who = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
        let printed = Git::at(self.root())
            .command(&[&who[..], arguments].concat())
            .run()
            .unwrap()
            .success()
            .unwrap();
        String::from_utf8(printed).unwrap().trim().to_owned()
    }

    fn commit(&self) -> String {
        self.git(&["add", ".github"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "work"]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// What `loopgate verify` leaves behind.
    fn verified(&self, decision: &str) {
        let head = self.git(&["rev-parse", "HEAD"]);
        let document = json!({
            "schema": "loopgate.feedback/v1", "repository": "acme/widgets", "pull_request": null, "head_sha": head,
            "final": true, "decision": decision,
            "failures": [{
                "id": "12345678", "check": "unit", "test": "rounds", "new": true,
                "message": "SECRET of the output", "place": { "file": "src/lib.rs" },
            }],
        });
        std::fs::create_dir_all(self.root().join(EVIDENCE)).unwrap();
        std::fs::write(
            self.root().join(EVIDENCE).join(feedback::FILE),
            document.to_string(),
        )
        .unwrap();
    }

    /// The evidence beside it, of one check.
    fn evidence(&self, outcome: Outcome) {
        let name = "unit".parse().unwrap();
        let check = CheckEvidence::bare(name, CheckKind::Test, outcome);
        let head = self.git(&["rev-parse", "HEAD"]).parse().unwrap();
        let repository = "acme/widgets".parse().unwrap();
        let evidence = working_tree::evidence(repository, head, head, vec![check]);
        std::fs::write(
            self.root().join(EVIDENCE).join(kept_evidence::FILE),
            serde_json::to_string(&evidence).unwrap(),
        )
        .unwrap();
    }

    fn held(&self) -> Option<String> {
        self.held_for(Agent::ClaudeCode, json!({}))
    }

    /// The answer to a hook that is asked now.
    fn held_for(&self, agent: Agent, ids: Value) -> Option<String> {
        held_in(self.root(), agent, ids)
    }
}

fn held_in(folder: &Path, agent: Agent, ids: Value) -> Option<String> {
    let question = Question {
        agent,
        ids: serde_json::from_value(ids).unwrap(),
        asked_at: Utc::now(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(held(folder, &question))
}

#[test]
fn an_agent_goes_on_until_its_tree_is_green() {
    let project = Project::new();
    assert_eq!(project.held(), None, "nothing was verified");
    project.verified("retry");
    let reason = project.held().expect("it failed");
    assert!(
        reason.contains("12345678 unit rounds src/lib.rs") && reason.len() <= 2048,
        "{reason}"
    );
    assert!(!reason.contains("SECRET"), "{reason}");
    let (_, below) = reason
        .split_once(loopgate_render::CAUTION)
        .expect("it is marked");
    assert!(below.contains("rounds"), "{reason}");
    project.commit();
    project.verified("proceed");
    assert_eq!(project.held(), None);
}

#[test]
fn an_agent_is_let_go_after_three_times_on_one_head_and_eight_in_a_row() {
    let project = Project::new();
    project.verified("retry");
    let held = (0..6).filter(|_| project.held().is_some()).count();
    assert_eq!(held, 3);
    let mut in_a_row = 3;
    for _ in 0..20 {
        project.commit();
        project.verified("retry");
        in_a_row += u32::from(project.held().is_some());
    }
    assert_eq!(in_a_row, MOST_IN_A_ROW);
}

/// An agent that was let go at its limit, and then made its tests pass without running, is held once more.
#[test]
fn lost_results_hold_once_more() {
    let project = Project::new();
    project.verified("retry");
    let held = (0..5).filter(|_| project.held().is_some()).count();
    assert_eq!(held, 3);
    project.evidence(Outcome::ResultsLost);
    let held = (0..5).filter(|_| project.held().is_some()).count();
    assert_eq!(held, 1);
}

#[test]
fn only_a_failure_that_the_author_repairs_holds_an_agent() {
    let project = Project::new();
    for decision in ["escalate", "wait", "proceed"] {
        project.verified(decision);
        assert_eq!(project.held(), None, "{decision}");
    }
    project.verified("retry");
    std::fs::remove_file(project.root().join(CONFIGURATION)).unwrap();
    assert_eq!(project.held(), None, "there is no configuration");
    let elsewhere = tempfile::tempdir().unwrap();
    let held = held_in(elsewhere.path(), Agent::Codex, json!({}));
    assert_eq!(held, None, "there is no repository");
}

#[test]
fn each_agent_is_answered_in_its_own_format() {
    let shown = [
        Agent::ClaudeCode,
        Agent::Codex,
        Agent::GeminiCli,
        Agent::Cursor,
    ]
    .map(|agent| answer(agent, "go on").to_string());
    let block = r#"{"decision":"block","reason":"go on"}"#;
    let followup = r#"{"followup_message":"go on"}"#;
    assert_eq!(shown, [block, block, block, followup]);
}

#[test]
fn a_tree_that_was_edited_and_not_verified_holds_once() {
    let project = Project::new();
    assert_eq!(project.held(), None, "nothing was edited");
    let edit = |text: &str| std::fs::write(project.root().join("code.sh"), text).unwrap();
    edit("one");
    let reason = project.held().expect("it was not verified");
    assert!(reason.contains("has not run on these edits"), "{reason}");
    assert_eq!(project.held(), None, "once");
    project.verified("proceed");
    project.commit();
    edit("two");
    let reason = project.held().expect("it was edited since");
    assert!(
        reason.contains("after the last `loopgate verify`"),
        "{reason}"
    );
    assert_eq!(project.held(), None, "once");
    edit("three");
    assert!(project.held().is_some(), "edited again");
}

#[test]
fn two_hooks_for_one_end_of_a_turn_get_one_answer_and_count_once() {
    let project = Project::new();
    project.verified("retry");
    let cursor = |turn: u32| json!({ "conversation_id": "c", "generation_id": format!("g{turn}") });
    for turn in 0..5 {
        let both = [Agent::Cursor, Agent::ClaudeCode]
            .map(|agent| project.held_for(agent, cursor(turn)).is_some());
        assert_eq!(both, [turn < 3; 2], "turn {turn}");
    }
}

#[test]
fn a_hook_waits_for_the_one_at_work_and_not_for_ever() {
    let project = Project::new();
    project.verified("retry");
    let worktree = Worktree::of(&Git::at(project.root())).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let taken = runtime.block_on(async {
        let at_work = Holds::take(&worktree, Instant::now()).await.unwrap();
        let in_vain = Holds::take(&worktree, Instant::now()).await.is_some();
        let waiting = Holds::take(&worktree, Instant::now() + WAITS);
        let (after, ()) = tokio::join!(waiting, async { drop(at_work) });
        [in_vain, after.is_some()]
    });
    assert_eq!(taken, [false, true]);
}
