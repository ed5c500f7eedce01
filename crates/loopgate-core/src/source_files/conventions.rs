//! How each language names its files and its tests. A new language is a new row, and a variant of [`SourceLanguage`].

use super::SourceLanguage;

/// The row of a language. Letters are compared as they are written here.
pub(super) struct Conventions {
    pub language: SourceLanguage,
    /// Extensions of code for which a test can be asked.
    pub code: &'static [&'static str],
    /// Extensions of the language's other files: declarations, scripts.
    pub other: &'static [&'static str],
    /// Extensions that only tests have.
    pub test_extensions: &'static [&'static str],
    /// A test's name up to its first dot.
    pub names: &'static [&'static str],
    /// How a test's name begins.
    pub starts: &'static [&'static str],
    /// How a test's name ends before its first dot, with something before it.
    pub ends: &'static [&'static str],
    /// What stands between two dots of a test's name.
    pub middles: &'static [&'static str],
    /// Folders that hold tests of this language only.
    pub folders: &'static [&'static str],
    /// How the names of such folders end: `Shop.Tests`, `integrationTest`.
    pub folder_ends: &'static [&'static str],
}

/// What all languages share, in whatever case it is written.
pub(super) struct OfEveryLanguage {
    pub names: &'static [&'static str],
    pub starts: &'static [&'static str],
    pub ends: &'static [&'static str],
    pub middles: &'static [&'static str],
    pub folders: &'static [&'static str],
}

pub(super) const OF_EVERY_LANGUAGE: OfEveryLanguage = OfEveryLanguage {
    names: &["test", "tests"],
    starts: &["test_"],
    ends: &["_test", "_tests", "_spec"],
    middles: &["test", "spec"],
    folders: &["test", "tests", "__tests__", "spec", "specs", "e2e"],
};

/// Endings of words joined by capitals: `CartTest`, `CartTests`.
const JOINED: &[&str] = &["Test", "Tests"];
const JOINED_OR_SPEC: &[&str] = &["Test", "Tests", "Spec", "Specs"];
/// Jest, Vitest, Jasmine, Mocha, Ember, Cypress.
const SCRIPT: &[&str] = &["-test", "-tests", "-spec", "Test", "Tests", "Spec"];

const fn row(language: SourceLanguage, code: &'static [&'static str]) -> Conventions {
    Conventions {
        language,
        code,
        other: &[],
        test_extensions: &[],
        names: &[],
        starts: &[],
        ends: &[],
        middles: &[],
        folders: &[],
        folder_ends: &[],
    }
}

use SourceLanguage as L;

pub(super) const CONVENTIONS: &[Conventions] = &[
    Conventions { ends: JOINED, ..row(L::C, &["c", "h"]) },
    row(L::Clojure, &["clj", "cljs", "cljc"]),
    // GoogleTest and Catch2; Chromium and LLVM write `unittest`.
    Conventions {
        ends: &["-test", "_unittest", "_unittests", "Test", "Tests"],
        folders: &["unittest", "unittests"],
        ..row(L::Cpp, &["cc", "cpp", "cxx", "hpp", "hxx", "hh"])
    },
    Conventions { ends: JOINED_OR_SPEC, folder_ends: JOINED, ..row(L::CSharp, &["cs"]) },
    row(L::Dart, &["dart"]),
    row(L::Elixir, &["ex", "exs"]),
    // Common Test.
    Conventions { ends: &["_SUITE"], other: &["hrl"], ..row(L::Erlang, &["erl"]) },
    Conventions { ends: JOINED_OR_SPEC, folder_ends: JOINED, other: &["fsi"], ..row(L::FSharp, &["fs"]) },
    row(L::Go, &["go"]),
    // Spock.
    Conventions { ends: JOINED_OR_SPEC, folder_ends: JOINED, ..row(L::Groovy, &["groovy"]) },
    // Hspec.
    Conventions { names: &["Spec"], ends: JOINED_OR_SPEC, ..row(L::Haskell, &["hs", "lhs"]) },
    // JUnit as Surefire and Failsafe find it; source sets of Gradle and Android.
    Conventions {
        ends: &["Test", "Tests", "TestCase", "IT", "ITCase"],
        folder_ends: JOINED,
        ..row(L::Java, &["java"])
    },
    Conventions { ends: SCRIPT, middles: &["cy"], ..row(L::JavaScript, &["js", "jsx", "mjs", "cjs"]) },
    Conventions { names: &["runtests"], ..row(L::Julia, &["jl"]) },
    // Kotest.
    Conventions { ends: &["Test", "Tests", "Spec", "IT"], folder_ends: JOINED, ..row(L::Kotlin, &["kt", "kts"]) },
    row(L::Lua, &["lua"]),
    row(L::Nim, &["nim"]),
    Conventions { ends: JOINED_OR_SPEC, folder_ends: JOINED, ..row(L::ObjectiveC, &["m", "mm"]) },
    Conventions { other: &["mli"], ..row(L::OCaml, &["ml"]) },
    Conventions { test_extensions: &["t"], ..row(L::Perl, &["pl", "pm"]) },
    // PHPUnit, phpspec, Codeception.
    Conventions { ends: &["Test", "Tests", "Spec", "Cest"], test_extensions: &["phpt"], ..row(L::Php, &["php"]) },
    Conventions { names: &["conftest"], other: &["pyi"], ends: JOINED, ..row(L::Python, &["py"]) },
    // testthat.
    Conventions { starts: &["test-"], ..row(L::R, &["R", "r"]) },
    row(L::Ruby, &["rb"]),
    row(L::Rust, &["rs"]),
    // ScalaTest, specs2, MUnit.
    Conventions { ends: &["Test", "Tests", "Spec", "Specs", "IT"], folder_ends: JOINED, ..row(L::Scala, &["scala"]) },
    Conventions {
        other: &["sh", "bash"],
        test_extensions: &["bats"],
        starts: &["test-"],
        ends: &["-test", "-tests"],
        ..row(L::Shell, &[])
    },
    // pgTAP and dbt follow what all languages share.
    Conventions { other: &["sql"], ..row(L::Sql, &[]) },
    Conventions { ends: SCRIPT, middles: &["cy"], ..row(L::Svelte, &["svelte"]) },
    // XCTest, Quick.
    Conventions { ends: JOINED_OR_SPEC, folder_ends: JOINED, ..row(L::Swift, &["swift"]) },
    Conventions { ends: SCRIPT, middles: &["cy"], ..row(L::TypeScript, &["ts", "tsx", "mts", "cts"]) },
    Conventions { ends: JOINED_OR_SPEC, folder_ends: JOINED, ..row(L::VisualBasic, &["vb"]) },
    Conventions { ends: SCRIPT, middles: &["cy"], ..row(L::Vue, &["vue"]) },
    row(L::Zig, &["zig"]),
];
