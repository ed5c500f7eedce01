//! Small phrases that several texts share: durations, counts, lists of names, what a trigger or a stage is called.

use std::collections::BTreeSet;

use super::sanitize::{Markdown, code, short_text, text};
use loopgate_core::{
    CheckName, Login, TeamSlug, Timestamp,
    deciding::{NextAction, Part, View},
    escalation::fix_request::Whom,
    evidence::{Outcome, RootCauseCategory},
    failure::Blame,
    gate::GateReport,
    observed::{Conclusion, Permission},
    policy::{DispatchFixer, Fixer, Policy, Recipient, Trigger},
    verdict::{CheckStanding, LegEnd, LegName, LostLeg, SkipCause},
};

/// People who are named one by one; of more, how many there are is enough.
const MOST_APPROVERS: usize = 5;

/// How long something lasted, for people: `4 min`, `2 h 3 min`; seconds only below a minute.
pub fn span(ms: u64) -> String {
    match ms / 60_000 {
        0 => duration(ms),
        minutes @ 1..60 => format!("{minutes} min"),
        minutes => duration(minutes * 60_000),
    }
}

/// `850 ms`, `12.3 s`, `4 min 5 s`, `2 h 3 min`.
pub fn duration(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0 => format!("{ms} ms"),
        1..60 => format!("{}.{} s", seconds, ms % 1000 / 100),
        60..3600 if seconds.is_multiple_of(60) => format!("{} min", seconds / 60),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ if (seconds / 60).is_multiple_of(60) => format!("{} h", seconds / 3600),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// `20 Nov 2026, 10:15 UTC`.
pub fn moment(at: Timestamp) -> String {
    at.format("%-d %b %Y, %H:%M UTC").to_string()
}

/// `1 test`, `2 tests`.
pub fn count(n: impl TryInto<u64>, one: &str) -> String {
    let n = n.try_into().unwrap_or(u64::MAX);
    if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") }
}

/// `once`, `twice`, `3 times`.
pub fn times(n: u32) -> String {
    match n {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        more => format!("{more} times"),
    }
}

/// The same for words that do not simply take an s.
pub fn plural(n: usize, one: &str, many: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {many}") }
}

/// `a`, `a and b`, `a, b and c`.
pub fn and(items: &[String]) -> String {
    series(items, "and")
}

/// `a`, `a or b`, `a, b or c`.
pub fn or(items: &[String]) -> String {
    series(items, "or")
}

fn series(items: &[String], word: &str) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [most @ .., last] => format!("{} {word} {last}", most.join(", ")),
    }
}

/// The first few of many: `a, b and 3 more`.
pub fn few(items: &[String], most: usize) -> String {
    match items.get(..most) {
        Some(first) if items.len() > most => format!("{} and {} more", first.join(", "), items.len() - most),
        _ => and(items),
    }
}

/// A text as a whole sentence: safe, and with a stop at its end.
pub fn sentence(raw: &str, most: usize) -> Markdown {
    let said = short_text(raw, most).into_string();
    let ended = said.is_empty() || said.ends_with(['.', '!', '?', '…', ':']);
    Markdown::ours(if ended { said } else { format!("{said}.") })
}

/// Names of checks as plain words.
pub fn checks(names: &[CheckName]) -> String {
    few(&names.iter().map(ToString::to_string).collect::<Vec<_>>(), 4)
}

/// Names of checks as code.
pub fn checks_code(names: &[CheckName]) -> Markdown {
    Markdown::ours(few(&names.iter().map(|name| code(name.as_str()).into_string()).collect::<Vec<_>>(), 6))
}

/// An account's name, never as a mention.
pub fn person(login: &Login) -> Markdown {
    text(login.as_str())
}

