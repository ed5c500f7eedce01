//! Whether a pull request triggers a gate, and what in it does.
//!
//! `rules` asks the rules of a preset, `conditions` what a configuration says itself.

mod conditions;
mod copies;
mod diff;
mod locks;
mod manifests;
mod pins;
mod reading;
mod rules;
mod scripts;

use std::{cell::OnceCell, collections::BTreeSet, sync::Arc};

use sha2::{Digest as _, Sha256};

use self::{diff::Diff, reading::FileReading, rules::RuleHit};
use super::report::{MatchReason, TriggerMatch};
use crate::{
    evidence::Finding,
    observed::{
        ChangedFile, ChangedFiles, ContentDigest, FileAt, FileStatus, Recallable, Snapshot,
    },
    policy::{GatePolicy, GateTrigger, Policy, RuleBook},
    source_files::FileKind,
    untrusted::without_secrets,
};

/// Matches kept of one gate; the rest are counted.
pub const MATCHES_KEPT: usize = 50;
/// Matches kept of one file, so that one file does not crowd out the others.
const KEPT_PER_FILE: usize = 5;
/// Bytes of each digest of a gate's own diff.
const DIGEST_LENGTH: usize = 20;
/// Files whose texts are read for one pull request, so that a large one costs no more than others.
const MOST_FILES_READ: usize = 20;
/// Characters of a matching line that are shown.
const EXCERPT: usize = 160;

/// Why a gate applies, and to which part of the diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Opening {
    pub(super) matches: Vec<TriggerMatch>,
    pub(super) not_kept: usize,
    pub(super) scope: Scope,
    /// Something was found. If not, what could not be read may hold it, which opens the gate too.
    is_certain: bool,
}

impl Opening {
    fn new(scope: Scope, matches: Vec<TriggerMatch>) -> Self {
        let is_unread = |found: &TriggerMatch| {
            matches!(
                found.reason,
                MatchReason::Unreadable | MatchReason::TooLarge
            )
        };
        let is_certain = !matches.iter().all(is_unread);
        Self {
            matches,
            not_kept: 0,
            scope,
            is_certain,
        }
    }

    /// A gate that applies whatever changed.
    pub(super) fn whole(reason: MatchReason) -> Self {
        Self::new(
            Scope::Whole,
            vec![TriggerMatch {
                file: None,
                line: None,
                reason,
            }],
        )
    }

    fn file(index: usize, matches: Vec<TriggerMatch>) -> Self {
        Self::new(Scope::Files(BTreeSet::from([index])), matches)
    }

    pub(super) fn and(mut self, other: Self) -> Self {
        self.is_certain |= other.is_certain;
        self.not_kept += other.not_kept;
        for found in other.matches {
            // A condition on the whole pull request adds one match at most, and labels must be remembered.
            let is_condition =
                found.file.is_none() && !matches!(found.reason, MatchReason::Finding { .. });
            if is_condition || self.matches.len() < MATCHES_KEPT {
                self.matches.push(found);
            } else {
                self.not_kept += 1;
            }
        }
        match (&mut self.scope, other.scope) {
            (Scope::Files(files), Scope::Files(more)) => files.extend(more),
            (scope, Scope::Whole) => *scope = Scope::Whole,
            (Scope::Whole, Scope::Files(_)) => {}
        }
        self
    }
}

/// The part of the diff that is a gate's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Whole,
    /// Indices into the changed files.
    Files(BTreeSet<usize>),
}

impl Scope {
    /// Both names of each file in it.
    pub(super) fn paths(&self, all: &[ChangedFile]) -> Vec<String> {
        self.files(all)
            .into_iter()
            .flat_map(|file| file.paths())
            .map(str::to_owned)
            .collect()
    }

