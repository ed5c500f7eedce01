//! Cobertura XML. Methods and their class both list their lines; a file may have several classes. Paths are relative to
//! one of the directories in `<sources>`.

use crate::{
    Unreadable,
    collect::Collector,
    mark::Mark,
    markup::{Tag, Token},
    notes::Flaw,
    numbers,
    xml::Xml,
};

// SonarQube's own XML has the same root, with a version and nothing else.
pub(super) const MARK: Mark =
    Mark::Root(|name, tag| name == "coverage" && (tag.contains("-rate=") || !tag.contains(" version=")));

/// Bytes of a source directory's name, give or take a piece of text.
const LONGEST_SOURCE: usize = 4_096;

pub(super) fn parse(xml: &mut Xml<'_, '_>, out: &mut Collector<'_>) -> Result<(), Unreadable> {
    out.coverage.expect();
    let (mut in_file, mut source) = (false, None::<String>);
    loop {
        match xml.next(&mut out.notes)? {
            Token::Open(tag) => match tag.name {
                "class" => {
                    let file = tag.attribute("filename").filter(|file| !file.is_empty());
                    in_file = file.is_some();
                    match file {
                        Some(file) => out.coverage.file(&file),
                        None => out.notes.flaw(Flaw::NoLocation, || tag.place.to_string()),
                    }
                }
                "source" => source = Some(String::new()),
                "line" if in_file => line(&tag, "number", "hits", out),
                _ => {}
            },
            Token::Close(place) => match place.name() {
                "class" => in_file = false,
                "source" => out.coverage.source(&source.take().unwrap_or_default()),
                _ => {}
            },
            Token::Text(text) => {
                if let Some(source) = source.as_mut().filter(|source| source.len() < LONGEST_SOURCE) {
                    source.push_str(&text.decode());
                }
            }
            Token::End => return Ok(()),
        }
    }
}

/// A line given by two attributes, one of them its number, the other how often it ran.
pub(super) fn line(tag: &Tag<'_>, number: &str, hits: &str, out: &mut Collector<'_>) {
    let (mut at, mut ran) = (None, None);
    for (key, value) in tag.attributes() {
        if key == number {
            at = numbers::line(value.raw());
        } else if key == hits {
            ran = Some(numbers::count(value.raw()).unwrap_or_else(|clamped| {
                out.notes.flaw(Flaw::BadNumber, || tag.place.attribute(key));
                clamped
            }));
        }
    }
    match (at, ran) {
        (Some(at), Some(ran)) => out.coverage.line(at, ran),
        _ => out.notes.flaw(Flaw::BadLine, || tag.place.to_string()),
    }
}
