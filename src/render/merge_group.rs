//! What the two check runs say on the commit of a merge group: which pull requests are in it, and how each stands.

use super::{
    CheckRunText,
    check_run::title,
    sanitize::{Markdown, code},
    words,
};
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerifiedBy {
    /// The group's commit has been tested itself.
    Group,
    /// It has not, so the pull request's own head counts.
    PullRequest,
}

/// The texts of `loopgate / verify` and `loopgate / gates`, and how each ends. `unknown` are commits of the group of
/// which nobody can say which pull request they belong to.
pub fn merge_group(members: &[GroupMember], unknown: &[Sha]) -> [(CheckRunPlan, CheckRunText); 2] {
    let (verify, gates) = (verification(members, unknown), gating(members, unknown));
    [verify, gates].map(|(plan, words, lines)| {
        let mut summary: Vec<String> = lines.into_iter().map(|line| format!("- {line}")).collect();
        summary.extend(
            unknown
                .iter()
                .take(20)
                .map(|sha| format!("- ⚠️ {} belongs to no pull request that Loopgate can find.", code(&sha.short()))),
        );
        let (text, annotations, actions) = (None, Vec::new(), Vec::new());
        (plan, CheckRunText { title: title(words), summary: summary.join("\n"), text, annotations, actions })
    })
}

fn verification(members: &[GroupMember], unknown: &[Sha]) -> (CheckRunPlan, String, Vec<Markdown>) {
    let state = |member: &GroupMember| match (member.verify, member.verified_by) {
        (CheckRunPlan::Completed(Conclusion::Success), _) => State::Good,
        (CheckRunPlan::InProgress, VerifiedBy::Group) => State::Running,
        // Nothing more will come for this group: a queue must not wait for it.
        (CheckRunPlan::InProgress, VerifiedBy::PullRequest) | (CheckRunPlan::Completed(_), _) => State::Bad,
    };
    let line = |member: &GroupMember| {
        let how = match (state(member), member.verified_by) {
            (State::Good, VerifiedBy::Group) => "✅ passes, tested on this commit",
            (State::Good, VerifiedBy::PullRequest) => {
                "✅ passes on its own head; this commit has no evidence of its own"
            }
            (State::Running, _) => "⏳ is being tested on this commit",
            (State::Bad, VerifiedBy::Group) => "❌ fails on this commit",
            (State::Bad, VerifiedBy::PullRequest) => "❌ does not pass on its own head",
        };
        Markdown::ours(format!("#{} {how}", member.number))
    };
    let bad = names(members, |member| state(member) == State::Bad);
    let running = names(members, |member| state(member) == State::Running);
    let (plan, words) = match (bad.is_empty() && unknown.is_empty(), running.is_empty()) {
        (false, _) => (failure(), failing("Does not pass", &bad)),
        (true, false) => (CheckRunPlan::InProgress, format!("Testing {}", words::few(&running, 4))),
        (true, true) => (success(), format!("Passed: {}", words::few(&names(members, |_| true), 4))),
    };
    (plan, words, members.iter().map(line).collect())
}

fn gating(members: &[GroupMember], unknown: &[Sha]) -> (CheckRunPlan, String, Vec<Markdown>) {
    let line = |member: &GroupMember| {
        let closed: Vec<String> = member.closed.iter().map(|gate| code(gate.as_str()).into_string()).collect();
        Markdown::ours(match closed.as_slice() {
            [] => format!("#{} ✅ no gate stands in the way", member.number),
            closed => format!("#{} 🔒 waits for {}", member.number, words::few(closed, 10)),
        })
    };
    let closed = names(members, |member| !member.closed.is_empty());
    let (plan, words) = match closed.is_empty() && unknown.is_empty() {
        true => (success(), format!("No gate closed: {}", words::few(&names(members, |_| true), 4))),
        false => (failure(), failing("A gate is closed", &closed)),
    };
    (plan, words, members.iter().map(line).collect())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Good,
    Running,
    Bad,
}

fn failing(what: &str, members: &[String]) -> String {
    match members {
        [] => "A commit here belongs to no known pull request".to_owned(),
        members => format!("{what}: {}", words::few(members, 4)),
    }
}

fn names(members: &[GroupMember], wanted: impl Fn(&GroupMember) -> bool) -> Vec<String> {
    members.iter().filter(|member| wanted(member)).map(|member| format!("#{}", member.number)).collect()
}

const fn success() -> CheckRunPlan {
    CheckRunPlan::Completed(Conclusion::Success)
}

/// A queue throws out what ends in any other way than success.
const fn failure() -> CheckRunPlan {
    CheckRunPlan::Completed(Conclusion::Failure)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let good = member(12, &[], success(), Group);
        let own = member(13, &[], success(), PullRequest);
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
