//! Everything cargo prints, line by line: text and the two kinds of JSON come in any mixture
//! (`cargo test --message-format=json` prints its messages as JSON and the tests as text).

use super::{
    cargo_messages::CargoMessages,
    cargo_test::CargoTest,
    libtest_json::{self, LibtestJson},
};
use crate::{collect::Collector, notes::Flaw, text};

/// Reads lines.
#[derive(Default)]
pub(super) struct RustLines {
    text: CargoTest,
    libtest: LibtestJson,
    messages: CargoMessages,
    number: u64,
}

impl RustLines {
    pub fn line(&mut self, line: &str, out: &mut Collector<'_>) {
        self.number += 1;
        let number = self.number;
        match kind_of(line) {
            Kind::Text => self.text.line(&text::clean(line), out),
            Kind::Libtest => match serde_json::from_str::<libtest_json::Event<'_>>(line) {
                Ok(event) => self.libtest.event(&event, out),
                Err(_) => out.notes.flaw(Flaw::BadLine, || format!("line {number}")),
            },
            Kind::Message => {
                if self.messages.line(line, out).is_err() {
                    out.notes.flaw(Flaw::BadLine, || format!("line {number}"));
                }
            }
        }
    }

    /// Whether nothing is being told that a further line could belong to.
    pub fn is_idle(&self) -> bool {
        self.text.is_idle()
    }

    pub fn end(mut self, out: &mut Collector<'_>) {
        self.text.end(out);
        self.libtest.end(out);
    }
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
