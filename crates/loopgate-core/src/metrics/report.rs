//! What the lines of a window come to: the five metrics against their targets, and what stands beside them.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use serde::Serialize;

use super::{CheckUse, Compared, CoverageMet, DisputeOutcome, GateUse, MemoryUse, RunLine, Waited, compare::compared};
use crate::{
    ids::{CheckName, GateName, Timestamp},
    memory::Offers,
    policy::Trigger,
    state::{QueueExit, VerificationResult},
};

/// `schema` of a report.
const SCHEMA: &str = "loopgate.metrics/v1";
/// Parts of the window that a trend has at most.
const POINTS: i32 = 10;

/// From a moment until before another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Window {
    pub from: Timestamp,
    pub to: Timestamp,
}

impl Window {
    /// The time up to `now`.
    pub fn back(now: Timestamp, length: TimeDelta) -> Self {
        Self { from: now - length, to: now }
    }

    /// As long, right before.
    pub fn before(self) -> Self {
        Self { from: self.from - (self.to - self.from), to: self.from }
    }

    /// Equal parts, the oldest first, of whole days where the window has so many.
    fn parts(self) -> Vec<Self> {
        let step = ((self.to - self.from) / POINTS).max(TimeDelta::days(1));
        let mut ends: Vec<Timestamp> =
            (0..POINTS).map(|part| self.to - step * part).filter(|end| *end > self.from).collect();
        ends.reverse();
        ends.into_iter().map(|to| Self { from: self.from.max(to - step), to }).collect()
    }

    fn holds(self, at: Timestamp) -> bool {
        self.from <= at && at < self.to
    }
}

words! {
    /// One of the five metrics that the rules of executable feedback ask for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    pub enum Metric {
        FirstAttemptPassRate = "first_attempt_pass_rate",
        AverageAttempts = "average_attempts",
        EscalationRate = "escalation_rate",
        DebugMemoryReuse = "debug_memory_reuse",
        CoverageMetRate = "coverage_met_rate",
    }
}

/// What a metric is to be. Rates are between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    Above(f64),
    Below(f64),
}

impl Metric {
    pub const fn target(self) -> Target {
        match self {
            Self::FirstAttemptPassRate => Target::Above(0.7),
            Self::AverageAttempts => Target::Below(2.0),
            Self::EscalationRate => Target::Below(0.1),
            Self::DebugMemoryReuse => Target::Above(0.3),
            Self::CoverageMetRate => Target::Above(0.9),
        }
    }

    /// What one run adds: to what is counted, and to what that is divided by.
    fn of(self, line: &RunLine) -> (u64, u64) {
        let one = |counts: bool| u64::from(counts);
        match self {
            Self::FirstAttemptPassRate => {
                (one(line.first_result == Some(VerificationResult::Pass)), one(line.first_result.is_some()))
            }
            Self::AverageAttempts => (line.first_pass.unwrap_or(0).into(), one(line.first_pass.is_some())),
            Self::EscalationRate => (one(line.escalated()), 1),
            Self::DebugMemoryReuse => line
                .memory
                .as_ref()
                .map_or((0, 0), |memory| (memory.carried.min(line.retries).into(), line.retries.into())),
            Self::CoverageMetRate => (one(line.coverage == Some(CoverageMet::Met)), one(line.coverage.is_some())),
        }
    }

    /// What the runs come to; none where nothing is known.
    pub fn value<'a>(self, lines: impl IntoIterator<Item = &'a RunLine>) -> (Option<f64>, u64, u64) {
        let sum = |(counted, of): (u64, u64), line| {
            let (more, of_more) = self.of(line);
            (counted.saturating_add(more), of.saturating_add(of_more))
        };
        let (counted, of) = lines.into_iter().fold((0, 0), sum);
        (ratio(counted, of), counted, of)
    }
}

/// A metric over a window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    pub metric: Metric,
    pub value: Option<f64>,
    /// What was counted, and of how many.
    pub counted: u64,
    pub of: u64,
    pub target: Target,
    /// None where there is no value.
    pub met: Option<bool>,
    /// The value in the time as long right before.
    pub before: Option<f64>,
    pub trend: Vec<Point>,
}

/// A part of a window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    pub from: Timestamp,
    pub value: Option<f64>,
}

/// The runs that have something in common.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    pub name: String,
    pub runs: usize,
    /// In the order of [`Metric::ALL`].
    pub values: [Option<f64>; 5],
    pub median_seconds_to_green: Option<u64>,
}

/// All figures of a window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    pub schema: &'static str,
    pub window: Window,
    pub runs: usize,
    /// Of these, runs that have not ended.
    pub open: usize,
    pub metrics: Vec<Measured>,
    pub median_seconds_to_green: Option<u64>,
    /// Seconds in all.
    pub waited: BTreeMap<Waited, u64>,
    /// Calls for a human by their cause, those of gates and outages too.
    pub calls: BTreeMap<Trigger, u64>,
    pub saved_by_flakes: u64,
    /// How often shown cards were followed and worked, over the retries of these runs.
    pub offers: Offers,
    /// Disputes by how they stand.
    pub disputes: BTreeMap<DisputeOutcome, u64>,
    /// Departures from merge queues by their cause.
    pub queue_exits: BTreeMap<QueueExit, u64>,
    pub by_author: Vec<Group>,
    pub by_agent: Vec<Group>,
    /// Agents beside people, where agents have runs.
    pub compared: Vec<Compared>,
    pub gates: BTreeMap<GateName, GateTotals>,
    pub checks: BTreeMap<CheckName, CheckUse>,
}

