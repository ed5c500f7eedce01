//! One file per format, each a parser that streams; and what some of them share: the texts of rustc, of a Rust panic
//! and of `go test` stand in several formats.

mod cargo_failure;
mod cargo_test;
mod checkstyle;
mod console;
mod coverage_xml;
mod dotnet;
mod github_annotations;
mod go_cover;
mod go_test;
mod go_text;
mod junit;
mod junit_failure;
mod lcov;
mod linter_json;
mod llvm_cov;
mod nextest;
mod python_unittest;
mod regex_text;
mod rust_lines;
mod rustc_text;
mod sarif;
mod tap;
mod tap_yaml;
mod test_json;
mod tool_text;

use loopgate_core::evidence::ReportFormat;

pub(super) use sarif::is_old_sarif;

use self::{
    coverage_xml::{CLOVER, COBERTURA, JACOCO},
    tool_text::Speaker,
};
use crate::{Collector, Mark, ReadOptions, Unreadable, Window, Xml};

/// Makes the table of formats: by what each is recognised, in this order, and how it is read.
macro_rules! formats {
    ($($format:ident $mark:expr, $parse:expr;)*) => {
        /// By what each format is recognised; the first whose mark is there.
        pub(super) const MARKS: &[(ReportFormat, Mark)] = &[$((ReportFormat::$format, $mark),)*];

        /// Reads the rest of the window as a report of that format.
        pub(super) fn parse(
            format: ReportFormat,
            window: &mut Window<'_>,
            options: &ReadOptions,
            out: &mut Collector<'_>,
        ) -> Result<(), Unreadable> {
            let read: fn(&mut Window<'_>, &ReadOptions, &mut Collector<'_>) -> Result<(), Unreadable> = match format {
                $(ReportFormat::$format => $parse,)*
            };
            read(window, options, out)
        }
    };
}

formats! {
    Junit             junit::MARK,              |window, _, out| junit::parse(&mut Xml::new(window), out);
    Trx               dotnet::TRX,              |window, _, out| dotnet::parse(&mut Xml::new(window), out);
    NunitXml          dotnet::NUNIT,            |window, _, out| dotnet::parse(&mut Xml::new(window), out);
    XunitXml          dotnet::XUNIT,            |window, _, out| dotnet::parse(&mut Xml::new(window), out);
    Checkstyle        checkstyle::MARK,         |window, _, out| checkstyle::parse(&mut Xml::new(window), out);
    Jacoco            coverage_xml::JACOCO_MARK, |window, _, out| coverage_xml::parse(&JACOCO, window, out);
    Clover            coverage_xml::CLOVER_MARK, |window, _, out| coverage_xml::parse(&CLOVER, window, out);
    Cobertura         coverage_xml::COBERTURA_MARK, |window, _, out| coverage_xml::parse(&COBERTURA, window, out);
    RuffJson          linter_json::RUFF,        |window, _, out| linter_json::list(&["[]"], window, out);
    EslintJson        linter_json::ESLINT,             |window, _, out| linter_json::eslint(window, out);
    Tap               tap::MARK,                |window, _, out| tap::parse(window, out);
    Lcov              lcov::MARK,               |window, _, out| lcov::parse(window, out);
    GoCover           go_cover::MARK,           |window, _, out| go_cover::parse(window, out);
    GoTestJson        go_test::MARK,            |window, _, out| go_test::parse(window, out);
    CargoMessages     rust_lines::MESSAGES,     |window, _, out| tool_text::parse(Speaker::Cargo, window, out);
    LibtestJson       rust_lines::LIBTEST,       |window, _, out| tool_text::parse(Speaker::Cargo, window, out);
    GolangciJson      linter_json::GOLANGCI,    |window, _, out| linter_json::list(&["Issues[]"], window, out);
    MypyJson          linter_json::MYPY,        |window, _, out| linter_json::mypy(window, out);
    DartJson          test_json::DART,          |window, _, out| test_json::dart(window, out);
    Sarif             sarif::MARK,              |window, _, out| sarif::parse(window, out);
    LlvmCovJson       llvm_cov::MARK,           |window, _, out| llvm_cov::parse(window, out);
    JestJson          test_json::JEST,          |window, _, out| test_json::jest(window, out);
    PlaywrightJson    test_json::PLAYWRIGHT,    |window, _, out| test_json::parse(window, out);
    MochaJson         test_json::MOCHA,         |window, _, out| test_json::parse(window, out);
    RspecJson         test_json::RSPEC,         |window, _, out| test_json::parse(window, out);
    Ctrf              test_json::CTRF,          |window, _, out| test_json::parse(window, out);
    CargoTest         cargo_test::MARK,         |window, _, out| tool_text::parse(Speaker::Cargo, window, out);
    PythonUnittest    python_unittest::MARK,    |window, _, out| tool_text::parse(Speaker::Unittest, window, out);
    Console           console::MARK,            |window, _, out| tool_text::parse(Speaker::Others, window, out);
    GithubAnnotations github_annotations::MARK, |window, _, out| github_annotations::parse(window, out);
    Regex             Mark::Configured,         |window, options, out| match &options.pattern {
        Some(pattern) => regex_text::parse(window, pattern, out),
        None => Err(Unreadable::NoPattern),
    };
}
