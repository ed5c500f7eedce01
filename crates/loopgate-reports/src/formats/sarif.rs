//! SARIF 2.1.0, what scanners write.
//!
//! A result's level is its own, else what its run set for its rule, else the rule's default, else `warning`; suppressed
//! results are none. What a result refers to may stand behind it, so results wait until their run is over; those for
//! which there is no room take what is known by then.

use std::{borrow::Cow, collections::HashMap};

use loopgate_core::evidence::{ErrorType, Failure, FindingSeverity, SourceLocation};
use percent_encoding::percent_decode_str;
use regex::Captures;

use crate::json::read;
use crate::{Collector, Flaw, Json, MAX_MESSAGE, Mark, Step, Unreadable, Window, severity, text};

pub(super) const MARK: Mark = Mark::Object(|head, keys| {
    let is_sarif = keys.contains(&"runs") || keys.contains(&"$schema") && head.contains("sarif");
    is_sarif && !is_old_sarif(head)
});

/// Extensions of the tool that are looked at for a rule.
const MAX_EXTENSIONS: usize = 200;
/// Bytes of results that wait for what they refer to, and as many of what they may refer to.
const MAX_HELD: usize = 16 * 1024 * 1024;
/// Bases that lie in each other.
const MAX_BASES: usize = 8;
/// Errors of the tool itself that are kept of one invocation.
const MAX_ERRORS: usize = 5;

pub(super) fn parse(window: &mut Window<'_>, out: &mut Collector) -> Result<(), Unreadable> {
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
        "runs[].invocations[].toolExecutionNotifications[]",
        "runs[].invocations[].toolConfigurationNotifications[]",
        "runs[].originalUriBaseIds",
    ];
    let mut run = SarifRun {
        known: KnownObjects::default(),
        waiting: Vec::new(),
        held: 0,
        out,
        has_failed: false,
        errors: Vec::new(),
    };
    let ended = read(window, PATHS, &mut |step| match step {
        Step::Value(path, value, size) => run.take(path, value, size),
        Step::End("runs[].tool.extensions[]") => run.known.extensions += 1,
        Step::End("runs[].invocations[]") => run.end_invocation(),
        Step::End("runs[]") => run.end(),
        Step::End(_) => {}
    });
    // If the document was cut short, results may be waiting still.
    run.end();
    ended
}

/// Whether a text is SARIF older than 2.1, whose results look alike and are not: places and levels stand elsewhere.
pub(crate) fn is_old_sarif(head: &str) -> bool {
    // Behind the runs a version is that of a tool.
    let Some((before, _)) = head.split_once("\"runs\"") else {
        return false;
    };
    let version = before
        .split_once("\"version\"")
        .map(|(_, rest)| rest.trim_start_matches([':', ' ', '\n', '\r', '\t']));
    let is_old = |version: &str| version.starts_with("\"1.") || version.starts_with("\"2.0");
    version.map_or_else(
        || head.contains("sarif-1.0") || head.contains("sarif-2.0"),
        is_old,
    )
}

/// The run being read.
struct SarifRun<'c> {
    known: KnownObjects,
    waiting: Vec<Json>,
    /// Bytes that wait.
    held: usize,
    out: &'c mut Collector,
    /// The invocation that is being read did not succeed, by the tool's own word, and what it says for that.
    has_failed: bool,
    errors: Vec<Failure>,
}

/// What results refer to.
#[derive(Default)]
struct KnownObjects {
    /// The tool's driver, wherever it stands, and its extensions.
    components: Vec<Component>,
    /// The first rule of each id.
    by_id: HashMap<String, RuleAt>,
    artifacts: Vec<Json>,
    /// What places may be relative to, by its id.
    bases: Json,
    /// What invocations set for rules that may not be known yet, and how many invocations there were.
    overrides: Vec<(usize, Json)>,
    invocations: usize,
    /// Extensions of the tool that are over.
    extensions: usize,
    /// Levels that invocations set.
    levels: HashMap<(usize, RuleAt), String>,
    /// Bytes of all of it.
    held: usize,
}

#[derive(Default)]
struct Component {
    guid: Json,
    name: Json,
    strings: Json,
    rules: Vec<Json>,
}

/// A rule's component and its place there.
type RuleAt = (usize, usize);

impl KnownObjects {
    /// Remembers a value that results may refer to, if there is room.
    fn take(&mut self, path: usize, value: Json, size: usize) {
        let at = if (6..10).contains(&path) {
            1 + self.extensions
        } else {
            0
        };
        if self.held + size > MAX_HELD || at > MAX_EXTENSIONS {
            return;
        }
        self.held += size;
        self.components
            .resize_with(self.components.len().max(at + 1), Component::default);
        let component = &mut self.components[at];
        match path {
            1 => self.artifacts.push(value),
            3 => self.overrides.push((self.invocations, value)),
            4 | 6 => {
                let id = text::name(&value.text("id").unwrap_or_default());
                if !id.is_empty() {
                    self.by_id.entry(id).or_insert((at, component.rules.len()));
                }
                component.rules.push(value);
            }
            5 | 7 => component.strings = value,
            8 => component.guid = value,
            9 => component.name = value,
            _ => self.bases = value,
        }
    }

