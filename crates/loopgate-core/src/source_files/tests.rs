use super::{Comments, SourceLanguage, conventions::CONVENTIONS, in_test_folder, is_code, is_test, subject};
use SourceLanguage as L;

/// Code of each language, and tests of it.
const LANGUAGES: &[(SourceLanguage, &[&str], &[&str])] = &[
    (L::C, &["src/cart.c", "src/cart.h"], &["cart_test.c", "test_cart.c", "tests/cart.c"]),
    (L::Clojure, &["src/shop/cart.clj", "src/cart.cljs"], &["test/shop/cart_test.clj", "cart_test.cljc"]),
    (L::Cpp, &["a.cc", "a.cpp", "a.cxx", "a.hpp"], &["CartTest.cpp", "cart_unittest.cc", "unittests/ADT/Cart.cpp"]),
    (L::CSharp, &["Shop/Cart.cs"], &["Shop.Tests/CartTest.cs", "Shop.Tests/Given.cs", "CartTests.cs"]),
    (L::Dart, &["lib/cart.dart"], &["test/cart_test.dart", "lib/cart_test.dart"]),
    (L::Elixir, &["lib/cart.ex", "config.exs"], &["test/cart_test.exs", "cart_test.exs"]),
    (L::Erlang, &["src/cart.erl"], &["cart_tests.erl", "cart_SUITE.erl"]),
    (L::FSharp, &["Cart.fs"], &["CartTests.fs", "Shop.Tests/Program.fs"]),
    (L::Go, &["cart/cart.go"], &["cart/cart_test.go"]),
    (L::Groovy, &["src/main/groovy/Cart.groovy"], &["CartSpec.groovy", "src/test/groovy/Cart.groovy"]),
    (L::Haskell, &["src/Cart.hs"], &["CartSpec.hs", "Spec.hs", "test/Main.hs"]),
    (
        L::Java,
        &["src/main/java/Cart.java"],
        &["CartTest.java", "CartIT.java", "CartTestCase.java", "src/androidTest/java/Cart.java"],
    ),
    (
        L::JavaScript,
        &["cart.js", "cart.jsx", "cart.mjs", "cart.cjs"],
        &["cart.test.js", "cart.spec.jsx", "cart-test.js", "cart.cy.js", "__tests__/cart.mjs", "CartSpec.js"],
    ),
    (L::Julia, &["src/Cart.jl"], &["test/runtests.jl", "runtests.jl"]),
    (L::Kotlin, &["Cart.kt", "build.gradle.kts"], &["CartTest.kt", "CartSpec.kt", "src/jvmTest/kotlin/Cart.kt"]),
    (L::Lua, &["cart.lua"], &["spec/cart_spec.lua", "cart_spec.lua"]),
    (L::Nim, &["cart.nim"], &["tests/tcart.nim", "test_cart.nim"]),
    (L::ObjectiveC, &["Cart.m", "Cart.mm"], &["CartTests.m", "ShopTests/Cart.m"]),
    (L::OCaml, &["cart.ml"], &["test_cart.ml", "test/cart.ml"]),
    (L::Perl, &["cart.pl", "lib/Cart.pm"], &["t/cart.t"]),
    (L::Php, &["shop/Cart.php"], &["shop/CartTest.php", "CartCest.php", "tests/Cart.php"]),
    (L::Python, &["cart.py"], &["test_cart.py", "cart_test.py", "conftest.py", "cart/tests.py"]),
    (L::R, &["R/cart.R", "cart.r"], &["tests/testthat/test-cart.R", "test-cart.R"]),
    (L::Ruby, &["lib/cart.rb"], &["spec/cart_spec.rb", "cart_spec.rb", "test_cart.rb"]),
    (L::Rust, &["src/cart.rs"], &["tests/cart.rs", "src/tests.rs", "src/cart_tests.rs"]),
    (L::Scala, &["Cart.scala"], &["CartSpec.scala", "CartTest.scala", "src/it/scala/CartIT.scala"]),
    (L::Shell, &[], &["tests/cart.sh", "test_cart.sh", "cart.bats", "cart-test.sh"]),
    (L::Sql, &[], &["tests/cart.sql"]),
    (L::Svelte, &["App.svelte"], &["App.test.svelte"]),
    (L::Swift, &["Sources/Cart.swift"], &["Tests/ShopTests/Cart.swift", "CartTests.swift", "ShopUITests/Cart.swift"]),
    (
        L::TypeScript,
        &["app.ts", "app.tsx", "app.mts", "app.cts", "index.d.ts"],
        &["cart.test.mts", "cart.spec.ts", "cart.test.tsx", "cart_test.ts", "e2e/cart.cts"],
    ),
    (L::VisualBasic, &["Cart.vb"], &["CartTests.vb"]),
    (L::Vue, &["App.vue"], &["App.spec.vue"]),
    (L::Zig, &["src/cart.zig"], &["test/cart.zig", "cart_test.zig"]),
];

