//! What is read of the places that tools name.

use super::*;

/// The frames of a trace or diagnostic, innermost first, the cause of a chain before what it caused.
fn frames(trace: &str, changes: &Changes) -> Vec<Frame> {
    located(&printed(&text::clean(trace)), changes)
}

/// `file:line:column function origin` of each frame, as the languages' tables write them.
pub(in crate::failure) fn shown(trace: &str) -> Vec<String> {
    frames(trace, &Changes::default())
        .iter()
        .map(|frame| {
            let number = |n: Option<u32>| n.map_or(String::new(), |n| format!(":{n}"));
            let origin = match frame.origin {
                FrameOrigin::Changed | FrameOrigin::Repository => "ours",
                FrameOrigin::Dependency => "dependency",
                FrameOrigin::Toolchain => "toolchain",
            };
            let function = frame.function.as_deref().unwrap_or("-");
            format!(
                "{}{}{} {function} {origin}",
                frame.file,
                number(frame.line),
                number(frame.column)
            )
        })
        .collect()
}

#[test]
fn places_of_tools_that_are_not_known_stand_beside_what_failed() {
    let cases = [
        (
            "# Failure message: spec/cart_spec.lua:5: attempt to compare nil, expected a number",
            "spec/cart_spec.lua:5 - ours",
        ),
        (
            "Feature: Carts # features/cart.feature:1\n\n  When one is added # features/cart.feature:8\n    ASSERT FAILED: total is 3",
            "features/cart.feature:8 - ours",
        ),
        (
            "error while reading lib/cart.rb, line 12",
            "lib/cart.rb:12 - ours",
        ),
        (
            "ERROR:tests/cart.c:4:test_sums: assertion failed",
            "tests/cart.c:4 - ours",
        ),
        ("     # spec/cart_spec.cr:7", "spec/cart_spec.cr:7 - ours"),
    ];
    for (text, frame) in cases {
        assert_eq!(shown(text), [frame], "{text}");
    }
    for text in [
        "could not reach registry.example.com:443",
        "see lib/cart.rb:9 for an example",
        "error in cart.lock:3",
        "warning: lib/cart.rb:9 is deprecated, an error in the next version",
    ] {
        assert!(shown(text).is_empty(), "{text}");
    }
}

#[test]
fn what_a_server_of_the_internet_sent_is_no_file_of_the_repository() {
    let cases = [
        (
            "    at assertEquals (https://jsr.io/@std/assert/1.0.13/equals.ts:64:9)",
            "dependency",
        ),
        (
            "    at https://deno.land/std@0.224.0/assert/assert.ts:7:9",
            "dependency",
        ),
        ("assert@https://esm.sh/chai@5/chai.js:3:4", "dependency"),
        ("    at webpack://shop/webpack/bootstrap:19:1", "toolchain"),
        (
            "    at Module._compile (internal/modules/cjs/loader.js:1063:30)",
            "toolchain",
        ),
        ("    at internal/main/run_main_module.js:17:47", "toolchain"),
        ("    at node:internal/process/task_queues:95:5", "toolchain"),
        (
            "    at file:///home/runner/work/s/s/cart_test.ts:4:3",
            "ours",
        ),
        ("    at add (http://localhost:5173/src/cart.ts:4:3)", "ours"),
        ("    at add (webpack://shop/./src/cart.ts:4:3)", "ours"),
    ];
    for (line, origin) in cases {
        let found = shown(line);
        assert!(
            found.len() == 1 && found[0].ends_with(origin),
            "{line}: {found:?}"
        );
    }
    assert!(
        shown("error: could not load https://jsr.io/@std/assert/1.0.13/equals.ts:64:9").is_empty()
    );
}

#[test]
fn the_last_cause_comes_first() {
    let trace = "java.lang.IllegalStateException: start\n\tat com.acme.App.run(App.java:10)\n\
                 Caused by: java.io.IOException: disk\n\tat com.acme.Disk.read(Disk.java:3)\n\t... 1 more";
    assert_eq!(
        shown(trace),
        [
            "com/acme/Disk.java:3 com.acme.Disk.read ours",
            "com/acme/App.java:10 com.acme.App.run ours"
        ]
    );
}

