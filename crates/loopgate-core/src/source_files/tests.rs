use super::{
    FileKind, Syntax, in_test_folder, is_code, is_test, kind, language_of, table::LANGUAGES,
};

/// Code of each language, and tests of it.
const EXAMPLES: &[(&str, &[&str], &[&str])] = &[
    (
        "c",
        &["src/cart.c", "src/cart.h"],
        &["cart_test.c", "test_cart.c", "tests/cart.c"],
    ),
    (
        "clojure",
        &["src/shop/cart.clj", "src/cart.cljs"],
        &["test/shop/cart_test.clj", "cart_test.cljc"],
    ),
    (
        "cpp",
        &["a.cc", "a.cpp", "a.cxx", "a.hpp"],
        &["CartTest.cpp", "cart_unittest.cc", "unittests/ADT/Cart.cpp"],
    ),
    (
        "csharp",
        &["Shop/Cart.cs"],
        &[
            "Shop.Tests/CartTest.cs",
            "Shop.Tests/Given.cs",
            "CartTests.cs",
        ],
    ),
    (
        "dart",
        &["lib/cart.dart"],
        &["test/cart_test.dart", "lib/cart_test.dart"],
    ),
    (
        "elixir",
        &["lib/cart.ex", "config.exs"],
        &["test/cart_test.exs", "cart_test.exs"],
    ),
    (
        "erlang",
        &["src/cart.erl"],
        &["cart_tests.erl", "cart_SUITE.erl"],
    ),
    (
        "fsharp",
        &["Cart.fs"],
        &["CartTests.fs", "Shop.Tests/Program.fs"],
    ),
    ("go", &["cart/cart.go"], &["cart/cart_test.go"]),
    (
        "groovy",
        &["src/main/groovy/Cart.groovy"],
        &["CartSpec.groovy", "src/test/groovy/Cart.groovy"],
    ),
    (
        "haskell",
        &["src/Cart.hs"],
        &["CartSpec.hs", "Spec.hs", "test/Main.hs"],
    ),
    (
        "java",
        &["src/main/java/Cart.java"],
        &[
            "CartTest.java",
            "CartIT.java",
            "CartTestCase.java",
            "src/androidTest/java/Cart.java",
        ],
    ),
    (
        "javascript",
        &["cart.js", "cart.jsx", "cart.mjs", "cart.cjs"],
        &[
            "cart.test.js",
            "cart.spec.jsx",
            "cart-test.js",
            "cart.cy.js",
            "__tests__/cart.mjs",
            "CartSpec.js",
        ],
    ),
    (
        "julia",
        &["src/Cart.jl"],
        &["test/runtests.jl", "runtests.jl"],
    ),
    (
        "kotlin",
        &["Cart.kt", "build.gradle.kts"],
        &["CartTest.kt", "CartSpec.kt", "src/jvmTest/kotlin/Cart.kt"],
    ),
    (
        "lua",
        &["cart.lua"],
        &["spec/cart_spec.lua", "cart_spec.lua"],
    ),
    ("nim", &["cart.nim"], &["tests/tcart.nim", "test_cart.nim"]),
    (
        "objective_c",
        &["Cart.m", "Cart.mm"],
        &["CartTests.m", "ShopTests/Cart.m"],
    ),
    ("ocaml", &["cart.ml"], &["test_cart.ml", "test/cart.ml"]),
    ("perl", &["cart.pl", "lib/Cart.pm"], &["t/cart.t"]),
    (
        "php",
        &["shop/Cart.php"],
        &["shop/CartTest.php", "CartCest.php", "tests/Cart.php"],
    ),
    (
        "python",
        &["cart.py"],
        &[
            "test_cart.py",
            "cart_test.py",
            "conftest.py",
            "cart/tests.py",
        ],
    ),
    (
        "r",
        &["R/cart.R", "cart.r"],
        &["tests/testthat/test-cart.R", "test-cart.R"],
    ),
    (
        "ruby",
        &["lib/cart.rb"],
        &["spec/cart_spec.rb", "cart_spec.rb", "test_cart.rb"],
    ),
    (
        "rust",
        &["src/cart.rs"],
        &["tests/cart.rs", "src/tests.rs", "src/cart_tests.rs"],
    ),
    (
        "scala",
        &["Cart.scala"],
        &[
            "CartSpec.scala",
            "CartTest.scala",
            "src/it/scala/CartIT.scala",
        ],
    ),
    (
        "shell",
        &[],
        &["tests/cart.sh", "test_cart.sh", "cart.bats", "cart-test.sh"],
    ),
    ("sql", &[], &["tests/cart.sql"]),
    ("svelte", &["App.svelte"], &["App.test.svelte"]),
    (
        "swift",
        &["Sources/Cart.swift"],
        &[
            "Tests/ShopTests/Cart.swift",
            "CartTests.swift",
            "ShopUITests/Cart.swift",
        ],
    ),
    (
        "typescript",
        &["app.ts", "app.tsx", "app.mts", "app.cts", "index.d.ts"],
        &[
            "cart.test.mts",
            "cart.spec.ts",
            "cart.test.tsx",
            "cart_test.ts",
            "e2e/cart.cts",
        ],
    ),
    ("visual_basic", &["Cart.vb"], &["CartTests.vb"]),
    ("vue", &["App.vue"], &["App.spec.vue"]),
    (
        "zig",
        &["src/cart.zig"],
        &["test/cart.zig", "cart_test.zig"],
    ),
];

