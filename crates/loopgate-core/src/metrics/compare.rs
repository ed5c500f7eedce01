//! Agents beside people, and agents beside each other: each figure with the interval in which it lies at 95 %, and only
//! where there are enough runs to say so.

use std::collections::BTreeMap;

use serde::Serialize;

use super::RunLine;
use crate::{
    policy::Trigger,
    state::{AuthorKind, VerificationResult},
};

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
    /// Runs that tell of it.
    pub of: usize,
    /// None where too few runs tell of it.
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
    pub estimates: [Estimate; 5],
}

/// People first, then all agents, then each agent by name; none where no agent has a run.
pub(super) fn compared(runs: &[&RunLine]) -> Vec<Compared> {
    let of = |kind: AuthorKind| runs.iter().copied().filter(move |line| line.author == kind);
    let mut agents: BTreeMap<&str, Vec<&RunLine>> = BTreeMap::new();
    for line in of(AuthorKind::Agent) {
        agents.entry(line.agent.as_deref().unwrap_or("unnamed")).or_default().push(line);
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
            let people = measured.iter().find(|people| people.figure == figure).and_then(|people| people.value);
            let than_people = estimate.value.zip(people).and_then(|(ours, theirs)| ours.than(theirs));
            Estimate { than_people, ..estimate }
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
        Estimate { figure: self, of: values.len(), value, than_people: None }
    }
}

impl Interval {
    /// How it compares with another, where the intervals do not overlap.
    fn than(self, other: Self) -> Option<Difference> {
        if self.low > other.high {
            Some(Difference::Higher)
        } else if self.high < other.low {
            Some(Difference::Lower)
        } else {
            None
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
    Interval { value: share, low: ((middle - half) / scale).max(0.0), high: ((middle + half) / scale).min(1.0) }
}

/// The mean with its normal interval; these figures are never below 0.
fn mean(values: &[f64]) -> Interval {
    let (n, mean) = size_and_mean(values);
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    let half = Z * (variance / n).sqrt();
    Interval { value: mean, low: (mean - half).max(0.0), high: mean + half }
}

#[expect(clippy::cast_precision_loss, reason = "counts of runs")]
fn size_and_mean(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    (n, values.iter().sum::<f64>() / n)
}
