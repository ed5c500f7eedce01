//! Coding agents whose stop hooks `loopgate init --agents --stop-hooks write` wrote: a stand-in of each agent's hook
//! runner reads the agent's own file and calls the hook as the agent's documentation says.
//!
//! Claude Code: <https://code.claude.com/docs/en/hooks>. Codex: <https://developers.openai.com/codex/hooks>. Cursor:
//! <https://cursor.com/docs/agent/hooks>.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::kit::{LOOPGATE, Project};

/// Turns of an agent that is never held back for good.
const MOST_TURNS: usize = 30;

#[derive(Clone, Copy)]
enum Agent {
    ClaudeCode,
    Codex,
    Cursor,
}

impl Agent {
    const ALL: [Self; 3] = [Self::ClaudeCode, Self::Codex, Self::Cursor];

    /// The commands for the end of a turn, in the agent's own file.
    fn commands(self, project: &Project) -> Vec<String> {
        let read = |path: &str| serde_json::from_str::<Value>(&project.read(path)).expect("JSON");
        let entries = match self {
            Self::ClaudeCode => read(".claude/settings.json")["hooks"]["Stop"].clone(),
            Self::Codex => read(".codex/hooks.json")["hooks"]["Stop"].clone(),
            Self::Cursor => read(".cursor/hooks.json")["hooks"]["stop"].clone(),
        };
        let hooks = entries
            .as_array()
            .expect("entries")
            .iter()
            .flat_map(|entry| match self {
                Self::Cursor => vec![entry.clone()],
                _ => entry["hooks"].as_array().expect("hooks").clone(),
            });
        hooks
            .map(|hook| hook["command"].as_str().expect("a command").to_owned())
            .collect()
    }

    /// What the agent writes to the hook's standard input.
    fn input(self, project: &Project, held_before: usize) -> Value {
        let (root, is_active) = (project.root(), held_before > 0);
        match self {
            Self::ClaudeCode | Self::Codex => json!({
                "session_id": "abc123", "transcript_path": "/dev/null", "cwd": root, "permission_mode": "default",
                "hook_event_name": "Stop", "stop_hook_active": is_active,
            }),
            Self::Cursor => json!({
                "conversation_id": "c1", "generation_id": "g1", "hook_event_name": "stop",
                "workspace_roots": [root], "status": "completed", "loop_count": held_before,
            }),
        }
    }

    /// What the agent is to do before it may stop; `None` if it may.
    fn held(self, project: &Project, held_before: usize) -> Option<String> {
        self.commands(project).iter().find_map(|command| {
            let (name, arguments) = command.split_once(' ').expect("arguments");
            assert_eq!(name, "loopgate", "a program that people have on their path");
            let mut hook = Command::new(LOOPGATE)
                .args(arguments.split(' '))
                .current_dir(project.root())
                .env_remove("GITHUB_TOKEN")
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .expect("the program that was built for this test");
            let input = self.input(project, held_before).to_string();
            hook.stdin
                .take()
                .expect("piped above")
                .write_all(input.as_bytes())
                .expect("it reads");
            let output = hook.wait_with_output().expect("it ends");
            assert!(
                output.status.success(),
                "a hook that fails is an error that people see: {output:?}"
            );
            let answer: Value = serde_json::from_slice(&output.stdout).ok()?;
            let reason = match self {
                Self::Cursor => answer["followup_message"].as_str()?,
                _ if answer["decision"] == "block" => answer["reason"].as_str()?,
                _ => panic!("no decision that the agent knows: {answer}"),
            };
            Some(reason.to_owned())
        })
    }

    /// The agent works until it may stop; `turn` is what it does in each. Returns why it was held, each time.
    fn works(self, project: &Project, turn: impl Fn(usize)) -> Vec<String> {
        let mut reasons = Vec::new();
        for nth in 0..MOST_TURNS {
            turn(nth);
            match self.held(project, reasons.len()) {
                Some(reason) => reasons.push(reason),
                None => return reasons,
            }
        }
        panic!("it never stops: {reasons:?}");
    }
}

fn project() -> Project {
    let project = Project::with("", "");
    project
        .loopgate(&["init", "--agents", "--stop-hooks", "write"])
        .output()
        .expect("loopgate");
    project.commit("Hooks");
    project
}

/// Verifies the tree, as the rules that `init --agents` writes ask of an agent.
fn verifies(project: &Project) {
    project.loopgate(&["verify"]).output().expect("loopgate");
}

#[test]
fn an_agent_stops_once_the_tree_it_leaves_passes() {
    for agent in Agent::ALL {
        let project = project();
        let reasons = agent.works(&project, |turn| {
            match turn {
                0 => project.write("notes.txt", "It works.\n"),
                1 => project.write(
                    "calc.sh",
                    &project.read("calc.sh").replace("sum=1", "sum=0"),
                ),
                _ => project.write(
                    "calc.sh",
                    &project.read("calc.sh").replace("    echo \"$1\"", GREATEST),
                ),
            }
            verifies(&project);
        });
        assert_eq!(reasons.len(), 2, "{reasons:#?}");
        assert!(
            reasons[0].contains("adds all numbers") && reasons[0].contains("finds the greatest"),
            "{reasons:#?}"
        );
        assert!(!reasons[1].contains("adds all numbers"), "{reasons:#?}");
        assert!(
            !reasons[0].contains("expected 6"),
            "it holds nothing that a test printed: {reasons:#?}"
        );
    }
}

const GREATEST: &str =
    "    most=$1; for n in \"$@\"; do [ \"$n\" -gt \"$most\" ] && most=$n; done; echo \"$most\"";

#[test]
fn an_agent_that_repairs_nothing_is_let_go_after_three_times_on_one_head() {
    for agent in Agent::ALL {
        let project = project();
        verifies(&project);
        assert_eq!(agent.works(&project, |_| {}).len(), 3);
        // Let go once, it is not caught again by asking again.
        assert_eq!(agent.held(&project, 0), None);
    }
}

#[test]
fn an_agent_that_commits_and_repairs_nothing_does_not_go_on_for_ever() {
    let project = project();
    let reasons = Agent::ClaudeCode.works(&project, |turn| {
        project.write("notes.txt", &format!("Attempt {turn}\n"));
        project.commit("Attempt");
        verifies(&project);
    });
    assert_eq!(reasons.len(), 9, "{reasons:#?}");
}

#[test]
fn without_hooks_or_without_a_configuration_nobody_is_held() {
    let project = project();
    verifies(&project);
    std::fs::remove_file(project.path(".github/loopgate.yml")).expect("it was there");
    assert_eq!(Agent::Codex.held(&project, 0), None);
    project
        .loopgate(&["init", "--agents", "--stop-hooks", "remove"])
        .output()
        .expect("loopgate");
    for path in [
        ".claude/settings.json",
        ".codex/hooks.json",
        ".cursor/hooks.json",
    ] {
        assert!(!project.read(path).contains("agent-stop"), "{path}");
    }
}
