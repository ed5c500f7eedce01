//! What tests execute of the change, in one line.

use super::{
    annotations::parse_range,
    links::Links,
    sanitize::{Markdown, code},
    words,
};
use loopgate_core::{
    deciding::View,
    evidence::ChangedCoverage,
    verdict::{FeedbackFact, evaluate::COVERAGE_RULE},
};

/// The line; none while nothing is known and nothing is asked, or where it is among what is to be done.
pub fn coverage_line(view: &View, links: &Links) -> Option<Markdown> {
    let is_to_do = |fact: &FeedbackFact| matches!(fact, FeedbackFact::Rule { id, .. } if id.as_str() == COVERAGE_RULE);
    match &view.coverage {
        Some(_) if view.feedback.iter().any(is_to_do) => None,
        Some(coverage) => Some(measured(coverage, links)),
        None => None,
    }
}

fn measured(coverage: &ChangedCoverage, links: &Links) -> Markdown {
    let mut said = match coverage.changed_percent() {
        // Rounded down: 100 % is said of nothing less.
        Some(percent) => format!(
            "{:.0} % of the changed lines are covered by tests ({} of {})",
            percent.floor(),
            coverage.changed_covered,
            coverage.changed_total
        ),
        None => "No changed line is one that tests can cover".to_owned(),
    };
    let uncovered: Vec<String> = coverage.uncovered.iter().map(|range| range_link(range, links)).collect();
    if !uncovered.is_empty() {
        said.push_str(&format!("; not covered: {}", words::few(&uncovered, 5)));
    }
    let unmeasured: Vec<String> = coverage.unmeasured.iter().map(|path| code(path).into_string()).collect();
    if !unmeasured.is_empty() {
        said.push_str(&format!("; in no coverage report: {}", words::few(&unmeasured, 5)));
    }
    Markdown::ours(format!("{said}."))
}

/// `file:first-last`, linked.
fn range_link(range: &str, links: &Links) -> String {
    match parse_range(range) {
        Some((file, first, last)) => links.lines(file, first, last).into_string(),
        None => code(range).into_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::fixtures;

    #[test]
    fn what_is_said_of_coverage() {
        let links = Links::of(&fixtures::snapshot());
        let mut view = fixtures::view();
        let said = |view: &View| coverage_line(view, &links).map(Markdown::into_string);
        assert_eq!(said(&view), None);
        view.coverage = Some(ChangedCoverage { lines_covered: 1, lines_total: 2, ..ChangedCoverage::default() });
        assert_eq!(said(&view).as_deref(), Some("No changed line is one that tests can cover."));
        view.coverage = Some(ChangedCoverage {
            changed_covered: 999,
            changed_total: 1000,
            unmeasured: vec!["src/new.rs".to_owned()],
            ..ChangedCoverage::default()
        });
        assert_eq!(
            said(&view).as_deref(),
            Some("99 % of the changed lines are covered by tests (999 of 1000); in no coverage report: `src/new.rs`.")
        );
    }
}