#[test]
fn functions_are_tidied() {
    let cases = [
        (
            "core::option::unwrap_failed::h0123456789abcdef",
            Some("core::option::unwrap_failed"),
        ),
        ("tests::adds::{{closure}}", Some("tests::adds")),
        ("Object.<anonymous>", None),
        ("async Calc.add [as plus]", Some("Calc.add")),
        ("foo(int, char const*) const", Some("foo")),
        (
            "acme/pkg.(*Server).Run(0xc00001, {0x1, 0x2})",
            Some("acme/pkg.(*Server).Run(0xc00001, {0x1, 0x2})"),
        ),
        ("block (3 levels) in <top (required)>", None),
        ("<module>", None),
    ];
    for (printed, name) in cases {
        assert_eq!(tidy_function(printed).as_deref(), name, "{printed}");
    }
}

#[test]
fn hostile_traces_are_bounded() {
    let line = "    at f (/srv/w/src/a.js:1:2)\n".replace('1', "99999999999999999999");
    assert!(shown(&line.repeat(100_000)).len() <= MAX_FRAMES);
    let many: String = (1..100_000)
        .map(|n| format!("    at f (/srv/w/src/a.js:{n}:2)\n"))
        .collect();
    assert_eq!(shown(&many).len(), MAX_FRAMES);
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text in "[ -~\\n\u{e9}]{0,400}") {
        shown(&text);
    }
}

mod rust {
    use super::shown;

    #[test]
    fn panic_with_backtrace() {
        let trace = "\
thread 'cart::tests::total_counts_every_line' (41207) panicked at src/price.rs:31:18:
called `Option::unwrap()` on a `None` value
stack backtrace:
   0: __rustc::rust_begin_unwind
             at /rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/std/src/panicking.rs:689:5
   1: core::panicking::panic_fmt
             at /rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/core/src/panicking.rs:80:14
   2: core::option::unwrap_failed
   3: widgets::price::lookup::{{closure}}
             at ./src/price.rs:31:18
   4: widgets::cart::Cart::total
             at ./src/cart.rs:12:9
   5: widgets::cart::tests::total_counts_every_line
             at ./src/cart.rs:40:25
note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.";
        assert_eq!(
            shown(trace),
            [
                "src/price.rs:31:18 widgets::price::lookup ours",
                "/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/std/src/panicking.rs:689:5 \
                 __rustc::rust_begin_unwind toolchain",
                "/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/core/src/panicking.rs:80:14 \
                 core::panicking::panic_fmt toolchain",
                "src/cart.rs:12:9 widgets::cart::Cart::total ours",
                "src/cart.rs:40:25 widgets::cart::tests::total_counts_every_line ours",
            ]
        );
    }

    #[test]
    fn single_lines() {
        let cases = [
            (
                "thread 'adds' panicked at 'assertion failed: `(left == right)`', src/lib.rs:10:9",
                "src/lib.rs:10:9 - ours",
            ),
            (
                r"thread 'main' panicked at src\main.rs:3:5:",
                "src/main.rs:3:5 - ours",
            ),
            (
                "  --> crates/core/src/lib.rs:4:5",
                "crates/core/src/lib.rs:4:5 - ours",
            ),
            (
                "Diff in /home/runner/work/w/w/src/a.rs:7:",
                "src/a.rs:7 - ours",
            ),
        ];
        for (line, frame) in cases {
            assert_eq!(shown(line), [frame], "{line}");
        }
    }
}

mod python {
    use super::shown;

    #[test]
    fn tracebacks_end_with_the_innermost_frame() {
        let trace = r#"Traceback (most recent call last):
  File "/opt/hostedtoolcache/Python/3.12.4/x64/lib/python3.12/unittest/case.py", line 58, in testPartExecutor
    yield
  File "/home/runner/work/shop/shop/tests/test_cart.py", line 21, in test_total
    self.assertEqual(cart.total(), 30)
  File "/home/runner/work/shop/shop/shop/cart.py", line 9, in total
    return sum(line.price for line in self.lines)
  File "/home/runner/work/shop/shop/shop/cart.py", line 9, in <genexpr>
    return sum(line.price for line in self.lines)
               ^^^^^^^^^^
AttributeError: 'NoneType' object has no attribute 'price'"#;
        assert_eq!(
            shown(trace),
            [
                "shop/cart.py:9 total ours",
                "tests/test_cart.py:21 test_total ours",
                "/opt/hostedtoolcache/Python/3.12.4/x64/lib/python3.12/unittest/case.py:58 testPartExecutor toolchain",
            ]
        );
    }

