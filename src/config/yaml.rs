//! YAML text → [`Node`]: one pass over the events of `saphyr-parser`, each of which knows its line and column.
//!
//! Hostile texts are refused on the way: deep nesting, aliases that unfold to more than they are worth, keys written
//! twice. Until all of that is checked, aliases share what they refer to ([`Written`]); then the tree is unfolded.

use std::{collections::HashMap, rc::Rc};

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use super::{
    node::{Entry, Kind, Map, Node},
    place::{Layer, Place},
    problem::{Problem, shorten},
    scalar::{Scalar, TooLarge},
    source::Source,
};

/// Levels of nesting, aliases unfolded.
const MAX_DEPTH: usize = 64;
/// Bytes of the document with all aliases unfolded; without any, no file within the size cap comes near.
const MAX_UNFOLDED: usize = 4 * 1024 * 1024;
/// What a value costs beside its text.
const VALUE_COST: usize = 16;

/// Reads the text of a layer.
///
/// # Errors
/// When the text is not YAML, is YAML that is refused, or is not keys with values.
pub(super) fn read(source: Source<'_>, layer: Layer) -> Result<Node, Problem> {
    let text = without_blank_end(source.checked(layer)?);
    let builder = Builder { layer, text, open: Vec::new(), anchors: HashMap::new(), root: None };
    let Some(root) = builder.run()? else {
        return Ok(Node::empty(Place::start(layer)));
    };
    let node = root.unfold()?;
    match node.kind {
        Kind::Map(_) | Kind::Null => Ok(node),
        _ => {
            Err(Problem::unreadable(node.place, "a configuration is keys with values").hint("begin with `version: 1`"))
        }
    }
}

/// Spaces after the last line break say nothing; the parser would take them for a line of a block scalar.
fn without_blank_end(text: &str) -> &str {
    let trimmed = text.trim_end_matches(' ');
    if trimmed.ends_with(['\n', '\r']) { trimmed } else { text }
}

/// A value as it is written, which aliases may share.
#[derive(Debug)]
struct Written {
    at: Place,
    inside: Inside,
    /// Levels below this one.
    height: usize,
    /// Bytes, aliases unfolded.
    weight: usize,
}

#[derive(Debug)]
enum Inside {
    Scalar(Scalar),
    List(Vec<Rc<Written>>),
    /// In the order of the text.
    Map(Vec<WrittenEntry>),
}

/// A key as it is written, where, and its value.
#[derive(Debug)]
struct WrittenEntry {
    key: String,
    at: Place,
    value: Rc<Written>,
}

impl Written {
    fn new(at: Place, inside: Inside, text_len: usize) -> Self {
        let children: Vec<&Rc<Self>> = match &inside {
            Inside::Scalar(_) => Vec::new(),
            Inside::List(items) => items.iter().collect(),
            Inside::Map(entries) => entries.iter().map(|entry| &entry.value).collect(),
        };
        let height = children.iter().map(|child| child.height + 1).max().unwrap_or(0);
        let weight = children.iter().fold(VALUE_COST + text_len, |sum, child| sum.saturating_add(child.weight));
        Self { at, inside, height, weight }
    }

    /// The value with a copy of its target for each alias.
    fn unfold(&self) -> Result<Node, Problem> {
        let kind = match &self.inside {
            Inside::Scalar(scalar) => Kind::from(scalar.clone()),
            Inside::List(items) => Kind::List(items.iter().map(|item| item.unfold()).collect::<Result<_, _>>()?),
            Inside::Map(entries) => {
                let mut map = Map::with_capacity(entries.len());
                for WrittenEntry { key, at, value } in entries {
                    map.insert(key.clone(), Entry { key: *at, node: value.unfold()? });
                }
                Kind::Map(with_merge_key(map)?)
            }
        };
        Ok(Node { place: self.at, kind })
    }
}

