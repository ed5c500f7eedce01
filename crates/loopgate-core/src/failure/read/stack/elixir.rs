//! Elixir: the lines below `stacktrace:`.

use super::line::Line;

pub(super) const LINES: &[Line] = &[
    // Elixir's own, which names no function here.
    Line::function(r"^\s*\((?:elixir|stdlib|ex_unit|kernel|mix|logger|eex|iex) [0-9.]+\) "),
    Line::frame(
        r"^\s*(?:\([a-z][a-z0-9_]* [0-9][^)\s]*\) )?(?P<file>[^\s:()]+\.exs?):(?P<line>[0-9]+): (?:\(\w+\)|(?P<fun>\S.*))$",
    ),
];

#[cfg(test)]
mod tests {
    use super::super::tests::shown;

    #[test]
    fn exunit() {
        let trace =
            "     stacktrace:\n       (shop 0.1.0) lib/shop.ex:5: Shop.total/1\n       test/shop_test.exs:10: (test)";
        assert_eq!(shown(trace), ["lib/shop.ex:5 Shop.total/1 ours", "test/shop_test.exs:10 - ours"]);
    }
}
