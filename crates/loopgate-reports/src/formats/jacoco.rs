//! JaCoCo XML: per source file the instructions missed and covered on each line.

use crate::{
    Unreadable,
    collect::Collector,
    mark::Mark,
    markup::{Tag, Token},
    notes::Flaw,
    numbers,
    xml::Xml,
};

pub(super) const MARK: Mark = Mark::Root(|name, _| name == "report");

pub(super) fn parse(xml: &mut Xml<'_, '_>, out: &mut Collector<'_>) -> Result<(), Unreadable> {
    out.coverage.expect();
    let mut package = String::new();
    let (mut in_file, mut has_files) = (false, false);
    loop {
        match xml.next(&mut out.notes)? {
            Token::Open(tag) => match tag.name {
                "package" => package = tag.attribute("name").unwrap_or_default(),
                "sourcefile" => {
                    let file = tag.attribute("name").filter(|file| !file.is_empty());
                    in_file = file.is_some();
                    has_files |= in_file;
                    match file {
                        // The report knows packages, not source roots: `com/acme/Cart.java`.
                        Some(file) if package.is_empty() => out.coverage.file(&file),
                        Some(file) => out.coverage.file(&format!("{package}/{file}")),
                        None => out.notes.flaw(Flaw::NoLocation, || tag.place.to_string()),
                    }
                }
                "line" if in_file => line(&tag, out),
                "counter" if in_file => counter(&tag, out),
                // Of the whole report, which matters where it lists no file.
                "counter" if tag.place.depth() == 2 && !has_files => {
                    out.coverage.file("");
                    counter(&tag, out);
                }
                _ => {}
            },
            Token::Close(place) => match place.name() {
                "package" => package.clear(),
                "sourcefile" => in_file = false,
                _ => {}
            },
            Token::Text(_) => {}
            Token::End => return Ok(()),
        }
    }
}

/// `<counter type="LINE" missed="1" covered="16"/>`
fn counter(tag: &Tag<'_>, out: &mut Collector<'_>) {
    let count = |name: &str| tag.attribute(name).and_then(|value| numbers::count(&value).ok()).unwrap_or(0);
    if tag.attribute("type").as_deref() == Some("LINE") {
        let covered = count("covered");
        out.coverage.counter(covered, covered.saturating_add(count("missed")));
    }
}

fn line(tag: &Tag<'_>, out: &mut Collector<'_>) {
    let (mut at, mut missed, mut covered) = (None, 0, 0);
    for (key, value) in tag.attributes() {
        match key {
            "nr" => at = numbers::line(value.raw()),
            "mi" => missed = numbers::count(value.raw()).unwrap_or(0),
            "ci" => covered = numbers::count(value.raw()).unwrap_or(0),
            _ => {}
        }
    }
    match at {
        // A line without instructions is not executable.
        Some(at) if missed > 0 || covered > 0 => out.coverage.line(at, covered),
        Some(_) => {}
        None => out.notes.flaw(Flaw::BadLine, || tag.place.to_string()),
    }
}
