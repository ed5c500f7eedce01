//! What the two check runs say on the commit of a merge group: which pull requests are in it, and how each stands.

use minijinja::{context, value::Serde};
use serde::Serialize;

use super::{CheckRunText, check_run::title, messages};
use loopgate_core::{GateName, PrNumber, Sha, deciding::CheckRunPlan, observed::Conclusion};

/// One pull request of a merge group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupMember {
    pub number: PrNumber,
    /// Gates that are closed now.
    pub closed: Vec<GateName>,
    pub verify: CheckRunPlan,
    pub verified_by: VerifiedBy,
}

/// Whose evidence verifies a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VerifiedBy {
    /// The group's commit has been tested itself.
    Group,
    /// It has not, so the pull request's own head counts.
    PullRequest,
}

/// The texts of `loopgate / verify` and `loopgate / gates`, and how each ends. `unknown` are commits of the group
/// whose pull request is not known.
pub fn merge_group(members: &[GroupMember], unknown: &[Sha]) -> [(CheckRunPlan, CheckRunText); 2] {
    let verified = |member: &GroupMember| match (member.verify, member.verified_by) {
        (CheckRunPlan::Completed(Conclusion::Success), _) => "good",
        (CheckRunPlan::InProgress, VerifiedBy::Group) => "running",
        // Nothing more will come for this group: a queue must not wait for it.
        (CheckRunPlan::InProgress, VerifiedBy::PullRequest) | (CheckRunPlan::Completed(_), _) => "bad",
    };
    let gated = |member: &GroupMember| if member.closed.is_empty() { "good" } else { "bad" };
    [text("verify", members, verified, unknown), text("gates", members, gated, unknown)]
}

/// How a check ends by the state of each member, and what it says. A queue throws out what ends in any other way than
/// success.
fn text(
    check: &str,
    members: &[GroupMember],
    state: impl Fn(&GroupMember) -> &'static str,
    unknown: &[Sha],
) -> (CheckRunPlan, CheckRunText) {
    let of_state = |wanted: &str| -> Vec<String> {
        members.iter().filter(|member| state(member) == wanted).map(|member| format!("#{}", member.number)).collect()
    };
    let line = |member: &GroupMember| {
        let GroupMember { number, closed, verified_by, .. } = member;
        context! { number => number.get(), state => state(member), verified_by => Serde(verified_by), closed => Serde(closed) }
    };
    let lines: Vec<_> = members.iter().map(line).collect();
    let (good, bad, running) = (of_state("good"), of_state("bad"), of_state("running"));
    let plan = match (bad.is_empty() && unknown.is_empty(), running.is_empty()) {
        (false, _) => CheckRunPlan::Completed(Conclusion::Failure),
        (true, false) => CheckRunPlan::InProgress,
        (true, true) => CheckRunPlan::Completed(Conclusion::Success),
    };
    let unknown: Vec<String> = unknown.iter().take(20).map(Sha::short).collect();
    let model = context! { check, members => lines, unknown, good, bad, running };
    let summary = messages::markdown("merge_group", &"summary", model.clone()).into_string();
    let title = title(messages::plain("merge_group", &"title", model));
    (plan, CheckRunText { title, summary, ..CheckRunText::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUCCESS: CheckRunPlan = CheckRunPlan::Completed(Conclusion::Success);

    fn member(number: u64, closed: &[&str], verify: CheckRunPlan, verified_by: VerifiedBy) -> GroupMember {
        let closed = closed.iter().map(|gate| gate.parse().unwrap()).collect();
        GroupMember { number: PrNumber::new(number), closed, verify, verified_by }
    }

    fn said(members: &[GroupMember], unknown: &[Sha]) -> String {
        let texts =
            merge_group(members, unknown).map(|(plan, text)| format!("{plan:?} — {}\n{}", text.title, text.summary));
        texts.join("\n")
    }

    #[test]
    fn a_group_is_as_good_as_its_worst_member() {
        use VerifiedBy::{Group, PullRequest};
        let good = member(12, &[], SUCCESS, Group);
        let own = member(13, &[], SUCCESS, PullRequest);
        let waits = member(14, &["security", "deploy"], CheckRunPlan::InProgress, Group);
        let silent = member(15, &[], CheckRunPlan::InProgress, PullRequest);
        let groups = [
            said(&[good.clone(), own], &[]),
            said(&[good.clone(), waits], &[]),
            said(&[good.clone(), silent], &[]),
            said(&[good], &[Sha::from_bytes([0xab; 20])]),
        ];
        insta::assert_snapshot!("merge_groups", groups.join("\n\n"));
    }
}
