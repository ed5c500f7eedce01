//! One file per format, each a parser that streams; and what some of them share: the texts of rustc, of a Rust panic
//! and of `go test` stand in several formats.

mod cargo_failure;
mod cargo_messages;
mod cargo_test;
mod checkstyle;
mod clover;
mod cobertura;
mod eslint;
mod github_annotations;
mod go_cover;
mod go_test;
mod go_text;
mod jacoco;
mod jest_json;
mod junit;
mod junit_failure;
mod lcov;
mod libtest_json;
mod llvm_cov;
pub(super) mod python_unittest;
mod regex_text;
mod rust_lines;
mod rust_panic;
mod rustc_text;
mod sarif;
mod tap;
mod tap_yaml;
mod trx;

use crate::{ReadOptions, Unreadable, collect::Collector, window::Window, xml::Xml};
use loopgate_core::evidence::ReportFormat;

/// Reads the rest of the window as a report of that format.
pub(super) fn parse(
    format: ReportFormat,
    window: &mut Window<'_>,
    options: &ReadOptions,
    out: &mut Collector<'_>,
) -> Result<(), Unreadable> {
    match format {
        ReportFormat::Junit => junit::parse(&mut Xml::new(window), out),
        ReportFormat::GoTestJson => go_test::parse(window, out),
        ReportFormat::CargoTest | ReportFormat::LibtestJson | ReportFormat::CargoMessages => {
            rust_lines::parse(window, out)
        }
        ReportFormat::Tap => tap::parse(window, out),
        ReportFormat::Trx => trx::parse(&mut Xml::new(window), out),
        ReportFormat::EslintJson => eslint::parse(window, out),
        ReportFormat::Sarif => sarif::parse(window, out),
        ReportFormat::Checkstyle => checkstyle::parse(&mut Xml::new(window), out),
        ReportFormat::Lcov => lcov::parse(window, out),
        ReportFormat::Cobertura => cobertura::parse(&mut Xml::new(window), out),
        ReportFormat::Jacoco => jacoco::parse(&mut Xml::new(window), out),
        ReportFormat::Clover => clover::parse(&mut Xml::new(window), out),
        ReportFormat::LlvmCovJson => llvm_cov::parse(window, out),
        ReportFormat::GoCover => go_cover::parse(window, out),
        ReportFormat::GithubAnnotations => github_annotations::parse(window, out),
        ReportFormat::JestJson => jest_json::parse(window, out),
        ReportFormat::PythonUnittest => python_unittest::parse(window, out),
        ReportFormat::Regex => match &options.pattern {
            Some(pattern) => regex_text::parse(window, pattern, out),
            None => Err(Unreadable::NoPattern),
        },
    }
}
