//! The output of `loopgate inspect report`, which is alike for every format.

use std::path::Path;

use loopgate_core::evidence::CheckResults;
use serde_json::{Map, Value, json};

use super::{ReadOptions, Report, read_file};

/// `schema` of an inspection document.
pub const INSPECTION_SCHEMA: &str = "loopgate.report-inspection/v1";

/// Reads the files, each in the format its content shows, and gives them and their sums as a document, which is a
/// stable interface. A file that cannot be read is listed as invalid.
pub fn inspect<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Value {
    let options = ReadOptions::default();
    document(
        paths
            .into_iter()
            .map(|path| read_file(path.as_ref(), &options)),
    )
}

/// Counts are 0 where a format has nothing to count. A file that two reports cover counts twice in the sums.
fn document(reports: impl Iterator<Item = Report>) -> Value {
    let (mut files, mut tests, mut lines) =
        (Vec::new(), CheckResults::default(), None::<(u64, u64)>);
    let (mut findings, mut failures) = (0, 0);
    for report in reports {
        let results = report.results.unwrap_or_default();
        let covered = report
            .coverage
            .as_ref()
            .map(|it| (it.lines_covered, it.lines_total));
        let findings_here = report.findings.len() as u64 + report.findings_not_kept;
        tests.add(&results);
        findings += findings_here;
        failures += report.failures.len() as u64 + report.failures_not_kept;
        if let Some((covered, total)) = covered {
            let before = lines.unwrap_or_default();
            lines = Some((before.0 + covered, before.1 + total));
        }
        let head = json!({
            "path": report.path,
            "format": report.format,
            "framework": report.framework,
            "quality": report.quality,
            "notes": report.notes,
        });
        let tail = json!({
            "coverage": coverage(covered),
            "findings": findings_here,
            "failures": report.failures,
            "failures_not_kept": report.failures_not_kept,
        });
        files.push(with_counts(head, results, tail));
    }
    let tail = json!({ "coverage": coverage(lines), "findings": findings, "failures": failures });
    let totals = with_counts(json!({ "files": files.len() }), tests, tail);
    json!({ "schema": INSPECTION_SCHEMA, "files": files, "totals": totals })
}

/// One object: the fields of `head`, the counts of tests, the fields of `tail`.
fn with_counts(head: Value, results: CheckResults, tail: Value) -> Value {
    let mut fields = Map::new();
    for part in [head, json!(results), tail] {
        fields.extend(part.as_object().cloned().unwrap_or_default());
    }
    fields.shift_remove("coverage_percent");
    fields.into()
}

/// Of covered and executable lines; the share is null if there is no executable line.
fn coverage(lines: Option<(u64, u64)>) -> Option<Value> {
    lines.map(|(covered, total)| {
        let percent = (total > 0).then(|| covered as f64 * 100.0 / total as f64);
        json!({ "lines_covered": covered, "lines_total": total, "percent": percent })
    })
}

#[cfg(test)]
mod tests {
    use insta::assert_json_snapshot;

    use super::*;
    use crate::read;

    #[test]
    fn files_and_their_sums() {
        let options = ReadOptions::default();
        let junit = b"<testsuite><testcase classname='C' name='a' time='0.5'/>\
                      <testcase classname='C' name='b' time='0.25'><failure message='m'/></testcase></testsuite>";
        let reports = [
            read("a.xml", &junit[..], &options),
            read(
                "b.info",
                &b"SF:a.c\nDA:1,1\nDA:2,0\nend_of_record\n"[..],
                &options,
            ),
            read_file(Path::new("no/such/file.xml"), &options),
        ];
        assert_json_snapshot!(document(reports.into_iter()), @r#"
        {
          "schema": "loopgate.report-inspection/v1",
          "files": [
            {
              "path": "a.xml",
              "format": "junit",
              "framework": null,
              "quality": "valid",
              "notes": [],
              "total": 2,
              "passed": 1,
              "failed": 1,
              "errors": 0,
              "skipped": 0,
              "flaky": 0,
              "duration_ms": 750,
              "coverage": null,
              "findings": 0,
              "failures": [
                {
                  "test_name": "C.b",
                  "test_file": null,
                  "error_type": "Other",
                  "error_class": null,
                  "error_message": "m",
                  "stack_trace": null,
                  "line_number": null,
                  "expected": null,
                  "actual": null,
                  "source": null,
                  "fingerprint": "4e328bb06a9b8f86",
                  "test_id": "02712572895b9c62"
                }
              ],
              "failures_not_kept": 0
            },
            {
              "path": "b.info",
              "format": "lcov",
              "framework": null,
              "quality": "valid",
              "notes": [],
              "total": 0,
              "passed": 0,
              "failed": 0,
              "errors": 0,
              "skipped": 0,
              "flaky": 0,
              "duration_ms": 0,
              "coverage": {
                "lines_covered": 1,
                "lines_total": 2,
                "percent": 50.0
              },
              "findings": 0,
              "failures": [],
              "failures_not_kept": 0
            },
            {
              "path": "no/such/file.xml",
              "format": null,
              "framework": null,
              "quality": "invalid",
              "notes": [
                "does not exist"
              ],
              "total": 0,
              "passed": 0,
              "failed": 0,
              "errors": 0,
              "skipped": 0,
              "flaky": 0,
              "duration_ms": 0,
              "coverage": null,
              "findings": 0,
              "failures": [],
              "failures_not_kept": 0
            }
          ],
          "totals": {
            "files": 3,
            "total": 2,
            "passed": 1,
            "failed": 1,
            "errors": 0,
            "skipped": 0,
            "flaky": 0,
            "duration_ms": 750,
            "coverage": {
              "lines_covered": 1,
              "lines_total": 2,
              "percent": 50.0
            },
            "findings": 0,
            "failures": 1
          }
        }
        "#);
    }

    #[test]
    fn the_slowest_tests_of_a_report_are_known_by_name() {
        let junit = b"<testsuite><testcase classname='Cart' name='adds' time='0.5'/>\
                      <testcase classname='Cart' name='rounds' time='2.25'/><testcase name='quick' time='0'/>\
                      <testcase classname='Cart' name='adds' time='0.75'/><testcase time='9'/></testsuite>";
        let report = read("a.xml", &junit[..], &ReadOptions::default());
        let slowest: Vec<_> = report
            .slowest_tests
            .iter()
            .map(|slow| (slow.test.as_str(), slow.duration_ms))
            .collect();
        assert_eq!(slowest, [("Cart.rounds", 2_250), ("Cart.adds", 750)]);
    }
}
