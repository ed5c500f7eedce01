use super::*;
use crate::git::Git;

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

    fn held(&self) -> Option<String> {
        futures::executor::block_on(held(Some(self.root().to_owned())))
    }
}

#[test]
fn an_agent_goes_on_until_its_tree_is_green() {
    let project = Project::new();
    assert_eq!(project.held(), None, "nothing was verified");
    project.verified("retry");
    let reason = project.held().expect("it failed");
    assert!(
        reason.contains("12345678 unit rounds src/lib.rs") && reason.len() <= MOST_REASON,
        "{reason}"
    );
    assert!(!reason.contains("SECRET"), "{reason}");
    let (_, below) = reason
        .split_once(crate::render::CAUTION)
        .expect("it is marked");
    assert!(below.contains("rounds"), "{reason}");
    project.commit();
    project.verified("proceed");
    assert_eq!(project.held(), None);
}

#[test]
fn an_agent_is_let_go_after_three_times_on_one_head_and_nine_in_a_row() {
    let project = Project::new();
    project.verified("retry");
    let held = (0..6).filter(|_| project.held().is_some()).count();
    assert_eq!(held, 3);
    let mut in_a_row = held;
    for _ in 0..20 {
        project.commit();
        project.verified("retry");
        in_a_row += usize::from(project.held().is_some());
    }
    assert_eq!(in_a_row, 9);
}

#[test]
fn only_a_failure_that_the_author_repairs_holds_an_agent() {
    let project = Project::new();
    for decision in ["escalate", "wait", "proceed"] {
        project.verified(decision);
        assert_eq!(project.held(), None, "{decision}");
    }
    project.verified("retry");
    project.commit();
    assert_eq!(project.held(), None, "the verification is of another head");
    project.verified("retry");
    std::fs::remove_file(project.root().join(CONFIGURATION)).unwrap();
    assert_eq!(project.held(), None, "there is no configuration");
    let elsewhere = tempfile::tempdir().unwrap();
    let held = futures::executor::block_on(held(Some(elsewhere.path().to_owned())));
    assert_eq!(held, None, "there is no repository");
}

#[test]
fn each_agent_is_answered_in_its_own_format() {
    let shown = [Agent::ClaudeCode, Agent::Codex, Agent::Cursor]
        .map(|agent| answer(agent, "go on").to_string());
    let block = r#"{"decision":"block","reason":"go on"}"#;
    assert_eq!(shown, [block, block, r#"{"followup_message":"go on"}"#]);
}
