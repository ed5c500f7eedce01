//! PHP: numbered traces, whose function is the one called *at* the place, and the places of fatal errors.

use super::line::{Line, Order, Says};

pub(super) const LINES: &[Line] = &[
    Line {
        pattern: r"^#[0-9]+ (?P<file>(?:[A-Za-z]:)?[^:()]+\.php)\((?P<line>[0-9]+)\): (?P<fun>.+)$",
        says: Says::Callee,
        order: Order::InnermostFirst,
    },
    // `--testdox`
    Line::frame(r"^\s*╵ (?P<file>[^\s:]+\.php):(?P<line>[0-9]+)$"),
    Line::frame(r" in (?P<file>(?:[A-Za-z]:)?[^\s:]+\.php)(?: on line |:)(?P<line>[0-9]+)$"),
    Line::frame(r"^\s*(?P<file>(?:[A-Za-z]:)?[^\s:]+\.php):(?P<line>[0-9]+)$"),
];

#[cfg(test)]
mod tests {
    use super::super::tests::shown;

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
        let trace =
            "Failed asserting that 20 matches expected 30.\n\n/home/runner/work/shop/shop/tests/CartTest.php:17\n";
        assert_eq!(shown(trace), ["tests/CartTest.php:17 - ours"]);
    }
}
