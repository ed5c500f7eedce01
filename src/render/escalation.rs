//! The report that calls a human: every attempt, every analysis, one question, and how to go on.
//!
//! It is a flat template over named texts (contracts.md, Escalation comment), so that a repository can write its own
//! at `.github/loopgate/escalation.md`. Every text is computed here, in one place, safe to show as it stands.

use std::io::Write;

use minijinja::value::Serde;
use serde::Serialize;

use super::{
    check_table, fit,
    handoff::attempt_row,
    links::Links,
    sanitize::{Markdown, clip, clip_lines, code, fence, line, short_text, text},
    summary, templates,
    verdict::Subject,
    words,
};
use crate::core::{
    Sha,
    decision::{CheckStanding, EscalationView, FailureView, Post},
    escalation::{EscalationAction, Trigger},
    policy::{EscalationDiff, Recipient, ReportSection},
    state::{AttemptDigest, VerificationResult},
};

/// A repository's own template may be this long, and may print this much.
const OVERRIDE_LIMIT: usize = 64 * 1024;
/// Instructions a repository's own template may execute: a report takes a few hundred.
const OVERRIDE_FUEL: u64 = 50_000;

/// How much detail a report carries; less when it would not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Detail {
    failures: usize,
    lines: usize,
}

const DETAILS: [Detail; 4] = [
    Detail { failures: 10, lines: 60 },
    Detail { failures: 6, lines: 20 },
    Detail { failures: 3, lines: 8 },
    Detail { failures: 1, lines: 3 },
];

/// Every variable a template may name.
#[derive(Clone, Debug, Serialize)]
struct Variables {
    file_path: Markdown,
    attempt_count: u32,
    max_attempts: u32,
    failure_summary: Markdown,
    root_cause_analysis: Markdown,
    fix_attempts: Markdown,
    trigger: Markdown,
    reason: Markdown,
    last_failure: Markdown,
    retry_attempts: u32,
    max_retries: u32,
    stage: &'static str,
    time_in_failure: String,
    retry_history: Markdown,
    pattern_detected: Markdown,
    question: Markdown,
    human_action_needed: Markdown,
    resume_steps: Markdown,
    mentions: Markdown,
    original_code: Markdown,
    all_test_results: Markdown,
    failure_analyses: Markdown,
    debug_memory_summary: Markdown,
    stack_traces: Markdown,
    best_attempt: Markdown,
    context: Markdown,
    title: Markdown,
}

/// The short form in the status comment while a human is called.
#[derive(Clone, Debug, Serialize)]
pub struct EscalationCard {
    pub flagged: bool,
    pub reason: &'static str,
    pub pattern: Markdown,
    pub also: Option<String>,
    pub question: Markdown,
    pub options: Vec<Markdown>,
    pub best: Option<Markdown>,
}

impl EscalationCard {
    pub fn of(subject: &Subject<'_>, escalation: &EscalationView) -> Self {
        let links = Links::of(subject.snapshot);
        let also: Vec<String> = escalation.also.iter().map(|trigger| words::trigger(*trigger).to_owned()).collect();
        Self {
            flagged: escalation.action == EscalationAction::FlagAndContinue,
            reason: words::trigger(escalation.trigger),
            pattern: short_text(&escalation.pattern, 400),
            also: (!also.is_empty()).then(|| words::and(&also)),
            question: short_text(&escalation.question.text, 500),
            options: escalation.question.options.iter().take(6).map(|option| short_text(option, 300)).collect(),
            best: best(escalation, &links),
        }
    }
}

/// The whole report for one cause. `own` is the repository's template, if it has one: should it not parse, name
/// something unknown, run away or grow too long, the built-in one is used and says why.
pub(super) fn report(subject: &Subject<'_>, escalation: &EscalationView, post: &Post, own: Option<&str>) -> String {
    let marker = super::marker(post);
    let budget = fit::LIMIT - marker.len() - 1;
    let note = match own.map(|source| render_own(source, subject, escalation, budget)) {
        Some(Ok(report)) => return format!("{marker}\n{report}"),
        Some(Err(problem)) => Some(problem),
        None => None,
    };
    let note = note.map(|problem| {
        format!(
            "\n> The template {} was not used: {}. This is the built-in one.\n",
            code(&subject.policy.escalation.template),
            short_text(&problem, 300)
        )
    });
    let note = note.unwrap_or_default();
    let mut reports = DETAILS.into_iter().map(|detail| render_built_in(subject, escalation, detail));
    let report = reports.find(|report| report.len() + note.len() <= budget);
    let report = report
        .unwrap_or_else(|| format!("## Execution Feedback Escalation\n\n{}\n", short_text(&escalation.pattern, 400)));
    format!("{marker}\n{report}{note}")
}

