//! The rules of a SARIF run's tool and its extensions, and the texts of messages, which may be theirs.

use std::{borrow::Cow, collections::HashMap};

use crate::{
    json::Json,
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

/// Message strings by their ids.
#[derive(Default)]
struct Strings(Vec<(String, String)>);

impl Strings {
    fn of(value: &Json) -> Self {
        let text = |(id, message): &(String, Json)| {
            let text = message.text("text").or_else(|| message.text("markdown"))?;
            Some((text::name(id), text::clipped(&text, MAX_NAME)))
        };
        Self(value.entries().iter().filter_map(text).take(MAX_STRINGS).collect())
    }

    fn size(&self) -> usize {
        self.0.iter().map(|(id, text)| id.len() + text.len()).sum()
    }

    fn get(&self, id: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == id).map(|(_, text)| text.as_str())
    }
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
    pub fn rule(&mut self, component: usize, value: &Json) {
        let rule = Rule {
            id: text::name(&value.text("id").unwrap_or_default()),
            level: value.text("defaultConfiguration/level").map(|level| text::name(&level)),
            score: value.number("properties/security-severity"),
            text: value.text("shortDescription/text").map(|text| text::clipped(&text, 500)),
            strings: Strings::of(value.at("messageStrings")),
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
    pub fn strings(&mut self, component: usize, value: &Json) {
        let strings = Strings::of(value);
        let fits = self.held.add(strings.size());
        if let Some(known) = self.component_mut(component).filter(|_| fits) {
            known.strings = strings;
        }
    }

    /// The GUID or the name of a component.
    pub fn name(&mut self, component: usize, is_guid: bool, name: Option<Cow<'_, str>>) {
        if let Some(known) = self.component_mut(component) {
            *(if is_guid { &mut known.guid } else { &mut known.name }) = name.map(|name| text::name(&name));
        }
    }

    /// The rule that is meant. Rules may share an id, so the index goes first, unless it leads to one of another id.
    pub fn find(&self, id: Option<&str>, index: Option<usize>, component: &Json) -> Option<RuleAt> {
        let is =
            |key: &str, known: &Option<String>| known.is_some() && component.text(key).as_deref() == known.as_deref();
        let is_named = |known: &Component| is("guid", &known.guid) || is("name", &known.name);
        let component = component.index("index").map(|index| index.saturating_add(1));
        let component = component.or_else(|| self.components.iter().position(is_named)).unwrap_or(0);
        let by_index = index.map(|index| (component, index)).filter(|at| self.get(*at).is_some());
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

    /// The text of a message: its own or the one that its id names, else what its rule is about.
    pub fn text(&self, message: &Json, at: Option<RuleAt>) -> Option<String> {
        let (component, rule) = (self.components.get(at.map_or(0, |at| at.0)), at.and_then(|at| self.get(at)));
        let id = message.text("id");
        let known = || {
            let id = id.as_deref()?;
            rule.and_then(|rule| rule.strings.get(id)).or_else(|| component?.strings.get(id)).map(Cow::Borrowed)
        };
        let text = message.text("text").or_else(known).or_else(|| message.text("markdown"));
        text.map(|text| filled(&text, message.at("arguments"))).or_else(|| rule?.text.clone())
    }
}

/// Puts the arguments of a message into their places; braces that are none are doubled (SARIF 2.1.0, 3.11.5).
fn filled(text: &str, arguments: &Json) -> String {
    if arguments.list().is_empty() {
        return text.to_owned();
    }
    let mut filled = String::new();
    let mut rest = text;
    while let Some(at) = memchr::memchr2(b'{', b'}', rest.as_bytes()).filter(|_| filled.len() < MAX_MESSAGE) {
        let (before, braced) = rest.split_at(at);
        let (brace, after) = braced.split_at(1);
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        let is_place = brace == "{" && digits > 0 && after[digits..].starts_with('}');
        let argument = if is_place { arguments.text(&after[..digits]) } else { None };
        filled.push_str(before);
        rest = match argument {
            Some(argument) => {
                filled.push_str(&argument);
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

#[cfg(test)]
mod tests {
    use super::*;

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
