//! What runs came to, for a terminal, as CSV and as a picture.

use minijinja::{context, value::Serde};

use super::messages;
use loopgate_core::metrics::{Compared, Report};

/// The report on a window: the five metrics against their targets first.
pub fn metrics(of: &str, report: &Report, colour: bool) -> String {
    // A handful of runs is too few.
    let is_known = |group: &&Compared| {
        group
            .estimates
            .iter()
            .any(|estimate| estimate.value.is_some())
    };
    let model = context! {
        name => of,
        colour,
        compared => Serde(report.compared.iter().filter(is_known).collect::<Vec<_>>()),
        ..Serde(report)
    };
    messages::text("metrics.txt", model)
}

/// One row for each number: `section,name,measure,value`.
pub fn metrics_csv(report: &Report) -> String {
    messages::text("metrics_csv.txt", Serde(report).into())
}

/// The five metrics as an SVG picture, by `metrics_svg.txt`: a row for each, with its parts of the window as bars and
/// its target as a dashed line. Every number stands there as text, so that nothing depends on colour; nothing in it
/// runs.
pub fn metrics_svg(of: &str, report: &Report) -> String {
    messages::text("metrics_svg.txt", context! { name => of, ..Serde(report) })
}

#[cfg(test)]
#[path = "metrics_tests.rs"]
mod tests;
