//! A feedback document as a page for a terminal: the verdict, who acts and how, what failed, gates, rules.

use super::{
    excerpts::{HEADING, quoted},
    links,
    messages::word,
    model::{Currency, Document, Failure, Gate, ReadFrom, Reading},
    sanitize::{block, clip, short_line},
    words,
};
use loopgate_core::{Timestamp, evidence::MOST_EXCERPTS, failure::FeedbackLine, state::GateStatus, untrusted::quote};

/// Characters of one text at most: the document's own bound, for documents that are not ours.
const MOST: usize = 500;

/// What stands between a head and ready, in the order in which somebody needs it.
pub fn feedback_text(reading: &Reading) -> String {
    let page = &reading.feedback.document;
    if let Some(ended) = page.ended {
        return format!("{}: {}, there is nothing to do.", subject(page), ended.as_str());
    }
    let mut lines = vec![verdict(page), word("read_from", reading.from.as_str()).to_owned()];
    lines.extend(outdated(reading));
    lines.extend(next(page));
    if !page.failures.is_empty() {
        lines.extend([String::new(), "Failures".to_owned()]);
        for (number, failure) in (1..).zip(&page.failures) {
            lines.extend(failure_lines(number, failure));
        }
        if page.more_failures > 0 {
            lines.push(format!("… and {} more", words::count(page.more_failures, "failure")));
        }
    }
    section(&mut lines, "Also to be done", page.feedback.iter().map(other));
    section(&mut lines, "Gates", page.gates.iter().filter_map(gate));
    section(&mut lines, "Rules", page.rules.iter().map(|rule| plain(rule)));
    if let Some(address) = page.links.status.as_deref().or(page.links.report.as_deref()) {
        lines.extend([String::new(), format!("More: {}", plain(address))]);
    }
    for excerpt in page.excerpts.iter().take(MOST_EXCERPTS) {
        lines.extend([String::new(), HEADING.to_owned()]);
        let whence = [Some(excerpt.job.as_str()), excerpt.step.as_deref(), excerpt.log.as_deref()];
        lines.push(whence.into_iter().flatten().map(plain).collect::<Vec<_>>().join(" · "));
        lines.push(quoted(&quote(&excerpt.text)).trim_end().to_owned());
    }
    lines.join("\n")
}

/// That the verdict on the head is waited for.
pub fn waiting_text(reading: &Reading) -> String {
    let what = match reading.currency {
        Currency::BeforePush => "for the push to arrive",
        Currency::OlderHead(_) => "for Loopgate to look at the newest head",
        Currency::Current | Currency::TreeChanged if reading.from == ReadFrom::Nowhere => "for Loopgate's first word",
        Currency::Current | Currency::TreeChanged => "for the verdict",
    };
    format!("waiting {what} on {}", subject(&reading.feedback.document))
}

/// Why GitHub does not answer yet.
pub fn held_up_text(error: &impl std::fmt::Display, until: Option<Timestamp>) -> String {
    format!("{error}; {}", if until.is_some() { "waiting for that" } else { "asking again" })
}

fn section(lines: &mut Vec<String>, title: &str, items: impl Iterator<Item = String>) {
    let before = lines.len();
    lines.extend(items.map(|item| format!("- {item}")));
    if lines.len() > before {
        lines.splice(before..before, [String::new(), title.to_owned()]);
    }
}

fn plain(text: &str) -> String {
    short_line(text, MOST)
}

/// A text with its blanks: they may be what differs between two values. Its lines stand behind each other.
fn exact(text: &str, between: &str) -> String {
    let text = block(text).replace('\t', "\\t");
    let lines: Vec<&str> = text.lines().map(|line| if between == " " { line.trim() } else { line }).collect();
    clip(&lines.join(between), MOST).into_owned()
}

/// `acme/widgets#12 at 1a2b3c4d`.
fn subject(page: &Document) -> String {
    let repository = page.repository.as_ref().map(ToString::to_string).unwrap_or_default();
    let number = page.pull_request.map(|number| format!("#{number}")).unwrap_or_default();
    format!("{repository}{number} at {}", page.head_sha.short())
}