#[test]
fn code_and_tests_of_each_language() {
    let named = || {
        LANGUAGES
            .languages
            .iter()
            .filter_map(|row| row.name.as_deref())
    };
    assert_eq!(EXAMPLES.len(), named().count());
    let of_runners = LANGUAGES
        .runners
        .iter()
        .flat_map(|row| row.languages.iter().chain(&row.usual_for));
    of_runners.for_each(|name| assert!(named().any(|known| known == name), "{name}"));
    for (language, code, tests) in EXAMPLES {
        let rows = LANGUAGES
            .languages
            .iter()
            .filter(|row| row.name.as_deref() == Some(*language));
        assert_eq!(rows.count(), 1, "{language:?} has one row");
        for path in *code {
            assert_eq!(language_of(path), Some(*language), "{path}");
            assert!(is_code(path) && !is_test(path), "{path}");
        }
        for path in *tests {
            assert_eq!(language_of(path), Some(*language), "{path}");
            assert!(is_test(path), "{path}");
        }
    }
}

#[test]
fn no_two_rows_share_an_extension_and_each_names_a_syntax() {
    let table = &*LANGUAGES;
    let all = table.languages.iter().flat_map(|row| {
        row.code
            .iter()
            .chain(&row.other)
            .chain(&row.test.extensions)
    });
    let mut extensions: Vec<&String> = all.collect();
    let count = extensions.len();
    extensions.sort_unstable();
    extensions.dedup();
    assert_eq!(extensions.len(), count);
    for row in &table.languages {
        assert!(table.syntax.contains_key(&row.syntax), "{}", row.syntax);
        assert!(
            row.tests
                .as_ref()
                .is_none_or(|tests| table.test_syntax.contains_key(tests)),
            "{:?}",
            row.tests
        );
    }
}

/// What has no default may not be left out.
#[test]
fn each_row_says_what_it_is_of() {
    let file: toml::Table = include_str!("../../data/languages.toml").parse().unwrap();
    for (rows, key) in [
        ("language", "syntax"),
        ("kind", "kind"),
        ("runner", "tool"),
        ("frame", "pattern"),
    ] {
        let rows = file[rows].as_array().unwrap();
        assert!(rows.iter().all(|row| row.get(key).is_some()), "{key}");
    }
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
        assert_eq!(
            (language_of(path), is_code(path), is_test(path)),
            (None, false, false),
            "{path}"
        );
    }
    // These need no test.
    for path in ["deploy.sh", "migrations/1.sql", "cart.pyi"] {
        assert!(
            language_of(path).is_some() && !is_code(path) && !is_test(path),
            "{path}"
        );
    }
}

#[test]
fn helpers_in_a_folder_of_tests_count_as_tests() {
    for path in [
        "src/test/java/com/acme/Fixtures.java",
        "tests/support/mod.rs",
        "Tests/Helper.swift",
    ] {
        assert!(is_test(path), "{path}");
    }
    assert!(in_test_folder("tests/data.json") && in_test_folder("spec/openapi.yaml"));
    assert!(!in_test_folder("src/tests.rs") && !in_test_folder("tests"));
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
        let (code, _) = Syntax::of(path).without_comments(std::iter::once(line));
        assert_eq!(!code[0].trim().is_empty(), is_code, "{path} {line}");
    }
}

