//! The report on the lines of a window: the five metrics against their targets, and what stands beside them. Agents
//! stand beside people, and beside each other: each figure with the interval in which it lies at 95 %, and only where
//! there are enough runs to say so.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use serde::Serialize;

use super::{
    CheckUse, CoverageMet, DisputeOutcome, GateUse, MemoryUse, RunLine, SlowTestTrend, Waited,
    slow_tests,
};
use crate::{
    ids::{CheckName, GateName, Timestamp},
    memory::Offers,
    policy::Trigger,
    state::{AuthorKind, QueueExit, VerificationResult},
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
        Self {
            from: now - length,
            to: now,
        }
    }

    /// Together with the time as long right before.
    pub fn with_before(self) -> Self {
        Self {
            from: self.before().from,
            to: self.to,
        }
    }

    /// As long, right before.
    pub fn before(self) -> Self {
        Self {
            from: self.from - (self.to - self.from),
            to: self.from,
        }
    }

    /// Equal parts, the oldest first, of whole days where the window has so many.
    fn parts(self) -> Vec<Self> {
        let step = ((self.to - self.from) / POINTS).max(TimeDelta::days(1));
        let mut ends: Vec<Timestamp> = (0..POINTS)
            .map(|part| self.to - step * part)
            .filter(|end| *end > self.from)
            .collect();
        ends.reverse();
        ends.into_iter()
            .map(|to| Self {
                from: self.from.max(to - step),
                to,
            })
            .collect()
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
            Self::FirstAttemptPassRate => (
                one(line.first_result == Some(VerificationResult::Pass)),
                one(line.first_result.is_some()),
            ),
            Self::AverageAttempts => (
                line.first_pass.unwrap_or(0).into(),
                one(line.first_pass.is_some()),
            ),
            Self::EscalationRate => (one(line.escalated()), 1),
            Self::DebugMemoryReuse => {
                let carried = line
                    .memory
                    .as_ref()
                    .map(|memory| memory.carried.min(line.retries));
                carried.map_or((0, 0), |carried| (carried.into(), line.retries.into()))
            }
            Self::CoverageMetRate => (
                one(line.coverage == Some(CoverageMet::Met)),
                one(line.coverage.is_some()),
            ),
        }
    }

    /// The value over these runs, `None` if no run counts; what was counted, and of how many.
    #[expect(clippy::cast_precision_loss, reason = "counts of runs")]
    pub fn value<'a>(
        self,
        lines: impl IntoIterator<Item = &'a RunLine>,
    ) -> (Option<f64>, u64, u64) {
        let sum = |(counted, of): (u64, u64), line| {
            let (more, of_more) = self.of(line);
            (counted.saturating_add(more), of.saturating_add(of_more))
        };
        let (counted, of) = lines.into_iter().fold((0, 0), sum);
        ((of > 0).then(|| counted as f64 / of as f64), counted, of)
    }
}