fn verdict(page: &Document) -> String {
    let words = word("decision", page.decision.as_str());
    let attempt = page.attempt.map(|attempt| match page.max_attempts {
        Some(most) if attempt <= most => format!(" (attempt {attempt} of {most})"),
        _ => format!(" (attempt {attempt})"),
    });
    format!("{}: {words}{}", subject(page), attempt.unwrap_or_default())
}

/// Why it is not the last word.
fn outdated(reading: &Reading) -> Option<String> {
    let page = &reading.feedback.document;
    Some(match reading.currency {
        Currency::OlderHead(now) => {
            format!("Not final: this is of an older head than the pull request's, which is {}.", now.short())
        }
        Currency::BeforePush => "Not final: this is of the head that was to be pushed over.".to_owned(),
        Currency::TreeChanged => {
            "Not final: the working tree has changed since. Run `loopgate verify` again.".to_owned()
        }
        Currency::Current if page.r#final || reading.from == ReadFrom::Nowhere => return None,
        Currency::Current => "Not final: checks have yet to report.".to_owned(),
    })
}

fn next(page: &Document) -> Option<String> {
    let actor = page.who_acts.as_ref()?;
    let kind = plain(&actor.kind);
    let who = actor.login.as_ref().map_or_else(|| kind.clone(), |login| format!("@{login} ({kind})"));
    Some(format!("Next: {who}: {}", plain(&actor.action)))
}

fn failure_lines(number: usize, failure: &Failure) -> Vec<String> {
    let named = [failure.check.as_deref(), failure.test.as_deref()];
    let named: Vec<String> = named.into_iter().flatten().map(plain).filter(|name| !name.is_empty()).collect();
    let also = (failure.also > 0).then(|| format!("{} more with this cause", failure.also));
    let notes = [failure.new.then(|| "new".to_owned()), failure.regression.then(|| "passed before".to_owned()), also];
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) };
    let mut lines = vec![format!("{number}. [{}] {}{notes}", plain(&failure.id), named.join(": "))];
    let place = failure.place.as_ref().map(|place| links::place(&place.file, place.line));
    let shown_lines = [
        ("At", place.as_deref()),
        ("Message", failure.message.as_deref()),
        ("Expected", failure.expected.as_deref()),
        ("Actual", failure.actual.as_deref()),
        ("Cause", failure.cause.as_deref().filter(|cause| failure.message.as_deref() != Some(*cause))),
        ("Do", failure.r#do.as_deref()),
        ("Why", failure.why.as_deref()),
        ("Run", failure.reproduce.as_deref()),
        ("Before", failure.settled.as_deref()),
    ];
    let shown = |name: &str, text: &str| match name {
        "Expected" | "Actual" => exact(text, "\\n"),
        "Message" | "Cause" => exact(text, " "),
        _ => plain(text),
    };
    let shown_lines = shown_lines.into_iter().filter_map(|(name, text)| Some((name, shown(name, text?))));
    lines.extend(shown_lines.filter(|(_, text)| !text.is_empty()).map(|(name, text)| format!("   {name}: {text}")));
    lines.extend(failure.tried.iter().map(|tried| {
        let outcome = match tried.outcome.as_str() {
            "same" => "it failed in the same way",
            "came_back" => "it was gone, and is back",
            _ => "it did not help",
        };
        let change = tried.change.as_deref().map(|change| format!("{}: ", plain(change))).unwrap_or_default();
        format!("   Tried for attempt {}: {change}{outcome}", tried.attempt)
    }));
    lines
}

fn other(line: &FeedbackLine) -> String {
    let FeedbackLine { location, problem, action, reproduce, .. } = line;
    let run = reproduce.as_deref().map(|command| format!(" Run: {}", plain(command))).unwrap_or_default();
    format!("{}: {} {}{run}", plain(location), plain(problem), plain(action))
}

