//! The rules of a SARIF run's tool and its extensions, and the texts of messages, which may be theirs.

use std::collections::HashMap;

use serde::{Deserialize, de::MapAccess};

use crate::{
    json::{Few, Keys, Member, Number, Text},
    text::{self, MAX_MESSAGE, MAX_NAME},
};

/// Extensions looked at for a rule.
const MAX_COMPONENTS: usize = 200;
/// Message strings of a rule or component that are remembered.
const MAX_STRINGS: usize = 200;

/// Bytes remembered of a run, each sort of them by itself.
#[derive(Default)]
pub(super) struct Held(usize);

impl Held {
    /// Whether so many more may be.
    pub fn add(&mut self, bytes: usize) -> bool {
        let fits = self.0 + bytes <= 16 * 1024 * 1024;
        self.0 += if fits { bytes } else { 0 };
        fits
    }
}

/// The rules of a run.
#[derive(Default)]
pub(super) struct Rules {
    /// The driver, and its extensions.
    components: Vec<Component>,
    /// The first rule of each id.
    by_id: HashMap<String, RuleAt>,
    held: Held,
}

/// A rule's component and its place there.
pub(super) type RuleAt = (usize, usize);

#[derive(Default)]
struct Component {
    guid: Option<String>,
    name: Option<String>,
    rules: Vec<Rule>,
    strings: Strings,
}

#[derive(Default)]
pub(super) struct Rule {
    pub id: String,
    pub level: Option<String>,
    /// CVSS-like score, as GitHub reads it from the properties.
    pub score: Option<f64>,
    text: Option<String>,
    strings: Strings,
}

#[derive(Deserialize)]
pub(super) struct Configuration {
    #[serde(default)]
    level: Text,
}

#[derive(Deserialize)]
struct Properties {
    #[serde(default, rename = "security-severity")]
    security_severity: Number,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct MessageFields {
    text: Text,
    markdown: Text,
    id: Text,
    arguments: Few<Text, 32>,
}

/// Message strings by their ids.
#[derive(Default)]
struct Strings(Vec<(String, String)>);

impl Keys for Strings {
    fn key<'de, A: MapAccess<'de>>(&mut self, id: &str, member: Member<'_, A>) -> Result<(), A::Error> {
        let text = member.get::<Option<MessageFields>>()?.and_then(|message| message.text.0.or(message.markdown.0));
        if let Some(text) = text.filter(|_| self.0.len() < MAX_STRINGS) {
            self.0.push((text::name(id), text::clipped(&text, MAX_NAME)));
        }
        Ok(())
    }
}

impl Strings {
    fn size(&self) -> usize {
        self.0.iter().map(|(id, text)| id.len() + text.len()).sum()
    }

    fn get(&self, id: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == id).map(|(_, text)| text.as_str())
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RuleReference {
    pub id: Text,
    pub index: Number,
    tool_component: Option<ComponentReference>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ComponentReference {
    guid: Text,
    name: Text,
    index: Number,
}

/// The tool of a run.
impl Keys for Rules {
    fn key<'de, A: MapAccess<'de>>(&mut self, key: &str, member: Member<'_, A>) -> Result<(), A::Error> {
        match key {
            "driver" => member.object(&mut OpenComponent { rules: self, is_driver: true, at: 0 }),
            "extensions" => member.objects(&mut OpenComponent { rules: self, is_driver: false, at: 0 }),
            _ => member.skip(),
        }
    }
}

struct OpenComponent<'a> {
    rules: &'a mut Rules,
    is_driver: bool,
    at: usize,
}

impl Keys for OpenComponent<'_> {
    fn begin(&mut self) {
        let components = &mut self.rules.components;
        // The driver's place is the first, wherever it stands.
        self.at = if self.is_driver { 0 } else { components.len().max(1) };
        if self.at < MAX_COMPONENTS {
            components.resize_with(components.len().max(self.at + 1), Component::default);
        }
    }

    fn key<'de, A: MapAccess<'de>>(&mut self, key: &str, member: Member<'_, A>) -> Result<(), A::Error> {
        if key == "rules" {
            return member.objects(&mut OpenRule { rules: self.rules, component: self.at, rule: Rule::default() });
        }
        let Some(component) = self.rules.components.get_mut(self.at) else { return member.skip() };
        match key {
            "guid" => component.guid = member.get::<Text>()?.0.map(|guid| text::name(&guid)),
            "name" => component.name = member.get::<Text>()?.0.map(|name| text::name(&name)),
            "globalMessageStrings" => {
                member.object(&mut component.strings)?;
                if !self.rules.held.add(component.strings.size()) {
                    component.strings.0.clear();
                }
            }
            _ => member.skip()?,
        }
        Ok(())
    }
}

struct OpenRule<'a> {
    rules: &'a mut Rules,
    component: usize,
    rule: Rule,
}

