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
            "package.json",
            "{ \"scripts\": { \"test\": \"RUN\" } }",
            "vitest run",
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
        (
            "hatch.toml",
            "[envs.default.scripts]\ntest = \"RUN\"\n",
            "./all",
        ),
        (
            "pyproject.toml",
            "[tool.hatch.envs.default.scripts]\ntest = [\n  \"RUN\",\n]\n",
            "pytest tests",
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

/// What a check's command names is a command of the project's own: a script, a target, a task or an alias, whatever the
/// name, and in whichever table it stands.
#[test]
fn what_the_command_of_a_check_names_is_compared() {
    let mut wrong = Vec::new();
    for (run, path, old, new) in [
        (
            "npm run proof",
            "package.json",
            r#"{"scripts":{"proof":"./all"}}"#,
            r#"{"scripts":{"proof":"./none"}}"#,
        ),
        (
            "pnpm proof",
            "package.json",
            r#"{"scripts":{"proof":"pnpm a","a":"./all"}}"#,
            r#"{"scripts":{"proof":"pnpm a","a":"./b"}}"#,
        ),
        (
            "composer proof",
            "composer.json",
            r#"{"scripts":{"proof":["@a"],"a":"./all"}}"#,
            r#"{"scripts":{"proof":["@a"],"a":"true"}}"#,
        ),
        (
            "deno task proof",
            "deno.json",
            r#"{"tasks":{"proof":"./all"}}"#,
            r#"{"tasks":{"proof":"true"}}"#,
        ),
        (
            "pdm run proof",
            "pyproject.toml",
            "[tool.pdm.scripts]\nproof = { cmd = [\"./all\", \"-q\"] }\n",
            "[tool.pdm.scripts]\nproof = { cmd = [\"./a\", \"-q\"] }\n",
        ),
        (
            "hatch run proof",
            "pyproject.toml",
            "[tool.hatch.envs.default.scripts]\nproof = \"./all\"\n",
            "[tool.hatch.envs.default.scripts]\nproof = \"true\"\n",
        ),
        (
            "poe proof",
            "pyproject.toml",
            "[tool.poe.tasks]\nproof = \"./all\"\n",
            "[tool.poe.tasks]\nproof = \"true\"\n",
        ),
        (
            "pixi run proof",
            "pixi.toml",
            "[tasks]\nproof = { cmd = [\"./all\"] }\n",
            "[tasks]\nproof = { cmd = [\"true\"] }\n",
        ),
        (
            "tox -e proof",
            "tox.ini",
            "[testenv:proof]\ncommands =\n  ./all\n",
            "[testenv:proof]\ncommands =\n  true\n",
        ),
        (
            "make proof",
            "Makefile",
            "proof:\n\ta\n\tb\n\tc\n\td\n\te\n\t./all\n",
            "proof:\n\ta\n\tb\n\tc\n\td\n\te\n\ttrue\n",
        ),
        (
            "make proof",
            "Makefile",
            "proof: unit docs\nunit:\n\t./all\ndocs:\n\t./docs\n",
            "proof: docs\nunit:\n\t./all\ndocs:\n\t./docs\n",
        ),
        (
            "make proof",
            "Makefile",
            "proof: a\na:\n\t./all\n",
            "proof: a\na:\n\t./b\n",
        ),
        (
            "just proof",
            "justfile",
            "proof *args: a\n    ./all {{args}}\n",
            "proof *args: a\n    true\n",
        ),
        (
            "rake proof",
            "Rakefile",
            "task :proof do\n  sh \"./all\"\nend\n",
            "task :proof do\n  puts 1\nend\n",
        ),
        (
            "rake",
            "Rakefile",
            "task default: [:build, :test]\ntask :test do\n  sh \"./all\"\nend\n",
            "task default: [:build]\ntask :test do\n  sh \"./all\"\nend\n",
        ),
        (
            "task proof",
            "Taskfile.yml",
            "tasks: { proof: { cmds: [./all] } }\n",
            "tasks: { proof: { cmds: [./b] } }\n",
        ),
        (
            "nox -s proof",
            "noxfile.py",
            "@nox.session\ndef proof(session):\n    session.run(\"./all\")\n",
            "@nox.session\ndef proof(session):\n    session.log(1)\n",
        ),
        (
            "cargo proof",
            ".cargo/config.toml",
            "[alias]\nproof = \"nextest run\"\n",
            "[alias]\nproof = \"version\"\n",
        ),
        (
            "cargo proof",
            ".cargo/config",
            "[alias]\nproof = [\"run\", \"-p\", \"all\"]\n",
            "[alias]\nproof = [\"run\", \"-p\", \"b\"]\n",
        ),
        (
            "cargo nextest run",
            ".cargo/config.toml",
            "[alias]\nx = \"tree\"\n",
            "[alias]\nx = \"tree\"\nnextest = \"version\"\n",
        ),
        (
            "mix test",
            "mix.exs",
            MIX,
            &MIX.replace("\"ecto.create\", \"test\"", "\"ecto.create\""),
        ),
        (
            "mix test",
            "mix.exs",
            MIX,
            &MIX.replace("[\"ecto.create\", \"test\"]", "[]"),
        ),
        (
            "mix check",
            "mix.exs",
            MIX,
            &MIX.replace("      \"credo --strict\",\n", ""),
        ),
        (
            "mix shop.proof",
            "mix.exs",
            MIX,
            &MIX.replace("&all/1, \"shop.all\"", "&all/1"),
        ),
        (
            "mix test",
            "mix.exs",
            "def aliases do\n  [setup: [\"deps.get\"]]\nend\n",
            "def aliases do\n  [setup: [\"deps.get\"], test: \"compile\"]\nend\n",
        ),
    ] {
        if held_of_check(run, path, old, new).is_none() {
            wrong.push(format!("{run} {path}: {new}"));
        }
    }
    for (run, path, old, new) in [
        ("npm run proof", "package.json", r#"{"scripts":{"proof":"./all","site":"./a"}}"#, r#"{"scripts":{"proof":"./all","site":"./b"}}"#),
        ("npm run proof", "package.json", r#"{"scripts":{"proof":"npm run build && npm test","build":"a","test":"./all"}}"#, r#"{"scripts":{"proof":"npm run build && npm test","build":"b","test":"./all"}}"#),
        ("make proof", "Makefile", "proof: a\n\t./all\na:\n\tb\n", "proof: a c\n\t./all\na:\n\tc\n"),
        ("make test", "Makefile", "test: build\n\t./all\nbuild:\n\ta\n", "test:\n\t./all\nbuild:\n\ta\n"),
        ("just proof", "justfile", "proof:\n    ./all\n\nsite:\n    a\n", "proof:\n    ./all\n\nsite:\n    b\n"),
        ("rake proof", "Rakefile", "task :proof do\n  puts 1\n  sh \"./all\"\nend\n", "task :proof do\n  puts 2\n  sh \"./all\"\nend\n"),
        ("cargo proof", ".cargo/config.toml", "[alias]\nproof = \"nextest run\"\n", "[build]\njobs = 2\n[env]\nTEST_ROOT = \"a\"\n[alias]\nproof = [\"nextest\", \"run\"]\n"),
        ("mix test", "mix.exs", MIX, &MIX.replace("[\"ecto.create\", \"test\"]", "[\n        \"ecto.create --quiet\",\n        \"ecto.migrate\",\n        \"test\"\n      ]")),
        ("mix test", "mix.exs", MIX, &MIX.replace("      test: [\"ecto.create\", \"test\"],\n", "")),
        ("mix test", "mix.exs", MIX, &MIX.replace("~> 1.7", "~> 1.8").replace("assets.build", "assets.all")),
        ("mix test", "mix.exs", "def aliases do\n  []\nend\n", "def aliases do\n  [test: [\"ecto.create\", \"test\"]]\nend\n"),
    ] {
        if let Some(held) = held_of_check(run, path, old, new) {
            wrong.push(format!("{run} {path}: {held} by {new}"));
        }
    }
    nothing_wrong(&wrong);
}

const MIX: &str = r#"defmodule Shop.MixProject do
  def project do
    [app: :shop, version: "0.1.0", deps: deps(), aliases: aliases()]
  end

  defp deps, do: [{:phoenix, "~> 1.7", only: [:dev, :test]}]

  defp aliases do
    [
      setup: ["deps.get", "assets.build"],
      test: ["ecto.create", "test"],
      check: [
        "format --check-formatted",
        "credo --strict",
        "test"
      ],
      "shop.proof": [&all/1, "shop.all"]
    ]
  end
end
"#;

/// What holds the change of a file beside a check of this command, which passes.
fn held_of_check(run: &'static str, path: &'static str, old: &str, new: &str) -> Option<String> {
    let (files, contents) = changed(&[file(path, old, new)]);
    let mut change = Change::of_fixer(&files, &contents, sha(1), sha(2), BTreeSet::new(), None);
    change.is_of_fixer = false;
    change.runs.started = run.split(' ').collect();
    not_accepted(&findings(&change), &BTreeMap::new()).map(Tampering::key)
}