    #[test]
    fn pytest_long_and_short() {
        let long = "\
    def test_total():
        cart = Cart([Line(None)])
>       assert cart.total() == 30

tests/test_cart.py:8:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _

self = <shop.cart.Cart object at 0x7f1f2c0b5d30>

    def total(self):
>       return sum(line.price for line in self.lines)
E       AttributeError: 'NoneType' object has no attribute 'price'

shop/cart.py:9: AttributeError";
        assert_eq!(
            shown(long),
            [
                "shop/cart.py:9 total ours",
                "tests/test_cart.py:8 test_total ours"
            ]
        );
        let short = "tests/test_cart.py:8: in test_total\n    assert cart.total() == 30\nshop/cart.py:9: in total\n    return 1\nE   X";
        assert_eq!(
            shown(short),
            [
                "shop/cart.py:9 total ours",
                "tests/test_cart.py:8 test_total ours"
            ]
        );
    }
}

mod dotnet {
    use super::shown;

    #[test]
    fn xunit_on_windows_and_linux() {
        let trace = r"Xunit.Sdk.EqualException : Assert.Equal() Failure: Values differ
Expected: 30
Actual:   20
   at Shop.Tests.CartTests.Total() in D:\a\shop\shop\test\CartTests.cs:line 14
   at System.RuntimeMethodHandle.InvokeMethod(Object target, Void** arguments, Signature sig, Boolean isConstructor)
   at System.Reflection.MethodBaseInvoker.InvokeWithNoArgs(Object obj, BindingFlags invokeAttr)
   at Shop.Cart.<Sum>b__0(Line line) in /home/runner/work/shop/shop/src/Cart.cs:line 9";
        assert_eq!(
            shown(trace),
            [
                "test/CartTests.cs:14 Shop.Tests.CartTests.Total ours",
                "src/Cart.cs:9 Shop.Cart.<Sum>b__0 ours"
            ]
        );
    }
}

mod jvm {

    use super::{Changes, FrameOrigin, frames, shown};

    const TRACE: &str = "\
org.opentest4j.AssertionFailedError: expected: <30> but was: <20>
\tat org.junit.jupiter.api.AssertionFailureBuilder.build(AssertionFailureBuilder.java:151)
\tat app//org.junit.jupiter.api.Assertions.assertEquals(Assertions.java:531)
\tat com.acme.shop.CartTest.total(CartTest.java:17)
\tat com.acme.shop.CartKt$total$1.invoke(Cart.kt:9)
\tat java.base/java.lang.reflect.Method.invoke(Method.java:580)
\tat java.base/jdk.internal.reflect.DirectMethodHandleAccessor.invoke(Unknown Source)";

    #[test]
    fn java_and_kotlin() {
        assert_eq!(
            shown(TRACE),
            [
                ".m2/org/junit/jupiter/api/AssertionFailureBuilder.java:151 \
                 org.junit.jupiter.api.AssertionFailureBuilder.build dependency",
                ".m2/org/junit/jupiter/api/Assertions.java:531 org.junit.jupiter.api.Assertions.assertEquals dependency",
                "com/acme/shop/CartTest.java:17 com.acme.shop.CartTest.total ours",
                "com/acme/shop/Cart.kt:9 com.acme.shop.CartKt$total$1.invoke ours",
                "<internal:jvm>/java/lang/reflect/Method.java:580 java.lang.reflect.Method.invoke toolchain",
            ]
        );
    }

    #[test]
    fn classes_are_found_below_the_source_directory() {
        let path = "app/src/test/java/com/acme/shop/CartTest.java";
        let changes = Changes::new([(path.to_owned(), [].into())]);
        let frames = frames(TRACE, &changes);
        assert!(
            frames
                .iter()
                .any(|frame| frame.file == path && frame.origin == FrameOrigin::Changed)
        );
    }
}

