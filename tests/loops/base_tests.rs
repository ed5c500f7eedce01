//! What a test change is worth: the tests that a change edits, as they were before it, on what it makes of the code.

use serde_json::{Value, json};

use crate::kit::{Project, Ran};

#[test]
fn three_weakened_tests_are_run_as_they_were() {
    let project = Project::with("", "");
    let test = |asks: &str| {
        format!(
            "test \"$price\" = {asks} || {{ echo '== short test summary info =='; echo 'FAILED tests/test_x.py::test_price'; exit 1; }}\n"
        )
    };
    project.write("pytest", ". ./price\nexec sh \"$1\"\n");
    project.write("price", "price=20\n");
    for name in ["a", "b", "c"] {
        project.write(&format!("tests/test_{name}.py"), &test("20"));
    }
    project.write("tests/test_c.py", "test -n \"$price\"\necho more\n");
    let unit = "unit: { kind: test, run: sh pytest tests/test_a.py }";
    project.write(
        ".github/loopgate.yml",
        &format!("version: 1\nverify:\n  checks:\n    {unit}\n"),
    );
    project.commit("Tests");
    project.git(&["checkout", "-qb", "weaker"]);
    project.write("price", "price=24\n");
    project.write("tests/test_a.py", "true\n");
    project.write("tests/test_b.py", &test("24"));
    project.write("tests/test_c.py", "test -n \"$price\"\n");
    project.commit("Raise the price");
    let verify = |more: &[&str]| {
        Ran::of(
            project
                .loopgate(&[&["verify", "--base", "main"], more].concat())
                .output()
                .unwrap(),
        );
        serde_json::from_str::<Value>(&project.read("loopgate-evidence/evidence.json")).unwrap()["base_tests"].clone()
    };
    assert_eq!(
        verify(&[]),
        Value::Null,
        "asked for where people wait for it"
    );
    let runs = verify(&["--base-tests"]);
    let ends: Vec<_> = runs
        .as_array()
        .unwrap()
        .iter()
        .map(|run| (&run["file"], &run["on_head"]))
        .collect();
    let of = |name: &str| json!(format!("tests/test_{name}.py"));
    let (a, b, c, failed, passed) = (of("a"), of("b"), of("c"), json!("failed"), json!("passed"));
    assert_eq!(
        ends,
        [(&a, &failed), (&b, &failed), (&c, &passed)],
        "{runs:#}"
    );
    let report = project.read("loopgate-evidence/report.md");
    assert!(
        report.contains("2 of the 3 test files that are edited here fail as they were:"),
        "{report}"
    );
    assert!(
        report.contains("`tests/test_a.py`") && report.contains("-test \"$price\" = 20"),
        "{report}"
    );
    assert_eq!(project.git(&["worktree", "list"]).lines().count(), 1);
}

/// A stand-in for pytest whose test passes and fails in turn when it runs alone, and passes among the others.
const FLIPS: &str = "\
case $1 in *::test_flips)
    echo >> ../runs
    [ $(($(wc -l < ../runs) % 2)) = 1 ] || {
        echo '== short test summary info =='; echo \"FAILED $1 - assert 1 == 2\"; echo '== 1 failed in 0.01s =='; exit 1
    } ;;
esac
echo '== 1 passed in 0.01s =='
";

#[test]
fn a_new_test_that_flips_is_named_and_costs_nothing() {
    let project = Project::with("", "");
    project.write("pytest", FLIPS);
    let unit = "unit: { kind: test, run: sh pytest tests }";
    project.write(
        ".github/loopgate.yml",
        &format!("version: 1\nverify:\n  checks:\n    {unit}\n"),
    );
    project.commit("The project");
    project.git(&["checkout", "-qb", "test/cart"]);
    project.write(
        "tests/test_cart.py",
        "def test_flips():\n    pass\n\n\ndef test_steady():\n    pass\n",
    );
    project.write(
        "src/test/CartTest.java",
        "class CartTest {\n  @Test\n  void adds() {}\n}\n",
    );
    project.commit("Test the cart");
    let verify = |more: &[&str]| {
        Ran::of(
            project
                .loopgate(&[&["verify", "--base", "main"], more].concat())
                .output()
                .unwrap(),
        )
    };
    let evidence =
        || serde_json::from_str::<Value>(&project.read("loopgate-evidence/evidence.json")).unwrap();
    let ran = verify(&[]).ended_with(0);
    let named = "The new test `test_flips` in `tests/test_cart.py` is flaky: run alone on this commit it failed 2 of 5 times \
                 (`sh pytest tests/test_cart.py::test_flips -x`).";
    ran.prints(named);
    let skipped = "new tests that were not repeated often enough: adds: it is not known how to run one test alone there";
    ran.notes(skipped);
    let tests = evidence()["burn_in"].clone();
    let told: Vec<_> = tests
        .as_array()
        .unwrap()
        .iter()
        .map(|test| (&test["test"], &test["runs"], &test["failed"]))
        .collect();
    let (flips, steady, adds) = (json!("test_flips"), json!("test_steady"), json!("adds"));
    let (none, two, five) = (json!(0), json!(2), json!(5));
    let expected = [
        (&adds, &none, &none),
        (&flips, &five, &two),
        (&steady, &five, &none),
    ];
    assert_eq!(told, expected, "{tests:#}");
    let json = verify(&["--burn-in", "3", "--format", "json"]).ended_with(0);
    let document: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(
        (&document["decision"], &document["burn_in"][1]["runs"]),
        (&json!("proceed"), &json!(3)),
        "{document:#}"
    );
    assert!(
        document["notes"][0]
            .as_str()
            .is_some_and(|note| note.contains("is flaky")),
        "{document:#}"
    );
    assert!(
        project
            .read("loopgate-evidence/report.md")
            .contains("is flaky")
    );
    verify(&["--burn-in", "0"]).ended_with(0);
    assert_eq!(evidence().get("burn_in"), None, "switched off");
}