impl Keys for OpenRule<'_> {
    fn begin(&mut self) {
        self.rule = Rule::default();
    }

    fn key<'de, A: MapAccess<'de>>(&mut self, key: &str, member: Member<'_, A>) -> Result<(), A::Error> {
        let rule = &mut self.rule;
        match key {
            "id" => rule.id = text::name(&member.get::<Text>()?.0.unwrap_or_default()),
            "defaultConfiguration" => {
                rule.level = member.get::<Option<Configuration>>()?.and_then(Configuration::level);
            }
            "properties" => {
                rule.score = member.get::<Option<Properties>>()?.and_then(|properties| properties.security_severity.0);
            }
            "shortDescription" => {
                let text = member.get::<Option<MessageFields>>()?.and_then(|message| message.text.0);
                rule.text = text.map(|text| text::clipped(&text, 500));
            }
            "messageStrings" => member.object(&mut rule.strings)?,
            _ => member.skip()?,
        }
        Ok(())
    }

    fn end(&mut self) {
        let rule = std::mem::take(&mut self.rule);
        let Rules { components, by_id, held } = &mut *self.rules;
        let texts: usize = [&rule.level, &rule.text].into_iter().flatten().map(String::len).sum();
        let fits = held.add(size_of::<Rule>() + 2 * rule.id.len() + texts + rule.strings.size());
        let Some(component) = components.get_mut(self.component).filter(|_| fits) else { return };
        if !rule.id.is_empty() {
            by_id.entry(rule.id.clone()).or_insert((self.component, component.rules.len()));
        }
        component.rules.push(rule);
    }
}

impl Rules {
    /// The rule that is meant. Rules may share an id, so the index goes first, unless it leads to one of another id.
    pub fn find(&self, reference: &RuleReference) -> Option<RuleAt> {
        let id = reference.id.0.as_deref();
        let component = match &reference.tool_component {
            Some(component) => self.component(component),
            None => 0,
        };
        let by_index = reference.index.index().map(|index| (component, index)).filter(|at| self.get(*at).is_some());
        let is_meant = |at: &RuleAt| {
            let rest = id.map(|id| self.get(*at).and_then(|rule| id.strip_prefix(&rule.id)));
            rest.is_none_or(|rest| rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
        };
        // `CA1000/1` is a variant of the rule `CA1000`.
        let by_id = |id: &str| self.by_id.get(id).or_else(|| self.by_id.get(id.rsplit_once('/')?.0)).copied();
        by_index.filter(is_meant).or_else(|| by_id(id?)).or(by_index)
    }

    pub fn get(&self, (component, rule): RuleAt) -> Option<&Rule> {
        self.components.get(component)?.rules.get(rule)
    }

    fn component(&self, reference: &ComponentReference) -> usize {
        let is = |named: &Text, known: &Option<String>| named.0.is_some() && named.0 == *known;
        let is_named = |known: &Component| is(&reference.guid, &known.guid) || is(&reference.name, &known.name);
        let by_index = reference.index.index().map(|index| index.saturating_add(1));
        by_index.or_else(|| self.components.iter().position(is_named)).unwrap_or(0)
    }

    /// The text of a message: its own or the one that its id names, else what its rule is about.
    pub fn text(&self, message: &MessageFields, at: Option<RuleAt>) -> Option<String> {
        let (component, rule) = (self.components.get(at.map_or(0, |at| at.0)), at.and_then(|at| self.get(at)));
        let id = message.id.0.as_deref();
        let by_id = || rule.and_then(|rule| rule.strings.get(id?)).or_else(|| component?.strings.get(id?));
        let text = message.text.0.as_deref().or_else(by_id).or(message.markdown.0.as_deref());
        text.map(|text| message.filled(text)).or_else(|| rule?.text.clone())
    }
}

/// Bytes of texts.
pub(super) fn held<'t>(texts: impl Iterator<Item = &'t Text>) -> usize {
    texts.filter_map(|text| text.0.as_ref()).map(String::len).sum()
}

impl RuleReference {
    pub fn texts(&self) -> impl Iterator<Item = &Text> {
        let component = self.tool_component.iter().flat_map(|component| [&component.guid, &component.name]);
        component.chain([&self.id])
    }
}

impl Configuration {
    pub fn level(self) -> Option<String> {
        self.level.0.map(|level| text::name(&level))
    }
}

impl MessageFields {
    pub fn texts(&self) -> impl Iterator<Item = &Text> {
        [&self.text, &self.markdown, &self.id].into_iter().chain(&self.arguments.0)
    }

    /// Puts the arguments into their places; braces that are none are doubled (SARIF 2.1.0, 3.11.5).
    fn filled(&self, text: &str) -> String {
        if self.arguments.0.is_empty() {
            return text.to_owned();
        }
        let mut filled = String::new();
        let mut rest = text;
        while let Some(at) = memchr::memchr2(b'{', b'}', rest.as_bytes()).filter(|_| filled.len() < MAX_MESSAGE) {
            let (before, braced) = rest.split_at(at);
            let (brace, after) = braced.split_at(1);
            let digits = after.bytes().take_while(u8::is_ascii_digit).count();
            let argument =
                after[..digits].parse().ok().and_then(|index: usize| self.arguments.0.get(index)?.0.as_ref());
            filled.push_str(before);
            rest = match argument.filter(|_| brace == "{" && after[digits..].starts_with('}')) {
                Some(argument) => {
                    filled.push_str(argument);
                    &after[digits + 1..]
                }
                None => {
                    filled.push_str(brace);
                    after.strip_prefix(brace).unwrap_or(after)
                }
            };
        }
        filled + rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_in_messages() {
        let filled = |text: &str| {
            let argument = |text: &str| Text(Some(text.to_owned()));
            let arguments = Few(vec![argument("a"), argument("{0}")]);
            MessageFields { arguments, ..MessageFields::default() }.filled(text)
        };
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
