//! Checkstyle XML, which many linters of other languages write too.

use loopgate_core::evidence::FindingSeverity;

use crate::{Collector, Flaw, Mark, Tag, Token, Unreadable, Window, Xml, numbers, severity, text};

pub(super) const MARK: Mark = Mark::Root(|name, _| name == "checkstyle");

pub(super) fn parse(window: &mut Window<'_>, out: &mut Collector) -> Result<(), Unreadable> {
    let mut xml = Xml::new(window);
    let mut file = None;
    loop {
        match xml.next(&mut out.notes)? {
            Token::Open(tag) => match tag.name {
                "file" => file = tag.attribute("name").filter(|name| !name.is_empty()),
                "error" => report(&tag, file.as_deref(), out),
                _ => {}
            },
            Token::Close(place) if place.name() == "file" => file = None,
            Token::Close(_) | Token::Text(_) => {}
            Token::End => return Ok(()),
        }
    }
}

fn report(tag: &Tag<'_>, file: Option<&str>, out: &mut Collector) {
    let severity = match tag.attribute("severity").as_deref() {
        // Checkstyle itself lists what was switched off.
        Some("ignore") => return,
        Some(word) => severity::of_word(word),
        None => Some(FindingSeverity::High),
    };
    let severity = severity.unwrap_or_else(|| {
        out.notes
            .flaw(Flaw::UNKNOWN_RESULT, || tag.place.attribute("severity"));
        FindingSeverity::Medium
    });
    if file.is_none() {
        out.notes.flaw(Flaw::NO_LOCATION, || tag.place.to_string());
    }
    let line = tag.attribute("line").and_then(|line| numbers::line(&line));
    let [rule, message] = ["source", "message"].map(|key| tag.attribute(key).unwrap_or_default());
    out.lint(text::finding(
        &rule,
        severity,
        &message,
        file.map(|file| text::location(file, line)),
    ));
}