fn render_built_in(subject: &Subject<'_>, escalation: &EscalationView, detail: Detail) -> String {
    templates::render("escalation.md", &Variables::of(subject, escalation, detail))
}

/// Renders a repository's template, with ever less detail until it fits.
fn render_own(
    source: &str,
    subject: &Subject<'_>,
    escalation: &EscalationView,
    budget: usize,
) -> Result<String, String> {
    if source.len() > OVERRIDE_LIMIT {
        return Err(format!("it is longer than {OVERRIDE_LIMIT} bytes"));
    }
    let mut environment = templates::environment();
    environment.set_fuel(Some(OVERRIDE_FUEL));
    let template = environment.template_from_named_str("escalation.md", source).map_err(|error| explain(&error))?;
    for detail in DETAILS {
        let mut out = Bounded::default();
        let variables = Variables::of(subject, escalation, detail);
        match template.render_captured_to(Serde(&variables), &mut out) {
            Ok(_) => {}
            Err(_) if out.is_full => break,
            Err(error) => return Err(explain(&error)),
        }
        let text = String::from_utf8(out.bytes).map_err(|error| error.to_string())?;
        if text.len() <= budget {
            return Ok(text);
        }
    }
    Err("what it prints is longer than GitHub takes".to_owned())
}

fn explain(error: &minijinja::Error) -> String {
    let place = error.line().map(|line| format!(" in line {line}")).unwrap_or_default();
    format!("{}{place}", line(error.detail().unwrap_or(&error.kind().to_string())))
}

