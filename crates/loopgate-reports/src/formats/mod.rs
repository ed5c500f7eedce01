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

pub(super) use github_annotations::annotation;
pub(super) use sarif::is_old_sarif;
pub(super) use tap::Tap;

use self::coverage_xml::{CLOVER, COBERTURA, JACOCO};
use crate::{Collector, Mark, ReadOptions, Unreadable, Window, Xml};

/// Reads the rest of the window as a report.
type Parse = fn(&mut Window<'_>, &ReadOptions, &mut Collector) -> Result<(), Unreadable>;

/// By what each format is recognised, of which the first counts whose mark is there, and how it is read.
pub(super) const FORMATS: [(Format, Mark, Parse); Format::ALL.len()] = [
    (Format::Junit, junit::MARK, |window, _, out| {
        junit::parse(window, out)
    }),
    (Format::Trx, dotnet::TRX, |window, _, out| {
        dotnet::parse(&mut Xml::new(window), out)
    }),
    (Format::NunitXml, dotnet::NUNIT, |window, _, out| {
        dotnet::parse(&mut Xml::new(window), out)
    }),
    (Format::XunitXml, dotnet::XUNIT, |window, _, out| {
        dotnet::parse(&mut Xml::new(window), out)
    }),
    (Format::Checkstyle, checkstyle::MARK, |window, _, out| {
        checkstyle::parse(&mut Xml::new(window), out)
    }),
    (
        Format::Jacoco,
        coverage_xml::JACOCO_MARK,
        |window, _, out| coverage_xml::parse(&JACOCO, window, out),
    ),
    (
        Format::Clover,
        coverage_xml::CLOVER_MARK,
        |window, _, out| coverage_xml::parse(&CLOVER, window, out),
    ),
    (
        Format::Cobertura,
        coverage_xml::COBERTURA_MARK,
        |window, _, out| coverage_xml::parse(&COBERTURA, window, out),
    ),
    (Format::RuffJson, linter_json::RUFF, |window, _, out| {
        linter_json::parse(&["[]"], window, out)
    }),
    (Format::EslintJson, linter_json::ESLINT, |window, _, out| {
        linter_json::parse(&["[]"], window, out)
    }),
    (Format::Tap, tap::MARK, |window, _, out| {
        tap::parse(window, out)
    }),
    (Format::Lcov, lcov::MARK, |window, _, out| {
        lcov::parse(window, out)
    }),
    (Format::GoCover, go_cover::MARK, |window, _, out| {
        go_cover::parse(window, out)
    }),
    (Format::GoTestJson, go_test::MARK, |window, _, out| {
        go_test::parse(window, out)
    }),
    (
        Format::CargoMessages,
        rust_lines::MESSAGES,
        |window, _, out| tool_text::parse(true, window, out),
    ),
    (
        Format::LibtestJson,
        rust_lines::LIBTEST,
        |window, _, out| tool_text::parse(true, window, out),
    ),
    (
        Format::GolangciJson,
        linter_json::GOLANGCI,
        |window, _, out| linter_json::parse(&["Issues[]"], window, out),
    ),
    (Format::MypyJson, linter_json::MYPY, |window, _, out| {
        linter_json::parse(&[], window, out)
    }),
    (Format::DartJson, test_json::DART, |window, _, out| {
        test_json::dart(window, out)
    }),
    (Format::Sarif, sarif::MARK, |window, _, out| {
        sarif::parse(window, out)
    }),
    (Format::LlvmCovJson, llvm_cov::MARK, |window, _, out| {
        llvm_cov::parse(window, out)
    }),
    (Format::JestJson, test_json::JEST, |window, _, out| {
        test_json::jest(window, out)
    }),
    (
        Format::PlaywrightJson,
        test_json::PLAYWRIGHT,
        |window, _, out| test_json::parse(window, out),
    ),
    (Format::MochaJson, test_json::MOCHA, |window, _, out| {
        test_json::parse(window, out)
    }),
    (Format::RspecJson, test_json::RSPEC, |window, _, out| {
        test_json::parse(window, out)
    }),
    (Format::Ctrf, test_json::CTRF, |window, _, out| {
        test_json::parse(window, out)
    }),
    (
        Format::CucumberJson,
        cucumber_json::MARK,
        |window, _, out| cucumber_json::parse(window, out),
    ),
    (Format::LinterJson, linter_json::ANY, |window, _, out| {
        linter_json::parse_any(window, out)
    }),
    (Format::CargoTest, cargo_test::MARK, |window, _, out| {
        tool_text::parse(true, window, out)
    }),
    (
        Format::PythonUnittest,
        Mark::Line(console::is_unittest),
        |window, _, out| tool_text::parse(false, window, out),
    ),
    (Format::Console, console::MARK, |window, _, out| {
        tool_text::parse(false, window, out)
    }),
    (
        Format::GithubAnnotations,
        github_annotations::MARK,
        |window, _, out| github_annotations::parse(window, out),
    ),
    (
        Format::Regex,
        Mark::Configured,
        |window, options, out| match &options.pattern {
            Some(pattern) => regex_text::parse(window, pattern, out),
            None => Err(Unreadable::NoPattern),
        },
    ),
];

/// What reads reports of that format.
pub(super) fn parser(format: Format) -> Parse {
    let row = FORMATS.iter().find(|(known, ..)| *known == format);
    row.map_or(
        |_, _, _| Err(Unreadable::Unrecognised),
        |(_, _, parse)| *parse,
    )
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
