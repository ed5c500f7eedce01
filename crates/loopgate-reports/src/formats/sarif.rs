//! SARIF 2.1.0, what scanners write.
//!
//! A result's level is its own, else its rule's default, else `warning`; suppressed results are none. Rules may stand
//! behind the results that need them; results then wait until their run is over.

use std::collections::HashMap;

use loopgate_core::evidence::{ErrorType, Finding, FindingSeverity, SourceLocation};
use serde::{Deserialize, de::MapAccess};

use crate::{
    Unreadable,
    collect::{Collector, IsError},
    json::{First, Keys, Member, Number, Text, read_object},
    mark::Mark,
    notes::Flaw,
    severity,
    text::{self, MAX_MESSAGE, MAX_NAME},
    window::Window,
};

pub(super) const MARK: Mark = Mark::Object(|head, keys| {
    let is_sarif = keys.contains(&"runs") || keys.contains(&"$schema") && head.contains("sarif");
    is_sarif && !is_old_sarif(head)
});

/// Rules of a run that are remembered.
const MAX_RULES: usize = 20_000;
/// Results that wait for their rules; further ones are taken without.
const MAX_WAITING: usize = 10_000;

pub(super) fn parse(window: &mut Window<'_>, out: &mut Collector<'_>) -> Result<(), Unreadable> {
    let mut runs = Run { rules: HashMap::new(), driver: Vec::new(), tool_seen: false, waiting: Vec::new(), out };
    let ended = read_object(window, &mut Document(&mut runs));
    // If the document was cut short, results may be waiting still.
    runs.end();
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

struct Document<'a, 'c, 'o>(&'a mut Run<'c, 'o>);

impl Keys for Document<'_, '_, '_> {
    fn key<'de, A: MapAccess<'de>>(&mut self, key: &str, member: Member<'_, A>) -> Result<(), A::Error> {
        match key {
            "runs" => member.objects(self.0),
            _ => member.skip(),
        }
    }
}

/// The run being read.
struct Run<'c, 'o> {
    rules: HashMap<String, Rule>,
    /// Ids of the driver's rules in order, for results that give an index only.
    driver: Vec<String>,
    tool_seen: bool,
    waiting: Vec<SarifResult>,
    out: &'c mut Collector<'o>,
}

#[derive(Clone, Default)]
struct Rule {
    level: Option<String>,
    /// CVSS-like score, as GitHub reads it from the properties.
    score: Option<f64>,
    text: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RuleFields {
    id: Text,
    default_configuration: Option<Configuration>,
    properties: Option<Properties>,
    short_description: Option<MessageFields>,
}

#[derive(Deserialize)]
struct Configuration {
    #[serde(default)]
    level: Text,
}

#[derive(Deserialize)]
struct Properties {
    #[serde(default, rename = "security-severity")]
    security_severity: Number,
}

#[derive(Deserialize)]
struct MessageFields {
    #[serde(default)]
    text: Text,
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
    locations: First<Location>,
    suppressions: Vec<Suppression>,
}

#[derive(Deserialize)]
struct RuleReference {
    #[serde(default)]
    id: Text,
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
    logical_locations: First<LogicalLocation>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: Option<ArtifactLocation>,
    region: Option<Region>,
}

#[derive(Deserialize)]
struct ArtifactLocation {
    #[serde(default)]
    uri: Text,
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

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Invocation {
    execution_successful: Option<bool>,
}

impl Keys for Run<'_, '_> {
    fn begin(&mut self) {
        self.rules.clear();
        self.driver.clear();
        self.tool_seen = false;
    }

    fn key<'de, A: MapAccess<'de>>(&mut self, key: &str, member: Member<'_, A>) -> Result<(), A::Error> {
        match key {
            "tool" => {
                member.object(&mut Tool(self))?;
                self.tool_seen = true;
                Ok(())
            }
            "results" => member.each(|result: SarifResult| {
                let waits = !self.tool_seen && self.waiting.len() < MAX_WAITING;
                if waits { self.waiting.push(result) } else { self.result(result) }
            }),
            "invocations" => member.each(|invocation: Invocation| {
                if invocation.execution_successful == Some(false) {
                    self.out.notes.flaw(Flaw::ToolFailed, || "invocations[].executionSuccessful is false");
                }
            }),
            _ => member.skip(),
        }
    }

