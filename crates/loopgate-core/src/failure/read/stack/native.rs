//! C and C++: debuggers and sanitizers, `assert`, GoogleTest and Catch2.

use super::line::Line;

pub(super) const LINES: &[Line] = &[
    // gdb `#1  0x0000555 in f (x=3) at a.c:12`, AddressSanitizer `#0 0x55 in f(int) /src/a.c:12:5`
    Line::frame(
        r"^\s*#[0-9]+\s+(?:0x[0-9a-f]+ in )?(?P<fun>[A-Za-z_~<].*?)(?: ?\(.*\))?(?: const)?(?: at)? (?P<file>(?:[A-Za-z]:)?[^\s:()]+\.[A-Za-z]+):(?P<line>[0-9]+)(?::(?P<col>[0-9]+))?$",
    ),
    // lldb
    Line::frame(
        r"^\s*\*?\s*frame #[0-9]+: 0x[0-9a-f]+ [^`]+`(?P<fun>[^(]+).* at (?P<file>[^\s:]+):(?P<line>[0-9]+)(?::(?P<col>[0-9]+))?",
    ),
    Line::frame(
        r"^(?:[^\s:]+: )?(?P<file>[^\s:]+\.(?:c|cc|cpp|cxx|h|hpp)):(?P<line>[0-9]+): (?P<fun>[^:]+(?:::[^:]+)*): Assertion `.*' failed",
    ),
    Line::frame(r"^(?P<file>(?:[A-Za-z]:)?[^\s:]+\.(?:cc|cpp|cxx|h|hpp)):(?P<line>[0-9]+): (?:Failure|FAILED:)$"),
];

#[cfg(test)]
mod tests {
    use super::super::tests::shown;

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
                "sysdeps/nptl/libc_start_call_main.h:58:16 __libc_start_call_main toolchain",
            ]
        );
    }

    #[test]
    fn single_lines() {
        let cases = [
            ("#1  0x0000555555555151 in last (cart=0x0, n=3) at src/cart.c:21", "src/cart.c:21 last ours"),
            ("#0  last (n=3) at src/cart.c:21", "src/cart.c:21 last ours"),
            ("  * frame #0: 0x0000000100003f58 shop`last(n=3) at cart.c:21:5", "cart.c:21:5 last ours"),
            ("shop: src/cart.c:21: last: Assertion `n < size' failed.", "src/cart.c:21 last ours"),
            ("/builds/acme/shop/tests/cart_test.cc:9: Failure", "tests/cart_test.cc:9 - ours"),
        ];
        for (line, frame) in cases {
            assert_eq!(shown(line), [frame], "{line}");
        }
    }
}