#[test]
fn code_and_tests_of_each_language() {
    assert_eq!(LANGUAGES.len(), CONVENTIONS.len());
    for (language, code, tests) in LANGUAGES {
        assert!(CONVENTIONS.iter().any(|row| row.language == *language), "{language:?} has no row");
        for path in *code {
            assert_eq!(SourceLanguage::of(path), Some(*language), "{path}");
            assert!(is_code(path) && !is_test(path), "{path}");
        }
        for path in *tests {
            assert_eq!(SourceLanguage::of(path), Some(*language), "{path}");
            assert!(is_test(path), "{path}");
        }
    }
}

#[test]
fn no_two_languages_share_an_extension() {
    let all = CONVENTIONS.iter().flat_map(|row| [row.code, row.other, row.test_extensions].concat());
    let mut extensions: Vec<&str> = all.collect();
    let count = extensions.len();
    extensions.sort_unstable();
    extensions.dedup();
    assert_eq!(extensions.len(), count);
}

#[test]
fn what_only_looks_like_a_test_is_none() {
    let code = [
        "shop/latest.py",
        "shop/testing_utils.py",
        "testing/clock.go",
        "src/contest.rs",
        "pkg/attestation.go",
        "src/main/java/Testament.java",
        "src/main/java/EXIT.java",
        "src/main/java/Latest.java",
        "src/main/java/PodSpec.java",
        "src/protest.ts",
        "src/fastest.c",
        "src/inspect.py",
        "src/specification.ts",
        "src/manifest.test_data.ts",
        "src/Contests/Winner.cs",
        "src/IT.java",
    ];
    for path in code {
        assert!(is_code(path) && !is_test(path), "{path}");
    }
    // Documents, data and settings are in no language, whatever they are called and wherever they lie.
    let others = [
        "spec/openapi.yaml",
        "docs/testing.md",
        "tests/data.json",
        "test/README.md",
        "pytest.ini",
        "Dockerfile",
        "tests",
        "",
        "src/test.rs/notes",
    ];
    for path in others {
        assert_eq!((SourceLanguage::of(path), is_code(path), is_test(path)), (None, false, false), "{path}");
    }
    // Nobody asks for a test of these.
    for path in ["deploy.sh", "migrations/1.sql", "cart.pyi"] {
        assert!(SourceLanguage::of(path).is_some() && !is_code(path) && !is_test(path), "{path}");
    }
}

#[test]
fn helpers_in_a_folder_of_tests_count_as_tests() {
    for path in ["src/test/java/com/acme/Fixtures.java", "tests/support/mod.rs", "Tests/Helper.swift"] {
        assert!(is_test(path), "{path}");
    }
    assert!(in_test_folder("tests/data.json") && in_test_folder("spec/openapi.yaml"));
    assert!(!in_test_folder("src/tests.rs") && !in_test_folder("tests"));
}

#[test]
fn the_subject_of_a_test() {
    let table = [
        ("tests/test_calc.py", "calc"),
        ("web/calc.test.ts", "calc"),
        ("web/calc-spec.js", "calc"),
        ("pkg/calc_test.go", "calc"),
        ("src/test/java/com/acme/CalcTest.java", "Calc"),
        ("CalcITCase.java", "Calc"),
        ("spec/calc_spec.rb", "calc"),
        ("calc_SUITE.erl", "calc"),
        ("tests/testthat/test-calc.R", "calc"),
        ("src/calc.rs", "calc"),
        ("src/contest.rs", "contest"),
        ("Test.java", "Test"),
        ("tests/é_test.py", "é"),
        ("com.acme.CalcTest", "com"),
    ];
    for (path, expected) in table {
        assert_eq!(subject(path), expected, "{path}");
    }
}

#[test]
fn an_attribute_of_php_is_no_comment() {
    for (path, line, is_code) in [
        ("a.php", "#[IsGranted('ROLE_ADMIN')]", true),
        ("a.php", "# [who may]", false),
        ("a.php", "// #[IsGranted]", false),
        ("a.py", "#[1] see above", false),
        ("a.rs", "#[derive(Debug)]", true),
    ] {
        assert_eq!(Comments::of(path).has_code(line, &mut false), is_code, "{path} {line}");
    }
}