/// `<<: *anchor` and `<<: [*a, *b]`: their keys stand in for those that are not written here.
fn with_merge_key(mut map: Map) -> Result<Map, Problem> {
    let Some(merged) = map.shift_remove("<<") else { return Ok(map) };
    let refused = |place| Problem::unreadable(place, "`<<` takes an alias of a map, or a list of them");
    let parts = match merged.node {
        Node { kind: Kind::List(items), .. } => items,
        node => vec![node],
    };
    for part in parts {
        let Kind::Map(entries) = part.kind else { return Err(refused(part.place)) };
        for (key, entry) in entries {
            map.entry(key).or_insert(entry);
        }
    }
    Ok(map)
}

/// A collection whose end has not been seen.
struct Open {
    at: Place,
    anchor: usize,
    items: Items,
    keys_len: usize,
}

enum Items {
    List(Vec<Rc<Written>>),
    /// `key` waits for its value.
    Map {
        done: Vec<WrittenEntry>,
        key: Option<(String, Place)>,
        seen: HashMap<String, Place>,
    },
}

struct Builder<'a> {
    layer: Layer,
    text: &'a str,
    open: Vec<Open>,
    anchors: HashMap<usize, Rc<Written>>,
    root: Option<Rc<Written>>,
}

impl Builder<'_> {
    fn run(mut self) -> Result<Option<Rc<Written>>, Problem> {
        let mut documents = 0;
        for event in Parser::new_from_str(self.text) {
            let (event, span) = event.map_err(|error| {
                let place = self.place_of(error.marker().line(), error.marker().col());
                unreadable(place, error.info())
            })?;
            if matches!(event, Event::DocumentStart(_)) {
                documents += 1;
                if documents > 1 {
                    let problem = Problem::unreadable(self.place(span), "a second YAML document starts here");
                    return Err(problem.hint("a configuration is one document; remove the `---`"));
                }
            }
            self.event(event, span)?;
        }
        Ok(self.root)
    }

    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), Problem> {
        let at = self.place(span);
        match event {
            Event::Scalar(_, _, _, Some(_)) | Event::SequenceStart(_, Some(_)) | Event::MappingStart(_, Some(_)) => {
                Err(Problem::unreadable(at, "YAML tags (`!…`) mean nothing here")
                    .hint("quote a text that begins with `!`"))
            }
            Event::Scalar(text, style, anchor, None) => {
                let text = self.without_added_break(&text, style, span);
                let scalar = Scalar::resolve(text, style)
                    .map_err(|TooLarge| Problem::unreadable(at, "this number is too large"))?;
                let written = Rc::new(Written::new(at, Inside::Scalar(scalar), text.len()));
                self.value(written, anchor, Some(text), at)
            }
            Event::SequenceStart(anchor, None) => self.enter(at, anchor, Items::List(Vec::new())),
            Event::MappingStart(anchor, None) => {
                self.enter(at, anchor, Items::Map { done: Vec::new(), key: None, seen: HashMap::new() })
            }
            Event::SequenceEnd | Event::MappingEnd => self.leave(),
            Event::Alias(anchor) => {
                let Some(target) = self.anchors.get(&anchor).map(Rc::clone) else {
                    return Err(Problem::unreadable(at, "this alias stands inside the value it refers to"));
                };
                self.value(target, 0, None, at)
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentStart(_) | Event::DocumentEnd => {
                Ok(())
            }
        }
    }

    /// The parser ends each block scalar with a line break, also one whose last line has none because the whole text
    /// ends there.
    fn without_added_break<'t>(&self, scalar: &'t str, style: ScalarStyle, span: Span) -> &'t str {
        let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
        if is_block && !self.text.ends_with(['\n', '\r']) && span.end.index() >= self.text.chars().count() {
            scalar.strip_suffix('\n').unwrap_or(scalar)
        } else {
            scalar
        }
    }

    fn enter(&mut self, at: Place, anchor: usize, items: Items) -> Result<(), Problem> {
        if let Some(Open { items: Items::Map { key: None, .. }, .. }) = self.open.last() {
            return Err(Problem::unreadable(at, "a key must be a word, not a list or a map"));
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(too_deep(at));
        }
        self.open.push(Open { at, anchor, items, keys_len: 0 });
        Ok(())
    }

    fn leave(&mut self) -> Result<(), Problem> {
        // The parser closes only what it has opened.
        let Some(open) = self.open.pop() else { return Ok(()) };
        let inside = match open.items {
            Items::List(items) => Inside::List(items),
            Items::Map { done, .. } => Inside::Map(done),
        };
        let written = Rc::new(Written::new(open.at, inside, open.keys_len));
        self.value(written, open.anchor, None, open.at)
    }

    /// A whole value was read: it is a key or an item of the innermost open collection, or the document.
    fn value(&mut self, written: Rc<Written>, anchor: usize, text: Option<&str>, at: Place) -> Result<(), Problem> {
        if self.open.len() + written.height > MAX_DEPTH {
            return Err(too_deep(at));
        }
        if written.weight > MAX_UNFOLDED {
            let problem = Problem::unreadable(written.at, "the aliases in here unfold to more than 4 MiB");
            return Err(problem.hint("write fewer aliases of aliases"));
        }
        if anchor != 0 {
            self.anchors.insert(anchor, Rc::clone(&written));
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(written);
            return Ok(());
        };
        match &mut open.items {
            Items::List(items) => items.push(written),
            Items::Map { done, key, seen } => match key.take() {
                Some((key, key_at)) => done.push(WrittenEntry { key, at: key_at, value: written }),
                None => {
                    let Some(text) = text else {
                        return Err(Problem::unreadable(at, "a key must be written out, not an alias"));
                    };
                    if let Some(first) = seen.insert(text.to_owned(), at) {
                        let problem = Problem::unreadable(at, format!("the key `{}` is written twice", shorten(text)));
                        return Err(problem.hint(format!("the first is on line {}", first.line)));
                    }
                    open.keys_len += text.len();
                    *key = Some((text.to_owned(), at));
                }
            },
        }
        Ok(())
    }

    fn place(&self, span: Span) -> Place {
        self.place_of(span.start.line(), span.start.col())
    }

    /// The parser counts lines from 1 and columns from 0.
    fn place_of(&self, line: usize, column: usize) -> Place {
        Place::at(self.layer, line, column.saturating_add(1))
    }
}

