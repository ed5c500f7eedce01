//! The right word for a wrong one.

/// A hint for a word that is none of `known`: what was probably meant, else all of them.
pub(super) fn among(word: &str, known: &[&str]) -> String {
    match (nearest(word, known.iter().copied()), known) {
        (Some(one), _) => format!("did you mean `{one}`?"),
        (None, []) => "nothing can be written here".to_owned(),
        (None, [only]) => format!("write `{only}`"),
        (None, known) => {
            format!(
                "known here: {}",
                known
                    .iter()
                    .map(|word| format!("`{word}`"))
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        }
    }
}

/// So alike two words must be for one to be offered for the other: less where both begin in the same way.
const ALIKE: f64 = 0.78;
const ALIKE_WITH_BEGINNING: f64 = 0.66;

/// The known word that was probably meant.
pub(super) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['-', ' ', '_'], "");
    // The measure is quadratic in the lengths; no key is that long.
    let word = plain(&word.chars().take(64).collect::<String>());
    let beginning: String = word.chars().take(2).collect();
    let offers = known.filter_map(|candidate| {
        let plain = plain(candidate);
        let alike = strsim::jaro_winkler(&word, &plain);
        let begins_so = beginning.len() > 1 && plain.starts_with(&beginning);
        (alike
            >= if begins_so {
                ALIKE_WITH_BEGINNING
            } else {
                ALIKE
            })
        .then_some((alike, candidate))
    });
    // Of two that are as alike the first.
    offers
        .reduce(|best, other| if other.0 > best.0 { other } else { best })
        .map(|(_, candidate)| candidate)
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
            ("aprove_by", Some("approve_by")),
            ("approve-by", Some("approve_by")),
            ("approveBy", Some("approve_by")),
            ("aproach", Some("approvers")),
            ("approver", Some("approvers")),
            ("Label", Some("label")),
            ("labels", Some("label")),
            ("remind", Some("remind_after")),
            ("max_atempts", Some("max_attempts")),
            ("maxAttempts", Some("max_attempts")),
            ("attempts", Some("max_attempts")),
            ("check", Some("checks")),
            ("xyzzy", None),
            ("timeout", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, keys.into_iter()), meant, "{word}");
        }
    }
}