/// What begins like a comment and is no prose counts as code.
#[test]
fn a_comment_is_prose() {
    for (path, line, is_comment) in [
        ("a.ts", "// why this is so: see `run()`", true),
        ("a.rb", "# @param token who signs in", true),
        ("a.rs", "//! The guided tour.", true),
        ("a.ts", "// ${eval(q)}", false),
        ("a.rb", "# #{eval(q)}", false),
        ("a.jsx", "// {eval(q)}", false),
        ("a.go", "// +kubebuilder:rbac:groups=*", false),
        ("a.java", "//DEPS evil:evil:1", false),
        ("a.scala", "//> using dep evil", false),
        ("a.py", "# dependencies = [\"evil\"]", false),
        ("a.php", "// @IsGranted(\"ROLE_ADMIN\")", false),
        ("a.java", "// \\uu000a run();", false),
    ] {
        assert_eq!(
            Syntax::of(path).is_comment(line),
            is_comment,
            "{path} {line}"
        );
    }
}

/// Marks that languages read in different ways prove nothing about the lines between them.
#[test]
fn nested_comments_and_escaped_ends_are_not_certain() {
    for (path, text) in [
        ("a.rs", "/* a /* b */\ncheck();\n// */\n"),
        ("a.js", "const n = `a\\`;\ncheck();\n// `;\n"),
        ("a.py", "\"\"\"see \\\"\"\"\ncheck()\n# \"\"\"\n"),
    ] {
        assert_eq!(Syntax::of(path).lex(text), None, "{path}");
    }
    for (path, text) in [
        ("a.c", "# if 0\ncheck();\n# endif\n"),
        ("a.php", "?>\ncheck();\n<?php\n"),
        ("a.lua", "--[==[\ncheck()\n--]==]\n"),
    ] {
        let second = |text| Syntax::of(path).lex(text).map(|code| code[1]);
        assert_ne!(second(text), second("\ncheck();\n\n"), "{path}");
    }
}

#[test]
fn kinds_of_files() {
    for (expected, paths) in [
        (
            FileKind::Code,
            &[
                "src/auth.rs",
                "docs/conf.py",
                "examples/pay/main.go",
                "spec/support/login.rb",
                "src/generated/client.ts",
                "locales/de.ts",
                "bin/deploy",
                "app/views/login.html.erb",
                "src/main/java/test/acme/Shop.java",
                "Rakefile",
                "tests/examples/run.py",
                "CMakeLists.txt",
                "api/v1/shop.proto",
                "db/schema.prisma",
                // A name alone keeps no program from loading these.
                "public/test.php",
                "src/main/java/shop/SpeedTest.java",
                "pkg/test_init.go",
                "scripts/test.sh",
                "pages/shop.mdx",
            ][..],
        ),
        (
            FileKind::Tests,
            &[
                "Shop.Tests/compose.yml",
                "tests/cart.rs",
                "src/cart_test.go",
                "docs/test_conf.py",
                "spec/cart_spec.rb",
                "tests/data.json",
                "src/auth/authSpec.js",
                "src/login.cy.ts",
                "tests/LoginCest.php",
                "auth_SUITE.erl",
                "R/test-auth.R",
            ],
        ),
        (
            FileKind::Docs,
            &[
                "README.md",
                "docs/login.html.md",
                "LICENSE",
                "docs/api.yaml",
                "CHANGELOG-1.x",
                "a.css",
            ],
        ),
        (
            FileKind::Config,
            &[
                "config/app.yml",
                "Dockerfile.dev",
                "main.tf",
                ".env.local",
                "nginx.conf",
                "Makefile",
            ],
        ),
        (
            FileKind::Manifest,
            &[
                "Cargo.toml",
                "web/package.json",
                "requirements-dev.txt",
                "requirements/base.txt",
                "app/build.gradle",
                ".npmrc",
            ],
        ),
        (
            FileKind::Ci,
            &[
                ".github/workflows/ci.yml",
                ".gitlab-ci.yml",
                ".mergify.yml",
                ".github/settings.yml",
                "renovate.json",
                ".github/actions/run.py",
                "docs/CODEOWNERS",
            ],
        ),
        (
            FileKind::Generated,
            &[
                "pixi.lock",
                "Cargo.lock",
                "api/shop.pb.go",
                "web/app.min.js",
                "generated/schema.json",
                "a/b_pb2.py",
            ],
        ),
        (
            FileKind::Translations,
            &[
                "locale/de/django.po",
                "src/i18n/de.json",
                "app/Resources/x.resx",
            ],
        ),
        (
            FileKind::Vendored,
            &["vendor/github.com/a/b.go", "node_modules/a/package.json"],
        ),
        (FileKind::Asset, &["web/logo.png", "src/auth/icon.svg"]),
    ] {
        for path in paths {
            assert_eq!(kind(path), expected, "{path}");
        }
    }
}

