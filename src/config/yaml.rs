//! YAML text → [`Node`]: one pass over the events of `saphyr-parser`, each of which knows its line and column.
//!
//! Hostile texts are refused on the way: deep nesting, aliases that unfold to more than they are worth, keys written
//! twice.

use std::collections::HashMap;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span, StrInput};

use super::{
    node::{Entry, Kind, Map, Node},
    problem::{Layer, Place, Problem, shorten},
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
    // Spaces after the last line break mean nothing; the parser would take them for a line of a block scalar.
    let text = Some(text.trim_end_matches(' '))
        .filter(|trimmed| trimmed.ends_with(['\n', '\r']))
        .unwrap_or(text);
    let events = Parser::new_from_str(text);
    let node = YamlReader {
        layer,
        text,
        events,
        anchors: HashMap::new(),
        unfolded: 0,
    }
    .document()?;
    let node = node.unwrap_or(Node {
        place: Place::start(layer),
        kind: Kind::Map(Map::new()),
    });
    match node.kind {
        Kind::Map(_) | Kind::Null => Ok(node),
        _ => Err(
            Problem::unreadable(node.place, "a configuration is keys with values")
                .hint("begin with `version: 1`"),
        ),
    }
}

/// Reads values from events, each with what it holds. Levels are bounded, so that it may call itself.
struct YamlReader<'a> {
    layer: Layer,
    text: &'a str,
    events: Parser<'a, StrInput<'a>>,
    /// Whole values, aliases unfolded.
    anchors: HashMap<usize, Node>,
    /// Bytes of all that aliases stand for.
    unfolded: usize,
}

impl<'a> YamlReader<'a> {
    fn document(mut self) -> Result<Option<Node>, Problem> {
        let mut root = None;
        while let Some((event, span)) = self.next_event()? {
            match event {
                Event::DocumentStart(_) if root.is_some() => {
                    let problem = Problem::unreadable(
                        self.place(&span.start),
                        "a second YAML document starts here",
                    );
                    return Err(problem.hint("a configuration is one document; remove the `---`"));
                }
                Event::Nothing
                | Event::StreamStart
                | Event::StreamEnd
                | Event::DocumentStart(_)
                | Event::DocumentEnd => {}
                event => root = Some(self.value(event, span, 0)?),
            }
        }
        Ok(root)
    }

    fn next_event(&mut self) -> Result<Option<(Event<'a>, Span)>, Problem> {
        self.events
            .next()
            .transpose()
            .map_err(|error| unreadable(self.place(error.marker()), error.info()))
    }

    /// The value that begins with an event, inside so many collections.
    fn value(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Node, Problem> {
        let place = self.place(&span.start);
        let (anchor, kind) = match event {
            Event::Scalar(_, _, _, Some(_))
            | Event::SequenceStart(_, Some(_))
            | Event::MappingStart(_, Some(_)) => {
                let problem = Problem::unreadable(place, "YAML tags (`!…`) mean nothing here");
                return Err(problem.hint("quote a text that begins with `!`"));
            }
            Event::SequenceStart(..) | Event::MappingStart(..) if depth >= MAX_DEPTH => {
                return Err(too_deep(place));
            }
            Event::Scalar(text, style, anchor, None) => {
                let kind = resolve(self.without_added_break(&text, style, span), style);
                (
                    anchor,
                    kind.ok_or_else(|| Problem::unreadable(place, "this number is too large"))?,
                )
            }
            Event::SequenceStart(anchor, None) => (anchor, Kind::List(self.items(depth + 1)?)),
            Event::MappingStart(anchor, None) => (anchor, Kind::Map(self.entries(depth + 1)?)),
            Event::Alias(anchor) => return self.alias(anchor, place, depth),
            // The parser ends only what it has begun.
            _ => (0, Kind::Null),
        };
        let node = Node { place, kind };
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn items(&mut self, depth: usize) -> Result<Vec<Node>, Problem> {
        let mut items = Vec::new();
        while let Some((event, span)) = self
            .next_event()?
            .filter(|(event, _)| *event != Event::SequenceEnd)
        {
            items.push(self.value(event, span, depth)?);
        }
        Ok(items)
    }

    fn entries(&mut self, depth: usize) -> Result<Map, Problem> {
        let mut map = Map::new();
        while let Some((event, span)) = self
            .next_event()?
            .filter(|(event, _)| *event != Event::MappingEnd)
        {
            let key = self.place(&span.start);
            let name = match &event {
                Event::Scalar(text, ..) => text.to_string(),
                Event::Alias(_) => {
                    return Err(Problem::unreadable(
                        key,
                        "a key must be written out, not an alias",
                    ));
                }
                _ => {
                    return Err(Problem::unreadable(
                        key,
                        "a key must be a word, not a list or a map",
                    ));
                }
            };
            self.value(event, span, depth)?;
            if let Some(first) = map.get(&name) {
                let problem = Problem::unreadable(
                    key,
                    format!("the key `{}` is written twice", shorten(&name)),
                );
                return Err(problem.hint(format!("the first is on line {}", first.key.line)));
            }
            let Some((event, span)) = self.next_event()? else {
                break;
            };
            map.insert(
                name,
                Entry {
                    key,
                    node: self.value(event, span, depth)?,
                },
            );
        }
        with_merge_key(map)
    }

    /// What an alias stands for.
    fn alias(&mut self, anchor: usize, place: Place, depth: usize) -> Result<Node, Problem> {
        let Some(node) = self.anchors.get(&anchor) else {
            return Err(Problem::unreadable(
                place,
                "this alias stands inside the value it refers to",
            ));
        };
        let (height, bytes) = size(node);
        self.unfolded = self.unfolded.saturating_add(bytes);
        if self.unfolded > MAX_UNFOLDED {
            let problem =
                Problem::unreadable(place, "the aliases up to here unfold to more than 4 MiB");
            return Err(problem.hint("write fewer aliases of aliases"));
        }
        if depth + height > MAX_DEPTH {
            Err(too_deep(place))
        } else {
            Ok(node.clone())
        }
    }

    /// The parser ends each block scalar with a line break, also one whose last line has none because the whole text
    /// ends there.
    fn without_added_break<'t>(&self, scalar: &'t str, style: ScalarStyle, span: Span) -> &'t str {
        let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
        if is_block
            && !self.text.ends_with(['\n', '\r'])
            && span.end.index() >= self.text.chars().count()
        {
            scalar.strip_suffix('\n').unwrap_or(scalar)
        } else {
            scalar
        }
    }

