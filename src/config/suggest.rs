//! The right word for a wrong one.

/// A hint for a word that is none of `known`: what was probably meant, else all of them.
pub(super) fn among(word: &str, known: &[&str]) -> String {
    match (nearest(word, known.iter().copied()).as_slice(), known) {
        ([one], _) => format!("did you mean `{one}`?"),
        ([one, other, ..], _) => format!("did you mean `{one}` or `{other}`?"),
        ([], []) => "nothing can be written here".to_owned(),
        ([], [only]) => format!("write `{only}`"),
        ([], known) => {
            format!("known here: {}", known.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "))
        }
    }
}

/// So alike two words must be for one to be offered for the other: less where both begin in the same way.
const ALIKE: f64 = 0.78;
const ALIKE_WITH_BEGINNING: f64 = 0.66;
/// So much less alike than the first a second offer may be.
const AS_ALIKE: f64 = 0.03;

/// The known words that may have been meant, the likeliest first, at most two.
pub(super) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['-', ' ', '_'], "");
    // The measure is quadratic in the lengths; no key is that long.
    let word = plain(&word.chars().take(64).collect::<String>());
    let beginning: String = word.chars().take(2).collect();
    let mut offers: Vec<(f64, &str)> = known
        .filter_map(|candidate| {
            let plain = plain(candidate);
            let alike = strsim::jaro_winkler(&word, &plain);
            let enough =
                if beginning.len() > 1 && plain.starts_with(&beginning) { ALIKE_WITH_BEGINNING } else { ALIKE };
            (alike >= enough).then_some((alike, candidate))
        })
        .collect();
    offers.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let best = offers.first().map_or(0.0, |(alike, _)| *alike);
    offers.into_iter().take(2).filter(|(alike, _)| best - alike <= AS_ALIKE).map(|(_, word)| word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_guesses_are_not_made() {
        let keys = [
            "approvers",
            "approve_by",
            "blocks",
            "label",
            "when",
            "remind_after",
            "max_attempts",
            "max_iterations",
            "allow_author",
            "invalidate_on_push",
            "count",
            "workflows",
            "checks",
        ];
        for (word, meant) in [
            ("aprove_by", &["approve_by"][..]),
            ("approve-by", &["approve_by"]),
            ("approveBy", &["approve_by"]),
            ("aproach", &["approvers", "approve_by"]),
            ("approver", &["approvers"]),
            ("Label", &["label"]),
            ("labels", &["label"]),
            ("remind", &["remind_after"]),
            ("max_atempts", &["max_attempts"]),
            ("maxAttempts", &["max_attempts"]),
            ("attempts", &["max_attempts"]),
            ("check", &["checks"]),
            ("xyzzy", &[]),
            ("timeout", &[]),
            ("", &[]),
        ] {
            assert_eq!(nearest(word, keys.into_iter()), meant, "{word}");
        }
    }
}
