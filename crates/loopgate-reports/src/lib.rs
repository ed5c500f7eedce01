//! Bytes of tools → evidence: test reports, compiler and linter output, coverage.
//!
//! [`read`] recognises a report's format by its content and turns it into a [`Report`]: the same counts, failures,
//! findings and covered lines whatever wrote them. It never fails: a report that is missing, empty, cut short or
//! malformed is a `Report` whose quality and notes show that, and what could be read of it is there. Memory is bounded
//! by what is kept, not by the input, which is hostile: the code under test wrote it.
//!
//! Why a test failed is not guessed here. A parser gives what its report shows, and what its format writes in a fixed
//! place; [`core::failure`](loopgate_core::failure) reads the rest (type, both sides, place, fingerprint) out of the
//! texts.
//!
//! Every format is one file in `formats`. They read through a `Window` (encodings, bounded lines), XML through `Xml`
//! (bounded tags and text), JSON through `json` (bounded strings, arrays element by element), and put what they find
//! into a `Collector` (counts, reruns, what is kept).

#![cfg_attr(
    not(test),
    warn(
        clippy::print_stderr,
        clippy::print_stdout,
        clippy::unwrap_used,
        clippy::use_debug
    )
)]

/// Makes statics of regular expressions, each of which is compiled when it is used first.
macro_rules! patterns {
    ($($(#[$doc:meta])* $visible:vis $name:ident = $pattern:expr;)*) => {$(
        $(#[$doc])*
        $visible static $name: std::sync::LazyLock<regex::Regex> =
            std::sync::LazyLock::new(|| loopgate_core::expressions::compile($pattern));
    )*};
}

mod collect;
mod coverage;
mod detect;
mod formats;
mod hook_output;
mod identities;
mod inspect;
pub mod joblog;
mod json;
mod mark;
mod markup;
mod notes;
mod numbers;
mod outer_keys;
mod pattern;
mod place;
mod read;
mod report;
mod run_word;
mod severity;
mod short_strings;
mod speakers;
mod text;
mod window;
mod xml;

pub use coverage::Coverage;
pub use formats::fails_for_warnings;
pub use inspect::{INSPECTION_SCHEMA, inspect};
pub use pattern::{Pattern, PatternError};
pub use read::{read, read_file};
pub use report::{ReadOptions, Report};
pub use run_word::is_count_alone;

// What every parser is written with.
use collect::{Case, Collector, Title, each_line};
use hook_output::HookOutput;
use json::{Json, Step};
use mark::{Keys, Mark};
use markup::{Tag, Token};
use notes::{Flaw, Notes};
use place::Place;
use report::Unreadable;
use run_word::RunWord;
use speakers::{Speaker, Speakers};
use text::{Clip, MAX_MESSAGE, MAX_TRACE};
use window::Window;
use xml::Xml;
