//! `reviewers:`, the AI reviewers whose review threads are checks.

use chrono::TimeDelta;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::{lower::Lowering, node::Node, problem::Problem};
use loopgate_core::{
    CheckName,
    evidence::{CheckKind, FindingSeverity},
    policy::{CheckPolicy, CheckSource, ReviewerSource, Severity, Timeout, VerifyPolicy},
};

const MOST_REVIEWERS: usize = 10;
const LONGEST: TimeDelta = TimeDelta::hours(24);

/// An AI reviewer. Its review threads are a check of kind `custom` that is called as its App.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct ReviewerSection {
    /// Slug of its App, which is the name of its account without `[bot]`.
    app: CheckName,
    /// What an open thread means: `fail` holds the verdict and costs attempts, `warn` and `info` only say it.
    /// Default: warn.
    severity: Option<Severity>,
    /// Findings that say they are less than this are left out. One that says nothing of it counts.
    /// Default: high.
    at_least: Option<FindingSeverity>,
    /// A reviewer that says nothing on a head for so long is absent. From 1m to 24h. Default: 15m.
    timeout: Option<Timeout>,
}

/// Adds each reviewer to the checks.
pub(super) fn lower(written: Vec<ReviewerSection>, verify: &mut VerifyPolicy, node: &Node, cx: &mut Lowering) {
    if !cx.at_most(MOST_REVIEWERS, node, "reviewers") {
        return;
    }
    for (ReviewerSection { app, severity, at_least, timeout }, node) in node.each(written) {
        let timeout = timeout.map_or(TimeDelta::minutes(15), |timeout| timeout.0);
        if !(TimeDelta::minutes(1)..=LONGEST).contains(&timeout) {
            cx.refuse(Problem::wrong(node.at("timeout").place, "a reviewer is waited for from 1m to 24h"));
        }
        if verify.checks.contains_key(&app) {
            let problem = Problem::wrong(node.at("app").place, format!("there is a check `{app}` already"));
            cx.refuse(problem.hint("name each reviewer once, and the check otherwise"));
            continue;
        }
        let (severity, at_least) = (severity.unwrap_or(Severity::Warn), at_least.unwrap_or(FindingSeverity::High));
        let source = ReviewerSource { app: app.to_string(), severity, at_least, timeout };
        let (kind, is_detected) = (CheckKind::Custom, false);
        verify.checks.insert(app, CheckPolicy { kind, source: CheckSource::Reviewer(source), is_detected });
    }
}
