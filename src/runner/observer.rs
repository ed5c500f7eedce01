//! Watching checks while they run.

use std::time::Duration;

use loopgate_core::{CheckName, evidence::CheckEvidence};

/// Told what happens, as it happens; from several threads at once.
pub trait Observer: Send + Sync {
    fn started(&self, _check: &CheckName) {}
    /// The check's failing tests, so many, are run once more, to tell flaky ones.
    fn again(&self, _check: &CheckName, _tests: usize) {}
    /// The check failed for reasons outside the code, and runs for the `nth` time again after a wait.
    fn repeating(&self, _check: &CheckName, _nth: u32, _wait: Duration) {}
    fn output(&self, _check: &CheckName, _bytes: &[u8]) {}
    fn ended(&self, _evidence: &CheckEvidence) {}
}