/// Why a human is called, in words.
pub const fn trigger(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::SecurityIssueFound => "a security problem was found",
        Trigger::Tampering => "tests or thresholds were weakened",
        Trigger::Disputed => "a failure is disputed",
        Trigger::RegressionDetected => "tests that passed before fail now",
        Trigger::CircularFailure => "the fixes go round in a circle",
        Trigger::SameError => "the same error keeps coming back",
        Trigger::TotalFailures => "too many attempts of this pull request have failed",
        Trigger::MaxAttemptsReached => "all attempts are used up",
        Trigger::Stagnation => "the score no longer improves",
        Trigger::TimeoutExceeded => "a check ran into its own time limit",
        Trigger::ExternalDependencyDown => "something outside the code that the checks need is down",
        Trigger::AmbiguousRequirement => "the requirement can be read in more than one way",
        Trigger::BudgetExhausted => "the budget for automatic fixes is used up",
        Trigger::GateTimeout => "a gate has waited too long for its approvers",
        Trigger::CoverageThresholdUnmet => "too few of the changed lines are covered by tests",
        Trigger::NoChange => "the last attempt changed nothing",
        Trigger::UnknownErrorType => "the failure is of a kind Loopgate does not know",
    }
}

/// What a root cause is called.
pub const fn category(category: RootCauseCategory) -> &'static str {
    match category {
        RootCauseCategory::NullUndefinedAccess => "access to a missing value",
        RootCauseCategory::TypeMismatch => "type mismatch",
        RootCauseCategory::MissingValidation => "missing validation",
        RootCauseCategory::LogicError => "logic error",
        RootCauseCategory::OffByOne => "off by one",
        RootCauseCategory::RaceCondition => "race condition",
        RootCauseCategory::ResourceLeak => "resource leak",
        RootCauseCategory::MissingErrorHandling => "missing error handling",
        RootCauseCategory::ApiMisuse => "wrong use of an API",
        RootCauseCategory::ConfigurationError => "configuration error",
        RootCauseCategory::DependencyIssue => "dependency problem",
        RootCauseCategory::Environment => "environment",
        RootCauseCategory::Other => "unclear",
    }
}

/// Whose fault a failure is, where that is not the pull request's.
pub const fn blame(blame: Blame) -> Option<&'static str> {
    match blame {
        Blame::PrCode => None,
        Blame::Base => Some("fails on the base too"),
        Blame::Flaky => Some("flaky"),
        Blame::Infrastructure => Some("infrastructure"),
        Blame::Inconclusive => Some("cause unclear"),
    }
}

/// The outcome without its sign, for places that have signs of their own.
pub const fn plain_outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "passed",
        Outcome::Failed => "failed",
        Outcome::TimedOut => "timed out",
        Outcome::NoTestsExecuted => "no tests executed",
        Outcome::ResultsLost => "results by test lost",
        Outcome::Skipped => "skipped",
        Outcome::Cancelled => "cancelled",
    }
}

pub const fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "✅ passed",
        Outcome::Failed => "❌ failed",
        Outcome::TimedOut => "❌ timed out",
        Outcome::NoTestsExecuted => "❌ no tests executed",
        Outcome::ResultsLost => "❌ results by test lost",
        Outcome::Skipped => "⏭️ skipped",
        Outcome::Cancelled => "⏹️ cancelled",
    }
}

pub const fn permission(permission: Permission) -> &'static str {
    match permission {
        Permission::None => "no access",
        Permission::Read => "read access",
        Permission::Triage => "triage access",
        Permission::Write => "write access",
        Permission::Maintain => "maintain access",
        Permission::Admin => "admin access",
    }
}

