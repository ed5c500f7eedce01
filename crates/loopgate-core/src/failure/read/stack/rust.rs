//! Rust: panics of either wording, backtraces, and the arrows of compiler messages.

use super::line::Line;

pub(super) const LINES: &[Line] = &[
    Line::frame(
        r"^\s*thread '.*?' (?:\([0-9]+\) )?panicked at (?:'.*', )?(?P<file>(?:[A-Za-z]:)?[^:'\s]+):(?P<line>[0-9]+):(?P<col>[0-9]+):?$",
    ),
    Line::function(r"^\s*[0-9]+:\s+(?:0x[0-9a-f]+ - )?(?P<fun>[A-Za-z_<{].*)$"),
    Line::frame(r"^\s+at (?P<file>(?:[A-Za-z]:)?[^:()]+\.rs):(?P<line>[0-9]+)(?::(?P<col>[0-9]+))?$"),
    Line::frame(r"^\s*--> (?P<file>(?:[A-Za-z]:)?[^:]+):(?P<line>[0-9]+):(?P<col>[0-9]+)$"),
    Line::frame(r"^Diff in (?P<file>(?:[A-Za-z]:)?[^:]+?)(?:at line |:)(?P<line>[0-9]+):?$"),
];

#[cfg(test)]
mod tests {
    use super::super::tests::shown;

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
            (r"thread 'main' panicked at src\main.rs:3:5:", "src/main.rs:3:5 - ours"),
            ("  --> crates/core/src/lib.rs:4:5", "crates/core/src/lib.rs:4:5 - ours"),
            ("Diff in /home/runner/work/w/w/src/a.rs:7:", "src/a.rs:7 - ours"),
        ];
        for (line, frame) in cases {
            assert_eq!(shown(line), [frame], "{line}");
        }
    }
}
