//! What runs came to, for a terminal, as CSV and as a picture.

use std::fmt::Write as _;

use minijinja::{Value, context, value::Serde};

use super::{Colour, Paint, escape_html, line, messages, reflex::table, variant_name, word, words};
use loopgate_core::metrics::{Compared, Estimate, Figure, Group, Interval, Measured, Metric, Report, Target};

/// The report on a window: the five metrics against their targets first.
pub fn metrics(of: &str, report: &Report, colour: Colour) -> String {
    let mut text = format!("{}: {}\n\n", line(of), span(report));
    let rows: Vec<_> = report.metrics.iter().map(measured).collect();
    // What was missed is a word; colour only repeats it.
    let missed = |told: String| told.replace("missed", &colour.paint(Paint::Red, "missed"));
    text.push_str(&missed(table(&["Metric", "Value", "Target", "", "Before", "Trend", "Of"], &rows)));
    text.push('\n');
    for (name, value) in beside(report) {
        // Writing to a `String` cannot fail.
        writeln!(text, "{name:21}{value}").ok();
    }
    for (title, groups) in [("Author", &report.by_author), ("Agent", &report.by_agent)] {
        section(&mut text, &[title, "Runs", "First", "Attempts", "Escalated", "Memory", "Coverage", "Green after"], {
            groups.iter().map(group).collect()
        });
    }
    section(&mut text, &["Compared", "Runs", "Attempts", "First", "Tampering", "Disputes", "Waited"], {
        // A handful of runs is too few.
        let is_known = |it: &&Compared| it.estimates.iter().any(|estimate| estimate.value.is_some());
        report.compared.iter().filter(is_known).map(compared).collect()
    });
    let gates = report.gates.iter().map(|(name, gate)| {
        let (runs, used) = (gate.runs, gate.used);
        let waited = seconds(used.waited_seconds.checked_div(runs).unwrap_or(0));
        vec![name.to_string(), runs.to_string(), used.rounds.to_string(), used.rejections.to_string(), waited]
    });
    section(&mut text, &["Gate", "Runs", "Requests", "Rejections", "Waited, mean"], gates.collect());
    let checks = report.checks.iter().map(|(name, check)| {
        let mean = words::duration(check.total_ms.checked_div(check.runs.into()).unwrap_or(0));
        let longest = words::duration(check.longest_ms);
        vec![line(name.as_str()), check.runs.to_string(), check.failed.to_string(), mean, longest]
    });
    section(&mut text, &["Check", "Runs", "Failed", "Mean", "Longest"], checks.collect());
    text
}

/// `21 Oct to 21 Nov 2026, 42 runs, 3 of them open`.
fn span(report: &Report) -> String {
    let day = |at: loopgate_core::Timestamp| at.format("%-d %b %Y").to_string();
    let open = if report.open > 0 { format!(", {} of them open", report.open) } else { String::new() };
    format!("{} to {}, {}{open}", day(report.window.from), day(report.window.to), words::count(report.runs, "run"))
}

fn measured(it: &Measured) -> Vec<String> {
    let trend: String = it.trend.iter().map(|point| bar(it.metric, point.value)).collect();
    let of = match it.metric {
        Metric::AverageAttempts => words::count(it.of, "run") + " that passed",
        Metric::DebugMemoryReuse => format!("{} of {}", it.counted, words::plural(it.of, "retry", "retries")),
        _ => format!("{} of {}", it.counted, words::count(it.of, "run")),
    };
    vec![
        it.metric.as_str().to_owned(),
        value(it.metric, it.value),
        target(it),
        verdict(it).to_owned(),
        value(it.metric, it.before),
        trend,
        of,
    ]
}

/// `> 70 %`
fn target(it: &Measured) -> String {
    match it.target {
        Target::Above(least) => format!("> {}", rounded(it.metric, least)),
        Target::Below(most) => format!("< {}", rounded(it.metric, most)),
    }
}

const fn verdict(it: &Measured) -> &'static str {
    match it.met {
        Some(true) => "met",
        Some(false) => "missed",
        None => "unknown",
    }
}

/// `63.6 %`, `1.60`; a dash where nothing is known.
fn value(metric: Metric, value: Option<f64>) -> String {
    match (metric, value) {
        (_, None) => "–".to_owned(),
        (Metric::AverageAttempts, Some(value)) => format!("{value:.2}"),
        (_, Some(value)) => format!("{:.1} %", value * 100.0),
    }
}

fn rounded(metric: Metric, value: f64) -> String {
    if metric == Metric::AverageAttempts { format!("{value:.1}") } else { format!("{:.0} %", value * 100.0) }
}

