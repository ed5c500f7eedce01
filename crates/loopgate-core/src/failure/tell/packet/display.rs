//! The packet as plain text, for terminals and for fixers that read text.

use std::fmt;

use super::{
    FeedbackPacket,
    entry::{Entry, PastFailure},
};

/// The packet as plain text. Lines of traces stand behind `|`, so that nothing in them reads as ours.
impl fmt::Display for FeedbackPacket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.summary)?;
        if let Some(since) = &self.since_last {
            writeln!(
                f,
                "Changed since the last attempt: {} in {}",
                since.diff_summary,
                since.files_modified.join(", ")
            )?;
        }
        if !self.tried.is_empty() {
            writeln!(f, "Tried before, without success:")?;
            for tried in &self.tried {
                writeln!(f, "- attempt {}: {} ({})", tried.attempt, tried.description, tried.outcome)?;
            }
        }
        for (index, entry) in self.failures.iter().enumerate() {
            write!(f, "\n{}. {entry}", index + 1)?;
        }
        if self.not_shown > 0 {
            writeln!(f, "\nNot shown: {} more.", self.not_shown)?;
        }
        if let Some(place) = &self.full_text {
            writeln!(f, "\nFull text: {place}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let item = &self.item;
        writeln!(f, "{} ({}, id {})", item.location, self.kind.words(), item.id)?;
        writeln!(f, "   Reported: {}", item.reported)?;
        writeln!(f, "   Problem:  {}", item.problem)?;
        writeln!(f, "   Fix:      {}", item.action)?;
        writeln!(f, "   Why:      {}", item.reason)?;
        if let Some(command) = &item.reproduce {
            writeln!(f, "   Again:    {command}")?;
        }
        if !self.tests.is_empty() {
            let more = if self.more_tests > 0 { format!(", and {} more", self.more_tests) } else { String::new() };
            writeln!(f, "   Tests:    {}{more}", self.tests.join(", "))?;
        }
        if let (Some(expected), Some(actual)) = (&self.expected, &self.actual) {
            writeln!(f, "   Expected: {expected}")?;
            writeln!(f, "   Actual:   {actual}")?;
        }
        if let Some(past) = &self.similar {
            writeln!(f, "   Before:   {past}")?;
        }
        for line in self.trace.head.lines() {
            writeln!(f, "   | {line}")?;
        }
        if self.trace.cut_lines > 0 {
            writeln!(f, "   [{} lines cut]", self.trace.cut_lines)?;
        }
        for line in self.trace.tail.lines() {
            writeln!(f, "   | {line}")?;
        }
        Ok(())
    }
}

impl fmt::Display for PastFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seen {} {}", self.times_seen, if self.times_seen == 1 { "time" } else { "times" })?;
        if let Some(number) = self.last_in {
            write!(f, ", last in #{number}")?;
        }
        if let Some(sha) = self.fixed_by {
            write!(f, ", fixed by {}", sha.short())?;
        }
        if let Some(fix) = &self.fix {
            write!(f, ": {fix}")?;
        }
        Ok(())
    }
}
