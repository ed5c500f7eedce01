//! The instructions for coding agents, and where their environments install the program.
//!
//! Copilot (<https://docs.github.com/en/copilot/reference/custom-instructions-support>), Codex
//! (<https://developers.openai.com/codex/guides/agents-md>), Cursor (<https://cursor.com/docs/context/rules>) and OpenCode
//! (<https://opencode.ai/docs/rules>) read `AGENTS.md`. Claude Code reads it where there is no `CLAUDE.md`, which else has
//! to import it (<https://code.claude.com/docs/en/memory>); Copilot CLI reads both, so none is made. Gemini CLI reads the files
//! that its settings name (<https://geminicli.com/docs/reference/configuration>). These files are people's: ours is a
//! block between two marks, and everything around it stays byte by byte.

use std::{fs, path::Path};

use serde_json::{Map, Value, json};

use super::{CliError, NewFile};
use loopgate_core::RepoName;

const INSTRUCTIONS: &str = "AGENTS.md";
/// Claude Code's own files, each with our block that imports `AGENTS.md`, from where it stands.
const CLAUDE: [(&str, &str); 2] = [
    ("CLAUDE.md", include_str!("templates/claude.md")),
    (
        ".claude/CLAUDE.md",
        include_str!("templates/claude_folder.md"),
    ),
];
/// Gemini CLI's own file, and its settings.
const GEMINI: &str = "GEMINI.md";
pub const GEMINI_SETTINGS: &str = ".gemini/settings.json";
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
    let mut there = CLAUDE
        .into_iter()
        .filter(|(path, _)| root.join(path).is_file())
        .peekable();
    if let Some((path, import)) = there.peek().copied()
        && !there.clone().any(|(path, _)| imports(root, path))
    {
        let repeating = there.find(|(path, _)| repeats(root, path));
        files.push(match repeating {
            Some((path, _)) => block(root, path, &instructions)?,
            None => block(root, path, import)?,
        });
    }
    if uses_gemini(root)
        && let Some(text) = gemini_settings(root)
    {
        files.push(NewFile {
            path: GEMINI_SETTINGS,
            text,
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

/// Whether an agent's own file imports `AGENTS.md`, or is that file.
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

/// Whether people use Gemini CLI here.
fn uses_gemini(root: &Path) -> bool {
    root.join(GEMINI).is_file() || root.join(".gemini").is_dir()
}

/// Gemini CLI's settings, naming `AGENTS.md`; none where none are needed, or they cannot be read.
fn gemini_settings(root: &Path) -> Option<String> {
    let there = fs::read_to_string(root.join(GEMINI_SETTINGS)).ok();
    let settings: Map<String, Value> =
        serde_json::from_str(there.as_deref().unwrap_or("{}")).ok()?;
    let naming = naming_instructions(root, settings.clone())?;
    if naming == settings {
        return there;
    }
    Some(format!("{:#}\n", Value::Object(naming)))
}

/// Gemini CLI's settings with `AGENTS.md` among the files that it reads; none where they have another shape.
pub fn naming_instructions(
    root: &Path,
    mut settings: Map<String, Value>,
) -> Option<Map<String, Value>> {
    // What its own file imports is read already.
    if imports(root, GEMINI) {
        return Some(settings);
    }
    let context = settings.entry("context").or_insert(json!({}));
    let names = context
        .as_object_mut()?
        .entry("fileName")
        .or_insert(json!([GEMINI]));
    if let Value::String(name) = names {
        *names = json!([name]);
    }
    let names = names.as_array_mut()?;
    if !names.contains(&json!(INSTRUCTIONS)) {
        names.insert(0, json!(INSTRUCTIONS));
    }
    Some(settings)
}

/// Whether Gemini CLI reads the instructions.
pub fn gemini_is_told(root: &Path) -> bool {
    let there = fs::read_to_string(root.join(GEMINI_SETTINGS)).unwrap_or_default();
    imports(root, GEMINI) || there.contains(INSTRUCTIONS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_claudes_that_repeats_the_instructions_gets_ours_and_no_import() {
        let written = |instructions: &str, claude: &str| {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join(INSTRUCTIONS), instructions).unwrap();
            fs::write(folder.path().join(CLAUDE[0].0), claude).unwrap();
            let mut files = files(folder.path(), None, None).unwrap().into_iter();
            files
                .find(|file| file.path == CLAUDE[0].0)
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

    /// The text that a file gets among these; none if it is left as it is.
    fn written(files: &[(&str, &str)], path: &str) -> Option<String> {
        let folder = loopgate_written::folder_of(files);
        let made = super::files(folder.path(), None, None).unwrap();
        let file = made.into_iter().find(|file| file.path == path)?;
        Some(file.text)
    }

    #[test]
    fn a_file_of_claudes_is_written_only_where_it_takes_the_instructions_away() {
        let [(top, _), (below, _)] = CLAUDE;
        assert_eq!(written(&[], top), None);
        let imported = written(&[(below, "Be brief.\n")], below).unwrap();
        assert!(imported.contains("@../AGENTS.md"), "{imported}");
        assert_eq!(written(&[(below, "Be brief.\n")], top), None);
        let both = [(top, "Be brief.\n"), (below, "See @../AGENTS.md\n")];
        assert_eq!(written(&both, top), None, "the other imports it");
    }

    #[test]
    fn gemini_is_told_which_files_to_read_where_it_is_used() {
        let named = |settings: &str| {
            let text = written(&[(GEMINI_SETTINGS, settings)], GEMINI_SETTINGS)?;
            let read: Value = serde_json::from_str(&text).unwrap();
            Some(read["context"]["fileName"].clone())
        };
        assert_eq!(written(&[], GEMINI_SETTINGS), None);
        assert!(written(&[(GEMINI, "Be brief.\n")], GEMINI_SETTINGS).is_some());
        let imports = [(GEMINI, "@./AGENTS.md\n")];
        assert_eq!(written(&imports, GEMINI_SETTINGS), None);
        let usual = json!(["AGENTS.md", "GEMINI.md"]);
        assert_eq!(named("{}"), Some(usual));
        let own = r#"{ "context": { "fileName": "RULES.md" } }"#;
        assert_eq!(named(own), Some(json!(["AGENTS.md", "RULES.md"])));
        assert_eq!(named("// mine\n{}"), None, "people's comments stay");
        let done = r#"{"context":{"fileName":["AGENTS.md"]}}"#;
        let again = written(&[(GEMINI_SETTINGS, done)], GEMINI_SETTINGS);
        assert_eq!(again.as_deref(), Some(done));
    }
}