/// A gate over all runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GateTotals {
    /// Runs that asked for it.
    pub runs: u64,
    #[serde(flatten)]
    pub used: GateUse,
}

impl Report {
    /// The report on a window that ends now. `lines` may tell of any time, and of each run once.
    pub fn of(lines: &[RunLine], window: Window) -> Self {
        // An open run belongs to now, and so does one that ended later than now by another clock.
        let within = |part: Window| {
            let is_last = part.to == window.to;
            let holds = move |ended| part.holds(ended) || is_last && ended >= part.to;
            move |line: &&RunLine| line.ended_at.map_or(is_last, holds)
        };
        let runs: Vec<&RunLine> = lines.iter().filter(within(window)).collect();
        let before: Vec<&RunLine> = lines.iter().filter(within(window.before())).collect();
        let parts = window.parts();
        let measured = |metric: Metric| {
            let (value, counted, of) = metric.value(runs.iter().copied());
            let met = value.map(|value| match metric.target() {
                Target::Above(target) => value > target,
                Target::Below(target) => value < target,
            });
            let point = |part: &Window| Point {
                from: part.from,
                value: metric.value(runs.iter().copied().filter(within(*part))).0,
            };
            let (before, ..) = metric.value(before.iter().copied());
            let trend = parts.iter().map(point).collect();
            Measured { metric, value, counted, of, target: metric.target(), met, before, trend }
        };
        let (mut waited, mut calls) = (BTreeMap::new(), BTreeMap::new());
        let mut gates = BTreeMap::new();
        let mut checks: BTreeMap<CheckName, CheckUse> = BTreeMap::new();
        let (mut offers, mut disputes, mut queue_exits) = (Offers::default(), BTreeMap::new(), BTreeMap::new());
        for line in &runs {
            line.waited.iter().for_each(|(who, seconds)| *waited.entry(*who).or_default() += seconds);
            line.calls.iter().for_each(|(trigger, count)| *calls.entry(*trigger).or_default() += u64::from(*count));
            line.disputes.iter().for_each(|(end, count)| *disputes.entry(*end).or_default() += u64::from(*count));
            line.queue_exits
                .iter()
                .for_each(|(exit, count)| *queue_exits.entry(*exit).or_default() += u64::from(*count));
            if let Some(MemoryUse { offers: of_run, .. }) = line.memory {
                offers.shown.add(of_run.shown);
                offers.followed.add(of_run.followed);
                offers.all.add(of_run.all);
            }
            line.gates.iter().for_each(|(gate, used)| add_gate(gates.entry(gate.clone()).or_default(), used));
            line.checks.iter().for_each(|(check, used)| checks.entry(check.clone()).or_default().add(used));
        }
        Self {
            schema: SCHEMA,
            window,
            runs: runs.len(),
            open: runs.iter().filter(|line| line.ended_at.is_none()).count(),
            metrics: Metric::ALL.map(measured).into(),
            median_seconds_to_green: median(&runs),
            waited,
            calls,
            saved_by_flakes: runs.iter().map(|line| u64::from(line.saved_by_flakes)).sum(),
            offers,
            disputes,
            queue_exits,
            by_author: groups(&runs, |line| Some(line.author.as_str().to_owned())),
            by_agent: groups(&runs, |line| line.agent.clone()),
            compared: compared(&runs),
            gates,
            checks,
        }
    }
}

fn add_gate(total: &mut GateTotals, one: &GateUse) {
    total.runs += 1;
    let used = &mut total.used;
    used.rounds = used.rounds.saturating_add(one.rounds);
    used.rejections = used.rejections.saturating_add(one.rejections);
    used.waited_seconds = used.waited_seconds.saturating_add(one.waited_seconds);
}

fn groups(runs: &[&RunLine], name: impl Fn(&RunLine) -> Option<String>) -> Vec<Group> {
    let mut members: BTreeMap<String, Vec<&RunLine>> = BTreeMap::new();
    for line in runs {
        if let Some(name) = name(line) {
            members.entry(name).or_default().push(line);
        }
    }
    let group = |(name, lines): (String, Vec<&RunLine>)| Group {
        name,
        runs: lines.len(),
        values: Metric::ALL.map(|metric| metric.value(lines.iter().copied()).0),
        median_seconds_to_green: median(&lines),
    };
    members.into_iter().map(group).collect()
}

fn median(runs: &[&RunLine]) -> Option<u64> {
    let mut seconds: Vec<u64> = runs.iter().filter_map(|line| line.seconds_to_green).collect();
    seconds.sort_unstable();
    seconds.get(seconds.len().checked_sub(1)? / 2).copied()
}

#[expect(clippy::cast_precision_loss, reason = "counts of runs")]
fn ratio(counted: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| counted as f64 / of as f64)
}
