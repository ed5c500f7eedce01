//! What a test change is worth: the tests that a change edits, as they were before it, on what it makes of the code.

use serde_json::{Value, json};

use crate::kit::{Project, Ran};

#[test]
fn three_weakened_tests_are_run_as_they_were() {
    let project = Project::with("", "");
    let test =
        |asks: &str| format!("test \"$price\" = {asks} || {{ echo 'FAILED tests/test_x.py::test_price'; exit 1; }}\n");
    project.write("pytest", ". ./price\nexec sh \"$1\"\n");
    project.write("price", "price=20\n");
    for name in ["a", "b", "c"] {
        project.write(&format!("tests/test_{name}.py"), &test("20"));
    }
    project.write("tests/test_c.py", "test -n \"$price\"\necho more\n");
    let unit = "unit: { kind: test, run: sh pytest tests/test_a.py }";
    project.write(".github/loopgate.yml", &format!("version: 1\nverify:\n  checks:\n    {unit}\n"));
    project.commit("Tests");
    project.git(&["checkout", "-qb", "weaker"]);
    project.write("price", "price=24\n");
    project.write("tests/test_a.py", "true\n");
    project.write("tests/test_b.py", &test("24"));
    project.write("tests/test_c.py", "test -n \"$price\"\n");
    project.commit("Raise the price");
    let verify = |more: &[&str]| {
        Ran::of(project.loopgate(&[&["verify", "--base", "main"], more].concat()).output().unwrap());
        serde_json::from_str::<Value>(&project.read("loopgate-evidence/evidence.json")).unwrap()["base_tests"].clone()
    };
    assert_eq!(verify(&[]), Value::Null, "asked for where people wait for it");
    let runs = verify(&["--base-tests"]);
    let ends: Vec<_> = runs.as_array().unwrap().iter().map(|run| (&run["file"], &run["on_head"])).collect();
    let of = |name: &str| json!(format!("tests/test_{name}.py"));
    let (a, b, c, failed, passed) = (of("a"), of("b"), of("c"), json!("failed"), json!("passed"));
    assert_eq!(ends, [(&a, &failed), (&b, &failed), (&c, &passed)], "{runs:#}");
    let report = project.read("loopgate-evidence/report.md");
    assert!(report.contains("2 of the 3 test files that are edited here fail as they were:"), "{report}");
    assert!(report.contains("`tests/test_a.py`") && report.contains("-test \"$price\" = 20"), "{report}");
    assert_eq!(project.git(&["worktree", "list"]).lines().count(), 1);
}
