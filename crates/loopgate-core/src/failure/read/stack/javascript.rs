//! JavaScript and TypeScript: V8, Firefox and Safari, Vitest's arrows, Node's header lines.

use super::line::Line;
use crate::source_files::{SourceLanguage, is_test};

pub(super) const LINES: &[Line] = &[
    Line::frame(
        r"^\s*at (?:async )?(?:(?P<fun>[^()]+?(?: \[as [^\]]+\])?) )?\((?P<file>.+?):(?P<line>[0-9]+):(?P<col>[0-9]+)\)$",
    ),
    Line::frame(r"^\s*at (?:async )?(?P<file>[^\s()].*?):(?P<line>[0-9]+):(?P<col>[0-9]+)$"),
    Line::frame(r"^\s*❯ (?:(?P<fun>\S+) )?(?P<file>[^\s:]+(?::[/\\][^\s:]+)?):(?P<line>[0-9]+):(?P<col>[0-9]+)$"),
    Line::frame(r"^\s*(?P<fun>[^@\s]*)@(?P<file>(?:[a-z-]+:/{2,3}|/)\S+?):(?P<line>[0-9]+)(?::(?P<col>[0-9]+))?$"),
    // Japa
    Line::frame(r"^\s*at (?:async )?(?P<fun>\S+) (?P<file>[^\s():]+):(?P<line>[0-9]+)$"),
    // AVA
    Line::frame(r"^\s*› (?:(?P<fun>\S+) \()?(?P<file>[^\s()]+?):(?P<line>[0-9]+):(?P<col>[0-9]+)\)?$"),
    // mocha's time-outs name the file alone.
    Line::frame(r"returning a Promise, ensure it resolves\. \((?P<file>[^()]+)\)$"),
    // Node prints where an uncaught error or a syntax error stands above the source line.
    Line::frame(r"^(?P<file>(?:file://|[A-Za-z]:)?[^\s:]+\.[cm]?[jt]sx?):(?P<line>[0-9]+)$"),
];

/// Whether a printed path is one of a JavaScript or TypeScript test.
pub(super) fn is_test_file(printed: &str) -> bool {
    let path = printed.split('?').next().unwrap_or(printed);
    let language = SourceLanguage::of(path);
    matches!(language, Some(SourceLanguage::JavaScript | SourceLanguage::TypeScript)) && is_test(path)
}

#[cfg(test)]
mod tests {
    use super::super::tests::shown;

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
            ("total@http://localhost:5173/src/cart.ts?t=1700000000:9:41", "src/cart.ts:9:41 total ours"),
            ("@webpack-internal:///./src/cart.ts:9:41", "src/cart.ts:9:41 - ours"),
            ("    at total (webpack:///./src/cart.ts?1234:9:41)", "src/cart.ts:9:41 total ours"),
            (" ❯ Cart.total src/cart.ts:9:41", "src/cart.ts:9:41 Cart.total ours"),
            (" ❯ test/cart.test.ts:12:15", "test/cart.test.ts:12:15 - ours"),
            (r"    at Cart.total (C:\shop\src\cart.js:9:41)", "C:/shop/src/cart.js:9:41 Cart.total ours"),
            ("/home/runner/work/shop/shop/src/cart.js:9", "src/cart.js:9 - ours"),
            ("      at Object.toBe (test/cart.test.js:4:48)", "test/cart.test.js:4:48 - ours"),
            ("  › file://test/cart.test.mjs:9:4", "test/cart.test.mjs:9:4 - ours"),
            (" ❯ Module.total src/cart.mjs:2:16", "src/cart.mjs:2:16 total ours"),
        ];
        for (line, frame) in cases {
            assert_eq!(shown(line), [frame], "{line}");
        }
    }
}
