//! ESLint's JSON: an array of files, each with its messages.

use loopgate_core::evidence::{ErrorType, Finding, FindingSeverity, SourceLocation};
use serde::{Deserialize, de::MapAccess};

use crate::{
    Unreadable,
    collect::{Collector, IsError},
    json::{Keys, Member, Number, Text, read_objects},
    mark::Mark,
    notes::Flaw,
    text::{self, MAX_MESSAGE},
    window::Window,
};

pub(super) const MARK: Mark = Mark::Array(|head, keys| {
    (keys.contains(&"filePath") && keys.contains(&"messages")) || head.split_whitespace().collect::<String>() == "[]"
});

pub(super) fn parse(window: &mut Window<'_>, out: &mut Collector<'_>) -> Result<(), Unreadable> {
    read_objects(window, &mut Files { path: None, out })
}

struct Files<'c, 'o> {
    path: Option<String>,
    out: &'c mut Collector<'o>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Message {
    rule_id: Text,
    severity: Number,
    message: Text,
    line: Number,
    fatal: Option<bool>,
}

impl Keys for Files<'_, '_> {
    fn begin(&mut self) {
        self.path = None;
    }

    fn key<'de, A: MapAccess<'de>>(&mut self, key: &str, member: Member<'_, A>) -> Result<(), A::Error> {
        match key {
            "filePath" => {
                self.path = member.get::<Text>()?.0.map(|path| text::path(&path));
                Ok(())
            }
            "messages" => member.each(|message| self.message(message)),
            _ => member.skip(),
        }
    }
}

impl Files<'_, '_> {
    fn message(&mut self, message: Message) {
        let is_fatal = message.fatal == Some(true);
        let (severity, is_error) = match message.severity.0 {
            // A file that cannot be parsed is no finding of a rule.
            _ if is_fatal => (FindingSeverity::High, IsError::Yes(ErrorType::SyntaxError)),
            Some(level) if level >= 2.0 => (FindingSeverity::High, IsError::Yes(ErrorType::LintError)),
            Some(level) if level <= 0.0 => return,
            _ => (FindingSeverity::Medium, IsError::No),
        };
        if self.path.is_none() {
            self.out.notes.flaw(Flaw::NoLocation, || "a file without filePath");
        }
        let place = |file: &String| SourceLocation { file: file.clone(), line: message.line.line(), function: None };
        let finding = Finding {
            rule: text::name(message.rule_id.0.as_deref().unwrap_or_default()),
            severity,
            message: text::clipped(message.message.0.as_deref().unwrap_or_default(), MAX_MESSAGE),
            location: self.path.as_ref().map(place),
        };
        self.out.diagnostic(finding, is_error, None);
    }
}
