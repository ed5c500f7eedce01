//! The coverage of one program is one coverage, whatever format it is written in.
//!
//! `fixtures/coverage/shop` is a small program. It was built by clang with source-based coverage and run once;
//! `llvm-cov export` wrote `shop.json` and `shop.lcov`, and lcov_cobertura made `shop.xml` of the latter.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use loopgate_core::evidence::{ReportFormat, ReportQuality};
use loopgate_reports::{ReadOptions, read_file};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/coverage");

type Lines = BTreeMap<String, BTreeSet<u32>>;

/// Executable and covered lines of each file; the formats write the same paths from different places.
fn lines(report: &str, format: ReportFormat) -> (Lines, Lines) {
    let report = read_file(&Path::new(FIXTURES).join(report), &ReadOptions::default());
    assert_eq!(
        (report.format, report.quality),
        (Some(format), ReportQuality::Valid),
        "{:?}",
        report.notes
    );
    let (mut executable, mut covered) = (Lines::new(), Lines::new());
    for file in report.coverage.expect("a coverage report").files {
        let name = file.path.rsplit('/').next().unwrap().to_owned();
        executable.insert(name.clone(), file.lines.keys().copied().collect());
        covered.insert(
            name,
            file.lines
                .iter()
                .filter(|(_, hits)| **hits > 0)
                .map(|(line, _)| *line)
                .collect(),
        );
    }
    (executable, covered)
}

#[test]
fn three_formats_tell_the_same_of_one_program() {
    let json = lines("shop.json", ReportFormat::LlvmCovJson);
    assert_eq!(lines("shop.lcov", ReportFormat::Lcov), json);
    assert_eq!(lines("shop.xml", ReportFormat::Cobertura), json);
    // Read in the source: students and the loop that never runs are not reached, nor is an empty cart.
    let (executable, covered) = json;
    assert_eq!(
        executable.keys().collect::<Vec<_>>(),
        ["cart.c", "cart.h", "main.c"]
    );
    let missed: Vec<u32> = executable["cart.c"]
        .difference(&covered["cart.c"])
        .copied()
        .collect();
    assert_eq!(missed, [16, 24, 26, 27, 28, 30, 31, 32, 33, 34, 36]);
    assert!(
        !executable["cart.c"].contains(&5) && !executable["cart.c"].contains(&25),
        "blank and comment"
    );
}
