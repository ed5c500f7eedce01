//! Whatever the text: an answer, never a panic, and a place that is inside the file.

use std::{fs, path::Path};

use loopgate::config::{self, Source};
use proptest::prelude::*;

/// Reads a text, and checks every error it gives.
fn answered(text: &str) {
    let errors = match config::load(
        Some(Source::new("organisation", text)),
        Some(Source::new("repository", text)),
    ) {
        Ok(loaded) => loaded.warnings,
        Err(errors) => errors.as_slice().to_vec(),
    };
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let unified = body.replace("\r\n", "\n").replace('\r', "\n");
    let lines: Vec<&str> = unified.lines().collect();
    for error in errors {
        let line = lines.get(error.line - 1).copied().unwrap_or_default();
        assert!(error.line <= lines.len().max(1), "{error:?}");
        assert_eq!(error.snippet, line, "{error:?}");
        assert!(
            (1..=line.chars().count() + 1).contains(&error.column),
            "{error:?}"
        );
        assert!(
            ["organisation", "repository"].contains(&error.file.as_str()),
            "{error:?}"
        );
        let said = format!(
            "{}{}",
            error.message,
            error.hint.as_deref().unwrap_or_default()
        );
        assert!(
            said.len() < 2_000 && !said.chars().any(char::is_control),
            "{error:?}"
        );
        assert!(error.to_string().lines().count() >= 5);
    }
}

fn example() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("config/loopgate.example.yml"))
        .unwrap()
}

/// Pieces that YAML and our keys are made of, so that random texts get past the first parser.
fn piece() -> impl Strategy<Value = String> {
    const WORDS: &[&str] = &[
        "gates",
        "security",
        "payments",
        "when",
        "any",
        "paths",
        "approvers",
        "users",
        "verify",
        "checks",
        "unit",
        "kind",
        "test",
        "run",
        "needs",
        "loop",
        "max_attempts",
        "labels",
        "off",
        "prefix",
        "fixer",
        "command",
        "null",
        "true",
        "3",
        "-1",
        "1.5",
        "60m",
        "mode",
        "hybrid",
        "<<",
        "&a",
        "*a",
        "policy",
        "locked",
        "evaluate",
        "rules",
    ];
    const MARKS: &[&str] = &[
        ": ", ":\n  ", ":\n    ", "\n", "\n  ", "\n    ", "- ", "{ ", " }", "[", "]", ", ", "'",
        "\"", "# ", "|\n", ">\n", "\t", "\r\n", "---\n", "? ", "!t ", "%", "@", "`", "\u{feff}",
        "\u{2028}", "\u{85}", "ü", "\0",
    ];
    prop_oneof![prop::sample::select(WORDS), prop::sample::select(MARKS)].prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn random_characters_are_answered(text in any::<String>()) {
        answered(&text);
    }

    #[test]
    fn random_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        match Source::from_bytes("f", &bytes) {
            Ok(source) => answered(source.text),
            Err(error) => prop_assert!(error.line >= 1 && error.column >= 1),
        }
    }

    #[test]
    fn random_pieces_of_configuration_are_answered(pieces in prop::collection::vec(piece(), 0..40)) {
        answered(&pieces.concat());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_example_with_slips_of_the_fingers_is_answered(
        slips in prop::collection::vec((any::<prop::sample::Index>(), 0..4_usize, piece()), 1..6),
    ) {
        let mut text: Vec<char> = example().chars().collect();
        for (place, cut, piece) in slips {
            let at = place.index(text.len());
            let end = (at + cut).min(text.len());
            text.splice(at..end, piece.chars());
        }
        answered(&text.into_iter().collect::<String>());
    }
}