#[test]
fn a_line_is_a_comment_only_if_that_is_certain() {
    for (path, line, is_comment) in [
        ("a.js", "  // why", true),
        ("a.js", "x(); // why", false),
        ("a.js", "// x\u{2028} evil()", false),
        ("a.js", "// x\r evil()", false),
        (
            "a.js",
            "// eslint-disable-next-line security/detect-eval",
            false,
        ),
        ("a.js", "/* why */", false),
        ("a.js", "// a </script><script>evil()", false),
        ("A.java", "// \\u000a if (x) return true;", false),
        ("a.c", "// why \\", false),
        ("a.c", "// why ??/", false),
        ("a.go", "//go:build ignore", false),
        ("a.go", "//export Evil", false),
        ("a.go", "// #cgo LDFLAGS: -levil", false),
        ("a.py", "# coding: unicode_escape", false),
        ("a.py", "# why", true),
        ("a.py", "x = 1  # nosec", false),
        ("a.py", "# nosec", false),
        ("Dockerfile", "# syntax=evil/frontend", false),
        ("Dockerfile", "# why", true),
        ("a.sh", "#!/bin/sh", false),
        ("a.php", "// why ?> <?php evil();", false),
        ("a.php", "#[IsGranted('ROLE_ADMIN')]", false),
        ("a.rb", "#{name}", false),
        ("a.lua", "--[[ why", false),
        ("a.lua", "-- why", true),
        ("a.unknown", "# why", false),
        ("a.json", "# why", false),
    ] {
        assert_eq!(
            Syntax::of(path).is_comment(line),
            is_comment,
            "{path} {line:?}"
        );
    }
}

#[test]
fn lines_of_a_whole_text_that_are_code() {
    // `x` marks lines of code, `.` others; a letter in their place a line of code under another condition.
    for (path, expected, text) in [
        ("a.js", "x...x", "a();\n/* b();\nc();\n*/\nd();"),
        ("a.js", "x.x", "a(`\nb();\n`); c();"),
        ("a.js", "xx", "a('/*');\nb();"),
        ("a.py", "x..x", "x = \"\"\"\na()\n\"\"\"\nb()"),
        ("a.py", "xx", "a()  # \"\"\"\nb()"),
        ("a.sh", "x..x", "cat <<EOF\na\nEOF\nb"),
        ("a.rb", "x...x", "a\n=begin\nb\n=end\nc"),
        ("a.lua", "x..x", "a()\n--[[ b()\nc() ]]\nd()"),
        ("a.c", "x/xx", "a();\n#if 0\nb();\n#endif"),
    ] {
        let shown = Syntax::of(path)
            .lex(text)
            .map(|code| code.iter().map(Option::is_some).collect());
        let wanted: Vec<bool> = expected.chars().map(|c| c != '.').collect();
        assert_eq!(shown, Some(wanted), "{path}: {text}");
    }
    let conditions = |path: &str, text: &str| Syntax::of(path).lex(text).unwrap();
    let guarded = conditions(
        "a.c",
        "#ifndef A_H\na();\n#ifdef NEVER\nb();\n#endif\nc();\n#endif",
    );
    assert!(guarded[1] == guarded[5] && guarded[1] != guarded[3]);
    let go = conditions("a.go", "package a\n//go:build ignore\nfunc b() {}");
    assert_ne!(go[0], go[2]);
    let rust = conditions(
        "a.rs",
        "fn a() {}\n#[cfg(any())]\nfn b() {\n    c();\n}\nfn d() {}",
    );
    assert!(rust[0] == rust[5] && rust[0] != rust[3]);
    // What is not understood is not certain.
    for (path, text) in [
        ("a.js", "it's"),
        ("a.js", "a = /`/;"),
        ("a.js", "a();\n*/"),
        ("a.sh", "a 'b\nc'"),
    ] {
        assert_eq!(Syntax::of(path).lex(text), None, "{path}: {text}");
    }
}
