//! SARIF 2.1.0, what scanners write.
//!
//! A result's level is its own, else what its run set for its rule, else the rule's default, else `warning`; suppressed
//! results are none. What a result refers to may stand behind it, so results wait until their run is over; those for which
//! there is no room take what is known by then.

use std::collections::HashMap;

use loopgate_core::evidence::{ErrorType, Finding, FindingSeverity, SourceLocation};
use serde::{Deserialize, Deserializer};

use super::sarif_rules::{Configuration, Held, MessageFields, RuleAt, RuleFields, RuleReference, Rules, Strings, held};
use crate::{
    Unreadable,
    collect::{Collector, IsError},
    json::{Elements, Few, Number, Text, read},
    mark::Mark,
    notes::Flaw,
    severity,
    text::{self, MAX_MESSAGE},
    window::Window,
};

pub(super) const MARK: Mark = Mark::Object(|head, keys| {
    let is_sarif = keys.contains(&"runs") || keys.contains(&"$schema") && head.contains("sarif");
    is_sarif && !is_old_sarif(head)
});

/// Artifacts inside artifacts that are looked at.
const MAX_NESTING: usize = 8;

pub(super) fn parse(window: &mut Window<'_>, out: &mut Collector<'_>) -> Result<(), Unreadable> {
    let mut run = Run { known: Known::default(), waiting: Vec::new(), waiting_held: Held::default(), out };
    let ended = read(window, &mut run);
    // If the document was cut short, results may be waiting still.
    run.end();
    ended
}

/// Whether a text is SARIF of before 2.1, whose results look alike and are not: places and levels stand elsewhere.
pub(crate) fn is_old_sarif(head: &str) -> bool {
    // Behind the runs a version is that of a tool.
    let Some((before, _)) = head.split_once("\"runs\"") else { return false };
    let version =
        before.split_once("\"version\"").map(|(_, rest)| rest.trim_start_matches([':', ' ', '\n', '\r', '\t']));
    let is_old = |version: &str| version.starts_with("\"1.") || version.starts_with("\"2.0");
    version.map_or_else(|| head.contains("sarif-1.0") || head.contains("sarif-2.0"), is_old)
}

/// The run being read.
struct Run<'c, 'o> {
    known: Known,
    waiting: Vec<SarifResult>,
    waiting_held: Held,
    out: &'c mut Collector<'o>,
}

