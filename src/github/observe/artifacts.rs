//! Evidence artifacts: archives that a pull request's own code may have produced.
//!
//! Nothing in one is believed before its size, its shape and its origin are checked, and nothing of it is ever written
//! to disk. The allow-list of workflow files proves where evidence comes from, not that it is true. An edit of such a
//! file opens the security gate.

mod cost;

use std::{
    collections::BTreeMap,
    io::{self, Cursor, Read as _},
};

use zip::ZipArchive;

use loopgate_core::{
    RepoName, Sha,
    concerns::coverage,
    evidence::{EVIDENCE_SCHEMA, Evidence, consistent},
    observed::WorkflowRun,
};

/// Names of evidence artifacts begin with this.
pub(in crate::github) const PREFIX: &str = "loopgate-evidence";
/// Bytes of an archive at most.
pub(in crate::github) const ARCHIVE_LIMIT: usize = 8 << 20;
/// The one entry that is read.
const ENTRY: &str = "evidence.json";
/// Bytes of that entry at most, unpacked.
const ENTRY_LIMIT: u64 = 16 << 20;
/// Entries of an archive at most.
const MOST_ENTRIES: usize = 100;
/// Bytes that all documents of one head take at most once they are read.
pub(in crate::github) const HEAD_LIMIT: usize = 16 << 20;

/// The one entry of an archive that counts, not unpacked yet. Errors are sentences for people.
pub(in crate::github) struct PackedEvidence<'a> {
    archive: ZipArchive<Cursor<&'a [u8]>>,
    /// The unpacked size in bytes that the archive declares.
    pub size: usize,
}

impl<'a> PackedEvidence<'a> {
    pub fn of(archive: &'a [u8]) -> Result<Self, String> {
        let too_large = || {
            format!(
                "it is larger than {} MB packed or {} MB unpacked",
                ARCHIVE_LIMIT >> 20,
                ENTRY_LIMIT >> 20
            )
        };
        if archive.len() > ARCHIVE_LIMIT {
            return Err(too_large());
        }
        let mut archive = open(archive, MOST_ENTRIES)?;
        // Of a link, a folder and what is encrypted nothing is read.
        let entry = archive.by_name(ENTRY).ok().filter(|entry| entry.is_file());
        let entry = entry.ok_or_else(|| format!("it holds no readable {ENTRY}"))?;
        if entry.size() > ENTRY_LIMIT {
            return Err(too_large());
        }
        let size = usize::try_from(entry.size()).map_err(|_| too_large())?;
        drop(entry);
        Ok(Self { archive, size })
    }

    /// Unpacks the document, with the number of bytes that it takes once it is read. It fails if the document is larger
    /// than the archive declares.
    pub fn unpack(mut self) -> Result<(Vec<u8>, usize), String> {
        let mut entry = self
            .archive
            .by_name(ENTRY)
            .map_err(|_| format!("it holds no readable {ENTRY}"))?;
        let bytes =
            inflate(&mut entry, self.size as u64)?.ok_or("it unpacks to more than it says")?;
        let cost = cost::of(&bytes);
        if cost > HEAD_LIMIT {
            return Err(format!(
                "it takes more than {} MB of memory once it is read",
                HEAD_LIMIT >> 20
            ));
        }
        Ok((bytes, cost))
    }
}

/// Reads a document of the head's evidence, and checks that it belongs to the workflow run that uploaded it, of the
/// commit `run_head`. The error is a sentence for people.
pub(in crate::github) fn read(
    document: &[u8],
    (repository, head): (&RepoName, Sha),
    (run, run_head): (&WorkflowRun, Sha),
) -> Result<Evidence, String> {
    let evidence: Evidence = serde_json::from_slice(document).map_err(|error| {
        format!("{ENTRY} does not follow the schema {EVIDENCE_SCHEMA}: {error}")
            .chars()
            .take(300)
            .collect::<String>()
    })?;
    if evidence.schema != EVIDENCE_SCHEMA {
        return Err(format!("its schema is not {EVIDENCE_SCHEMA}"));
    }
    if &evidence.repository != repository {
        return Err("it is about another repository".into());
    }
    if evidence.head_sha != head {
        let (about, head) = (evidence.head_sha.short(), head.short());
        return Err(format!(
            "it is about commit {about}, not about the head {head}"
        ));
    }
    if run_head != head {
        let (run, head) = (run_head.short(), head.short());
        return Err(format!(
            "its workflow run is of commit {run}, not of the head {head}"
        ));
    }
    let Some(workflow) = &evidence.workflow else {
        return Err("it does not say which workflow run it comes from".into());
    };
    if workflow.run_id != run.id || normalise(&workflow.path, repository) != run.path {
        return Err("it names another workflow run than the one that uploaded it".into());
    }
    if !(1..=run.attempt).contains(&workflow.run_attempt) {
        return Err(format!(
            "it names attempt {} of a run with {}",
            workflow.run_attempt, run.attempt
        ));
    }
    consistent(&evidence)?;
    if let Some(coverage) = &evidence.coverage {
        coverage::validate(coverage)
            .map_err(|impossible| format!("its coverage cannot be: {impossible}"))?;
    }
    Ok(evidence)
}

