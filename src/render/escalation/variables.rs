//! Every text an escalation template may name, computed in one place.

use minijinja::{Value, context, value::Serde};

use super::{
    asked, best,
    guidance::{mentions, resume_steps},
    options, pattern, said_apart,
};
use crate::render::{
    base_tests, check_table,
    failure_card::{Cause, causes, explained, title},
    fit::Shown,
    handoff::attempt_row,
    links::Links,
    memory,
    messages::{markdown, word},
    sanitize::{Markdown, clip, clip_lines, code, fence, short_text, text},
    summary,
    verdict::Subject,
    words,
};
use loopgate_core::{
    Sha,
    escalation::EscalationView,
    observed::Snapshot,
    policy::{ReportSection, Trigger},
    state::{AttemptDigest, VerificationResult},
    untrusted::harmless,
    verdict::{CheckStanding, tamper::Tampering},
};

/// How much detail a report carries; less when it would not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Detail {
    failures: usize,
    lines: usize,
}

pub(super) const DETAILS: [Detail; 4] = [
    Detail { failures: 10, lines: 60 },
    Detail { failures: 6, lines: 20 },
    Detail { failures: 3, lines: 8 },
    Detail { failures: 1, lines: 3 },
];

/// Lines of the change in question, which stands open.
const DIFF: usize = 30;

/// Causes that are analysed at the top of a report; the others follow in a section of their own.
const ANALYSED: usize = 3;

/// Every variable a template may name.
pub(super) fn variables(subject: &Subject<'_>, escalation: &EscalationView, detail: Detail) -> Value {
    let (view, next) = (&subject.decision.view, &subject.decision.next);
    let links = Links::of(subject.snapshot);
    let section = |wanted: ReportSection, text: Markdown| {
        let included = subject.policy.escalation.include_in_report.contains(&wanted);
        if included { text } else { Markdown::default() }
    };
    let causes = causes(&view.failures);
    let shown = causes.get(..detail.failures).unwrap_or(&causes);
    let (first, further) = shown.split_at(shown.len().min(ANALYSED));
    context! {
        file_path => code(&file_path(subject)),
        attempt_count => attempt_count(subject, escalation),
        max_attempts => view.max_attempts,
        failure_summary => failure_summary(subject, &causes, shown.len(), &links),
        root_cause_analysis => analysis(first, &view.tampering, subject.snapshot),
        fix_attempts => section(ReportSection::FixAttempts, numbered(&fixes(subject, escalation))),
        trigger => code(escalation.trigger.as_str()),
        reason => reason(escalation),
        last_failure => last_failure(subject, escalation, &links),
        retry_attempts => next.failures.count,
        max_retries => next.failures.max_retries,
        stage => view.stage.as_str(),
        time_in_failure => time_in_failure(subject, escalation),
        retry_history => retry_history(escalation, &links),
        pattern_detected => pattern(escalation),
        question => question(escalation),
        human_action_needed => Markdown::ours(word("human_action", escalation.trigger.as_str())),
        resume_steps => numbered(&resume_steps(subject, escalation.trigger)),
        mentions => mentions(subject, escalation),
        original_code => section(ReportSection::OriginalCode, diff_excerpt(subject, escalation.trigger, detail)),
        all_test_results => section(ReportSection::AllTestResults, test_results(subject, &links)),
        failure_analyses => section(ReportSection::FailureAnalyses, root_causes(further)),
        debug_memory_summary => section(
            ReportSection::DebugMemorySummary,
            memory::summary(causes.iter().map(|cause| cause.first)),
        ),
        stack_traces => section(ReportSection::StackTraces, traces(shown, detail)),
        best_attempt => best(escalation, &links).unwrap_or_default(),
        context => context_lines(subject, &links),
        title => text(&clip(&subject.snapshot.pull_request.title, 200)),
        sentence => sentence(subject, escalation),
    }
}

