//! What texts are read as. Messages about texts that are refused are with the tests of the whole room.

use serde_json::{Value, json};

use super::*;

fn read_text(text: &str) -> Result<Value, String> {
    let node = read(Source::new("f", text), Layer::Repository);
    node.map(|node| node.to_json()).map_err(|problem| problem.to_string())
}

#[test]
fn texts_are_read_as_yaml_1_2_says() {
    for (text, expected) in [
        ("", json!({})),
        ("# nothing\n", json!({})),
        ("---\n", json!(null)),
        ("a:\nb: ~\nc: ''\n", json!({ "a": null, "b": null, "c": "" })),
        ("a: 0x1F\nb: '0x1F'\nc: \"\\x41\\n\"\n", json!({ "a": 31, "b": "0x1F", "c": "A\n" })),
        ("a: yes\nb: True\nc: off\n", json!({ "a": "yes", "b": true, "c": "off" })),
        ("a: b\n  c\n\n  d\n", json!({ "a": "b c\nd" })),
        ("a: http://x # y\nb: x#y\nc: [1, {d: e}]\n", json!({ "a": "http://x", "b": "x#y", "c": [1, { "d": "e" }] })),
        // Keys are words, whatever they look like.
        ("1: a\ntrue: b\n~: c\n", json!({ "1": "a", "true": "b", "~": "c" })),
        // Line ends, byte order mark, tabs between words.
        ("\u{feff}a: 1\r\nb: 2\r\n", json!({ "a": 1, "b": 2 })),
        ("a: 1\rb: 2", json!({ "a": 1, "b": 2 })),
        ("a: 1\t# x\n", json!({ "a": 1 })),
        // What older YAML took for line ends is none.
        ("a: b\u{2028}c\n# x\u{85}e: f\n", json!({ "a": "b\u{2028}c" })),
        // Anchors, aliases, merge keys: what is written here stands, else the first that is merged.
        ("a: &x [1]\nb: *x\nc: &y\nd: *y\n", json!({ "a": [1], "b": [1], "c": null, "d": null })),
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
    assert_eq!(read_text("a: |\n  x\nb: x"), Ok(json!({ "a": "x\n", "b": "x" })));
}

#[test]
fn what_means_nothing_here_is_refused() {
    for (text, message) in [
        ("a: 1\n---\nb: 2\n", "a second YAML document starts here"),
        ("a: !!str 1\n", "YAML tags (`!…`) mean nothing here"),
        ("a: 1\na: 2\n", "the key `a` is written twice"),
        ("a: 1\n'a': 2\n", "the key `a` is written twice"),
        ("a: &x [*x]\n", "this alias stands inside the value it refers to"),
        ("a: &x b\n*x : 1\n", "a key must be written out, not an alias"),
        ("? [a]\n: 1\n", "a key must be a word, not a list or a map"),
        ("a: { <<: 1 }\n", "`<<` takes an alias of a map, or a list of them"),
        ("a: 99999999999999999999\n", "this number is too large"),
        ("- a\n", "a configuration is keys with values"),
        ("a\n", "a configuration is keys with values"),
    ] {
        assert_eq!(read_text(text), Err(message.to_owned()), "{text:?}");
    }
}