    fn rule(&self, (component, rule): RuleAt) -> Option<&Json> {
        self.components.get(component)?.rules.get(rule)
    }

    /// The rule that is meant. Rules may share an id, so the index goes first, unless it leads to one of another id.
    fn find(&self, id: Option<&str>, index: Option<usize>, component: &Json) -> Option<RuleAt> {
        let is =
            |key: &str, own: &Json| own.text("").is_some() && component.text(key) == own.text("");
        let is_named = |known: &Component| is("guid", &known.guid) || is("name", &known.name);
        let component = component
            .index("index")
            .map(|index| index.saturating_add(1));
        let component = component
            .or_else(|| self.components.iter().position(is_named))
            .unwrap_or(0);
        let by_index = index
            .map(|index| (component, index))
            .filter(|at| self.rule(*at).is_some());
        let is_meant = |at: &RuleAt| {
            let known = self
                .rule(*at)
                .and_then(|rule| rule.text("id"))
                .unwrap_or_default();
            let rest = id.map(|id| id.strip_prefix(&*known));
            rest.is_none_or(|rest| {
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
        };
        // `CA1000/1` is a variant of the rule `CA1000`.
        let by_id = |id: &str| {
            self.by_id
                .get(id)
                .or_else(|| self.by_id.get(id.rsplit_once('/')?.0))
                .copied()
        };
        by_index
            .filter(is_meant)
            .or_else(|| by_id(id?))
            .or(by_index)
    }

    /// The level of a rule, where an invocation may have set another than its own.
    fn level(&mut self, at: RuleAt, invocation: usize) -> Option<String> {
        for (invocation, set) in std::mem::take(&mut self.overrides) {
            let level = set
                .text("configuration/level")
                .map(|level| text::name(&level));
            let descriptor = set.at("descriptor");
            let (id, index) = (descriptor.text("id"), descriptor.index("index"));
            let at = self.find(id.as_deref(), index, descriptor.at("toolComponent"));
            self.levels
                .extend(at.zip(level).map(|(at, level)| ((invocation, at), level)));
        }
        let own = || {
            self.rule(at)?
                .text("defaultConfiguration/level")
                .map(Cow::into_owned)
        };
        self.levels.get(&(invocation, at)).cloned().or_else(own)
    }

    /// The text of a message: its own or the one that its id names, else what its rule is about.
    fn text(&self, message: &Json, at: Option<RuleAt>) -> Option<String> {
        let rule = at.and_then(|at| self.rule(at));
        let component = self.components.get(at.map_or(0, |at| at.0));
        let strings = [
            rule.map(|rule| rule.at("messageStrings")),
            component.map(|component| &component.strings),
        ];
        let id = message.text("id");
        let known = strings.into_iter().flatten().find_map(|strings| {
            let string = strings.get(id.as_deref()?);
            string.text("text").or_else(|| string.text("markdown"))
        });
        let text = message
            .text("text")
            .or(known)
            .or_else(|| message.text("markdown"));
        let filled = text.map(|text| filled(&text, message.at("arguments")));
        filled.or_else(|| Some(text::clipped(&rule?.text("shortDescription/text")?, 500)))
    }

    /// Where an artifact lies, below the bases that are relative themselves: a base that is not is the root of a checkout,
    /// wherever that was (SARIF 2.1.0, 3.14.14).
    fn uri(&self, artifact: &Json) -> Option<String> {
        let mut uri = artifact.text("uri")?.into_owned();
        let mut place = artifact;
        for _ in 0..MAX_BASES {
            let Some(id) = place.text("uriBaseId").filter(|_| is_relative(&uri)) else {
                break;
            };
            place = self.bases.get(&id);
            if let Some(base) = place.text("uri").filter(|base| is_relative(base)) {
                uri.insert_str(0, &base);
            }
        }
        Some(uri)
    }

    /// Where a result stands.
    fn location(&self, result: &Json) -> Option<SourceLocation> {
        let location = result.at("locations/0");
        let artifact = location.at("physicalLocation/artifactLocation");
        let by_index = || {
            let listed = self.artifacts.get(artifact.index("index")?)?;
            self.uri(listed.at("location"))
        };
        let uri = self
            .uri(artifact)
            .or_else(by_index)
            .filter(|uri| !uri.is_empty())?;
        Some(SourceLocation {
            // `file:///repo/a%20b.c` → `/repo/a b.c`; `src/a.c` stays.
            file: text::path(
                &percent_decode_str(uri.strip_prefix("file://").unwrap_or(&uri))
                    .decode_utf8_lossy(),
            ),
            line: location.line("physicalLocation/region/startLine"),
            function: location
                .text("logicalLocations/0/fullyQualifiedName")
                .map(|name| text::name(&name)),
        })
    }
}

impl SarifRun<'_> {
    fn take(&mut self, path: usize, value: Json, size: usize) {
        match path {
            0 if !may_be_wrong(&value) => {}
            0 if self.held + size <= MAX_HELD => {
                self.held += size;
                self.waiting.push(value);
            }
            0 => self.result(&value),
            2 if matches!(value, Json::Bool(false)) => {
                self.out.notes.flaw(
                    Flaw::TOOL_FAILED,
                    || "invocations[].executionSuccessful is false",
                );
                self.has_failed = true;
            }
            2 => {}
            10 | 11 if value.text("level").as_deref() == Some("error") => {
                let message = value.text("message/text").unwrap_or_default();
                if self.errors.len() < MAX_ERRORS && !message.trim().is_empty() {
                    let message = text::clipped(message.trim(), MAX_MESSAGE);
                    self.errors.push(Failure::of(ErrorType::Other, message));
                }
            }
            10 | 11 => {}
            _ => self.known.take(path, value, size),
        }
    }

    fn end_invocation(&mut self) {
        self.known.invocations += 1;
        let errors = std::mem::take(&mut self.errors);
        if std::mem::take(&mut self.has_failed) {
            self.out.run.fail(errors);
            return;
        }
        // SARIF 2.1.0, 3.58.6: an error may have kept it from looking at everything.
        for error in &errors {
            self.out.complains(error);
        }
    }

    /// Nothing more of the run follows.
    fn end(&mut self) {
        for result in std::mem::take(&mut self.waiting) {
            self.result(&result);
        }
        (self.known, self.held) = Default::default();
    }

    fn result(&mut self, result: &Json) {
        let known = &mut self.known;
        // SARIF 2.1.0, 3.27.10: what is not marked as failed has no level by default.
        let is_review =
            result.text("level").is_none() && kind(result).is_some_and(|kind| kind != "fail");
        let id = result.text("ruleId").or_else(|| result.text("rule/id"));
        let index = result
            .index("ruleIndex")
            .or_else(|| result.index("rule/index"));
        let at = known.find(id.as_deref(), index, result.at("rule/toolComponent"));
        let invocation = result.index("provenance/invocationIndex").unwrap_or(0);
        let level = match result.text("level") {
            None if is_review => Some("none".to_owned()),
            None => at.and_then(|at| known.level(at, invocation)),
            Some(own) => Some(own.into_owned()),
        };
        let level = level.map_or_else(|| "warning".to_owned(), |level| level.to_lowercase());
        let rule = at.and_then(|at| known.rule(at));
        let id = id.or_else(|| rule?.text("id")).unwrap_or_default();
        let (by_level, error_type) = match level.as_str() {
            "error" => (FindingSeverity::High, Some(ErrorType::LintError)),
            "warning" => (FindingSeverity::Medium, None),
            "note" => (FindingSeverity::Low, None),
            "none" => (FindingSeverity::Note, None),
            _ => {
                self.out
                    .notes
                    .flaw(Flaw::UNKNOWN_RESULT, || format!("level {level:?}"));
                (FindingSeverity::Medium, None)
            }
        };
        let location = known.location(result);
        if location.is_none() {
            self.out
                .notes
                .flaw(Flaw::NO_LOCATION, || format!("a result of {id:?}"));
        }
        let message = known.text(result.at("message"), at).unwrap_or_default();
        // CVSS-like, as GitHub reads it from the properties.
        let score = rule
            .and_then(|rule| rule.number("properties/security-severity"))
            .filter(|_| !is_review);
        let finding = text::finding(
            &id,
            score.map_or(by_level, severity::of_score),
            &message,
            location,
        );
        self.out.diagnostic(finding, error_type, None);
    }
}

fn kind(result: &Json) -> Option<String> {
    result.text("kind").map(|kind| kind.to_lowercase())
}

/// Whether a result is one of something that may be wrong. SARIF 2.1.0, 3.27.23: it is suppressed unless one of its
/// suppressions is not (yet) accepted.
fn may_be_wrong(result: &Json) -> bool {
    let is_finding = matches!(
        kind(result).as_deref(),
        None | Some("fail" | "open" | "review")
    );
    let suppressions = result.at("suppressions").list();
    let accepted = |suppression: &Json| {
        matches!(
            suppression.text("status").as_deref(),
            None | Some("accepted")
        )
    };
    let is_suppressed = !suppressions.is_empty() && suppressions.iter().all(accepted);
    is_finding && !is_suppressed && result.text("baselineState").as_deref() != Some("absent")
}

patterns! {
    /// The place of an argument, or a brace that is doubled.
    BRACED = r"\{\{|\}\}|\{([0-9]+)\}";
}

/// Puts the arguments of a message into their places; braces that are none are doubled (SARIF 2.1.0, 3.11.5).
fn filled(text: &str, arguments: &Json) -> String {
    if arguments.list().is_empty() {
        return text.to_owned();
    }
    let mut left = MAX_MESSAGE;
    let fill = |found: &Captures<'_>| {
        let argument = match found.get(1) {
            Some(place) => arguments.text(place.as_str()).filter(|_| left > 0),
            None => Some(Cow::Borrowed(&found[0][1..])),
        };
        let argument = argument.map_or_else(|| found[0].to_owned(), Cow::into_owned);
        left = left.saturating_sub(argument.len());
        argument
    };
    BRACED.replace_all(text, fill).into_owned()
}

