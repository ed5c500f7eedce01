//! Whom GitHub is asked to request reviews from on behalf of a gate.

use std::collections::BTreeSet;

use super::report::{GateReport, GateStanding};
use crate::{
    ids::{Login, TeamSlug},
    observed::{Readiness, Snapshot},
};

/// More individuals than this are not asked one by one: nobody feels asked then.
const MOST_INDIVIDUALS: usize = 10;

/// The reviewers to request for a gate that waits: never the author (the platform refuses it), nobody on a draft, and
/// nobody where only a permission makes an approver.
pub fn reviewers(report: &GateReport, snapshot: &Snapshot) -> BTreeSet<Reviewer> {
    let pull_request = &snapshot.pull_request;
    let waits = matches!(report.standing, GateStanding::Open | GateStanding::Rejected { .. });
    if !waits || pull_request.readiness == Readiness::Draft {
        return BTreeSet::new();
    }
    eligible_reviewers(report, snapshot)
}

/// Who could be asked to decide this gate, wherever it stands.
pub(super) fn eligible_reviewers(report: &GateReport, snapshot: &Snapshot) -> BTreeSet<Reviewer> {
    let pull_request = &snapshot.pull_request;
    let people: BTreeSet<_> =
        report.eligible.people.iter().filter(|login| **login != pull_request.author.login).collect();
    let people = if people.len() > MOST_INDIVIDUALS { BTreeSet::new() } else { people };
    // A team of another organisation cannot be requested.
    let own = report.eligible.teams.keys().filter(|team| team.org().eq_ignore_ascii_case(snapshot.repository.owner()));
    people.into_iter().cloned().map(Reviewer::User).chain(own.cloned().map(Reviewer::Team)).collect()
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reviewer {
    User(Login),
    Team(TeamSlug),
}
