//! Ruby and Crystal: backtraces of either quoting, RSpec's commented ones, minitest's headings.

use super::line::Line;

pub(super) const LINES: &[Line] = &[
    Line::frame(
        r"^\s*(?:#\s+|from |[0-9]+: from )?(?P<file>(?:[A-Za-z]:)?[^\s:]+):(?P<line>[0-9]+):in ['`](?P<fun>[^']+)'",
    ),
    // A syntax error is said of the file that is loaded.
    Line::frame(r"^\s+(?P<file>[^\s:]+\.(?:rb|cr)):(?P<line>[0-9]+): \S"),
    Line::frame(r"^\s*#\s+(?P<file>[^\s:]+\.(?:rb|cr)):(?P<line>[0-9]+)$"),
    Line::frame(r"^(?P<fun>[A-Z][A-Za-z0-9_:]*#\S+) \[(?P<file>[^\s:]+\.rb):(?P<line>[0-9]+)\]:$"),
];

#[cfg(test)]
mod tests {
    use super::super::tests::shown;

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
        assert_eq!(shown(minitest), ["test/cart_test.rb:17 CartTest#test_total ours"]);
        let plain = "lib/cart.rb:9:in 'Cart#total': undefined method 'price' for nil (NoMethodError)\n\tfrom bin/shop:4:in '<main>'";
        assert_eq!(shown(plain), ["lib/cart.rb:9 Cart#total ours", "bin/shop:4 - ours"]);
    }
}
