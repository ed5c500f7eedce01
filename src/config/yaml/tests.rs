//! What texts are read as. Messages about texts that are refused are with the tests of the whole room.

use serde_json::{Value, json};

use super::*;

fn read_text(text: &str) -> Result<Value, String> {
    let node = read(Source::new("f", text), Layer::Repository);
    node.map(|node| node.to_json())
        .map_err(|problem| problem.to_string())
}

#[test]
fn texts_are_read_as_yaml_1_2_says() {
    for (text, expected) in [
        ("", json!({})),
        ("# nothing\n", json!({})),
        ("---\n", json!(null)),
        (
            "a:\nb: ~\nc: ''\n",
            json!({ "a": null, "b": null, "c": "" }),
        ),
        (
            "a: 0x1F\nb: '0x1F'\nc: \"\\x41\\n\"\n",
            json!({ "a": "0x1F", "b": "0x1F", "c": "A\n" }),
        ),
        (
            "a: yes\nb: True\nc: off\n",
            json!({ "a": "yes", "b": true, "c": "off" }),
        ),
        ("a: b\n  c\n\n  d\n", json!({ "a": "b c\nd" })),
        (
            "a: http://x # y\nb: x#y\nc: [1, {d: e}]\n",
            json!({ "a": "http://x", "b": "x#y", "c": [1, { "d": "e" }] }),
        ),
        // Keys are words, whatever they look like.
        (
            "1: a\ntrue: b\n~: c\n",
            json!({ "1": "a", "true": "b", "~": "c" }),
        ),
        // Line ends, byte order mark, tabs between words.
        ("\u{feff}a: 1\r\nb: 2\r\n", json!({ "a": 1, "b": 2 })),
        ("a: 1\rb: 2", json!({ "a": 1, "b": 2 })),
        ("a: 1\t# x\n", json!({ "a": 1 })),
        // What older YAML took for line ends is none.
        (
            "a: b\u{2028}c\n# x\u{85}e: f\n",
            json!({ "a": "b\u{2028}c" }),
        ),
        // Anchors, aliases, merge keys: what is written here stands, else the first that is merged.
        (
            "a: &x [1]\nb: *x\nc: &y\nd: *y\n",
            json!({ "a": [1], "b": [1], "c": null, "d": null }),
        ),
        (
            "a: &x { k: 1, l: 2 }\nb: &y { k: 3, m: 4 }\nc: { <<: [*x, *y], l: 5 }\nd: { <<: *x }\n",
            json!({
                "a": { "k": 1, "l": 2 }, "b": { "k": 3, "m": 4 },
                "c": { "l": 5, "k": 1, "m": 4 }, "d": { "k": 1, "l": 2 },
            }),
        ),
    ] {
        assert_eq!(read_text(text), Ok(expected), "{text:?}");
    }
}

#[test]
fn block_scalars_end_as_they_are_written() {
    for (text, expected) in [
        ("a: |\n  x\n   y\n\n  z\n", "x\n y\n\nz\n"),
        ("a: >\n  x\n  y\n\n   z\n", "x y\n\n z\n"),
        ("a: |-\n  x\n", "x"),
        ("a: |+\n  x\n\n", "x\n\n"),
        ("a: |2\n   x\n", " x\n"),
        ("a: |\n  x\n# end", "x\n"),
        // A text that ends without a line break.
        ("a: |\n  x", "x"),
        ("a: >\n  x\n  y", "x y"),
        ("a: |+\n  x", "x"),
        ("a: |-\n  x", "x"),
        ("a: |\n  ü", "ü"),
        ("a: |\r\n  x\r\n  y", "x\ny"),
        ("a: |\n  x\n  ", "x\n"),
        ("a: |+\n  x\n  ", "x\n"),
        ("a: |+\n  x\n\n ", "x\n\n"),
        ("a: >+\n  ", ""),
        ("a: |\n  x  ", "x  "),
    ] {
        assert_eq!(read_text(text), Ok(json!({ "a": expected })), "{text:?}");
    }
    assert_eq!(
        read_text("a: |\n  x\nb: x"),
        Ok(json!({ "a": "x\n", "b": "x" }))
    );
}

