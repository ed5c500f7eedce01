//! Small phrases that several texts share: durations, counts, lists of names, what a trigger or a stage is called.

use std::collections::BTreeSet;

pub use super::amounts::{and, count, days, duration, few, moment, or, plural, times};
use super::{
    Markdown,
    messages::{self, entry},
    sanitize::text,
    short_text, word,
};
use loopgate_core::{
    CheckName, Login, TeamSlug,
    concerns::{
        checks::{SkipCause, SkippedJob, StartFilter},
        fixer::fix_request::Whom,
        gates::GateReport,
    },
    deciding::{LabelMeaning, NextAction, Part},
    failure::Blame,
    observed::Permission,
    policy::{DispatchFixer, Fixer, Policy, Recipient, Trigger},
    state::RejectedIn,
};
use minijinja::{Value, context, value::Serde};

/// People who are named one by one; of more, how many there are is enough.
const MOST_APPROVERS: usize = 5;

/// A text as a whole sentence: safe, and with a stop at its end.
pub fn sentence(raw: &str, most: usize) -> Markdown {
    let shown = short_text(raw, most).into_string();
    let ended = shown.is_empty() || shown.ends_with(['.', '!', '?', '…', ':']);
    Markdown::ours(if ended { shown } else { format!("{shown}.") })
}

/// Names of checks as plain words.
pub fn checks(names: &[CheckName]) -> String {
    few(names, 4)
}

/// An account's name, never as a mention.
pub fn person(login: &Login) -> Markdown {
    text(login.as_str())
}

/// Why a human is called, in words.
pub fn trigger(trigger: Trigger) -> &'static str {
    word(entry::Trigger(&trigger))
}

/// What a label says in the list of a repository's labels.
pub fn label_description(meaning: &LabelMeaning) -> String {
    messages::reason(entry::Label(meaning))
}

/// Whose fault a failure is, if that is not the pull request's.
pub fn blame(blame: Blame) -> Option<&'static str> {
    Some(word(entry::Blame(&blame))).filter(|words| !words.is_empty())
}

pub fn permission(permission: Permission) -> &'static str {
    word(entry::Permission(&permission))
}

/// That a job did not run: "test was skipped", "test does not run on this change (`paths-ignore` of ci.yml)".
pub fn skipped_job(job: &SkippedJob) -> String {
    let by = match job.filter {
        None => entry::SkippedBy::Condition,
        Some(_) => entry::SkippedBy::Filter,
    };
    messages::plain(by, Value::from(Serde(job)))
}

/// What kept a workflow from starting: "`paths-ignore` of ci.yml".
pub fn start_filter(filter: &StartFilter) -> String {
    messages::plain(entry::SkippedBy::FilterAlone, Value::from(Serde(filter)))
}

/// Why a skipped job is waited for: "test was skipped: build of the same run failed or was cancelled".
pub fn awaited_job(job: &SkippedJob, cause: &SkipCause) -> String {
    messages::plain(entry::SkipCause(cause), context! { of => skipped_job(job) })
}

/// What the one who acts next does.
pub fn deed(part: Part, action: &NextAction) -> &'static str {
    match part {
        Part::Ci | Part::Base => "report the checks",
        Part::Author | Part::Agent if action.awaits_evidence() => {
            word(entry::DeedOfAuthor::CannotStart)
        }
        _ => word(entry::Deed(action)),
    }
}

/// Who can open a gate, in plain words: "bob, carol or a member of team acme/security". Who is in a team is for its
/// members to see.
pub fn approvers(gate: &GateReport) -> String {
    let eligible = &gate.eligible;
    if eligible.only_hope {
        return "nobody yet".to_owned();
    }
    let mut who: Vec<String> = eligible.people.iter().map(ToString::to_string).collect();
    if who.len() > MOST_APPROVERS {
        let more = who.split_off(MOST_APPROVERS).len();
        who.push(format!("{more} more people"));
    }
    who.extend(
        eligible
            .teams
            .keys()
            .map(|team| format!("a member of team {team}")),
    );
    if let Some(level) = eligible.permission {
        let named = match eligible.by_right.is_empty() {
            true => String::new(),
            false => format!(" ({})", or(&eligible.by_right)),
        };
        who.push(format!("anyone with {}{named}", permission(level)));
    }
    if who.is_empty() {
        "no one who could be found".to_owned()
    } else {
        or(&who)
    }
}

/// Who of the teams that can open a gate may approve it: "acme/security: bob and carol".
pub fn members(gate: &GateReport) -> Vec<String> {
    let named = |(team, members): (&TeamSlug, &BTreeSet<Login>)| {
        let who = if members.is_empty() {
            "no one who may approve here".to_owned()
        } else {
            few(members, 20)
        };
        format!("{team}: {who}")
    };
    gate.eligible.teams.iter().map(named).collect()
}

/// Where somebody objected.
pub fn place_of(objection: &RejectedIn) -> String {
    match objection {
        RejectedIn::Gate(gate) => format!("{gate} gate"),
        RejectedIn::Review => "review".to_owned(),
    }
}

/// Those who are called when a trigger names no recipient, in plain words.
pub fn called(policy: &Policy) -> String {
    let who = &policy.escalation.notify;
    if who.is_empty() {
        "the maintainers".to_owned()
    } else {
        few(who.iter().map(recipient), 4)
    }
}