/// Takes no more than a fitting report could need, so a runaway template ends early.
#[derive(Default)]
struct Bounded {
    bytes: Vec<u8>,
    is_full: bool,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.is_full = self.bytes.len() + bytes.len() > 8 * OVERRIDE_LIMIT;
        if self.is_full {
            return Err(std::io::Error::other("too long"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Variables {
    fn of(subject: &Subject<'_>, escalation: &EscalationView, detail: Detail) -> Self {
        let (view, next) = (&subject.decision.view, &subject.decision.next);
        let links = Links::of(subject.snapshot);
        let section = |wanted: ReportSection, text: Markdown| {
            let included = subject.policy.escalation.include_in_report.contains(&wanted);
            if included { text } else { Markdown::default() }
        };
        let failures = view.failures.get(..detail.failures).unwrap_or(&view.failures);
        Self {
            file_path: code(&file_path(subject)),
            attempt_count: attempt_count(subject, escalation),
            max_attempts: view.max_attempts,
            failure_summary: failure_summary(subject, failures, &links),
            root_cause_analysis: root_causes(failures),
            fix_attempts: section(ReportSection::FixAttempts, numbered(&fixes(subject, escalation))),
            trigger: code(escalation.trigger.as_str()),
            reason: reason(escalation),
            last_failure: last_failure(escalation),
            retry_attempts: next.failures.count,
            max_retries: next.failures.max_retries,
            stage: view.stage.as_str(),
            time_in_failure: time_in_failure(subject, escalation),
            retry_history: retry_history(subject, escalation, &links),
            pattern_detected: short_text(&escalation.pattern, 500),
            question: question(escalation),
            human_action_needed: Markdown::ours(human_action(escalation.trigger)),
            resume_steps: numbered(&resume_steps(subject, escalation.trigger)),
            mentions: mentions(subject, escalation),
            original_code: section(ReportSection::OriginalCode, diff_excerpt(subject, detail)),
            all_test_results: section(ReportSection::AllTestResults, test_results(subject, &links)),
            failure_analyses: section(ReportSection::FailureAnalyses, analyses(failures)),
            debug_memory_summary: section(ReportSection::DebugMemorySummary, memory(failures)),
            stack_traces: section(ReportSection::StackTraces, traces(failures, detail)),
            best_attempt: best(escalation, &links).unwrap_or_default(),
            context: context_lines(subject, &links),
            title: text(&clip(&subject.snapshot.pull_request.title, 200)),
        }
    }
}

fn file_path(subject: &Subject<'_>) -> String {
    let failing = subject.decision.view.failures.iter().find_map(|view| view.failure.location());
    let artifact = subject.decision.next.code_artifact.path.as_deref();
    failing.map(|(file, _)| file).or(artifact).unwrap_or("unknown").to_owned()
}

/// Attempts since the loop began or was last resumed.
fn attempt_count(subject: &Subject<'_>, escalation: &EscalationView) -> u32 {
    let resumed = subject.decision.next.resumes.iter().map(|resume| resume.after_attempt).max().unwrap_or(0);
    let attempts = escalation.history.iter().filter(|attempt| attempt.number > resumed).count();
    u32::try_from(attempts).unwrap_or(u32::MAX)
}

fn failure_summary(subject: &Subject<'_>, failures: &[FailureView], links: &Links) -> Markdown {
    let mut lines: Vec<String> = failures.iter().map(|view| failure_line(view, links)).collect();
    let left = subject.decision.view.failures.len() - failures.len();
    if left > 0 {
        lines.push(format!("- … and {left} more"));
    }
    if lines.is_empty() {
        let failing = words::failing(&subject.decision.view);
        lines.push(match failing.as_slice() {
            [] => "No check fails.".to_owned(),
            failing => format!("{} failed without naming a test.", words::checks_code(failing)),
        });
    }
    Markdown::ours(lines.join("\n"))
}

fn failure_line(view: &FailureView, links: &Links) -> String {
    let failure = &view.failure;
    let what = failure.test_name.as_deref().map_or_else(|| code(view.check.as_str()), code);
    let at = failure.location().map(|(file, line)| format!(" at {}", links.place(file, line))).unwrap_or_default();
    let message = short_text(failure.error_message.lines().next().unwrap_or_default(), 200);
    match (&failure.expected, &failure.actual) {
        (Some(expected), Some(actual)) => {
            format!("- {what}{at}: expected {}, got {}", code(&clip(expected, 120)), code(&clip(actual, 120)))
        }
        _ if message.is_empty() => format!("- {what}{at}"),
        _ => format!("- {what}{at}: {message}"),
    }
}

fn root_causes(failures: &[FailureView]) -> Markdown {
    let mut causes: Vec<String> = Vec::new();
    for view in failures {
        let cause = format!(
            "- {} ({}, confidence {:.1}). {}",
            short_text(&view.root_cause, 300),
            words::category(view.category),
            view.confidence.clamp(0.0, 1.0),
            short_text(&view.fix_strategy, 300)
        );
        if !causes.contains(&cause) {
            causes.push(cause);
        }
    }
    if causes.is_empty() { Markdown::ours("No failure to analyse.") } else { Markdown::ours(causes.join("\n")) }
}

/// What was pushed for each attempt, and how it ended.
fn fixes(subject: &Subject<'_>, escalation: &EscalationView) -> Vec<String> {
    let mut fixes: Vec<String> =
        tried(subject, escalation).map(|(attempt, tried)| format!("{tried} → {}", ended(attempt))).collect();
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

fn ended(attempt: &AttemptDigest) -> String {
    match attempt.result {
        VerificationResult::Pass => "passed".to_owned(),
        VerificationResult::Fail => short_text(&attempt.summary, 200).into_string(),
    }
}

fn numbered(items: &[String]) -> Markdown {
    let lines: Vec<String> = items.iter().enumerate().map(|(i, item)| format!("{}. {item}", i + 1)).collect();
    if lines.is_empty() { Markdown::ours("none") } else { Markdown::ours(lines.join("\n")) }
}

fn reason(escalation: &EscalationView) -> Markdown {
    let also: Vec<String> = escalation.also.iter().map(|trigger| words::trigger(*trigger).to_owned()).collect();
    let also = if also.is_empty() { String::new() } else { format!(" (also: {})", words::and(&also)) };
    Markdown::ours(format!("{}{also}", words::trigger(escalation.trigger)))
}

fn last_failure(escalation: &EscalationView) -> Markdown {
    let last = escalation.history.iter().rev().find(|attempt| attempt.result == VerificationResult::Fail);
    last.map_or_else(|| Markdown::ours("none"), |attempt| short_text(&attempt.summary, 300))
}

/// Since the first failing attempt after the last one that passed.
fn time_in_failure(subject: &Subject<'_>, escalation: &EscalationView) -> String {
    let failing = escalation.history.iter().rev().take_while(|attempt| attempt.result == VerificationResult::Fail);
    let since = failing.last().map_or(subject.decision.next.created_at, |attempt| attempt.at);
    words::duration(u64::try_from((escalation.since - since).num_milliseconds()).unwrap_or(0))
}

fn retry_history(subject: &Subject<'_>, escalation: &EscalationView, links: &Links) -> Markdown {
    let mut table = String::from("| # | Head | Fix tried | Outcome | Error | Score |\n|--:|:--|:--|:--|:--|--:|");
    let hidden = escalation.history.len().saturating_sub(15);
    for (attempt, tried) in tried(subject, escalation).skip(hidden) {
        let row = attempt_row(attempt, links);
        let error = if attempt.result == VerificationResult::Fail { row.summary } else { Markdown::default() };
        table.push_str(&format!(
            "\n| {} | {} | {tried} | {} | {error} | {} |",
            row.number, row.head, row.outcome, row.score
        ));
    }
    if hidden > 0 {
        table.push_str(&format!("\n\n{hidden} earlier attempts are in the state ref."));
    }
    Markdown::ours(table)
}

fn question(escalation: &EscalationView) -> Markdown {
    let mut said = short_text(&escalation.question.text, 800).into_string();
    for (i, option) in escalation.question.options.iter().take(9).enumerate() {
        said.push_str(&format!("\n{}. {}", i + 1, short_text(option, 400)));
    }
    Markdown::ours(said)
}

/// What only a person can do about it.
const fn human_action(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::SecurityIssueFound => "Judge the finding: is it real, and is this the fix you want?",
        Trigger::Tampering => "Look at what was done to the tests: is it meant?",
        Trigger::RegressionDetected => {
            "Decide which behaviour is right: the one the older tests ask for, or the new one."
        }
        Trigger::CircularFailure => "Break the circle: decide which of the failing expectations gives way.",
        Trigger::SameError => "Look at the cause: what was tried does not touch it.",
        Trigger::TotalFailures | Trigger::MaxAttemptsReached => {
            "Decide how to go on: another approach, a smaller change, or help."
        }
        Trigger::Stagnation => "Decide whether what is left is worth fixing, or the criteria should change.",
        Trigger::TimeoutExceeded => "Find out whether it hangs or is only slow, and mend it or raise its limit.",
        Trigger::ExternalDependencyDown => "Bring the service back, or run the checks without it.",
        Trigger::AmbiguousRequirement => "Say what is meant.",
        Trigger::BudgetExhausted => "Decide whether to spend more, or finish it by hand.",
        Trigger::GateTimeout => "Approve or reject the gate, or name other approvers.",
        Trigger::CoverageThresholdUnmet => "Ask for more tests, or accept the coverage as it is.",
        Trigger::NoChange => "Find out why the last attempt changed nothing.",
        Trigger::UnknownErrorType => "Read the failure: Loopgate cannot place it.",
    }
}

/// How the loop goes on after a person was called.
pub(super) fn resume_steps(subject: &Subject<'_>, cause: Trigger) -> Vec<String> {
    let branch = code(&subject.snapshot.pull_request.head.branch);
    let most = subject.decision.view.max_attempts;
    let mut steps = Vec::new();
    match cause {
        Trigger::Tampering => {
            steps.push(format!(
                "Accept it: {} (somebody else than the author, with write access).",
                code("/loop resume --accept tampering")
            ));
            steps.push(format!("Or have the tests restored on {branch}, then {}.", code("/loop resume")));
        }
        Trigger::SecurityIssueFound | Trigger::AmbiguousRequirement => {
            steps.push(format!("Answer in a comment, push a fix to {branch} if one is needed."));
            steps.push(format!(
                "Then {}: it takes a person’s word, a passing push is not enough.",
                code("/loop resume")
            ));
        }
        Trigger::ExternalDependencyDown => {
            steps.push(format!("When it is back: {} runs the checks again.", code("/loop retry")));
        }
        Trigger::GateTimeout => steps.push("Decide the gate; the loop goes on by itself.".to_owned()),
        _ => {
            steps.push(format!("Push a fix to {branch}: if it passes, the block is lifted."));
            steps.push(format!("Or {}: a new streak of {most} attempts begins.", code("/loop resume")));
        }
    }
    steps.push(format!("Or give up: {}.", code("/loop stop reason")));
    steps
}

/// The only mentions Loopgate makes: people and teams the configuration names for this cause.
fn mentions(subject: &Subject<'_>, escalation: &EscalationView) -> Markdown {
    let mut who: Vec<String> = Vec::new();
    for recipient in &escalation.recipients {
        match recipient {
            Recipient::User(login) => who.push(format!("@{login}")),
            Recipient::Team(team) => who.push(format!("@{team}")),
            Recipient::GateApprovers(name) => {
                let eligible = subject.gate(name).map(|gate| &gate.eligible);
                let teams =
                    eligible.into_iter().flat_map(|eligible| eligible.teams.iter().map(|team| format!("@{team}")));
                let people = eligible
                    .filter(|eligible| eligible.teams.is_empty())
                    .into_iter()
                    .flat_map(|eligible| eligible.people.iter().map(|login| format!("@{login}")));
                who.extend(teams.chain(people));
            }
        }
    }
    who.dedup();
    who.truncate(20);
    Markdown::ours(who.join(" "))
}

/// The patch of the file the failures point at, else of the file with most changes.
fn diff_excerpt(subject: &Subject<'_>, detail: Detail) -> Markdown {
    if subject.policy.retry.escalation_diff == EscalationDiff::Omit {
        return Markdown::default();
    }
    let files = subject.snapshot.files.known();
    let failing = subject.decision.view.failures.iter().find_map(|view| {
        let (path, _) = view.failure.location()?;
        files.iter().find(|file| file.path == path)
    });
    let largest = || files.iter().max_by_key(|file| file.additions + file.deletions);
    let Some((file, patch)) = failing.or_else(largest).and_then(|file| Some((file, file.patch.as_deref()?))) else {
        return Markdown::default();
    };
    Markdown::ours(format!("{}\n\n{}", code(&file.path), fence("diff", &clip_lines(patch, detail.lines))))
}

fn test_results(subject: &Subject<'_>, links: &Links) -> Markdown {
    let mut table = String::from("| Check | Kind | Outcome | Tests | Time |\n|:--|:--|:--|:--|--:|");
    let checks = &subject.decision.view.checks;
    for row in checks.iter().take(40).map(|check| check_table::row(check, links)) {
        table.push_str(&format!(
            "\n| {} | {} | {} | {} | {} |",
            row.name, row.kind, row.outcome, row.tests, row.duration
        ));
    }
    if checks.len() > 40 {
        table.push_str(&format!("\n\n… and {} more checks", checks.len() - 40));
    }
    if checks.is_empty() { Markdown::default() } else { Markdown::ours(table) }
}

/// One line per failure; a single one has been analysed above.
fn analyses(failures: &[FailureView]) -> Markdown {
    if failures.len() < 2 {
        return Markdown::default();
    }
    let lines = failures.iter().map(|view| {
        let what = view.failure.test_name.as_deref().unwrap_or(view.check.as_str());
        let related: Vec<String> = view.related.iter().map(|name| code(name).into_string()).collect();
        let related =
            if related.is_empty() { String::new() } else { format!(" Same cause: {}.", words::few(&related, 5)) };
        format!(
            "- {}: {}. {}.{related}",
            code(what),
            short_text(view.root_cause.trim_end_matches('.'), 300),
            short_text(view.fix_strategy.trim_end_matches('.'), 300)
        )
    });
    Markdown::ours(lines.collect::<Vec<_>>().join("\n"))
}

fn memory(failures: &[FailureView]) -> Markdown {
    let mut seen: Vec<String> = Vec::new();
    for pattern in failures.iter().flat_map(|view| &view.patterns_matched) {
        let line = format!("- {}", short_text(pattern, 300));
        if !seen.contains(&line) && seen.len() < 10 {
            seen.push(line);
        }
    }
    Markdown::ours(seen.join("\n"))
}

fn traces(failures: &[FailureView], detail: Detail) -> Markdown {
    let blocks = failures.iter().filter_map(|view| {
        let trace = view.failure.stack_trace.as_deref().filter(|trace| !trace.trim().is_empty())?;
        let what = view.failure.test_name.as_deref().unwrap_or(view.check.as_str());
        Some(format!("{}\n\n{}", code(what), fence("text", &clip_lines(trace, detail.lines))))
    });
    Markdown::ours(blocks.collect::<Vec<_>>().join("\n\n"))
}

fn best(escalation: &EscalationView, links: &Links) -> Option<Markdown> {
    let (attempt, sha, score) = escalation.best.as_ref()?;
    Some(Markdown::ours(format!("attempt {attempt} at {} (score {score})", links.commit(*sha))))
}

fn context_lines(subject: &Subject<'_>, links: &Links) -> Markdown {
    let pull = &subject.snapshot.pull_request;
    let last = subject.snapshot.commits.items.iter().rev().find(|commit| commit.sha == pull.head.sha);
    let last = last.map(|commit| format!(" “{}”", short_text(&summary::subject_line(commit), 100))).unwrap_or_default();
    let run = subject.decision.view.checks.iter().find_map(|check| match &check.standing {
        CheckStanding::Done(evidence) if evidence.outcome.is_failure() => evidence.url.clone(),
        _ => None,
    });
    let run = run.map(|url| format!("\n- Run: {}", links.to("failing check", &url))).unwrap_or_default();
    Markdown::ours(format!(
        "- Branch: {} into {}\n- Last commit: {}{last}{run}\n- State: {}",
        code(&pull.head.branch),
        code(&pull.base.branch),
        links.commit(pull.head.sha),
        code(&summary::state_ref(subject))
    ))
}
