//! Text cut to a length without hurting it: at a sentence, and never inside a code span.

use std::ops::Range;

/// `text` cut to at most `max_chars` characters.
///
/// The cut stands behind the last sentence that fits; where not even the first does, between two words, shown as `…`.
/// A code span is kept or dropped whole.
pub fn cut_at_sentence(text: &str, max_chars: usize) -> String {
    let text = text.trim();
    let Some((limit, _)) = text.char_indices().nth(max_chars) else {
        return text.to_owned();
    };
    let spans: Vec<Range<usize>> = pattern!("`[^`]*`")
        .find_iter(text)
        .map(|span| span.range())
        .collect();
    let outside = |at: usize| !spans.iter().any(|span| span.start < at && at < span.end);
    let ends = pattern!(r"[.!?](?-u:\s|\z)|\n")
        .find_iter(text)
        .map(|end| end.start() + 1);
    let sentence = ends.filter(|end| *end <= limit && outside(*end)).last();
    if let Some(end) = sentence {
        return text[..end].trim_end().to_owned();
    }
    // One character is the ellipsis.
    let Some((limit, _)) = text.char_indices().nth(max_chars.saturating_sub(1)) else {
        return String::new();
    };
    let blank = |at: &usize| text[*at..].starts_with(char::is_whitespace) && outside(*at);
    let word = text
        .char_indices()
        .map(|(at, _)| at)
        .take_while(|at| *at <= limit)
        .filter(blank)
        .last();
    match word {
        Some(end) => format!("{}…", text[..end].trim_end()),
        // One word longer than the limit: cut it, unless it is a code span.
        None if outside(limit) && max_chars > 0 => format!("{}…", &text[..limit]),
        None if max_chars > 0 => "…".to_owned(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex::Regex;

    use super::*;

    #[test]
    fn cuts_are_clean() {
        let cases = [
            ("One. Two. Three.", 100, "One. Two. Three."),
            ("One. Two. Three.", 10, "One. Two."),
            ("See `a. b` here. And more follows.", 9, "See…"),
            ("See `a. b` here. And more follows.", 20, "See `a. b` here."),
            ("v1.2.3 is a version. Next.", 22, "v1.2.3 is a version."),
            ("`one code span that is longer than the limit`", 10, "…"),
            ("unbroken", 5, "unbr…"),
            ("a ` b. c d", 7, "a ` b."),
            ("ééé ééé", 5, "ééé…"),
            ("anything", 0, ""),
            ("line one\nline two", 10, "line one"),
        ];
        for (text, max, expected) in cases {
            assert_eq!(cut_at_sentence(text, max), expected, "{text} at {max}");
        }
    }

    proptest! {
        #[test]
        fn never_longer_and_never_inside_code(text in "[a-c.` \\né]{0,60}", max in 0usize..60) {
            let cut = cut_at_sentence(&text, max);
            prop_assert!(cut.chars().count() <= max);
            let kept = cut.trim_end_matches('…');
            let trimmed = text.trim();
            prop_assert!(trimmed.starts_with(kept));
            let spans = Regex::new("`[^`]*`").unwrap();
            let inside = spans.find_iter(trimmed).any(|span| span.start() < kept.len() && kept.len() < span.end());
            prop_assert!(!inside, "{trimmed:?} at {max} gave {cut:?}");
        }
    }
}
