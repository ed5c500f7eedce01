//! One file per format, each a parser that streams; and what some of them share: the texts of rustc, of a Rust panic
//! and of `go test` stand in several formats.

mod cargo_failure;
mod cargo_test;
mod checkstyle;
mod console;
mod coverage_xml;
mod cucumber_json;
mod dotnet;
mod github_annotations;
mod go_cover;
mod go_package;
mod go_test;
mod go_text;
mod junit;
mod lcov;
mod linter_json;
mod llvm_cov;
mod nextest;
mod node_crash;
mod regex_text;
mod rust_lines;
mod sarif;
mod tap;
mod tap_yaml;
mod test_json;
mod tool_text;

use loopgate_core::evidence::ReportFormat as Format;

pub use console::fails_for_warnings;
pub(super) use console::programs_cut_off_at;
pub(super) use github_annotations::annotation;
pub(super) use sarif::is_old_sarif;
pub(super) use tap::Tap;

use self::coverage_xml::{CLOVER, COBERTURA, JACOCO};
use crate::{Collector, Mark, Unreadable, Window};

/// Reads the rest of the window as a report.
type Parse = fn(&mut Window<'_>, &mut Collector) -> Result<(), Unreadable>;

/// By what each format is recognised, of which the first counts whose mark is there, and how it is read.
pub(super) const FORMATS: [(Format, Mark, Parse); Format::ALL.len() + 1] = [
    (Format::Junit, junit::MARK, junit::parse),
    (Format::Trx, dotnet::TRX, dotnet::parse),
    (Format::NunitXml, dotnet::NUNIT, dotnet::parse),
    (Format::XunitXml, dotnet::XUNIT, dotnet::parse),
    (Format::Checkstyle, checkstyle::MARK, checkstyle::parse),
    (Format::Jacoco, coverage_xml::JACOCO_MARK, |window, out| {
        coverage_xml::parse(&JACOCO, window, out)
    }),
    (Format::Clover, coverage_xml::CLOVER_MARK, |window, out| {
        coverage_xml::parse(&CLOVER, window, out)
    }),
    (
        Format::Cobertura,
        coverage_xml::COBERTURA_MARK,
        |window, out| coverage_xml::parse(&COBERTURA, window, out),
    ),
    (Format::RuffJson, linter_json::RUFF, |window, out| {
        linter_json::parse(&["[]"], window, out)
    }),
    (Format::EslintJson, linter_json::ESLINT, |window, out| {
        linter_json::parse(&["[]"], window, out)
    }),
    (Format::Tap, tap::MARK, tap::parse),
    (Format::Lcov, lcov::MARK, lcov::parse),
    (Format::GoCover, go_cover::MARK, go_cover::parse),
    (Format::GoTestJson, go_test::MARK, go_test::parse),
    (
        Format::CargoMessages,
        rust_lines::MESSAGES,
        |window, out| tool_text::parse(true, window, out),
    ),
    (Format::LibtestJson, rust_lines::LIBTEST, |window, out| {
        tool_text::parse(true, window, out)
    }),
    (
        Format::GolangciJson,
        linter_json::GOLANGCI,
        |window, out| linter_json::parse(&["Issues[]"], window, out),
    ),
    (Format::MypyJson, linter_json::MYPY, |window, out| {
        linter_json::parse(&[], window, out)
    }),
    (Format::DartJson, test_json::DART, test_json::dart),
    (Format::Sarif, sarif::MARK, sarif::parse),
    (Format::LlvmCovJson, llvm_cov::MARK, llvm_cov::parse),
    (Format::JestJson, test_json::JEST, test_json::jest),
    (
        Format::PlaywrightJson,
        test_json::PLAYWRIGHT,
        test_json::parse,
    ),
    (Format::MochaJson, test_json::MOCHA, test_json::mocha),
    (Format::MochaJson, test_json::MOCHA_STREAM, test_json::mocha),
    (Format::RspecJson, test_json::RSPEC, test_json::parse),
    (Format::Ctrf, test_json::CTRF, test_json::parse),
    (
        Format::CucumberJson,
        cucumber_json::MARK,
        cucumber_json::parse,
    ),
    (Format::LinterJson, linter_json::ANY, linter_json::parse_any),
    (Format::CargoTest, cargo_test::MARK, |window, out| {
        tool_text::parse(true, window, out)
    }),
    (
        Format::PythonUnittest,
        Mark::Line(console::is_unittest),
        |window, out| tool_text::parse(false, window, out),
    ),
    (Format::Console, console::MARK, |window, out| {
        tool_text::parse(false, window, out)
    }),
    (
        Format::GithubAnnotations,
        github_annotations::MARK,
        github_annotations::parse,
    ),
    (Format::Regex, Mark::Configured, regex_text::parse),
];

/// What reads reports of that format.
pub(super) fn parser(format: Format) -> Parse {
    let row = FORMATS.iter().find(|(known, ..)| *known == format);
    row.map_or(|_, _| Err(Unreadable::Unrecognised), |(_, _, parse)| *parse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_its_row() {
        let has_row = |format: &Format| FORMATS.iter().any(|(known, ..)| known == format);
        assert!(Format::ALL.iter().all(has_row));
    }
}
