//! The instructions for coding agents, and where their environments install the program.
//!
//! Copilot (<https://docs.github.com/en/copilot/reference/custom-instructions-support>), Codex
//! (<https://developers.openai.com/codex/guides/agents-md>) and Cursor (<https://cursor.com/docs/context/rules>) read `AGENTS.md`.
//! Claude Code reads `CLAUDE.md`, which imports it (<https://code.claude.com/docs/en/memory>). These files are people's: ours
//! is a block between two marks, and everything around it stays byte by byte.

use std::{fs, path::Path};

use loopgate_core::RepoName;

use super::{ActionReference, CliError, NewFile};

const TOLD: &str = "AGENTS.md";
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
    action: Option<&ActionReference>,
) -> Result<Vec<NewFile>, CliError> {
    let name = repository.map_or_else(|| "OWNER/REPO".to_owned(), ToString::to_string);
    let told = include_str!("templates/agents.md").replace("@REPOSITORY@", &name);
    let mut files = vec![block(root, TOLD, &told)?];
    if !CLAUDE.iter().any(|path| imports(root, path)) {
        files.push(block(root, CLAUDE[0], include_str!("templates/claude.md"))?);
    }
    if let Some(action) = action.filter(|_| sets_up_copilot(root)) {
        let text = COPILOT_STEPS.replace("@INSTALL@", &install(Some(action)));
        files.push(NewFile { path: COPILOT, text });
    }
    Ok(files)
}

/// One line of shell that puts the release's program, if it is the one of its checksums, on the path.
pub fn install(action: Option<&ActionReference>) -> String {
    let Some(repository) = action.map(ActionReference::repository) else {
        return "cargo install --locked --path . (in a clone of Loopgate: there is no release to download yet)"
            .to_owned();
    };
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "f=loopgate-{version}-$(uname -m)-unknown-linux-gnu.tar.gz && \
         u=https://github.com/{repository}/releases/download/v{version} && curl -fsSL --remote-name-all \"$u/$f\" \
         \"$u/SHA256SUMS\" && grep \"$f\\$\" SHA256SUMS | sha256sum -c && $(command -v sudo) tar -xzf \"$f\" -C \
         /usr/local/bin loopgate && rm \"$f\" SHA256SUMS"
    )
}

/// Whether the file of Copilot's set-up is, or will be, ours. A file of somebody else's sets up more than us, and is theirs to edit.
pub fn sets_up_copilot(root: &Path) -> bool {
    let first = COPILOT_STEPS.lines().next().unwrap_or_default();
    fs::read_to_string(root.join(COPILOT)).map_or(true, |there| there.starts_with(first))
}

/// Whether a file of Claude's imports `AGENTS.md`, or is that file.
fn imports(root: &Path, path: &str) -> bool {
    let is_import = |word: &str| word.starts_with('@') && word.ends_with(TOLD);
    let same = || {
        root.join(path).canonicalize().ok().filter(|real| root.join(TOLD).canonicalize().ok().as_ref() == Some(real))
    };
    let text = fs::read_to_string(root.join(path)).unwrap_or_default();
    same().is_some() || text.split_whitespace().any(is_import) && !text.contains(BEGIN)
}

/// A file with our block in it: in place of the one that is there, else at the end.
fn block(root: &Path, path: &'static str, ours: &str) -> Result<NewFile, CliError> {
    let there = match fs::read(root.join(path)) {
        Ok(bytes) => String::from_utf8(bytes).map_err(|_| CliError::bad_data(format!("{path} is not UTF-8")))?,
        Err(_) => String::new(),
    };
    let text = with_block(&there, ours).ok_or_else(|| {
        CliError::bad_data(format!("{path} has `{BEGIN}` without `{END}` behind it: put that back, or take both away"))
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
