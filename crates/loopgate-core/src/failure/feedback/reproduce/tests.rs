//! Failures and command lines, and the command that runs each failure alone.

use super::*;

fn run(command: &str, test: &str, file: &str) -> Option<String> {
    let failure = Failure {
        test_name: Some(test.to_owned()),
        test_file: Some(file.to_owned()).filter(|file| !file.is_empty()),
        line_number: Some(12),
        reproduce: Some(ReproduceProof::Proven),
        ..Failure::default()
    };
    reproduce(&failure, command, "")
}

#[test]
fn a_runner_prints_its_sum_where_nothing_filters_it() {
    let table = [
        // Command, whether the sum is seen, whether the status is the runner's.
        ("pytest -v", true, true),
        ("cd api && npx jest", true, true),
        ("pytest | tee log", true, false),
        ("pytest 2>&1 | tee -a log; exit 0", true, false),
        ("go test -v ./... || true", true, false),
        ("pytest -q", false, true),
        ("npx vitest run --reporter=dot", false, true),
        ("pytest | tail -n 3", false, false),
        ("pytest || echo failed", false, false),
        ("npm test", false, false),
        ("make check", false, false),
    ];
    for (command, is_seen, is_own) in table {
        let found = (prints_its_sum(command), ends_as_its_runner(command));
        assert_eq!(found, (is_seen, is_own), "{command}");
    }
}

#[test]
fn a_tool_starts_where_its_command_goes() {
    let table = [
        // Command, where it runs, where the tool starts.
        ("go test ./...", "", ""),
        ("cd server && go test ./...", "", "server"),
        ("cd server && go test ./...", "apps", "apps/server"),
        ("npm --prefix web test", "", "web"),
        ("cd ../other && go test ./...", "", ""),
    ];
    for (command, directory, start) in table {
        assert_eq!(tool_directory(command, directory), start, "{command}");
    }
}

#[test]
fn what_only_writes_a_report_goes_with_its_option() {
    let cases = [
        (
            "phpunit --log-junit \"$LOOPGATE_REPORTS/phpunit.xml\"",
            "phpunit",
        ),
        (
            "phpstan analyse --error-format=x > \"$LOOPGATE_REPORTS/x.xml\"",
            "phpstan analyse --error-format=x",
        ),
        (
            "pytest -q --junitxml=$LOOPGATE_REPORTS/x.xml tests",
            "pytest -q tests",
        ),
        (
            "npm test -- --reporter=junit --outputFile $LOOPGATE_REPORTS/x.xml",
            "npm test",
        ),
    ];
    for (command, typed) in cases {
        assert_eq!(without_reports(command).as_deref(), Some(typed));
    }
}

#[test]
fn a_word_within_another_names_no_tool() {
    let django = run(
        "python -m django test",
        "cart.tests.CartTests.test_total",
        "",
    )
    .unwrap();
    assert!(!django.contains("go test ."), "{django}");
    assert_eq!(
        run("go test ./...", "TestTotal", "cart/cart_test.go").as_deref(),
        Some("go test ./cart -run '^TestTotal$'")
    );
}

