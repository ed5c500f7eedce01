//! Exit codes, the same for every subcommand (commands.md has the table). Scripts and the Action depend on them. They
//! show what was decided or done, and do not change when the reader of the output stops early.

use clap::ValueEnum;

use loopgate_core::deciding::DecisionWord;

/// Proceed, or the command did what it was asked to.
pub const OK: u8 = 0;
/// Retry: something failed that the author can fix.
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

/// Which decisions make a workflow's step fail. What could not be carried out at all (exit codes
/// from 64 on) always fails it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Any decision but proceed and wait, and a failed check whatever its cause
    #[default]
    Failure,
    /// Only when a human has to decide
    Escalate,
    /// No decision: the outputs carry it
    Never,
}

impl FailOn {
    /// The exit code that is left of a decision's, with so many failing checks. One that the machine failed leaves the
    /// decision to another run, and no green job.
    pub const fn leaves(self, code: u8, failing: usize) -> u8 {
        match (self, code) {
            (Self::Failure, WAITING) if failing == 0 => OK,
            (Self::Escalate, RETRY | WAITING | NO_TESTS) => OK,
            (Self::Never, RETRY | ESCALATE | WAITING | NO_TESTS) => OK,
            (Self::Failure | Self::Escalate | Self::Never, code) => code,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_fails_as_it_is_told_and_always_when_nothing_could_be_decided() {
        for (code, failure, escalate, never) in [
            (OK, OK, OK, OK),
            (RETRY, RETRY, OK, OK),
            (ESCALATE, ESCALATE, ESCALATE, OK),
            (WAITING, OK, OK, OK),
            (NO_TESTS, NO_TESTS, OK, OK),
            (BAD_DATA, BAD_DATA, BAD_DATA, BAD_DATA),
            (INTERRUPTED, INTERRUPTED, INTERRUPTED, INTERRUPTED),
        ] {
            let left = [FailOn::Failure, FailOn::Escalate, FailOn::Never]
                .map(|fail_on| fail_on.leaves(code, 0));
            assert_eq!(left, [failure, escalate, never], "{code}");
        }
        let of_a_machine =
            [FailOn::Failure, FailOn::Escalate, FailOn::Never].map(|it| it.leaves(WAITING, 1));
        assert_eq!(of_a_machine, [WAITING, OK, OK]);
    }
}
