//! The pages of one repository: its metrics, and what is remembered of its failures.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::overview::short;
use crate::render::{block, line, memory_stats, metrics_svg};
use loopgate_core::{RepoName, memory::Memory, metrics::Report};

/// Cards shown.
const MOST_CARDS: usize = 100;

/// What the runs of a repository come to.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MetricsPage {
    pub schema: &'static str,
    pub repository: String,
    /// As `loopgate metrics --json`.
    pub report: Value,
    /// The chart, an SVG picture.
    pub chart: String,
    /// The same as text.
    pub text: String,
}

impl MetricsPage {
    pub fn of(repository: &RepoName, report: &Report) -> Self {
        let repository = repository.to_string();
        Self {
            schema: "loopgate.metrics-page/v1",
            report: serde_json::to_value(report).unwrap_or_default(),
            chart: metrics_svg(&repository, report),
            text: crate::render::metrics(&repository, report, crate::render::Colour::Off),
            repository,
        }
    }
}

/// What is remembered of a repository's failures.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MemoryPage {
    pub schema: &'static str,
    pub repository: String,
    /// How much is remembered, and whether telling it helps.
    pub stats: String,
    /// Known fixes; those that worked in most runs first.
    pub cards: Vec<CardRow>,
    /// Flaky tests first, then failures without a known fix.
    pub recurring: Vec<RecurringRow>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct CardRow {
    pub id: String,
    pub name: String,
    pub cause: String,
    pub fix: String,
    pub commit: String,
    pub pull_request: Option<u64>,
    pub mended_in: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct RecurringRow {
    pub test: String,
    pub seen: u32,
    /// How often it passed and failed on the same code.
    pub flips: u32,
}

impl MemoryPage {
    pub fn of(repository: &RepoName, memory: &Memory) -> Self {
        let card = |card: &loopgate_core::memory::Card| CardRow {
            id: card.id.to_string(),
            name: short(card.test.as_deref().unwrap_or(&card.template)),
            cause: line(&card.cause),
            fix: line(&card.fix.description),
            commit: card.fix.commit.to_string(),
            pull_request: card.fix_pull_request.map(loopgate_core::PrNumber::get),
            mended_in: card.mended_in.len(),
        };
        let mut cards: Vec<CardRow> = memory.cards.values().map(card).collect();
        cards.sort_by_key(|card| std::cmp::Reverse(card.mended_in));
        cards.truncate(MOST_CARDS);
        let seen = |seen: &loopgate_core::memory::Recurring| RecurringRow {
            test: short(&seen.test),
            seen: seen.occurrences,
            flips: seen.flips,
        };
        let mut recurring: Vec<RecurringRow> = memory.unmended("").into_iter().map(seen).collect();
        recurring.sort_by_key(|seen| std::cmp::Reverse((seen.flips, seen.seen)));
        recurring.truncate(MOST_CARDS);
        let (repository, stats) = (repository.to_string(), block(&memory_stats(memory)));
        Self { schema: "loopgate.memory-page/v1", repository, stats, cards, recurring }
    }
}
