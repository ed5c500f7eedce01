//! Swift: XCTest, Swift Testing and the runtime's fatal errors.

use super::line::Line;

pub(super) const LINES: &[Line] = &[
    Line::frame(r"^(?P<file>[^:]+\.swift):(?P<line>[0-9]+): error: -?\[?(?P<fun>[A-Za-z0-9_. ]+)\]? : "),
    Line::frame(r"(?:^|\s)at (?P<file>[^\s:]+\.swift):(?P<line>[0-9]+)(?::(?P<col>[0-9]+))?(?:: |$)"),
    Line::frame(r"^(?P<file>[^\s:]+\.swift):(?P<line>[0-9]+): Fatal error"),
    Line::frame(r"Fatal error.*: file (?P<file>[^\s:]+\.swift), line (?P<line>[0-9]+)$"),
];

#[cfg(test)]
mod tests {
    use super::super::tests::shown;

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
