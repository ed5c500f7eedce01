//! What an evidence document costs in memory, counted before any of it is kept.
//!
//! A few bytes of JSON can stand for hundreds of bytes in memory (`{}` is a whole failure), so the size of a document
//! does not bound what reading it costs. One pass over its bytes weighs every value of it, and keeps nothing.

/// Bytes of the largest thing that an object stands for, with the room that a growing list leaves free.
const OBJECT: usize = 768;
/// Bytes of any other value: a text's header, its place in a list, and what the allocator rounds up.
const VALUE: usize = 64;

/// Where in a document a byte stands.
#[derive(Clone, Copy)]
enum Within {
    Nothing,
    Text,
    Escape,
    /// A number, a truth value or `null`.
    Word,
}

/// Bytes that the values of a document take at most once it is read. What is no JSON its reader reports.
pub(super) fn of(document: &[u8]) -> usize {
    let (mut cost, mut within) = (0, Within::Nothing);
    for byte in document {
        let (next, weight) = match (within, byte) {
            (Within::Text, b'"') => (Within::Nothing, 0),
            (Within::Text, b'\\') => (Within::Escape, 1),
            (Within::Text | Within::Escape, _) => (Within::Text, 1),
            (_, b'"') => (Within::Text, VALUE),
            (_, b'{') => (Within::Nothing, OBJECT),
            (_, b'[') => (Within::Nothing, VALUE),
            (_, b'}' | b']' | b',' | b':' | b' ' | b'\t' | b'\r' | b'\n') => (Within::Nothing, 0),
            (Within::Word, _) => (Within::Word, 0),
            (Within::Nothing, _) => (Within::Word, VALUE),
        };
        within = next;
        cost += weight;
    }
    cost
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_list_and_map_of_a_document_counts() {
        let many = |value: serde_json::Value| vec![value; 10_000];
        let files: serde_json::Map<_, _> =
            (0..10_000).map(|n| (n.to_string(), json!({}))).collect();
        for (document, least) in [
            (
                json!({ "checks": [{ "failures": many(json!({})) }] }),
                10_000 * OBJECT,
            ),
            (
                json!({ "checks": [{ "flaky_tests": many(json!("")) }] }),
                10_000 * VALUE,
            ),
            (
                json!({ "coverage": { "unmeasured": many(json!("ab")) } }),
                10_000 * (VALUE + 2),
            ),
            (
                json!({ "coverage": { "files": files } }),
                10_000 * (OBJECT + VALUE),
            ),
            (
                json!({ "regression_proof": { "tests": many(json!({})) } }),
                10_000 * OBJECT,
            ),
            (
                json!({ "unknown": many(json!([1, -1, 0.5, true, null])) }),
                10_000 * 6 * VALUE,
            ),
        ] {
            let cost = of(document.to_string().as_bytes());
            assert!(
                (least..least + 60_000).contains(&cost),
                "{cost} against {least}"
            );
        }
    }

    #[test]
    fn what_stands_in_a_text_is_no_value() {
        for (text, cost) in [
            ("", 0),
            ("nonsense", VALUE),
            (r#""[{,:}]""#, VALUE + 6),
            (r#"["\"",null]"#, 3 * VALUE + 2),
        ] {
            assert_eq!(of(text.as_bytes()), cost, "{text}");
        }
    }
}
