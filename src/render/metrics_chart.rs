//! The five metrics as an SVG picture, by `metrics_svg.txt`: a row for each, with its parts of the window as bars and its
//! target as a dashed line. Every number stands there as text, so that nothing depends on colour; nothing in it runs.

use minijinja::{Value, context};

use super::{
    messages,
    metrics::{ceiling, span, target, value, verdict},
    sanitize::{escape_html, line},
};
use loopgate_core::metrics::{Measured, Metric, Report, Target};

/// The picture.
pub fn metrics_svg(of: &str, report: &Report) -> String {
    let model = context! {
        title => escape_html(&line(of)),
        span => escape_html(&span(report)),
        height => 64 + 112 * report.metrics.len(),
        rows => report.metrics.iter().map(row).collect::<Vec<_>>(),
    };
    messages::text("metrics_svg.txt", model)
}

fn row(it: &Measured) -> Value {
    let metric = it.metric;
    let points = it.trend.iter().map(|point| {
        let label = point.value.map_or_else(|| "–".to_owned(), |value| short(metric, value));
        context! { value => point.value, label }
    });
    let ends = it.trend.first().zip(it.trend.last());
    let (Target::Above(aim) | Target::Below(aim)) = it.target;
    context! {
        name => metric.as_str().replace('_', " "),
        value => escape_html(&value(metric, it.value)),
        met => escape_html(&format!("target {}: {}", target(it), verdict(it))),
        before => escape_html(&format!("before {}", value(metric, it.before))),
        // A value beyond the chart raises the chart.
        most => it.trend.iter().filter_map(|point| point.value).fold(ceiling(metric), f64::max),
        aim,
        points => points.collect::<Vec<_>>(),
        from => ends.map(|(first, _)| first.from.format("%-d %b").to_string()),
        to => ends.map(|(_, last)| last.from.format("%-d %b").to_string()),
    }
}

/// A value over its bar, without what the row says already.
fn short(metric: Metric, value: f64) -> String {
    if metric == Metric::AverageAttempts { format!("{value:.1}") } else { format!("{:.0}", value * 100.0) }
}
