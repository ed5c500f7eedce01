//! The one question that is put to the human who is called, and what they can answer. The sentences are written where
//! decisions are shown.

use crate::{failure, policy::Trigger, state::Blocked, verdict::FailureView};

/// One specific decision to take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// Gates have waited too long: who decides them?
    WhoDecides,
    /// A test and the code disagree: which side is right?
    WhichSide { test: String, expected: String, actual: String, since: Disagreement },
    /// Something about the run as a whole, after so many attempts.
    OfRun { attempts: u32, about: Dilemma },
}

/// Since when a test and the code disagree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disagreement {
    /// The test passed before.
    Regression,
    /// So many attempts have not settled it.
    Attempts(u32),
}

/// What is undecided about a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dilemma {
    IsTheFindingReal,
    IsTheWeakeningMeant,
    WaitOrSkip,
    HangsOrSlow,
    HowToGoOn,
}

/// An answer that a question offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice<'a> {
    ApproversDecide,
    NameOtherApprovers,
    CloseOrTakeOut,
    TestIsRight { expected: &'a str },
    CodeIsRight { actual: &'a str },
    NeitherIsRight,
    FindingIsReal,
    FindingIsFalse,
    WeakeningIsMeant,
    WeakeningIsUndone,
    Wait,
    SkipCheck,
    CodeHangs,
    CheckIsSlow,
    AnotherTry,
    StopApproach,
    TakeOver,
}

/// Failures in which two sides are looked for.
const LOOKED_AT: usize = 20;

impl Question {
    /// What to ask about a cause. Where a failure shows two sides, they are the choice.
    pub fn about(blocked: &Blocked, failures: &[FailureView]) -> Self {
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
        sided.unwrap_or_else(|| Self::OfRun { attempts: blocked.attempt, about: Dilemma::of(blocked.trigger) })
    }

    /// What can be answered, in the order it is offered.
    pub fn choices(&self) -> Vec<Choice<'_>> {
        use Choice as C;
        match self {
            Self::WhoDecides => vec![C::ApproversDecide, C::NameOtherApprovers, C::CloseOrTakeOut],
            Self::WhichSide { expected, actual, .. } => {
                vec![C::TestIsRight { expected }, C::CodeIsRight { actual }, C::NeitherIsRight]
            }
            Self::OfRun { about, .. } => match about {
                Dilemma::IsTheFindingReal => vec![C::FindingIsReal, C::FindingIsFalse],
                Dilemma::IsTheWeakeningMeant => vec![C::WeakeningIsMeant, C::WeakeningIsUndone],
                Dilemma::WaitOrSkip => vec![C::Wait, C::SkipCheck],
                Dilemma::HangsOrSlow => vec![C::CodeHangs, C::CheckIsSlow],
                Dilemma::HowToGoOn => vec![C::AnotherTry, C::StopApproach, C::TakeOver],
            },
        }
    }
}

impl Dilemma {
    /// What a trigger leaves undecided.
    pub const fn of(trigger: Trigger) -> Self {
        match trigger {
            Trigger::SecurityIssueFound => Self::IsTheFindingReal,
            Trigger::Tampering => Self::IsTheWeakeningMeant,
            Trigger::ExternalDependencyDown => Self::WaitOrSkip,
            Trigger::TimeoutExceeded => Self::HangsOrSlow,
            _ => Self::HowToGoOn,
        }
    }
}
