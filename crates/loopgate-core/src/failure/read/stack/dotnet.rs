//! C# and F#: frames that name a source file; those of the framework have none.

use super::line::Line;

pub(super) const LINES: &[Line] = &[
    // `at Acme.Cart.Total(Int32 count) in /src/Cart.cs:line 12`, and the Mono and localised forms with `:12`.
    Line::frame(r"^\s*at (?P<fun>.+?) in (?P<file>(?:[A-Za-z]:)?[^:]+):(?:line |ligne |Zeile )?(?P<line>[0-9]+)\s*$"),
];

#[cfg(test)]
mod tests {
    use super::super::tests::shown;

    #[test]
    fn xunit_on_windows_and_linux() {
        let trace = r"Xunit.Sdk.EqualException : Assert.Equal() Failure: Values differ
Expected: 30
Actual:   20
   at Shop.Tests.CartTests.Total() in D:\a\shop\shop\test\CartTests.cs:line 14
   at System.RuntimeMethodHandle.InvokeMethod(Object target, Void** arguments, Signature sig, Boolean isConstructor)
   at System.Reflection.MethodBaseInvoker.InvokeWithNoArgs(Object obj, BindingFlags invokeAttr)
   at Shop.Cart.<Sum>b__0(Line line) in /home/runner/work/shop/shop/src/Cart.cs:line 9";
        assert_eq!(
            shown(trace),
            ["test/CartTests.cs:14 Shop.Tests.CartTests.Total ours", "src/Cart.cs:9 Shop.Cart.<Sum>b__0 ours"]
        );
    }
}