    /// The parser counts lines from 1 and columns from 0.
    fn place(&self, marker: &Marker) -> Place {
        Place::at(self.layer, marker.line(), marker.col().saturating_add(1))
    }
}

/// What a scalar means, by the core schema of YAML 1.2, in which numbers are decimal here: quoted and block scalars are
/// text, a plain one is what it looks like. None for a whole number that no setting can hold.
fn resolve(text: &str, style: ScalarStyle) -> Option<Kind> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_whole = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    let infinity = if text.starts_with('-') {
        f64::NEG_INFINITY
    } else {
        f64::INFINITY
    };
    Some(match (text, digits) {
        _ if style != ScalarStyle::Plain => Kind::Text(text.to_owned()),
        ("" | "~" | "null" | "Null" | "NULL", _) => Kind::Null,
        ("true" | "True" | "TRUE", _) => Kind::Bool(true),
        ("false" | "False" | "FALSE", _) => Kind::Bool(false),
        (".nan" | ".NaN" | ".NAN", _) => Kind::Float(f64::NAN),
        (_, ".inf" | ".Inf" | ".INF") => Kind::Float(infinity),
        // `007` is text: a number has one way to be written.
        _ if is_whole && digits.len() > 1 && digits.starts_with('0') => Kind::Text(text.to_owned()),
        _ if is_whole => Kind::Whole(text.parse().ok()?),
        _ => match text.parse() {
            Ok(number) if f64::is_finite(number) => Kind::Float(number),
            _ => Kind::Text(text.to_owned()),
        },
    })
}

/// The levels of a value, and its bytes.
fn size(node: &Node) -> (usize, usize) {
    let sum = |(height, bytes): (usize, usize), (below, more): (usize, usize)| {
        (height.max(below + 1), bytes + more)
    };
    match &node.kind {
        Kind::Text(text) => (0, VALUE_COST + text.len()),
        Kind::List(items) => items.iter().map(size).fold((1, VALUE_COST), sum),
        Kind::Map(map) => {
            let keys = map.keys().map(|key| VALUE_COST + key.len()).sum::<usize>();
            map.values()
                .map(|entry| size(&entry.node))
                .fold((1, VALUE_COST + keys), sum)
        }
        _ => (0, VALUE_COST),
    }
}

/// `<<: *anchor` and `<<: [*a, *b]`: their keys stand in for those that are not written here.
fn with_merge_key(mut map: Map) -> Result<Map, Problem> {
    let Some(merged) = map.shift_remove("<<") else {
        return Ok(map);
    };
    let refused =
        |place| Problem::unreadable(place, "`<<` takes an alias of a map, or a list of them");
    let parts = match merged.node {
        Node {
            kind: Kind::List(items),
            ..
        } => items,
        node => vec![node],
    };
    for part in parts {
        let Kind::Map(entries) = part.kind else {
            return Err(refused(part.place));
        };
        for (key, entry) in entries {
            map.entry(key).or_insert(entry);
        }
    }
    Ok(map)
}

fn too_deep(at: Place) -> Problem {
    Problem::unreadable(at, format!("more than {MAX_DEPTH} levels of nesting"))
}

/// Scanners' complaints by words of them: what each means in plain words, and what usually helps.
const COMPLAINTS: [(&str, &str, &str); 14] = [
    (
        "recursion",
        "too many levels of nesting",
        "close brackets and braces",
    ),
    ("tab", "a tab cannot indent YAML", "indent with spaces"),
    (
        "mapping values are not allowed",
        "a second `: ` in one line",
        "quote the value that contains `: `",
    ),
    ("character: `@'", NO_BEGINNING, "put it in quotes"),
    ("character: ``'", NO_BEGINNING, "put it in quotes"),
    ("character: `%'", NO_BEGINNING, "put it in quotes"),
    (
        "unknown anchor",
        "there is no anchor of this name",
        "quote a value that begins with `*`, or write the `&anchor` before it",
    ),
    (
        "anchor or alias",
        "this is no alias",
        "quote a value that begins with `*` or `&`",
    ),
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
    (
        "unexpected end of stream",
        "a quote is opened here and not closed",
        "close it",
    ),
    (
        "simple key expect",
        "the line before this is no key with a value",
        "write a `: ` after the key",
    ),
    (
        "did not find expected key",
        "no key is expected here",
        "indent keys of one map alike, and write a `: ` after each",
    ),
    (
        "escape",
        "an escape that YAML does not know",
        "use single quotes, where `\\` is itself",
    ),
];

const NO_BEGINNING: &str = "a value cannot begin with this character";

fn unreadable(place: Place, info: &str) -> Problem {
    match COMPLAINTS
        .into_iter()
        .find(|(words, _, _)| info.contains(words))
    {
        Some((_, message, hint)) => Problem::unreadable(place, message).hint(hint),
        None => Problem::unreadable(place, format!("this is not YAML: {info}")),
    }
}

#[cfg(test)]
mod tests;
