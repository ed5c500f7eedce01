//! The lines of a run as files: `failures/pr-12-20261120-101500.jsonl`, then `….2.jsonl`, each at most 256 KB.

use crate::refs::{GitObjects, ListObjects, RefsError, store::unwritable};
use loopgate_core::{
    Sha,
    memory::{Folder, MemoryLine},
};

/// Bytes of a file at most.
pub(super) const MOST_BYTES: usize = 256 << 10;
/// A file with less room than this may be followed by another: no line is longer.
const NEARLY_FULL: usize = MOST_BYTES - (32 << 10);
/// Files of a run at most: more than ten attempts a file.
const MOST_FILES: usize = 64;

/// A run's name as a file's: runs are named by states, which others can write.
fn file_name(run: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
    run.chars().take(100).map(plain).collect()
}

fn path(folder: Folder, run: &str, nth: usize) -> String {
    let nth = if nth == 0 { String::new() } else { format!(".{}", nth + 1) };
    format!("{}/{}{nth}.jsonl", folder.as_str(), file_name(run))
}

/// The lines of a run in a commit.
pub(super) async fn read_run<G: GitObjects>(
    objects: &G,
    tip: Option<Sha>,
    folder: Folder,
    run: &str,
) -> Result<Vec<MemoryLine>, RefsError> {
    let mut lines = Vec::new();
    let Some(tip) = tip else { return Ok(lines) };
    for nth in 0..MOST_FILES {
        let Some(bytes) = objects.read_file(tip, &path(folder, run, nth), 2 * MOST_BYTES).await? else { break };
        lines.extend(MemoryLine::read_all(&String::from_utf8_lossy(&bytes)));
        if bytes.len() < NEARLY_FULL {
            break;
        }
    }
    Ok(lines)
}

/// The runs that have files in a folder.
pub(super) async fn runs<G: ListObjects>(objects: &G, tip: Sha, folder: Folder) -> Result<Vec<String>, RefsError> {
    let names = objects.list_folder(tip, folder.as_str()).await?;
    let first = |name: String| name.strip_suffix(".jsonl").filter(|run| !run.contains('.')).map(str::to_owned);
    Ok(names.into_iter().filter_map(first).collect())
}

/// The lines of a run as the files of a folder.
pub(super) fn files(folder: Folder, run: &str, lines: &[&MemoryLine]) -> Result<Vec<(String, String)>, RefsError> {
    let mut files: Vec<(String, String)> = vec![(path(folder, run, 0), String::new())];
    for line in lines {
        let text = line.to_json().map_err(unwritable)?;
        let is_full = files.last().is_some_and(|(_, file)| file.len() + text.len() >= MOST_BYTES);
        if is_full && files.len() < MOST_FILES {
            files.push((path(folder, run, files.len()), String::new()));
        }
        if let Some((_, file)) = files.last_mut().filter(|(_, file)| file.len() + text.len() < MOST_BYTES) {
            file.push_str(&text);
            file.push('\n');
        }
    }
    Ok(files)
}