#[test]
fn each_framework_has_its_command() {
    let cases = [
        (
            "cargo test",
            "cart::tests::totals",
            "src/cart.rs",
            "cargo test cart::tests::totals",
        ),
        (
            "cargo nextest run",
            "shop::it adds",
            "",
            "cargo nextest run adds",
        ),
        (
            "cargo test",
            "src/cart.rs - cart::total (line 3)",
            "",
            "cargo test --doc cart::total",
        ),
        (
            "pytest -q",
            "test_total[1-2]",
            "tests/test_cart.py",
            "pytest 'tests/test_cart.py::test_total[1-2]' -x",
        ),
        (
            "pytest",
            "pytest.tests.unit.test_cart",
            "tests/unit/test_cart.py",
            "pytest tests/unit/test_cart.py -x",
        ),
        (
            "pytest",
            "tests.test_cart.TestCart::test_total",
            "tests/test_cart.py",
            "pytest tests/test_cart.py::TestCart::test_total -x",
        ),
        (
            "pytest",
            "tests.test_cart test_total[two words]",
            "tests/test_cart.py",
            "pytest 'tests/test_cart.py::test_total[two words]' -x",
        ),
        (
            "pytest",
            "tests.test_cart.TestCart.test_total[1.5]",
            "",
            "pytest 'tests/test_cart.py::TestCart::test_total[1.5]' -x",
        ),
        (
            "PYTHONPATH=src python3 -m twisted.trial --reporter=text shop",
            "shop.test_cart.D.test_x",
            "",
            "PYTHONPATH=src python3 -m twisted.trial shop.test_cart.D.test_x",
        ),
        (
            "bin/trial shop",
            "shop.test_cart.D.test_x",
            "",
            "bin/trial shop.test_cart.D.test_x",
        ),
        (
            "python3 manage.py test -v 2",
            "cart.tests.CartTests.test_total",
            "cart/tests.py",
            "python3 manage.py test cart.tests.CartTests.test_total",
        ),
        (
            "python -m unittest",
            "test_cart.Cart.test_total",
            "",
            "python -m unittest test_cart.Cart.test_total",
        ),
        (
            "python -m unittest",
            "test_total (test_cart.Cart) [both] (i=2)",
            "test_cart.py",
            "python -m unittest test_cart.Cart.test_total",
        ),
        (
            "python3 -m unittest discover -s tests -t .",
            "test_total (tests.test_cart.Cart.test_total)",
            "tests/test_cart.py",
            "python3 -m unittest discover -s tests -t . -k tests.test_cart.Cart.test_total",
        ),
        (
            "python3 -m unittest",
            "tests.test_cart.Cart test_each (i=1)",
            "tests/test_cart.py",
            "python3 -m unittest tests.test_cart.Cart.test_each",
        ),
        (
            "python -m django test --settings=ci",
            "test_total (cart.tests.Cart.test_total)",
            "cart/tests.py",
            "python -m django test --settings=ci cart.tests.Cart.test_total",
        ),
        (
            "python3 -m django test --settings ci",
            "unittest.loader._FailedTest.test_cart",
            "",
            "python3 -m django test --settings ci test_cart",
        ),
        (
            "python3 -m unittest",
            "setUpClass (tests.test_cart.Cart)",
            "tests/test_cart.py",
            "python3 -m unittest tests.test_cart.Cart",
        ),
        (
            "python tests/test_cart.py",
            "__main__.Cart.test_total",
            "tests/test_cart.py",
            "python tests/test_cart.py",
        ),
        (
            "python -m unittest",
            "__main__.Cart.test_x",
            "tests/test_cart.py",
            "python -m unittest tests.test_cart.Cart.test_x",
        ),
        (
            "cargo test",
            "UTS #46 line 3384",
            "idna/tests/uts46.rs",
            "cargo test --test uts46",
        ),
        (
            "cargo test",
            "UTS #46 line 3384",
            "src/lib.rs",
            "cargo test",
        ),
        (
            "pytest",
            "tests/test_cart.py::test_total",
            "",
            "pytest tests/test_cart.py::test_total -x",
        ),
        (
            "npx vitest run",
            "cart > adds two",
            "test/cart.test.ts",
            "npx vitest run test/cart.test.ts -t 'adds two'",
        ),
        (
            "npm run jest",
            "cart › adds",
            "test/cart.test.ts",
            "npx jest test/cart.test.ts -t adds",
        ),
        (
            "mocha",
            "adds",
            "test/cart.spec.js",
            "mocha test/cart.spec.js -g adds",
        ),
        (
            "go test ./...",
            "TestTotal/empty",
            "cart/cart_test.go",
            "go test ./cart -run '^TestTotal$/^empty$'",
        ),
        (
            "go test ./...",
            "github.com/acme/shop/cart.TestTotal",
            "",
            "go test ./... -run '^TestTotal$'",
        ),
        (
            "mvn -B verify",
            "com.acme.CartTest.total",
            "",
            "mvn -Dtest=CartTest#total test",
        ),
        (
            "./gradlew check",
            "total()",
            "src/test/java/com/acme/CartTest.java",
            "./gradlew test --tests CartTest.total",
        ),
        (
            "gradle test",
            "com.acme.CartTest adds tax",
            "",
            "gradle test --tests 'CartTest.adds tax'",
        ),
        (
            "gradle test",
            "com.acme.CartTest > adds",
            "",
            "gradle test --tests CartTest.adds",
        ),
        (
            "mvn test",
            "com.acme.CartTest.total(int)[1]",
            "",
            "mvn -Dtest=CartTest#total test",
        ),
        (
            "mvn test",
            "com.acme.CartTest total{int, long}[1]",
            "",
            "mvn -Dtest=CartTest#total test",
        ),
        (
            "mvn test",
            "com.acme.CartTest$Tax.adds",
            "",
            "mvn -Dtest='CartTest$Tax#adds' test",
        ),
        (
            "vendor/bin/phpunit",
            "Tests\\CartTest.testTotal with data set #0",
            "",
            "vendor/bin/phpunit --filter testTotal",
        ),
        ("rspec", "Cart adds", "", "rspec -e 'Cart adds'"),
        (
            "dotnet test",
            "Shop.CartTests.Total",
            "",
            "dotnet test --filter FullyQualifiedName~Shop.CartTests.Total",
        ),
        (
            "bundle exec rspec",
            "Cart adds",
            "spec/cart_spec.rb",
            "bundle exec rspec spec/cart_spec.rb:12",
        ),
        (
            "vendor/bin/phpunit",
            "CartTest::testTotal",
            "tests/CartTest.php",
            "vendor/bin/phpunit --filter testTotal tests/CartTest.php",
        ),
        (
            "swift test",
            "ShopTests.CartTests testTotal",
            "",
            "swift test --filter ShopTests.CartTests/testTotal",
        ),
        ("make check", "anything", "", "make check"),
        (
            "node --import tsx --test",
            "cart > adds two",
            "test/cart.test.ts",
            "node --import tsx --test --test-name-pattern '^((cart )?adds )?two$' test/cart.test.ts",
        ),
        (
            "npx playwright test",
            "[chromium] › tests/cart.spec.ts:6:3 › cart › adds two",
            "tests/cart.spec.ts",
            "npx playwright test --project chromium tests/cart.spec.ts -g 'adds two'",
        ),
        (
            "ctest --test-dir build -j 4",
            "adds.two",
            "",
            r"ctest --test-dir build -R '^adds\.two$'",
        ),
        (
            "java -jar lib/junit-platform-console-standalone-1.9.1.jar -cp out --scan-class-path",
            "CartTest > addsTwo()",
            "",
            "java -jar lib/junit-platform-console-standalone-1.9.1.jar -cp out --select-method CartTest#addsTwo",
        ),
        (
            "cargo test --workspace --no-fail-fast",
            "cart::adds",
            "",
            "cargo test --workspace cart::adds",
        ),
        (
            "pytest",
            "",
            "tests/test_cart.py",
            "pytest tests/test_cart.py -x",
        ),
        (
            "vitest",
            "test/a.test.ts",
            "test/a.test.ts",
            "vitest run test/a.test.ts",
        ),
        ("jest", "adds", "/srv/shop/test/a.test.ts", "jest -t adds"),
    ];
    for (command, test, file, expected) in cases {
        assert_eq!(
            run(command, test, file).as_deref(),
            Some(expected),
            "{test}"
        );
    }
}

