//! What runs amount to in numbers: one line for each run, and what lines of a window come to.
//!
//! Everything is computed from the state of a run and its history. A line of an ended run is kept by itself, so that
//! archiving and cleaning states loses nothing.

mod compare;
mod line;
mod report;
mod timeline;

pub use self::{
    compare::{Compared, Difference, Estimate, Figure, Interval},
    line::{CheckUse, CoverageMet, DisputeOutcome, GateUse, MemoryUse, RUN_SCHEMA, RunLine, newest},
    report::{Group, Measured, Metric, Point, Report, Target, Window},
    timeline::Waited,
};

#[cfg(test)]
mod tests;