/// The gates that somebody has to open.
fn gate(gate: &Gate) -> Option<String> {
    let status = match gate.status {
        GateStatus::Pending => "not asked for yet",
        GateStatus::Requested => "waits for approval",
        GateStatus::Rejected => "rejected",
        GateStatus::Approved | GateStatus::NotApplicable => return None,
    };
    let who: Vec<String> = gate.who.iter().take(10).map(|who| plain(who)).collect();
    let by = if who.is_empty() { String::new() } else { format!(" by {}", who.join(", ")) };
    let how = match gate.write.as_deref() {
        Some(words) => format!("with a comment: {}", plain(words)),
        None => "with an approving review".to_owned(),
    };
    Some(format!("{} {status}; it is opened{by} {how}", plain(&gate.name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{self, Feedback, fixtures, status::STATUS_MARKER};
    use loopgate_core::{
        Sha,
        deciding::{Decision, DecisionWord},
    };

    fn written(decision: &Decision) -> Feedback {
        render::feedback_document(decision, &fixtures::snapshot(), &fixtures::policy())
    }

    fn reading(told: Feedback, head: Sha) -> Reading {
        Reading::of_head(told, ReadFrom::StatusComment, head, None)
    }

    #[test]
    fn whoever_mends_it_reads_what_to_do() {
        let told = written(&fixtures::first_failure());
        let head = told.head();
        insta::assert_snapshot!("told_first_failure", render::feedback_text(&reading(told, head)));
    }

    #[test]
    fn gates_are_told_with_the_words_that_open_them() {
        let told = written(&fixtures::open_security_gate_with_an_outsider());
        insta::assert_snapshot!(
            "told_open_gate_of_an_older_head",
            render::feedback_text(&reading(told, fixtures::sha(0xcc)))
        );
    }

    #[test]
    fn it_is_found_in_what_we_write_and_nowhere_else() {
        let (decision, snapshot, policy) = (fixtures::first_failure(), fixtures::snapshot(), fixtures::policy());
        let pages = render::pull_request(&decision, &snapshot, &policy);
        let told = written(&decision);
        assert_eq!(Feedback::within(&pages.status_comment), Some(told.clone()));
        assert_eq!(
            Feedback::within(&pages.status_comment.replace('\n', "\r\n")),
            Some(told.clone()),
            "edited on a page"
        );
        assert_eq!(Feedback::within(&pages.verify.summary), Some(told.clone()));
        let json = told.written();
        assert_eq!(Feedback::parse(&json), Some(told.clone()));
        let newer = json.replacen('{', "{ \"of_a_newer_version\": [1],", 1);
        assert_eq!(reading(Feedback::parse(&newer).unwrap(), told.head()).document()["of_a_newer_version"][0], 1);
        for other in
            [STATUS_MARKER, "", "{}", "[]", &json.replace("feedback/v1", "verify/v1"), &json.replace("retry", "x")]
        {
            assert_eq!(Feedback::parse(other), None, "{other}");
        }
        let padded = json.replacen('{', &format!("{{ \"padding\": \"{}\",", "x".repeat(64 << 10)), 1);
        assert_eq!(Feedback::parse(&padded), None, "too large to be ours");
    }

    #[test]
    fn nothing_in_it_reaches_a_terminal_unseen() {
        let nasty = "red \u{1b}[31m \u{202e}\u{7f}\u{9b}2J\nnext";
        let mut document = reading(written(&fixtures::first_failure()), fixtures::sha(0xa1)).document();
        document["failures"][0]["message"] = nasty.into();
        document["failures"][0]["id"] = nasty.into();
        document["failures"][0]["expected"] = nasty.into();
        document["failures"][0]["actual"] = "a  b\t ".into();
        document["rules"] = serde_json::json!([nasty]);
        let told = Feedback::parse(&serde_json::to_string(&document).unwrap()).unwrap();
        let reading = reading(told, fixtures::sha(0xa1));
        let is_plain = |text: &str| text.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{202e}');
        assert!(is_plain(&render::feedback_text(&reading)) && is_plain(&reading.json()), "{}", reading.json());
        let shown = render::feedback_text(&reading);
        assert!(shown.contains("Message: red next"), "{shown}");
        assert!(shown.contains("Actual: a  b\\t \n"), "blanks of a value are kept: {shown}");
        let again: serde_json::Value = serde_json::from_str(&reading.json()).unwrap();
        assert_eq!(again["failures"][0]["message"], nasty, "programs lose nothing");
    }

    #[test]
    fn five_hundred_failures_fit_into_16_kb() {
        let mut decision = fixtures::first_failure();
        decision.view.failures = (0..500_u32)
            .map(|n| {
                let mut view = fixtures::failure();
                let bytes: [u8; 8] = (u64::from(n) << 32 | 7).to_be_bytes();
                view.cause = loopgate_core::Fingerprint::from_bytes(bytes).into();
                view.failure.error_message = format!("failure {n}: {}", "é\u{1F600}<".repeat(2_000));
                view
            })
            .collect();
        let told = written(&decision);
        let reading = reading(told, fixtures::sha(0xcc));
        assert!(reading.json().len() <= 16 << 10, "{}", reading.json().len());
        let shown = reading.document()["failures"].as_array().unwrap().len() as u64;
        assert!(shown >= 1 && reading.document()["more_failures"].as_u64() == Some(500 - shown), "{shown}");
    }

    #[test]
    fn a_state_tells_the_same_verdict_with_less() {
        let mut state = fixtures::state();
        let failed = fixtures::attempt(1, 0xa1, loopgate_core::state::VerificationResult::Fail, 50, "unit: failed");
        state.head_sha = failed.head_sha;
        state.attempts = vec![failed];
        let line = FeedbackLine { problem: "x".repeat(900), ..fixtures::told() };
        let record = serde_json::json!({ "decision": "retry", "feedback": vec![line; 40] });
        let reading = |state: &_| self::reading(Feedback::of_state(state, Some(&record)), fixtures::sha(0xa1));
        let told = reading(&state);
        assert_eq!((told.is_final(), told.decision()), (true, DecisionWord::Retry));
        assert!(told.json().len() <= 16 << 10, "{}", told.json().len());
        // A head that was not verified yet, and a run that somebody has to look at.
        state.head_sha = fixtures::sha(0xa1);
        state.attempts[0].head_sha = fixtures::sha(0xa0);
        assert_eq!((reading(&state).is_final(), reading(&state).decision()), (false, DecisionWord::Wait));
        state.attempts[0].head_sha = fixtures::sha(0xa1);
        state.status = loopgate_core::state::RunStatus::Escalated;
        assert_eq!(reading(&state).decision(), DecisionWord::Escalate);
    }

    #[test]
    fn attempts_are_read_back_from_the_comment() {
        let mut decision = fixtures::first_failure();
        let told = |decision: &Decision, head| {
            let (snapshot, policy) = (fixtures::snapshot(), fixtures::policy());
            let page = render::pull_request(decision, &snapshot, &policy);
            Feedback::within(&page.status_comment).unwrap().attempts_before(head)
        };
        let (same, other) = (fixtures::snapshot().pull_request.head.sha, Sha::from_bytes([9; 20]));
        assert_eq!((told(&decision, same), told(&decision, other)), (0, 1));
        decision.view.attempt = 7;
        decision.next.attempts[0].number = 7;
        assert_eq!((told(&decision, same), told(&decision, other)), (6, 7));
        decision.next.attempts.clear();
        assert_eq!((told(&decision, same), told(&decision, other)), (6, 6), "the seventh has not ended");
        for hostile in ["", "```json\n{}\n```", "```json\n{\"head_sha\": 3}\n```", "```json\n["] {
            assert_eq!(Feedback::within(hostile), None, "{hostile}");
        }
    }
}
