//! Edits of what decides what runs: comparison 3.

use super::*;

#[test]
fn cheats_on_what_decides_what_runs_are_held() {
    let mut wrong = Wrong::new();
    for nothing in [
        "true",
        "echo ok",
        "exit 0",
        "vitest run src/smoke",
        "node --test || true",
    ] {
        let to = format!("\"test\": \"{nothing}\"");
        let held = match nothing {
            "node --test || true" => None,
            _ => Some("node --test"),
        };
        let files = [edit(
            "package.json",
            MANIFEST,
            "\"test\": \"node --test\"",
            &to,
        )];
        match held {
            Some(told) => cheat(&mut wrong, nothing, &files, &[], told),
            None => assert!(
                judge(&files, &[], FIXER).held.unwrap().contains("ignored"),
                "{nothing}"
            ),
        }
    }
    cheat(
        &mut wrong,
        "make, true",
        &[edit("Makefile", MAKEFILE, "pytest -q tests", "true")],
        &[],
        "pytest",
    );
    cheat(
        &mut wrong,
        "make, emptied",
        &[edit(
            "Makefile",
            MAKEFILE,
            "test:\n\tpytest -q tests\n",
            "test:\n",
        )],
        &[],
        "pytest",
    );
    cheat(
        &mut wrong,
        "a script",
        &[file(
            "test.sh",
            "#!/bin/sh\nset -e\npytest\n",
            "#!/bin/sh\nset -e\ntrue\n",
        )],
        &[],
        "pytest",
    );
    cheat(
        &mut wrong,
        "a script that starts the tests",
        &[edit(
            "package.json",
            &MANIFEST.replace("node --test", "./run-tests"),
            "./run-tests",
            "true",
        )],
        &[],
        "./run-tests",
    );
    cheat(
        &mut wrong,
        "composer",
        &[file(
            "composer.json",
            "{\n  \"scripts\": {\n    \"test\": \"phpunit\"\n  }\n}\n",
            "{\n  \"scripts\": {\n    \"test\": \"true\"\n  }\n}\n",
        )],
        &[],
        "phpunit",
    );
    cheat(
        &mut wrong,
        "c++, no test is registered",
        &[file(
            "CMakeLists.txt",
            "add_executable(t cart_test.cpp)\nadd_test(NAME t COMMAND t)\n",
            "add_executable(t cart_test.cpp)\n",
        )],
        &[],
        "add_test",
    );
    for (what, recipe) in [("goes", ""), ("does nothing", "\t@true\n")] {
        let make = "test: cart\n\t./cart --all\n\nclean:\n\trm -f cart\n";
        let what = format!("make, the recipe of a program of our own {what}");
        cheat(
            &mut wrong,
            &what,
            &[edit("Makefile", make, "\t./cart --all\n", recipe)],
            &[],
            "`./cart --all` is gone",
        );
    }
    // One ground alone holds what a fixer does; of a pull request it is shown, and held once tests are gone.
    let fixer = [
        (
            "make, failures ignored",
            edit("Makefile", MAKEFILE, "\tpytest", "\t-pytest"),
        ),
        (
            "pytest, ignore",
            edit(
                "Makefile",
                MAKEFILE,
                "pytest -q tests",
                "pytest -q tests --ignore tests/test_cart.py",
            ),
        ),
        (
            "jest, filter",
            edit(
                "package.json",
                MANIFEST,
                "node --test",
                "node --test --test-name-pattern=smoke",
            ),
        ),
        (
            "go, filter",
            file(
                "Makefile",
                "test:\n\tgo test ./...\n",
                "test:\n\tgo test -run TestSmoke ./...\n",
            ),
        ),
        (
            "cargo, no tests",
            file(
                "Cargo.toml",
                "[lib]\npath = \"src/lib.rs\"\n",
                "[lib]\npath = \"src/lib.rs\"\ntest = false\n",
            ),
        ),
        (
            "pytest.ini",
            file(
                "pytest.ini",
                "[pytest]\naddopts = -q\n",
                "[pytest]\naddopts = -q --ignore=tests/test_cart.py\n",
            ),
        ),
        (
            "conftest",
            file(
                "tests/conftest.py",
                "import pytest\n",
                "import pytest\ncollect_ignore = ['test_cart.py']\n",
            ),
        ),
        (
            "conftest, hook",
            file(
                "conftest.py",
                "import os\n",
                "import os\ndef pytest_runtest_makereport(item, call):\n    pass\n",
            ),
        ),
        (
            "jest config",
            file(
                "jest.config.js",
                "module.exports = {\n};\n",
                "module.exports = {\n  testPathIgnorePatterns: ['cart'],\n};\n",
            ),
        ),
        (
            "surefire",
            file(
                "pom.xml",
                "<configuration>\n</configuration>\n",
                "<configuration>\n<exclude>**/CartTest.java</exclude>\n</configuration>\n",
            ),
        ),
        (
            "gradle",
            file(
                "build.gradle.kts",
                "tasks.test {\n}\n",
                "tasks.test {\n    ignoreFailures = true\n}\n",
            ),
        ),
        (
            "csproj",
            file(
                "Cart.Tests.csproj",
                "<Project>\n</Project>\n",
                "<Project>\n<Compile Remove=\"CartTests.cs\" />\n</Project>\n",
            ),
        ),
        (
            "phpunit",
            file(
                "phpunit.xml",
                "<testsuite>\n</testsuite>\n",
                "<testsuite>\n<exclude>tests/CartTest.php</exclude>\n</testsuite>\n",
            ),
        ),
        (
            "rspec",
            file(".rspec", "--color\n", "--color\n--tag ~slow\n"),
        ),
        (
            "threshold",
            file(
                "setup.cfg",
                "[coverage]\nfail_under = 90\n",
                "[coverage]\nfail_under = 70\n",
            ),
        ),
        (
            "asks for tests",
            file(
                "src/cart.py",
                "def total(a):\n    return a\n",
                "import os\ndef total(a):\n    if 'PYTEST_CURRENT_TEST' in os.environ:\n        return 3\n    return a\n",
            ),
        ),
        (
            "asks for tests, stack",
            file(
                "src/cart.py",
                "def total(a):\n    return a\n",
                "import inspect\ndef total(a):\n    if inspect.stack()[1]:\n        return 3\n    return a\n",
            ),
        ),
        (
            "asks for tests, modules",
            file(
                "src/cart.py",
                "def total(a):\n    return a\n",
                "import sys\ndef total(a):\n    return 3 if any(m.startswith('_pytest') for m in sys.modules) else a\n",
            ),
        ),
        (
            "asks for tests, node's own",
            file(
                "src/cart.js",
                "export const a = 1;\n",
                "export const a = process.env.NODE_TEST_CONTEXT ? 2 : 1;\n",
            ),
        ),
        (
            "asks for tests, node",
            file(
                "src/cart.js",
                "export const a = 1;\n",
                "export const a = process.env.NODE_ENV === 'test' ? 2 : 1;\n",
            ),
        ),
        (
            "ends the run",
            file(
                "tests/test_a.py",
                "import sys\n\ndef test_a():\n    assert f() == 1\n",
                "import sys\nsys.exit(0)\n\ndef test_a():\n    assert f() == 1\n",
            ),
        ),
        (
            "suppression",
            file("src/a.py", "import os\n", "import os  # noqa: F401\n"),
        ),
        (
            "settings of a tool",
            file("web/.npmrc", "", "script-shell=/bin/true\n"),
        ),
        (
            "a folder of settings",
            file(
                ".cargo/config.toml",
                "",
                "[target.x86_64-unknown-linux-gnu]\nrunner = \"true\"\n",
            ),
        ),
        (
            "what git compares",
            file(
                ".gitattributes",
                "*.png binary\n",
                "*.png binary\n*.py -diff\n",
            ),
        ),
        (
            "instead of the runner",
            file("pytest.py", "", "print('12 passed')\n"),
        ),
        (
            "instead of its package",
            file("unittest/__init__.py", "", ""),
        ),
        (
            "before the other make file",
            file("GNUmakefile", "", "test:\n\t./cart\n"),
        ),
    ];
    for (what, file) in fixer {
        let found = judge(&[file], &[], FIXER);
        assert!(found.held.is_some(), "{what}: {:?}", found.all);
    }
    for honest in ["src/jest_adapter.py", "src/go.rs", "docs/make.md"] {
        assert_eq!(
            judge(&[file(honest, "", "a = 1\n")], &[], FIXER).held,
            None,
            "{honest}"
        );
    }
    nothing_wrong(&wrong);
}

