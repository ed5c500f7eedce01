//! Clover XML, as Clover, PHPUnit and Istanbul write it.

use super::cobertura;
use crate::{Unreadable, collect::Collector, mark::Mark, markup::Token, notes::Flaw, xml::Xml};

pub(super) const MARK: Mark = Mark::Root(|name, tag| {
    name == "coverage" && (tag.contains(" clover=") || (tag.contains(" generated=") && !tag.contains("-rate=")))
});

pub(super) fn parse(xml: &mut Xml<'_, '_>, out: &mut Collector<'_>) -> Result<(), Unreadable> {
    out.coverage.expect();
    let mut in_file = false;
    loop {
        match xml.next(&mut out.notes)? {
            Token::Open(tag) => match tag.name {
                "file" => {
                    // `path` is whole where there is one; PHPUnit writes the whole path as `name`.
                    let file = tag.attribute("path").or_else(|| tag.attribute("name")).filter(|file| !file.is_empty());
                    in_file = file.is_some();
                    match file {
                        Some(file) => out.coverage.file(&file),
                        None => out.notes.flaw(Flaw::NoLocation, || tag.place.to_string()),
                    }
                }
                // Lines of methods say how often a method was entered, which its statements say too.
                "line" if in_file && tag.attribute("type").as_deref() != Some("method") => {
                    cobertura::line(&tag, "num", "count", out);
                }
                _ => {}
            },
            Token::Close(place) if place.name() == "file" => in_file = false,
            Token::Close(_) | Token::Text(_) => {}
            Token::End => return Ok(()),
        }
    }
}
