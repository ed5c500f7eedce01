//! Coverage in XML: Cobertura, Clover (which PHPUnit and Istanbul write too) and JaCoCo. All of them have an element of
//! a file, and in it one of a line with its number and how often it ran.
//!
//! Cobertura's methods and their class both list their lines, and a file may have several classes. Its paths are
//! relative to one of the directories in `<sources>`.

use crate::{Collector, Flaw, Mark, Tag, Token, Unreadable, Window, Xml, numbers};

// SonarQube's own XML has the same root, with a version and nothing else.
pub(super) const COBERTURA_MARK: Mark = Mark::Root(|name, tag| {
    name == "coverage" && (tag.contains("-rate=") || !tag.contains(" version="))
});
pub(super) const CLOVER_MARK: Mark = Mark::Root(|name, tag| {
    name == "coverage"
        && (tag.contains(" clover=") || (tag.contains(" generated=") && !tag.contains("-rate=")))
});
pub(super) const JACOCO_MARK: Mark = Mark::Root(|name, _| name == "report");

/// Names of elements and attributes; empty where a format has none.
pub(super) struct Dialect {
    /// The element of a file, and the attributes that name it, best first.
    file: &'static str,
    paths: &'static [&'static str],
    /// The element around it whose name stands in front of the file's.
    package: &'static str,
    /// The element around that: a module, in front of whose files its name stands, so that two modules may have files of
    /// one path.
    group: &'static str,
    /// Of a line its number, how often it or how much of it ran, and how much of it did not.
    number: &'static str,
    hits: &'static str,
    missed: &'static str,
}

pub(super) const COBERTURA: Dialect = Dialect {
    file: "class",
    paths: &["filename"],
    package: "",
    group: "",
    number: "number",
    hits: "hits",
    missed: "",
};
/// `path` is whole where there is one; PHPUnit writes the whole path as `name`.
pub(super) const CLOVER: Dialect = Dialect {
    file: "file",
    paths: &["path", "name"],
    package: "",
    group: "",
    number: "num",
    hits: "count",
    missed: "",
};
/// It knows packages, not source roots: `com/acme/Cart.java`.
pub(super) const JACOCO: Dialect = Dialect {
    file: "sourcefile",
    paths: &["name"],
    package: "package",
    group: "group",
    number: "nr",
    hits: "ci",
    missed: "mi",
};

/// Bytes of a source directory's name, give or take a piece of text.
const LONGEST_SOURCE: usize = 4_096;

pub(super) fn parse(
    dialect: &Dialect,
    window: &mut Window<'_>,
    out: &mut Collector,
) -> Result<(), Unreadable> {
    let mut xml = Xml::new(window);
    out.coverage.expected = true;
    let (mut in_file, mut has_files) = (false, false);
    let (mut group, mut package, mut source) = (String::new(), String::new(), None::<String>);
    loop {
        match xml.next(&mut out.notes)? {
            Token::Open(tag) if tag.name == dialect.file => {
                let path = dialect
                    .paths
                    .iter()
                    .find_map(|name| tag.attribute(name))
                    .filter(|path| !path.is_empty());
                in_file = path.is_some();
                has_files |= in_file;
                match path {
                    Some(path) => {
                        let parts = [&group, &package, &*path];
                        let parts = parts.into_iter().filter(|part| !part.is_empty());
                        out.coverage.file(&parts.collect::<Vec<_>>().join("/"));
                    }
                    None => out.notes.flaw(Flaw::NO_LOCATION, || tag.place.to_string()),
                }
            }
            Token::Open(tag) => match tag.name {
                "line" if in_file => line(dialect, &tag, out),
                "counter" if in_file => counter(&tag, out),
                // Of the whole report, which matters where it lists no file.
                "counter" if tag.place.depth == 2 && !has_files => {
                    out.coverage.file("");
                    counter(&tag, out);
                }
                "source" => source = Some(String::new()),
                name if name == dialect.package => {
                    package = tag.attribute("name").unwrap_or_default()
                }
                name if name == dialect.group => group = tag.attribute("name").unwrap_or_default(),
                _ => {}
            },
            Token::Text(text) => {
                if let Some(source) = source
                    .as_mut()
                    .filter(|source| source.len() < LONGEST_SOURCE)
                {
                    source.push_str(&text);
                }
            }
            Token::Close(place) => match place.name() {
                "source" => out.coverage.source(&source.take().unwrap_or_default()),
                name if name == dialect.file => in_file = false,
                name if name == dialect.package => package.clear(),
                name if name == dialect.group => group.clear(),
                _ => {}
            },
            Token::End => return Ok(()),
        }
    }
}

fn line(dialect: &Dialect, tag: &Tag<'_>, out: &mut Collector) {
    // JaCoCo leaves out what is 0.
    let counts_parts = !dialect.missed.is_empty();
    let (mut number, mut hits, mut missed) = (None, counts_parts.then_some(0), 0);
    for (key, value) in tag.attributes() {
        let mut count = || {
            out.notes
                .usable(numbers::count(value), || tag.place.attribute(key))
        };
        match key {
            // Clover's lines of methods show how often a method was entered, which its statements show too.
            "type" if value == "method" => return,
            _ if key == dialect.number => number = numbers::line(value),
            _ if key == dialect.hits => hits = Some(count()),
            _ if key == dialect.missed => missed = count(),
            _ => {}
        }
    }
    match (number, hits) {
        // A line without instructions is not executable.
        (Some(_), Some(0)) if counts_parts && missed == 0 => {}
        (Some(number), Some(hits)) => out.coverage.line(number, hits),
        _ => out.notes.flaw(Flaw::BAD_LINE, || tag.place.to_string()),
    }
}

/// `<counter type="LINE" missed="1" covered="16"/>`
fn counter(tag: &Tag<'_>, out: &mut Collector) {
    let count = |name: &str| {
        tag.attribute(name)
            .and_then(|value| numbers::count(&value).ok())
            .unwrap_or(0)
    };
    if tag.attribute("type").as_deref() == Some("LINE") {
        let covered = count("covered");
        out.coverage
            .counter(covered, covered.saturating_add(count("missed")));
    }
}