mod go {
    use super::shown;

    #[test]
    fn a_panicking_test() {
        let trace = "\
panic: runtime error: index out of range [3] with length 3 [recovered]

goroutine 7 [running]:
testing.tRunner.func1.2({0x5165e0, 0xc0000182d0})
\t/usr/local/go/src/testing/testing.go:1631 +0x24a
panic({0x5165e0?, 0xc0000182d0?})
\t/usr/local/go/src/runtime/panic.go:770 +0x132
github.com/acme/shop/cart.(*Cart).Last(...)
\t/home/runner/work/shop/shop/cart/cart.go:21
github.com/acme/shop/cart.TestLast(0xc0000b6ea0)
\t/home/runner/work/shop/shop/cart/cart_test.go:12 +0x5a
created by testing.(*T).Run in goroutine 1
\t/usr/local/go/src/testing/testing.go:1742 +0x390";
        assert_eq!(
            shown(trace),
            [
                "/usr/local/go/src/testing/testing.go:1631 testing.tRunner.func1.2 toolchain",
                "/usr/local/go/src/runtime/panic.go:770 - toolchain",
                "cart/cart.go:21 github.com/acme/shop/cart.(*Cart).Last ours",
                "cart/cart_test.go:12 github.com/acme/shop/cart.TestLast ours",
                "/usr/local/go/src/testing/testing.go:1742 testing.(*T).Run toolchain",
            ]
        );
    }

    #[test]
    fn logged_by_a_test() {
        let cases = [
            (
                "    cart_test.go:12: Total() = 20, want 30",
                "cart_test.go:12 - ours",
            ),
            (
                "        \tError Trace:\t/home/runner/work/shop/shop/cart/cart_test.go:12",
                "cart/cart_test.go:12 - ours",
            ),
        ];
        for (line, frame) in cases {
            assert_eq!(shown(line), [frame], "{line}");
        }
    }
}

mod php {
    use super::shown;

    #[test]
    fn an_uncaught_error() {
        let trace = "\
PHP Fatal error:  Uncaught Error: Call to a member function price() on null in /app/src/Cart.php:14
Stack trace:
#0 /app/src/Checkout.php(8): Acme\\Cart->total()
#1 /app/tests/CheckoutTest.php(21): Acme\\Checkout->pay(Object(Acme\\Cart))
#2 /app/vendor/phpunit/phpunit/src/Framework/TestCase.php(1162): Acme\\CheckoutTest->testPay()
#3 {main}
  thrown in /app/src/Cart.php on line 14";
        assert_eq!(
            shown(trace),
            [
                "src/Cart.php:14 Acme\\Cart->total ours",
                "src/Checkout.php:8 Acme\\Checkout->pay ours",
                "tests/CheckoutTest.php:21 Acme\\CheckoutTest->testPay ours",
                "/app/vendor/phpunit/phpunit/src/Framework/TestCase.php:1162 - dependency",
            ]
        );
    }

    #[test]
    fn phpunit_lists_places() {
        let trace = "Failed asserting that 20 matches expected 30.\n\n/home/runner/work/shop/shop/tests/CartTest.php:17\n";
        assert_eq!(shown(trace), ["tests/CartTest.php:17 - ours"]);
    }
}

mod ruby {
    use super::shown;

    #[test]
    fn rspec_minitest_and_plain() {
        let rspec = "\
     NoMethodError:
       undefined method `price' for nil:NilClass
     # ./lib/cart.rb:9:in `block in total'
     # ./lib/cart.rb:8:in `each'
     # ./spec/cart_spec.rb:12:in `block (3 levels) in <top (required)>'
     # /usr/local/bundle/gems/rspec-core-3.13.0/lib/rspec/core/example.rb:263:in 'BasicObject#instance_exec'";
        assert_eq!(
            shown(rspec),
            [
                "lib/cart.rb:9 total ours",
                "lib/cart.rb:8 each ours",
                "spec/cart_spec.rb:12 - ours",
                "/usr/local/bundle/gems/rspec-core-3.13.0/lib/rspec/core/example.rb:263 BasicObject#instance_exec dependency",
            ]
        );
        let minitest = "CartTest#test_total [test/cart_test.rb:17]:\nExpected: 30\n  Actual: 20";
        assert_eq!(
            shown(minitest),
            ["test/cart_test.rb:17 CartTest#test_total ours"]
        );
        let plain = "lib/cart.rb:9:in 'Cart#total': undefined method 'price' for nil (NoMethodError)\n\tfrom bin/shop:4:in '<main>'";
        assert_eq!(
            shown(plain),
            ["lib/cart.rb:9 Cart#total ours", "bin/shop:4 - ours"]
        );
    }
}

