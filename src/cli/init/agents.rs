//! The instructions for coding agents, and where their environments install the program.
//!
//! Copilot (<https://docs.github.com/en/copilot/reference/custom-instructions-support>), Codex
//! (<https://developers.openai.com/codex/guides/agents-md>) and Cursor (<https://cursor.com/docs/context/rules>) read `AGENTS.md`.
//! Claude Code reads `CLAUDE.md`, which imports it (<https://code.claude.com/docs/en/memory>). These files are people's: ours
//! is a block between two marks, and everything around it stays byte by byte.
//!
//! A stop hook is one entry of ours in each agent's own file, beside whatever people have there. Claude Code:
//! <https://code.claude.com/docs/en/hooks>, `.claude/settings.json`. Codex: <https://developers.openai.com/codex/hooks>,
//! `.codex/hooks.json`. Cursor: <https://cursor.com/docs/agent/hooks>, `.cursor/hooks.json`.

use std::{fs, path::Path};

use serde_json::{Map, Value, json};

use super::{CliError, NewFile};
use loopgate_core::RepoName;

const INSTRUCTIONS: &str = "AGENTS.md";
const CLAUDE: [&str; 2] = ["CLAUDE.md", ".claude/CLAUDE.md"];
pub const COPILOT: &str = ".github/workflows/copilot-setup-steps.yml";
const COPILOT_STEPS: &str = include_str!("templates/copilot.yml");
/// A file that has it is people's, but for what stands behind it.
pub const BEGIN: &str = "<!-- loopgate: begin";
const END: &str = "<!-- loopgate: end -->";

/// The files that agents read.
pub fn files(
    root: &Path,
    repository: Option<&RepoName>,
    action: Option<&str>,
) -> Result<Vec<NewFile>, CliError> {
    let name = repository.map_or_else(|| "OWNER/REPO".to_owned(), ToString::to_string);
    let instructions = include_str!("templates/agents.md").replace("@REPOSITORY@", &name);
    let mut files = vec![block(root, INSTRUCTIONS, &instructions)?];
    if !CLAUDE.iter().any(|path| imports(root, path)) {
        let repeating = CLAUDE.into_iter().find(|path| repeats(root, path));
        files.push(match repeating {
            Some(path) => block(root, path, &instructions)?,
            None => block(root, CLAUDE[0], include_str!("templates/claude.md"))?,
        });
    }
    if let Some(action) = action.filter(|_| sets_up_copilot(root)) {
        let text = COPILOT_STEPS.replace("@INSTALL@", &install(Some(action)));
        files.push(NewFile {
            path: COPILOT,
            text,
        });
    }
    Ok(files)
}

/// One line of shell that puts the release's program, if it is the one of its checksums, on the path.
pub fn install(action: Option<&str>) -> String {
    let Some(action) = action else {
        return "cargo install --locked --path . (in a clone of Loopgate: there is no release to download yet)"
            .to_owned();
    };
    let version = env!("CARGO_PKG_VERSION");
    let path = action.split('@').next().unwrap_or_default();
    let repository = path
        .match_indices('/')
        .nth(1)
        .map_or(path, |(at, _)| &path[..at]);
    format!(
        "f=loopgate-{version}-$(uname -m)-unknown-linux-gnu.tar.gz && \
         u=https://github.com/{repository}/releases/download/v{version} && curl -fsSL --remote-name-all \"$u/$f\" \
         \"$u/SHA256SUMS\" && grep \"$f\\$\" SHA256SUMS | sha256sum -c && $(command -v sudo) tar -xzf \"$f\" -C \
         /usr/local/bin loopgate && rm \"$f\" SHA256SUMS"
    )
}

/// Whether the file of Copilot's set-up is, or will be, ours. A file of somebody else's sets up more than us, and is
/// theirs to edit.
pub fn sets_up_copilot(root: &Path) -> bool {
    let first = COPILOT_STEPS.lines().next().unwrap_or_default();
    fs::read_to_string(root.join(COPILOT)).map_or(true, |there| there.starts_with(first))
}

/// Whether a file of Claude's imports `AGENTS.md`, or is that file.
fn imports(root: &Path, path: &str) -> bool {
    let is_import = |word: &str| word.starts_with('@') && word.ends_with(INSTRUCTIONS);
    let same = || {
        root.join(path)
            .canonicalize()
            .ok()
            .filter(|real| root.join(INSTRUCTIONS).canonicalize().ok().as_ref() == Some(real))
    };
    let text = fs::read_to_string(root.join(path)).unwrap_or_default();
    same().is_some() || text.split_whitespace().any(is_import) && !text.contains(BEGIN)
}

/// Whether a file of Claude's holds every line that people wrote into `AGENTS.md`: with an import they would be read
/// twice, so it gets our lines as `AGENTS.md` does.
fn repeats(root: &Path, path: &str) -> bool {
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let (instructions, claude) = (read(INSTRUCTIONS), read(path));
    let lines = |text: &str| -> Vec<String> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.map(str::to_owned).collect()
    };
    let (own, there) = (
        lines(&without_block(&instructions)),
        lines(&without_block(&claude)),
    );
    !own.is_empty() && own.iter().all(|line| there.contains(line))
}

/// A text without our block.
fn without_block(text: &str) -> String {
    let Some((before, ours)) = text.split_once(BEGIN) else {
        return text.to_owned();
    };
    let after = ours.split_once(END).map_or("", |(_, after)| after);
    format!("{before}{after}")
}

