//! The one question that is put to the human who is called. It is written, with its answers, where decisions are shown.

use crate::{
    attempts::Cause,
    failure,
    policy::Trigger,
    state::{Blocked, Dispute},
    verdict::FailureView,
};

/// One specific decision to take.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// Gates have waited too long: who decides them?
    WhoDecides,
    /// A test and the code disagree: which side is right?
    WhichSide { test: String, expected: String, actual: String, since: Disagreement },
    /// Somebody says that a failure is not theirs to mend: who is right?
    Disputed { dispute: Box<Dispute>, expected: Option<String>, actual: Option<String> },
    /// What the trigger leaves undecided about the run as a whole, after so many attempts.
    OfRun { attempts: u32, about: Trigger },
}

/// Since when a test and the code disagree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Disagreement {
    /// The test passed before.
    Regression,
    /// So many attempts have not settled it.
    Attempts(u32),
}

/// Failures in which two sides are looked for.
const LOOKED_AT: usize = 20;

impl Question {
    /// Who is right about a failure that is disputed.
    pub fn disputed(dispute: Dispute, failures: &[FailureView]) -> Self {
        let view = failures.iter().find(|view| view.cause == dispute.failure);
        let (expected, actual) = view.and_then(|view| failure::sides(&view.failure)).unzip();
        Self::Disputed { dispute: Box::new(dispute), expected, actual }
    }

    /// What to ask about a cause. Where a failure shows two sides, they are the choice.
    pub fn about(blocked: &Blocked, cause: Option<&Cause>, failures: &[FailureView]) -> Self {
        if let Some(Cause::Disputed { first, .. }) = cause {
            return Self::disputed(first.as_ref().clone(), failures);
        }
        if blocked.trigger == Trigger::GateTimeout {
            return Self::WhoDecides;
        }
        let since = match blocked.trigger {
            Trigger::RegressionDetected => Disagreement::Regression,
            _ => Disagreement::Attempts(blocked.attempt),
        };
        let sided = failures.iter().take(LOOKED_AT).find_map(|view| {
            let test = view.failure.test_name.as_deref().unwrap_or(view.check.as_str());
            let (expected, actual) = failure::sides(&view.failure)?;
            Some(Self::WhichSide { test: test.to_owned(), expected, actual, since })
        });
        sided.unwrap_or(Self::OfRun { attempts: blocked.attempt, about: blocked.trigger })
    }
}