/// The causes of the failures, and how the change weakens what checks it.
fn analysis(failures: &[Cause<'_>], found: &[Tampering], snapshot: &Snapshot) -> Markdown {
    let weakened = Shown::first(10, found, |one| base_tests::weakened(one, snapshot));
    markdown("escalation", &"analysis", context! { causes => root_causes(failures), weakened => Serde(weakened) })
}

fn file_path(subject: &Subject<'_>) -> String {
    let failing = subject.decision.view.failures.iter().find_map(|view| view.failure.location());
    let artifact = subject.decision.next.code_artifact.path.as_deref();
    failing.map(|(file, _)| file).or(artifact).unwrap_or("unknown").to_owned()
}

/// The failing attempts of the newest streak that has any, at least 1 and at most the limit.
fn attempt_count(subject: &Subject<'_>, escalation: &EscalationView) -> u32 {
    let mut begins: Vec<u32> = subject.decision.next.resumes.iter().map(|resume| resume.after_attempt).collect();
    begins.push(0);
    begins.sort_unstable();
    let failed = |attempt: &&AttemptDigest| attempt.result == VerificationResult::Fail;
    let newest = escalation.history.iter().filter(failed).map(|attempt| attempt.number).max().unwrap_or(0);
    let begin = begins.iter().rev().find(|begin| **begin < newest).copied().unwrap_or(0);
    let attempts = escalation.history.iter().filter(failed).filter(|attempt| attempt.number > begin).count();
    u32::try_from(attempts).unwrap_or(u32::MAX).clamp(1, subject.decision.view.max_attempts.max(1))
}

fn failure_summary(subject: &Subject<'_>, causes: &[Cause<'_>], shown: usize, links: &Links) -> Markdown {
    let told = causes.iter().take(shown).map(|cause| failure_line(cause, links).into_string());
    let mut lines: Vec<String> = told.collect();
    let left = causes.len() - shown;
    if left > 0 {
        lines.push(format!("- … and {left} more"));
    }
    if lines.is_empty() {
        let failing = words::failing(&subject.decision.view);
        lines.push(match failing.as_slice() {
            [] if has_not_ended(subject) => "CI has not finished.".to_owned(),
            [] => "No check fails.".to_owned(),
            failing => format!("{} failed without naming a test.", words::checks_code(failing)),
        });
    }
    Markdown::ours(lines.join("\n"))
}

/// Whether a check has yet to report.
fn has_not_ended(subject: &Subject<'_>) -> bool {
    let is_awaited =
        |standing: &CheckStanding| matches!(standing, CheckStanding::Running { .. } | CheckStanding::Missing);
    subject.decision.view.checks.iter().any(|check| is_awaited(&check.standing))
}

fn failure_line(cause: &Cause<'_>, links: &Links) -> Markdown {
    let (failure, what) = (&cause.first.failure, title(cause.first));
    let [expected, actual] = failure.shown_sides();
    let model = context! {
        at => failure.location().map(|(file, line)| links.place(file, line)),
        sides => expected.zip(actual),
        message => failure.reported().lines().next().filter(|line| *line != what),
        others => cause.others(|name| code(name).into_string()).map(Markdown::ours),
        answer => failure.answer.as_deref().map(harmless),
        what,
    };
    markdown("escalation", &"failure", model)
}

/// What is to be done about each, and what explains it where the failure itself does not.
fn root_causes(causes: &[Cause<'_>]) -> Markdown {
    let line = |cause: &Cause<'_>| {
        let view = cause.first;
        let told = [explained(view).unwrap_or_default(), view.told.action.as_str()];
        let told = told.into_iter().filter(|words| !words.is_empty());
        let told: Vec<String> = told.map(|told| words::sentence(told, 300).into_string()).collect();
        let told = if told.is_empty() { "The cause is not certain.".to_owned() } else { told.join(" ") };
        let (id, category) = (code(&view.cause.to_string()), word("category", view.category.as_str()));
        format!("- {id} ({category}): {told}")
    };
    Markdown::ours(causes.iter().map(line).collect::<Vec<_>>().join("\n"))
}

