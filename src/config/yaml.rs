//! YAML text → [`Node`]: one pass over the events of `saphyr-parser`, each of which knows its line and column.
//!
//! Hostile texts are refused on the way: deep nesting, aliases that unfold to more than they are worth, keys written
//! twice.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use super::{
    node::{Entry, Kind, Map, Node},
    place::{Layer, Place},
    problem::{Problem, shorten},
    scalar::{self, TooLarge},
    source::Source,
};

/// Levels of nesting, aliases unfolded.
const MAX_DEPTH: usize = 64;
/// Bytes of all that aliases stand for; no file within the size cap that means something comes near.
const MAX_UNFOLDED: usize = 4 * 1024 * 1024;
/// What a value costs beside its text.
const VALUE_COST: usize = 16;

/// Reads the text of a layer.
///
/// # Errors
/// When the text is not YAML, is YAML that is refused, or is not keys with values.
pub(super) fn read(source: Source<'_>, layer: Layer) -> Result<Node, Problem> {
    let text = source.checked(layer)?;
    // Spaces after the last line break say nothing; the parser would take them for a line of a block scalar.
    let text = Some(text.trim_end_matches(' ')).filter(|trimmed| trimmed.ends_with(['\n', '\r'])).unwrap_or(text);
    let builder = Builder { layer, text, open: Vec::new(), anchors: HashMap::new(), unfolded: 0, root: None };
    let Some(node) = builder.run()? else {
        return Ok(Node::empty(Place::start(layer)));
    };
    match node.kind {
        Kind::Map(_) | Kind::Null => Ok(node),
        _ => {
            Err(Problem::unreadable(node.place, "a configuration is keys with values").hint("begin with `version: 1`"))
        }
    }
}

/// A whole value, aliases unfolded.
#[derive(Clone)]
struct Value {
    node: Node,
    /// Levels below this one.
    height: usize,
    /// Bytes.
    weight: usize,
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
    height: usize,
    weight: usize,
}

enum Items {
    List(Vec<Node>),
    /// `key` waits for its value.
    Map {
        done: Map,
        key: Option<(String, Place)>,
    },
}

struct Builder<'a> {
    layer: Layer,
    text: &'a str,
    open: Vec<Open>,
    anchors: HashMap<usize, Value>,
    /// Bytes of all that aliases stand for.
    unfolded: usize,
    root: Option<Node>,
}

impl Builder<'_> {
    fn run(mut self) -> Result<Option<Node>, Problem> {
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
                let kind = scalar::resolve(text, style)
                    .map_err(|TooLarge| Problem::unreadable(at, "this number is too large"))?;
                let value = Value { node: Node { place: at, kind }, height: 0, weight: VALUE_COST + text.len() };
                self.value(value, anchor, Some(text), at)
            }
            Event::SequenceStart(anchor, None) => self.enter(at, anchor, Items::List(Vec::new())),
            Event::MappingStart(anchor, None) => self.enter(at, anchor, Items::Map { done: Map::new(), key: None }),
            Event::SequenceEnd | Event::MappingEnd => self.leave(),
            Event::Alias(anchor) => {
                let Some(value) = self.anchors.get(&anchor) else {
                    return Err(Problem::unreadable(at, "this alias stands inside the value it refers to"));
                };
                self.unfolded = self.unfolded.saturating_add(value.weight);
                if self.unfolded > MAX_UNFOLDED {
                    let problem = Problem::unreadable(at, "the aliases up to here unfold to more than 4 MiB");
                    return Err(problem.hint("write fewer aliases of aliases"));
                }
                self.value(value.clone(), 0, None, at)
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
        self.open.push(Open { at, anchor, items, height: 0, weight: VALUE_COST });
        Ok(())
    }

    fn leave(&mut self) -> Result<(), Problem> {
        // The parser closes only what it has opened.
        let Some(open) = self.open.pop() else { return Ok(()) };
        let kind = match open.items {
            Items::List(items) => Kind::List(items),
            Items::Map { done, .. } => Kind::Map(with_merge_key(done)?),
        };
        let value = Value { node: Node { place: open.at, kind }, height: open.height, weight: open.weight };
        self.value(value, open.anchor, None, open.at)
    }

    /// A whole value was read: it is a key or an item of the innermost open collection, or the document.
    fn value(&mut self, value: Value, anchor: usize, text: Option<&str>, at: Place) -> Result<(), Problem> {
        if self.open.len() + value.height > MAX_DEPTH {
            return Err(too_deep(at));
        }
        if anchor != 0 {
            self.anchors.insert(anchor, value.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(value.node);
            return Ok(());
        };
        open.height = open.height.max(value.height + 1);
        open.weight = open.weight.saturating_add(value.weight);
        match &mut open.items {
            Items::List(items) => items.push(value.node),
            Items::Map { done, key } => match (key.take(), text) {
                (Some((key, place)), _) => drop(done.insert(key, Entry { key: place, node: value.node })),
                (None, None) => return Err(Problem::unreadable(at, "a key must be written out, not an alias")),
                (None, Some(text)) => {
                    if let Some(first) = done.get(text) {
                        let problem = Problem::unreadable(at, format!("the key `{}` is written twice", shorten(text)));
                        return Err(problem.hint(format!("the first is on line {}", first.key.line)));
                    }
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

/// Scanners' complaints by words of them: what each means in plain words, and what usually helps.
const COMPLAINTS: [(&str, &str, &str); 14] = [
    ("recursion", "too many levels of nesting", "close brackets and braces"),
    ("tab", "a tab cannot indent YAML", "indent with spaces"),
    ("mapping values are not allowed", "a second `: ` in one line", "quote the value that contains `: `"),
    ("character: `@'", NO_BEGINNING, "put it in quotes"),
    ("character: ``'", NO_BEGINNING, "put it in quotes"),
    ("character: `%'", NO_BEGINNING, "put it in quotes"),
    (
        "unknown anchor",
        "there is no anchor of this name",
        "quote a value that begins with `*`, or write the `&anchor` before it",
    ),
    ("anchor or alias", "this is no alias", "quote a value that begins with `*` or `&`"),
    (
        "expected ',' or ']'",
        "a `,` or `]` is missing before this",
        "close the list, or quote values that hold brackets, commas or `: `",
    ),
    (
        "expected ',' or '}'",
        "a `,` or `}` is missing before this",
        "close the map, or quote values that hold braces, commas or `: `",
    ),
    ("unexpected end of stream", "a quote is opened here and not closed", "close it"),
    ("simple key expect", "the line before this is no key with a value", "write a `: ` after the key"),
    (
        "did not find expected key",
        "no key is expected here",
        "indent keys of one map alike, and write a `: ` after each",
    ),
    ("escape", "an escape that YAML does not know", "use single quotes, where `\\` is itself"),
];

const NO_BEGINNING: &str = "a value cannot begin with this character";

fn unreadable(place: Place, info: &str) -> Problem {
    match COMPLAINTS.into_iter().find(|(words, _, _)| info.contains(words)) {
        Some((_, message, hint)) => Problem::unreadable(place, message).hint(hint),
        None => Problem::unreadable(place, format!("this is not YAML: {info}")),
    }
}

#[cfg(test)]
mod tests;