#[test]
fn options_for_reports_are_ours_and_not_the_readers() {
    for (command, expected) in [
        (
            r#"npm run test -- --json --outputFile="$LOOPGATE_REPORTS/jest.json""#,
            "npm run test",
        ),
        (
            r#"npm run test -- --run --reporter=default --reporter=junit --outputFile.junit="$LOOPGATE_REPORTS/v.xml""#,
            "npm run test -- --run",
        ),
        (
            r#"python -m pytest --junitxml="$LOOPGATE_REPORTS/p.xml" -q"#,
            "python -m pytest -q",
        ),
        (
            r#"yarn run test --reporter xunit --reporter-option output="$LOOPGATE_REPORTS/m.xml""#,
            "yarn run test",
        ),
        ("make check --json", "make check --json"),
    ] {
        assert_eq!(without_reports(command).as_deref(), Some(expected));
    }
}

#[test]
fn in_a_directory_of_its_own() {
    let mut failure = Failure {
        test_name: Some("cart > adds".into()),
        test_file: Some("web/test/cart.test.ts".into()),
        ..Failure::default()
    };
    let there = "cd web && npx vitest run test/cart.test.ts -t adds";
    let in_web = |command, failure: &Failure| reproduce(failure, command, "web/");
    assert_eq!(in_web("npx vitest run", &failure).as_deref(), Some(there));
    let at_top = |command| reproduce(&failure, command, "");
    assert_eq!(at_top("cd web && npx vitest run").as_deref(), Some(there));
    assert_eq!(
        at_top("npm --prefix web run test:vitest").as_deref(),
        Some(there)
    );
    failure.error_type = ErrorType::LintError;
    assert_eq!(
        in_web("npx vitest run", &failure).as_deref(),
        Some("cd web && npx vitest run")
    );
    assert_eq!(
        in_web("cd app && make lint", &failure).as_deref(),
        Some("cd web/app && make lint")
    );
}