mod elixir {
    use super::shown;

    #[test]
    fn exunit() {
        let trace = "     stacktrace:\n       (shop 0.1.0) lib/shop.ex:5: Shop.total/1\n       test/shop_test.exs:10: (test)";
        assert_eq!(
            shown(trace),
            [
                "lib/shop.ex:5 Shop.total/1 ours",
                "test/shop_test.exs:10 - ours"
            ]
        );
    }
}

mod shell {
    use super::shown;

    #[test]
    fn bats_and_perl() {
        let bats = "# (from function `price' in file lib/price.bash, line 4,\n#  in test file test/cart.bats, line 3)\n#   `[ 1 -eq 2 ]' failed";
        assert_eq!(
            shown(bats),
            ["lib/price.bash:4 price ours", "test/cart.bats:3 - ours"]
        );
        let vendored = "# (from function `assert_equal' in file test/test_helper/bats-assert/src/assert_equal.bash, line 40,\n\
                        #  in test file test/cart.bats, line 7)";
        assert_eq!(
            shown(vendored),
            [
                "test/test_helper/bats-assert/src/assert_equal.bash:40 assert_equal dependency",
                "test/cart.bats:7 - ours"
            ]
        );
        let perl = "#   Failed test 'sums'\n#   at t/cart.t line 5.\n#          got: '3'\n#     expected: '4'";
        assert_eq!(shown(perl), ["t/cart.t:5 - ours"]);
        for (line, frame) in [
            (
                "at <ScriptBlock>, /home/runner/work/shop/shop/tests/Cart.Tests.ps1:9",
                "tests/Cart.Tests.ps1:9 - ours",
            ),
            (
                "at Get-Total, C:\\shop\\Cart.psm1: line 12",
                "C:/shop/Cart.psm1:12 Get-Total ours",
            ),
            (
                "release.sh: line 6: cosign: command not found",
                "release.sh:6 - ours",
            ),
            ("./release.sh: 6: cosign: not found", "release.sh:6 - ours"),
            ("In one.sh line 3:", "one.sh:3 - ours"),
        ] {
            assert_eq!(shown(line), [frame], "{line}");
        }
        assert_eq!(
            shown("Can't locate Shop.pm in @INC at lib/Cart.pm line 2."),
            ["lib/Cart.pm:2 - ours"]
        );
    }
}

mod swift {
    use super::shown;

    #[test]
    fn xctest_and_swift_testing() {
        let cases = [
            (
                "/Users/runner/work/Shop/Shop/Tests/CartTests.swift:17: error: -[ShopTests.CartTests testTotal] : \
                 XCTAssertEqual failed: (\"20\") is not equal to (\"30\")",
                "Tests/CartTests.swift:17 ShopTests.CartTests testTotal ours",
            ),
            (
                "/builds/acme/shop/Tests/CartTests.swift:17: error: CartTests.testTotal : XCTAssertTrue failed",
                "Tests/CartTests.swift:17 CartTests.testTotal ours",
            ),
            (
                "✘ Test total() recorded an issue at CartTests.swift:7:5: Expectation failed: (cart.total → 20) == 30",
                "CartTests.swift:7:5 - ours",
            ),
            (
                "Shop/Cart.swift:21: Fatal error: Unexpectedly found nil while unwrapping an Optional value",
                "Shop/Cart.swift:21 - ours",
            ),
        ];
        for (line, frame) in cases {
            assert_eq!(shown(line), [frame], "{line}");
        }
    }
}

mod native {
    use super::shown;

