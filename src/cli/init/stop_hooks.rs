//! The stop hooks of coding agents: one entry of ours in each agent's own file, beside whatever people have there.
//!
//! Claude Code: <https://code.claude.com/docs/en/hooks>, `.claude/settings.json`. Codex:
//! <https://developers.openai.com/codex/hooks>, `.codex/hooks.json`. Cursor: <https://cursor.com/docs/agent/hooks>,
//! `.cursor/hooks.json`.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::CliError;

/// An entry is ours by its command.
const COMMAND: &str = "loopgate agent-stop --for";
/// Seconds that an agent waits for the hook: a little more than the hook waits for a verdict.
const TIMEOUT: u32 = 540;
/// How often Cursor takes a message of the hook in a row.
const LOOP_LIMIT: u32 = 9;

/// An agent, its file, and its name for the event.
const AGENTS: [(&str, &str, &str); 3] = [
    ("claude-code", ".claude/settings.json", "Stop"),
    ("codex", ".codex/hooks.json", "Stop"),
    ("cursor", ".cursor/hooks.json", "stop"),
];

/// The files with our entries in them, or without; only those that differ from what is there.
///
/// # Errors
/// When a file is there that is no JSON object: nothing is taken from people's settings.
pub fn files(root: &Path, is_wanted: bool) -> Result<Vec<(&'static str, String)>, CliError> {
    let mut files = Vec::new();
    for (agent, path, event) in AGENTS {
        let before = std::fs::read_to_string(root.join(path)).ok();
        let there = before.as_deref().unwrap_or("{}");
        let wrong = || CliError::bad_data(format!("{path} is no JSON object: put the hook there yourself"));
        let Ok(Value::Object(settings)) = serde_json::from_str(there) else { return Err(wrong()) };
        let Some(changed) = changed(settings.clone(), agent, event, is_wanted) else { return Err(wrong()) };
        if changed != settings {
            files.push((path, format!("{:#}\n", Value::Object(changed))));
        }
    }
    Ok(files)
}

/// The settings with our one entry, or without it; none where what holds the entries has another shape.
fn changed(mut settings: Map<String, Value>, agent: &str, event: &str, is_wanted: bool) -> Option<Map<String, Value>> {
    if is_wanted {
        if agent == "cursor" {
            settings.entry("version").or_insert(json!(1));
        }
        settings.entry("hooks").or_insert(json!({})).as_object_mut()?.entry(event).or_insert(json!([]));
    }
    let Some(hooks) = settings.get_mut("hooks") else { return Some(settings) };
    let hooks = hooks.as_object_mut()?;
    let Some(entries) = hooks.get_mut(event) else { return Some(settings) };
    let entries = entries.as_array_mut()?;
    let command = format!("{COMMAND} {agent}");
    let ours = match agent {
        "cursor" => json!({ "command": command, "timeout": TIMEOUT, "loop_limit": LOOP_LIMIT }),
        _ => json!({ "hooks": [{ "type": "command", "command": command, "timeout": TIMEOUT }] }),
    };
    entries.retain(|entry| !entry.to_string().contains(COMMAND) || is_wanted && *entry == ours);
    if is_wanted && !entries.contains(&ours) {
        entries.push(ours);
    }
    // What was only made for us goes with us.
    if !is_wanted && entries.is_empty() {
        hooks.shift_remove(event);
        if hooks.is_empty() {
            settings.shift_remove("hooks");
        }
    }
    Some(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path) -> usize {
        let files = files(root, true).unwrap();
        for (path, text) in &files {
            std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            std::fs::write(root.join(path), text).unwrap();
        }
        files.len()
    }

    #[test]
    fn hooks_are_written_once_beside_what_is_there_and_taken_away_again() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let own = json!({ "model": "opus", "hooks": { "Stop": [{ "hooks": [{ "type": "command", "command": "say done" }] }] } });
        std::fs::create_dir(root.join(".claude")).unwrap();
        std::fs::write(root.join(".claude/settings.json"), own.to_string()).unwrap();
        assert_eq!([write(root), write(root)], [3, 0]);
        let read =
            |path: &str| serde_json::from_str::<Value>(&std::fs::read_to_string(root.join(path)).unwrap()).unwrap();
        let claude = read(".claude/settings.json");
        assert_eq!((&claude["model"], claude["hooks"]["Stop"].as_array().unwrap().len()), (&json!("opus"), 2));
        assert_eq!(
            read(".codex/hooks.json")["hooks"]["Stop"][0]["hooks"][0]["command"],
            "loopgate agent-stop --for codex"
        );
        assert_eq!(read(".cursor/hooks.json")["version"], 1);
        let removed = files(root, false).unwrap();
        assert_eq!(removed.len(), 3);
        assert_eq!(serde_json::from_str::<Value>(&removed[0].1).unwrap(), own);
        std::fs::write(root.join(".codex/hooks.json"), "[]").unwrap();
        assert!(files(root, true).unwrap_err().message.contains(".codex/hooks.json"));
    }
}
