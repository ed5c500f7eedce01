//! The report that calls a human: every attempt, every analysis, one question, and how to go on.
//!
//! It is a flat template over named texts, so that a repository can write its own at `.github/loopgate/escalation.md`.
//! Every text is safe to show as it stands.

mod restricted;

use std::io::Cursor;

use minijinja::{Value, context, value::Serde};

use super::{
    Brevity, LIMIT, Links, Markdown, Shown, Subject, attempt_row, causes, check_table, clip,
    clip_lines, code,
    failure_card::{self, Cause, explained, title_and_message},
    fence, line, markdown, memory,
    messages::{entry, reason},
    sanitize::text,
    short_text,
    steps::resume_steps,
    summary, templates, texts, word, words,
};
use loopgate_core::{
    Sha,
    concerns::{
        checks::CheckStanding,
        escalation::{EscalationView, Question},
    },
    deciding::{CheckView, Post},
    policy::{Recipient, ReportSection, Trigger},
    result::CheckState,
    state::{AttemptDigest, VerificationResult},
    untrusted::harmless,
};

/// A repository's own template may be this long, and may print this much.
const OVERRIDE_LIMIT: usize = 64 * 1024;
const MOST_PRINTED: usize = 8 * OVERRIDE_LIMIT;
/// Instructions a repository's own template may execute: a report takes a few hundred.
const OVERRIDE_FUEL: u64 = 50_000;

/// The short form in the status comment while a human is called.
pub(super) fn card(escalation: &EscalationView) -> Value {
    context! { question => card_question(escalation), options => options(escalation) }
}

/// What is asked of a person, after what was recognised where nothing else shows it.
pub(super) fn card_question(escalation: &EscalationView) -> Markdown {
    let apart = recognised_apart(escalation)
        .map(|cause| format!("{} ", words::sentence(&cause, 500)))
        .unwrap_or_default();
    Markdown::ours(format!("{apart}{}", asked(escalation)))
}

/// What was recognised, where the failures, the tampering and the name of the cause do not show it.
fn recognised_apart(escalation: &EscalationView) -> Option<String> {
    let cause = escalation
        .cause
        .as_ref()
        .filter(|cause| causes::adds_to_trigger(cause))?;
    Some(short_text(&reason(entry::Cause(cause)), 500).into_string())
}

/// What is asked of a person: the question, or, of a run as a whole, what its cause calls for.
fn asked(escalation: &EscalationView) -> Markdown {
    match &escalation.question {
        Question::OfRun { .. } => Markdown::ours(word(entry::HumanAction(&escalation.trigger))),
        question => short_text(&reason(entry::Question(question)), 800),
    }
}

/// The answers to choose from. Of a run as a whole they are the ways to go on.
fn options(escalation: &EscalationView) -> Vec<Markdown> {
    if matches!(escalation.question, Question::OfRun { .. }) {
        return Vec::new();
    }
    causes::options(&escalation.question)
        .iter()
        .take(6)
        .map(|option| short_text(option, 400))
        .collect()
}

/// The whole report for one cause. `own` is the repository's template, if it has one: should it not parse, name
/// something unknown, run away or grow too long, the built-in one is used, with the reason.
pub(super) fn report(
    subject: &Subject<'_>,
    escalation: &EscalationView,
    post: &Post,
    own: Option<&str>,
) -> String {
    let marker = super::marker(post);
    let budget = LIMIT - marker.len() - 1;
    let note = match own.map(|source| render_own(source, subject, escalation, budget)) {
        Some(Ok(report)) => return format!("{marker}\n{report}"),
        Some(Err(problem)) => format!(
            "\n> The template {} was not used: {}. This is the built-in one.\n",
            code(&subject.policy.escalation.template),
            short_text(&problem, 300)
        ),
        None => String::new(),
    };
    let model = |brevity| variables(subject, escalation, brevity);
    let report = texts::fitted("escalation.md", budget.saturating_sub(note.len()), model);
    format!("{marker}\n{report}{note}")
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
    restricted::check(source)?;
    let mut environment = templates::environment();
    environment.set_fuel(Some(OVERRIDE_FUEL));
    let template = environment
        .template_from_named_str("escalation.md", source)
        .map_err(|error| explain(&error))?;
    for brevity in (0..4).map(Brevity) {
        // No more than a fitting report could need, so a runaway template ends early.
        let mut out = Cursor::new(vec![0; MOST_PRINTED].into_boxed_slice());
        let written =
            template.render_captured_to(variables(subject, escalation, brevity), &mut out);
        let length = usize::try_from(out.position()).unwrap_or(MOST_PRINTED);
        match written {
            Ok(_) => {}
            Err(_) if length == MOST_PRINTED => break,
            Err(error) => return Err(explain(&error)),
        }
        if length <= budget {
            return String::from_utf8(out.into_inner()[..length].to_vec())
                .map_err(|error| error.to_string());
        }
    }
    Err("what it prints is longer than GitHub takes".to_owned())
}

