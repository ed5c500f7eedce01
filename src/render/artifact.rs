//! `artifact.md` of the state ref: the report of the last evaluation, every rule included.

use serde::Serialize;

use super::{
    fit::{self, Shorten, Shortened},
    messages,
    sanitize::{Markdown, short_text},
    status::StatusModel,
    templates,
    verdict::{Subject, verdict},
};
use loopgate_core::verdict::{RuleOutcome, RuleView};

/// Bytes: the state ref grows by at most 20 KB for an attempt, of which this is one file.
const LIMIT: usize = 12_000;
/// Rules listed.
const RULES: usize = 60;

#[derive(Serialize)]
struct Artifact {
    #[serde(flatten)]
    status: StatusModel,
    title: Markdown,
    rules: Vec<Rule>,
}

#[derive(Serialize)]
struct Rule {
    id: String,
    severity: &'static str,
    weight: f64,
    outcome: Markdown,
}

impl Shorten for Artifact {
    fn shorten(&mut self) -> Shortened {
        match self.status.shorten() {
            Shortened::Yes => Shortened::Yes,
            Shortened::NothingLeft if self.rules.is_empty() => Shortened::NothingLeft,
            Shortened::NothingLeft => {
                self.rules.clear();
                Shortened::Yes
            }
        }
    }
}

pub(super) fn report(subject: &Subject<'_>, status: StatusModel) -> String {
    let rules = &subject.decision.view.evaluation.rules;
    let mut artifact = Artifact {
        status,
        title: short_text(&subject.snapshot.pull_request.title, 200),
        rules: rules.iter().take(RULES).map(rule).collect(),
    };
    fit::fit(&mut artifact, LIMIT, |artifact| templates::render("artifact.md", artifact))
        .unwrap_or_else(|| verdict(subject).words)
}

fn rule(rule: &RuleView) -> Rule {
    Rule {
        id: rule.id.to_string(),
        severity: messages::word("severity", &messages::variant_name(&rule.severity)),
        weight: rule.weight,
        outcome: match &rule.outcome {
            RuleOutcome::Passed => Markdown::ours("✅ passed"),
            // What to do about it stands above.
            RuleOutcome::Failed(_) => Markdown::ours("❌ failed"),
            RuleOutcome::Unknown => Markdown::ours("➖ not known"),
        },
    }
}
