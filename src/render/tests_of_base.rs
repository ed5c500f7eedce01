//! Test files that the change edits, run on the head as they were before it: what of them fails then, and what was made of
//! them. Nothing follows from it by itself.

use std::collections::BTreeMap;

use minijinja::{Value, context};

use super::{Markdown, Shown, clip, clip_lines, code, fence, messages, short_text};
use loopgate_core::{
    evidence::{BaseTestRun, ProofEnd},
    observed::{ReceivedEvidence, Snapshot},
    verdict::tamper::Tampering,
};

/// Lines of a file's diff that are shown.
const LINES: usize = 24;
/// Failing tests of a file that are named.
const NAMED: usize = 5;

/// "2 of the 3 test files that are edited here fail as they were:", and what each of them says.
pub(super) fn shown(snapshot: &Snapshot) -> Option<(String, Shown<Markdown>)> {
    let runs = runs(snapshot);
    let failing = runs.values().copied().filter(|run| run.on_head == ProofEnd::Failed);
    let (count, of) = (failing.clone().count(), runs.len());
    let head = messages::plain("base_test", &"head", context! { count, of });
    (count > 0).then(|| (head, Shown::first(10, failing, |run| one(run, snapshot))))
}

/// How a change weakens what checks it, and whether the base's version of that file passes on the head. A person who is
/// asked to accept the change needs both.
pub(super) fn weakened(found: &Tampering, snapshot: &Snapshot) -> Markdown {
    let of_file = |run: &&&BaseTestRun| {
        let file = snapshot.files.known().iter().find(|file| file.paths().any(|path| path == run.file));
        found.path.as_deref().is_some_and(|path| path == run.file || file.is_some_and(|file| file.path == path))
    };
    let as_it_was = match runs(snapshot).values().find(of_file).map(|run| run.on_head) {
        Some(ProofEnd::Failed) => " As it was before, it fails here.",
        Some(ProofEnd::Passed) => " As it was before, it passes here too.",
        Some(ProofEnd::Broken) | None => "",
    };
    short_text(&format!("{found}.{as_it_was}"), 340)
}

/// One of each file, where several jobs have run it.
fn runs(snapshot: &Snapshot) -> BTreeMap<&str, &BaseTestRun> {
    let runs = snapshot.evidence.iter().flat_map(|received| match received {
        ReceivedEvidence::Accepted(evidence) => evidence.base_tests.as_slice(),
        ReceivedEvidence::Refused { .. } => &[],
    });
    runs.map(|run| (run.file.as_str(), run)).collect()
}

fn one(run: &BaseTestRun, snapshot: &Snapshot) -> Markdown {
    let edited = snapshot.files.known().iter().find(|file| file.paths().any(|path| path == run.file));
    let diff = edited.and_then(|file| file.patch.as_deref()).map(|patch| fence("diff", &clip_lines(patch, LINES)));
    let failing = run.failing.iter().map(|name| Value::from(short(name)));
    let model = context! {
        file => short(&run.file),
        command => short(&run.command),
        failing => failing.collect::<Vec<_>>(),
        named => NAMED,
        diff,
    };
    messages::markdown("base_test", &"run", model)
}

/// Whoever wrote the evidence wrote these.
fn short(text: &str) -> Markdown {
    code(&clip(text, 200))
}