    /// The files in it.
    pub(super) fn files<'a>(&self, all: &'a [ChangedFile]) -> Vec<&'a ChangedFile> {
        match self {
            Self::Whole => all.iter().collect(),
            Self::Files(indices) => indices.iter().filter_map(|&index| all.get(index)).collect(),
        }
    }

    /// Digests of a gate's own diff, `FILES/BLOBS` in hex: one of the names of the files and of what happened to each,
    /// and one of their blobs at the head.
    ///
    /// Between two heads with the same merge base, equal digests are equal diffs. After a rebase, or a merge of the
    /// base, only the files can be compared so; `gate::assess` compares what stands in them.
    pub(super) fn fingerprint(&self, snapshot: &Snapshot) -> String {
        let mut changed = self.files(snapshot.files.known());
        changed.sort_by(|a, b| a.path.cmp(&b.path));
        let (mut files, mut blobs) = (Sha256::new(), Sha256::new());
        for file in changed {
            // Each name is preceded by its length, so that no two lists of names read alike.
            for part in [
                &*file.path,
                file.previous_path.as_deref().unwrap_or_default(),
                file.status.as_str(),
            ] {
                files.update((part.len() as u64).to_be_bytes());
                files.update(part.as_bytes());
            }
            // Of a file that is there and has no blob nothing is known: it may change with any push.
            let is_there = file.status != FileStatus::Removed;
            let blob = file
                .blob
                .or(is_there.then_some(snapshot.pull_request.head.sha));
            blobs.update(blob.map_or([0; 20], |blob| *blob.as_bytes()));
        }
        if matches!(
            (&snapshot.files, self),
            (ChangedFiles::TooLarge { .. }, Self::Whole)
        ) {
            // What was not listed may have changed with any push.
            files.update(snapshot.pull_request.head.sha.as_bytes());
        }
        let hex = |digest: Sha256| hex::encode(&digest.finalize()[..DIGEST_LENGTH]);
        format!("{}/{}", hex(files), hex(blobs))
    }
}

/// What the gates of a pull request are asked about, read once for all of them.
pub(super) struct ReadDiff<'a> {
    pub(super) snapshot: &'a Snapshot,
    findings: &'a [Finding],
    diff: Diff<'a>,
    digest: OnceCell<ContentDigest>,
    /// In the order of the changed files; read where what is known of the diff does not answer.
    files: OnceCell<Vec<FileReading<'a>>>,
    extent: OnceCell<Arc<Extent>>,
    hits: OnceCell<Arc<Box<[RuleHit]>>>,
}

/// How much of a diff there is to look at.
struct Extent {
    /// Changed lines.
    lines: usize,
    /// The files, by their indices, in which lines may change that are not shown.
    unreadable: BTreeSet<usize>,
}

impl Recallable for Extent {
    fn size(&self) -> usize {
        size_of::<Self>() + self.unreadable.len() * size_of::<usize>()
    }
}

impl<'a> ReadDiff<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, findings: &'a [Finding]) -> Self {
        Self {
            snapshot,
            findings,
            diff: Diff::of(snapshot),
            digest: OnceCell::new(),
            files: OnceCell::new(),
            extent: OnceCell::new(),
            hits: OnceCell::new(),
        }
    }

    /// Stands for the diff.
    fn digest(&self) -> ContentDigest {
        *self.digest.get_or_init(|| ContentDigest::of(&self.diff))
    }

    fn files(&self) -> &[FileReading<'a>] {
        let read = || {
            let files = self.diff.files.known().iter();
            files
                .map(|file| FileReading::new(file, &self.diff))
                .collect()
        };
        self.files.get_or_init(read)
    }

    fn extent(&self) -> &Extent {
        let read = || Extent {
            lines: self.files().iter().map(|file| file.lines.len()).sum(),
            unreadable: (0..)
                .zip(self.files())
                .filter(|(_, file)| file.is_unreadable)
                .map(|(index, _)| index)
                .collect(),
        };
        self.extent
            .get_or_init(|| self.snapshot.readings.recall(&self.digest(), read))
    }

    /// How many files and changed lines the rules look at.
    pub(super) fn looked_at(&self) -> (usize, usize) {
        (self.diff.files.known().len(), self.extent().lines)
    }

    /// What the rules of a book find.
    fn hits(&self, book: &RuleBook) -> &[RuleHit] {
        let content = (self.digest(), &book.rules);
        let read = || rules::hits(book, &self.diff, self.files()).into_boxed_slice();
        self.hits
            .get_or_init(|| self.snapshot.readings.recall(&content, read))
    }

    /// What opens the gate, if anything does. `remembered` are the labels that opened it before: taking one away does
    /// not close it again.
    pub(super) fn triggered(
        &self,
        policy: &GatePolicy,
        remembered: &BTreeSet<String>,
    ) -> Option<Opening> {
        let found = self.evaluate(&policy.trigger, remembered)?;
        Some(if found.matches.is_empty() {
            Opening::whole(MatchReason::NotExcluded)
        } else {
            found
        })
    }

    /// Suspects that do not open the gate: fewer than two.
    pub(super) fn suspects(&self, policy: &GatePolicy) -> Vec<TriggerMatch> {
        let conditions = policy.trigger.conditions().into_iter();
        let matches = conditions.flat_map(|condition| match condition {
            GateTrigger::Rules(rules) => self.rule_matches(rules),
            _ => Vec::new(),
        });
        matches.map(|(_, found)| found).collect()
    }
}

