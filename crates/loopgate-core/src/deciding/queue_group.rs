//! The result of a merge queue's group, from the decision on its commit.

use super::{CheckRunPlan, Decision};
use crate::{
    evidence::Outcome,
    failure::Blame,
    observed::{Conclusion, GroupFailure, GroupResult, QueueGroup, Unfinished, UnfinishedCheck},
    verdict::CheckStanding,
};

impl Decision {
    /// How a group stands, where this decision was made on the group's own evidence.
    pub fn queue_group(&self, group: QueueGroup) -> QueueGroup {
        let result = match self.surface.verify {
            Some(CheckRunPlan::Completed(Conclusion::Success)) => GroupResult::Passed,
            Some(CheckRunPlan::Completed(_)) => GroupResult::Failed,
            Some(CheckRunPlan::InProgress) | None => GroupResult::Running,
        };
        let mut group = QueueGroup { result, ..group };
        for view in &self.view.failures {
            let test = view.failure.test_name.as_deref().unwrap_or(view.check.as_str());
            let key = view.failure.fingerprint.map_or_else(|| view.check.to_string(), |error| error.to_string());
            let failure = GroupFailure { key, name: QueueGroup::short_name(test), on_base: view.blame == Blame::Base };
            match view.blame {
                Blame::Flaky => group.recovered.push(failure),
                Blame::Infrastructure | Blame::Inconclusive => {}
                Blame::PrCode | Blame::Base if group.fails(&failure) => {}
                Blame::PrCode | Blame::Base => group.failing.push(failure),
            }
        }
        for check in &self.view.checks {
            let name = QueueGroup::short_name(check.name.as_str());
            let end = match &check.standing {
                CheckStanding::Done(evidence) if evidence.outcome == Outcome::Cancelled => Unfinished::Cancelled,
                CheckStanding::Done(evidence) if evidence.outcome.is_failure() => match check.blame {
                    Some(Blame::Infrastructure | Blame::Inconclusive) => Unfinished::Outside,
                    _ => {
                        if self.view.failures.iter().all(|view| view.check != check.name) {
                            let on_base = check.blame == Some(Blame::Base);
                            group.failing.push(GroupFailure { key: check.name.to_string(), name, on_base });
                        }
                        continue;
                    }
                },
                CheckStanding::Lost { .. } => Unfinished::Cancelled,
                CheckStanding::Running { .. } => Unfinished::Running,
                CheckStanding::Missing
                | CheckStanding::TimedOutWaiting
                | CheckStanding::NotStarted { .. }
                | CheckStanding::AwaitsApproval { .. }
                | CheckStanding::AwaitsRelease { .. } => Unfinished::NotStarted,
                _ => continue,
            };
            group.unfinished.push(UnfinishedCheck { name, end });
        }
        group.failing.truncate(QueueGroup::MOST_FAILURES);
        group.recovered.truncate(QueueGroup::MOST_FAILURES);
        group.unfinished.truncate(QueueGroup::MOST_FAILURES);
        group
    }
}
