//! Places that compilers, type checkers and linters name: the forms most tools share.

use super::line::{Line, Order, Says};

pub(super) const LINES: &[Line] = &[
    // tsc and the C# compiler; D, Nim
    Line::frame(
        r"^\s*(?P<file>(?:[A-Za-z]:)?[^\s():]+)\((?P<line>[0-9]+)(?:, ?(?P<col>[0-9]+))?\):? (?:fatal )?(?i:error|warning|check failed)\b",
    ),
    // Maven
    Line::frame(r"^\[(?:ERROR|WARNING)\] (?P<file>(?:[A-Za-z]:)?[^\s:]+):\[(?P<line>[0-9]+),(?P<col>[0-9]+)\]"),
    // kotlinc
    Line::frame(
        r"^[ew]: (?P<file>(?:file://)?(?:[A-Za-z]:)?[^\s:]+\.kts?):? ?\(?(?P<line>[0-9]+)[:,] ?(?P<col>[0-9]+)",
    ),
    // GitHub annotations
    Line::frame(
        r"^::(?:error|warning|notice) (?:.*,)?file=(?P<file>[^,:]+)(?:,line=(?P<line>[0-9]+))?(?:,endLine=[0-9]+)?(?:,col=(?P<col>[0-9]+))?",
    ),
    // ESLint: a heading, then one line per finding.
    Line {
        pattern: r"^(?P<file>(?:/|[A-Za-z]:\\|[A-Za-z0-9_@.-]+[/\\])[^\s:]*\.[A-Za-z]+):?$",
        says: Says::Heading,
        order: Order::InnermostFirst,
    },
    Line::frame(r"^\s+(?P<line>[0-9]+):(?P<col>[0-9]+)\s+(?:error|warning|✖|×)\s"),
    // djLint, HTMLHint
    Line::frame(r"^[A-Z]{1,4}[0-9]{3,4} (?P<line>[0-9]+):(?P<col>[0-9]+) \S"),
    Line::frame(r"^\s+L(?P<line>[0-9]+) \|"),
    // make, docker
    Line::frame(r"^(?P<file>(?:[^\s:]*/)?[A-Z]\w*file):(?P<line>[0-9]+): \S"),
    // SQLFluff: a heading, then one line per finding.
    Line { pattern: r"^== \[(?P<file>[^\]]+)\] FAIL$", says: Says::Heading, order: Order::InnermostFirst },
    Line::frame(r"^L:\s+(?P<line>[0-9]+) \| P:\s+(?P<col>[0-9]+) \|"),
    // Source shown in a frame, with its place on the upper edge: codespan, miette, ariadne and those that look like them.
    Line::frame(
        r"^\s*[╭┌,][─-]*\s*\[?\s*(?P<file>(?:[A-Za-z]:)?[^\s:\[\]]+):(?P<line>[0-9]+):(?P<col>[0-9]+)\s*\]?(?:[─-]+)?$",
    ),
    // Linters that write a rule behind the place: markdownlint, hadolint, Biome.
    Line::frame(
        r"^(?P<file>[^\s:()]+):(?P<line>[0-9]+)(?::(?P<col>[0-9]+))?:? (?:[A-Z]{1,5}[0-9]{3,4}\b|[a-z]+/[a-z]+|(?i:error|warning)\b)",
    ),
    // Terraform, CMake, Dart
    Line::frame(r"^[│\s]*on (?P<file>\S+) line (?P<line>[0-9]+)[,:]"),
    Line::frame(r"^CMake Error at (?P<file>[^\s:]+):(?P<line>[0-9]+) \("),
    Line::frame(r"^  (?P<file>[^\s:]*(?:CMakeLists\.txt|\.cmake)):(?P<line>[0-9]+) \([A-Za-z_]+\)$"),
    Line::frame(r"^\s*(?P<file>\S+\.dart) (?P<line>[0-9]+):(?P<col>[0-9]+)\s"),
    // The template that a compiler instantiates.
    Line::frame(r"^(?P<file>[^\s:()]+):(?P<line>[0-9]+):(?P<col>[0-9]+):   required from here$"),
    // Formatters name the file alone.
    Line::frame(r"^(?:would reformat|\[warn\]|Would reformat:) (?P<file>[^\s:]+\.[A-Za-z]+)$"),
    Line::frame(r"^(?:ERROR: )?(?P<file>[^\s:]+\.[A-Za-z]+) (?:Imports are incorrectly|format ━)"),
    // gcc, clang, go, javac, swiftc, mypy, ruff, flake8, RuboCop, tsc --pretty
    Line::frame(
        r"^(?:vet: )?(?P<file>(?:[A-Za-z]:)?[^\s:()]+\.[A-Za-z][A-Za-z0-9]{0,5}):(?P<line>[0-9]+)(?::(?P<col>[0-9]+))?(?::| -) \S",
    ),
];

