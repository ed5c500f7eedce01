//! The rules of a SARIF run's tool and its extensions, and the texts of messages, which may be theirs.

use std::{collections::HashMap, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, Visitor},
};

use crate::{
    json::{Few, Number, Text},
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

/// A rule as a document has it.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RuleFields {
    id: Text,
    default_configuration: Option<Configuration>,
    properties: Option<Properties>,
    short_description: Option<MessageFields>,
    message_strings: Strings,
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
pub(super) struct Strings(Vec<(String, String)>);

impl<'de> Deserialize<'de> for Strings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self::default())
    }
}

impl<'de> Visitor<'de> for Strings {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of messages")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self, A::Error> {
        while let Some((id, message)) = map.next_entry::<String, Option<MessageFields>>()? {
            let text = message.and_then(|message| message.text.0.or(message.markdown.0));
            if let Some(text) = text.filter(|_| self.0.len() < MAX_STRINGS) {
                self.0.push((text::name(&id), text::clipped(&text, MAX_NAME)));
            }
        }
        Ok(self)
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self, E> {
        Ok(self)
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

impl Rules {
    /// The driver is the first component, wherever it stands.
    fn component_mut(&mut self, at: usize) -> Option<&mut Component> {
        if at < MAX_COMPONENTS {
            self.components.resize_with(self.components.len().max(at + 1), Component::default);
        }
        self.components.get_mut(at)
    }

    /// A rule of a component.
    pub fn rule(&mut self, component: usize, fields: RuleFields) {
        let rule = Rule {
            id: text::name(&fields.id.0.unwrap_or_default()),
            level: fields.default_configuration.and_then(Configuration::level),
            score: fields.properties.and_then(|properties| properties.security_severity.0),
            text: fields.short_description.and_then(|message| message.text.0).map(|text| text::clipped(&text, 500)),
            strings: fields.message_strings,
        };
        let texts: usize = [&rule.level, &rule.text].into_iter().flatten().map(String::len).sum();
        let fits = self.held.add(size_of::<Rule>() + 2 * rule.id.len() + texts + rule.strings.size());
        let Some(known) = self.component_mut(component).filter(|_| fits) else { return };
        let (at, id) = ((component, known.rules.len()), rule.id.clone());
        known.rules.push(rule);
        if !id.is_empty() {
            self.by_id.entry(id).or_insert(at);
        }
    }

    /// The message strings of a component.
    pub fn strings(&mut self, component: usize, strings: Strings) {
        let fits = self.held.add(strings.size());
        if let Some(known) = self.component_mut(component).filter(|_| fits) {
            known.strings = strings;
        }
    }

    /// The GUID or the name of a component.
    pub fn name(&mut self, component: usize, is_guid: bool, name: Text) {
        if let Some(known) = self.component_mut(component) {
            *(if is_guid { &mut known.guid } else { &mut known.name }) = name.0.map(|name| text::name(&name));
        }
    }

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