    #[test]
    fn sanitizer() {
        let trace = "\
==1234==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000014 at pc 0x5581 bp 0x7ffd sp 0x7ffc
READ of size 4 at 0x602000000014 thread T0
    #0 0x558152aa in shop::Cart::last(unsigned long) const /home/runner/work/shop/shop/src/cart.cpp:21:12
    #1 0x558152bb in main /home/runner/work/shop/shop/tests/cart_test.cpp:9:3
    #2 0x7f1b2c in __libc_start_call_main ../sysdeps/nptl/libc_start_call_main.h:58:16";
        assert_eq!(
            shown(trace),
            [
                "src/cart.cpp:21:12 shop::Cart::last ours",
                "tests/cart_test.cpp:9:3 main ours",
                "../sysdeps/nptl/libc_start_call_main.h:58:16 __libc_start_call_main toolchain",
            ]
        );
    }

    #[test]
    fn single_lines() {
        let cases = [
            (
                "#1  0x0000555555555151 in last (cart=0x0, n=3) at src/cart.c:21",
                "src/cart.c:21 last ours",
            ),
            ("#0  last (n=3) at src/cart.c:21", "src/cart.c:21 last ours"),
            (
                "  * frame #0: 0x0000000100003f58 shop`last(n=3) at cart.c:21:5",
                "cart.c:21:5 last ours",
            ),
            (
                "shop: src/cart.c:21: last: Assertion `n < size' failed.",
                "src/cart.c:21 last ours",
            ),
            (
                "/builds/acme/shop/tests/cart_test.cc:9: Failure",
                "tests/cart_test.cc:9 - ours",
            ),
        ];
        for (line, frame) in cases {
            assert_eq!(shown(line), [frame], "{line}");
        }
    }
}

mod javascript {
    use super::shown;

    #[test]
    fn v8() {
        let trace = "\
TypeError: Cannot read properties of undefined (reading 'price')
    at /home/runner/work/shop/shop/src/cart.ts:9:41
    at Array.reduce (<anonymous>)
    at Cart.total [as sum] (/home/runner/work/shop/shop/src/cart.ts:9:25)
    at async Object.<anonymous> (file:///home/runner/work/shop/shop/test/cart.test.ts:12:15)
    at runTest (/home/runner/work/shop/shop/node_modules/jest-circus/build/run.js:121:9)
    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)
    at eval (eval at run (/srv/a.js:1:2), <anonymous>:1:1)";
        assert_eq!(
            shown(trace),
            [
                "src/cart.ts:9:41 Cart.total ours",
                "test/cart.test.ts:12:15 - ours",
                "/home/runner/work/shop/shop/node_modules/jest-circus/build/run.js:121:9 runTest dependency",
                "node:internal/process/task_queues:95:5 process.processTicksAndRejections toolchain",
            ]
        );
    }

    #[test]
    fn browsers_bundlers_and_runners() {
        let cases = [
            (
                "total@http://localhost:5173/src/cart.ts?t=1700000000:9:41",
                "src/cart.ts:9:41 total ours",
            ),
            (
                "@webpack-internal:///./src/cart.ts:9:41",
                "src/cart.ts:9:41 - ours",
            ),
            (
                "    at total (webpack:///./src/cart.ts?1234:9:41)",
                "src/cart.ts:9:41 total ours",
            ),
            (
                " ❯ Cart.total src/cart.ts:9:41",
                "src/cart.ts:9:41 Cart.total ours",
            ),
            (
                " ❯ test/cart.test.ts:12:15",
                "test/cart.test.ts:12:15 - ours",
            ),
            (
                r"    at Cart.total (C:\shop\src\cart.js:9:41)",
                "C:/shop/src/cart.js:9:41 Cart.total ours",
            ),
            (
                "/home/runner/work/shop/shop/src/cart.js:9",
                "src/cart.js:9 - ours",
            ),
            (
                "      at Object.toBe (test/cart.test.js:4:48)",
                "test/cart.test.js:4:48 - ours",
            ),
            (
                "  › file://test/cart.test.mjs:9:4",
                "test/cart.test.mjs:9:4 - ours",
            ),
            (
                " ❯ Module.total src/cart.mjs:2:16",
                "src/cart.mjs:2:16 total ours",
            ),
        ];
        for (line, frame) in cases {
            assert_eq!(shown(line), [frame], "{line}");
        }
    }
}