/// What was pushed for each attempt, and how it ended.
fn fixes(subject: &Subject<'_>, escalation: &EscalationView) -> Vec<String> {
    let asked = subject.decision.next.senior.as_ref().filter(|call| call.since <= escalation.since);
    let by = |attempt: &AttemptDigest| match asked {
        Some(call) if attempt.number == call.attempt + 1 => " (after the senior fixer was asked)",
        _ => "",
    };
    let head = subject.decision.next.attempt_of(subject.snapshot.pull_request.head.sha);
    let fails_alike = |attempt: &AttemptDigest| {
        let same_errors =
            |head: &AttemptDigest| !head.fingerprints.is_empty() && head.fingerprints == attempt.fingerprints;
        head.is_some_and(|head| head.number == attempt.number || same_errors(head))
    };
    let is_told = !subject.decision.view.failures.is_empty();
    let ended = |attempt: &AttemptDigest| match attempt.result {
        VerificationResult::Fail if is_told && fails_alike(attempt) => "the failures above".to_owned(),
        VerificationResult::Fail => short_text(&attempt.summary, 200).into_string(),
        VerificationResult::Pass if attempt.weakened => format!("⚠️ {}", short_text(&attempt.summary, 200)),
        VerificationResult::Pass => "passed".to_owned(),
    };
    let mut fixes: Vec<String> = tried(subject, escalation)
        .map(|(attempt, tried)| format!("{tried}{} → {}", by(attempt), ended(attempt)))
        .collect();
    if asked.is_some_and(|call| escalation.attempt <= call.attempt) {
        fixes.push("the senior fixer was asked → nothing was pushed".to_owned());
    }
    let hidden = fixes.len().saturating_sub(12);
    if hidden > 0 {
        fixes.drain(..hidden);
        fixes.insert(0, format!("({hidden} earlier attempts)"));
    }
    fixes
}

/// Every attempt with the commits that were pushed for it.
fn tried<'a>(
    subject: &'a Subject<'a>,
    escalation: &'a EscalationView,
) -> impl Iterator<Item = (&'a AttemptDigest, String)> {
    let mut before: Option<Sha> = None;
    escalation.history.iter().map(move |attempt| {
        let after = before.replace(attempt.head_sha);
        let tried = match summary::commits_between(subject, after, attempt.head_sha) {
            Some([]) => "nothing new".to_owned(),
            Some(commits) => {
                let subject = |commit| format!("“{}”", short_text(&summary::subject_line(commit), 100));
                words::few(&commits.iter().map(subject).collect::<Vec<_>>(), 3)
            }
            None => "commits since rewritten".to_owned(),
        };
        (attempt, tried)
    })
}

fn numbered(items: &[String]) -> Markdown {
    let lines: Vec<String> = items.iter().enumerate().map(|(i, item)| format!("{}. {item}", i + 1)).collect();
    if lines.is_empty() { Markdown::ours("none") } else { Markdown::ours(lines.join("\n")) }
}

/// What happened, in one sentence: "Attempt 3 stopped: tests that passed before fail now."
fn sentence(subject: &Subject<'_>, escalation: &EscalationView) -> Markdown {
    let attempt = subject.decision.view.attempt;
    Markdown::ours(format!("🚫 **Attempt {attempt} needs a person: {}.**", words::trigger(escalation.trigger)))
}

fn reason(escalation: &EscalationView) -> Markdown {
    let also: Vec<String> = escalation.also.iter().map(|trigger| words::trigger(*trigger).to_owned()).collect();
    let also = if also.is_empty() { String::new() } else { format!(" (also: {})", words::and(&also)) };
    let apart = said_apart(escalation).map(|said| format!(": {said}")).unwrap_or_default();
    Markdown::ours(format!("{}{apart}{also}", words::trigger(escalation.trigger)))
}

/// Which attempt it was; what failed stands at the top.
fn last_failure(subject: &Subject<'_>, escalation: &EscalationView, links: &Links) -> Markdown {
    let last = escalation.history.iter().rev().find(|attempt| attempt.result == VerificationResult::Fail);
    let told = |last: &AttemptDigest| {
        let since = time_in_failure(subject, escalation);
        format!("attempt {} at {}; failing for {since}", last.number, links.commit(last.head_sha))
    };
    Markdown::ours(last.map_or_else(|| "none".to_owned(), told))
}

/// Since the first failing attempt after the last one that passed.
fn time_in_failure(subject: &Subject<'_>, escalation: &EscalationView) -> String {
    let failing = escalation.history.iter().rev().take_while(|attempt| attempt.result == VerificationResult::Fail);
    let since = failing.last().map_or(subject.decision.next.created_at, |attempt| attempt.at);
    words::span(u64::try_from((escalation.since - since).num_milliseconds()).unwrap_or(0))
}

