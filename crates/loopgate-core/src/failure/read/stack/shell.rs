//! Shells and PowerShell, Bats, and Perl's `Test::More`: both write down places as comments in TAP.

use super::line::Line;

pub(super) const LINES: &[Line] = &[
    Line::frame(
        r"^[\s#]*\(?(?:in|from) (?:test file|file|function `(?P<fun>[^']+)' in (?:test )?file) (?P<file>\S+), line (?P<line>[0-9]+)[,)]",
    ),
    // PowerShell
    Line::frame(r"^\s*at (?P<fun>[^,|]+), (?P<file>(?:[A-Za-z]:)?[^\s:,]+\.psm?1): ?(?:line )?(?P<line>[0-9]+)"),
    // bash, dash, ShellCheck
    // `bash: line 1:` is what `bash -c` was given.
    Line::frame(r"^(?P<file>[^\s:]*[./][^\s:]*): line (?P<line>[0-9]+): \S"),
    Line::frame(r"^(?P<file>[^\s:]+\.sh): (?P<line>[0-9]+): \S"),
    Line::frame(r"^In (?P<file>\S*/\S+|[^\s.]+|\S+\.(?:ba|da|k|z)?sh|\S+\.bats) line (?P<line>[0-9]+):$"),
    Line::frame(r"^[\s#]*at (?P<file>\S+\.(?:t|p[lm])) line (?P<line>[0-9]+)\.$"),
    Line::frame(r"\bat (?P<file>\S+\.(?:t|p[lm])) line (?P<line>[0-9]+)\.$"),
];

#[cfg(test)]
mod tests {
    use super::super::tests::shown;

    #[test]
    fn bats_and_perl() {
        let bats = "# (from function `price' in file lib/price.bash, line 4,\n#  in test file test/cart.bats, line 3)\n#   `[ 1 -eq 2 ]' failed";
        assert_eq!(shown(bats), ["lib/price.bash:4 price ours", "test/cart.bats:3 - ours"]);
        let perl = "#   Failed test 'sums'\n#   at t/cart.t line 5.\n#          got: '3'\n#     expected: '4'";
        assert_eq!(shown(perl), ["t/cart.t:5 - ours"]);
        for (line, frame) in [
            ("at <ScriptBlock>, /home/runner/work/shop/shop/tests/Cart.Tests.ps1:9", "tests/Cart.Tests.ps1:9 - ours"),
            ("at Get-Total, C:\\shop\\Cart.psm1: line 12", "C:/shop/Cart.psm1:12 Get-Total ours"),
            ("release.sh: line 6: cosign: command not found", "release.sh:6 - ours"),
            ("./release.sh: 6: cosign: not found", "release.sh:6 - ours"),
            ("In one.sh line 3:", "one.sh:3 - ours"),
        ] {
            assert_eq!(shown(line), [frame], "{line}");
        }
        assert_eq!(shown("Can't locate Shop.pm in @INC at lib/Cart.pm line 2."), ["lib/Cart.pm:2 - ours"]);
    }
}
