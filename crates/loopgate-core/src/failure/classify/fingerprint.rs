//! The fingerprint: what makes two failures the same error.
//!
//! The hash covers the error's class, its message without everything that differs between two runs or two machines,
//! and the file and function of the innermost frame of the repository's own code, never a line. Two assertions in
//! one test often differ in nothing but their values; where the tool shows the failing statement, its text keeps
//! them apart.

use sha2::{Digest as _, Sha256};

use super::normalise::{self, Quotes, tokens};
use crate::{
    Fingerprint,
    evidence::Failure,
    failure::read::{Reading, is_source_excerpt, is_trace_line, paths, text},
};

/// Hashed first, so that a change of these rules changes every fingerprint rather than some.
const RULES: &str = "loopgate/fingerprint/1";

/// The failure's fingerprint: the same for the same error in every run, on every machine, at every line.
pub fn fingerprint(failure: &Failure) -> Fingerprint {
    of_reading(failure, &Reading::of(failure))
}

/// The failure's message without everything that differs between two runs or two machines.
pub fn template(failure: &Failure) -> String {
    normalise::message(&Reading::of(failure))
}

/// The fingerprint of a reading. A pull request's files that are looked up in it make no difference: what is the same
/// error must not depend on what a push touched.
pub(in crate::failure) fn of_reading(failure: &Failure, reading: &Reading) -> Fingerprint {
    let (file, function) = place(failure, reading);
    // `java.lang.NullPointerException` and `NullPointerException` are one class.
    let simple_name = |class: &str| {
        let keeps_path =
            class.contains("clippy::") || class.starts_with('@') || class.contains('/');
        if keeps_path {
            class.to_owned()
        } else {
            class
                .rsplit(['.', ':', '\\'])
                .next()
                .unwrap_or(class)
                .to_owned()
        }
    };
    let parts = [
        RULES.to_owned(),
        reading
            .class
            .as_deref()
            .map_or_else(|| reading.error_type.as_str().to_owned(), simple_name),
        normalise::message(reading),
        // Wherever its tool ran.
        paths::last_two(file.trim_start_matches("../")).to_owned(),
        function,
        failing_statement(&reading.whole).unwrap_or_default(),
    ];
    let mut hash = Sha256::new();
    for part in &parts {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    let digest: [u8; 32] = hash.finalize().into();
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    Fingerprint::from_bytes(first)
}

/// File and function of the innermost own frame; the test's, where the trace names none.
fn place(failure: &Failure, reading: &Reading) -> (String, String) {
    let test = || {
        let name = text::one_line(failure.test_name.as_deref().unwrap_or_default(), 300);
        let name = without_case(&name);
        if name.contains(' ') {
            tokens(name, Quotes::AreNames)
        } else {
            last_segment(name)
        }
    };
    if let Some(frame) = &reading.top {
        let function = frame
            .function
            .as_deref()
            .map(last_segment)
            .unwrap_or_else(test);
        return (frame.file.clone(), function);
    }
    match (&failure.source, &failure.test_file) {
        (Some(source), _) => {
            let function = source
                .function
                .as_deref()
                .map(last_segment)
                .unwrap_or_else(test);
            (paths::tidy(&source.file), function)
        }
        (None, Some(file)) => (paths::tidy(file), test()),
        (None, None) => (String::new(), test()),
    }
}

/// `widgets::cart::tests::adds` and `cart::tests::adds` are one function: crate and package names come and go with
/// the way a trace is printed.
fn last_segment(function: &str) -> String {
    let function = function
        .split(['<', '('])
        .find(|part| !part.is_empty())
        .unwrap_or(function);
    let name = function
        .trim_end_matches(['.', ':', '#'])
        .rsplit(['.', ':', '#', '\\', '>', ' '])
        .next()
        .unwrap_or(function);
    // Lambdas of the JVM (`lambda$total$0`, `total$1`) are numbered in the order they are compiled.
    let name = name.trim_start_matches("lambda$");
    name.split('$')
        .find(|part| !part.is_empty())
        .unwrap_or(name)
        .to_owned()
}

/// A test's name without the parameters of one of its cases: `adds` of `adds[1-2]`.
pub(in crate::failure) fn without_case(name: &str) -> &str {
    name.split_once('[').map_or(name, |(before, _)| before)
}

/// The statement that failed, if the tool shows the line whole: Jest's `> 12 | code`, pytest's `>   code`.
fn failing_statement(whole: &str) -> Option<String> {
    let shown = whole.lines().find_map(|line| {
        let rest = line.trim_start().strip_prefix('>')?;
        let code = match rest.trim_start().split_once('|') {
            Some((number, code)) if number.trim().parse::<u32>().is_ok() => code,
            _ if rest.starts_with("   ") => rest,
            _ => return None,
        };
        Some(code.trim().trim_end_matches([';', ',']))
    })?;
    let depth =
        |open: &[char], close: &[char]| shown.matches(open).count() == shown.matches(close).count();
    // Half a statement would change with the formatting of the code.
    let is_whole =
        depth(&['(', '[', '{'], &[')', ']', '}']) && !shown.is_empty() && !is_source_excerpt(shown);
    (is_whole && !is_trace_line(shown)).then(|| tokens(shown, Quotes::ByContext).replace(' ', ""))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::evidence::ErrorType;

    fn failure(class: &str, message: &str, trace: &str) -> Failure {
        Failure {
            test_name: Some("cart::tests::total".to_owned()),
            error_class: Some(class.to_owned()),
            error_message: message.to_owned(),
            stack_trace: Some(trace.to_owned()),
            ..Failure::default()
        }
    }

    #[test]
    fn what_compilers_quote_are_names() {
        let of = |message: &str| {
            fingerprint(&failure(
                "E0425",
                message,
                "error[E0425]: x\n --> src/a.rs:4:5",
            ))
        };
        let typed = |message: &str| Failure {
            error_type: ErrorType::CompileError,
            ..failure("E0425", message, "")
        };
        assert_ne!(
            fingerprint(&typed("cannot find value `x`")),
            fingerprint(&typed("cannot find value `y`"))
        );
        assert_eq!(
            of("cannot find value `x` in this scope"),
            of("cannot find  value `x` in this scope")
        );
    }

    #[test]
    fn the_shown_statement_keeps_two_assertions_apart() {
        let trace = |line: &str| {
            format!(">       {line}\nE       assert 3 == 4\n\ntests/test_a.py:5: AssertionError")
        };
        let of =
            |line: &str| fingerprint(&failure("AssertionError", "assert 3 == 4", &trace(line)));
        assert_eq!(of("assert add(1, 2) == 4"), of("assert  add( 1,2 )==5"));
        assert_ne!(of("assert add(1, 2) == 4"), of("assert mul(1, 2) == 4"));
        // Half a statement does not count.
        assert_eq!(of("assert add("), of("assert mul("));
    }

    #[test]
    fn where_the_trace_names_no_function_the_test_does() {
        let at = |test: &str| {
            fingerprint(&Failure {
                test_name: Some(test.to_owned()),
                ..failure(
                    "panic",
                    "assertion failed",
                    "thread 'x' panicked at src/a.rs:3:5:",
                )
            })
        };
        assert_ne!(at("tests::adds"), at("tests::subtracts"));
        assert_eq!(at("test_a.py::adds[1-2]"), at("test_a.py::adds[3-4]"));
    }

    #[test]
    fn runner_and_laptop_agree() {
        let at = |root: &str| {
            fingerprint(&failure(
                "TypeError",
                "x is not a function",
                &format!("    at total ({root}src/cart.ts:9:4)"),
            ))
        };
        let first = at("/home/runner/work/shop/shop/");
        for root in [
            "/home/alice/dev/shop/",
            "file:///builds/acme/shop/",
            "./",
            "webpack-internal:///./",
            r"D:\a\shop\shop\",
        ] {
            assert_eq!(at(root), first, "{root}");
        }
    }

    fn noise() -> impl Strategy<Value = String> {
        prop_oneof![
            (0u64..u64::MAX).prop_map(|n| n.to_string()),
            (0u64..u64::MAX).prop_map(|n| format!("{n:#x}")),
            (0u32..100_000, "(ns|ms|s|seconds)")
                .prop_map(|(n, unit)| format!("{n}.{}{unit}", n % 10)),
            (any::<u128>()).prop_map(|n| uuid::Uuid::from_u128(n).to_string()),
            (0i64..4_000_000_000).prop_map(|s| chrono::DateTime::from_timestamp(s, 0)
                .expect("in range")
                .to_rfc3339()),
        ]
    }

    proptest! {
        #[test]
        fn noise_lines_and_formatting_keep_it(
            noises in proptest::array::uniform4(noise()), values in proptest::array::uniform2("[a-z ]{0,12}"),
            lines in proptest::array::uniform2(1u32..9_999), padding in "[ \t]{0,3}",
        ) {
            let [a, b, c, d] = noises;
            let [v, w] = values;
            let build = |id: &str, after: &str, value: &str, line: u32, pad: &str| failure(
                "ValueError",
                &format!("{pad}order {id}:{pad} expected \"{value}\" after {after}{pad}\n"),
                &format!("Traceback (most recent call last):\n  File \"/srv/shop/cart.py\", line {line}, in total\n    x\nValueError: y"),
            );
            prop_assert_eq!(
                fingerprint(&build(&a, &b, &v, lines[0], "")),
                fingerprint(&build(&c, &d, &w, lines[1], &padding))
            );
        }

        #[test]
        fn another_assertion_changes_it(
            one in "[a-z]{3,9}( [a-z]{3,9}){0,4}", other in "[a-z]{3,9}( [a-z]{3,9}){0,4}",
            function in "[a-z]{3,9}", other_function in "[a-z]{3,9}",
        ) {
            let trace = |f: &str| format!("    at {f} (/srv/shop/src/cart.ts:9:4)");
            let base = fingerprint(&failure("TypeError", &one, &trace(&function)));
            if one != other {
                prop_assert_ne!(base, fingerprint(&failure("TypeError", &other, &trace(&function))));
            }
            if function != other_function {
                prop_assert_ne!(base, fingerprint(&failure("TypeError", &one, &trace(&other_function))));
            }
            prop_assert_ne!(base, fingerprint(&failure("RangeError", &one, &trace(&function))));
        }

        #[test]
        fn any_text_has_one(message in any::<String>(), trace in any::<String>()) {
            let failure = failure("Error", &message, &trace);
            prop_assert_eq!(fingerprint(&failure), fingerprint(&failure.clone()));
        }
    }
}