mod compilers {
    use super::shown;

    #[test]
    fn places_of_diagnostics() {
        let cases = [
            (
                "src/cart.ts(9,41): error TS2339: Property 'price' does not exist on type 'Line'.",
                "src/cart.ts:9:41 - ours",
            ),
            (
                "src/cart.ts:9:41 - error TS2339: Property 'price' does not exist",
                "src/cart.ts:9:41 - ours",
            ),
            (
                "[ERROR] /home/runner/work/shop/shop/src/main/java/Cart.java:[9,41] cannot find symbol",
                "src/main/java/Cart.java:9:41 - ours",
            ),
            (
                "e: file:///builds/acme/shop/src/Cart.kt:9:41 Unresolved reference: price",
                "src/Cart.kt:9:41 - ours",
            ),
            (
                "e: /builds/acme/shop/src/Cart.kt: (9, 41): Unresolved reference: price",
                "src/Cart.kt:9:41 - ours",
            ),
            (
                "::error file=src/a.rs,line=9,col=41::boom",
                "src/a.rs:9:41 - ours",
            ),
            (
                "src/cart.c:9:41: error: 'price' undeclared",
                "src/cart.c:9:41 - ours",
            ),
            ("./cart.go:9:41: undefined: price", "cart.go:9:41 - ours"),
            (
                "shop/cart.py:9: error: Incompatible return value type  [return-value]",
                "shop/cart.py:9 - ours",
            ),
            (
                "shop/cart.py:1:8: F401 `os` imported but unused",
                "shop/cart.py:1:8 - ours",
            ),
            (
                "src/Cart.java:9: error: cannot find symbol",
                "src/Cart.java:9 - ours",
            ),
            (
                "vet: cart/cart.go:9:41: undeclared name: c",
                "cart/cart.go:9:41 - ours",
            ),
            ("would reformat shop/cart.py", "shop/cart.py - ours"),
            (
                "README.md:3:81 MD013/line-length Line length [Expected: 80; Actual: 120]",
                "README.md:3:81 - ours",
            ),
            (
                "Dockerfile:3 DL3008 warning: Pin versions in apt get install.",
                "Dockerfile:3 - ours",
            ),
            (
                "│   on main.tf line 3, in resource \"a\" \"b\":",
                "main.tf:3 - ours",
            ),
            (
                "CMake Error at src/CMakeLists.txt:12 (add_executable):",
                "src/CMakeLists.txt:12 - ours",
            ),
            (
                "  CMakeLists.txt:3 (find_package)",
                "CMakeLists.txt:3 - ours",
            ),
            (
                "  test/cart_test.dart 8:5  main.<fn>",
                "test/cart_test.dart:8:5 - ours",
            ),
            ("   ╭─[ main.js:2:23 ]", "main.js:2:23 - ours"),
            ("   ,-[src/cart.ts:2:23]", "src/cart.ts:2:23 - ours"),
            ("  ┌─ src/cart.nix:2:23", "src/cart.nix:2:23 - ours"),
            (
                "src/cart.cc:10:17:   required from here",
                "src/cart.cc:10:17 - ours",
            ),
            (
                "== [queries.sql] FAIL\nL:   3 | P:  30 |  PRS | Couldn't find closing bracket",
                "queries.sql:3:30 - ours",
            ),
            (
                "File \"main.ml\", line 7, characters 13-23:\n7 |   | World",
                "main.ml:7:13 - ours",
            ),
        ];
        for (line, frame) in cases {
            assert_eq!(shown(line), [frame], "{line}");
        }
        let eslint = "/home/runner/work/shop/shop/src/cart.ts\n  9:41  error  'tax' is assigned a value but never used  no-unused-vars\n";
        assert_eq!(shown(eslint), ["src/cart.ts:9:41 - ours"]);
    }

    #[test]
    fn prose_is_no_place() {
        assert!(
            shown("expected: 3\nFinished at 12:30:41\nsee https://example.com:8080/a\nratio 3:4")
                .is_empty()
        );
    }
}
