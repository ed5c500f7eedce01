//! Python: tracebacks (outermost frame first) and pytest's long and short styles.

use super::line::{Line, Order, Says};

pub(super) const LINES: &[Line] = &[
    // OCaml names places alike, and one only.
    Line::frame(r#"^File "(?P<file>[^"]+)", lines? (?P<line>[0-9]+)(?:-[0-9]+)?, characters (?P<col>[0-9]+)-[0-9]+:$"#),
    // pytest: where a fixture is asked for
    Line::frame(r"^file (?P<file>\S+\.py), line (?P<line>[0-9]+)$"),
    Line {
        pattern: r#"^\s*(?:E\s+)?File "(?P<file>[^"]+)", line (?P<line>[0-9]+)(?:, in (?P<fun>.+))?$"#,
        says: Says::Frame,
        order: Order::InnermostLast,
    },
    // pytest --tb=line
    Line::frame(r"^(?P<file>(?:[A-Za-z]:)?[^\s:]+\.py):(?P<line>[0-9]+): (?:assert |[A-Za-z_.]*(?:Error|Exception): )"),
    // faulthandler, innermost first
    Line::frame(r#"^\s*File "(?P<file>[^"]+)", line (?P<line>[0-9]+) in (?P<fun>\S+)$"#),
    // pytest shows the function's source, then where in it the line stands.
    Line {
        pattern: r"^>?\s*(?:async )?def (?P<fun>[A-Za-z_][A-Za-z0-9_]*)\(",
        says: Says::Heading,
        order: Order::InnermostLast,
    },
    Line {
        pattern: r"^(?P<file>(?:[A-Za-z]:)?[^\s:]+\.pyi?):(?P<line>[0-9]+): (?:in (?P<fun>\S+)|[A-Za-z_][A-Za-z0-9_.]*)$",
        says: Says::Frame,
        order: Order::InnermostLast,
    },
    Line {
        pattern: r"^(?P<file>(?:[A-Za-z]:)?[^\s:]+\.pyi?):(?P<line>[0-9]+):$",
        says: Says::Frame,
        order: Order::InnermostLast,
    },
];

#[cfg(test)]
mod tests {
    use super::super::tests::shown;

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
        assert_eq!(shown(long), ["shop/cart.py:9 total ours", "tests/test_cart.py:8 test_total ours"]);
        let short = "tests/test_cart.py:8: in test_total\n    assert cart.total() == 30\nshop/cart.py:9: in total\n    return 1\nE   X";
        assert_eq!(shown(short), ["shop/cart.py:9 total ours", "tests/test_cart.py:8 test_total ours"]);
    }
}
