//! What a `failure` or `error` element of JUnit XML says of a test.

use super::{cargo_failure, go_text};
use crate::{Case, Clip, MAX_MESSAGE, Tag, text};
use loopgate_core::evidence::{Failure, TestFramework};

/// What a `failure` or `error` says.
pub(super) struct Details {
    pub rank: u8,
    pub depth: usize,
    /// Depth of an element inside whose text is not the failure's (captured output).
    pub muted: Option<usize>,
    pub class: String,
    pub message: String,
    pub trace: Clip,
    /// It is what the test printed, in which the message is to be found.
    pub is_printed: bool,
}

impl Details {
    pub fn text(&mut self, piece: &str) {
        if self.muted.is_none() {
            self.trace.push(piece);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.message.trim().is_empty() && self.trace.held() == 0
    }

    /// Whether nothing but Go's own words stands there.
    pub fn is_chatter(&self) -> bool {
        self.trace.text().lines().all(go_text::is_chatter)
    }

    pub fn begin(tag: &Tag<'_>, rank: u8) -> Self {
        Self {
            rank,
            depth: tag.place.depth,
            muted: None,
            class: text::name(&tag.attribute("type").unwrap_or_default()),
            message: text::clipped(&tag.attribute("message").unwrap_or_default(), MAX_MESSAGE),
            trace: Clip::default(),
            is_printed: false,
        }
    }
}

/// The failure, from what its element says.
pub(super) fn describe(details: Option<&Details>, case: &Case<'_>, framework: Option<TestFramework>) -> Failure {
    let Some(details) = details else { return Failure::default() };
    let trace = details.trace.text();
    // These print the same text here as on a terminal.
    match framework {
        Some(TestFramework::CargoTest) => {
            return Failure { test_name: None, ..cargo_failure::failure(&trace, case.name, "") };
        }
        Some(TestFramework::GoTest) => return go_text::failure(&trace, case.class),
        _ => {}
    }
    let trace = trace.trim();
    if details.is_printed {
        return text::failure(Failure::default(), "", trace);
    }
    // pytest says no more of a file that cannot be imported.
    let says_nothing = matches!(details.message.trim(), "" | "collection failure") && !trace.is_empty();
    let (class, message) = match says_nothing.then(|| text::failure(Failure::default(), "", trace)) {
        Some(read) => (read.error_class, read.error_message),
        None => (None, details.message.trim().to_owned()),
    };
    // Some writers repeat the element's name as the class, or describe the outcome in words.
    let is_class = |class: &&str| !class.is_empty() && !class.contains(' ') && !matches!(*class, "failure" | "error");
    Failure {
        error_class: Some(details.class.trim()).filter(is_class).map(str::to_owned).or(class),
        error_message: text::clipped(&message, MAX_MESSAGE),
        stack_trace: (!trace.is_empty() && trace != message).then(|| trace.to_owned()),
        ..Failure::default()
    }
}

/// Says where the test stands, from whichever attribute holds a path. The line is that of the test's beginning, so it
/// is used only if there is no trace that could say better.
pub(super) fn place_failure(failure: &mut Failure, line: Option<u32>, paths: [&str; 3]) {
    let [file, ..] = paths;
    let known = paths.into_iter().find(|path| text::looks_like_path(path)).or(Some(file));
    let known = known.filter(|path| !path.is_empty()).map(text::path);
    failure.test_file = failure.test_file.take().or(known);
    if failure.stack_trace.is_none() && failure.line_number.is_none() {
        failure.line_number = line;
    }
}