/// The height of a value among eight, of what [`ceiling`] says; a dot where nothing is known.
fn bar(metric: Metric, value: Option<f64>) -> char {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let Some(value) = value else { return '·' };
    let share = value / ceiling(metric);
    let above = (1..8_u8).filter(|step| share * 8.0 >= f64::from(*step)).count();
    BARS[above]
}

/// The value that fills a chart.
const fn ceiling(metric: Metric) -> f64 {
    match metric {
        Metric::AverageAttempts => 4.0,
        _ => 1.0,
    }
}

fn beside(report: &Report) -> Vec<(&'static str, String)> {
    let listed = |items: Vec<String>| if items.is_empty() { "–".to_owned() } else { items.join(", ") };
    let waited = report
        .waited
        .iter()
        .map(|(waited, spent)| format!("{} {}", word("waited", &variant_name(waited)), seconds(*spent)));
    let disputes = report.disputes.iter().map(|(end, count)| format!("{} {count}", end.as_str()));
    let exits = report.queue_exits.iter().map(|(exit, count)| format!("{} {count}", exit.as_str()));
    let calls = report.calls.iter().map(|(trigger, calls)| format!("{} {calls}", trigger.as_str()));
    vec![
        ("Green after, median", report.median_seconds_to_green.map_or_else(|| "–".to_owned(), seconds)),
        ("Waited for", listed(waited.collect())),
        ("Calls for a human", listed(calls.collect())),
        ("Disputes", listed(disputes.collect())),
        ("Left merge queue", listed(exits.collect())),
        ("Saved as flaky", words::count(report.saved_by_flakes, "attempt")),
    ]
}

/// A figure, where it lies at 95 %, and how it compares with people.
fn compared(it: &Compared) -> Vec<String> {
    let estimate = |it: &Estimate| {
        let Some(Interval { value, low, high }) = it.value else { return "too few to say".to_owned() };
        let (unit, digits, scale) = match it.figure {
            Figure::Attempts => ("", 2, 1.0),
            Figure::FirstAttemptPassRate | Figure::TamperingRate | Figure::DisputeRate => (" %", 0, 100.0),
            Figure::WaitedSeconds => (" h", 1, 1.0 / 3600.0),
        };
        let [value, low, high] = [value, low, high].map(|number| format!("{:.digits$}", number * scale));
        let than = it.than_people.map(|than| format!(", {}", than.as_str())).unwrap_or_default();
        format!("{value}{unit} ({low}–{high}){than}")
    };
    let mut row = vec![line(&it.name), it.runs.to_string()];
    row.extend(it.estimates.iter().map(estimate));
    row
}

fn group(it: &Group) -> Vec<String> {
    let values = Metric::ALL.iter().zip(it.values).map(|(metric, known)| value(*metric, known));
    let green = it.median_seconds_to_green.map_or_else(|| "–".to_owned(), seconds);
    [line(&it.name), it.runs.to_string()].into_iter().chain(values).chain([green]).collect()
}

fn section(text: &mut String, head: &[&str], rows: Vec<Vec<String>>) {
    if !rows.is_empty() {
        text.push('\n');
        text.push_str(&table(head, &rows));
    }
}

fn seconds(seconds: u64) -> String {
    words::duration(seconds.saturating_mul(1_000))
}

/// One row for each number: `section,name,measure,value`.
pub fn metrics_csv(report: &Report) -> String {
    messages::text("metrics_csv.txt", Serde(report).into())
}

/// A name from outside: quoted, and never the beginning of a formula, which spreadsheets would execute.
pub(super) fn cell(raw: &str) -> String {
    let text = line(raw).replace('"', "\"\"");
    let text = if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text };
    format!("\"{text}\"")
}

/// The five metrics as an SVG picture, by `metrics_svg.txt`: a row for each, with its parts of the window as bars and its
/// target as a dashed line. Every number stands there as text, so that nothing depends on colour; nothing in it runs.
pub fn metrics_svg(of: &str, report: &Report) -> String {
    let model = context! {
        title => escape_html(&line(of)),
        span => escape_html(&span(report)),
        height => 64 + 112 * report.metrics.len(),
        rows => report.metrics.iter().map(chart_row).collect::<Vec<_>>(),
    };
    messages::text("metrics_svg.txt", model)
}

fn chart_row(it: &Measured) -> Value {
    let metric = it.metric;
    let points = it.trend.iter().map(|point| {
        // Without the unit, which the row says already.
        let label = point.value.map_or_else(|| "–".to_owned(), |value| rounded(metric, value).replace(" %", ""));
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

#[cfg(test)]
#[path = "metrics_tests.rs"]
mod tests;
