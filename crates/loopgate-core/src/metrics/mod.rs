//! What runs amount to in numbers: one line for each run, and what lines of a window come to.
//!
//! Everything is computed from the state of a run and its history. A line of an ended run is kept by itself, so that
//! archiving and cleaning states loses nothing.

mod line;
mod report;
mod slow_tests;

pub use crate::state::CoverageMet;

pub use self::{
    line::{CheckUse, DisputeOutcome, GateUse, MemoryUse, RUN_SCHEMA, RunLine, Waited, newest},
    report::{
        Compared, Difference, Estimate, Figure, Group, Interval, Metric, MetricValue, Point,
        Report, Target, Window,
    },
    slow_tests::{SlowTest, SlowTestTrend},
};

#[cfg(test)]
mod tests;
