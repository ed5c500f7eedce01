//! What counts as an assertion, and what may take its place.

use super::*;

#[test]
fn an_assertion_counts_where_it_is_reached_and_can_fail() {
    let judged = |from: &str, to: &str| {
        let test = format!("def test_sum(cart):\n    cart.add(1)\n{from}");
        judge(&[edit("tests/test_sum.py", &test, from, to)], &[], FIXER).held
    };
    let one = "    assert cart.sum == 1\n";
    let nested = "    def check():\n        assert cart.sum == 1\n";
    assert!(judged(one, nested).is_some(), "nobody calls it");
    assert!(judged(one, "    check = lambda: cart.sum == 1\n").is_some());
    assert_eq!(judged(one, &format!("{nested}    check()\n")), None);
    assert!(judged(one, "    assert cart.sum == 1 or True\n").is_some());
    let raises = "    with pytest.raises(ValueError):\n        cart.add(None)\n";
    assert!(
        judged(raises, &raises.replace("ValueError", "")).is_some(),
        "any error will do"
    );
    let two = "    assert double(1) == 2\n    assert double(2) == 4\n";
    let looped =
        "    for value, twice in [(1, 2), (2, 4)]:\n        assert double(value) == twice\n";
    assert_eq!(judged(two, looped), None);
    assert!(
        judged(looped, &looped.replace(", (2, 4)", "")).is_some(),
        "a row is gone"
    );
    let asked = "    if os.environ.get('FULL'):\n        assert cart.sum == 1\n";
    assert!(judged(one, asked).is_some(), "only where a variable is set");
    assert_eq!(
        judged(
            one,
            &format!("    if os.environ.get('FULL'):\n        cart.log()\n{one}")
        ),
        None
    );
}

#[test]
fn an_assertion_in_a_block_that_does_not_run_is_none() {
    let held = |path: &'static str, text: &str, from: &str, to: &str| {
        judge(&[edit(path, text, from, to)], &[], FIXER).held
    };
    let expects = "    expect(parse('1')).toBe(1);\n    expect(parse('2')).toBe(2);\n";
    let inner = expects.replace("    expect", "      expect");
    let script = |to: &str| held("src/parse.test.ts", SCRIPT, expects, to);
    assert!(script(&format!("    if (process.env.FULL) {{\n{inner}    }}\n")).is_some());
    assert_eq!(
        script(&format!(
            "    if (process.env.FULL) {{\n      log();\n    }}\n{expects}"
        )),
        None
    );
    let go = "package cart\n\nfunc TestDouble(t *testing.T) {\n\tfor _, one := range cases {\n\t\tif double(one.in) != one.out \
              {\n\t\t\tt.Errorf(\"wrong\")\n\t\t}\n\t}\n}\n";
    let looped = |to: &str| held("cart/double_test.go", go, "range cases {", to);
    assert!(looped("range cases[:0] {").is_some());
    assert_eq!(looped("range cases[:] {"), None);
}

#[test]
fn an_assertion_that_is_imported_by_name_is_one() {
    let own = "test('adds', () => {\n  assert.equal(add(1, 2), 3);\n  assert.throws(() => add(), TypeError);\n});\n";
    let held = |new: &str| judge(&[file("test/add.test.js", own, new)], &[], FIXER).held;
    let by_name = own
        .replace("assert.equal", "strictEqual")
        .replace("assert.throws", "throws");
    assert_eq!(held(&by_name), None);
    assert!(held(&by_name.replace("  strictEqual(add(1, 2), 3);\n", "")).is_some());
}

#[test]
fn a_call_of_a_new_helper_that_asserts_states_its_values() {
    let own = "def test_sum(cart):\n    assert cart.sum == 3\n    assert cart.count == 1\n";
    let helper = "def check(cart, sum, count):\n    assert cart.sum == sum\n    assert cart.count == count\n\n";
    let shared = format!("{helper}def test_sum(cart):\n    check(cart, 3, 1)\n");
    let held = |new: &str| judge(&[file("tests/test_sum.py", own, new)], &[], FIXER).held;
    assert_eq!(held(&shared), None);
    assert!(
        held(&shared.replace(
            "    check(cart, 3, 1)\n",
            "    check(cart, 3, cart.count)\n"
        ))
        .is_some()
    );
}
