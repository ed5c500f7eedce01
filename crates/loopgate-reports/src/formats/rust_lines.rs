//! Everything cargo prints, line by line: text and the two kinds of JSON come in any mixture
//! (`cargo test --message-format=json` prints its messages as JSON and the tests as text).

use super::{
    cargo_messages::CargoMessages,
    cargo_test::CargoTest,
    libtest_json::{self, LibtestJson},
};
use crate::{Unreadable, collect::Collector, notes::Flaw, text, window::Window};

pub(super) fn parse(window: &mut Window<'_>, out: &mut Collector<'_>) -> Result<(), Unreadable> {
    let mut text = CargoTest::default();
    let mut libtest = LibtestJson::default();
    let mut messages = CargoMessages::default();
    let mut number = 0_u64;
    while let Some(line) = window.line()? {
        number += 1;
        match kind_of(line) {
            Kind::Text => text.line(&text::clean(line), out),
            Kind::Libtest => match serde_json::from_str::<libtest_json::Event<'_>>(line) {
                Ok(event) => libtest.event(&event, out),
                Err(_) => out.notes.flaw(Flaw::BadLine, || format!("line {number}")),
            },
            Kind::Message => {
                if messages.line(line, out).is_err() {
                    out.notes.flaw(Flaw::BadLine, || format!("line {number}"));
                }
            }
        }
    }
    text.end(out);
    libtest.end(out);
    Ok(())
}

enum Kind {
    Text,
    Libtest,
    Message,
}

/// What a line is, by how it begins: the tools write their keys in a fixed order, and a test may print anything.
fn kind_of(line: &str) -> Kind {
    let start = line.trim_start().strip_prefix('{').map(str::trim_start);
    let is = |key: &str| start.is_some_and(|start| start.starts_with(key));
    if is("\"type\"") {
        Kind::Libtest
    } else if is("\"reason\"") || is("\"$message_type\"") || (is("\"message\"") && line.contains("\"spans\"")) {
        Kind::Message
    } else {
        Kind::Text
    }
}