/// A metric over a window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricValue {
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
    pub values: [Option<f64>; Metric::ALL.len()],
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
    pub metrics: Vec<MetricValue>,
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
    /// The slowest tests of each check.
    pub slow_tests: Vec<SlowTestTrend>,
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
    /// The report on a window that ends now. `lines` may be of any time, one for each run.
    pub fn of(lines: &[RunLine], window: Window) -> Self {
        // An open run belongs to now, and so does one that ended later than now by another clock.
        let within = |part: Window| {
            let is_last = part.to == window.to;
            let holds = move |ended| part.from <= ended && (ended < part.to || is_last);
            move |line: &&RunLine| line.ended_at.map_or(is_last, holds)
        };
        let runs: Vec<&RunLine> = lines.iter().filter(within(window)).collect();
        let before: Vec<&RunLine> = lines.iter().filter(within(window.before())).collect();
        let parts = window.parts();
        let of_part = |part: &Window| runs.iter().copied().filter(within(*part)).collect();
        let by_part: Vec<Vec<&RunLine>> = parts.iter().map(of_part).collect();
        let measured = |metric: Metric| {
            let (value, counted, of) = metric.value(runs.iter().copied());
            let met = value.map(|value| match metric.target() {
                Target::Above(target) => value > target,
                Target::Below(target) => value < target,
            });
            let point = |(part, runs): (&Window, &Vec<&RunLine>)| Point {
                from: part.from,
                value: metric.value(runs.iter().copied()).0,
            };
            let (before, ..) = metric.value(before.iter().copied());
            let trend = parts.iter().zip(&by_part).map(point).collect();
            MetricValue {
                metric,
                value,
                counted,
                of,
                target: metric.target(),
                met,
                before,
                trend,
            }
        };
        let (mut waited, mut calls) = (BTreeMap::new(), BTreeMap::new());
        let mut gates: BTreeMap<GateName, GateTotals> = BTreeMap::new();
        let mut checks: BTreeMap<CheckName, CheckUse> = BTreeMap::new();
        let (mut offers, mut disputes, mut queue_exits) =
            (Offers::default(), BTreeMap::new(), BTreeMap::new());
        for line in &runs {
            line.waited
                .iter()
                .for_each(|(who, seconds)| *waited.entry(*who).or_default() += seconds);
            line.calls.iter().for_each(|(trigger, count)| {
                *calls.entry(*trigger).or_default() += u64::from(*count)
            });
            line.disputes
                .iter()
                .for_each(|(end, count)| *disputes.entry(*end).or_default() += u64::from(*count));
            line.queue_exits.iter().for_each(|(exit, runs)| {
                *queue_exits.entry(*exit).or_default() += u64::from(*runs)
            });
            if let Some(MemoryUse { offers: of_run, .. }) = line.memory {
                offers.shown.add(of_run.shown);
                offers.followed.add(of_run.followed);
                offers.all.add(of_run.all);
            }
            for (gate, of_run) in &line.gates {
                let GateTotals { runs, used } = gates.entry(gate.clone()).or_default();
                *runs += 1;
                used.rounds = used.rounds.saturating_add(of_run.rounds);
                used.rejections = used.rejections.saturating_add(of_run.rejections);
                used.waited_seconds = used.waited_seconds.saturating_add(of_run.waited_seconds);
            }
            line.checks
                .iter()
                .for_each(|(check, used)| checks.entry(check.clone()).or_default().add(used));
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
            saved_by_flakes: runs
                .iter()
                .map(|line| u64::from(line.saved_by_flakes))
                .sum(),
            offers,
            disputes,
            queue_exits,
            by_author: groups(&runs, |line| Some(line.author.as_str().to_owned())),
            by_agent: groups(&runs, |line| line.agent.clone()),
            compared: compared(&runs),
            gates,
            checks,
            slow_tests: slow_tests::trends(&runs, &before, &by_part),
        }
    }
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

/// Of an even number of runs, the mean of the two in the middle.
fn median(runs: &[&RunLine]) -> Option<u64> {
    let mut seconds: Vec<u64> = runs
        .iter()
        .filter_map(|line| line.seconds_to_green)
        .collect();
    seconds.sort_unstable();
    let above = *seconds.get(seconds.len() / 2)?;
    let below = seconds[(seconds.len() - 1) / 2];
    Some(below.midpoint(above))
}

/// Fewer runs say nothing.
const ENOUGH: usize = 10;
/// The half width of an interval at 95 %, in standard errors.
const Z: f64 = 1.96;

words! {
    /// What is compared.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    pub enum Figure {
        /// Attempts of a run, in the mean.
        Attempts = "attempts",
        FirstAttemptPassRate = "first_attempt_pass_rate",
        /// Runs in which a person was called because of weakened checks.
        TamperingRate = "tampering_rate",
        /// Runs in which a failure was disputed.
        DisputeRate = "dispute_rate",
        /// Seconds of a run in which anybody or anything was waited for, in the mean.
        WaitedSeconds = "waited_seconds",
    }
}

/// A figure of a group of runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    pub figure: Figure,
    /// Runs that have a value for it.
    pub of: usize,
    /// None where too few runs have one.
    pub value: Option<Interval>,
    /// How it compares with people; none where either is not known, or where the intervals overlap.
    pub than_people: Option<Difference>,
}

/// A value, and where it lies at 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

words! {
    /// Which of two figures is the larger.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    pub enum Difference {
        Higher = "higher",
        Lower = "lower",
    }
}