    fn end(&mut self) {
        for result in std::mem::take(&mut self.waiting) {
            self.result(result);
        }
    }
}

struct Tool<'a, 'c, 'o>(&'a mut Run<'c, 'o>);

impl Keys for Tool<'_, '_, '_> {
    fn key<'de, A: MapAccess<'de>>(&mut self, key: &str, member: Member<'_, A>) -> Result<(), A::Error> {
        match key {
            "driver" => member.object(&mut Component { run: self.0, is_driver: true }),
            "extensions" => member.objects(&mut Component { run: self.0, is_driver: false }),
            _ => member.skip(),
        }
    }
}

struct Component<'a, 'c, 'o> {
    run: &'a mut Run<'c, 'o>,
    is_driver: bool,
}

impl Keys for Component<'_, '_, '_> {
    fn key<'de, A: MapAccess<'de>>(&mut self, key: &str, member: Member<'_, A>) -> Result<(), A::Error> {
        match key {
            "rules" => member.each(|rule: RuleFields| self.rule(rule)),
            _ => member.skip(),
        }
    }
}

impl Component<'_, '_, '_> {
    fn rule(&mut self, rule: RuleFields) {
        let Some(id) = rule.id.0.filter(|id| id.len() <= MAX_NAME && self.run.rules.len() < MAX_RULES) else { return };
        if self.is_driver {
            self.run.driver.push(id.clone());
        }
        let known = Rule {
            level: rule.default_configuration.and_then(|configuration| configuration.level.0),
            score: rule.properties.and_then(|properties| properties.security_severity.0),
            text: rule.short_description.and_then(|message| message.text.0).map(|text| text::clipped(&text, 500)),
        };
        self.run.rules.insert(id, known);
    }
}

impl Run<'_, '_> {
    fn result(&mut self, result: SarifResult) {
        if is_suppressed(&result.suppressions) || result.baseline_state.0.as_deref() == Some("absent") {
            return;
        }
        let is_finding =
            matches!(result.kind.0.map(|kind| kind.to_lowercase()).as_deref(), None | Some("fail" | "open" | "review"));
        if !is_finding {
            return;
        }
        let index = result.rule_index.0.filter(|index| *index >= 0.0).map(|index| index as usize);
        let by_index = || index.and_then(|index| self.driver.get(index).cloned());
        let id = result.rule_id.0.or_else(|| result.rule.and_then(|rule| rule.id.0)).or_else(by_index);
        let id = id.unwrap_or_default();
        // `CA1000/1` is a variant of the rule `CA1000`.
        let rule = self.rules.get(&id).or_else(|| self.rules.get(id.rsplit_once('/')?.0)).cloned().unwrap_or_default();
        let level = result.level.0.or(rule.level).map_or_else(|| "warning".to_owned(), |level| level.to_lowercase());
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
        let location = result.locations.0.and_then(location);
        if location.is_none() {
            self.out.notes.flaw(Flaw::NoLocation, || format!("a result of {id:?}"));
        }
        let message = result.message.and_then(|message| message.text.0).or(rule.text).unwrap_or_default();
        let finding = Finding {
            rule: text::name(&id),
            severity: rule.score.map_or(by_level, severity::of_score),
            message: text::clipped(&message, MAX_MESSAGE),
            location,
        };
        self.out.diagnostic(finding, is_error, None);
    }
}

/// SARIF 2.1.0, 3.27.23: a result is suppressed unless one of its suppressions is not (yet) accepted.
fn is_suppressed(suppressions: &[Suppression]) -> bool {
    let accepted = |suppression: &Suppression| matches!(suppression.status.0.as_deref(), None | Some("accepted"));
    !suppressions.is_empty() && suppressions.iter().all(accepted)
}

fn location(location: Location) -> Option<SourceLocation> {
    let physical = location.physical_location?;
    let uri = physical.artifact_location?.uri.0.filter(|uri| !uri.is_empty())?;
    Some(SourceLocation {
        file: text::path(&path_of_uri(&uri)),
        line: physical.region.and_then(|region| region.start_line.line()),
        function: location
            .logical_locations
            .0
            .and_then(|place| place.fully_qualified_name.0)
            .map(|name| text::name(&name)),
    })
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
