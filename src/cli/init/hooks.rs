//! The stop hooks of coding agents: one entry of ours in each agent's own file, beside whatever people have there.
//!
//! Claude Code: <https://code.claude.com/docs/en/hooks>, `.claude/settings.json`. Copilot CLI runs that one
//! (<https://docs.github.com/en/copilot/reference/hooks-configuration>). Codex: <https://developers.openai.com/codex/hooks>,
//! `.codex/hooks.json`; a person reviews each text of an entry anew, so ours stays as it is. Cursor:
//! <https://cursor.com/docs/agent/hooks>, `.cursor/hooks.json`. Gemini CLI:
//! <https://geminicli.com/docs/hooks/reference>, `.gemini/settings.json`.

use std::{fs, path::Path};

use serde_json::{Map, Value, json};

use super::{
    CliError,
    agents::{GEMINI_SETTINGS, naming_instructions},
};

/// An entry is ours by its command.
const COMMAND: &str = "loopgate agent-stop --for";
/// Seconds that an agent waits for the hook: a little more than the hook waits for a verdict.
const TIMEOUT: u32 = 540;
/// How often Cursor takes a message of the hook in a row.
const LOOP_LIMIT: u32 = 9;

/// An agent with a stop hook.
struct Hooked {
    agent: &'static str,
    path: &'static str,
    /// Its name for the end of a turn.
    event: &'static str,
}

const AGENTS: [Hooked; 4] = [
    Hooked::new("claude-code", ".claude/settings.json", "Stop"),
    Hooked::new("codex", ".codex/hooks.json", "Stop"),
    Hooked::new("cursor", ".cursor/hooks.json", "stop"),
    Hooked::new("gemini-cli", GEMINI_SETTINGS, "AfterAgent"),
];

/// A file that our entry comes into or leaves.
#[derive(Debug)]
pub struct HookFile {
    pub path: &'static str,
    /// None where nothing but our entry was in it.
    pub text: Option<String>,
}

/// The files with our entries in them, or without; only those that differ from what is there.
///
/// # Errors
/// When a file is there that is no JSON object: nothing is taken from people's settings.
pub fn files(root: &Path, is_wanted: bool) -> Result<Vec<HookFile>, CliError> {
    let mut files = Vec::new();
    for hooked in AGENTS {
        let path = hooked.path;
        let before = fs::read_to_string(root.join(path)).ok();
        let there = before.as_deref().unwrap_or("{}");
        let read = serde_json::from_str::<Map<String, Value>>(there).ok();
        let changed = read
            .clone()
            .and_then(|settings| hooked.changed(root, settings, is_wanted));
        let Some(changed) = changed else {
            return Err(CliError::bad_data(format!(
                "{path} is no JSON object: put the hook there yourself"
            )));
        };
        if Some(&changed) == read.as_ref() {
            continue;
        }
        let is_left = changed.keys().any(|key| key != "version");
        let text = is_left.then(|| format!("{:#}\n", Value::Object(changed)));
        files.push(HookFile { path, text });
    }
    Ok(files)
}

/// Whether our entry is there for an agent.
pub fn is_written(root: &Path, agent: &str) -> bool {
    let has = |hooked: &Hooked| {
        fs::read_to_string(root.join(hooked.path)).is_ok_and(|text| text.contains(COMMAND))
    };
    AGENTS
        .iter()
        .any(|hooked| hooked.agent == agent && has(hooked))
}

impl Hooked {
    const fn new(agent: &'static str, path: &'static str, event: &'static str) -> Self {
        Self { agent, path, event }
    }

    /// The settings with our one entry, or without it; none where what holds the entries has another shape.
    fn changed(
        &self,
        root: &Path,
        mut settings: Map<String, Value>,
        is_wanted: bool,
    ) -> Option<Map<String, Value>> {
        if is_wanted {
            self.prepare(&mut settings)?;
        }
        if let Some(hooks) = settings.get_mut("hooks") {
            let hooks = hooks.as_object_mut()?;
            self.place(hooks, is_wanted)?;
            if hooks.is_empty() {
                settings.shift_remove("hooks");
            }
        }
        if is_wanted && self.path == GEMINI_SETTINGS {
            return naming_instructions(root, settings);
        }
        Some(settings)
    }