#[test]
fn in_a_package_of_a_workspace() {
    let failure = |file: &str| Failure {
        test_name: Some("slug > spaces".into()),
        test_file: Some(file.into()),
        stack_trace: Some("❯ src/slug.test.js:4:20".into()),
        ..Failure::default()
    };
    let told = |command, file| reproduce(&failure(file), command, "");
    let there = Some("cd packages/web && npx vitest run src/slug.test.js -t spaces".to_owned());
    for command in [
        "npm test --workspaces",
        "npm run test -w @acme/web",
        "pnpm -r test",
        "yarn workspaces run test",
    ] {
        assert_eq!(
            told(command, "packages/web/src/slug.test.js"),
            there,
            "{command}"
        );
    }
    let flat = "cd packages/web && npx vitest run slug.test.js -t spaces";
    assert_eq!(
        told("npm test -ws", "packages/web/slug.test.js").as_deref(),
        Some(flat)
    );
    let at_top = Some("npx vitest run src/slug.test.js -t spaces");
    assert_eq!(
        told("npm test --workspaces", "src/slug.test.js").as_deref(),
        at_top
    );
    assert_eq!(told("npm test", "src/slug.test.js").as_deref(), at_top);
}

#[test]
fn a_script_of_a_package_runs_what_its_report_or_its_trace_shows() {
    for (report, trace, expected) in [
        (
            "r.xml",
            "    at Context.<anonymous> (test/cart.js:6:12)",
            "npx mocha test/cart.js -g adds",
        ),
        (
            "r.xml",
            "    at async Context.<anonymous> (test/cart.js:6:12)",
            "npx mocha test/cart.js -g adds",
        ),
        (
            "r.xml",
            "    at UserContext.<anonymous> (test/cart.js:6:12)",
            "npm run test",
        ),
        (
            "jest.json",
            "    at Object.<anonymous> (test/cart.js:6:12)",
            "npx jest test/cart.js -t adds",
        ),
    ] {
        let failure = Failure {
            test_name: Some("adds".into()),
            test_file: Some("test/cart.js".into()),
            stack_trace: Some(trace.into()),
            ..Failure::default()
        };
        let command =
            format!("npm run test -- --reporter-option output=\"$LOOPGATE_REPORTS/{report}\"");
        assert_eq!(
            reproduce(&failure, &command, "").as_deref(),
            Some(expected),
            "{trace}"
        );
    }
}

#[test]
fn in_the_package_whose_test_it_is() {
    let inner = |command: &str, file: &str, test: &str| {
        let failure = Failure {
            test_name: Some(test.into()),
            test_file: Some(file.into()),
            directory: Some("packages/web".into()),
            reproduce: Some(ReproduceProof::Proven),
            ..Failure::default()
        };
        reproduce(&failure, command, "").unwrap()
    };
    let cases = [
        (
            "npx vitest run",
            "packages/web/a.test.ts",
            "cart > adds",
            "cd packages/web && npx vitest run a.test.ts -t adds",
        ),
        (
            "./mvnw -B test",
            "packages/web/src/test/java/ATest.java",
            "a.ATest.adds",
            "./mvnw -pl packages/web -am -Dsurefire.failIfNoSpecifiedTests=false -Dtest=ATest#adds test",
        ),
        (
            "./gradlew test",
            "",
            "a.ATest.adds",
            "./gradlew -p packages/web test --tests ATest.adds",
        ),
        (
            "mvn -pl packages/web test",
            "",
            "a.ATest.adds",
            "mvn -pl packages/web -Dtest=ATest#adds test",
        ),
        (
            "./node_modules/.bin/jest",
            "packages/web/a.test.ts",
            "adds",
            "./node_modules/.bin/jest packages/web/a.test.ts -t adds",
        ),
        (
            "make test",
            "packages/web/a_test.go",
            "TestAdds",
            "make test",
        ),
        (
            "go test ./...",
            "packages/web/a_test.go",
            "TestAdds",
            "cd packages/web && go test ./... -run '^TestAdds$'",
        ),
    ];
    for (command, file, test, expected) in cases {
        assert_eq!(inner(command, file, test), expected, "{command}");
    }
}

