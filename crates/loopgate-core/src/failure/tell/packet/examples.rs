//! Packets as their receivers get them, one per kind of failure that comes most often: as text and as JSON. Read them
//! as a tired person would before accepting a change: what is wrong, where, what to do, and why must be there at once.

use std::collections::BTreeMap;

use super::*;
use crate::{
    evidence::{CheckEvidence, CheckKind, Failure, Outcome},
    failure::read::{ChangedFile, Changes},
};

/// The packet for one failing check of a pull request that changes the cart.
fn packet(command: &str, evidence: CheckEvidence) -> String {
    let file = |path: &str| ChangedFile { path: path.to_owned(), added: vec![5..=9] };
    let changes = Changes::new(["src/cart.js", "src/cart.rs", "src/cart.ts", "shop/cart.py"].map(file));
    let check = FailingCheck { evidence: &evidence, framework: None, command: Some(command), directory: None };
    let packet = FeedbackPacket::build(&PacketInput {
        attempt: 1,
        max_attempts: 3,
        checks: &[check],
        changes: &changes,
        comparison: None,
        since_last: None,
        tried: Vec::new(),
        past: &BTreeMap::new(),
        full_text: Some("https://github.com/acme/shop/actions/runs/1".into()),
    });
    let json = serde_json::to_string_pretty(&packet).unwrap();
    assert!(json.len() <= MAX_PACKET);
    format!("{packet}\n{json}")
}

fn failed(name: &str, kind: CheckKind, failure: Failure) -> CheckEvidence {
    CheckEvidence { failures: vec![failure], ..CheckEvidence::bare(name.parse().unwrap(), kind, Outcome::Failed) }
}

macro_rules! shown {
    ($name:literal, $packet:expr) => {
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!($name, $packet)
        })
    };
}

#[test]
fn an_assertion() {
    let failure = Failure {
        test_name: Some("cart > adds with discount".into()),
        test_file: Some("test/cart.test.js".into()),
        error_message: "Error: expect(received).toBe(expected) // Object.is equality\n\nExpected: 270\nReceived: 0".into(),
        stack_trace: Some(
            "    at Object.toBe (/home/runner/work/shop/shop/test/cart.test.js:8:35)\n    at Promise.finally.completed (/home/runner/work/shop/shop/node_modules/jest-circus/build/jestAdapterInit.js:1834:28)\n    at new Promise (<anonymous>)\n    at callAsyncCircusFn (/home/runner/work/shop/shop/node_modules/jest-circus/build/jestAdapterInit.js:1774:10)\n    at _callCircusTest (/home/runner/work/shop/shop/node_modules/jest-circus/build/jestAdapterInit.js:1167:40)\n    at runTest (/home/runner/work/shop/shop/node_modules/jest-runner/build/index.js:315:7)"
                .into(),
        ),
        ..Failure::default()
    };
    let command = r#"npm run test -- --json --outputFile="$LOOPGATE_REPORTS/jest.json""#;
    shown!("packet_assertion", packet(command, failed("test", CheckKind::Test, failure)));
}

#[test]
fn a_null_access() {
    let failure = Failure {
        test_name: Some("cart > names its owner".into()),
        test_file: Some("test/cart.test.ts".into()),
        error_class: Some("TypeError".into()),
        error_message: "Cannot read properties of undefined (reading 'name')".into(),
        stack_trace: Some(
            "TypeError: Cannot read properties of undefined (reading 'name')\n ❯ owner src/cart.ts:8:22\n ❯ test/cart.test.ts:12:12"
                .into(),
        ),
        ..Failure::default()
    };
    shown!("packet_null_access", packet("npx vitest run", failed("test", CheckKind::Test, failure)));
}

#[test]
fn a_compile_error() {
    let failure = Failure {
        error_message: "mismatched types\nexpected `u64`, found `Option<u64>`".into(),
        error_class: Some("E0308".into()),
        error_type: crate::evidence::ErrorType::CompileError,
        stack_trace: Some(
            "error[E0308]: mismatched types\n --> src/cart.rs:9:5\n  |\n5 | pub fn first(prices: &[u64]) -> u64 {\n  |                                 --- expected `u64` because of return type\n...\n9 |     prices.first().copied()\n  |     ^^^^^^^^^^^^^^^^^^^^^^^ expected `u64`, found `Option<u64>`\n  |\n  = note: expected type `u64`\n             found enum `Option<u64>`\nhelp: consider using `Option::expect` to unwrap the `Option<u64>` value, panicking if the value is an `Option::None`\n  |\n9 |     prices.first().copied().expect(\"REASON\")\n  |                            +++++++++++++++++"
                .into(),
        ),
        ..Failure::default()
    };
    shown!("packet_compile_error", packet("cargo build", failed("build", CheckKind::Build, failure)));
}

#[test]
fn a_missing_module() {
    let failure = Failure {
        test_file: Some("test/broken.test.js".into()),
        error_message: "Cannot find module '../src/carts' from 'test/broken.test.js'\n\n> 1 | const missing = require('../src/carts');\n    |                 ^\n  2 | test('never runs', () => {});".into(),
        stack_trace: Some(
            "  at Resolver._throwModNotFoundError (node_modules/jest-resolve/build/index.js:1031:11)\n  at Object.require (test/broken.test.js:1:17)"
                .into(),
        ),
        ..Failure::default()
    };
    shown!("packet_missing_module", packet("npx jest", failed("test", CheckKind::Test, failure)));
}

#[test]
fn a_timeout() {
    let evidence = CheckEvidence {
        duration_ms: 120_400,
        log_tail: "test_checkout (cart.tests.CheckoutTests.test_checkout) ... ok\ntest_waits (cart.tests.CheckoutTests.test_waits) ... ".into(),
        ..CheckEvidence::bare("test".parse().unwrap(), CheckKind::Test, Outcome::TimedOut)
    };
    shown!("packet_timeout", packet("python manage.py test -v 2", evidence));
}

#[test]
fn a_panic_in_a_dependency() {
    let failure = Failure {
        test_name: Some("cart::tests::parses_saved_carts".into()),
        error_class: Some("panic".into()),
        error_message: "range end out of bounds: 9 <= 4".into(),
        stack_trace: Some(
            "thread 'cart::tests::parses_saved_carts' panicked at /home/runner/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/bytes-1.6.0/src/bytes.rs:396:9:\nrange end out of bounds: 9 <= 4\nstack backtrace:\n   0: rust_begin_unwind\n             at /rustc/59807616e/library/std/src/panicking.rs:689:5\n   1: core::panicking::panic_fmt\n             at /rustc/59807616e/library/core/src/panicking.rs:80:14\n   2: bytes::bytes::Bytes::slice\n             at /home/runner/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/bytes-1.6.0/src/bytes.rs:396:9\n   3: shop::cart::Cart::parse\n             at ./src/cart.rs:7:20\n   4: shop::cart::tests::parses_saved_carts\n             at ./src/cart.rs:60:9"
                .into(),
        ),
        ..Failure::default()
    };
    shown!("packet_panic_in_a_dependency", packet("cargo test", failed("test", CheckKind::Test, failure)));
}

#[test]
fn a_lint_error() {
    let failure = Failure {
        error_type: crate::evidence::ErrorType::LintError,
        error_class: Some("F401".into()),
        error_message: "`os` imported but unused".into(),
        source: Some(crate::evidence::SourceLocation { file: "shop/cart.py".into(), line: Some(5), function: None }),
        ..Failure::default()
    };
    let command = "python -m ruff check --output-format=concise";
    shown!("packet_lint_error", packet(command, failed("lint", CheckKind::Lint, failure)));
}