fn explain(error: &minijinja::Error) -> String {
    let place = error
        .line()
        .map(|line| format!(" in line {line}"))
        .unwrap_or_default();
    format!(
        "{}{place}",
        line(error.detail().unwrap_or(&error.kind().to_string()))
    )
}

/// Causes of failures, and lines of each trace, that a report shows whole.
const CAUSES: usize = 10;
const LINES: usize = 60;
/// Lines of the change in question, which stands open.
const DIFF: usize = 30;

/// Causes that are analysed at the top of a report; the others follow in a section of their own.
const ANALYSED: usize = 3;

/// Every variable a template may name.
fn variables(subject: &Subject<'_>, escalation: &EscalationView, brevity: Brevity) -> Value {
    let (view, next, snapshot) = (
        &subject.decision.view,
        &subject.decision.next,
        subject.snapshot,
    );
    let links = Links::of(snapshot);
    let section = |wanted: ReportSection, text: Markdown| {
        if subject
            .policy
            .escalation
            .include_in_report
            .contains(&wanted)
        {
            text
        } else {
            Markdown::default()
        }
    };
    let causes = failure_card::causes(&view.failures);
    let (most, lines) = (brevity.of(CAUSES, 0).max(1), brevity.of(LINES, 0).max(3));
    let shown = causes.get(..most).unwrap_or(&causes);
    let (first, further) = shown.split_at(shown.len().min(ANALYSED));
    let weakened = Shown::first(10, subject.tampering(), |one| {
        check_table::weakened(one, snapshot)
    });
    let rows = Shown::first(40, subject.checks(), |(state, check)| {
        check_table::row(state, check, &links)
    });
    let hidden = escalation.history.len().saturating_sub(15);
    let attempts: Vec<_> = escalation
        .history
        .iter()
        .skip(hidden)
        .map(|attempt| attempt_row(attempt, &links, subject.shows_scores()))
        .collect();
    let recognised = escalation
        .cause
        .as_ref()
        .map(|cause| short_text(&reason(entry::Cause(cause)), 500));
    let best = escalation.best.as_ref().map(|(attempt, sha, score)| {
        let score = match subject.shows_scores() {
            true => format!(" (score {score})"),
            false => String::new(),
        };
        Markdown::ours(format!(
            "attempt {attempt} at {}{score}",
            links.commit(*sha)
        ))
    });
    context! {
        file_path => code(places(subject).next().unwrap_or("unknown")),
        // The failing attempts of this streak.
        attempt_count => next.attempts.failures.count.clamp(1, view.max_attempts.max(1)),
        max_attempts => view.max_attempts,
        failure_summary => failure_summary(subject, &causes, shown.len(), &links),
        // The causes of the failures, and how the change weakens what checks it.
        root_cause_analysis => markdown(entry::Escalation::Analysis, context! { causes => root_causes(first), weakened }),
        fix_attempts => section(ReportSection::FixAttempts, numbered(&fixes(subject, escalation))),
        trigger => code(escalation.trigger.as_str()),
        reason => blocked_because(escalation),
        last_failure => last_failure(subject, escalation, &links),
        retry_attempts => next.attempts.failures.count,
        max_retries => next.attempts.failures.max_retries,
        stage => view.stage.as_str(),
        time_in_failure => time_in_failure(subject, escalation),
        // The attempts as a table, where there were several; what was tried in each stands above it.
        retry_history => markdown(entry::Escalation::Attempts, context! { hidden, rows => attempts }),
        pattern_detected => recognised.unwrap_or_default(),
        question => markdown(entry::Escalation::Question, context! { asked => asked(escalation), options => options(escalation) }),
        human_action_needed => Markdown::ours(word(entry::HumanAction(&escalation.trigger))),
        resume_steps => numbered(&resume_steps(subject, escalation.trigger)),
        mentions => mentions(subject, escalation),
        original_code => section(ReportSection::OriginalCode, diff_excerpt(subject, escalation.trigger, lines)),
        all_test_results => section(ReportSection::AllTestResults, markdown(entry::Escalation::Results, context! { rows })),
        failure_analyses => section(ReportSection::FailureAnalyses, root_causes(further)),
        debug_memory_summary => section(
            ReportSection::DebugMemorySummary,
            memory::summary(causes.iter().map(|cause| cause.first)),
        ),
        stack_traces => section(ReportSection::StackTraces, traces(shown, lines)),
        best_attempt => best.unwrap_or_default(),
        context => context_lines(subject, &links),
        title => text(&clip(&snapshot.pull_request.title, 200)),
        // "Attempt 3 needs a person: tests that passed before fail now."
        sentence => markdown(entry::Escalation::Sentence, context! {
            attempt => view.attempt, trigger => short_text(&causes::why(escalation), 300),
        }),
    }
}

