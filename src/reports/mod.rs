//! Bytes of tools → evidence: test reports, compiler and linter output, coverage.
//!
//! [`read`] recognises a report's format by its content and turns it into a [`Report`]: the same counts, failures,
//! findings and covered lines whatever wrote them. It never fails: a report that is missing, empty, cut short or
//! malformed is a `Report` whose quality and notes say so, and what could be read of it is there. Memory is bounded by
//! what is kept, not by the input, which is hostile: the code under test wrote it.
//!
//! Every format is one file with a streaming parser. They read through a `Window` (encodings, bounded lines), XML
//! through `Xml` (bounded tags and text), and put what they find into a `Collector` (counts, reruns, what is kept).

mod cargo_test;
mod checkstyle;
mod classify;
mod collect;
mod coverage;
mod detect;
mod github_annotations;
mod go_cover;
mod identities;
mod junit;
mod lcov;
mod notes;
mod numbers;
mod pattern;
mod place;
mod read;
mod regex_text;
mod report;
mod rust_panic;
mod rustc_text;
mod severity;
mod text;
mod window;
mod xml;

pub use coverage::Coverage;
pub use pattern::{Pattern, PatternError};
pub use read::{read, read_file};
pub use report::{ReadOptions, Report, RosterMode};

use read::Unreadable;