/// The legs that ended without evidence, each with how: "test (windows) was cancelled". Plain text from outside.
pub fn lost(legs: &[LostLeg]) -> String {
    let told: Vec<String> = legs
        .iter()
        .map(|leg| {
            let name = match &leg.name {
                LegName::Job(name) => format!("the job {name}"),
                LegName::Place { job, index, total } => format!("leg {} of {total} of the job {job}", index + 1),
                LegName::Workflow(path) => format!("a job of {path}"),
            };
            let end = match leg.end {
                LegEnd::RunnerLost => "lost its runner",
                LegEnd::Interrupted => "was interrupted",
                LegEnd::As(Conclusion::Cancelled) => "was cancelled or ran out of time",
                LegEnd::As(Conclusion::TimedOut) => "ran out of time",
                LegEnd::As(Conclusion::StartupFailure) => "could not be started",
                LegEnd::As(_) | LegEnd::Unknown => "ended",
            };
            format!("{name} {end}")
        })
        .collect();
    format!("{} without evidence", few(&told, MOST_LEGS))
}

/// Lost legs named at most.
const MOST_LEGS: usize = 3;

/// Why a skipped job is waited for: "test was skipped: it needs build, which failed".
pub fn skipped_job(job: &str, cause: &SkipCause) -> String {
    match cause {
        SkipCause::Needs { failed } => format!("{job} was skipped: {failed} of the same run failed or was cancelled"),
        SkipCause::NothingRan => format!("{job} was skipped, and nothing of its kind ran on this head"),
        SkipCause::Configured => format!("{job} was skipped, and `when_skipped: wait` waits for it"),
    }
}

/// Names of the checks that failed on the head, in their order.
pub fn failing(view: &View) -> Vec<CheckName> {
    let fails = |standing: &CheckStanding| match standing {
        CheckStanding::Done(evidence) => evidence.outcome.is_failure(),
        CheckStanding::TimedOutWaiting
        | CheckStanding::Refused { .. }
        | CheckStanding::NotStarted { .. }
        | CheckStanding::Lost { .. } => true,
        CheckStanding::Missing
        | CheckStanding::Running { .. }
        | CheckStanding::AwaitsApproval { .. }
        | CheckStanding::AwaitsRelease { .. }
        | CheckStanding::NotApplicable { .. }
        | CheckStanding::Skipped { .. } => false,
    };
    view.checks.iter().filter(|check| fails(&check.standing)).map(|check| check.name.clone()).collect()
}

/// What whoever acts next does.
pub const fn deed(part: Part, action: &NextAction) -> &'static str {
    match action {
        _ if matches!(part, Part::Ci | Part::Base) => "report the checks",
        NextAction::Retry { .. } => "push a fix",
        NextAction::WaitForPush { .. } => "push the next capability",
        NextAction::WaitForReady => "mark it ready for review",
        NextAction::WaitForHuman { .. } | NextAction::Escalate { .. } => "decide",
        NextAction::WaitForApproval { .. } => "decide the gate",
        NextAction::WaitForEvidence { .. } => "report the checks",
        NextAction::WaitForRunApproval { .. } => "approve and run the workflows",
        NextAction::WaitForReview => "review",
        NextAction::WaitForMerge => "merge",
        NextAction::Complete | NextAction::Stopped => "take the loop up again",
    }
}

/// Who can open a gate, in plain words: "bob, carol or a member of team acme/security". Who is in a team is for its
/// members to see.
pub fn approvers(gate: &GateReport) -> String {
    let eligible = &gate.eligible;
    let mut who: Vec<String> = eligible.people.iter().map(ToString::to_string).collect();
    if who.len() > MOST_APPROVERS {
        let more = who.split_off(MOST_APPROVERS).len();
        who.push(format!("{more} more people"));
    }
    who.extend(eligible.teams.keys().map(|team| format!("a member of team {team}")));
    if let Some(level) = eligible.permission {
        who.push(format!("anyone with {}", permission(level)));
    }
    if who.is_empty() { "nobody who could be found".to_owned() } else { or(&who) }
}

/// Who of the teams that can open a gate may approve it: "acme/security: bob and carol".
pub fn members(gate: &GateReport) -> Vec<String> {
    let named = |(team, members): (&TeamSlug, &BTreeSet<Login>)| {
        let names: Vec<String> = members.iter().map(ToString::to_string).collect();
        let who = if names.is_empty() { "nobody who may approve here".to_owned() } else { few(&names, 20) };
        format!("{team}: {who}")
    };
    gate.eligible.teams.iter().map(named).collect()
}