/// The runs of people, of all agents, or of one agent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// `people`, `agents`, or the name of an agent.
    pub name: String,
    pub runs: usize,
    /// In the order of [`Figure::ALL`].
    pub estimates: [Estimate; Figure::ALL.len()],
}

/// People first, then all agents, then each agent by name; none where no agent has a run.
fn compared(runs: &[&RunLine]) -> Vec<Compared> {
    let of = |kind: AuthorKind| runs.iter().copied().filter(move |line| line.author == kind);
    let mut agents: BTreeMap<&str, Vec<&RunLine>> = BTreeMap::new();
    for line in of(AuthorKind::Agent) {
        agents
            .entry(line.agent.as_deref().unwrap_or("unnamed"))
            .or_default()
            .push(line);
    }
    if agents.is_empty() {
        return Vec::new();
    }
    let people: Vec<&RunLine> = of(AuthorKind::Person).collect();
    let measured = Figure::ALL.map(|figure| figure.estimate(&people));
    let row = |name: &str, runs: &[&RunLine]| Compared {
        name: name.to_owned(),
        runs: runs.len(),
        estimates: Figure::ALL.map(|figure| {
            let estimate = figure.estimate(runs);
            let people = measured
                .iter()
                .find(|people| people.figure == figure)
                .and_then(|people| people.value);
            // Only where the intervals do not overlap.
            let than_people = match estimate.value.zip(people) {
                Some((own, people)) if own.low > people.high => Some(Difference::Higher),
                Some((own, people)) if own.high < people.low => Some(Difference::Lower),
                _ => None,
            };
            Estimate {
                than_people,
                ..estimate
            }
        }),
    };
    let all: Vec<&RunLine> = of(AuthorKind::Agent).collect();
    let mut rows = vec![row("people", &people), row("agents", &all)];
    rows.extend(agents.iter().map(|(name, runs)| row(name, runs)));
    rows
}

impl Figure {
    /// What one run adds; `None` if the run has no value for it.
    #[expect(clippy::cast_precision_loss, reason = "seconds of one run")]
    fn of(self, line: &RunLine) -> Option<f64> {
        let rate = |is_so: bool| Some(f64::from(u8::from(is_so)));
        match self {
            Self::Attempts => (line.attempts > 0).then(|| f64::from(line.attempts)),
            Self::FirstAttemptPassRate => rate(line.first_result? == VerificationResult::Pass),
            Self::TamperingRate => rate(line.calls.contains_key(&Trigger::Tampering)),
            Self::DisputeRate => rate(!line.disputes.is_empty()),
            Self::WaitedSeconds => {
                line.ended_at?;
                Some(line.waited.values().sum::<u64>() as f64)
            }
        }
    }

    fn estimate(self, runs: &[&RunLine]) -> Estimate {
        let values: Vec<f64> = runs.iter().filter_map(|line| self.of(line)).collect();
        let value = (values.len() >= ENOUGH).then(|| match self {
            Self::FirstAttemptPassRate | Self::TamperingRate | Self::DisputeRate => wilson(&values),
            Self::Attempts | Self::WaitedSeconds => mean(&values),
        });
        Estimate {
            figure: self,
            of: values.len(),
            value,
            than_people: None,
        }
    }
}

/// The score interval of a rate (Wilson, 1927): it holds also near 0 and 1, and for few runs.
fn wilson(values: &[f64]) -> Interval {
    let (n, share) = size_and_mean(values);
    let square = Z * Z;
    let middle = share + square / (2.0 * n);
    let half = Z * (share * (1.0 - share) / n + square / (4.0 * n * n)).sqrt();
    let scale = 1.0 + square / n;
    Interval {
        value: share,
        low: ((middle - half) / scale).max(0.0),
        high: ((middle + half) / scale).min(1.0),
    }
}

/// The mean with its normal interval; these figures are never below 0.
fn mean(values: &[f64]) -> Interval {
    let (n, mean) = size_and_mean(values);
    let variance = values
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        / (n - 1.0).max(1.0);
    let half = Z * (variance / n).sqrt();
    Interval {
        value: mean,
        low: (mean - half).max(0.0),
        high: mean + half,
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of runs")]
fn size_and_mean(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    (n, values.iter().sum::<f64>() / n)
}