/// What results refer to.
#[derive(Default)]
struct Known {
    rules: Rules,
    artifacts: Vec<Artifact>,
    /// What invocations set for rules that may not be known yet, and how many invocations there were.
    overrides: Vec<(usize, Override)>,
    invocations: usize,
    /// Extensions of the tool that are over.
    extensions: usize,
    /// Levels that invocations set.
    levels: HashMap<(usize, RuleAt), String>,
    held: Held,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Artifact {
    location: Option<ArtifactLocation>,
    /// The archive or the like that it lies in.
    parent_index: Number,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SarifResult {
    rule_id: Text,
    rule_index: Number,
    rule: Option<RuleReference>,
    level: Text,
    kind: Text,
    baseline_state: Text,
    message: Option<MessageFields>,
    locations: Few<Location, 1>,
    suppressions: Few<Suppression, 64>,
    provenance: Option<Provenance>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Provenance {
    invocation_index: Number,
}

#[derive(Deserialize)]
struct Suppression {
    #[serde(default)]
    status: Text,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Location {
    physical_location: Option<PhysicalLocation>,
    logical_locations: Few<LogicalLocation, 1>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: Option<ArtifactLocation>,
    region: Option<Region>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ArtifactLocation {
    uri: Text,
    index: Number,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Region {
    start_line: Number,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LogicalLocation {
    fully_qualified_name: Text,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Override {
    descriptor: Option<RuleReference>,
    configuration: Option<Configuration>,
}

impl Elements for Run<'_, '_> {
    fn paths(&self) -> &'static [&'static str] {
        &[
            "runs[].results[]",
            "runs[].artifacts[]",
            "runs[].invocations[].executionSuccessful",
            "runs[].invocations[].ruleConfigurationOverrides[]",
            "runs[].tool.driver.rules[]",
            "runs[].tool.driver.globalMessageStrings",
            "runs[].tool.extensions[].rules[]",
            "runs[].tool.extensions[].globalMessageStrings",
            "runs[].tool.extensions[].guid",
            "runs[].tool.extensions[].name",
        ]
    }

    fn take<'de, D: Deserializer<'de>>(&mut self, path: usize, value: D) -> Result<(), D::Error> {
        let known = &mut self.known;
        match path {
            0 => {
                let result = SarifResult::deserialize(value)?;
                if result.is_told() {
                    let waits = self.waiting_held.add(result.size());
                    if waits { self.waiting.push(result) } else { self.result(result) }
                }
            }
            1 => {
                let artifact = Artifact::deserialize(value)?;
                let uri = artifact.location.iter().map(|location| &location.uri);
                if known.held.add(size_of::<Artifact>() + held(uri)) {
                    known.artifacts.push(artifact);
                }
            }
            2 => {
                if Option::deserialize(value)? == Some(false) {
                    self.out.notes.flaw(Flaw::ToolFailed, || "invocations[].executionSuccessful is false");
                }
            }
            3 => {
                let set = Override::deserialize(value)?;
                let texts = set.descriptor.iter().flat_map(RuleReference::texts);
                if known.held.add(size_of::<Override>() + held(texts)) {
                    known.overrides.push((known.invocations, set));
                }
            }
            4 => known.rules.rule(0, RuleFields::deserialize(value)?),
            5 => known.rules.strings(0, Strings::deserialize(value)?),
            6 => known.rules.rule(1 + known.extensions, RuleFields::deserialize(value)?),
            7 => known.rules.strings(1 + known.extensions, Strings::deserialize(value)?),
            name => known.rules.name(1 + known.extensions, name == 8, Text::deserialize(value)?),
        }
        Ok(())
    }

    fn leave(&mut self, path: &str) {
        match path {
            "runs[].tool.extensions[]" => self.known.extensions += 1,
            "runs[].invocations[]" => self.known.invocations += 1,
            "runs[]" => self.end(),
            _ => {}
        }
    }
}

impl Known {
    /// The level of a rule, where an invocation may have set another than its own.
    fn level(&mut self, at: RuleAt, invocation: usize) -> Option<String> {
        for (invocation, set) in std::mem::take(&mut self.overrides) {
            let level = set.configuration.and_then(Configuration::level);
            let at = set.descriptor.and_then(|descriptor| self.rules.find(&descriptor));
            self.levels.extend(at.zip(level).map(|(at, level)| ((invocation, at), level)));
        }
        let own = || self.rules.get(at).and_then(|rule| rule.level.as_ref());
        self.levels.get(&(invocation, at)).or_else(own).cloned()
    }
}

impl Run<'_, '_> {
    /// Nothing more of the run follows.
    fn end(&mut self) {
        for result in std::mem::take(&mut self.waiting) {
            self.result(result);
        }
        (self.known, self.waiting_held) = Default::default();
    }

    fn result(&mut self, result: SarifResult) {
        let location = result.location(&self.known.artifacts);
        // SARIF 2.1.0, 3.27.10: what is not said to have failed has no level by default.
        let is_review = result.level.0.is_none() && result.kind().is_some_and(|kind| kind != "fail");
        let mut reference = result.rule.unwrap_or_default();
        reference.id = if result.rule_id.0.is_some() { result.rule_id } else { reference.id };
        reference.index = if result.rule_index.0.is_some() { result.rule_index } else { reference.index };
        let at = self.known.rules.find(&reference);
        let invocation = result.provenance.and_then(|provenance| provenance.invocation_index.index()).unwrap_or(0);
        let level = match result.level.0 {
            None if is_review => Some("none".to_owned()),
            None => at.and_then(|at| self.known.level(at, invocation)),
            own => own,
        };
        let level = level.map_or_else(|| "warning".to_owned(), |level| level.to_lowercase());
        let rule = at.and_then(|at| self.known.rules.get(at));
        let id = reference.id.0.or_else(|| rule.map(|rule| rule.id.clone())).unwrap_or_default();
        let (by_level, is_error) = match level.as_str() {
            "error" => (FindingSeverity::High, IsError::Yes(ErrorType::LintError)),
            "warning" => (FindingSeverity::Medium, IsError::No),
            "note" => (FindingSeverity::Low, IsError::No),
            "none" => (FindingSeverity::Note, IsError::No),
            _ => {
                self.out.notes.flaw(Flaw::UnknownResult, || format!("level {level:?}"));
                (FindingSeverity::Medium, IsError::No)
            }
        };
        if location.is_none() {
            self.out.notes.flaw(Flaw::NoLocation, || format!("a result of {id:?}"));
        }
        let message = self.known.rules.text(&result.message.unwrap_or_default(), at).unwrap_or_default();
        let score = rule.and_then(|rule| rule.score).filter(|_| !is_review);
        let finding = Finding {
            rule: text::name(&id),
            severity: score.map_or(by_level, severity::of_score),
            message: text::clipped(&message, MAX_MESSAGE),
            location,
        };
        self.out.diagnostic(finding, is_error, None);
    }
}

impl SarifResult {
    fn kind(&self) -> Option<String> {
        self.kind.0.as_ref().map(|kind| kind.to_lowercase())
    }

    /// Whether it says that something may be wrong.
    fn is_told(&self) -> bool {
        let is_finding = matches!(self.kind().as_deref(), None | Some("fail" | "open" | "review"));
        is_finding && !is_suppressed(&self.suppressions.0) && self.baseline_state.0.as_deref() != Some("absent")
    }

    fn artifact(&self) -> Option<&ArtifactLocation> {
        self.locations.0.first()?.physical_location.as_ref()?.artifact_location.as_ref()
    }

    fn size(&self) -> usize {
        let message = self.message.iter().flat_map(MessageFields::texts);
        let names = self.locations.0.iter().flat_map(|location| &location.logical_locations.0);
        let place = self.artifact().map(|artifact| &artifact.uri).into_iter();
        let place = place.chain(names.map(|name| &name.fully_qualified_name));
        let own = [&self.rule_id, &self.level, &self.kind, &self.baseline_state].into_iter();
        let own = own.chain(self.suppressions.0.iter().map(|suppression| &suppression.status));
        let rule = self.rule.iter().flat_map(RuleReference::texts);
        size_of::<Self>() + size_of::<Location>() + held(own.chain(rule).chain(message).chain(place))
    }

    fn location(&self, artifacts: &[Artifact]) -> Option<SourceLocation> {
        let location = self.locations.0.first()?;
        let artifact = self.artifact()?;
        let by_index = || {
            let first = artifacts.get(artifact.index.index()?);
            let parent = |inner: &&Artifact| artifacts.get(inner.parent_index.index()?);
            let mut outwards = std::iter::successors(first, parent).take(MAX_NESTING);
            outwards.find_map(|artifact| artifact.location.as_ref()?.uri.0.as_ref())
        };
        let uri = artifact.uri.0.as_ref().or_else(by_index).filter(|uri| !uri.is_empty())?;
        let region = location.physical_location.as_ref()?.region.as_ref();
        let name = location.logical_locations.0.first().and_then(|place| place.fully_qualified_name.0.as_ref());
        Some(SourceLocation {
            file: text::path(&path_of_uri(uri)),
            line: region.and_then(|region| region.start_line.line()),
            function: name.map(|name| text::name(name)),
        })
    }
}

/// SARIF 2.1.0, 3.27.23: a result is suppressed unless one of its suppressions is not (yet) accepted.
fn is_suppressed(suppressions: &[Suppression]) -> bool {
    let accepted = |suppression: &Suppression| matches!(suppression.status.0.as_deref(), None | Some("accepted"));
    !suppressions.is_empty() && suppressions.iter().all(accepted)
}

/// `file:///repo/a%20b.c` → `/repo/a b.c`; `src/a.c` stays.
fn path_of_uri(uri: &str) -> String {
    let path = uri.strip_prefix("file://").unwrap_or(uri);
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let escaped = match (byte, after) {
            (b'%', [high, low, ..]) => hex::decode([*high, *low]).ok().and_then(|decoded| decoded.first().copied()),
            _ => None,
        };
        bytes.push(escaped.unwrap_or(*byte));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris() {
        let table =
            [("src/a.c", "src/a.c"), ("file:///repo/a%20b.c", "/repo/a b.c"), ("100%", "100%"), ("%zz%C3%A9", "%zzé")];
        for (uri, path) in table {
            assert_eq!(path_of_uri(uri), path);
        }
    }

    #[test]
    fn suppressions() {
        let of = |statuses: &[Option<&str>]| {
            let suppression = |status: &Option<&str>| Suppression { status: Text(status.map(str::to_owned)) };
            is_suppressed(&statuses.iter().map(suppression).collect::<Vec<_>>())
        };
        assert!(!of(&[]));
        assert!(of(&[None]));
        assert!(of(&[Some("accepted"), None]));
        assert!(!of(&[None, Some("underReview")]));
        assert!(!of(&[Some("rejected")]));
    }
}
