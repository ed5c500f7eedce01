//! The five metrics as an SVG picture: a row for each, with its parts of the window as bars and its target as a dashed
//! line. Every number stands there as text, so that nothing depends on colour; nothing in it runs.

use std::fmt::Write as _;

use super::{
    metrics::{ceiling, span, target, value, verdict},
    sanitize::line,
};
use loopgate_core::metrics::{Measured, Metric, Report, Target};

const WIDTH: f64 = 760.0;
const HEAD: f64 = 64.0;
const ROW: f64 = 112.0;
/// Where the bars of a row begin, and how much room they have.
const LEFT: f64 = 270.0;
const CHART: f64 = 460.0;
const BARS: f64 = 62.0;

/// The picture.
pub fn metrics_svg(of: &str, report: &Report) -> String {
    let rows = report.metrics.iter().fold(0.0, |rows, _| rows + 1.0);
    let height = HEAD + ROW * rows;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"13\" fill=\"#1f2328\" role=\"img\">\n<title>{title}</title>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n\
         <text x=\"16\" y=\"28\" font-size=\"18\" font-weight=\"bold\">{title}</text>\n\
         <text x=\"16\" y=\"50\">{}</text>\n",
        escaped(&span(report)),
        title = escaped(&line(of)),
    );
    let mut top = HEAD;
    for it in &report.metrics {
        row(&mut svg, it, top);
        top += ROW;
    }
    svg.push_str("</svg>\n");
    svg
}

fn row(svg: &mut String, it: &Measured, top: f64) {
    let (metric, base) = (it.metric, top + 24.0 + BARS);
    // A value beyond the chart raises the chart.
    let most = it.trend.iter().filter_map(|point| point.value).fold(ceiling(metric), f64::max);
    let height = |value: f64| BARS * value / most;
    let name = metric.as_str().replace('_', " ");
    let met = format!("target {}: {}", target(it), verdict(it));
    let before = format!("before {}", value(metric, it.before));
    let mut texts = String::new();
    let mut text = |x: f64, y: f64, style: &str, words: &str| {
        // Writing to a `String` cannot fail.
        writeln!(texts, "<text x=\"{x:.1}\" y=\"{y:.1}\" {style}>{}</text>", escaped(words)).ok();
    };
    text(16.0, top + 26.0, "", &name);
    text(16.0, top + 54.0, "font-size=\"24\" font-weight=\"bold\"", &value(metric, it.value));
    text(16.0, top + 74.0, "", &met);
    text(16.0, top + 92.0, "fill=\"#57606a\"", &before);
    let count = it.trend.iter().fold(0.0, |count, _| count + 1.0_f64).max(1.0);
    let step = CHART / count;
    let mut left = LEFT;
    let (mut bars, small) = (String::new(), OVER_LINES);
    for point in &it.trend {
        let middle = left + step / 2.0;
        match point.value {
            Some(known) => {
                let (y, tall) = (base - height(known), height(known).max(1.0));
                writeln!(
                    bars,
                    "<rect x=\"{:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{tall:.1}\" fill=\"#8c959f\"/>",
                    left + step * 0.15,
                    step * 0.7
                )
                .ok();
                text(middle, y - 4.0, small, short(metric, known).as_str());
            }
            None => text(middle, base - 4.0, small, "–"),
        }
        left += step;
    }
    let ends = it.trend.first().zip(it.trend.last());
    if let Some((first, last)) = ends {
        for (x, at) in [(LEFT + step / 2.0, first.from), (LEFT + CHART - step / 2.0, last.from)] {
            text(x, base + 15.0, small, &at.format("%-d %b").to_string());
        }
    }
    let (Target::Above(aim) | Target::Below(aim)) = it.target;
    let y = base - height(aim);
    let (end, right) = (LEFT + CHART, LEFT + CHART + 2.0);
    svg.push_str(&bars);
    write!(
        svg,
        "<line x1=\"{LEFT}\" y1=\"{base:.1}\" x2=\"{end}\" y2=\"{base:.1}\" stroke=\"#1f2328\"/>\n\
         <line x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{right}\" y2=\"{y:.1}\" stroke=\"#1f2328\" stroke-dasharray=\"5 3\"/>\n"
    )
    .ok();
    svg.push_str(&texts);
}

/// Numbers stand on a white edge, so that the line of the target does not cross them out.
const OVER_LINES: &str =
    "font-size=\"11\" text-anchor=\"middle\" stroke=\"#ffffff\" stroke-width=\"3\" paint-order=\"stroke\"";

/// A value over its bar, without what the row says already.
fn short(metric: Metric, value: f64) -> String {
    if metric == Metric::AverageAttempts { format!("{value:.1}") } else { format!("{:.0}", value * 100.0) }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