/// How much an archive may hold.
#[derive(Debug, Clone, Copy)]
pub(in crate::github) struct ArchiveLimits {
    pub entries: usize,
    /// Unpacked.
    pub bytes_each: u64,
    /// Of all entries, unpacked.
    pub bytes: u64,
}

/// All files of an archive that are text, by name.
pub(in crate::github) fn unpack_each(
    archive: &[u8],
    limits: ArchiveLimits,
) -> Result<BTreeMap<String, String>, String> {
    let mut archive = open(archive, limits.entries)?;
    let (mut files, mut left) = (BTreeMap::new(), limits.bytes);
    for place in 0..archive.len() {
        let mut entry = archive
            .by_index(place)
            .map_err(|error| format!("it cannot be unpacked: {error}"))?;
        if !entry.is_file() {
            continue;
        }
        let name = entry
            .name()
            .map_err(|error| format!("it holds a file without a readable name: {error}"))?
            .into_owned();
        let Some(bytes) = inflate(&mut entry, limits.bytes_each.min(left))? else {
            return Err("it holds more than it may".to_owned());
        };
        left -= bytes.len() as u64;
        if let Ok(text) = String::from_utf8(bytes) {
            files.insert(name, text);
        }
    }
    Ok(files)
}

/// An archive whose names are plain and each there once.
fn open(archive: &[u8], most_entries: usize) -> Result<ZipArchive<Cursor<&[u8]>>, String> {
    let archive = ZipArchive::new(Cursor::new(archive))
        .map_err(|error| format!("it is no zip archive: {error}"))?;
    if archive.len() > most_entries {
        return Err(format!("it holds more than {most_entries} files"));
    }
    if archive.has_duplicate_names() {
        return Err("it holds two files of the same name".into());
    }
    // A relative path that stays where it is unpacked.
    let is_plain = |name: &str| {
        !name.starts_with('/')
            && !name.contains(['\\', '\0', ':'])
            && name
                .trim_end_matches('/')
                .split('/')
                .all(|part| !matches!(part, "" | "." | ".."))
    };
    for name in archive.file_names() {
        let name =
            name.map_err(|error| format!("it holds a file without a readable name: {error}"))?;
        if !is_plain(&name) {
            let shown: String = name.chars().take(60).flat_map(char::escape_debug).collect();
            return Err(format!("it holds a file named `{shown}`"));
        }
    }
    Ok(archive)
}

/// What an entry unpacks to; none if that is more than `limit` bytes. The size an entry declares is its author's claim,
/// so it is counted while it is unpacked.
fn inflate(entry: &mut impl io::Read, limit: u64) -> Result<Option<Vec<u8>>, String> {
    let mut document = Vec::new();
    match entry.take(limit + 1).read_to_end(&mut document) {
        Ok(_) => Ok((document.len() as u64 <= limit).then_some(document)),
        Err(error) => Err(format!("it cannot be unpacked: {error}")),
    }
}

/// A workflow file's path without `@ref`, and without `owner/name/` where that is this repository. A file of another
/// repository (a required workflow of the organisation) keeps its whole name, so that the two are never mixed up.
pub(in crate::github) fn normalise(path: &str, repository: &RepoName) -> String {
    let path = path.split_once('@').map_or(path, |(path, _)| path);
    let mut parts = path.splitn(3, '/');
    if let (Some(owner), Some(name), Some(rest)) = (parts.next(), parts.next(), parts.next())
        && rest.starts_with(".github/")
        && format!("{owner}/{name}")
            .parse::<RepoName>()
            .is_ok_and(|of| &of == repository)
    {
        return rest.to_owned();
    }
    path.trim_start_matches("./").to_owned()
}

/// Of evidence for the same job of a matrix only the newest counts: the later run, then its later attempt. A job that
/// verifies several times in one attempt brings several documents, and all of them count.
pub(in crate::github) fn newest_of_each(accepted: Vec<Evidence>) -> Vec<Evidence> {
    type MatrixJob = (String, String, Option<String>);
    let matrix_job = |evidence: &Evidence| -> Option<MatrixJob> {
        let workflow = evidence.workflow.clone();
        workflow.map(|workflow| (workflow.path, workflow.job, workflow.matrix))
    };
    let age = |evidence: &Evidence| {
        evidence
            .workflow
            .as_ref()
            .map(|workflow| (workflow.run_id, workflow.run_attempt))
    };
    let mut newest = BTreeMap::new();
    for evidence in &accepted {
        let known = newest.entry(matrix_job(evidence)).or_insert(age(evidence));
        *known = (*known).max(age(evidence));
    }
    let counts = |evidence: &Evidence| newest.get(&matrix_job(evidence)) == Some(&age(evidence));
    accepted.into_iter().filter(counts).collect()
}

#[cfg(test)]
mod tests;