/// Those who are called when a trigger names nobody, in plain words.
pub fn called(policy: &Policy) -> String {
    let who: Vec<String> = policy.escalation.notify.iter().map(recipient).collect();
    if who.is_empty() { "the maintainers".to_owned() } else { few(&who, 4) }
}

/// What happens when the attempts are used up: who is asked, if the configuration names somebody.
pub fn asked(policy: &Policy) -> String {
    let who: Vec<String> = policy.escalation.notify.iter().map(recipient).collect();
    match who.as_slice() {
        [] => "the loop stops until a maintainer decides".to_owned(),
        [one] => format!("{one} is asked"),
        _ => format!("{} are asked", few(&who, 4)),
    }
}

/// A fixer that works elsewhere, by the name people know it by.
pub fn fixer(whom: Whom, policy: &Policy) -> String {
    let name = match whom.of(policy) {
        Some(Fixer::Mention(login)) => login.to_string(),
        Some(Fixer::Dispatch(DispatchFixer::Workflow { file })) => format!("the workflow {file}"),
        Some(Fixer::Dispatch(DispatchFixer::Repository { event_type })) => format!("the fixer behind {event_type}"),
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

    #[test]
    fn lost_jobs_are_named_with_how_they_ended() {
        use Conclusion::{Cancelled, Failure, StartupFailure, TimedOut};
        let job = |end| LostLeg { name: LegName::Job("test (windows)".into()), end, url: None };
        let ends = [
            LegEnd::RunnerLost,
            LegEnd::Interrupted,
            LegEnd::Unknown,
            LegEnd::As(Cancelled),
            LegEnd::As(TimedOut),
            LegEnd::As(StartupFailure),
            LegEnd::As(Failure),
        ];
        let mut said: Vec<String> = ends.map(|end| lost(&[job(end)])).to_vec();
        let place = LegName::Place { job: "test".into(), index: 2, total: 3 };
        let more = [place, LegName::Workflow(".github/workflows/ci.yml".into()), LegName::Job("a".into())];
        let others = more.map(|name| LostLeg { name, ..job(LegEnd::Unknown) });
        said.push(lost(&[vec![job(LegEnd::RunnerLost)], others.to_vec()].concat()));
        insta::assert_snapshot!(said.join("\n"), @r"
        the job test (windows) lost its runner without evidence
        the job test (windows) was interrupted without evidence
        the job test (windows) ended without evidence
        the job test (windows) was cancelled or ran out of time without evidence
        the job test (windows) ran out of time without evidence
        the job test (windows) could not be started without evidence
        the job test (windows) ended without evidence
        the job test (windows) lost its runner, leg 3 of 3 of the job test ended, a job of .github/workflows/ci.yml ended and 1 more without evidence
        ");
    }

    #[test]
    fn durations() {
        let cases = [
            (0, "0 ms"),
            (850, "850 ms"),
            (12_345, "12.3 s"),
            (245_000, "4 min 5 s"),
            (7_380_000, "2 h 3 min"),
            (3_600_000, "1 h"),
        ];
        for (ms, shown) in cases {
            assert_eq!(duration(ms), shown);
        }
    }

    #[test]
    fn lists() {
        let items = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(and(&items(&["a"])), "a");
        assert_eq!(and(&items(&["a", "b", "c"])), "a, b and c");
        assert_eq!(or(&items(&["a", "b"])), "a or b");
        assert_eq!(few(&items(&["a", "b", "c", "d"]), 2), "a, b and 2 more");
        assert_eq!(few(&items(&["a", "b"]), 2), "a and b");
    }

    #[test]
    fn counts() {
        assert_eq!(count(1_usize, "test"), "1 test");
        assert_eq!(count(0_u64, "test"), "0 tests");
    }
}
