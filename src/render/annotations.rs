//! Annotations of the verify check: failures and uncovered lines, where they stand in the diff.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{
    failure_card::{Said, told_lines},
    sanitize::{block, clip, clip_lines, line, path_in_address},
};
use loopgate_core::{deciding::View, failure::Blame, observed::AnnotationLevel, verdict::FailureView};

/// At most so many are sent, in batches of 50, as many as GitHub takes at once.
const MOST: usize = 200;
/// Bytes of one message; the platform takes 64 KB.
const MESSAGE: usize = 4_000;

/// One annotation, as GitHub takes it. All texts are plain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheckAnnotation {
    /// Relative to the repository's root.
    pub path: String,
    /// From 1.
    pub start_line: u32,
    pub end_line: u32,
    #[serde(rename = "annotation_level")]
    pub level: AnnotationLevel,
    pub title: String,
    pub message: String,
}

/// The most severe first, and how many were left out.
pub fn annotations(view: &View) -> (Vec<CheckAnnotation>, usize) {
    let mut places = BTreeSet::new();
    let failures = view.failures.iter().filter(|one| places.insert((one.cause, one.failure.location())));
    let failures = failures.filter_map(failure);
    let uncovered = view.coverage.iter().flat_map(|coverage| &coverage.uncovered).filter_map(|range| uncovered(range));
    let mut all: Vec<CheckAnnotation> = failures.chain(uncovered).collect();
    all.sort_by_key(|annotation| std::cmp::Reverse(annotation.level));
    let left_out = all.len().saturating_sub(MOST);
    all.truncate(MOST);
    (all, left_out)
}

fn failure(view: &FailureView) -> Option<CheckAnnotation> {
    let (path, place) = view.failure.location()?;
    path_in_address(path)?;
    let at = place.unwrap_or(1).max(1);
    let level = if view.blame == Blame::PrCode { AnnotationLevel::Failure } else { AnnotationLevel::Warning };
    Some(CheckAnnotation {
        path: path.to_owned(),
        start_line: at,
        end_line: at,
        level,
        title: title(view),
        message: message(view),
    })
}

/// The check, the test where there is one, and the failure's id.
pub(super) fn title(view: &FailureView) -> String {
    let test = view.failure.test_name.as_deref().filter(|name| !name.trim().is_empty());
    let test = test.map(|name| format!(": {name}")).unwrap_or_default();
    format!("{} ({})", clip(&line(&format!("{}{test}", view.check)), 190), view.cause)
}

/// The tool's message, and our lines about it.
pub(super) fn message(view: &FailureView) -> String {
    let said = clip_lines(&block(&view.failure.reported()), 20);
    let told: Vec<String> = told_lines(view, &mut Said::new()).collect();
    clip(format!("{said}\n\n{}", told.join("\n")).trim(), MESSAGE).into_owned()
}

fn uncovered(range: &str) -> Option<CheckAnnotation> {
    let (path, start_line, end_line) = parse_range(range)?;
    path_in_address(path)?;
    let what = if start_line == end_line { "This added line is" } else { "These added lines are" };
    Some(CheckAnnotation {
        path: path.to_owned(),
        start_line,
        end_line,
        level: AnnotationLevel::Notice,
        title: "not covered by tests".to_owned(),
        message: format!("{what} not executed by any test."),
    })
}

/// `src/a.rs:10-12` or `src/a.rs:10`.
pub fn parse_range(range: &str) -> Option<(&str, u32, u32)> {
    let (file, lines) = range.rsplit_once(':')?;
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first >= 1 && last >= first && !file.is_empty()).then_some((file, first, last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::fixtures;
    use loopgate_core::evidence::SourceLocation;

    #[test]
    fn failures_come_before_uncovered_lines() {
        let (all, left_out) = annotations(&fixtures::first_failure().view);
        let shown: Vec<_> = all.iter().map(|a| (a.path.as_str(), a.start_line, a.end_line, a.level)).collect();
        assert_eq!(
            shown,
            [
                ("src/auth/token.rs", 10, 10, AnnotationLevel::Failure),
                ("src/auth/token.rs", 10, 11, AnnotationLevel::Notice)
            ]
        );
        assert_eq!(left_out, 0);
        insta::assert_snapshot!(format!("{}\n{}", all[0].title, all[0].message), @r"
        unit: auth::rejects_expired (01010101)
        assertion `left == right` failed
          left: Ok(())
         right: Err(Expired)

        Do: Compare with `expiry <= now` and reject
        Why: A token is invalid from the second it expires
        Cause: `is_valid` accepts a token in the second it expires
        Reproduce: cargo test auth::rejects_expired
        ");
    }

    #[test]
    fn at_most_two_hundred_and_the_rest_is_counted() {
        let mut view = fixtures::first_failure().view;
        view.failures = (1..=300).map(fixtures::failure_in_line).collect();
        let (all, left_out) = annotations(&view);
        assert_eq!((all.len(), left_out), (200, 101));
        assert!(all.iter().all(|annotation| annotation.level == AnnotationLevel::Failure));
    }

    #[test]
    fn places_outside_the_repository_are_not_annotated() {
        let mut view = fixtures::view();
        for file in ["/usr/lib/x.rs", "../x.rs", ""] {
            let mut failure = fixtures::failure();
            failure.failure.source = Some(SourceLocation { file: file.into(), line: Some(1), function: None });
            view.failures.push(failure);
        }
        assert_eq!(annotations(&view).0, []);
    }

    #[test]
    fn ranges() {
        assert_eq!(parse_range("src/a.rs:10-12"), Some(("src/a.rs", 10, 12)));
        assert_eq!(parse_range("src/a.rs:10"), Some(("src/a.rs", 10, 10)));
        for wrong in ["src/a.rs", "a:0-1", "a:3-2", ":1", "a:x", "a:99999999999"] {
            assert_eq!(parse_range(wrong), None, "{wrong}");
        }
    }
}
