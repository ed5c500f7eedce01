//! The output of `loopgate inspect report`, which is alike for every format.

use std::path::Path;

use serde::Serialize;

use loopgate_core::evidence::{CheckResults, Failure, ReportFormat, ReportQuality, TestFramework};

use super::{ReadOptions, Report, read_file};

/// `schema` of an inspection document.
pub const INSPECTION_SCHEMA: &str = "loopgate.report-inspection/v1";

/// Some report files and their sums. Its JSON is a stable interface.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Inspection {
    /// [`INSPECTION_SCHEMA`].
    pub schema: &'static str,
    pub files: Vec<InspectedReport>,
    pub totals: Totals,
}

/// One file. Counts are 0 where a format has nothing to count.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InspectedReport {
    pub path: String,
    /// None: not readable, or in no format that is read.
    pub format: Option<ReportFormat>,
    pub framework: Option<TestFramework>,
    pub quality: ReportQuality,
    pub notes: Vec<String>,
    #[serde(flatten)]
    pub tests: TestCounts,
    pub coverage: Option<CoverageCounts>,
    /// How many findings linters and scanners report, errors included.
    pub findings: u64,
    pub failures: Vec<Failure>,
    /// Failures beyond those listed.
    pub failures_not_kept: u64,
}

/// All files together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Totals {
    pub files: u64,
    #[serde(flatten)]
    pub tests: TestCounts,
    /// Sums over the files' lines; a file that two reports cover counts twice.
    pub coverage: Option<CoverageCounts>,
    pub findings: u64,
    /// How many failures there are, listed or not.
    pub failures: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TestCounts {
    pub total: u64,
    pub passed: u64,
    pub failed: u64,
    pub errors: u64,
    pub skipped: u64,
    /// Counted among `passed` too.
    pub flaky: u64,
    pub duration_ms: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CoverageCounts {
    pub lines_covered: u64,
    pub lines_total: u64,
    /// None if there is no executable line.
    pub percent: Option<f64>,
}

/// Reads the files, each in the format its content shows. A file that cannot be read is listed as invalid.
pub fn inspect<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Inspection {
    let options = ReadOptions::default();
    paths.into_iter().map(|path| read_file(path.as_ref(), &options)).collect()
}

impl FromIterator<Report> for Inspection {
    fn from_iter<I: IntoIterator<Item = Report>>(reports: I) -> Self {
        let (mut totals, mut tests) = (Totals::default(), CheckResults::default());
        let mut files = Vec::new();
        for report in reports {
            tests.add(&report.results.unwrap_or_default());
            let file = InspectedReport::from(report);
            totals.files += 1;
            totals.findings += file.findings;
            totals.failures += file.failures.len() as u64 + file.failures_not_kept;
            if let Some(coverage) = file.coverage {
                let sum = totals.coverage.unwrap_or_default();
                let (covered, total) =
                    (sum.lines_covered + coverage.lines_covered, sum.lines_total + coverage.lines_total);
                totals.coverage = Some(CoverageCounts::of(covered, total));
            }
            files.push(file);
        }
        totals.tests = tests.into();
        Self { schema: INSPECTION_SCHEMA, files, totals }
    }
}

impl From<Report> for InspectedReport {
    fn from(report: Report) -> Self {
        Self {
            tests: report.results.unwrap_or_default().into(),
            coverage: report.coverage.as_ref().map(|it| CoverageCounts::of(it.lines_covered, it.lines_total)),
            findings: report.finding_count(),
            path: report.path,
            format: report.format,
            framework: report.framework,
            quality: report.quality,
            notes: report.notes,
            failures: report.failures,
            failures_not_kept: report.failures_not_kept,
        }
    }
}

impl From<CheckResults> for TestCounts {
    fn from(results: CheckResults) -> Self {
        let CheckResults { total, passed, failed, errors, skipped, flaky, duration_ms, coverage_percent: _ } = results;
        Self { total, passed, failed, errors, skipped, flaky, duration_ms }
    }
}

impl CoverageCounts {
    fn of(lines_covered: u64, lines_total: u64) -> Self {
        let percent = (lines_total > 0).then(|| lines_covered as f64 * 100.0 / lines_total as f64);
        Self { lines_covered, lines_total, percent }
    }
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
            read("b.info", &b"SF:a.c\nDA:1,1\nDA:2,0\nend_of_record\n"[..], &options),
            read_file(Path::new("no/such/file.xml"), &options),
        ];
        assert_json_snapshot!(Inspection::from_iter(reports), @r#"
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
}
