//! SARIF 2.1.0, what scanners write.
//!
//! A result's level is its own, else what its run set for its rule, else the rule's default, else `warning`; suppressed
//! results are none. What a result refers to may stand behind it, so results wait until their run is over; those for which
//! there is no room take what is known by then.

use std::collections::HashMap;

use loopgate_core::evidence::{ErrorType, Finding, FindingSeverity, SourceLocation};

use super::sarif_rules::{Held, RuleAt, Rules};
use crate::{
    Unreadable,
    collect::{Collector, IsError},
    json::{Json, Step, read},
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
    const PATHS: &[&str] = &[
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
    ];
    let mut run = Run { known: Known::default(), waiting: Vec::new(), waiting_held: Held::default(), out };
    let ended = read(window, PATHS, &mut |step| match step {
        Step::Value(path, value) => run.take(path, value),
        Step::End("runs[].tool.extensions[]") => run.known.extensions += 1,
        Step::End("runs[].invocations[]") => run.known.invocations += 1,
        Step::End("runs[]") => run.end(),
        Step::End(_) => {}
    });
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
    waiting: Vec<Json>,
    waiting_held: Held,
    out: &'c mut Collector<'o>,
}

/// What results refer to.
#[derive(Default)]
struct Known {
    rules: Rules,
    artifacts: Vec<Json>,
    /// What invocations set for rules that may not be known yet, and how many invocations there were.
    overrides: Vec<(usize, Json)>,
    invocations: usize,
    /// Extensions of the tool that are over.
    extensions: usize,
    /// Levels that invocations set.
    levels: HashMap<(usize, RuleAt), String>,
    held: Held,
}

impl Known {
    /// The level of a rule, where an invocation may have set another than its own.
    fn level(&mut self, at: RuleAt, invocation: usize) -> Option<String> {
        for (invocation, set) in std::mem::take(&mut self.overrides) {
            let level = set.text("configuration/level").map(|level| text::name(&level));
            let descriptor = set.at("descriptor");
            let (id, index) = (descriptor.text("id"), descriptor.index("index"));
            let at = self.rules.find(id.as_deref(), index, descriptor.at("toolComponent"));
            self.levels.extend(at.zip(level).map(|(at, level)| ((invocation, at), level)));
        }
        let own = || self.rules.get(at).and_then(|rule| rule.level.as_ref());
        self.levels.get(&(invocation, at)).or_else(own).cloned()
    }
}

impl Run<'_, '_> {
    fn take(&mut self, path: usize, value: Json) {
        let known = &mut self.known;
        match path {
            0 if !is_told(&value) => {}
            0 if self.waiting_held.add(value.size()) => self.waiting.push(value),
            0 => self.result(&value),
            1 if known.held.add(value.size()) => known.artifacts.push(value),
            2 if matches!(value, Json::Bool(false)) => {
                self.out.notes.flaw(Flaw::ToolFailed, || "invocations[].executionSuccessful is false");
            }
            3 if known.held.add(value.size()) => known.overrides.push((known.invocations, value)),
            1..=3 => {}
            4 => known.rules.rule(0, &value),
            5 => known.rules.strings(0, &value),
            6 => known.rules.rule(1 + known.extensions, &value),
            7 => known.rules.strings(1 + known.extensions, &value),
            name => known.rules.name(1 + known.extensions, name == 8, value.text("")),
        }
    }

    /// Nothing more of the run follows.
    fn end(&mut self) {
        for result in std::mem::take(&mut self.waiting) {
            self.result(&result);
        }
        (self.known, self.waiting_held) = Default::default();
    }

    fn result(&mut self, result: &Json) {
        let location = location(result, &self.known.artifacts);
        // SARIF 2.1.0, 3.27.10: what is not said to have failed has no level by default.
        let is_review = result.text("level").is_none() && kind(result).is_some_and(|kind| kind != "fail");
        let id = result.text("ruleId").or_else(|| result.text("rule/id"));
        let index = result.index("ruleIndex").or_else(|| result.index("rule/index"));
        let at = self.known.rules.find(id.as_deref(), index, result.at("rule/toolComponent"));
        let invocation = result.index("provenance/invocationIndex").unwrap_or(0);
        let level = match result.text("level") {
            None if is_review => Some("none".to_owned()),
            None => at.and_then(|at| self.known.level(at, invocation)),
            Some(own) => Some(own.into_owned()),
        };
        let level = level.map_or_else(|| "warning".to_owned(), |level| level.to_lowercase());
        let rule = at.and_then(|at| self.known.rules.get(at));
        let id = id.or_else(|| Some(rule?.id.as_str().into())).unwrap_or_default();
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
        let message = self.known.rules.text(result.at("message"), at).unwrap_or_default();
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

fn kind(result: &Json) -> Option<String> {
    result.text("kind").map(|kind| kind.to_lowercase())
}

/// Whether a result says that something may be wrong. SARIF 2.1.0, 3.27.23: it is suppressed unless one of its suppressions
/// is not (yet) accepted.
fn is_told(result: &Json) -> bool {
    let is_finding = matches!(kind(result).as_deref(), None | Some("fail" | "open" | "review"));
    let suppressions = result.at("suppressions").list();
    let accepted = |suppression: &Json| matches!(suppression.text("status").as_deref(), None | Some("accepted"));
    let is_suppressed = !suppressions.is_empty() && suppressions.iter().all(accepted);
    is_finding && !is_suppressed && result.text("baselineState").as_deref() != Some("absent")
}

fn location(result: &Json, artifacts: &[Json]) -> Option<SourceLocation> {
    let location = result.at("locations/0");
    let artifact = location.at("physicalLocation/artifactLocation");
    let by_index = || {
        let first = artifacts.get(artifact.index("index")?);
        let parent = |inner: &&Json| artifacts.get(inner.index("parentIndex")?);
        std::iter::successors(first, parent).take(MAX_NESTING).find_map(|artifact| artifact.text("location/uri"))
    };
    let uri = artifact.text("uri").or_else(by_index).filter(|uri| !uri.is_empty())?;
    Some(SourceLocation {
        file: text::path(&path_of_uri(&uri)),
        line: location.line("physicalLocation/region/startLine"),
        function: location.text("logicalLocations/0/fullyQualifiedName").map(|name| text::name(&name)),
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
            let suppression = |status: &Option<&str>| serde_json::json!({ "status": status });
            let suppressions: Vec<_> = statuses.iter().map(suppression).collect();
            !is_told(&serde_json::from_value(serde_json::json!({ "suppressions": suppressions })).unwrap())
        };
        assert!(!of(&[]));
        assert!(of(&[None]));
        assert!(of(&[Some("accepted"), None]));
        assert!(!of(&[None, Some("underReview")]));
        assert!(!of(&[Some("rejected")]));
    }
}
