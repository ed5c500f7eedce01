//! Go: goroutine traces (function on one line, place on the next) and the lines that tests log.

use super::line::Line;

pub(super) const LINES: &[Line] = &[
    Line::function(
        r"^\s*(?:created by )?(?P<fun>[A-Za-z_][A-Za-z0-9_./~%-]*\.(?:\(\*?[A-Za-z0-9_.\[\]]+\)\.)?[A-Za-z0-9_.\[\]]+)(?:\([^()]*\)| in goroutine [0-9]+)$",
    ),
    Line::frame(r"^\s*(?P<file>(?:[A-Za-z]:)?[^\s:]+\.(?:go|s)):(?P<line>[0-9]+)(?: \+0x[0-9a-f]+)?$"),
    Line::frame(r"^\s+(?:Error Trace:\s+)?(?P<file>(?:[A-Za-z]:)?[^\s:]+\.go):(?P<line>[0-9]+)(?::(?: .*)?)?$"),
];

#[cfg(test)]
mod tests {
    use super::super::tests::shown;

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
            ("    cart_test.go:12: Total() = 20, want 30", "cart_test.go:12 - ours"),
            ("        \tError Trace:\t/home/runner/work/shop/shop/cart/cart_test.go:12", "cart/cart_test.go:12 - ours"),
        ];
        for (line, frame) in cases {
            assert_eq!(shown(line), [frame], "{line}");
        }
    }
}
