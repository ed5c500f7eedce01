//! Coding agents whose stop hooks `loopgate init --agents --stop-hooks write` wrote: a stand-in of each agent's hook
//! runner reads the agent's own file and calls the hook as the agent's documentation says.
//!
//! Claude Code: <https://code.claude.com/docs/en/hooks>. Codex: <https://developers.openai.com/codex/hooks>. Cursor:
//! <https://cursor.com/docs/agent/hooks>. Gemini CLI: <https://geminicli.com/docs/hooks/reference>. `.ci/agents.py` runs
//! those that can be had themselves.

use std::{
    io::Write as _,
    process::{Child, Command, Stdio},
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
    GeminiCli,
}

impl Agent {
    const ALL: [Self; 4] = [Self::ClaudeCode, Self::Codex, Self::Cursor, Self::GeminiCli];

    /// The commands for the end of a turn, in the agent's own file.
    fn commands(self, project: &Project) -> Vec<String> {
        let read = |path: &str| serde_json::from_str::<Value>(&project.read(path)).expect("JSON");
        let entries = match self {
            Self::ClaudeCode => read(".claude/settings.json")["hooks"]["Stop"].clone(),
            Self::Codex => read(".codex/hooks.json")["hooks"]["Stop"].clone(),
            Self::Cursor => read(".cursor/hooks.json")["hooks"]["stop"].clone(),
            Self::GeminiCli => read(".gemini/settings.json")["hooks"]["AfterAgent"].clone(),
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
            Self::GeminiCli => json!({
                "session_id": "abc123", "transcript_path": "/dev/null", "cwd": root, "timestamp": "2026-11-29T10:00:00Z",
                "hook_event_name": "AfterAgent", "prompt": "Repair it", "prompt_response": "Done.",
                "stop_hook_active": is_active,
            }),
            Self::Cursor => json!({
                "conversation_id": "c1", "generation_id": "g1", "hook_event_name": "stop",
                "workspace_roots": [root], "status": "completed", "loop_count": held_before,
            }),
        }
    }

    /// What the agent is to do before it may stop; `None` if it may.
    fn held(self, project: &Project, held_before: usize) -> Option<String> {
        let input = self.input(project, held_before);
        let mut commands = self.commands(project).into_iter();
        commands.find_map(|command| self.reason(&asked(project, &command, &input)))
    }

    /// Why a hook's answer, in this agent's format, lets it go on.
    fn reason(self, answer: &[u8]) -> Option<String> {
        let answer: Value = serde_json::from_slice(answer).ok()?;
        let reason = match self {
            Self::Cursor => answer["followup_message"].as_str()?,
            _ if answer["decision"] == "block" => answer["reason"].as_str()?,
            _ => panic!("no decision that the agent knows: {answer}"),
        };
        Some(reason.to_owned())
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

/// What a hook answers.
fn asked(project: &Project, command: &str, input: &Value) -> Vec<u8> {
    let output = begun(project, command, input)
        .wait_with_output()
        .expect("it ends");
    assert!(
        output.status.success(),
        "a hook that fails is an error that people see: {output:?}"
    );
    output.stdout
}

/// A hook that has its input.
fn begun(project: &Project, command: &str, input: &Value) -> Child {
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
    let mut to = hook.stdin.take().expect("piped above");
    to.write_all(input.to_string().as_bytes())
        .expect("it reads");
    hook
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
    assert_eq!(reasons.len(), 8, "{reasons:#?}");
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
        assert!(!project.path(path).exists(), "{path} had nothing else");
    }
    assert!(!project.read(".gemini/settings.json").contains("agent-stop"));
}

/// Cursor runs the hooks of Claude Code's file beside its own where people have switched that on, all with its own input
/// (<https://cursor.com/docs/reference/third-party-hooks>).
#[test]
fn two_hooks_of_one_agent_hold_each_end_of_a_turn_together() {
    for is_at_once in [false, true] {
        let project = project();
        verifies(&project);
        let commands: Vec<String> = [Agent::Cursor, Agent::ClaudeCode]
            .into_iter()
            .flat_map(|agent| agent.commands(&project))
            .collect();
        assert_eq!(commands.len(), 2);
        for turn in 0..5 {
            let mut input = Agent::Cursor.input(&project, turn);
            input["generation_id"] = json!(format!("g{turn}"));
            let answers = answers(&project, &commands, &input, is_at_once);
            let is_held = answers.map(|answer| !answer.is_empty());
            assert_eq!(is_held, [turn < 3; 2], "turn {turn}, at once: {is_at_once}");
        }
    }
}

/// The answers of two hooks that are run at once, or one after the other.
fn answers(
    project: &Project,
    commands: &[String],
    input: &Value,
    is_at_once: bool,
) -> [Vec<u8>; 2] {
    let first = begun(project, &commands[0], input);
    let ended = |hook: Child| hook.wait_with_output().expect("it ends").stdout;
    if is_at_once {
        let second = begun(project, &commands[1], input);
        return [ended(first), ended(second)];
    }
    let first = ended(first);
    [first, asked(project, &commands[1], input)]
}

#[test]
fn an_edit_that_is_not_verified_holds_once() {
    let project = project();
    let reasons = Agent::ClaudeCode.works(&project, |turn| {
        if turn == 0 {
            project.write("notes.txt", "Later.\n");
        }
    });
    let [reason] = reasons.as_slice() else {
        panic!("{reasons:?}")
    };
    assert!(reason.contains("has not run on these edits"), "{reason}");
}

/// What failed on the commit that the branch began from, in the same test by the same error, is not the agent's.
#[test]
fn a_failure_of_the_base_holds_nobody_and_one_more_does() {
    let project = project();
    verifies(&project);
    project.git(&["switch", "-qc", "topic"]);
    project.write("notes.txt", "A change.\n");
    project.commit("A change");
    verifies(&project);
    assert_eq!(Agent::Codex.held(&project, 0), None);
    let calc = project.read("calc.sh");
    project.write("calc.sh", &calc.replace("echo \"$1\"", "echo 3"));
    verifies(&project);
    let reason = Agent::Codex.held(&project, 0).expect("another error");
    assert!(reason.contains("the first may be the greatest"), "{reason}");
}
