//! The words tools have for how bad a finding is, on one scale.

use loopgate_core::evidence::FindingSeverity;

/// The severity a word stands for, whatever its case; none if it is no such word.
pub(super) fn of_word(word: &str) -> Option<FindingSeverity> {
    Some(match word.to_ascii_lowercase().as_str() {
        "critical" | "blocker" | "fatal" => FindingSeverity::Critical,
        "error" | "high" | "major" | "failure" => FindingSeverity::High,
        "warning" | "warn" | "medium" | "moderate" | "minor" => FindingSeverity::Medium,
        "low" | "info" | "information" => FindingSeverity::Low,
        "note" | "notice" | "hint" | "help" | "style" | "none" => FindingSeverity::Note,
        _ => return None,
    })
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
