//! A feedback document for a terminal, by `feedback.txt`: the verdict, who acts and how, what failed, gates, rules.

use minijinja::{context, value::Serde};

use super::{
    excerpts::HEADING,
    messages::{self, word},
    model::{Currency, Document, ReadFrom, Reading},
};
use loopgate_core::{Timestamp, evidence::MOST_EXCERPTS};

/// What stands between a head and ready, in the order in which somebody needs it.
pub fn feedback_text(reading: &Reading) -> String {
    let document = &reading.feedback.document;
    if let Some(ended) = document.ended {
        return format!("{}: {}, there is nothing to do.", subject(document), ended.as_str());
    }
    let model = context! {
        subject => subject(document),
        read_from => word("read_from", reading.from.as_str()),
        outdated => outdated(reading),
        heading => HEADING,
        most_excerpts => MOST_EXCERPTS,
        document => Serde(document),
    };
    messages::text("feedback.txt", model).trim_end().to_owned()
}

/// That the verdict on the head is waited for.
pub fn waiting_text(reading: &Reading) -> String {
    let what = match reading.currency {
        Currency::Current | Currency::TreeChanged if reading.from == ReadFrom::Nowhere => "nowhere".to_owned(),
        currency => messages::variant_name(&currency),
    };
    format!("waiting {} on {}", word("awaited", &what), subject(&reading.feedback.document))
}

/// Why GitHub does not answer yet.
pub fn held_up_text(error: &impl std::fmt::Display, until: Option<Timestamp>) -> String {
    format!("{error}; {}", if until.is_some() { "waiting for that" } else { "asking again" })
}

/// `acme/widgets#12 at 1a2b3c4d`.
fn subject(page: &Document) -> String {
    let repository = page.repository.as_ref().map(ToString::to_string).unwrap_or_default();
    let number = page.pull_request.map(|number| format!("#{number}")).unwrap_or_default();
    format!("{repository}{number} at {}", page.head_sha.short())
}

/// Why it is not the last word.
fn outdated(reading: &Reading) -> Option<String> {
    let has_ended = reading.feedback.document.r#final || reading.from == ReadFrom::Nowhere;
    let is_last = has_ended && reading.currency == Currency::Current;
    (!is_last).then(|| messages::plain("outdated", &reading.currency, context! {}))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{self, Feedback, fixtures, status::STATUS_MARKER};
    use loopgate_core::{
        Sha,
        deciding::{Decision, DecisionWord},
        failure::FeedbackLine,
        verdict::FailureView,
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
    fn a_command_that_shows_all_failures_stands_once() {
        let mut decision = fixtures::first_failure();
        let again = decision.view.failures[0].clone();
        let cause = loopgate_core::Fingerprint::from_bytes([9; 8]).into();
        decision.view.failures.push(FailureView { cause, ..again });
        let told = written(&decision);
        let command = told.document.failures[0].reproduce.clone().unwrap();
        let head = told.head();
        let shown = render::feedback_text(&reading(told, head));
        assert_eq!(shown.matches(&command).count(), 1, "{shown}");
        assert!(shown.contains(&format!("Failures, all shown by: {command}\n")), "{shown}");
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