/// The files whose whole texts the gates need, at [`Snapshot::merge_base`] and at the head, before they can be
/// assessed: where a patch is missing, or does not show which lines are code. At most 20 files of a pull request.
pub(crate) fn files_to_read(snapshot: &Snapshot, policy: &Policy) -> BTreeSet<FileAt> {
    let conditions: Vec<_> = policy
        .gates
        .values()
        .flat_map(|gate| gate.trigger.conditions())
        .collect();
    let reads_lines_of = |file: &ChangedFile, kinds: &[FileKind; 2]| {
        conditions.iter().any(|condition| match condition {
            GateTrigger::Rules(rules) => rules.reads_lines_of(&file.path, kinds),
            GateTrigger::AddedLines(_) | GateTrigger::RemovedLines(_) => true,
            _ => false,
        })
    };
    // Both texts of a lock file show which of its sources are new.
    let is_compared = |file: &ChangedFile| {
        (manifests::is_lock_file(&file.path) || pins::may_pin(&file.path))
            && !reading::has_no_change(file)
    };
    let is_read = |file: &&ChangedFile| {
        let kinds = reading::kinds(file);
        let needs_texts = || reading::needs_texts(file, kinds, file.read_patch().as_ref());
        reads_lines_of(file, &kinds) && (needs_texts() || is_compared(file))
    };
    let diff = Diff::of(snapshot);
    let files = snapshot
        .files
        .known()
        .iter()
        .filter(is_read)
        .take(MOST_FILES_READ);
    let mut all: BTreeSet<FileAt> = files
        .flat_map(|file| diff.sides(file).into_iter().flatten())
        .collect();
    let goes_by_rules = |condition: &&GateTrigger| matches!(condition, GateTrigger::Rules(_));
    if conditions.iter().any(goes_by_rules) {
        all.extend(scripts::workflows_to_read(
            snapshot,
            &policy.verify.workflows,
        ));
    }
    all
}

/// Why a gate applies to a pull request; empty when it does not. Labels that were taken away are not known here.
pub fn matches(
    policy: &GatePolicy,
    snapshot: &Snapshot,
    findings: &[Finding],
) -> Vec<TriggerMatch> {
    ReadDiff::new(snapshot, findings)
        .triggered(policy, &BTreeSet::new())
        .map(|found| found.matches)
        .unwrap_or_default()
}

/// Files that govern gates themselves (configuration, code owners, workflows). A pull request that edits one opens the
/// security gate, whatever the gate's own trigger says.
pub(super) fn governing(snapshot: &Snapshot, workflows: &[String]) -> Option<Opening> {
    const FILES: [&str; 5] = [
        ".github/loopgate.yml",
        ".github/CODEOWNERS",
        "CODEOWNERS",
        "docs/CODEOWNERS",
        ".github/loopgate/",
    ];
    let governs = |path: &str| {
        let known =
            |known: &&str| path == *known || known.ends_with('/') && path.starts_with(*known);
        if FILES.iter().any(known) {
            return Some("a_file_that_governs_gates");
        }
        let is_followed = workflows.iter().any(|workflow| workflow == path);
        is_followed.then_some("a_workflow_whose_jobs_are_checks")
    };
    let files = snapshot
        .files
        .known()
        .iter()
        .enumerate()
        .filter_map(|(index, file)| {
            let mut paths = file.paths();
            let (path, name) = paths.find_map(|path| Some((path, governs(path)?)))?;
            let reason = MatchReason::Path {
                name: name.parse().ok(),
                glob: Some(path.to_owned()),
            };
            Some(Opening::file(index, vec![in_file(file, None, reason)]))
        });
    files.reduce(Opening::and)
}

fn in_file(file: &ChangedFile, line: Option<u32>, reason: MatchReason) -> TriggerMatch {
    TriggerMatch {
        file: Some(file.path.clone()),
        line,
        reason,
    }
}

fn excerpt(text: &str) -> String {
    without_secrets(text).chars().take(EXCERPT).collect()
}

#[cfg(test)]
mod rules_tests;
#[cfg(test)]
mod tests;