fn too_deep(at: Place) -> Problem {
    Problem::unreadable(at, format!("more than {MAX_DEPTH} levels of nesting"))
}

/// A scanner's complaint in plain words, with what usually causes it.
fn unreadable(place: Place, info: &str) -> Problem {
    let (message, hint) = match info {
        _ if info.contains("recursion") => ("too many levels of nesting", "close brackets and braces"),
        _ if info.contains("tab") => ("a tab cannot indent YAML", "indent with spaces"),
        _ if info.contains("mapping values are not allowed") => {
            ("a second `: ` in one line", "quote the value that contains `: `")
        }
        _ if info.contains("character: `@'") || info.contains("character: ``'") || info.contains("character: `%'") => {
            ("a value cannot begin with this character", "put it in quotes")
        }
        _ if info.contains("unknown anchor") => {
            ("there is no anchor of this name", "quote a value that begins with `*`, or write the `&anchor` before it")
        }
        _ if info.contains("anchor or alias") => ("this is no alias", "quote a value that begins with `*` or `&`"),
        _ if info.contains("expected ',' or ']'") => (
            "a `,` or `]` is missing before this",
            "close the list, or quote values that hold brackets, commas or `: `",
        ),
        _ if info.contains("expected ',' or '}'") => {
            ("a `,` or `}` is missing before this", "close the map, or quote values that hold braces, commas or `: `")
        }
        _ if info.contains("unexpected end of stream") => ("a quote is opened here and not closed", "close it"),
        _ if info.contains("simple key expect") => {
            ("the line before this is no key with a value", "write a `: ` after the key")
        }
        _ if info.contains("did not find expected key") => {
            ("no key is expected here", "indent keys of one map alike, and write a `: ` after each")
        }
        _ if info.contains("escape") => {
            ("an escape that YAML does not know", "use single quotes, where `\\` is itself")
        }
        other => return Problem::unreadable(place, format!("this is not YAML: {other}")),
    };
    Problem::unreadable(place, message).hint(hint)
}

#[cfg(test)]
mod tests;
