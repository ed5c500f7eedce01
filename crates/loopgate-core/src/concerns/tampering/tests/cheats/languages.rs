//! The same cheats in each language of which little else is known: a test goes, one is kept from running, and what one
//! asserts is weaker or gone.

use super::*;

/// A file of tests, and in it a test to be taken, a text and what keeps its test from running, and an assertion with a
/// weaker one.
struct Sample {
    path: &'static str,
    text: &'static str,
    test: &'static str,
    skipped: (&'static str, &'static str),
    weaker: (&'static str, &'static str),
}

const SAMPLES: &[Sample] = &[
    Sample {
        path: "test/cart.jl",
        text: "using Test, Shop\n\n@testset \"adds\" begin\n    cart = Cart([1, 2])\n    @test total(cart) == 3\nend\n\n@testset \"refuses\" begin\n    @test_throws ArgumentError total(nothing)\nend\n",
        test: "@testset \"refuses\" begin\n    @test_throws ArgumentError total(nothing)\nend\n",
        skipped: ("@test total", "@test_skip total"),
        weaker: ("total(cart) == 3", "total(cart) > 0"),
    },
    Sample {
        path: "test/shop/cart_test.clj",
        text: "(ns shop.cart-test\n  (:require [clojure.test :refer [deftest is]]\n            [shop.cart :as cart]))\n\n(deftest adds\n  (is (= 3 (cart/total [1 2]))))\n\n(deftest refuses\n  (is (thrown? IllegalArgumentException (cart/total nil))))\n",
        test: "(deftest refuses\n  (is (thrown? IllegalArgumentException (cart/total nil))))\n",
        skipped: ("(deftest adds", "(deftest ^:kaocha/skip adds"),
        weaker: (
            "(is (= 3 (cart/total [1 2])))",
            "(is (pos? (cart/total [1 2])))",
        ),
    },
    Sample {
        path: "test/test_cart.ml",
        text: "let adds () =\n  Alcotest.(check int) \"sum\" 3 (Cart.total [ 1; 2 ])\n\nlet () =\n  Alcotest.run \"cart\"\n    [ ( \"total\",\n        [ Alcotest.test_case \"adds\" `Quick adds;\n          Alcotest.test_case \"refuses\" `Quick refuses\n        ] ) ]\n",
        test: "          Alcotest.test_case \"refuses\" `Quick refuses\n",
        skipped: ("let adds () =\n", "let adds () =\n  Alcotest.skip ();\n"),
        weaker: (
            "  Alcotest.(check int) \"sum\" 3 (Cart.total [ 1; 2 ])\n",
            "  ignore (Cart.total [ 1; 2 ])\n",
        ),
    },
    Sample {
        path: "src/cart.zig",
        text: "const std = @import(\"std\");\n\npub fn total(of: []const u32) u32 {\n    return sum(of);\n}\n\ntest \"adds\" {\n    try std.testing.expectEqual(3, total(&.{ 1, 2 }));\n}\n\ntest \"nothing\" {\n    try std.testing.expectEqual(0, total(&.{}));\n}\n",
        test: "test \"nothing\" {\n    try std.testing.expectEqual(0, total(&.{}));\n}\n",
        skipped: (
            "test \"adds\" {\n",
            "test \"adds\" {\n    if (true) return error.SkipZigTest;\n",
        ),
        weaker: (
            "expectEqual(3, total(&.{ 1, 2 }))",
            "expect(total(&.{ 1, 2 }) > 0)",
        ),
    },
    Sample {
        path: "tests/test_cart.nim",
        text: "import unittest, shop/cart\n\nsuite \"cart\":\n  test \"adds\":\n    check total(@[1, 2]) == 3\n\n  test \"refuses\":\n    expect ValueError:\n      discard total(@[-1])\n",
        test: "  test \"refuses\":\n    expect ValueError:\n      discard total(@[-1])\n",
        skipped: ("  test \"adds\":\n", "  test \"adds\":\n    skip()\n"),
        weaker: ("total(@[1, 2]) == 3", "total(@[1, 2]) > 0"),
    },
    Sample {
        path: "test/cart_tests.erl",
        text: "-module(cart_tests).\n-include_lib(\"eunit/include/eunit.hrl\").\n\nadds_test() ->\n    ?assertEqual(3, cart:total([1, 2])).\n\nrefuses_test() ->\n    ?assertError(badarg, cart:total(none)).\n",
        test: "refuses_test() ->\n    ?assertError(badarg, cart:total(none)).\n",
        skipped: (
            "    ?assertEqual(3, cart:total([1, 2])).\n",
            "    {skip, \"later\"}.\n",
        ),
        weaker: (
            "?assertEqual(3, cart:total([1, 2]))",
            "?assert(cart:total([1, 2]) > 0)",
        ),
    },
];

#[test]
fn cheats_are_held_in_each_language() {
    let mut wrong = Wrong::new();
    for Sample {
        path,
        text,
        test,
        skipped,
        weaker,
    } in SAMPLES
    {
        let changed = |from: &str, to: &str| [edit(path, text, from, to)];
        cheat(&mut wrong, path, &changed(test, ""), &[], "is removed");
        cheat(
            &mut wrong,
            "skipped",
            &changed(skipped.0, skipped.1),
            &[],
            "",
        );
        cheat(
            &mut wrong,
            path,
            &changed(weaker.0, weaker.1),
            &["adds", "adds_test"],
            "adds",
        );
    }
    nothing_wrong(&wrong);
}

#[test]
fn more_of_the_same_is_honest_in_each_language() {
    let mut wrong = Wrong::new();
    for Sample {
        path,
        text,
        test,
        weaker,
        ..
    } in SAMPLES
    {
        let stronger = text.replacen(weaker.0, weaker.1, 1);
        honest(&mut wrong, path, &[file(path, &stronger, text)], &[]);
        let fewer = text.replacen(test, "", 1);
        honest(&mut wrong, path, &[file(path, &fewer, text)], &[]);
    }
    nothing_wrong(&wrong);
}