#[test]
fn what_means_nothing_here_is_refused() {
    for (text, message) in [
        ("a: 1\n---\nb: 2\n", "a second YAML document starts here"),
        ("a: !!str 1\n", "YAML tags (`!…`) mean nothing here"),
        ("a: 1\na: 2\n", "the key `a` is written twice"),
        ("a: 1\n'a': 2\n", "the key `a` is written twice"),
        (
            "a: &x [*x]\n",
            "this alias stands inside the value it refers to",
        ),
        (
            "a: &x b\n*x : 1\n",
            "a key must be written out, not an alias",
        ),
        ("? [a]\n: 1\n", "a key must be a word, not a list or a map"),
        (
            "a: { <<: 1 }\n",
            "`<<` takes an alias of a map, or a list of them",
        ),
        ("a: 99999999999999999999\n", "this number is too large"),
        ("- a\n", "a configuration is keys with values"),
        ("a\n", "a configuration is keys with values"),
    ] {
        assert_eq!(read_text(text), Err(message.to_owned()), "{text:?}");
    }
}

#[test]
fn plain_words_are_what_they_look_like() {
    use Kind::{Bool, Float, Null, Whole};
    for (words, kind) in [
        (&["", "~", "null", "Null", "NULL"][..], Null),
        (&["true", "True", "TRUE"], Bool(true)),
        (&["false", "False", "FALSE"], Bool(false)),
        (&["7", "+7"], Whole(7)),
        (&["0", "-0", "+0"], Whole(0)),
        (&["-31"], Whole(-31)),
        (&["9223372036854775807"], Whole(i64::MAX)),
        (&["-9223372036854775808"], Whole(i64::MIN)),
        (
            &["1000.0", "1e3", "1E3", "+1e3", "1.e3", "1e+3"],
            Float(1000.0),
        ),
        (&["0.5", ".5", "+.5", "5e-1", "00.5"], Float(0.5)),
        (&["-0.5", "-.5"], Float(-0.5)),
        (&[".inf", ".Inf", ".INF", "+.inf"], Float(f64::INFINITY)),
        (&["-.inf", "-.Inf", "-.INF"], Float(f64::NEG_INFINITY)),
    ] {
        for word in words {
            assert_eq!(
                resolve(word, ScalarStyle::Plain),
                Some(kind.clone()),
                "{word}"
            );
        }
    }
    for word in [".nan", ".NaN", ".NAN"] {
        let number = resolve(word, ScalarStyle::Plain);
        assert!(
            matches!(number, Some(Float(number)) if number.is_nan()),
            "{word}: {number:?}"
        );
    }
}

#[test]
fn words_that_only_look_like_more_are_text() {
    for word in [
        "yes",
        "no",
        "on",
        "off",
        "y",
        "n",
        "nULL",
        "tRUE",
        "none",
        "nil",
        "1_000",
        "1,000",
        "0b11",
        "0o7",
        "0x1F",
        "-0x1f",
        "007",
        "-007",
        "+00",
        "1e400",
        "-1e400",
        "inf",
        "nan",
        "-.nan",
        ".iNF",
        "infinity",
        "+-1",
        "-+1",
        "--1",
        "+",
        "-",
        ".",
        "1.2.3",
        "12:30",
        "2026-01-02",
        "60m",
        "<<",
        "=",
        "٣",
    ] {
        assert_eq!(
            resolve(word, ScalarStyle::Plain),
            Some(Kind::Text(word.to_owned())),
            "{word}"
        );
    }
    for style in [
        ScalarStyle::SingleQuoted,
        ScalarStyle::DoubleQuoted,
        ScalarStyle::Literal,
        ScalarStyle::Folded,
    ] {
        for word in ["", "~", "true", "1", ".inf", "18446744073709551616"] {
            assert_eq!(
                resolve(word, style),
                Some(Kind::Text(word.to_owned())),
                "{word}"
            );
        }
    }
}

#[test]
fn whole_numbers_of_more_than_64_bits_are_refused() {
    for word in [
        "9223372036854775808",
        "18446744073709551616",
        "-9223372036854775809",
        "-170141183460469231731687303715884105728",
        "340282366920938463463374607431768211456",
    ] {
        assert_eq!(resolve(word, ScalarStyle::Plain), None, "{word}");
    }
}
