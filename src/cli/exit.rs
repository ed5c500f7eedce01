//! Exit codes, the same for every subcommand (surfaces.md). Scripts and the Action depend on them.

use crate::core::decision::DecisionWord;

/// Proceed, or the command did what it was asked to.
pub const OK: u8 = 0;
/// Retry: something failed that the author can mend.
pub const RETRY: u8 = 1;
/// Escalate or blocked: a human has to decide.
pub const ESCALATE: u8 = 2;
/// Waiting for a gate's approval or for evidence.
pub const WAITING: u8 = 3;
/// A test check executed no test.
pub const NO_TESTS: u8 = 4;
/// The command line is wrong.
pub const USAGE: u8 = 64;
/// Configuration or input data is wrong.
pub const BAD_DATA: u8 = 65;
/// Something outside is not available: GitHub, the storage, a port.
pub const UNAVAILABLE: u8 = 69;
/// Interrupted by Ctrl-C or a termination signal.
pub const INTERRUPTED: u8 = 130;

/// The exit code of a decision.
pub const fn of(word: DecisionWord) -> u8 {
    match word {
        DecisionWord::Proceed => OK,
        DecisionWord::Retry => RETRY,
        DecisionWord::Escalate => ESCALATE,
        DecisionWord::Wait => WAITING,
    }
}
