//! The words tools have for how bad a finding is, on one scale.

use loopgate_core::evidence::FindingSeverity;

/// The severity a word stands for, whatever its case; none if it is no such word.
pub(super) fn of_word(word: &str) -> Option<FindingSeverity> {
    Some(match word.to_ascii_lowercase().as_str() {
        "critical" | "blocker" | "fatal" => FindingSeverity::Critical,
        "error" | "high" | "major" | "failure" => FindingSeverity::High,
        "warning" | "warn" | "medium" | "moderate" | "minor" => FindingSeverity::Medium,
        "low" | "info" | "information" | "performance" | "portability" => FindingSeverity::Low,
        "note" | "notice" | "hint" | "help" | "style" | "convention" | "refactor" | "none" => {
            FindingSeverity::Note
        }
        _ => return None,
    })
}

/// Whether a tool fails for a finding of this severity: for an error, and on the scale of scanners for any.
pub(super) fn fails(word: &str) -> bool {
    let is_of_scanner = ["low", "medium", "moderate"]
        .iter()
        .any(|level| word.eq_ignore_ascii_case(level));
    is_of_scanner || of_word(word).is_some_and(|severity| severity >= FindingSeverity::High)
}

/// The severity for a mark in front of a message.
pub(super) fn of_mark(mark: char) -> Option<FindingSeverity> {
    Some(match mark {
        '✖' | '×' | '✘' | '✗' | '❌' => FindingSeverity::High,
        '⚠' | '!' => FindingSeverity::Medium,
        'ℹ' => FindingSeverity::Low,
        _ => return None,
    })
}

/// What a message says of its own severity by the mark or the word in front of it, and the message without that:
/// `⚠ …`, `style: …`, `error - …`.
pub(super) fn told(message: &str) -> (Option<FindingSeverity>, &str) {
    let message = message.trim_start();
    let mut rest = message.chars();
    if let Some(severity) = rest.next().and_then(of_mark) {
        // A mark may be followed by the sign that asks for its coloured picture.
        let rest = rest.as_str().trim_start_matches('\u{FE0F}');
        if let Some(behind) = rest.strip_prefix(' ') {
            return (Some(severity), behind.trim_start());
        }
    }
    // yamllint: `[warning] …`
    let bracketed = message
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("] "))
        .and_then(|(word, behind)| Some((of_word(word)?, behind)));
    let word = bracketed.or_else(|| {
        message
            .split_once(": ")
            .or_else(|| message.split_once(" - "))
            .and_then(|(word, behind)| Some((of_word(word)?, behind)))
    });
    match word {
        Some((severity, behind)) => (Some(severity), behind.trim_start()),
        None => (None, message),
    }
}

/// The severity for a score from 0 to 10, by CVSS' own bands.
pub(super) fn of_score(score: f64) -> FindingSeverity {
    match score {
        9.0.. => FindingSeverity::Critical,
        7.0.. => FindingSeverity::High,
        4.0.. => FindingSeverity::Medium,
        0.1.. => FindingSeverity::Low,
        _ => FindingSeverity::Note,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_scores() {
        assert_eq!(of_word("ERROR"), Some(FindingSeverity::High));
        assert_eq!(of_word("whatever"), None);
        let told_table = [
            ("Style: unused", Some(FindingSeverity::Note), "unused"),
            (
                "error - no header",
                Some(FindingSeverity::High),
                "no header",
            ),
            (
                "⚠\u{FE0F} empty block",
                Some(FindingSeverity::Medium),
                "empty block",
            ),
            ("✖ in use", Some(FindingSeverity::High), "in use"),
            (
                "[warning] no start",
                Some(FindingSeverity::Medium),
                "no start",
            ),
            ("!important is one word", None, "!important is one word"),
            ("undefined: x", None, "undefined: x"),
        ];
        for (message, severity, rest) in told_table {
            assert_eq!(told(message), (severity, rest));
        }
        let table = [
            (10.0, FindingSeverity::Critical),
            (7.0, FindingSeverity::High),
            (4.0, FindingSeverity::Medium),
            (0.1, FindingSeverity::Low),
            (0.0, FindingSeverity::Note),
            (f64::NAN, FindingSeverity::Note),
        ];
        for (score, expected) in table {
            assert_eq!(of_score(score), expected, "{score}");
        }
    }
}