#[cfg(test)]
mod tests {
    use super::super::tests::shown;

    #[test]
    fn places_of_diagnostics() {
        let cases = [
            (
                "src/cart.ts(9,41): error TS2339: Property 'price' does not exist on type 'Line'.",
                "src/cart.ts:9:41 - ours",
            ),
            ("src/cart.ts:9:41 - error TS2339: Property 'price' does not exist", "src/cart.ts:9:41 - ours"),
            (
                "[ERROR] /home/runner/work/shop/shop/src/main/java/Cart.java:[9,41] cannot find symbol",
                "src/main/java/Cart.java:9:41 - ours",
            ),
            ("e: file:///builds/acme/shop/src/Cart.kt:9:41 Unresolved reference: price", "src/Cart.kt:9:41 - ours"),
            ("e: /builds/acme/shop/src/Cart.kt: (9, 41): Unresolved reference: price", "src/Cart.kt:9:41 - ours"),
            ("::error file=src/a.rs,line=9,col=41::boom", "src/a.rs:9:41 - ours"),
            ("src/cart.c:9:41: error: 'price' undeclared", "src/cart.c:9:41 - ours"),
            ("./cart.go:9:41: undefined: price", "cart.go:9:41 - ours"),
            ("shop/cart.py:9: error: Incompatible return value type  [return-value]", "shop/cart.py:9 - ours"),
            ("shop/cart.py:1:8: F401 `os` imported but unused", "shop/cart.py:1:8 - ours"),
            ("src/Cart.java:9: error: cannot find symbol", "src/Cart.java:9 - ours"),
            ("vet: cart/cart.go:9:41: undeclared name: c", "cart/cart.go:9:41 - ours"),
            ("would reformat shop/cart.py", "shop/cart.py - ours"),
            ("README.md:3:81 MD013/line-length Line length [Expected: 80; Actual: 120]", "README.md:3:81 - ours"),
            ("Dockerfile:3 DL3008 warning: Pin versions in apt get install.", "Dockerfile:3 - ours"),
            ("│   on main.tf line 3, in resource \"a\" \"b\":", "main.tf:3 - ours"),
            ("CMake Error at src/CMakeLists.txt:12 (add_executable):", "src/CMakeLists.txt:12 - ours"),
            ("  CMakeLists.txt:3 (find_package)", "CMakeLists.txt:3 - ours"),
            ("  test/cart_test.dart 8:5  main.<fn>", "test/cart_test.dart:8:5 - ours"),
            ("   ╭─[ main.js:2:23 ]", "main.js:2:23 - ours"),
            ("   ,-[src/cart.ts:2:23]", "src/cart.ts:2:23 - ours"),
            ("  ┌─ src/cart.nix:2:23", "src/cart.nix:2:23 - ours"),
            ("src/cart.cc:10:17:   required from here", "src/cart.cc:10:17 - ours"),
            (
                "== [queries.sql] FAIL\nL:   3 | P:  30 |  PRS | Couldn't find closing bracket",
                "queries.sql:3:30 - ours",
            ),
            ("File \"main.ml\", line 7, characters 13-23:\n7 |   | World", "main.ml:7:13 - ours"),
        ];
        for (line, frame) in cases {
            assert_eq!(shown(line), [frame], "{line}");
        }
        let eslint = "/home/runner/work/shop/shop/src/cart.ts\n  9:41  error  'tax' is assigned a value but never used  no-unused-vars\n";
        assert_eq!(shown(eslint), ["src/cart.ts:9:41 - ours"]);
    }

    #[test]
    fn prose_is_no_place() {
        assert!(shown("expected: 3\nFinished at 12:30:41\nsee https://example.com:8080/a\nratio 3:4").is_empty());
    }
}