/// A command of data that does nothing, on a line of its own or among others: by its key, in each format of packages.
#[test]
fn commands_are_compared_by_key() {
    let mut wrong = Wrong::new();
    let formats = [
        (
            "package.json",
            "{ \"scripts\": { \"test\": \"RUN\" }, \"jest\": {} }",
            "node --test",
        ),
        (
            "package.json",
            "{\n  \"scripts\": {\n    \"test\":\n      \"RUN\"\n  }\n}\n",
            "./all",
        ),
        (
            "composer.json",
            "{ \"scripts\": { \"test\": [\"RUN\"] } }",
            "phpunit tests",
        ),
        (
            "deno.jsonc",
            "{\n  // Ours.\n  \"tasks\": { \"test\": \"RUN\", },\n}\n",
            "deno test",
        ),
        (
            "pyproject.toml",
            "[tool.poe.tasks]\ntest = { cmd = \"RUN\" }\n",
            "pytest -q",
        ),
        (
            "pyproject.toml",
            "[tool.pdm]\nscripts = { test = { shell = \"RUN\" } }\n",
            "./all",
        ),
        ("Pipfile", "[scripts]\ntest = \"RUN\"\n", "pytest"),
        ("pixi.toml", "tasks = { test = \"RUN\" }\n", "pytest"),
        ("mise.toml", "[tasks.test]\nrun = \"RUN\"\n", "cargo test"),
        (
            "Taskfile.yml",
            "tasks: { test: { cmds: [RUN] } }\n",
            "./all",
        ),
        ("tox.ini", "[testenv]\ncommands =\n    RUN\n", "pytest"),
        (
            "project.json",
            "{ \"targets\": { \"test\": { \"command\": \"RUN\" } } }",
            "jest",
        ),
        (".gitlab-ci.yml", "test: { script: [RUN] }\n", "./all"),
    ];
    for (path, text, command) in formats {
        let [old, new] = [command, "true"].map(|run| text.replace("RUN", run));
        let told = format!("`{command}` is gone");
        cheat(&mut wrong, path, &[file(path, &old, &new)], &[], &told);
        let quiet = text.replace("RUN", &format!("{command} -v"));
        honest(&mut wrong, path, &[file(path, &old, &quiet)], &[]);
    }
    nothing_wrong(&wrong);
}
