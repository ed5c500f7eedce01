//! The lines that stay, where a patch shows them in one block with code that changes: the call whose argument changes,
//! the function that it stands in.
//!
//! Blocks are told by their indentation, in every language alike.

use super::{FileLines, Side};

/// A line where it stands in a patch.
pub(super) struct Shown<'a> {
    kind: Kind,
    /// At the base for a removed line, at the head for others; of a function, where its hunk begins.
    number: u32,
    text: &'a str,
    /// Blanks before it.
    indent: usize,
}

#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// The function that the header of a hunk names. The hunk begins here.
    Function,
    Unchanged,
    /// By the index in its side.
    Added(usize),
    Removed(usize),
}

impl<'a> Shown<'a> {
    pub(super) fn new(kind: Kind, number: u32, text: &'a str) -> Self {
        Self { kind, number, text, indent: text.len() - text.trim_start().len() }
    }

    /// Whether the lines beside it are told by it. A line that only logs tells nothing of the call beside it.
    fn changes_code(&self, file: &FileLines<'_>) -> bool {
        match self.kind {
            _ if logs(self.text) => false,
            Kind::Added(index) => file.added.lines[index].is_code,
            Kind::Removed(index) => file.removed.lines[index].is_code,
            Kind::Function | Kind::Unchanged => false,
        }
    }

    fn stays(&self) -> bool {
        matches!(self.kind, Kind::Function | Kind::Unchanged) && !self.text.is_empty()
    }
}

/// How a line that stays stands to the changes of its hunk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Relation {
    Apart,
    Beside,
    /// A change stands within its block.
    Holds,
}

/// Whether a line does nothing but write a log.
fn logs(text: &str) -> bool {
    let text = text.trim_start();
    ["log.", "log(", "logger.", "logging.", "console.", "tracing::", "Log.", "Logger."]
        .iter()
        .any(|word| text.starts_with(word))
}

/// The lines of a patch that stay and stand with a change. Those that hold it are code.
pub(super) fn of<'a>(file: &FileLines<'a>, shown: &[Shown<'a>]) -> Side<'a> {
    let mut side = Side::default();
    let hunks = shown.chunk_by(|_, next| !matches!(next.kind, Kind::Function));
    // Of a new file nothing stays.
    for hunk in hunks.filter(|hunk| hunk.iter().any(|line| line.stays())) {
        let mut relations = vec![Relation::Apart; hunk.len()];
        relate(file, hunk.iter().enumerate(), &mut relations, Relation::Beside);
        relate(file, hunk.iter().enumerate().rev(), &mut relations, Relation::Holds);
        for (line, relation) in hunk.iter().zip(relations) {
            if relation > Relation::Apart {
                side.push(line.number, line.text, relation == Relation::Holds);
            }
        }
    }
    side
}

/// Relates the lines that come after a change in this order. Only one that comes before it can hold it, so that `most`
/// is [`Relation::Beside`] downwards.
fn relate<'s, 'a: 's>(
    file: &FileLines<'_>,
    lines: impl Iterator<Item = (usize, &'s Shown<'a>)>,
    relations: &mut [Relation],
    most: Relation,
) {
    // The indentation of the last change, and the least of a line since.
    let mut change: Option<(usize, usize)> = None;
    for (index, line) in lines {
        if line.changes_code(file) {
            change = Some((line.indent, usize::MAX));
        } else if let Some((indent, least)) = &mut change
            && line.stays()
        {
            let outer = line.indent.min(*indent);
            // At the margin one definition follows another: there only the head of one stands with what it holds.
            let is_beside = if outer > 0 { *least >= outer } else { *least > 0 && line.indent != *indent };
            let holds = line.indent < *indent && line.indent < *least;
            let relation = match (is_beside, holds) {
                (false, _) => Relation::Apart,
                (true, false) => Relation::Beside,
                (true, true) => most,
            };
            relations[index] = relations[index].max(relation);
            *least = line.indent.min(*least);
        }
    }
}
