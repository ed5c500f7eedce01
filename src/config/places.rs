//! Where everything stands in a YAML text, and whether the text is one we are willing to read.
//!
//! `serde_yaml` reads the values but forgets where they stood; this is the skeleton of the same document, made from
//! the events of `saphyr-parser`, in which every key and every value has its line and column. It is built first, and
//! refuses what could hurt: deep nesting, aliases that unfold to more than they are worth, keys written twice.

use std::{collections::HashMap, rc::Rc};

use saphyr_parser::{Event, Parser, Span};

use super::{
    problem::{Problem, shorten},
    source::{Layer, Place},
};

/// Levels of nesting, aliases unfolded.
const MAX_DEPTH: usize = 64;
/// Bytes of the document with all aliases unfolded; without any, no file within the size cap comes near.
const MAX_UNFOLDED: usize = 4 * 1024 * 1024;
/// What a value costs beside its text.
const VALUE_COST: usize = 16;

/// One value's place, and those of what it contains.
#[derive(Debug)]
pub(super) struct Places {
    pub at: Place,
    pub inside: Inside,
    /// Levels below this one.
    height: usize,
    /// Bytes, aliases unfolded.
    weight: usize,
}

#[derive(Debug)]
pub(super) enum Inside {
    Scalar,
    List(Vec<Rc<Places>>),
    /// In the order of the text.
    Map(Vec<KeyPlace>),
}

/// A key as it is written, and where.
#[derive(Debug)]
pub(super) struct KeyPlace {
    pub key: String,
    pub at: Place,
    pub value: Rc<Places>,
}

impl Places {
    /// The skeleton of a text; none where the document is empty.
    ///
    /// # Errors
    /// When the text is not YAML, or YAML that is refused.
    pub fn of(text: &str, layer: Layer) -> Result<Option<Rc<Self>>, Problem> {
        Builder { layer, open: Vec::new(), anchors: HashMap::new(), root: None }.run(text)
    }

    fn new(at: Place, inside: Inside, text_len: usize) -> Self {
        let children: Vec<&Rc<Self>> = match &inside {
            Inside::Scalar => Vec::new(),
            Inside::List(items) => items.iter().collect(),
            Inside::Map(entries) => entries.iter().map(|entry| &entry.value).collect(),
        };
        let height = children.iter().map(|child| child.height + 1).max().unwrap_or(0);
        let weight = children.iter().fold(VALUE_COST + text_len, |sum, child| sum.saturating_add(child.weight));
        Self { at, inside, height, weight }
    }
}

/// A collection whose end has not been seen.
struct Open {
    at: Place,
    anchor: usize,
    items: Items,
    keys_len: usize,
}

enum Items {
    List(Vec<Rc<Places>>),
    /// `key` waits for its value.
    Map {
        done: Vec<KeyPlace>,
        key: Option<(String, Place)>,
        seen: HashMap<String, Place>,
    },
}

struct Builder {
    layer: Layer,
    open: Vec<Open>,
    anchors: HashMap<usize, Rc<Places>>,
    root: Option<Rc<Places>>,
}

impl Builder {
    fn run(mut self, text: &str) -> Result<Option<Rc<Places>>, Problem> {
        let mut documents = 0;
        for event in Parser::new_from_str(text) {
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
            Event::Scalar(text, _, anchor, None) => {
                let places = Rc::new(Places::new(at, Inside::Scalar, text.len()));
                self.value(places, anchor, Some(text.as_ref()), at)
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
        let places = Rc::new(Places::new(open.at, inside, open.keys_len));
        self.value(places, open.anchor, None, open.at)
    }

    /// A whole value was read: it is a key or an item of the innermost open collection, or the document.
    fn value(&mut self, places: Rc<Places>, anchor: usize, text: Option<&str>, at: Place) -> Result<(), Problem> {
        if self.open.len() + places.height > MAX_DEPTH {
            return Err(too_deep(at));
        }
        if places.weight > MAX_UNFOLDED {
            let problem = Problem::unreadable(places.at, "the aliases in here unfold to more than 4 MiB");
            return Err(problem.hint("write fewer aliases of aliases"));
        }
        if anchor != 0 {
            self.anchors.insert(anchor, Rc::clone(&places));
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(places);
            return Ok(());
        };
        match &mut open.items {
            Items::List(items) => items.push(places),
            Items::Map { done, key, seen } => match key.take() {
                Some((key, key_at)) => done.push(KeyPlace { key, at: key_at, value: places }),
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