/// The files that the failures point at, then the one that the run is about.
fn places<'a>(subject: &Subject<'a>) -> impl Iterator<Item = &'a str> {
    let failing = subject
        .decision
        .view
        .failures
        .iter()
        .filter_map(|view| view.failure.location());
    failing
        .map(|(file, _)| file)
        .chain(subject.decision.next.head.artifact.path.as_deref())
}

fn failure_summary(
    subject: &Subject<'_>,
    causes: &[Cause<'_>],
    shown: usize,
    links: &Links,
) -> Markdown {
    let lines = causes
        .iter()
        .take(shown)
        .map(|cause| failure_line(cause, links).into_string());
    let mut lines: Vec<String> = lines.collect();
    let left = causes.len() - shown;
    if left > 0 {
        lines.push(format!("- … and {left} more"));
    }
    if lines.is_empty() {
        let is_awaited = |(state, _): (CheckState, &CheckView)| {
            use CheckState::{Missing, Queued, Running};
            matches!(state, Missing | Queued | Running)
        };
        let awaited = subject.checks().any(is_awaited);
        return markdown(
            entry::Escalation::Unnamed,
            context! { failing => Serde(subject.failing()), awaited },
        );
    }
    Markdown::ours(lines.join("\n"))
}

fn failure_line(cause: &Cause<'_>, links: &Links) -> Markdown {
    let (failure, what) = (&cause.first.failure, title_and_message(cause.first).0);
    let [expected, actual] = failure.shown_sides();
    let model = context! {
        at => failure.location().map(|(file, line)| links.place(file, line)),
        sides => expected.zip(actual),
        message => failure.reported().lines().next().filter(|line| *line != what),
        others => cause.others(|name| code(name).into_string()).map(Markdown::ours),
        answer => failure.answer.as_deref().map(harmless),
        what,
    };
    markdown(entry::Escalation::Failure, model)
}

/// What is to be done about each, and what explains it where the failure itself does not.
fn root_causes(causes: &[Cause<'_>]) -> Markdown {
    let line = |cause: &Cause<'_>| {
        let view = cause.first;
        let advice = [
            explained(view).unwrap_or_default(),
            view.feedback.action.as_str(),
        ];
        let advice = advice.into_iter().filter(|words| !words.is_empty());
        let advice: Vec<String> = advice
            .map(|text| words::sentence(text, 300).into_string())
            .collect();
        let advice = if advice.is_empty() {
            "The cause is not certain.".to_owned()
        } else {
            advice.join(" ")
        };
        let (id, category) = (
            code(&view.cause.to_string()),
            word(entry::Category(&view.analysis.category)),
        );
        format!("- {id} ({category}): {advice}")
    };
    Markdown::ours(causes.iter().map(line).collect::<Vec<_>>().join("\n"))
}

/// What was pushed for each attempt, and how it ended.
fn fixes(subject: &Subject<'_>, escalation: &EscalationView) -> Vec<String> {
    let asked = subject
        .decision
        .next
        .concerns
        .fixer
        .as_ref()
        .filter(|call| call.since <= escalation.since);
    let by = |attempt: &AttemptDigest| match asked {
        Some(call) if attempt.number == call.attempt + 1 => " (after the senior fixer was asked)",
        _ => "",
    };
    let head = subject
        .decision
        .next
        .attempt_of(subject.snapshot.pull_request.head.sha);
    let fails_alike = |attempt: &AttemptDigest| {
        let same_errors = |head: &AttemptDigest| {
            !head.fingerprints.is_empty() && head.fingerprints == attempt.fingerprints
        };
        head.is_some_and(|head| head.number == attempt.number || same_errors(head))
    };
    let are_listed = !subject.decision.view.failures.is_empty();
    let ended = |attempt: &AttemptDigest| match attempt.result {
        VerificationResult::Fail if are_listed && fails_alike(attempt) => {
            "the failures above".to_owned()
        }
        VerificationResult::Fail => short_text(&attempt.summary, 200).into_string(),
        VerificationResult::Pass if attempt.weakened => {
            format!("⚠️ {}", short_text(&attempt.summary, 200))
        }
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
    subject: &'a Subject<'_>,
    escalation: &'a EscalationView,
) -> impl Iterator<Item = (&'a AttemptDigest, String)> {
    let mut before: Option<Sha> = None;
    escalation.history.iter().map(move |attempt| {
        let after = before.replace(attempt.head_sha);
        let tried = match summary::commits_between(subject, after, attempt.head_sha) {
            Some([]) => "nothing new".to_owned(),
            Some(commits) => {
                let subject =
                    |commit| format!("“{}”", short_text(&summary::subject_line(commit), 100));
                words::few(commits.iter().map(subject), 3)
            }
            None => "commits since rewritten".to_owned(),
        };
        (attempt, tried)
    })
}

fn numbered(items: &[String]) -> Markdown {
    let lines: Vec<String> = items
        .iter()
        .enumerate()
        .map(|(i, item)| format!("{}. {item}", i + 1))
        .collect();
    if lines.is_empty() {
        Markdown::ours("none")
    } else {
        Markdown::ours(lines.join("\n"))
    }
}

fn blocked_because(escalation: &EscalationView) -> Markdown {
    let also = words::and(
        escalation
            .also
            .iter()
            .map(|trigger| words::trigger(*trigger)),
    );
    let also = if also.is_empty() {
        also
    } else {
        format!(" (also: {also})")
    };
    let apart = recognised_apart(escalation)
        .map(|cause| format!(": {cause}"))
        .unwrap_or_default();
    let why = short_text(&causes::why(escalation), 300);
    Markdown::ours(format!("{why}{apart}{also}"))
}

/// Which attempt it was; what failed stands at the top.
fn last_failure(subject: &Subject<'_>, escalation: &EscalationView, links: &Links) -> Markdown {
    let last = escalation
        .history
        .iter()
        .rfind(|attempt| attempt.result == VerificationResult::Fail);
    let Some(AttemptDigest {
        number, head_sha, ..
    }) = last
    else {
        return Markdown::ours("none");
    };
    let since = time_in_failure(subject, escalation);
    Markdown::ours(format!(
        "attempt {number} at {}; failing for {since}",
        links.commit(*head_sha)
    ))
}

/// Since the first failing attempt after the last one that passed.
fn time_in_failure(subject: &Subject<'_>, escalation: &EscalationView) -> String {
    let failing = escalation
        .history
        .iter()
        .rev()
        .take_while(|attempt| attempt.result == VerificationResult::Fail);
    let since = failing
        .last()
        .map_or(subject.decision.next.run.created_at, |attempt| attempt.at);
    words::days((escalation.since - since).num_seconds().max(0))
}

/// The patch of the file the failures point at, else of the file with most changes. Of a change that weakens tests, the
/// lines that do, and nothing else.
fn diff_excerpt(subject: &Subject<'_>, about: Trigger, lines: usize) -> Markdown {
    if about == Trigger::Tampering && subject.policy.retry.escalation_includes_diff {
        let found = subject
            .decision
            .view
            .tampering
            .iter()
            .filter(|one| !one.hunk.is_empty())
            .take(5);
        let hunks: Vec<String> = found
            .map(|one| {
                format!(
                    "{}\n\n{}",
                    short_text(&one.to_string(), 340),
                    fence("diff", &one.hunk.join("\n"))
                )
            })
            .collect();
        return Markdown::ours(hunks.join("\n\n"));
    }
    if !about.is_of_attempts() || !subject.policy.retry.escalation_includes_diff {
        return Markdown::default();
    }
    let files = subject.snapshot.files.known();
    let mut named = places(subject).filter_map(|path| files.iter().find(|file| file.path == path));
    let largest = || {
        files
            .iter()
            .max_by_key(|file| file.additions + file.deletions)
    };
    let Some((path, patch)) = named
        .next()
        .or_else(largest)
        .and_then(|file| Some((&file.path, file.patch.as_deref()?)))
    else {
        return Markdown::default();
    };
    Markdown::ours(format!(
        "{}\n\n{}",
        code(path),
        fence("diff", &clip_lines(patch, lines.min(DIFF)))
    ))
}

fn traces(causes: &[Cause<'_>], lines: usize) -> Markdown {
    let blocks = causes.iter().map(|cause| cause.first).filter_map(|view| {
        let trace = view
            .failure
            .shown_trace()
            .filter(|trace| !trace.trim().is_empty())?;
        Some(format!(
            "{}\n\n{}",
            code(&title_and_message(view).0),
            fence("text", &clip_lines(&trace, lines))
        ))
    });
    Markdown::ours(blocks.collect::<Vec<_>>().join("\n\n"))
}

fn context_lines(subject: &Subject<'_>, links: &Links) -> Markdown {
    let pull = &subject.snapshot.pull_request;
    let last = subject
        .snapshot
        .commits
        .items
        .iter()
        .rev()
        .find(|commit| commit.sha == pull.head.sha);
    let last = last.map(|commit| short_text(&summary::subject_line(commit), 100));
    let run = subject
        .checks()
        .find_map(|(state, check)| match &check.standing {
            CheckStanding::Done(evidence) if state.is_failure() => evidence.url.clone(),
            CheckStanding::NotStarted { url, .. } => url.clone(),
            _ => None,
        });
    let model = context! {
        branch => pull.head.branch.as_str(),
        base => pull.base.branch.as_str(),
        commit => links.commit(pull.head.sha),
        last,
        run => run.map(|url| links.to("failing check", &url)),
        state => summary::state_place_in_markdown(subject),
    };
    markdown(entry::Escalation::Context, model)
}

/// The only mentions Loopgate makes: people and teams the configuration names for this cause.
fn mentions(subject: &Subject<'_>, escalation: &EscalationView) -> Markdown {
    let mut who: Vec<String> = Vec::new();
    for recipient in &escalation.recipients {
        let Recipient::GateApprovers(name) = recipient else {
            who.push(words::recipient(recipient));
            continue;
        };
        let known = subject.gate(name).map(|gate| &gate.eligible);
        if let Some(eligible) =
            known.filter(|known| !known.teams.is_empty() || !known.people.is_empty())
        {
            who.extend(eligible.teams.keys().map(ToString::to_string));
            who.extend(eligible.people.iter().map(ToString::to_string));
        } else if let Some(gate) = subject.policy.gates.get(name) {
            // Approvers are not looked up for a gate that is not open: then the configuration's names stand.
            who.extend(gate.approvers.teams.iter().map(ToString::to_string));
            who.extend(gate.approvers.users.iter().map(ToString::to_string));
        }
    }
    who.dedup();
    Markdown::ours(
        who.iter()
            .take(20)
            .map(|name| format!("@{name}"))
            .collect::<Vec<_>>()
            .join(" "),
    )
}