/// A file with our block in it: in place of the one that is there, else at the end.
fn block(root: &Path, path: &'static str, ours: &str) -> Result<NewFile, CliError> {
    let there = match fs::read(root.join(path)) {
        Ok(bytes) => String::from_utf8(bytes)
            .map_err(|_| CliError::bad_data(format!("{path} is not UTF-8")))?,
        Err(_) => String::new(),
    };
    let text = with_block(&there, ours).ok_or_else(|| {
        CliError::bad_data(format!(
            "{path} has `{BEGIN}` without `{END}` behind it: put that back, or take both away"
        ))
    })?;
    Ok(NewFile { path, text })
}

/// None where a block begins and does not end.
fn with_block(there: &str, ours: &str) -> Option<String> {
    let line = if there.contains("\r\n") { "\r\n" } else { "\n" };
    let ours = ours.trim_end().replace('\n', line);
    if let Some(begin) = there.find(BEGIN) {
        let end = begin + there[begin..].find(END)? + END.len();
        return Some(format!("{}{ours}{}", &there[..begin], &there[end..]));
    }
    let gap = match there {
        "" => String::new(),
        _ if there.ends_with('\n') => line.to_owned(),
        _ => line.repeat(2),
    };
    Some(format!("{there}{gap}{ours}{line}"))
}

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
pub fn hook_files(root: &Path, is_wanted: bool) -> Result<Vec<(&'static str, String)>, CliError> {
    let mut files = Vec::new();
    for (agent, path, event) in AGENTS {
        let before = fs::read_to_string(root.join(path)).ok();
        let there = before.as_deref().unwrap_or("{}");
        let wrong = || {
            CliError::bad_data(format!(
                "{path} is no JSON object: put the hook there yourself"
            ))
        };
        let Ok(Value::Object(settings)) = serde_json::from_str(there) else {
            return Err(wrong());
        };
        let Some(changed) = changed(settings.clone(), agent, event, is_wanted) else {
            return Err(wrong());
        };
        if changed != settings {
            files.push((path, format!("{:#}\n", Value::Object(changed))));
        }
    }
    Ok(files)
}

/// The settings with our one entry, or without it; none where what holds the entries has another shape.
fn changed(
    mut settings: Map<String, Value>,
    agent: &str,
    event: &str,
    is_wanted: bool,
) -> Option<Map<String, Value>> {
    if is_wanted {
        if agent == "cursor" {
            settings.entry("version").or_insert(json!(1));
        }
        settings
            .entry("hooks")
            .or_insert(json!({}))
            .as_object_mut()?
            .entry(event)
            .or_insert(json!([]));
    }
    let Some(hooks) = settings.get_mut("hooks") else {
        return Some(settings);
    };
    let hooks = hooks.as_object_mut()?;
    let Some(entries) = hooks.get_mut(event) else {
        return Some(settings);
    };
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

    #[test]
    fn a_file_of_claudes_that_repeats_the_instructions_gets_ours_and_no_import() {
        let written = |instructions: &str, claude: &str| {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join(INSTRUCTIONS), instructions).unwrap();
            fs::write(folder.path().join(CLAUDE[0]), claude).unwrap();
            let mut files = files(folder.path(), None, None).unwrap().into_iter();
            files
                .find(|file| file.path == CLAUDE[0])
                .map(|file| (file.text.contains("@AGENTS.md"), file.text))
        };
        let (rules, other) = ("# Rules\n\nRun `make`.\n", "Be brief.\n");
        let (imports, once) = written(rules, rules).unwrap();
        assert!(!imports && once.contains("loopgate verify"), "{once}");
        assert!(
            !written(rules, &format!("{rules}\n{other}")).unwrap().0,
            "and more"
        );
        assert_eq!(written(&once, &once).unwrap().1, once, "a second time");
        assert_eq!(written(rules, "See @AGENTS.md\n"), None);
        assert!(written(rules, other).unwrap().0, "others");
        assert!(written(rules, "# Rules\n").unwrap().0, "a part");
        assert!(written("", other).unwrap().0, "none to repeat");
    }

    fn write(root: &Path) -> usize {
        let files = hook_files(root, true).unwrap();
        for (path, text) in &files {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
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
        assert_eq!([write(root), write(root)], [3, 0]);
        let read = |path: &str| {
            serde_json::from_str::<Value>(&fs::read_to_string(root.join(path)).unwrap()).unwrap()
        };
        let claude = read(".claude/settings.json");
        assert_eq!(
            (
                &claude["model"],
                claude["hooks"]["Stop"].as_array().unwrap().len()
            ),
            (&json!("opus"), 2)
        );
        assert_eq!(
            read(".codex/hooks.json")["hooks"]["Stop"][0]["hooks"][0]["command"],
            "loopgate agent-stop --for codex"
        );
        assert_eq!(read(".cursor/hooks.json")["version"], 1);
        let removed = hook_files(root, false).unwrap();
        assert_eq!(removed.len(), 3);
        assert_eq!(serde_json::from_str::<Value>(&removed[0].1).unwrap(), own);
        fs::write(root.join(".codex/hooks.json"), "[]").unwrap();
        assert!(
            hook_files(root, true)
                .unwrap_err()
                .message
                .contains(".codex/hooks.json")
        );
    }
}