/// Whether a URI has no scheme and begins at no root.
fn is_relative(uri: &str) -> bool {
    let scheme = uri.split(['/', '?', '#']).next().unwrap_or_default();
    !uri.starts_with('/') && !scheme.contains(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_lie_below_their_bases() {
        let known = KnownObjects {
            bases: serde_json::from_value(serde_json::json!({
                "ROOT": { "uri": "file:///work/" },
                "PACKAGES": { "uri": "packages/", "uriBaseId": "ROOT" },
                "SHOP": { "uri": "shop%20a/", "uriBaseId": "PACKAGES" },
                "UNKNOWN": {},
                "ROUND": { "uri": "x/", "uriBaseId": "ROUND" },
            }))
            .unwrap(),
            artifacts: vec![
                serde_json::from_value(serde_json::json!({
                    "location": { "uri": "b.js", "uriBaseId": "PACKAGES" }
                }))
                .unwrap(),
            ],
            ..KnownObjects::default()
        };
        let file = |artifact: serde_json::Value| {
            let result = serde_json::json!({ "locations": [
                { "physicalLocation": { "artifactLocation": artifact } }
            ] });
            let result = serde_json::from_value(result).unwrap();
            known.location(&result).unwrap().file
        };
        let based =
            |uri: &str, base: &str| file(serde_json::json!({ "uri": uri, "uriBaseId": base }));
        assert_eq!(based("a.js", "ROOT"), "a.js");
        assert_eq!(based("a.js", "SHOP"), "packages/shop a/a.js");
        assert_eq!(based("file:///srv/a.js", "SHOP"), "/srv/a.js");
        assert_eq!(based("a.js", "UNKNOWN"), "a.js");
        assert_eq!(based("a.js", "%SRCROOT%"), "a.js");
        assert_eq!(based("a.js", "ROUND"), "x/x/x/x/x/x/x/x/a.js");
        assert_eq!(file(serde_json::json!({ "index": 0 })), "packages/b.js");
    }

    #[test]
    fn uris() {
        let table = [
            ("src/a.c", "src/a.c"),
            ("file:///repo/a%20b.c", "/repo/a b.c"),
            ("100%", "100%"),
            ("%zz%C3%A9", "%zzé"),
        ];
        for (uri, path) in table {
            let location =
                serde_json::json!({ "physicalLocation": { "artifactLocation": { "uri": uri } } });
            let result =
                serde_json::from_value(serde_json::json!({ "locations": [location] })).unwrap();
            assert_eq!(
                KnownObjects::default().location(&result).unwrap().file,
                path
            );
        }
    }

    #[test]
    fn suppressions() {
        let of = |statuses: &[Option<&str>]| {
            let suppression = |status: &Option<&str>| serde_json::json!({ "status": status });
            let suppressions: Vec<_> = statuses.iter().map(suppression).collect();
            !may_be_wrong(
                &serde_json::from_value(serde_json::json!({ "suppressions": suppressions }))
                    .unwrap(),
            )
        };
        assert!(!of(&[]));
        assert!(of(&[None]));
        assert!(of(&[Some("accepted"), None]));
        assert!(!of(&[None, Some("underReview")]));
        assert!(!of(&[Some("rejected")]));
    }

    #[test]
    fn arguments_in_messages() {
        let arguments = serde_json::from_str(r#"["a", "{0}"]"#).unwrap();
        let filled = |text: &str| filled(text, &arguments);
        let table = [
            ("'{0}' and {1}", "'a' and {0}"),
            ("{{0}} {0}}}", "{0} a}"),
            ("{2} {} { }", "{2} {} { }"),
            ("é{1", "é{1"),
            ("{99999999999999999999}", "{99999999999999999999}"),
        ];
        for (text, expected) in table {
            assert_eq!(filled(text), expected, "{text}");
        }
    }
}