    /// Makes the list that our entry goes into.
    fn prepare(&self, settings: &mut Map<String, Value>) -> Option<()> {
        if self.agent == "cursor" {
            settings.entry("version").or_insert(json!(1));
        }
        settings
            .entry("hooks")
            .or_insert(json!({}))
            .as_object_mut()?
            .entry(self.event)
            .or_insert(json!([]));
        Some(())
    }

    /// Puts our entry among those of its event, or takes it away with what was only made for it.
    fn place(&self, hooks: &mut Map<String, Value>, is_wanted: bool) -> Option<()> {
        let Some(entries) = hooks.get_mut(self.event) else {
            return Some(());
        };
        let entries = entries.as_array_mut()?;
        let ours = self.entry();
        entries.retain(|entry| !entry.to_string().contains(COMMAND) || is_wanted && *entry == ours);
        if is_wanted && !entries.contains(&ours) {
            entries.push(ours);
        }
        if entries.is_empty() {
            hooks.shift_remove(self.event);
        }
        Some(())
    }

    fn entry(&self) -> Value {
        let command = format!("{COMMAND} {}", self.agent);
        let timeout = match self.agent {
            "cursor" => {
                return json!({ "command": command, "timeout": TIMEOUT, "loop_limit": LOOP_LIMIT });
            }
            // In milliseconds.
            "gemini-cli" => TIMEOUT * 1_000,
            _ => TIMEOUT,
        };
        json!({ "hooks": [{ "type": "command", "command": command, "timeout": timeout }] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path) -> usize {
        let files = files(root, true).unwrap();
        for file in &files {
            fs::create_dir_all(root.join(file.path).parent().unwrap()).unwrap();
            fs::write(root.join(file.path), file.text.as_ref().unwrap()).unwrap();
        }
        files.len()
    }

    #[test]
    fn hooks_are_written_once_beside_what_is_there_and_taken_away_again() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let own = json!({ "model": "opus", "hooks": { "Stop": [{ "hooks": [{ "type": "command", "command": "say done" }] }] } });
        fs::create_dir(root.join(".claude")).unwrap();
        fs::write(root.join(".claude/settings.json"), own.to_string()).unwrap();
        assert_eq!([write(root), write(root)], [4, 0]);
        let read = |path: &str| {
            serde_json::from_str::<Value>(&fs::read_to_string(root.join(path)).unwrap()).unwrap()
        };
        let claude = read(".claude/settings.json");
        assert_eq!(claude["model"], "opus");
        assert_eq!(claude["hooks"]["Stop"].as_array().unwrap().len(), 2);
        assert_eq!(read(".cursor/hooks.json")["version"], 1);
        let removed = files(root, false).unwrap();
        assert_eq!(removed.len(), 4);
        let left = |file: &HookFile| {
            let text = file.text.as_ref()?;
            Some(serde_json::from_str::<Value>(text).unwrap())
        };
        let gemini = json!({ "context": { "fileName": ["AGENTS.md", "GEMINI.md"] } });
        let left: Vec<_> = removed.iter().map(left).collect();
        assert_eq!(left, [Some(own), None, None, Some(gemini)]);
        fs::write(root.join(".codex/hooks.json"), "[]").unwrap();
        let refused = files(root, true).unwrap_err().message;
        assert!(refused.contains(".codex/hooks.json"), "{refused}");
    }

    /// A person reviews an entry of Codex's again where its text has changed.
    #[test]
    fn the_entries_stay_as_people_have_reviewed_them() {
        let entries: Vec<String> = AGENTS
            .iter()
            .map(|hooked| hooked.entry().to_string())
            .collect();
        insta::assert_snapshot!(entries.join("\n"), @r#"
        {"hooks":[{"type":"command","command":"loopgate agent-stop --for claude-code","timeout":540}]}
        {"hooks":[{"type":"command","command":"loopgate agent-stop --for codex","timeout":540}]}
        {"command":"loopgate agent-stop --for cursor","timeout":540,"loop_limit":9}
        {"hooks":[{"type":"command","command":"loopgate agent-stop --for gemini-cli","timeout":540000}]}
        "#);
    }
}