/// The attempts as a table, where there were several; what was tried in each stands above it.
fn retry_history(escalation: &EscalationView, links: &Links) -> Markdown {
    if escalation.history.len() < 2 {
        return Markdown::default();
    }
    let hidden = escalation.history.len().saturating_sub(15);
    let rows: Vec<_> = escalation.history.iter().skip(hidden).map(|attempt| attempt_row(attempt, links)).collect();
    markdown("escalation", &"attempts", context! { hidden, rows => Serde(rows) })
}

fn question(escalation: &EscalationView) -> Markdown {
    let mut said = asked(escalation).into_string();
    let options: Vec<String> = options(escalation).iter().map(ToString::to_string).collect();
    if !options.is_empty() {
        said.push_str(&format!("\n\n{}", numbered(&options)));
    }
    Markdown::ours(said)
}

/// The patch of the file the failures point at, else of the file with most changes. Of a change that weakens tests, the
/// lines that do, and nothing else.
fn diff_excerpt(subject: &Subject<'_>, about: Trigger, detail: Detail) -> Markdown {
    if about == Trigger::Tampering && subject.policy.retry.escalation_includes_diff {
        let found = subject.decision.view.tampering.iter().filter(|one| !one.hunk.is_empty()).take(5);
        let hunks: Vec<String> = found
            .map(|one| format!("{}\n\n{}", short_text(&one.to_string(), 340), fence("diff", &one.hunk.join("\n"))))
            .collect();
        return Markdown::ours(hunks.join("\n\n"));
    }
    let is_elsewhere = matches!(about, Trigger::ExternalDependencyDown | Trigger::GateTimeout);
    if is_elsewhere || !subject.policy.retry.escalation_includes_diff {
        return Markdown::default();
    }
    let files = subject.snapshot.files.known();
    let failing = subject.decision.view.failures.iter().find_map(|view| {
        let (path, _) = view.failure.location()?;
        files.iter().find(|file| file.path == path)
    });
    let about = file_path(subject);
    let named = || files.iter().find(|file| file.path == about);
    let largest = || files.iter().max_by_key(|file| file.additions + file.deletions);
    let Some((file, patch)) =
        failing.or_else(named).or_else(largest).and_then(|file| Some((file, file.patch.as_deref()?)))
    else {
        return Markdown::default();
    };
    Markdown::ours(format!("{}\n\n{}", code(&file.path), fence("diff", &clip_lines(patch, detail.lines.min(DIFF)))))
}

fn test_results(subject: &Subject<'_>, links: &Links) -> Markdown {
    let rows = Shown::first(40, &subject.decision.view.checks, |check| check_table::row(check, links));
    if rows.items.is_empty() {
        return Markdown::default();
    }
    markdown("escalation", &"results", context! { rows => Serde(rows) })
}

fn traces(causes: &[Cause<'_>], detail: Detail) -> Markdown {
    let blocks = causes.iter().map(|cause| cause.first).filter_map(|view| {
        let trace = view.failure.shown_trace().filter(|trace| !trace.trim().is_empty())?;
        Some(format!("{}\n\n{}", code(&title(view)), fence("text", &clip_lines(&trace, detail.lines))))
    });
    Markdown::ours(blocks.collect::<Vec<_>>().join("\n\n"))
}

fn context_lines(subject: &Subject<'_>, links: &Links) -> Markdown {
    let pull = &subject.snapshot.pull_request;
    let last = subject.snapshot.commits.items.iter().rev().find(|commit| commit.sha == pull.head.sha);
    let last = last.map(|commit| short_text(&summary::subject_line(commit), 100));
    let run = subject.decision.view.checks.iter().find_map(|check| match &check.standing {
        CheckStanding::Done(evidence) if evidence.outcome.is_failure() => evidence.url.clone(),
        CheckStanding::NotStarted { url, .. } => url.clone(),
        _ => None,
    });
    let model = context! {
        branch => pull.head.branch.as_str(),
        base => pull.base.branch.as_str(),
        commit => links.commit(pull.head.sha),
        last,
        run => run.map(|url| links.to("failing check", &url)),
        state => summary::state_place(subject).in_markdown(),
    };
    markdown("escalation", &"context", model)
}