#[test]
fn as_the_check_itself_does_it() {
    let cases = [
        (
            "poetry run pytest -q",
            "test_total",
            "tests/test_cart.py",
            "poetry run pytest tests/test_cart.py::test_total -x",
        ),
        (
            "cargo test -p shop --all-features",
            "cart::adds",
            "",
            "cargo test -p shop --all-features cart::adds",
        ),
        (
            "go test -race -tags integration ./...",
            "TestTotal",
            "cart/cart_test.go",
            "go test -race -tags integration ./cart -run '^TestTotal$'",
        ),
        (
            "./gradlew :app:testDebugUnitTest",
            "com.acme.CartTest.total",
            "",
            "./gradlew :app:testDebugUnitTest --tests CartTest.total",
        ),
        (
            "dotnet test src/Shop.Tests -v q",
            "Shop.CartTests.Total",
            "",
            "dotnet test src/Shop.Tests --filter FullyQualifiedName~Shop.CartTests.Total",
        ),
        (
            "python3 backend/manage.py test --settings=ci",
            "cart.tests.Total",
            "",
            "python3 backend/manage.py test --settings=ci cart.tests.Total",
        ),
        // Whatever it runs, it is not shown: a guess from the file's name would be another program.
        (
            "./ci/test.sh",
            "test_total",
            "tests/test_cart.py",
            "./ci/test.sh",
        ),
        (
            "tox -e py312",
            "test_total",
            "tests/test_cart.py",
            "tox -e py312",
        ),
    ];
    for (command, test, file, expected) in cases {
        assert_eq!(
            run(command, test, file).as_deref(),
            Some(expected),
            "{command}"
        );
    }
}

#[test]
fn a_command_is_proven_or_absent() {
    let failure = |proof| Failure {
        test_name: Some("com.acme.CartTest.total".into()),
        reproduce: proof,
        ..Failure::default()
    };
    let told = |proof| reproduce(&failure(proof), "mvn -B test", "").unwrap();
    let (one, own) = ("mvn -Dtest=CartTest#total test", "mvn -B test");
    assert_eq!(told(Some(ReproduceProof::Proven)), one);
    assert_eq!(told(Some(ReproduceProof::Dropped)), own);
    // In a log nothing can be executed, and nobody has shown that Maven chooses so.
    assert_eq!(told(None), own);
    assert_eq!(
        to_prove(&failure(None), "mvn -B test", "").as_deref(),
        Some(one)
    );
    assert_eq!(to_prove(&failure(None), "make check", ""), None);
}

#[test]
fn what_stands_in_front_of_the_tool_stays() {
    for (command, expected) in [
        (
            "cmake -B b && ctest --test-dir b",
            "cmake -B b && ctest --test-dir b -R '^adds$'",
        ),
        ("cd x && make && ctest", "cd x && make && ctest -R '^adds$'"),
        ("ctest 2>&1 | tee log", "ctest -R '^adds$'"),
        ("ctest --test-dir b > log", "ctest --test-dir b -R '^adds$'"),
        ("ctest || true", "ctest || true"),
        ("ctest; echo done", "ctest; echo done"),
    ] {
        assert_eq!(run(command, "adds", "").as_deref(), Some(expected));
    }
}

#[test]
fn what_is_no_name_of_pytest_s_is_not_chosen() {
    for name in [
        "coverage: platform linux, python 3.11.7-final-0",
        "shop.total",
    ] {
        assert_eq!(run("pytest -q", name, "").as_deref(), Some("pytest -q"));
    }
    assert_eq!(
        run("pytest", "test_doubles[double] (i=2)", "test_sub.py").as_deref(),
        Some("pytest test_sub.py::test_doubles -x")
    );
}

#[test]
fn names_cannot_leave_their_word() {
    assert_eq!(
        run("npx vitest run", "a'; rm -rf ~ #", "").as_deref(),
        Some(r"npx vitest run -t 'a'\''; rm -rf ~ #'")
    );
    assert_eq!(
        run("npx vitest run", "$(id) `id` \"", "").as_deref(),
        Some("npx vitest run -t '\\$\\(id\\) `id` \"'")
    );
    // An option or a second line: the check's own command instead.
    assert_eq!(
        run("cargo test", "--config=x", "").as_deref(),
        Some("cargo test")
    );
    assert_eq!(
        run("cargo test", "a\nrm -rf ~", "").as_deref(),
        Some("cargo test")
    );
}