/// What happens when a trigger holds: who is asked, if the configuration names somebody.
pub fn asked(policy: &Policy, trigger: Trigger) -> String {
    match policy.escalation.called_for(trigger) {
        [] => "the loop stops until a maintainer decides".to_owned(),
        [one] => format!("{} is asked", recipient(one)),
        who => format!("{} are asked", few(who.iter().map(recipient), 4)),
    }
}

/// A fixer that works elsewhere, by the name people know it by.
pub fn fixer(whom: Whom, policy: &Policy) -> String {
    let name = match whom.of(policy) {
        Some(Fixer::Mention(login)) => login.to_string(),
        Some(Fixer::Dispatch(DispatchFixer::Workflow { file })) => format!("the workflow {file}"),
        Some(Fixer::Dispatch(DispatchFixer::Repository { event_type })) => {
            format!("the fixer behind {event_type}")
        }
        Some(Fixer::Author | Fixer::Command(_)) | None => "the fixer".to_owned(),
    };
    match whom {
        Whom::Fixer => name,
        Whom::Senior => format!("{name}, the senior fixer,"),
    }
}

pub fn recipient(recipient: &Recipient) -> String {
    match recipient {
        Recipient::User(login) => login.to_string(),
        Recipient::Team(team) => team.to_string(),
        Recipient::GateApprovers(gate) => format!("the {gate} approvers"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopgate_core::{
        concerns::{
            checks::{JobName, LossCause, LostJob},
            coverage::MissingTests,
            verdict::RuleFailure,
        },
        observed::Conclusion,
    };
    use messages::lost_jobs as lost;

    #[test]
    fn lost_jobs_are_named_with_how_they_ended() {
        use Conclusion::{Cancelled, Failure, StartupFailure, TimedOut};
        let job = |end| LostJob {
            name: JobName::Job("test (windows)".into()),
            end,
            url: None,
        };
        let ends = [
            LossCause::RunnerLost,
            LossCause::Interrupted,
            LossCause::Unknown,
            LossCause::As(Cancelled),
            LossCause::As(TimedOut),
            LossCause::As(StartupFailure),
            LossCause::As(Failure),
        ];
        let mut said: Vec<String> = ends.map(|end| lost(&[job(end)])).to_vec();
        let place = JobName::Place {
            job: "test".into(),
            index: 2,
            total: 3,
        };
        let more = [
            place,
            JobName::Workflow(".github/workflows/ci.yml".into()),
            JobName::Job("a".into()),
        ];
        let others = more.map(|name| LostJob {
            name,
            ..job(LossCause::Unknown)
        });
        said.push(lost(
            &[vec![job(LossCause::RunnerLost)], others.to_vec()].concat(),
        ));
        insta::assert_snapshot!(said.join("\n"), @r"
        the job test (windows) lost its runner without evidence
        the job test (windows) was interrupted without evidence
        the job test (windows) ended without evidence
        the job test (windows) was cancelled or ran out of time without evidence
        the job test (windows) ran out of time without evidence
        the job test (windows) could not be started without evidence
        the job test (windows) ended without evidence
        the job test (windows) lost its runner, matrix job 3 of 3 of test ended, a job of .github/workflows/ci.yml ended and 1 more without evidence
        ");
    }

    #[test]
    fn counts() {
        assert_eq!(count(1_usize, "test"), "1 test");
        assert_eq!(count(0_u64, "test"), "0 tests");
    }

    /// The sentences that no story of `decided_tests` meets.
    #[test]
    fn what_rarely_fails() {
        let missing = |broken: &[&str], gone| {
            let named = broken.iter().map(ToString::to_string).collect();
            messages::reason(entry::Rule(&RuleFailure::RequiredTest(
                MissingTests::OfBase {
                    broken: broken.len(),
                    named,
                    gone,
                },
            )))
        };
        assert_eq!(
            missing(&["a"], 0),
            "make the tests pass that pass on the base: 1 of them fails, `a`"
        );
        assert_eq!(
            missing(&[], 1),
            "bring back the 1 test that the base has and this change has not"
        );
        assert_eq!(
            missing(&["a", "b"], 2),
            "make the tests pass that pass on the base: 2 of them fail, `a`, `b`; bring back the 2 tests that the base \
             has and this change has not"
        );
        let proof = MissingTests::Proof {
            reason: "tests/round.rs passes on the base too.".to_owned(),
        };
        assert_eq!(
            messages::reason(entry::Rule(&RuleFailure::RequiredTest(proof))),
            "add a test that fails without the fix and passes with it: tests/round.rs passes on the base too"
        );
        let uncovered = [1, 2, 3, 4].map(|line| format!("a.rs:{line}")).to_vec();
        assert_eq!(
            messages::reason(entry::Rule(&RuleFailure::ChangedCoverage {
                percent: 99.96,
                least: 100.0,
                uncovered
            })),
            "99.9 % of the changed lines are covered; add tests until it is 100 %: a.rs:1, a.rs:2, a.rs:3 and 1 more place"
        );
        assert_eq!(
            messages::reason(entry::Rule(&RuleFailure::CoverageLost {
                head: 80.1,
                base: 80.3
            })),
            "80.1 % of all lines are covered and 80.3 % on the base; cover what lost its tests"
        );
    }
}
